"""The cut along a line is the best of all cuts, compared with a plain loop and with every cut of small tables.

The oracles read values, not codes: the published cells of a group, their loss (KACPC paper, Eq. 1), and, by the
definitions in models.py, whether the group meets the constraint.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from oracle import reference
from support import model_tables
from support.model_tables import MODELS, constraint, model_requirement, random_case

from dbanon.algorithms.base import kernel_inputs as layouts, loss as loss_terms
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.algorithms.base.kernel_inputs import KernelInputs, build_kernel_inputs
from dbanon.encoding import encoded_table
from dbanon.kernels import optimal_cut
from dbanon.kernels.model_check import begin_group, check_group_from, is_valid_group
from dbanon.kernels.optimal_cut import INFINITE_LOSS, allocate_path, cut_all_records, cut_sequence
from dbanon.privacy_models.constraint import Constraint

Loss = Callable[[Sequence[int]], float]
"""The loss of a record in a group of rows."""

Meets = Callable[[Sequence[int]], bool]


# --- the oracles ---------------------------------------------------------------------------------------------------


def least_loss_by_loop(rows: Sequence[int], max_size: int, loss: Loss, meets: Meets, penalty: float | None) -> float:
    """Return the least loss of the rows cut into groups of up to `max_size` that meet the model.

    A group that misses it costs `penalty` more per record (None: not allowed).
    """
    best = [0.0] + [math.inf] * len(rows)
    for i in range(1, len(rows) + 1):
        for j in range(max(i - max_size, 0), i):
            if best[j] < math.inf:
                best[i] = min(best[i], best[j] + cost(rows[j:i], loss, meets, penalty))
    return best[-1]


def least_loss_of_all_cuts(rows: Sequence[int], max_size: int, loss: Loss, meets: Meets) -> float:
    """Return the least loss over every cut into groups of up to `max_size` that meet the model, without a penalty."""
    inner = range(1, len(rows))
    return min(
        sum(cost(group, loss, meets, None) for group in groups)
        for sample_number in range(len(rows))
        for combination in itertools.combinations(inner, sample_number)
        for groups in [[rows[a:b] for a, b in itertools.pairwise((0, *combination, len(rows)))]]
        if max(map(len, groups)) <= max_size
    )


def cost(group: Sequence[int], loss: Loss, meets: Meets, penalty: float | None) -> float:
    if meets(group):
        return len(group) * loss(group)
    return math.inf if penalty is None else len(group) * (loss(group) + penalty)


# --- the kernel ------------------------------------------------------------------------------------------------------


def items_by_row(problem: KernelInputs) -> encoded_table.Ints:
    """Return the item of every canonical row; items are tuples if rows have none of their own."""
    return (
        np.repeat(np.arange(len(problem.sizes)), problem.sizes) if problem.item_by_row is None else problem.item_by_row
    )


@dataclass(frozen=True)
class CutResult:
    """Loss (inf: there is no cut) and groups of rows, in the unit of an attribute of weight 1."""

    loss: float
    groups: list[list[int]]


def cut_rows(problem: KernelInputs, rows: Sequence[int], max_size: int, penalty: int, unit: float) -> CutResult:
    """Return the kernel's cut of the rows."""
    array = items_by_row(problem)[np.array(rows)].astype(np.int32)
    m, d = len(array), problem.codes.shape[1]
    room = allocate_path(problem.min_records, d, m)
    sequence = cut_sequence(
        array,
        m,
        problem.min_records,
        max_size,
        penalty,
        problem.loss_arrays,
        *problem.model,
        problem.scratch,
        room,
    )
    if sequence >= INFINITE_LOSS:
        return CutResult(math.inf, [])
    groups, end = [], m
    while end > 0:
        groups.append(list(rows[room.back[end] : end]))
        end = int(room.back[end])
    return CutResult(int(sequence) / unit, groups[::-1])


def unit_of(problem: KernelInputs, weights: Sequence[float]) -> float:
    """Return the integer loss of an attribute of weight 1."""
    return max(int(u) / w for u, w in zip(problem.terms[:, 2], weights, strict=True))


# --- tables with a loss: any attribute, k alone -------------------------------------------------------------


@dataclass(frozen=True)
class CutColumn:
    """An attribute, its codes, and a function that returns the loss of a group of rows."""

    attribute: encoded_table.Attribute
    codes: encoded_table.Codes
    loss: Loss


