"""The input of stream algorithms: records in the order of arrival, as positions of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dbanon.algorithms.streams.number_scales import NumberScale, scale_of_codes
from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, Floats, Ints, NumericAttribute
from dbanon.kernels.streams.arrays import AttributeArrays


@dataclass(frozen=True)
class StreamModel:
    """The requirement of every class of a stream.

    Attributes:
        k: Least number of persons.
        min_values: Least number of different values of each sensitive column.
    """

    k: int
    min_values: tuple[int, ...] = ()

    @property
    def min_records(self) -> int:
        """Least number of records that a class can have: the greatest of k and `min_values`."""
        return max(self.k, *self.min_values) if self.min_values else self.k


@dataclass(frozen=True)
class AttributePlaces:
    """The attributes as compiled code reads them (see dbanon.kernels.streams.class_loss).

    Attributes:
        first: (attributes + 1,) where the hierarchy nodes of each attribute begin; a number has none.
        nodes: (nodes, 3) the columns PARENT, LAST_BELOW and PUBLISHED_AS of `AttributeArrays`.
        share: (nodes,) leaves below less one, over all leaves less one.
        weights: (attributes,) weights, which sum to 1.
        scales: For each attribute, the scale of a number whose values are ranks; else None.
    """

    first: Ints
    nodes: Ints
    share: Floats
    weights: Floats
    scales: tuple[NumberScale | None, ...] = ()

    @cached_property
    def starts(self) -> Ints:
        """The index at which the hierarchy nodes of each attribute begin: `first`, unless numbers have scales.

        With scales (for numbers whose values are ranks) it is int32 and also has, for each attribute, the index at
        which its positions begin in `lookup`, -1 without a scale.
        """
        if all(scale is None for scale in self.scales):
            return self.first
        starts, end = [], len(self.share)
        for scale in self.scales:
            starts.append(-1 if scale is None else end)
            end += 0 if scale is None else len(scale.positions)
        return np.concatenate([self.first, np.array(starts)]).astype(np.int32)

    @cached_property
    def lookup(self) -> Floats:
        """The `share` of all hierarchy nodes, followed by the positions of the numbers whose values are ranks."""
        return np.concatenate([self.share, *(scale.positions for scale in self.scales if scale is not None)])

    def arrays(self, seen: Floats) -> AttributeArrays:
        """Return the attributes as kernels take them, including `seen` itself.

        `seen` (attributes, 2) has the least and greatest value so far; kernels update it in place.
        """
        return AttributeArrays(self.starts, self.nodes, self.lookup, seen, self.weights)


@dataclass(frozen=True)
class Arrivals:
    """Records in the order of arrival.

    Attributes:
        places: The attributes as compiled code reads them.
        values: (n, attributes) position of a number (its rank, if it has a scale) or preorder number of a category's
            node; NaN for NULL.
        people: (n,) number of each person; -1 if unknown.
        sensitive: (n, columns) codes of the sensitive columns of the model; -1 for NULL.
        arrived: (n,) place at which each record arrived, from 1.
        n_pending: Number of leading records that arrived in an earlier segment and are still pending.
        labels: (n,) codes of a column to be predicted, -1 for NULL; None if the algorithm uses none.
        meanings: (n, columns) codes of the categories of sensitive values; None if they are not known.
    """

    places: AttributePlaces
    values: Floats
    people: Ints
    sensitive: Ints
    arrived: Ints
    n_pending: int = 0
    labels: Ints | None = None
    meanings: Ints | None = None

    @property
    def n_records(self) -> int:
        """Number of records, including pending ones."""
        return len(self.values)

    def head(self, n_records: int) -> Arrivals:
        """Return a copy of the arrivals with the first `n_records` records only; `n_pending` is unchanged."""
        return replace(
            self,
            values=self.values[:n_records],
            people=self.people[:n_records],
            sensitive=self.sensitive[:n_records],
            arrived=self.arrived[:n_records],
            labels=None if self.labels is None else self.labels[:n_records],
            meanings=None if self.meanings is None else self.meanings[:n_records],
        )


def build_arrivals(
    attributes: Sequence[Attribute],
    codes: npt.NDArray[np.int32],
    people: Ints | None,
    sensitive: Ints,
    *,
    arrived: Ints | None = None,
    n_pending: int = 0,
    labels: Ints | None = None,
    scales: Sequence[NumberScale | None] | None = None,
) -> Arrivals:
    """Return records as arrivals of a stream, given their codes.

    Args:
        attributes: The quasi-identifiers.
        codes: (records, attributes) codes; NULL has the code after the last value.
        people: (records,) number of the person of each record; None if every person has one record.
        sensitive: (records, columns) codes of the sensitive columns, -1 for NULL.
        arrived: (records,) place at which each record arrived; None for 1, 2, ...
        n_pending: Number of leading records that arrived earlier and are still pending.
        labels: (records,) codes of a column to be predicted; None if there is none.
        scales: For each attribute its scale, None without one. If it is None itself, a number has a scale if several of
            its values have equal positions.
    """
    records = len(codes)
    values = np.empty((records, len(attributes)))
    attribute_scales = tuple(needed_scale(a) for a in attributes) if scales is None else tuple(scales)
    for a, attribute in enumerate(attributes):
        code_values = values_of_codes(attribute, attribute_scales[a])
        values[:, a] = np.append(code_values.astype(np.float64), np.nan)[codes[:, a]]
    person_numbers = np.arange(records) if people is None else people
    order = np.arange(1, records + 1) if arrived is None else arrived
    return Arrivals(
        _attribute_places(attributes, attribute_scales), values, person_numbers, sensitive, order, n_pending, labels
    )


def values_of_codes(attribute: Attribute, scale: NumberScale | None) -> npt.NDArray[Any]:
    """Return the number that represents each code of an attribute in a stream.

    It is the hierarchy node of a category, and the position of a number. With a scale (for numbers whose positions are
    not all different) it is the number's rank.
    """
    if isinstance(attribute, NumericAttribute):
        return attribute.positions if scale is None else scale.ranks
    return attribute.node


def needed_scale(attribute: Attribute) -> NumberScale | None:
    """Return the scale of a number if several values have equal positions; None otherwise and for categories."""
    return scale_of_codes(attribute.positions) if isinstance(attribute, NumericAttribute) else None


def _attribute_places(attributes: Sequence[Attribute], scales: tuple[NumberScale | None, ...] = ()) -> AttributePlaces:
    """Return the attributes as compiled code reads them, with weights scaled to a sum of 1."""
    trees = [a for a in attributes if isinstance(a, CategoricalAttribute)]
    sizes = [len(a.parent) if isinstance(a, CategoricalAttribute) else 0 for a in attributes]
    nodes = [np.stack([t.parent, t.last, t.published_node], axis=1).astype(np.int64) for t in trees]
    weights = np.array([a.weight for a in attributes], np.float64)
    return AttributePlaces(
        first=np.append(0, np.cumsum(sizes)).astype(np.int64),
        nodes=np.ascontiguousarray(np.concatenate([np.empty((0, 3), np.int64), *nodes])),
        share=np.concatenate([np.empty(0), *((t.leaves - 1) / max(int(t.leaves[0]) - 1, 1) for t in trees)]),
        weights=weights / weights.sum(),
        scales=scales,
    )
