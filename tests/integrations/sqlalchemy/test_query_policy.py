"""A query is checked by the tables that it reads in its transaction, also through views with a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from sqlalchemy.sql import visitors
from support.alchemy_attempts import PolicyPatient, clinic_engine, public_columns
from support.policy_attempts import K, problems

from dbanon import errors
from dbanon.integrations.sqlalchemy.constructs import QueryName
from dbanon.integrations.sqlalchemy.query_plan import PlanNotReadError, plan_branches, serialized_plan
from dbanon.sqlalchemy import anonymized, declare_models, identifier, person, quasi, sensitive

P = PolicyPatient


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    actual_clinic_engine = clinic_engine(tmp_path_factory.mktemp("queries"))
    with actual_clinic_engine.begin() as connection:
        for statement in (
            "CREATE TABLE raw AS SELECT 'N' || i AS name, i AS pid, 20 + i % 5 AS age FROM range(80) AS r(i)",
            "CREATE VIEW people AS SELECT * FROM raw WHERE age > 0",
            "CREATE VIEW seniors AS WITH q AS (FROM patients) SELECT name, pid, age, sex FROM q WHERE age > 40",
        ):
            connection.execute(sa.text(statement))
    declare_models(VIEWS, actual_clinic_engine)
    yield actual_clinic_engine
    actual_clinic_engine.dispose()


VIEWS = sa.MetaData()
PEOPLE = sa.Table(
    "people",
    VIEWS,
    sa.Column("name", sa.String, info=identifier()),
    sa.Column("pid", sa.Integer, info=person()),
    sa.Column("age", sa.Integer, info=quasi()),
)
SENIORS = sa.Table(
    "seniors",
    VIEWS,
    sa.Column("name", sa.String, info=identifier()),
    sa.Column("pid", sa.String, info=person()),
    sa.Column("age", sa.Integer, info=quasi(rounding=20)),
    sa.Column("sex", sa.String, info=sensitive()),
)


def text_query(statement: str, *columns: str) -> Any:
    return sa.text(statement).columns(*(sa.column(name, sa.String) for name in columns))


def released_rows(connection: Any, source: Any, **parameters: Any) -> tuple[list[str], list[Any]]:
    result = connection.execute(sa.select(anonymized(source, "mondrian", k=K, **parameters)))
    return list(result.keys()), result.fetchall()


# --- transactions ----------------------------------------------------------------------------------------------------

NAMES = {"qi": ["age"], "sensitive": ["name"]}
SWAPPED = [
    f"ALTER TABLE patients RENAME {old} TO {new}" for old, new in (("disease", "x"), ("name", "disease"), ("x", "name"))
]

CHANGED: dict[str, tuple[list[str], Callable[[], Any], dict[str, Any]]] = {
    "columns renamed": (SWAPPED, lambda: sa.select(P.disease, P.age, P.pid), {}),
    "table renamed": (
        ["ALTER TABLE patients RENAME TO moved"],
        lambda: text_query("SELECT name, age FROM moved", "name", "age"),
        NAMES,
    ),
    "table renamed and mapped": (
        ["ALTER TABLE patients RENAME TO moved"],
        lambda: sa.select(sa.Table("moved", sa.MetaData(), *public_columns("name", "age"))),
        {},
    ),
    "table replaced": (
        [
            "ALTER TABLE patients RENAME TO moved",
            "CREATE TABLE patients AS SELECT * REPLACE (name AS disease) FROM moved",
        ],
        lambda: sa.select(P.disease, P.age, P.pid),
        {},
    ),
    "policy deleted": (["DELETE FROM dbanon.policy"], lambda: sa.select(P), {}),
    "policy deleted, text": (
        ["DELETE FROM dbanon.policy"],
        lambda: text_query("SELECT name, age FROM patients", "name", "age"),
        NAMES,
    ),
    "policy changed": (
        ["UPDATE dbanon.policy SET role = 'sensitive' WHERE column_name = 'name'"],
        lambda: sa.select(sa.Table("patients", sa.MetaData(), *public_columns("name"), *public_columns("age"))),
        {},
    ),
    "policy dropped": (
        ["DROP TABLE dbanon.policy"],
        lambda: sa.select(sa.Table("patients", sa.MetaData(), *public_columns("name", "age"))),
        {},
    ),
    "temporary table": (
        ["CREATE TEMP TABLE patients AS SELECT * REPLACE (name AS disease) FROM clinic.main.patients"],
        lambda: sa.select(P.disease, P.age, P.pid),
        {},
    ),
    "temporary view": (
        ["CREATE TEMP VIEW patients AS SELECT * REPLACE (name AS disease) FROM clinic.main.patients"],
        lambda: sa.select(P.disease, P.age, P.pid),
        {},
    ),
    "temporary macro": (
        ["CREATE TEMP MACRO mine(t) AS TABLE FROM query_table(t)"],
        lambda: text_query("SELECT name, age FROM mine('patients')", "name", "age"),
        NAMES,
    ),
    "view replaced": (
        ["CREATE OR REPLACE VIEW seniors AS SELECT name, pid, age, name AS sex FROM patients"],
        lambda: sa.select(SENIORS),
        {},
    ),
    "columns under a view renamed": (SWAPPED, lambda: sa.select(SENIORS), {}),
    "view without its table": (
        ["CREATE TEMP TABLE seniors AS SELECT name, pid, age, name AS sex FROM patients"],
        lambda: text_query("SELECT name, age FROM clinic.main.seniors", "name", "age"),
        NAMES,
    ),
}


@pytest.mark.all_cases
@pytest.mark.parametrize("change", CHANGED)
def test_uncommitted_changes_never_loosen_query_policy(engine: Any, change: str) -> None:
    statements, make, parameters = CHANGED[change]
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
        with pytest.raises((errors.DbanonError, sa.exc.DBAPIError)) as error_info:
            released_rows(connection, make(), **parameters)
        assert "mondrian: " in str(error_info.value)
        connection.rollback()


def test_query_of_uncommitted_table_is_anonymized(engine: Any) -> None:
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE TABLE fresh AS SELECT i AS age FROM range(40) AS r(i)"))
        source = text_query("SELECT age FROM fresh", "age")
        assert len(released_rows(connection, source, qi=["age"])[1]) == 40
        connection.rollback()


def test_failing_query_raises_its_own_error(engine: Any) -> None:
    with engine.connect() as connection, pytest.raises(sa.exc.ProgrammingError, match="absent"):
        released_rows(connection, text_query("SELECT age FROM absent", "age"), qi=["age"])


# --- rows of other queries -------------------------------------------------------------------------------------------


def rows_table_name(element: Any) -> str:
    """Return the temporary table that will hold the rows of an anonymized query."""
    return next(e.table_name for e in visitors.iterate(element) if isinstance(e, QueryName))


@pytest.mark.not_everyday
def test_query_over_anonymized_element_is_anonymized(engine: Any) -> None:
    inner = anonymized(sa.select(P), "mondrian", k=K)
    with engine.connect() as connection:
        columns, rows = released_rows(connection, sa.select(inner.c.disease, inner.c.sex), qi=["disease"])
    assert columns == ["disease", "class_id"] and len(rows) == 240


@pytest.mark.parametrize("read", ["FROM {}", "FROM temp.main.{}", "FROM query_table('{}')", "FROM query('FROM {}')"])
def test_query_over_other_query_refused_unaggregated(engine: Any, read: str) -> None:
    inner = anonymized(sa.select(P), "mondrian", k=K)
    rows = rows_table_name(inner)
    direct = text_query(f"SELECT name, age {read.format(rows)}", "name", "age")
    raw = direct.subquery()
    other_text = sa.select(inner.c.disease, raw.c.name).join(raw, sa.true())
    released_twice = anonymized(direct, "mondrian", k=K, qi=["age"], sensitive=["name"])
    for statement in (
        sa.select(anonymized(other_text, "mondrian", k=K, qi=["disease"], sensitive=["name"])),
        sa.select(released_twice.c.name, inner.c.disease).join(inner, sa.true()),
    ):
        with engine.connect() as connection, pytest.raises((errors.UnmappedTableError, sa.exc.ProgrammingError)):
            connection.execute(statement)


# --- views with a policy of their own --------------------------------------------------------------------------------

ALLOWED: dict[str, Callable[[], Any]] = {
    "view": lambda: sa.select(SENIORS),
    "filter": lambda: sa.select(SENIORS.c.age, SENIORS.c.pid).where(SENIORS.c.name != "x"),
    "alias": lambda: sa.select(SENIORS.alias("q")),
    "CTE": lambda: sa.select(sa.select(SENIORS).cte("q")),
    "union": lambda: sa.union_all(*(sa.select(SENIORS).where(SENIORS.c.sex == sex) for sex in "mf")),
    "join by the person": lambda: sa.select(SENIORS.c.age, P.disease, P.pid).join(P, P.pid == SENIORS.c.pid),
}

FORBIDDEN: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "identifier": (lambda: sa.select(SENIORS), {"sensitive": ["name"]}),
    "rounding": (lambda: sa.select(SENIORS), {"rounding": {"age": 10}}),
    "function": (
        lambda: sa.select(sa.func.upper(SENIORS.c.name).label("x"), SENIORS.c.age, SENIORS.c.pid),
        {"sensitive": ["x"]},
    ),
    "no person": (lambda: sa.select(SENIORS.c.age, SENIORS.c.sex), {}),
    "no person of a free table": (lambda: sa.select(PEOPLE.c.age), {}),
    "text of the view": (lambda: text_query("SELECT name, age FROM seniors", "name", "age"), NAMES),
    "text of a view over a free table": (lambda: text_query("SELECT name, age FROM people", "name", "age"), NAMES),
    "table() of the view": (
        lambda: sa.select(sa.table("people", sa.column("name"), sa.column("age"))),
        NAMES,
    ),
    "table beneath": (lambda: sa.select(SENIORS.c.age, SENIORS.c.pid, sa.column("x")).join(
        sa.text("(SELECT name AS x FROM patients) AS t"), sa.true()), {"sensitive": ["x"]}),
    "union with the table beneath": (
        lambda: sa.union_all(
            sa.select(SENIORS.c.age, SENIORS.c.pid, SENIORS.c.sex),
            sa.select(sa.column("age"), sa.column("pid"), sa.column("name")).select_from(sa.text("patients")),
        ),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("query", ALLOWED)
def test_query_of_view_uses_policy_of_view(engine: Any, query: str) -> None:
    with engine.connect() as connection:
        columns, rows = released_rows(connection, ALLOWED[query]())
    assert len(rows) > 20 and problems(columns, rows) == []


@pytest.mark.all_cases
@pytest.mark.parametrize("query", FORBIDDEN)
def test_query_of_view_cannot_loosen_view_policy(engine: Any, query: str) -> None:
    make, parameters = FORBIDDEN[query]
    with engine.connect() as connection, pytest.raises((errors.DbanonError, sa.exc.DBAPIError)) as error_info:
        released_rows(connection, make(), **parameters)
    assert "mondrian: " in str(error_info.value)


# --- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "origins"),
    [
        ("SELECT age, name AS x FROM t WHERE name > ''", ["age", "name"]),
        ("SELECT name AS age FROM t", ["name"]),
        ("SELECT age FROM (SELECT name AS age FROM t) AS t", ["name"]),
        ("SELECT age + 0, age, age::VARCHAR FROM t", [None, "age", None]),
        ("SELECT * EXCLUDE (name) FROM t", ["pid", "age"]),
        ("SELECT #1 FROM t", ["pid"]),
        ("FROM query_table('t')", ["pid", "name", "age"]),
        ("SELECT DISTINCT age FROM t ORDER BY age LIMIT 3", ["age"]),
        ("SELECT age, count(*) FROM t GROUP BY age", ["age", None]),
        ("SELECT age, max(name) OVER () FROM t", ["age", None]),
        ("SELECT (SELECT max(name) FROM t), age FROM t", [None, "age"]),
        ("SELECT a.age, b.name FROM t AS a LEFT JOIN t AS b ON a.pid = b.pid AND a.age > 3", ["age", "name"]),
        ("SELECT age FROM t AS a WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.pid = a.pid)", ["age"]),
        ("WITH q AS (SELECT name, age FROM t) SELECT age, name FROM q", ["age", "name"]),
        ("SELECT unnest([1]), age FROM t", [None, "age"]),
        ("SELECT rowid, t FROM t", [None, None]),
        ("SELECT age FROM t INTERSECT SELECT pid FROM t", ["age"]),
        ("SELECT a.age FROM t AS a FULL JOIN t AS b USING (pid)", ["age"]),
        ("SELECT pid FROM t AS a FULL JOIN t AS b USING (pid)", [None]),
    ],
)
@pytest.mark.all_cases
def test_query_plan_columns_traced_to_stored_columns(query: str, origins: list[str | None]) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (pid INTEGER, name VARCHAR, age INTEGER)")
    (branch,) = plan_branches(serialized_plan(connection, query), {})
    assert [origin and origin.column for origin in branch.columns] == origins


def test_union_branches_traced_separately() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (pid INTEGER, name VARCHAR, age INTEGER)")
    plan = serialized_plan(connection, "SELECT name FROM t UNION ALL SELECT upper(name) FROM t UNION SELECT 'x'")
    origins = [[origin and origin.column for origin in branch.columns] for branch in plan_branches(plan, {})]
    assert origins == [["name"], [None], [None]]


def test_statement_without_readable_plan_raises() -> None:
    with pytest.raises(PlanNotReadError):
        serialized_plan(duckdb.connect(), "SELECT 1; SELECT 2")
    with pytest.raises(PlanNotReadError, match="operator OTHER"):
        plan_branches({"type": "LOGICAL_OTHER", "children": []}, {})
