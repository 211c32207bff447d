"""Mutants of one line of related tables: the gate refuses each of them, in every form of the output."""

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

REFUSED = "release gate refused the result"
PATH = "release/related/pipeline.sql"
CLUSTERED = "release/related/clustered_people.sql"
MADE = "    FROM {{ 'made'|of(t) }} AS r\n    JOIN {{ 'values'|of(t) }} AS v ON v.number = r.number\n"
ORDERED = "(ORDER BY n.pseudonym ASC, {{ marks(t, sql('r.')) }} ASC, {{ row_values(t, sql('r.')) }} ASC)"


@pytest.fixture(scope="module")
def clinic_con() -> Iterator[Any]:
    """Create thirty people with visits and a policy that does not publish every column."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        clinic(con, 7, 30)
        con.execute("UPDATE dbanon.policy SET top = '60', rounding = '5' WHERE column_name = 'age'")
        con.execute("UPDATE dbanon.policy SET min_level = 1 WHERE column_name IN ('zip', 'code')")
        con.execute("CREATE VIEW seen AS FROM visits")
        con.execute("INSERT INTO dbanon.policy SELECT * REPLACE ('seen' AS table_name) FROM dbanon.policy WHERE "
                    "table_name = 'visits'")  # fmt: skip
        yield con


@pytest.fixture
def change_template(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Replace one text in one template."""
    return partial(broken_template.change_template, monkeypatch)


def child_call(function: str, table: str = "visits") -> str:
    return f"{function}('{table}', k := 3, entity := 'patients', max_children := 2, {KEY})"


def person_call(function: str, table: str = "visits") -> str:
    return f"{function}('patients', k := 3, children := '{table}', max_children := 2, {KEY})"


@pytest.mark.not_everyday
def test_related_calls_pass_gate_without_mutant(clinic_con: Any) -> None:
    for call in (child_call, person_call):
        for function in ("kacpc", "kacpc_classes", "kacpc_metrics"):
            for table in ("visits", "seen"):
                assert clinic_con.execute(f"FROM {call(function, table)}").fetchall()


