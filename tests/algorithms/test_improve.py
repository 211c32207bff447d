"""`improve`: the search never loses more, the whole model holds, and it is repeatable, whatever formed the classes.

Losses and models are computed by reference.py and models.py, and in SQL by the metrics of the release.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from oracle import reference
from oracle.models import Value
from oracle.reference import Category, Number
from support import by_row, model_tables
from support.model_tables import (
    ALGORITHMS,
    AREA,
    CAUSE,
    ILLNESS,
    MODELS,
    ModelCase,
    call_text,
    case_arguments,
    constraint,
    create_case_table,
    missed_models,
    published_groups,
    random_case,
)
from support.tables import encoded_column

import dbanon
from dbanon import algorithms, errors
from dbanon.algorithms import SearchBudget
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import unite_equal_classes
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.algorithms.base.registry import Widening
from dbanon.algorithms.postprocess.improve import MOVES_PER_BATCH
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute
from dbanon.kernels.arrays import SweepOptions
from dbanon.kernels.local_search import sweep_classes
from dbanon.privacy_models.constraint import Constraint

Groups = Sequence[Sequence[int]]


def with_random_weights(selected_case: ModelCase, rng: random.Random) -> ModelCase:
    """Return the case with other weights."""
    return replace(
        selected_case,
        attributes=[replace(a, weight=rng.choice([1.0, 1.0, 2.5, 0.2])) for a in selected_case.attributes],
    )


def loss_of(selected_case: ModelCase, groups: Groups, heights: str) -> float:
    """Return the weighted loss of all records (KACPC paper, Eq. 1); `edges` counts heights above the deepest leaf."""
    total = 0.0
    for j, attribute in enumerate(selected_case.attributes):
        column = [record[j] for record in selected_case.records]
        for group in groups:
            part = [column[r] for r in group]
            total += len(group) * attribute.weight * one_loss(attribute, part, column, heights)
    return total


def one_loss(attribute: reference.Attribute, part: Sequence[Value], column: Sequence[Value], heights: str) -> float:
    if isinstance(attribute, Number) or heights == "top" or None in part:
        return reference.loss(attribute, part, column)
    tree = attribute.tree
    node = tree.leaf(str(part[0]))
    for label in part:
        node = tree.lca(node, tree.leaf(str(label)))
    return tree.hsub(node) / tree.hsub(tree.root) if tree.hsub(tree.root) else 0.0


def run(
    selected_case: ModelCase,
    name: str,
    budget: SearchBudget | None,
    check: Callable[[], None] = lambda: None,
    **more: Any,
) -> tuple[list[int], list[int]]:
    """Return the labels in canonical order, and that order."""
    built, order = model_tables.encode_case(selected_case)
    algorithm = algorithms.find(name)
    names = tuple(f"q{j}" for j in range(len(selected_case.attributes)))
    options = {p.name: p.default for p in algorithm.own_parameters}
    if "seed" in options:
        options["seed"] = more.pop("seed", 0)
    refinement = algorithms.Refinement(budget=budget, **more)
    labels = by_row.run_labels(
        algorithm,
        built,
        constraint(selected_case),
        options,
        algorithms.MessageNames(names, selected_case.sensitive),
        refinement,
        check,
    )
    return labels.tolist(), order


def kept_classes(selected_case: ModelCase, order: Sequence[int], labels: Sequence[int]) -> list[list[int]]:
    """Return the classes as published, without suppressed records."""
    rows = [row for row, label in enumerate(labels) if label >= 0]
    return published_groups(selected_case, [order[row] for row in rows], [labels[row] for row in rows])


# --- below SQL: every algorithm, every model -----------------------------------------------------------------------


def check_search(selected_case: ModelCase, name: str, rng: random.Random) -> str:
    """Assert the guarantees of a search of a random number of moves; return what became of the loss."""
    if missed_models(selected_case, range(len(selected_case.records))):
        return "infeasible"
    heights, suppress = rng.choice(["top", "edges"]), rng.choice([0.0, 0.0, 0.2])
    parameters = {"heights": heights, "max_suppressed_share": suppress}
    try:
        previous, order = run(selected_case, name, SearchBudget(0), **parameters)
    except errors.MaxLevelBlockTooSmallError:
        return "infeasible"
    budget = SearchBudget(rng.choice([1, 100, 1000]))
    moves = budget.moves
    following, _ = run(selected_case, name, budget, **parameters)
    assert 0 <= budget.n_moves_done <= moves, selected_case
    assert [label < 0 for label in following] == [label < 0 for label in previous], selected_case
    first, next_result = kept_classes(selected_case, order, previous), kept_classes(selected_case, order, following)
    assert sorted(r for group in next_result for r in group) == sorted(r for group in first for r in group), (
        selected_case
    )
    assert selected_case.unmet(next_result) == [], f"{selected_case}: {next_result}"
    assert all(len({selected_case.block(record) for record in group}) == 1 for group in next_result), (
        f"{selected_case}: {next_result}"
    )
    old, new = loss_of(selected_case, first, heights), loss_of(selected_case, next_result, heights)
    assert new <= old + 1e-9, f"{selected_case}: {old} {new}"
    if new >= old - 1e-9:
        assert old == pytest.approx(new)
        return "same"
    return "less"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_search_never_raises_loss_or_breaks_model(name: str, model: str) -> None:
    """NULLs, weights, persons, joint columns, blocks of max_level, outliers."""
    rng = random.Random(f"{name} {model}")
    ends = Counter(
        check_search(with_random_weights(random_case(model, seed), rng), name, rng) for seed in range(70_000, 70_006)
    )
    assert ends["less"] + ends["same"] > 0


def test_search_lowers_loss_of_most_cases() -> None:
    rng = random.Random(3)
    ends = Counter(
        check_search(random_case(model, seed), "mondrian", rng) for seed in range(71_000, 71_010) for model in MODELS
    )
    assert ends["less"] > 2 * ends["same"] > 0, ends


# --- a larger table --------------------------------------------------------------------------------------------------


def people(n: int, seed: int = 0) -> ModelCase:
    """Return records of two numbers and a hierarchy with NULLs, and two sensitive columns."""
    rng = random.Random(seed)
    area = [row[0] for row in AREA]
    records = [(rng.randint(0, 60), rng.randint(0, 9), rng.choice([*area, None])) for _ in range(n)]
    values: list[tuple[Value, ...]] = [(rng.choice(["Flu", "HIV", "TB", None]), rng.choice("ab")) for _ in records]
    attributes: list[reference.Attribute] = [Number(), Number(), Category(reference.Tree(AREA))]
    return ModelCase(
        "people", attributes, [False, False, True], [None] * 3, records, ["disease", "plan"], values, None, {"k": 4}
    )  # fmt: skip


ASKED: list[dict[str, Any]] = [{"k": 4}, {"k": 4, "l": 2}, {"k": 3, "l": 2, "multi_sensitive": "joint"}]
"""One constraint for each way in which kernels judge groups."""


@pytest.mark.parametrize("model_arguments", ASKED, ids=str)
def test_moves_and_seed_determine_labels(model_arguments: dict[str, Any]) -> None:
    actual_people = replace(people(300), asked=model_arguments)
    for name in ("kacpc", "best"):
        assert run(actual_people, name, SearchBudget(700)) == run(actual_people, name, SearchBudget(700))
    values = {tuple(run(actual_people, "best", SearchBudget(700), seed=seed)[0]) for seed in range(4)}
    assert len(values) > 1, "another seed searches elsewhere"


@pytest.mark.parametrize("model_arguments", ASKED, ids=str)
def test_more_moves_continue_and_lose_no_more(model_arguments: dict[str, Any]) -> None:
    actual_people = replace(people(300), asked=model_arguments)
    losses = []
    for moves in (0, 100, 1_000, 10_000):
        budget = SearchBudget(moves)
        labels, order = run(actual_people, "kacpc", budget)
        losses.append(loss_of(actual_people, kept_classes(actual_people, order, labels), "top"))
        assert budget.n_moves_done == moves
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[2] > losses[3]


@pytest.mark.parametrize(("records", "limit", "moves"), [(40, 9, 1), (400, 9, 6), (400, 4, 4)])
def test_set_of_many_records_counts_as_several_moves(records: int, limit: int, moves: int) -> None:
    """With k = 5, one move more for every 80 records; never more than the limit."""
    attribute = NumericAttribute(np.arange(2.0), True)
    codes, counts = np.array([[0], [1]], np.int32), np.full(2, records // 2, np.int64)
    space = EncodedTable((attribute,), codes, counts, None, records)
    kernel_inputs = build_kernel_inputs(space, Constraint(5), "edges")
    classes = PackedClasses.from_labels(kernel_inputs, RunLengthLabels.from_labels(space, np.arange(records) % 2))
    output = PackedClasses.allocate(records, 5, 2)
    options = SweepOptions(2, 2, 30, 0, limit, 5, 9, 4096)
    state = np.ones(1, np.uint64)
    _, _, n_moves = sweep_classes(
        classes.arrays, options, np.zeros(0, np.int64), kernel_inputs.loss_arrays, *kernel_inputs.model,
        kernel_inputs.scratch, kernel_inputs.rank_orders, state, output.arrays,
    )  # fmt: skip
    assert n_moves == moves


@pytest.mark.parametrize("model_arguments", ASKED, ids=str)
def test_timed_search_equals_counted_moves(model_arguments: dict[str, Any]) -> None:
    actual_people = replace(people(300), asked=model_arguments)
    timed = SearchBudget(0, seconds=0.1)
    labels, _ = run(actual_people, "kacpc", timed)
    assert timed.n_moves_done > 0
    second_search_budget = SearchBudget(timed.n_moves_done)
    assert run(actual_people, "kacpc", second_search_budget)[0] == labels
    assert second_search_budget.n_moves_done == timed.n_moves_done


class InterruptingCheck:
    """A check that interrupts at its n-th call."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise errors.StatementInterruptedError("a test")


