"""Properties of every registered privacy model: its arrays, SQL and definition in plain Python agree.

A table that can meet the model does; gate, certificate, `anonymity` and the documentation know it.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from oracle import models
from oracle.models import Class, Oracle
from support import by_row
from support.model_tables import (
    ALGORITHMS,
    CAUSE,
    ILLNESS,
    SENSITIVE,
    ModelCase,
    constraint,
    encode_case,
    published_groups,
    random_case,
)

import dbanon
from dbanon import algorithms, errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.cli.manual import function_page, metric_page
from dbanon.privacy_models import registry
from dbanon.privacy_models.model import ModelForm, PrivacyModel
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.sqltext.quote import Sql, join_sql, literal
from dbanon.sqltext.templates import fill_text
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.registry import table_functions
from dbanon.udf import cluster

FORMS = [pytest.param(m, f, id=f"{m.name}-{f.name}") for m in registry.models() for f in m.forms]
every_form = pytest.mark.parametrize(("model", "form"), FORMS)
TABLES = 30
"""Random tables per form."""


def oracle(model: PrivacyModel, form: ModelForm) -> Oracle:
    """Return the definition of a form, which shares nothing with the package."""
    oracle_for_known = models.ORACLES.get((model.name, form.name))
    if oracle_for_known is None:
        oracle_for_known = importlib.import_module(f"test_{model.name}").ORACLE
    return oracle_for_known


def call_parameters(model: PrivacyModel, form: ModelForm) -> dict[str, Any]:
    """Return parameters that require a form: 2 for whole numbers, 0.4 for others."""
    selected_mapping = {model.form_parameter: form.name} if model.form_parameter else {}
    return {model.parameter: 2 if isinstance(model.parameters[0].kind, Integer) else 0.4, **selected_mapping}


def table_of(model: PrivacyModel, form: ModelForm, seed: int) -> tuple[ModelCase, list[list[int]]]:
    """Return a random table with a form as its constraint, and a random grouping of its records."""
    actual_case = random_case("hierarchical t" if form.value_order == "hierarchy" else "p", seed)
    kept_values_by_name = {name: value for name, value in actual_case.asked.items() if name in ("k", "multi_sensitive")}
    actual_case = replace(
        actual_case,
        asked=kept_values_by_name | call_parameters(model, form),
        max_levels=[None] * len(actual_case.max_levels),
    )
    rng = random.Random(seed)
    group = [rng.randrange(3) for _ in actual_case.records]
    return actual_case, [[r for r, g in enumerate(group) if g == number] for number in sorted(set(group))]


def achieved_by_definition(
    selected_case: ModelCase, requirement: ModelRequirement, classes: Sequence[Class]
) -> models.ModelResult:
    """Return the values that classes achieve by the definition."""
    column = selected_case.columns[requirement.sensitive]
    joint = selected_case.asked.get("multi_sensitive") == "joint"
    return oracle(requirement.privacy_model, requirement.form_definition)(
        classes, requirement.settings, requirement.sensitive, joint, column.order, column.rows
    )


@every_form
def test_model_arrays_equal_definition(model: PrivacyModel, form: ModelForm) -> None:
    compared = 0
    for seed in range(TABLES):
        encoded_table, groups = table_of(model, form, seed)
        space, order = encode_case(encoded_table)
        place = {record: row for row, record in enumerate(order)}
        limits = constraint(encoded_table)
        for one_model in limits.models:
            expected = achieved_by_definition(encoded_table, one_model, encoded_table.classes(groups))
            for group, value in zip(groups, expected.classes, strict=True):
                if models.n_persons(encoded_table.classes([group])[0]) == 0:
                    continue  # no person is known: no class of a release
                rows = np.array(sorted(place[record] for record in group))
                assert float(limits.worst_measure(space, rows, one_model)) == pytest.approx(float(value), abs=1e-9), (
                    seed,
                    group,
                )
                compared += 1
    assert compared > TABLES


@every_form
def test_model_sql_equals_definition(model: PrivacyModel, form: ModelForm) -> None:
    """Checks the macro of the model's file on counts of classes."""
    with duckdb.connect() as con:
        for seed in range(TABLES):
            encoded_table, groups = table_of(model, form, seed)
            encoded_table = replace(
                encoded_table, asked={name: v for name, v in encoded_table.asked.items() if name != "multi_sensitive"}
            )
            classes = [part for part in encoded_table.classes(groups) if models.n_persons(part)]
            for one_model in constraint(encoded_table).models:
                _store_counts(con, encoded_table, one_model, classes)
                tree = encoded_table.columns[one_model.sensitive].rows is not None
                if form.value_order:
                    places = "model.places(form, sql('overall'), rows, leaves)"
                    known_sql_by_name = {name: Sql(name) if tree else None for name in ("rows", "leaves")}
                    places_sql = _macro_sql(model, places, form=form.name, **known_sql_by_name)
                    con.execute(f"CREATE OR REPLACE TABLE places AS {places_sql}")
                settings = {name: Sql(repr(value)) for name, value in one_model.settings.items()}
                relations = {name: Sql(name) for name in ("held", "body", "overall", "places")}
                query = _macro_sql(
                    model, "model.measure(form, of, settings)", form=form.name, of=relations, settings=settings
                )
                mapping = dict(con.execute(f"SELECT class_id, value FROM ({query})").fetchall())
                expected = [float(value) for value in achieved_by_definition(encoded_table, one_model, classes).classes]
                assert [mapping[i] for i in range(len(classes))] == pytest.approx(expected, abs=1e-9), seed


