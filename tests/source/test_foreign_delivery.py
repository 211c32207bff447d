"""Releases in PostgreSQL: the copy is that of a version in the ledger, whatever interrupts the delivery."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import postgres
from support.postgres import ROLES, PostgresServer, run_statements

import dbanon
from dbanon import errors
from dbanon.publishing import postgres_delivery
from dbanon.views import doctor

CREATE = "CREATE MATERIALIZED ANONYMIZED VIEW"
REPLACE = "CREATE OR REPLACE MATERIALIZED ANONYMIZED VIEW"
REFRESH = "REFRESH MATERIALIZED ANONYMIZED VIEW"
DROP = "DROP MATERIALIZED ANONYMIZED VIEW"
CALL = "SELECT * FROM kacpc('pg.public.patients', k=10)"
COME = "INSERT INTO patients SELECT {0} + i, 'new', 30, 'f', 'Flu' FROM generate_series(1, 20) AS i"


@pytest.fixture
def ward(clinic: Any) -> Any:
    """Provide the clinic with a policy of its patients."""
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    return clinic


def rows(con: Any, query: str) -> list[Any]:
    actual_rows: list[Any] = con.execute(query).fetchall()
    return actual_rows


def tables(con: Any, database: str = "pg") -> list[str]:
    """Return the tables that PostgreSQL itself has in addition to the patients."""
    query = (
        "SELECT relname::text AS name FROM pg_class WHERE relkind = ''r'' AND relnamespace = ''public''::regnamespace"
    )
    actual_rows = rows(con, f"SELECT name FROM postgres_query('{database}', '{query}') ORDER BY ALL")
    return [name for (name,) in actual_rows if name != "patients"]


def shown_version(con: Any) -> Any:
    """Return the version that the copy in PostgreSQL states."""
    query = "SELECT value FROM public.safe_certificate WHERE item = ''version''"
    return rows(con, f"FROM postgres_query('pg', '{query}')")[0][0]


def assert_refused(con: Any, query: str, *said: str) -> None:
    with pytest.raises(errors.InvalidDeliveryTargetError) as caught:
        con.execute(query)
    assert all(part in str(caught.value) for part in said), caught.value
    assert rows(con, "FROM releases()") == []


# --- delivered tables ----------------------------------------------------------------------------------------


def test_postgres_delivery_created_refreshed_and_dropped(ward: Any) -> None:
    ward.execute("SET preserve_insertion_order = false")
    try:
        assert rows(ward, f"{CREATE} pg.public.safe AS {CALL}") == [("safe", 1, 300, 30)]
    finally:
        ward.execute("RESET preserve_insertion_order")
    assert tables(ward) == ["safe", "safe_certificate", "safe_metrics"]
    for ending in ("", "_metrics"):
        assert rows(ward, f"FROM pg.public.safe{ending}") == rows(ward, f"FROM clinic.main.safe{ending}")
    first = rows(ward, "FROM pg.public.safe")
    run_statements(ward, COME.format(1000))
    run_statements(ward, "GRANT SELECT ON safe TO PUBLIC; CREATE VIEW seen AS SELECT * FROM safe")
    assert rows(ward, f"{REFRESH} pg.safe") == [("safe", 2, 320, 31)]
    assert shown_version(ward) == "2"
    assert rows(ward, "SELECT count(*) FROM pg.public.seen") == [(320,)]
    assert rows(ward, "FROM pg.public.safe") == rows(ward, "FROM clinic.main.safe") != first
    granted = "SELECT has_table_privilege(''public'', ''safe'', ''SELECT'') AS may"
    assert rows(ward, f"FROM postgres_query('pg', '{granted}')") == [(True,)]
    run_statements(ward, "DROP VIEW seen")
    ward.execute(f"{DROP} PG.public.SAFE")
    assert tables(ward) == []
    assert rows(ward, "SELECT version, status FROM releases()") == [(1, "replaced"), (2, "dropped")]
    assert rows(ward, "FROM clinic.dbanon.delivery") == []
    listed = rows(ward, "SELECT version, channel, content, file, sha256 FROM published_files()")
    assert [row[:3] for row in listed] == [(1, "postgres", "release"), (2, "postgres", "release")]
    assert listed[0][3] == listed[1][3] and re.fullmatch(r'"?public"?\."?safe"? in .*', listed[0][3])
    assert [row[4] for row in listed] == [h for (h,) in rows(ward, "SELECT hashes[''] FROM releases()")]
    ward.execute(f"{DROP} IF EXISTS pg.public.safe")
    with pytest.raises(errors.UnknownReleaseError):
        ward.execute(f"{REFRESH} pg.public.safe")


@pytest.mark.not_everyday
@pytest.mark.parametrize("schema", ["public", "Other Ward"])
def test_certificate_sql_runs_in_schema_of_delivery(ward: Any, schema: str) -> None:
    run_statements(ward, f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    dbanon.create_release(ward, f'pg."{schema}".safe', "kacpc", "pg.public.patients", k=10)
    lines = rows(ward, f'SELECT item, value, sql FROM pg."{schema}".safe_certificate WHERE sql IS NOT NULL')
    assert len(lines) > 8
    ward.execute("USE pg")
    try:
        results = {name: ward.execute(sql).fetchall()[0][0] for name, _, sql in lines}
    finally:
        ward.execute("USE clinic")
    assert {i: float(v) for i, v in results.items()} == {i: pytest.approx(float(v)) for i, v, _ in lines}


@pytest.mark.not_everyday
def test_python_delivers_equally_under_other_database_names(ward: Any, server: PostgresServer) -> None:
    release = dbanon.create_release(ward, 'pg.public."Safe"', "kacpc", "pg.public.patients", k=10)
    assert (release.name, release.version) == ("Safe", 1) and tables(ward) == [
        "Safe",
        "Safe_certificate",
        "Safe_metrics",
    ]
    ward.execute(f"ATTACH '{server.conninfo()}' AS warehouse (TYPE postgres)")
    ward.execute("DETACH pg")
    run_statements(ward, COME.format(1000), "warehouse")
    ward.execute(f"ATTACH '{server.conninfo()}' AS pg (TYPE postgres)")
    assert dbanon.refresh_release(ward, "warehouse.public.safe").version == 2
    assert rows(ward, 'SELECT count(*) FROM warehouse.public."Safe"') == [(320,)]
    assert dbanon.certificate(ward, "pg.public.safe") == dbanon.certificate(ward, "Safe")
    dbanon.drop_release(ward, "Safe")
    assert tables(ward, "warehouse") == []


@pytest.mark.not_everyday
def test_duckdb_source_and_existing_release_can_be_delivered(
    clinic: Any,
) -> None:
    clinic.execute("CREATE TABLE here AS SELECT i % 20 AS age, 'a' AS kind FROM range(60) AS r (i)")
    dbanon.declare(clinic, "here", age="quasi", kind="insensitive")
    clinic.execute(f"{CREATE} safe AS SELECT * FROM kacpc('here', k=10)")
    with pytest.raises(errors.InvalidDeliveryTargetError, match="without a copy there"):
        clinic.execute(f"{CREATE} IF NOT EXISTS pg.safe AS SELECT * FROM kacpc('here', k=10)")
    with pytest.warns(dbanon.DisclosureWarning):
        clinic.execute(f"{REPLACE} pg.safe WITH (allow_small_differences = true) AS SELECT * FROM kacpc('here', k=15)")
    assert shown_version(clinic) == "2"
    assert rows(clinic, f"{CREATE} IF NOT EXISTS pg.safe AS SELECT * FROM kacpc('here', k=10)") == []
    run_statements(clinic, "CREATE SCHEMA other")
    with pytest.raises(errors.DeliveryTargetMismatchError, match="the statement has"):
        clinic.execute(f"{REPLACE} pg.other.safe AS SELECT * FROM kacpc('here', k=15)")
    run_statements(clinic, "DROP SCHEMA other")


@pytest.mark.not_everyday
def test_postgres_receives_only_published_rows(ward: Any) -> None:
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    message = str([rows(ward, f"FROM pg.public.{name}") for name in tables(ward)])
    comments = "SELECT string_agg(description, '' '') AS said FROM pg_description WHERE description LIKE ''dbanon%''"
    message += str(rows(ward, f"FROM postgres_query('pg', '{comments}')"))
    assert not re.search(r"somebody \d|patients|clinic|fingerprint|membership|'name', 'withheld", message)
    assert len(rows(ward, "FROM pg.public.safe_metrics")) == len(rows(ward, "FROM clinic.main.safe_metrics"))
    assert "composition" not in str(rows(ward, "SELECT metric FROM pg.public.safe_metrics"))


TYPES = {
    "HUGEINT": ("170141183460469231731687303715884105727", "text"),
    "UBIGINT": ("18446744073709551615", "numeric(20,0)"),
    "UTINYINT": ("255", "smallint"),
    "DECIMAL(9,3)": ("-1.250", "numeric(9,3)"),
    "DOUBLE": ("'nan'", "double precision"),
    "FLOAT": ("'-infinity'", "real"),
    "ENUM('a', 'it''s')": ("'it''s'", "text"),
    "INTEGER[]": ("[1, NULL]", "text"),
    "STRUCT(a INTEGER, b VARCHAR)": ("{'a': 1, 'b': chr(0)}", "text"),
    "MAP(VARCHAR, INTEGER)": ("MAP {'a': 1}", "text"),
    "DATE": ("'0044-03-15'", "date"),
    "TIMESTAMP": ("'infinity'", "timestamp without time zone"),
    "TIMESTAMP WITH TIME ZONE": ("'1969-07-20 20:17:40+00'", "timestamp with time zone"),
    "TIMESTAMP_NS": ("'1969-07-20 20:17:40.123456789'", "text"),
    "TIME": ("'10:00:00.5'", "time without time zone"),
    "INTERVAL": ("'1 month 2 days'", "text"),
    "BLOB": ("'\\x00\\xFF'", "bytea"),
    "BOOLEAN": ("true", "boolean"),
    "BIT": ("'101'", "text"),
    "VARCHAR": ("'😀 \\ \t''\"'", "text"),
}


def test_postgres_receives_every_type_unchanged_or_as_text(clinic: Any) -> None:
    text = ", ".join(f"({value})::{type_} AS c{i}" for i, (type_, (value, _)) in enumerate(TYPES.items()))
    clinic.execute(f"CREATE TABLE typed AS SELECT i % 2 AS n, {text}, NULL::VARCHAR AS none FROM range(40) AS r (i)")
    other = {f"c{i}": "insensitive" for i in range(len(TYPES))}
    dbanon.declare(clinic, "typed", n="quasi", none="insensitive", **other)
    clinic.execute(f"{CREATE} pg.public.safe AS SELECT * FROM kacpc('typed', k=10, intervals='struct')")
    columns = (
        "SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid = ''safe''::regclass "
        "AND attname LIKE ''c_%'' AND attname <> ''class_id'' AND attnum > 0 ORDER BY attnum"
    )
    type_names = [type_ for (type_,) in rows(clinic, f"FROM postgres_query('pg', '{columns}')")]
    assert type_names == [type_ for _, type_ in TYPES.values()]
    local_rows, copied_rows = (
        rows(clinic, f"SELECT DISTINCT * FROM {name} ORDER BY ALL") for name in ("safe", "pg.public.safe")
    )
    assert len(local_rows) == len(copied_rows)
    for i, (type_, (_, present_result)) in enumerate(TYPES.items()):
        values = [rows(clinic, f"SELECT DISTINCT c{i}::VARCHAR FROM {name}") for name in ("safe", "pg.public.safe")]
        assert values[0] == values[1] or (present_result == "text" and type_[-1] in ")]"), type_
    assert rows(clinic, "SELECT DISTINCT c8, c9 FROM pg.public.safe") == [('{"a":1,"b":"\\u0000"}', '{"a":1}')]


# --- refused before anything is made -------------------------------------------------------------------------


def test_delivery_never_replaces_foreign_table(ward: Any) -> None:
    for name in ("safe", '"SAFE_metrics"'):
        run_statements(ward, f"CREATE TABLE {name} (a int)")
        assert_refused(ward, f"{CREATE} pg.public.safe AS {CALL}", "exists already, and dbanon did not create it")
        assert_refused(ward, f"{REPLACE} pg.public.safe AS {CALL}", "exists already, and dbanon did not create it")
        run_statements(ward, f"DROP TABLE {name}")
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    run_statements(ward, "DROP TABLE safe; CREATE TABLE safe (mine text)")
    with pytest.raises(errors.InvalidDeliveryTargetError):
        ward.execute(f"{REFRESH} pg.public.safe")
    ward.execute(f"{DROP} pg.public.safe")
    assert tables(ward) == ["safe"] and rows(ward, "SELECT status FROM releases()") == [("dropped",)]


def test_undeliverable_release_refused_in_advance(ward: Any, server: PostgresServer) -> None:
    assert_refused(ward, f"{CREATE} pg.nowhere.safe AS {CALL}", "has no schema nowhere")
    assert_refused(ward, f"{CREATE} pg.public.{'s' * 52} AS {CALL}", "63 bytes")
    ward.execute(f"ATTACH '{server.conninfo()}' AS reading (TYPE postgres, READ_ONLY)")
    assert_refused(ward, f"{CREATE} reading.public.safe AS {CALL}", "READ_ONLY")
    for column, value in (("é" * 32, "1"), ("note", "'a' || chr(0)")):
        ward.execute(f'CREATE OR REPLACE TABLE odd AS SELECT i % 2 AS n, {value} AS "{column}" FROM range(40) AS r (i)')
        dbanon.declare(ward, "odd", **{"n": "quasi", column: "insensitive"})
        assert_refused(ward, f"{CREATE} pg.public.safe AS SELECT * FROM kacpc('odd', k=10)", column)
        ward.execute("DELETE FROM clinic.dbanon.policy WHERE table_name = 'odd'")
    assert tables(ward) == []
    ward.execute("BEGIN")
    with pytest.raises(errors.OpenTransactionError):
        ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    ward.execute("ROLLBACK")


def test_role_without_create_right_reported_and_clean(ward: Any, server: PostgresServer) -> None:
    run_statements(ward, "DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN; GRANT SELECT ON patients TO plain")
    conninfo = server.conninfo().replace("user=postgres", "user=plain")
    ward.execute(f"ATTACH '{conninfo}' AS mine (TYPE postgres)")
    assert_refused(ward, f"{CREATE} mine.public.safe AS {CALL}", "may not create tables in the schema public")
    assert tables(ward) == []
    ward.execute(f"ATTACH '{server.conninfo()}' AS yours (TYPE postgres)")
    ward.execute(f"{CREATE} yours.public.safe AS {CALL}")
    with pytest.raises(errors.DeliveryFailedError, match="must be owner of table safe"):
        ward.execute(f"{DROP} mine.public.safe")
    ward.execute(f"{DROP} yours.public.safe")
    assert tables(ward) == []


def test_other_server_with_same_name_refused(ward: Any, server: PostgresServer) -> None:
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    ward.execute("DETACH pg")
    with pytest.raises(errors.DeliveryTargetMismatchError, match="not attached"):
        ward.execute(f"{DROP} safe")
    ward.execute(f"ATTACH '{server.conninfo('template1')}' AS pg (TYPE postgres)")
    for statement in (f"{REFRESH} pg.public.safe", f"{REFRESH} safe", f"{DROP} pg.public.safe"):
        with pytest.raises(errors.DeliveryTargetMismatchError, match="according to the ledger, the copy of safe is"):
            ward.execute(statement)
    assert rows(ward, "SELECT version, status FROM releases()") == [(1, "published")]


@pytest.mark.not_everyday
def test_delivery_to_sqlite_refused(ward: Any, tmp_path: Path) -> None:
    postgres.needs_scanner("sqlite")
    dbanon.load_extension(ward, "sqlite")
    ward.execute(f"ATTACH '{tmp_path / 'lite.db'}' AS lite (TYPE sqlite)")
    with pytest.raises(errors.ReleaseOutsideSourceDatabaseError):
        ward.execute(f"{CREATE} lite.main.safe AS {CALL}")


@pytest.mark.not_everyday
def test_delivery_follows_use_and_quotes_names(ward: Any) -> None:
    hostile = "x\"'); DROP TABLE patients; --"
    quoted = '"' + hostile.replace('"', '""') + '"'
    ward.execute("USE pg")
    ward.execute("BEGIN")
    with pytest.raises(errors.OpenTransactionError):
        dbanon.create_release(ward, "public.safe", "kacpc", "patients", k=10)
    ward.execute("ROLLBACK")
    dbanon.create_release(ward, f"public.{quoted}", "kacpc", "patients", k=10)
    assert tables(ward) == sorted(hostile + ending for ending in postgres_delivery.ENDINGS)
    assert rows(ward, f"{REFRESH} public.{quoted} WITH (if_stale = true)")[0][1:] == (1, 300, 30)
    run_statements(ward, f"CREATE VIEW seen AS SELECT * FROM {quoted}")
    with pytest.raises(errors.DeliveryFailedError, match=r"could not be dropped.*other objects depend on it"):
        ward.execute(f"{DROP} pg.public.{quoted}")
    assert rows(ward, "SELECT status FROM releases()") == [("published",)] and len(tables(ward)) == 3
    run_statements(ward, "DROP VIEW seen")
    ward.execute(f"{DROP} public.{quoted}")
    assert tables(ward) == [] and len(rows(ward, "FROM pg.public.patients")) == 300


# --- between ledger and PostgreSQL ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("breaking_statement", "repairing_statement", "message"),
    [
        (
            "ALTER TABLE safe ADD CONSTRAINT no_flu CHECK (disease <> 'Flu') NOT VALID",
            "ALTER TABLE safe DROP CONSTRAINT no_flu",
            "did not accept the rows of safe",
        ),
        (
            "CREATE FUNCTION less() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; "
            "CREATE TRIGGER less BEFORE INSERT ON safe FOR EACH ROW EXECUTE FUNCTION less()",
            "DROP TRIGGER less ON safe; DROP FUNCTION less",
            "returned other rows of safe",
        ),
    ],
)
def test_failed_delivery_recorded_and_repeated_by_refresh(
    ward: Any, monkeypatch: pytest.MonkeyPatch, breaking_statement: str, repairing_statement: str, message: str
) -> None:
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    run_statements(ward, COME.format(1000))
    old_rows = rows(ward, "FROM pg.public.safe")
    run_statements(ward, breaking_statement)
    with pytest.raises(
        errors.DeliveryFailedError, match=f"safe version 2 is recorded in the ledger.*{message}"
    ) as caught:
        ward.execute(f"{REFRESH} pg.public.safe")
    assert "Flu" not in str(caught.value)
    assert rows(ward, "FROM pg.public.safe") == old_rows and shown_version(ward) == "1"
    assert rows(ward, "SELECT version FROM clinic.dbanon.delivery") == [(1,)]
    assert any("version 2 was not copied" in p.problem and "version 1" in p.problem for p in doctor.problems(ward))
    run_statements(ward, repairing_statement)
    assert rows(ward, f"{REFRESH} pg.public.safe WITH (if_stale = true)") == [("safe", 2, 320, 31)]
    assert shown_version(ward) == "2" and not [p for p in doctor.problems(ward) if "delivered" in p.problem]

    def unneeded(*_: object) -> None:
        raise AssertionError("it is as it shall be")

    monkeypatch.setattr(postgres_delivery, "_insert_rows", unneeded)
    ward.execute(f"{REFRESH} pg.public.safe WITH (if_stale = true)")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE safe SET disease = 'Flu'",
        "DELETE FROM safe WHERE ctid IN (SELECT min(ctid) FROM safe)",
        "ALTER TABLE safe ADD COLUMN mine text",
        "ALTER TABLE safe ALTER COLUMN disease TYPE varchar(20)",
        "DROP TABLE safe_certificate",
        "UPDATE safe_certificate SET value = 'better'",
    ],
)
def test_modified_copy_is_replaced(ward: Any, change: str) -> None:
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    want = rows(ward, "SELECT * FROM pg.public.safe ORDER BY ALL"), rows(ward, "FROM pg.public.safe_certificate")
    run_statements(ward, change)
    ward.execute(f"{REFRESH} pg.public.safe WITH (if_stale = true)")
    values = rows(ward, "SELECT * FROM pg.public.safe ORDER BY ALL"), rows(ward, "FROM pg.public.safe_certificate")
    assert values == want


@pytest.mark.not_everyday
def test_modified_release_is_not_delivered(ward: Any) -> None:
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    ward.execute("UPDATE clinic.main.safe SET disease = 'Flu'")
    with pytest.raises(errors.DeliveryFailedError, match="is not what was released"):
        ward.execute(f"{REFRESH} pg.public.safe WITH (if_stale = true)")
    assert len(rows(ward, "SELECT DISTINCT disease FROM pg.public.safe")) == 3


KILLED = """
import os, signal, sys
import duckdb, dbanon
from dbanon.ledger import deliveries
from dbanon.publishing import postgres_delivery
place, conninfo, file = sys.argv[1:]

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if place == "before":
    postgres_delivery._replace_tables = killed
