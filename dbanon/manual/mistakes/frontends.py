"""Mistakes in the shell, with SQLAlchemy and with dbt, and what is not installed."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import Mistake, python, sh

_MODEL = (
    "import sqlalchemy as sa\n"
    "from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column\n"
    "from dbanon.alchemy import AnonymizedView, install, quasi\n\n\n"
    "class Base(DeclarativeBase):\n    pass\n\n\n"
    "class Patient(Base):\n"
    '    __tablename__ = "patients"\n'
    "    patient_number: Mapped[int] = mapped_column(primary_key=True)\n"
    '    zip: Mapped[str] = mapped_column(info=quasi("zip5"))\n\n\n'
)

_DECLARED = (
    "import sqlalchemy as sa\n"
    "from dbanon.alchemy import anonymized, declare_models, install, quasi\n\n"
    'people = sa.Table("people", sa.MetaData(), sa.Column("zip", sa.String, info=quasi()))\n'
    'engine = install(sa.create_engine("duckdb:///:memory:"))\n'
    "people.metadata.create_all(engine)\n"
    "declare_models(people.metadata, engine)\n"
    "with engine.connect() as connection:\n"
)

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        errors.MissingExtra("dbanon.alchemy", "sqlalchemy", "sqlalchemy"),
        when="It comes when something is used that needs a library which is not installed.",
    ),
    sh(errors.UnknownCommand(".halp", [".help"]), 'dbanon shell -c ".halp"'),
    sh(errors.UnreadableCommand(".timer maybe", ".timer on|off"), 'dbanon shell -c ".timer maybe"'),
    sh(errors.UnreadableScript("missing.sql", "No such file or directory"), 'dbanon shell -c ".read missing.sql"'),
    python(
        errors.NotDuckDB("install", "Engine(sqlite://)"),
        'import sqlalchemy as sa\nfrom dbanon.alchemy import install\n\ninstall(sa.create_engine("sqlite://"))',
    ),
    python(
        errors.PolicyDrift("kacpc", "people", ["zip"]),
        "import sqlalchemy as sa\n"
        "from dbanon.alchemy import anonymized, install, quasi\n\n"
        'people = sa.Table("people", sa.MetaData(), sa.Column("zip", sa.String, info=quasi()))\n'
        'with install(sa.create_engine("duckdb:///:memory:")).connect() as connection:\n'
        "    people.create(connection)\n"
        '    row = {"t": "people", "c": "zip", "r": "identifier"}\n'
        '    insert = "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES (:t, :c, :r)"\n'
        "    connection.execute(sa.text(insert), row)\n"
        "    connection.execute(sa.select(anonymized(sa.select(people), k=10)))",
    ),
    python(
        errors.PersonLeftOut("kacpc", "patients", "patient_number"),
        "import sqlalchemy as sa\n"
        "from dbanon.alchemy import anonymized, person, quasi\n\n"
        'number = sa.Column("patient_number", sa.Integer, info=person())\n'
        'patients = sa.Table("patients", sa.MetaData(), number, sa.Column("zip", sa.String, info=quasi()))\n'
        "anonymized(sa.select(patients.c.zip), k=10)",
    ),
    python(
        errors.UnmappedTableError("kacpc", "memory.main.people"),
        _DECLARED + '    query = sa.select(sa.table("people", sa.column("zip")))\n'
        '    connection.execute(sa.select(anonymized(query, k=10, qi=["zip"])))',
    ),
    python(
        errors.RepeatedRecordsError("kacpc", "people"),
        _DECLARED + "    query = sa.union_all(sa.select(people), sa.select(people))\n"
        "    connection.execute(sa.select(anonymized(query, k=10)))",
    ),
    python(
        errors.ReadOnlyView("SafePatient"),
        _MODEL + "class SafePatient(AnonymizedView, Base):\n    __source__ = Patient\n    __k__ = 10\n\n\n"
        'with Session(install(sa.create_engine("duckdb:///:memory:"))) as session:\n'
        '    session.add(SafePatient(row_number=1, zip="02138"))\n    session.flush()',
    ),
    python(
        errors.UnmappableView("SafePatient", "__source__ is missing."),
        _MODEL + "class SafePatient(AnonymizedView, Base):\n    __k__ = 10",
    ),
    Mistake(
        errors.ChangedModel("safe_patients", ["k"]),
        when="It comes in dbt, when a model that is materialized as `anonymized` was changed since its last run.",
    ),
    Mistake(
        errors.NoConnection("%dbanon"),
        when="It comes when a notebook runs %dbanon FROM patients before it has a connection.",
    ),
    Mistake(
        errors.UnknownConnection("clinic"),
        when="It comes when a notebook runs %dbanon clinic and has no variable of that name.",
    ),
)
