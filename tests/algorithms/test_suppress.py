"""`suppress`: at most this share is suppressed, the other records lose less, and every suppression is reported."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import by_row
from support.model_tables import model_requirement
from support.scale import n_examples

from dbanon import algorithms
from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members
from dbanon.algorithms.base.registry import MAX_SUPPRESSED, Algorithm as Registered, Check, Suppression
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import Ints
from dbanon.privacy_models.constraint import Constraint

ALGORITHMS = [a.name for a in algorithms.algorithms()]


def metrics(con: Any, call: str) -> dict[str, float]:
    return {name: value for name, value, *_ in con.execute(f"FROM {call}").fetchall()}


@pytest.fixture
def people(con: Any) -> Any:
    rng = random.Random(1)
    rows = [(rng.randint(20, 40), rng.choice("MF"), rng.choice("abcd")) for _ in range(60)]
    rows += [(20_000 * (i + 1), "M", rng.choice("abcd")) for i in range(4)]
    con.execute("CREATE TABLE people (age INTEGER, sex VARCHAR, disease VARCHAR)")
    con.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    return con


CALL = "('people', k := 4, qi := ['age', 'sex'], sensitive := ['disease'], suppress := {})"


@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])
def test_outliers_suppressed_and_reported(people: Any, algorithm: str) -> None:
    none, sample_text = (f"{algorithm}{{}}{CALL.format(share)}" for share in (0, 0.1))
    old_metrics, new_metrics = metrics(people, none.format("_metrics")), metrics(people, sample_text.format("_metrics"))
    assert old_metrics["suppressed"] == 0
    assert old_metrics["records"] == 64
    left_out = new_metrics["suppressed"]
    assert 4 <= left_out <= 6
    assert new_metrics["records"] == 64 - left_out
    width = "SELECT avg(upper_bound(age) - lower_bound(age)) FROM "
    wide_value, close = (people.execute(width + call.format("")).fetchall()[0][0] for call in (none, sample_text))
    assert close < wide_value
    assert new_metrics["k"] >= 4
    assert new_metrics["dropped:null"] == 0
    released_rows = people.execute(f"FROM {sample_text.format('')}").fetchall()
    assert len(released_rows) == 64 - left_out
    assert not any("80000" in row[0] for row in released_rows)
    classes = people.execute(
        f"SELECT class_id, size, suppressed, disease FROM {sample_text.format('_classes')} WHERE suppressed IS NOT NULL"
    ).fetchall()
    assert classes == [(None, left_out, "outlier", None)]
    assert "suppressed" not in [d[0] for d in people.execute(f"FROM {none.format('_classes')}").description]


def test_nulls_and_outliers_are_counted_separately(people: Any) -> None:
    people.execute("INSERT INTO people VALUES (NULL, 'M', 'a'), (NULL, 'F', 'b')")
    call = "kacpc{}('people', k := 4, qi := ['age', 'sex'], suppress := 0.1, nulls := 'drop')"
    actual_metrics = metrics(people, call.format("_metrics"))
    assert actual_metrics["dropped:null"] == 2
    assert actual_metrics["records"] + actual_metrics["suppressed"] == 64
    reasons = people.execute(
        f"SELECT suppressed, size FROM {call.format('_classes')} WHERE class_id IS NULL ORDER BY ALL"
    ).fetchall()
    assert reasons == [("null", 2), ("outlier", actual_metrics["suppressed"])]


def test_suppress_keeps_records_if_no_loss_saved(con: Any) -> None:
    con.execute("CREATE TABLE same AS SELECT 5 AS age FROM range(20)")
    actual_metrics = metrics(con, "kacpc_metrics('same', k := 2, qi := ['age'], suppress := 0.5)")
    assert (actual_metrics["suppressed"], actual_metrics["records"]) == (0, 20)


def test_suppress_1_keeps_at_least_k_records(con: Any) -> None:
    con.execute("CREATE TABLE apart AS SELECT i * i AS age FROM range(20) AS r (i)")
    actual_metrics = metrics(con, "kacpc_metrics('apart', k := 5, qi := ['age'], suppress := 1)")
    assert actual_metrics["records"] >= 5
    assert actual_metrics["records"] + actual_metrics["suppressed"] == 20


def test_suppressed_persons_are_counted(people: Any) -> None:
    people.execute("CREATE VIEW visits AS SELECT *, row_number() OVER () // 2 AS pid FROM people")
    call = "kacpc{}('visits', k := 3, qi := ['age', 'sex'], person := 'pid', suppress := 0.1)"
    actual_metrics = metrics(people, call.format("_metrics"))
    assert actual_metrics["k"] >= 3
    size, persons = people.execute(
        f"SELECT size, persons FROM {call.format('_classes')} WHERE suppressed = 'outlier'"
    ).fetchone()
    assert size == actual_metrics["suppressed"]
    assert 0 < persons <= size


def test_rare_values_checked_again_after_suppression(con: Any) -> None:
    rows = [(20 + i % 3, "common") for i in range(39)] + [(90_000 * i, "seldom") for i in range(1, 5)]
    con.execute("CREATE TABLE t (age INTEGER, town VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [*rows, (21, "seldom")])
    with pytest.raises(Exception, match=r"suppressed outliers, 1 of its values belongs to fewer than k = 4"):
        con.execute("FROM kacpc('t', k := 4, qi := ['age'], insensitive := ['town'], suppress := 0.15)").fetchall()
    actual_rows = con.execute(
        "FROM kacpc('t', k := 4, qi := ['age'], insensitive := ['town'], suppress := 0.15, allow_rare := ['town'])"
    ).fetchall()
    assert len(actual_rows) == 40


@pytest.mark.parametrize("share", ["-0.1", "1.5", "'much'", "true", "'nan'::DOUBLE"])
def test_suppress_outside_0_to_1_refused(people: Any, share: str) -> None:
    with pytest.raises(Exception, match="suppress must be a number from 0 to 1"):
        people.execute(f"FROM kacpc{CALL.format(share)}")


# --- algorithms that suppress records by a rule of their own -------------------------------------------------


def halving_algorithm(number: int, received_limits: list[int]) -> Registered:
    """Return an algorithm that suppresses the first `number` records, as far as allowed, and halves the others.

    By its own bound it suppresses at most five. `received_limits` collects the `max_suppressed` of each call.
    """

    def run(table: encoded_table.EncodedTable, limits: Constraint, options: Mapping[str, object], check: Check) -> Ints:
        received_limits.append(int(str(options[MAX_SUPPRESSED])))
        out = min(number, received_limits[-1])
        labels = np.arange(table.rows) % 2
        labels[:out] = -1
        return labels

    return Registered(
        name="halves",
        title="Halves",
        family="split",
        run=run,
        source="",
        evidence="own",
        deterministic=True,
        complexity="",
        abilities=(Suppression("all", lambda o, k: 5),),
    )


def alternating_table(rows: int, values: list[int]) -> encoded_table.EncodedTable:
    """Create a table of one number, 0 to rows - 1, and a sensitive column."""
    code_table, _ = encoded_table.encode_table(
        (encoded_table.NumericAttribute(np.arange(rows, dtype=np.float64), True),),
        [np.arange(rows, dtype=np.int32)],
        np.zeros(rows, np.uint64),
        None,
        None,
        [(np.array(values, np.int32), 2, None)],
    )
    return code_table


@pytest.mark.parametrize(("share", "may"), [(0.0, 0), (0.2, 4), (1.0, 5)])
def test_own_suppression_rule_receives_limit(share: float, may: int) -> None:
    result: list[int] = []
    table, leave = alternating_table(20, [0, 1] * 10), algorithms.Refinement(max_suppressed_share=share)
    labels = by_row.run_labels(halving_algorithm(5, result), table, Constraint(3), {}, refinement=leave)
    assert result == [may]
    assert np.flatnonzero(labels < 0).tolist() == list(range(may))
    assert np.bincount(labels[labels >= 0]).min() >= 3


def test_suppressing_above_limit_is_defect() -> None:
    result = alternating_table(20, [0, 1] * 10)
    wrong = replace(halving_algorithm(5, []), run=lambda *given: np.arange(20) - 6)
    with pytest.raises(ValueError, match="halves gave no cluster to 6 of 20 records, more than 4"):
        by_row.run_labels(wrong, result, Constraint(3), {}, refinement=algorithms.Refinement(max_suppressed_share=0.2))


def test_suppressed_returned_if_rest_misses_model() -> None:
    """The four records to be suppressed are all those of one value."""
    result = alternating_table(20, [1] * 4 + [0] * 16)
    halves = replace(halving_algorithm(4, []), abilities=(Suppression("all", lambda o, k: 5, is_complete=True),))
    labels = by_row.run_labels(
        halves,
        result,
        Constraint(3, (model_requirement(l=2),)),
        {},
        refinement=algorithms.Refinement(max_suppressed_share=0.2),
    )
    assert (labels >= 0).all()
    assert all(len(set(result.sensitive[0].codes[labels == c].tolist())) == 2 for c in set(labels.tolist()))


def test_fully_suppressed_table_is_one_cluster() -> None:
    everything = replace(halving_algorithm(0, []), run=lambda *given: np.full(20, -1), abilities=(Suppression("all"),))
    labels = by_row.run_labels(
        everything,
        alternating_table(20, [0, 1] * 10),
        Constraint(3),
        {},
        refinement=algorithms.Refinement(max_suppressed_share=1.0),
    )
    assert labels.tolist() == [0] * 20


# --- guarantees, on many random tables ----------------------------------------------------------------------


@st.composite
def random_cases(draw: st.DrawFn) -> tuple[encoded_table.EncodedTable, Constraint, float]:
    """Draw a table of one number and one flat category, with a sensitive column and perhaps a model."""
    rows = draw(st.integers(6, 40))
    rng = random.Random(draw(st.integers(0, 10**6)))
    number = np.array([rng.choice((rng.randrange(5), rng.randrange(40))) for _ in range(rows)])
    values, codes = np.unique(number, return_inverse=True)
    attributes = (
        encoded_table.NumericAttribute((values - values[0]).astype(np.float64), True),
        encoded_table.CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.array([1, 2, 3], np.int32)),
    )
    category = np.array([rng.randrange(3) for _ in range(rows)])
    _, sensitive = np.unique([rng.choice("aabc") for _ in range(rows)], return_inverse=True)
    code_table, _ = encoded_table.encode_table(
        attributes,
        [codes.astype(np.int32), category.astype(np.int32)],
        np.zeros(rows, np.uint64),
        None,
        None,
        [(sensitive.astype(np.int32), int(sensitive.max()) + 1, None)],
    )
    models = draw(
        st.sampled_from(((), (model_requirement(l=2),), (model_requirement(t=0.4, ground_distance="equal"),)))
    )
    return code_table, Constraint(draw(st.integers(2, 5)), models), draw(st.sampled_from((0.05, 0.2, 0.5)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(random_cases())
@settings(max_examples=n_examples(300), deadline=None, derandomize=True, database=None)
def test_suppression_meets_share_and_models_and_lowers_loss(
    algorithm: str, case: tuple[encoded_table.EncodedTable, Constraint, float]
) -> None:
    code_table, constraint, share = case
    selected_algorithm = algorithms.find(algorithm)
    options = {p.name: p.default for p in selected_algorithm.own_parameters}
    still = algorithms.Refinement(budget=algorithms.SearchBudget(0))  # suppressed records are chosen before a search
    leave = replace(still, max_suppressed_share=share)
    try:
        full_labels = by_row.run_labels(selected_algorithm, code_table, constraint, options, refinement=still)
    except Exception as error:  # the whole table does not meet the model: then it fails here too
        with pytest.raises(type(error)):
            by_row.run_labels(selected_algorithm, code_table, constraint, options, refinement=leave)
        return
    labels = by_row.run_labels(selected_algorithm, code_table, constraint, options, refinement=leave)
    out = int((labels < 0).sum())
    assert out <= share * code_table.rows
    loss = [
        float((e.record_losses(code_table) * e.sizes).sum() / e.sizes.sum())
        for e in (
            ClassBounds.from_members(code_table, cluster_members(full_labels)),
            ClassBounds.from_members(code_table, cluster_members(labels)),
        )
    ]
    if selected_algorithm.ability(Suppression) is None:
        assert loss[1] < loss[0] if out else (labels == full_labels).all()
    values = code_table.sensitive[0].codes
    overall = values[labels >= 0].tolist()
    for cluster_id in set(labels[labels >= 0].tolist()):
        group = values[labels == cluster_id].tolist()
        assert len(group) >= constraint.k
        for model in constraint.models:
            if model.parameter == "l":
                assert len(set(group)) >= 2
            else:
                assert _distance(group, overall) <= 0.4 + 1e-9


def _distance(group: list[int], overall: list[int]) -> float:
    """Return half of the summed absolute differences of two distributions."""
    return sum(abs(group.count(v) / len(group) - overall.count(v) / len(overall)) for v in set(overall)) / 2
