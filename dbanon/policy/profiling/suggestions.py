"""How a quasi-identifier could be generalized, from its values: a hierarchy that is built, a `top`, a `grid`.

They are for a person to take; `dbanon init` asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbanon.policy.profiling import thresholds
from dbanon.source.catalog import Cursor, Source
from dbanon.source.column_types import family, person_value
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.sqltext.templates import fill

TOP = 0.995
"""Share of the records that a proposed top leaves as they are, at the least."""

LEVELS = ("month", "quarter", "year", "decade")
"""Levels of a calendar that is offered."""

YEARS, QUARTERS = 20, 3
"""So many years of dates, from which a grid of years, and of quarters, is proposed; below, months are the default."""

INTERVALS = 20
"""Most intervals on the lowest level of a hierarchy of numbers that is offered, about."""

FEW = 10
"""Values up to which there is nothing to build levels of."""


@dataclass(frozen=True)
class Built:
    """A hierarchy that could be built: `builder` is hierarchy_NAME, `argument` its parameter as SQL.

    `levels` are how many values there are on each level from the leaves up, each with what it is called.
    """

    builder: str
    argument: Sql
    levels: tuple[tuple[int, str], ...]

    @property
    def preview(self) -> str:
        """The levels in words."""
        said = (f"{n:,} {called.removesuffix('s') if n == 1 else called}" for n, called in self.levels)
        return f"{', '.join(said)}, *"

    def rows(self, name: str, source: Source, column: str) -> Sql:
        """Return SQL of the rows of the hierarchy under a name."""
        return Sql(f"FROM hierarchy_{self.builder}({text(name)}, {text(source.sql)}, {text(column)}, {self.argument})")


@dataclass(frozen=True)
class Offers:
    """What could be said of a quasi-identifier beside its role; None where there is nothing to say."""

    built: Built | None = None
    top: str | None = None
    grid: str | None = None


def offers(cursor: Cursor, source: Source, column: str, person: str | None, k: int, codes: Sequence[str]) -> Offers:
    """Offers for a column: of texts that are codes of one length their beginnings; of numbers intervals, and as `top`
    what fewer than k persons (records) go beyond; of dates a calendar and a grid. `codes` stand for missing values.

    O(n log n).
    """
    type_ = source.columns[column]
    kind = family(type_)[0]
    values: dict[str, object] = {
        "source": source.sql,
        "value": identifier(column),
        "who": None if person is None else person_value(identifier(person), source.columns[person]),
        "codes": join_sql(text(code) for code in codes),
        "k": k,
        "top": Sql(str(TOP)),
        "nearly": Sql(str(thresholds.NEARLY)),
        "few_rows": thresholds.FEW_ROWS,
    }

    def row(template: str) -> tuple[Any, ...]:
        found: tuple[Any, ...] = cursor.execute(
            qualify_builtins(fill(f"policy/profiling/suggest_{template}.sql", **values))
        ).fetchall()[0]
        return found

    if type_ == "VARCHAR":
        return Offers(_prefix(*row("prefixes")))
    if kind in ("integer", "huge", "decimal", "float"):
        least, most, distinct, top = row("numbers")
        if distinct <= FEW:
            return Offers()
        widths = _widths(most - least)
        values["widths"] = [Sql(str(width)) for width in widths]
        counts = row("intervals")
        called = ["values", *(f"of width {width:,}" for width in widths)]
        built = Built("intervals", _listed("widths", widths), tuple(zip(counts, called, strict=True)))
        return Offers(built, top=None if top is None else f"{top:.0f}")
    if kind in ("date", "timestamp", "nanos"):
        values["zoned"] = type_ == "TIMESTAMP WITH TIME ZONE"
        years, *found = row("dates")
        if found[0] <= FEW:
            return Offers()
        counted = ["days" if kind == "date" else "values", *(f"{level}s" for level in LEVELS)]
        built = Built(
            "dates", Sql(f"levels := [{join_sql(map(text, LEVELS))}]"), tuple(zip(found, counted, strict=True))
        )
        return Offers(built, grid="year" if years >= YEARS else "quarter" if years >= QUARTERS else None)
    return Offers()


def _prefix(distinct: int, length: int | None, *counts: int) -> Built | None:
    """Beginnings of codes that all have one length; None for other texts."""
    if length is None or distinct <= FEW:
        return None
    keep = list(range(length - 1, max(length - 4, 0), -1))
    called = ["values", *(f"of {n} characters" for n in keep)]
    return Built("prefix", _listed("keep", keep), tuple(zip((distinct, *counts), called, strict=False)))


def _listed(name: str, numbers: Sequence[int]) -> Sql:
    return Sql(f"{name} := [{', '.join(map(str, numbers))}]")


def _widths(span: float) -> list[int]:
    """Return three widths, each twice the one before, the first 1, 2 or 5 times a power of ten."""
    width, factors = 1, (2, 5, 10)
    while span / width > INTERVALS:
        power = 10 ** (len(str(width)) - 1)
        width = next(power * factor for factor in factors if power * factor > width)
    return [width, 2 * width, 4 * width]
