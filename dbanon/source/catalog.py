"""Read the database's catalog for the planner: the source of a call, its columns, and stored hierarchies.

Everything runs on a cursor of the planner's own, so it sees committed state only; the SQL that the planner returns sees
the caller's transaction, and `fingerprint_sql` lets it detect a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from dbanon import errors
from dbanon.runtime import input_files
from dbanon.source import attached_databases, snapshot_guard, view_mentions
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, qualified

SCHEMA = "dbanon"


class Cursor(Protocol):
    """The part of a DuckDB connection that the planner uses."""

    def execute(self, query: str, parameters: object = None) -> Any:
        """Run a query with the values of its parameters, if any; return the result, from which rows are fetched."""


def rows_by_column(result: Any) -> list[dict[str, Any]]:
    """Return the rows of an executed query as dictionaries from column names to values."""
    columns = [column[0] for column in result.description]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


@dataclass(frozen=True)
class SearchPath:
    """The search path for the caller's bare (unqualified) names.

    `database` and `schema` are the current ones, `entries` those of the setting search_path.
    """

    database: str
    schema: str
    entries: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_setting(cls, database: str, schema: str, setting: str) -> SearchPath:
        """Return the search path for the current database and schema and the value of search_path (`a.b,"c d".e`).

        An entry of one part is a schema of the current database; entries of more than two parts are ignored.
        """
        entries = [
            (parts[0], parts[1]) if len(parts) == 2 else (database, parts[0])
            for parts in names.search_path_entries(setting or "")
            if len(parts) <= 2
        ]
        return cls(database, schema, tuple(entries))

    @classmethod
    def from_connection(cls, connection: Cursor) -> SearchPath:
        """Return the present search path of a connection."""
        query = qualify_builtins("SELECT current_database(), current_schema(), current_setting('search_path')")
        return cls.from_setting(*connection.execute(query).fetchall()[0])

    @property
    def places(self) -> list[tuple[str, str]]:
        """The (database, schema) pairs in the order in which a bare name is looked up, without duplicates.

        The entries of the setting come first, then the current schema, then main.
        """
        return list(dict.fromkeys([*self.entries, (self.database, self.schema), (self.database, "main")]))

    def lookup_places(self, name: str) -> tuple[str, list[tuple[str, str]]]:
        """Return the bare (unqualified) part of a name, and the (database, schema) pairs in which it may be, in order.

        `name` is the name as written; it may include a schema and a database. The first of two parts can be a schema of
        a database on the path, or a database whose schema main is meant. A text that is no valid name counts as a bare
        name.
        """
        parts = names.table_parts(name) or (name,)
        if len(parts) == 3:
            return parts[2], [(parts[0], parts[1])]
        if len(parts) == 2:  # a schema, or a database
            return parts[1], [*((d, parts[0]) for d, _ in self.places), (parts[0], "main")]
        return parts[-1], self.places


@dataclass(frozen=True)
class Source:
    """A resolved source of a call: SQL that names it, its columns with their types, and its place.

    `shown` is its name as messages show it; `bare` is whether that is without schema and database.
    """

    shown: str
    sql: Sql
    columns: Mapping[str, str]
    database: str
    schema: str
    table: str
    bare: bool = False
    is_table: bool = False
    """Whether it is a table of a DuckDB database: read twice in a statement, it has the same rows."""
    foreign: attached_databases.ForeignSource | None = None
    """The home and identity of a source in another system."""
    guard: Sql | None = None
    """A condition that ends a statement which would not read the source consistently (see source.snapshot_guard); None
    if every statement does."""
    cleaned: Sql | None = None
    """SQL of the source with NULL in place of codes for missing values, if it has any (see source.missing_codes)."""

    @property
    def home(self) -> str:
        """The database that has the source's policy, hierarchies and releases.

        It is the source's own database; for a source in another system it is `foreign.home`.
        """
        return self.database if self.foreign is None else self.foreign.home

    @property
    def place(self) -> tuple[str, str, str]:
        """Database, schema and name of the source."""
        return self.database, self.schema, self.table

    @property
    def read(self) -> Sql:
        """SQL that reads the source under its guard (a condition for consistent reads), if it has one.

        It is meant for a statement that has no other guard.
        """
        return snapshot_guard.guarded_relation(self.sql, self.guard)

    @property
    def rows(self) -> Sql:
        """SQL of the source with NULL in place of codes for missing values, for statements whose result no gate checks.

        Without codes it is the same as `read`.
        """
        return self.cleaned or self.read

    @cached_property
    def _spelled(self) -> dict[str, str]:
        """The names of the source's columns by case-folded name."""
        return {names.fold_case(name): name for name in self.columns}

    def spelled(self, name: str) -> str | None:
        """Return a column's name, given in any case, as the table spells it; None if the table has no such column."""
        return self._spelled.get(names.fold_case(name))

    def column(self, function: str, name: str, where: str) -> str:
        """Return a column's name, given in any case, as the table spells it.

        Args:
            function: The function whose call names the column, for messages.
            name: The column, in any case.
            where: The parameter that names it, for messages.

        Raises:
            UnknownColumnError: The source has no such column.
        """
        found = self.spelled(name)
        if found is None:
            raise errors.UnknownColumnError(function, self.shown, name, where, self.columns)
        return found


