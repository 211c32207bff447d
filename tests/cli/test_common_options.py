"""One default algorithm, and one flag that replaces what exists, in all interfaces."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click
import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.release.functions import DEFAULT_ALGORITHM
from dbanon.table_functions.registry import table_functions


def leaf_commands(group: click.Group = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from leaf_commands(command, (*path, name))
        elif command is not None:
            yield " ".join((*path, name)), command


def test_default_algorithm_is_best_in_all_interfaces() -> None:
    sqlalchemy = pytest.importorskip("dbanon.integrations.sqlalchemy.selectable")
    from dbanon.integrations.sqlalchemy.migration import Definition
    from dbanon.integrations.sqlalchemy.view import AnonymizedView

    assert DEFAULT_ALGORITHM == "best"
    for function in (dbanon.anonymize, sqlalchemy.anonymized, sqlalchemy.classes, sqlalchemy.metrics):
        assert inspect.signature(function).parameters["algorithm"].default == DEFAULT_ALGORITHM
    assert AnonymizedView.__algorithm__ == DEFAULT_ALGORITHM == Definition("safe").algorithm
    for name in ("anonymize", "anonymize_classes", "anonymize_metrics", "inference"):
        defaults = {p.name: p.default for p in table_functions()[name].parameters}
        assert defaults["algorithm"] == DEFAULT_ALGORITHM
    defaults = {p.name: p.default for p in table_functions()["tradeoffs"].parameters}
    assert defaults["algorithms"] == (DEFAULT_ALGORITHM,)


def test_spark_default_algorithm_is_best() -> None:
    pytest.importorskip("pyspark")
    import dbanon.spark

    assert inspect.signature(dbanon.spark.anonymize).parameters["function"].default == DEFAULT_ALGORITHM


def test_commands_without_algorithm_take_best(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT 20 + i % 20 AS age FROM range(40) r(i)")
        dbanon.declare(con, "t", age="quasi")
    result = CliRunner().invoke(main, ["create-release", str(path), "safe", "t", "-k", "5", "--quiet"])
    assert result.exit_code == 0, result.output
    named = ["create-release", str(path), "other", "t", "-k", "5", "-p", "algorithm=mdav", "--quiet"]
    assert CliRunner().invoke(main, named).exit_code == 0
    with duckdb.connect(str(path), read_only=True) as con:
        rows = con.execute("SELECT name, algorithm FROM dbanon.release ORDER BY name").fetchall()
    assert rows == [("other", "mdav"), ("safe", DEFAULT_ALGORITHM)]


def test_commands_that_write_files_take_replace_and_no_overwrite() -> None:
    writing = {"-o", "--output", "--plot"}
    for path, command in leaf_commands():
        names = {name for p in command.params if isinstance(p, click.Option) for name in p.opts}
        assert not names & {"--overwrite", "--force"}, path
        if writing & names:
            assert "--replace" in names, path
    assert "'--overwrite' is now '--replace'" in CliRunner().invoke(main, ["demo", "--overwrite"]).output


def test_anonymize_writes_classes_only_on_request(tmp_path: Path) -> None:
    file, path = tmp_path / "t.csv", tmp_path / "t.duckdb"
    file.write_text("age\n" + "".join(f"{20 + i % 5}\n" for i in range(20)))
    words = ["anonymize", str(file), "-k", "4", "--qi", "age", "--algorithm", "mondrian", "--quiet"]
    assert CliRunner().invoke(main, [*words, "-o", str(tmp_path / "safe.csv")]).exit_code == 0
    assert not (tmp_path / "safe_classes.csv").exists() and (tmp_path / "safe_metrics.csv").exists()
    assert CliRunner().invoke(main, [*words, "-o", str(tmp_path / "whole.csv"), "--classes"]).exit_code == 0
    assert (tmp_path / "whole_classes.csv").exists()
    duckdb.connect(str(path)).close()
    stored = CliRunner().invoke(main, ["anonymize", str(path), "--table", "t", "-k", "4", "--classes"])
    assert stored.exit_code == 2 and "has a table of classes" in stored.output


def test_stream_and_plot_keep_files_without_replace(tmp_path: Path) -> None:
    lines, output = tmp_path / "in.ndjson", tmp_path / "out.ndjson"
    lines.write_text("".join(f'{{"age": {20 + i % 5}}}\n' for i in range(20)))
    output.write_text("kept")
    words = ["stream", "--from", str(lines), "-o", str(output), "-k", "4", "-p", "delta=8", "--qi", "age"]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 1 and "Hint: --replace replaces it; or choose another name" in refused.output
    assert output.read_text() == "kept"
    assert CliRunner().invoke(main, [*words, "--replace"]).exit_code == 0
    assert output.read_text().count("\n") == 20
    plot, path = tmp_path / "plot.svg", tmp_path / "clinic.duckdb"
    plot.write_text("kept")
    duckdb.connect(str(path)).close()
    drawn = CliRunner().invoke(main, ["tradeoffs", str(path), "t", "-k", "5", "--plot", str(plot)])
    assert drawn.exit_code == 1 and "Hint: --replace replaces it; or choose another name" in drawn.output
