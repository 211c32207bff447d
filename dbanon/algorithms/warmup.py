"""Compile in advance what the algorithms can need: each algorithm runs on small synthetic tables."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dbanon.algorithms.base.registry import Algorithm, Options, OwnSearch
from dbanon.algorithms.postprocess.improve import SearchBudget
from dbanon.algorithms.runner import Refinement, run_algorithm
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute
from dbanon.encoding.nearest_queries import MAX_TABLE_ENTRIES
from dbanon.encoding.tuple_index import MAX_TABULAR_VALUES
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import model_requirements
from dbanon.table_functions.parameter_types import Choice

ROWS = MAX_TABULAR_VALUES + 44
"""Enough rows for numbers with more values than tables are used for."""

SMALL_TABLE_K = 30
"""The k of the runs: few clusters, so that only compiling takes time."""

MODELS: Mapping[str, Mapping[str, object]] = {"": {}, "l": {"l": 2}, "t": {"t": 0.9, "ground_distance": "hierarchical"}}
"""Privacy models of the runs: kernels are compiled with and without sensitive values, with and without a distance."""


def warmup_steps(algorithms: Sequence[Algorithm]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield steps that compile the kernels of the algorithms: (description, function that runs an algorithm once).

    There are steps for tables with few and many values, with and without persons, and with several privacy models. Each
    choice of the algorithm's own options has a step without persons and models.
    """
    kinds = [(_sample_table(many, persons), many, persons) for many in (False, True) for persons in (False, True)]
    for algorithm in algorithms:
        for table, many, persons in kinds:
            for name, model_options in MODELS.items():
                limits = Constraint(SMALL_TABLE_K, model_requirements("warmup", "a table", model_options, ["d"]))
                with_ = [
                    *([name] if name else []),
                    *(["persons"] if persons else []),
                    *(["many values"] if many else []),
                ]
                step = algorithm.name + (f" with {', '.join(with_)}" if with_ else "")
                for options in _option_sets(algorithm, all_choices=not name and not persons):
                    yield step, partial(_run_once, algorithm, table, limits, options)
        if algorithm.ability(OwnSearch):
            yield from _least_squares_steps(algorithm)
        default = next(_option_sets(algorithm, all_choices=False))
        yield (
            f"{algorithm.name} with many categories",
            partial(_run_once, algorithm, _many_categories_table(), Constraint(SMALL_TABLE_K), default),
        )


def _run_once(
    algorithm: Algorithm, table: EncodedTable, limits: Constraint, options: Options, objective: str = "precision"
) -> None:
    """Run an algorithm on a table, with a search of one move if it has its own search, so that kernels are compiled.

    Args:
        algorithm: The algorithm.
        table: The table.
        limits: The constraint.
        options: The algorithm's own parameters.
        objective: The metric that the search lowers.
    """
    refinement = Refinement(budget=SearchBudget(1) if algorithm.ability(OwnSearch) else None, objective=objective)
    run_algorithm(algorithm, table, limits, options, refinement=refinement)


def _least_squares_steps(algorithm: Algorithm) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield steps for the search that lowers the squared error (objective 'sse'), on tables of numbers only."""
    options = next(_option_sets(algorithm, all_choices=False))
    for persons in (False, True):
        sample = _sample_table(True, persons)
        table = replace(sample, attributes=sample.attributes[:2], codes=np.ascontiguousarray(sample.codes[:, :2]))
        for name, model_options in MODELS.items():
            limits = Constraint(SMALL_TABLE_K, model_requirements("warmup", "a table", model_options, ["d"]))
            with_ = " and ".join([*([name] if name else []), *(["persons"] if persons else [])])
            step = f"{algorithm.name} with least squares" + (f", {with_}" if with_ else "")
            yield step, partial(_run_once, algorithm, table, limits, options, "sse")


def _option_sets(algorithm: Algorithm, all_choices: bool) -> Iterator[Mapping[str, object]]:
    """Yield the default options of an algorithm.

    With `all_choices`, also yield those with each other choice of one option.
    """
    default = {p.name: p.default for p in algorithm.own_parameters}
    yield default
    if all_choices:
        choices = (
            (p, choice) for p in algorithm.own_parameters if isinstance(p.kind, Choice) for choice in p.kind.words
        )
        yield from ({**default, p.name: choice} for p, choice in choices if choice != p.default)


def _sample_table(with_many_values: bool, with_persons: bool) -> EncodedTable:
    """Return a small table of two numbers, a category and a sensitive column.

    With `with_many_values` the numbers have more values than a distance table holds.
    """
    row = np.arange(ROWS)
    values = (ROWS, ROWS) if with_many_values else (7, 5)
    numbers = [
        NumericAttribute(np.arange(n, dtype=float), integral=True, magnitudes=np.arange(n, dtype=float)) for n in values
    ]
    tree = CategoricalAttribute(np.array([-1, 0, 1, 1, 0, 4, 4], np.int32), np.array([2, 3, 5, 6], np.int32))
    columns = [
        (row * 5 % values[0]).astype(np.int32),
        (row * 11 % values[1]).astype(np.int32),
        (row % 4).astype(np.int32),
    ]
    return encoded_table.encode_table(
        [*numbers, tree],
        columns,
        row.astype(np.uint64),
        (row // 3) if with_persons else None,
        None,
        [((row // 2 % 4).astype(np.int32), 4, tree)],
    )[0]


def _many_categories_table() -> EncodedTable:
    """Return a small table of a sensitive column and a categorical attribute with too many values for a distance table.

    Algorithms compute the distances of such an attribute with other kernels, which must be compiled too.
    """
    row, values = np.arange(ROWS), math.isqrt(MAX_TABLE_ENTRIES) + 1
    tree = CategoricalAttribute(np.array([-1, *[0] * values], np.int32), np.arange(1, values + 1, dtype=np.int32))
    return encoded_table.encode_table(
        [tree], [(row * 7).astype(np.int32)], row.astype(np.uint64), None, None, [((row % 4).astype(np.int32), 4, None)]
    )[0]
