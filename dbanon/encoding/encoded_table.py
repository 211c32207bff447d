"""A table as algorithms see it: distinct tuples of codes with counts, in canonical order, and the attributes.

Codes ascend with the numbers, or in leaf order, from 0; a NULL has the code after the last value. The canonical order
sorts records by their codes, in the order of the quasi-identifiers, and then by a hash of the other published columns,
so nothing depends on the physical order of the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
AnyInts = npt.NDArray[np.integer]
"""Row, tuple, node or code numbers, 32 or 64 bits wide."""


@dataclass(frozen=True)
class IntervalEnds:
    """The interval ends that a cluster publishes for a numeric attribute.

    Attributes:
        lower_rank, upper_rank: Ranks of the lower and upper end of each value, by code.
        lower_position, upper_position: Their distance from the lower end of the least value, in the steps of
            `NumericAttribute.positions`.
    """

    lower_rank: Codes
    upper_rank: Codes
    lower_position: Floats
    upper_position: Floats


@dataclass(frozen=True)
class NumericAttribute:
    """A numeric attribute; the codes 0, 1, ... are its distinct values in ascending order.

    Attributes:
        positions: Distance of each code from the least value, in steps of the type if `integral`.
        integral: Whether the type has whole steps, such as integers and dates.
        weight: Weight of the attribute in distances and losses.
        ends: The interval ends to publish, if these are not the values.
        with_bare_null: Whether a class with NULL and values publishes NULL, as a class of NULLs alone does; published
            metrics then count the greatest loss for both.
        influence: How much the attribute reveals about sensitive values.
        magnitudes: The values themselves by code, if an algorithm needs them.
    """

    positions: Floats
    integral: bool
    weight: float = 1.0
    ends: IntervalEnds | None = None
    with_bare_null: bool = False
    influence: float = 1.0
    magnitudes: Floats | None = None

    @property
    def values(self) -> int:
        """Number of distinct values; also the code of NULL."""
        return len(self.positions)

    @property
    def height(self) -> int:
        """The least level of generalization at which one block holds all values; 0 for at most one value.

        A block of level l has 2^l consecutive distinct values (see `block`).
        """
        return max(self.values - 1, 0).bit_length()

    def block(self, codes: Ints, level: int) -> tuple[Ints, Ints]:
        """Return the first and last code of the block of each code.

        A block of level l is 2^l consecutive codes, starting at a multiple of 2^l; the last block may be shorter.
        """
        first = codes >> level << level
        return first, np.minimum(first + (1 << level) - 1, self.values - 1)


@dataclass(frozen=True)
class CategoricalAttribute:
    """A categorical attribute and its hierarchy, whose nodes are numbered in preorder.

    Attributes:
        parent: Number of each node's parent (-1 for the root, node 0).
        node: Node of each code, ascending.
        weight: Weight of the attribute in distances and losses.
        max_level: The highest level to which values may be generalized; None if there is no limit.
        published_depth_step: Inner nodes are published only if their depth is a multiple of this number.
        influence: How much the attribute reveals about sensitive values.
        magnitudes: The values by code, if they are numbers.
    """

    parent: Codes
    node: Codes
    weight: float = 1.0
    max_level: int | None = None
    published_depth_step: int = 1
    influence: float = 1.0
    magnitudes: Floats | None = None

    @property
    def values(self) -> int:
        """Number of distinct values; also the code of NULL."""
        return len(self.node)

    @cached_property
    def depth(self) -> Codes:
        """Number of edges between the root and each node, by node."""
        depth = np.zeros(len(self.parent), np.int32)
        ancestors = self.parent
        while (ancestors >= 0).any():
            depth += ancestors >= 0
            ancestors = np.where(ancestors >= 0, self.parent[ancestors], -1)
        return depth

    @cached_property
    def levels(self) -> list[Ints]:
        """The nodes of each depth, from the root (depth 0) down."""
        return np.split(np.argsort(self.depth, kind="stable"), np.cumsum(np.bincount(self.depth))[:-1])

    @cached_property
    def is_inner(self) -> Bools:
        """Whether each node has children, by node."""
        inner = np.zeros(len(self.parent), bool)
        inner[self.parent[1:]] = True
        return inner

    @cached_property
    def published_node(self) -> Codes:
        """The node that each node is published as, by node.

        A leaf is published unchanged. An inner node is published as itself if its depth is a multiple of
        `published_depth_step` (parameter `coarsen`), otherwise as its nearest ancestor with such a depth.
        """
        published = np.arange(len(self.parent), dtype=np.int32)
        for nodes in self.levels[1:]:
            hidden = nodes[self.is_inner[nodes] & (self.depth[nodes] % self.published_depth_step > 0)]
            published[hidden] = published[self.parent[hidden]]
        return published

    @cached_property
    def last(self) -> Ints:
        """The greatest node number in each node's subtree, by node (the node itself for a leaf).

        Nodes are numbered in preorder, so a subtree is a range of numbers.
        """
        last = np.arange(len(self.parent))
        for nodes in self.levels[:0:-1]:
            np.maximum.at(last, self.parent[nodes], last[nodes])
        return last

    @cached_property
    def leaves(self) -> Ints:
        """Number of leaves below each node (1 for a leaf)."""
        leaves_until = np.cumsum(~self.is_inner)
        return np.asarray(leaves_until[self.last] - leaves_until + ~self.is_inner, np.int64)

    @cached_property
    def used_leaves(self) -> Ints:
        """Number of values at or below each node."""
        values_before = np.concatenate([[0], np.cumsum(np.bincount(self.node, minlength=len(self.parent)))])
        return np.asarray(values_before[self.last + 1] - values_before[:-1], np.int64)

    @cached_property
    def height(self) -> Ints:
        """Number of edges from each node down to the deepest leaf below it, by node."""
        height = np.zeros(len(self.parent), np.int64)
        for nodes in self.levels[:0:-1]:
            np.maximum.at(height, self.parent[nodes], height[nodes] + 1)
        return height

    def path_to_root(self, node: int) -> list[int]:
        """Return the node and its ancestors, ending with the root."""
        path = [node]
        while self.parent[path[-1]] >= 0:
            path.append(int(self.parent[path[-1]]))
        return path

    def lowest_common_ancestor(self, first: int, last: int) -> int:
        """Return the lowest common ancestor of two nodes; it is one of the two if that is an ancestor of the other."""
        depth = self.depth
        while first != last:
            if depth[first] >= depth[last]:
                first = int(self.parent[first])
            else:
                last = int(self.parent[last])
        return first

    def branches(self, values: Ints) -> Ints:
        """Return, for each value, the child of the values' lowest common ancestor that is above it.

        For a value at the ancestor itself it is the ancestor. `values` are ascending codes.
        """
        ancestor = self.lowest_common_ancestor(int(self.node[values[0]]), int(self.node[values[-1]]))
        branch = self.node[values].astype(np.int64)
        while True:
            is_deeper = (branch != ancestor) & (self.parent[branch] != ancestor)
            if not is_deeper.any():
                return branch
            branch[is_deeper] = self.parent[branch[is_deeper]]

    @cached_property
    def pruned(self) -> CategoricalAttribute:
        """The hierarchy without leaves that are not values, and without inner nodes that then have no leaves.

        The codes stay the same; nodes are renumbered. The root is always kept.
        """
        used = np.zeros(len(self.parent), bool)
        used[self.node] = True
        used[0] = True
        for nodes in self.levels[:0:-1]:
            used[self.parent[nodes[used[nodes]]]] = True
        new_number = (np.cumsum(used) - 1).astype(np.int32)
        parent = self.parent[used]
        return replace(self, parent=np.where(parent >= 0, new_number[parent], -1), node=new_number[self.node])

    def with_values(self, is_kept: Bools) -> CategoricalAttribute:
        """Return the attribute with only those values for which `is_kept` (by code) is true.

        The hierarchy stays complete. The remaining values are renumbered from 0.
        """
        return replace(
            self,
            node=self.node[is_kept],
            magnitudes=None if self.magnitudes is None else self.magnitudes[is_kept],
        )

    def block(self, level: int) -> Ints:
        """Return the ancestor node `level` steps above each value, by code, followed by -1 for NULL.

        A value with fewer ancestors gets the root.
        """
        node = self.node.astype(np.int64)
        for _ in range(min(level, int(self.depth.max(initial=0)))):
            node = np.where(node > 0, self.parent[node], 0)
        return np.append(node, -1)


Attribute = NumericAttribute | CategoricalAttribute


def has_max_level(attribute: Attribute) -> bool:
    """Return whether an attribute is categorical and has a max_level."""
    return isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column that a privacy model constrains, or that an algorithm reads.

    Attributes:
        codes: (rows,) value of every canonical row (record in canonical order); codes ascend in the column's order, and
            NULL has the code after the last value.
        value_counts: (values + 1,) records (distinct persons) of the whole table with each value.
        tree: The column's hierarchy, if any.
        positions: The values as numbers, by code, if they are numbers and influence is measured.
    """

    codes: Codes
    value_counts: Ints
    tree: CategoricalAttribute | None = None
    positions: Floats | None = None

    @property
    def values(self) -> int:
        """Number of distinct values; also the code of NULL."""
        return len(self.value_counts) - 1

    @cached_property
    def share(self) -> Floats:
        """Share of each value, and last of NULL, in the whole table.

        Computed from `value_counts`; zeros if the table is empty.
        """
        return np.asarray(self.value_counts / max(int(self.value_counts.sum()), 1))

    def edges(self) -> tuple[Codes, Codes, Floats]:
        """Return the hierarchy as a tree with edge lengths, in which NULL is an additional leaf below the root.

        The length of the path between two values is the distance Hsub(lca) / Hsub(root) of t-closeness, where Hsub is
        the height of a node.

        Returns:
            Parent of each node; length of the edge above each node; node of each value and, last, of NULL.

        Raises:
            ValueError: If the column has no hierarchy.
        """
        if self.tree is None:
            raise ValueError("the hierarchical distance needs a hierarchy")
        parent = np.append(self.tree.parent, 0).astype(np.int32)
        height = np.append(self.tree.height, 0)
        length = (height[parent] - height) / max(2 * int(height[0]), 1)
        length[0] = 0.0
        if height[0] == 0:  # the only value is the root itself: the whole path to NULL is this edge
            length[-1] = 1.0
        return parent, np.append(self.tree.node, len(parent) - 1).astype(np.int32), length


