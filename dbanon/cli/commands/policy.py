"""`dbanon policy`, `hierarchy` and `algorithms`: list the policy, hierarchies and algorithms of a database."""

from pathlib import Path

import click

from dbanon import errors
from dbanon.cli.commands.next_command import after_policy, print_next_command
from dbanon.cli.commands.review import policy_reviews, print_review as show_review
from dbanon.cli.options.name_completion import complete_tables
from dbanon.cli.terminal.common import (
    AS_JSON,
    REPLACE,
    database_argument,
    errors_as_messages,
    open_database,
    print_query,
    print_result,
    query_rows,
)
from dbanon.runtime import output_files
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import one_line


@click.command("policy")
@database_argument
@click.argument("table", required=False, shell_complete=complete_tables)
@AS_JSON
@click.pass_context
def policy(context: click.Context, database: Path, table: str | None, as_json: bool) -> None:
    """Show the policy of DATABASE or TABLE, and its problems.

    The output states which columns are published, generalized and withheld. For records that are unique by unchanged
    values, and for flat hierarchies, it has the statement that changes this; FROM policy_review('TABLE') has one for
    each column. --json writes the rows of the policy. The exit code is 1 if the policy has a problem.
    """
    with errors_as_messages(), open_database(database, read_only=True) as con:
        reviews = {} if as_json else policy_reviews(con, table)
        if as_json:
            print_query(
                con,
                "Policy",
                qualify_builtins(
                    "SELECT * FROM dbanon.policy "
                    "WHERE ? IS NULL OR ? IN (table_name, schema_name || '.' || table_name) "
                    "ORDER BY schema_name ASC, table_name ASC, column_name ASC"
                ),
                as_json,
                [table] * 2,
            )
        else:
            for name, review_rows in reviews.items():
                show_review(review_rows, name)
        problems = con.execute("SELECT problem, statement FROM policy_problems()").fetchall()
        next_step = after_policy(con, database, reviews, len(problems))
    for problem, statement in problems:
        click.echo(one_line(problem), err=True)
        if statement:
            click.echo(f"    {statement};", err=True)
    if not as_json:
        print_next_command(next_step)
    if problems:
        context.exit(1)


@click.group("hierarchy")
def hierarchy() -> None:
    """Manage the generalization hierarchies of a database."""


@hierarchy.command("list")
@database_argument
@AS_JSON
def list_(database: Path, as_json: bool) -> None:
    """List the stored and the built-in hierarchies."""
    with errors_as_messages(), open_database(database, read_only=True) as con:
        print_query(con, "Hierarchies", "SELECT kind, name FROM hierarchies() ORDER BY ALL ASC NULLS LAST", as_json)


@hierarchy.command("load")
@database_argument
@click.argument("name")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@AS_JSON
def load(database: Path, name: str, file: Path | None, as_json: bool) -> None:
    """Store an ARX file as the hierarchy NAME.

    A line of the file is value;level1;...;*. Without FILE, the built-in hierarchy NAME is stored.
    """
    from dbanon.policy.hierarchies.store import load_hierarchy

    with errors_as_messages(), open_database(database) as con:
        load_hierarchy(con, name) if file is None else load_hierarchy(con, name, file)
    print_result({"stored": name}, as_json, f"{name} is stored.")


@hierarchy.command("save")
@database_argument
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@REPLACE
@AS_JSON
def save(database: Path, name: str, file: Path, replace: bool, as_json: bool) -> None:
    """Write the hierarchy NAME as an ARX file."""
    from dbanon.policy.hierarchies.store import save_hierarchy

    with errors_as_messages():
        output_files.check_not_source("hierarchy save", [file], [database])
        if file.exists() and not replace:
            raise errors.TargetExistsError(str(file), [str(file)], "hierarchy save")
    with errors_as_messages(), open_database(database, read_only=True) as con:
        save_hierarchy(con, name, file)
    print_result({"files": [str(file)]}, as_json, str(file))


@hierarchy.command("check")
@database_argument
@AS_JSON
@click.pass_context
def check(context: click.Context, database: Path, as_json: bool) -> None:
    """List stored hierarchies that are not a single tree.

    The exit code is 1 if there are any.
    """
    with errors_as_messages(), open_database(database, read_only=True) as con:
        problem_rows = query_rows(con, "FROM hierarchy_problems()")
    lines = [one_line(": ".join(str(cell) for cell in row.values() if cell is not None)) for row in problem_rows]
    print_result({"problems": problem_rows}, as_json, "\n".join(lines) or "No problems found.")
    if problem_rows:
        context.exit(1)


@click.command("algorithms")
@AS_JSON
def algorithms(as_json: bool) -> None:
    """List the algorithms."""
    from dbanon.api.connection import connect

    with errors_as_messages(), connect() as con:
        print_query(con, "Algorithms", "FROM algorithms()", as_json, columns=("name", "title", "family"))
