"""CREATE, REFRESH and DROP MATERIALIZED ANONYMIZED VIEW on connections of dbanon.connect."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.errors import DbanonError

CREATE = "CREATE MATERIALIZED ANONYMIZED VIEW"
REFRESH = "REFRESH MATERIALIZED ANONYMIZED VIEW"
DROP = "DROP MATERIALIZED ANONYMIZED VIEW"
ROLES = "qi=['age', 'sex'], sensitive=['disease'], identifier=['pid']"
HOSTILE = [
    "x'); DROP TABLE patients; --",
    'a "quoted" one',
    "select",
    "a.b",
    "; /* ; */ --",
    "😀 日本",
    "line\nbreak",
    "$$",
    "AS SELECT * FROM kacpc",
]


def patients(con: Any, name: str, count: int = 40) -> None:
    """Create a table of patients."""
    con.execute(
        f"CREATE TABLE {name} AS SELECT i AS pid, (20 + i * 7 % 40)::INTEGER AS age, ['F', 'M'][1 + i % 2] AS sex, "
        f"['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease FROM range({count}) AS r (i)"
    )
    con.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (pid)")


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Any]:
    """Create a database of 40 patients with a policy."""
    with dbanon.connect(tmp_path / "clinic.duckdb") as connection:
        patients(connection, "patients")
        dbanon.declare(connection, "patients", pid="identifier", age="quasi", sex="quasi", disease="sensitive")
        yield connection


def tables(con: Any) -> list[str]:
    return [row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()]


def releases(con: Any) -> list[tuple[str, int, str]]:
    return con.execute("SELECT name, version, status FROM releases()").fetchall()  # type: ignore[no-any-return]


def call_of(con: Any, name: str) -> str:
    """Return the call that the ledger has for the last version of a release."""
    rows = con.execute("SELECT call FROM releases() WHERE name = ? ORDER BY version DESC", [name]).fetchall()
    return str(rows[0][0])


# --- effects ------------------------------------------------------------------------------------------------


def test_create_statement_creates_three_tables(con: Any) -> None:
    result = con.execute(f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=5, l=2)")
    assert [column[0] for column in result.description] == ["name", "version", "records", "classes"]
    (row,) = result.fetchall()
    assert row == ("safe", 1, 40, con.execute("SELECT count(*) FROM safe_classes").fetchall()[0][0])
    assert con.execute("FROM safe").fetchall() == con.execute("FROM kacpc('patients', k=5, l=2)").fetchall()
    assert (
        con.execute("FROM safe_metrics").fetchall()
        == con.execute(
            "SELECT * EXCLUDE (is_publishable) FROM kacpc_metrics('patients', k=5, l=2) WHERE is_publishable"
        ).fetchall()
    )
    assert releases(con) == [("safe", 1, "published")]


def test_refresh_creates_version_and_drop_removes_tables(con: Any) -> None:
    old_tables = tables(con)
    con.execute(f"{CREATE} safe AS FROM kacpc('patients', k=5)")
    con.execute("INSERT INTO patients SELECT 100 + i, 30, 'F', 'Flu' FROM range(6) AS r (i)")
    assert con.execute(f"{REFRESH} safe").fetchall()[0][:3] == ("safe", 2, 46)
    assert con.execute("SELECT count(*) FROM safe").fetchall() == [(46,)]
    dropped = con.execute(f"{DROP} safe")
    assert [column[0] for column in dropped.description] == ["Success"]
    assert dropped.fetchall() == []
    assert tables(con) == old_tables
    assert releases(con) == [("safe", 1, "replaced"), ("safe", 2, "dropped")]


@pytest.mark.not_everyday
def test_result_that_is_not_fetched_does_not_block_connection(con: Any, tmp_path: Path) -> None:
    for statement in (
        f"{CREATE} safe AS FROM kacpc('patients', k=5)",
        f"{REFRESH} safe",
        f"PUBLISH MATERIALIZED ANONYMIZED VIEW safe TO '{tmp_path / 'safe.parquet'}'",
        f"{DROP} safe",
    ):
        con.execute(statement)
        assert con.sql("SELECT 1").fetchall() == [(1,)]


def test_statements_ignore_case_comments_and_semicolons(con: Any) -> None:
    con.execute(
        "-- make; it\n/* 'now */ create Materialized /* ; */ ANONYMIZED view -- here\n Safe as /* '(' */ select * from "
        "KACPC( /* the ; table */ 'patients', k=5 -- )\n ) ; -- done"
    )
    con.execute("  refresh materialized anonymized view SAFE with (if_stale=false)  ;; ")
    assert releases(con) == [("Safe", 1, "replaced"), ("Safe", 2, "published")]
    con.execute('drop materialized anonymized view if exists main."safe";')
    assert releases(con)[-1] == ("Safe", 2, "dropped")


@pytest.mark.not_everyday
def test_several_statements_in_single_call_run_in_order(con: Any) -> None:
    rows = con.execute(
        f"CREATE TABLE other AS FROM patients; {CREATE} a KEY (pid) AS FROM kacpc('other', k=5, {ROLES}); "
        f"{REFRESH} a WITH (if_stale = false); INSERT INTO other SELECT 99, 1, 'F', 'a;b'; "
        "SELECT count(*), 'x;y' FROM a"
    ).fetchall()
    assert rows == [(40, "x;y")]
    assert releases(con) == [("a", 1, "replaced"), ("a", 2, "published")]
    with pytest.warns(dbanon.DisclosureWarning, match="people 15 with a version 1"):  # other was a copy of patients
        relation = con.sql(f"{DROP} a; {CREATE} b AS FROM mondrian('patients', k=4)")
    assert relation.columns == ["name", "version", "records", "classes"]
    assert relation.fetchall()[0][:3] == ("b", 1, 40)


@pytest.mark.not_everyday
@pytest.mark.parametrize("method", ["sql", "query", "from_query"])
def test_sql_and_query_methods_run_statements(con: Any, method: str) -> None:
    run = getattr(con, method)
    assert run(f"{CREATE} safe AS FROM kacpc('patients', k=$1)", params=[5]).fetchall()[0][:3] == ("safe", 1, 40)
    assert run(f"{REFRESH} safe WITH (if_stale = false)").filter("version = 2").fetchall()[0][0] == "safe"
    assert run(f"{DROP} safe").fetchall() == []


@pytest.mark.not_everyday
@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ("'patients', k=5, weights={'age': 2}, qi=['sex', 'age']", None),
        ("'patients', k := 2 + 3, weights := {'age': 2}, qi := list_concat(['sex'], ['age'])", None),
        ("'patients', k => 5, weights => MAP {'age': 2}, qi => ['sex', 'age']", None),
        ("tbl := 'pat' || 'ients', k := 5::INTEGER, weights := {'age': 2}, qi := $$['sex', 'age']$$::VARCHAR[]", None),
        ("'patients', k=?, weights=?, qi=?", [5, {"age": 2}, ["sex", "age"]]),
        ("$t, k=$k, weights := $w, qi => $qi", {"t": "patients", "k": 5, "w": {"age": 2}, "qi": ["sex", "age"]}),
    ],
)
def test_arguments_evaluated_by_duckdb(con: Any, arguments: str, parameters: Any) -> None:
    dbanon.create_release(con, "told", "kacpc", "patients", k=5, weights={"age": 2}, qi=["sex", "age"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        con.execute(f"{CREATE} safe AS FROM kacpc({arguments})", parameters)
    assert json.loads(call_of(con, "safe")) == json.loads(call_of(con, "told"))
    assert con.execute("FROM safe").fetchall() == con.execute("FROM told").fetchall()


@pytest.mark.not_everyday
def test_prepared_values_apply_to_last_statement(con: Any) -> None:
    con.execute(f"CREATE TABLE t (i INTEGER); {CREATE} safe AS FROM kacpc('patients', k=?)", [7])
    assert '"k": 7' in call_of(con, "safe")
    for query in (f"{REFRESH} safe", f"{DROP} safe"):
        with pytest.raises(duckdb.Error, match="mismatch"):
            con.execute(query, [7])
    with pytest.raises(duckdb.Error, match="not provided"):
        con.execute(f"{CREATE} more AS FROM kacpc('patients', k=?); SELECT ?", [7])
    assert releases(con) == [("safe", 1, "published")]


@pytest.mark.not_everyday
def test_statement_options_equal_function_options(con: Any) -> None:
    con.execute(f"{CREATE} a AS FROM kacpc('patients', k=5)")
    with pytest.raises(errors.CompositionRefusedError):
        con.execute(f"{CREATE} b WITH (composition = 'refuse') AS FROM mondrian('patients', k=3)")
    assert releases(con) == [("a", 1, "published")]
    con.execute("DELETE FROM patients WHERE pid = 3")
    with pytest.raises(errors.DbanonError, match="The old version stays"):
        con.execute(f"{REFRESH} a")
    assert con.execute("SELECT count(*) FROM a").fetchall() == [(40,)]
    with pytest.warns(dbanon.DisclosureWarning):
        con.execute(f"{REFRESH} a WITH (Mode = recluster, allow_small_differences = TRUE, composition = 'refuse');")
    last = con.execute(
        "SELECT version, refresh_mode, allow_small_differences FROM releases() ORDER BY version DESC LIMIT 1"
    ).fetchall()
    assert last == [(2, "recluster", True)]


@pytest.mark.not_everyday
def test_key_clause_sets_person_key_columns(con: Any) -> None:
    con.execute("CREATE VIEW half AS FROM patients WHERE pid % 2 = 0")
    dbanon.declare(con, "half", pid="identifier", age="quasi", sex="quasi", disease="sensitive")
    con.execute(f"{CREATE} a KEY (\"PID\", sex) AS FROM kacpc('half', k=5, {ROLES})")
    assert con.execute("SELECT person_key FROM releases()").fetchall() == [(["pid", "sex"],)]


@pytest.mark.not_everyday
@pytest.mark.parametrize("query", ["{} safe AS FROM mondrian('patients', k=3)"])
def test_statement_warning_points_at_calling_line(con: Any, query: str) -> None:
    con.execute(f"{CREATE} first AS FROM kacpc('patients', k=5)")
    with pytest.warns(dbanon.DisclosureWarning) as caught:
        con.execute(query.format(CREATE))
        con.sql(f"{REFRESH} safe WITH (mode = 'recluster', allow_small_differences = true)")
        dbanon.refresh_release(con, "safe", if_stale=False)
        con.execute(f"{DROP} safe")
        dbanon.create_release(con, "again", "mondrian", "patients", k=3)
    assert len(caught) >= 5
    assert {warning.filename for warning in caught} == {__file__}
    assert len({warning.lineno for warning in caught}) == 4


# --- names --------------------------------------------------------------------------------------------------


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", HOSTILE)
def test_statements_accept_odd_release_name(con: Any, name: str) -> None:
    old_tables = tables(con)
    quoted = '"' + name.replace('"', '""') + '"'
    assert con.execute(f"{CREATE} {quoted} AS FROM kacpc('patients', k=5)").fetchall()[0][0] == name
    assert set(tables(con)) - set(old_tables) == {name, f"{name}_classes", f"{name}_metrics"}
    assert con.execute(f"{REFRESH} clinic.main.{quoted}; SELECT count(*) FROM {quoted}").fetchall() == [(40,)]
    con.execute(f"{DROP} main.{quoted}")
    assert tables(con) == old_tables


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", HOSTILE)
def test_statements_accept_odd_source_name(con: Any, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    con.execute(f"CREATE TABLE {quoted} AS FROM patients")
    source = quoted.replace("'", "''")
    con.execute(f"{CREATE} safe AS SELECT * FROM \"kacpc\"('{source}', k=5, {ROLES}); SELECT 1")
    con.execute(f"{REFRESH} safe WITH (if_stale = false)")
    assert releases(con) == [("safe", 1, "replaced"), ("safe", 2, "published")]


@pytest.mark.not_everyday
def test_statement_schema_names_ignore_case(con: Any) -> None:
    con.execute('CREATE SCHEMA "odd s"')
    con.execute(f"{CREATE} \"ODD s\".safe AS FROM kacpc('patients', k=5)")
    assert con.execute("SELECT schema_name, name FROM releases()").fetchall() == [("odd s", "safe")]
    with pytest.raises(errors.ReleaseExistsError):
        con.execute(f"{CREATE} CLINIC.\"Odd S\".SAFE AS FROM kacpc('patients', k=5)")
    con.execute(f'{REFRESH} clinic."odd S".Safe WITH (if_stale = false); {DROP} "Odd s".safe')
    assert releases(con)[-1] == ("safe", 2, "dropped")


@pytest.mark.not_everyday
def test_attached_database_keeps_own_releases(con: Any, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'second.duckdb'}' AS \"second one\"")
    patients(con, '"second one".people')
    con.execute(f'{CREATE} "second one".safe AS FROM kacpc(\'"second one".people\', k=5, {ROLES})')
    con.execute(f'{REFRESH} "SECOND one".main.safe; {REFRESH} "second one".safe')
    assert con.execute("SELECT DISTINCT database_name FROM releases()").fetchall() == [("second one",)]
    with pytest.raises(errors.ReleaseOutsideSourceDatabaseError):
        con.execute(f"{CREATE} clinic.safe AS FROM kacpc('\"second one\".people', k=5, {ROLES})")
    con.execute('USE "second one"')
    with pytest.warns(dbanon.DisclosureWarning):
        con.execute(f"{CREATE} here AS FROM kacpc('people', k=8, {ROLES}); {DROP} safe")
    with pytest.warns(dbanon.DisclosureWarning, match="here version 1"):  # of the same people
        con.execute(f"{CREATE} clinic.safe AS FROM kacpc('clinic.patients', k=5)")
    rows = con.execute("SELECT database_name, name FROM releases() WHERE status = 'published'").fetchall()
    assert rows == [("clinic", "safe"), ("second one", "here")]


@pytest.mark.not_everyday
def test_ambiguous_schema_or_database_name_raises(con: Any) -> None:
    con.execute("CREATE SCHEMA clinic")
    with pytest.raises(errors.AmbiguousTableError):
        con.execute(f"{CREATE} clinic.safe AS FROM kacpc('clinic.main.patients', k=5)")
    con.execute(f"{CREATE} clinic.clinic.safe AS FROM kacpc('clinic.main.patients', k=5)")


# --- OR REPLACE, IF EXISTS, IF NOT EXISTS -------------------------------------------------------------------


@pytest.mark.not_everyday
def test_or_replace_only_replaces_release(con: Any) -> None:
    con.execute("CREATE TABLE mine AS SELECT 1 AS i")
    with pytest.raises(errors.ReleaseExistsError, match="not tables of a release"):
        con.execute(f"CREATE OR REPLACE{CREATE.removeprefix('CREATE')} mine AS FROM kacpc('patients', k=5)")
    assert con.execute("FROM mine").fetchall() == [(1,)]
    con.execute(f"{CREATE} safe AS FROM kacpc('patients', k=5)")
    with pytest.raises(errors.ReleaseExistsError, match="OR REPLACE"):
        con.execute(f"{CREATE} safe AS FROM kacpc('patients', k=8)")
    replace = "create or replace materialized anonymized view safe"
    with pytest.raises(
        errors.SmallDifferencesRefusedError, match=r"^create_release: "
    ):  # only what a refresh may do, too
        con.execute(f"{replace} AS FROM mondrian('patients', k=8)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        con.execute(f"{replace} WITH (allow_small_differences = true) AS FROM mondrian('patients', k=8)")
    assert con.execute("SELECT version, algorithm, status FROM releases()").fetchall() == [
        (1, "kacpc", "replaced"),
        (2, "mondrian", "published"),
    ]


def test_if_not_exists_keeps_existing_release(con: Any) -> None:
    con.execute(f"{CREATE} IF NOT EXISTS safe AS FROM kacpc('patients', k=5)")
    second_result = con.execute(f"{CREATE} IF NOT EXISTS SAFE AS FROM kacpc('patients', k=8)")
    assert second_result.fetchall() == []
    assert '"k": 5' in call_of(con, "safe")
    con.execute("CREATE TABLE mine (i INTEGER)")
    with pytest.raises(errors.ReleaseExistsError):
        con.execute(f"{CREATE} IF NOT EXISTS mine AS FROM kacpc('patients', k=5)")


def test_if_exists_ignores_missing_release(con: Any) -> None:
    with pytest.raises(errors.UnknownReleaseError):
        con.execute(f"{DROP} safe")
    assert con.execute(f"{DROP} IF EXISTS safe").fetchall() == []
    with pytest.raises(errors.UnknownReleaseError):
        con.execute(f"{DROP} patients")
    con.execute(f"{DROP} IF EXISTS patients")
    assert "patients" in tables(con)


# --- mistakes -----------------------------------------------------------------------------------------------

FINE = "FROM kacpc('patients', k=5)"

UNREADABLE = [
    f"{CREATE}",
    f"{CREATE} AS {FINE}",
    f"{CREATE} select AS {FINE}",
    f"{CREATE} 's' AS {FINE}",
    f'{CREATE} "" AS {FINE}',
    f"{CREATE} a-b AS {FINE}",
    f"{CREATE} a.b.c.d AS {FINE}",
    f"{CREATE} a. AS {FINE}",
    f"{CREATE} ? AS {FINE}",
    f"{CREATE} s",
    f"{CREATE} s {FINE}",
    f"{CREATE} s KEY AS {FINE}",
    f"{CREATE} s KEY () AS {FINE}",
    f"{CREATE} s KEY (pid, ) AS {FINE}",
    f"{CREATE} s KEY ('pid') AS {FINE}",
    f"{CREATE} s WITH () AS {FINE}",
    f"{CREATE} s WITH (composition 'refuse') AS {FINE}",
    f"{CREATE} s WITH (composition = ?) AS {FINE}",
    f"{CREATE} s WITH (composition = 'refuse' AS {FINE}",
    f"{CREATE} IF EXISTS s AS {FINE}",
    f"CREATE OR REPLACE MATERIALIZED ANONYMIZED VIEW IF NOT EXISTS s AS {FINE}",
    f"CREATE MATERIALIZED ANONYMIZED TABLE s AS {FINE}",
    f"{REFRESH}",
    f"{REFRESH} IF EXISTS kept",
    f"{REFRESH} kept, kept",
    f"{REFRESH} kept CASCADE",
    f"{REFRESH} kept WITH (mode = -1)",
    f"{REFRESH} kept WITH (mode = 'keep') now",
    f"{DROP} kept CASCADE",
    f"{DROP} IF NOT EXISTS kept",
    f"{DROP} kept WITH (mode = 'keep')",
]

OTHER_QUERIES = [
    "",
    "SELECT age FROM kacpc('patients', k=5)",
    "SELECT *, 1 FROM kacpc('patients', k=5)",
    "SELECT * EXCLUDE (age) FROM kacpc('patients', k=5)",
    "SELECT DISTINCT * FROM kacpc('patients', k=5)",
    "SELECT count(*) FROM kacpc('patients', k=5)",
    "SELECT * FROM kacpc('patients', k=5) WHERE age > '3'",
    "FROM kacpc('patients', k=5) LIMIT 1",
    "FROM kacpc('patients', k=5) AS k",
    "FROM kacpc('patients', k=5) SELECT age",
    "FROM kacpc('patients', k=5), patients",
    "FROM kacpc('patients', k=5) UNION ALL FROM kacpc('patients', k=5)",
    "SELECT * FROM (FROM kacpc('patients', k=5))",
    "WITH x AS (SELECT 1) FROM kacpc('patients', k=5)",
    "FROM kacpc_classes('patients', k=5)",
    "FROM kacpc_metrics('patients', k=5)",
    "FROM inference('patients', k=5)",
    "FROM k_anonymity('patients')",
    "FROM kacp('patients', k=5)",
    "FROM range(5)",
    "FROM patients",
    "FROM temp.kacpc('patients', k=5)",
    "VALUES (1)",
    "'; FROM kacpc(''patients'', k=5)'",
]

MISTAKES: list[tuple[str, type[Exception], str]] = [
    *((query, errors.UnreadableStatementError, "Accepted: ") for query in UNREADABLE),
    *(
        (f"{CREATE} s AS {query}", errors.NotASingleCallError, "must be one call and nothing else")
        for query in OTHER_QUERIES
    ),
    (f"{CREATE} s AS FROM kacp('patients')", errors.NotASingleCallError, "Did you mean 'kacpc'"),
    (f"{CREATE} s WITH (compositon = 'warn') AS {FINE}", errors.UnknownParameterError, "Did you mean 'composition'"),
    (
        f"{CREATE} s WITH (mode = 'keep') AS {FINE}",
        errors.UnknownParameterError,
        "Accepted: composition, allow_small_differences",
    ),
    (f"{CREATE} s WITH (composition = 'maybe') AS {FINE}", errors.InvalidArgumentError, "'warn', 'refuse'"),
    (f"{CREATE} s WITH (composition = true) AS {FINE}", errors.InvalidArgumentError, "composition must be a text"),
    (f"{REFRESH} kept WITH (allow_small_differences = 'yes')", errors.InvalidArgumentError, "true or false"),
    (f"{REFRESH} kept WITH (mode = 'keep', Mode = 'keep')", errors.RepeatedArgumentError, "given twice"),
    (f"{REFRESH} kept WITH (mode = 'all')", errors.InvalidArgumentError, "'keep', 'hold', 'recluster'"),
    (f"{REFRESH} kep", errors.UnknownReleaseError, "Did you mean 'kept'"),
    (f"{CREATE} s KEY (nope) AS {FINE}", errors.UnknownColumnError, "nope"),
    (f"{CREATE} temp.s AS {FINE}", errors.ReleaseOutsideSourceDatabaseError, "memory"),
    (f"{CREATE} nowhere.s AS {FINE}", duckdb.CatalogException, "nowhere"),
    (f"{CREATE} s AS FROM kacpc('patients', kk=5)", errors.UnknownParameterError, "Did you mean 'k'"),
    (f"{CREATE} s AS FROM kacpc('patients', k=5, replace := true)", errors.UnknownParameterError, "replace"),
    (f"{CREATE} s AS FROM kacpc('patients', k=5, 'replace' = true)", errors.UnknownParameterError, "replace"),
    (f"{CREATE} s AS FROM kacpc('patients', 5)", errors.UnreadableArgumentError, "5"),
    (f"{CREATE} s AS FROM kacpc('patients')", errors.MissingArgumentError, "k is missing"),
    (f"{CREATE} s AS FROM kacpc('patients', k=1)", errors.InvalidArgumentError, "at least 2"),
    (f"{CREATE} s AS FROM kacpc('patient', k=5)", errors.UnknownTableError, "Did you mean 'patients'"),
    (f"{CREATE} s AS FROM kacpc(NULL, k=5)", errors.MissingArgumentError, "tbl"),
    (f"{CREATE} s AS FROM kacpc('patients', k=50)", duckdb.Error, "40"),
    (f"{CREATE} s AS FROM kacpc((SELECT 'patients'), k=5)", duckdb.Error, "subqueries"),
    (f"{CREATE} s AS FROM kacpc(age, k=5)", errors.UnknownTableError, "'age'"),
    (f"{CREATE} s AS FROM kacpc('patients', k=5", duckdb.ParserException, "syntax error"),
    (f"{CREATE} s AS FROM kacpc('patients', k=(5)]", duckdb.ParserException, "syntax error"),
    (f"{CREATE} s AS FROM kacpc('patients, k=5)", duckdb.Error, "."),
    (f"CREATE TABLE t (i INTEGER); {CREATE} s AS FROM patients", errors.NotASingleCallError, "call"),
    (f"CREATE TABLE t (i INTEGER); {CREATE} s AS {FINE}; SELEC 1", duckdb.ParserException, "SELEC"),
    (f"EXPLAIN {CREATE} s AS {FINE}", duckdb.ParserException, "syntax error"),
    (f"CREATE ANONYMIZED VIEW s AS {FINE}", duckdb.ParserException, "syntax error"),
]


@pytest.fixture(scope="module")
def kept_release_con() -> Iterator[Any]:
    """Create a database in memory with a release `kept`."""
    with dbanon.connect() as connection:
        patients(connection, "patients")
        dbanon.declare(connection, "patients", pid="identifier", age="quasi", sex="quasi", disease="sensitive")
        connection.execute(f"{CREATE} kept AS FROM kacpc('patients', k=5)")
        yield connection


@pytest.mark.parametrize(("query", "kind", "says"), MISTAKES, ids=[query for query, _, _ in MISTAKES])
def test_invalid_statement_refused_without_changes(
    kept_release_con: Any, query: str, kind: type[Exception], says: str
) -> None:
    old_values = (
        tables(kept_release_con),
        releases(kept_release_con),
        kept_release_con.execute("FROM kept").fetchall(),
    )
    for run in (kept_release_con.execute, kept_release_con.sql):
        with pytest.raises(kind, match=says):
            run(query)
    assert (
        tables(kept_release_con),
        releases(kept_release_con),
        kept_release_con.execute("FROM kept").fetchall(),
    ) == old_values


@pytest.mark.not_everyday
def test_statement_refused_inside_transaction(con: Any) -> None:
    con.execute(f"{CREATE} kept AS {FINE}")
    con.execute("BEGIN; CREATE TABLE t (i INTEGER)")
    for query in (f"{CREATE} s AS {FINE}", f"{REFRESH} kept", f"{DROP} kept"):
        with pytest.raises(errors.OpenTransactionError):
            con.execute(query)
    con.execute("COMMIT")
    assert releases(con) == [("kept", 1, "published")]
    with pytest.raises(errors.OpenTransactionError):
        con.execute(f"BEGIN; {CREATE} s AS {FINE}; COMMIT")
    con.execute("ROLLBACK")
    con.execute(f"{CREATE} s AS FROM kacpc('patients', k=5)")


@pytest.mark.not_everyday
def test_statement_refused_in_read_only_database(con: Any, tmp_path: Path) -> None:
    con.execute(f"{CREATE} kept AS {FINE}")
    con.close()
    with dbanon.connect(tmp_path / "clinic.duckdb", read_only=True) as reader:
        for query in (f"{CREATE} s AS {FINE}", f"{REFRESH} kept", f"{DROP} kept"):
            with pytest.raises((duckdb.Error, DbanonError), match="read-only"):
                reader.execute(query)
        assert releases(reader) == [("kept", 1, "published")]
        reader.execute(f"{DROP} IF EXISTS s")


@pytest.mark.not_everyday
def test_connection_local_source_refused(con: Any) -> None:
    frame = con.execute("FROM patients").df()
    con.execute("CREATE TEMP TABLE passing AS FROM patients")
    for source in ("frame", "passing"):
        with pytest.raises(errors.UnstableSourceError, match="copy it into a table"):
            con.execute(f"{CREATE} s AS FROM kacpc('{source}', k=5, {ROLES})")
    assert len(frame) == 40
    assert releases(con) == []


def test_statement_on_plain_connection_raises_parser_error() -> None:
    with duckdb.connect() as plain_con, pytest.raises(duckdb.ParserException):
        dbanon.attach(plain_con).execute(f"{CREATE} s AS {FINE}")


# --- connections --------------------------------------------------------------------------------------------


@pytest.mark.not_everyday
def test_statements_work_in_memory_and_on_cursors() -> None:
    with dbanon.connect() as memory:
        patients(memory, "patients")
        with memory.cursor() as cursor:
            cursor.execute(f"{CREATE} safe AS FROM kacpc('patients', k=5, {ROLES})")
        memory.execute(f"{REFRESH} safe WITH (if_stale = false); {REFRESH} memory.safe WITH (if_stale = false)")
        assert memory.execute("SELECT count(*) FROM safe").fetchall() == [(40,)]
        assert len(releases(memory)) == 3


@pytest.mark.not_everyday
def test_no_state_kept_after_statement(con: Any) -> None:
    for query in (
        f"{CREATE} s AS FROM kacpc('patients', 5)",
        f"{CREATE} s AS FROM kacpc(age, k=5)",
        f"{CREATE} s AS {FINE}",
    ):
        with contextlib.suppress(duckdb.Error, DbanonError):
            con.execute(query)
        assert len(con.execute("FROM kacpc('patients', k=5)").fetchall()) == 40


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'CREATE MATERIALIZED ANONYMIZED VIEW s AS FROM kacpc(''patients'', k=5); x'",
        "-- CREATE MATERIALIZED ANONYMIZED VIEW s AS FROM kacpc('patients', k=5);\nSELECT 1",
        "SELECT 1; /* REFRESH MATERIALIZED ANONYMIZED VIEW s; */ SELECT 2",
        'SELECT 1 AS "DROP MATERIALIZED ANONYMIZED VIEW s; "; SELECT 2',
        "SELECT $x$; DROP MATERIALIZED ANONYMIZED VIEW s; $x$",
    ],
)
def test_statement_words_in_texts_and_comments_ignored(con: Any, query: str) -> None:
    assert len(con.execute(query).fetchall()) == 1
    assert releases(con) == []
