"""The shell: completion, output of results, dot commands, and stopped queries."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import re
import select
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from rich.cells import cell_len
from rich.console import Console

import dbanon
from dbanon.cli.manual import function_page
from dbanon.cli.shell import catalog_cache as known_names
from dbanon.cli.shell.completion import completions
from dbanon.cli.shell.dot_commands import COMMANDS, LeaveShellError, run_dot_command as run_dot_command
from dbanon.cli.shell.script import script_steps, split_statements
from dbanon.cli.shell.shell import Shell
from dbanon.cli.terminal.compiling import COMPILING_MESSAGE, ServerCompilation
from dbanon.cli.terminal.result_table import (
    MODES,
    QueryResult,
    ResultPage,
    fit_columns,
    fit_with_pinned_columns,
    render,
    truncate,
)
from dbanon.cli.terminal.value_format import as_json, format_value, unique_names
from dbanon.errors.display import single_line
from dbanon.kernels import compile_events
from dbanon.table_functions.registry import table_functions

MAIN = "import sys; from dbanon.cli import main; main()"


# --- cutting text into statements ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "done", "rest"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1"], " SELECT 2"),
        ("SELECT ';'; x", ["SELECT ';'"], " x"),
        ("SELECT 'it''s;'; x", ["SELECT 'it''s;'"], " x"),
        (r"SELECT E'\';'; x", [r"SELECT E'\';'"], " x"),
        ('SELECT "a;""b"; x', ['SELECT "a;""b"'], " x"),
        ("SELECT $$;$$; x", ["SELECT $$;$$"], " x"),
        ("SELECT $a$;$$;$a$; x", ["SELECT $a$;$$;$a$"], " x"),
        ("SELECT 1 -- ;\n; x", ["SELECT 1 -- ;"], " x"),
        ("SELECT /* ; /* ; */ ; */ 1; x", ["SELECT /* ; /* ; */ ; */ 1"], " x"),
        ("; ;", [], ""),
        ("-- only this\n;", [], ""),
        ("SELECT 'open; SELECT 2;", [], "SELECT 'open; SELECT 2;"),
        ("SELECT /* open; */ /* 2;", [], "SELECT /* open; */ /* 2;"),
    ],
)
def test_statement_ends_only_at_unquoted_semicolon(text: str, done: list[str], rest: str) -> None:
    assert split_statements(text) == (done, rest)


def test_script_splits_into_statements_and_dot_commands() -> None:
    text = "-- first\n.mode csv\nSELECT 1;SELECT\n.5;\n  .tables\n.timer on\nSELECT '\n.quit\n'"
    assert list(script_steps(text.splitlines(keepends=True))) == [
        ".mode csv",
        "SELECT 1",
        "SELECT\n.5",
        ".tables\n.timer on\nSELECT '\n.quit\n'",
    ]


# --- completion ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def names() -> Any:
    """Return the names that are known in a small clinic."""
    with dbanon.connect() as con:
        con.execute('CREATE TABLE patients (pid INTEGER, age INTEGER, zip VARCHAR, disease VARCHAR, "odd name" DATE)')
        con.execute("CREATE TABLE wards (ward VARCHAR, beds INTEGER)")
        con.execute("CREATE SCHEMA lab; CREATE TABLE lab.samples (sample INTEGER)")
        return known_names.read_catalog(lambda query: con.raw.execute(query).fetchall())


def completion_texts(text: str, names: Any, *, is_requested: bool = False) -> list[str]:
    """Return the completions at the mark `|`."""
    previous, following = text.split("|")
    return [c.text for c in completions(previous, following, names, is_requested=is_requested)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SEL|", ["SELECT"]),
        ("sel|", ["select"]),
        ("SELECT * FROM |", ["patients", "wards"]),
        ("SELECT * FROM kac|", ["kaca(", "kaca_classes(", "kaca_metrics(", "kacpc("]),
        ("SELECT * FROM kacp|", ["kacpc(", "kacpc_classes(", "kacpc_metrics("]),
        ("SELECT * FROM kacp|('patients')", ["kacpc", "kacpc_classes", "kacpc_metrics"]),
        ("FROM kacpc(|", ["'patients'", "'wards'"]),
        ("FROM kacpc('pat|", ["'patients'"]),
        ("FROM kacpc('pat|'", ["'patients"]),
        ("FROM kacpc('patients', |", ["k=", "qi=", "sensitive="]),
        ("FROM kacpc('patients', k=10, |", ["qi=", "sensitive="]),
        ("FROM kacpc('patients', k := 10, inter|", ["intervals="]),
        ("FROM kacpc('patients', nulls=|", ["'keep'", "'drop'", "'error'"]),
        ("FROM kacpc('patients', nulls='d|", ["'drop'"]),
        ("FROM kacpc('patients', nulls => |", ["'keep'", "'drop'", "'error'"]),
        ("FROM kacpc('patients', escape_labels=|", ["true", "false"]),
        ("FROM kacpc('patients', qi=|", ["['pid'", "['age'"]),
        ("FROM kacpc('patients', qi=['age', |", ["'pid'", "'age'", "'zip'"]),
        ("FROM kacpc('patients', qi=['age', 'z|", ["'zip'"]),
        ("FROM kacpc('patients', weights={|", ["'pid': ", "'age': "]),
        ("FROM kacpc('patients', miss|", ["missing_codes="]),
        ("FROM kacpc('patients', missing_codes={'zip|", ["'zip': "]),
        ("FROM kacpc('patients', hierarchies={'zip': 'us|", ["'us_state'", "'us_state_name'"]),
        ("FROM kacpc('patients', qi=['age'], s|", ["sensitive=", "suppress="]),
        ("FROM hierarchy_prefix('z', 'patients', |", []),
        ("FROM uncovered_values('patients', 'z|", ["'zip'"]),
        ("FROM inference('patients', algorithm='mon|", ["'mondrian'"]),
        ("SELECT ag| FROM kacpc('patients', k=10)", ["age"]),
        ("SELECT od| FROM patients", ['"odd name"']),
        ('SELECT "od| FROM patients', ['"odd name"']),
        ("SELECT p.| FROM patients p", ["pid", "age", "zip"]),
        ("SELECT * FROM patients AS p WHERE p.a|", ["age"]),
        ("SELECT * FROM patients p JOIN wards w ON w.|", ["ward", "beds"]),
        ("SELECT * FROM lab.|", ["samples"]),
        ("SELECT 1; SELECT * FROM wa|", ["wards"]),
        (".mo|", [".mode"]),
        (".mode m|", ["markdown"]),
        (".help kacpc_c|", ["kacpc_classes"]),
        (".schema pat|", ["patients"]),
    ],
)
def test_completion_offers_matching_names(text: str, first: list[str], names: Any) -> None:
    result = completion_texts(text, names)
    assert result[: len(first)] == first
    assert result or not first


@pytest.mark.parametrize(
    "text", ["SELECT '|", "SELECT -- s|", "SELECT 12|", "SELECT * |", "SELECT 'a'|", "FROM t /* s|"]
)
def test_completion_silent_without_candidates(text: str, names: Any) -> None:
    assert completion_texts(text, names) == []


def test_tab_offers_candidates_on_empty_input(names: Any) -> None:
    assert "SELECT" in completion_texts("|", names, is_requested=True)
    assert completion_texts("|", names) == []


def test_functions_and_parameters_offered_with_meaning(names: Any) -> None:
    for function in table_functions().values():
        actual_metas = {c.text.rstrip("()"): c.meta for c in completions(f"FROM {function.name}", "", names)}
        rest = [f for f in table_functions() if f != function.name and f.startswith(function.name)]
        assert function.doc in actual_metas[function.name]
        assert set(rest) <= set(actual_metas)
        arguments = "".join("'x', " for _ in function.positional)
        metas = {c.text: c.meta for c in completions(f"FROM {function.name}({arguments}", "", names)}
        if function.parameters and (function.positional or not arguments):
            assert metas == {f"{p.name}=": p.doc for p in function.parameters}


def test_completion_keeps_names_in_aborted_transaction() -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE wards (ward VARCHAR)")
        shell = memory_shell(con)
        fresh = known_names.CatalogCache(shell.try_query)
        shell.on_change = fresh.mark_stale
        assert completion_texts("FROM wa|", fresh.get()) == ["wards"]
        shell.run("BEGIN")
        shell.run("SELECT error('no')")
        assert completion_texts("FROM wa|", fresh.get()) == ["wards"]
        shell.run("ROLLBACK")
        shell.run("CREATE TABLE waiting (i INTEGER)")
        assert completion_texts("FROM wa|", fresh.get()) == ["waiting", "wards"]
        shell.close()


# --- results ---------------------------------------------------------------------------------------------


def written_text(
    rows: list[tuple[Any, ...]],
    columns: str,
    mode: str,
    *,
    types: str = "",
    width: int = 80,
    limit: int | None = None,
    watched: bool = True,
) -> str:
    """Return the written text of a result."""
    out = io.StringIO()
    names = tuple(columns.split())
    kinds = tuple(types.split()) or ("VARCHAR",) * len(names)
    console = Console(file=out, width=width, highlight=False)
    render(QueryResult(names, kinds, iter([rows] if rows else [])), mode, ResultPage(console, limit, watched))
    return out.getvalue()


def screen_lines(con: Any, query: str, mode: str = "table") -> list[str]:
    """Return the output of a statement on a terminal of 80 columns."""
    screen = io.StringIO()
    shell = Shell(con, screen, io.StringIO(), mode=mode, watched=True, dot_command=run_dot_command)
    shell.console.width = 80
    try:
        assert shell.run(query)
    finally:
        shell.close()
    return screen.getvalue().splitlines()


def test_release_shows_quasi_identifiers_first_untruncated() -> None:
    with dbanon.connect() as con:
        con.execute(
            "CREATE TABLE people AS SELECT repeat('north wing ', 6) AS ward, 0.1::DOUBLE + 0.2 AS score, "
            "'Flu' AS illness, 'plain' AS note, make_date(1926 + i, 3, 1) AS born, i AS age, "
            "repeat('w', 40) AS room FROM range(8) r(i)"
        )
        roles = (
            "qi=['age', 'born'], sensitive=['illness'], insensitive=['ward', 'score', 'note', 'room'], "
            "rounding={'born': 'year'}"
        )
        head = screen_lines(con, f"FROM kacpc('people', k=4, {roles})")
        assert re.findall(r"\w+", head[1])[:3] == ["age", "born", "ward"]
        assert "│ [1926, 1929] │" in head[4] and "0.3 │" in head[4]
        assert max(map(cell_len, head)) <= 80
        assert re.search(r"8 columns, [4-7] shown", head[-1])
        # Columns asked for by name keep their positions, also of a table that is no release.
        selection = screen_lines(con, f"SELECT ward, age FROM kacpc('people', k=4, {roles})")
        assert re.findall(r"\w+", selection[1]) == ["ward", "age"]
        assert re.findall(r"\w+", screen_lines(con, "SELECT ward, age FROM people")[1]) == ["ward", "age"]
        # Exported rows are in the order of the source, and have all digits.
        csv = screen_lines(con, f"FROM kacpc('people', k=4, {roles})", "csv")
        assert csv[0] == "ward,score,illness,note,born,age,room,class_id"
        assert "0.30000000000000004" in csv[1]
        assert "0.30000000000000004" in screen_lines(con, "SELECT score FROM people LIMIT 1", "json")[0]


def test_pinned_columns_are_not_truncated() -> None:
    assert fit_with_pinned_columns([30, 9, 8, 30, 30], [1, 2], 60) == ([1, 2, 0, 3, None], [14, 9, 8, 12, 12])
    assert fit_with_pinned_columns([5, 5], [1], 80) == ([1, 0], [5, 5])
    remaining, widths = fit_with_pinned_columns([50, 50], [0, 1], 80)  # too wide together: cut like any others
    assert remaining == [0, 1] and sum(widths) + 7 <= 80


def test_following_columns_are_widened_before_others_are_added() -> None:
    assert fit_with_pinned_columns([9, 40, 9, 9], [0], 80, [1]) == ([0, 1, 2, 3], [9, 40, 9, 9])
    assert fit_with_pinned_columns([9, 40, 9, 9], [0], 72, [1]) == ([0, 1, 2, None], [9, 40, 9, 9])
    assert fit_with_pinned_columns([20, 30, 9], [0], 39) == ([0, 1, None], [20, 8, 9])


@pytest.mark.parametrize("width", [40, 60, 80, 119, 160])
def test_table_with_leading_columns_fits_screen_and_marks_omitted_columns(width: int) -> None:
    columns = ["algorithm", "k", "l", "t", "ncp", "precision", "frontier", "risk_highest", "statement"]
    row = ("best", 10, 3, 1.0, 12345.5, 0.873026, True, 0.1, "SELECT * FROM best('patients', k=10, l=3);")
    text = written_text([row], " ".join(columns), "table", width=width)
    lines = text.splitlines()
    assert all(cell_len(line) <= width for line in lines)
    shown = re.findall(r"[\w…]+", lines[1])
    if width >= 60:
        assert shown[:5] == ["algorithm", "k", "l", "precision", "frontier"]
    assert ("…" in shown) == (" columns, " in text)


def test_types_are_omitted_before_a_column() -> None:
    rows, names = [("F", "a" * 12, "b" * 12, "c" * 9)], "sex born job disease"
    assert "varchar" in written_text(rows, names, "table", width=80)
    narrow = written_text(rows, names, "table", width=48)
    assert "varchar" not in narrow and "ccccccccc" in narrow


def test_two_column_table_is_drawn_with_types() -> None:
    assert written_text([(1, "Flu"), (None, "[b]HIV")], "n disease", "table", types="INTEGER VARCHAR") == (
        "╭─────────┬─────────╮\n"
        "│       n │ disease │\n"
        "│ integer │ varchar │\n"
        "├─────────┼─────────┤\n"
        "│       1 │ Flu     │\n"
        "│    NULL │ [b]HIV  │\n"
        "╰─────────┴─────────╯\n"
        "2 rows\n"
    )


@pytest.mark.parametrize("width", [40, 80, 119, 200])
@pytest.mark.parametrize("columns", [1, 2, 3, 8, 60])
def test_table_is_never_wider_than_screen(width: int, columns: int) -> None:
    rows = [tuple("x" * (7 * i % 90 + 1) for i in range(columns)), tuple("日本" * (i % 20) for i in range(columns))]
    text = written_text(rows, " ".join(f"column_{i}" for i in range(columns)), "table", width=width)
    lines = text.splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert ("columns, " in text) == (columns == 60 or (columns == 8 and width <= 80))


def test_columns_truncated_before_dropped_ends_kept() -> None:
    assert fit_columns([4, 100, 4], 40) == ([0, 1, 2], [4, 22, 4])
    remaining, _ = fit_columns([12] * 20, 80)
    assert remaining[0] == 0 and remaining[-1] == 19 and remaining.count(None) == 1


def test_long_result_states_number_of_hidden_rows() -> None:
    text = written_text([(i,) for i in range(2_000)], "i", "table", types="INTEGER", limit=7)
    assert text.splitlines()[-1] == "2,000 rows, 7 shown (.rows all shows the other 1,993)"
    assert len(text.splitlines()) == 7 + 6


def test_control_characters_of_cells_are_escaped() -> None:
    evil = "a\x1b[2Jb\nc\x9b1m"
    for mode in ("table", "markdown", "line", "json", "csv"):
        text = written_text([(evil,)], "e\x1bvil", mode)
        assert "\x1b" not in text and "\x9b" not in text, mode
    assert written_text([(evil,)], "x", "csv", watched=False) == f'x\n"{evil}"\n'
    assert single_line(evil) == "a\\x1b[2Jb\\nc\\x9b1m"


def test_csv_distinguishes_null_from_empty_text_like_copy() -> None:
    rows = [(None, ""), ('say "x"', "a,b"), (True, 1.5)]
    assert written_text(rows, "a b", "csv") == 'a,b\n,""\n"say ""x""","a,b"\ntrue,1.5\n'


