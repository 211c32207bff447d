"""Delta-disclosure privacy (Brickell and Shmatikov 2008): its definition and its particular properties."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pytest
from oracle import models
from oracle.models import Class, ModelResult, Number, Rows
from support.model_tables import ALGORITHMS, call_text, create_table

import dbanon


def ORACLE(  # noqa: N802
    classes: Sequence[Class],
    settings: Mapping[str, Any],
    column: int,
    joint: bool,
    order: Sequence[str] | None,
    tree: Rows | None,
) -> ModelResult:
    """Return the greatest |ln(p / q)| over all values of the table, NULL one of them; infinite where p is 0."""
    full_table_shares = models.table_shares(classes, column)

    def measure(part: Class) -> Number:
        share = models.shares(part, column)
        return max(
            abs(math.log(share[value] / q)) if value in share else math.inf for value, q in full_table_shares.items()
        )

    measured_values = [[measure(p) for p in models.parts_of(part, column, joint)] or [math.inf] for part in classes]
    by_class = tuple(max(values) for values in measured_values)
    return ModelResult(by_class, max(by_class))


def test_share_bounded_both_ways_and_never_vanishes() -> None:
    """Flu: 3/4 and 1/4 for 1/2; the other value likewise, so the greatest is ln 2 where it shrinks."""
    classes = models.records_as_persons([[("Flu",)] * 3 + [("HIV",)], [("Flu",)] + [("HIV",)] * 3])
    assert ORACLE(classes, {}, 0, False, None, None).classes == pytest.approx((math.log(2), math.log(2)))
    without = models.records_as_persons([[("Flu",), ("HIV",)], [("Flu",), ("Flu",)]])
    assert ORACLE(without, {}, 0, False, None, None).classes == (pytest.approx(math.log(2)), math.inf)
    null = models.records_as_persons([[("Flu",), (None,)], [("Flu",), ("Flu",)]])
    assert ORACLE(null, {}, 0, False, None, None).table == math.inf, "a NULL is a value like any other"


@pytest.fixture(scope="module")
def db() -> Any:
    """Create ages 1 to 8: of the older four three have HIV, of the younger one."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        diseases = ["Flu", "Flu", "Flu", "HIV", "Flu", "HIV", "HIV", "HIV"]
        create_table(con, {"age": "INTEGER", "disease": "VARCHAR"}, list(enumerate(diseases, 1)))
        yield con


def test_classes_exactly_at_delta_bound_refused(db: Any) -> None:
    """Two classes of four are exactly ln 2 away from the table."""
    arguments = {"k": 4, "qi": ["age"], "sensitive": ["disease"]}
    two = f"SELECT count(DISTINCT class_id) FROM {call_text('mondrian', arguments | {'delta_disclosure': 0.6932})}"
    assert db.execute(two).fetchall() == [(2,)]
    one = f"SELECT count(DISTINCT class_id) FROM {call_text('mondrian', arguments | {'delta_disclosure': math.log(2)})}"
    assert db.execute(one).fetchall() == [(1,)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_meets_delta_in_sql(db: Any, algorithm: str) -> None:
    arguments = {"k": 2, "qi": ["age"], "sensitive": ["disease"], "delta_disclosure": 0.7}
    rows = db.execute(f"SELECT class_id, disease FROM {call_text(algorithm, arguments)}").fetchall()
    assert len(rows) == 8
    classes = models.records_as_persons([[(d,) for c, d in rows if c == number] for number in {c for c, _ in rows}])
    assert ORACLE(classes, {}, 0, False, None, None).table < 0.7


@pytest.mark.parametrize("improve", [0, 200])
def test_search_keeps_delta_without_kernel_support(db: Any, improve: int) -> None:
    arguments = {"k": 2, "qi": ["age"], "sensitive": ["disease"], "delta_disclosure": 0.7, "improve": improve}
    query = f"SELECT value FROM {call_text('kacpc_metrics', arguments)} WHERE metric = 'delta_disclosure:disease'"
    assert db.execute(query).fetchall()[0][0] < 0.7


def test_impossible_delta_is_reported(db: Any) -> None:
    """Judged within equal values of the other column, a disease that never occurs with a cause is missing."""
    create_table(
        db, {"age": "INTEGER", "disease": "VARCHAR", "cause": "VARCHAR"}, [(1, "a", "x"), (2, "b", "y")] * 4, "u"
    )
    arguments = {
        "k": 2,
        "qi": ["age"],
        "sensitive": ["disease", "cause"],
        "delta_disclosure": 5,
        "multi_sensitive": "joint",
    }
    with pytest.raises(duckdb.Error, match="the most that they allow is no delta_disclosure in this form"):
        db.execute(f"FROM {call_text('kacpc', arguments, 'u')}").fetchall()
