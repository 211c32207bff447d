"""Privacy models on the worked examples of the literature: by the checker, and in SQL."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from oracle import models
from oracle.models import Value
from support.algorithms import PLAIN, complete_parameters
from support.model_tables import ALGORITHMS, ILLNESS, INFECTIOUS, Asked, call_text, create_table, unmet_parameter

import dbanon
from dbanon import algorithms

# --- the worked values of the literature -----------------------------------------------------------------------------

P_STAR = models.records_as_persons([[("Flu",), ("Flu",), ("Cancer",)], [("Flu",), ("Cancer",), ("HIV",)]])
LEAF_ORDER = ["Flu", "Cancer", "HIV"]
SALARIES = models.records_as_persons([[(3,), (4,), (5,)], [(6,), (8,), (11,)], [(7,), (9,), (10,)]])
SIXTH, TWELFTH = Fraction(1, 6), Fraction(1, 12)


def test_model_definitions_equal_hand_computed_fixture() -> None:
    assert models.k(P_STAR) == models.ModelResult((3, 3), 3)
    assert models.distinct_l(P_STAR) == models.p(P_STAR) == models.ModelResult((2, 3), 2)
    entropy = models.entropy_l(P_STAR)
    assert entropy.classes == pytest.approx((1.889882, 3), abs=5e-7)
    assert math.log(entropy.table) == pytest.approx(0.636514, abs=5e-7)
    assert models.recursive(P_STAR, 2) == models.ModelResult((2, Fraction(1, 2)), 2)
    assert models.recursive(P_STAR, 3) == models.ModelResult((math.inf, 1), math.inf)
    assert models.alpha(P_STAR) == models.ModelResult((Fraction(2, 3), Fraction(1, 3)), Fraction(2, 3))
    assert models.beta(P_STAR) == models.ModelResult((Fraction(1, 3), 1), 1)
    assert models.beta(P_STAR, enhanced=True) == models.ModelResult((Fraction(1, 3), 1), 1)
    assert models.t_equal(P_STAR) == models.ModelResult((SIXTH, SIXTH), SIXTH)
    assert models.t_ordered(P_STAR, order=LEAF_ORDER) == models.ModelResult((SIXTH, SIXTH), SIXTH)
    assert models.t_ordered(P_STAR) == models.ModelResult((TWELFTH, TWELFTH), TWELFTH), "Cancer, Flu, HIV"
    assert models.t_hierarchical(P_STAR, INFECTIOUS) == models.ModelResult((TWELFTH, TWELFTH), TWELFTH)


def test_t_closeness_of_salaries_equals_paper() -> None:
    """Q = 3k..11k; {3k, 4k, 5k} is 0.375 away and {6k, 8k, 11k} 0.167."""
    assert models.t_ordered(SALARIES).classes[:2] == (Fraction(3, 8), SIXTH)


def test_gain_above_log_share_violates_enhanced_likeness() -> None:
    """Flu: q = 1/2, p = 1, gain 1 > 0.693."""
    classes = models.records_as_persons([[("Flu",)] * 3, [("Cancer",), ("Cancer",), ("HIV",)]])
    assert models.beta(classes).table == 1
    assert models.beta(classes, enhanced=True).classes == (math.inf, 1), "Cancer: gain 1 < 1.099; HIV: 1 < 1.792"


def test_diversity_definitions_ignore_null_others_count_null() -> None:
    classes = models.records_as_persons([[("Flu",), ("HIV",), (None,), (None,)], [(None,), (None,), (None,), ("Flu",)]])
    assert models.distinct_l(classes).classes == (2, 1)
    assert models.entropy_l(classes).classes == pytest.approx((2, 1))
    assert models.recursive(classes, 2).classes == (1, math.inf)
    assert models.alpha(classes).classes == (Fraction(1, 2), Fraction(3, 4))
    assert models.beta(classes).classes == (1, Fraction(1, 5)), "HIV 1/4 for 1/8; NULL 3/4 for 5/8"
    assert models.t_equal(classes).classes == (Fraction(1, 8), Fraction(1, 8))
    assert models.t_ordered(classes).classes == (Fraction(1, 8) / 2, Fraction(1, 8) / 2), "HIV to NULL, the last rank"
    moved_t_hierarchical = models.t_hierarchical(classes, INFECTIOUS)
    assert moved_t_hierarchical.classes == (Fraction(1, 8), Fraction(1, 8)), "NULL is right below the root"
    assert models.entropy_l(models.records_as_persons([[(None,)]])).table == 0


def test_persons_counted_and_unknown_never_count() -> None:
    """A has Flu twice and HIV, B Flu; the person with Cancer is unknown. In the other class A has Flu again."""
    first = [(("Flu",), "A"), (("Flu",), "A"), (("HIV",), "A"), (("Flu",), "B"), (("Cancer",), None)]
    classes = [first, [(("Flu",), "A"), (("HIV",), "C")]]
    assert models.k(classes).classes == (2, 2)
    assert models.distinct_l(classes).classes == (2, 2)
    assert models.recursive(classes, 2).classes == (2, 1)
    assert models.alpha(classes).classes == (1, Fraction(1, 2)), "both of the first class have Flu"
    assert models.table_shares(classes, 0) == {"Flu": Fraction(1, 2), "HIV": Fraction(1, 2)}, "A's Flu is one pair"
    assert models.beta(classes).classes == (Fraction(1, 3), 0)
    assert models.t_equal(classes).classes == (SIXTH, 0)


def test_joint_models_apply_within_equal_other_values() -> None:
    one = models.records_as_persons([[("Flu", 1), ("HIV", 2), ("Flu", 1)], [("HIV", 1), ("Flu", 1), ("Flu", 2)]])
    assert models.distinct_l(one).classes == (2, 2)
    assert models.distinct_l(one, joint=True).classes == (1, 1)
    assert models.distinct_l(one, column=1, joint=True).classes == (1, 1), "Flu: 1; HIV: 2"
    assert models.alpha(one, joint=True).table == 1
    assert models.t_equal(one, joint=True).classes == (Fraction(2, 3), Fraction(1, 3)), "the table's share stays"


def test_distance_is_minimal_transport_work() -> None:
    """Six grains each: the pairing with the least mean distance."""
    rng = random.Random(2)
    order = ["TB", "Flu", "HIV", "Stroke", "Cancer", None]
    for _ in range(30):
        grains = [[rng.choice(order) for _ in range(6)] for _ in range(2)]
        share, full_fractions = ({v: Fraction(n, 6) for v, n in Counter(part).items()} for part in grains)
        full_fractions = dict.fromkeys(order, Fraction(0)) | full_fractions
        for result, distance in (
            (models.equal_distance(share, full_fractions), lambda a, b: int(a != b)),
            (
                models.ordered_distance(share, full_fractions, order),
                lambda a, b: Fraction(abs(order.index(a) - order.index(b)), 5),
            ),
            (models.hierarchical_distance(share, full_fractions, ILLNESS), _height_above),
        ):
            ways = set(itertools.permutations(grains[1]))
            table = {(a, b): distance(a, b) for a in order for b in order}
            minimum = min(sum(table[pair] for pair in zip(grains[0], way, strict=True)) for way in ways)
            assert result == Fraction(minimum, 6)


def _height_above(a: Value, b: Value) -> Fraction:
    """Return Hsub of the lowest common ancestor in ILLNESS, as a share of the root's 3."""
    if a == b:
        return Fraction(0)
    lines = {row[0]: row[1:] for row in ILLNESS} | {None: ["*"]}
    common = next(node for node in lines[a] if node in lines[b])
    return Fraction({"Viral": 1, "Infectious": 2, "*": 3}[common], 3)


