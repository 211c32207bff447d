"""Publishing clusters with more than their records span, where an algorithm says so: what they are published with may
not make a class that misses the privacy model."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.class_bounds import Extents, classes, members
from dbanon.algorithms.base.registry import Algorithm, Options, PublishedEnds, Widening
from dbanon.encoding.encoded_table import Attribute, Bools, EncodedTable, IntervalEnds, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint


def widened(
    algorithm: Algorithm, space: EncodedTable, constraint: Constraint, options: Options, runs: Runs
) -> tuple[Ints, PublishedEnds] | None:
    """Clusters that are published with more than their records span, and their codes and nodes; None where there is
    none.

    Clusters that publish the same are one class. Where persons are counted, a class can miss a model that each of its
    clusters meets; then these are published as they are.
    """
    widening = algorithm.ability(Widening)
    if widening is None or not widening.is_wanted(options) or runs.clusters_most == 0:
        return None
    labels = runs.labels()
    space, codes = _released(space, labels)
    rows = members(labels)
    extents = Extents.of(space, rows)
    ends = widening.widen(space, labels, constraint, options)
    ends = PublishedEnds(np.minimum(ends.low, extents.low), np.maximum(ends.high, extents.high), ends.raised_nodes)
    low, high, raised = ends.low, ends.high, ends.raised_nodes
    if space.persons is not None and constraint.models:
        while True:
            number = classes(space, low, high, raised_nodes=raised)
            united = [np.concatenate([rows[c] for c in np.flatnonzero(number == n)]) for n in range(number.max() + 1)]
            back = np.isin(number, constraint.missed(space, united)) & _is_wide(ends, extents)
            if not back.any():
                break
            low[back], high[back], raised[back] = extents.low[back], extents.high[back], -1
    wide = np.flatnonzero(_is_wide(ends, extents))
    names = np.unique(labels[labels >= 0])
    for j, known in enumerate(codes):
        low[:, j], high[:, j] = known[low[:, j]], known[high[:, j]]
    return (names[wide], ends.of_clusters(wide)) if len(wide) else None


def _is_wide(ends: PublishedEnds, extents: Extents) -> Bools:
    """Return whether each cluster is published with more than its records span."""
    return np.asarray(((ends.low != extents.low) | (ends.high != extents.high) | (ends.raised_nodes >= 0)).any(axis=1))


def _released(space: EncodedTable, labels: Ints) -> tuple[EncodedTable, list[Ints]]:
    """The space of the values that are released, and the codes that these had (of NULL last): an interval that is
    widened must not end at a value of a record that is left out. O(n) time."""
    rows = np.flatnonzero(labels >= 0)
    if len(rows) == len(labels):
        return space, [np.arange(a.values + 1) for a in space.attributes]
    tuples = np.unique(space.tuple_of[rows])
    attributes: list[Attribute] = []
    codes, known = space.codes.copy(), []
    for j, attribute in enumerate(space.attributes):
        seen = np.unique(space.codes[tuples, j]).astype(np.int64)
        seen = seen[seen < attribute.values]
        if isinstance(attribute, NumericAttribute):
            of = attribute.ends
            ends = (
                None
                if of is None
                else IntervalEnds(
                    of.lower_rank[seen], of.upper_rank[seen], of.lower_position[seen], of.upper_position[seen]
                )
            )
            positions = attribute.positions[seen]
            attributes.append(replace(attribute, positions=positions, ends=ends, magnitudes=None))
        else:
            attributes.append(replace(attribute, node=attribute.node[seen], magnitudes=None))
        codes[:, j] = np.searchsorted(seen, codes[:, j])  # NULL comes after the last; nobody looks at what is left out
        known.append(np.append(seen, attribute.values))
    return replace(space.with_reference_rows(rows), attributes=tuple(attributes), codes=codes), known