@pytest.mark.parametrize("model_arguments", ASKED, ids=str)
def test_interrupt_stops_search_or_keeps_best(model_arguments: dict[str, Any]) -> None:
    actual_people = replace(people(300), asked=model_arguments)
    counted_stop = InterruptingCheck(10**9)
    start, order = run(actual_people, "kacpc", SearchBudget(0), check=counted_stop)
    calls = 10**9 - counted_stop.left + 60
    moves = 50 * max(MOVES_PER_BATCH)
    with pytest.raises(errors.StatementInterruptedError):
        run(actual_people, "kacpc", SearchBudget(moves), check=InterruptingCheck(calls))
    stopped = SearchBudget(moves, keep_on_interrupt=True)
    labels, _ = run(actual_people, "kacpc", stopped, check=InterruptingCheck(calls))
    assert 0 < stopped.n_moves_done < moves
    assert run(actual_people, "kacpc", SearchBudget(stopped.n_moves_done))[0] == labels
    assert loss_of(actual_people, kept_classes(actual_people, order, labels), "top") < loss_of(
        actual_people, kept_classes(actual_people, order, start), "top"
    )
    assert actual_people.unmet(kept_classes(actual_people, order, labels)) == []


def test_search_reports_increasing_progress() -> None:
    result: list[tuple[float, float]] = []
    actual_people = people(300)
    start, order = run(actual_people, "mondrian", SearchBudget(0))
    labels, _ = run(
        actual_people, "mondrian", SearchBudget(2_000, on_progress=lambda done, saved: result.append((done, saved)))
    )
    losses = [
        loss_of(actual_people, kept_classes(actual_people, order, actual_start), "top")
        for actual_start in (start, labels)
    ]
    assert result[-1] == (1.0, pytest.approx(1 - losses[1] / losses[0]))
    assert result == sorted(result)


