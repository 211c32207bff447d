"""Values of DECIMAL(2,2), which DuckDB writes as .50, are found in hierarchies that write 0.50, 0.5 or .50."""

from __future__ import annotations

from typing import Any

import pytest

import dbanon
from dbanon.gate import label_notation
from dbanon.policy.hierarchies import value_labels
from dbanon.policy.hierarchies.storage import InlineHierarchy
from dbanon.sqltext.quote import Sql


@pytest.mark.parametrize(
    ("leaves", "labels"),
    [
        (("0.25", "0.5"), ["0.5", "-0.5", "0"]),
        (("0.25", "0.50"), ["0.50", "-0.50", "0.00"]),
        (("0.250", "0.500"), ["0.500", "-0.500", "0.000"]),
        ((".25", ".50"), [".50", "-.50", ".00"]),
        ((".50", "0.25"), [".50", "-.50", ".00"]),
        (("other",), [".50", "-.50", ".00"]),
    ],
)
def test_plan_and_gate_write_fractions_as_leaves(con: Any, leaves: tuple[str, ...], labels: list[str]) -> None:
    shapes = value_labels.leaf_shapes(con, InlineHierarchy("h", tuple(("*", leaf) for leaf in leaves)))
    for function in (value_labels.value_label, label_notation.label_text):
        sql = function(Sql("v"), "DECIMAL(2,2)", shapes)
        rows = con.execute(f"SELECT {sql} FROM (VALUES (0.5), (-0.5), (0)) AS t (u), (SELECT u::DECIMAL(2,2) AS v)")
        assert [label for (label,) in rows.fetchall()] == labels


@pytest.mark.parametrize("leaves", [("0.25", "0.5"), ("0.25", "0.50"), (".25", ".50")])
def test_release_publishes_fractions_as_leaves(con: Any, leaves: tuple[str, str]) -> None:
    con.execute("CREATE OR REPLACE TABLE shares AS SELECT (0.25 * (1 + i % 2))::DECIMAL(2,2) AS v FROM range(40) r (i)")
    con.execute("DELETE FROM dbanon.hierarchy WHERE name = 'fractions'")
    dbanon.load_hierarchy(con, "fractions", [[leaf, "*"] for leaf in leaves])
    dbanon.declare(con, "shares", v={"role": "quasi", "hierarchy": "fractions"})
    rows = con.execute("SELECT DISTINCT v FROM mondrian('shares', k = 10) ORDER BY v")
    assert [label for (label,) in rows.fetchall()] == list(leaves)
    assert con.execute("FROM uncovered_values('shares', 'v')").fetchall() == []
