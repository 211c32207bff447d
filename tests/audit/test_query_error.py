"""query_error compared with a slow plain Python implementation, and properties of any release."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon

TREE = [["a1", "A", "*"], ["a2", "A", "*"], ["a3", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"]]
WARDS = [row[0] for row in TREE]
NODES = {"A": (0, 2), "B": (3, 4), "*": (0, 4)} | {w: (i, i) for i, w in enumerate(WARDS)}
COLUMNS = ["kind", "predicates", "queries", "median", "p95", "mean"]


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    connection = dbanon.attach(duckdb.connect())
    dbanon.load_hierarchy(connection, "wards", TREE)
    yield connection
    connection.close()


def rows(con: Any, release: str = "rel", source: str = "src", extra_arguments: str = "") -> list[dict[str, Any]]:
    cursor = con.execute(f"FROM query_error('{release}', '{source}'{', ' if extra_arguments else ''}{extra_arguments})")
    names = [column[0] for column in cursor.description]
    assert names == COLUMNS
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


# --- the slow implementation ------------------------------------------------------------------------------


def number(*parts: object) -> int:
    """Return DuckDB's md5_number_lower of the parts, separated by colons."""
    return int.from_bytes(hashlib.md5(":".join(map(str, parts)).encode()).digest()[8:], "little")


def quantile(values: Sequence[float], q: float) -> float:
    sorted_values = sorted(values)
    position = q * (len(sorted_values) - 1)
    low, high = sorted_values[math.floor(position)], sorted_values[math.ceil(position)]
    return low + (high - low) * (position - math.floor(position))


Interval = tuple[float, float] | None


def share(cell: Interval, queried: Interval, step: int) -> float:
    if queried is None:
        return 1.0
    if cell is None or cell[1] < queried[0] or cell[0] > queried[1]:
        return 0.0
    if cell[0] == cell[1]:
        return 1.0
    return (min(cell[1], queried[1]) - max(cell[0], queried[0]) + step) / (cell[1] - cell[0] + step)


def query_errors_by_loop(
    source: list[list[float | None]],
    release: list[list[Interval]],
    steps: Sequence[int],
    averaged: Sequence[int],
    queries: int,
    seed: int,
    selectivity: float = 0.1,
    sanity: float = 0.001,
    max_predicates: int = 3,
) -> dict[tuple[str, int], list[float]]:
    """Return errors by (kind, predicates).

    Every value is a number and every published value an interval; None is missing.
    """
    count = len(steps)
    result: dict[tuple[str, int], list[float]] = {}
    for n in range(1, queries + 1):
        predicates = 1 + (n - 1) % min(max_predicates, count)
        order = sorted(range(count), key=lambda j: number(seed, n, "column", j))
        selected_order, others = order[:predicates], order[predicates:]
        target = next((j for j in [*others, *selected_order] if j in averaged), None)
        parameters: list[Interval] = [None] * count
        for j in selected_order:
            values = sorted(v for row in source if (v := row[j]) is not None)
            width = max(1, math.floor(selectivity ** (1 / predicates) * len(values) + 0.5))
            first = math.floor((number(seed, n, "range", j) >> 11) / 2**53 * (len(values) - width))
            parameters[j] = (values[first], values[first + width - 1])
        exact: list[Interval]
        sums = []
        for uses_release in (False, True):
            total = weight = weighted = 0.0
            for row in release if uses_release else source:
                exact = row if uses_release else [None if v is None else (v, v) for v in row]  # type: ignore[assignment,misc]
                part = math.prod(share(cell, a, s) for cell, a, s in zip(exact, parameters, steps, strict=True))
                total += part
                if target is not None and (cell := exact[target]) is not None and part > 0:
                    weight += part
                    weighted += part * (cell[0] + cell[1]) / 2
            sums.append((total, weighted / weight if weight else None))
        (true, average), (estimate, told_average) = sums
        error = abs(estimate - true) / max(true, sanity * len(source))
        result.setdefault(("count", predicates), []).append(error)
        if average is not None and target is not None:
            known_values = [v for row in source if (v := row[target]) is not None]
            bound = max(abs(average), sanity * (max(known_values) - min(known_values)))
            wrong = (
                1.0 if told_average is None else 0.0 if told_average == average else abs(told_average - average) / bound
            )
            result.setdefault(("average", predicates), []).append(wrong)
    return result


