"""%dbanon and %%dbanon in a shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import dbanon
from dbanon.api.frame import Anonymized
from dbanon.integrations.notebook import progress
from dbanon.integrations.notebook.result import NotebookResult

pytest.importorskip("IPython", reason="IPython is not installed")

HOSTILE = "<script>alert('$x$')</script>"
RELEASE = "FROM mondrian('patients', k=3, qi=['age'], sensitive=['disease'])"


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    with dbanon.connect() as connection:
        connection.execute("CREATE TABLE patients AS SELECT 20 + range AS age, 'Flu' AS disease FROM range(12)")
        yield connection


@pytest.fixture
def shell(con: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Create an IPython shell with the extension, whose variable `con` is a connection."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    from IPython.testing.globalipapp import get_ipython, start_ipython

    ip = start_ipython() or get_ipython()
    ip.run_line_magic("load_ext", "dbanon")
    ip.user_ns["con"] = con
    yield ip
    ip.run_line_magic("unload_ext", "dbanon")
    assert "dbanon" not in ip.magics_manager.magics["cell"]


def error_text(shell: Any, capsys: pytest.CaptureFixture[str], code: str) -> str:
    """Return the output of a cell that fails."""
    capsys.readouterr()
    assert not shell.run_cell(code).success
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_magic_displays_release_with_metrics(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%dbanon con")
    assert capsys.readouterr().out == "The connection is con.\n"
    output = shell.run_cell_magic("dbanon", "", f"{RELEASE};\n")
    assert isinstance(output, Anonymized)
    assert ">age</th>" in output._repr_html_() and '<td style="text-align: left">classes</td>' in output._repr_html_()
    rows = shell.run_line_magic("dbanon", f"SELECT age, disease FROM ({RELEASE}) ORDER BY ALL")
    assert isinstance(rows, NotebookResult) and len(rows) == 12
    numbers = shell.run_line_magic("dbanon", "SELECT 1 AS n, 'a' AS word")._repr_html_()
    for cell in ('<th scope="col" style="text-align: left">word', '<td style="text-align: right">1<'):
        assert cell in numbers
    assert "<p>12 rows, 10 shown</p>" in rows._repr_html_() and "12 rows, 10 shown" in repr(rows)
    assert rows.df()["age"][0] == "[20, 22]" and rows.arrow().num_rows == 12


def test_magic_assigns_rows_as_dataframe(shell: Any) -> None:
    shell.run_line_magic("dbanon", "con")
    shell.user_ns["least"] = 3
    assert shell.run_cell("%%dbanon safe <<\n" + RELEASE).result is None
    assert isinstance(shell.user_ns["safe"], pd.DataFrame) and len(shell.user_ns["safe"]) == 12
    assert shell.run_cell(f"%dbanon few << SELECT * FROM ({RELEASE}) LIMIT 2").success
    assert len(shell.user_ns["few"]) == 2
    assert shell.run_cell("%%dbanon\nlater <<\nCREATE TEMP TABLE IF NOT EXISTS t AS SELECT 1 AS a;\nFROM t").success
    assert shell.user_ns["later"]["a"].tolist() == [1]
    shell.run_cell("rows = %dbanon SELECT 5 << 1 AS ten")
    assert shell.user_ns["rows"].df()["ten"].tolist() == [10]
    output = shell.run_cell_magic("dbanon", "con", RELEASE.replace("k=3", "k=$least"))
    assert output.parameters["k"] == 3
    assert shell.run_line_magic("dbanon", "DROP TABLE t") is None


def test_magic_accepts_notebook_dataframe_as_source(shell: Any) -> None:
    shell.user_ns["folk"] = pd.DataFrame({"age": range(8)})
    for query in ("FROM mondrian('folk', k=2, qi=['age'])", "SELECT age FROM mondrian('folk', k=2, qi=['age'])"):
        assert "8 rows" in repr(shell.run_cell_magic("dbanon", "con", query))


def test_magic_opens_and_closes_database_files(shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("dbanon", "")
    assert "There is no connection." in capsys.readouterr().out
    shell.run_line_magic("dbanon", "'my clinic.duckdb'")
    shell.run_line_magic("dbanon", "CREATE TABLE t AS SELECT 1 AS a")
    shell.run_line_magic("dbanon", "other.db")
    with duckdb.connect(str(tmp_path / "my clinic.duckdb")) as present_con:
        assert present_con.execute("FROM t").fetchall() == [(1,)]
    assert capsys.readouterr().out.splitlines()[-1] == "The connection is other.db."
    shell.run_line_magic("dbanon", "--close")
    duckdb.connect(str(tmp_path / "other.db")).close()
    with duckdb.connect() as plain_con:
        shell.user_ns["plain"] = plain_con
        assert len(shell.run_cell_magic("dbanon", "plain", "FROM algorithms()")) > 10
        shell.run_line_magic("dbanon", ":memory:")
        assert plain_con.execute("SELECT 1").fetchall() == [(1,)]


def test_magic_errors_have_no_traceback(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("dbanon", "--close")
    assert "%dbanon: there is no connection." in error_text(shell, capsys, "%dbanon FROM t")
    assert "'clinic' is neither a variable with a connection" in error_text(shell, capsys, "%dbanon clinic")
    assert "'no such' is neither a variable" in error_text(shell, capsys, "%%dbanon no such\nFROM t")
    shell.run_line_magic("dbanon", "con")
    for statement, message in (
        ("FROM kacpc('patients', k=99, qi=['age'])", "kacpc: k must be between"),
        ("FROM kacpc('patients', kk=3)", "no parameter 'kk'"),
        ("FROM nowhere", "nowhere"),
        ("SELEC 1", "syntax error"),
        ("CREATE MATERIALIZED ANONYMIZED VIEW v AS SELECT 1", "one call and nothing else"),
    ):
        display = error_text(shell, capsys, f"%%dbanon\n{statement}")
        assert message in display, display
        assert "Traceback" not in display and "Invalid Input Error" not in display and ".py" not in display
    assert shell.run_cell("%dbanon SELECT 1 AS one").success


def test_magic_html_escapes_hostile_values(shell: Any, con: Any) -> None:
    rows = shell.run_cell_magic("dbanon", "con", f"SELECT '{HOSTILE.replace(chr(39), chr(39) * 2)}' AS \"<b>\"")
    shown_html = rows._repr_html_()
    assert "<script>" not in shown_html and "<b>" not in shown_html and "&lt;script&gt;" in shown_html
    assert shown_html.startswith('<div class="tex2jax_ignore mathjax_ignore">')
    people = pd.DataFrame({"<i>": range(6), "disease": [HOSTILE] * 6})
    anonymized = dbanon.anonymize(people, "mondrian", k=3, qi=["<i>"], sensitive=["disease"])
    assert "<script>" not in anonymized._repr_html_() and "<i>" not in anonymized._repr_html_()
    assert anonymized._repr_html_().startswith('<div class="tex2jax_ignore mathjax_ignore">')
    long = shell.run_cell_magic("dbanon", "con", "SELECT repeat('x', 500) AS a, chr(27) || '[2J' AS b")
    assert "x" * 300 not in long._repr_html_() and "\x1b" not in repr(long)


def test_query_magic_equals_anonymize(con: Any) -> None:
    anonymize_query = dbanon.anonymize_query(con, RELEASE)
    assert [len(frame) for frame in anonymize_query[:2]] == [12, 4]
    assert anonymize_query.release.equals(con.sql(RELEASE).df())
    folk = pd.DataFrame({"age": range(8)})
    assert len(dbanon.anonymize_query(con, "SELECT * FROM mondrian('folk', k=2, qi=['age'])").release) == len(folk)
    for query in (f"SELECT age {RELEASE}", "FROM mondrian_classes('patients', k=3)", "FROM patients", "", RELEASE * 2):
        with pytest.raises(dbanon.DbanonError, match="one call of an algorithm"):
            dbanon.anonymize_query(con, query)


def test_progress_bar_shows_and_disappears(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    display: list[Any] = []
    monkeypatch.setattr(progress, "DISPLAY_AFTER_S", 0)
    monkeypatch.setattr(progress, "UPDATE_INTERVAL_S", 0)
    monkeypatch.setattr(shell.display_pub, "publish", lambda data, **given: display.append((data, given.get("update"))))
    bar = dbanon.ProgressBar()
    shell.user_ns["bar"] = bar
    assert shell.run_cell("bar(0.25, 0.0); bar(0.5, 0.125)").success
    assert [message["text/plain"] for message, _ in display] == ["25% done", "50% done, 12.5% of the loss gone", ""]
    assert 'value="0.250"' in display[0][0]["text/html"] and [update for _, update in display[1:]] == [True, True]
    assert bar.end not in shell.events.callbacks["post_run_cell"]


@pytest.mark.not_everyday
def test_jupysql_runs_sql_on_attached_connection(shell: Any, con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLOOMBER_STATS_ENABLED", "false")
    pytest.importorskip("sql.magic", reason="jupysql is not installed")
    shell.run_line_magic("load_ext", "sql")
    shell.run_line_magic("sql", "con --alias clinic")
    rows = shell.run_cell_magic("sql", "", RELEASE)
    assert len(rows.DataFrame()) == 12
    assert len(shell.run_cell_magic("sql", "", "FROM patients")) == 12


def test_refresh_of_unchanged_source_prints_note(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%dbanon con")
    shell.run_cell_magic("dbanon", "", f"CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * {RELEASE}")
    capsys.readouterr()
    output = shell.run_cell_magic("dbanon", "", "REFRESH MATERIALIZED ANONYMIZED VIEW safe")
    assert output.rows.to_pylist()[0] | {"name": "safe", "version": 1} == output.rows.to_pylist()[0]
    assert capsys.readouterr().out.startswith("Note: ")
    shell.run_line_magic("dbanon", "DROP MATERIALIZED ANONYMIZED VIEW safe")
