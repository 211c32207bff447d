"""The release gate holds for every privacy model: classes that miss one are refused, and the model is named."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from oracle import models
from oracle.models import Value
from support.model_tables import CAUSE, ILLNESS, INFECTIOUS, MODELS, SENSITIVE, Asked, call_text, create_table

import dbanon
from dbanon.udf import cluster as udf_cluster

_cuts: list[int] | None = None
"""First positions of the broken clustering's clusters, in the order of the first quasi-identifier."""


def _broken_cluster(request: Any, rows: Any, *domains: Any) -> Any:
    """Cluster neighbours by the first quasi-identifier, in threes or cut at `_cuts`, ignoring all models.

    Replaces dbanon_cluster.
    """
    if len(request) == 0:
        return pa.array([], udf_cluster.ANSWER_TYPE)
    groups = sorted(rows.to_pylist()[0], key=lambda group: next(iter(group["codes"].values())))
    assert all(group["size"] == 1 for group in groups)
    cuts = range(3, len(groups), 3) if _cuts is None else _cuts
    cluster = np.searchsorted(np.array(cuts), np.arange(len(groups)), side="right").tolist()
    parts = [{"gid": g["gid"], "cluster": c, "first": 1, "last": 1} for g, c in zip(groups, cluster, strict=True)]
    return pa.array([{"parts": parts, "error": None}], udf_cluster.ANSWER_TYPE)