def resolve_source(
    function: str,
    name: str,
    cursor: Cursor,
    path: SearchPath,
    local_relations: Mapping[str, Mapping[str, str]],
    is_declaring: bool = False,
) -> Source:
    """Return the table, view, file or known temporary relation that a source argument names.

    For a source in another system also the errors of `attached_databases.foreign_source`,
    `attached_databases.check_read` and `snapshot_guard.check_isolation` are raised.

    Args:
        function: The function that reads the source, for messages.
        name: The source as the call gives it.
        cursor: A cursor that sees committed objects.
        path: The search path of the caller.
        local_relations: Columns of relations that only the caller's connection sees, by folded name: temporary ones,
            and as `schema.table` those of its open transaction. They take precedence over stored ones.
        is_declaring: The caller is about to record which database of another system a name means, so that it need not
            be recorded yet.

    Raises:
        NotATableError: `name` is neither a name of a table nor of a file.
        UnknownTableError: There is no such table.
        DatabaseNotAttachedError: `name` is that of a table of a database of another system that is not attached.
        AmbiguousTableError: A two-part name means several tables.
        UnreadableFileError, FileEncodingError: The file cannot be read.
        UnsupportedFileError: The file exists, and its ending is not one of a file of rows.
        RemoteFileError: The file is remote, and the extension that reads it is not loaded.
        RecursiveViewError: The source is a view that calls the function.
    """
    parts = names.table_parts(name)
    bare_name = parts[0] if parts and len(parts) == 1 else name
    is_bare = parts is None or len(parts) == 1
    if (
        parts is not None and len(parts) == 2 and names.fold_case(parts[0]) == "main"
    ):  # temporary tables come first there
        is_bare, bare_name = True, parts[1]
    if is_bare and names.fold_case(bare_name) in local_relations:
        columns, guard = (
            local_relations[names.fold_case(bare_name)],
            snapshot_guard.guard_condition(cursor, name, snapshot_guard.scanned_systems(cursor, None, None)),
        )
        return Source(name, identifier(bare_name), columns, path.database, "main", bare_name, guard=guard)
    if (
        parts is not None and len(parts) == 2 and names.fold_case(".".join(parts)) in local_relations
    ):  # not committed yet
        columns, guard = (
            local_relations[names.fold_case(".".join(parts))],
            snapshot_guard.guard_condition(cursor, name, snapshot_guard.scanned_systems(cursor, None, None)),
        )
        return Source(name, qualified(*parts), columns, path.database, *parts, guard=guard)
    place = find_stored(function, cursor, name, parts, path)
    if place is not None:
        return _stored_source(
            function,
            name,
            cursor,
            place,
            is_bare,
            attached_databases.foreign_source(function, cursor, place, path.database, is_declaring),
        )
    if names.is_file(name):
        input_files.check_file_system(function, name, cursor)
        sql = input_files.file_relation(name)
        try:
            columns = _describe_columns(cursor, sql)
        except Exception as error:
            raise input_files.unreadable_error(function, name, error) from None
        return Source(name, sql, columns, path.database, "main", name)
    if (parts is None or len(parts) > 1) and input_files.exists(name, cursor):
        raise errors.UnsupportedFileError(function, name, names.FILE_ENDINGS)
    if parts is None:
        raise errors.NotATableError(function, name)
    if attached_databases.database_kind(cursor, parts[0]) is None and attached_databases.has_recorded_database(
        cursor, path.database, name
    ):
        raise errors.DatabaseNotAttachedError(function, name, parts[0])
    raise errors.UnknownTableError(function, name, _known_names(cursor, path, local_relations))


