"""Releases that readers request: the first request creates one, later equal requests return that very release.

Each is checked against all earlier releases of the same source, as with `composition = 'refuse'`, so that no reader can
combine two releases that were not compared. A refused request stays refused, and the number of different calls is
limited: that a release could not be created reveals something about the source, too.
"""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import duckdb

from dbanon import errors
from dbanon.errors.exit_codes import error_outcome
from dbanon.ledger import permissions, publishing_lock, releases, transactions
from dbanon.ledger.permissions import Permission, ReleaseRequest
from dbanon.runtime import session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import join_sql, qualified, text
from dbanon.table_functions.registry import table_functions
from dbanon.views import materialize

REQUESTED_SCHEMA = "asked"
"""The schema of releases that readers requested."""
_UNFINISHED = "The process that created it ended before it was finished."


@dataclass(frozen=True)
class RequestOutcome:
    """The outcome of a reader's request for a release.

    Attributes:
        request: The request.
        release: Schema and name of the release that was created for it; None if it was refused.
    """

    request: ReleaseRequest
    release: tuple[str, str] | None


def stored_outcomes(cursor: Any, database: str) -> list[RequestOutcome]:
    """Return the outcomes of all earlier requests in a database; empty if none is stored.

    A request whose release was dropped since counts as refused (`release` is None).
    """
    if not catalog.has_table(cursor, database, "release_request"):
        return []
    published_names = {(e.schema, e.name) for e in releases.entries(cursor, database, "status = 'published'")}
    rows = cursor.execute(
        "SELECT algorithm, source, parameters, schema_name, name "
        f"FROM {qualified(database, catalog.SCHEMA, 'release_request')} ORDER BY ALL ASC NULLS LAST"
    ).fetchall()
    requests = [(ReleaseRequest(*map(str, row[:3])), (row[3], row[4])) for row in rows]
    return [RequestOutcome(asking, release if release in published_names else None) for asking, release in requests]


def fulfil_request(
    connection: Any, reader: str, algorithm: str, source: str, parameters: Mapping[str, Any]
) -> RequestOutcome:
    """Return the outcome of a reader's request; create the release if no equal request was made before.

    An equal earlier request has the same outcome, a release or a refusal. Otherwise the request and its outcome are
    stored. Errors that may not recur (interrupts, locks, errors of the database) and a missing permission are raised
    and not stored; other errors are stored as a refusal, and the outcome has no release.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied.
        reader: The name of the reader.
        algorithm: The algorithm.
        source: The table to release.
        parameters: The parameters of the call.

    Raises:
        RequestNotPermittedError: No permission covers the call, also if it was withdrawn while the release was created.
        InvalidArgumentError: A parameter has an invalid value.
        RequestLimitReachedError: The maximum number of different calls of this source was requested already.
    """
    raw = session.plain_connection(connection)
    database = str(raw.execute("SELECT system.main.current_database()").fetchall()[0][0])
    current = session.find_session(raw)
    with publishing_lock.publishing_turn(current, "create_release", source, database), current.cursor() as cursor:
        permission, asking = _current_permission(cursor, database, reader, algorithm, source, parameters)
        earlier = stored_outcomes(cursor, database)
        existing = next((o for o in earlier if o.request == asking), None)
        if existing is not None:
            return existing
        of_source = permissions.requests_of_source((o.request for o in earlier), asking.source)
        if len(of_source) >= permission.max_requests:
            available = [o.request.description for o in earlier if o.release and o.request in of_source]
            raise errors.RequestLimitReachedError(asking.description, asking.source, permission.max_requests, available)
        release = (REQUESTED_SCHEMA, _unused_name(cursor, database, asking))
        table = qualified(database, catalog.SCHEMA, "release_request")
        # It is noted first: a process that ends in between leaves no release that is not in the table.
        cursor.execute(
            f"INSERT INTO {table} VALUES (?, ?, ?, ?, now()::TIMESTAMPTZ AT TIME ZONE 'UTC', ?, ?, ?)",
            [asking.algorithm, asking.source, asking.parameters, reader, *release, _UNFINISHED],
        )
        key = f"(algorithm, source, parameters) = ({join_sql(map(text, astuple(asking)))})"

        def is_still_allowed() -> None:
            """Raise RequestNotPermittedError if the permission was withdrawn; permissions are read again."""
            with current.cursor() as fresh:  # permissions are changed by plain SQL, without a turn
                _current_permission(fresh, database, reader, algorithm, source, parameters)

        try:
            with transactions.checked_before_commit(is_still_allowed):
                _create_release(connection, cursor, database, release, asking)
        except BaseException as error:
            if not _is_refusal(error, asking) or isinstance(error, errors.RequestNotPermittedError):
                cursor.execute(f"DELETE FROM {table} WHERE {key}")
                raise
            refusal = str(error).split("\n\nLINE ")[0].removeprefix("Invalid Input Error: ")
            cursor.execute(f"UPDATE {table} SET schema_name = NULL, name = NULL, refusal = ? WHERE {key}", [refusal])
            return RequestOutcome(asking, None)
        cursor.execute(f"UPDATE {table} SET refusal = NULL WHERE {key}")
        return RequestOutcome(asking, release)


