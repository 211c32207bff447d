"""Types of parameters: each validates values and describes itself.

`check(value)` returns the accepted value or raises ValueError; `str(type)` completes the sentence "k must be ..." if
the ValueError has no text.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import ClassVar, Protocol, TypeVar

from dbanon.sqltext.names import fold_case

_Number = TypeVar("_Number", int, float)


class ParameterType(Protocol):
    """The protocol of a parameter's type: it validates values, and its `str()` describes what is accepted."""

    def check(self, value: object) -> object:
        """Return the accepted value, possibly converted; raise ValueError if the value is invalid.

        The text of the ValueError describes what is accepted. If it is empty, the caller shows `str(self)`.
        """


class _ConstantDescription:
    """The base of types of which all instances accept the same values."""

    description: ClassVar[str]

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return self.description


MAX_SEED = 2**63 - 1
"""The greatest seed of a random number generator."""


@dataclass(frozen=True)
class Integer:
    """An integer from `low` to `high`; the default of `high` exceeds every reasonable table and memory size."""

    low: int
    high: int = 2**31 - 1

    def check(self, value: object) -> int:
        """Return the integer unchanged; raise ValueError for another type, a boolean or a number out of range."""
        if not isinstance(value, int) or isinstance(value, bool) or value < self.low:
            raise ValueError
        if value > self.high:
            raise ValueError(f"an integer of at most {self.high}")
        return value

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return f"an integer of at least {self.low}"


@dataclass(frozen=True)
class MoveCount(_ConstantDescription):
    """The number of moves that a search may make: an integer of at least 0."""

    description = (
        "an integer of at least 0 (a time such as '5s' only in create_release, anonymize, materialized views and "
        "the command line)"
    )

    def check(self, value: object) -> int:
        """Return the number of moves; raise ValueError unless it is an integer of at least 0."""
        return Integer(0).check(value)


@dataclass(frozen=True)
class Weight(_ConstantDescription):
    """A number from 0.000001 to 1000000, the weight of a column."""

    description = "a number from 0.000001 to 1000000"

    def check(self, value: object) -> float:
        """Return the number as a float; raise ValueError unless it is from 0.000001 to 1000000."""
        return Float(1e-6, 1e6).check(value)


@dataclass(frozen=True)
class Float:
    """A finite number from `low` to `high`; `low` itself is refused if `above`."""

    low: float
    high: float = math.inf
    above: bool = False

    def check(self, value: object) -> float:
        """Return the number as a float; raise ValueError if it is no finite number of the range, or a boolean."""
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
            raise ValueError
        if value > self.high or value < self.low or (self.above and value == self.low):
            raise ValueError
        return float(value)

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        if math.isinf(self.high):
            return f"a number above {self.low:g}" if self.above else f"a number of at least {self.low:g}"
        if self.above:
            return f"a number above {self.low:g} and at most {self.high:g}"
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Choice:
    """One of several words, which are in lower case, compared without case."""

    words: tuple[str, ...]

    def check(self, value: object) -> str:
        """Return the word in lower case; raise ValueError if it is none of `words`."""
        if not isinstance(value, str) or value.lower() not in self.words:
            raise ValueError
        return value.lower()

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return "one of " + ", ".join(f"'{w}'" for w in self.words)


@dataclass(frozen=True)
class Objective:
    """The loss that a search lowers: a word, or a struct or map with weights of precision and ncp."""

    words: tuple[str, ...] = ("precision", "ncp", "sse")

    def check(self, value: object) -> str | dict[str, float]:
        """Return the word in lower case, or the weights above 0 by word.

        A single weight above 0 is the same as its word. Raises ValueError for other words, and for weights that are no
        finite numbers of at least 0 or all 0.
        """
        if not isinstance(value, Mapping):
            return Choice(self.words).check(value)
        weights = {
            Choice(("precision", "ncp")).check(word): Float(0, 1e6).check(weight) for word, weight in value.items()
        }
        if len(weights) < len(value):
            raise ValueError("a struct or map with at most one weight each of precision and ncp")
        positive = {word: weights[word] for word in ("precision", "ncp") if weights.get(word)}
        if not positive:
            raise ValueError("a struct or map with at least one weight above 0")
        return next(iter(positive)) if len(positive) == 1 else positive

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        weights = "weights from 0 to 1000000 of precision and ncp, such as {'precision': 1, 'ncp': 2}"
        return f"{Choice(self.words)}, or {weights}"


