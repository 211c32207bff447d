"""Find what is wrong in a database (views, stale releases, policy, hierarchies), and who can write compiled kernels."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dbanon.ledger import hashes, permissions, related_releases, releases
from dbanon.publishing import postgres_delivery
from dbanon.runtime import session, shared_folders
from dbanon.sqltext.quote import qualified
from dbanon.table_functions.registry import table_functions


@dataclass(frozen=True)
class Problem:
    """One finding: view, release, policy, hierarchy, permission or cache; what it is about; what is wrong."""

    kind: str
    about: str
    problem: str


def problems(connection: Any) -> list[Problem]:
    """Return all findings in the current database of an attached connection, as it is committed.

    None if all is well.
    """
    raw = getattr(connection, "raw", connection)
    database = str(raw.execute("SELECT system.main.current_database()").fetchall()[0][0])
    with session.find_session(raw).cursor() as plain:
        return [
            *_views(plain, database),
            *_changed(plain, database),
            *_several(plain, database),
            *_asked(raw, database),
            *(Problem("permission", source, why) for source, why in permissions.stored_permissions(plain, database)[1]),
            *_cache(),
        ]


def _cache() -> Iterator[Problem]:
    """Yield the folder of compiled kernels where another user can write it: what is read from there is run as code."""
    from dbanon.kernels.jit import kept_in

    folder = kept_in()
    why = None if folder is None else shared_folders.shared_write_reason(Path(folder))
    if why is not None:
        said = (
            f"{why}: compiled kernels are kept there, and anyone who changes them runs code as you. Hint: chmod go-w, "
            "or NUMBA_CACHE_DIR with a folder that only you can write; then remove what is in this one"
        )
        yield Problem("cache", str(folder), said)


_UNKNOWN = re.compile(r"Table Function with name \"?(\w+)\"? does not exist")


def _views(plain: Any, database: str) -> Iterator[Problem]:
    """Yield views that a connection without dbanon cannot read because of our functions.

    Directly, or through a view.
    """
    for schema, view in plain.execute(
        "SELECT schema_name, view_name FROM system.main.duckdb_views() WHERE NOT internal AND database_name = ? "
        "ORDER BY ALL ASC NULLS LAST",
        [database],
    ).fetchall():
        try:
            plain.execute(f"EXPLAIN FROM {qualified(database, schema, view)}").fetchall()
        except duckdb.Error as error:
            found = _UNKNOWN.search(str(error))
            if found is not None and found[1].lower() in table_functions():
                said = f"calls {found[1].lower()}(), which a plain DuckDB does not have. Hint: materialize it"
                yield Problem("view", _shown(schema, view), said)


def _changed(plain: Any, database: str) -> Iterator[Problem]:
    """Yield published releases whose tables are gone or are not what was released."""
    for entry in releases.entries(plain, database, "status = 'published'"):
        broken = hashes.version_changes(plain, entry)
        if broken is None:
            said = "unknown whether it is what was released: an earlier version of dbanon made it. Hint: refresh it"
            yield Problem("release", entry.shown, said)
        yield from (Problem("release", entry.shown, said) for said in broken or ())
        waits = postgres_delivery.undelivered(plain, entry)
        if waits is not None:
            yield Problem("release", entry.shown, waits)


def _several(plain: Any, database: str) -> Iterator[Problem]:
    """Yield the same of releases of related tables."""
    return (
        Problem("release", release.shown, said)
        for release in related_releases.entries(plain, database, "status = 'published'")
        for said in hashes.changed_tables(plain, release, release.hashes)
    )


def _asked(raw: Any, database: str) -> Iterator[Problem]:
    """What the table functions say of the database."""
    for name, schema, came, went, changed, policy, hierarchy, problem in raw.execute(
        "SELECT name, schema_name, came, went, changed, policy_changed, hierarchy_changed, problem "
        "FROM release_status() WHERE database_name = ? AND status = 'stale'",
        [database],
    ).fetchall():
        counts = {"came": came, "went": went, "changed": changed}
        said = [f"{count} records {what}" for what, count in counts.items() if count]
        said += [what for what, is_so in (("policy changed", policy), ("hierarchy changed", hierarchy)) if is_so]
        yield Problem("release", _shown(schema, name), f"stale: {problem or ', '.join(said)}")
    for schema, table, column, problem in raw.execute(
        "SELECT schema_name, table_name, column_name, problem FROM policy_problems() WHERE database_name = ?",
        [database],
    ).fetchall():
        yield Problem("policy", f"{_shown(schema, table)}.{column}", problem)
    for name, node, problem in raw.execute(
        "SELECT name, node, problem FROM hierarchy_problems() WHERE database_name = ?", [database]
    ).fetchall():
        yield Problem("hierarchy", name, problem if node is None else f"node {node} {problem}")


def _shown(schema: str, name: str) -> str:
    return name if schema == "main" else f"{schema}.{name}"
