"""Commands about releases: create-release, refresh, drop, releases, certificate, report, publish, verify, doctor."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dbanon.cli.commands.next_command import after_doctor, next_command, print_next_command, publish_command
from dbanon.cli.commands.review import policy_reviews, print_on_stderr, print_review as show_review
from dbanon.cli.options.connection_options import memory_options
from dbanon.cli.options.name_completion import complete_columns, complete_releases, complete_tables
from dbanon.cli.options.parameters import (
    algorithm_option,
    merge_parameters,
    parameter_options,
    parse_improve,
    split_algorithm,
)
from dbanon.cli.terminal.common import (
    ALLOW_SMALL_DIFFERENCES,
    AS_JSON,
    CLASSES,
    CSV_FORMULAS,
    DATABASE,
    REPLACE,
    database_argument,
    errors_as_messages,
    open_database,
    print_result,
    print_table,
    query_rows,
    search_progress,
    show_progress,
)
from dbanon.policy.checks.review import review_objects
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import one_line

_COMPOSITION = click.option(
    "--composition",
    type=click.Choice(("warn", "refuse")),
    default="warn",
    show_default=True,
    help="Warn or refuse if another release and this one together narrow people down to fewer than k or l.",
)


@click.command("create-release")
@database_argument
@click.argument("name")
@click.argument("source", shell_complete=complete_tables)
@algorithm_option
@parameter_options
@click.option(
    "--key",
    multiple=True,
    shell_complete=complete_columns,
    help="Name the column that identifies persons; repeat it for several columns.",
)
@_COMPOSITION
@ALLOW_SMALL_DIFFERENCES
@click.option(
    "--disjoint-from",
    multiple=True,
    metavar="NAME",
    help="Name a release or table about other people; repeat it for several.",
)
@click.option(
    "--replace", is_flag=True, help="Create the next version of a release, if it is safe next to earlier ones."
)
@click.option(
    "--quiet", is_flag=True, help="Show no progress, and no review of what the first release of a name publishes."
)
@memory_options
@AS_JSON
def create_release(
    database: Path,
    name: str,
    source: str,
    algorithm: str | None,
    k: int | None,
    l: int | None,  # noqa: E741
    t: float | None,
    given: Sequence[str],
    improve: str | None,
    key: Sequence[str],
    composition: str,
    allow_small_differences: bool,
    disjoint_from: Sequence[str],
    replace: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Publish the table SOURCE as the release NAME.

    The tables NAME, NAME_classes and NAME_metrics contain its rows, classes and metrics. -k 10 is short for -p k=10.
    A value after -p NAME= that is not a SQL literal is text: nulls=drop, qi=age,zip.
    """
    from dbanon.views import materialize as views_materialize

    algorithm, given = split_algorithm(algorithm, given)
    with errors_as_messages():
        call_parameters = merge_parameters(algorithm, given, k=k, l=l, t=t, improve=parse_improve(improve))
    with errors_as_messages(), open_database(database) as con, show_progress(quiet) as step:
        con.on_review = None if quiet or as_json else print_on_stderr
        created = views_materialize.create_release(
            con,
            name,
            algorithm,
            source,
            key=list(key) or None,
            composition=composition,
            allow_small_differences=allow_small_differences,
            disjoint_from=disjoint_from,
            replace=replace,
            progress=search_progress(step),
            **call_parameters,
        )
    _print_release(created, as_json)
    if not as_json and not quiet:
        print_next_command(publish_command(database, name))


@click.command()
@database_argument
@click.argument("name", shell_complete=complete_releases)
@click.option(
    "--mode",
    type=click.Choice(("keep", "hold", "recluster")),
    default="keep",
    show_default=True,
    help="Choose what happens to classes. keep: keep them; hold: keep them, and defer new records until there are "
    "enough; recluster: cluster all records again.",
)
@click.option(
    "--allow-small-differences",
    is_flag=True,
    help="Publish even if classes differ by too few records; the ledger records it.",
)
@click.option(
    "--erase", is_flag=True, help="Apply deletions: remove every class that lost a member; publish no new records."
)
@click.option(
    "--if-stale/--always",
    default=None,
    help="Do nothing if source, policy and hierarchies are unchanged; or create a version even then.",
)
@_COMPOSITION
@memory_options
@AS_JSON
def refresh(
    database: Path,
    name: str,
    mode: str,
    allow_small_differences: bool,
    erase: bool,
    if_stale: bool | None,
    composition: str,
    as_json: bool,
) -> None:
    """Create the next version of the release NAME.

    It is created from the current rows of the source.
    """
    from dbanon.views import materialize as views_materialize

    with errors_as_messages(), open_database(database) as con, show_progress(False) as step:
        con.on_progress = search_progress(step)
        refreshed = views_materialize.refresh_release(
            con,
            name,
            mode=mode,
            allow_small_differences=allow_small_differences,
            composition=composition,
            if_stale=if_stale,
            erase=erase,
        )
    _print_release(refreshed, as_json)
    if not as_json and refreshed.is_new:
        print_next_command(publish_command(database, name))


