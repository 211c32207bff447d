"""The policy as a table: its rows, writing it, tightening by calls, and reported problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.policy.column_roles import ROLES
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS

PATIENTS = """
    SELECT
        i AS rid, i // 2 AS person, 20 + i % 7 AS age, ['M', 'F'][1 + i % 2] AS sex,
        ['a1', 'a2', 'b1', 'b2'][1 + i // 3] AS ward, ['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease,
        CASE WHEN i < 6 THEN 'north' ELSE 'south' END AS region, 'note ' || i AS note,
        DATE '1980-01-01' + (i * 100)::INTEGER AS born
    FROM range(12) AS r (i)
"""
COLUMNS = ("rid", "person", "age", "sex", "ward", "disease", "region", "note", "born")


@pytest.fixture(scope="module")
def open_clinic() -> Iterator[Any]:
    """Provide an attached plain connection with the table `patients` and hierarchies of its wards."""
    with duckdb.connect() as connection:
        dbanon.attach(connection)
        connection.execute(f"CREATE TABLE patients AS {PATIENTS}")
        connection.execute("CREATE SCHEMA ward")
        connection.execute("CREATE TABLE ward.patients AS FROM main.patients")
        wards = ("a1", "a2", "b1", "b2")
        dbanon.load_hierarchy(connection, "wards", [[w, w[0], "*"] for w in wards])
        dbanon.load_hierarchy(connection, "deep_wards", [[w, w[0], "any", "*"] for w in wards])
        yield connection


@pytest.fixture
def clinic(open_clinic: Any) -> Any:
    """Provide `open_clinic` with an empty policy."""
    open_clinic.execute("DELETE FROM dbanon.policy")
    return open_clinic


def insert(connection: Any, *rows: tuple[Any, ...], columns: str = "table_name, column_name, role") -> None:
    """Insert rows into dbanon.policy."""
    for row in rows:
        places = ", ".join("?" for _ in row)
        connection.execute(f"INSERT INTO dbanon.policy ({columns}) VALUES ({places})", row)


def published_columns(connection: Any, arguments: str = "k=2", source: str = "patients") -> list[str]:
    """Return the names of the released columns."""
    result = connection.execute(f"FROM kacpc('{source}', {arguments})")
    names = [column[0] for column in result.description]
    assert len(result.fetchall()) >= 2
    assert names[-1] == "class_id"
    return names[:-1]


def values(connection: Any, column: str, arguments: str = "k=3") -> set[Any]:
    """Return the distinct released values of a column."""
    rows = connection.execute(f"SELECT DISTINCT {column} FROM kacpc('patients', {arguments})").fetchall()
    return {row[0] for row in rows}


def problems(connection: Any) -> list[tuple[Any, ...]]:
    """Return the rows of policy_problems() without the database."""
    return [row[1:] for row in connection.execute("FROM policy_problems()").fetchall()]


def assert_refused(connection: Any, arguments: str, message: str = "would loosen the policy") -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"FROM kacpc('patients', {arguments})")


# --- rows of the table --------------------------------------------------------------------------------------


def test_policy_insert_of_common_columns_applies(clinic: Any) -> None:
    clinic.execute("""
        INSERT INTO dbanon.policy (table_name, column_name, role, hierarchy, weight) VALUES
            ('patients', 'rid', 'identifier', NULL, 1),
            ('patients', 'age', 'quasi', NULL, 2.5),
            ('patients', 'ward', 'quasi', 'wards', 1),
            ('patients', 'disease', 'sensitive', NULL, 1)
    """)
    assert published_columns(clinic) == ["age", "ward", "disease"]
    others = clinic.execute(
        "SELECT DISTINCT min_level, max_level, top, bottom, rounding, schema_name FROM dbanon.policy"
    )
    assert others.fetchall() == [(None, None, None, None, None, "main")]


def test_declare_accepts_columns_named_like_its_parameters() -> None:
    with dbanon.connect() as con:
        con.execute('CREATE TABLE t AS SELECT i AS "table", i % 2 AS connection FROM range(20) AS r (i)')
        dbanon.declare(con, "t", table="quasi", connection="sensitive")
        rows = con.execute("SELECT column_name, role FROM dbanon.policy ORDER BY ALL").fetchall()
        assert rows == [("connection", "sensitive"), ("table", "quasi")]


def test_policy_row_requires_only_name_and_role(clinic: Any) -> None:
    insert(clinic, ("patients", "age", "quasi"), ("patients", "disease", "sensitive"))
    assert published_columns(clinic) == ["age", "disease"]
    assert clinic.execute("SELECT DISTINCT weight FROM dbanon.policy").fetchall() == [(1.0,)]


def test_policy_row_changes_apply_to_next_call(clinic: Any) -> None:
    assert_refused(clinic, "k=2", "no quasi-identifier")
    insert(clinic, ("patients", "age", "quasi"))
    assert published_columns(clinic) == ["age"]
    insert(clinic, ("patients", "disease", "sensitive"))
    assert published_columns(clinic) == ["age", "disease"]
    clinic.execute("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'disease'")
    assert published_columns(clinic) == ["age"]
    clinic.execute("UPDATE dbanon.policy SET column_name = 'sex' WHERE column_name = 'age'")
    assert published_columns(clinic) == ["sex"]
    clinic.execute("DELETE FROM dbanon.policy WHERE column_name = 'sex'")
    assert_refused(clinic, "k=2", "no quasi-identifier")


def test_policy_written_by_other_connection_applies(clinic: Any) -> None:
    insert(clinic, ("patients", "age", "quasi"))
    with clinic.cursor() as other:
        insert(other, ("patients", "region", "insensitive"))
    assert published_columns(clinic) == ["age", "region"]


def test_missing_quasi_identifier_error_shows_insert_and_qi(clinic: Any) -> None:
    assert_refused(clinic, "k=2", r"INSERT INTO dbanon\.policy \(table_name, column_name, role\).*qi = \[")
    assert_refused(clinic, "sensitive=['disease'], k=2", "no quasi-identifier")
    insert(clinic, ("patients", "disease", "sensitive"))
    assert_refused(clinic, "k=2", "no quasi-identifier")


def test_undeclared_columns_and_identifiers_not_published(clinic: Any) -> None:
    insert(
        clinic, ("patients", "rid", "identifier"), ("patients", "age", "quasi"), ("patients", "disease", "sensitive")
    )
    assert published_columns(clinic) == ["age", "disease"]
    clinic.execute("ALTER TABLE patients ADD COLUMN diary VARCHAR DEFAULT 'secret'")
    assert published_columns(clinic) == ["age", "disease"]
    clinic.execute("ALTER TABLE patients DROP COLUMN diary")


def test_policy_names_and_roles_ignore_case(clinic: Any) -> None:
    insert(clinic, ("PATIENTS", "AGE", "Quasi"), ("Patients", "Disease", "SENSITIVE"))
    assert published_columns(clinic) == ["age", "disease"]
    assert published_columns(clinic, source="Patients") == ["age", "disease"]
    assert_refused(clinic, "qi=['Disease'], k=2")


@pytest.mark.parametrize(
    "spelling",
    ["patients", "main.patients", "memory.main.patients", "memory.patients", '"patients"', 'MAIN."Patients"'],
)
def test_policy_table_name_accepts_spelling_variants(clinic: Any, spelling: str) -> None:
    insert(clinic, (spelling, "age", "quasi"), (spelling, "note", "identifier"))
    assert published_columns(clinic) == ["age"]
    assert_refused(clinic, "sensitive=['note'], k=2")
    assert problems(clinic) == []


def test_policy_applies_to_its_schema_only(clinic: Any) -> None:
    insert(clinic, ("patients", "age", "quasi"))
    insert(clinic, ("patients", "sex", "quasi", "ward"), columns="table_name, column_name, role, schema_name")
    insert(clinic, ("ward.patients", "region", "quasi"))
    assert published_columns(clinic) == ["age"]
    assert published_columns(clinic, source="ward.patients") == ["sex", "region"]
    assert published_columns(clinic, source="memory.ward.patients") == ["sex", "region"]


def test_policy_table_rejects_invalid_rows(clinic: Any) -> None:
    for column, value in (("weight", 0), ("weight", -1), ("weight", 1e7), ("min_level", -1), ("max_level", -1)):
        with pytest.raises(duckdb.ConstraintException):
            insert(clinic, ("patients", "age", "quasi", value), columns=f"table_name, column_name, role, {column}")
    for row in ((None, "age", "quasi"), ("patients", None, "quasi"), ("patients", "age", None)):
        with pytest.raises(duckdb.ConstraintException):
            insert(clinic, row)
    insert(clinic, ("patients", "age", "quasi"))
    with pytest.raises(duckdb.ConstraintException):
        insert(clinic, ("patients", "age", "insensitive"))
    assert published_columns(clinic) == ["age"]


@pytest.mark.parametrize("second", [("patients", "AGE"), ("main.patients", "age")])
def test_two_roles_for_column_raise_and_are_reported(clinic: Any, second: tuple[str, str]) -> None:
    insert(clinic, ("patients", "age", "quasi"), (*second, "insensitive"))
    assert_refused(clinic, "k=2", r"patients\.age is in two roles: ")
    assert problems(clinic)


def test_policy_with_two_person_columns_refused(clinic: Any) -> None:
    insert(clinic, ("patients", "age", "quasi"), ("patients", "person", "person"), ("patients", "rid", "person"))
    assert_refused(clinic, "k=2", "in two roles: person")


def test_unknown_policy_role_or_column_refuses_call(clinic: Any) -> None:
    insert(clinic, ("patients", "age", "quasi"), ("patients", "disease", "sensitif"))
    assert_refused(clinic, "k=2", "no role 'sensitif'.*Did you mean 'sensitive'")
    clinic.execute("UPDATE dbanon.policy SET role = 'sensitive', column_name = 'diseas' WHERE role = 'sensitif'")
    assert_refused(clinic, "k=2", "no column 'diseas'.*Did you mean 'disease'")


@pytest.mark.parametrize("name", ["x'); DROP TABLE patients; --", 'a"b', "it's", "🙂", "{{ x }}"])
def test_hostile_policy_texts_are_not_executed(clinic: Any, name: str) -> None:
    insert(clinic, ("patients", "age", "quasi"))
    insert(clinic, (name, name, name, name, name, name, name, name),
           columns="table_name, column_name, role, hierarchy, top, bottom, rounding, schema_name")  # fmt: skip
    assert published_columns(clinic) == ["age"]
    assert [row[:3] for row in problems(clinic)] == [(name, name, name)] * len(problems(clinic)) != []
    for column in ("column_name", "role"):
        insert(clinic, ("patients", name if column == "column_name" else "sex", "quasi" if column != "role" else name))
        assert_refused(clinic, "k=2", "no column|no role")
        clinic.execute(f"DELETE FROM dbanon.policy WHERE {column} = ? AND table_name = 'patients'", [name])
    for setting in ("hierarchy", "top", "bottom", "rounding"):
        clinic.execute(f"UPDATE dbanon.policy SET {setting} = ? WHERE table_name = 'patients'", [name])
        assert_refused(clinic, "k=2", "no hierarchy|does not fit|not well-formed|missing from hierarchy")
        clinic.execute(f"UPDATE dbanon.policy SET {setting} = NULL WHERE table_name = 'patients'")
    assert clinic.execute("SELECT count(*) FROM patients").fetchall() == [(12,)]


# --- declare ------------------------------------------------------------------------------------------------


def test_declare_accepts_role_pair_or_dict(clinic: Any) -> None:
    dbanon.declare(
        clinic,
        "patients",
        rid="identifier",
        ward=("quasi", "wards"),
        age={"role": "quasi", "weight": 2, "top": 24, "bottom": 21, "rounding": 2},
        sex=("quasi", None),
        disease="sensitive",
    )
    rows = clinic.execute("""
        SELECT column_name, role, hierarchy, weight, top, bottom, rounding FROM dbanon.policy ORDER BY column_name
    """).fetchall()
    assert rows == [
        ("age", "quasi", None, 2.0, "24", "21", "2"),
        ("disease", "sensitive", None, 1.0, None, None, None),
        ("rid", "identifier", None, 1.0, None, None, None),
        ("sex", "quasi", None, 1.0, None, None, None),
        ("ward", "quasi", "wards", 1.0, None, None, None),
    ]
    assert published_columns(clinic) == ["age", "sex", "ward", "disease"]


def test_declare_replaces_only_named_columns(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", age={"role": "quasi", "top": 24}, disease="sensitive")
    dbanon.declare(clinic, "ward.patients", age="quasi", disease="identifier")
    dbanon.declare(clinic, "patients", AGE="quasi", sex="quasi")
    assert published_columns(clinic) == ["age", "sex", "disease"]
    assert published_columns(clinic, source="ward.patients") == ["age"]
    rows = clinic.execute("SELECT column_name, top FROM dbanon.policy WHERE schema_name = 'main' ORDER BY ALL")
    assert rows.fetchall() == [("age", None), ("disease", None), ("sex", None)]


@pytest.mark.parametrize(
    "spelling", ["PATIENTS", "main.patients", "memory.main.patients", "memory.patients", '"patients"']
)
def test_declare_replaces_rows_of_other_spelling(clinic: Any, spelling: str) -> None:
    insert(clinic, (spelling, "Age", "quasi"), (spelling, "sex", "quasi"))
    dbanon.declare(clinic, "patients", age="identifier")
    assert published_columns(clinic) == ["sex"]


def test_declare_writes_to_database_and_schema_of_table(con: Any, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    con.execute(f"CREATE TABLE clinic.main.visits AS {PATIENTS}")
    con.execute('CREATE SCHEMA clinic."odd ward"')
    con.execute('CREATE TABLE clinic."odd ward"."Odd.Visits" AS FROM clinic.main.visits')
    dbanon.declare(con, "clinic.main.visits", age="quasi")
    dbanon.declare(con, 'clinic."odd ward"."Odd.Visits"', sex="quasi")
    rows = con.execute("SELECT schema_name, table_name, column_name FROM clinic.dbanon.policy ORDER BY ALL").fetchall()
    assert rows == [("main", "visits", "age"), ("odd ward", "Odd.Visits", "sex")]
    assert con.execute("FROM dbanon.policy").fetchall() == []
    assert published_columns(con, source="clinic.visits") == ["age"]
    assert published_columns(con, source='clinic."odd ward"."Odd.Visits"') == ["sex"]
    con.execute("USE clinic")
    assert published_columns(con, source="visits") == ["age"]
    assert problems(con) == []


def test_declare_accepts_views_and_hostile_column_names(clinic: Any) -> None:
    name = "x'); DROP TABLE patients; --\""
    clinic.execute(f'CREATE OR REPLACE VIEW odd AS SELECT age AS "{name.replace(chr(34), chr(34) * 2)}" FROM patients')
    dbanon.declare(clinic, "odd", **{name: "quasi"})
    assert published_columns(clinic, source="odd") == [name]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"agee": "quasi"}, "no column 'agee'.*Did you mean 'age'"),
    ({"age": "quasy"}, "no role 'quasy'.*Did you mean 'quasi'"),
    ({"age": "withheld"}, "no role 'withheld'"),
    ({"age": ""}, "no role"),
    ({"age": ()}, "no role|must be"),
    ({"age": {"top": 4}}, "no role"),
    ({"age": {"role": "quasi", "tops": 4}}, "no parameter 'tops'.*Did you mean 'top'"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_invalid_declare_writes_nothing(clinic: Any, mistake: dict[str, Any], message: str) -> None:
    dbanon.declare(clinic, "patients", age="quasi")
    old_rows = clinic.execute("FROM dbanon.policy").fetchall()
    with pytest.raises(dbanon.DbanonError, match=message):
        dbanon.declare(clinic, "patients", sex="quasi", **mistake)
    assert clinic.execute("FROM dbanon.policy").fetchall() == old_rows


@pytest.mark.parametrize("value", [5, None, ("quasi", "wards", "more")])
def test_declare_refuses_invalid_declaration_value(clinic: Any, value: Any) -> None:
    with pytest.raises(dbanon.DbanonError):
        dbanon.declare(clinic, "patients", ward=value)
    assert clinic.execute("FROM dbanon.policy").fetchall() == []


def test_declare_refuses_one_column_twice(clinic: Any) -> None:
    with pytest.raises(dbanon.DbanonError):
        dbanon.declare(clinic, "patients", age="identifier", AGE="insensitive")
    assert clinic.execute("FROM dbanon.policy").fetchall() == []


@pytest.mark.parametrize("settings", [{"weight": 0}, {"weight": "heavy"}, {"min_level": -1}])
def test_declare_with_invalid_setting_writes_nothing(clinic: Any, settings: dict[str, Any]) -> None:
    dbanon.declare(clinic, "patients", age="quasi")
    with pytest.raises((duckdb.Error, dbanon.DbanonError)):
        dbanon.declare(clinic, "patients", sex="quasi", age={"role": "insensitive", **settings})
    assert published_columns(clinic) == ["age"]


def test_declare_of_unknown_table_suggests_name(clinic: Any) -> None:
    with pytest.raises(dbanon.DbanonError, match=r"no table, view or file 'patient'.*Did you mean 'patients'"):
        dbanon.declare(clinic, "patient", age="quasi")


# --- permitted calls ------------------------------------------------------------------------------------------

PARAMETERS = {
    "qi": "qi := ['age', 'region']",
    "sensitive": "sensitive := ['region']",
    "insensitive": "insensitive := ['region']",
    "identifier": "identifier := ['region']",
    "withhold": "withhold := ['region']",
    "person": "person := 'region'",
}
TIGHTER = {
    "identifier": {"identifier", "withhold", "person"},
    "person": {"person"},
    "quasi": {"qi", "identifier", "withhold", "person"},
    "sensitive": {"sensitive", "identifier", "withhold", "person"},
    "insensitive": {"insensitive", "qi", "sensitive", "identifier", "withhold", "person"},
    None: {"identifier", "withhold", "person"},
}
"""Permitted roles in a call, by the declared role; None is a column without one."""


@pytest.mark.parametrize("declared", TIGHTER, ids=str)
def test_call_may_tighten_role_but_never_loosen(clinic: Any, declared: str | None) -> None:
    assert set(TIGHTER) - {None} == set(ROLES) - set(TRANSFORM_SETTINGS)  # those have tests of their own
    insert(clinic, ("patients", "age", "quasi"))
    if declared is not None:
        insert(clinic, ("patients", "region", declared))
    for parameter, argument in PARAMETERS.items():
        if parameter in TIGHTER[declared]:
            display = parameter in ("qi", "sensitive", "insensitive")
            assert published_columns(clinic, f"k := 2, {argument}") == (["age", "region"] if display else ["age"]), (
                parameter
            )
        else:
            assert_refused(
                clinic, f"k := 2, {argument}", rf"patients\.region is declared {declared}|region has no role"
            )
    display = declared in ("quasi", "sensitive", "insensitive")
    assert published_columns(clinic) == (["age", "region"] if display else ["age"])


def test_call_list_narrows_declared_columns(clinic: Any) -> None:
    dbanon.declare(
        clinic,
        "patients",
        age="quasi",
        sex="quasi",
        ward="quasi",
        disease="sensitive",
        region="insensitive",
        born="sensitive",
    )
    assert published_columns(clinic) == ["age", "sex", "ward", "disease", "region", "born"]
    assert published_columns(clinic, "k=2, qi=['ward', 'age']") == ["age", "ward", "disease", "region", "born"]
    assert published_columns(clinic, "k=2, sensitive=['disease']") == ["age", "sex", "ward", "disease", "region"]
    assert published_columns(clinic, "k=2, sensitive=[]") == ["age", "sex", "ward", "region"]
    assert published_columns(clinic, "k := 2, insensitive := []") == ["age", "sex", "ward", "disease", "born"]
    assert published_columns(clinic, "k := 2, withhold := ['sex', 'born']") == ["age", "ward", "disease", "region"]
    assert_refused(clinic, "k=2, qi=[]", "no quasi-identifier")
    assert_refused(clinic, "k := 2, withhold := ['age', 'sex', 'ward']", "no quasi-identifier")


def test_qi_order_does_not_change_column_order(clinic: Any) -> None:
    assert published_columns(clinic, "k=2, qi=['ward', 'sex', 'age'], sensitive=['disease']") == [
        "age",
        "sex",
        "ward",
        "disease",
    ]


def test_call_cannot_replace_declared_person_column(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", age="quasi", person="person")
    assert_refused(clinic, "k=2, person='rid'")
    assert published_columns(clinic, "k=2, person='PERSON'") == ["age"]
    assert_refused(clinic, "k=7", "k must be between 2 and 6 .patients has 6 persons., got 7")


def test_column_in_two_roles_of_call_refused(clinic: Any) -> None:
    pairs = ["qi=['age'], sensitive=['AGE']", "qi=['age'], person='age'", "qi=['age'], withhold := ['age']",
             "qi=['age'], insensitive := ['sex'], identifier := ['sex']"]  # fmt: skip
    for pair in pairs:
        assert_refused(clinic, f"{pair}, k := 2", "is in two roles")
    assert_refused(clinic, "k=2, qi=['age', 'AGE']", "different column names")


@pytest.mark.parametrize(
    "parameter", ["qi", "sensitive", "insensitive", "identifier", "withhold", "allow_rare", "person", "weights", "top"]
)
def test_unknown_column_error_names_parameter(clinic: Any, parameter: str) -> None:
    value = {"person": "'agee'", "weights": "{'agee': 1}", "top": "{'agee': 1}"}.get(parameter, "['agee']")
    others = "" if parameter == "qi" else ", qi := ['age']"
    assert_refused(clinic, f"k := 2, {parameter} := {value}{others}",
            rf"no column 'agee' .named in {parameter}.*Did you mean 'age'")  # fmt: skip


# --- settings -----------------------------------------------------------------------------------------------


def values_by_policy_and_call(connection: Any, column: str, declared: dict[str, Any], arguments: str) -> set[Any]:
    """Return the released values with a declared setting; assert that they equal those with the setting in the call."""
    base: Any = ("quasi", "wards") if column == "ward" else "quasi"
    dbanon.declare(connection, "patients", **{column: base})
    from_call = values(connection, column, f"k := 3, {arguments}")
    settings = {"role": "quasi", **({"hierarchy": "wards"} if column == "ward" else {}), **declared}
    dbanon.declare(connection, "patients", **{column: settings})
    from_table = values(connection, column)
    assert from_table == from_call
    return from_table


def test_top_and_bottom_code_the_extremes(clinic: Any) -> None:
    top = values_by_policy_and_call(clinic, "age", {"top": 24}, "top := {'age': 24}")
    assert any(">=24" in value for value in top)
    assert not any("25" in value or "26" in value for value in top)
    bottom = values_by_policy_and_call(clinic, "age", {"bottom": 22}, "bottom := {'age': 22}")
    assert any("<=22" in value for value in bottom)
    assert not any("20" in value or "21" in value for value in bottom)
    values_by_policy_and_call(clinic, "age", {"top": 24, "bottom": 22}, "top := {'age': 24}, bottom := {'age': 22}")


def test_top_and_bottom_accept_dates(clinic: Any) -> None:
    top = values_by_policy_and_call(clinic, "born", {"top": "1981-06-01"}, "top := {'born': '1981-06-01'}")
    assert any(">=1981-06" in value for value in top)
    assert not any("1982" in value for value in top)
    bottom = values_by_policy_and_call(clinic, "born", {"bottom": "1981-06-30"}, "bottom := {'born': '1981-06-30'}")
    assert any("<=1981-06" in value for value in bottom)
    assert not any("1980" in value for value in bottom)


def test_grid_snaps_interval_ends_outward(clinic: Any) -> None:
    ends = {"[20, 24]", "[25, 29]", "[20, 29]"}
    assert values_by_policy_and_call(clinic, "age", {"rounding": 5}, "rounding := {'age': 5}") <= ends
    assert values_by_policy_and_call(clinic, "born", {"rounding": "year"}, "rounding := {'born': 'year'}") <= {
        f"[{a}, {b}]" if a < b else str(a) for a in range(1980, 1984) for b in range(a, 1984)
    }
    assert values_by_policy_and_call(clinic, "born", {"rounding": "decade"}, "rounding := {'born': 'decade'}") == {
        "[1980, 1989]"
    }


def test_dates_rounded_to_months_by_default(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", born={"role": "quasi", "rounding": "none"})
    exact = values(clinic, "born")
    assert any(not value[1:].startswith(value[1:9] + "01") for value in exact)
    dbanon.declare(clinic, "patients", born="quasi")
    assert_refused(clinic, "k := 3, rounding := {'born': 'none'}", "would loosen the policy")
    for value in values(clinic, "born"):
        assert re.fullmatch(r"\d{4}-\d{2}|\[\d{4}-\d{2}, \d{4}-\d{2}\]", value), value


def test_min_level_and_max_level_bound_published_nodes(clinic: Any) -> None:
    assert values_by_policy_and_call(clinic, "ward", {"min_level": 1}, "min_level := {'ward': 1}") == {"a", "b"}
    assert values_by_policy_and_call(clinic, "ward", {"min_level": 2}, "min_level := {'ward': 2}") == {"*"}
    assert values_by_policy_and_call(clinic, "ward", {"min_level": 9}, "min_level := {'ward': 9}") == {"*"}
    assert values_by_policy_and_call(clinic, "ward", {"max_level": 0}, "max_level := {'ward': 0}") == {
        "a1",
        "a2",
        "b1",
        "b2",
    }
    dbanon.declare(clinic, "patients", ward={"role": "quasi", "hierarchy": "wards", "max_level": 1})
    assert values(clinic, "ward", "k=5") == {"a", "b"}
    assert_refused(clinic, "k=7", "max_level of ward separates")
    assert values(clinic, "ward", "k := 7, max_level := {'ward': 2}") == {"*"}


def test_weight_changes_clustering(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", age="quasi", sex="quasi")
    light = clinic.execute("FROM kacpc('patients', k := 4, weights := {'age': 0.001})").fetchall()
    heavy = clinic.execute("FROM kacpc('patients', k := 4, weights := {'age': 1000})").fetchall()
    assert light != heavy
    dbanon.declare(clinic, "patients", age={"role": "quasi", "weight": 1000})
    assert clinic.execute("FROM kacpc('patients', k=4)").fetchall() == heavy
    assert clinic.execute("FROM kacpc('patients', k := 4, weights := {'age': 0.001})").fetchall() == light


YEARS = "\\n".join(f"{20 + i};*" for i in range(7))

SETTINGS = [  # column, declared, the call's, whether it is allowed
    ("age", {"top": 24}, "top := {'age': 25}", False),
    ("age", {"top": 24}, "top := {'age': 24}", True),
    ("age", {"top": 24}, "top := {'age': 23}", True),
    ("age", {"top": 9}, "top := {'age': 10}", False),
    ("age", {"bottom": 22}, "bottom := {'age': 21}", False),
    ("age", {"bottom": 22}, "bottom := {'age': 23}", True),
    ("age", {"bottom": 10}, "bottom := {'age': 9}", False),
    ("age", {"rounding": 2}, "rounding := {'age': 4}", True),
    ("age", {"rounding": 2}, "rounding := {'age': 2}", True),
    ("age", {"rounding": 2}, "rounding := {'age': 3}", False),
    ("age", {"rounding": 2}, "rounding := {'age': 1}", False),
    ("age", {"rounding": 2}, "rounding := {'age': 'none'}", False),
    ("born", {"top": "1982-12-31"}, "top := {'born': '1983-01-01'}", False),
    ("born", {"top": "1982-12-31"}, "top := {'born': '1982-01-01'}", True),
    ("born", {"bottom": "1980-06-01"}, "bottom := {'born': '1980-05-31'}", False),
    ("born", {"rounding": "year"}, "rounding := {'born': 'month'}", False),
    ("born", {"rounding": "year"}, "rounding := {'born': 'none'}", False),
    ("born", {"rounding": "year"}, "rounding := {'born': 'decade'}", True),
    ("born", {"rounding": "year"}, "rounding := {'born': 'week'}", False),
    ("age", {"rounding": 2}, "top := {'age': 25}", False),
    ("age", {"rounding": 2}, "top := {'age': 24}", True),
    ("age", {"rounding": 2}, "bottom := {'age': 22}", False),
    ("age", {"rounding": 2}, "bottom := {'age': 21}", True),
    ("age", {"rounding": 2, "top": 25}, "top := {'age': 25}", True),
    ("age", {"rounding": 2}, "rounding := {'age': 4}, top := {'age': 22}", True),
    ("born", {}, "top := {'born': '1981-06-15'}", False),
    ("born", {}, "bottom := {'born': '1981-06-15'}", False),
    ("born", {}, "top := {'born': '1981-06-01'}", True),
    ("born", {}, "bottom := {'born': '1981-06-30'}", True),
    ("born", {"rounding": "year"}, "top := {'born': '1981-06-01'}", False),
    ("born", {"rounding": "decade"}, "top := {'born': '1981-01-01'}", False),
    ("born", {"rounding": "none"}, "top := {'born': '1981-06-15'}", True),
    ("ward", {"min_level": 1}, "min_level := {'ward': 0}", False),
    ("ward", {"min_level": 1}, "min_level := {'ward': 2}", True),
    ("ward", {"min_level": 1}, "hierarchies := {'ward': 'deep_wards'}", False),
    ("ward", {"min_level": 1}, "hierarchies := {'ward': 'wards'}", True),
    ("ward", {"max_level": 1}, "max_level := {'ward': 2}", True),
    ("ward", {}, "hierarchies := {'ward': 'deep_wards'}", False),
    ("ward", {}, "hierarchies := {'ward': 'wards'}", True),
    ("born", {}, "hierarchies := {'born': '1980-01-01;1980;*'}", False),
    ("BORN", {}, "hierarchies := {'Born': '1980-01-01;1980;*'}", False),
    ("born", {"rounding": "year"}, "hierarchies := {'born': '1980-01-01;1980;*'}", False),
    ("age", {}, f"hierarchies := {{'age': E'{YEARS}'}}", True),
    ("sex", {}, "hierarchies := {'sex': E'M;*\\nF;*'}", True),
    ("age", {"top": 24}, "hierarchies := {'age': E'20;*\\n21;*\\n22;*\\n23;*\\n24;*\\n25;*\\n26;*'}", False),
    ("age", {"rounding": 2}, "hierarchies := {'age': E'20;*\\n21;*\\n22;*\\n23;*\\n24;*\\n25;*\\n26;*'}", False),
]


@pytest.mark.all_cases
@pytest.mark.parametrize(("column", "declared", "arguments", "is_accepted"), SETTINGS)
def test_call_may_tighten_but_not_loosen_settings(
    clinic: Any, column: str, declared: dict[str, Any], arguments: str, is_accepted: bool
) -> None:
    hierarchy = {"hierarchy": "wards"} if column == "ward" else {}
    dbanon.declare(clinic, "patients", **{column: {"role": "quasi", **hierarchy, **declared}})
    if is_accepted:
        assert published_columns(clinic, f"k := 2, {arguments}") == [column.lower()]
    else:
        assert published_columns(clinic) == [column.lower()]
        assert_refused(
            clinic, f"k := 2, {arguments}", "would loosen the policy|does not fit|lies inside an interval of it"
        )


@pytest.mark.parametrize(
    ("column", "setting", "value"),
    [
        ("age", "top", "'x'"), ("age", "bottom", "'1980-01-01'"), ("age", "rounding", "0"), ("age", "rounding", "-5"),
        ("age", "rounding", "2.5"), ("age", "rounding", "'month'"), ("age", "min_level", "1"),
        ("age", "max_level", "1"),
        ("born", "top", "'x'"), ("born", "rounding", "5"), ("born", "rounding", "'fortnight'"), ("ward", "top", "1"),
        ("ward", "bottom", "'a1'"), ("ward", "rounding", "5"), ("sex", "top", "1"),
    ],
)  # fmt: skip
def test_setting_invalid_for_column_refused(clinic: Any, column: str, setting: str, value: str) -> None:
    hierarchies = "hierarchies := {'ward': 'wards'}" if column == "ward" else "hierarchies := NULL"
    assert_refused(clinic, f"k := 2, qi := ['{column}'], {hierarchies}, {setting} := {{'{column}': {value}}}",
            rf"{setting} does not fit patients\.{column}")  # fmt: skip
    dbanon.declare(clinic, "patients", **{column: "quasi", "rid": "quasi"})
    assert_refused(
        clinic, f"k := 2, qi := ['rid'], {setting} := {{'{column}': {value}}}", "not a quasi-identifier of this call"
    )


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("declared", "bounds", "is_accepted"),
    [
        ({}, "[21, 23]", True),
        ({"rounding": 2}, "[21, 23]", False),
        ({"rounding": 2}, "[20, 24]", False),
        ({"rounding": 2}, "[20, 23]", True),
        ({"top": 24}, "[21, 23]", False),
    ],
)
def test_call_bounds_within_policy_grid_cell_refused(
    clinic: Any, declared: dict[str, Any], bounds: str, is_accepted: bool
) -> None:
    dbanon.declare(clinic, "patients", age={"role": "quasi", **declared}, disease="sensitive")
    query = f"SELECT DISTINCT age FROM simdiv('patients', k := 2, bounds := {{'AGE': {bounds}}})"
    if is_accepted:
        assert len(clinic.execute(query).fetchall()) > 0
    else:
        with pytest.raises(duckdb.Error, match=r"would loosen the policy|lies inside an interval"):
            clinic.execute(query)


@pytest.mark.parametrize(
    "arguments",
    ["qi := ['age', 'note']", "insensitive := ['NOTE'], allow_rare := ['note']", "sensitive := ['note']"],
)
def test_call_cannot_publish_undeclared_column(clinic: Any, arguments: str) -> None:
    dbanon.declare(clinic, "patients", age="quasi")
    for source in ("patients", "PATIENTS", 'main."Patients"', "memory.patients"):
        with pytest.raises(duckdb.Error, match="in which note has no role, so it is withheld"):
            clinic.execute(f"FROM kacpc('{source}', k := 2, {arguments})")
    for function in ("kacpc_classes", "kacpc_metrics", "mondrian"):
        with pytest.raises(duckdb.Error, match="would loosen the policy"):
            clinic.execute(f"FROM {function}('patients', k := 2, {arguments})")
    clinic.execute("DELETE FROM dbanon.policy")
    roles = arguments if "qi" in arguments else f"qi := ['age'], {arguments}"
    assert published_columns(clinic, f"k := 2, {roles}") == ["age", "note"]


def test_view_over_policy_table_requires_own_policy(clinic: Any) -> None:
    clinic.execute("CREATE VIEW near AS SELECT age, note AS remark FROM patients")
    clinic.execute(
        "CREATE VIEW far (years, remark) AS SELECT * FROM memory.near WHERE age IN (SELECT age FROM patients)"
    )
    clinic.execute("CREATE VIEW apart AS SELECT i AS age, i AS rid FROM range(12) AS r (i)")
    try:
        assert published_columns(clinic, "k := 2, qi := ['age']", "near") == ["age"]
        dbanon.declare(clinic, "patients", age="quasi", note="identifier")
        for view, parameters in (("near", "qi := ['age'], sensitive := ['remark']"), ("FAR", "qi := ['years']")):
            with pytest.raises(duckdb.Error, match=r"has no policy of its own and reads memory\.main\."):
                clinic.execute(f"FROM kacpc('{view}', k := 2, {parameters})")
        assert published_columns(clinic, "k := 2, qi := ['age']", "apart") == ["age"]
        dbanon.declare(clinic, "near", age="quasi")
        assert published_columns(clinic, "k := 2", "near") == ["age"]
        with pytest.raises(duckdb.Error, match="in which remark has no role"):
            clinic.execute("FROM kacpc('near', k := 2, insensitive := ['remark'])")
    finally:
        for view in ("far", "near", "apart"):
            clinic.execute(f"DROP VIEW {view}")


READS = (
    "SELECT * FROM patients AS p",
    "SELECT p.* FROM main.patients AS p (a, b)",
    "SELECT p.age, p.note FROM patients AS p JOIN ages AS a USING (age)",
    "FROM patients AS p TABLESAMPLE reservoir(20 ROWS)",
    "SELECT * FROM ages, LATERAL (SELECT note FROM patients AS p)",
    "WITH p AS MATERIALIZED (FROM main.patients AS q) FROM p",
    "FROM all_of()",
    "FROM all_of_all()",
    "SELECT age, unnest(notes()) AS note FROM ages",
)
"""Queries that read patients."""


@pytest.mark.all_cases
@pytest.mark.parametrize("query", READS)
def test_policy_found_through_every_view(clinic: Any, query: str) -> None:
    clinic.execute("CREATE TABLE ages AS SELECT DISTINCT age FROM patients")
    clinic.execute("CREATE MACRO all_of() AS TABLE SELECT * FROM main.patients AS x")
    clinic.execute("CREATE MACRO all_of_all() AS TABLE FROM all_of()")
    clinic.execute("CREATE MACRO notes() AS (SELECT list(note) FROM patients AS x)")
    clinic.execute(f"CREATE VIEW reader AS {query}")
    try:
        dbanon.declare(clinic, "patients", age="quasi", note="identifier")
        column = clinic.execute("SELECT column_name FROM (DESCRIBE reader) LIMIT 1").fetchone()[0]
        with pytest.raises(duckdb.Error, match=r"reader has no policy of its own and reads memory\.main\.patients"):
            clinic.execute(f"FROM kacpc('reader', k := 2, qi := ['{column}'])")
    finally:
        for text in ("VIEW reader", "TABLE ages", "MACRO notes", "MACRO TABLE all_of_all", "MACRO TABLE all_of"):
            clinic.execute(f"DROP {text}")


def test_min_level_above_max_level_refused(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", ward={"role": "quasi", "hierarchy": "wards", "min_level": 2, "max_level": 1})
    assert_refused(clinic, "k=2", "min_level does not fit patients.ward: 2 is above max_level 1")


def test_top_below_bottom_refused(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", age={"role": "quasi", "top": 22, "bottom": 24})
    assert_refused(clinic, "k=2", "(top|bottom) does not fit")


# --- policy_problems ----------------------------------------------------------------------------------------


def test_policy_problems_empty_for_valid_policy(clinic: Any) -> None:
    assert problems(clinic) == []
    dbanon.declare(clinic, "patients", age="quasi", ward=("quasi", "wards"), sex=("quasi", "sex"), person="person")
    dbanon.declare(clinic, "ward.patients", rid="identifier", region="insensitive", disease="sensitive")
    assert problems(clinic) == []


def test_policy_problems_lists_every_kind_of_problem(clinic: Any) -> None:
    columns = "table_name, column_name, role, hierarchy, schema_name"
    insert(
        clinic,
        ("patients", "age", "quasi", None, "main"),
        ("patients", "aeg", "quasi", None, "main"),
        ("patients", "disease", "sensitif", None, "main"),
        ("patients", "sex", "quasi", "nope", "main"),
        ("patients", "ward", "quasi", "a1;x\na2;y", "main"),
        ("gone", "x", "quasi", None, "main"),
        ("nowhere.patients", "age", "quasi", None, "main"),
        ("patients", "wing", "insensitive", None, "ward"),
        columns=columns,
    )
    actual_values = {(row[1], row[2]): row[3] for row in problems(clinic)}
    assert set(actual_values) == {
        ("patients", "aeg"), ("patients", "disease"), ("patients", "sex"), ("patients", "ward"), ("gone", "x"),
        ("nowhere.patients", "age"), ("patients", "wing"),
    }  # fmt: skip
    assert "no column 'aeg'" in actual_values["patients", "aeg"]
    assert "Did you mean 'age'" in actual_values["patients", "aeg"]
    assert "no role 'sensitif'" in actual_values["patients", "disease"]
    assert "no hierarchy 'nope'" in actual_values["patients", "sex"]
    assert "2 roots" in actual_values["patients", "ward"]
    assert "no column 'wing'" in actual_values["patients", "wing"]
    assert actual_values["gone", "x"].startswith("orphan")
    assert actual_values["nowhere.patients", "age"].startswith("orphan")


def test_policy_rows_of_dropped_table_reported_as_orphans(clinic: Any) -> None:
    clinic.execute("CREATE TABLE brief AS FROM patients")
    dbanon.declare(clinic, "brief", age="quasi")
    assert problems(clinic) == []
    clinic.execute("DROP TABLE brief")
    assert [row[:3] for row in problems(clinic)] == [("main", "brief", "age")]
    assert "orphan" in problems(clinic)[0][3]


def test_policy_row_with_wrong_schema_is_orphan(clinic: Any) -> None:
    """Such a row has no effect on main.patients, so its author must be informed."""
    insert(clinic, ("patients", "age", "identifier", "mian"), columns="table_name, column_name, role, schema_name")
    with pytest.raises(duckdb.Error, match="for table 'patients' in schema 'mian' match no table"):
        published_columns(clinic, "k=2, qi=['age']")
    assert [row[:3] for row in problems(clinic)] == [("mian", "patients", "age")]


def test_policy_row_about_table_in_other_database_is_orphan(con: Any, tmp_path: Path) -> None:
    """A policy is stored in its table's database: elsewhere it has no effect, so its author must be informed."""
    con.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    con.execute(f"CREATE TABLE clinic.main.patients AS {PATIENTS}")
    insert(con, ("clinic.main.patients", "age", "identifier"))
    with pytest.raises(duckdb.Error, match=r"rows of memory\.dbanon\.policy for table 'clinic\.main\.patients'"):
        published_columns(con, "k=2, qi=['age']", "clinic.patients")
    assert [row[:3] for row in problems(con)] == [("main", "clinic.main.patients", "age")]


def test_policy_problems_reads_every_attached_database(con: Any, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    con.execute(f"CREATE TABLE clinic.main.patients AS {PATIENTS}")
    dbanon.declare(con, "clinic.patients", age="quasi")
    assert problems(con) == []
    insert(con, ("gone", "x", "quasi"))
    con.execute("INSERT INTO clinic.dbanon.policy (table_name, column_name, role) VALUES ('gone', 'y', 'quasi')")
    rows = con.execute("SELECT database_name, column_name FROM policy_problems() ORDER BY ALL").fetchall()
    assert rows == [("clinic", "y"), ("memory", "x")]


# --- identifiers that repeat ----------------------------------------------------------------------------------


def repeats(connection: Any) -> list[tuple[str, str, bool]]:
    """Return the identifiers that policy_problems reports as repeated.

    Each is its table, its column and whether there is a statement.
    """
    rows = connection.execute("FROM policy_problems()").fetchall()
    return [(row[2], row[3], row[5] is not None) for row in rows if "occur in more than one row" in row[4]]


@pytest.fixture
def stays(clinic: Any) -> Any:
    """Create six people with ten stays each; `person` is only declared as an identifier."""
    clinic.execute("""
        CREATE OR REPLACE TABLE stays AS
        SELECT 'P' || p AS patient, p * 10 + v AS stay, ['Ann', 'Bob'][1 + p % 2] AS name, 20 + p AS age
        FROM range(6) AS a (p), range(10) AS b (v)
    """)
    dbanon.declare(clinic, "stays", patient="identifier", stay="identifier", age="quasi")
    return clinic


def test_repeated_identifier_reported_unique_not(stays: Any) -> None:
    assert repeats(stays) == [("stays", "patient", True)]
    (row,) = stays.execute("FROM policy_problems()").fetchall()
    assert row[4].startswith("stays.patient: 6 values of this identifier occur in more than one row")
    assert not any(f"P{p}" in cell for p in range(6) for cell in row)
    names = [column[0] for column in stays.execute("FROM policy_problems()").description]
    assert names == ["database_name", "schema_name", "table_name", "column_name", "problem", "statement"]


def test_suggested_statement_fixes_problem_and_counts_persons(stays: Any) -> None:
    old_rows = stays.execute("SELECT min(size) FROM kacpc_classes('stays', k=3)").fetchall()
    assert old_rows == [(3,)]
    (statement,) = stays.execute("SELECT statement FROM policy_problems()").fetchall()[0]
    stays.execute(statement)
    assert problems(stays) == []
    classes = stays.execute("SELECT persons FROM kacpc_classes('stays', k=3)").fetchall()
    assert min(persons for (persons,) in classes) >= 3
    refused_k = "k must be between 2 and 6 .stays has 6 persons., got 7"
    with pytest.raises(duckdb.Error, match=refused_k):
        stays.execute("FROM kacpc('stays', k=7)")


def test_declared_person_silences_identifiers_of_table(stays: Any) -> None:
    dbanon.declare(stays, "stays", name="identifier")
    assert repeats(stays) == [("stays", "name", True), ("stays", "patient", True)]
    insert(stays, ("main.stays", "PATIENT", "person"))
    stays.execute("DELETE FROM dbanon.policy WHERE column_name = 'patient'")
    assert repeats(stays) == []


def test_hint_explains_names_repeating_by_chance(stays: Any) -> None:
    dbanon.declare(stays, "stays", name="identifier", patient="sensitive")
    (row,) = stays.execute("FROM policy_problems()").fetchall()
    assert row[3] == "name"
    assert "names repeat by chance" in row[4]


def test_names_that_repeat_by_chance_not_reported(stays: Any) -> None:
    stays.execute("UPDATE stays SET name = 'N' || stay % 58")
    stays.execute("DELETE FROM dbanon.policy WHERE column_name = 'patient'")
    dbanon.declare(stays, "stays", name="identifier")
    assert repeats(stays) == []
    stays.execute("UPDATE stays SET name = 'N' || stay % 50")
    assert repeats(stays) == [("stays", "name", True)]


def test_null_identifier_values_are_not_repeats(stays: Any) -> None:
    stays.execute("UPDATE stays SET patient = CASE WHEN stay % 10 = 0 THEN patient END")
    assert problems(stays) == []


def test_repeated_identifiers_counted_at_execution(stays: Any) -> None:
    stays.execute("BEGIN")
    stays.execute("DELETE FROM stays WHERE stay % 10 > 0")
    assert problems(stays) == []
    stays.execute("ROLLBACK")
    assert repeats(stays) == [("stays", "patient", True)]


def test_repeated_list_identifier_hint_suggests_text_column(stays: Any) -> None:
    stays.execute("CREATE OR REPLACE VIEW keys AS SELECT [patient] AS patient, age FROM stays")
    stays.execute("DELETE FROM dbanon.policy")
    dbanon.declare(stays, "keys", patient="identifier")
    (row,) = stays.execute("FROM policy_problems()").fetchall()
    assert row[5] is None
    assert "convert it to text in a view" in row[4]
    stays.execute("DROP VIEW keys")


def test_broken_view_reported_with_other_problems(stays: Any) -> None:
    stays.execute("CREATE TABLE gone AS FROM stays")
    stays.execute("CREATE VIEW broken AS FROM gone")
    dbanon.declare(stays, "broken", patient="identifier", age="quasi")
    stays.execute("DROP TABLE gone")
    rows = stays.execute("FROM policy_problems()").fetchall()
    assert {(row[2], row[3]) for row in rows} == {("broken", "patient"), ("stays", "patient")}
    unreadable = next(row for row in rows if row[2] == "broken")
    assert unreadable[4].startswith("unreadable: 'broken' cannot be read here")
    assert unreadable[5] is None
    stays.execute("DROP VIEW broken")


def test_temporary_table_read_on_its_connection() -> None:
    with dbanon.connect() as connection:
        connection.execute("CREATE TEMP TABLE visits AS SELECT i // 2 AS patient, i AS age FROM range(8) AS r (i)")
        insert(connection, ("visits", "patient", "identifier"), ("visits", "age", "quasi"))
        assert repeats(connection) == [("visits", "patient", True)]
        (statement,) = connection.execute("SELECT statement FROM policy_problems()").fetchall()[0]
        connection.execute(statement)
        assert connection.execute("FROM policy_problems()").fetchall() == []
        assert connection.execute("SELECT min(persons) FROM kacpc_classes('visits', k=2)").fetchall()[0][0] >= 2


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_repeated_identifier_in_file_reported(stays: Any, tmp_path: Path, format: str) -> None:
    stays.execute("DELETE FROM dbanon.policy")
    path = str(tmp_path / f"it's.{format}")
    stays.execute(f"COPY stays TO '{path.replace(chr(39), chr(39) * 2)}'")
    insert(stays, (path, "patient", "identifier"), (path, "stay", "identifier"))
    assert repeats(stays) == [(path, "patient", True)]
    (statement,) = stays.execute("SELECT statement FROM policy_problems()").fetchall()[0]
    stays.execute(statement)
    assert problems(stays) == []


def test_missing_file_does_not_stop_policy_problems(stays: Any, tmp_path: Path) -> None:
    insert(stays, (str(tmp_path / "gone.csv"), "patient", "identifier"))
    assert repeats(stays) == [("stays", "patient", True)]


def test_read_only_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as connection:
        connection.execute("CREATE TABLE visits AS SELECT i // 2 AS patient, i AS age FROM range(8) AS r (i)")
        dbanon.declare(connection, "visits", patient="identifier", age="quasi")
    with dbanon.connect(path, read_only=True) as connection:
        assert repeats(connection) == [("visits", "patient", True)]


def test_earlier_names_in_read_only_database_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS age, i % 3 AS ward FROM range(60) AS r (i)")
        dbanon.declare(connection, "visits", age="quasi", ward="insensitive")
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE dbanon.policy RENAME COLUMN rounding TO grid")
        connection.execute("UPDATE dbanon.policy SET role = 'other' WHERE role = 'insensitive'")
    with dbanon.connect(path, read_only=True) as connection:
        assert problems(connection) == []


def test_suggested_statement_names_policy_database(con: Any, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS \"odd one\"")
    con.execute('CREATE TABLE "odd one".main.visits AS SELECT i // 2 AS patient, i AS age FROM range(8) AS r (i)')
    dbanon.declare(con, '"odd one".main.visits', patient="identifier", age="quasi")
    (statement,) = con.execute("SELECT statement FROM policy_problems()").fetchall()[0]
    con.execute(statement)
    assert problems(con) == []
    assert con.execute("SELECT min(persons) FROM kacpc_classes('\"odd one\".visits', k=2)").fetchall()[0][0] >= 2


@pytest.mark.parametrize(
    "name", ["x'); DROP TABLE patients; --", 'a"b', "it's", "🙂", "{{ x }}", "\x01now()\x02", "a\nb"]
)
def test_hostile_names_of_repeated_identifiers_not_executed(clinic: Any, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    clinic.execute(f"CREATE TABLE {quoted} AS SELECT i // 2 AS {quoted}, i AS age FROM range(8) AS r (i)")
    insert(clinic, (quoted, name, "identifier"), (quoted, "age", "quasi"))
    assert repeats(clinic) == [(quoted, name, True)]
    (statement,) = clinic.execute("SELECT statement FROM policy_problems()").fetchall()[0]
    clinic.execute(statement)
    assert problems(clinic) == []
    assert clinic.execute("SELECT role FROM dbanon.policy WHERE column_name = ?", [name]).fetchall() == [("person",)]
    clinic.execute(f"DROP TABLE {quoted}")


# --- other columns ------------------------------------------------------------------------------------------


def test_insensitive_column_with_rare_values_refused(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", age="quasi", ward="insensitive", region="insensitive")
    assert published_columns(clinic, "k=3") == ["age", "ward", "region"]
    assert_refused(
        clinic,
        "k=4",
        r"patients\.ward has the role insensitive.*4 of its values belong to fewer than k = 4.*allow_rare",
    )
    for function in ("kacpc_classes", "kacpc_metrics", "mondrian"):
        with pytest.raises(duckdb.Error, match="has the role insensitive"):
            clinic.execute(f"FROM {function}('patients', k=4)")
    assert published_columns(clinic, "k := 4, allow_rare := ['ward']") == ["age", "ward", "region"]
    assert published_columns(clinic, "k := 4, allow_rare := 'WARD'") == ["age", "ward", "region"]
    assert published_columns(clinic, "k := 4, withhold := ['ward']") == ["age", "region"]
    assert published_columns(clinic, "k := 4, sensitive := ['ward']") == ["age", "ward", "region"]
    assert_refused(clinic, "k := 7, allow_rare := ['ward']", r"patients\.region has the role insensitive")


def test_rare_null_of_insensitive_column_refused(clinic: Any) -> None:
    clinic.execute("CREATE OR REPLACE VIEW gaps AS SELECT age, CASE WHEN rid > 0 THEN 'x' END AS flag FROM patients")
    dbanon.declare(clinic, "gaps", age="quasi", flag="insensitive")
    with pytest.raises(duckdb.Error, match="1 of its values"):
        clinic.execute("FROM kacpc('gaps', k=2)")


def test_rare_sensitive_values_are_published_and_counted(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", age="quasi", note="sensitive")
    assert published_columns(clinic, "k=3") == ["age", "note"]
    rare = clinic.execute(
        "SELECT value FROM kacpc_metrics('patients', k=3) WHERE metric = 'n_rare_values:note'"
    ).fetchall()
    assert rare == [(12.0,)]


# --- persons ------------------------------------------------------------------------------------------------


@pytest.fixture
def visits(clinic: Any) -> Any:
    """Create six people with ten visits each, in `visits`."""
    clinic.execute("""
        CREATE OR REPLACE TABLE visits AS
        SELECT p AS person, v AS visit, 20 + p AS age, CASE WHEN p = 0 THEN 'inn' ELSE 'home' END AS stay
        FROM range(6) AS a (p), range(10) AS b (v)
    """)
    return clinic


@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_k_counts_persons_not_rows(visits: Any, algorithm: str, k: int) -> None:
    dbanon.declare(visits, "visits", age="quasi", person="person", visit="sensitive")
    rows = visits.execute(f"SELECT age, visit FROM {algorithm}('visits', k={k})").fetchall()
    assert len(rows) == 60
    classes = visits.execute(f"SELECT age, size, persons FROM {algorithm}_classes('visits', k={k})").fetchall()
    assert {age: size for age, size, _ in classes} == Counter(age for age, _ in rows)
    for age, size, persons in classes:
        low, high = (int(end) for end in age[1:-1].split(", "))
        assert k <= persons <= high - low + 1
        assert size >= persons
    achieved = visits.execute(f"SELECT metric, value FROM {algorithm}_metrics('visits', k={k})").fetchall()
    assert dict(achieved)["k"] == min(persons for _, _, persons in classes)
    assert dict(achieved)["persons"] == 6
    assert dict(achieved)["records"] == 60


def test_k_counts_rows_without_person_column(visits: Any) -> None:
    dbanon.declare(visits, "visits", age="quasi")
    assert visits.execute("SELECT min(size) FROM kacpc_classes('visits', k=3)").fetchall()[0][0] >= 3
    dbanon.declare(visits, "visits", person="person")
    with pytest.raises(duckdb.Error, match=r"k must be between 2 and 6 .visits has 6 persons., got 7"):
        visits.execute("FROM kacpc('visits', k=7)")


def test_person_parameter_counts_and_withholds_column(visits: Any) -> None:
    result = visits.execute("FROM kacpc('visits', k=3, qi=['age'], person='person')")
    assert [column[0] for column in result.description] == ["age", "class_id"]
    assert "20" not in {row[0] for row in result.fetchall()}


def test_rare_values_are_counted_by_person(visits: Any) -> None:
    dbanon.declare(visits, "visits", age="quasi", stay="insensitive")
    assert len(visits.execute("FROM kacpc('visits', k=3)").fetchall()) == 60
    dbanon.declare(visits, "visits", person="person")
    with pytest.raises(duckdb.Error, match="1 of its values belongs to fewer than k = 3"):
        visits.execute("FROM kacpc('visits', k=3)")


def test_null_person_rows_not_counted_for_k(visits: Any) -> None:
    dbanon.declare(visits, "visits", age="quasi", person="person")
    visits.execute("UPDATE visits SET person = NULL WHERE person > 3")
    with pytest.raises(duckdb.Error, match="visits has 4 persons"):
        visits.execute("FROM kacpc('visits', k=5)")
    classes = visits.execute("SELECT size, persons FROM kacpc_classes('visits', k=2)").fetchall()
    assert sum(size for size, _ in classes) == 60
    assert min(persons for _, persons in classes) >= 2


@pytest.mark.all_cases
@pytest.mark.parametrize("view", ["FROM patients", "FROM between", "SELECT * FROM temp.between AS p"])
def test_temporary_view_over_policy_table_needs_policy(view: str) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients AS SELECT i AS pid, i % 5 AS age, 'flu' AS disease FROM range(40) AS r (i)")
        dbanon.declare(con, "patients", pid="identifier", age="quasi", disease="sensitive")
        con.execute("CREATE TEMP VIEW between AS FROM patients")
        con.execute(f"CREATE TEMP VIEW seen AS {view}")
        with pytest.raises(duckdb.Error, match="has no policy of its own and reads"):
            con.execute("FROM kacpc('seen', k = 2, qi = ['age'], sensitive = ['pid'])").fetchall()


def test_call_cannot_publish_quasi_identifier_unchanged(con: Any) -> None:
    con.execute("CREATE TABLE q AS SELECT i % 2 AS age, i % 3 AS zip FROM range(12) AS r (i)")
    dbanon.declare(con, "q", age="quasi", zip="quasi")
    with pytest.raises(duckdb.Error, match="would loosen the policy"):
        con.execute("FROM kacpc('q', k := 2, qi := ['zip'], insensitive := ['age'])")
