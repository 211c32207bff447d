"""Anonymized views in Alembic: made, replaced and dropped by migrations, proposed by autogenerate, and never mistaken
for tables that the model has lost.

In env.py, beside the models:

    from dbanon.sqlalchemy import install, migration
    ...
    with install(engine).connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            include_object=migration.include_object(connection),
        )

Importing this module registers the operations `op.create_anonymized_view` and `op.drop_anonymized_view`. A migration
says all that they need, so it does not change when the model does.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import sqlalchemy as sa
from sqlalchemy import Connection, MetaData, Table

from dbanon import errors
from dbanon.integrations.sqlalchemy import policy, roles as column_roles, view
from dbanon.integrations.sqlalchemy.connection import raw_connection, schema_of, written
from dbanon.integrations.sqlalchemy.engine import READ_ONLY
from dbanon.ledger import releases as ledger_releases
from dbanon.source import catalog
from dbanon.sqltext.quote import identifier, qualified
from dbanon.table_functions.registry import table_functions
from dbanon.udf.install import attach

try:
    from alembic.autogenerate import comparators, renderers
    from alembic.operations import MigrateOperation, Operations
except ModuleNotFoundError as missing:
    raise errors.MissingExtraError("dbanon.integrations.sqlalchemy.migration", str(missing.name), "alembic") from None

Filter = Callable[[Any, str | None, str, bool, Any], bool]


# --- what is not the model's ---------------------------------------------------------------------------------


def include_object(connection: Connection) -> Filter:
    """Return an `include_object` of `context.configure` that leaves out the schema `dbanon` and the tables of releases.

    They are in the database and not in the model, so autogenerate would propose to drop them. Where there is an
    `include_object` already: `lambda *asked: mine(*asked) and ours(*asked)`.
    """
    releases = _release_tables(connection)

    def include(item: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
        if type_ != "table" or not reflected:
            return True
        schema = _bare(item.schema)
        if schema == catalog.SCHEMA:
            return False
        return not any(table == name and schema in (None, where) for where, table in releases)

    return include


def _bare(schema: str | None) -> str | None:
    """Return a schema without its database, which the dialect puts before it where all schemas are compared."""
    return None if schema is None else schema.split(".")[-1].strip('"')


def _release_tables(connection: Connection) -> set[tuple[str, str]]:
    """Return the schema and name of every table of a published release in the current database."""
    raw = raw_connection(connection)
    with raw.cursor() as cursor:
        database = catalog.SearchPath.here(raw).database
        if not catalog.has_table(cursor, database, "release"):
            return set()
        entries = ledger_releases.entries(cursor, database, "status = ?", ["published"])
    return {(entry.schema, entry.name + ending) for entry in entries for ending in ledger_releases.TABLES}


# --- operations ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """All that a migration says of a view. `query` is what a plain one stores; a materialized one has none."""

    name: str
    query: str | None = None
    schema: str | None = None
    source: str | None = None
    source_schema: str | None = None
    algorithm: str = "kacpc"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def rendered(self) -> str:
        """Return the arguments as a migration writes them; what is the default is left out."""
        usual = Definition(self.name)
        given = {n: v for n, v in vars(self).items() if n != "name" and v != getattr(usual, n)}
        if self.query is not None:
            given.pop("algorithm", None)
            given.pop("parameters", None)
        return ", ".join([repr(self.name), *(f"{n}={v!r}" for n, v in given.items())])


@Operations.register_operation("create_anonymized_view")
class CreateAnonymizedView(MigrateOperation):
    """Makes an anonymized view, or puts another definition in its place."""

    def __init__(self, definition: Definition, before: Definition | None = None) -> None:
        self.definition = definition
        self.before = before

    @classmethod
    def create_anonymized_view(
        cls,
        operations: Operations,
        name: str,
        query: str | None = None,
        *,
        schema: str | None = None,
        source: str | None = None,
        source_schema: str | None = None,
        algorithm: str = "kacpc",
        parameters: Mapping[str, Any] | None = None,
        policy: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Make the view `name` of a query, or without one materializes `source`, in place of what is there.

        `policy` (role and settings by column) is written first where `dbanon.policy` says nothing of the source. A
        materialized view is made of the rows that are committed; where there are none, its first `refresh` makes it.
        """
        given = Definition(name, query, schema, source, source_schema, algorithm, parameters or {}, policy or {})
        operations.invoke(cls(given))

    def reverse(self) -> MigrateOperation:
        if self.before is not None:
            return CreateAnonymizedView(self.before, self.definition)
        return DropAnonymizedView(self.definition)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("replace" if self.before else "create") + "_anonymized_view", self.definition.name


