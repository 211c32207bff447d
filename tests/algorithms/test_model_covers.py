"""The search of `best` with privacy models: both group sizes of covers, and all moves."""

from __future__ import annotations

import random

import numpy as np
from support.model_tables import model_requirement

from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.optimizing import best as best_search, generalization_covers
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import CategoricalAttribute, Codes, EncodedTable
from dbanon.privacy_models.constraint import Constraint

TWO_VALUES = Constraint(2, (model_requirement(l=2),))


def random_table(n_records: int) -> EncodedTable:
    """Create a table of three flat categories of three values, and a sensitive column of two."""
    draws = random.Random(1)
    tree = CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.array([1, 2, 3], np.int32))
    columns = [np.array([draws.randrange(3) for _ in range(n_records)], np.int32) for _ in range(3)]
    sensitive = np.array([draws.randrange(2) for _ in range(n_records)], np.int32)
    table, _ = encoded_table.encode_table(
        (tree,) * 3, columns, np.zeros(n_records, np.uint64), None, None, [(sensitive, 2, None)]
    )
    return table


def test_moves_with_model_equal_moves_without() -> None:
    table = random_table(40)
    for effort, moves in best_search.EFFORT_MOVES.items():
        options = {"effort": effort, "objective": "precision"}
        assert best_search._search_moves(table, TWO_VALUES, options) == moves
        assert best_search._search_moves(table, Constraint(2), options) == moves


def test_covers_with_model_try_both_group_sizes_first(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """The first cover is built with groups of k and 4k records, the others with the size that lost less."""
    table = random_table(40)
    kernel_inputs = build_kernel_inputs(table, TWO_VALUES, "top")
    build, sizes = generalization_covers._build_cover, []

    def recorded(lattice: generalization_covers.CoverLattice, worth: int, worth_factor: float) -> object:
        sizes.append(lattice.min_records)
        return build(lattice, worth, worth_factor)

    monkeypatch.setattr(generalization_covers, "_build_cover", recorded)
    for losses, best_size in (([5, 3, 4], 8), ([3, 5, 4], 2)):
        sizes.clear()
        given_losses = iter(losses)

        def loss_of(order: Codes, given_losses: object = given_losses) -> int:
            assert sorted(order.tolist()) == list(range(len(kernel_inputs.codes)))
            return int(next(given_losses))  # type: ignore[call-overload]

        generalization_covers.try_covers(loss_of, table, kernel_inputs, "fast", "top", 10, lambda: None)
        assert sizes == [2, 8, best_size]
