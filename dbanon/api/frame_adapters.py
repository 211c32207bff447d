"""Frames of any library: how each is read, and how one of the same kind goes back.

What is installed decides nothing here: a library that the caller's frame is of has been imported, and no other is.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from dbanon import errors
from dbanon.api import duckdb_relations, frame_dtypes, relation_policy
from dbanon.errors import redaction

Made = Callable[[pa.Table], Any]
"""A frame of some kind from the rows of an Arrow table."""


@dataclass(frozen=True)
class Kind:
    """What came: `rows` are something that DuckDB reads as often as it wants to, `types` those of its columns in Arrow
    (None: unknown). `release` makes the same kind from an Arrow table, `table` one that holds its rows, where the kind
    itself is a plan or a stream of rows."""

    rows: Any
    types: pa.Schema | None
    release: Made
    table: Made


def of(data: Any, function: str) -> Kind:
    """Return the kind of a frame; what can be read only once, or is a plan, is read here.

    UnsupportedInputError, DuplicateColumnError, EmptySourceError where there are no columns, UnreadableValueError;
    RelationOverPolicyError of a relation that reads a table with a policy.
    """
    kind = _of(data, function)
    _tell_apart(kind.rows, function)
    return kind


def readable(data: Any, function: str) -> Any:
    """What DuckDB can register and read as often as it wants to; errors as of `of`."""
    return of(data, function).rows


def is_frame(value: object) -> bool:
    """Return whether a variable of the caller can be a source by its name."""
    kind = type(value)
    return hasattr(kind, "__arrow_c_stream__") or kind.__module__.split(".")[0] in ("pandas", "pyarrow", "polars")


def _of(data: Any, function: str) -> Kind:
    pandas, polars, ibis = (sys.modules.get(name) for name in ("pandas", "polars", "ibis"))
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _of_pandas(data)
    if polars is not None and isinstance(data, polars.LazyFrame):
        with _withheld(function, polars.exceptions.PolarsError):
            eager = _narrowed(data.collect(), polars)
        types = eager.head(0).to_arrow().schema
        return Kind(eager, types, lambda made: polars.from_arrow(made).lazy(), polars.from_arrow)
    if polars is not None and isinstance(data, polars.DataFrame):
        eager = _narrowed(data, polars)
        return Kind(eager, eager.head(0).to_arrow().schema, polars.from_arrow, polars.from_arrow)
    if ibis is not None and isinstance(data, ibis.Table):
        relation_policy.check_ibis_table(function, data)
        with redaction.withheld(function, lambda: ["the table"]):
            table = data.to_pyarrow()
        return Kind(table, table.schema, ibis.memtable, ibis.memtable)
    if duckdb_relations.is_relation(data):
        relation_policy.check_relation(function, data)
        with redaction.withheld(function, lambda: ["the relation"]):
            table = data.to_arrow_table()
        back = duckdb_relations.beside(data)
        return Kind(table, table.schema, back, back)
    if isinstance(data, pa.RecordBatch):
        return Kind(data, data.schema, _batch, _same)
    if isinstance(data, pa.RecordBatchReader):
        with _withheld(function, pa.ArrowException):
            table = data.read_all()
        return Kind(table, table.schema, lambda made: made.to_reader(), _same)
    if isinstance(data, pa.Table):
        return Kind(data, data.schema, _same, _same)
    if hasattr(type(data), "__arrow_c_stream__"):
        table = _streamed(data, function)
        return Kind(table, table.schema, _same, _same)
    return Kind(data, None, plain_pandas, plain_pandas)


def plain_pandas(made: pa.Table) -> Any:
    """Return the rows as a pandas DataFrame; dates as text where one is infinite, which pandas does not have."""
    try:
        return duckdb_relations.of_arrow(made).df()
    except duckdb.ConversionException:
        columns = [
            pa.array(duckdb_relations.texts(c), pa.string()) if pa.types.is_date(c.type) else c for c in made.columns
        ]
        return duckdb_relations.of_arrow(pa.table(columns, names=made.column_names)).df()


FILE = Kind(None, None, plain_pandas, plain_pandas)
"""A file, which gives frames of pandas."""


@contextlib.contextmanager
def _withheld(function: str, kind: type[Exception]) -> Iterator[None]:
    """Raise UnreadableValueError in place of an error of another library, whose message may quote a value."""
    try:
        yield
    except kind as error:
        raise errors.UnreadableValueError(function, ["the data"], type(error).__name__) from None


def _same(made: pa.Table) -> pa.Table:
    return made


def _batch(made: pa.Table) -> pa.RecordBatch:
    batches = made.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=made.schema)


def _streamed(data: Any, function: str) -> pa.Table:
    """Return the rows of an Arrow C stream; UnsupportedInputError where it is one of values."""
    try:
        return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowException, TypeError, ValueError):
        raise errors.UnsupportedInputError(function, f"a {type(data).__name__}") from None


def _narrowed(frame: Any, polars: Any) -> Any:
    """Return a frame of polars whose integers of 128 bits, which Arrow does not have, are decimals."""
    wide = [name for name, dtype in frame.schema.items() if str(dtype) in ("Int128", "UInt128")]
    return frame.with_columns(polars.col(wide).cast(polars.Decimal(38, 0))) if wide else frame


# --- pandas ----------------------------------------------------------------------------------------------


def _of_pandas(frame: Any) -> Kind:
    """Return the index is no column: it is not read."""
    dtypes = {str(name): frame.dtypes.iloc[i] for i, name in enumerate(frame.columns)}
    types = [(name, type_) for name, dtype in dtypes.items() if (type_ := _arrow_type(dtype)) is not None]
    return Kind(frame, pa.schema(types), lambda made: _pandas(made, dtypes), lambda made: _pandas(made, dtypes))


def _arrow_type(dtype: Any) -> pa.DataType | None:
    """Return the type of a column in Arrow, where `frame_types.settled` has use for it."""
    if (arrow := getattr(dtype, "pyarrow_dtype", None)) is not None:
        return arrow
    zone = getattr(dtype, "tz", None)
    return None if zone is None else pa.timestamp("us", pa.lib.tzinfo_to_string(zone))


def _pandas(made: pa.Table, dtypes: Mapping[str, Any]) -> Any:
    """Return a DataFrame with the types of its own library that the frame which came is made of."""
    import pandas as pd

    if any(isinstance(dtype, pd.ArrowDtype) for dtype in dtypes.values()):
        return made.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    frame = duckdb_relations.of_arrow(made).df()
    masked = frame_dtypes.masked()
    for field in made.schema:
        if pa.types.is_decimal(field.type) or pa.types.is_date(field.type):  # objects, as they came
            frame[field.name] = made[field.name].to_pandas()
        elif pa.types.is_timestamp(field.type) and field.type.tz:
            frame[field.name] = frame[field.name].dt.tz_convert(field.type.tz)
        elif field.type in masked and getattr(dtypes.get(field.name), "name", "") in frame_dtypes.MASKED:
            frame[field.name] = made[field.name].to_pandas(types_mapper=masked.get)
    return frame


# --- columns ---------------------------------------------------------------------------------------------


def _tell_apart(rows: Any, function: str) -> None:
    """DuplicateColumnError where DuckDB would give a column another name, which roles of the call would then miss."""
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        names = rows.schema.names
    elif hasattr(type(rows), "columns"):  # of pandas and polars
        names = [str(name) for name in rows.columns]
    else:
        return
    if not names:
        raise errors.EmptySourceError(function, "data")
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise errors.DuplicateColumnError(function, seen[name.lower()], name)
        seen[name.lower()] = name
