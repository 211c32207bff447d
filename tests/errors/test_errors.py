"""A mistake is one clear error: no rows, and connection and database are unchanged."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from support.scale import case_sample

import dbanon
from dbanon import errors
from dbanon.cli.manual.error_page import documented_errors
from dbanon.errors import DbanonError
from dbanon.errors.base import message_fields

pytestmark = pytest.mark.all_cases

KINDS = ("kacpc", "kacpc_classes", "kacpc_metrics")

_raised_names: set[str] = set()
"""Names of the exception classes that were built while these tests ran."""


@pytest.fixture(scope="module", autouse=True)
def record_raised_errors() -> Iterator[None]:
    """Record which exception classes are built."""
    real = DbanonError.__init__

    def note(self: DbanonError, *args: object) -> None:
        _raised_names.add(type(self).__name__)
        real(self, *args)

    DbanonError.__init__ = note  # type: ignore[method-assign]
    yield
    DbanonError.__init__ = real  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def patients_connection() -> Iterator[Any]:
    """Create a connection with eight patients, two per person, with many difficult columns."""
    con = dbanon.attach(duckdb.connect())
    con.execute(
        """
        CREATE TABLE patients AS SELECT
            i AS pid, 'p' || i // 2 AS person, 20 + i AS age, ['a1', 'a2', 'b1', 'b2'][1 + i % 4] AS ward,
            ['Flu', 'HIV'][1 + i % 2] AS disease, 'note ' || i AS note, NULL::INTEGER AS nothing,
            CASE WHEN i <> 3 THEN i END AS hole, CASE WHEN i = 3 THEN 'nan'::DOUBLE ELSE i END AS wild,
            CASE WHEN i = 3 THEN '-inf'::FLOAT ELSE i END AS low, DATE '2020-01-01' + i::INTEGER AS born,
            CASE WHEN i = 3 THEN 'infinity'::DATE ELSE DATE '2020-01-01' END AS ever,
            CASE WHEN i = 3 THEN '-infinity'::TIMESTAMP ELSE TIMESTAMP '2020-01-01' END AS since,
            CASE WHEN i = 3 THEN 'infinity'::TIMESTAMPTZ ELSE TIMESTAMPTZ '2020-01-01 00:00:00+00' END AS zoned,
            CASE WHEN i = 3 THEN '*' ELSE 'x' END AS star,
            [i] AS list, [i, i]::INTEGER[2] AS array, {'a': i} AS struct, MAP {'a': i} AS map, '{"a": 1}'::JSON AS json,
            'x'::BLOB AS blob, '101'::BIT AS bits, INTERVAL (i) DAY AS span, '10:00:00+01'::TIMETZ AS zoned_time
        FROM range(8) AS r (i)
        """
    )
    con.execute("CREATE TABLE empty AS FROM patients LIMIT 0")
    con.execute("CREATE TABLE one AS FROM patients LIMIT 1")
    con.execute("CREATE TABLE holes AS SELECT i AS a, CASE WHEN i < 4 THEN 1 END AS b, "
                "CASE WHEN i >= 4 THEN 1 END AS c FROM range(8) AS r (i)")  # fmt: skip
    con.execute(
        "CREATE TABLE numbers AS SELECT i AS age, i::DOUBLE AS pay, i::FLOAT AS half, "
        "DATE '2020-01-01' + i::INTEGER AS born FROM range(8) AS r (i)"
    )
    dbanon.load_hierarchy(con, "wards", [[w, w[0], "*"] for w in ("a1", "a2", "b1", "b2")])
    dbanon.load_hierarchy(con, "few_wards", [[w, "*"] for w in ("a1", "a2", "b1")])
    for name, rows in {
        "two_roots": [("r", None, "*"), ("s", None, "s"), *((w, "r", w) for w in ("a1", "a2", "b1", "b2"))],
        "no_root": [("r", "s", "*"), ("s", "r", "s"), *((w, "r", w) for w in ("a1", "a2", "b1", "b2"))],
        "cut_off": [("r", None, "*"), *((w, "r", w) for w in ("a1", "a2", "b1", "b2")), ("x", "nowhere", "x")],
        "cycle": [("r", None, "*"), *((w, "p", w) for w in ("a1", "a2", "b1", "b2")), ("p", "q", "p"), ("q", "p", "q")],
        "twins": [("r", None, "*"), *((w, "r", w) for w in ("a1", "a2", "b1", "b2")), ("x", "r", "a1")],
        "two_leaves": [("r", None, "*"), ("u", "r", "u"), ("v", "r", "v"), *((w, "u", w) for w in ("a1", "a2", "b1")),
                       ("w1", "u", "b2"), ("w2", "v", "b2")],
    }.items():  # fmt: skip
        con.executemany(
            "INSERT INTO dbanon.hierarchy (name, node, parent, label) VALUES (?, ?, ?, ?)",
            [(name, *row) for row in rows],
        )
    yield con
    con.close()


@pytest.fixture
def con(patients_connection: Any) -> Iterator[Any]:
    """Provide `patients_connection`; assert afterwards that neither the connection nor the database changed."""
    old_state = state(patients_connection)
    yield patients_connection
    assert state(patients_connection) == old_state


def state(con: Any) -> list[Any]:
    """Return all tables with their rows, and the session's current schema."""
    tables = con.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
    views = con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1").fetchall()
    rows = [con.execute(f'SELECT t::VARCHAR FROM "{s}"."{t}" AS t').fetchall() for s, t in tables]
    place = con.execute("SELECT current_database(), current_schema(), current_setting('threads')").fetchall()
    return [tables, views, rows, place]