def test_json_output_is_valid_for_every_value() -> None:
    rows = [(1, "é", None), (float("nan"), [{"a": Decimal("1.50")}], datetime.date(2020, 1, 2))]
    assert json.loads(written_text(rows, "a a c", "json", watched=False)) == [
        {"a": 1, "a_1": "é", "c": None},
        {"a": None, "a_1": [{"a": "1.50"}], "c": "2020-01-02"},
    ]
    assert json.loads(written_text([], "a", "json")) == []
    assert unique_names(["a", "a", "a_1", "a"]) == ["a", "a_2", "a_1", "a_3"]


def test_markdown_and_line_modes_format_rows() -> None:
    assert written_text([("a|b", 1)], "x n", "markdown", types="VARCHAR INTEGER") == (
        "| x | n |\n| --- | --: |\n| a\\|b | 1 |\n"
    )
    assert written_text([("a", 1), ("b", None)], "name n", "line") == "name = a\n   n = 1\n\nname = b\n   n = NULL\n"


def test_values_are_formatted_like_sql() -> None:
    assert format_value({"a": [True, None], "b": b"\x00a"}) == "{a: [true, NULL], b: \\x00a}"
    assert format_value(datetime.datetime(2020, 1, 2, 3)) == "2020-01-02 03:00:00"
    assert as_json({1: (1, 2)}) == '{"1": [1, 2]}'
    assert truncate("日本語", 5) == "日本…"


