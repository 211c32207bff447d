"""PostgreSQL tables as sources: the policy in DuckDB belongs to one database, under any attached name."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.postgres import PATIENTS, ROLES, PostgresServer, run_statements

import dbanon
from dbanon import errors


def rows(con: Any, query: str) -> list[Any]:
    actual_rows: list[Any] = con.execute(query).fetchall()
    return actual_rows


def refusal_message(con: Any, query: str) -> str:
    with pytest.raises(Exception) as caught:
        con.execute(query).fetchall()
    return str(caught.value)


# --- a release -----------------------------------------------------------------------------------------------


def test_postgres_table_released_like_duckdb_copy(clinic: Any) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    clinic.execute("CREATE TABLE copied AS FROM pg.public.patients")
    dbanon.declare(clinic, "copied", **ROLES)
    for ending in ("", "_classes"):
        want = rows(clinic, f"FROM kacpc{ending}('copied', k=10, l=2)")
        assert want and len(want[0]) > 2
        for name in ("pg.public.patients", "pg.patients", 'PG."public".PATIENTS'):
            assert rows(clinic, f"FROM kacpc{ending}('{name}', k = 10, l = 2)") == want
    clinic.execute("USE pg")
    assert rows(clinic, "FROM kacpc_classes('patients', k=10, l=2)") == want


def test_postgres_read_in_views_and_prepared_statements(clinic: Any) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    want = rows(clinic, "FROM kacpc('pg.public.patients', k=10)")
    plain_result = dbanon.attach(clinic.raw.cursor())
    assert rows(plain_result, "FROM kacpc('pg.public.patients', k=10)") == want
    plain_result.execute("CREATE VIEW safe AS SELECT * FROM kacpc('pg.public.patients', k=10)")
    assert rows(plain_result, "FROM safe") == want
    plain_result.execute("PREPARE asked AS SELECT * FROM kacpc('pg.public.patients', k=10)")
    assert rows(plain_result, "EXECUTE asked") == want


def test_call_roles_accepted_without_policy(clinic: Any) -> None:
    result = clinic.execute("FROM kacpc('pg.public.patients', k=10, qi=['age'])")
    assert [column[0] for column in result.description] == ["age", "class_id"]
    assert len(result.fetchall()) == 300


def test_nothing_created_in_postgres(clinic: Any, server: PostgresServer) -> None:
    clinic.execute("USE pg")
    with duckdb.connect() as other:
        dbanon.load_extension(other, "postgres")
        other.execute(f"ATTACH '{server.conninfo()}' AS pg (TYPE postgres)")
        other.execute("USE pg")
        dbanon.attach(other)
        other.execute("FROM kacpc('patients', k=10, qi=['age'])").fetchall()
        assert rows(other, "SELECT schema_name FROM duckdb_schemas() WHERE schema_name = 'dbanon'") == []
        assert rows(other, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'public'") == [("patients",)]


# --- the applicable policy -----------------------------------------------------------------------------------


def insert_policy(con: Any, table: str = "pg.public.patients") -> None:
    con.executemany(
        "INSERT INTO clinic.dbanon.policy (table_name, column_name, role) VALUES (?, ?, ?)",
        [(table, column, role) for column, role in ROLES.items()],
    )


def test_postgres_policy_without_identity_states_fix(
    clinic: Any,
) -> None:
    insert_policy(clinic)
    message = refusal_message(clinic, "FROM kacpc('pg.public.patients', k=10)")
    assert "does not identify that database" in message
    assert "does not identify that database" in rows(clinic, "SELECT problem FROM policy_problems()")[0][0]
    statement = re.search(r"INSERT INTO .*'pg'", message)
    assert statement is not None
    clinic.execute(statement[0])
    assert len(rows(clinic, "FROM kacpc('pg.public.patients', k=10)")) == 300
    assert rows(clinic, "FROM policy_problems()") == []


def test_other_database_with_same_name_refused(clinic: Any, server: PostgresServer) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('pg.public.patients', k=10)")
    clinic.execute("PREPARE asked AS SELECT * FROM kacpc('pg.public.patients', k=10)")
    clinic.execute("DETACH pg")
    clinic.execute(f"ATTACH '{server.conninfo('template1')}' AS pg (TYPE postgres)")
    run_statements(clinic, f"DROP TABLE IF EXISTS patients CASCADE; {PATIENTS}")
    for query in (
        "FROM kacpc('pg.public.patients', k=10)",
        "FROM kacpc('pg.public.patients', k=10, qi=['age'])",
        "EXECUTE asked",
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe",
        "FROM policy_review('pg.public.patients')",
    ):
        assert "is attached" in refusal_message(clinic, query), query
    assert "is attached" in rows(clinic, "SELECT problem FROM policy_problems()")[0][0]
    assert rows(clinic, "SELECT problem FROM release_status()")[0][0] is not None


def test_postgres_policy_found_under_any_attached_name(clinic: Any, server: PostgresServer) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    want = rows(clinic, "FROM kacpc('pg.public.patients', k=10)")
    conninfo = server.conninfo()
    clinic.execute(f"ATTACH '{conninfo}' AS warehouse (TYPE postgres)")
    assert rows(clinic, "FROM kacpc('warehouse.public.patients', k=10)") == want
    assert "would loosen the policy" in refusal_message(
        clinic, "FROM kacpc('warehouse.public.patients', k=10, insensitive=['name'])"
    )


def test_postgres_table_with_two_policies_refused(clinic: Any) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    clinic.execute("ATTACH ':memory:' AS second")
    clinic.execute("USE second")
    dbanon.attach(clinic.raw.cursor().execute("USE second"))
    assert len(rows(clinic, "FROM kacpc('pg.public.patients', k=10)")) == 300  # the current schema has no effect
    clinic.execute(
        "INSERT INTO second.dbanon.policy (table_name, column_name, role) VALUES ('pg.patients', 'age', 'insensitive')"
    )
    message = refusal_message(clinic, "FROM kacpc('pg.public.patients', k=10)")
    assert "clinic and second both have a policy" in message


def test_uncommitted_second_postgres_policy_refused(clinic: Any) -> None:
    clinic.execute("ATTACH ':memory:' AS second")
    dbanon.attach(clinic.raw.cursor().execute("USE second"))
    plain_result = dbanon.attach(clinic.raw.cursor())
    plain_result.execute("BEGIN")
    plain_result.execute(
        "INSERT INTO second.dbanon.policy (table_name, column_name, role) VALUES ('pg.patients', 'age', 'insensitive')"
    )
    message = refusal_message(plain_result, "FROM kacpc('pg.public.patients', k=10, qi=['age'])")
    plain_result.execute("ROLLBACK")
    assert "commit" in message


def test_postgres_table_without_clear_policy_database_refused(clinic: Any) -> None:
    clinic.execute("ATTACH ':memory:' AS second")
    clinic.execute("USE pg")
    assert "USE clinic" in refusal_message(clinic, "FROM kacpc('patients', k=10, qi=['age'])")


def test_local_policy_does_not_apply_to_postgres_table(clinic: Any) -> None:
    clinic.execute("CREATE TABLE patients AS FROM pg.public.patients")
    dbanon.declare(clinic, "patients", **ROLES)
    clinic.execute("CREATE SCHEMA IF NOT EXISTS public")
    clinic.execute("INSERT INTO dbanon.policy (schema_name, table_name, column_name, role) "
                   "VALUES ('public', 'patients', 'name', 'insensitive')")  # fmt: skip
    dbanon.declare(clinic, "pg.public.patients", age="quasi")
    assert {row[:2] for row in rows(clinic, "SELECT table_name, schema_name FROM dbanon.policy")} == {
        ("patients", "main"),
        ("patients", "public"),
        ("pg.public.patients", "main"),
    }
    columns = clinic.execute("FROM kacpc('pg.public.patients', k=10)").description
    assert [c[0] for c in columns] == ["age", "class_id"]


def test_postgres_schemas_with_equal_names_have_own_policies(clinic: Any) -> None:
    run_statements(clinic, "CREATE SCHEMA ward; CREATE TABLE ward.patients AS SELECT * FROM patients WHERE id <= 100")
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    dbanon.declare(clinic, "pg.ward.patients", sex="quasi")
    assert len(clinic.execute("FROM kacpc('pg.public.patients', k=10)").description) == 4
    result = clinic.execute("FROM kacpc('pg.ward.patients', k=10)")
    assert [c[0] for c in result.description] == ["sex", "class_id"] and len(result.fetchall()) == 100


def test_postgres_names_differing_only_by_case_refused(clinic: Any) -> None:
    run_statements(clinic, 'CREATE TABLE "Patients" (age int); CREATE TABLE "Odd "" name" ("Age" int, age int)')
    for name in ("pg.public.patients", 'pg.public."Patients"'):
        assert "differ only by upper and lower case" in refusal_message(
            clinic, f"FROM kacpc('{name}', k=10, qi=['age'])"
        )
    run_statements(clinic, """INSERT INTO "Odd "" name" SELECT i % 3, i FROM generate_series(1, 60) AS i""")
    actual_rows = rows(clinic, """FROM kacpc('pg.public."Odd "" name"', k=10, qi=['Age'])""")
    assert [row[0] for row in actual_rows] == ["0"] * 20 + ["1"] * 20 + ["2"] * 20


@pytest.mark.parametrize(
    "hostile", ["x'); DROP TABLE patients; --", "x\\'; DROP TABLE patients; --", "名 前 🩺", '"', "$$"]
)
def test_postgres_hostile_names_are_quoted(clinic: Any, hostile: str) -> None:
    quoted = '"' + hostile.replace('"', '""') + '"'
    run_statements(clinic, f"CREATE TABLE {quoted} AS SELECT 1 + i % 2 AS {quoted} FROM generate_series(1, 40) AS i")
    run_statements(clinic, f"CREATE VIEW over AS SELECT * FROM {quoted}")
    name = f"pg.public.{quoted}"
    dbanon.declare(clinic, name, **{hostile: "quasi"})
    assert len(rows(clinic, f"FROM kacpc('{name.replace(chr(39), chr(39) * 2)}', k=10)")) == 40
    assert "no policy of its own" in refusal_message(clinic, "FROM kacpc('pg.public.over', k=10, qi=['class_id'])")
    assert rows(clinic, "SELECT count(*) FROM pg.public.patients") == [(300,)]


# --- views and parts -----------------------------------------------------------------------------------------


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("statements", "source"),
    [
        ("CREATE VIEW seen AS SELECT * FROM patients", "pg.public.seen"),
        ("CREATE VIEW deeper AS SELECT * FROM patients; CREATE VIEW seen AS SELECT * FROM deeper", "pg.public.seen"),
        ("CREATE MATERIALIZED VIEW seen AS SELECT * FROM patients", "pg.public.seen"),
        ("CREATE TABLE older () INHERITS (patients)", "pg.public.older"),
        ("SELECT 1", "seen_here"),
    ],
)
def test_postgres_view_of_policy_table_requires_own_policy(clinic: Any, statements: str, source: str) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    run_statements(clinic, statements)
    clinic.execute("CREATE VIEW seen_here AS FROM pg.patients")
    message = refusal_message(clinic, f"FROM kacpc('{source}', k=10, qi=['name'])")
    assert "no policy of its own" in message and "pg.public.patients" in message


@pytest.mark.filterwarnings("ignore:.*possibly the same people")  # the records of the table repeat
def test_view_and_table_releases_share_people(clinic: Any) -> None:
    run_statements(clinic, "CREATE VIEW seen AS SELECT * FROM patients WHERE id <= 200")
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    dbanon.declare(clinic, "pg.public.seen", **ROLES)
    clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW every AS SELECT * FROM kacpc('pg.public.patients', k=10)")
    clinic.execute("CREATE VIEW seen_here AS SELECT * FROM pg.patients WHERE id > 100")
    dbanon.declare(clinic, "seen_here", **ROLES)
    with pytest.warns(dbanon.DisclosureWarning, match="every version 1"):
        clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW mine AS SELECT * FROM mondrian('seen_here', k=7)")
    with pytest.warns(dbanon.DisclosureWarning, match="every version 1"):
        clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW fewer AS SELECT * FROM mondrian('pg.public.seen', k=7)")


# --- materialized views --------------------------------------------------------------------------------------


def test_postgres_release_refreshed_and_checked_against_others(clinic: Any) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('pg.public.patients', k=10)")
    assert rows(clinic, "SELECT status FROM release_status()") == [("fresh",)]
    run_statements(
        clinic, "INSERT INTO patients SELECT 1000 + i, 'new', 30, 'f', 'Flu' FROM generate_series(1, 20) AS i"
    )
    assert rows(clinic, "SELECT status, added, removed FROM release_status()") == [("stale", 20, 0)]
    clinic.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
    assert rows(clinic, "SELECT count(*) FROM safe") == [(320,)]
    run_statements(clinic, "DELETE FROM patients WHERE id = 1")
    with pytest.raises(errors.SmallDifferencesRefusedError):
        clinic.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
    (bases,) = rows(clinic, "SELECT source_tables FROM releases() WHERE version = 2")[0]
    assert re.fullmatch(r'"postgres:\d+/\d+"\."public"\."patients"', bases[0]) and len(bases) == 1
    assert rows(clinic, "SELECT value FROM risk('safe', source='pg.public.patients') LIMIT 1")
    assert dbanon.certificate(clinic, "safe")


def test_people_recognized_under_renamed_database(clinic: Any, server: PostgresServer) -> None:
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('pg.public.patients', k=10)")
    conninfo = server.conninfo()
    clinic.execute(f"ATTACH '{conninfo}' AS warehouse (TYPE postgres)")
    with pytest.warns(dbanon.DisclosureWarning, match="safe version 1"):
        clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW too AS SELECT * FROM mondrian('warehouse.patients', k=7)")


# --- one moment ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
def test_postgres_release_reads_single_snapshot(clinic: Any, server: PostgresServer, threads: int) -> None:
    """Every change moves all of a record's versions to other pages and keeps the number of records of each age."""
    run_statements(
        clinic,
        "CREATE TABLE moving AS SELECT i AS id, i % 2 AS age, repeat('x', 500) AS pad "
        "FROM generate_series(1, 6000) AS i; ANALYZE moving",
    )
    dbanon.declare(clinic, "pg.public.moving", id="person", age="quasi")
    clinic.execute(f"SET threads = {threads}")
    clinic.execute("SET pg_pages_per_task = 20")
    stopped = threading.Event()

    conninfo = server.conninfo()

    def write() -> None:
        with duckdb.connect() as other:
            dbanon.load_extension(other, "postgres")
            other.execute(f"ATTACH '{conninfo}' AS pg (TYPE postgres)")
            while not stopped.is_set():
                run_statements(other, "UPDATE moving SET age = 1 - age WHERE id % 7 < 4")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            sizes = rows(clinic, "SELECT age, count(*) FROM kacpc('pg.public.moving', k=10) GROUP BY ALL ORDER BY ALL")
            assert sum(size for _, size in sizes) == 6000
    finally:
        stopped.set()
        writer.join()
        clinic.execute("RESET threads")


