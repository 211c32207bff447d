"""An encoded table and its privacy models as arrays, for the kernels that cut and rebuild classes.

An item is a set of records that no model distinguishes: a tuple; a tuple with its sensitive values if a model uses
them; a record if persons are counted, or if columns are checked within equal values of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.loss import Heights, Loss, LossTerm
from dbanon.encoding.encoded_table import AnyInts, CategoricalAttribute, Codes, EncodedTable, Ints, NumericAttribute
from dbanon.kernels.arrays import (
    DISTANCE_KIND,
    FIRST_ARRAY,
    MAX_DISTANCE,
    MIN_DISTINCT,
    MIN_EXP_ENTROPY,
    NUMBER,
    PAIR_TABLE,
    RECURSIVE_C,
    RECURSIVE_L,
    TREE,
    LossArrays,
    ModelRules,
    ModelScratch,
    PersonModel,
    RecordModel,
)
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import ModelRequirement

MAX_SIZE_FACTOR = 8
"""If models other than k must be checked, classes of up to so many times the least size are tried."""

MAX_VALUE_COUNTS = 2**24
"""Greatest number of value counts in all parts while a group grows; with more, each group is counted from scratch."""

N_ORDERS = 16
"""Number of random orders of the values of each hierarchy."""


@dataclass(frozen=True)
class KernelInputs:
    """The arrays of an encoded table and its privacy models, for kernels.

    An item is a set of records that no model distinguishes, such as a tuple.

    Attributes:
        terms: See dbanon.kernels.loss.
        data: See dbanon.kernels.loss.
        mode: 0 if k records suffice, so that items are tuples; 1 if models examine records, so that items are tuples
            with their sensitive values; 2 if persons are counted or columns are checked within equal values of the
            others, so that items are records.
        model: The two forms of dbanon.kernels.model_check: for mode 1 and for mode 2; None for the other.
        rank_orders: See dbanon.kernels.local_search.
        codes: (items, attributes) codes of each item.
        sizes: (items,) number of records of each item.
        item_by_row: (n,) item of each row; None if items are tuples.
        min_records: Least number of records of a class.
    """

    terms: Ints
    data: Ints
    mode: int
    model: tuple[Any, Any]
    rank_orders: tuple[Any, ...]
    codes: Codes
    sizes: Ints
    item_by_row: Ints | None
    min_records: int

    def cluster_items(self, runs: RunLengthLabels) -> tuple[AnyInts, AnyInts, AnyInts]:
        """Return item, cluster and number of records, as three arrays, without suppressed records.

        An item is a set of records that no model distinguishes, such as a tuple. There is one entry per run if items
        are tuples, otherwise one per record.
        """
        if self.item_by_row is None:
            published = runs.without_suppressed()
            return published.tuples, published.clusters, published.counts
        labels = runs.labels()
        rows = np.flatnonzero(labels >= 0)
        return self.item_by_row[rows], labels[rows], np.ones(len(rows), np.int64)

    def reassigned(
        self, space: EncodedTable, before: RunLengthLabels, items: AnyInts, clusters: AnyInts, counts: AnyInts
    ) -> RunLengthLabels:
        """Return the labels with the published records of `before` in the given clusters, in canonical order.

        Suppressed records stay suppressed. An item is a set of records that no model distinguishes, such as a tuple.

        Args:
            space: The encoded table.
            before: The labels before.
            items: Item of each entry, ascending.
            clusters: Cluster of each entry.
            counts: How many of the item's published records are assigned to the cluster.
        """
        if self.item_by_row is None:
            return before.reassigned(RunLengthLabels.from_runs(items, clusters, counts))
        labels = before.labels()
        rows = np.flatnonzero(labels >= 0)
        labels[rows[np.argsort(self.item_by_row[rows], kind="stable")]] = np.repeat(clusters, counts)
        return RunLengthLabels.from_labels(space, labels)

    @property
    def scratch(self) -> ModelScratch:
        """New scratch arrays for the kernels that check clusters against models; empty if k records suffice."""
        record_model, person_model = self.model
        if record_model is None and person_model is None:
            return ModelScratch(np.zeros(0, np.int64), None)
        return ModelScratch(*model_scratch(person_model.rules if record_model is None else record_model.rules))

    @property
    def loss_arrays(self) -> LossArrays:
        """The codes of the items (records that no model distinguishes) and the loss terms, as kernels take them."""
        return LossArrays(self.codes, self.terms, self.data)

    @property
    def max_class_size(self) -> int:
        """Largest number of records of a class that searches try to form, from `min_records`, the least number.

        It is twice the least number less 1 if k records suffice, since a larger class can be cut without loss;
        otherwise MAX_SIZE_FACTOR times the least number.
        """
        return 2 * self.min_records - 1 if self.mode == 0 else MAX_SIZE_FACTOR * self.min_records


def build_kernel_inputs(space: EncodedTable, constraint: Constraint, heights: Heights) -> KernelInputs:
    """Return the arrays of an encoded table and a constraint; `heights` is the kind of loss (see `Loss`).

    O(tuples) memory if k records are enough, else O(rows).
    """
    terms, data = _loss_terms(space, heights)
    by_row, codes, sizes, mode = None, space.codes, space.counts, _model_mode(space, constraint)
    if mode == 1:
        tuple_of = space.tuple_of
        first, by_row = _distinct_keys(np.column_stack([tuple_of, *(s.codes for s in space.sensitive)]))
        codes, sizes = space.codes[tuple_of[first]], np.bincount(by_row, minlength=len(first))
    elif mode == 2:
        by_row, codes, sizes = np.arange(space.rows), space.codes[space.tuple_of], np.ones(space.rows, np.int64)
    model = (None, None) if by_row is None else _model_arrays(space, constraint, mode, by_row, len(codes))
    codes = np.ascontiguousarray(codes, np.int32)
    return KernelInputs(terms, data, mode, model, _rank_orders(space), codes, sizes, by_row, constraint.min_records)


HIERARCHICAL = 2
"""The kind of distance that needs the hierarchy."""


def model_rules(space: EncodedTable, models: Sequence[ModelRequirement]) -> ModelRules:
    """Return the rules of the privacy models as arrays for the kernels (see `dbanon.kernels.model_gathering`).

    Several models of one column are combined to the strictest rule. If a model has no exact rules, its necessary
    conditions are given.
    """
    starts = np.cumsum([0, *(s.values + 1 for s in space.sensitive)])
    table = np.zeros((len(space.sensitive), 6))
    table[:, DISTANCE_KIND] = -1
    share = np.concatenate([np.zeros(0), *(s.share for s in space.sensitive)])
    max_shares = np.ones(int(starts[-1]))
    target_shares = np.ones(int(starts[-1]))
    edges = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    for i, sensitive in enumerate(space.sensitive):
        values = slice(starts[i], starts[i + 1])
        without_null = slice(starts[i], starts[i + 1] - 1)
        parent, node, length = np.zeros(0, np.int32), np.zeros(sensitive.values + 1, np.int32), np.zeros(0)
        for rules in (m.kernel_rules(sensitive) for m in models if m.sensitive == i):
            table[i, MIN_DISTINCT] = max(table[i, MIN_DISTINCT], rules.min_distinct)
            table[i, MIN_EXP_ENTROPY] = max(table[i, MIN_EXP_ENTROPY], rules.min_exp_entropy)
            target_shares[without_null] = np.minimum(target_shares[without_null], rules.target_share)
            if rules.recursive[1]:
                table[i, [RECURSIVE_C, RECURSIVE_L]] = rules.recursive
            if rules.max_shares is not None:
                max_shares[values] = np.minimum(max_shares[values], rules.max_shares)
            if rules.distance[1] >= 0:
                table[i, [MAX_DISTANCE, DISTANCE_KIND]] = rules.distance
            if rules.distance[1] == HIERARCHICAL:
                parent, node, length = sensitive.edges()
        target_shares[values] = np.minimum(target_shares[values], max_shares[values])
        edges.append((parent, node, length))
    return ModelRules(
        starts,
        table,
        share,
        max_shares,
        target_shares,
        np.cumsum([len(parent) for parent, _, _ in edges]),
        *(np.concatenate(arrays) for arrays in zip(*edges, strict=True)),
    )


def model_scratch(rules: ModelRules) -> tuple[Any, Any]:
    """Return scratch arrays for the kernels that check clusters: counts of values, and sums in hierarchies.

    `rules` are the arrays of `model_rules`. The sums are None if no column has a greatest distance (t-closeness).
    """
    judges_distance = bool((rules.table[:, DISTANCE_KIND] >= 0).any())
    return np.zeros(int(rules.value_starts[-1]), np.int64), np.zeros(
        2 * max(int(rules.node_starts[-1]), 1)
    ) if judges_distance else None


def _model_mode(space: EncodedTable, constraint: Constraint) -> int:
    """Return 0 if any k records meet the constraint, 2 if persons count or it is joint, else 1."""
    if constraint.counts_only_records(space):
        return 0
    return 2 if space.persons is not None or (constraint.joint and len(space.sensitive) > 1) else 1


def _distinct_keys(key: Any) -> tuple[Ints, Ints]:
    """Number the distinct rows of `key` (n, columns) in ascending order.

    Returns:
        The first row of each distinct key, and (n,) the number of each row's key.
    """
    order = np.lexsort(key.T[::-1])
    is_first = np.append(True, (key[order[1:]] != key[order[:-1]]).any(axis=1))
    number = np.empty(len(key), np.int64)
    number[order] = np.cumsum(is_first) - 1
    return order[is_first], number


# --- losses ----------------------------------------------------------------------------------------------


def _loss_terms(space: EncodedTable, heights: Heights) -> tuple[Ints, Ints]:
    """Pack the loss functions of all attributes into two arrays for kernels; `heights` is the kind of loss.

    Returns:
        (attributes, 6) the columns of `LossArrays.terms`; and the arrays of all attributes, concatenated, with a final
        0, in which FIRST_ARRAY and SECOND_ARRAY are places.
    """
    terms = np.zeros((len(space.attributes), 6), np.int64)
    data: list[Ints] = []
    place = 0
    for j, term in enumerate(Loss(space, 1, heights).terms):
        arrays, kind, null = _loss_term_arrays(term)
        terms[j, :4] = kind, term.attribute.values, term.unit, null
        for i, array in enumerate(arrays):
            terms[j, FIRST_ARRAY + i] = place
            data.append(array)
            place += len(array)
    return terms, np.concatenate([*data, np.zeros(1, np.int64)])


def _loss_term_arrays(term: LossTerm) -> tuple[list[Ints], int, int]:
    """Return the arrays from which kernels compute the loss on one attribute, their kind, and the loss of NULL alone.

    NUMBER: lower and upper interval ends by code. PAIR_TABLE, for a hierarchy with few values: the losses of all pairs
    of codes. TREE, for a hierarchy with many values: the node of each code; parent, first code, end of codes and loss
    of each node.
    """
    attribute = term.attribute
    if isinstance(attribute, NumericAttribute):
        below = above = term.places
        if attribute.ends is not None and len(attribute.ends.upper_position) and attribute.ends.upper_position[-1] > 0:
            full_width = attribute.ends.upper_position[-1]
            below, above = (
                np.rint(end / full_width * term.unit).astype(np.int64)
                for end in (attribute.ends.lower_position, attribute.ends.upper_position)
            )
        return [below, above], NUMBER, term.unit if attribute.with_bare_null else 0
    table = term.pair_losses()
    if table is not None:
        return [table.ravel()], PAIR_TABLE, 0
    first = np.searchsorted(attribute.node, np.arange(len(attribute.parent)))
    climbed = np.column_stack((attribute.parent, first, term.last, term.height))
    return [np.asarray(attribute.node, np.int64), climbed.astype(np.int64).ravel()], TREE, 0


# --- the privacy model ------------------------------------------------------------------------------------


def _model_arrays(space: EncodedTable, constraint: Constraint, mode: int, item_of: Ints, items: int) -> tuple[Any, Any]:
    """Return the constraint as kernels check it: arrays for mode 1 and arrays for mode 2; None for the other mode.

    Args:
        space: The encoded table.
        constraint: The constraint.
        mode: 1 if models examine records, 2 if persons are counted or the constraint is joint; see `KernelInputs`.
        item_of: (n,) item (set of records that no model distinguishes) of every row.
        items: Number of items.
    """
    rules = model_rules(space if constraint.models else replace(space, sensitive=()), constraint.models)
    if mode == 2:
        ids = _person_ids(space, constraint)
        return None, PersonModel(constraint.k, rules, *ids, *_growth_scratch(rules, ids))
    values = np.zeros((len(space.sensitive), items), np.int32)
    for s, sensitive in enumerate(space.sensitive):
        values[s, item_of] = sensitive.codes
    return RecordModel(constraint.k, values, rules), None


def _person_ids(space: EncodedTable, constraint: Constraint) -> tuple[Ints, ...]:
    """Number the distinct (part, value, person) and (part, person) of every sensitive column, by record.

    A part is a combination of values of the other sensitive columns if the constraint is joint; otherwise there is one
    part. If persons are not declared, each record is its own person. Unknown persons have -1.

    Returns:
        `pair_ids`, `pair_parts`, `pair_values`, `body_ids` and `body_parts` of a `PersonModel`.
    """
    columns = len(space.sensitive) if constraint.models else 0
    person = np.arange(space.rows) if space.persons is None else space.persons
    pair, body = np.full((columns, space.rows), -1, np.int64), np.full((columns + 1, space.rows), -1, np.int64)
    parts: list[Ints] = []
    values: list[Ints] = []
    people: list[Ints] = []
    has_person = np.flatnonzero(person >= 0)
    pairs = bodies = 0
    for s in range(columns + 1):
        part = np.zeros(space.rows, np.int64)
        if constraint.joint and s < columns and columns > 1:
            _, part = _distinct_keys(np.column_stack([o.codes for i, o in enumerate(space.sensitive) if i != s]))
        if s < columns:
            value = space.sensitive[s].codes
            first, number = _distinct_keys(np.column_stack((part, value, person))[has_person])
            pair[s, has_person] = number + pairs
            parts.append(part[has_person][first])
            values.append(np.asarray(value[has_person][first], np.int64))
            pairs += len(first)
        first, number = _distinct_keys(np.column_stack((part, person))[has_person])
        body[s, has_person] = number + bodies
        people.append(part[has_person][first])
        bodies += len(first)
    return pair, _concatenate(parts), _concatenate(values), body, _concatenate(people)


def _growth_scratch(rules: ModelRules, ids: tuple[Ints, ...]) -> tuple[Ints, ...]:
    """Return scratch arrays for counting persons and values of a group that grows.

    They are marks of the numbers of `_person_ids`; counts of values, and six further counters, for each part of each
    column; and where the parts of each column begin. The counts have no rows if there would be more than
    MAX_VALUE_COUNTS.

    Args:
        rules: The arrays of the models (see `model_rules`).
        ids: The result of `_person_ids`.
    """
    from dbanon.kernels.model_check import FIRST

    _, pair_parts, _, body_ids, body_parts = ids
    marks = np.zeros(FIRST + len(body_parts) + len(pair_parts), np.int64)
    ends = body_ids.max(axis=1, initial=-1) + 1
    first = np.concatenate(([0], ends[:-1]))
    n_parts = [body_parts[begin:end].max(initial=-1) + 1 for begin, end in zip(first, ends, strict=True)]
    first_part = np.cumsum([0, *n_parts[:-1]])
    width = int(rules.value_starts[-1])
    rows = int(first_part[-1]) if first_part[-1] * width <= MAX_VALUE_COUNTS else 0
    return marks, np.zeros((rows, width), np.int64), np.zeros((rows, 6), np.int64), first_part


def _concatenate(arrays: list[Ints]) -> Ints:
    """Return the concatenated arrays; an empty array for an empty list."""
    return np.concatenate([np.zeros(0, np.int64), *arrays])


# --- lines ------------------------------------------------------------------------------------------------


def _rank_orders(space: EncodedTable) -> tuple[Any, ...]:
    """Return N_ORDERS random orders of each categorical attribute's values, and where each attribute begins in them.

    The first order is that of the codes. In the others siblings are shuffled, so that each subtree stays together; the
    shuffles are the same in every run. Numeric attributes have no entries.

    Returns:
        (N_ORDERS, all values) rank of each value, and (attributes,) the column of each attribute's first value.
    """
    starts = np.cumsum([0, *(a.values if isinstance(a, CategoricalAttribute) else 0 for a in space.attributes)])
    ranks = np.zeros((N_ORDERS, max(int(starts[-1]), 1)), np.int32)
    draws = np.random.Generator(np.random.PCG64(0))
    for j, attribute in enumerate(space.attributes):
        if isinstance(attribute, CategoricalAttribute):
            ranks[:, starts[j] : starts[j + 1]] = _leaf_ranks(
                attribute, draws.random((N_ORDERS, len(attribute.parent)))
            )
    return ranks, starts[:-1].copy()


def _leaf_ranks(tree: CategoricalAttribute, draws: Any) -> Ints:
    """Return (orders, values) ranks of a hierarchy's values, in the order of the codes first, then in shuffled orders.

    In a shuffled order siblings are sorted by their entries in the row of `draws` (orders, nodes), so that each subtree
    stays together. The first row of `draws` is not used.
    """
    ranks = np.empty((len(draws), tree.values), np.int64)
    ranks[0] = np.arange(tree.values)
    # A node comes after its parent and the subtrees of the siblings before it.
    nodes = len(tree.parent)
    parent, size = np.sort(tree.parent), tree.last - np.arange(nodes) + 1
    eldest = np.searchsorted(parent, parent)
    step, place = np.empty(nodes, np.int64), np.zeros(nodes, np.int64)
    for rank, draw in zip(ranks[1:], draws[1:], strict=True):
        siblings = np.argsort(tree.parent + draw, kind="stable")
        subtree_sizes = size[siblings]
        offsets = np.cumsum(subtree_sizes) - subtree_sizes
        step[siblings] = offsets - offsets[eldest] + 1
        for level in tree.levels[1:]:
            place[level] = place[tree.parent[level]] + step[level]
        has_leaf = np.zeros(nodes, np.int64)
        has_leaf[place[tree.node]] = 1
        rank[:] = np.cumsum(has_leaf)[place[tree.node]] - 1
    return ranks
