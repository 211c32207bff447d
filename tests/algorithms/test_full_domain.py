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
from support.tables import SOME, Table, encode_records, tables
from test_greedy import records

from dbanon import algorithms
from dbanon.algorithms.base.registry import MAX_SUPPRESSED
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def partition(name: str, table: EncodedTable, k: int, max_suppressed: int) -> list[list[int]]:
    labels = by_row.labels(
        algorithms.find(name).run(table, Constraint(k), {MAX_SUPPRESSED: max_suppressed}, lambda: None)
    )
    return sorted(np.flatnonzero(labels == c).tolist() for c in set(labels.tolist()) - {-1})


def small_case(table: Table) -> tuple[EncodedTable, Lattice, int]:
    actual_records = records(encode_records(table).space)
    k = min(max(table.k, 2), actual_records.rows)
    return actual_records, Lattice(actual_records, k), k


@given(tables(), st.integers(0, 3))
@SOME
def test_incognito_finds_minimal_sum_of_levels(table: Table, max_suppressed: int) -> None:
    encoded_table, lattice, k = small_case(table)
    if encoded_table.rows < 2:
        return
    passing = [n for n in lattice.nodes() if len(lattice.out(n)) <= max_suppressed]
    minimum = min(map(lattice.sum, passing))
    assert partition("incognito", encoded_table, k, max_suppressed) in [
        lattice.partition(n) for n in passing if lattice.sum(n) == minimum
    ]


@given(tables(), st.integers(0, 3))
@SOME
def test_samarati_finds_minimal_height(table: Table, max_suppressed: int) -> None:
    encoded_table, lattice, k = small_case(table)
    if encoded_table.rows < 2:
        return
    passing = [n for n in lattice.nodes() if len(lattice.out(n)) <= max_suppressed]
    minimum = min(map(sum, passing))
    assert partition("samarati", encoded_table, k, max_suppressed) in [
        lattice.partition(n) for n in passing if sum(n) == minimum
    ]


@given(tables(), st.integers(0, 3))
@SOME
def test_datafly_raises_same_levels_as_plain_loop(table: Table, max_suppressed: int) -> None:
    encoded_table, lattice, k = small_case(table)
    if encoded_table.rows >= 2:
        actual_partition = partition("datafly", encoded_table, k, max_suppressed)
        assert actual_partition == lattice.datafly(max_suppressed)
        assert encoded_table.rows - sum(map(len, actual_partition)) <= max_suppressed


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


def metric_values(con: Any, call: str) -> dict[str, float]:
    return dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())


@pytest.mark.parametrize("name", EACH)
def test_full_domain_column_is_published_on_one_level(people: Any, name: str) -> None:
    """Intervals of a column do not overlap, and all but the last hold the same number of values."""
    rows = people.execute(f"SELECT DISTINCT age FROM {name}{ASKED.format('')}").fetchall()
    ends = sorted(tuple(map(int, age.strip("[]").split(", "))) if ", " in age else (int(age),) * 2 for (age,) in rows)
    assert all(high < low for (_, high), (low, _) in pairwise(ends))
    tight = people.execute(f"""SELECT DISTINCT age FROM {name}{ASKED.format(", recoding='tight'")}""").fetchall()
    assert len(tight) >= len(rows)


@pytest.mark.parametrize("name", EACH)
def test_derived_levels_are_counted_in_metrics(people: Any, name: str) -> None:
    assert metric_values(people, f"{name}_metrics{ASKED.format('')}")["columns_with_derived_levels"] == 1
    assert "columns_with_derived_levels" not in metric_values(people, f"kacpc_metrics{ASKED.format('')}")


def test_datafly_suppresses_at_most_k_records(people: Any) -> None:
    by_default = metric_values(people, f"datafly_metrics{ASKED.format('')}")
    assert 0 < by_default["suppressed"] <= 5
    none = metric_values(people, f"datafly_metrics{ASKED.format(', max_suppressed=0')}")
    assert none["suppressed"] == 0
    assert none["precision"] < by_default["precision"]
    share = metric_values(people, f"datafly_metrics{ASKED.format(', max_suppressed=60, suppress=0.02')}")
    assert share["suppressed"] <= 1
    remaining_rows = people.execute(
        f"SELECT size FROM datafly_classes{ASKED.format('')} WHERE suppressed = 'outlier'"
    ).fetchall()
    assert remaining_rows == [(by_default["suppressed"],)]
    assert people.execute(f"SELECT count(*) FROM datafly{ASKED.format('')}").fetchall() == [
        (60 - remaining_rows[0][0],)
    ]


@pytest.mark.parametrize("name", ["incognito", "samarati"])
def test_incognito_and_samarati_suppress_only_if_allowed(people: Any, name: str) -> None:
    nobody = metric_values(people, f"{name}_metrics{ASKED.format('')}")
    sample_numbers = metric_values(people, f"{name}_metrics{ASKED.format(', suppress=0.05')}")
    assert nobody["suppressed"] == 0
    assert 0 < sample_numbers["suppressed"] <= 3
    assert sample_numbers["precision"] > nobody["precision"]
    assert metric_values(people, f"{name}_metrics{ASKED.format(', suppress=0.05, max_suppressed=0')}") == {
        **nobody,
        "suppressed": 0,
    }


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("extra_arguments", [", l=3", ", t=0.3", ", suppress=0.1, l=3", ", max_level={'zip': 0}"])
def test_full_domain_classes_meet_model(people: Any, name: str, extra_arguments: str) -> None:
    call = f"{name}_classes{ASKED.format(extra_arguments)}"
    sizes = people.execute(f"SELECT size, len(disease) FROM {call} WHERE class_id IS NOT NULL").fetchall()
    assert min(size for size, _ in sizes) >= 5
    assert "l=3" not in extra_arguments or min(values for _, values in sizes) >= 3


def test_invalid_max_suppressed_and_recoding_refused(people: Any) -> None:
    with pytest.raises(duckdb.Error, match="max_suppressed must be"):
        people.execute(f"FROM datafly{ASKED.format(', max_suppressed=-1')}")
    with pytest.raises(duckdb.Error, match="recoding must be one of 'full', 'tight', got 'global'"):
        people.execute(f"""FROM samarati{ASKED.format(", recoding='global'")}""")
