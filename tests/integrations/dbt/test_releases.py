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
def opened() -> Iterator[Any]:
    con = dbanon.attach(duckdb.connect())
    yield con
    con.close()


@pytest.fixture
def clinic(opened: Any) -> Iterator[Any]:
    """Create forty patients with a person key, and no release."""
    opened.execute(
        "CREATE TABLE patients AS SELECT i AS id, 20 + i AS age, ['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease "
        "FROM range(40) AS r (i)"
    )
    dbanon.declare(opened, "patients", id="person", age="quasi", disease="sensitive")
    yield opened
    tables = "SELECT schema_name, table_name FROM duckdb_tables() WHERE schema_name <> 'dbanon'"
    for schema, table in opened.execute(tables).fetchall():
        opened.execute(f"DROP TABLE {qualified(schema, table)}")
    for table in ("release", "membership", "policy"):
        opened.execute(f"DELETE FROM dbanon.{table}")


def run(con: Any, query: str = CALL, name: str = "safe", *, full_refresh: bool = False, **config: Any) -> list[str]:
    """Return the warnings of one run of a model."""
    model = DbtModel.from_config(("memory", "main", name), query, config, full_refresh=full_refresh)
    with contextlib.closing(Connection(con.cursor())) as connection:
        return create_next_version(connection, model)


def versions(con: Any, name: str = "safe") -> list[tuple[int, str, int]]:
    query = "SELECT version, refresh_mode, records FROM dbanon.release WHERE name = ? ORDER BY version"
    return list(con.execute(query, [name]).fetchall())


def newcomers(con: Any, first: int, last: int) -> None:
    con.execute(
        f"INSERT INTO patients SELECT i, 20 + i % 40, ['Flu', 'HIV'][1 + i % 2] FROM range({first}, {last}) r(i)"
    )


def test_first_run_creates_and_later_runs_refresh(clinic: Any) -> None:
    assert run(clinic) == []
    newcomers(clinic, 40, 50)
    assert run(clinic, f"-- a comment of dbt\n{CALL}\n;") == []
    assert versions(clinic) == [(1, "first", 40), (2, "keep", 50)]
    assert clinic.execute("SELECT min(n) >= 5 FROM (SELECT count(*) AS n FROM safe GROUP BY age)").fetchall() == [
        (True,)
    ]


def test_run_with_small_differences_refused_keeps_old_version(clinic: Any) -> None:
    run(clinic)
    old_rows = clinic.execute("FROM safe ORDER BY ALL").fetchall()
    newcomers(clinic, 40, 42)
    with pytest.raises(errors.SmallDifferencesRefusedError):
        run(clinic)
    assert versions(clinic) == [(1, "first", 40)]
    assert clinic.execute("FROM safe ORDER BY ALL").fetchall() == old_rows
    run(clinic, mode="hold")  # those two are deferred, and there is no new version
    assert [(version, records) for version, _, records in versions(clinic)] == [(1, 40)]


@pytest.mark.exhaustive
def test_if_stale_creates_no_version_without_changes(clinic: Any) -> None:
    run(clinic, if_stale=True)
    run(clinic, if_stale=True)
    assert len(versions(clinic)) == 1
    run(clinic)
    assert len(versions(clinic)) == 2


@pytest.mark.parametrize(
    ("query", "differs"),
    [
        (CALL.replace("k=5", "k=6"), "differs: k."),
        (CALL.replace("k=5", "k=5, l=2"), "differs: l."),
        (CALL.replace("kacpc", "mondrian"), "differs: the function."),
        (CALL.replace("patients", "others"), "differs: the source."),
        (CALL.replace(", sensitive=['disease']", ""), "differs: sensitive."),
    ],
)
def test_a_changed_model_needs_a_full_refresh(clinic: Any, query: str, differs: str) -> None:
    clinic.execute("CREATE TABLE others AS FROM patients")
    run(clinic)
    with pytest.raises(errors.DbtModelChangedError) as error_info:
        run(clinic, query)
    assert differs in str(error_info.value)
    assert versions(clinic) == [(1, "first", 40)]


def test_full_refresh_checked_against_published_versions(clinic: Any) -> None:
    other = CALL.replace("kacpc", "mondrian").replace("k=5", "k=7")
    run(clinic)
    with pytest.raises(errors.SmallDifferencesRefusedError):
        run(clinic, other, full_refresh=True)
    assert len(versions(clinic)) == 1
    message = run(clinic, other, full_refresh=True, allow_small_differences=True)
    assert versions(clinic) == [(1, "first", 40), (2, "recluster", 40)]
    assert any("safe version 1" in line for line in message), message