def assert_mistake(
    con: Any, arguments: str, *says: str, table: str = "patients", kinds: Sequence[str] | None = None
) -> str:
    """Assert that the functions fail with all given texts; return the last message.

    Without `kinds`, each everyday mistake is tried with one function, and successive mistakes with different ones.
    """
    text = ""
    for function in kinds or case_sample(KINDS, arguments):
        query = f"FROM {function}('{table}'{', ' if arguments else ''}{arguments})"
        with pytest.raises(duckdb.Error) as caught:
            con.execute(query).fetchall()
        text = str(caught.value).split("\n\nLINE ")[0]
        for words in says:
            assert words in text, f"{words!r} is not in: {text}"
        assert "Traceback" not in text
        assert "Python exception" not in text, text
        assert con.execute("SELECT 42").fetchall() == [(42,)]
    return text


# --- k ------------------------------------------------------------------------------------------------------

BAD_K = {
    "": "k is missing",
    "k := NULL": "k is missing",
    "k := 3.7": "3.7",
    "k := 2.0": "2.0",
    "k := 'x'": "'x'",
    "k := '3'": "'3'",
    "k := true": "true",
    "k := 1": "got 1",
    "k := 0": "got 0",
    "k := -3": "got -3",
    "k := [2]": "[2]",
    "k := {'a': 2}": "k must be",
    "k := 1e3": "k must be",
    "k := DATE '2020-01-01'": "k must be",
    "k := 'nan'::DOUBLE": "k must be",
}


@pytest.mark.parametrize("k", BAD_K)
def test_k_must_be_integer_of_at_least_2(con: Any, k: str) -> None:
    text = assert_mistake(con, f"{k}{', ' if k else ''}qi := ['age']", BAD_K[k], "an integer of at least 2")
    assert "kacpc" in text


@pytest.mark.parametrize("k", ["k = 1", "k = -3", "k = 3.7", "k = 'x'", "k = true", "k => 0"])
def test_invalid_k_refused_in_every_argument_form(con: Any, k: str) -> None:
    assert_mistake(con, f"{k}, qi := ['age']", "an integer of at least 2")


@pytest.mark.parametrize("k", [9, 1000, 10**9, 2**31 - 1])
def test_k_above_rows_states_maximum_k_and_row_count(con: Any, k: int) -> None:
    assert_mistake(con, f"k := {k}, qi := ['age']", "k must be between 2 and 8", "patients has 8 rows", f"got {k}")


@pytest.mark.parametrize("k", [2**31, 2**63 - 1, 2**127])
def test_k_of_2_to_31_or_more_refused(con: Any, k: int) -> None:
    assert_mistake(con, f"k := {k}, qi := ['age']", "k must be an integer of at most 2147483647", f"got {k}")


def test_k_of_all_rows_is_accepted(con: Any) -> None:
    assert len(con.execute("FROM kacpc('patients', k := 8, qi := ['age'])").fetchall()) == 8


def test_k_above_persons_states_maximum_k(con: Any) -> None:
    arguments = "qi := ['age'], person := 'person'"
    assert_mistake(con, f"k := 5, {arguments}", "k must be between 2 and 4", "patients has 4 persons", "got 5")
    assert len(con.execute(f"FROM kacpc('patients', k := 4, {arguments})").fetchall()) == 8


def test_k_above_remaining_rows_states_count(con: Any) -> None:
    assert_mistake(con, "k := 8, qi := ['hole'], nulls := 'drop'", "between 2 and 7", "7 rows", "got 8")


def test_single_row_refused_without_suggested_k(con: Any) -> None:
    text = assert_mistake(con, "k := 2, qi := ['age']", "1 row", table="one")
    assert "between 2 and 1" not in text, text


# --- names --------------------------------------------------------------------------------------------------

UNKNOWN: dict[str, tuple[str, ...]] = {
    "k := 2, qi := ['agee']": ("no column 'agee'", "Did you mean 'age'", "qi"),
    "k := 2, qi := ['']": ("qi must be",),
    "k := 2, qi := ['age'], sensitive := ['diseas']": ("no column 'diseas'", "sensitive"),
    "k := 2, qi := ['age'], hierarchies := {'wardd': 'wards'}": ("no column 'wardd'", "hierarchies"),
    "k := 2, qi := ['age'], weights := {'agee': 2}": ("no column 'agee'", "weights"),
    "k := 2, qi := ['age'], insensitive := ['x']": ("no column 'x'", "insensitive"),
    "k := 2, qi := ['age'], person := 'x'": ("no column 'x'", "person"),
    "k := 2, qi := ['age'], identifier := ['x']": ("no column 'x'", "identifier"),
    "k := 2, qi := ['age'], withhold := ['x']": ("no column 'x'", "withhold"),
    "k := 2, qi := ['age'], allow_rare := ['x']": ("no column 'x'", "allow_rare"),
    "k := 2, qi := ['age'], top := {'x': 1}": ("no column 'x'", "top"),
    "k := 2, qi := ['age'], bottom := {'x': 1}": ("no column 'x'", "bottom"),
    "k := 2, qi := ['age'], rounding := {'x': 1}": ("no column 'x'", "rounding"),
    "k := 2, qi := ['age'], min_level := {'x': 1}": ("no column 'x'", "min_level"),
    "k := 2, qi := ['age'], max_level := {'x': 1}": ("no column 'x'", "max_level"),
    "k := 2, qi := ['ward'], hierarchies := {'ward': 'ward'}": ("no hierarchy 'ward'", "Did you mean 'wards'"),
    "k := 2, qi := ['age'], hierarchies := {'ward': 'wards'}": ("hierarchies does not fit", "not a quasi-identifier"),
    "k := 2, qi := ['age'], nulls := 'maybe'": ("nulls must be one of 'keep', 'drop', 'error'", "'maybe'"),
    "k := 2, qi := ['age'], intervals := 'pair'": ("intervals must be one of", "'pair'"),
    "k := 2, qi := ['age', 'AGE']": ("qi must be a list of different column names",),
    "'nulz' = 'drop', k := 2, qi := ['age']": ("no parameter 'nulz'", "Did you mean 'nulls'", "Accepted: k, qi"),
    "nulz = 'drop', k := 2, qi := ['age']": ("nulz",),
    "kk = 3, k := 2, qi := ['age']": ("kk",),
}


