"""dbanon.relation states the columns that link rows to people: calls need not repeat it, and cannot change it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon


@pytest.fixture
def related_con() -> Iterator[Any]:
    """Create twelve people with two visits each, related by keys of different names."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute("CREATE TABLE people AS SELECT i AS id, 20 + i AS age FROM range(12) AS r (i)")
        con.execute("CREATE TABLE visits AS SELECT i // 2 AS pid, i AS cost FROM range(24) AS r (i)")
        dbanon.declare(con, "people", id="person", age="quasi")
        dbanon.declare(con, "visits", pid="person", cost="quasi")
        dbanon.relate(con, "visits", "people", {"pid": "id"})
        yield con


def problems(con: Any, source: str = "policy_problems()") -> list[tuple[str, str]]:
    return con.execute(f"SELECT column_name, problem FROM {source} WHERE problem LIKE '%relation%'").fetchall()  # type: ignore[no-any-return]


def test_related_call_uses_declared_key(related_con: Any) -> None:
    rows = related_con.execute("FROM kacpc('visits', k := 3, entity := 'people', key := {'pid': 'id'})").fetchall()
    assert len(rows) == 24
    assert related_con.execute("FROM kacpc('visits', k := 3, entity := 'people')").fetchall() == rows
    spelled = "FROM kacpc('main.visits', k := 3, entity := 'PEOPLE', key := {'PID': 'Id'})"
    assert related_con.execute(spelled).fetchall() == rows
    assert len(related_con.execute("FROM kacpc('people', k := 3, children := 'visits')").fetchall()) == 12


def test_declared_relation_precedes_foreign_key() -> None:
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, other INTEGER UNIQUE, age INTEGER)")
        con.execute("CREATE TABLE v (who INTEGER REFERENCES p (id), them INTEGER, day INTEGER)")
        con.execute("INSERT INTO p SELECT i, 11 - i, i FROM range(12) AS r (i)")
        con.execute("INSERT INTO v SELECT 0, i % 12, i FROM range(12) AS r (i)")
        dbanon.declare(con, "p", age="quasi")
        dbanon.declare(con, "v", day="quasi")
        call = "FROM kacpc_metrics('v', k := 3, entity := 'p', max_children := 1) WHERE metric = 'rows:v'"
        assert con.execute(f"SELECT value {call}").fetchall() == [(0,)]  # all of them are about one person
        dbanon.relate(con, "v", "p", {"them": "other"})
        assert con.execute(f"SELECT value {call}").fetchall() == [(12,)]


def test_contradicting_call_refused(related_con: Any) -> None:
    with pytest.raises(duckdb.Error, match=r"dbanon.relation has key = \{'pid': 'id'\}, and the call has another"):
        related_con.execute("FROM kacpc('visits', k := 3, entity := 'people', key := {'cost': 'id'})").fetchall()
    related_con.execute("INSERT INTO dbanon.relation (table_name, entity_name, key, entity_key) VALUES "
                   "('main.visits', 'people', ['cost'], ['id'])")  # fmt: skip
    with pytest.raises(duckdb.Error, match=r"dbanon.relation has several keys from visits to people"):
        related_con.execute("FROM kacpc('visits', k := 3, entity := 'people', key := {'pid': 'id'})").fetchall()
    assert "several keys" in " ".join(problem for _, problem in problems(related_con))


def test_uncommitted_relation_change_refused(related_con: Any) -> None:
    related_con.execute("BEGIN")
    related_con.execute("INSERT INTO dbanon.relation (table_name, entity_name, key) VALUES ('labs', 'people', ['id'])")
    assert related_con.execute(
        "FROM kacpc('visits', k := 3, entity := 'people')"
    ).fetchall()  # it is about other people
    related_con.execute("DELETE FROM dbanon.relation WHERE table_name = 'visits'")
    with pytest.raises(duckdb.Error, match="the policy of visits changed after this statement was planned"):
        related_con.execute("FROM kacpc('visits', k := 3, entity := 'people')").fetchall()


