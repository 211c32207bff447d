"""Reads the database's catalog for the planner: the source, its columns, its policy, its hierarchies.

Everything runs on a cursor of the planner's own, so it sees committed state only; the SQL that the planner
returns sees the caller's transaction, and `fingerprint_sql` lets it notice a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from dbanon import errors
from dbanon.runtime import input_files
from dbanon.source import attached_databases, snapshot_guard, view_references
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import bound
from dbanon.sqltext.quote import Sql, identifier, qualified

SCHEMA = "dbanon"


class Cursor(Protocol):
    """What is needed of a DuckDB connection."""

    def execute(self, query: str, parameters: object = None) -> Any: ...


@dataclass(frozen=True)
class SearchPath:
    """Where the caller's bare names resolve."""

    database: str
    schema: str
    entries: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, database: str, schema: str, setting: str) -> SearchPath:
        """From current_database(), current_schema() and the search_path setting (`a.b,"c d".e`)."""
        entries = [
            (parts[0], parts[1]) if len(parts) == 2 else (database, parts[0])
            for parts in names.path_entries(setting or "")
            if len(parts) <= 2
        ]
        return cls(database, schema, tuple(entries))

    @classmethod
    def here(cls, connection: Cursor) -> SearchPath:
        """Of a connection."""
        query = bound("SELECT current_database(), current_schema(), current_setting('search_path')")
        return cls.of(*connection.execute(query).fetchall()[0])

    @property
    def places(self) -> list[tuple[str, str]]:
        """(database, schema) pairs in the order in which a bare name is looked up."""
        return list(dict.fromkeys([*self.entries, (self.database, self.schema), (self.database, "main")]))

    def named(self, given: str) -> tuple[str, list[tuple[str, str]]]:
        """The bare name of what may be given with a schema and a database, and (database, schema) where it may be."""
        parts = names.table_parts(given) or (given,)
        if len(parts) == 3:
            return parts[2], [(parts[0], parts[1])]
        if len(parts) == 2:  # a schema, or a database
            return parts[1], [*((d, parts[0]) for d, _ in self.places), (parts[0], "main")]
        return parts[-1], self.places


@dataclass(frozen=True)
class Source:
    """A resolved source: SQL that names it, its columns and where its policy lives."""

    shown: str
    sql: Sql
    columns: Mapping[str, str]
    database: str
    schema: str
    table: str
    bare: bool = False
    is_table: bool = False
    """Whether it is a table of a DuckDB database: read twice in a statement, it has the same rows."""
    foreign: attached_databases.Foreign | None = None
    """What is to be known of a source in another system."""
    guard: Sql | None = None
    """What holds in a statement that reads it well, and ends another (see source.snapshot_guard); None: any reads it
    well."""
    cleaned: Sql | None = None
    """SQL of the source with NULL in place of codes for missing values, where it has any (see source.missing_codes)."""

    @property
    def home(self) -> str:
        """The database with its policy, its hierarchies and its releases: its own, or what `foreign` says."""
        return self.database if self.foreign is None else self.foreign.home

    @property
    def place(self) -> tuple[str, str, str]:
        """Database, schema and name."""
        return self.database, self.schema, self.table

    @property
    def read(self) -> Sql:
        """SQL of what is read by a statement that has nothing else to guard it."""
        return snapshot_guard.read(self.sql, self.guard)

    @property
    def rows(self) -> Sql:
        """SQL of what is read where no gate looks at it a second time."""
        return self.cleaned or self.read

    @cached_property
    def _spelled(self) -> dict[str, str]:
        return {names.folded(name): name for name in self.columns}

    def spelled(self, name: str) -> str | None:
        """Return a column as the table spells it; None where it has none of that name."""
        return self._spelled.get(names.folded(name))

    def column(self, function: str, name: str, where: str) -> str:
        """Return the same of a column that a call of `function` names in `where`; UnknownColumnError."""
        found = self.spelled(name)
        if found is None:
            raise errors.UnknownColumnError(function, self.shown, name, where, self.columns)
        return found


