"""Every connection of an engine has the functions: new ones, pooled ones, in every pool and thread."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool, QueuePool, SingletonThreadPool, StaticPool
from support.alchemy_clinic import Base, Patient, fill

from dbanon import errors
from dbanon.integrations.sqlalchemy.connection import raw_connection
from dbanon.sqlalchemy import anonymized, declare_models, install

COUNT = sa.select(sa.func.count()).select_from(anonymized(Patient, k=5, allow_rare=["insured"]))
PART = sa.select(sa.func.count()).select_from(anonymized(sa.select(Patient).where(Patient.age < 60), k=3))


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a file with the clinic, its policy declared."""
    url = f"duckdb:///{tmp_path_factory.mktemp('alchemy') / 'clinic.duckdb'}"
    engine = install(sa.create_engine(url))
    Base.metadata.create_all(engine)
    declare_models(Base, engine)
    fill(engine)
    engine.dispose()
    return url


@pytest.mark.not_everyday
@pytest.mark.parametrize("pool", [QueuePool, NullPool, SingletonThreadPool, StaticPool])
def test_pool_connections_attached_for_every_pool_class(clinic: str, pool: Any) -> None:
    engine = install(sa.create_engine(clinic, poolclass=pool))
    for _ in range(2):
        with Session(engine) as session:
            assert session.scalar(COUNT) == 60
            assert session.scalar(PART) > 0
    if pool in (QueuePool, NullPool):
        with engine.connect() as first, engine.connect() as second:
            assert first.scalar(COUNT) == second.scalar(COUNT) == 60
    engine.dispose()
    with engine.connect() as connection:
        assert connection.scalar(COUNT) == 60
    engine.dispose()


def test_existing_pool_connections_attached_on_checkout(clinic: str) -> None:
    engine = sa.create_engine(clinic)
    with engine.connect() as connection:
        raw_con = raw_connection(connection)
        with pytest.raises(sa.exc.DBAPIError):
            connection.execute(COUNT)
    install(engine)
    with engine.connect() as connection:
        assert raw_connection(connection) is raw_con
        assert connection.scalar(COUNT) == 60
    engine.dispose()


def test_install_twice_returns_same_working_engine(clinic: str) -> None:
    engine = sa.create_engine(clinic)
    assert install(install(engine)) is engine
    with engine.connect() as connection:
        assert connection.scalar(PART) > 0
    engine.dispose()


@pytest.mark.not_everyday
@pytest.mark.parametrize("pool", [QueuePool, NullPool])
def test_engine_threads_get_equal_results(clinic: str, pool: Any) -> None:
    engine = install(sa.create_engine(clinic, poolclass=pool))

    def work(i: int) -> tuple[int, int]:
        with Session(engine) as session:
            return session.scalar(COUNT) or 0, session.scalar(PART) or 0

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(work, range(8)))) == 1
    engine.dispose()


@pytest.mark.not_everyday
def test_engine_works_in_asyncio_threads(clinic: str) -> None:
    engine = install(sa.create_engine(clinic))

    def work() -> int | None:
        with Session(engine) as session:
            return session.scalar(COUNT)

    async def main() -> list[int | None]:
        return await asyncio.gather(*(asyncio.to_thread(work) for _ in range(3)))

    assert asyncio.run(main()) == [60, 60, 60]
    engine.dispose()


def test_engine_supports_in_memory_database() -> None:
    engine = install(sa.create_engine("duckdb:///:memory:"))
    Base.metadata.create_all(engine)
    declare_models(Base, engine)
    fill(engine)
    with Session(engine) as session:
        assert session.scalar(COUNT) == 60
    engine.dispose()


def test_engine_supports_read_only_database(clinic: str) -> None:
    engine = install(sa.create_engine(clinic, connect_args={"read_only": True}))
    with Session(engine) as session:
        assert session.scalar(COUNT) == 60
        assert session.scalar(PART) > 0
    engine.dispose()


def test_install_refuses_engine_that_is_not_duckdb() -> None:
    with pytest.raises(errors.NotADuckDBConnectionError, match="not an engine or connection of DuckDB"):
        install(sa.create_engine("sqlite://"))
    with pytest.raises(errors.NotADuckDBConnectionError):
        install("duckdb:///clinic.duckdb")
    with pytest.raises(errors.NotADuckDBConnectionError):
        raw_connection(object())


def test_missing_sqlalchemy_error_names_extra(tmp_path: Path) -> None:
    (tmp_path / "sqlalchemy.py").write_text("raise ModuleNotFoundError(name='sqlalchemy')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import dbanon; assert 'sqlalchemy' not in sys.modules\n"
        "try:\n    import dbanon.sqlalchemy\nexcept dbanon.DbanonError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "dbanon.sqlalchemy needs sqlalchemy" in done.stdout
    assert "pip install -e '.[sqlalchemy]'" in done.stdout
