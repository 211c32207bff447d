"""The ledger of releases of related tables: people and the rows about them, from one snapshot and checked by one gate.

Such a release has one version. Its pseudonyms join the rows of each person, so that any other release of the same
people could be joined with all of them. The gate does not check that, and so nothing else of these people is released.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbanon.ledger import earlier_names
from dbanon.source import catalog, earlier_schema
from dbanon.sqltext.quote import Sql, qualified, text


@dataclass(frozen=True)
class NamedRelease:
    """A release by its place: the names of its tables are its name with different endings."""

    database: str
    schema: str
    name: str

    @property
    def display_name(self) -> str:
        """The name as messages show it."""
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    def table(self, ending: str = "") -> Sql:
        """Return the name of one of its tables."""
        return qualified(self.database, self.schema, self.name + ending)


@dataclass(frozen=True)
class RelatedRelease(NamedRelease):
    """A release of related tables, as the ledger has it.

    `tables` are the sources of its tables of people and of rows about them, by the tables' endings; `people` are the
    bases of the entity table alone.
    """

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
        """The ledger table with its row."""
        return qualified(self.database, catalog.SCHEMA, "related_release")

    @property
    def row(self) -> Sql:
        """The condition for its row in the ledger."""
        return Sql(f"(schema_name, name) = ({text(self.schema)}, {text(self.name)})")


def entries(
    cursor: catalog.Cursor, database: str, condition: str = "true", values: Sequence[object] = ()
) -> list[RelatedRelease]:
    """Return the releases of related tables in a database; none if it has no ledger of them."""
    if not catalog.has_table(cursor, database, "related_release"):
        return []
    result = cursor.execute(
        f"FROM {qualified(database, catalog.SCHEMA, 'related_release')} WHERE {condition} "
        "ORDER BY schema_name ASC, name ASC",
        list(values),
    )
    columns = [column[0] for column in result.description]
    return [_entry(database, dict(zip(columns, row, strict=True))) for row in result.fetchall()]


def _entry(database: str, row: Mapping[str, Any]) -> RelatedRelease:
    """Return a row of the ledger as an entry."""
    row = earlier_schema.current_row("related_release", row)
    return RelatedRelease(
        database,
        row["schema_name"],
        row["name"],
        row["status"],
        row["source"],
        tables={table[len(row["name"]) :]: made_from for table, made_from in row["tables"].items()},
        call=earlier_names.current_call(json.loads(row["call"])),
        bases=tuple(row["source_tables"]),
        people=tuple(row["person_tables"]),
        hashes=dict(row["hashes"]),
        columns=tuple(tuple(roles) for roles in json.loads(row["roles"]).values()),
    )


def find_related_release(cursor: catalog.Cursor, release_name: str, path: catalog.SearchPath) -> RelatedRelease | None:
    """Return the release of related tables with a name, published or dropped; None if there is none."""
    name, places = path.named(release_name)
    condition = "(lower(schema_name), lower(name)) = (lower(?), lower(?))"
    return next((e for database, schema in places for e in entries(cursor, database, condition, [schema, name])), None)
