"""Names that the shell completes on the command line: algorithms, tables, columns and releases of the database.

The shell calls them through click (`_DBANON_COMPLETE`). A database that cannot be opened completes nothing.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import duckdb
from click.shell_completion import CompletionItem

from dbanon.cli.commands.input_tables import is_row_file, source_tables
from dbanon.sqltext.quote import text

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_algorithms(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the algorithms that begin with the text; of a list with commas, those that may be its last element."""
    from dbanon.algorithms import algorithms

    complete_names, comma, last = incomplete.rpartition(",")
    return [
        CompletionItem(complete_names + comma + a.name, help=a.title) for a in algorithms() if a.name.startswith(last)
    ]


def complete_systems(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the stream systems that begin with the text."""
    from dbanon.algorithms.streams import streams

    return [CompletionItem(system.name) for system in streams() if system.name.startswith(incomplete)]


def complete_tables(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the tables and views that can be a source, of the database that the command names."""
    return _matching(_read_names(context, lambda con, path: iter(source_tables(con))), incomplete)


def complete_releases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the published releases of the database that the command names."""
    return _matching(_read_names(context, _releases), incomplete)


def complete_columns(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the columns of the table or file that the command names; of all tables, if it names none of several."""
    return _matching(_read_names(context, lambda con, path: _columns(con, path, context)), incomplete)


def _matching(names: list[str], incomplete: str) -> list[CompletionItem]:
    """Return the names that begin with a text, without regard to case."""
    return [CompletionItem(name) for name in names if name.lower().startswith(incomplete.lower())]


def _read_names(context: click.Context, read: Callable[[Any, Path], Iterator[str]]) -> list[str]:
    """Return what `read` yields for a connection to the database, or in memory for a file of rows; [] if it fails."""
    value = _argument(context, "database") or _argument(context, "source")
    if value is None:
        return []
    path = Path(str(value)).expanduser()
    try:
        if not path.is_file():
            return []
        with duckdb.connect() if is_row_file(path) else duckdb.connect(path, read_only=True) as con:
            return list(dict.fromkeys(read(con, path)))
    except Exception:  # a completion never disturbs what is typed
        return []


def _argument(context: click.Context, name: str) -> str | None:
    """Return the value of an argument as it is typed; None if the command has no such argument, or it is not given.

    Before the value of an option, click has not assigned the arguments: they are then taken by their order.
    """
    value = context.params.get(name)
    if value is None:
        names = [p.name for p in context.command.params if isinstance(p, click.Argument)]
        value = dict(zip(names, context.args, strict=False)).get(name)
    return None if value is None else str(value)


def _releases(con: Any, path: Path) -> Iterator[str]:
    """Yield the names of the published releases, with their schema unless it is main."""
    query = (
        "SELECT CASE WHEN schema_name = 'main' THEN name ELSE schema_name || '.' || name END "
        "FROM dbanon.release WHERE status = 'published' ORDER BY ALL"
    )
    return (name for (name,) in con.execute(query).fetchall())


def _columns(con: Any, path: Path, context: click.Context) -> Iterator[str]:
    """Yield the columns of a file of rows, of the table that the command names, or of all tables."""
    if is_row_file(path):
        relations = [str(text(str(path)))]
    else:
        table = context.params.get("table") or (_argument(context, "source") if "database" in context.params else None)
        relations = [str(table)] if table else source_tables(con)
    for relation in relations:
        yield from (row[0] for row in con.execute(f"DESCRIBE FROM {relation}").fetchall())