# --- statements and dot commands -------------------------------------------------------------------------


def memory_shell(con: Any, *, mode: str = "csv", watched: bool = False) -> Any:
    """Return a shell that writes into memory."""
    return Shell(con, io.StringIO(), io.StringIO(), mode=mode, watched=watched, dot_command=run_dot_command)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create a shell with eight patients."""
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients AS SELECT i AS pid, 20 + i AS age, 'Flu' AS disease FROM range(8) AS r (i)")
        con.execute("CREATE VIEW old AS FROM patients WHERE age > 25")
        dbanon.declare(con, "patients", pid="identifier", age="quasi", disease="sensitive")
        made_shell = memory_shell(con)
        yield made_shell
        made_shell.close()


def shell_output(shell: Any) -> str:
    """Return the output since the previous call."""
    text = shell.console.file.getvalue()
    shell.console.file.seek(0)
    shell.console.file.truncate()
    return str(text)


def error_output(shell: Any) -> str:
    """Return the error output since the previous call."""
    text = shell.errors.file.getvalue()
    shell.errors.file.seek(0)
    shell.errors.file.truncate()
    return str(text)


def test_rowless_statements_silent_in_pipe(shell: Any) -> None:
    assert shell.script(["CREATE TABLE t AS FROM range(3); INSERT INTO t VALUES (9);\n", "SELECT count(*) AS n FROM t"])
    assert shell_output(shell) == "n\n4\n"


def test_interactive_statements_report_outcome() -> None:
    with dbanon.connect() as con:
        shell = memory_shell(con, mode="table", watched=True)
        for step in ("CREATE TABLE t AS FROM range(1500)", "DROP TABLE t", "CREATE VIEW v AS SELECT 1 AS Count"):
            assert shell.run(step)
        assert shell_output(shell).splitlines() == ["Done: 1,500 rows.", "Done.", "Done."]
        assert shell.run("FROM v")
        assert "1 row" in shell_output(shell)
        shell.close()


@pytest.mark.parametrize("watched", [False, True])
def test_compiling_notice_once_and_not_among_rows(watched: bool) -> None:
    def compiled(n: int) -> int:
        compile_events.report("find")
        return n

    with dbanon.connect() as con:
        con.create_function("compiled", compiled, ["BIGINT"], "BIGINT")
        shell = memory_shell(con, mode="table" if watched else "csv", watched=watched)
        assert shell.run("SELECT 1 AS n") and "Compiling" not in error_output(shell) + shell_output(shell)
        assert shell.run("SELECT compiled(7) AS n") and shell.run("SELECT compiled(8) AS n")
        message, rows = error_output(shell), shell_output(shell)
        assert message.count(COMPILING_MESSAGE) == 1
        assert watched or (message, rows) == (COMPILING_MESSAGE + "\n", "n\n7\nn\n8\n")
        shell.close()


def test_shell_runs_table_functions(shell: Any) -> None:
    assert shell.run("SELECT count(*) AS n, min(class_id) AS c FROM kacpc('patients', k=4, nulls='drop')")
    assert shell_output(shell) == "n,c\n8,1\n"


def test_shell_error_has_message_without_traceback(shell: Any) -> None:
    assert not shell.run("FROM kacpc('patients', k=50)")
    assert error_output(shell) == (
        "Error: kacpc: k must be between 2 and 8 (patients has 8 rows), got 50.\n"
        "Hint: lower k or withhold fewer rows.\n"
    )
    assert not shell.run("FROM kacpc('patients', kk=50)")
    assert "there is no parameter 'kk'. Did you mean 'k'?" in error_output(shell)
    assert not shell.run("SELEC 1")
    text = error_output(shell)
    assert text.startswith("Error: Parser Error: syntax error") and "LINE 1: SELEC 1\n        ^" in text
    assert shell.run("SELECT 1")


@pytest.mark.not_everyday
def test_refresh_of_unchanged_source_prints_note_beside_result(shell: Any) -> None:
    assert shell.run("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k=4)")
    assert error_output(shell) == ""
    shell_output(shell)
    assert shell.run("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
    assert shell_output(shell) == "name,version,records,classes\nsafe,1,8,2\n"
    assert error_output(shell) == (
        "Note: safe: No version was created: nothing to publish has changed since version 1, which stays.\n"
    )
    assert shell.run("REFRESH MATERIALIZED ANONYMIZED VIEW safe WITH (if_stale = false)")
    assert "Note" not in error_output(shell)


def test_script_ends_at_first_error(shell: Any) -> None:
    assert not shell.script(["SELECT 1 AS a; SELECT nope; SELECT 2 AS b;"])
    assert shell_output(shell) == "a\n1\n"


@pytest.mark.parametrize("mode", MODES)
def test_mode_command_sets_output_mode(shell: Any, mode: str) -> None:
    assert shell.run(f".mode {mode}")
    assert shell.mode == mode
    assert shell.run("SELECT 1 AS a")
    assert "a" in shell_output(shell)


def test_settings_documented_and_validated(shell: Any) -> None:
    for line in (".mode", ".timer", ".rows"):
        assert shell.run(line)
    assert shell_output(shell).splitlines() == [
        "The mode is csv. Accepted: table, csv, json, markdown, line.",
        "The timer is off.",
        "All rows are shown.",
    ]
    for line in (".mode cvs", ".timer maybe", ".rows 0", ".rows -1", ".read", ".tables a b", ".mode 'a"):
        assert not shell.run(line)
        assert "Accepted: " in error_output(shell), line
    assert not shell.run(".tabels")
    assert error_output(shell) == (
        "Error: .tabels: there is no such command, function or metric. Did you mean '.tables'?\n"
        "Hint: .help lists them.\n"
    )


def test_timer_and_rows_commands_change_output(shell: Any) -> None:
    shell.script([".timer on\n", ".mode table\n", ".rows 3\n", "FROM patients;"])
    assert re.search(r"\(5 more rows\)\nTime: \d+\.\d{3} s\n$", shell_output(shell))
    shell.script([".rows all\n", "FROM patients;"])
    assert "more rows" not in shell_output(shell)


def test_tables_and_schema_commands_list_objects(shell: Any) -> None:
    shell.run("CREATE TEMP TABLE mine (i INTEGER, d DECIMAL(9, 2))")
    assert shell.run(".tables")
    lines = shell_output(shell).splitlines()
    assert {"patients,table,3,8", "old,view,3,", "mine,temporary table,2,0"} <= set(lines)
    assert any(line.startswith("dbanon.policy,table") for line in lines)
    assert shell.run(".tables PATI")
    assert len(shell_output(shell).splitlines()) == 2
    assert shell.run(".schema PATIENTS")
    assert shell_output(shell) == "CREATE TABLE patients(\n    pid BIGINT,\n    age BIGINT,\n    disease VARCHAR\n);\n"
    assert shell.run(".schema mine")
    assert "d DECIMAL(9,2)\n)" in shell_output(shell).replace("(9, 2)", "(9,2)")
    assert shell.run(".schema")
    text = shell_output(shell)
    assert "CREATE VIEW" in text and "old" in text and "policy" not in text
    assert not shell.run(".schema nope")


def test_read_command_runs_file_up_to_first_error(shell: Any, tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner file.sql", tmp_path / "outer.sql"
    inner.write_text("SELECT 'é' AS a;\nSELECT nope;\nSELECT 'never' AS b;\n", encoding="utf-8")
    outer.write_text(f".read '{inner}'\nSELECT 'nor this' AS c;\n", encoding="utf-8")
    assert not shell.run(f".read {outer}")
    assert shell_output(shell) == "a\né\n"
    outer.write_text(f".read {outer}\n")
    assert not shell.run(f".read {outer}")
    assert "deep" in error_output(shell)
    assert shell.reading == 0
    assert not shell.run(f".read {tmp_path / 'missing.sql'}")
    assert "No such file" in error_output(shell)
    outer.write_bytes(b"\xff\xfe")
    assert not shell.run(f".read {outer}")
    assert "not UTF-8" in error_output(shell)


@pytest.mark.parametrize(
    "release", ["kacpc('patients', k=4)", "FROM kacpc_classes('patients', k = 4);", "safe", '"safe"']
)
def test_metrics_command_lists_eight_key_metrics(shell: Any, release: str) -> None:
    shell.run("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k=4)")
    shell_output(shell)
    assert shell.run(f".metrics {release}")
    lines = shell_output(shell).splitlines()
    assert lines[0] == "metric,value,description" and len(lines) == 9
    assert lines[1].startswith("records,8.0,") and lines[3].startswith("k,4.0,")
    for wrong in ("", "risk('patients')", "kacpc('patients', k=4) WHERE true", "nothing"):
        assert not shell.run(f".metrics {wrong}")


def test_quit_commands_leave_shell(shell: Any) -> None:
    for line in (".quit", ".exit", ".q"):
        with pytest.raises(LeaveShellError):
            shell.run(line)


@pytest.mark.not_everyday
def test_help_lists_every_command_and_function(shell: Any) -> None:
    assert shell.run(".help")
    text = shell_output(shell)
    for command in COMMANDS.values():
        assert command.usage in text and command.doc in text
        assert shell.run(f".help {command.name}")
        assert command.doc in " ".join(shell_output(shell).split())
    assert shell.run(".help functions")
    text = shell_output(shell)
    for function in table_functions().values():
        assert function.name.endswith(("_classes", "_metrics")) or function.name in text


@pytest.mark.parametrize("name", function_page.function_names())
def test_help_command_shows_function_page(shell: Any, name: str) -> None:
    assert shell.run(f".help {name}")
    text = " ".join(shell_output(shell).split())
    function = table_functions().get(name)
    assert f"{name}(" in text
    assert "Example" in text
    for parameter in function.parameters if function else ():
        assert parameter.name in text


def test_help_of_kacpc_names_algorithm_of_paper(shell: Any) -> None:
    assert shell.run(".help KACPC")
    text = shell_output(shell)
    assert "kacpc('patients'" in text
    assert "Algorithm 1" in text
    assert not shell.run(".help kacp")
    assert "Did you mean 'kacpc'?" in error_output(shell)


def screen_shell(con: Any, width: int, height: int) -> Shell:
    """Return a shell on a screen of a given size, whose output is text."""
    shell = memory_shell(con, mode="table", watched=True)
    shell.console = Console(file=io.StringIO(), width=width, height=height, highlight=False, markup=False)
    return shell


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 45)])
def test_auto_rows_leave_header_on_screen(width: int, height: int) -> None:
    with dbanon.connect() as con:
        shell = screen_shell(con, width, height)
        con.execute("CREATE TABLE wide AS SELECT range AS n, " + ", ".join(f"'x{i}' AS c{i}" for i in range(40))
                    + " FROM range(200)")  # fmt: skip
        for mode in ("table", "markdown", "line"):
            assert shell.run(f".mode {mode}") and shell.run("SELECT n, c1, c2 FROM wide")
            lines = shell_output(shell).splitlines()
            assert height - 6 <= len(lines) <= height - 2, mode  # below the statement, above the next prompt
        assert shell.run(".mode table") and shell.run("FROM wide")
        assert height - 3 <= len(shell_output(shell).splitlines()) <= height - 2
        shell.close()


def test_profile_and_metrics_show_role_and_names_first() -> None:
    names = ("column_name", "type", *(f"n{i}" for i in range(12)), "proposed_role", "reason", "repairs")
    page = ResultPage(Console(file=io.StringIO(), width=80, highlight=False))
    row = ("patient_number", "BIGINT", *range(12), "identifier", "its name says patient number", "")
    render(QueryResult(names, ("VARCHAR",) * len(names), iter([[row]])), "table", page)
    assert "│ column_name    │ proposed_role │ reason" in page.console.file.getvalue()
    page = ResultPage(Console(file=io.StringIO(), width=60, highlight=False))
    row = ("total_information_loss_of_all_classes", 1.5, "lower", "What is lost in all classes together, summed up")
    columns = ("metric", "value", "better", "description")
    render(QueryResult(columns, ("VARCHAR", "DOUBLE", "VARCHAR", "VARCHAR"), iter([[row]])), "table", page)
    assert "total_information_loss_of_all_classes │" in page.console.file.getvalue()


def test_help_fits_screen_and_names_second_level() -> None:
    with dbanon.connect() as con:
        shell = screen_shell(con, 80, 24)
        assert shell.run(".help")
        text = shell_output(shell)
        assert len(text.splitlines()) < 24 and ".help functions" in text and "r_gather" not in text
        assert shell.run(".help functions")
        text = shell_output(shell)
        assert "r_gather" in text and "best_metrics" in text and "castle_metrics" not in text
        assert max(map(cell_len, text.splitlines())) <= 80
        shell.close()


def test_page_texts_use_whole_width() -> None:
    with dbanon.connect() as con:
        shell = screen_shell(con, 80, 24)
        assert shell.run(".help best")
        texts = [line.rstrip() for line in shell_output(shell).splitlines() if re.match(r" {4}\S", line)]
        assert len(texts) > 20 and max(map(cell_len, texts)) > 70
        shell.close()


@pytest.mark.parametrize("is_terminal", [False, True])
def test_server_announces_compilation_once(is_terminal: bool) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=80, highlight=False)
    with contextlib.closing(ServerCompilation(console)) as notice:
        for kernel in ("find", "merge"):
            notice.report(kernel)
    text = console.file.getvalue()
    assert text.count(COMPILING_MESSAGE) == 1
    assert ("compiling (2 kernels)" in text) is is_terminal


# --- the prompt ------------------------------------------------------------------------------------------


def test_enter_runs_complete_statement_only(names: Any) -> None:
    pytest.importorskip("prompt_toolkit", reason="the extra shell is not installed")
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from dbanon.cli.shell.prompt import prompt_session

    with create_pipe_input() as keys:
        session = prompt_session(lambda: names, InMemoryHistory(), source=keys, screen=DummyOutput())
        keys.send_text("SELECT ';'\r, 1\r;\r.tables\rFROM (SELECT 1\r) -- done;\r;\r")
        assert [session.prompt("> ") for _ in range(3)] == [
            "SELECT ';'\n, 1\n;",
            ".tables",
            "FROM (SELECT 1\n) -- done;\n;",
        ]


def test_prompt_reserves_lines_only_for_open_menu(names: Any) -> None:
    pytest.importorskip("prompt_toolkit", reason="the extra shell is not installed")
    from prompt_toolkit.buffer import CompletionState
    from prompt_toolkit.completion import Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from dbanon.cli.shell.prompt import prompt_session

    with create_pipe_input() as keys:
        session = prompt_session(lambda: names, InMemoryHistory(), source=keys, screen=DummyOutput())
        session.app.before_render.fire()
        assert session.reserve_space_for_menu == 0
        for n_completions, n_lines in ((3, 3), (20, 8)):
            menu = CompletionState(Document("b"), [Completion(f"b{i}") for i in range(n_completions)])
            session.default_buffer.complete_state = menu
            session.app.before_render.fire()
            assert session.reserve_space_for_menu == n_lines


def test_history_private_and_skips_leading_blank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prompt_toolkit", reason="the extra shell is not installed")
    from prompt_toolkit.history import InMemoryHistory

    from dbanon.cli.shell import prompt

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept_history = prompt.open_history()
    kept_history.append_string("SELECT 1;")
    kept_history.append_string(" SELECT 'secret';")
    path = tmp_path / "state" / "dbanon" / "shell_history"
    assert "SELECT 1" in path.read_text() and "secret" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 or os.name == "nt"
    assert isinstance(prompt.open_history(keep=False), InMemoryHistory)
    monkeypatch.setenv("XDG_STATE_HOME", str(path))  # a file, so that no folder can be made in it
    assert isinstance(prompt.open_history(), InMemoryHistory)


# --- the command -----------------------------------------------------------------------------------------


def run_shell(*arguments: str, stdin_text: str = "", code: str = MAIN) -> subprocess.CompletedProcess[str]:
    """Run `dbanon shell` in a process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-c", code, "shell", *arguments],
        input=stdin_text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )


