"""`dbanon init`: propose a policy column by column from profile(), and write it."""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dbanon import errors
from dbanon.cli.options.attach_options import attach
from dbanon.cli.terminal.common import AS_JSON, database_argument, print_result
from dbanon.cli.terminal.exit_errors import exit_error
from dbanon.errors.exit_codes import error_outcome
from dbanon.policy import column_roles
from dbanon.policy.profiling import thresholds
from dbanon.policy.profiling.suggestions import SuggestedHierarchy, Suggestions, suggest_settings
from dbanon.source import attached_databases, catalog, schema, stored_policy
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, qualified, text

SKIP = "skip"
NONE = "-"
_K_HELP = "The k of later releases: what fewer reach is proposed as top."
_WIDTH = 80


@dataclass(frozen=True)
class Proposal:
    """The proposal of profile() for one column, and the settings that will be written.

    Attributes:
        column: The column.
        type: Its type.
        distinct: The number of its distinct values.
        missing_values: The number of its missing values.
        alone: The share of records that are unique by this column alone.
        role: The role; None withholds the column.
        reason: Why the role is proposed.
        hierarchy: The name of its hierarchy; None if it has none.
        covered: The number of its values that the hierarchy contains.
        missing: Its codes for missing values.
        problems: Problems of its values.
        offers: Ways to generalize it; None if it is no quasi-identifier.
        build: The hierarchy among these that will be built under the name `hierarchy`.
        top: The value from which on values are published as one.
        grid: The rounding of its dates.
    """

    column: str
    type: str
    distinct: int
    missing_values: int
    alone: float
    role: str | None
    reason: str
    hierarchy: str | None
    covered: int | None
    missing: tuple[str, ...]
    problems: tuple[str, ...]
    offers: Suggestions | None = None
    build: SuggestedHierarchy | None = None
    top: str | None = None
    grid: str | None = None


@dataclass(frozen=True)
class _InitContext:
    """The data that the questions depend on: the connection, the table, the names of all hierarchies, and k."""

    con: Any
    source: catalog.Source
    hierarchy_names: frozenset[str]
    k: int


@click.command("init")
@database_argument
@click.argument("table")
@click.option("-k", type=click.IntRange(min=2), default=thresholds.RARE_RECORDS, show_default=True, help=_K_HELP)
@click.option("--yes", is_flag=True, help="Take every proposal that publishes no more; ask nothing.")
@click.option("--replace", "is_replacing", is_flag=True, help="Replace the policy that the table has.")
@AS_JSON
def init(database: Path, table: str, k: int, yes: bool, is_replacing: bool, as_json: bool) -> None:
    """Propose a policy for TABLE of DATABASE, column by column, and write it.

    Enter takes the proposal. A role is identifier, person, quasi, sensitive or insensitive; skip leaves a column
    without one, so that it is withheld. Columns of which neither the name nor the values say what they are, are listed
    for review and withheld unless you say what they are. Codes for missing values, the beginnings of codes such as zip
    codes, intervals, a calendar, a top and a grid are offered where they fit. Nothing is written before the last
    question, and then all of it at once.

    --yes builds no hierarchy: values would be published more closely than as they are or as *. With --json questions
    and what they are about go to stderr.
    """
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        summary = _propose_and_write(database, table, k, yes, is_replacing)
    print_result(summary, as_json)


