"""The function that reads hierarchies, compared with the SQL view of the same and with plain loops."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from dbanon.policy.hierarchies.messages import MALFORMED as REASONS


def read(
    con: Any,
    values: Sequence[str],
    *,
    stored: bool = True,
    escape: bool = False,
    min_level: int = 0,
    is_sensitive: bool = False,
) -> Any:
    """Return the function's result for the hierarchy `h` and the values."""
    request = json.dumps({"escape": escape, "names": True, "trees": [[7, stored, min_level, is_sensitive]]})
    rows = (
        "(SELECT list(struct_pack(tree := 7, node := node, parent := parent, label := label) ORDER BY position, node) "
        "FROM dbanon.hierarchy WHERE name = 'h')"
    )
    text = (
        "(SELECT list(struct_pack(tree := 7, value := value) ORDER BY value) "
        "FROM (SELECT unnest(?::VARCHAR[]) AS value))"
    )
    query = f"SELECT dbanon_trees(?, {text}, {rows if stored else 'NULL'})"
    return con.execute(query, [request, list(values)]).fetchall()[0][0]


def store(con: Any, rows: Sequence[tuple[str, str | None, str, int]]) -> None:
    con.execute("DELETE FROM dbanon.hierarchy WHERE name = 'h'")
    con.executemany("INSERT INTO dbanon.hierarchy BY POSITION VALUES ('h', ?, ?, ?, ?)", rows)


def random_hierarchy(seed: int) -> list[tuple[str, str | None, str, int]]:
    """Return a random hierarchy with its rows in any order.

    It has chains, forks, equal labels in different places, and equal places among siblings.
    """
    draw = random.Random(seed)
    rows: list[tuple[str, str | None, str, int]] = [("root", None, "*", 0)]
    used: dict[str, set[str]] = {}
    for number in range(draw.choice([0, 1, 5, 60])):
        parent = draw.choice(rows)[0]
        label = draw.choice(["a", "b", "Ä", "🦉", "x y", f"n{number}", f"n{number}"])
        if label not in used.setdefault(parent, set()):
            used[parent].add(label)
            rows.append((f"{draw.choice('zyx')}{number}", parent, label, draw.randrange(3)))
    return draw.sample(rows, len(rows))


