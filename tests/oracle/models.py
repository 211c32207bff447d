"""Privacy models by their definitions: the value that a published table achieves, in exact fractions.

Nothing here is shared with the package. A table is a list of classes, a class a list of records, a record its sensitive
values and its person. Persons are counted: the size of a class is its distinct persons, and a value occurs as often as
distinct persons of the class have it. A record of an unknown person (None) never counts. In a table without persons,
every record is a person of its own (`alone`), and that is counting records.

The distribution of a class or of the table is over its distinct (person, value) pairs. A sensitive NULL (None) is
ignored by distinct, entropy and recursive diversity and by p-sensitivity; for t-closeness, alpha and beta it is a
category like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

Value: TypeAlias = int | float | str | None
Record: TypeAlias = tuple[Sequence[Value], Hashable | None]
Class: TypeAlias = Sequence[Record]
Rows: TypeAlias = Sequence[Sequence[str]]
Number: TypeAlias = int | float | Fraction
Shares: TypeAlias = dict[Value, Fraction]

SLACK = Fraction(1, 10**9)
"""A bound given as 0.6 is the double next to 3/5; a model holds if it is met to within this much."""


@dataclass(frozen=True)
class ModelResult:
    """The achieved value of every class, and the worst of them."""

    classes: tuple[Number, ...]
    table: Number


def records_as_persons(classes: Iterable[Iterable[Sequence[Value]]]) -> list[list[Record]]:
    """Return classes of records without persons: each record is a person of its own."""
    return [[(values, (i, j)) for j, values in enumerate(part)] for i, part in enumerate(classes)]


# Counting


def n_persons(part: Class) -> int:
    """Return the number of distinct persons."""
    return len({person for _, person in part} - {None})


def persons_by_value(part: Class, column: int) -> dict[Value, int]:
    """Return the number of distinct persons that have each value."""
    pairs = {(person, values[column]) for values, person in part if person is not None}
    values = {value for _, value in pairs}
    return {value: sum(1 for _, other in pairs if other == value) for value in values}


def shares(part: Class, column: int) -> Shares:
    """Return the distribution over distinct (person, value) pairs, NULL a category."""
    counts = persons_by_value(part, column)
    total = sum(counts.values())
    return {value: Fraction(count, total) for value, count in counts.items()}


def persons_by_known_value(part: Class, column: int) -> dict[Value, int]:
    """Return the number of distinct persons that have each value except NULL."""
    return {value: count for value, count in persons_by_value(part, column).items() if value is not None}


def table_shares(classes: Sequence[Class], column: int) -> Shares:
    """Return the distribution of the whole table: a pair that is in two classes is one pair."""
    return shares([record for part in classes for record in part], column)


def parts_of(part: Class, column: int, joint: bool) -> list[Class]:
    """Return the parts in which a model of one sensitive column must hold.

    They are the class, or in joint mode its records of equal other sensitive values. Records of unknown persons never
    count, so a part of only these is none.
    """
    split: dict[tuple[Value, ...], list[Record]] = {}
    for values, person in part:
        others = tuple(value for i, value in enumerate(values) if i != column) if joint else ()
        split.setdefault(others, []).append((values, person))
    return [records for records in split.values() if n_persons(records)]


def _worst_result(
    classes: Sequence[Class],
    column: int,
    joint: bool,
    worst: Callable[[Iterable[Number]], Number],
    measure: Callable[[Class], Number],
    maximum: Number = math.inf,
) -> ModelResult:
    """Return the worst part of every class, and the worst class.

    A class of unknown persons only achieves nothing: 0, or the greatest possible value.
    """
    nothing: Number = 0 if worst is min else maximum
    by_class = tuple(worst([measure(p) for p in parts_of(part, column, joint)] or [nothing]) for part in classes)
    return ModelResult(by_class, worst(by_class))


# The models


def k(classes: Sequence[Class]) -> ModelResult:
    """Return the k of k-anonymity (Samarati and Sweeney 1998)."""
    sizes = tuple(n_persons(part) for part in classes)
    return ModelResult(sizes, min(sizes))


def distinct_l(classes: Sequence[Class], column: int = 0, joint: bool = False) -> ModelResult:
    """Return the l of distinct l-diversity (Machanavajjhala et al. 2006): the number of values."""
    return _worst_result(classes, column, joint, min, lambda part: len(persons_by_known_value(part, column)))


p = distinct_l
"""p-sensitivity (Truta and Vinay 2006) equals distinct l-diversity."""


def entropy_l(classes: Sequence[Class], column: int = 0, joint: bool = False) -> ModelResult:
    """Return the l of entropy l-diversity (Machanavajjhala et al. 2006): exp of the entropy; 0 if all are NULL."""

    def measure(part: Class) -> float:
        counts = persons_by_known_value(part, column).values()
        if not counts:
            return 0.0
        return math.exp(-sum(n / sum(counts) * math.log(n / sum(counts)) for n in counts))

    return _worst_result(classes, column, joint, min, measure)


def recursive(classes: Sequence[Class], min_l: int, column: int = 0, joint: bool = False) -> ModelResult:
    """Return r_1 / (r_l + .. + r_m), which must be below c.

    Recursive (c, l)-diversity, l = `min_l` (Machanavajjhala et al. 2006).
    """

    def measure(part: Class) -> Number:
        ranked_values = sorted(persons_by_known_value(part, column).values(), reverse=True)
        return Fraction(ranked_values[0], sum(ranked_values[min_l - 1 :])) if len(ranked_values) >= min_l else math.inf

    return _worst_result(classes, column, joint, max, measure)


def alpha(classes: Sequence[Class], column: int = 0, joint: bool = False) -> ModelResult:
    """Return the greatest share of the persons with one value: (alpha, k)-anonymity (Wong et al. 2006)."""

    def measure(part: Class) -> Fraction:
        return Fraction(max(persons_by_value(part, column).values()), n_persons(part))

    return _worst_result(classes, column, joint, max, measure, maximum=1)


def beta(classes: Sequence[Class], column: int = 0, joint: bool = False, enhanced: bool = False) -> ModelResult:
    """Return the greatest (p - q) / q of a value with p > q, else 0: beta-likeness (Cao and Karras 2012).

    Enhanced: no gain may be above -ln q either; infinite where one is.
    """
    full_table_shares = table_shares(classes, column)

    def measure(part: Class) -> Number:
        gains = {
            value: (share - full_table_shares[value]) / full_table_shares[value]
            for value, share in shares(part, column).items()
        }
        gains = {value: gain for value, gain in gains.items() if gain > 0}
        if enhanced and any(gain > -math.log(full_table_shares[value]) for value, gain in gains.items()):
            return math.inf
        return max(gains.values(), default=0)

    return _worst_result(classes, column, joint, max, measure)


def t_equal(classes: Sequence[Class], column: int = 0, joint: bool = False) -> ModelResult:
    """Return the t of t-closeness (Li, Li and Venkatasubramanian 2007) with all values equally far apart."""
    return _closeness(classes, column, joint, equal_distance)


def t_ordered(
    classes: Sequence[Class], column: int = 0, joint: bool = False, order: Sequence[str] | None = None
) -> ModelResult:
    """Return the t of t-closeness with distances by the ranks of values among the values of the table.

    The order is that of numbers or texts, or the order given; NULL ranks last.
    """

    def place(value: Value) -> tuple[bool, Any]:
        return (value is None, 0 if value is None else value if order is None else order.index(str(value)))

    def distance(share: Shares, table: Shares) -> Fraction:
        return ordered_distance(share, table, sorted(table, key=place))

    return _closeness(classes, column, joint, distance)


def t_hierarchical(classes: Sequence[Class], rows: Rows, column: int = 0, joint: bool = False) -> ModelResult:
    """Return the t of t-closeness with the height of the lowest common ancestor as distance; ARX rows, leaf first."""
    return _closeness(classes, column, joint, lambda share, whole: hierarchical_distance(share, whole, rows))


def _closeness(
    classes: Sequence[Class], column: int, joint: bool, distance: Callable[[Shares, Shares], Fraction]
) -> ModelResult:
    """Return the greatest distance of the parts from the whole table."""
    full_table_shares = table_shares(classes, column)
    return _worst_result(
        classes, column, joint, max, lambda part: distance(shares(part, column), full_table_shares), maximum=1
    )


# Earth mover's distances (Li, Li and Venkatasubramanian 2007)


def equal_distance(share: Shares, table: Shares) -> Fraction:
    """Return half the sum of |p - q|."""
    return sum((abs(share.get(value, Fraction(0)) - q) for value, q in table.items()), Fraction(0)) / 2


def ordered_distance(share: Shares, table: Shares, ordered_values: Sequence[Value]) -> Fraction:
    """Return the sum of |(p_1 - q_1) + .. + (p_i - q_i)| over i < m, divided by m - 1; 0 for a single value."""
    off = [share.get(value, Fraction(0)) - table[value] for value in ordered_values]
    moved_differences = [abs(sum(off[:i], Fraction(0))) for i in range(1, len(off))]
    return sum(moved_differences, Fraction(0)) / max(len(moved_differences), 1)


def hierarchical_distance(share: Shares, table: Shares, rows: Rows) -> Fraction:
    """Return the hierarchical distance: moving mass at an inner node costs Hsub(node) / Hsub(root).

    Extra (p - q) is moved up the tree, and at a node the positive extra of its children offsets the negative. A node is
    its path of labels from the root, Hsub the edges down to its deepest leaf; NULL is a leaf right below the root.
    """
    root = (rows[0][-1],)
    leaves: dict[Value, tuple[Value, ...]] = {row[0]: tuple(reversed(row)) for row in rows}
    leaves[None] = (*root, None)
    inner = {leaf[:n] for leaf in leaves.values() for n in range(1, len(leaf))}

    def height(node: tuple[Value, ...]) -> int:
        return max(len(leaf) for leaf in leaves.values() if leaf[: len(node)] == node) - len(node)

    def extra(node: tuple[Value, ...]) -> Fraction:
        below = [value for value, leaf in leaves.items() if leaf[: len(node)] == node]
        return sum((share.get(v, Fraction(0)) - table.get(v, Fraction(0)) for v in below), Fraction(0))

    def cost(node: tuple[Value, ...]) -> Fraction:
        children = {leaf[: len(node) + 1] for leaf in leaves.values() if leaf[: len(node)] == node}
        extras = [extra(child) for child in children]
        positive, negative = sum(e for e in extras if e > 0), sum(-e for e in extras if e < 0)
        return Fraction(height(node), height(root)) * min(positive, negative)

    return sum((cost(node) for node in inner), Fraction(0))


# By their names in the package

Oracle: TypeAlias = Callable[
    [Sequence[Class], Mapping[str, Any], int, bool, Sequence[str] | None, Rows | None], ModelResult
]
"""classes, settings, column, joint, leaf order and hierarchy of the column -> the value that the classes achieve."""

ORACLES: dict[tuple[str, str], Oracle] = {
    ("l_diversity", "distinct"): lambda classes, settings, column, joint, order, tree: distinct_l(
        classes, column, joint
    ),
    ("l_diversity", "entropy"): lambda classes, settings, column, joint, order, tree: entropy_l(classes, column, joint),
    ("l_diversity", "recursive"): lambda classes, settings, column, joint, order, tree: recursive(
        classes, settings["l"], column, joint
    ),
    ("t_closeness", "equal"): lambda classes, settings, column, joint, order, tree: t_equal(classes, column, joint),
    ("t_closeness", "ordered"): lambda classes, settings, column, joint, order, tree: t_ordered(
        classes, column, joint, order
    ),
    ("t_closeness", "hierarchical"): lambda classes, settings, column, joint, order, tree: t_hierarchical(
        classes, tree or [], column, joint
    ),
    ("alpha", "share"): lambda classes, settings, column, joint, order, tree: alpha(classes, column, joint),
    ("p_sensitivity", "distinct"): lambda classes, settings, column, joint, order, tree: p(classes, column, joint),
    ("beta_likeness", "basic"): lambda classes, settings, column, joint, order, tree: beta(classes, column, joint),
    ("beta_likeness", "enhanced"): lambda classes, settings, column, joint, order, tree: beta(
        classes, column, joint, enhanced=True
    ),
}
"""Model and form. Other models have `ORACLE` in their own test: tests/privacy_models/test_NAME.py."""


# The constraint of a call


def unmet(
    classes: Sequence[Class],
    parameters: Mapping[str, Any],
    orders: Sequence[Sequence[str] | None] = (None,),
    trees: Sequence[Rows | None] = (None,),
) -> list[str]:
    """Return the parameters (k, l, t, alpha, p, beta) whose model does not hold on every class.

    `parameters`: parameters by their names in SQL; `orders` and `trees`: the leaf order and the hierarchy of each
    sensitive column, None where it has none.
    """
    joint = parameters.get("multi_sensitive", "independent") == "joint"
    failed = ["k"] if k(classes).table < parameters["k"] else []
    for name in ("l", "t", "alpha", "p", "beta"):
        if name in parameters:
            held_by = (_holds(name, classes, parameters, i, joint, orders[i], trees[i]) for i in range(len(trees)))
            failed += [] if all(held_by) else [name]
    return failed


def first_meets(
    classes: Sequence[Class],
    parameters: Mapping[str, Any],
    orders: Sequence[Sequence[str] | None] = (None,),
    trees: Sequence[Rows | None] = (None,),
) -> bool:
    """Return whether the first class meets the constraint; the others only define the distribution of the table."""
    joint = parameters.get("multi_sensitive", "independent") == "joint"
    return k(classes).classes[0] >= parameters["k"] and all(
        _holds(name, classes, parameters, i, joint, orders[i], trees[i], of_first=True)
        for name in ("l", "t", "alpha", "p", "beta")
        if name in parameters
        for i in range(len(trees))
    )


def _holds(
    name: str,
    classes: Sequence[Class],
    parameters: Mapping[str, Any],
    column: int,
    joint: bool,
    order: Sequence[str] | None,
    tree: Rows | None,
    of_first: bool = False,
) -> bool:
    """Return whether one model holds for one sensitive column, on all classes or on the first only."""

    def worst(achieved: ModelResult) -> Number:
        return achieved.classes[0] if of_first else achieved.table

    diversity, emd = parameters.get("diversity", "distinct"), parameters.get("ground_distance", "equal")
    if name == "l" and diversity == "recursive":
        return worst(recursive(classes, parameters["l"], column, joint)) < parameters.get("c", 2)
    if name == "l" and diversity == "entropy":
        return worst(entropy_l(classes, column, joint)) >= parameters["l"] - SLACK
    if name in ("l", "p"):
        return worst(distinct_l(classes, column, joint)) >= parameters[name]
    if name == "t" and emd == "hierarchical":
        assert tree is not None, "the hierarchical distance needs a hierarchy"
        actual_t_hierarchical = t_hierarchical(classes, tree, column, joint)
    elif name == "t":
        actual_t_hierarchical = (
            t_equal(classes, column, joint) if emd == "equal" else t_ordered(classes, column, joint, order)
        )
    elif name == "alpha":
        actual_t_hierarchical = alpha(classes, column, joint)
    else:
        actual_t_hierarchical = beta(classes, column, joint, parameters.get("likeness", "basic") == "enhanced")
    return worst(actual_t_hierarchical) <= parameters[name] + SLACK
