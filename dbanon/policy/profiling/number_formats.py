"""Whole numbers that are no quantities: dates, days that Excel counts, and zip codes without their leading zeros.

profile() reports them like dates and numbers that are stored as text (dbanon/policy/profiling/repairs.py), with the
statement that converts them. A name is needed where numbers alone do not show what they are.
"""

import re
from dataclasses import dataclass

from dbanon.policy.column_names import date_words
from dbanon.policy.column_names.hints import NameHints, split_words
from dbanon.policy.profiling import thresholds
from dbanon.sqltext.quote import Sql, literal_rows

MIN_DATES = 3
"""Minimum distinct values of a column of dates that are whole numbers."""

MAX_DAY = 65_380
"""The day of Excel that is the last one of 2078; later ones are no dates of people."""

MIN_LAST_DAY = 21_916
"""The first day of 1960, as Excel counts. A column of dates has later ones, and days since 1970 hardly reach it."""

MIN_MEDIAN_DAY = 15_000
"""A day of 1941: half of the values of a column of dates are later."""

_YEAR = "value // 10000 BETWEEN 1850 AND 2150"
_DAY_OR_ZERO = "value // 100 % 100 BETWEEN 0 AND 12 AND value % 100 BETWEEN 0 AND 31"
_DASHED = r"regexp_replace(regexp_replace({}, '^(\d{4})(\d{2})(\d{2})$', '\1-\2-\3'), '(-00)+$', '')"

PARTIAL_DATES_HINT = "what is unknown is removed, as in 1987-05; then hierarchy_dates builds a calendar"


@dataclass(frozen=True)
class NumberFormat:
    """A way to write something else as whole numbers.

    Attributes:
        type: The DuckDB type of what they mean.
        description: The format in words.
        is_readable: SQL condition of one `value`.
        is_likely: SQL condition of all values that have the format, in an aggregation; it may use `width`, the greatest
            number of digits.
        condition: SQL condition of one value as text, with `{}` for it, for statements.
        conversion: SQL expression of the converted value, with `{}` for the number as text and `[]` for the width.
        hint: A remark that is shown with the format.
        limits: Two numbers between which some usual values of such a column are.
    """

    type: str
    description: str
    is_readable: str
    is_likely: str
    condition: str
    conversion: str
    hint: str = ""
    limits: tuple[int, int] = (18_500_000, 21_501_231)


NUMBER_FORMATS = (
    NumberFormat(
        "DATE",
        "dates as whole numbers, %Y%m%d",
        f"CASE WHEN {_YEAR} AND {_DAY_OR_ZERO} "
        "THEN try_strptime(CAST(value AS VARCHAR), '%Y%m%d') IS NOT NULL ELSE false END",
        f"count(*) >= {MIN_DATES}",
        "coalesce(year(try_strptime({}, '%Y%m%d')) BETWEEN 1850 AND 2150, false)",
        "CAST(strptime({}, '%Y%m%d') AS DATE)",
    ),
    NumberFormat(
        "VARCHAR",
        "partial dates as whole numbers, %Y%m%d with 00 for what is unknown",
        f"{_YEAR} AND {_DAY_OR_ZERO} AND (value // 100 % 100 > 0 OR value % 100 = 0)",
        f"count(*) >= {MIN_DATES} AND bool_or(value % 100 = 0)",
        r"regexp_full_match({}, '(18[5-9]|19\d|20\d|21[0-5])\d(0000|(0[1-9]|1[0-2])([0-2]\d|3[01]))')",
        _DASHED,
        PARTIAL_DATES_HINT,
    ),
    NumberFormat(
        "DATE",
        "dates as numbers of days, as Excel counts them from 1899-12-30",
        f"value BETWEEN 1 AND {MAX_DAY}",
        f"count(*) >= {MIN_DATES} AND max(value) FILTER (WHERE value <= {MAX_DAY}) >= {MIN_LAST_DAY} "
        f"AND quantile_disc(value, 0.5) >= {MIN_MEDIAN_DAY} AND quantile_disc(value, 0.05) >= 3654 "
        "AND NOT bool_and(value // 100 % 100 BETWEEN 1 AND 12 AND value % 100 BETWEEN 1 AND 31)",
        f"coalesce(TRY_CAST({{}} AS INTEGER) BETWEEN 1 AND {MAX_DAY}, false)",
        "(DATE '1899-12-30' + CAST({} AS INTEGER))",
        "files of old versions of Excel for Mac count from 1904-01-01, which is 1,462 days later",
        (MIN_MEDIAN_DAY, MAX_DAY),
    ),
    NumberFormat(
        "VARCHAR",
        "zip codes that lost their leading zeros",
        "value >= 100",
        "any_value(width) BETWEEN 4 AND 6 "
        "AND bool_or(value >= 100 AND length(CAST(value AS VARCHAR)) BETWEEN width - 2 AND width - 1)",
        r"regexp_full_match({}, '[1-9]\d{2,5}')",
        "lpad({}, [], '0')",
        limits=(1000, 999_999),
    ),
)
"""Formats of whole numbers; of several that read all values of a column the first is chosen."""

COMPACT, PARTIAL, EXCEL_DAYS, ZIP_CODES = range(len(NUMBER_FORMATS))


_QUANTITIES = frozenset(("count", "counts", "number", "numbers", "total", "totals", "sum", "share", "anzahl", "nombre"))
"""Words in the names of columns whose numbers are quantities."""


def possible_formats(name: str, hints: NameHints) -> list[int]:
    """Return the indices in NUMBER_FORMATS of the formats that a column of whole numbers may have, by its name."""
    if hints.number or hints.direct or hints.subject or _QUANTITIES & set(split_words(name)):
        return []
    is_date = date_words.is_date_name(name) or hints.event is not None
    is_other = hints.key or hints.sensitive or hints.quasi or hints.neutral
    formats = [COMPACT, PARTIAL] if is_date or not is_other else []
    formats += [EXCEL_DAYS] if date_words.is_date_name(name) else []
    formats += [ZIP_CODES] if re.search(thresholds.POSTAL_WORDS, hints.quasi or "") else []
    return formats


def template_values() -> dict[str, object]:
    """Return the template values of the formats: SQL of their conditions, and rows of what is shown of them."""
    column_types = {"format_id": "INTEGER"}
    column_types |= dict.fromkeys(("type", "description", "condition", "conversion", "hint"), "VARCHAR")
    rows = [[i, *(getattr(f, column) for column in list(column_types)[1:])] for i, f in enumerate(NUMBER_FORMATS)]
    return {
        "conditions": [
            {
                "is_readable": Sql(f.is_readable),
                "is_likely": Sql(f"coalesce({f.is_likely}, false)"),
                "low": f.limits[0],
                "high": f.limits[1],
            }
            for f in NUMBER_FORMATS
        ],
        "forms": literal_rows(column_types, rows),
        "zip_codes": ZIP_CODES,
    }
