"""What dbanon.policy declares of a source: the rows about it, and a fingerprint of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dbanon.source import attached_databases, catalog
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import bound
from dbanon.sqltext.quote import Sql, qualified, text


@dataclass(frozen=True)
class Settings:
    """Generalization settings of one quasi-identifier; None where nothing was said. `round` is a call's alone.

    `missing` are codes that are read as NULL, of a column of any role; `form` are the settings of a pseudonym, mask or
    shift, by lower-case name.
    """

    hierarchy: str | None = None
    weight: float = 1.0
    min_level: int | None = None
    max_level: int | None = None
    top: str | None = None
    bottom: str | None = None
    grid: str | None = None
    round: str | None = None
    missing: tuple[str, ...] = ()
    form: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Declared:
    """One row of dbanon.policy that applies to the source."""

    column: str
    role: str
    settings: Settings


def applies(source: tuple[str, str, str], schema_name: str, table_name: str) -> bool:
    """Return whether a policy row is about a table (database, schema, table), however its table_name is spelled."""
    database, schema, table = map(names.folded, source)
    here = names.folded(schema_name)
    if names.folded(table_name) == table and here == schema:
        return True
    parts = tuple(map(names.folded, names.table_parts(table_name) or ()))
    if len(parts) == 1:
        return parts[0] == table and here == schema
    if here not in ("main", schema):
        return False
    return parts in ((schema, table), (database, schema, table)) or (parts == (database, table) and schema == "main")


def is_about(source: catalog.Source, schema_name: str, table_name: str) -> bool:
    """Return whether a row of the policy at the source's home is about the source."""
    if source.foreign is not None:
        return attached_databases.is_about(source.place, source.foreign, schema_name, table_name)
    return applies(source.place, schema_name, table_name)


def key(source: catalog.Source) -> tuple[str, str]:
    """schema_name and table_name of the rows about a source."""
    return (source.schema, source.table) if source.foreign is None else attached_databases.key(source.place)


def _near(source: catalog.Source) -> Sql:
    """Return SQL condition that holds for every policy row about the source, and for few others."""
    return contained((source.table,))


def contained(words: Sequence[str], column: str = "table_name") -> Sql:
    """Return SQL condition: a table_name, or another `column`, has one of the names in it, however that is quoted."""
    spelled = {spelled for word in words for spelled in (word, word.replace('"', '""'))}
    return bound("(" + " OR ".join(f"contains(lower({column}), lower({text(n)}))" for n in sorted(spelled)) + ")")


@dataclass(frozen=True)
class PolicyRow:
    """One row of dbanon.policy as it is stored."""

    schema_name: str
    table_name: str
    declared: Declared


def policy_rows(source: catalog.Source, cursor: catalog.Cursor) -> list[PolicyRow]:
    """Return the stored rows about a source."""
    return _rows(source, cursor) if catalog.has_table(cursor, source.home, "policy") else []


def _rows(source: catalog.Source, cursor: catalog.Cursor) -> list[PolicyRow]:
    """Return the same where there is a policy."""
    found = cursor.execute(
        f"SELECT * FROM {qualified(source.home, catalog.SCHEMA, 'policy')} WHERE {_near(source)} "
        "ORDER BY schema_name ASC, table_name ASC, column_name ASC"
    )
    names = [column[0] for column in found.description]
    rows = [_row(dict(zip(names, cells, strict=True))) for cells in found.fetchall()]
    return [row for row in rows if is_about(source, row.schema_name, row.table_name)]


def _row(cells: Mapping[str, Any]) -> PolicyRow:
    """Return a row from its cells by their names; a policy that was made before `missing` or `form` has none."""
    plain = {name: cells[name] for name in ("hierarchy", "min_level", "max_level", "top", "bottom", "grid")}
    weight = 1.0 if cells["weight"] is None else cells["weight"]
    settings = Settings(weight=weight, missing=codes(cells.get("missing")), form=form(cells.get("form")), **plain)
    return PolicyRow(cells["schema_name"], cells["table_name"], Declared(cells["column_name"], cells["role"], settings))


def codes(stored: Sequence[str | None] | None) -> tuple[str, ...]:
    """Return codes for missing values as they are stored, each once; NULL is missing anyway."""
    return tuple(dict.fromkeys(code for code in stored or () if code is not None))