def _macro_sql(model: PrivacyModel, call: str, **values: object) -> Sql:
    """Return the value of a macro of the model's file."""
    return fill_text(f"{{% import '{model.sql_file}' as model %}}{{{{ {call} }}}}", values)


def _store_counts(con: Any, selected_case: ModelCase, requirement: ModelRequirement, classes: Sequence[Class]) -> None:
    """Create tables of the counts of a sensitive column by class, and of its hierarchy."""
    column, type_ = selected_case.columns[requirement.sensitive], selected_case.columns[requirement.sensitive].type
    stored_values = [
        (i, v, n)
        for i, part in enumerate(classes)
        for v, n in models.persons_by_value(part, requirement.sensitive).items()
    ]
    overall = models.persons_by_value([record for part in classes for record in part], requirement.sensitive).items()
    body = [(i, models.n_persons(part)) for i, part in enumerate(classes)]
    nodes, leaves = _nodes(column.rows or [])
    for name, columns, rows in (
        ("held", f"class_id INTEGER, value {type_}, size BIGINT", stored_values),
        ("body", "class_id INTEGER, size BIGINT", body),
        ("overall", f"value {type_}, size BIGINT", list(overall)),
        ("rows", "node VARCHAR, parent VARCHAR, label VARCHAR", nodes),
        ("leaves", "label VARCHAR, place INTEGER", leaves),
    ):
        con.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        if rows:
            values = join_sql(f"({join_sql(literal(cell) for cell in row)})" for row in rows)
            con.execute(f"INSERT INTO {name} VALUES {values}")


def _nodes(rows: Sequence[Sequence[str]]) -> tuple[list[tuple[str, str | None, str]], list[tuple[str, int]]]:
    """Return nodes (node, parent, label) and leaves (label, place) of a hierarchy of ARX rows."""
    lines = [tuple(reversed(row)) for row in rows]
    all_lines = sorted({line[:n] for line in lines for n in range(1, len(line) + 1)})
    nodes = [("/".join(n), "/".join(n[:-1]) if len(n) > 1 else None, n[-1]) for n in all_lines]
    return nodes, [(row[0], i) for i, row in enumerate(rows)]


@every_form
def test_all_records_meet_model_or_call_states_limit(model: PrivacyModel, form: ModelForm) -> None:
    ends = set()
    for seed in range(TABLES):
        encoded_table, _ = table_of(model, form, seed)
        space, _ = encode_case(encoded_table)
        limits = constraint(encoded_table)
        everything = encoded_table.classes([range(len(encoded_table.records))])
        reached = [
            (one_model, float(achieved_by_definition(encoded_table, one_model, everything).table))
            for one_model in limits.models
        ]
        has_all = all(bool(one_model.is_satisfied(np.float64(value))) for one_model, value in reached)
        try:
            by_row.run_labels(
                algorithms.find("mondrian"),
                space,
                replace(limits, k=1),
                {},
                algorithms.MessageNames((), encoded_table.sensitive),
            )
            assert has_all, seed
        except errors.ModelNotMetError as error:
            assert not has_all, (seed, str(error))
            assert any(one_model.best_request(value) in str(error) for one_model, value in reached), (seed, str(error))
        ends.add(has_all)
    assert True in ends


