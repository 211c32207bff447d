"""What templates call a column."""

from dbanon.source.canonical_text import canonical_form, hashed_form
from dbanon.sqltext.quote import Sql, identifier, text


class NamedColumn:
    """A column with a name, `plain` as it is stored, that stands in statements in two ways."""

    raw_name: str

    @property
    def name(self) -> Sql:
        """The column."""
        return identifier(self.raw_name)

    @property
    def label(self) -> Sql:
        """Its name as a text."""
        return text(self.raw_name)


class HashedColumn(NamedColumn):
    """A column of whose values the ledger keeps hashes."""

    @property
    def value_type(self) -> str:
        """The type of these values."""
        raise NotImplementedError

    @property
    def canonical(self) -> Sql:
        """SQL of the canonical text of a `{value}`."""
        return canonical_form(self.value_type)

    @property
    def hashed(self) -> Sql:
        """SQL of the canonical text of a `{value}`, as a part of a longer text."""
        return hashed_form(self.value_type)
