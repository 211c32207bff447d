"""Clusters as runs of tuples: equal to one label per record, without an array per record where only k is asked."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from support.tables import SOME

from dbanon import algorithms
from dbanon.algorithms.base.assignments import RunLengthLabels, intersect_partitions
from dbanon.algorithms.base.registry import Algorithm
from dbanon.encoding.encoded_table import EncodedTable, Ints, NumericAttribute
from dbanon.privacy_models.constraint import Constraint

counts = st.lists(st.integers(1, 5), min_size=1, max_size=6)


def numbers(counts: list[int]) -> EncodedTable:
    """Return a table of one number per tuple, with `counts[i]` records of tuple i."""
    codes = np.arange(len(counts), dtype=np.int32).reshape(-1, 1)
    attribute = NumericAttribute(np.arange(len(counts)).astype(np.float64), True)
    return EncodedTable((attribute,), codes, np.array(counts, np.int64), None, sum(counts))


@given(counts, st.integers(0, 10**6))
@SOME
def test_run_lengths_expand_to_labels(counts: list[int], seed: int) -> None:
    space = numbers(counts)
    labels = np.random.default_rng(seed).integers(-1, 3, space.rows)
    runs = RunLengthLabels.from_labels(space, labels)
    assert runs.labels().tolist() == labels.tolist()
    assert runs.n_records == space.rows
    assert np.bincount(runs.tuples, runs.counts).tolist() == counts
    same = runs.tuples[1:] == runs.tuples[:-1]
    assert (runs.clusters[1:] != runs.clusters[:-1])[same].all(), "no two neighbours could be one"
    assert runs.has_no_suppressed == bool((labels >= 0).all())
    repeated = RunLengthLabels.from_runs(space.tuple_of, labels, np.ones(space.rows, np.int64))
    assert [a.tolist() for a in (repeated.tuples, repeated.clusters, repeated.counts)] == [
        a.tolist() for a in (runs.tuples, runs.clusters, runs.counts)
    ]


def test_runs_of_tuple_keep_order() -> None:
    runs = RunLengthLabels.from_runs(
        *(np.array(column) for column in ([1, 0, 1, 1, 0], [5, 7, 6, 6, 3], [2, 1, 1, 3, 2]))
    )
    assert runs.tuples.tolist() == [0, 0, 1, 1]
    assert runs.clusters.tolist() == [7, 3, 5, 6]
    assert runs.counts.tolist() == [1, 2, 2, 4]


@given(counts, st.integers(0, 10**6))
@SOME
def test_intersected_partitions_cover_both_inputs(first: list[int], seed: int) -> None:
    total, ends = sum(first), np.random.default_rng(seed).random(sum(first)) < 0.4
    ends[-1] = True
    second = np.diff(np.append(-1, np.flatnonzero(ends)))
    pieces, of_first, of_second = intersect_partitions(np.array(first), second)
    assert np.repeat(of_first, pieces).tolist() == np.repeat(np.arange(len(first)), first).tolist()
    assert np.repeat(of_second, pieces).tolist() == np.repeat(np.arange(len(second)), second).tolist()
    assert pieces.sum() == total


def test_suppressed_records_stay_suppressed_on_reassignment() -> None:
    """Tuple 0 has records a b c d, of which b and c are suppressed; tuple 1 has e f g, of which e is."""
    previous = RunLengthLabels.from_labels(numbers([4, 3]), np.array([0, -1, -1, 0, -1, 1, 1]))
    following = previous.reassigned(
        RunLengthLabels.from_runs(np.array([0, 0, 1]), np.array([4, 5, 4]), np.array([1, 1, 2]))
    )
    assert following.labels().tolist() == [4, -1, -1, 5, -1, 4, 4]


def test_runs_subset_renumbers_tuples() -> None:
    runs = RunLengthLabels.from_labels(numbers([2, 1, 3]), np.array([0, 1, 1, 2, 2, 0]))
    sample_subset = runs.subset(np.array([0, 2]), 3)
    assert (sample_subset.tuples.tolist(), sample_subset.labels().tolist()) == ([0, 0, 1, 1], [0, 1, 2, 2, 0])


@pytest.mark.parametrize(
    "name", ["kacpc", "ikac", "mdav", "kmember", "gaa_cp", "mondrian", "ldiversity_mondrian", "best"]
)
@pytest.mark.parametrize(
    "refinement_options", [{}, {"max_suppressed_share": 0.1}, {"budget": algorithms.SearchBudget(50)}]
)
def test_k_anonymity_allocates_no_array_per_record(
    name: str, refinement_options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With k alone, no array has one entry per record."""
    monkeypatch.setattr(EncodedTable, "tuple_of", property(lambda _: pytest.fail("an array a record")))
    monkeypatch.setattr(RunLengthLabels, "labels", lambda _: pytest.fail("an array a record"))
    monkeypatch.setattr(EncodedTable, "with_reference_rows", lambda *_: pytest.fail("an array a record"))
    space = numbers(np.random.default_rng(2).integers(1, 12, 40).tolist())
    algorithm = algorithms.find(name)
    options = {p.name: p.default for p in algorithm.own_parameters} | (
        {"base": "incognito"} if name.startswith("l") else {}
    )
    runs = algorithms.run_algorithm(
        algorithm, space, Constraint(4), options, refinement=algorithms.Refinement(**refinement_options)
    )
    assert np.bincount(runs.tuples, runs.counts).tolist() == space.counts.tolist()
    remaining = runs.clusters >= 0
    assert np.bincount(runs.clusters[remaining], runs.counts[remaining]).min() >= 4


def test_algorithm_must_label_every_record() -> None:
    space = numbers([2, 3])
    wrong: list[RunLengthLabels | Ints] = [
        RunLengthLabels.from_runs(np.array([0, 1]), np.array([0, 0]), np.array([2, 2])),
        RunLengthLabels.from_runs(np.array([0, 1]), np.array([0, -1]), np.array([2, 3])),
        np.zeros(4, np.int64),
        np.array([0, 0, 0, 0, -1]),
    ]
    for result in wrong:
        algorithm = Algorithm(
            name="wrong", title="", family="", source="", evidence="", deterministic=True, complexity="",
            run=lambda *_, found=result: found,  # type: ignore[misc]
        )  # fmt: skip
        with pytest.raises(ValueError, match=r"wrong (returned|gave)"):
            algorithms.run_algorithm(algorithm, space, Constraint(2), {})


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", ["kacpc", "kmember", "mondrian"])
def test_memory_grows_with_tuples_not_records(name: str) -> None:
    """50 million records of 20,000 tuples at k = 20,000: an array of one number per record would take 400 MB."""
    script = f"""
        import resource, numpy as np
        from dbanon import algorithms
        from dbanon.privacy_models.constraint import Constraint
        from dbanon.encoding import encoded_table
        codes = np.array([(a, b) for a in range(200) for b in range(100)], np.int32)
        kinds = tuple(encoded_table.NumericAttribute(np.arange(n).astype(float), True) for n in (200, 100))
        algorithm = algorithms.find({name!r})
        options = {{p.name: p.default for p in algorithm.own_parameters}}
        for records in (2, 2500):
            counts = np.full(len(codes), records, np.int64)
            made = encoded_table.EncodedTable(kinds, codes, counts, None, int(counts.sum()))
            algorithms.run_algorithm(algorithm, made, Constraint(8 * records), options)
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """
    completed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    subset, many_result = map(int, completed.stdout.split())
    assert many_result - subset < 50 * 1024, "KiB"
