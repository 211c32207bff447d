"""Print what a release of a table would publish: in `dbanon policy` and `dbanon doctor`, and before a first release."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dbanon.cli.terminal.common import text_width
from dbanon.policy.checks import review
from dbanon.source import catalog, stored_policy
from dbanon.sqltext import names
from dbanon.sqltext.quote import one_line, qualified, text

_STATEMENT_LINE = re.compile(r" {4}\S")
"""A line of a review that is a statement."""


def print_on_stderr(lines: list[str]) -> None:
    """Print lines, such as the review of a first release, on stderr, above the progress line of rich."""
    sys.stderr.write("\n".join(lines) + "\n")  # which rich writes while that line is shown; click would not


def print_file_review(source: Path, lines: list[str]) -> None:
    """Print the review of a first release of a file on stderr, without its SQL statements.

    It names the file in place of the table `input`, and the options in place of the statements.
    """
    first = lines[0].replace("First release of input", f"First release of {source.name}", 1)
    sentences = [line for line in lines[1:-1] if not _STATEMENT_LINE.match(line)]
    changes = "  --identifier COLUMN withholds a column, --qi COLUMN generalizes it."
    print_on_stderr([one_line(first), *sentences, changes])


def policy_reviews(con: Any, table: str | None = None) -> dict[str, list[review.ReviewRow]]:
    """Return the rows of the review of each table that the policy of the current database names, by the table's name.

    With `table` only that one is returned; case is ignored. Tables that do not exist are omitted (policy_problems()
    reports them), and the result is empty without a policy.
    """
    if not catalog.has_table(con, con.execute("SELECT system.main.current_database()").fetchall()[0][0], "policy"):
        return {}
    path = catalog.SearchPath.from_connection(con)
    tables = con.execute("SELECT DISTINCT schema_name, table_name FROM dbanon.policy ORDER BY ALL ASC").fetchall()
    rows_by_table: dict[str, list[review.ReviewRow]] = {}
    for database, schema, name in sorted(catalog.relations(con, path.database)):
        table_name = name if schema == "main" else f"{schema}.{name}"
        about = any(stored_policy.row_matches((database, schema, name), *row) for row in tables)
        if about and (table is None or names.fold_case(table) in (names.fold_case(name), names.fold_case(table_name))):
            source = text(qualified(database, schema, name))
            rows_by_table[table_name] = con.execute(f"FROM policy_review({source})").fetchall()
    return rows_by_table


def print_review(rows: Iterable[review.ReviewRow], title: str, statements: bool = True) -> None:
    """Print a review of a table, and name the function with all statements; problems of the policy are omitted.

    With `statements` false, SQL statements that change a role are omitted, too.
    """
    shown_rows = [row for row in rows if row[0] != "problem"]
    click.echo("\n".join(review.format_review(shown_rows, title, text_width(), statements)))
    click.echo(one_line(f"  FROM policy_review({text(title)}) lists the statements that change these findings."))
