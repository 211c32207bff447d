"""Mapped anonymized views: read-only classes over the release of another mapped class."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb
import sqlalchemy as sa
from sqlalchemy import Connection, MetaData, Table, event
from sqlalchemy.orm import Session
from sqlalchemy.sql.expression import ColumnClause

from dbanon import errors
from dbanon.integrations.sqlalchemy import constructs, policy
from dbanon.integrations.sqlalchemy.connection import raw_connection, resolved, schema_of, written
from dbanon.integrations.sqlalchemy.engine import READ_ONLY
from dbanon.integrations.sqlalchemy.selectable import request
from dbanon.ledger import releases as ledger_releases
from dbanon.release.spec import related_parameters as related
from dbanon.runtime import session
from dbanon.runtime.session import builtin_cursor
from dbanon.source import catalog
from dbanon.source.governed_tables import governed_tables
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, qualified
from dbanon.udf.install import attach
from dbanon.views import materialize as releases

_VIEWS = "dbanon_views"
"""Key in `info` of a MetaData: the views that belong to it, in a MetaData of their own, where create_all does not make
tables of them."""


@dataclass(frozen=True)
class Status:
    """What `release_status()` says of a materialized view; `version` is None where it was not made yet.

    `definition_changed`: the class asks for something else than what was released; `refresh` makes that.
    """

    version: int | None
    status: str
    came: int | None = None
    went: int | None = None
    changed: int | None = None
    policy_changed: bool | None = None
    hierarchy_changed: bool | None = None
    problem: str | None = None
    definition_changed: bool = False


@dataclass(frozen=True)
class View:
    """What a class is mapped onto."""

    source: Table
    algorithm: str
    parameters: Mapping[str, Any]
    columns: tuple[str, ...]
    class_id: str
    number: str
    materialized: bool


class AnonymizedView:
    """Maps a read-only class onto an anonymized table.

        class SafePatient(AnonymizedView, Base):
            __source__ = Patient
            __algorithm__ = "kacpc"
            __k__ = 10
            __parameters__ = {"l": 2}

    Its attributes are the published columns, as in `anonymized(Patient, ...).c`, and `row_number`, the primary key
    that a mapper needs: the position of a row when the release is ordered by all that is published. It tells nothing
    else and belongs to one state of the release: after the source changed it may stand for another row, so keep no
    reference to it. `Base.metadata.create_all` creates or replaces the view, `drop_all` drops it; where `dbanon.policy`
    says nothing of the source yet, its roles are written first (at once, whatever becomes of the transaction).
    `__tablename__` is the class's name in snake_case unless it is given.

    The view stores the call: it anonymizes anew whenever it is read and works on attached connections only. With
    `__materialized__ = True` it is a table with a row in the release ledger (see `dbanon.create_release`); create_all
    makes it if its source has committed rows, else the first `refresh` does. A flush or a statement that would write
    to either is refused with ReadOnlyViewError.
    """

    if TYPE_CHECKING:
        __table__: ClassVar[Any]

    __source__: ClassVar[Any]
    __algorithm__: ClassVar[str] = "kacpc"
    __k__: ClassVar[int | None] = None
    __parameters__: ClassVar[Mapping[str, Any]] = {}
    __materialized__: ClassVar[bool] = False

    def __init_subclass__(cls, **kw: Any) -> None:
        if not cls.__dict__.get("__abstract__") and "__table__" not in cls.__dict__:
            cls.__table__ = _table(cls)
        super().__init_subclass__(**kw)

    @classmethod
    def refresh(
        cls,
        session: Session,
        *,
        refresh: str = "keep",
        allow_delta: bool = False,
        composition: str = "warn",
        if_stale: bool = False,
        erase: bool = False,
    ) -> releases.Release:
        """Make the next version from the committed source, or the first; see `dbanon.refresh_release` for the
        arguments.

        Where the class asks for something else than what was released, the next version is of that; but `erase` is of
        the definition that was released, so that an erasure needs nothing else to change. The session must not be in a
        transaction (commit first). Its objects of this class are expunged where a version was made, because
        `row_number` counts anew.
        """
        view = _materialized(cls)
        with _bound(cls, session) as connection:
            if session.in_transaction():
                raise errors.OpenTransactionError("refresh")
            raw = raw_connection(connection)
            name = written(cls.__table__, connection)
            old = published(raw, name)
            if old is not None and (erase or not differs(view, old, connection)):
                made = releases.refresh_release(
                    raw,
                    name,
                    refresh=refresh,
                    allow_delta=allow_delta,
                    composition=composition,
                    if_stale=if_stale,
                    erase=erase,
                )
            else:
                made = _materialize(raw, view, connection, name, composition, allow_delta, replace=old is not None)
        if old is None or made.version != old.version:
            for item in [item for item in session if isinstance(item, cls)]:
                session.expunge(item)
        return made

    @classmethod
    def status(cls, session: Session) -> Status:
        """Return the release beside its source as it is now."""
        view = _materialized(cls)
        with _bound(cls, session) as connection:
            raw = raw_connection(connection)
            old = published(raw, written(cls.__table__, connection))
            if old is None:
                return Status(None, "missing")
            with raw.cursor() as cursor:
                row = attach(cursor).execute(
                    "SELECT version, status, came, went, changed, policy_changed, hierarchy_changed, problem "
                    "FROM release_status() WHERE (database_name, schema_name, name) = (?, ?, ?)",
                    [old.database, old.schema, old.name],
                ).fetchall()[0]  # fmt: skip
            return replace(Status(*row), definition_changed=differs(view, old, connection))


def _refuse(mapper: Any, connection: Connection, target: Any) -> None:
    raise errors.ReadOnlyViewError(type(target).__name__)


for _happening in ("before_insert", "before_update", "before_delete"):
    event.listen(AnonymizedView, _happening, _refuse, propagate=True)


# --- mapping ------------------------------------------------------------------------------------------------


def _table(cls: type[AnonymizedView]) -> Table:
    """Return the table that a class is mapped onto; it is known to the base's MetaData without being in it."""
    metadata: MetaData | None = getattr(cls, "metadata", None)
    if metadata is None:
        raise errors.UnmappableViewError(cls.__name__, "there is no declarative base beside AnonymizedView.")
    if not hasattr(cls, "__source__"):
        raise errors.UnmappableViewError(cls.__name__, "__source__ is missing.")
    given = dict(cls.__parameters__) | ({} if cls.__k__ is None else {"k": cls.__k__})
    asked = request("", cls.__source__, cls.__algorithm__, given)
    source = asked.source
    if not isinstance(source, Table):
        raise errors.UnmappableViewError(
            cls.__name__, "__source__ must be a class or a Table with all rows of one table."
        )
    published: list[ColumnClause[Any]] = asked.shape.columns("release")
    columns = [c.name for c in published]
    number = "row_number"
    while number in map(names.fold_case, columns):
        number += "_"
    view = View(
        source=source,
        algorithm=asked.function.name,
        parameters=asked.given,
        columns=tuple(columns),
        class_id=columns[-1],
        number=number,
        materialized=cls.__materialized__,
    )
    views: MetaData = metadata.info.setdefault(_VIEWS, MetaData())
    if not event.contains(metadata, "after_create", _create):
        event.listen(metadata, "after_create", _create)
        event.listen(metadata, "before_drop", _drop)
    # A materialized one is a table, whose rowid is the position; a view has to count.
    stored = "rowid" if view.materialized else number
    default = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    return Table(
        cls.__dict__.get("__tablename__", default),
        views,
        sa.Column(stored, sa.BigInteger(), key=number, primary_key=True, autoincrement=False),
        *(sa.Column(c.name, c.type) for c in published),
        schema=source.schema,
        info={READ_ONLY: view},
    )


