"""A report as one HTML page, which asks no network for anything."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jinja2

from dbanon.publishing.certificate import Line
from dbanon.publishing.report.blocks import Beside, Facts, Note, Plot, Section, Table, shown
from dbanon.sqltext.quote import Sql, one_line

_SHORT = 24
"""Characters of a cell that stands in one line."""


@dataclass(frozen=True)
class Page:
    """What a page says: of which release, to whom, when it was made, and the chapters."""

    title: str
    outgoing: bool
    made: str
    sections: Sequence[Section]
    notes: Sequence[str] = ()


@dataclass
class _Queries:
    """The queries of a page, each once, numbered as they are first referred to."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, sql: Sql) -> int:
        return self.numbers.setdefault(str(sql), len(self.numbers) + 1)


def html(page: Page) -> str:
    """Return the page as text. Every name and value in it is escaped."""
    return _environment().get_template("page.html").render(page=page, queries=_Queries())


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, kind in {"facts": Facts, "table": Table, "beside": Beside, "plot": Plot, "note": Note}.items():
        environment.tests[name] = lambda part, kind=kind: isinstance(part, kind)
    environment.filters |= {"shown": shown, "told": _told, "one_line": one_line, "grouped": _grouped}
    environment.tests["short"] = lambda value: len(shown(value) or "") <= _SHORT
    environment.tests["measured"] = lambda value: isinstance(value, int | float)
    return environment


def _told(line: Line) -> str:
    """Return the value of a certificate's line: numbers that have SQL as everywhere on the page, words whole."""
    if line.sql is None or not math.isfinite(number := float(line.value)):
        return one_line(line.value)
    return shown(number) or ""


def _grouped(facts: Facts) -> list[tuple[str, list[Line]]]:
    """Return lines by their section, in order."""
    sections = dict.fromkeys(line.section for line in facts.lines)
    return [(section, [line for line in facts.lines if line.section == section]) for section in sections]
