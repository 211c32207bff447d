"""Focus of the search: classes with loss and their neighbours, if these are few."""

from __future__ import annotations

import numpy as np
import pytest

from dbanon import algorithms
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import KernelInputs, build_kernel_inputs
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.algorithms.postprocess.search_focus import focus_classes, reunite_classes
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

K = 5


def table_of(
    seed: int, n_equal: int, n_distinct: int, persons: bool
) -> tuple[EncodedTable, KernelInputs, PackedClasses]:
    """Return records with one repeated pair of values and records of random pairs, in classes by the first column."""
    draws = np.random.default_rng(seed)
    columns = [
        np.concatenate((np.full(n_equal, 3 + j), draws.integers(0, 20, n_distinct))).astype(np.int32) for j in range(2)
    ]
    attributes = [encoded_table.NumericAttribute(np.arange(20, dtype=float), True) for _ in range(2)]
    rows = n_equal + n_distinct
    built, _ = encoded_table.encode_table(
        attributes, columns, np.arange(rows).astype(np.uint64), np.arange(rows) if persons else None
    )
    problem = build_kernel_inputs(built, Constraint(K), "top")
    labels = np.minimum(np.arange(rows) // K, rows // K - 1)
    return built, problem, PackedClasses.from_labels(problem, RunLengthLabels.from_labels(built, labels))


def classes_of(classes: PackedClasses) -> list[list[tuple[int, int]]]:
    """Return the entries of each class, in any order of the classes."""
    pairs = []
    for c in range(classes.n_classes):
        position = slice(classes.starts[c], classes.starts[c + 1])
        assert classes.counts[position].sum() == classes.sizes[c]
        pairs.append(list(zip(classes.items[position].tolist(), classes.counts[position].tolist(), strict=True)))
    return sorted(pairs)


NO_BLOCKS: Ints = np.zeros(0, np.int64)


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize(
    ("n_equal", "n_distinct", "is_narrowed"), [(2_000, 23, True), (40, 400, False), (500, 0, True)]
)
def test_focus_sets_aside_only_classes_without_loss(
    n_equal: int, n_distinct: int, is_narrowed: bool, persons: bool
) -> None:
    _, problem, classes = table_of(n_equal + n_distinct, n_equal, n_distinct, persons)
    searched, aside = focus_classes(problem, classes, NO_BLOCKS, np.random.default_rng(1))
    assert (aside is not None) == is_narrowed
    if aside is not None:
        assert aside.total_loss(problem) == 0
        assert searched.n_classes <= n_distinct * 16
    assert classes_of(reunite_classes(problem, searched, aside)) == classes_of(classes)


def test_focus_keeps_neighbours_of_same_block() -> None:
    """Two blocks that differ only in the second column: the neighbours are in the block of the class with loss."""
    _, problem, classes = table_of(5, 2_000, 10, False)
    blocks = np.arange(len(problem.codes), dtype=np.int64)
    searched, aside = focus_classes(problem, classes, blocks, np.random.default_rng(1))
    assert aside is not None and searched.n_classes < classes.n_classes // 4


@pytest.mark.parametrize("persons", [False, True])
def test_best_of_mostly_equal_records_loses_no_more_than_kacpc(persons: bool) -> None:
    built, problem, _ = table_of(7, 3_000, 30, persons)
    losses = {}
    for name in ("best", "kacpc"):
        algorithm = algorithms.find(name)
        options = {p.name: p.default for p in algorithm.own_parameters}
        runs = algorithms.run_algorithm(algorithm, built, Constraint(K), options)
        losses[name] = PackedClasses.from_labels(problem, runs).total_loss(problem)
        assert np.bincount(runs.labels()).min() >= K
    assert losses["best"] <= losses["kacpc"]
