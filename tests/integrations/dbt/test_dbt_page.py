"""The page about dbt is true: its files make a project, and its commands run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import dbt, documents

import dbanon
from dbanon.cli import main


def test_dbt_page_commands_run_on_page_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dbt.dbt_python()
    monkeypatch.chdir(tmp_path)
    typed = []
    for step in documents.steps(documents.ROOT / "docs" / "how-to" / "dbt.md"):
        if step.file:
            Path(step.file).parent.mkdir(parents=True, exist_ok=True)
            Path(step.file).write_text(step.code, encoding="utf-8")
            continue
        assert step.language == "sh"
        typed += step.code.splitlines()
    while typed:
        program, _, arguments = typed.pop(0).partition(" ")
        if program == "dbanon":
            result = CliRunner().invoke(main, shlex.split(arguments))
            assert result.exit_code == 0, result.output
            assert "-o dbanon_package" not in arguments or result.output == Path("packages.yml").read_text()
        else:
            commands = [arguments]
            while typed and typed[0].startswith("dbt "):  # one process, as starting dbt takes seconds
                commands.append(typed.pop(0).removeprefix("dbt "))
            for ran in dbt.run(tmp_path, *commands):
                assert ran.success, ran.text
    with dbanon.connect("clinic.duckdb", read_only=True) as con:
        versions = con.execute("SELECT version, records FROM releases() ORDER BY ALL").fetchall()
    assert versions == [(1, 300), (2, 330)]
