"""Every algorithm meets every privacy model on its published classes, or names the unmet one.

Thousands of random tables below SQL and dozens in SQL are judged by the definitions in models.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from oracle import models
from oracle.models import Number
from support import by_row
from support.algorithms import complete_parameters
from support.model_tables import (
    ALGORITHMS,
    AREA,
    CAUSE,
    ILLNESS,
    MODELS,
    Asked,
    ModelCase,
    call_text,
    case_arguments,
    constraint,
    create_case_table,
    encode_case,
    missed_models,
    published_groups,
    random_case,
    unmet_parameter,
)

import dbanon
from dbanon import algorithms, errors

CASES = 3000
"""Random tables below SQL, over all algorithms and models."""

SQL_CASES = 65
"""Random tables in SQL."""


# --- below SQL -----------------------------------------------------------------------------------------------------


def released_clusters(selected_case: ModelCase, algorithm: str) -> list[list[int]]:
    """Return the records of each published class."""
    built, order = encode_case(selected_case)
    selected_algorithm = algorithms.find(algorithm)
    names = tuple(f"q{j}" for j in range(len(selected_case.attributes)))
    options = {p.name: p.default for p in selected_algorithm.own_parameters}
    labels = by_row.run_labels(
        selected_algorithm,
        built,
        constraint(selected_case),
        options,
        algorithms.MessageNames(names, selected_case.sensitive),
    )
    assert labels.shape == (len(selected_case.records),), selected_case
    assert labels.min() >= 0, selected_case
    return published_groups(selected_case, order, labels.tolist())


def check_contract(selected_case: ModelCase, algorithm: str) -> str:
    """Assert that an algorithm meets the constraint or reports that it cannot be met; return which."""
    expected = missed_models(selected_case, range(len(selected_case.records)))
    if "k" in expected:
        return "k"
    try:
        groups = released_clusters(selected_case, algorithm)
    except (errors.ModelNotMetError, errors.MaxLevelBlockTooSmallError) as error:
        assert unmet_parameter(error) in expected, f"{selected_case}: {error}"
        return "infeasible"
    assert not expected, f"{selected_case}: {groups}"
    assert selected_case.unmet(groups) == [], f"{selected_case}: {groups}"
    assert all(len({selected_case.block(record) for record in group}) == 1 for group in groups), (
        f"{selected_case}: {groups}"
    )
    return "released"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_classes_meet_model_or_whole_table_misses(algorithm: str, model: str) -> None:
    seeds = CASES // (len(ALGORITHMS) * len(MODELS))
    ends = Counter(check_contract(random_case(model, seed), algorithm) for seed in range(seeds))
    assert ends["released"] > 0, ends


# --- the maximum of a table -----------------------------------------------------------------------------------------

FORMS = {"l": ("diversity", "c"), "t": ("ground_distance",), "alpha": (), "p": (), "beta": ("likeness",)}


def achieved(selected_case: ModelCase, groups: Sequence[Sequence[int]], name: str, column: int) -> models.ModelResult:
    """Return the values of classes by the model of a parameter, in the form of the case."""
    classes, joint, parameters = (
        selected_case.classes(groups),
        selected_case.asked.get("multi_sensitive") == "joint",
        selected_case.asked,
    )
    if name in ("l", "p"):
        kind = parameters.get("diversity", "distinct") if name == "l" else "distinct"
        if kind == "recursive":
            return models.recursive(classes, parameters["l"], column, joint)
        return (models.entropy_l if kind == "entropy" else models.distinct_l)(classes, column, joint)
    if name == "alpha":
        return models.alpha(classes, column, joint)
    if name == "beta":
        return models.beta(classes, column, joint, parameters.get("likeness") == "enhanced")
    if parameters.get("ground_distance") == "hierarchical":
        return models.t_hierarchical(classes, selected_case.trees[column] or [], column, joint)
    if parameters.get("ground_distance") == "ordered":
        return models.t_ordered(classes, column, joint, selected_case.orders[column])
    return models.t_equal(classes, column, joint)


def bounds(selected_case: ModelCase) -> Asked | None:
    """Return the constraint, moved to the exact values of the whole table; None where these cannot be requested."""
    everything = [range(len(selected_case.records))]
    moves: Asked = {}
    for name in FORMS:
        if name not in selected_case.asked:
            continue
        tables: list[Number] = [
            achieved(selected_case, everything, name, i).table for i in range(len(selected_case.sensitive))
        ]
        if name == "l" and selected_case.asked.get("diversity") == "recursive":
            moves["c"] = math.nextafter(float(max(tables)), math.inf)
        elif name in ("l", "p"):
            moves[name] = math.floor(min(tables) + 1e-9)
        else:
            moves[name] = float(max(tables))
    fine_has_all = all(math.isfinite(value) and value >= (2 if name in "lp" else 0) for name, value in moves.items())
    return moves if moves and fine_has_all else None


@pytest.mark.parametrize("model", [model for model in MODELS if model != "k"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_whole_table_value_is_strictest_accepted(algorithm: str, model: str) -> None:
    """A stricter value is an error that names the maximum, and requesting the maximum works."""
    tried_number = 0
    for seed in range(20_000, 20_024):
        actual_case = random_case(model, seed)
        actual_case = replace(actual_case, max_levels=[None] * len(actual_case.attributes))
        moved_bounds = bounds(actual_case)
        if moved_bounds is None or "k" in missed_models(actual_case, range(len(actual_case.records))):
            continue
        actual_case = replace(actual_case, asked=actual_case.asked | moved_bounds)
        assert check_contract(actual_case, algorithm) == "released", actual_case
        for name, value in moved_bounds.items():
            extra = {"l": value + 1, "p": value + 1, "c": math.nextafter(value, 0)}.get(name, value - 0.01)
            if extra < 0:
                continue
            parameters = accepted_bound(replace(actual_case, asked=actual_case.asked | {name: extra}), algorithm, name)
            assert parameters == pytest.approx(value, abs=1e-5, rel=1e-5), actual_case
            tried_number += 1
    assert tried_number > 0 or model in ("several", "enhanced beta"), (
        "whole tables gain nothing, or too much in one value"
    )


def accepted_bound(selected_case: ModelCase, algorithm: str, name: str) -> float:
    """Return the accepted bound: request too much, then the maximum that the error states, once per column."""
    for _ in selected_case.sensitive:
        with pytest.raises(errors.ModelNotMetError) as caught:
            released_clusters(selected_case, algorithm)
        assert unmet_parameter(caught.value) == ("l" if name == "c" else name)
        message, best = stated_maximum(caught.value)
        assert message == name
        selected_case = replace(selected_case, asked=selected_case.asked | {name: best})
        if not missed_models(selected_case, range(len(selected_case.records))):
            break
    assert check_contract(selected_case, algorithm) == "released", selected_case
    return float(selected_case.asked[name])


def stated_maximum(error: Exception) -> tuple[str, float]:
    """Return the parameter and the maximum that an error states."""
    match = re.search(r"the most that they allow is (?:(c) above|(\w+) =) (\S+)\. Hint", str(error))
    assert match, str(error)
    value = float(match[3])
    return (match[1], value * (1 + 1e-9)) if match[1] else (match[2], int(value) if match[2] in "lp" else value)


# --- in SQL --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def db() -> Iterator[Any]:
    """Provide one attached connection with the hierarchies."""
    con = duckdb.connect()
    dbanon.attach(con)
    for name, rows in (("area", AREA), ("illness", ILLNESS), ("cause", CAUSE)):
        dbanon.load_hierarchy(con, name, rows)
    yield con
    con.close()


def rows_of(con: Any, query: str) -> list[dict[str, Any]]:
    con.execute(query)
    names = [column[0] for column in con.description]
    return [dict(zip(names, row, strict=True)) for row in con.fetchall()]


def check_contract_in_sql(con: Any, selected_case: ModelCase, algorithm: str, nulls: str, with_record_ids: bool) -> str:
    """Assert the contract for three calls; `with_record_ids`: the release has a column that identifies each record."""
    quasi = create_case_table(con, selected_case)
    arguments = case_arguments(selected_case, quasi) | {"nulls": nulls} | complete_parameters(algorithm)
    if with_record_ids:
        arguments |= {"insensitive": ["rid"], "allow_rare": ["rid"]}
    keeps = [rid for rid, record in enumerate(selected_case.records) if nulls == "keep" or None not in record]
    try:
        rows = rows_of(con, f"FROM {call_text(algorithm, arguments)}")
    except duckdb.Error as error:
        own_keys = algorithms.find(algorithm).defaults.keys()  # a model that the algorithm requires by itself
        assert unmet_parameter(error) in missed_models(selected_case, keeps) | own_keys, (
            f"{selected_case}, nulls: {nulls}: {error}"
        )
        return "infeasible"
    about = f"{selected_case}, nulls: {nulls}"
    assert not missed_models(selected_case, keeps), about
    sensitive = [tuple(row[name] for name in selected_case.sensitive) for row in rows]
    assert Counter(sensitive) == Counter(selected_case.values[rid] for rid in keeps), about
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(tuple(row[q] for q in quasi), []).append(row["rid"] if with_record_ids else i)
    if with_record_ids:
        assert sorted(row["rid"] for row in rows) == keeps, about
        assert all(selected_case.values[row["rid"]] == values for row, values in zip(rows, sensitive, strict=True)), (
            about
        )
        seen_copy = selected_case
    else:
        seen_copy = replace(selected_case, values=sensitive, persons=None)
    classes = list(groups.values())
    assert seen_copy.unmet(classes) == [], f"{about}: {classes}"
    entries = rows_of(con, f"FROM {call_text(algorithm + '_classes', arguments)}")
    assert len(entries) == len(classes), about
    for row in entries:
        group = groups[tuple(row[q] for q in quasi)]
        assert row["size"] == len(group), about
        for i, name in enumerate(selected_case.sensitive):
            counts = {element["value"]: element["size"] for element in row[name]}
            assert counts == Counter(seen_copy.values[r][i] for r in group), about
    values_by_metric = {
        row["metric"]: row["value"] for row in rows_of(con, f"FROM {call_text(algorithm + '_metrics', arguments)}")
    }
    for metric, value in expected_metrics(seen_copy, classes).items():
        assert values_by_metric[metric] == pytest.approx(value, abs=1e-9), f"{about}: {metric}"
    return "released"


METRICS = {"l": "l_diversity", "t": "t_closeness", "alpha": "alpha", "p": "p_sensitivity", "beta": "beta_likeness"}


def expected_metrics(selected_case: ModelCase, classes: list[list[int]]) -> dict[str, float]:
    """Return the metrics of the models in the constraint."""
    mapping = {"k": float(models.k(selected_case.classes(classes)).table)}
    for name, metric in METRICS.items():
        for i, column in enumerate(selected_case.sensitive) if name in selected_case.asked else ():
            recursive = name == "l" and selected_case.asked.get("diversity") == "recursive"
            mapping[f"{'recursive_c' if recursive else metric}:{column}"] = float(
                achieved(selected_case, classes, name, i).table
            )
    return mapping


@pytest.mark.parametrize("model", MODELS)
def test_released_classes_meet_model_or_call_explains(db: Any, model: str) -> None:
    ends = Counter[str]()
    for i in range(SQL_CASES // len(MODELS)):
        actual_case = random_case(model, 10_000 + i, least_k=2)
        result = actual_case.persons is not None or i % 3 > 0
        algorithm = ALGORITHMS[i % len(ALGORITHMS)]
        ends[check_contract_in_sql(db, actual_case, algorithm, "drop" if i % 4 == 3 else "keep", result)] += 1
    assert ends["released"] > 0, ends
