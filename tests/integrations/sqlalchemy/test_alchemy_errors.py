"""Errors of dbanon are raised by their own classes through SQLAlchemy; `install` keeps the type of the engine."""

from __future__ import annotations

import typing
from collections.abc import Iterator

import duckdb
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

import dbanon
from dbanon import errors
from dbanon.errors import exit_codes
from dbanon.sqlalchemy import install


@pytest.fixture(scope="module")
def engine() -> Iterator[sa.Engine]:
    engine = install(sa.create_engine("duckdb:///:memory:"))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t AS SELECT i AS age FROM range(20) r(i)"))
    yield engine
    engine.dispose()


@pytest.mark.parametrize(
    ("call", "error_class", "base"),
    [
        ("mondrian('t', k := 50, qi := ['age'])", errors.KOutOfRangeError, dbanon.RefusedError),
        ("mondrian('t', k = 5, qi = ['age'], kk = 4)", errors.UnknownParameterError, dbanon.UsageError),
        ("mondrian('absent', k := 5)", errors.UnknownTableError, dbanon.DbanonError),
        ("certificate('absent')", errors.UnknownReleaseError, dbanon.DbanonError),
        ("refresh_problems('absent')", errors.UnknownReleaseError, dbanon.DbanonError),
    ],
)
def test_error_is_raised_by_its_class(
    engine: sa.Engine, call: str, error_class: type[Exception], base: type[Exception]
) -> None:
    with engine.connect() as connection, pytest.raises(error_class) as caught:
        connection.execute(sa.text(f"FROM {call}")).all()
    assert isinstance(caught.value, base) and isinstance(caught.value.__cause__, duckdb.Error)
    with Session(engine) as session:
        with pytest.raises(base):
            session.execute(sa.text(f"FROM {call}")).all()
        session.rollback()
        assert session.scalar(sa.text("SELECT 1")) == 1


@pytest.mark.parametrize("flags", [{}, {"is_stream": True}, {"is_several": True}])
def test_every_unknown_release_message_recognized(flags: dict[str, bool]) -> None:
    message = str(errors.UnknownReleaseError("certificate", "safe", ["sage"], **flags))
    recognized = exit_codes.recognized_error(duckdb.InvalidInputException(f"Invalid Input Error: {message}"))
    assert type(recognized) is errors.UnknownReleaseError
    assert str(recognized) == message


def test_errors_of_duckdb_stay_those_of_sqlalchemy(engine: sa.Engine) -> None:
    with engine.connect() as connection, pytest.raises(sa.exc.ProgrammingError, match="absent"):
        connection.execute(sa.text("FROM absent"))


def test_install_returns_type_of_engine(engine: sa.Engine) -> None:
    hints = typing.get_type_hints(install)
    assert isinstance(hints["engine"], typing.TypeVar) and hints["return"] is hints["engine"]
    assert install(engine) is engine
