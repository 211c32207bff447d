"""The documentation is true: statements run, links resolve, and the manual matches the code."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import documents

import dbanon
from dbanon.cli import main
from dbanon.cli.commands.docs import documented_commands
from dbanon.cli.manual import pages
from dbanon.publishing.report import report

pytestmark = pytest.mark.all_cases

OWN = ("dbt", "spark", "sqlalchemy", "tutorial")  # tests of their own run these
PAGES = [page for page in documents.GUIDES if page.stem not in OWN]
DATABASE = "dbanon_demo.duckdb"
MANUAL_PAGES = sorted(path for path in documents.manual() if path.parent == documents.MANUAL)


@pytest.fixture(scope="module")
def small_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the demo database with fewer patients."""
    return documents.create_small_demo(tmp_path_factory.mktemp("docs") / DATABASE)


class Reader:
    """A simulated reader who types the commands of a page, in the folder of a database."""

    def __init__(self, database: str = DATABASE) -> None:
        self.database = database
        self.names: dict[str, Any] = {"dbanon": dbanon, "con": dbanon.connect(database), "__name__": "page"}

    def save(self, file: str, code: str) -> None:
        """Write a file that a page shows."""
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(code, encoding="utf-8")

    def type(self, language: str, code: str) -> None:
        if language == "sql":
            for statement in documents.statements(code):
                self.names["con"].execute(statement).fetchall()
        elif language == "python":
            exec(compile(code, "page", "exec", dont_inherit=True), self.names)
        elif language == "sh":
            self.names["con"].close()
            for line in code.splitlines():
                self.run(*shlex.split(line))
            self.names["con"] = dbanon.connect(self.database)
        else:
            assert language == "text", f"a block of {language or 'no language'} is run by no test"

    def run(self, program: str, *given: str) -> None:
        """Run a command."""
        if program == "alembic":
            from alembic.config import main as alembic

            alembic(given)
        else:
            assert program == "dbanon", program
            result = CliRunner().invoke(main, given)
            assert result.exit_code == 0, f"{given}\n{result.output}"


@pytest.fixture
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache the sections of a report, in however many ways a page shows how to create it."""
    real, known_values = report._sections, dict[Any, Any]()

    def sections(asking: Any, previous_entry: Any, population: str | None) -> Any:
        values = (asking.entry.display_name, asking.entry.version, asking.outgoing, previous_entry is None, population)
        if values not in known_values:
            known_values[values] = real(asking, previous_entry, population)
        return known_values[values]

    monkeypatch.setattr(report, "_sections", sections)


@pytest.mark.in_turn(8)
@pytest.mark.usefixtures("read_once")
@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_code_runs_in_order(
    small_database: Path, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = documents.steps(page)
    if page.stem == "alembic":
        pytest.importorskip("duckdb_sqlalchemy")
    if not steps:
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    shutil.copy(small_database, DATABASE)
    reader = Reader()
    for step in steps:
        if step.file:
            reader.save(step.file, step.code)
        else:
            reader.type(step.language, step.code)
    reader.names["con"].close()
    for step in steps:  # modules of one page are not visible to another page
        sys.modules.pop(Path(step.file).stem, None)


def test_tutorial_output_matches_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Result tables follow their statements, and the repairs of the file are those that profile() proposes."""
    monkeypatch.chdir(tmp_path)
    reader = Reader("clinic.duckdb")
    steps = documents.steps(documents.ROOT / "docs" / "tutorial.md")
    shown_number, repairs = 0, set[str]()
    for step in steps:
        if step.language != "sql":
            reader.type(step.language, step.code)
            continue
        for statement in documents.statements(step.code):
            repairs.discard(normalize_statement(statement))
            result = reader.names["con"].execute(statement)
            names, rows = [column[0] for column in result.description], result.fetchall()
        if names[-1] == "repair":
            repairs = {normalize_statement(row[-1]) for row in rows}
            assert len(repairs) == 2
        if step.table:
            assert step.table == [names, *[["" if cell is None else str(cell) for cell in row] for row in rows]]
            shown_number += 1
    reader.names["con"].close()
    assert repairs == set(), "the page types what profile() gives"
    assert shown_number >= 7
    assert Path("safe_visits.parquet").exists()


def normalize_statement(statement: str) -> str:
    """Return a statement without quotes, blanks and the place of its table."""
    return re.sub(r'clinic\.main\.|[\s";]', "", statement.replace('"', ""))


