"""Publish clusters with wider ranges than those of their records, if an algorithm requests it.

The resulting classes must still meet the constraint.
"""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import ClassBounds, class_numbers, cluster_members
from dbanon.algorithms.base.registry import Algorithm, Options, PublishedEnds, Widening
from dbanon.encoding.encoded_table import Attribute, Bools, EncodedTable, IntervalEnds, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint


def widen_clusters(
    algorithm: Algorithm, space: EncodedTable, constraint: Constraint, options: Options, runs: RunLengthLabels
) -> tuple[Ints, PublishedEnds] | None:
    """Return the numbers of the clusters that publish wider ranges than their records need, and these ranges.

    Return None if there is no such cluster, or the algorithm or the options request none.

    Clusters that publish the same values are one class. If persons are counted, a class can violate a model that each
    of its clusters meets; then these clusters are published with the ranges of their records.
    """
    widening = algorithm.ability(Widening)
    if widening is None or not widening.is_wanted(options) or runs.next_cluster_number == 0:
        return None
    labels = runs.labels()
    space, codes = _published_values(space, labels)
    rows = cluster_members(labels)
    bounds = ClassBounds.from_members(space, rows)
    ends = widening.widen(space, labels, constraint, options)
    ends = PublishedEnds(np.minimum(ends.low, bounds.low), np.maximum(ends.high, bounds.high), ends.raised_nodes)
    low, high, raised_nodes = ends.low, ends.high, ends.raised_nodes
    if space.persons is not None and constraint.models:
        while True:
            class_number = class_numbers(space, low, high, raised_nodes=raised_nodes)
            class_rows = [
                np.concatenate([rows[c] for c in np.flatnonzero(class_number == n)])
                for n in range(class_number.max() + 1)
            ]
            is_reset = np.isin(class_number, constraint.failing_clusters(space, class_rows)) & _is_widened(ends, bounds)
            if not is_reset.any():
                break
            low[is_reset], high[is_reset], raised_nodes[is_reset] = bounds.low[is_reset], bounds.high[is_reset], -1
    widened_clusters = np.flatnonzero(_is_widened(ends, bounds))
    names = np.unique(labels[labels >= 0])
    for j, original_codes in enumerate(codes):
        low[:, j], high[:, j] = original_codes[low[:, j]], original_codes[high[:, j]]
    return (names[widened_clusters], ends.subset(widened_clusters)) if len(widened_clusters) else None


def _is_widened(ends: PublishedEnds, bounds: ClassBounds) -> Bools:
    """Return, for each cluster, whether its published ends differ from the range of its records."""
    return np.asarray(((ends.low != bounds.low) | (ends.high != bounds.high) | (ends.raised_nodes >= 0)).any(axis=1))


def _published_values(space: EncodedTable, labels: Ints) -> tuple[EncodedTable, list[Ints]]:
    """Return the table with only those values that published records have, and the values' original codes.

    The original codes of each attribute end with that of NULL. With fewer values, an interval that is widened cannot
    end at a value that only suppressed records have. The codes of suppressed records in the result are meaningless. If
    no record is suppressed, `space` itself is returned. O(n) time.
    """
    rows = np.flatnonzero(labels >= 0)
    if len(rows) == len(labels):
        return space, [np.arange(a.values + 1) for a in space.attributes]
    tuples = np.unique(space.tuple_of[rows])
    attributes: list[Attribute] = []
    codes, original_codes = space.codes.copy(), []
    for j, attribute in enumerate(space.attributes):
        published_codes = np.unique(space.codes[tuples, j]).astype(np.int64)
        published_codes = published_codes[published_codes < attribute.values]
        if isinstance(attribute, NumericAttribute):
            old_ends = attribute.ends
            ends = (
                None
                if old_ends is None
                else IntervalEnds(
                    old_ends.lower_rank[published_codes],
                    old_ends.upper_rank[published_codes],
                    old_ends.lower_position[published_codes],
                    old_ends.upper_position[published_codes],
                )
            )
            positions = attribute.positions[published_codes]
            attributes.append(replace(attribute, positions=positions, ends=ends, magnitudes=None))
        else:
            attributes.append(replace(attribute, node=attribute.node[published_codes], magnitudes=None))
        codes[:, j] = np.searchsorted(
            published_codes, codes[:, j]
        )  # NULL is the last code; suppressed records are never read
        original_codes.append(np.append(published_codes, attribute.values))
    return replace(space.with_reference_rows(rows), attributes=tuple(attributes), codes=codes), original_codes
