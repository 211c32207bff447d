"""Execute statements about anonymized views. DuckDB evaluates the call in CREATE, and the planner records it."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.ledger import published_files, releases, transactions
from dbanon.publishing import release_files
from dbanon.release.spec import related_parameters as several
from dbanon.runtime import session
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, literal_rows
from dbanon.table_functions import arguments, shadowed_literals
from dbanon.table_functions.parameters import check_parameter_names
from dbanon.table_functions.registry import resolve_function, table_functions
from dbanon.views import drop, materialize, streaming
from dbanon.views.statement_parser import (
    CREATE,
    CREATE_STREAM,
    CREATES,
    DROP,
    DROP_STREAM,
    PUBLISH,
    REFRESH,
    REFRESH_STREAM,
    ViewStatement,
)


def evaluate_call(connection: Any, query: str, parameters: object) -> tuple[str, Any, dict[str, Any]]:
    """Run a query with one call of a table function, and return the call's function, source and parameters.

    DuckDB evaluates the arguments. The session records the call in place of planning a release, so nothing is released.
    If the query has several calls, the last one is returned.

    Args:
        connection: The raw connection of an attached session.
        query: The query.
        parameters: Values of the query's prepared-statement parameters, or None.

    Returns:
        The name of the function, its first argument (the source), and its other arguments by name.

    Raises:
        NotASingleCallError: The query calls no table function of dbanon.
        UnknownParameterError: The function has no parameter of that name.
    """
    current = session.find_session(connection)
    calls: list[Mapping[str, Any]] = []
    with current.recorded.filling(calls=calls):
        connection.execute(query) if parameters is None else connection.execute(query, parameters)
    if not calls:
        raise errors.NotASingleCallError("this one calls another function of that name", [])
    call = calls[-1]  # a statement with parameters is bound again when they are known
    name = call["function"]
    with current.cursor() as cursor:
        shadowed_literals.check_literals(name, cursor)
    parameter_values = arguments.merge_arguments(name, call["slots"] or (), dict(call["named"] or {}))
    check_parameter_names(name, table_functions()[name].parameters, parameter_values)
    return name, call["positional"]["tbl"], parameter_values


def run_statement(
    view: ViewStatement, connection: Any, rewrite: Callable[[str], str], parameters: object = None
) -> Sql:
    """Execute a statement about an anonymized view, and return a query for its result.

    The query has one row for CREATE and REFRESH, one per file for PUBLISH, and none for DROP. It has no row either if
    CREATE ... IF NOT EXISTS finds the release, which then stays unchanged.

    Args:
        view: The parsed statement.
        connection: The raw connection of an attached session.
        rewrite: Prepares the text of the statement's query for the planner.
        parameters: Values of prepared-statement parameters; only CREATE accepts them.

    Raises:
        RepeatedArgumentError: KEY and the parameter `key` are both given.

    Also raises the errors of the functions that create, refresh and drop views.
    """
    if view.statement not in CREATES and parameters:
        connection.execute("SELECT 1", parameters)  # DuckDB's error: there is nothing to put them into
    name = _qualified_name(connection, view.name)
    if view.statement == DROP:
        drop.drop_release(connection, name, if_exists=view.exists)
        return Sql('SELECT true AS "Success" WHERE false')
    if view.statement == DROP_STREAM:
        streaming.drop_stream(connection, name, if_exists=view.exists)
        return Sql('SELECT true AS "Success" WHERE false')
    options: dict[str, Any] = dict(view.options)
    if view.statement == PUBLISH:
        return _published_files(connection, name, view.path, options)
    if view.statement == REFRESH:
        refreshed = materialize.refresh_release(connection, name, **options)
        if (notes := session.find_session(connection).recorded.notes) is not None and refreshed.unchanged_note:
            notes.append(f"{refreshed.name}: {refreshed.unchanged_note}")
        return _release_row(refreshed)
    if view.statement == REFRESH_STREAM:
        return _stream_row(streaming.refresh_stream(connection, name, **options))
    function, source, parameter_values = evaluate_call(connection, rewrite(view.query), parameters)
    function, parameter_values = resolve_algorithm(function, parameter_values)
    if view.statement == CREATE_STREAM:
        try:
            return _stream_row(streaming.create_stream(connection, name, function, source, **parameter_values))
        except errors.ReleaseExistsError:
            if view.exists and streaming.exists(connection, name):
                return Sql(f"{_stream_row(streaming.StreamRefreshResult(name, 0, 0, 0, 0, 0))} WHERE false")
            raise
    key: Any = view.key
    if not several.has_related_tables(parameter_values):
        several.refuse_related_tables(function, parameter_values)
    elif "key" in parameter_values:
        if key is not None:
            raise errors.RepeatedArgumentError(CREATE, "key")
        key = parameter_values.pop("key")
    try:
        release = materialize.create_release(
            connection, name, function, source, key=key, replace=view.replace, **options, **parameter_values
        )
    except errors.ReleaseExistsError as error:
        if view.exists and error.is_release:
            return Sql(f"{_release_row(materialize.Release(name, 0, 0, 0, None))} WHERE false")
        raise
    return _release_row(release)


def _published_files(connection: Any, name: str, path: str, options: Mapping[str, Any]) -> Sql:
    """Write a release to files, as `dbanon.publish` does, and return a query for one row per file.

    Args:
        connection: The raw connection of an attached session.
        name: The name of the release.
        path: The file or folder; `~` at its start is the home folder, as in DuckDB.
        options: The options of the statement.

    Raises:
        TargetExistsError: A file exists, and `replace` is false.

    Also raises the other errors of `dbanon.publish`.
    """
    transactions.check_no_transaction("publish", connection)
    if path.startswith("~/"):
        path = f"{Path.home()}{path[1:]}"
    output_options = release_files.OutputOptions(
        classes=options.get("classes", False),
        storage_version=options.get("storage_version"),
        overwrite=options.get("replace", False),
        csv_formulas=options.get("csv_formulas", "escape"),
    )
    handover = published_files.Handover(*(options.get(n) for n in ("recipient", "purpose", "legal_basis")))
    current, search_path = session.find_session(connection), catalog.SearchPath.from_connection(connection)
    with current.cursor() as cursor:
        entry = releases.find_published("publish", name, cursor, search_path)
        try:
            paths = release_files.publish_release(current, cursor, entry, path, output_options, handover)
        except errors.TargetExistsError as error:
            raise errors.TargetExistsError(error.target, error.files, option="WITH (replace = true)") from None
    return literal_rows({"file": "VARCHAR"}, [[str(file)] for file in paths])


def resolve_algorithm(function: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the function and the parameters of a release as the ledger stores them.

    Those of `anonymize(...)` are the algorithm that it runs and the parameters but `algorithm`, so that a later version
    of dbanon may have another default.
    """
    algorithm = resolve_function(function, parameters).algorithm
    if algorithm is None:
        return function, dict(parameters)
    return algorithm, {name: value for name, value in parameters.items() if name != "algorithm"}


