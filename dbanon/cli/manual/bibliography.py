"""The bibliography: all references of code, SQL and documentation as Markdown, and links to its entries."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from dbanon.algorithms.base.registry import references
from dbanon.cli.manual.function_page import escape_markdown, join_parts


@dataclass(frozen=True)
class Reference:
    """An entry of the bibliography: a paper, standard, data set or tool.

    It comes from `references.toml` or from the registration of an algorithm. `cited` is the name by which it is cited,
    `also` a second one.
    """

    cited: str
    authors: str = ""
    title: str = ""
    venue: str = ""
    doi: str = ""
    also: str = ""
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The one or two names by which it is cited."""
        return (self.cited, self.also) if self.also else (self.cited,)

    @property
    def anchor(self) -> str:
        """The anchor of its heading in Markdown: lower case, no punctuation, dashes for blanks.

        >>> Reference("Lin and Wei 2008").anchor
        'lin-and-wei-2008'
        """
        return re.sub(r"[^\w\- ]", "", self.cited.lower()).replace(" ", "-")


_REFERENCES_FILE = tomllib.loads(Path(__file__).with_name("references.toml").read_text(encoding="utf-8"))

PAPERS = tuple(Reference(**paper) for paper in (*_REFERENCES_FILE["papers"], *references()))
"""The entries to which the pages link wherever they are cited."""

WORKS = tuple(
    sorted(
        (*PAPERS, *(Reference(**work) for kind in ("standards", "tools") for work in _REFERENCES_FILE[kind])),
        key=lambda work: work.cited.lower(),
    )
)
"""All entries in the order of the page."""

_FENCED_BLOCK = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_BY_NAME = {name.lower(): work for work in PAPERS for name in work.names}
_CITATION = re.compile(
    r"^#.*$|`[^`\n]*`|\[[^\]\n]*\]\([^)\n]*\)|(?<![\w-])(" + "|".join(map(re.escape, _BY_NAME)) + r")(?![\w-])",
    re.IGNORECASE | re.MULTILINE,
)
"""Headings, code and links, which are not changed, and the names of papers."""


def page() -> str:
    """Return the page of the bibliography as Markdown."""
    return join_parts(
        "# Bibliography",
        "The papers, standards, data and software that the code, the SQL and the documentation of dbanon cite. A DOI "
        "is given if it is known for certain.",
        *(part for work in WORKS for part in (f"## {work.cited}", _reference_entry(work))),
    )


def link_citations(text: str, target: str) -> str:
    """Return Markdown in which every citation of a paper is a link to its entry on the page `target`.

    Headings, code and links are unchanged.

    >>> link_citations("After Lin and Wei 2008.", "bibliography.md")
    'After [Lin and Wei 2008](bibliography.md#lin-and-wei-2008).'
    """

    def link(match: re.Match[str]) -> str:
        """Return the link for a match that is a citation; the matched text otherwise."""
        return f"[{match[1]}]({target}#{_BY_NAME[match[1].lower()].anchor})" if match[1] else match[0]

    return "".join(part if i % 2 else _CITATION.sub(link, part) for i, part in enumerate(_FENCED_BLOCK.split(text)))


def _reference_entry(work: Reference) -> str:
    """Return the text of an entry below its heading: authors, title, venue, DOI, second name and note."""
    fields = (work.authors, f"*{escape_markdown(work.title)}*" if work.title else "", escape_markdown(work.venue))
    sentences = [part if part.endswith(".") else f"{part}." for part in fields if part]
    if work.doi:
        sentences.append(f"[doi:{work.doi}](https://doi.org/{work.doi}).")
    if work.also:
        sentences.append(f"Also cited as: {work.also}.")
    return " ".join([*sentences, *([work.note] if work.note else [])])
