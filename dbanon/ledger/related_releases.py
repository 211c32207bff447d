"""The ledger of releases of related tables: people and the rows about them, from one snapshot and checked by one gate.

Such a release has one version. Its pseudonyms join the rows of each person, so that any other release of the same
people could be joined with all of them. The gate does not check such joins. Therefore nothing else of these people is
released.
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
    """A release by database, schema and name; the names of its tables are its name and an ending such as "_classes"."""

    database: str
    schema: str
    name: str

    @property
    def display_name(self) -> str:
        """The release's name as messages show it: with its schema, unless that is `main`."""
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    def table(self, table_suffix: str = "") -> Sql:
        """Return the SQL name (database, schema, table) of a table of the release: its name and then `table_suffix`.

        The empty ending is the table of released rows; others are "_classes", "_metrics" and those of related tables.
        """
        return qualified(self.database, self.schema, self.name + table_suffix)


@dataclass(frozen=True)
class RelatedRelease(NamedRelease):
    """A release of related tables, as its row in `dbanon.related_release` describes it.

    `tables` maps the endings of the released tables to their sources: first people, then rows about them. `bases` are
    the tables and files behind all sources, `person_bases` those behind the table of people alone. `hashes` are the
    stored hashes of the tables, by ending. `columns` has the columns of each source.
    """

    status: str
    source: str
    tables: Mapping[str, str]
    call: Mapping[str, Any]
    bases: tuple[str, ...]
    person_bases: tuple[str, ...]
    hashes: Mapping[str, str]
    columns: tuple[tuple[str, ...], ...] = ()

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of the names of all tables of the release, including those of classes and metrics."""
        return (*self.tables, "_classes", "_metrics")

    @property
    def ledger(self) -> Sql:
        """The SQL name of the ledger table dbanon.related_release, in the database of the release."""
        return qualified(self.database, catalog.SCHEMA, "related_release")

    @property
    def row(self) -> Sql:
        """The SQL condition for the row of the release in the ledger table."""
        return Sql(f"(schema_name, name) = ({text(self.schema)}, {text(self.name)})")


def entries(
    cursor: catalog.Cursor, database: str, condition: str = "true", values: Sequence[object] = ()
) -> list[RelatedRelease]:
    """Return the releases of related tables in a database's ledger, by schema and name; none if there is no ledger.

    Dropped ones are included. `condition` is SQL that restricts the rows, `values` are those of its placeholders.
    """
    rows = earlier_schema.current_rows(
        cursor, database, "related_release", condition, values, "schema_name ASC, name ASC"
    )
    return [_entry(database, row) for row in rows]


def _entry(database: str, row: Mapping[str, Any]) -> RelatedRelease:
    """Return a ledger row (values by column) as a release; names from earlier versions of dbanon become today's."""
    return RelatedRelease(
        database,
        row["schema_name"],
        row["name"],
        row["status"],
        row["source"],
        tables={table[len(row["name"]) :]: made_from for table, made_from in row["tables"].items()},
        call=earlier_names.current_call(json.loads(row["call"])),
        bases=tuple(row["source_tables"]),
        person_bases=tuple(row["person_tables"]),
        hashes=dict(row["hashes"]),
        columns=tuple(tuple(roles) for roles in json.loads(row["roles"]).values()),
    )


def find_related_release(cursor: catalog.Cursor, release_name: str, path: catalog.SearchPath) -> RelatedRelease | None:
    """Return the first release of related tables of this name in the schemas of the search path, also a dropped one.

    None if there is none. Case does not matter.
    """
    name, places = path.lookup_places(release_name)
    condition = "(lower(schema_name), lower(name)) = (lower(?), lower(?))"
    return next((e for database, schema in places for e in entries(cursor, database, condition, [schema, name])), None)
