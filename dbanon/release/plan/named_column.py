"""Define columns that SQL templates refer to by name."""

import re

from dbanon.source.canonical_text import canonical_form, hashed_form
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.quote import Sql, identifier, text


class NamedColumn:
    """A column (or table) that SQL templates refer to by name; `raw_name` is the unquoted name."""

    raw_name: str

    @property
    def name(self) -> Sql:
        """The column's name quoted as a SQL identifier."""
        return identifier(self.raw_name)

    @property
    def column(self) -> Sql:
        """The quoted name of its values in a statement: its own name, with a suffix if templates use that name."""
        return column_reference(self.raw_name)

    @property
    def label(self) -> Sql:
        """The column's name as a SQL string literal."""
        return text(self.raw_name)


class HashedColumn(NamedColumn):
    """A column for whose values the ledger stores hashes; `type` is the DuckDB type in which they are compared."""

    type: str

    @property
    def canonical(self) -> Sql:
        """SQL of a value's canonical text (equal values have equal texts), with the placeholder `{value}`."""
        return canonical_form(self.type)

    @property
    def hashed(self) -> Sql:
        """SQL of a value's canonical text as a part of a longer hashed text, with the placeholder `{value}`.

        Texts have their length before them; NULL is a dash.
        """
        return hashed_form(self.type)

    @property
    def is_hashed_by_value(self) -> bool:
        """Whether each distinct value is hashed once: texts, integers, dates and booleans, which repeat often."""
        return bool(_REPEATED_TYPE.match(self.type))


_REPEATED_TYPE = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|VARCHAR|DATE|BOOLEAN|ENUM\(.*)$", re.DOTALL)
