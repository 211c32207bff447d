"""The scalar functions that read published values: every form, hostile texts, and a plain Python oracle."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.sqltext.quote import text
from dbanon.table_functions import scalar_functions

NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)(e[+-]?[0-9]+)?")

ENDS = {
    "25": (25, 25),
    "0": (0, 0),
    "-3.50": (-3.5, -3.5),
    ".50": (0.5, 0.5),
    "-.5": (-0.5, -0.5),
    "1e+16": (1e16, 1e16),
    "-1.5e-07": (-1.5e-7, -1.5e-7),
    "[25, 29]": (25, 29),
    "[-29, -25]": (-29, -25),
    "[-1e+300, 1e+300]": (-1e300, 1e300),
    "[0.1, 0.25]": (0.1, 0.25),
    "<=18": (None, 18),
    "<=-18": (None, -18),
    ">=90": (90, None),
    "[85, >=90]": (85, None),
    "[<=18, 20]": (None, 20),
    "[<=18, >=90]": (None, None),
    "[20, 25)": (20, 25),
}
"""Published numbers and their ends."""

FOREIGN_ENDS = {
    "[20, 30[": (20, 30),
    "]20, 30]": (20, 30),
    "]-2.5, 0[": (-2.5, 0),
    "(20.0, 30.0]": (20, 30),
    "(20, 30)": (20, 30),
    "[20,30)": (20, 30),
    "[20; 30]": (20, 30),
    "20-29": (20, 29),
    "20 - 29": (20, 29),
    "20–29": (20, 29),
    "-5--1": (-5, -1),
    "20-20": (20, 20),
    "<18": (None, 18),
    "< 18": (None, 18),
    "≤18": (None, 18),
    ">64": (64, None),
    ">= 65": (65, None),
    "65+": (65, None),
    "65 +": (65, None),
}
"""Numbers as ARX and other tools write them, and their ends."""

NONE = [
    "*", "", " ", "25 ", " 25", "+25", "025", "02138", "021**", "25.", "1_000", "0x1A", "inf", "nan", "-", "e5",
    "[25, 29", "25, 29]", "[25,  29]", "[25, 29]]", "[[25, 29]", "[25 29]", "[, 29]", "[25, ]", "[>=25, 29]",
    "[25, <=29]", ">=<=3", ">=  90", "x [25, 29]", "[25, 29]\n", "25\n26", "'); DROP TABLE t; --", "{% if %}", "🦆",
    "２５", "{25, 29}", "29-25", "2020-03", "025-029", "25-29-31", "29-", "<", "++", "[29, 25[",
    "[a, b]", "{'low': 25}", "2020-01-31", "[25, 29, 31]", "true", "\\25", "]", "'25'",
    "2020-01-31 00:00:00+02",
]  # fmt: skip
"""Texts that are no published number."""

DATES = {
    "2020-01-31": ("2020-01-31", "2020-01-31"),
    "[2020-01-01, 2020-01-31]": ("2020-01-01", "2020-01-31"),
    "[2020-01-01 10:30:00, 2020-01-31 00:00:00.5]": ("2020-01-01 10:30:00", "2020-01-31 00:00:00.5"),
    "<=2020-01-31": (None, "2020-01-31"),
    ">=2020-01-31": ("2020-01-31", None),
    "[2020-01-01, >=2020-01-31]": ("2020-01-01", None),
    "10:30:00": ("1970-01-01 10:30:00", "1970-01-01 10:30:00"),
    "[10:30:00, 12:00:00]": ("1970-01-01 10:30:00", "1970-01-01 12:00:00"),
}


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    """Provide one attached connection for all tests, which must not keep tables of common names in it."""
    connection = dbanon.attach(duckdb.connect())
    yield connection
    connection.close()


def one_value(con: Any, expression: str) -> Any:
    return con.execute(f"SELECT {expression}").fetchall()[0][0]


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@pytest.mark.parametrize("published_text", ENDS | FOREIGN_ENDS)
def test_bounds_and_midpoint_of_published_numbers(con: Any, published_text: str) -> None:
    low, high = (ENDS | FOREIGN_ENDS)[published_text]
    assert one_value(con, f"lower_bound({text(published_text)})") == low
    assert one_value(con, f"upper_bound({text(published_text)})") == high
    middle = None if low is None or high is None else low / 2 + high / 2
    assert one_value(con, f"midpoint({text(published_text)})") == middle


@pytest.mark.parametrize("published_text", DATES)
def test_date_bounds_and_midpoint_of_published_dates(con: Any, published_text: str) -> None:
    low, high = DATES[published_text]
    assert one_value(con, f"lower_date({text(published_text)})") == moment(low)
    assert one_value(con, f"upper_date({text(published_text)})") == moment(high)
    assert one_value(con, f"lower_bound({text(published_text)})") is None
    if low is not None and high is not None:
        first, last = datetime.fromisoformat(low), datetime.fromisoformat(high)
        assert one_value(con, f"midpoint_date({text(published_text)})") == first + (last - first) / 2


@pytest.mark.parametrize("published_text", NONE)
def test_bounds_of_other_texts_are_null(con: Any, published_text: str) -> None:
    for function in ("lower_bound", "upper_bound", "midpoint"):
        assert one_value(con, f"{function}({text(published_text)})") is None
    if published_text not in ("2020-01-31", "2020-03"):
        for function in ("lower_date", "upper_date", "midpoint_date"):
            assert one_value(con, f"{function}({text(published_text)})") is None
    assert one_value(con, f"share_within({text(published_text)}, -1e300, 1e300)") is None
    assert one_value(con, f"covers({text(published_text)}, 'something else')") is (published_text == "*")
    assert one_value(con, f"covers({text(published_text)}, {text(published_text)})") is True


def test_scalar_functions_of_null_return_null(con: Any) -> None:
    calls = [
        f"{f.name}({', '.join(['NULL'] * len(form.arguments))})"
        for f in scalar_functions.FUNCTIONS
        for form in f.overloads
    ]
    calls += ["covers('*', NULL)", "covers(NULL, 25)", "share_within('25', NULL, 3)", "share_within('25', 3, NULL)"]
    calls += ["covers('a', 'b', NULL)", "share_within('25', DATE '2020-01-01', DATE '2020-01-02')"]
    calls += ["share_within('2020-01-01', 1, 2)", "share_within('[29, 25]', 1, 99)", "share_within('25', 'x', 'y')"]
    for call in calls:
        assert one_value(con, call) is None, call


def test_covers_error_names_unknown_hierarchy(con: Any) -> None:
    with pytest.raises(duckdb.Error, match="covers: no hierarchy 'zip55' is stored"):
        one_value(con, "covers('Boston', '02138', 'zip55')")


def test_scalar_functions_return_declared_type(con: Any) -> None:
    for function in scalar_functions.FUNCTIONS:
        for form in function.overloads:
            arguments_text = ", ".join(["'25'"] * len(form.arguments))
            if len(form.arguments) == 3 and function.name == "covers":
                arguments_text = "'25', '25', 'none'"
            assert one_value(con, f"typeof({function.name}({arguments_text}))") == function.returns
        assert function.doc.endswith(".")


def test_scalar_functions_read_structs_and_numbers(con: Any) -> None:
    for value, low, high in (
        ("{'low': 25, 'high': 29}", 25, 29),
        ("{'low': 25.5::DECIMAL(5, 2), 'high': 29}", 25.5, 29),
        ("{'low': -1e20, 'high': 1e-20}", -1e20, 1e-20),
        ("25", 25, 25),
        ("0.25::DECIMAL(2, 2)", 0.25, 0.25),
        ("1e30", 1e30, 1e30),
    ):
        assert (one_value(con, f"lower_bound({value})"), one_value(con, f"upper_bound({value})")) == (low, high)
    assert one_value(con, "lower_bound(NULL::STRUCT(low INTEGER, high INTEGER))") is None
    stamps = "{'low': TIMESTAMP '2020-01-01 10:00:00', 'high': TIMESTAMP '2020-01-02 10:00:00'}"
    assert one_value(con, f"midpoint_date({stamps})") == datetime(2020, 1, 1, 22)
    assert one_value(con, "upper_date({'low': DATE '2020-01-01', 'high': DATE '2020-01-31'})") == datetime(2020, 1, 31)
    assert one_value(con, f"share_within({stamps}, '2020-01-02', '2020-01-03')") == pytest.approx(10 / 24)
    assert one_value(con, "covers({'low': 25, 'high': 29}, 27)") is True
    assert one_value(con, "covers({'low': 25, 'high': 29}, 30)") is False


@pytest.mark.parametrize(
    ("published_text", "low", "high", "share"),
    [
        ("25", "20", "30", 1),
        ("25", "25", "25", 1),
        ("25", "26", "30", 0),
        ("[25, 29]", "20", "30", 1),
        ("[25, 29]", "20", "27", 3 / 5),  # whole numbers are counted: 25, 26, 27 of five
        ("[25, 29]", "29", "40", 1 / 5),
        ("[25, 29]", "26.5", "27.5", 1 / 5),
        ("[25, 29]", "26.2", "26.8", 0),
        ("[25, 29]", "'-inf'::DOUBLE", "26", 2 / 5),
        ("[25, 29]", "26", "'inf'::DOUBLE", 4 / 5),
        ("[25, 29]", "30", "20", 0),
        ("[25.0, 29.0]", "20", "27", 1 / 2),  # fractions are measured
        ("[25.0, 29.0]", "29", "40", 0),
        ("[20, 25)", "20", "22", 2 / 5),
        ("2.5", "2", "3", 1),
        ("[85, >=90]", "90", "200", 1 / 6),  # an open end is its bound
        (">=90", "80", "95", 1),
        (">=90", "95", "99", 0),
        ("<=18", "0", "18", 1),
        ("[-1e+308, 1e+308]", "0.0", "1e308", 1 / 2),
        ("[2020-01-01, 2020-01-31]", "DATE '2020-01-10'", "DATE '2020-01-20'", 11 / 31),
        ("[2020-01-01, 2020-01-31]", "'2020-01-31'", "'2021-01-01'", 1 / 31),
        ("2020-01-31", "DATE '2020-01-31'", "DATE '2020-01-31'", 1),
        ("[2020-01-01 00:00:00, 2020-01-02 00:00:00]", "TIMESTAMP '2020-01-01 12:00:00'", "DATE '2020-01-09'", 1 / 2),
        ("[10:00:00, 12:00:00]", "TIME '11:00:00'", "TIME '18:00:00'", 1 / 2),
    ],
)
def test_share_within_of_published_numbers(con: Any, published_text: str, low: str, high: str, share: float) -> None:
    assert one_value(con, f"share_within({text(published_text)}, {low}, {high})") == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize(
    ("published_text", "value", "is_covered"),
    [
        ("Flu", "'Flu'", True),
        ("Flu", "'flu'", False),
        ("*", "'Flu'", True),
        ("021**", "'02138'", True),
        ("021**", "'02238'", False),
        ("021**", "'021'", True),
        ("021**", "'02138-1234'", True),
        ("021**", "'02'", False),
        ("**", "'ab'", True),
        ("a*b", "'axb'", False),
        ("02138", "'2138'", False),
        ("02138", "2138", False),
        ("2138", "2138.0", True),
        ("[25, 29]", "25", True),
        ("[25, 29]", "29", True),
        ("[25, 29]", "29.5", False),
        ("[25, 29]", "'27'", True),
        ("[25, 29]", "'027'", False),
        ("[25, 29]", "'DROP'", False),
        ("[20, 25)", "25", False),
        ("[20, 25)", "24.9", True),
        ("<=18", "-5", True),
        ("<=18", "19", False),
        (">=90", "120", True),
        ("[85, >=90]", "120", True),
        ("[85, >=90]", "84", False),
        ("[<=18, >=90]", "5", True),
        ("[-29, -25]", "-27", True),
        ("-3.50", "-3.5", True),
        ("[2020-01-01, 2020-01-31]", "DATE '2020-01-31'", True),
        ("[2020-01-01, 2020-01-31]", "TIMESTAMP '2020-01-31 23:59:59'", True),
        ("[2020-01-01, 2020-01-31]", "DATE '2020-02-01'", False),
        (">=2020-01-31", "DATE '2021-01-01'", True),
        ("[10:00:00, 12:00:00]", "TIME '11:00:00'", True),
        ("[2020-01-01, 2020-01-31]", "15", False),
        ("[25, 29]", "DATE '2020-01-01'", False),
        ("\\*", "'*'", True),
        ("\\Flu", "'Flu'", True),
        ("true", "true", True),
    ],
)
def test_covers_published_values(con: Any, published_text: str, value: str, is_covered: bool) -> None:
    assert one_value(con, f"covers({text(published_text)}, {value})") is is_covered


def test_stored_hierarchy_node_covers_its_leaves(con: Any) -> None:
    tree = [["a1", "x", "A", "*"], ["a2", "y", "A", "*"], ["b1", "x", "B", "*"]]
    dbanon.load_hierarchy(con, "wards", tree)
    names = ["a1", "a2", "b1", "A", "B", "x", "A > x", "B > x", "y", "*", "A > x > a1", "nothing"]
    above = {
        "a1": {"a1", "x", "A > x", "A", "*", "A > x > a1"},
        "a2": {"a2", "y", "A > y", "A", "*"},
        "b1": {"b1", "x", "B > x", "B", "*"},
    }
    for leaf, covering in above.items():
        for name in names:
            if name != "A > x > a1":
                assert one_value(con, f"covers('{name}', '{leaf}', 'wards')") is (name in covering), (name, leaf)
    assert one_value(con, "covers('A', 'no leaf', 'wards')") is False
    assert one_value(con, "covers('[25, 29]', 27, 'wards')") is True
    # Columns of the caller with the names of those of the catalog.
    con.execute(
        "CREATE OR REPLACE TABLE t AS SELECT 'A' AS name, 'a2' AS leaf, 'wards' AS path, 'A' AS label, 'x' AS n"
    )
    assert con.execute("SELECT covers(name, leaf, path), covers(label, leaf, 'wards'), covers(n, leaf, path) FROM t"
                       ).fetchall() == [(True, True, False)]  # fmt: skip
    with pytest.raises(duckdb.Error, match=r"covers: no hierarchy 'ward' is stored in dbanon\.hierarchy\. Hint: "):
        one_value(con, "covers('A', 'a1', 'ward')")


def test_scalar_functions_query_stored_release(six: Any) -> None:
    six.execute("CREATE TABLE safe AS FROM kacpc('six', k=3)")
    rows = six.execute(
        "SELECT age, lower_bound(age), upper_bound(age), count(*) FROM safe GROUP BY ALL ORDER BY 2"
    ).fetchall()
    assert [row[0] for row in rows] == [f"[{low:.0f}, {high:.0f}]" for _, low, high, _ in rows]
    assert six.execute("SELECT sum(share_within(age, 25, 55)) FROM safe").fetchall() == [(6,)]
    six.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_builtin('adult_workclass')")
    for one_text in ("covers(workclass, 'Private', 'adult_workclass')", "covers(age, 46)"):
        ((count,),) = six.execute(f"SELECT count(*) FROM safe WHERE {one_text}").fetchall()
        assert count in (3, 6)


def test_scalar_functions_work_in_generated_columns(con: Any) -> None:
    con.execute(
        "CREATE TABLE g (age VARCHAR, low DOUBLE AS (lower_bound(age)), middle DOUBLE AS (midpoint(age)), "
        "share DOUBLE AS (share_within(age, 20, 27)), has BOOLEAN AS (covers(age, 26)))"
    )
    con.execute("INSERT INTO g VALUES ('[25, 30]'), ('*'), (NULL)")
    assert con.execute("FROM g").fetchall() == [
        ("[25, 30]", 25, 27.5, 0.5, True),
        ("*", None, None, None, True),
        (None, None, None, None, None),
    ]


def test_scalar_functions_equal_plain_python(con: Any) -> None:
    rng = random.Random(7)
    rows = []
    for _ in range(3000):
        full_result = rng.random() < 0.5
        ends = sorted(rng.randint(-30, 30) if full_result else round(rng.uniform(-30, 30), 2) for _ in range(2))
        low, high = (ends[0], ends[0]) if rng.random() < 0.2 else ends
        open_low, open_high = rng.random() < 0.1, rng.random() < 0.1
        if low == high:
            open_high = open_high and not open_low
            published_text = ("<=" if open_low else ">=" if open_high else "") + str(low)
        else:
            published_text = f"[{'<=' if open_low else ''}{low}, {'>=' if open_high else ''}{high}]"
        numbers = sorted(rng.randint(-40, 40) if rng.random() < 0.5 else rng.uniform(-40, 40) for _ in range(2))
        rows.append((published_text, low, high, open_low, open_high, *numbers))
    con.execute("CREATE OR REPLACE TABLE t (i INTEGER, published VARCHAR, c DOUBLE, d DOUBLE)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(i, r[0], r[5], r[6]) for i, r in enumerate(rows)])
    actual_rows = con.execute(
        "SELECT lower_bound(published), upper_bound(published), midpoint(published), share_within(published, c, d), "
        "covers(published, c) FROM t ORDER BY i"
    ).fetchall()
    for (published_text, low, high, open_low, open_high, c, d), got in zip(rows, actual_rows, strict=True):
        if isinstance(low, int) and isinstance(high, int):
            inner_number = sum(1 for v in range(low, high + 1) if c <= v <= d) / (high - low + 1)
        elif low == high:
            inner_number = float(c <= low <= d)
        else:
            inner_number = max(0.0, min(high, d) - max(low, c)) / (high - low)
        ends = (None if open_low else float(low), None if open_high else float(high))
        assert got[:2] == ends, published_text
        assert got[2] == (None if None in ends else pytest.approx((low + high) / 2)), published_text
        assert math.isclose(got[3], inner_number, abs_tol=1e-12), (published_text, c, d)
        assert got[4] is ((open_low or c >= low) and (open_high or c <= high)), (published_text, c)


@pytest.mark.not_everyday
def test_random_text_has_bounds_only_if_valid(con: Any) -> None:
    rng = random.Random(11)
    pieces = ["[", "]", ", ", ">=", "<=", "-", "0", "1", "25", ".", "e", "+", "*", "'", " ", ")", "{'low': ", "}"]
    texts = sorted({"".join(rng.choice(pieces) for _ in range(rng.randint(1, 6))) for _ in range(20_000)})
    con.execute("CREATE OR REPLACE TABLE t (s VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?)", [(s,) for s in texts])
    mapping = dict(con.execute("SELECT s, lower_bound(s) FROM t").fetchall())
    n = NUMBER.pattern
    form = re.compile(rf"(?:>=)?(?P<low>{n})|\[(?P<first>{n}), (?:>=)?{n}[\])]")
    foreign = re.compile(
        rf"[\[\](](?P<a>{n})[,;] ?(?P<b>{n})[\[\])]|(?P<c>{n}) ?[-–] ?(?P<d>{n})|>=? ?(?P<e>{n})|(?P<f>{n}) ?\+"
    )
    for s in texts:
        if match := form.fullmatch(s):
            low = float(match["low"] or match["first"])
        elif match := foreign.fullmatch(s):
            low = float(match["a"] or match["c"] or match["e"] or match["f"])
            high = match["b"] or match["d"]
            low = None if high and float(high) < low else low
        else:
            low = None
        assert mapping[s] == low, s


INSTANT = "TIMESTAMPTZ '2020-02-28 23:30:00+00'"


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"covers('2020-02-28 23:30:00', {INSTANT})", True),
        (f"covers('[2020-02-28 20:00:00, 2020-02-28 23:30:00]', {INSTANT})", True),
        (f"covers('[2020-02-28 20:00:00, 2020-02-28 23:00:00]', {INSTANT})", False),
        (f"covers('2020-02-28', {INSTANT})", True),
        (f"covers('2020-02-29', {INSTANT})", False),
        (f"covers('2020-02', {INSTANT})", True),
        (f"covers('2020-03', {INSTANT})", False),
        (f"covers('>=2020-03-01', {INSTANT})", False),
        (f"covers('2020-02-28 23:30:00+00', {INSTANT})", True),
        (f"covers('2020-02-29 05:00:00+05:30', {INSTANT})", True),
        (f"covers('2020-02-28 *********+00', {INSTANT})", False),
        (f"covers('2020-02-28 ***********', {INSTANT})", True),
        (f"covers('*', {INSTANT})", True),
        ("covers('infinity', TIMESTAMPTZ 'infinity')", True),
        (f"covers({INSTANT}, {INSTANT})", True),
        (f"share_within('2020-02-28', {INSTANT}, {INSTANT} + INTERVAL 1 DAY)", 1 / 48),
        (f"share_within({INSTANT}, {INSTANT}, {INSTANT})", 1.0),
        (f"lower_date({INSTANT})", datetime(2020, 2, 28, 23, 30)),
        (f"upper_date({INSTANT})", datetime(2020, 2, 28, 23, 30)),
        (f"lower_bound({INSTANT}::VARCHAR)", None),
    ],
)
def test_scalar_functions_read_instants_as_utc(con: Any, zone: str, expression: str, expected: object) -> None:
    con.execute(f"SET TimeZone = '{zone}'")
    try:
        assert con.execute(f"SELECT {expression}").fetchall() == [(expected,)]
    finally:
        con.execute("RESET TimeZone")
