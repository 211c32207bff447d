"""The pages that people read: the README and docs/, with their code, headings and links."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from dbanon.client import demo

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
MANUAL = ROOT / "docs" / "manual"
GUIDES = sorted(path for path in (ROOT / "docs").rglob("*.md") if MANUAL not in path.parents)
"""The pages written by hand, beside the README."""

_BLOCK = re.compile(
    r"(?:^`(?P<file>[\w./-]+\.\w+)`:\n\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


def small_demo(path: Path) -> Path:
    """Makes the demo database with 1,000 patients."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "patients", lambda real=demo.patients: real(1_000))
        demo.build(path).close()
    return path


def text(page: Path) -> str:
    """The Markdown of a page."""
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The code blocks of a page in order, those in lists too, each with its language."""
    return [(found["language"], textwrap.dedent(found["code"])) for found in _BLOCK.finditer(text(page))]


def steps(page: Path) -> list[tuple[str, str, str]]:
    """The code blocks of a page in order: the file that one is shown as (a line before it says so), language, code."""
    return [
        (found["file"] or "", found["language"], textwrap.dedent(found["code"]))
        for found in _BLOCK.finditer(text(page))
    ]


def statements(code: str) -> list[str]:
    """The SQL statements of a code block; each ends a line."""
    return [s.strip() for s in re.split(r";\s*$", code, flags=re.MULTILINE) if s.strip()]


def anchors(page: Path) -> set[str]:
    """The anchors that headings get: lower case, no punctuation, dashes for blanks."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page), re.MULTILINE)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", word).strip().replace(" ", "-") for word in words}


def links(page: Path) -> list[str]:
    """The targets of a page's links to files and headings of the project."""
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", _without_code(page)))
    return [target for target in targets if not re.match(r"\w+:", target)]


def _without_code(page: Path) -> str:
    return _BLOCK.sub("", text(page))