def _stored_source(
    function: str,
    name: str,
    cursor: Cursor,
    place: attached_databases.Place,
    is_bare: bool,
    foreign: attached_databases.ForeignSource | None,
) -> Source:
    """Return a stored table or view as a source, after the checks for sources in other systems.

    Args:
        function: The function that reads the source, for messages.
        name: The source as the call gives it.
        cursor: A cursor that sees committed objects.
        place: Database, schema and name of the table or view.
        is_bare: Whether the name is without schema and database.
        foreign: Its home and identity if it is in another system, else None.

    Raises:
        RecursiveViewError: It is a view that calls the function.
        DbanonError: As `attached_databases.check_read` and `snapshot_guard.check_isolation`.
    """
    is_base_table = is_table(cursor, place)
    if not is_base_table and view_mentions.view_calls_function(
        function, place, cursor
    ):  # DuckDB's own error speaks of recursion
        raise errors.RecursiveViewError(function, name)
    sql, columns = qualified(*place), columns_of(cursor, place)
    if foreign is not None:
        attached_databases.check_read(function, cursor, place, foreign.kind, columns)
    kinds = (
        () if is_base_table else snapshot_guard.scanned_systems(cursor, sql, None if foreign is None else foreign.kind)
    )
    snapshot_guard.check_isolation(function, cursor, name, kinds, None if foreign is None else place[0])
    guard = snapshot_guard.guard_condition(cursor, name, kinds)
    return Source(name, sql, columns, *place, bare=is_bare, is_table=is_base_table, foreign=foreign, guard=guard)


_RELATIONS = """
    SELECT database_name, schema_name, table_name FROM system.main.duckdb_tables() WHERE NOT internal
    UNION ALL SELECT database_name, schema_name, view_name FROM system.main.duckdb_views() WHERE NOT internal
"""


def find_stored(
    function: str, cursor: Cursor, name: str, parts: tuple[str, ...] | None, path: SearchPath
) -> tuple[str, str, str] | None:
    """Return database, schema and name of the stored table or view that a name means; None if there is none.

    Temporary relations are not considered. Names match without regard to case.

    Args:
        function: The function that reads it, for messages.
        cursor: A cursor that sees committed objects.
        name: The name as given.
        parts: The parts of the name; None if it cannot be split, and then all of it is a table name.
        path: The search path of the caller.

    Raises:
        AmbiguousTableError: A two-part name means a table in a schema and another one in a database.
    """
    rows: list[tuple[str, str, str]] = cursor.execute(
        qualify_builtins(
            f"SELECT * FROM ({_RELATIONS}) WHERE lower(table_name) IN (SELECT lower(unnest(?))) "
            "AND database_name <> 'temp'"
        ),
        [list({(parts or (name,))[-1], name})],
    ).fetchall()
    queried = attached_databases.queried_databases(cursor)
    for alias in {d.lower() for d in (*(parts or ())[:-1], *(d for d, _ in path.places))} & queried.keys():
        rows = [row for row in rows if row[0] != queried[alias][0]]
        rows += attached_databases.relations(cursor, *queried[alias])
    by_name = {tuple(map(names.fold_case, row)): row for row in rows}

    def pick(candidates: Sequence[tuple[str, str, str]]) -> tuple[str, str, str] | None:
        """Return the first candidate that exists, as the catalog spells it; None if none does.

        A candidate is (database, schema, name).
        """
        hits = (by_name.get(tuple(map(names.fold_case, candidate))) for candidate in candidates)
        return next((hit for hit in hits if hit), None)

    if parts is not None and len(parts) == 3:
        return pick([(parts[0], parts[1], parts[2])])
    if parts is not None and len(parts) == 2:
        in_schema = pick([(database, parts[0], parts[1]) for database, _ in path.places])
        schemas = dict.fromkeys(("main", attached_databases.default_schema(cursor, parts[0])))
        in_database = pick([(parts[0], schema, parts[1]) for schema in schemas])
        if in_schema and in_database and in_schema != in_database:
            raise errors.AmbiguousTableError(function, name, [str(qualified(*row)) for row in (in_schema, in_database)])
        return in_schema or in_database
    return pick([(database, schema, parts[0] if parts else name) for database, schema in path.places])


def is_table(cursor: Cursor, place: tuple[str, str, str]) -> bool:
    """Return whether there is a table, not a view, at this exact place of a DuckDB database."""
    return bool(
        cursor.execute(
            "SELECT 1 FROM system.main.duckdb_tables() WHERE database_name = ? AND schema_name = ? AND table_name = ? "
            "AND database_name IN (SELECT database_name FROM system.main.duckdb_databases() WHERE type = 'duckdb')",
            list(place),
        ).fetchall()
    )


