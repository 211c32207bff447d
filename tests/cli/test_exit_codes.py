"""Exit codes state the outcome of a command, and --json answers with one document in every case."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.cli.manual.error_page import documented_errors, error_messages
from dbanon.cli.terminal.command_group import JsonErrorGroup
from dbanon.cli.terminal.common import print_result, print_table
from dbanon.errors import DbanonError
from dbanon.errors.exit_codes import EXIT_CODES, error_outcome
from dbanon.views import materialize

QUOTING = {"PartitionFailedError"}
"""Errors that contain the words of another error."""

NEVER_TEXT = {
    "NoReleaseToServeError",
    "NotLoopbackAddressError",
    "RequestNotPermittedError",
    "ReleaseUnavailableError",
    "RequestLimitReachedError",
    "ServerStoppingError",
    "ReleasePendingError",
    "ComputedColumnError",
    "TableNotInPolicyError",
}
"""Errors that no statement raises; the last two are those of Spark, which raises them in Python."""


def exit_code_mismatches(name: str, kind: type[DbanonError], message: str) -> Iterator[str]:
    """Yield what an error class, or its message from DuckDB, states about its outcome otherwise than it should."""
    if kind.outcome not in EXIT_CODES:
        yield f"{name}: {kind.outcome} has no exit code"
    outcome = error_outcome(kind.__new__(kind))
    if outcome != kind.outcome:
        yield f"{name}: raised in Python, {outcome} instead of {kind.outcome}"
    outcome = error_outcome(duckdb.InvalidInputException(f"Invalid Input Error: {message}"))
    if name not in QUOTING and (kind.pattern() or kind.outcome == "failed") and outcome != kind.outcome:
        yield f"{name}: as text of DuckDB, {outcome} instead of {kind.outcome}"
    if kind.pattern() and not re.search(kind.pattern(), message):
        yield f"{name}: {kind.pattern()!r} does not match {message!r}"
    if not kind.pattern() and kind.outcome != "failed" and name not in NEVER_TEXT:
        yield f"{name}: no text by which it is recognized"


def test_error_texts_from_duckdb_keep_exit_code() -> None:
    kinds, messages = documented_errors(), error_messages()
    assert not [m for name, kind in kinds.items() for m in exit_code_mismatches(name, kind, messages[name])]


def test_unclassified_error_exits_with_failed() -> None:
    class NewError(DbanonError):
        pass

    assert (
        error_outcome(NewError("new")) == error_outcome(ValueError("x")) == error_outcome(duckdb.Error("x")) == "failed"
    )
    assert error_outcome(KeyboardInterrupt()) == "interrupted"


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Create a database that no test changes."""
    path = tmp_path_factory.mktemp("outcomes") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE patients AS SELECT i AS pid, 20 + i % 40 AS age, ['a', 'b', 'c'][1 + i % 3] AS d, "
            "IF(i = 0, 'rare', 'ward') AS ward FROM range(120) r(i)"
        )
        dbanon.declare(con, "patients", age="quasi", d="sensitive", ward="insensitive", pid="person")
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5, allow_rare=["ward"])
    yield str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


REFUSED = {
    ("-k", "500", "-p", "allow_rare=ward"): "k must be between 2 and 120",
    ("-k", "5", "-l", "4", "-p", "allow_rare=ward"): "all records together do not meet -l 4",
    (
        "-k",
        "5",
    ): "has the role insensitive",
    ("-k", "5", "-p", "allow_rare=ward", "-p", "sensitive=age"): "which would loosen the policy",
}


@pytest.mark.parametrize("call", REFUSED)
def test_privacy_refusal_exits_with_3(shared_database: str, call: tuple[str, ...]) -> None:
    plain_result = run("create-release", shared_database, "other", "patients", "--algorithm", "kacpc", *call)
    assert (plain_result.exit_code, plain_result.stdout) == (3, "")
    assert REFUSED[call] in plain_result.stderr
    result = run("create-release", shared_database, "other", "patients", "--algorithm", "kacpc", *call, "--json")
    assert result.exit_code == 3
    error = json.loads(result.stdout)["error"]
    assert (error["kind"], error["exit_code"]) == ("refused", 3)
    assert f"Error: {error['message']} Hint: {error['hint']}" == plain_result.stderr.splitlines()[-1]


def test_shell_exits_with_same_codes_as_commands(shared_database: str) -> None:
    def code(statement: str) -> int:
        return run("shell", shared_database, "--readonly", "-c", statement).exit_code

    assert code("FROM kacpc('patients', k=500, allow_rare=['ward'])") == 3
    assert code("FROM kacpc('patients', k=1)") == 2
    assert code("SELECT nope") == 1
    assert code("SELECT 1") == 0


def test_database_open_elsewhere_is_busy(shared_database: str) -> None:
    holds = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holds, shared_database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "open\n"
            commands = (
                ("releases", shared_database),
                ("refresh", shared_database, "safe"),
                ("init", shared_database, "patients", "--yes"),
                ("publish", shared_database, "safe", "--output", shared_database + ".csv"),
                ("shell", shared_database, "-c", "SELECT 1"),
            )
            for command in commands:
                result = run(*command)
                assert result.exit_code == 4, (command, result.output)
            assert json.loads(run("releases", shared_database, "--json").stdout)["error"]["kind"] == "busy"
        finally:
            other.kill()


