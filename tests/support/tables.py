"""Tables in two forms, values for the reference and codes for the package, and random ones."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import settings
from oracle import reference
from oracle.reference import Attribute, Category, Node, Number, Persons, Record, Value

from dbanon.encoding import encoded_table
from support.scale import n_examples

MANY = settings(max_examples=n_examples(400), deadline=None, derandomize=True, database=None)
"""Random tables, identical in every run."""

SOME = settings(MANY, max_examples=n_examples(100))


@dataclass(frozen=True)
class Table:
    """Records in any order, their attributes, their persons (None: unknown) and the constraint of a call."""

    records: Sequence[Record]
    attributes: Sequence[Attribute]
    k: int = 2
    persons: Persons | None = None
    ties: Sequence[int] | None = None


@dataclass(frozen=True)
class Encoded:
    """The encoded form of a table, and its records and persons in canonical order."""

    space: encoded_table.EncodedTable
    order: list[int]
    records: list[Record]
    persons: list[Any] | None


def encode_records(table: Table) -> Encoded:
    """Return the table as the package sees it."""
    kinds: list[encoded_table.Attribute] = []
    columns: list[encoded_table.Codes] = []
    for j, attribute in enumerate(table.attributes):
        kind, codes = encoded_column(attribute, [record[j] for record in table.records])
        kinds.append(kind)
        columns.append(codes)
    ties = table.ties if table.ties is not None else [0] * len(table.records)
    persons = None if table.persons is None else _person_numbers(table.persons)
    code_table, order = encoded_table.encode_table(kinds, columns, np.array(ties, np.uint64), persons)
    sorted_values = order.tolist()
    people = None if table.persons is None else [table.persons[i] for i in sorted_values]
    return Encoded(code_table, sorted_values, [table.records[i] for i in sorted_values], people)


def encoded_column(
    attribute: Attribute, column: Sequence[Value]
) -> tuple[encoded_table.Attribute, encoded_table.Codes]:
    """Return the attribute of a column, and the code of every value: ascending, or in leaf order, NULL last."""
    if isinstance(attribute, Category):
        return _encoded_labels(attribute, column)
    values = sorted({value for value in column if value is not None})
    code = {value: n for n, value in enumerate(values)} | {None: len(values)}
    integral = all(isinstance(value, int) for value in values)
    minimum = values[0] if values else 0
    positions = [float(v - minimum) if integral else v / 2 - minimum / 2 for v in values]
    return (
        encoded_table.NumericAttribute(
            np.array(positions, np.float64), integral, attribute.weight, magnitudes=np.array(values, np.float64)
        ),
        np.array([code[value] for value in column], np.int32),
    )


def _encoded_labels(
    attribute: Category, column: Sequence[Value]
) -> tuple[encoded_table.Attribute, encoded_table.Codes]:
    nodes = preorder(attribute.tree)
    present = set(column)
    labels = [label for label in attribute.tree.leaf_order() if label in present]
    code: dict[Value, int] = {label: n for n, label in enumerate(labels)} | {None: len(labels)}
    places = [nodes.index(attribute.tree.leaf(label)) for label in labels]
    return (
        encoded_table.CategoricalAttribute(parents(attribute.tree), np.array(places, np.int32), attribute.weight),
        np.array([code[value] for value in column], np.int32),
    )


def preorder(tree: reference.Tree) -> list[Node]:
    """Return all nodes, parents before children, children in file order."""

    def walk(node: Node) -> list[Node]:
        return [node, *(below for child in tree.children[node] for below in walk(child))]

    return walk(tree.root)


def parents(tree: reference.Tree) -> encoded_table.Codes:
    """Return the preorder number of every node's parent, -1 for the root."""
    nodes = preorder(tree)
    return np.array([nodes.index(node[:-1]) if len(node) > 1 else -1 for node in nodes], np.int32)


def _person_numbers(persons: Persons) -> encoded_table.Ints:
    known_persons = sorted({p for p in persons if p is not None}, key=str)
    return np.array([-1 if p is None else known_persons.index(p) for p in persons], np.int64)


def labels_of(clusters: Sequence[Sequence[int]], records: int) -> list[int]:
    """Return the number of each record's cluster, for clusters in the order made."""
    labels = [-1] * records
    for number, cluster in enumerate(clusters):
        for record in cluster:
            labels[record] = number
    return labels


def groups_of(labels: Sequence[int]) -> list[list[int]]:
    """Return the records of each label, as sorted lists in a sorted list."""
    groups: dict[int, list[int]] = {}
    for record, label in enumerate(labels):
        groups.setdefault(label, []).append(record)
    return sorted(groups.values())


# Tables in SQL


def create_table(con: Any, table: Table) -> str:
    """Create the table t(rid, q0, q1, ...) and return the arguments of a call that publishes it."""
    columns, hierarchies = [], []
    for j, attribute in enumerate(table.attributes):
        if isinstance(attribute, Category):
            columns.append(f"q{j} VARCHAR")
            lines = (attribute.tree.leaf(label)[::-1] for label in attribute.tree.leaf_order())
            rows = "\n".join(";".join(line) for line in lines)
            hierarchies.append(f"'q{j}': '{rows}'")
        else:
            broken_has_any = any(isinstance(record[j], float) for record in table.records)
            columns.append(f"q{j} {'DOUBLE' if broken_has_any else 'BIGINT'}")
    con.execute(f"CREATE OR REPLACE TABLE t (rid INTEGER, {', '.join(columns)})")
    marks = ", ".join("?" * (len(columns) + 1))
    con.executemany(f"INSERT INTO t VALUES ({marks})", [(i, *record) for i, record in enumerate(table.records)])
    names = [f"q{j}" for j in range(len(columns))]
    weights = ", ".join(f"'q{j}': {a.weight}" for j, a in enumerate(table.attributes))
    trees = f", hierarchies := {{{', '.join(hierarchies)}}}" if hierarchies else ""
    return f"'t', k := {table.k}, qi := {names}, weights := {{{weights}}}{trees}"


