"""The parameters of the table functions, as data that validate values and print themselves.

A `Kind` says what a value must be: `check(value)` returns the accepted value or raises ValueError, `str(kind)`
completes the sentence "k must be ...", and `invalid` lists values that must be refused (the tests use them).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dbanon import errors


class Kind(Protocol):
    """What a parameter's value must be."""

    @property
    def invalid(self) -> tuple[object, ...]: ...

    def check(self, value: object) -> object: ...


@dataclass(frozen=True)
class Integer:
    """A whole number of at least `low`."""

    low: int

    @property
    def invalid(self) -> tuple[object, ...]:
        return (self.low - 1, 2.5, "ten", True, [self.low])

    def check(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < self.low:
            raise ValueError
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
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ValueError
        if not (math.isfinite(value) and 1e-6 <= value <= 1e6):
            raise ValueError
        return float(value)

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
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
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
    """A list of different whole numbers of at least `low`, in ascending or descending order."""

    low: int
    descending: bool

    @property
    def invalid(self) -> tuple[object, ...]:
        return (5, [], [self.low - 1], [1.5], [2, 2], [4, 3] if not self.descending else [3, 4])

    def check(self, value: object) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise ValueError
        numbers = tuple(Integer(self.low).check(item) for item in value)
        if list(numbers) != sorted(set(numbers), reverse=self.descending):
            raise ValueError
        return numbers

    def __str__(self) -> str:
        order = "descending, such as [4, 3]" if self.descending else "ascending, such as [5, 10]"
        return f"a list of different integers of at least {self.low}, {order}"


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
        return {str(name): self.kind.check(item) for name, item in value.items()}

    def __str__(self) -> str:
        return " or ".join([f"{self.example} ({self.kind} a column)", *(f"'{w}'" for w in self.words)])


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, what it accepts, its default and one sentence for the documentation."""

    name: str
    kind: Kind
    doc: str
    default: object = None
    required: bool = False
    example: str = ""


K = Parameter(
    "k",
    Integer(2),
    "Least number of records (of persons, if a person column is declared) in every equivalence class.",
    required=True,
    example="k = 10",
)

COMMON: tuple[Parameter, ...] = (
    K,
    Parameter("qi", Columns(), "Quasi-identifiers, in order; declared ones that are left out are withheld."),
    Parameter("sensitive", Columns(), "Sensitive columns, published unchanged."),
    Parameter(
        "hierarchies",
        PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"),
        "Hierarchy of a column: a stored or shipped one by name, or ARX rows as text, 'M;*\\nF;*'.",
    ),
    Parameter("person", Text("a column name"), "The column that tells data subjects apart; withheld."),
    Parameter(
        "weights",
        PerColumn(Weight(), "{'age': 2}", ("influence",)),
        "Weight of a column in distances; default 1. influence: what it tells of the sensitive columns, as influence() "
        "with its default settings, over the average, times the declared weight.",
    ),
    Parameter(
        "nulls",
        Choice(("keep", "drop", "error")),
        "NULL in a quasi-identifier: a value of its own, a reason to leave the row out (reported), or an error.",
        "keep",
    ),
    Parameter(
        "intervals",
        Choice(("text", "bounds", "struct")),
        "How ranges are published: '[25, 29]', two typed columns age_min and age_max, or a struct of both.",
        "text",
    ),
    Parameter("other", Columns(), "Columns that are neither, published unchanged; rare values are refused."),
    Parameter("identifier", Columns(), "Columns that identify people directly; withheld."),
    Parameter("withhold", Columns(), "Columns to leave out of this release."),
    Parameter("allow_rare", Columns(), "Columns of role other whose values below k are accepted."),
    Parameter(
        "min_level", PerColumn(Integer(0), "{'zip': 1}"), "Least number of steps up the hierarchy for every value."
    ),
    Parameter(
        "max_level", PerColumn(Integer(0), "{'zip': 2}"), "Greatest number of steps up the hierarchy for any value."
    ),
    Parameter("top", PerColumn(Scalar(), "{'age': 90}"), "Values above are published as >= top."),
    Parameter("bottom", PerColumn(Scalar(), "{'age': 18}"), "Values below are published as <= bottom."),
    Parameter(
        "grid",
        PerColumn(Scalar(), "{'age': 5, 'born': 'year'}"),
        "Interval ends snap outward to multiples of a number, or to day, week, month, quarter, year, decade; 'none'.",
    ),
    Parameter(
        "round",
        PerColumn(Scalar(), "{'age': 10, 'zip': 2}"),
        "Publish less closely than records allow: of a number or a date, its grid; of a category, only inner nodes "
        "whose number of steps from the root is a multiple of this.",
    ),
    Parameter("l", Integer(2), "l-diversity: least number of well-represented sensitive values in every class."),
    Parameter(
        "diversity",
        Choice(("distinct", "entropy", "recursive")),
        "How l counts values: different ones (default), exp of their entropy, or recursive (c, l)-diversity.",
    ),
    Parameter("c", Real(0, above=True), "c of recursive (c, l)-diversity; default 2."),
    Parameter("t", Real(0, 1), "t-closeness: greatest earth mover's distance of a class from the whole table."),
    Parameter(
        "emd",
        Choice(("equal", "ordered", "hierarchical")),
        "Distance of two sensitive values for t: equal (default), by rank (of the leaves of the column's hierarchy "
        "where it has one, else of the values), or by the hierarchy.",
    ),
    Parameter("alpha", Real(0, 1, above=True), "(alpha, k)-anonymity: greatest share of a sensitive value in a class."),
    Parameter("p", Integer(2), "p-sensitive k-anonymity: least number of different sensitive values in every class."),
    Parameter(
        "beta",
        Real(0, above=True),
        "beta-likeness: greatest relative gain of a sensitive value's share in a class over the whole table.",
    ),
    Parameter(
        "likeness",
        Choice(("basic", "enhanced")),
        "Of beta-likeness: basic (default), or enhanced, which also bounds the gain by -ln of the share in the table.",
    ),
    Parameter(
        "multi",
        Choice(("independent", "joint")),
        "Several sensitive columns: each judged in the whole class (default), or within equal values of the others.",
    ),
    Parameter(
        "suppress",
        Real(0, 1),
        "Greatest share of the records that may be left out as outliers where that lowers the average loss of the "
        "others; reported in metrics and classes.",
        0.0,
    ),
    Parameter(
        "improve",
        Moves(),
        "Moves of a local search that lowers the loss of the finished classes while the whole model keeps holding; "
        "20000 is a good start. In materialize, anonymize and the command line also a time, '5s'.",
    ),
    Parameter("escape", Flag(), "Accept values that equal '*' or an inner label; publish them as \\value.", False),
    Parameter(
        "eloss_height",
        Choice(("top", "sub")),
        "Height of an inner node in the loss: from the root down, or of its own subtree (KACPC paper, Eq. 1).",
        "top",
    ),
)


def validated(function: str, parameters: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, object]:
    """Accepted values of all parameters by name, defaults filled in.

    Raises UnknownParameter, MissingArgument or InvalidArgument. NULL means "not given".
    """
    by_name = {p.name: p for p in parameters}
    for name in given:
        if name.lower() not in by_name:
            raise errors.UnknownParameter(function, name, by_name)
    lowered = {name.lower(): value for name, value in given.items()}
    accepted: dict[str, object] = {}
    for name, parameter in by_name.items():
        value = lowered.get(name)
        if value is None:
            if parameter.required:
                raise errors.MissingArgument(function, name, str(parameter.kind), parameter.example)
            accepted[name] = parameter.default
            continue
        try:
            accepted[name] = parameter.kind.check(value)
        except ValueError:
            raise errors.InvalidArgument(function, name, str(parameter.kind), shown(value)) from None
    return accepted


def shown(value: object) -> str:
    """A value as SQL would show it, shortened."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
