"""Advice after a release: which column costs most, what withholding it gains, and when to ask for l."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from dbanon import errors
from dbanon.cli.terminal.common import query_rows
from dbanon.sqltext.quote import Sql, argument, identifier, join_sql, text

MIN_GENERALIZED_SHARE = 0.9
"""Minimum share of fully generalized records for a quasi-identifier to be counted as lost."""

MIN_HOMOGENEOUS_SHARE = 0.1
"""Minimum share of records in classes with one sensitive value for l to be suggested."""

MAX_RELEASE_S = 30
"""Maximum seconds that a release took for another one to be tried without a column."""

_METRIC = "fully_generalized:"


@dataclass(frozen=True)
class AnonymizeCall:
    """A call that was released.

    Attributes:
        algorithm: The algorithm.
        table: The table.
        parameters: All parameters of the call.
        named: The columns that the option --qi names.
    """

    algorithm: str
    table: str
    parameters: Mapping[str, Any]
    named: Sequence[str] = ()

    def withhold_hint(self, column: str) -> str:
        """Return a hint with the option that withholds a column."""
        if column.lower() in (name.lower() for name in self.named):
            return f"Hint: omit {shlex.join(['--qi', column])}."
        value = argument([column]) if "," in column else column  # -p divides other text at its commas
        return f"Hint: {shlex.join(['-p', f'withhold={value}'])} withholds it."

    def metrics_without(self, column: str) -> Sql:
        """Return the query for the metrics of the same call, in which a column is withheld."""
        parameters: dict[str, Any] = {name: _without(value, column) for name, value in self.parameters.items()}
        withheld = parameters.get("withhold") or []
        parameters["withhold"] = [*([withheld] if isinstance(withheld, str) else withheld), column]
        arguments = [text(self.table), *(Sql(f"{identifier(n)} := {argument(v)}") for n, v in parameters.items())]
        return Sql(f"SELECT metric, value FROM {identifier(f'{self.algorithm}_metrics')}({join_sql(arguments)})")


def _without(value: object, column: str) -> object:
    """Return the value of a parameter without what it says of a column."""
    if isinstance(value, Mapping):
        return {name: setting for name, setting in value.items() if str(name).lower() != column.lower()}
    if isinstance(value, (list, tuple)):
        return [entry for entry in value if not isinstance(entry, str) or entry.lower() != column.lower()]
    return value


def precision_text(metrics: Mapping[str, float], n_withheld: int) -> str:
    """Return the precision as text, with the number of columns that it is about and of those that are withheld.

    >>> precision_text({"precision": 0.5, "fully_generalized:age": 0.0}, 9)
    'precision 0.5000 of the 1 generalized column; 9 columns withheld'
    """
    generalized = _columns(sum(name.startswith(_METRIC) for name in metrics), "generalized column")
    withheld = f"; {_columns(n_withheld, 'column')} withheld" if n_withheld else ""
    return f"precision {metrics['precision']:.4f} of the {generalized}{withheld}"


def _columns(count: int, noun: str) -> str:
    """Return a number of columns in words."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def release_advice(
    connection: Any,
    call: AnonymizeCall,
    metrics: Mapping[str, float],
    elapsed_s: float,
    on_trial: Callable[[str], object],
) -> list[str]:
    """Return sentences on what would lose less or protect more than a release; arguments as `withholding_advice`."""
    return [*withholding_advice(connection, call, metrics, elapsed_s, on_trial), *homogeneity_advice(metrics)]


def homogeneity_advice(metrics: Mapping[str, float]) -> list[str]:
    """Return a list with one sentence if many records are in classes that all have one sensitive value; else []."""
    share = metrics.get("homogeneous_share") or 0
    if share < MIN_HOMOGENEOUS_SHARE:
        return []
    return [
        f"{100 * share:.0f} % of the records are in classes whose records all have the same sensitive value, so k "
        "does not protect it. Hint: -l 2 requires two values in every class."
    ]


def withholding_advice(
    connection: Any,
    call: AnonymizeCall,
    metrics: Mapping[str, float],
    elapsed_s: float,
    on_trial: Callable[[str], object],
) -> list[str]:
    """Return a list with one sentence on the column that costs most, if several are lost; else an empty list.

    The column is that with most values among the lost ones. What withholding it gains is found by another release,
    which is not stored; it is not tried if the release took more than MAX_RELEASE_S.

    Args:
        connection: A connection of `dbanon.connect` in which the table is.
        call: The call of the release.
        metrics: Its metrics.
        elapsed_s: The seconds that it took.
        on_trial: Is called with the name of the step before another release is tried.
    """
    shares = {name.removeprefix(_METRIC): share for name, share in metrics.items() if name.startswith(_METRIC)}
    lost = [column for column, share in shares.items() if share >= MIN_GENERALIZED_SHARE]
    if len(lost) < 2:
        return []
    n_values, column = max(_value_counts(connection, call.table, lost))
    advice = (
        f"{len(lost)} of {len(shares)} quasi-identifiers are published as * or the whole range for "
        f"{100 * MIN_GENERALIZED_SHARE:.0f} % of the records or more. {column} has most values ({n_values:,})"
    )
    hint = call.withhold_hint(column)
    if elapsed_s > MAX_RELEASE_S:
        return [f"{advice}, so that it probably costs most. {hint}"]
    on_trial(f"Trying without {column}")
    try:
        rows = query_rows(connection, call.metrics_without(column))
    except (errors.DbanonError, duckdb.Error) as error:
        if isinstance(error, duckdb.InterruptException):
            raise
        return [f"{advice}, so that it probably costs most. {hint}"]
    gained = {row["metric"]: row["value"] for row in rows}
    if gained["precision"] <= metrics["precision"]:
        return []
    kept = [other for other in lost if other != column and gained.get(f"{_METRIC}{other}", 1.0) < MIN_GENERALIZED_SHARE]
    return [
        f"{advice}: without it, precision is {gained['precision']:.4f} instead of {metrics['precision']:.4f}"
        + (f", and {', '.join(kept)} would be kept" if kept else "")
        + f". {hint}"
    ]


def _value_counts(connection: Any, table: str, columns: Sequence[str]) -> list[tuple[int, str]]:
    """Return how many distinct values each column has, with the column."""
    counts = join_sql(f"system.main.count(DISTINCT {identifier(column)})" for column in columns)
    (row,) = connection.duckdb_connection.execute(f"SELECT {counts} FROM {table}").fetchall()
    return list(zip(map(int, row), columns, strict=True))
