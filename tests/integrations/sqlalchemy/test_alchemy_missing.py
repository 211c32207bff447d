"""Codes for missing values on the model: written to the policy, read back, and reported where a query has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from dbanon import errors
from dbanon.sqlalchemy import (
    AnonymizedView,
    anonymized,
    declare_models,
    identifier,
    insensitive,
    install,
    metrics,
    policy_from_reflection,
    quasi,
    role_of,
    sensitive,
)


class SurveyBase(DeclarativeBase):
    """A survey."""


class Answer(SurveyBase):
    __tablename__ = "answers"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, info=identifier())
    age: Mapped[int] = mapped_column(info=quasi(missing_codes=[999, "-1"]))
    town: Mapped[str] = mapped_column(info=quasi(missing_codes="NA"))
    vote: Mapped[str] = mapped_column(info=sensitive(missing_codes=["?"]))
    wave: Mapped[str] = mapped_column(info=insensitive(missing_codes=["", "-"]))


class SafeAnswer(AnonymizedView, SurveyBase):
    __source__ = Answer
    __k__ = 4
    __parameters__ = {"missing_codes": ["Oslo", 21]}  # noqa: RUF012


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    result = install(sa.create_engine("duckdb:///:memory:"))
    SurveyBase.metadata.create_all(result)
    with Session(result) as session:
        session.execute(
            sa.text(
                "INSERT INTO answers SELECT i, CASE WHEN i % 8 = 0 THEN 999 ELSE 20 + i % 6 END, "
                "['Rome', 'NA', 'Oslo'][1 + i % 3], ['A', 'B', '?'][1 + i % 3], ['1', '-'][1 + i % 2] "
                "FROM range(60) AS r (i)"
            )
        )
        session.commit()
    yield result
    result.dispose()


def nulls(engine: Any, source: Any) -> Any:
    """Return the number of released values that are NULL, by column."""
    with Session(engine) as session:
        rows = session.execute(sa.select(*(source.c[n] for n in ("age", "town", "vote", "wave")))).all()
    assert len(rows) == 60
    return [sum(row[i] is None for row in rows) for i in range(4)]


def test_declared_policy_has_missing_codes_of_model(engine: Any) -> None:
    with engine.connect() as connection:
        stored = dict(connection.execute(sa.text("SELECT column_name, missing_codes FROM dbanon.policy")).all())  # type: ignore[arg-type]
    assert stored == {"id": None, "age": ["999", "-1"], "town": ["NA"], "vote": ["?"], "wave": ["", "-"]}
    roles = policy_from_reflection(engine, "answers")
    assert roles == {c.name: role_of(c) for c in Answer.__table__.c}
    assert not declare_models(SurveyBase, engine)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE dbanon.policy SET missing_codes = ['NA', 'x'] WHERE column_name = 'town'"))
    drift = declare_models(SurveyBase, engine)
    assert drift.changed == {"answers.town": ("quasi(missing_codes=('NA', 'x'))", "quasi(missing_codes=('NA',))")}


def test_tables_and_queries_use_model_missing_codes(engine: Any) -> None:
    of_table = nulls(engine, anonymized(Answer, k=4))
    assert of_table == nulls(engine, anonymized(sa.select(Answer), k=4))
    assert of_table[2:] == [20, 30]
    extra_parameters: dict[str, Any] = {"town": ["Rome", 5], "vote": ["B"]}
    assert nulls(engine, anonymized(Answer, k=4, missing_codes=extra_parameters))[2:] == [40, 30]
    assert nulls(engine, anonymized(sa.select(Answer), k=4, missing_codes=extra_parameters))[2:] == [40, 30]
    assert nulls(engine, anonymized(Answer, k=4, missing_codes=["B", 21]))[2:] == [40, 30]
    assert nulls(engine, anonymized(sa.select(Answer), k=4, missing_codes=["B", 21]))[2:] == [40, 30]
    counted_metrics = metrics(Answer, k=4)
    with Session(engine) as session:
        value = session.execute(
            sa.select(counted_metrics.c.value).where(counted_metrics.c.metric == "missing_code_records:age")
        ).scalar_one()
    assert value == 8


def test_mapped_view_stores_mixed_missing_code_list(engine: Any) -> None:
    with Session(engine) as session:
        rows = session.execute(sa.select(SafeAnswer)).scalars().all()
    assert len(rows) == 60
    assert {row.town for row in rows} <= {None, "*", "Rome"}


def test_migration_view_definition_has_missing_codes(engine: Any) -> None:
    migration = pytest.importorskip("dbanon.integrations.sqlalchemy.migration")
    with engine.connect() as connection:
        view_definition = migration.view_definition(connection, SafeAnswer.__table__)
    assert view_definition.policy["age"] == {"role": "quasi", "missing_codes": ("999", "-1")}
    source = migration._source_table(view_definition)
    assert {c.name: role_of(c) for c in source.c} == {c.name: role_of(c) for c in Answer.__table__.c}


@pytest.mark.parametrize("codes", [[None], True, [["NA"]]])
def test_invalid_missing_code_refused_on_model(codes: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="missing_codes must be a list of codes"):
        quasi(missing_codes=codes)