# --- in SQL ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def db() -> Iterator[Any]:
    """Provide one attached connection with the hierarchy."""
    con = duckdb.connect()
    dbanon.attach(con)
    dbanon.load_hierarchy(con, "infectious", INFECTIOUS)
    yield con
    con.close()


ONE, TWO = 1, 2
WORKED: list[tuple[Asked, int | str]] = [
    ({}, TWO),
    ({"l": 2}, TWO),
    ({"l": 3}, ONE),
    ({"l": 4}, "l"),
    ({"l": 2, "diversity": "entropy"}, ONE),
    ({"l": 3, "diversity": "entropy"}, "l"),
    ({"l": 2, "diversity": "recursive", "c": 2.5}, TWO),
    ({"l": 2, "diversity": "recursive", "c": 2}, ONE),
    ({"l": 2, "diversity": "recursive"}, ONE),
    ({"l": 2, "diversity": "recursive", "c": 1}, "l"),
    ({"l": 3, "diversity": "recursive", "c": 3.5}, ONE),
    ({"l": 3, "diversity": "recursive", "c": 3}, "l"),
    ({"t": 0.17}, TWO),
    ({"t": 0.16}, ONE),
    ({"t": 0}, ONE),
    ({"t": 0.084, "ground_distance": "ordered"}, TWO),
    ({"t": 0.083, "ground_distance": "ordered"}, ONE),
    ({"t": 0.17, "ground_distance": "ordered", "hierarchies": {"disease": "Flu;*\nCancer;*\nHIV;*"}}, TWO),
    ({"t": 0.16, "ground_distance": "ordered", "hierarchies": {"disease": "Flu;*\nCancer;*\nHIV;*"}}, ONE),
    ({"t": 0.084, "ground_distance": "hierarchical", "hierarchies": {"disease": "infectious"}}, TWO),
    ({"t": 0.083, "ground_distance": "hierarchical", "hierarchies": {"disease": "infectious"}}, ONE),
    ({"alpha": 0.67}, TWO),
    ({"alpha": 0.66}, ONE),
    ({"alpha": 0.49}, "alpha"),
    ({"p": 2}, TWO),
    ({"p": 3}, ONE),
    ({"p": 4}, "p"),
    ({"beta": 1}, TWO),
    ({"beta": 0.99}, ONE),
    ({"beta": 1, "likeness": "enhanced"}, TWO),
    ({"beta": 0.99, "likeness": "enhanced"}, ONE),
    ({"l": 2, "t": 0.17, "alpha": 0.67, "p": 2, "beta": 1}, TWO),
    ({"l": 2, "t": 0.17, "alpha": 0.67, "p": 3, "beta": 1}, ONE),
]
"""Classes of the fixture with its two classes as the one quasi-identifier, or the parameter that cannot be met."""


