"""Find problems in a database: views, stale releases, policy, hierarchies, and writable compiled kernels."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dbanon.ledger import hashes, permissions, related_releases, releases
from dbanon.publishing import postgres_delivery
from dbanon.runtime import session, shared_folders
from dbanon.sqltext import names
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import qualified
from dbanon.table_functions.registry import table_functions


@dataclass(frozen=True)
class Problem:
    """A finding: its kind, the object concerned, and a text.

    The kind is view, release, related release, policy, hierarchy, permission or cache. Related releases are those of
    several related tables, which cannot be refreshed.
    """

    kind: str
    about: str
    problem: str


def problems(connection: Any) -> list[Problem]:
    """Return all findings of `dbanon doctor` in the current database of a connection, as it is committed.

    Empty if there are none. Nothing is changed.
    """
    raw = getattr(connection, "raw", connection)  # with the macros of all functions
    database = str(raw.execute("SELECT system.main.current_database()").fetchall()[0][0])
    with session.find_session(raw).cursor() as cursor:
        return [
            *_unreadable_views(cursor, database),
            *_changed_releases(cursor, database),
            *_changed_related_releases(cursor, database),
            *_reported_problems(raw, database),
            *(
                Problem("permission", source, why)
                for source, why in permissions.stored_permissions(cursor, database)[1]
            ),
            *_writable_cache(),
        ]


def _writable_cache() -> Iterator[Problem]:
    """Yield a problem if another user can write the folder of compiled kernels, whose files are executed as code."""
    from dbanon.kernels.jit import cache_folder

    folder = cache_folder()
    reason = None if folder is None else shared_folders.shared_write_reason(Path(folder))
    if reason is not None:
        message = (
            f"{reason}: compiled kernels are stored there, and anyone who changes them can run code as you. Hint: "
            "chmod go-w, or set NUMBA_CACHE_DIR to a folder that only you can write; then delete the files in this "
            "folder"
        )
        yield Problem("cache", str(folder), message)


_UNKNOWN_FUNCTION = re.compile(r"Table Function with name \"?(\w+)\"? does not exist")


def _unreadable_views(cursor: Any, database: str) -> Iterator[Problem]:
    """Yield views that a connection without dbanon cannot read, because they call a table function of dbanon.

    Views that call one through another view are included.
    """
    for schema, view in cursor.execute(
        "SELECT schema_name, view_name FROM system.main.duckdb_views() WHERE NOT internal AND database_name = ? "
        "ORDER BY ALL ASC NULLS LAST",
        [database],
    ).fetchall():
        try:
            cursor.execute(f"EXPLAIN FROM {qualified(database, schema, view)}").fetchall()
        except duckdb.Error as error:
            match = _UNKNOWN_FUNCTION.search(str(error))
            if match is not None and match[1].lower() in table_functions():
                message = f"calls {match[1].lower()}(), which DuckDB does not have without dbanon. Hint: materialize it"
                yield Problem("view", names.display_name(schema, view), message)


def _changed_releases(cursor: Any, database: str) -> Iterator[Problem]:
    """Yield problems of published releases of a single table.

    These are: tables that are missing or changed since the release, a release without the hashes by which changes are
    found, and a version that was not copied to its PostgreSQL table.
    """
    for entry in releases.entries(cursor, database, "status = 'published'"):
        changes = hashes.version_changes(cursor, entry)
        if changes is None:
            message = (
                "unknown whether it is what was released: an earlier version of dbanon created it. Hint: refresh it"
            )
            yield Problem("release", entry.display_name, message)
        yield from (Problem("release", entry.display_name, message) for message in changes or ())
        undelivered = postgres_delivery.undelivered_notice(cursor, entry)
        if undelivered is not None:
            yield Problem("release", entry.display_name, undelivered)


def _changed_related_releases(cursor: Any, database: str) -> Iterator[Problem]:
    """Yield published releases of several related tables whose tables are missing or changed since."""
    return (
        Problem(
            "related release",
            release.display_name,
            f"{message}. Hint: it cannot be refreshed; to renew it, DROP MATERIALIZED ANONYMIZED VIEW "
            f"{release.display_name}, use forget_release once no reader has it any more, and create it again",
        )
        for release in related_releases.entries(cursor, database, "status = 'published'")
        for message in hashes.changed_tables(cursor, release, release.hashes)
    )


def _reported_problems(raw: Any, database: str) -> Iterator[Problem]:
    """Yield stale releases, and the findings of policy_problems() and hierarchy_problems(), for a database."""
    for name, schema, n_added, n_removed, n_changed, policy, hierarchy, problem in raw.execute(
        "SELECT name, schema_name, added, removed, changed, policy_changed, hierarchy_changed, problem "
        "FROM release_status() WHERE database_name = ? AND status = 'stale'",
        [database],
    ).fetchall():
        counts = (("added", n_added), ("removed", n_removed), ("changed", n_changed))
        changes = [
            *(f"{count} {plural_form(count, 'record', 'records')} {change}" for change, count in counts if count),
            *["policy changed"] * bool(policy),
            *["hierarchy changed"] * bool(hierarchy),
        ]
        yield Problem("release", names.display_name(schema, name), f"stale: {problem or ', '.join(changes)}")
    for schema, table, column, problem in raw.execute(
        "SELECT schema_name, table_name, column_name, problem FROM policy_problems() WHERE database_name = ?",
        [database],
    ).fetchall():
        yield Problem("policy", f"{names.display_name(schema, table)}.{column}", problem)
    for name, node, problem in raw.execute(
        "SELECT name, node, problem FROM hierarchy_problems() WHERE database_name = ?", [database]
    ).fetchall():
        yield Problem("hierarchy", name, problem if node is None else f"node {node} {problem}")
