"""Anonymize a frame without a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dbanon import errors
from dbanon.api import (
    duckdb_relations,
    frame_adapters,
    frame_columns,
    frame_errors,
)
from dbanon.api.connection import connect, raise_keyboard_interrupt
from dbanon.api.frame_adapters import FrameAdapter
from dbanon.policy.hierarchies.store import load_hierarchy
from dbanon.release import search_budget
from dbanon.release.summary import SHOWN_ROWS, ReleaseSummary
from dbanon.runtime import input_files, interrupts, session
from dbanon.runtime.progress import report_progress
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.parameters import check_parameter_names
from dbanon.table_functions.registry import check_algorithm, table_functions
from dbanon.table_functions.table_function import KIND_BY_ENDING
from dbanon.views import warnings
from dbanon.views.step_tables import common_steps_computed

if TYPE_CHECKING:
    import pyarrow as pa


class _Frames(NamedTuple):
    """The three frames that `anonymize` returns."""

    release: Any
    classes: Any
    metrics: Any


class Anonymized(_Frames):
    """The result of `anonymize`: the frames `release`, `classes` and `metrics`, of the same kind as the data.

    On a terminal and in a notebook it displays the first rows of the release, quasi-identifiers first, and five
    metrics.

    Attributes:
        parameters: The algorithm and the parameters of the call.
        moves: The number of moves of a search with a time limit; None without one.
        summary: The summary that is displayed; None if there is none.
    """

    parameters: Mapping[str, Any] = MappingProxyType({})
    moves: int | None = None
    summary: ReleaseSummary | None = None

    def __repr__(self) -> str:
        """Return the summary as text."""
        return self.summary.text() if self.summary is not None else super().__repr__()

    def _repr_html_(self) -> str | None:
        """Return the summary as HTML for notebooks; None without a summary."""
        return self.summary.html() if self.summary is not None else None


def anonymize(
    data: Any,
    algorithm: str = "best",
    *,
    progress: Callable[[float, float], None] | None = None,
    **parameters: Any,
) -> Anonymized:
    """Return the release, classes and metrics of data, as frames of the same kind as the data.

    The records are clustered once. A relation of DuckDB, a query plan or a stream of rows is read once; a relation
    returns relations on its own connection. The index of a pandas DataFrame is not a column. For a table of a database
    use `dbanon.connect(path)` and the table functions.

    Args:
        data: A DataFrame of pandas or polars, an Arrow table, a relation of DuckDB, a table of ibis, or another object
            with an Arrow C stream. A text or a path names a file, as in the table functions, and returns pandas
            DataFrames.
        algorithm: The name of the algorithm; by default the one with the least loss.
        progress: Called as `progress(fraction_done, loss_removed)`: the fraction of the search that is done, and of the
            loss that has been removed.
        parameters: Parameters of the table function, as Python values. A column of a pandas DataFrame whose name is no
            text, such as 0, can be given as it is. A hierarchy is the name of a shipped one, the
            text of an ARX file, or rows from the leaf to the root: `hierarchies={"zip": [["02138", "021**", "*"],
            ...]}`. With `improve="5s"` classes are improved for that time (Ctrl-C returns the best so far); `moves` of
            the result is the number of moves, and `improve` with that number returns the same release.

    Returns:
        The release, its classes and its metrics.

    Raises:
        UnknownAlgorithmError: There is no such algorithm.
        UnknownParameterError: The algorithm has no such parameter.
        UnsupportedInputError: The data is of no kind that can be read.
        DbanonError: The table function raises it.

    Examples:
        >>> import pandas as pd
        >>> import dbanon
        >>> people = pd.DataFrame({"age": [21, 23, 61, 65]})
        >>> dbanon.anonymize(people, "mdav", k=2, qi=["age"]).classes["size"].tolist()
        [2, 2]
    """
    check_algorithm("anonymize", algorithm)
    declared = table_functions()[algorithm].parameters
    check_parameter_names("anonymize", declared, parameters)
    parameters = frame_columns.text_names(data, parameters, declared)
    with connect() as con, frame_errors.speak_of_frames():
        arguments = dict(parameters)
        if isinstance(hierarchies := arguments.get("hierarchies"), Mapping):
            arguments["hierarchies"] = store_hierarchies(con, hierarchies)
        adapter, source = _adapt_and_register(con, data, "anonymize", frame_columns.frame_name(data))
        call = FrameCall(algorithm, source, arguments)
        max_seconds = search_budget.time_limit_s("anonymize", arguments)
        current = session.find_session(con.duckdb_connection)
        with report_progress(current, progress):
            if max_seconds is not None:
                with interrupts.timed_search(current, max_seconds) as search:
                    untimed = FrameCall(algorithm, source, search_budget.replace_time_limit("anonymize", arguments))
                    untimed.rows(con, "_metrics")
                call = FrameCall(
                    algorithm, source, search_budget.replace_time_limit("anonymize", arguments, search.moves)
                )
            anonymized = run_call(con, call, adapter, parameters, is_private=True)
        if isinstance(person := arguments.get("person"), str):
            warnings.warn_of_spellings(con, source, "the data", person)
        if max_seconds is not None:
            anonymized.moves = call.arguments["improve"]
            if hasattr(anonymized.metrics, "attrs"):
                anonymized.metrics.attrs["improve"] = anonymized.moves
        return anonymized


@dataclass(frozen=True)
class FrameCall:
    """A call of an algorithm: its name, its source, and its other arguments as Python values.

    `source` is a SQL string literal with the name of a table or the path of a file.
    """

    algorithm: str
    source: Sql
    arguments: Mapping[str, Any]

    def rows(self, con: Any, suffix: str) -> pa.Table:
        """Run the algorithm's table function with this name ending and return its rows as an Arrow table.

        `suffix` is "" (the release), "_classes" or "_metrics".
        """
        with con.redact_errors():
            return self._relation(con, "SELECT *", suffix).to_arrow_table()

    def shared_rows(self, con: Any) -> list[pa.Table]:
        """Return the release, its classes and its metrics as Arrow tables; the source is read and clustered once.

        `con` is a connection that only this process uses: the steps that the three have in common are temporary tables.
        """
        connection = con.duckdb_connection
        planned: dict[str, str] = {}
        with session.find_session(connection).recorded.filling(kinds=planned):
            self._relation(con, "SELECT 1", "")  # is planned, and not run
        statements = {kind: qualify_builtins(statement) for kind, statement in planned.items()}
        if not statements:  # of related tables
            return [self.rows(con, ending) for ending in KIND_BY_ENDING]
        with con.redact_errors(), raise_keyboard_interrupt(), common_steps_computed(connection, statements) as steps:
            return [connection.sql(steps[kind]).to_arrow_table() for kind in KIND_BY_ENDING.values()]

    def _relation(self, con: Any, select: str, suffix: str) -> Any:
        """Return a relation that reads the algorithm's table function with this name ending; it is not run."""
        arguments = "".join(f", {name} := ${name}" for name in self.arguments)
        query = f"{select} FROM {self.algorithm}{suffix}({self.source}{arguments})"
        with con.redact_errors():
            return con.sql(query, **({"params": dict(self.arguments)} if self.arguments else {}))


