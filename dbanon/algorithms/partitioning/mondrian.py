"""Mondrian: the widest attribute is cut at its median."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.registry import ALL_MODELS, Check, Options, register
from dbanon.algorithms.partitioning.partition_tree import TablePart, first_allowable_cut, parts_to_labels
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Boolean
from dbanon.table_functions.parameters import Parameter


def mondrian(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> RunLengthLabels:
    """Cluster with multidimensional Mondrian (LeFevre et al. 2006).

    A part is cut at the attribute of greatest normalized width (times its weight) that has an allowable cut:
    numbers at the lower median, categories by the children of the lowest common ancestor, NULLs from values first.
    Ties go to the earlier attribute. Every side must meet the whole constraint. O(n log n) time for balanced cuts, O(n)
    memory.

    Strict (default): records of one value stay together. Relaxed (`strict = false`): of a number, records that equal
    the median go to both sides, in canonical order, so that the left one has half of the records, rounded up. If a
    side then violates another model, 1, 2, 4, ... records fewer and more are tried on the left, as far as
    records equal the median. Under k alone a cut needs 2k records and two different values, nothing else.
    """
    strict = bool(options.get("strict", True))
    classes: list[TablePart] = []
    parts = [TablePart(np.arange(len(space.counts)), space.starts, space.counts)]
    progress_check, n_placed = progress.as_progress_check(check), 0
    while parts:
        check()
        part = parts.pop()
        sides = first_allowable_cut(space, constraint, part, strict)
        parts.extend(reversed(sides))
        if not sides:
            classes.append(part)
            n_placed += int(part.counts.sum())
            progress_check.advance(n_placed / space.rows)
    return parts_to_labels(classes)


register(
    mondrian,
    title="Multidimensional Mondrian",
    summary="Multidimensional Mondrian, strict or relaxed: cuts the table in two while both sides meet the model.",
    source="LeFevre et al. 2006; the baseline of many papers, such as Majeed et al. 2024",
    evidence="textbook",
    complexity="O(n log n) time, O(n) memory",
    meets=ALL_MODELS,
    own_parameters=(
        Parameter(
            "strict",
            Boolean(),
            "true: keep records with the same value together; false: records that equal the median may go to either "
            "side.",
            True,
        ),
    ),
)
