"""The table of `policy_attempts` in SQLAlchemy: as a mapped class, with SQL views and macros over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from dbanon import attach
from dbanon.integrations.sqlalchemy.connection import raw_connection
from dbanon.sqlalchemy import declare_models, identifier, insensitive, install, person, quasi, sensitive
from support.policy_attempts import clinic


class PolicyBase(DeclarativeBase):
    """The clinic as its policy declares it."""


class PolicyPatient(PolicyBase):
    __tablename__ = "patients"

    name: Mapped[str] = mapped_column(info=identifier())
    pid: Mapped[str] = mapped_column(primary_key=True, info=person())
    age: Mapped[int] = mapped_column(info=quasi(top=90, bottom=18, rounding=10))
    born: Mapped[Any] = mapped_column(sa.Date, info=quasi())
    zip: Mapped[str] = mapped_column(info=quasi("zip5", min_level=1, missing_codes=["00000"]))
    sex: Mapped[str] = mapped_column(info=quasi())
    weight_kg: Mapped[Any] = mapped_column(sa.Numeric(6, 2), info=quasi(rounding=10))
    disease: Mapped[str] = mapped_column(info=sensitive())
    ward: Mapped[str] = mapped_column(primary_key=True, info=insensitive())
    note: Mapped[str]


VIEWS = (
    "CREATE VIEW over_patients AS FROM patients",
    "CREATE VIEW nested AS SELECT name, age FROM over_patients WHERE age > 0",
    "CREATE VIEW renamed AS SELECT name AS disease, age FROM patients",
    "CREATE MACRO all_patients() AS TABLE FROM patients",
    "CREATE MACRO rows_of(t) AS TABLE FROM query_table(t)",
)
"""Views and macros without a policy, over the table with one."""


def public_columns(*names: str) -> list[Any]:
    """Return columns of a Table whose model publishes all."""
    return [sa.Column(name, sa.String, info=quasi() if name == "age" else sensitive()) for name in names]


def clinic_engine(folder: Path) -> Any:
    """Return an engine of a database with the table, its policy and the views."""
    result = install(sa.create_engine(f"duckdb:///{folder / 'clinic.duckdb'}"))
    with result.connect() as connection:
        clinic(attach(raw_connection(connection)))
    with result.begin() as connection:
        for statement in VIEWS:
            connection.execute(sa.text(statement))
    assert not declare_models(PolicyBase, result)
    return result
