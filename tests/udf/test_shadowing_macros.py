"""Macros of a database with the names of dbanon's functions."""

from pathlib import Path

import dbanon


def test_view_calls_functions_of_dbanon_whatever_macros_exist(tmp_path: Path) -> None:
    """On a new connection, where no statement has called the function yet."""
    path = str(tmp_path / "a.duckdb")
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE ages AS SELECT 20 + i AS age FROM range(4) AS r (i)")
        con.execute("CREATE MACRO mdav(x, k := 0, qi := []) AS TABLE FROM ages")
        con.execute("CREATE VIEW safe AS SELECT age FROM mdav('ages', k := 4, qi := ['age'])")
        assert con.cursor().execute("FROM safe").fetchall() == [("[20, 23]",)] * 4
    with dbanon.connect(path) as con:
        assert con.execute("FROM safe").fetchall() == [("[20, 23]",)] * 4