@dataclass(frozen=True)
class Boolean(_ConstantDescription):
    """The value true or false."""

    description = "true or false"

    def check(self, value: object) -> bool:
        """Return the boolean; raise ValueError for any other value, also 0 and 1."""
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True)
class Text:
    """A text that is not empty; `description` says in messages what it is."""

    description: str = "a text"

    def check(self, value: object) -> str:
        """Return the text unchanged; raise ValueError if it is empty or no text."""
        if not isinstance(value, str) or not value:
            raise ValueError
        return value

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return self.description


@dataclass(frozen=True)
class NumberOrDate(_ConstantDescription):
    """A number or a date (given as text), returned as text."""

    description = "a number or a date"

    def check(self, value: object) -> str:
        """Return the number or text as text; raise ValueError if it is another type, a boolean or empty.

        It is not checked whether a text is a number or a date.
        """
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or value == "":
            raise ValueError
        return str(value)


@dataclass(frozen=True)
class Interval(_ConstantDescription):
    """Two bounds, each a number or a date given as text, returned as texts."""

    description = "two numbers or dates, the lower first"

    def check(self, value: object) -> tuple[str, str]:
        """Return the (low, high) pair as texts; raise ValueError unless it is a list of two numbers or texts.

        The order of the two is not checked here.
        """
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            raise ValueError
        low, high = (NumberOrDate().check(end) for end in value)
        return low, high


@dataclass(frozen=True)
class Codes(_ConstantDescription):
    """Values that mean a missing value, such as 'NA' or 999: a list of them, or one. NULL is always missing."""

    description = "a list of codes, such as ['NA', '999']"

    def check(self, value: object) -> tuple[str, ...]:
        """Return the different codes as texts, in order; raise ValueError if one is no text, number, date or time.

        A timestamp is written with a space between date and time.
        """
        codes = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(c, (str, int, float, Decimal, date, time)) and not isinstance(c, bool) for c in codes):
            raise ValueError
        return tuple(dict.fromkeys(c.isoformat(" ") if isinstance(c, datetime) else str(c) for c in codes))


@dataclass(frozen=True)
class ForColumns:
    """One value of the type `value_type` for all columns, or a struct or map from column names to such values."""

    value_type: ParameterType
    example: str

    def check(self, value: object) -> object:
        """Return the accepted value, or a dictionary of accepted values by column; raise ValueError if one is bad."""
        return (PerColumn(self.value_type, self.example) if isinstance(value, Mapping) else self.value_type).check(
            value
        )

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return f"{self.value_type}, for all columns, or {self.example} for some"


@dataclass(frozen=True)
class Columns(_ConstantDescription):
    """A list of different column names, or a single name; names are compared without case."""

    description = "a list of different column names, such as ['age', 'zip']"

    def check(self, value: object) -> tuple[str, ...]:
        """Return the names as a tuple; raise ValueError if one is no text or empty, or two differ at most in case."""
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names):
            raise ValueError
        if len({fold_case(n) for n in names}) < len(names):
            raise ValueError
        return tuple(names)


def _ordered_numbers(
    values: object, check: Callable[[object], _Number], descending: bool = False
) -> tuple[_Number, ...]:
    """Return different numbers in order, each as `check` returns it; raise ValueError if they are none, or no list."""
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError
    numbers = tuple(check(value) for value in values)
    if list(numbers) != sorted(set(numbers), reverse=descending):
        raise ValueError
    return numbers


@dataclass(frozen=True)
class Integers:
    """A list of different integers from `low` to `high`, ascending, or descending if `descending`.

    If `alone`, one integer is accepted too.
    """

    low: int
    descending: bool
    high: int = 2**31 - 1
    alone: bool = False

    def check(self, value: object) -> tuple[int, ...]:
        """Return the integers as a tuple; raise ValueError if they are invalid.

        They must be in the range, different, in order, and at least one; a single integer is accepted if `alone`.
        """
        if self.alone and isinstance(value, int):
            value = [value]
        return _ordered_numbers(value, Integer(self.low, self.high).check, self.descending)

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        order = "descending, such as [4, 3]" if self.descending else "ascending, such as [5, 10]"
        return f"a list of different integers of at least {self.low}, {order}{', or one of them' if self.alone else ''}"


@dataclass(frozen=True)
class Floats:
    """A list of different numbers from `low` to `high`, ascending, or one number."""

    low: float
    high: float

    def check(self, value: object) -> tuple[float, ...]:
        """Return the numbers as a tuple of floats; raise ValueError if they are invalid.

        At least one is needed; they must be in the range, different and ascending.
        """
        values = [value] if isinstance(value, (int, float)) else value
        return _ordered_numbers(values, Float(self.low, self.high).check)

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return f"a list of different numbers from {self.low:g} to {self.high:g}, ascending, or one of them"


