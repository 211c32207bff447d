"""A query over tables with a policy is counted by the people of these tables, with any joins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column, relationship

from dbanon import errors
from dbanon.sqlalchemy import (
    anonymized,
    classes,
    declare_models,
    identifier,
    install,
    person,
    quasi,
    sensitive,
)

K = 5


class CountedBase(DeclarativeBase):
    """A clinic whose policy counts persons in two tables, and records in two others."""


class CountedPatient(CountedBase):
    __tablename__ = "patients"

    pid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, info=person())
    age: Mapped[int] = mapped_column(info=quasi())
    disease: Mapped[str] = mapped_column(info=sensitive())
    ward_id: Mapped[int] = mapped_column(sa.ForeignKey("wards.id"))
    visits: Mapped[list[CountedVisit]] = relationship()


class CountedVisit(CountedBase):
    __tablename__ = "visits"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, info=identifier())
    pid: Mapped[int] = mapped_column(sa.ForeignKey("patients.pid"), info=person())
    cost: Mapped[int] = mapped_column(info=quasi())


class Specimen(CountedBase):
    """Records without a person column: k counts records."""

    __tablename__ = "specimens"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, info=identifier())
    pid: Mapped[int]
    ward_id: Mapped[int]
    volume: Mapped[int] = mapped_column(info=quasi())


class WardWithoutPolicy(CountedBase):
    """A table without a policy."""

    __tablename__ = "wards"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    result = install(sa.create_engine("duckdb:///:memory:"))
    CountedBase.metadata.create_all(result)
    declare_models(CountedBase, result)
    with result.begin() as connection:
        for statement in (
            "INSERT INTO wards SELECT i, 'ward ' || i FROM range(3) AS r(i)",
            "INSERT INTO patients SELECT i, 20 + i, ['Flu', 'Cold'][1 + i % 2], i % 3 FROM range(40) AS r(i)",
            "INSERT INTO visits SELECT i, i % 40, i FROM range(120) AS r(i)",
            "INSERT INTO specimens SELECT i, i % 40, i % 3, i FROM range(60) AS r(i)",
            "CREATE TABLE tags AS SELECT i % 40 AS pid, i AS tag FROM range(400) AS r(i)",
        ):
            connection.execute(sa.text(statement))
    yield result
    result.dispose()


P, V, S, W = CountedPatient, CountedVisit, Specimen, WardWithoutPolicy
OTHER = aliased(CountedPatient)
TAGS = sa.table("tags", sa.column("pid"), sa.column("tag"))

COUNTED: dict[str, Callable[[], Any]] = {
    "the table": lambda: sa.select(P.age, P.disease, P.pid),
    "filters and order": lambda: sa.select(P.age, P.pid).where(P.disease != "x").order_by(P.age).limit(30),
    "person of the same rows": lambda: sa.select(P.age, V.cost, V.pid).join(V, V.pid == P.pid),
    "person of the other side": lambda: sa.select(P.age, V.cost, P.pid).join(V, V.pid == P.pid),
    "relationship": lambda: sa.select(P.age, V.cost, P.pid).join(P.visits),
    "join in WHERE": lambda: sa.select(P.age, V.cost, V.pid).where(V.pid == P.pid, P.age > 0),
    "outer join": lambda: sa.select(P.age, V.cost, P.pid).join(V, V.pid == P.pid, isouter=True),
    "self-join by the person": lambda: sa.select(P.age, OTHER.pid).join(OTHER, OTHER.pid == P.pid),
    "three tables": lambda: sa.select(P.age, V.cost, V.pid).join(OTHER, OTHER.pid == V.pid).join(P, P.pid == OTHER.pid),
    "table without a policy": lambda: sa.select(P.age, P.pid, W.name).join(W, W.id == P.ward_id),
    "rows repeated": lambda: sa.select(P.age, P.pid).join(TAGS, TAGS.c.pid == P.pid),
    "EXISTS": lambda: sa.select(P.age, P.pid).where(sa.exists().where(V.pid == P.pid)),
    "IN": lambda: sa.select(P.age, P.pid).where(P.pid.in_(sa.select(V.pid))),
    "GROUP BY": lambda: sa.select(P.age, P.pid, sa.func.count()).join(V, V.pid == P.pid).group_by(P.age, P.pid),
    "DISTINCT": lambda: sa.select(P.age, P.pid).distinct(),
    "union of persons": lambda: sa.union_all(
        sa.select(P.age, P.pid).where(P.age < 40), sa.select(P.age, P.pid).where(P.age >= 40)
    ),
    "except": lambda: sa.except_(sa.select(P.age, P.pid), sa.select(P.age, P.pid).where(P.age < 25)),
    "records": lambda: sa.select(S.volume),
    "records with a lookup": lambda: sa.select(S.volume, W.name).join(W, W.id == S.ward_id),
    "records with an outer lookup": lambda: sa.select(S.volume, W.name).join(W, W.id == S.ward_id, isouter=True),
    "records with two lookups": lambda: sa.select(S.volume).join(P, P.pid == S.pid).join(W, W.id == P.ward_id),
    "records with EXISTS": lambda: sa.select(S.volume).where(sa.exists().where(V.pid == S.pid)),
    "records above an average": lambda: sa.select(S.volume).where(
        S.volume >= sa.select(sa.func.min(S.volume)).scalar_subquery()
    ),
    "records in a CTE": lambda: sa.select(sa.select(S.volume).where(S.volume > 3).cte("chosen")),
}

NOT_PERSONS: dict[str, Callable[[], Any]] = {
    "no person": lambda: sa.select(P.age, P.disease),
    "person of a cross join": lambda: sa.select(P.age, P.disease, OTHER.pid).join(OTHER, sa.true()),
    "person of another row": lambda: sa.select(P.age, OTHER.pid).join(OTHER, OTHER.pid != P.pid),
    "person of the same ward": lambda: sa.select(P.age, OTHER.pid).join(OTHER, OTHER.ward_id == P.ward_id),
    "person of another table": lambda: sa.select(P.age, V.pid).join(V, sa.true()),
    "person compared as text": lambda: sa.select(P.age, V.pid).join(
        V, sa.cast(V.pid, sa.String) == sa.cast(P.pid, sa.String)
    ),
    "person plus one": lambda: sa.select(P.age, V.pid).join(V, V.pid == P.pid + 1),
    "person of a wrong key": lambda: sa.select(P.age, V.pid).join(V, V.id == P.pid),
    "person of an outer join": lambda: sa.select(P.age, V.pid).join(V, V.pid == P.pid, isouter=True),
    "person of a full join": lambda: sa.select(P.age, V.pid).join(V, V.pid == P.pid, full=True),
    "person or true": lambda: sa.select(P.age, V.pid).join(V, sa.or_(V.pid == P.pid, sa.true())),
    "values of the other side": lambda: sa.select(OTHER.age, P.pid).join(OTHER, sa.true()),
    "lateral": lambda: sa.select(P.age, sa.select(OTHER.pid).where(OTHER.age != P.age).lateral("others").c.pid),
    "person of a subquery": lambda: sa.select(P.age, sa.select(OTHER.pid).limit(1).scalar_subquery().label("pid")),
    "person as an expression": lambda: sa.select(P.age, (P.pid + 0).label("pid")),
    "one branch of a union": lambda: sa.union_all(
        sa.select(P.age, P.pid), sa.select(P.age, OTHER.pid).join(OTHER, sa.true())
    ),
    "CTE read twice": lambda: _self_join(),
}

REPEATED: dict[str, Callable[[], Any]] = {
    "records crossed": lambda: sa.select(S.volume).join(W, sa.true()),
    "records crossed with values": lambda: sa.select(S.volume).join(
        sa.values(sa.column("n", sa.Integer), name="numbers").data([(1,), (2,)]), sa.true()
    ),
    "records crossed with a series": lambda: sa.select(S.volume).join(sa.func.range(9).table_valued("n"), sa.true()),
    "records unnested": lambda: sa.select(S.volume, sa.func.unnest(sa.literal_column("[1, 2, 3, 4, 5]"))),
    "records joined by a key that repeats": lambda: sa.select(S.volume).join(V, V.pid == S.pid),
    "records joined with a table without a policy": lambda: sa.select(S.volume).join(TAGS, TAGS.c.pid == S.pid),
    "records of a self-join": lambda: sa.select(S.volume).join(other := aliased(S), other.pid == S.pid),
    "records of an outer join": lambda: sa.select(S.volume).join(V, V.pid == S.pid, isouter=True),
    "records with persons of others": lambda: sa.select(S.volume, V.pid).join(V, sa.true()),
    "union of records": lambda: sa.union_all(sa.select(S.volume), sa.select(S.volume)),
    "union in a subquery": lambda: sa.select(sa.union_all(sa.select(S.volume), sa.select(S.volume)).subquery()),
    "grouping sets": lambda: sa.select(S.volume).group_by(
        sa.func.grouping_sets(sa.tuple_(S.volume), sa.tuple_(S.volume), sa.tuple_(S.volume))
    ),
    "recursive": lambda: _recursive_join(),
}


def _self_join() -> Any:
    rows = sa.select(P.age, P.pid).cte("rows")
    second_alias = rows.alias("again")
    return sa.select(rows.c.age, second_alias.c.pid).join(second_alias, sa.true())


def _recursive_join() -> Any:
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < 6))
    return sa.select(S.volume).join(numbers, sa.true())


@pytest.mark.parametrize("query", COUNTED)
def test_query_counting_policy_persons_is_released(engine: Any, query: str) -> None:
    source = COUNTED[query]()
    with Session(engine) as session:
        groups = session.execute(sa.select(classes(source, "mondrian", k=K))).mappings().all()
        assert groups and min(g.get("persons", g["size"]) for g in groups) >= K
        assert session.execute(sa.select(anonymized(source, "mondrian", k=K))).all()


@pytest.mark.all_cases
@pytest.mark.parametrize("query", NOT_PERSONS)
def test_query_without_policy_person_column_refused(engine: Any, query: str) -> None:
    with (
        Session(engine) as session,
        pytest.raises(errors.PersonColumnNotSelectedError, match="so k would count records"),
    ):
        session.execute(sa.select(anonymized(NOT_PERSONS[query](), "mondrian", k=K)))


@pytest.mark.all_cases
@pytest.mark.parametrize("query", REPEATED)
def test_query_repeating_records_refused(engine: Any, query: str) -> None:
    with Session(engine) as session, pytest.raises(errors.RepeatedRecordsError, match="count it several times"):
        session.execute(sa.select(anonymized(REPEATED[query](), "mondrian", k=K)))


def test_model_without_person_column_refused(engine: Any) -> None:
    few_table = sa.Table(
        "patients",
        sa.MetaData(),
        sa.Column("age", sa.Integer, info=quasi()),
        sa.Column("disease", sa.String, info=sensitive()),
    )
    with engine.connect() as connection:
        for extra_parameters in ({}, {"person": "disease"}):
            with pytest.raises(errors.DbanonError, match=r"patients\.pid|would loosen"):
                connection.execute(sa.select(anonymized(sa.select(few_table), "mondrian", k=K, **extra_parameters)))
