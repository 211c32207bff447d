"""The scalar function that reads hierarchies: their rows and the values of columns in, nodes and codes out.

It raises no errors: it states what is wrong, and sql/release/plan/input_errors.sql raises the first one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.encoding.encoded_table import AnyInts, Bools
from dbanon.encoding.preorder import Preorder, preorder_tree
from dbanon.policy.hierarchies.messages import MALFORMED
from dbanon.udf.arrow_columns import (
    boolean_column,
    list_items,
    struct_array,
    text_column,
    to_arrow,
    to_numpy,
    typed_column,
)
from dbanon.udf.cluster_input import as_array, list_array

_INT, _TEXT, _INTS = pa.int32(), pa.string(), pa.list_(pa.int32())
NODES = pa.struct(
    [("tree", _INT), ("node", _INT), ("parent", _INT), ("depth", _INT), ("height", _INT), ("leaves", _INT),
     ("is_leaf", pa.bool_()), ("code", _INT), ("label", _TEXT), ("published", _TEXT), ("line", _INTS)]
)  # fmt: skip
CODES = pa.struct([("tree", _INT), ("value", _TEXT), ("code", _INT), ("node", _INT), ("own", _INT)])
DOMAIN = pa.struct([("parent", _INTS), ("value", _INTS), ("names", pa.list_(_TEXT))])
FACT = pa.struct(
    [("tree", _INT), ("malformed", _TEXT), ("reserved", _INT), ("uncovered", _INT), ("several_nodes", _INT)]
)
TREES = pa.struct(
    [("nodes", pa.list_(NODES)), ("codes", pa.list_(CODES)), ("domains", pa.list_(DOMAIN)), ("facts", pa.list_(FACT))]
)

ROOT_LABEL = "*"
"""The label of the root, which is also published for every value and for NULL."""

PATH_SEPARATOR = " > "
"""The text between the labels of a path."""


def dbanon_trees(requests: Any, values: Any, stored: Any) -> Any:
    """Read all hierarchies of a statement; return their nodes, codes, domains and facts as an Arrow column of TREES.

    Args:
        requests: JSON of each statement: its trees, whether names are needed, and whether labels are escaped.
        values: STRUCT(tree, value)[]: the distinct values of the columns, in their order.
        stored: STRUCT(tree, node, parent, label)[]: the rows of one hierarchy after the other, siblings in their order;
            or NULL. A tree without rows gets a root `*` over its values.

    Returns:
        STRUCT(nodes STRUCT(tree, node, parent, depth, height, leaves, is_leaf, code, label, published, line)[], codes
        STRUCT(tree, value, code, node, own)[], domains STRUCT(parent[], value[], names[])[], facts STRUCT(...)[]).
        Domains and facts are in the order of the request.

        - A node is its position in preorder. `line` is the path of nodes from the root to it, `height` the number of
          edges to its deepest leaf, `leaves` the number of leaves below it, `code` the code that has the node, or NULL.
        - A value that is the label of exactly one node has a code. `own` is that node, and `node` its ancestor
          min_level steps above, as which it is clustered. Codes ascend with `node`.
        - In a domain, `parent` has the parent of each node and `value` the node of each code.
        - Facts state why a hierarchy is malformed, and count the values that do not fit it.

    O(nodes * depth + values) time and memory.
    """
    requests, values, stored = as_array(requests), as_array(values), as_array(stored)
    answers = [
        _read_trees(json.loads(requests[i].as_py()), values.slice(i, 1), stored.slice(i, 1))
        for i in range(len(requests))
    ]
    return pa.concat_arrays(answers) if answers else pa.nulls(0, TREES)


def _read_trees(request: dict[str, Any], values: Any, stored: Any) -> Any:
    """Read the hierarchies of one statement; return an Arrow array of TREES with length one.

    A tree without stored rows becomes a root `*` over its values.

    Args:
        request: The decoded request of `dbanon_trees`: `trees` (number, whether it has stored rows, min_level, whether
            its column is sensitive), `names` (whether nodes need names), `escape` (whether labels are escaped), and
            `used` (whether only leaves with values count; false if omitted).
        values: The distinct values of the columns: a list column of length one, see `dbanon_trees`.
        stored: The rows of the hierarchies: a list column of length one, which may be NULL.
    """
    values_of, rows_of = _columns_by_tree(values, "value"), _columns_by_tree(stored, "node", "parent", "label")
    tables: tuple[list[Any], ...] = ([], [], [], [])
    for number, has_rows, min_level, is_sensitive in request["trees"]:
        tree_values = values_of[number][0].to_pylist() if number in values_of else []
        rows = (
            _stored_rows(rows_of.pop(number, ()), request["names"])
            if has_rows
            else _flat_rows(tree_values, request["names"])
        )
        tree = HierarchyTree(rows, preorder_tree(rows.parent), request["escape"], not has_rows)
        matched = _match_values(tree, tree_values, min_level)
        tables[0].append(_node_rows(number, tree, matched, request.get("used", False)))
        tables[1].append(_code_rows(number, matched))
        tables[2].append(_domain_row(tree, matched, request["names"]))
        tables[3].append(_fact_row(number, tree, matched, is_sensitive))
    return struct_array(
        [list_array(pa.concat_arrays(rows), kind.type) for rows, kind in zip(tables, TREES, strict=True)], TREES
    )


# --- what is given ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HierarchyRows:
    """The nodes of a hierarchy as they are stored, siblings in their order.

    Attributes:
        parent: (rows,) the row of the parent, -1 for a root, -2 if the parent does not exist.
        names: The stored name of each node; empty if names are not needed.
        labels: The label of each node.
    """

    parent: AnyInts
    names: Sequence[str]
    labels: Sequence[str]


def _columns_by_tree(list_column: Any, *names: str) -> dict[int, list[Any]]:
    """Return the named columns of each tree's rows, as Arrow arrays by tree number; {} if the list is NULL.

    `list_column` has one list of rows, in which the rows of a tree are contiguous.
    """
    if not list_column[0].is_valid:
        return {}
    rows = list_items(list_column)
    trees, starts, sizes = np.unique(to_numpy(rows.field("tree")), return_index=True, return_counts=True)
    columns = [rows.field(name) for name in names]
    return {
        tree: [column.slice(begin, size) for column in columns]
        for tree, begin, size in zip(trees.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    }


def _stored_rows(columns: Sequence[Any], with_names: bool) -> HierarchyRows:
    """Build the rows of a stored hierarchy from the names, names of parents and labels of its nodes.

    A node whose parent is None is a root (-1); one whose parent is not among the names gets -2. Of equal names, the
    last row counts as the parent. Without `with_names`, the names are not kept.

    Args:
        columns: The three columns as Arrow arrays; empty without rows.
        with_names: Whether the names are needed.
    """
    names, parents, labels = (column.to_pylist() for column in columns) if columns else ([], [], [])
    row_of = {name: row for row, name in enumerate(names)}
    parent_rows = [-1 if parent is None else row_of.get(parent, -2) for parent in parents]
    return HierarchyRows(np.array(parent_rows, np.int64), names if with_names else [], labels)


def _flat_rows(values: Sequence[str], with_names: bool) -> HierarchyRows:
    """Build a hierarchy with all values directly below one root `*`.

    With `with_names`, the name of the root is empty, and that of a value is `=` and the value; otherwise there are no
    names.
    """
    parent = np.arange(len(values) + 1).clip(max=1) - 1
    return HierarchyRows(parent, ["", *(f"={value}" for value in values)] if with_names else [], [ROOT_LABEL, *values])


# --- nodes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HierarchyTree:
    """The rows of a hierarchy and their preorder; nodes are numbered in preorder.

    Attributes:
        rows: The stored rows.
        order: Their preorder.
        escape: Publish a leaf that has the label of an inner node with a backslash before it.
        is_flat: Row 0 is the root over all values, an inner node even if there are none.
    """

    rows: HierarchyRows
    order: Preorder
    escape: bool
    is_flat: bool

    @cached_property
    def labels(self) -> list[str]:
        """The label of each node, in preorder."""
        return [self.rows.labels[row] for row in self.order.source_row.tolist()]

    @cached_property
    def is_leaf(self) -> list[bool]:
        """Whether each node is a leaf, in preorder; if `is_flat`, the root is not a leaf, even without values."""
        flags: list[bool] = (self.order.height == 0).tolist()
        return [False, *flags[1:]] if self.is_flat else flags

    @cached_property
    def inner_nodes(self) -> list[int]:
        """The numbers of the nodes that are not leaves, ascending."""
        return [node for node, is_leaf in enumerate(self.is_leaf) if not is_leaf]

    @cached_property
    def paths(self) -> dict[int, str]:
        """The path of each inner node below the root: labels from the root's child to the node, joined by " > "."""
        paths: dict[int, str] = {}
        for node, parent in zip(self.inner_nodes, self.order.parent[self.inner_nodes].tolist(), strict=True):
            if parent >= 0:
                paths[node] = (
                    f"{paths[parent]}{PATH_SEPARATOR}{self.labels[node]}" if parent in paths else self.labels[node]
                )
        return paths

    @cached_property
    def inner_label_counts(self) -> Counter[str]:
        """Number of inner nodes by label."""
        return Counter(self.labels[node] for node in self.inner_nodes)

    @cached_property
    def inner_paths(self) -> frozenset[str]:
        """The paths of all inner nodes below the root. They take much memory, and few hierarchies need them."""
        return frozenset(self.paths.values())

    def may_denote_inner_node(self, text: str) -> bool:
        """Return whether a text is `*`, or the label or the path of an inner node."""
        return (
            text == ROOT_LABEL
            or text in self.inner_label_counts
            or (PATH_SEPARATOR in text and text in self.inner_paths)
        )

    @cached_property
    def published_labels(self) -> list[str]:
        """The text that each node is published as: its label, or its path if several inner nodes have the label.

        With `escape`, a leaf whose label begins with a backslash or may denote an inner node has a backslash in front.
        """
        published_labels = [
            f"\\{label}" if self.escape and (label.startswith("\\") or self.may_denote_inner_node(label)) else label
            for label in self.labels
        ]
        for node in self.inner_nodes:
            label = self.labels[node]
            published_labels[node] = self.paths.get(node, label) if self.inner_label_counts[label] > 1 else label
        return published_labels


