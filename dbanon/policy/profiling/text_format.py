"""A way to write dates or numbers as text, with the SQL that reads it."""

from dataclasses import dataclass

TEXT_PLACEHOLDER = "{}"
"""Placeholder of the text in an expression that converts it."""


@dataclass(frozen=True)
class TextFormat:
    """A way to write dates or numbers as text.

    Attributes:
        type: The DuckDB type of the values.
        description: The format in words.
        is_readable: SQL condition with `{}` for a text without blanks around it.
        conversion: SQL expression of the value in `type`, with `{}` for the text.
        field_order: What distinguishes two formats that can read the same text, such as day before month.
        twin: Index, in TEXT_FORMATS, of the other of two such formats; None without one.
        choice: Why this format is chosen if every text fits both.
        hint: A remark that is shown with the format.
        is_plain: Whether texts of digits have it, which are not written like dates.
        is_partial_date: Whether the texts are written like dates, some without a day.
        sign: SQL condition with `{}` for a text; a column has the format only if one of its texts meets it.
    """

    type: str
    description: str
    is_readable: str
    conversion: str
    field_order: str | None = None
    twin: int | None = None
    choice: str | None = None
    hint: str = ""
    is_plain: bool = False
    is_partial_date: bool = False
    sign: str = ""

    @property
    def is_date(self) -> bool:
        """Whether it is a format of dates or timestamps."""
        return self.type in ("DATE", "TIMESTAMP")
