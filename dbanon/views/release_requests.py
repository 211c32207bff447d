"""Releases that readers ask for: the first asking makes one, later askings get that very release.

Each is held against all that was released of the same source, as `composition = 'refuse'` says, so that no reader can
lay two releases side by side that nobody compared. What was refused stays refused, and how many different calls are
tried is limited: that a release could not be made tells something about the source, too.
"""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import duckdb

from dbanon import errors
from dbanon.errors.exit_codes import outcome
from dbanon.ledger import permissions, publishing_lock, releases, transactions
from dbanon.ledger.permissions import Permission, ReleaseRequest
from dbanon.runtime import session
from dbanon.source import catalog
from dbanon.sqltext.quote import join_sql, qualified, text
from dbanon.views import materialize

PLACE = "asked"
"""The schema in which releases lie that readers asked for."""
_UNFINISHED = "The process that made it ended before it was there."


@dataclass(frozen=True)
class Outcome:
    """What became of an asking: the schema and the name of its release, or none where it was refused."""

    asking: ReleaseRequest
    release: tuple[str, str] | None


def outcomes(cursor: Any, database: str) -> list[Outcome]:
    """What readers asked for before; a release that was dropped since counts as refused."""
    if not catalog.has_table(cursor, database, "asked"):
        return []
    published = {(e.schema, e.name) for e in releases.entries(cursor, database, "status = 'published'")}
    rows = cursor.execute(
        "SELECT algorithm, source, parameters, schema_name, name "
        f"FROM {qualified(database, catalog.SCHEMA, 'asked')} ORDER BY ALL ASC NULLS LAST"
    ).fetchall()
    found = [(ReleaseRequest(*map(str, row[:3])), (row[3], row[4])) for row in rows]
    return [Outcome(asking, release if release in published else None) for asking, release in found]


def answer(connection: Any, reader: str, algorithm: str, source: str, given: Mapping[str, Any]) -> Outcome:
    """What becomes of a reader's asking: it is made, where it was never asked for and is permitted.

    RequestNotPermittedError, InvalidArgumentError where it is not; ReleaseUnavailableError where too many calls of the
    source were tried. Errors that come and go are raised, and nothing is kept of them; all others are kept as a
    refusal.
    """
    raw = getattr(connection, "raw", connection)
    database = str(raw.execute("SELECT system.main.current_database()").fetchall()[0][0])
    current = session.find_session(raw)
    with (
        publishing_lock.publishing_turn(current, "materialize", source, database),
        current.cursor() as cursor,
    ):
        permission, asking = _allowed(cursor, database, reader, algorithm, source, given)
        before = outcomes(cursor, database)
        known = next((o for o in before if o.asking == asking), None)
        if known is not None:
            return known
        of = [o for o in before if o.asking.source.casefold() == asking.source.casefold()]
        if len(of) >= permission.most:
            raise errors.ReleaseUnavailableError(asking.said, [o.asking.said for o in of if o.release is not None])
        release = (PLACE, _free(cursor, database, asking))
        table = qualified(database, catalog.SCHEMA, "asked")
        # It is noted first: a process that ends in between leaves no release that is not in the table.
        cursor.execute(
            f"INSERT INTO {table} VALUES (?, ?, ?, ?, now()::TIMESTAMPTZ AT TIME ZONE 'UTC', ?, ?, ?)",
            [asking.algorithm, asking.source, asking.parameters, reader, *release, _UNFINISHED],
        )
        key = f"(algorithm, source, parameters) = ({join_sql(map(text, astuple(asking)))})"

        def is_still_allowed() -> None:
            with current.cursor() as fresh:  # permissions are changed by plain SQL, without a turn
                _allowed(fresh, database, reader, algorithm, source, given)

        try:
            with transactions.checked_before_commit(is_still_allowed):
                _make(connection, cursor, database, release, asking)
        except BaseException as error:
            if not _is_refusal(error) or isinstance(error, errors.RequestNotPermittedError):
                cursor.execute(f"DELETE FROM {table} WHERE {key}")
                raise
            why = str(error).split("\n\nLINE ")[0].removeprefix("Invalid Input Error: ")
            cursor.execute(f"UPDATE {table} SET schema_name = NULL, name = NULL, refused = ? WHERE {key}", [why])
            return Outcome(asking, None)
        cursor.execute(f"UPDATE {table} SET refused = NULL WHERE {key}")
        return Outcome(asking, release)


def _allowed(
    cursor: Any, database: str, reader: str, algorithm: str, source: str, given: Mapping[str, Any]
) -> tuple[Permission, ReleaseRequest]:
    """What `permissions.allowed` returns by the permissions that are stored now."""
    listed, _ = permissions.stored_permissions(cursor, database)
    return permissions.find_permission(listed, reader, algorithm, source, given)


def _is_refusal(error: BaseException) -> bool:
    """Return whether asking again would come to the same; DuckDB hands on what our functions raise as text."""
    ours = isinstance(error, errors.DbanonError | duckdb.InvalidInputException)
    return ours and outcome(error) not in ("busy", "interrupted")


def _make(connection: Any, cursor: Any, database: str, release: tuple[str, str], asking: ReleaseRequest) -> None:
    """Make the release, with the database as the current one."""
    cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {qualified(database, PLACE)}")
    name = str(qualified(database, *release))
    materialize.create_release(connection, name, asking.algorithm, asking.source, composition="refuse", **asking.given)


def _free(cursor: Any, database: str, asking: ReleaseRequest) -> str:
    """Return a name that no release had: kacpc_patients_k20."""
    bounds = {n: v for n, v in asking.given.items() if n == "k" or n in permissions.model_bounds()}
    said = [asking.algorithm, asking.source[:40], *(f"{name}{value}" for name, value in bounds.items())]
    plain = re.sub(r"[^a-z0-9]+", "_", "_".join(said).lower()).strip("_")
    had = {e.name.lower() for e in releases.entries(cursor, database, "schema_name = ?", [PLACE])}
    rows = cursor.execute(
        f"SELECT name FROM {qualified(database, catalog.SCHEMA, 'asked')} WHERE name IS NOT NULL"
    ).fetchall()
    had |= {str(name).lower() for (name,) in rows}
    names = (plain if number == 1 else f"{plain}_{number}" for number in range(1, len(had) + 2))
    return next(name for name in names if name not in had)
