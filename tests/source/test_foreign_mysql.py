"""MySQL tables as sources, in MariaDB: qualified names, DuckDB's comparisons, and views of them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from support import mysql
from support.mysql import PATIENTS, ROLES, MySqlServer, run_statements

import dbanon
from dbanon import errors
from dbanon.source import snapshot_guard
from dbanon.source.mysql import tables_in_definition


@pytest.fixture(scope="module")
def server() -> Iterator[MySqlServer]:
    with mysql.running_mysql() as server:
        yield server


@pytest.fixture(scope="module")
def mysql_con(server: MySqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with dbanon.connect(tmp_path_factory.mktemp("clinic") / "clinic.duckdb") as con:
        dbanon.load_extension(con, "mysql")
        yield con


@pytest.fixture
def clinic(mysql_con: Any, server: MySqlServer) -> Iterator[Any]:
    """Provide the clinic's DuckDB file with the server as `my`, whose database clinic has only patients."""
    mysql_con.execute(f"ATTACH '{server.params(database='mysql')}' AS empty (TYPE mysql)")
    run_statements(
        mysql_con,
        "DROP DATABASE IF EXISTS clinic",
        "DROP DATABASE IF EXISTS ward",
        "CREATE DATABASE clinic CHARACTER SET utf8mb4",
        *PATIENTS,
        database="empty",
    )
    mysql_con.execute("DETACH empty")
    mysql_con.execute(f"ATTACH '{server.params()}' AS my (TYPE mysql)")
    yield mysql_con
    mysql_con.execute("USE clinic.main")  # the server has a clinic, too
    for (table,) in rows(mysql_con, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'dbanon'"):
        mysql_con.execute(f"DELETE FROM clinic.dbanon.{table}")
    for kind, name in rows(
        mysql_con,
        "SELECT 'TABLE', table_name FROM duckdb_tables() WHERE (database_name, schema_name) = ('clinic', 'main') "
        "UNION ALL SELECT 'VIEW', view_name FROM duckdb_views() "
        "WHERE (database_name, schema_name) = ('clinic', 'main') AND NOT internal",
    ):
        mysql_con.execute(f'DROP {kind} clinic.main."{name}"')
    for (database,) in rows(mysql_con, "SELECT database_name FROM duckdb_databases() WHERE NOT internal"):
        if database != "clinic":
            mysql_con.execute(f"DETACH {database}")


def rows(con: Any, query: str) -> list[Any]:
    actual_rows: list[Any] = con.execute(query).fetchall()
    return actual_rows


def refusal_message(con: Any, query: str) -> str:
    with pytest.raises(Exception) as caught:
        con.execute(query).fetchall()
    return str(caught.value)


def sent_queries(server: MySqlServer, since: int) -> str:
    """Return the server's queries after the first `since` bytes of its log, without those of catalogs."""
    with server.log.open(encoding="utf-8", errors="replace") as log:
        log.seek(since)
        return "".join(line.rstrip() + "\n" for line in log if "`patients`" in line and "Execute" in line)


# --- a release -----------------------------------------------------------------------------------------------


def test_mysql_table_released_like_duckdb_copy(clinic: Any, server: MySqlServer) -> None:
    dbanon.declare(clinic, "my.clinic.patients", **ROLES)
    clinic.execute("CREATE TABLE copied AS FROM my.clinic.patients")
    dbanon.declare(clinic, "copied", **ROLES)
    since = server.log.stat().st_size
    for ending in ("", "_classes"):
        want = rows(clinic, f"FROM kacpc{ending}('copied', k=10, l=2)")
        assert want and len(want[0]) > 2
        for name in ("my.clinic.patients", "my.patients", 'MY."clinic".PATIENTS'):
            assert rows(clinic, f"FROM kacpc{ending}('{name}', k = 10, l => 2)") == want
    clinic.execute("USE my")
    assert rows(clinic, "FROM kacpc_classes('patients', k := 10, l=2)") == want
    read = sent_queries(server, since).splitlines()
    assert len(read) == 7 and all(line.endswith("FROM `clinic`.`patients`") for line in read), read


def test_mysql_read_in_views_and_prepared_statements(clinic: Any) -> None:
    dbanon.declare(clinic, "my.clinic.patients", **ROLES)
    want = rows(clinic, "FROM kacpc('my.clinic.patients', k=10)")
    plain_result = dbanon.attach(clinic.raw.cursor())
    plain_result.execute("CREATE VIEW safe AS SELECT * FROM kacpc('my.clinic.patients', k=10)")
    assert rows(plain_result, "FROM safe") == want
    plain_result.execute("PREPARE asked AS SELECT * FROM kacpc('my.clinic.patients', k=10)")
    assert rows(plain_result, "EXECUTE asked") == want


def test_mysql_release_refreshed_and_checked_against_others(clinic: Any, server: MySqlServer) -> None:
    dbanon.declare(clinic, "my.clinic.patients", **ROLES)
    run_statements(clinic, "CREATE VIEW clinic.seen AS SELECT * FROM clinic.patients WHERE id <= 200")
    dbanon.declare(clinic, "my.clinic.seen", **ROLES)
    clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('my.clinic.patients', k=10)")
    run_statements(clinic, "INSERT INTO clinic.patients SELECT 1000 + seq, 'new', 30, 'f', 'Flu' FROM seq_1_to_20")
    assert rows(clinic, "SELECT status, added FROM release_status()") == [("stale", 20)]
    clinic.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
    assert rows(clinic, "SELECT count(*) FROM safe") == [(320,)]
    (bases,) = rows(clinic, "SELECT source_tables FROM releases() WHERE version = 2")[0]
    assert re.fullmatch(r'"mysql:[^"/]\S+"\."clinic"\."patients"', bases[0]) and len(bases) == 1
    with pytest.warns(dbanon.DisclosureWarning, match="safe version"):
        clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW mine AS SELECT * FROM kacpc('my.clinic.seen', k=7)")
    clinic.execute(f"ATTACH '{server.params(database=None)}' AS warehouse (TYPE mysql)")
    with pytest.warns(dbanon.DisclosureWarning, match="safe version"):
        clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW its AS SELECT * FROM kacpc('warehouse.clinic.patients', "
                       "k=8)")  # fmt: skip
    clinic.execute("""UPDATE dbanon.release SET source_tables = ['"mysql:before it moved"."clinic"."patients"']""")
    with pytest.warns(dbanon.DisclosureWarning, match="safe version"):
        clinic.execute("CREATE MATERIALIZED ANONYMIZED VIEW now AS SELECT * FROM kacpc('my.clinic.patients', k=9)")
    assert "would not be in clinic" in refusal_message(
        clinic, "CREATE MATERIALIZED ANONYMIZED VIEW my.clinic.safe AS SELECT * FROM kacpc('my.clinic.patients', k=10)"
    )


def test_nothing_created_in_mysql(clinic: Any, server: MySqlServer) -> None:
    with duckdb.connect() as other:
        dbanon.load_extension(other, "mysql")
        other.execute(f"ATTACH '{server.params()}' AS my (TYPE mysql)")
        other.execute("USE my")
        dbanon.attach(other)
        assert len(rows(other, "FROM kacpc('patients', k=10, qi=['age'])")) == 300
        assert rows(other, "FROM mysql_query('my', 'SHOW DATABASES LIKE ''%dbanon%''')") == []
        assert rows(other, "FROM mysql_query('my', 'SHOW TABLES')") == [("patients",)]


# --- the applicable policy -----------------------------------------------------------------------------------


def test_mysql_policy_found_under_any_attached_name(clinic: Any, server: MySqlServer) -> None:
    dbanon.declare(clinic, "my.patients", **ROLES)
    assert {row for (row,) in rows(clinic, "SELECT table_name FROM dbanon.policy")} == {"my.clinic.patients"}
    known_rows = rows(clinic, "FROM dbanon.foreign_database")
    assert known_rows == rows(clinic, "FROM attached_databases()") and known_rows[0][2].startswith("mysql:")
    want = rows(clinic, "FROM kacpc('my.clinic.patients', k=10)")
    clinic.execute(f"ATTACH '{server.params(database=None)}' AS warehouse (TYPE mysql)")
    assert rows(clinic, "FROM kacpc('warehouse.clinic.patients', k=10)") == want
    assert "would loosen the policy" in refusal_message(
        clinic, "FROM kacpc('warehouse.clinic.patients', k=10, insensitive=['name'])"
    )
    assert "warehouse.patients" in refusal_message(clinic, "FROM kacpc('warehouse.patients', k=10)")
    clinic.execute("UPDATE dbanon.foreign_database SET identity = 'mysql:another'")
    assert "is attached" in refusal_message(clinic, "FROM kacpc('my.clinic.patients', k=10)")
    clinic.execute("DELETE FROM dbanon.foreign_database")
    assert "does not identify that database" in refusal_message(clinic, "FROM kacpc('my.clinic.patients', k=10)")


def test_mysql_policy_without_database_identity_refused(clinic: Any) -> None:
    clinic.execute(
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('my.patients', 'name', 'identifier')"
    )
    for query in ("FROM kacpc('my.clinic.patients', k=10, qi=['age'])", "FROM kacpc('my.patients', k=10, qi=['name'])"):
        assert "several databases" in refusal_message(clinic, query)
    (problem,) = next(row for row in rows(clinic, "SELECT problem FROM policy_problems()"))
    assert "several databases" in problem
    run_statements(clinic, "CREATE TABLE clinic.visits (id int)")
    clinic.execute(
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('my.visits', 'id', 'insensitive')"
    )
    problems = " ".join(row[0] for row in rows(clinic, "SELECT problem FROM policy_problems()"))
    assert "rows about my.visits" in problems and "rows about my.patients" in problems
    clinic.execute("DELETE FROM dbanon.policy WHERE table_name = 'my.visits'")
    statement = re.search(r"UPDATE .* = 'my.patients'", problem)
    assert statement is not None
    clinic.execute(statement[0])
    clinic.execute("INSERT INTO dbanon.foreign_database FROM attached_databases() WHERE name = 'my'")
    assert "would loosen the policy" in refusal_message(clinic, "FROM kacpc('my.clinic.patients', k=10, qi=['name'])")


def test_mysql_databases_with_equal_names_have_own_policies(clinic: Any) -> None:
    run_statements(
        clinic, "CREATE DATABASE ward", "CREATE TABLE ward.patients AS SELECT * FROM clinic.patients WHERE id <= 100"
    )
    dbanon.declare(clinic, "my.clinic.patients", **ROLES)
    dbanon.declare(clinic, "my.ward.patients", sex="quasi")
    assert len(clinic.execute("FROM kacpc('my.clinic.patients', k=10)").description) == 4
    result = clinic.execute("FROM kacpc('my.ward.patients', k=10)")
    assert [c[0] for c in result.description] == ["sex", "class_id"] and len(result.fetchall()) == 100


def test_mysql_names_differing_only_by_case_refused(clinic: Any) -> None:
    run_statements(clinic, "CREATE TABLE clinic.Patients (age int)")
    for name in ("my.clinic.patients", 'my.clinic."Patients"'):
        assert "differ only by upper and lower case" in refusal_message(
            clinic, f"FROM kacpc('{name}', k=10, qi=['age'])"
        )


@pytest.mark.parametrize("hostile", ["x'); DROP TABLE patients; --", '"', "$$", "名 前 𝄞"[:3], "a.b", "x' OR '1'='1"])
def test_mysql_hostile_names_are_quoted(clinic: Any, hostile: str) -> None:
    run_statements(clinic, f"CREATE TABLE clinic.`{hostile}` AS SELECT 1 + seq % 2 AS `{hostile}` FROM seq_1_to_40")
    run_statements(clinic, f"CREATE VIEW clinic.over AS SELECT * FROM clinic.`{hostile}`")
    name = 'my.clinic."' + hostile.replace('"', '""') + '"'
    dbanon.declare(clinic, name, **{hostile: "quasi"})
    assert len(rows(clinic, f"FROM kacpc('{name.replace(chr(39), chr(39) * 2)}', k=10)")) == 40
    assert "no policy of its own" in refusal_message(clinic, "FROM kacpc('my.clinic.over', k=10, qi=['class_id'])")
    assert rows(clinic, "SELECT count(*) FROM my.clinic.patients") == [(300,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE clinic.`a``b` (age int)",
        "CREATE TABLE clinic.`a\\b` (age int)",
        "CREATE TABLE clinic.odd (age int, `a``, (SELECT name FROM clinic.patients) -- b` int)",
    ],
)
def test_mysql_names_unquoted_by_duckdb_refused(clinic: Any, statement: str) -> None:
    run_statements(clinic, statement)
    (name,) = rows(clinic, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'clinic' "
                           "AND table_name <> 'patients'")[0]  # fmt: skip
    message = refusal_message(clinic, f"""FROM kacpc('my.clinic."{name}"', k=10, qi=['age'])""")
    assert "which DuckDB quotes differently" in message, message
    clinic.execute(f"""INSERT INTO dbanon.policy (table_name, column_name, role) VALUES
                       ('my.clinic."{name}"', 'age', 'insensitive')""")
    clinic.execute("INSERT INTO dbanon.foreign_database FROM attached_databases() WHERE name = 'my'")
    assert "which DuckDB quotes differently" in rows(clinic, "SELECT problem FROM policy_problems()")[0][0]


def test_table_unknown_to_duckdb_is_reported(clinic: Any) -> None:
    rows(clinic, "FROM my.clinic.patients LIMIT 1")
    clinic.execute("CALL mysql_execute('my', 'CREATE TABLE clinic.later AS SELECT * FROM clinic.patients')")
    message = refusal_message(clinic, "FROM kacpc('my.clinic.later', k=10, qi=['age'])")
    assert "CALL mysql_clear_cache()" in message
    clinic.execute("CALL mysql_clear_cache()")
    assert len(rows(clinic, "FROM kacpc('my.clinic.later', k=10, qi=['age'])")) == 300


# --- views ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statements", "source"),
    [
        (("CREATE VIEW clinic.seen AS SELECT * FROM clinic.patients AS p WHERE p.name <> '`'",), "my.clinic.seen"),
        (
            (
                "CREATE VIEW clinic.deeper AS SELECT id, name FROM clinic.patients",
                "CREATE VIEW ward.seen AS SELECT d.name FROM clinic.deeper AS d JOIN clinic.deeper AS e ON d.id = e.id",
            ),
            "my.ward.seen",
        ),
        (
            ("CREATE VIEW clinic.seen AS WITH w AS (SELECT name FROM clinic.patients) SELECT name FROM w",),
            "my.clinic.seen",
        ),
        ((), "seen_here"),
        ((), "seen_shorter"),
    ],
)
def test_mysql_view_of_policy_table_requires_own_policy(clinic: Any, statements: tuple[str], source: str) -> None:
    dbanon.declare(clinic, "my.clinic.patients", **ROLES)
    run_statements(clinic, "CREATE DATABASE ward", *statements)
    clinic.execute("CREATE VIEW seen_here AS FROM my.clinic.patients")
    clinic.execute("CREATE VIEW seen_shorter AS FROM my.patients")
    message = refusal_message(clinic, f"FROM kacpc('{source}', k=10, qi=['name'])")
    assert "no policy of its own" in message and "my.clinic.patients" in message


