"""Released rows, classes and metrics, recomputed in Python from the source: row by row, and in their order.

Every record has a note of its own, which is published as a sensitive value. So each released row belongs to one record,
and its expected cells follow from the records of its class.
"""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

import dbanon

pytestmark = pytest.mark.all_cases

ZIPS = {z: (z[:4] + "*", z[:3] + "**", "*") for z in ("02138", "02139", "02141", "10001", "10002")}
TOP, BOTTOM, GRID, CODE = 60, 24, 5, 999
QUASI = ("age", "born", "zip", "ward")


class Record(NamedTuple):
    """One row of the source."""

    pid: int
    who: str
    age: int | None
    born: datetime.date | None
    zip: str | None
    ward: str
    disease: str
    sex: str
    note: str


def records() -> list[Record]:
    """Return 100 records of twenty people, with NULLs, codes for missing values and values beyond top and bottom."""
    actual_records = []
    for i in range(100):
        age = None if i % 13 == 0 else CODE if i % 11 == 0 else 18 + i * 7 % 50
        born = None if i % 17 == 0 else datetime.date(1960, 1, 1) + datetime.timedelta(days=i * 379 % 4000)
        zip_code = None if i % 19 == 0 else list(ZIPS)[i % 5]
        ward, sex, disease = f"ward {i % 3}", "fm"[i % 2] + " ", ("Flu", "HIV", "Cold")[(i * 5 + i // 4) % 3]
        actual_records.append(
            Record(i, f"p{i % 20}.", age, born, zip_code, ward, disease, sex, f"note {i * 37 % 100:03}")
        )
    return actual_records


@pytest.fixture(scope="module")
def people() -> Any:
    con = dbanon.connect()
    con.execute(
        "CREATE TABLE people (pid INTEGER, who VARCHAR, age INTEGER, born DATE, zip VARCHAR, ward VARCHAR, "
        "disease VARCHAR, sex VARCHAR, note VARCHAR)"
    )
    con.executemany(f"INSERT INTO people VALUES ({', '.join('?' * 9)})", [list(r) for r in records()])
    dbanon.load_hierarchy(con, "zip5", [[z, *above] for z, above in ZIPS.items()])
    dbanon.declare(
        con,
        "people",
        age={"role": "quasi", "top": TOP, "bottom": BOTTOM, "rounding": GRID, "missing_codes": [str(CODE)]},
        born={"role": "quasi", "rounding": "month"},
        zip={"role": "quasi", "hierarchy": "zip5", "min_level": 1},
        ward="quasi",
        disease="sensitive",
        note="sensitive",
        sex="insensitive",
    )
    con.execute("CREATE TABLE persons AS FROM people")
    con.execute("INSERT INTO dbanon.policy SELECT * REPLACE ('persons' AS table_name) FROM dbanon.policy")
    dbanon.declare(con, "persons", who="person")
    yield con
    con.close()


def published_age(values: Sequence[int]) -> tuple[tuple[float, float], str]:
    """Return the ends of the published range of some ages, and its text."""
    minimum, maximum = min(values), max(values)
    low = BOTTOM if minimum <= BOTTOM else TOP if minimum >= TOP else max(minimum // GRID * GRID, BOTTOM)
    high = TOP if maximum >= TOP else BOTTOM if maximum <= BOTTOM else min(maximum // GRID * GRID + GRID - 1, TOP)
    if low >= TOP or high <= BOTTOM:
        return (low, high), f">={TOP}" if low >= TOP else f"<={BOTTOM}"
    ends = f"<={BOTTOM}" if low == BOTTOM else str(low), f">={TOP}" if high == TOP else str(high)
    return (low, high), ends[0] if low == high else f"[{ends[0]}, {ends[1]}]"


def published_birth_months(values: Sequence[datetime.date]) -> tuple[tuple[float, float], str]:
    """Return the months of the first and the last birthday, and their text."""
    low, high = (f"{day:%Y-%m}" for day in (min(values), max(values)))
    number = tuple(float(month.replace("-", "")) for month in (low, high))
    return (number[0], number[1]), low if low == high else f"[{low}, {high}]"


def published_zip(values: Sequence[str]) -> str:
    """Return the lowest node above all of them."""
    return next(node for level, node in enumerate(ZIPS[values[0]]) if all(ZIPS[v][level] == node for v in values))


def published_rows(column: str, values: Sequence[Any]) -> tuple[tuple[float, float, bool, str], str | None]:
    """Return the published text of a column in a class, and its sort key: ends of numbers, or bytes of texts."""
    filled_values = [v for v in values if v is not None]
    nowhere = (math.inf, math.inf)
    if len(filled_values) < len(values):
        text = "*" if filled_values else None
        return (*nowhere, text is None, text or ""), text
    if column == "age":
        ends, text = published_age(filled_values)
    elif column == "born":
        ends, text = published_birth_months(filled_values)
    else:
        ends, text = (
            nowhere,
            published_zip(filled_values)
            if column == "zip"
            else filled_values[0]
            if len(set(filled_values)) == 1
            else "*",
        )
    return (*ends, False, text), text


def expected_rows(classes: Sequence[Sequence[Record]]) -> list[list[Any]]:
    """Return the released rows of records that are in these classes."""
    actual_values = []
    for one_class in classes:
        values = [
            published_rows(c, [None if getattr(r, c) == CODE else getattr(r, c) for r in one_class]) for c in QUASI
        ]
        actual_values.append((tuple(order for order, _ in values), [text for _, text in values], one_class))
    actual_values.sort(key=lambda one: one[0])
    rows = []
    for number, (_, texts, one_class) in enumerate(actual_values, 1):
        age, born, zip_code, ward = texts
        for r in sorted(one_class, key=lambda r: (r.disease, r.sex, r.note)):
            rows.append([age, born, zip_code, ward, r.disease, r.sex, r.note, number])
    return rows


CALLS = {
    "suppressed": ("kacpc", "'people', k := 4, suppress := 0.1"),
    "diverse": ("mondrian", "'people', k := 3, l := 2"),
    "persons": ("mondrian", "'persons', k := 4, l := 2"),
    "nulls": ("kacpc", "'people', k := 4, nulls := 'drop', suppress := 0.05"),
}


@pytest.mark.parametrize("case", CALLS)
def test_released_rows_follow_from_source_and_classes_in_order(people: Any, case: str) -> None:
    function, arguments = CALLS[case]
    rows = [list(row) for row in people.execute(f"FROM {function}({arguments})").fetchall()]
    notes = {r.note: r for r in records()}
    assert len({row[6] for row in rows}) == len(rows) > 70 and {row[6] for row in rows} <= set(notes)
    classes: dict[int, list[Record]] = defaultdict(list)
    for row in rows:
        classes[row[-1]].append(notes[row[6]])
    assert rows == expected_rows(list(classes.values()))
    people_of = {n: len({r.who if case == "persons" else r.pid for r in one_class}) for n, one_class in classes.items()}
    diseases = {n: {r.disease for r in one_class} for n, one_class in classes.items()}
    k = 3 if case == "diverse" else 4
    assert min(people_of.values()) >= k
    assert any(n < len(classes[number]) for number, n in people_of.items()) == (case == "persons")
    removed_values = [r for r in notes.values() if r.note not in {row[6] for row in rows}]
    null = [r for r in removed_values if case == "nulls" and (None in (r.age, r.born, r.zip) or r.age == CODE)]
    assert len(null) == (27 if case == "nulls" else 0)
    assert len(removed_values) - len(null) <= {"suppressed": 10, "nulls": 3}.get(case, 0)

    actual_rows = people.execute(f"FROM {function}_classes({arguments})").fetchall()
    names = [c[0] for c in people.description]
    lines = [dict(zip(names, line, strict=True)) for line in actual_rows]
    released_lines = [line for line in lines if line["class_id"] is not None]
    assert [line["class_id"] for line in released_lines] == sorted(classes)
    for line in released_lines:
        one_class = classes[line["class_id"]]
        assert line["size"] == len(one_class) and line.get("persons", len(one_class)) == (
            people_of[line["class_id"]] if case == "persons" else len(one_class)
        )
        assert [line[c] for c in QUASI] == next(row[:4] for row in rows if row[-1] == line["class_id"])
        assert sorted(r.note for r in one_class) == sorted(v["value"] for v in line["note"])
        counted_sizes_by_value = {v["value"]: v["size"] for v in line["disease"]}
        assert counted_sizes_by_value == {d: sum(r.disease == d for r in one_class) for d in diseases[line["class_id"]]}
    why = {line["suppressed"]: line["size"] for line in lines if line["class_id"] is None}
    assert why == {w: n for w, n in (("null", len(null)), ("outlier", len(removed_values) - len(null))) if n}

    figures = dict(people.execute(f"SELECT metric, value FROM {function}_metrics({arguments})").fetchall())
    assert figures["k"] == min(people_of.values()) and figures["records"] == len(rows)
    assert figures["classes"] == len(classes)
    assert figures["suppressed"] == len(removed_values) - len(null)
    if "l := 2" in arguments:
        assert figures["l_diversity:disease"] == min(len(d) for d in diseases.values()) >= 2


@pytest.mark.parametrize("function", ["kacpc", "mondrian"])
def test_equal_records_are_released_unchanged(con: Any, function: str) -> None:
    """Seven ages of ten records each, two of them equal: every class is one age, and nothing is generalized."""
    rows = [(age, ("Flu", "HIV", "Cold", "TB", "Cut")[i % 5]) for age in range(20, 27) for i in range(10)]
    con.execute("CREATE TABLE alike (age INTEGER, disease VARCHAR)")
    con.executemany("INSERT INTO alike VALUES (?, ?)", [list(row) for row in rows])
    dbanon.declare(con, "alike", age="quasi", disease="sensitive")
    released_rows = con.execute(f"FROM {function}('alike', k := 5)").fetchall()
    assert released_rows == [(str(age), disease, age - 19) for age, disease in sorted(rows)]
    classes = con.execute(f"SELECT class_id, size, loss FROM {function}_classes('alike', k := 5)").fetchall()
    assert classes == [(n, 10, 0.0) for n in range(1, 8)]


@pytest.mark.parametrize("function", ["kacpc", "mondrian"])
def test_records_of_one_person_count_as_one(con: Any, function: str) -> None:
    """Six people of three records each, whose own ages are nearer to each other than to those of another person."""
    con.execute("CREATE TABLE stays AS SELECT i // 3 AS who, 20 + i // 3 * 10 + i % 3 AS age FROM range(18) AS r (i)")
    dbanon.declare(con, "stays", who="person", age="quasi")
    classes = con.execute(f"SELECT size, persons FROM {function}_classes('stays', k := 3)").fetchall()
    assert sum(size for size, _ in classes) == 18 and min(persons for _, persons in classes) >= 3


def test_nulls_form_own_class(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT CASE WHEN i < 4 THEN 1 WHEN i < 8 THEN 9 END AS age FROM range(13) AS r (i)")
    dbanon.declare(con, "t", age="quasi")
    ages = con.execute("SELECT age, count(*) FROM mondrian('t', k := 3) GROUP BY ALL ORDER BY ALL").fetchall()
    assert ages == [("1", 4), ("9", 4), (None, 5)]


def test_cached_clusters_not_reused_for_other_model(con: Any) -> None:
    """Each age has three records with two diseases: enough for l = 2, and not for l = 3."""
    disease = "['Flu', 'HIV', 'TB'][1 + (i + i // 3) % 3 % 2 + i // 24]"
    con.execute(f"CREATE TABLE t AS SELECT i // 3 AS age, {disease} AS disease FROM range(27) AS r (i)")
    dbanon.declare(con, "t", age="quasi", disease="sensitive")
    for l in (2, 3):  # noqa: E741
        rows = con.execute(f"SELECT class_id, disease FROM mondrian('t', k := 3, l := {l})").fetchall()
        values_by_number = {number: {d for n, d in rows if n == number} for number, _ in rows}
        assert min(map(len, values_by_number.values())) >= l
