"""The policy is declared once, on the model, and written, compared and read back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from support.alchemy_clinic import Base, Patient, Zip, fill

from dbanon import errors
from dbanon.source.stored_policy import Settings
from dbanon.sqlalchemy import (
    Role,
    anonymized,
    declare_models,
    identifier,
    install,
    policy_from_reflection,
    quasi,
    role_of,
    sensitive,
)


@pytest.fixture
def engine() -> Iterator[Any]:
    """Create the clinic's tables in memory, without a policy."""
    result = install(sa.create_engine("duckdb:///:memory:"))
    for table in Base.metadata.sorted_tables:
        table.create(result)
    yield result
    result.dispose()


def execute_statement(engine: Any, statement: str) -> Any:
    with engine.begin() as connection:
        result = connection.execute(sa.text(statement))
        return result.all() if result.returns_rows else None


def test_declare_models_twice_writes_policy_once(engine: Any) -> None:
    first = declare_models(Base, engine)
    assert {"patients.age", "visits.patient_id"} <= set(first.added)
    assert first.without_role == ("patients.note", "visits.ward_id")
    assert first and not first.changed and not first.removed
    previous = execute_statement(engine, "FROM dbanon.policy ORDER BY ALL")
    second_models = declare_models(Base.registry, engine)
    assert not second_models and second_models.without_role == first.without_role
    assert execute_statement(engine, "FROM dbanon.policy ORDER BY ALL") == previous
    assert ("patients", "zip", "quasi", 2.0) in [(r[0], r[1], r[2], r[4]) for r in previous]
    assert not {r[0] for r in previous} & {"wards", "safe_patient"}
    assert execute_statement(engine, "FROM policy_problems()") == []


def test_declare_models_reports_and_repairs_drift(engine: Any) -> None:
    declare_models(Base, engine)
    execute_statement(engine, "UPDATE dbanon.policy SET top = '80' WHERE column_name = 'age'")
    execute_statement(engine, "DELETE FROM dbanon.policy WHERE column_name = 'zip'")
    execute_statement(
        engine,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('main.patients', 'NOTE', 'insensitive')",
    )
    seen_models = declare_models(Base, engine, write=False)
    assert seen_models.added == ("patients.zip",)
    assert seen_models.changed == {"patients.age": ("quasi(top=80)", "quasi(top=90)")}
    assert seen_models.removed == ("patients.NOTE",)
    assert declare_models(Base.metadata, engine) == seen_models
    assert not declare_models(Base, engine)


def test_declare_models_writes_nothing_if_table_is_missing(engine: Any) -> None:
    execute_statement(engine, "DROP TABLE visits")
    with pytest.raises(errors.UnknownTableError, match="visits"):
        declare_models(Base, engine)
    assert execute_statement(engine, "FROM dbanon.policy") == []


def test_declare_models_names_column_missing_in_table(engine: Any) -> None:
    execute_statement(engine, "DROP TABLE visits")
    execute_statement(engine, "CREATE TABLE visits (id INTEGER)")
    with pytest.raises(errors.UnknownColumnError, match="patient_id"):
        declare_models(Base, engine)


def test_policy_from_reflection_restores_model_roles(engine: Any) -> None:
    declare_models(Base, engine)
    roles = policy_from_reflection(engine, "patients")
    assert roles == {c.name: role_of(c) for c in Patient.__table__.c if role_of(c)}
    table = sa.Table("patients", sa.MetaData(), autoload_with=engine)
    assert policy_from_reflection(engine, table) == roles
    assert role_of(table.c.age) is None
    policy_from_reflection(engine, table, set_info=True)
    policy_from_reflection(engine, table, set_info=True)
    assert {c.name: role_of(c) for c in table.c if role_of(c)} == roles
    fill(engine)
    with Session(engine) as session:
        rows = session.execute(sa.select(anonymized(table, k=5))).all()
    assert len(rows) == 60


def test_annotated_type_role_applies_to_every_column() -> None:
    class ReusedRoleBase(DeclarativeBase):
        pass

    class ReusedRoleModel(ReusedRoleBase):
        __tablename__ = "two"
        id: Mapped[int] = mapped_column(primary_key=True)
        home: Mapped[Zip]
        work: Mapped[Zip] = mapped_column("work_zip", index=True)

    expected = Role("quasi", Settings(weight=2.0))
    assert [role_of(c) for c in ReusedRoleModel.__table__.c] == [None, expected, expected]


def test_column_with_two_roles_raises() -> None:
    class ConflictingRoleBase(DeclarativeBase):
        pass

    class ConflictingRoleModel(ConflictingRoleBase):
        __tablename__ = "two"
        id: Mapped[int] = mapped_column(primary_key=True)
        zip: Mapped[Zip] = mapped_column(info=identifier())

    with pytest.raises(errors.ConflictingRolesError, match=r"two\.zip"):
        role_of(ConflictingRoleModel.__table__.c.zip)


@pytest.mark.parametrize(
    "mistake",
    [{"weight": 0}, {"weight": "heavy"}, {"min_level": -1}, {"max_level": 1.5}, {"rounding": [5]}, {"hierarchy": ""}],
)
def test_invalid_settings_raise_where_declared(mistake: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=f"quasi: {next(iter(mistake))} must be"):
        quasi(**mistake)


def test_settings_stored_as_in_policy() -> None:
    def single_role(column_info: dict[Any, Any]) -> Role:
        return next(iter(column_info))

    assert single_role(quasi(top=date(2020, 1, 2))).settings.top == "2020-01-02"
    assert single_role(quasi(bottom=Decimal("1.50"), rounding="year")).settings == Settings(
        bottom="1.50", rounding="year"
    )
    assert single_role(sensitive("icd10")).settings.hierarchy == "icd10"
    assert str(single_role(quasi("zip5", 2))) == "quasi(hierarchy=zip5, weight=2.0)"
    assert {"doc": "text", **quasi()}["doc"] == "text"
