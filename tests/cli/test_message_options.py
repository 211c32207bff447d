"""Command-line messages name options, every pointer in a message resolves, and Ctrl-C prints one line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.cli.commands.docs import documented_commands
from dbanon.cli.manual.error_page import error_messages
from dbanon.cli.options.message_options import with_option_names
from dbanon.cli.shell.dot_commands import COMMANDS
from dbanon.publishing import release_files
from dbanon.release.spec import resolve
from dbanon.sqltext import resources
from dbanon.table_functions.registry import table_functions
from dbanon.udf import cluster, install
from dbanon.views import materialize

# --- options -----------------------------------------------------------------------------------------------------


def shown_text(path: str, message: str, **given: Any) -> str:
    """Return a message as the user of a command reads it."""
    command: click.Command = main
    for name in path.split():
        assert isinstance(command, click.Group)
        command = command.commands[name]
    context = click.Context(command)
    context.params = given
    return with_option_names(message, context)


@pytest.mark.parametrize(
    ("command", "message", "says"),
    [
        ("publish", "overwrite = True, or", "--replace, or"),
        ("anonymize", "overwrite = True, or", "--replace, or"),
        ("create-release", "replace = True (CREATE OR REPLACE) makes", "--replace (CREATE OR REPLACE) makes"),
        ("refresh", "with mode = 'recluster' (whoever", "with --mode recluster (whoever"),
        ("refresh", "(with mode = 'hold' those", "(with --mode hold those"),
        ("refresh", "with allow_small_differences = true, which", "with --allow-small-differences, which"),
        ("create-release", "use nulls = 'keep' or nulls = 'drop'", "use -p nulls=keep or -p nulls=drop"),
        ("anonymize", "in the call, qi = ['age', ...].", "in the call, --qi age."),
        ("anonymize", "with sensitive = ['disease'],", "with --sensitive disease,"),
        ("anonymize", "Hint: k = 10.", "Hint: -k 10."),
        ("create-release", "Hint: k = 10.", "Hint: -k 10."),
        ("demo", "database = 'other.duckdb'", "--database other.duckdb"),
        ("anonymize", "SELECT * FROM kacpc('t', k = 10)", "SELECT * FROM kacpc('t', k = 10)"),
        ("anonymize", "2 rows (unknown = 3)", "2 rows (unknown = 3)"),
    ],
)
def test_message_names_option_as_on_command_line(command: str, message: str, says: str) -> None:
    assert says in shown_text(command, message)
    assert with_option_names(message, None) == message


def test_message_replaces_statement_by_command() -> None:
    message = shown_text("policy", "Hint: FROM policy_problems() lists them.", database=Path("my clinic.duckdb"))
    assert message == "Hint: dbanon policy 'my clinic.duckdb' lists them."


@pytest.mark.not_everyday
def test_suggested_commands_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("raw.csv").write_text("age,d\n" + "1,a\n" * 4)
    Path("safe.csv").write_text("mine")
    order = ["anonymize", "raw.csv", "-k", "2", "--qi", "age", "-o", "safe.csv", "--quiet"]
    result = CliRunner().invoke(main, order)
    assert result.exit_code == 1 and "Hint: --replace replaces it; or choose another name" in result.output
    assert CliRunner().invoke(main, [*order, "--replace"]).exit_code == 0
    result = CliRunner().invoke(main, ["anonymize", "raw.csv", "-k", "2", "-o", "other.csv"])
    assert result.exit_code == 1 and "qi = " not in result.output
    assert "is declared for raw.csv. Hint: name the columns, --qi age, or see what dbanon init raw.csv" in result.output


# --- pointers ----------------------------------------------------------------------------------------------------


def missing_references(text: str) -> list[str]:
    """Return the targets of a message's pointers that do not exist."""
    lost_texts = []
    tables = set(re.findall(r"dbanon\.(\w+)", resources.sql("source/schema.sql")))
    functions = {*table_functions(), "f", "query", "read_csv", "read_json"}
    commands = {path for path, _ in documented_commands(main).walk()}
    lost_texts += [f"FROM {n}(" for n in re.findall(r"\bFROM ([a-z_]+)\(", text) if n not in functions]
    lost_texts += [
        f"dbanon.{n}" for n in re.findall(r"\bdbanon\.([a-z_]+)\b", text) if n not in {*dbanon.__all__, *tables}
    ]
    lost_texts += [n for n in re.findall(r"(?<!\S)\.[a-z]+", text) if n not in COMMANDS]
    for words in re.findall(r"(?<!%)\bdbanon ((?:[a-z]+ ?)+)", text):
        first = words.split()[0]
        if f"dbanon {first}" not in commands and first not in (
            "is",
            "on",
            "which",
            "and",
            "made",
            "keeps",
            "did",
            "there",
            "stores",
            "created",
        ):
            lost_texts.append(f"dbanon {words}")
    return lost_texts