@every_form
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_meets_model(algorithm: str, model: PrivacyModel, form: ModelForm) -> None:
    number = 0
    for seed in range(6):
        encoded_table, _ = table_of(model, form, seed)
        encoded_table = replace(encoded_table, asked=encoded_table.asked | {"k": min(encoded_table.asked["k"], 2)})
        space, order = encode_case(encoded_table)
        selected_algorithm = algorithms.find(algorithm)
        options = {p.name: p.default for p in selected_algorithm.own_parameters}
        try:
            labels = by_row.run_labels(
                selected_algorithm,
                space,
                constraint(encoded_table),
                options,
                algorithms.MessageNames((), encoded_table.sensitive),
            )
        except (errors.ModelNotMetError, errors.TooFewRecordsError, errors.KOutOfRangeError):
            continue
        classes = encoded_table.classes(published_groups(encoded_table, order, labels.tolist()))
        for one_model in constraint(encoded_table).models:
            value = float(achieved_by_definition(encoded_table, one_model, classes).table)
            assert one_model.form_definition.is_satisfied(
                np.float64(value), one_model.bound + (1e-9 if not one_model.form_definition.is_higher else -1e-9)
            ), (
                seed,
                value,
            )
            number += 1
    assert number


# --- in SQL ------------------------------------------------------------------------------------------------------

_cuts: list[int] = []
"""First positions of the broken clustering's clusters, in the order of age."""


def _neighbours(request: Any, rows: Any, *domains: Any) -> Any:
    """Cluster neighbours by the first quasi-identifier, ignoring all models; replaces dbanon_cluster."""
    if len(request) == 0:
        return pa.array([], cluster.ANSWER_TYPE)
    groups = sorted(rows.to_pylist()[0], key=lambda group: next(iter(group["codes"].values())))
    numbers = np.searchsorted(np.array(_cuts), np.arange(len(groups)), side="right").tolist()
    parts = [{"gid": g["gid"], "cluster": c, "first": 1, "last": 1} for g, c in zip(groups, numbers, strict=True)]
    return pa.array([{"parts": parts, "error": None}], cluster.ANSWER_TYPE)


PEOPLE = "SELECT i AS age, ['Flu', 'HIV', 'Cancer'][1 + (i - 1) // 3 % 3] AS disease FROM range(1, 10) AS r(i)"
"""Nine people; neighbours of three have the same disease."""
MIXED = "SELECT i AS age, ['Flu', 'HIV', 'Cancer'][1 + i % 3] AS disease FROM range(1, 31) AS r(i)"
"""Thirty people; neighbours of three have different diseases."""