def test_mysql_view_with_hidden_text_reads_all_tables(clinic: Any, server: MySqlServer) -> None:
    dbanon.declare(clinic, "my.clinic.patients", **ROLES)
    run_statements(
        clinic,
        "CREATE OR REPLACE USER plain",
        "CREATE TABLE clinic.numbers AS SELECT seq FROM seq_1_to_60",
        "CREATE VIEW clinic.other AS SELECT 1 + seq % 3 AS a FROM clinic.numbers",
        "GRANT SELECT ON clinic.* TO plain",
    )
    clinic.execute(f"ATTACH '{server.params('plain')}' AS mine (TYPE mysql)")
    assert "no policy of its own" in refusal_message(clinic, "FROM kacpc('mine.clinic.other', k=10, qi=['a'])")
    run_statements(clinic, "GRANT SHOW VIEW ON clinic.* TO plain")
    clinic.execute("DETACH mine")
    clinic.execute(f"ATTACH '{server.params('plain')}' AS mine (TYPE mysql)")
    assert len(rows(clinic, "FROM kacpc('mine.clinic.other', k=10, qi=['a'])")) == 60


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("select `p`.`id` AS `id` from `clinic`.`patients` `p`", {("clinic", "patients")}),
        ("select `p`.`id` AS `id` from `Clinic`.`PATIENTS` `p`", {("clinic", "patients")}),
        ("select 1 AS `1` from (`clinic`.`patients` `p` join `clinic`.`a``b`)", {("clinic", "patients"),
                                                                                  ("clinic", "a`b")}),
        ("select 1 AS `1` from `patients`", {("clinic", "patients")}),
        ("select ' from `a`.`' AS `x` from `hidden`.`secrets`", None),
        ("select ' from `' AS `x`,'`' AS `y` from `hidden`.`secrets`", None),
        ("select extract(year from `p`.`born`) AS `y` from `clinic`.`patients` `p`", {("clinic", "patients")}),
        ("with `w` as (select 1 AS `1`)select `w`.`1` AS `1` from `w`", set()),
        ("", None),
    ],
)  # fmt: skip
def test_mysql_view_text_parsed_to_source_tables(text: str, sources: set[tuple[str, str]] | None) -> None:
    assert (
        tables_in_definition(text, "clinic", [("clinic", "patients"), ("clinic", "a`b"), ("ward", "patients")])
        == sources
    )