@pytest.mark.parametrize("name", error_messages())
def test_every_reference_in_message_exists(name: str) -> None:
    allowed_mapping = {
        "UnsupportedFileError": [
            ".csv",
            ".tsv",
            ".txt",
            ".json",
            ".jsonl",
            ".ndjson",
            ".parquet",
            ".pq",
            ".arrow",
            ".gz",
            ".zst",
            ".feather",
            ".tab",
            ".parq",
            ".jsonlines",
        ],
        "UnknownCommandError": [".halp"],
        "UnreadableCommandError": [],
        "MissingExtraError": ["dbanon.sqlalchemy"],
        "UnknownConnectionError": [".ddb", ".db"],
        "NewerSchemaError": ["dbanon has version ", "dbanon reads versions up to "],
    }
    text = error_messages()[name]
    assert [p for p in missing_references(text) if p not in allowed_mapping.get(name, [])] == []


@pytest.mark.not_everyday
def test_shell_help_refers_to_existing_topics() -> None:
    def run_shell_line(line: str) -> str:
        result = CliRunner().invoke(main, ["shell", "-c", line])
        assert result.exit_code == 0, result.output
        return result.output

    text = run_shell_line(".help")
    named_matches = re.findall(r"\.help ([a-z_]+)", text)
    assert {"best", "metrics"} <= set(named_matches)
    for name in (*named_matches, "precision"):
        assert len(run_shell_line(f".help {name}")) > 40
    assert "precision" in run_shell_line(".help metrics") and "Wang et al. 2022" in run_shell_line(".help precision")


# --- Ctrl-C ------------------------------------------------------------------------------------------------------

MOMENTS = {
    "attaching": (install, "create_macros"),
    "planning": (resolve, "resolve_spec"),
    "clustering": (cluster.algorithms, "run_algorithm"),
    "building": (materialize, "create_version"),
}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE p AS SELECT i // 2 AS age FROM range(20) AS r (i)")
        dbanon.declare(con, "p", age="quasi")
        dbanon.create_release(con, "made", "kacpc", "p", k=2)
    return path


def assert_interrupted(monkeypatch: pytest.MonkeyPatch, patch_target: tuple[Any, str], *order: str) -> None:
    """Run a command that Ctrl-C ends at a given moment."""
    real = getattr(*patch_target)

    def pressed(*given: Any, **named: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):  # Python raises it between two instructions
            pass
        return real(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(*patch_target, pressed)
        result = CliRunner().invoke(main, list(order))
    assert result.exit_code == 130
    assert result.output == "Interrupted.\n"


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_prints_one_line_and_leaves_no_files(clinic: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    assert_interrupted(
        monkeypatch,
        MOMENTS[moment],
        "create-release",
        str(clinic),
        "safe",
        "p",
        "--algorithm",
        "kacpc",
        "-p",
        "k=3",
        "--quiet",
    )
    with duckdb.connect(str(clinic), read_only=True) as con:
        assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'safe%'").fetchall() == [(0,)]
        assert con.execute("SELECT count(*) FROM dbanon.release").fetchall() == [(1,)]


def test_ctrl_c_during_publish_leaves_no_files(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old_paths = sorted(clinic.parent.iterdir())
    order = ("publish", str(clinic), "made", "--output", str(clinic.parent / "out.csv"))
    assert_interrupted(monkeypatch, (release_files.certificates, "as_text"), *order)
    assert sorted(clinic.parent.iterdir()) == old_paths


def test_ctrl_c_during_import_prints_one_line() -> None:
    code = (
        "import os, signal, sys\n"
        "class Press:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'click':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n"
        "from dbanon.__main__ import main\n"
        "main()\n"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stdout, completed.stderr) == (130, "", "Interrupted.\n")


def test_shared_errors_name_no_command_line_option() -> None:
    for name in ("TargetExistsError", "ReleaseExistsError", "SmallDifferencesRefusedError", "CannotKeepClassesError"):
        assert hasattr(errors, name)
        assert "--" not in error_messages()[name]
