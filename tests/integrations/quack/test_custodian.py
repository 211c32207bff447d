"""The custodian's port has everything that a connection of dbanon has, for clients without it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.serving import Client, DbanonServer, clinic, free_port, needs_quack, serving, wait_until

import dbanon
from dbanon.integrations.quack import published_copy, tokens

pytestmark = pytest.mark.all_cases


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DbanonServer]:
    needs_quack()
    with serving(clinic(tmp_path_factory.mktemp("custodian") / "clinic.duckdb"), "custodian") as server:
        yield server


@pytest.fixture
def client(server: DbanonServer) -> Client:
    return Client(server)


def test_custodian_runs_functions_and_statements(client: Client) -> None:
    for call in ("kacpc('patients', k=5)", "kacpc('patients', k := 5)", "KACPC('patients', k => 5)"):
        assert client.rows(f"SELECT count(*), min(class_id) FROM {call}") == [(60, 1)]
    assert client.rows("SELECT role FROM dbanon.policy WHERE column_name = 'age'") == [("quasi",)]
    query = "CREATE OR REPLACE MATERIALIZED ANONYMIZED VIEW kept AS SELECT * FROM kacpc('patients', k=5)"
    assert client.rows(query)[0][:2] == ("kept", 1)
    assert client.rows("SELECT count(*) FROM kept") == [(60,)]
    assert client.rows("DROP MATERIALIZED ANONYMIZED VIEW kept") is not None
    assert client.rows("SELECT name FROM releases() WHERE status = 'published'") == [("safe",)]


def test_custodian_errors_equal_dbanon_errors(client: Client) -> None:
    error = client.error("FROM kacpc('patients', k=100)")
    assert error.removeprefix("Invalid Input Error: ").startswith("kacpc: k must be between 2 and 60")
    assert "kk" in client.error("FROM kacpc('patients', kk=5)")
    assert "syntax error" in client.error("SELEC 1")


def test_tables_written_by_statements_read_by_attach(client: Client) -> None:
    assert client.rows("CREATE OR REPLACE TABLE notes AS SELECT 1 AS a")
    assert client.rows("INSERT INTO notes VALUES (2), (3)") == [(2,)]
    client.con.execute(f"ATTACH '{client.server.uri}' AS clinic (TOKEN '{client.token}')")
    assert client.con.execute("SELECT a FROM clinic.notes WHERE a > 1 ORDER BY a").fetchall() == [(2,), (3,)]
    assert client.con.execute("SELECT count(*), max(disease) FROM clinic.patients").fetchall() == [(60, "cough")]
    with pytest.raises(duckdb.Error, match="Authorization failed"):
        client.con.execute("INSERT INTO clinic.notes VALUES (4)")
    assert client.rows("SELECT count(*) FROM notes") == [(3,)]


def test_session_transaction_is_isolated(client: Client) -> None:
    client.rows("CREATE OR REPLACE TABLE steps (a INTEGER)")
    client.con.execute(f"ATTACH '{client.server.uri}' AS c (TOKEN '{client.token}')")
    for statement in ("BEGIN", "INSERT INTO steps VALUES (1)"):
        client.con.execute(f"FROM c.query('{statement}')").fetchall()
    assert client.con.execute("FROM c.query('SELECT count(*) FROM steps')").fetchall() == [(1,)]
    assert client.rows("SELECT count(*) FROM steps") == [(0,)]
    client.con.execute("FROM c.query('ROLLBACK')").fetchall()
    assert client.con.execute("FROM c.query('SELECT count(*) FROM steps')").fetchall() == [(0,)]


def test_open_transaction_ends_with_session(client: Client) -> None:
    client.rows("CREATE OR REPLACE TABLE open_ended (a INTEGER)")
    client.rows("BEGIN; INSERT INTO open_ended VALUES (1)")
    wait_until(lambda: client.rows("SELECT count(*) FROM open_ended") == [(0,)])
    wait_until(lambda: client.rows("DROP TABLE IF EXISTS open_ended") is not None)


def test_reader_token_refused_on_custodian_port(server: DbanonServer) -> None:
    token = tokens.add_token(tokens.token_file(server.database), "alice", "reader")
    assert "Authentication failed" in Client(server, token).error("SELECT 1")


def test_call_encoded_as_json_is_answered(client: Client) -> None:
    call = {"function": "kacpc", "positional": {"tbl": "patients"}, "slots": ["(k = 5)"], "named": {}}
    assert client.rows(f"SELECT count(*) FROM dbanon_called('{json.dumps(call)}')") == [(60,)]


def test_readers_see_new_releases_during_custodian_session(tmp_path: Path) -> None:
    needs_quack()
    database = clinic(tmp_path / "clinic.duckdb")
    with serving(database, "custodian") as owner, serving(database, "reader") as readers:
        client, reader = Client(owner), Client(readers)
        assert reader.rows("SELECT name, version FROM releases()") == [("safe", 1)]
        client.rows("INSERT INTO patients SELECT 100 + i, 'x', 30, 'F', 'flu' FROM range(10) AS r (i)")
        client.rows("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
        wait_until(lambda: reader.rows("SELECT name, version FROM releases()") == [("safe", 2)])
        assert reader.rows("SELECT count(*) FROM safe") == [(70,)]
        assert "readers may run" in reader.error("FROM patients")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_shutdown_finishes_or_skips_release(tmp_path: Path, number: signal.Signals) -> None:
    needs_quack()
    database = clinic(tmp_path / "clinic.duckdb")
    published_copy.prepare_folder(published_copy.copy_folder(database))
    server = DbanonServer(database, "custodian")
    client = Client(server)
    client.rows("INSERT INTO patients SELECT 100 + i, 'x', 20 + i % 60, 'F', 'flu' FROM range(20000) AS r (i)")
    query = "CREATE OR REPLACE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k=5)"
    result: list[Any] = []
    asking = threading.Thread(target=lambda: result.extend(client.rows(query)))
    asking.start()
    time.sleep(0.5)
    assert not result, "the release is made too quickly for this test"
    server.process.send_signal(number)
    assert server.process.wait(60) == 0
    server.stop()
    asking.join()
    assert [row[:3] for row in result] == [("safe", 2, 20060)]
    with dbanon.connect(database) as con:
        assert con.execute("SELECT version, status FROM releases() ORDER BY version").fetchall()[-1] == (2, "published")
        assert con.execute("SELECT count(*) FROM safe").fetchall() == [(20060,)]
        assert con.execute("FROM release_status()").fetchall()
    copies = published_copy.current_copy(published_copy.copy_folder(database))
    assert copies is not None
    with duckdb.connect(str(copies.path), read_only=True) as copy:
        assert copy.execute("SELECT version FROM releases()").fetchall() == [(2,)]


def test_script_receives_address_as_json(tmp_path: Path) -> None:
    needs_quack()
    database, port = clinic(tmp_path / "clinic.duckdb"), free_port()
    command = [sys.executable, "-m", "dbanon", "serve", str(database), "--role", "custodian", "--json"]
    child = subprocess.Popen([*command, "--listen", f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    message = ""
    try:
        while not message.rstrip().endswith("}"):
            line = child.stdout.readline()
            assert line, message
            message += line
    finally:
        child.terminate()
        child.communicate(timeout=30)
    document = json.loads(message)
    assert (document["role"], document["host"], document["port"]) == ("custodian", "127.0.0.1", port)
    assert document["database"] == str(database) and document["log"] == f"{database}.log.jsonl"
