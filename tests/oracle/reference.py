"""Slow, obviously correct reference implementations that the fast code is tested against.

Nothing here is shared with the package: the rules are written down a second time, as plain loops. Records are lists of
values in canonical order (the index is the order), and ties are resolved to the first. "KACPC paper" is the paper on
k-anonymity by center point clustering; "project rule" marks rules that the papers leave open. Values: numbers are int
or float, categories are text, NULL is None.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

Node: TypeAlias = tuple[str, ...]
Value: TypeAlias = int | float | str | None
Record: TypeAlias = Sequence[Value]
Measure: TypeAlias = Callable[[Value, Value], int]
Persons: TypeAlias = Sequence[Hashable | None]


# Trees


class Tree:
    """A generalization hierarchy in ARX form: one row per leaf, leaf first, root last, ragged rows allowed.

    A node is its path of labels from the root, so one label may name several inner nodes. Children are in
    the order of their first appearance in the rows. Project rules: leaf labels are unique, a leaf has
    no children, and there is one root (`*` if there are no rows).
    """

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self.root: Node = (rows[0][-1],) if rows else ("*",)
        self.children: dict[Node, list[Node]] = {self.root: []}
        self._leaves: dict[str, Node] = {}
        for row in rows:
            self._add(tuple(reversed(row)))
        self._below = Counter(leaf[:n] for leaf in self._leaves.values() for n in range(1, len(leaf) + 1))
        for leaf in self._leaves.values():
            if self.children[leaf]:
                raise ValueError(f"leaf {leaf[-1]!r} has children")

    def _add(self, leaf: Node) -> None:
        if leaf[:1] != self.root:
            raise ValueError(f"two roots: {self.root[0]!r} and {leaf[0]!r}")
        if self._leaves.setdefault(leaf[-1], leaf) != leaf:
            raise ValueError(f"leaf {leaf[-1]!r} occurs under two parents")
        for length in range(2, len(leaf) + 1):
            parent, child = leaf[: length - 1], leaf[:length]
            if child not in self.children:
                self.children[child] = []
                self.children[parent].append(child)

    def leaf(self, label: str) -> Node:
        """Return the leaf of that label.

        Raises:
            KeyError: The tree has no such leaf.
        """
        return self._leaves[label]

    def is_leaf(self, node: Node) -> bool:
        """Return whether the node is the leaf of a row."""
        return self._leaves.get(node[-1]) == node

    def leaf_order(self) -> list[str]:
        """Return the leaf labels depth-first, children in file order."""

        def walk(node: Node) -> list[str]:
            if self.is_leaf(node):
                return [node[-1]]
            return [label for child in self.children[node] for label in walk(child)]

        return walk(self.root)

    def depth(self, node: Node) -> int:
        """Return the edges from the root; depth(root) = 0."""
        return len(node) - 1

    def leaves(self, node: Node) -> int:
        """Return the number of leaves at or below the node; leaves(leaf) = 1."""
        return self._below[node]

    def lca(self, a: Node, b: Node) -> Node:
        """Return the lowest common ancestor; a node is an ancestor of itself."""
        while a != b:
            if len(a) >= len(b):
                a = a[:-1]
            else:
                b = b[:-1]
        return a

    @property
    def levels(self) -> int:
        """Return H_levels: the number of nodes on the longest path from the root to a leaf."""
        return max((len(leaf) for leaf in self._leaves.values()), default=1)

    def htop(self, node: Node) -> int:
        """Return H_levels - depth: the height in the distance (KACPC paper, Eq. 4); H(TC) = htop(root)."""
        return self.levels - self.depth(node)

    def hsub(self, node: Node) -> int:
        """Return the edges on the longest path down to a leaf; hsub(leaf) = 0."""
        return max((1 + self.hsub(child) for child in self.children[node]), default=0)

    def hloss(self, node: Node) -> int:
        """Return the height in Eloss (KACPC paper, Eq. 1): 1 for every leaf; project rule: else htop."""
        return 1 if self.is_leaf(node) else self.htop(node)

    def pruned(self, present: Iterable[str]) -> Tree:
        """Return the tree without absent leaves and without empty inner nodes; one-child nodes stay.

        KACPC paper, worked example of Eq. 4-5: its numbers need the leaves that occur, and no others. The order of
        children is that of the whole tree (rows are in depth-first order).
        """
        wanted = set(present)
        return Tree([self.leaf(label)[::-1] for label in self.leaf_order() if label in wanted])


def flat(values: Iterable[Value]) -> Tree:
    """Return the tree of a category without a hierarchy: its values right under `*`, in sorted text order."""
    return Tree([[label, "*"] for label in sorted(set(_labels(values)))])


# Attributes


@dataclass(frozen=True)
class Number:
    """A numeric quasi-identifier; it generalizes to intervals."""

    weight: float = 1.0


@dataclass(frozen=True)
class Category:
    """A categorical quasi-identifier; its values are leaf labels of the tree."""

    tree: Tree
    weight: float = 1.0


Attribute: TypeAlias = Number | Category


def _numbers(column: Iterable[Value]) -> list[int | float]:
    """Return the non-NULL values of a numeric column."""
    numbers: list[int | float] = []
    for value in column:
        if isinstance(value, str):
            raise TypeError(f"a number was expected, got {value!r}")
        if value is not None:
            numbers.append(value)
    return numbers


def _labels(column: Iterable[Value]) -> list[str]:
    """Return the non-NULL values of a categorical column."""
    labels: list[str] = []
    for value in column:
        if value is not None and not isinstance(value, str):
            raise TypeError(f"text was expected, got {value!r}")
        if value is not None:
            labels.append(value)
    return labels


def _column(records: Sequence[Record], j: int) -> list[Value]:
    return [record[j] for record in records]


def _lca(tree: Tree, labels: Sequence[str]) -> Node:
    """Return the lowest common ancestor of one or more leaves."""
    node = tree.leaf(labels[0])
    for label in labels:
        node = tree.lca(node, tree.leaf(label))
    return node


def _span(part: Sequence[Value], column: Sequence[Value]) -> float | int:
    """Return max - min of a part of a numeric column, exact if the column is all int.

    With a float in the column both ends are halved, so that the span cannot overflow. Spans are only ever divided by
    spans of the same column.
    """
    values = _numbers(part)
    if all(isinstance(value, int) for value in _numbers(column)):
        return max(values) - min(values)
    return max(values) / 2 - min(values) / 2


# Privacy model


def _people(count: int, k: int, persons: Persons | None) -> list[Hashable | None]:
    """Return the person that each record counts for; None if unknown; without persons, the record itself.

    Project rule: a table that cannot fill one class is an error, not an empty release.
    """
    people: list[Hashable | None] = list(range(count) if persons is None else persons)
    if k < 1 or len(people) != count:
        raise ValueError(f"k = {k}, {count} records, {len(people)} persons")
    if count and not _enough(range(count), people, k):
        raise ValueError(f"k = {k} is more than the table holds")
    return people


def _enough(part: Iterable[int], people: Persons, k: int) -> bool:
    """Return whether one group has at least k distinct persons; None never counts."""
    return len({people[r] for r in part} - {None}) >= k


# KACPC distance


def dist(tree: Tree, v: Node, g: Node) -> float:
    """Return the distance from v up to its ancestor g (KACPC paper, Eq. 4).

    (H(g) (H(g) - H(v))) ^ (H(g) / H(TC)) * leaves(g) / leaves(root), H = htop.
    """
    hg, hv, ht = tree.htop(g), tree.htop(v), tree.htop(tree.root)
    power: float = (hg * (hg - hv)) ** (hg / ht)
    return power * (tree.leaves(g) / tree.leaves(tree.root))


def dist_c(tree: Tree, a: str, b: str) -> float:
    """Return DistC(a, b) = Dist(a, g) Dist(b, g), g the lowest common ancestor (KACPC paper, Eq. 5)."""
    g = tree.lca(tree.leaf(a), tree.leaf(b))
    return dist(tree, tree.leaf(a), g) * dist(tree, tree.leaf(b), g)


def positions(column: Sequence[Value]) -> dict[int | float, int | float]:
    """Return the position of every distinct number: its offset from the least (KACPC paper, Eq. 3, before / D).

    Project rule: if all are int, in steps of the greatest common divisor of the offsets; if any is float, half the
    offset, as a float.
    """
    values = _numbers(column)
    integers = [value for value in values if isinstance(value, int)]
    if len(integers) < len(values):
        low = min(values)
        return {value: value / 2 - low / 2 for value in values}
    minimum = min(integers, default=0)
    step = math.gcd(*(value - minimum for value in integers))
    return {value: (value - minimum) // step if step else 0 for value in integers}


def largest_distance(attribute: Attribute, column: Sequence[Value]) -> float:
    """Return M_j, the largest distance on an attribute; also the cost of NULL against a value (project rule).

    A number: 1.0 (Eq. 3 is normalized). A category: the largest DistC of two values that occur. If no two values differ
    by that distance: 1.0 if a NULL occurs, else 0.0.
    """
    if isinstance(attribute, Number):
        worst = 1.0 if max(positions(column).values(), default=0) > 0 else 0.0
    else:
        present = set(_labels(column))
        worst = max((dist_c(attribute.tree, a, b) for a in present for b in present), default=0.0)
    if worst > 0:
        return worst
    return 1.0 if None in column else 0.0


def prune_attributes(records: Sequence[Record], attributes: Sequence[Attribute]) -> list[Attribute]:
    """Return the attributes with every tree pruned to the values that occur in the records."""
    result: list[Attribute] = []
    for j, attribute in enumerate(attributes):
        if isinstance(attribute, Category):
            attribute = replace(attribute, tree=attribute.tree.pruned(_labels(_column(records, j))))
        result.append(attribute)
    return result


def scale(records: Sequence[Record], attributes: Sequence[Attribute], k: int) -> int:
    """Return the exponent s: distances are integers, multiples of 2^-s (project rule).

    The largest s with floor(n/k) * sum(M_j weight_j) * 2^s < 2^62, so that any sum of distances to all centroids fits
    64 bits; 0 if all distances are 0.
    """
    bound = 0.0
    for j, attribute in enumerate(attributes):
        bound += largest_distance(attribute, _column(records, j)) * attribute.weight
    total = (len(records) // k) * bound
    return 62 - math.frexp(total)[1] if total else 0


def places(column: Sequence[Value], weight: float, s: int) -> dict[Value, int]:
    """Return integer places of numbers: the distance of two numbers is the difference of their places.

    Project rule: integer positions keep equal steps of U = round(weight 2^s / R) if U >= 2^24 (R is the largest
    position); else, and for floats, every position is rounded by itself.
    """
    position = positions(column)
    reach = max(position.values(), default=0)
    if reach == 0:
        return dict.fromkeys(position, 0)
    if isinstance(reach, int):
        unit = round(weight * 2.0**s / reach)
        if unit >= 2**24:
            return {value: int(p) * unit for value, p in position.items()}
    return {value: round(p / reach * (weight * 2.0**s)) for value, p in position.items()}


def measure(attribute: Attribute, column: Sequence[Value], s: int) -> Measure:
    """Return the integer distance of two values of an attribute, NULL included (KACPC paper, Eq. 3 and 5).

    Project rules: rounded half to even, once; NULL against NULL is 0, NULL against a value costs M_j.
    """
    null = round(largest_distance(attribute, column) * attribute.weight * 2.0**s)
    between = _between_numbers if isinstance(attribute, Number) else _between_labels
    known_values = between(attribute, column, s)

    def distance(a: Value, b: Value) -> int:
        if a is None or b is None:
            return 0 if a is b else null
        return known_values(a, b)

    return distance


def _between_numbers(attribute: Attribute, column: Sequence[Value], s: int) -> Measure:
    place = places(column, attribute.weight, s)
    return lambda a, b: abs(place[a] - place[b])


def _between_labels(attribute: Attribute, column: Sequence[Value], s: int) -> Measure:
    """Return the integer distance function of two labels."""
    assert isinstance(attribute, Category)
    tree, weight, present = attribute.tree, attribute.weight, set(_labels(column))
    table: dict[tuple[Value, Value], int] = {}
    for a in present:
        for b in present:
            table[a, b] = round(dist_c(tree, a, b) * weight * 2.0**s)
    return lambda a, b: table[a, b]


def kacpc_distance(
    records: Sequence[Record], attributes: Sequence[Attribute], k: int, prune: bool = True
) -> Callable[[Record, Record], int]:
    """Return DistR, the sum of the attributes' distances (KACPC paper, Eq. 6); here an exact integer."""
    used = prune_attributes(records, attributes) if prune else list(attributes)
    s = scale(records, used, k)
    measures = [measure(attribute, _column(records, j), s) for j, attribute in enumerate(used)]

    def distance(x: Record, y: Record) -> int:
        return sum(of(a, b) for of, a, b in zip(measures, x, y, strict=True))

    return distance


