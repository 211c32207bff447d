"""Adapters for frames of any library: how to read each, how to create one of the same kind, and types of its columns.

No library is imported for this: if the caller has a frame of a library, it is imported already.

Released columns have the types of those of the source frame, if the values allow it. DuckDB gives a categorical column
the type ENUM, whose values are those of the source, including values that only suppressed rows have. Such a list is
never published: categoricals are released as texts.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from dbanon import errors
from dbanon.api import duckdb_relations, frame_columns, relation_policy
from dbanon.errors import redaction
from dbanon.sqltext.names import fold_case

FrameFromArrow = Callable[[pa.Table], Any]
"""A function that returns a frame of some kind with the rows of an Arrow table."""


@dataclass(frozen=True)
class FrameAdapter:
    """A form of a frame that DuckDB can read, and functions that create frames of the same kind (library and type).

    Attributes:
        rows: An object that DuckDB can read repeatedly; None for a file.
        schema: The Arrow types of its columns, at least those that released columns must keep; None if unknown.
        make_release: Creates a frame from an Arrow table, of the kind of the source, also a query plan or stream.
        make_table: Creates a frame with its rows in memory: of the kind of the source, unless that is a plan or stream.
    """

    rows: Any
    schema: pa.Schema | None
    make_release: FrameFromArrow
    make_table: FrameFromArrow


def adapt_frame(frame: Any, function: str) -> FrameAdapter:
    """Return the adapter of a frame, after checking its column names; see `FrameAdapter`.

    A frame that can be read only once or is a query plan is read here. `function` is the called function, for messages.

    Raises:
        UnsupportedInputError: The frame is of no kind that can be read.
        DuplicateColumnError: Two columns have names that DuckDB does not distinguish.
        EmptySourceError: The frame has no columns.
        UnreadableValueError: A value cannot be read.
        RelationOverPolicyError: A relation reads a table with a policy.
    """
    adapter = _adapt(frame, function)
    _check_column_names(adapter.rows, function)
    return adapter


def readable_rows(frame: Any, function: str) -> Any:
    """Return an object with the rows of a frame that DuckDB can read repeatedly; raise the errors of `adapt_frame`."""
    return adapt_frame(frame, function).rows


def is_frame(value: object) -> bool:
    """Return whether a value can be a source by the name of its variable.

    Its type must have an Arrow C stream, or be any type of pandas, pyarrow or polars.
    """
    type_ = type(value)
    return hasattr(type_, "__arrow_c_stream__") or type_.__module__.split(".")[0] in ("pandas", "pyarrow", "polars")


def _adapt(frame: Any, function: str) -> FrameAdapter:
    """Return the adapter for the library and type of a frame; pandas if the type is unknown.

    A polars LazyFrame, an ibis table, a DuckDB relation and a stream are read here. Tables of ibis and relations that
    read a table with a policy are refused. Error messages of the libraries are replaced by ones without values.
    """
    pandas, polars, ibis = (sys.modules.get(name) for name in ("pandas", "polars", "ibis"))
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _adapt_pandas(frame)
    if polars is not None and isinstance(frame, polars.LazyFrame):
        with _hide_messages(function, polars.exceptions.PolarsError):
            eager = _cast_wide_integers(frame.collect(), polars)
        types = eager.head(0).to_arrow().schema
        return FrameAdapter(eager, types, lambda table: polars.from_arrow(table).lazy(), polars.from_arrow)
    if polars is not None and isinstance(frame, polars.DataFrame):
        eager = _cast_wide_integers(frame, polars)
        return FrameAdapter(eager, eager.head(0).to_arrow().schema, polars.from_arrow, polars.from_arrow)
    if ibis is not None and isinstance(frame, ibis.Table):
        relation_policy.check_ibis_table(function, frame)
        with redaction.redact_values(function, lambda: ["the table"]):
            table = frame.to_pyarrow()
        return FrameAdapter(table, table.schema, ibis.memtable, ibis.memtable)
    if duckdb_relations.is_relation(frame):
        relation_policy.check_relation(function, frame)
        with redaction.redact_values(function, lambda: ["the relation"]):
            table = frame.to_arrow_table()
        make_relation = duckdb_relations.relation_factory(frame)
        return FrameAdapter(table, table.schema, make_relation, make_relation)
    if isinstance(frame, pa.RecordBatch):
        return FrameAdapter(frame, frame.schema, _single_batch, _unchanged)
    if isinstance(frame, pa.RecordBatchReader):
        with _hide_messages(function, pa.ArrowException):
            table = frame.read_all()
        return FrameAdapter(table, table.schema, lambda table: table.to_reader(), _unchanged)
    if isinstance(frame, pa.Table):
        return FrameAdapter(frame, frame.schema, _unchanged, _unchanged)
    if hasattr(type(frame), "__arrow_c_stream__"):
        table = _read_stream(frame, function)
        return FrameAdapter(table, table.schema, _unchanged, _unchanged)
    return FrameAdapter(frame, None, to_pandas, to_pandas)


def to_pandas(table: pa.Table) -> Any:
    """Return the rows of an Arrow table as a pandas DataFrame, with types as DuckDB gives them.

    If a date is infinite, which pandas cannot represent, all date columns are texts.
    """
    try:
        return duckdb_relations.dataframe_from_arrow(table)
    except duckdb.ConversionException:
        columns = [
            pa.array(duckdb_relations.duckdb_texts(c), pa.string()) if pa.types.is_date(c.type) else c
            for c in table.columns
        ]
        return duckdb_relations.dataframe_from_arrow(pa.table(columns, names=table.column_names))


FILE = FrameAdapter(None, None, to_pandas, to_pandas)
"""The adapter of a file: it returns pandas DataFrames."""


@contextlib.contextmanager
def _hide_messages(function: str, error_type: type[Exception]) -> Iterator[None]:
    """Replace an error of type `error_type` in the block by UnreadableValueError without its message.

    The message may quote a value; the new error has the name of the error's type.
    """
    try:
        yield
    except error_type as error:
        raise errors.UnreadableValueError(function, ["the data"], type(error).__name__) from None


def _unchanged(table: pa.Table) -> pa.Table:
    """Return the Arrow table itself."""
    return table


def _single_batch(table: pa.Table) -> pa.RecordBatch:
    """Return the rows of an Arrow table as one record batch; an empty one if there are no rows."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _read_stream(stream: Any, function: str) -> pa.Table:
    """Read all rows of an object with an Arrow C stream and return them as an Arrow table.

    Raises:
        UnsupportedInputError: The stream cannot be read, or it has values and not rows.
    """
    try:
        return pa.RecordBatchReader.from_stream(stream).read_all()
    except (pa.ArrowException, TypeError, ValueError):
        raise errors.UnsupportedInputError(function, f"a {type(stream).__name__}") from None