@pytest.mark.parametrize(
    ("codes", "ends", "calls"),
    [
        ([], 0, ["refresh", "publish", "verify", "doctor"]),
        ([4, 4, 0], 0, ["refresh", "refresh", "refresh", "publish", "verify", "doctor"]),
        ([4] * 5, 4, ["refresh"] * 5),
        ([3], 3, ["refresh"]),
        ([0, 1], 1, ["refresh", "publish"]),
        ([0, 0, 1], 1, ["refresh", "publish", "verify"]),
        ([0, 0, 0, 1], 1, ["refresh", "publish", "verify", "doctor"]),
    ],
)
def test_nightly_job_exits_with_code_of_failure(codes: list[int], ends: int, calls: list[str], tmp_path: Path) -> None:
    """The script of the page, with a `dbanon` that records its arguments and exits with a chosen code."""
    steps = documents.steps(documents.ROOT / "docs" / "how-to" / "nightly-job.md")
    (script,) = (step.code for step in steps if step.file == "nightly.sh")
    by_hand = {line for step in steps if step.language == "sh" and not step.file for line in step.code.splitlines()}
    (tmp_path / "nightly.sh").write_text(script)
    (tmp_path / "codes").write_text("".join(f"{code}\n" for code in codes))
    (tmp_path / "dbanon").write_text(
        '#!/bin/sh\necho "dbanon $*" >> calls\ncode=$(head -1 codes)\nsed -i 1d codes\nexit ${code:-0}\n'
    )
    (tmp_path / "dbanon").chmod(0o755)
    values = ["sh", "nightly.sh", "dbanon_demo.duckdb", "safe_patients", "safe_patients.parquet"]
    places = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "WAIT": "0"}
    assert subprocess.run(values, cwd=tmp_path, env=places, check=False).returncode == ends
    typed = (tmp_path / "calls").read_text().splitlines()
    assert [line.split()[1] for line in typed] == calls
    assert set(typed) <= by_hand


@pytest.mark.parametrize(
    "page",
    [
        documents.README,
        documents.CONTRIBUTING,
        *documents.GUIDES,
        *sorted(path for path in documents.manual() if path.parent == documents.MANUAL),
    ],
    ids=lambda page: f"{page.parent.name}/{page.stem}",
)
def test_page_links_lead_to_existing_file_and_heading(page: Path) -> None:
    for link in documents.links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(documents.ROOT), f"{page.name}: {link} leaves the project"
        assert documents.exists(target), f"{page.name}: {link} leads nowhere"
        assert not anchor or anchor in documents.anchors(target), f"{page.name}: {link} names no heading"


def test_paths_named_on_pages_exist() -> None:
    for page in [documents.README, documents.CONTRIBUTING, *documents.GUIDES]:
        for path in re.findall(r"`((?:dbanon|docs|hierarchies|sql|tests)/[^`\s]*)`", documents.text(page)):
            present_part = re.split(r"NAME|FAMILY", path)[0]  # of the parts that a reader replaces, the folder
            assert (documents.ROOT / present_part).exists(), f"{page.name}: {path}"


def test_tables_have_header_and_no_gap() -> None:
    """A table begins with a header and a line of dashes: after a blank line, its next rows would be text."""
    for page in [documents.README, documents.CONTRIBUTING, *documents.GUIDES]:
        prose = re.sub(r"^ *```.*?^ *```$", "", documents.text(page), flags=re.DOTALL | re.MULTILINE)
        for block in re.split(r"\n\s*\n", prose):
            rows = [line.strip() for line in block.splitlines() if line.lstrip().startswith("|")]
            assert not rows or re.fullmatch(r"\|( *:?-+:? *\|)+", rows[1]), f"{page.name}: {rows[0]}"


def test_contents_page_links_every_page() -> None:
    contents = documents.ROOT / "docs" / "index.md"
    pages = {page.relative_to(contents.parent).as_posix() for page in documents.GUIDES if page != contents}
    assert set(documents.links(contents)) >= pages


@pytest.mark.skipif(not documents.MANUAL.exists(), reason="docs/manual is generated before the site is built")
def test_manual_in_docs_equals_generated_manual() -> None:
    written_values = {
        p.relative_to(documents.MANUAL).as_posix(): p.read_text("utf-8") for p in documents.MANUAL.rglob("*.md")
    }
    stale = sorted(path for path, _ in written_values.items() ^ pages.manual_pages(documented_commands(main)).items())
    assert not stale, (
        f"docs/manual is stale ({', '.join(dict.fromkeys(stale))}). Make it again: "
        "rm -r docs/manual && dbanon docs -o docs/manual"
    )