# KACPC


def modal_value(attribute: Attribute, column: Sequence[Value]) -> Value:
    """Return the most frequent value (KACPC paper, Algorithm 1).

    Project rule: ties are resolved to the smallest number or the first in leaf order; NULL can win, but loses ties.
    """
    count = Counter(column)
    if isinstance(attribute, Number):
        sorted_values: list[Value] = [*sorted(set(_numbers(column)))]
    else:
        sorted_values = [label for label in attribute.tree.leaf_order() if label in count]
    return max([*sorted_values, *([None] if None in count else [])], key=lambda value: count[value])


def modal_record(records: Sequence[Record], attributes: Sequence[Attribute]) -> list[Value]:
    """Return the modal value of every attribute; the record need not exist."""
    return [modal_value(attribute, _column(records, j)) for j, attribute in enumerate(attributes)]


def kacpc(
    records: Sequence[Record],
    attributes: Sequence[Attribute],
    k: int,
    persons: Persons | None = None,
    prune: bool = True,
) -> list[list[int]]:
    """Return clusters in the order made, records in the order added, centroid first (KACPC paper, Algorithm 1).

    The first centroid is the record nearest to the modal record; each later one has the least summed distance to all
    earlier centroids. A centroid takes the k - 1 nearest unassigned records (with persons: the nearest until the
    cluster holds k of them). Leftover records join the nearest centroid.
    """
    people = _people(len(records), k, persons)
    if not records:
        return []
    distance = kacpc_distance(records, attributes, k, prune)
    modal = modal_record(records, attributes)
    to_modal = [distance(modal, record) for record in records]
    to_centroids = [0] * len(records)
    unassigned, clusters = list(range(len(records))), list[list[int]]()
    while _enough(unassigned, people, k):
        score = to_centroids if clusters else to_modal
        centroid = min(unassigned, key=lambda r: (score[r], r))
        far = [distance(records[centroid], record) for record in records]
        to_centroids = [total + one for total, one in zip(to_centroids, far, strict=True)]
        cluster = _gather(centroid, unassigned, far, people, k)
        unassigned = [r for r in unassigned if r not in cluster]
        clusters.append(cluster)
    _join_nearest(unassigned, clusters, records, distance)
    return clusters