# --- tables in which there is little to find --------------------------------------------------------------------------


def case_from_columns(columns: Sequence[Sequence[Value]], k: int) -> ModelCase:
    attributes = [
        Category(reference.Tree(AREA)) if any(isinstance(v, str) for v in column) else Number() for column in columns
    ]
    records = list(zip(*columns, strict=True))
    n_columns, sensitive = len(columns), [()] * len(records)
    return ModelCase(
        "made", attributes, [False] * n_columns, [None] * n_columns, records, [], sensitive, None, {"k": k}
    )


LITTLE: dict[str, tuple[ModelCase, bool]] = {
    "a constant column": (case_from_columns([[7] * 20, list(range(20))], 3), True),
    "nothing but constant columns": (case_from_columns([[7] * 20, ["a1"] * 20], 3), False),
    "nothing but NULL": (case_from_columns([[None] * 20], 3), False),
    "one record": (case_from_columns([[1]], 1), False),
    "one class only": (case_from_columns([[1, 2, 3]], 3), False),
    "fewer than 2k": (case_from_columns([[1, 2, 3, 9, 9]], 3), False),
    "k above half of the table": (case_from_columns([list(range(11))], 6), False),
    "as many as 2k": (case_from_columns([[1, 5, 2, 6], ["a1", "c", "a1", "c"]], 2), True),
    "pairs of equal tuples": (case_from_columns([[1, 1, 2, 2, 3, 3]], 2), False),
}
"""Case, and whether a search can make moves."""


