"""improve='5s' searches once and is stored as moves: the same moves give the same release."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.errors import InvalidArgumentError
from dbanon.release import search_budget


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": random.integers(18, 90, 600),
            "zip": random.choice(["02138", "02139", "02141", "02142"], 600),
            "disease": random.choice(["flu", "gout", "lupus"], 600),
        }
    )


@pytest.fixture
def con(people: pd.DataFrame) -> Any:
    with dbanon.connect() as con:
        con.register("made", people)
        con.execute("CREATE TABLE patients AS FROM made")
        dbanon.declare(con, "patients", age="quasi", zip="quasi", disease="sensitive")
        yield con


def moves_of(con: Any, name: str) -> int:
    rows = con.execute(
        "SELECT (parameters::JSON ->> 'improve')::BIGINT FROM releases() WHERE name = ? ORDER BY version DESC", [name]
    )
    return int(rows.fetchall()[0][0])


@pytest.mark.not_everyday
@pytest.mark.parametrize("algorithm", ["kacpc", "best"])
def test_timed_release_equals_its_moves(con: Any, algorithm: str) -> None:
    result: list[tuple[float, float]] = []
    release = dbanon.create_release(
        con, "safe", algorithm, "patients", k=5, l=2, improve="300ms", progress=lambda *far: result.append(far)
    )
    moves = moves_of(con, "safe")
    assert release.records == 600
    assert moves > 0
    second_text = f"{algorithm}('patients', k = 5, l = 2, improve = {moves})"
    assert (
        con.execute(f"(FROM safe EXCEPT ALL FROM {second_text}) UNION ALL (FROM {second_text} EXCEPT ALL FROM safe)")
        .df()
        .empty
    )
    start = con.execute(f"SELECT value FROM {algorithm}_metrics('patients', k = 5, l = 2, improve = 0) "
                        "WHERE metric = 'precision'").fetchall()[0][0]  # fmt: skip
    end = con.execute("SELECT value FROM safe_metrics WHERE metric = 'precision'").fetchall()[0][0]
    assert end >= start
    assert result[-1][0] == 1
    assert [share for share, _ in result] == sorted(share for share, _ in result)
    assert result[-1][1] == pytest.approx((end - start) / (1 - start), abs=1e-9)  # only the search changed it


@pytest.mark.not_everyday
def test_timed_moves_repeat_in_fresh_database(people: pd.DataFrame, con: Any) -> None:
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5, improve="200ms")
    moves = moves_of(con, "safe")
    with dbanon.connect() as other:
        other.register("made", people.sample(frac=1, random_state=2))
        other.execute("CREATE TABLE patients AS FROM made")
        dbanon.declare(other, "patients", age="quasi", zip="quasi", disease="sensitive")
        rows = other.execute(f"FROM kacpc('patients', k = 5, improve = {moves}) ORDER BY ALL").fetchall()
    assert rows == con.execute("FROM safe ORDER BY ALL").fetchall()


def test_view_statement_accepts_time_and_stores_moves(con: Any) -> None:
    con.execute("CREATE MATERIALIZED ANONYMIZED VIEW v AS SELECT * FROM kacpc('patients', k = 5, IMPROVE = '100ms')")
    moves = moves_of(con, "v")
    assert moves > 0
    assert con.execute("SELECT statement FROM releases()").fetchall()[0][0].endswith(f":= {moves})")
    con.execute("INSERT INTO patients SELECT 40, '02138', 'flu' FROM range(20)")
    con.execute("REFRESH MATERIALIZED ANONYMIZED VIEW v")
    assert moves_of(con, "v") == moves


@pytest.mark.not_everyday
def test_anonymize_data_frame_accepts_time(people: pd.DataFrame) -> None:
    parameters = {"k": 5, "qi": ["age", "zip"], "insensitive": ["disease"]}
    result: list[tuple[float, float]] = []
    timed_ = dbanon.anonymize(people, "kacpc", improve="150 ms", progress=lambda *far: result.append(far), **parameters)
    assert result[-1][0] == 1
    moves = timed_.metrics.attrs["improve"]
    assert moves > 0
    same = dbanon.anonymize(people, "kacpc", improve=moves, **parameters)
    pd.testing.assert_frame_equal(timed_.release, same.release)
    assert "improve" not in same.metrics.attrs


@pytest.mark.not_everyday
def test_command_line_accepts_time_or_moves(tmp_path: Path, people: pd.DataFrame) -> None:
    people.to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "safe.duckdb"
    columns = ["--qi", "age", "--qi", "zip", "--sensitive", "disease", "--algorithm", "kacpc"]
    call = ["anonymize", str(tmp_path / "people.csv"), "-k", "5", *columns, "-o", str(out), "--json"]
    plain_document = json.loads(CliRunner().invoke(main, call).stdout)
    better = json.loads(CliRunner().invoke(main, [*call, "--replace", "--improve", "200ms"]).stdout)
    counted_document = json.loads(CliRunner().invoke(main, [*call, "--replace", "--improve", "2000"]).stdout)
    assert better["metrics"]["precision"] > plain_document["metrics"]["precision"]
    assert counted_document["metrics"]["precision"] > plain_document["metrics"]["precision"]
    outcome = CliRunner().invoke(main, [*call, "--replace", "--improve", "soon"])
    assert outcome.exit_code == 2
    assert "improve must be a number of moves" in outcome.output
    assert outcome.output.count("\n") == 1


@pytest.mark.parametrize("invalid_time", ["5", "five", "5 hours", "-1s", "", "1e9s x", "nan s"])
def test_invalid_time_raises(con: Any, invalid_time: str) -> None:
    with pytest.raises(InvalidArgumentError, match="a time such as '5s'"):
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5, improve=invalid_time)
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'safe'").fetchall() == [(0,)]


@pytest.mark.parametrize(("value", "seconds"), [("5s", 5), ("500ms", 0.5), (" 1.5 MIN ", 90), (20000, None)])
def test_time_limit_is_parsed_in_seconds(value: object, seconds: float | None) -> None:
    assert search_budget.time_limit_s("create_release", {"Improve": value}) == seconds


def test_table_function_refuses_time(con: Any) -> None:
    with pytest.raises(Exception, match="in create_release, anonymize, materialized views and the command line"):
        con.execute("FROM kacpc('patients', k = 5, improve = '5s')")


CHILD = textwrap.dedent(
    """
    import json, os, signal, sys, threading, time
    import dbanon

    con = dbanon.connect()
    con.execute("CREATE TABLE t AS SELECT hash(i) % 97 AS a, hash(i + 1) % 89 AS b, hash(i + 2) % 11 AS c "
                "FROM range(5000) r(i)")
    began = []
    told = lambda done, saved: began.append(saved)

    def press():
        while len(began) < 5:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    clock = time.monotonic()
    made = dbanon.create_release(
        con, "safe", "kacpc", "t", k=5, qi=["a", "b", "c"], improve="10min", progress=told)
    moves = con.execute("SELECT (parameters::JSON ->> 'improve')::BIGINT FROM releases()").fetchall()[0][0]
    same = con.execute(f"FROM safe EXCEPT ALL FROM kacpc('t', k = 5, qi = ['a', 'b', 'c'], improve = {moves})").df()
    handler = signal.getsignal(signal.SIGINT)
    print(json.dumps({"seconds": time.monotonic() - clock, "records": made.records, "moves": moves,
                      "same": same.empty, "saved": began[-1], "handler": callable(handler)}))
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except KeyboardInterrupt:
        print("interrupted")
    """
)


@pytest.mark.not_everyday
def test_ctrl_c_keeps_best_so_far() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[0])
    assert document["records"] == 5000
    assert document["moves"] > 0
    assert document["saved"] > 0
    assert document["same"]
    assert document["seconds"] < 120  # of ten minutes
    assert done.stdout.splitlines()[1] == "interrupted"  # Ctrl-C works as before