@pytest.fixture
def broken_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create a connection whose clustering meets k = 3 and nothing else."""
    monkeypatch.setattr(udf_cluster, "dbanon_cluster", _broken_cluster)
    con = dbanon.attach(duckdb.connect())
    for name, rows in (("infectious", INFECTIOUS), ("illness", ILLNESS), ("cause", CAUSE)):
        dbanon.load_hierarchy(con, name, rows)
    yield con
    con.close()


GATE_CASES = 8
"""Random clusterings per model."""

KINDS = ("kacpc", "kacpc_classes", "kacpc_metrics")
ALIKE = ["Flu"] * 3 + ["HIV"] * 3 + ["Cancer"] * 3 + ["Flu", "HIV", "Cancer"]
TREE = {"hierarchies": {"disease": "infectious"}}
REFUSED: list[tuple[str, Asked]] = [
    ("l", {"l": 2}),
    ("l", {"l": 2, "diversity": "entropy"}),
    ("l", {"l": 2, "diversity": "recursive", "c": 3}),
    ("t", {"t": 0.5}),
    ("t", {"t": 0.4, "ground_distance": "ordered"}),
    ("t", {"t": 0.4, "ground_distance": "ordered", **TREE}),
    ("t", {"t": 0.4, "ground_distance": "hierarchical", **TREE}),
    ("alpha", {"alpha": 0.9}),
    ("p", {"p": 2}),
    ("beta", {"beta": 1.5}),
    ("beta", {"beta": 9, "likeness": "enhanced"}),
]


def people(con: Any, *columns: Sequence[Value], persons: Sequence[Value] = ()) -> dict[str, object]:
    """Create people of age 1, 2, ... with these sensitive columns; return the arguments of a call."""
    names = ["disease", "cause"][: len(columns)]
    types = {"age": "INTEGER", **dict.fromkeys(names, "VARCHAR")} | ({"person": "VARCHAR"} if persons else {})
    ages = range(1, len(columns[0]) + 1)
    create_table(con, types, list(zip(ages, *columns, *([persons] if persons else []), strict=True)))
    arguments: dict[str, object] = {"k": 3, "qi": ["age"], "sensitive": names}
    return arguments | ({"person": "person"} if persons else {})


def assert_refused(con: Any, arguments: Mapping[str, object], model: str, column: str = "disease") -> None:
    """Assert that the gate refuses the release, its classes and its metrics because of this model."""
    for kind in KINDS:
        with pytest.raises(duckdb.Error, match=f"release gate refused the result.*do not meet {model} on {column}"):
            con.execute(f"SELECT count(*) FROM {call_text(kind, arguments)}").fetchall()


@pytest.mark.parametrize(("model", "model_arguments"), REFUSED, ids=str)
def test_gate_refuses_classes_that_only_meet_k(broken_connection: Any, model: str, model_arguments: Asked) -> None:
    arguments = people(broken_connection, ALIKE)
    assert len(broken_connection.execute(f"FROM {call_text('kacpc', arguments)}").fetchall()) == 12, "k alone is met"
    assert_refused(broken_connection, arguments | model_arguments, model)


@pytest.mark.parametrize(("model", "model_arguments"), REFUSED[:3] + REFUSED[8:9], ids=str)
def test_model_gate_does_not_count_null_as_value(broken_connection: Any, model: str, model_arguments: Asked) -> None:
    assert_refused(
        broken_connection,
        people(broken_connection, ["Flu", None, None] + ["Flu", "HIV", "Cancer"] * 3) | model_arguments,
        model,
    )


def test_model_gate_counts_null_as_category(broken_connection: Any) -> None:
    arguments = people(broken_connection, [None, None, None] + ["Flu", "HIV", None] * 3)
    for model, parameters in (("alpha", {"alpha": 0.9}), ("t", {"t": 0.4}), ("beta", {"beta": 0.5})):
        assert_refused(broken_connection, arguments | parameters, model)


@pytest.mark.not_everyday
def test_model_gate_distinguishes_joint_from_independent(broken_connection: Any) -> None:
    """In every class both columns have two values, but one follows from the other."""
    arguments = people(
        broken_connection, ["Flu", "HIV", "Flu"] * 4, ["home", "work", "home", "work", "home", "work"] * 2
    )
    for parameters in ({"l": 2}, {"l": 2, "multi_sensitive": "independent"}):
        assert len(broken_connection.execute(f"FROM {call_text('kacpc', arguments | parameters)}").fetchall()) == 12
    for model, parameters in (
        ("l", {"l": 2}),
        ("p", {"p": 2}),
        ("alpha", {"alpha": 0.7}),
        ("t", {"t": 0.4}),
    ):
        assert_refused(
            broken_connection, arguments | parameters | {"multi_sensitive": "joint"}, model, "(disease|cause)"
        )


def test_model_gate_counts_persons(broken_connection: Any) -> None:
    """All three persons of the first class have Flu, but only 3 of its 4 records.

    In the second table one of two values belongs to an unknown person only.
    """
    diseases = ["Flu", "HIV", "Flu", "Flu"] + ["HIV", "Flu", "Cancer", "HIV"] * 2
    four = ["p1", "p1", "p2", "p3"]
    persons = [*four, "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11"]
    arguments = people(broken_connection, diseases, persons=persons) | {"k": 2}
    # Groups of three: p1 Flu, p1 HIV, p2 Flu: 2 persons, both with Flu.
    assert_refused(broken_connection, arguments | {"alpha": 0.9}, "alpha")
    nobody: list[Value] = ["p1", None, "p2", "p3", *persons[4:]]
    assert_refused(broken_connection, people(broken_connection, diseases, persons=nobody) | {"k": 2, "l": 2}, "l")


def test_model_gate_requires_share_strictly_below_c(broken_connection: Any) -> None:
    """(c, l)-diversity is r_1 < c (r_l + ..): two Flu and one HIV are not (2, 2)-diverse."""
    arguments = people(broken_connection, ["Flu", "Flu", "HIV"] * 4) | {"l": 2, "diversity": "recursive"}
    assert len(broken_connection.execute(f"FROM {call_text('kacpc', arguments | {'c': 2.001})}").fetchall()) == 12
    assert_refused(broken_connection, arguments | {"c": 2}, "l")


@pytest.mark.parametrize("model", MODELS)
def test_model_gate_equals_model_definitions(
    broken_connection: Any, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """Runs of random length in the order of age; all ages are distinct."""
    ends = set()
    for seed in range(GATE_CASES):
        rng = random.Random(f"gate {model} {seed}")
        parameters: Asked = {"k": 2, **MODELS[model](rng)}
        names = ["disease", "cause"][: rng.choice([1, 1, 2])]
        n = rng.randint(8, 40)
        columns = [
            [None if rng.random() < 0.05 else rng.choice(SENSITIVE[name].values[:3]) for _ in range(n)]
            for name in names
        ]
        persons = [rng.choice([None, *map(str, range(n))]) for _ in range(n)] if rng.random() < 0.3 else []
        cuts = sorted(rng.sample(range(2, n - 1), rng.randint(0, 3)))
        if len(names) == 2 and model != "k":
            parameters["multi_sensitive"] = rng.choice(["independent", "joint"])
        arguments = people(broken_connection, *columns, persons=persons) | parameters
        if parameters.get("ground_distance") in ("ordered", "hierarchical"):
            arguments["hierarchies"] = {name: str(SENSITIVE[name].hierarchy) for name in names}
        monkeypatch.setitem(globals(), "_cuts", cuts)
        one_persons = persons or list(range(n))
        records = list(zip(zip(*columns, strict=True), one_persons, strict=True))
        classes = [records[first:last] for first, last in pairwise([0, *cuts, n])]
        trees = [SENSITIVE[name].rows for name in names]
        unmet = models.unmet(classes, parameters, [SENSITIVE[name].order for name in names], trees)
        call = call_text(rng.choice(KINDS), arguments)
        if unmet:
            with pytest.raises(duckdb.Error, match="release gate refused the result") as caught:
                broken_connection.execute(f"SELECT count(*) FROM {call}").fetchall()
            match = re.search(r"do not meet (\w+) on|classes below (k)", str(caught.value))
            assert match, str(caught.value)
            assert (match[1] or match[2]) in unmet, f"{seed}: {parameters}: {caught.value}"
        else:
            assert broken_connection.execute(f"SELECT count(*) FROM {call}").fetchall()[0][0] > 0, (
                f"{seed}: {parameters}"
            )
        ends.add(bool(unmet))
    assert ends == {True, False}
