"""What a release of a table would publish, on the screen: in `dbanon policy` and `dbanon doctor`, and on stderr before
the first release of a name."""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from dbanon.policy.checks import review
from dbanon.source import catalog, stored_policy
from dbanon.sqltext import names
from dbanon.sqltext.quote import one_line, qualified, text

WIDTH = 80

_STATEMENT = re.compile(r" {4}\S")
"""A line of a review that is a statement."""


def before_release(quiet: bool) -> Callable[[list[str]], None] | None:
    """What `Connection.on_first_release` of a command is: the review goes to stderr; nothing does with --quiet."""
    return None if quiet else _beside


def _beside(lines: list[str]) -> None:
    """Lines on stderr, above the line that says what is being done."""
    sys.stderr.write("\n".join(lines) + "\n")  # which rich writes while that line is shown; click would not


def before_files(source: Path, quiet: bool) -> Callable[[list[str]], None] | None:
    """Return the same of `dbanon anonymize`, whose options say what statements say elsewhere."""
    if quiet:
        return None
    changes = "  --identifier COLUMN withholds a column, --qi COLUMN generalizes it."

    def told(lines: list[str]) -> None:
        first = lines[0].replace("First release of input", f"First release of {source.name}", 1)
        kept = [line for line in lines[1:-1] if not _STATEMENT.match(line)]
        _beside([one_line(first), *kept, changes])

    return told


def reviews(con: Any, table: str | None = None) -> dict[str, list[review.Row]]:
    """The review of each table that the policy of the current database is about, by name; of one table where it is
    named. Tables that are not there are none: policy_problems() tells of them."""
    if not catalog.has_table(con, con.execute("SELECT system.main.current_database()").fetchall()[0][0], "policy"):
        return {}
    path = catalog.SearchPath.here(con)
    named = con.execute("SELECT DISTINCT schema_name, table_name FROM dbanon.policy ORDER BY ALL ASC").fetchall()
    found: dict[str, list[review.Row]] = {}
    for database, schema, name in sorted(catalog.relations(con, path.database)):
        shown = name if schema == "main" else f"{schema}.{name}"
        about = any(stored_policy.row_matches((database, schema, name), *row) for row in named)
        if about and (table is None or names.fold_case(table) in (names.fold_case(name), names.fold_case(shown))):
            source = text(qualified(database, schema, name))
            found[shown] = con.execute(f"FROM policy_review({source})").fetchall()
    return found


def show(rows: Iterable[review.Row], title: str, statements: bool = True) -> None:
    """Print a review; problems of the policy are for others to print."""
    kept = [row for row in rows if row[0] != "problem"]
    click.echo("\n".join(review.lines(kept, title, WIDTH, statements)))
    click.echo(one_line(f"  FROM policy_review({text(title)}) has a statement that changes each."))
