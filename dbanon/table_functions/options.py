"""The parameters of a call as values: read by name, as what their types promise."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Options(Mapping[str, Any]):
    """Validated parameters by name, those too that were not given.

    Each method reads one that is of its type; None stands for what was not given and has no default.
    """

    given: Mapping[str, object]

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def text(self, name: str) -> str | None:
        """Return a word."""
        value = self.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> float | None:
        """Return a number."""
        value = self.get(name)
        return None if value is None else float(value)

    def whole(self, name: str) -> int | None:
        """Return a whole number."""
        value = self.get(name)
        return None if value is None else int(value)

    def listed(self, name: str) -> tuple[Any, ...] | None:
        """Return columns, words or numbers of a list."""
        value = self.get(name)
        return None if value is None else tuple(value)

    def columns(self, name: str) -> tuple[str, ...]:
        """Return columns of a list; none where it is not given."""
        return self.listed(name) or ()

    def per_column(self, name: str) -> Mapping[str, Any]:
        """What is said of single columns; nothing where a word stands for all of them."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def of_column(self, name: str, column: str) -> Any:
        """Return the same of one column, however the call spells it."""
        return next((value for key, value in self.per_column(name).items() if key.lower() == column.lower()), None)
