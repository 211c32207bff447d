"""Satisfiable calls succeed: clustering, gate and metrics interpret every model equally."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import numpy as np
import pytest
from support.model_tables import model_requirement

from dbanon.algorithms.base.kernel_inputs import model_rules
from dbanon.encoding import encoded_table
from dbanon.kernels.model_gathering import earth_movers_distance

# --- values that are not released ---------------------------------------------------------------------------


def t_closeness_values(table_counts: list[int], counts: list[int], emd: str = "ordered") -> tuple[float, float]:
    """Return the distance of a class as computed in the clustering's arrays and kernel; NULL is the last count."""
    sensitive = encoded_table.SensitiveColumn(np.empty(0, np.int32), np.array(table_counts))
    model = model_requirement(t=0.5, ground_distance=emd)
    measurement = model.measure(sensitive, np.array([counts]), np.array([sum(counts)]))
    code_table = encoded_table.EncodedTable(
        (), np.empty((0, 0), np.int32), np.empty(0, np.int64), None, 0, (sensitive,)
    )
    rules = model_rules(code_table, [model])
    compiled = earth_movers_distance.py_func(0, np.array(counts), sum(counts), 0, rules, np.zeros(2))
    return float(measurement[0]), float(compiled)


def test_t_closeness_ranks_use_released_values() -> None:
    """Half of the table has each of two values: all of one is half a table away, whatever lies between or beyond."""
    for full_result, counts in (
        ([2, 2, 0], [2, 0, 0]),
        ([2, 0, 0, 2, 0], [2, 0, 0, 0, 0]),
        ([0, 2, 2, 0, 0], [0, 0, 2, 0, 0]),
        ([0, 2, 0, 2], [0, 2, 0, 0]),
    ):
        assert t_closeness_values(full_result, counts) == (0.5, 0.5)
        assert t_closeness_values(full_result, counts, "equal") == (0.5, 0.5)
    # Ranks 1, 2, 3, of which the class has the first: 2/3 and 1/3 between, over 2.
    assert t_closeness_values([1, 0, 1, 1, 0], [1, 0, 0, 0, 0]) == (pytest.approx(0.5), pytest.approx(0.5))


@pytest.mark.parametrize("algorithm", ["kacpc", "best", "mondrian"])
def test_suppressed_values_have_no_rank(con: Any, algorithm: str) -> None:
    """Five people far away, with unique pays, may be suppressed: pay has five ranks then, else ten."""
    con.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i < 95 THEN i ELSE i * 1000 END AS age, "
        "CASE WHEN i < 95 THEN i * 7 % 5 ELSE 1000 + i END AS pay FROM range(100) AS r (i)"
    )
    for t in (0.1, 0.15, 0.3):
        call = (
            f"('t', k := 3, qi := ['age'], sensitive := ['pay'], suppress := 0.1, t := {t}, ground_distance := "
            f"'ordered')"
        )
        con.execute(f"CREATE OR REPLACE TABLE safe AS FROM {algorithm}{call}")
        measured_value = con.execute(
            "SELECT achieved FROM t_closeness('safe', qi := ['age'], sensitive := ['pay'], ground_distance := "
            "'ordered')"
        ).fetchone()[0]
        row = con.execute(f"SELECT value FROM {algorithm}_metrics{call} WHERE metric = 't_closeness:pay'").fetchone()
        assert row == (pytest.approx(measured_value, abs=1e-9),)
        assert measured_value <= t + 1e-9


def test_values_of_unknown_persons_have_no_rank(con: Any) -> None:
    rng = random.Random(3)
    rows = [(i, i // 2 if i % 5 else None, rng.choice([1, 2]) if i % 5 else 100 + i) for i in range(100)]
    con.execute("CREATE TABLE t (age INTEGER, person INTEGER, pay INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    for t in (0.05, 0.1, 0.2):
        extra_text = f"person := 'person', t := {t}, ground_distance := 'ordered'"
        result = con.execute(
            f"SELECT count(*) FROM kacpc('t', k := 3, qi := ['age'], sensitive := ['pay'], {extra_text})"
        )
        assert result.fetchall() == [(100,)]


# --- random calls -------------------------------------------------------------------------------------------

VALUES = {
    "INTEGER": lambda r: r.choice([r.randint(0, 20), r.randint(-(2**31), 2**31 - 1)]),
    "DOUBLE": lambda r: r.choice([0.0, -0.0, 0.1, 1e300, -1e300, r.random()]),
    "DECIMAL(38,2)": lambda r: r.choice([r.randint(0, 9), 10**35 + r.randint(0, 9)]),
    "HUGEINT": lambda r: 10**37 + r.randint(0, 30),
    "DATE": lambda r: f"{r.randint(1, 900):04}-01-0{r.randint(1, 9)}{r.choice(['', ' (BC)'])}",
    "VARCHAR": lambda r: r.choice("abcde"),
}
ASKED = (
    "",
    ", l := 2",
    ", t := 0.3, ground_distance := 'ordered'",
    ", alpha := 0.7",
    ", beta := 2, likeness := 'enhanced'",
)
MORE = ("", ", person := 'p'", ", suppress := 0.2", ", nulls := 'drop'", ", person := 'p', suppress := 0.3")
GRID = {"INTEGER": "7", "DOUBLE": "0.1", "DATE": "decade", "HUGEINT": "9"}


@pytest.mark.parametrize("seed", range(6))
def test_gate_accepts_every_algorithm_result(con: Any, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        types = rng.sample(list(VALUES), 2)
        con.execute(f"CREATE OR REPLACE TABLE z (a {types[0]}, b {types[1]}, s INTEGER, p INTEGER)")
        rows = [
            [str(VALUES[t](rng)) if rng.random() > 0.05 else None for t in types]
            + [rng.choice([1, 1, 2, 3, None]), rng.choice([None, *range(16)])]
            for _ in range(40)
        ]
        con.execute(f"INSERT INTO z VALUES {', '.join(['(?, ?, ?, ?)'] * 40)}", [x for row in rows for x in row])
        grid = f", rounding := {{'a': '{GRID[types[0]]}'}}" if types[0] in GRID else ""
        extra_choice = rng.choice(ASKED) + rng.choice(MORE) + rng.choice(("", grid))
        algorithm = rng.choice(("kacpc", "mondrian", "mdav", "kmember", "oka"))
        call = f"{algorithm}('z', k := 3, qi := ['a', 'b'], sensitive := ['s']{extra_choice})"
        try:
            assert con.execute(f"SELECT count(*) FROM {call}").fetchone()[0] > 0
        except duckdb.Error as error:
            assert "do not meet" in str(error) and "gate" not in str(error), f"{types}: {call}: {error}"
