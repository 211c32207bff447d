"""profile(): numbers equal their definitions, proposals are sensible, and odd tables work."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.policy.column_names import hints
from dbanon.policy.profiling import profile
from dbanon.sqltext.quote import identifier, text

COLUMNS = [
    "column_name", "type", "distinct_values", "missing", "unique_alone", "unique_in_pairs", "pair_with",
    "unique_in_triples", "triple_with", "combinations", "distinction", "separation", "outliers", "outliers_by",
    "proposed_role", "reason", "proposed_hierarchy", "covered_values", "missing_codes",
    "statement", "problems", "repairs",
]  # fmt: skip
ROLES = ("identifier", "person", "quasi", "sensitive", "insensitive", "withheld")


def profile_rows(con: Any, table: str = "t") -> dict[str, dict[str, Any]]:
    """Return the rows of a call by column."""
    cursor = con.execute(f"FROM profile({text(table)})")
    names = [column[0] for column in cursor.description]
    assert names == COLUMNS
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert all(row["proposed_role"] in ROLES and row["reason"] for row in rows)
    return {row["column_name"]: row for row in rows}


def roles(con: Any, table: str = "t") -> dict[str, str]:
    return {name: row["proposed_role"] for name, row in profile_rows(con, table).items()}


def approximately(number: float) -> Any:
    return pytest.approx(number, abs=1e-12)


# --- numbers ---------------------------------------------------------------------------------------------


def unique_share(rows: Sequence[tuple[Any, ...]], places: Sequence[int]) -> float:
    """Return the share of rows that are unique in some columns."""
    counts = Counter(tuple(row[i] for i in places) for row in rows)
    return sum(n for n in counts.values() if n == 1) / len(rows)


def test_profile_of_four_row_table_by_hand(con: Any) -> None:
    con.execute("CREATE TABLE t AS FROM (VALUES (1, 'x', 7), (1, 'y', 7), (2, 'x', 7), (NULL, 'x', 7)) AS v (a, b, c)")
    result = profile_rows(con)
    a, b, c = (result[name] for name in "abc")
    assert (a["type"], a["distinct_values"], a["missing"]) == ("INTEGER", 2, 1)
    assert a["unique_alone"] == 0.5
    assert (a["unique_in_pairs"], a["pair_with"], a["combinations"]) == (1.0, ["b"], "exact")
    assert a["distinction"] == 0.75, "NULL is a value"
    assert a["separation"] == approximately(5 / 6)
    assert (b["unique_alone"], b["distinction"], b["separation"]) == (0.25, 0.5, 0.5)
    assert (c["unique_alone"], c["distinction"], c["separation"]) == (0, 0.25, 0)
    assert (c["proposed_role"], c["statement"]) == ("withheld", None)
    assert c["combinations"] == "not counted: it has one value"
    assert a["unique_in_triples"] is None


def test_profile_of_random_table_equals_definitions(con: Any) -> None:
    rng = random.Random(3)
    sizes = (2, 5, 30, 7, 11)
    rows = [tuple(rng.choice([None, *range(size)]) for size in sizes) for _ in range(400)]
    names = [f"v{'abcde'[i]}" for i in range(len(sizes))]
    con.execute(f"CREATE TABLE t ({', '.join(n + ' INTEGER' for n in names)})")
    con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
    result = profile_rows(con)
    for i, name in enumerate(names):
        values = Counter(row[i] for row in rows)
        row = result[name]
        assert row["distinct_values"] == len(set(values) - {None})
        assert row["unique_alone"] == approximately(unique_share(rows, [i]))
        assert row["distinction"] == approximately(len(values) / 400)
        assert row["separation"] == approximately(1 - sum(n * (n - 1) for n in values.values()) / (400 * 399))
        others = [j for j in range(len(names)) if j != i]
        for size, share, partners in ((1, "unique_in_pairs", "pair_with"), (2, "unique_in_triples", "triple_with")):
            assert row[share] == approximately(
                max(unique_share(rows, [i, *c]) for c in itertools.combinations(others, size))
            )
            assert row[share] == approximately(unique_share(rows, [i, *(names.index(o) for o in row[partners])]))


def test_many_combinations_estimated_and_marked(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT (hash(i) % 300)::INT AS a, (hash(i, 1) % 400)::INT AS b, (hash(i, 2) % 9)::INT AS c "
        "FROM range(100000) AS r (i)"
    )
    exact = con.execute("SELECT count(*) FILTER (n = 1) / 100000 FROM (SELECT count(*) AS n FROM t GROUP BY a, b)")
    truth = exact.fetchall()[0][0]
    monkeypatch.setattr(profile, "MAX_EXACT_GROUPS", 10_000)
    row = profile_rows(con)["a"]
    assert row["combinations"] == "estimated from 1 of 16 combinations of values"
    assert row["pair_with"] == ["b"]
    assert row["unique_in_pairs"] == pytest.approx(truth, abs=4 * (2 / 10_000) ** 0.5)
    assert row["unique_in_triples"] >= row["unique_in_pairs"]


@pytest.mark.not_everyday
def test_combinations_limited_and_rest_marked(con: Any) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT {', '.join(f'i % {n + 2} AS c{n}' for n in range(200))} FROM range(500) AS r (i)"
    )
    values = list(profile_rows(con).values())
    counted_rows = [row for row in values if row["combinations"] == "exact"]
    assert len(counted_rows) == profile.N_COMBINED
    assert all(row["unique_in_triples"] >= row["unique_in_pairs"] for row in counted_rows)
    assert {r["combinations"] for r in values} == {
        "exact",
        f"not counted: {profile.N_COMBINED} other columns matter more",
    }


def test_pair_uniqueness_ignores_duplicated_column(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i // 2 AS a, i // 2 AS b, i % 2 AS c FROM range(40) AS r (i)")
    assert profile_rows(con)["a"]["unique_in_pairs"] == 1
    con.execute("ALTER TABLE t DROP c")
    assert profile_rows(con)["a"]["unique_in_pairs"] == 0


def test_profile_outliers_state_rule(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT CASE i WHEN 0 THEN 1000 ELSE i % 10 END AS spread, "
        "CASE WHEN i < 10 THEN i ELSE 50 END AS mostly, CASE i WHEN 7 THEN 1 ELSE 0 END AS rarely, "
        "CASE WHEN i < 3 THEN 'odd' ELSE 'usual' END AS word, "
        "CASE i WHEN 1 THEN 'nan' WHEN 2 THEN 'inf' ELSE '1' END::DOUBLE AS wild FROM range(300) AS r (i)"
    )
    values_by_name = {name: (row["outliers"], row["outliers_by"]) for name, row in profile_rows(con).items()}
    assert values_by_name == {
        "spread": (1, "beyond the middle 50 % by more than 3 times their width"),
        "mostly": (0, "beyond the middle 98 % by more than 3 times their width"),
        "rarely": (1, "other than the middle 98 %, which are equal"),
        "word": (3, "values of fewer than 10 records"),
        "wild": (2, "other than the middle 98 %, which are equal, or not finite"),
    }


# --- proposals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ssn", "number"), ("MRN", "number"), ("first_name", "direct"), ("LastName", "direct"), ("e_mail", "direct"),
        ("phoneNumber", "direct"), ("home_address", "direct"), ("emailAddress", "direct"), ("patient_nbr", "subject"),
        ("CustomerID", "subject"), ("patient", "subject"), ("row_id", "key"), ("zip", "quasi"), ("zipcode", "quasi"),
        ("dateOfBirth", "quasi"), ("dob", "quasi"), ("age", "quasi"), ("gender", "quasi"), ("ethnicity", "quasi"),
        ("hospital_name", "neutral"), ("message", "prose"),
        ("diag_1", "sensitive"), ("disease", "sensitive"), ("icd10", "sensitive"), ("salary_usd", "sensitive"),
    ],
)  # fmt: skip
def test_column_names_suggest_meaning(name: str, kind: str) -> None:
    assert getattr(hints.hints_from_name(name), kind) is not None


@pytest.mark.parametrize(
    "name", ["project_name", "page", "department_head", "engine", "strip", "", "🦆", "x1", "patient_type"]
)
def test_meaningless_names_suggest_nothing(name: str) -> None:
    assert hints.hints_from_name(name) == hints.NameHints()


@pytest.fixture
def clinic(con: Any) -> Any:
    """Create a table with a column of every role."""
    con.execute(
        "CREATE TABLE t AS SELECT 'n' || i AS name, 4000 + i // 3 AS patient_nbr, i AS visit, "
        "['F', 'M'][i % 2 + 1] AS sex, ['MA', 'CT', 'NY'][i % 3 + 1] AS whence, (i * 7) % 60 + 20 AS age, "
        "lpad(((i * 37) % 99999)::VARCHAR, 5, '0') AS zip, 'p' || i || '@example.org' AS reach, "
        "['A00', 'B20', 'C34', 'E11', 'F32', 'G20', 'I10', 'J45', 'K50', 'M05'][i % 10 + 1] AS code, "
        "['Surgery', 'Oncology'][i % 2 + 1] AS department, i * 1.5 AS measured, ['yes', 'no'][i % 2 + 1] AS flag, "
        "uuid()::VARCHAR AS token, "
        "'The patient came in with number ' || i || ' and left soon after that' AS note, [i] AS list, "
        "DATE '1931-02-03' + i::INTEGER AS birth_date, 1000 * (i % 4) AS salary FROM range(300) AS r (i)"
    )
    return con


def test_profile_proposes_every_role(clinic: Any) -> None:
    assert roles(clinic) == {
        "name": "identifier", "patient_nbr": "person", "visit": "identifier", "sex": "quasi", "whence": "quasi",
        "age": "quasi", "zip": "quasi", "reach": "identifier", "code": "sensitive", "measured": "withheld",
        "flag": "withheld", "department": "quasi", "token": "identifier", "note": "identifier",
        "list": "withheld",
        "birth_date": "quasi", "salary": "sensitive",
    }  # fmt: skip


def test_profile_proposes_covering_hierarchies(clinic: Any) -> None:
    result = profile_rows(clinic)
    covers = {n: (r["proposed_hierarchy"], r["covered_values"]) for n, r in result.items() if r["proposed_hierarchy"]}
    assert covers == {"sex": ("sex", 2), "whence": ("us_state", 3), "code": ("icd10", 10)}
    assert "hierarchy_prefix" in result["zip"]["reason"]


def test_incomplete_hierarchy_named_but_not_in_statement(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT ['Female', 'Male', 'Other'][i % 3 + 1] AS sex FROM range(90) AS r (i)")
    row = profile_rows(con)["sex"]
    assert (row["proposed_hierarchy"], row["covered_values"]) == ("adult_sex", 2)
    assert "misses" in row["reason"]
    assert "adult_sex" not in row["statement"]


def test_profile_proposes_stored_hierarchy(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT ['red', 'blue'][i % 2 + 1] AS finish FROM range(90) AS r (i)")
    dbanon.load_hierarchy(con, "it's", [["pink", "red", "*"], ["blue", "cold", "*"]])
    row = profile_rows(con)["finish"]
    assert (row["proposed_role"], row["proposed_hierarchy"]) == ("withheld", None), "red is an inner label"
    dbanon.load_hierarchy(con, "it's", [["red", "warm", "*"], ["blue", "cold", "*"]])
    row = profile_rows(con)["finish"]
    assert (row["proposed_role"], row["proposed_hierarchy"], row["covered_values"]) == ("quasi", "it's", 2)
    con.execute(row["statement"])
    assert con.execute("SELECT DISTINCT hierarchy FROM dbanon.policy").fetchall() == [("it's",)]


def test_one_repeated_key_proposed_as_person_others_identifier(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i // 2 AS order_id, 's' || i // 4 AS ssn, i // 3 AS member_no FROM range(99) r(i)"
    )
    assert roles(con) == {"order_id": "identifier", "ssn": "identifier", "member_no": "person"}
    con.execute("ALTER TABLE t DROP member_no")
    assert roles(con) == {"order_id": "identifier", "ssn": "person"}


def test_profile_statements_create_working_policy(clinic: Any) -> None:
    for row in profile_rows(clinic).values():
        if row["statement"] is not None:
            clinic.execute(row["statement"])
    assert clinic.execute("FROM policy_problems()").fetchall() == []
    assert clinic.execute("SELECT min(size) >= 5 FROM kacpc_classes('t', k=5)").fetchall() == [(True,)]


def test_missing_policy_error_mentions_profile(clinic: Any) -> None:
    with pytest.raises(duckdb.Error, match=r"FROM profile\('t'\)"):
        clinic.execute("FROM kacpc('t', k=5)")


def test_profile_proposes_expected_roles_for_adult(con: Any, data_folder: Path) -> None:
    con.execute(f"CREATE TABLE adult AS FROM '{data_folder / 'adult.csv'}'")
    result = profile_rows(con, "adult")
    named_values = {
        "workclass",
        "education",
        "marital_status",
        "occupation",
        "relationship",
        "race",
        "sex",
        "native_country",
    }
    for name in named_values:
        assert (result[name]["proposed_role"], result[name]["proposed_hierarchy"]) == ("quasi", f"adult_{name}")
        assert result[name]["covered_values"] == result[name]["distinct_values"]
    assert {result[n]["proposed_role"] for n in ("age", "hours_per_week")} == {"quasi"}
    assert result["fnlwgt"]["proposed_role"] == "withheld"
    assert {result[n]["proposed_role"] for n in ("salary", "capital_gain", "capital_loss")} == {"sensitive"}
    assert result["age"]["unique_in_pairs"] == pytest.approx(0.8109, abs=1e-4)


@pytest.mark.not_everyday
def test_profile_proposes_expected_roles_for_diabetes(con: Any, data_folder: Path) -> None:
    actual_roles = roles(con, str(data_folder / "diabetes130.parquet"))
    assert actual_roles["encounter_id"] == "identifier"
    assert actual_roles["patient_nbr"] == "person"
    assert {actual_roles[n] for n in ("race", "gender", "age", "weight", "discharge_disposition_id")} == {"quasi"}
    assert {actual_roles[n] for n in ("diag_1", "diag_2", "diag_3", "readmitted", "num_medications")} == {"sensitive"}
    assert {actual_roles[n] for n in ("examide", "metformin", "change")} == {"withheld"}


# --- odd tables ------------------------------------------------------------------------------------------

TYPES = {
    "TINYINT": "1", "UBIGINT": "18446744073709551615", "HUGEINT": "-170141183460469231731687303715884105727",
    "UHUGEINT": "340282366920938463463374607431768211455", "DECIMAL(38,10)": "1234567890.5", "DECIMAL(4,1)": "-1.5",
    "FLOAT": "'nan'", "DOUBLE": "1.7e308", "BOOLEAN": "true", "DATE": "DATE '0044-03-15 (BC)'",
    "TIMESTAMP": "'infinity'", "TIMESTAMP_S": "'1935-01-01'", "TIMESTAMP_MS": "'1935-01-01'",
    "TIMESTAMP_NS": "'1935-01-01'", "TIMESTAMPTZ": "'1935-01-01 10:00:00+02'", "TIME": "'12:00'",
    "TIMETZ": "'12:00:00+01'", "INTERVAL": "'1 month'", "UUID": "uuid()", "BLOB": "'\\xAA\\x00'::BLOB", "BIT": "'0101'",
    "VARCHAR": "'a' || chr(0)", "ENUM('a', 'b')": "'a'", "INTEGER[]": "[1, NULL]", "INTEGER[2]": "[1, 2]",
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': 1, 'b': NULL}", "MAP(VARCHAR, INTEGER)": "MAP {'a': 1}",
    "UNION(n INTEGER, s VARCHAR)": "union_value(n := 1)", "JSON": "'{\"a\": 1}'", "VARCHAR[][]": "[['a']]",
}  # fmt: skip


def test_profile_supports_every_type(con: Any) -> None:
    names = {f"t{i}": (type_, value) for i, (type_, value) in enumerate(TYPES.items())}
    con.execute(f"CREATE TABLE t ({', '.join(f'{n} {type_}' for n, (type_, _) in names.items())})")
    assert len(profile_rows(con)) == len(TYPES)
    con.execute(f"INSERT INTO t SELECT {', '.join(f'{v}::{type_}' for type_, v in names.values())} FROM range(30)")
    con.execute(f"INSERT INTO t SELECT {', '.join(['NULL'] * len(TYPES))} FROM range(2)")
    for name, row in profile_rows(con).items():
        if names[name][0].startswith("UNION"):  # DuckDB 1.5 stores NULLs of a query as unions that hold a NULL
            continue
        assert row["missing"] == 2, names[name]
        assert row["distinct_values"] == (30 if names[name][0] == "UUID" else 1)


def test_extreme_doubles_do_not_overflow(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT ([-1.7e308, 1.7e308, 0, -0.0, 'nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::DOUBLE, NULL])"
        "[i % 8 + 1] AS x FROM range(80) AS r (i)"
    )
    row = profile_rows(con)["x"]
    assert (row["distinct_values"], row["missing"], row["outliers"]) == (6, 10, 30)
    assert "not finite" in row["outliers_by"]


def test_profile_counts_old_and_infinite_dates_as_outliers(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT DATE '1900-01-01' + (i % 30)::INTEGER AS birth FROM range(300) AS r (i)")
    con.execute("INSERT INTO t VALUES ('infinity'), ('1500-01-01')")
    row = profile_rows(con)["birth"]
    assert (row["proposed_role"], row["outliers"]) == ("quasi", 2)
    assert "to be replaced before a release: 1" in row["reason"]


def test_profile_of_empty_and_single_row_tables(con: Any) -> None:
    con.execute("CREATE TABLE t (name VARCHAR, patient_id INTEGER, age INTEGER, disease VARCHAR, x DOUBLE)")
    expected = {
        "name": "identifier",
        "patient_id": "identifier",
        "age": "quasi",
        "disease": "sensitive",
        "x": "withheld",
    }
    result = profile_rows(con)
    assert {n: r["proposed_role"] for n, r in result.items()} == expected
    assert {(r["distinct_values"], r["unique_alone"], r["separation"]) for r in result.values()} == {(0, 0, 0)}
    con.execute("INSERT INTO t VALUES ('a', 1, 2, 'b', 3)")
    assert {r["unique_alone"] for r in profile_rows(con).values()} == {1}
    con.execute("UPDATE t SET age = NULL, x = NULL, name = NULL")
    result = profile_rows(con)
    assert [result[n]["proposed_role"] for n in ("name", "age", "x")] == ["identifier", "withheld", "withheld"]
    con.execute("CREATE TABLE one (x INTEGER)")
    con.execute("INSERT INTO one VALUES (1), (2)")
    assert profile_rows(con, "one")["x"]["combinations"] == "not counted: there is no other column to combine it with"


def test_profile_counts_million_distinct_values(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS n, 'v' || i AS s, i % 7 AS few FROM range(1000000) AS r (i)")
    result = profile_rows(con)
    assert [(r["distinct_values"], r["proposed_role"]) for r in result.values()] == [
        (1_000_000, "identifier"), (1_000_000, "identifier"), (7, "withheld")
    ]  # fmt: skip


HOSTILE = [
    "x'); DROP TABLE t; --",
    "🦆 {{ q }}",
    'a "b"',
    "value",
    "records",
    "select",
    "é\n;",
    "{% if %}",
    "NAME",
    "s1",
]


def test_profile_accepts_hostile_table_and_column_names(con: Any) -> None:
    table = "x'); DROP TABLE t; --\"{{ 1 }}"
    columns = ", ".join(f"i % 3 AS {identifier(n)}" for n in HOSTILE)
    con.execute(f"CREATE TABLE {identifier(table)} AS SELECT {columns} FROM range(60) AS r (i)")
    result = profile_rows(con, str(identifier(table)))
    assert list(result) == HOSTILE
    for name, row in result.items():
        assert row["proposed_role"] in ("withheld", "identifier") or name == "records", name
        assert (row["statement"] is None) == (row["proposed_role"] == "withheld")
        con.execute(row["statement"] or "SELECT 1")
    declared = con.execute("SELECT DISTINCT table_name FROM dbanon.policy").fetchall()
    assert declared == [(table,)]
    assert {r[0] for r in con.execute("SELECT column_name FROM dbanon.policy").fetchall()} == {"NAME", "records"}


def test_profile_counts_hostile_and_collated_texts(con: Any) -> None:
    con.execute("CREATE TABLE t (word VARCHAR COLLATE NOCASE, x VARCHAR)")
    con.execute("INSERT INTO t VALUES ('a', '*'), ('A', ''), ('a', ''''), ('{{', '🦆')")
    result = profile_rows(con)
    assert (result["word"]["distinct_values"], result["x"]["distinct_values"]) == (3, 4)


def test_profile_reads_views_files_schemas_temp_tables(con: Any, tmp_path: Path) -> None:
    con.execute("CREATE SCHEMA ward; CREATE TABLE ward.t AS SELECT i % 30 AS age FROM range(300) AS r (i)")
    con.execute("CREATE VIEW v AS FROM ward.t")
    path = tmp_path / "it's.csv"
    con.execute(f"COPY ward.t TO {text(str(path))}")
    for source in ("ward.t", "v", str(path)):
        assert roles(con, source) == {"age": "quasi"}
    (statement,) = (row["statement"] for row in profile_rows(con, "ward.t").values())
    con.execute(statement)
    assert con.execute("SELECT schema_name, table_name FROM dbanon.policy").fetchall() == [("ward", "t")]
    assert con.execute("SELECT count(*) > 0 FROM kacpc('ward.t', k=5)").fetchall() == [(True,)]
    with dbanon.connect() as own_con:
        own_con.execute("CREATE TEMP TABLE visits AS SELECT i % 30 AS age FROM range(300) AS r (i)")
        assert roles(own_con, "visits") == {"age": "quasi"}


def test_shadowing_temporary_table_raises_on_plain_connection(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS a; CREATE TEMP TABLE t AS SELECT 2 AS b")
    with pytest.raises(duckdb.Error, match="also names a temporary table"):
        con.execute("FROM profile('t')").fetchall()


def test_profile_counts_rows_of_open_transaction(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS a")
    con.execute("BEGIN; INSERT INTO t VALUES (2)")
    assert profile_rows(con)["a"]["distinct_values"] == 2


def test_profile_contains_no_cell(clinic: Any) -> None:
    clinic.execute("UPDATE t SET whence = 'SECRET-4711', note = 'SECRET-4711', zip = 'SECRET-4711' WHERE visit = 7")
    assert "SECRET-4711" not in str(profile_rows(clinic))


def test_profile_of_unknown_table_refused(con: Any) -> None:
    with pytest.raises(duckdb.Error, match="profile: no table, view or file 'nowhere'"):
        con.execute("FROM profile('nowhere')")
