"""Anonymized tables, classes and queries are FROM elements like any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import CacheStats
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from support.alchemy_clinic import Base, Patient, Visit, Ward, fill, patients

from dbanon import errors
from dbanon.algorithms import algorithms
from dbanon.sqlalchemy import (
    anonymized,
    classes,
    declare_models,
    identifier,
    install,
    metrics,
    quasi,
    sensitive,
)

ALGORITHMS = [a.name for a in algorithms()]


@pytest.fixture(scope="module", params=["file", "memory"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Create the clinic."""
    file = tmp_path_factory.mktemp("alchemy") / "clinic.duckdb"
    result = install(sa.create_engine(f"duckdb:///{file}" if request.param == "file" else "duckdb:///:memory:"))
    Base.metadata.create_all(result)
    declare_models(Base, result)
    fill(result)
    yield result
    result.dispose()


@pytest.fixture
def session(engine: Any) -> Iterator[Session]:
    with Session(engine) as open_session:
        yield open_session


def rows(session: Session, source: Any) -> list[Any]:
    return list(session.execute(sa.select(source)).all())


# --- columns ------------------------------------------------------------------------------------------------


def bound_columns(session: Session, call: str) -> list[str]:
    """Return the columns that DuckDB binds for a call."""
    return [row[0] for row in session.execute(sa.text(f"DESCRIBE FROM {call}"))]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ending", ["", "_classes", "_metrics"])
def test_columns_match_database(session: Session, algorithm: str, ending: str) -> None:
    make = {"": anonymized, "_classes": classes, "_metrics": metrics}[ending]
    for intervals in ("text", "bounds", "struct"):
        for patient in (Patient, Visit):
            text = f"k := 4, intervals := '{intervals}'"
            names = bound_columns(session, f"{algorithm}{ending}('{patient.__tablename__}', {text})")
            for source in (patient, sa.select(patient)):
                assert [c.name for c in make(source, algorithm, k=4, intervals=intervals).c] == names
            result = make(patient, algorithm, k=4, intervals=intervals, suppress=0.1)
            names = bound_columns(session, f"{algorithm}{ending}('{patient.__tablename__}', {text}, suppress := 0.1)")
            assert [c.name for c in result.c] == names


@pytest.mark.not_everyday
@pytest.mark.parametrize("make", [anonymized, classes, metrics])
def test_query_of_whole_table_equals_table(session: Session, make: Any) -> None:
    assert rows(session, make(Patient, k=4)) == rows(session, make(sa.select(Patient), k=4))


def test_selectable_column_types_match_published_values(session: Session) -> None:
    text = anonymized(Patient, k=5)
    assert {c.name: type(c.type) for c in text.c} == {
        "age": sa.String, "sex": sa.String, "zip": sa.String, "born": sa.String, "weight": sa.String,
        "disease": sa.String, "insured": sa.Boolean, "class_id": sa.BigInteger,
    }  # fmt: skip
    bounds = anonymized(Patient, k=5, intervals="bounds")
    assert type(bounds.c.age_min.type) is sa.Integer
    assert type(bounds.c.born_max.type) is sa.Date
    assert type(bounds.c.weight_min.type) is sa.Numeric
    for actual_bounds in (bounds, classes(Patient, k=5), classes(Visit, k=5, intervals="bounds")):
        row = rows(session, actual_bounds)[0]
        for column, value in zip(actual_bounds.c, row, strict=True):
            try:
                kind = column.type.python_type
            except NotImplementedError:
                continue
            assert value is None or isinstance(value, kind), column
    ages = session.scalars(sa.select(bounds.c.age_max - bounds.c.age_min))
    assert all(isinstance(a, int) for a in ages)


# --- use ----------------------------------------------------------------------------------------------------