@pytest.mark.parametrize("seed", range(12))
def test_tree_nodes_equal_hierarchy_node_view(con: Any, seed: int) -> None:
    rows = random_hierarchy(seed)
    store(con, rows)
    content = read(con, [], escape=seed % 2 == 1)
    names = content["domains"][0]["names"]
    expected = con.execute(
        "SELECT node, preorder, depth, height_sub, leaves, is_leaf, label, path FROM dbanon.hierarchy_node "
        "WHERE name = 'h' ORDER BY preorder"
    ).fetchall()
    nodes = content["nodes"]
    assert [
        (names[n["node"]], n["node"], n["depth"], n["height"], n["leaves"], n["is_leaf"], n["label"],
         [nodes[m]["label"] for m in reversed(n["line"])])
        for n in nodes
    ] == expected  # fmt: skip
    place = {name: node for node, name in enumerate(names)}
    parents = {name: None if parent is None else place[parent] for name, parent, _, _ in rows}
    assert [n["parent"] for n in nodes] == [parents[name] for name in names] == content["domains"][0]["parent"]
    facts = content["facts"][0]
    assert facts["tree"] == 7 and facts["malformed"] not in (REASONS["roots"], REASONS["unreachable"])
    assert facts["malformed"] != REASONS["siblings"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("escape", [False, True])
def test_node_published_as_label_or_path(con: Any, seed: int, escape: bool) -> None:
    store(con, random_hierarchy(seed))
    nodes = read(con, [], escape=escape)["nodes"]
    path = {n["node"]: " > ".join(nodes[m]["label"] for m in n["line"][1:]) for n in nodes}
    inner = [n for n in nodes if not n["is_leaf"]]
    texts = {"*"} | {n["label"] for n in inner} | {path[n["node"]] for n in inner if n["depth"]}
    for n in nodes:
        if n["is_leaf"]:
            reads_otherwise = escape and (n["label"] in texts or n["label"].startswith("\\"))
            assert n["published"] == ("\\" if reads_otherwise else "") + n["label"]
        elif sum(other["label"] == n["label"] for other in inner) > 1 and n["depth"]:
            assert n["published"] == path[n["node"]]
        else:
            assert n["published"] == n["label"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("min_level", [0, 1, 99])
def test_codes_belong_to_values_of_single_node(con: Any, seed: int, escape: bool, min_level: int) -> None:
    store(con, random_hierarchy(seed))
    values = sorted({"a", "b", "Ä", "🦉", "nowhere", "*", *(f"n{i}" for i in range(60))})
    content = read(con, values, escape=escape, min_level=min_level)
    nodes, codes, facts = content["nodes"], {c["value"]: c for c in content["codes"]}, content["facts"][0]
    inner_texts = {"*"} | {n["label"] for n in nodes if not n["is_leaf"]}
    inner_texts |= {" > ".join(nodes[m]["label"] for m in n["line"][1:]) for n in nodes if not n["is_leaf"]}
    value_counts = {"uncovered": 0, "several_nodes": 0}
    n_ambiguous = 0
    own_part = {}
    for value in values:
        leaves = [n["node"] for n in nodes if n["is_leaf"] and n["label"] == value]
        fitting = leaves or [n["node"] for n in nodes if escape and not n["is_leaf"] and n["label"] == value]
        value_counts["uncovered"] += not fitting
        value_counts["several_nodes"] += not leaves and len(fitting) > 1
        n_ambiguous += len(leaves) > 1
        if len(fitting) == 1:
            own_part[value] = fitting[0]
    assert {value: c["own"] for value, c in codes.items()} == own_part
    assert {name: facts[name] for name in value_counts} == value_counts
    assert facts["reserved"] == (0 if escape else sum(value in inner_texts for value in values))
    if n_ambiguous:
        fits = read(con, [value for value in values if value in own_part], escape=escape)["facts"][0]
        leaves_only = [n["label"] for n in nodes if n["is_leaf"] and n["label"] not in inner_texts]
        doubled = next((label for label in leaves_only if leaves_only.count(label) > 1), None)
        assert fits["malformed"] != REASONS["ambiguous"]
        if doubled is not None and fits["malformed"] is None:
            assert read(con, [doubled], escape=escape)["facts"][0]["malformed"] == REASONS["ambiguous"]
    raised_values_by_value = {
        value: nodes[node]["line"][max(0, len(nodes[node]["line"]) - 1 - min_level)] for value, node in own_part.items()
    }
    assert {value: c["node"] for value, c in codes.items()} == raised_values_by_value
    places = sorted(set(raised_values_by_value.values()))
    assert content["domains"][0]["value"] == places
    assert {value: c["code"] for value, c in codes.items()} == {
        v: places.index(n) for v, n in raised_values_by_value.items()
    }


@pytest.mark.parametrize("values", [[], ["one"], ["*", "\\x", "b", "a"]], ids=len)
def test_values_without_hierarchy_have_one_root(con: Any, values: list[str]) -> None:
    content = read(con, values, stored=False, escape=True)
    assert [n["label"] for n in content["nodes"]] == ["*", *sorted(values)]
    assert [n["published"] for n in content["nodes"]] == [
        "*",
        *(("\\" if v in ("*", "\\x") else "") + v for v in sorted(values)),
    ]
    assert [n["line"] for n in content["nodes"]] == [[0], *([0, i + 1] for i in range(len(values)))]
    assert [n["is_leaf"] for n in content["nodes"]] == [False, *(True for _ in values)]
    assert content["domains"][0]["names"] == ["", *(f"={v}" for v in sorted(values))]
    assert content["domains"][0]["value"] == list(range(1, len(values) + 1))
    assert read(con, values, stored=False)["facts"][0]["reserved"] == ("*" in values)


MALFORMED = {
    "no root": ([("a", "b", "a", 0), ("b", "a", "b", 0)], "roots"),
    "two roots": ([("a", None, "a", 0), ("b", None, "b", 0), ("c", "b", "c", 0)], "roots"),
    "an orphan": ([("a", None, "*", 0), ("b", "away", "b", 0)], "unreachable"),
    "a circle beside the tree": (
        [("a", None, "*", 0), ("b", "a", "b", 0), ("c", "d", "c", 0), ("d", "c", "d", 0)],
        "unreachable",
    ),
    "equal siblings": ([("a", None, "*", 0), ("b", "a", "x", 0), ("c", "a", "x", 1)], "siblings"),
    "one text for two inner nodes": (
        [("r", None, "*", 0), ("a", "r", "a", 0), ("b", "a", "b", 0), ("c", "b", "1", 0), ("d", "r", "a > b", 1),
         ("e", "d", "2", 0), ("f", "r", "b", 2), ("g", "f", "3", 0)],
        "same_name",
    ),
    "an inner node that is published as *": (
        [("r", None, "all", 0), ("a", "r", "*", 0), ("b", "a", "b", 0)],
        "inner_star",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_hierarchy_is_stated_with_its_reason(con: Any, name: str) -> None:
    rows, reason = MALFORMED[name]
    store(con, rows)
    assert read(con, ["1", "x"])["facts"][0]["malformed"] == REASONS[reason]


def test_hierarchy_of_sensitive_column_may_have_inner_star(con: Any) -> None:
    store(con, [("r", None, "all", 0), ("a", "r", "*", 0), ("b", "a", "b", 0)])
    facts = read(con, ["b", "*"], is_sensitive=True)["facts"][0]
    assert (facts["malformed"], facts["reserved"], facts["uncovered"]) == (None, 0, 1)


def test_deep_chain_and_wide_tree_are_read(con: Any) -> None:
    store(con, [("0", None, "*", 0), *((str(i), str(i - 1), f"n{i}", 0) for i in range(1, 800))])
    content = read(con, ["n799"])
    assert content["nodes"][799]["line"] == list(range(800)) and content["nodes"][0]["height"] == 799
    assert [c["own"] for c in content["codes"]] == [799]
    store(con, [("root", None, "*", 0), *((str(i), "root", f"n{i}", -i) for i in range(800))])
    assert [n["label"] for n in read(con, [])["nodes"][1:]] == [f"n{i}" for i in reversed(range(800))]
