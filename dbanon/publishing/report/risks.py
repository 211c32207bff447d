"""The report's sections about re-identification and disclosure, and about the error of queries on the release."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbanon.errors import DbanonError
from dbanon.publishing.certificate import Line
from dbanon.publishing.report import svg
from dbanon.publishing.report.blocks import (
    Block,
    CertificateLines,
    NoteBlock,
    PlotBlock,
    ResultTable,
    Section,
    format_share,
)
from dbanon.publishing.report.queries import ReleaseReader

LinesByItem = Mapping[tuple[str, str], Line]
"""The lines of a certificate by section and item."""

_COLUMNS = ("name", "sensitive", "value", "classes", "records", "description")
_HEADER = ("number", "sensitive column", "value", "classes", "records", "what it is")


def reidentification_section(reader: ReleaseReader, lines: Sequence[Line], population: str | None) -> Section:
    """Return the section about prosecutor, journalist and marketer risk.

    For the custodian, it also has the results of the table functions reidentification, disclosure and exposure.

    Args:
        reader: The reader.
        lines: The lines of the certificate.
        population: A table of all persons who may be in the release; None if there is none.
    """
    lines_by_item: LinesByItem = {(line.section, line.label): line for line in lines}
    people = "persons" if reader.shape.persons is not None else "records"
    highest, average = (lines_by_item["risk", f"prosecutor, {statistic}"].value for statistic in ("highest", "average"))
    sentences = [
        "The prosecutor knows that a person is in the release, and the person's quasi-identifiers. This leads to a "
        f"class of at least {lines_by_item['achieved', 'k'].value} {people}: picking one of them is right with a "
        f"chance of at most {_brief(highest)}, on average {_brief(average)}.",
        f"The marketer wants to name as many records as possible: if the marketer assigns the people of "
        "each class to its records at random, "
        f"{_brief(lines_by_item['risk', 'marketer, average'].value)} of the records are expected to be named right."
        + (" The table below computes this share with the people of the population instead." if population else ""),
        "The journalist knows a person of a wider population, but not whether that person is in the release. The "
        "population contains all released people, so this risk is never above the prosecutor's."
        + ("" if population else " To compute it, a table of the population is needed."),
        "A reader who knows more than the quasi-identifiers, such as values of unchanged columns, can be more certain "
        "than that.",
    ]
    parts: list[Block] = [CertificateLines([line for line in lines if line.section == "risk"])]
    if not reader.outgoing:
        arguments: dict[str, object] = {} if population is None else {"population": population}
        parts.append(
            _risk_table(
                reader, "reidentification", "Risk of re-identification; above: share of records above 20%", arguments
            )
        )
        for name, caption in (
            ("disclosure", "Chance to guess a sensitive value from its class"),
            (
                "exposure",
                "Share of the most frequent sensitive value that lies in classes where it is the most frequent",
            ),
        ):
            if reader.shape.sensitive:
                parts.append(_risk_table(reader, name, caption, {}))
    return Section("risk", "Risk of re-identification", sentences, parts)


def _risk_table(reader: ReleaseReader, name: str, caption: str, arguments: Mapping[str, object]) -> Block:
    """Return the rows of a table function about risk as a table; a note if a call without arguments fails.

    Raises:
        DbanonError: The function raised it, and `arguments` were given.
    """
    try:
        table = reader.table(caption, _HEADER, reader.function(name, _COLUMNS, arguments))
        return replace(table, mixed=(2,), names=(0,))
    except DbanonError as problem:
        if arguments:
            raise
        return NoteBlock(f"{caption}: this could not be computed. {problem}")


def _brief(value: str) -> str:
    """Return a probability, given as text, as a page shows it."""
    return format_share(float(value))


def query_error_section(reader: ReleaseReader) -> Section:
    """Return the section about the error of random counts and averages on the release, compared with its source.

    It has a note if the table function query_error raises an error of dbanon.
    """
    columns = ("kind", "predicates", "queries", "median", "p95", "mean")
    sentences = [
        "Random counts and averages were computed on the release and on its source. The relative error is the "
        "difference divided by the true answer. Half of the answers have at most the error in the column median, "
        "and 95 of 100 at most the error in the column p95."
    ]
    try:
        query = reader.function("query_error", columns, {})
    except DbanonError as problem:
        return Section("queries", "Error of queries", sentences, [NoteBlock(f"This could not be computed. {problem}")])
    rows = reader.rows(query)
    lines = [(f"{row[0]}, {row[1]}", row[3], row[4]) for row in rows if row[3] is not None and row[4] is not None]
    caption = "Relative error by number of predicates"
    parts: list[Block] = [ResultTable(caption, columns, rows, query.display_sql, shares=(3, 4, 5))]
    if lines:
        svg_text = svg.range_plot(lines, "relative error, median and p95")
        parts.insert(
            0, PlotBlock(svg_text, "Relative error of queries by their number of predicates.", [query.display_sql])
        )
    return Section("queries", "Error of queries", sentences, parts)
