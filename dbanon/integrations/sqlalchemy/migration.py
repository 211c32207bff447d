"""Support anonymized views in Alembic: operations, and comparison for autogenerate.

In env.py, after the models are imported:

    from dbanon.sqlalchemy import install, migration
    ...
    with install(engine).connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            include_object=migration.include_object(connection),
        )

Importing this module registers the operations `op.create_anonymized_view` and `op.drop_anonymized_view`. A migration
contains every value they need, so it does not change when the model does.
"""

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import sqlalchemy as sa
from sqlalchemy import Connection, MetaData, Table

from dbanon import errors
from dbanon.integrations.sqlalchemy import policy, roles as column_roles, view
from dbanon.integrations.sqlalchemy.connection import quoted_name, raw_connection, translated_schema
from dbanon.integrations.sqlalchemy.engine import READ_ONLY_KEY
from dbanon.ledger import releases as ledger_releases
from dbanon.source import catalog
from dbanon.sqltext.quote import identifier, qualified
from dbanon.table_functions.registry import table_functions
from dbanon.udf.install import attach

try:
    from alembic.autogenerate import comparators, renderers
    from alembic.operations import MigrateOperation, Operations
    from alembic.util import CommandError
except ModuleNotFoundError as missing:
    raise errors.MissingExtraError("dbanon.integrations.sqlalchemy.migration", str(missing.name), "alembic") from None

with contextlib.suppress(ModuleNotFoundError):  # `alembic upgrade --sql` creates no engine, which would import it
    importlib.import_module("duckdb_sqlalchemy.alembic_impl")

ObjectFilter = Callable[[Any, str | None, str, bool, Any], bool]


# --- what is not the model's ---------------------------------------------------------------------------------


