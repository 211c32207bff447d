"""The bibliography: everything that code, SQL and documentation cite, as Markdown, and links to its entries."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from dbanon.algorithms.base.registry import REFERENCES
from dbanon.cli.manual.function_page import prose


@dataclass(frozen=True)
class Work:
    """A paper, a standard, a data set or a tool: one entry of `references.toml`, which says what the fields are,
    or of the registration of an algorithm."""

    cited: str
    authors: str = ""
    title: str = ""
    venue: str = ""
    doi: str = ""
    also: str = ""
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which it is cited."""
        return (self.cited, self.also) if self.also else (self.cited,)

    @property
    def anchor(self) -> str:
        """The anchor of its entry, as of any heading: lower case, no punctuation, dashes for blanks.

        >>> Work("Lin and Wei 2008").anchor
        'lin-and-wei-2008'
        """
        return re.sub(r"[^\w\- ]", "", self.cited.lower()).replace(" ", "-")


_REFERENCES = tomllib.loads(Path(__file__).with_name("references.toml").read_text(encoding="utf-8"))

PAPERS = tuple(Work(**paper) for paper in (*_REFERENCES["papers"], *REFERENCES))
"""The entries that the pages link wherever they name them."""

WORKS = tuple(
    sorted(
        (*PAPERS, *(Work(**work) for kind in ("standards", "tools") for work in _REFERENCES[kind])),
        key=lambda work: work.cited.lower(),
    )
)
"""All entries in the order of the page."""

_FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_BY_NAME = {name.lower(): work for work in PAPERS for name in work.names}
_CITED = re.compile(
    r"^#.*$|`[^`\n]*`|\[[^\]\n]*\]\([^)\n]*\)|(?<![\w-])(" + "|".join(map(re.escape, _BY_NAME)) + r")(?![\w-])",
    re.IGNORECASE | re.MULTILINE,
)
"""Headings, code and links, which stay as they are, and the names of papers."""


def page() -> str:
    """Return the bibliography."""
    parts = [
        "# Bibliography",
        "What code, SQL and documentation cite: papers, standards, data and software. A DOI stands where it is known "
        "for certain.",
    ]
    for work in WORKS:
        parts += [f"## {work.cited}", _entry(work)]
    return "\n\n".join(parts) + "\n"


def cited(text: str) -> list[Work]:
    """Return the papers that a text names, in its order."""
    return [_BY_NAME[name.lower()] for name in _CITED.findall(text) if name]


def linked(text: str, target: str) -> str:
    """Markdown in which every name of a paper leads to its entry on the page `target`.

    >>> linked("After Lin and Wei 2008.", "bibliography.md")
    'After [Lin and Wei 2008](bibliography.md#lin-and-wei-2008).'
    """

    def link(found: re.Match[str]) -> str:
        return f"[{found[1]}]({target}#{_BY_NAME[found[1].lower()].anchor})" if found[1] else found[0]

    parts = _FENCED.split(text)
    return "".join(part if i % 2 else _CITED.sub(link, part) for i, part in enumerate(parts))


def _entry(work: Work) -> str:
    given = (work.authors, f"*{prose(work.title)}*" if work.title else "", prose(work.venue))
    sentences = [part if part.endswith(".") else f"{part}." for part in given if part]
    if work.doi:
        sentences.append(f"[doi:{work.doi}](https://doi.org/{work.doi}).")
    if work.also:
        sentences.append(f"Also cited as: {work.also}.")
    return " ".join([*sentences, *([work.note] if work.note else [])])