def _materialized(cls: type[AnonymizedView]) -> View:
    view: View = cls.__table__.info[READ_ONLY]
    if not view.materialized:
        raise errors.UnmappableViewError(cls.__name__, "it is not materialized: set __materialized__ = True.")
    return view


def _bound(cls: type[Any], session: Session) -> Any:
    """Return a connection of the session's engine, to be used in a with statement.

    The session's own where it has one.
    """
    bind = session.get_bind(cls)
    return bind.connect() if isinstance(bind, sa.Engine) else contextlib.nullcontext(bind)


def views_of(metadata: MetaData) -> list[Table]:
    """Return the tables of the views that belong to a MetaData."""
    return list(metadata.info[_VIEWS].tables.values()) if _VIEWS in metadata.info else []


# --- creating and dropping -----------------------------------------------------------------------------------


def _create(metadata: MetaData, connection: Connection, **_: Any) -> None:
    """After the tables: policy, views and materialized views, where their sources are there."""
    if connection.dialect.name != "duckdb":
        return
    for table in views_of(metadata):
        view: View = table.info[READ_ONLY]
        if not sa.inspect(connection).has_table(view.source.name, schema=schema_of(view.source, connection)):
            continue
        if not policy.is_declared(connection, view.source):
            refuse_derived(connection, "create_all", view.source)
            policy.declare(connection, [view.source])
        if view.materialized:
            first(connection, table, view)
        else:
            _create_view(connection, table, view)


