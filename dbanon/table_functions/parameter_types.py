"""What the values of parameters must be: kinds that validate values and print themselves.

`check(value)` returns the accepted value or raises ValueError, `str(kind)` completes the sentence "k must be ..." where
the ValueError has no words for that, and `invalid` lists values that must be refused (the tests use them).
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Protocol


class Kind(Protocol):
    """What a parameter's value must be."""

    @property
    def invalid(self) -> tuple[object, ...]: ...

    def check(self, value: object) -> object: ...


SEEDS = 2**63 - 1
"""The greatest seed."""


@dataclass(frozen=True)
class Integer:
    """A whole number of at least `low`, and at most `high`: what nobody means and no table or memory can follow."""

    low: int
    high: int = 2**31 - 1

    @property
    def invalid(self) -> tuple[object, ...]:
        return (self.low - 1, 2.5, "ten", True, [self.low], self.high + 1, 2**127)

    def check(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < self.low:
            raise ValueError
        if value > self.high:
            raise ValueError(f"an integer of at most {self.high}")
        return value

    def __str__(self) -> str:
        return f"an integer of at least {self.low}"


@dataclass(frozen=True)
class Moves:
    """A number of moves of a search."""

    invalid: tuple[object, ...] = (-1, 2.5, "ten", "5s", True)

    def check(self, value: object) -> int:
        return Integer(0).check(value)

    def __str__(self) -> str:
        return "an integer of at least 0 (a time such as '5s': in materialize, anonymize and the command line)"


@dataclass(frozen=True)
class Weight:
    """A number from a millionth to a million."""

    invalid: tuple[object, ...] = (0, -1, "heavy", True, 1e-7, 1e7, float("nan"))

    def check(self, value: object) -> float:
        return Real(1e-6, 1e6).check(value)

    def __str__(self) -> str:
        return "a number from 0.000001 to 1000000"


@dataclass(frozen=True)
class Real:
    """A number between two ends; the lower one is excluded where `above`."""

    low: float
    high: float = math.inf
    above: bool = False

    @property
    def invalid(self) -> tuple[object, ...]:
        past = () if math.isinf(self.high) else (self.high + 0.1,)
        return (self.low if self.above else self.low - 0.1, "much", True, float("nan"), float("inf"), *past)

    def check(self, value: object) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
            raise ValueError
        if value > self.high or value < self.low or (self.above and value == self.low):
            raise ValueError
        return float(value)

    def __str__(self) -> str:
        if math.isinf(self.high):
            return f"a number above {self.low:g}" if self.above else f"a number of at least {self.low:g}"
        if self.above:
            return f"a number above {self.low:g} and at most {self.high:g}"
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]
    invalid: tuple[object, ...] = ("no such word", 1)

    def check(self, value: object) -> str:
        if not isinstance(value, str) or value.lower() not in self.words:
            raise ValueError
        return value.lower()

    def __str__(self) -> str:
        return "one of " + ", ".join(f"'{w}'" for w in self.words)


@dataclass(frozen=True)
class Flag:
    """true or false."""

    invalid: tuple[object, ...] = (1, "yes")

    def check(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Text:
    """A text that is not empty."""

    what: str = "a text"
    invalid: tuple[object, ...] = ("", 1)

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not value:
            raise ValueError
        return value

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Scalar:
    """A number or a text (a date is given as text)."""

    invalid: tuple[object, ...] = (True, [1])

    def check(self, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "":
            raise ValueError
        return str(value)

    def __str__(self) -> str:
        return "a number or a date"


@dataclass(frozen=True)
class Ends:
    """Two numbers or texts (a date is given as text), as texts."""

    invalid: tuple[object, ...] = (1, [1], [1, 2, 3], [1, None], [1, [2]], {"low": 1})

    def check(self, value: object) -> tuple[str, str]:
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            raise ValueError
        low, high = (Scalar().check(end) for end in value)
        return low, high

    def __str__(self) -> str:
        return "two numbers or dates, the lower first"


@dataclass(frozen=True)
class Codes:
    """Codes that stand for a missing value, as different texts; one may stand alone. NULL is missing anyway."""

    invalid: tuple[object, ...] = (True, [None], [["NA"]], [b"NA"], [True])

    def check(self, value: object) -> tuple[str, ...]:
        codes = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(c, (str, int, float, Decimal, date, time)) and not isinstance(c, bool) for c in codes):
            raise ValueError
        return tuple(dict.fromkeys(c.isoformat(" ") if isinstance(c, datetime) else str(c) for c in codes))

    def __str__(self) -> str:
        return "a list of codes, such as ['NA', '999']"


@dataclass(frozen=True)
class ForColumns:
    """Values of one kind for every column, or a struct or map from column names to them."""

    kind: Kind
    example: str

    @property
    def invalid(self) -> tuple[object, ...]:
        return (*self.kind.invalid, *({"a": bad} for bad in self.kind.invalid))

    def check(self, value: object) -> object:
        return (PerColumn(self.kind, self.example) if isinstance(value, Mapping) else self.kind).check(value)

    def __str__(self) -> str:
        return f"{self.kind}, for all columns, or {self.example} for some"


@dataclass(frozen=True)
class Columns:
    """A list of column names; a single name may stand alone."""

    invalid: tuple[object, ...] = (1, ["a", 2], [None], ["a", "A"], {"a": 1})

    def check(self, value: object) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names):
            raise ValueError
        if len({n.lower() for n in names}) < len(names):
            raise ValueError
        return tuple(names)

    def __str__(self) -> str:
        return "a list of different column names, such as ['age', 'zip']"


