"""A refresh recognizes that nothing has changed before anything is clustered."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.errors.warnings import DisclosureWarning
from dbanon.ledger import version_state
from dbanon.sqltext.quote import Sql
from dbanon.views import materialize


class CreatesVersionError(Exception):
    """Raised in place of the creation of a version."""


@pytest.fixture
def released(con: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A connection with a release whose next version raises CreatesVersionError."""
    con.execute(
        "CREATE TABLE visits AS SELECT i AS id, 20 + i % 2 AS age, 0.0::DOUBLE AS weight FROM range(8) AS r (i)"
    )
    dbanon.declare(con, "visits", age="quasi", weight="sensitive")
    dbanon.create_release(con, "safe", "kacpc", "visits", k=4, key="id")

    def refuse(*_: Any) -> None:
        raise CreatesVersionError

    monkeypatch.setattr(materialize, "_refresh", refuse)
    return con


def test_unchanged_source_creates_no_version(released: Any) -> None:
    released.execute("CREATE OR REPLACE TABLE visits AS FROM visits ORDER BY id DESC")
    for mode in ("keep", "hold"):
        release = dbanon.refresh_release(released, "safe", mode=mode)
        assert (release.version, release.is_new, release.records) == (1, False, 8)


@pytest.mark.parametrize("algorithm", ["datafly", "incognito", "samarati"])
def test_unchanged_source_creates_no_version_if_classes_cannot_be_kept(con: Any, algorithm: str) -> None:
    """These algorithms publish one level of each column, wider than the records of a class: no class can be kept."""
    con.execute("CREATE TABLE visits AS SELECT 20 + i % 20 AS age, 'd' || i % 3 AS disease FROM range(60) AS r (i)")
    dbanon.create_release(con, "safe", algorithm, "visits", k=4, qi=["age"], sensitive=["disease"])
    for mode in ("keep", "hold"):
        assert not dbanon.refresh_release(con, "safe", mode=mode).is_new
    con.execute("INSERT INTO visits SELECT 20 + i % 20, 'd0' FROM range(20) AS r (i)")
    for mode in ("keep", "hold"):
        with pytest.raises(errors.CannotKeepClassesError, match=f"{algorithm} publishes more of a class"):
            dbanon.refresh_release(con, "safe", mode=mode)
    with pytest.warns(DisclosureWarning, match="clustered again"):
        assert dbanon.refresh_release(con, "safe", mode="recluster").version == 2


def test_any_change_creates_a_version(released: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a value, a key, the table that readers see, the policy, or the software; and if it is asked for."""
    for change, undo in (
        ("UPDATE visits SET weight = 1.5 WHERE id = 3", "UPDATE visits SET weight = 0.0"),
        ("UPDATE visits SET id = 9 WHERE id = 3", "UPDATE visits SET id = 3 WHERE id = 9"),
        ("UPDATE visits SET age = 41 - age", "UPDATE visits SET age = 41 - age"),
        ("UPDATE safe SET class_id = class_id + 1", "UPDATE safe SET class_id = class_id - 1"),
        ("UPDATE dbanon.policy SET weight = 3 WHERE column_name = 'age'", "UPDATE dbanon.policy SET weight = 1"),
    ):
        released.execute(change)
        with pytest.raises(CreatesVersionError):
            dbanon.refresh_release(released, "safe")
        released.execute(undo)
        assert not dbanon.refresh_release(released, "safe").is_new, change
    for options in ({"if_stale": False}, {"mode": "recluster"}, {"composition": "refuse"}, {"erase": True}):
        with pytest.raises(CreatesVersionError):
            dbanon.refresh_release(released, "safe", **options)
    monkeypatch.setattr(materialize, "library_versions", lambda: {"dbanon": "0.0.1"})
    with pytest.raises(CreatesVersionError):
        dbanon.refresh_release(released, "safe")


def test_version_without_stored_state_is_created_again(released: Any) -> None:
    """As in a database of an earlier version of dbanon."""
    released.execute("UPDATE dbanon.release SET hashes = MAP {'': hashes['']}")
    with pytest.raises(CreatesVersionError):
        dbanon.refresh_release(released, "safe")


def test_sums_of_hashes_distinguish_values_that_compare_equal() -> None:
    """Also values whose texts are equal, and numbers that DuckDB's hash does not distinguish."""
    types = {
        "a": "DOUBLE", "b": "INTERVAL", "c": "VARCHAR[]", "d": "VARCHAR", "e": "HUGEINT", "f": "DECIMAL(38,2)",
        "g": 'UNION("n" INTEGER, "s" VARCHAR)', "h": "HUGEINT[]", "i": "DECIMAL(18,2)",
    }  # fmt: skip
    first = ("0.0", "INTERVAL 1 MONTH", "['x, y']", "'z'", "0", "0", "union_value(n := 1)", "[0]", "0")
    changes = {
        "a": "'-0.0'::DOUBLE", "b": "INTERVAL 30 DAY", "c": "['x', 'y']", "d": "'Z'", "e": "-1", "f": "-0.01",
        "g": "union_value(s := '1')", "h": "[-1]", "i": "-0.01",
    }  # fmt: skip
    rows = [dict(zip(types, first, strict=True))]
    rows += [rows[0] | {column: value} for column, value in changes.items()]
    selects = [", ".join(f"({row[name]})::{type_} AS {name}" for name, type_ in types.items()) for row in rows]
    with duckdb.connect() as con:
        con.execute("SET default_collation = 'NOCASE'")
        sums = [tuple(version_state._sum_of_hashes(con, Sql(f"(SELECT {select})"), types)) for select in selects]
        twice = version_state._sum_of_hashes(con, Sql(f"(SELECT {selects[0]} FROM range(2))"), types)
    assert len({*sums, tuple(twice)}) == len(rows) + 1
