"""Releases of tables whose columns have names that statements use themselves."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from support import pool

import dbanon
from dbanon.sqltext.column_labels import FIXED_NAMES
from dbanon.sqltext.quote import identifier, text

Row = tuple[Any, ...]

PLAIN = ("arrived", "age", "weight", "born", "ward", "job", "sex", "disease", "note", "patient")
"""The plain names of the columns: one of arrival, three of numbers, three of categories, and one per other role."""
WARDS = [[f"{letter}{digit}", letter, "*"] for letter in "AB" for digit in "123"]

SINGLE_TABLE_CALLS = {
    "release": ("kacpc", "l := 2, suppress := 0.1"),
    "classes": ("kacpc_classes", "l := 2, suppress := 0.1"),
    "metrics": ("kacpc_metrics", "l := 2, suppress := 0.1, with_kl_divergence := true"),
    "typed bounds": ("kacpc", "intervals := 'bounds', nulls := 'drop'"),
    "datafly metrics": ("datafly_metrics", "suppress := 0.2"),
    "stream": ("castle", "delta := 20, order_by := {arrived}"),
    "stream metrics": ("castle_metrics", "delta := 20, order_by := {arrived}, l := 2"),
    "noise": ("rka", "release := 'noise'"),
    "noise metrics": ("rka_metrics", "release := 'noise'"),
    "inference": ("inference", "min_records := 2"),
}
"""Functions and options of the calls, by what they return."""

ROW_PARTS: dict[str, Callable[[Row], Row]] = {
    "metrics": lambda row: row[:2],
    "datafly metrics": lambda row: row[:2],
    "stream metrics": lambda row: (row[0], round(row[1], 9)),  # sums of doubles depend on their order
    "noise": lambda row: row[3:5],
    "noise metrics": lambda row: row[:1],
    "inference": lambda row: row,
}
"""The part of rows that does not depend on names. Metrics have descriptions with names, and noise is drawn by name."""

TABLES = [
    ["rid", "size", "person", "class_id", "code", "label", "value", "loss", "cluster", "key"],
    ["tid", "gid", "tie", "node", "tree", "place", "low", "high", "published", "first"],
    ["source", "kept", "tuples", "encoded", "grouped", "parts", "extent", "gate", "released", "leaving"],
    ["p", "q", "r", "s", "t", "u", "c", "g", "x", "e"],
    ["age: code", "age", "Size", "SIZE (column)", 'it\'s "x"; {q}', "a\nb", "{{ x }}", "Dbanon record", " ", "order:1"],
]  # fmt: skip
"""Names of columns that statements use for columns or relations of their own, or that need quotes."""

ALL_FIXED_NAMES = [
    [*chunk, *PLAIN][: len(PLAIN)]
    for chunk in (sorted(FIXED_NAMES - {*PLAIN})[i : i + len(PLAIN)] for i in range(0, len(FIXED_NAMES), len(PLAIN)))
]


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    """Create a connection with a hierarchy and the table `plain`."""
    connection = pool.take()
    dbanon.load_hierarchy(connection, "wards", WARDS)
    connection.execute(
        "CREATE TABLE plain (arrived INTEGER, age INTEGER, weight DOUBLE, born DATE, ward VARCHAR, job VARCHAR, "
        "sex VARCHAR, disease VARCHAR, note VARCHAR, patient INTEGER)"
    )
    rng = random.Random(5)
    connection.executemany(
        "INSERT INTO plain VALUES (?, ?, ?, make_date(?, 3, 1), ?, ?, ?, ?, ?, ?)",
        [
            (
                *(i, None if i == 7 else rng.randrange(20, 60), rng.randrange(50, 90) / 2, rng.randrange(1950, 2000)),
                *(rng.choice(WARDS)[0], f"job {rng.randrange(3)}", rng.choice(["man", "woman"])),
                *(rng.choice(["Flu", "HIV", "Cold"]), f"note {rng.randrange(2)}", i // 2 * 2 + (i % 3 == 0)),
            )
            for i in range(60)
        ],
    )
    yield connection
    pool.give(connection)


@pytest.fixture(scope="module")
def expected(con: Any) -> dict[str, list[Row]]:
    """Return the results of the table `plain`."""
    return results(con, "plain", PLAIN)


def results(con: Any, table: str, names: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows of each call, with plain names in place of the columns' names."""
    name_of = dict(zip(PLAIN, names, strict=True))
    literal = {plain: str(text(name)) for plain, name in name_of.items()}
    rows_by_call = {}
    for title, (function, options) in SINGLE_TABLE_CALLS.items():
        qi = ["age", "weight", "ward", "sex"] if function != "rka" else ["age", "weight", "born"]
        qi = ["age", "born", "ward", "job"] if function == "inference" else qi
        arguments = [
            f"{text(table)}, k := 3, qi := [{', '.join(literal[name] for name in qi)}]",
            f"sensitive := [{literal['disease']}], insensitive := [{literal['note']}]",
            options.format_map(literal),
        ]
        if "ward" in qi:
            arguments.append(f"hierarchies := {{{literal['ward']}: 'wards'}}")
        if "suppress" in options and function.startswith("kacpc"):
            arguments.append(f"person := {literal['patient']}")
        rows = con.execute(f"FROM {function}({', '.join(arguments)})").fetchall()
        assert rows, title
        plain_rows = [tuple(plain_text(value, name_of, function.endswith("_metrics")) for value in row) for row in rows]
        if title in ROW_PARTS:
            plain_rows = sorted((ROW_PARTS[title](row) for row in plain_rows), key=repr)
        rows_by_call[title] = plain_rows
    return rows_by_call


def plain_text(value: Any, name_of: dict[str, str], is_metric: bool) -> Any:
    """Return a value with the plain name in place of a column's name, which is all of it or after a colon.

    A metric such as `classes` may have the name of a column.
    """
    if isinstance(value, str):
        for plain, name in name_of.items():
            if value.endswith(f":{name}") or (value == name and not is_metric):
                return value[: len(value) - len(name)] + plain
    return value


def check_equal_results(con: Any, expected: dict[str, list[Row]], names: Sequence[str]) -> None:
    """Assert that a table with these column names has the same results as `plain`."""
    columns = ", ".join(f"{identifier(plain)} AS {identifier(name)}" for plain, name in zip(PLAIN, names, strict=True))
    con.execute(f"CREATE OR REPLACE TABLE odd AS SELECT {columns} FROM plain")
    for title, rows in results(con, "odd", names).items():
        assert rows == expected[title], title


@pytest.mark.all_cases
@pytest.mark.parametrize("names", TABLES, ids=lambda names: names[0])
def test_results_equal_with_names_of_statements(con: Any, expected: Any, names: list[str]) -> None:
    check_equal_results(con, expected, names)


@pytest.mark.parametrize("names", ALL_FIXED_NAMES, ids=lambda names: names[0])
def test_results_equal_with_every_fixed_name(con: Any, expected: Any, names: list[str]) -> None:
    check_equal_results(con, expected, names)
    check_equal_results(con, expected, [*names[5:], *names[:5]])
