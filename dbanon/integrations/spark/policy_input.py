"""A call on a DataFrame: its columns, parameters and policy as values that every executor of Spark can read."""

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
from dbanon.integrations.spark.session_call import PortableCall
from dbanon.release import search_budget
from dbanon.sqltext.names import fold_case
from dbanon.table_functions import parameters
from dbanon.table_functions.registry import check_algorithm, table_functions
from dbanon.table_functions.table_function import KIND_BY_ENDING


@dataclass(frozen=True)
class SparkCall:
    """A validated call of a function on a DataFrame.

    Attributes:
        call: The call as values that can be sent to executors.
        kind: The result that is wanted: release, classes or metrics.
        table_columns: The folded names of the columns of the policy's table; None if the policy was written for this
            DataFrame alone.
    """

    call: PortableCall
    kind: str
    table_columns: frozenset[str] | None


def prepare_call(df: DataFrame, function: str, source: PolicySource, arguments: Mapping[str, Any]) -> SparkCall:
    """Validate a call on a DataFrame and return it with its policy and hierarchies.

    Args:
        df: The DataFrame.
        function: The name of the table function.
        source: The policy, the name of its table, and the hierarchies.
        arguments: Parameters of the table function.

    Raises:
        SparkSessionMissingError: `df` is not a DataFrame of Spark, or one of Spark Connect.
        NotSupportedOnSparkError: A parameter is not available on Spark.
        UnknownAlgorithmError: The function does not exist.
        UnknownParameterError: A parameter does not exist.
        InvalidArgumentError: A parameter is invalid.
        DbanonError: Whatever `given_policy` raises.
    """
    if not type(df).__module__.startswith("pyspark.sql.") or "connect" in type(df).__module__:
        raise errors.SparkSessionMissingError("anonymize", f"a {type(df).__module__}.{type(df).__qualname__}")
    function_name, kind = _split_function_name(function)
    parameters.check_parameter_names("anonymize", table_functions()[function_name].parameters, arguments)
    if search_budget.time_limit_s("anonymize", arguments) is not None:
        raise errors.NotSupportedOnSparkError(
            function_name, f"improve = {arguments['improve']!r}, which stops at a time limit,"
        )
    parameters_ = json.loads(json.dumps(dict(arguments), default=str))
    columns = _empty_table(df)
    policy = given_policy(source, columns)
    if policy.by_column:
        parameters_["hierarchies"] = _merge_hierarchies(function_name, policy.by_column, parameters_.get("hierarchies"))
    zone = str(df.sparkSession.conf.get("spark.sql.session.timeZone"))
    call = PortableCall(function_name, source.display_name, columns, policy.policy, policy.hierarchy, parameters_, zone)
    return SparkCall(call, kind, policy.table_columns)


def _merge_hierarchies(function: str, installed: Mapping[str, str], call_hierarchies: Any) -> dict[str, Any]:
    """Return the names of hierarchies by column: those of the session's policy (`installed`) and those of the call.

    Raises:
        InvalidArgumentError: Those of the call are no mapping, or name a column of `installed`.
    """
    if call_hierarchies is not None and not isinstance(call_hierarchies, Mapping):
        raise errors.InvalidArgumentError(
            function, "hierarchies", "names of hierarchies by column", repr(call_hierarchies)
        )
    installed_columns = set(map(fold_case, installed))
    for column in call_hierarchies or {}:
        if fold_case(column) in installed_columns:
            accepts = "hierarchies of columns that have none in dbanon.spark.install"
            raise errors.InvalidArgumentError(function, "hierarchies", accepts, column)
    return {**installed, **(call_hierarchies or {})}


def validate_max_partition(function: str, max_partition: object) -> int | None:
    """Return the argument `max_partition` as an integer; None if it is not given.

    Raises:
        InvalidArgumentError: It is invalid.
    """
    accepted = tuple(parameter for parameter in COMMON if parameter.name == "max_partition")
    value = parameters.validate_parameters(function, accepted, {"max_partition": max_partition})["max_partition"]
    return None if value is None else int(str(value))


def _split_function_name(function: str) -> tuple[str, str]:
    """Split the name of a table function into the algorithm and the kind of result: release, classes or metrics.

    An unknown algorithm, or one for streams, raises the error of `check_algorithm`.
    """
    for ending, kind in sorted(KIND_BY_ENDING.items(), reverse=True):
        base = function.removesuffix(ending)
        if ending and base != function and base in table_functions():
            return base, kind
    check_algorithm("anonymize", function)
    return function, "release"


def _empty_table(df: DataFrame) -> pa.Table:
    """Return an Arrow table without rows that has the columns of a DataFrame.

    Raises:
        ColumnsDifferOnlyByCaseError: DuckDB could not distinguish two columns.
    """
    names = [fold_case(name) for name in df.columns]
    for name in df.columns:
        if names.count(fold_case(name)) > 1:
            raise errors.ColumnsDifferOnlyByCaseError("anonymize", name)
    return to_arrow_schema(df.schema).empty_table()
