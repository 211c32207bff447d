"""DuckDB's own command line, with the file of `dbanon write-client`, queries a server as if dbanon were installed."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from support.serving import DbanonServer, clinic, needs_quack, serving, wait_until

import dbanon
from dbanon.cli import main
from dbanon.integrations.quack import client_file
from dbanon.table_functions.registry import table_functions

pytestmark = pytest.mark.all_cases

README = Path(__file__).resolve().parents[3] / "README.md"


def duckdb_command() -> str:
    """Return the official command line of the running DuckDB."""
    spec = importlib.util.find_spec("duckdb_cli")
    path = None if spec is None or spec.origin is None else Path(spec.origin).with_name("duckdb")
    if path is None or not path.exists():
        pytest.skip("the package duckdb-cli is not installed")
    stdout = subprocess.run([path, "-version"], capture_output=True, text=True, check=True).stdout
    if not stdout.startswith(f"v{duckdb.__version__} "):
        pytest.skip(f"the package duckdb-cli has {stdout.split()[0]}, not {duckdb.__version__}")
    return str(path)


class ClientShell:
    """A running command line with a client's file."""

    def __init__(self, server: DbanonServer, folder: Path) -> None:
        self.server, self.file = server, folder / f"{server.role}.sql"
        outcome = CliRunner().invoke(
            main,
            ["write-client", "--output", str(self.file), "--role", server.role, "--server", f"127.0.0.1:{server.port}"],
        )
        assert outcome.exit_code == 0, outcome.output
        self.command = duckdb_command()

    def run(self, *statements: str, form: str = "-json") -> subprocess.CompletedProcess[str]:
        parts = [part for statement in statements for part in ("-c", statement)]
        return subprocess.run(
            [self.command, "-init", str(self.file), form, *parts],
            capture_output=True,
            text=True,
            env={"DBANON_TOKEN": self.server.token, "HOME": str(self.file.parent)},
            check=False,
        )

    def rows(self, *statements: str) -> Any:
        done = self.run(*statements)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs_quack()
    duckdb_command()
    path = tmp_path_factory.mktemp("demo") / "demo.duckdb"
    subprocess.run([sys.executable, "-m", "dbanon", "demo", "--database", str(path)], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def custodian_shell(demo: Path) -> Iterator[ClientShell]:
    with serving(demo, "custodian") as server:
        yield ClientShell(server, demo.parent)


@pytest.fixture(scope="module")
def reader_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientShell]:
    needs_quack()
    duckdb_command()
    database = clinic(tmp_path_factory.mktemp("reader") / "clinic.duckdb")
    with serving(database, "reader") as server:
        yield ClientShell(server, database.parent)


def test_client_file_accepts_all_parameter_spellings(custodian_shell: ClientShell) -> None:
    for call in (
        "kacpc('patients', k=200, qi=['zip', 'sex'])",
        "kacpc('patients', k := 200, qi := ['zip', 'sex'])",
        "kacpc('patients', k => 200, qi => ['zip', 'sex'])",
        "kacpc('patients', k=200, qi=['zip', 'sex'], weights={'zip': 1.0})",
    ):
        assert custodian_shell.rows(f"SELECT count(*) AS n FROM {call}") == [{"n": 20000}]
    stderr = custodian_shell.run("FROM kacpc('patients', k=5, roundin={'zip': 'x''y'})").stderr
    assert "there is no parameter 'roundin'. Did you mean 'rounding'?" in stderr
    assert "k must be between 2 and 20000" in custodian_shell.run("FROM kacpc('patients', k=1000000)").stderr


def test_client_file_runs_readme_tour_statements(custodian_shell: ClientShell) -> None:
    """Unchanged, except that statements about tables of the server are passed to it as text."""
    tour = README.read_text(encoding="utf-8").partition("## A five-minute tour")[2].partition("### From a CSV")[0]
    blocks = re.findall(r"```sql\n(.*?)```", tour, re.DOTALL)
    statements = [s.strip() for block in blocks for s in block.split(";") if s.strip()]
    assert len(statements) > 14
    created = ""  # each run is a new shell
    for statement in statements:
        present_result = "dbanon." in statement
        typed = f"FROM clinic.query($tour${statement}$tour$)" if present_result else statement
        if statement.startswith("CREATE"):
            created = typed
        elif "safe_patients" in statement:
            assert custodian_shell.rows(created, typed), statement
            continue
        done = custodian_shell.run(typed)
        assert done.returncode == 0, (statement, done.stderr)
        if not statement.startswith("CREATE"):
            assert statement.startswith("FROM policy_problems") or json.loads(done.stdout), statement
    kept_rows = custodian_shell.rows(
        "CREATE TABLE safe_patients AS FROM best('patients', k=10)", "SELECT count(*) AS n FROM safe_patients"
    )
    assert kept_rows == [{"n": 20000}]


