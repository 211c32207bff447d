"""Streaming anonymized views: read in pieces, they publish the same as the function at once, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dbanon
from dbanon import errors
from dbanon.algorithms import streams as stream_algorithms
from dbanon.algorithms.streams import PENDING, StreamState, streams
from dbanon.udf import stream
from dbanon.views import stream_refresh, streaming

TREE = [[c, w, "*"] for c, w in zip("abcdefgh", ["x"] * 3 + ["y"] * 2 + ["z"] * 3, strict=True)]
COLUMNS = "ts INTEGER, name VARCHAR, age INTEGER, weight DOUBLE, born DATE, ward VARCHAR, city VARCHAR, disease VARCHAR"
CALL: dict[str, Any] = {
    "k": 3,
    "delta": 25,
    "order_by": ["ts"],
    "qi": ["age", "weight", "born", "ward", "city"],
    "sensitive": ["disease"],
    "hierarchies": {"ward": "wards"},
}
SYSTEMS = pytest.mark.parametrize("system", [system.name for system in streams()])


def events(seed: int, first: int, last: int) -> list[tuple[Any, ...]]:
    """Return records of a period: many are equal, some lack a value, and some people have several."""
    values = []
    for i in range(first, last):
        rng = random.Random(seed * 100_003 + i)
        values.append(
            (
                i // 2,
                f"p{rng.randrange(300)}" if rng.random() > 0.05 else None,
                rng.randrange(20, 60) if rng.random() > 0.1 else None,
                rng.choice([0.1, 0.2, 1e-9, 7.25, -3.5, 1e6]),
                f"{1950 + rng.randrange(60)}-03-{1 + rng.randrange(28):02}",
                rng.choice("abcdefgh"),
                rng.choice(["Oslo", "Rome", "Bern", "Åre 🏔", "x'); --"]),
                rng.choice(["Flu", "HIV", "Cold", None]),
            )
        )
    return values


def open_stream_database(database: str | Path = ":memory:") -> Any:
    """Create a connection with a source of no rows, and the hierarchy of its wards."""
    con = dbanon.attach(duckdb.connect(str(database)))
    con.execute(f"CREATE TABLE events ({COLUMNS})")
    dbanon.load_hierarchy(con, "wards", TREE)
    return con


def insert_rows(con: Any, seed: int, first: int, last: int) -> None:
    """Add rows to the source."""
    if last > first:
        con.executemany(f"INSERT INTO events VALUES ({', '.join('?' * 8)})", events(seed, first, last))


def rows(con: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted(con.execute(query).fetchall(), key=repr)


def view_rows(con: Any) -> list[tuple[Any, ...]]:
    """Return the rows of the view without class numbers, which differ for classes published at the end."""
    shown_query = "SELECT DISTINCT * EXCLUDE (disease, class_id, suppressed) FROM safe WHERE NOT suppressed"
    numbers = f"SELECT (SELECT count(DISTINCT class_id) FROM safe), (SELECT count(*) FROM ({shown_query}))"
    classes, values = con.execute(numbers).fetchall()[0]
    assert classes == values
    return rows(con, "SELECT * EXCLUDE (class_id) FROM safe")


def function_rows(con: Any, system: str, call: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows that the table function publishes of all records, likewise."""
    arguments = ", ".join(f"{name} := {value!r}" for name, value in call.items())
    return rows(
        con, f"SELECT * EXCLUDE (class_id, arrived_at, published_at, delay) FROM {system}('events', {arguments})"
    )


CASES: dict[str, dict[str, Any]] = {
    "l": {"l": 2},
    "persons": {"person": "name"},
    "bounds": {"intervals": "bounds", "suppress": "drop"},
    "rounding": {"intervals": "struct", "rounding": {"age": 10, "born": "year"}, "l": 2},
}


