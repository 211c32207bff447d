"""Parameters of models for sensitive values, and the errors for invalid ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from support.model_tables import ALGORITHMS, INFECTIOUS, Asked, call_text

import dbanon
from dbanon import algorithms
from dbanon.privacy_models import registry

ROWS = """
    (1, 25, 'Flu', 'home', 3.5), (2, 27, 'Flu', 'work', 4.5), (3, 29, 'Cancer', 'home', 5.5),
    (4, 40, 'Flu', 'work', 6.5), (5, 46, 'Cancer', 'home', NULL), (6, 55, 'HIV', 'home', 4.5)
"""


@pytest.fixture(scope="module")
def people() -> Iterator[Any]:
    """Provide an attached connection with six people and a hierarchy."""
    con = dbanon.attach(duckdb.connect())
    con.execute(f"CREATE TABLE people AS FROM (VALUES {ROWS}) AS p (rid, age, disease, cause, score)")
    dbanon.load_hierarchy(con, "infectious", INFECTIOUS)
    yield con
    con.close()


BASE = "'people', k := 2, qi := ['age']"


def refusal_message(
    con: Any, call_arguments: str, function: str = "kacpc", sensitive: str = ", sensitive := ['disease']"
) -> str:
    """Return the error of a call."""
    with pytest.raises(duckdb.Error) as caught:
        con.execute(f"FROM {function}({BASE}{sensitive}, {call_arguments})").fetchall()
    assert con.execute("SELECT 42").fetchall() == [(42,)]
    return str(caught.value)


def released_rows(
    con: Any, call_arguments: str, sensitive: str = ", sensitive := ['disease']"
) -> list[tuple[Any, ...]]:
    """Return the rows of a call."""
    rows = con.execute(f"FROM kacpc({BASE}{sensitive}, {call_arguments})").fetchall()
    assert len(rows) == 6
    return list(rows)


NO_NUMBER = ["'NaN'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "'two'", "'0.5'", "true", "[1]", "{'a': 1}"]
BAD = {
    "l": ("an integer of at least 2", ["1", "0", "-2", "2.5", "2.0::DOUBLE", "1e30", *NO_NUMBER]),
    "p": ("an integer of at least 2", ["1", "0", "-2", "2.5", *NO_NUMBER]),
    "t": ("a number from 0 to 1", ["-1", "-0.001", "1.001", "2", *NO_NUMBER]),
    "alpha": ("a number above 0 and at most 1", ["0", "0.0", "-1", "1.001", *NO_NUMBER]),
    "beta": ("a number above 0", ["0", "-0.0", "-1", *NO_NUMBER]),
    "c": ("a number above 0", ["0", "-1", *NO_NUMBER]),
    "diversity": ("one of 'distinct', 'entropy', 'recursive'", ["'shannon'", "''", "2", "true", "['entropy']"]),
    "ground_distance": ("one of 'equal', 'ordered', 'hierarchical'", ["'euclid'", "''", "1"]),
    "likeness": ("one of 'basic', 'enhanced'", ["'likely'", "0.5"]),
    "multi_sensitive": ("one of 'independent', 'joint'", ["'both'", "true"]),
}
NEEDS = {
    "c": "l := 2, diversity := 'recursive', ",
    "diversity": "l := 2, ",
    "ground_distance": "t := 0.5, ",
    "likeness": "beta := 2, ",
    "multi_sensitive": "l := 2, ",
}
VALUES = [(name, value) for name, (_, values) in BAD.items() for value in values]


@pytest.mark.parametrize(("name", "value"), VALUES, ids=[f"{name} = {value}" for name, value in VALUES])
def test_out_of_range_value_states_accepted_range(people: Any, name: str, value: str) -> None:
    message = refusal_message(people, f"{NEEDS.get(name, '')}{name} := {value}")
    assert f"kacpc: {name} must be {BAD[name][0]}, got " in message


@pytest.mark.parametrize("name", BAD)
def test_null_model_argument_equals_omitted_argument(people: Any, name: str) -> None:
    assert released_rows(people, f"{NEEDS.get(name, '')}{name} := NULL") == released_rows(
        people, NEEDS.get(name, "") + "nulls := 'keep'"
    )


@pytest.mark.parametrize(
    "call_arguments",
    ["t := 0", "t := 1", "t := 1::TINYINT", "t := 0.5::FLOAT", "t := 0.5::DECIMAL(4, 2)", "alpha := 1", "alpha := 1.0",
     "beta := 1e300", "beta := 1e-9", "l := 3::BIGINT", "p := 3::UTINYINT", "L := 2", "t := 0.5, ground_distance "
                                                                                      ":= 'ORDERED'",
     "l := 2, diversity := 'Entropy'", "l := 3, diversity := 'recursive', c := "
                                       "1e9", "l := 2, multi_sensitive := 'joint'"],
)  # fmt: skip
def test_range_ends_and_other_numeric_types_are_accepted(people: Any, call_arguments: str) -> None:
    released_rows(people, call_arguments)


UNUSED = {
    "diversity := 'entropy'": "diversity has no effect, because l is not given",
    "t := 0.5, diversity := 'distinct'": "diversity has no effect, because l is not given",
    "c := 2": "c has no effect, because l is not given",
    "l := 2, c := 2": "c has no effect, because diversity is not 'recursive'",
    "l := 2, diversity := 'entropy', c := 2": "c has no effect, because diversity is not 'recursive'",
    "ground_distance := 'equal'": "ground_distance has no effect, because t is not given",
    "l := 2, ground_distance := 'ordered'": "ground_distance has no effect, because t is not given",
    "likeness := 'enhanced'": "likeness has no effect, because beta is not given",
    "multi_sensitive := 'joint'": "multi_sensitive has no effect, because none of l, t, alpha, p, beta, "
    "delta_disclosure is given",
}


@pytest.mark.parametrize("call_arguments", UNUSED)
@pytest.mark.parametrize("kind", ["", "_classes", "_metrics"])
def test_ignored_model_parameter_refused(people: Any, kind: str, call_arguments: str) -> None:
    assert f"kacpc{kind}: {UNUSED[call_arguments]}. Hint: omit it." in refusal_message(
        people, call_arguments, f"kacpc{kind}"
    )


ASKED = {"l": 2, "t": 0.5, "alpha": 0.9, "p": 2, "beta": 2}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_model_without_sensitive_column_refused(people: Any, algorithm: str, name: str) -> None:
    asked_values = {name, *algorithms.find(algorithm).defaults}
    first = next(model.parameter for model in registry.models() if model.parameter in asked_values)
    for kind in ("", "_classes", "_metrics"):
        message = refusal_message(people, f"{name} := {ASKED[name]}", algorithm + kind, "")
        assert f"{algorithm}{kind}: {first} needs a sensitive column, and people has none" in message


@pytest.mark.parametrize("sensitive", [["disease"], ["cause", "disease"]])
def test_hierarchical_distance_without_hierarchy_refused(people: Any, sensitive: list[str]) -> None:
    message = refusal_message(
        people, "t := 0.5, ground_distance := 'hierarchical'", sensitive=f", sensitive := {sensitive}"
    )
    assert "kacpc: ground_distance = 'hierarchical' needs a hierarchy of people.disease. Hint: " in message


def test_hierarchical_distance_requires_hierarchy_per_column(people: Any) -> None:
    both = ", sensitive := ['disease', 'cause']"
    arguments = "t := 0.5, ground_distance := 'hierarchical', hierarchies := {'disease': 'infectious'"
    assert "needs a hierarchy of people.cause" in refusal_message(people, arguments + "}", sensitive=both)
    released_rows(people, arguments + ", 'cause': E'home;*\\nwork;*'}", both)


def test_unknown_hierarchy_of_sensitive_column_raises(people: Any) -> None:
    message = refusal_message(
        people, "t := 0.5, ground_distance := 'hierarchical', hierarchies := {'disease': 'infectius'}"
    )
    assert "there is no hierarchy 'infectius' (of people.disease)" in message


def test_uncovered_value_error_contains_no_source_value(people: Any) -> None:
    for emd in ("ordered", "hierarchical"):
        arguments = f"t := 0.5, ground_distance := '{emd}', hierarchies := {{'disease': E'Flu;*\\nCancer;*'}}"
        message = refusal_message(people, arguments)
        assert re.search(r"people\.disease: 1 distinct values? (is|are) missing from hierarchy", message)
        assert "HIV" not in message


NOT_MET: list[tuple[str, str, str, str]] = [
    # parameter, the named model, the stated maximum, and the parameter that then works
    ("l := 4", "l = 4", "l = 3", "l := 3"),
    ("p := 9", "p = 9", "p = 3", "p := 3"),
    ("l := 3, diversity := 'entropy'", "l = 3, diversity = 'entropy'", "l = 2", "l := 2, diversity := 'entropy'"),
    ("l := 3, diversity := 'recursive', c := 3", "l = 3, diversity = 'recursive', c = 3", "c above 3",
     "l := 3, diversity := 'recursive', c := 3.000001"),
    ("l := 2, diversity := 'recursive', c := 0.5", "l = 2, diversity = 'recursive', c = 0.5", "c above 1",
     "l := 2, diversity := 'recursive', c := 1.000001"),
    ("alpha := 0.4", "alpha = 0.4", "alpha = 0.5", "alpha := 0.5"),
]  # fmt: skip


@pytest.mark.parametrize(("call_arguments", "model", "maximum", "works"), NOT_MET, ids=[case[0] for case in NOT_MET])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_impossible_parameter_states_maximum(
    people: Any, algorithm: str, call_arguments: str, model: str, maximum: str, works: str
) -> None:
    for kind in ("", "_classes", "_metrics"):
        message = refusal_message(people, call_arguments, algorithm + kind)
        expected = (
            f"{algorithm}{kind}: all records together do not meet {model} on disease; the most that they allow is"
        )
        assert f"{expected} {maximum}. Hint: weaken the model, or withhold the column." in message
    assert _n_released_or_suppressed(people, algorithm, works) == 6


def _n_released_or_suppressed(people: Any, algorithm: str, works: str) -> int:
    """Return the number of records that a call releases or suppresses by a rule of its algorithm."""
    call = f"({BASE}, sensitive := ['disease'], {works})"
    left_out = f"SELECT value::INTEGER FROM {algorithm}_metrics{call} WHERE metric = 'suppressed'"
    rows = people.execute(f"FROM {algorithm}{call}").fetchall()
    return len(rows) + sum(value for (value,) in people.execute(left_out).fetchall())


def test_unsatisfiable_value_is_reported(people: Any) -> None:
    assert "the most that they allow is a smaller l." in refusal_message(people, "l := 4, diversity := 'recursive'")
    con = people.cursor()
    dbanon.attach(con)
    con.execute("CREATE OR REPLACE TABLE alike AS SELECT i AS age, 'Flu' AS disease FROM range(6) AS r (i)")
    for parameters in ({"l": 2}, {"l": 2, "diversity": "entropy"}, {"p": 2}):
        call = call_text("kacpc", {"k": 2, "qi": ["age"], "sensitive": ["disease"], **parameters}, "alike")
        with pytest.raises(duckdb.Error, match=r"the most that they allow is no [lp] above 1\."):
            con.execute(f"FROM {call}")


@pytest.mark.parametrize(
    ("model_arguments", "suggestion"),
    [
        ({"alpha": 0.3}, "alpha = 0.666667"),
        ({"t": 0.1, "multi_sensitive": "joint"}, "t = 0.666667"),
        ({"beta": 0.2, "multi_sensitive": "joint"}, "beta = 2"),
    ],
)
def test_suggested_share_is_rounded_to_be_accepted(people: Any, model_arguments: Asked, suggestion: str) -> None:
    """Two of three have Flu; a person at work has HIV, and one at home does not."""
    con = dbanon.attach(people.cursor())
    rows = "('Flu', 'home'), ('Flu', 'home'), ('HIV', 'work'), ('Flu', 'home'), ('Flu', 'home'), ('HIV', 'work')"
    con.execute(
        f"CREATE OR REPLACE TABLE told AS SELECT row_number() OVER () AS age, * FROM (VALUES {rows}) AS v (d, c)"
    )
    arguments: Asked = {
        "k": 2,
        "qi": ["age"],
        "sensitive": ["d", "c"] if "multi_sensitive" in model_arguments else ["d"],
    }
    for _ in arguments["sensitive"]:
        with pytest.raises(duckdb.Error, match="the most that they allow is") as caught:
            con.execute(f"FROM {call_text('kacpc', arguments | model_arguments, 'told')}")
        match = re.search(r"allow is (\w+) = (\S+)\. Hint", str(caught.value))
        assert match
        model_arguments = model_arguments | {match[1]: float(match[2])}
        try:
            con.execute(f"FROM {call_text('kacpc', arguments | model_arguments, 'told')}")
            break
        except duckdb.Error:
            continue
    assert len(con.execute(f"FROM {call_text('kacpc', arguments | model_arguments, 'told')}").fetchall()) == 6
    name, value = suggestion.split(" = ")
    assert model_arguments[name] == float(value)


def test_policy_declares_sensitive_columns_and_order(people: Any) -> None:
    con = people.cursor()
    dbanon.attach(con)
    con.execute(f"CREATE OR REPLACE TABLE ruled AS FROM (VALUES {ROWS}) AS p (rid, age, disease, cause, score)")
    dbanon.declare(con, "ruled", age="quasi", disease=("sensitive", "infectious"))
    assert (
        len(con.execute("FROM kacpc('ruled', k := 2, l := 2, t := 0.5, ground_distance := 'hierarchical')").fetchall())
        == 6
    )
    with pytest.raises(duckdb.Error, match="ruled has none"):
        con.execute("FROM kacpc('ruled', k := 2, l := 2, withhold := ['disease'])")
    with pytest.raises(duckdb.Error, match=r"do not meet l = 3, diversity = 'entropy' on disease"):
        con.execute("FROM kacpc('ruled', k := 2, l := 3, diversity := 'entropy')")


TYPES = ["VARCHAR", "INTEGER", "DOUBLE", "DECIMAL(9, 3)", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "BOOLEAN", "HUGEINT"]


@pytest.mark.parametrize("type_", TYPES)
def test_sensitive_values_of_every_type_meet_models(people: Any, type_: str) -> None:
    con = dbanon.attach(people.cursor())
    result = {
        "DATE": "DATE '2020-01-30' + i::INTEGER % 3", "TIMESTAMP": "TIMESTAMP '2020-01-30 23:00' + to_hours(i % 3)",
        "TIMESTAMPTZ": "TIMESTAMPTZ '2020-01-30 23:00:00+00' + to_hours(i % 3)", "BOOLEAN": "i % 3 = 0",
    }.get(type_, f"(i % 3)::{type_}")  # fmt: skip
    value = f"CASE WHEN i < 11 THEN ({result})::{type_} END AS v"
    con.execute(f"CREATE OR REPLACE TABLE typed AS SELECT i AS age, {value} FROM range(12) AS r (i)")
    parameters: Asked = {"k": 2, "qi": ["age"], "sensitive": ["v"], "l": 2, "alpha": 0.9, "p": 2, "beta": 20}
    for emd in ("equal", "ordered"):
        call = call_text("kacpc", parameters | {"t": 0.5, "ground_distance": emd}, "typed")
        classes = con.execute(f"SELECT count(*), count(DISTINCT v::VARCHAR) FROM {call} GROUP BY age").fetchall()
        assert sum(size for size, _ in classes) == 12
        assert min(values for _, values in classes) >= 2
