"""MWCK: k-member with columns weighted by their information (entropy)."""

import numpy as np

from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import FARTHEST_SEED, grow_least_loss_groups
from dbanon.algorithms.greedy.wkmca import normalized_entropy, reweighted
from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter


def mwck(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with MWCK, mixed-feature weighted clustering for k-anonymity, reconstructed from Majeed et al. 2024.

    It is k-member with weighted columns. A column's weight is the entropy of its values (numbers: in `bins` equal
    intervals) over the greatest that as many values can have, scaled so that the weights of d columns sum to d, times
    the declared weight. Clusters begin at the record farthest from the seed before; leftovers join the cluster whose
    weighted loss grows least. O(n^2) without the index, O(n) memory.
    """
    weighted = reweighted(space, normalized_entropies(space, int(str(options["bins"]))))
    return grow_least_loss_groups(weighted, constraint, options, check, FARTHEST_SEED, "edges")


def normalized_entropies(space: EncodedTable, bins: int) -> list[float]:
    """Return, for each attribute, the entropy of its values over the greatest possible for as many values, from 0 to 1.

    Values of numbers are counted in `bins` equal intervals; NULL is a value. An attribute with one value has 0.
    """
    entropies = []
    for j, attribute in enumerate(space.attributes):
        cell = space.codes[:, j].astype(np.int64)
        if isinstance(attribute, NumericAttribute):
            width = float(attribute.positions[-1]) if attribute.values else 0.0
            positions = np.append(attribute.positions / width if width > 0 else attribute.positions, 0.0)
            cell = np.where(
                cell == attribute.values, bins, np.minimum((positions[cell] * bins).astype(np.int64), bins - 1)
            )
        records = np.bincount(cell, weights=space.counts)
        entropies.append(normalized_entropy(records[records > 0] / max(space.rows, 1)))
    return entropies


register(
    mwck,
    title="MWCK: mixed-feature weighted clustering for k-anonymity",
    summary="Runs k-member with columns weighted by their entropy.",
    source="Qian et al. 2021, as Majeed et al. 2024 describe it",
    evidence="description",
    complexity="O(n^2) time without the index, O(n) memory",
    own_parameters=(
        Parameter(
            "bins",
            Integer(1, 1_000_000),
            "Number of equal intervals in which the values of a number are counted for its entropy.",
            10,
        ),
        SEED,
        MODE,
        LARGE,
    ),
)