def test_every_parameter_is_reachable_and_bound(session: Session) -> None:
    result = anonymized(
        Patient, "mondrian", k=5, l=2, t=0.9, qi=[Patient.age, "ZIP"], weights={Patient.age: 2, "zip": 3},
        hierarchies={"zip": "02138;021**;*\n02139;021**;*\n02140;021**;*"}, top={"age": 85}, nulls="drop",
        suppress=0.05, withhold=["insured"], rounding={"age": 5},
    )  # fmt: skip
    compiled = sa.select(result).compile(session.get_bind())
    assert "k := $" in str(compiled) and "'patients'" in str(compiled)
    assert "02138" not in str(compiled)
    got = rows(session, result)
    assert len(got) >= 57
    assert [c.name for c in result.c] == ["age", "zip", "disease", "class_id"]
    literal = sa.select(result).compile(session.get_bind(), compile_kwargs={"literal_binds": True})
    assert session.execute(sa.text(str(literal).replace(":", r"\:"))).all() == got


def test_selectable_joins_and_nests(session: Session) -> None:
    result, groups = anonymized(Patient, k=6), classes(Patient, k=6)
    joined_has_all = session.execute(
        sa.select(result.c.class_id, groups.c.size, sa.func.count())
        .join(groups, groups.c.class_id == result.c.class_id)
        .group_by(result.c.class_id, groups.c.size)
    ).all()
    assert joined_has_all and all(size == count >= 6 for _, size, count in joined_has_all)
    inner = sa.select(result.c.disease).where(result.c.class_id == 1).subquery()
    assert session.scalar(sa.select(sa.func.count()).select_from(inner)) >= 6
    cte = sa.select(result.c.disease, sa.func.count().label("n")).group_by(result.c.disease).cte("diseases")
    assert session.scalar(sa.select(sa.func.sum(cte.c.n))) == 60
    first, second = result.alias("a"), anonymized(Patient, k=6).alias("b")
    both = sa.select(sa.func.count()).select_from(first).join(second, first.c.class_id == second.c.class_id)
    assert session.scalar(both) == sum(count * count for _, _, count in joined_has_all)
    known_array = sa.select(Patient.disease).where(Patient.disease.in_(sa.select(result.c.disease)))
    assert len(session.scalars(known_array).all()) == 60


def test_insert_from_select_stores_release(session: Session) -> None:
    table = sa.Table(
        "given_out", sa.MetaData(), sa.Column("age", sa.String), sa.Column("disease", sa.String), prefixes=["TEMP"]
    )
    table.create(session.connection())
    for source in (Patient, sa.select(Patient)):
        result = anonymized(source, k=6)
        session.execute(table.insert().from_select(["age", "disease"], sa.select(result.c.age, result.c.disease)))
    assert session.scalar(sa.select(sa.func.count()).select_from(table)) == 120
    session.rollback()