# --- DuckDB compares, and at one moment ----------------------------------------------------------------------


def test_values_mysql_equates_are_counted_separately(clinic: Any, server: MySqlServer) -> None:
    """Its collations ignore case and trailing blanks; counts that DuckDB left to it would be wrong."""
    run_statements(
        clinic,
        "UPDATE clinic.patients SET disease = 'flu' WHERE disease = 'Flu' AND id > 150",
        "UPDATE clinic.patients SET disease = 'cold ' WHERE disease = 'Cold' AND id > 150",
    )
    clinic.execute("CREATE TABLE copied AS FROM my.clinic.patients")
    clinic.execute("CREATE VIEW seen_here AS FROM my.clinic.patients")
    since = server.log.stat().st_size
    for query in (
        "SELECT * EXCLUDE statement FROM profile('{}')",
        "FROM anonymity('{}', qi=['age', 'sex'], sensitive=['disease'])",
        "FROM kacpc_metrics('{}', k=10, qi=['age'], sensitive=['disease'], l=2, missing_codes=['m'], nulls='drop')",
        "SELECT label, parent FROM hierarchy_flat('d', '{}', 'disease')",
    ):
        wanted = [row[:-1] for row in rows(clinic, query.format("copied"))]  # profile repairs each in its own way
        for source in ("my.clinic.patients", "seen_here"):
            got = [row[:-1] for row in rows(clinic, query.format(source))]
            assert str(got).replace("my.clinic.patients", "copied").replace("seen_here", "copied") == str(wanted), query
    assert not re.search("WHERE|GROUP|ORDER|COUNT", sent_queries(server, since))