def refuse_derived(connection: Connection, function: str, source: Table) -> None:
    """Refuse a source without a policy that reads a table with one, before roles are written for it in passing.

    Raises:
        ViewOverPolicyError: The source is a view, or has the name of one, over a table with a policy.
    """
    name = written(source, connection)
    own = ".".join(resolved(function, source, connection).place)
    for governed in governed_tables(raw_connection(connection), f"FROM {name}", function):
        if governed != own:  # its own rows may be newer than this transaction
            raise errors.ViewOverPolicyError(function, name, governed, next(iter(source.c.keys()), "..."))


def _create_view(connection: Connection, table: Table, view: View) -> None:
    """CREATE VIEW."""
    source = resolved(view.algorithm, view.source, connection)
    # Asked first: a statement that fails leaves a transaction that answers nothing.
    drift = list(policy.drifts(connection, view.algorithm, {view.source: policy.roles(view.source)}))
    asked = query(view, (source.schema, source.table))
    try:
        with_source(connection, view.source, f"CREATE OR REPLACE VIEW {written(table, connection)} AS {asked}")
    except duckdb.Error as error:
        raise drift[0] if drift else error from None


def query(view: View, source: tuple[str, str]) -> Sql:
    """What a view stores; `source` is schema and table."""
    call = constructs.call(view.algorithm, source, view.parameters)
    order = (view.class_id, *(c for c in view.columns if c != view.class_id))
    return constructs.view_query(view.number, view.columns, call, order)


def with_source(connection: Connection, source: Table | None, statement: str) -> None:
    """Run a statement. DuckDB binds calls in it, and the planner has to be told of a source that is not committed."""
    raw = raw_connection(connection)
    current = session.find_session(raw)
    before = current.temporary.columns
    if source is not None:
        found = resolved("create_view", source, connection)
        key = found.table if names.fold_case(found.schema) == "main" else f"{found.schema}.{found.table}"
        current.temporary.columns = {**before, names.fold_case(key): found.columns}
    try:
        raw.execute(statement)
    finally:
        current.temporary.columns = before


def first(connection: Connection, table: Table, view: View, *, replace: bool = False) -> None:
    """The first version (with `replace` also the next one, of another definition), if the source has rows that are
    committed: a release is made in a transaction of its own."""
    raw = raw_connection(connection)
    name = written(table, connection)
    old = published(raw, name)
    if old is not None and not (replace and differs(view, old, connection)):
        return
    with raw.cursor() as cursor:
        attach(cursor)
        try:
            found = resolved("materialize", view.source, connection, cursor)
        except errors.UnknownTableError:
            return
        if cursor.execute(f"SELECT 1 FROM {found.sql} LIMIT 1").fetchall():
            _materialize(cursor, view, connection, name, "warn", False, replace=old is not None)


def _materialize(
    raw: Any, view: View, connection: Connection, name: str, composition: str, allow_delta: bool, *, replace: bool
) -> releases.Release:
    related.refuse(view.algorithm, view.parameters)
    return releases.create_release(
        raw,
        name,
        view.algorithm,
        written(view.source, connection),
        composition=composition,
        allow_delta=allow_delta,
        replace=replace,
        **dict(view.parameters),
    )


def _drop(metadata: MetaData, connection: Connection, *, tables: Any = (), **_: Any) -> None:
    """Before the tables: the views of those that are dropped, materialized ones in a transaction of their own."""
    if connection.dialect.name != "duckdb":
        return
    going = {id(t) for t in tables or ()}
    for table in reversed(views_of(metadata)):
        view: View = table.info[READ_ONLY]
        if id(view.source) in going:
            dropped(connection, table, materialized=view.materialized)


def dropped(connection: Connection, table: Table, *, materialized: bool) -> None:
    """Drop a view where it is there, a materialized one in a transaction of its own."""
    if materialized:
        with raw_connection(connection).cursor() as cursor:
            releases.drop_release(attach(cursor), written(table, connection), if_exists=True)
    else:
        raw_connection(connection).execute(f"DROP VIEW IF EXISTS {written(table, connection)}")


def published(raw: Any, name: str) -> ledger_releases.LedgerEntry | None:
    """Return the published version of a release, if there is one."""
    with builtin_cursor(raw) as cursor:
        try:
            entry = ledger_releases.find_release("refresh", name, cursor, catalog.SearchPath.here(raw))
        except errors.UnknownReleaseError:
            return None
    return entry if entry.status == "published" else None


def differs(view: View, entry: ledger_releases.LedgerEntry, connection: Connection) -> bool:
    """Return whether a release is another one than the class asks for."""
    with builtin_cursor(raw_connection(connection)) as cursor:
        try:
            source = resolved("status", view.source, connection, cursor)
        except errors.UnknownTableError:
            return False
    asked = (view.algorithm, str(qualified(source.schema, source.table)), dict(view.parameters))
    return (entry.call["function"], entry.call["source"], entry.call["parameters"]) != asked
