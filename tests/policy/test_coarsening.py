"""`coarsen`: interval ends on a grid, and inner nodes of every n-th level only, with any other settings."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from support.scale import sample_cases

import dbanon
from dbanon.algorithms.base import class_bounds
from dbanon.algorithms.base.loss import Loss
from dbanon.encoding import encoded_table

# a11 a12 | a21 a22 | b11 b12 at depth 3 below a1, a2, b1 (2) below a, b (1); c11 at 3 below c1; c2 at 2; d at 1.
PLACES = [
    ["a11", "a1", "a", "*"],
    ["a12", "a1", "a", "*"],
    ["a21", "a2", "a", "*"],
    ["a22", "a2", "a", "*"],
    ["b11", "b1", "b", "*"],
    ["b12", "b1", "b", "*"],
    ["c11", "c1", "c", "*"],
    ["c2", "c", "*"],
    ["d", "*"],
]
PAIRS = ["a11", "a12", "a21", "a22", "b11", "b11", "c11", "c2"]


def rows(con: Any, values: list[Any], type_: str = "VARCHAR") -> None:
    """Create t(place), one row per value, and the hierarchy `places`."""
    con.execute(f"CREATE OR REPLACE TABLE t (place {type_})")
    con.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])
    dbanon.load_hierarchy(con, "places", PLACES)


def classes(con: Any, arguments: str, columns: str = "place, size, loss", function: str = "kacpc_classes") -> list[Any]:
    query = f"SELECT {columns} FROM {function}('t', qi := ['place'], {arguments}) ORDER BY ALL"
    return [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in con.execute(query).fetchall()]


def assert_refused(con: Any, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"FROM kacpc('t', {arguments})").fetchall()


TREE = "hierarchies := {'place': 'places'}"


# --- categories ---------------------------------------------------------------------------------------------


def test_coarsen_publishes_nth_level_node_or_exact_value(con: Any) -> None:
    """Pairs of neighbours meet in a1, a2 and c; b11 occurs twice. Height of depth d: (3 - d) / 3."""
    rows(con, PAIRS)
    third, two = 0.333333, 0.666667
    plain_rows = [("a1", 2, third), ("a2", 2, third), ("b11", 2, 0.0), ("c", 2, two)]
    assert classes(con, f"k := 2, {TREE}") == plain_rows
    assert classes(con, f"k := 2, {TREE}, coarsen := {{'place': 1}}") == plain_rows
    halved = [("*", 2, 1.0), ("a1", 2, third), ("a2", 2, third), ("b11", 2, 0.0)]
    assert classes(con, f"k := 2, {TREE}, coarsen := {{'place': 2}}") == halved
    for steps in ("3", "4", "99", "1e300", "'3'", "3.0"):
        top = classes(con, f"k := 2, {TREE}, coarsen := {{'place': {steps}}}")
        assert top == [("*", 6, 1.0), ("b11", 2, 0.0)], steps


def test_coarsen_metrics_of_published_node_by_hand(con: Any) -> None:
    """One class of all but b11, of a whole tree of height 3; 6 of 8 records lose all."""
    rows(con, PAIRS)
    shown_query = f"FROM kacpc_metrics('t', k := 2, qi := ['place'], {TREE}, coarsen := {{'place': 3}})"
    mapping = dict(con.execute(f"SELECT metric, value {shown_query}").fetchall())
    assert mapping["precision"] == pytest.approx(0.25)
    assert mapping["ncp"] == pytest.approx(6.0)
    assert mapping["gcp"] == pytest.approx(0.75)
    assert mapping["total_information_loss"] == pytest.approx(6.0)
    assert (mapping["classes"], mapping["clusters"], mapping["k"]) == (2, 4, 2)


def test_coarsen_subtree_height_of_raised_node_by_hand(con: Any) -> None:
    """loss_height = 'sub': c2 is a leaf and c1 has height 1, so c has 2, * has 3."""
    rows(con, ["c11", "c2", "b11", "b11"])
    sub = f"k := 2, {TREE}, loss_height := 'sub'"
    assert classes(con, sub) == [("b11", 2, 0.0), ("c", 2, 0.666667)]
    assert classes(con, f"{sub}, coarsen := {{'place': 2}}") == [("*", 2, 1.0), ("b11", 2, 0.0)]


def test_coarsen_leaves_flat_hierarchy_unchanged(con: Any) -> None:
    rows(con, ["x", "x", "y", "z"])
    for steps in (1, 2, 7):
        assert classes(con, f"k := 2, coarsen := {{'place': {steps}}}") == [("*", 2, 1.0), ("x", 2, 0.0)]


def test_coarsen_applies_to_min_level_values(con: Any) -> None:
    """One step up b11 is b1 (2), c2 is c (1), which is no multiple of 2."""
    rows(con, ["b11", "b11", "c2", "c2", "d", "d"])
    lifted = f"k := 2, {TREE}, min_level := {{'place': 1}}"
    assert [c[:2] for c in classes(con, lifted)] == [("*", 2), ("b1", 2), ("c", 2)]
    assert [c[:2] for c in classes(con, f"{lifted}, coarsen := {{'place': 2}}")] == [("*", 4), ("b1", 2)]


def test_max_level_overrides_round_or_raises(con: Any) -> None:
    """Two steps above values of depth 3 is depth 1: coarsen = 2 would publish them higher. One step is depth 2."""
    rows(con, ["a11", "a12", "a21", "a22", "b11", "b12"])
    one = f"k := 2, {TREE}, max_level := {{'place': 1}}, coarsen := {{'place': 2}}"
    assert [c[:2] for c in classes(con, one)] == [("a1", 2), ("a2", 2), ("b1", 2)]
    assert_refused(
        con,
        f"k := 2, qi := ['place'], {TREE}, max_level := {{'place': 2}}, coarsen := {{'place': 2}}",
        "coarsen of place requires nodes above max_level.*not a multiple of 2 steps",
    )
    assert [c[:2] for c in classes(con, one.replace("'place': 1", "'place': 3"))] == [("a1", 2), ("a2", 2), ("b1", 2)]
    rows(con, ["a11", "a11", "b11", "b11"])
    assert [c[:2] for c in classes(con, one.replace("'place': 1", "'place': 0"))] == [("a11", 2), ("b11", 2)]


def test_coarsen_publishes_inner_node_value_on_nth_level(con: Any) -> None:
    """With escape the value a1 (2) is no leaf. A reader cannot distinguish it from a generalized one."""
    rows(con, ["a1", "a1", "a", "a", "b11", "b11"])
    escaped = f"k := 2, {TREE}, escape_labels := true"
    assert [c[:2] for c in classes(con, escaped)] == [("a", 2), ("a1", 2), ("b11", 2)]
    assert [c[:2] for c in classes(con, f"{escaped}, coarsen := {{'place': 2}}")] == [("*", 2), ("a1", 2), ("b11", 2)]


def test_coarsen_keeps_null(con: Any) -> None:
    rows(con, ["a11", "a12", None, None])
    actual_classes = classes(con, f"k := 2, {TREE}, coarsen := {{'place': 3}}", "place, size")
    assert actual_classes == [("*", 2), (None, 2)]


def test_coarsen_accepted_by_every_algorithm(con: Any) -> None:
    rows(con, [*PAIRS, "b12", "d"])
    for name in sample_cases(("kacpc", "kmember", "gaa_cp", "mondrian", "oka", "mdav"), 3):
        arguments = f"algorithm := '{name}', k := 2, {TREE}, coarsen := {{'place': 2}}"
        actual_classes = classes(con, arguments, "place, size", "anonymize_classes")
        assert {place for place, _ in actual_classes} <= {"*", "a1", "a2", "b1", "b11", "c1"}, name
        assert sum(size for _, size in actual_classes) == 10


def test_cache_distinguishes_coarsen_steps(con: Any) -> None:
    """Codes, counts and tree are equal; labels differ where a merged class costs differently."""
    rng = random.Random(3)
    rows(con, [rng.choice(PLACES)[0] for _ in range(60)])
    fresh = {}
    for steps in (1, 2, 3):
        dbanon.clear_cache(con)
        fresh[steps] = classes(con, f"k := 7, {TREE}, coarsen := {{'place': {steps}}}", function="kmember_classes")
    for steps in (3, 1, 2, 1, 3):
        actual_classes = classes(con, f"k := 7, {TREE}, coarsen := {{'place': {steps}}}", function="kmember_classes")
        assert actual_classes == fresh[steps]
    assert len({str(actual_classes) for actual_classes in fresh.values()}) == 3


# --- numbers and dates --------------------------------------------------------------------------------------


def test_coarsen_number_equals_rounding(con: Any) -> None:
    rows(con, [21, 24, 38, 39, -3, -1], "INTEGER")
    options_text = "k := 2, {} := {{'place': 10}}"
    expected = [("[-10, -1]", 2), ("[20, 29]", 2), ("[30, 39]", 2)]
    assert classes(con, options_text.format("coarsen"), "place, size") == expected
    assert classes(con, options_text.format("coarsen")) == classes(con, options_text.format("rounding"))


def test_coarsen_date_to_calendar_units(con: Any) -> None:
    rows(con, ["1965-03-02", "1965-11-30", "1988-01-05", "1989-12-31"], "DATE")
    expected = [("1965", 2), ("[1988, 1989]", 2)]
    assert classes(con, "k := 2, coarsen := {'place': 'year'}", "place, size") == expected
    expected = [("[1960, 1969]", 2), ("[1980, 1989]", 2)]
    assert classes(con, "k := 2, coarsen := {'place': 'Decade'}", "place, size") == expected


def test_coarsen_typed_intervals_have_grid_types(con: Any) -> None:
    rows(con, [21, 24, 38, 39], "INTEGER")
    shown_text = "place_min, place_max, typeof(place_min), size"
    actual_classes = classes(con, "k := 2, intervals := 'bounds', coarsen := {'place': 10}", shown_text)
    assert actual_classes == [(20, 29, "HUGEINT", 2), (30, 39, "HUGEINT", 2)]
    actual_classes = classes(con, "k := 2, intervals := 'struct', coarsen := {'place': 10}", "place")
    assert actual_classes == [({"low": 20, "high": 29},), ({"low": 30, "high": 39},)]


def test_coarsen_combines_numbers_dates_and_categories(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT 20 + i AS age, DATE '1980-01-01' + (i * 40)::INTEGER AS born, "
        "['a11', 'a12', 'c11', 'c2'][1 + i % 4] AS place FROM range(8) AS r (i)"
    )
    dbanon.load_hierarchy(con, "places", PLACES)
    actual_rows = con.execute(
        f"SELECT * FROM kacpc_classes('t', k := 8, qi := ['age', 'born', 'place'], {TREE}, "
        "coarsen := {'AGE': 10, 'born': 'year', 'place': 2})"
    ).fetchall()
    assert [row[2:5] for row in actual_rows] == [("[20, 29]", "1980", "*")]


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0", "-1", "2.5", "'none'", "'year'", "'nan'", "1e400"])
def test_coarsen_category_requires_positive_integer(con: Any, value: str) -> None:
    rows(con, PAIRS)
    for tree in (TREE, "hierarchies := NULL"):
        assert_refused(
            con, f"k := 2, qi := ['place'], {tree}, coarsen := {{'place': {value}}}", r"coarsen does not fit t\.place"
        )


@pytest.mark.parametrize("value", ["0", "-5", "2.5", "'month'", "'inf'", "'nan'"])
def test_coarsen_number_requires_positive_integer(con: Any, value: str) -> None:
    rows(con, [1, 2, 3], "INTEGER")
    assert_refused(con, f"k := 2, qi := ['place'], coarsen := {{'place': {value}}}",
            r"coarsen does not fit t\.place: .* is not a positive integer")  # fmt: skip


def test_coarsen_refuses_invalid_date_and_time_units(con: Any) -> None:
    rows(con, ["2000-01-01", "2001-01-01"], "DATE")
    assert_refused(
        con, "k := 2, qi := ['place'], coarsen := {'place': 5}", r"coarsen does not fit t\.place: '5' is not one of day"
    )
    rows(con, ["10:00", "11:00"], "TIME")
    assert_refused(con, "k := 2, qi := ['place'], coarsen := {'place': 'month'}", "times have no grid")


def test_coarsen_and_rounding_of_same_column_refused(con: Any) -> None:
    rows(con, [1, 2, 3], "INTEGER")
    assert_refused(con, "k := 2, qi := ['place'], rounding := {'place': 5}, coarsen := {'PLACE': 10}",
            r"coarsen does not fit t\.place: the call gives its grid too")  # fmt: skip
    assert_refused(con, "k := 2, qi := ['place'], coarsen := {'plaec': 10}", "no column 'plaec'")
    con.execute("ALTER TABLE t ADD COLUMN x INTEGER")
    assert_refused(
        con, "k := 2, qi := ['place'], coarsen := {'x': 10}", r"coarsen does not fit t\.x: it is not a quasi"
    )
    for value in ("5", "['place']", "{'place': true}"):
        assert_refused(con, f"k := 2, qi := ['place'], coarsen := {value}", "coarsen must be")


def test_coarsen_replaces_declared_grid_never_loosens(con: Any) -> None:
    rows(con, [21, 24, 38, 39], "INTEGER")
    dbanon.declare(con, "t", place={"role": "quasi", "rounding": 5})
    call = "SELECT DISTINCT place FROM kacpc('t', k := 2{}) ORDER BY 1"
    assert con.execute(call.format("")).fetchall() == [("[20, 24]",), ("[35, 39]",)]
    assert con.execute(call.format(", coarsen := {'place': 10}")).fetchall() == [("[20, 29]",), ("[30, 39]",)]
    for looser in ("1", "7", "'none'"):
        assert_refused(
            con, f"k := 2, coarsen := {{'place': {looser}}}", "rounding = 5 .*coarsen = .*would loosen the policy"
        )


def test_coarsen_never_loosens_default_date_grid(con: Any) -> None:
    rows(con, ["2000-01-01", "2000-01-09", "2001-02-03", "2001-03-04"], "DATE")
    dbanon.declare(con, "t", place="quasi")
    for looser in ("none", "day"):
        assert_refused(
            con, f"k := 2, coarsen := {{'place': '{looser}'}}", "rounding = its default .*would loosen the policy"
        )
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_dates('days', 't', 'place', levels := ['month', 'year'])")
    assert_refused(con, "k := 2, hierarchies := {'place': 'days'}", "rounding = its default .*would loosen the policy")
    dbanon.declare(con, "t", place=("quasi", "days"))
    actual_rows = con.execute(
        "SELECT DISTINCT place FROM kacpc('t', k := 2, coarsen := {'place': 2}) ORDER BY ALL"
    ).fetchall()
    assert [len(place) for (place,) in actual_rows] == [1, 7], (
        "the month of the first two; the year of the others is raised"
    )


# --- random tables ------------------------------------------------------------------------------------------


def random_paths(rng: random.Random) -> list[list[str]]:
    """Return paths from the leaves up to the root of a ragged tree."""
    paths, inner = [["*"]], set()
    for number in range(1, rng.randint(4, 30)):
        above = rng.randrange(max(0, len(paths) - 8), len(paths))
        inner.add(above)
        paths.append([f"n{number}", *paths[above]])
    return [path for position, path in enumerate(paths) if position not in inner]


@pytest.mark.parametrize("seed", range(16))
def test_coarsen_random_nodes_cover_values(con: Any, seed: int) -> None:
    """A value next to its published cell: an inner node above it, nearest to the cell published without coarsening."""
    rng = random.Random(seed)
    paths = random_paths(rng)
    lines = {path[0]: path for path in paths}
    depth = {label: len(path) - 1 - position for path in paths for position, label in enumerate(path)}
    n, k, steps = rng.randint(12, 60), rng.randint(2, 5), rng.randint(2, 4)
    con.execute("CREATE TABLE t (pid INTEGER, place VARCHAR, age INTEGER, note INTEGER)")
    values = [(rng.randrange(n // 2), rng.choice(paths)[0], rng.randint(20, 40), i) for i in range(n)]
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", values)
    dbanon.load_hierarchy(con, "tree", paths)
    person = ", person := 'pid'" if seed % 3 == 0 else ""
    name = rng.choice(["kacpc", "kmember", "mondrian"])
    actual_rows = con.execute(
        f"SELECT note, place, age FROM {name}('t', k := {k}, qi := ['place', 'age'], insensitive := ['note'], "
        f"allow_rare := ['note'], hierarchies := {{'place': 'tree'}}, coarsen := "
        f"{{'place': {steps}, 'age': 5}}{person})"
    ).fetchall()
    assert sorted(note for note, _, _ in actual_rows) == list(range(n))
    members: dict[tuple[str, str], list[int]] = {}
    for note, place, age in actual_rows:
        members.setdefault((place, age), []).append(note)
        assert place in lines[values[note][1]]
        assert place == values[note][1] or depth[place] % steps == 0
        low, high = (int(end) for end in age.strip("[]").split(", "))
        assert low <= values[note][2] <= high
        assert (low % 5, high % 5) == (0, 4)
    for notes in members.values():
        assert len({values[i][0] for i in notes} if person else notes) >= k
        if len({values[i][1] for i in notes}) == 1 and not person:
            assert len({place for place, age in members if notes == members[place, age]}) == 1


@pytest.mark.parametrize("seed", range(20))
def test_coarsen_loss_equals_published_loss(seed: int) -> None:
    """Losses equal those of climbs by hand, with all heights, for classes of all pairs of values."""
    rng = random.Random(seed)
    paths = random_paths(rng)
    lines = sorted(path[::-1] for path in paths)
    nodes = sorted({tuple(line[: n + 1]) for line in lines for n in range(len(line))})
    parent = np.array([nodes.index(node[:-1]) if len(node) > 1 else -1 for node in nodes], np.int32)
    leaves = [position for position, node in enumerate(nodes) if not any(n[:-1] == node for n in nodes)]
    for steps in (1, 2, 3, 5):
        tree = encoded_table.CategoricalAttribute(parent, np.array(leaves, np.int32), published_depth_step=steps)
        pairs = np.array([(a, b) for a in range(len(leaves)) for b in range(a, len(leaves))], np.int64)
        low, high = pairs[:, :1], pairs[:, 1:]
        codes = np.arange(len(leaves), dtype=np.int32)
        code_table, _ = encoded_table.encode_table([tree], [codes], codes.astype(np.uint64), None)
        published_shareds = []
        for a, b in pairs.tolist():
            first, last = nodes[leaves[a]], nodes[leaves[b]]
            shared = first if a == b else first[: next(n for n in range(99) if first[: n + 1] != last[: n + 1])]
            published_shareds.append(shared if a == b else shared[: len(shared) - (len(shared) - 1) % steps])
        deepest = max(len(node) for node in nodes) - 1
        inner = [node not in [nodes[leaf] for leaf in leaves] for node in published_shareds]
        top = [
            (deepest - len(node) + 1) / deepest if i else 0.0 for node, i in zip(published_shareds, inner, strict=True)
        ]
        below = {node: [n for n in nodes if n[: len(node)] == node] for node in set(published_shareds)}
        height = [(max(map(len, below[node])) - len(node)) / deepest for node in published_shareds]
        share = [sum(nodes[leaf] in below[n] for leaf in leaves) / len(leaves) if i else 0.0
                 for n, i in zip(published_shareds, inner, strict=True)]  # fmt: skip
        assert class_bounds.record_losses(code_table, low, high) == pytest.approx(top)
        for heights, expected in (("top", top), ("edges", height), ("leaves", share)):
            loss = Loss(code_table, 2, heights)
            assert loss.record_losses(low, high) / loss.terms[0].unit == pytest.approx(expected, abs=1e-12)
        numbers = class_bounds.class_numbers(code_table, low, high).tolist()
        assert (
            len(set(zip(numbers, published_shareds, strict=True))) == len(set(numbers)) == len(set(published_shareds))
        )


def test_coarsen_raises_to_every_nth_level() -> None:
    """A chain 0 > 1 > 2 > 3 > leaf 4, and the leaf 5 below 1."""
    tree = encoded_table.CategoricalAttribute(np.array([-1, 0, 1, 2, 3, 1], np.int32), np.array([4, 5], np.int32))
    raised_values_by_steps = {
        steps: replace(tree, published_depth_step=steps).published_node.tolist() for steps in (1, 2, 3, 4)
    }
    assert raised_values_by_steps == {
        1: [0, 1, 2, 3, 4, 5],
        2: [0, 0, 2, 2, 4, 5],
        3: [0, 0, 0, 3, 4, 5],
        4: [0, 0, 0, 0, 4, 5],
    }
    assert replace(tree, published_depth_step=2).pruned.published_node.tolist() == raised_values_by_steps[2]


# --- persons, models, releases ------------------------------------------------------------------------------


def test_coarsen_merged_clusters_checked_as_single_class(con: Any) -> None:
    """a11, a12 and b11, b12 become one class of *, in which p1 and p2 are counted once: 3 of 4 persons have flu."""
    con.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES ('p1', 'a11', 'flu'), ('p2', 'a12', 'hiv'), ('p1', 'b11', 'hiv'), "
        "('p2', 'b12', 'flu'), ('p3', 'c11', 'flu'), ('p4', 'c11', 'cold')) AS v (pid, place, illness)"
    )
    dbanon.load_hierarchy(con, "places", PLACES)
    arguments = f"k := 2, {TREE}, person := 'pid', sensitive := ['illness'], l := 2, coarsen := {{'place': 2}}"
    assert classes(con, arguments, "place, size, persons") == [("a1", 2, 2), ("b1", 2, 2), ("c11", 2, 2)]
    assert classes(con, arguments.replace(": 2}", ": 3}"), "place, size, persons") == [("*", 4, 2), ("c11", 2, 2)]


@pytest.mark.parametrize("model", ["l := 2", "t := 0.5", "alpha := 0.8", "l := 2, diversity := 'entropy'", "beta := 3"])
def test_coarsen_with_persons_meets_models(con: Any, model: str) -> None:
    rng = random.Random(model)
    con.execute("CREATE TABLE t (pid INTEGER, place VARCHAR, illness VARCHAR)")
    for _ in range(3):
        con.execute("DELETE FROM t")
        n = 50
        con.executemany(
            "INSERT INTO t VALUES (?, ?, ?)",
            [(rng.randrange(25), rng.choice(PLACES)[0], rng.choice(["flu", "hiv", "cold"])) for _ in range(n)],
        )
        dbanon.load_hierarchy(con, "places", PLACES)
        arguments = f"k := 3, {TREE}, person := 'pid', sensitive := ['illness'], coarsen := {{'place': 2}}, {model}"
        actual_classes = classes(con, arguments, "place, size, persons")
        assert sum(size for _, size, _ in actual_classes) == n
        assert all(persons >= 3 for _, _, persons in actual_classes)
        assert {place for place, _, _ in actual_classes} <= {"*", "a1", "a2", "b1", "c1", *(path[0] for path in PLACES)}


@pytest.mark.not_everyday
def test_refresh_keeps_coarsen_of_release(con: Any) -> None:
    rows(con, PAIRS)
    dbanon.declare(con, "t", place=("quasi", "places"))
    dbanon.create_release(con, "safe", "kacpc", "t", k=2, coarsen={"place": 3})
    shown_query = "SELECT place, count(*) FROM safe GROUP BY ALL ORDER BY ALL"
    assert con.execute(shown_query).fetchall() == [("*", 6), ("b11", 2)]
    actual_rows = con.execute("SELECT value FROM certificate('safe') WHERE item = 'coarsen'").fetchall()
    assert actual_rows == [('{"place": "3"}',)]
    con.execute("INSERT INTO t VALUES ('a11'), ('a22'), ('b12'), ('b12')")
    dbanon.refresh_release(con, "safe")
    assert con.execute(shown_query).fetchall() == [("*", 8), ("b11", 2), ("b12", 2)]
    con.execute("CREATE VIEW live AS SELECT * FROM kacpc('t', k := 2, coarsen := {'place': 3})")
    assert {place for (place,) in con.execute("SELECT place FROM live").fetchall()} <= {"*", *(p[0] for p in PLACES)}


def test_scalar_functions_accept_coarsened_nodes(con: Any) -> None:
    """kl_divergence by hand: 6 records of * over 9 leaves are 2/3 per cell, b11 gets its 2 and 2/3 of the 6."""
    rows(con, PAIRS)
    call = (
        f"FROM kacpc_metrics('t', k := 2, qi := ['place'], {TREE}, coarsen := {{'place': 3}}, "
        f"with_kl_divergence := true)"
    )
    ((value,),) = con.execute(f"SELECT value {call} WHERE metric = 'kl_divergence'").fetchall()
    cell = 6 / 9
    assert value == pytest.approx(6 * (1 / 8) * np.log(1 / cell) + (2 / 8) * np.log(2 / (2 + cell)))


def test_anonymize_accepts_coarsen(con: Any) -> None:
    anonymized = dbanon.anonymize(
        duckdb.sql("SELECT 20 + i AS age FROM range(20) AS r (i)").df(), k=5, qi=["age"], coarsen={"age": 10}
    )
    assert set(anonymized.release["age"]) == {"[20, 29]", "[30, 39]"}


def test_week_grid_starts_on_monday(con: Any) -> None:
    con.execute("CREATE TABLE w AS SELECT DATE '2024-01-03' + (i % 3)::INTEGER AS day FROM range(6) AS r (i)")
    rows = con.execute("FROM kacpc('w', k := 6, qi := ['day'], rounding := {'day': 'week'})").fetchall()
    assert rows == [("[2024-01-01, 2024-01-07]", 1)] * 6
