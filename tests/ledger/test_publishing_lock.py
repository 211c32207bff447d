"""Two connections that write a ledger at the same time: the result is that of one of the two serial orders."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.ledger import publishing_lock
from dbanon.views import release_requests

pytestmark = pytest.mark.filterwarnings("ignore")

Operation = Callable[[Any], object]


def materialize(name: str, algorithm: str, k: int, **options: Any) -> Operation:
    return lambda con: dbanon.create_release(con, name, algorithm, "p", k=k, **options)


NEW: dict[str, Operation] = {
    "refuse_a": materialize("a", "kacpc", 10, composition="refuse"),
    "refuse_b": materialize("b", "mondrian", 7, composition="refuse"),
    "warn_a": materialize("a", "mondrian", 5),
    "related": lambda con: dbanon.create_release(con, "r", "kacpc", "p", k=5, children="visits"),
    "stream": lambda con: dbanon.create_stream(con, "s", "fads", "p", k=5, delta=50, order_by="id"),
    "answer": lambda con: release_requests.fulfil_request(con, "alice", "kacpc", "p", {"k": 10}),
    "answer_stricter": lambda con: release_requests.fulfil_request(con, "bob", "kacpc", "p", {"k": 12}),
}
"""Operations on a database without releases."""

OLD: dict[str, Operation] = {
    "keep": lambda con: dbanon.refresh_release(con, "old", allow_small_differences=True),
    "hold": lambda con: dbanon.refresh_release(con, "old", mode="hold"),
    "recluster": lambda con: dbanon.refresh_release(con, "old", mode="recluster"),
    "erase": lambda con: dbanon.refresh_release(con, "old", erase=True),
    "replace": materialize("old", "mondrian", 8, replace=True),
    "refuse_b": materialize("b", "mondrian", 7, composition="refuse"),
    "drop": lambda con: dbanon.drop_release(con, "old"),
    "forget": lambda con: dbanon.forget_release(con, "gone"),
    "refresh_stream": lambda con: dbanon.refresh_stream(con, "s", flush=True),
    "drop_stream": lambda con: dbanon.drop_stream(con, "s"),
    "answer": lambda con: release_requests.fulfil_request(con, "alice", "kacpc", "p", {"k": 10}),
    "drop_related": lambda con: dbanon.drop_release(con, "related"),
}
"""Operations on a database with releases."""


def insert_people(con: Any) -> None:
    """Create people, their visits, and permissions of readers."""
    con.execute(
        "CREATE TABLE p AS SELECT i AS id, 18 + i * 7 % 60 AS age, ['flu', 'hiv', 'cold'][1 + i % 3] AS "
        "disease FROM range(120) AS r (i); CREATE TABLE visits AS SELECT id, id * 7 % 4 AS month FROM p"
    )
    dbanon.declare(con, "p", id="person", age="quasi", disease="sensitive")
    dbanon.declare(con, "visits", id="person", month="quasi")
    dbanon.relate(con, "visits", "p", "id")
    con.execute("INSERT INTO dbanon.permission (source, algorithms, k) VALUES ('p', ['kacpc'], 10)")


def create_releases(con: Any) -> None:
    """Create releases, a stream, and a source that has changed since."""
    con.execute("CREATE TABLE q AS FROM p")
    con.execute("CREATE TABLE q_visits AS FROM visits")
    dbanon.declare(con, "q", id="person", age="quasi", disease="sensitive")
    dbanon.declare(con, "q_visits", id="person", month="quasi")
    dbanon.relate(con, "q_visits", "q", "id")
    dbanon.create_release(con, "related", "kacpc", "q", k=5, children="q_visits")
    materialize("gone", "kacpc", 12)(con)
    dbanon.drop_release(con, "gone")
    materialize("old", "kacpc", 10)(con)
    dbanon.create_stream(con, "s", "fads", "p", k=5, delta=50, order_by="id")
    con.execute("DELETE FROM p WHERE id = 3; INSERT INTO p SELECT 500 + i, 30 + i, 'flu' FROM range(12) AS r (i)")


def outcome(operation: Operation, con: Any) -> str:
    try:
        operation(con)
    except dbanon.DbanonError as error:
        return type(error).__name__
    return "done"


def ledgers(con: Any) -> list[list[tuple[Any, ...]]]:
    """Return the ledgers' contents, apart from times."""
    return [
        con.execute(query).fetchall()
        for query in (
            "SELECT name, version, status, refresh_mode, records, composition, unchecked_against FROM "
            "dbanon.release ORDER BY ALL",
            "SELECT release, version, count(*) FROM dbanon.membership GROUP BY ALL ORDER BY ALL",
            "SELECT name, status, arrived, published, waiting FROM dbanon.stream ORDER BY ALL",
            "SELECT name, status FROM dbanon.related_release ORDER BY ALL",
            "SELECT source, parameters, name, refusal IS NULL FROM dbanon.release_request ORDER BY ALL",
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY ALL",
        )
    ]


