"""Admissions to be released and reported, and a report as its reader sees it."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import dbanon
from dbanon.publishing.report.blocks import format_cell, format_share

SOURCE = "ward_admissions_raw"
DISEASES = ("Zyxoma", "Qvarrel fever", "Blemmish", "Krell syndrome", None)
TOWNS = ("Wexbury", "Pommelton", "Dunfrith")


class Page(HTMLParser):
    """The visible content of a page: facts, tables, queries, tags, texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str, str | None]] = set()
        self.facts: dict[tuple[str, str], tuple[str, int | None]] = {}
        self.tables: list[tuple[int, list[list[str]]]] = []
        self.queries: dict[int, str] = {}
        self.text = ""
        self._fact: tuple[str, str, int | None] | None = None
        self._in: list[str] = []
        self._query = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        mapping = dict(attrs)
        self.tags.add(tag)
        self.attributes |= {(tag, name, value) for name, value in attrs}
        self._in.append(tag)
        if "data-item" in mapping:
            number = mapping.get("data-query")
            self._fact = (str(mapping["data-section"]), str(mapping["data-item"]), int(number) if number else None)
        if tag == "dd" and self._fact:
            self.facts[self._fact[:2]] = ("", self._fact[2])
        if tag == "table":
            self.tables.append((int(str(mapping["data-query"])), []))
        if tag == "tr":
            self.tables[-1][1].append([])
        if tag == "td":
            self.tables[-1][1][-1].append("")
        if mapping.get("class") == "query":
            self._query = int(str(mapping["id"])[1:])
            self.queries[self._query] = ""

    def handle_endtag(self, tag: str) -> None:
        while self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._in:
            return
        self.text += data
        if "code" in self._in:
            self.queries[self._query] += data
        elif "td" in self._in:
            self.tables[-1][1][-1][-1] += data
        elif "dd" in self._in and "a" not in self._in and self._fact:
            message, number = self.facts[self._fact[:2]]
            self.facts[self._fact[:2]] = (message + data.strip(), number)


def without_date(page: str) -> str:
    result, count = re.subn(r'<time id="made">[^<]*</time>', "", page)
    assert count == 1
    return result


def build(path: Path | str, rows: int = 160) -> Any:
    """Create admissions: people with several stays, towns and diseases whose names are no words of a report."""
    con = dbanon.connect(path)
    con.execute(
        f"CREATE TABLE {SOURCE} (pid INTEGER, surname VARCHAR, born DATE, town VARCHAR, weight DECIMAL(6, 2), "
        "disease VARCHAR, ward VARCHAR)"
    )
    r = random.Random(5)
    con.executemany(
        f"INSERT INTO {SOURCE} VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (r.randrange(rows), f"Surname{i}x", f"{r.randrange(1931, 2004)}-0{r.randrange(1, 9)}-17", r.choice(TOWNS),
             r.choice([None, 51.37, 64.93, 78.41, 93.57]), r.choice(DISEASES), "Gorselands")
            for i in range(rows)
        ],
    )  # fmt: skip
    dbanon.declare(
        con, SOURCE, surname="identifier", born="quasi", town="quasi", weight="quasi", disease="sensitive",
        ward="insensitive",
    )  # fmt: skip
    return con


def is_same_value(text: str, value: Any) -> bool:
    """Return whether a page may show a value as this text: shares as percentages, names without underscores."""
    if isinstance(value, float) and text.endswith("%"):
        return text == format_share(value)
    expected = "NULL" if value is None else format_cell(value)
    return text == expected or (isinstance(value, str) and text == str(expected).replace("_", " "))


def check_numbers(page: Page, con: Any) -> int:
    """Assert that every number with a query equals the query's result; return how many there are."""
    checked = 0
    for (section, element), (message, number) in page.facts.items():
        if number is not None:
            rows = con.execute(page.queries[number]).fetchall()
            assert len(rows) == 1 and is_same_value(message, float(rows[0][0])), (section, element, message, rows)
            checked += 1
    for number, cells in page.tables:
        rows = con.execute(page.queries[number]).fetchall()
        if len(cells) == 2 and cells[1] == ["No rows."]:
            assert not rows
            continue
        for line, row in zip(cells[1:], rows[: len(cells) - 1], strict=True):
            assert len(line) == len(row) and all(map(is_same_value, line, row)), (page.queries[number], line, row)
            checked += len(row)
    return checked
