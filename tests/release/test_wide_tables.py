"""Wide tables: a statement with rows of columns gives the release that one with a join per column gives."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from support import broken_template

import dbanon
from dbanon.release.plan import plan

N_ROWS = 240

CELLS = {
    "integer": "(hash(i, {c}) % 40)::INTEGER",
    "text": "'v' || hash(i, {c}) % 5",
    "nullable": "CASE WHEN hash(i, {c}, 1) % 9 > 0 THEN (hash(i, {c}) % 30)::INTEGER END",
    "sparse": "CASE WHEN hash(i, {c}, 1) % 9 > 0 THEN 'T' || hash(i, {c}) % 3 END",
    "double": "(hash(i, {c}) % 50)::DOUBLE / 4",
    "decimal": "((hash(i, {c}) % 500) / 10)::DECIMAL(9, 2)",
    "date": "DATE '2020-01-01' + (hash(i, {c}) % 900)::INTEGER",
    "timestamp": "TIMESTAMP '2020-01-01 12:00:00' + to_hours((hash(i, {c}) % 9000)::INTEGER)",
    "coded": "(hash(i, {c}) % 90)::INTEGER",
    "placed": "['Rome', 'Oslo', 'Bonn', 'Bern'][1 + (hash(i, {c}) % 4)::INTEGER]",
}
POLICY = """
    UPDATE dbanon.policy SET bottom = '10', top = '70', rounding = '5' WHERE column_name LIKE 'coded%';
    UPDATE dbanon.policy SET hierarchy = 'places' WHERE column_name LIKE 'placed%';
    INSERT INTO dbanon.hierarchy BY NAME
    SELECT 'places' AS name, node, parent, label FROM (VALUES
        ('e', NULL, 'Europe'), ('s', 'e', 'South'), ('n', 'e', 'North'),
        ('1', 's', 'Rome'), ('2', 's', 'Bern'), ('3', 'n', 'Oslo'), ('4', 'n', 'Bonn')) AS v (node, parent, label);
"""
CALLS = {
    "text intervals": "FROM kacpc('wide', k=4)",
    "suppress and l": "FROM kacpc('wide', k=4, suppress=0.1, l=2, sensitive=['illness'])",
    "drop NULL": "FROM mondrian('wide', k=3, nulls='drop')",
    "bounds": "FROM kacpc('wide', k=4, intervals='bounds')",
    "structs": "FROM mondrian('wide', k=4, intervals='struct')",
    "persons": "FROM kacpc('wide', k=4, person='person')",
    "magnitudes": "FROM mdav('wide', k=4)",
    "full domain": "FROM datafly('wide', k=2, suppress=0.5)",
    "levels": "FROM kacpc('wide', k=4, min_level={'text0': 1}, escape_labels=true)",
}


@pytest.fixture(scope="module")
def wide() -> Any:
    """A connection with two wide tables: one of all kinds of columns, one of rounded integers."""
    con = dbanon.attach(duckdb.connect())
    columns = {f"{kind}0": cell.format(c=place) for place, (kind, cell) in enumerate(CELLS.items())}
    columns |= {f"{kind}1": CELLS[kind].format(c=20) for kind in ("nullable", "sparse", "coded", "placed")}
    cells = ", ".join(f"{cell} AS {name}" for name, cell in columns.items())
    con.execute(
        f"CREATE TABLE wide AS SELECT {cells}, 'I' || hash(i, 99) % 6 AS illness, i // 2 AS person "
        f"FROM range({N_ROWS}) AS r(i)"
    )
    dbanon.declare(con, "wide", **dict.fromkeys(columns, "quasi"), illness="sensitive")
    for statement in POLICY.split(";"):
        if statement.strip():
            con.execute(statement)
    numbers = ", ".join(f"(hash(i, {c}) % 90)::INTEGER AS n{c}" for c in range(13))
    con.execute(f"CREATE TABLE numbers AS SELECT {numbers} FROM range(60) AS r(i)")
    dbanon.declare(con, "numbers", **{f"n{c}": {"role": "quasi", "rounding": 5} for c in range(13)})
    return con


@pytest.fixture(autouse=True)
def few_columns_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use rows of columns for 13 quasi-identifiers and more."""
    monkeypatch.setattr(plan, "MAX_JOINED_COLUMNS", 12)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_wide_statement_gives_rows_of_joins(wide: Any, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_rows = wide.execute(call).fetchall()
    monkeypatch.setattr(plan, "MAX_JOINED_COLUMNS", 1_000)
    dbanon.clear_cache(wide)
    assert of_rows
    assert of_rows == wide.execute(call).fetchall()
    dbanon.clear_cache(wide)


def test_statement_of_wide_table_has_rows_of_columns(wide: Any) -> None:
    statement = dbanon.explain(wide, "FROM kacpc('numbers', k=4)")
    assert "span_columns AS MATERIALIZED" in statement
    assert statement.count(" JOIN ") < 40
    few = dbanon.explain(wide, "FROM kacpc('numbers', k=4, qi=['n1', 'n2'])")
    assert "span_columns" not in few


FAULTS = {
    "codes": ("numbers", "encoded.sql", "AS k ON k.rid = s.rid", "AS k ON k.rid = (s.rid + 1) % 60"),
    "texts": ("wide", "span_values.sql", "texts[{{ q.i + 1 }}]", "texts[{{ (q.i + 1) % 13 + 1 }}]"),
    "nodes": ("wide", "span_values.sql", "AND n.low = x.low", "AND n.low = 0"),
    "bounds": ("wide", "number_column.sql", "AS a ON a.code = p.low", "AS a ON a.code = p.high"),
    "NULL": ("wide", "span_values.sql", "{{ has_values(sql('x.'), none) }}", "true"),
    "grid": ("numbers", "number_column.sql", "{{ low_end(q, sql('a.value')) }} AS low_value", "a.value AS low_value"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_gate_refuses_faults_in_wide_statement(wide: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, template, old, new = FAULTS[fault]
    broken_template.change_template(monkeypatch, f"release/plan/{template}", old, new)
    dbanon.clear_cache(wide)
    with pytest.raises(duckdb.Error, match="release gate refused the result"):
        wide.execute(f"FROM kacpc('{table}', k=4)").fetchall()
    dbanon.clear_cache(wide)
