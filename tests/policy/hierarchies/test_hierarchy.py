"""Hierarchies as tables: files in and out, views, builders, refusals, and the published labels."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from oracle.reference import Tree

import dbanon
from dbanon.policy.hierarchies.messages import hierarchy_messages
from dbanon.sqltext.resources import shipped_hierarchies


@pytest.fixture(scope="module")
def open_store() -> Iterator[Any]:
    """Provide an attached plain connection in memory."""
    with duckdb.connect() as connection:
        yield dbanon.attach(connection)


@pytest.fixture
def store(open_store: Any) -> Any:
    """Provide `open_store` without hierarchies and policy."""
    open_store.execute("DELETE FROM dbanon.hierarchy")
    open_store.execute("DELETE FROM dbanon.policy")
    return open_store


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def table(connection: Any, values: list[Any], type_: str = "VARCHAR") -> None:
    """Create the table `t (v)` of these values."""
    connection.execute(f"CREATE OR REPLACE TABLE t (v {type_})")
    connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])


def paths(connection: Any, name: str) -> list[tuple[str, ...]]:
    """Return the rows of a stored hierarchy, leaf first, in leaf order."""
    rows = connection.execute("SELECT path FROM dbanon.hierarchy_path WHERE name = ?", [name]).fetchall()
    return [tuple(path) for (path,) in rows]


def build_paths(connection: Any, call: str) -> list[tuple[str, ...]]:
    """Insert the rows of a builder under the name h and return its paths."""
    connection.execute("DELETE FROM dbanon.hierarchy WHERE name = 'h'")
    connection.execute(f"INSERT INTO dbanon.hierarchy FROM {call}")
    assert connection.execute("FROM hierarchy_problems()").fetchall() == []
    return paths(connection, "h")


def published_rows(
    connection: Any, k: int, arguments: str = "hierarchies := {'v': 'h'}", source: str = "t"
) -> list[Any]:
    """Return the released values of v, sorted."""
    rows = connection.execute(f"SELECT v FROM kacpc({text(source)}, k := {k}, qi := ['v'], {arguments})").fetchall()
    return sorted((row[0] for row in rows), key=str)


# --- files in and out ---------------------------------------------------------------------------------------

WORKCLASS = [
    ("Private", "*"),
    ("Self-emp-not-inc", "Self-emp", "*"),
    ("Self-emp-inc", "Self-emp", "*"),
    ("Federal-gov", "Gov", "*"),
    ("Local-gov", "Gov", "*"),
    ("State-gov", "Gov", "*"),
    ("Without-pay", "*"),
]
HOSTILE = [
    ("it's", "a;b", "*"),
    ('say "hi"', "a;b", "*"),
    ("x'); DROP TABLE dbanon.hierarchy; --", "a/b", "*"),
    ("back\\slash", "a/b", "*"),
    ("a/b/c", "back\\/slash", "*"),
    ("two\nlines", "🙂 ünï", "*"),
    ("{{ x }}", "{% x %}", "🙂 ünï", "*"),
    ("NULL", "$1", "*"),
    ("comma, here", "tab\there", "*"),
    ("-- comment", "/* x */", "*"),
    ("#", "%s", "*"),
    ("A", "*"),
    ("a", "*"),
]
FILES = {"workclass": WORKCLASS, "hostile": HOSTILE, "root": [("*",)], "not star": [("a", "any"), ("b", "B", "any")]}


def write(path: Path, rows: list[tuple[str, ...]]) -> Path:
    """Write an ARX file with every field quoted."""
    lines = (";".join('"' + field.replace('"', '""') + '"' for field in row) for row in rows)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("rows", FILES.values(), ids=FILES)
def test_hierarchy_file_round_trips_in_python(store: Any, tmp_path: Path, rows: list[tuple[str, ...]]) -> None:
    """The leaves are in the order of the file, as far as divided branches allow."""
    dbanon.load_hierarchy(store, "h", write(tmp_path / "in.csv", rows))
    expected = [tuple(reversed(Tree(rows).leaf(label))) for label in Tree(rows).leaf_order()]
    assert paths(store, "h") == expected
    dbanon.save_hierarchy(store, "h", tmp_path / "out.csv")
    dbanon.load_hierarchy(store, "again", str(tmp_path / "out.csv"))
    assert paths(store, "again") == expected
    dbanon.save_hierarchy(store, "again", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    assert store.execute("FROM hierarchy_problems()").fetchall() == []


@pytest.mark.parametrize("rows", FILES.values(), ids=FILES)
def test_hierarchy_file_round_trips_in_sql(store: Any, tmp_path: Path, rows: list[tuple[str, ...]]) -> None:
    source = write(tmp_path / "in.csv", rows)
    store.execute(f"INSERT INTO dbanon.hierarchy FROM hierarchy_from_file('h', {text(str(source))})")
    dbanon.load_hierarchy(store, "python", rows)
    assert paths(store, "h") == paths(store, "python")
    out = text(str(tmp_path / "out.csv"))
    options = "(HEADER false, QUOTE '', ESCAPE '', DELIMITER '\\0')"
    store.execute(f"COPY (FROM hierarchy_to_arx('h')) TO {out} {options}")
    dbanon.save_hierarchy(store, "h", tmp_path / "python.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "python.csv").read_bytes()
    store.execute(f"INSERT INTO dbanon.hierarchy FROM hierarchy_from_file('again', {out})")
    assert paths(store, "again") == paths(store, "h")


def test_hierarchy_leaves_keep_file_order(store: Any) -> None:
    rows = [("z", "B", "*"), ("y", "*"), ("c", "A", "*"), ("a", "B", "*"), ("b", "A", "*")]
    dbanon.load_hierarchy(store, "h", rows)
    assert [path[0] for path in paths(store, "h")] == ["z", "a", "y", "c", "b"]
    lines = store.execute("FROM hierarchy_to_arx('h')").fetchall()
    assert [line for (line,) in lines] == ["z;B;*", "a;B;*", "y;*", "c;A;*", "b;A;*"]


def test_load_hierarchy_replaces_only_its_name(store: Any) -> None:
    dbanon.load_hierarchy(store, "h", [("a", "*"), ("b", "*")])
    dbanon.load_hierarchy(store, "other", [("x", "*")])
    dbanon.load_hierarchy(store, "h", [("c", "*")])
    assert paths(store, "h") == [("c", "*")]
    assert paths(store, "other") == [("x", "*")]


def test_label_repeated_on_next_level_is_single_node(store: Any, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;a;A;*\nb;B;B;*\nc;C;*;*\n", encoding="utf-8")
    dbanon.load_hierarchy(store, "h", tmp_path / "h.csv")
    assert paths(store, "h") == [("a", "A", "*"), ("b", "B", "*"), ("c", "C", "*")]
    assert store.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(7,)]


CONTENTS = [
    "a;A;*\nb;*\n", "a;A;*\r\nb;*\r\n", "\ufeffa;A;*\nb;*\n", "a;A;*\n\n\nb;*", "a;A;*;;\nb;*;\n",
    '"a";"A";"*"\n"b";*\n', "a;A;*\rb;*\r", "a,A,*\nb,*\n", "a\tA\t*\r\nb\t*\r\n", "a;A;*\nb;*\na;A;*\n",
    "value;level1;level2\na;A;*\nb;*\n", "Value,Level 1,*\na,A,*\nb,*\n", "0,1,2\na,A,*\nb,*\nb,*\n",
    'city,level_1,level_2\n"a","A","*"\nb,*\n',
]  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS)
def test_hierarchy_file_forms_give_one_hierarchy(store: Any, tmp_path: Path, content: str) -> None:
    (tmp_path / "h.csv").write_bytes(content.encode())
    dbanon.load_hierarchy(store, "h", tmp_path / "h.csv")
    assert paths(store, "h") == [("a", "A", "*"), ("b", "*")]


def test_value_named_like_header_stays_value(store: Any, tmp_path: Path) -> None:
    for content in ("value;x;*\na;x;*\nb;y;*\n", "level;*\na;*\n", "leaf;leaf;*\na;leaf;*\nb;*\n"):
        (tmp_path / "h.csv").write_text(content, encoding="utf-8")
        if content.startswith("leaf"):
            with pytest.raises(dbanon.DbanonError, match="value of line 1 is an inner node"):
                dbanon.load_hierarchy(store, "h", tmp_path / "h.csv")
        else:
            dbanon.load_hierarchy(store, "h", tmp_path / "h.csv")
            assert content.split(";")[0] in [path[0] for path in paths(store, "h")]


def test_semicolons_win_over_commas_in_labels(store: Any, tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a, b;x, y;*\nc, d;x, y;*\n", encoding="utf-8")
    dbanon.load_hierarchy(store, "h", tmp_path / "h.csv")
    assert paths(store, "h") == [("a, b", "x, y", "*"), ("c, d", "x, y", "*")]


def test_label_keeps_leading_and_trailing_spaces(store: Any, tmp_path: Path) -> None:
    table(store, [" a", "a", "a "])
    previous = build_paths(store, "hierarchy_flat('h', 't', 'v')")
    assert [path[0] for path in previous] == [" a", "a", "a "]
    dbanon.save_hierarchy(store, "h", tmp_path / "h.csv")
    dbanon.load_hierarchy(store, "h", tmp_path / "h.csv")
    assert paths(store, "h") == previous


NAMES = ["it's", 'a"b', "a.b", "memory.h", "🙂", "{{ x }}", "-- x", "$1"]


@pytest.mark.parametrize("name", [*NAMES, "x'); DROP TABLE t; --", "a;b"])
def test_hierarchy_with_any_name_is_usable(store: Any, tmp_path: Path, name: str) -> None:
    table(store, ["M", "F"])
    dbanon.load_hierarchy(store, name, [("M", "any", "*"), ("F", "any", "*")])
    assert published_rows(store, 2, f"hierarchies := {{'v': {text(name)}}}") == ["any", "any"]
    dbanon.declare(store, "t", v=("quasi", name))
    assert store.execute("SELECT DISTINCT v FROM kacpc('t', k=2)").fetchall() == [("any",)]
    assert store.execute("FROM policy_problems()").fetchall() == []
    assert store.execute(f"FROM uncovered_values('t', 'v', hierarchy={text(name)})").fetchall() == []
    dbanon.save_hierarchy(store, name, tmp_path / "h.csv")
    assert (tmp_path / "h.csv").read_text() == "M;any;*\nF;any;*\n"
    assert store.execute(f"FROM hierarchy_to_arx({text(name)})").fetchall() == [("M;any;*",), ("F;any;*",)]


def test_hierarchy_belongs_to_its_database(con: Any, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    con.execute("CREATE TABLE clinic.main.t AS SELECT unnest(['M', 'F']) AS v")
    con.execute("CREATE TABLE memory.main.t AS FROM clinic.main.t")
    for database in ("memory", "clinic"):
        con.execute(f"USE {database}")
        dbanon.load_hierarchy(con, "h", [("M", f"any of {database}", "*"), ("F", f"any of {database}", "*")])
    assert published_rows(con, 2) == ["any of clinic"] * 2
    assert published_rows(con, 2, source="memory.t") == ["any of memory"] * 2
    con.execute("USE memory")
    assert published_rows(con, 2) == ["any of memory"] * 2
    assert published_rows(con, 2, "hierarchies := {'v': 'clinic.h'}") == ["any of clinic"] * 2
    assert published_rows(con, 2, source="clinic.t") == ["any of clinic"] * 2
    rows = con.execute("SELECT database_name FROM hierarchies() WHERE name = 'h' ORDER BY ALL").fetchall()
    assert rows == [("clinic",), ("memory",)]


# --- malformed files ----------------------------------------------------------------------------------------

MALFORMED = {
    "two roots": ("a;*\nb;?\n", "2 roots"),
    "third root": ("a;*\nb;*\n\nc;?\n", "one of them in line 4"),
    "first line of another root": ("a;x;?\nb;y;*\nc;y;*\n", "in line 1.*unless it is a header"),
    "empty label": ("a;;*\n", "line 1 has an empty label"),
    "empty quoted label": ('a;*\nb;"";*\n', "line 2 has an empty label"),
    "empty value": ("a;*\n;*\n", "line 2 has an empty value.*missing_codes"),
    "nothing but separators": ("a;*\n;;\n", "line 2"),
    "a leaf under two parents": ("a;B;*\n\na;C;*\n", "lines 1 and 3 have the same leaf"),
    "a leaf with leaves below": ("a;a;*\nb;a;*\n", "value of line 1 is an inner node of line 2"),
    "a leaf with leaves below, later": ("b;*\na;b;*\n", "value of line 1 is an inner node of line 2"),
    "the root as a leaf": ("*\na;*\n", "value of line 1"),
    "one name for two nodes": ("a;o;n;*\nb;o;s;*\nc;n > o;*\n", "two inner nodes would be published under one name"),
    "an open quote": ('a;*\r"b;*\n', "line 2 is not CSV"),
    "text after a quote": ('"a"b;*\n', "line 1 is not CSV"),
    "commas, two roots": ("a,x,*\nb,x,?\n", "2 roots, one of them in line 2"),
    "tabs, empty label": ("a\tx\t*\nb\t\t*\n", "line 2 has an empty label"),
    "commas or tabs": ("a\tb,*\nc\tb,*\n", "line 1 has commas and tabs"),
    "nothing": ("", "no lines"),
    "empty lines": ("\n\n", "no lines"),
}


@pytest.mark.parametrize("content, message", MALFORMED.values(), ids=MALFORMED)
def test_malformed_hierarchy_file_refused_and_nothing_changed(
    store: Any, tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "h.csv"
    path.write_text(content, encoding="utf-8")
    dbanon.load_hierarchy(store, "h", [("old", "*")])
    with pytest.raises(dbanon.DbanonError, match=f"hierarchy 'h' is not well-formed.*{message}") as caught:
        dbanon.load_hierarchy(store, "h", path)
    assert "hierarchy_problems" not in str(caught.value)
    with pytest.raises(duckdb.Error, match=f"hierarchy 'new' is not well-formed.*{message}"):
        store.execute(f"INSERT INTO dbanon.hierarchy FROM hierarchy_from_file('new', {text(str(path))})")
    assert paths(store, "h") == [("old", "*")]
    assert store.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(2,)]


def test_unreadable_hierarchy_file_refused(store: Any, tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("Zürich;*\n".encode("latin-1"))
    unreadable = "cannot read the file.*"
    for path, message in (
        ("latin.csv", "is not UTF-8. Hint: convert the file"),
        ("missing.csv", f"{unreadable}no such file"),
        ("", f"{unreadable}directory"),
    ):
        with pytest.raises(dbanon.DbanonError, match=message):
            dbanon.load_hierarchy(store, "h", tmp_path / path)
        with pytest.raises(duckdb.Error, match=message):
            store.execute(f"FROM hierarchy_from_file('h', {text(str(tmp_path / path))})")
    assert paths(store, "h") == []


@pytest.mark.parametrize("rows", [[], [[]], [["a", None, "*"]], [["a", "*"], ["b"]], ["a;*", "b;*"], [1]])
def test_load_hierarchy_refuses_invalid_rows(store: Any, rows: Any) -> None:
    with pytest.raises(dbanon.DbanonError):
        dbanon.load_hierarchy(store, "h", rows)
    assert paths(store, "h") == []


def test_load_hierarchy_converts_or_refuses_numbers(store: Any) -> None:
    try:
        dbanon.load_hierarchy(store, "h", [[20, "20s", "*"]])
    except dbanon.DbanonError:
        assert paths(store, "h") == []
    else:
        assert paths(store, "h") == [("20", "20s", "*")]


def test_unknown_hierarchy_error_suggests_name(store: Any, tmp_path: Path) -> None:
    with pytest.raises(dbanon.DbanonError, match=r"no hierarchy 'sexx'.*Did you mean 'sex'"):
        dbanon.load_hierarchy(store, "sexx")
    dbanon.load_hierarchy(store, "zip5", [("a", "*")])
    with pytest.raises(dbanon.DbanonError, match=r"no hierarchy 'zip4'.*Did you mean 'zip5'"):
        dbanon.save_hierarchy(store, "zip4", tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()
    table(store, ["a", "a"])
    for query in ("hierarchy_to_arx('zip4')", "kacpc('t', k=2, qi=['v'], hierarchies={'v': 'zip4'})",
                  "uncovered_values('t', 'v', hierarchy='zip4')"):  # fmt: skip
        with pytest.raises(duckdb.Error, match=r"no hierarchy 'zip4'.*Did you mean 'zip5'"):
            store.execute(f"FROM {query}")
    with pytest.raises(duckdb.Error, match=r"no hierarchy 'sexx'.*Did you mean 'sex'"):
        store.execute("FROM hierarchy_builtin('sexx')")


# --- the views ----------------------------------------------------------------------------------------------


def random_rows(seed: int) -> list[tuple[str, ...]]:
    """Return leaf-first rows of a ragged tree in random order, with inner labels that recur in several branches."""
    chance = random.Random(seed)
    above: list[tuple[str, ...]] = []

    def grow(line: tuple[str, ...]) -> None:
        for label in chance.sample("ABCD", chance.randint(1, 3)):
            if label == line[0]:
                continue
            if len(line) < 4 and chance.random() < 0.5:
                grow((label, *line))
            else:
                above.extend([(label, *line)] * chance.randint(1, 3))
        if chance.random() < 0.5 or len(line) == 1:
            above.append(line)

    grow(("*",))
    rows = [(f"v{i}", *line) for i, line in enumerate(above)]
    chance.shuffle(rows)
    return rows


def test_hierarchy_node_view_equals_reference(store: Any) -> None:
    trees = {f"h{seed}": Tree(random_rows(seed)) for seed in range(20)}
    trees["workclass"] = Tree(WORKCLASS)
    trees["hostile"] = Tree(HOSTILE)
    for name in trees:
        rows = {"workclass": WORKCLASS, "hostile": HOSTILE}.get(name) or random_rows(int(name[1:]))
        dbanon.load_hierarchy(store, name, rows)
    actual_rows = store.execute("""
        SELECT name, path, label, depth, height_top, height_loss, height_sub, leaves, is_leaf
        FROM dbanon.hierarchy_node ORDER BY name, preorder
    """).fetchall()
    for name, tree in trees.items():
        nodes = [(tuple(reversed(row[1])), *row[2:]) for row in actual_rows if row[0] == name]
        assert {node[0] for node in nodes} == set(tree.children), name
        for node, label, *numbers in nodes:
            assert label == node[-1]
            assert numbers == [
                tree.depth(node), tree.htop(node), tree.hloss(node), tree.hsub(node), tree.leaves(node),
                tree.is_leaf(node),
            ]  # fmt: skip
        assert [node[1] for node in nodes if node[-1]] == tree.leaf_order(), name
        assert [path[0] for path in paths(store, name)] == tree.leaf_order(), name
        assert all(tuple(reversed(path)) == tree.leaf(path[0]) for path in paths(store, name))


def test_preorder_counts_nodes_once_parents_first(store: Any) -> None:
    dbanon.load_hierarchy(store, "h", WORKCLASS)
    rows = store.execute("SELECT node, parent, preorder FROM dbanon.hierarchy_node ORDER BY preorder").fetchall()
    assert [row[2] for row in rows] == list(range(10))
    place = {node: preorder for node, _, preorder in rows}
    assert all(parent is None or place[parent] < preorder for _, parent, preorder in rows)


def test_adult_workclass_heights_equal_kacpc_paper(store: Any) -> None:
    """KACPC paper: H(Private) = 2, H(Local-gov) = 1, H(TC) = 3, and every leaf is 1 in the loss."""
    dbanon.load_hierarchy(store, "adult_workclass")
    rows = store.execute(
        "SELECT label, height_top, height_loss, height_sub, leaves FROM dbanon.hierarchy_node"
    ).fetchall()
    heights = {row[0]: row[1:] for row in rows}
    assert heights["*"] == (3, 3, 2, 7)
    assert heights["Gov"] == (2, 2, 1, 3)
    assert heights["Private"] == (2, 1, 0, 1)
    assert heights["Local-gov"] == (1, 1, 0, 1)


def test_inserted_hierarchy_rows_are_usable(store: Any) -> None:
    store.execute("""
        INSERT INTO dbanon.hierarchy (name, node, parent, label, position) VALUES
            ('h', 'r', NULL, 'all', 0), ('h', '1', 'r', 'old', 2), ('h', '2', 'r', 'young', 1),
            ('h', 'x', '1', 'b', 1), ('h', 'y', '2', 'a', 1), ('h', 'z', '2', 'c', 0)
    """)
    assert paths(store, "h") == [("c", "young", "all"), ("a", "young", "all"), ("b", "old", "all")]
    table(store, ["a", "b", "c", "a", "b", "c"])
    assert published_rows(store, 4) == ["all"] * 6
    store.execute("UPDATE dbanon.hierarchy SET label = 'any' WHERE node = 'r'")
    assert published_rows(store, 4) == ["any"] * 6


# --- published labels ---------------------------------------------------------------------------------------


def test_equal_labels_in_two_branches_published_as_paths(store: Any) -> None:
    rows = [("a", "X", "A", "*"), ("b", "X", "A", "*"), ("c", "X", "B", "*"), ("d", "X", "B", "*")]
    dbanon.load_hierarchy(store, "h", rows)
    assert store.execute("SELECT count(*) FROM dbanon.hierarchy WHERE label = 'X'").fetchall() == [(2,)]
    table(store, ["a", "b", "c", "d"])
    for form in ("'h'", "E'a;X;A;*\\nb;X;A;*\\nc;X;B;*\\nd;X;B;*'"):
        assert published_rows(store, 2, f"hierarchies := {{'v': {form}}}") == ["A > X", "A > X", "B > X", "B > X"]
    table(store, ["a", "a", "c", "c"])
    assert published_rows(store, 2, "hierarchies := {'v': 'h'}, min_level := {'v': 1}") == ["A > X"] * 2 + ["B > X"] * 2
    assert published_rows(store, 2, "hierarchies := {'v': 'h'}, min_level := {'v': 2}") == ["A", "A", "B", "B"]


def test_pathlike_label_not_confused_with_path(store: Any) -> None:
    """Two nodes of one name would let a reader confuse two classes."""
    rows = [("a", "X", "A", "*"), ("b", "X", "B", "*"), ("c", "A > X", "*")]
    with pytest.raises(dbanon.DbanonError, match="two inner nodes would be published under one name"):
        dbanon.load_hierarchy(store, "h", rows)


def test_pathlike_value_refused_or_escaped(store: Any) -> None:
    rows = [("a", "X", "A", "*"), ("b", "X", "A", "*"), ("c", "X", "B", "*"), ("A > X", "*")]
    dbanon.load_hierarchy(store, "h", rows)
    table(store, ["a", "b", "A > X", "A > X"])
    try:
        visited = published_rows(store, 2)
    except duckdb.Error as error:
        assert "could not distinguish" in str(error)
    else:
        assert len(set(visited)) == 2


def test_ragged_tree_generalizes_to_common_ancestor(store: Any) -> None:
    dbanon.load_hierarchy(store, "h", WORKCLASS)
    table(store, ["Local-gov", "State-gov", "Self-emp-inc", "Self-emp-not-inc"])
    assert published_rows(store, 2) == ["Gov", "Gov", "Self-emp", "Self-emp"]
    table(store, ["Local-gov", "State-gov", "Private", "Private"])
    assert published_rows(store, 2) == ["Gov", "Gov", "Private", "Private"]
    assert published_rows(store, 3) == ["*"] * 4


def test_hostile_labels_published_unchanged(store: Any) -> None:
    dbanon.load_hierarchy(store, "h", HOSTILE)
    table(store, [row[0] for row in HOSTILE] * 2)
    assert published_rows(store, 2) == sorted([row[0] for row in HOSTILE] * 2)
    assert set(published_rows(store, 2, "hierarchies := {'v': 'h'}, min_level := {'v': 1}")) == {
        row[1] for row in HOSTILE
    }
    assert store.execute("SELECT count(*) FROM t").fetchall() == [(26,)]


def test_category_without_hierarchy_generalizes_to_star(store: Any) -> None:
    table(store, ["a", "a", "b", "b", "c"])
    assert published_rows(store, 2, "nulls := 'keep'") in (["*", "*", "*", "b", "b"], ["*", "*", "*", "a", "a"])


# --- escape -------------------------------------------------------------------------------------------------


def test_generalized_looking_values_refused_without_escape(store: Any) -> None:
    table(store, ["*", "*", "a", "a"])
    with pytest.raises(
        duckdb.Error, match=r"t\.v: 1 distinct value is '\*' or equal to the label.*escape_labels = true"
    ):
        published_rows(store, 2, "nulls := 'keep'")
    table(store, ["G", "G", "a", "a", "*"])
    dbanon.load_hierarchy(store, "h", [("a", "G", "*"), ("b", "G", "*")])
    with pytest.raises(duckdb.Error, match=r"t\.v: 2 distinct values are '\*' or equal to the label"):
        published_rows(store, 2)


def test_escape_labels_marks_star_and_escaped_values(store: Any) -> None:
    values = ["*", "\\*", "\\a", "a", "b"]
    table(store, values * 2)
    seen_values = sorted(["\\*", "\\\\*", "\\\\a", "a", "b"] * 2)
    assert published_rows(store, 2, "escape_labels := true") == seen_values
    rows = [("*", "S", "*"), ("\\*", "S", "*"), ("\\a", "G", "*"), ("a", "G", "*"), ("b", "G", "*")]
    dbanon.load_hierarchy(store, "h", rows)
    assert published_rows(store, 2, "hierarchies := {'v': 'h'}, escape_labels := true") == seen_values
    assert published_rows(store, 4, "hierarchies := {'v': 'h'}, escape_labels := true") == ["G"] * 6 + ["S"] * 4


def test_escape_labels_marks_leaf_named_like_inner_node(store: Any) -> None:
    dbanon.load_hierarchy(store, "h", [("a", "G", "*"), ("b", "G", "*"), ("G", "H", "*"), ("c", "H", "*")])
    table(store, ["a", "b", "G", "G"])
    assert published_rows(store, 2, "hierarchies := {'v': 'h'}, escape_labels := true") == sorted(
        ["G", "G", "\\G", "\\G"]
    )


def test_escape_maps_value_to_inner_node_of_label(store: Any) -> None:
    """Data that was generalized before: such a value is as coarse as its node."""
    dbanon.load_hierarchy(store, "h", [("a", "G", "*"), ("b", "G", "*"), ("c", "*")])
    table(store, ["G", "G", "a", "a", "c", "c"])
    visited = published_rows(store, 2, "hierarchies := {'v': 'h'}, escape_labels := true")
    assert visited in (sorted(["G", "G", "a", "a", "c", "c"]), sorted(["\\G", "\\G", "a", "a", "c", "c"]))
    table(store, ["G", "a", "c", "c"])
    assert published_rows(store, 2, "hierarchies := {'v': 'h'}, escape_labels := true") == ["G", "G", "c", "c"]


# --- builders -----------------------------------------------------------------------------------------------


def test_prefix_builder_masks_from_right(store: Any) -> None:
    table(store, ["02138", "02139", "02201", None, "02138"])
    assert build_paths(store, "hierarchy_prefix('h', 't', 'v')") == [
        ("02138", "0213*", "021**", "02***", "0****", "*"),
        ("02139", "0213*", "021**", "02***", "0****", "*"),
        ("02201", "0220*", "022**", "02***", "0****", "*"),
    ]
    assert build_paths(store, "hierarchy_prefix('h', 't', 'v', keep=[4, 3])") == [
        ("02138", "0213*", "021**", "*"),
        ("02139", "0213*", "021**", "*"),
        ("02201", "0220*", "022**", "*"),
    ]
    assert build_paths(store, "hierarchy_prefix('h', 't', 'v', keep := [9])")[0] == ("02138", "*")
    table(store, ["é🙂x", "é🙂y"])
    assert build_paths(store, "hierarchy_prefix('h', 't', 'v', keep => [2])") == [
        ("é🙂x", "é🙂*", "*"),
        ("é🙂y", "é🙂*", "*"),
    ]


def test_prefix_hierarchy_generalizes_its_table(store: Any) -> None:
    table(store, ["02138", "02139", "02201", "02202"])
    build_paths(store, "hierarchy_prefix('h', 't', 'v', keep=[4, 3, 2])")
    assert published_rows(store, 2) == ["0213*", "0213*", "0220*", "0220*"]
    assert published_rows(store, 4) == ["02***"] * 4


def test_interval_builder_aligns_negative_values(store: Any) -> None:
    table(store, [-11, -10, -7, -1, 0, 4, 5, 19, None], "INTEGER")
    assert build_paths(store, "hierarchy_intervals('h', 't', 'v', widths=[5, 10])") == [
        ("-11", "[-15, -11]", "[-20, -11]", "*"),
        ("-10", "[-10, -6]", "[-10, -1]", "*"),
        ("-7", "[-10, -6]", "[-10, -1]", "*"),
        ("-1", "[-5, -1]", "[-10, -1]", "*"),
        ("0", "[0, 4]", "[0, 9]", "*"),
        ("4", "[0, 4]", "[0, 9]", "*"),
        ("5", "[5, 9]", "[0, 9]", "*"),
        ("19", "[15, 19]", "[10, 19]", "*"),
    ]


@pytest.mark.parametrize("type_", ["TINYINT", "UBIGINT", "BIGINT", "HUGEINT", "DECIMAL(10, 2)", "DOUBLE", "FLOAT"])
def test_interval_builder_labels_contain_values(store: Any, type_: str) -> None:
    full_result = type_ in ("TINYINT", "UBIGINT", "BIGINT", "HUGEINT")
    values: list[Any] = [0, 4, 5, 99] if type_ == "UBIGINT" else [-10, -6, -5, -1, 0, 4, 5, 99]
    if not full_result:
        values += [-5.5, -0.25, 4.75, 9.5]
    table(store, values, type_)
    rows = build_paths(store, "hierarchy_intervals('h', 't', 'v', widths=[5, 20])")
    assert [float(row[0]) for row in rows] == sorted(values)
    for value, narrow, wide_result, star in rows:
        assert star == "*"
        for label, width in ((narrow, 5), (wide_result, 20)):
            low, high = (int(end) for end in label[1:-1].split(", "))
            assert low % width == 0
            if label.endswith("]"):
                assert high - low == width - 1
                assert low <= float(value) <= high
            else:
                assert high - low == width
                assert low <= float(value) < high


def test_interval_builder_covers_bigint_extremes(store: Any) -> None:
    table(store, [-(2**63), 2**63 - 1, 0], "BIGINT")
    rows = build_paths(store, "hierarchy_intervals('h', 't', 'v', widths=[1000])")
    for value, label, _ in rows:
        low, high = (int(end) for end in label[1:-1].split(", "))
        assert low <= int(value) <= high == low + 999


def test_date_builder_has_months_quarters_years_decades(store: Any) -> None:
    table(store, ["1969-12-31", "1970-01-01", "1899-05-06", "2000-02-29", None], "DATE")
    assert build_paths(store, "hierarchy_dates('h', 't', 'v')") == [
        ("1899-05-06", "1899-05", "1899-Q2", "1899", "1890s", "*"),
        ("1969-12-31", "1969-12", "1969-Q4", "1969", "1960s", "*"),
        ("1970-01-01", "1970-01", "1970-Q1", "1970", "1970s", "*"),
        ("2000-02-29", "2000-02", "2000-Q1", "2000", "2000s", "*"),
    ]
    assert build_paths(store, "hierarchy_dates('h', 't', 'v', levels=['year', 'century'])") == [
        ("1899-05-06", "1899", "1800-1899", "*"),
        ("1969-12-31", "1969", "1900-1999", "*"),
        ("1970-01-01", "1970", "1900-1999", "*"),
        ("2000-02-29", "2000", "2000-2099", "*"),
    ]


def test_date_builder_labels_days_of_timestamps(store: Any) -> None:
    table(store, ["1985-03-12 23:59:59", "1985-03-12 00:00:00", "1969-12-31 23:59:59.5"], "TIMESTAMP")
    assert build_paths(store, "hierarchy_dates('h', 't', 'v', levels=['day', 'decade'])") == [
        ("1969-12-31 23:59:59.5", "1969-12-31 (day)", "1960s", "*"),
        ("1985-03-12 00:00:00", "1985-03-12 (day)", "1980s", "*"),
        ("1985-03-12 23:59:59", "1985-03-12 (day)", "1980s", "*"),
    ]


def test_flat_builder_puts_values_under_star(store: Any) -> None:
    table(store, ["b", "a", None, "b", "it's"])
    assert build_paths(store, "hierarchy_flat('h', 't', 'v')") == [("a", "*"), ("b", "*"), ("it's", "*")]
    table(store, [10, 9], "INTEGER")
    assert sorted(build_paths(store, "hierarchy_flat('h', 't', 'v')")) == [("10", "*"), ("9", "*")]


@pytest.mark.parametrize(
    ("type_", "values", "builder", "expected_values"),
    [
        ("INTEGER", [-3, -2, 11, 12], "hierarchy_intervals('h', 't', 'v', widths=[5])", ["[-5, -1]", "[10, 14]"]),
        ("DECIMAL(4, 1)", [0.5, 1.5, 6.5, 7.5], "hierarchy_intervals('h', 't', 'v', widths=[5])",
         ["[0, 5)", "[5, 10)"]),
        ("DATE", ["1969-12-31", "1969-12-01", "1970-01-01", "1970-01-31"], "hierarchy_dates('h', 't', 'v')",
         ["1969-12", "1970-01"]),
        ("TIMESTAMP", ["1969-12-31 01:00:00", "1969-12-31 02:00:00", "1970-01-01", "1970-01-01 03:00:00"],
         "hierarchy_dates('h', 't', 'v', levels=['day', 'year'])", ["1969-12-31 (day)", "1970-01-01 (day)"]),
        ("BOOLEAN", [True, True, False, False], "hierarchy_flat('h', 't', 'v')", ["false", "true"]),
    ],
)  # fmt: skip
def test_built_hierarchy_covers_its_column(
    store: Any, type_: str, values: list[Any], builder: str, expected_values: list[str]
) -> None:
    table(store, values, type_)
    build_paths(store, builder)
    assert store.execute("FROM uncovered_values('t', 'v', hierarchy='h')").fetchall() == []
    assert published_rows(store, 2) == sorted(expected_values * 2)


def test_hierarchy_builders_accept_views_files_odd_names(store: Any, tmp_path: Path) -> None:
    store.execute("""CREATE OR REPLACE TABLE "it's; odd" AS SELECT unnest(['ab', 'ac']) AS "x'); DROP TABLE t; --\"""")
    column = text("X'); DROP TABLE t; --")
    expected = [("ab", "a*", "*"), ("ac", "a*", "*")]
    assert build_paths(store, f"hierarchy_prefix('h', 'it''s; odd', {column})") == expected
    file = tmp_path / "x.parquet"
    store.execute(f"""COPY "it's; odd" TO {text(str(file))}""")
    assert build_paths(store, f"hierarchy_prefix('h', {text(str(file))}, {column})") == expected
    store.execute("""CREATE OR REPLACE VIEW narrow AS SELECT * FROM "it's; odd" LIMIT 1""")
    assert build_paths(store, f"hierarchy_prefix('h', 'narrow', {column})") == expected[:1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("hierarchy_intervals('h', 't', 'v')", "widths is missing"),
        ("hierarchy_intervals('h', 't', 'v', widths=[])", "widths must be"),
        ("hierarchy_intervals('h', 't', 'v', widths=[0])", "widths must be"),
        ("hierarchy_intervals('h', 't', 'v', widths=[5, 5])", "widths must be"),
        ("hierarchy_intervals('h', 't', 'v', widths=[10, 5])", "widths must be"),
        ("hierarchy_intervals('h', 't', 'v', widths=[5, 12])", "widths must be.*multiple"),
        ("hierarchy_intervals('h', 't', 'v', widths=[2.5])", "widths must be"),
        ("hierarchy_intervals('h', 't', 'v', widths=5)", "widths must be"),
        ("hierarchy_prefix('h', 't', 'v', keep=[3, 4])", "keep must be"),
        ("hierarchy_prefix('h', 't', 'v', keep=[0])", "keep must be"),
        ("hierarchy_prefix('h', 't', 'v', keep=3)", "keep must be"),
        ("hierarchy_dates('h', 't', 'v', levels=['year', 'month'])", "levels must be"),
        ("hierarchy_dates('h', 't', 'v', levels=['fortnight'])", "levels must be"),
        ("hierarchy_dates('h', 't', 'v', levels=[])", "levels must be"),
        ("hierarchy_dates('h', 't', 'v', level=['year'])", "level"),
        ("hierarchy_flat('h', 't', 'vv')", "no column 'vv'"),
        ("hierarchy_flat('h', 't', NULL)", "col is missing"),
        ("hierarchy_flat(NULL, 't', 'v')", "name is missing"),
        ("hierarchy_flat('h', 5, 'v')", "tbl must be a text"),
        ("hierarchy_flat('h', 'tt', 'v')", "no table, view or file 'tt'"),
        ("hierarchy_flat('h', '(SELECT 1 AS v)', 'v')", "is not the name of a table"),
        ("hierarchy_flat('h', 't', 'v', keep='x')", "no parameter 'keep'|does not support|too many"),
    ],
)
def test_invalid_builder_arguments_refused(store: Any, call: str, message: str) -> None:
    table(store, ["1970-01-01"], "DATE") if "dates" in call else table(store, [1, 2], "INTEGER")
    with pytest.raises(duckdb.Error, match=message):
        store.execute(f"INSERT INTO dbanon.hierarchy FROM {call}")
    assert store.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(0,)]


