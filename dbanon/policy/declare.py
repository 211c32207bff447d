"""Write policy rows from Python."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.policy import column_roles
from dbanon.policy.transforms import settings
from dbanon.policy.transforms.settings import KNOWN
from dbanon.runtime import session
from dbanon.source import attached_databases, catalog, schema, stored_policy
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, qualified, text
from dbanon.table_functions import parameters
from dbanon.table_functions.parameter_types import Codes


def declare(connection: Any, table: str, /, **columns: Any) -> None:
    """Write the roles of a table's columns to `dbanon.policy`, replacing what these columns had.

    A column's value is its role, `(role, hierarchy)`, or a dict with role and any of hierarchy, weight, min_level,
    max_level, top, bottom, grid, missing, form:

        declare(con, "patients", name="identifier", zip=("quasi", "zip5"), age={"role": "quasi", "missing": [999]})

    Raises UnknownTableError, UnknownColumnError, UnknownRoleError, UnknownParameterError, InvalidArgumentError,
    InvalidTransformSettingError, UnreadableKeyReferenceError; nothing is written then.
    """
    with session.builtin_cursor(connection) as cursor:
        source = catalog.resolve_source(
            "declare", table, cursor, catalog.SearchPath.here(connection), {}, is_declaring=True
        )
        rows = [_row(source, column, value) for column, value in columns.items()]
        declared = [row["column_name"] for row in rows]
        for column in declared:
            if declared.count(column) > 1:
                raise errors.ConflictingRolesError(
                    "declare", source.shown, column, [r["role"] for r in rows if r["column_name"] == column]
                )
        schema.create(connection, source.home)
        if not catalog.has_table(cursor, source.home, "policy"):
            raise errors.ReadOnlyDatabaseError("declare", source.home)
        policies = qualified(source.home, catalog.SCHEMA, "policy")
        cursor.execute("BEGIN")
        if source.foreign is not None:
            attached_databases.record_identity("declare", cursor, source.database, source.foreign)
        for old in stored_policy.policy_rows(source, cursor):
            if old.declared.column.lower() in {c.lower() for c in declared}:
                cursor.execute(
                    f"DELETE FROM {policies} WHERE (schema_name, table_name, column_name) = (?, ?, ?)",
                    [old.schema_name, old.table_name, old.declared.column],
                )
        for settings in rows:
            columns_ = ", ".join(identifier(n) for n in settings)
            values = ", ".join(_literal(v) for v in settings.values())
            cursor.execute(f"INSERT INTO {policies} ({columns_}) VALUES ({values})")
        cursor.execute("COMMIT")


def _row(source: catalog.Source, column: str, value: Any) -> dict[str, Any]:
    """Return one row of dbanon.policy."""
    name = source.column("declare", column, "the call")
    settings: dict[str, Any]
    if isinstance(value, Mapping):
        settings = dict(value)
    elif isinstance(value, str):
        settings = {"role": value}
    elif isinstance(value, (tuple, list)) and len(value) <= 2:
        settings = dict(zip(("role", "hierarchy"), value, strict=False))
    else:
        raise errors.InvalidArgumentError(
            "declare", column, "a role, (role, hierarchy) or a dict with role and settings", repr(value)
        )
    role = str(settings.pop("role", "")).lower()
    if role not in column_roles.ROLES:
        raise errors.UnknownRoleError(source.shown, column, role, column_roles.ROLES)
    for setting in settings:
        if setting not in column_roles.STORED:
            raise errors.UnknownParameterError("declare", setting, column_roles.STORED)
    spelled = {n: str(v) if n in ("top", "bottom", "grid") and v is not None else v for n, v in settings.items()}
    given = {n: v for n, v in spelled.items() if v is not None}
    if "missing" in given:
        given["missing"] = _codes(given["missing"])
    if "form" in given:
        given["form"] = _form(f"{source.shown}.{name}", role, given["form"])
    schema_name, table_name = stored_policy.policy_key(source)
    return {
        "table_name": table_name,
        "column_name": name,
        "role": role,
        "schema_name": schema_name,
        **given,
    }


def _codes(given: object) -> tuple[str, ...]:
    """Return codes for missing values; InvalidArgumentError."""
    try:
        return Codes().check(given)
    except ValueError:
        raise errors.InvalidArgumentError("declare", "missing", str(Codes()), parameters.format_value(given)) from None


def _form(column: str, role: str, given: object) -> dict[str, str]:
    """Return settings of a pseudonym, mask or shift, as they are stored; a key in place of a reference never is."""
    given = dict(given) if isinstance(given, Sequence) and not isinstance(given, str) else given
    if not isinstance(given, Mapping) or role not in KNOWN:
        accepts = f"a dict of settings of one of the roles {', '.join(KNOWN)}"
        raise errors.InvalidArgumentError("declare", "form", accepts, f"what is none, for {column}")
    stored = dict(stored_policy.parse_settings(given))
    settings.made(column, role, stored)
    return stored


def _literal(value: Any) -> Sql:
    """Return a cell of dbanon.policy."""
    if isinstance(value, dict):
        return Sql(f"MAP {{{join_sql(Sql(f'{text(k)}: {text(v)}') for k, v in value.items())}}}::MAP(VARCHAR, VARCHAR)")
    return Sql(f"[{join_sql(map(text, value))}]::VARCHAR[]") if isinstance(value, tuple) else literal(value)