def text_of(cell: Interval, form: str = "{:g}") -> str | None:
    if cell is None:
        return None
    low, high = (form.format(end) for end in cell)
    return low if low == high else f"[{low}, {high}]"


@pytest.mark.parametrize(("seed", "max_predicates"), [(0, 3), (1, 4), (2, 1), (3, 9)])
def test_query_error_equals_plain_loop(con: Any, seed: int, max_predicates: int) -> None:
    rng = random.Random(seed)
    rows_in, rows_out, source, release = [], [], [], []
    for _ in range(60):
        age = None if rng.random() < 0.1 else rng.randint(0, 40)
        pay = rng.randint(-20, 20) / 4
        ward = rng.randrange(5)
        color = rng.choice("rgb")
        source.append([age, pay, ward, "bgr".index(color)])
        rows_in.append((age, pay, WARDS[ward], color))
        wide_number = rng.randint(1, 12)
        ages = (
            None
            if age is None
            else (age // wide_number * wide_number, age // wide_number * wide_number + wide_number - 1)
        )
        pays = (math.floor(pay), math.floor(pay) + 2.5)
        node = rng.choice([name for name, (low, high) in NODES.items() if low <= ward <= high])
        shown_choice = rng.choice([color, "*"])
        release.append([ages, pays, NODES[node], (0, 2) if shown_choice == "*" else ("bgr".index(color),) * 2])
        rows_out.append((text_of(ages), text_of(pays, "{:.2f}"), node, shown_choice))
    con.execute("CREATE OR REPLACE TABLE src (age INTEGER, pay DECIMAL(6, 2), ward VARCHAR, color VARCHAR)")
    con.execute("CREATE OR REPLACE TABLE rel (age VARCHAR, pay VARCHAR, ward VARCHAR, color VARCHAR)")
    con.executemany("INSERT INTO src VALUES (?, ?, ?, ?)", rows_in)
    con.executemany("INSERT INTO rel VALUES (?, ?, ?, ?)", rows_out)
    expected = query_errors_by_loop(source, release, (1, 0, 1, 1), (0, 1), 90, seed, 0.3, 0.01, max_predicates)
    extra_options = (
        "qi=['age', 'pay', 'ward', 'color'], hierarchies={'ward': 'wards'}, queries=90, selectivity=0.3, "
        "error_floor=0.01"
    )
    actual_rows = rows(
        con,
        extra_arguments=f"{extra_options}, seed={seed}"
        + (f", predicates={max_predicates}" if max_predicates != 3 else ""),
    )
    numbers = range(1, min(max_predicates, 4) + 1)
    assert [(r["kind"], r["predicates"]) for r in actual_rows] == [
        (k, p) for k in ("count", "average") for p in numbers
    ]
    for row in actual_rows:
        errors = expected[row["kind"], row["predicates"]]
        assert row["queries"] == len(errors)
        assert row["median"] == pytest.approx(quantile(errors, 0.5), abs=1e-7)
        assert row["p95"] == pytest.approx(quantile(errors, 0.95), abs=1e-7)
        assert row["mean"] == pytest.approx(sum(errors) / len(errors), abs=1e-7)
        assert row["mean"] > 0


# --- properties -------------------------------------------------------------------------------------------

EVERY_TYPE = """
    CREATE OR REPLACE TABLE src AS SELECT
        i % 37 AS age, (i % 11) / 4 AS pay, (i % 13)::FLOAT / 10 AS ratio, (i % 7)::DECIMAL(5, 2) / 8
            AS price,
        DATE '2020-01-01' + (i % 50)::INTEGER AS born, TIMESTAMP '2020-01-01 10:00:00' + INTERVAL (i % 41) HOUR
            AS seen,
        TIMESTAMPTZ '2020-01-01 10:00:00+02' + INTERVAL (i % 3) HOUR AS zoned, TIME '10:00:00' + INTERVAL (i % 9) MINUTE
            AS tea,
        ['a1', 'a2', 'b1', NULL][1 + i % 4] AS ward, i % 2 = 0 AS flag, i % 5 - 2 AS "odd ""name"
    FROM range(400) AS r (i)
"""


def test_exact_release_has_no_query_error(con: Any) -> None:
    con.execute(EVERY_TYPE)
    con.execute("CREATE OR REPLACE TABLE rel AS SELECT * REPLACE (zoned AT TIME ZONE 'UTC' AS zoned) FROM src")
    con.execute("CREATE OR REPLACE TABLE texts AS SELECT CAST(COLUMNS(*) AS VARCHAR) FROM rel")
    names = [row[0] for row in con.execute("SELECT column_name FROM (DESCRIBE src)").fetchall()]
    ages_text = ", ".join("'" + name + "'" for name in names)
    for release in ("rel", "texts"):
        actual_rows = rows(con, release, extra_arguments=f"qi := [{ages_text}], queries := 200")
        assert sum(r["queries"] for r in actual_rows if r["kind"] == "count") == 200
        assert all(r["median"] == r["p95"] == r["mean"] == 0 for r in actual_rows), release


def test_coarser_release_has_greater_query_error(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE src AS SELECT (i * i) % 97 AS age, (i * 7) % 50 AS pay FROM range(2000) r (i)")
    means = []
    for width in (1, 5, 20, 97):
        con.execute(
            f"CREATE OR REPLACE TABLE rel AS SELECT '[' || age // {width} * {width} || ', ' || "
            f"age // {width} * {width} + {width} - 1 || ']' AS age, pay FROM src"
        )
        means.append([r["mean"] for r in rows(con, extra_arguments="qi=['age', 'pay'], queries=300")])
    assert means[0] == [0, 0, 0, 0]
    for finer, coarser in pairwise(means):
        assert all(a < b for a, b in zip(finer, coarser, strict=True))


def test_seed_determines_queries_in_any_row_order(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE src AS SELECT (i * i) % 97 AS age, 'w' || i % 5 AS ward FROM range(500) r (i)")
    con.execute(
        "CREATE OR REPLACE TABLE rel AS SELECT '[' || age // 10 * 10 || ', ' || age // 10 * 10 + 9 || ']' AS age, "
        "'*' AS ward FROM src"
    )
    first = rows(con, extra_arguments="qi=['age', 'ward'], seed=5")
    con.execute("CREATE OR REPLACE TABLE src AS FROM src ORDER BY hash(age, ward)")
    con.execute("SET threads = 1")
    assert rows(con, extra_arguments="qi=['age', 'ward'], seed=5") == first
    con.execute("RESET threads")
    assert rows(con, extra_arguments="qi=['age', 'ward'], seed=6") != first
    assert rows(con, extra_arguments="qi=['age', 'ward']") == rows(
        con, extra_arguments="qi=['age', 'ward'], seed=1, queries=1000"
    )


@pytest.mark.not_everyday
def test_query_error_equal_for_every_interval_form(con: Any, tmp_path: Path) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE people AS SELECT (i * i) % 71 AS age, ['a1', 'a2', 'b1', 'b2'][1 + i % 4] AS ward, "
        "DATE '2020-01-01' + ((i * 13) % 300)::INTEGER AS born, 'Flu' AS disease FROM range(300) AS r (i)"
    )
    con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(con, "people", age="quasi", ward=("quasi", "wards"), born="quasi", disease="sensitive")
    result = {}
    for form in ("text", "bounds", "struct"):
        con.execute(f"CREATE OR REPLACE TABLE safe AS FROM kacpc('people', k=5, intervals='{form}')")
        result[form] = rows(con, "safe", "people", "queries=60")
    assert result["text"] == result["bounds"] == result["struct"]
    assert all(row["mean"] > 0 for row in result["text"])
    path = tmp_path / "safe.parquet"
    con.execute(f"COPY safe TO '{path}'")
    assert rows(con, str(path), "people", "queries=60") == result["text"]
    con.execute(
        "CREATE OR REPLACE TABLE safe AS FROM kacpc('people', k=40, top := {'age': 50}, rounding := {'born': 'year'})"
    )
    coarse = rows(con, "safe", "people", "queries=60")
    assert coarse[0]["mean"] > result["text"][0]["mean"]
    con.execute("ALTER TABLE safe DROP born")
    assert len(rows(con, "safe", "people", "queries=60")) == 4  # withheld values are not queried


def test_without_numbers_only_counts_queried(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE src AS SELECT 'w' || i % 5 AS ward FROM range(50) AS r (i)")
    assert [(r["kind"], r["predicates"]) for r in rows(con, "src", extra_arguments="qi=['ward']")] == [("count", 1)]


def test_masks_count_as_all_covered_values(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE src AS SELECT (10000 + i % 40)::VARCHAR AS zip FROM range(400) AS r (i)")
    con.execute("CREATE OR REPLACE TABLE rel AS SELECT left(zip, 4) || '*' AS zip FROM src")
    (row,) = rows(con, extra_arguments="qi=['zip']")
    assert row["mean"] == pytest.approx(0, abs=1e-9)  # all values are equally frequent


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("'rel', 'src'", "no quasi-identifier is declared for src"),
        ("'rel', 'src', qi=['nope']", "src has no column 'nope'"),
        ("'rel', 'src', qi=['gone']", "rel has no column 'gone'"),
        (
            "'rel', 'src', qi=['bad']",
            r"3 distinct values of rel.bad do not have a published form. Accepted: 25, \[25, 29\]",
        ),
        (
            "'rel', 'src', qi=['ward'], hierarchies={'ward': 'wards'}",
            "1 distinct value of rel.ward does not have a published",
        ),
        ("'rel', 'src', qi=['ward'], hierarchies={'ward': 'nope'}", "there is no hierarchy 'nope'"),
        ("'rel', 'src', qi=['ward'], hierarchies={'age': 'wards'}", "it is not a quasi-identifier that release and"),
        ("'rel', 'src', qi=['list']", "src.list has the type .* cannot be a quasi-identifier"),
        ("'rel', 'src', qi=['nothing']", "src.nothing is NULL in every row"),
        ("'rel', 'src', qi=['wild']", "is NaN or infinite"),
        ("'rel', 'src', qi=['age', 'AGE']", "qi must be|two roles"),
        ("'none', 'src', qi=['age']", "no table, view or file 'none'"),
        ("'rel', 'empty', qi=['age']", "empty has no rows"),
        ("'empty', 'src', qi=['age']", "empty has no rows"),
        ("'rel', 'declared'", "rel has none of the quasi-identifiers of declared: 'gone'"),
        ("'rel', 'src', qi=['age'], queries=0", "queries must be an integer of at least 1"),
        ("'rel', 'src', qi=['age'], selectivity=0", "selectivity must be a number above 0"),
        ("NULL, 'src'", "release is missing"),
    ],
)
def test_invalid_query_error_call_raises(con: Any, call: str, says: str) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE src AS SELECT i AS age, i AS gone, i AS bad, 'a1' AS ward, [i] AS list, "
        "NULL::INTEGER AS nothing, 'nan'::DOUBLE AS wild FROM range(3) AS r (i)"
    )
    con.execute("CREATE OR REPLACE TABLE rel AS SELECT * EXCLUDE (gone) REPLACE ('x' || i AS bad, 'zz' AS ward) "
                "FROM (SELECT *, age AS i FROM src)")  # fmt: skip
    con.execute("CREATE OR REPLACE TABLE empty AS FROM src LIMIT 0")
    con.execute("CREATE OR REPLACE TABLE declared AS FROM src")
    con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(con, "declared", gone="quasi")
    with pytest.raises(duckdb.Error, match=says):
        con.execute(f"FROM query_error({call})").fetchall()