@pytest.mark.parametrize("source", [Patient, sa.select(Patient).where(Patient.age > 25)])
def test_equal_statements_use_compiled_cache(engine: Any, source: Any) -> None:
    hits: list[Any] = []

    def note(conn: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if "best_classes(" in statement:
            hits.append(context.cache_hit)

    sa.event.listen(engine, "before_cursor_execute", note)
    with Session(engine) as session:
        sizes = []
        for k in (4, 5, 9):
            group = classes(source, k=k, suppress=0.01)
            sizes.append(session.scalar(sa.select(sa.func.min(group.c.size))) or 0)
    sa.event.remove(engine, "before_cursor_execute", note)
    assert hits[1:] == [CacheStats.CACHE_HIT, CacheStats.CACHE_HIT]
    assert all(size >= k for size, k in zip(sizes, (4, 5, 9), strict=True))


def test_cached_statements_distinguish_parameters_and_columns(session: Session) -> None:
    for _ in range(2):
        assert next(iter(session.execute(sa.select(anonymized(Patient, k=5, qi=["age"]))).keys())) == "age"
        assert next(iter(session.execute(sa.select(anonymized(Patient, k=5, qi=["zip"]))).keys())) == "zip"
        assert "cost" in session.execute(sa.select(anonymized(Visit, k=5))).keys()  # noqa: SIM118
        assert len(rows(session, anonymized(Patient, k=5, nulls="keep"))) == 60


ODD = ["my table", "it's", 'a"b', "50%", "a.b", "x:y", "$1", "Ä", "%(x)s", "select"]


@pytest.mark.parametrize("name", ODD)
def test_selectable_accepts_odd_table_and_column_names(engine: Any, name: str) -> None:
    metadata = sa.MetaData()
    table = sa.Table(name, metadata, sa.Column(f"the {name}", sa.Integer, info=quasi()))
    metadata.create_all(engine)
    declare_models(metadata, engine)
    with Session(engine) as session:
        session.execute(table.insert(), [{f"the {name}": i} for i in range(6)])
        session.commit()
        assert len(rows(session, anonymized(table, k=3))) == 6
        assert len(rows(session, anonymized(sa.select(table), k=3))) == 6
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM dbanon.policy WHERE table_name = :name"), {"name": name})
    metadata.drop_all(engine)


def test_schema_translate_map_selects_schema(tmp_path: Path) -> None:
    metadata = sa.MetaData()
    table = sa.Table("people", metadata, sa.Column("age", sa.Integer, info=quasi()))
    engine = install(sa.create_engine(f"duckdb:///{tmp_path / 'tenants.duckdb'}"))
    for tenant, count in (("north", 4), ("south", 6)):
        execution_options = engine.execution_options(schema_translate_map={None: tenant})
        with execution_options.begin() as connection:
            connection.execute(sa.schema.CreateSchema(tenant))
            metadata.create_all(connection)
            connection.execute(table.insert(), [{"age": i} for i in range(count)])
        assert declare_models(metadata, execution_options).added == ("people.age",)
    for tenant, count in (("north", 4), ("south", 6), ("north", 4)):
        execution_options = engine.execution_options(schema_translate_map={None: tenant})
        with execution_options.connect() as connection:
            for source in (table, sa.select(table)):
                assert len(connection.execute(sa.select(anonymized(source, k=2))).all()) == count
    engine.dispose()


# --- queries ------------------------------------------------------------------------------------------------


def test_query_anonymized_in_session_transaction(session: Session) -> None:
    old = sa.select(Patient).where(Patient.age >= sa.bindparam("least"))
    result = anonymized(old, k=3, l=2)
    statement = sa.select(result.c.age, result.c.class_id)
    old_count = len(session.execute(statement, {"least": 40}).all())
    assert old_count == session.scalar(sa.select(sa.func.count()).where(Patient.age >= 40))
    session.add_all(patients(3, first=1000))
    session.flush()
    assert len(session.execute(statement, {"least": 0}).all()) == 63
    session.rollback()
    assert len(session.execute(statement, {"least": 0}).all()) == 60


def test_query_keeps_column_roles(session: Session) -> None:
    query = (
        sa.select(Patient.age.label("years"), Patient.name, Patient.disease, Visit.patient_id, sa.func.upper(Ward.name))
        .join(Visit, Visit.patient_id == Patient.id)
        .join(Ward, Ward.id == Visit.ward_id)
    )
    result = anonymized(query, k=5)
    assert [c.name for c in result.c] == ["years", "disease", "class_id"]
    assert len(rows(session, result)) == 120
    assert min(r.persons for r in rows(session, classes(query, k=5))) >= 5
    union = sa.union_all(*(sa.select(Visit.cost, Visit.patient_id).where(Visit.ward_id == i) for i in range(3)))
    assert len(rows(session, anonymized(union, k=5))) == 120
    assert min(r.persons for r in rows(session, classes(union, k=5))) >= 5


def test_persons_counted_by_model_column() -> None:
    with pytest.raises(errors.PersonColumnNotSelectedError, match=r"visits\.patient_id"):
        anonymized(sa.select(Visit.seen, Visit.reason), k=5)


def test_query_tightens_but_never_loosens_roles() -> None:
    query = sa.select(Patient)
    anonymized(query, k=5, top={"age": 80}, withhold=["zip"])
    for loose in (
        {"sensitive": ["name"]},
        {"top": {"age": 95}},
        {"insensitive": ["zip"]},
        {"rounding": {"born": "month"}},
    ):
        with pytest.raises(errors.LoosensPolicyError):
            anonymized(query, k=5, **loose)


def test_expression_without_role_refused_with_remedy(session: Session) -> None:
    query = sa.select(Patient.age, Patient.disease, sa.func.upper(Patient.zip).label("region"))
    with pytest.raises(errors.DbanonError, match=r"region of the query has no role.* Hint: .*select it unchanged"):
        session.execute(sa.select(anonymized(query, k=5, qi=["age", "region"]))).all()


def test_coarsen_replaces_model_grid_never_loosens(session: Session) -> None:
    for source in (Patient, sa.select(Patient.born)):
        result = anonymized(source, k=5, coarsen={"born": "decade"})
        ends = {end for born in session.scalars(sa.select(result.c.born)) for end in born.strip("[]").split(", ")}
        assert {end[3:] for end in ends} <= {"0", "9"}, "the years that begin and end decades"
    with pytest.raises(errors.LoosensPolicyError):
        anonymized(sa.select(Patient.born), k=5, coarsen={"born": "month"})


def test_query_refused_if_database_policy_is_stricter(engine: Any) -> None:
    result = anonymized(sa.select(Patient.age, Patient.zip), k=5)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'zip'"))
    with Session(engine) as session, pytest.raises(errors.PolicyDriftError, match=r"patients: 'zip'"):
        rows(session, result)
    assert declare_models(Base, engine).changed.keys() == {"patients.zip"}
    with Session(engine) as session:
        assert len(rows(session, result)) == 60


def test_temporary_query_rows_dropped_after_transaction(engine: Any) -> None:
    kept_text = sa.text("SELECT count(*) FROM duckdb_tables() WHERE temporary AND table_name LIKE 'dbanon%'")
    result = anonymized(sa.select(Patient), k=5)
    with Session(engine) as session:
        for _ in range(3):
            rows(session, result)
            assert session.scalar(kept_text) == 1
        session.commit()
        assert session.scalar(kept_text) == 0
        rows(session, result)
        session.rollback()
        assert session.scalar(kept_text) == 0
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.select(result)).all()
    with engine.connect() as connection:
        assert connection.scalar(kept_text) == 0


