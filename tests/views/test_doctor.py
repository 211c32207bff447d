"""The doctor finds every problem, and nothing in a healthy database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.views import doctor


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Any]:
    with dbanon.connect(tmp_path / "clinic.duckdb") as con:
        con.execute(
            "CREATE TABLE patients AS "
            "SELECT i AS id, 20 + i % 40 AS age, ['a', 'b'][1 + i % 2] AS d FROM range(80) r(i)"
        )
        dbanon.declare(con, "patients", age="quasi", d="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "patients", k=4)
        yield con


def found_problems(con: Any) -> list[tuple[str, str]]:
    return [(p.kind, p.about) for p in doctor.problems(con)]


def test_doctor_finds_no_problems_in_healthy_database(clinic: Any) -> None:
    clinic.execute("CREATE VIEW young AS SELECT * FROM safe WHERE d = 'a'")
    clinic.execute("CREATE VIEW words AS SELECT 'FROM kacpc(1)' AS kacpc")
    assert doctor.problems(clinic) == []


@pytest.mark.not_everyday
def test_doctor_lists_views_calling_table_functions(clinic: Any) -> None:
    clinic.execute("CREATE VIEW live AS SELECT * FROM kacpc('patients', k=4)")
    clinic.execute("CREATE VIEW above AS SELECT count(*) FROM live")
    clinic.execute(
        "CREATE SCHEMA s; CREATE VIEW s.deep AS SELECT (SELECT count(*) FROM kacpc_classes('patients', k := 4))"
    )
    assert found_problems(clinic) == [("view", "above"), ("view", "live"), ("view", "s.deep")]
    assert "kacpc_classes()" in doctor.problems(clinic)[2].problem


@pytest.mark.not_everyday
def test_doctor_ignores_view_broken_for_other_reason(clinic: Any) -> None:
    clinic.execute("CREATE TABLE t (i INTEGER); CREATE VIEW v AS FROM t; DROP TABLE t")
    assert doctor.problems(clinic) == []


def test_doctor_lists_stale_release_with_changes(clinic: Any) -> None:
    clinic.execute("INSERT INTO patients VALUES (100, 33, 'a'), (101, 34, 'b')")
    [problem] = doctor.problems(clinic)
    assert (problem.kind, problem.about) == ("release", "safe") and "2 records added" in problem.problem


@pytest.mark.not_everyday
def test_doctor_lists_release_with_missing_table(clinic: Any) -> None:
    clinic.execute("DROP TABLE safe_metrics")
    assert ("release", "safe") in found_problems(clinic)


@pytest.mark.not_everyday
def test_doctor_lists_policy_and_hierarchy_problems(clinic: Any) -> None:
    clinic.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('nothing', 'age', 'quasi')")
    clinic.execute("INSERT INTO dbanon.hierarchy VALUES ('two', 'a', NULL, 'a', 0), ('two', 'b', NULL, 'b', 0)")
    assert {kind for kind, _ in found_problems(clinic)} == {"policy", "hierarchy"}


@pytest.mark.not_everyday
def test_doctor_command_exits_with_1_on_problems(clinic: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "clinic.duckdb")
    clinic.close()
    well = CliRunner().invoke(main, ["doctor", path])
    assert well.exit_code == 0, well.output
    assert "No problems found." in well.stdout.splitlines()
    with dbanon.connect(path) as con:
        con.execute("CREATE VIEW live AS SELECT * FROM kacpc('patients', k=4)")
    ill = CliRunner().invoke(main, ["doctor", path])
    assert ill.exit_code == 1
    assert "view live: calls kacpc(), which DuckDB does not have without dbanon." in ill.output