@pytest.mark.parametrize("call", ["hierarchy_dates('h', 't', 'v')", "hierarchy_intervals('h', 't', 'v', widths=[5])"])
def test_builder_type_error_contains_no_cell(store: Any, call: str) -> None:
    table(store, ["secret cell", "secret cell"])
    with pytest.raises(duckdb.Error) as error:
        store.execute(f"FROM {call}").fetchall()
    assert "secret cell" not in str(error.value)


# --- uncovered ----------------------------------------------------------------------------------------------


def test_uncovered_lists_missing_and_reserved_values(store: Any) -> None:
    table(store, ["a", "a", "zz", "zz", "y", None, "G", "*"])
    dbanon.load_hierarchy(store, "h", [("a", "G", "*"), ("b", "G", "*")])
    expected = [("y", 1, "missing"), ("zz", 2, "missing"), ("*", 1, "reserved"), ("G", 1, "reserved")]
    for call in ("hierarchy='h'", "hierarchy := 'h'", "hierarchy => 'h'", "hierarchy=E'a;G;*\\nb;G;*'"):
        assert store.execute(f"FROM uncovered_values('t', 'v', {call})").fetchall() == expected
    dbanon.declare(store, "t", v=("quasi", "h"))
    assert store.execute("FROM uncovered_values('t', 'V')").fetchall() == expected
    store.execute("DELETE FROM t WHERE v IN ('zz', 'y', 'G', '*')")
    assert store.execute("FROM uncovered_values('t', 'v')").fetchall() == []