def test_concurrent_refresh_exits_with_busy(shared_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refresh(*_: object, **__: object) -> None:
        raise errors.LedgerBusyError("refresh", "safe", "version 2 is there")

    monkeypatch.setattr(materialize, "refresh_release", refresh)
    assert run("refresh", shared_database, "safe").exit_code == 4


def test_ctrl_c_ends_with_130(shared_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refresh(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(materialize, "refresh_release", refresh)
    assert run("refresh", shared_database, "safe").exit_code == 130
    result = run("refresh", shared_database, "safe", "--json")
    assert result.exit_code == 130 and json.loads(result.stdout)["error"]["kind"] == "interrupted"


def test_ctrl_c_at_prompt_exits_with_130_and_no_with_1() -> None:
    def ctrl_c() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise click.Abort from None  # the type that click converts it to

    def no() -> None:
        raise click.Abort

    group = JsonErrorGroup(
        commands={"ctrl_c": click.Command("ctrl_c", callback=ctrl_c), "no": click.Command("no", callback=no)}
    )
    assert CliRunner().invoke(group, ["ctrl_c"]).exit_code == 130
    assert CliRunner().invoke(group, ["no"]).exit_code == 1


def leaf_commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaf_commands(inner, (*path, name))
    else:
        yield path, command


def test_k_options_equal_in_all_commands_with_json() -> None:
    for path, command in leaf_commands(main):
        options = {option for p in command.params for option in p.opts}
        if path != ("shell",):  # which has --mode json
            assert "--json" in options, path
        several = path in (("compare",), ("tradeoffs",))  # lists of k, and of l and t where they are for choosing
        if ("-p" in options and not several) or path == ("demo",):
            models = {"-k", "-l", "-t"} - ({"-t"} if path == ("stream",) else set())  # a stream has no t
            assert models <= options, path


def parse_json(text: str) -> Any:
    """Parse text as exactly one JSON document; NaN is invalid."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


def test_command_output_is_valid_json(shared_database: str, tmp_path: Path) -> None:
    def run_json(*arguments: str) -> Any:
        result = run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return parse_json(result.stdout)

    (release,) = run_json("releases", shared_database)
    assert (release["name"], release["version"], release["records"]) == ("safe", 1, 120)
    assert release["released_at"][:2] == "20"
    assert set(run_json("algorithms")[0]) >= {"name", "title", "family", "complexity"}
    assert {"kind", "name"} == set(run_json("hierarchy", "list", shared_database)[0])
    assert run_json("hierarchy", "check", shared_database) == {"problems": []}
    assert run_json("publish", shared_database, "safe", "--output", str(tmp_path / "safe.csv"))["files"]
    assert run_json("verify", str(tmp_path / "safe.csv")) == {"problems": []}
    assert run_json("docs", "kacpc")["text"].startswith("# ")
    assert run_json("certificate", shared_database, "safe")["release"]["version"]["value"] == "1"
    database = str(shutil.copy(shared_database, tmp_path / "own.duckdb"))
    release_document = run_json(
        "create-release", database, "other", "patients", "--algorithm", "kacpc", "-k", "3", "-p", "allow_rare=ward"
    )
    assert set(release_document) == {"name", "version", "records", "classes", "composition", "is_new"}


@pytest.mark.parametrize("call", [("nonsense",), ("releases",), ("releases", "missing.duckdb"), ("drop", "--nope")])
def test_usage_error_is_json_on_request(call: tuple[str, ...]) -> None:
    result = run(*call, "--json")
    assert result.exit_code == 2
    assert parse_json(result.stdout)["error"]["kind"] == "usage"


def test_values_unknown_to_json_become_null_or_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_result(
        {"a": [float("nan"), float("-inf"), 1.5, None], "b": Decimal("1.50"), "c": datetime.date(2020, 1, 2)}, True
    )
    assert parse_json(capsys.readouterr().out) == {"a": [None, None, 1.5, None], "b": "1.50", "c": "2020-01-02"}


def test_command_tables_fit_80_columns(shared_database: str) -> None:
    for command in (("releases", shared_database), ("algorithms",), ("hierarchy", "list", shared_database)):
        result = run(*command)
        lines = result.stdout.splitlines()
        assert max(map(len, lines)) <= 80 and "…" not in result.stdout, command
    shown_lines = run("releases", shared_database).stdout.splitlines()
    assert any(line.split()[:2] == ["safe", "1"] and "kacpc" in line for line in shown_lines), shown_lines
    assert len(shown_lines) <= 8  # one release: a title, a head and a few lines


def test_constant_columns_shown_below_narrow_table(capsys: pytest.CaptureFixture[str]) -> None:
    wide_mappings = [{"name": f"a{i}", "same": "x" * 70, "n": 1.5, "m": "[b]y" * 4} for i in range(3)]
    print_table("Title", wide_mappings)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.strip()][:3] == [["Title"], ["name"], ["─" * 4]]
    assert "In all rows: same " in " ".join(lines) and "n 1.5, m [b]y[b]y[b]y[b]y." in " ".join(lines)
