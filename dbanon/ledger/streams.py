"""The ledger of streaming anonymized views: what each has published, and the state that it goes on from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger.stream_marks import Mark
from dbanon.source import catalog
from dbanon.source.catalog import SCHEMA, Cursor
from dbanon.sqltext.quote import Sql, literal_rows, qualified, text
from dbanon.table_functions.table_function import Call, TableFunction

TABLES = ("", "_classes")
"""Endings of the tables of one view."""


@dataclass(frozen=True)
class Grows:
    """One streaming view as the ledger has it: the columns of dbanon.stream, and the database."""

    database: str
    schema_name: str
    name: str
    status: str
    source: str
    system: str
    statement: str
    call: Mapping[str, Any]
    roles: Mapping[str, str]
    policy_fingerprint: str
    hierarchy_fingerprint: str
    bases: tuple[str, ...]
    refreshes: int = 0
    last_row: int = -1
    last_hash: str | None = None
    source_rows: int = 0
    arrived: int = 0
    waiting: int = 0
    published: int = 0
    suppressed: int = 0
    classes: int = 0
    total_delay: int = 0
    longest_delay: int = 0
    state: bytes | None = None
    mark: Mark | None = None

    @property
    def shown(self) -> str:
        """The name as messages show it."""
        return self.name if self.schema_name == "main" else f"{self.schema_name}.{self.name}"

    def table(self, ending: str = "") -> Sql:
        """Return one of its tables."""
        return qualified(self.database, self.schema_name, self.name + ending)

    @property
    def waits(self) -> Sql:
        """The table of the records that wait, as they were read."""
        return qualified(self.database, SCHEMA, f"waiting {self.schema_name}.{self.name}")

    @property
    def ledger(self) -> Sql:
        """The table that its row is in."""
        return qualified(self.database, SCHEMA, "stream")

    @property
    def row(self) -> Sql:
        """What tells its row from others."""
        return Sql(f"(schema_name, name, status) = ({text(self.schema_name)}, {text(self.name)}, 'grows')")


_WRITTEN = tuple(f.name for f in fields(Grows) if f.name != "database")


def entries(cursor: Cursor, database: str, where: str = "true", values: Sequence[object] = ()) -> list[Grows]:
    """Return the streaming views of a database; none where it has no ledger of them."""
    if not catalog.has_table(cursor, database, "stream"):
        return []
    query = f"FROM {qualified(database, SCHEMA, 'stream')} WHERE {where} ORDER BY schema_name, name, status, began_at"
    rows = cursor.execute(query, list(values))
    columns = [column[0] for column in rows.description]  # a ledger of an earlier version lacks the last ones
    found = []
    for row in rows.fetchall():
        of = {name: value for name, value in zip(columns, row, strict=True) if name in _WRITTEN}
        of |= {"call": json.loads(of["call"]), "roles": json.loads(of["roles"]), "bases": tuple(of["bases"])}
        found.append(Grows(database, **(of | {"mark": Mark.from_json(of.get("mark"))})))
    return found


def find(function: str, given: str, cursor: Cursor, path: catalog.SearchPath) -> Grows:
    """Return the view of a name that grows; UnknownStreamError."""
    found = among(cursor, given, path)
    if found is None:
        databases = dict.fromkeys(database for database, _ in path.named(given)[1])
        known = [e.shown for database in databases for e in entries(cursor, database, "status = 'grows'")]
        raise errors.UnknownStreamError(function, given, known)
    return found


def among(cursor: Cursor, given: str, path: catalog.SearchPath) -> Grows | None:
    """Return the same, or None."""
    name, places = path.named(given)
    found = (growing(cursor, (*where, name)) for where in places)
    return next((grows for grows in found if grows is not None), None)


def growing(cursor: Cursor, at: tuple[str, str, str]) -> Grows | None:
    """Return the view that grows in a database and schema under a name, or None."""
    where = "status = 'grows' AND (lower(schema_name), lower(name)) = (lower(?), lower(?))"
    return next(iter(entries(cursor, at[0], where, at[1:])), None)


def begin(cursor: Cursor, grows: Grows) -> None:
    """Write the row of a new view."""
    values = {name: getattr(grows, name) for name in _WRITTEN} | {
        "call": json.dumps(grows.call, ensure_ascii=False),
        "roles": json.dumps(grows.roles, ensure_ascii=False),
        "bases": list(grows.bases),
        "mark": None if grows.mark is None else grows.mark.to_json(),
    }
    now = "now()::TIMESTAMPTZ AT TIME ZONE 'UTC'"
    cursor.execute(
        f"INSERT INTO {grows.ledger} ({', '.join(values)}, began_at, refreshed_at) "
        f"VALUES ({', '.join('?' * len(values))}, {now}, {now})",
        list(values.values()),
    )


def go_on(cursor: Cursor, grows: Grows, changes: Mapping[str, object]) -> None:
    """Write how a view goes on."""
    said = "".join(f", {name} = ?" for name in changes)
    cursor.execute(
        f"UPDATE {grows.ledger} SET refreshed_at = now()::TIMESTAMPTZ AT TIME ZONE 'UTC'{said} WHERE {grows.row}",
        list(changes.values()),
    )


def stream_status(call: Call) -> Sql:
    """stream_status(): the streaming views of the attached databases."""
    columns = [
        name for name in _WRITTEN if name not in ("state", "last_row", "last_hash", "source_rows", "mark", "call")
    ]
    found = [d for d in call.attached() if catalog.has_table(call.cursor, d, "stream")]
    if not found:
        return literal_rows(dict.fromkeys(("database_name", *columns), "VARCHAR"), [])
    mean = "total_delay / nullif(published, 0) AS average_delay"
    shown = ", ".join(f"{name}" if name != "total_delay" else mean for name in columns)
    return Sql(
        "FROM ("
        + " UNION ALL ".join(
            f"SELECT {text(d)} AS database_name, {shown}, began_at, refreshed_at FROM {qualified(d, SCHEMA, 'stream')}"
            for d in found
        )
        + ") ORDER BY database_name ASC, schema_name ASC, name ASC, began_at ASC"
    )


FUNCTIONS = (
    TableFunction(
        "stream_status",
        (),
        (),
        "Every streaming anonymized view: what it has read and published, and how many records wait.",
        handler=stream_status,
        example=Example("SELECT name, system, arrived, published, waiting FROM stream_status();", SAFE),
    ),
)
