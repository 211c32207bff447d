"""Questions of `dbanon init`: what profile() proposes for each column, and what the user decides about it."""

import itertools
import shutil
import sys
from dataclasses import dataclass, replace
from typing import Any

import click

from dbanon import errors
from dbanon.cli.terminal.common import query_rows
from dbanon.errors.display import single_line
from dbanon.policy import column_roles
from dbanon.policy.column_names.hints import hints_from_name
from dbanon.policy.profiling.suggestions import SuggestedHierarchy, Suggestions, suggest_settings
from dbanon.source import catalog
from dbanon.sqltext.quote import identifier, text

SKIP = "skip"
NONE = "-"
WIDTH = 80


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
        missing: Its codes for missing values.
        problems: Problems of its values.
        repairs: The statement that repairs each of them; None for one without a statement.
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
    missing: tuple[str, ...]
    problems: tuple[str, ...]
    repairs: tuple[str | None, ...] = ()
    offers: Suggestions | None = None
    build: SuggestedHierarchy | None = None
    top: str | None = None
    grid: str | None = None

    @property
    def is_key(self) -> bool:
        """Whether its values may distinguish persons: it is no name, no free text, and its name says a key."""
        hints = hints_from_name(self.column)
        return bool(hints.number or hints.subject or hints.key) and not (hints.direct or hints.prose)


@dataclass(frozen=True)
class QuestionContext:
    """The data that the questions depend on: the connection, the table, the names of all hierarchies, and k."""

    con: Any
    source: catalog.Source
    hierarchy_names: frozenset[str]
    k: int


def profile_proposals(con: Any, table: str) -> list[Proposal]:
    """Return the proposals of profile() for all columns of a table.

    A hierarchy that lacks values is not proposed, because a release would be refused. The role WITHHELD becomes None.
    """
    rows = query_rows(
        con,
        "SELECT column_name AS column, type, distinct_values AS distinct, missing AS missing_values, "
        "unique_alone AS alone, "
        f"CASE WHEN proposed_role <> {text(column_roles.WITHHELD)} THEN proposed_role END AS role, reason, "
        "CASE WHEN system.main.contains(statement, ', hierarchy') THEN proposed_hierarchy END AS hierarchy, "
        "coalesce(missing_codes, []) AS missing, problems, repairs "
        f"FROM profile({text(table)})",
    )
    return [Proposal(**_with_tuples(row)) for row in rows]


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which lists are tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


# --- questions -------------------------------------------------------------------------------------------


def accept_defaults(proposals: list[Proposal], question_context: QuestionContext) -> list[Proposal]:
    """Return the proposals as --yes writes them: with a suggested top or rounding, but without building hierarchies.

    A hierarchy would publish more detail than a release without it, but a flat one of codes publishes less. A proposal
    that names a stored hierarchy gets no top and no rounding.
    """
    person = next((p.column for p in proposals if p.role == "person"), None)
    decided = []
    for p in proposals:
        proposal = _add_suggestions(p, person, question_context)
        built = proposal.offers.hierarchy if proposal.offers is not None else None
        if proposal.hierarchy is None and built is not None and built.is_coarser:
            proposal = replace(proposal, hierarchy=_unused_hierarchy_name(p.column, question_context), build=built)
        elif proposal.offers is not None and proposal.hierarchy is None:
            proposal = replace(proposal, top=proposal.offers.top, grid=proposal.offers.grid)
        decided.append(proposal)
    return decided


def _add_suggestions(p: Proposal, person: str | None, question_context: QuestionContext) -> Proposal:
    """Return a proposal with suggestions for generalizing its column, if it is a quasi-identifier.

    Withheld columns and identifiers lose their codes for missing values. `person` is the person column, if there is
    one.
    """
    if p.role != "quasi":
        return replace(p, missing=() if p.role in (None, "identifier") else p.missing)
    return replace(
        p,
        offers=suggest_settings(
            question_context.con, question_context.source, p.column, person, question_context.k, p.missing
        ),
    )


