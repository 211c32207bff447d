"""The scalar function that reads hierarchies: their rows and the values of columns as Arrow in, nodes and codes out.

It does not judge: it counts what may be wrong, and the statement says it (sql/release/plan/input_errors.sql).
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.encoding.encoded_table import AnyInts
from dbanon.encoding.preorder import Preorder, preorder_tree
from dbanon.udf.arrow_columns import bits, flags, items, numbers, packed, texts
from dbanon.udf.cluster_input import array, one

_INT, _TEXT, _INTS = pa.int32(), pa.string(), pa.list_(pa.int32())
NODES = pa.struct(
    [("tree", _INT), ("node", _INT), ("parent", _INT), ("depth", _INT), ("height", _INT), ("leaves", _INT),
     ("is_leaf", pa.bool_()), ("label", _TEXT), ("published", _TEXT), ("line", _INTS)]
)  # fmt: skip
CODES = pa.struct([("tree", _INT), ("value", _TEXT), ("code", _INT), ("node", _INT), ("own", _INT)])
DOMAIN = pa.struct([("parents", _INTS), ("places", _INTS), ("names", pa.list_(_TEXT))])
FACT = pa.struct(
    [("tree", _INT), ("roots", _INT), ("stored", _INT), ("reached", _INT), ("same_labels", pa.bool_()),
     ("inner_nodes", _INT), ("inner_names", _INT), ("inner_stars", _INT), ("reserved", _INT), ("uncovered", _INT),
     ("ambiguous", _INT), ("several_nodes", _INT)]
)  # fmt: skip
TREES = pa.struct(
    [("nodes", pa.list_(NODES)), ("codes", pa.list_(CODES)), ("domains", pa.list_(DOMAIN)), ("facts", pa.list_(FACT))]
)

ALL = "*"
"""The label of the root, and what may stand for every value and for NULL."""


def dbanon_trees(request: Any, values: Any, stored: Any) -> Any:
    """STRUCT(nodes STRUCT(tree, node, parent, depth, height, leaves, is_leaf, label, published, line)[], codes
    STRUCT(tree, value, code, node, own)[], domains STRUCT(parents[], places[], names[])[], facts STRUCT(...)[]) of the
    trees of a statement; domains and facts are in the order of the request.

    `values` is STRUCT(tree, value)[], distinct and in their order; `stored` STRUCT(tree, node, parent, label)[], the
    rows of one hierarchy after the other, siblings in their order, or NULL. A tree without a hierarchy is a root `*`
    over its values.

    A node is its place in preorder; line are the nodes from the root to it; height is edges down to its deepest leaf,
    leaves how many lie below it. A code is of a value that one node alone stands for: own is that node, node the one
    that it is clustered as, min_level steps above. Codes ascend with the places of these. parents are by node, places
    of codes by code. Facts are numbers of what a hierarchy must have once, or not at all.

    O(nodes * depth + values) time and memory.
    """
    request, values, stored = array(request), array(values), array(stored)
    answers = [
        _answer(json.loads(request[i].as_py()), values.slice(i, 1), stored.slice(i, 1)) for i in range(len(request))
    ]
    return pa.concat_arrays(answers) if answers else pa.array([], TREES)


def _answer(asked: dict[str, Any], values: Any, stored: Any) -> Any:
    """Return the trees of one statement, as an array of one."""
    values_of, rows_of = _by_tree(values, "value"), _by_tree(stored, "node", "parent", "label")
    found = []
    for number, has_rows, min_level in asked["trees"]:
        own = values_of.get(number, [[]])[0]
        rows = _stored(*rows_of.get(number, [[], [], []])) if has_rows else _flat(own, asked["names"])
        tree = Tree(rows, preorder_tree(rows.parent), asked["escape"], not has_rows)
        found.append((number, tree, _matched(tree, own, min_level)))
    columns = (
        (_nodes(number, tree) for number, tree, _ in found),
        (_codes(number, matched) for number, _, matched in found),
        (_domain(tree, matched, asked["names"]) for _, tree, matched in found),
        (_fact(*each) for each in found),
    )
    return pa.StructArray.from_arrays(
        [one(pa.concat_arrays(rows), kind.type) for rows, kind in zip(columns, TREES, strict=True)], fields=list(TREES)
    )


# --- what is given ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """The nodes of a hierarchy (rows,), siblings in their order: the row of the parent, -1 of a root, -2 where there is
    none; names and labels."""

    parent: AnyInts
    names: Sequence[str]
    labels: Sequence[str]


def _by_tree(lists: Any, *names: str) -> dict[int, list[list[Any]]]:
    """Return columns of the rows of each tree, which stand together, in a list of one, as texts."""
    if not lists[0].is_valid:
        return {}
    rows = items(lists)
    own, begins, sizes = np.unique(numbers(rows.field("tree")), return_index=True, return_counts=True)
    columns = [rows.field(name) for name in names]
    where = zip(own.tolist(), begins.tolist(), sizes.tolist(), strict=True)
    return {tree: [column.slice(begin, size).to_pylist() for column in columns] for tree, begin, size in where}


def _stored(names: Sequence[str], parents: Sequence[str | None], labels: Sequence[str]) -> Rows:
    row_of = {name: row for row, name in enumerate(names)}
    above = [-1 if parent is None else row_of.get(parent, -2) for parent in parents]
    return Rows(np.array(above, np.int64), names, labels)


def _flat(values: Sequence[str], names: bool) -> Rows:
    """Return values under one root, with names where these are asked for."""
    parent = np.arange(len(values) + 1).clip(max=1) - 1
    return Rows(parent, ["", *(f"={value}" for value in values)] if names else [], [ALL, *values])


# --- nodes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """The rows of a hierarchy and their preorder; `escape`: a leaf that reads like an inner node is published after a
    backslash; `rooted`: row 0 is the root, without values below it as well."""

    rows: Rows
    order: Preorder
    escape: bool
    rooted: bool

    @cached_property
    def labels(self) -> list[str]:
        """The label of each node."""
        return [self.rows.labels[row] for row in self.order.source_row.tolist()]

    @cached_property
    def is_leaf(self) -> list[bool]:
        """Whether each node is a leaf."""
        flags: list[bool] = (self.order.height == 0).tolist()
        return [False, *flags[1:]] if self.rooted else flags

    @cached_property
    def inner(self) -> list[int]:
        """The inner nodes."""
        return [node for node, is_leaf in enumerate(self.is_leaf) if not is_leaf]

    @cached_property
    def paths(self) -> dict[int, str]:
        """Of each inner node below the root the labels from there to it, as one text."""
        paths: dict[int, str] = {}
        for node, above in zip(self.inner, self.order.parent[self.inner].tolist(), strict=True):
            if above >= 0:
                paths[node] = f"{paths[above]} > {self.labels[node]}" if above in paths else self.labels[node]
        return paths

    @cached_property
    def names(self) -> set[str]:
        """The texts that may stand for an inner node."""
        return {ALL, *(self.labels[node] for node in self.inner), *self.paths.values()}

    @cached_property
    def published(self) -> list[str]:
        """What each node is published as: its label, or its path where several inner nodes have the label."""
        shown = [self._leaf(label) for label in self.labels] if self.escape else self.labels.copy()
        same = Counter(self.labels[node] for node in self.inner)
        for node in self.inner:
            label = self.labels[node]
            shown[node] = self.paths.get(node, label) if same[label] > 1 else label
        return shown

    def _leaf(self, label: str) -> str:
        return f"\\{label}" if label.startswith("\\") or label in self.names else label


def _nodes(number: int, tree: Tree) -> Any:
    """Return a row a node."""
    of = tree.order
    joined, ends = of.root_paths()
    lines = pa.ListArray.from_arrays(_packed(np.concatenate([[0], ends])), _packed(joined))
    arrays = [
        _packed(np.full(len(of.source_row), number)), _packed(np.arange(len(of.source_row))), _or_null(of.parent),
        _packed(of.depth), _packed(of.height), _packed(of.leaves),
        flags(tree.is_leaf), texts(tree.labels), texts(tree.published), lines,
    ]  # fmt: skip
    return pa.StructArray.from_arrays(arrays, fields=list(NODES))


def _packed(values: AnyInts) -> Any:
    return packed(np.asarray(values, np.int32))


def _or_null(values: AnyInts) -> Any:
    """Return numbers, NULL where they are negative."""
    return pa.Array.from_buffers(_INT, len(values), [bits(values >= 0), pa.py_buffer(np.asarray(values, np.int32))])


# --- values -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matched:
    """The values of a column: those that one node stands for, with it (`own`), with the one they are clustered as
    (`nodes`) and their codes; `places`, the nodes of the codes; and how many of all of them read like an inner node,
    have no node, several leaves or several inner nodes."""

    values: Sequence[str]
    own: AnyInts
    nodes: AnyInts
    codes: AnyInts
    places: AnyInts
    reserved: int
    uncovered: int
    ambiguous: int
    several_nodes: int


def _matched(tree: Tree, values: Sequence[str], min_level: int) -> Matched:
    """Return a value is a leaf, or, where leaves that read like inner nodes are told apart, else an inner node."""
    found = list(map(_by_label(tree, True).get, values))
    ambiguous = found.count(_SEVERAL)
    if tree.escape:
        inner = _by_label(tree, False)
        found = [inner.get(value) if node is None else node for value, node in zip(values, found, strict=True)]
    several, uncovered, one_node = found.count(_SEVERAL) - ambiguous, found.count(None), values
    if ambiguous + several + uncovered:
        standing = [at for at, node in enumerate(found) if node not in (None, _SEVERAL)]
        one_node, found = [values[at] for at in standing], [found[at] for at in standing]
    own = np.array(found, np.int64)
    nodes = tree.order.ancestors(own, min_level)
    places, codes = np.unique(nodes, return_inverse=True)
    reserved = 0 if tree.escape else sum(map(tree.names.__contains__, values))
    return Matched(one_node, own, nodes, codes, places, reserved, uncovered, ambiguous, several)


_SEVERAL = -1


def _by_label(tree: Tree, leaves: bool) -> dict[str, int]:
    """Of each label of the leaves, or of the inner nodes, the node, or _SEVERAL."""
    nodes = [node for node, is_leaf in enumerate(tree.is_leaf) if is_leaf] if leaves else tree.inner
    labels = [tree.labels[node] for node in nodes]
    found = dict(zip(labels, nodes, strict=True))
    if len(found) < len(nodes):
        found |= dict.fromkeys((label for label, number in Counter(labels).items() if number > 1), _SEVERAL)
    return found


def _codes(number: int, matched: Matched) -> Any:
    """Return a row a value that has a code."""
    arrays = [
        _packed(np.full(len(matched.values), number)), texts(matched.values),
        _packed(matched.codes), _packed(matched.nodes), _packed(matched.own),
    ]  # fmt: skip
    return pa.StructArray.from_arrays(arrays, fields=list(CODES))


def _domain(tree: Tree, matched: Matched, names: bool) -> Any:
    """What the clustering is told of a tree, as an array of one."""
    of = texts([tree.rows.names[row] for row in tree.order.source_row.tolist()]) if names else None
    columns = [one(_or_null(tree.order.parent), _INTS), one(_packed(matched.places), _INTS)]
    columns.append(pa.nulls(1, DOMAIN.field("names").type) if of is None else one(of, DOMAIN.field("names").type))
    return pa.StructArray.from_arrays(columns, fields=list(DOMAIN))


def _fact(number: int, tree: Tree, matched: Matched) -> Any:
    """What is counted of a tree, as an array of one."""
    numbers_of = {
        "tree": number,
        "roots": int((tree.rows.parent == -1).sum()),
        "stored": len(tree.rows.labels),
        "reached": len(tree.order.source_row),
        "same_labels": _has_same_labels(tree.rows),
        "inner_nodes": len(tree.inner),
        "inner_names": len({tree.published[node] for node in tree.inner}),
        "inner_stars": sum(tree.published[node] == ALL for node in tree.inner if tree.order.parent[node] >= 0),
        "reserved": matched.reserved,
        "uncovered": matched.uncovered,
        "ambiguous": matched.ambiguous,
        "several_nodes": matched.several_nodes,
    }
    arrays = [flags([of]) if isinstance(of, bool) else _packed(np.array([of])) for of in numbers_of.values()]
    return pa.StructArray.from_arrays(arrays, fields=list(FACT))


def _has_same_labels(rows: Rows) -> bool:
    """Return whether two nodes under one parent have the same label."""
    if len(set(rows.labels)) == len(rows.labels):
        return False
    return len(set(zip(rows.parent.tolist(), rows.labels, strict=True))) < len(rows.labels)
