"""Dates under a calendar grid: whole months, quarters and years are published by name, and read back as days."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import pytest
from oracle import dates
from support.scale import sample_cases

import dbanon
from dbanon.gate import messages
from dbanon.release.plan import plan

GRIDS = ("day", "week", "month", "quarter", "year", "decade", "century")
BOUNDS: tuple[tuple[date | None, date | None], ...] = (
    (None, None),
    (date(1990, 1, 1), date(1930, 12, 31)),
    (date(1990, 5, 17), date(1930, 6, 30)),
    (date(1975, 4, 1), None),
)


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    yield connection
    connection.close()


def people(con: Any, type_: str = "DATE", first: date = date(1920, 1, 5), seed: int = 3) -> dict[int, date]:
    """Create people(uid, born); return the days by uid."""
    rng = random.Random(seed)
    born = {uid: first + timedelta(days=rng.randrange(30_000)) for uid in range(60)}
    con.execute(f"CREATE OR REPLACE TABLE people (uid INTEGER, born {type_})")
    con.executemany("INSERT INTO people VALUES (?, ?)", list(born.items()))
    return born


def released_rows(con: Any, grid: str, *, k: int = 6, extra_options: str = "") -> list[tuple[int, str, int]]:
    """Return uid, born and class_id of every released row, in the order of the release."""
    call = f"kacpc('people', k := {k}, qi := ['born'], insensitive := ['uid'], allow_rare := ['uid'], "
    return con.execute(
        f"SELECT uid, born, class_id FROM {call}rounding := {{'born': '{grid}'}}{extra_options})"
    ).fetchall()


def bounds(top: date | None, bottom: date | None) -> str:
    return "".join(
        f", {name} := {{'born': '{day}'}}" for name, day in (("top", top), ("bottom", bottom)) if day is not None
    )


@pytest.mark.parametrize("type_", sample_cases(("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS")))
@pytest.mark.parametrize(("top", "bottom"), BOUNDS)
def test_calendar_classes_publish_text_of_plain_python(
    con: Any, type_: str, top: date | None, bottom: date | None
) -> None:
    born = people(con, type_)
    for grid in sample_cases(GRIDS, 3):
        rows = released_rows(con, grid, extra_options=bounds(top, bottom))
        classes: dict[int, list[date]] = {}
        for uid, _, number in rows:
            classes.setdefault(number, []).append(born[uid])
        assert {(number, text) for _, text, number in rows} == {
            (number, dates.text(days, grid, top, bottom)) for number, days in classes.items()
        }


def test_calendar_grid_class_ids_ordered_by_date(con: Any) -> None:
    con.execute("CREATE TABLE people AS SELECT i AS uid, make_date(1926 + i // 3 * 4, 3, 1) AS born FROM range(9) r(i)")
    assert [text for _, text, _ in released_rows(con, "year", k=3)] == ["1926"] * 3 + ["1930"] * 3 + ["1934"] * 3
    assert {text for _, text, _ in released_rows(con, "quarter", k=6)} == {"[1926-Q1, 1934-Q1]"}
    assert {text for _, text, _ in released_rows(con, "month", k=6)} == {"[1926-03, 1934-03]"}
    assert {text for _, text, _ in released_rows(con, "decade", k=6)} == {"[1920, 1939]"}
    typed = con.execute(
        "SELECT DISTINCT born_min, born_max FROM kacpc('people', k=6, qi=['born'], withhold=['uid'], "
        "rounding={'born': 'year'}, intervals='bounds')"
    ).fetchall()
    assert typed == [(date(1926, 1, 1), date(1934, 12, 31))]
    ((pair,),) = con.execute(
        "SELECT DISTINCT born FROM kacpc('people', k=6, qi=['born'], withhold=['uid'], rounding={'born': 'year'}, "
        "intervals='struct')"
    ).fetchall()
    assert pair == {"low": date(1926, 1, 1), "high": date(1934, 12, 31)}


def test_years_without_four_digits_published_as_days(con: Any) -> None:
    con.execute(
        "CREATE TABLE people (uid INTEGER, born DATE); INSERT INTO people VALUES (1, '0044-03-15 (BC)'), "
        "(2, '0014-08-19'), (3, '0044-03-15'), (4, '0054-10-13'), (5, '9998-03-01'), (6, '9999-05-05'), "
        "(7, '9999-06-06'), (8, '12024-01-31')"
    )
    texts = [text for _, text, _ in released_rows(con, "year", k=2)]
    assert [texts[0], texts[2], texts[4], texts[6]] == [
        "[0044-01-01 (BC), 0014-12-31]", "[0044, 0054]", "[9998, 9999]", "[9999-01-01, 12024-12-31]",
    ]  # fmt: skip
    read = con.execute(
        "SELECT covers(r.born, p.born) AND p.born >= lower_date(r.born) AND p.born <= upper_date(r.born) "
        "FROM (SELECT unnest(?) AS uid, unnest(?) AS born) AS r JOIN people AS p USING (uid)",
        [[1, 2, 3, 4, 5, 6, 7, 8], texts],
    ).fetchall()
    assert read == [(True,)] * 8


def text_pairs(con: Any) -> list[tuple[str, str]]:
    """Return texts published under every grid and bound, and their equivalents in days, as published formerly."""
    result = {}
    people(con)
    for grid in sample_cases(GRIDS[:1:-1], 3):
        for top, bottom in BOUNDS[:3]:
            for _, text, _ in released_rows(con, grid, extra_options=bounds(top, bottom)):
                result[text] = text_in_days(text)
    return sorted(result.items())


def text_in_days(text: str) -> str:
    """Return a text with its days spelled out; an open end is its bound."""
    first, pair, last = text.strip("[]").partition(", ")
    names = [first, last] if pair else [first]
    values = [(name, name.lstrip("<>=")) for name in names]
    days = [
        dates.ends(plain_name)[(name is not values[0][0] and name[0] != ">") or name[0] == "<"]
        for name, plain_name in values
    ]
    spelled = [f"{name[:2] if name[0] in '<>' else ''}{day}" for (name, _), day in zip(values, days, strict=True)]
    if not pair:
        return spelled[0] if first[0] in "<>" or first.count("-") == 2 else f"[{days[0]}, {dates.ends(first)[1]}]"
    return f"[{', '.join(spelled)}]"


def test_scalar_functions_read_year_text_as_days(con: Any) -> None:
    texts = text_pairs(con)
    assert {">=1990", "<=1930"} <= {text for text, _ in texts}
    con.execute("CREATE TABLE said (named VARCHAR, days VARCHAR)")
    con.executemany("INSERT INTO said VALUES (?, ?)", texts)
    values = (
        "lower_date({0})", "upper_date({0})", "midpoint_date({0})", "covers({0}, d)", "covers({0}, d::TIMESTAMP)",
        "share_within({0}, d, DATE '1950-06-01')", "share_within({0}, DATE '1931-02-03', d)",
    )  # fmt: skip
    for function in values:
        differ = con.execute(
            f"SELECT named, days, d FROM said, (SELECT DATE '1919-12-31' + i::INTEGER * 97 AS d FROM range(330) r(i)) "
            f"WHERE {function.format('named')} IS DISTINCT FROM {function.format('days')}"
        ).fetchall()
        assert differ == [], function
    for text, low, high in con.execute("SELECT named, lower_date(named), upper_date(named) FROM said").fetchall():
        assert (low and low.date(), high and high.date()) == dates.ends(text)


def test_requested_value_distinguishes_years_from_numbers(con: Any) -> None:
    """`[1926, 1934]` is also published for birth years that are numbers: only the requested type distinguishes them."""
    read = con.execute(
        "SELECT lower_bound('[1926, 1934]'), lower_date('[1926, 1934]'), covers('[1926, 1934]', 1934), "
        "covers('[1926, 1934]', 1935), covers('[1926, 1934]', DATE '1934-12-31'), covers('[1926, 1934]', DATE "
        "'1935-01-01'), share_within('[1926, 1934]', 1926, 1928), share_within('1926', DATE '1926-01-01', '1926-07-02')"
    ).fetchall()[0]
    assert read[:6] == (1926, datetime(1926, 1, 1), True, False, True, False)
    assert read[6:] == (pytest.approx(1 / 3), pytest.approx(183 / 365))
    none = ["[1926, 1934)", "1926-13", "1926-Q5", "192", "19266", "[1926,1934]", "[1926, 1934-01-01]", "1926 ", "1926s"]
    for text in none:
        assert con.execute(
            "SELECT lower_date($t), upper_date($t), midpoint_date($t), covers($t, DATE '1926-05-05')", {"t": text}
        ).fetchall() == [(None, None, None, False)]


def test_birth_years_and_birth_dates_publish_equal_texts(con: Any) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT make_date(1926 + i, 1, 1) AS born, 1926 + i AS year, 'x' AS ward "
        "FROM range(12) r(i)"
    )
    for column, grid in (("born", "rounding := {'born': 'year'}, "), ("year", "")):
        call = f"kacpc('people', k := 4, qi := ['{column}'], {grid}sensitive := ['ward'])"
        con.execute(f"CREATE OR REPLACE TABLE by_{column} AS SELECT {column}, ward FROM {call}")
    texts = [con.execute(f"SELECT DISTINCT {c} FROM by_{c} ORDER BY 1").fetchall() for c in ("born", "year")]
    assert texts[0] == texts[1] == [("[1926, 1929]",), ("[1930, 1933]",), ("[1934, 1937]",)]
    for column in ("born", "year"):
        rows = con.execute(
            f"FROM risk('by_{column}', source := 'people', qi := ['{column}'], sensitive := ['ward'])"
        ).fetchall()
        assert rows
        assert con.execute(f"FROM query_error('by_{column}', 'people', qi := ['{column}'], queries := 40)").fetchall()


def replace_published_text(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Make plans publish one text instead of another."""
    real = plan.release_sql

    def statement(request: plan.ReleaseSpec) -> str:
        text = real(request)
        start = text.index("SELECT DISTINCT g.class_id")
        born = '"born: published"'
        before, after = text[:start], text[start:]
        return before + after.replace(
            f"g.{born}", f"CASE WHEN g.{born} = '{old}' THEN '{new}' ELSE g.{born} END AS {born}", 1
        )

    monkeypatch.setattr(plan, "release_sql", statement)


