"""Datafly, Incognito and Samarati's search compared with all combinations of levels, and called in SQL."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle.lattice import Lattice
from support import by_row
from support.tables import SOME, Table, encoded, tables
from test_greedy import records

from dbanon import algorithms
from dbanon.algorithms.base.registry import MAX_SUPPRESSED
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def partition(name: str, made: EncodedTable, k: int, most: int) -> list[list[int]]:
    labels = by_row.labels(algorithms.find(name).run(made, Constraint(k), {MAX_SUPPRESSED: most}, lambda: None))
    return sorted(np.flatnonzero(labels == c).tolist() for c in set(labels.tolist()) - {-1})


def small(table: Table) -> tuple[EncodedTable, Lattice, int]:
    actual_records = records(encoded(table).space)
    k = min(max(table.k, 2), actual_records.rows)
    return actual_records, Lattice(actual_records, k), k


@given(tables(), st.integers(0, 3))
@SOME
def test_incognito_finds_minimal_sum_of_levels(table: Table, most: int) -> None:
    encoded_table, lattice, k = small(table)
    if encoded_table.rows < 2:
        return
    passing = [n for n in lattice.nodes() if len(lattice.out(n)) <= most]
    minimum = min(map(lattice.sum, passing))
    assert partition("incognito", encoded_table, k, most) in [
        lattice.partition(n) for n in passing if lattice.sum(n) == minimum
    ]


@given(tables(), st.integers(0, 3))
@SOME
def test_samarati_finds_minimal_height(table: Table, most: int) -> None:
    encoded_table, lattice, k = small(table)
    if encoded_table.rows < 2:
        return
    passing = [n for n in lattice.nodes() if len(lattice.out(n)) <= most]
    minimum = min(map(sum, passing))
    assert partition("samarati", encoded_table, k, most) in [lattice.partition(n) for n in passing if sum(n) == minimum]


@given(tables(), st.integers(0, 3))
@SOME
def test_datafly_raises_what_the_plain_loop_raises(table: Table, most: int) -> None:
    encoded_table, lattice, k = small(table)
    if encoded_table.rows >= 2:
        actual_partition = partition("datafly", encoded_table, k, most)
        assert actual_partition == lattice.datafly(most)
        assert encoded_table.rows - sum(map(len, actual_partition)) <= most


@pytest.fixture
def people(con: Any) -> Any:
    con.execute("""CREATE TABLE people AS
        SELECT CASE WHEN i = 59 THEN 90 ELSE 20 + (i * 7) % 16 END AS age, ['F', 'M'][1 + i % 2] AS sex,
            ['0213', '0214', '0311', '0312'][1 + i % 4] AS zip,
            ['Flu', 'Cold', 'Ache', 'HIV', 'Gout'][1 + i % 5] AS disease
        FROM range(60) AS r (i)""")
    return con


ASKED = "('people', k=5, qi=['age', 'sex', 'zip'], sensitive=['disease']{})"
EACH = ["datafly", "incognito", "samarati"]


def numbers(con: Any, call: str) -> dict[str, float]:
    return dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())


@pytest.mark.parametrize("name", EACH)
def test_a_column_is_published_on_one_level(people: Any, name: str) -> None:
    """Intervals of a column do not overlap, and all but the last hold the same number of values."""
    rows = people.execute(f"SELECT DISTINCT age FROM {name}{ASKED.format('')}").fetchall()
    ends = sorted(tuple(map(int, age.strip("[]").split(", "))) if ", " in age else (int(age),) * 2 for (age,) in rows)
    assert all(high < low for (_, high), (low, _) in pairwise(ends))
    tight = people.execute(f"""SELECT DISTINCT age FROM {name}{ASKED.format(", recoding='tight'")}""").fetchall()
    assert len(tight) >= len(rows)


@pytest.mark.parametrize("name", EACH)
def test_built_levels_are_told(people: Any, name: str) -> None:
    assert numbers(people, f"{name}_metrics{ASKED.format('')}")["columns_with_derived_levels"] == 1
    assert "columns_with_derived_levels" not in numbers(people, f"kacpc_metrics{ASKED.format('')}")


def test_datafly_suppresses_at_most_k_records(people: Any) -> None:
    by_default = numbers(people, f"datafly_metrics{ASKED.format('')}")
    assert 0 < by_default["suppressed"] <= 5
    none = numbers(people, f"datafly_metrics{ASKED.format(', most=0')}")
    assert none["suppressed"] == 0
    assert none["precision"] < by_default["precision"]
    share = numbers(people, f"datafly_metrics{ASKED.format(', most=60, suppress=0.02')}")
    assert share["suppressed"] <= 1
    remaining_rows = people.execute(
        f"SELECT size FROM datafly_classes{ASKED.format('')} WHERE suppressed = 'outlier'"
    ).fetchall()
    assert remaining_rows == [(by_default["suppressed"],)]
    assert people.execute(f"SELECT count(*) FROM datafly{ASKED.format('')}").fetchall() == [
        (60 - remaining_rows[0][0],)
    ]


@pytest.mark.parametrize("name", ["incognito", "samarati"])
def test_others_suppress_only_if_allowed(people: Any, name: str) -> None:
    nobody = numbers(people, f"{name}_metrics{ASKED.format('')}")
    sample_numbers = numbers(people, f"{name}_metrics{ASKED.format(', suppress=0.05')}")
    assert nobody["suppressed"] == 0
    assert 0 < sample_numbers["suppressed"] <= 3
    assert sample_numbers["precision"] > nobody["precision"]
    assert numbers(people, f"{name}_metrics{ASKED.format(', suppress=0.05, most=0')}") == {
        **nobody,
        "suppressed": 0,
    }


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("more", [", l=3", ", t=0.3", ", suppress=0.1, l=3", ", max_level={'zip': 0}"])
def test_each_meets_the_model(people: Any, name: str, more: str) -> None:
    call = f"{name}_classes{ASKED.format(more)}"
    sizes = people.execute(f"SELECT size, len(disease) FROM {call} WHERE class_id IS NOT NULL").fetchall()
    assert min(size for size, _ in sizes) >= 5
    assert "l=3" not in more or min(values for _, values in sizes) >= 3


def test_wrong_bounds_are_refused(people: Any) -> None:
    with pytest.raises(duckdb.Error, match="max_suppressed must be"):
        people.execute(f"FROM datafly{ASKED.format(', max_suppressed=-1')}")
    with pytest.raises(duckdb.Error, match="recoding must be one of 'full', 'tight', got 'global'"):
        people.execute(f"""FROM samarati{ASKED.format(", recoding='global'")}""")
