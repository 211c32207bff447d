"""Puri-Haritha compared with its plain loop, in any split into calls, and with a traced stream; ontologies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from oracle.stream_puri import PuriHaritha
from support.streams import check_cuts, check_plain_loop, random_arrivals, refuse_broken

import dbanon
from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, object]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("puri_haritha").run(came, model, options, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, Options]:
    """Return a random stream, its model and the options: ontologies, NULLs, several records per person, few values."""
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(0, 3))
    came = random_arrivals(
        seed,
        int(random.integers(1, 120)),
        nulls=bool(seed % 2),
        persons=bool(seed % 3),
        sensitive=sensitive,
        values=int(random.integers(1, 9)),
    )
    if seed % 4:
        values = random.integers(-1, 7, came.sensitive.shape)
        came = replace(came, sensitive=values, meanings=np.where(values < 0, -1, values // 2 + 3))
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    options: Options = {
        "delta": model.k + int(random.integers(0, 40)),
        "beta": int(random.integers(1, 9)),
        "n_groups": int(random.integers(0, 4)),
        "reuse_window": int(random.integers(0, 60)),
    }
    return came, model, options


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_puri_haritha_equals_plain_loop_within_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_puri_haritha = PuriHaritha(came, model.k, model.min_values, options)
        check_plain_loop(remaining, plain_puri_haritha, seed)
        for sensitive in (came.sensitive, came.sensitive if came.meanings is None else came.meanings):
            refuse_broken(replace(came, sensitive=sensitive), model, remaining, int(str(options["delta"])))


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(2))
def test_puri_haritha_independent_of_batching(part: int) -> None:
    for seed in range(part, 200, 2):
        check_cuts("puri_haritha", run, seed, *case(seed))


def test_puri_haritha_equals_hand_traced_stream() -> None:
    """k = 2, two kinds, delta = 5, beta = 1, the last group remembered; values 0 and 1 are of kind A, 2 of B.

    1: 6 (0) and 2: 4 (1) are in one group, of kind A alone, which has two of it; 3: 0 (0) opens another. 4: 9 (2) makes
    the first lose 5/9 and the second 1; it joins the first, which is published as class 0, 4-9, with 0, 1 and 2. 5: 2
    (1) joins 0; 6: 3 (2) joins both, which have the same values, and is pending with them; 7: 8 (2) joins them and
    changes nothing. 0 is due, and they are published as class 1, 0-8, with these values again. 8: 5 (0) and 9: 7 (1)
    are pending. 10: 10 (0) opens a group. The stream ends: 5 is due and there is no other kind, so it is published with
    class 0, which covers it and loses less than class 1, and so is 7; 10 is beyond both and suppressed.
    """
    value = np.array([[6], [4], [0], [9], [2], [3], [8], [5], [7], [10]], np.int32)
    array = np.array([[0], [1], [0], [2], [1], [2], [2], [0], [1], [0]])
    came = build_arrivals([NumericAttribute(np.arange(11.0), integral=True)], value, None, array)
    came = replace(came, meanings=np.where(array == 2, 1, 0))
    remaining = run(came, StreamModel(2, (2,)), {"delta": 5, "beta": 1, "n_groups": 1, "reuse_window": 100})
    assert remaining.class_ids.tolist() == [0, 0, 1, 0, 1, 1, 1, 0, 0, SUPPRESSED]
    assert remaining.published_at.tolist() == [4, 4, 7, 4, 7, 7, 7, 10, 10, 10]
    assert (remaining.lows.tolist(), remaining.highs.tolist()) == ([[4], [0]], [[9], [8]])


@pytest.fixture
def con() -> Any:
    con = dbanon.connect()
    con.execute(
        "CREATE TABLE visits AS SELECT i AS ts, (i * 37) % 50 AS age, "
        "['flu', 'cold', 'asthma', 'ulcer', 'gastritis'][1 + (i * i + i // 7) % 5] AS disease FROM range(300) r (i)"
    )
    yield con
    con.close()


ASKED = "'visits', k := 3, delta := 40, order_by := 'ts', qi := 'age', sensitive := 'disease'"
TREE = "flu;lung;*\ncold;lung;*\nasthma;lung;*\nulcer;gut;*\ngastritis;gut;*"


def least_kinds_per_class(con: Any, extra_arguments: str) -> int:
    """Return the least number of kinds in a class when it is first published."""
    return int(
        con.execute(
            "SELECT min(kinds) FROM (SELECT count(DISTINCT disease IN ('ulcer', 'gastritis')) AS kinds FROM ("
            "SELECT *, min(published_at) OVER (PARTITION BY class_id) AS begun "
            f"FROM puri_haritha({ASKED}{extra_arguments})) "
            "WHERE NOT suppressed AND published_at = begun GROUP BY class_id)"
        ).fetchall()[0][0]
    )


def test_ontology_from_argument_or_policy_requires_two_kinds(con: Any) -> None:
    assert least_kinds_per_class(con, "") == 1
    for parameter in ("value_hierarchy", "hierarchies"):
        assert least_kinds_per_class(con, f", {parameter} := {{'disease': '{TREE}'}}") == 2
    measured_query = f"SELECT value FROM puri_haritha_metrics({ASKED}, value_hierarchy := {{'DISEASE': '{TREE}'}})"
    assert con.execute(f"{measured_query} WHERE metric = 'l:disease'").fetchall()[0][0] >= 2
    dbanon.declare(con, "visits", age={"role": "quasi"}, disease={"role": "sensitive", "hierarchy": TREE})
    assert least_kinds_per_class(con, "") == 2


def test_puri_haritha_publishes_original_values(con: Any) -> None:
    remaining_rows = con.execute(
        f"SELECT arrived_at, disease FROM puri_haritha({ASKED}) WHERE NOT suppressed"
    ).fetchall()
    true = dict(con.execute("SELECT ts + 1, disease FROM visits").fetchall())
    assert remaining_rows
    assert all(true[arrived] == disease for arrived, disease in remaining_rows)


@pytest.mark.parametrize(
    ("extra_arguments", "message"),
    [
        (
            ", value_hierarchy := {'age': 'age'}",
            "value_hierarchy must be hierarchies of sensitive columns, disease, got age",
        ),
        (", value_hierarchy := {'disease': 'nothing'}", "there is no hierarchy 'nothing'"),
        (", value_hierarchy := {'disease': 'flu;lung;*'}", "disease"),
    ],
)
def test_invalid_ontology_raises(con: Any, extra_arguments: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"FROM puri_haritha({ASKED}{extra_arguments})").fetchall()
