"""A reader gets published rows only, from a process that has nothing else, whatever they try."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.serving import SECRETS, Client, DbanonServer, clinic, needs_quack, run_concurrently, serving, wait_until

import dbanon
from dbanon.integrations.quack import tokens

SLOW = "SELECT count(*) FROM " + ", ".join(f"safe AS s{i}" for i in range(7))
"""A statement that does not end by itself."""

pytestmark = pytest.mark.all_cases


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DbanonServer]:
    needs_quack()
    database = clinic(tmp_path_factory.mktemp("readers") / "clinic.duckdb")
    old_digest = hashlib.sha256(database.read_bytes()).hexdigest()
    with serving(database, "reader", "--statement-timeout", "3", "--max-rows", "5000", "--memory", "300MB") as server:
        yield server
    assert hashlib.sha256(database.read_bytes()).hexdigest() == old_digest, "serving readers changed the database"


@pytest.fixture
def client(server: DbanonServer) -> Client:
    return Client(server)


def test_reader_queries_release_with_scalar_functions(client: Client) -> None:
    assert client.rows("FROM releases()") == [("main", "safe", 1, 60)]
    (row,) = client.rows(
        "SELECT count(*), count(DISTINCT class_id), sum(midpoint(age)) > 0, bool_or(covers(age, 30)), "
        "sum(share_within(age, 20, 40)) > 0 FROM safe"
    )
    assert row[0] == 60 and row[1] <= 12 and all(row[2:])
    assert client.rows("SELECT value FROM certificate('safe') WHERE (section, item) = ('parameters', 'k')") == [("5",)]
    assert len(client.rows("FROM safe_classes")) == row[1]
    assert [line[0] for line in client.rows("DESCRIBE safe")] == ["age", "sex", "disease", "class_id"]


def test_reader_result_keeps_column_names_and_types(client: Client) -> None:
    relation = client.con.sql(
        "FROM quack_query($uri, $$SELECT 1 AS \"a b\", 2 AS c, DATE '2020-01-01' AS d, [1.5] AS l, {'x': 'y'} "
        "AS s, 5::HUGEINT AS h, INTERVAL 3 MONTH AS i, NULL AS n, TIMESTAMP '2020-01-01' AS t, '\\xAA'::BLOB AS b$$, "
        "token := $token)",
        params={"uri": client.server.uri, "token": client.token},
    )
    assert relation.columns == ["a b", "c", "d", "l", "s", "h", "i", "n", "t", "b"]
    assert [str(t) for t in relation.types] == [
        "INTEGER", "INTEGER", "DATE", "DECIMAL(2,1)[]", "STRUCT(x VARCHAR)", "HUGEINT", "INTERVAL", "INTEGER",
        "TIMESTAMP", "BLOB",
    ]  # fmt: skip
    assert client.rows("SELECT 1 AS a, 2 AS a") == [(1, 2)]


def test_attached_server_lists_only_published_tables(client: Client) -> None:
    client.con.execute(f"ATTACH '{client.server.uri}' AS clinic (TOKEN '{client.token}')")
    assert client.con.execute("SELECT count(*) FROM clinic.safe WHERE sex = 'F'").fetchall()[0][0] > 0
    client.con.execute("USE clinic")
    for name, ending in (("safe", ""), ("safe", "_certificate"), ("safe", "_classes"), ("safe", "_metrics")):
        assert client.con.execute(f"FROM {name}{ending}").fetchall() == client.rows(f"FROM {name}{ending}")
    client.con.execute("USE memory")
    assert client.con.execute("FROM clinic.query('SELECT max(class_id) > 0 FROM safe')").fetchall() == [(True,)]
    for statement in (
        "FROM clinic.patients",
        "FROM clinic.dbanon.membership",
        "INSERT INTO clinic.safe VALUES ('1', 'F', 'flu', 1)",
        "INSERT INTO clinic.safe_metrics SELECT 'x', 1, 'x', 'x' FROM range(5000)",
        "CREATE TABLE clinic.mine AS SELECT 1 AS a",
        "DROP TABLE clinic.safe",
        "DELETE FROM clinic.safe",
        "UPDATE clinic.safe SET sex = 'F'",
    ):
        with pytest.raises(duckdb.Error):
            client.con.execute(statement).fetchall()
    assert client.rows("SELECT count(*) FROM safe") == [(60,)]


ATTEMPTS = """
FROM patients
FROM main.patients
FROM clinic.patients
FROM "clinic.duckdb"
FROM 'clinic.duckdb'
FROM dbanon.membership
FROM dbanon.served
FROM read_csv('/etc/passwd')
FROM read_text('{database}')
FROM read_blob('{database}')
FROM read_parquet('{database}')
FROM '/etc/passwd'
FROM glob('{folder}/*')
FROM query('FROM read_text(''/etc/passwd'')')
FROM query_table('duckdb_settings')
COPY safe TO '{folder}/stolen.csv'
COPY (SELECT 1) TO '{folder}/stolen.csv'
EXPORT DATABASE '{folder}/stolen'
ATTACH '{database}' AS c
INSTALL httpfs
LOAD httpfs
PRAGMA database_list
PRAGMA enable_profiling
SET enable_external_access = true
SET lock_configuration = false
SET memory_limit = '100GB'
SET GLOBAL quack_authorization_function = 'quack_nop_authorization'
RESET quack_authentication_function
CALL quack_stop('quack:127.0.0.1:9494')
FROM quack_active_connections()
FROM quack_server_list()
FROM quack_query('quack:127.0.0.1:1', 'SELECT 1')
SELECT getenv('SECRET_OF_THE_MACHINE')
SELECT current_setting('secret_directory')
FROM duckdb_settings()
FROM duckdb_secrets()
FROM duckdb_databases()
FROM duckdb_views()
FROM information_schema.tables
FROM information_schema.schemata
CREATE VIEW v AS FROM safe
CREATE MACRO m() AS TABLE FROM read_text('/etc/passwd')
CREATE TEMP TABLE t AS FROM safe
PREPARE p AS FROM read_text('/etc/passwd')
EXECUTE p
SELECT 1; FROM read_text('/etc/passwd')
FROM safe; DROP TABLE safe
/* SELECT 1 */ FROM read_text('/etc/passwd')
FROM "read_text"('/etc/passwd')
SELECT * FROM safe WHERE EXISTS (SELECT 1 FROM "Patients")
SELECT (SELECT content FROM read_text('/etc/passwd'))
SELECT dbanon_ask('x', 'FROM patients')
SELECT dbanon_admit('x', 'y', 'z')
FROM arriving
FROM con
FROM memory.main.answer_1
INSERT INTO safe VALUES (NULL)
INSERT INTO main.safe VALUES (NULL)
INSERT INTO "memory"."main"."answer_1" VALUES (NULL)
EXPLAIN FROM safe
EXPLAIN ANALYZE FROM safe
BEGIN
CHECKPOINT
SELECT name FROM patients
""".strip().split("\n")


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_reader_statements_reach_only_published_tables(client: Client, attempt: str) -> None:
    folder = client.server.database.parent
    old_names = sorted(path.name for path in folder.iterdir())
    error = client.error(attempt.format(database=client.server.database, folder=folder))
    assert "readers may run one SELECT" in error or "Authorization failed" in error
    for word in ("root:", "xyzzy", str(folder) if "{" not in attempt else "xyzzy", SECRETS[1]):
        assert word not in error
    assert sorted(path.name for path in folder.iterdir()) == old_names
    assert client.rows("SELECT count(*) FROM safe") == [(60,)]


def test_reader_errors_contain_no_server_paths(client: Client) -> None:
    for statement, result in {
        "SELECT nothing FROM safe": "nothing",
        "SELECT age::INTEGER FROM safe WHERE age LIKE '[%'": "Could not convert string",
        "SELECT 1 +": "cannot be parsed",
        "SELECT abs('x', 2, 3)": "abs",
        "SELECT strptime('x', '%Y')": "Could not parse",
    }.items():
        error = client.error(statement)
        assert result in error
        for word in (str(client.server.database.parent), "releases-", ".duckdb", "Traceback", "python"):
            assert word not in error


def test_slow_or_large_statement_ends_without_affecting_others(client: Client) -> None:
    began = time.monotonic()
    assert "longer than 3 seconds" in client.error(
        "SELECT count(*) FROM " + ", ".join(f"safe AS s{i}" for i in range(6))
    )
    assert time.monotonic() - began < 8
    assert "more than 5000 rows" in client.error("SELECT a.age FROM safe AS a, safe AS b, safe AS c")
    long = "WITH a AS (SELECT string_agg(age, ',') AS x FROM safe)"
    assert "more memory than the server allows" in client.error(
        f"{long} SELECT len(list(x || s0.age || s1.age)) FROM a, safe AS s0, safe AS s1, safe AS s2, safe AS s3"
    )
    assert client.rows("SELECT count(*) FROM safe") == [(60,)]


def test_hundred_concurrent_sessions_are_answered(client: Client) -> None:
    slow = threading.Thread(target=lambda: run_concurrently(3, lambda: Client(client.server).error(SLOW)))
    slow.start()
    values = [client.server.uri, "SELECT count(*) FROM safe", client.token]
    query = "FROM quack_query(?, ?, token := ?)"
    result = run_concurrently(100, lambda: client.con.cursor().execute(query, values).fetchall())
    slow.join()
    assert result == [[(60,)]] * 100


def test_wrong_tokens_rejected_slowly(server: DbanonServer) -> None:
    tokens.add_token(tokens.token_file(server.database), "boss", "custodian")
    for wrong in ("wrong", "", server.token + "x", tokens.read_tokens(tokens.token_file(server.database))[0].hash):
        began = time.monotonic()
        assert "Authentication failed" in Client(server, wrong or "    ").error("SELECT 1")
        assert time.monotonic() - began > 0.1
    began = time.monotonic()
    assert Client(server).rows("SELECT 1") == [(1,)]
    assert "Authentication failed" in Client(server, "wrong again").error("SELECT 1")
    assert time.monotonic() - began > 0.5


def test_custodian_token_refused_on_reader_port(server: DbanonServer) -> None:
    token = tokens.add_token(tokens.token_file(server.database), "another_boss", "custodian")
    assert "Authentication failed" in Client(server, token).error("SELECT 1")


def test_revoked_token_ends_its_sessions(server: DbanonServer) -> None:
    token = tokens.add_token(tokens.token_file(server.database), "for_a_while", "reader")
    client = Client(server, token)
    client.con.execute(f"ATTACH '{server.uri}' AS clinic (TOKEN '{token}')")
    assert client.con.execute("FROM clinic.query('SELECT 1')").fetchall() == [(1,)]
    tokens.revoke_token(tokens.token_file(server.database), "for_a_while")
    with pytest.raises(duckdb.Error, match="Authorization failed"):
        client.con.execute("FROM clinic.query('SELECT 1')").fetchall()
    assert "Authentication failed" in client.error("SELECT 1")


def test_sessions_and_refusals_are_logged_without_values(server: DbanonServer, client: Client) -> None:
    client.error("SELECT getvariable('Lancelot') FROM safe WHERE age = 'Lancelot'")
    client.error("FROM Lancelot")
    client.error("SELECT age::INTEGER FROM safe WHERE age <> 'Lancelot'")
    Client(server, "Lancelot").error("SELECT 1")
    lines = server.log[-8:]
    values = [(line["event"], line["who"], line.get("functions"), line.get("why")) for line in lines]
    assert ("session", "some_reader", None, None) in values
    assert ("refused", "some_reader", ["getvariable"], "The function") in values
    assert ("refused", "some_reader", None, "The table") in values
    assert any(event == "failed" and why == "ConversionException" for event, _, _, why in values)
    assert values[-1][:2] == ("wrong token", None)
    text = server.database.with_name("clinic.duckdb.log.jsonl").read_text(encoding="utf-8")
    assert "Lancelot" not in text and server.token not in text
    assert server.database.with_name("clinic.duckdb.log.jsonl").stat().st_mode & 0o077 == 0


def test_answering_process_lacks_database_and_environment(server: DbanonServer) -> None:
    one_path = Path(f"/proc/{server.child()}")
    stored_texts = [str(path.readlink()) for path in (one_path / "fd").iterdir() if path.is_symlink()]
    assert not [path for path in stored_texts if path.endswith("clinic.duckdb")]
    assert [path for path in stored_texts if "releases-" in path]
    assert b"xyzzy" not in (one_path / "environ").read_bytes()
    for pid in (server.process.pid, server.child()):
        assert not [s for s in SECRETS if s.encode() in _writable_memory(pid)]


def _writable_memory(pid: int) -> bytes:
    """Return the writable memory of a process."""
    contents = []
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
            place, mode = line.split()[:2]
            start, end = (int(part, 16) for part in place.split("-"))
            if mode.startswith("rw") and end - start < 2**28:
                memory.seek(start)
                try:
                    contents.append(memory.read(end - start))
                except OSError:
                    continue
    return b"".join(contents)


def test_killed_answering_process_is_restarted(server: DbanonServer) -> None:
    old = server.child()
    os.kill(old, signal.SIGKILL)

    wait_until(lambda: _is_answering(server))
    assert server.child() != old


def _is_answering(server: DbanonServer) -> bool:
    try:
        return Client(server).rows("SELECT count(*) FROM safe") == [(60,)]
    except duckdb.Error:
        return False


def test_uninterruptible_request_logged_with_reader(tmp_path: Path) -> None:
    needs_quack()
    with serving(clinic(tmp_path / "clinic.duckdb"), "reader", "--statement-timeout", "0.5") as server:
        old = server.child()
        long = "SELECT string_agg(a.age, '') AS x FROM safe AS a, safe AS b, safe AS c"
        Client(server).error(f"SELECT levenshtein(x, x || 'y') FROM ({long})")
        wait_until(lambda: _is_answering(server))
        assert server.child() != old
        values = [(line["event"], line["who"], line.get("why")) for line in server.log]
        assert ("gave up", "some_reader", "time") in values
    assert "is started again" in server.said


def test_deeply_nested_statements_do_not_crash_server(server: DbanonServer, client: Client) -> None:
    old = server.child()
    for statement in (
        "SELECT " + "(" * 40_000 + "1" + ")" * 40_000,
        "SELECT " + "- " * 40_000 + "1",
        "FROM " + "(FROM " * 3000 + "safe" + ")" * 3000,
        "SELECT " + "1 + " * 20_000 + "1",
        "SELECT " + "abs(" * 150 + "1" + ")" * 150,
        "SELECT " + "CASE WHEN true THEN " * 900 + "1" + " END" * 900,
        "SELECT 1 " + "UNION ALL SELECT 1 " * 3000,
    ):
        try:
            client.rows(statement)
        except duckdb.Error:
            assert client.rows("SELECT count(*) FROM safe") == [(60,)]
    assert server.child() == old


@pytest.mark.filterwarnings("ignore::dbanon.errors.warnings.DisclosureWarning")  # a copy is about the same people
def test_new_version_served_without_interruption(tmp_path: Path) -> None:
    needs_quack()
    database = clinic(tmp_path / "clinic.duckdb")
    with serving(database, "reader") as server:
        client, child = Client(server), server.child()
        assert client.rows("FROM releases()") == [("main", "safe", 1, 60)]
        with dbanon.connect(database) as con:
            con.execute("INSERT INTO patients SELECT 100 + i, 'x', 30, 'F', 'flu' FROM range(10) AS r (i)")
            con.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
            con.execute("CREATE TABLE others AS FROM patients")
            con.execute("UPDATE dbanon.policy SET table_name = 'others'")
            con.execute("CREATE MATERIALIZED ANONYMIZED VIEW more AS SELECT * FROM mondrian('others', k=10)")
        wait_until(lambda: client.rows("FROM releases()") == [("main", "more", 1, 70), ("main", "safe", 2, 70)])
        assert server.child() == child
        with dbanon.connect(database) as con:
            con.execute("DROP MATERIALIZED ANONYMIZED VIEW safe")
        wait_until(lambda: client.rows("SELECT name FROM releases()") == [("more",)])
        assert "The table" in client.error("FROM safe")


def test_sigterm_finishes_running_statements(tmp_path: Path) -> None:
    needs_quack()
    database = clinic(tmp_path / "clinic.duckdb")
    with serving(database, "reader", "--statement-timeout", "90") as server:
        client = Client(server)
        result: list[Any] = []
        text = ", ".join(f"safe AS s{i}" for i in range(5))
        slow = f"SELECT count(*) FROM {text}, (FROM safe LIMIT 20) AS t WHERE s0.age <> s4.age"
        asking = threading.Thread(target=lambda: result.extend(client.rows(slow)))
        idle_s = server.cpu_seconds()
        asking.start()
        wait_until(lambda: server.cpu_seconds() > idle_s + 1.0)
        assert not result, "the statement is too quick for this test"
        assert server.stop() == 0
        asking.join()
    assert len(result) == 1 and result[0][0] > 0
    assert not list((tmp_path / "clinic.duckdb.published").glob(".*"))
    with pytest.raises(duckdb.Error):
        client.rows("SELECT 1")


def test_stopping_server_accepts_no_statement(tmp_path: Path) -> None:
    needs_quack()
    with serving(clinic(tmp_path / "clinic.duckdb"), "reader", "--statement-timeout", "6") as server:
        client, other = Client(server), Client(server)
        other.con.execute(f"ATTACH '{server.uri}' AS clinic (TOKEN '{server.token}')")
        asking = threading.Thread(target=lambda: client.error(SLOW))
        idle_s = server.cpu_seconds()
        asking.start()
        wait_until(lambda: server.cpu_seconds() > idle_s + 1.0)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        time.sleep(1.0)
        with pytest.raises(duckdb.Error, match="is stopping"):
            other.con.execute("FROM clinic.query('SELECT 1')").fetchall()
        asking.join()
        stopping.join()