@click.command()
@database_argument
@click.argument("name", shell_complete=complete_releases)
@click.option("--forget", is_flag=True, help="Also forget its versions; use this only if no reader has any of them.")
@AS_JSON
def drop(database: Path, name: str, forget: bool, as_json: bool) -> None:
    """Drop the tables of the release NAME.

    The ledger keeps its versions, unless you add --forget. Later releases of the same people are checked against the
    versions in the ledger but not against forgotten ones: a reader who has a forgotten version could subtract it.
    """
    from dbanon.views import drop as views_drop

    with errors_as_messages(), open_database(database) as con:
        views_drop.drop_release(con, name)
        n_forgotten = views_drop.forget_release(con, name) if forget else 0
    sentence = f"{name} is dropped." + (
        f" {n_forgotten} of its versions {'is' if n_forgotten == 1 else 'are'} forgotten." if forget else ""
    )
    print_result({"dropped": name, "forgotten": n_forgotten}, as_json, sentence)


@click.command()
@database_argument
@AS_JSON
def releases(database: Path, as_json: bool) -> None:
    """List every version of every release in the ledger."""
    with errors_as_messages(), open_database(database, read_only=True) as con:
        columns = {row[0] for row in con.execute("DESCRIBE FROM releases()").fetchall()}
        if "version" not in columns or not con.execute("FROM releases() LIMIT 1").fetchall():
            print_result([], as_json, "There are no releases.")
            return
        release_rows = query_rows(con, "FROM releases() ORDER BY name ASC, version ASC")
    if as_json:
        print_result(release_rows, as_json)
    else:
        print_table("Releases", [_short_row(row) for row in release_rows])


def _short_row(row: Mapping[str, Any]) -> dict[str, object]:
    """Return the columns of a release that fit into a table of 80 characters, with k and the time to the minute."""
    columns = ("name", "version", "status", "algorithm", "records")
    released_at = row["released_at"].strftime("%Y-%m-%d %H:%M")
    return {name: row[name] for name in columns} | {"k": row["achieved"].get("k"), "released_at": released_at}


@click.command()
@database_argument
@click.argument("name", shell_complete=complete_releases)
@AS_JSON
def certificate(database: Path, name: str, as_json: bool) -> None:
    """Show the certificate of the release NAME.

    It is for the custodian of the data, and has the SQL that recomputes each number.
    """
    from dbanon.publishing import certificate as certificates

    with errors_as_messages(), open_database(database, read_only=True) as con:
        click.echo(certificates.certificate(con, name, "json" if as_json else "text"), nl=False)