def test_postgres_source_read_once_completely(clinic: Any, server: PostgresServer) -> None:
    """Two reads in one statement can see two states, and PostgreSQL compares texts differently from DuckDB."""
    dbanon.declare(clinic, "pg.public.patients", **ROLES)
    log = Path(server.folder / "log")
    old_size = log.stat().st_size
    query = "FROM mondrian_metrics('pg.public.patients', k=10, nulls='drop', missing_codes=['m'], suppress=0.1)"
    assert rows(clinic, query)
    with log.open(encoding="utf-8") as file:
        file.seek(old_size)
        copies = [line for line in file if "COPY" in line and '"patients"' in line]
    assert len(copies) == 1
    assert "ctid BETWEEN" in copies[0].replace("WHERE ctid", "ctid") or "WHERE" not in copies[0], copies


# --- types ---------------------------------------------------------------------------------------------------

TYPES = {
    "uuid": "('00000000-0000-0000-0000-00000000000' || i % 2)::uuid",
    "jsonb": "'{\"a\": 1}'::jsonb",
    "int[]": "ARRAY[i % 2]",
    "numeric": "i % 2 + 0.1234567890123456789",
    "numeric(8, 2)": "i % 2",
    "timestamptz": "'1969-07-20 20:17:40+00'::timestamptz",
    "money": "(i % 2)::money",
    "inet": "'10.0.0.1'::inet",
    "char(5)": "'ab'::char(5)",
    "bytea": "'x'::bytea",
    "interval": "'1 day'::interval",
    "time": "'10:00'::time",
    "date": "'1969-01-01'::date",
    "int4range": "'[1,5)'::int4range",
    "boolean": "i % 2 = 0",
    "real": "i % 2 + 0.5",
    "double precision": "'NaN'::float8",
    "bit(3)": "B'101'",
    "text": "'😀'",
}


