"""Full-domain generalization compared with all nodes of the lattice, by hand, and in SQL."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import models
from oracle.reference import Attribute, Category, Number, Record, Tree as Hierarchy, Value, flat
from support import by_row
from support.model_tables import (
    AREA,
    MODELS,
    ModelCase,
    constraint,
    encode_case as encoded_case,
    literal,
    model_requirement,
    published_groups,
    random_case,
)
from support.tables import MANY, Table, encode_records, groups_of, tables

from dbanon import algorithms, errors
from dbanon.algorithms.full_domain.lattice_search import union_closed_constraint
from dbanon.algorithms.full_domain.levels import AttributeLevels, group_rows as numbered
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint

ALGORITHM = algorithms.find("ldiversity_mondrian")
FULL = {"base": "incognito"}
Groups = list[list[int]]


def never_interrupt() -> None:
    """Never interrupt."""


def found_clusters(table: EncodedTable, limits: Constraint) -> Groups:
    """Return the classes of the search itself, by canonical row."""
    return groups_of(by_row.labels(ALGORITHM.run(table, limits, FULL, never_interrupt)).tolist())


# --- all nodes ------------------------------------------------------------------------------------------------------


def levels(attribute: Attribute, column: Sequence[Value], max_level: int | None = None) -> list[dict[Value, object]]:
    """Return the block of every value, by level from 0."""
    values = {v for v in column if v is not None}
    chain: list[dict[Value, object]] = []
    if isinstance(attribute, Category):
        lines = {v: attribute.tree.leaf(str(v)) for v in values}
        height = max([len(line) - 1 for line in lines.values()] + [1])
        for level in range(min(height, height if max_level is None else max_level) + 1):
            chain.append({v: line[: max(len(line) - level, 1)] for v, line in lines.items()})
    else:
        ranks = {v: rank for rank, v in enumerate(sorted(values, key=lambda v: float(str(v))))}
        width = 1
        while len(chain) < 2 or width < 2 * len(ranks):
            chain.append({v: rank // width for v, rank in ranks.items()})
            width *= 2
    for level in chain:
        level[None] = "NULL"
    if max_level is None:
        chain[-1] = dict.fromkeys(chain[-1], "everything")
    return chain


def record_loss(attribute: Attribute, part: Sequence[Value], column: Sequence[Value]) -> Fraction:
    """Return the loss of one record in a class that publishes the least cover: range over range, leaves over leaves."""
    known_parts = {v for v in part if v is not None}
    if not known_parts or (None not in part and len(known_parts) == 1):
        return Fraction(0)
    if None in part:
        return Fraction(1)
    if isinstance(attribute, Category):
        nodes = [attribute.tree.leaf(str(v)) for v in known_parts]
        shared = next(n for n in range(min(map(len, nodes)), 0, -1) if len({node[:n] for node in nodes}) == 1)
        below = [attribute.tree.leaf(v)[:shared] == nodes[0][:shared] for v in attribute.tree.leaf_order()]
        return Fraction(sum(below), len(below))
    numbers, all_fractions = (
        [Fraction(str(v)) for v in known_parts],
        [Fraction(str(v)) for v in column if v is not None],
    )
    return (max(numbers) - min(numbers)) / (max(all_fractions) - min(all_fractions))


def nodes(
    attributes: Sequence[Attribute], records: Sequence[Record], limits: Sequence[int | None] | None = None
) -> Iterator[tuple[tuple[int, ...], Groups]]:
    """Yield all nodes with their classes."""
    limits = limits or [None] * len(attributes)
    columns = [[record[j] for record in records] for j in range(len(attributes))]
    chains = [levels(a, c, m) for a, c, m in zip(attributes, columns, limits, strict=True)]
    for node in itertools.product(*(range(len(chain)) for chain in chains)):
        classes: dict[tuple[object, ...], list[int]] = {}
        for r, record in enumerate(records):
            cell = tuple(chain[level][v] for chain, level, v in zip(chains, node, record, strict=True))
            classes.setdefault(cell, []).append(r)
        yield node, sorted(classes.values())


def best(
    attributes: Sequence[Attribute], records: Sequence[Record], holds: Callable[[Groups], bool]
) -> tuple[Groups, list[Groups]]:
    """Return the classes of the best node, and of all nodes whose loss differs from it by less than rounding."""
    passing = [(sum(node), node, classes) for node, classes in nodes(attributes, records) if holds(classes)]
    minimum = min(levels for levels, _, _ in passing)
    ranked_values = sorted((loss(attributes, records, c), node, c) for levels, node, c in passing if levels == minimum)
    near = ranked_values[0][0] + Fraction(1, 10**9) * sum(Fraction(a.weight) for a in attributes) * len(records)
    return ranked_values[0][2], [classes for node_loss, _, classes in ranked_values if node_loss <= near]


def loss(attributes: Sequence[Attribute], records: Sequence[Record], classes: Groups) -> Fraction:
    total = Fraction(0)
    for j, attribute in enumerate(attributes):
        column = [record[j] for record in records]
        values = [len(part) * record_loss(attribute, [column[r] for r in part], column) for part in classes]
        total += Fraction(attribute.weight) * sum(values)
    return total


def agrees(classes: Groups, expected: tuple[Groups, list[Groups]]) -> bool:
    first, near = expected
    return classes == first or (len(near) > 1 and classes in near)


@given(tables(), st.integers(2, 4))
@MANY
def test_k_anonymity_search_finds_best_node(table: Table, k: int) -> None:
    """Ragged trees, one-child nodes, NULLs, numbers, weights, persons."""
    code_table = encode_records(table)
    people = list(range(len(code_table.records))) if code_table.persons is None else code_table.persons

    def holds(classes: Groups) -> bool:
        return all(len({people[r] for r in part} - {None}) >= k for part in classes)

    if holds([list(range(len(code_table.records)))]):
        assert agrees(
            found_clusters(code_table.space, Constraint(k)), best(table.attributes, code_table.records, holds)
        )


@pytest.mark.parametrize("model", MODELS)
def test_every_model_finds_best_node(model: str) -> None:
    """Records and persons, one sensitive column and two, judged separately and within equal values of the other."""
    searched = 0
    for seed in range(14):
        actual_case = random_case(model, seed)
        actual_case = replace(actual_case, max_levels=[None] * len(actual_case.attributes))
        if actual_case.unmet([range(len(actual_case.records))]):
            continue
        built, order = encoded_case(actual_case)
        records = [actual_case.records[r] for r in order]

        def holds(classes: Groups, selected_case: ModelCase = actual_case, order: list[int] = order) -> bool:
            return not selected_case.unmet([[order[r] for r in part] for part in classes])

        assert agrees(found_clusters(built, constraint(actual_case)), best(actual_case.attributes, records, holds)), (
            actual_case
        )
        searched += 1
    assert searched >= 3


@pytest.mark.parametrize("model", MODELS)
def test_classes_meet_model_and_keep_blocks_separate(model: str) -> None:
    released_number = 0
    for seed in range(100, 140):
        actual_case = random_case(model, seed)
        built, order = encoded_case(actual_case)
        names = tuple(f"q{j}" for j in range(len(actual_case.attributes)))
        try:
            labels = by_row.run_labels(
                ALGORITHM, built, constraint(actual_case), FULL, algorithms.MessageNames(names, actual_case.sensitive)
            )
        except (errors.ModelNotMetError, errors.MaxLevelBlockTooSmallError):
            continue
        if actual_case.unmet([range(len(actual_case.records))]):  # k exceeds the number of records
            continue
        groups = published_groups(actual_case, order, labels.tolist())
        assert actual_case.unmet(groups) == [], actual_case
        assert all(len({actual_case.block(record) for record in group}) == 1 for group in groups), actual_case
        released_number += 1
    assert released_number >= 5


@pytest.mark.parametrize("seed", range(40))
def test_max_level_blocks_searched_separately(seed: int) -> None:
    rng = random.Random(seed)
    attributes: list[Attribute] = [Category(Hierarchy(AREA)), Number()]
    pool = [row[0] for row in AREA if row[0] != "c"]
    records: list[Record] = [(rng.choice(pool), rng.randint(0, 9)) for _ in range(40)]
    code_table = encode_records(Table(records, attributes))
    tree = code_table.space.attributes[0]
    assert isinstance(tree, encoded_table.CategoricalAttribute)
    limited = replace(code_table.space, attributes=(replace(tree, max_level=1), code_table.space.attributes[1]))
    blocks: dict[object, list[int]] = {}
    top = levels(attributes[0], [r[0] for r in code_table.records], 1)[1]
    for r, record in enumerate(code_table.records):
        blocks.setdefault(top[record[0]], []).append(r)
    if min(map(len, blocks.values())) < 3:
        with pytest.raises(errors.MaxLevelBlockTooSmallError):
            by_row.run_labels(ALGORITHM, limited, Constraint(3), FULL, algorithms.MessageNames(("area", "age")))
        return
    classes = groups_of(
        by_row.run_labels(ALGORITHM, limited, Constraint(3), FULL, algorithms.MessageNames(("area", "age"))).tolist()
    )
    for block in blocks.values():
        own_parts = [part for part in classes if part[0] in block]
        assert sorted(r for part in own_parts for r in part) == block
        columns = [[r[j] for r in code_table.records] for j in (0, 1)]
        chains = [levels(attributes[0], columns[0], 1), levels(attributes[1], columns[1])]
        sums = []
        for node in itertools.product(*(range(len(chain)) for chain in chains)):
            cells: dict[object, list[int]] = {}
            for r in block:
                cell = tuple(c[level][v] for c, level, v in zip(chains, node, code_table.records[r], strict=True))
                cells.setdefault(cell, []).append(r)
            if min(map(len, cells.values())) >= 3:
                sums.append((sum(node), sorted(cells.values())))
        minimum = min(levels for levels, _ in sums)
        assert own_parts in [parts for levels, parts in sums if levels == minimum]


# --- assumptions about models -------------------------------------------------------------------------------------


def kept_models(selected_case: ModelCase) -> dict[str, Any]:
    """Return the part of the constraint that a union of classes meets whenever each of the classes does."""
    if selected_case.persons is None:
        return dict(selected_case.asked)
    values_by_name = {
        name: selected_case.asked[name] for name in ("k", "l", "p", "multi_sensitive") if name in selected_case.asked
    }
    if selected_case.asked.get("diversity", "distinct") != "distinct":
        values_by_name.pop("l", None)
    return values_by_name if {"l", "p"} & set(values_by_name) else {"k": selected_case.asked["k"]}


@pytest.mark.parametrize("model", MODELS)
def test_union_of_valid_classes_meets_models(model: str) -> None:
    """The generalization and the subset property depend on it; checked by the definitions."""
    pairs = 0
    for seed in range(150):
        actual_case = random_case(model, seed)
        rng = random.Random(seed)
        parameters = kept_models(actual_case)
        limits = union_closed_constraint(encoded_case(actual_case)[0], constraint(actual_case))
        assert (limits.k, limits.models) == (
            actual_case.asked["k"],
            constraint(replace(actual_case, asked=parameters)).models,
        )
        assert limits.joint == (actual_case.asked.get("multi_sensitive") == "joint")
        parts: Groups = [[] for _ in range(rng.choice([2, 2, 3, 4]))]
        for r in range(len(actual_case.records)):
            rng.choice(parts).append(r)
        one_parts = [part for part in parts if part and meets(actual_case, part, parameters)]
        for one, other in itertools.combinations(one_parts, 2):
            assert meets(actual_case, sorted(one + other), parameters), actual_case
            pairs += 1
    assert pairs >= 5


def meets(selected_case: ModelCase, group: list[int], parameters: dict[str, Any]) -> bool:
    """Return whether a class of the table meets the constraint `parameters`."""
    rest = sorted(set(range(len(selected_case.records))) - set(group))
    return models.first_meets(
        selected_case.classes([group, rest]), parameters, selected_case.orders, selected_case.trees
    )


def test_union_can_miss_model_with_shared_persons() -> None:
    """1 and 2 have a, 3 and 4 have b; 5 and 6 have a, 3 and 4 again b.

    The exp of the entropy is 2 each, but together four persons have a and two b. (x, *) and (y, *) are the first and
    the others, though no node of the second column alone passes: u is one record, and all records together fail.
    """
    one = [(("a",), 1), (("a",), 2), (("b",), 3), (("b",), 4)]
    other = [(("a",), 5), (("a",), 6), (("b",), 3), (("b",), 4)]
    assert models.entropy_l([one]).table == pytest.approx(2) == models.entropy_l([other]).table
    assert float(models.entropy_l([one + other]).table) < 1.9
    cells = [("x", "u"), ("x", "v"), ("x", "v"), ("x", "v"), ("y", "v"), ("y", "v"), ("y", "v"), ("y", "v")]
    columns: list[Attribute] = [Category(flat(["x", "y"])), Category(flat(["u", "v"]))]
    table = encode_records(Table(cells, columns, persons=[1, 2, 3, 4, 3, 4, 5, 6]))
    assert table.order == list(range(8))
    codes = np.array([0, 0, 1, 1, 1, 1, 0, 0], np.int32)
    code_table = replace(table.space, sensitive=(encoded_table.SensitiveColumn(codes, np.array([4, 2, 0])),))
    entropy = Constraint(2, (model_requirement(l=1.95, diversity="entropy"),))
    assert union_closed_constraint(code_table, entropy) == Constraint(2)
    assert found_clusters(code_table, entropy) == [[0, 1, 2, 3], [4, 5, 6, 7]]


# --- by hand --------------------------------------------------------------------------------------------------------

SEX = Category(flat(["f", "m"]))


def table_in_order(
    attributes: Sequence[Attribute], records: Sequence[Record], values: str | None = None
) -> EncodedTable:
    """Return an encoded table of records in canonical order, with a sensitive column."""
    code_table = encode_records(Table(records, attributes))
    assert code_table.order == list(range(len(records)))
    if values is None:
        return code_table.space
    codes = np.array([sorted(set(values)).index(v) for v in values], np.int32)
    return replace(
        code_table.space, sensitive=(encoded_table.SensitiveColumn(codes, np.append(np.bincount(codes), 0)),)
    )


def test_hand_traced_node_has_minimal_level_sum() -> None:
    """Ages 0 and 1 are f, 2 and 3 are m; k = 2.

    Level (1, 0): ages in blocks of two. If these have a and b each, they are 2-diverse; if 0 and 1 both have a, neither
    (1, 0) nor (1, 1) or (2, 0), whose classes are the same, is: all.
    """
    records = [(0, "f"), (1, "f"), (2, "m"), (3, "m")]
    diverse = Constraint(2, (model_requirement(l=2),))
    assert found_clusters(table_in_order([Number(), SEX], records, "abab"), diverse) == [[0, 1], [2, 3]]
    assert found_clusters(table_in_order([Number(), SEX], records, "aabb"), diverse) == [[0, 1, 2, 3]]
    assert found_clusters(table_in_order([Number(), SEX], records, "aabb"), Constraint(2)) == [[0, 1], [2, 3]]


def test_loss_breaks_level_sum_ties_hand_traced() -> None:
    """Ages 0, 1, 9, 10, each f and m; k = 2. (0, 1), the first, loses 1 per record on sex; (1, 0) 0.1 on age."""
    records = [(age, sex) for age in (0, 1, 9, 10) for sex in ("f", "m")]
    assert found_clusters(table_in_order([Number(), SEX], records), Constraint(2)) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert found_clusters(table_in_order([Number(20.0), SEX], records), Constraint(2)) == [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
    ]


def test_lattice_loss_is_share_of_leaves_hand_traced() -> None:
    """P has 2 of 10 leaves and is half as high as the root, R 3 of 4 and a third.

    Raising the first column loses less, whatever the heights say.
    """
    wide_values = [[leaf, "P", "*"] for leaf in ("a1", "a2")] + [[f"a{i}", "Q", "*"] for i in range(3, 11)]
    high = [[leaf, "R", "*"] for leaf in ("b1", "b2", "b3")] + [["b4", "T", "S", "*"]]
    records = [("a1", "b1"), ("a1", "b2"), ("a2", "b1"), ("a2", "b2")]
    columns = [Category(Hierarchy(wide_values)), Category(Hierarchy(high))]
    assert found_clusters(table_in_order(columns, records), Constraint(2)) == [[0, 2], [1, 3]]
    assert found_clusters(
        table_in_order(columns[::-1], [r[::-1] for r in sorted(records, key=lambda r: r[1])]), Constraint(2)
    ) == [
        [0, 1],
        [2, 3],
    ]


def test_first_level_vector_breaks_ties_hand_traced() -> None:
    records = [("f", "f"), ("f", "m"), ("m", "f"), ("m", "m")]
    assert found_clusters(table_in_order([SEX, SEX], records), Constraint(2)) == [[0, 1], [2, 3]]


def test_null_joins_others_only_at_top() -> None:
    """Five ages and two NULLs: at level 2 these are {0 .. 3}, {4} and the NULLs; only the top has 2 in each class."""
    records: list[Record] = [(0,), (1,), (2,), (3,), (4,), (None,), (None,)]
    assert found_clusters(table_in_order([Number()], records), Constraint(2)) == [list(range(7))]
    assert found_clusters(table_in_order([Number()], records[:4] + records[5:]), Constraint(2)) == [
        [0, 1],
        [2, 3],
        [4, 5],
    ]
    one: list[Record] = [(7,), (7,), (None,), (None,)]
    assert found_clusters(table_in_order([Number()], one), Constraint(2)) == [[0, 1], [2, 3]]
    assert found_clusters(table_in_order([Number()], one), Constraint(3)) == [[0, 1, 2, 3]]
    sexes: list[Record] = [("f",), ("f",), (None,)]
    assert found_clusters(table_in_order([SEX], sexes), Constraint(1)) == [[0, 1], [2]]
    assert found_clusters(table_in_order([SEX], sexes), Constraint(2)) == [[0, 1, 2]]


def test_ragged_tree_levels_count_steps_up() -> None:
    """Levels of leaves at different depths.

    One step up: {a1, a2} below A, b1 below B, {b2, b3} below B2, c below the root. Two: {b2, b3} below B, all else
    below the root. Three: all.
    """
    tree = encode_records(Table([(row[0],) for row in AREA], [Category(Hierarchy(AREA))]))
    assert [r[0] for r in tree.records] == ["a1", "a2", "b1", "b2", "b3", "c"]
    attribute_levels = AttributeLevels.from_codes(tree.space.attributes[0], tree.space.codes[:, 0])
    assert (attribute_levels.numbers, attribute_levels.n_blocks) == ((0, 1, 2, 3), (6, 4, 2, 1))
    by_level = [groups_of(attribute_levels.blocks_above(0, level).tolist()) for level in range(4)]
    assert by_level[1:] == [[[0, 1], [2], [3, 4], [5]], [[0, 1, 2, 5], [3, 4]], [list(range(6))]]


# --- hostile --------------------------------------------------------------------------------------------------------


def test_indistinguishable_columns_have_one_class() -> None:
    assert found_clusters(table_in_order([SEX, Number()], [("f", 1)] * 5), Constraint(2)) == [[0, 1, 2, 3, 4]]
    assert found_clusters(table_in_order([SEX, Number()], [("f", None)] * 5), Constraint(2)) == [[0, 1, 2, 3, 4]]
    assert found_clusters(table_in_order([Number()], [(1,)]), Constraint(2)) == [[0]]
    assert found_clusters(table_in_order([SEX, Number()], [("f", 1), ("m", 2)]), Constraint(3)) == [[0, 1]], (
        "k that cannot be met"
    )
    records = [("f", 3), ("f", 3), ("m", 3), ("m", 3)]
    assert found_clusters(table_in_order([SEX, Number()], records), Constraint(2)) == [[0, 1], [2, 3]]


@pytest.mark.not_everyday
def test_million_distinct_numbers_searched_within_30_s() -> None:
    """A million in blocks of 2^6 = 64 has no remainder; from 2^7 on the last block has 64, 64, 64, 576 ... values.

    k = 60 is level 6, k = 65 needs 576 of them: level 10.
    """
    n = 10**6
    number = encoded_table.NumericAttribute(np.arange(float(n)), True)
    code_table = EncodedTable((number,), np.arange(n, dtype=np.int32)[:, None], np.ones(n, np.int64), None, n)
    began = time.process_time()
    for k, width in ((2, 2), (60, 64), (65, 1024)):
        labels = by_row.labels(ALGORITHM.run(code_table, Constraint(k), FULL, never_interrupt))
        assert (labels == np.arange(n) // width).all()
    assert time.process_time() - began < 30


def test_too_many_level_combinations_refused() -> None:
    rng = random.Random(1)
    records = [tuple(rng.randrange(4) for _ in range(11)) for _ in range(50)]
    code_table = encode_records(Table(records, [Number()] * 11)).space
    with pytest.raises(errors.TooManyLevelsError, match="have 4194304 combinations of levels; at most 2000000 are"):
        found_clusters(code_table, Constraint(2))
    seven = encode_records(Table([r[:7] for r in records], [Number()] * 7)).space
    assert min(map(len, found_clusters(seven, Constraint(2)))) >= 2


def test_lattice_search_can_be_interrupted() -> None:
    n_checks = 0

    def check() -> None:
        nonlocal n_checks
        n_checks += 1
        if n_checks > 3:
            raise KeyboardInterrupt

    records = [(age, sex) for age in range(16) for sex in ("f", "m")]
    with pytest.raises(KeyboardInterrupt):
        ALGORITHM.run(table_in_order([Number(), SEX], records), Constraint(3), FULL, check)


def test_row_keys_of_many_columns_do_not_overflow() -> None:
    """Six columns of 2,000 numbers have 2,000^6 combinations, more than 2^62: keys do not overflow."""
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 2000, 3000) for _ in range(6)]
    group, groups = numbered(columns, [2000] * 6)
    values_by_key = {key: i for i, key in enumerate(sorted(set(zip(*(c.tolist() for c in columns), strict=True))))}
    assert groups == len(values_by_key)
    assert group.tolist() == [values_by_key[key] for key in zip(*(c.tolist() for c in columns), strict=True)]


# --- in SQL ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def sick(con: Any) -> Any:
    """Create people whose ages, zip codes and sexes are independent, and who have a rare disease."""
    con.execute("""CREATE TABLE sick AS SELECT
        20 + i * 7 % 64 AS age, CASE WHEN i % 40 <> 3 THEN '021' || (30 + i * 13 % 9) END AS zip,
        ['F', 'M'][1 + i * 5 % 3 // 2] AS sex, ['Flu', 'Flu', 'Cold', 'HIV'][1 + i * 11 % 4] AS disease, i // 2 AS who
        FROM range(600) AS r (i)""")
    return con


ZIP = "\n".join(f"021{z};021{z // 10}*;*" for z in range(30, 39))
QI = {"qi": ["age", "zip", "sex"], "sensitive": ["disease"], "hierarchies": {"zip": ZIP}}


def call(name: str, **asked: object) -> str:
    parameters = {**QI, "base": "incognito", **asked}
    return f"{name}('sick', " + ", ".join(f"{key} := {literal(value)}" for key, value in parameters.items()) + ")"


@pytest.mark.parametrize(
    "model_arguments", [{"k": 5}, {"k": 20, "l": 3}, {"k": 3, "t": 0.2}, {"k": 4, "person": "who"}]
)
def test_release_meets_k_and_l_counted_in_sql(sick: Any, model_arguments: dict[str, object]) -> None:
    sick.execute(f"CREATE TABLE safe AS FROM {call('ldiversity_mondrian', **model_arguments)}")
    rows = sick.execute("SELECT count(*), count(DISTINCT disease) FROM safe GROUP BY age, zip, sex").fetchall()
    assert sum(n for n, _ in rows) == 600 and len(rows) > 1
    assert min(n for n, _ in rows) >= int(str(model_arguments["k"])) and min(d for _, d in rows) >= int(
        str(model_arguments.get("l", 2))
    )
    second_rows = sick.execute(
        f"FROM {call('anonymize', algorithm='ldiversity_mondrian', **model_arguments)}"
    ).fetchall()
    assert sick.execute("FROM safe").fetchall() == second_rows
    sick.execute("CREATE OR REPLACE TABLE sick AS FROM sick ORDER BY hash(age, sex, who)")
    assert sick.execute(f"FROM {call('ldiversity_mondrian', **model_arguments)}").fetchall() == second_rows


def test_incognito_release_column_is_on_one_level(sick: Any) -> None:
    """Ages are published in blocks of 2^i; so no two published intervals overlap, which Mondrian's do."""
    ends = "SELECT DISTINCT lower_bound(age) AS low, upper_bound(age) AS high FROM"
    overlap = "SELECT count(*) FROM x AS a JOIN x AS b ON a.low < b.low AND b.low <= a.high"
    for base, separate_result in (("incognito", True), ("mondrian", False)):
        rows = sick.execute(f"WITH x AS ({ends} {call('ldiversity_mondrian', k=4, base=base)}) {overlap}").fetchall()
        assert (rows == [(0,)]) == separate_result


def test_base_argument_is_validated(sick: Any) -> None:
    with pytest.raises(duckdb.Error, match="base must be one of 'mondrian', 'incognito', got 'datafly'"):
        sick.execute(f"FROM {call('ldiversity_mondrian', k=4, base='datafly')}")
    default = call("ldiversity_mondrian", k=4).replace(", base := 'incognito'", "")
    assert default != call("ldiversity_mondrian", k=4)
    mondrian = sick.execute(f"FROM {call('ldiversity_mondrian', k=4, base='mondrian')}").fetchall()
    assert sick.execute(f"FROM {default}").fetchall() == mondrian
    assert sick.execute(f"FROM {call('ldiversity_mondrian', k=4)}").fetchall() != mondrian


@pytest.mark.not_everyday
def test_lattice_searches_adult_within_10_s(adult: Any) -> None:
    """30,162 records, six quasi-identifiers, age as a number: 8 * 4 * 3 * 3 * 2 * 2 nodes and more."""
    for k in (2, 50, 400):
        began = time.process_time()
        call = f"ldiversity_mondrian('adult', k := {k}, sensitive := ['salary'], base := 'incognito')"
        adult.execute(f"CREATE OR REPLACE TABLE safe AS FROM {call}")
        assert time.process_time() - began < 10
        rows = adult.execute(
            "SELECT count(*), count(DISTINCT salary) FROM safe GROUP BY age, workclass, education, marital_status, "
            "race, sex"
        ).fetchall()
        assert sum(n for n, _ in rows) == 30_162
        assert min(n for n, _ in rows) >= k and min(d for _, d in rows) == 2