def run_call(
    con: Any, call: FrameCall, adapter: FrameAdapter, parameters: Mapping[str, Any], *, is_private: bool = False
) -> Anonymized:
    """Run a call and return its release, classes and metrics as frames that `adapter` makes.

    Warn if there is only one class. Unless the call adds noise, the release is checked against its classes.

    Args:
        con: The connection that runs the call.
        call: The call, with the arguments that are passed to the table functions.
        adapter: The adapter of the source, which determines the kind of the frames.
        parameters: The parameters as the user gave them, stored in the result.
        is_private: Whether only this process uses the connection.

    Raises:
        OutputDiffersError: Classes and release do not agree.
    """
    tables = call.shared_rows(con) if is_private else [call.rows(con, ending) for ending in KIND_BY_ENDING]
    release, classes, metrics = (frame_adapters.normalize_types(table, adapter.schema) for table in tables)
    metric_rows = tuple(zip(*(metrics[name].to_pylist() for name in ("metric", "value", "description")), strict=True))
    warnings.warn_of_one_class("the release", {name: value for name, value, _ in metric_rows})
    anonymized = Anonymized(adapter.make_release(release), adapter.make_table(classes), adapter.make_table(metrics))
    if not call.arguments.get("noise"):
        _check_frames("anonymize", release, classes, anonymized.release)
    anonymized.parameters = MappingProxyType({"algorithm": call.algorithm, **parameters})
    anonymized.summary = _summarize(release, classes, metric_rows, parameters.get("sensitive") or ())
    return anonymized