def _cast_wide_integers(frame: Any, polars: Any) -> Any:
    """Return a polars frame with 128-bit integer columns cast to Decimal(38, 0), because Arrow has no such integers."""
    wide_columns = [name for name, dtype in frame.schema.items() if str(dtype) in ("Int128", "UInt128")]
    return frame.with_columns(polars.col(wide_columns).cast(polars.Decimal(38, 0))) if wide_columns else frame


# --- pandas ----------------------------------------------------------------------------------------------


def _adapt_pandas(frame: Any) -> FrameAdapter:
    """Return the adapter of a pandas DataFrame; its index is not read.

    Columns of types that DuckDB does not read are converted.
    """
    frame = frame_columns.readable_frame(frame)
    dtypes = {str(name): frame.dtypes.iloc[i] for i, name in enumerate(frame.columns)}
    types = [(name, type_) for name, dtype in dtypes.items() if (type_ := _arrow_type(dtype)) is not None]
    return FrameAdapter(
        frame,
        pa.schema(types),
        lambda table: _to_pandas_like(table, dtypes),
        lambda table: _to_pandas_like(table, dtypes),
    )


def _arrow_type(dtype: Any) -> pa.DataType | None:
    """Return the Arrow type of a pandas dtype that is an Arrow type or one of timestamps; None for any other.

    These are the types that `normalize_types` needs.
    """
    if (arrow := getattr(dtype, "pyarrow_dtype", None)) is not None:
        return arrow
    zone = getattr(dtype, "tz", None)
    if zone is not None:
        return pa.timestamp("us", pa.lib.tzinfo_to_string(zone))
    return pa.timestamp("ns" if dtype == "datetime64[ns]" else "us") if getattr(dtype, "kind", "") == "M" else None


