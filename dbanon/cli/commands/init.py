"""`dbanon init`: walks through the proposal of profile() column by column and writes the policy."""

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
from dbanon.cli.terminal.common import AS_JSON, answer, opening
from dbanon.cli.terminal.exit_errors import failure
from dbanon.errors.exit_codes import outcome
from dbanon.policy import column_roles
from dbanon.policy.profiling import thresholds
from dbanon.policy.profiling.suggestions import Built, Offers, offers
from dbanon.source import attached_databases, catalog, schema, stored_policy
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, qualified, text

SKIP = "skip"
NONE = "-"
_K = "The k of later releases: what fewer reach is proposed as top."
_WIDTH = 80


@dataclass(frozen=True)
class Proposal:
    """What profile() says about one column, and what is written of it: role None: it is withheld.

    `offers` is how it could be generalized; `build` is the hierarchy of them that is to be built, under the name
    `hierarchy`. `missing` are codes that stand for missing values, `problems` what is wrong with its cells.
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
    offers: Offers | None = None
    build: Built | None = None
    top: str | None = None
    grid: str | None = None


@dataclass(frozen=True)
class _Asking:
    """What questions need: the connection, the table, its name, hierarchies that are known, and k."""

    con: Any
    source: catalog.Source
    known: frozenset[str]
    k: int


@click.command("init")
@opening
@click.argument("table")
@click.option("-k", type=click.IntRange(min=2), default=thresholds.RARE, show_default=True, help=_K)
@click.option("--yes", is_flag=True, help="Take every proposal that publishes no more; ask nothing.")
@click.option("--force", is_flag=True, help="Replace the policy that the table has.")
@AS_JSON
def init(database: Path, table: str, k: int, yes: bool, force: bool, as_json: bool) -> None:
    """Propose a policy for TABLE of DATABASE, column by column, and write it.

    Enter takes the proposal. A role is identifier, person, quasi, sensitive or other; skip leaves a column without
    one, so that it is withheld. Columns of which neither the name nor the values say what they are, are listed for
    review and withheld unless you say what they are. Codes for missing values, the beginnings of codes such as zip
    codes, intervals, a calendar, a top and a grid are offered where they fit. Nothing is written before the last
    question, and then all of it at once.

    --yes builds no hierarchy: values would be published more closely than as they are or as *. With --json questions
    and what they are about go to stderr.
    """
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        written = _initialized(database, table, k, yes, force)
    answer(written, as_json)


def _initialized(database: Path, table: str, k: int, yes: bool, force: bool) -> dict[str, Any]:
    """Propose and write; return the columns that have a role now, those that are withheld, and what is wrong."""
    with _opened(database) as con:
        source = catalog.resolve_source(
            "init", table, con.cursor(), catalog.SearchPath.here(con), {}, is_declaring=True
        )
        old = stored_policy.policy_rows(source, con)
        if old and not force:
            raise click.ClickException(
                f"{source.shown} has a policy already ({len(old)} columns). Hint: --force replaces it; "
                "FROM dbanon.policy shows it."
            )
        proposals = _proposals(con, table)
        known = {row[0] for row in con.execute("SELECT name FROM hierarchies()").fetchall()}
        asking = _Asking(con, source, frozenset(known), k)
        proposals = _taken(proposals, asking) if yes else _asked(proposals, asking)
        written = [p for p in proposals if p.role is not None]
        _show(source, written, len(proposals) - len(written), len(old))
        if yes:
            _review(con, source, [p for p in proposals if p.role is None])
            _not_built(con, source, written)
        told = {
            "table": source.shown,
            "written": [{"column_name": p.column, "role": p.role, "hierarchy": p.hierarchy} for p in written],
            "withheld": [p.column for p in proposals if p.role is None],
            "problems": [],
        }
        if not written:
            click.echo("Nothing to write.")
            return told
        if not yes:
            click.confirm("Write it?", default=True, abort=True)
        _write(con, source, old, written)
        click.echo(f"The policy of {source.shown} is written to dbanon.policy: {_columns(len(written))}.")
        found = con.execute(
            "SELECT problem FROM policy_problems() "
            "WHERE database_name = ? AND schema_name = ? AND system.main.lower(table_name) = system.main.lower(?)",
            [source.database, source.schema, source.table],
        ).fetchall()
        for (problem,) in found:
            click.echo(click.wrap_text(f"Problem: {problem}", _WIDTH, subsequent_indent="  "))
        return told | {"problems": [problem for (problem,) in found]}


@contextlib.contextmanager
def _opened(database: Path) -> Iterator[Any]:
    """Return a connection that can write; every mistake becomes a message of the command line."""
    from dbanon.api.connection import connect

    try:
        con = connect(database)
    except Exception as error:
        why = str(error).split("\n")[0]
        raise failure(
            f"{database} cannot be opened for writing: {why} Hint: close what has it open, and see that the file is "
            "a DuckDB database that may be written.",
            outcome(error),
        ) from None
    with con:
        try:
            attach(con)
            yield con
        except (click.ClickException, click.Abort):
            raise
        except Exception as error:
            raise failure(str(error).removeprefix("Invalid Input Error: "), outcome(error)) from None


def _proposals(con: Any, table: str) -> list[Proposal]:
    """Return the proposals of profile().

    A hierarchy that misses values is not proposed, as a release would be refused.
    """
    rows = con.execute(
        "SELECT column_name, type, distinct_values, missing, unique_alone, "
        f"CASE WHEN proposed_role <> {text(column_roles.WITHHELD)} THEN proposed_role END, reason, "
        "CASE WHEN system.main.contains(statement, ', hierarchy') THEN proposed_hierarchy END, covered_values, "
        f"coalesce(missing_codes, []), problems FROM profile({text(table)})"
    ).fetchall()
    return [Proposal(*(*row[:9], tuple(row[9]), tuple(row[10]))) for row in rows]


# --- questions -------------------------------------------------------------------------------------------


def _taken(proposals: list[Proposal], asking: _Asking) -> list[Proposal]:
    """Return the proposals with what --yes takes of the offers: what publishes no more than without it."""
    person = next((p.column for p in proposals if p.role == "person"), None)
    decided = []
    for p in proposals:
        found = _offered(p, person, asking)
        if found.offers is not None and found.hierarchy is None:
            found = replace(found, top=found.offers.top, grid=found.offers.grid)
        decided.append(found)
    return decided


def _offered(p: Proposal, person: str | None, asking: _Asking) -> Proposal:
    """Return a proposal with the offers for its column, if it is to be generalized."""
    if p.role != "quasi":
        return replace(p, missing=() if p.role in (None, "identifier") else p.missing)
    return replace(p, offers=offers(asking.con, asking.source, p.column, person, asking.k, p.missing))


def _asked(proposals: list[Proposal], asking: _Asking) -> list[Proposal]:
    """Return the proposals as the user decides."""
    decided: list[Proposal] = []
    for number, p in enumerate(proposals, 1):
        click.echo(f"\n{click.style(p.column, bold=True)}  {p.type}  ({number} of {len(proposals)})")
        click.echo(
            f"  distinct values: {p.distinct:,}, missing: {p.missing_values:,}, unique by it alone: {p.alone:.1%}"
        )
        for said in (p.reason, *p.problems):
            _say(said)
        person = next((d.column for d in decided if d.role == "person"), None)
        found = _offered(_with_role(p, person), person, asking)
        decided.append(_with_settings(_with_hierarchy(_with_codes(found), asking), person))
    return decided


def _say(words: str) -> None:
    """Print a sentence that fits the screen."""
    click.echo(click.wrap_text(words, _WIDTH, initial_indent="  ", subsequent_indent="    "))


def _with_codes(p: Proposal) -> Proposal:
    """Return codes for missing values, as they are found or as the user lists them."""
    if not p.missing:
        return p
    shown = ", ".join(code or "''" for code in p.missing)
    given = click.prompt(f"  codes for missing values ({NONE}: none)", default=shown)
    if given == shown:
        return p
    codes = () if given == NONE else tuple("" if code.strip() == "''" else code.strip() for code in given.split(","))
    return replace(p, missing=codes)


def _with_settings(p: Proposal, person: str | None) -> Proposal:
    """Return a top of numbers, a grid of dates; neither fits a column with a hierarchy."""
    if p.hierarchy is not None or p.offers is None:
        return p
    offered = p.offers
    if offered.top is not None:
        who = "persons" if person else "records"
        _say(f"top: few {who} have the greatest values; from {offered.top} on all are published alike")
        p = replace(p, top=_unless_none(click.prompt(f"  top ({NONE}: none)", default=offered.top)))
    if offered.grid is not None:
        units = click.Choice([*_GRIDS, NONE])
        grid = click.prompt(f"  grid ({NONE}: month)", default=offered.grid, type=units, show_choices=False)
        p = replace(p, grid=_unless_none(grid))
    return p


_GRIDS = ("day", "week", "month", "quarter", "year", "decade", "century")


def _unless_none(given: str) -> str | None:
    return None if given == NONE else given


def _with_role(proposal: Proposal, person: str | None) -> Proposal:
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


def _with_hierarchy(p: Proposal, asking: _Asking) -> Proposal:
    """Return a hierarchy that there is, or one that is built. Sensitive columns need none, and have none built."""
    categories = p.type == "VARCHAR" or p.type.startswith("ENUM(")
    built = p.offers.built if p.offers else None
    asks = p.role == "quasi" and (p.hierarchy or categories or built)
    if not asks and not (p.role == "sensitive" and p.hierarchy):
        return replace(p, hierarchy=None)
    default, none = p.hierarchy or NONE, "none" if categories else "ranges"
    if built is not None:
        _say(f"{built.builder} builds one: {built.preview}")
        none += f"; {built.builder}: build it"
        default = p.hierarchy or (built.builder if categories else NONE)
    while True:
        name = click.prompt(f"  hierarchy ({NONE}: {none})", default=default)
        if name == NONE:
            return replace(p, hierarchy=None)
        if built is not None and name == built.builder:
            return replace(p, hierarchy=_free(p.column, asking), build=built)
        if name in asking.known:
            return replace(p, hierarchy=name)
        click.echo(f"  there is no hierarchy '{name}'.{errors.near(name, asking.known)} FROM hierarchies() lists them.")


def _free(column: str, asking: _Asking) -> str:
    """Return a name for a hierarchy that no other has."""
    names = [column, f"{asking.source.table} {column}"]
    more = (f"{names[1]} {number}" for number in itertools.count(2))
    return next(name for name in itertools.chain(names, more) if name not in asking.known)


def _show(source: catalog.Source, written: list[Proposal], skipped: int, old: int) -> None:
    """What will be written."""
    click.echo(f"\nPolicy of {source.shown}:")
    width = max((len(p.column) for p in written), default=0)
    for p in written:
        click.echo(_line(f"  {p.column:<{width}}  {p.role:<10}", p))
    if skipped:
        click.echo(f"  withheld, without a role: {_columns(skipped)}")
    if old:
        click.echo(f"  replaces the policy of {_columns(old)}")
    if not any(p.role == "quasi" for p in written):
        click.echo("  No column is a quasi-identifier: a release needs one.")


def _line(head: str, p: Proposal) -> str:
    """Return a column with what is written of it."""
    said = [f"hierarchy {p.hierarchy}{f' (built: {p.build.builder})' if p.build else ''}"] if p.hierarchy else []
    said += [f"{name} {value}" for name, value in (("top", p.top), ("grid", p.grid)) if value is not None]
    said += [f"missing {', '.join(code or repr(code) for code in p.missing)}"] if p.missing else []
    indent = " " * (len(head) + 2)
    return click.wrap_text("; ".join(said), _WIDTH, f"{head}  ", indent).rstrip() if said else head.rstrip()


def _not_built(con: Any, source: catalog.Source, written: list[Proposal]) -> None:
    """Which hierarchies would be built if somebody said so, and how, and what is to be mended."""
    for p in written:
        built = p.offers.built if p.offers is not None and p.hierarchy is None else None
        if built is not None and built.builder == "prefix":
            rows = built.rows(p.column, source, p.column)
            click.echo(f"\n{p.column} is published as it is or as *. To build a hierarchy of its beginnings:")
            _say(built.preview)
            click.echo(f"  INSERT INTO {qualified(source.database, catalog.SCHEMA, 'hierarchy')}\n  {rows};")
            place = join_sql(text(part) for part in (source.schema, source.table, p.column))
            click.echo(
                f"  UPDATE {qualified(source.database, catalog.SCHEMA, 'policy')}\n  SET hierarchy = {text(p.column)}\n"
                f"  WHERE (schema_name, table_name, column_name) = ({place});"
            )
    said = [(p.column, problem) for p in written for problem in p.problems if not problem.startswith("codes for")]
    if said:
        click.echo(f"\nTo be mended, with the statements in FROM profile({text(source.shown)}):")
        for column, problem in said:
            _say(f"{column}: {problem}")


def _review(con: Any, source: catalog.Source, withheld: list[Proposal]) -> None:
    """Which columns nobody has said anything about, why, and what publishes them."""
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
        "To publish one, say what it is (quasi: generalized; sensitive, other: as it is),\nhere or with\n"
        f"  INSERT INTO {policies}\n    (schema_name, table_name, column_name, role)\n  VALUES ({place}, 'quasi');"
    )


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


# --- writing ---------------------------------------------------------------------------------------------


def _write(con: Any, source: catalog.Source, old: list[stored_policy.PolicyRow], written: list[Proposal]) -> None:
    """Replace the table's policy and build its hierarchies, as a whole or not at all. Raises ReadOnlyDatabaseError."""
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
        for p in written:
            if p.build is not None and p.hierarchy is not None:
                con.execute(f"INSERT INTO {hierarchies} {p.build.rows(p.hierarchy, source, p.column)}")
        con.execute(_insert(policies, source, written))
        con.execute("COMMIT")
    except Exception:
        con.execute("ROLLBACK")
        raise


def _insert(policies: Sql, source: catalog.Source, written: list[Proposal]) -> str:
    names = ("schema_name", "table_name", "column_name", "role", "hierarchy", "top", "grid", "missing")
    rows = []
    for p in written:
        cells = (*stored_policy.policy_key(source), p.column, p.role, p.hierarchy, p.top, p.grid)
        codes = f"[{join_sql(map(text, p.missing))}]" if p.missing else "NULL"
        rows.append(f"({join_sql(literal(v) for v in cells)}, {codes})")
    return f"INSERT INTO {policies} ({join_sql(map(identifier, names))}) VALUES {join_sql(rows)}"