def _release_row(release: materialize.Release) -> Sql:
    """Return a query for one row: name, version, records, classes, and `waiting` unless that is None."""
    waiting = "" if release.waiting is None else f", {literal(release.waiting)}::BIGINT AS waiting"
    return Sql(
        f"SELECT {literal(release.name)} AS name, {literal(release.version)}::INTEGER AS version, "
        f"{literal(release.records)}::BIGINT AS records, {literal(release.classes)}::BIGINT AS classes{waiting}"
    )


def _stream_row(result: streaming.StreamRefreshResult) -> Sql:
    """Return a query for one row with the name and the counts of a refresh of a streaming view."""
    counts = ("read", "published", "suppressed", "waiting", "classes")
    columns = join_sql(f"{literal(getattr(result, name))}::BIGINT AS {name}" for name in counts)
    return Sql(f"SELECT {literal(result.name)} AS name, {columns}")


def _qualified_name(connection: Any, parts: Sequence[str]) -> str:
    """Return the name of a view as SQL text, with the database and schema that it refers to.

    A name of one part, or whose database or schema is unknown, is returned with the parts that were given. The first of
    two parts is a schema of the current database, or a database, whose schema is then `main`. Case is ignored.

    Raises:
        AmbiguousTableError: Both a schema and a database have the name.
    """
    if len(parts) == 1:
        return _quoted_name(parts)
    places = connection.execute(
        "SELECT database_name, schema_name, database_name = system.main.current_database() "
        "FROM system.main.duckdb_schemas()"
    ).fetchall()
    first = [part.lower() for part in parts[:-1]]
    matches = [
        (database, schema)
        for database, schema, is_current in places
        if (is_current and first == [schema.lower()])
        or (schema == "main" and first == [database.lower()])
        or first == [database.lower(), schema.lower()]
    ]
    names = [_quoted_name((*place, parts[-1])) for place in matches]
    if len(names) > 1:
        raise errors.AmbiguousTableError("materialized anonymized view", _quoted_name(parts), names)
    return names[0] if names else _quoted_name(parts)


def _quoted_name(parts: Sequence[str]) -> str:
    """Return the parts joined by dots; parts other than letters, digits, `_` and `$` are quoted."""
    return join_sql((p if re.fullmatch(r"[^\W\d][\w$]*", p) else identifier(p) for p in parts), ".")
