"""Define columns that SQL templates refer to by name."""

from dbanon.source.canonical_text import canonical_form, hashed_form
from dbanon.sqltext.quote import Sql, identifier, text


class NamedColumn:
    """A column (or table) whose unquoted name is `raw_name`."""

    raw_name: str

    @property
    def name(self) -> Sql:
        """The name as a SQL identifier."""
        return identifier(self.raw_name)

    @property
    def label(self) -> Sql:
        """The name as a SQL text literal."""
        return text(self.raw_name)


class HashedColumn(NamedColumn):
    """A column for whose values the ledger stores hashes."""

    @property
    def value_type(self) -> str:
        """The type of the hashed values."""
        raise NotImplementedError

    @property
    def canonical(self) -> Sql:
        """The form of the canonical text of a `{value}`."""
        return canonical_form(self.value_type)

    @property
    def hashed(self) -> Sql:
        """The form of the canonical text of a `{value}` as a part of a longer text."""
        return hashed_form(self.value_type)
