"""A process attaches once and creates the macros that its statements need."""

from collections.abc import Iterator
from typing import Any

import pytest

import dbanon
from dbanon.runtime import session

CALL = "FROM kacpc('p', k = 10, qi = ['a'])"


@pytest.fixture
def lean() -> Iterator[Any]:
    """Provide a connection that has no macro yet, with a table `p`."""
    with dbanon.connect() as con:
        con.execute("CREATE TABLE p AS SELECT i % 3 AS a FROM range(30) AS r (i)")
        yield con


def _macros(con: Any) -> tuple[set[str], bool]:
    """Return the names of the functions for which macros were created one by one, and whether there are all."""
    current = session.find_session(con.duckdb_connection)
    return current.created_macros, current.has_all_macros


def test_statements_create_the_macros_that_they_name(lean: Any) -> None:
    dbanon.load_hierarchy(lean, "zip", [["021", "*"], ["022", "*"]])
    assert _macros(lean) == (set(), False)
    assert lean.execute(f"SELECT count(*) {CALL}").fetchall() == [(30,)]
    assert _macros(lean) == ({"kacpc"}, False)


def test_raw_connection_and_attach_have_all_macros(lean: Any) -> None:
    assert len(dbanon.attach(lean.duckdb_connection).execute("FROM algorithms()").fetchall()) > 10
    assert _macros(lean)[1]
    with lean.cursor() as cursor:
        assert not _macros(cursor)[1]
        assert cursor.raw.execute("SELECT lower_bound('[1, 2]')").fetchall() == [(1.0,)]


def test_functions_in_views_and_macros_get_macros(lean: Any) -> None:
    lean.execute("CREATE MACRO own_rows(t) AS TABLE FROM kacpc(t, k = 10, qi = ['a'])")
    with lean.cursor() as cursor:
        assert cursor.execute("SELECT count(*) FROM own_rows('p')").fetchall() == [(30,)]
    with lean.cursor() as cursor, pytest.raises(Exception, match="no_such_function"):
        cursor.execute("FROM no_such_function()")


def test_functions_in_sql_of_relations_get_macros(lean: Any) -> None:
    relation = lean.sql(CALL)
    assert len(relation.limit(2).fetchall()) == 2
    assert relation.filter("lower_bound(a::VARCHAR) >= 0").shape[0] == 30


def test_macros_survive_a_rollback(lean: Any) -> None:
    lean.execute("BEGIN")
    lean.execute(f"CREATE TABLE safe AS {CALL}")
    lean.execute("ROLLBACK")
    assert lean.execute(f"SELECT count(*) {CALL}").fetchall() == [(30,)]


def test_functions_are_listed(lean: Any) -> None:
    listed = "SELECT count(*) FROM duckdb_functions() WHERE function_name = 'kacpc'"
    assert lean.execute(listed).fetchall() == [(1,)]
