"""Render a report as one HTML page that loads nothing from a network."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jinja2

from dbanon.publishing.certificate import Line
from dbanon.publishing.report.blocks import (
    AdjacentTables,
    CertificateLines,
    NoteBlock,
    PlotBlock,
    ResultTable,
    Section,
    format_cell,
    format_share,
)
from dbanon.publishing.report.three_risks import TERMS, Risk
from dbanon.publishing.report.verdict import Verdict
from dbanon.sqltext.quote import Sql, one_line

_SHORT_LENGTH = 24
"""Maximum number of characters of a cell that is not wrapped."""


@dataclass(frozen=True)
class FrontPages:
    """The pages before the appendix.

    Attributes:
        verdict: The first page.
        risks: The three risks.
        plots: The plots below them.
        worst: The worst classes; None if there is no sensitive column.
        files: The published files of the version; None in a page for recipients.
    """

    verdict: Verdict
    risks: Sequence[Risk]
    plots: Sequence[PlotBlock]
    worst: ResultTable | None = None
    files: ResultTable | None = None


@dataclass(frozen=True)
class ReportPage:
    """The contents of a page.

    Attributes:
        title: The name of the release.
        outgoing: Whether the page is for recipients.
        created_at: The time at which the page was created.
        sections: The sections of the appendix.
        notes: Sentences at the beginning of the page.
        front: What is before the appendix; None for a page that is only an appendix.
    """

    title: str
    outgoing: bool
    created_at: str
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    front: FrontPages | None = None


@dataclass
class _NumberedQueries:
    """The distinct queries of a page, numbered from 1 in the order in which they are first referred to."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, sql: Sql) -> int:
        """Return the number of a query; a new query gets the next number."""
        return self.numbers.setdefault(str(sql), len(self.numbers) + 1)


def render_page(page: ReportPage) -> str:
    """Return the page as HTML. Every name and value in it is escaped."""
    return _environment().get_template("page.html").render(page=page, terms=TERMS, queries=_NumberedQueries())


@cache
def _environment() -> jinja2.Environment:
    """Return the Jinja environment of the page, with its tests for kinds of blocks and its filters; created once."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, kind in {
        "facts": CertificateLines,
        "table": ResultTable,
        "beside": AdjacentTables,
        "plot": PlotBlock,
        "note": NoteBlock,
    }.items():
        environment.tests[name] = lambda part, kind=kind: isinstance(part, kind)
    environment.filters |= {
        "shown": format_cell,
        "told": _format_line,
        "one_line": one_line,
        "grouped": _lines_by_section,
    }
    environment.tests["short"] = lambda value: len(format_cell(value) or "") <= _SHORT_LENGTH
    environment.tests["measured"] = lambda value: isinstance(value, int | float)
    return environment


def _format_line(line: Line) -> str:
    """Return the value of a certificate's line as a page shows it.

    A value with SQL is formatted as a number if it is finite, and a share as a percentage. Every other value is shown
    in full.
    """
    if line.sql is None or not math.isfinite(number := float(line.value)):
        return one_line(line.value)
    if is_share(line):
        return format_share(number)
    return format_cell(number) or ""


def is_share(line: Line) -> bool:
    """Return whether the number in a certificate's line is a share or a probability."""
    if line.section == "risk":
        return line.label.startswith(("prosecutor", "marketer"))
    if (line.section, line.label) == ("achieved", "precision"):
        return True
    return line.label.startswith("share of records") or line.label.endswith(": share without information")


def _lines_by_section(facts: CertificateLines) -> list[tuple[str, list[Line]]]:
    """Return pairs of a section and its lines; sections are in the order in which they first occur."""
    sections = dict.fromkeys(line.section for line in facts.lines)
    return [(section, [line for line in facts.lines if line.section == section]) for section in sections]
