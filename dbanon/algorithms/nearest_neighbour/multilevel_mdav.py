"""Multi-level clustering: MDAV on averages over time, then within each group on finer averages."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.progress import ProgressCheck
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register
from dbanon.algorithms.nearest_neighbour.mdav import SCALE, FarthestFromAverage, scaled_positions
from dbanon.encoding.encoded_table import Attribute, Codes, EncodedTable, Floats, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter


def multilevel_mdav(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster sequences on several levels, reconstructed from the review of clustering methods.

    Numbers, in the order of the quasi-identifiers, are the values of a sequence at consecutive times. The last level is
    the table itself. On each level above, two periods of the level below are one, with the weighted average of their
    scaled known values, and groups are `group_size_factor` times as large. MDAV forms the groups of the first level,
    then within each group those of the next; the last ones are the clusters. Categories are the same on all levels.

    With persons or other models a cluster has at least as many records as any of them needs; clusters that still
    violate the constraint are merged afterwards. O(n^2 / (k * coarser)) time for the first of two levels without the
    index, O(n * coarser) for the last; O(n) memory.
    """
    levels, coarser = int(str(options["levels"])), int(str(options["group_size_factor"]))
    scaled = scaled_positions(space, str(options["scale"]))
    progress_check, groups = progress.as_progress_check(check), RunLengthLabels.single_cluster(space)
    for level in range(levels):
        n_levels_below = levels - 1 - level
        k = min(constraint.min_records * coarser**n_levels_below, space.rows)
        table, positions = (
            (space, scaled)
            if n_levels_below == 0
            else averaged_table(space, scaled, 2**n_levels_below, str(options["scale"]))
        )
        groups = _split_groups(
            table, positions, groups, k, progress_check.subtask(level / levels, (level + 1) / levels)
        )
    return groups


def averaged_table(
    space: EncodedTable, scaled: Sequence[Floats], n_periods: int, scale: str
) -> tuple[EncodedTable, list[Floats]]:
    """Return the table in which each `n_periods` consecutive numeric attributes are replaced by their average.

    Categories come first, then the averages.

    Args:
        space: The encoded table.
        scaled: Scaled positions of the values of each numeric attribute.
        n_periods: Number of attributes to average; the last average may have fewer.
        scale: 'range' or 'std'.

    Returns:
        The table, without persons and sensitive columns, and the scaled positions of its attributes' values.
    """
    numbers = [j for j, a in enumerate(space.attributes) if isinstance(a, NumericAttribute)]
    columns: list[tuple[Attribute, Codes]] = [
        (a, space.codes[:, j]) for j, a in enumerate(space.attributes) if not isinstance(a, NumericAttribute)
    ]
    columns += [
        _average_numbers(space, scaled, numbers[first : first + n_periods])
        for first in range(0, len(numbers), n_periods)
    ]
    attributes, codes = zip(*columns, strict=True)
    table = EncodedTable(attributes, np.stack(codes, axis=1).astype(np.int32), space.counts, None, space.total)
    return table, scaled_positions(table, scale)


def _average_numbers(
    space: EncodedTable, scaled: Sequence[Floats], numbers: Sequence[int]
) -> tuple[NumericAttribute, Codes]:
    """Return the weighted average of some numeric attributes as a new attribute, and the code of each tuple.

    NULLs are ignored; a tuple with NULL in all of them has NULL. `numbers` are the attributes' indices.
    """
    total, total_weight = np.zeros((2, len(space.counts)))
    for j in numbers:
        codes, weight = space.codes[:, j], space.attributes[j].weight
        has_value = codes < space.attributes[j].values
        total += np.where(has_value, np.append(scaled[j], 0.0)[codes] * weight, 0.0)
        total_weight += np.where(has_value, weight, 0.0)
    values, value_code = np.unique(total[total_weight > 0] / total_weight[total_weight > 0], return_inverse=True)
    codes = np.full(len(total), len(values), np.int32)
    codes[total_weight > 0] = value_code.reshape(-1)
    weight = sum(space.attributes[j].weight for j in numbers)
    return NumericAttribute(values - values[0] if len(values) else values, False, weight), codes


def _split_groups(
    table: EncodedTable, positions: list[Floats], groups: RunLengthLabels, k: int, progress_check: ProgressCheck
) -> RunLengthLabels:
    """Return the labels after MDAV has split each of the groups into groups of k records.

    Args:
        table: The table of this level.
        positions: Scaled positions of the values of its attributes.
        groups: The groups to split; none is suppressed.
        k: Least number of records of a new group.
        progress_check: Called for interrupts, progress and a time estimate.
    """
    parts, n_done, is_single_group = [], 0, groups.next_cluster_number == 1
    for number, (tuples, records) in enumerate(_group_tuples(groups)):
        progress_check()
        part = replace(table, codes=table.codes[tuples], counts=records)
        rules, clock = FarthestFromAverage(part, k, positions), progress.thread_seconds()
        assignment = grow_groups(
            part, rules, progress_check if is_single_group else ProgressCheck(progress_check, lambda share: None)
        )
        parts.append((tuples, RunLengthLabels.from_assignment(part, assignment)))
        n_done += part.rows
        progress_check.advance(n_done / table.rows)
        if number == 1:  # kernels may be compiled for the first
            progress_check.extrapolate(part.rows / table.rows, rules.steps, progress.thread_seconds() - clock)
    return RunLengthLabels.concatenate(parts)


def _group_tuples(groups: RunLengthLabels) -> Iterator[tuple[Ints, Ints]]:
    """Yield, for each group, its tuples and how many records of each are in the group."""
    order = np.argsort(groups.clusters, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(groups.clusters[order]) > 0))
    for run_numbers in np.split(order, begins[1:]):
        yield groups.tuples[run_numbers].astype(np.int64), groups.counts[run_numbers].astype(np.int64)


register(
    multilevel_mdav,
    title="Multi-level clustering: MDAV on coarser and finer averages",
    summary=(
        "Runs MDAV on averages of the numbers over time, then within each group on the numbers themselves. Groups are "
        "published as intervals, without the perturbation of Fourier coefficients."
    ),
    source="multi-level clustering, as the review of clustering methods describes it",
    evidence="abstract",
    complexity="O(n^2 / (k * coarser)) time for two levels without the index, O(n) memory",
    own_parameters=(
        Parameter(
            "levels",
            Integer(1, 16),
            "Number of levels; on each but the last, two periods of the next level are averaged.",
            2,
        ),
        Parameter(
            "group_size_factor",
            Integer(1, 1000),
            "Least size of a group relative to that of a group on the next level; on the last level the least size "
            "is k.",
            4,
        ),
        SCALE,
        LARGE,
    ),
)
