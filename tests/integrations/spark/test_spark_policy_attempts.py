"""Attempts to publish more of a DataFrame than its policy allows; most need no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.policy_attempts import (
    ATTEMPTS,
    BOUNDS_ATTEMPTS,
    HIERARCHY,
    PERMITTED,
    POLICY,
    REFUSAL,
    TABLE_SPELLINGS,
    VIEWS,
    Attempt,
    K,
    clinic,
    problems,
)
from support.scale import sample_cases

import dbanon
from dbanon import errors
from dbanon.integrations.spark.given_policy import PolicySource, given_policy
from dbanon.integrations.spark.session_call import CallPlanner, PortableCall

FINE = [[zip_code, f"{zip_code}!", "*"] for zip_code, *_ in HIERARCHY]
"""A hierarchy that publishes every zip code at level 1."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Create a database with `patients`, its policy, views, and the same table in another schema."""
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        clinic(con)
        con.execute("CREATE SCHEMA s; CREATE TABLE s.visits AS FROM patients; CREATE TABLE plain AS SELECT 1 AS a")
        for name, query in VIEWS.items():
            con.execute(f"CREATE VIEW {name} AS {query}")
        dbanon.declare(con, "s.visits", **POLICY)
        con.execute(
            "INSERT INTO dbanon.policy (schema_name, table_name, column_name, role) "
            "SELECT 'main', 'elsewhere', column_name, role FROM dbanon.policy WHERE table_name = 'patients'"
        )
    yield path


@pytest.fixture(scope="module")
def patients(database: Path) -> pa.Table:
    """Return the rows of `patients`."""
    with dbanon.connect(database, read_only=True) as con:
        return con.sql("FROM patients").to_arrow_table()


def plan(
    policy: Any,
    columns: pa.Table,
    *,
    function: str = "mondrian",
    name: str | None = "patients",
    hierarchies: Any = None,
    **parameters: Any,
) -> CallPlanner:
    """Return the plan of a call in a Spark process, as `dbanon.spark.anonymize` sends it."""
    given_given_policy = given_policy(PolicySource(name, policy, hierarchies or {}), columns.slice(0, 0))
    if given_given_policy.by_column:
        parameters["hierarchies"] = dict(given_given_policy.by_column)
    shown_name = name or "data"
    parameters = {"k": K, **parameters}
    return CallPlanner(
        PortableCall(
            function,
            shown_name,
            columns.slice(0, 0),
            given_given_policy.policy,
            given_given_policy.hierarchy,
            parameters,
            "UTC",
        )
    )


