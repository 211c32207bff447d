"""A report in a browser: it fits a phone, all texts are readable, and no network is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import axe, browser

import dbanon

NETWORK = """<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none';
style-src 'unsafe-inline'"></head><body style="background:#fff;color:#aaa"><p style="width:600px">pale and wide</p>
<script>alert(1)</script><img src="https://example.invalid/a.png"></body></html>"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("form", ["custodian", "outgoing"])
def test_report_page_fits_phone_in_light_and_dark_mode(clinic: Any, form: str, dark: bool, tmp_path: Path) -> None:
    visited = browser.measure_page(clinic[3 if form == "outgoing" else 2], tmp_path, dark=dark)
    assert visited.console == []
    for width, position in visited.at.items():
        assert position["width"] == width and position["needed"] <= width, position
        assert position["wide"] == [] and position["pale"] == [] and position["asked"] == []
        assert position["texts"] > 200
        assert (sum(map(int, position["background"][4:-1].split(", "))) < 150) == dark
    assert visited.at[360]["boxes"] > 5, "wide tables and SQL scroll by themselves"


@pytest.mark.parametrize("form", ["custodian", "outgoing"])
def test_report_has_no_serious_accessibility_finding(clinic: Any, form: str, tmp_path: Path) -> None:
    assert axe.serious_findings(clinic[3 if form == "outgoing" else 2], tmp_path) == []


def test_axe_detects_faults(tmp_path: Path) -> None:
    page = (
        '<!DOCTYPE html><html><body><div role="img" aria-label="a"><a href="#b">b</a></div><img src="x"></body></html>'
    )
    assert {rule for _, rule, _ in axe.serious_findings(page, tmp_path)} >= {"image-alt", "nested-interactive"}


def test_browser_checker_detects_layout_and_network_faults(tmp_path: Path) -> None:
    visited = browser.measure_page(NETWORK, tmp_path)
    assert len(visited.console) >= 2 and any("https://example.invalid" in line for line in visited.console)
    position = visited.at[360]
    assert position["needed"] > 360 and position["wide"] == ["P: pale and wide"]
    assert position["pale"] == [["pale and wide", 2.32]] and position["asked"] == ["https://example.invalid/a.png"]


def without_appendix(page: str) -> str:
    start = page.index('<section class="appendix"')
    return page[:start] + page[page.index("</main>") :]


@pytest.mark.parametrize("form", ["custodian", "outgoing"])
def test_report_prints_on_two_pages_without_appendix(clinic: Any, form: str, tmp_path: Path) -> None:
    page = clinic[3 if form == "outgoing" else 2]
    assert browser.printed_pages(without_appendix(page), tmp_path) == 2
    assert browser.printed_pages(page, tmp_path) > 2


def test_report_with_many_columns_prints_on_two_pages(tmp_path: Path) -> None:
    names = [f"a_column_with_a_long_name_{i}" for i in range(12)]
    with dbanon.connect() as con:
        columns = ", ".join(f"(hash(i * 100 + {n}) % 5)::INTEGER AS {name}" for n, name in enumerate(names))
        con.execute(f"CREATE TABLE wide AS SELECT {columns} FROM range(60) AS r (i)")
        roles = dict.fromkeys(names[:8], "quasi") | dict.fromkeys(names[8:], "sensitive")
        dbanon.declare(con, "wide", **roles)
        dbanon.create_release(con, "safe", "mondrian", "wide", k=5)
        for number in range(4):
            text = f"a long name of a recipient or a purpose {number}"
            dbanon.publish(con, "safe", tmp_path / f"{number}.duckdb", recipient=text, purpose=text)
        page = dbanon.report(con, "safe")
    assert browser.printed_pages(without_appendix(page), tmp_path) == 2
