"""A clinic in SQLAlchemy: three related tables with roles, and engines that hold them."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from dbanon.sqlalchemy import AnonymizedView, identifier, insensitive, person, quasi, sensitive

Sex = Annotated[str, mapped_column(sa.String(1), info=quasi("sex"))]
Zip = Annotated[str, mapped_column(sa.String(5), info=quasi(weight=2))]


class Base(DeclarativeBase):
    """The tables of the clinic."""


class Ward(Base):
    __tablename__ = "wards"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]


class Patient(Base):
    __tablename__ = "patients"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, info=identifier())
    name: Mapped[str] = mapped_column(info=identifier())
    age: Mapped[int] = mapped_column(info=quasi(top=90))
    sex: Mapped[Sex]
    zip: Mapped[Zip]
    born: Mapped[date] = mapped_column(info=quasi(rounding="year"))
    weight: Mapped[Decimal] = mapped_column(sa.Numeric(5, 1), info=quasi())
    disease: Mapped[str] = mapped_column(info=sensitive())
    insured: Mapped[bool] = mapped_column(info=insensitive())
    note: Mapped[str | None]
    visits: Mapped[list[Visit]] = relationship(back_populates="patient")


class Visit(Base):
    __tablename__ = "visits"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, info=identifier())
    patient_id: Mapped[int] = mapped_column(sa.ForeignKey("patients.id"), info=person())
    ward_id: Mapped[int] = mapped_column(sa.ForeignKey("wards.id"))
    seen: Mapped[datetime] = mapped_column(info=quasi())
    cost: Mapped[float] = mapped_column(info=quasi(rounding=10))
    reason: Mapped[str] = mapped_column(info=sensitive())
    patient: Mapped[Patient] = relationship(back_populates="visits")
    ward: Mapped[Ward] = relationship()


class SafePatient(AnonymizedView, Base):
    __source__ = Patient
    __algorithm__ = "mondrian"
    __k__ = 5
    __parameters__ = {"l": 2}  # noqa: RUF012

    age: Mapped[str]
    class_id: Mapped[int]


class PublishedPatient(AnonymizedView, Base):
    __tablename__ = "published_patients"
    __source__ = Patient
    __k__ = 5
    __materialized__ = True


def patients(count: int, first: int = 1) -> list[Patient]:
    """Return fictitious patients, identical in every run."""
    dice = random.Random(first)
    return [
        Patient(
            id=i,
            name=f"patient {i}",
            age=dice.randint(20, 95),
            sex=dice.choice("MF"),
            zip=dice.choice(["02138", "02139", "02140"]),
            born=date(1950, 1, 1) + timedelta(days=dice.randrange(10_000)),
            weight=Decimal(dice.randrange(500, 1100)) / 10,
            disease=dice.choice(["Flu", "HIV", "Cold"]),
            insured=bool(i % 2),
            note="a note",
        )
        for i in range(first, first + count)
    ]


def fill(engine: Any) -> None:
    """Insert three wards, 60 patients, two visits each."""
    dice = random.Random(0)
    with Session(engine) as session:
        session.add_all([Ward(id=i, name=f"ward {i}") for i in range(3)])
        session.add_all(patients(60))
        session.flush()
        session.add_all(
            Visit(
                id=i,
                patient_id=1 + i % 60,
                ward_id=i % 3,
                seen=datetime(2024, 1, 1) + timedelta(hours=dice.randrange(9000)),
                cost=dice.uniform(10, 300),
                reason=dice.choice(["fall", "cough"]),
            )
            for i in range(120)
        )
        session.commit()
