"""Compiles what the algorithms can need before anybody waits for it: each algorithm on small made-up tables."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dbanon.algorithms.base.registry import Algorithm, Options, OwnSearch
from dbanon.algorithms.postprocess.improve import Budget
from dbanon.algorithms.runner import Refinement, run
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute
from dbanon.encoding.nearest_queries import MAX_TABLE_ENTRIES
from dbanon.encoding.tuple_index import MAX_TABULAR_VALUES
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import demands
from dbanon.table_functions.parameter_types import Choice

ROWS = MAX_TABULAR_VALUES + 44
"""Enough for numbers that have more values than are asked by table."""

K = 30
"""Few clusters: all but the compiling is quick."""

MODELS: Mapping[str, Mapping[str, object]] = {"": {}, "l": {"l": 2}, "t": {"t": 0.9, "emd": "hierarchical"}}
"""What is asked of sensitive values: kernels are compiled with and without values, with and without a distance."""


def steps(chosen: Sequence[Algorithm]) -> Iterator[tuple[str, Callable[[], None]]]:
    """What needs to be compiled, and what compiles it."""
    kinds = [(_table(many, persons), many, persons) for many in (False, True) for persons in (False, True)]
    for algorithm in chosen:
        for table, many, persons in kinds:
            for name, asked in MODELS.items():
                limits = Constraint(K, demands("warmup", "a table", asked, ["d"]))
                with_ = [
                    *([name] if name else []),
                    *(["persons"] if persons else []),
                    *(["many values"] if many else []),
                ]
                step = algorithm.name + (f" with {', '.join(with_)}" if with_ else "")
                for options in _options(algorithm, others=not name and not persons):
                    yield step, partial(_clustered, algorithm, table, limits, options)
        if algorithm.ability(OwnSearch):
            yield from _squares(algorithm)
        default = next(_options(algorithm, others=False))
        yield f"{algorithm.name} with many categories", partial(_clustered, algorithm, _wide(), Constraint(K), default)


def _clustered(
    algorithm: Algorithm, table: EncodedTable, limits: Constraint, options: Options, objective: str = "precision"
) -> None:
    budget = Budget(1) if algorithm.ability(OwnSearch) else None
    run(algorithm, table, limits, options, refinement=Refinement(budget=budget, objective=objective))


def _squares(algorithm: Algorithm) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the search for the least squares, which is of numbers alone."""
    options = next(_options(algorithm, others=False))
    for persons in (False, True):
        made = _table(True, persons)
        table = replace(made, attributes=made.attributes[:2], codes=np.ascontiguousarray(made.codes[:, :2]))
        for name, asked in MODELS.items():
            limits = Constraint(K, demands("warmup", "a table", asked, ["d"]))
            with_ = " and ".join([*([name] if name else []), *(["persons"] if persons else [])])
            step = f"{algorithm.name} with least squares" + (f", {with_}" if with_ else "")
            yield step, partial(_clustered, algorithm, table, limits, options, "sse")


def _options(algorithm: Algorithm, others: bool) -> Iterator[Mapping[str, object]]:
    """Yield the options of an algorithm as they are where none is given; `others`: and with each other choice."""
    default = {p.name: p.default for p in algorithm.own}
    yield default
    for parameter in algorithm.own if others else ():
        if isinstance(parameter.kind, Choice):
            for choice in parameter.kind.words:
                if choice != parameter.default:
                    yield {**default, parameter.name: choice}


def _table(many: bool, persons: bool) -> EncodedTable:
    """Return two numbers, of more values than are asked by table if `many`, a category, and a sensitive column."""
    at = np.arange(ROWS)
    values = (ROWS, ROWS) if many else (7, 5)
    numbers = [
        NumericAttribute(np.arange(n, dtype=float), integral=True, magnitudes=np.arange(n, dtype=float)) for n in values
    ]
    tree = CategoricalAttribute(np.array([-1, 0, 1, 1, 0, 4, 4], np.int32), np.array([2, 3, 5, 6], np.int32))
    columns = [(at * 5 % values[0]).astype(np.int32), (at * 11 % values[1]).astype(np.int32), (at % 4).astype(np.int32)]
    sensitive = (at // 2 % 4).astype(np.int32)
    made, _ = encoded_table.encode_table(
        [*numbers, tree],
        columns,
        at.astype(np.uint64),
        (at // 3) if persons else None,
        None,
        [(sensitive, 4, tree)],
    )
    return made


def _wide() -> EncodedTable:
    """Return a category of so many values that their distances have no table, and a sensitive column."""
    at, values = np.arange(ROWS), math.isqrt(MAX_TABLE_ENTRIES) + 1
    tree = CategoricalAttribute(np.array([-1, *[0] * values], np.int32), np.arange(1, values + 1, dtype=np.int32))
    sensitive = [((at % 4).astype(np.int32), 4, None)]
    made, _ = encoded_table.encode_table(
        [tree], [(at * 7).astype(np.int32)], at.astype(np.uint64), None, None, sensitive
    )
    return made
