"""Commands about releases: materialize, refresh, drop, releases, certificate, publish, verify, doctor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dbanon.cli.common import (
    DATABASE,
    errors_as_messages,
    improvement,
    opened,
    parameter,
    progress,
    searched,
    show,
)
from dbanon.sqltext.quote import one_line

_COMPOSITION = click.option(
    "--composition",
    type=click.Choice(("warn", "refuse")),
    default="warn",
    show_default=True,
    help="What to do where another release and this one narrow people below k or l.",
)


@click.command()
@DATABASE
@click.argument("name")
@click.argument("algorithm")
@click.argument("source")
@click.option("-p", "--parameter", "given", multiple=True, metavar="NAME=VALUE", help="k=10, or \"qi=['age', 'zip']\".")
@click.option("--key", multiple=True, help="Column that tells people apart; several times for several columns.")
@_COMPOSITION
@click.option(
    "--improve", metavar="MOVES|TIME", help="Lower the loss by a search: 20000, or 5s (Ctrl-C: the best so far)."
)
@click.option("--allow-delta", is_flag=True, help="Publish though versions differ by too few; the ledger says so.")
@click.option("--replace", is_flag=True, help="Make the next version of a release with another definition.")
def materialize(
    database: Path,
    name: str,
    algorithm: str,
    source: str,
    given: Sequence[str],
    key: Sequence[str],
    composition: str,
    improve: str | None,
    allow_delta: bool,
    replace: bool,
) -> None:
    """Publish SOURCE by ALGORITHM as the table NAME, with its classes and metrics. Values are SQL literals."""
    from dbanon.views import materialized

    with errors_as_messages():
        parameters = dict(parameter(text_) for text_ in given) | improvement(improve)
        with opened(database) as con, progress(False) as step:
            made = materialized.materialize(
                con,
                name,
                algorithm,
                source,
                key=list(key) or None,
                composition=composition,
                allow_delta=allow_delta,
                replace=replace,
                progress=searched(step),
                **parameters,
            )
    _released(made)


@click.command()
@DATABASE
@click.argument("name")
@click.option("--recluster", is_flag=True, help="Cluster all records anew instead of keeping their classes.")
@click.option("--allow-delta", is_flag=True, help="Publish though classes differ by too few; the ledger says so.")
@click.option(
    "--erase", is_flag=True, help="Honour an erasure: classes that somebody left go whole, and nobody new comes."
)
@click.option("--if-stale", is_flag=True, help="Do nothing where the release is as its source, policy and hierarchies.")
@_COMPOSITION
def refresh(
    database: Path, name: str, recluster: bool, allow_delta: bool, erase: bool, if_stale: bool, composition: str
) -> None:
    """Make the next version of the release NAME from its source as it is now."""
    from dbanon.views import materialized

    with errors_as_messages(), opened(database) as con:
        how = "recluster" if recluster else "keep"
        made = materialized.refresh(
            con, name, refresh=how, allow_delta=allow_delta, composition=composition, if_stale=if_stale, erase=erase
        )
    _released(made)


@click.command()
@DATABASE
@click.argument("name")
def drop(database: Path, name: str) -> None:
    """Drop the tables of the release NAME; the ledger keeps its versions."""
    from dbanon.views import materialized

    with errors_as_messages(), opened(database) as con:
        materialized.drop(con, name)
    click.echo(f"{name} is dropped.")


@click.command()
@DATABASE
def releases(database: Path) -> None:
    """List every version of every release in the ledger."""
    with errors_as_messages(), opened(database, read_only=True) as con:
        columns = {row[0] for row in con.execute("DESCRIBE FROM releases()").fetchall()}
        if "version" not in columns:
            click.echo("There are no releases.")
            return
        show(
            con,
            "Releases",
            "SELECT name, version, status, source, algorithm, records, suppressed, achieved, released_at "
            "FROM releases() ORDER BY ALL ASC NULLS LAST",
        )


@click.command()
@DATABASE
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def certificate(database: Path, name: str, as_json: bool) -> None:
    """Show what the release NAME is, for its custodian, with SQL that computes each number anew."""
    from dbanon.views import certificate as certificates

    with errors_as_messages(), opened(database, read_only=True) as con:
        click.echo(certificates.certificate(con, name, "json" if as_json else "text"), nl=False)


@click.command()
@DATABASE
@click.option("--release", required=True, help="Name of the release.")
@click.option("--to", required=True, help="A .duckdb, .parquet or .csv file, or a folder.")
@click.option("--classes", is_flag=True, help="Give out the classes too.")
@click.option("--storage-version", help="Oldest DuckDB that shall read a .duckdb file; default: v1.0.0.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
def publish(database: Path, release: str, to: str, classes: bool, storage_version: str | None, overwrite: bool) -> None:
    """Write a release to a file of its own, to hand out."""
    from dbanon.views import publish as handouts

    with errors_as_messages():
        made = handouts.publish(
            database, release, to, classes=classes, storage_version=storage_version, overwrite=overwrite
        )
    for path in made:
        click.echo(path)


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.pass_context
def verify(context: click.Context, path: Path) -> None:
    """Compare published files with their certificate: PATH is the release (.parquet, .csv) or a folder."""
    from dbanon.views.verify import verify as compared

    with errors_as_messages():
        found = compared(path)
    for problem in found:
        click.echo(one_line(problem))
    if found:
        context.exit(1)
    click.echo("The files are those of their certificate.")


@click.command()
@DATABASE
@click.pass_context
def doctor(context: click.Context, database: Path) -> None:
    """List what is not well: views that only work with dbanon, stale releases, policy and hierarchy problems."""
    from dbanon.views import doctor as examined

    with errors_as_messages(), opened(database, read_only=True) as con:
        found = examined.problems(con)
    for problem in found:
        click.echo(one_line(f"{problem.kind} {problem.about}: {problem.problem}"))
    if found:
        context.exit(1)
    click.echo("No problems found.")


def _released(made: Any) -> None:
    click.echo(f"{made.name} version {made.version}: {made.records} records in {made.classes} classes.")