def test_uncovered_values_without_hierarchy_finds_star(store: Any) -> None:
    table(store, ["a", "*", "*"])
    assert store.execute("FROM uncovered_values('t', 'v')").fetchall() == [("*", 2, "reserved")]


def test_uncovered_values_refuses_invalid_arguments(store: Any) -> None:
    table(store, ["a"])
    for call, message in (("'t', 'w'", "no column 'w'"), ("'tt', 'v'", "no table, view or file 'tt'"),
                          ("'t', 'v', hierarchy='nope'", "no hierarchy 'nope'"),
                          ("'t', 'v', hierachy='h'", "no parameter 'hierachy'")):  # fmt: skip
        with pytest.raises(duckdb.Error, match=message):
            store.execute(f"FROM uncovered_values({call})")


@pytest.mark.parametrize("source", ["t", "it's"])
@pytest.mark.parametrize("declared", [True, False])
def test_missing_value_hint_is_runnable_statement(store: Any, source: str, declared: bool) -> None:
    table(store, ["a", "zz", "zz", "y"])
    dbanon.load_hierarchy(store, "h", [("a", "*")])
    if source != "t":
        store.execute(f'CREATE OR REPLACE TABLE "{source}" AS FROM t')
    if declared:
        dbanon.declare(store, source, v=("quasi", "h"))
    with pytest.raises(duckdb.Error, match=r"2 distinct values are missing from hierarchy 'h'\. Hint: ") as error:
        published_rows(store, 2, source=source)
    hint = re.search(r"Hint: (FROM uncovered_values\(.*\))", str(error.value))
    assert hint
    assert store.execute(hint[1]).fetchall() == [("y", 1, "missing"), ("zz", 2, "missing")]


