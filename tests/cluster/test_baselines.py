"""The methods that SimDiv is compared with, against plain loops, by hand and in SQL."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import greedy as slow
from support.tables import MANY, SOME, Table, encoded, tables
from test_greedy import FIRST, clusters_of, partition, unit

from dbanon import cluster
from dbanon.cluster.schemes import baselines
from dbanon.models.constraint import AtLeast
from dbanon.models.model import Model
from dbanon.space import space
from dbanon.space.space import Sensitive, Space


def records(made: Space) -> Space:
    """The space without persons."""
    return Space(made.attributes, made.codes, made.counts, None, made.total)


def labelled(name: str, made: Space, constraint: AtLeast, **options: object) -> list[set[int]]:
    """Clusters of the algorithm itself, without the repair."""
    chosen = cluster.find(name)
    labels = chosen.run(made, constraint, {p.name: p.default for p in chosen.own} | options, lambda: None)
    return [set(np.flatnonzero(labels == c).tolist()) for c in range(int(labels.max()) + 1)]


@given(tables(), st.integers(1, 4), st.integers(0, 10**6))
@MANY
def test_eld_grows_until_the_plain_loop_stops(table: Table, least: int, seed: int) -> None:
    made = records(encoded(table).space)
    k = max(table.k, 2)
    rng = random.Random(seed)
    values = [rng.choices([0, 1, 2, 3, None], [9, 4, 2, 1, 1])[0] for _ in range(made.rows)]
    if made.rows < k or len({v for v in values if v is not None}) < least:
        return
    codes = np.array([4 if v is None else v for v in values], np.int32)
    made = replace(made, sensitive=(Sensitive(codes, np.bincount(codes, minlength=5)),))
    models = (Model("l", "distinct", 0, float(least)),) if least > 1 else ()
    limits = AtLeast(k, models)
    plain = slow.plain(made, unit(made, limits.least), "edges")
    expected = slow.eld(plain, values, limits.least, least if models else 0, 0)
    assert labelled("eld", made, limits, **FIRST) == partition(expected)
    assert not models or all(len({values[r] for r in c} - {None}) >= least for c in expected)


@given(tables(), st.sampled_from([1, 2, 10]))
@SOME
def test_mwck_is_k_member_with_weights_by_entropy(table: Table, bins: int) -> None:
    made = records(encoded(table).space)
    k = max(table.k, 2)
    if made.rows < k:
        return
    shares = baselines.entropies(made, bins)
    assert shares == pytest.approx(entropies(made, bins))
    mean = sum(shares) / len(shares)
    factors = [s / mean if mean > 0 and s > 0 else 1.0 for s in shares]
    weighted = replace(
        made, attributes=tuple(replace(a, weight=a.weight * f) for a, f in zip(made.attributes, factors, strict=True))
    )
    plain = slow.plain(weighted, unit(weighted, k), "edges")
    assert clusters_of("mwck", made, k, **FIRST, bins=bins) == partition(slow.greedy(plain, k, slow.far(plain, 0)))


def entropies(made: Space, bins: int) -> list[float]:
    found = []
    for j, attribute in enumerate(made.attributes):
        counts: Counter[Any] = Counter()
        for code, n in zip(made.codes[:, j].tolist(), made.counts.tolist(), strict=True):
            cell: Any = code
            if isinstance(attribute, space.Number) and code < attribute.values and attribute.positions[-1] > 0:
                cell = min(int(attribute.positions[code] / attribute.positions[-1] * bins), bins - 1)
            elif isinstance(attribute, space.Number):
                cell = "null" if code == attribute.values else 0
            counts[cell] += n
        shares = [n / made.rows for n in counts.values()]
        most = math.log(len(shares))
        found.append(-sum(p * math.log(p) for p in shares) / most if most else 0.0)
    return found


@given(tables())
@SOME
def test_rka_has_the_clusters_of_k_member_and_mr_mondrian_those_of_mondrian(table: Table) -> None:
    made = encoded(table).space
    k = max(table.k, 2)
    persons = made.rows if made.persons is None else len(np.unique(made.persons[made.persons >= 0]))
    if persons < k:
        return
    assert clusters_of("rka", made, k, **FIRST) == clusters_of("kmember", made, k, **FIRST)
    assert sorted(map(sorted, clusters_of("mr_mondrian", made, k))) == sorted(
        map(sorted, clusters_of("mondrian", made, k))
    )


def test_eld_by_hand() -> None:
    """Ages 0, 1, 2, 10, 11, 12, 13 with values a a a a b a b, k = 2, l = 2. From 0 the cluster takes 1, 2 and 10, all
    a, then 11 with b. Farthest from 0 is 13 (b), which takes 12 (a)."""
    made = ages([0, 1, 2, 10, 11, 12, 13], "aaaabab")
    assert labelled("eld", made, AtLeast(2, (Model("l", "distinct", 0, 2.0),)), **FIRST) == [{0, 1, 2, 3, 4}, {5, 6}]


def test_eld_leaves_what_is_too_little_to_join_where_it_costs_least() -> None:
    """After {0, 1} (a, b) the cluster from 13 takes 12, both c, and 11 (b); 10 alone is left. In the second table 0 to
    3 are a, a, b, c; 20 to 22 have three values and are fewer than k = 4."""
    diverse = AtLeast(2, (Model("l", "distinct", 0, 2.0),))
    assert labelled("eld", ages([0, 1, 10, 11, 12, 13], "abbbcc"), diverse, **FIRST) == [{0, 1}, {2, 3, 4, 5}]
    three = AtLeast(2, (Model("l", "distinct", 0, 3.0),))
    assert labelled("eld", ages([0, 1, 2, 3, 20, 21, 22], "aabcabc"), replace(three, k=4), **FIRST) == [set(range(7))]


def ages(values: list[int], sensitive: str) -> Space:
    number = space.Number(np.array(values, float) - values[0], True)
    words = sorted(set(sensitive))
    codes = np.array([words.index(v) for v in sensitive], np.int32)
    made, _ = space.build(
        [number], [np.arange(len(values), dtype=np.int32)], np.zeros(len(values), np.uint64), None, None,
        [(codes, len(words), None)],
    )  # fmt: skip
    return made


def test_weights_of_mwck_by_hand() -> None:
    """Two of eight ages lie in the lower half: entropy 0.5623 of ln 2 is 0.8113. Sexes halve: 1. A constant: 0."""
    number = space.Number(np.arange(8.0) ** 2, True)  # 0 to 49: 0, 1, 4, 9, 16 below 24.5
    tree = space.Tree(np.array([-1, 0, 0], np.int32), np.array([1, 2], np.int32))
    one = space.Tree(np.array([-1, 0], np.int32), np.array([1], np.int32))
    codes = [np.arange(8, dtype=np.int32), np.arange(8, dtype=np.int32) % 2, np.zeros(8, np.int32)]
    made, _ = space.build([number, tree, one], codes, np.zeros(8, np.uint64), None)
    assert baselines.entropies(made, 2) == pytest.approx([0.954434, 1.0, 0.0], abs=1e-6)


# --- in SQL -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def sick(con: Any) -> Any:
    con.execute("""CREATE TABLE sick AS
        SELECT 20 + i AS age, ['F', 'M'][1 + i % 2] AS sex, CASE WHEN i % 9 = 0 THEN 'HIV' ELSE 'Flu' END AS disease
        FROM range(40) AS r (i)""")
    return con


CALL = "('sick', k := 3, qi := ['age', 'sex'], sensitive := ['disease']{})"


@pytest.mark.parametrize("algorithm", ["eld", "ldiversity_mondrian"])
def test_two_values_are_asked_for_where_nothing_else_is(sick: Any, algorithm: str) -> None:
    for asked, least in (("", 2), (", l := 2", 2)):
        rows = sick.execute(f"SELECT len(disease) FROM {algorithm}_classes{CALL.format(asked)}").fetchall()
        assert len(rows) > 1 and min(n for (n,) in rows) >= least
    metrics = dict(sick.execute(f"SELECT metric, value FROM {algorithm}_metrics{CALL.format('')}").fetchall())
    assert metrics["l_diversity:disease"] >= 2
    with pytest.raises(duckdb.Error, match=f"{algorithm}: l is about sensitive values, and no column of sick"):
        sick.execute(f"FROM {algorithm}('sick', k := 3, qi := ['age'])")
    with pytest.raises(duckdb.Error, match="all records together do not meet l = 3 on disease"):
        sick.execute(f"FROM {algorithm}{CALL.format(', l := 3')}").fetchall()
    by_name = f"FROM anonymize{CALL.format(f', algorithm := {algorithm!r}')}"
    assert sick.execute(by_name).fetchall() == sick.execute(f"FROM {algorithm}{CALL.format('')}").fetchall()


def test_the_l_diverse_mondrian_is_mondrian_with_l(sick: Any) -> None:
    asked = sick.execute(f"FROM mondrian{CALL.format(', l := 2')}").fetchall()
    assert sick.execute(f"FROM ldiversity_mondrian{CALL.format('')}").fetchall() == asked
    assert sick.execute(f"FROM mondrian{CALL.format('')}").fetchall() != asked


@pytest.mark.parametrize("algorithm", ["mwck", "rka", "eld"])
def test_the_same_seed_gives_the_same_release_in_any_order(sick: Any, algorithm: str) -> None:
    first = sick.execute(f"FROM {algorithm}{CALL.format(', seed := 5')}").fetchall()
    sick.execute("CREATE OR REPLACE TABLE sick AS FROM sick ORDER BY hash(age)")
    assert sick.execute(f"FROM {algorithm}{CALL.format(', seed := 5')}").fetchall() == first
