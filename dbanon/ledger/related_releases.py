"""The ledger of releases of related tables: people and the rows about them, all of one state and one gate.

Such a release has one version. Its pseudonyms join the rows of each person, so that whatever else is released of the
same people could be laid beside all of them; nothing of that is judged, and so nothing else is released beside it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, qualified, text


@dataclass(frozen=True)
class NamedRelease:
    """A release by its place: its tables are named after it, each with an ending of its own."""

    database: str
    schema: str
    name: str

    @property
    def shown(self) -> str:
        """The name as messages show it."""
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    def table(self, ending: str = "") -> Sql:
        """Return one of its tables."""
        return qualified(self.database, self.schema, self.name + ending)


@dataclass(frozen=True)
class RelatedRelease(NamedRelease):
    """One release as the ledger has it: `tables` are its tables with rows of people and about them, by their endings,
    with what each was made from; `people` the bases of the table of people alone."""

    status: str
    source: str
    tables: Mapping[str, str]
    call: Mapping[str, Any]
    bases: tuple[str, ...]
    people: tuple[str, ...]
    hashes: Mapping[str, str]
    columns: tuple[tuple[str, ...], ...] = ()
    """The columns of each of its sources."""

    @property
    def endings(self) -> tuple[str, ...]:
        """Endings of all of its tables."""
        return (*self.tables, "_classes", "_metrics")

    @property
    def ledger(self) -> Sql:
        """The table that its row is in."""
        return qualified(self.database, catalog.SCHEMA, "related_release")

    @property
    def row(self) -> Sql:
        """What tells its row from others."""
        return Sql(f"(schema_name, name) = ({text(self.schema)}, {text(self.name)})")


def entries(
    cursor: catalog.Cursor, database: str, where: str = "true", values: Sequence[object] = ()
) -> list[RelatedRelease]:
    """Return the releases of related tables in a database; none where it has no ledger of them."""
    if not catalog.has_table(cursor, database, "related_release"):
        return []
    rows = cursor.execute(
        "SELECT schema_name, name, status, source, tables, call, bases, people, hashes, roles "
        f"FROM {qualified(database, catalog.SCHEMA, 'related_release')} WHERE {where} "
        "ORDER BY schema_name ASC, name ASC",
        list(values),
    ).fetchall()
    return [
        RelatedRelease(
            database,
            schema,
            name,
            status,
            source,
            tables={table[len(name) :]: made_from for table, made_from in tables.items()},
            call=json.loads(call),
            bases=tuple(bases),
            people=tuple(people),
            hashes=dict(hashes),
            columns=tuple(tuple(of_source) for of_source in json.loads(roles).values()),
        )
        for schema, name, status, source, tables, call, bases, people, hashes, roles in rows
    ]


def among(cursor: catalog.Cursor, given: str, path: catalog.SearchPath) -> RelatedRelease | None:
    """Return the release that a name means, published or dropped; None where it means none."""
    name, places = path.named(given)
    where = "(lower(schema_name), lower(name)) = (lower(?), lower(?))"
    return next((e for database, schema in places for e in entries(cursor, database, where, [schema, name])), None)
