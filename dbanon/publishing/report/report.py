"""report: what a release is, what protects it and what does not, as one HTML page to read and to file."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, overload

import duckdb

from dbanon import errors
from dbanon.audit.plots.drawing import library
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import release_status, releases
from dbanon.publishing import certificate
from dbanon.publishing.report import attacks, certificate_sections, classes, columns, html, risks
from dbanon.publishing.report.blocks import Section
from dbanon.publishing.report.queries import Asking
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
    overwrite: bool = ...,
) -> str: ...  # fmt: skip
@overload
def report(
    connection: Any, name: str, to: str | Path, *, outgoing: bool = ..., population: str | None = ...,
    overwrite: bool = ...,
) -> Path: ...  # fmt: skip
def report(
    connection: Any,
    name: str,
    to: str | Path | None = None,
    *,
    outgoing: bool = False,
    population: str | None = None,
    overwrite: bool = False,
) -> str | Path:
    """The report of a published release: an HTML page that needs nothing beside it, as text, or written to a file.

    It is the custodian's: it names the source and shows values of it. With `outgoing` it says what the certificate
    that goes out says and what follows from the released rows, and shows no value. `population` is a table of
    everybody the released people may be among, for the journalist's risk. `to` is a local file, which is refused where
    it exists unless `overwrite`, and appears whole or not at all; its path is given back.

    One version of a release has one page, but for the time at which it was made, as long as source, policy and
    hierarchies are as they were; where they are not, what follows from the source is left out, and the page says so.
    Raises UnknownReleaseError, ReleaseChangedError, InvalidArgumentError, UnknownTableError, TargetExistsError,
    TargetInUseError, TargetNotLocalError, WriteFailedError, MissingExtraError.
    """
    if not hasattr(connection, "execute"):
        accepts = "a connection: it is made from the ledger, which has what dbanon.create_release published there"
        raise errors.InvalidArgumentError("report", "connection", accepts, f"a {type(connection).__name__}")
    library()
    target = None if to is None else output_files.local_target("report", to)
    current = session.find_session(getattr(connection, "raw", connection))
    path = catalog.SearchPath.here(connection)
    with current.cursor() as cursor:
        if target is not None:
            _check_target(target, overwrite, cursor)
        made = _page(releases.find_published("report", name, cursor, path), current, cursor, path, outgoing, population)
    if target is None:
        return made
    with output_files.open_draft("report", target) as draft:
        draft.write_text(made, encoding="utf-8")
    return target


def _check_target(target: Path, overwrite: bool, cursor: Any) -> None:
    """Raise TargetInUseError for a file that is read, TargetExistsError for another one."""
    output_files.check_not_source("report", [target], output_files.source_files(cursor))
    with output_files.translate_os_errors("report", target):
        if not target.parent.is_dir():
            raise errors.WriteFailedError(str(target), "there is no such folder", "report")
        if target.exists() and not overwrite:
            raise errors.TargetExistsError(str(target), [str(target)], "report")


def statement(call: Call) -> Sql:
    """Return the SQL of report('name'): one row, the page."""
    library()
    entry = releases.find_published(call.function.name, call.text("release"), call.cursor, call.path)
    options = call.options
    made = _page(entry, call.session, call.cursor, call.path, bool(options["outgoing"]), options.text("population"))
    return literal_rows({"html": "VARCHAR"}, [[made]])


def _page(
    entry: releases.LedgerEntry,
    session: Session,
    cursor: Any,
    path: catalog.SearchPath,
    outgoing: bool,
    population: str | None,
) -> str:
    """Return the page of a version; ReleaseChangedError, and errors of the population."""
    if outgoing and population is not None:
        raise errors.UnusedArgumentError("report", "population", "what goes out is judged by the released rows alone")
    if population is not None:
        population = _named(catalog.resolve_source("report", population, cursor, path, {}), entry)
    with _reading(cursor):
        asking = Asking(certificate.unbroken("report", entry, session, cursor), outgoing=outgoing)
        before, problem = (None, None) if outgoing else _source(entry, session, cursor)
        told = html.Page(
            title=entry.name if outgoing else entry.shown,
            outgoing=outgoing,
            made=datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") + " UTC",
            sections=_sections(asking, before, population),
            notes=[] if problem is None else [problem],
        )
        return html.html(told)


def _sections(asking: Asking, before: columns.Before | None, population: str | None) -> Sequence[Section]:
    """Return the chapters.

    What goes out has the lines of the certificate that goes out, and asks nothing but the tables.
    """
    lines = asking.certificate.lines(asking.at if asking.outgoing else None)
    found = [
        certificate_sections.released(lines),
        certificate_sections.protected(lines),
        risks.reidentification(asking, lines, population),
        classes.sizes(asking),
        columns.loss(asking, before),
        columns.values(asking, before),
        classes.leading(asking),
    ]
    if not asking.outgoing:
        found.append(attacks.attacks(asking, before))
    if before is not None:
        found.append(risks.query_error(asking))
    return [*found, certificate_sections.unprotected(lines)]


def _named(table: catalog.Source, entry: releases.LedgerEntry) -> str:
    """Return a table as a call names it that is read beside the release."""
    if names.is_file(table.table):
        return table.table
    return qualified(*([] if table.database == entry.database else [table.database]), table.schema, table.table)


_CHANGED = (
    "The source, the policy or the hierarchies are not what they were when this version was released, or cannot be "
    "read: what follows from the source (attacks, error of queries, levels of generalization, columns before) is left "
    "out. FROM release_status() says what has changed; a refresh makes a version of which all can be told."
)


def _source(entry: releases.LedgerEntry, session: Session, cursor: Any) -> tuple[columns.Before | None, str | None]:
    """Return the source, where it is what was released, and otherwise a sentence about that."""
    try:
        now = releases.current_spec(entry, session, cursor)
        fresh = release_status.is_fresh(entry, now, cursor)
    except Exception:  # a missing source, a policy that no longer fits, a broken view
        with contextlib.suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        cursor.execute("BEGIN")
        fresh = False
    if not fresh:
        return None, _CHANGED
    source = now.source
    shown = source.sql if names.is_file(source.table) else qualified(source.schema, source.table)
    person = next((column for column, role in entry.roles.items() if role == "person"), None)
    return columns.Before(shown, source.sql, person, _named(source, entry)), None


@contextlib.contextmanager
def _reading(cursor: Any) -> Iterator[None]:
    """Return one state of the database, for all that a page says."""
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
                "What may go out with the release: no value, nothing that follows from the source.",
                False,
            ),
            Parameter(
                "population",
                Text("a table's name"),
                "A table of everybody the released people may be among, for the journalist's risk.",
            ),
        ),
        "What a release is, achieves and leaves at risk, with plots and SQL, as one HTML page to read and to file.",
        handler=statement,
        example=Example("SELECT length(html) > 1000 FROM report('safe');", SAFE),
    ),
)  # fmt: skip
