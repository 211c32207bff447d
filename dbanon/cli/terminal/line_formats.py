"""Read lines of NDJSON or CSV as Arrow tables while they arrive, and write Arrow tables as such lines."""

import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa

from dbanon import errors
from dbanon.runtime import csv_formulas

FORMATS = ("ndjson", "csv")
CHUNK_BYTES = 1 << 20
"""Maximum number of bytes per read; a shorter read is passed on at once."""


def arrow_types(names: Mapping[str, str]) -> dict[str, Any]:
    """Return the Arrow types of columns, given their names such as double, int64 or date32.

    Raises:
        ValueError: Arrow has no type of that name.
    """
    return {column: pa.type_for_alias(name) for column, name in names.items()}


def read_tables(file: IO[bytes], format_: str, types: Mapping[str, Any]) -> Iterator[Any]:
    """Read lines of NDJSON or CSV, and yield an Arrow table of complete lines whenever some have arrived.

    All tables have the columns and types of the first one, except for types given by `types`. Columns that occur only
    later are dropped. The first line of CSV has the names.

    Args:
        file: The lines.
        format_: "ndjson" or "csv".
        types: Arrow types of columns, which replace the inferred ones.

    Raises:
        UnreadableLinesError: A line cannot be parsed.
        FileEncodingError: A line is not UTF-8, and it cannot be parsed or has a text of no column of the type binary.
    """
    header, schema = b"", None
    for first, chunk in _line_chunks(file):
        if format_ == "csv" and not header:
            header, _, chunk = chunk.partition(b"\n")
            header += b"\n"
            first += 1
        if not chunk.strip():
            continue
        try:
            table = _parse_lines(header + chunk, format_, schema, types)
        except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError):
            _check_encoding(first, chunk)
            raise errors.UnreadableLinesError(
                format_, first, None if schema is None else dict(_schema_types(schema))
            ) from None
        if any(pa.types.is_binary(column.type) and column.name not in types for column in table.schema):
            _check_encoding(first, chunk)
        schema = schema or table.schema
        yield table


def _check_encoding(first: int, lines: bytes) -> None:
    """Raise FileEncodingError with the number of the first line that is not UTF-8; `first` is that of the first one."""
    try:
        lines.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + lines[: error.start].count(b"\n")
        raise errors.FileEncodingError("stream", ["the input"], f"line {line}") from None


def _line_chunks(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield chunks of complete lines as they arrive, each with the number (from 1) of its first line.

    A last line without a line break is completed.
    """
    rest, line = b"", 1
    read = getattr(file, "read1", file.read)
    while piece := read(CHUNK_BYTES):
        complete_lines, newline, last = (rest + piece).rpartition(b"\n")
        rest = last
        if newline:
            yield line, complete_lines + newline
            line += complete_lines.count(b"\n") + 1
    if rest.strip():
        yield line, rest + b"\n"


def _parse_lines(lines: bytes, format_: str, schema: Any, types: Mapping[str, Any]) -> Any:
    """Return lines as one Arrow table.

    Args:
        lines: Complete lines; in CSV the first one has the names.
        format_: "ndjson" or "csv".
        schema: The schema that the first chunk of lines had; other columns are dropped. None if these lines are the
            first chunk, whose types are inferred.
        types: Types of columns that replace those of the schema or the inferred ones.
    """
    column_types = {**({} if schema is None else dict(_schema_types(schema))), **types}
    if format_ == "csv":
        from pyarrow import csv as arrow_csv

        names = None if schema is None else schema.names
        options = arrow_csv.ConvertOptions(column_types=column_types, include_columns=names)
        return arrow_csv.read_csv(io.BytesIO(lines), convert_options=options)
    from pyarrow import json as arrow_json

    fields = pa.schema(list(column_types.items()))
    unexpected = "infer" if schema is None else "ignore"
    parse = arrow_json.ParseOptions(explicit_schema=fields, unexpected_field_behavior=unexpected)
    return arrow_json.read_json(io.BytesIO(lines), parse_options=parse)


def _schema_types(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield (column, type) of a schema; a column without any value in the first lines has the type text."""
    for column in schema:
        yield column.name, pa.string() if pa.types.is_null(column.type) else column.type


# --- writing ---------------------------------------------------------------------------------------------------------


@dataclass
class LineWriter:
    """Formatter of the lines of one output; CSV begins with a header before its first table.

    Attributes:
        format: "ndjson" or "csv".
        escape: Whether text cells of CSV that a spreadsheet would execute are escaped.
        quasi: The quasi-identifiers, in which negative numbers are not escaped.
    """

    format: str
    escape: bool = True
    quasi: Collection[str] = ()
    _has_header: bool = field(default=False, init=False)

    def format_table(self, table: Any) -> Iterator[str]:
        """Yield the rows of an Arrow table as text: one line of NDJSON at a time, or all lines of CSV together."""
        rows = table.to_pylist()
        if self.format == "ndjson":
            for row in rows:
                yield json.dumps(row, ensure_ascii=False, default=str) + "\n"
            return
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        if not self._has_header:
            writer.writerow(csv_formulas.header_cells(table.column_names, escape=self.escape))
            self._has_header = True
        fields = table.schema if self.escape else ()
        texts = {f.name for f in fields if not (pa.types.is_primitive(f.type) or pa.types.is_decimal(f.type))}
        writer.writerows([self._cell(n, v, n in texts) for n, v in row.items()] for row in rows)
        yield file.getvalue()

    def _cell(self, column: str, value: object, is_text: bool) -> object:
        """Return the cell of CSV for a value: booleans in lower case, formulas in text columns escaped."""
        if isinstance(value, bool):
            return str(value).lower()
        if value is None or not is_text:
            return value
        return csv_formulas.escape_cell(str(value), is_quasi=column in self.quasi)
