"""Multi-level clustering: MDAV on averages over time, then within each group on less coarse ones."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.grow_clusters import grow
from dbanon.algorithms.base.progress import Work
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.mdav import SCALE, FarthestFromAverage, places
from dbanon.encoding.encoded_table import Attribute, Codes, EncodedTable, Floats, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter


def multilevel_mdav(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Multi-level clustering of sequences, reconstructed from the review of clustering methods.

    Numbers, in the order of the quasi-identifiers, are the values of a sequence at one time after another. The last
    level is the table itself; on each level above, two periods are one, with the average of their scaled values (those
    that are known, weighted), and the groups are `coarser` times as large. MDAV makes the groups of the first level,
    then within each group those of the next; the last ones are the clusters. Categories are the same on all levels.
    Under persons or models a cluster has at least as many records as any of them needs, and the shared repair follows.
    O(n^2 / (k * coarser)) time for the first of two levels without the index, O(n * coarser) for the last; O(n) memory.
    """
    levels, coarser = int(str(options["levels"])), int(str(options["coarser"]))
    scaled = places(space, str(options["scale"]))
    work, found = progress.work(check), Runs.one(space)
    for level in range(levels):
        above = levels - 1 - level
        k = min(constraint.least * coarser**above, space.rows)
        table, at = (space, scaled) if above == 0 else averages(space, scaled, 2**above, str(options["scale"]))
        found = _divided(table, at, found, k, work.part(level / levels, (level + 1) / levels))
    return found


def averages(
    space: EncodedTable, scaled: Sequence[Floats], length: int, scale: str
) -> tuple[EncodedTable, list[Floats]]:
    """Return the table in which so many numbers in a row are one, and the scaled places of its values."""
    numbers = [j for j, a in enumerate(space.attributes) if isinstance(a, NumericAttribute)]
    kinds: list[Attribute] = []
    columns: list[Codes] = []
    for j, attribute in enumerate(space.attributes):
        if not isinstance(attribute, NumericAttribute):
            kinds.append(attribute)
            columns.append(space.codes[:, j])
    for first in range(0, len(numbers), length):
        number, codes = _average(space, scaled, numbers[first : first + length])
        kinds.append(number)
        columns.append(codes)
    table = EncodedTable(tuple(kinds), np.stack(columns, axis=1).astype(np.int32), space.counts, None, space.total)
    return table, places(table, scale)


def _average(space: EncodedTable, scaled: Sequence[Floats], some: Sequence[int]) -> tuple[NumericAttribute, Codes]:
    """Return the average of some numbers, and the code of each tuple; NULL where none is known."""
    total, known = np.zeros((2, len(space.counts)))
    for j in some:
        codes, weight = space.codes[:, j], space.attributes[j].weight
        there = codes < space.attributes[j].values
        total += np.where(there, np.append(scaled[j], 0.0)[codes] * weight, 0.0)
        known += np.where(there, weight, 0.0)
    values, of = np.unique(total[known > 0] / known[known > 0], return_inverse=True)
    codes = np.full(len(total), len(values), np.int32)
    codes[known > 0] = of.reshape(-1)
    weight = sum(space.attributes[j].weight for j in some)
    return NumericAttribute(values - values[0] if len(values) else values, False, weight), codes


def _divided(table: EncodedTable, at: list[Floats], groups: Runs, k: int, work: Work) -> Runs:
    """Return the groups of MDAV within each group."""
    parts, done, alone = [], 0, groups.clusters_most == 1
    for number, (own, records) in enumerate(_members(groups)):
        work()
        part = replace(table, codes=table.codes[own], counts=records)
        rules, clock = FarthestFromAverage(part, k, at), progress.clock()
        found = grow(part, rules, work if alone else Work(work, lambda share: None))
        parts.append((own, Runs.assigned(part, found)))
        done += part.rows
        work.come(done / table.rows)
        if number == 1:  # kernels may be compiled for the first
            work.expect(*progress.Sample(part.rows / table.rows, rules.steps, progress.clock() - clock).whole())
    return Runs.joined(parts)


def _members(groups: Runs) -> Iterator[tuple[Ints, Ints]]:
    """Yield the tuples of each group, and how many records of each."""
    order = np.argsort(groups.clusters, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(groups.clusters[order]) > 0))
    for some in np.split(order, begins[1:]):
        yield groups.tuples[some].astype(np.int64), groups.counts[some].astype(np.int64)


register(
    multilevel_mdav,
    title="Multi-level clustering: MDAV on coarser and finer averages",
    summary=(
        "MDAV on averages over time of the numbers, then within each group on the numbers themselves "
        "(reconstructed; groups are published as intervals, without the perturbation of Fourier "
        "coefficients)"
    ),
    source="multi-level clustering, as the review of clustering methods describes it",
    evidence="RECON",
    complexity="O(n^2 / (k * coarser)) time for two levels without the index, O(n) memory",
    own=(
        Parameter("levels", Integer(1, 16), "Levels; on each but the last, two periods of the next are one.", 2),
        Parameter(
            "coarser",
            Integer(1, 1000),
            "Least number of records of a group over that of a group on the next level; on the last it is k.",
            4,
        ),
        SCALE,
        LARGE,
    ),
)