@pytest.mark.parametrize("type_", TYPES)
def test_postgres_types_released_like_copy_or_refused(clinic: Any, type_: str) -> None:
    run_statements(
        clinic,
        f"CREATE TABLE typed AS SELECT i % 3 AS n, ({TYPES[type_]})::{type_} AS v FROM generate_series(1, 60) AS i",
    )
    clinic.execute("CREATE TABLE typed AS FROM pg.public.typed")
    for roles in ("qi=['v']", "qi=['n'], insensitive=['v']"):
        answers = []
        for source in ("typed", "pg.public.typed"):
            try:
                answers.append(str(rows(clinic, f"FROM kacpc('{source}', k=10, {roles})")))
            except duckdb.Error as error:
                answers.append(str(error).replace(source, "typed").split("LINE")[0])
        assert answers[0] == answers[1]
        assert re.search(r"\[\(|cannot be a quasi-identifier|is NaN or infinite", answers[0])


def test_postgres_generated_domain_and_enum_columns_released(clinic: Any) -> None:
    run_statements(
        clinic,
        "CREATE TYPE mood AS ENUM ('ok', 'sad'); CREATE DOMAIN years AS int CHECK (VALUE >= 0); "
        "CREATE TABLE odd (id int, m mood, y years, twice int GENERATED ALWAYS AS (id % 2 * 2) STORED); "
        "INSERT INTO odd SELECT i, (ARRAY['ok', 'sad']::mood[])[1 + i % 2], i % 2 FROM generate_series(1, 40) AS i",
    )
    actual_rows = rows(clinic, "FROM kacpc('pg.public.odd', k=10, qi=['m', 'y', 'twice'])")
    assert {row[:3] for row in actual_rows} == {("ok", "0", "0"), ("sad", "1", "2")}


