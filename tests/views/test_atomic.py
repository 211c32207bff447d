"""A release is complete at every moment: for readers, after a kill, and when two processes change it at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.scale import sample_cases

import dbanon
from dbanon import errors

KILLS = 24
"""Processes that are killed at a random moment."""

NURSERY = """
import os, sys, time, warnings
import dbanon, duckdb

warnings.simplefilter("ignore")
with dbanon.connect(":memory:") as con:  # once, so that the children have everything compiled
    con.execute("SET threads = 1")
    con.execute("CREATE TABLE t AS SELECT i AS age FROM range(20) AS r (i)")
    dbanon.create_release(con, "safe", "kacpc", "t", k=3, qi=["age"])
del con

def live(path):
    con = dbanon.connect(path)
    n = con.execute("SELECT max(pid) + 1 FROM patients").fetchall()[0][0]
    started = time.monotonic()
    print(os.getpid(), flush=True)
    while True:
        try:
            dbanon.create_release(con, "safe", "kacpc", "patients", k=3)
        except dbanon.DbanonError:
            pass
        con.execute(f"INSERT INTO patients SELECT {n} + i, 20 + ({n} + i) % 50, 'Flu' FROM range(4) AS r (i)")
        try:
            dbanon.refresh_release(con, "safe", allow_small_differences=n % 3 == 0)
        except (dbanon.DbanonError, duckdb.Error):
            pass
        if n % 5 == 0:
            dbanon.drop_release(con, "safe")
            dbanon.forget_release(con, "safe")
        n += 4
        print(time.monotonic() - started, flush=True)
        started = time.monotonic()

for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        live(sys.argv[1])
    os.waitpid(pid, 0)
    print("gone", flush=True)
