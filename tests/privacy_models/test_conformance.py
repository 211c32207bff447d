"""What is true of every registered privacy model: its arrays, its SQL and its definition in plain Python agree; a table
that can meet it does, and gate, certificate, `anonymity` and the documentation know it."""

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
from support.model_tables import ALGORITHMS, CAUSE, ILLNESS, SENSITIVE, Case, case, constraint, encoded, grouped

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
"""Random tables of a form."""


def oracle(model: PrivacyModel, form: ModelForm) -> Oracle:
    """The definition of a form, which shares nothing with the package."""
    known = models.ORACLES.get((model.name, form.name))
    if known is None:
        known = importlib.import_module(f"test_{model.name}").ORACLE
    return known


def asked(model: PrivacyModel, form: ModelForm) -> dict[str, Any]:
    """Parameters that ask for a form: of whole numbers for 2, of others for 0.4."""
    chosen = {model.form_parameter: form.name} if model.form_parameter else {}
    return {model.parameter: 2 if isinstance(model.parameters[0].kind, Integer) else 0.4, **chosen}


def table_of(model: PrivacyModel, form: ModelForm, seed: int) -> tuple[Case, list[list[int]]]:
    """A random table of which a form is asked, and a random grouping of its records."""
    made = case("hierarchical t" if form.value_order == "hierarchy" else "p", seed)
    kept = {name: value for name, value in made.asked.items() if name in ("k", "multi")}
    made = replace(made, asked=kept | asked(model, form), max_levels=[None] * len(made.max_levels))
    rng = random.Random(seed)
    group = [rng.randrange(3) for _ in made.records]
    return made, [[r for r, g in enumerate(group) if g == number] for number in sorted(set(group))]


def defined(made: Case, of: ModelRequirement, classes: Sequence[Class]) -> models.Achieved:
    """What classes achieve by the definition."""
    column = made.columns[of.sensitive]
    joint = made.asked.get("multi") == "joint"
    return oracle(of.privacy_model, of.form_definition)(
        classes, of.settings, of.sensitive, joint, column.order, column.rows
    )


@every_form
def test_arrays_and_definition_agree(model: PrivacyModel, form: ModelForm) -> None:
    compared = 0
    for seed in range(TABLES):
        made, groups = table_of(model, form, seed)
        space, order = encoded(made)
        place = {record: row for row, record in enumerate(order)}
        limits = constraint(made)
        for of in limits.models:
            expected = defined(made, of, made.classes(groups))
            for group, value in zip(groups, expected.classes, strict=True):
                if models.size(made.classes([group])[0]) == 0:
                    continue  # nobody is known: no class of a release
                rows = np.array(sorted(place[record] for record in group))
                assert float(limits.worst_measure(space, rows, of)) == pytest.approx(float(value), abs=1e-9), (
                    seed,
                    group,
                )
                compared += 1
    assert compared > TABLES


@every_form
def test_sql_and_definition_agree(model: PrivacyModel, form: ModelForm) -> None:
    """The macro of the model's file on counts of classes."""
    with duckdb.connect() as con:
        for seed in range(TABLES):
            made, groups = table_of(model, form, seed)
            made = replace(made, asked={name: v for name, v in made.asked.items() if name != "multi"})
            classes = [part for part in made.classes(groups) if models.size(part)]
            for of in constraint(made).models:
                _counts(con, made, of, classes)
                tree = made.columns[of.sensitive].rows is not None
                if form.value_order:
                    places = "model.places(form, sql('overall'), rows, leaves)"
                    known = {name: Sql(name) if tree else None for name in ("rows", "leaves")}
                    con.execute(f"CREATE OR REPLACE TABLE places AS {_filled(model, places, form=form.name, **known)}")
                settings = {name: Sql(repr(value)) for name, value in of.settings.items()}
                relations = {name: Sql(name) for name in ("held", "body", "overall", "places")}
                query = _filled(
                    model, "model.measure(form, of, settings)", form=form.name, of=relations, settings=settings
                )
                found = dict(con.execute(f"SELECT class_id, value FROM ({query})").fetchall())
                expected = [float(value) for value in defined(made, of, classes).classes]
                assert [found[i] for i in range(len(classes))] == pytest.approx(expected, abs=1e-9), seed


def _filled(model: PrivacyModel, call: str, **values: object) -> Sql:
    """What a macro of the model's file gives."""
    return fill_text(f"{{% import '{model.sql_file}' as model %}}{{{{ {call} }}}}", values)