TOGETHER = [n for n in ALGORITHMS if n != "kapp" and algorithms.find(n).family != "diversity"]
"""Algorithms that keep equal records together, unless a model requires more.

The others distribute equal records by their sensitive values.
"""


@pytest.mark.parametrize(("model_arguments", "expected"), WORKED, ids=str)
@pytest.mark.parametrize("algorithm", TOGETHER)
def test_hand_computed_values_decide_in_sql(
    db: Any, algorithm: str, model_arguments: Asked, expected: int | str
) -> None:
    rows = [(f"E{i}", values[0]) for i, part in enumerate(P_STAR, 1) for values, _ in part]
    create_table(db, {"class": "VARCHAR", "disease": "VARCHAR"}, rows, "p_star")
    call = call_text(
        f"{algorithm}_classes",
        {"k": 3, "qi": ["class"], "sensitive": ["disease"], **complete_parameters(algorithm), **model_arguments},
        "p_star",
    )
    if isinstance(expected, str):
        with pytest.raises(duckdb.Error) as caught:
            db.execute(f"FROM {call}")
        assert unmet_parameter(caught.value) == expected
    else:
        assert db.execute(f"SELECT count(*) FROM {call}").fetchall() == [(expected,)]


@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])  # random seeds may begin twice in one class
def test_salaries_are_ranked_as_numbers_in_sql(db: Any, algorithm: str) -> None:
    """As texts 10 and 11 precede 3."""
    rows = [(f"P{i}", values[0]) for i, part in enumerate(SALARIES, 1) for values, _ in part]
    create_table(db, {"class": "VARCHAR", "salary": "INTEGER"}, rows, "salaries")
    parameters = {"k": 3, "qi": ["class"], "sensitive": ["salary"], "ground_distance": "ordered"}
    for t, expected in ((0.376, {3}), (0.374, {1, 2})):
        call = call_text(f"{algorithm}_classes", parameters | {"t": t}, "salaries")
        ((value,),) = db.execute(f"SELECT count(*) FROM {call}").fetchall()
        assert value in expected


@pytest.mark.parametrize("algorithm", PLAIN)
def test_enhanced_likeness_refuses_large_gain_in_sql(db: Any, algorithm: str) -> None:
    rows = [("E1", "Flu")] * 3 + [("E2", "Cancer"), ("E2", "Cancer"), ("E2", "HIV")]
    create_table(db, {"class": "VARCHAR", "disease": "VARCHAR"}, rows, "sick")
    parameters = {"k": 3, "qi": ["class"], "sensitive": ["disease"], "beta": 1, **complete_parameters(algorithm)}
    for likeness, classes in (("basic", 2), ("enhanced", 1)):
        call = call_text(f"{algorithm}_classes", parameters | {"likeness": likeness}, "sick")
        assert db.execute(f"SELECT count(*) FROM {call}").fetchall() == [(classes,)]