@Operations.register_operation("drop_anonymized_view")
class DropAnonymizedView(MigrateOperation):
    """Drops an anonymized view."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    @classmethod
    def drop_anonymized_view(
        cls, operations: Operations, name: str, *, schema: str | None = None, materialized: bool = False
    ) -> None:
        """Drop the view `name`, or the tables of a materialized one (the ledger keeps its versions)."""
        operations.invoke(cls(Definition(name, None if materialized else "", schema)))

    def reverse(self) -> MigrateOperation:
        return CreateAnonymizedView(self.definition)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return "drop_anonymized_view", self.definition.name


@Operations.implementation_for(CreateAnonymizedView)
def _run_create(operations: Operations, operation: CreateAnonymizedView) -> None:
    connection = operations.get_bind()
    attach(raw_connection(connection))
    asked = operation.definition
    target = Table(asked.name, MetaData(), schema=asked.schema)
    source = _source(asked)
    if source is not None and not policy.is_declared(connection, source):
        view.refuse_derived(connection, "create_anonymized_view", source)
        policy.declare(connection, [source])
    if asked.query is not None:
        query = f"CREATE OR REPLACE VIEW {written(target, connection)} AS {asked.query}"
        view.with_source(connection, source, query)
        return
    if source is None:
        raise errors.MissingArgumentError(
            "create_anonymized_view", "source", "the name of a table", "source='patients'"
        )
    spec = view.View(source, asked.algorithm, asked.parameters, (), "", "", True)
    view.first(connection, target, spec, replace=True)


@Operations.implementation_for(DropAnonymizedView)
def _run_drop(operations: Operations, operation: DropAnonymizedView) -> None:
    connection = operations.get_bind()
    attach(raw_connection(connection))
    asked = operation.definition
    target = Table(asked.name, MetaData(), schema=asked.schema)
    view.dropped(connection, target, materialized=asked.query is None)


def _source(asked: Definition) -> Table | None:
    """Return the source as a table whose columns have the roles of the policy."""
    if asked.source is None:
        return None
    columns = []
    for name, settings in asked.policy.items():
        given = dict(settings)
        made: Callable[..., column_roles.Info] = getattr(column_roles, str(given.pop("role")))
        columns.append(sa.Column(name, sa.String(), info=made(**given)))
    return Table(asked.source, MetaData(), *columns, schema=asked.source_schema)


# --- rendering -----------------------------------------------------------------------------------------------


@renderers.dispatch_for(CreateAnonymizedView)
def _render_create(context: Any, operation: CreateAnonymizedView) -> str:
    return f"op.create_anonymized_view({operation.definition.rendered()})"


@renderers.dispatch_for(DropAnonymizedView)
def _render_drop(context: Any, operation: DropAnonymizedView) -> str:
    asked = operation.definition
    more = "" if asked.schema is None else f", schema={asked.schema!r}"
    more += ", materialized=True" if asked.query is None else ""
    return f"op.drop_anonymized_view({asked.name!r}{more})"


# --- comparing -----------------------------------------------------------------------------------------------


def _compare(context: Any, upgrade: Any, schemas: Any) -> None:
    """Views of the model that are missing or different, and views that only the database has."""
    connection, metadata = context.connection, context.metadata
    if connection is None or connection.dialect.name != "duckdb" or not isinstance(metadata, MetaData):
        return
    attach(raw_connection(connection))
    creates: list[MigrateOperation] = []
    compared = {_bare(schema) for schema in schemas}
    known = set()
    stored = _stored(connection)
    for table in view.views_of(metadata):
        spec: view.View = table.info[READ_ONLY]
        known.add((table.schema, table.name))
        asked = definition(connection, table)
        before = stored.get((table.schema, table.name)) if not spec.materialized else None
        if spec.materialized:
            creates += _compare_release(connection, table, asked)
        elif before is None:
            creates.append(CreateAnonymizedView(asked))
        elif before != _as_stored(connection, str(asked.query)):
            creates.append(CreateAnonymizedView(asked, replace(asked, query=before, policy={})))
    drops = [
        DropAnonymizedView(Definition(name, query, schema))
        for (schema, name), query in stored.items()
        if (schema, name) not in known and schema in compared and _OURS.match(query) and _calls_ours(query)
    ]
    upgrade.ops[:] = [*drops, *upgrade.ops, *creates]


try:
    from alembic.util import DispatchPriority

    comparators.dispatch_for("schema", priority=DispatchPriority.LAST)(_compare)
except ImportError:  # before Alembic 1.18, in the order of registration
    comparators.dispatch_for("schema")(_compare)


def definition(connection: Connection, table: Table) -> Definition:
    """What a migration says of a mapped view."""
    spec: view.View = table.info[READ_ONLY]
    roles = {name: role for name, role in policy.roles(spec.source).items() if role is not None}
    usual = column_roles.Role("").settings
    declared = {
        name: {"role": role.role, **{n: v for n, v in vars(role.settings).items() if v != getattr(usual, n)}}
        for name, role in roles.items()
    }
    current = catalog.SearchPath.here(raw_connection(connection)).schema
    source = (schema_of(spec.source, connection) or current, spec.source.name)
    return Definition(
        table.name,
        query=None if spec.materialized else view.query(spec, source),
        schema=table.schema,
        source=spec.source.name,
        source_schema=spec.source.schema,
        algorithm=spec.algorithm,
        parameters=dict(spec.parameters),
        policy=declared,
    )


def _compare_release(connection: Connection, table: Table, asked: Definition) -> Iterator[MigrateOperation]:
    """Yield a release that is missing while its source is new or has rows, or one of another definition."""
    spec: view.View = table.info[READ_ONLY]
    old = view.published(raw_connection(connection), written(table, connection))
    if old is None:
        there = sa.inspect(connection).has_table(spec.source.name, schema=schema_of(spec.source, connection))
        name = written(spec.source, connection)
        if not there or connection.execute(sa.text(f"SELECT 1 FROM {name} LIMIT 1")).first() is not None:
            yield CreateAnonymizedView(asked)
    elif view.differs(spec, old, connection):
        before = replace(asked, algorithm=old.call["function"], parameters=dict(old.call["parameters"]))
        yield CreateAnonymizedView(asked, before)


_OURS = re.compile(r"SELECT row_number\(\) OVER \(ORDER BY ")
"""How the query of a mapped view begins."""


def _calls_ours(query: str) -> bool:
    called = re.search(r"\bFROM \"?(\w+)\"?\('[^']*'[^()]*", query)
    function = table_functions().get(called[1]) if called else None
    return function is not None and function.kind == "release"


def _stored(connection: Connection) -> dict[tuple[str | None, str], str]:
    """Return queries of the views of the current database as DuckDB keeps them.

    The schema is None where it is current.
    """
    rows = connection.execute(
        sa.text(
            "SELECT CASE WHEN schema_name <> system.main.current_schema() THEN schema_name END, view_name, sql "
            "FROM system.main.duckdb_views() WHERE NOT internal AND database_name = system.main.current_database()"
        )
    ).fetchall()
    return {(schema, name): _query(sql) for schema, name, sql in rows}


_NAMED = r'(?:"(?:[^"]|"")*"|\w+)'
_CREATE = re.compile(
    rf"CREATE (?:OR REPLACE )?(?:TEMP(?:ORARY)? )?VIEW {_NAMED}(?:\.{_NAMED})*"
    rf"(?: ?\({_NAMED}(?:, ?{_NAMED})*\))? AS ",
    re.DOTALL,
)


def _query(sql: str) -> str:
    """What stands behind the AS of CREATE VIEW."""
    match = _CREATE.match(sql)
    return sql[match.end() if match else 0 :].rstrip().removesuffix(";")


_PROBE = "dbanon_migration_probe"


def _as_stored(connection: Connection, query: str) -> str | None:
    """Return a query as DuckDB would keep it; None where it cannot be made now, as before a column is added."""
    raw: Any = connection.connection.dbapi_connection
    try:
        raw.execute(f"CREATE OR REPLACE TEMP VIEW {identifier(_PROBE)} AS {query}")
    except duckdb.Error:
        return None
    rows = raw.execute("SELECT sql FROM system.main.duckdb_views() WHERE view_name = ?", [_PROBE]).fetchall()
    raw.execute(f"DROP VIEW {qualified('temp', 'main', _PROBE)}")
    return _query(rows[0][0])


__all__ = ["CreateAnonymizedView", "Definition", "DropAnonymizedView", "include_object"]