"""
"""A script that imports everything, and starts a process that makes and refreshes releases for each input line."""


def patients(con: Any) -> None:
    con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, disease VARCHAR)")
    con.execute("INSERT INTO patients SELECT i, 20 + i, ['Flu', 'HIV'][1 + i % 2] FROM range(20) AS r (i)")
    dbanon.declare(con, "patients", pid="identifier", age="quasi", disease="sensitive")


def complete_version(con: Any) -> int | None:
    """Assert that there is one complete release or none; return its version."""
    rows = con.execute("SELECT version, records FROM dbanon.release WHERE status = 'published'").fetchall()
    tables = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND table_name <> 'patients' ORDER BY 1"
    ).fetchall()
    known_rows = con.execute("SELECT version, records + suppressed FROM dbanon.release ORDER BY 1").fetchall()
    members = con.execute("SELECT version, sum(records) FROM dbanon.membership GROUP BY 1 ORDER BY 1").fetchall()
    assert known_rows == members
    if not rows:
        assert tables == []
        return None
    assert tables == [("safe",), ("safe_classes",), ("safe_metrics",)]
    assert len(rows) == 1
    ((version, records),) = rows
    sizes = con.execute("SELECT class_id, count(*) FROM safe GROUP BY ALL ORDER BY ALL").fetchall()
    assert sum(size for _, size in sizes) == records
    assert con.execute("SELECT class_id, size FROM safe_classes ORDER BY ALL").fetchall() == sizes
    assert con.execute("SELECT value FROM safe_metrics WHERE metric = 'records'").fetchall() == [(records,)]
    assert (
        con.execute(
            "SELECT class_id, sum(records) FROM dbanon.membership WHERE version = ? GROUP BY ALL ORDER BY ALL",
            [version],
        ).fetchall()
        == sizes
    )
    return int(version)


@pytest.mark.not_everyday
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_process_leaves_complete_release(tmp_path: Path) -> None:
    """The first process measures the duration of a round; the others are killed somewhere in their first two."""
    rng = random.Random(7)
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        patients(con)
    seen_values = set()
    length = 0.0
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for _ in sample_cases(range(KILLS), 3):
            print("go", file=nursery.stdin, flush=True)
            pid = int(nursery.stdout.readline())
            if not length:
                length = float(nursery.stdout.readline())
            time.sleep(rng.uniform(0, 2 * length))
            os.kill(pid, signal.SIGKILL)
            while nursery.stdout.readline() != "gone\n":
                pass
            with duckdb.connect(str(path)) as con:
                seen_values.add(complete_version(con))
        nursery.stdin.close()
    assert len(seen_values) > 1, seen_values
    with dbanon.connect(path) as con:
        if complete_version(con) is None:
            dbanon.create_release(con, "safe", "kacpc", "patients", k=3)
        dbanon.drop_release(con, "safe")
        dbanon.forget_release(con, "safe")
        assert complete_version(con) is None


@pytest.mark.parametrize("on_file", [False, True])
def test_reader_transaction_sees_single_version(tmp_path: Path, on_file: bool) -> None:
    con = dbanon.connect(tmp_path / "clinic.duckdb" if on_file else ":memory:")
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    reader = con.raw.cursor()
    reader.execute("BEGIN")
    assert complete_version(reader) == 1
    rows = reader.execute("FROM safe").fetchall()
    con.execute("INSERT INTO patients SELECT 100 + i, 70 + i, 'Flu' FROM range(7) AS r (i)")
    assert dbanon.refresh_release(con, "safe").version == 2
    assert complete_version(reader) == 1
    assert reader.execute("FROM safe").fetchall() == rows
    reader.execute("COMMIT")
    assert complete_version(reader) == 2
    assert len(reader.execute("FROM safe").fetchall()) == 27
    con.close()


@pytest.mark.not_everyday
def test_concurrent_readers_never_see_mixed_versions(tmp_path: Path) -> None:
    con = dbanon.connect(tmp_path / "clinic.duckdb")
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    done = threading.Event()
    wrong: list[BaseException] = []
    seen_values = set()

    reader = con.raw.cursor()

    def read() -> None:
        try:
            while not done.is_set():
                reader.execute("BEGIN")
                seen_values.add(complete_version(reader))
                reader.execute("COMMIT")
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    for i in range(5):
        con.execute(f"INSERT INTO patients SELECT {100 + 10 * i} + i, {60 + i}, 'Flu' FROM range(6) AS r (i)")
        dbanon.refresh_release(con, "safe")
    done.set()
    thread.join()
    assert not wrong, wrong
    assert seen_values <= {1, 2, 3, 4, 5, 6}
    con.close()


def run_at_once(works: list[Any]) -> list[Any]:
    """Return the results, or errors, of functions that start together."""
    results: list[Any] = [None] * len(works)
    start = threading.Barrier(len(works))

    def run(i: int) -> None:
        start.wait()
        try:
            results[i] = works[i]()
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.not_everyday
def test_concurrent_refreshes_corrupt_nothing(tmp_path: Path) -> None:
    con = dbanon.connect(tmp_path / "clinic.duckdb")
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    version = 1
    for i in range(4):
        con.execute(f"INSERT INTO patients SELECT {100 + 10 * i} + i, {60 + i}, 'Flu' FROM range(6) AS r (i)")
        with con.cursor() as first, con.cursor() as second:
            results = run_at_once(
                [lambda c=c: dbanon.refresh_release(c, "safe", if_stale=False) for c in (first, second)]
            )
        won = [r.version for r in results if isinstance(r, dbanon.Release)]
        assert all(isinstance(r, (dbanon.Release, errors.LedgerBusyError)) for r in results), results
        assert sorted(won) == list(range(version + 1, version + 1 + len(won)))
        assert won
        version = max(won)
        assert complete_version(con) == version
    con.close()


@pytest.mark.not_everyday
def test_concurrent_creates_make_one_release(tmp_path: Path) -> None:
    con = dbanon.connect(tmp_path / "clinic.duckdb")
    patients(con)
    dbanon.declare(con, "patients", age="quasi")
    for _ in range(2):
        with con.cursor() as first, con.cursor() as second:
            results = run_at_once(
                [lambda c=c: dbanon.create_release(c, "safe", "kacpc", "patients", k=5) for c in (first, second)]
            )
        actual_results = [r for r in results if isinstance(r, dbanon.Release)]
        failed = [r for r in results if not isinstance(r, dbanon.Release)]
        assert len(actual_results) == 1, results
        assert all(isinstance(r, (errors.LedgerBusyError, errors.ReleaseExistsError)) for r in failed), results
        complete_version(con)
        with con.cursor() as first, con.cursor() as second:
            results = run_at_once([lambda c=c: dbanon.drop_release(c, "safe") for c in (first, second)])
        assert results.count(None) >= 1
        assert all(r is None or isinstance(r, (errors.LedgerBusyError, errors.UnknownReleaseError)) for r in results), (
            results
        )
        assert complete_version(con) is None
    con.close()


@pytest.mark.not_everyday
def test_second_writer_refused_as_ledger_busy(tmp_path: Path) -> None:
    """A transaction that already changed the release does not block the other one, which is refused."""
    con = dbanon.connect(tmp_path / "clinic.duckdb")
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    other = con.raw.cursor()
    other.execute("BEGIN")
    other.execute("ALTER TABLE safe RENAME TO mine")
    with pytest.raises(errors.LedgerBusyError, match="another connection"):
        dbanon.refresh_release(con, "safe", if_stale=False)
    other.execute("ROLLBACK")
    assert complete_version(con) == 1
    assert dbanon.refresh_release(con, "safe", if_stale=False).version == 2
    con.close()
