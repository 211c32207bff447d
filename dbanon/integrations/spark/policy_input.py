"""A call on a DataFrame: its columns, parameters and policy as values that every process of Spark understands."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from dbanon import errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.integrations.spark.given_policy import PolicySource, given_policy
from dbanon.integrations.spark.session_call import Asked
from dbanon.release import search_budget
from dbanon.sqltext.names import fold_case
from dbanon.table_functions import parameters
from dbanon.table_functions.registry import check_algorithm, table_functions
from dbanon.table_functions.table_function import KIND_BY_ENDING


@dataclass(frozen=True)
class FrameCall:
    """A call of a function on a DataFrame.

    `kind` is release, classes or metrics. `table_columns` are the folded names of the columns of the table that the
    policy is about; None where it was written for this DataFrame alone.
    """

    asked: Asked
    kind: str
    table_columns: frozenset[str] | None


def frame_call(df: DataFrame, function: str, source: PolicySource, given: Mapping[str, Any]) -> FrameCall:
    """Return the call of a function on a DataFrame.

    Raises SparkSessionMissingError, NotSupportedOnSparkError, UnknownAlgorithmError, UnknownParameterError,
    InvalidArgumentError, and what `given_policy` raises.
    """
    if not type(df).__module__.startswith("pyspark.sql.") or "connect" in type(df).__module__:
        raise errors.SparkSessionMissingError("anonymize", f"a {type(df).__module__}.{type(df).__qualname__}")
    called, kind = _function(function)
    known = [p.name for p in table_functions()[called].parameters]
    for parameter in given:
        if parameter not in known:
            raise errors.UnknownParameterError("anonymize", parameter, known)
    if search_budget.time_limit_s("anonymize", given) is not None:
        raise errors.NotSupportedOnSparkError(called, f"improve = {given['improve']!r}, which ends when time is up,")
    named = json.loads(json.dumps(dict(given), default=str))
    columns = _columns(df)
    policy = given_policy(source, columns)
    if policy.by_column:
        named["hierarchies"] = _all_hierarchies(called, policy.by_column, named.get("hierarchies"))
    zone = str(df.sparkSession.conf.get("spark.sql.session.timeZone"))
    asked = Asked(called, source.shown, columns, policy.policy, policy.hierarchy, named, zone)
    return FrameCall(asked, kind, policy.table_columns)


def _all_hierarchies(function: str, installed: Mapping[str, str], called: Any) -> dict[str, Any]:
    """Return the hierarchies of a session by column with those of a call, which must not replace one of them."""
    if called is not None and not isinstance(called, Mapping):
        raise errors.InvalidArgumentError(function, "hierarchies", "names of hierarchies by column", repr(called))
    before = set(map(fold_case, installed))
    for column in called or {}:
        if fold_case(column) in before:
            accepts = "hierarchies of columns that have none in dbanon.spark.install"
            raise errors.InvalidArgumentError(function, "hierarchies", accepts, column)
    return {**installed, **(called or {})}


def checked_cell(function: str, cell: object) -> int | None:
    """Return the parameter `cell`; InvalidArgumentError."""
    known = tuple(parameter for parameter in COMMON if parameter.name == "cell")
    found = parameters.validate_parameters(function, known, {"cell": cell})["cell"]
    return None if found is None else int(str(found))


def _function(function: str) -> tuple[str, str]:
    for ending, kind in sorted(KIND_BY_ENDING.items(), reverse=True):
        base = function.removesuffix(ending)
        if ending and base != function and base in table_functions():
            return base, kind
    check_algorithm("anonymize", function)
    return function, "release"


def _columns(df: DataFrame) -> pa.Table:
    """Return an empty table of the columns; ColumnsDifferOnlyByCaseError where DuckDB could not tell them apart."""
    names = [fold_case(name) for name in df.columns]
    for name in df.columns:
        if names.count(fold_case(name)) > 1:
            raise errors.ColumnsDifferOnlyByCaseError("anonymize", name)
    return to_arrow_schema(df.schema).empty_table()
