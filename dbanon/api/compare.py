"""Call `compare` and `tradeoffs` from Python, and resume comparisons that were interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from dbanon import algorithms, errors
from dbanon.algorithms import streams
from dbanon.api.audit import is_connection, query_table_function
from dbanon.audit.comparison.compare import named_algorithms
from dbanon.runtime import session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, argument, literal, qualified, text
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameters import validate_parameters
from dbanon.table_functions.registry import table_functions

if TYPE_CHECKING:
    import pandas as pd

VARIED_PARAMETERS = ("algorithms", "k", "n_quasi_identifiers", "sample_sizes")
"""Parameters of which a comparison has several values; more values can be added to an existing table."""

_STREAM_PARAMETERS = (streams.DELTA.name, streams.ORDER_BY.name)
"""Parameters that have no effect if only algorithms for tables are compared."""

_VARIED_COLUMNS = ("algorithm", "k", "n_quasi_identifiers", "sample_size")
"""The columns of the result that have the values of VARIED_PARAMETERS."""

_RESULT_NEUTRAL_PARAMETERS = ("allow_slow",)
"""Parameters that change no result."""


def compare(data: Any, table: str | None = None, *, into: str | None = None, **parameters: Any) -> pd.DataFrame:
    """Return the table function `compare` as a DataFrame: the loss and risk of algorithms, one row per run and metric.

    With `into`, each run is added to a table when it is complete, and runs that the table already contains are skipped.
    So an interrupted comparison can be resumed, and other values of `algorithms`, `k`, `n_quasi_identifiers` and
    `sample_sizes` can be added.

    Args:
        data: A connection; or data as in `anonymize`. With `into` it must be a connection.
        table: The name of a table, if `data` is a connection.
        into: The name of a table of the connection's database that stores the rows; created if it does not exist.
        parameters: Parameters of the table function.

    Returns:
        A DataFrame with the columns of the table function; with `into`, all rows of that table.

    Raises:
        UnknownParameterError: The table function has no such parameter.
        MissingArgumentError: `table` is missing, and `data` is a connection or `into` is given.
        InvalidArgumentError: `into` is no name of a table, or is given and `data` is no connection.
        ComparisonTableMismatchError: `into` is a table of another comparison.
        DbanonError: The table function raises it.

    Examples:
        >>> import pandas as pd
        >>> import dbanon
        >>> people = pd.DataFrame({"age": [21, 23, 24, 61, 65, 68]})
        >>> dbanon.compare(people, k=[2, 3], algorithms="mdav", metrics="classes", qi=["age"])["mean"].tolist()
        [3.0, 2.0]
    """
    if into is None:
        return query_table_function("compare", data, table, parameters)
    if not is_connection(data):
        raise errors.InvalidArgumentError(
            "compare",
            "data",
            "a connection if into names a table of its database: con = dbanon.connect('comparison.duckdb'), "
            "con.register('data', data), compare(con, 'data', into='...')",
            f"a {type(data).__name__}",
        )
    if table is None:
        raise errors.MissingArgumentError(
            "compare", "tbl", "the name of a table, because into is given", "compare(con, 'patients')"
        )
    session.find_session(session.plain_connection(data))  # attaches a cursor
    comparison = _ResumableComparison(data, table, into, parameters)
    comparison.create_table()
    for combination in comparison.missing_combinations():
        comparison.run(combination)
    return comparison.rows()


def tradeoffs(data: Any, table: str | None = None, **parameters: Any) -> pd.DataFrame:
    """Return the table function `tradeoffs` as a DataFrame: one row per configuration, with its loss and risk.

    Args:
        data: A connection; or data as in `anonymize`.
        table: The name of a table, if `data` is a connection.
        parameters: Parameters of the table function.

    Returns:
        A DataFrame with the columns of the table function.

    Raises:
        UnknownParameterError: The table function has no such parameter.
        MissingArgumentError: `data` is a connection and `table` is missing.
        DbanonError: The table function raises it.

    Examples:
        >>> import pandas as pd
        >>> import dbanon
        >>> people = pd.DataFrame({"age": [21, 23, 24, 61, 65, 68]})
        >>> dbanon.tradeoffs(people, k=[2, 3], qi=["age"], queries=0)["risk_highest"].round(3).tolist()
        [0.333, 0.333]
    """
    return query_table_function("tradeoffs", data, table, parameters)


class _ResumableComparison:
    """A comparison of algorithms whose rows are stored in the table `into`, so that it can be continued later.

    A comment on the table `into` identifies the comparison: it has the name of the compared table and the parameters
    that are not varied and not at their defaults (without `allow_slow`, which changes no result).
    """

    def __init__(self, con: Any, table: str, into: str, parameters: Mapping[str, Any]) -> None:
        """Validate the parameters of `compare`; nothing runs yet.

        Args:
            con: The connection that runs the comparison and has the table `into`.
            table: The name of the table to anonymize.
            into: The name of the table that stores the rows.
            parameters: Parameters of the table function `compare`.

        Raises:
            InvalidArgumentError: `into` is no name of a table, or a parameter is invalid.
            UnknownParameterError: `compare` has no such parameter.
        """
        declared = table_functions()["compare"].parameters
        defaults = {p.name: p.default for p in declared}
        self._con, self._table, self._into = con, table, into
        self._options = Options(validate_parameters("compare", declared, parameters))
        self._fixed = {
            name: value
            for name, value in self._options.items()
            if name not in VARIED_PARAMETERS and value != defaults[name]
        }
        parts = names.table_parts(into)
        if parts is None:
            raise errors.InvalidArgumentError("compare", "into", "a table's name", repr(into))
        self._parts = parts
        self._name = qualified(*parts)
        settings = {name: value for name, value in self._fixed.items() if name not in _RESULT_NEUTRAL_PARAMETERS}
        self._comment = json.dumps({"compare": table, "with": settings}, sort_keys=True, default=str)

    def create_table(self) -> None:
        """Create the table `into`, without rows, and its comment if it does not exist; else compare the comment.

        Raises:
            ComparisonTableMismatchError: The table exists, and its comment is not that of this comparison.
        """
        cursor = self._con.cursor()
        path = catalog.SearchPath.from_connection(self._con)
        existing = catalog.find_stored("compare", cursor, self._into, self._parts, path)
        if existing is None:
            first = self._call(next(self._combinations()))
            self._con.execute(f"CREATE TABLE {self._name} AS FROM {first} WITH NO DATA")
            self._con.execute(f"COMMENT ON TABLE {self._name} IS {text(self._comment)}")
            return
        rows = cursor.execute(
            "SELECT comment FROM system.main.duckdb_tables() "
            "WHERE database_name = ? AND schema_name = ? AND table_name = ?",
            list(existing),
        ).fetchall()
        comment = rows[0][0] if rows else None
        if comment != self._comment:
            raise errors.ComparisonTableMismatchError(self._into, _describe_comment(comment))

    def missing_combinations(self) -> list[dict[str, Any]]:
        """Return the combinations of the varied parameters that have no successful row (`problem` NULL) in the table.

        Combinations that were refused earlier are included. The order is that of `_combinations`.
        """
        query = f"SELECT DISTINCT {', '.join(_VARIED_COLUMNS)} FROM {self._name} WHERE problem IS NULL"
        done = set(self._con.execute(query).fetchall())
        return [c for c in self._combinations() if tuple(c[axis] for axis in VARIED_PARAMETERS) not in done]

    def run(self, combination: Mapping[str, Any]) -> None:
        """Run `compare` for one combination of the varied parameters and insert the rows into the stored table.

        Rows with a `problem`, from an earlier run of the combination that was refused, are deleted first.

        Args:
            combination: One value for each name in VARIED_PARAMETERS.
        """
        condition = " AND ".join(
            f"{column} IS NOT DISTINCT FROM {literal(combination[axis])}"
            for column, axis in zip(_VARIED_COLUMNS, VARIED_PARAMETERS, strict=True)
        )
        self._con.execute(f"DELETE FROM {self._name} WHERE problem IS NOT NULL AND {condition}")
        self._con.execute(f"INSERT INTO {self._name} FROM {self._call(combination)}")

    def rows(self) -> pd.DataFrame:
        """Return all rows of the stored table `into` as a DataFrame."""
        frame: pd.DataFrame = self._con.execute(f"FROM {self._name}").df()
        return frame

    @cached_property
    def _quasi_counts(self) -> Sequence[int]:
        """The counts of quasi-identifiers to compare with, such as [2, 3, 4]: the parameter `n_quasi_identifiers`.

        Without the parameter it is only the number of all quasi-identifiers. Found once, by planning the comparison
        without running it.
        """
        planned = self._call({axis: self._options[axis] for axis in VARIED_PARAMETERS})
        self._con.execute(f"EXPLAIN FROM {planned}").fetchall()
        return session.find_session(session.plain_connection(self._con)).quasi_counts

    def _combinations(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the varied parameters, as arguments of one run of `compare` by parameter name.

        The number of quasi-identifiers varies slowest, then sample size, algorithm and k. Each combination has one
        value per parameter; the sample size is None for all rows.
        """
        options = self._options
        axes = (
            self._quasi_counts,
            options["sample_sizes"] or (None,),
            [a.name for a in named_algorithms("compare", options)],
            options["k"],
        )
        for d, rows, algorithm, k in product(*axes):
            yield {"algorithms": algorithm, "k": k, "n_quasi_identifiers": d, "sample_sizes": rows}

    def _call(self, combination: Mapping[str, Any]) -> Sql:
        """Return the SQL call of `compare` for one combination and the fixed parameters, without FROM.

        `combination` maps the varied parameters to values; None values are omitted. Parameters that only stream
        algorithms have are omitted if all algorithms of the combination are for tables.
        """
        names = combination["algorithms"]
        table_algorithms = {a.name for a in algorithms.algorithms()}
        is_for_tables = table_algorithms.issuperset([names] if isinstance(names, str) else names)
        arguments = {n: v for n, v in self._fixed.items() if not (is_for_tables and n in _STREAM_PARAMETERS)}
        arguments |= {n: v for n, v in combination.items() if v is not None}
        argument_list = "".join(f", {name} := {argument(value)}" for name, value in arguments.items())
        return Sql(f"compare({text(self._table)}{argument_list})")


def _describe_comment(comment: str | None) -> str:
    """Describe, for an error, the call of `compare` that a table's comment records.

    "something else" if it records none.
    """
    try:
        settings = json.loads(comment or "")
        table, parameters = (
            settings["compare"],
            "".join(f", {name} = {value!r}" for name, value in settings["with"].items()),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return "something else"
    return f"compare({table!r}{parameters})"