@pytest.mark.exhaustive
def test_full_refresh_of_new_model_is_first_version(clinic: Any) -> None:
    run(clinic, full_refresh=True)
    assert versions(clinic) == [(1, "first", 40)]


def test_composition_of_two_models_warned_or_refused(clinic: Any) -> None:
    run(clinic)
    other = CALL.replace("kacpc", "mondrian").replace("k=5", "k=7")
    with pytest.raises(errors.CompositionRefusedError):
        run(clinic, other, "second", composition="refuse")
    assert versions(clinic, "second") == []
    assert run(clinic, other, "second")


@pytest.mark.exhaustive
def test_a_search_of_a_time_is_the_same_call_in_the_next_run(clinic: Any) -> None:
    timed = CALL.replace("k=5", "k=5, improve='100ms'")
    run(clinic, timed)
    run(clinic, timed)
    assert len(versions(clinic)) == 2


@pytest.mark.exhaustive
def test_changed_key_is_new_model(clinic: Any) -> None:
    clinic.execute("DELETE FROM dbanon.policy; ALTER TABLE patients ADD COLUMN card INTEGER")
    clinic.execute("UPDATE patients SET card = id + 100")
    run(clinic, key="id")
    run(clinic, key=["ID"])
    with pytest.raises(errors.DbtModelChangedError, match=r"differs: key\."):
        run(clinic, key=["card"])


def test_hostile_names_are_names(clinic: Any) -> None:
    source, name = "o'x\"'); DROP TABLE patients; --", "safe'); DROP TABLE patients; --\"😀"
    quoted = source.replace('"', '""')
    clinic.execute(f'CREATE TABLE "{quoted}" AS FROM patients')
    argument = f'"memory"."main"."{quoted}"'.replace("'", "''")
    run(clinic, f"SELECT * FROM kacpc('{argument}', k=5, qi=['age'])", name)
    run(clinic, f"SELECT * FROM kacpc('{argument}', k=5, qi=['age'])", name)
    assert [version for version, *_ in versions(clinic, name)] == [1, 2]
    assert clinic.execute("SELECT count(*) FROM patients").fetchall() == [(40,)]


def test_a_table_that_is_no_release_is_not_overwritten(clinic: Any) -> None:
    clinic.execute("CREATE TABLE safe AS SELECT 42 AS a")
    for full_refresh in (False, True):
        with pytest.raises(errors.ReleaseExistsError):
            run(clinic, full_refresh=full_refresh)
    assert clinic.execute("FROM safe").fetchall() == [(42,)]


def test_no_value_of_the_source_is_in_an_error(clinic: Any) -> None:
    clinic.execute("UPDATE patients SET disease = 'secret' || id")
    clinic.execute("CREATE VIEW cast_away AS SELECT disease::INTEGER AS age FROM patients")
    with pytest.raises(errors.DbanonError) as error_info:
        run(clinic, "SELECT * FROM kacpc('cast_away', k=5, qi=['age'])")
    assert "secret" not in str(error_info.value)
    clinic.execute("DROP VIEW cast_away")


@pytest.mark.whole
@pytest.mark.parametrize(
    "query", ["SELECT 1", "SELECT age FROM kacpc('patients', k=5)", f"{CALL} LIMIT 5", "DROP TABLE patients"]
)
def test_model_must_be_single_call(clinic: Any, query: str) -> None:
    with pytest.raises(errors.NotASingleCallError):
        run(clinic, query)
    assert clinic.execute("SELECT count(*) FROM patients").fetchall() == [(40,)]


@pytest.mark.whole
@pytest.mark.parametrize("query", [f"{CALL}; DROP TABLE patients", f"{CALL}; {CALL}", ""])
def test_a_model_is_one_statement(clinic: Any, query: str) -> None:
    with pytest.raises((errors.DbanonError, duckdb.Error)):
        run(clinic, query)
    assert clinic.execute("SELECT count(*) FROM patients").fetchall() == [(40,)]
    assert versions(clinic) == []


@pytest.mark.whole
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
def test_a_configuration_that_is_misspelled_is_refused(config: dict[str, Any], says: str) -> None:
    with pytest.raises(errors.DbanonError, match="model safe: ") as error_info:
        DbtModel.from_config(("memory", "main", "safe"), CALL, config)
    assert says in str(error_info.value)


def test_foreign_dbt_settings_are_ignored() -> None:
    config = {"freshness": None, "full_refresh": None, "tags": ["a"], "location": "here", "composition": None}
    model = DbtModel.from_config(
        ("memory", "main", "safe"), CALL, config, dbt_keys=["freshness", "full_refresh", "tags"]
    )
    assert model.options == {}