UNCOVERED, FINER = (messages.RELEASE_CHECKS[name][0] for name in ("uncovered", "finer"))


@pytest.mark.parametrize(
    ("grid", "old", "new", "why"),
    sample_cases(
        (
            ("year", "1930", "1931", UNCOVERED),
            ("year", "1930", "1930-Q1", UNCOVERED),
            ("year", "1930", "[1930-02, 1930-05]", UNCOVERED),
            ("year", "1930", "[1930-01-01, 1930-06-30]", FINER),
            ("year", "1930", "[1930, 1929]", UNCOVERED),
            ("year", "1930", "1930-03-01", FINER),
            ("decade", "[1930, 1939]", "[1930, 1934]", FINER),
            ("quarter", "1930-Q1", "1930-Q2", UNCOVERED),
            ("quarter", "1930-Q1", "1930-03", UNCOVERED),
            ("month", "1930-03", "1930-02", UNCOVERED),
            ("month", "1930-03", "1930-03-01", FINER),
        )
    ),
)
def test_gate_refuses_calendar_unit_outside_grid(
    con: Any, monkeypatch: pytest.MonkeyPatch, grid: str, old: str, new: str, why: str
) -> None:
    con.execute("CREATE TABLE people AS SELECT i AS uid, make_date(1926 + i // 3 * 4, 3, 1) AS born FROM range(9) r(i)")
    assert old in {text for _, text, _ in released_rows(con, grid, k=3)}
    replace_published_text(monkeypatch, old, new)
    with pytest.raises(duckdb.Error) as error_info:
        released_rows(con, grid, k=3)
    assert why in str(error_info.value)