def _propose_and_write(database: Path, table: str, k: int, yes: bool, is_replacing: bool) -> dict[str, Any]:
    """Propose a policy, ask the user unless `yes`, print the policy and write it.

    Returns:
        A summary: the table ("table"), the columns that get a role ("written"), the withheld columns ("withheld"), and
        the problems that policy_problems() finds afterwards ("problems"). If no column gets a role, nothing is written.

    Raises:
        click.ClickException: The table has a policy, and `is_replacing` is false.
        click.Abort: The user does not want it to be written.
    """
    with _open_writable(database) as con:
        source = catalog.resolve_source(
            "init", table, con.cursor(), catalog.SearchPath.from_connection(con), {}, is_declaring=True
        )
        old = stored_policy.policy_rows(source, con)
        if old and not is_replacing:
            raise click.ClickException(
                f"{source.shown} has a policy already ({len(old)} columns). Hint: --replace replaces it; "
                "FROM dbanon.policy shows it."
            )
        proposals = _profile_proposals(con, table)
        hierarchy_names = {row[0] for row in con.execute("SELECT name FROM hierarchies()").fetchall()}
        asking = _InitContext(con, source, frozenset(hierarchy_names), k)
        proposals = _accept_defaults(proposals, asking) if yes else _ask_user(proposals, asking)
        declared = [p for p in proposals if p.role is not None]
        _print_policy(source, declared, len(proposals) - len(declared), len(old))
        if yes:
            _print_review(con, source, [p for p in proposals if p.role is None])
            _print_unbuilt_hierarchies(con, source, declared)
        summary = {
            "table": source.shown,
            "written": [{"column_name": p.column, "role": p.role, "hierarchy": p.hierarchy} for p in declared],
            "withheld": [p.column for p in proposals if p.role is None],
            "problems": [],
        }
        if not declared:
            click.echo("Nothing to write.")
            return summary
        if not yes:
            click.confirm("Write it?", default=True, abort=True)
        _write_policy(con, source, old, declared)
        click.echo(f"The policy of {source.shown} is written to dbanon.policy: {_count_columns(len(declared))}.")
        problem_rows = con.execute(
            "SELECT problem FROM policy_problems() "
            "WHERE database_name = ? AND schema_name = ? AND system.main.lower(table_name) = system.main.lower(?)",
            [source.database, source.schema, source.table],
        ).fetchall()
        for (problem,) in problem_rows:
            click.echo(click.wrap_text(f"Problem: {problem}", _WIDTH, subsequent_indent="  "))
        return summary | {"problems": [problem for (problem,) in problem_rows]}


@contextlib.contextmanager
def _open_writable(database: Path) -> Iterator[Any]:
    """Yield a connection that can write; errors, also those of the block, become click exceptions with an exit code."""
    from dbanon.api.connection import connect

    try:
        con = connect(database)
    except Exception as error:
        why = str(error).split("\n")[0]
        raise exit_error(
            f"{database} cannot be opened for writing: {why} Hint: close what has it open, and see that the file is "
            "a DuckDB database that may be written.",
            error_outcome(error),
        ) from None
    with con:
        try:
            attach(con)
            yield con
        except (click.ClickException, click.Abort):
            raise
        except Exception as error:
            raise exit_error(str(error).removeprefix("Invalid Input Error: "), error_outcome(error)) from None


def _profile_proposals(con: Any, table: str) -> list[Proposal]:
    """Return the proposals of profile() for all columns of a table.

    A hierarchy that lacks values is not proposed, because a release would be refused. The role WITHHELD becomes None.
    """
    rows = con.execute(
        "SELECT column_name, type, distinct_values, missing, unique_alone, "
        f"CASE WHEN proposed_role <> {text(column_roles.WITHHELD)} THEN proposed_role END, reason, "
        "CASE WHEN system.main.contains(statement, ', hierarchy') THEN proposed_hierarchy END, covered_values, "
        f"coalesce(missing_codes, []), problems FROM profile({text(table)})"
    ).fetchall()
    return [Proposal(*(*row[:9], tuple(row[9]), tuple(row[10]))) for row in rows]


# --- questions -------------------------------------------------------------------------------------------


def _accept_defaults(proposals: list[Proposal], init_context: _InitContext) -> list[Proposal]:
    """Return the proposals as --yes writes them: with a suggested top or rounding, but without building hierarchies.

    A hierarchy would publish more detail than a release without it. A proposal that names a stored hierarchy gets no
    top and no rounding.
    """
    person = next((p.column for p in proposals if p.role == "person"), None)
    decided = []
    for p in proposals:
        proposal = _add_suggestions(p, person, init_context)
        if proposal.offers is not None and proposal.hierarchy is None:
            proposal = replace(proposal, top=proposal.offers.top, grid=proposal.offers.grid)
        decided.append(proposal)
    return decided