def test_postgres_char_values_lose_trailing_blanks(clinic: Any) -> None:
    dbanon.declare(clinic, "pg.public.patients", sex="insensitive", age="quasi")
    assert {row[0] for row in rows(clinic, "SELECT sex FROM kacpc('pg.public.patients', k=10)")} == {"f", "m"}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW broken AS SELECT name::int AS age FROM patients",
        "CREATE VIEW broken AS SELECT 1 / (id - 7) AS age, name FROM patients",
    ],
)
def test_postgres_error_contains_no_cell(clinic: Any, statement: str) -> None:
    run_statements(clinic, statement)
    message = refusal_message(clinic, "FROM kacpc('pg.public.broken', k=10, qi=['age'])")
    assert "an error of PostgreSQL" in message and "somebody" not in message


def test_postgres_unreadable_table_is_reported(clinic: Any, server: PostgresServer) -> None:
    run_statements(clinic, "DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN")
    conninfo = server.conninfo().replace("user=postgres", "user=plain")
    clinic.execute(f"ATTACH '{conninfo}' AS mine (TYPE postgres)")
    assert "permission denied" in refusal_message(clinic, "FROM kacpc('mine.public.patients', k=10, qi=['age'])")
    run_statements(clinic, "GRANT SELECT ON patients TO plain")
    assert len(rows(clinic, "FROM kacpc('mine.public.patients', k=10, qi=['age'])")) == 300


def test_postgres_password_neither_stored_nor_shown(clinic: Any, server: PostgresServer) -> None:
    clinic.execute(f"ATTACH '{server.conninfo()} password=swordfish' AS secret (TYPE postgres)")
    dbanon.declare(clinic, "secret.public.patients", **ROLES)
    clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('secret.public.patients', k=10)")
    for (table,) in rows(clinic, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'dbanon'"):
        assert "swordfish" not in str(rows(clinic, f"FROM clinic.dbanon.{table}"))


@pytest.mark.parametrize("count", [0, 1])
def test_postgres_table_with_zero_or_one_row_refused(clinic: Any, count: int) -> None:
    run_statements(clinic, f"DELETE FROM patients WHERE id > {count}")
    assert re.search("has no rows|1 row", refusal_message(clinic, "FROM kacpc('pg.public.patients', k=10, qi=['age'])"))
