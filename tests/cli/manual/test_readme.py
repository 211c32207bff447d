"""The README is true: its tour runs, its picture is current, and the list of functions is complete."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import documents, generated, picture

import dbanon
from dbanon.algorithms import algorithms
from dbanon.algorithms.streams import streams
from dbanon.api import demo
from dbanon.release.plan import metrics
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.scalar_functions import FUNCTIONS

pytestmark = pytest.mark.all_cases


def blocks(language: str) -> list[str]:
    """Return the README's code blocks of one language, in order."""
    return [code for result, code in documents.blocks(documents.README) if result == language]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the demo database."""
    path = tmp_path_factory.mktemp("demo") / "dbanon_demo.duckdb"
    demo.create_demo(path).close()
    return path


@pytest.fixture(scope="module")
def small_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create the demo database with fewer patients."""
    return documents.create_small_demo(tmp_path_factory.mktemp("small") / "dbanon_demo.duckdb")


def test_readme_tour_statements_run_in_order(hospital: Path, tmp_path: Path) -> None:
    shutil.copy(hospital, tmp_path / "tour.duckdb")
    with dbanon.connect(tmp_path / "tour.duckdb") as con:
        statements = [s for block in blocks("sql") for s in documents.statements(block)]
        assert len(statements) >= 12
        for statement in statements:
            con.execute(statement).fetchall()
        assert con.execute("SELECT count(*) FROM safe_patients").fetchall() == [(20_000,)]
        assert con.execute("FROM policy_problems()").fetchall() == []


def test_readme_averages_of_release_are_near_those_of_source(hospital: Path, tmp_path: Path) -> None:
    shutil.copy(hospital, tmp_path / "tour.duckdb")
    (select,) = [s for block in blocks("sql") for s in documents.statements(block) if "midpoint_date" in s]
    with dbanon.connect(tmp_path / "tour.duckdb") as con:
        con.execute("CREATE TABLE safe_patients AS FROM best('patients', k=10)")
        released = con.execute(select).fetchall()
        source = select.replace("midpoint_date(birth_date)", "birth_date").replace("safe_patients", "patients")
        expected = con.execute(source).fetchall()
    assert [row[:2] for row in released] == [row[:2] for row in expected]
    assert all(abs((born - exact).days) < 365 for (_, _, born), (_, _, exact) in zip(released, expected, strict=True))


def test_ten_readme_statements_turn_csv_into_release_file(
    small_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from dbanon.cli import main

    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(small_database), read_only=True) as con:
        con.execute("COPY patients TO 'visits.csv'")
    statements, command = blocks("")
    given_statements = documents.statements(statements)
    assert len(given_statements) == 10
    with dbanon.connect("clinic.duckdb") as con:
        results = [con.execute(s).fetchall() for s in given_statements]
        assert results[4] == []
        assert len(results[5]) == 10
        assert len(results[9]) == 3
    result = CliRunner().invoke(main, command.split()[1:])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "safe_visits.parquet").exists()


def test_readme_commands_turn_demo_into_release_file(
    small_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from dbanon.cli import main

    monkeypatch.chdir(tmp_path)
    shutil.copy(small_database, tmp_path / "dbanon_demo.duckdb")
    lines = [line for block in blocks("text") for line in block.splitlines()]
    assert [line.split()[1] for line in lines] == ["shell", "init", "anonymize", "publish"]
    for line in lines:
        result = CliRunner().invoke(main, shlex.split(line)[1:], input="\n" * 100)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "visits_safe.csv").exists()


def test_ten_readme_statements_run_in_shell(
    small_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from dbanon.cli import main

    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(small_database), read_only=True) as con:
        con.execute("COPY patients TO 'visits.csv'")
    result = CliRunner().invoke(main, ["shell", "clinic.duckdb"], input=blocks("")[0])
    assert result.exit_code == 0, result.output
    assert "kind,predicates,queries" in result.output


@pytest.mark.not_everyday
def test_readme_tour_runs_on_attached_connection(small_database: Path, tmp_path: Path) -> None:
    shutil.copy(small_database, tmp_path / "tour.duckdb")
    con = dbanon.attach(duckdb.connect(str(tmp_path / "tour.duckdb")))
    for block in blocks("sql"):
        for statement in documents.statements(block):
            con.execute(statement).fetchall()
    con.close()


def test_demo_is_reproducible() -> None:
    first, second_patients = demo.make_patients(500), demo.make_patients(500)
    assert first.equals(second_patients)
    assert not demo.make_patients(500, seed=1).equals(first)


def test_demo_never_replaces_foreign_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE patients (i INTEGER)")
    with pytest.raises(dbanon.DbanonError, match="it is not a demo database"):
        demo.create_demo(path)
    with dbanon.connect(path) as con:
        assert con.execute("FROM patients").fetchall() == []


def test_readme_has_under_200_lines_of_120_characters() -> None:
    lines = documents.text(documents.README).splitlines()
    assert len(lines) < 200
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_readme_picture_shows_demo_release(hospital: Path, tmp_path: Path) -> None:
    shutil.copy(hospital, tmp_path / "picture.duckdb")
    with dbanon.connect(tmp_path / "picture.duckdb") as con:
        drawn = picture.draw(con)
    assert documents.text(picture.PATH) == drawn, "python -m tests.support.picture"
    assert picture.PATH.relative_to(documents.ROOT).as_posix() in documents.links(documents.README)


def test_function_list_names_every_function() -> None:
    text, by_family = (
        documents.text(generated.FUNCTION_LIST),
        {a.name for a in algorithms()} | {s.name for s in streams()},
    )
    of_system = [f.name for f in table_functions().values() if f.stream_algorithm is not None]
    single = [name for name, function in table_functions().items() if function.kind not in ("classes", "metrics")]
    single = [name for name in single if name not in of_system or name in by_family]
    for name in (*single, *(f.name for f in FUNCTIONS)):
        link = f"- [`{name}`](manual/functions/{name}.md): "
        assert (f" `{name}`" if name in by_family else link) in text, name


@pytest.mark.parametrize("page", generated.pages(), ids=lambda page: page.name)
def test_generated_sections_are_current(page: Path) -> None:
    assert documents.text(page) == generated.pages()[page], "python -m tests.support.generated"


def test_guides_document_common_parameters() -> None:
    """An algorithm's own parameters are on its page of the manual."""
    text = "\n".join(documents.text(page) for page in documents.GUIDES)
    common = {p.name for a in algorithms() for p in a.parameters if p not in a.own_parameters}
    for name in common | {p.name for s in streams() for p in s.parameters}:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize("name", dbanon.__all__)
def test_every_public_python_name_exists_and_is_documented(name: str) -> None:
    value: Any = getattr(dbanon, name)
    assert value.__doc__


def test_every_metric_has_description_and_direction() -> None:
    for m in metrics.all_metrics():
        assert m.description and m.source
        assert m.better in ("higher", "lower")
    positions = [m.order for m in metrics.all_metrics()]
    assert len(set(positions)) == len(positions)


def test_ci_runs_commands_of_readme() -> None:
    install, test = (block.strip() for block in blocks("sh"))
    assert "pip install -e" in install and install.endswith("dbanon demo")
    assert test == ".venv/bin/python -m pytest"
    ci = (documents.ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "-m pytest" in ci and 'dbanon" demo' in ci
