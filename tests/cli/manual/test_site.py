"""The documentation site: it builds strictly, its pages and its search work in a browser, on screens of any width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import documents, generated, site

import dbanon

pytestmark = pytest.mark.all_cases

WIDTHS = (1280, 390)
PAGES = ("", "how-to/choosing/", "manual/functions/kacpc/", "python-api/")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, once for all tests of this file."""
    site.require_tools()
    target = tmp_path_factory.mktemp("site")
    site.build_site(target)
    return target


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Serve the site."""
    with site.serve_folder(folder) as served:
        yield served


def test_search_index_has_every_page(folder: Path) -> None:
    docs = documents.ROOT / "docs"
    paths = {page.relative_to(docs).with_suffix("").as_posix() for page in docs.rglob("*.md")}
    assert site.index_locations(folder) == {re.sub(r"(^|/)index/$", r"\1", f"{path}/") for path in paths}


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_need_no_other_host_and_fit_window(address: str, width: int) -> None:
    with site.visit(address, width) as visitor:
        visitor.open("")
        visitor.follow("how-to/choosing/")
        visitor.open("algorithms/")
        visitor.open("manual/")
        visitor.follow("functions/kacpc/")
        assert visitor.page.locator("article h1").first.inner_text().startswith("kacpc")
        assert visitor.page.locator("article table").count() >= 4
        visitor.open("python-api/")
        assert visitor.problems == []


def test_navigation_fits_window_of_1280_pixels(address: str) -> None:
    with site.visit(address, 1280) as visitor:
        visitor.open("manual/functions/kacpc/")
        tabs = visitor.page.locator(".md-tabs__link")
        assert [text.strip() for text in tabs.all_inner_texts()] == [
            "Start", "Tutorial", "How-to", "Reference", "Explanation",
        ]  # fmt: skip
        assert all(tab.evaluate("tab => tab.getBoundingClientRect().right <= innerWidth") for tab in tabs.all())


@pytest.mark.parametrize("width", WIDTHS)
def test_search_by_keyboard_leads_to_algorithm(address: str, width: int) -> None:
    with site.visit(address, width) as visitor:
        visitor.open("")
        visitor.search("kacpc center point").click()
        visitor.page.wait_for_url("**/manual/functions/kacpc/**")
        visitor.check_page()
        assert visitor.problems == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_serious_problem(address: str, dark: bool) -> None:
    with site.visit(address, 1280, dark=dark) as visitor:
        findings = {}
        for path in PAGES:
            visitor.open(path)
            findings[path] = visitor.serious_findings()
        visitor.open("")
        visitor.search("kacpc")
        findings["search"] = visitor.serious_findings()
        assert not any(findings.values()), findings


def test_code_blocks_have_button_that_copies(address: str) -> None:
    with site.visit(address, 1280) as visitor:
        visitor.open("tutorial/")
        assert visitor.page.locator("button.md-clipboard, button.md-code__button").count() >= 5


def test_python_page_has_every_public_name() -> None:
    text = documents.text(documents.ROOT / "docs" / "python-api.md")
    assert [name for name in dbanon.__all__ if f"::: dbanon.{name}\n" not in text] == []


def test_navigation_of_functions_is_current() -> None:
    page = documents.ROOT / "mkdocs.yml"
    assert documents.text(page) == generated.pages()[page], "python -m tests.support.generated"
