"""Tables, queries and views in SQLAlchemy refuse every parameter that would loosen the policy of their sources."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Session, aliased
from support.alchemy_attempts import PolicyPatient, clinic_engine, public_columns
from support.policy_attempts import ATTEMPTS, BOUNDS_ATTEMPTS, PERMITTED, REFUSAL, K, problems
from support.scale import sample_cases

from dbanon import errors
from dbanon.integrations.sqlalchemy.view import drop_view
from dbanon.sqlalchemy import AnonymizedView, anonymized


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Create the clinic, with views over its table."""
    actual_clinic_engine = clinic_engine(tmp_path_factory.mktemp("attempts"))
    yield actual_clinic_engine
    actual_clinic_engine.dispose()


def forbidden_rows(engine: Any, source: Any, parameters: Any, algorithm: str = "mondrian") -> list[str]:
    """Return the rows of a call that the policy forbids."""
    with Session(engine) as session:
        result = session.execute(sa.select(anonymized(source, algorithm, k=K, **parameters)))
        columns, rows = list(result.keys()), result.fetchall()
    assert len(rows) > 20
    return problems(columns, rows)


SOURCES: dict[str, Callable[[], Any]] = {
    "class": lambda: PolicyPatient,
    "table": lambda: PolicyPatient.__table__,
    "query": lambda: sa.select(PolicyPatient),
    "query of an alias": lambda: sa.select(aliased(PolicyPatient)),
    "query of a CTE": lambda: sa.select(sa.select(PolicyPatient).cte("selected")),
    "union": lambda: sa.union_all(
        sa.select(PolicyPatient).where(PolicyPatient.sex == "m"),
        sa.select(PolicyPatient).where(PolicyPatient.sex != "m"),
    ),
}


@pytest.mark.all_cases
@pytest.mark.parametrize("source", SOURCES)
def test_sqlalchemy_source_refuses_looser_parameters(engine: Any, source: str) -> None:
    """An error at the construction is dbanon's own, one of the planner is raised as one of DuckDB."""
    for attempt in sample_cases(ATTEMPTS, 16 if source in ("class", "query") else 32):
        with pytest.raises((errors.DbanonError, sa.exc.DBAPIError), match=REFUSAL):
            forbidden_rows(engine, SOURCES[source](), attempt.parameters)
    for attempt in sample_cases(BOUNDS_ATTEMPTS, 2):
        with pytest.raises((errors.DbanonError, sa.exc.DBAPIError), match=REFUSAL):
            forbidden_rows(engine, SOURCES[source](), attempt.parameters, "simdiv")


@pytest.mark.parametrize("source", SOURCES)
def test_sqlalchemy_source_accepts_tighter_parameters(engine: Any, source: str) -> None:
    for attempt in sample_cases(PERMITTED, 16):
        if "influence" not in str(attempt):
            assert forbidden_rows(engine, SOURCES[source](), attempt.parameters) == [], attempt


# --- queries without mapped tables -----------------------------------------------------------------------------------


def lightweight_table(*columns: str) -> Any:
    return sa.table("patients", *(sa.column(name) for name in columns))


def text_query(statement: str, *columns: str) -> Any:
    return sa.text(statement).columns(*(sa.column(name, sa.String) for name in columns))