@SYSTEMS
@pytest.mark.parametrize("case", CASES)
def test_refreshes_in_pieces_equal_function(system: str, case: str) -> None:
    con, call = open_stream_database(), CALL | CASES[case]
    came = random.Random(f"{system} {case}")
    ends = sorted(2 * came.randrange(115) for _ in range(3))  # simultaneous records are read together
    streaming.create_stream(con, "safe", system, "events", **call)
    previous: list[tuple[Any, ...]] = []
    for first, last in zip([0, *ends], [*ends, 230], strict=True):
        insert_rows(con, 1, first, last)
        done = streaming.refresh_stream(con, "safe")
        assert (done.read, done.waiting) == (last - first, n_pending(con))
        assert done.waiting < call["delta"]
        present_rows = con.execute("FROM safe").fetchall()
        assert present_rows[: len(previous)] == previous  # published rows never change
        previous = present_rows
    done = streaming.refresh_stream(con, "safe", flush=True)
    assert (done.waiting, n_pending(con)) == (0, 0)
    assert view_rows(con) == function_rows(con, system, call)
    remaining_row = con.execute("SELECT count(*), count(class_id) FROM safe").fetchall()[0]
    ledger = con.execute(
        "SELECT arrived, published, suppressed, waiting, longest_delay FROM stream_status()"
    ).fetchall()
    assert ledger[0][:4] == (230, remaining_row[1], 230 - remaining_row[1], 0)
    # fads limits the number of pending records. Each class that is published meanwhile lets as many others arrive.
    n_class_records = max(row[0] for row in con.execute("SELECT size FROM safe_classes").fetchall())
    assert ledger[0][4] < call["delta"] * (n_class_records if system == "fads" else 1)
    assert remaining_row[0] == (remaining_row[1] if call.get("suppress") == "drop" else 230)


def n_pending(con: Any) -> int:
    (count,) = con.execute('SELECT count(*) FROM dbanon."waiting main.safe"').fetchall()[0]
    return int(count)


@SYSTEMS
def test_stream_classes_have_k_persons_and_cover_records(system: str) -> None:
    """Compared with the source and the rows of each refresh alone; a unique sensitive value identifies each record."""
    con = open_stream_database()
    call = CALL | {"person": "name", "qi": ["age", "ward"]}
    streaming.create_stream(con, "safe", system, "events", **call)
    people: dict[int, set[str | None]] = defaultdict(set)
    display: dict[int, tuple[Any, ...]] = {}
    source_rows: dict[str, tuple[Any, ...]] = {}
    seen_number = 0
    wards = {ward: above for ward, above, _ in TREE}
    for first in range(0, 240, 40):
        for number, row in enumerate(events(4, first, first + 40), first):
            source_rows[f"d{number}"] = row
            con.execute(f"INSERT INTO events VALUES ({', '.join('?' * 8)})", [*row[:-1], f"d{number}"])
        streaming.refresh_stream(con, "safe", flush=first == 200)
        added = con.execute("SELECT age, ward, disease, class_id FROM safe OFFSET ?", [seen_number]).fetchall()
        seen_number += len(added)
        for age, ward, disease, number in added:
            if number is None:
                assert (age, ward, disease) == ("*", "*", None)
                continue
            true = source_rows.pop(disease)
            people[number].add(true[1])
            assert display.setdefault(number, (age, ward)) == (age, ward)
            assert ward in ("*", true[5], wards[true[5]])
            low, _, high = (age or "None").strip("[]").partition(", ")
            may = next(s for s in streams() if s.name == system).maybe  # then a NULL may be in a class of values
            if age != "*":
                assert (age is None or may) if true[2] is None else int(low) <= true[2] <= int(high or low)
        assert all(len(value - {None}) >= 3 for value in people.values())
        assert len(set(display.values())) == len(display)
        classes = {r[0]: r[2:] for r in con.execute("FROM safe_classes").fetchall()}
        assert classes == display
        sizes = dict(con.execute("SELECT class_id, size FROM safe_classes").fetchall())
        assert sizes == dict(
            con.execute("SELECT class_id, count(*) FROM safe WHERE class_id > 0 GROUP BY 1").fetchall()
        )
    assert seen_number == 240


