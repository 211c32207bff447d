"""Errors about sources in other databases that are attached to DuckDB."""

from collections.abc import Iterable, Sequence

from dbanon.errors.base import DbanonError
from dbanon.errors.example import Example, Situation

_SOURCE = "It is raised by a call whose source is in another system, "

_MYSQL = "It is raised by a call whose source is in MySQL or MariaDB, "

_RECORD = "INSERT INTO {table} FROM attached_databases() WHERE name = '{name}'"


class ScannerExtensionMissingError(DbanonError):
    """A DuckDB extension that reads another system is missing, or was built for another version of DuckDB."""

    message = (
        "{function}: DuckDB {duckdb} needs its extension {extension}, and {why}. An extension works only with the "
        "version of DuckDB that it was built for. Hint: in the clone of dbanon, pip install -e '.[{extension}]', or, "
        "with access to the internet, INSTALL {extension} in DuckDB {duckdb}."
    )
    example = Situation(
        "It is raised by `dbanon.load_extension` if DuckDB's extension is missing, or was built for another version "
        "of DuckDB than the installed one.",
        ("load_extension", "1.5.5", "postgres", "it is not installed"),
    )


class UnknownDatabaseError(DbanonError):
    """A policy about tables of an attached database that it names without identifying it."""

    example = Situation(
        _SOURCE + "if rows of `dbanon.policy` name its database and `dbanon.foreign_database` does not identify it. "
        "`dbanon.declare` writes both.",
        ("kacpc", "pg", "clinic", '"clinic"."dbanon"."foreign_database"'),
    )

    def __init__(self, function: str, name: str, home: str, table: str) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            name: The attached database that the policy names.
            home: The DuckDB database with the policy.
            table: The table that stores the identity of attached databases; the hint inserts a row into it.
        """
        super().__init__(
            f"{function}: the policy in {home} is about tables of {name} but does not identify that database: another "
            "one can be attached under the same name. Hint: if the right one is attached now, record it once: "
            f"{_RECORD.format(table=table, name=name.lower())}."
        )


class DatabaseNotAttachedError(DbanonError):
    """A source in a database that the policy names and that is not attached."""

    message = (
        "{function}: {source} is in {name}, which is not attached; according to the policy it is a database of "
        "another system. Hint: ATTACH it under that name; on the command line, --attach '{name}=...'."
    )
    example = Situation(
        _SOURCE + "if the database is not attached. `dbanon.foreign_database` identifies it.",
        ("kacpc", "pg.public.patients", "pg"),
    )


class DatabaseIdentityMismatchError(DbanonError):
    """Another database is attached under the name that the policy has for one."""

    message = (
        "{function}: the policy in {home} expects the database {meant} under the name {name}, but {found} is "
        "attached. Hint: attach {meant}, or this one under another name; if this one has replaced it (restored, "
        "moved), DELETE its row from dbanon.foreign_database of {home} and insert it again."
    )
    example = Situation(
        _SOURCE + "if another database is attached under the name that the policy uses.",
        ("kacpc", "clinic", "postgres:7411264587391234567/16384", "pg", "postgres:7411264587391234567/5"),
    )


class DatabaseIdentityUnavailableError(DbanonError):
    """An attached database that cannot be identified."""

    example = Situation(
        _SOURCE + "if that is in memory, or the role may not read the identity of its server.",
        ("kacpc", "passing", "sqlite", "it is in memory"),
    )

    def __init__(self, function: str, name: str, kind: str, why: str) -> None:
        """Build the message; its hint depends on `kind`, the system of the database ("postgres", "mysql", ...)."""
        hint = {
            "postgres": "the role that reads it needs EXECUTE on pg_control_system()",
            "mysql": "it needs @@server_uuid, as MySQL has, or @@server_uid, as MariaDB has",
        }.get(kind, "attach a database that is a file")
        super().__init__(f"{function}: {name} cannot be identified ({why}), so it cannot have a policy. Hint: {hint}.")


class AmbiguousPolicyError(DbanonError):
    """A source that has a policy in two databases."""

    message = (
        "{function}: {homes:and} both have a policy of {source}; only one can apply. Hint: DELETE its rows in one of "
        "them, or DETACH that database."
    )
    example = Situation(
        _SOURCE + "if two of the attached DuckDB databases have rows about it.",
        ("kacpc", ["clinic", "second"], '"pg"."public"."patients"'),
    )


class NamesDifferOnlyByCaseError(DbanonError):
    """Tables of another system whose names differ only by case."""

    message = (
        "{function}: {alike:and} differ only by upper and lower case, which a policy ignores. Hint: in that system, "
        "CREATE VIEW of the one that you mean, with a name that differs from all others in more than case."
    )
    example = Situation(
        _SOURCE + "if another table there has a name that differs only by upper and lower case.",
        ("kacpc", ['"pg"."public"."Patients"', '"pg"."public"."patients"']),
    )


class NoDatabaseForPolicyError(DbanonError):
    """A source in another system without a DuckDB database for its policy and releases."""

    example = Situation(
        _SOURCE
        + "in a session that uses that database (`USE pg`), if several DuckDB databases are attached and none has "
        "rows about it.",
        ("kacpc", '"pg"."public"."patients"', ["clinic", "second"]),
    )

    def __init__(self, function: str, source: str, databases: Iterable[str]) -> None:
        """Build the message; `databases` are the attached DuckDB databases, of which none is chosen."""
        names = ", ".join(databases)
        super().__init__(
            f"{function}: {source} is in another system, and dbanon stores its policy and releases in a DuckDB "
            f"database, of which {'several are attached: ' + names if names else 'none is attached'}. Hint: choose "
            f"one with USE {names.split(', ')[0] if names else 'clinic'}, and write the full name of the source."
        )


class NotPostgresDatabaseError(DbanonError):
    """Security labels are requested for a table that is not in PostgreSQL."""

    message = (
        "{function}: {source} is not a table of PostgreSQL, and only those have security labels. Hint: ATTACH "
        "'dbname=clinic' AS pg (TYPE postgres), and name 'pg.public.patients'; profile() proposes roles for any table."
    )
    example = Example("FROM policy_from_labels('patients');")


class NotAttachedError(DbanonError):
    """A database that a command could not attach."""

    example = Situation(
        "It is raised by a command with `--attach` if the database does not exist or refuses the user.",
        ("pg", "postgres", "IO Error: Unable to connect to Postgres"),
    )

    def __init__(self, name: str, system: str, why: str) -> None:
        """Build the message; `name` is the database, `system` its kind, such as "postgres", and `why` the reason."""
        super().__init__(
            f"{name} could not be attached as a database of {system}: {why.rstrip('. ')}. Hint: check the text after "
            f"{name}={system}: in --attach, and that the environment has the password."
        )


class PolicyRowNeedsSchemaError(DbanonError):
    """A policy row about a MySQL table that does not name its database."""

    message = (
        "{function}: the policy in {home} has rows about {named} without the name of a MySQL database; a server has "
        "several, and which one is meant depends on how it is attached. Hint: if it is this one, UPDATE dbanon.policy "
        "SET table_name = {whole:sql} WHERE table_name = {named:sql}."
    )
    example = Situation(
        _MYSQL + "if a row of the policy names the server and the table but not the database.",
        ("kacpc", "clinic", "my.patients", "my.clinic.patients"),
    )


class StaleTableListError(DbanonError):
    """A MySQL table that was created after DuckDB read the list of tables."""

    message = (
        "{function}: {source} is in MySQL, but not in the list of tables that DuckDB read when it first used that "
        "database. Hint: CALL mysql_clear_cache(), then call again."
    )
    example = Situation(
        _MYSQL + "if the table was created after the database was attached and read.",
        ("kacpc", '"my"."clinic"."later"'),
    )


class UnsafeNameError(DbanonError):
    """A MySQL table or column whose name DuckDB's extension does not quote as MySQL does."""

    message = (
        "{function}: {source} has a name with ` or \\ in it ({unsafe:list}), which DuckDB quotes differently from "
        "MySQL. Hint: in MySQL, CREATE VIEW with other names."
    )
    example = Situation(
        _MYSQL + "if the table or one of its columns has such a name.", ("kacpc", '"my"."clinic"."odd"', ["a`b"])
    )


