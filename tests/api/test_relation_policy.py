"""DuckDB and ibis relations passed as data cannot bypass the policy of the tables that they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import dbanon
from dbanon import errors


@pytest.fixture
def clinic() -> Iterator[Any]:
    """Create patients with a policy, a view of them, and a table `t` without one."""
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 + i % 5 AS age FROM range(60) t(i)")
        dbanon.declare(con, "patients", name="identifier", age="quasi")
        con.execute("CREATE VIEW v AS FROM patients; CREATE TABLE t AS SELECT 'x' AS name, 30 AS age FROM range(20)")
        con.execute("CREATE MACRO m(x) AS TABLE FROM query_table(x); CREATE VIEW w AS FROM t")
        con.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('w', 'name', 'identifier')")
        yield con


ROLES: dict[str, Any] = {"k": 5, "qi": ["age"], "sensitive": ["name"]}

RELATIONS: dict[str, Callable[[Any], Any]] = {
    "table": lambda con: con.raw.table("patients"),
    "view": lambda con: con.raw.view("v"),
    "query": lambda con: con.raw.sql("SELECT upper(name) AS name, age FROM patients"),
    "filtered and projected": lambda con: con.raw.table("patients").filter("age > 20").project("name, age"),
    "union": lambda con: con.raw.table("t").union(con.raw.table("patients")),
    "macro": lambda con: con.raw.sql("FROM m('patients')"),
    "temporary view": lambda con: con.raw.execute("CREATE TEMP VIEW q AS FROM patients").sql("FROM q"),
    "limited": lambda con: con.raw.sql("FROM patients LIMIT 10"),
    "view with a policy": lambda con: con.raw.sql("FROM w"),
}


@pytest.mark.parametrize("case", RELATIONS)
def test_relation_over_policy_is_refused(clinic: Any, case: str) -> None:
    with pytest.raises(errors.RelationOverPolicyError, match="has a policy"):
        dbanon.anonymize(RELATIONS[case](clinic), "mondrian", **ROLES)


def test_relation_of_plain_connection_is_refused(tmp_path: Any) -> None:
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 AS age FROM range(60) t(i)")
        dbanon.declare(con, "patients", name="identifier", age="quasi")
    with duckdb.connect() as raw:
        raw.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic (READ_ONLY)")
        with pytest.raises(errors.RelationOverPolicyError, match=r"clinic\.main\.patients"):
            dbanon.anonymize(raw.sql("FROM clinic.patients"), "mondrian", **ROLES)


def test_relation_without_policy_is_released(clinic: Any) -> None:
    for relation in (clinic.raw.table("t"), clinic.raw.sql("SELECT name, age + 1 AS age FROM t")):
        assert len(dbanon.anonymize(relation, "mondrian", **ROLES).release.fetchall()) == 20
    for frame in (clinic.raw.table("patients").df(), clinic.raw.table("patients").to_arrow_table()):  # copied out
        assert len(dbanon.anonymize(frame, "mondrian", **ROLES).release) == 60


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ibis_table_over_policy_is_refused(clinic: Any) -> None:
    ibis = pytest.importorskip("ibis")
    backend = ibis.duckdb.from_connection(clinic.raw)
    for table in (backend.table("patients"), backend.table("v").filter(ibis._.age > 20)):
        with pytest.raises(errors.RelationOverPolicyError, match="has a policy"):
            dbanon.anonymize(table, "mondrian", **ROLES)
    assert len(dbanon.anonymize(backend.table("t"), "mondrian", **ROLES).release.to_pyarrow()) == 20


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_relation_errors_contain_no_source_value(clinic: Any) -> None:
    clinic.execute("CREATE TABLE c AS SELECT 'CANARY' || i AS name, 30 AS age FROM range(20) t(i)")
    polars, ibis = pytest.importorskip("polars"), pytest.importorskip("ibis")
    frame = polars.from_arrow(clinic.raw.table("c").to_arrow_table()).lazy()
    table = ibis.duckdb.from_connection(clinic.raw).table("c")
    stream = pa.RecordBatchReader.from_batches(pa.schema([("name", pa.int64())]), _failing_batches())
    for relation in (
        clinic.raw.sql("SELECT name::INTEGER AS name, age FROM c"),
        frame.with_columns(polars.col("name").cast(polars.Int64)),
        table.mutate(name=ibis._.name.cast("int64")),
        stream,
    ):
        with pytest.raises(errors.DbanonError) as error_info:
            dbanon.anonymize(relation, "mondrian", **ROLES)
        assert "CANARY" not in str(error_info.value)
        assert isinstance(error_info.value, errors.UnreadableValueError)


def _failing_batches() -> Iterator[Any]:
    """Yield batches of which the second cannot be read."""
    yield pa.record_batch({"name": pa.array([1])})
    raise pa.ArrowInvalid("Could not convert 'CANARY1' with type str")
