"""Anonymized views are mapped, created with the tables, and read only."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from support.alchemy_clinic import Base, Patient, PublishedPatient, SafePatient, fill, patients

import dbanon
from dbanon import errors
from dbanon.sqlalchemy import (
    AnonymizedView,
    anonymized,
    declare_models,
    identifier,
    install,
    quasi,
    sensitive,
)


@pytest.fixture(params=["file", "memory"])
def engine(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Any]:
    """Create the clinic, by create_all alone."""
    url = f"duckdb:///{tmp_path / 'clinic.duckdb'}" if request.param == "file" else "duckdb:///:memory:"
    result = install(sa.create_engine(url))
    Base.metadata.create_all(result)
    fill(result)
    yield result
    result.dispose()


def tables(engine: Any) -> set[str]:
    with engine.connect() as connection:
        return {row[0] for row in connection.execute(sa.text("SHOW TABLES"))}


def test_create_all_creates_readable_mapped_view(engine: Any) -> None:
    assert "safe_patient" in tables(engine) and "safe_patient" not in Base.metadata.tables
    with Session(engine) as session:
        has_all = session.scalars(sa.select(SafePatient).order_by(SafePatient.row_number)).all()
        assert [p.row_number for p in has_all] == list(range(1, 61))
        released_has_all = session.execute(sa.select(anonymized(Patient, "mondrian", k=5, l=2))).all()
        assert sorted((p.age, p.class_id) for p in has_all) == sorted((r.age, r.class_id) for r in released_has_all)
        second_has_all = session.scalars(sa.select(SafePatient).where(SafePatient.class_id == 1)).all()
        assert len(second_has_all) >= 5 and second_has_all[0] is has_all[second_has_all[0].row_number - 1]
        assert session.get(SafePatient, 7) is has_all[6]
        pairs = sa.select(sa.func.count()).join_from(SafePatient, Patient, SafePatient.disease == Patient.disease)
        assert (session.scalar(pairs) or 0) > 60


def test_view_among_tables_of_create_all_refused() -> None:
    engine = install(sa.create_engine("duckdb:///:memory:"))
    with pytest.raises(errors.InvalidArgumentError, match="create_all: tables must be a list without anonymized views"):
        Base.metadata.create_all(engine, tables=[Patient.__table__, SafePatient.__table__])
    assert tables(engine) == set()
    Base.metadata.create_all(engine, tables=[Patient.__table__])
    assert tables(engine) == {"patients", "safe_patient"}
    engine.dispose()


def test_view_among_tables_of_drop_all_refused(engine: Any) -> None:
    with Session(engine) as session:
        PublishedPatient.refresh(session)
    for view in (SafePatient, PublishedPatient):
        with pytest.raises(errors.InvalidArgumentError, match="drop_all: tables must be a list without"):
            Base.metadata.drop_all(engine, tables=[view.__table__])
    assert {"safe_patient", "published_patients"} <= tables(engine)


@pytest.mark.not_everyday
def test_recreate_follows_model_and_drop_removes_views(engine: Any) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE OR REPLACE VIEW safe_patient AS SELECT 1 AS row_number"))
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        assert len(session.scalars(sa.select(SafePatient)).all()) == 60
        session.commit()
        PublishedPatient.refresh(session)
    assert {"published_patients", "published_patients_classes"} <= tables(engine)
    Base.metadata.drop_all(engine)
    assert tables(engine) == set()
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    assert "safe_patient" in tables(engine)


@pytest.mark.not_everyday
def test_create_view_keeps_existing_policy(engine: Any) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE dbanon.policy SET top = '60' WHERE column_name = 'age'"))
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        assert any(">=60" in p.age for p in session.scalars(sa.select(SafePatient)))
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM dbanon.policy WHERE column_name = 'zip'"))
    with pytest.raises(errors.PolicyDriftError, match="'zip'"):
        Base.metadata.create_all(engine)
    assert declare_models(Base, engine)
    Base.metadata.create_all(engine)


@pytest.mark.not_everyday
def test_mapped_materialized_view_has_versions_and_status(engine: Any) -> None:
    with Session(engine) as session:
        assert PublishedPatient.status(session).status == "missing"
        assert PublishedPatient.refresh(session).version == 1
        first = session.get(PublishedPatient, 0)
        assert first is not None and len(session.scalars(sa.select(PublishedPatient)).all()) == 60
        with pytest.raises(errors.OpenTransactionError):
            PublishedPatient.refresh(session)
        session.commit()
        assert PublishedPatient.status(session).status == "fresh"
        session.add_all(patients(6, first=1000))
        session.commit()
        status = PublishedPatient.status(session)
        assert (status.version, status.status, status.added, status.definition_changed) == (1, "stale", 6, False)
        with pytest.warns(UserWarning, match="clustered again"):
            result = PublishedPatient.refresh(session, mode="recluster", allow_small_differences=True)
        assert result.version == 2 and first not in session
        assert len(session.scalars(sa.select(PublishedPatient)).all()) == 66
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        assert PublishedPatient.status(session).version == 2


def person_models(k: int) -> tuple[Any, Any, Any]:
    """Return a new base, its class of persons, and the materialized view of them."""

    class PersonBase(DeclarativeBase):
        pass

    class MappedPerson(PersonBase):
        __tablename__ = "persons"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, info=identifier())
        age: Mapped[int] = mapped_column(info=quasi())

    class SafePerson(AnonymizedView, PersonBase):
        __source__ = MappedPerson
        __k__ = k
        __materialized__ = True

    return PersonBase, MappedPerson, SafePerson


@pytest.mark.filterwarnings("ignore:safe_person. all 5 records are in one class")
@pytest.mark.not_everyday
def test_mapped_release_accepts_refresh_options() -> None:
    """One of ten patients in two classes is erased: the class is removed. Without changes nothing is made."""
    mapped_options, release_options = (
        [
            (p.name, str(p.annotation), p.default)
            for p in inspect.signature(function, eval_str=True).parameters.values()
            if p.kind == p.KEYWORD_ONLY
        ]
        for function in (AnonymizedView.refresh, dbanon.refresh_release)
    )
    assert mapped_options == release_options

    base, person, view = person_models(5)
    engine = install(sa.create_engine("duckdb:///:memory:"))
    base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all(person(id=i, age=20 + i + 30 * (i // 5)) for i in range(10))
        session.commit()
        view.refresh(session)
        first = session.get(view, 0)
        session.commit()
        assert view.refresh(session, if_stale=True).version == 1 and first in session
        session.execute(sa.delete(person).where(person.id == 3))
        session.commit()
        with pytest.raises(errors.SmallDifferencesRefusedError):
            view.refresh(session, if_stale=True)
        view.__table__.info["dbanon_read_only"].parameters["k"] = 4
        with pytest.warns(UserWarning, match="4 records are withheld"):
            result = view.refresh(session, erase=True, if_stale=True)
        assert (result.version, result.records) == (2, 5) and first not in session
        assert view.status(session).definition_changed
    engine.dispose()


@pytest.mark.not_everyday
def test_materialized_view_created_with_tables() -> None:
    base, _, view = person_models(3)
    engine = install(sa.create_engine("duckdb:///:memory:"))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE persons AS SELECT i AS id, 20 + i AS age FROM range(9) AS r (i)"))
    base.metadata.create_all(engine)
    with Session(engine) as session:
        assert view.status(session).version == 1
    view.__table__.info["dbanon_read_only"].parameters["k"] = 4
    with Session(engine) as session:
        assert view.status(session).definition_changed
        with pytest.raises(errors.SmallDifferencesRefusedError):
            view.refresh(session)
        with pytest.warns(UserWarning):
            assert view.refresh(session, allow_small_differences=True).version == 2
        assert not view.status(session).definition_changed
        assert {
            count >= 4 for _, count in session.execute(sa.text("SELECT class_id, count(*) FROM safe_person GROUP BY 1"))
        }
    engine.dispose()


@pytest.mark.not_everyday
def test_flush_writing_to_mapped_view_refused(engine: Any) -> None:
    with Session(engine) as session:
        PublishedPatient.refresh(session)
    for safepatient in (SafePatient, PublishedPatient):
        with Session(engine) as session:
            session.add(safepatient(row_number=1000, age="1"))
            with pytest.raises(errors.ReadOnlyViewError, match=safepatient.__name__):
                session.flush()
        with Session(engine) as session:
            session.get_one(safepatient, 5).age = "1"
            with pytest.raises(errors.ReadOnlyViewError, match="cannot be written"):
                session.commit()
        with Session(engine) as session:
            session.delete(session.get_one(safepatient, 5))
            with pytest.raises(errors.ReadOnlyViewError):
                session.flush()
        for statement in (
            sa.update(safepatient).values(age="1"),
            sa.delete(safepatient),
            sa.insert(safepatient).values(row_number=1, age="1"),
        ):
            with Session(engine) as session, pytest.raises(errors.ReadOnlyViewError):
                session.execute(statement)
        with Session(engine) as session, pytest.raises(errors.ReadOnlyViewError):
            session.execute(sa.insert(safepatient), [{"row_number": 1, "age": "1"}, {"row_number": 2, "age": "1"}])


def test_views_created_in_schema_of_source(tmp_path: Any) -> None:
    class WardViewBase(DeclarativeBase):
        metadata = sa.MetaData(schema="ward")

    class WardPerson(WardViewBase):
        __tablename__ = "Odd Persons"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        age: Mapped[int] = mapped_column(info=quasi())
        class_id: Mapped[int] = mapped_column(info=quasi())
        row_number: Mapped[str] = mapped_column(info=sensitive())

    class SafeWardPerson(AnonymizedView, WardViewBase):
        __tablename__ = "safe persons"
        __source__ = WardPerson
        __k__ = 3

    engine = install(sa.create_engine(f"duckdb:///{tmp_path / 'x.duckdb'}"))
    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema("ward"))
        WardViewBase.metadata.create_all(connection)
    assert SafeWardPerson.__mapper__.columns.keys() == ["row_number_", "age", "class_id", "row_number", "class_id_"]
    with Session(engine) as session:
        session.add_all([WardPerson(id=i, age=i, class_id=i, row_number="x") for i in range(9)])
        session.commit()
        assert len(session.scalars(sa.select(SafeWardPerson)).all()) == 9
    WardViewBase.metadata.drop_all(engine)
    engine.dispose()


def test_unmappable_release_refused() -> None:
    class UnmappableBase(DeclarativeBase):
        pass

    with pytest.raises(errors.UnmappableViewError, match="declarative base"):
        type("Lonely", (AnonymizedView,), {"__source__": Patient})
    with pytest.raises(errors.UnmappableViewError, match="__source__ is missing"):
        type("Empty", (AnonymizedView, UnmappableBase), {})
    with pytest.raises(errors.UnmappableViewError, match="all rows of one table"):
        type("Query", (AnonymizedView, UnmappableBase), {"__source__": sa.select(Patient), "__k__": 5})
    with pytest.raises(errors.MissingArgumentError, match="k is missing"):
        type("NoK", (AnonymizedView, UnmappableBase), {"__source__": Patient})
    with Session() as session, pytest.raises(errors.UnmappableViewError, match="not materialized"):
        SafePatient.refresh(session)