elif place == "within":
    postgres_delivery._insert_rows = killed
elif place == "after":
    deliveries.set_delivered_version = killed
else:
    deliveries.forget_target = killed
con = dbanon.attach(duckdb.connect(file))
dbanon.load_extension(con, "postgres")
con.execute(f"ATTACH '{conninfo}' AS pg (TYPE postgres)")
if place == "dropping":
    dbanon.drop_release(con, "pg.public.safe")
else:
    dbanon.refresh_release(con, "pg.public.safe")
"""


@pytest.mark.parametrize(
    ("place", "copy_version", "recorded_version"),
    [("before", "1", 1), ("within", "1", 1), ("after", "2", 1), ("dropping", None, None)],
)
def test_killed_process_leaves_complete_recorded_version(
    clinic: Any,
    server: PostgresServer,
    tmp_path: Path,
    place: str,
    copy_version: str | None,
    recorded_version: int | None,
) -> None:
    file = tmp_path / "killed.duckdb"
    clinic.execute(f"ATTACH '{file}' AS killed")
    clinic.execute("USE killed")
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    clinic.execute(f"{CREATE} pg.public.safe AS {CALL}")
    run_statements(clinic, COME.format(1000))
    clinic.execute("USE clinic")
    clinic.execute("DETACH killed")
    completed = subprocess.run([sys.executable, "-c", KILLED, place, server.conninfo(), str(file)], check=False)
    assert completed.returncode == -signal.SIGKILL
    clinic.execute(f"ATTACH '{file}' AS killed")
    clinic.execute("USE killed")
    version = 1 if place == "dropping" else 2
    assert rows(clinic, "SELECT max(version) FROM releases() WHERE status = 'published'") == [(version,)]
    assert rows(clinic, "SELECT version FROM dbanon.delivery") == [(recorded_version,)]
    assert [p for p in doctor.problems(clinic) if f"version {version} was not copied" in p.problem]
    if copy_version is None:
        assert tables(clinic) == []
    else:
        assert shown_version(clinic) == copy_version
        assert rows(clinic, "SELECT count(*) FROM pg.public.safe") == [(300 if copy_version == "1" else 320,)]
    if place == "dropping":
        clinic.execute(f"{DROP} pg.public.safe")
        assert rows(clinic, "SELECT status FROM releases()") == [("dropped",)]
        return
    clinic.execute(f"{REFRESH} pg.public.safe WITH (if_stale = true)")
    assert shown_version(clinic) == "2" and rows(clinic, "SELECT version FROM dbanon.delivery") == [(2,)]
    assert rows(clinic, "FROM pg.public.safe") == rows(clinic, "FROM killed.main.safe")


def test_readers_see_complete_versions_during_refresh(ward: Any, server: PostgresServer) -> None:
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    stopped, visited, conninfo = threading.Event(), [], server.conninfo()
    query = (
        "SELECT count(*) AS rows, (SELECT value FROM public.safe_certificate WHERE item = ''version'') AS version, "
        "(SELECT value FROM public.safe_metrics WHERE metric = ''records'') AS records FROM public.safe"
    )

    def read() -> None:
        with duckdb.connect() as other:
            dbanon.load_extension(other, "postgres")
            other.execute(f"ATTACH '{conninfo}' AS pg (TYPE postgres, READ_ONLY)")
            last = False
            while not last:
                last = stopped.wait(0.003)
                visited.append(rows(other, f"FROM postgres_query('pg', '{query}')")[0])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        run_statements(ward, COME.format(1000))
        ward.execute(f"{REFRESH} pg.public.safe")
    finally:
        stopped.set()
        reader.join()
    full_values = [(280 + 20 * version, str(version), 280.0 + 20 * version) for version in (1, 2)]
    assert set(visited) == set(full_values)


# --- what was published counts -------------------------------------------------------------------------------


def test_composition_checked_for_delivered_releases(ward: Any) -> None:
    ward.execute(f"{CREATE} pg.public.safe AS {CALL}")
    with pytest.warns(dbanon.DisclosureWarning, match="safe version 1"):
        ward.execute(f"{CREATE} pg.public.too AS SELECT * FROM mondrian('pg.patients', k=7)")
    with pytest.raises(errors.CompositionRefusedError):
        ward.execute(
            f"{CREATE} pg.public.third WITH (composition = 'refuse') AS SELECT * FROM mondrian('pg.patients', k=8)"
        )
    assert not [name for name in tables(ward) if name.startswith("third")]
    run_statements(ward, "DELETE FROM patients WHERE id = 1")
    with pytest.raises(errors.SmallDifferencesRefusedError):
        ward.execute(f"{REFRESH} pg.public.safe")
    assert shown_version(ward) == "1"
