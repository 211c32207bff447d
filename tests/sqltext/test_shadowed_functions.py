"""Macros with the names of DuckDB's functions, and session settings, change no plan."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from support.outside import STATEMENTS, answer, open_connection

import dbanon
from dbanon.cli import main
from dbanon.cli.shell import catalog_cache
from dbanon.runtime import session
from dbanon.table_functions import shadowed_literals
from dbanon.udf import plan
from dbanon.views import doctor

FORMS = ("()", "(a)", "(a, b)", "(a, b, c)", "(a, b, c, d)")
"""A macro takes the place of a function for the numbers of arguments it has."""
SPARED = shadowed_literals.LITERALS
"""The caller's own [...] and {...} use these before any plan exists: refused, see below."""


@pytest.fixture(scope="module")
def statement_con() -> Iterator[Any]:
    """Provide the connection that runs all statements."""
    with open_connection() as con:
        yield con


@pytest.fixture(scope="module")
def answers(statement_con: Any) -> Callable[[str], Any]:
    """Return a function that returns the first answer to a statement by its name."""
    return cache(lambda name: answer(statement_con, STATEMENTS[name]))


@pytest.fixture
def plans(statement_con: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the SQL planned for every statement, without running it."""
    result: dict[str, str] = {}
    plain_call_sql = plan.call_sql

    def recording_call_sql(name: str, *given: Any) -> str:
        result[name] = plain_call_sql(*given)
        return "SELECT 42"

    for name, query in STATEMENTS.items():
        monkeypatch.setattr(plan, "call_sql", partial(recording_call_sql, name))
        answer(statement_con, query)
    return result


def parse_statements(query: str) -> Any:
    """Return DuckDB's syntax tree."""
    document = json.loads(duckdb.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])
    assert not document["error"], (document["error_message"], query[-300:])
    return document["statements"]


def function_calls(tree: Any) -> Iterator[tuple[str, str]]:
    """Yield the schema in which a function is looked up, and its name."""
    if isinstance(tree, Mapping):
        if tree.get("class") in ("FUNCTION", "WINDOW"):
            # DuckDB 1.5 reads whole names of window functions and forgets the database
            catalog = "system" if tree["class"] == "WINDOW" and tree["schema"] == "main" else tree["catalog"]
            yield f"{catalog}.{tree['schema']}", tree["function_name"]
        elif tree.get("type") in ("ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT"):
            yield ".", tree["type"].lower()
    if isinstance(tree, Mapping) and tree.get("class") == "LAMBDA":  # its parameters are no call
        tree = tree["expr"]
    for branch in tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ():
        yield from function_calls(branch)


PLAIN = {"read"}
"""No plan is made for these: macros of scalar functions."""


@pytest.mark.not_everyday
def test_module_statements_return_rows(answers: Callable[[str], Any]) -> None:
    assert {name: answers(name) for name in STATEMENTS if isinstance(answers(name), str)} == {}


def test_every_planned_function_is_qualified(plans: dict[str, str]) -> None:
    assert set(STATEMENTS) - set(plans) == PLAIN
    macros = duckdb.execute(
        "SELECT function_name FROM duckdb_functions() WHERE function_type LIKE '%macro' AND internal"
    )
    written_out = {name for (name,) in macros.fetchall()} - {"nullif", "if"}  # these two are a CASE
    for name, planned in plans.items():
        actual_calls = set(function_calls(parse_statements(planned)))
        assert {n for place, n in actual_calls if place != "system.main"} == set(), name
        assert {n for _, n in actual_calls} & written_out == set(), name


def create_macros(con: Any, database: str) -> set[str]:
    """Create macros with the names of all of DuckDB's functions that it allows; return the names."""
    query = (
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE (database_name, schema_name) = ('system', 'main')"
    )
    names = {name for (name,) in con.execute(query).fetchall()} - set(SPARED)
    for name in names:
        for body in ("42", "TABLE SELECT 42 AS x"):
            forms = ", ".join(f"{form} AS {body}" for form in FORMS)
            with contextlib.suppress(duckdb.Error):
                con.execute(f"CREATE MACRO {database}.main.{json.dumps(name)} {forms}")
    return names


