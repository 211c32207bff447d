"""The next command of the path from a file to a published file, printed at the end of every command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbanon.ledger import related_releases
from dbanon.policy.profiling import thresholds
from dbanon.runtime import session
from dbanon.source import catalog
from dbanon.sqltext import names

if TYPE_CHECKING:
    from dbanon.views.doctor import Problem


def next_command(*words: str | Path) -> str:
    """Return a command of dbanon as it is typed in a shell; a path that begins with `-` gets `./` in front.

    >>> next_command("anonymize", Path("my data.duckdb"), "-k", "10")
    "dbanon anonymize 'my data.duckdb' -k 10"
    >>> next_command("anonymize", Path("-x.duckdb"))
    'dbanon anonymize ./-x.duckdb'
    """
    return shlex.join(["dbanon", *(_path_argument(word) if isinstance(word, Path) else word for word in words)])


def print_next_command(command: str) -> None:
    """Print the next command on stderr, so that the output of this command can be read by a program."""
    click.echo(f"Next: {command}", err=True)


def _path_argument(path: Path) -> str:
    """Return a path as text that no command takes for an option."""
    text = str(path)
    return f"./{text}" if text.startswith("-") else text


def publish_command(database: Path, name: str, stem: str | None = None) -> str:
    """Return the command that writes a release to a CSV file next to its database.

    The file is `STEM_safe.csv`, where the stem is by default the name of the release. The command has --replace if the
    file exists.
    """
    file = database.with_name(f"{stem or (names.table_parts(name) or (name,))[-1]}_safe.csv")
    return next_command("publish", database, name, "-o", file, *(["--replace"] if file.exists() else []))


def after_policy(con: Any, database: Path, tables: Iterable[str], n_problems: int) -> str:
    """Return the command that follows `dbanon policy`.

    Problems are repaired in the shell, which takes their statements. Without a policy it is `init`; for a table without
    a release `anonymize`; otherwise the refresh of the first release. Tables of a release of related tables cannot be
    released again: if there are no others, the next command is `releases`.

    Args:
        con: A connection to the database.
        database: The path of the database.
        tables: The tables of the policy that were shown.
        n_problems: The number of problems of the policy.
    """
    if n_problems:
        return next_command("shell", database)
    tables = list(tables)
    if not tables:
        return next_command("init", database)
    releases, related_sources = _releases_by_source(con), _related_sources(con)
    unreleased = [table for table in tables if _folded_name(table) not in releases.keys() | related_sources]
    if not unreleased:
        refreshable = [releases[name] for name in map(_folded_name, tables) if name in releases]
        if not refreshable:
            return next_command("releases", database)
        return next_command("refresh", database, refreshable[0], "--if-stale")
    return next_command("anonymize", database, "--table", unreleased[0], "-k", str(thresholds.RARE_RECORDS))


def after_doctor(con: Any, database: Path, tables: Iterable[str], problems: Iterable[Problem]) -> str:
    """Return the command that follows `dbanon doctor`: it repairs the first problem for which there is one.

    Without problems it publishes the first release, or is that of `after_policy` if there is none.
    """
    for problem in problems:
        command_words: dict[str, tuple[str | Path, ...]] = {
            "release": ("refresh", database, problem.about),
            "policy": ("policy", database),
            "hierarchy": ("hierarchy", "check", database),
            "view": ("shell", database),
            "related release": ("shell", database),
        }
        if problem.kind in command_words:
            return next_command(*command_words[problem.kind])
    releases = _releases_by_source(con)
    return (
        publish_command(database, next(iter(releases.values()))) if releases else after_policy(con, database, tables, 0)
    )


def _releases_by_source(con: Any) -> dict[str, str]:
    """Return the published releases of the current database by the name of their source, ordered by name."""
    raw = session.plain_connection(con)
    current_database = str(raw.execute("SELECT system.main.current_database()").fetchone()[0])
    if not catalog.has_table(raw, current_database, "release"):
        return {}
    rows = raw.execute(
        "SELECT source, CASE WHEN schema_name = 'main' THEN name ELSE schema_name || '.' || name END AS release_name "
        "FROM dbanon.release WHERE status = 'published' ORDER BY name ASC, schema_name ASC"
    ).fetchall()
    return {_folded_name(source): name for source, name in rows}


def _related_sources(con: Any) -> set[str]:
    """Return the names, as they are compared, of the tables of which a release of related tables is published."""
    raw = session.plain_connection(con)
    current_database = str(raw.execute("SELECT system.main.current_database()").fetchone()[0])
    published_releases = related_releases.entries(raw, current_database, "status = 'published'")
    return {_folded_name(source) for release in published_releases for source in release.tables.values()}


def _folded_name(table: str) -> str:
    """Return the last part of a table's name, as names are compared."""
    return names.fold_case((names.table_parts(table) or (table,))[-1])
