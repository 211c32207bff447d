"""The SELECT after the gate is checked: rows that it repeats, drops or reorders are refused before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import broken_template
from support.related import KEY, clinic

import dbanon
from dbanon import errors
from dbanon.gate import statement_check

REFUSED = "release gate refused the result: a statement that reads other rows than the gate checked"
OUT = "release/plan/result.sql"
INCLUDED = f"{{% include '{OUT}' %}}"
TOTALS = "release/plan/metric_totals.sql"
FIGURES = "SELECT metric, value, better"


@pytest.fixture(scope="module")
def people_connection() -> Iterator[Any]:
    """Create forty people, and twenty people with visits."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute(
            "CREATE TABLE people AS SELECT i AS at, i % 20 AS age, 'd' || i % 3 AS disease FROM range(40) AS r (i)"
        )
        dbanon.declare(con, "people", at="identifier", age="quasi", disease="sensitive")
        clinic(con, 7, 20)
        yield con


CALLS = {
    "release": "kacpc('people', k := 3)",
    "classes": "kacpc_classes('people', k := 3)",
    "metrics": "kacpc_metrics('people', k := 3)",
    "related": f"kacpc('patients', k := 3, children := 'visits', {KEY})",
    "stream": "castle('people', k := 3, delta := 10, order_by := ['at'])",
}

MUTANTS = {
    "every row once more": ("release", OUT, "unnest({{ copies }})", "unnest(list_append({{ copies }}, 0::TINYINT))"),
    "a limit before copies": ("release", OUT, "FROM published_rows WHERE", "FROM (FROM published_rows LIMIT 9) WHERE"),
    "no order": ("release", OUT, "ORDER BY {{ place }} ASC", ""),
    "an order by a hash": ("release", OUT, "ORDER BY {{ place }} ASC", "ORDER BY hash({{ place }}) ASC"),
    "descending": ("release", OUT, "{{ place }} ASC)", "{{ place }} DESC)"),
    "ungated": ("release", OUT, "WHERE (SELECT passed FROM gate)", ""),
    "gated by or": ("release", OUT, "WHERE (SELECT", "WHERE true OR (SELECT"),
    "another relation": ("release", OUT, "(FROM published_rows", "(FROM released_values"),
    "one copy each": ("release", OUT, "unnest({{ copies }})", "unnest([0]::TINYINT[])"),
    "distinct": ("release", OUT, "SELECT * EXCLUDE", "SELECT DISTINCT * EXCLUDE"),
    "a sample": ("release", "release/plan/release.sql", INCLUDED, f"{INCLUDED} LIMIT 9"),
    "a second table": (
        "release",
        "release/plan/release.sql",
        INCLUDED,
        f"SELECT * EXCLUDE (\"dbanon copies\") FROM published_rows UNION ALL {INCLUDED}",
    ),
    "classes without order": ("classes", "release/plan/classes.sql", "{{ class_id }} ASC NULLS LAST{", "1 DESC{"),
    "classes not all": ("classes", "release/plan/classes.sql", "FROM class_rows\n", "FROM (FROM class_rows LIMIT 2)\n"),
    "metrics not stated": ("metrics", "release/plan/metric_totals.sql", " AND (SELECT passed FROM stated_check)", ""),
    "metrics of others": ("metrics", TOTALS, FIGURES, FIGURES.replace("value", "2 * value")),
    "related ungated": ("related", "release/related/release.sql", "WHERE", "WHERE true OR"),
    "related in no order": ("related", "release/related/release.sql", "ORDER BY {{ place }} ASC", ""),
    "stream in no order": ("stream", "release/streams/release.sql", "{{ class_id }} ASC NULLS LAST, ", ""),
    "stream ungated": ("stream", "release/streams/release.sql", "WHERE (SELECT passed FROM gate)", ""),
}  # fmt: skip

FORMS = {
    "all": "SELECT * FROM {}",
    "count": "SELECT count(*) FROM {}",
    "one": "SELECT * FROM {} LIMIT 1",
    "exists": "SELECT EXISTS (FROM {})",
    "table": "CREATE OR REPLACE TABLE copied AS FROM {}",
}


@pytest.mark.all_cases
@pytest.mark.parametrize("mutant", MUTANTS)
def test_changed_last_select_refused(people_connection: Any, monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    kind, name, old, new = MUTANTS[mutant]
    broken_template.change_template(monkeypatch, name, old, new)
    with pytest.raises(duckdb.Error, match=REFUSED):
        people_connection.execute(f"FROM {CALLS[kind]}").fetchall()


@pytest.mark.parametrize("form", FORMS)
def test_last_select_with_other_rows_refused_in_every_form(
    people_connection: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    _, name, old, new = MUTANTS["a limit before copies"]
    broken_template.change_template(monkeypatch, name, old, new)
    for query in (FORMS[form], f"COPY ({FORMS['all']}) TO '{tmp_path / 'x.csv'}'"):
        with pytest.raises(duckdb.Error, match=REFUSED):
            people_connection.execute(query.format(CALLS["release"])).fetchall()
    assert not list(tmp_path.iterdir())


STATEMENTS = {
    "it is the last": ("WITH x AS (\n    SELECT 1\n)\nSELECT *\nFROM x", True),
    "in other lines": ("WITH x AS (\n    SELECT 1\n    )\n\nSELECT * FROM\n x\n", True),
    "another one": ("WITH x AS (\n    SELECT 1\n)\nSELECT a\nFROM x", False),
    "more follows": ("WITH x AS (\n    SELECT 1\n)\nSELECT *\nFROM x LIMIT 1", False),
    "after a union": ("WITH x AS (\n    SELECT 1\n)\nSELECT 2 UNION ALL\nSELECT *\nFROM x", False),
    "after a comment": ("WITH x AS (\n    SELECT 1\n)\nSELECT 2 UNION ALL -- )\nSELECT *\nFROM x", False),
    "no relations": ("SELECT *\nFROM x", False),
}


@pytest.mark.all_cases
@pytest.mark.parametrize("case", STATEMENTS)
def test_last_select_accepted_only_after_relations(case: str) -> None:
    statement, is_last = STATEMENTS[case]
    check: Callable[[], str] = partial(statement_check.check_last_select, "kacpc", statement, "SELECT * FROM x")
    if is_last:
        assert check() == statement
    else:
        with pytest.raises(errors.GateRefusedError):
            check()