@dataclass(frozen=True)
class EncodedTable:
    """The distinct tuples of a table in canonical order, with their counts.

    A tuple is a distinct combination of codes of the quasi-identifiers. A canonical row is a record's number in
    canonical order; the records of a tuple are adjacent.

    Attributes:
        attributes: The quasi-identifiers.
        codes: (tuples, attributes) codes of each tuple.
        counts: (tuples,) records of each tuple.
        persons: (rows,) person of every canonical row (-1: unknown, never counts); None unless the source declares
            persons and some are unknown or have several records.
        total: Number of records of the whole table; distances are scaled by it.
        sensitive: The columns that privacy models constrain.
        starts: (tuples,) first canonical row of each tuple.
    """

    attributes: tuple[Attribute, ...]
    codes: Codes
    counts: Ints
    persons: AnyInts | None
    total: int
    sensitive: tuple[SensitiveColumn, ...] = ()
    starts: Ints = field(init=False)

    def __post_init__(self) -> None:
        """Compute the first canonical row of each tuple from the counts."""
        object.__setattr__(self, "starts", np.cumsum(self.counts) - self.counts)

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def tuple_of(self) -> Ints:
        """The tuple number of every canonical row; computed on each access."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def rows_of(self, tuples: AnyInts) -> Ints:
        """Return the numbers of all canonical rows (records) of some tuples, tuple by tuple in the given order."""
        return concatenated_ranges(self.starts[tuples], self.counts[tuples])

    def with_reference_rows(self, rows: AnyInts) -> EncodedTable:
        """Return a copy whose overall distribution of every sensitive column is counted in `rows` alone.

        `rows` are canonical row numbers. Models such as t-closeness compare classes with this distribution. The table
        keeps all its records, and `total` is unchanged.
        """
        persons = None if self.persons is None else self.persons[rows]
        sensitive = tuple(
            replace(s, value_counts=_sensitive_column(s.codes[rows], s.values, s.tree, persons).value_counts)
            for s in self.sensitive
        )
        return replace(self, sensitive=sensitive)

    def subset(self, tuples: AnyInts) -> EncodedTable:
        """Return the table of some of the tuples, with all their records, in the given order.

        Attributes, `total` and the overall distribution of sensitive values stay those of the whole table.
        """
        rows = self.rows_of(tuples) if self.persons is not None or self.sensitive else None
        persons = self.persons[rows] if self.persons is not None else None
        sensitive = tuple(replace(s, codes=s.codes[rows]) for s in self.sensitive)
        return EncodedTable(self.attributes, self.codes[tuples], self.counts[tuples], persons, self.total, sensitive)

    def without_absent_values(self) -> EncodedTable:
        """Return a copy in which categories that do not occur have no code; the remaining codes are renumbered.

        Hierarchies and numeric attributes stay unchanged. O(tuples + values) time.
        """
        codes, attributes = self.codes.copy(), list(self.attributes)
        for j, attribute in enumerate(attributes):
            if isinstance(attribute, CategoricalAttribute):
                is_present = np.bincount(codes[:, j], minlength=attribute.values + 1) > 0
                attributes[j] = attribute.with_values(is_present[:-1])
                codes[:, j] = (np.cumsum(np.append(is_present[:-1], True)) - 1)[codes[:, j]]
        return replace(self, attributes=tuple(attributes), codes=codes)


def concatenated_ranges(starts: AnyInts, counts: AnyInts) -> Ints:
    """Return the integers starts[i], starts[i] + 1, ... (counts[i] of them) for each i, one range after another."""
    return np.arange(int(counts.sum())) + np.repeat(starts - np.cumsum(counts) + counts, counts)


def encode_table(
    attributes: Sequence[Attribute],
    columns: Sequence[Codes],
    tie_hash: npt.NDArray[np.uint64],
    persons: AnyInts | None,
    record_counts: AnyInts | None = None,
    sensitive: Sequence[tuple[Codes, int, CategoricalAttribute | None]] = (),
) -> tuple[EncodedTable, Ints]:
    """Return the encoded table and its canonical order (row numbers of the input in that order).

    Rows are sorted by codes, then by `tie_hash`, then by person. Persons are dropped if every person is known and has
    exactly one record.

    Args:
        attributes: The quasi-identifiers.
        columns: One array of codes per attribute, by row of the input.
        tie_hash: The hash that orders rows with equal codes.
        persons: Number of the person of each row (-1: unknown); None if the source declares none.
        record_counts: How many equal records each row of the input represents (default: one).
        sensitive: Codes, number of values and hierarchy of each sensitive column that a privacy model constrains.

    O(n log n) time, O(n) memory.
    """
    key, _ = combined_key([c.astype(np.int64) for c in columns], [a.values + 1 for a in attributes])
    order = np.lexsort((tie_hash, key) if persons is None else (persons, tie_hash, key)).astype(np.int64)
    sorted_keys = key[order]
    tuple_starts = (
        np.flatnonzero(np.append(True, sorted_keys[1:] != sorted_keys[:-1])) if len(order) else np.empty(0, np.int64)
    )
    n_records = np.ones(len(order), np.int64) if record_counts is None else record_counts[order].astype(np.int64)
    counts = np.add.reduceat(n_records, tuple_starts) if len(order) else n_records
    codes = np.stack([c[order[tuple_starts]] for c in columns], axis=1).astype(np.int32)
    repeats = None if record_counts is None or (n_records == 1).all() else n_records
    canonical_persons = None if persons is None else _in_canonical_order(smallest_int_type(persons), order, repeats)
    if canonical_persons is not None and _has_one_record_per_person(canonical_persons):
        canonical_persons = None
    sensitive_columns = tuple(
        _sensitive_column(
            _in_canonical_order(column.astype(np.int32, copy=False), order, repeats), values, tree, canonical_persons
        )
        for column, values, tree in sensitive
    )
    return EncodedTable(
        tuple(attributes),
        np.ascontiguousarray(codes),
        counts,
        canonical_persons,
        int(n_records.sum()),
        sensitive_columns,
    ), order


def _in_canonical_order(column: Any, order: Ints, repeats: Ints | None) -> Any:
    """Return column[order], with each entry repeated as often as `repeats` (in the new order) says; None: once."""
    canonical = column[order]
    return canonical if repeats is None else np.repeat(canonical, repeats)


def smallest_int_type(numbers: AnyInts) -> AnyInts:
    """Return the numbers as int32 if they fit, else as int64.

    Used for arrays with one entry per record, to save memory.
    """
    return numbers.astype(np.int32 if int(numbers.max(initial=0)) < 2**31 else np.int64, copy=False)


def _has_one_record_per_person(persons: AnyInts) -> bool:
    """Return whether every person is known (no -1) and has exactly one record; true for an empty array."""
    ascending = np.sort(persons)
    return bool((len(persons) == 0 or ascending[0] >= 0) and (ascending[1:] != ascending[:-1]).all())


def _sensitive_column(
    codes: Codes, values: int, tree: CategoricalAttribute | None, persons: AnyInts | None
) -> SensitiveColumn:
    """Return a sensitive column with its value counts: records, or if `persons` is given, distinct known persons.

    Args:
        codes: (rows,) codes in canonical order; NULL has the code `values`.
        values: Number of distinct values.
        tree: The column's hierarchy, if any.
        persons: (rows,) person of each row, -1 for unknown; None to count records.
    """
    if persons is None:
        return SensitiveColumn(codes, np.bincount(codes, minlength=values + 1), tree)
    is_known = persons >= 0
    pairs = np.unique(persons[is_known].astype(np.int64) * (values + 1) + codes[is_known])
    return SensitiveColumn(codes, np.bincount(pairs % (values + 1), minlength=values + 1), tree)


def combined_key(columns: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """Combine columns into one integer per row, so that sorting by it sorts by the columns in their order.

    Args:
        columns: Arrays of integers from 0; the first matters most.
        sizes: For each column, a number above all its entries.

    Returns:
        The keys, and a number above all of them. Before a product would exceed 2^62, keys are replaced by their ranks.
    """
    key, size = columns[0], sizes[0]
    for column, n_values in zip(columns[1:], sizes[1:], strict=True):
        if size > 2**62 // n_values:
            distinct, key = np.unique(key, return_inverse=True)
            size = len(distinct)
        key, size = key * n_values + column, size * n_values
    return key, size