def release(planned: CallPlanner, rows: pa.Table) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows that a process releases of a table as one part."""
    assigned_values = planned.assign_classes(
        rows.select(planned.read_columns), pa.repeat(1, len(rows)), None
    ).to_pylist()
    kept_names = [
        name for name in planned.read_columns if name in (*planned.sensitive_columns, *planned.spec.roles.insensitive)
    ]
    values = [
        (*row["published"].values(), *(row["own"][name] for name in kept_names))
        for row in assigned_values
        if row["published"] is not None
        for _ in range(row["size"])
    ]
    first = next(row["published"] for row in assigned_values if row["published"] is not None)
    return [*first, *kept_names], values


# --- parameters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attempt", sample_cases(ATTEMPTS), ids=str)
def test_spark_plan_refuses_looser_parameters(database: Path, patients: pa.Table, attempt: Attempt) -> None:
    with pytest.raises(errors.DbanonError, match=REFUSAL):
        plan(database, patients, **attempt.parameters)


@pytest.mark.parametrize("attempt", BOUNDS_ATTEMPTS, ids=str)
def test_spark_plan_refuses_looser_bounds(database: Path, patients: pa.Table, attempt: Attempt) -> None:
    with pytest.raises(errors.DbanonError, match=REFUSAL):
        plan(database, patients, function="simdiv", **attempt.parameters)


@pytest.mark.parametrize("attempt", sample_cases(PERMITTED), ids=str)
def test_permitted_spark_parameters_stay_within_policy(database: Path, patients: pa.Table, attempt: Attempt) -> None:
    columns, rows = release(plan(database, patients, **attempt.parameters), patients)
    assert rows and problems(columns, rows, is_split=True) == []


@pytest.mark.parametrize("attempt", sample_cases(ATTEMPTS), ids=str)
def test_spark_roles_by_column_refuse_looser_parameters(patients: pa.Table, attempt: Attempt) -> None:
    hierarchies = {"zip5": HIERARCHY, **attempt.parameters.get("hierarchies", {})}
    with pytest.raises(errors.DbanonError, match=REFUSAL):
        plan(POLICY, patients, name=None, **{**attempt.parameters, "hierarchies": hierarchies})


# --- names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [*TABLE_SPELLINGS, "`patients`", "main.`PATIENTS`", "clinic.patients", "clinic.main.patients", "s.visits",
     "S.VISITS", "elsewhere"],
)  # fmt: skip
def test_spark_policy_found_under_any_catalog_name(database: Path, patients: pa.Table, name: str) -> None:
    with pytest.raises(errors.LoosensPolicyError):
        plan(database, patients, name=name, qi=["age"], sensitive=["name"])


@pytest.mark.filterwarnings("ignore::dbanon.errors.warnings.PolicyWarning")
@pytest.mark.parametrize(
    "name",
    ["visits", "s.patients", "other.patients", "a.b.c", "patients ", " patients", "plain", "nowhere", "main",
     "patients.parquet", "dbanon.policy", "main.elsewhere.x", "s.elsewhere", "`main.patients`", "ρatients"],
)  # fmt: skip
def test_spark_name_without_policy_in_database_refused(database: Path, patients: pa.Table, name: str) -> None:
    with pytest.raises(errors.DbanonError, match=r"does not name the table|match no table|no policy of its own"):
        plan(database, patients, name=name, qi=["age"], sensitive=["name"])


@pytest.mark.parametrize("view", VIEWS)
def test_spark_name_of_view_over_policy_refused(database: Path, patients: pa.Table, view: str) -> None:
    with pytest.raises(errors.ViewOverPolicyError):
        plan(database, patients, name=view, qi=["age"], sensitive=["disease"])


def test_policy_database_without_table_name_refused(database: Path, patients: pa.Table) -> None:
    for name in (None, ""):
        with pytest.raises(errors.PolicyNameMissingError, match="name = 'patients'"):
            plan(database, patients, name=name, qi=["age"], sensitive=["name"])


def test_policy_rows_of_other_tables_are_ignored(tmp_path: Path, patients: pa.Table) -> None:
    rows = [
        {"table_name": table, "column_name": column, "role": role}
        for table, roles in (
            ("patients", {"name": "identifier", "age": "quasi", "disease": "sensitive"}),
            ("notes", {"name": "sensitive", "age": "quasi"}),
        )
        for column, role in roles.items()
    ]
    file = tmp_path / "policy.csv"
    lines = [",".join(map(str, row.values())) for row in rows]
    file.write_text("\n".join([",".join(rows[0]), *lines, ""]))
    for policy in (pa.Table.from_pylist(rows[::-1]), file):
        for name in ("PATIENTS", "main.`patients`"):
            assert plan(policy, patients, name=name).spec.roles.sensitive == ("disease",)
            with pytest.raises(errors.LoosensPolicyError):
                plan(policy, patients, name=name, sensitive=["name"])
        with pytest.raises(errors.PolicyNameMissingError):
            plan(policy, patients, name=None)
        with pytest.raises(errors.DbanonError, match=r"does not name the table|not about the table"):
            plan(policy, patients, name="visits", qi=["age"], sensitive=["name"])


@pytest.mark.parametrize("policy", [{}, pa.table({"column_name": pa.array([], pa.string()), "role": []})], ids=str)
def test_policy_without_any_column_refused(patients: pa.Table, policy: Any) -> None:
    with pytest.raises(errors.InvalidPolicyFileError, match="without any column"):
        plan(policy, patients, qi=["age"], sensitive=["name"])


def test_policy_rows_repeating_column_refused(patients: pa.Table) -> None:
    rows = pa.table({"column_name": ["name", "age", "NAME"], "role": ["identifier", "quasi", "sensitive"]})
    with pytest.raises(errors.ConflictingRolesError):
        plan(rows, patients)


# --- columns and hierarchies -------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["name", "pid", "age", "disease"])
def test_dataframe_without_declared_column_refused(database: Path, patients: pa.Table, column: str) -> None:
    renamed = patients.rename_columns([f"{n}_2" if n == column else n for n in patients.column_names])
    for columns in (renamed, patients.drop_columns([column])):
        with pytest.raises(errors.UnknownColumnError):
            plan(database, columns, sensitive=["disease"])


@pytest.mark.parametrize("key", ["zip5", "zip", "ZIP"])
def test_spark_call_cannot_replace_database_hierarchy(database: Path, patients: pa.Table, key: str) -> None:
    with pytest.raises((errors.HierarchyOfPolicyError, errors.LoosensPolicyError)):
        plan(database, patients, hierarchies={key: FINE})


def test_hierarchy_by_column_never_replaces_stored_one(tmp_path: Path, patients: pa.Table) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        clinic(con)
        dbanon.load_hierarchy(con, "given for sex", HIERARCHY)
        con.execute("UPDATE dbanon.policy SET hierarchy = 'given for sex' WHERE hierarchy = 'zip5'")
    sexes = [["m", "*"], ["f", "*"], *([zip_code, "*"] for zip_code, *_ in FINE)]
    columns, rows = release(plan(path, patients, hierarchies={"sex": sexes}), patients)
    assert problems(columns, rows, is_split=True) == []


def test_roles_by_column_require_hierarchies_argument(patients: pa.Table) -> None:
    with pytest.raises(errors.UnknownHierarchyError):
        plan(POLICY, patients, name=None)
    columns, rows = release(plan(POLICY, patients, name=None, hierarchies={"zip5": HIERARCHY}), patients)
    assert problems(columns, rows, is_split=True) == []


# --- with Spark --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def frame(spark: Any, patients: pa.Table) -> Any:
    """Create `patients` in Spark, as a temporary view and a view over it."""
    df = spark.createDataFrame(patients)
    df.createOrReplaceTempView("patients")
    spark.sql("CREATE OR REPLACE TEMP VIEW over_patients AS SELECT * FROM patients")
    spark.sql("CREATE OR REPLACE GLOBAL TEMP VIEW patients AS SELECT name AS disease, age FROM patients")
    spark.sql("CREATE DATABASE IF NOT EXISTS s")
    yield df
    spark.sql("DROP DATABASE s CASCADE")
    spark.sql("DROP VIEW global_temp.patients")
    for view in ("patients", "over_patients"):
        spark.catalog.dropTempView(view)


@pytest.mark.filterwarnings("default")
def test_spark_release_stays_within_policy(frame: Any, database: Path) -> None:
    import dbanon.spark

    anonymized = dbanon.spark.anonymize(frame, "mondrian", k=K, name="PATIENTS", policy=database)
    rows = [tuple(row) for row in anonymized.collect()]
    assert len(rows) == frame.count() and problems(anonymized.columns, rows) == []


CALL = "SELECT * FROM mondrian('{}', k=5, qi=['age'], sensitive=['name'])"


@pytest.mark.parametrize("table", ["patients", "PATIENTS", "`patients`"])
def test_spark_sql_finds_policy_of_table(spark: Any, frame: Any, database: Path, table: str) -> None:
    import dbanon.spark

    for policy in (database, {"patients": POLICY}, {"`Patients`": POLICY}, {"patients": database}):
        dbanon.spark.install(spark, policy=policy)
        with pytest.raises(errors.LoosensPolicyError):
            spark.sql(CALL.format(table))


@pytest.mark.parametrize("table", ["over_patients", "OVER_patients", "global_temp.patients"])
def test_spark_sql_on_table_without_policy_refused(
    spark: Any, frame: Any, database: Path, tmp_path: Path, table: str
) -> None:
    import dbanon.spark

    file = tmp_path / "policy.toml"
    file.write_text('age = "quasi"\nname = "sensitive"\n')
    rows = pa.table({"column_name": ["age", "name"], "role": ["quasi", "sensitive"]})
    policies = (database, file, rows, {}, {"patients": POLICY}, {"over_patients": None, "global_temp.patients": None})
    for policy in policies:
        dbanon.spark.install(spark, policy=policy)
        with pytest.raises(errors.DbanonError, match=r"does not name the table|no policy of its own"):
            spark.sql(CALL.format(table))


def test_two_policy_entries_for_spark_table_refused(spark: Any, frame: Any) -> None:
    import dbanon.spark

    dbanon.spark.install(spark, policy={"patients": POLICY, "PATIENTS": {"age": "quasi", "name": "sensitive"}})
    with pytest.raises(errors.ConflictingRolesError):
        spark.sql(CALL.format("patients"))


def test_spark_table_name_includes_its_database(spark: Any, frame: Any, database: Path, patients: pa.Table) -> None:
    from dbanon.integrations.spark.session_tables import policy_source

    for table in ("s.patients", "s.visits", "default.kept"):
        spark.createDataFrame(patients.select(["name", "age"]).slice(0, 1)).write.saveAsTable(table)
    try:
        names = {
            table: policy_source(spark, table, database, {}).name
            for table in ("patients", "s.patients", "spark_catalog.s.patients", "S.Visits", "default.kept", "kept")
        }
        assert names == {
            "patients": "patients", "s.patients": "s.patients", "spark_catalog.s.patients": "s.patients",
            "S.Visits": names["S.Visits"], "default.kept": "kept", "kept": "kept",
        }  # fmt: skip
        assert names["S.Visits"].lower() == "s.visits"
        for key, table in (
            ("spark_catalog.S.visits", "s.visits"),
            ("s.`visits`", "S.VISITS"),
            ("kept", "default.KEPT"),
        ):
            assert policy_source(spark, table, {key: POLICY}, {}).policy is POLICY
        for key, table in (("visits", "s.visits"), ("patients", "s.patients"), ("s.kept", "kept")):
            with pytest.raises(errors.TableNotInPolicyError):
                policy_source(spark, table, {key: POLICY}, {})
        spark.sql("USE s")
        assert policy_source(spark, "visits", database, {}).name == "s.visits"
        assert policy_source(spark, "visits", {"s.visits": POLICY}, {}).policy is POLICY
    finally:
        spark.sql("USE default")
        spark.sql("DROP TABLE default.kept")


def test_spark_sql_call_cannot_replace_session_hierarchy(spark: Any, frame: Any, database: Path) -> None:
    import dbanon.spark

    dbanon.spark.install(spark, policy=database, hierarchies={"zip5": FINE})
    with pytest.raises(errors.HierarchyOfPolicyError):
        spark.sql("SELECT * FROM mondrian('patients', k=5)")
    dbanon.spark.install(spark, policy={"patients": POLICY}, hierarchies={"zip5": HIERARCHY, "sex": [["m", "*"]]})
    flat = "02138;*"
    for column in ("zip5", "zip", "sex"):
        with pytest.raises(errors.DbanonError, match=r"has no column|would loosen|hierarchies must be"):
            spark.sql(f"SELECT * FROM mondrian('patients', k=5, hierarchies={{'{column}': '{flat}'}})")
