"""Write the roles of the model to `dbanon.policy`, compare them with it, and read them back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Table

from dbanon import errors
from dbanon.integrations.sqlalchemy.connection import quoted_name, raw_connection, resolve_table
from dbanon.integrations.sqlalchemy.roles import Role, role_of
from dbanon.policy.column_roles import STORED_SETTINGS
from dbanon.policy.declare import delete_row, insert_row, row_cells
from dbanon.runtime.session import builtin_cursor, transaction
from dbanon.source import catalog, schema, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import DeclaredColumn, PolicyRow, Settings
from dbanon.sqltext import names
from dbanon.udf.install import attach


@dataclass(frozen=True)
class PolicyDiff:
    """Differences between the model and `dbanon.policy` as it was before writing; true as a boolean if there are any.

    Columns are named `table.column`.

    Attributes:
        added: Columns that had no row in the policy.
        changed: The role before and the role now, by column.
        removed: Columns that only the policy had.
        without_role: Columns of declared tables without a role in the model. They are withheld, and are no difference.

    Examples:
        ```python
        from dbanon.sqlalchemy import declare_models

        diff = declare_models(Base, engine, write=False)
        if diff:
            print(diff.added, diff.changed, diff.removed)
        ```
    """

    added: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    without_role: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether a column was added, changed or removed."""
        return bool(self.added or self.changed or self.removed)


def declare_models(base: Any, engine: Engine, *, write: bool = True) -> PolicyDiff:
    """Write the roles of all mapped tables to `dbanon.policy`, and return the differences.

    Tables without any role are skipped. For the others the model decides: rows about columns that only the database has
    are removed, so these columns are withheld. All rows are written in one transaction. A second call changes nothing.

    Args:
        base: A declarative base, a registry or a MetaData.
        engine: An engine of DuckDB.
        write: Whether to write; otherwise the differences are only returned.

    Returns:
        How the policy differed from the model.

    Raises:
        UnknownTableError: A table was not created yet.
        ReadOnlyDatabaseError: The database is read-only and has no policy.

    Examples:
        ```python
        from dbanon.sqlalchemy import declare_models

        Base.metadata.create_all(engine)
        declare_models(Base, engine)
        ```
    """
    metadata = base if isinstance(base, MetaData) else base.metadata
    with engine.connect() as connection:
        return declare(connection, metadata.sorted_tables, write=write)


def declare(connection: Connection, tables: Iterable[Table], *, write: bool = True) -> PolicyDiff:
    """Write the roles of these tables to `dbanon.policy` if `write`, and return how the policy differed from the model.

    The tables may be new in the connection's transaction. The policy is committed at once. Tables without any role are
    skipped; for the others, policy rows about columns without a role are deleted.
    """
    raw = raw_connection(connection)
    attach(raw)
    added: list[str] = []
    changed_roles: dict[str, tuple[str, str]] = {}
    removed: list[str] = []
    without_role: list[str] = []
    deletes: list[tuple[Source, PolicyRow]] = []
    inserts: list[tuple[Source, str, Role]] = []
    with builtin_cursor(raw) as cursor:
        for table in tables:
            model = model_roles(table)
            if not any(model.values()):
                continue
            source = resolve_table("declare_models", table, connection)
            policy_rows = stored_policy.policy_rows(source, cursor)
            for name, role in model.items():
                label = f"{table.description}.{name}"
                source_column = source.column("declare_models", name, "the model")
                stored_rows = [r for r in policy_rows if names.fold_case(r.column) == names.fold_case(name)]
                stored_roles = [stored_role(r) for r in stored_rows]
                if role is None:
                    without_role.append(label)
                elif not stored_rows:
                    added.append(label)
                elif stored_roles != [role]:
                    changed_roles[label] = (" and ".join(map(str, stored_roles)), str(role))
                if role is not None and stored_roles != [role]:
                    deletes += [(source, r) for r in stored_rows]
                    inserts.append((source, source_column, role))
            columns_with_role = {names.fold_case(name) for name, role in model.items() if role is not None}
            stale_rows = [r for r in policy_rows if names.fold_case(r.column) not in columns_with_role]
            removed += [f"{table.description}.{r.column}" for r in stale_rows]
            deletes += [(source, r) for r in stale_rows]
        if write and (deletes or inserts):
            _write_policy(connection, cursor, deletes, inserts)
    return PolicyDiff(tuple(added), changed_roles, tuple(removed), tuple(without_role))


