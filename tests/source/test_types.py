"""Every type of DuckDB: released, covered, in order, or refused by name."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from oracle import dates
from support.scale import sample_cases

import dbanon

ALGORITHMS = ("kacpc", "mondrian")

# --- extremes as literals, ascending ----------------------------------------------------------------------

NUMBERS: dict[str, list[str]] = {
    "TINYINT": ["-128", "-127", "-1", "0", "1", "126", "127"],
    "SMALLINT": ["-32768", "-1", "0", "1", "32766", "32767"],
    "INTEGER": ["-2147483648", "-2147483647", "-1", "0", "7", "2147483647"],
    "BIGINT": ["-9223372036854775808", "-9223372036854775807", "0", "9223372036854775806", "9223372036854775807"],
    "HUGEINT": [
        "-170141183460469231731687303715884105728",
        "-170141183460469231731687303715884105727",
        "-1",
        "0",
        "9007199254740993",
        "170141183460469231731687303715884105726",
        "170141183460469231731687303715884105727",
    ],
    "UTINYINT": ["0", "1", "254", "255"],
    "USMALLINT": ["0", "1", "65534", "65535"],
    "UINTEGER": ["0", "1", "4294967294", "4294967295"],
    "UBIGINT": ["0", "1", "18446744073709551614", "18446744073709551615"],
    "UHUGEINT": [
        "0",
        "1",
        "340282366920938463463374607431768211454",
        "340282366920938463463374607431768211455",
    ],
    "DECIMAL(4,2)": ["-99.99", "-99.98", "-0.01", "0.00", "0.01", "99.98", "99.99"],
    "DECIMAL(9,0)": ["-999999999", "0", "999999999"],
    "DECIMAL(18,6)": ["-999999999999.999999", "0.000001", "999999999999.999999"],
    "DECIMAL(37,2)": ["-" + "9" * 35 + ".99", "0.01", "9" * 35 + ".98", "9" * 35 + ".99"],
    "DECIMAL(38,0)": ["-" + "9" * 38, "-1", "0", "9" * 37 + "8", "9" * 38],
    "DECIMAL(38,38)": ["-0." + "9" * 38, "0." + "0" * 37 + "1", "0." + "9" * 38],
    "FLOAT": ["-3.4028235e38", "-1e-45", "0.0", "1e-45", "0.1", "16777216", "3.4028235e38"],
    "DOUBLE": [
        "-1.7976931348623157e308",
        "-5e-324",
        "0.0",
        "5e-324",
        "2.2250738585072014e-308",
        "0.1",
        "0.30000000000000004",
        "1e308",
        "1.7976931348623155e308",
        "1.7976931348623157e308",
    ],
    "DATE": [
        "5877642-06-25 (BC)",
        "0044-03-15 (BC)",
        "0001-01-01",
        "1969-12-31",
        "1970-01-01",
        "9999-12-31",
        "10000-01-01",
        "5881580-07-10",
    ],
    "TIMESTAMP": [
        "290309-12-22 (BC) 00:00:00",
        "0044-03-15 (BC) 12:00:00",
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00",
        "2020-02-29 23:59:59.999999",
        "294247-01-10 04:00:54.775806",
    ],
    "TIMESTAMP_S": ["0044-03-15 (BC) 12:00:00", "1969-12-31 23:59:59", "1970-01-01 00:00:00", "20000-01-01 00:00:00"],
    "TIMESTAMP_MS": ["0044-03-15 (BC) 12:00:00", "1969-12-31 23:59:59.999", "1970-01-01 00:00:00.001"],
    "TIMESTAMP_NS": [
        "1677-09-22 00:00:00.000000001",
        "1969-12-31 23:59:59.999999999",
        "1970-01-01 00:00:00.000000001",
        "2262-04-11 23:47:16.854775806",
    ],
    "TIMESTAMPTZ": [
        "0044-03-15 (BC) 12:00:00+00",
        "1969-12-31 23:59:59.999999+00",
        "2020-06-30 23:30:00-05",
        "9999-12-31 00:00:00+00",
    ],
    "TIME": ["00:00:00", "00:00:00.000001", "12:30:00", "23:59:59.999999"],
}  # fmt: skip

CATEGORIES: dict[str, list[str]] = {
    "BOOLEAN": ["false", "true"],
    "UUID": [
        "00000000-0000-0000-0000-000000000000",
        "7fffffff-ffff-ffff-ffff-ffffffffffff",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ],
    "ENUM('low', 'it''s', 'a;b', '', 'Ö')": ["low", "it's", "a;b", "", "Ö"],
    "VARCHAR": [
        "", " ", "  ", "a", "A", "ä", "a\u0308", "😀", "👩‍👩‍👧",
        "line\nbreak", "cr\r\nlf", "tab\t", "quote'", 'double"', "semi;colon",
        "back\\slash", "[1, 2]", ">=5", "<=5", "25", "NULL", "null", "a > b",
        "%", "_", "{{ x }}", "{% x %}", "--", "/*", "x" * 100_000,
        "\u202e right to left", "\ufeffbom", "Infinity", "nan",
    ],
}  # fmt: skip


def fill(con: Any, type_: str, values: Sequence[str], times: int = 2) -> None:
    """Create t(uid, v, own) with every value `times` times; own repeats the value and is published unchanged."""
    con.execute(f"CREATE OR REPLACE TABLE t (uid INTEGER, v {type_}, own {type_})")
    rows = [(i, v, v) for i, v in enumerate(values * times)]
    con.execute(f"INSERT INTO t VALUES {', '.join(['(?, ?, ?)'] * len(rows))}", [x for row in rows for x in row])


def released_rows(con: Any, arguments: str, columns: str = "uid, v", algorithm: str = "kacpc") -> list[tuple[Any, ...]]:
    rows = con.execute(f"SELECT {columns} FROM {algorithm}('t', {arguments}) ORDER BY uid").fetchall()
    assert [row[0] for row in rows] == list(range(len(rows)))
    return rows


def interval(text: str) -> tuple[str, str]:
    """Return the ends of `25`, `[25, 29]`, `<=5`, `[5, >=9]` as texts; of `2020-03` and `[2019, 2020]` the days."""
    if re.fullmatch(r"\[?\d{4}(-(\d\d|Q\d))?(, \d{4}(-(\d\d|Q\d))?\])?", text):
        low, high = dates.ends(text)
        return str(low), str(high)
    match = re.fullmatch(r"\[(.*), (.*)\]", text)
    return (match[1], match[2]) if match else (text, text)


def assert_covered(con: Any, type_: str, rows: Sequence[tuple[Any, ...]], whole_days: bool = False) -> None:
    """Assert in SQL that every published interval holds the value of the table."""
    con.execute("CREATE OR REPLACE TEMP TABLE shown (uid INTEGER, low VARCHAR, high VARCHAR)")
    con.executemany("INSERT INTO shown VALUES (?, ?, ?)", [(row[0], *interval(row[1])) for row in rows])
    cast = f"::{type_}"
    if whole_days:  # a cast would round nanoseconds
        value, cast = r"regexp_replace(t.v::VARCHAR, ' \d\d:\d\d:\d\d.*$', '')::DATE", "::DATE"
    else:
        value = "t.v"
    wrong = con.execute(
        f"SELECT uid, low, high FROM shown JOIN t USING (uid) WHERE NOT {value} BETWEEN low{cast} AND high{cast}"
    ).fetchall()
    assert wrong == []
    assert con.execute("SELECT count(*) FROM shown").fetchall() == con.execute("SELECT count(*) FROM t").fetchall()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("type_", NUMBERS)
def test_extreme_numbers_and_times_released_and_covered(con: Any, type_: str, algorithm: str) -> None:
    con.execute("SET TimeZone = 'UTC'")
    fill(con, type_, NUMBERS[type_])
    n = 2 * len(NUMBERS[type_])
    for k in (2, 3, n):
        arguments = f"k := {k}, qi := ['v'], sensitive := ['uid', 'own'], rounding := {{'v': 'none'}}"
        rows = released_rows(con, arguments, "uid, v, class_id", algorithm)
        assert len(rows) == n
        assert min(Counter(row[1] for row in rows).values()) >= k
        assert_covered(con, type_, rows)
        ids = {row[1]: row[2] for row in rows}
        con.execute("CREATE OR REPLACE TEMP TABLE ids (low VARCHAR, high VARCHAR, id INTEGER)")
        con.executemany("INSERT INTO ids VALUES (?, ?, ?)", [(*interval(text), id_) for text, id_ in ids.items()])
        order = con.execute(f"SELECT id FROM ids ORDER BY low::{type_}, high::{type_}").fetchall()
        assert order == sorted(order), "class_ids are not in the order of the values"
    for ending in ("_classes", "_metrics"):
        con.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {algorithm}{ending}('t', {arguments})").fetchall()
    metrics = dict(con.execute(f"SELECT metric, value FROM {algorithm}_metrics('t', {arguments})").fetchall())
    assert (metrics["precision"], metrics["information_loss"]) == (0, n)
    exact = released_rows(con, "k := 2, qi := ['v'], sensitive := ['uid'], rounding := {'v': 'none'}")
    values = [text.lower() for text in NUMBERS[type_]] * 2
    assert sum(low == high for low, high in (interval(row[1]) for row in exact)) >= len(values) - 6


@pytest.mark.parametrize("intervals", ["bounds", "struct"])
@pytest.mark.parametrize("type_", NUMBERS)
def test_typed_bounds_keep_column_type_and_cover_values(con: Any, type_: str, intervals: str) -> None:
    con.execute("SET TimeZone = 'UTC'")
    fill(con, type_, NUMBERS[type_])
    call = (
        f"kacpc('t', k := 3, qi := ['v'], sensitive := ['uid'], rounding := {{'v': 'none'}}, intervals := "
        f"'{intervals}')"
    )
    low, high = ("r.v_min", "r.v_max") if intervals == "bounds" else ("r.v.low", "r.v.high")
    own_text = "TIMESTAMP" if type_ in ("TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS") else type_
    rows = con.execute(
        f"SELECT count(*), count(DISTINCT r.uid), bool_and({low}::{type_} <= t.v AND t.v <= {high}::{type_}), "
        f"any_value(typeof({low})) FROM {call} AS r JOIN t USING (uid)"
    ).fetchall()
    n = 2 * len(NUMBERS[type_])
    assert rows == [(n, n, True, own_text)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("type_", CATEGORIES)
def test_category_types_released_and_covered(con: Any, type_: str, algorithm: str) -> None:
    values = CATEGORIES[type_]
    fill(con, type_, values)
    rows = released_rows(con, "k := 2, qi := ['v'], sensitive := ['uid']", algorithm=algorithm)
    assert [row[1] for row in rows] == values * 2, "every value occurs twice and can be published as it is"
    rows = released_rows(con, "k := 3, qi := ['v'], sensitive := ['uid']", algorithm=algorithm)
    assert all(row[1] in ("*", value) for row, value in zip(rows, values * 2, strict=True))
    assert min(Counter(row[1] for row in rows).values()) >= 3
    for ending in ("_classes", "_metrics"):
        con.execute(f"FROM {algorithm}{ending}('t', k := 3, qi := ['v'], sensitive := ['uid'])").fetchall()


def test_texts_with_hierarchy_keep_every_character(con: Any) -> None:
    values = [v for v in CATEGORIES["VARCHAR"] if v.strip() == v and v]
    dbanon.load_hierarchy(con, "h", [[v, f"group;{len(v) % 3}", "*"] for v in values])
    fill(con, "VARCHAR", values)
    rows = released_rows(con, "k := 2, qi := ['v'], sensitive := ['uid'], hierarchies := {'v': 'h'}")
    assert [row[1] for row in rows] == values * 2
    rows = released_rows(con, "k := 5, qi := ['v'], sensitive := ['uid'], hierarchies := {'v': 'h'}")
    assert all(row[1] in (v, f"group;{len(v) % 3}", "*") for row, v in zip(rows, values * 2, strict=True))
    assert any(row[1].startswith("group;") for row in rows)


def test_text_with_nul_character_is_released(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS uid, 'a' || chr(0) || i // 2 AS v FROM range(6) AS r (i)")
    rows = released_rows(con, "k := 2, qi := ['v'], sensitive := ['uid']")
    assert [row[1] for row in rows] == [f"a\0{i // 2}" for i in range(6)]


def test_negative_zero_equals_zero(con: Any) -> None:
    for type_ in ("DOUBLE", "FLOAT"):
        con.execute(
            "CREATE OR REPLACE TABLE t AS SELECT i AS uid, "
            f"CASE WHEN i % 2 = 0 THEN '-0.0' ELSE '0.0' END::{type_} AS v FROM range(8) AS r (i)"
        )
        assert {row[1] for row in released_rows(con, "k := 2, qi := ['v'], sensitive := ['uid']")} == {"0.0"}
        assert con.execute("SELECT size FROM kacpc_classes('t', k := 2, qi := ['v'])").fetchall() == [(8,)]


def test_signed_zero_person_ids_count_as_same_person(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS v, CASE i WHEN 0 THEN '-0.0'::DOUBLE WHEN 1 THEN 0.0 ELSE i END AS p "
                "FROM range(8) AS r (i)")  # fmt: skip
    sizes = con.execute("SELECT size, persons FROM kacpc_classes('t', k := 2, qi := ['v'], person := 'p')").fetchall()
    assert min(persons for _, persons in sizes) >= 2


def test_zoned_timestamp_release_equal_in_every_zone(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS uid, i // 8 AS age, "
        "TIMESTAMPTZ '2020-03-07 20:00:00+00' + INTERVAL (i * 7) HOUR AS v FROM range(48) AS r (i)"
    )
    answers = []
    for zone in ("UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"):
        con.execute(f"SET TimeZone = '{zone}'")
        dbanon.clear_cache(con)
        answer = []
        for intervals in ("text", "bounds"):
            for grid in ("month", "day", "none"):
                columns = "v" if intervals == "text" else "v_min, v_max"
                answer.append(released_rows(
                    con,
                    f"k := 3, qi := ['v'], sensitive := ['uid'], rounding := {{'v': '{grid}'}}, intervals := "
                    f"'{intervals}'",
                    f"uid, {columns}, class_id",
                ))  # fmt: skip
        # published unchanged, and as a person: the instant is compared, not its text in the session
        answer.append(
            released_rows(con, "k := 3, qi := ['age'], sensitive := ['uid', 'v']", "uid, age, epoch_us(v), class_id")
        )
        answer.append(
            released_rows(con, "k := 3, qi := ['age'], sensitive := ['uid'], person := 'v'", "uid, age, class_id")
        )
        answers.append(answer)
    assert answers[0] == answers[1] == answers[2] == answers[3]
    assert answers[0][0][0][1] == "2020-03"


# --- grid, top and bottom in every family -------------------------------------------------------------------

GRIDS: list[tuple[str, list[str], str, str, str]] = [
    ("TINYINT", ["-128", "-3", "0", "50", "120", "127"], "50", "100", "-100"),
    ("UTINYINT", ["0", "99", "100", "250", "255"], "100", "200", "50"),
    ("SMALLINT", ["-32768", "0", "32767"], "1000", "30000", "-30000"),
    ("USMALLINT", ["0", "7", "65535"], "1000", "60000", "5"),
    ("INTEGER", ["-2147483648", "-1", "0", "2147483647"], "1000", "2000000000", "-5"),
    ("UINTEGER", ["0", "4294967295"], "7", "4000000000", "5"),
    ("BIGINT", ["-9223372036854775808", "-1", "0", "9223372036854775807"], "1000", "9000000000000000000", "-5"),
    ("UBIGINT", ["0", "18446744073709551615"], "1000", "18000000000000000000", "5"),
    ("HUGEINT", ["-1000000", "-1", "0", "1", "1000000"], "1000", "500", "-500"),
    ("HUGEINT", ["-170141183460469231731687303715884105728", "0", "170141183460469231731687303715884105727"],
     "1000", "1000000", "-1000000"),
    ("UHUGEINT", ["0", "1", "340282366920938463463374607431768211455"], "1000", "1000000", "1"),
    ("DECIMAL(4,2)", ["-99.99", "-0.01", "0.00", "7.50", "99.99"], "5", "90", "-90"),
    ("DECIMAL(9,4)", ["-12345.6789", "0.0001", "12345.6789"], "0.5", "10000", "-10000"),
    ("DECIMAL(38,2)", ["-123456789012345678901234567890.12", "0.01", "9.99", "123456789012345678901234567890.12"],
     "10", "1000", "-1000"),
    ("DECIMAL(38,0)", ["-" + "9" * 38, "0", "9" * 38], "10", "1000", "-1000"),
    ("FLOAT", ["-3.4028235e38", "-0.1", "0.3", "1e10", "3.4028235e38"], "0.25", "1e20", "-1e20"),
    ("DOUBLE", ["-1.7976931348623157e308", "-0.1", "0.3", "1e17", "1.7976931348623157e308"], "0.25", "1e300", "-1e300"),
    ("DOUBLE", ["0.1", "0.2", "0.3", "0.7", "1.1"], "0.1", "0.7", "0.2"),
    ("DOUBLE", ["-1e308", "1e308", "1.7e308"], "1e308", "1.5e308", "-5e307"),
    ("DATE", ["0044-03-15 (BC)", "1969-12-31", "1970-01-01", "2020-02-29", "10000-05-05"], "month",
     "2020-01-01", "1969-01-01"),
    ("DATE", ["1599-12-31", "1600-02-29", "2020-02-29", "2024-12-30"], "week", "2021-01-01", "1600-01-01"),
    ("DATE", ["1599-12-31", "1600-02-29", "2020-02-29", "2024-12-30"], "quarter", "2021-01-01", "1600-01-01"),
    ("DATE", ["1599-12-31", "1600-02-29", "2020-02-29", "2024-12-30"], "decade", "2021-01-01", "1600-01-01"),
    ("DATE", ["1599-12-31", "1600-02-29", "2020-02-29", "2024-12-30"], "century", "2021-01-01", "1600-01-01"),
    ("DATE", ["5877642-06-25 (BC)", "0001-01-01", "5881580-07-10"], "year", "2021-01-01", "1600-01-01"),
    ("TIMESTAMP", ["0044-03-15 (BC) 12:00:00", "1969-12-31 23:59:59.999999", "2020-02-29 23:59:59.999999"], "month",
     "2020-01-01 12:00:00", "1969-01-01 12:00:00"),
    ("TIMESTAMP", ["1969-12-31 23:59:59.999999", "2020-02-29 00:00:00", "2020-02-29 23:59:59.999999"], "day",
     "2020-02-29 12:00:00", "1969-12-31 23:00:00"),
    ("TIMESTAMP", ["290309-12-22 (BC) 00:00:00", "1970-01-01 00:00:00", "294247-01-10 04:00:54.775806"], "year",
     "2020-01-01", "1969-01-01"),
    ("TIMESTAMP_S", ["1969-12-31 23:59:59", "2020-02-29 23:59:59"], "quarter", "2020-01-01", "1969-01-01"),
    ("TIMESTAMP_MS", ["1969-12-31 23:59:59.999", "2020-02-29 23:59:59.999"], "year", "2020-01-01", "1969-01-01"),
    ("TIMESTAMP_NS",
     ["1677-09-22 00:00:00.000000001", "1969-12-31 23:59:59.999999999", "2262-04-11 23:47:16.854775806"], "month",
     "2020-01-01", "1969-01-01"),
    ("TIMESTAMPTZ", ["1969-12-31 23:59:59.999999+00", "2020-02-29 23:59:59.999999+00"], "month",
     "2020-01-01", "1969-01-01"),
    ("TIME", ["00:00:00", "07:30:00", "12:00:00", "23:59:59.999999"], "none", "20:00:00", "06:00:00"),
]  # fmt: skip


@pytest.mark.parametrize("case", GRIDS, ids=[f"{c[0]}-{c[2]}-{i}" for i, c in enumerate(GRIDS)])
def test_grid_top_and_bottom_cover_values_of_every_type(con: Any, case: Any) -> None:
    type_, values, grid, top, bottom = case
    con.execute("SET TimeZone = 'UTC'")
    fill(con, type_, values, times=3)
    snap = f"rounding := {{'v': '{grid}'}}"
    code = f"top := {{'v': '{top}'}}, bottom := {{'v': '{bottom}'}}"
    n = 3 * len(values)
    times = type_.startswith("TIMESTAMP")
    wide_type = {"DATE": "DATE", "TIME": "TIME", "FLOAT": "FLOAT", "DOUBLE": "DOUBLE"}.get(type_, "DECIMAL(38,2)")
    if type_ in ("HUGEINT", "UHUGEINT", "DECIMAL(38,0)"):
        wide_type = type_
    if type_ == "DECIMAL(9,4)":
        wide_type = type_
    for k in (2, 4):
        base = f"k := {k}, qi := ['v'], sensitive := ['uid']"
        rows = released_rows(con, f"{base}, {snap}")
        assert len(rows) == n
        assert min(Counter(row[1] for row in rows).values()) >= k
        assert_covered(con, "TIMESTAMP" if times else wide_type, rows, whole_days=times)
        rows = released_rows(con, f"{base}, {code}, rounding := {{'v': 'none'}}")
        originals = dict(con.execute(f"SELECT uid, (v < '{bottom}'::{type_}, v > '{top}'::{type_}) FROM t").fetchall())
        for uid, text in rows:
            below, above = tuple(originals[uid].values()) if isinstance(originals[uid], dict) else originals[uid]
            low, high = interval(text)
            assert not below or low.startswith("<="), f"a value below the bottom is published as {text}"
            assert not above or high.startswith(">="), f"a value above the top is published as {text}"
        for intervals in ("text", "bounds", "struct"):
            call = f"'t', {base}, {snap}, {code}, intervals := '{intervals}'"
            for ending in ("", "_classes", "_metrics"):
                rows = con.execute(f"FROM kacpc{ending}({call})").fetchall()
                assert rows
            if intervals == "text":
                shown_rows = con.execute(f"SELECT v, count(*) FROM kacpc({call}) GROUP BY v").fetchall()
                assert min(size for _, size in shown_rows) >= k


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("grid", "intervals"),
    [
        ("decade", {"[1590, 1599]", "[1960, 1969]", "[2020, 2029]"}),
        ("century", {"[1500, 1599]", "[1900, 1999]", "[2000, 2099]"}),
    ],
)
def test_decades_and_centuries_begin_with_their_first_and_end_with_their_last_day(
    con: Any, grid: str, intervals: set[str]
) -> None:
    fill(con, "DATE", ["1599-12-31", "1969-12-31", "2020-02-29"])
    rows = released_rows(con, f"k := 2, qi := ['v'], sensitive := ['uid'], rounding := {{'v': '{grid}'}}")
    assert {v for _, v in rows} == intervals


def test_month_grid_supports_years_outside_four_digits(con: Any) -> None:
    fill(con, "TIMESTAMP", ["0044-03-15 (BC) 12:00:00", "12026-01-01 23:59:59"], times=2)
    rows = released_rows(con, "k := 2, qi := ['v'], sensitive := ['uid']")
    assert {row[1] for row in rows} == {"[0044-03-01 (BC), 0044-03-31 (BC)]", "[12026-01-01, 12026-01-31]"}


# --- types that are published unchanged ---------------------------------------------------------------------

UNCHANGED = {
    "INTEGER[]": ["[1, NULL]", "[]", "[3, 2, 1]"],
    "VARCHAR[]": ["['a, b']", "['a', 'b']", "['''', NULL]"],
    "INTEGER[2]": ["[1, 2]", "[2, 1]"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': 1, 'b': NULL}", "{'a': NULL, 'b': 'x'}"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1, 'b': 2}", "MAP {'b': 2, 'a': 1}", "MAP {}"],
    "UNION(n INTEGER, t VARCHAR)": ["union_value(n := 1)", "union_value(t := '1')"],
    "JSON": ["""'{"a": [1, 2]}'""", "'null'", """'"x"'"""],
    "BLOB": ["'\\x00\\xFF'::BLOB", "''::BLOB", "'A'::BLOB"],
    "BIT": ["'101'::BIT", "'0'::BIT"],
    "INTERVAL": ["INTERVAL 1 MONTH", "INTERVAL 31 DAY", "INTERVAL '-1 year'"],
    "TIMETZ": ["'10:00:00+01'::TIMETZ", "'09:00:00+00'::TIMETZ"],
    "TIMESTAMPTZ": ["'infinity'::TIMESTAMPTZ", "'2020-01-01 00:00:00+00'::TIMESTAMPTZ"],
    "DOUBLE": ["'nan'::DOUBLE", "'inf'::DOUBLE", "'-0.0'::DOUBLE", "1.5"],
    "ENUM('b', 'a')": ["'b'", "'a'"],
    "HUGEINT": ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"],
    "UUID": ["'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", "'00000000-0000-0000-0000-000000000000'::UUID"],
    "VARCHAR": ["''", "'NULL'", "' '", "'x''y'", "repeat('long', 50000)"],
    "DECIMAL(38,38)": ["0.5", "-0.00000000000000000000000000000000000001"],
    "DATE": ["'infinity'::DATE", "DATE '0044-03-15 (BC)'"],
    "STRUCT(a STRUCT(b INTEGER[])[])": ["{'a': [{'b': [1]}]}", "{'a': []}"],
}


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
@pytest.mark.parametrize("type_", UNCHANGED)
def test_every_type_can_be_published_unchanged(con: Any, type_: str, role: str) -> None:
    values = [*UNCHANGED[type_], "NULL"]
    con.execute(f"CREATE TABLE source (uid INTEGER, age INTEGER, v {type_})")
    for j, value in enumerate(values):
        con.execute(
            f"INSERT INTO source SELECT i, i // 6, {value} FROM range({j}, {12 * len(values)}, {len(values)}) AS r (i)"
        )
    # DuckDB 1 groups -0.0 with 0.0: a number stays the number, its text may not.
    text = "v" if type_ == "DOUBLE" else "v::VARCHAR"
    arguments = f"k := 5, qi := ['age'], {role} := ['v'" + (
        ", 'uid']" if role == "sensitive" else "], sensitive := 'uid'"
    )
    answers = []
    for order in ("uid", "uid DESC"):
        con.execute(f"CREATE OR REPLACE TABLE t AS FROM source ORDER BY {order}")
        for ending in ("", "_classes", "_metrics"):
            query = f"SELECT COLUMNS(*)::VARCHAR FROM kacpc{ending}('t', {arguments})"
            answers.append(con.execute(query).fetchall())
        kept_rows = con.execute(
            f"SELECT count(*), bool_and(r.{text} IS NOT DISTINCT FROM s.{text}), any_value(typeof(r.v)) "
            f"FROM kacpc('t', {arguments}) AS r JOIN source AS s USING (uid)"
        ).fetchall()
        assert kept_rows[0][:2] == (12 * len(values), True)
        assert kept_rows[0][2] == con.execute("SELECT typeof(v) FROM source LIMIT 1").fetchall()[0][0]
    assert answers[:3] == answers[3:]


def test_metrics_name_rare_values_of_every_type(con: Any) -> None:
    columns = {f"v{n}": (values[0], type_) for n, (type_, values) in enumerate(UNCHANGED.items())}
    text = ", ".join(f"CASE WHEN i = 0 THEN {value} END::{type_} AS {v}" for v, (value, type_) in columns.items())
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT i AS age, {text} FROM range(9) AS r (i)")
    asked_text = f"kacpc_metrics('t', k := 3, qi := ['age'], sensitive := {list(columns)})"
    rare = dict(con.execute(f"SELECT metric, value FROM {asked_text} WHERE metric LIKE '%rare_value%'").fetchall())
    for v, (_, type_) in columns.items():
        assert rare.pop(f"n_rare_values:{v}") == 1, type_
    assert list(rare.values()) == [1] * len(columns)


# --- names --------------------------------------------------------------------------------------------------

NAMES = [
    "class_id", "CLASS_ID", "size", "rid", "q0", "u0", "u1", "p0", "low0", "high0", "source", "kept", "gate", "tie",
    "person", "cluster", "persons", "loss", "loss0", "value", "code", "node", "parent", "label", "labels", "passed",
    "released", "metric", "detail", "position", 'a "b"', "a'b", "a;b", "a.b", "a, b", "order", "select", "null",
    "true", "k", "qi", "tbl", "a1", "", " ", "Ümläut", "😀", "{{ x }}", "{% raw %}", "--", "/* x", "a\nb", "v_min",
    "x" * 300,
]  # fmt: skip


ODD = (
    "class_id",
    "size",
    "loss",
    "persons",
    "q0",
    "u0",
    "u1",
    "p0",
    "low0",
    "source",
    "rid",
    "order",
    'a "b"',
    "v_max",
)
ROLES = ("number", "category", "sensitive", "insensitive", "person")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def release_named_columns(con: Any, names: Sequence[str], role: str) -> None:
    """Release a table whose columns have these names and one role, next to ordinary ones."""
    type_ = "VARCHAR" if role == "category" else "INTEGER"
    con.execute(
        f"CREATE OR REPLACE TABLE t (v INTEGER, {', '.join(f'{quoted(n)} {type_}' for n in names)}, plain VARCHAR)"
    )
    con.execute(f"INSERT INTO t SELECT i // 3, {'i // 2, ' * len(names)} 's' || i % 2 FROM range(12) AS r (i)")
    parameters: dict[str, Any] = {"qi": ["v"], "sensitive": ["plain"], "insensitive": None, "person": None}
    if role in ("number", "category"):
        parameters["qi"] = ["v", *names]
    elif role == "sensitive":
        parameters["sensitive"] = [*names]
    else:
        parameters[role] = [*names] if role == "insensitive" else names[0]
    for ending in ("", "_classes", "_metrics"):
        for intervals in ("text", "bounds") if role in ("number", "category") else ("text",):
            con.execute(
                f"FROM kacpc{ending}('t', k := 2, qi := $qi, sensitive := $sensitive, insensitive := $insensitive, "
                f"person := $person, intervals := '{intervals}')",
                parameters,
            )
            columns = [d[0] for d in con.description]
            rows = con.fetchall()
            assert rows
            assert len({c.lower() for c in columns}) == len(columns), columns
            assert not any(re.search(r"_\d$", c) for c in columns), f"DuckDB had to rename: {columns}"
            if ending == "":
                assert len(rows) == 12
                assert columns[-1].lower().strip("_") == "class_id"
                if role != "person" and not (role == "number" and intervals == "bounds"):
                    own_values = ("v", "v_min", "v_max", "v_min_", "v_max_", "plain")
                    assert [c for c in columns[:-1] if c not in own_values] == [n for n in names if n not in own_values]
                    value = columns.index(names[0])
                    shown_texts = {str(row[value]) for row in rows}
                    assert "0" in shown_texts or "[0, 1]" in shown_texts or "*" in shown_texts


@pytest.mark.not_everyday
@pytest.mark.parametrize("role", ["number", "category", "sensitive", "insensitive"])
def test_many_odd_column_names_accepted_together(con: Any, role: str) -> None:
    names = [n for n in NAMES if n not in ("", "CLASS_ID")]
    for part in sample_cases((names[:18], names[18:36], names[36:]), 3):
        release_named_columns(con, part, role)


@pytest.mark.not_everyday
@pytest.mark.parametrize("role", ROLES)
def test_odd_column_name_accepted(con: Any, role: str) -> None:
    for name in sample_cases(ODD, 3):
        release_named_columns(con, [name], role)


# --- shapes of tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_constant_columns_published_unchanged(con: Any, algorithm: str) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS uid, 5 AS v, 'x' AS w, DATE '2020-02-02' AS d FROM range(7) AS r (i)")
    rows = released_rows(
        con, "k := 3, qi := ['v', 'w', 'd'], sensitive := ['uid']", "uid, v, w, d, class_id", algorithm
    )
    assert {row[1:] for row in rows} == {("5", "x", "2020-02", 1)}
    call = f"{algorithm}_metrics('t', k := 3, qi := ['v', 'w', 'd'], rounding := {{'d': 'none'}})"
    metrics = dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())
    assert (metrics["precision"], metrics["classes"]) == (1, 1)
    call = f"{algorithm}_metrics('t', k := 3, qi := ['v', 'w'])"
    assert dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())["precision"] == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [2, 3, 7])
def test_k_equal_to_row_count_gives_single_class(con: Any, algorithm: str, n: int) -> None:
    con.execute(f"CREATE TABLE t AS SELECT i AS uid, i AS v, 'c' || i AS w FROM range({n}) AS r (i)")
    rows = released_rows(con, f"k := {n}, qi := ['v', 'w'], sensitive := ['uid']", "uid, v, w, class_id", algorithm)
    assert {row[1:] for row in rows} == {(f"[0, {n - 1}]", "*", 1)}


def test_tables_with_one_and_forty_columns_released(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i // 2 AS uid FROM range(10) AS r (i)")
    assert len(con.execute("FROM kacpc('t', k := 2, qi := ['uid'])").fetchall()) == 10
    columns = ", ".join(f"(i * {j}) % 7 AS c{j}" for j in range(40))
    con.execute(f"CREATE TABLE wide AS SELECT {columns} FROM range(30) AS r (i)")
    names = [f"c{j}" for j in range(40)]
    rows = con.execute("FROM kacpc('wide', k := 3, qi := $qi, sensitive := $s)", {"qi": names[:12], "s": names[12:]})
    assert len(rows.fetchall()) == 30


SLOW = pytest.mark.skipif(not os.environ.get("DBANON_SLOW"), reason="takes more than a minute; DBANON_SLOW=1 runs it")


@pytest.mark.parametrize("n", [60_000, pytest.param(1_000_000, marks=SLOW)])
def test_text_column_with_many_distinct_values_released(con: Any, n: int) -> None:
    con.execute(f"CREATE TABLE t AS SELECT 'value ' || i AS v, i % 5 AS s FROM range({n}) AS r (i)")
    rows = con.execute(
        "SELECT count(*), count(DISTINCT v), max(v) FROM kacpc('t', k := 1000, qi := ['v'], sensitive := ['s'])"
    ).fetchall()
    assert rows == [(n, 1, "*")]


@pytest.mark.parametrize("type_", ["TIME_NS", "GEOMETRY", "VARIANT", "BIGNUM", "TIMESTAMPTZ_NS"])
def test_new_type_refused_as_quasi_and_released_as_sensitive(con: Any, type_: str) -> None:
    try:
        con.execute(f"CREATE TABLE t (v {type_}, a INTEGER)")
    except duckdb.Error as error:
        pytest.skip(str(error))
    con.execute("INSERT INTO t SELECT NULL, i // 2 FROM range(6) AS r (i)")
    with pytest.raises(duckdb.Error, match=r"cannot be a quasi-identifier|is NULL in every row"):
        con.execute("FROM kacpc('t', k := 2, qi := ['v', 'a'])").fetchall()
    assert len(con.execute("FROM kacpc('t', k := 2, qi := ['a'], sensitive := ['v'])").fetchall()) == 6
