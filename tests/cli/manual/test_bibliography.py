"""Every cited work is in the bibliography under the name by which it is cited."""

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

pytestmark = pytest.mark.all_cases

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
"""All files that may cite."""


@pytest.fixture(scope="module")
def texts() -> dict[Path, str]:
    """Return all texts that may cite, each on one line."""
    return {path: re.sub(r"\s+(?:-- )?", " ", documents.text(path)) for path in [*READ, documents.README]}


def test_every_algorithm_source_names_bibliography_entry() -> None:
    assert len(SOURCES) > 50
    assert [name for name, source in SOURCES.items() if bibliography.link_citations(source, "") == source] == []


def test_papers_are_cited_by_author_and_not_by_number(texts: dict[Path, str]) -> None:
    numbered_pattern = re.compile(r"\bS[0-4]\b(?!:)")
    assert [str(path) for path, text in texts.items() if numbered_pattern.search(text)] == []
    for function in table_functions().values():
        assert not numbered_pattern.search(f"{function.doc} {[p.doc for p in function.parameters]}"), function.name


def test_every_citation_has_bibliography_entry(texts: dict[Path, str]) -> None:
    name = r"[A-Z][a-z]+(?:-[A-Z][a-z]+)?"
    citation = re.compile(rf"\b({name} (?:et al\.|and {name})) \(?((?:19|20)\d\d)\b")
    known_citeds = [work.cited for work in bibliography.PAPERS]
    values = {(path, f"{person} {year}") for path, text in texts.items() for person, year in citation.findall(text)}
    assert len(values) > 100
    assert [(str(path), cited) for path, cited in values if not any(k.endswith(cited) for k in known_citeds)] == []


def test_every_bibliography_entry_is_cited(texts: dict[Path, str]) -> None:
    all_text = " ".join(texts.values()).lower()
    for work in bibliography.WORKS:
        year = re.sub(r" (\d{4})$", r" \(?\1", re.escape(work.cited.lower()).replace(r"\ ", " "))
        names = [year, *(re.escape(name.lower()) for name in work.names[1:])]
        assert re.search("|".join(names), all_text), work.cited


def test_entries_have_unique_anchor_and_valid_doi() -> None:
    names = [name.lower() for work in bibliography.WORKS for name in work.names]
    assert len(set(names)) == len(names)
    assert len({work.anchor for work in bibliography.WORKS}) == len(bibliography.WORKS)
    assert {work.anchor for work in bibliography.WORKS} <= documents.anchors(documents.MANUAL / "bibliography.md")
    for work in bibliography.WORKS:
        assert re.fullmatch(r"(10\.\d{4,}/\S+)?", work.doi), work.cited


def test_citations_linked_in_prose_not_in_code() -> None:
    old_text, new_text = "# Cohen 2022\n\n", ", `Cohen 2022`, [Cohen 2022](x.md)\n\n```sql\n-- Cohen 2022\n```\n"
    linked_text = f"{old_text}[Cohen 2022](b.md#cohen-2022){new_text}"
    assert bibliography.link_citations(f"{old_text}Cohen 2022{new_text}", "b.md") == linked_text
