"""Hostile names are only names: nothing is executed, no other object is read, and the results are right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.scale import sample_cases

import dbanon

KINDS = ("", "_classes", "_metrics")
SECRET = "SECRET-4711"

HOSTILE = [
    "'\"); DROP TABLE canary; --",
    "x'); DROP TABLE canary; --",
    'x"); DROP TABLE canary; --',
    "x'; DELETE FROM canary; SELECT '",
    'x"; DELETE FROM canary; SELECT "',
    "x' || (SELECT s FROM canary) || '",
    'x" || (SELECT s FROM canary) || "',
    "(SELECT s FROM canary)",
    "\x01(SELECT max(s) FROM canary)\x02",
    "\x01error('pwned')\x02",
    "\x02) || (SELECT s FROM canary) || (\x01",
    "\x01",
    "\x02\x01",
    "{{ 7 * 7 }}",
    "{% include 'gate.sql' %}",
    "{# comment",
    "*/ DROP TABLE canary /*",
    "-- x",
    "/* x",
    "$1",
    "?",
    "%s %(x)s {0}",
    "\\",
    "\\'; DROP TABLE canary; --",
    "''",
    '""',
    "'",
    '"',
    "a.b",
    "a;b",
    "a\nb",
    "a\tb",
    "[x]",
    "(x)",
    "x, y",
    "E'\\x41'",
    "\u2019; DROP TABLE canary",
    "😀'\"",
    "lambda k: k",
    "!boom",
    "dbanon_plan('s1', '{}', '[]')",
    "row('dbanon 1')",
]
"""Names that would do something if they were ever read as SQL, as a template or as a message part."""


def hostile_sample(names: Sequence[str] = HOSTILE) -> list[str]:
    """Return the everyday cases: the first of them, and another one in each part of the suite."""
    return sample_cases(names, len(names))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@pytest.fixture
def guarded_con(con: Any) -> Iterator[Any]:
    """Provide the connection with a canary table; assert that it is untouched and that no object was added."""
    con.execute(f"CREATE TABLE canary AS SELECT '{SECRET}' AS s")
    yield con
    assert con.execute("FROM canary").fetchall() == [(SECRET,)]
    assert con.execute("SELECT 42").fetchall() == [(42,)]


def error_message(con: Any, query: str, *parameters: Any) -> str:
    """Return the error text of a query that must fail; assert that it contains no secret."""
    with pytest.raises(duckdb.Error) as caught:
        con.execute(query, *parameters).fetchall()
    message = str(caught.value)
    assert SECRET not in message, message
    assert "pwned" not in re.sub(r"error\('+pwned", "", message)
    assert "49" not in message
    return message


def people(con: Any, table: str, age: str = '"age"', zip_: str = '"zip"', s: str = '"s"', name: str = '"name"') -> None:
    """Create a table of twelve people with these column names."""
    con.execute(
        f"CREATE OR REPLACE TABLE {table} AS SELECT 'n' || i AS {name}, i // 3 AS {age}, "
        f"['a1', 'a2', 'b1', 'b2'][1 + i % 4] AS {zip_}, 's' || i % 2 AS {s} FROM range(12) AS r (i)"
    )


def rows_under_plain_names(con: Any, arguments: str = "qi := ['age', 'zip'], sensitive := ['s']") -> list[Any]:
    """Return the release of the same people with ordinary names."""
    people(con, "ordinary")
    return [con.execute(f"FROM kacpc{e}('ordinary', k := 3, {arguments})").fetchall() for e in KINDS]


# --- names that exist ---------------------------------------------------------------------------------------


def test_hostile_table_names_give_plain_name_results(guarded_con: Any) -> None:
    expected = rows_under_plain_names(guarded_con)
    for name in hostile_sample():
        people(guarded_con, quoted(name))
        for spelled in (quoted(name), f"main.{quoted(name)}", f"memory.main.{quoted(name)}"):
            for e, answer in list(zip(KINDS, expected, strict=True))[: 3 if spelled == quoted(name) else 1]:
                call = f"kacpc{e}({text(spelled)}, k := 3, qi := ['age', 'zip'], sensitive := ['s'])"
                assert guarded_con.execute(f"FROM {call}").fetchall() == answer, name
                if e == "" and spelled == quoted(name):
                    guarded_con.execute(f"CREATE OR REPLACE VIEW safe AS FROM {call}")
                    assert guarded_con.execute("FROM safe").fetchall() == answer
        error_message(guarded_con, f"FROM kacpc({text(quoted(name))}, k := 99, qi := ['age'])")
        error_message(guarded_con, f"FROM kacpc({text(quoted(name))}, k := 3, qi := ['nothing'])")
        error_message(guarded_con, f"FROM kacpc({text(quoted(name))}, k := 3)")
        guarded_con.execute(f"DROP TABLE {quoted(name)}")


def test_hostile_schemas_and_databases_give_plain_results(guarded_con: Any) -> None:
    expected = rows_under_plain_names(guarded_con)
    for name in hostile_sample():
        guarded_con.execute(f"ATTACH ':memory:' AS {quoted(name)}")
        guarded_con.execute(f"CREATE SCHEMA {quoted(name)}.{quoted(name)}")
        full_text = f"{quoted(name)}.{quoted(name)}.{quoted(name)}"
        people(guarded_con, full_text)
        for e, answer in zip(KINDS, expected, strict=True):
            arguments = "k := 3, qi := ['age', 'zip'], sensitive := ['s']"
            assert guarded_con.execute(f"FROM kacpc{e}({text(full_text)}, {arguments})").fetchall() == answer, name
        guarded_con.execute(f"USE {quoted(name)}.{quoted(name)}")
        rows = guarded_con.execute(
            f"FROM kacpc({text(quoted(name))}, k := 3, qi := ['age', 'zip'], sensitive := ['s'])"
        )
        assert rows.fetchall() == expected[0]
        assert guarded_con.execute("SELECT count(*) FROM policy_problems()").fetchall() == [(0,)]
        guarded_con.execute("SELECT count(*) FROM hierarchies()").fetchall()
        guarded_con.execute("SELECT count(*) FROM hierarchy_problems()").fetchall()
        guarded_con.execute("USE memory.main")
        guarded_con.execute(f"DETACH {quoted(name)}")


def test_hostile_column_names_give_plain_name_results(guarded_con: Any) -> None:
    expected = rows_under_plain_names(guarded_con)
    for name in hostile_sample():
        names = [name + end for end in ("age", "zip", "s", "name")]
        people(guarded_con, "t", *map(quoted, names))
        parameters = {"qi": names[:2], "sensitive": names[2:3], "h": {names[1]: "a1;a;*\na2;a;*\nb1;b;*\nb2;b;*"}}
        for e, answer in zip(KINDS, expected, strict=True):
            query = f"FROM kacpc{e}('t', k := 3, qi := $qi, sensitive := $sensitive)"
            rows = guarded_con.execute(query, {n: parameters[n] for n in ("qi", "sensitive")}).fetchall()
            if e == "_metrics":
                plain_names = dict(zip(names, ("age", "zip", "s", "name"), strict=True))
                rows = [
                    (":".join(plain_names.get(p, p) for p in metric.split(":", 1)), *rest) for metric, *rest in rows
                ]

            assert rows == answer, name
        guarded_con.execute(
            "FROM kacpc('t', k := 3, qi := $qi, sensitive := $sensitive, hierarchies := $h)", parameters
        ).fetchall()
        quoted_names = [text(n) for n in names]
        rows = guarded_con.execute(
            f"FROM kacpc('t', k = 3, qi = [{quoted_names[0]}, {quoted_names[1]}], sensitive = [{quoted_names[2]}])"
        )
        assert rows.fetchall() == expected[0]
        roles = ("quasi", {"role": "quasi", "weight": 1}, "sensitive", "identifier")
        dbanon.declare(guarded_con, "t", **dict(zip(names, roles, strict=True)))
        assert guarded_con.execute("FROM kacpc('t', k := 3)").fetchall() == expected[0]
        assert guarded_con.execute("FROM policy_problems()").fetchall() == []
        guarded_con.execute("DELETE FROM dbanon.policy")


def test_hostile_column_names_in_messages_not_executed(guarded_con: Any) -> None:
    """Messages are parts of the statement, so a name must not end their quotes."""
    for name in hostile_sample():
        guarded_con.execute(
            f"CREATE OR REPLACE TABLE t AS SELECT i AS a, NULL::INTEGER AS {quoted(name)}, "
            f"CASE WHEN i = 0 THEN 'nan'::DOUBLE END AS {quoted(name + '1')}, i AS {quoted(name + '2')}, "
            f"CASE WHEN i = 0 THEN '*' ELSE 'x' END AS {quoted(name + '3')}, [i] AS {quoted(name + '4')} "
            "FROM range(6) AS r (i)"
        )
        for parameters in (
            {"qi": [name]},
            {"qi": ["a", name], "nulls": "error"},
            {"qi": [name + "1"]},
            {"qi": ["a"], "insensitive": [name + "2"]},
            {"qi": [name + "3"]},
            {"qi": [name + "3"], "hierarchies": {name + "3": "y;*"}},
            {"qi": [name + "4"]},
            {"qi": ["a"], "person": name},
            {"qi": ["a", name + "5"]},
        ):
            arguments = ", ".join(f"{n} := ${n}" for n in parameters)
            message = error_message(guarded_con, f"FROM kacpc('t', k := 2, {arguments})", parameters)
            assert "kacpc" in message or "t." in message


# --- names that do not exist ---------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["kacpc", "kacpc_classes", "kacpc_metrics", "mondrian"])
def test_hostile_parameter_texts_refused(guarded_con: Any, function: str) -> None:
    people(guarded_con, "t")
    for name in hostile_sample(HOSTILE if function == "kacpc" else HOSTILE[:12]):
        for parameter in ("qi", "sensitive", "insensitive", "identifier", "withhold", "allow_rare"):
            parameters = {"qi": ["age"]} | {parameter: [name]}
            arguments = ", ".join(f"{n} := ${n}" for n in parameters)
            message = error_message(guarded_con, f"FROM {function}('t', k := 3, {arguments})", parameters)
            assert "no column" in message, message
        for parameter in ("hierarchies", "weights", "top", "bottom", "rounding", "min_level", "max_level"):
            value: Any = "x" if parameter == "hierarchies" else 1
            parameters = {"qi": ["age"], parameter: {name: value}}
            arguments = ", ".join(f"{n} := ${n}" for n in parameters)
            assert "no column" in error_message(guarded_con, f"FROM {function}('t', k := 3, {arguments})", parameters)
        for parameter, column in (("top", "age"), ("bottom", "age"), ("rounding", "age"), ("hierarchies", "zip")):
            parameters = {"qi": ["age", "zip"], parameter: {column: name}}
            error_message(
                guarded_con, f"FROM {function}('t', k := 3, qi := $qi, {parameter} := ${parameter})", parameters
            )
        for parameter in ("person", "nulls", "intervals", "loss_height"):
            error_message(guarded_con, f"FROM {function}('t', k := 3, qi := ['age'], {parameter} := $p)", {"p": name})
        error_message(guarded_con, f"FROM {function}($t, k := 3, qi := ['age'])", {"t": name})
        error_message(guarded_con, f"FROM {function}($t, k := 3, qi := ['age'])", {"t": "t" + name})
        error_message(guarded_con, f"FROM {function}('t', k := $k, qi := ['age'])", {"k": name})


def test_hostile_texts_in_generic_form_refused(guarded_con: Any) -> None:
    people(guarded_con, "t")
    for name in hostile_sample():
        for arguments in (
            f"k = {text(name)}, qi = ['age']",
            f"k = 3, qi = [{text(name)}]",
            f"k = 3, qi = {text(name)}",
            f"k = 3, qi = ['age'], hierarchies = {{{text(name)}: 'x'}}",
            f"k = 3, qi = ['zip'], hierarchies = {{'zip': {text(name)}}}",
            f"k = 3, qi = ['age'], sensitive = [{text(name)}]",
            f"k = 3, qi = ['age'], nulls = {text(name)}",
            f"{quoted(name)} = 3, k = 3",
            f"{text(name)} = 'x', k = 3",
        ):
            error_message(guarded_con, f"FROM kacpc('t', {arguments})")


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT s FROM canary)",
        "canary; DROP TABLE canary",
        "query('FROM canary')",
        "read_csv('x')",
        "canary AS c",
        "canary, canary",
        "canary JOIN canary",
        "canary WHERE true",
        "FROM canary",
        "VALUES (1)",
        "canary--",
        "canary/**/",
        '"canary" "x"',
        '"canary',
        'canary"',
        "memory..canary",
        ".canary",
        "canary.",
        "memory.main.canary.s",
        "duckdb_tables()",
        "sqlite_master",
        "pg_catalog.pg_tables",
        "system.main.duckdb_tables",
        "*",
        "$1",
        "",
        " ",
        "' '",
    ],
)
def test_source_is_single_relation_name(guarded_con: Any, source: str) -> None:
    for e in KINDS:
        error_message(guarded_con, f"FROM kacpc{e}({text(source)}, k := 2, qi := ['s'])")


def test_source_named_like_expression_reads_only_its_table(guarded_con: Any, tmp_path: Path) -> None:
    """A table with the name of an expression or a file is still only that table."""
    for name in ("(SELECT s FROM canary)", "query('FROM canary')", "canary; DROP TABLE canary", "x.csv", "*"):
        people(guarded_con, quoted(name))
        rows = guarded_con.execute(f"SELECT DISTINCT age FROM kacpc({text(quoted(name))}, k := 12, qi := ['age'])")
        assert rows.fetchall() == [("[0, 3]",)]


# --- files ---------------------------------------------------------------------------------------------------


@pytest.mark.not_everyday
def test_hostile_file_names_give_plain_name_results(guarded_con: Any, tmp_path: Path) -> None:
    expected = rows_under_plain_names(guarded_con)
    for i, name in enumerate(n for n in HOSTILE if "/" not in n and "\\" not in n and "*" not in n and "?" not in n):
        if "[" in name or "{" in name:
            continue
        path = tmp_path / f"{i} {name}.csv"
        guarded_con.execute(f"COPY ordinary TO {text(str(path))}")
        rows = guarded_con.execute(
            "FROM kacpc($t, k := 3, qi := ['age', 'zip'], sensitive := ['s'])", {"t": str(path)}
        ).fetchall()
        assert rows == expected[0], name


def test_hostile_csv_headers_and_cells_not_executed(guarded_con: Any, tmp_path: Path) -> None:
    import csv

    path = tmp_path / "hostile.csv"
    names = [
        f"{i}{name}" for i, name in enumerate(HOSTILE) if "\n" not in name and "\x01" not in name and "\x02" not in name
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["age", *names])
        for i in range(6):
            writer.writerow([i // 2, *names])
    values = [d[0] for d in guarded_con.execute(f"FROM '{path}'").description]
    guarded_con.execute(f"FROM '{path}'").fetchall()
    rows = guarded_con.execute(
        "FROM kacpc($t, k := 2, qi := $qi, sensitive := $s)",
        {"t": str(path), "qi": ["age", *values[1:10]], "s": values[10:]},
    ).fetchall()
    assert len(rows) == 6
    assert {row[1:-1] for row in rows} == {tuple(names)}


# --- hierarchies ---------------------------------------------------------------------------------------------


@pytest.mark.not_everyday
def test_hostile_hierarchy_and_node_names_not_executed(guarded_con: Any, tmp_path: Path) -> None:
    leaves = HOSTILE
    rows = [[leaf, f"group {i % 3} {leaf}", f"part {i % 3} {leaves[i % 3]}", "*"] for i, leaf in enumerate(leaves)]
    guarded_con.execute("CREATE TABLE t (v VARCHAR, uid INTEGER)")
    guarded_con.executemany("INSERT INTO t VALUES (?, ?)", [(leaf, i) for i, leaf in enumerate(leaves * 2)])
    for name in hostile_sample([name for name in HOSTILE if ";" not in name]):  # with one it is the hierarchy itself
        dbanon.load_hierarchy(guarded_con, name, rows)
        call = "('t', k := {}, qi := ['v'], sensitive := ['uid'], hierarchies := $h)"
        exact = guarded_con.execute("SELECT uid, v FROM kacpc" + call.format(2), {"h": {"v": name}}).fetchall()
        assert sorted(exact) == list(enumerate(leaves * 2)), name
        guarded_con.execute("DELETE FROM dbanon.hierarchy WHERE name = ?", [name])
    dbanon.load_hierarchy(guarded_con, "hostile", rows)
    wide_rows = guarded_con.execute("SELECT uid, v FROM kacpc('t', k := 12, qi := ['v'], sensitive := 'uid', "
                           "hierarchies := {'v': 'hostile'})").fetchall()  # fmt: skip
    for uid, display in wide_rows:
        assert display in rows[uid % len(leaves)]
    assert any(display.startswith("part") for _, display in wide_rows)
    path = tmp_path / "out.csv"
    dbanon.save_hierarchy(guarded_con, "hostile", path)
    dbanon.load_hierarchy(guarded_con, "again", path)
    second_rows = guarded_con.execute("SELECT uid, v FROM kacpc('t', k := 12, qi := ['v'], sensitive := 'uid', "
                            "hierarchies := {'v': 'again'})").fetchall()  # fmt: skip
    assert second_rows == wide_rows
    guarded_con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_from_file('from sql', ?)", [str(path)])
    assert guarded_con.execute("SELECT count(*) FROM dbanon.hierarchy WHERE name = 'from sql'").fetchall()[0][0] > 40


def test_hostile_hierarchy_names_in_messages_not_executed(guarded_con: Any) -> None:
    people(guarded_con, "t")
    for name in hostile_sample([name for name in HOSTILE if ";" not in name]):
        dbanon.load_hierarchy(guarded_con, name, [["a1", "*"], ["a2", "*"]])
        message = error_message(
            guarded_con, "FROM kacpc('t', k := 2, qi := ['zip'], hierarchies := $h)", {"h": {"zip": name}}
        )
        assert "2 distinct values are missing" in message, message
        guarded_con.execute("DELETE FROM dbanon.hierarchy WHERE parent IS NULL")
        message = error_message(
            guarded_con, "FROM kacpc('t', k := 2, qi := ['zip'], hierarchies := $h)", {"h": {"zip": name}}
        )
        assert "root" in message
        guarded_con.execute("FROM hierarchy_problems()").fetchall()
        guarded_con.execute("DELETE FROM dbanon.hierarchy")


def test_hostile_hierarchy_file_names_stay_in_folder(guarded_con: Any) -> None:
    people(guarded_con, "t")
    for name in ("../README", "../../etc/passwd", "/etc/passwd", "..", "sex.csv", "./sex", "sex\0"):
        message = error_message(
            guarded_con, "FROM kacpc('t', k := 2, qi := ['zip'], hierarchies := $h)", {"h": {"zip": name}}
        )
        assert "root:" not in message
        error_message(guarded_con, "FROM hierarchy_builtin($n)", {"n": name})


def test_hierarchy_builders_accept_hostile_names(guarded_con: Any) -> None:
    for name in hostile_sample():
        people(guarded_con, quoted(name), zip_=quoted(name))
        values = [name, quoted(name), name]
        for builder, rest in (("flat", ""), ("prefix", ", keep := [1]")):
            rows = guarded_con.execute(f"SELECT * FROM hierarchy_{builder}(?, ?, ?{rest})", values).fetchall()
            assert {row[0] for row in rows} == {name}
            assert {"a1", "a2", "b1", "b2", "*"} <= {row[3] for row in rows}
        assert guarded_con.execute("FROM uncovered_values(?, ?)", values[1:]).fetchall() == []
        guarded_con.execute(f"DROP TABLE {quoted(name)}")


# --- the policy ----------------------------------------------------------------------------------------------


def test_hostile_policy_rows_not_executed(guarded_con: Any) -> None:
    people(guarded_con, "t")
    expected = rows_under_plain_names(guarded_con)[0]
    for name in hostile_sample():
        insert = (
            "INSERT INTO dbanon.policy (table_name, column_name, role, hierarchy, top, rounding) VALUES (?, "
            "?, ?, ?, ?, ?)"
        )
        for row in (
            (name, "income", "quasi", None, None, None),
            (f"t{name}", "income", "quasi", None, None, None),
        ):
            guarded_con.execute(insert, row)
        # rows that match no table, about columns that the source does not have, change nothing
        with pytest.warns(dbanon.PolicyWarning, match="match no table"):
            rows = guarded_con.execute("FROM kacpc('t', k := 3, qi := ['age', 'zip'], sensitive := ['s'])").fetchall()
        assert rows == expected
        assert len(guarded_con.execute("FROM policy_problems()").fetchall()) >= 1
        guarded_con.execute("DELETE FROM dbanon.policy")
        for row in (
            ("t", name, "quasi", None, None, None),
            ("t", "age", name, None, None, None),
            ("t", "zip", "quasi", name, None, None),
            ("t", "age", "quasi", None, name, None),
            ("t", "age", "quasi", None, None, name),
        ):
            guarded_con.execute(insert, row)
            error_message(guarded_con, "FROM kacpc('t', k := 3)")
            guarded_con.execute("FROM policy_problems()").fetchall()
            guarded_con.execute("DELETE FROM dbanon.policy")


def test_policy_table_name_never_matched_as_pattern(guarded_con: Any) -> None:
    """A policy row's table_name is compared, never matched as a pattern."""
    people(guarded_con, "t")
    for name in ("%", "_", "*", ".*", "t%", "T ", " t", "t;", "t--", "main.%", '"t" ', "main . t"):
        guarded_con.execute(
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES (?, 'name', 'sensitive')", [name]
        )
        guarded_con.execute(
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES (?, 'age', 'quasi')", [name]
        )
        assert "match no table" in error_message(guarded_con, "FROM kacpc('t', k := 3)")
        guarded_con.execute("DELETE FROM dbanon.policy")