def resolve(
    function: str,
    given: str,
    cursor: Cursor,
    path: SearchPath,
    local: Mapping[str, Mapping[str, str]],
    trusting: bool = False,
) -> Source:
    """Return the table, view, file or known temporary relation that a source argument names.

    `local` holds relations that only the caller's connection sees by folded name, where they are known: temporary
    ones, and as `schema.table` those of its open transaction. Raises NotATableError, UnknownTableError,
    DatabaseNotAttachedError, AmbiguousTableError, UnreadableFileError or RemoteFileError; of a source in another system
    what `foreign.of` (which has `trusting`, too), `foreign.check_read` and `steady.check` raise.
    """
    parts = names.table_parts(given)
    single = parts[0] if parts and len(parts) == 1 else given
    bare = parts is None or len(parts) == 1
    if parts is not None and len(parts) == 2 and names.folded(parts[0]) == "main":  # temporary tables come first there
        bare, single = True, parts[1]
    if bare and names.folded(single) in local:
        columns, guard = (
            local[names.folded(single)],
            snapshot_guard.guard(cursor, given, snapshot_guard.kinds(cursor, None, None)),
        )
        return Source(given, identifier(single), columns, path.database, "main", single, guard=guard)
    if parts is not None and len(parts) == 2 and names.folded(".".join(parts)) in local:  # not committed yet
        columns, guard = (
            local[names.folded(".".join(parts))],
            snapshot_guard.guard(cursor, given, snapshot_guard.kinds(cursor, None, None)),
        )
        return Source(given, qualified(*parts), columns, path.database, *parts, guard=guard)
    found = stored(function, cursor, given, parts, path)
    if found is not None:
        return _found(
            function,
            given,
            cursor,
            found,
            bare,
            attached_databases.of(function, cursor, found, path.database, trusting),
        )
    if names.is_file(given):
        input_files.allowed(function, given, cursor)
        sql = input_files.relation(given)
        try:
            columns = _described(cursor, sql)
        except Exception as error:
            raise errors.UnreadableFileError(function, given, input_files.why(error)) from None
        return Source(given, sql, columns, path.database, "main", given)
    if parts is None:
        raise errors.NotATableError(function, given)
    if attached_databases.kind(cursor, parts[0]) is None and attached_databases.is_away(cursor, path.database, given):
        raise errors.DatabaseNotAttachedError(function, given, parts[0])
    raise errors.UnknownTableError(function, given, _known(cursor, path, local))


def _found(
    function: str,
    given: str,
    cursor: Cursor,
    found: attached_databases.Place,
    bare: bool,
    of: attached_databases.Foreign | None,
) -> Source:
    """Return a stored table or view as a source; what `resolve` says of one in another system."""
    is_table = _is_table(cursor, found)
    if not is_table and view_references.calls(function, found, cursor):  # DuckDB's own error speaks of recursion
        raise errors.RecursiveViewError(function, given)
    sql, columns = qualified(*found), columns_of(cursor, found)
    if of is not None:
        attached_databases.check_read(function, cursor, found, of.kind, columns)
    kinds = () if is_table else snapshot_guard.kinds(cursor, sql, None if of is None else of.kind)
    snapshot_guard.check(function, cursor, given, kinds, None if of is None else found[0])
    guard = snapshot_guard.guard(cursor, given, kinds)
    return Source(given, sql, columns, *found, bare=bare, is_table=is_table, foreign=of, guard=guard)


_RELATIONS = """
    SELECT database_name, schema_name, table_name FROM system.main.duckdb_tables() WHERE NOT internal
    UNION ALL SELECT database_name, schema_name, view_name FROM system.main.duckdb_views() WHERE NOT internal
"""


def stored(
    function: str, cursor: Cursor, given: str, parts: tuple[str, ...] | None, path: SearchPath
) -> tuple[str, str, str] | None:
    """Return the one stored relation that the name can mean, or None."""
    rows: list[tuple[str, str, str]] = cursor.execute(
        bound(
            f"SELECT * FROM ({_RELATIONS}) WHERE lower(table_name) IN (SELECT lower(unnest(?))) "
            "AND database_name <> 'temp'"
        ),
        [list({(parts or (given,))[-1], given})],
    ).fetchall()
    telling = attached_databases.telling(cursor)
    for asked in {d.lower() for d in (*(parts or ())[:-1], *(d for d, _ in path.places))} & telling.keys():
        rows = [row for row in rows if row[0] != telling[asked][0]]
        rows += attached_databases.relations(cursor, *telling[asked])
    by_name = {tuple(map(names.folded, row)): row for row in rows}

    def pick(candidates: Sequence[tuple[str, str, str]]) -> tuple[str, str, str] | None:
        hits = (by_name.get(tuple(map(names.folded, candidate))) for candidate in candidates)
        return next((hit for hit in hits if hit), None)

    if parts is not None and len(parts) == 3:
        return pick([(parts[0], parts[1], parts[2])])
    if parts is not None and len(parts) == 2:
        in_schema = pick([(database, parts[0], parts[1]) for database, _ in path.places])
        schemas = dict.fromkeys(("main", attached_databases.default_schema(cursor, parts[0])))
        in_database = pick([(parts[0], schema, parts[1]) for schema in schemas])
        if in_schema and in_database and in_schema != in_database:
            raise errors.AmbiguousTableError(
                function, given, [str(qualified(*row)) for row in (in_schema, in_database)]
            )
        return in_schema or in_database
    return pick([(database, schema, parts[0] if parts else given) for database, schema in path.places])