def _counts(con: Any, made: Case, of: ModelRequirement, classes: Sequence[Class]) -> None:
    """Tables of what classes hold of a sensitive column, and of its hierarchy."""
    column, type_ = made.columns[of.sensitive], made.columns[of.sensitive].type
    held = [(i, v, n) for i, part in enumerate(classes) for v, n in models.held(part, of.sensitive).items()]
    overall = models.held([record for part in classes for record in part], of.sensitive).items()
    body = [(i, models.size(part)) for i, part in enumerate(classes)]
    nodes, leaves = _nodes(column.rows or [])
    for name, columns, rows in (
        ("held", f"class_id INTEGER, value {type_}, size BIGINT", held),
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
    """Nodes (node, parent, label) and leaves (label, place) of a hierarchy of ARX rows."""
    lines = [tuple(reversed(row)) for row in rows]
    every = sorted({line[:n] for line in lines for n in range(1, len(line) + 1)})
    nodes = [("/".join(n), "/".join(n[:-1]) if len(n) > 1 else None, n[-1]) for n in every]
    return nodes, [(row[0], i) for i, row in enumerate(rows)]


@every_form
def test_all_records_together_meet_it_or_the_call_says_how_much_they_allow(
    model: PrivacyModel, form: ModelForm
) -> None:
    ends = set()
    for seed in range(TABLES):
        made, _ = table_of(model, form, seed)
        space, _ = encoded(made)
        limits = constraint(made)
        everything = made.classes([range(len(made.records))])
        reached = [(of, float(defined(made, of, everything).table)) for of in limits.models]
        met = all(bool(of.is_satisfied(np.float64(value))) for of, value in reached)
        try:
            by_row.run(
                algorithms.find("mondrian"),
                space,
                replace(limits, k=1),
                {},
                algorithms.MessageNames((), made.sensitive),
            )
            assert met, seed
        except errors.ModelNotMetError as error:
            assert not met, (seed, str(error))
            assert any(of.best_request(value) in str(error) for of, value in reached), (seed, str(error))
        ends.add(met)
    assert True in ends


@every_form
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_meets_it(algorithm: str, model: PrivacyModel, form: ModelForm) -> None:
    met = 0
    for seed in range(6):
        made, _ = table_of(model, form, seed)
        made = replace(made, asked=made.asked | {"k": min(made.asked["k"], 2)})
        space, order = encoded(made)
        chosen = algorithms.find(algorithm)
        options = {p.name: p.default for p in chosen.own}
        try:
            labels = by_row.run(chosen, space, constraint(made), options, algorithms.MessageNames((), made.sensitive))
        except (errors.ModelNotMetError, errors.TooFewRecordsError, errors.KOutOfRangeError):
            continue
        classes = made.classes(grouped(made, order, labels.tolist()))
        for of in constraint(made).models:
            value = float(defined(made, of, classes).table)
            assert of.form_definition.is_satisfied(
                np.float64(value), of.bound + (1e-9 if not of.form_definition.is_higher else -1e-9)
            ), (
                seed,
                value,
            )
            met += 1
    assert met


# --- in SQL ------------------------------------------------------------------------------------------------------

_cuts: list[int] = []
"""Where the clusters of the broken clustering begin, by place in the order of age."""


def _neighbours(request: Any, rows: Any, *domains: Any) -> Any:
    """In place of dbanon_cluster: neighbours by the first quasi-identifier, whatever the models ask."""
    if len(request) == 0:
        return pa.array([], cluster.ANSWER_TYPE)
    groups = sorted(rows.to_pylist()[0], key=lambda group: group["c0"])
    numbers = np.searchsorted(np.array(_cuts), np.arange(len(groups)), side="right").tolist()
    parts = [{"gid": g["gid"], "cluster": c, "first": 1, "last": 1} for g, c in zip(groups, numbers, strict=True)]
    return pa.array([{"parts": parts, "error": None}], cluster.ANSWER_TYPE)


PEOPLE = "SELECT i AS age, ['Flu', 'HIV', 'Cancer'][1 + (i - 1) // 3 % 3] AS disease FROM range(1, 10) AS r(i)"
"""Nine people; neighbours of three have the same disease."""
MIXED = "SELECT i AS age, ['Flu', 'HIV', 'Cancer'][1 + i % 3] AS disease FROM range(1, 31) AS r(i)"
"""Thirty people; neighbours of three have different diseases."""


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A connection whose clustering looks at no model."""
    monkeypatch.setattr(cluster, "dbanon_cluster", _neighbours)
    con = dbanon.attach(duckdb.connect())
    con.execute(f"CREATE TABLE people AS {PEOPLE}")
    dbanon.load_hierarchy(con, "illness", ILLNESS)
    yield con
    con.close()


def arguments(model: PrivacyModel, form: ModelForm, k: int = 3) -> str:
    given = {"k": k, "qi": ["age"], "sensitive": ["disease"], **asked(model, form)}
    if form.value_order:
        given["hierarchies"] = {"disease": "illness"}
    return ", ".join(f"{name} := {value!r}" for name, value in given.items())


@every_form
def test_the_gate_refuses_a_class_that_misses_it(
    broken: Any, monkeypatch: pytest.MonkeyPatch, model: PrivacyModel, form: ModelForm
) -> None:
    monkeypatch.setitem(globals(), "_cuts", [])
    assert len(broken.execute(f"FROM kacpc('people', {arguments(model, form)})").fetchall()) == 9
    monkeypatch.setitem(globals(), "_cuts", [3, 6])
    for ending in ("", "_classes", "_metrics"):
        with pytest.raises(duckdb.Error, match=rf"do not meet {model.parameter} on disease"):
            broken.execute(f"FROM kacpc{ending}('people', {arguments(model, form)})").fetchall()


@every_form
def test_the_certificate_says_it_and_computes_it_anew(model: PrivacyModel, form: ModelForm, tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    with dbanon.connect(path) as con:
        dbanon.load_hierarchy(con, "illness", ILLNESS)
        con.execute(f"CREATE TABLE people AS {MIXED}")
        given = {"hierarchies": {"disease": "illness"}} if form.value_order else {}
        dbanon.create_release(
            con, "safe", "kacpc", "people", k=3, qi=["age"], sensitive=["disease"], **asked(model, form), **given
        )
        rows = con.execute("FROM certificate('safe')").fetchall()
        measured = con.execute("SELECT metric, value, better FROM safe_metrics").fetchall()
    lines = {(section, item): (value, sql) for section, item, value, sql in rows}
    assert ("model", f"{model.parameter} of disease") in lines
    value, sql = lines["achieved", f"{form.metric.name} of disease"]
    assert (f"{form.metric.name}:disease", pytest.approx(float(value)), form.bound.better) in measured
    assert "as it was measured" not in sql
    with duckdb.connect(path, read_only=True) as plain:
        assert plain.execute(sql).fetchall()[0][0] == pytest.approx(float(value), abs=1e-9)


@every_form
def test_any_table_is_measured_by_it(model: PrivacyModel, form: ModelForm) -> None:
    with dbanon.connect() as con:
        for name, rows in (("illness", ILLNESS), ("cause", CAUSE)):
            dbanon.load_hierarchy(con, name, rows)
        for seed in range(4):
            made, groups = table_of(model, form, seed)
            made = replace(made, persons=None)
            number = {record: g for g, group in enumerate(groups) for record in group}
            columns = ["g INTEGER", *(f"{name} {SENSITIVE[name].type}" for name in made.sensitive)]
            con.execute(f"CREATE OR REPLACE TABLE t ({', '.join(columns)})")
            con.executemany(
                f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})",
                [(number[r], *values) for r, values in enumerate(made.values)],
            )
            trees = {name: SENSITIVE[name].hierarchy for name in made.sensitive if SENSITIVE[name].hierarchy}
            named = f", hierarchies := {trees!r}" if form.value_order and trees else ""
            chosen = f", {model.form_parameter} := '{form.name}'" if model.form_parameter else ""
            multi = f", multi := '{made.asked['multi']}'" if "multi" in made.asked else ""
            call = f"('t', qi := ['g'], sensitive := {made.sensitive!r}{multi}{named}"
            own = con.execute(f"FROM {model.function}{call}{chosen})").fetchall()
            everything = con.execute(f"FROM anonymity{call})").fetchall()
            for of in constraint(made).models:
                name = made.sensitive[of.sensitive]
                (value,) = {row[2] for row in own if row[1] == name}
                listed = [row for row in everything if row[:2] == (form.table_measure.name, name)]
                if form.value_order == "order" and SENSITIVE[name].type == "VARCHAR" and SENSITIVE[name].rows is None:
                    assert not listed, "texts have no order of their own"
                    continue
                (shown,) = listed
                assert shown[2] == value
                assert shown[3] == (form.table_measure.better or form.bound.better)
                if not form.table_measure.measure:
                    expected = float(defined(made, of, made.classes(groups)).table)
                    assert shown[2] == pytest.approx(expected, abs=1e-9), (seed, made.sensitive)


# --- what is said of it --------------------------------------------------------------------------------------------


def test_parameters_of_models_stand_together_in_the_order_of_their_places() -> None:
    every = [p.name for p in COMMON]
    first = every.index(registry.models()[0].parameter)
    own = [p.name for m in registry.models() for p in m.parameters]
    assert every[first : first + len(own)] == own
    assert len({m.position for m in registry.models()}) == len(registry.models())


@pytest.mark.parametrize("model", registry.models(), ids=lambda m: m.name)
def test_it_is_documented(model: PrivacyModel) -> None:
    page = function_page.common_parameters_page()
    for parameter in model.parameters:
        assert f"`{parameter.name}`" in page
    assert function_page.escape_markdown(model.description) in function_page.page(model.function)
    assert model.function in table_functions()
    for metric in model.metrics:
        assert f"## {metric.name}" in metric_page.page()
    names = [f.table_measure.name for f in model.forms]
    assert len(set(names)) == len(names)
