"""The parameters `objective` and `leaves`, compared with sums over the released rows and all partitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import duckdb
import pytest

import dbanon

TREE = {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y", "f": "y", "g": "z"}
HIERARCHY = "\n".join(f"{leaf};{node};*" for leaf, node in TREE.items())
CALL = "'t', k = 2, qi = ['v'], hierarchies = {'v': '" + HIERARCHY + "'}"


def node_shares(values: list[str], leaves: str) -> dict[str, Fraction]:
    """Return the share of the leaves below each published node, 0 for a leaf."""
    counted = set(TREE) if leaves == "all" else set(values)
    shares = {leaf: Fraction(0) for leaf in TREE} | {"*": Fraction(1)}
    for node in set(TREE.values()):
        shares[node] = Fraction(sum(TREE[leaf] == node for leaf in counted), len(counted))
    return shares


def common_node(values: list[str]) -> str:
    """Return the lowest node that covers all values."""
    if len(set(values)) == 1:
        return values[0]
    nodes = {TREE[value] for value in values}
    return nodes.pop() if len(nodes) == 1 else "*"


def create_table(con: Any, values: list[str]) -> None:
    con.execute("CREATE OR REPLACE TABLE t (v VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])


def least_loss(values: list[str], losses: dict[str, Fraction]) -> Fraction:
    """Return the least loss of all partitions of the values into classes of two and more."""
    if not values:
        return Fraction(0)
    first, rest = values[0], values[1:]
    found = []
    for size in range(1, len(rest) + 1):
        if size != len(rest) - 1:
            for chosen in combinations(range(len(rest)), size):
                members = [first, *(rest[i] for i in chosen)]
                others = [value for i, value in enumerate(rest) if i not in chosen]
                found.append(len(members) * losses[common_node(members)] + least_loss(others, losses))
    return min(found)


VALUES = ["a", "a", "b", "d", "d", "e", "f", "g"]


@pytest.mark.parametrize("leaves", ["all", "used"])
@pytest.mark.parametrize("values", [VALUES, ["a", "b", "d", "g"], ["a", "a", "b", "b"], ["g", "g", "a", "b", "d", "d"]])
def test_ncp_counts_all_or_used_leaves(con: Any, values: list[str], leaves: str) -> None:
    create_table(con, values)
    shares = node_shares(values, leaves)
    published = [row[0] for row in con.execute(f"SELECT v FROM kacpc({CALL}, leaves = '{leaves}')").fetchall()]
    expected = float(sum(shares[node] for node in published))
    metrics = dict(con.execute(f"SELECT metric, value FROM kacpc_metrics({CALL}, leaves = '{leaves}')").fetchall())
    assert metrics["ncp"] == pytest.approx(expected, abs=1e-9)
    assert metrics["gcp"] == pytest.approx(expected / len(values), abs=1e-9)
    compared = f"FROM compare({CALL.replace('k = 2', 'k = [2]')}, algorithms = ['kacpc'], metrics = ['ncp'], leaves = "
    assert con.execute(f"SELECT mean {compared}'{leaves}')").fetchone()[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "objective",
    ["{'ncp': 1}", "{'precision': 1, 'ncp': 1}", "{'precision': 3, 'ncp': 0.5}", "MAP {'ncp': 2.0, 'precision': 1}"],
)
@pytest.mark.parametrize("leaves", ["all", "used"])
def test_best_reaches_least_weighted_loss(con: Any, objective: str, leaves: str) -> None:
    values = ["a", "a", "b", "d", "e", "g", "g", "c"]
    create_table(con, values)
    weights = {
        "{'ncp': 1}": (0, 1),
        "{'precision': 1, 'ncp': 1}": (1, 1),
        "{'precision': 3, 'ncp': 0.5}": (6, 1),
        "MAP {'ncp': 2.0, 'precision': 1}": (1, 2),
    }[objective]
    by_leaves = node_shares(values, leaves)
    by_levels = {
        node: Fraction(1 if node == "*" else node in TREE.values(), 1 if node == "*" else 2) for node in by_leaves
    }
    losses = {
        node: (weights[0] * by_levels[node] + weights[1] * share) / sum(weights) for node, share in by_leaves.items()
    }
    rows = con.execute(f"SELECT v FROM best({CALL}, objective = {objective}, leaves = '{leaves}')").fetchall()
    assert sum(losses[row[0]] for row in rows) == least_loss(values, losses)


def test_used_leaves_change_least_loss_classes(con: Any) -> None:
    """Of two records that join x or y, all leaves prefer x (3 of 9), used ones y (2 of 6 instead of 3)."""
    tree = "a;x;*\nb;x;*\nc;x;*\nd;y;*\ne;y;*\nf;y;*\nh;y;*\ni;y;*\nm;z;*\nn;z;*"
    con.execute("CREATE OR REPLACE TABLE t AS SELECT unnest(['a', 'b', 'c', 'd', 'e', 'm', 'm']) AS v")
    call = f"'t', k = 2, qi = ['v'], hierarchies = {{'v': '{tree}'}}, objective = 'ncp', leaves = "
    losses = {
        leaves: dict(con.execute(f"SELECT metric, value FROM best_metrics({call}'{leaves}')").fetchall())["ncp"]
        for leaves in ("all", "used")
    }
    assert losses["all"] == pytest.approx(3 * 0.3 + 2 * 0.5)
    assert losses["used"] == pytest.approx(3 * 3 / 6 + 2 * 2 / 6)


@pytest.mark.parametrize(
    "objective",
    ["{}", "{'sse': 1}", "{'ncp': -1}", "{'ncp': 0}", "{'ncp': 'x'}", "{'ncp': NULL}", "MAP {'ncp': 1, 'NCP': 0}"],
)
def test_invalid_weights_of_objective_refused(con: Any, objective: str) -> None:
    create_table(con, VALUES)
    with pytest.raises(duckdb.Error, match=r"best: objective must be .*weight"):
        con.execute(f"FROM best({CALL}, objective = {objective})")


def test_metrics_of_used_leaves_are_not_published(con: Any) -> None:
    create_table(con, VALUES * 3)
    options = {"qi": ["v"], "hierarchies": {"v": HIERARCHY}, "leaves": "used"}
    dbanon.create_release(con, "safe", "best", "t", k=2, **options)
    assert con.execute("SELECT count(*) FROM safe_metrics WHERE metric IN ('ncp', 'gcp')").fetchone() == (0,)
    publishable = "SELECT metric FROM best_metrics({}, leaves = '{}') WHERE is_publishable AND metric IN ('ncp', 'gcp')"
    assert con.execute(publishable.format(CALL, "used")).fetchall() == []
    assert len(con.execute(publishable.format(CALL, "all")).fetchall()) == 2


def test_inner_node_over_all_values_is_not_fully_generalized(con: Any) -> None:
    create_table(con, ["a", "b", "c", "b"])
    call = CALL.replace("k = 2", "k = 4")
    query = f"SELECT value FROM kacpc_metrics({call}, leaves = 'used') WHERE metric = 'fully_generalized:v'"
    assert con.execute(query).fetchall() == [(0.0,)]


def test_node_over_whole_hierarchy_is_fully_generalized_by_used_leaves_too(con: Any) -> None:
    # A node reveals nothing if it is in the path of every line, whichever leaves count.
    lines = ["a;low;x;all;*", "b;low;x;all;*", "c;high;x;all;*", "d;x;all;*"]
    for published, values in (("low", "ab"), ("x", "abcd"), ("d", "dd")):
        create_table(con, list(values))
        call = f"'t', k = {len(values)}, qi = ['v'], hierarchies = {{'v': '" + "\n".join(lines) + "'}"
        assert con.execute(f"SELECT DISTINCT v FROM kacpc({call})").fetchall() == [(published,)]
        reveals_nothing = all(published in line.split(";")[1:] for line in lines)
        for leaves in ("all", "used"):
            query = f"SELECT value FROM kacpc_metrics({call}, leaves = '{leaves}') WHERE metric = 'fully_generalized:v'"
            assert con.execute(query).fetchall() == [(float(reveals_nothing),)]


def test_weights_refused_without_search(con: Any) -> None:
    create_table(con, VALUES)
    with pytest.raises(duckdb.Error, match=r"does not search without improve"):
        con.execute(f"FROM kacpc({CALL}, objective = {{'precision': 1, 'ncp': 1}})")


def test_view_keeps_weighted_objective(con: Any) -> None:
    create_table(con, VALUES * 3)
    weights = {"precision": 1, "ncp": 1}
    options = {"qi": ["v"], "hierarchies": {"v": HIERARCHY}, "objective": weights, "leaves": "used"}
    dbanon.create_release(con, "safe", "best", "t", k=2, **options)
    con.execute("INSERT INTO t VALUES ('a'), ('a'), ('a')")
    dbanon.refresh_release(con, "safe")
    assert con.execute("SELECT count(*) FROM safe").fetchone() == (27,)
    options = con.execute("SELECT parameters::VARCHAR FROM releases() WHERE name = 'safe'").fetchall()
    assert all('"leaves": "used"' in row[0] and '"ncp": 1' in row[0] for row in options)