def _add_suggestions(p: Proposal, person: str | None, init_context: _InitContext) -> Proposal:
    """Return a proposal with suggestions for generalizing its column, if it is a quasi-identifier.

    Withheld columns and identifiers lose their codes for missing values. `person` is the person column, if there is
    one.
    """
    if p.role != "quasi":
        return replace(p, missing=() if p.role in (None, "identifier") else p.missing)
    return replace(
        p, offers=suggest_settings(init_context.con, init_context.source, p.column, person, init_context.k, p.missing)
    )


def _ask_user(proposals: list[Proposal], init_context: _InitContext) -> list[Proposal]:
    """Ask the user about each column, and return the proposals as decided."""
    decided: list[Proposal] = []
    for number, p in enumerate(proposals, 1):
        click.echo(f"\n{click.style(p.column, bold=True)}  {p.type}  ({number} of {len(proposals)})")
        click.echo(
            f"  distinct values: {p.distinct:,}, missing: {p.missing_values:,}, unique by it alone: {p.alone:.1%}"
        )
        for sentence in (p.reason, *p.problems):
            _print_wrapped(sentence)
        person = next((d.column for d in decided if d.role == "person"), None)
        proposal = _add_suggestions(_ask_role(p, person), person, init_context)
        decided.append(_ask_settings(_ask_hierarchy(_ask_missing_codes(proposal), init_context), person))
    return decided


def _print_wrapped(sentence: str) -> None:
    """Print a sentence, wrapped to the width of the screen."""
    click.echo(click.wrap_text(sentence, _WIDTH, initial_indent="  ", subsequent_indent="    "))


def _ask_missing_codes(p: Proposal) -> Proposal:
    """Ask for the codes for missing values, if some were found, and return the proposal with the user's list."""
    if not p.missing:
        return p
    default_text = ", ".join(code or "''" for code in p.missing)
    reply = click.prompt(f"  codes for missing values ({NONE}: none)", default=default_text)
    if reply == default_text:
        return p
    codes = () if reply == NONE else tuple("" if code.strip() == "''" else code.strip() for code in reply.split(","))
    return replace(p, missing=codes)


def _ask_settings(p: Proposal, person: str | None) -> Proposal:
    """Ask for a top for numbers or a rounding for dates, if one is suggested, and return the proposal with the answers.

    A column with a hierarchy, or that is no quasi-identifier, is not asked about. The reply `-` means none. `person` is
    the person column; None if there is none. The question about a top then speaks of records, not persons.
    """
    if p.hierarchy is not None or p.offers is None:
        return p
    offered = p.offers
    if offered.top is not None:
        unit = "persons" if person else "records"
        _print_wrapped(f"top: few {unit} have the greatest values; from {offered.top} on all are published alike")
        p = replace(p, top=_none_if_dash(click.prompt(f"  top ({NONE}: none)", default=offered.top)))
    if offered.grid is not None:
        units = click.Choice([*_GRIDS, NONE])
        grid = click.prompt(f"  grid ({NONE}: month)", default=offered.grid, type=units, show_choices=False)
        p = replace(p, grid=_none_if_dash(grid))
    return p


_GRIDS = ("day", "week", "month", "quarter", "year", "decade", "century")


def _none_if_dash(reply: str) -> str | None:
    """Return a reply, or None if it is `-`."""
    return None if reply == NONE else reply


def _ask_role(proposal: Proposal, person: str | None) -> Proposal:
    """Ask for the role of a column and return the proposal with it; the reply "skip" withholds the column.

    `person` is the column that was given the role person before, None if there is none. With one, the reply "person" is
    asked again, and a column proposed as person is proposed as identifier.
    """
    roles = click.Choice([*column_roles.ROLES, SKIP], case_sensitive=False)
    proposed = "identifier" if person and proposal.role == "person" else proposal.role or SKIP
    while True:
        role = click.prompt("  role", default=proposed, type=roles)
        if role != "person" or person is None:
            break
        click.echo(f"  {person} is the person already; a table has one.")
    if role == SKIP:
        return replace(proposal, role=None, hierarchy=None)
    return replace(proposal, role=role)


