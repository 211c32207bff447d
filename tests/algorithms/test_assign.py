"""OKA and Algorithms No. 1, 2 and 3 compared with plain loops, the published fixture, and steps by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import assign as reference_assign
from oracle.reference import Category, Number, Tree, Value
from support import by_row
from support.tables import SOME, Table, encode_records, groups_of, labels_of, large, tables

from dbanon import errors
from dbanon.algorithms import find, run_algorithm
from dbanon.algorithms.base import progress
from dbanon.algorithms.centroid import moving_centers
from dbanon.encoding import encoded_table
from dbanon.privacy_models.constraint import Constraint

NAMES = ("oka", "kmeans_no1", "kmeans_no2", "kmeans_no3")
METHODS = {name: getattr(reference_assign, name.removeprefix("kmeans_")) for name in NAMES}


KINDS = [("oka", "lca"), ("oka", "mode"), ("kmeans_no1", None), ("kmeans_no2", None), ("kmeans_no3", None)]
"""Algorithms, each with a kind of category center that it offers."""


def center_option(center: str | None) -> dict[str, object]:
    return {} if center is None else {"centroid_cat": center}


def options(name: str, **given: object) -> dict[str, object]:
    return {p.name: p.default for p in find(name).own_parameters} | given


def random_case(records: int, clusters: int, mode: str, seed: int) -> tuple[list[int], list[int]]:
    """Return the first centers and the order of moved records, as the package draws them."""
    if mode == "deterministic":
        return [i * records // clusters for i in range(clusters)], list(range(records))
    random = np.random.PCG64(seed)
    first, second = random.random_raw(records), random.random_raw(records)
    numbers = [sorted(range(records), key=lambda r, raw=raw: (raw[r], r)) for raw in (first, second)]
    return numbers[0][:clusters], numbers[1]


def labels(table: Table, name: str, **given: object) -> list[int]:
    code_table = encode_records(replace(table, persons=None))
    result = find(name).run(code_table.space, Constraint(table.k), options(name, **given), lambda: None)
    return by_row.labels(result).tolist()


def expected(table: Table, name: str, mode: str, seed: int, center: str | None) -> list[int]:
    records = encode_records(replace(table, persons=None)).records
    plain_table = reference_assign.SpotTable(records, table.attributes, center != "lca")
    clusters = max(len(records) // table.k, 1)
    result = METHODS[name](plain_table, table.k, *random_case(len(records), clusters, mode, seed))
    return labels_of(result, len(records))


@pytest.mark.parametrize(("name", "center"), KINDS)
@SOME
@given(table=tables(), mode=st.sampled_from(["random", "deterministic"]), seed=st.integers(0, 3))
def test_assigned_clusters_equal_plain_loop(table: Table, name: str, mode: str, seed: int, center: str | None) -> None:
    actual_labels = labels(table, name, mode=mode, seed=seed, **center_option(center))
    assert actual_labels == expected(table, name, mode, seed, center)


@pytest.mark.parametrize(("name", "center"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_assigned_clusters_of_large_table_equal_plain_loop(
    name: str, seed: int, center: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving_centers, "STEPS_PER_CALL", 30)
    table = large(seed)
    table = replace(table, records=table.records[:80], persons=None, ties=None)
    assert labels(table, name, seed=seed, **center_option(center)) == expected(table, name, "random", seed, center)


def clustered_values(values: Sequence[Value], k: int, name: str, **given: object) -> list[list[Value]]:
    """Return the clusters of a numeric column in the deterministic mode, as values."""
    actual_labels = labels(Table([(v,) for v in values], [Number()], k), name, mode="deterministic", **given)
    sorted_values = sorted(values, key=lambda v: (v is None, v))
    return sorted([[sorted_values[r] for r in group] for group in groups_of(actual_labels)], key=str)


WORKCLASS = [
    "Private;*", "Self-emp-not-inc;Self-emp;*", "Self-emp-inc;Self-emp;*", "Federal-gov;Gov;*", "Local-gov;Gov;*",
    "State-gov;Gov;*", "Without-pay;*",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_deterministic_clusters_equal_published_fixture(name: str) -> None:
    tree = Category(Tree([row.split(";") for row in WORKCLASS]))
    work = ["Local-gov", "State-gov", "Federal-gov", "Private", "Private", "Self-emp-inc"]
    table = Table(list(zip([25, 27, 29, 40, 46, 55], work, strict=True)), [Number(), tree], 3)
    assert groups_of(labels(table, name, mode="deterministic")) == [[0, 1, 2], [3, 4, 5]]


AGES = [0, 1, 2, 5, 6, 12, 13]
"""k = 3: two clusters, whose first centers are 0 and 5."""


def test_oka_clusters_equal_hand_traced_ages() -> None:
    """1 joins 0 (mean 0.5), 2 too (mean 1); 6, 12, 13 join 5 (means 5.5, 7.67, 9).

    The second cluster has one record too many: 5 and 13 are 4 away from 9, the first is removed, and is 4 from both
    centers: it joins the first.
    """
    assert clustered_values(AGES, 3, "oka") == [[0, 1, 2, 5], [6, 12, 13]]


def test_kmeans_no1_clusters_equal_hand_traced_ages() -> None:
    """Four rounds on 0, 1, 2, 5, 6, 12, 13.

    Round 1: {0 1 2}, {5 6 12 13}, 13 is removed and returns; means 1 and 9. Round 2: 5 is 4 from both and joins the
    first, is removed and returns; means 2 and 10.33. Round 3: {0 1 2 5 6}, {12 13}: 6 and 5 are removed, 5 fills the
    second cluster, 6 returns to the nearer; means 2.25 and 10. Round 4: the same again.
    """
    assert clustered_values(AGES, 3, "kmeans_no1") == [[0, 1, 2, 6], [5, 12, 13]]


def test_kmeans_no2_clusters_equal_hand_traced_ages() -> None:
    """0, 1, 2 close the first cluster; 5, 6, 12 the second, which is nearest to 13.

    Means 1 and 9; 5 would now join the first, but it is closed: the same again.
    """
    assert clustered_values(AGES, 3, "kmeans_no2") == [[0, 1, 2], [5, 6, 12, 13]]


def test_kmeans_no3_clusters_equal_hand_traced_ages() -> None:
    """{0 1 2}, {5 6 12 13}; means 1 and 9: 5 changes (a tie); means 2 and 10.33: 6 changes; means 2.8 and 12.5.

    All stay. ADJUST: 6 (3.2) and 0 (2.8) are removed from {0 1 2 5 6}; 0 is first and fills {12 13}, 6 returns.
    """
    assert clustered_values(AGES, 3, "kmeans_no3") == [[0, 12, 13], [1, 2, 5, 6]]


def test_adjust_sizes_equals_hand_traced_moves() -> None:
    """Centers 0, 10 and 20 with 5, 1 and 1 records, k = 2.

    From the first, 4, 3, and the first of the two 1s are removed; the record dealt first (the first 1) fills the
    cluster at 10, 3 the one at 20, and 4 returns to the nearest of all.
    """
    code_table = encode_records(Table([(v,) for v in (0, 1, 1, 3, 4, 10, 20)], [Number()], 2)).space
    work = moving_centers.MovingCenters(code_table, 2, np.array([0, 5, 6]), np.arange(7), True, 1, lambda: None)
    array = np.array([0, 0, 0, 0, 0, 1, 2])
    work.adjust_sizes(array)
    assert array.tolist() == [0, 1, 0, 2, 0, 1, 2]


def test_adjust_sizes_assigns_records_in_drawn_order() -> None:
    code_table = encode_records(Table([(v,) for v in (0, 1, 1, 3, 4, 10, 20)], [Number()], 2)).space
    work = moving_centers.MovingCenters(
        code_table, 2, np.array([0, 5, 6]), np.arange(7)[::-1].copy(), True, 1, lambda: None
    )
    array = np.array([0, 0, 0, 0, 0, 1, 2])
    work.adjust_sizes(array)
    assert array.tolist() == [0, 0, 0, 2, 1, 1, 2]


def test_category_center_is_first_mode() -> None:
    """Nodes in preorder: 6 is Federal-gov, 8 State-gov, 10 represents NULL; of two modes the first counts."""
    tree = Category(Tree([row.split(";") for row in WORKCLASS]))
    work = ["Federal-gov", "Local-gov", "State-gov", "State-gov", None, None]
    code_table = encode_records(Table([(w,) for w in work], [tree], 2)).space
    state = moving_centers.MovingCenters(code_table, 2, np.array([1, 2, 5]), np.arange(6), True, 1, lambda: None)
    moves = state.recenter(np.array([0, 0, 1, 1, 1, 2]))
    assert state.centers[:, 0].tolist() == [6, 8, 10]
    assert moves.tolist() == [0]


@pytest.mark.parametrize(("center", "clusters"), [("lca", [[0, 2], [1, 3]]), ("mode", [[0, 1], [2, 3]])])
def test_oka_center_is_common_ancestor_or_mode(center: str, clusters: list[list[int]]) -> None:
    """Three Private, the first and third of which are first centers, and a Self-emp-inc, k = 2.

    The others join the first. Its center is then the root, from which all are 1 away, so that the first is removed; or
    Private still.
    """
    tree = Category(Tree([row.split(";") for row in WORKCLASS]))
    table = Table([(w,) for w in ("Private", "Private", "Private", "Self-emp-inc")], [tree], 2)
    assert groups_of(labels(table, "oka", mode="deterministic", centroid_cat=center)) == clusters


def test_nulls_join_nulls_and_do_not_change_means() -> None:
    values: list[Value] = [0, 1, 10, None, None, None]
    assert clustered_values(values, 3, "oka") == [[0, 1, 10], [None, None, None]]


@pytest.mark.parametrize("mode", ["random", "deterministic"])
@pytest.mark.parametrize("name", NAMES)
def test_cluster_sizes_are_k_except_one_below_2k(name: str, mode: str) -> None:
    rng = np.random.default_rng(5)
    table = Table([(int(a), int(b)) for a, b in rng.integers(0, 30, (397, 2))], [Number(), Number(0.5)], 6)
    sizes = np.bincount(labels(table, name, mode=mode))
    assert sizes.min() >= 6 and len(sizes) == 397 // 6 and (sizes - 6).sum() == 397 % 6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [3, 5])
def test_assigning_fewer_than_2k_records_gives_one_cluster(name: str, n: int) -> None:
    assert labels(Table([(v,) for v in range(n)], [Number()], 3), name) == [0] * n


@pytest.mark.parametrize("name", NAMES)
def test_seed_determines_assigned_clusters(name: str) -> None:
    rng = np.random.default_rng(6)
    table = Table([(int(a), int(b)) for a, b in rng.integers(0, 50, (300, 2))], [Number(), Number()], 5)
    assert labels(table, name) == labels(table, name, seed=0)
    assert groups_of(labels(table, name)) != groups_of(labels(table, name, seed=1))


@pytest.mark.parametrize("name", NAMES)
def test_assigned_clusters_independent_of_row_order(name: str) -> None:
    rng = np.random.default_rng(7)
    records = [(int(a), float(b)) for a, b in rng.integers(0, 20, (120, 2))]
    one = Table(records, [Number(), Number()], 4)
    other = replace(one, records=[records[i] for i in rng.permutation(len(records))])
    assert labels(one, name) == labels(other, name)


@pytest.mark.parametrize("name", NAMES)
def test_assigned_clusters_below_k_persons_are_merged(name: str) -> None:
    rng = np.random.default_rng(8)
    persons = [str(p) for p in rng.integers(0, 25, 150)]
    table = Table([(int(a), int(b)) for a, b in rng.integers(0, 9, (150, 2))], [Number(), Number()], 5, persons)
    code_table = encode_records(table)
    actual_labels = by_row.run_labels(find(name), code_table.space, Constraint(5), options(name))
    assert code_table.persons is not None
    for group in groups_of(actual_labels.tolist()):
        assert len({code_table.persons[r] for r in group}) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_assignment_can_be_interrupted_at_any_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_centers, "STEPS_PER_CALL", 500)
    rng = np.random.default_rng(9)
    table = Table([(int(a), int(b)) for a, b in rng.integers(0, 90, (2000, 2))], [Number(), Number()], 5)
    code_table = encode_records(table).space
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    find(name).run(code_table, Constraint(5), options(name), count)
    assert calls >= 50

    class StoppedError(Exception):
        pass

    for last in (1, calls // 2, calls):
        n_checks_left = last

        def stop() -> None:
            nonlocal n_checks_left
            n_checks_left -= 1
            if n_checks_left == 0:
                raise StoppedError

        with pytest.raises(StoppedError):
            find(name).run(code_table, Constraint(5), options(name), stop)


@pytest.mark.parametrize("name", NAMES)
def test_assignment_of_slow_table_requires_consent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MAX_STEPS", 20)
    monkeypatch.setattr(moving_centers, "STEPS_PER_CALL", 2)
    code_table = encode_records(Table([(v,) for v in AGES], [Number()], 2)).space
    with pytest.raises(
        errors.TableTooLargeError, match=f"^{name}: 7 distinct tuples in 3 clusters take some .* allow_slow = true"
    ):
        run_algorithm(find(name), code_table, Constraint(2), options(name))
    assert run_algorithm(find(name), code_table, Constraint(2), options(name, allow_slow=True)).n_records == 7


def test_rounds_limit_ends_run_with_moving_centers() -> None:
    assert clustered_values(AGES, 3, "kmeans_no1", rounds=1) == [[0, 1, 2], [5, 6, 12, 13]]


@pytest.mark.parametrize("name", NAMES)
def test_equal_inner_node_values_form_one_cluster(name: str) -> None:
    parent = np.array([-1, 0, 1, 1, 0], np.int32)
    tree = encoded_table.CategoricalAttribute(parent, np.array([1, 2, 3, 4], np.int32))
    code_table, _ = encoded_table.encode_table(
        [tree], [np.array([0, 0, 1, 1, 2, 2, 3, 3], np.int32)], np.zeros(8, np.uint64), None
    )
    given_options = options(name, mode="deterministic") | ({"centroid_cat": "mode"} if name == "oka" else {})
    result = find(name).run(code_table, Constraint(2), given_options, lambda: None)
    assert groups_of(result.tolist()) == [[0, 1], [2, 3], [4, 5], [6, 7]]
