"""Arguments as DuckDB binds them, the kinds of parameters, table names and quoting."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import duckdb
import hypothesis.strategies as st
import pytest
from hypothesis import given
from support.tables import MANY

import dbanon
from dbanon import algorithms, errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.sqltext import names, quote
from dbanon.table_functions import arguments, parameter_types, parameters
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.registry import table_functions

# What DuckDB binds, read back


@pytest.fixture(scope="module")
def bind_arguments() -> Iterator[Callable[..., list[str]]]:
    """Return bound texts of the arguments of a call, as the macros of `dbanon.udf.install` collect them."""
    slots = ["a1", "a2", "a3"]
    capture = arguments.capture_sql(slots, arguments.CAPTURED)
    connection = duckdb.connect()
    connection.execute(f"CREATE MACRO f(tbl, a1 := NULL, a2 := NULL, a3 := NULL) AS TABLE SELECT unnest({capture})")

    def texts(call: str, *values: object) -> list[str]:
        rows = connection.execute(f"FROM f('t', {call})", list(values)).fetchall()
        return [text for (text,) in rows if "THEN (NULL)" not in text]

    yield texts
    connection.close()


READABLE = [
    ("k=10", ("k", 10)),
    ("k = -3", ("k", -3)),
    ("K=10", ("k", 10)),
    ('"k"=10', ("k", 10)),
    ("k=1_000", ("k", 1000)),
    ("k=10 -- ten\n", ("k", 10)),
    ("k=10000000000", ("k", 10**10)),
    ("k=100000000000000000000", ("k", 10**20)),
    ("k=0.2", ("k", 0.2)),
    ("k=.5", ("k", 0.5)),
    ("k=-.25", ("k", -0.25)),
    ("k=1e3", ("k", 1000.0)),
    ("k=-1.5e-7", ("k", -1.5e-7)),
    ("k=10::BIGINT", ("k", 10)),
    ("k='10'", ("k", "10")),
    ("k=NULL", ("k", None)),
    ("sensitive=NULL", ("sensitive", None)),
    ("sensitive='x'", ("sensitive", "x")),
    ("sensitive=''", ("sensitive", "")),
    ("sensitive='it''s (k = 2), \"so\"'", ("sensitive", 'it\'s (k = 2), "so"')),
    ("sensitive=$$a'b$$", ("sensitive", "a'b")),
    ("sensitive=E'a\\nb'", ("sensitive", "a\nb")),
    ("l=true", ("l", True)),
    ("l=false", ("l", False)),
    ("l='t'", ("l", "t")),
    ("l=1", ("l", 1)),
    ("qi=['a', 'b']", ("qi", ["a", "b"])),
    ("qi=['it''s', 'odd \"name\"', 'a, b)']", ("qi", ["it's", 'odd "name"', "a, b)"])),
    ("qi=[]", ("qi", [])),
    ("qi=['a', NULL]", ("qi", ["a", None])),
    ("qi=[1, 2]", ("qi", [1, 2])),
    ("qi='a'", ("qi", "a")),
    ("hierarchies={'zip': 'z'}", ("hierarchies", {"zip": "z"})),
    ("hierarchies={'odd name': 'a, (b)', 'x\"y': 'it''s'}", ("hierarchies", {"odd name": "a, (b)", 'x"y': "it's"})),
    ("hierarchies=MAP {'zip': 'z', 'a b': 'c'}", ("hierarchies", {"zip": "z", "a b": "c"})),
    ("weights=MAP {'age': 1.5}", ("weights", {"age": 1.5})),
    ("hierarchies={'sex': 'M;*\nF;*'}", ("hierarchies", {"sex": "M;*\nF;*"})),
    ("hierarchies={'order': 'o', 'Größe': 'g', 'Zip': 'z'}", ("hierarchies", {"order": "o", "Größe": "g", "Zip": "z"})),
    ("weights={'age': 2, 'zip': 0.5}", ("weights", {"age": 2, "zip": 0.5})),
    ("weights={'age': -2, 'zip': NULL}", ("weights", {"age": -2, "zip": None})),
    ("weights={'age': true}", ("weights", {"age": True})),
    ("weights={'age': [1]}", ("weights", {"age": [1]})),
    ("'nulls'='drop'", ("nulls", "drop")),
    ("'odd '' name'='v'", ("odd ' name", "v")),
]


@pytest.mark.parametrize(("call", "expected"), READABLE, ids=[call for call, _ in READABLE])
def test_bound_name_and_literal_parsed_back(bind_arguments: Any, call: str, expected: tuple[str, object]) -> None:
    (text,) = bind_arguments(call)
    slot = arguments.parse_slot("kacpc", text)
    assert slot == expected
    assert type(slot[1]) is type(expected[1])


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("k=?", 7),
        ("k=?", 0.5),
        ("k=?", "7"),
        ("l=?", True),
        ("sensitive=?", "it's"),
        ("k=?", None),
        ("qi=?", ["a", "it's"]),
        ("hierarchies=?", {"zip": "z", "odd name": "it's"}),
        ("weights=?", {"age": 2.5, "zip": 0.25}),
    ],
    ids=str,
)
def test_bound_prepared_values_parsed_back(bind_arguments: Any, call: str, value: object) -> None:
    (text,) = bind_arguments(call, value)
    assert arguments.parse_slot("kacpc", text) == (call[:-2], value)


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@MANY
@given(st.dictionaries(NAMES, NAMES, min_size=1, max_size=3))
def test_bound_hostile_names_and_texts_parsed_back(bind_arguments: Any, given_names: dict[str, str]) -> None:
    if len({name.lower() for name in given_names}) < len(given_names):
        return
    spelled = ", ".join(f"{quote.text(n)}: {quote.text(v)}" for n, v in given_names.items())
    ages_text = ", ".join(quote.text(n) for n in given_names)
    struct, several = bind_arguments(f"hierarchies={{{spelled}}}, qi=[{ages_text}]")
    assert arguments.parse_slot("kacpc", struct) == ("hierarchies", given_names)
    assert arguments.parse_slot("kacpc", several) == ("qi", list(given_names))


def test_arguments_read_in_any_order(bind_arguments: Any) -> None:
    texts = bind_arguments("weights={'a': 1}, k=3, qi=['a']")
    assert [arguments.parse_slot("kacpc", text) for text in texts] == [("weights", {"a": 1}), ("k", 3), ("qi", ["a"])]


def test_bound_list_of_500_names_parsed_completely(bind_arguments: Any) -> None:
    columns = [f"column number {n}" for n in range(500)]
    (text,) = bind_arguments(f"qi=[{', '.join(quote.text(c) for c in columns)}]")
    assert arguments.parse_slot("kacpc", text) == ("qi", columns)


UNREADABLE = [
    "k=2+3",
    "10=k",
    "k<'x'",
    "k<>10",
    "k",
    "10",
    "'k'",
    "['k']",
    "k=k",
    "k=qi",
    "k=5 AND true",
    "(k=5)=true",
    "NOT k=5",
    "k=abs(3)",
    "k=random()",
    "k IS NULL",
    "k=[1]||[2]",
    "sensitive='a'||'b'",
    "weights={'a': {'b': 1}}",
    "''='x'",
]


@pytest.mark.parametrize("call", UNREADABLE)
def test_unknown_arguments_refused(bind_arguments: Any, call: str) -> None:
    (text,) = bind_arguments(call)
    with pytest.raises(
        errors.UnreadableArgumentError, match=r"^kacpc: cannot read the argument .* Hint: arguments after"
    ):
        arguments.parse_slot("kacpc", text)


@pytest.mark.parametrize("call", ["k=0.25+1", "qi=['a']||['b']", "weights={'a': 1.5, 'b': {'c': 1}}"])
def test_refused_argument_shown_with_balanced_brackets(bind_arguments: Any, call: str) -> None:
    (text,) = bind_arguments(call)
    with pytest.raises(errors.UnreadableArgumentError) as error_info:
        arguments.parse_slot("kacpc", text)
    shown_part = str(error_info.value).split("argument ", 1)[1].split(". Hint")[0]
    depth = 0
    for character in shown_part:
        depth += (character == "(") - (character == ")")
        assert depth >= 0, shown_part
    assert depth == 0, shown_part


def test_null_slot_parsed_as_no_argument() -> None:
    assert arguments.parse_slot("kacpc", "NULL") is None


TEXTS = [
    ("(CAST(k AS INTEGER) = CAST(10 AS INTEGER))", ("k", 10)),
    ("(CAST(escape_labels AS BOOLEAN) = true)", ("escape_labels", True)),
    ("(CAST(escape_labels AS BOOLEAN) = CAST('t' AS BOOLEAN))", ("escape_labels", True)),
    ("(CAST(escape_labels AS BOOLEAN) = CAST('f' AS BOOLEAN))", ("escape_labels", False)),
    ("(CAST(escape_labels AS VARCHAR) = CAST('t' AS VARCHAR))", ("escape_labels", "t")),
    ("(CAST(weights AS STRUCT(a BOOLEAN)) = struct_pack(CAST('t' AS BOOLEAN)))", ("weights", {"a": True})),
    ("(CAST(hierarchies AS STRUCT) = struct_pack())", ("hierarchies", {})),
    ('(CAST(qi AS "NULL"[]) = list_value())', ("qi", [])),
    ("(CAST(qi AS VARCHAR[2]) = CAST(list_value('a', 'b') AS VARCHAR[2]))", ("qi", ["a", "b"])),
    ("('diversity' = 'entropy')", ("diversity", "entropy")),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_slot_texts_of_duckdb_1_5_and_2_0_parsed(text: str, expected: tuple[str, object]) -> None:
    slot = arguments.parse_slot("kacpc", text)
    assert slot == expected
    assert type(slot[1]) is type(expected[1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "(k = 10",
        "(k = 10) (k = 11)",
        "((k = 10))",
        "(k = )",
        "(k = 'open)",
        "(CAST(k AS INTEGER = 10)",
        "(CAST(k AS INTEGER) = CAST(10 AS",
        "(CAST(w AS STRUCT(a INTEGER)) = struct_pack(1, 2))",
        "(qi = list_value('a' 'b'))",
        "(k = 10; DROP TABLE t)",
    ],
)
def test_malformed_slot_text_refused(text: str) -> None:
    with pytest.raises(errors.UnreadableArgumentError):
        arguments.parse_slot("kacpc", text)


def test_merge_arguments_by_name_ignores_null() -> None:
    slots = ["(k = 10)", "NULL", "(CAST(qi AS VARCHAR[]) = list_value('a'))"]
    named_mapping = {"nulls": "drop", "person": None}
    assert arguments.merge_arguments("kacpc", slots, named_mapping) == {"nulls": "drop", "k": 10, "qi": ["a"]}


@pytest.mark.parametrize("slots", [["(k = 10)"], ["(K = 10)"]])
def test_merge_arguments_refuses_repeated_argument(slots: list[str]) -> None:
    with pytest.raises(errors.RepeatedArgumentError, match="kacpc: k is given twice"):
        arguments.merge_arguments("kacpc", slots, {"k": 5})
    with pytest.raises(errors.RepeatedArgumentError, match="kacpc: k is given twice"):
        arguments.merge_arguments("kacpc", slots * 2, {})


# Kinds of parameters


GOOD: dict[type, Callable[[Any], list[object]]] = {
    parameter_types.Integer: lambda kind: [kind.low, kind.low + 1, min(10**6, kind.high)],
    parameter_types.Float: lambda kind: [kind.low + 0.25, min(1, kind.high), *([] if kind.above else [kind.low])],
    parameter_types.MoveCount: lambda kind: [0, 1, 20_000],
    parameter_types.Weight: lambda kind: [1, 0.5, 1e-6, 1_000_000],
    parameter_types.Choice: lambda kind: [*kind.words, kind.words[0].upper()],
    parameter_types.Boolean: lambda kind: [True, False],
    parameter_types.Text: lambda kind: ["a", "odd name", "*"],
    parameter_types.NumberOrDate: lambda kind: [0, -1.5, "2020-01-01"],
    parameter_types.Interval: lambda kind: [[0, 1], ["2020-01-01", "2021-01-01"], (1.5, 2)],
    parameter_types.Columns: lambda kind: ["a", ["a"], ["a", "odd name"], ("b",), []],
    parameter_types.Tables: lambda kind: ["a", ["a"], ["a", "odd name"], ("b",)],
    parameter_types.Key: lambda kind: ["a", ["a", "odd name"], {"a": "b"}, {"a": "a", "b c": "c"}],
    parameter_types.Integers: lambda kind: [[kind.low], [4, 3] if kind.descending else [3, 4]],
    parameter_types.Choices: lambda kind: [[kind.words[0]], list(kind.words), [kind.words[-1].upper()]],
    parameter_types.Identifiers: lambda kind: (
        ["precision", ["precision", "gcp"], ["GCP"], ("gcp",)]
        if kind.words is None
        else [kind.words[0], list(kind.words), [kind.words[-1].upper()]]
    ),
    parameter_types.Floats: lambda kind: [kind.low, [kind.low], [kind.low, kind.high], (kind.high,)],
    parameter_types.Objective: lambda kind: [
        "NCP",
        {"precision": 1, "ncp": 2},
        {"ncp": 0.5},
        {"precision": 0, "ncp": 1},
    ],
    parameter_types.Codes: lambda kind: ["NA", ["NA", "?"], [999, "-"], [date(9999, 12, 31)], []],
    parameter_types.ForColumns: lambda kind: [*valid_values(kind.value_type), {"a": valid_values(kind.value_type)[0]}],
    parameter_types.PerColumn: lambda kind: [
        {},
        {"a": valid_values(kind.value_type)[0]},
        {"a": valid_values(kind.value_type)[0], "b c": valid_values(kind.value_type)[-1]},
    ],
}
"""Accepted values of every kind; a new kind needs an entry."""


def valid_values(kind: Any) -> list[object]:
    return GOOD[type(kind)](kind)


BAD: dict[Any, Any] = {
    parameter_types.Integer: lambda kind: [kind.low - 1, 2.5, "ten", True, [kind.low], kind.high + 1, 2**127],
    parameter_types.MoveCount: lambda kind: [-1, 2.5, "ten", "5s", True],
    parameter_types.Weight: lambda kind: [0, -1, "heavy", True, 1e-7, 1e7, math.nan],
    parameter_types.Float: lambda kind: [
        *([kind.low] if kind.above else [kind.low - 0.1]),
        *("much", True, math.nan, math.inf),
        *([] if math.isinf(kind.high) else [kind.high + 0.1]),
    ],
    parameter_types.Choice: lambda kind: ["no such word", 1],
    parameter_types.Objective: lambda kind: [
        *("no such word", 1, {}, {"sse": 1}),
        *({"ncp": weight} for weight in (-1, 0, "1", True, math.inf, math.nan, None)),
    ],
    parameter_types.Boolean: lambda kind: [1, "yes"],
    parameter_types.Text: lambda kind: ["", 1],
    parameter_types.NumberOrDate: lambda kind: [True, [1]],
    parameter_types.Interval: lambda kind: [1, [1], [1, 2, 3], [1, None], [1, [2]], {"low": 1}],
    parameter_types.Objective: lambda kind: [
        "loss",
        1,
        {},
        {"sse": 1},
        {"ncp": -1},
        {"precision": 0, "ncp": 0},
        {"ncp": "x"},
    ],
    parameter_types.Codes: lambda kind: [True, [None], [["NA"]], [b"NA"], [True]],
    parameter_types.ForColumns: lambda kind: [
        *invalid_values(kind.value_type),
        *({"a": bad} for bad in invalid_values(kind.value_type)),
    ],
    parameter_types.Columns: lambda kind: [1, ["a", 2], [None], ["a", "A"], {"a": 1}],
    parameter_types.Integers: lambda kind: [
        *([kind.low - 1] if kind.alone else [5]),
        *(True, [], [kind.low - 1], [kind.high + 1], [1.5], [2, 2]),
        [3, 4] if kind.descending else [4, 3],
    ],
    parameter_types.Floats: lambda kind: [
        *(kind.low - 1, True, [], [kind.high + 1], ["much"], [kind.high, kind.low], [kind.low, kind.low])
    ],
    parameter_types.Choices: lambda kind: ["month", [], ["fortnight"], [1]],
    parameter_types.Identifiers: lambda kind: [
        *(1, [], [1], ["a", "A"], {"a": 1}),
        *([["no such name"]] if kind.words else []),
    ],
    parameter_types.PerColumn: lambda kind: [
        *(1, ["a"], "no such word"),
        *({"a": bad} for bad in invalid_values(kind.value_type)),
    ],
    parameter_types.Tables: lambda kind: [1, [], [1], ["a", "A"], {"a": 1}],
    parameter_types.Key: lambda kind: [1, [], {}, ["a", "A"], {"a": 1}, {"a": "b", "c": "B"}],
}
"""Refused values of every kind; a new kind needs an entry."""


def invalid_values(kind: Any) -> list[object]:
    return BAD[type(kind)](kind)


EVERY = {p.name: p for p in COMMON}
EVERY |= {f"{a.name}.{p.name}": p for a in algorithms.algorithms() for p in a.own_parameters}
EVERY |= {f"{f.name}.{p.name}": p for f in table_functions().values() if not f.algorithm for p in f.parameters}
PARAMETERS = pytest.mark.parametrize("parameter", EVERY.values(), ids=EVERY)


@PARAMETERS
def test_every_parameter_refuses_its_invalid_values(parameter: Parameter) -> None:
    for value in invalid_values(parameter.kind):
        with pytest.raises(ValueError):
            parameter.kind.check(value)


@PARAMETERS
def test_every_parameter_accepts_valid_values_and_default(parameter: Parameter) -> None:
    for value in valid_values(parameter.kind):
        parameter.kind.check(value)
    if parameter.default is not None:
        assert parameter.kind.check(parameter.default) == parameter.default


@PARAMETERS
def test_every_parameter_describes_accepted_values(parameter: Parameter) -> None:
    assert parameter.doc.endswith(".")
    assert not str(parameter.kind).startswith(type(parameter.kind).__name__)
    refusal = invalid_values(parameter.kind)[0]
    with pytest.raises(errors.InvalidArgumentError) as error:
        parameters.validate_parameters("f", (parameter,), {parameter.name: refusal})
    shown_value = parameters.format_value(refusal)
    assert str(error.value) == f"f: {parameter.name} must be {parameter.kind}, got {shown_value}."


@PARAMETERS
def test_null_parameter_uses_default_or_is_missing(parameter: Parameter) -> None:
    if parameter.required:
        with pytest.raises(
            errors.MissingArgumentError, match=f"f: {parameter.name} is missing; .* Hint: {parameter.name} = "
        ):
            parameters.validate_parameters("f", (parameter,), {parameter.name: None})
    else:
        assert parameters.validate_parameters("f", (parameter,), {}) == {parameter.name: parameter.default}
        assert parameters.validate_parameters("f", (parameter,), {parameter.name: None}) == {
            parameter.name: parameter.default
        }


def test_parameter_names_are_unique_and_lower_case() -> None:
    for algorithm in algorithms.algorithms():
        actual_names = [p.name for p in algorithm.parameters]
        assert len(set(actual_names)) == len(actual_names)
        assert all(name == name.lower() for name in actual_names)
    assert set(arguments.CAPTURED) <= {p.name for p in COMMON}


def test_accepted_values_are_normalized() -> None:
    actual_parameters = parameters.validate_parameters(
        "f", COMMON, {"K": 3, "qi": "age", "nulls": "DROP", "weights": {"Age": 2}}
    )
    assert (
        actual_parameters["k"],
        actual_parameters["qi"],
        actual_parameters["nulls"],
        actual_parameters["weights"],
    ) == (3, ("age",), "drop", {"Age": 2.0})


def test_k_below_2_or_missing_refused() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"^kacpc: k must be an integer of at least 2, got 1\.$"):
        parameters.validate_parameters("kacpc", COMMON, {"k": 1})
    with pytest.raises(errors.MissingArgumentError, match=r"^kacpc: k is missing; .* Hint: k = 10\.$"):
        parameters.validate_parameters("kacpc", COMMON, {})


def test_unknown_parameter_error_suggests_nearest_name() -> None:
    with pytest.raises(
        errors.UnknownParameterError, match=r"there is no parameter 'heirarchies'\. Did you mean 'hierarchies'\?"
    ):
        parameters.validate_parameters("kacpc", COMMON, {"k": 3, "heirarchies": {}})


def test_unknown_parameter_of_function_without_named_parameters() -> None:
    message = r"^certificate: there is no parameter 'version'\. Accepted: no named parameters\.$"
    with dbanon.connect() as con, pytest.raises(dbanon.DbanonError, match=message):
        con.execute("FROM certificate('safe', version = 1)")


def test_long_values_are_shortened_in_messages() -> None:
    assert parameters.format_value(None) == "NULL"
    assert parameters.format_value(True) == "true"
    assert parameters.format_value("x" * 200) == "'" + "x" * 76 + "..."


@pytest.mark.parametrize(
    "arguments_",
    [
        "k=1",
        "k='ten'",
        "k=2.5",
        "k=true",
        "k=[2]",
        "k := 3.7",
        "k := 'ten'",
        "k => 1",
        "'k'='10'",
        "k=NULL",
        "k := NULL",
    ],
)
def test_invalid_k_refused_in_sql(six: Any, arguments_: str) -> None:
    with pytest.raises(Exception, match=r"kacpc: k (must be|is missing; it must be) an integer of at least 2"):
        six.execute(f"FROM kacpc('six', {arguments_})").fetchall()


# Table names


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("patients", ("patients",)),
        ("main.patients", ("main", "patients")),
        ("clinic.main.patients", ("clinic", "main", "patients")),
        ('"odd name"', ("odd name",)),
        ('clinic."a.b"', ("clinic", "a.b")),
        ('"say ""hi""".t', ('say "hi"', "t")),
        ('""""', ('"',)),
        ("Größe_2$", ("Größe_2$",)),
        ("_x", ("_x",)),
        ("", None),
        ('""', None),
        ("a.", None),
        (".a", None),
        ("a..b", None),
        ("a.b.c.d", None),
        ("a b", None),
        (" a", None),
        ("a ", None),
        ("a\n", None),
        ("2a", None),
        ('"open', None),
        ('"a"b', None),
        ("a; DROP TABLE b", None),
        ("(SELECT 1)", None),
        ("read_csv('x')", None),
        ("a--", None),
        ("data.csv", ("data", "csv")),
    ],
)
def test_table_names_have_one_to_three_parts(text: str, parts: tuple[str, ...] | None) -> None:
    assert names.table_parts(text) == parts