def _is_table(cursor: Cursor, found: tuple[str, str, str]) -> bool:
    return bool(
        cursor.execute(
            "SELECT 1 FROM system.main.duckdb_tables() JOIN system.main.duckdb_databases() USING (database_name) "
            "WHERE (database_name, schema_name, table_name) = (?, ?, ?) AND type = 'duckdb'",
            list(found),
        ).fetchall()
    )


def columns_of(cursor: Cursor, found: tuple[str, str, str]) -> dict[str, str]:
    """Column names and types of a stored table or view; a view that cannot be bound on this cursor tells what it was
    created with."""
    try:
        return _described(cursor, qualified(*found))
    except Exception:
        return dict(
            cursor.execute(
                "SELECT column_name, data_type FROM system.main.duckdb_columns() "
                "WHERE (database_name, schema_name, table_name) = (?, ?, ?) ORDER BY column_index ASC",
                list(found),
            ).fetchall()
        )


def _described(cursor: Cursor, relation: Sql) -> dict[str, str]:
    return dict(cursor.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM {relation})").fetchall())


def relations(cursor: Cursor, database: str) -> list[tuple[str, str, str]]:
    """Return all tables and views of a database: (database, schema, table)."""
    for told, kind in attached_databases.telling(cursor).values():
        if told == database:
            return attached_databases.relations(cursor, told, kind)
    rows: list[tuple[str, str, str]] = cursor.execute(
        f"SELECT * FROM ({_RELATIONS}) WHERE database_name = ?", [database]
    ).fetchall()
    return rows


def _known(cursor: Cursor, path: SearchPath, local: Mapping[str, object]) -> list[str]:
    rows = cursor.execute(f"SELECT DISTINCT table_name, schema_name FROM ({_RELATIONS})").fetchall()
    stored = [_spelled(t) if s == "main" else f"{_spelled(s)}.{_spelled(t)}" for t, s in rows if s != SCHEMA]
    return [*stored, *local]


def _spelled(name: str) -> str:
    """Return a name as a source argument spells it: in double quotes where it would be read as something else."""
    return name if names.table_parts(name) == (name,) else identifier(name)


# --- the policy ----------------------------------------------------------------------------------------


def has_table(cursor: Cursor, database: str, table: str) -> bool:
    """Return whether the database has `dbanon.<table>`."""
    return bool(
        cursor.execute(
            "SELECT 1 FROM system.main.duckdb_tables() WHERE (database_name, schema_name, table_name) = (?, ?, ?)",
            [database, SCHEMA, table],
        ).fetchall()
    )


def has_schema(cursor: Cursor, database: str, schema: str) -> bool:
    """Return whether the database has the schema."""
    rows = cursor.execute(
        bound("SELECT 1 FROM system.main.duckdb_schemas() WHERE database_name = ? AND lower(schema_name) = lower(?)"),
        [database, schema],
    ).fetchall()
    return bool(rows)


# --- hierarchies ---------------------------------------------------------------------------------------


def hierarchy_table(
    name: str, databases: Sequence[str], listed: Callable[[str], Collection[str]], only_there: bool = False
) -> tuple[str, str] | None:
    """(database, hierarchy name) of a stored hierarchy: `zip5` where the source or the session lives, or `db.zip5`;
    `listed` gives the names in a database; `only_there` allows `db.zip5` for these databases alone."""
    places = [(database, name) for database in dict.fromkeys(databases)]
    parts = names.table_parts(name)
    if parts is not None and len(parts) == 2 and (not only_there or parts[0] in databases):
        places.append((parts[0], parts[1]))
    return next(((database, hierarchy) for database, hierarchy in places if hierarchy in listed(database)), None)


def stored_hierarchies(cursor: Cursor, database: str) -> list[str]:
    """Return names of the hierarchies stored in one database."""
    if not has_table(cursor, database, "hierarchy"):
        return []
    table = qualified(database, SCHEMA, "hierarchy")
    return [row[0] for row in cursor.execute(f"SELECT DISTINCT name FROM {table} ORDER BY name ASC").fetchall()]