def _node_rows(number: int, tree: HierarchyTree, matched: MatchedValues, only_used: bool) -> Any:
    """Return an Arrow array of NODES with one row per node of tree number `number`.

    With `only_used`, the leaves of a node are those with values: the codes at or below it.
    """
    order, n_nodes = tree.order, len(tree.order.source_row)
    node_codes = np.full(n_nodes, -1)
    node_codes[matched.code_nodes] = np.arange(len(matched.code_nodes))
    path_nodes, path_ends = order.root_paths()
    leaves = _codes_below(order, node_codes >= 0) if only_used else order.leaves
    lines = pa.ListArray.from_arrays(_integer_column(np.concatenate([[0], path_ends])), _integer_column(path_nodes))
    columns = [
        _integer_column(np.full(n_nodes, number)), _integer_column(np.arange(n_nodes)), _nullable_column(order.parent),
        _integer_column(order.depth), _integer_column(order.height), _integer_column(leaves),
        boolean_column(tree.is_leaf), _nullable_column(node_codes), text_column(tree.labels),
        text_column(tree.published_labels), lines,
    ]  # fmt: skip
    return struct_array(columns, NODES)


def _codes_below(order: Preorder, has_code: Bools) -> AnyInts:
    """Return the (nodes,) number of nodes with a code at or below each node."""
    counts = has_code.astype(np.int64)
    for depth in range(int(order.depth.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(order.depth == depth)
        np.add.at(counts, order.parent[nodes], counts[nodes])
    return counts


def _integer_column(values: AnyInts) -> Any:
    """Return an array as an Arrow array of 32-bit integers without NULLs."""
    return to_arrow(np.asarray(values, np.int32))


def _nullable_column(values: AnyInts) -> Any:
    """Return an array as an Arrow array of 32-bit integers, with NULL for negative numbers."""
    return to_arrow(np.asarray(values, np.int32), values < 0)


# --- values -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatchedValues:
    """The values of a column that match exactly one node of a hierarchy, and counts of the others.

    Attributes:
        values: The matched values.
        value_nodes: (values,) the node of each value.
        clustered_nodes: (values,) the node as which each value is clustered.
        codes: (values,) the code of each value.
        code_nodes: (codes,) the node of each code.
        n_reserved: Values of the column that equal `*` or a label or path of an inner node; 0 if labels are escaped.
        n_uncovered: Values that no node matches.
        n_ambiguous: Values that several leaves match.
        n_several_nodes: Values that no leaf and several inner nodes match.
    """

    values: Sequence[str]
    value_nodes: AnyInts
    clustered_nodes: AnyInts
    codes: AnyInts
    code_nodes: AnyInts
    n_reserved: int
    n_uncovered: int
    n_ambiguous: int
    n_several_nodes: int


def _match_values(tree: HierarchyTree, values: Sequence[str], min_level: int) -> MatchedValues:
    """Match each value with a leaf of its label or, if labels are escaped and no leaf has it, with an inner node.

    Args:
        tree: The hierarchy.
        values: The distinct values of the column.
        min_level: Values are clustered as their ancestors this many steps above.

    Values that match no node or several nodes get no code; they are only counted.
    """
    matches = list(map(_nodes_by_label(tree, True).get, values))
    n_ambiguous = matches.count(_SEVERAL_NODES)
    if tree.escape:
        inner_nodes = _nodes_by_label(tree, False)
        matches = [
            inner_nodes.get(value) if node is None else node for value, node in zip(values, matches, strict=True)
        ]
    n_several, n_uncovered, matched_values = matches.count(_SEVERAL_NODES) - n_ambiguous, matches.count(None), values
    if n_ambiguous + n_several + n_uncovered:
        matched = [index for index, node in enumerate(matches) if node not in (None, _SEVERAL_NODES)]
        matched_values, matches = [values[index] for index in matched], [matches[index] for index in matched]
    value_nodes = np.array(matches, np.int64)
    clustered_nodes = tree.order.ancestors(value_nodes, min_level)
    code_nodes, codes = np.unique(clustered_nodes, return_inverse=True)
    n_reserved = 0 if tree.escape else sum(map(tree.may_denote_inner_node, values))
    return MatchedValues(
        matched_values, value_nodes, clustered_nodes, codes, code_nodes, n_reserved, n_uncovered, n_ambiguous, n_several
    )


_SEVERAL_NODES = -1


def _nodes_by_label(tree: HierarchyTree, leaves: bool) -> dict[str, int]:
    """Return the node by label, of the leaves if `leaves`, else of the inner nodes; -1 if several nodes have it."""
    nodes = [node for node, is_leaf in enumerate(tree.is_leaf) if is_leaf] if leaves else tree.inner_nodes
    labels = [tree.labels[node] for node in nodes]
    node_by_label = dict(zip(labels, nodes, strict=True))
    if len(node_by_label) < len(nodes):
        node_by_label |= dict.fromkeys(
            (label for label, number in Counter(labels).items() if number > 1), _SEVERAL_NODES
        )
    return node_by_label


def _code_rows(number: int, matched: MatchedValues) -> Any:
    """Return an array of CODES with one row per matched value of hierarchy number `number`.

    A row has the number of the hierarchy, the value, its code, the node as which it is clustered, and its own node.
    """
    columns = [
        _integer_column(np.full(len(matched.values), number)), text_column(matched.values),
        _integer_column(matched.codes), _integer_column(matched.clustered_nodes), _integer_column(matched.value_nodes),
    ]  # fmt: skip
    return struct_array(columns, CODES)


def _domain_row(tree: HierarchyTree, matched: MatchedValues, with_names: bool) -> Any:
    """Return the domain of a tree as the clustering UDF receives it, as an Arrow array of DOMAIN with length one.

    It has the parent of each node (NULL for the root), the node of each code and, `with_names`, the name of each node.
    """
    names = text_column([tree.rows.names[row] for row in tree.order.source_row.tolist()]) if with_names else None
    columns = [
        list_array(_nullable_column(tree.order.parent), _INTS),
        list_array(_integer_column(matched.code_nodes), _INTS),
        pa.nulls(1, pa.list_(_TEXT)) if names is None else list_array(names, pa.list_(_TEXT)),
    ]
    return struct_array(columns, DOMAIN)


def _fact_row(number: int, tree: HierarchyTree, matched: MatchedValues, is_sensitive: bool) -> Any:
    """Return what is wrong with hierarchy number `number`, as an array of FACT with length one.

    It has the reason why the hierarchy is malformed, or NULL, and the numbers of values that are reserved, uncovered,
    or published by several nodes. Values of a sensitive column are not generalized, so they may equal labels of nodes.
    """
    row = {
        "tree": number,
        "malformed": _malformed_reason(tree, matched, is_sensitive),
        "reserved": 0 if is_sensitive else matched.n_reserved,
        "uncovered": matched.n_uncovered,
        "several_nodes": matched.n_several_nodes,
    }
    return typed_column([row], FACT)


def _malformed_reason(tree: HierarchyTree, matched: MatchedValues, is_sensitive: bool) -> str | None:
    """Return the reason why a hierarchy is not well-formed; None if it is."""
    inner_names = [tree.published_labels[node] for node in tree.inner_nodes]
    inner_names_below_root = [
        name for node, name in zip(tree.inner_nodes, inner_names, strict=True) if tree.order.parent[node] >= 0
    ]
    failures = {
        "roots": int((tree.rows.parent == -1).sum()) != 1,
        "unreachable": len(tree.rows.labels) != len(tree.order.source_row),
        "siblings": _has_same_labels(tree.rows),
        "same_name": len(set(inner_names)) < len(inner_names),
        "inner_star": not is_sensitive and ROOT_LABEL in inner_names_below_root,
        # Values that are missing or reserved are the more useful message.
        "ambiguous": matched.n_ambiguous > 0 and not matched.n_uncovered and (is_sensitive or not matched.n_reserved),
    }
    return next((MALFORMED[name] for name, fails in failures.items() if fails), None)


def _has_same_labels(rows: HierarchyRows) -> bool:
    """Return whether two nodes under one parent have the same label."""
    if len(set(rows.labels)) == len(rows.labels):
        return False
    return len(set(zip(rows.parent.tolist(), rows.labels, strict=True))) < len(rows.labels)