def _to_pandas_like(table: pa.Table, dtypes: Mapping[str, Any]) -> Any:
    """Return the rows of an Arrow table as a pandas DataFrame with types like those of the source.

    If a dtype of the source is an Arrow dtype, all columns get Arrow dtypes. Otherwise nullable (masked) dtypes and
    time zones are restored, and decimals and dates are Python objects.

    Args:
        table: The rows.
        dtypes: The dtypes of the source by column name; columns without one are converted as DuckDB does.
    """
    import pandas as pd

    if any(isinstance(dtype, pd.ArrowDtype) for dtype in dtypes.values()):
        return table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    frame = duckdb_relations.dataframe_from_arrow(table)
    masked = masked_dtypes()
    for field in table.schema:
        if pa.types.is_decimal(field.type) or pa.types.is_date(field.type):  # objects, as they came
            frame[field.name] = table[field.name].to_pandas()
        elif pa.types.is_timestamp(field.type) and field.type.tz:
            frame[field.name] = frame[field.name].dt.tz_convert(field.type.tz)
        elif field.type in masked and getattr(dtypes.get(field.name), "name", "") in MASKED_NAMES:
            frame[field.name] = table[field.name].to_pandas(types_mapper=masked.get)
    return frame


# --- columns ---------------------------------------------------------------------------------------------


def _check_column_names(rows: Any, function: str) -> None:
    """Raise an error if there are no columns, or if DuckDB would not distinguish two names.

    DuckDB would rename one of them, and roles would miss it. Rows of an unknown type are not checked.

    Raises:
        DuplicateColumnError: Two names differ only in case.
        EmptySourceError: There are no columns.
    """
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        names = rows.schema.names
    elif hasattr(type(rows), "columns"):  # of pandas and polars
        names = [str(name) for name in rows.columns]
    else:
        return
    if not names:
        raise errors.EmptySourceError(function, "the data")
    names_by_folded: dict[str, str] = {}
    for name in names:
        if fold_case(name) in names_by_folded:
            raise errors.DuplicateColumnError(function, names_by_folded[fold_case(name)], name)
        names_by_folded[fold_case(name)] = name


def normalize_types(table: pa.Table, source_schema: pa.Schema | None) -> pa.Table:
    """Return an Arrow table of results with column types that match the source, as far as values and privacy allow.

    Dictionary (categorical) types become the types of their values, everywhere. Timestamps with a time zone get the
    zone of the source column; intervals become durations if the source column has durations. Bounds of timestamps that
    are whole days become timestamps: the first and the last moment of these days.

    Args:
        table: The rows that DuckDB returned.
        source_schema: The Arrow types of the source's columns by name; None if unknown.
    """
    columns = [_normalize_column(table, field, _column_type(source_schema, field.name)) for field in table.schema]
    for index, field in enumerate(table.schema):
        columns[index] = _bounds_as_timestamps(columns[index], field.name, table.column_names, source_schema)
    return pa.table(columns, names=table.column_names)


