"""The validated parameters of a call, with typed access by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dbanon.sqltext.names import fold_case


@dataclass(frozen=True, eq=False)
class Options(Mapping[str, Any]):
    """A mapping from the name of each parameter to its validated value or default, with access by type.

    Each typed method returns None (`columns` and `per_column`: empty) if the parameter is not given and has no default.
    """

    values_by_name: Mapping[str, object]

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter; KeyError if the function has no such parameter."""
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the names of the parameters."""
        return iter(self.values_by_name)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self.values_by_name)

    def text(self, name: str) -> str | None:
        """Return the value of a parameter as text; None if it has none."""
        value = self.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> float | None:
        """Return the value of a parameter as a float; None if it has none."""
        value = self.get(name)
        return None if value is None else float(value)

    def integer(self, name: str) -> int | None:
        """Return the value of a parameter as an integer; None if it has none."""
        value = self.get(name)
        return None if value is None else int(value)

    def sequence(self, name: str) -> tuple[Any, ...] | None:
        """Return the value of a list parameter (columns, words or numbers) as a tuple; None if it has none."""
        value = self.get(name)
        return None if value is None else tuple(value)

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the column names of a list parameter; an empty tuple if it is not given."""
        return self.sequence(name) or ()

    def per_column(self, name: str) -> Mapping[str, Any]:
        """Return the values of a parameter by column; empty if it is not given or is one value for all columns."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def of_column(self, name: str, column: str) -> Any:
        """Return the value of a per-column parameter for one column; None if there is none.

        Names are compared without case. One value for all columns is not considered.
        """
        return next(
            (value for key, value in self.per_column(name).items() if fold_case(key) == fold_case(column)), None
        )