def form(stored: Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    """Return settings of a pseudonym, mask or shift as they are stored, in the order of their names.

    NULL says nothing.
    """
    return tuple(
        sorted({name.lower(): str(value) for name, value in (stored or {}).items() if value is not None}.items())
    )


def tellers(rows: Iterable[tuple[str, str, Mapping[str, str]]]) -> list[str]:
    """Of columns with their roles and forms, those that tell persons apart: of the role person, else a pseudonym.

    Of several pseudonyms it is the one that says so; several are told where none says so, or several do.

    >>> tellers([("patient", "pseudonym", {"person": "true"}), ("visit", "pseudonym", {})])
    ['patient']
    """
    known = [(name, role.lower(), form) for name, role, form in rows]
    persons = [name for name, role, _ in known if role == "person"]
    pseudonyms = [(name, form) for name, role, form in known if role == "pseudonym"]
    said = [name for name, form in pseudonyms if form.get("person", "").lower() == "true"]
    return persons or said or [name for name, _ in pseudonyms]


def has_any_rows(cursor: catalog.Cursor) -> bool:
    """Return whether any attached DuckDB database has a policy with rows."""
    databases = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal AND type = 'duckdb'"
    ).fetchall()
    return any(_keys(cursor, database) for (database,) in databases)


def governed_views(cursor: catalog.Cursor) -> list[tuple[str, str, str]]:
    """Return the views of DuckDB databases that have a policy of their own."""
    return [place for place, _ in _governed(cursor, "view", None)]


def governed_numbers(cursor: catalog.Cursor, database: str) -> list[int]:
    """Return the numbers that DuckDB gave the tables of a database that have a policy."""
    return [number for _, number in _governed(cursor, "table", database)]


def _governed(cursor: catalog.Cursor, kind: str, only: str | None) -> Iterator[tuple[tuple[str, str, str], int]]:
    """Yield tables or views that policy rows of their own database are about, with their numbers in the catalog."""
    stored = cursor.execute(
        bound(
            f"SELECT database_name, schema_name, {kind}_name, {kind}_oid FROM duckdb_{kind}s() "
            "JOIN duckdb_databases() USING (database_name) "
            "WHERE NOT duckdb_databases.internal AND type = 'duckdb' AND schema_name <> ?"
        ),
        [catalog.SCHEMA],
    ).fetchall()
    keys: dict[str, list[tuple[str, str]]] = {}
    for database, schema, name, number in stored:
        if only is not None and database != only:
            continue
        if database not in keys:
            keys[database] = _keys(cursor, database)
        if any(applies((database, schema, name), *key) for key in keys[database]):
            yield (database, schema, name), number


def _keys(cursor: catalog.Cursor, database: str) -> list[tuple[str, str]]:
    """schema_name and table_name of all rows of a policy, each once."""
    if not catalog.has_table(cursor, database, "policy"):
        return []
    table = qualified(database, catalog.SCHEMA, "policy")
    return list(cursor.execute(f"SELECT DISTINCT schema_name, table_name FROM {table}").fetchall())


class Policy(NamedTuple):
    """What is declared of a source: the roles, SQL for a fingerprint of the rows they come from, and its value when
    they were read."""

    declared: tuple[Declared, ...]
    fingerprint_sql: Sql
    fingerprint: str


class TemporaryPolicy(NamedTuple):
    """The policy of a temporary table that holds the rows of a query, and the database of the policies that govern it.

    `database` is None where the query reads no table with a policy, and the roles are those of a model.
    """

    policy: Policy
    database: str | None = None


def policy_of(source: catalog.Source, cursor: catalog.Cursor) -> Policy:
    """What is declared of a source now.

    That of one in another system changes, too, where its name stands for another database, and where a second policy is
    about it: both can happen after the call was planned.
    """
    exists = catalog.has_table(cursor, source.home, "policy")
    sql = _fingerprint_sql(source.home, exists, _near(source))
    if source.foreign is not None:
        near = Sql(f"{_near(source)} AND {contained(source.foreign.names)}")
        others = [_fingerprint_sql(other, True, near) for other in source.foreign.others]
        if source.foreign.identity is not None:
            others.append(attached_databases.identity_sql(source.database, source.foreign.kind))
        sql = Sql(f"({' || '.join([sql, *others])})")
    fingerprint = cursor.execute(f"SELECT {sql}").fetchall()[0][0]
    if source.guard is not None:
        sql = Sql(f"(CASE WHEN {source.guard} THEN {sql} END)")
    rows = _rows(source, cursor) if exists else []
    return Policy(tuple(row.declared for row in rows), sql, fingerprint)


_LATER = r"(, '(missing|form)': NULL)*\}$"
"""How a row ends that says nothing in columns that came later."""


def _fingerprint_sql(home: str, exists: bool, near: Sql) -> Sql:
    """Return a scalar subquery that changes when the rows of a database's policy do for which `near` holds.

    A row without codes and form has the text that it had before there were columns for them: making these changes no
    policy.
    """
    if not exists:
        return bound(
            "(SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = "
            f"({text(home)}, {text(catalog.SCHEMA)}, 'policy'))"
        )
    return bound(
        "(SELECT coalesce(md5(string_agg(line, chr(10) ORDER BY line COLLATE POSIX ASC)), '') FROM (SELECT "
        f"regexp_replace(p::VARCHAR, {text(_LATER)}, '}}') AS line "
        f"FROM {qualified(home, catalog.SCHEMA, 'policy')} AS p WHERE {near}) AS rows)"
    )
