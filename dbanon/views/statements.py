"""Carry out statements about anonymized views. The call in CREATE is evaluated by DuckDB; the planner records it."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from dbanon import errors
from dbanon.release.spec import related_parameters as several
from dbanon.runtime import session
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal
from dbanon.table_functions import arguments, shadowed_literals
from dbanon.table_functions.registry import table_functions
from dbanon.views import materialize, streaming
from dbanon.views.statement_parser import (
    CREATE,
    CREATE_STREAM,
    CREATES,
    DROP,
    DROP_STREAM,
    REFRESH,
    REFRESH_STREAM,
    View,
)


def recorded(connection: Any, query: str, parameters: object) -> tuple[str, Any, dict[str, Any]]:
    """Function, source and parameters of the call in a query, as DuckDB evaluates them."""
    current = session.find_session(connection)
    current.recorded_calls = []
    try:
        connection.execute(query) if parameters is None else connection.execute(query, parameters)
        calls = current.recorded_calls
    finally:
        current.recorded_calls = None
    if not calls:
        raise errors.NotASingleCallError("this one calls another function of that name", [])
    call = calls[-1]  # a statement with parameters is bound again when they are known
    name = call["function"]
    with current.cursor() as cursor:
        shadowed_literals.check_literals(name, cursor)
    given = arguments.merge_arguments(name, call["slots"] or (), dict(call["named"] or {}))
    known = [p.name for p in table_functions()[name].parameters]
    for parameter in given:
        if parameter not in known:
            raise errors.UnknownParameterError(name, parameter, known)
    return name, call["positional"]["tbl"], given


def run(view: View, connection: Any, ready: Callable[[str], str], parameters: object = None) -> Sql:
    """Does what the statement says; the query that gives its result. `ready` makes a call fit for the planner."""
    if view.statement not in CREATES and parameters:
        connection.execute("SELECT 1", parameters)  # DuckDB's error: there is nothing to put them into
    name = _resolved(connection, view.name)
    if view.statement == DROP:
        materialize.drop_release(connection, name, if_exists=view.exists)
        return Sql('SELECT true AS "Success" WHERE false')
    if view.statement == DROP_STREAM:
        streaming.drop_stream(connection, name, if_exists=view.exists)
        return Sql('SELECT true AS "Success" WHERE false')
    options: dict[str, Any] = dict(view.options)
    if view.statement == REFRESH:
        return _row(materialize.refresh_release(connection, name, **options))
    if view.statement == REFRESH_STREAM:
        return _grown(streaming.refresh_stream(connection, name, **options))
    function, source, given = recorded(connection, ready(view.query), parameters)
    if view.statement == CREATE_STREAM:
        try:
            return _grown(streaming.create_stream(connection, name, function, source, **given))
        except errors.ReleaseExistsError:
            if view.exists and streaming.exists(connection, name):
                return Sql(f"{_grown(streaming.StreamRefreshResult(name, 0, 0, 0, 0, 0))} WHERE false")
            raise
    key: Any = view.key
    if not several.asks(given):
        several.refuse(function, given)
    elif "key" in given:
        if key is not None:
            raise errors.RepeatedArgumentError(CREATE, "key")
        key = given.pop("key")
    try:
        made = materialize.create_release(
            connection, name, function, source, key=key, replace=view.replace, **options, **given
        )
    except errors.ReleaseExistsError as error:
        if view.exists and error.published:
            return Sql(f"{_row(materialize.Release(name, 0, 0, 0, None))} WHERE false")
        raise
    return _row(made)


def _row(made: materialize.Release) -> Sql:
    waiting = "" if made.waiting is None else f", {literal(made.waiting)}::BIGINT AS waiting"
    return Sql(
        f"SELECT {literal(made.name)} AS name, {literal(made.version)}::INTEGER AS version, "
        f"{literal(made.records)}::BIGINT AS records, {literal(made.classes)}::BIGINT AS classes{waiting}"
    )


def _grown(made: streaming.StreamRefreshResult) -> Sql:
    counts = ("read", "published", "suppressed", "waiting", "classes")
    said = join_sql(f"{literal(getattr(made, name))}::BIGINT AS {name}" for name in counts)
    return Sql(f"SELECT {literal(made.name)} AS name, {said}")


def _resolved(connection: Any, parts: Sequence[str]) -> str:
    """Return the name with database and schema, spelled as the catalog has them, where it has more than one part.

    The first of two parts is a schema of the current database, or a database.
    """
    if len(parts) == 1:
        return _shown(parts)
    places = connection.execute(
        "SELECT database_name, schema_name, database_name = system.main.current_database() "
        "FROM system.main.duckdb_schemas()"
    ).fetchall()
    first = [part.lower() for part in parts[:-1]]
    found = [
        (database, schema)
        for database, schema, here in places
        if (here and first == [schema.lower()])
        or (schema == "main" and first == [database.lower()])
        or first == [database.lower(), schema.lower()]
    ]
    shown = [_shown((*place, parts[-1])) for place in found]
    if len(shown) > 1:
        raise errors.AmbiguousTableError("materialized anonymized view", _shown(parts), shown)
    return shown[0] if shown else _shown(parts)


def _shown(parts: Sequence[str]) -> str:
    """Return a name as text, quoted where needed."""
    return join_sql((p if re.fullmatch(r"[^\W\d][\w$]*", p) else identifier(p) for p in parts), ".")