class SimulatedCrash(BaseException):
    """A simulated end of the process."""


@pytest.mark.parametrize("function_name", ["_publish", "_update_pending", "_update_ledger"])
def test_failed_stream_refresh_changes_nothing(function_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    con = open_stream_database()
    insert_rows(con, 2, 0, 60)
    streaming.create_stream(con, "safe", "castle", "events", **CALL)
    insert_rows(con, 2, 60, 130)

    def everything() -> list[Any]:
        tables = ("safe", "safe_classes", 'dbanon."waiting main.safe"', "dbanon.stream")
        return [rows(con, f"FROM {table}") for table in tables]

    previous, real = everything(), getattr(stream_refresh, function_name)

    def dies(*given: Any) -> Any:
        real(*given)
        raise SimulatedCrash

    with monkeypatch.context() as patched:
        patched.setattr(stream_refresh, function_name, dies)
        with pytest.raises(SimulatedCrash):
            streaming.refresh_stream(con, "safe")
    assert everything() == previous
    streaming.refresh_stream(con, "safe", flush=True)
    assert view_rows(con) == function_rows(con, "castle", CALL)


FOLLOWS = """
import sys, duckdb, dbanon
sys.path.insert(0, {here!r})
from test_streaming import insert_rows
from dbanon.views import streaming
con = dbanon.attach(duckdb.connect({file!r}))
done = con.execute("SELECT count(*) FROM events").fetchone()[0]
while done < 400:
    last = done + 6 - done % 2  # who comes together is read together
    insert_rows(con, 3, done, last)
    done = last
    streaming.refresh_stream(con, "safe")
print("all", flush=True)
"""


def test_killed_process_resumes_from_last_commit(tmp_path: Path) -> None:
    file = tmp_path / "clinic.duckdb"
    con = open_stream_database(file)
    streaming.create_stream(con, "safe", "fads", "events", **CALL)
    con.close()
    script = FOLLOWS.format(here=str(Path(__file__).parent), file=str(file))
    for seconds in (3.0, 3.7):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL) as child:
            time.sleep(seconds)
            child.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    con = dbanon.attach(duckdb.connect(str(file)))
    (have,) = con.execute("SELECT count(*) FROM events").fetchall()[0]
    insert_rows(con, 3, have, have + 20)
    streaming.refresh_stream(con, "safe", flush=True)
    assert view_rows(con) == function_rows(con, "fads", CALL)
    con.close()


def create_grown_view(system: str = "fads", **more: Any) -> Any:
    """Create a view of sixty records, some of which are pending."""
    con = open_stream_database()
    insert_rows(con, 5, 0, 60)
    streaming.create_stream(con, "safe", system, "events", **(CALL | more))
    assert n_pending(con)
    return con


@pytest.mark.parametrize(
    ("rewritten", "why"),
    [
        ("DELETE FROM events WHERE rowid = 3", "lost or moved 1 row"),
        ("UPDATE events SET age = 1 WHERE rowid >= 55", "rows"),
        ("CREATE OR REPLACE TABLE events AS FROM events ORDER BY age", "has another row in the place of an"),
        ("DELETE FROM dbanon.\"waiting main.safe\"", "changed rows that are pending"),
        ("TRUNCATE events", "lost or moved 60 rows"),
    ],
)  # fmt: skip
def test_stream_refresh_refuses_rewritten_source(rewritten: str, why: str) -> None:
    con = create_grown_view()
    old_rows = rows(con, "FROM safe")
    con.execute(rewritten)
    insert_rows(con, 5, 60, 70)
    with pytest.raises(errors.SourceNotAppendOnlyError, match=why):
        streaming.refresh_stream(con, "safe")
    assert rows(con, "FROM safe") == old_rows


