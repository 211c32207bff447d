"""The policy of a source: the rows of dbanon.policy about it, and a fingerprint of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dbanon.errors import renamed_names
from dbanon.source import attached_databases, catalog, earlier_schema
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, qualified, text


@dataclass(frozen=True)
class Settings:
    """Settings of one column in the policy or a call; None for those not given. `coarsen` is only set by calls.

    `weight` is 1 if not given. `missing_codes` are codes that are read as NULL, for columns of any role; `settings` are
    (name, value) pairs of the settings of a pseudonym, mask or shift, by lower-case name. All others are for
    quasi-identifiers, and `hierarchy` also for sensitive columns.
    """

    hierarchy: str | None = None
    weight: float = 1.0
    min_level: int | None = None
    max_level: int | None = None
    top: str | None = None
    bottom: str | None = None
    rounding: str | None = None
    coarsen: str | None = None
    missing_codes: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class DeclaredColumn:
    """One row of dbanon.policy that applies to the source: column, role and settings."""

    column: str
    role: str
    settings: Settings


def row_matches(source: tuple[str, str, str], schema_name: str, table_name: str) -> bool:
    """Return whether a policy row is about a table (database, schema, table), however its table_name is written.

    `schema_name` and `table_name` are those of the row. The table_name may include a schema and a database. Case does
    not matter.
    """
    database, schema, table = map(names.fold_case, source)
    row_schema = names.fold_case(schema_name)
    if names.fold_case(table_name) == table and row_schema == schema:
        return True
    parts = tuple(map(names.fold_case, names.table_parts(table_name) or ()))
    if len(parts) == 1:
        return parts[0] == table and row_schema == schema
    if row_schema not in ("main", schema):
        return False
    return parts in ((schema, table), (database, schema, table)) or (parts == (database, table) and schema == "main")


def is_about(source: catalog.Source, schema_name: str, table_name: str) -> bool:
    """Return whether a row of the policy in the source's home database is about the source.

    `schema_name` and `table_name` are those of the row.
    """
    if source.foreign is not None:
        return attached_databases.is_about(source.place, source.foreign, schema_name, table_name)
    return row_matches(source.place, schema_name, table_name)


def policy_key(source: catalog.Source) -> tuple[str, str]:
    """Return schema_name and table_name for policy rows about a source.

    For a source in another system they are `main` and a name that includes that of its database.
    """
    return (source.schema, source.table) if source.foreign is None else attached_databases.policy_key(source.place)


def name_condition(table_names: Sequence[str], column: str = "table_name") -> Sql:
    """Return a SQL condition: the text in `column` contains one of the names, in any case and quoted in any way."""
    spelling = {spelling for name in table_names for spelling in (name, name.replace('"', '""'))}
    return Sql("(" + " OR ".join(f"contains(lower({column}), lower({text(n)}))" for n in sorted(spelling)) + ")")


@dataclass(frozen=True)
class PolicyRow(DeclaredColumn):
    """One row of dbanon.policy as it is stored in a database, with the column, role and settings that it declares."""

    database: str
    schema_name: str
    table_name: str

    @property
    def policy_table(self) -> Sql:
        """The SQL name of the table that has the row."""
        return qualified(self.database, catalog.SCHEMA, "policy")

    @property
    def condition(self) -> str:
        """The SQL condition that selects the row in its table."""
        key = ", ".join(text(part) for part in (self.schema_name, self.table_name, self.column))
        return f"(schema_name, table_name, column_name) = ({key})"


def policy_rows(source: catalog.Source, cursor: catalog.Cursor) -> list[PolicyRow]:
    """Return the stored policy rows about a source, sorted by schema, table and column; empty without a policy.

    They are those in the home database of the source.
    """
    return _rows_about(source, cursor) if catalog.has_table(cursor, source.home, "policy") else []


def _rows_about(source: catalog.Source, cursor: catalog.Cursor) -> list[PolicyRow]:
    """Return the stored policy rows about a source, whose home database has a policy."""
    rows = database_rows(source.home, cursor, name_condition((source.table,)))
    return [row for row in rows if is_about(source, row.schema_name, row.table_name)]


def database_rows(database: str, cursor: catalog.Cursor, condition: str = "true") -> list[PolicyRow]:
    """Return the policy rows of a database that satisfy a SQL condition, sorted by schema, table and column.

    The database must have a policy.
    """
    table = qualified(database, catalog.SCHEMA, "policy")
    result = cursor.execute(
        qualify_builtins(
            f"SELECT * FROM {table} WHERE {condition} ORDER BY schema_name ASC, table_name ASC, column_name ASC"
        )
    )
    return [_row(database, cells) for cells in catalog.rows_by_column(result)]


def _row(database: str, cells: Mapping[str, Any]) -> PolicyRow:
    """Return a policy row of a database from its cells by column name.

    A policy of an older schema has earlier names and no `missing_codes` and `settings`.
    """
    is_earlier = "grid" in cells
    cells = earlier_schema.current_row("policy", cells)
    role = renamed_names.ROLES.get(cells["role"].lower(), cells["role"]) if is_earlier else cells["role"]
    other_settings = {
        name: cells[name] for name in ("hierarchy", "min_level", "max_level", "top", "bottom", "rounding")
    }
    weight = 1.0 if cells["weight"] is None else cells["weight"]
    settings = Settings(
        weight=weight,
        missing_codes=parse_codes(cells.get("missing_codes")),
        settings=parse_settings(cells.get("settings")),
        **other_settings,
    )
    return PolicyRow(cells["column_name"], role, settings, database, cells["schema_name"], cells["table_name"])


def parse_codes(stored: Sequence[str | None] | None) -> tuple[str, ...]:
    """Return stored codes for missing values, each once, in their order, without NULL; empty for None."""
    return tuple(dict.fromkeys(code for code in stored or () if code is not None))


def parse_settings(stored: Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    """Return stored settings of a pseudonym, mask or shift, sorted by lower-case name, without NULLs; empty for None.

    Values become text.
    """
    return tuple(
        sorted({name.lower(): str(value) for name, value in (stored or {}).items() if value is not None}.items())
    )


def person_columns(rows: Iterable[tuple[str, str, Mapping[str, str]]]) -> list[str]:
    """Return the columns that identify persons: those of the role person, else the pseudonyms.

    Of several pseudonyms only those are returned that are marked with the setting `person`; if none is marked, all are.
    So more than one column in the result means that the policy is ambiguous. `rows` are (column, role, settings of a
    pseudonym).

    >>> person_columns([("patient", "pseudonym", {"person": "true"}), ("visit", "pseudonym", {})])
    ['patient']
    """
    columns = [(name, role.lower(), form) for name, role, form in rows]
    persons = [name for name, role, _ in columns if role == "person"]
    pseudonyms = [(name, form) for name, role, form in columns if role == "pseudonym"]
    marked = [name for name, form in pseudonyms if form.get("person", "").lower() == "true"]
    return persons or marked or [name for name, _ in pseudonyms]


def has_any_rows(cursor: catalog.Cursor) -> bool:
    """Return whether any attached DuckDB database has a policy with rows."""
    databases = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal AND type = 'duckdb'"
    ).fetchall()
    return any(_keys(cursor, database) for (database,) in databases)


def governed_views(cursor: catalog.Cursor) -> list[tuple[str, str, str]]:
    """Return (database, schema, name) of the views of DuckDB databases that have policy rows of their own."""
    return [place for place, _ in _governed(cursor, "view", None)]


def governed_table_oids(cursor: catalog.Cursor, database: str) -> list[int]:
    """Return the catalog numbers (OIDs) of the tables of a database that have policy rows."""
    return [number for _, number in _governed(cursor, "table", database)]


def _governed(
    cursor: catalog.Cursor, kind: str, only_database: str | None
) -> Iterator[tuple[tuple[str, str, str], int]]:
    """Yield (place, OID) of the tables or views that policy rows of their own database are about.

    `kind` is "table" or "view". `only_database` restricts them to one database; None: all DuckDB databases.
    """
    stored = cursor.execute(
        qualify_builtins(
            f"SELECT database_name, schema_name, {kind}_name, {kind}_oid FROM duckdb_{kind}s() "
            "JOIN duckdb_databases() USING (database_name) "
            "WHERE NOT duckdb_databases.internal AND type = 'duckdb' AND schema_name <> ?"
        ),
        [catalog.SCHEMA],
    ).fetchall()
    keys: dict[str, list[tuple[str, str]]] = {}
    for database, schema, name, number in stored:
        if only_database is not None and database != only_database:
            continue
        if database not in keys:
            keys[database] = _keys(cursor, database)
        if any(row_matches((database, schema, name), *key) for key in keys[database]):
            yield (database, schema, name), number


def _keys(cursor: catalog.Cursor, database: str) -> list[tuple[str, str]]:
    """Return the distinct schema_name and table_name of all rows of a database's policy; empty without a policy."""
    if not catalog.has_table(cursor, database, "policy"):
        return []
    table = qualified(database, catalog.SCHEMA, "policy")
    return list(cursor.execute(f"SELECT DISTINCT schema_name, table_name FROM {table}").fetchall())


