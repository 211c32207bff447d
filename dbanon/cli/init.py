"""`dbanon init`: walks through the proposal of profile() column by column and writes the policy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dbanon import errors
from dbanon.engine.outcomes import outcome
from dbanon.policy import column_roles
from dbanon.shell.failure import failure
from dbanon.source import catalog, schema, stored_policy
from dbanon.sqltext.quote import Sql, identifier, joined, literal, qualified, text

SKIP = "skip"
NONE = "-"


@dataclass(frozen=True)
class Proposal:
    """What profile() says about one column, and the role and hierarchy that are written; role None: it is withheld."""

    column: str
    type: str
    distinct: int
    missing: int
    alone: float
    role: str | None
    reason: str
    hierarchy: str | None
    covered: int | None


@click.command("init")
@click.argument("database", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("table")
@click.option("--yes", is_flag=True, help="Take every proposal, ask nothing.")
@click.option("--force", is_flag=True, help="Replace the policy that the table has.")
def init(database: Path, table: str, yes: bool, force: bool) -> None:
    """Propose a policy for TABLE of DATABASE, column by column, and write it.

    Enter takes the proposal. A role is identifier, person, quasi, sensitive or other; skip leaves a column without
    one, so that it is withheld. Columns of which neither the name nor the values say what they are, are listed for
    review and withheld unless you say what they are. Nothing is written before the last question.
    """
    with _opened(database) as con:
        source = catalog.resolve("init", table, con.cursor(), _path(con), {})
        old = stored_policy.policy_rows(source, con)
        if old and not force:
            raise click.ClickException(
                f"{source.shown} has a policy already ({len(old)} columns). Hint: --force replaces it; "
                "FROM dbanon.policy shows it."
            )
        proposals = _proposals(con, table)
        known = {row[0] for row in con.execute("SELECT name FROM hierarchies()").fetchall()}
        if not yes:
            proposals = _asked(proposals, known)
        written = [p for p in proposals if p.role is not None]
        _show(source, written, len(proposals) - len(written), len(old))
        if yes:
            _review(con, source, [p for p in proposals if p.role is None])
        if not written:
            click.echo("Nothing to write.")
            return
        if not yes:
            click.confirm("Write it?", default=True, abort=True)
        _write(con, source, old, written)
        click.echo(f"The policy of {source.shown} is written to dbanon.policy: {_columns(len(written))}.")
        for (problem,) in con.execute(
            "SELECT problem FROM policy_problems() "
            "WHERE database_name = ? AND schema_name = ? AND system.main.lower(table_name) = system.main.lower(?)",
            [source.database, source.schema, source.table],
        ).fetchall():
            click.echo(f"Problem: {problem}")


@contextlib.contextmanager
def _opened(database: Path) -> Iterator[Any]:
    """A connection that can write; every mistake becomes a message of the command line."""
    from dbanon.client.connection import connect

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
            yield con
        except (click.ClickException, click.Abort):
            raise
        except Exception as error:
            raise failure(str(error).removeprefix("Invalid Input Error: "), outcome(error)) from None


def _path(con: Any) -> catalog.SearchPath:
    return catalog.SearchPath.here(con)


def _proposals(con: Any, table: str) -> list[Proposal]:
    """The proposals of profile(); a hierarchy that misses values is not proposed, as a release would be refused."""
    rows = con.execute(
        "SELECT column_name, type, distinct_values, missing, unique_alone, "
        f"CASE WHEN proposed_role <> {text(column_roles.WITHHELD)} THEN proposed_role END, reason, "
        "CASE WHEN covered_values = distinct_values THEN proposed_hierarchy END, covered_values "
        f"FROM profile({text(table)})"
    ).fetchall()
    return [Proposal(*row) for row in rows]


# --- questions -------------------------------------------------------------------------------------------


def _asked(proposals: list[Proposal], known: set[str]) -> list[Proposal]:
    """The proposals as the user decides."""
    decided: list[Proposal] = []
    for number, proposal in enumerate(proposals, 1):
        click.echo(f"\n{click.style(proposal.column, bold=True)}  {proposal.type}  ({number} of {len(proposals)})")
        click.echo(
            f"  distinct values: {proposal.distinct:,}, missing: {proposal.missing:,}, unique by it alone: "
            f"{proposal.alone:.1%}"
        )
        click.echo(f"  {proposal.reason}")
        person = next((p.column for p in decided if p.role == "person"), None)
        decided.append(_with_hierarchy(_with_role(proposal, person), known))
    return decided


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


def _with_hierarchy(proposal: Proposal, known: set[str]) -> Proposal:
    """Numbers and dates are published as ranges and need none, so only proposed or categorical ones are asked for."""
    categories = proposal.type == "VARCHAR" or proposal.type.startswith("ENUM(")
    if proposal.role not in ("quasi", "sensitive") or not (proposal.hierarchy or categories):
        return replace(proposal, hierarchy=None)
    if proposal.role == "sensitive" and proposal.hierarchy is None:
        return proposal
    while True:
        name = click.prompt(f"  hierarchy ({NONE}: none)", default=proposal.hierarchy or NONE)
        if name == NONE:
            return replace(proposal, hierarchy=None)
        if name in known:
            return replace(proposal, hierarchy=name)
        click.echo(f"  there is no hierarchy '{name}'.{errors.near(name, known)} FROM hierarchies() lists them.")


def _show(source: catalog.Source, written: list[Proposal], skipped: int, old: int) -> None:
    """What will be written."""
    click.echo(f"\nPolicy of {source.shown}:")
    width = max((len(p.column) for p in written), default=0)
    for proposal in written:
        hierarchy = f"  hierarchy {proposal.hierarchy}" if proposal.hierarchy else ""
        click.echo(f"  {proposal.column:<{width}}  {proposal.role:<10}{hierarchy}".rstrip())
    if skipped:
        click.echo(f"  withheld, without a role: {_columns(skipped)}")
    if old:
        click.echo(f"  replaces the policy of {_columns(old)}")
    if not any(p.role == "quasi" for p in written):
        click.echo("  No column is a quasi-identifier: a release needs one.")


def _review(con: Any, source: catalog.Source, withheld: list[Proposal]) -> None:
    """Which columns nobody has said anything about, why, and what publishes them."""
    if not withheld:
        return
    click.echo("\nTo be reviewed, and withheld until then:")
    width = max(len(p.column) for p in withheld)
    for proposal in withheld:
        click.echo(f"  {proposal.column:<{width}}  {proposal.reason.removeprefix('review: ')}")
    place = joined(text(part) for part in (source.schema, source.table, withheld[0].column))
    policies = qualified(source.database, catalog.SCHEMA, "policy")
    click.echo(
        "To publish one, say what it is (quasi: generalized; sensitive, other: as it is), here or with\n"
        f"  INSERT INTO {policies} (schema_name, table_name, column_name, role) VALUES ({place}, 'quasi');"
    )


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


# --- writing ---------------------------------------------------------------------------------------------


def _write(con: Any, source: catalog.Source, old: list[stored_policy.PolicyRow], written: list[Proposal]) -> None:
    """Replaces the table's policy, as a whole or not at all. Raises ReadOnly."""
    schema.create(con.raw, source.database)
    if not catalog.has_table(con, source.database, "policy"):
        raise errors.ReadOnly("init", source.database)
    policies = qualified(source.database, catalog.SCHEMA, "policy")
    con.execute("BEGIN")
    try:
        for row in old:
            con.execute(
                f"DELETE FROM {policies} WHERE schema_name = ? AND table_name = ? AND column_name = ?",
                [row.schema_name, row.table_name, row.declared.column],
            )
        con.execute(_insert(policies, source, written))
        con.execute("COMMIT")
    except Exception:
        con.execute("ROLLBACK")
        raise


def _insert(policies: Sql, source: catalog.Source, written: list[Proposal]) -> str:
    names = ("schema_name", "table_name", "column_name", "role", "hierarchy")
    rows = [
        f"({joined(literal(v) for v in (source.schema, source.table, p.column, p.role, p.hierarchy))})" for p in written
    ]
    return f"INSERT INTO {policies} ({joined(map(identifier, names))}) VALUES {joined(rows)}"
