"""Mapped anonymized views: read-only classes over the release of another mapped class."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb
import sqlalchemy as sa
from sqlalchemy import Connection, MetaData, Table, event
from sqlalchemy.orm import Session
from sqlalchemy.sql.expression import ColumnClause

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.integrations.sqlalchemy import constructs, policy
from dbanon.integrations.sqlalchemy.connection import quoted_name, raw_connection, resolve_table, translated_schema
from dbanon.integrations.sqlalchemy.engine import READ_ONLY_KEY
from dbanon.integrations.sqlalchemy.selectable import validate_call
from dbanon.ledger import releases as ledger_releases
from dbanon.release.spec import related_parameters as related
from dbanon.runtime import session
from dbanon.runtime.session import builtin_cursor
from dbanon.source import catalog
from dbanon.source.governed_tables import governed_tables
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, qualified
from dbanon.udf.install import attach
from dbanon.views import drop, materialize as releases

_VIEWS = "dbanon_views"
"""Key in `info` of a MetaData: a second MetaData with its views, so that create_all does not create them as tables."""


@dataclass(frozen=True)
class Status:
    """The state of a materialized view compared with its source, as `release_status()` reports it.

    Attributes:
        version: The published version; None if the view was not created yet.
        status: State of the release; `missing` if it was not created yet.
        added: Records added to the source since.
        removed: Records removed from the source since.
        changed: Records changed in the source since.
        policy_changed: Whether the policy changed since.
        hierarchy_changed: Whether a hierarchy changed since.
        problem: Why the source cannot be compared, if so.
        definition_changed: Whether the class defines another call than the released one; `refresh` releases that.

    Examples:
        ```python
        SafePatient.status(session).definition_changed
        ```
    """

    version: int | None
    status: str
    added: int | None = None
    removed: int | None = None
    changed: int | None = None
    policy_changed: bool | None = None
    hierarchy_changed: bool | None = None
    problem: str | None = None
    definition_changed: bool = False


@dataclass(frozen=True)
class MappedView:
    """The definition of the view that a class is mapped onto.

    Attributes:
        source: The table to anonymize.
        algorithm: The algorithm.
        parameters: The parameters of the call.
        columns: The names of the published columns, the class number last.
        class_id: The name of the class number.
        number_column: The name of the primary key, a row number.
        is_materialized: Whether the release is stored.
    """

    source: Table
    algorithm: str
    parameters: Mapping[str, Any]
    columns: tuple[str, ...]
    class_id: str
    number_column: str
    is_materialized: bool


class AnonymizedView:
    """A base for read-only classes that are mapped onto an anonymized table.

    Its attributes are the published columns, as in `anonymized(Patient, ...).c`, and `row_number`, the primary key that
    a mapper needs: the position of a row when the release is ordered by all published columns. It reveals nothing else
    and belongs to one state of the release: after the source changed it may refer to another row, so keep no reference
    to it. `Base.metadata.create_all` creates or replaces the view, `drop_all` drops it. If `dbanon.policy` has no row
    about the source yet, its roles are written first (at once, whatever the transaction does).

    The view stores the call: it anonymizes again whenever it is read, and works on attached connections only. A
    materialized view is a table with a row in the release ledger (see `dbanon.create_release`); create_all creates it
    if its source has committed rows, otherwise the first `refresh` does. A flush or a statement that would write to
    either is refused with ReadOnlyViewError.

    Attributes:
        __source__: The mapped class or Table to anonymize.
        __algorithm__: Name of the algorithm.
        __k__: The k of k-anonymity.
        __parameters__: Other parameters of the algorithm.
        __materialized__: Whether the release is stored.
        __tablename__: Name of the view; by default the class's name in snake_case.

    Raises:
        UnmappableViewError: The class has no declarative base, no `__source__`, or a source that is not one table.

    Examples:
        ```python
        from dbanon.sqlalchemy import AnonymizedView

        class SafePatient(AnonymizedView, Base):
            __source__ = Patient
            __algorithm__ = "mondrian"
            __k__ = 10
            __parameters__ = {"l": 2}
        ```
    """

    if TYPE_CHECKING:
        __table__: ClassVar[Any]

    __source__: ClassVar[Any]
    __algorithm__: ClassVar[str] = "best"
    __k__: ClassVar[int | None] = None
    __parameters__: ClassVar[Mapping[str, Any]] = {}
    __materialized__: ClassVar[bool] = False

    def __init_subclass__(cls, **kw: Any) -> None:
        """Map a new class, unless it is abstract or has a `__table__`, onto the table of its view."""
        if not cls.__dict__.get("__abstract__") and "__table__" not in cls.__dict__:
            cls.__table__ = _mapped_table(cls)
        super().__init_subclass__(**kw)

    @classmethod
    @renamed_names.with_renamed_options("allow_delta", "refresh")
    def refresh(
        cls,
        session: Session,
        *,
        mode: str = "keep",
        allow_small_differences: bool = False,
        composition: str = "warn",
        if_stale: bool | None = None,
        erase: bool = False,
    ) -> releases.Release:
        """Create the next version from the committed source, or the first one.

        If the class defines another call than the released one, the next version is of the new definition. `erase` uses
        the released definition, so that an erasure does not require other changes. The session must not be in a
        transaction (commit first). If a version was created, the session's objects of this class are expunged, because
        `row_number` is assigned again.

        Args:
            session: A session whose engine has `install`.
            mode: As for `dbanon.refresh_release`.
            allow_small_differences: As for `dbanon.refresh_release`.
            composition: As for `dbanon.refresh_release`.
            if_stale: As for `dbanon.refresh_release`.
            erase: As for `dbanon.refresh_release`.

        Returns:
            The release that is published now.

        Raises:
            UnmappableViewError: The class is not materialized.
            OpenTransactionError: The session is in a transaction.
            DbanonError: As for `dbanon.refresh_release`.

        Examples:
            ```python
            session.commit()
            SafePatient.refresh(session)
            ```
        """
        view = _materialized_view(cls)
        with _session_connection(cls, session) as connection:
            if session.in_transaction():
                raise errors.OpenTransactionError("refresh")
            raw = raw_connection(connection)
            name = quoted_name(cls.__table__, connection)
            entry = published_entry(raw, name)
            if entry is not None and (erase or not is_definition_changed(view, entry, connection)):
                release = releases.refresh_release(
                    raw,
                    name,
                    mode=mode,
                    allow_small_differences=allow_small_differences,
                    composition=composition,
                    if_stale=if_stale,
                    erase=erase,
                )
            else:
                release = _materialize(
                    raw, view, connection, name, composition, allow_small_differences, replace=entry is not None
                )
        if entry is None or release.version != entry.version:
            for instance in [instance for instance in session if isinstance(instance, cls)]:
                session.expunge(instance)
        return release

    @classmethod
    def status(cls, session: Session) -> Status:
        """Compare the release with the current source.

        Args:
            session: A session whose engine has `install`.

        Returns:
            The state of the release; its `status` is `missing` if it was not created yet.

        Raises:
            UnmappableViewError: The class is not materialized.

        Examples:
            ```python
            SafePatient.status(session).status
            ```
        """
        view = _materialized_view(cls)
        with _session_connection(cls, session) as connection:
            raw = raw_connection(connection)
            entry = published_entry(raw, quoted_name(cls.__table__, connection))
            if entry is None:
                return Status(None, "missing")
            with raw.cursor() as cursor:
                row = attach(cursor).execute(
                    "SELECT version, status, added, removed, changed, policy_changed, hierarchy_changed, problem "
                    "FROM release_status() WHERE (database_name, schema_name, name) = (?, ?, ?)",
                    [entry.database, entry.schema, entry.name],
                ).fetchall()[0]  # fmt: skip
            return replace(Status(*row), definition_changed=is_definition_changed(view, entry, connection))


def _refuse_write(mapper: Any, connection: Connection, target: Any) -> None:
    """Raise ReadOnlyViewError: a flush would insert, update or delete an object of an anonymized view."""
    raise errors.ReadOnlyViewError(type(target).__name__)


for _event_name in ("before_insert", "before_update", "before_delete"):
    event.listen(AnonymizedView, _event_name, _refuse_write, propagate=True)


# --- mapping ------------------------------------------------------------------------------------------------


def _mapped_table(cls: type[AnonymizedView]) -> Table:
    """Return the Table that a class is mapped onto, with the published columns and a row number as primary key.

    It is in a MetaData of its own, so that `create_all` of the base does not create it as a table; events of the base's
    MetaData create and drop the view.

    Raises:
        UnmappableViewError: The class has no declarative base, no `__source__`, or a source that is not one table.
    """
    metadata: MetaData | None = getattr(cls, "metadata", None)
    if metadata is None:
        raise errors.UnmappableViewError(cls.__name__, "there is no declarative base next to AnonymizedView.")
    if not hasattr(cls, "__source__"):
        raise errors.UnmappableViewError(cls.__name__, "__source__ is missing.")
    parameters = dict(cls.__parameters__) | ({} if cls.__k__ is None else {"k": cls.__k__})
    call = validate_call("", cls.__source__, cls.__algorithm__, parameters)
    source = call.source
    if not isinstance(source, Table):
        raise errors.UnmappableViewError(
            cls.__name__, "__source__ must be a class or a Table with all rows of one table."
        )
    published_columns: list[ColumnClause[Any]] = call.schema.columns("release")
    columns = [c.name for c in published_columns]
    number_column = "row_number"
    while number_column in map(names.fold_case, columns):
        number_column += "_"
    view = MappedView(
        source=source,
        algorithm=call.function.name,
        parameters=call.parameters,
        columns=tuple(columns),
        class_id=columns[-1],
        number_column=number_column,
        is_materialized=cls.__materialized__,
    )
    views: MetaData = metadata.info.setdefault(_VIEWS, MetaData())
    if not event.contains(metadata, "after_create", _create_views):
        event.listen(metadata, "after_create", _create_views)
        event.listen(metadata, "before_drop", _drop_views)
    # A materialized view is a table, whose rowid is the position; a plain view has to number its rows.
    stored_column = "rowid" if view.is_materialized else number_column
    default_name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    table = Table(
        cls.__dict__.get("__tablename__", default_name),
        views,
        sa.Column(stored_column, sa.BigInteger(), key=number_column, primary_key=True, autoincrement=False),
        *(sa.Column(c.name, c.type) for c in published_columns),
        schema=source.schema,
        info={READ_ONLY_KEY: view},
    )
    for operation in ("create", "drop"):
        event.listen(table, f"before_{operation}", partial(_refuse_view_as_table, f"{operation}_all"))
    return table


def _refuse_view_as_table(function: str, table: Table, connection: Connection, **_: Any) -> None:
    """Raise InvalidArgumentError if SQLAlchemy is about to create or drop the Table of a view as if it were a table.

    Nothing happens for other databases than DuckDB.

    Args:
        function: create_all or drop_all.
        table: The Table of the view.
        connection: The connection.
    """
    if connection.dialect.name == "duckdb":
        accepted = f"a list without anonymized views ({function} includes the views over each table of the list)"
        raise errors.InvalidArgumentError(function, "tables", accepted, f"the view {table.name}")


def _materialized_view(cls: type[AnonymizedView]) -> MappedView:
    """Return the definition of a class's materialized view.

    Raises:
        UnmappableViewError: The class is not materialized.
    """
    view: MappedView = cls.__table__.info[READ_ONLY_KEY]
    if not view.is_materialized:
        raise errors.UnmappableViewError(cls.__name__, "it is not materialized: set __materialized__ = True.")
    return view


def _session_connection(cls: type[Any], session: Session) -> Any:
    """Return a context manager for a new connection of the session's engine.

    If the session is bound to a connection, this one is used and stays open.
    """
    bind = session.get_bind(cls)
    return bind.connect() if isinstance(bind, sa.Engine) else contextlib.nullcontext(bind)


def views_of(metadata: MetaData) -> list[Table]:
    """Return the Tables of the anonymized views that belong to a MetaData; empty if there are none."""
    return list(metadata.info[_VIEWS].tables.values()) if _VIEWS in metadata.info else []


# --- creating and dropping -----------------------------------------------------------------------------------


def _create_views(metadata: MetaData, connection: Connection, **_: Any) -> None:
    """Create the anonymized views of a MetaData after its tables were created; skip views whose source does not exist.

    The policy of a source is written first if it has none. Nothing happens for other databases than DuckDB.
    """
    if connection.dialect.name != "duckdb":
        return
    for table in views_of(metadata):
        view: MappedView = table.info[READ_ONLY_KEY]
        if not sa.inspect(connection).has_table(view.source.name, schema=translated_schema(view.source, connection)):
            continue
        if not policy.is_declared(connection, view.source):
            refuse_derived(connection, "create_all", view.source)
            policy.declare(connection, [view.source])
        if view.is_materialized:
            create_first_version(connection, table, view)
        else:
            _create_view(connection, table, view)


def refuse_derived(connection: Connection, function: str, source: Table) -> None:
    """Raise an error if a source reads another table with a policy; called before roles are written for it implicitly.

    Args:
        connection: The connection.
        function: The called function, for the message.
        source: The mapped source.

    Raises:
        ViewOverPolicyError: The source is a view, or has the name of one, over a table with a policy.
    """
    name = quoted_name(source, connection)
    own_name = ".".join(resolve_table(function, source, connection).place)
    for governed_table in governed_tables(raw_connection(connection), f"FROM {name}", function):
        if governed_table != own_name:  # its own rows may be newer than this transaction
            raise errors.ViewOverPolicyError(function, name, governed_table, next(iter(source.c.keys()), "..."))


def _create_view(connection: Connection, table: Table, view: MappedView) -> None:
    """Create or replace a view that is not materialized.

    If this fails and the policy differs from the model, PolicyDriftError is raised; otherwise DuckDB's error.
    """
    source = resolve_table(view.algorithm, view.source, connection)
    # Compare first: after a statement that fails, the transaction runs no other statement.
    drift_errors = list(
        policy.policy_drift_errors(connection, view.algorithm, {view.source: policy.model_roles(view.source)})
    )
    select_sql = stored_query(view, (source.schema, source.table))
    try:
        execute_with_source(
            connection, view.source, f"CREATE OR REPLACE VIEW {quoted_name(table, connection)} AS {select_sql}"
        )
    except duckdb.Error as error:
        raise drift_errors[0] if drift_errors else error from None


def stored_query(view: MappedView, source: tuple[str, str]) -> Sql:
    """Return the SELECT of a view that is not materialized; `source` is the schema and the name of the table."""
    call = constructs.call_sql(view.algorithm, source, view.parameters)
    order = (view.class_id, *(c for c in view.columns if c != view.class_id))
    return constructs.numbered_query(view.number_column, view.columns, call, order)


def execute_with_source(connection: Connection, source: Table | None, statement: str) -> None:
    """Run a statement that contains calls of table functions on `source`, which may not be committed yet.

    The planner does not see uncommitted tables, so it gets their columns from here while the statement runs. With
    `source` None, the statement is only run.
    """
    raw = raw_connection(connection)
    session_state = session.find_session(raw)
    previous_columns = session_state.temporary.columns
    if source is not None:
        resolved_source = resolve_table("create_view", source, connection)
        key = (
            resolved_source.table
            if names.fold_case(resolved_source.schema) == "main"
            else f"{resolved_source.schema}.{resolved_source.table}"
        )
        session_state.temporary.columns = {**previous_columns, names.fold_case(key): resolved_source.columns}
    try:
        raw.execute(statement)
    finally:
        session_state.temporary.columns = previous_columns


def create_first_version(connection: Connection, table: Table, view: MappedView, *, replace: bool = False) -> None:
    """Create the first version of a materialized view, in a transaction of its own.

    Nothing happens if the source does not exist or has no committed rows. An existing view is unchanged; with
    `replace`, its next version is created if the definition has changed.

    Args:
        connection: The connection.
        table: The Table of the view.
        view: The definition.
        replace: Whether an existing view with another definition gets its next version.
    """
    raw = raw_connection(connection)
    name = quoted_name(table, connection)
    entry = published_entry(raw, name)
    if entry is not None and not (replace and is_definition_changed(view, entry, connection)):
        return
    with raw.cursor() as cursor:
        attach(cursor)
        try:
            resolved_source = resolve_table("create_release", view.source, connection, cursor)
        except errors.UnknownTableError:
            return
        if cursor.execute(f"SELECT 1 FROM {resolved_source.sql} LIMIT 1").fetchall():
            _materialize(cursor, view, connection, name, "warn", False, replace=entry is not None)


def _materialize(
    raw: Any,
    view: MappedView,
    connection: Connection,
    name: str,
    composition: str,
    allow_small_differences: bool,
    *,
    replace: bool,
) -> releases.Release:
    """Create a version of a materialized view by the call that its definition states, and return the release.

    Args:
        raw: The DuckDB connection that runs it.
        view: The definition.
        connection: The connection that quotes names.
        name: The quoted name of the view.
        composition: As for `dbanon.create_release`.
        allow_small_differences: As for `dbanon.create_release`.
        replace: Whether the view exists and gets its next version.
    """
    related.refuse_related_tables(view.algorithm, view.parameters)
    return releases.create_release(
        raw,
        name,
        view.algorithm,
        quoted_name(view.source, connection),
        composition=composition,
        allow_small_differences=allow_small_differences,
        replace=replace,
        **dict(view.parameters),
    )


def _drop_views(metadata: MetaData, connection: Connection, *, tables: Any = (), **_: Any) -> None:
    """Drop the anonymized views whose sources are among `tables`, which are about to be dropped.

    Nothing happens for other databases than DuckDB.
    """
    if connection.dialect.name != "duckdb":
        return
    dropped_sources = {id(t) for t in tables or ()}
    for table in reversed(views_of(metadata)):
        view: MappedView = table.info[READ_ONLY_KEY]
        if id(view.source) in dropped_sources:
            drop_view(connection, table, is_materialized=view.is_materialized)


def drop_view(connection: Connection, table: Table, *, is_materialized: bool) -> None:
    """Drop a view if it exists; the tables of a materialized one are dropped in a transaction of their own."""
    if is_materialized:
        with raw_connection(connection).cursor() as cursor:
            drop.drop_release(attach(cursor), quoted_name(table, connection), if_exists=True)
    else:
        raw_connection(connection).execute(f"DROP VIEW IF EXISTS {quoted_name(table, connection)}")


def published_entry(raw: Any, name: str) -> ledger_releases.LedgerEntry | None:
    """Return the ledger entry of the published version of a release; None if there is none.

    `raw` is a DuckDB connection, `name` the quoted name of the release.
    """
    with builtin_cursor(raw) as cursor:
        try:
            entry = ledger_releases.find_release("refresh", name, cursor, catalog.SearchPath.from_connection(raw))
        except errors.UnknownReleaseError:
            return None
    return entry if entry.status == "published" else None


def is_definition_changed(view: MappedView, entry: ledger_releases.LedgerEntry, connection: Connection) -> bool:
    """Return whether function, source or parameters of a release's call differ from those that the class defines.

    False if the source does not exist.
    """
    with builtin_cursor(raw_connection(connection)) as cursor:
        try:
            source = resolve_table("status", view.source, connection, cursor)
        except errors.UnknownTableError:
            return False
    requested_call = (view.algorithm, str(qualified(source.schema, source.table)), dict(view.parameters))
    return (entry.call["function"], entry.call["source"], entry.call["parameters"]) != requested_call
