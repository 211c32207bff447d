"""KACA against a plain loop over all classes, its distance as the paper has it, and as a user types it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import merge as slow
from support.tables import SOME, Table, tables
from test_gather import alike, found, small, with_unit

from dbanon.cluster.schemes.merge.ladders import shares


def test_the_distance_is_that_of_the_worked_numbers() -> None:
    """Six levels: the edges weigh 1, 1/2, 1/3, 1/4, 1/5, together 2.2833."""
    up = 1 - shares(6, 1)
    assert up[4] == pytest.approx(0.0876, abs=5e-5) == (1 / 5) / (137 / 60)
    assert up[3] == pytest.approx(0.1971, abs=5e-5)
    assert up[0] == 1 and up[5] == 0
    assert (1 - shares(6, 0)).tolist() == pytest.approx([1, 0.8, 0.6, 0.4, 0.2, 0])
    assert shares(1, 1).tolist() == [0]


@given(tables(), st.sampled_from([1, 0, 2.5]), st.booleans())
@SOME
def test_kaca_merges_what_the_plain_loop_merges(table: Table, beta: float, stub: bool) -> None:
    made, k = small(table)
    if made.rows >= 2:
        clusters = [sorted(c) for c in found("kaca", made, k, beta_edge=beta, stub=stub)]
        pairs = with_unit(made, 1, "edges")
        assert alike(pairs, clusters) == alike(pairs, slow.kaca(made, k, beta, stub))


@pytest.fixture
def people(con: Any) -> Any:
    con.execute("""CREATE TABLE people AS
        SELECT 20 + (i * 7) % 41 AS age, ['F', 'M'][1 + i % 2] AS sex, ['a', 'b', 'c'][1 + i % 3] AS town,
            CASE WHEN i % 4 = 0 THEN 'HIV' ELSE 'Flu' END AS disease
        FROM range(60) AS r (i)""")
    return con


ASKED = "('people', k=5, qi=['age', 'sex', 'town'], sensitive=['disease']{})"


@pytest.mark.parametrize("call", ["kaca"])
@pytest.mark.parametrize("more", ["", ", l=2", ", max_level={'town': 0}", ", cell=20", ", stub := true"])
def test_each_publishes_classes_that_meet_the_model(people: Any, call: str, more: str) -> None:
    sizes = people.execute(f"SELECT size, len(disease) FROM {call}_classes{ASKED.format(more)}").fetchall()
    assert sum(size for size, _ in sizes) == 60
    assert min(size for size, _ in sizes) >= 5
    assert len(sizes) > 2
    assert more != ", l=2" or min(values for _, values in sizes) >= 2


def test_a_stub_leaves_more_classes(con: Any) -> None:
    """One alone takes one of the eight at 1, not all of them."""
    con.execute("CREATE TABLE few AS SELECT CASE WHEN i = 8 THEN 2 ELSE 1 END AS age FROM range(9) AS r (i)")
    for stub, sizes in (("false", [(9,)]), ("true", [(2,), (7,)])):
        call = f"SELECT size FROM kaca_classes('few', k=2, qi=['age'], stub := {stub}) ORDER BY ALL"
        assert con.execute(call).fetchall() == sizes