def test_date_builder_covers_whole_date_range(store: Any) -> None:
    """TIMESTAMP ends before DATE does."""
    table(store, ["294247-01-11", "5881580-07-10", "5877642-06-25 (BC)"], "DATE")
    store.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_dates('h', 't', 'v', levels := ['month', 'year'])")
    assert paths(store, "h") == [
        ("5877642-06-25 (BC)", "-5877641-06", "-5877641", "*"),
        ("294247-01-11", "294247-01", "294247", "*"),
        ("5881580-07-10", "5881580-07", "5881580", "*"),
    ]


@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])
@pytest.mark.parametrize("t", [0, 0.3, 0.5])
def test_missing_value_distance_matches_gate(store: Any, algorithm: str, t: float) -> None:
    """Ten of 20 are sick and the others missing: a class of only the sick is 0.5 away from the table."""
    store.execute("INSERT INTO dbanon.hierarchy (name, node, label) VALUES ('h', 's', 'sick')")
    store.execute("CREATE OR REPLACE TABLE t AS SELECT i AS age, IF(i < 10, 'sick', NULL) AS v FROM range(20) AS r (i)")
    asked_text = (
        f"'t', k := 2, qi := ['age'], sensitive := ['v'], hierarchies := {{'v': 'h'}}, t := {t}, "
        f"ground_distance := 'hierarchical'"
    )
    ((classes, minimum, maximum),) = store.execute(
        f"SELECT count(*), min(sick / size), max(sick / size) FROM (SELECT count(v) AS sick, count(*) AS size "
        f"FROM {algorithm}({asked_text}) GROUP BY class_id)"
    ).fetchall()
    assert max(0.5 - minimum, maximum - 0.5) <= t
    assert classes > 1 or t < 0.5