class PushdownEnabledError(DbanonError):
    """A MySQL table that MySQL instead of DuckDB would filter, count or sort."""

    example = Situation(
        _MYSQL + "also through a view, if DuckDB would not filter, count and sort itself. `dbanon.load_extension(con, "
        "'mysql')` sets that.",
        ("my.clinic.patients", ["mysql_aggregate_pushdown_enabled"]),
    )

    def __init__(self, source: str, settings: Sequence[str]) -> None:
        """Build the message; `settings` are the DuckDB settings that are on and let MySQL filter, count and sort."""
        off = "; ".join(f"SET GLOBAL {setting} = false" for setting in settings)
        super().__init__(
            f"{source} may be read from MySQL, and DuckDB is set to let MySQL filter, count and sort. MySQL can treat "
            "different texts as equal, so the results could be wrong. Hint: dbanon.load_extension(con, 'mysql') turns "
            f"that off, and so does {off} (SET SESSION if this session has its own setting)."
        )


class ReadUncommittedError(DbanonError):
    """A MySQL server that shows uncommitted changes."""

    message = (
        "{function}: {source} is read from {database}, whose transactions are READ UNCOMMITTED: reads can see "
        "uncommitted changes, so the source is not a consistent snapshot. Hint: SET GLOBAL TRANSACTION ISOLATION "
        "LEVEL REPEATABLE READ there, and attach it again."
    )
    example = Situation(
        _MYSQL + "if the server shows uncommitted changes of others.", ("kacpc", "my.clinic.patients", "my")
    )


class MultithreadedScanEnabledError(DbanonError):
    """A SQLite table that several threads would read, each at another moment."""

    message = (
        "{source} is in SQLite, which DuckDB reads on several threads, each in its own transaction: if others write "
        "at the same time, the source is not a consistent snapshot. Hint: SET GLOBAL "
        "sqlite_disable_multithreaded_scans = true, then call again."
    )
    example = Situation(
        "It is raised by a call whose source is in SQLite, if DuckDB would read it on several threads.",
        ("ward.patients",),
    )
