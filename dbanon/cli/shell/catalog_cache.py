"""The names that a statement can use: relations and their columns, functions, hierarchies, keywords."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import identifier

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")

Rows = Sequence[tuple[object, ...]]


@dataclass(frozen=True)
class NamedRelation:
    """A table or view.

    Attributes:
        name: The shortest name by which a statement can refer to it.
        parts: Database, schema and table.
        columns: Its columns with their types, in order.
    """

    name: str
    parts: tuple[str, str, str]
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Catalog:
    """The names that completion offers in addition to dbanon's functions.

    Attributes:
        relations: Tables and views.
        hierarchies: Names of hierarchies.
        functions: Names of DuckDB's functions.
        keywords: Keywords of SQL, in lower case.
        reserved: Keywords that must be quoted as names.
    """

    relations: Sequence[NamedRelation] = ()
    hierarchies: Sequence[str] = ()
    functions: Sequence[str] = ()
    keywords: Sequence[str] = ()
    reserved: frozenset[str] = field(default_factory=frozenset)

    def spelled(self, name: str) -> str:
        """Return a name as a statement must write it, quoted if that is necessary."""
        return name if _PLAIN_NAME.fullmatch(name) and name not in self.reserved else str(identifier(name))

    def find_relations(self, names: Iterable[str]) -> list[NamedRelation]:
        """Return the relations whose table name is among the names, in the order of the names.

        Of names with several parts, only the last part is compared; case is ignored.
        """
        matches = []
        for name in dict.fromkeys(n.lower() for n in names):
            last = name.split(".")[-1].strip('"')
            matches += [r for r in self.relations if r.parts[-1].lower() == last and r not in matches]
        return matches


def read_catalog(query: Callable[[str], Rows]) -> Catalog:
    """Read the names for completion from DuckDB; `query` runs a query and returns its rows. Takes some milliseconds."""
    keywords = [
        (str(k), str(c)) for k, c in query("SELECT keyword_name, keyword_category FROM system.main.duckdb_keywords()")
    ]
    reserved = frozenset(k for k, category in keywords if category in ("reserved", "type_function"))
    without_names = Catalog(reserved=reserved)
    grouped: dict[tuple[str, str, str], dict[str, str]] = {}
    visible: set[tuple[str, str, str]] = set()
    for database, schema, table, column, type_, is_visible in query(
        qualify_builtins(
            "SELECT database_name, schema_name, table_name, column_name, data_type, "
            "database_name = 'temp' OR (database_name = current_database() AND schema_name = current_schema()) "
            "FROM duckdb_columns() WHERE NOT internal "
            "ORDER BY 6 DESC, database_name ASC, schema_name ASC, table_name ASC, column_index ASC"
        )
    ):
        parts = (str(database), str(schema), str(table))
        grouped.setdefault(parts, {})[str(column)] = str(type_)
        visible |= {parts} if is_visible else set()
    current = {str(row[0]) for row in query("SELECT system.main.current_database()")}
    relations = []
    for parts, columns in grouped.items():
        name_parts = parts[-1:] if parts in visible else parts[1:] if parts[0] in current else parts
        relations.append(NamedRelation(".".join(map(without_names.spelled, name_parts)), parts, columns))
    functions = query(
        qualify_builtins(
            "SELECT DISTINCT function_name FROM duckdb_functions() "
            "WHERE database_name <> 'temp' AND regexp_full_match(function_name, '[a-z][a-z0-9_]*') "
            "AND NOT starts_with(function_name, 'dbanon_') AND NOT starts_with(function_name, 'pg_') ORDER BY 1 ASC"
        )
    )
    hierarchies = query("SELECT name FROM temp.main.hierarchies() ORDER BY 1 ASC")
    return Catalog(
        relations=relations,
        hierarchies=[str(h) for (h,) in hierarchies],
        functions=[str(f) for (f,) in functions],
        keywords=sorted({*(k for k, _ in keywords), "anonymized", "materialized", "refresh"}),
        reserved=reserved,
    )


class CatalogCache:
    """A cache of the names for completion, read again when they are needed after a statement.

    If reading fails, the previous names remain. `query` returns the rows of a query, None if it fails.
    """

    def __init__(self, query: Callable[[str], Rows | None]) -> None:
        """Store the function that runs a query; nothing is read yet."""
        self._query = query
        self._catalog = Catalog()
        self._stale = True

    def mark_stale(self) -> None:
        """Mark the names as outdated, after a statement ran."""
        self._stale = True

    def get(self) -> Catalog:
        """Return the names, after reading them again if they are outdated."""
        if self._stale:
            self._stale = False
            answers: list[Rows | None] = []

            def ask(query: str) -> Rows:
                """Return the rows of a query, none if it fails; note whether it failed."""
                answers.append(self._query(query))
                return answers[-1] or ()

            matches = read_catalog(ask)
            if None not in answers:
                self._catalog = matches
        return self._catalog
