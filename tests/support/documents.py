"""The documentation pages: the README and docs/, with their code, headings and links."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from dbanon.api import demo
from dbanon.cli import main
from dbanon.cli.commands.docs import documented_commands
from dbanon.cli.manual import pages
from support import kept

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
MANUAL = ROOT / "docs" / "manual"
GUIDES = sorted(path for path in (ROOT / "docs").rglob("*.md") if MANUAL not in path.parents)
"""The pages written by hand, in addition to the README."""

_BLOCK = re.compile(
    r"(?:^`(?P<file>[\w./-]+\.\w+)`:\n\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$"
    r"(?:(?=\n\n(?P<table>(?:\|[^\n]*\n)+)))?",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class CodeBlock:
    """A code block, with its file name (from the line before it) and the cells of the table right below it."""

    file: str
    language: str
    code: str
    table: list[list[str]]


def create_small_demo(path: Path) -> Path:
    """Create the demo database with 1,000 patients."""
    return kept.copy_database(path, _small_demo)


def _small_demo(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "make_patients", lambda real=demo.make_patients: real(1_000))
        demo.create_demo(path).close()


@cache
def manual() -> dict[Path, str]:
    """Return the pages of the manual by their paths, as they are generated, whether or not docs/manual has them."""
    return {MANUAL / path: page for path, page in pages.manual_pages(documented_commands(main)).items()}


def exists(path: Path) -> bool:
    """Return whether the project has a file or folder, or generates it as a page of the manual."""
    return path.exists() or path in manual()


def text(page: Path) -> str:
    """Return the Markdown of a page; of the manual, as it is generated."""
    return manual()[page] if MANUAL in page.parents else page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the code blocks of a page in order, those in lists too, each with its language."""
    return [(step.language, step.code) for step in steps(page)]


def steps(page: Path) -> list[CodeBlock]:
    """Return the code blocks of a page in order."""
    return [
        CodeBlock(
            matche["file"] or "", matche["language"], textwrap.dedent(matche["code"]), _cells(matche["table"] or "")
        )
        for matche in _BLOCK.finditer(text(page))
    ]


def _cells(table: str) -> list[list[str]]:
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return [row for row in rows if not all(re.fullmatch("-+", cell) for cell in row)]


def statements(code: str) -> list[str]:
    """Return the SQL statements of a code block; each ends a line."""
    return [s.strip() for s in re.split(r";\s*$", code, flags=re.MULTILINE) if s.strip()]


def anchors(page: Path) -> set[str]:
    """Return the anchors of headings: lower case, no punctuation, dashes for blanks."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page), re.MULTILINE)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", word).strip().replace(" ", "-") for word in words}


def links(page: Path) -> list[str]:
    """Return the targets of a page's links to files and headings of the project."""
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", _without_code(page)))
    return [target for target in targets if not re.match(r"\w+:", target)]


def _without_code(page: Path) -> str:
    return _BLOCK.sub("", text(page))