UNMAPPED: dict[str, Callable[[], Any]] = {
    "table()": lambda: sa.select(lightweight_table("name", "age", "pid")),
    "column()": lambda: sa.select(sa.column("name"), sa.column("age")).select_from(lightweight_table()),
    "alias of table()": lambda: sa.select(lightweight_table("name", "age").alias("q")),
    "text().columns()": lambda: text_query("SELECT name, age FROM patients", "name", "age"),
    "query of text": lambda: sa.select(text_query("SELECT name, age FROM patients", "name", "age").subquery()),
    "text in FROM": lambda: sa.select(sa.column("name"), sa.column("age")).select_from(sa.text("patients")),
    "text that takes the place of the table": lambda: sa.select(sa.column("age"), sa.column("disease")).select_from(
        sa.text("(SELECT name AS disease, age FROM patients) AS patients")
    ),
    "text of all values": lambda: text_query("FROM (SELECT name, age::VARCHAR AS age FROM patients)", "name", "age"),
    "query_table": lambda: text_query("SELECT name, age FROM query_table('patients')", "name", "age"),
    "query_table of a bound name": lambda: text_query(
        "SELECT name, age FROM query_table(:table)", "name", "age"
    ).bindparams(table="patients"),
    "query": lambda: text_query("SELECT name, age FROM query('FROM patients')", "name", "age"),
    "table macro": lambda: text_query("SELECT name, age FROM all_patients()", "name", "age"),
    "table macro of a name": lambda: text_query("SELECT name, age FROM rows_of('patients')", "name", "age"),
    "view as Table": lambda: sa.select(sa.Table("over_patients", sa.MetaData(), *public_columns("name", "age"))),
    "view of a view": lambda: sa.select(sa.Table("nested", sa.MetaData(), *public_columns("name", "age"))),
    "view with other names": lambda: sa.select(sa.Table("renamed", sa.MetaData(), *public_columns("disease", "age"))),
    "temporary view": lambda: sa.select(sa.table("mine", sa.column("name"), sa.column("age"))),
    "table of another system": lambda: text_query("SELECT name, age FROM clinic.main.patients", "name", "age"),
}


@pytest.mark.parametrize("query", ["table()", "text().columns()"])
def test_hint_without_roles_names_mapped_class(query: str) -> None:
    with pytest.raises(errors.PolicyMissingError, match="select columns of a mapped class or Table") as caught:
        anonymized(UNMAPPED[query](), k=K)
    assert "qi = ['age', ...]" in str(caught.value)
    assert "INSERT" not in str(caught.value)


@pytest.mark.parametrize("query", UNMAPPED)
@pytest.mark.all_cases
def test_unmapped_query_of_policy_table_refused(engine: Any, query: str) -> None:
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE TEMP VIEW mine AS FROM patients"))
        source = UNMAPPED[query]()
        roles: list[dict[str, Any]] = [{"qi": ["age"]}]
        roles += [{"qi": ["age"], "sensitive": [c]} for c in ("name", "disease") if c in source.selected_columns]
        for parameters in roles:
            with pytest.raises(
                errors.UnmappedTableError, match="patients, which has a policy but is not a mapped table"
            ):
                connection.execute(sa.select(anonymized(source, "mondrian", k=K, **parameters)))
        connection.execute(sa.text("DROP VIEW mine"))
        connection.rollback()


# --- columns of mapped tables ----------------------------------------------------------------------------------------