@MANY
@given(st.lists(NAMES, min_size=1, max_size=3))
def test_quoted_table_name_parts_round_trip(parts: list[str]) -> None:
    assert names.table_parts(quote.qualified(*parts)) == tuple(parts)


def test_files_recognized_by_ending() -> None:
    files = ["a.csv", "A.CSV", "x/y.parquet", "a.json.gz", "a.tsv.zst", "s3://b/a.ndjson", "a.txt", "a.jsonl"]
    assert [names.is_file(f) for f in files] == [True] * len(files)
    others = ["csv", "a.csv.bak", "a.gz", "patients", "a.csv;", "a.xlsx"]
    assert [names.is_file(f) for f in others] == [False] * len(others)


# Quoting


@pytest.fixture(scope="module")
def plain_con() -> Iterator[Any]:
    connection = duckdb.connect()
    yield connection
    connection.close()


HOSTILE = [
    '"',
    '""',
    'a"b',
    "'",
    "a.b",
    "x; DROP TABLE t; --",
    "/*",
    "\\",
    "\n",
    "select",
    "$1",
    "?",
    "{{ x }}",
    "Größe",
    "🙂",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_quoted_hostile_identifier_names_table_and_column(plain_con: Any, name: str) -> None:
    table = quote.identifier(name)
    plain_con.execute(f"CREATE OR REPLACE TABLE {table} ({quote.identifier(name + 'x')} INTEGER)")
    description = plain_con.execute(f"FROM {quote.qualified('memory', 'main', name)}").description
    assert description[0][0] == name + "x"
    plain_con.execute(f"DROP TABLE {table}")


@MANY
@given(NAMES)
def test_every_name_round_trips_as_column(plain_con: Any, name: str) -> None:
    assert plain_con.execute(f"SELECT 1 AS {quote.identifier(name)}").description[0][0] == name


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@MANY
@given(TEXT)
def test_every_text_round_trips_as_value(plain_con: Any, value: str) -> None:
    """Including the NUL character and JSON documents."""
    assert plain_con.execute(f"SELECT {quote.text(value)}").fetchall() == [(value,)]
    assert plain_con.execute(f"SELECT {quote.literal(value)} || 'x'").fetchall() == [(value + "x",)]
    actual_value = plain_con.execute(f"SELECT {quote.as_json({value: [value, 1, None]})}").fetchall()[0][0]
    assert json.loads(actual_value) == {value: [value, 1, None]}


@pytest.mark.parametrize("value", [None, True, False, 0, -7, 2**63, 2**127 - 1, -(2**127)])
def test_literals_keep_value_and_type(plain_con: Any, value: object) -> None:
    actual_value = plain_con.execute(f"SELECT {quote.literal(value)}").fetchall()[0][0]  # type: ignore[arg-type]
    assert actual_value == value
    assert type(actual_value) is type(value)


@MANY
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_round_trips(plain_con: Any, value: float) -> None:
    assert plain_con.execute(f"SELECT {quote.literal(value)}::DOUBLE").fetchall() == [(value,)]


def test_float_of_17_digits_round_trips(plain_con: Any) -> None:
    assert plain_con.execute(f"SELECT {quote.literal(0.09059673990867223)}::DOUBLE").fetchall() == [
        (0.09059673990867223,)
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_number_without_sql_literal_refused(value: float) -> None:
    with pytest.raises(ValueError, match="has no literal"):
        quote.literal(value)


def test_identifier_with_nul_character_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote.identifier("a\0b")


def test_empty_qualified_name_parts_omitted() -> None:
    assert quote.qualified("", "main", "t") == '"main"."t"'
    assert quote.join_sql(["a", "b"]) == "a, b"
    assert isinstance(quote.join_sql([]), quote.Sql)


@pytest.mark.parametrize(
    ("parameter_names", "unknown"), [([], None), (["k", "qi"], None), (["k", "K"], "K"), (["weight"], "weight")]
)
def test_parameter_names_compared_letter_by_letter(parameter_names: list[str], unknown: str | None) -> None:
    declared = [parameter for parameter in COMMON if parameter.name in ("k", "qi")]
    if unknown is None:
        parameters.check_parameter_names("anonymize", declared, parameter_names)
    else:
        with pytest.raises(errors.UnknownParameterError, match=f"^anonymize: .*{unknown}"):
            parameters.check_parameter_names("anonymize", declared, parameter_names)