# --- invalid trees ------------------------------------------------------------------------------------------

BROKEN = {
    "two roots": ([("r", None, "*"), ("q", None, "?"), ("a", "r", "a"), ("b", "q", "b")], "2 roots", "one root"),
    "no root": ([("a", "b", "a"), ("b", "a", "b")], "0 roots", "one root"),
    "cycle": ([("r", None, "*"), ("a", "r", "a"), ("b", "r", "b"), ("x", "y", "x"), ("y", "x", "y")], "cycle", "reach"),
    "orphan": ([("r", None, "*"), ("a", "r", "a"), ("b", "r", "b"), ("x", "gone", "x")], "does not exist", "reach"),
    "equal siblings": (
        [("r", None, "*"), ("a", "r", "a"), ("b", "r", "b"), ("1", "r", "S"), ("2", "r", "S"), ("c", "1", "c"),
         ("d", "2", "d")], "same parent", "same label"),
    "ambiguous leaf": (
        [("r", None, "*"), ("A", "r", "A"), ("B", "r", "B"), ("a", "A", "a"), ("a2", "B", "a"), ("b", "B", "b")],
        "another leaf", "several leaves"),
    "one name for two nodes": (
        [("r", None, "*"), ("N", "r", "north"), ("S", "r", "south"), ("n", "N", "other"), ("s", "S", "other"),
         ("q", "r", "north > other"), ("a", "n", "a"), ("b", "s", "b"), ("c", "q", "c")],
        "another inner node", "under one name"),
    "inner star": (
        [("r", None, "all"), ("s", "r", "*"), ("c", "r", "c"), ("a", "s", "a"), ("b", "s", "b")],
        "but is not the root", r"published as \*"),
    "deep inner star": (
        [("r", None, "all"), ("m", "r", "m"), ("s", "m", "*"), ("a", "s", "a"), ("b", "s", "b")],
        "but is not the root", r"published as \*"),
}  # fmt: skip


