"""`dbanon init`: propose a policy column by column from profile(), and write it."""

import contextlib
import itertools
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dbanon import errors
from dbanon.cli.commands import input_tables
from dbanon.cli.commands.next_command import next_command, print_next_command
from dbanon.cli.options.attach_options import attach, attach_options
from dbanon.cli.terminal.common import AS_JSON, print_result, query_rows
from dbanon.cli.terminal.exit_errors import exit_error
from dbanon.errors import redaction
from dbanon.errors.display import single_line
from dbanon.errors.exit_codes import error_outcome
from dbanon.policy import column_roles
from dbanon.policy.column_names.hints import hints_from_name
from dbanon.policy.profiling import thresholds
from dbanon.policy.profiling.suggestions import SuggestedHierarchy, Suggestions, suggest_settings
from dbanon.source import attached_databases, catalog, schema, stored_policy
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, one_line, qualified, text

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
        repairs: The statement that repairs each of them; None for one without a statement.
        is_key: Whether its values may distinguish persons: it is no name, no free text, and its name says a key.
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
    repairs: tuple[str | None, ...] = ()
    is_key: bool = False
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
@click.argument("source", metavar="INPUT", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("table", required=False)
@click.option(
    "--table",
    "named_table",
    metavar="NAME",
    help="The table, as TABLE names it. Of a file: the name that its table gets.",
)
@attach_options
@click.option("-k", type=click.IntRange(min=2), default=thresholds.RARE_RECORDS, show_default=True, help=_K_HELP)
@click.option("--yes", is_flag=True, help="Take every proposal that publishes no more; ask nothing.")
@click.option(
    "--replace", "is_replacing", is_flag=True, help="Replace the policy of the table; with a file, the table, too."
)
@AS_JSON
def init(
    source: Path,
    table: str | None,
    named_table: str | None,
    k: int,
    yes: bool,
    is_replacing: bool,
    as_json: bool,
) -> None:
    """Propose a policy for a table, column by column, and write it.

    INPUT is a file (CSV, Parquet, JSON) or a DuckDB database. A file is loaded into a table of the database next to it,
    which only you can read: visits.csv into visits.duckdb. A database of several tables needs TABLE.

    \b
    From a file to one to hand out:
      dbanon init visits.csv
      dbanon anonymize visits.duckdb -k 10
      dbanon publish visits.duckdb visits_release -o visits_safe.csv

    Enter takes the proposal, and ? explains the roles. A role is identifier, person, quasi, sensitive or insensitive;
    skip leaves a column without one, so that it is withheld. Columns of which neither the name nor the values say what
    they are, are listed for review and withheld unless you say what they are. Codes for missing values, the beginnings
    of codes such as zip codes, intervals, a calendar, a top and a grid are offered where they fit. Nothing is written
    before the last question, and then all of it at once.

    --yes builds no hierarchy: values would be published more closely than as they are or as *. It withholds columns
    until the policy has no problem. With --json questions and what they are about go to stderr.
    """
    if table is not None and named_table is not None and table != named_table:
        raise click.BadParameter("the table is given twice, and differently.", param_hint="--table")
    request = _InitRequest(source, named_table or table, k, yes, is_replacing)
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        summary = _propose_and_write(request)
    print_result(summary, as_json)
    if not as_json and summary["written"]:
        print_next_command(summary["next"])


@dataclass(frozen=True)
class _InitRequest:
    """The arguments of a call of the command.

    Attributes:
        source: The file or database.
        table: The table, or the name that the table gets; None if none is given.
        k: The k of later releases.
        accepts_proposals: Whether nothing is asked.
        is_replacing: Whether a policy, and the table of a file, is replaced.
    """

    source: Path
    table: str | None
    k: int
    accepts_proposals: bool
    is_replacing: bool


def _propose_and_write(request: _InitRequest) -> dict[str, Any]:
    """Load the file, if it is one, propose a policy, ask the user unless --yes is given, print the policy and write it.

    Returns:
        A summary: the database ("database"), the table ("table"), the columns that get a role ("written"), the withheld
        columns ("withheld"), the problems that policy_problems() finds afterwards ("problems"), the next command
        ("next"), and what was not read from a file ("notes"). If no column gets a role, nothing is written.

    Raises:
        click.ClickException: The table has a policy, or the database of a file such a table, and `is_replacing` is
            false.
        click.Abort: The user does not want it to be written. Then nothing is loaded.
    """
    source = request.source
    database = input_tables.default_database(source) if input_tables.is_row_file(source) else source
    with input_tables.private_database(database) as is_new, _open_writable(database) as con:
        if database == source:
            name = input_tables.chosen_table(con, source, request.table)
            summary = _write_proposals(con, request, name)
            return summary | {"database": str(database), "next": _next_step(con, request, database, name)}
        table = request.table or input_tables.default_table(source)
        with input_tables.table_from_file(con, database, source, table, request.is_replacing) as name:
            (n_records,) = con.raw.execute(f"SELECT system.main.count(*) FROM {name}").fetchone()
            click.echo(
                f"{source} is loaded into the table {name} of {database}: {n_records:,} records."
                + (" Only you can read the file." if is_new else "")
            )
            notes = input_tables.print_reading_notes(con, source)
            summary = _write_proposals(con, request, name) | {"notes": notes}
        return summary | {"database": str(database), "next": _next_step(con, request, database, name)}


def _write_proposals(con: Any, request: _InitRequest, table: str) -> dict[str, Any]:
    """Propose a policy for a table of an open database, and write it; see `_propose_and_write`.

    The summary is returned without the next command.
    """
    yes = request.accepts_proposals
    source = catalog.resolve_source(
        "init", table, con.cursor(), catalog.SearchPath.from_connection(con), {}, is_declaring=True
    )
    old = stored_policy.policy_rows(source, con)
    if old and not request.is_replacing:
        raise exit_error(
            f"{source.shown} has a policy already ({len(old)} columns). Hint: --replace replaces it; "
            "FROM dbanon.policy shows it."
        )
    proposals = _profile_proposals(con, table)
    hierarchy_names = {row[0] for row in con.execute("SELECT name FROM hierarchies()").fetchall()}
    asking = _InitContext(con, source, frozenset(hierarchy_names), request.k)
    proposals = _accept_defaults(proposals, asking) if yes else _ask_user(proposals, asking)
    declared = [p for p in proposals if p.role is not None]
    _print_policy(source, declared, len(proposals) - len(declared), len(old))
    if yes:
        _print_review(source, [p for p in proposals if p.role is None])
    _print_repairs(source, proposals, with_hierarchies=yes)
    summary = {
        "table": source.shown,
        "written": [],
        "withheld": [p.column for p in proposals],
        "problems": [],
    }
    if not declared:
        click.echo("Nothing to write.")
        return summary
    if not yes:
        click.confirm("Write it?", default=True, abort=True)
    _write_policy(con, source, old, declared)
    if yes:
        declared = _withhold_problems(con, source, declared)
    click.echo(f"The policy of {source.shown} is written to dbanon.policy: {_count_columns(len(declared))}.")
    problems = _policy_problems(con, source)
    for _, problem, statement in problems:
        click.echo(click.wrap_text(f"Problem: {problem}", _WIDTH, subsequent_indent="  "))
        if statement:
            click.echo(f"    {statement};")
    declared_names = {p.column for p in declared}
    return summary | {
        "written": [{"column_name": p.column, "role": p.role, "hierarchy": p.hierarchy} for p in declared],
        "withheld": [p.column for p in proposals if p.column not in declared_names],
        "problems": [problem for _, problem, _ in problems],
    }


def _next_step(con: Any, request: _InitRequest, database: Path, table: str) -> str:
    """Return the command that anonymizes a table; it has --table if the database has several."""
    is_only_table = len(input_tables.source_tables(con)) == 1
    named_table = [] if is_only_table else ["--table", table]
    return next_command("anonymize", database, *named_table, "-k", str(request.k))


def _policy_problems(con: Any, source: catalog.Source) -> list[tuple[str, str, str | None]]:
    """Return column, problem and statement of the problems in the policy of a table."""
    rows: list[tuple[str, str, str | None]] = con.execute(
        "SELECT column_name, problem, statement FROM policy_problems() "
        "WHERE database_name = ? AND schema_name = ? AND system.main.lower(table_name) = system.main.lower(?)",
        [source.home, *stored_policy.policy_key(source)],
    ).fetchall()
    return rows


def _withhold_problems(con: Any, source: catalog.Source, declared: list[Proposal]) -> list[Proposal]:
    """Fix the problems of a policy with their statements, until there are none, and return the columns that remain.

    A statement withholds a column, or declares a key whose values repeat as the person. Columns of names, of free text
    or with values of nearly one record each are no such key: they are withheld without a role. Each change is printed.
    Statements that would change the table itself are not run.
    """
    remaining = list(declared)
    policies = qualified(source.home, catalog.SCHEMA, "policy")
    for _ in declared:
        problems = [
            (column, problem, statement)
            for column, problem, statement in _policy_problems(con, source)
            if statement is not None and statement.startswith((f"UPDATE {policies} ", f"DELETE FROM {policies} "))
        ]
        if not problems:
            break
        column, problem, statement = problems[0]
        p = next((p for p in remaining if p.column == column), None)
        if p is not None and p.role == "identifier" and not p.is_key:
            _withhold(con, source, p)
            remaining.remove(p)
            change = f"{column} is withheld without a role"
        else:
            con.execute(statement)
            rows = {row.declared.column: row.declared.role for row in stored_policy.policy_rows(source, con)}
            changed_proposals = [q for q in remaining if rows.get(q.column) != q.role]
            remaining = [
                replace(q, role=rows[q.column]) if q in changed_proposals else q for q in remaining if q.column in rows
            ]
            change = "; ".join(
                f"{q.column} is {'the person' if q.column in rows else 'withheld'}" for q in changed_proposals
            )
        _print_wrapped(f"{change}, because of {problem}")
    return remaining


def _withhold(con: Any, source: catalog.Source, p: Proposal) -> None:
    """Delete the policy row of a column."""
    con.execute(
        f"DELETE FROM {qualified(source.home, catalog.SCHEMA, 'policy')} "
        "WHERE (schema_name, table_name, column_name) = (?, ?, ?)",
        [*stored_policy.policy_key(source), p.column],
    )


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
            kind = redaction.quoting_error_kind(error)
            safe_error = error if kind is None else errors.UnreadableValueError("init", ["the input"], kind)
            message = str(safe_error).split("\n")[0].removeprefix("Invalid Input Error: ")
            raise exit_error(message, error_outcome(error)) from None


def _profile_proposals(con: Any, table: str) -> list[Proposal]:
    """Return the proposals of profile() for all columns of a table.

    A hierarchy that lacks values is not proposed, because a release would be refused. The role WITHHELD becomes None.
    """
    rows = query_rows(
        con,
        "SELECT column_name AS column, type, distinct_values AS distinct, missing AS missing_values, "
        "unique_alone AS alone, "
        f"CASE WHEN proposed_role <> {text(column_roles.WITHHELD)} THEN proposed_role END AS role, reason, "
        "CASE WHEN system.main.contains(statement, ', hierarchy') THEN proposed_hierarchy END AS hierarchy, "
        "covered_values AS covered, coalesce(missing_codes, []) AS missing, problems, repairs "
        f"FROM profile({text(table)})",
    )
    return [Proposal(**_with_tuples(row), is_key=_names_key(row["column"])) for row in rows]


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which lists are tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def _names_key(column: str) -> bool:
    """Return whether the name of a column says a number or a key."""
    hints = hints_from_name(column)
    return bool(hints.number or hints.subject or hints.key) and not (hints.direct or hints.prose)


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
        _print_sample_values(init_context, p.column)
        for sentence in (p.reason, *p.problems):
            _print_wrapped(sentence)
        person = next((d.column for d in decided if d.role == "person"), None)
        proposal = _add_suggestions(_ask_role(p, person), person, init_context)
        decided.append(_ask_settings(_ask_hierarchy(_ask_missing_codes(proposal), init_context), person))
    return decided


N_SAMPLE_VALUES = 5
"""Number of values of a column that are shown."""


def _print_sample_values(init_context: _InitContext, column: str) -> None:
    """Print the most frequent values of a column on one line of the screen, if the output is a terminal.

    They are printed nowhere else: output that is redirected, to a log for instance, has none.
    """
    if not _is_terminal():
        return
    value = identifier(column)
    rows = init_context.con.raw.execute(
        f"SELECT CAST({value} AS VARCHAR) FROM {init_context.source.sql} WHERE {value} IS NOT NULL "
        f"GROUP BY {value} ORDER BY system.main.count(*) DESC, {value} ASC LIMIT {N_SAMPLE_VALUES}"
    ).fetchall()
    if rows:
        line = f"  values: {', '.join(single_line(sample) for (sample,) in rows)}"
        width = shutil.get_terminal_size().columns
        click.echo(line if len(line) <= width else f"{line[: width - 1]}…")


def _is_terminal() -> bool:
    """Return whether the output is a terminal."""
    return sys.stdout.isatty()


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
        _print_wrapped(f"top: few {unit} have the greatest values; from {offered.top} on, all are published as one")
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


ROLE_EXPLANATIONS = {
    "identifier": "names a person: a name, a number, an address. It is withheld.",
    "person": "distinguishes people with several records. It is withheld; k counts people.",
    "quasi": "may be known to others: age, sex, place, a date. It is generalized.",
    "sensitive": "what no one should learn about a person. It is published as it is.",
    "insensitive": "none of these. It is published as it is; rare values are refused.",
    SKIP: "no role: the column is withheld until you give it one.",
}
"""The roles that `?` explains."""


def _ask_role(proposal: Proposal, person: str | None) -> Proposal:
    """Ask for the role of a column and return the proposal with it; the reply "skip" withholds the column.

    The reply "?" explains the roles. `person` is the column that was given the role person before, None if there is
    none. With one, the reply "person" is asked again, and a column proposed as person is proposed as identifier.
    """
    proposed = "identifier" if person and proposal.role == "person" else proposal.role or SKIP
    while True:
        role = click.prompt("  role (? explains)", default=proposed).strip().lower()
        if role == "?":
            for name, explanation in ROLE_EXPLANATIONS.items():
                click.echo(click.wrap_text(explanation, _WIDTH, f"    {name:<12}", " " * 16))
        elif role not in (*column_roles.ROLES, SKIP):
            _print_wrapped(f"'{role}' is no role. Roles: {', '.join(ROLE_EXPLANATIONS)}.")
        elif role == "person" and person is not None:
            click.echo(f"  {person} is the person already; a table has one.")
        else:
            break
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


def _print_repairs(source: catalog.Source, proposals: list[Proposal], with_hierarchies: bool) -> None:
    """Print the statements that build hierarchies of prefixes, if wanted, and the problems of values, with repairs.

    A problem that several columns have is printed once, with the statements of all of them.
    """
    for p in proposals if with_hierarchies else ():
        built = p.offers.hierarchy if p.offers is not None and p.hierarchy is None else None
        if p.role is not None and built is not None and built.builder == "prefix":
            rows = built.rows(p.column, source, p.column)
            click.echo(f"\n{p.column} is published as it is or as *. To build a hierarchy of its beginnings:")
            _print_wrapped(built.preview)
            click.echo(f"  INSERT INTO {qualified(source.home, catalog.SCHEMA, 'hierarchy')}\n  {rows};")
            place = join_sql(text(part) for part in (*stored_policy.policy_key(source), p.column))
            click.echo(
                f"  UPDATE {qualified(source.home, catalog.SCHEMA, 'policy')}\n  SET hierarchy = {text(p.column)}\n"
                f"  WHERE (schema_name, table_name, column_name) = ({place});"
            )
    columns_by_problem: dict[str, list[str]] = {}
    repairs_by_problem: dict[str, list[str]] = {}
    for p in proposals:
        for problem, repair in zip(p.problems, p.repairs, strict=True):
            if not problem.startswith("codes for"):
                columns_by_problem.setdefault(problem, []).append(p.column)
                repairs_by_problem.setdefault(problem, []).extend([repair] if repair else [])
    if columns_by_problem:
        click.echo("\nTo be repaired, then run init again with --replace:")
    for problem, columns in columns_by_problem.items():
        _print_wrapped(f"{', '.join(columns)}: {problem}")
        for repair in dict.fromkeys(repairs_by_problem[problem]):
            click.echo(f"    {one_line(repair)};")


def _print_review(source: catalog.Source, withheld: list[Proposal]) -> None:
    """Print the columns that have no role, by the reason, and how to publish them; nothing if there are none."""
    if not withheld:
        return
    click.echo("\nTo be reviewed, and withheld until then:")
    columns_by_reason: dict[str, list[str]] = {}
    for p in withheld:
        columns_by_reason.setdefault(p.reason.removeprefix("review: "), []).append(p.column)
    for reason, columns in columns_by_reason.items():
        _print_wrapped(f"{', '.join(columns)}: {reason}")
    place = join_sql(text(part) for part in (*stored_policy.policy_key(source), withheld[0].column))
    policies = qualified(source.home, catalog.SCHEMA, "policy")
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
