"""Errors of the shell, optional libraries, SQLAlchemy, notebooks and dbt."""

from collections.abc import Collection

from dbanon.errors.base import DbanonError, RefusedError, UsageError, did_you_mean
from dbanon.errors.example import Example, Situation

_MODEL = (
    "import sqlalchemy as sa\n"
    "from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column\n"
    "from dbanon.sqlalchemy import AnonymizedView, install, quasi\n\n\n"
    "class Base(DeclarativeBase):\n    pass\n\n\n"
    "class Patient(Base):\n"
    '    __tablename__ = "patients"\n'
    "    patient_number: Mapped[int] = mapped_column(primary_key=True)\n"
    '    zip: Mapped[str] = mapped_column(info=quasi("zip5"))\n\n\n'
)

_DECLARED = (
    "import sqlalchemy as sa\n"
    "from dbanon.sqlalchemy import anonymized, declare_models, install, quasi\n\n"
    'people = sa.Table("people", sa.MetaData(), sa.Column("zip", sa.String, info=quasi()))\n'
    'engine = install(sa.create_engine("duckdb:///:memory:"))\n'
    "people.metadata.create_all(engine)\n"
    "declare_models(people.metadata, engine)\n"
    "with engine.connect() as connection:\n"
)


class MissingExtraError(DbanonError):
    """A library of an optional extra that is not installed."""

    message = (
        "{what} needs {library}, which is not installed. Hint: in the clone of dbanon, pip install -e '.[{extra}]'."
    )
    example = Situation(
        "It is raised when you use something that needs a library which is not installed.",
        ("dbanon.sqlalchemy", "sqlalchemy", "sqlalchemy"),
    )


class UnknownCommandError(DbanonError):
    """A dot command, or a topic of .help, that the shell does not have."""

    example = Example('dbanon shell -c ".halp"', language="sh")

    def __init__(self, name: str, commands: Collection[str]) -> None:
        """Build the message, with the most similar of `commands` as a hint."""
        super().__init__(
            f"{name}: there is no such command, function or metric.{did_you_mean(name, commands)} Hint: .help lists "
            "them."
        )


class UnreadableCommandError(DbanonError):
    """A dot command with an argument that it does not accept."""

    message = "{line}: cannot be read. Accepted: {accepts}."
    example = Example('dbanon shell -c ".timer maybe"', language="sh")


class UnreadableScriptError(DbanonError):
    """A file for .read that cannot be read."""

    message = ".read {path}: {why}."
    example = Example('dbanon shell -c ".read missing.sql"', language="sh")


class NotADuckDBConnectionError(DbanonError):
    """An engine or connection of another database system."""

    message = (
        "{function}: {got} is not an engine or connection of DuckDB. Hint: create_engine('duckdb:///file.duckdb')."
    )
    example = Example(
        'import sqlalchemy as sa\nfrom dbanon.sqlalchemy import install\n\ninstall(sa.create_engine("sqlite://"))',
        language="python",
    )


class PolicyDriftError(DbanonError):
    """A model whose roles differ from those in the database."""

    message = (
        "{function}: the model and dbanon.policy differ about {table}: {columns:names}. Hint: declare_models(Base, "
        "engine) writes the roles of the model; policy_from_reflection shows those of the database."
    )
    example = Example(
        "import sqlalchemy as sa\n"
        "from dbanon.sqlalchemy import anonymized, install, quasi\n\n"
        'people = sa.Table("people", sa.MetaData(), sa.Column("zip", sa.String, info=quasi()))\n'
        'with install(sa.create_engine("duckdb:///:memory:")).connect() as connection:\n'
        "    people.create(connection)\n"
        '    row = {"t": "people", "c": "zip", "r": "identifier"}\n'
        '    insert = "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES (:t, :c, :r)"\n'
        "    connection.execute(sa.text(insert), row)\n"
        "    connection.execute(sa.select(anonymized(sa.select(people), k=10)))",
        language="python",
    )


class ConnectionNotAttachedError(UsageError):
    """A connection of DuckDB that has no functions of dbanon."""

    message = (
        "dbanon is not attached to the connection ({got}). Hint: call dbanon.attach(connection) once, or open the "
        "database with dbanon.connect."
    )
    example = Example('import duckdb\n\ndbanon.risk(duckdb.connect(), "patients")', language="python")


