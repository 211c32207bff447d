"""Rows that a refresh of a streaming view reads after deletions, checkpoints, updates and reopening."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.ledger import stream_marks
from dbanon.views import streaming

CALL: dict[str, Any] = {"k": 3, "delta": 9, "order_by": ["t"], "qi": ["age"], "sensitive": ["x"]}


class Visits:
    """A table in a file, the view that reads it, and the records that were added."""

    def __init__(self, path: Path, columns: str = "t INTEGER, age INTEGER, x VARCHAR") -> None:
        self.path, self.added = path, 0
        self.con: Any = dbanon.connect(path)
        self.con.execute(f"CREATE TABLE v ({columns})")

    def insert(self, n: int, t: str = "i") -> None:
        """Add records, each with a sensitive value of its own."""
        rows = f"SELECT {t}, i * 7 % 10, 'd' || i FROM range({self.added}, {self.added + n}) AS r (i)"
        self.con.execute(f"INSERT INTO v {rows}")
        self.added += n

    def create(self, **parameters: Any) -> None:
        streaming.create_stream(self.con, "s", "castle", "v", **(CALL | parameters))

    def reopen(self) -> None:
        self.con.close()
        self.con = dbanon.connect(self.path)

    def prune(self) -> None:
        """Delete the published rows."""
        self.con.execute('DELETE FROM v WHERE x NOT IN (SELECT x FROM dbanon."waiting main.s")')

    def run(self, steps: str) -> list[str]:
        """Execute statements and words; return the rows read by each refresh, or the name of its error."""
        done = []
        for step in steps.split("; "):
            word, _, rest = step.partition(" ")
            if word == "insert":
                self.insert(int(rest))
            elif word == "late":
                self.insert(int(rest), "i - 1000")
            elif word == "equal":
                self.insert(int(rest), "(SELECT max(t) FROM v)")
            elif word in ("prune", "reopen", "create"):
                getattr(self, word)()
            elif word == "refresh":
                flags = ({"pruned": "allow_deleted_rows"}.get(flag, flag) for flag in rest.split())
                done.append(self.refreshed(**dict.fromkeys(flags, True)))
            else:
                self.con.execute(step)
        return done

    def refreshed(self, **flags: bool) -> str:
        try:
            return str(streaming.refresh_stream(self.con, "s", **flags).read)
        except errors.DbanonError as error:
            return type(error).__name__

    def check_nothing_is_lost(self) -> None:
        """Assert that every record was read once: published and pending records have distinct values."""
        values = 'SELECT x FROM s WHERE x IS NOT NULL UNION ALL SELECT x FROM dbanon."waiting main.s"'
        count, different = self.con.execute(f"SELECT count(*), count(DISTINCT x) FROM ({values})").fetchone()
        arrived, suppressed = self.con.execute("SELECT arrived, suppressed FROM stream_status()").fetchone()
        assert count == different == arrived - suppressed
        assert arrived == self.added


REFUSED, NOT_APPENDED = "PrunedWithoutOrderError", "SourceNotAppendOnlyError"
SEQUENCES = {
    # Steps, the rows that each refresh reads, and whether all records have been read at the end.
    "all are pruned": (
        "insert 40; create; refresh flush; prune; CHECKPOINT; reopen; insert 20; refresh; refresh pruned; insert 9; "
        "refresh; refresh pruned flush",
        ["0", NOT_APPENDED, "20", "9", "0"],
        True,
    ),
    "some are pruned": (
        "insert 40; create; prune; CHECKPOINT; reopen; insert 5; refresh pruned; prune; CHECKPOINT; insert 30; "
        "refresh pruned; refresh",
        ["5", "30", "0"],
        True,
    ),
    "the last row is deleted": (
        "insert 40; create; refresh flush; DELETE FROM v WHERE t = 39; CHECKPOINT; reopen; insert 1; refresh; "
        "refresh pruned",
        ["0", NOT_APPENDED, "1"],
        True,
    ),
    "pruned without new rows": (
        "insert 40; create; prune; CHECKPOINT; refresh pruned; reopen; insert 7; refresh; prune; refresh pruned",
        ["0", "7", "0"],
        True,
    ),
    "as many rows as were deleted": (
        "insert 40; create; refresh flush; DELETE FROM v; CHECKPOINT; reopen; insert 40; refresh; refresh pruned",
        ["0", NOT_APPENDED, "40"],
        True,
    ),
    "a published row is updated": (
        "insert 40; create; refresh flush; DELETE FROM v WHERE t < 5; UPDATE v SET age = 1 WHERE t = 20; insert 6; "
        "refresh pruned",
        ["0", "6"],
        True,
    ),
    "pending rows are deleted": (
        "insert 40; create; DELETE FROM v WHERE t >= 38; CHECKPOINT; insert 6; refresh pruned; refresh",
        [NOT_APPENDED, NOT_APPENDED],
        False,
    ),
    "late rows without pruning": ("insert 40; create; late 5; refresh; insert 5; refresh", ["5", "5"], True),
    "late rows before pruning": (
        "insert 40; create; late 5; refresh; prune; CHECKPOINT; insert 5; refresh pruned",
        ["5", REFUSED],
        False,
    ),
    "late rows while nothing was pruned": ("insert 40; create; late 5; refresh pruned; refresh", [REFUSED, "5"], True),
    "an equal time after pruning": (
        "insert 40; create; prune; CHECKPOINT; equal 1; refresh pruned; insert 3; refresh pruned",
        [REFUSED, REFUSED],
        False,
    ),
    "equal times in one refresh": (
        "insert 40; equal 6; create; prune; CHECKPOINT; insert 3; equal 2; refresh pruned",
        ["5"],
        True,
    ),
    "unread rows are moved and inserted again": (
        "insert 40; create; late 5; refresh; prune; CHECKPOINT; insert 5; refresh pruned; "
        "CREATE TABLE other AS FROM v WHERE t >= 45; DELETE FROM v WHERE t >= 45; refresh pruned; "
        "INSERT INTO v FROM other; refresh; refresh flush",
        ["5", REFUSED, "0", "5", "0"],
        True,
    ),
}


@pytest.mark.parametrize("case", SEQUENCES)
def test_refresh_reads_every_row_once(tmp_path: Path, case: str) -> None:
    steps, expected, is_complete = SEQUENCES[case]
    visits = Visits(tmp_path / "v.duckdb")
    assert visits.run(steps) == expected
    if is_complete:
        visits.check_nothing_is_lost()
    visits.con.close()


@pytest.mark.parametrize("seed", range(6))
def test_refresh_after_random_sequences_loses_no_row(tmp_path: Path, seed: int) -> None:
    """Every refresh reads all added rows, or is refused with a message."""
    rng, visits = random.Random(seed), Visits(tmp_path / "v.duckdb")
    visits.run("insert 30; create")
    changes = ["prune", "CHECKPOINT", "reopen", "DELETE FROM v WHERE t % 7 = 3 AND x NOT IN "
               '(SELECT x FROM dbanon."waiting main.s") AND x IN (SELECT x FROM s)']  # fmt: skip
    for _ in range(5):
        visits.run("; ".join([*rng.sample(changes, rng.randrange(5)), f"insert {rng.randrange(1, 40)}"]))
        (read,) = visits.run("refresh")
        if read == NOT_APPENDED:
            (read,) = visits.run("refresh pruned")
        assert read.isdigit()
        visits.check_nothing_is_lost()
    visits.con.close()


TYPES = {
    "TIMESTAMPTZ": "to_timestamp(1700000000 + i / 1000)",
    "TIMESTAMP WITH TIME ZONE": "to_timestamp((i - 30) * 1e10)",
    "TIMESTAMP_NS": "make_timestamp_ns(1700000000000000000 + i)",
    "HUGEINT": "170141183460469231731687303715884005727::HUGEINT + i",
    "DECIMAL(38,2)": "i::DECIMAL(38,2) / 100",
    "DOUBLE": "1e300 * (i + 1)",
    "UUID": "lpad(i::VARCHAR, 32, '0')::UUID",
    "VARCHAR": "'it''s ' || lpad(i::VARCHAR, 9, '0')",
    "VARCHAR COLLATE NOCASE": "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'A' END || lpad(i::VARCHAR, 9, '0')",
    "INTERVAL": "to_seconds(i)",
    "BLOB": r"('\x00' || lpad(i::VARCHAR, 9, '0'))::BLOB",
}


@pytest.mark.parametrize("kind", TYPES)
def test_stream_mark_of_any_type_identifies_new_rows(tmp_path: Path, kind: str) -> None:
    visits = Visits(tmp_path / "v.duckdb", f"t {kind}, age INTEGER, x VARCHAR")
    visits.insert(30, TYPES[kind])
    visits.create()
    visits.run("prune; CHECKPOINT; reopen")
    visits.con.execute("SET GLOBAL TimeZone = 'Pacific/Chatham'")
    visits.insert(10, TYPES[kind])
    assert visits.run("refresh pruned") == ["10"]
    visits.check_nothing_is_lost()
    visits.con.close()


def test_stream_mark_compares_columns_in_given_order(tmp_path: Path) -> None:
    visits = Visits(tmp_path / "v.duckdb", "t INTEGER, age INTEGER, x VARCHAR, u INTEGER")
    rows = "SELECT {0} // 10, {0} * 7 % 10, 'd' || {0}, {0} % 10 FROM range({1}, {2}) AS r ({0})"
    visits.con.execute("INSERT INTO v " + rows.format("i", 0, 35))
    visits.create(order_by=["t", "u"])
    visits.run("prune; CHECKPOINT")
    visits.con.execute("INSERT INTO v " + rows.format("i", 35, 52))
    visits.added = 52
    assert visits.run("refresh pruned") == ["17"]
    visits.check_nothing_is_lost()
    visits.con.close()


def test_null_order_column_after_pruning_raises(tmp_path: Path) -> None:
    visits = Visits(tmp_path / "v.duckdb")
    visits.run("insert 40; create; prune; CHECKPOINT")
    visits.insert(1, "NULL")
    with pytest.raises(duckdb.Error, match="NULL"):
        streaming.refresh_stream(visits.con, "s", allow_deleted_rows=True)
    visits.con.close()


@pytest.mark.parametrize(
    ("first_steps", "later_steps", "expected"),
    [
        ("refresh", "insert 5; refresh; prune; CHECKPOINT; insert 5; refresh pruned", ["0", "5", "5"]),
        ("refresh", "prune; CHECKPOINT; insert 5; refresh pruned", ["0", "5"]),  # the last row is pending, in place
        ("refresh flush", "prune; CHECKPOINT; insert 5; refresh pruned; refresh", ["0", REFUSED, NOT_APPENDED]),
        ("refresh flush", "prune; CHECKPOINT; refresh pruned; insert 5; refresh", ["0", "0", "5"]),
    ],
)
def test_ledger_without_marks_continues_or_explains(
    tmp_path: Path, first_steps: str, later_steps: str, expected: list[str]
) -> None:
    """In the format of an earlier version: without the column, and with a hash of one row."""
    visits = Visits(tmp_path / "v.duckdb")
    done = visits.run(f"insert 40; create; {first_steps}")
    hash_of_row = "(SELECT md5(row(t, age, x)::VARCHAR) FROM v ORDER BY rowid DESC LIMIT 1)"
    visits.con.execute(f"UPDATE dbanon.stream SET last_hash = {hash_of_row}")
    visits.con.execute("ALTER TABLE dbanon.stream DROP COLUMN mark")
    visits.con.execute("UPDATE dbanon.schema_version SET version = 1")
    visits.reopen()
    assert done + visits.run(later_steps) == expected
    visits.con.close()


def test_moved_rows_with_equal_values_are_detected(tmp_path: Path) -> None:
    """One row is deleted and one with the values of the last row is added: the number of rows is unchanged."""
    visits = Visits(tmp_path / "v.duckdb")
    visits.run("INSERT INTO v VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (3, 3, 'c'), (3, 3, 'c')")
    visits.create(delta=3)
    visits.run("refresh flush; DELETE FROM v WHERE t = 1; CHECKPOINT; reopen; INSERT INTO v VALUES (3, 3, 'c')")
    assert visits.run("refresh") == [NOT_APPENDED]
    visits.con.close()


def test_stream_mark_of_other_format_is_none() -> None:
    mark = stream_marks.Mark(("t",), ("1",), ("a", "b"), 2)
    assert stream_marks.Mark.from_json(mark.to_json()) == mark
    assert stream_marks.Mark.from_json(json.dumps({**json.loads(mark.to_json()), "format": 0})) is None
    assert stream_marks.Mark.from_json(None) is None