@pytest.mark.parametrize("name", ["kacpc", "mondrian", "kmember", "best"])
@pytest.mark.parametrize("table", LITTLE)
def test_search_of_degenerate_tables_never_raises_loss(table: str, name: str) -> None:
    code_table, possible = LITTLE[table]
    previous, order = run(code_table, name, SearchBudget(0))
    budget = SearchBudget(500)
    following, _ = run(code_table, name, budget)
    if not possible:
        assert budget.n_moves_done == 0 or loss_of(code_table, kept_classes(code_table, order, previous), "top") > 0
    assert code_table.unmet(kept_classes(code_table, order, following)) == []
    assert (
        loss_of(code_table, kept_classes(code_table, order, following), "top")
        <= loss_of(code_table, kept_classes(code_table, order, previous), "top") + 1e-12
    )
    if loss_of(code_table, kept_classes(code_table, order, previous), "top") == 0:
        assert (following, budget.n_moves_done) == (previous, 0), "what loses nothing is left"


def test_search_improves_all_distinct_numbers() -> None:
    """400 records of three continuous columns, k = 3."""
    random_ = np.random.default_rng(4)
    columns = random_.normal(size=(3, 400))
    kinds = [encoded_column(Number(), column.tolist()) for column in columns]
    built, _ = encoded_table.encode_table([a for a, _ in kinds], [c for _, c in kinds], np.zeros(400, np.uint64), None)
    losses = []
    for moves in (0, 5_000):
        labels = by_row.run_labels(
            algorithms.find("mdav"),
            built,
            Constraint(3),
            {"scale": "range"},
            refinement=algorithms.Refinement(budget=SearchBudget(moves)),
        )
        sizes = np.bincount(labels)
        assert sizes.min() >= 3
        tuples = built.codes.astype(np.int64)
        spans = [np.ptp(np.sort(columns[j])[tuples[:, j]][labels == c]) for c in range(len(sizes)) for j in range(3)]
        losses.append(float((np.repeat(sizes, 3) * spans / np.tile(np.ptp(columns, axis=1), len(sizes))).sum()))
    assert losses[1] < 0.97 * losses[0]


def test_search_keeps_k_persons_with_unknown_persons() -> None:
    """Three persons in all: k = 3 is one class however many records there are; no cut is possible."""
    copy = replace(case_from_columns([list(range(30))], 3), persons=[i % 3 if i % 5 else None for i in range(30)])
    budget = SearchBudget(300)
    labels, order = run(copy, "kacpc", budget)
    assert copy.unmet(kept_classes(copy, order, labels)) == []
    one_person_less = replace(copy, asked={"k": 4})
    assert one_person_less.unmet(kept_classes(copy, order, labels)) == ["k"]


