"""Extreme arguments and tables: each call ends soon, with an error of dbanon or a right answer."""

from __future__ import annotations

import re
import time
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.table_functions import parameter_types, parameters
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import TableFunction

SECONDS = 20
"""Far above the duration of any of these, far below that of a loop of 2^31 steps."""

TEN = """
    CREATE TABLE ten AS SELECT 20 + i AS age, ['a', 'b'][1 + i % 2] AS sex, ['x', 'y', 'z'][1 + i % 3] AS d,
        DATE '2000-01-01' + i::INTEGER AS born, i // 2 AS pid FROM range(10) AS r (i);
"""
NUMBERS = (0, -1, 1, 2**31 - 1, 2**63, 2**127, 1e308, float("nan"), float("inf"))
WORDS = ("", "\0", "x" * 10_000, "'); DROP TABLE ten; --")


@pytest.fixture(scope="module")
def ten_rows_con() -> Any:
    with duckdb.connect(config={"threads": 1}) as connection:
        dbanon.attach(connection)
        connection.execute(TEN)
        yield connection


def numeric_parameters() -> list[tuple[TableFunction, Parameter]]:
    """Yield each numeric parameter, once with each kind, in the first function that has it."""
    result: dict[tuple[str, str], tuple[TableFunction, Parameter]] = {}
    for function in table_functions().values():
        for parameter in function.parameters:
            result.setdefault((parameter.name, repr(parameter.kind)), (function, parameter))
    return list(result.values())


NUMERIC = (
    parameter_types.Integer,
    parameter_types.Integers,
    parameter_types.MoveCount,
    parameter_types.Float,
    parameter_types.Weight,
    parameter_types.NumberOrDate,
    parameter_types.Interval,
)


def extremes(parameter: Parameter) -> list[Any]:
    """Yield values for a parameter near every limit; as a whole, in a list, or of a column."""
    kind = parameter.kind
    inner = kind.value_type if isinstance(kind, parameter_types.PerColumn) else kind
    if not isinstance(inner, NUMERIC):
        return [2**127, "\0"]
    values: list[Any] = [*NUMBERS, *WORDS]
    if isinstance(inner, parameter_types.MoveCount):
        values.remove(2**31 - 1)  # this number of moves is made until the call is interrupted
    if isinstance(inner, parameter_types.Interval):
        values = [[low, 90] for low in values] + [[1, "x"]]
    if isinstance(inner, parameter_types.Integers):
        values = [[value] for value in values]
    return [{column: value} for value in values for column in ("age", "sex")] if kind is not inner else values


def call_arguments(function: TableFunction, parameter: Parameter, value: Any) -> dict[str, Any]:
    """Return the arguments of a call that tests one parameter."""
    names = {p.name for p in function.parameters}
    alone: dict[str, Any] = {"k": 2, "delta": 20, "order_by": ["age"]}
    arguments = {p.name: alone.get(p.name, [10]) for p in function.parameters if p.required and p.name != "kind"}
    arguments |= {"kind": "minimality"} if "kind" in names else {}
    arguments |= {"source": "ten"} if "source" in names else {}
    arguments |= {"qi": ["age", "sex"]} if "qi" in names else {}
    arguments |= {"sensitive": ["d"]} if "sensitive" in names else {}
    return arguments | {parameter.name: value}


@pytest.mark.parametrize(("function", "parameter"), numeric_parameters(), ids=lambda of: of.name)
def test_extreme_parameter_values_end_within_time_limit(
    ten_rows_con: Any, function: TableFunction, parameter: Parameter
) -> None:
    positional = [
        {"tbl": "ten", "release": "ten", "source": "ten", "col": "age"}.get(p, "h") for p in function.positional
    ]
    began = time.process_time()
    for value in extremes(parameter):
        arguments = call_arguments(function, parameter, value)
        try:
            parameters.validate_parameters(function.name, function.parameters, arguments)
        except errors.InvalidArgumentError as error:
            assert parameter.name in str(error)
            assert len(str(error)) < 500
            continue
        call = ", ".join([*("?" for _ in positional), *(f"{name} := ?" for name in arguments)])
        try:
            ten_rows_con.execute(f"FROM {function.name}({call})", [*positional, *arguments.values()]).fetchall()
        except duckdb.Error as error:
            assert is_dbanon_error(error), (value, str(error))
    assert time.process_time() - began < SECONDS


def is_dbanon_error(error: duckdb.Error) -> bool:
    """Return whether dbanon raised an error: DuckDB reports it as an invalid input, and nothing else as one."""
    text = str(error)
    return text.startswith("Invalid Input Error: ") and "Python exception" not in text and "Error: " not in text[21:]


def test_view_calling_same_function_refused_as_source(ten_rows_con: Any) -> None:
    release_query = "FROM {}('ten', k = 2, qi = ['age'], insensitive = ['sex'])"
    ten_rows_con.execute(f"CREATE OR REPLACE VIEW over AS SELECT * {release_query.format('kacpc')}")
    ten_rows_con.execute(
        "CREATE OR REPLACE VIEW over_view AS FROM ten WHERE age::VARCHAR NOT IN (SELECT o.age FROM main.over AS o)"
    )
    ten_rows_con.execute(f"CREATE OR REPLACE MACRO made() AS TABLE SELECT * {release_query.format('kacpc')}")
    ten_rows_con.execute("CREATE OR REPLACE VIEW over_macro AS SELECT * FROM made()")
    for view in ("over", "over_view", "over_macro"):
        with pytest.raises(duckdb.Error, match=f"the view {view} calls kacpc, directly or through"):
            ten_rows_con.execute(f"FROM kacpc('{view}', k = 5, qi = ['sex'])")
        assert ten_rows_con.execute(f"FROM mondrian('{view}', k = 5, qi = ['sex'])").fetchall()


def test_view_mentioning_function_is_valid_source(ten_rows_con: Any) -> None:
    ten_rows_con.execute("CREATE OR REPLACE VIEW speaks AS SELECT *, 'made by kacpc(' AS how FROM ten")
    assert ten_rows_con.execute("FROM kacpc('speaks', k = 5, qi = ['sex'])").fetchall()


def test_suggested_name_is_quoted_if_needed(ten_rows_con: Any) -> None:
    ten_rows_con.execute('CREATE OR REPLACE TABLE "a.b" AS FROM ten')
    with pytest.raises(duckdb.Error, match=re.escape("""Did you mean '"a.b"'?""")):
        ten_rows_con.execute("FROM kacpc('a.b', k = 5, qi = ['sex'])")
    assert ten_rows_con.execute("""FROM kacpc('"a.b"', k = 5, qi = ['sex'])""").fetchall()