def ask_user(proposals: list[Proposal], question_context: QuestionContext) -> list[Proposal]:
    """Ask the user about each column, and return the proposals as decided."""
    decided: list[Proposal] = []
    for number, p in enumerate(proposals, 1):
        click.echo(f"\n{click.style(p.column, bold=True)}  {p.type}  ({number} of {len(proposals)})")
        click.echo(
            f"  distinct values: {p.distinct:,}, missing: {p.missing_values:,}, unique by this column alone: "
            f"{p.alone:.1%}"
        )
        _print_sample_values(question_context, p.column)
        for sentence in (p.reason, *p.problems):
            print_wrapped(sentence)
        person = next((d.column for d in decided if d.role == "person"), None)
        proposal = _add_suggestions(_ask_role(p, person), person, question_context)
        decided.append(_ask_settings(_ask_hierarchy(_ask_missing_codes(proposal), question_context), person))
    return decided


N_SAMPLE_VALUES = 5
"""Number of values of a column that are shown."""


def _print_sample_values(question_context: QuestionContext, column: str) -> None:
    """Print the most frequent values of a column on one line of the screen, if the output is a terminal.

    They are printed nowhere else: output that is redirected, to a log for instance, has none.
    """
    if not _is_terminal():
        return
    value = identifier(column)
    rows = question_context.con.duckdb_connection.execute(
        f"SELECT CAST({value} AS VARCHAR) FROM {question_context.source.sql} WHERE {value} IS NOT NULL "
        f"GROUP BY {value} ORDER BY system.main.count(*) DESC, {value} ASC LIMIT {N_SAMPLE_VALUES}"
    ).fetchall()
    if rows:
        line = f"  values: {', '.join(single_line(sample) for (sample,) in rows)}"
        width = shutil.get_terminal_size().columns
        click.echo(line if len(line) <= width else f"{line[: width - 1]}…")


def _is_terminal() -> bool:
    """Return whether the output is a terminal."""
    return sys.stdout.isatty()


def print_wrapped(sentence: str) -> None:
    """Print a sentence, wrapped to the width of the screen."""
    click.echo(click.wrap_text(sentence, WIDTH, initial_indent="  ", subsequent_indent="    "))


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
        print_wrapped(
            f"top: few {unit} have the greatest values; all values from {offered.top} upwards are published as one"
        )
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
    "person": "identifies people who have several records. It is withheld; k counts people.",
    "quasi": "may be known to others: age, sex, place, a date. It is generalized.",
    "sensitive": "what no one should learn about a person. It is published unchanged.",
    "insensitive": "none of these. It is published unchanged; rare values are refused.",
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
                click.echo(click.wrap_text(explanation, WIDTH, f"    {name:<12}", " " * 16))
        elif role not in (*column_roles.ROLES, SKIP):
            print_wrapped(f"'{role}' is not a role. Roles: {', '.join(ROLE_EXPLANATIONS)}.")
        elif role == "person" and person is not None:
            click.echo(f"  {person} has the role person already; a table has only one such column.")
        else:
            break
    if role == SKIP:
        return replace(proposal, role=None, hierarchy=None)
    return replace(proposal, role=role)


def _ask_hierarchy(p: Proposal, question_context: QuestionContext) -> Proposal:
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
        print_wrapped(f"{built.builder} builds one: {built.preview}")
        none += f"; {built.builder}: build it"
        default = p.hierarchy or (built.builder if categories or built.is_coarser else NONE)
    while True:
        name = click.prompt(f"  hierarchy ({NONE}: {none})", default=default)
        if name == NONE:
            return replace(p, hierarchy=None)
        if built is not None and name == built.builder:
            return replace(p, hierarchy=_unused_hierarchy_name(p.column, question_context), build=built)
        if name in question_context.hierarchy_names:
            return replace(p, hierarchy=name)
        click.echo(
            f"  there is no hierarchy '{name}'.{errors.did_you_mean(name, question_context.hierarchy_names)} "
            "FROM hierarchies() lists them."
        )


def _unused_hierarchy_name(column: str, question_context: QuestionContext) -> str:
    """Return a name for a hierarchy that no other hierarchy has.

    It is the name of the column, else those of table and column, else these with a number.
    """
    names = [column, f"{question_context.source.table} {column}"]
    numbered_names = (f"{names[1]} {number}" for number in itertools.count(2))
    return next(name for name in itertools.chain(names, numbered_names) if name not in question_context.hierarchy_names)