@pytest.mark.not_everyday
def test_database_macros_never_shadow_builtin_functions(statement_con: Any, answers: Callable[[str], Any]) -> None:
    con, old_answers_by_name = statement_con, {name: answers(name) for name in STATEMENTS}
    names = create_macros(con, "memory")
    actual_query = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE NOT internal"
    macros = [name for (name,) in con.cursor().execute(actual_query).fetchall() if name in names]
    assert {"error", "sum", "+", "||", "count_star", "array_extract", "struct_extract", "dbanon_plan"} <= set(macros)
    try:
        for name, query in STATEMENTS.items():
            assert answer(con, query) == old_answers_by_name[name], name
    finally:
        for name in macros:
            for kind in ("MACRO", "MACRO TABLE"):
                con.execute(f"DROP {kind} IF EXISTS memory.main.{json.dumps(name)}")


SMALL = "CREATE TABLE t AS SELECT i AS pid, i % 5 AS age, i % 2 AS sex, 'flu' AS disease FROM range(40) AS r (i)"


def reported_outputs(folder: Path) -> dict[str, Any]:
    """Return the outputs of commands, the shell and Python functions about a database with the table `t`."""
    path, parameters = folder / "clinic.duckdb", {}
    (folder / "dots.sql").write_text(".tables\n.tables t\n.schema t\nFROM policy_problems();\n")
    for name, words in {
        "init": ["init", path, "t", "--yes"],
        "policy": ["policy", path, "main.t", "--json"],
        "shell": ["shell", path, "-c", f".read {folder / 'dots.sql'}"],
    }.items():
        done = CliRunner().invoke(main, [str(word) for word in words])
        assert done.exit_code in (0, 1), done.output
        parameters[name] = done.output.replace(str(folder), "")
    with dbanon.connect(path) as con:
        parameters["known"] = catalog_cache.read_catalog(lambda query: con.raw.execute(query).fetchall()).relations
        parameters["doctor"] = doctor.problems(con)
        dbanon.save_hierarchy(con, "h", folder / "h.csv")
        (file, *_) = dbanon.publish(con, "held", folder / "held.csv")
        parameters["files"] = (folder / "h.csv").read_text(), Path(file).read_text(), dbanon.verify(file)
        dbanon.declare(con, "t", pid="person", age="quasi", disease="sensitive")
        con.execute("CREATE OR REPLACE MATERIALIZED ANONYMIZED VIEW main.held AS FROM mondrian('t', k = 4)")
        con.execute("REFRESH MATERIALIZED ANONYMIZED VIEW held WITH (if_stale = true)")
        parameters["held"] = con.execute("FROM held").fetchall()
        parameters["status"] = con.execute("FROM release_status()").fetchall()
    return parameters


@pytest.mark.not_everyday
@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
def test_file_macros_do_not_change_commands_or_shell(tmp_path: Path) -> None:
    folders = [tmp_path / "plain", tmp_path / "bent"]
    for folder in folders:
        folder.mkdir()
    with dbanon.connect(folders[0] / "clinic.duckdb") as con:
        con.execute(SMALL)
        dbanon.load_hierarchy(con, "h", [["a", "b", "*"], ["c", "b", "*"]])
        dbanon.create_release(con, "held", "mondrian", "t", k=4, qi=["age"], sensitive=["disease"], person="pid")
    shutil.copy(folders[0] / "clinic.duckdb", folders[1])
    with duckdb.connect(folders[1] / "clinic.duckdb") as con:
        assert "query" in create_macros(con, "clinic")
    plain_result, bent = map(reported_outputs, folders)
    for name, arguments in plain_result.items():
        assert bent[name] == arguments, name


LEFT = {
    "list_value": ("(a) AS system.main.list_value('disease')", "sensitive := ['sex']"),
    "struct_pack": ("(age) AS system.main.struct_pack(age := 1)", "weights := {'age': 100}"),
    "map": ("(a, b) AS 42", "weights := MAP {'age': 100}"),
    "row": ("(a, b) AS 42", "weights := {'age': 100}"),
}
"""Macros that change a literal, and a call with it."""