def test_stream_refresh_accepts_other_session_time_zone(tmp_path: Path) -> None:
    path = str(tmp_path / "clinic.duckdb")
    for zone, first in (("UTC", 0), ("Asia/Tokyo", 30), ("America/New_York", 60)):
        con = dbanon.attach(duckdb.connect(path))
        con.execute(f"SET GLOBAL TimeZone = '{zone}'")
        con.execute("CREATE TABLE IF NOT EXISTS events (seen TIMESTAMPTZ, age INTEGER, disease VARCHAR)")
        rows_of = f"SELECT to_timestamp(i), i % 40, 'd' || i % 5 FROM range({first}, {first + 30}) AS r (i)"
        con.execute(f"INSERT INTO events {rows_of}")
        if first:
            assert streaming.refresh_stream(con, "safe").read == 30
        else:
            call = {"k": 3, "delta": 20, "order_by": "seen", "qi": ["age"], "sensitive": ["disease"]}
            streaming.create_stream(con, "safe", "fads", "events", **call)
        con.close()


def test_published_rows_deletable_with_pruned() -> None:
    con = create_grown_view()
    waits = 'rowid IN (SELECT "dbanon row" FROM dbanon."waiting main.safe")'
    con.execute(f"DELETE FROM events WHERE NOT {waits} AND rowid < 40")
    with pytest.raises(errors.SourceNotAppendOnlyError):
        streaming.refresh_stream(con, "safe")
    assert streaming.refresh_stream(con, "safe", allow_deleted_rows=True).read == 0
    insert_rows(con, 5, 60, 100)
    assert streaming.refresh_stream(con, "safe").read == 40
    con.execute('DELETE FROM events WHERE rowid IN (SELECT max("dbanon row") FROM dbanon."waiting main.safe")')
    with pytest.raises(errors.SourceNotAppendOnlyError, match="changed rows that are pending"):
        streaming.refresh_stream(con, "safe", allow_deleted_rows=True)


def test_record_with_early_timestamp_read_on_next_refresh() -> None:
    con = create_grown_view()
    con.execute("UPDATE events SET ts = 99 WHERE false")
    con.executemany(
        f"INSERT INTO events VALUES ({', '.join('?' * 8)})", [(-1000, *row[1:]) for row in events(5, 60, 100)]
    )
    done = streaming.refresh_stream(con, "safe")
    assert (done.read, done.published + done.suppressed > 0) == (40, True)


def test_unreadable_record_reported_and_nothing_lost() -> None:
    con = create_grown_view()
    old_rows = rows(con, "FROM safe")
    wrong = {"ward": "'q'", "weight": "'NaN'::DOUBLE", "ts": "NULL"}
    for column, value in wrong.items():
        insert_rows(con, 5, 60, 61)
        con.execute(f"UPDATE events SET {column} = {value} WHERE rowid = (SELECT max(rowid) FROM events)")
        with pytest.raises(duckdb.Error, match=column):
            streaming.refresh_stream(con, "safe")
        assert rows(con, "FROM safe") == old_rows
        con.execute("DELETE FROM events WHERE rowid = (SELECT max(rowid) FROM events)")  # it has not been read
    insert_rows(con, 5, 60, 100)
    streaming.refresh_stream(con, "safe", flush=True)
    assert view_rows(con) == function_rows(con, "fads", CALL)


def test_stream_hierarchy_may_gain_but_not_lose_nodes() -> None:
    con = create_grown_view("castle")
    dbanon.load_hierarchy(con, "wards", [*TREE, ["ab", "x", "*"], ["i", "v", "*"]])
    con.execute("INSERT INTO events SELECT * REPLACE ('i' AS ward) FROM events WHERE rowid < 30")
    assert streaming.refresh_stream(con, "safe").read == 30
    dbanon.load_hierarchy(con, "wards", [[ward, "other", "*"] for ward in "abcdefghi"])
    con.execute("INSERT INTO events FROM events WHERE rowid < 30")
    with pytest.raises(duckdb.Error, match="nodes may be added but not removed"):
        streaming.refresh_stream(con, "safe")


