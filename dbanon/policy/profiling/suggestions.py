"""Suggest how a quasi-identifier could be generalized, from its values: a built hierarchy, a `top`, a `rounding`.

A person decides about the suggestions; `dbanon init` asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbanon.policy.column_names.category_names import MAX_CODES, is_category_name
from dbanon.policy.profiling import thresholds
from dbanon.source.catalog import Cursor, Source
from dbanon.source.column_types import CALENDAR_FAMILIES, NUMERIC_FAMILIES, family, person_value
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.sqltext.templates import fill

MIN_TOP_SHARE = 0.995
"""Minimum share of records that a suggested top leaves unchanged."""

CALENDAR_LEVELS = ("month", "quarter", "year", "decade")
"""Levels of a suggested calendar hierarchy."""

_CALENDAR_ARGUMENT = Sql(f"levels := [{join_sql(map(text, CALENDAR_LEVELS))}]")

PARTIAL_DATE = r"(18[5-9]|19\d|20\d|21[0-5])\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])(T.*)?)?)?"
"""A date whose day, or month and day, may be missing."""

MIN_YEARS_BY_YEAR = 20
"""Minimum number of years of dates for which a grid of years is suggested."""

MIN_YEARS_BY_QUARTER = 3
"""Minimum number of years of dates for which a grid of quarters is suggested; below, months are the default."""

MAX_INTERVALS = 20
"""Approximate maximum number of intervals on the lowest level of a suggested hierarchy of numbers."""

MAX_TRIVIAL_VALUES = 10
"""Maximum number of distinct values for which no levels are suggested."""


@dataclass(frozen=True)
class SuggestedHierarchy:
    """A hierarchy that could be built from the values of a column.

    Attributes:
        builder: NAME of the function hierarchy_NAME that builds it: flat, prefix, intervals or dates.
        argument: The named parameter of that function as SQL, such as `keep := [3, 2]`; None for flat.
        levels: Number and name of the values on each level, from the leaves up.
    """

    builder: str
    argument: Sql | None
    levels: tuple[tuple[int, str], ...]

    @property
    def preview(self) -> str:
        """The levels of the hierarchy in words, such as `90 values, 12 of width 10, *`."""
        level_texts = (
            f"{n:,} {level_name.removesuffix('s') if n == 1 else level_name}" for n, level_name in self.levels
        )
        return f"{', '.join(level_texts)}, *"

    def rows(self, name: str, source: Source, column: str) -> Sql:
        """Return SQL that builds the hierarchy from a column as rows for dbanon.hierarchy; `name` is its name there."""
        arguments = [text(name), text(source.sql), text(column), *([self.argument] if self.argument else [])]
        return Sql(f"FROM hierarchy_{self.builder}({join_sql(arguments)})")

    @property
    def is_coarser(self) -> bool:
        """Whether it publishes no more than the column without a hierarchy: `*` in place of a range of codes."""
        return self.builder == "flat"


@dataclass(frozen=True)
class Suggestions:
    """Suggested settings of a quasi-identifier; None for each setting without a suggestion.

    `grid` is a calendar unit for the setting `rounding`.
    """

    hierarchy: SuggestedHierarchy | None = None
    top: str | None = None
    grid: str | None = None


def suggest_settings(
    cursor: Cursor, source: Source, column: str, person: str | None, k: int, codes: Sequence[str]
) -> Suggestions:
    """Suggest settings of a quasi-identifier, by its type and values.

    Codes of one length get a hierarchy of prefixes, numbers that are codes of categories a flat one, other numbers a
    hierarchy of intervals and a `top`, and dates a calendar hierarchy and a grid. Texts that are dates, of which some
    have no day, get a calendar hierarchy. Other texts and types get none. Columns with at most MAX_TRIVIAL_VALUES
    distinct values that are no codes get none, either. O(n log n).

    Args:
        cursor: A cursor that runs queries.
        source: The table.
        column: The column.
        person: The column that identifies persons; None without one.
        k: Fewer than k persons (else records) have values above a suggested `top`.
        codes: Codes for missing values, which are not considered.
    """
    type_ = source.columns[column]
    kind = family(type_)[0]
    values: dict[str, object] = {
        "source": source.sql,
        "value": identifier(column),
        "who": None if person is None else person_value(identifier(person), source.columns[person]),
        "codes": join_sql(text(code) for code in codes),
        "k": k,
        "top": Sql(str(MIN_TOP_SHARE)),
        "nearly": Sql(str(thresholds.NEARLY_ALL_SHARE)),
        "partial_date": text(PARTIAL_DATE),
        "few_rows": thresholds.MIN_UNIQUENESS_RECORDS,
    }

    def query_row(template: str) -> tuple[Any, ...]:
        """Return the first row of the template suggest_NAME.sql, filled with `values`."""
        query = qualify_builtins(fill(f"policy/profiling/suggest_{template}.sql", **values))
        return tuple(cursor.execute(query).fetchall()[0])

    if type_ == "VARCHAR":
        prefixes = _suggest_prefixes(*query_row("prefixes"))
        return Suggestions(prefixes or _suggest_calendar_of_texts(*query_row("partial_dates")))
    if kind in NUMERIC_FAMILIES:
        minimum, maximum, n_distinct, top = query_row("numbers")
        if 1 < n_distinct <= MAX_CODES and is_category_name(column):
            return Suggestions(SuggestedHierarchy("flat", None, ((n_distinct, "codes"),)))
        if n_distinct <= MAX_TRIVIAL_VALUES:
            return Suggestions()
        widths = _interval_widths(maximum - minimum)
        values["widths"] = [Sql(str(width)) for width in widths]
        counts = query_row("intervals")
        level_names = ["values", *(f"of width {width:,}" for width in widths)]
        hierarchy = SuggestedHierarchy(
            "intervals", _list_argument("widths", widths), tuple(zip(counts, level_names, strict=True))
        )
        return Suggestions(hierarchy, top=None if top is None else f"{top:.0f}")
    if kind in CALENDAR_FAMILIES:
        values["zoned"] = type_ == "TIMESTAMP WITH TIME ZONE"
        n_years, *counts_by_level = query_row("dates")
        if counts_by_level[0] <= MAX_TRIVIAL_VALUES:
            return Suggestions()
        date_level_names = ["days" if kind == "date" else "values", *(f"{level}s" for level in CALENDAR_LEVELS)]
        hierarchy = SuggestedHierarchy(
            "dates",
            _CALENDAR_ARGUMENT,
            tuple(zip(counts_by_level, date_level_names, strict=True)),
        )
        return Suggestions(
            hierarchy,
            grid="year" if n_years >= MIN_YEARS_BY_YEAR else "quarter" if n_years >= MIN_YEARS_BY_QUARTER else None,
        )
    return Suggestions()


def _suggest_prefixes(n_distinct: int, length: int | None, *counts: int) -> SuggestedHierarchy | None:
    """Return a hierarchy of prefixes for codes that all have one length; None for other texts or few distinct values.

    Its levels keep up to three lengths: one, two and three characters less than the codes.

    Args:
        n_distinct: Number of distinct values; at most MAX_TRIVIAL_VALUES are few.
        length: The common length; None if there is none.
        *counts: Numbers of distinct prefixes of length - 1, length - 2 and so on.
    """
    if length is None or n_distinct <= MAX_TRIVIAL_VALUES:
        return None
    keep = list(range(length - 1, max(length - 4, 0), -1))
    level_names = ["values", *(f"of {n} characters" for n in keep)]
    return SuggestedHierarchy(
        "prefix", _list_argument("keep", keep), tuple(zip((n_distinct, *counts), level_names, strict=False))
    )


def _suggest_calendar_of_texts(n_distinct: int, are_dates: bool, *counts: int) -> SuggestedHierarchy | None:
    """Return a calendar hierarchy of texts that are dates; None for other texts or few distinct values.

    Args:
        n_distinct: Number of distinct values; at most MAX_TRIVIAL_VALUES are few.
        are_dates: Whether nearly all of them are dates, some without a day.
        *counts: Numbers of distinct months, quarters, years and decades.
    """
    if not are_dates or n_distinct <= MAX_TRIVIAL_VALUES:
        return None
    level_names = ["values", *(f"{level}s" for level in CALENDAR_LEVELS)]
    return SuggestedHierarchy("dates", _CALENDAR_ARGUMENT, tuple(zip((n_distinct, *counts), level_names, strict=True)))


def _list_argument(name: str, numbers: Sequence[int]) -> Sql:
    """Return a named parameter with a list of numbers as SQL: `name := [1, 2]`."""
    return Sql(f"{name} := [{', '.join(map(str, numbers))}]")


def _interval_widths(span: float) -> list[int]:
    """Return three interval widths, each twice the one before, for values that extend over `span`.

    The first is the least of 1, 2, 5, 10, 20, 50 and so on that divides `span` into at most MAX_INTERVALS intervals.
    """
    width, factors = 1, (2, 5, 10)
    while span / width > MAX_INTERVALS:
        power = 10 ** (len(str(width)) - 1)
        width = next(power * factor for factor in factors if power * factor > width)
    return [width, 2 * width, 4 * width]