def test_two_queries_combine_and_nest(session: Session) -> None:
    young, old = (anonymized(sa.select(Patient).where(w), k=3) for w in (Patient.age < 60, Patient.age >= 60))
    both = sa.union_all(sa.select(young.c.age), sa.select(old.c.age))
    assert len(session.execute(both).all()) == 60
    nested = anonymized(sa.select(young.c.disease), k=2, qi=["disease"])
    assert len(rows(session, nested)) == len(rows(session, young))


def test_results_read_while_others_execute(session: Session) -> None:
    result = anonymized(sa.select(Patient), k=5)
    first = session.execute(sa.select(result))
    assert first.fetchone() is not None
    assert len(rows(session, result)) == 60
    assert len(first.fetchall()) == 59


def test_single_table_subclass_releases_only_its_rows(engine: Any) -> None:
    class StaffBase(DeclarativeBase):
        pass

    class StaffMember(StaffBase):
        __tablename__ = "persons"
        id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
        age: Mapped[int] = mapped_column(info=quasi())
        kind: Mapped[str]
        __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "person"}  # noqa: RUF012

    class Nurse(StaffMember):
        __mapper_args__ = {"polymorphic_identity": "nurse"}  # noqa: RUF012

    StaffBase.metadata.create_all(engine)
    declare_models(StaffBase, engine)
    with Session(engine) as session:
        session.add_all([(Nurse if i % 2 else StaffMember)(id=i, age=i) for i in range(12)])
        session.commit()
        assert len(rows(session, anonymized(StaffMember, k=2))) == 12
        assert len(rows(session, anonymized(Nurse, k=2))) == 6
    StaffBase.metadata.drop_all(engine)


