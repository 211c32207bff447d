"""Numbers and dates at the ends of their types: distances, losses and grids are those of exact arithmetic."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import pytest

import dbanon

HUGE = 2**127 - 1
NINES = 10**38 - 1


def table(con: Any, type_: str, values: Sequence[object], times: int = 2) -> None:
    """Create a table t(uid, v) with every value `times` times."""
    con.execute(f"CREATE OR REPLACE TABLE t (uid INTEGER, v {type_})")
    rows = [(i, str(v)) for i, v in enumerate(list(values) * times)]
    con.execute(f"INSERT INTO t VALUES {', '.join(['(?, ?)'] * len(rows))}", [x for row in rows for x in row])


def ends(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"\[(.*), (.*)\]", text)
    return (match[1], match[2]) if match else (text, text)


def intervals(con: Any, call: str) -> dict[str, list[tuple[str, str]]]:
    """Return the published ends of each value, as texts."""
    result: dict[str, list[tuple[str, str]]] = {}
    for value, text in con.execute(f"SELECT t.v::VARCHAR, r.v FROM {call} AS r JOIN t USING (uid)").fetchall():
        result.setdefault(value, []).append(ends(text))
    return result


# --- distances and losses ---------------------------------------------------------------------------------

NEAR: list[tuple[str, list[int], int]] = [
    ("HUGEINT", [10**37 + i for i in (0, 1, 2, 3, 50, 51, 52, 1000)], 0),
    ("HUGEINT", [-HUGE - 1, -HUGE, -HUGE + 2, -HUGE + 7], 0),
    ("HUGEINT", [-HUGE - 1, -HUGE, HUGE - 1, HUGE], 0),
    ("UHUGEINT", [2**128 - 1 - i for i in (0, 1, 2, 90, 91, 95)], 0),
    ("BIGINT", [2**63 - 1 - i for i in (0, 1, 2, 90, 91, 95)], 0),
    ("BIGINT", [-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1], 0),
    ("DECIMAL(38,0)", [NINES - i for i in (0, 1, 2, 90, 91, 95)], 0),
    ("DECIMAL(38,0)", [-NINES, -NINES + 1, NINES - 1, NINES], 0),
    ("DECIMAL(38,10)", [NINES - i for i in (0, 1, 2, 90, 91, 95)], 10),
    ("DECIMAL(38,38)", [-NINES, -NINES + 1, NINES - 1, NINES], 38),
    ("DECIMAL(18,3)", [10**18 - 1 - i for i in (0, 1, 2, 90, 91, 95)], 3),
]


def scaled_text(number: int, scale: int) -> str:
    """Return a number of steps as a decimal text."""
    digits = str(abs(number)).rjust(scale + 1, "0")
    full_digits, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    return ("-" if number < 0 else "") + full_digits + ("." + fraction if scale else "")


@pytest.mark.parametrize(("type_", "steps", "scale"), NEAR, ids=lambda v: v if isinstance(v, str) else "")
def test_losses_of_large_numbers_equal_exact_differences(con: Any, type_: str, steps: list[int], scale: int) -> None:
    table(con, type_, [scaled_text(s, scale) for s in steps])
    call = "('t', k := {}, qi := ['v'], sensitive := ['uid'])"
    for k in (4, 2 * len(steps)):
        losses = []
        for value, result in intervals(con, f"kacpc{call.format(k)}").items():
            for low, high in result:
                assert Fraction(low) <= Fraction(value) <= Fraction(high)
                losses.append((Fraction(high) - Fraction(low)) * 10**scale / (max(steps) - min(steps)))
        metrics = dict(con.execute(f"SELECT metric, value FROM kacpc_metrics{call.format(k)}").fetchall())
        assert metrics["precision"] == pytest.approx(float(1 - sum(losses) / len(losses)), abs=1e-9)
        assert metrics["information_loss"] == pytest.approx(float(sum(losses)), abs=1e-9)
    assert metrics["precision"] == 0, "one class of everybody loses all"


def test_large_neighbouring_numbers_are_clustered(con: Any) -> None:
    """Four pairs: neighbours are joined, however large their numbers are."""
    for type_, first in (("HUGEINT", 10**37), ("UHUGEINT", 3 * 10**38), ("DECIMAL(38,0)", 10**37), ("BIGINT", 2**62)):
        table(con, type_, [first + i for i in (0, 1, 100, 101, 500, 501, 1000, 1001)], times=1)
        for algorithm in ("kacpc", "mondrian"):
            call = f"{algorithm}('t', k := 2, qi := ['v'], sensitive := ['uid'])"
            actual_ends = {end for all_ends in intervals(con, call).values() for end in all_ends}
            assert actual_ends == {(str(first + i), str(first + i + 1)) for i in (0, 100, 500, 1000)}, (
                type_,
                algorithm,
            )


# --- grids --------------------------------------------------------------------------------------------------


def exact_grid_ends(
    grid: str, end_gap: int, low_limit: int, high_limit: int
) -> Callable[[Fraction], tuple[Fraction, Fraction]]:
    """Return the ends of a value on a grid; those of integers are the first and the last of a cell."""
    size = Fraction(grid)

    def snap(value: Fraction) -> tuple[Fraction, Fraction]:
        low = value // size * size
        return max(low, Fraction(low_limit)), min(low + size - end_gap, Fraction(high_limit))

    return snap


BIG = 9007199254740993  # 2^53 + 1
GRIDS: list[tuple[str, list[str], str, int, int, int]] = [
    ("TINYINT", ["-128", "-1", "0", "127"], "100", 1, -HUGE - 1, HUGE),
    ("UTINYINT", ["0", "99", "255"], "100", 1, -HUGE - 1, HUGE),
    ("BIGINT", [str(-(2**63)), "-1", "0", str(BIG), str(2**63 - 1)], str(BIG), 1, -HUGE - 1, HUGE),
    ("BIGINT", [str(-(2**63)), "-1", "0", str(2**63 - 1)], "3", 1, -HUGE - 1, HUGE),
    ("UBIGINT", ["0", str(2**64 - 1)], str(2**100 + 1), 1, -HUGE - 1, HUGE),
    ("HUGEINT", [str(-HUGE - 1), "-1", "0", str(BIG), str(HUGE)], "1000", 1, -HUGE - 1, HUGE),
    ("HUGEINT", [str(-HUGE - 1), "-1", "0", str(HUGE)], str(HUGE), 1, -HUGE - 1, HUGE),
    ("UHUGEINT", ["0", "999", "1000", str(2**128 - 1)], "1000", 1, 0, 2**128 - 1),
    ("UHUGEINT", ["0", str(2**128 - 1)], str(2**128 - 2), 1, 0, 2**128 - 1),
    ("DECIMAL(38,0)", [str(-NINES), "-1", "0", str(BIG), str(NINES)], "7", 0, -NINES, NINES),
    ("DECIMAL(18,2)", ["-9999999999999999.99", "-0.01", "0.00", "9999999999999999.99"], "0.05", 0, -(10**36), 10**36),
    ("DECIMAL(9,1)", ["-99999999.9", "0.1", "0.3", "0.7"], "0.25", 0, -(10**36), 10**36),
    ("DECIMAL(18,0)", ["-999999999999999999", "1", "999999999999999999"], str(BIG), 0, -NINES, NINES),
]


@pytest.mark.parametrize("case", GRIDS, ids=[f"{c[0]}-{c[2]}" for c in GRIDS])
def test_grid_ends_equal_exact_arithmetic(con: Any, case: Any) -> None:
    type_, values, grid, end_gap, low_limit, high_limit = case
    table(con, type_, values)
    snap = exact_grid_ends(grid, end_gap, low_limit, high_limit)
    lows, highs = ({snap(Fraction(v))[end] for v in values} for end in (0, 1))
    call = f"kacpc('t', k := 3, qi := ['v'], sensitive := ['uid'], rounding := {{'v': '{grid}'}})"
    for value, result in intervals(con, call).items():
        for low, high in result:
            assert Fraction(low) <= Fraction(value) <= Fraction(high)
            assert Fraction(low) in lows and Fraction(high) in highs, (value, low, high)
    assert con.execute(f"FROM {call.replace('kacpc', 'kacpc_metrics')}").fetchall()


@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
def test_float_grid_ends_are_finite_and_cover_values(con: Any, type_: str) -> None:
    """Floats that are further apart than the grid are their own ends; ends beyond the type are its limits."""
    text = "1.7976931348623157e308" if type_ == "DOUBLE" else "3.4028235e38"
    table(con, type_, ["-" + text, "-8", "-0.3", "0", "1e-40", "0.7", "16777216", "1e16", "1e30", text])
    for grid in ("1e-320", "0.1", "1e16", "1e308"):
        call = f"kacpc('t', k := 3, qi := ['v'], sensitive := ['uid'], rounding := {{'v': '{grid}'}})"
        for value, result in intervals(con, call).items():
            for low, high in result:
                assert -math.inf < float(low) <= float(value) <= float(high) < math.inf, (grid, value, low, high)
        metrics = dict(con.execute(f"SELECT metric, value FROM {call.replace('(', '_metrics(', 1)}").fetchall())
        assert 0 <= metrics["precision"] <= 1
    call = "kacpc('t', k := 2, qi := ['v'], sensitive := ['uid'], rounding := {'v': '1e-320'})"
    assert intervals(con, call)["-8.0"] == [("-8.0", "-8.0")] * 2


@pytest.mark.parametrize(
    ("type_", "grid"),
    [
        ("BIGINT", "1e308"),
        ("HUGEINT", str(2**127)),
        ("UHUGEINT", str(2**128)),
        ("HUGEINT", "0.5"),
        ("DECIMAL(38,0)", "0.5"),
        ("DECIMAL(30,10)", "1e29"),
        ("DECIMAL(9,2)", "1e999999999"),
        ("DOUBLE", "1e309"),
        ("DOUBLE", "1e-400"),
        ("DOUBLE", "nan"),
        ("INTEGER", "Infinity"),
    ],
)
def test_grid_beyond_type_refused(con: Any, type_: str, grid: str) -> None:
    table(con, type_, ["0", "1"])
    with pytest.raises(duckdb.Error, match=r"rounding does not fit t\.v"):
        con.execute(f"FROM kacpc('t', k := 2, qi := ['v'], sensitive := ['uid'], rounding := {{'v': '{grid}'}})")


def test_call_top_and_bottom_checked_exactly_on_large_grids(con: Any) -> None:
    """A top begins a cell of the declared grid and a bottom ends one, also where doubles cannot distinguish them."""
    half, wide_result, steps = 2 * 10**38, 10**36, 10**20
    for type_, grid, values, fits, cuts in (
        ("UHUGEINT", half, [1, 2, half, half + 1], f"top := {{'v': '{half}'}}", f"top := {{'v': '{half + 1}'}}"),
        ("UHUGEINT", half, [1, 2, half, half + 1], f"bottom := {{'v': '{half - 1}'}}", f"bottom := {{'v': '{half}'}}"),
        (
            "DECIMAL(38,1)",
            steps,
            [1, 2, wide_result, wide_result],
            f"top := {{'v': '{wide_result}'}}",
            f"top := {{'v': '{wide_result}.1'}}",
        ),
        ("BIGINT", steps, [-1, -2, 1, 2], "bottom := {'v': -1}", f"bottom := {{'v': '{2**63 - 1}'}}"),
    ):
        table(con, type_, values)
        dbanon.declare(con, "t", uid="sensitive", v={"role": "quasi", "rounding": str(grid)})
        assert len(con.execute(f"FROM kacpc('t', k := 2, {fits})").fetchall()) == 8
        with pytest.raises(duckdb.Error, match="lies inside an interval of it"):
            con.execute(f"FROM kacpc('t', k := 2, {cuts})")


# --- dates --------------------------------------------------------------------------------------------------

DAYS = [-2_147_483_646, -719_528, -719_529, -735_000, -734_500, -1, 0, 11_000, 11_016, 19_000, 2_147_483_646]
"""Days since 1970-01-01: the first and last date, around the year 0 (1 BC), and some of our time."""

MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}


def civil(day: int) -> tuple[int, int]:
    """Return year (1 BC is 0) and month of a day: the calendar repeats every 146,097 days."""
    shift, inner_result = divmod(day - date(2000, 1, 1).toordinal() + date(1970, 1, 1).toordinal(), 146_097)
    present_fromordinal = date.fromordinal(date(2000, 1, 1).toordinal() + inner_result)
    return present_fromordinal.year + 400 * shift, present_fromordinal.month


def first_day(month: int) -> int:
    """Return the day on which a month begins, counted from January of the year 0."""
    year, place = divmod(month, 12)
    shift, inner_result = divmod(year - 2000, 400)
    return date(2000 + inner_result, place + 1, 1).toordinal() - date(1970, 1, 1).toordinal() + 146_097 * shift


def cell(grid: str, day: int) -> tuple[int, int]:
    """Return the first and last day of the cell that a day is in, or of all possible days."""
    if grid in MONTHS:
        year, place = civil(day)
        begin = (year * 12 + place - 1) // MONTHS[grid] * MONTHS[grid]
        low, high = first_day(begin), first_day(begin + MONTHS[grid]) - 1
    else:
        low = day - (day + 3) % 7 if grid == "week" else day
        high = low + (6 if grid == "week" else 0)
    return max(low, DAYS[0]), min(high, DAYS[-1])


@pytest.mark.parametrize("grid", ["day", "week", *MONTHS])
def test_date_grids_follow_calendar_before_christ(con: Any, grid: str) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS uid, DATE '1970-01-01' + day AS v, day FROM (SELECT unnest(?) AS day, "
                "unnest(?) AS i)", [[*DAYS, *DAYS], list(range(2 * len(DAYS)))])  # fmt: skip
    lows, highs = ({cell(grid, day)[end] for day in DAYS} for end in (0, 1))
    call = (
        f"kacpc('t', k := 3, qi := ['v'], sensitive := ['uid'], rounding := {{'v': '{grid}'}}, intervals := 'bounds')"
    )
    for day, low, high in con.execute(
        f"SELECT day, r.v_min - DATE '1970-01-01', r.v_max - DATE '1970-01-01' FROM {call} AS r JOIN t USING (uid)"
    ).fetchall():
        assert low <= day <= high
        assert low in lows and high in highs, (grid, day, low, high)


def test_day_grid_keeps_day_of_last_nanosecond(con: Any) -> None:
    for type_ in ("TIMESTAMP", "TIMESTAMP_NS"):
        last = "1969-12-31 23:59:59.999999" + ("999" if type_ == "TIMESTAMP_NS" else "")
        table(con, type_, [last, "2262-04-11 23:47:16.854775" + ("806" if type_ == "TIMESTAMP_NS" else "")])
        for extra_text in ("", ", top := {'v': '2000-01-01'}", ", bottom := {'v': '1800-01-01'}"):
            call = f"kacpc('t', k := 2, qi := ['v'], sensitive := ['uid'], rounding := {{'v': 'day'}}{extra_text})"
            assert intervals(con, call)[last] == [("1969-12-31", "1969-12-31")] * 2


@pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
def test_fractional_grid_ends_are_exact_decimals(con: Any, type_: str) -> None:
    """3 * 0.1 is 0.30000000000000004 as a DOUBLE: the published text is 0.3."""
    con.execute(f"CREATE TABLE t AS SELECT i AS uid, (i * 0.0137 - 2)::{type_} AS v FROM range(300) AS r (i)")
    for grid in ("0.1", "0.3", "0.05", "0.007", "2.5"):
        call = f"kacpc('t', k := 5, qi := ['v'], sensitive := ['uid'], rounding := {{'v': {grid}}})"
        actual_ends = {end for both in intervals(con, call).values() for pair in both for end in pair}
        assert len(actual_ends) > 1
        assert [end for end in sorted(actual_ends) if Fraction(end) % Fraction(grid)] == [], grid


# --- noise --------------------------------------------------------------------------------------------------


@pytest.mark.not_everyday
@pytest.mark.parametrize("call", ["rka('t', release := 'noise', ", "mr_mondrian('t', noise_epsilon := 0.01, "])
def test_noise_values_stay_on_grid_and_within_type(con: Any, call: str) -> None:
    columns = {
        "DOUBLE": ("1e16 + 2 * i", ("0.1", "1", "3", "7", "1e300")),
        "FLOAT": ("1000.5 + i", ("0.1", "3")),
        "DECIMAL(18,0)": ("9999999999999999 + i", ("3", "7")),
        "DECIMAL(38,2)": ("123456789012345678901234567890.12 + i", ("none", "0.05", "7")),
        "HUGEINT": (f"{10**37}::HUGEINT + i", ("none", "7")),
        "UHUGEINT": (f"{2**128 - 100}::UHUGEINT + i::UHUGEINT", ("none", "7")),
        "BIGINT": (f"{2**63 - 100} + i", ("none", "7")),
        "TINYINT": ("87 + i", ("none", "100")),
        "DATE": ("DATE '5881580-07-10' - (30 * i)::INTEGER", ("none", "day", "week", "month", "decade")),
        "TIMESTAMP": ("TIMESTAMP '290309-12-22 (BC)' + to_days((30 * i)::INTEGER)", ("none", "day", "century")),
        "TIMESTAMP_NS": ("TIMESTAMP_NS '2262-04-11 00:00:00' - to_days(i::INTEGER)", ("none", "week")),
        "TIME": ("TIME '23:59:59' - to_seconds(i)", ("none",)),
    }
    for type_, (value, grids) in columns.items():
        con.execute(f"CREATE OR REPLACE TABLE t AS SELECT ({value})::{type_} AS v FROM range(40) AS r (i)")
        for grid in grids:
            rows = con.execute(f"SELECT v FROM {call} k := 4, qi := ['v'], rounding := {{'v': '{grid}'}})").fetchall()
            assert len(rows) == 40, (type_, grid)
            if type_ in ("DECIMAL(18,0)", "HUGEINT", "UHUGEINT", "BIGINT") and grid != "none":
                assert {int(v) % int(grid) for (v,) in rows} == {0}


def test_hierarchy_decade_has_ten_years_before_christ(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT make_date(y, 5, 5) AS v FROM range(-25, 25) AS r (y)")
    rows = con.execute(
        "SELECT label, leaves FROM (SELECT h.label, count(*) AS leaves "
        "FROM hierarchy_dates('d', 't', 'v', levels := ['decade']) AS h "
        "JOIN hierarchy_dates('d', 't', 'v', levels := ['decade']) AS leaf ON leaf.parent = h.node "
        "WHERE h.parent IS NOT NULL GROUP BY h.label)"
    ).fetchall()
    assert dict(rows) == {"-30s": 5, "-20s": 10, "-10s": 10, "0s": 10, "10s": 10, "20s": 5}