@pytest.mark.parametrize("nodes, problem, message", BROKEN.values(), ids=BROKEN)
def test_malformed_tree_reported_and_release_refused(store: Any, nodes: Any, problem: str, message: str) -> None:
    for node, parent, label in nodes:
        store.execute("INSERT INTO dbanon.hierarchy (name, node, parent, label) VALUES ('h', ?, ?, ?)",
                      [node, parent, label])  # fmt: skip
    dbanon.load_hierarchy(store, "sound", WORKCLASS)
    rows = store.execute("FROM hierarchy_problems()").fetchall()
    assert {row[:2] for row in rows} == {("memory", "h")}
    assert any(problem in row[3] for row in rows)
    table(store, ["a", "a", "b", "b"])
    for function in ("kacpc", "kacpc_classes", "kacpc_metrics", "mondrian"):
        with pytest.raises(duckdb.Error, match=f"hierarchy 'h' is not well-formed.*{message}"):
            store.execute(f"FROM {function}('t', k=2, qi=['v'], hierarchies={{'v': 'h'}})").fetchall()


def test_hierarchy_problems_covers_every_referring_error() -> None:
    messages = [
        message
        for message in map(str, hierarchy_messages("t", "v", "h", None).values())
        if "hierarchy_problems" in message
    ]
    assert all(any(re.search(message, text) for _, _, message in BROKEN.values()) for text in messages)
    assert len(messages) == 6


