"""What templates call a column."""

from __future__ import annotations

from dbanon.sqltext.quote import Sql, identifier, text


class NamedColumn:
    """A column with a name, `plain` as it is stored, that stands in statements in two ways."""

    plain: str

    @property
    def name(self) -> Sql:
        """The column."""
        return identifier(self.plain)

    @property
    def label(self) -> Sql:
        """Its name as a text."""
        return text(self.plain)
