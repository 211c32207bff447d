"""Risk numbers of columns without a range: 0 / 0 is nothing generalized."""

from __future__ import annotations

from typing import Any

import pytest

CONSTANT = {
    "INTEGER": "5",
    "DOUBLE": "'-0.0'::DOUBLE",
    "DATE": "DATE '2020-01-01'",
    "TIMESTAMP": "TIMESTAMP '2020-01-01 01:02:03'",
    "DECIMAL": "1.50",
    "BIGINT beyond doubles": "(9007199254740992 + range // 4)::BIGINT",
}


@pytest.mark.parametrize("name", CONSTANT)
def test_constant_column_has_zero_distortion(con: Any, name: str) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {CONSTANT[name]} AS a, range // 4 AS b FROM range(8)")
    exact = ", rounding := {'a': 'none'}" if name in ("DATE", "TIMESTAMP") else ""
    con.execute(f"CREATE TABLE published AS FROM kacpc('t', k := 4, qi := ['a', 'b']{exact})")
    rows = con.execute("""SELECT name, value FROM risk('published', source := 't', qi := ['a', 'b'])
        WHERE name IN ('distortion', 'infeasible_classes')""").fetchall()
    assert dict(rows) == {"distortion": 0.0, "infeasible_classes": 0.0}


@pytest.mark.parametrize(("published_value", "is_wide"), [("5", False), ("[0, 9]", True), ("*", True), (">=5", True)])
def test_interval_wider_than_constant_column_is_infeasible(con: Any, published_value: str, is_wide: bool) -> None:
    con.execute("CREATE TABLE t AS SELECT 5 AS a FROM range(4)")
    con.execute("CREATE TABLE published AS SELECT $1 AS a FROM range(4)", [published_value])
    rows = con.execute("""SELECT name, value FROM risk('published', source := 't', qi := ['a'])
        WHERE name IN ('distortion', 'infeasible_classes')""").fetchall()
    assert dict(rows)["infeasible_classes"] == is_wide
    assert published_value == ">=5" or dict(rows)["distortion"] == is_wide
