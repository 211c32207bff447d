"""Ledgers with hashes of records by an earlier version of dbanon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.ledger import releases
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.runtime.session import find_session


@pytest.fixture
def earlier_ledger() -> Iterator[Any]:
    """Create a connection whose ledger has the hashes of format 1, which earlier versions wrote."""
    with dbanon.connect() as connection:
        connection.execute(
            "CREATE TABLE p AS SELECT i::DOUBLE AS id, 20 + i % 30 AS age,"
            " ['flu', 'it''s', 'gout'][1 + i % 3] AS disease"
            " FROM range(120) AS r (i)"
        )
        dbanon.declare(connection, "p", id="person", age="quasi", disease="sensitive")
        dbanon.create_release(connection, "safe", "kacpc", "p", k=10)
        to_format_1(connection)
        yield connection


def to_format_1(connection: Any) -> None:
    current = find_session(connection.raw)
    with current.cursor() as cursor:
        (entry,) = releases.entries(cursor, "memory")
        publication = resolve.with_person_key(releases.current_spec(entry, current, cursor), entry.person_key)
        query = plan.fill_release_template("ledger/people/rehashed.sql", publication)
        cursor.execute(
            f"UPDATE memory.dbanon.membership AS m SET row_hash = n.old_row_hash, person_key = n.old_person_key, "
            f"value_hash = 0, cells = NULL, quasi_cells = NULL FROM ({query}) AS n WHERE m.row_hash = n.row_hash"
        )
        cursor.execute("UPDATE memory.dbanon.release SET hash_format = NULL")


def hash_formats(connection: Any) -> list[Any]:
    return connection.execute("SELECT version, hash_format FROM releases() ORDER BY ALL").fetchall()


def test_refresh_replaces_earlier_hashes_and_compares(earlier_ledger: Any) -> None:
    assert earlier_ledger.execute("SELECT DISTINCT person_key LIKE '%.0' FROM dbanon.membership").fetchall() == [
        (True,)
    ]
    assert dbanon.refresh_release(earlier_ledger, "safe", composition="refuse").records == 120
    assert hash_formats(earlier_ledger) == [(1, 2), (2, 2)]
    query = "SELECT status, added, removed, changed FROM release_status()"
    assert earlier_ledger.execute(query).fetchall() == [("fresh", 0, 0, 0)]
    earlier_ledger.execute("DELETE FROM p WHERE id = 3")
    with pytest.raises(errors.SmallDifferencesRefusedError):
        dbanon.refresh_release(earlier_ledger, "safe", composition="refuse")


def test_removal_before_first_refresh_noticed(earlier_ledger: Any) -> None:
    earlier_ledger.execute("DELETE FROM p WHERE id = 3")
    with pytest.raises(errors.SmallDifferencesRefusedError):
        dbanon.refresh_release(earlier_ledger, "safe", composition="refuse")


def test_status_unknown_before_rehash(earlier_ledger: Any) -> None:
    ((problem,),) = earlier_ledger.execute("SELECT problem FROM release_status()").fetchall()
    assert "an earlier version of dbanon created safe" in problem
    with pytest.raises((duckdb.Error, dbanon.DbanonError), match="an earlier version of dbanon created safe"):
        earlier_ledger.execute("FROM refresh_problems('safe')")


def test_version_without_known_records_not_comparable(earlier_ledger: Any) -> None:
    earlier_ledger.execute("UPDATE p SET age = age + 50, disease = upper(disease)")
    with pytest.raises(errors.PeopleNotRecognizedError, match="hashes of values cannot be compared"):
        dbanon.create_release(earlier_ledger, "other", "kacpc", "p", k=10, composition="refuse")
    assert hash_formats(earlier_ledger) == [(1, 1)]