def test_declare_accepts_hostile_names(guarded_con: Any) -> None:
    for name in hostile_sample():
        people(guarded_con, quoted(name), age=quoted(name))
        dbanon.declare(guarded_con, quoted(name), **{name: "quasi", "s": "sensitive"})
        assert len(guarded_con.execute("FROM kacpc(?, k := 3)", [quoted(name)]).fetchall()) == 12
        assert guarded_con.execute(
            "SELECT table_name, column_name FROM dbanon.policy ORDER BY ALL"
        ).fetchall() == sorted([(name, name), (name, "s")])
        assert guarded_con.execute("FROM policy_problems()").fetchall() == []
        guarded_con.execute(f"DELETE FROM dbanon.policy; DROP TABLE {quoted(name)}")


# --- cells ---------------------------------------------------------------------------------------------------


def test_hostile_cells_published_unchanged(guarded_con: Any) -> None:
    guarded_con.execute("CREATE TABLE t (v VARCHAR, s VARCHAR, o VARCHAR, p VARCHAR)")
    guarded_con.executemany(
        "INSERT INTO t VALUES (?, ?, ?, ?)", [(c, c, c, f"{i}{c}") for i, c in enumerate(HOSTILE * 3)]
    )
    rows = guarded_con.execute(
        "SELECT v, s, o FROM kacpc('t', k := 3, qi := ['v'], sensitive := ['s'], insensitive := ['o'], person := 'p')"
    ).fetchall()
    assert sorted(rows) == sorted((c, c, c) for c in HOSTILE * 3)
    arguments = "('t', k := 3, qi := ['v'], sensitive := ['s'])"
    classes = guarded_con.execute(f"SELECT v, s FROM kacpc_classes{arguments}").fetchall()
    assert sorted(classes) == sorted((c, [{"value": c, "size": 3}]) for c in HOSTILE)
    metrics = guarded_con.execute(
        "SELECT metric FROM kacpc_metrics('t', k := 4, qi := ['v'], sensitive := ['s'])"
    ).fetchall()
    assert {f"rare_value:s={c}" for c in HOSTILE} <= {m for (m,) in metrics}


# --- the session token -----------------------------------------------------------------------------------------


def test_internal_functions_reveal_nothing_if_called_directly(guarded_con: Any) -> None:
    for call in (
        "dbanon_plan('s1', '{}', '[]')",
        "dbanon_plan('no', '{}', '[]')",
        "dbanon_plan(NULL, NULL, NULL)",
        "dbanon_plan('s1', 'no json', '[]')",
        """dbanon_plan('s1', '{"function": "x", "positional": {}, "slots": [], "named": {}}', '["a", "b", ""]')""",
        "dbanon_cluster('{}', [])",
        "dbanon_cluster(NULL, NULL)",
    ):
        try:
            rows = guarded_con.execute(f"SELECT {call}").fetchall()
        except duckdb.Error as error:
            assert SECRET not in str(error)
        else:
            assert SECRET not in str(rows)