@dataclass(frozen=True)
class Choices:
    """A list of some of several words, in the order of `words`, compared without case."""

    words: tuple[str, ...]

    def check(self, value: object) -> tuple[str, ...]:
        """Return the words as a tuple in lower case; raise ValueError if they are invalid.

        At least one is needed; all must occur in `words`, and in that order.
        """
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(w, str) for w in value):
            raise ValueError
        selected_words = tuple(str(w).lower() for w in value)
        if selected_words != tuple(w for w in self.words if w in selected_words):
            raise ValueError
        return selected_words

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return "a list of some of " + ", ".join(f"'{w}'" for w in self.words) + ", in this order"


@dataclass(frozen=True)
class Identifiers:
    """A list of different names of `objects` (their plural, for messages), in any order and case, or one name.

    `words` are the accepted names in lower case; None if any name is accepted here and the caller of `check` decides.
    """

    objects: str
    example: str
    words: tuple[str, ...] | None = None

    def check(self, value: object) -> tuple[str, ...]:
        """Return the names as a tuple in lower case; raise ValueError if they are invalid.

        At least one is needed; they must be different, and among `words` if these are given.
        """
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, (list, tuple)) or not names or not all(isinstance(n, str) and n for n in names):
            raise ValueError
        lower_names = tuple(str(n).lower() for n in names)
        if len(set(lower_names)) < len(lower_names):
            raise ValueError
        if self.words is not None and not set(lower_names) <= set(self.words):
            raise ValueError(f"a list of some of {', '.join(_abbreviate_endings(self.words))}")
        return lower_names

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return f"a list of different names of {self.objects}, such as {self.example}"


def _abbreviate_endings(words: tuple[str, ...], ending: str = "_clusters") -> list[str]:
    """Return words for a message; `word` and `word_clusters` are written as one, `word[_clusters]`, if both occur."""
    with_ending = {word for word in words if word.endswith(ending) and word.removesuffix(ending) in words}
    return [f"{word}[{ending}]" if word + ending in with_ending else word for word in words if word not in with_ending]


@dataclass(frozen=True)
class PerColumn:
    """A struct or map from column names to values of the type `value_type`, or one of `words`, each for such a map."""

    value_type: ParameterType
    example: str
    words: tuple[str, ...] = ()

    def check(self, value: object) -> dict[str, object] | str:
        """Return the accepted values by column name, or the word in lower case; raise ValueError if it is invalid.

        Two column names must not differ only in case.
        """
        if isinstance(value, str) and value.lower() in self.words:
            return value.lower()
        if not isinstance(value, Mapping):
            raise ValueError
        lower_names = [fold_case(str(name)) for name in value]
        if len(set(lower_names)) < len(lower_names):
            raise ValueError
        try:
            return {str(name): self.value_type.check(element) for name, element in value.items()}
        except ValueError as error:
            raise ValueError(*(f"{self.example} (for each column {reason})" for reason in error.args)) from None

    def __str__(self) -> str:
        """Return what is accepted, as the end of a message such as "k must be ..."."""
        return " or ".join([f"{self.example} (for each column {self.value_type})", *(f"'{w}'" for w in self.words)])


@dataclass(frozen=True)
class Tables(_ConstantDescription):
    """A list of different names of tables, or one name."""

    description = "a list of different names of tables, such as ['visits', 'labs'], or one of them"

    def check(self, value: object) -> tuple[str, ...]:
        """Return the names as a tuple; raise ValueError if they are invalid.

        At least one is needed; they must be texts that differ in more than case.
        """
        if not value:
            raise ValueError
        return Columns().check(value)


@dataclass(frozen=True)
class Key(_ConstantDescription):
    """The join key of two tables: pairs of a column of the table with many rows per person and one of the entity table.

    Given as a map from the first table's columns to the second's, or as names that both tables share.
    """

    description = "a column, a list of different columns, or {'patient_id': 'id'}"

    def check(self, value: object) -> tuple[tuple[str, str], ...]:
        """Return pairs (column of the many-row table, column of the entity table); raise ValueError if one is invalid.

        A list of names, or one name, means the equal name in both tables. At least one pair is required, and no name of
        either table may repeat, also in another case.
        """
        if not value:
            raise ValueError
        if not isinstance(value, Mapping):
            return tuple((name, name) for name in Columns().check(value))
        theirs = Columns().check([str(name) for name in value])
        return tuple(zip(theirs, Columns().check(list(value.values())), strict=True))