class Policy(NamedTuple):
    """The policy of a source.

    Attributes:
        declared: Its rows.
        fingerprint_sql: SQL for a fingerprint of the rows, which a statement checks when it runs.
        fingerprint: Its value when the rows were read.
        stored_fingerprint: A fingerprint for the ledger, which is the same in all versions of dbanon.
    """

    declared: tuple[DeclaredColumn, ...]
    fingerprint_sql: Sql
    fingerprint: str
    stored_fingerprint: str


class TemporaryPolicy(NamedTuple):
    """The policy of a temporary table that holds the rows of a query, and the database of the policies that govern it.

    `database` is None if the query reads no table with a policy, and the roles are those of a SQLAlchemy model.
    """

    policy: Policy
    database: str | None = None


def policy_of(source: catalog.Source, cursor: catalog.Cursor) -> Policy:
    """Return the current policy of a source: its rows and their fingerprint; without rows if none are about it.

    For a source in another system the fingerprint also changes if the name of its database means another database now,
    or if a second policy has rows about the source: both can happen after the call was planned. The fingerprint's SQL
    includes the source's guard. Its calls are not qualified: the statement that contains it is, as a whole.
    """
    exists = catalog.has_table(cursor, source.home, "policy")
    sql = _fingerprint_sql(source, exists, "p::VARCHAR")
    stored_sql = _fingerprint_sql(source, exists, _first_schema_text())
    fingerprint, stored_fingerprint = cursor.execute(qualify_builtins(f"SELECT {sql}, {stored_sql}")).fetchall()[0]
    if source.guard is not None:
        sql = Sql(f"(CASE WHEN {source.guard} THEN {sql} END)")
    rows = _rows_about(source, cursor) if exists else []
    return Policy(tuple(rows), sql, fingerprint, stored_fingerprint)