def test_stream_refresh_refuses_changed_roles() -> None:
    con = open_stream_database()
    dbanon.declare(con, "events", age="quasi", disease="sensitive")
    insert_rows(con, 5, 0, 40)
    streaming.create_stream(con, "safe", "fads", "events", k=3, delta=10, order_by="ts")
    dbanon.declare(con, "events", city="sensitive")
    with pytest.raises(errors.StreamRolesChangedError, match="city was withheld and is sensitive"):
        streaming.refresh_stream(con, "safe")


def test_create_stream_refuses_invalid_arguments() -> None:
    con = open_stream_database()
    insert_rows(con, 5, 0, 40)
    con.execute("CREATE VIEW seen AS FROM events")
    con.execute('CREATE TABLE numbered AS SELECT ts AS "rowid", * FROM events')

    def creation_error(
        kind: type[Exception], source: str = "events", name: str = "safe", system: str = "fads", **more: Any
    ) -> str:
        with pytest.raises(kind) as caught:
            streaming.create_stream(con, name, system, source, **(CALL | more))
        return str(caught.value)

    assert "seen is not a table of a DuckDB database" in creation_error(errors.StreamSourceNotATableError, "seen")
    assert "has a column of the name rowid" in creation_error(errors.StreamSourceNotATableError, "numbered")
    assert "'name' of events would be published unchanged" in creation_error(
        errors.CannotCheckRareValuesError, insensitive=["name"]
    )
    assert "delta must be at least 30" in creation_error(errors.InvalidArgumentError, k=30)
    creation_error(errors.UnknownAlgorithmError, system="kacpc")
    creation_error(errors.ReleaseExistsError, name="seen")
    creation_error(errors.UnknownParameterError, life2=1)
    with pytest.raises(errors.StreamAlgorithmNotAllowedError, match="create_release: fads is a stream system"):
        dbanon.create_release(con, "safe", "fads", "events", k=3)
    with pytest.raises(duckdb.Error, match="tradeoffs: fads is a stream system"):
        con.execute("FROM tradeoffs('events', k := [3], qi := ['age'], algorithms := ['fads'])")
    with pytest.raises(errors.StreamAlgorithmNotAllowedError, match="anonymize: castle is a stream system"):
        dbanon.anonymize(con.execute("FROM events").df(), "castle", k=3)
    assert con.execute("FROM stream_status()").fetchall() == []
    with pytest.raises(errors.UnknownStreamError):
        streaming.refresh_stream(con, "safe")
    with pytest.raises(errors.UnknownStreamError):
        streaming.drop_stream(con, "safe")
    streaming.drop_stream(con, "safe", if_exists=True)
    streaming.create_stream(con, "safe", "fads", "events", **CALL)
    con.execute("BEGIN")
    with pytest.raises(errors.OpenTransactionError):
        streaming.refresh_stream(con, "safe")
    con.execute("ROLLBACK")


