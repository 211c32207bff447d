"""`dbt build` on a project: releases, tests, seeds, refusals, and the artifacts of dbt.

dbt runs in a process of its own, once for all tests of a project.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import dbt

import dbanon
from dbanon.integrations.dbt import dbt_package

pytestmark = pytest.mark.all_cases

PROFILE = """
clinic:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: clinic.duckdb
      schema: wards
      threads: 4
      plugins: [{module: dbanon.dbt}]
"""
PROJECT = """
name: clinic
version: "1.0"
profile: clinic
seeds:
  clinic:
    policy:
      +column_types: {top: varchar, rounding: varchar}
      +post-hook: "{{ dbanon.store_policy(this) }}"
    hierarchy:
      +column_types: {name: varchar, node: varchar, parent: varchar, label: varchar}
      +post-hook: "{{ dbanon.store_hierarchies(this) }}"
"""
POLICY = """table_name,column_name,role,hierarchy,top,weight
patients,number,person,,,
patients,age,quasi,,75,2
patients,zip,quasi,zip3,,
patients,disease,sensitive,,,
"""
HIERARCHY = """name,node,parent,label,position
zip3,*,,*,0
zip3,021,*,021**,0
zip3,02138,021,02138,0
zip3,02139,021,02139,1
zip3,10001,*,10001,1
"""
PATIENTS = """
SELECT 1000 + i AS number, 20 + i % 60 AS age, ['02138', '02139', '10001'][1 + i % 3] AS zip,
    ['Flu', 'Cold', 'Asthma'][1 + i % 7 % 3] AS disease, 'gib' || 'son' || i AS name
FROM range({{ var('n', 300) }}) AS r (i)
"""
SEEDS = "-- depends_on: {{ ref('policy') }} {{ ref('hierarchy') }}\n"


def write_files(project: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")


def model_source(query: str, **config: object) -> str:
    settings = ", ".join(f"{name}={value!r}" for name, value in config.items())
    return f"{{{{ config({settings}) }}}}\n{query}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project with the package, in a schema of its own."""
    dbt.dbt_python()
    folder = tmp_path_factory.mktemp("clinic")
    quoted = "SELECT * FROM kacpc({{ dbanon.name(ref('patients')) }}, k=10, l=2)"
    write_files(
        folder,
        {
            "profiles.yml": PROFILE,
            "dbt_project.yml": PROJECT,
            "packages.yml": dbt_package.packages_yml("copied"),
            "seeds/policy.csv": POLICY,
            "seeds/hierarchy.csv": HIERARCHY,
            "models/patients.sql": model_source(PATIENTS, materialized="table"),
            "models/safe.sql": model_source(
                SEEDS + quoted,
                materialized="anonymized",
                composition="refuse",
                persist_docs={"relation": True},
                post_hook="CREATE OR REPLACE TABLE {{ this.schema }}.hooked AS FROM {{ this }}",
            ),
            "models/ages.sql": model_source(
                SEEDS + """SELECT * FROM kacpc('{{ ref("patients") }}', k=10, l=2)""", materialized="table"
            ),
            "models/seen.sql": model_source(SEEDS + quoted, materialized="view"),
            "models/read.sql": "SELECT zip, count(*) AS patients FROM {{ ref('safe') }} GROUP BY ALL",
            "models/schema.yml": """
models:
  - name: safe
    description: What others may read.
    data_tests:
      - dbanon.k_anonymous: {arguments: {k: 10}}
      - dbanon.l_diverse: {arguments: {l: 2}}
  - name: ages
    data_tests:
      - dbanon.k_anonymous: {arguments: {k: 10, qi: [age, zip]}}
      - dbanon.k_anonymous: {name: too_much, arguments: {k: 200, qi: [age, zip]}, config: {severity: warn}}
""",
        },
    )
    dbt_package.copy_package(folder / "copied")
    return folder


@pytest.fixture(scope="module")
def command_results(project: Path) -> dict[str, dbt.CommandResult]:
    """Return the results of dbt, command by command."""
    commands = {
        "deps": "deps",
        "first": "build",
        "more": "run -s +safe --vars 'n: 330'",
        "few": "run -s +safe --vars 'n: 331'",
        "docs": "docs generate",
    }
    return dict(zip(commands, dbt.run(project, *commands.values()), strict=True))