def _write_policy(
    connection: Connection,
    cursor: Any,
    deletes: list[tuple[Source, PolicyRow]],
    inserts: list[tuple[Source, str, Role]],
) -> None:
    """Delete and insert rows of the policy in one transaction of the cursor; after an error nothing is changed.

    The schema `dbanon` is created in each database if necessary. `deletes` are (table, row), `inserts` (table, column,
    role).

    Raises:
        ReadOnlyDatabaseError: A database has no policy table, and none can be created.
    """
    policy_tables = {
        database: schema.writable_table("declare_models", raw_connection(connection), cursor, database, "policy")
        for database in dict.fromkeys(s.database for s in (*(d[0] for d in deletes), *(i[0] for i in inserts)))
    }
    with transaction(cursor):
        for source, row in deletes:
            delete_row(cursor, policy_tables[source.database], row)
        for source, column, role in inserts:
            cells = row_cells(source.schema, source.table, role.declared(column))
            insert_row(cursor, policy_tables[source.database], cells)


def policy_from_reflection(engine: Engine, table: str | Table, *, set_info: bool = False) -> dict[str, Role]:
    """Return the roles that `dbanon.policy` declares for the columns of a table in the database.

    Args:
        engine: An engine of DuckDB.
        table: A table, or its name.
        set_info: Whether to store the roles in `info` of the columns of a Table, replacing roles there, so that
            `anonymized(table, ...)` finds them.

    Returns:
        Roles by column name, for columns that have one.

    Raises:
        UnknownTableError: There is no such table.

    Examples:
        ```python
        from dbanon.sqlalchemy import policy_from_reflection

        patients = sqlalchemy.Table("patients", sqlalchemy.MetaData(), autoload_with=engine)
        policy_from_reflection(engine, patients, set_info=True)
        ```
    """
    with engine.connect() as connection:
        raw = raw_connection(connection)
        attach(raw)
        name = quoted_name(table, connection) if isinstance(table, Table) else table
        source = catalog.resolve_source(
            "policy_from_reflection", name, raw, catalog.SearchPath.from_connection(raw), {}
        )
        stored_roles = _roles_by_column(stored_policy.policy_rows(source, raw))
    declared = {c: stored_roles[names.fold_case(c)] for c in source.columns if names.fold_case(c) in stored_roles}
    if set_info and isinstance(table, Table):
        for column in table.c:
            for key in [k for k in column.info if isinstance(k, Role)]:
                del column.info[key]
            if column.name in declared:
                column.info[declared[column.name]] = "dbanon"
    return declared


def check_policy(connection: Connection, function: str, declared: Mapping[Table, Mapping[str, Role | None]]) -> None:
    """Raise PolicyDriftError if the policy of the database about a table differs from the roles in `declared`.

    Tables without a policy are not compared. `function` is the name in messages.

    Raises:
        PolicyDriftError: Some columns of a table, the first that differs, have another role in the database.
    """
    for drift in policy_drift_errors(connection, function, declared):
        raise drift


def policy_drift_errors(
    connection: Connection, function: str, declared: Mapping[Table, Mapping[str, Role | None]]
) -> Iterator[errors.PolicyDriftError]:
    """Yield an error for each table whose policy in the database differs from the roles in `declared`.

    Tables without a policy are not compared. `function` is the name in messages.
    """
    for table, model in declared.items():
        source = resolve_table(function, table, connection)
        policy_rows = stored_policy.policy_rows(source, raw_connection(connection))
        if not policy_rows:
            continue
        stored_roles = _roles_by_column(policy_rows)
        differing_columns = [name for name, role in model.items() if stored_roles.get(names.fold_case(name)) != role]
        if differing_columns:
            yield errors.PolicyDriftError(function, source.shown, differing_columns)


def is_declared(connection: Connection, table: Table) -> bool:
    """Return whether `dbanon.policy` has at least one row about a table."""
    source = resolve_table("declare_models", table, connection)
    return bool(stored_policy.policy_rows(source, raw_connection(connection)))


def model_roles(table: Table) -> dict[str, Role | None]:
    """Return the role that the model gives each column, by name; None for a column without a role."""
    return {column.name: role_of(column) for column in table.c}


def stored_role(declared: DeclaredColumn) -> Role:
    """Return the role and the stored settings of a row of the policy."""
    return Role(declared.role.lower(), Settings(**{n: getattr(declared.settings, n) for n in STORED_SETTINGS}))


def _roles_by_column(rows: Iterable[PolicyRow]) -> dict[str, Role]:
    """Return the roles in rows of the policy, by folded column name."""
    return {names.fold_case(row.column): stored_role(row) for row in rows}
