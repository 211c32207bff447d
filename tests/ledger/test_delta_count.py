"""Number of sets of records by which two versions differ: from the previous version, and from all versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dbanon
from dbanon import errors

SUBTRACTED = r"refresh_release: 1 group of added or removed records .* who also has version 1 could isolate"


@pytest.fixture
def con() -> Iterator[Any]:
    """Create twenty-seven patients in classes of five or more."""
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, disease VARCHAR)")
        rows = [[i, 20 + i, "HIV" if i % 2 else "Flu"] for i in range(27)]
        con.executemany("INSERT INTO patients VALUES (?, ?, ?)", rows)
        dbanon.declare(con, "patients", pid="identifier", age="quasi", disease="sensitive")
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
        yield con


def test_difference_sets_to_previous_version_counted_first(con: Any) -> None:
    con.execute("DELETE FROM patients WHERE pid = 23")
    with pytest.raises(errors.SmallDifferencesRefusedError, match=SUBTRACTED):
        dbanon.refresh_release(con, "safe", mode="recluster")
    with pytest.warns(dbanon.DisclosureWarning):
        dbanon.refresh_release(con, "safe", mode="recluster", allow_small_differences=True)
    counted_rows = con.execute("SELECT version, small_differences FROM releases() ORDER BY ALL").fetchall()
    assert counted_rows == [(1, 0), (2, 3)]


def test_difference_error_names_version_of_subtractable_set(con: Any) -> None:
    con.execute("DELETE FROM patients WHERE pid = 3")
    with pytest.raises(errors.SmallDifferencesRefusedError, match=SUBTRACTED):
        dbanon.refresh_release(con, "safe", mode="recluster")
