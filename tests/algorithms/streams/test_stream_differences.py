"""Stream algorithms differ from their neighbours on a stream without NULLs, or coincide where their sources say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.streams import random_arrivals

from dbanon.algorithms.streams import Arrivals, StreamModel, find

DELTA, K = 30, 6


def stream(kinds: int, persons: bool = False) -> Arrivals:
    """Return 400 records without NULLs, of one person each or of 40 persons, with so many kinds of sensitive values."""
    came = random_arrivals(8, 400, values=40)
    rows = np.arange(400)
    people = rows % 40 if persons else rows
    return replace(came, people=people, sensitive=(rows % kinds)[:, None], meanings=(rows % kinds)[:, None])


def classes(name: str, came: Arrivals, **given: object) -> list[int]:
    """Return the class of each record, with default options except those given."""
    system = find(name)
    options = {p.name: p.default for p in system.parameters} | {"delta": DELTA} | given
    state = system.run(came, StreamModel(K, (2,)), options, lambda: None, None, True)
    return state.class_ids.tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fads", "fast"),
        ("k_varp", "iot_anonymity"),
        ("k_varp", "fads"),
        ("swaf", "fads"),
        ("faanst", "fads"),
    ],
)
def test_stream_algorithm_differs_from_its_neighbour(one: str, other: str) -> None:
    came = stream(5)
    assert classes(one, came) != classes(other, came)


def test_idea_stores_only_classes_of_low_loss_unlike_k_varp() -> None:
    came = stream(5)
    assert classes("idea", came, theta=0.1) != classes("k_varp", came)


def test_puri_haritha_forms_groups_of_few_kinds_unlike_fads() -> None:
    for kinds in (2, 5):
        came = stream(kinds)
        assert classes("puri_haritha", came) != classes("fads", came, trigger="age")


def test_kl_clustering_equals_iot_anonymity_for_single_records() -> None:
    """Each publishes a due record with its nearest; the same persons only stay together if they have several."""
    assert classes("kl_clustering", stream(5)) == classes("iot_anonymity", stream(5))
    came = stream(5, persons=True)
    assert classes("kl_clustering", came) != classes("iot_anonymity", came)