def _gather(centroid: int, unassigned: Sequence[int], far: Sequence[int], people: Persons, k: int) -> list[int]:
    """Return the centroid and the nearest unassigned records, until there are enough."""
    cluster = [centroid]
    others = sorted((r for r in unassigned if r != centroid), key=lambda r: (far[r], r))
    while not _enough(cluster, people, k):
        cluster.append(others.pop(0))
    return cluster


def _join_nearest(
    leftovers: Sequence[int],
    clusters: Sequence[list[int]],
    records: Sequence[Record],
    distance: Callable[[Record, Record], int],
) -> None:
    """Add every leftover, in order, to the cluster of its nearest centroid; ties: the earlier cluster."""
    for r in leftovers:
        far = [distance(records[r], records[cluster[0]]) for cluster in clusters]
        clusters[far.index(min(far))].append(r)


# Mondrian


def width(attribute: Attribute, part: Sequence[Value], column: Sequence[Value]) -> float:
    """Return the normalized width of an attribute in a part (LeFevre et al., ICDE 2006), before weighting.

    A number: range in the part / range in the table. A category: leaves under the lowest common ancestor / leaves of
    the declared tree, 0 for a single value. Project rule: NULLs among values 1, only NULLs 0.
    """
    if None in part:
        return 0.0 if all(value is None for value in part) else 1.0
    if isinstance(attribute, Number):
        full_span = _span(column, column)
        return _span(part, column) / full_span if full_span else 0.0
    tree = attribute.tree
    node = _lca(tree, _labels(part))
    return 0.0 if tree.is_leaf(node) else tree.leaves(node) / tree.leaves(tree.root)


