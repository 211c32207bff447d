"""What PostgreSQL's own catalog says of a table: what a view of it reads, and how its columns are labelled."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dbanon.source.attached_databases import Place
from dbanon.sqltext.quote import text


def reads(cursor: Any, place: Place, parents: bool = False) -> list[Place]:
    """What a view of PostgreSQL reads, also through other views, and the parts of a table; `parents`: also the tables
    that one is a part of. Itself is not among them, nor what functions and foreign tables read."""
    edges = _PARENTS if parents else ""
    rows = _asked(cursor, place, _READS.format(parents=edges, schema=_decoded(place[1]), table=_decoded(place[2])))
    return [(place[0], schema, table) for schema, table in rows]


def labels(cursor: Any, place: Place) -> list[tuple[str, str, str]]:
    """(column, provider, label) of the security labels of a table's columns."""
    return _asked(cursor, place, _LABELS.format(schema=_decoded(place[1]), table=_decoded(place[2])))


@dataclass(frozen=True)
class Relation:
    """A table, or something else by its `kind`, as PostgreSQL's catalog has it; columns with their types in order."""

    name: str
    kind: str
    comment: str
    columns: tuple[tuple[str, str], ...]


def schemas(cursor: Any, database: str, name: str) -> list[tuple[str, bool]]:
    """Return the schemas of a name that may differ by capitals, and whether tables may be made there."""
    return _asked(cursor, (database, "", ""), _SCHEMAS.format(schema=_decoded(name)))


def named(cursor: Any, database: str, schema: str, names: Iterable[str]) -> list[Relation]:
    """What has one of these names in a schema, also where capitals differ; indexes and the like, too."""
    wanted = ", ".join(f"pg_catalog.lower({_decoded(name)})" for name in names)
    rows = _asked(cursor, (database, "", ""), _NAMED.format(schema=_decoded(schema), names=wanted))
    found: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for name, kind, comment, column, type_ in rows:
        found.setdefault((name, kind, comment), []).extend([] if column is None else [(column, type_)])
    return [Relation(*key, tuple(columns)) for key, columns in found.items()]


def run(cursor: Any, database: str, statement: str) -> None:
    """Run a statement of PostgreSQL's own, in the transaction that is open."""
    cursor.execute(f"FROM system.main.postgres_execute({text(database)}, {text(statement)})").fetchall()


def forget(cursor: Any) -> None:
    """Let DuckDB look anew at the tables of PostgreSQL, of which it keeps a list."""
    cursor.execute("FROM system.main.pg_clear_cache()").fetchall()


def _asked(cursor: Any, place: Place, query: str) -> list[Any]:
    rows: list[Any] = cursor.execute(
        f"SELECT * FROM system.main.postgres_query({text(place[0])}, {text(query)})"
    ).fetchall()
    return rows


_PARENTS = "UNION ALL SELECT inhrelid, inhparent FROM pg_catalog.pg_inherits"

_READS = """
WITH RECURSIVE edge (reader, read) AS (
    SELECT r.ev_class, d.refobjid FROM pg_catalog.pg_rewrite AS r JOIN pg_catalog.pg_depend AS d ON d.objid = r.oid
    WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
        AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND r.ev_class <> d.refobjid
    UNION ALL SELECT inhparent, inhrelid FROM pg_catalog.pg_inherits {parents}
),
found (oid) AS (
    SELECT c.oid FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = {schema} AND c.relname = {table}
    UNION SELECT e.read FROM edge AS e JOIN found AS f ON e.reader = f.oid
)
SELECT n.nspname::pg_catalog.text AS nspname, c.relname::pg_catalog.text AS relname
FROM found AS f JOIN pg_catalog.pg_class AS c USING (oid) JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE NOT (n.nspname = {schema} AND c.relname = {table})
"""
"""Rules of views depend on the relations that they read."""


_LABELS = """
SELECT a.attname::pg_catalog.text AS name, l.provider::pg_catalog.text AS provider, l.label::pg_catalog.text AS label
FROM pg_catalog.pg_seclabel AS l
JOIN pg_catalog.pg_class AS c ON c.oid = l.objoid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = l.objsubid
WHERE l.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND l.objsubid > 0
    AND n.nspname = {schema} AND c.relname = {table}
ORDER BY a.attnum, provider
"""


_SCHEMAS = """
SELECT nspname::pg_catalog.text AS name, pg_catalog.has_schema_privilege(oid, 'CREATE') AS may
FROM pg_catalog.pg_namespace WHERE pg_catalog.lower(nspname::pg_catalog.text) = pg_catalog.lower({schema})
ORDER BY nspname = {schema} DESC
"""

_NAMED = """
SELECT c.relname::pg_catalog.text AS name, c.relkind::pg_catalog.text AS kind,
    COALESCE(pg_catalog.obj_description(c.oid, 'pg_class'), '') AS comment,
    a.attname::pg_catalog.text AS attribute, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE n.nspname = {schema} AND pg_catalog.lower(c.relname::pg_catalog.text) IN ({names})
ORDER BY c.relname, a.attnum
"""


def _decoded(name: str) -> str:
    """Return a text for PostgreSQL, whose literals depend on a setting of the server: as its bytes."""
    return f"pg_catalog.convert_from(pg_catalog.decode('{name.encode().hex()}', 'hex'), 'UTF8')"
