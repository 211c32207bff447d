"""The layout of the report: headings in order, figures without controls, tables that stack."""

import re
from itertools import pairwise
from typing import Any

from dbanon.publishing.report import html, svg
from dbanon.publishing.report.blocks import PlotBlock, ResultTable, Section
from dbanon.sqltext.quote import Sql


def layout_page() -> str:
    """Return a page with a table and a plot."""
    table = ResultTable("Sizes", ("records", "classes"), [(10, 2)], Sql("SELECT 1"))
    plot = PlotBlock(svg.count_histogram([(10, 2)], "records", "classes"), "Classes.", [Sql("SELECT 1")])
    section = Section("sizes", "Class sizes", [], [table, plot])
    return html.render_page(html.ReportPage(title="safe", outgoing=True, created_at="now", sections=[section]))


def test_report_headings_are_in_order() -> None:
    levels = [int(level) for level in re.findall(r"<h(\d)", layout_page())]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_full_report_headings_and_interactive_content(clinic: Any) -> None:
    for page in clinic[2:]:
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        images = re.findall(r'<div role="img".*?</div>', page, re.DOTALL)
        assert len(images) >= 3 and not any(re.search(r"<(?:a|button|input)\b|tabindex", image) for image in images)
        for link in re.findall(r"<a\b.*?</a>", page, re.DOTALL):
            assert link.count("<a") == 1 and "<button" not in link


def test_report_has_two_pages_before_the_appendix(clinic: Any) -> None:
    """Each begins a new sheet of paper; the lists on them have a bounded length."""
    for page in clinic[2:]:
        sections = re.findall(r'<section class="(\w+)"', page)
        assert sections == ["verdict", "risks", "appendix"]
    assert ".risks, .appendix { break-before: page; }" in clinic[2]


def test_report_number_columns_are_right_aligned_with_headings() -> None:
    assert '<th scope="col" class="n"><bdi>records</bdi>' in layout_page()


def test_report_images_contain_no_links() -> None:
    images = re.findall(r'<div role="img".*?</div>', layout_page(), re.DOTALL)
    assert len(images) == 1 and "<svg" in images[0] and "<a " not in images[0]


def test_report_cells_name_their_column() -> None:
    assert re.findall(r'<td data-label="([^"]+)"', layout_page()) == ["records", "classes"]
    assert "content: attr(data-label)" in layout_page()


def test_report_histogram_of_one_size_starts_at_zero() -> None:
    ticks = re.findall(r">(\d+)</text>", svg.count_histogram([(10, 2)], "records", "classes"))
    assert "0" in ticks and "9" not in ticks