def number_column(rng: random.Random, n: int) -> CutColumn:
    """Return a column of whole numbers, with or without a grid; NULL is text or (bare) NULL."""
    pool: list[int | None] = [rng.randint(-20, 20) for _ in range(rng.randint(1, n))]
    values = [rng.choice([*pool, *[None] * rng.choice([0, 0, 1])]) for _ in range(n)]
    known_values = sorted({v for v in values if v is not None})
    grid, plain_name, weight = rng.choice([1, 1, 3, 10]), rng.random() < 0.3, rng.choice([1.0, 2.0, 0.3])
    low, high = (lambda v: v // grid * grid), (lambda v: v // grid * grid + grid - 1)
    ends = None
    if grid > 1 and known_values:
        full_numbers = [[float(end(v) - low(known_values[0])) for v in known_values] for end in (low, high)]
        ranks = np.zeros(len(known_values), np.int32)
        ends = encoded_table.IntervalEnds(ranks, ranks, np.array(full_numbers[0]), np.array(full_numbers[1]))
    positions = np.array([float(v - known_values[0]) for v in known_values])
    codes = np.array([known_values.index(v) if v is not None else len(known_values) for v in values], np.int32)

    def loss(rows: Sequence[int]) -> float:
        part = [values[r] for r in rows]
        local_parts = [v for v in part if v is not None]
        if len(local_parts) < len(part):
            return weight if local_parts or plain_name else 0.0
        value_range = high(known_values[-1]) - low(known_values[0])
        return weight * (high(max(local_parts)) - low(min(local_parts))) / value_range if value_range else 0.0

    return CutColumn(encoded_table.NumericAttribute(positions, True, weight, ends, plain_name), codes, loss)


def category_column(rng: random.Random, n: int, heights: str, max_nodes: int = 14) -> CutColumn:
    """Return a column with any nodes but the root of a random tree as values: inner nodes too, as with min_level."""
    above = [-1] + [rng.randrange(node) for node in range(1, rng.randint(2, max_nodes))]
    order = _preorder(above)
    parent = [-1 if above[old] < 0 else order.index(above[old]) for old in order]
    lines = [_line(parent, node) for node in range(len(parent))]
    weight = rng.choice([1.0, 2.0, 0.3])
    pool: list[int | None] = [rng.randrange(1, len(parent)) for _ in range(rng.randint(1, n))]
    values = [rng.choice([*pool, *[None] * rng.choice([0, 0, 1])]) for _ in range(n)]
    known_values = sorted({v for v in values if v is not None})
    codes = np.array([known_values.index(v) if v is not None else len(known_values) for v in values], np.int32)

    def edges(node: int) -> int:
        return max(line.index(node) for line in lines if node in line)

    def loss(rows: Sequence[int]) -> float:
        part = [values[r] for r in rows]
        local_parts = [v for v in part if v is not None]
        if len(local_parts) < len(part):
            return weight if local_parts else 0.0
        common = next(node for node in lines[local_parts[0]] if all(node in lines[v] for v in local_parts))
        if edges(common) == 0:
            return 0.0
        deepest = max(map(len, lines)) - 1
        return weight * (edges(common) / edges(0) if heights == "edges" else 1 - (len(lines[common]) - 1) / deepest)

    tree = encoded_table.CategoricalAttribute(np.array(parent, np.int32), np.array(known_values, np.int32), weight)
    return CutColumn(tree, codes, loss)


def _preorder(above: Sequence[int]) -> list[int]:
    def walk(node: int) -> Iterator[int]:
        yield node
        for child, parent in enumerate(above):
            if parent == node:
                yield from walk(child)

    return list(walk(0))


def _line(parent: Sequence[int], node: int) -> list[int]:
    return [node] if parent[node] < 0 else [node, *_line(parent, parent[node])]


def encode_columns(columns: Sequence[CutColumn]) -> tuple[encoded_table.EncodedTable, list[int]]:
    n = len(columns[0].codes)
    built, order = encoded_table.encode_table(
        [c.attribute for c in columns], [c.codes for c in columns], np.zeros(n, np.uint64), None
    )
    return built, order.tolist()


@pytest.mark.parametrize("climbed", [False, True])
@pytest.mark.parametrize("heights", ["top", "edges"])
@pytest.mark.parametrize("seed", range(60))
def test_cut_has_minimal_loss_of_all_cuts(
    seed: int, heights: str, climbed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers, grids, bare NULLs, hierarchies by table of pairs and climbed, weights; any order of the rows."""
    rng = random.Random(f"{seed} {heights}")
    if climbed:
        monkeypatch.setattr(loss_terms, "MAX_TABLE_VALUES", -1)
    if seed % 3:
        monkeypatch.setattr(optimal_cut, "MIN_JOINED_RUN", 2)  # a run of one record is not joined of two
    n, k = rng.randint(1, 40 if seed % 4 == 0 else 14), rng.choice([1, 2, 2, 3, 4])
    columns = [
        number_column(rng, n) if rng.random() < 0.5 else category_column(rng, n, heights)
        for _ in range(rng.randint(1, 4))
    ]
    built, order = encode_columns(columns)
    problem = build_kernel_inputs(built, Constraint(k), heights)
    assert {int(kind) for kind in problem.terms[:, 0]} <= {0, 2 if climbed else 1}

    def loss(rows: Sequence[int]) -> float:
        return sum(c.loss([order[r] for r in rows]) for c in columns)

    def meets(rows: Sequence[int]) -> bool:
        return len(rows) >= k

    rows = list(range(n))
    if rng.random() < 0.5:
        rng.shuffle(rows)
    actual_partition = cut_rows(
        problem, rows, problem.max_class_size, -1, unit_of(problem, [c.attribute.weight for c in columns])
    )
    expected = least_loss_by_loop(rows, n, loss, meets, None)
    assert actual_partition.loss == pytest.approx(expected, abs=1e-9), "no longer run than 2k - 1 loses less"
    if n <= 9:
        assert actual_partition.loss == pytest.approx(least_loss_of_all_cuts(rows, n, loss, meets), abs=1e-9)
    if n >= k:
        assert [r for group in actual_partition.groups for r in group] == rows
        assert all(k <= len(group) < 2 * k or n < k for group in actual_partition.groups)
        assert sum(len(g) * loss(g) for g in actual_partition.groups) == pytest.approx(expected, abs=1e-9)
    else:
        assert actual_partition.groups == []


@pytest.mark.all_cases
@pytest.mark.parametrize("seed", range(30))
def test_cut_at_limited_places_has_minimal_loss(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With at least 2 * PLACES records: no cut that ends at these places loses less.

    With as many places as records (the last seeds) runs end anywhere, and every run is joined of two.
    """
    rng = random.Random(f"places {seed}")
    places = rng.choice([1, 2, 3]) if seed < 20 else 64
    monkeypatch.setattr(optimal_cut, "MIN_CUT_PLACES", places)
    monkeypatch.setattr(optimal_cut, "MIN_JOINED_RUN", 2)  # a run of one record is not joined of two
    n, k = rng.randint(10, 60), rng.randint(min(2 * places, 2), 9)
    columns = [
        number_column(rng, n) if rng.random() < 0.5 else category_column(rng, n, "top")
        for _ in range(rng.randint(1, 3))
    ]
    built, order = encode_columns(columns)
    problem, step = build_kernel_inputs(built, Constraint(k), "top"), max(k // places, 1)

    def loss(rows: Sequence[int]) -> float:
        return sum(c.loss([order[r] for r in rows]) for c in columns)

    best = [0.0] + [math.inf] * n
    for i in range(k, n + 1):
        if i == n or i < 2 * k or (i % step == 0 and i <= n - k):
            runs = [(j, range(j, i)) for j in range(max(i - 2 * k + 1, 0), i - k + 1)]
            best[i] = min([best[j] + len(run) * loss(run) for j, run in runs if best[j] < math.inf], default=math.inf)
    actual_partition = cut_rows(
        problem, range(n), problem.max_class_size, -1, unit_of(problem, [c.attribute.weight for c in columns])
    )
    assert actual_partition.loss == pytest.approx(best[n], abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_cut_of_long_runs_equals_cut_by_loop(seed: int) -> None:
    """Up to 9 * k equal records in a row: loss and classes are those of a loop that prefers the shortest class."""
    rng = random.Random(f"long runs {seed}")
    k, kinds = rng.choice([1, 2, 3, 5, 12]), rng.randint(1, 5)
    columns = [
        number_column(rng, kinds) if rng.random() < 0.5 else category_column(rng, kinds, "top")
        for _ in range(rng.randint(1, 3))
    ]
    run_lengths = [rng.choice([rng.randint(1, k), rng.randint(1, 9 * k), 4 * k - 1]) for _ in range(kinds)]
    kind_of = np.repeat(np.arange(kinds), run_lengths)
    n = len(kind_of)
    built, order = encode_columns([replace(c, codes=c.codes[kind_of]) for c in columns])
    problem = build_kernel_inputs(built, Constraint(k), "top")

    @functools.cache
    def loss_of_kinds(kinds_of_class: frozenset[int]) -> float:
        return sum(c.loss(sorted(kinds_of_class)) for c in columns)

    def loss(rows: Sequence[int]) -> float:
        return loss_of_kinds(frozenset(int(kind_of[order[r]]) for r in rows))

    min_losses, starts = [0.0] + [math.inf] * n, [0] * (n + 1)
    for i in range(k, n + 1):
        if i == n or i < 2 * k or i <= n - k:
            for j in range(i - k, max(i - 2 * k, -1), -1):
                if min_losses[j] + (i - j) * loss(range(j, i)) < min_losses[i] - 1e-9:
                    min_losses[i], starts[i] = min_losses[j] + (i - j) * loss(range(j, i)), j
    actual_partition = cut_rows(
        problem, range(n), problem.max_class_size, -1, unit_of(problem, [c.attribute.weight for c in columns])
    )
    assert actual_partition.loss == pytest.approx(min_losses[n], abs=1e-9)
    expected_groups, end = [], n if n >= k else 0
    while end > 0:
        expected_groups.append(list(range(starts[end], end)))
        end = starts[end]
    assert actual_partition.groups == expected_groups[::-1]


def test_large_hierarchy_climbed_without_table() -> None:
    """300 values below 20 nodes: the number of a node of two of its values is 1/2, of any others 1."""
    parent = np.array([-1, *(n for i in range(20) for n in (0, *[1 + 16 * i] * 15))], np.int32)
    node = np.array([n for n in range(len(parent)) if parent[n] > 0], np.int32)
    tree = encoded_table.CategoricalAttribute(parent, node)
    assert tree.values == 300 > loss_terms.MAX_TABLE_VALUES
    rng = random.Random(3)
    codes = np.array(sorted(rng.choices(range(300), k=40)), np.int32)
    built, _ = encoded_table.encode_table([tree], [codes], np.zeros(40, np.uint64), None)
    problem = build_kernel_inputs(built, Constraint(3), "top")
    assert problem.terms[0, 0] == 2

    def loss(rows: Sequence[int]) -> float:
        stored_numbers = {int(codes[r]) for r in rows}
        return 0.0 if len(stored_numbers) == 1 else 0.5 if len({v // 15 for v in stored_numbers}) == 1 else 1.0

    actual_partition = cut_rows(problem, range(40), problem.max_class_size, -1, unit_of(problem, [1.0]))
    assert actual_partition.loss == pytest.approx(
        least_loss_by_loop(range(40), 40, loss, lambda rows: len(rows) >= 3, None)
    )


# --- tables with a model ------------------------------------------------------------------------------------------


def table_of(
    model: str, seed: int
) -> tuple[model_tables.ModelCase, encoded_table.EncodedTable, list[int], KernelInputs]:
    actual_case = random_case(model, seed)
    built, order = model_tables.encode_case(actual_case)
    return actual_case, built, order, build_kernel_inputs(built, constraint(actual_case), "top")


def may_exceed_model(selected_case: model_tables.ModelCase) -> bool:
    """Return whether the kernel may be stricter than the model: shares of beta count persons, not their values."""
    return selected_case.persons is not None and "beta" in selected_case.asked


@pytest.mark.parametrize("model", MODELS)
def test_every_cut_run_meets_model_and_is_optimal(model: str) -> None:
    """Persons, joint columns, NULLs; some rows of a table whose other rows only define the distribution."""
    ends, modes = [], set()
    for seed in range(40):
        code_table, built, order, problem = table_of(model, 60_000 + seed)
        modes.add(problem.mode)
        rng = random.Random(seed)
        rows = rng.sample(range(built.rows), min(rng.randint(1, 9), built.rows))
        rows = sorted(rows) if rng.random() < 0.5 else rows
        max_choice = rng.choice(
            [2 * problem.min_records - 1, 2 * problem.min_records, 3 * problem.min_records, problem.max_class_size]
        )
        unit = unit_of(problem, [1.0] * len(code_table.attributes))
        loss, meets, sizes = (
            case_loss(code_table, order),
            case_meets(code_table, order),
            max(max_choice, 2 * problem.min_records - 1),
        )
        for penalty in (None, float(len(code_table.attributes))):
            actual_partition = cut_rows(
                problem, rows, max_choice, -1 if penalty is None else int(problem.terms[:, 2].sum()), unit
            )
            if len(rows) < problem.min_records:
                assert actual_partition.loss == math.inf, code_table
                continue
            # A run of too few records is never made, whatever the cost.
            few_case_few = with_min_size(problem.min_records, loss)
            expected = least_loss_by_loop(rows, sizes, few_case_few, meets, penalty)
            if may_exceed_model(code_table):
                assert actual_partition.loss >= expected - 1e-9, code_table
            else:
                assert actual_partition.loss == pytest.approx(expected, abs=1e-9), code_table
            if penalty is None:
                assert all(meets(group) for group in actual_partition.groups), code_table
                assert least_loss_of_all_cuts(rows, sizes, few_case_few, meets) == pytest.approx(expected, abs=1e-9)
            if actual_partition.loss < math.inf and not may_exceed_model(code_table):
                total = sum(cost(g, loss, meets, penalty) for g in actual_partition.groups)
                assert total == pytest.approx(actual_partition.loss, abs=1e-9), code_table
            ends.append(actual_partition.loss < math.inf)
    assert True in ends
    assert modes >= ({0, 2} if model == "k" else {1, 2})


def case_loss(selected_case: model_tables.ModelCase, order: Sequence[int]) -> Loss:
    def loss(rows: Sequence[int]) -> float:
        return sum(
            reference.loss(
                a, [selected_case.records[order[r]][j] for r in rows], [record[j] for record in selected_case.records]
            )
            for j, a in enumerate(selected_case.attributes)
        )

    return loss


def with_min_size(min_size: int, loss: Loss) -> Loss:
    return lambda rows: loss(rows) if len(rows) >= min_size else math.inf


def case_meets(selected_case: model_tables.ModelCase, order: Sequence[int]) -> Meets:
    return lambda rows: selected_case.meets([order[r] for r in rows])


def test_cut_all_records_labels_equal_cut_groups() -> None:
    for seed in range(40):
        _, built, _, problem = table_of("l", 61_000 + seed)
        rows = list(range(built.rows))
        array = items_by_row(problem).astype(np.int32)
        labels, penalty = np.full(len(rows), -7, np.int32), int(problem.terms[:, 2].sum())
        values = (
            problem.min_records,
            problem.max_class_size,
            penalty,
            problem.loss_arrays,
            *problem.model,
            problem.scratch,
        )
        if len(rows) < problem.min_records:
            continue
        code_table, loss = cut_all_records(array, *values, labels)
        actual_partition = cut_rows(problem, rows, problem.max_class_size, penalty, 1.0)
        assert float(loss) == actual_partition.loss
        assert code_table == len(actual_partition.groups)
        # Labels count from the end of the line.
        expected = [code_table - 1 - number for number, group in enumerate(actual_partition.groups) for _ in group]
        assert labels.tolist() == expected


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_kernel_group_check_agrees_with_constraint(model: str) -> None:
    """Random groups of every size, similar and dissimilar; for beta of persons the kernel is as strict or stricter."""
    result: dict[tuple[int, bool], int] = {}
    rng = random.Random(model)
    for seed in range(60):
        code_table, built, order, problem = table_of(model, 62_000 + seed)
        asked_constraint, scratch = constraint(code_table), problem.scratch
        for turn in range(12):
            size = rng.randint(1, min(built.rows, rng.choice([6, 12, 60])))
            first = rng.randrange(built.rows - size + 1)
            rows = list(range(first, first + size)) if turn % 2 else rng.sample(range(built.rows), size)
            array = items_by_row(problem)[rows].astype(np.int32)
            # Where only the number of records counts, the callers check it.
            stored_is_true = bool(is_valid_group(array, 0, size, *problem.model, *scratch)) and (
                problem.mode > 0 or size >= problem.min_records
            )
            expected = bool(asked_constraint.is_met_by_records(built, np.array(rows)))
            assert stored_is_true == expected or (may_exceed_model(code_table) and not stored_is_true), (
                code_table,
                rows,
            )
            if turn == 0:
                assert expected == code_table.meets([order[r] for r in rows]), (code_table, rows)
            mode = problem.mode
            result[mode, stored_is_true] = result.get((mode, stored_is_true), 0) + 1
    for mode in (0, 2) if model == "k" else (1, 2):
        assert result.get((mode, True), 0) >= 10
        assert result.get((mode, False), 0) >= 10


@pytest.mark.parametrize("tallies", [layouts.MAX_VALUE_COUNTS, 0], ids=["counted", "from scratch"])
@pytest.mark.parametrize("model", MODELS)
def test_incremental_group_check_equals_full_check(model: str, tallies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "MAX_VALUE_COUNTS", tallies)
    rng = random.Random(model)
    for seed in range(8):
        code_table, built, _, problem = table_of(model, 64_000 + seed)
        array = items_by_row(problem)[rng.sample(range(built.rows), built.rows)].astype(np.int32)
        counts, extra = problem.scratch
        first = end = rng.randrange(built.rows)
        begin_group(*problem.model, counts)
        while first > 0 and end - first < 40:
            counted_first, first = first, max(first - rng.choice([1, 1, 2, 7]), 0)
            stored_result, reach = check_group_from(array, first, counted_first, end, *problem.model, counts, extra)
            own_scratch = problem.scratch
            assert bool(stored_result) == bool(is_valid_group(array, first, end, *problem.model, *own_scratch)), (
                code_table,
                first,
                end,
            )
            for old_number in range(first - 1, reach, -1):
                assert not is_valid_group(array, old_number, end, *problem.model, *own_scratch), (
                    code_table,
                    old_number,
                    end,
                )


@pytest.mark.parametrize("n", [31, 63, 127, 255])
def test_all_records_may_be_in_runs_missing_model(n: int) -> None:
    """No run meets the model: all lose what their runs lose and the penalty, twice the greatest possible loss.

    The sums of losses are scaled to just below 2^62 where n is just below a power of two.
    """
    codes = np.arange(n, dtype=np.int32)
    attribute = encoded_table.NumericAttribute(np.arange(n).astype(np.float64), True)
    sensitive = (np.zeros(n, np.int32), 1, None)
    built, _ = encoded_table.encode_table([attribute], [codes], np.zeros(n, np.uint64), None, sensitive=[sensitive])
    asked_constraint = Constraint(n // 3, (model_requirement(l=2),))
    problem = build_kernel_inputs(built, asked_constraint, "top")
    labels, penalty = np.full(n, -7, np.int32), int(problem.terms[:, 2].sum())
    values = (
        problem.min_records,
        problem.max_class_size,
        penalty,
        problem.loss_arrays,
        *problem.model,
        problem.scratch,
    )
    code_table, loss = cut_all_records(np.arange(n, dtype=np.int32), *values, labels)
    assert sorted(set(labels.tolist())) == list(range(code_table))
    assert loss / penalty == pytest.approx(n + sum(len(g) * (len(g) - 1) / (n - 1) for g in cluster_members(labels)))


def test_group_check_independent_of_position() -> None:
    """Equal records at the front, in the middle, and in another order."""
    for seed in range(60):
        _, built, _, problem = table_of("several", 63_000 + seed)
        rng = random.Random(seed)
        rows = rng.sample(range(built.rows), rng.randint(1, built.rows))
        others = [rng.randrange(built.rows) for _ in range(3)]
        array = items_by_row(problem)[rows].astype(np.int32)
        extra_array = np.concatenate(
            (items_by_row(problem)[others], array[::-1], items_by_row(problem)[others])
        ).astype(np.int32)
        args: tuple[Any, ...] = (*problem.model, *problem.scratch)
        assert is_valid_group(array, 0, len(rows), *args) == is_valid_group(extra_array, 3, 3 + len(rows), *args)