def test_stream_statements_create_refresh_and_drop_view() -> None:
    con = dbanon.connect()
    hostile = """x"'); DROP TABLE t; --"""
    con.execute(f"CREATE TABLE events ({COLUMNS})")
    insert_rows(con.raw, 6, 0, 80)
    con.execute('CREATE SCHEMA "a b"')
    name = '"a b"."' + hostile.replace('"', '""') + '"'
    call = "fads('events', k=3, delta=20, order_by='ts', qi=['age', 'city'], sensitive=['disease'])"
    done = con.execute(f"CREATE STREAMING ANONYMIZED VIEW {name} AS SELECT * FROM {call}").fetchall()
    assert done[0][1:4] == (80, 80 - done[0][4], 0)
    assert con.execute(f"CREATE STREAMING ANONYMIZED VIEW IF NOT EXISTS {name} AS FROM {call}").fetchall() == []
    with pytest.raises(errors.ReleaseExistsError):
        con.execute(f"CREATE STREAMING ANONYMIZED VIEW {name} AS FROM {call}")
    insert_rows(con.raw, 6, 80, 100)
    assert con.execute(f"REFRESH STREAMING ANONYMIZED VIEW {name}").fetchall()[0][1] == 20
    assert con.sql(f"REFRESH STREAMING ANONYMIZED VIEW {name} WITH (flush = true)").fetchall()[0][4] == 0
    shown_rows = con.execute("SELECT name, schema_name, status, arrived FROM stream_status()").fetchall()
    assert shown_rows == [(hostile, "a b", "active", 100)]
    con.execute(f"DROP STREAMING ANONYMIZED VIEW {name}")
    con.execute(f"DROP STREAMING ANONYMIZED VIEW IF EXISTS {name}")
    assert con.execute("SELECT status FROM stream_status()").fetchall() == [("dropped",)]
    with pytest.warns(dbanon.DisclosureWarning, match="published the same table"):
        con.execute(f"CREATE STREAMING ANONYMIZED VIEW safe AS FROM {call}")
    with pytest.raises(errors.UnreadableStatementError):
        con.execute(f"CREATE OR REPLACE STREAMING ANONYMIZED VIEW safe AS FROM {call}")
    with pytest.raises(errors.NotASingleCallError, match="kacpc is for CREATE MATERIALIZED ANONYMIZED VIEW"):
        con.execute("CREATE STREAMING ANONYMIZED VIEW safe2 AS FROM kacpc('events', k=3)")
    with pytest.raises(errors.NotASingleCallError, match="fads is for CREATE STREAMING ANONYMIZED VIEW"):
        con.execute(f"CREATE MATERIALIZED ANONYMIZED VIEW safe2 AS FROM {call}")


def test_releases_and_streams_of_same_people_warned() -> None:
    con = create_grown_view()
    with pytest.warns(dbanon.DisclosureWarning, match="the streaming views safe published the same people"):
        dbanon.create_release(con, "whole", "kacpc", "events", k=3, qi=["age"])
    with pytest.raises(errors.OverlappingStreamError):
        dbanon.create_release(con, "other", "kacpc", "events", k=3, qi=["age"], composition="refuse")
    con.execute("CREATE VIEW seen AS FROM events")
    streaming.drop_stream(con, "safe")
    with pytest.raises(errors.OverlappingStreamError):
        dbanon.create_release(con, "other", "kacpc", "seen", k=3, qi=["age"], composition="refuse")
    with pytest.warns(dbanon.DisclosureWarning, match="whole version 1, safe published the same table"):
        streaming.create_stream(con, "again", "fads", "events", **CALL)


def defer_all_records(state: StreamState) -> StreamState:
    """Keep all records pending."""
    return replace(state, class_ids=np.full(len(state.class_ids), PENDING))


def assign_first_class(state: StreamState) -> StreamState:
    """Publish all records in the class that was published first."""
    return replace(state, class_ids=np.where(state.class_ids >= 0, 0, state.class_ids))


def publish_single_record(state: StreamState) -> StreamState:
    """Publish the first record in a class of its own, with the values of an earlier class."""
    out, removed_positions = state.class_ids.copy(), np.flatnonzero(state.class_ids >= 0)
    out[removed_positions[0]] = len(state.made_at)
    second_concatenates = [np.concatenate([a, a[out_of : out_of + 1]]) for a in (state.lows, state.highs, state.made_at)
             for out_of in [len(a) - 1]]  # fmt: skip
    return replace(
        state, class_ids=out, lows=second_concatenates[0], highs=second_concatenates[1], made_at=second_concatenates[2]
    )


