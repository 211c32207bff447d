"""Requests of readers for releases: the first request creates a release, later ones get the same one.

No further release is made that has not been compared with the earlier ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.serving import SECRETS, Client, DbanonServer, clinic, needs_quack, run_concurrently, serving, wait_until

import dbanon
from dbanon.integrations.quack import copy_process, published_copy, request_files, tokens
from dbanon.integrations.quack.request_files import RequestFile

pytestmark = pytest.mark.all_cases


def clinic_with_permissions(path: Path, *rows: str) -> Path:
    """Create the clinic with visits and permissions: `source, algorithms, k, parameters, reader, max_requests`."""
    with dbanon.connect(clinic(path)) as con:
        con.execute("CREATE TABLE visits AS SELECT i AS vid, i % 11 AS hour FROM range(80) AS r (i)")
        con.execute(
            "INSERT INTO dbanon.policy (table_name, column_name, role) "
            "VALUES ('visits', 'vid', 'person'), ('visits', 'hour', 'quasi')"
        )
        for row in rows:
            con.execute(f"INSERT INTO dbanon.permission VALUES ({row})")
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DbanonServer]:
    needs_quack()
    database = clinic_with_permissions(
        tmp_path_factory.mktemp("grants") / "clinic.duckdb",
        "'visits', ['kacpc', 'mondrian'], 10, '{}', '*', 3",
        "'patients', ['kacpc'], 5, '{\"l\": 2}', 'somebody_else', 10",
    )
    tokens.add_token(tokens.token_file(database), "bob", "custodian")
    with serving(database, "reader") as server:
        yield server


@pytest.fixture
def client(server: DbanonServer) -> Client:
    return Client(server)


def query_rows(database: Path, statement: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True) as con:
        return con.execute(statement).fetchall()


ASKED = (
    "SELECT algorithm, source, parameters, reader, name, refusal IS NOT NULL FROM dbanon.release_request ORDER BY ALL"
)


def test_repeated_request_reuses_first_release(server: DbanonServer, client: Client) -> None:
    assert client.rows("FROM permissions()") == [("visits", ["kacpc", "mondrian"], 10, "{}")]
    first = sorted(client.rows("FROM kacpc('visits', k=20)"))
    assert len(first) == 80
    with dbanon.connect(server.database) as con:
        con.execute("INSERT INTO visits SELECT 100 + i, i % 11 FROM range(40) AS r (i)")
    for call in (
        "kacpc('visits', k=20)",
        "kacpc('visits', k := 20)",
        "KACPC('VISITS', k => 20.0)",
        "kacpc(tbl := 'visits', k = 20, l = NULL)",
        "(SELECT p.* FROM kacpc('visits', k=20) AS p)",
        "kacpc('visits', k=20) AS p (a, b) WHERE p.b > 0",
    ):
        assert sorted(client.rows(f"FROM {call}")) == first
    in_classes = "SELECT count(DISTINCT kacpc.class_id), (SELECT count(*) FROM kacpc_classes('visits', k=20))"
    ((records, classes),) = client.rows(f"{in_classes} FROM kacpc('visits', k=20)")
    assert records == classes > 1
    assert client.rows("SELECT value FROM kacpc_metrics('visits', k=20) WHERE metric = 'k'")[0][0] >= 20
    assert [line[0] for line in client.rows("DESCRIBE FROM kacpc('visits', k=20)")] == ["hour", "class_id"]
    assert client.rows("FROM releases() WHERE schema_name = 'asked'") == [("asked", "kacpc_visits_k20", 1, 80)]
    assert sorted(client.rows("FROM asked.kacpc_visits_k20")) == first
    assert query_rows(server.database, ASKED) == [
        ("kacpc", "visits", '{"k": 20}', "some_reader", "kacpc_visits_k20", False)
    ]
    assert "some_reader" in [line["who"] for line in server.log]


def test_composing_request_refused_and_attempts_limited(server: DbanonServer, client: Client) -> None:
    client.rows("FROM kacpc('visits', k=20)")
    for _ in range(2):
        error = client.error("FROM mondrian('visits', k=11)")
        assert "mondrian('visits', k=11) cannot be released" in error
        assert "Existing releases: kacpc('visits', k=20)." in error
        assert "hour" not in error and "persons" not in error
    assert query_rows(server.database, ASKED)[-1] == ("mondrian", "visits", '{"k": 11}', "some_reader", None, True)
    ((why,),) = query_rows(server.database, "SELECT refusal FROM dbanon.release_request WHERE algorithm = 'mondrian'")
    assert "asked.kacpc_visits_k20 version 1" in why
    assert "cannot be released" in client.error("FROM mondrian('visits', k=12)")
    assert "at most 3 different releases of 'visits'" in client.error("FROM mondrian('visits', k=13)")  # the fourth
    assert (server.log[-1]["event"], server.log[-1]["why"]) == ("refused", "RequestLimitReachedError")
    assert len(query_rows(server.database, ASKED)) == 3
    with dbanon.connect(server.database) as con:
        con.execute("DELETE FROM dbanon.release_request WHERE algorithm = 'mondrian'")


REFUSED = {
    "FROM kacpc('patients', k=5)": "kacpc('patients', k=5): readers may ask only for permitted releases, here "
    "kacpc or mondrian of 'visits' with k >= 10. Hint: FROM releases() lists the existing ones; ask the custodian "
    "of the data (bob) for a row in dbanon.permission.",
    "FROM kacpc('no_such_table', k=5)": "kacpc('no_such_table', k=5): readers may ask only for permitted",
    "FROM kacpc('visits', k=9)": "kacpc('visits', k=9): readers may ask",
    "FROM best('visits', k=20)": "best('visits', k=20): readers may ask",
    "FROM kacpc('visits', k=20, qi=['hour'])": "qi must be a literal number or text",
    "FROM kacpc('visits', k=20, seed=7)": "The parameter 'seed' of kacpc",
    "FROM kacpc('visits', k='20')": "k must be an integer",
    "FROM kacpc('visits', k=1e999)": "k must be an integer",
    "FROM kacpc('visits', k=20.5)": "k must be an integer",
    "FROM kacpc('visits', k=20, k=30)": "k",
    "FROM kacpc('visits', 20)": "cannot read the argument",
    "FROM kacpc(visits, k=20)": "tbl must be",
    "FROM kacpc()": "tbl is missing",
    "FROM kacpc((SELECT name FROM patients), k=20)": "tbl must be",
    "FROM main.kacpc('visits', k=20)": "readers may run one SELECT",
    "FROM inference('visits')": "readers may run one SELECT",
    "SELECT kacpc('visits')": "readers may run one SELECT",
    "FROM permissions('x')": "readers may run one SELECT",
    "FROM dbanon.permitted_to('somebody_else')": "readers may run one SELECT",
    "FROM permitted_to('somebody_else')": "readers may run one SELECT",
    "FROM dbanon.permitted": "readers may run one SELECT",
    "FROM dbanon_called('{}')": "A call that cannot be read",
    'FROM dbanon_called(\'{"function": "read_text", "positional": {"tbl": "/etc/passwd"}}\')': "readers may run one",
    "SELECT name FROM patients, kacpc('visits', k=30)": "readers may run one SELECT",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_unpermitted_request_names_contacts(server: DbanonServer, client: Client, statement: str) -> None:
    previous = query_rows(server.database, ASKED)
    assert REFUSED[statement] in client.error(statement)
    assert query_rows(server.database, ASKED) == previous
    assert not request_files.has_requests(published_copy.copy_folder(server.database))
    last = server.log[-1]
    assert last["event"] in ("refused", "failed") and last["who"] == "some_reader"
    if "kacpc('" in statement and statement.startswith("FROM kacpc"):
        assert "kacpc" in last["functions"]


def test_concurrent_requests_share_one_release(tmp_path: Path) -> None:
    needs_quack()
    database = clinic_with_permissions(tmp_path / "clinic.duckdb", "'visits', ['best'], 10, '{}', '*', 10")
    with serving(database, "reader", "--statement-timeout", "120") as server:
        result = run_concurrently(12, lambda: Client(server).rows("FROM best('visits', k=10) ORDER BY ALL"))
        actual_rows = [rows for rows in result if not isinstance(rows, duckdb.Error)]
        assert len(actual_rows) >= request_files.MAX_REQUESTS and all(rows == actual_rows[0] for rows in actual_rows)
        assert all("try again" in str(error) for error in result if isinstance(error, duckdb.Error))
        assert len(query_rows(database, ASKED)) == 1
    assert "asked for by some_reader: it is published as asked.best_visits_k10" in server.said


def test_custodian_process_fulfils_reader_requests(tmp_path: Path) -> None:
    needs_quack()
    database = clinic_with_permissions(tmp_path / "clinic.duckdb", "'visits', ['kacpc'], 10, '{}', 'some_reader', 10")
    with serving(database, "custodian") as owner, serving(database, "reader") as readers:
        custodian, reader = Client(owner), Client(readers)
        rows = reader.rows("FROM kacpc('visits', k=10)")
        assert len(rows) == 80
        assert custodian.rows("SELECT name, reader FROM dbanon.release_request") == [
            ("kacpc_visits_k10", "some_reader")
        ]
        custodian.rows("DELETE FROM dbanon.permission")
        wait_until(lambda: reader.rows("FROM permissions()") == [])
        assert "here nothing" in reader.error("FROM kacpc('visits', k=10)")
        assert len(reader.rows("FROM asked.kacpc_visits_k10")) == 80
        custodian.rows("INSERT INTO dbanon.permission (source, algorithms, k) VALUES ('visits', ['kacpc'], 10)")
        custodian.rows("DROP MATERIALIZED ANONYMIZED VIEW asked.kacpc_visits_k10")
        wait_until(lambda: reader.rows("SELECT name FROM releases()") == [("safe",)])
        assert "cannot be released" in reader.error("FROM kacpc('visits', k=10)")


def _request_text(**parts: object) -> str:
    return json.dumps({"reader": "alice", "algorithm": "kacpc", "source": "visits", "parameters": {"k": 10}} | parts)


def test_custodian_process_checks_permission_of_request_file(tmp_path: Path) -> None:
    database = clinic_with_permissions(tmp_path / "clinic.duckdb", "'visits', ['kacpc'], 10, '{}', 'alice', 10")
    folder = published_copy.copy_folder(database)
    published_copy.prepare_folder(folder)
    for request in (
        RequestFile("mallory", "kacpc", "visits", {"k": 10}),
        RequestFile("alice", "kacpc", "visits", {"k": 2}),
        RequestFile("alice", "kacpc", "patients", {"k": 10}),
        RequestFile("alice", "kacpc", "visits", {"qi": []}),
    ):
        assert request_files.write_request(folder, request) is not None
    assert request_files.write_request(folder, RequestFile("alice", "kacpc", "visits", {"k": 11})) is None
    done = copy_process.run_copy_process(database, folder)
    assert len(done["made"]) == 4 and all("readers may ask" in message for message in done["made"])
    assert not request_files.has_requests(folder) and query_rows(database, ASKED) == []
    for number, spoiled in enumerate(
        ("{", "[]", '{"reader": "alice"}', _request_text(source=[1]), _request_text(parameters=[]))
    ):
        (folder / f"ask-spoiled{number}.json").write_text(spoiled)
    (folder / "ask-unknown.json").write_text(_request_text(algorithm="read_text"))
    assert copy_process.run_copy_process(database, folder)["made"][0].startswith(
        "alice asked for read_text of 'visits': 'read_text'"
    )
    assert not request_files.has_requests(folder) and query_rows(database, ASKED) == []
    request_files.write_request(folder, RequestFile("alice", "kacpc", "visits", {"k": 11}))
    assert copy_process.run_copy_process(database, folder)["made"] == [
        "kacpc('visits', k=11), asked for by alice: it is published as asked.kacpc_visits_k11"
    ]
    copies = published_copy.current_copy(folder)
    assert copies is not None
    content = copies.path.read_bytes()
    for secret in (*SECRETS, "somebody 5"):
        assert secret.encode() not in content


def test_copy_process_reports_ineffective_permission(tmp_path: Path) -> None:
    database = clinic_with_permissions(
        tmp_path / "clinic.duckdb",
        "'visits', ['kacpcc'], 10, '{}', '*', 10",
        "'visits', ['best'], 10, '[1]', '*', 10",
        "'visits', ['best'], 10, '{\"k\": 3}', '*', 10",
        "'visits', ['best'], 10, '{\"l\": \"2\"}', '*', 10",
    )
    folder = published_copy.copy_folder(database)
    published_copy.prepare_folder(folder)
    left_out = json.dumps(copy_process.run_copy_process(database, folder)["left_out"])
    for message in ("Did you mean 'kacpc'?", "must be a JSON object", "k is a separate column", "l must be a number"):
        assert message in left_out