def _current_permission(
    cursor: Any, database: str, reader: str, algorithm: str, source: str, parameters: Mapping[str, Any]
) -> tuple[Permission, ReleaseRequest]:
    """Return the first stored permission that covers a reader's call, and the request for that call.

    Raises:
        RequestNotPermittedError: No permission covers the call.
        InvalidArgumentError: A parameter has an invalid value.
    """
    permissions_now, _ = permissions.stored_permissions(cursor, database)
    return permissions.find_permission(permissions_now, reader, algorithm, source, parameters)


def _is_refusal(error: BaseException, request: ReleaseRequest) -> bool:
    """Return whether an error is a lasting refusal, which a later equal request would meet, too.

    That is an error of dbanon, or the InvalidInputException as which DuckDB passes it on; but no interrupt, none of the
    errors that another connection causes (outcome "busy"), and no InvalidInputException of DuckDB itself.
    """
    is_own_error = isinstance(error, errors.DbanonError) or (
        isinstance(error, duckdb.InvalidInputException) and _is_message_of_dbanon(str(error), request)
    )
    return is_own_error and error_outcome(error) not in ("busy", "interrupted")


def _is_message_of_dbanon(message: str, request: ReleaseRequest) -> bool:
    """Return whether a text of DuckDB is a message of dbanon about a request: it begins with what the message is about.

    That is the algorithm or another function, the source or a column of it, or a hierarchy.
    """
    topic = message.removeprefix("Invalid Input Error: ").partition(": ")[0].replace('"', "").casefold()
    source_name = (names.table_parts(request.source) or (request.source,))[-1].casefold()
    return (
        topic in ("create_release", request.algorithm.casefold())
        or topic in table_functions()
        or source_name in (topic, *topic.split("."))
        or topic.startswith(("dbanon.", "hierarchy "))
    )


def _create_release(
    connection: Any, cursor: Any, database: str, release: tuple[str, str], request: ReleaseRequest
) -> None:
    """Create the requested release with composition = 'refuse', and its schema if that is missing.

    Args:
        connection: The connection of dbanon on which the release is created.
        cursor: A cursor, for the schema.
        database: The database of the release.
        release: The schema and name of the release.
        request: The request (not the reader's name).
    """
    cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {qualified(database, REQUESTED_SCHEMA)}")
    materialize.create_release(
        connection,
        str(qualified(database, *release)),
        request.algorithm,
        request.source,
        composition="refuse",
        **request.call_parameters,
    )


def _unused_name(cursor: Any, database: str, request: ReleaseRequest) -> str:
    """Return a name for the release of a request, such as kacpc_patients_k20, that no release or request has had.

    Args:
        cursor: A cursor.
        database: The database of the release.
        request: The request (not the reader's name). Its algorithm, source, k and model parameters form the name.
    """
    bounds = {n: v for n, v in request.call_parameters.items() if n == "k" or n in permissions.sensitive_model_bounds()}
    parts = [request.algorithm, request.source[:40], *(f"{name}{value}" for name, value in bounds.items())]
    base_name = re.sub(r"[^a-z0-9]+", "_", "_".join(parts).lower()).strip("_")
    used_names = {e.name.lower() for e in releases.entries(cursor, database, "schema_name = ?", [REQUESTED_SCHEMA])}
    rows = cursor.execute(
        f"SELECT name FROM {qualified(database, catalog.SCHEMA, 'release_request')} WHERE name IS NOT NULL"
    ).fetchall()
    used_names |= {str(name).lower() for (name,) in rows}
    names = (base_name if number == 1 else f"{base_name}_{number}" for number in range(1, len(used_names) + 2))
    return next(name for name in names if name not in used_names)