@pytest.mark.parametrize("setting", snapshot_guard.PUSHDOWN_SETTINGS)
@pytest.mark.parametrize("scope", ["GLOBAL", "SESSION"])
def test_mysql_reads_without_pushed_down_comparison(clinic: Any, setting: str, scope: str) -> None:
    clinic.execute("CREATE VIEW seen_here AS FROM my.clinic.patients")
    clinic.execute("CREATE TABLE mine AS SELECT 1 AS a FROM range(20)")
    clinic.execute(f"SET {scope} {setting} = true")
    try:
        for source in ("my.clinic.patients", "seen_here"):
            for value in (
                f"FROM kacpc('{source}', k=10, qi=['age'])",
                f"FROM anonymity('{source}', qi=['age'])",
                f"FROM profile('{source}')",
                f"CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('{source}', k=10, qi=['age'])",
            )[: 4 if scope == "GLOBAL" else 3]:  # a view is made by a session of its own
                assert f"SET GLOBAL {setting} = false" in refusal_message(clinic, value), value
        assert len(rows(clinic, "FROM kacpc('mine', k=10, qi=['a'])")) == 20
    finally:
        clinic.execute(f"SET {scope} {setting} = false")
    assert len(rows(clinic, "FROM kacpc('seen_here', k=10, qi=['age'])")) == 300


