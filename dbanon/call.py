"""One call of a table function: what was given, where it was made, and what it can look up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbanon import catalog, errors, parameters, resources
from dbanon import hierarchy as hierarchies
from dbanon.attribute import Hierarchy
from dbanon.functions import TableFunction
from dbanon.quote import Sql, as_json
from dbanon.session import Session


@dataclass(frozen=True)
class Call:
    """One call of a table function: validated parameters, positional arguments, and where it was made."""

    function: TableFunction
    positional: Mapping[str, object]
    options: Mapping[str, object]
    session: Session
    cursor: Any
    path: catalog.SearchPath

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

    def source(self) -> catalog.Source:
        """The relation that the argument `tbl` names."""
        return catalog.resolve(self.function.name, self.text("tbl"), self.cursor, self.path, self.session.local)

    def holds(self, condition: str) -> bool:
        """Whether a SQL condition about literals is true."""
        return bool(self.cursor.execute(f"SELECT coalesce({condition}, false)").fetchall()[0][0])

    def attached(self) -> list[str]:
        """The attached databases."""
        rows = self.cursor.execute(
            "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal ORDER BY 1 ASC"
        )
        return [row[0] for row in rows.fetchall()]

    def hierarchy(self, name: str, source: catalog.Source | None) -> Hierarchy | None:
        """A hierarchy by name: ARX rows as text, stored with the source or in the session's database, or shipped."""
        stored = catalog.hierarchy_table(name, self.cursor, self._databases(source))
        if stored:
            return hierarchies.Stored(*stored)
        if hierarchies.is_inline(name):
            return hierarchies.read_arx("given as text", name)
        return hierarchies.shipped(name)

    def known_hierarchies(self, source: catalog.Source | None) -> list[str]:
        """Names that `hierarchy` knows."""
        stored = [n for db in self._databases(source) for n in catalog.stored_hierarchies(self.cursor, db)]
        return [*stored, *resources.shipped_hierarchies()]

    def _databases(self, source: catalog.Source | None) -> list[str]:
        """Where hierarchies are looked up: the source's database, then the session's."""
        return list(dict.fromkeys([*([source.database] if source else []), self.path.database]))


def literal_rows(columns: Mapping[str, object], rows: Sequence[Sequence[object]]) -> Sql:
    """A statement that gives literal rows; `columns` are their types by name."""
    document = [dict(zip(columns, row, strict=True)) for row in rows]
    return Sql(f"SELECT unnest(from_json({as_json(document)}, {as_json([dict(columns)])}), max_depth := 2)")
