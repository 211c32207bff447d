"""`dbanon stream`: reading a streaming view further, and lines in, lines out."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result
from support import kept

import dbanon
from dbanon import errors
from dbanon.api.stream import anonymize_stream
from dbanon.cli import main
from dbanon.views import streaming

CALL = {"k": 3, "delta": 20, "order_by": "ts", "qi": ["age", "city"], "sensitive": ["disease"]}
ROLES = ["-k", "3", "-p", "delta=20", "--qi", "age", "--qi", "city", "--sensitive", "disease"]


def event(i: int) -> dict[str, Any]:
    city, disease = ["Oslo", "Rome", "Bern 🏔"][i * 7 % 3], ["Flu", "HIV", None][i * 11 % 3]
    return {"ts": i, "name": f"n{i}", "age": 20 + i * 37 % 40, "city": city, "disease": disease}


def clinic(path: Path, last: int) -> Path:
    """Create a database with a streaming view that has read nothing yet, and a source of `last` rows."""
    return kept.copy_database(path, _clinic, last)


def _clinic(path: Path, last: int) -> None:
    with duckdb.connect(str(path)) as con:
        dbanon.attach(con)
        con.execute("CREATE TABLE events (ts INTEGER, name VARCHAR, age INTEGER, city VARCHAR, disease VARCHAR)")
        streaming.create_stream(con, "safe", "fads", "events", **CALL)
        insert(con, 0, last)


def insert(con: Any, first: int, last: int) -> None:
    for i in range(first, last):
        con.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", list(event(i).values()))


def run(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(main, ["stream", *arguments], **more)


def test_stream_command_reads_new_rows_of_view(tmp_path: Path) -> None:
    path = str(clinic(tmp_path / "clinic.duckdb", 50))
    done = json.loads(run(path, "safe", "--json").output)
    assert (done["read"], done["published"] + done["waiting"]) == (50, 50)
    assert run(path, "safe").output == f"safe: 0 read, 0 published, {done['waiting']} pending\n"
    assert json.loads(run(path, "safe", "--flush", "--json").output)["waiting"] == 0
    failed = run(path, "saef")
    assert (failed.exit_code, "Did you mean 'safe'?" in failed.output) == (1, True)


@pytest.mark.parametrize("arguments", [[], ["clinic.duckdb"], ["--from", "-"], ["--output", "-"]])
def test_stream_command_refuses_incomplete_options(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clinic(tmp_path / "clinic.duckdb", 0)
    failed = run(*arguments)
    assert (failed.exit_code, "Give a database and the name" in failed.output) == (2, True)


def test_stream_follow_reads_rows_of_concurrent_writers(tmp_path: Path) -> None:
    path = clinic(tmp_path / "clinic.duckdb", 30)
    command = [
        sys.executable,
        "-m",
        "dbanon",
        "stream",
        str(path),
        "safe",
        "--follow",
        "--poll-interval",
        "0.1",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["read"] == 30
        begin = time.monotonic()
        while True:
            try:
                with duckdb.connect(str(path)) as con:
                    insert(con, 30, 60)
                break
            except duckdb.IOException:  # it is being read
                assert time.monotonic() - begin < 60
                time.sleep(0.05)
        assert json.loads(child.stdout.readline())["read"] == 30
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130


def lines(first: int, last: int, form: str = "ndjson") -> str:
    events = [event(i) for i in range(first, last)]
    if form == "ndjson":
        return "".join(json.dumps(e) + "\n" for e in events)
    file = io.StringIO()
    writer = csv.DictWriter(file, events[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(events)
    return file.getvalue()


def texts(row: Iterable[object]) -> list[str]:
    return ["" if value is None else str(value).lower() for value in row]


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_stream_command_anonymizes_ndjson_and_csv_lines(form: str, tmp_path: Path) -> None:
    (tmp_path / f"in.{form}").write_text(lines(0, 200, form), encoding="utf-8")
    output = run("--from", str(tmp_path / f"in.{form}"), "--output", str(tmp_path / f"out.{form}"), *ROLES)
    assert output.exit_code == 0, output.output
    text = (tmp_path / f"out.{form}").read_text(encoding="utf-8")
    documents = (
        [json.loads(line) for line in text.splitlines()]
        if form == "ndjson"
        else list(csv.DictReader(io.StringIO(text)))
    )
    assert len(documents) == 200
    assert list(documents[0]) == ["age", "city", "disease", "class_id", "suppressed"]
    piped = run("--from", "-", "--output", "-", "--format", form, *ROLES, input=lines(0, 200, form))
    assert piped.output == text
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute(f"CREATE TABLE events AS FROM '{tmp_path / f'in.{form}'}'")
        replayed = con.execute(
            "SELECT * EXCLUDE (class_id, arrived_at, published_at, delay) FROM fads('events', k := 3, delta := 20, "
            "order_by := 'ts', qi := ['age', 'city'], sensitive := ['disease'])"
        ).fetchall()
    shown_values = [{name: value for name, value in row.items() if name != "class_id"}.values() for row in documents]
    assert sorted(map(texts, shown_values)) == sorted(map(texts, replayed))


def test_pending_records_published_after_unreadable_line() -> None:
    wrong = [*lines(0, 100).splitlines(), '{"ts": 100, "age": "old"}']
    piped = subprocess.run(
        [sys.executable, "-c", _SLOW, *ROLES], input="\n".join(wrong), capture_output=True, text=True, timeout=120
    )  # fmt: skip
    assert piped.returncode == 1
    assert "lines cannot be read from line 101 on as ndjson with the columns" in piped.stderr
    assert len(piped.stdout.splitlines()) == 100


_SLOW = """
import io, sys
from dbanon.cli.terminal import line_formats
line_formats.CHUNK_BYTES = 1000
from dbanon.cli import main
main(["stream", "--from", "-", "--output", "-", *sys.argv[1:]])
"""


def test_first_lines_determine_types_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    from dbanon.cli.terminal import line_formats as read

    monkeypatch.setattr(read, "CHUNK_BYTES", 30)
    text = '{"age": 30, "d": "x"}\n' + '{"age": 30.5, "d": "y"}\n' * 3
    roles = ["--from", "-", "--output", "-", "-k", "2", "-p", "delta=4", "--qi", "age", "--sensitive", "d"]
    failed = run(*roles, input=text)
    assert (failed.exit_code, "Hint: --types states the type" in failed.output) == (1, True)
    message = run(*roles, "--types", "age=double", input=text)
    assert sorted(json.loads(line)["d"] for line in message.output.splitlines()) == ["x", "y", "y", "y"]
    wrong = run(*roles, "--types", "age=nonsense", input=text)
    assert wrong.exit_code == 2


def test_anonymize_stream_accepts_batches_of_several_types() -> None:
    import pandas as pd
    import pyarrow as pa

    rows = [event(i) for i in range(120)]
    kinds = [pd.DataFrame, pa.Table.from_pylist, lambda some: pa.RecordBatch.from_pylist(some)]
    batches = [kinds[i % 3](rows[position : position + 30]) for i, position in enumerate(range(0, 120, 30))]
    values_by_name = {name: value for name, value in CALL.items() if name != "order_by"}
    remaining_anonymize_streams = list(anonymize_stream(iter(batches), "castle", **values_by_name))
    assert sum(len(table) for table in remaining_anonymize_streams) == 120
    assert all(len(table) for table in remaining_anonymize_streams)
    assert list(anonymize_stream([], "castle", **values_by_name)) == []
    with pytest.raises(errors.UnusedArgumentError, match="order_by"):
        list(anonymize_stream(batches, "castle", **CALL))
    with pytest.raises(errors.UnknownAlgorithmError):
        list(anonymize_stream(batches, "kacpc", **values_by_name))


def test_failing_batch_dropped_and_pending_published() -> None:
    import pandas as pd

    values_by_name = {name: value for name, value in CALL.items() if name != "order_by"}
    good, bad = pd.DataFrame([event(i) for i in range(50)]), pd.DataFrame({"age": ["old"], "city": ["Oslo"]})
    remaining_counts = []
    with pytest.raises(errors.UnreadableValueError, match="a value of the batch"):
        for table in anonymize_stream([good, bad], "fads", **values_by_name):
            remaining_counts.append(len(table))
    assert sum(remaining_counts) == 50


def test_stream_csv_escapes_formulas(tmp_path: Path) -> None:
    cells = ("=1+1", "-x", "'=1", "Flu")
    came = "".join(json.dumps({"age": i % 4 - 9, "=d": cells[i % 4], "balance": -i}) + "\n" for i in range(40))
    (tmp_path / "in.ndjson").write_text(came)
    source, target = str(tmp_path / "in.ndjson"), str(tmp_path / "out.csv")
    call = ("--from", source, "--output", target, "-k", "3", "-p", "delta=20", "--qi", "age")
    for choice, header, expected in (
        ((), "'=d", {"'=1+1", "'-x", "''=1", "Flu"}),
        (("--csv-formulas", "keep", "--replace"), "=d", set(cells)),
    ):
        output = run(*call, "--sensitive", "=d", "--sensitive", "balance", *choice)
        assert output.exit_code == 0, output.output
        rows = list(csv.DictReader(io.StringIO(Path(target).read_text(encoding="utf-8"))))
        assert len(rows) == 40 and {row[header] for row in rows} == expected
        assert {row["balance"] for row in rows} == {str(-i) for i in range(40)}
        assert not any(row["age"].startswith("'") for row in rows)
