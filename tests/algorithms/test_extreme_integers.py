"""Integer parameters of every algorithm, static and stream, with extreme values: a result or an error of dbanon."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pytest

import dbanon
from dbanon import algorithms
from dbanon.algorithms.base import registry
from dbanon.algorithms.nearest_neighbour.gccg import parts_by_score
from dbanon.algorithms.streams import registry as stream_registry
from dbanon.table_functions.parameter_types import Integer, MoveCount, PerColumn

K, N = 3, 12
EXTREME = (0, 1, N // K + 1, N, 10**9, 2**31 - 1, 2**63 - 1)
NOT_OURS = re.compile(r"release gate|defect|Traceback|Python exception|INTERNAL", re.IGNORECASE)
SEARCHES = ("improve",)
"""Parameters that bound the duration of a search: their greatest values are expected to take long."""


def own_integers() -> Iterator[tuple[str, str]]:
    """Return function and name of every integer parameter; parameters common to all functions occur once."""
    known_values = set()
    for algorithm in (*registry.algorithms(), *stream_registry.streams()):
        is_stream = not isinstance(algorithm, algorithms.Algorithm)
        for parameter in algorithm.parameters:
            key = (
                (is_stream, parameter.name)
                if parameter not in algorithm.own_parameters
                else (algorithm.name, parameter.name)
            )
            kind = parameter.kind.value_type if isinstance(parameter.kind, PerColumn) else parameter.kind
            if isinstance(kind, (Integer, MoveCount)) and parameter.name not in SEARCHES and key not in known_values:
                known_values.add(key)
                yield algorithm.name, parameter.name


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    connection = cluster_table()
    yield connection
    connection.close()


def cluster_table() -> Any:
    """Return a connection with table t (12 records with ties and NULLs) and a hierarchy h of z."""
    connection = duckdb.connect()
    dbanon.attach(connection)
    connection.execute(f"""CREATE TABLE t AS SELECT
        range::INTEGER AS r, [7, 7, 7, 7, 7, 7, 2, 2, 3, 1, 4, 1000000][range + 1] AS a,
        ['a', 'b', 'c', 'd'][1 + range % 4] AS z, ['x', 'y', 'w'][1 + range % 3] AS s,
        CASE WHEN range % 5 = 0 THEN NULL ELSE range * 1.5 END AS f
        FROM range({N})""")
    connection.execute("""INSERT INTO dbanon.hierarchy (name, node, parent, label, position) VALUES
        ('h', 'r', NULL, '*', 0), ('h', 'i', 'r', 'ab', 1), ('h', 'j', 'r', 'cd', 2),
        ('h', '1', 'i', 'a', 3), ('h', '2', 'i', 'b', 4), ('h', '3', 'j', 'c', 5), ('h', '4', 'j', 'd', 6)""")
    return connection


@pytest.mark.parametrize(("name", "parameter"), list(own_integers()))
def test_extreme_integers_give_rows_or_own_error(table: Any, name: str, parameter: str) -> None:
    """One value at a time; a call is interrupted after 20 seconds, which fails too."""
    is_stream = name in {stream.name for stream in stream_registry.streams()}
    arguments = "qi := ['a', 'z', 'f'], sensitive := ['s'], hierarchies := {'z': 'h'}, "
    arguments += "" if parameter == "k" else f"k := {K}, "
    arguments += "order_by := 'r', " if is_stream else ""
    arguments += "delta := 6, " if is_stream and parameter != "delta" else ""
    for value in EXTREME:
        text = f"{{'z': {value}}}" if parameter in ("min_level", "max_level") else value
        timer = threading.Timer(20, table.interrupt)
        timer.start()
        try:
            table.execute(f"FROM {name}('t', {arguments}{parameter} := {text})").fetchall()
        except duckdb.Error as error:
            assert str(error).startswith(f"Invalid Input Error: {name}: "), f"{parameter} = {value}: {error}"
            assert not NOT_OURS.search(str(error)), f"{parameter} = {value}: {error}"
        finally:
            timer.cancel()


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5, 12, 100_000])
@pytest.mark.parametrize("counts", [[1] * 12, [12], [1, 11], [11, 1], [5, 1, 5, 1], [1, 1], [3, 3, 3, 3]])
@pytest.mark.all_cases
def test_gccg_parts_have_at_least_k_records(parts: int, counts: list[int]) -> None:
    part_of = parts_by_score(np.array(counts), parts, K)
    sizes = np.bincount(part_of, weights=counts)
    assert len(sizes) <= parts
    assert (sizes >= min(K, sum(counts))).all()
    assert (np.diff(part_of) >= 0).all()
