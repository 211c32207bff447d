"""Anonymizes a frame without a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dbanon import errors
from dbanon.api import duckdb_relations, frame_adapters, frame_dtypes, written_frames
from dbanon.api.connection import connect
from dbanon.api.frame_adapters import Kind
from dbanon.policy.hierarchies.store import load_hierarchy
from dbanon.release import search_budget
from dbanon.release.summary import ROWS, Glance
from dbanon.runtime import interrupts, session
from dbanon.runtime.progress import report_progress
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.registry import check_algorithm, table_functions
from dbanon.table_functions.table_function import KIND_BY_ENDING
from dbanon.views import warnings

if TYPE_CHECKING:
    import pyarrow as pa


class _Frames(NamedTuple):
    release: Any
    classes: Any
    metrics: Any


class Anonymized(_Frames):
    """What `anonymize` gives: `release`, `classes` and `metrics`, frames of the kind that came, in `parameters` what
    the call was, and in `moves` how many moves a search of a given time made (None: there was none).

    On a terminal and in a notebook it shows the head of the release, quasi-identifiers first, and five measures.
    """

    parameters: Mapping[str, Any] = MappingProxyType({})
    moves: int | None = None
    glance: Glance | None = None

    def __repr__(self) -> str:
        return self.glance.text() if self.glance is not None else super().__repr__()

    def _repr_html_(self) -> str | None:
        return self.glance.html() if self.glance is not None else None


def anonymize(
    data: Any,
    algorithm: str = "kacpc",
    *,
    progress: Callable[[float, float], None] | None = None,
    **parameters: Any,
) -> Anonymized:
    """Return the release, classes and metrics of a frame, a relation of DuckDB or a file; frames of the kind that came.

    `data`: a DataFrame of pandas or polars, an Arrow table, a table of ibis, or anything else with an Arrow C stream. A
    relation is read once, and gives relations on its own connection; so is whatever is a plan or a stream of rows. An
    index of pandas is no column. A text or a path names a file, as in the table functions, and gives DataFrames of
    pandas: `anonymize("patients.csv", k=10, qi=["age"])`. For a table of a database use `dbanon.connect(path)` and the
    table functions.

    Parameters are those of the table function, with Python values: `anonymize(df, "kacpc", k=10, qi=["age", "zip"],
    sensitive=["disease"], hierarchies={"zip": [["02138", "021**", "*"], ...]})`. A hierarchy may be a shipped one by
    name, an ARX text, or rows from the leaf to the root. The rows are clustered once. With `improve="5s"` classes are
    improved for that time (Ctrl-C takes the best so far); the moves that were made are `moves`, and the same number as
    `improve` gives the same release. `progress` is called with the shares of the search that is done and of the loss
    that is gone.
    """
    check_algorithm("anonymize", algorithm)
    names = [p.name for p in table_functions()[algorithm].parameters]
    for name in parameters:
        if name not in names:
            raise errors.UnknownParameterError("anonymize", name, names)
    with connect() as con:
        given = dict(parameters)
        if isinstance(hierarchies := given.get("hierarchies"), Mapping):
            given["hierarchies"] = given_hierarchies(con, hierarchies)
        kind, source = _read(con, data, "anonymize", "data")
        call = Call(algorithm, source, given)
        limit = search_budget.seconds("anonymize", given)
        current = session.of_connection(con.raw)
        with report_progress(current, progress):
            if limit is not None:
                with interrupts.timed_search(current, limit) as search:
                    untimed = Call(algorithm, source, search_budget.untimed("anonymize", given))
                    untimed.rows(con, "_metrics")
                call = Call(algorithm, source, search_budget.untimed("anonymize", given, search.moves))
            made = answered(con, call, kind, parameters)
        if isinstance(person := given.get("person"), str):
            warnings.spellings_of(con, source, "the data", person)
        if limit is not None:
            made.moves = call.given["improve"]
            if hasattr(made.metrics, "attrs"):
                made.metrics.attrs["improve"] = made.moves
        return made


@dataclass(frozen=True)
class Call:
    """A call of an algorithm: its name, its source as SQL has it, and its other arguments as Python values."""

    algorithm: str
    source: Sql
    given: Mapping[str, Any]

    def rows(self, con: Any, ending: str) -> pa.Table:
        """What the function of the algorithm with an ending gives."""
        arguments = "".join(f", {name} := ${name}" for name in self.given)
        query = f"FROM {self.algorithm}{ending}({self.source}{arguments})"
        with con.withheld():
            return con.sql(query, **({"params": dict(self.given)} if self.given else {})).to_arrow_table()


def answered(con: Any, call: Call, kind: Kind, parameters: Mapping[str, Any]) -> Anonymized:
    """Return all that a call gives, in frames of a kind; warns of a release that tells nothing."""
    release, classes, metrics = (frame_dtypes.settled(call.rows(con, ending), kind.types) for ending in KIND_BY_ENDING)
    measures = tuple(zip(*(metrics[name].to_pylist() for name in ("metric", "value", "description")), strict=True))
    warnings.one_class("the release", {name: value for name, value, _ in measures})
    made = Anonymized(kind.release(release), kind.table(classes), kind.table(metrics))
    if not call.given.get("noise"):
        written_frames.check("anonymize", release, classes, made.release)
    made.parameters = MappingProxyType({"algorithm": call.algorithm, **parameters})
    made.glance = _glance(release, classes, measures, parameters.get("sensitive") or ())
    return made


def _glance(release: pa.Table, classes: pa.Table, measures: tuple[Any, ...], sensitive: Any) -> Glance:
    kept = {sensitive} if isinstance(sensitive, str) else set(sensitive)
    columns, in_classes = release.column_names, set(classes.column_names)
    head = release.slice(0, ROWS)
    return Glance(
        columns=tuple(columns),
        rows=tuple(zip(*map(duckdb_relations.display_values, head.columns), strict=True)),
        records=len(release),
        quasi=tuple(c for c in columns[:-1] if c in in_classes and c not in kept),
        measures=measures,
    )


def relation_name(con: Any, data: Any, function: str = "anonymize", name: str = "data") -> Sql:
    """Return the name of the data, as a call writes it.

    Raises UnsupportedInputError, DuplicateColumnError, EmptySourceError.
    """
    return _read(con, data, function, name)[1]


def _read(con: Any, data: Any, function: str, name: str) -> tuple[Kind, Sql]:
    """Return the kind of the data, and its name on a connection, as a call writes it."""
    if isinstance(data, (str, Path)):
        if not names.is_file(str(data)):
            raise errors.UnsupportedInputError(function, repr(str(data)))
        return frame_adapters.FILE, text(str(data))
    kind = frame_adapters.of(data, function)
    try:
        con.register(name, kind.rows)
    except Exception:
        raise errors.UnsupportedInputError(function, f"a {type(data).__name__}") from None
    return kind, text(name)


def given_hierarchies(con: Any, hierarchies: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of hierarchies by column; those that are given as rows are stored."""
    return {column: _named(con, column, of) for column, of in hierarchies.items()}


def _named(con: Any, column: str, of: Any) -> str:
    """Return a hierarchy's name; rows are stored under one first."""
    if isinstance(of, str):
        return of
    stored_names = catalog.stored_hierarchies(con, catalog.SearchPath.here(con).database)
    name = f"given for {column}"
    while name in stored_names:  # a hierarchy that the policy names is not replaced
        name += "'"
    load_hierarchy(con, name, of)
    return name
