"""The ledger of streaming anonymized views: what each has published, and the state of its algorithm."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import earlier_names
from dbanon.ledger.related_releases import NamedRelease
from dbanon.ledger.stream_marks import Mark
from dbanon.source import catalog, earlier_schema
from dbanon.source.catalog import SCHEMA, Cursor
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, literal_rows, qualified, text
from dbanon.table_functions.table_function import Call, TableFunction

TABLES = ("", "_classes")
"""Endings of the names of a view's tables."""

DEFAULTS = 1
"""The version of the defaults of own parameters, which a stored call has as `defaults`; 0 if it has none."""

_EARLIER_DEFAULTS: Mapping[str, Callable[[int], Mapping[str, object]]] = {
    "fads": lambda delta: {"trigger": "age"},
    "faanst": lambda delta: {"mu": min(500, delta)},
    "puri_haritha": lambda delta: {"beta": 50},
}
"""By stream algorithm: the defaults of version 0 that differ from today's, as a function of `delta`."""


@dataclass(frozen=True)
class StreamEntry(NamedRelease):
    """A streaming view as its row in `dbanon.stream` describes it, with the database of the ledger."""

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
    def parameters(self) -> dict[str, Any]:
        """The parameters of its call, with the defaults of the version of dbanon that created it, by name."""
        parameters = dict(self.call["parameters"])
        if "defaults" in self.call or self.system not in _EARLIER_DEFAULTS:
            return parameters
        names = {fold_case(name): name for name in parameters}
        earlier = _EARLIER_DEFAULTS[self.system](int(parameters[names["delta"]]))
        return parameters | {name: value for name, value in earlier.items() if name not in names}

    @property
    def pending_table(self) -> Sql:
        """The SQL name of the table of records that were read and are not published yet, as they were read."""
        return qualified(self.database, SCHEMA, f"waiting {self.schema}.{self.name}")

    @property
    def ledger(self) -> Sql:
        """The SQL name of the ledger table of streaming views."""
        return qualified(self.database, SCHEMA, "stream")

    @property
    def row(self) -> Sql:
        """The SQL condition for the view's row in the ledger table, if the view is active (not dropped)."""
        return Sql(f"(schema_name, name, status) = ({text(self.schema)}, {text(self.name)}, 'active')")


_OWN_COLUMNS = tuple(f.name for f in fields(StreamEntry)[len(fields(NamedRelease)) :] if f.name != "bases")
_STORED_COLUMNS = ("schema_name", "name", *_OWN_COLUMNS)


def entries(cursor: Cursor, database: str, condition: str = "true", values: Sequence[object] = ()) -> list[StreamEntry]:
    """Return the streaming views in a database's ledger, including dropped ones; [] if it has no such ledger.

    `condition` is SQL that restricts the rows, `values` are those of its placeholders. Names from earlier versions of
    dbanon become today's.
    """
    result, order = [], "schema_name, name, status, began_at"
    for cells in earlier_schema.current_rows(cursor, database, "stream", condition, values, order):
        call = json.loads(cells["call"])
        own_values = {name: value for name, value in cells.items() if name in _OWN_COLUMNS} | {
            "call": earlier_names.current_call(call),
            "statement": earlier_names.current_statement(cells["statement"], call["function"], call["parameters"]),
            "roles": earlier_names.current_roles(json.loads(cells["roles"])),
            "bases": tuple(cells["source_tables"]),
            "mark": Mark.from_json(cells.get("mark")),
        }
        result.append(StreamEntry(database, cells["schema_name"], cells["name"], **own_values))
    return result


def find_active_stream(function: str, stream_name: str, cursor: Cursor, path: catalog.SearchPath) -> StreamEntry:
    """Return the first active (not dropped) streaming view named `stream_name` in the schemas of the search path.

    `function` is the name of the calling function, for messages.

    Raises:
        UnknownStreamError: There is no active streaming view of that name.
    """
    entry = lookup_active_stream(cursor, stream_name, path)
    if entry is None:
        databases = dict.fromkeys(database for database, _ in path.lookup_places(stream_name)[1])
        active_names = [
            e.display_name for database in databases for e in entries(cursor, database, "status <> 'dropped'")
        ]
        raise errors.UnknownStreamError(function, stream_name, active_names)
    return entry


