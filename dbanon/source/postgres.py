"""Queries to PostgreSQL's own catalog: what a view reads, security labels of columns, schemas and tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dbanon.source.attached_databases import Place
from dbanon.sqltext.quote import text


def tables_read(cursor: Any, place: Place, parents: bool = False) -> list[Place]:
    """Return the tables and views that a view of PostgreSQL reads, also through other views, or a table's partitions.

    The relation itself is not included, nor are tables that functions and foreign tables read.

    Args:
        cursor: A cursor.
        place: Database (the attached name), schema and name of the relation.
        parents: Whether the tables are included of which the relation, or one that it reads, is a partition.
    """
    edges = _PARENTS if parents else ""
    rows = _query(
        cursor, place, _READS.format(parents=edges, schema=_text_literal(place[1]), table=_text_literal(place[2]))
    )
    return [(place[0], schema, table) for schema, table in rows]


def security_labels(cursor: Any, place: Place) -> list[tuple[str, str, str]]:
    """Return (column, provider, label) of the security labels of a table's columns, in the order of columns.

    `place` is database (the attached name), schema and name of the table.
    """
    return _query(cursor, place, _LABELS.format(schema=_text_literal(place[1]), table=_text_literal(place[2])))


@dataclass(frozen=True)
class PostgresRelation:
    """A table, view or other relation in PostgreSQL's catalog; `columns` are (name, type), in order.

    `kind` is PostgreSQL's letter for it, such as `r` for a table or `v` for a view.
    """

    name: str
    kind: str
    comment: str
    columns: tuple[tuple[str, str], ...]


def schemas(cursor: Any, database: str, name: str) -> list[tuple[str, bool]]:
    """Return (name, whether the user may create tables there) of the schemas whose name is `name` in any case.

    The one with exactly this name comes first.
    """
    return _query(cursor, (database, "", ""), _SCHEMAS.format(schema=_text_literal(name)))


def find_relations(cursor: Any, database: str, schema: str, names: Iterable[str]) -> list[PostgresRelation]:
    """Return the relations of any kind (also indexes and sequences) in a schema that have one of some names.

    The names are compared without regard to case, the schema's name exactly.
    """
    lower_names = ", ".join(f"pg_catalog.lower({_text_literal(name)})" for name in names)
    rows = _query(cursor, (database, "", ""), _NAMED.format(schema=_text_literal(schema), names=lower_names))
    columns_by_relation: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for name, kind, comment, column, type_ in rows:
        columns_by_relation.setdefault((name, kind, comment), []).extend([] if column is None else [(column, type_)])
    return [PostgresRelation(*key, tuple(columns)) for key, columns in columns_by_relation.items()]


def execute_statement(cursor: Any, database: str, statement: str) -> None:
    """Run a SQL statement in an attached PostgreSQL database, in the open transaction; return nothing."""
    cursor.execute(f"FROM system.main.postgres_execute({text(database)}, {text(statement)})").fetchall()


def clear_cache(cursor: Any) -> None:
    """Let DuckDB list the tables of PostgreSQL again, instead of using its cached list."""
    cursor.execute("FROM system.main.pg_clear_cache()").fetchall()


def _query(cursor: Any, place: Place, query: str) -> list[Any]:
    """Run a query in the PostgreSQL database of `place`, by its attached name, and return the rows."""
    return list(cursor.execute(f"SELECT * FROM system.main.postgres_query({text(place[0])}, {text(query)})").fetchall())


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
"""In PostgreSQL, rules of views depend on the relations that they read."""


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


def _text_literal(name: str) -> str:
    """Return a text as SQL of PostgreSQL, written as its bytes.

    How the server parses literals depends on one of its settings.
    """
    return f"pg_catalog.convert_from(pg_catalog.decode('{name.encode().hex()}', 'hex'), 'UTF8')"
