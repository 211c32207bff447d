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

from alembic import command
from alembic.autogenerate import produce_migrations, render_python_code
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.util import CommandError

from dbanon.sqlalchemy import migration


def clinic_base(*, k: int = 2, kept_k: int = 2, view: bool = True) -> type[DeclarativeBase]:
    """Return a table with a plain view and a materialized one."""

    class MigrationBase(DeclarativeBase):
        pass

    class MigrationPatient(MigrationBase):
        __tablename__ = "patients"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        age: Mapped[int] = mapped_column(info=quasi(rounding=10))
        disease: Mapped[str] = mapped_column(info=sensitive())

    if view:

        class Safe(AnonymizedView, MigrationBase):
            __source__ = MigrationPatient
            __k__ = k

        class Kept(AnonymizedView, MigrationBase):
            __source__ = MigrationPatient
            __k__ = kept_k
            __materialized__ = True

    return MigrationBase


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Any]:
    result = install(sa.create_engine(f"duckdb:///{tmp_path / 'clinic.duckdb'}"))
    yield result
    result.dispose()


def proposed_script(
    engine: Any, base: Any, *, upgrade: bool = True, with_include_object: bool = True, **options: Any
) -> str:
    """Return the script that autogenerate writes, without its comments."""
    with engine.connect() as connection:
        parameters = {"include_object": migration.include_object(connection)} if with_include_object else {}
        context = MigrationContext.configure(
            connection, opts={"target_metadata": base.metadata, **parameters, **options}
        )
        script = produce_migrations(context, base.metadata)
        text = str(render_python_code(script.upgrade_ops if upgrade else script.downgrade_ops))
    return "\n".join(line.strip() for line in text.splitlines() if not line.strip().startswith("#"))


def run_script(engine: Any, script: str) -> None:
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


def insert_patients(engine: Any) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO patients SELECT i, 20 + i, 'ab'[1 + i % 2] FROM range(12) AS r (i)"))


def test_migration_creates_replaces_and_drops_views(engine: Any) -> None:
    base = clinic_base()
    first = proposed_script(engine, base)
    assert first.index("op.create_table('patients'") < first.index("op.create_anonymized_view('safe'")
    assert "op.create_anonymized_view('kept', source='patients', algorithm='best', parameters={'k': 2}" in first
    back = proposed_script(engine, base, upgrade=False)
    assert back.index("op.drop_anonymized_view('safe')") < back.index("op.drop_table('patients')")
    assert "op.drop_anonymized_view('kept', materialized=True)" in back

    run_script(engine, first)
    assert proposed_script(engine, base) == "pass"  # the release is deferred until there are rows
    insert_patients(engine)
    second = proposed_script(engine, base)
    assert "op.create_anonymized_view('kept'" in second and "'safe'" not in second
    run_script(engine, second)
    assert rows(engine, "SELECT count(*), count(DISTINCT class_id) < 7 FROM safe") == [(12, True)]
    assert rows(engine, "SELECT count(*) FROM kept") == [(12,)]
    assert rows(engine, "SELECT rounding FROM dbanon.policy WHERE column_name = 'age'") == [("10",)]
    assert proposed_script(engine, base) == "pass"

    n_changed, undo = (
        proposed_script(engine, clinic_base(k=3)),
        proposed_script(engine, clinic_base(k=3), upgrade=False),
    )
    assert "drop" not in n_changed and n_changed.count("op.create_anonymized_view('safe'") == 1
    run_script(engine, n_changed)
    assert proposed_script(engine, clinic_base(k=3)) == "pass"
    assert rows(engine, "SELECT min(n) >= 3 FROM (SELECT count(*) AS n FROM safe GROUP BY class_id)") == [(True,)]
    run_script(engine, undo)
    assert proposed_script(engine, base) == "pass"

    other = proposed_script(engine, clinic_base(kept_k=4))
    assert other.startswith(
        "op.create_anonymized_view('kept', source='patients', algorithm='best', parameters={'k': 4}"
    )

    removed = proposed_script(engine, clinic_base(view=False))
    assert removed == "op.drop_anonymized_view('safe')"
    run_script(engine, removed)
    assert rows(engine, "SELECT count(*) FROM duckdb_views() WHERE view_name = 'safe'") == [(0,)]