def columns_of(cursor: Cursor, place: tuple[str, str, str]) -> dict[str, str]:
    """Return column types by name, in order, of a stored table or view; empty if it does not exist.

    For a view that cannot be bound on this cursor the result has the columns with which it was created. `place` is
    database, schema and name of the table or view.
    """
    try:
        return _describe_columns(cursor, qualified(*place))
    except Exception:
        return dict(
            cursor.execute(
                "SELECT column_name, data_type FROM system.main.duckdb_columns() "
                "WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index ASC",
                list(place),
            ).fetchall()
        )


def _describe_columns(cursor: Cursor, relation: Sql) -> dict[str, str]:
    """Return column types by name, in order, of a relation, as DuckDB binds it."""
    return dict(cursor.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM {relation})").fetchall())


def relations(cursor: Cursor, database: str) -> list[tuple[str, str, str]]:
    """Return (database, schema, name) of all tables and views of a database, those of other systems as they are now."""
    for queried_name, kind in attached_databases.queried_databases(cursor).values():
        if queried_name == database:
            return attached_databases.relations(cursor, queried_name, kind)
    return list(cursor.execute(f"SELECT * FROM ({_RELATIONS}) WHERE database_name = ?", [database]).fetchall())


def _known_names(cursor: Cursor, path: SearchPath, local_relations: Mapping[str, object]) -> list[str]:
    """Return the names of all stored and local relations as a source argument would give them, for messages.

    Relations in the schema dbanon are omitted. The names have a schema unless it is main, and no database.
    """
    rows = cursor.execute(f"SELECT DISTINCT table_name, schema_name FROM ({_RELATIONS})").fetchall()
    stored_names = [
        _quoted_if_needed(t) if s == "main" else f"{_quoted_if_needed(s)}.{_quoted_if_needed(t)}"
        for t, s in rows
        if s != SCHEMA
    ]
    return [*stored_names, *local_relations]


def _quoted_if_needed(name: str) -> str:
    """Return a name for a source argument, in double quotes if it would be read as something else without them."""
    return name if names.table_parts(name) == (name,) else identifier(name)


# --- the policy ----------------------------------------------------------------------------------------


def has_table(cursor: Cursor, database: str, table: str) -> bool:
    """Return whether the schema dbanon of the database has this table."""
    return bool(
        cursor.execute(
            "SELECT 1 FROM system.main.duckdb_tables() WHERE database_name = ? AND schema_name = ? AND table_name = ?",
            [database, SCHEMA, table],
        ).fetchall()
    )


def has_schema(cursor: Cursor, database: str, schema: str) -> bool:
    """Return whether the database has the schema, whose name is compared without regard to case."""
    rows = cursor.execute(
        qualify_builtins(
            "SELECT 1 FROM system.main.duckdb_schemas() WHERE database_name = ? AND lower(schema_name) = lower(?)"
        ),
        [database, schema],
    ).fetchall()
    return bool(rows)


# --- hierarchies ---------------------------------------------------------------------------------------


def hierarchy_table(
    name: str, databases: Sequence[str], list_hierarchies: Callable[[str], Collection[str]], only_given: bool = False
) -> tuple[str, str] | None:
    """Return (database, hierarchy name) of a stored hierarchy; None if it is not stored.

    Args:
        name: `zip5`, looked up in `databases` in their order, or `db.zip5`.
        databases: The databases of the source and of the session.
        list_hierarchies: Returns the names of the hierarchies in a database.
        only_given: Allow `db.zip5` only if `db` is one of `databases`.
    """
    places = [(database, name) for database in dict.fromkeys(databases)]
    parts = names.table_parts(name)
    if parts is not None and len(parts) == 2 and (not only_given or parts[0] in databases):
        places.append((parts[0], parts[1]))
    return next(
        ((database, hierarchy) for database, hierarchy in places if hierarchy in list_hierarchies(database)), None
    )


def stored_hierarchies(cursor: Cursor, database: str) -> list[str]:
    """Return the names of the hierarchies stored in one database, sorted; empty if it has no table for them."""
    if not has_table(cursor, database, "hierarchy"):
        return []
    table = qualified(database, SCHEMA, "hierarchy")
    return [row[0] for row in cursor.execute(f"SELECT DISTINCT name FROM {table} ORDER BY name ASC").fetchall()]