def publish_before_arrival(state: StreamState) -> StreamState:
    step, removed_positions = state.published_at.copy(), np.flatnonzero(state.class_ids >= 0)
    step[removed_positions[-1]] = 1
    return replace(state, published_at=step)


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("spoil", "algorithm"),
    [
        (defer_all_records, "fads"),  # delta limits the number of pending records
        (defer_all_records, "castle"),  # delta limits how long a record is pending
        (assign_first_class, "fads"),
        (publish_single_record, "fads"),
        (publish_before_arrival, "fads"),
    ],
)
def test_gate_refuses_altered_stream_algorithm_results(
    spoil: Callable[[StreamState], StreamState], algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    con = create_grown_view(algorithm)
    old_values = rows(con, "FROM safe"), rows(con, "FROM dbanon.stream")
    insert_rows(con, 5, 60, 120)
    real = stream_algorithms.find

    def find(name: str) -> stream_algorithms.StreamAlgorithm:
        system = real(name)
        return replace(system, run=lambda *given: spoil(system.run(*given)))

    with monkeypatch.context() as patched:
        patched.setattr(stream.streams, "find", find)
        with pytest.raises(duckdb.Error, match="the release gate refused the result"):
            streaming.refresh_stream(con, "safe")
    assert (rows(con, "FROM safe"), rows(con, "FROM dbanon.stream")) == old_values
    streaming.refresh_stream(con, "safe", flush=True)
    assert view_rows(con) == function_rows(con, algorithm, CALL)


def test_concurrent_stream_refresh_refused() -> None:
    con = create_grown_view()
    insert_rows(con, 5, 60, 90)
    other = dbanon.attach(con.cursor())
    other.execute("BEGIN")
    other.execute("UPDATE dbanon.stream SET refreshes = refreshes + 1")
    with pytest.raises(errors.LedgerBusyError):
        streaming.refresh_stream(con, "safe")
    other.execute("COMMIT")
    assert streaming.refresh_stream(con, "safe").read == 30


def test_class_rows_not_in_arrival_order() -> None:
    con = open_stream_database()
    con.executemany("INSERT INTO events (ts, age, disease) VALUES (?, 30, ?)", [(i, f"d{i:02}") for i in range(60)])
    streaming.create_stream(
        con, "safe", "fads", "events", k=30, delta=30, order_by="ts", qi=["age"], sensitive=["disease"]
    )
    remaining_values = [d for (d,) in con.execute("SELECT disease FROM safe WHERE class_id = 1").fetchall()]
    assert len(remaining_values) >= 30
    assert remaining_values != sorted(remaining_values)


def test_release_functions_explain_streaming_view(tmp_path: Path) -> None:
    with open_stream_database() as con:
        insert_rows(con, 3, 0, 60)
        dbanon.create_stream(con, "safe", "fads", "events", **CALL)
        for function in (
            lambda: dbanon.refresh_release(con, "safe"),
            lambda: dbanon.drop_release(con, "main.SAFE"),
            lambda: dbanon.certificate(con, "safe"),
            lambda: dbanon.publish(con, "safe", tmp_path / "out.duckdb"),
        ):
            with pytest.raises(
                errors.UnknownReleaseError, match=r"(?i)safe is a streaming view, which has no versions"
            ):
                function()
        with pytest.raises(errors.UnknownReleaseError) as caught:
            dbanon.refresh_release(con, "other.safe")
        assert "streaming" not in str(caught.value)
        con.execute(f"COPY safe TO '{tmp_path / 'out.parquet'}'")


def test_view_with_dropped_tables_must_be_dropped_first() -> None:
    with open_stream_database() as con:
        insert_rows(con, 3, 0, 60)
        dbanon.create_stream(con, "safe", "fads", "events", **CALL)
        for dropped in ("", "DROP TABLE safe; DROP TABLE safe_classes"):
            con.execute(dropped or "SELECT 1")
            with pytest.raises(errors.ReleaseExistsError, match="DROP STREAMING ANONYMIZED VIEW Safe ends it"):
                dbanon.create_stream(con, "Safe", "castle", "events", **CALL)
        dbanon.drop_stream(con, "safe")
        with pytest.warns(dbanon.DisclosureWarning, match="safe published the same table"):
            assert dbanon.create_stream(con, "safe", "castle", "events", **CALL).read == 60