def _bounds_as_timestamps(column: Any, name: str, names: Sequence[str], source_schema: pa.Schema | None) -> Any:
    """Return a column with bounds of days, of a source column of timestamps, as timestamps; others unchanged.

    Args:
        column: The column: of `intervals` 'bounds' NAME_min or NAME_max, of 'struct' one of {'low', 'high'}.
        name: Its name.
        names: The names of all columns.
        source_schema: The Arrow types of the source's columns by name; None if unknown.
    """
    if pa.types.is_struct(column.type):
        target_type = _timestamp_type(source_schema, name)
        if target_type is None or [field.name for field in column.type] != ["low", "high"]:
            return column
        array = column.combine_chunks()
        ends = [_day_as_timestamp(array.field(i), is_end, target_type) for i, is_end in enumerate((False, True))]
        return pa.chunked_array([pa.StructArray.from_arrays(ends, ["low", "high"], mask=array.is_null())])
    base, _, suffix = name.rpartition("_")
    target_type = _timestamp_type(source_schema, base)
    if target_type is None or base in names or suffix not in ("min", "max"):
        return column
    return _day_as_timestamp(column, suffix == "max", target_type)


def _timestamp_type(schema: pa.Schema | None, name: str) -> pa.DataType | None:
    """Return the type of a source column of timestamps; None if there is no such column, or it has another type."""
    type_ = _column_type(schema, name)
    return type_ if type_ is not None and pa.types.is_timestamp(type_) else None


def _day_as_timestamp(days: Any, is_end: bool, type_: pa.DataType) -> Any:
    """Return dates as timestamps of a type: the first moment of each day, or the last one if `is_end`.

    Days are those in UTC. Other values are returned unchanged, and dates that the type cannot represent.
    """
    if not pa.types.is_date(days.type):
        return days
    import pyarrow.compute as pc  # slow to import

    unit = "ns" if type_.unit == "ns" else "us"
    try:
        moments = days.cast(pa.timestamp(unit))
        if is_end:
            last_moment = 86_400 * (10**9 if unit == "ns" else 10**6) - 1
            moments = pc.add_checked(moments, pa.scalar(last_moment, pa.duration(unit)))
        return moments if type_.tz is None else pc.assume_timezone(moments, "UTC").cast(pa.timestamp(unit, type_.tz))
    except pa.ArrowInvalid:  # infinite dates, and those beyond the unit
        return days


def _column_type(schema: pa.Schema | None, name: str) -> pa.DataType | None:
    """Return the Arrow type of a column; None without a schema or without such a column."""
    return None if schema is None or name not in schema.names else schema.field(name).type


def _normalize_column(table: pa.Table, field: pa.Field, source_type: pa.DataType | None) -> pa.ChunkedArray:
    """Return one column of the table, cast as `normalize_types` describes; `source_type` is None if unknown."""
    column = table[field.name]
    target_type = without_dictionaries(field.type)
    if (
        pa.types.is_timestamp(field.type)
        and field.type.tz
        and source_type is not None
        and pa.types.is_timestamp(source_type)
    ):
        target_type = pa.timestamp(field.type.unit, source_type.tz) if source_type.tz else target_type
    elif pa.types.is_interval(field.type) and source_type is not None and pa.types.is_duration(source_type):
        durations = (
            duckdb_relations.relation_from_arrow(pa.table({"d": column})).project("epoch_us(d) AS d").to_arrow_table()
        )
        return durations["d"].cast(pa.duration("us"))
    return column if target_type == field.type else column.cast(target_type)


def without_dictionaries(type_: pa.DataType) -> pa.DataType:
    """Return a type with its dictionary types replaced by the types of their values, also in structs, maps and lists.

    >>> without_dictionaries(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    ListType(list<item: string>)
    """
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(without_dictionaries(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(without_dictionaries(type_.key_type), without_dictionaries(type_.item_type))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(without_dictionaries(type_.value_type)), type_.list_size)
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(without_dictionaries(type_.value_type)))
    return type_


MASKED_NAMES = frozenset(
    (*(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)), "Float32", "Float64", "boolean")
)
"""Names of the pandas types that have missing values."""


@cache
def masked_dtypes() -> Mapping[pa.DataType, Any]:
    """Return the nullable pandas dtypes of `MASKED_NAMES` (such as Int64) by Arrow type; cached."""
    import pandas as pd

    numbers = {getattr(pa, name.lower())(): pd.api.types.pandas_dtype(name) for name in MASKED_NAMES - {"boolean"}}
    return {**numbers, pa.bool_(): pd.BooleanDtype()}