def test_client_file_call_works_in_join_and_subquery(custodian_shell: ClientShell) -> None:
    described_rows = custodian_shell.rows("DESCRIBE FROM kacpc_classes('patients', k=100)")
    assert [row["column_name"] for row in described_rows][:2] == ["class_id", "size"]
    assert custodian_shell.rows(
        "SELECT a.value >= b.value AS more FROM kacpc_metrics('patients', k=100) AS a "
        "JOIN kacpc_metrics('patients', k=200) AS b USING (metric) WHERE metric = 'precision'"
    ) == [{"more": True}]
    done = custodian_shell.run("SELECT count(*) AS n FROM kacpc('patients', k=100)", form="-csv")
    assert done.stdout == "n\n20000\n"
    assert custodian_shell.rows("SELECT count(*) AS n FROM clinic.patients") == [{"n": 20000}]


def test_client_file_has_every_function_and_no_token(custodian_shell: ClientShell) -> None:
    content = custodian_shell.file.read_text(encoding="utf-8")
    assert custodian_shell.server.token not in content
    for function in table_functions().values():
        (macro,) = re.findall(rf'MACRO "{function.name}"\(([^)]*)\) AS TABLE', content)
        assert all(f'"{parameter.name}" := NULL' in macro for parameter in function.parameters)


def test_client_file_without_token_fails_authentication(custodian_shell: ClientShell) -> None:
    done = subprocess.run(
        [custodian_shell.command, "-init", str(custodian_shell.file), "-c", "FROM releases()"],
        capture_output=True,
        text=True,
        env={"HOME": str(custodian_shell.file.parent)},
        check=False,
    )
    assert done.returncode != 0 and "authentication token" in done.stderr


def test_client_file_reader_queries_releases(reader_shell: ClientShell) -> None:
    assert reader_shell.rows("SELECT name, records FROM releases()") == [{"name": "safe", "records": 60}]
    assert len(reader_shell.rows("FROM certificate('safe')")) > 20
    assert reader_shell.rows("FROM certificate('no''body')") == []
    rows = reader_shell.rows(
        "SELECT count(*) AS n, sum(midpoint(age)) > 0 AS some FROM clinic.safe WHERE covers(age, 30)"
    )
    assert rows[0]["n"] > 0 and rows[0]["some"]
    assert reader_shell.rows("FROM clinic.query('SELECT count(*) AS n FROM safe')") == [{"n": 60}]
    assert "here nothing" in reader_shell.run("FROM kacpc('patients', k=5)").stderr
    with dbanon.connect(reader_shell.server.database) as con:
        con.execute("INSERT INTO dbanon.permission (source, algorithms, k) VALUES ('patients', ['kacpc'], 5)")
    wait_until(lambda: reader_shell.rows("FROM permissions()"))
    for call in ("kacpc('patients', k=5)", "kacpc('patients', k := 5)", "kacpc('patients', k => 5)"):
        assert reader_shell.rows(f"SELECT count(*) AS n FROM {call}") == [{"n": 60}]


def test_handed_out_database_needs_no_server(reader_shell: ClientShell, tmp_path: Path) -> None:
    handed_out = tmp_path / "safe.duckdb"
    outcome = CliRunner().invoke(
        main, ["publish", str(reader_shell.server.database), "safe", "--output", str(handed_out)]
    )
    assert outcome.exit_code == 0, outcome.output
    done = subprocess.run(
        [reader_shell.command, "-readonly", "-json", str(handed_out), "-c", "SELECT count(*) AS n FROM safe"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [{"n": 60}]


def test_existing_client_file_kept(tmp_path: Path) -> None:
    path = tmp_path / "client.sql"
    path.write_text("mine")
    values = ["write-client", "--output", str(path), "--role", "reader"]
    assert CliRunner().invoke(main, values).exit_code == 1
    assert path.read_text() == "mine"
    assert (
        CliRunner().invoke(main, [*values, "--replace", "--server", "[::1]:9600", "--name", "odd name"]).exit_code == 0
    )
    assert "ATTACH 'quack:[::1]:9600' AS \"odd name\"" in path.read_text()
    matches = re.findall(
        r'TEMP MACRO "?(\w+)"?\(', client_file.client_file_sql("quack:127.0.0.1:9494", "clinic", "reader")
    )
    calls = {f.name for f in table_functions().values() if f.algorithm and f.name.startswith(f.algorithm)}
    assert set(matches) > calls >= {"kacpc", "best_classes", "mondrian_metrics"}
    assert {"releases", "permissions", "certificate"} < set(matches)
    assert not {"risk", "attack", "composition", "profile"} & set(matches)