def _fingerprint_sql(source: catalog.Source, exists: bool, row_text: str) -> Sql:
    """Return a SQL expression of the fingerprint of a source's policy.

    `exists` says whether its database has a policy; `row_text` is SQL of the text of a policy row `p`.
    """
    near = name_condition((source.table,))
    sql = _rows_fingerprint(source.home, near, row_text) if exists else _no_policy_fingerprint(source.home)
    if source.foreign is None:
        return sql
    also_near = Sql(f"{near} AND {name_condition(source.foreign.names)}")
    others = [_rows_fingerprint(other, also_near, row_text) for other in source.foreign.others]
    if source.foreign.identity is not None:
        others.append(attached_databases.identity_sql(source.database, source.foreign.kind))
    return Sql(f"({' || '.join([sql, *others])})")


_LATER = r"(, '(missing|form)': NULL)*\}$"
"""The end of a row's text with NULL in the columns that were added later."""


def _first_schema_text() -> str:
    """Return SQL of the text of a policy row `p` in the first schema, for fingerprints that the ledger keeps.

    It has the names that columns and roles had there, and no NULL in columns that were added later. So a migration
    changes no fingerprint.
    """
    row_text = "p::VARCHAR"
    for earlier_name, name in earlier_schema.RENAMED_COLUMNS["policy"].items():
        row_text = f"""replace({row_text}, {text(f"'{name}': ")}, {text(f"'{earlier_name}': ")})"""
    for earlier_role, role in renamed_names.ROLES.items():
        row_text = f"""replace({row_text}, {text(f"'role': {role},")}, {text(f"'role': {earlier_role},")})"""
    return f"regexp_replace({row_text}, {text(_LATER)}, '}}')"


def _no_policy_fingerprint(home: str) -> Sql:
    """Return a scalar subquery for the fingerprint of a missing policy: the number of tables of this name in `home`."""
    return Sql(
        "(SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = "
        f"({text(home)}, {text(catalog.SCHEMA)}, 'policy'))"
    )


def _rows_fingerprint(home: str, row_condition: Sql, row_text: str) -> Sql:
    """Return a scalar subquery for the MD5 hash of the texts of the rows of `home`'s policy; "" without rows."""
    return Sql(
        "(SELECT coalesce(md5(string_agg(line, chr(10) ORDER BY line COLLATE POSIX ASC)), '') FROM (SELECT "
        f"{row_text} AS line FROM {qualified(home, catalog.SCHEMA, 'policy')} AS p WHERE {row_condition}) AS rows)"
    )