@pytest.mark.parametrize("new", ["[1930-01-01, >=1930-02-03]", "<=1930-04-05"])
def test_gate_refuses_open_end_outside_grid(con: Any, monkeypatch: pytest.MonkeyPatch, new: str) -> None:
    con.execute("CREATE TABLE people AS SELECT i AS uid, make_date(1926 + i // 3 * 4, 3, 1) AS born FROM range(9) r(i)")
    assert "1930" in {text for _, text, _ in released_rows(con, "year", k=3)}
    replace_published_text(monkeypatch, "1930", new)
    with pytest.raises(duckdb.Error, match=FINER):
        released_rows(con, "year", k=3)


def test_gate_refuses_years_beyond_top(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    con.execute("CREATE TABLE people AS SELECT i AS uid, make_date(1926 + i // 3 * 4, 3, 1) AS born FROM range(9) r(i)")
    extra_options = ", top := {'born': '1934-01-01'}"
    assert ">=1934" in {text for _, text, _ in released_rows(con, "year", k=3, extra_options=extra_options)}
    for new in ("1934", "[1934, >=1935]", ">=1935"):
        replace_published_text(monkeypatch, ">=1934", new)
        with pytest.raises(duckdb.Error) as error_info:
            released_rows(con, "year", k=3, extra_options=extra_options)
        assert any(why in str(error_info.value) for why in (FINER, UNCOVERED)), new
        monkeypatch.undo()


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
@pytest.mark.parametrize("how", sample_cases(["keep", "recluster"]))
def test_versions_with_days_and_years_are_compared(con: Any, how: str) -> None:
    """A reader of both versions can subtract the one who was added, however the years are spelled."""
    con.execute(
        "CREATE TABLE people AS SELECT i AS uid, make_date(1926 + i // 4 * 4, 3, 1) AS born, 'd' || (i % 4) AS ill "
        "FROM range(12) r(i)"
    )
    dbanon.declare(con, "people", uid="person", born={"role": "quasi", "rounding": "year"}, ill="sensitive")
    con.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('people', k=4)")
    labels = set(con.execute("SELECT label_hash FROM dbanon.membership").fetchall())
    assert len(labels) == 3
    for table in ("safe", "safe_classes"):
        for year in (1926, 1930, 1934):
            days = f"[{year}-01-01, {year}-12-31]"
            con.execute(f"UPDATE {table} SET born = ? WHERE born = ?", [days, str(year)])
    con.execute("INSERT INTO people VALUES (100, '1930-05-05', 'd1')")
    with pytest.raises(dbanon.DbanonError, match="1 group of added or removed records of safe"):
        dbanon.refresh_release(con, "safe", mode=how)
    con.execute("INSERT INTO people SELECT 100 + i, '1930-06-06', 'd' || (i % 4) FROM range(1, 4) r(i)")
    dbanon.refresh_release(con, "safe", mode=how)
    assert con.execute("SELECT born, count(*) FROM safe GROUP BY ALL ORDER BY ALL").fetchall() == [
        ("1926", 4), ("1930", 8), ("1934", 4),
    ]  # fmt: skip
    assert set(con.execute("SELECT label_hash FROM dbanon.membership").fetchall()) == labels