def _side(attribute: Attribute, part: Sequence[Value]) -> Callable[[Value], Hashable]:
    """Return a function that returns the side of the cut for a value (LeFevre et al., strict partitioning).

    A number: at most the lower median of the part's records, or more. A category: the child of the lowest common
    ancestor, n-way. Project rule: NULLs among values: NULL or not.
    """
    if None in part:
        return lambda value: value is None
    if isinstance(attribute, Number):
        values = sorted(_numbers(part))
        median = values[(len(values) - 1) // 2]
        return lambda value: _numbers([value])[0] <= median
    tree = attribute.tree
    child = len(_lca(tree, _labels(part))) + 1
    return lambda value: tree.leaf(_labels([value])[0])[:child]


def _cut_sides(part: Sequence[int], attribute: Attribute, column: Sequence[Value]) -> list[list[int]]:
    """Return the non-empty sides of a part, cut on one attribute."""
    side = _side(attribute, [column[r] for r in part])
    sides: dict[Hashable, list[int]] = {}
    for r in part:
        sides.setdefault(side(column[r]), []).append(r)
    return list(sides.values())


def _relaxed_cuts(part: Sequence[int], column: Sequence[Value]) -> list[list[list[int]]]:
    """Yield cuts of a number within the records that equal the lower median (LeFevre et al., relaxed partitioning).

    The left side gets half of the records, rounded up; project rule: then 1, 2, 4, ... fewer and more, and finally none
    and all of those that equal the median.
    """
    sorted_parts = sorted(part, key=lambda r: (_numbers([column[r]])[0], r))
    values = _numbers([column[r] for r in sorted_parts])
    median = values[(len(values) - 1) // 2]
    first, last = values.index(median), len(values) - values[::-1].index(median)
    half = (len(sorted_parts) + 1) // 2
    steps = [2**i for i in range(len(sorted_parts).bit_length() + 1)]
    wanted = [half, *(half + sign * step for step in steps for sign in (-1, 1)), first, last]
    return [[sorted_parts[:n], sorted_parts[n:]] for n in wanted if first <= n <= last and 0 < n < len(sorted_parts)]


def _first_cut(
    part: Sequence[int],
    records: Sequence[Record],
    attributes: Sequence[Attribute],
    people: Persons,
    k: int,
    strict: bool,
) -> list[list[int]]:
    """Return the first allowable cut, widest attribute first, ties to the earlier; [] if there is none.

    Allowable: at least two sides, all of them large enough. Attributes of width 0 are not tried.
    """
    columns = [_column(records, j) for j in range(len(attributes))]
    widths = [
        width(attribute, [column[r] for r in part], column) * attribute.weight
        for attribute, column in zip(attributes, columns, strict=True)
    ]
    for j in sorted(range(len(attributes)), key=lambda j: (-widths[j], j)):
        if widths[j] > 0:
            cuts = [_cut_sides(part, attributes[j], columns[j])]
            if not strict and isinstance(attributes[j], Number) and None not in [columns[j][r] for r in part]:
                cuts = _relaxed_cuts(part, columns[j])
            for sides in cuts:
                if len(sides) >= 2 and all(_enough(side, people, k) for side in sides):
                    return sides
    return []


def mondrian(
    records: Sequence[Record],
    attributes: Sequence[Attribute],
    k: int,
    persons: Persons | None = None,
    strict: bool = True,
) -> list[list[int]]:
    """Return the sorted classes of multidimensional Mondrian, strict or relaxed.

    Cut the table as long as an allowable cut exists; a part without one is a class (LeFevre, DeWitt, Ramakrishnan, ICDE
    2006).
    """
    people = _people(len(records), k, persons)
    if not records:
        return []
    work, classes = [list(range(len(records)))], list[list[int]]()
    while work:
        part = work.pop()
        sides = _first_cut(part, records, attributes, people, k, strict)
        work.extend(sides)
        if not sides:
            classes.append(sorted(part))
    return sorted(classes)


# Precision


def loss(attribute: Attribute, part: Sequence[Value], column: Sequence[Value]) -> float:
    """Return the loss of one record of a class on one attribute (KACPC paper, Eq. 1), from 0 to 1.

    A number: range in the class / range in the table. A category: (hloss(g) - 1) / (H_levels - 1) in the declared tree.
    Project rule: a class of only NULLs loses 0, NULLs among values lose 1.
    """
    if None in part:
        return 0.0 if all(value is None for value in part) else 1.0
    if isinstance(attribute, Number):
        full_span = _span(column, column)
        return _span(part, column) / full_span if full_span else 0.0
    tree = attribute.tree
    height = tree.hloss(_lca(tree, _labels(part)))
    return (height - 1) / (tree.levels - 1) if tree.levels > 1 else 0.0


def eloss_precision(
    records: Sequence[Record],
    attributes: Sequence[Attribute],
    clusters: Sequence[Sequence[int]],
    published_clusters: Sequence[Sequence[int]] | None = None,
) -> float:
    """Return 1 - sum of Eloss / (records * attributes) (KACPC paper, Eq. 2); 1.0 for an empty table.

    `published_clusters`: the range of a number is that of the published intervals of these clusters, not that of the
    table.
    """
    total = 0.0
    for j, attribute in enumerate(attributes):
        column = seen_column = _column(records, j)
        if published_clusters is not None:
            parts = [[column[r] for r in cluster] for cluster in published_clusters]
            seen_column = [value for part in parts if None not in part for value in part]
        for cluster in clusters:
            total += len(cluster) * loss(attribute, [column[r] for r in cluster], seen_column)
    cells = len(records) * len(attributes)
    return 1 - total / cells if cells else 1.0


# An independent check of a release


def check_release(
    source: Sequence[dict[str, object]],
    published_rows: Sequence[dict[str, object]],
    quasi: Sequence[str],
    attributes: Sequence[Attribute],
    k: int,
    unchanged: Sequence[str],
) -> None:
    """Assert that a published table is a k-anonymous generalization of its source.

    As many rows; at least k rows of every combination of published quasi-identifiers; and the rows can be paired so
    that each published row covers its source row and repeats its unchanged columns.
    """
    assert len(published_rows) == len(source), f"{len(source)} rows in, {len(published_rows)} out"
    sizes = Counter(tuple(row[name] for name in quasi) for row in published_rows)
    for key, size in sizes.items():
        assert size >= k, f"class {key} has {size} rows, k = {k}"
    kinds = dict(zip(quasi, attributes, strict=True))
    edges = [
        [i for i, public in enumerate(published_rows) if _may_match(public, original, kinds, unchanged)]
        for original in source
    ]
    unmatched = first_unmatched(edges)
    assert unmatched is None, f"source row {unmatched} cannot be paired with a released row"


def _may_match(
    public: dict[str, object],
    original: dict[str, object],
    kinds: dict[str, Attribute],
    unchanged: Sequence[str],
) -> bool:
    """Return whether the released row may be the source row."""
    return all(_same(public[name], original[name]) for name in unchanged) and all(
        covers(public[name], original[name], attribute) for name, attribute in kinds.items()
    )


def _same(a: object, b: object) -> bool:
    """Return whether two values are equal; NaN equals NaN."""
    return a == b or (a != a and b != b)


def covers(public: object, original: object, attribute: Attribute) -> bool:
    """Return whether a published text covers a value.

    `*` covers everything; NULL covers NULL; a label covers the leaves at or below it; `25` and `[25, 29]` cover the
    numbers they contain.
    """
    if public == "*":
        return True
    if public is None or original is None:
        return public is original
    if not isinstance(public, str):
        return False
    if isinstance(attribute, Number):
        assert isinstance(original, int | float), f"not a number: {original!r}"
        return _contains(public, original)
    assert isinstance(original, str), f"not text: {original!r}"
    return public in attribute.tree.leaf(original)


def _contains(public: str, original: int | float) -> bool:
    """Return whether `25` or `[25, 29]` contains a number; text of another form contains nothing.

    An int is compared exactly, a float with the floats that the text denotes.
    """
    interval = re.fullmatch(r"\[(\S+), (\S+)\]", public)
    low, high = interval.groups() if interval else (public, public)
    read = float if isinstance(original, float) else Fraction
    try:
        return read(low) <= original <= read(high)
    except ValueError:
        return False


def first_unmatched(edges: Sequence[Sequence[int]]) -> int | None:
    """Return the first left vertex that no matching can serve together with those before it; None if all can be.

    Bipartite matching by augmenting paths (Berge 1957): edges[i] are the right vertices i may take.
    """
    holds: dict[int, int] = {}
    for start in range(len(edges)):
        if not _augment(start, edges, holds):
            return start
    return None


def _augment(start: int, edges: Sequence[Sequence[int]], holds: dict[int, int]) -> bool:
    """Match `start` to a right vertex, moving others to another one if needed; breadth-first."""
    owner = {right: remaining for remaining, right in holds.items()}
    reached_from: dict[int, int] = {}
    queue = [start]
    for remaining in queue:
        for right in edges[remaining]:
            if right in reached_from:
                continue
            reached_from[right] = remaining
            if right not in owner:
                _shift(right, reached_from, holds)
                return True
            queue.append(owner[right])
    return False


def _shift(free: int, reached_from: dict[int, int], holds: dict[int, int]) -> None:
    """Match every vertex on the path to the vertex reached next, from the free one back to the start."""
    right: int | None = free
    while right is not None:
        remaining = reached_from[right]
        result = holds.get(remaining)
        holds[remaining] = right
        right = result