@dataclass
class Databases:
    """Database files without and with releases, and each of them after one operation."""

    folder: Path
    results: dict[Path, str] = field(default_factory=dict)

    def copy(self, state: str, name: str) -> Path:
        return Path(shutil.copy(self.folder / f"{state}.duckdb", self.folder / f"{name}.duckdb"))

    def serial(self, state: str, first: str, second: str) -> tuple[list[str], Any]:
        """Return outcomes and ledgers of one operation after the other."""
        new_path = self.folder / f"{state} {first}.duckdb"
        if new_path not in self.results:
            path = self.copy(state, "serial")
            with dbanon.connect(path) as con:
                result = outcome(OPERATIONS[state][first], con)
            path.rename(new_path)
            self.results[new_path] = result
        path = Path(shutil.copy(new_path, self.folder / "serial.duckdb"))
        with dbanon.connect(path) as con:
            return [self.results[new_path], outcome(OPERATIONS[state][second], con)], ledgers(con)


def run_at_once(path: Path, first: Operation, second: Operation) -> tuple[list[str], Any]:
    """Run two operations at the same time; return their outcomes and the ledgers."""
    done = ["", ""]
    start = threading.Barrier(2)
    with dbanon.connect(path) as one, dbanon.connect(path) as two:

        def run(i: int, con: Any) -> None:
            start.wait()
            done[i] = outcome((first, second)[i], con)

        threads = [threading.Thread(target=run, args=one_pair) for one_pair in enumerate((one, two))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return done, ledgers(one)


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Databases:
    actual_databases = Databases(tmp_path_factory.mktemp("turns"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with dbanon.connect(actual_databases.folder / "new.duckdb") as con:
            insert_people(con)
        with dbanon.connect(actual_databases.copy("new", "old")) as con:
            create_releases(con)
    return actual_databases


OPERATIONS = {"new": NEW, "old": OLD}
PAIRS = [(state, *pair) for state, named in OPERATIONS.items() for pair in combinations_with_replacement(named, 2)]


@pytest.mark.parametrize(("state", "first", "second"), PAIRS)
def test_concurrent_publications_are_serialized(databases: Databases, state: str, first: str, second: str) -> None:
    done, rows = databases.serial(state, first, second)
    turned, other_rows = databases.serial(state, second, first)
    named_operation = OPERATIONS[state]
    both = run_at_once(databases.copy(state, "both"), named_operation[first], named_operation[second])
    assert both in [(done, rows), (turned[::-1], other_rows)]


@pytest.fixture
def released_con(con: Any) -> Iterator[Any]:
    """Create a connection with a table that has a release."""
    con.execute("CREATE TABLE p AS SELECT i AS id, 20 + i % 5 AS age FROM range(40) AS r (i)")
    dbanon.declare(con, "p", id="person", age="quasi")
    con.execute("INSERT INTO dbanon.permission (source, algorithms, k) VALUES ('p', ['kacpc'], 10)")
    materialize("old", "kacpc", 10)(con)
    yield con


def test_lock_wait_timeout_raises_ledger_busy(released_con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing_lock, "MAX_WAIT_S", 0.02)
    dbanon.create_stream(released_con, "s", "fads", "p", k=5, delta=50, order_by="id")
    old_ledgers = ledgers(released_con)
    other = released_con.cursor()
    other.execute("BEGIN; UPDATE dbanon.publishing_turn SET turns = turns + 1")
    for name in ("keep", "replace", "refuse_b", "drop", "refresh_stream", "drop_stream", "answer"):
        with pytest.raises(errors.LedgerBusyError, match="another connection has been writing"):
            OLD[name](released_con)
    with pytest.raises(errors.LedgerBusyError):
        NEW["stream"](released_con)
    other.execute("ROLLBACK")
    assert ledgers(released_con) == old_ledgers


def test_second_connection_blocks_until_first_commits(released_con: Any) -> None:
    other = released_con.cursor()
    other.execute("BEGIN; UPDATE dbanon.publishing_turn SET turns = turns + 1")
    thread = threading.Thread(target=lambda: dbanon.drop_release(released_con, "old"))
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    other.execute("COMMIT")
    thread.join()
    assert released_con.execute("SELECT status FROM dbanon.release").fetchall() == [("dropped",)]


def test_deleted_lock_row_recreated_by_refresh(released_con: Any) -> None:
    released_con.execute("DELETE FROM dbanon.publishing_turn")
    dbanon.refresh_release(released_con, "old")
    assert released_con.execute("SELECT id, turns FROM dbanon.publishing_turn").fetchall() == [(1, 1)]


def test_dropped_lock_table_recreated_by_refresh(released_con: Any) -> None:
    released_con.execute("DROP TABLE dbanon.publishing_turn")
    dbanon.refresh_release(released_con, "old")
    assert released_con.execute("SELECT id, turns FROM dbanon.publishing_turn").fetchall() == [(1, 1)]


def test_lost_lock_row_refuses_commit(released_con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """FORCE CHECKPOINT ends the transactions of all connections, including that of the lock row."""
    real = publishing_lock.check_rows_held

    def lose(function: str, name: str) -> None:
        for cursors in publishing_lock._HELD_ROWS.get().values():
            for cursor in cursors.values():
                with pytest.raises(duckdb.Error):
                    cursor.execute("SELECT error('lost')")
        real(function, name)

    monkeypatch.setattr(publishing_lock, "check_rows_held", lose)
    with pytest.raises(errors.LedgerBusyError):
        dbanon.refresh_release(released_con, "old", mode="recluster")
    assert released_con.execute("SELECT version FROM dbanon.release").fetchall() == [(1,)]


def test_releases_across_two_databases_are_serialized(tmp_path: Path) -> None:
    """A view in one database and its table in another: each release is recorded in the database of its source."""
    with dbanon.connect(tmp_path / "a.duckdb") as con:
        con.execute(f"ATTACH '{tmp_path / 'b.duckdb'}' AS b")
        con.execute("CREATE TABLE p AS SELECT i AS id, 20 + i % 5 AS age, 'flu' AS disease FROM range(40) AS r (i)")
        dbanon.declare(con, "p", id="person", age="quasi", disease="sensitive")
        con.execute("CREATE VIEW b.main.v AS FROM a.main.p")
        dbanon.declare(con, "b.main.v", id="person", age="quasi", disease="sensitive")
        dbanon.create_release(con, "first", "kacpc", "p", k=10)
        dbanon.create_release(con, "b.main.second", "kacpc", "b.main.v", k=10)
        with con.cursor() as other:
            other.execute("BEGIN; UPDATE b.dbanon.publishing_turn SET turns = turns + 1")
            thread = threading.Thread(target=lambda: dbanon.refresh_release(con, "first", mode="recluster"))
            thread.start()
            time.sleep(0.05)
            assert thread.is_alive()
            other.execute("COMMIT")
            thread.join()
        assert con.execute("SELECT max(version) FROM dbanon.release").fetchall() == [(2,)]


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("UPDATE dbanon.policy SET rounding = '10' WHERE column_name = 'age'", errors.PolicyChangedError),
        ("DELETE FROM dbanon.permission", errors.RequestNotPermittedError),
    ],
)
def test_concurrent_sql_change_prevents_commit(
    released_con: Any, monkeypatch: pytest.MonkeyPatch, change: str, error: type[Exception]
) -> None:
    real = release_requests.materialize.create_version

    def build(*given: Any) -> Any:
        result = real(*given)
        released_con.cursor().execute(change)
        return result

    monkeypatch.setattr(release_requests.materialize, "create_version", build)
    with pytest.raises(error):
        release_requests.fulfil_request(released_con, "alice", "kacpc", "p", {"k": 10})
    assert released_con.execute("SELECT name FROM dbanon.release").fetchall() == [("old",)]
    assert released_con.execute("FROM dbanon.release_request").fetchall() == []


def test_second_process_cannot_open_database(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    code = "import sys, dbanon; dbanon.connect(sys.argv[1])"
    with dbanon.connect(path):
        run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "Conflicting lock is held" in run.stderr
