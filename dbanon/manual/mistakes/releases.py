"""Mistakes with releases, files to hand out, the shell and SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator

from dbanon import errors
from dbanon.functions.example import SAFE
from dbanon.functions.registry import table_functions
from dbanon.manual.mistakes.mistake import FEW, Mistake, python, sh, sql
from dbanon.views import statement

_VISITS = (
    FEW,
    "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi'), "
    "('few', 'disease', 'sensitive');",
    "CREATE MATERIALIZED ANONYMIZED VIEW safe_few AS SELECT * FROM kacpc('few', k = 10);",
)
"""A release of few people, without a key."""


def _publishers() -> list[str]:
    return [f.name for f in table_functions().values() if f.kind == "release"]


def releases() -> Iterator[Mistake]:
    """Materialized anonymized views."""
    call = "SELECT * FROM kacpc('patients', k = 10)"
    make = "CREATE MATERIALIZED ANONYMIZED VIEW"
    yield sql(
        errors.UnreadableStatement(statement.CREATE, "AS", "FROM", statement.FORMS[statement.CREATE]),
        f"{make} safe FROM kacpc('patients', k = 10);",
    )
    yield sql(
        errors.NotOneCall("this one does not begin with SELECT * FROM or FROM", _publishers()),
        f"{make} safe AS SELECT zip FROM kacpc('patients', k = 10);",
    )
    yield sql(errors.UnknownRelease("refresh", "saef", ["safe"]), "REFRESH MATERIALIZED ANONYMIZED VIEW saef;", *SAFE)
    yield python(
        errors.UnknownVersion("safe", 7, [(1, "published")]), 'dbanon.forget_release(con, "safe", version=7)', *SAFE
    )
    yield sql(
        errors.ReleaseExists("materialize", "safe", ["safe", "safe_classes", "safe_metrics"], True),
        f"{make} safe AS {call};",
        *SAFE,
    )
    yield sql(
        errors.ForeignRelease("elsewhere.main.safe", "dbanon_demo"),
        f"{make} elsewhere.main.safe AS {call};",
        "ATTACH ':memory:' AS elsewhere;",
    )
    yield sql(
        errors.NoiseNotKept("materialize", "rka", "release = 'noise'"),
        f"{make} noisy AS SELECT * FROM rka('patients', k = 10, release = 'noise');",
    )
    yield sql(
        errors.UnstableSource("safe", "sampled"),
        f"{make} safe AS SELECT * FROM kacpc('sampled', k = 5, qi = ['sex']);",
        "CREATE VIEW sampled AS FROM patients WHERE random() < 0.7;",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('sampled', 'sex', 'quasi');",
    )
    yield sql(errors.OpenTransaction("materialize"), f"{make} safe AS {call};", "BEGIN;")
    yield Mistake(
        errors.Busy("refresh", "safe", "version 1 is not the published one any more"),
        when="It comes when two connections refresh, replace or drop one release at the same time.",
    )
    yield sql(
        errors.DeltaRefused("refresh", "safe_few", 1, ["version 1"]),
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;",
        *_VISITS,
        "DELETE FROM few WHERE patient_number = 100007;",
    )
    yield sql(
        errors.NothingLeftToErase("safe_few"),
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few WITH (erase = true);",
        *_VISITS,
        "DELETE FROM few WHERE patient_number % 2 = 0;",
    )
    yield sql(
        errors.KeepRefused("safe_few", "columns have another role: disease was sensitive and is withheld."),
        "REFRESH MATERIALIZED ANONYMIZED VIEW safe_few;",
        *_VISITS,
        "DELETE FROM dbanon.policy WHERE table_name = 'few' AND column_name = 'disease';",
    )
    yield sql(
        errors.CompositionRefused("by_size", {"by_age version 1": 20}),
        f"{make} by_size WITH (composition = 'refuse') AS SELECT * FROM kacpc('people', k = 5, qi = ['size']);",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, size INTEGER);",
        "INSERT INTO people SELECT i, 20 + i, 150 + i * 7 % 20 FROM range(20) AS r (i);",
        f"{make} by_age AS SELECT * FROM kacpc('people', k = 5, qi = ['age']);",
    )
    yield sql(
        errors.CompositionUnchecked("by_sex", None, {"safe_few version 1": None}),
        f"{make} by_sex WITH (composition = 'refuse') AS SELECT * FROM kacpc('few', k = 5);",
        *_VISITS,
    )
    yield sql(
        errors.CompositionUnknown("composition", "safe_few"), "FROM composition('safe_few', 'safe_few');", *_VISITS
    )


def publishing() -> Iterator[Mistake]:
    """What is given out."""
    yield sql(
        errors.ReleaseChanged("certificate", "safe", "table safe_metrics is missing"),
        "FROM certificate('safe');",
        *SAFE,
        "DROP TABLE safe_metrics;",
    )
    yield python(
        errors.ReleaseUnsealed("publish", "safe"),
        'dbanon.publish(con, "safe", "unsealed.duckdb")',
        *SAFE,
        "UPDATE dbanon.release SET hashes = NULL;",
    )
    yield python(
        errors.TargetExists("out.duckdb", ["out.duckdb"]),
        'dbanon.publish(con, "safe", "out.duckdb")\ndbanon.publish(con, "safe", "out.duckdb")',
        *SAFE,
    )
    yield python(errors.TargetInUse("dbanon_demo.duckdb"), 'dbanon.publish(con, "safe", "dbanon_demo.duckdb")', *SAFE)
    yield Mistake(
        errors.DemoExists("dbanon_demo.duckdb", True),
        when="It comes when `dbanon demo` finds a file where it would make its database.",
    )
    yield python(
        errors.TargetNotLocal("publish", "s3://bucket/safe.csv"),
        'dbanon.publish(con, "safe", "s3://bucket/safe.csv")',
        *SAFE,
    )
    yield Mistake(
        errors.NotWritten("out.duckdb", "the disk is full"),
        when="It comes when the disk is full, or the folder cannot be written.",
    )


def shell() -> Iterator[Mistake]:
    """The shell, and what is not installed."""
    yield Mistake(
        errors.MissingExtra("dbanon.alchemy", "sqlalchemy", "sqlalchemy"),
        when="It comes when something is used that needs a library which is not installed.",
    )
    yield sh(errors.UnknownCommand(".halp", [".help"]), 'dbanon shell -c ".halp"')
    yield sh(errors.UnreadableCommand(".timer maybe", ".timer on|off"), 'dbanon shell -c ".timer maybe"')
    yield sh(errors.UnreadableScript("missing.sql", "No such file or directory"), 'dbanon shell -c ".read missing.sql"')


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


def alchemy() -> Iterator[Mistake]:
    """SQLAlchemy."""
    yield python(
        errors.NotDuckDB("install", "Engine(sqlite://)"),
        'import sqlalchemy as sa\nfrom dbanon.alchemy import install\n\ninstall(sa.create_engine("sqlite://"))',
    )
    yield python(
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
    )
    yield python(
        errors.PersonLeftOut("kacpc", "patients", "patient_number"),
        "import sqlalchemy as sa\n"
        "from dbanon.alchemy import anonymized, person, quasi\n\n"
        'number = sa.Column("patient_number", sa.Integer, info=person())\n'
        'patients = sa.Table("patients", sa.MetaData(), number, sa.Column("zip", sa.String, info=quasi()))\n'
        "anonymized(sa.select(patients.c.zip), k=10)",
    )
    yield python(
        errors.ReadOnlyView("SafePatient"),
        _MODEL + "class SafePatient(AnonymizedView, Base):\n    __source__ = Patient\n    __k__ = 10\n\n\n"
        'with Session(install(sa.create_engine("duckdb:///:memory:"))) as session:\n'
        '    session.add(SafePatient(row_number=1, zip="02138"))\n    session.flush()',
    )
    yield python(
        errors.UnmappableView("SafePatient", "__source__ is missing."),
        _MODEL + "class SafePatient(AnonymizedView, Base):\n    __k__ = 10",
    )