def test_dash_c_runs_statements_and_sets_exit_code(tmp_path: Path) -> None:
    path = str(tmp_path / "clinic.duckdb")
    done = run_shell(
        path, "-c", "CREATE TABLE t AS FROM range(3)", "-c", "SELECT sum(range) AS s FROM t; SELECT 1 AS a"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "s\n3\na\n1\n", "")
    failed = run_shell(path, "-c", "SELECT 1 AS a; SELECT nope; SELECT 2", "-c", "SELECT 3")
    assert (failed.returncode, failed.stdout) == (1, "a\n1\n")
    assert failed.stderr.startswith("Error: Binder Error") and "Traceback" not in failed.stderr


@pytest.mark.not_everyday
def test_piped_input_has_no_prompt_and_selectable_mode(tmp_path: Path) -> None:
    done = run_shell("--mode", "table", stdin_text="SELECT 1 AS a,\n '<b>' AS b;\n.mode json\nSELECT 2 AS a\n")
    assert done.returncode == 0, done.stderr
    table, _, rest = done.stdout.rpartition("+\n")
    assert "| integer | varchar |" in table and rest == '[{"a": 2}]\n'
    assert "\x1b" not in done.stdout
    assert run_shell(stdin_text="SELECT nope;\nSELECT 1 AS never;\n").returncode == 1
    assert run_shell(stdin_text=".quit\nSELECT nope;\n").returncode == 0
    assert run_shell("--mode", "cvs").returncode == 2