@dataclass(frozen=True)
class Integers:
    """A list of different whole numbers of at least `low`, in ascending or descending order; a single one may stand
    alone where `alone`."""

    low: int
    descending: bool
    high: int = 2**31 - 1
    alone: bool = False

    @property
    def invalid(self) -> tuple[object, ...]:
        return (
            self.low - 1 if self.alone else 5,
            True,
            [],
            [self.low - 1],
            [self.high + 1],
            [1.5],
            [2, 2],
            [4, 3] if not self.descending else [3, 4],
        )

    def check(self, value: object) -> tuple[int, ...]:
        if self.alone and isinstance(value, int):
            value = [value]
        if not isinstance(value, (list, tuple)) or not value:
            raise ValueError
        numbers = tuple(Integer(self.low, self.high).check(item) for item in value)
        if list(numbers) != sorted(set(numbers), reverse=self.descending):
            raise ValueError
        return numbers

    def __str__(self) -> str:
        order = "descending, such as [4, 3]" if self.descending else "ascending, such as [5, 10]"
        one = ", or one of them" if self.alone else ""
        return f"a list of different integers of at least {self.low}, {order}{one}"


@dataclass(frozen=True)
class Reals:
    """A list of different numbers between two ends, ascending; a single one may stand alone."""

    low: float
    high: float

    @property
    def invalid(self) -> tuple[object, ...]:
        return (self.low - 1, True, [], [self.high + 1], ["much"], [self.high, self.low], [self.low, self.low])

    def check(self, value: object) -> tuple[float, ...]:
        values = [value] if isinstance(value, (int, float)) else value
        if not isinstance(values, (list, tuple)) or not values:
            raise ValueError
        numbers = tuple(Real(self.low, self.high).check(item) for item in values)
        if list(numbers) != sorted(set(numbers)):
            raise ValueError
        return numbers

    def __str__(self) -> str:
        return f"a list of different numbers from {self.low:g} to {self.high:g}, ascending, or one of them"


@dataclass(frozen=True)
class Words:
    """A list of some of a few words, in their order."""

    words: tuple[str, ...]
    invalid: tuple[object, ...] = ("month", [], ["fortnight"], [1])

    def check(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(w, str) for w in value):
            raise ValueError
        chosen = tuple(str(w).lower() for w in value)
        if chosen != tuple(w for w in self.words if w in chosen):
            raise ValueError
        return chosen

    def __str__(self) -> str:
        return "a list of some of " + ", ".join(f"'{w}'" for w in self.words) + ", in this order"


@dataclass(frozen=True)
class Names:
    """A list of different names of things, in any order and case; a single one may stand alone.

    `words` are those there are; None: who uses them knows.
    """

    what: str
    example: str
    words: tuple[str, ...] | None = None

    @property
    def invalid(self) -> tuple[object, ...]:
        return (1, [], [1], ["a", "A"], {"a": 1}, *((["no such name"],) if self.words else ()))

    def check(self, value: object) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, (list, tuple)) or not names or not all(isinstance(n, str) and n for n in names):
            raise ValueError
        lowered = tuple(str(n).lower() for n in names)
        if len(set(lowered)) < len(lowered):
            raise ValueError
        if self.words is not None and not set(lowered) <= set(self.words):
            raise ValueError(f"a list of some of {', '.join(_forms(self.words))}")
        return lowered

    def __str__(self) -> str:
        return f"a list of different names of {self.what}, such as {self.example}"


def _forms(words: tuple[str, ...], ending: str = "_clusters") -> list[str]:
    """Return words, with those that others have an ending more than said in one: a list of all of them is long."""
    ended = {word for word in words if word.endswith(ending) and word.removesuffix(ending) in words}
    return [f"{word}[{ending}]" if word + ending in ended else word for word in words if word not in ended]


@dataclass(frozen=True)
class PerColumn:
    """A struct or map from column names to values of one kind; or one of a few words, each of which stands for one."""

    kind: Kind
    example: str
    words: tuple[str, ...] = ()

    @property
    def invalid(self) -> tuple[object, ...]:
        return (1, ["a"], "no such word", *({"a": bad} for bad in self.kind.invalid))

    def check(self, value: object) -> dict[str, object] | str:
        if isinstance(value, str) and value.lower() in self.words:
            return value.lower()
        if not isinstance(value, Mapping):
            raise ValueError
        lowered = [str(name).lower() for name in value]
        if len(set(lowered)) < len(lowered):
            raise ValueError
        try:
            return {str(name): self.kind.check(item) for name, item in value.items()}
        except ValueError as error:
            raise ValueError(*(f"{self.example} ({said} a column)" for said in error.args)) from None

    def __str__(self) -> str:
        return " or ".join([f"{self.example} ({self.kind} a column)", *(f"'{w}'" for w in self.words)])


@dataclass(frozen=True)
class Tables:
    """A list of different names of tables; a single one may stand alone."""

    invalid: tuple[object, ...] = (1, [], [1], ["a", "A"], {"a": 1})

    def check(self, value: object) -> tuple[str, ...]:
        if not value:
            raise ValueError
        return Columns().check(value)

    def __str__(self) -> str:
        return "a list of different names of tables, such as ['visits', 'labs'], or one of them"


@dataclass(frozen=True)
class Key:
    """Columns that two tables share, as pairs: of the table with many rows a person, and of that of people."""

    invalid: tuple[object, ...] = (1, [], {}, ["a", "A"], {"a": 1}, {"a": "b", "c": "B"})

    def check(self, value: object) -> tuple[tuple[str, str], ...]:
        if not value:
            raise ValueError
        if not isinstance(value, Mapping):
            return tuple((name, name) for name in Columns().check(value))
        theirs = Columns().check([str(name) for name in value])
        return tuple(zip(theirs, Columns().check(list(value.values())), strict=True))

    def __str__(self) -> str:
        return "a column, a list of different columns, or {'patient_id': 'id'}"
