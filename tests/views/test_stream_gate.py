"""Rows written by a refresh of a streaming view are read back; differences from the published records are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dbanon
from dbanon import errors
from dbanon.views import stream_refresh, streaming

COLUMNS = "ts INTEGER, age INTEGER, disease VARCHAR"
CALL: dict[str, Any] = {"k": 3, "delta": 12, "order_by": ["ts"], "qi": ["age"], "sensitive": ["disease"]}
STEP = str(stream_refresh._STEP)
WAITING = 'dbanon."waiting main.safe"'
STREAM = "UPDATE dbanon.stream SET"


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    connection.execute(f"CREATE TABLE events ({COLUMNS})")
    insert_rows(connection, 0, 40)
    streaming.create_stream(connection, "safe", "castle", "events", **CALL)
    insert_rows(connection, 40, 80)
    yield connection
    connection.close()


def insert_rows(con: Any, first: int, last: int) -> None:
    rows = f"SELECT i, 20 + i * 7 % 30, ['Flu', 'HIV', 'Cold'][1 + i % 3] FROM range({first}, {last}) AS r (i)"
    con.execute(f"INSERT INTO events {rows}")


def run_after(function_name: str, wrong: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Run one more statement after a function of `stream_refresh` has written its tables."""
    real = getattr(stream_refresh, function_name)

    def run_wrong_statement(cursor: Any, *given: Any) -> Any:
        result = real(cursor, *given)
        cursor.execute("USE memory")
        cursor.execute(wrong)
        return result

    return lambda monkeypatch: monkeypatch.setattr(stream_refresh, function_name, run_wrong_statement)


LAST = "(SELECT max(rowid) FROM safe)"
GREATEST = "class_id = (SELECT max(class_id) FROM safe_classes)"
WRONG = {
    "a row more": ("_publish", "INSERT INTO safe FROM (FROM safe LIMIT 1)"),
    "a row less": ("_publish", f"DELETE FROM safe WHERE rowid = {LAST}"),
    "another value": ("_publish", f"UPDATE safe SET disease = 'TB' WHERE rowid = {LAST}"),
    "another class": ("_publish", f"UPDATE safe SET class_id = 1 WHERE rowid = {LAST}"),
    "a pending record": ("_publish", "INSERT INTO safe VALUES (NULL, NULL, NULL, NULL)"),
    "an empty row in place of one": (
        "_publish",
        f"UPDATE safe SET (age, disease, class_id, suppressed) = (NULL, NULL, NULL, NULL) WHERE rowid = {LAST}",
    ),
    "a class of one more": ("_publish", f"UPDATE safe_classes SET size = size + 1 WHERE {GREATEST}"),
    "a class less": ("_publish", f"DELETE FROM safe_classes WHERE {GREATEST}"),
    "one waits no more": ("_update_pending", f"DELETE FROM {WAITING} WHERE ts = (SELECT max(ts) FROM {WAITING})"),
    "one waits twice": ("_update_pending", f"INSERT INTO {WAITING} FROM (FROM {WAITING} LIMIT 1)"),
    "one has arrived more": ("_update_ledger", f"{STREAM} arrived = arrived + 1"),
    "one is published less": ("_update_ledger", f"{STREAM} published = published - 1, waiting = waiting + 1"),
    "a row is read less": ("_update_ledger", f"{STREAM} last_row = last_row - 1"),
    "a row is read again": ("_update_ledger", f"{STREAM} last_row = last_row + 1, arrived = arrived + 1"),
}  # fmt: skip


@pytest.mark.all_cases
@pytest.mark.parametrize("wrong", WRONG)
def test_stream_refresh_refuses_wrongly_written_rows(con: Any, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    old_rows = con.execute("FROM safe").fetchall()
    run_after(*WRONG[wrong])(monkeypatch)
    with pytest.raises(errors.GateRefusedError, match=r"refresh_stream: the release gate refused the result"):
        streaming.refresh_stream(con, "safe")
    assert con.execute("FROM safe").fetchall() == old_rows
    monkeypatch.undo()
    assert streaming.refresh_stream(con, "safe").read == 40


def test_stream_refresh_refuses_rows_in_arrival_order(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def publish_in_order(cursor: Any, grows: Any, statement: Any, *given: Any) -> Any:
        result = real(cursor, grows, statement, *given)
        cursor.execute("USE memory")
        cursor.execute("DELETE FROM safe WHERE rowid > ?", [first])
        columns = ", ".join(f'"{name}"' for name in (*statement.column_names, statement.added_names["suppressed"]))
        remaining_text = f"{STEP} WHERE suppressed IS NOT NULL ORDER BY class_id ASC, arrived_at ASC"
        cursor.execute(f"INSERT INTO safe SELECT {columns} FROM {remaining_text}")
        return result

    real = stream_refresh._publish
    first = con.execute("SELECT max(rowid) FROM safe").fetchall()[0][0]
    monkeypatch.setattr(stream_refresh, "_publish", publish_in_order)
    with pytest.raises(errors.GateRefusedError, match="rows of the view that are in the order of their arrival"):
        streaming.refresh_stream(con, "safe")
