"""The interpreter exits silently with open objects: DuckDB reports each of its objects that outlives it."""

from __future__ import annotations

import subprocess
import sys

import pytest

MAPPED = """
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from dbanon.sqlalchemy import AnonymizedView, install, quasi

class Base(DeclarativeBase):
    pass

class Patient(Base):
    __tablename__ = "patients"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    age: Mapped[int] = mapped_column(info=quasi())

    def engine(self):
        return engine

class Safe(AnonymizedView, Base):
    __source__ = Patient
    __k__ = 5

engine = install(sa.create_engine("duckdb:///:memory:"))
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all([Patient(id=i, age=i) for i in range(10)])
    session.commit()
session = Session(engine)
print(len(session.scalars(sa.select(Safe)).all()))
"""

FRAMES = """
import sqlalchemy as sa, sqlalchemy.orm
from dbanon.sqlalchemy import install

engine = install(sa.create_engine("duckdb:///:memory:"))
connection = engine.connect()
raw = connection.connection.dbapi_connection
raw.execute("CREATE TABLE patients AS SELECT range AS age FROM range(10)")
print(len(raw.execute("FROM kacpc('patients', k := 5, qi := ['age'])").df()))
"""


@pytest.mark.not_everyday
@pytest.mark.parametrize("script", [MAPPED, FRAMES], ids=["mapped view", "DataFrame of an engine"])
def test_open_engines_end_silently_at_exit(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.endswith("10\n")  # DuckDB shows a progress bar for long statements
    assert done.stderr == ""
