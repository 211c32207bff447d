"""Alembic creates, replaces and drops anonymized views by migrations, and does not take them for tables to drop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import dbanon
from dbanon.integrations.sqlalchemy.connection import raw_connection
from dbanon.sqlalchemy import AnonymizedView, install, quasi, sensitive

pytest.importorskip("alembic")

from alembic.autogenerate import produce_migrations, render_python_code
from alembic.migration import MigrationContext
from alembic.operations import Operations

from dbanon.sqlalchemy import migration


def model(*, k: int = 2, kept: int = 2, view: bool = True) -> type[DeclarativeBase]:
    """Return a table with a plain view and a materialized one."""

    class Base(DeclarativeBase):
        pass

    class Patient(Base):
        __tablename__ = "patients"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        age: Mapped[int] = mapped_column(info=quasi(rounding=10))
        disease: Mapped[str] = mapped_column(info=sensitive())

    if view:

        class Safe(AnonymizedView, Base):
            __source__ = Patient
            __k__ = k

        class Kept(AnonymizedView, Base):
            __source__ = Patient
            __k__ = kept
            __materialized__ = True

    return Base


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Any]:
    result = install(sa.create_engine(f"duckdb:///{tmp_path / 'clinic.duckdb'}"))
    yield result
    result.dispose()


def proposed(engine: Any, base: Any, *, upgrade: bool = True, helped: bool = True, **options: Any) -> str:
    """Return the script that autogenerate writes, without its comments."""
    with engine.connect() as connection:
        parameters = {"include_object": migration.include_object(connection)} if helped else {}
        context = MigrationContext.configure(
            connection, opts={"target_metadata": base.metadata, **parameters, **options}
        )
        script = produce_migrations(context, base.metadata)
        text = str(render_python_code(script.upgrade_ops if upgrade else script.downgrade_ops))
    return "\n".join(line.strip() for line in text.splitlines() if not line.strip().startswith("#"))


def run(engine: Any, script: str) -> None:
    """Run a script as `alembic upgrade` does."""
    with engine.begin() as connection:
        context = MigrationContext.configure(connection)
        space: dict[str, Callable[..., None]] = {}
        exec("def change(op, sa):\n" + "\n".join("    " + line for line in script.splitlines()), space)
        with context.begin_transaction():
            space["change"](Operations(context), sa)


def rows(engine: Any, query: str) -> list[Any]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(query))]


def fill(engine: Any) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO patients SELECT i, 20 + i, 'ab'[1 + i % 2] FROM range(12) AS r (i)"))


def test_a_migration_makes_replaces_and_drops_anonymized_views(engine: Any) -> None:
    base = model()
    first = proposed(engine, base)
    assert first.index("op.create_table('patients'") < first.index("op.create_anonymized_view('safe'")
    assert "op.create_anonymized_view('kept', source='patients', parameters={'k': 2}" in first
    back = proposed(engine, base, upgrade=False)
    assert back.index("op.drop_anonymized_view('safe')") < back.index("op.drop_table('patients')")
    assert "op.drop_anonymized_view('kept', materialized=True)" in back

    run(engine, first)
    assert proposed(engine, base) == "pass"  # the release is deferred until there are rows
    fill(engine)
    second = proposed(engine, base)
    assert "op.create_anonymized_view('kept'" in second and "'safe'" not in second
    run(engine, second)
    assert rows(engine, "SELECT count(*), count(DISTINCT class_id) < 7 FROM safe") == [(12, True)]
    assert rows(engine, "SELECT count(*) FROM kept") == [(12,)]
    assert rows(engine, "SELECT rounding FROM dbanon.policy WHERE column_name = 'age'") == [("10",)]
    assert proposed(engine, base) == "pass"

    n_changed, undo = proposed(engine, model(k=3)), proposed(engine, model(k=3), upgrade=False)
    assert "drop" not in n_changed and n_changed.count("op.create_anonymized_view('safe'") == 1
    run(engine, n_changed)
    assert proposed(engine, model(k=3)) == "pass"
    assert rows(engine, "SELECT min(n) >= 3 FROM (SELECT count(*) AS n FROM safe GROUP BY class_id)") == [(True,)]
    run(engine, undo)
    assert proposed(engine, base) == "pass"

    other = proposed(engine, model(kept=4))
    assert other.startswith("op.create_anonymized_view('kept', source='patients', parameters={'k': 4}")

    removed = proposed(engine, model(view=False))
    assert removed == "op.drop_anonymized_view('safe')"
    run(engine, removed)
    assert rows(engine, "SELECT count(*) FROM duckdb_views() WHERE view_name = 'safe'") == [(0,)]


@pytest.mark.exhaustive
def test_tables_of_releases_are_not_dropped_and_others_are(engine: Any) -> None:
    base = model()
    base.metadata.create_all(engine)
    fill(engine)
    base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE forgotten (a INTEGER)"))
        connection.execute(sa.text("CREATE VIEW mine AS SELECT * FROM kacpc('patients', k := 4)"))
    with engine.connect() as connection, raw_connection(connection).cursor() as cursor:
        cursor.execute("CREATE TABLE others AS SELECT age + 100 AS age FROM patients")
        dbanon.create_release(dbanon.attach(cursor), "by_sql", "mondrian", "others", k=4, qi=["age"])
        cursor.execute("DROP TABLE others")
    without = proposed(engine, base, helped=False)
    for name in ("kept", "kept_classes", "by_sql_metrics"):
        assert f"op.drop_table('{name}')" in without
    assert proposed(engine, base) == "op.drop_table('forgotten')"
    everywhere = proposed(engine, base, include_schemas=True)
    assert "op.drop_table('forgotten'" in everywhere
    assert not any(name in everywhere for name in ("kept", "by_sql", "dbanon", "policy", "mine"))


def test_views_in_schemas_and_with_odd_names(engine: Any) -> None:
    class Base(DeclarativeBase):
        metadata = sa.MetaData(schema="ward")

    class Person(Base):
        __tablename__ = "Odd Persons"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        age: Mapped[int] = mapped_column(info=quasi())

    class SafePerson(AnonymizedView, Base):
        __tablename__ = "safe (AS it is)"
        __source__ = Person
        __k__ = 2

    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema("ward"))
    first = proposed(engine, Base, include_schemas=True)
    assert "op.create_anonymized_view('safe (AS it is)'" in first
    run(engine, first)
    assert "anonymized" not in proposed(engine, Base, include_schemas=True)
    with engine.begin() as connection:
        connection.execute(sa.text('DROP VIEW ward."safe (AS it is)"'))
    assert "op.create_anonymized_view('safe (AS it is)'" in proposed(engine, Base, include_schemas=True)