@pytest.mark.not_everyday
def test_readonly_shell_refuses_writes(tmp_path: Path) -> None:
    path = str(tmp_path / "clinic.duckdb")
    assert run_shell(path, "--readonly", "-c", "SELECT 1").returncode == 1
    assert not Path(path).exists()
    assert run_shell(path, "-c", "CREATE TABLE t AS SELECT range % 3 AS a FROM range(12)").returncode == 0
    assert (
        run_shell(path, "--readonly", "-c", "SELECT count(*) AS n FROM kacpc('t', k=4, qi=['a'])").stdout == "n\n12\n"
    )
    outcome = run_shell(path, "--readonly", "-c", "DROP TABLE t")
    assert outcome.returncode == 1 and "read-only" in outcome.stderr


def test_pipe_works_without_prompt_library() -> None:
    without = "import sys; sys.modules['prompt_toolkit'] = sys.modules['pygments'] = None\n"
    assert run_shell("-c", "SELECT 1 AS a", code=without + MAIN).stdout == "a\n1\n"
    seen_without = without + "from dbanon.cli.shell.command import _prompt_loop\n_prompt_loop(False)"
    outcome = run_shell(code=seen_without)
    assert "pip install -e '.[shell]'" in outcome.stderr


def test_closed_output_pipe_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "shell", "-c", "FROM range(3_000_000)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()
        child.wait(60)