def _ask_hierarchy(p: Proposal, init_context: _InitContext) -> Proposal:
    """Ask for a stored hierarchy or one to be built, and return the proposal with it.

    Asked about are quasi-identifiers that are text or ENUM, or for which a hierarchy is proposed or can be built, and
    sensitive columns with a proposed hierarchy. Other columns get none. It asks again until the name is known; `-`
    means none.
    """
    categories = p.type == "VARCHAR" or p.type.startswith("ENUM(")
    built = p.offers.hierarchy if p.offers else None
    asks = p.role == "quasi" and (p.hierarchy or categories or built)
    if not asks and not (p.role == "sensitive" and p.hierarchy):
        return replace(p, hierarchy=None)
    default, none = p.hierarchy or NONE, "none" if categories else "ranges"
    if built is not None:
        _print_wrapped(f"{built.builder} builds one: {built.preview}")
        none += f"; {built.builder}: build it"
        default = p.hierarchy or (built.builder if categories else NONE)
    while True:
        name = click.prompt(f"  hierarchy ({NONE}: {none})", default=default)
        if name == NONE:
            return replace(p, hierarchy=None)
        if built is not None and name == built.builder:
            return replace(p, hierarchy=_unused_hierarchy_name(p.column, init_context), build=built)
        if name in init_context.hierarchy_names:
            return replace(p, hierarchy=name)
        click.echo(
            f"  there is no hierarchy '{name}'.{errors.did_you_mean(name, init_context.hierarchy_names)} "
            "FROM hierarchies() lists them."
        )


def _unused_hierarchy_name(column: str, init_context: _InitContext) -> str:
    """Return a name for a hierarchy that no other hierarchy has.

    It is the name of the column, else those of table and column, else these with a number.
    """
    names = [column, f"{init_context.source.table} {column}"]
    numbered_names = (f"{names[1]} {number}" for number in itertools.count(2))
    return next(name for name in itertools.chain(names, numbered_names) if name not in init_context.hierarchy_names)


def _print_policy(source: catalog.Source, declared: list[Proposal], skipped: int, old: int) -> None:
    """Print the policy that will be written.

    `skipped` is the number of columns without a role, `old` the number of rows that are replaced.
    """
    click.echo(f"\nPolicy of {source.shown}:")
    width = max((len(p.column) for p in declared), default=0)
    for p in declared:
        click.echo(_proposal_line(f"  {p.column:<{width}}  {p.role:<10}", p))
    if skipped:
        click.echo(f"  withheld, without a role: {_count_columns(skipped)}")
    if old:
        click.echo(f"  replaces the policy of {_count_columns(old)}")
    if not any(p.role == "quasi" for p in declared):
        click.echo("  No column is a quasi-identifier: a release needs one.")


def _proposal_line(head: str, p: Proposal) -> str:
    """Return a line with `head`, which names the column and its role, and its settings, wrapped to the screen."""
    settings = [f"hierarchy {p.hierarchy}{f' (built: {p.build.builder})' if p.build else ''}"] if p.hierarchy else []
    settings += [f"{name} {value}" for name, value in (("top", p.top), ("rounding", p.grid)) if value is not None]
    settings += [f"missing {', '.join(code or repr(code) for code in p.missing)}"] if p.missing else []
    indent = " " * (len(head) + 2)
    return click.wrap_text("; ".join(settings), _WIDTH, f"{head}  ", indent).rstrip() if settings else head.rstrip()