@pytest.mark.parametrize("arguments", UNKNOWN)
def test_unknown_name_states_parameter_and_nearest_name(con: Any, arguments: str) -> None:
    assert_mistake(con, arguments, *UNKNOWN[arguments])


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("patient", "no table, view or file 'patient' is visible. Did you mean 'patients'?"),
        ("other.patients", "no table, view or file 'other.patients'"),
        ("memory.main.patient", "no table, view or file"),
        ("a.b.c.d", "is not the name of a table"),
        ("(SELECT 1)", "is not the name of a table"),
        ("patients; DROP TABLE patients", "is not the name of a table"),
        ("range(5)", "is not the name of a table"),
        ("", "is not the name of a table"),
        ("no_such_file.csv", "cannot read the file"),
        ("no_such_file.parquet", "cannot read the file"),
        ("duckdb_tables", "no table, view or file"),
        ("information_schema.tables", "no table, view or file"),
    ],
)
def test_missing_table_refused(con: Any, table: str, says: str) -> None:
    assert_mistake(con, "k := 2, qi := ['age']", says, table=table.replace("'", "''"))


@pytest.mark.parametrize("table", ["NULL", "5", "true", "['patients']", "{'a': 'patients'}"])
def test_table_argument_that_is_no_text_refused(con: Any, table: str) -> None:
    for function in KINDS:
        with pytest.raises(duckdb.Error, match="tbl"):
            con.execute(f"FROM {function}({table}, k := 2, qi := ['age'])").fetchall()


def test_ambiguous_table_name_refused(con: Any) -> None:
    con.execute("ATTACH ':memory:' AS twice; CREATE SCHEMA twice; CREATE TABLE twice.main.t AS SELECT 1 AS a")
    try:
        con.execute("CREATE TABLE memory.twice.t AS SELECT 1 AS a")
        assert_mistake(
            con, "k := 2, qi := ['a']", "can be", '"memory"."twice"."t"', '"twice"."main"."t"', table="twice.t"
        )
    finally:
        con.execute("DETACH twice; DROP SCHEMA memory.twice CASCADE")


def test_temporary_table_shadowing_stored_table_refused(con: Any) -> None:
    con.execute("CREATE TEMP TABLE patients AS SELECT 1 AS age")
    try:
        assert_mistake(con, "k := 2, qi := ['age']", "also names a temporary table", "memory")
    finally:
        con.execute("DROP TABLE temp.patients")


# --- data ---------------------------------------------------------------------------------------------------

DATA: dict[str, tuple[str, ...]] = {
    "k := 2": ("no quasi-identifier is declared for patients", "INSERT INTO dbanon.policy", "qi = ["),
    "k := 2, sensitive := ['disease']": ("no quasi-identifier",),
    "k := 2, qi := []": ("no quasi-identifier",),
    "k := 2, qi := ['nothing']": ("patients.nothing is NULL in every row",),
    "k := 2, qi := ['age', 'nothing']": ("patients.nothing is NULL in every row",),
    "k := 2, qi := ['age', 'hole'], nulls := 'error'": ("patients.hole is NULL in 1 row", "nulls = 'keep'"),
    "k := 2, qi := ['wild']": ("patients.wild is NaN or infinite in 1 row",),
    "k := 2, qi := ['low']": ("patients.low is NaN or infinite in 1 row",),
    "k := 2, qi := ['ever']": ("patients.ever is NaN or infinite in 1 row",),
    "k := 2, qi := ['since']": ("patients.since is NaN or infinite in 1 row",),
    "k := 2, qi := ['zoned']": ("patients.zoned is NaN or infinite in 1 row",),
    "k := 2, qi := ['wild'], rounding := {'wild': 5}": ("patients.wild is NaN or infinite in 1 row",),
    "k := 2, qi := ['wild'], top := {'wild': 5}, bottom := {'wild': 2}": ("NaN or infinite in 1 row",),
    "k := 2, qi := ['ever'], rounding := {'ever': 'none'}": ("patients.ever is NaN or infinite in 1 row",),
    "k := 2, qi := ['wild'], intervals := 'bounds'": ("patients.wild is NaN or infinite in 1 row",),
    "k := 2, qi := ['star']": ("patients.star: 1 distinct value is '*'", "escape_labels = true"),
    "k := 2, qi := ['ward'], hierarchies := {'ward': 'few_wards'}": (
        "patients.ward: 1 distinct value is missing from hierarchy 'few_wards'",
        "FROM uncovered_values('patients', 'ward'",
    ),
    "k := 2, qi := ['age'], hierarchies := {'age': 'wards'}": ("patients.age: 8 distinct values are missing",),
    "k := 2, qi := ['ward'], hierarchies := {'ward': 'a1;a2;*\\nb1;*'}": ("patients.ward",),
    "k := 2, qi := ['ward'], hierarchies := {'ward': 'a1;x\\nb1;y'}": ("hierarchy", "2 roots"),
    "k := 2, qi := ['age'], insensitive := ['note']": (
        "patients.note has the role insensitive",
        "8 of its values",
        "k = 2",
    ),
    "k := 2, qi := ['age'], sensitive := ['age']": ("patients.age is in two roles: quasi and sensitive",),
    "k := 2, qi := ['age'], insensitive := ['age']": ("patients.age is in two roles",),
    "k := 2, qi := ['age'], identifier := ['age']": ("patients.age is in two roles",),
    "k := 2, qi := ['age'], person := 'AGE'": ("patients.age is in two roles",),
    "k := 2, qi := ['age'], sensitive := ['note'], insensitive := ['note']": ("patients.note is in two roles",),
    "k := 3, qi := ['ward'], hierarchies := {'ward': 'wards'}, max_level := {'ward': 0}": (
        "max_level of ward separates 8 records",
        "k = 3",
    ),
    "k := 2, qi := ['ward'], hierarchies := {'ward': 'a1;a;x;*\\na2;a;x;*\\nb1;b;x;*\\nb2;b;x;*'}, max_level := "
    "{'ward': 2}, coarsen := {'ward': 2}": (
        "coarsen of ward requires nodes above max_level",
        "not a multiple of 2 steps",
    ),
}


