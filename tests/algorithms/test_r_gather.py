"""r-gather compared with a plain loop, its radius with the least possible one; called in SQL."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, strategies as st
from oracle import mixed as slow
from oracle.greedy import LossTable
from oracle.reference import Attribute, Category, Number, Value
from support import by_row
from support.tables import SOME, Table, encode_records, tables
from test_algorithms import TREE, partitions
from test_gather import with_unit
from test_greedy import records

from dbanon import algorithms
from dbanon.algorithms.base.registry import MAX_SUPPRESSED
from dbanon.algorithms.hybrid.r_gather import LimitSearch
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def labels(table: EncodedTable, k: int, eps: float = 0.0) -> list[int]:
    options = {"eps": eps, MAX_SUPPRESSED: table.rows}
    return by_row.labels(algorithms.find("r_gather").run(table, Constraint(k), options, lambda: None)).tolist()


def groups(cluster_numbers: list[int]) -> list[list[int]]:
    """Return the records of each cluster, without those of label -1."""
    return [[r for r, c in enumerate(cluster_numbers) if c == n] for n in range(max(cluster_numbers) + 1)]


def small_case(table: Table) -> tuple[EncodedTable, int, LossTable, int]:
    actual_records = records(encode_records(table).space)
    k = min(max(table.k, 2), max(actual_records.rows // 2, 1))
    return (
        actual_records,
        k,
        with_unit(actual_records, 1, "edges"),
        LimitSearch(actual_records, k, 0, lambda: None)._max_distance(),
    )


@given(tables())
@SOME
def test_centers_have_k_records_within_limit(table: Table) -> None:
    encoded_table, k, pairs, widest = small_case(table)
    if encoded_table.rows < 4:
        return
    limit, centers = slow.centers(pairs, k, widest)
    actual_groups = groups(labels(encoded_table, k))
    assert sorted(r for c in actual_groups for r in c) == list(range(encoded_table.rows))
    assert len(actual_groups) == len(centers)
    for n, c in enumerate(centers):
        assert c in actual_groups[n] and len(actual_groups[n]) >= k
        assert all(pairs.distance(c, r) <= limit for r in actual_groups[n])
        distances = [[pairs.distance(r, other) for other in centers] for r in actual_groups[n]]
        assert sum(row.index(min(row)) != n for row in distances) <= k


@given(tables(), st.sampled_from([0.1, 0.2, 0.5]))
@SOME
def test_eps_centers_have_k_records_with_few_suppressed(table: Table, eps: float) -> None:
    encoded_table, k, pairs, widest = small_case(table)
    spare = int(eps * encoded_table.rows + 1e-9)
    if encoded_table.rows >= 4 and spare:
        *expected, out = slow.spread_clusters(pairs, k, spare, widest)
        actual_labels = labels(encoded_table, k, eps)
        assert groups(actual_labels) == expected
        assert [r for r, c in enumerate(actual_labels) if c < 0] == out


def random_case(seed: int, max_records: int) -> tuple[EncodedTable, LossTable, int]:
    rng = random.Random(seed)
    attributes: list[Attribute] = [Number(), Category(TREE), Number()][: rng.randint(1, 3)]
    choices: list[list[Value]] = [
        [rng.choice("abcdefg") if isinstance(a, Category) else rng.randint(0, 9) for a in attributes]
        for _ in range(rng.randint(4, max_records))
    ]
    space = encode_records(Table(choices, attributes, 2)).space
    return space, with_unit(space, 1, "edges"), rng.choice([2, 2, 3]) if space.rows > 5 else 2


@pytest.mark.parametrize("seed", range(60))
def test_r_gather_radius_within_twice_optimum(seed: int) -> None:
    encoded_table, pairs, k = random_case(seed, 9)
    minimum = min(slow.radius(pairs, partition) for partition in partitions(range(encoded_table.rows), k))
    assert slow.radius(pairs, groups(labels(encoded_table, k))) <= 2 * minimum


@pytest.mark.parametrize("seed", range(60))
def test_eps_radius_within_three_times_optimum(seed: int) -> None:
    encoded_table, pairs, k = random_case(seed, 8)
    spare, everybody = encoded_table.rows // 4, range(encoded_table.rows)
    kept_everybodies = [[r for r in everybody if r not in out] for out in itertools.combinations(everybody, spare)]
    minimum = min(
        (slow.radius(pairs, partition) for subset in kept_everybodies for partition in partitions(subset, k)),
        default=None,
    )
    partition = labels(encoded_table, k, 0.25)
    assert partition.count(-1) <= spare
    assert minimum is None or slow.radius(pairs, groups(partition)) <= 3 * minimum


def test_records_flow_to_centers_below_k() -> None:
    """0, 3, 3, 6, 6, 9 with k = 3: within 3 all have two others.

    0 marks both 3, 6 the others: both have three. With a further 3, 9 would have none to spare, and does not need any.
    """
    actual_records = records(encode_records(Table([[v] for v in (0, 3, 3, 6, 6, 9)], [Number()], 3)).space)
    actual_groups = groups(labels(actual_records, 3))
    assert [len(c) for c in actual_groups] == [3, 3]


@pytest.fixture
def people(con: Any) -> Any:
    con.execute("""CREATE TABLE people AS
        SELECT CASE WHEN i = 59 THEN 500 ELSE 20 + (i * 7) % 41 END AS age, ['F', 'M'][1 + i % 2] AS sex,
            CASE WHEN i % 4 = 0 THEN 'HIV' ELSE 'Flu' END AS disease
        FROM range(60) AS r (i)""")
    return con


ASKED = "('people', k=5, qi=['age', 'sex'], sensitive=['disease']{})"


@pytest.mark.parametrize(
    "extra_arguments", ["", ", l=2", ", max_level={'sex': 0}", ", max_partition=20", ", eps := 0.05"]
)
def test_r_gather_classes_meet_model(people: Any, extra_arguments: str) -> None:
    call = f"SELECT size, len(disease) FROM r_gather_classes{ASKED.format(extra_arguments)}"
    call += " WHERE suppressed IS NULL" if "eps" in extra_arguments else ""  # without eps, none can be suppressed
    sizes = people.execute(call).fetchall()
    kept_total = sum(size for size, _ in sizes)
    assert 57 <= kept_total < 60 if "eps" in extra_arguments else kept_total == 60
    assert min(size for size, _ in sizes) >= 5
    assert extra_arguments != ", l=2" or min(values for _, values in sizes) >= 2


def test_distant_record_widens_clusters_unless_suppressed(people: Any) -> None:
    precision = "SELECT value FROM r_gather_metrics" + ASKED + " WHERE metric = 'precision'"
    full_value, lean, none = (
        people.execute(precision.format(extra_text)).fetchone()[0]
        for extra_text in ("", ", eps := 0.05", ", eps := 0.01")
    )
    assert lean > full_value == none
    kept_value = people.execute(precision.format(", eps := 0.05, suppress := 0")).fetchone()[0]
    assert kept_value == full_value


def test_r_gather_of_fewer_than_2k_records_is_one_class(con: Any) -> None:
    con.execute("CREATE TABLE few AS SELECT i AS age FROM range(7) AS r (i)")
    assert con.execute("SELECT size FROM r_gather_classes('few', k=4, qi=['age'])").fetchall() == [(7,)]