def _print_unbuilt_hierarchies(con: Any, source: catalog.Source, declared: list[Proposal]) -> None:
    """Print the statements that would build hierarchies of prefixes, and problems of values to be fixed."""
    for p in declared:
        built = p.offers.hierarchy if p.offers is not None and p.hierarchy is None else None
        if built is not None and built.builder == "prefix":
            rows = built.rows(p.column, source, p.column)
            click.echo(f"\n{p.column} is published as it is or as *. To build a hierarchy of its beginnings:")
            _print_wrapped(built.preview)
            click.echo(f"  INSERT INTO {qualified(source.database, catalog.SCHEMA, 'hierarchy')}\n  {rows};")
            place = join_sql(text(part) for part in (source.schema, source.table, p.column))
            click.echo(
                f"  UPDATE {qualified(source.database, catalog.SCHEMA, 'policy')}\n  SET hierarchy = {text(p.column)}\n"
                f"  WHERE (schema_name, table_name, column_name) = ({place});"
            )
    problems = [(p.column, problem) for p in declared for problem in p.problems if not problem.startswith("codes for")]
    if problems:
        click.echo(f"\nTo be mended, with the statements in FROM profile({text(source.shown)}):")
        for column, problem in problems:
            _print_wrapped(f"{column}: {problem}")


def _print_review(con: Any, source: catalog.Source, withheld: list[Proposal]) -> None:
    """Print the columns that have no role, why, and how to publish them; nothing if there are none."""
    if not withheld:
        return
    click.echo("\nTo be reviewed, and withheld until then:")
    width = max(len(p.column) for p in withheld)
    for p in withheld:
        head = f"  {p.column:<{width}}  "
        click.echo(click.wrap_text(p.reason.removeprefix("review: "), _WIDTH, head, " " * len(head)))
    place = join_sql(text(part) for part in (source.schema, source.table, withheld[0].column))
    policies = qualified(source.database, catalog.SCHEMA, "policy")
    click.echo(
        "To publish one, state its role (quasi: generalized; sensitive, insensitive:\nunchanged), here or with\n"
        f"  INSERT INTO {policies}\n    (schema_name, table_name, column_name, role)\n  VALUES ({place}, 'quasi');"
    )


def _count_columns(count: int) -> str:
    """Return a number of columns in words, such as `1 column`."""
    return "1 column" if count == 1 else f"{count} columns"


# --- writing ---------------------------------------------------------------------------------------------


def _write_policy(
    con: Any, source: catalog.Source, old: list[stored_policy.PolicyRow], declared: list[Proposal]
) -> None:
    """Replace the table's policy and build its hierarchies in one transaction.

    Args:
        con: The connection.
        source: The table.
        old: The policy rows to delete.
        declared: The columns that get a role.

    Raises:
        ReadOnlyDatabaseError: The database is read-only.
    """
    schema.create(con.raw, source.home)
    if not catalog.has_table(con, source.home, "policy"):
        raise errors.ReadOnlyDatabaseError("init", source.home)
    policies, hierarchies = (qualified(source.home, catalog.SCHEMA, name) for name in ("policy", "hierarchy"))
    con.execute("BEGIN")
    try:
        if source.foreign is not None:
            attached_databases.record_identity("init", con, source.database, source.foreign)
        for row in old:
            con.execute(
                f"DELETE FROM {policies} WHERE schema_name = ? AND table_name = ? AND column_name = ?",
                [row.schema_name, row.table_name, row.declared.column],
            )
        for p in declared:
            if p.build is not None and p.hierarchy is not None:
                con.execute(f"INSERT INTO {hierarchies} {p.build.rows(p.hierarchy, source, p.column)}")
        con.execute(_insert_sql(policies, source, declared))
        con.execute("COMMIT")
    except Exception:
        con.execute("ROLLBACK")
        raise


def _insert_sql(policies: Sql, source: catalog.Source, declared: list[Proposal]) -> str:
    """Return the INSERT statement for the policy rows of all columns that get a role."""
    names = ("schema_name", "table_name", "column_name", "role", "hierarchy", "top", "rounding", "missing_codes")
    rows = []
    for p in declared:
        cells = (*stored_policy.policy_key(source), p.column, p.role, p.hierarchy, p.top, p.grid)
        codes = f"[{join_sql(map(text, p.missing))}]" if p.missing else "NULL"
        rows.append(f"({join_sql(literal(v) for v in cells)}, {codes})")
    return f"INSERT INTO {policies} ({join_sql(map(identifier, names))}) VALUES {join_sql(rows)}"
