"""The commands match the Python functions; a mistake is one line and exit code 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.cli import main


@pytest.fixture
def clinic(tmp_path: Path) -> str:
    path = str(tmp_path / "clinic.duckdb")
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE patients AS SELECT i AS pid, 20 + i % 40 AS age, '0' || (i % 7) AS zip, "
            "['a', 'b', 'c'][1 + i % 3] AS d FROM range(120) r(i)"
        )
        dbanon.declare(con, "patients", age="quasi", zip="quasi", d="sensitive")
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def successful_output(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal_message(*arguments: str, code: int = 1) -> str:
    result = run(*arguments)
    assert result.exit_code == code and isinstance(result.exception, SystemExit)
    lines = [line for line in result.output.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1 == len(result.output.strip().splitlines())
    return lines[0]


def query(path: str, sql: str) -> list[Any]:
    with duckdb.connect(path, read_only=True) as con:
        return con.execute(sql).fetchall()


def test_refresh_states_whether_version_was_created(clinic: str) -> None:
    order = ("-k", "5", "--key", "pid", "--algorithm", "mondrian", "--quiet", "--json")
    assert json.loads(successful_output("create-release", clinic, "safe", "patients", *order))["is_new"] is True
    unchanged = json.loads(successful_output("refresh", clinic, "safe", "--if-stale", "--json"))
    assert (unchanged["version"], unchanged["is_new"]) == (1, False)
    assert "No version was created" in successful_output("refresh", clinic, "safe", "--if-stale")
    with dbanon.connect(clinic) as con:
        con.execute("INSERT INTO patients SELECT 200 + i, 20 + i % 40, '0' || (i % 7), 'a' FROM range(40) r(i)")
    assert json.loads(successful_output("refresh", clinic, "safe", "--if-stale", "--json"))["is_new"] is True


@pytest.mark.not_everyday
def test_release_commands_materialize_refresh_publish_drop(clinic: str, tmp_path: Path) -> None:
    message = successful_output(
        "create-release",
        clinic,
        "safe",
        "patients",
        "--algorithm",
        "kacpc",
        "-p",
        "k=5",
        "-p",
        "qi=['age', 'zip']",
        "--key",
        "pid",
    )
    assert message.startswith("safe version 1: 120 records in ")
    assert query(clinic, "SELECT count(*) FROM safe") == [(120,)]
    assert query(clinic, "SELECT person_key FROM dbanon.release") == [(["pid"],)]
    assert successful_output("refresh", clinic, "safe", "--always").startswith("safe version 2")
    assert successful_output("refresh", clinic, "safe", "--mode", "hold").endswith(
        "nothing to publish has changed since version 2, which stays. Waiting: 0 records.\n"
    )
    assert "'keep', 'hold', 'recluster'" in run("refresh", clinic, "safe", "--mode", "hodl").output
    assert successful_output("refresh", clinic, "safe", "--mode", "recluster", "--allow-small-differences").startswith(
        "safe version 3"
    )
    assert "kacpc" in successful_output("releases", clinic)
    assert "verified: by the release gate" in successful_output("certificate", clinic, "safe")
    assert json.loads(successful_output("certificate", clinic, "safe", "--json"))["release"]["version"]["value"] == "3"
    page = tmp_path / "report.html"
    assert successful_output("report", clinic, "safe", "-o", str(page), "--outgoing") == f"{page}\n"
    assert "<h1>Report: <bdi>safe</bdi></h1>" in page.read_text("utf-8")
    assert "Hint: --replace" in refusal_message("report", clinic, "safe", "-o", str(page))
    assert json.loads(successful_output("report", clinic, "safe", "--outgoing", "--json"))["html"].startswith(
        "<!DOCTYPE html>"
    )
    out = tmp_path / "out.duckdb"
    order = ("publish", clinic, "safe", "--output", str(out))
    assert successful_output(*order, "--classes", "--storage-version", "v1.2.0") == f"{out}\n"
    assert query(str(out), "SELECT count(*) FROM safe_classes")[0][0] > 1
    assert "already" in refusal_message(*order)
    successful_output(*order, "--replace")
    assert successful_output("drop", clinic, "safe") == "safe is dropped.\n"
    assert query(clinic, "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'safe%'") == [(0,)]


@pytest.mark.not_everyday
def test_materialize_replaces_definition_and_warns(clinic: str) -> None:
    successful_output("create-release", clinic, "safe", "patients", "--algorithm", "kacpc", "-p", "k=5", "--key", "pid")
    assert "already" in refusal_message(
        "create-release", clinic, "safe", "patients", "--algorithm", "mondrian", "-p", "k=5"
    )
    replaced = (
        "create-release",
        clinic,
        "safe",
        "patients",
        "--algorithm",
        "mondrian",
        "-p",
        "k=6",
        "--key",
        "pid",
        "--replace",
    )
    assert "--allow-small-differences" in refusal_message(*replaced, code=3)
    successful_output(*replaced, "--allow-small-differences")
    other = (
        "create-release",
        clinic,
        "two",
        "patients",
        "--algorithm",
        "kacpc",
        "-p",
        "k=4",
        "-p",
        "weights={'zip': 9}",
        "--key",
        "pid",
    )
    refusal_message(*other, "--composition", "refuse", "--quiet", code=3)
    result = run(*other)
    assert result.exit_code == 0 and "Warning: two: together with other releases of the same people" in result.stderr


def test_command_errors_are_one_line(clinic: str, tmp_path: Path) -> None:
    assert "k is missing" in refusal_message(
        "create-release", clinic, "safe", "patients", "--algorithm", "kacpc", code=2
    )
    assert "Did you mean 'patients'" in refusal_message(
        "create-release", clinic, "safe", "patient", "--algorithm", "kacpc", "-p", "k=5"
    )
    assert "kacpc" in refusal_message(
        "create-release", clinic, "safe", "patients", "--algorithm", "kacp", "-p", "k=5", code=2
    )
    assert "no parameter 'kk'" in refusal_message(
        "create-release", clinic, "safe", "patients", "--algorithm", "kacpc", "-p", "kk=5", code=2
    )
    for command in ("refresh", "drop", "certificate", "report"):
        assert "no published release nothing" in refusal_message(command, clinic, "nothing")
    assert "no published release nothing" in refusal_message("publish", clinic, "nothing", "--output", "x.csv")
    (tmp_path / "text.duckdb").write_text("no database")
    assert "not a valid DuckDB" in refusal_message("releases", str(tmp_path / "text.duckdb"))


def test_releases_command_reports_no_releases(tmp_path: Path) -> None:
    path = str(tmp_path / "empty.duckdb")
    duckdb.connect(path).close()
    assert successful_output("releases", path) == "There are no releases.\n"


# --- anonymize -------------------------------------------------------------------------------------------------------


def usage_error(*arguments: str) -> str:
    """Return the message about arguments that click refuses."""
    result = run(*arguments)
    assert result.exit_code == 2
    return result.output


@pytest.fixture
def people(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    rows = "\n".join(f"{20 + i % 40},0{i % 7},{'abc'[i % 3]},n{i}" for i in range(120))
    path.write_text(f"age,zip,disease,name\n{rows}\n")
    return str(path)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".duckdb"])
def test_anonymize_file_writes_files_of_every_format(people: str, tmp_path: Path, ending: str) -> None:
    out = tmp_path / "out" / f"safe{ending}"
    printed = successful_output(
        "anonymize",
        people,
        "-k",
        "5",
        "--qi",
        "age,zip",
        "--sensitive",
        "disease",
        "-p",
        "l=2",
        "--classes",
        "-o",
        str(out),
    )
    assert "120 records" in printed
    names = sorted(p.name for p in out.parent.iterdir())
    if ending == ".duckdb":
        assert names == ["safe.duckdb"]
        with duckdb.connect(str(out), read_only=True) as con:
            rows = con.execute("SELECT count(*), count(DISTINCT class_id) FROM safe").fetchall()[0]
            min_row = con.execute("SELECT min(size) FROM safe_classes").fetchall()[0]
    else:
        assert names == sorted(
            [f"safe{e}{ending}" for e in ("", "_classes", "_metrics", "_certificate")]
            + [f"safe_certificate{ending}.txt"]
        )
        rows = duckdb.sql(f"SELECT count(*), count(DISTINCT class_id) FROM '{out}'").fetchall()[0]
        min_row = duckdb.sql(f"SELECT min(size) FROM '{out.with_name('safe_classes' + ending)}'").fetchall()[0]
    assert rows[0] == 120
    assert rows[1] > 1
    assert min_row[0] >= 5
    assert all(b"n17" not in p.read_bytes() for p in out.parent.iterdir() if ending == ".csv")


@pytest.mark.not_everyday
def test_anonymize_keeps_existing_files_unless_forced(people: str, tmp_path: Path) -> None:
    out = tmp_path / "safe.csv"
    out.write_text("mine")
    call = ("anonymize", people, "-k", "5", "--qi", "age", "-o", str(out))
    refusal_message(*call)
    assert out.read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".csv"].count("safe.csv") == 1
    successful_output(*call, "--replace", "--quiet")
    assert out.read_text() != "mine"


@pytest.mark.not_everyday
def test_anonymize_reads_policy_and_hierarchy_files(people: str, tmp_path: Path) -> None:
    zips = tmp_path / "zips.csv"
    zips.write_text("".join(f"0{i};{'low' if i < 4 else 'high'};*\n" for i in range(7)))
    toml = tmp_path / "policy.toml"
    named_text = json.dumps(str(zips))
    toml.write_text(
        f'[columns]\nage = {{role = "quasi", rounding = "10"}}\nzip = {{role = "quasi", hierarchy = {named_text}}}\n'
        'disease = "sensitive"\n'
    )
    table = tmp_path / "policy.csv"
    table.write_text(f"column_name,role,hierarchy,rounding\nage,quasi,,10\nzip,quasi,{zips},\ndisease,sensitive,,\n")
    results = []
    for number, policy in enumerate((toml, table)):
        out = tmp_path / f"safe{number}.csv"
        document = json.loads(
            successful_output("anonymize", people, "-k", "20", "--policy", str(policy), "-o", str(out), "--json")
        )
        assert document["metrics"]["k"] >= 20
        assert document["files"][0] == str(out)
        results.append(out.read_text())
    assert results[0] == results[1]
    assert "low" in results[0]


@pytest.mark.not_everyday
def test_database_table_uses_its_policy(clinic: str, tmp_path: Path) -> None:
    out = tmp_path / "safe.parquet"
    successful_output("anonymize", clinic, "--table", "patients", "-k", "4", "-o", str(out), "--quiet")
    assert [d[0] for d in duckdb.sql(f"FROM '{out}'").description] == ["age", "zip", "d", "class_id"]
    successful_output("anonymize", clinic, "-k", "4", "-o", str(tmp_path / "x.csv"), "--quiet")
    with duckdb.connect(clinic) as con:
        con.execute("CREATE TABLE other AS SELECT 1 AS n")
    assert "--table names one of other, patients." in usage_error(
        "anonymize", clinic, "-k", "4", "-o", str(tmp_path / "y.csv")
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--qi", "agee"), "agee"),
        (("--qi", "age", "--algorithm", "kacp"), "Did you mean"),
        (("--qi", "age", "-p", "kk=3"), "kk"),
        (("--qi", "age", "-p", "l"), "NAME=VALUE"),
        ((), "dbanon init"),
    ],
)
def test_failed_anonymize_leaves_no_file(people: str, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    out = tmp_path / "out" / "safe.csv"
    result = run("anonymize", people, "-k", "5", *arguments, "-o", str(out))
    assert result.exit_code in (1, 2)
    assert says in result.output
    assert not out.parent.exists()


@pytest.mark.not_everyday
def test_commands_show_policy_hierarchies_and_algorithms(clinic: str, tmp_path: Path) -> None:
    shown_document = json.loads(successful_output("policy", clinic, "patients", "--json"))
    assert {row["column_name"]: row["role"] for row in shown_document} == {
        "age": "quasi",
        "zip": "quasi",
        "d": "sensitive",
    }
    assert json.loads(successful_output("policy", clinic, "nowhere", "--json")) == []
    arx = tmp_path / "sex.csv"
    arx.write_text("M;*\nF;*\n")
    successful_output("hierarchy", "load", clinic, "mine", str(arx))
    assert {"kind": "stored", "name": "mine"} in json.loads(successful_output("hierarchy", "list", clinic, "--json"))
    back = tmp_path / "back.csv"
    successful_output("hierarchy", "save", clinic, "mine", str(back))
    assert back.read_text() == "M;*\nF;*\n"
    refusal_message("hierarchy", "save", clinic, "mine", str(back))
    successful_output("hierarchy", "check", clinic)
    names = [row["name"] for row in json.loads(successful_output("algorithms", "--json"))]
    assert {"kacpc", "mondrian", "kmember"} <= set(names)


@pytest.mark.not_everyday
def test_unmentioned_columns_listed_for_review(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("age,Bemerkung,d,name,pid,x\n" + "".join(f"{i},b{i},{i % 3},n{i},{i},{i}\n" for i in range(40)))
    out = str(tmp_path / "out.csv")
    order = ("anonymize", str(source), "-k", "5", "--qi", "age", "--sensitive", "d", "--identifier", "name", "-o", out)
    message = run(*order, "-p", "person='PID'")
    assert message.exit_code == 0
    assert "Withheld, for review: Bemerkung, x. " in message.stderr
    assert "review" not in message.stdout
    assert "review" not in run(*order, "--replace", "-p", "withhold=['bemerkung', 'pid', 'x']").stderr
    assert run(*order, "--replace", "--quiet").output == ""
