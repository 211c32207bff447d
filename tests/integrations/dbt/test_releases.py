"""Models materialized as `anonymized`, without dbt: their versions, and refused calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.api.connection import Connection
from dbanon.integrations.dbt.materialize_model import create_next_version
from dbanon.integrations.dbt.model import DbtModel
from dbanon.sqltext.quote import qualified

CALL = "SELECT * FROM kacpc('\"memory\".\"main\".\"patients\"', k=5, qi=['age'], sensitive=['disease'])"


@pytest.fixture(scope="module")
def empty_connection() -> Iterator[Any]:
    con = dbanon.attach(duckdb.connect())
    yield con
    con.close()


@pytest.fixture
def clinic(empty_connection: Any) -> Iterator[Any]:
    """Create forty patients with a person key, and no release."""
    empty_connection.execute(
        "CREATE TABLE patients AS SELECT i AS id, 20 + i AS age, ['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease "
        "FROM range(40) AS r (i)"
    )
    dbanon.declare(empty_connection, "patients", id="person", age="quasi", disease="sensitive")
    yield empty_connection
    tables = "SELECT schema_name, table_name FROM duckdb_tables() WHERE schema_name <> 'dbanon'"
    for schema, table in empty_connection.execute(tables).fetchall():
        empty_connection.execute(f"DROP TABLE {qualified(schema, table)}")
    for table in ("release", "membership", "policy"):
        empty_connection.execute(f"DELETE FROM dbanon.{table}")


def run_model(
    con: Any, query: str = CALL, name: str = "safe", *, full_refresh: bool = False, **config: Any
) -> list[str]:
    """Return the warnings of one run of a model."""
    model = DbtModel.from_config(("memory", "main", name), query, config, full_refresh=full_refresh)
    with contextlib.closing(Connection(con.cursor())) as connection:
        return create_next_version(connection, model)


def release_versions(con: Any, name: str = "safe") -> list[tuple[int, str, int]]:
    query = "SELECT version, refresh_mode, records FROM dbanon.release WHERE name = ? ORDER BY version"
    return list(con.execute(query, [name]).fetchall())


def insert_patients(con: Any, first: int, last: int) -> None:
    con.execute(
        f"INSERT INTO patients SELECT i, 20 + i % 40, ['Flu', 'HIV'][1 + i % 2] FROM range({first}, {last}) r(i)"
    )


def test_first_run_creates_and_later_runs_refresh(clinic: Any) -> None:
    assert run_model(clinic) == []
    insert_patients(clinic, 40, 50)
    assert run_model(clinic, f"-- a comment of dbt\n{CALL}\n;") == []
    assert release_versions(clinic) == [(1, "first", 40), (2, "keep", 50)]
    assert clinic.execute("SELECT min(n) >= 5 FROM (SELECT count(*) AS n FROM safe GROUP BY age)").fetchall() == [
        (True,)
    ]


def test_model_that_calls_anonymize_stores_best(clinic: Any) -> None:
    call = CALL.replace("kacpc", "anonymize")
    run_model(clinic, call)
    insert_patients(clinic, 40, 50)
    run_model(clinic, call)
    query = "SELECT DISTINCT algorithm FROM dbanon.release WHERE name = 'safe'"
    assert clinic.execute(query).fetchall() == [("best",)]


def test_run_with_small_differences_refused_keeps_old_version(clinic: Any) -> None:
    run_model(clinic)
    old_rows = clinic.execute("FROM safe ORDER BY ALL").fetchall()
    insert_patients(clinic, 40, 42)
    with pytest.raises(errors.SmallDifferencesRefusedError):
        run_model(clinic)
    assert release_versions(clinic) == [(1, "first", 40)]
    assert clinic.execute("FROM safe ORDER BY ALL").fetchall() == old_rows
    run_model(clinic, mode="hold")  # those two are deferred, and there is no new version
    assert [(version, records) for version, _, records in release_versions(clinic)] == [(1, 40)]


@pytest.mark.not_everyday
def test_if_stale_creates_no_version_without_changes(clinic: Any) -> None:
    run_model(clinic, if_stale=True)
    run_model(clinic, if_stale=True)
    assert len(release_versions(clinic)) == 1
    run_model(clinic, if_stale=False)
    assert len(release_versions(clinic)) == 2


@pytest.mark.parametrize(
    ("query", "differs"),
    [
        (CALL.replace("k=5", "k=6"), "differs in k."),
        (CALL.replace("k=5", "k=5, l=2"), "differs in l."),
        (CALL.replace("kacpc", "mondrian"), "differs in the function."),
        (CALL.replace("patients", "others"), "differs in the source."),
        (CALL.replace(", sensitive=['disease']", ""), "differs in sensitive."),
    ],
)
def test_changed_model_requires_full_refresh(clinic: Any, query: str, differs: str) -> None:
    clinic.execute("CREATE TABLE others AS FROM patients")
    run_model(clinic)
    with pytest.raises(errors.DbtModelChangedError) as error_info:
        run_model(clinic, query)
    assert differs in str(error_info.value)
    assert release_versions(clinic) == [(1, "first", 40)]


def test_full_refresh_checked_against_published_versions(clinic: Any) -> None:
    other = CALL.replace("kacpc", "mondrian").replace("k=5", "k=7")
    run_model(clinic)
    with pytest.raises(errors.SmallDifferencesRefusedError):
        run_model(clinic, other, full_refresh=True)
    assert len(release_versions(clinic)) == 1
    message = run_model(clinic, other, full_refresh=True, allow_small_differences=True)
    assert release_versions(clinic) == [(1, "first", 40), (2, "recluster", 40)]
    assert any("safe version 1" in line for line in message), message


@pytest.mark.not_everyday
def test_full_refresh_of_new_model_is_first_version(clinic: Any) -> None:
    run_model(clinic, full_refresh=True)
    assert release_versions(clinic) == [(1, "first", 40)]


def test_composition_of_two_models_warned_or_refused(clinic: Any) -> None:
    run_model(clinic)
    other = CALL.replace("kacpc", "mondrian").replace("k=5", "k=7")
    with pytest.raises(errors.CompositionRefusedError):
        run_model(clinic, other, "second", composition="refuse")
    assert release_versions(clinic, "second") == []
    assert run_model(clinic, other, "second")


@pytest.mark.not_everyday
def test_timed_improve_model_creates_version_on_next_run(clinic: Any) -> None:
    timed = CALL.replace("k=5", "k=5, improve='100ms'")
    run_model(clinic, timed)
    run_model(clinic, timed, if_stale=False)
    assert len(release_versions(clinic)) == 2


@pytest.mark.not_everyday
def test_changed_key_is_new_model(clinic: Any) -> None:
    clinic.execute("DELETE FROM dbanon.policy; ALTER TABLE patients ADD COLUMN card INTEGER")
    clinic.execute("UPDATE patients SET card = id + 100")
    run_model(clinic, key="id")
    run_model(clinic, key=["ID"])
    with pytest.raises(errors.DbtModelChangedError, match=r"differs in key\."):
        run_model(clinic, key=["card"])


def test_dbt_run_accepts_hostile_source_and_model_names(clinic: Any) -> None:
    source, name = "o'x\"'); DROP TABLE patients; --", "safe'); DROP TABLE patients; --\"😀"
    quoted = source.replace('"', '""')
    clinic.execute(f'CREATE TABLE "{quoted}" AS FROM patients')
    argument = f'"memory"."main"."{quoted}"'.replace("'", "''")
    run_model(clinic, f"SELECT * FROM kacpc('{argument}', k=5, qi=['age'])", name)
    run_model(clinic, f"SELECT * FROM kacpc('{argument}', k=5, qi=['age'])", name, if_stale=False)
    assert [version for version, *_ in release_versions(clinic, name)] == [1, 2]
    assert clinic.execute("SELECT count(*) FROM patients").fetchall() == [(40,)]


def test_model_never_overwrites_table_that_is_no_release(clinic: Any) -> None:
    clinic.execute("CREATE TABLE safe AS SELECT 42 AS a")
    for full_refresh in (False, True):
        with pytest.raises(errors.ReleaseExistsError):
            run_model(clinic, full_refresh=full_refresh)
    assert clinic.execute("FROM safe").fetchall() == [(42,)]


def test_dbt_error_contains_no_source_value(clinic: Any) -> None:
    clinic.execute("UPDATE patients SET disease = 'secret' || id")
    clinic.execute("CREATE VIEW cast_away AS SELECT disease::INTEGER AS age FROM patients")
    with pytest.raises(errors.DbanonError) as error_info:
        run_model(clinic, "SELECT * FROM kacpc('cast_away', k=5, qi=['age'])")
    assert "secret" not in str(error_info.value)
    clinic.execute("DROP VIEW cast_away")


@pytest.mark.all_cases
@pytest.mark.parametrize(
    "query", ["SELECT 1", "SELECT age FROM kacpc('patients', k=5)", f"{CALL} LIMIT 5", "DROP TABLE patients"]
)
def test_model_must_be_single_call(clinic: Any, query: str) -> None:
    with pytest.raises(errors.NotASingleCallError):
        run_model(clinic, query)
    assert clinic.execute("SELECT count(*) FROM patients").fetchall() == [(40,)]


@pytest.mark.all_cases
@pytest.mark.parametrize("query", [f"{CALL}; DROP TABLE patients", f"{CALL}; {CALL}", ""])
def test_model_with_several_statements_refused(clinic: Any, query: str) -> None:
    with pytest.raises((errors.DbanonError, duckdb.Error)):
        run_model(clinic, query)
    assert clinic.execute("SELECT count(*) FROM patients").fetchall() == [(40,)]
    assert release_versions(clinic) == []


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"compositon": "refuse"}, "Did you mean 'composition'"),
        ({"allow_small_differencess": True}, "Did you mean 'allow_small_differences'"),
        ({"composition": "refused"}, "composition must be one of 'warn', 'refuse'"),
        ({"mode": "hodl"}, "mode must be one of 'keep', 'hold', 'recluster'"),
        ({"refresh": "hold"}, "'refresh' is now 'mode'"),
        ({"if_stale": "true"}, "if_stale must be true or false"),
        ({"erase": 1}, "erase must be true or false"),
        ({"key": 7}, "key must be a column or a list of columns"),
        ({"key": []}, "key must be a column or a list of columns"),
    ],
)
def test_misspelled_model_configuration_refused(config: dict[str, Any], says: str) -> None:
    with pytest.raises(errors.DbanonError, match="model safe: ") as error_info:
        DbtModel.from_config(("memory", "main", "safe"), CALL, config)
    assert says in str(error_info.value)


def test_foreign_dbt_settings_are_ignored() -> None:
    config = {"freshness": None, "full_refresh": None, "tags": ["a"], "location": "here", "composition": None}
    model = DbtModel.from_config(
        ("memory", "main", "safe"), CALL, config, dbt_keys=["freshness", "full_refresh", "tags"]
    )
    assert model.options == {}