def include_object(connection: Connection) -> ObjectFilter:
    """Return an `include_object` for `context.configure` that omits the schema `dbanon` and the tables of releases.

    They are in the database and not in the model, so autogenerate would propose to drop them. To combine it with an
    existing function: `lambda *args: own(*args) and dbanon_filter(*args)`.

    Args:
        connection: A connection of an engine with `install`.

    Returns:
        A function with Alembic's signature `(object, name, type_, reflected, compare_to)`.

    Examples:
        ```python
        context.configure(connection=connection, include_object=migration.include_object(connection))
        ```
    """
    releases = _release_tables(connection)

    def include(schema_object: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
        """Return whether Alembic compares an object.

        False for reflected tables of releases and of the schema `dbanon`.
        """
        if type_ != "table" or not reflected:
            return True
        schema = _without_database(schema_object.schema)
        if schema == catalog.SCHEMA:
            return False
        return not any(table == name and schema in (None, release_schema) for release_schema, table in releases)

    return include


def _without_database(schema: str | None) -> str | None:
    """Return the last part of a schema name, without quotes; None for None.

    The dialect prefixes the database if all schemas are compared.
    """
    return None if schema is None else schema.split(".")[-1].strip('"')


def _release_tables(connection: Connection) -> set[tuple[str, str]]:
    """Return (schema, name) of every table of published releases in the current database, with classes and metrics."""
    raw = raw_connection(connection)
    with raw.cursor() as cursor:
        database = catalog.SearchPath.from_connection(raw).database
        if not catalog.has_table(cursor, database, "release"):
            return set()
        entries = ledger_releases.entries(cursor, database, "status = ?", ["published"])
    return {(entry.schema, entry.name + ending) for entry in entries for ending in ledger_releases.TABLES}


# --- operations ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """The definition of a view as a migration stores it.

    Attributes:
        name: Name of the view.
        query: The SELECT of a plain view; None for a materialized one.
        schema: Schema of the view; None for the current one.
        source: Name of the source table.
        source_schema: Schema of the source table.
        algorithm: Algorithm of a materialized view.
        parameters: Parameters of the algorithm.
        policy: Role and settings of the columns of the source, by column.

    Examples:
        ```python
        Definition("safe_patients", source="patients", parameters={"k": 10})
        ```
    """

    name: str
    query: str | None = None
    schema: str | None = None
    source: str | None = None
    source_schema: str | None = None
    algorithm: str = "best"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def render_arguments(self) -> str:
        """Return the definition as Python source: arguments of `op.create_anonymized_view`, without default values.

        The algorithm of a materialized view is always among them, so that a script stays what it was if the default
        changes.
        """
        defaults = Definition(self.name)
        arguments = {
            n: v for n, v in vars(self).items() if n != "name" and (n == "algorithm" or v != getattr(defaults, n))
        }
        if self.query is not None:
            arguments.pop("algorithm")
            arguments.pop("parameters", None)
        return ", ".join([repr(self.name), *(f"{n}={v!r}" for n, v in arguments.items())])


@Operations.register_operation("create_anonymized_view")
class CreateAnonymizedView(MigrateOperation):
    """An operation that creates an anonymized view or replaces its definition.

    Attributes:
        definition: The new definition.
        previous: The definition that it replaces; None for a new view.
    """

    def __init__(self, definition: Definition, previous: Definition | None = None) -> None:
        """Store the definitions."""
        self.definition = definition
        self.previous = previous

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
        algorithm: str = "best",
        parameters: Mapping[str, Any] | None = None,
        policy: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Create or replace an anonymized view.

        A plain view stores `query`. Without `query` the view is materialized from the committed rows of `source`; if
        there are none, its first `refresh` creates it.

        Args:
            operations: Alembic's operations; `op.create_anonymized_view(...)` passes them.
            name: Name of the view.
            query: The SELECT of a plain view; None for a materialized one.
            schema: Schema of the view.
            source: Name of the source table.
            source_schema: Schema of the source table.
            algorithm: Algorithm of a materialized view.
            parameters: Parameters of the algorithm.
            policy: Role and settings by column; written first if `dbanon.policy` has no row about the source.

        Raises:
            MissingArgumentError: Neither `query` nor `source` is given.
            ViewOverPolicyError: The source has no policy and reads a table with one.

        Examples:
            ```python
            op.create_anonymized_view("safe_patients", source="patients", parameters={"k": 10})
            ```
        """
        definition = Definition(name, query, schema, source, source_schema, algorithm, parameters or {}, policy or {})
        operations.invoke(cls(definition))

    def reverse(self) -> MigrateOperation:
        """Return the operation that undoes this one: it restores the previous definition, or drops the view."""
        if self.previous is not None:
            return CreateAnonymizedView(self.previous, self.definition)
        return DropAnonymizedView(self.definition)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """Return the kind of difference and the name of the view, as `alembic check` prints them."""
        return ("replace" if self.previous else "create") + "_anonymized_view", self.definition.name


@Operations.register_operation("drop_anonymized_view")
class DropAnonymizedView(MigrateOperation):
    """An operation that drops an anonymized view.

    Attributes:
        definition: The definition of the view, so that the operation can be reversed; without a query, the view is
            materialized.
    """

    def __init__(self, definition: Definition) -> None:
        """Store the definition."""
        self.definition = definition

    @classmethod
    def drop_anonymized_view(
        cls, operations: Operations, name: str, *, schema: str | None = None, materialized: bool = False
    ) -> None:
        """Drop an anonymized view, or the tables of a materialized one (the ledger keeps its versions).

        Args:
            operations: Alembic's operations; `op.drop_anonymized_view(...)` passes them.
            name: Name of the view.
            schema: Schema of the view.
            materialized: Whether the view is materialized.

        Examples:
            ```python
            op.drop_anonymized_view("safe_patients", materialized=True)
            ```
        """
        operations.invoke(cls(Definition(name, None if materialized else "", schema)))

    def reverse(self) -> MigrateOperation:
        """Return the operation that creates the view again."""
        return CreateAnonymizedView(self.definition)

    def to_diff_tuple(self) -> tuple[Any, ...]:
        """Return the kind of difference and the name of the view, as `alembic check` prints them."""
        return "drop_anonymized_view", self.definition.name


@Operations.implementation_for(CreateAnonymizedView)
def _create_view(operations: Operations, operation: CreateAnonymizedView) -> None:
    """Run a create operation: declare the policy if there is none, and create or replace the view or first version.

    Raises:
        MissingArgumentError: Neither `query` nor `source` is given.
        ViewOverPolicyError: The source has no policy and reads a table with one.
        CommandError: Alembic runs in offline mode.
    """
    definition = operation.definition
    connection, target = _open_target(operations, "create_anonymized_view", definition)
    source = _source_table(definition)
    if source is not None and not policy.is_declared(connection, source):
        view.refuse_derived(connection, "create_anonymized_view", source)
        policy.declare(connection, [source])
    if definition.query is not None:
        query = f"CREATE OR REPLACE VIEW {quoted_name(target, connection)} AS {definition.query}"
        view.execute_with_source(connection, source, query)
        return
    if source is None:
        raise errors.MissingArgumentError(
            "create_anonymized_view", "source", "the name of a table", "source='patients'"
        )
    spec = view.MappedView(source, definition.algorithm, definition.parameters, (), "", "", True)
    view.create_first_version(connection, target, spec, replace=True)


@Operations.implementation_for(DropAnonymizedView)
def _drop_view(operations: Operations, operation: DropAnonymizedView) -> None:
    """Run a drop operation; a definition without a query is that of a materialized view.

    Raises:
        CommandError: Alembic runs in offline mode.
    """
    connection, target = _open_target(operations, "drop_anonymized_view", operation.definition)
    view.drop_view(connection, target, is_materialized=operation.definition.query is None)


def _open_target(operations: Operations, operation: str, definition: Definition) -> tuple[Connection, Table]:
    """Return the connection of a migration, to which dbanon is attached, and the view or table of a definition.

    Raises:
        CommandError: Alembic only writes SQL (offline mode). `alembic` prints the message on one line; the cause is
            OfflineMigrationError.
    """
    if operations.migration_context.as_sql:
        offline = errors.OfflineMigrationError(operation, definition.name)
        raise CommandError(str(offline)) from offline
    connection = operations.get_bind()
    attach(raw_connection(connection))
    return connection, Table(definition.name, MetaData(), schema=definition.schema)


def _source_table(definition: Definition) -> Table | None:
    """Return a Table for the source of a definition, whose columns have the definition's roles.

    None without a source.
    """
    if definition.source is None:
        return None
    columns = []
    for name, settings in definition.policy.items():
        role_arguments = dict(settings)
        role_function: Callable[..., column_roles.ColumnInfo] = getattr(column_roles, str(role_arguments.pop("role")))
        columns.append(sa.Column(name, sa.String(), info=role_function(**role_arguments)))
    return Table(definition.source, MetaData(), *columns, schema=definition.source_schema)


# --- rendering -----------------------------------------------------------------------------------------------


@renderers.dispatch_for(CreateAnonymizedView)
def _render_create(context: Any, operation: CreateAnonymizedView) -> str:
    """Return the Python source of a create operation for a migration file."""
    return f"op.create_anonymized_view({operation.definition.render_arguments()})"


@renderers.dispatch_for(DropAnonymizedView)
def _render_drop(context: Any, operation: DropAnonymizedView) -> str:
    """Return the Python source of a drop operation for a migration file."""
    definition = operation.definition
    arguments = "" if definition.schema is None else f", schema={definition.schema!r}"
    arguments += ", materialized=True" if definition.query is None else ""
    return f"op.drop_anonymized_view({definition.name!r}{arguments})"


# --- comparing -----------------------------------------------------------------------------------------------


def _compare_views(context: Any, upgrade: Any, schemas: Any) -> None:
    """Compare the mapped views with the database, and add the operations that are necessary to Alembic's `upgrade`.

    Views that are missing or defined differently are created at the end of `upgrade.ops`. Views in `schemas` that are
    not in the model are dropped at its beginning if their query has the form that dbanon generates. Nothing happens for
    other databases than DuckDB.
    """
    connection, metadata = context.connection, context.metadata
    if connection is None or connection.dialect.name != "duckdb" or not isinstance(metadata, MetaData):
        return
    attach(raw_connection(connection))
    creates: list[MigrateOperation] = []
    compared_schemas = {_without_database(schema) for schema in schemas}
    model_views = set()
    stored_queries = _stored_queries(connection)
    for table in view.views_of(metadata):
        spec: view.MappedView = table.info[READ_ONLY_KEY]
        model_views.add((table.schema, table.name))
        definition = view_definition(connection, table)
        previous_query = stored_queries.get((table.schema, table.name)) if not spec.is_materialized else None
        if spec.is_materialized:
            creates += _compare_release(connection, table, definition)
        elif previous_query is None:
            creates.append(CreateAnonymizedView(definition))
        elif previous_query != _normalized_query(connection, str(definition.query)):
            creates.append(CreateAnonymizedView(definition, replace(definition, query=previous_query, policy={})))
    drops = [
        DropAnonymizedView(Definition(name, query, schema))
        for (schema, name), query in stored_queries.items()
        if (schema, name) not in model_views
        and schema in compared_schemas
        and _GENERATED_QUERY.match(query)
        and _calls_release_function(query)
    ]
    upgrade.ops[:] = [*drops, *upgrade.ops, *creates]


try:
    from alembic.util import DispatchPriority

    comparators.dispatch_for("schema", priority=DispatchPriority.LAST)(_compare_views)
except ImportError:  # before Alembic 1.18, in the order of registration
    comparators.dispatch_for("schema")(_compare_views)


def view_definition(connection: Connection, table: Table) -> Definition:
    """Return the definition of a mapped view for a migration, with the roles of its source in the model."""
    spec: view.MappedView = table.info[READ_ONLY_KEY]
    roles = {name: role for name, role in policy.model_roles(spec.source).items() if role is not None}
    default_settings = column_roles.Role("").settings
    declared_columns = {
        name: {"role": role.role, **{n: v for n, v in vars(role.settings).items() if v != getattr(default_settings, n)}}
        for name, role in roles.items()
    }
    current_schema = catalog.SearchPath.from_connection(raw_connection(connection)).schema
    source = (translated_schema(spec.source, connection) or current_schema, spec.source.name)
    return Definition(
        table.name,
        query=None if spec.is_materialized else view.stored_query(spec, source),
        schema=table.schema,
        source=spec.source.name,
        source_schema=spec.source.schema,
        algorithm=spec.algorithm,
        parameters=dict(spec.parameters),
        policy=declared_columns,
    )


def _compare_release(connection: Connection, table: Table, definition: Definition) -> Iterator[MigrateOperation]:
    """Yield a create operation if a materialized view is missing or its published version has another definition.

    A missing one is only created if its source does not exist yet or has rows.
    """
    spec: view.MappedView = table.info[READ_ONLY_KEY]
    published_entry = view.published_entry(raw_connection(connection), quoted_name(table, connection))
    if published_entry is None:
        source_exists = sa.inspect(connection).has_table(
            spec.source.name, schema=translated_schema(spec.source, connection)
        )
        name = quoted_name(spec.source, connection)
        if not source_exists or connection.execute(sa.text(f"SELECT 1 FROM {name} LIMIT 1")).first() is not None:
            yield CreateAnonymizedView(definition)
    elif view.is_definition_changed(spec, published_entry, connection):
        previous = replace(
            definition, algorithm=published_entry.call["function"], parameters=dict(published_entry.call["parameters"])
        )
        yield CreateAnonymizedView(definition, previous)


_GENERATED_QUERY = re.compile(r"SELECT row_number\(\) OVER \(ORDER BY ")
"""Beginning of the query of a mapped view."""


def _calls_release_function(query: str) -> bool:
    """Return whether a query's FROM calls a table function that returns a release; only its text is searched."""
    call_match = re.search(r"\bFROM \"?(\w+)\"?\('[^']*'[^()]*", query)
    function = table_functions().get(call_match[1]) if call_match else None
    return function is not None and function.kind == "release"


def _stored_queries(connection: Connection) -> dict[tuple[str | None, str], str]:
    """Return the SELECT of every view of the current database, as DuckDB stores it, by (schema, name).

    The schema is None if it is the current one.
    """
    rows = connection.execute(
        sa.text(
            "SELECT CASE WHEN schema_name <> system.main.current_schema() THEN schema_name END, view_name, sql "
            "FROM system.main.duckdb_views() WHERE NOT internal AND database_name = system.main.current_database()"
        )
    ).fetchall()
    return {(schema, name): _select_statement(sql) for schema, name, sql in rows}


_NAME_PATTERN = r'(?:"(?:[^"]|"")*"|\w+)'
_CREATE_VIEW = re.compile(
    rf"CREATE (?:OR REPLACE )?(?:TEMP(?:ORARY)? )?VIEW {_NAME_PATTERN}(?:\.{_NAME_PATTERN})*"
    rf"(?: ?\({_NAME_PATTERN}(?:, ?{_NAME_PATTERN})*\))? AS ",
    re.DOTALL,
)


def _select_statement(create_view_sql: str) -> str:
    """Return the SELECT of a CREATE VIEW statement, without a semicolon at the end."""
    match = _CREATE_VIEW.match(create_view_sql)
    return create_view_sql[match.end() if match else 0 :].rstrip().removesuffix(";")


_PROBE_VIEW = "dbanon_migration_probe"


def _normalized_query(connection: Connection, query: str) -> str | None:
    """Return a query as DuckDB would store it in a view; None if DuckDB cannot bind it now.

    A temporary view is created and dropped for this. Binding can fail, for example, before a column is added.
    """
    raw: Any = connection.connection.dbapi_connection
    try:
        raw.execute(f"CREATE OR REPLACE TEMP VIEW {identifier(_PROBE_VIEW)} AS {query}")
    except duckdb.Error:
        return None
    rows = raw.execute("SELECT sql FROM system.main.duckdb_views() WHERE view_name = ?", [_PROBE_VIEW]).fetchall()
    raw.execute(f"DROP VIEW {qualified('temp', 'main', _PROBE_VIEW)}")
    return _select_statement(rows[0][0])


__all__ = ["CreateAnonymizedView", "Definition", "DropAnonymizedView", "include_object"]