@pytest.mark.parametrize("arguments", DATA)
def test_invalid_data_or_roles_raise_one_error(con: Any, arguments: str) -> None:
    assert_mistake(con, arguments.replace("\\n", "\n"), *DATA[arguments])


@pytest.mark.parametrize("column", ["list", "blob", "span"])
def test_type_unsuitable_for_persons_is_named(con: Any, column: str) -> None:
    arguments = f"k := 2, qi := ['age'], person := '{column}'"
    assert_mistake(con, arguments, f"patients.{column} has the type", "cannot identify persons")


@pytest.mark.parametrize("column", ["list", "array", "struct", "map", "json", "blob", "bits", "span", "zoned_time"])
def test_type_that_cannot_be_generalized_is_named(con: Any, column: str) -> None:
    assert_mistake(
        con, f"k := 2, qi := ['{column}']", f"patients.{column} has the type", "cannot be a quasi-identifier"
    )
    if column not in ("span", "zoned_time"):
        assert_mistake(
            con, f"k := 2, qi := ['{column}'], hierarchies := {{'{column}': 'wards'}}", f"patients.{column} has"
        )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("two_roots", "exactly one root"),
        ("no_root", "exactly one root"),
        ("cut_off", "not reachable"),
        ("cycle", "not reachable"),
        ("twins", "same label"),
        ("two_leaves", "several leaves"),
    ],
)
def test_malformed_hierarchy_raises_and_is_listed_as_problem(con: Any, name: str, why: str) -> None:
    assert_mistake(con, f"k := 2, qi := ['ward'], hierarchies := {{'ward': '{name}'}}", f"hierarchy '{name}'", why)
    problems = con.execute(f"SELECT problem FROM hierarchy_problems() WHERE name = '{name}'").fetchall()
    assert problems


def test_empty_table_error_states_no_rows(con: Any) -> None:
    for k in (2, 10**6):
        assert_mistake(con, f"k := {k}, qi := ['age', 'ward', 'born']", "empty has no rows", table="empty")
    assert_mistake(
        con, "k := 2, qi := ['age'], nulls := 'drop', person := 'person'", "empty has no rows", table="empty"
    )


def test_dropping_every_row_is_reported(con: Any) -> None:
    assert_mistake(con, "k := 2, qi := ['b', 'c'], nulls := 'drop'", "nulls := 'drop' drops all", table="holes")
    assert len(con.execute("FROM kacpc('holes', k := 2, qi := ['b', 'c'])").fetchall()) == 8


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("top", "'x'", "'x' is not a value"),
        ("bottom", "'x'", "'x' is not a value"),
        ("rounding", "0", "positive"),
        ("rounding", "-5", "positive"),
        ("rounding", "2.5", "positive integer"),
        ("rounding", "'month'", "positive integer"),
        ("rounding", "'inf'", "positive"),
        ("rounding", "'nan'", "positive"),
        ("min_level", "1", "without a hierarchy"),
        ("max_level", "1", "without a hierarchy"),
        ("weights", "0", "number from 0.000001"),
        ("weights", "-1", "number from 0.000001"),
        ("weights", "'nan'::DOUBLE", "number from 0.000001"),
        ("weights", "'heavy'", "number from 0.000001"),
        ("top", "true", "a number or a date"),
        ("min_level", "-1", "at least 0"),
    ],
)
def test_setting_that_does_not_fit_is_named(con: Any, setting: str, value: str, why: str) -> None:
    assert_mistake(con, f"k := 2, qi := ['age'], {setting} := {{'age': {value}}}", setting, why)


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "infinity"])
@pytest.mark.parametrize("setting", ["top", "bottom"])
@pytest.mark.parametrize("column", ["age", "pay", "half", "born"])
def test_infinite_top_and_bottom_refused(con: Any, column: str, setting: str, value: str) -> None:
    arguments = f"k := 2, qi := ['{column}'], {setting} := {{'{column}': '{value}'}}"
    assert_mistake(con, arguments, f"{setting} does not fit numbers.{column}", table="numbers", kinds=("kacpc",))


