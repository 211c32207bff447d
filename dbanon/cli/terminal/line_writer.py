"""Write Arrow tables as lines of NDJSON or CSV, one table after another."""

import csv
import io
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dbanon.runtime import csv_formulas


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
        texts = {f.name for f in table.schema if self.escape and not _is_non_text(f.type)}
        writer.writerows([self._cell(n, v, n in texts) for n, v in row.items()] for row in rows)
        yield file.getvalue()

    def _cell(self, column: str, value: object, is_text: bool) -> object:
        """Return the cell of CSV for a value: booleans in lower case, formulas in text columns escaped."""
        if isinstance(value, bool):
            return str(value).lower()
        if value is None or not is_text:
            return value
        return csv_formulas.escape_cell(str(value), is_quasi=column in self.quasi)


def _is_non_text(type_: Any) -> bool:
    """Return whether values of an Arrow type are numbers, booleans, dates or times."""
    return bool(pa.types.is_primitive(type_) or pa.types.is_decimal(type_))
