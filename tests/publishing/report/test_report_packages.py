"""Without matplotlib, a report of a release that does not exist is about the release, and then about the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.errors.display import format_error


def from_python(con: Any, name: str) -> Any:
    return dbanon.report(con, name)


def from_sql(con: Any, name: str) -> Any:
    return con.execute(f"FROM report('{name}')").fetchall()


@pytest.mark.parametrize("report", [from_python, from_sql])
def test_report_names_missing_release_before_matplotlib(
    monkeypatch: pytest.MonkeyPatch, report: Callable[[Any, str], Any]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with dbanon.connect() as con:
        with pytest.raises((errors.UnknownReleaseError, duckdb.Error)) as raised:
            report(con, "nothing")
        assert format_error(str(raised.value)) == "report: there is no published release nothing."
        con.execute("CREATE TABLE ages AS SELECT 20 + i AS age FROM range(12) AS r (i)")
        dbanon.create_release(con, "safe", "mdav", "ages", k=3, qi=["age"])
        with pytest.raises((errors.MissingExtraError, duckdb.Error)) as raised:
            report(con, "safe")
        assert format_error(str(raised.value)).startswith("report: a plot needs matplotlib, which is not installed.\n")
