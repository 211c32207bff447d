"""Published dates in plain Python: the text of an interval under a calendar grid, and the interval of a text."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta

DAY = timedelta(days=1)
MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}


def cell(day: date, grid: str) -> tuple[date, date]:
    """Return the first and the last day of the grid's cell that a day is in."""
    if grid == "week":
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=6)
    if grid in ("day", "none"):
        return day, day
    length = MONTHS[grid]
    month = (day.year * 12 + day.month - 1) // length * length
    new_month = month + length
    return date(month // 12, month % 12 + 1, 1), date(new_month // 12, new_month % 12 + 1, 1) - DAY


def text(days: list[date], grid: str, top: date | None = None, bottom: date | None = None) -> str:
    """Return the published text of some days: whole months, quarters or years if possible, else days."""
    coded_minimums = [d if top is None else min(d, top) for d in days]
    coded_minimums = [d if bottom is None else max(d, bottom) for d in coded_minimums]
    low, high = cell(min(coded_minimums), grid)[0], cell(max(coded_minimums), grid)[1]
    under, over = bottom is not None and low <= bottom, top is not None and high >= top
    if top is not None and over:
        high = top
    if bottom is not None and under:
        low = bottom
    if top is not None and min(coded_minimums) >= top:
        low, under = top, False
    if bottom is not None and max(coded_minimums) <= bottom:
        high, over = bottom, False
    unit = {"month": "month", "quarter": "quarter"}.get(grid, "year" if grid in MONTHS else "day")
    begins = low + DAY if under else low
    new_high = high if over else high + DAY
    if not (_begins(begins, unit) and _begins(new_high, unit)):
        unit = "day"
    if low == top:
        return ">=" + _period_name(low, unit)
    if high == bottom:
        return "<=" + _period_name(high, unit)
    first, last = _period_name(low, unit), _period_name(high, unit)
    if first == last:
        return first
    return f"[{'<=' * under}{first}, {'>=' * over}{last}]"


def _begins(day: date, unit: str) -> bool:
    months = {"month": range(1, 13), "quarter": (1, 4, 7, 10), "year": (1,)}
    return unit == "day" or (day.day == 1 and day.month in months[unit])


def _period_name(day: date, unit: str) -> str:
    """Return the published name of the period that a day is in."""
    names = {
        "day": f"{day.year:04}-{day.month:02}-{day.day:02}",
        "month": f"{day.year:04}-{day.month:02}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "year": f"{day.year:04}",
    }
    return names[unit]


def ends(text: str) -> tuple[date | None, date | None]:
    """Return the first and the last day of a published text; None for an open end."""
    first, _, last = text.strip("[]").partition(", ")
    last = last or first
    low = None if first.startswith("<=") else _days(first.removeprefix(">="))[0]
    high = None if last.startswith(">=") else _days(last.removeprefix("<="))[1]
    return low, high


def _days(period: str) -> tuple[date, date]:
    """Return the days of a day, a month, a quarter or a year."""
    if quarter := re.fullmatch(r"(\d{4})-Q([1-4])", period):
        year, last = int(quarter[1]), int(quarter[2]) * 3
        return date(year, last - 2, 1), date(year, last, calendar.monthrange(year, last)[1])
    numbers = [int(n) for n in period.split("-")]
    if len(numbers) == 1:
        return date(numbers[0], 1, 1), date(numbers[0], 12, 31)
    if len(numbers) == 2:
        return date(*numbers, 1), date(*numbers, calendar.monthrange(*numbers)[1])
    return date(*numbers), date(*numbers)
