"""materialize makes three tables, a ledger row and a membership, or nothing at all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.release.spec import resolve
from dbanon.table_functions.table_function import Call
from dbanon.views import materialize

ENDINGS = ("", "_classes", "_metrics")


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    patients(connection)
    yield connection
    connection.close()


def patients(con: Any, name: str = "patients", key: str = "PRIMARY KEY") -> None:
    con.execute(f"CREATE TABLE {name} (pid INTEGER {key}, age INTEGER, note VARCHAR, disease VARCHAR)")
    con.execute(f"INSERT INTO {name} SELECT i, 20 + i, 'n' || i, ['Flu', 'HIV'][1 + i % 2] FROM range(20) AS r (i)")
    dbanon.declare(con, name, pid="identifier", age="quasi", disease="sensitive")


def tables(con: Any) -> list[tuple[str, ...]]:
    return con.execute(
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE schema_name <> 'dbanon' ORDER BY ALL"
    ).fetchall()


def assert_nothing_left(con: Any, expected_tables: list[tuple[str, ...]]) -> None:
    assert tables(con) == expected_tables
    for table in ("release", "membership"):
        assert con.execute(f"SELECT count(*) FROM dbanon.{table}").fetchall() == [(0,)]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def assert_consistent(con: Any, name: str, schema: str = "main", database: str = "memory") -> None:
    """Assert that three tables, ledger and membership of a release agree."""
    text = f"{quoted(database)}.{quoted(schema)}."
    records = con.execute(f"SELECT count(*) FROM {text}{quoted(name)}").fetchall()[0][0]
    size = con.execute(f"SELECT sum(size) FROM {text}{quoted(name + '_classes')}").fetchall()[0][0]
    metric = con.execute(f"SELECT value FROM {text}{quoted(name + '_metrics')} WHERE metric = 'records'").fetchall()[0][
        0
    ]
    ledger = con.execute(
        f"SELECT version, records FROM {quoted(database)}.dbanon.release "
        "WHERE (schema_name, name, status) = (?, ?, 'published')",
        [schema, name],
    ).fetchall()
    assert len(ledger) == 1
    members = con.execute(
        f"SELECT sum(records) FROM {quoted(database)}.dbanon.membership "
        "WHERE (schema_name, release, version) = (?, ?, ?) AND class_id IS NOT NULL",
        [schema, name, ledger[0][0]],
    ).fetchall()[0][0]
    assert records == size == metric == ledger[0][1] == members


# --- created objects -------------------------------------------------------------------------------------


def test_create_release_writes_tables_ledger_and_membership(con: Any) -> None:
    release = dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    assert (release.name, release.version, release.records) == ("safe", 1, 20)
    assert_consistent(con, "safe")
    for ending in ENDINGS:
        called = con.execute(f"FROM kacpc{ending}('patients', k=5)").fetchall()
        if ending == "_metrics":
            called = [row[:4] for row in called if row[4]]
        assert con.execute(f"FROM safe{ending}").fetchall() == called


def test_ledger_records_release_and_source(con: Any) -> None:
    dbanon.create_release(con, "safe", "mondrian", "patients", k=4, l=2, suppress=0.1)
    result = con.execute("FROM releases()")
    row = dict(zip([c[0] for c in result.description], result.fetchall()[0], strict=True))
    assert (row["schema_name"], row["name"], row["version"], row["status"]) == ("main", "safe", 1, "published")
    assert (row["source"], row["algorithm"], row["refresh_mode"]) == ('"main"."patients"', "mondrian", "first")
    document = json.loads(row["parameters"])
    assert (document["k"], document["l"], document["suppress"], document["nulls"]) == (4, 2, 0.1, "keep")
    assert json.loads(row["roles"]) == {"pid": "withheld", "age": "quasi", "note": "withheld", "disease": "sensitive"}
    assert row["withheld"] == ["pid", "note"]
    assert row["person_key"] == ["pid"]
    assert (row["source_records"], row["records"] + row["suppressed"], row["dropped"]) == (20, 20, 0)
    assert row["achieved"]["k"] >= 4
    assert row["achieved"]["l_diversity:disease"] == 2
    measured_query = "SELECT metric, value FROM mondrian_metrics('patients', k := 4, l := 2, suppress := 0.1)"
    assert row["metrics"] == dict(con.execute(measured_query).fetchall())
    published_rows = con.execute("SELECT metric, value FROM safe_metrics").fetchall()
    assert dict(published_rows) == dict(con.execute(f"{measured_query} WHERE is_publishable").fetchall())
    assert set(row["library_versions"]) == {"dbanon", "duckdb", "python"}
    assert row["policy_fingerprint"]
    assert row["source_fingerprint"]
    assert row["hierarchy_fingerprint"]
    assert con.execute(row["statement"]).fetchall() == con.execute("FROM safe").fetchall()


def test_roles_resolved_once_even_after_timed_search(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved_result: list[str] = []

    def count(module: Any, name: str) -> None:
        wrapped = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, **more: (resolved_result.append(name), wrapped(*given, **more))[1]
        )

    count(materialize, "make_call")
    count(resolve, "resolve_base_spec")
    count(Call, "source")
    con.on_review = lambda lines: None
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5, improve="50ms")
    # The source is looked up before the publishing lock for the database of its ledger, and resolved within.
    assert resolved_result == ["make_call", "source", "resolve_base_spec", "source"]


@pytest.mark.parametrize(
    ("column", "key", "expected"),
    [("PRIMARY KEY", None, ["pid"]), ("UNIQUE", None, ["pid"]), ("", None, None), ("", "PID", ["pid"]),
     ("", ["pid", "note"], ["pid", "note"])],
)  # fmt: skip
def test_ledger_person_key_from_key_or_primary_key(column: str, key: Any, expected: list[str] | None) -> None:
    con = dbanon.connect()
    patients(con, key=column)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5, key=key)
    assert con.execute("SELECT person_key FROM releases()").fetchall() == [(expected,)]
    keys = con.execute("SELECT count(DISTINCT person_key) FROM dbanon.membership").fetchall()
    assert keys == [(20 if expected else 0,)]
    con.close()


def test_person_parameter_is_ledger_person_key(con: Any) -> None:
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5, person="note")
    assert con.execute("SELECT person_key FROM releases()").fetchall() == [(["note"],)]
    assert con.execute("SELECT min(person_key) FROM dbanon.membership").fetchall() == [("n0",)]


def test_unknown_key_column_refused(con: Any) -> None:
    old_tables = tables(con)
    with pytest.raises(errors.UnknownColumnError, match="nope"):
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5, key="nope")
    assert_nothing_left(con, old_tables)


# --- or nothing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"k": 50}, Exception),
        ({"k": 5, "l": 3}, Exception),
        ({"k": 5, "kk": 1}, errors.DbanonError),
        ({"k": "x"}, errors.DbanonError),
        ({"k": 5, "composition": "maybe"}, errors.InvalidArgumentError),
        ({"k": 5, "algorithm": "kacp"}, errors.UnknownAlgorithmError),
        ({"k": 5, "source": "nobody"}, errors.UnknownTableError),
        ({"k": 5, "name": "elsewhere.main.safe"}, errors.ReleaseOutsideSourceDatabaseError),
        ({"k": 5, "name": "nowhere.safe"}, duckdb.Error),
    ],
)
def test_failed_create_release_leaves_no_tables(con: Any, call: dict[str, Any], error: type[Exception]) -> None:
    old_tables = tables(con)
    call = {"name": "safe", "algorithm": "kacpc", "source": "patients", **call}
    with pytest.raises(error):
        dbanon.create_release(con, **call)
    assert_nothing_left(con, old_tables)
    assert dbanon.create_release(con, "safe", "kacpc", "patients", k=5).version == 1


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_create_release_never_overwrites_table_or_view(con: Any, kind: str, ending: str) -> None:
    con.execute(f"CREATE {kind} Safe{ending} AS SELECT 42 AS x")
    old_tables = tables(con)
    for replace in (False, True):
        with pytest.raises(errors.ReleaseExistsError, match="choose another name"):
            dbanon.create_release(con, "safe", "kacpc", "patients", k=5, replace=replace)
    assert_nothing_left(con, old_tables)
    assert con.execute(f"FROM Safe{ending}").fetchall() == [(42,)]


@pytest.mark.not_everyday
def test_nondeterministic_view_refused(con: Any) -> None:
    con.execute("CREATE VIEW sampled AS SELECT * FROM patients WHERE random() < 0.7")
    con.execute(
        "CREATE VIEW mixed AS "
        "SELECT * REPLACE (CASE WHEN random() < 0.5 THEN 'A' ELSE 'B' END AS disease) FROM patients"
    )
    old_tables = tables(con)
    for view in ("sampled", "mixed"):
        dbanon.declare(con, view, age="quasi", disease="sensitive")
        with pytest.raises(errors.UnstableSourceError):
            dbanon.create_release(con, "safe", "kacpc", view, k=3)
        assert_nothing_left(con, old_tables)


def test_temporary_table_refused_as_release_source(con: Any) -> None:
    con.execute("CREATE TEMP TABLE gone AS FROM patients")
    old_tables = tables(con)
    con.execute("FROM kacpc('gone', k=5, qi=['age'])").fetchall()
    with pytest.raises(errors.DbanonError):
        dbanon.create_release(con, "safe", "kacpc", "gone", k=5, qi=["age"])
    assert_nothing_left(con, old_tables)


def test_release_functions_refuse_open_transaction(con: Any) -> None:
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("BEGIN")
    con.execute("DELETE FROM patients WHERE pid = 3")
    for work in (
        lambda: dbanon.create_release(con, "other", "kacpc", "patients", k=5),
        lambda: dbanon.refresh_release(con, "safe"),
        lambda: dbanon.drop_release(con, "safe"),
        lambda: dbanon.forget_release(con, "safe"),
    ):
        with pytest.raises(errors.OpenTransactionError):
            work()
    with pytest.raises(duckdb.Error):
        con.execute("SELECT error('x')").fetchall()
    with pytest.raises(errors.OpenTransactionError):
        dbanon.refresh_release(con, "safe")
    con.execute("ROLLBACK")
    assert con.execute("SELECT count(*) FROM patients").fetchall() == [(20,)]
    assert_consistent(con, "safe")


# --- names and places --------------------------------------------------------------------------------------

HOSTILE = ["x'); DROP TABLE patients; --", 'a"b', "🦆 views", "select", "Ünï.codé", "with space ", "x" * 200]


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", HOSTILE)
def test_release_lifecycle_accepts_odd_name(con: Any, name: str) -> None:
    given_name = name if "." not in name else quoted(name)
    dbanon.create_release(con, given_name, "kacpc", "patients", k=5)
    assert_consistent(con, name)
    con.execute("INSERT INTO patients SELECT 100 + i, 70 + i, 'm', 'Flu' FROM range(6) AS r (i)")
    assert dbanon.refresh_release(con, given_name).records == 26
    assert_consistent(con, name)
    dbanon.drop_release(con, given_name)
    assert tables(con) == [("memory", "main", "patients")]
    assert dbanon.forget_release(con, given_name) == 2
    assert_nothing_left(con, [("memory", "main", "patients")])


@pytest.mark.not_everyday
def test_release_created_in_named_schema_and_database(con: Any) -> None:
    con.execute("CREATE SCHEMA out")
    dbanon.create_release(con, "out.safe", "kacpc", "patients", k=5)
    assert_consistent(con, "safe", "out")
    assert dbanon.refresh_release(con, "out.safe", if_stale=False).version == 2
    dbanon.create_release(con, "memory.out.other", "kacpc", "main.patients", k=5)
    dbanon.create_release(con, "memory.third", "kacpc", "memory.patients", k=5)
    assert_consistent(con, "other", "out")
    assert_consistent(con, "third")
    assert dbanon.refresh_release(con, "memory.third", if_stale=False).version == 2
    con.execute("USE memory.out")
    assert dbanon.refresh_release(con, "safe", if_stale=False).version == 3


@pytest.mark.not_everyday
def test_release_stored_in_database_of_source(con: Any, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'clinic.duckdb'}' AS clinic")
    con.execute("USE clinic")
    patients(con)
    con.execute("USE memory")
    dbanon.create_release(con, "safe", "kacpc", "clinic.main.patients", k=5)
    assert_consistent(con, "safe", database="clinic")
    assert ("memory", "main", "safe") not in tables(con)
    assert dbanon.refresh_release(con, "clinic.main.safe", if_stale=False).version == 2
    assert con.execute("SELECT database_name, version FROM releases()").fetchall() == [("clinic", 1), ("clinic", 2)]
    con.execute("DETACH clinic")
    con.execute(f"ATTACH '{tmp_path / 'clinic.duckdb'}' AS renamed")
    assert con.execute("SELECT database_name, status FROM release_status()").fetchall() == [("renamed", "fresh")]
    assert dbanon.refresh_release(con, "renamed.safe", if_stale=False).version == 3


@pytest.mark.not_everyday
def test_release_of_file_or_view_has_status(con: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    con.execute(f"COPY patients TO '{path}' (FORMAT parquet)")
    parameters: dict[str, Any] = {"k": 5, "qi": ["age"], "sensitive": ["disease"]}
    dbanon.create_release(con, "of_file", "kacpc", str(path), **parameters)
    assert_consistent(con, "of_file")
    con.execute("CREATE VIEW adults AS FROM patients WHERE age > 24")
    dbanon.declare(con, "adults", age="quasi", disease="sensitive")
    dbanon.create_release(con, "of_view", "kacpc", "adults", **parameters)
    assert_consistent(con, "of_view")
    assert con.execute("SELECT DISTINCT status FROM release_status()").fetchall() == [("fresh",)]
    con.execute(f"COPY (FROM patients WHERE pid > 9) TO '{path}' (FORMAT parquet)")
    con.execute("DELETE FROM patients WHERE pid > 14")
    assert con.execute("SELECT name, removed FROM release_status()").fetchall() == [("of_file", 10), ("of_view", 5)]


@pytest.mark.not_everyday
def test_read_only_database_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        patients(con)
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    with dbanon.connect(path, read_only=True) as con:
        assert con.execute("SELECT status FROM release_status()").fetchall() == [("fresh",)]
        for work in (
            lambda: dbanon.create_release(con, "other", "kacpc", "patients", k=5),
            lambda: dbanon.refresh_release(con, "safe"),
            lambda: dbanon.drop_release(con, "safe"),
            lambda: dbanon.forget_release(con, "safe"),
        ):
            with pytest.raises(errors.ReadOnlyDatabaseError):
                work()


PLAIN = """
import sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
print(con.execute("SELECT count(*), count(DISTINCT class_id) FROM safe").fetchall())
print(con.execute("SELECT sum(size) FROM safe_classes").fetchall())
print(con.execute("SELECT value FROM safe_metrics WHERE metric = 'k'").fetchall())
print("dbanon" in sys.modules)
"""


@pytest.mark.not_everyday
def test_plain_duckdb_reads_release(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        patients(con)
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    done = subprocess.run([sys.executable, "-c", PLAIN, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[(20, 4)]", "[(20,)]", "[(5.0,)]", "False"]


# --- replace, drop, forget -----------------------------------------------------------------------------------


@pytest.mark.not_everyday
def test_replace_creates_next_version_with_new_definition(con: Any) -> None:
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    with pytest.raises(errors.ReleaseExistsError, match="replace"):
        dbanon.create_release(con, "safe", "kacpc", "patients", k=10)
    with pytest.raises(errors.SmallDifferencesRefusedError):
        dbanon.create_release(con, "safe", "mondrian", "patients", k=10, replace=True)
    with pytest.warns(dbanon.DisclosureWarning, match="intersect"):
        release = dbanon.create_release(
            con, "safe", "mondrian", "patients", k=10, replace=True, allow_small_differences=True
        )
    assert release.version == 2
    assert_consistent(con, "safe")
    rows = con.execute("SELECT algorithm, status, allow_small_differences FROM releases()").fetchall()
    assert rows == [("kacpc", "replaced", False), ("mondrian", "published", True)]
    old_rows = con.execute("FROM safe").fetchall()
    with pytest.raises(duckdb.Error):
        dbanon.create_release(con, "safe", "kacpc", "patients", k=99, replace=True)
    assert con.execute("FROM safe").fetchall() == old_rows
    assert_consistent(con, "safe")


@pytest.mark.not_everyday
def test_drop_keeps_ledger_until_forgotten(con: Any) -> None:
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    dbanon.refresh_release(con, "safe", if_stale=False)
    with pytest.raises(errors.UnknownVersionError, match="published"):
        dbanon.forget_release(con, "safe", 2)
    assert dbanon.forget_release(con, "safe", 1) == 1
    dbanon.drop_release(con, "SAFE")
    assert tables(con) == [("memory", "main", "patients")]
    assert con.execute("SELECT version, status FROM releases()").fetchall() == [(2, "dropped")]
    for work in (lambda: dbanon.drop_release(con, "safe"), lambda: dbanon.refresh_release(con, "safe")):
        with pytest.raises(errors.UnknownReleaseError):
            work()
    dbanon.drop_release(con, "safe", if_exists=True)
    dbanon.drop_release(con, "nobody", if_exists=True)
    assert dbanon.create_release(con, "Safe", "kacpc", "patients", k=5).version == 3
    assert dbanon.refresh_release(con, "safe", if_stale=False).version == 4
    with pytest.raises(errors.UnknownVersionError):
        dbanon.forget_release(con, "safe", 77)
    assert dbanon.forget_release(con, "safe") == 2
    assert con.execute("SELECT DISTINCT version FROM dbanon.membership").fetchall() == [(4,)]
    with pytest.raises(errors.UnknownReleaseError, match="Safe"):
        dbanon.forget_release(con, "saf")


def test_plain_attached_connection_supports_all_statements() -> None:
    con = dbanon.attach(duckdb.connect())
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    assert dbanon.refresh_release(con, "safe", if_stale=False).version == 2
    assert con.execute("SELECT count(*) FROM refresh_problems('safe')").fetchall() == [(0,)]
    dbanon.drop_release(con, "safe")
    con.close()
