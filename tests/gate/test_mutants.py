"""Mutants of one line of the plan: the release gate must refuse each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

import duckdb
import pytest
from support import broken_template

import dbanon
from dbanon.policy import attribute, column_roles
from dbanon.release.plan import metrics, plan, template_columns
from dbanon.sqltext.quote import Sql

REFUSED = "release gate refused the result"
ZIPS = [[z, z[:4] + "*", z[:3] + "**", "*"] for z in ("02138", "02139", "02141", "10001", "10002")]
CALL = "('people', k := 3, suppress := 0.1)"


@pytest.fixture(scope="module")
def people() -> Iterator[Any]:
    """Create forty people and a policy that does not publish every column."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute("""
            CREATE TABLE people AS SELECT
                i AS pid, 'note ' || i AS note, 18 + i * 7 % 50 AS age, 40 + i * 13 % 30 AS weight,
                ['02138', '02139', '02141', '10001', '10002'][1 + i % 5] AS zip,
                DATE '1960-01-01' + (i * 379 % 9000)::INTEGER AS born,
                ['Flu', 'HIV'][1 + (i * 5 + i // 4) % 2] AS disease, 'f' AS sex
            FROM range(40) AS r (i)
        """)
        dbanon.load_hierarchy(con, "zip5", ZIPS)
        dbanon.declare(
            con,
            "people",
            age={"role": "quasi", "top": 60, "bottom": 24, "rounding": 5},
            weight="quasi",
            zip={"role": "quasi", "hierarchy": "zip5", "min_level": 1},
            born="quasi",
            disease="sensitive",
            sex="insensitive",
            note="identifier",
        )
        con.execute("CREATE VIEW persons AS FROM people")
        con.execute("INSERT INTO dbanon.policy SELECT * REPLACE ('persons' AS table_name) FROM dbanon.policy")
        yield con


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Replace one text in one template."""
    return partial(broken_template.change_template, monkeypatch)


def refusal_message(con: Any, function: str, call: str = CALL) -> str:
    """Assert that a call fails without a row; return the gate's message."""
    with pytest.raises(duckdb.Error, match=REFUSED) as caught:
        con.execute(f"FROM {function}{call}").fetchall()
    return str(caught.value)


def assert_refused_for_table_and_view(con: Any, function: str, call: str = CALL) -> None:
    """Assert that a call is refused for a table, which is read twice, and for a view, whose rows are stored as read."""
    refusal_message(con, function, call)
    refusal_message(con, function, call.replace("people", "persons"))


@pytest.mark.not_everyday
def test_unchanged_templates_pass_gate(people: Any) -> None:
    for call in (CALL, CALL.replace("people", "persons"), "('people', k := 3, intervals := 'bounds')"):
        for function in ("kacpc", "kacpc_classes", "kacpc_metrics"):
            assert people.execute(f"FROM {function}{call}").fetchall()


ROWS = "SELECT *, {% if has_rowid %}rowid{% else %}0 AS rowid{% endif %} FROM {{ origin }}"
"""The source with the row identifiers of a table in addition to its columns."""

SOURCE = {
    "a row is left out": ("release/plan/source.sql", "FROM {{ origin }}", "FROM {{ origin }} LIMIT 39"),
    "rows are sampled": ("release/plan/source.sql", "FROM {{ origin }}", "FROM {{ origin }} USING SAMPLE 20 ROWS"),
    "rows are repeated": (
        "release/plan/source.sql",
        "FROM {{ origin }}",
        f"FROM ({ROWS} UNION ALL {ROWS})",
    ),
    "one row in place of another": (
        "release/plan/source.sql",
        "FROM {{ origin }}",
        f"FROM (SELECT * FROM ({ROWS} LIMIT 39) UNION ALL SELECT * FROM ({ROWS} LIMIT 1))",
    ),
    "a number is misread": ("release/plan/source.sql", "{{ q.value }} AS", "{{ q.value }} + 1 AS"),
    "a sensitive value is misread": ("release/plan/source.sql", "{{ u.value }} AS", "upper({{ u.value }}) AS"),
    "a sensitive value is lost": (
        "release/plan/source.sql",
        "{{ u.value }} AS",
        "CASE WHEN rowid % 9 > 0 THEN {{ u.value }} END AS",
    ),
    "values go by rows": (
        "release/plan/source.sql",
        "{{ u.value }} AS",
        "lag({{ u.value }}, 1, {{ u.value }}) OVER () AS",
    ),
}

LEAVING = {
    "another class": (
        "release/plan/output_rows.sql",
        " AS c USING (class_id)",
        " AS c ON c.class_id = p.class_id % (SELECT max(class_id) FROM generalized_spans) + 1",
    ),
    "every class": (
        "release/plan/output_rows.sql",
        " AS c USING (class_id)",
        " AS c ON true",
    ),
    "one class less": (
        "release/plan/output_rows.sql",
        "GROUP BY ALL\n",
        "GROUP BY ALL HAVING l.class_id > 1\n",
    ),
    "a sample": (
        "release/plan/output_rows.sql",
        "GROUP BY ALL\n",
        "GROUP BY ALL USING SAMPLE 9 ROWS\n",
    ),
    "a copy more": ("release/plan/output_rows.sql", "[], r.size)", "[], r.size + 1)"),
    "a copy less": ("release/plan/output_rows.sql", "[], r.size)", "[], r.size - 1)"),
    "no copies": ("release/plan/output_rows.sql", "[], r.size)", "[], 1)"),
    "ordered backwards": ("release/plan/output_rows.sql", "ORDER BY r.class_id ASC", "ORDER BY r.class_id DESC"),
    "ordered by something else": (
        "release/plan/output_rows.sql",
        "OVER (ORDER BY r.class_id ASC",
        "OVER (ORDER BY hash(r) ASC",
    ),
    "not ordered within a class": (
        "release/plan/output_rows.sql",
        "{{ sql(u.sort_key(sql('r.', u.column))) }} ASC NULLS LAST{% if",
        "{{ sql(u.sort_key(sql('r.', u.column))) }} DESC NULLS LAST{% if",
    ),
    "all in one place": ("release/plan/output_rows.sql", "row_number() OVER", "1 + 0 * row_number() OVER"),
    "values under each other's name": (
        "release/plan/output_rows.sql",
        "AS {{ c.name }}",
        "AS {% if c.raw_name == 'sex' %}disease{% elif c.raw_name == 'disease' %}sex{% else %}{{ c.name }}{% endif %}",
    ),
    "columns in another order": (
        "release/plan/output_rows.sql",
        "{% for c in output %}",
        "{% for c in output|reverse %}",
    ),
    "a column more": (
        "release/plan/output_rows.sql",
        "r.class_id AS {{ class_id }}",
        "r.class_id AS {{ class_id }}, 1 AS pid",
    ),
    "a sensitive value of another row": (
        "release/plan/output_rows.sql",
        "s.{{ u.column }}{% if",
        "coalesce(NULL, 'Flu') AS {{ u.column }}{% if",
    ),
    "a record is there twice and another not at all": (
        "release/plan/classes_of_records.sql",
        "SELECT r.rid, g.class_id, r.size\n",
        "SELECT r.rid, g.class_id, r.size + (r.rid = 0)::INTEGER - (r.rid = 5)::INTEGER AS size\n",
    ),
    "records change their class": (
        "release/plan/classes_of_records.sql",
        "SELECT r.rid, g.class_id, r.size\n",
        "SELECT (r.rid + 1) % 40 AS rid, g.class_id, r.size\n",
    ),
}

POLICY = {
    "min_level is ignored": ("release/plan/hierarchy_columns.sql", "{{ q.min_level or 0 }}", "0"),
    "top does not hold": (
        "release/plan/number_column.sql",
        "least({{ snapped_high(q, value) }}, {{ q.top }})",
        "{{ snapped_high(q, value) }}",
    ),
    "bottom does not hold": (
        "release/plan/number_column.sql",
        "greatest({{ snapped_low(q, value) }}, {{ q.bottom }})",
        "{{ snapped_low(q, value) }}",
    ),
    "the grid is not snapped to": (
        "release/plan/number_column.sql",
        "{%- if q.grid.step -%}\n    {%- set day -%} {%- if q.family.is_calendar -%} {{ first_day(q, value) }}",
        "{%- if false -%}\n    {%- set day -%} {%- if q.family.is_calendar -%} {{ first_day(q, value) }}",
    ),
}


@pytest.mark.parametrize("mutant", SOURCE)
def test_misread_source_detected(people: Any, spoil: Any, mutant: str) -> None:
    spoil(*SOURCE[mutant])
    call = CALL if "misread" not in mutant or "sensitive" in mutant else "('people', k := 3, qi := ['age', 'weight'])"
    refusal_message(people, "kacpc", call)
    if "rowid %" not in SOURCE[mutant][2]:
        refusal_message(people, "kacpc", call.replace("people", "persons"))


@pytest.mark.parametrize("mutant", LEAVING)
def test_corrupted_output_rows_detected(people: Any, spoil: Any, mutant: str) -> None:
    spoil(*LEAVING[mutant])
    refusal_message(people, "kacpc")
    if mutant in ("another class", "a copy more"):
        refusal_message(people, "kacpc_classes")
        refusal_message(people, "kacpc_metrics")


@pytest.mark.all_cases
@pytest.mark.parametrize("mutant", POLICY)
def test_template_ignoring_policy_detected(people: Any, spoil: Any, mutant: str) -> None:
    spoil(*POLICY[mutant])
    refusal_message(people, "kacpc", "('people', k := 3, intervals := 'bounds')")


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "top": ("age", {"top": None}),
    "bottom": ("age", {"bottom": None}),
    "top and bottom": ("age", {"top": None, "bottom": None}),
    "another top": ("age", {"top": Sql("CAST('64' AS INTEGER)")}),
    "rounding": ("age", {"grid.step": None}),
    "a finer grid": ("age", {"grid.step": Sql("2")}),
    "the grid of dates": ("born", {"grid.step": None, "ends.is_day": False}),
    "days": ("born", {"grid.months": None, "grid.is_week": False}),
    "min_level": ("zip", {"min_level": 0}),
    "another column": ("zip", {"value": Sql("CAST(pid AS VARCHAR)"), "rows": None}),
    "another number": ("weight", {"value": Sql("pid::INTEGER")}),
}


def change_column(column: template_columns.QuasiColumn, **changed: Any) -> Any:
    """Return a column that is read or published differently; `grid.step` is a field of a field."""
    for name in [name for name in changed if "." in name]:
        outer, inner = name.split(".")
        changed[outer] = replace(changed.get(outer, getattr(column, outer)), **{inner: changed.pop(name)})
    own_names = {f.name for f in fields(column)}
    changed_class = type(
        "Spoiled", (type(column),), {name: value for name, value in changed.items() if name not in own_names}
    )
    values_by_name = {name: getattr(column, name) for name in own_names}
    return changed_class(**values_by_name | {name: value for name, value in changed.items() if name in own_names})


@pytest.mark.parametrize(
    ("mutant", "typed"),
    [*((what, "text") for what in SETTINGS), ("top", "bounds"), ("bottom", "struct"), ("rounding", "bounds")],
)
def test_ignored_setting_detected(people: Any, monkeypatch: pytest.MonkeyPatch, mutant: str, typed: str) -> None:
    name, n_changed = SETTINGS[mutant]
    real = template_columns.quasi_column

    def forgetful(*given: Any) -> template_columns.QuasiColumn:
        result = real(*given)
        return change_column(result, **n_changed) if result.raw_name == name else result

    monkeypatch.setattr(template_columns, "quasi_column", forgetful)
    refusal_message(people, "kacpc", f"('people', k := 3, intervals := '{typed}')")


def test_ignored_rounding_detected(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = template_columns.quasi_column
    forgotten = {"round": 1, "grid.step": None, "ends.is_day": False}

    def forgetful(*given: Any) -> template_columns.QuasiColumn:
        result = real(*given)
        return change_column(
            result, **{name: value for name, value in forgotten.items() if hasattr(result, name.split(".")[0])}
        )

    monkeypatch.setattr(template_columns, "quasi_column", forgetful)
    refusal_message(people, "kacpc", "('people', k := 3, qi := ['zip'], coarsen := {'zip': 3})")
    refusal_message(people, "kacpc", "('people', k := 3, qi := ['weight'], coarsen := {'weight': 10})")


@pytest.mark.not_everyday
def test_withheld_columns_in_output_detected(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = column_roles.resolve_roles
    for published_text in ("note", "pid"):
        for role in ("sensitive", "insensitive"):

            def careless(
                *given: Any, role: str = role, published_column: str = published_text, **more: Any
            ) -> column_roles.Roles:
                roles = real(*given, **more)
                return replace(roles, **{role: (*getattr(roles, role), published_column)})

            monkeypatch.setattr(column_roles, "resolve_roles", careless)
            for function in ("kacpc", "kacpc_classes", "kacpc_metrics"):
                refusal_message(people, function, "('people', k := 3, allow_rare := ['note', 'pid'])")


CLASSES = {
    "the list of the next class": (
        "release/plan/classes.sql",
        "v.class_id = c.class_id",
        "v.class_id = c.class_id + 1",
    ),
    "a list of all": ("release/plan/classes.sql", "WHERE v.class_id = c.class_id", ""),
    "sizes": ("release/plan/classes.sql", "c.size AS {{ names.size }}", "c.size + 1 AS {{ names.size }}"),
    "half the loss": ("release/plan/classes.sql", "c.loss / {{", "c.loss / 2 / {{"),
    "the loss of another class": ("release/plan/classes.sql", "c.loss / {{", "lag(c.loss, 1, 0.5) OVER () / {{"),
    "a loss without its width": (
        "release/plan/number_column.sql",
        "sql('high_value'), sql('low_value')) }} / nullif",
        "sql('high_value'), sql('high_value')) }} / nullif",
    ),
    "a class less": (
        "release/plan/classes.sql",
        "{% if suppress %}(\n    SELECT *, NULL AS reason FROM sized_classes",
        "{% if suppress %}(\n    SELECT *, NULL AS reason FROM sized_classes WHERE class_id > 1",
    ),
    "sizes in the list": (
        "release/plan/metric_inputs.sql",
        "AS value, sum(size)::BIGINT AS size",
        "AS value, count(*)::BIGINT AS size",
    ),
}


@pytest.mark.parametrize("mutant", CLASSES)
def test_wrong_class_statements_detected(people: Any, spoil: Any, mutant: str) -> None:
    spoil(*CLASSES[mutant])
    assert_refused_for_table_and_view(
        people, "kacpc_classes", "('people', k := 3, suppress := 0.1, withhold := ['sex'])"
    )


LOOSER = {
    "a finer level": "hierarchies := {'zip': 'zip5'}, min_level := {'zip': 0}",
    "a finer grid": "rounding := {'age': 2}",
    "no grid of dates": "rounding := {'born': 'day'}",
    "a higher top": "top := {'age': 62}",
    "a lower bottom": "bottom := {'age': 20}",
    "a top within a cell": "top := {'age': 43}",
    "a bottom within a month": "bottom := {'born': '1965-03-17'}",
}


@pytest.mark.parametrize("mutant", LOOSER)
def test_loosened_policy_detected_by_gate_alone(people: Any, monkeypatch: pytest.MonkeyPatch, mutant: str) -> None:
    call = f"('people', k := 3, {LOOSER[mutant]})"
    with pytest.raises(duckdb.Error, match=r"would loosen the policy|lies inside an interval"):
        people.execute(f"FROM kacpc{call}")
    monkeypatch.setattr(attribute, "is_less_strict", lambda *given, holds: False)
    monkeypatch.setattr(attribute, "bound_off_grid", lambda *given, holds: None)
    for intervals in ("text", "bounds"):
        refusal_message(people, "kacpc", call.replace("k := 3", f"k := 3, intervals := '{intervals}'"))


FORMULAS: dict[str, tuple[str, str]] = {
    "records": ("records", "records + 1"),
    "classes": ("classes", "classes - 1"),
    "k": ("smallest", "largest"),
    "suppressed": ("suppressed", "suppressed + 1"),
    "precision": ("1 - ", "1.1 - "),
    "square_error": ("class_error", "class_error + 1"),
    "discernibility": ("squares_of_classes", "squares_of_clusters + 1"),
    "class_size_greatest": ("largest", "smallest"),
    "risk_highest": ("1.0", "0.5"),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_wrong_metric_formula_detected(people: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    old, new = FORMULAS[name]
    real = metrics.all_metrics()
    assert any(m.name == name and old in m.value for m in real), "the mutant no longer applies"
    spoiled = [replace(m, value=m.value.replace(old, new)) if m.name == name else m for m in real]
    monkeypatch.setattr(plan.metrics, "all_metrics", lambda: spoiled)
    refusal_message(people, "kacpc_metrics")


SUMS = {
    "squares": ("release/plan/dispersion.sql", "squares - 2 *", "squares - 1 *"),
    "modes": ("release/plan/dispersion.sql", "max(size) AS most", "min(size) AS most"),
    "widths": ("release/plan/number_column.sql", "nullif({{ width(q, sql('seen_high'), sql('seen_low')) }}, 0)", "1e6"),
    "heights": ("release/plan/hierarchy_columns.sql", "(size.levels - t.depth - 1)", "(size.levels - t.depth)"),
}


@pytest.mark.parametrize("mutant", SUMS)
def test_wrong_sums_of_errors_and_losses_detected(people: Any, spoil: Any, mutant: str) -> None:
    spoil(*SUMS[mutant])
    refusal_message(people, "kacpc_metrics")


NOISY = {
    "a copy more": ("release/plan/output_rows.sql", "[], r.size)", "[], r.size + 1)"),
    "one class less": (
        "release/plan/output_rows.sql",
        "FROM distinct_rows\n",
        "FROM distinct_rows WHERE class_id > 1\n",
    ),
    "another order": ("release/plan/output_rows.sql", "ORDER BY r.class_id ASC", "ORDER BY r.class_id DESC"),
    "top": (
        "release/noise/pipeline.sql",
        "THEN {{ low_end(q, 'drawn'|of(q)) }} END",
        "THEN {{ low_end(q, 'drawn'|of(q)) }} + 60 END",
    ),
    "rounding": (
        "release/noise/pipeline.sql",
        "THEN {{ low_end(q, 'drawn'|of(q)) }} END",
        "THEN {{ 'drawn'|of(q) }} END",
    ),
    "a sensitive value of another row": (
        "release/noise/pipeline.sql",
        "{% for u in unchanged %}, s.{{ u.column }}{% if",
        "{% for u in unchanged %}, lag(s.{{ u.column }}) OVER () AS {{ u.column }}{% if",
    ),
    "a row is left out": ("release/plan/source.sql", "FROM {{ origin }}", "FROM {{ origin }} LIMIT 39"),
}


@pytest.mark.parametrize("mutant", NOISY)
def test_spoiled_noise_detected(people: Any, spoil: Any, mutant: str) -> None:
    call = "('people', k := 3, release := 'noise', qi := ['age', 'weight'])"
    assert people.execute(f"FROM rka{call}").fetchall()
    spoil(*NOISY[mutant])
    refusal_message(people, "rka", call)
