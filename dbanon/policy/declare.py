"""Declare from Python roles of columns, and which table has the persons of another one's rows: policy and relation."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.policy import column_roles
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS, parse_transform
from dbanon.runtime import session
from dbanon.source import attached_databases, catalog, schema, stored_policy, stored_relation
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, text
from dbanon.table_functions import parameters
from dbanon.table_functions.parameter_types import Codes, Key


def declare(connection: Any, table: str, /, **columns: Any) -> None:
    """Write the roles of a table's columns to `dbanon.policy`, replacing previous rows of these columns.

    Rows of other columns are kept. The schema `dbanon` is created if needed. All rows are written in one transaction.

    Args:
        connection: An open connection.
        table: The table's name.
        **columns: For each column its role, `(role, hierarchy)`, or a dict with role and any of hierarchy, weight,
            min_level, max_level, top, bottom, rounding, missing_codes, settings (those of a pseudonym, mask or shift).

    Raises:
        UnknownTableError, UnknownColumnError, UnknownRoleError: A name or a role does not exist; nothing is written.
        ConflictingRolesError: A column is given twice; nothing is written.
        UnknownParameterError, InvalidArgumentError, InvalidTransformSettingError: A setting is not valid; nothing is
            written.
        UnreadableKeyReferenceError: The key reference of a pseudonym is not valid; nothing is written.
        ReadOnlyDatabaseError: The database cannot be written.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 999]) AS age, 'Flu' AS disease")
        >>> dbanon.declare(con, "people", age={"role": "quasi", "missing_codes": [999]}, disease="sensitive")
        >>> con.sql("SELECT column_name, role FROM dbanon.policy ORDER BY column_name").fetchall()
        [('age', 'quasi'), ('disease', 'sensitive')]
    """
    with session.builtin_cursor(connection) as cursor:
        source = catalog.resolve_source(
            "declare", table, cursor, catalog.SearchPath.from_connection(connection), {}, is_declaring=True
        )
        rows = [_policy_row(source, column, value) for column, value in columns.items()]
        declared = [row["column_name"] for row in rows]
        for column in declared:
            if declared.count(column) > 1:
                raise errors.ConflictingRolesError(
                    "declare", source.shown, column, [r["role"] for r in rows if r["column_name"] == column]
                )
        policy_table = schema.writable_table("declare", connection, cursor, source.home, "policy")
        with session.transaction(cursor):
            if source.foreign is not None:
                attached_databases.record_identity("declare", cursor, source.database, source.foreign)
            for policy_row in stored_policy.policy_rows(source, cursor):
                if fold_case(policy_row.column) in {fold_case(c) for c in declared}:
                    delete_row(cursor, policy_table, policy_row)
            for new_row in rows:
                insert_row(cursor, policy_table, new_row)


def delete_row(cursor: Any, policy_table: Sql, row: stored_policy.PolicyRow) -> None:
    """Delete a row of a table of policies; `policy_table` is the qualified name of the table."""
    cursor.execute(
        f"DELETE FROM {policy_table} WHERE (schema_name, table_name, column_name) = (?, ?, ?)",
        [row.schema_name, row.table_name, row.column],
    )


def insert_row(cursor: Any, table: Sql, cells: Mapping[str, Any]) -> None:
    """Insert a row with these cells, by column, into a table of the schema dbanon; `table` is its qualified name."""
    values = join_sql(map(_cell_literal, cells.values()))
    cursor.execute(f"INSERT INTO {table} ({join_sql(map(identifier, cells))}) VALUES ({values})")


def row_cells(schema_name: str, table_name: str, declared: stored_policy.DeclaredColumn) -> dict[str, Any]:
    """Return the cells of the row of dbanon.policy that declares a column of a table, for `insert_row`."""
    settings = {name: getattr(declared.settings, name) for name in column_roles.STORED_SETTINGS}
    settings["settings"] = dict(declared.settings.settings)
    return {
        "schema_name": schema_name,
        "table_name": table_name,
        "column_name": declared.column,
        "role": declared.role,
        **{name: value for name, value in settings.items() if value not in (None, (), {})},
    }


def _policy_row(source: catalog.Source, column: str, value: Any) -> dict[str, Any]:
    """Return the row of dbanon.policy (values by column) for one column, after checking it.

    `value` is a role, (role, hierarchy) or a dict with role and settings. Settings of None are omitted.

    Raises:
        UnknownColumnError, UnknownRoleError, UnknownParameterError: A column, role or setting does not exist.
        InvalidArgumentError: `value` has another form, or codes for missing values or transform settings do not have
            the right form. Values of other settings are not checked.
        InvalidTransformSettingError, UnreadableKeyReferenceError: A transform setting is not valid.
    """
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
        if setting not in column_roles.STORED_SETTINGS:
            raise errors.UnknownParameterError("declare", setting, column_roles.STORED_SETTINGS)
    stored_settings = {
        n: str(v) if n in ("top", "bottom", "rounding") else v for n, v in settings.items() if v is not None
    }
    if "missing_codes" in stored_settings:
        stored_settings["missing_codes"] = _check_codes(stored_settings["missing_codes"])
    if "settings" in stored_settings:
        stored_settings["settings"] = _check_transform(f"{source.shown}.{name}", role, stored_settings["settings"])
    schema_name, table_name = stored_policy.policy_key(source)
    return {
        "table_name": table_name,
        "column_name": name,
        "role": role,
        "schema_name": schema_name,
        **stored_settings,
    }


def _check_codes(codes: object) -> tuple[str, ...]:
    """Return codes for missing values as a tuple of texts.

    Raises:
        InvalidArgumentError: They are not a list of codes.
    """
    try:
        return Codes().check(codes)
    except ValueError:
        raise errors.InvalidArgumentError(
            "declare", "missing_codes", str(Codes()), parameters.format_value(codes)
        ) from None


def _check_transform(column: str, role: str, transform: object) -> dict[str, str]:
    """Return the settings of a pseudonym, mask or shift as they are stored, after checking them.

    A key itself is refused: only a reference to one is stored. `column` is the name of the column for messages;
    `transform` is a dict or a list of pairs.

    Raises:
        InvalidArgumentError: `transform` has another form, or the role is not pseudonym, mask or shift.
        InvalidTransformSettingError, UnreadableKeyReferenceError: A setting is not valid.
    """
    transform = dict(transform) if isinstance(transform, Sequence) and not isinstance(transform, str) else transform
    if not isinstance(transform, Mapping) or role not in TRANSFORM_SETTINGS:
        accepts = f"a dict of settings of one of the roles {', '.join(TRANSFORM_SETTINGS)}"
        raise errors.InvalidArgumentError("declare", "settings", accepts, f"what is none, for {column}")
    stored = dict(stored_policy.parse_settings(transform))
    parse_transform(column, role, stored)
    return stored


def _cell_literal(value: Any) -> Sql:
    """Return a value as SQL for a cell of the schema dbanon: a dict as a map, a tuple as a list, others as they are."""
    if isinstance(value, dict):
        return Sql(f"MAP {{{join_sql(Sql(f'{text(k)}: {text(v)}') for k, v in value.items())}}}::MAP(VARCHAR, VARCHAR)")
    return Sql(f"[{join_sql(map(text, value))}]::VARCHAR[]") if isinstance(value, tuple) else literal(value)


def relate(connection: Any, table: str, entity: str, key: str | Sequence[str] | Mapping[str, str]) -> None:
    """Write to `dbanon.relation` that the rows of a table are about the people of another one.

    A previous relation of these two tables is replaced. The schema `dbanon` is created if needed.

    Args:
        connection: An open connection.
        table: The table's name.
        entity: The name of the table of people.
        key: The columns that both share: a column, a list of columns, or a dict from columns of the table to those of
            the table of people.

    Raises:
        UnknownTableError, UnknownColumnError: A name does not exist; nothing is written.
        InvalidArgumentError: The key is not valid, or the tables are equal or in different databases; nothing is
            written.
        ReadOnlyDatabaseError: The database cannot be written.

    Examples:
        ```python
        import dbanon

        dbanon.relate(con, "visits", "people", "patient_number")
        dbanon.relate(con, "visits", "people", {"patient_id": "id"})
        ```
    """
    with session.builtin_cursor(connection) as cursor:
        path = catalog.SearchPath.from_connection(connection)
        child, people = (catalog.resolve_source("relate", name, cursor, path, {}) for name in (table, entity))
        if child.sql == people.sql or child.home != people.home:
            raise errors.InvalidArgumentError(
                "relate", "entity", f"another table of the database of {child.shown}", parameters.format_value(entity)
            )
        try:
            column_pairs = Key().check(dict(key) if isinstance(key, Mapping) else key)
        except ValueError:
            raise errors.InvalidArgumentError("relate", "key", str(Key()), parameters.format_value(key)) from None
        child_key = [child.column("relate", a, "key") for a, _ in column_pairs]
        people_key = [people.column("relate", b, "key") for _, b in column_pairs]
        relation_table = schema.writable_table("relate", connection, cursor, child.home, "relation")
        key_parts = (*stored_policy.policy_key(child), *stored_policy.policy_key(people))
        new_row = dict(
            zip(("schema_name", "table_name", "entity_schema", "entity_name"), key_parts, strict=True),
            key=tuple(child_key),
            entity_key=tuple(people_key) if people_key != child_key else None,
        )
        with session.transaction(cursor):
            for row in stored_relation.relation_rows(cursor, child.home):
                if row.is_about(child, people):
                    condition = "(schema_name, table_name, entity_schema, entity_name) = (?, ?, ?, ?)"
                    cursor.execute(
                        f"DELETE FROM {relation_table} WHERE {condition}",
                        [row.schema, row.table, row.entity_schema, row.entity],
                    )
            insert_row(cursor, relation_table, new_row)