# --- the policy ---------------------------------------------------------------------------------------------


@pytest.fixture
def declared_connection(patients_connection: Any) -> Iterator[Any]:
    """Give the patients a policy, which is removed afterwards, and create a table of moments."""
    patients_connection.execute(
        "CREATE TABLE moments AS SELECT TIME '08:00' + INTERVAL (i) HOUR AS clock, DATE '2000-01-01' + i * 400 AS day, "
        "i::DOUBLE AS pay, i + 10 AS age FROM (SELECT i::INTEGER AS i FROM range(9) AS r (i))"
    )
    ward = {"role": "quasi", "hierarchy": "wards", "min_level": 1}
    dbanon.declare(
        patients_connection, "patients", pid="identifier", person="person", age="quasi", ward=ward, disease="sensitive"
    )
    yield patients_connection
    patients_connection.execute("DELETE FROM dbanon.policy; DROP TABLE moments")


LOOSER = {
    "sensitive := ['pid']": "patients.pid is declared identifier",
    "insensitive := ['pid']": "patients.pid is declared identifier",
    "qi := ['pid']": "patients.pid is declared identifier",
    "sensitive := ['age']": "patients.age is declared quasi",
    "insensitive := ['age']": "patients.age is declared quasi",
    "insensitive := ['disease']": "patients.disease is declared sensitive",
    "qi := ['disease']": "patients.disease is declared sensitive",
    "qi := ['age', 'person']": "patients.person is declared person",
    "sensitive := ['person']": "patients.person is declared person",
    "withhold := ['person']": "patients.person is declared person",
    "identifier := ['person']": "patients.person is declared person",
    "person := 'pid'": "patients.person is declared person",
    "min_level := {'ward': 0}": "patients.ward is declared min_level = 1",
    "hierarchies := {'ward': 'few_wards'}": "patients.ward is declared",
}


@pytest.mark.parametrize("arguments", LOOSER)
def test_call_cannot_loosen_policy(declared_connection: Any, arguments: str) -> None:
    words = (LOOSER[arguments], "would loosen the policy", "dbanon.policy")
    assert_mistake(declared_connection, f"k := 2, {arguments}", *words, kinds=KINDS)


MORE: dict[tuple[str, str, str | int], tuple[str, ...]] = {
    ("age", "top", 9): ("100", " 100", "+100", "0x64", "1e2", "1_00", "100.0"),
    ("age", "bottom", 19): ("-1", " -1", "-0", "0x0", "-1e1", "0000"),
    ("age", "rounding", 1000): ("1", "999", "1e0", "none", "NONE", " 1", "nan"),
    ("pay", "top", -1): ("nan", "NaN", " nan", "inf", "infinity", "100", "1e300"),
    ("pay", "bottom", 9): ("nan", "-nan", "-inf", "-infinity", "-1", "-1e300"),
    ("pay", "rounding", 1000): ("1", "0.1", "none", "nan", "inf", "1e-300"),
    ("day", "top", "1999-12-31"): ("2500-01-01", " 2500-01-01", "10000-01-01", "2500-1-1", "infinity", "2500/01/01"),
    ("day", "bottom", "2009-01-01"): ("1999-01-01", "2009-01-01 (BC)", "999-01-01", "9-1-1", "epoch", "-infinity"),
    ("day", "rounding", "century"): ("month", "none", "day", "week", "decade", "MONTH", "Day"),
    ("clock", "top", "7:00:00"): ("17:00:00", "17:0", " 17:00:00", "23:59:59.999999"),
    ("clock", "bottom", "17:00:00"): ("7:00:00", "07:00:00", " 7:00", "0:0"),
}
"""Declared settings that code or snap all values to one, and looser ones in all spellings."""


@pytest.mark.parametrize("declaration", MORE, ids=lambda d: "-".join(map(str, d)))
def test_no_spelling_of_setting_loosens_declared_value(
    declared_connection: Any, declaration: tuple[str, str, Any]
) -> None:
    column, setting, value = declaration
    dbanon.declare(declared_connection, "moments", **{column: {"role": "quasi", setting: value}})
    query = f"SELECT DISTINCT {column} FROM kacpc('moments', k := 2{{}})"
    assert len(declared_connection.execute(query.format("")).fetchall()) == 1
    output = {}
    for spelling in MORE[declaration]:
        try:
            rows = declared_connection.execute(query.format(f", {setting} := {{'{column}': '{spelling}'}}")).fetchall()
        except duckdb.Error as error:
            assert "Python exception" not in str(error)
        else:
            output[spelling] = rows
    assert {spelling: rows for spelling, rows in output.items() if len(rows) > 1} == {}


def test_default_grid_of_declared_date_not_loosened(declared_connection: Any) -> None:
    dbanon.declare(declared_connection, "moments", day="quasi")
    for grid in ("none", "day", "week"):
        with pytest.raises(duckdb.Error, match="would loosen the policy"):
            declared_connection.execute(f"FROM kacpc('moments', k := 2, rounding := {{'day': '{grid}'}})").fetchall()