@pytest.mark.not_everyday
def test_migration_drops_only_tables_outside_releases(engine: Any) -> None:
    base = clinic_base()
    base.metadata.create_all(engine)
    insert_patients(engine)
    base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE forgotten (a INTEGER)"))
        connection.execute(sa.text("CREATE VIEW mine AS SELECT * FROM kacpc('patients', k := 4)"))
    with engine.connect() as connection, raw_connection(connection).cursor() as cursor:
        cursor.execute("CREATE TABLE others AS SELECT age + 100 AS age FROM patients")
        dbanon.create_release(dbanon.attach(cursor), "by_sql", "mondrian", "others", k=4, qi=["age"])
        cursor.execute("DROP TABLE others")
    without = proposed_script(engine, base, with_include_object=False)
    for name in ("kept", "kept_classes", "by_sql_metrics"):
        assert f"op.drop_table('{name}')" in without
    assert proposed_script(engine, base) == "op.drop_table('forgotten')"
    everywhere = proposed_script(engine, base, include_schemas=True)
    assert "op.drop_table('forgotten'" in everywhere
    assert not any(name in everywhere for name in ("kept", "by_sql", "dbanon", "policy", "mine"))


def test_migration_supports_schemas_and_odd_view_names(engine: Any) -> None:
    class WardBase(DeclarativeBase):
        metadata = sa.MetaData(schema="ward")

    class OddNamedPerson(WardBase):
        __tablename__ = "Odd Persons"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        age: Mapped[int] = mapped_column(info=quasi())

    class SafeOddNamedPerson(AnonymizedView, WardBase):
        __tablename__ = "safe (AS it is)"
        __source__ = OddNamedPerson
        __k__ = 2

    with engine.begin() as connection:
        connection.execute(sa.schema.CreateSchema("ward"))
    first = proposed_script(engine, WardBase, include_schemas=True)
    assert "op.create_anonymized_view('safe (AS it is)'" in first
    run_script(engine, first)
    assert "anonymized" not in proposed_script(engine, WardBase, include_schemas=True)
    with engine.begin() as connection:
        connection.execute(sa.text('DROP VIEW ward."safe (AS it is)"'))
    assert "op.create_anonymized_view('safe (AS it is)'" in proposed_script(engine, WardBase, include_schemas=True)


@pytest.mark.parametrize(
    "operation", ["create_anonymized_view('safe', source='patients')", "drop_anonymized_view('safe')"]
)
def test_offline_migration_fails_with_one_line(tmp_path: Path, operation: str, capsys: Any) -> None:
    """`alembic upgrade --sql`, with the `env.py` of Alembic's own template."""
    folder = tmp_path / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("sqlalchemy.url", "duckdb:///clinic.duckdb")
    (folder / "versions").mkdir(parents=True)
    (folder / "script.py.mako").write_text("")
    (folder / "env.py").write_text(
        "from alembic import context\nfrom dbanon.sqlalchemy import migration\n"
        "context.configure(url=context.config.get_main_option('sqlalchemy.url'), literal_binds=True)\n"
        "with context.begin_transaction():\n    context.run_migrations()\n"
    )
    (folder / "versions" / "one.py").write_text(
        "from alembic import op\nrevision, down_revision = 'one', None\n"
        f"def upgrade():\n    op.execute('CREATE TABLE t (i INT)')\n    op.{operation}\n"
    )
    with pytest.raises(CommandError, match=r"_anonymized_view: safe cannot be written as SQL") as caught:
        command.upgrade(config, "head", sql=True)
    assert isinstance(caught.value.__cause__, dbanon.UsageError)
    assert "CREATE TABLE t (i INT)" in capsys.readouterr().out
