"""Bottom-up generalization: the siblings whose union loses least for the privacy it gains are united, step by step."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, Assignment, Check, Options, register
from dbanon.algorithms.single_dimension.recoding import Recoding
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

SAMPLE_STEPS = 8
"""Generalizations from which the time of all is estimated."""


def bottom_up_generalization(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with bottom-up generalization (Wang et al. 2004), reconstructed from general knowledge of it.

    It begins with the values themselves. While some class violates the constraint, one generalization is applied to all
    records: all present children of a node are replaced by the node. Its cost is the loss that it adds, over the number
    of records by which it enlarges the smallest class; if it does not enlarge that, the loss alone. The one of least
    cost is taken, in a tie the one of the first column, then the first node. Classes are published as tightly as their
    records allow.

    Reconstructed: the loss is that of this project, not the entropy of a class label. A number without a hierarchy has
    blocks of 1, 2, 4, 8 ... distinct values, and NULL joins the other values at the top; the paper has categories only.
    O(values * n) time, O(n^2) if all values differ, O(n) memory.
    """
    recoding, progress_check = Recoding(space, constraint), progress.as_progress_check(check)
    n_steps, n_inner, clock = 0, sum(tree.n_inner for tree in recoding.trees), progress.thread_seconds()
    while not recoding.meets_constraint(recoding.class_of, recoding.n_classes):
        progress_check()
        generalization = best_generalization(recoding)
        if generalization is None:
            return RunLengthLabels.single_cluster(space)
        recoding.replace(generalized_nodes(recoding, *generalization))
        n_steps += 1
        progress_check.advance(n_steps / n_inner)
        if n_steps == SAMPLE_STEPS:
            steps = SAMPLE_STEPS * len(space.counts) * len(recoding.trees) ** 2
            seconds = progress.thread_seconds() - clock
            progress_check.on_estimate(*progress.WorkSample(n_steps / n_inner, steps, seconds).extrapolate())
    return RunLengthLabels.from_tuple_clusters(space, recoding.class_of)


def generalized_nodes(recoding: Recoding, j: int, node: int) -> Ints:
    """Return the nodes of all tuples after all nodes of attribute `j` below `node` are replaced by it."""
    nodes, column = recoding.nodes.copy(), recoding.nodes[:, j]
    nodes[(column >= node) & (column <= recoding.trees[j].last[node]), j] = node
    return nodes


def best_generalization(recoding: Recoding) -> tuple[int, int] | None:
    """Return the attribute and the node of the generalization of least cost; None if all nodes are roots."""
    sizes = recoding.sizes(recoding.class_of, recoding.n_classes)
    smallest = int(np.argmin(sizes))
    tuple_of_smallest = int(np.argmax(recoding.class_of == smallest))
    costs: list[tuple[float, int, int]] = []
    for j, tree in enumerate(recoding.trees):
        nodes, losses = _generalizations(recoding, j)
        if not len(nodes):
            continue
        first = int(np.argmin(losses))
        costs.append((float(losses[first]), j, int(nodes[first])))
        parent = int(tree.parent[recoding.nodes[tuple_of_smallest, j]])
        place = int(np.searchsorted(nodes, parent))
        # Only a generalization of a value of the smallest class can enlarge it.
        if place < len(nodes) and nodes[place] == parent:
            classes = recoding.classes_of(generalized_nodes(recoding, j, parent))
            gain = int(recoding.sizes(*classes).min()) - int(sizes[smallest])
            if gain > 0:
                costs.append((int(losses[place]) / gain, j, parent))
    if not costs:
        return None
    _, j, node = min(costs)
    return j, node


def _generalizations(recoding: Recoding, j: int) -> tuple[Ints, Ints]:
    """Return the nodes of attribute `j` whose present children are all published, ascending, and the loss of each.

    The loss is what records lose in addition if the node replaces its children.
    """
    tree, column = recoding.trees[j], recoding.nodes[:, j]
    published, index = np.unique(column, return_inverse=True)
    n_records = np.bincount(index.reshape(-1), weights=recoding.space.counts).astype(np.int64)
    is_inner = tree.parent[published] >= 0
    nodes, parent_of, n_children = np.unique(tree.parent[published[is_inner]], return_inverse=True, return_counts=True)
    losses = np.zeros(len(nodes), np.int64)
    added = n_records[is_inner] * (
        tree.cost_to_root[published[is_inner]] - tree.cost_to_root[tree.parent[published[is_inner]]]
    )
    np.add.at(losses, parent_of.reshape(-1), added)
    n_below = np.searchsorted(published, tree.last[nodes], "right") - np.searchsorted(published, nodes, "right")
    return nodes[n_below == n_children], losses[n_below == n_children]


register(
    bottom_up_generalization,
    title="Bottom-up generalization",
    summary=(
        "Begins with the values and replaces all children of a node by the node, in all records, where that loses "
        "least for the records that the smallest class gains, until all classes meet the model."
    ),
    source="Wang et al. 2004, as Wang et al. 2022 name it",
    evidence="textbook",
    own=(LARGE,),
    meets=ALL_MODELS,
    references=(
        {
            "cited": "Wang et al. 2004",
            "authors": "Wang, K., Yu, P. S. and Chakraborty, S.",
            "title": "Bottom-up generalization: a data mining solution to privacy protection",
            "venue": "Fourth IEEE International Conference on Data Mining (ICDM), 249-256",
            "note": "We did not have the paper itself.",
        },
    ),
)