def test_relate_accepts_hostile_names_and_composite_keys() -> None:
    child = '"v""x\'); DROP TABLE t; --"'
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute('CREATE SCHEMA "the clinic"; CREATE MACRO len(x) AS 7')
        con.execute(
            'CREATE TABLE "the clinic".p AS SELECT i // 4 AS a, i % 4 AS "b c", i AS age FROM range(12) AS r (i)'
        )
        con.execute(f'CREATE TABLE {child} AS SELECT i // 4 AS a, i % 4 AS "b c", i AS cost FROM range(12) AS r (i)')
        dbanon.declare(con, '"the clinic".p', age="quasi")
        dbanon.declare(con, child, cost="quasi")
        dbanon.relate(con, child, '"the clinic".p', ["A", "b c"])
        assert con.execute("SELECT key, entity_key, entity_schema FROM dbanon.relation").fetchall() == [
            (["a", "b c"], None, "the clinic")
        ]
        call = f"kacpc('{child.replace(chr(39), chr(39) * 2)}', k := 3, entity := '\"the clinic\".p')"
        assert len(con.execute(f"FROM {call}").fetchall()) == 12
        dbanon.relate(con, child, '"the clinic".p', {"a": "b c", "b c": "a"})
        assert con.execute("SELECT key, entity_key FROM dbanon.relation").fetchall() == [(["a", "b c"], ["b c", "a"])]
        with pytest.raises(duckdb.ConstraintException):
            con.execute("INSERT INTO dbanon.relation (table_name, entity_name, key, entity_key) VALUES "
                        "('x', 'y', ['a'], ['a', 'b'])")  # fmt: skip


MISTAKES = [
    (("visits", "visits", "pid"), "entity must be another table of the database of visits"),
    (("visits", "nobody", "pid"), "no table, view or file 'nobody'"),
    (("visits", "people", "who"), "visits has no column 'who'"),
    (("visits", "people", {"pid": "who"}), "people has no column 'who'"),
    (("visits", "people", []), "key must be a column, a list of different columns, or"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_unrelatable_tables_not_written(related_con: Any, arguments: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(dbanon.DbanonError, match=message):
        dbanon.relate(related_con, *arguments)
    assert related_con.execute("SELECT key, entity_key FROM dbanon.relation").fetchall() == [(["pid"], ["id"])]


def test_policy_problems_lists_relation_problems(related_con: Any) -> None:
    assert problems(related_con) == []
    related_con.execute("DELETE FROM dbanon.policy WHERE column_name = 'pid'")
    related_con.execute("INSERT INTO visits VALUES (77, 1), (NULL, 4711)")
    related_con.execute("INSERT INTO people VALUES (NULL, 1), (3, 3)")
    rows = related_con.execute("SELECT column_name, problem, statement FROM policy_problems()").fetchall()
    statements = {problem.split(". Hint")[0]: statement for _, problem, statement in rows}
    assert list(statements) == [
        "dbanon.relation: visits.pid is a key that identifies the person of a row, but has no role: if the table is "
        "released alone, ten rows of one person count as ten people",
        "dbanon.relation: visits has rows about no person in people (pid is NULL or missing there): 2",
        "dbanon.relation: people has rows without a key (id is NULL): 1",
        "dbanon.relation: people has keys that occur in several rows (id): 1",
    ]
    assert "4711" not in str(rows)
    for statement in filter(None, statements.values()):
        related_con.execute(statement)
    assert len(problems(related_con)) == len(statements) - 1
    reviewed = related_con.execute("SELECT finding FROM policy_review('visits') WHERE topic = 'problem'").fetchall()
    assert {finding.split(". Hint")[0] for (finding,) in reviewed} >= set(list(statements)[1:])


def test_relation_to_missing_object_reported(related_con: Any) -> None:
    related_con.execute("INSERT INTO dbanon.relation (table_name, entity_name, key, entity_key) VALUES "
                   "('gone', 'people', ['pid'], ['id']), ('people', 'nobody', ['id'], NULL)")  # fmt: skip
    dbanon.relate(related_con, "visits", "people", {"cost": "id"})
    related_con.execute("ALTER TABLE people ALTER id TYPE VARCHAR")
    message = " ".join(problem for _, problem in problems(related_con))
    assert "no table or view 'gone' (schema 'main')" in message
    assert "no table or view 'nobody' (schema 'main')" in message
    assert "visits.cost is a key that identifies the person of a row, but its role is quasi" in message
    assert "visits.cost is BIGINT and people.id is VARCHAR, so they cannot be compared as keys" in message
    related_con.execute("ALTER TABLE visits DROP cost")
    assert "visits has no column 'cost'" in " ".join(problem for _, problem in problems(related_con))
    related_con.execute("ALTER TABLE people ADD COLUMN bits BIT[]")
    related_con.execute("UPDATE dbanon.relation SET key = ['pid'], entity_key = ['bits'] WHERE table_name = 'visits'")
    assert any("people.bits" in problem for _, problem in problems(related_con))


def test_older_database_receives_relation_table(tmp_path: Any) -> None:
    with duckdb.connect(tmp_path / "old.duckdb") as con:
        dbanon.attach(con)
        con.execute("DROP TABLE dbanon.relation")
    with duckdb.connect(tmp_path / "old.duckdb") as con:
        dbanon.attach(con)
        assert con.execute("FROM dbanon.relation").fetchall() == []