@pytest.fixture
def broken_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create a connection whose clustering ignores all models."""
    monkeypatch.setattr(cluster, "dbanon_cluster", _neighbours)
    con = dbanon.attach(duckdb.connect())
    con.execute(f"CREATE TABLE people AS {PEOPLE}")
    dbanon.load_hierarchy(con, "illness", ILLNESS)
    yield con
    con.close()


def arguments(model: PrivacyModel, form: ModelForm, k: int = 3) -> str:
    parameters = {"k": k, "qi": ["age"], "sensitive": ["disease"], **call_parameters(model, form)}
    if form.value_order:
        parameters["hierarchies"] = {"disease": "illness"}
    return ", ".join(f"{name} := {value!r}" for name, value in parameters.items())


@every_form
def test_gate_refuses_class_missing_model(
    broken_connection: Any, monkeypatch: pytest.MonkeyPatch, model: PrivacyModel, form: ModelForm
) -> None:
    monkeypatch.setitem(globals(), "_cuts", [])
    assert len(broken_connection.execute(f"FROM kacpc('people', {arguments(model, form)})").fetchall()) == 9
    monkeypatch.setitem(globals(), "_cuts", [3, 6])
    for ending in ("", "_classes", "_metrics"):
        with pytest.raises(duckdb.Error, match=rf"do not meet {model.parameter} on disease"):
            broken_connection.execute(f"FROM kacpc{ending}('people', {arguments(model, form)})").fetchall()


@every_form
def test_certificate_states_and_recomputes_model(model: PrivacyModel, form: ModelForm, tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    with dbanon.connect(path) as con:
        dbanon.load_hierarchy(con, "illness", ILLNESS)
        con.execute(f"CREATE TABLE people AS {MIXED}")
        parameters = {"hierarchies": {"disease": "illness"}} if form.value_order else {}
        dbanon.create_release(
            con,
            "safe",
            "kacpc",
            "people",
            k=3,
            qi=["age"],
            sensitive=["disease"],
            **call_parameters(model, form),
            **parameters,
        )
        rows = con.execute("FROM certificate('safe')").fetchall()
        measured_rows = con.execute("SELECT metric, value, better FROM safe_metrics").fetchall()
    lines = {(section, element): (value, sql) for section, element, value, sql in rows}
    assert ("model", f"{model.parameter} of disease") in lines
    value, sql = lines["achieved", f"{form.metric.name} of disease"]
    assert (f"{form.metric.name}:disease", pytest.approx(float(value)), form.bound.better) in measured_rows
    assert "as it was measured" not in sql
    with duckdb.connect(path, read_only=True) as plain_con:
        assert plain_con.execute(sql).fetchall()[0][0] == pytest.approx(float(value), abs=1e-9)


@every_form
def test_model_measured_on_any_table(model: PrivacyModel, form: ModelForm) -> None:
    with dbanon.connect() as con:
        for name, rows in (("illness", ILLNESS), ("cause", CAUSE)):
            dbanon.load_hierarchy(con, name, rows)
        for seed in range(4):
            encoded_table, groups = table_of(model, form, seed)
            encoded_table = replace(encoded_table, persons=None)
            number = {record: g for g, group in enumerate(groups) for record in group}
            columns = ["g INTEGER", *(f"{name} {SENSITIVE[name].type}" for name in encoded_table.sensitive)]
            con.execute(f"CREATE OR REPLACE TABLE t ({', '.join(columns)})")
            con.executemany(
                f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})",
                [(number[r], *values) for r, values in enumerate(encoded_table.values)],
            )
            trees = {name: SENSITIVE[name].hierarchy for name in encoded_table.sensitive if SENSITIVE[name].hierarchy}
            named_text = f", hierarchies := {trees!r}" if form.value_order and trees else ""
            selected_text = f", {model.form_parameter} := '{form.name}'" if model.form_parameter else ""
            multi = (
                f", multi_sensitive := '{encoded_table.asked['multi_sensitive']}'"
                if "multi_sensitive" in encoded_table.asked
                else ""
            )
            call = f"('t', qi := ['g'], sensitive := {encoded_table.sensitive!r}{multi}{named_text}"
            own_rows = con.execute(f"FROM {model.function}{call}{selected_text})").fetchall()
            everything = con.execute(f"FROM anonymity{call})").fetchall()
            for one_model in constraint(encoded_table).models:
                name = encoded_table.sensitive[one_model.sensitive]
                (value,) = {row[2] for row in own_rows if row[1] == name}
                listed_rows = [row for row in everything if row[:2] == (form.table_measure.name, name)]
                if form.value_order == "order" and SENSITIVE[name].type == "VARCHAR" and SENSITIVE[name].rows is None:
                    assert not listed_rows, "texts have no order of their own"
                    continue
                (display,) = listed_rows
                assert display[2] == value
                assert display[3] == (form.table_measure.better or form.bound.better)
                if not form.table_measure.measure:
                    expected = float(
                        achieved_by_definition(encoded_table, one_model, encoded_table.classes(groups)).table
                    )
                    assert display[2] == pytest.approx(expected, abs=1e-9), (seed, encoded_table.sensitive)


# --- documentation of the models -----------------------------------------------------------------------------------


def test_model_parameters_in_registered_order() -> None:
    all_names = [p.name for p in COMMON]
    first = all_names.index(registry.models()[0].parameter)
    own_names = [p.name for m in registry.models() for p in m.parameters]
    assert all_names[first : first + len(own_names)] == own_names
    assert len({m.position for m in registry.models()}) == len(registry.models())


@pytest.mark.parametrize("model", registry.models(), ids=lambda m: m.name)
def test_manual_documents_model_parameters_and_metrics(model: PrivacyModel) -> None:
    page = function_page.common_parameters_page()
    for parameter in model.parameters:
        assert f"`{parameter.name}`" in page
    assert function_page.escape_markdown(model.description) in function_page.page(model.function)
    assert model.function in table_functions()
    for metric in model.metrics:
        assert f"## {metric.name}" in metric_page.page()
    names = [f.table_measure.name for f in model.forms]
    assert len(set(names)) == len(names)
