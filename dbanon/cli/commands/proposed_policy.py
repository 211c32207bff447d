"""The policy that `dbanon init` writes: it is proposed, decided about, printed, and written with its hierarchies."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import click

from dbanon.cli.commands.role_questions import (
    WIDTH,
    Proposal,
    QuestionContext,
    accept_defaults,
    ask_user,
    print_wrapped,
    profile_proposals,
)
from dbanon.cli.terminal.command_group import ExitError
from dbanon.policy.declare import delete_row, insert_row, row_cells
from dbanon.runtime import session
from dbanon.source import attached_databases, catalog, missing_codes, schema, stored_policy
from dbanon.sqltext.quote import join_sql, one_line, qualified, text


@dataclass(frozen=True)
class ProposalOptions:
    """Options of a proposed policy.

    Attributes:
        k: The k of later releases.
        accepts_proposals: Whether nothing is asked.
        is_replacing: Whether a policy of the table is replaced.
    """

    k: int
    accepts_proposals: bool
    is_replacing: bool


def write_proposals(con: Any, table: str, options: ProposalOptions) -> dict[str, Any]:
    """Propose a policy for a table of an open database, write it, and return a summary.

    The summary has the table ("table"), the columns that get a role ("written"), the withheld columns ("withheld"), and
    the problems that policy_problems() finds afterwards ("problems"). If no column gets a role, nothing is written.

    Raises:
        click.ClickException: The table has a policy, and it is not to be replaced.
        click.Abort: The user does not want it to be written.
    """
    yes = options.accepts_proposals
    source = catalog.resolve_source(
        "init", table, con.duckdb_connection.cursor(), catalog.SearchPath.from_connection(con), {}, is_declaring=True
    )
    old = stored_policy.policy_rows(source, con)
    if old and not options.is_replacing:
        raise ExitError(
            f"{source.shown} has a policy already ({_count_columns(len(old))}). Hint: --replace replaces it; "
            "FROM dbanon.policy shows it."
        )
    proposals = _keep_missing_codes(con, source, profile_proposals(con, table), old)
    hierarchy_names = frozenset(name for (name,) in con.execute("SELECT name FROM hierarchies()").fetchall())
    asking = QuestionContext(con, source, hierarchy_names, options.k)
    proposals = accept_defaults(proposals, asking) if yes else ask_user(proposals, asking)
    declared = [p for p in proposals if p.role is not None]
    _print_policy(source, declared, len(proposals) - len(declared), old)
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
        click.echo(click.wrap_text(f"Problem: {problem}", WIDTH, subsequent_indent="  "))
        if statement:
            click.echo(f"    {statement};")
    declared_names = {p.column for p in declared}
    return summary | {
        "written": [{"column_name": p.column, "role": p.role, "hierarchy": p.hierarchy} for p in declared],
        "withheld": [p.column for p in proposals if p.column not in declared_names],
        "problems": [problem for _, problem, _ in problems],
    }


def _keep_missing_codes(
    con: Any, source: catalog.Source, proposals: list[Proposal], old: list[stored_policy.PolicyRow]
) -> list[Proposal]:
    """Return proposals with the codes for missing values of the policy that is replaced, before those that are new.

    profile() reads declared codes as NULL, so it does not find them again. A code that is not a value of the column's
    type, such as one of a column that has since been converted, is dropped.
    """
    codes = {source.spelled(row.column): row.settings.missing_codes for row in old}

    def is_true(condition: str) -> bool:
        (value,) = con.execute(f"SELECT {condition}").fetchone()
        return bool(value)

    kept_proposals = []
    for p in proposals:
        declared = codes.get(p.column, ())
        kept_codes = [code for code in declared if missing_codes.code_value(p.type, code, is_true) is not None]
        kept_proposals.append(replace(p, missing=(*kept_codes, *(code for code in p.missing if code not in declared))))
    return kept_proposals


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
        person_sql = ""
        if p is not None and p.role == "identifier":
            problem, *_ = problem.split(" Hint: ")  # its statement runs now, or finds no row afterwards
        if p is not None and p.role == "identifier" and not p.is_key:
            con.execute(
                f"DELETE FROM {policies} WHERE (schema_name, table_name, column_name) = (?, ?, ?)",
                [*stored_policy.policy_key(source), column],
            )
            remaining.remove(p)
            change = f"{column} is withheld without a role"
            person_sql = _role_statement(source, column, "person")
        else:
            con.execute(statement)
            rows = {row.column: row.role for row in stored_policy.policy_rows(source, con)}
            changed_proposals = [q for q in remaining if rows.get(q.column) != q.role]
            remaining = [
                replace(q, role=rows[q.column]) if q in changed_proposals else q for q in remaining if q.column in rows
            ]
            change = "; ".join(
                f"{q.column} is {'the person' if q.column in rows else 'withheld'}" for q in changed_proposals
            )
        print_wrapped(f"{change}, because of {problem}")
        if person_sql:
            print_wrapped("If a value always belongs to one person, give the column the role person:")
            click.echo(person_sql)
    return remaining


def _print_policy(
    source: catalog.Source, declared: list[Proposal], skipped: int, old: list[stored_policy.PolicyRow]
) -> None:
    """Print the policy that will be written.

    `skipped` is the number of columns without a role. `old` are the rows that are replaced; what they say and the new
    ones do not is listed.
    """
    click.echo(f"\nPolicy of {source.shown}:")
    width = max((len(p.column) for p in declared), default=0)
    for p in declared:
        click.echo(_proposal_line(f"  {p.column:<{width}}  {p.role:<10}", p))
    if skipped:
        click.echo(f"  withheld, without a role: {_count_columns(skipped)}")
    if old:
        click.echo(f"  replaces the policy of {_count_columns(len(old))}")
        lost_settings = _lost_settings(old, {p.column: p for p in declared}, source)
        if lost_settings:
            click.echo("  Its settings that are not kept (set them again if you need them):")
        for column, settings in lost_settings.items():
            print_wrapped(f"  {column}: {', '.join(settings)}")
    if not any(p.role == "quasi" for p in declared):
        click.echo("  No column is a quasi-identifier: a release needs one.")


def _lost_settings(
    old: list[stored_policy.PolicyRow], proposals: Mapping[str, Proposal], source: catalog.Source
) -> dict[str, list[str]]:
    """Return, by column, the roles and settings that a policy has and its replacement lacks, as texts.

    `old` are the rows of the policy; `proposals` are the columns of the replacement by name, as the source spells it.
    """
    lost_settings = {}
    for row in old:
        column = source.spelled(row.column) or row.column
        stored = row.settings
        new = proposals.get(column)
        kept_settings = {"hierarchy": new.hierarchy, "top": new.top, "rounding": new.grid} if new else {}
        settings = {
            name: getattr(stored, name)
            for name in ("hierarchy", "min_level", "max_level", "top", "bottom", "rounding")
            if getattr(stored, name) is not None
        } | dict(stored.settings)
        if stored.weight != 1:
            settings["weight"] = stored.weight
        texts = [f"{name} {value}" for name, value in settings.items() if str(value) != str(kept_settings.get(name))]
        if new is None or new.role != row.role.lower():
            texts.insert(0, f"role {row.role}")
        if texts:
            lost_settings[column] = texts
    return lost_settings


def _proposal_line(head: str, p: Proposal) -> str:
    """Return a line with `head`, which names the column and its role, and its settings, wrapped to the screen."""
    settings = [f"hierarchy {p.hierarchy}{f' (built: {p.build.builder})' if p.build else ''}"] if p.hierarchy else []
    settings += [f"{name} {value}" for name, value in (("top", p.top), ("rounding", p.grid)) if value is not None]
    settings += [f"missing {', '.join(code or repr(code) for code in p.missing)}"] if p.missing else []
    indent = " " * (len(head) + 2)
    return click.wrap_text("; ".join(settings), WIDTH, f"{head}  ", indent).rstrip() if settings else head.rstrip()


def _print_repairs(source: catalog.Source, proposals: list[Proposal], with_hierarchies: bool) -> None:
    """Print the statements that build hierarchies of prefixes, if wanted, and the problems of values, with repairs.

    A problem that several columns have is printed once, with the statements of all of them.
    """
    for p in proposals if with_hierarchies else ():
        built = p.offers.hierarchy if p.offers is not None and p.hierarchy is None else None
        if p.role is not None and built is not None and built.builder == "prefix":
            rows = built.rows(p.column, source, p.column)
            click.echo(f"\n{p.column} is published unchanged or as *. To build a hierarchy of its beginnings:")
            print_wrapped(built.preview)
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
        click.echo("\nRepair these, then run init again with --replace:")
    for problem, columns in columns_by_problem.items():
        print_wrapped(f"{', '.join(columns)}: {problem}")
        for repair in dict.fromkeys(repairs_by_problem[problem]):
            click.echo(f"    {one_line(repair)};")


def _print_review(source: catalog.Source, withheld: list[Proposal]) -> None:
    """Print the columns that have no role, by the reason, and how to publish them; nothing if there are none."""
    if not withheld:
        return
    click.echo("\nReview these; until then they are withheld:")
    columns_by_reason: dict[str, list[str]] = {}
    for p in withheld:
        columns_by_reason.setdefault(p.reason.removeprefix("review: "), []).append(p.column)
    for reason, columns in columns_by_reason.items():
        print_wrapped(f"{', '.join(columns)}: {reason}")
    click.echo(
        "To publish one, state its role (quasi: generalized; sensitive, insensitive:\nunchanged), here or with\n"
        + _role_statement(source, withheld[0].column, "quasi")
    )


def _role_statement(source: catalog.Source, column: str, role: str) -> str:
    """Return the indented lines of the statement that gives a column without a role this role."""
    row = join_sql(text(part) for part in (*stored_policy.policy_key(source), column, role))
    return (
        f"  INSERT INTO {qualified(source.home, catalog.SCHEMA, 'policy')}\n"
        f"    (schema_name, table_name, column_name, role)\n  VALUES ({row});"
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
    policies = schema.writable_table("init", con.duckdb_connection, con, source.home, "policy")
    hierarchies = qualified(source.home, catalog.SCHEMA, "hierarchy")
    with session.transaction(con):
        if source.foreign is not None:
            attached_databases.record_identity("init", con, source.database, source.foreign)
        for row in old:
            delete_row(con, policies, row)
        for p in declared:
            if p.build is not None and p.hierarchy is not None:
                con.execute(f"INSERT INTO {hierarchies} {p.build.rows(p.hierarchy, source, p.column)}")
            settings = stored_policy.Settings(
                hierarchy=p.hierarchy, top=p.top, rounding=p.grid, missing_codes=p.missing
            )
            column = stored_policy.DeclaredColumn(p.column, str(p.role), settings)
            insert_row(con, policies, row_cells(*stored_policy.policy_key(source), column))
