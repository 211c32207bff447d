"""That a statement reads, in the caller's transaction, the tables, views and macros from which it was planned.

The planner sees what is committed. A transaction that is still open may have renamed a table or replaced a view, an old
snapshot may have the names of yesterday, and a temporary object takes the place of one that a view names: the statement
asks DuckDB's catalog where it runs, and ends if the answer is another one than the planner's.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.source.view_mentions import Mentions
from dbanon.sqltext.qualify_builtins import bound
from dbanon.sqltext.quote import Sql, joined, literal, text

Place = tuple[str, str, str]


@dataclass(frozen=True)
class CatalogState:
    """SQL of a scalar subquery over the catalog, and what it gave on the planner's cursor."""

    sql: Sql
    planned: str | None


def catalog_state(
    cursor: Any,
    tables: Collection[Place],
    mentions: Mentions | None = None,
    own_macros: Mapping[str, str] | None = None,
) -> CatalogState:
    """The columns of some tables, in order, with the number that DuckDB gave each table when it was created; of a view
    also every relation and macro of a name that occurs in it, temporary ones too.

    `own_macros` are MD5 hashes of the definitions of dbanon's own table functions by name: these are temporary macros
    of every connection, so they count only where they were replaced.
    """
    queries = []
    relations = mentions.relations if mentions is not None else ()
    number = "CASE type WHEN 'duckdb' THEN {kind}_oid END"  # those of other systems change with every look
    if tables:
        places = joined(f"({joined(map(text, place))})" for place in sorted(tables))
        queries.append(
            "SELECT concat_ws(' ', database_name, schema_name, table_name, table_oid, column_index, column_name, "
            f"data_type) AS line FROM duckdb_columns() WHERE (database_name, schema_name, table_name) IN ({places})"
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
    sql = bound(f"(SELECT md5(string_agg(line, chr(10) ORDER BY line COLLATE POSIX ASC)) FROM ({lines}) AS lines)")
    return CatalogState(sql, cursor.execute(f"SELECT {sql}").fetchall()[0][0])


def _is_one_of(column: str, wanted: Iterable[str]) -> Sql:
    """A condition that holds for every name that DuckDB's catalog takes for one of those wanted, and for few others."""
    return Sql(f"lower({column}) IN (SELECT lower(unnest([{joined(map(text, sorted(wanted)))}])))")


def _is_own(macros: Mapping[str, str]) -> Sql:
    """Return a condition that holds for dbanon's own table functions, as they were installed."""
    if not macros:
        return Sql("false")
    known = joined(f"({text(name)}, {text(hashed)})" for name, hashed in sorted(macros.items()))
    return Sql(f"(database_name = 'temp' AND (function_name, md5(macro_definition)) IN ({known}))")


def check_sql(function: str, source: str, state: CatalogState) -> Sql:
    """Return a condition that holds where the catalog is that of the planner, and ends the statement elsewhere."""
    message = text(str(errors.SourceChangedError(function, source)))
    return Sql(
        f"(CASE WHEN {state.sql} IS NOT DISTINCT FROM {literal(state.planned)} THEN true "
        f"ELSE system.main.error({message}) END)"
    )


def unlike_sql(function: str, source: str, tables: Collection[Place], numbers: Collection[int]) -> Sql:
    """A condition that holds where none of the tables has one of the numbers in the catalog, and ends the statement
    elsewhere: a table keeps its number when it is renamed."""
    places = joined(f"({joined(map(text, place))})" for place in sorted(tables))
    listed = joined(Sql(str(number)) for number in sorted(numbers))
    message = text(str(errors.SourceChangedError(function, source)))
    found = bound(
        "(SELECT count(*) FROM duckdb_tables() "
        f"WHERE (database_name, schema_name, table_name) IN ({places}) AND table_oid IN ({listed}))"
    )
    return Sql(f"(CASE WHEN {found} = 0 THEN true ELSE system.main.error({message}) END)")
