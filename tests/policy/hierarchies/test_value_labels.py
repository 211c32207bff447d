"""Numbers and truth values are found in hierarchies that write them in another way than DuckDB."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.gate import label_notation, rules
from dbanon.policy.hierarchies import value_labels
from dbanon.policy.hierarchies.storage import InlineHierarchy
from dbanon.sqltext.quote import Sql

NUMBERS = ("-0.0", "0", "35", "-7", "100", "1.5", "0.05", "12.345", "1e20", "1e-7", "inf", "nan", None)
TYPES = ("TINYINT", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL(9,0)", "DECIMAL(9,1)", "DECIMAL(9,3)", "VARCHAR")
LEAVES = (
    (),
    ("35", "7"),
    ("35.0", "-7.0"),
    ("35.00", "1.50"),
    ("1.5", "35"),
    ("1.25", "35.5"),
    ("35", "36.0"),
    ("0.050", "12.345"),
    ("other", "35"),
    ("1.5", "1.50"),
)


def shapes_of(con: Any, leaves: tuple[str, ...]) -> tuple[str, ...]:
    hierarchy = InlineHierarchy("h", tuple(("*", "35", leaf) for leaf in leaves))
    return value_labels.leaf_shapes(con, hierarchy) if leaves else ()


def labels(con: Any, expression: str, type_: str) -> list[str | None]:
    values = ", ".join(f"(TRY_CAST({'NULL' if n is None else repr(n)} AS {type_}))" for n in NUMBERS)
    rows = con.execute(f"SELECT {expression} FROM (VALUES {values}) AS t (v)").fetchall()
    return [label for (label,) in rows]


@pytest.fixture(scope="module")
def plain() -> Any:
    """Provide a connection of DuckDB."""
    with duckdb.connect() as con:
        yield con


@pytest.mark.parametrize("type_", TYPES)
def test_gate_and_plan_write_equal_labels(plain: Any, type_: str) -> None:
    column = Sql("v")
    for leaves in LEAVES:
        shapes = shapes_of(plain, leaves)
        own = labels(plain, "v::VARCHAR", type_)
        planned = labels(plain, value_labels.value_label(column, type_, shapes), type_)
        assert planned == labels(plain, label_notation.label_text(column, type_, shapes), type_), leaves
        assert all(a == b for a, b in zip(own, planned, strict=True) if a in leaves), leaves  # what is a leaf remains
        if type_ == "VARCHAR":
            assert planned == own


@pytest.mark.parametrize(
    ("type_", "leaves", "value", "label"),
    [
        ("DOUBLE", ("35", "36.5"), "35", "35"),
        ("DOUBLE", ("35.00", "1.50"), "1.5", "1.50"),
        ("DOUBLE", ("35", "36"), "-0.0", "0"),
        ("DECIMAL(5,2)", ("1.5", "2"), "1.50", "1.5"),
        ("DECIMAL(5,2)", ("1.5", "2"), "100", "100"),
        ("BIGINT", ("35.0", "36.0"), "35", "35.0"),
        ("DOUBLE", ("35", "36.0"), "35", "35.0"),  # two notations: as DuckDB writes it
        ("BOOLEAN", ("True", "False"), "true", "True"),
        ("BOOLEAN", ("TRUE", "unknown"), "false", "false"),
        ("BOOLEAN", ("true", "FALSE"), "false", "false"),
        ("BOOLEAN", ("True", "TRUE"), "true", "true"),
        ("VARCHAR", ("True", "35"), "35.0", "35.0"),
    ],
)
def test_label_follows_notation_of_leaves(
    plain: Any, type_: str, leaves: tuple[str, ...], value: str, label: str
) -> None:
    shapes = shapes_of(plain, leaves)
    for function in (value_labels.value_label, label_notation.label_text):
        sql = function(Sql(f"({value!r}::{type_})"), type_, shapes)
        assert plain.execute(f"SELECT {sql}").fetchall() == [(label,)]


HIERARCHIES = {
    "age": [["30", "young", "*"], ["31", "young", "*"], ["32", "old", "*"]],
    "dose": [["1", "low", "*"], ["1.5", "low", "*"]],
    "member": [["True", "*"], ["False", "*"]],
    "ward": [["0.0", "*"], ["1.0", "*"]],
}


@pytest.fixture
def visits(con: Any) -> Any:
    """Create `visits` with types that write their values differently from the hierarchies that the policy names."""
    con.execute("""
        CREATE OR REPLACE TABLE visits AS SELECT
            (30 + i % 3)::DOUBLE AS age, (1 + i % 2 / 2)::DECIMAL(5,2) AS dose, i % 2 = 0 AS member,
            (i % 2)::INTEGER AS ward, ['flu', 'cold'][i // 2 % 2 + 1] AS illness
        FROM range(120) AS r (i)
    """)
    for name, rows in HIERARCHIES.items():
        dbanon.load_hierarchy(con, name, rows)
    settings = {name: {"role": "quasi", "hierarchy": name} for name in HIERARCHIES}
    dbanon.declare(con, "visits", **settings, illness="sensitive")
    return con


def test_release_publishes_labels_of_leaves(visits: Any) -> None:
    rows = visits.execute(
        "SELECT DISTINCT age, dose, member, ward FROM mondrian('visits', k = 10) ORDER BY ALL"
    ).fetchall()
    assert rows == [
        (age, dose, member, ward)
        for age in ("30", "31", "32")
        for dose, member, ward in (("1", "True", "0.0"), ("1.5", "False", "1.0"))
    ]
    assert all(not visits.execute(f"FROM uncovered_values('visits', '{name}')").fetchall() for name in HIERARCHIES)


def test_gate_refuses_labels_that_only_the_plan_knows(visits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "label_text", lambda value, *_: Sql(f"{value}::VARCHAR"))
    with pytest.raises(duckdb.Error, match="the release gate refused the result"):
        visits.execute("FROM mondrian('visits', k = 10)").fetchall()


def test_audits_find_leaves_of_other_notation(visits: Any) -> None:
    visits.execute("CREATE OR REPLACE TABLE released AS FROM mondrian('visits', k = 10)")
    assert set(visits.execute("SELECT max(mean) FROM query_error('released', 'visits')").fetchall()) == {(0.0,)}
    covered = "covers(r.age, v.age, 'age') AND covers(r.dose, v.dose, 'dose') AND covers(r.member, v.member, 'member')"
    n_covered = visits.execute(f"SELECT count(*) FROM released AS r JOIN visits AS v ON {covered}").fetchall()[0][0]
    assert n_covered == 6 * 20 * 20


def test_text_column_must_have_text_of_leaf(visits: Any) -> None:
    visits.execute("CREATE OR REPLACE TABLE rooms AS SELECT (i % 2)::VARCHAR AS room FROM range(40) AS r (i)")
    with pytest.raises(duckdb.Error, match=r"rooms\.room: 2 distinct values are missing from hierarchy 'ward'"):
        visits.execute("FROM mondrian('rooms', k = 10, qi = ['room'], hierarchies = {'room': 'ward'})").fetchall()
    problems = visits.execute("SELECT value, problem FROM uncovered_values('rooms', 'room', hierarchy = 'ward')")
    assert problems.fetchall() == [(v, f"missing; a leaf is written {v}.0") for v in ("0", "1")]
