"""The hierarchical distance of t-closeness does not lose values that the hierarchy does not have."""

from __future__ import annotations

import dbanon
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import fill_text

SETS = "{%- import 'privacy_models/t_closeness.sql' as t -%}{{ t.sets(overall, rows) }}"


def test_value_without_leaf_is_set_of_its_own_below_root() -> None:
    con = dbanon.connect()
    con.execute("CREATE TABLE held AS SELECT unnest(['flu', 'ulcer', 'x', 'y', NULL]) AS value")
    con.execute(
        "CREATE TABLE hierarchy AS SELECT unnest([0, 1, 2, 3, 4]) AS node, unnest([NULL, 0, 0, 1, 2]) AS parent, "
        "unnest(['*', 'lung', 'gut', 'flu', 'ulcer']) AS label"
    )
    sets = fill_text(SETS, {"overall": Sql("held"), "rows": Sql("hierarchy")})
    rows = con.execute(f"FROM ({sets})").fetchall()
    cells = {value: [(cell, weight) for v, cell, weight in rows if v == value] for value, _, _ in rows}
    assert cells[None] == [(None, 0.5)]
    assert [weight for _, weight in cells["x"]] == [weight for _, weight in cells["y"]] == [0.5]
    assert cells["x"][0][0] != cells["y"][0][0]
    assert not {cells["x"][0][0], cells["y"][0][0]} & {0, 1, 2, 3, 4, None}
    assert sum(weight for _, weight in cells["flu"]) == 0.5