@pytest.mark.parametrize(
    ("column", "settings", "arguments"),
    [
        ("age", {"top": 5}, "top := {'age': 4}"),
        ("age", {"bottom": 5}, "bottom := {'age': 6}"),
        ("age", {"rounding": 4}, "rounding := {'age': 8}"),
        ("day", {"top": "2001-01-01"}, "top := {'day': '2000-12-01'}"),
        ("day", {"rounding": "month"}, "rounding := {'day': 'decade'}"),
        ("clock", {"top": "10:00:00"}, "top := {'clock': '9:00:00'}"),
        ("age", {"rounding": "none"}, "rounding := {'age': 5}"),
    ],
)
def test_call_may_tighten_declared_setting(
    declared_connection: Any, column: str, settings: Any, arguments: str
) -> None:
    dbanon.declare(declared_connection, "moments", **{column: {"role": "quasi", **settings}})
    assert len(declared_connection.execute(f"FROM kacpc('moments', k := 2, {arguments})").fetchall()) == 9


def test_release_after_policy_change_in_transaction_refused(declared_connection: Any) -> None:
    declared_connection.execute("BEGIN; DELETE FROM dbanon.policy WHERE column_name = 'pid'")
    with pytest.raises(duckdb.Error, match="policy of patients changed after this statement was planned"):
        declared_connection.execute("FROM kacpc('patients', k := 2)").fetchall()
    declared_connection.execute("ROLLBACK")
    assert len(declared_connection.execute("FROM kacpc('patients', k := 2)").fetchall()) == 8


def test_unknown_role_in_policy_is_named(patients_connection: Any) -> None:
    patients_connection.execute(
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('patients', 'age', 'qausi')"
    )
    try:
        assert_mistake(patients_connection, "k := 2", "patients.age: there is no role 'qausi'", "Did you mean 'quasi'")
    finally:
        patients_connection.execute("DELETE FROM dbanon.policy")


# --- python -------------------------------------------------------------------------------------------------


def test_invalid_python_calls_raise_package_errors(con: Any, tmp_path: Path) -> None:
    import pandas as pd

    bad = tmp_path / "bad.csv"
    bad.write_text("a;x;*\na;y;*\n")
    for call, kind in (
        (lambda: dbanon.declare(con, "nowhere", a="quasi"), errors.UnknownTableError),
        (lambda: dbanon.declare(con, "patients", x="quasi"), errors.UnknownColumnError),
        (lambda: dbanon.declare(con, "patients", age="quasy"), errors.UnknownRoleError),
        (lambda: dbanon.load_hierarchy(con, "zip5"), errors.UnknownHierarchyError),
        (lambda: dbanon.load_hierarchy(con, "zip5", tmp_path / "none.csv"), errors.UnreadableFileError),
        (lambda: dbanon.load_hierarchy(con, "zip5", bad), errors.MalformedHierarchyError),
        (lambda: dbanon.load_hierarchy(con, "zip5", []), errors.MalformedHierarchyError),
        (lambda: dbanon.save_hierarchy(con, "none", tmp_path / "out.csv"), errors.UnknownHierarchyError),
        (lambda: dbanon.anonymize(pd.DataFrame({"a": [1, 2]}), "kacp", k=2, qi=["a"]), errors.UnknownAlgorithmError),
    ):
        with pytest.raises(kind):
            call()
        assert con.execute("SELECT 42").fetchall() == [(42,)]
    assert not (tmp_path / "out.csv").exists()


def test_plain_connection_arguments_read_fully_or_refused(con: Any) -> None:
    assert_mistake(con, "k = 2, k := 3, qi := ['age']", "k is given twice")
    assert_mistake(con, "k = 2, age, qi := ['age']", "age")
    assert_mistake(con, "k = 2, x > 3, qi := ['age']", "cannot read the argument")
    assert_mistake(con, "k = 2, k > 3, qi := ['age']", "Cannot compare")


# --- all of them --------------------------------------------------------------------------------------------