def test_mysql_release_reads_single_snapshot(clinic: Any, server: MySqlServer) -> None:
    """Every change keeps the number of records of each age."""
    run_statements(
        clinic,
        "CREATE TABLE clinic.moving (id int PRIMARY KEY, age int, pad varchar(200))",
        "INSERT INTO clinic.moving SELECT seq, seq % 2, repeat('x', 200) FROM seq_1_to_14000",
    )
    stopped = threading.Event()

    def write() -> None:
        with duckdb.connect() as other:
            dbanon.load_extension(other, "mysql")
            other.execute(f"ATTACH '{server.params()}' AS my (TYPE mysql)")
            while not stopped.is_set():
                run_statements(other, "UPDATE moving SET age = 1 - age WHERE id % 7 < 4")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            query = "SELECT age, count(*) FROM kacpc('my.clinic.moving', k=10, qi=['age']) GROUP BY ALL ORDER BY ALL"
            assert rows(clinic, query) == [("0", 7000), ("1", 7000)]
    finally:
        stopped.set()
        writer.join()


def test_mysql_uncommitted_rows_are_not_read(clinic: Any, server: MySqlServer) -> None:
    clinic.execute("CREATE VIEW seen_here AS FROM my.clinic.patients")
    run_statements(clinic, "SET GLOBAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
    try:
        clinic.execute("DETACH my")
        clinic.execute(f"ATTACH '{server.params()}' AS my (TYPE mysql)")
        for source in ("my.clinic.patients", "seen_here"):
            assert "READ UNCOMMITTED" in refusal_message(clinic, f"FROM kacpc('{source}', k=10, qi=['age'])")
    finally:
        run_statements(clinic, "SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")


# --- types ---------------------------------------------------------------------------------------------------

TYPES = {
    "tinyint(1)": "seq % 2",
    "tinyint unsigned": "254 + seq % 2",
    "bigint unsigned": "18446744073709551614 + seq % 2",
    "mediumint": "-8388608",
    "decimal(10,2)": "-1.25",
    "decimal(65,30)": "0.1",
    "float": "1.1",
    "double": "1e308",
    "bit(1)": "seq % 2",
    "bit(8)": "183",
    "enum('a','b')": "elt(1 + seq % 2, 'a', 'b')",
    "set('x','y')": "'x,y'",
    "date": "'1000-01-01'",
    "datetime(6)": "'1969-07-20 20:17:40.123456'",
    "timestamp": "'1970-01-02 00:00:00'",
    "time": "'-838:59:59'",
    "year": "2020",
    "json": "'{\"a\": 1}'",
    "text": "'😀'",
    "varchar(10) character set latin1": "'é'",
    "char(5)": "'ab  '",
    "varbinary(10)": "x'ff00'",
    "uuid": "'00000000-0000-0000-0000-000000000001'",
    "point": "point(1, 2)",
}


@pytest.mark.parametrize("type_", TYPES)
def test_mysql_types_released_like_copy_or_refused(clinic: Any, type_: str) -> None:
    run_statements(clinic, f"CREATE TABLE clinic.typed (n int, v {type_} NULL)",
          f"INSERT INTO clinic.typed SELECT seq % 3, {TYPES[type_]} FROM seq_1_to_60")  # fmt: skip
    clinic.execute("CREATE TABLE typed AS FROM my.clinic.typed")
    for roles in ("qi=['v']", "qi=['n'], insensitive=['v']"):
        answers = []
        for source in ("typed", "my.clinic.typed"):
            try:
                answers.append(str(rows(clinic, f"FROM kacpc('{source}', k=10, {roles})")))
            except duckdb.Error as error:
                answers.append(str(error).replace(source, "typed").split("LINE")[0])
        assert answers[0] == answers[1]
        assert re.search(r"\[\(|cannot be a quasi-identifier", answers[0])


def test_invalid_date_is_null_or_error_without_cell(clinic: Any) -> None:
    run_statements(
        clinic,
        "CREATE TABLE clinic.dated AS SELECT seq % 2 AS n, CAST('1969-01-01' AS date) AS d FROM seq_1_to_40",
        "SET SESSION sql_mode = ''",
        "UPDATE clinic.dated SET d = '0000-00-00' WHERE n = 1",
    )
    assert {row[0] for row in rows(clinic, "FROM kacpc('my.clinic.dated', k=10, qi=['d'])")} == {"1969-01", None}
    run_statements(clinic, "SET SESSION sql_mode = ''", "UPDATE clinic.dated SET d = '1987-00-00' WHERE n = 1")
    for query in (
        "FROM kacpc('my.clinic.dated', k=10, qi=['d'])",
        "FROM profile('my.clinic.dated')",
        "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('my.clinic.dated', k=10, qi=['d'])",
    ):
        message = refusal_message(clinic, query)
        assert "could not be read or converted" in message and "1987" not in message


def test_changed_column_error_quotes_no_cell(clinic: Any) -> None:
    rows(clinic, "FROM my.clinic.patients LIMIT 1")
    clinic.execute("CALL mysql_execute('my', 'ALTER TABLE clinic.patients MODIFY age varchar(20)')")
    clinic.execute("CALL mysql_execute('my', 'UPDATE clinic.patients SET age = ''swordfish'' WHERE id = 7')")
    for query in (
        "FROM kacpc('my.clinic.patients', k=10, qi=['age'])",
        "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('my.clinic.patients', k=10, qi=['age'])",
        "FROM risk('my.clinic.patients', qi=['age'])",
    ):
        assert "swordfish" not in refusal_message(clinic, query), query


def test_mysql_error_contains_no_cell(clinic: Any) -> None:
    run_statements(
        clinic,
        "CREATE FUNCTION clinic.told(v varchar(40)) RETURNS int DETERMINISTIC BEGIN "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v; RETURN 1; END",
        "CREATE VIEW clinic.broken AS SELECT clinic.told(name) AS age FROM clinic.patients",
    )
    for query in ("FROM kacpc('my.clinic.broken', k=10, qi=['age'])", "FROM profile('my.clinic.broken')"):
        message = refusal_message(clinic, query)
        assert "an error of MySQL" in message and "somebody" not in message


def test_mysql_unreadable_table_is_reported(clinic: Any, server: MySqlServer) -> None:
    run_statements(clinic, "CREATE OR REPLACE USER plain", "GRANT SELECT (id) ON clinic.patients TO plain")
    clinic.execute(f"ATTACH '{server.params('plain')}' AS mine (TYPE mysql)")
    clinic.execute(f"ATTACH '{server.params('plain')}' AS more (TYPE mysql)")
    assert len(rows(clinic, "FROM kacpc('mine.clinic.patients', k=10, qi=['id'], allow_rare=['id'])")) == 300
    rows(clinic, "SELECT count(*) FROM more.clinic.patients")
    run_statements(clinic, "REVOKE SELECT (id) ON clinic.patients FROM plain", "CREATE TABLE clinic.free (a int)",
          "GRANT SELECT ON clinic.free TO plain")  # fmt: skip
    message = refusal_message(clinic, "FROM kacpc('mine.clinic.patients', k=10, qi=['id'])")
    assert "no table" in message or "denied" in message, message


@pytest.mark.parametrize("count", [0, 1])
def test_mysql_table_with_zero_or_one_row_refused(clinic: Any, count: int) -> None:
    run_statements(clinic, f"DELETE FROM clinic.patients WHERE id > {count}")
    assert re.search("has no rows|1 row", refusal_message(clinic, "FROM kacpc('my.clinic.patients', k=10, qi=['age'])"))


def test_mysql_server_without_identity_has_no_policy(clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbanon.source import attached_databases

    silent = attached_databases._SYSTEMS["mysql"].__class__(
        **{
            **attached_databases._SYSTEMS["mysql"].__dict__,
            "identity": "SELECT CONCAT('mysql:', NULLIF('', '')) AS identity",
        }
    )
    monkeypatch.setitem(attached_databases._SYSTEMS, "mysql", silent)
    with pytest.raises(errors.DatabaseIdentityUnavailableError, match="what it says is empty"):
        dbanon.declare(clinic, "my.clinic.patients", **ROLES)
    assert len(rows(clinic, "FROM kacpc('my.clinic.patients', k=10, qi=['age'])")) == 300