def _check_frames(function: str, release: pa.Table, classes: pa.Table, frame: Any) -> None:
    """Compare the release with its classes, and the returned frame with the release; raise an error if they differ.

    Args:
        function: The name of the function that was called.
        release: The released rows; their class is in the last column.
        classes: One row per class, with its number and size in the first two columns.
        frame: The released rows as they are returned.

    Raises:
        OutputDiffersError: Classes have other sizes, rows are in another order, or the frame has other rows.

    O(rows) time.
    """
    class_id, size = release.column_names[-1], classes.column_names[1]
    expected_counts = dict(zip(classes[0].to_pylist(), classes[size].to_pylist(), strict=True))
    expected_counts.pop(None, None)  # records that were suppressed
    counts = release.group_by(class_id).aggregate([([], "count_all")])
    counts_by_class = dict(zip(counts[class_id].to_pylist(), counts["count_all"].to_pylist(), strict=True))
    if counts_by_class != expected_counts:
        raise errors.OutputDiffersError(function, "the release", "its classes have other sizes")
    numbers = release[class_id].to_numpy()
    if len(numbers) and (numbers[1:] < numbers[:-1]).any():
        raise errors.OutputDiffersError(function, "the release", "its rows are not in the order of their classes")
    shape = getattr(frame, "shape", None)  # plans and streams of rows have none
    if isinstance(shape, tuple) and shape[0] != len(release):
        difference = f"it has {shape[0]} {plural_form(shape[0], 'row', 'rows')}, and the release has {len(release)}"
        raise errors.OutputDiffersError(function, "the release", difference)


def _summarize(release: pa.Table, classes: pa.Table, metric_rows: tuple[Any, ...], sensitive: Any) -> ReleaseSummary:
    """Return the summary that is displayed: the first rows, the number of rows, the quasi-identifiers and the metrics.

    Quasi-identifiers are the columns that release and classes share, except the last column of the release (the class)
    and the sensitive columns.

    Args:
        release: The released rows.
        classes: One row per class.
        metric_rows: (name, value, description) of each metric.
        sensitive: The name of a sensitive column, or several names.
    """
    sensitive_columns = {sensitive} if isinstance(sensitive, str) else set(sensitive)
    columns, class_columns = release.column_names, set(classes.column_names)
    head = release.slice(0, SHOWN_ROWS)
    return ReleaseSummary(
        columns=tuple(columns),
        rows=tuple(zip(*map(duckdb_relations.display_values, head.columns), strict=True)),
        n_rows=len(release),
        quasi_names=tuple(c for c in columns[:-1] if c in class_columns and c not in sensitive_columns),
        metrics=metric_rows,
    )


def register_data(con: Any, data: Any, function: str = "anonymize", name: str = "the data") -> Sql:
    """Register data on a connection as `name` and return this name as a SQL string literal.

    A file (`data` is a text or path) is not registered, and the literal is its path. `function` is the called function,
    for messages.

    Raises:
        UnsupportedInputError: The data is of no kind that can be read.
        DuplicateColumnError: Two columns have names that DuckDB does not distinguish.
        EmptySourceError: The data has no columns.
    """
    return _adapt_and_register(con, data, function, name)[1]


def _adapt_and_register(con: Any, data: Any, function: str, name: str) -> tuple[FrameAdapter, Sql]:
    """Register data on the connection as `name`; return its adapter and the name as a SQL string literal.

    A file (text or path) is not registered: the adapter is FILE and the literal is its path. `function` is the called
    function, for messages. Raises the errors of `register_data`.
    """
    if isinstance(data, (str, Path)):
        if not names.is_file(str(data)):
            raise errors.UnsupportedInputError(function, repr(str(data)))
        input_files.load_installed_extension(str(data), session.plain_connection(con))
        return frame_adapters.FILE, text(str(data))
    adapter = frame_adapters.adapt_frame(data, function)
    try:
        con.register(name, adapter.rows)
    except Exception:
        raise errors.UnsupportedInputError(function, f"a {type(data).__name__}") from None
    return adapter, text(name)


def store_hierarchies(con: Any, hierarchies: Mapping[str, Any]) -> dict[str, str]:
    """Store each hierarchy that is given as rows on the connection; return the name of every column's hierarchy.

    `hierarchies` maps columns to rows or to names; names are returned unchanged.
    """
    return {column: _store_hierarchy(con, column, hierarchy) for column, hierarchy in hierarchies.items()}


def _store_hierarchy(con: Any, column: str, hierarchy: Any) -> str:
    """Return the name of a column's hierarchy.

    A name (text) is returned unchanged. Rows are first stored as a hierarchy "given for COLUMN", with apostrophes
    appended if a stored hierarchy has this name.
    """
    if isinstance(hierarchy, str):
        return hierarchy
    stored_names = catalog.stored_hierarchies(con, catalog.SearchPath.from_connection(con).database)
    name = f"given for {column}"
    while name in stored_names:  # a hierarchy that the policy names is not replaced
        name += "'"
    load_hierarchy(con, name, hierarchy)
    return name