# --- a real terminal -------------------------------------------------------------------------------------

ON_TERMINAL = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n" + MAIN


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[tuple[Callable[[str], None], Callable[[str, float], str], Any]]:
    """Run `dbanon shell` on a pseudo terminal: send keys, read until a text appears, the process."""
    pytest.importorskip("prompt_toolkit", reason="the extra shell is not installed")
    pty = pytest.importorskip("pty", reason="pseudo terminals are not of this system")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, "shell", str(tmp_path / "clinic.duckdb")],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(tmp_path / "state")},
    )
    os.close(theirs)
    unread = ""

    def send(text: str) -> None:
        os.write(ours, text.encode())

    def until(text: str, seconds: float = 60) -> str:
        nonlocal unread
        seen_unread, end = unread, time.monotonic() + seconds
        while text not in seen_unread:
            assert time.monotonic() < end, f"{text!r} did not appear in {seen_unread[-2000:]!r}"
            if select.select([ours], [], [], 0.2)[0]:
                seen_unread += os.read(ours, 65536).decode(errors="replace")
        index = seen_unread.index(text) + len(text)
        unread = seen_unread[index:]
        return seen_unread[:index]

    yield send, until, child
    child.kill()
    child.wait()
    os.close(ours)


@pytest.mark.not_everyday
def test_ctrl_c_stops_statement_and_ctrl_d_ends_shell(terminal: Any, tmp_path: Path) -> None:
    send, until, child = terminal
    until("clinic>")
    send("CREATE TABLE big AS SELECT random() AS a, random() AS b, random() AS c FROM range(1_000_000);\r")
    until("Done: 1,000,000 rows.")
    until("clinic>")
    for query in ("SELECT count(*) FROM range(1_000_000_000_000);", "FROM kacpc('big', k=3, qi=['a', 'b', 'c']);"):
        send(query + "\r")
        until("Ctrl-C stops it")
        send("\x03")
        until("Stopped.")
        until("clinic>")
    send("SELECT 'half")
    send("\x03")  # at the prompt it drops what was typed
    send("SELECT repeat('xy', 4) AS answer;\r")
    until("xyxyxyxy")
    until("clinic>")
    send("\x04")
    assert child.wait(30) == 0
    kept_text = (tmp_path / "state" / "dbanon" / "shell_history").read_text()
    assert "repeat('xy', 4)" in kept_text and "xyxyxyxy" not in kept_text and "half" not in kept_text