def test_null_and_root_are_published_equally() -> None:
    """a1 and c, a2 and NULL: both clusters are `*`, one class for a reader."""
    result = case_from_columns([["a1", "c", "a2", None]], 2)
    built, order = model_tables.encode_case(result)
    cluster_of = {"a1": 0, "c": 0, "a2": 1, None: 1}
    labels = np.array([cluster_of[result.records[r][0]] for r in order], np.int64)  # type: ignore[index]
    assert len(set(unite_equal_classes(built, labels).tolist())) == 1


# --- in SQL ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def db() -> Any:
    connection = dbanon.attach(duckdb.connect())
    for name, rows in (("area", AREA), ("illness", ILLNESS), ("cause", CAUSE)):
        dbanon.load_hierarchy(connection, name, rows)
    yield connection
    connection.close()


def metrics(con: Any, function: str, arguments: dict[str, object], table: str = "t") -> dict[str, float]:
    call = call_text(f"{function}_metrics", arguments, table)
    return {name: value for name, value, *_ in con.execute(f"FROM {call}").fetchall()}


FORMS: list[dict[str, object]] = [
    {},
    {"loss_height": "sub"},
    {"intervals": "bounds"},
    {"rounding": {"q0": 10}},
    {"top": {"q0": 40}, "bottom": {"q0": 5}},
    {"suppress": 0.2},
]


def with_defaults(selected_case: ModelCase, name: str) -> ModelCase:
    """Return the case with the default constraint of the algorithm."""
    return replace(selected_case, asked={**algorithms.find(name).defaults, **selected_case.asked})


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", [n for n in ALGORITHMS if algorithms.find(n).ability(Widening) is None])
def test_improved_release_never_has_less_precision(db: Any, name: str) -> None:
    """Random tables in SQL, judged by the metric.

    q0 is a number here, and no number is missing: the metric is over the range of the published values, and where a
    class with a NULL publishes `*` that can be another.
    """
    rng = random.Random(name)
    ends: Counter[str] = Counter()
    for turn, form in enumerate(FORMS):
        model = rng.choice(list(MODELS))
        number = next(
            c
            for seed in range(80_000 + turn, 90_000, len(FORMS))
            for c in [with_defaults(random_case(model, seed, 2), name)]
            if isinstance(c.attributes[0], Number) and not missed_models(c, range(len(c.records)))
            if all(r[j] is not None for j, a in enumerate(c.attributes) if isinstance(a, Number) for r in c.records)
        )
        arguments = case_arguments(number, create_case_table(db, number)) | form
        arguments.pop("max_level", None)
        old_metrics = metrics(db, name, arguments | {"improve": 0})
        new_metrics = metrics(db, name, arguments | {"improve": 400})
        assert new_metrics["precision"] >= old_metrics["precision"] - 1e-12, (number, form)
        assert new_metrics["records"] == old_metrics["records"]
        assert new_metrics["k"] >= number.asked["k"]
        assert new_metrics.get("suppressed") == old_metrics.get("suppressed")
        ends["more" if new_metrics["precision"] > old_metrics["precision"] + 1e-12 else "same"] += 1
    assert sum(ends.values()) == len(FORMS)


