"""The validated parameters of a call, with typed access by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Options(Mapping[str, Any]):
    """Validated parameters by name, including those that were not given.

    Each method returns a parameter as one type; None if it was not given and has no default.
    """

    values_by_name: Mapping[str, object]

    def __getitem__(self, name: str) -> Any:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def text(self, name: str) -> str | None:
        """Return a parameter as text."""
        value = self.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> float | None:
        """Return a parameter as a floating-point number."""
        value = self.get(name)
        return None if value is None else float(value)

    def integer(self, name: str) -> int | None:
        """Return a parameter as an integer."""
        value = self.get(name)
        return None if value is None else int(value)

    def sequence(self, name: str) -> tuple[Any, ...] | None:
        """Return a list parameter (columns, words or numbers) as a tuple."""
        value = self.get(name)
        return None if value is None else tuple(value)

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the column names of a list parameter; empty if it is not given."""
        return self.sequence(name) or ()

    def per_column(self, name: str) -> Mapping[str, Any]:
        """Return the values of a parameter by column; empty if one word is given for all columns."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def of_column(self, name: str, column: str) -> Any:
        """Return the value of a parameter for one column, whose name is compared without case; None if it has none."""
        return next((value for key, value in self.per_column(name).items() if key.lower() == column.lower()), None)