def test_long_statement_reports_progress() -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    with dbanon.connect() as con:
        screen = Screen()
        shell = Shell(con, screen, io.StringIO(), mode="table", watched=True, dot_command=run_dot_command)
        assert con.on_progress is not None
        shell._running(2.0)
        con.on_progress(0.4, 0.0)
        shell._running(3.0)
        shell._running(None)
        shell._compiled += ["find", "merge"]
        shell._running(2.0)
        shell._running(None)
        shell.close()
    assert list(dict.fromkeys(re.findall(r"\d s, [^\x1b\r\n]*", screen.getvalue()))) == [
        "2 s, Ctrl-C stops it",
        "3 s, 40% done, Ctrl-C stops it",
        "2 s, compiling (2 kernels), Ctrl-C stops it",
    ]
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}" in screen.getvalue()
    assert screen.getvalue().count(COMPILING_MESSAGE) == 1


def test_plan_command_shows_statement_of_function(shell: Any) -> None:
    assert shell.script([".plan SELECT age FROM kacpc('patients', k=2) WHERE age <> '>';\n"])
    message = shell_output(shell)
    assert message.startswith("-- The statement of kacpc.\nWITH RECURSIVE\n\n-- Chapter 1, read: ")
    assert '"age: domain" AS MATERIALIZED (' in message
    shell.script([".plan check SELECT age FROM kacpc('patients', k=2);\n"])
    chapter = shell_output(shell).removeprefix(message)
    assert chapter.startswith("-- The statement of kacpc.\n-- Chapter 4, check: ")
    assert "domain" not in chapter and "classes.small > 0" in chapter
    shell.script([".plan chek FROM kacpc('patients', k=2);\n"])
    assert "chapter must be one of 'read', 'cluster', 'generalize', 'check', got 'chek'" in error_output(shell)
    shell.script([".plan SELECT 1"])
    assert "a statement that calls a table function" in error_output(shell)
    shell.script([".plan"])
    assert ".plan [CHAPTER] SELECT ..." in error_output(shell)
    for line in (".plan check", ".plan check;\n"):
        shell.script([line])
        text = error_output(shell)
        assert ".plan check: cannot be read. Accepted: .plan check SELECT ..., or .plan SELECT ..." in text