ELSEWHERE = {
    "DbtModelChangedError": "test_releases.py",
    "FewerThanKError": "test_algorithms.py",
    "InvalidKeyColumnError": "test_related_mistakes.py",
    "KeyTypeMismatchError": "test_related_mistakes.py",
    "NullKeyError": "test_related_mistakes.py",
    "NotSupportedForRelatedTablesError": "test_related_mistakes.py",
    "OfflineMigrationError": "test_alchemy_migration.py",
    "OrphanRowsError": "test_related_mistakes.py",
    "RenamedFunctionError": "test_earlier_names.py",
    "RelationKeyMismatchError": "test_relation.py",
    "RelationKeyNotWithheldError": "test_relation.py",
    "AmbiguousRelationError": "test_relation.py",
    "DuplicateKeyError": "test_related_mistakes.py",
    "OtherColumnInChildTableError": "test_related_mistakes.py",
    "OverlappingReleaseError": "test_related_views.py",
    "TooFewTrainingRecordsError": "test_ml_utility.py",
    "TooManyTargetValuesError": "test_ml_utility.py",
    "PartitionFailedError": "test_frames.py",
    "ExecutorModuleMissingError": "test_frames.py",
    "NeedsSinglePartitionError": "test_frames.py",
    "NotSupportedOnSparkError": "test_frames.py",
    "InvalidPolicyFileError": "test_frames.py",
    "SparkSessionMissingError": "test_frames.py",
    "LimitExceededError": "test_readers.py",
    "QuackExtensionMissingError": "test_extension.py",
    "NamesDifferOnlyByCaseError": "test_foreign_postgres.py",
    "DatabaseNotAttachedError": "test_foreign_attach.py",
    "MultithreadedScanEnabledError": "test_foreign_sqlite.py",
    "DatabaseIdentityUnavailableError": "test_foreign_sqlite.py",
    "PolicyRowNeedsSchemaError": "test_foreign_mysql.py",
    "NotAttachedError": "test_foreign_attach.py",
    "DeliveryFailedError": "test_foreign_delivery.py",
    "StaleTableListError": "test_foreign_mysql.py",
    "DeliveryTargetMismatchError": "test_foreign_delivery.py",
    "InvalidDeliveryTargetError": "test_foreign_delivery.py",
    "NoDatabaseForPolicyError": "test_foreign_postgres.py",
    "ScannerExtensionMissingError": "test_foreign_sqlite.py",
    "NotPostgresDatabaseError": "test_foreign_sqlite.py",
    "DatabaseIdentityMismatchError": "test_foreign_postgres.py",
    "AmbiguousPolicyError": "test_foreign_postgres.py",
    "PushdownEnabledError": "test_foreign_mysql.py",
    "ReadUncommittedError": "test_foreign_mysql.py",
    "UnknownDatabaseError": "test_foreign_postgres.py",
    "UnsafeNameError": "test_foreign_mysql.py",
    "ReaderStatementRefusedError": "test_statement_checker.py",
    "CannotListenError": "test_extension.py",
    "NotLoopbackAddressError": "test_extension.py",
    "RequestNotPermittedError": "test_permissions.py",
    "ReleaseUnavailableError": "test_request_limits.py",
    "RequestLimitReachedError": "test_permissions.py",
    "ServerStartFailedError": "test_extension.py",
    "ReleasePendingError": "test_request_limits.py",
    "NoReleaseToServeError": "test_extension.py",
    "ServerStoppingError": "test_readers.py",
    "TokenExistsError": "test_tokens.py",
    "UnknownTokenError": "test_tokens.py",
    "ColumnsDifferOnlyByCaseError": "test_frames.py",
    "ComputedColumnError": "test_computed_columns.py",
    "HierarchyOfPolicyError": "test_spark_policy_attempts.py",
    "PolicyNameMissingError": "test_spark_policy_attempts.py",
    "TableNotInPolicyError": "test_spark_policy_attempts.py",
    "UnsupportedInputError": "test_files.py",
    "DuplicateColumnError": "test_frame_adapters.py",
    "ConnectionMissingError": "test_magic.py",
    "UnknownConnectionError": "test_magic.py",
    "UnparsablePublishedValueError": "test_query_error.py",
    "ErasureEmptiesReleaseError": "test_version_differences.py",
    "NoCommonQuasiIdentifiersError": "test_query_error.py",
    "DemoExistsError": "test_targets.py",
    "WriteFailedError": "test_publish.py",
    "OutputDiffersError": "test_read_back.py",
    "ReleaseTableMismatchError": "test_ledger_sources.py",
    "SourceNotFoundError": "test_ledger_sources.py",
    "LedgerMismatchError": "test_ledger_sources.py",
    "HierarchiesChangedError": "test_ledger_sources.py",
    "NewerDatabaseError": "test_storage.py",
    "NewerSchemaError": "test_schema.py",
    "StorageVersionTooOldError": "test_storage.py",
    "RemoteFileError": "test_files.py",
    "ConnectionNotAttachedError": "test_attach_connections.py",
    "FileEncodingError": "test_file_kinds.py",
    "UnsupportedFileError": "test_file_kinds.py",
    "CteSourceError": "test_cte_sources.py",
    "TargetNotLocalError": "test_targets.py",
    "ReleaseChangedError": "test_publish.py",
    "ReleaseHashesMissingError": "test_seal.py",
    "TargetExistsError": "test_publish.py",
    "TargetInUseError": "test_publish.py",
    "UnreadableScriptError": "test_shell.py",
    "UnreadableCommandError": "test_shell.py",
    "UnknownCommandError": "test_shell.py",
    "MissingExtraError": "test_shell.py",
    "LedgerBusyError": "test_atomic.py",
    "BoundOffGridError": "test_policy.py",
    "UndeclaredColumnError": "test_policy.py",
    "UnreadableValueError": "test_cells.py",
    "ViewOverPolicyError": "test_policy.py",
    "DatabaseReadAsFileError": "test_applicable_policy.py",
    "RelationOverPolicyError": "test_relation_policy.py",
    "SourceChangedError": "test_applicable_policy.py",
    "SourceNotResolvedError": "test_applicable_policy.py",
    "UnmatchedPolicyError": "test_applicable_policy.py",
    "RecursiveViewError": "test_pages.py",
    "ShadowedBuiltinError": "test_shadowed_functions.py",
    "CompositionRefusedError": "test_composition.py",
    "CompositionUncheckedError": "test_version_differences.py",
    "CompositionUnknownError": "test_composition.py",
    "PeopleNotRecognizedError": "test_recognized_people.py",
    "EarlierHashesError": "test_earlier_hashes.py",
    "StreamRefusedError": "test_recognized_people.py",
    "CollatedColumnError": "test_collations.py",
    "UnknownRelationError": "test_source_identity.py",
    "SmallDifferencesRefusedError": "test_refresh.py",
    "ReleaseOutsideSourceDatabaseError": "test_materialized.py",
    "GateRefusedError": "test_gate.py",
    "StatementInterruptedError": "test_interrupt.py",
    "CannotKeepClassesError": "test_refresh.py",
    "ModelNotMetError": "test_model_arguments.py",
    "SensitiveColumnMissingError": "test_model_arguments.py",
    "SensitiveHierarchyMissingError": "test_model_arguments.py",
    "NoiseNotMaterializableError": "test_noise.py",
    "NotADuckDBConnectionError": "test_alchemy_engine.py",
    "AmbiguousValueError": "test_hierarchy.py",
    "NotASingleCallError": "test_statements.py",
    "HierarchyNotStoredError": "test_read.py",
    "OpenTransactionError": "test_materialized.py",
    "ComparisonTableMismatchError": "test_comparison.py",
    "PersonColumnNotSelectedError": "test_alchemy_selectable.py",
    "RepeatedRecordsError": "test_query_persons.py",
    "UnmappedTableError": "test_alchemy_policy_attempts.py",
    "PolicyDriftError": "test_alchemy_selectable.py",
    "RareAfterSuppressionError": "test_suppress.py",
    "RareCombinationError": "test_singling_out.py",
    "PersonSpellingsError": "test_person_spellings.py",
    "ValueSpellingsError": "test_table_problems.py",
    "UndoneLimitError": "test_ineffective_limits.py",
    "UniqueByUnchangedColumnsError": "test_singling_out.py",
    "InvalidTransformSettingError": "test_pseudonym_generation.py",
    "PseudonymKeyMissingError": "test_pseudonym_generation.py",
    "LinkedRowsBelowKError": "test_linked.py",
    "LinkedRowsMissModelError": "test_linked.py",
    "LinkedRowsRareValuesError": "test_linked.py",
    "LinkedVersionsNotAnonymousError": "test_linked_versions.py",
    "TransformedColumnsNotSupportedError": "test_roles.py",
    "CannotTransformColumnError": "test_roles.py",
    "PseudonymCollisionError": "test_linked.py",
    "DateShiftOutOfRangeError": "test_roles.py",
    "AmbiguousDataSubjectError": "test_multiple_pseudonyms.py",
    "PseudonymFormatMismatchError": "test_multiple_pseudonyms.py",
    "UnreadableKeyReferenceError": "test_pseudonym_generation.py",
    "WeakPseudonymKeyError": "test_pseudonym_generation.py",
    "ReadOnlyDatabaseError": "test_sources.py",
    "ReadOnlyViewError": "test_alchemy_view.py",
    "ReleaseExistsError": "test_materialized.py",
    "RepeatedArgumentError": "test_arguments.py",
    "RepeatedIdentifierError": "test_policy.py",
    "TableTooLargeError": "test_assign.py",
    "TooManyLevelsError": "test_lattice.py",
    "UnknownReleaseError": "test_materialized.py",
    "UnknownVersionError": "test_materialized.py",
    "UnmappableViewError": "test_alchemy_view.py",
    "UnreadableStatementError": "test_statements.py",
    "UnstableSourceError": "test_materialized.py",
    "UnusedArgumentError": "test_model_arguments.py",
    "NullInOrderByError": "test_stream_functions.py",
    "StreamAlgorithmNotAllowedError": "test_streaming.py",
    "HierarchyNodeRemovedError": "test_streaming.py",
    "StreamSourceNotATableError": "test_streaming.py",
    "SourceNotAppendOnlyError": "test_streaming.py",
    "PrunedWithoutOrderError": "test_stream_marks.py",
    "CannotCheckRareValuesError": "test_streaming.py",
    "OverlappingStreamError": "test_streaming.py",
    "StreamRolesChangedError": "test_streaming.py",
    "UnknownStreamError": "test_streaming.py",
    "UnreadableLinesError": "test_stream_command.py",
}
"""Exceptions that other test files raise."""


