"""What is cited stands in the bibliography, under the name by which it is cited."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import documents

from dbanon.algorithms import algorithms
from dbanon.cli.manual import bibliography
from dbanon.privacy_models import registry
from dbanon.release.plan import metrics
from dbanon.table_functions.registry import table_functions

pytestmark = pytest.mark.whole

SOURCES = {
    **{f"algorithm {a.name}": a.source for a in algorithms()},
    **{f"model {m.name}": m.source for m in registry.models()},
    **{f"metric {m.name}": m.source for m in metrics.all_metrics() if m.source != "-"},
}

READ = [
    path
    for folder, ending in (("dbanon", "py"), ("sql", "sql"), ("docs", "md"))
    for path in sorted((documents.ROOT / folder).rglob(f"*.{ending}"))
    if path.name != "bibliography.md"
]
"""Everything that may cite."""


@pytest.fixture(scope="module")
def texts() -> dict[Path, str]:
    """All that may cite, each text on one line."""
    return {path: re.sub(r"\s+(?:-- )?", " ", documents.text(path)) for path in [*READ, documents.README]}


def test_every_source_names_an_entry() -> None:
    assert len(SOURCES) > 50
    assert [name for name, source in SOURCES.items() if not bibliography.cited_papers(source)] == []


def test_papers_have_the_names_that_readers_know(texts: dict[Path, str]) -> None:
    numbered = re.compile(r"\bS[0-4]\b(?!:)")
    assert [str(path) for path, text in texts.items() if numbered.search(text)] == []
    for function in table_functions().values():
        assert not numbered.search(f"{function.doc} {[p.doc for p in function.parameters]}"), function.name


def test_whoever_is_cited_by_name_and_year_has_an_entry(texts: dict[Path, str]) -> None:
    name = r"[A-Z][a-z]+(?:-[A-Z][a-z]+)?"
    citation = re.compile(rf"\b({name} (?:et al\.|and {name})) \(?((?:19|20)\d\d)\b")
    known = [work.cited for work in bibliography.PAPERS]
    found = {(path, f"{who} {year}") for path, text in texts.items() for who, year in citation.findall(text)}
    assert len(found) > 100
    assert [(str(path), cited) for path, cited in found if not any(k.endswith(cited) for k in known)] == []


def test_every_entry_is_cited(texts: dict[Path, str]) -> None:
    every = " ".join(texts.values()).lower()
    for work in bibliography.WORKS:
        year = re.sub(r" (\d{4})$", r" \(?\1", re.escape(work.cited.lower()).replace(r"\ ", " "))
        names = [year, *(re.escape(name.lower()) for name in work.names[1:])]
        assert re.search("|".join(names), every), work.cited


def test_entries_have_one_anchor_each_and_dois_that_look_like_some() -> None:
    names = [name.lower() for work in bibliography.WORKS for name in work.names]
    assert len(set(names)) == len(names)
    assert len({work.anchor for work in bibliography.WORKS}) == len(bibliography.WORKS)
    assert {work.anchor for work in bibliography.WORKS} <= documents.anchors(documents.MANUAL / "bibliography.md")
    for work in bibliography.WORKS:
        assert re.fullmatch(r"(10\.\d{4,}/\S+)?", work.doi), work.cited


def test_names_in_prose_are_linked_and_those_in_code_links_and_headings_are_not() -> None:
    before, after = "# Cohen 2022\n\n", ", `Cohen 2022`, [Cohen 2022](x.md)\n\n```sql\n-- Cohen 2022\n```\n"
    linked = f"{before}[Cohen 2022](b.md#cohen-2022){after}"
    assert bibliography.link_citations(f"{before}Cohen 2022{after}", "b.md") == linked