class PersonColumnNotSelectedError(RefusedError):
    """A query without the person column, so that records would be counted instead of persons."""

    message = (
        "{function}: the query does not select {table}.{column}, which identifies persons, so k would count records. "
        "Hint: select it too (it is withheld), or name another column with person = '...'."
    )
    example = Example(
        "import sqlalchemy as sa\n"
        "from dbanon.sqlalchemy import anonymized, person, quasi\n\n"
        'number = sa.Column("patient_number", sa.Integer, info=person())\n'
        'patients = sa.Table("patients", sa.MetaData(), number, sa.Column("zip", sa.String, info=quasi()))\n'
        "anonymized(sa.select(patients.c.zip), k=10)",
        language="python",
    )


class UnmappedTableError(RefusedError):
    """A query that reads a table with a policy that is not mapped."""

    message = (
        "{function}: the query reads {table}, which has a policy but is not a mapped table of the query, so its "
        "columns have no roles here. Hint: select columns of a class or Table that is mapped to {table}, with the "
        "roles that declare_models writes. A view needs its own policy."
    )
    example = Example(
        _DECLARED + '    query = sa.select(sa.table("people", sa.column("zip")))\n'
        '    connection.execute(sa.select(anonymized(query, k=10, qi=["zip"])))',
        language="python",
    )


class RepeatedRecordsError(RefusedError):
    """A query that may repeat records of a table without a person column, which k would count several times."""

    message = (
        "{function}: the query may contain a record of {table} in several rows, so k would count it several "
        "times. Hint: join other tables by a key that is unique in them, read {table} once, or declare its person "
        "column and select it."
    )
    example = Example(
        _DECLARED + "    query = sa.union_all(sa.select(people), sa.select(people))\n"
        "    connection.execute(sa.select(anonymized(query, k=10)))",
        language="python",
    )


class ReadOnlyViewError(DbanonError):
    """A write to an anonymized view."""

    message = (
        "{name} is an anonymized view and cannot be written. Hint: write to its source; refresh(session) publishes "
        "the next version of a materialized view."
    )
    example = Example(
        _MODEL + "class SafePatient(AnonymizedView, Base):\n    __source__ = Patient\n    __k__ = 10\n\n\n"
        'with Session(install(sa.create_engine("duckdb:///:memory:"))) as session:\n'
        '    session.add(SafePatient(row_number=1, zip="02138"))\n    session.flush()',
        language="python",
    )


class UnmappableViewError(DbanonError):
    """A class that cannot be mapped onto an anonymized view."""

    message = (
        "{name}: {why} Hint: class {name}(AnonymizedView, Base): __source__ = Patient; __algorithm__ = 'kacpc'; "
        "__k__ = 10."
    )
    example = Example(_MODEL + "class SafePatient(AnonymizedView, Base):\n    __k__ = 10", language="python")


class DbtModelChangedError(DbanonError):
    """A dbt model whose call differs from the call of its published version."""

    message = (
        "{name}: the published version was created by another call, which differs in {differs:list}. A refresh keeps "
        "the old call. Hint: dbt run --full-refresh creates the next version with the current call, clusters all "
        "records again, and checks it against every earlier version."
    )
    example = Situation(
        "dbt raises it if a model that is materialized as `anonymized` was changed since its last run.",
        ("safe_patients", ["k"]),
    )


class ConnectionMissingError(DbanonError):
    """A `%dbanon` statement before a connection was opened."""

    message = (
        "{magic}: there is no connection. Hint: {magic} clinic.duckdb opens a database, and {magic} con uses a "
        "connection that dbanon.connect returned."
    )
    example = Situation(
        "It is raised when a notebook runs %dbanon FROM patients before it has a connection.", ("%dbanon",)
    )


class UnknownConnectionError(DbanonError):
    """A `%dbanon` argument that is neither a connection, nor a database, nor a statement."""

    message = (
        "%dbanon: {text!r} is neither a variable with a connection nor the name of a DuckDB file (.duckdb, .ddb or "
        ".db). Hint: con = dbanon.connect('clinic.duckdb') and %dbanon con, or %dbanon clinic.duckdb."
    )
    example = Situation(
        "It is raised when a notebook runs %dbanon clinic and has no variable of that name.", ("clinic",)
    )
