"""Define columns that are published without generalization: how their values are read, compared and ordered."""

import re
from dataclasses import dataclass, field

from dbanon.release.plan.named_column import HashedColumn
from dbanon.source.column_types import has_equal_texts
from dbanon.sqltext.quote import Sql, identifier

_ARRAY_SIZE = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*')|\[\d+\]""")
_TAGGED_TYPE = re.compile(r"\b(UNION\(|VARIANT\b)")
"""Types with unequal values of the same text."""
_HAS_FLOAT = re.compile(r"\b(FLOAT|DOUBLE)\b")
_ZONED_TIME = "TIME WITH TIME ZONE"


@dataclass(frozen=True)
class UnchangedColumn(HashedColumn):
    """A column published without generalization, by the properties on which the hashes of its values depend.

    Attributes:
        raw_name: Its name.
        type: Its DuckDB type.
        is_link: It is a pseudonym, which identifies the person of a row and reveals nothing else.
    """

    raw_name: str
    type: str
    is_link: bool = field(default=False, kw_only=True)

    @property
    def is_zoned(self) -> bool:
        """Whether the column's type is TIMESTAMP WITH TIME ZONE, whose text depends on the time zone of the session."""
        return self.type == "TIMESTAMP WITH TIME ZONE"

    @property
    def is_tagged(self) -> bool:
        """Whether unequal values of the column's type can have equal texts: it is, or contains, a UNION or VARIANT."""
        return bool(_TAGGED_TYPE.search(self.type))


@dataclass(frozen=True)
class PassthroughColumn(UnchangedColumn):
    """A sensitive, insensitive or transformed column, which is published without generalization.

    Attributes:
        i: Its number among the unchanged columns.
        source_value: SQL of its value with NULL for codes of missing values, or of its transformed value.
        is_sensitive: It is sensitive.
        check_rare: Values of too few records are refused.
        say_rare: The message about such values, as SQL.
        say_rare_left: The message about values that are rare after suppression, as SQL.
    """

    i: int
    source_value: Sql
    is_sensitive: bool
    check_rare: bool
    say_rare: Sql
    say_rare_left: Sql

    @property
    def value(self) -> Sql:
        """SQL of the column's value; texts get the binary collation POSIX, whatever collation the column has."""
        return Sql(f"{self.source_value} COLLATE POSIX") if self.type == "VARCHAR" else self.source_value

    @property
    def text_is_value(self) -> bool:
        """Whether equal values of the column's type have equal texts; see `has_equal_texts`."""
        return has_equal_texts(self.type)

    def metric_column(self, metric: str) -> Sql:
        """Return the quoted name of this column's value of a metric, such as `"n_rare_values:disease"`."""
        return identifier(f"{metric}:{self.raw_name}")

    @property
    def is_float(self) -> bool:
        """Whether the column's type is FLOAT or DOUBLE."""
        return self.type in ("FLOAT", "DOUBLE")

    def sort_key(self, value: Sql) -> Sql:
        """Return the SQL expression by which rows are ordered; `value` is SQL of the value of the column.

        For TIME WITH TIME ZONE this is the text of `value`, for types with floats a row with `value`, else `value`
        itself. The reasons: DuckDB 1.5 orders TIME WITH TIME ZONE differently inside and outside of a row, and it drops
        the sign of zero of floats that are ordered by, unless they are inside a row.
        """
        if self.type == _ZONED_TIME:
            return Sql(f"{value}::VARCHAR")
        return Sql(f"row({self.row_value(value)})") if _HAS_FLOAT.search(self.type) else value

    def row_value(self, value: Sql) -> Sql:
        """Return SQL of `value` for comparison inside a row.

        Arrays of fixed size become lists, TIME WITH TIME ZONE becomes text; other values are unchanged.
        """
        if self.type == _ZONED_TIME:
            return Sql(f"{value}::VARCHAR")
        return Sql(f"{value}::{self.list_type}") if self.list_type else value

    @property
    def list_type(self) -> Sql | None:
        """The column's type with lists in place of arrays of fixed size; None if it has no such arrays."""
        lists = _ARRAY_SIZE.sub(lambda match: match[1] or "[]", self.type)
        return None if lists == self.type else Sql(lists)
