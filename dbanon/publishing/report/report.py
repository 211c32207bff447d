"""Create the HTML report of a release: its protection, its limits and its metrics."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, overload

import duckdb

from dbanon import errors
from dbanon.audit.plots.drawing import require_matplotlib
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import published_files, release_status, releases
from dbanon.ledger.published_files import Handover
from dbanon.publishing import certificate
from dbanon.publishing.report import (
    attacks,
    certificate_sections,
    classes,
    columns,
    handovers,
    html,
    risks,
    three_risks,
    verdict,
)
from dbanon.publishing.report.blocks import Section
from dbanon.publishing.report.queries import ReleaseReader
from dbanon.runtime import output_files, session
from dbanon.runtime.session import Session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, literal_rows, qualified
from dbanon.table_functions.parameter_types import Boolean, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


@overload
def report(
    connection: Any, name: str, to: None = None, *, outgoing: bool = ..., population: str | None = ...,
    purpose: str | None = ..., recipient: str | None = ..., legal_basis: str | None = ..., overwrite: bool = ...,
) -> str: ...  # fmt: skip
@overload
def report(
    connection: Any, name: str, to: str | Path, *, outgoing: bool = ..., population: str | None = ...,
    purpose: str | None = ..., recipient: str | None = ..., legal_basis: str | None = ..., overwrite: bool = ...,
) -> Path: ...  # fmt: skip
def report(
    connection: Any,
    name: str,
    to: str | Path | None = None,
    *,
    outgoing: bool = False,
    population: str | None = None,
    purpose: str | None = None,
    recipient: str | None = None,
    legal_basis: str | None = None,
    overwrite: bool = False,
) -> str | Path:
    """Return the report of a published release as a self-contained HTML page, or write it to a file.

    The report is for the custodian: it names the source and shows values of it. With `outgoing` it contains only what
    the recipient's certificate contains and what follows from the released rows, and shows no value. The page of a
    version is always the same, except for its date, as long as source, policy and hierarchies have not changed; if they
    have, the parts that need the source are omitted, and the page says so.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied.
        name: The name of the release.
        to: A local file; by default the page is returned.
        outgoing: Whether the page is for recipients.
        population: A table of all persons who may be in the release, for the journalist risk; not with `outgoing`.
        purpose: The purpose for which the release is given, for the first page. By default, unless `outgoing`, what
            `publish` stored for the files of this version, or for those with the recipient (or legal basis) that you
            name; if it stored nothing, a line to be filled in by hand.
        recipient: The person or organization that gets the release; by default as for `purpose`.
        legal_basis: The legal basis; by default as for `purpose`.
        overwrite: Whether to replace an existing file. The file appears atomically.

    Returns:
        The page, or the path of the file.

    Raises:
        UnknownReleaseError: There is no such release.
        ReleaseChangedError: The tables of the release have changed since it was published.
        InvalidArgumentError: A parameter is not accepted.
        UnusedArgumentError: `population` is given with `outgoing`.
        UnknownTableError: There is no such population.
        TargetExistsError: The file exists, and `overwrite` is false.
        TargetInUseError: The file is being read.
        TargetNotLocalError: The file is a URL.
        WriteFailedError: The system refuses to write the file.
        MissingExtraError: The packages for reports are not installed.

    Examples:
        ```python
        import dbanon

        dbanon.report(con, "safe", "safe.html", overwrite=True)
        ```
    """
    if not hasattr(connection, "execute"):
        accepts = (
            "a connection: it is created from the ledger, which has the releases that dbanon.create_release published "
            "there"
        )
        raise errors.InvalidArgumentError("report", "connection", accepts, f"a {type(connection).__name__}")
    handover = Handover(recipient, purpose, legal_basis)
    handover.check("report")
    target = None if to is None else output_files.local_target("report", to)
    current = session.find_session(session.plain_connection(connection))
    path = catalog.SearchPath.from_connection(connection)
    with current.cursor() as cursor:
        if target is not None:
            _check_target(target, overwrite, cursor)
        page = _render_report(
            releases.find_published("report", name, cursor, path),
            current,
            cursor,
            path,
            _Options(outgoing, population, handover),
        )
    if target is None:
        return page
    with output_files.open_draft("report", target) as draft:
        draft.write_text(page, encoding="utf-8")
    return target


def _check_target(target: Path, overwrite: bool, cursor: Any) -> None:
    """Check that the report can be written to a file; nothing is written.

    Raises:
        TargetInUseError: The file is being read.
        WriteFailedError: Its folder does not exist.
        TargetExistsError: The file exists, and `overwrite` is false.
    """
    output_files.check_not_source("report", [target], output_files.source_files(cursor))
    with output_files.translate_os_errors("report", target):
        if not target.parent.is_dir():
            raise errors.WriteFailedError(str(target), "there is no such folder", "report")
        if target.exists() and not overwrite:
            raise errors.TargetExistsError(str(target), [str(target)], "report")


def report_sql(call: Call) -> Sql:
    """Return the SQL of the table function report('name'): one row with the page as HTML."""
    entry = releases.find_published(call.function.name, call.text("release"), call.cursor, call.path)
    options = call.options
    handover = Handover(options.text("recipient"), options.text("purpose"), options.text("legal_basis"))
    handover.check(call.function.name)
    return literal_rows(
        {"html": "VARCHAR"},
        [
            [
                _render_report(
                    entry,
                    call.session,
                    call.cursor,
                    call.path,
                    _Options(bool(options["outgoing"]), options.text("population"), handover),
                )
            ]
        ],
    )


@dataclass(frozen=True)
class _Options:
    """The options of a report: whether it is for recipients, a table of a population, and who gets the release."""

    outgoing: bool
    population: str | None
    handover: Handover


def _render_report(
    entry: releases.LedgerEntry, session: Session, cursor: Any, path: catalog.SearchPath, options: _Options
) -> str:
    """Return the report of a version as an HTML page.

    Args:
        entry: The version.
        session: The session.
        cursor: A cursor.
        path: The search path, for the name of the population.
        options: The options.

    Raises:
        UnusedArgumentError: A population is given for a page for recipients.
        ReleaseChangedError: The tables of the release have changed since it was published.
        MissingExtraError: The packages for plots are not installed.
        DbanonError: The population is not usable.
    """
    require_matplotlib("report: a plot")
    outgoing, population = options.outgoing, options.population
    if outgoing and population is not None:
        raise errors.UnusedArgumentError("report", "population", "the outgoing report uses only the released rows")
    if population is not None:
        population = _table_argument(catalog.resolve_source("report", population, cursor, path, {}), entry)
    with _one_transaction(cursor):
        asking = ReleaseReader(certificate.checked_certificate("report", entry, session, cursor), outgoing=outgoing)
        original, problem = (None, None) if outgoing else _unchanged_source(entry, session, cursor)
        page = html.ReportPage(
            title=entry.name if outgoing else entry.display_name,
            outgoing=outgoing,
            created_at=datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") + " UTC",
            front=_front_pages(asking, original, options.handover),
            sections=_sections(asking, original, population),
            notes=[] if problem is None else [problem],
        )
        return html.render_page(page)


def _front_pages(reader: ReleaseReader, source: columns.UnchangedSource | None, handover: Handover) -> html.FrontPages:
    """Return the pages before the appendix; a page for recipients names no other recipients."""
    if not reader.outgoing:
        handover = published_files.stored_handover(reader.cursor, reader.entry, handover)
    lines = reader.certificate.lines(reader.locations if reader.outgoing else None)
    writer = verdict.VerdictWriter(reader.certificate, lines, handover, outgoing=reader.outgoing)
    return html.FrontPages(
        writer.write(),
        three_risks.three_risks(reader, writer, source),
        classes.class_plots(reader),
        classes.worst_classes(reader),
        None if reader.outgoing else handovers.files_table(reader),
    )


def _sections(
    reader: ReleaseReader, source: columns.UnchangedSource | None, population: str | None
) -> Sequence[Section]:
    """Return the sections of a report in order.

    Without the source (`source` is None), parts that need it are omitted. A page for recipients has no attacks, and
    uses only the recipient's certificate and the tables.
    """
    lines = reader.certificate.lines(reader.locations if reader.outgoing else None)
    sections = [
        certificate_sections.release_section(lines),
        certificate_sections.protection_section(lines),
        risks.reidentification_section(reader, lines, population),
        classes.class_size_section(reader),
        columns.loss_section(reader, source),
        columns.values_section(reader, source),
        classes.homogeneity_section(reader),
    ]
    if not reader.outgoing:
        sections.append(attacks.attack_section(reader, source))
    if source is not None:
        sections.append(risks.query_error_section(reader))
    return [*sections, certificate_sections.limits_section(lines)]


def _table_argument(table: catalog.Source, entry: releases.LedgerEntry) -> str:
    """Return the name of a table as an argument of a table function that is called in the database of the release.

    A file keeps its path.
    """
    if names.is_file(table.table):
        return table.table
    return qualified(*([] if table.database == entry.database else [table.database]), table.schema, table.table)


_CHANGED = (
    "The source, the policy or the hierarchies have changed since this version was released, or cannot be read: "
    "everything that follows from the source (attacks, error of queries, levels of generalization, columns before) is "
    "omitted. FROM release_status() shows the changes; a refresh creates a version with a complete report."
)


def _unchanged_source(
    entry: releases.LedgerEntry, session: Session, cursor: Any
) -> tuple[columns.UnchangedSource | None, str | None]:
    """Return the source and None if source, policy and hierarchies have not changed since the release.

    Otherwise return None and a sentence about that, also if the source cannot be read.
    """
    try:
        spec = releases.current_spec(entry, session, cursor)
        fresh = release_status.is_fresh(entry, spec, cursor)
    except Exception:  # a missing source, a policy that no longer fits, a broken view
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        cursor.execute("BEGIN")
        fresh = False
    if not fresh:
        return None, _CHANGED
    source = spec.source
    shown_relation = source.sql if names.is_file(source.table) else qualified(source.schema, source.table)
    person = next((column for column, role in entry.roles.items() if role == "person"), None)
    return columns.UnchangedSource(shown_relation, source.sql, person, _table_argument(source, entry)), None


@contextlib.contextmanager
def _one_transaction(cursor: Any) -> Iterator[None]:
    """Run the block in one transaction, so that all parts of a page describe the same state; it is rolled back."""
    cursor.execute("BEGIN")
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.Error):  # one that failed is over already
            cursor.execute("ROLLBACK")


FUNCTIONS = (
    TableFunction(
        "report",
        ("release",),
        (
            Parameter(
                "outgoing", Boolean(),
                "Only what may be published with the release: no value, and nothing that depends on the source.",
                False,
            ),
            Parameter(
                "population",
                Text("a table's name"),
                "A table of all people among whom the released people may be, for the journalist risk.",
            ),
            Parameter("purpose", Text("a text"), "Purpose for which the release is given; default: as stored by "
            "publish."),
            Parameter("recipient", Text("a text"), "Recipient of the release; default: as stored by publish."),
            Parameter("legal_basis", Text("a text"), "Legal basis; default: as stored by publish."),
        ),
        "Returns one HTML page to read and to file: what a release contains, what it achieves and its remaining "
        "risks, with plots and SQL.",
        handler=report_sql,
        example=Example("SELECT length(html) > 1000 FROM report('safe');", SAFE),
    ),
)  # fmt: skip