def test_shell_csv_escapes_formulas() -> None:
    query = "SELECT '=1' AS a, -1 AS \"-b\", -0.5 AS c, '-x' AS d, NULL AS e, '' AS f, '''@x' AS g, ['=1'] AS h"
    done = run_shell("-c", query)
    assert done.stdout == "a,'-b,c,d,e,f,g,h\n'=1,-1,-0.5,'-x,,\"\",''@x,[=1]\n"
    kept_text = 'a,-b,c,d,e,f,g,h\n=1,-1,-0.5,-x,,"",\'@x,[=1]\n'
    assert run_shell("--csv-formulas", "keep", "-c", query).stdout == kept_text
    assert run_shell(stdin_text=f".csv_formulas\n.csv_formulas KEEP\n{query};\n").stdout.endswith(kept_text)
    assert "Accepted: .csv_formulas escape|keep" in run_shell("-c", ".csv_formulas no").stderr


def test_numbers_aligned_right_by_type_category(con: Any) -> None:
    categories = dict(con.execute("SELECT DISTINCT logical_type, type_category FROM duckdb_types()").fetchall())
    scalars = sorted(set(categories) - {"ENUM", "LIST", "MAP", "STRUCT", "UNION", "NULL", "INVALID"})
    types = [*scalars, "DECIMAL(3, 1)", "INTEGER[]", "DECIMAL(3,1)[]", "DOUBLE[2]", "STRUCT(a INTEGER)"]
    shown_types: list[str] = []
    for type_ in types:
        with contextlib.suppress(duckdb.Error):  # types that no expression has
            description = con.execute(f"SELECT CAST(NULL AS {type_}) AS c").description
            out = io.StringIO()
            page = ResultPage(Console(file=out), None, False)
            render(QueryResult(("c",), (str(description[0][1]),), iter([])), "markdown", page)
            is_number = categories.get(type_.split("(")[0]) == "NUMERIC" or type_ == "BIGNUM"
            is_number = is_number and not type_.endswith("]")
            assert out.getvalue().splitlines()[1] == ("| --: |" if is_number else "| --- |"), type_
            shown_types.append(type_)
    assert {"INTERVAL", "UINTEGER", "HUGEINT", "DECIMAL(3, 1)", "INTEGER[]", "VARCHAR", "BOOLEAN"} <= set(shown_types)
