"""Columns that are published as they are: how their values are read and told apart."""

import re
from dataclasses import dataclass, field

from dbanon.release.plan.named_column import HashedColumn
from dbanon.sqltext.quote import Sql

_TEXT_IS_VALUE = re.compile(
    r"^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*|VARCHAR|BOOLEAN|DATE|TIMESTAMP|UUID|ENUM\(.*)$"
)
_ARRAY_SIZE = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*')|\[\d+\]""")
_TAGGED_TYPE = re.compile(r"\b(UNION\(|VARIANT\b)")
"""Types with unequal values of the same text."""
_HAS_FLOAT = re.compile(r"\b(FLOAT|DOUBLE)\b")
_ZONED_TIME = "TIME WITH TIME ZONE"


@dataclass(frozen=True)
class UnchangedColumn(HashedColumn):
    """What of a column that is published as it is its hashes depend on."""

    raw_name: str
    type: str
    is_link: bool = field(default=False, kw_only=True)
    """Whether it is the pseudonym of a person, which tells who a record is about and nothing else of it."""

    @property
    def value_type(self) -> str:
        return self.type

    @property
    def is_zoned(self) -> bool:
        """Whether its text depends on the session's time zone."""
        return self.type == "TIMESTAMP WITH TIME ZONE"

    @property
    def is_tagged(self) -> bool:
        """Whether unequal values of its type have the same text."""
        return bool(_TAGGED_TYPE.search(self.type))


@dataclass(frozen=True)
class PassthroughColumn(UnchangedColumn):
    """A column that is published as it is, sensitive or other, or as something made of it; `check_rare` where values of
    few records are refused.

    `read` is the column of the source with NULL in place of codes for missing values, or what is made of that.
    """

    i: int
    source_value: Sql
    is_sensitive: bool
    check_rare: bool
    say_rare: Sql
    say_rare_left: Sql

    @property
    def value(self) -> Sql:
        """How it is read; texts compare byte by byte, whatever collation the column has."""
        return Sql(f"{self.source_value} COLLATE POSIX") if self.type == "VARCHAR" else self.source_value

    @property
    def text_is_value(self) -> bool:
        """Whether equal values of its type have equal texts: 0.0 and -0.0, a month and 30 days do not."""
        return bool(_TEXT_IS_VALUE.match(self.type))

    @property
    def is_float(self) -> bool:
        """Whether it is FLOAT or DOUBLE."""
        return self.type in ("FLOAT", "DOUBLE")

    def sort_key(self, value: Sql) -> Sql:
        """Return what rows are ordered by, where `value` is the column's value.

        DuckDB 1.5 orders TIME WITH TIME ZONE in one way alone and in another inside a row, so its text is compared. It
        also returns floats that were ordered by without the sign of zero, unless they are inside a row.
        """
        if self.type == _ZONED_TIME:
            return Sql(f"{value}::VARCHAR")
        return Sql(f"row({self.row_value(value)})") if _HAS_FLOAT.search(self.type) else value

    def row_value(self, value: Sql) -> Sql:
        """Return `value` as it is compared inside a row: arrays as lists, and what is ordered by its text as text."""
        if self.type == _ZONED_TIME:
            return Sql(f"{value}::VARCHAR")
        return Sql(f"{value}::{self.list_type}") if self.list_type else value

    @property
    def list_type(self) -> Sql | None:
        """The type with lists where it has arrays, or None where it has none."""
        lists = _ARRAY_SIZE.sub(lambda match: match[1] or "[]", self.type)
        return None if lists == self.type else Sql(lists)