def test_ambiguous_inner_node_value_is_no_hierarchy_problem(store: Any) -> None:
    dbanon.load_hierarchy(store, "h", [("a", "other", "north", "*"), ("b", "other", "south", "*")])
    table(store, ["a", "a", "b", "other"])
    with pytest.raises(duckdb.Error, match=r"t\.v: 1 distinct value is not a leaf .* label of several inner nodes"):
        published_rows(store, 2, "hierarchies := {'v': 'h'}, escape_labels := true")
    assert store.execute("FROM hierarchy_problems()").fetchall() == []


@pytest.mark.parametrize("root", ["*", "all"])
def test_root_with_any_label_is_published(store: Any, root: str) -> None:
    """Only the root may be called `*`; a path such as `south > *` is no `*`."""
    rows = [("r", None, root), ("n", "r", "north"), ("s", "r", "south"), ("x", "n", "*"), ("y", "s", "*"),
            ("a", "x", "a"), ("b", "y", "b")]  # fmt: skip
    for node, parent, label in rows:
        store.execute("INSERT INTO dbanon.hierarchy (name, node, parent, label) VALUES ('h', ?, ?, ?)",
                      [node, parent, label])  # fmt: skip
    assert store.execute("FROM hierarchy_problems()").fetchall() == []
    table(store, ["a", "b", None])
    for function in ("kacpc", "kacpc_classes", "kacpc_metrics"):
        assert store.execute(f"FROM {function}('t', k=3, qi=['v'], hierarchies={{'v': 'h'}})").fetchall()


