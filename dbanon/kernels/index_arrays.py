"""Arguments of kernels that search a tuple index: named tuples of arrays, which kernels read and write in place.

See `dbanon.encoding.tuple_index`. A tuple is a distinct combination of codes. An attribute with few values is looked up
in tables; an axis is a numeric attribute with many values, whose distances are computed.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dbanon.kernels.arrays import Ints

CHUNK = 9
"""Prefix sums are kept within chunks of 2^9 values, and over chunks: adding changes few entries, reading takes two."""


class TupleTree(NamedTuple):
    """The tuples as leaves of a trie over the attributes with few values, and of trees of boxes over the axes.

    Attributes:
        leaf: (tuples,) int32: node of each tuple.
        parent: (nodes,) int32: node above, -1 for the root.
        n_remaining: (nodes,) int64: remaining records below.
        tuple_remaining: (tuples,) int64: remaining records.
        first_child, n_children: (nodes,) int32: children are adjacent.
        code, level: (nodes,) int32: code of the attribute by which a node of the trie differs from its siblings, and
            number of such attributes on the path to it.
        tuples: (nodes,) int32: tuple of a leaf, -1 for other nodes.
        first: (nodes,) int32: least tuple below.
        boxes: (nodes, 2 * axes) int32: least and greatest code below on each axis.
        n_steps: (1,) int64: values and nodes that searches have visited.
    """

    leaf: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    n_remaining: Ints
    tuple_remaining: Ints
    first_child: npt.NDArray[np.int32]
    n_children: npt.NDArray[np.int32]
    code: npt.NDArray[np.int32]
    level: npt.NDArray[np.int32]
    tuples: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    boxes: npt.NDArray[np.int32]
    n_steps: Ints


class TabularAttributes(NamedTuple):
    """The attributes with few values.

    Attributes:
        codes: (tuples, attributes) int32: code of each tuple; NULL has the code after the last value.
        starts: (attributes,) int64: where the values of each attribute begin in arrays by value.
        value_remaining: (values,) int64: remaining records by value of all attributes.
    """

    codes: npt.NDArray[np.int32]
    starts: Ints
    value_remaining: Ints


class Axes(NamedTuple):
    """The axes, that is, the numeric attributes with many values.

    Attributes:
        places: int64: place of each value, one axis after another; every axis has one entry more, for NULL.
        starts: (axes,) int64: where the places of each axis begin.
        lengths: (axes,) int64: number of values, which is also the code of NULL.
        null_distances: (axes,) int64: distance of NULL to a value.
        chunk_starts: (axes,) int64: where the chunks of each axis begin in prefix sums (see `axis_sums`).
    """

    places: Ints
    starts: Ints
    lengths: Ints
    null_distances: Ints
    chunk_starts: Ints


class IndexArrays(NamedTuple):
    """The remaining tuples, for searches.

    Attributes:
        tree: The tuples as a tree.
        tabular: The attributes with few values.
        axes: The axes, or None if there are none. Kernels that test for None take it as a parameter of its own, because
            numba compiles only then without the code for axes.
        axis_codes: (tuples, axes) int32: codes of the tuples on the axes.
    """

    tree: TupleTree
    tabular: TabularAttributes
    axes: Axes | None
    axis_codes: npt.NDArray[np.int32]


class SumQuery(NamedTuple):
    """A sum over attributes: a table for each attribute with few values, and a convex function for each axis.

    If `counts` is empty, the function on axis a is the distance to the interval from low[a] to high[a], or to NULL if
    n_nulls[a] is 1. Otherwise it is the sum of the distances to all places that were added.

    Attributes:
        table_sums: (values,) int64: the tables, one attribute after another.
        low, high: (axes,) int64: ends of the interval.
        n_nulls, n_places: (axes,) int64: number of NULLs and of places that were added.
        counts, totals: int64: prefix sums of the numbers and of the places of added values, within chunks of values.
        count_chunks, total_chunks: int64: the same over chunks.
    """

    table_sums: Ints
    low: Ints
    high: Ints
    n_nulls: Ints
    n_places: Ints
    counts: Ints
    totals: Ints
    count_chunks: Ints
    total_chunks: Ints


class SeedSearch(NamedTuple):
    """Queries for seeds and for the records nearest to them.

    Attributes:
        tables: int64: distances between the values of each attribute with few values, one row after another.
        table_starts: (attributes,) int64: where the distances of each attribute begin in `tables`.
        near: Scratch for the distances to one seed.
        sums: The summed distances to all seeds so far.
        sign: 1 if a seed is the record with the least sum, -1 if it is the one with the greatest.
    """

    tables: Ints
    table_starts: Ints
    near: SumQuery
    sums: SumQuery
    sign: int


class TupleBlocks(NamedTuple):
    """The tuples in blocks of neighbours (see `block_search`), which have equal codes of attributes with few values.

    Attributes:
        order: (tuples,) int64: the tuples, block by block.
        begins: (blocks + 1,) int64: where the tuples of each block begin in `order`.
        first: (blocks,) int64: least tuple with remaining records.
        n_remaining: (blocks,) int64: remaining records.
        low, high: (blocks, axes) int64: least and greatest place of remaining tuples, -1 for NULLs only.
        has_null: (blocks, axes) int64: 1 if a remaining tuple is NULL.
        ends: (blocks,) int64: where the remaining tuples of each block end in `order`.
        block_of: (tuples,) int64: block of each tuple.
        tuple_remaining: (tuples,) int64: remaining records.
        codes: (blocks, attributes) int32: codes of the attributes with few values.
    """

    order: Ints
    begins: Ints
    first: Ints
    n_remaining: Ints
    low: Ints
    high: Ints
    has_null: Ints
    ends: Ints
    block_of: Ints
    tuple_remaining: Ints
    codes: npt.NDArray[np.int32]


class BlockArrays(NamedTuple):
    """Blocks of tuples, and bounds of their summed distances to all seeds.

    Attributes:
        blocks: The blocks.
        lower: (blocks,) int64: lower bound of the least sum of a tuple of the block.
        is_exact: (blocks,) int64: 1 where `lower` is that sum, else 0.
        best: (blocks,) int64: the tuple with the least sum, where `lower` is exact.
    """

    blocks: TupleBlocks
    lower: Ints
    is_exact: Ints
    best: Ints


class GrowthTerms(NamedTuple):
    """Losses of the attributes with few values, for clusters that grow by the record that costs least (see `greedy`).

    Attributes:
        kind: (attributes,) int64: 0 for a hierarchy, 1 for a number.
        unit: (attributes,) int64: greatest loss of a record.
        node_starts, value_starts: (attributes + 1,) int64: where the nodes and the values of each attribute begin.
        parent, height: (nodes,) int64: node above within the attribute, -1 for the root; loss of a record at the node.
        last, first: (nodes,) int64: code after the last value below, and code of the first.
        node_or_place: (values,) int64: node of a category, place of a number.
    """

    kind: Ints
    unit: Ints
    node_starts: Ints
    value_starts: Ints
    parent: Ints
    height: Ints
    last: Ints
    first: Ints
    node_or_place: Ints