P = PolicyPatient
LOOSE: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "label of an identifier": (lambda: sa.select(P.name.label("x"), P.age, P.pid), {"sensitive": ["x"]}),
    "text and nothing": (lambda: sa.select((P.name + "").label("x"), P.age, P.pid), {"sensitive": ["x"]}),
    "function": (lambda: sa.select(sa.func.upper(P.name).label("x"), P.age, P.pid), {"sensitive": ["x"]}),
    "function as other": (lambda: sa.select(sa.func.upper(P.name).label("x"), P.age, P.pid), {"insensitive": ["x"]}),
    "sum": (lambda: sa.select((P.age + 0).label("x"), P.disease, P.pid), {"qi": ["x"]}),
    "cast": (lambda: sa.select(sa.cast(P.age, sa.String).label("x"), P.sex, P.pid), {"sensitive": ["x"]}),
    "type_coerce": (lambda: sa.select(sa.type_coerce(P.age, sa.String).label("x"), P.sex, P.pid), {"sensitive": ["x"]}),
    "literal_column": (lambda: sa.select(sa.literal_column("name").label("x"), P.age, P.pid), {"sensitive": ["x"]}),
    "literal_column alone": (
        lambda: sa.select(sa.literal_column("name").label("x"), sa.literal_column("age").label("y")).select_from(P),
        {"qi": ["y"], "sensitive": ["x"]},
    ),
    "scalar subquery": (
        lambda: sa.select(sa.select(P.name).limit(1).scalar_subquery().label("x"), P.age, P.pid),
        {"sensitive": ["x"]},
    ),
    "case": (lambda: sa.select(sa.case((P.age > 0, P.age)).label("x"), P.disease, P.pid), {"qi": ["x"]}),
    "coalesce": (
        lambda: sa.select(sa.func.coalesce(P.disease, P.name).label("disease"), P.age, P.pid),
        {"sensitive": ["disease"]},
    ),
    "window": (
        lambda: sa.select(sa.func.max(P.name).over(partition_by=P.pid).label("x"), P.age, P.pid),
        {"sensitive": ["x"]},
    ),
    "aggregate": (
        lambda: sa.select(sa.func.max(P.name).label("x"), P.age, P.pid).group_by(P.age, P.pid),
        {"insensitive": ["x"]},
    ),
    "record as struct": (
        lambda: sa.select(sa.literal_column("patients").label("x"), P.age, P.pid),
        {"sensitive": ["x"]},
    ),
    "row number": (lambda: sa.select(sa.literal_column("rowid").label("x"), P.age, P.pid), {"sensitive": ["x"]}),
    "undeclared": (lambda: sa.select(P.note, P.age, P.pid), {"sensitive": ["note"]}),
    "alias": (lambda: sa.select(aliased(P)), {"sensitive": ["name"]}),
    "CTE": (lambda: sa.select(sa.select(P.name, P.age, P.pid).cte("q")), {"sensitive": ["name"]}),
    "union with an identifier": (
        lambda: sa.union_all(sa.select(P.disease, P.age, P.pid), sa.select(P.name, P.age, P.pid)),
        {},
    ),
    "union with a function": (
        lambda: sa.union_all(sa.select(P.disease, P.age, P.pid), sa.select(sa.func.upper(P.name), P.age, P.pid)),
        {},
    ),
    "union that begins with a function": (
        lambda: sa.union_all(
            sa.select(sa.func.upper(P.name).label("disease"), P.age, P.pid), sa.select(P.disease, P.age, P.pid)
        ),
        {"sensitive": ["disease"]},
    ),
    "union with a cast": (
        lambda: sa.union_all(sa.select(P.disease, P.age, P.pid), sa.select(sa.cast(P.name, sa.String), P.age, P.pid)),
        {},
    ),
    "union with a literal_column": (
        lambda: sa.union_all(sa.select(P.disease, P.age, P.pid), sa.select(sa.literal_column("name"), P.age, P.pid)),
        {},
    ),
    "union with a scalar subquery": (
        lambda: sa.union(
            sa.select(P.disease, P.age, P.pid),
            sa.select(sa.select(P.name).limit(1).scalar_subquery(), P.age, P.pid),
        ),
        {},
    ),
    "union of a union": (
        lambda: sa.union_all(
            sa.select(P.disease, P.age, P.pid),
            sa.select(
                sa.union(
                    sa.select(P.disease, P.age, P.pid), sa.select(sa.func.lower(P.name), P.age, P.pid)
                ).subquery()
            ),
        ),
        {},
    ),
    "union with values": (
        lambda: sa.union_all(sa.select(P.disease, P.age, P.pid), sa.select(sa.literal("x"), P.age, P.pid)),
        {},
    ),
    "prefix of the query": (
        lambda: sa.select(P.disease, P.age, P.pid).prefix_with(
            "name AS disease, age, pid FROM patients UNION ALL SELECT"
        ),
        {},
    ),
    "suffix of the query": (
        lambda: sa.select(P.disease, P.age, P.pid).suffix_with("UNION ALL SELECT name, age, pid FROM patients"),
        {},
    ),
    "view next to the table": (
        lambda: sa.select(P.age, P.pid, sa.column("x")).select_from(
            P.__table__.join(sa.text("(SELECT name AS x FROM over_patients) AS v"), sa.true())
        ),
        {"sensitive": ["x"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("query", LOOSE)
@pytest.mark.all_cases
def test_query_column_without_role_never_published(engine: Any, query: str) -> None:
    make, parameters = LOOSE[query]
    message = "would loosen|in two roles|differ about|does not select"
    with pytest.raises(errors.DbanonError, match=message):
        forbidden_rows(engine, make(), parameters)
    with contextlib.suppress(errors.DbanonError):  # without roles from the call, such a column is withheld
        assert forbidden_rows(engine, make(), {}) == []


# --- anonymized views and migrations ---------------------------------------------------------------------------------


def mapped_view(parameters: Any, *, materialized: bool, source: Any = None, view: str = "SafePatient") -> Any:
    """Return a class over the release of `patients`, in a base of its own."""

    class MappedViewBase(DeclarativeBase):
        pass

    table = (
        PolicyPatient.__table__.to_metadata(MappedViewBase.metadata)
        if source is None
        else source.to_metadata(MappedViewBase.metadata)
    )
    given_parameters = {
        "__source__": table,
        "__algorithm__": "mondrian",
        "__k__": K,
        "__parameters__": dict(parameters),
    }
    return type(
        view, (AnonymizedView, MappedViewBase), {**given_parameters, "__materialized__": materialized}
    ), MappedViewBase


def forbidden_view_rows(engine: Any, view: str) -> list[str]:
    """Return the rows of a view that the policy forbids; drop the view."""
    with engine.connect() as connection:
        result = connection.execute(sa.text(f"FROM {view}"))
        columns, rows = list(result.keys()), result.fetchall()
    assert len(rows) > 20
    return problems(columns, rows)


@pytest.mark.all_cases
@pytest.mark.parametrize("materialized", [False, True])
def test_mapped_views_refuse_looser_parameters(engine: Any, materialized: bool) -> None:
    for attempt in sample_cases(ATTEMPTS, 16):
        with pytest.raises((errors.DbanonError, sa.exc.DBAPIError, duckdb.Error), match=REFUSAL):
            mapped_view(attempt.parameters, materialized=materialized)[1].metadata.create_all(engine)
    with engine.connect() as connection:
        assert not connection.scalar(sa.text("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'safe_patient'"))
        assert not connection.scalar(sa.text("SELECT count(*) FROM duckdb_views() WHERE view_name = 'safe_patient'"))


@pytest.mark.parametrize("materialized", [False, True])
def test_mapped_view_rows_stay_within_policy(engine: Any, materialized: bool) -> None:
    cls, base = mapped_view({"rounding": {"age": 20}}, materialized=materialized)
    base.metadata.create_all(engine)
    with Session(engine) as session:
        rows = session.execute(sa.select(*(cls.__table__.c[n] for n in ("age", "born", "zip", "ward")))).all()
    assert problems(["age", "born", "zip"], [row[:3] for row in rows]) == []
    with engine.begin() as connection:
        drop_view(connection, cls.__table__, is_materialized=materialized)


def roles(connection: Any) -> dict[str, str]:
    """Return the roles in the database, by column."""
    rows = connection.execute(sa.text("SELECT column_name, role FROM dbanon.policy")).all()
    return {row[0]: row[1] for row in rows}


@pytest.mark.parametrize("materialized", [False, True])
def test_mapped_view_with_looser_model_keeps_policy(engine: Any, materialized: bool) -> None:
    """A view is refused, a release has the columns that the policy publishes."""
    cls, base = mapped_view(
        {}, materialized=materialized, source=sa.Table("patients", sa.MetaData(), *public_columns("name", "age"))
    )
    with contextlib.suppress(errors.PolicyDriftError):
        base.metadata.create_all(engine)
        assert materialized
    with engine.begin() as connection:
        assert roles(connection)["name"] == "identifier" and "note" not in roles(connection)
        if materialized:
            result = connection.execute(sa.text("FROM safe_patient"))
            assert problems(list(result.keys()), result.fetchall()) == []
        drop_view(connection, cls.__table__, is_materialized=materialized)


@pytest.mark.all_cases
@pytest.mark.parametrize("materialized", [False, True])
@pytest.mark.parametrize("name", ["over_patients", "nested"])
def test_mapped_view_over_sql_view_refused(engine: Any, materialized: bool, name: str) -> None:
    source = sa.Table(name, sa.MetaData(), *public_columns("name", "age"))
    with pytest.raises(errors.ViewOverPolicyError, match="patients, which has one"):
        mapped_view({}, materialized=materialized, source=source)[1].metadata.create_all(engine, tables=[])
    with engine.connect() as connection:
        assert not connection.scalar(sa.text("SELECT count(*) FROM dbanon.policy WHERE table_name <> 'patients'"))