@pytest.mark.parametrize(
    ("name", "database", "schema"),
    [
        ("list_value", "memory", "main"),
        ("struct_pack", "an, other", "main"),
        ("map", "memory", "other"),
        ("row", "an, other", "other"),
    ],
)
def test_macro_shadowing_literal_cast_refused_and_named(con: Any, name: str, database: str, schema: str) -> None:
    con.execute('ATTACH \':memory:\' AS "an, other"; CREATE SCHEMA other; CREATE SCHEMA "an, other".other')
    con.execute(SMALL)
    body, argument = LEFT[name]
    call = f"kacpc('memory.main.t', k := 4, qi := 'age', {argument})"
    con.execute(f'CREATE VIEW "{database}".{schema}.seen AS FROM {call}')
    old_rows = con.execute(f"FROM {call}").fetchall()
    macro = f'"{database}"."{schema}"."{name}"'
    con.execute(f"CREATE MACRO {macro}{body}")
    for asked_call in (call, call.replace("(", "_metrics(", 1), "profile('t')", f'"{database}".{schema}.seen'):
        with pytest.raises(duckdb.Error, match="an argument may have another value than the one written") as error_info:
            con.execute(f"FROM {asked_call}").fetchall()
        assert f"DROP MACRO {macro}" in str(error_info.value)
    con.execute(f"DROP MACRO {macro}")
    assert con.execute(f"FROM {call}").fetchall() == old_rows


def test_materialized_view_with_shadowed_list_value_refused() -> None:
    with dbanon.connect() as con:
        con.execute(SMALL)
        con.execute("CREATE MACRO list_value(a) AS system.main.list_value('disease')")
        with pytest.raises(dbanon.DbanonError, match=r'DROP MACRO "memory"\."main"\."list_value"'):
            con.execute(
                "CREATE MATERIALIZED ANONYMIZED VIEW v AS FROM kacpc('t', k = 4, qi = 'age', insensitive = ['sex'])"
            )
        assert con.execute("SELECT count(*) FROM releases()").fetchall() == [(0,)]


def test_function_list_not_read_without_shadowing_macro(con: Any) -> None:
    con.execute("CREATE MACRO list_value(a) AS TABLE SELECT 1 AS x; CREATE MACRO mine(a) AS a")  # these change no plan
    parameters = []
    with session.builtin_cursor(con) as cursor:

        class Noted:
            def execute(self, query: str) -> Any:
                parameters.append(query)
                return cursor.execute(query)

        shadowed_literals.check_literals("kacpc", Noted())
        assert cursor.execute("SELECT current_setting('search_path')").fetchall() == [("system.main",)]
    assert not any("duckdb_functions" in query for query in parameters)


def test_user_types_named_like_builtins_never_change_release(con: Any) -> None:
    con.execute("CREATE SCHEMA s; USE s")
    con.execute(SMALL)
    call = "kacpc('t', k := 4, qi := ['age'], sensitive := ['disease'])"
    old_rows = [con.execute(f"FROM {call.replace('(', ending + '(')}").fetchall() for ending in ("", "_metrics")]
    types = con.execute("SELECT DISTINCT type_name FROM duckdb_types() WHERE internal").fetchall()
    for (name,) in types:
        with contextlib.suppress(duckdb.Error):
            con.execute(f"CREATE TYPE s.{json.dumps(name)} AS ENUM ('x')")
    assert con.execute("SELECT count(*) FROM duckdb_types() WHERE schema_name = 's'").fetchall()[0][0] > 20
    assert [
        con.execute(f"FROM {call.replace('(', ending + '(')}").fetchall() for ending in ("", "_metrics")
    ] == old_rows


SETTINGS = {
    "Calendar": "'japanese'",
    "TimeZone": "'Asia/Tokyo'",
    "integer_division": "true",
    "default_order": "'DESC'",
    "default_null_order": "'NULLS_FIRST'",
    "default_collation": "'nocase'",
    "ieee_floating_point_ops": "false",
    "threads": "1",
}
"""Session settings that change values of expressions or the order of rows."""


def test_session_settings_do_not_change_release_or_metrics(statement_con: Any, answers: Callable[[str], Any]) -> None:
    con = statement_con
    old_answers_by_name = {name: answers(name) for name in ("release", "metrics", " model 1", "_metrics model 2")}
    try:
        for name, value in SETTINGS.items():
            con.execute(f"SET {name} = {value}")
        for name, arguments in old_answers_by_name.items():
            assert answer(con, STATEMENTS[name]) == arguments, name
    finally:
        for name in SETTINGS:
            con.execute(f"RESET {name}")