@pytest.mark.not_everyday
def test_improve_accepts_dates_decimals_booleans_and_odd_names(db: Any) -> None:
    """Dates before 1970 with their grid of months, decimals, times, names in quotes and emoji; NULLs."""
    db.execute(
        """
        CREATE OR REPLACE TABLE "odd 😀 ""t" AS
        SELECT
            DATE '1890-01-01' + (hash(i) % 60000)::INTEGER AS "born 😀",
            CASE WHEN i % 17 > 0 THEN ((hash(i + 1) % 90000)::BIGINT / 100)::DECIMAL(18, 3) END AS "pay ""net",
            TIMESTAMP '2020-01-01' + INTERVAL (hash(i + 2) % 100000) MINUTE AS seen,
            hash(i + 3) % 2 = 0 AS "ok?",
            ['😀', 'ü', 'it''s', NULL][1 + (hash(i + 4) % 4)::INTEGER] AS "mood",
            hash(i + 5) % 3 AS disease
        FROM range(400) AS r (i)
        """
    )
    quasi = ["born 😀", 'pay "net', "seen", "ok?", "mood"]
    arguments: dict[str, object] = {"k": 4, "qi": quasi, "sensitive": ["disease"]}
    name = '"odd 😀 ""t"'
    for extra_parameters in ({}, {"intervals": "bounds"}, {"rounding": {"born 😀": "year", "seen": "none"}}, {"l": 2}):
        start = metrics(db, "mondrian", arguments | extra_parameters | {"improve": 0}, name)
        end = metrics(db, "mondrian", arguments | extra_parameters | {"improve": 3000}, name)
        best = metrics(db, "best", arguments | extra_parameters, name)
        assert end["precision"] > start["precision"]
        assert best["precision"] > start["precision"]
        assert end["k"] >= 4
        assert end["records"] == best["records"] == 400
    call = call_text("mondrian", arguments | {"improve": 3000}, name)
    rows = db.execute(f"SELECT count(*), count(DISTINCT disease) FROM {call}").fetchall()
    assert rows == [(400, 3)]


def test_improve_changes_nothing_for_empty_table(db: Any) -> None:
    db.execute("CREATE OR REPLACE TABLE nobody (age INTEGER, disease VARCHAR)")
    texts = []
    for extra_parameters in ({}, {"improve": 500}):
        call = call_text("kacpc", {"k": 2, "qi": ["age"], "sensitive": ["disease"], **extra_parameters}, "nobody")
        try:
            texts.append(str(db.execute(f"FROM {call}").fetchall()))
        except duckdb.Error as error:
            texts.append(str(error))
    assert texts[0] == texts[1]


def test_improved_release_independent_of_row_order(db: Any) -> None:
    db.execute("CREATE OR REPLACE TABLE up AS SELECT hash(i) % 50 AS a, hash(i + 1) % 7 AS b FROM range(300) AS r (i)")
    db.execute("CREATE OR REPLACE TABLE down AS FROM up ORDER BY b DESC, a")
    arguments: dict[str, object] = {"k": 4, "qi": ["a", "b"], "improve": 800}
    up, down = (db.execute(f"FROM {call_text('best', arguments, t)}").fetchall() for t in ("up", "down"))
    assert up == down
    dbanon.clear_cache(db)
    assert db.execute(f"FROM {call_text('best', arguments, 'up')}").fetchall() == up


def test_best_default_equals_40000_improve_moves(db: Any) -> None:
    db.execute("CREATE OR REPLACE TABLE t AS SELECT hash(i) % 90 AS a, hash(i + 1) % 40 AS b FROM range(500) AS r (i)")
    arguments: dict[str, object] = {"k": 5, "qi": ["a", "b"]}
    fast, same, none = (
        metrics(db, "best", arguments | extra_parameters)
        for extra_parameters in ({}, {"improve": 40_000}, {"improve": 0})
    )
    assert fast == same
    assert fast["precision"] > none["precision"]


@pytest.mark.parametrize("move_count", ["-1", "2.5", "'ten'", "true", "[5]", "'5'"])
@pytest.mark.parametrize("name", ["kacpc", "best"])
def test_invalid_move_count_raises_one_error(db: Any, name: str, move_count: str) -> None:
    db.execute("CREATE OR REPLACE TABLE t AS SELECT i AS a FROM range(20) AS r (i)")
    for form in ("improve := {}", "improve => {}"):
        with pytest.raises(duckdb.Error, match=rf"{name}: improve must be an integer of at least 0 \(a time such"):
            db.execute(f"FROM {name}('t', k := 2, qi := ['a'], {form.format(move_count)})").fetchall()


def test_null_improve_equals_default(db: Any) -> None:
    db.execute("CREATE OR REPLACE TABLE t AS SELECT i * i AS a FROM range(20) AS r (i)")
    rows = [db.execute(f"FROM kacpc('t', k := 2, qi := ['a']{m})").fetchall() for m in ("", ", improve := NULL")]
    assert rows[0] == rows[1]