def test_hierarchy_table_rejects_invalid_nodes(store: Any) -> None:
    for node in (("a", "a", "a"), ("a", None, ""), ("a", None, None), (None, "a", "a")):
        with pytest.raises(duckdb.ConstraintException):
            store.execute("INSERT INTO dbanon.hierarchy (name, node, parent, label) VALUES ('h', ?, ?, ?)", list(node))
    store.execute("INSERT INTO dbanon.hierarchy (name, node, label) VALUES ('h', 'a', 'a')")
    with pytest.raises(duckdb.ConstraintException):
        store.execute("INSERT INTO dbanon.hierarchy (name, node, label) VALUES ('h', 'a', 'b')")


def test_hierarchy_problems_reads_every_attached_database(con: Any, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    for database in ("memory", "clinic"):
        con.execute(f"USE {database}")
        dbanon.load_hierarchy(con, "h", [("a", "*")])
    assert con.execute("FROM hierarchy_problems()").fetchall() == []
    con.execute("INSERT INTO clinic.dbanon.hierarchy (name, node, label) VALUES ('h', 'x', 'x')")
    assert con.execute("FROM hierarchy_problems()").fetchall() == [("clinic", "h", None, "has 2 roots; one is needed")]


# --- shipped and inline -------------------------------------------------------------------------------------


def test_shipped_hierarchy_usable_without_loading(store: Any) -> None:
    table(store, ["MA", "CT", "CA", "OR"])
    assert published_rows(store, 2, "hierarchies := {'v': 'us_state'}") == ["New England"] * 2 + ["Pacific"] * 2
    dbanon.declare(store, "t", v=("quasi", "us_state"))
    assert store.execute("SELECT DISTINCT v FROM kacpc('t', k=4)").fetchall() == [("*",)]
    assert store.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(0,)]
    rows = store.execute("SELECT name FROM hierarchies() WHERE kind = 'shipped' ORDER BY name").fetchall()
    assert [name for (name,) in rows] == list(shipped_hierarchies())


def test_stored_hierarchy_precedes_shipped_one(store: Any) -> None:
    table(store, ["M", "F"])
    assert published_rows(store, 2, "hierarchies := {'v': 'sex'}") == ["*", "*"]
    dbanon.load_hierarchy(store, "sex", [("M", "person", "*"), ("F", "person", "*")])
    assert published_rows(store, 2, "hierarchies := {'v': 'sex'}") == ["person", "person"]
    store.execute("DELETE FROM dbanon.hierarchy")
    assert published_rows(store, 2, "hierarchies := {'v': 'sex'}") == ["*", "*"]


@pytest.mark.parametrize("name", ["sex", "adult_workclass", "us_state", "iso_country", "icd10"])
def test_shipped_hierarchy_loads_in_file_order(store: Any, name: str) -> None:
    dbanon.load_hierarchy(store, name)
    store.execute(f"INSERT INTO dbanon.hierarchy SELECT 'sql', * EXCLUDE (name) FROM hierarchy_builtin('{name}')")
    folder = Path(__file__).resolve().parents[3] / "hierarchies"
    lines = (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    rows = [tuple(line.replace('"', "").split(";")) for line in lines]
    tree = Tree(rows)
    for stored in (name, "sql"):
        assert [path[0] for path in paths(store, stored)] == tree.leaf_order()
        assert set(paths(store, stored)) == {tuple(reversed(tree.leaf(row[0]))) for row in rows}


def test_icd10_builtin_has_one_row_per_node(store: Any) -> None:
    """ICD-10 has 2,564 leaves: rows must not be made of every pair of them."""
    rows = store.execute("SELECT count(*), max(position) FROM hierarchy_builtin('icd10')").fetchall()
    assert rows[0][0] == 2587
    assert rows[0][1] == 2564


def test_hierarchy_name_cannot_reach_other_files(store: Any) -> None:
    table(store, ["M", "F"])
    for name in ("../hierarchies/sex", "sex.csv", "/etc/passwd", "..", "SEX"):
        with pytest.raises(duckdb.Error, match="there is no hierarchy"):
            published_rows(store, 2, f"hierarchies := {{'v': '{name}'}}")
        with pytest.raises(duckdb.Error, match="there is no hierarchy"):
            store.execute(f"FROM hierarchy_builtin('{name}')")


def test_arx_text_accepted_as_hierarchy(store: Any) -> None:
    table(store, ["M", "F"])
    for label, output in (("any", "any"), ('any "one"; or two', '"any ""one""; or two"')):
        lines = f"E'M;{output};*\\nF;{output};*\\n'"
        assert published_rows(store, 2, f"hierarchies := {{'v': {lines}}}") == [label, label]
    assert store.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(0,)]
    dbanon.declare(store, "t", v=("quasi", "M;any;*\nF;any;*"))
    assert store.execute("SELECT DISTINCT v FROM kacpc('t', k=2)").fetchall() == [("any",)]
    assert store.execute("FROM policy_problems()").fetchall() == []


@pytest.mark.parametrize("lines", ["M;*\\nF;?", "M;;*\\nF;*", ";", "M;*\\n;", '"M;*'])
def test_malformed_arx_text_refused(store: Any, lines: str) -> None:
    table(store, ["M", "F"])
    with pytest.raises(duckdb.Error, match="is not well-formed"):
        published_rows(store, 2, f"hierarchies := {{'v': E'{lines}'}}")
    dbanon.load_hierarchy(store, "h", [("M", "*"), ("F", "*")])
    assert published_rows(store, 2) == ["*", "*"]