def rows(project: Path, query: str) -> list[Any]:
    with dbanon.connect(project / "clinic.duckdb", read_only=True) as con:
        return list(con.execute(query).fetchall())


def test_build_creates_and_tests_tables_views_releases(
    project: Path, command_results: dict[str, dbt.CommandResult]
) -> None:
    assert command_results["deps"].success, command_results["deps"].text
    assert command_results["first"].success, command_results["first"].text
    nodes = command_results["first"].nodes
    assert nodes["safe"] == ["success", "version 1, 300 records"]
    assert [status for name, (status, _) in nodes.items() if name.startswith("dbanon_")].count("pass") == 3
    assert nodes["too_much"][0] == "warn"
    assert rows(project, "SELECT count(*) FROM wards.ages") == [(300,)]
    assert rows(project, "SELECT count(*) FROM wards.hooked") == [(330,)]  # by the run after it
    published_rows = rows(
        project, "SELECT schema_name, name FROM dbanon.release WHERE status = 'published' ORDER BY ALL"
    )
    assert published_rows == [("wards", "safe")]


def test_dbt_seeds_load_policy_and_hierarchies(project: Path, command_results: dict[str, dbt.CommandResult]) -> None:
    policy = rows(project, "SELECT schema_name, column_name, role, top, weight FROM dbanon.policy ORDER BY column_name")
    assert policy[0] == ("wards", "age", "quasi", "75", 2.0)
    assert {row[:1] + row[3:] for row in policy[1:]} == {("wards", None, 1.0)}
    assert (
        rows(project, "SELECT DISTINCT zip FROM wards.ages WHERE zip NOT IN ('021**', '02138', '02139', '10001', '*')")
        == []
    )
    assert rows(project, "SELECT count(*) FROM hierarchy_to_arx('zip3')") == [(3,)]


def test_second_run_refreshes_release_with_ledger_checks(
    project: Path, command_results: dict[str, dbt.CommandResult]
) -> None:
    assert command_results["more"].nodes["safe"] == ["success", "version 2, 330 records"]
    status, message = command_results["few"].nodes["safe"]
    assert status == "error"
    assert "too few records (persons)" in message
    assert rows(project, "SELECT version, records FROM dbanon.release WHERE name = 'safe' ORDER BY ALL") == [
        (1, 300),
        (2, 330),
    ]
    assert rows(project, "SELECT count(*) FROM wards.safe") == [(330,)]
    assert rows(project, "SELECT count(*) FROM certificate('wards.safe')")[0][0] > 0


def test_dbt_docs_list_model_and_column_descriptions(
    project: Path, command_results: dict[str, dbt.CommandResult]
) -> None:
    assert command_results["docs"].success, command_results["docs"].text
    nodes = json.loads((project / "target" / "catalog.json").read_text())["nodes"]
    assert nodes["model.clinic.safe"]["metadata"]["comment"] == "What others may read."
    assert "disease" in nodes["model.clinic.seen"]["columns"]


def test_dbt_artifacts_contain_no_source_cell(project: Path, command_results: dict[str, dbt.CommandResult]) -> None:
    """Names are put together in SQL, so that the text of no model contains one."""
    written_paths = [path for folder in ("target", "logs") for path in (project / folder).rglob("*") if path.is_file()]
    assert len(written_paths) > 10
    assert [path for path in written_paths if b"gibson" in path.read_bytes()] == []
    assert "gibson" not in command_results["first"].text
    assert rows(project, "SELECT count(*) FROM wards.patients WHERE name LIKE 'gibson%'") == [(331,)]


def release_query(function: str, model: str = "patients", qi: str = "['age']") -> str:
    return f"""SELECT * FROM {function}('{{{{ ref("{model}") }}}}', k=10, qi={qi})"""