def published_classes(
    table: Table, records: Sequence[Record], clusters: Sequence[Sequence[int]]
) -> dict[tuple[Any, ...], int]:
    """Return the published classes with their sizes: clusters of equal published values are one."""
    classes: dict[tuple[Any, ...], int] = {}
    for cluster in clusters:
        values = tuple(
            _generalized(attribute, [records[r][j] for r in cluster]) for j, attribute in enumerate(table.attributes)
        )
        classes[values] = classes.get(values, 0) + len(cluster)
    return classes


def _generalized(attribute: Attribute, part: Sequence[Value]) -> str | None:
    """Return the published text of some values of an attribute."""
    known_values = [value for value in part if value is not None]
    if len(known_values) < len(part):
        return "*" if known_values else None
    if isinstance(attribute, Category):
        node = attribute.tree.leaf(str(known_values[0]))
        for label in known_values:
            node = attribute.tree.lca(node, attribute.tree.leaf(str(label)))
        return node[-1]
    low, high = min(known_values, key=float), max(known_values, key=float)
    return str(low) if low == high else f"[{low}, {high}]"


# Random tables


WEIGHTS = st.sampled_from([1.0, 1.0, 1.0, 2.0, 0.5, 0.1, 3.7, 1e-6, 1e6])
WHOLE = st.one_of(st.integers(0, 6), st.integers(-40, 40), st.integers(-(2**52), 2**52))
EIGHTHS = st.integers(-400, 400).map(lambda eighths: eighths / 8)
FLOATS = st.one_of(
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.5, -2.25]),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def trees(draw: st.DrawFn, max_nodes: int = 12) -> reference.Tree:
    """Draw a ragged tree of up to `max_nodes` nodes below the root, one-child nodes among them."""
    above = [draw(st.integers(0, i)) for i in range(draw(st.integers(0, max_nodes)))]
    paths: list[list[str]] = [["*"]]
    for number, parent in enumerate(above, 1):
        paths.append([*paths[parent], f"n{number}"])
    inner = set(above)
    leaves = [path[::-1] for number, path in enumerate(paths) if number not in inner]
    return reference.Tree(draw(st.permutations(leaves)))


@st.composite
def columns(draw: st.DrawFn, floats: st.SearchStrategy[float]) -> tuple[Attribute, list[Value]]:
    """Draw an attribute and the few values that its column is made of, so that ties are common."""
    weight = draw(WEIGHTS)
    attribute: Attribute
    values: st.SearchStrategy[Value]
    if draw(st.booleans()):
        attribute, values = Number(weight), draw(st.sampled_from([WHOLE, floats]))
    else:
        tree = draw(trees())
        attribute, values = Category(tree, weight), st.sampled_from(tree.leaf_order())
    pool: list[Value] = list(draw(st.lists(values, min_size=1, max_size=6)))
    return attribute, pool + [None] * draw(st.sampled_from([0, 0, 0, 1, 3]))


@st.composite
def tables(draw: st.DrawFn, floats: st.SearchStrategy[float] = FLOATS) -> Table:
    """Draw a table of up to 30 records and 4 attributes whose model can be met; often n = k or n < 2k."""
    result = draw(st.lists(columns(floats), min_size=1, max_size=4))
    k = draw(st.integers(1, 6))
    n = k + draw(st.one_of(st.just(0), st.integers(0, k), st.integers(0, 24)))
    rows = st.tuples(*(st.sampled_from(pool) for _, pool in result))
    records = draw(st.lists(rows, min_size=n, max_size=n))
    ties = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    persons = None
    if draw(st.integers(0, 3)) == 0:
        others = st.sampled_from([None, "A", "A", "B", "C", "D", "E", "F"])
        persons = ["A", *draw(st.lists(others, min_size=n - 1, max_size=n - 1))]
        k = min(k, len(set(persons) - {None}))
    return Table(records, [attribute for attribute, _ in result], k, persons, ties)


def large(seed: int) -> Table:
    """Return a table of some hundred records with many duplicates and ties."""
    rng = random.Random(seed)
    attributes: list[Attribute] = []
    pools: list[list[Value]] = []
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.4:
            attributes.append(Number(rng.choice([1.0, 2.5])))
            step = rng.choice([1, 1, 0.125])
            pools.append([rng.randint(0, 60) * step for _ in range(rng.randint(2, 20))])
        else:
            tree = _random_tree(rng)
            attributes.append(Category(tree, rng.choice([1.0, 1.0, 0.3])))
            pools.append(rng.sample(tree.leaf_order(), rng.randint(1, len(tree.leaf_order()))))
        if rng.random() < 0.3:
            pools[-1].append(None)
    n = rng.randint(150, 350)
    records = [tuple(rng.choice(pool) for pool in pools) for _ in range(n)]
    persons = [rng.choice([None, *range(n // 3)]) for _ in range(n)] if rng.random() < 0.3 else None
    return Table(records, attributes, rng.randint(2, 12), persons, [rng.randint(0, 9) for _ in range(n)])


def _random_tree(rng: random.Random) -> reference.Tree:
    paths: list[list[str]] = [["*"]]
    inner = set()
    for number in range(1, rng.randint(2, 30)):
        parent = rng.randrange(len(paths))
        inner.add(parent)
        paths.append([*paths[parent], f"n{number}"])
    return reference.Tree([path[::-1] for number, path in enumerate(paths) if number not in inner])
