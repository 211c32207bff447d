"""Migrations with op.create_anonymized_view refuse parameters that would loosen the policy of their source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from support.alchemy_attempts import clinic_engine, public_columns
from support.policy_attempts import ATTEMPTS, REFUSAL, K
from support.scale import sample_cases

from dbanon import errors

pytest.importorskip("alembic")

from alembic.migration import MigrationContext
from alembic.operations import Operations

from dbanon.sqlalchemy import migration


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    actual_clinic_engine = clinic_engine(tmp_path_factory.mktemp("migrations"))
    yield actual_clinic_engine
    actual_clinic_engine.dispose()


def create_migrated_view(engine: Any, **given: Any) -> None:
    """Run op.create_anonymized_view as a migration does."""
    with engine.begin() as connection:
        context = MigrationContext.configure(connection)
        with context.begin_transaction():
            Operations(context).create_anonymized_view("migrated", **given)  # type: ignore[attr-defined]


OVER_A_VIEW = "FROM mondrian('over_patients', k := 5, qi := ['age'], sensitive := ['name'])"
ROLES = {"name": {"role": "sensitive"}, "age": {"role": "quasi"}}

SPELLED: list[dict[str, Any]] = [
    {"source": "patients"},
    {"source": "PATIENTS"},
    {"source": "patients", "source_schema": "main"},
    {"source": "Patients", "source_schema": "MAIN"},
]


@pytest.mark.parametrize("source", SPELLED, ids=str)
def test_migration_refuses_looser_parameters(engine: Any, source: Any) -> None:
    for attempt in sample_cases(ATTEMPTS, 32):
        with pytest.raises((errors.DbanonError, sa.exc.DBAPIError, duckdb.Error), match=REFUSAL):
            create_migrated_view(engine, **source, algorithm="mondrian", parameters={"k": K, **attempt.parameters})
        with pytest.raises((errors.DbanonError, sa.exc.DBAPIError, duckdb.Error), match=REFUSAL):
            create_migrated_view(
                engine, **source, algorithm="mondrian", parameters={"k": K, **attempt.parameters}, policy=ROLES
            )


@pytest.mark.all_cases
@pytest.mark.parametrize("query", [None, OVER_A_VIEW])
@pytest.mark.parametrize("roles", [{}, ROLES])
def test_migration_of_sql_view_over_policy_refused(engine: Any, query: str | None, roles: Any) -> None:
    parameters = {"k": K, "qi": ["age"], "sensitive": ["name"]}
    with pytest.raises((errors.DbanonError, duckdb.Error), match="has no policy of its own"):
        create_migrated_view(engine, query=query, source="over_patients", parameters=parameters, policy=roles)
    with pytest.raises((errors.DbanonError, duckdb.Error), match="has no policy of its own"), engine.begin() as result:
        result.execute(sa.text("CREATE VIEW unseen AS FROM patients"))  # in the transaction of the migration
        source = sa.Table("unseen", sa.MetaData(), *public_columns("name", "age"))
        migration.view.refuse_derived(result, "create_anonymized_view", source)
