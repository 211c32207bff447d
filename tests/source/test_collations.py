"""Columns whose collation equates several texts of one person or one value."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

REFUSED = r"the collation of v\.x treats texts such as 'a' and 'A' as equal.*x COLLATE POSIX AS x"


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
@pytest.mark.parametrize("role", ["person", "sensitive"])
@pytest.mark.parametrize("value", ["x", "lower(x)", "coalesce(x, '')"])
def test_equating_collation_refused_for_persons_and_sensitive(con: Any, collation: str, role: str, value: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t (age INTEGER, x VARCHAR COLLATE {collation})")
    con.execute("INSERT INTO t SELECT i, 'x' || i FROM range(12) AS r (i)")
    con.execute(f"CREATE OR REPLACE VIEW v AS SELECT age, {value} AS x FROM t")
    options_text = "person := 'x'" if role == "person" else "sensitive := ['x']"
    with pytest.raises(duckdb.Error, match=REFUSED):
        con.execute(f"FROM kacpc('v', k := 3, qi := ['age'], {options_text})")
    con.execute("CREATE OR REPLACE VIEW plain AS SELECT age, x COLLATE POSIX AS x FROM v")
    assert len(con.execute(f"FROM kacpc('plain', k := 3, qi := ['age'], {options_text})").fetchall()) == 12
    con.execute("DROP VIEW plain; DROP VIEW v; DROP TABLE t")