# --- mistakes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [anonymized, classes, metrics])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, errors.MissingArgumentError, "k is missing"),
        ({"k": 1}, errors.InvalidArgumentError, "k must be"),
        ({"k": "ten"}, errors.InvalidArgumentError, "k must be"),
        ({"k": 5, "kk": 1}, errors.UnknownParameterError, "no parameter 'kk'"),
        ({"k": 5, "qi": ["agee"]}, errors.UnknownColumnError, "Did you mean 'age'"),
        ({"k": 5, "top": {"agee": 1}}, errors.UnknownColumnError, "agee"),
        ({"k": 5, "top": {"zip": 1}}, errors.UnsupportedSettingError, "category"),
        ({"k": 5, "qi": ["age"], "sensitive": ["age"]}, errors.ConflictingRolesError, "two roles"),
        ({"k": 5, "sensitive": ["name"]}, errors.LoosensPolicyError, "loosen"),
        ({"k": 5, "c": 2}, errors.UnusedArgumentError, "c has no effect"),
        ({"k": 5, "intervals": "both"}, errors.InvalidArgumentError, "intervals must be"),
    ],
)
def test_invalid_arguments_raise_when_statement_is_built(make: Any, arguments: Any, error: Any, message: str) -> None:
    for source in (Patient, Patient.__table__, sa.select(Patient)):
        with pytest.raises(error, match=message):
            make(source, "kacpc", **arguments)


def test_invalid_source_or_algorithm_refused() -> None:
    with pytest.raises(errors.UnknownAlgorithmError, match="Did you mean 'kacpc'"):
        anonymized(Patient, "kacp", k=5)
    for source in ("patients", 5, None, Patient.age):
        with pytest.raises(errors.InvalidArgumentError, match="a mapped class, a Table or a SELECT"):
            anonymized(source, k=5)
    with pytest.raises(errors.PolicyMissingError):
        anonymized(Ward, k=5)
    with pytest.raises(errors.ConflictingRolesError):
        anonymized(sa.union_all(sa.select(Patient.name), sa.select(Patient.disease)), k=5)


@pytest.mark.not_everyday
def test_influence_weights_accepted_for_tables_and_queries(session: Session) -> None:
    pytest.importorskip("sklearn", reason="influence needs the extra learn")
    of_table = rows(session, anonymized(Patient, "kacpc", k=4, weights="influence"))
    assert len(of_table) == len(rows(session, anonymized(Patient, k=4)))
    query = sa.select(Patient.age, Patient.sex, Patient.disease)
    by_influence = rows(session, anonymized(query, "kacpc", k=4, weights="influence"))
    assert len(by_influence) == len(of_table)


@pytest.mark.not_everyday
def test_influence_weights_equal_for_query_and_table(session: Session) -> None:
    pytest.importorskip("sklearn", reason="influence needs the extra learn")

    class WeightedBase(DeclarativeBase):
        pass

    class WeightedPatient(WeightedBase):
        __tablename__ = "weighed"
        number: Mapped[int] = mapped_column(primary_key=True, info=identifier())
        age: Mapped[int] = mapped_column(info=quasi(weight=2))
        disease: Mapped[str] = mapped_column(info=sensitive())

    WeightedBase.metadata.create_all(session.connection())
    session.execute(sa.text("INSERT INTO weighed SELECT i, 20 + i, ['Flu', 'Cold'][1 + i % 2] FROM range(20) AS r(i)"))
    session.commit()
    declare_models(WeightedBase, session.get_bind())  # type: ignore[arg-type]
    of_table = rows(session, anonymized(WeightedPatient, k=3, weights="influence"))
    assert rows(session, anonymized(sa.select(WeightedPatient), k=3, weights="influence")) == of_table