MUTANTS = {
    "everybody is alone": (CLUSTERED, "SELECT rid, class_id AS cluster", "SELECT rid, rid AS cluster"),
    "a person is alone": (
        PATH,
        "(SELECT number, cluster FROM cluster_members)",
        "(SELECT number, cluster + 9999 * (person = (SELECT min(person) FROM cluster_members))::INTEGER AS cluster "
        "FROM cluster_members)",
    ),
    "a row more than everybody has": (PATH, "WHERE place <= size", "WHERE place <= size + 1"),
    "a row less than everybody has": (PATH, "WHERE place <= size", "WHERE place < size"),
    "no cap": (PATH, "least(min({{ 'row count'|of(t) }}), {{ cap }})", "min({{ 'row count'|of(t) }})"),
    "the keys leave": (PATH, "n.pseudonym AS {{ t.names.key }}", "n.person AS {{ t.names.key }}"),
    "pseudonyms follow the keys": (
        PATH,
        "{% if not loop.first %}, {% endif %}{{ 'row values'|of(t) }} ASC{% endfor %}) AS pseudonym",
        "{% endfor %}person ASC) AS pseudonym",
    ),
    "pseudonyms have gaps": (PATH, "n.pseudonym AS {{ t.names.key }}", "n.pseudonym * 2 AS {{ t.names.key }}"),
    "rows go to another person": (
        PATH,
        "JOIN numbered AS n ON n.person = v.person",
        "JOIN (SELECT * REPLACE (CASE WHEN {{ t.i }} > 0 AND pseudonym < 3 THEN 3 - pseudonym ELSE pseudonym END "
        "AS pseudonym) FROM numbered) AS n ON n.person = v.person",
    ),
    "rows go to nobody": (
        PATH,
        "n.pseudonym AS {{ t.names.key }}",
        "n.pseudonym + 100 * {{ t.i }} AS {{ t.names.key }}",
    ),
    "a person is left out": (
        PATH,
        "JOIN numbered AS n ON n.person = v.person",
        "JOIN (FROM numbered WHERE pseudonym < 30) AS n ON n.person = v.person",
    ),
    "a row leaves twice": (
        PATH,
        f"{MADE}    JOIN numbered",
        "    FROM (FROM {{ 'made'|of(t) }} UNION ALL (FROM {{ 'made'|of(t) }} LIMIT {{ t.i }})) AS r\n"
        "    JOIN {{ 'values'|of(t) }} AS v ON v.number = r.number\n    JOIN numbered",
    ),
    "a row stands for another": (
        PATH,
        "r.number AS {{ row }},",
        "lead(r.number, 1, r.number) OVER (ORDER BY r.number ASC) AS {{ row }},",
    ),
    "the order is that of the source": (PATH, ORDERED, "(ORDER BY r.number ASC)"),
    "rows of a person are in the order of the source": (PATH, ORDERED, "(ORDER BY n.pseudonym ASC, r.number ASC)"),
    "classes have wrong numbers": (
        PATH,
        "n.class_id AS {{ t.names.class_id }}",
        "n.class_id + (n.pseudonym = 1)::INTEGER AS {{ t.names.class_id }}",
    ),
    "classes of rows have other numbers": (
        PATH,
        "n.class_id AS {{ t.names.class_id }}",
        "n.class_id + {{ t.i }} AS {{ t.names.class_id }}",
    ),
    "a column more": (
        PATH,
        "n.class_id AS {{ t.names.class_id }},",
        "n.class_id AS {{ t.names.class_id }}, r.number AS more,",
    ),
    "a key beside the pseudonym": (
        PATH,
        "n.pseudonym AS {{ t.names.key }}",
        "n.pseudonym AS {{ t.names.key }}, v.person",
    ),
    "a sensitive value is misread": ("release/plan/source.sql", "{{ u.value }} AS", "upper({{ u.value }}) AS"),
    "min_level is ignored": ("release/plan/hierarchy_columns.sql", "{{ q.min_level or 0 }}", "0"),
    "the grid is not snapped to": (
        "release/plan/number_column.sql",
        "{%- if q.grid.step -%}\n    {%- set day -%} {%- if q.family.is_calendar -%} {{ first_day(q, value) }}",
        "{%- if false -%}\n    {%- set day -%} {%- if q.family.is_calendar -%} {{ first_day(q, value) }}",
    ),
    "intervals are too narrow": (
        "release/plan/generalize.sql",
        "max(e.{{ 'code'|of(q) }}) AS {{ 'high'|of(q) }}",
        "min(e.{{ 'code'|of(q) }}) AS {{ 'high'|of(q) }}",
    ),
    "rows of other clusters": (
        "release/related/person_clusters.sql",
        "JOIN cluster_spans AS c ON c.cluster = a.cluster",
        "JOIN cluster_spans AS c ON c.cluster = (SELECT min(cluster) FROM cluster_spans)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_related_path_fault_refused_for_both_tables(clinic_con: Any, change_template: Any, mutant: str) -> None:
    change_template(*MUTANTS[mutant])
    for query in (f"FROM {child_call('kacpc')}", f"SELECT count(*) FROM {person_call('kacpc', 'seen')}"):
        with pytest.raises(duckdb.Error, match=REFUSED):
            clinic_con.execute(query).fetchall()


VALUE = "dense_rank() OVER (ORDER BY {{ byte(sql('r.', h.column)) }} ASC) - 1"
DIVERSE = {
    "clusters are not merged": (CLUSTERED, "{% if l %}", "{% if false %}"),
    "everybody has values of their own": (PATH, VALUE, "p.rowid"),
    "only first rows are looked at": (PATH, "AND r.place <= {{ cap }}", "AND r.place <= 1"),
}  # fmt: skip


@pytest.mark.parametrize("mutant", DIVERSE)
def test_too_frequent_class_values_detected(clinic_con: Any, change_template: Any, mutant: str) -> None:
    calls = [call.replace("k := 3", "k := 3, l := 2") for call in (child_call("kacpc"), person_call("kacpc_metrics"))]
    values = "['Flu', 'Flu', 'HIV', 'TB', 'Cold', 'Cough']"
    clinic_con.execute(f"UPDATE visits SET disease = {values}[1 + (hash(rowid) % 6)::INTEGER]")
    clinic_con.execute("UPDATE patients SET blood = ['A', 'B', 'AB', '0'][1 + (rowid % 4)::INTEGER]")
    for call in calls:
        assert clinic_con.execute(f"FROM {call}").fetchall()
    change_template(*DIVERSE[mutant])
    for call in calls:
        with pytest.raises(duckdb.Error, match=REFUSED):
            clinic_con.execute(f"FROM {call}").fetchall()


LEAVES = (
    "FROM {} LIMIT 1",
    "SELECT class_id FROM {} LIMIT 1",
    "SELECT EXISTS (FROM {})",
    "SELECT count(*) FROM {}",
    "SELECT a.class_id FROM {} AS a JOIN patients AS p ON p.id = a.class_id",
    "CREATE TABLE leaked AS FROM {}",
    "COPY (FROM {}) TO '{file}'",
)


@pytest.mark.parametrize("statement_form", LEAVES)
def test_related_gate_applies_to_every_statement_form(
    clinic_con: Any, change_template: Any, statement_form: str, tmp_path: Path
) -> None:
    change_template(*MUTANTS["everybody is alone"])
    for call in (child_call("kacpc"), person_call("kacpc"), person_call("kacpc_classes"), child_call("kacpc_metrics")):
        if "class_id" in statement_form and "metrics" in call:
            continue
        with pytest.raises(duckdb.Error, match=REFUSED):
            clinic_con.execute(statement_form.format(call, file=tmp_path / "leaked.csv")).fetchall()
