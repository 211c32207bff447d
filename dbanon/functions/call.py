"""One call of a table function: what was given, where it was made, and what it can look up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

from dbanon import errors
from dbanon.functions import parameters, registry
from dbanon.functions.options import Options
from dbanon.functions.table_function import TableFunction
from dbanon.session import Session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, as_json, identifier


@dataclass(frozen=True)
class Call:
    """One call of a table function: validated parameters, positional arguments, and where it was made."""

    function: TableFunction
    positional: Mapping[str, object]
    options: Options
    session: Session
    cursor: Any
    path: catalog.SearchPath

    @classmethod
    def of(
        cls,
        session: Session,
        cursor: Any,
        function: str,
        positional: Mapping[str, object],
        given: Mapping[str, object],
        places: Sequence[str],
    ) -> Call:
        """A call with its parameters validated. `places`: current database, current schema, search path.

        Raises UnknownAlgorithm, UnknownParameter, MissingArgument or InvalidArgument.
        """
        called = registry.called(function, {**positional, **given})
        options = Options(parameters.validated(called.name, called.parameters, given))
        return cls(called, positional, options, session, cursor, catalog.SearchPath.of(*places))

    def text(self, name: str) -> str:
        """A positional argument, which must be a text."""
        value = self.positional.get(name)
        if value is None:
            raise errors.MissingArgument(
                self.function.name, name, "a text", f"dbanon docs {self.function.name} shows the call"
            )
        if not isinstance(value, str):
            raise errors.InvalidArgument(self.function.name, name, "a text", parameters.shown(value))
        return value

    def source(self, trusting: bool = False) -> catalog.Source:
        """The relation that the argument `tbl` names; `trusting` as in `catalog.resolve`."""
        given, local = self.text("tbl"), self.session.local
        source = catalog.resolve(self.function.name, given, self.cursor, self.path, local, trusting)
        policy = self.session.policies.get(names.folded(source.table))
        if policy is None or policy.database is None or source.sql != identifier(source.table):
            return source
        return replace(source, database=policy.database)

    def column(self, source: catalog.Source) -> str:
        """The column that the argument `col` names, as the table spells it; UnknownColumn."""
        return source.column(self.function.name, self.text("col"), "col")

    def holds(self, condition: str) -> bool:
        """Whether a SQL condition about literals is true."""
        return bool(self.cursor.execute(f"SELECT coalesce({condition}, false)").fetchall()[0][0])

    @cached_property
    def hierarchies(self) -> Callable[[str], list[str]]:
        """Names of the hierarchies stored in a database, which are read once a call."""
        return cache(partial(catalog.stored_hierarchies, self.cursor))

    def attached(self) -> list[str]:
        """The attached databases."""
        rows = self.cursor.execute(
            "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal ORDER BY 1 ASC"
        )
        return [row[0] for row in rows.fetchall()]


def literal_rows(columns: Mapping[str, object], rows: Sequence[Sequence[object]]) -> Sql:
    """A statement that gives literal rows; `columns` are their types by name."""
    document = [dict(zip(columns, row, strict=True)) for row in rows]
    return Sql(f"SELECT unnest(from_json({as_json(document)}, {as_json([dict(columns)])}), max_depth := 2)")