def lookup_active_stream(cursor: Cursor, stream_name: str, path: catalog.SearchPath) -> StreamEntry | None:
    """Return the first active (not dropped) streaming view of a name on the search path; None if there is none."""
    name, places = path.lookup_places(stream_name)
    candidates = (active_stream(cursor, (*place, name)) for place in places)
    return next((entry for entry in candidates if entry is not None), None)


def active_stream(cursor: Cursor, place: tuple[str, str, str]) -> StreamEntry | None:
    """Return the active (not dropped) streaming view at a place (database, schema, name); None if there is none."""
    condition = "status <> 'dropped' AND (lower(schema_name), lower(name)) = (lower(?), lower(?))"
    return next(iter(entries(cursor, place[0], condition, place[1:])), None)


def insert_stream(cursor: Cursor, entry: StreamEntry) -> None:
    """Insert the ledger row of a new streaming view, with the present time as beginning and as last refresh."""
    values = {"schema_name": entry.schema, "name": entry.name} | {n: getattr(entry, n) for n in _OWN_COLUMNS}
    values |= {
        "call": json.dumps(entry.call, ensure_ascii=False),
        "roles": json.dumps(entry.roles, ensure_ascii=False),
        "source_tables": list(entry.bases),
        "mark": None if entry.mark is None else entry.mark.to_json(),
    }
    utc_now = "now()::TIMESTAMPTZ AT TIME ZONE 'UTC'"
    cursor.execute(
        f"INSERT INTO {entry.ledger} ({', '.join(values)}, began_at, refreshed_at) "
        f"VALUES ({', '.join('?' * len(values))}, {utc_now}, {utc_now})",
        list(values.values()),
    )


def update_stream(cursor: Cursor, entry: StreamEntry, changes: Mapping[str, object]) -> None:
    """Write changed values, and the present time as `refreshed_at`, to the ledger row of an active streaming view.

    `changes` are the new values by column.
    """
    assignments = "".join(f", {name} = ?" for name in changes)
    cursor.execute(
        f"UPDATE {entry.ledger} SET refreshed_at = now()::TIMESTAMPTZ AT TIME ZONE 'UTC'{assignments} "
        f"WHERE {entry.row}",
        list(changes.values()),
    )


def stream_status(call: Call) -> Sql:
    """Return the SQL of stream_status(): the streaming views in the ledgers of all attached databases.

    Dropped ones are included. The result has the average instead of the total delay, and no columns of internal state
    (the algorithm's state, the position in the source, the call). Without any ledger there are no rows.
    """
    columns = [
        name
        for name in _STORED_COLUMNS
        if name not in ("state", "last_row", "last_hash", "source_rows", "mark", "call")
    ]
    databases = [d for d in call.attached_databases() if catalog.has_table(call.cursor, d, "stream")]
    if not databases:
        return literal_rows(dict.fromkeys(("database_name", *columns), "VARCHAR"), [])
    average_delay = "total_delay / nullif(published, 0) AS average_delay"
    column_list = ", ".join(f"{name}" if name != "total_delay" else average_delay for name in columns)
    return Sql(
        "FROM ("
        + " UNION ALL ".join(
            f"SELECT {text(d)} AS database_name, {column_list}, began_at, refreshed_at "
            f"FROM {qualified(d, SCHEMA, 'stream')}"
            for d in databases
        )
        + ") ORDER BY database_name ASC, schema_name ASC, name ASC, began_at ASC"
    )


FUNCTIONS = (
    TableFunction(
        "stream_status",
        (),
        (),
        "Lists the streaming anonymized views: how many records each has read and published, and how many are pending.",
        handler=stream_status,
        example=Example("SELECT name, system, arrived, published, waiting FROM stream_status();", SAFE),
    ),
)