REFUSED = {
    "models/patients.sql": model_source(PATIENTS, materialized="table"),
    "models/cast_away.sql": model_source("SELECT name::INTEGER AS age FROM {{ ref('patients') }}", materialized="view"),
    "models/unread.sql": model_source(release_query("kacpc", "cast_away"), materialized="anonymized"),
    "models/misspelled.sql": model_source(release_query("kacpc"), materialized="anonymized", compositon="refuse"),
    "models/one.sql": model_source(
        release_query("kacpc", qi="['age', 'zip']"), materialized="anonymized", key="number"
    ),
    "models/two.sql": model_source(
        release_query("mondrian", qi="['age', 'zip']"), materialized="anonymized", key="number"
    ),
    "models/odd.sql": model_source("SELECT * FROM {{ ref('patients') }}", materialized="table", alias="o'x); --"),
    "models/safe_odd.sql": model_source(
        "SELECT * FROM kacpc({{ dbanon.name(ref('odd')) }}, k=10, qi=['age'])",
        materialized="anonymized",
        alias="safe 'o'",
    ),
    "models/appended.sql": model_source(release_query('"KACPC" '), materialized="incremental"),
    "snapshots/kept.sql": "{% snapshot kept %}\n"
    + model_source(release_query("kacpc_classes"), unique_key="class_id", strategy="check", check_cols="all")
    + "{% endsnapshot %}\n",
}


@pytest.fixture(scope="module")
def failing_project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dbt.CommandResult]]:
    """Run dbt on a project of mistakes, and return its results."""
    dbt.dbt_python()
    folder = tmp_path_factory.mktemp("mistakes")
    named_text = PROFILE.replace("{module: dbanon.dbt}", "{module: dbanon.dbt, alias: anon}").replace(
        "schema: wards", "schema: main"
    )
    write_files(folder, {"profiles.yml": named_text, "dbt_project.yml": PROJECT.partition("seeds:")[0], **REFUSED})
    write_files(folder, {"packages.yml": dbt_package.packages_yml(dbt_package.FOLDER)})
    commands = {
        "deps": "deps",
        "appended": "build -s +appended",
        "kept": "build -s kept",
        "empty": "run -s patients one --empty",
        "run": "run --exclude appended",
        "plain": "run -s one --profiles-dir plain",
    }
    write_files(folder, {"plain/profiles.yml": named_text.partition("      plugins")[0]})
    return folder, dict(zip(commands, dbt.run(folder, *commands.values()), strict=True))


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", ["appended", "kept"])
def test_models_storing_duplicate_release_refused(name: str, failing_project: Any) -> None:
    ran = failing_project[1][name]
    assert not ran.success
    assert f"{name} calls kacpc and keeps what it has" in ran.error.lower()
    assert not ran.nodes


@pytest.mark.not_everyday
def test_invalid_model_configuration_fails_its_model(failing_project: Any) -> None:
    nodes = failing_project[1]["run"].nodes
    assert "Did you mean 'composition'" in nodes["misspelled"][1]
    assert "could not be read or converted" in nodes["unread"][1]
    assert "the profile has no plugin dbanon.dbt" in failing_project[1]["plain"].error + str(
        failing_project[1]["plain"].nodes
    )
    written_paths = [path for path in (failing_project[0] / "logs").rglob("*") if path.is_file()]
    assert written_paths
    assert [path for path in written_paths if b"gibson" in path.read_bytes()] == []


@pytest.mark.not_everyday
def test_second_model_of_table_checked_against_first(failing_project: Any) -> None:
    """Two threads would create them at once."""
    assert [failing_project[1]["run"].nodes[name][0] for name in ("one", "two")] == ["success", "success"]
    assert (
        "together with other releases of the same people, candidate sets fall below k" in failing_project[1]["run"].text
    )


@pytest.mark.not_everyday
def test_model_name_with_quotes_is_released(failing_project: Any) -> None:
    assert failing_project[1]["run"].nodes["safe_odd"] == ["success", "version 1, 300 records"]


@pytest.mark.not_everyday
def test_model_without_rows_creates_no_release(failing_project: Any) -> None:
    assert "a release is not made of no rows" in failing_project[1]["empty"].nodes["one"][1]
