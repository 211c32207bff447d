"""Check that a statement reads, in the caller's transaction, the tables, views and macros from which it was planned.

The planner sees what is committed. A transaction that is still open may have renamed a table or replaced a view, an old
snapshot may have earlier names, and a temporary object hides a stored one that a view names. So the statement queries
DuckDB's catalog when it runs, and fails if the result differs from the planner's.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.source.view_mentions import Mentions
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, join_sql, literal, text

Place = tuple[str, str, str]


@dataclass(frozen=True)
class CatalogState:
    """A scalar SQL subquery over DuckDB's catalog (`sql`), and its value when the statement was planned (`planned`)."""

    sql: Sql
    planned: str | None


def catalog_state(
    cursor: Any,
    tables: Collection[Place],
    mentions: Mentions | None = None,
    own_macros: Mapping[str, str] | None = None,
) -> CatalogState:
    """Return the state of the catalog for some tables and everything that a view mentions.

    It covers the columns of the tables, in order, with the number that DuckDB gave each table when it was created; for
    a view also every relation and macro of a name that occurs in it, including temporary ones.

    Args:
        cursor: The planner's cursor.
        tables: Places of the tables.
        mentions: The names that a view mentions; None if the source is no view.
        own_macros: MD5 hashes of the definitions of dbanon's own table functions by name. These are temporary macros of
            every connection, so they only count if they were replaced.
    """
    queries = []
    relations = mentions.relations if mentions is not None else ()
    number = "CASE type WHEN 'duckdb' THEN {kind}_oid END"  # those of other systems change with every look
    if tables:
        queries.append(
            "SELECT concat_ws(' ', database_name, schema_name, table_name, table_oid, column_index, column_name, "
            f"data_type) AS line FROM duckdb_columns() WHERE {_is_at_place(tables)}"
        )
    for kind in ("table", "view") if relations else ():
        queries.append(
            f"SELECT concat_ws(' ', database_name, schema_name, {kind}_name, {number.format(kind=kind)}) AS line "
            f"FROM duckdb_{kind}s() JOIN duckdb_databases() USING (database_name) "
            f"WHERE NOT duckdb_{kind}s.internal AND {_is_one_of(f'{kind}_name', relations)}"
        )
    if mentions and mentions.functions:
        queries.append(
            "SELECT concat_ws(' ', database_name, schema_name, function_name, function_oid, macro_definition) AS line "
            "FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NOT NULL "
            f"AND {_is_one_of('function_name', mentions.functions)} AND NOT {_is_own(own_macros or {})}"
        )
    lines = " UNION ALL ".join(queries) or "SELECT '' AS line WHERE false"
    sql = qualify_builtins(
        f"(SELECT md5(string_agg(line, chr(10) ORDER BY line COLLATE POSIX ASC)) FROM ({lines}) AS lines)"
    )
    return CatalogState(sql, cursor.execute(f"SELECT {sql}").fetchall()[0][0])


def _is_at_place(tables: Collection[Place]) -> Sql:
    """Return a SQL condition that is true for the catalog rows of the tables.

    It compares each part of a place, since DuckDB 2.0 then reads the catalog of these databases and schemas only.
    """
    parts = zip(("database_name", "schema_name", "table_name"), zip(*sorted(tables), strict=True), strict=True)
    each_part = " AND ".join(f"{column} IN ({join_sql(map(text, sorted(set(names))))})" for column, names in parts)
    if len(tables) == 1:
        return Sql(each_part)
    places = join_sql(f"({join_sql(map(text, place))})" for place in sorted(tables))
    return Sql(f"{each_part} AND (database_name, schema_name, table_name) IN ({places})")


def _is_one_of(column: str, names: Iterable[str]) -> Sql:
    """Return a SQL condition that is true if the column is one of the names, without regard to case."""
    return Sql(f"lower({column}) IN (SELECT lower(unnest([{join_sql(map(text, sorted(names)))}])))")


def _is_own(macros: Mapping[str, str]) -> Sql:
    """Return a SQL condition that is true for dbanon's own table functions with these definitions.

    `macros` has MD5 hashes of the definitions by name; if it is empty, the condition is false.
    """
    if not macros:
        return Sql("false")
    macro_hashes = join_sql(f"({text(name)}, {text(hashed)})" for name, hashed in sorted(macros.items()))
    return Sql(f"(database_name = 'temp' AND (function_name, md5(macro_definition)) IN ({macro_hashes}))")


TRUE = Sql("true")


def check_sql(function: str, source: str, state: CatalogState, value: Sql = TRUE) -> Sql:
    """Return SQL of `value` if the catalog has the planned state; else it raises SourceChangedError."""
    return _value_if(Sql(f"{state.sql} IS NOT DISTINCT FROM {literal(state.planned)}"), value, function, source)


def no_renamed_table_sql(
    function: str, source: str, tables: Collection[Place], table_oids: Collection[int], value: Sql = TRUE
) -> Sql:
    """Return SQL of `value` unless a governed table was renamed to one of the places `tables`.

    If one was, it raises SourceChangedError. A governed table has policy rows. A transaction that is still open may
    have renamed it to a name without policy rows, but it keeps its OID (number in the catalog).

    Args:
        function: The calling function, for the error.
        source: The name of the source, for the error.
        tables: Places without policy rows from which the source reads.
        table_oids: The OIDs of the governed tables, as committed.
        value: SQL of the value.
    """
    oid_list = join_sql(Sql(str(number)) for number in sorted(table_oids))
    n_matches = qualify_builtins(
        f"(SELECT count(*) FROM duckdb_tables() WHERE {_is_at_place(tables)} AND table_oid IN ({oid_list}))"
    )
    return _value_if(Sql(f"{n_matches} = 0"), value, function, source)


def _value_if(condition: Sql, value: Sql, function: str, source: str) -> Sql:
    """Return SQL of a value if a condition holds; else it raises SourceChangedError for the function and source."""
    message = text(str(errors.SourceChangedError(function, source)))
    return Sql(f"(CASE WHEN {condition} THEN {value} ELSE system.main.error({message}) END)")
