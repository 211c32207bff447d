"""The policy between model and database: written, compared, read back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Table

from dbanon import errors
from dbanon.integrations.sqlalchemy.connection import raw_connection, resolved, written
from dbanon.integrations.sqlalchemy.roles import Role, role_of
from dbanon.policy.column_roles import STORED
from dbanon.runtime.session import builtin_cursor
from dbanon.source import catalog, schema, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import DeclaredColumn, PolicyRow, Settings
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified
from dbanon.udf.install import attach


@dataclass(frozen=True)
class Drift:
    """How `dbanon.policy` differed from the model, as `table.column`; true if it did.

    `changed` shows the role before and now. `without_role` are columns of declared tables that will be withheld because
    the model says nothing of them; they are no difference.
    """

    added: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    without_role: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def declare_models(base: Any, engine: Engine, *, write: bool = True) -> Drift:
    """Write the roles of all mapped tables to `dbanon.policy`, and say what was different; twice is harmless.

    `base` is a declarative base, a registry or a MetaData. Tables without any role are left alone; of the others the
    model decides: what only the database has is removed, so its columns are withheld. All is written in one
    transaction, and nothing if `write` is false. Raises UnknownTableError for a table that was not created yet.
    """
    metadata = base if isinstance(base, MetaData) else base.metadata
    with engine.connect() as connection:
        return declare(connection, metadata.sorted_tables, write=write)


def declare(connection: Connection, tables: Iterable[Table], *, write: bool = True) -> Drift:
    """The same for some tables, which may be new in the connection's transaction; the policy is committed at once."""
    raw = raw_connection(connection)
    attach(raw)
    added: list[str] = []
    changed: dict[str, tuple[str, str]] = {}
    removed: list[str] = []
    silent: list[str] = []
    deletes: list[tuple[Source, PolicyRow]] = []
    inserts: list[tuple[Source, str, Role]] = []
    with builtin_cursor(raw) as cursor:
        for table in tables:
            model = roles(table)
            if not any(model.values()):
                continue
            source = resolved("declare_models", table, connection)
            stored = stored_policy.policy_rows(source, cursor)
            for name, role in model.items():
                shown = f"{table.description}.{name}"
                spelled = source.column("declare_models", name, "the model")
                before = [r for r in stored if names.fold_case(r.declared.column) == names.fold_case(name)]
                said = [stored_role(r.declared) for r in before]
                if role is None:
                    silent.append(shown)
                elif not before:
                    added.append(shown)
                elif said != [role]:
                    changed[shown] = (" and ".join(map(str, said)), str(role))
                if role is not None and said != [role]:
                    deletes += [(source, r) for r in before]
                    inserts.append((source, spelled, role))
            kept = {names.fold_case(name) for name, role in model.items() if role is not None}
            gone = [r for r in stored if names.fold_case(r.declared.column) not in kept]
            removed += [f"{table.description}.{r.declared.column}" for r in gone]
            deletes += [(source, r) for r in gone]
        if write and (deletes or inserts):
            _write(connection, cursor, deletes, inserts)
    return Drift(tuple(added), changed, tuple(removed), tuple(silent))


def _write(
    connection: Connection,
    cursor: Any,
    deletes: list[tuple[Source, PolicyRow]],
    inserts: list[tuple[Source, str, Role]],
) -> None:
    """Rows out and in, in one transaction of the cursor."""
    for database in dict.fromkeys(s.database for s in (*(d[0] for d in deletes), *(i[0] for i in inserts))):
        schema.create(raw_connection(connection), database)
        if not catalog.has_table(cursor, database, "policy"):
            raise errors.ReadOnlyDatabaseError("declare_models", database)
    cursor.execute("BEGIN")
    try:
        for source, row in deletes:
            cursor.execute(
                f"DELETE FROM {_policy(source)} WHERE (schema_name, table_name, column_name) = (?, ?, ?)",
                [row.schema_name, row.table_name, row.declared.column],
            )
        for source, column, role in inserts:
            values = [source.schema, source.table, column, role.role, *_cells(role.settings)]
            cursor.execute(
                f"INSERT INTO {_policy(source)} (schema_name, table_name, column_name, role, {', '.join(STORED)}) "
                f"VALUES ({', '.join('?' * (len(values) - 1))}, ?::MAP(VARCHAR, VARCHAR))",
                values,
            )
        cursor.execute("COMMIT")
    except BaseException:
        cursor.execute("ROLLBACK")
        raise


def policy_from_reflection(engine: Engine, table: str | Table, *, set_info: bool = False) -> dict[str, Role]:
    """Return the declared roles of a table's columns, by column name, as `dbanon.policy` has them.

    With `set_info` and a Table (one that was reflected, say) they become the `info` of its columns, in place of roles
    that stand there, so that `anonymized(table, ...)` knows them.
    """
    with engine.connect() as connection:
        raw = raw_connection(connection)
        attach(raw)
        name = written(table, connection) if isinstance(table, Table) else table
        source = catalog.resolve_source("policy_from_reflection", name, raw, catalog.SearchPath.here(raw), {})
        found = _roles(stored_policy.policy_rows(source, raw))
    declared = {c: found[names.fold_case(c)] for c in source.columns if names.fold_case(c) in found}
    if set_info and isinstance(table, Table):
        for column in table.c:
            for key in [k for k in column.info if isinstance(k, Role)]:
                del column.info[key]
            if column.name in declared:
                column.info[declared[column.name]] = "dbanon"
    return declared


def same(connection: Connection, function: str, declared: Mapping[Table, Mapping[str, Role | None]]) -> None:
    """Raise PolicyDriftError where the database has a policy of these tables that is not what the model says."""
    for drift in drifts(connection, function, declared):
        raise drift


def drifts(
    connection: Connection, function: str, declared: Mapping[Table, Mapping[str, Role | None]]
) -> Iterator[errors.PolicyDriftError]:
    """What `same` raises, for each table."""
    for table, model in declared.items():
        source = resolved(function, table, connection)
        stored = stored_policy.policy_rows(source, raw_connection(connection))
        if not stored:
            continue
        found = _roles(stored)
        differ = [name for name, role in model.items() if found.get(names.fold_case(name)) != role]
        if differ:
            yield errors.PolicyDriftError(function, source.shown, differ)


def is_declared(connection: Connection, table: Table) -> bool:
    """Return whether the database says anything about a table's columns."""
    source = resolved("declare_models", table, connection)
    return bool(stored_policy.policy_rows(source, raw_connection(connection)))


def _policy(source: Source) -> str:
    return qualified(source.database, catalog.SCHEMA, "policy")


def roles(table: Table) -> dict[str, Role | None]:
    """What the model says of each column."""
    return {column.name: role_of(column) for column in table.c}


def stored_role(declared: DeclaredColumn) -> Role:
    """Return the role that a row of the policy says."""
    return Role(declared.role.lower(), Settings(**{n: getattr(declared.settings, n) for n in STORED}))


def _roles(rows: Iterable[PolicyRow]) -> dict[str, Role]:
    """Return the roles that rows of the policy say, by folded column."""
    return {names.fold_case(row.declared.column): stored_role(row.declared) for row in rows}


def _cells(settings: Settings) -> list[object]:
    """Return the cells of a row of the policy after its role; no codes and no form are NULL."""
    found = {name: getattr(settings, name) for name in STORED}
    found |= {"missing": list(settings.missing) or None, "form": dict(settings.form) or None}
    return list(found.values())