@click.command()
@database_argument
@click.argument("name", shell_complete=complete_releases)
@click.option("-o", "--output", help="Write to this HTML file; by default the page is printed.")
@click.option(
    "--outgoing",
    is_flag=True,
    help="Write only what may be published with the release: no values, and nothing about the source.",
)
@click.option("--population", help="Compute the journalist risk from this table of the whole population.")
@click.option("--purpose", metavar="TEXT", help="State the purpose of the release; by default as stored by publish.")
@click.option("--recipient", metavar="NAME", help="State who gets the release; by default as stored by publish.")
@click.option("--legal-basis", metavar="TEXT", help="State the legal basis; by default as stored by publish.")
@REPLACE
@AS_JSON
def report(
    database: Path,
    name: str,
    output: str | None,
    outgoing: bool,
    population: str | None,
    purpose: str | None,
    recipient: str | None,
    legal_basis: str | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Write the report of the release NAME as an HTML page.

    The report has two pages to sign and an appendix. It names the source and shows values of it, unless you add
    --outgoing.
    """
    from dbanon.publishing.report.report import report as reported

    with errors_as_messages(), open_database(database, read_only=True) as con:
        page = reported(
            con,
            name,
            output,
            outgoing=outgoing,
            population=population,
            purpose=purpose,
            recipient=recipient,
            legal_basis=legal_basis,
            overwrite=replace,
        )
    print_result({"html" if output is None else "file": str(page)}, as_json, str(page))


@click.command()
@DATABASE
@click.argument("name", shell_complete=complete_releases)
@click.option("-o", "--output", required=True, help="Write to this .duckdb, .parquet or .csv file, or folder.")
@CLASSES
@click.option(
    "--storage-version", help="Write a .duckdb file that this DuckDB and later ones can read; default: v1.0.0."
)
@click.option("--recipient", metavar="NAME", help="Record in the ledger who gets the files.")
@click.option("--purpose", metavar="TEXT", help="Record in the ledger the purpose for which the recipient gets them.")
@click.option("--legal-basis", metavar="TEXT", help="Record in the ledger the legal basis for sharing them.")
@CSV_FORMULAS
@REPLACE
@AS_JSON
def publish(
    database: Path,
    name: str,
    output: str,
    classes: bool,
    storage_version: str | None,
    recipient: str | None,
    purpose: str | None,
    legal_basis: str | None,
    csv_formulas: str,
    replace: bool,
    as_json: bool,
) -> None:
    """Write the release NAME to files that you can share.

    The ledger records the files.

    \b
    From a source file to a file that you can share:
      dbanon init visits.csv
      dbanon anonymize visits.duckdb -k 10
      dbanon publish visits.duckdb visits_release -o visits_safe.csv
    """
    from dbanon.api import publish as publishing

    with errors_as_messages():
        paths = publishing.publish(
            database,
            name,
            output,
            classes=classes,
            storage_version=storage_version,
            overwrite=replace,
            csv_formulas=csv_formulas,
            recipient=recipient,
            purpose=purpose,
            legal_basis=legal_basis,
        )
    print_result({"files": [str(path) for path in paths]}, as_json, "\n".join(map(str, paths)))
    if not as_json:
        print_next_command(next_command("verify", paths[0]))


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--ledger",
    metavar="DATABASE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare hashes, version and number of rows with the database that the files were published from, too.",
)
@AS_JSON
@click.pass_context
def verify(context: click.Context, path: Path, ledger: Path | None, as_json: bool) -> None:
    """Compare published files with their certificate.

    PATH is the file of a release, or a folder. A .parquet or .csv file has its certificate next to it; a .duckdb file
    contains it.
    """
    from dbanon.publishing.verify import verify as compared

    with errors_as_messages():
        problems = compared(path, ledger)
    lines = list(map(one_line, problems))
    print_result({"problems": lines}, as_json, "\n".join(lines) or _FILES_VERIFIED[ledger is not None])
    if problems:
        context.exit(1)


_FILES_VERIFIED = (
    "The files match their certificate.",
    "The files match their certificate and the ledger.",
)


@click.command()
@database_argument
@AS_JSON
@click.pass_context
def doctor(context: click.Context, database: Path, as_json: bool) -> None:
    """Review DATABASE: policies, releases, recipients, problems.

    The output states what releases of its tables would publish, who received releases, and which problems exist: views
    that work only with dbanon, stale releases, problems of policies and hierarchies. The exit code is 1 if there is a
    problem.
    """
    from dbanon.views import doctor as examined

    with errors_as_messages(), open_database(database, read_only=True) as con:
        tables = policy_reviews(con)
        problem_rows = examined.problems(con)
        next_step = after_doctor(con, database, tables, problem_rows)
        files = query_rows(con, _RELEASE_FILES)
    if not as_json:
        for name, rows in tables.items():
            show_review(rows, name)
        if files:
            short_files = [  # the columns that fit into 80 characters, with the time to the minute
                {
                    "release": row["name"],
                    "version": row["version"],
                    "file": Path(row["file"]).name,
                    "published_at": row["published_at"].strftime("%Y-%m-%d %H:%M"),
                    "recipient": row["recipient"] or "not stated",
                    "purpose": row["purpose"] or "not stated",
                }
                for row in files
            ]
            print_table("Published files", short_files)
    reviews = {name: review_objects(rows) for name, rows in tables.items()}
    print_result(
        {"tables": reviews, "published_files": files, "problems": [asdict(p) for p in problem_rows]},
        as_json,
        "\n".join(one_line(f"{p.kind} {p.about}: {p.problem}") for p in problem_rows) or "No problems found.",
    )
    if not as_json:
        print_next_command(next_step)
    if problem_rows:
        context.exit(1)


_RELEASE_FILES = """
SELECT * EXCLUDE (database_name, content) FROM published_files()
WHERE database_name = system.main.current_database() AND content = 'release'
QUALIFY row_number() OVER (
    PARTITION BY schema_name, name, version, file, recipient, purpose ORDER BY published_at DESC
) = 1
ORDER BY published_at ASC
"""


def _print_release(release: Any, as_json: bool) -> None:
    """Print a version that was created, or the published one if nothing was to be changed, as a sentence or as JSON.

    The number of deferred records is printed only if there can be any.
    """
    records, classes = (
        plural_form(release.records, "record", "records"),
        plural_form(release.classes, "class", "classes"),
    )
    sentence = f"{release.name} version {release.version}: {release.records} {records} in {release.classes} {classes}."
    sentence += f" {release.unchanged_note}" if release.unchanged_note else ""
    fields: tuple[str, ...] = ("name", "version", "is_new", "records", "classes", "composition")
    if release.waiting is not None:
        fields += ("waiting",)
        sentence += f" Waiting: {release.waiting} {plural_form(release.waiting, 'record', 'records')}."
    print_result({name: getattr(release, name) for name in fields}, as_json, sentence)
