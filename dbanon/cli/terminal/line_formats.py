"""Read lines of NDJSON or CSV as Arrow tables, as they come."""

import io
from collections.abc import Iterator, Mapping
from typing import IO, Any

import pyarrow as pa

from dbanon import errors

FORMATS = ("ndjson", "csv")
AT_ONCE = 1 << 20
"""Most bytes that are read at a time; what has come by then is passed on."""


def types_of(names: Mapping[str, str]) -> dict[str, Any]:
    """Return Arrow's types of these names, such as double, int64 or date32, by column; ValueError."""
    return {column: pa.type_for_alias(name) for column, name in names.items()}


def tables(file: IO[bytes], format_: str, types: Mapping[str, Any]) -> Iterator[Any]:
    """Yield tables of the whole lines that have come, whenever some have.

    Columns and their types are those of the first lines, but where `types` has others. UnreadableLinesError.
    """
    header, schema = b"", None
    for first, chunk in _chunks(file):
        if format_ == "csv" and not header:
            header, _, chunk = chunk.partition(b"\n")
            header += b"\n"
        if not chunk.strip():
            continue
        try:
            table = _parsed(header + chunk, format_, schema, types)
        except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError):
            raise errors.UnreadableLinesError(
                format_, first, None if schema is None else dict(_named(schema))
            ) from None
        schema = schema or table.schema
        yield table


def _chunks(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines as they come, with the number of the first."""
    rest, line = b"", 1
    read = getattr(file, "read1", file.read)
    while piece := read(AT_ONCE):
        whole, newline, last = (rest + piece).rpartition(b"\n")
        rest = last
        if newline:
            yield line, whole + newline
            line += whole.count(b"\n") + 1
    if rest.strip():
        yield line, rest + b"\n"


def _parsed(data: bytes, format_: str, schema: Any, types: Mapping[str, Any]) -> Any:
    """Return one table. Columns that the first lines did not have are left out."""
    known = {**({} if schema is None else dict(_named(schema))), **types}
    if format_ == "csv":
        from pyarrow import csv as arrow_csv

        names = None if schema is None else schema.names
        options = arrow_csv.ConvertOptions(column_types=known, include_columns=names)
        return arrow_csv.read_csv(io.BytesIO(data), convert_options=options)
    from pyarrow import json as arrow_json

    fields = pa.schema(list(known.items()))
    unexpected = "infer" if schema is None else "ignore"
    parse = arrow_json.ParseOptions(explicit_schema=fields, unexpected_field_behavior=unexpected)
    return arrow_json.read_json(io.BytesIO(data), parse_options=parse)


def _named(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield types by column; one of which the first lines have only NULL may be anything that is text."""
    for field in schema:
        yield field.name, pa.string() if pa.types.is_null(field.type) else field.type