def test_every_package_error_is_raised(request: pytest.FixtureRequest) -> None:
    """Runs last; needs the whole file."""
    alone = [element for element in request.session.items if element.path == request.path]
    if len(alone) < 100:
        pytest.skip("only a part of the file runs")
    known_documented_errors = set(documented_errors())
    assert known_documented_errors - _raised_names - set(ELSEWHERE) == set()
    assert set(ELSEWHERE) <= known_documented_errors


LISTS = (
    "accepted",
    "commands",
    "columns",
    "found",
    "hierarchies",
    "other_versions",
    "policy_tables",
    "registered",
    "roles",
)

SAMPLES: dict[str, Any] = {p: ["aa"] for p in LISTS} | {
    "versions": [(1, "published")],
    "n_people": {"aa": 1},
    "types": {"aa": "aa"},
    "streams": ["aa"],
    "others": {"aa": ["aa"]},
    "renamed": {"aa": "aa"},
    "recognition": SimpleNamespace(people=9, by_key=0, by_spelling=1, by_records=8, columns=["aa"], is_comparable=True),
}
"""Arguments of exceptions that are no text."""


def test_messages_state_problem_and_remedy() -> None:
    """Every message ends as a sentence, and avoidable errors have a hint or a list of accepted values."""
    for name, kind in documented_errors().items():
        parameters = message_fields(kind.message) or [
            p for p in inspect.signature(kind.__init__).parameters if p != "self"
        ]
        text = str(kind(*[SAMPLES.get(p, "aa") for p in parameters]))
        assert len(parameters) >= 1
        assert re.search(r"[.?]$", text) or name in ("UnreadableFileError", "UnsupportedSettingError"), (
            f"{name}: {text}"
        )
        assert kind.__doc__


def test_error_templates_get_one_argument_per_field() -> None:
    n_calls = 0
    for path in sorted(Path(dbanon.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            kind = vars(errors).get(name)
            if not (isinstance(kind, type) and issubclass(kind, DbanonError) and kind.message):
                continue
            n_calls += 1
            assert not node.keywords, f"{path}:{node.lineno}"
            if not any(isinstance(argument, ast.Starred) for argument in node.args):
                assert len(node.args) == len(message_fields(kind.message)), f"{path}:{node.lineno}"
    assert n_calls > 100
