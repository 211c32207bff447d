"""Errors about sources in other databases that are attached to DuckDB."""

from collections.abc import Iterable, Sequence

from dbanon.errors.base import DbanonError
from dbanon.errors.example import Example, Situation

_SOURCE = "It comes from a call whose source is in another system, "

_MYSQL = "It comes from a call whose source is in MySQL or MariaDB, "

_RECORD = "INSERT INTO {table} FROM attached_databases() WHERE name = '{name}'"


class ScannerExtensionMissingError(DbanonError):
    """A DuckDB extension that reads another system is missing, or was built for another version of DuckDB."""

    message = (
        "{function}: DuckDB {duckdb} needs its extension {extension}, and {why}. An extension works with the one "
        "DuckDB that it is made for. Hint: in the clone of dbanon, pip install -e '.[{extension}]', or, with access to "
        "the internet, INSTALL {extension} in DuckDB {duckdb}."
    )
    example = Situation(
        "It comes from `dbanon.load_extension` where DuckDB's extension is missing, or is made for another "
        "version of DuckDB than the one that is installed.",
        ("load_extension", "1.5.5", "postgres", "it is not installed"),
    )


class UnknownDatabaseError(DbanonError):
    """A policy about tables of an attached database that it names without identifying it."""

    example = Situation(
        _SOURCE + "where rows of `dbanon.policy` name its database, and `dbanon.foreign_database` does not say "
        "which one that is. `dbanon.declare` writes both.",
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
            f"{function}: the policy in {home} is about tables of {name}, and does not say which database that is: "
            f"another one can be attached by the same name. Hint: where the right one is attached now, say so once: "
            f"{_RECORD.format(table=table, name=name.lower())}."
        )


class DatabaseNotAttachedError(DbanonError):
    """A source in a database that the policy names and that is not attached."""

    message = (
        "{function}: {source} is in {name}, which is a database of another system by the policy, and is not "
        "attached. Hint: ATTACH it by that name; commands do with --attach '{name}=...'."
    )
    example = Situation(
        _SOURCE + "where the database is not attached. `dbanon.foreign_database` says which one it is.",
        ("kacpc", "pg.public.patients", "pg"),
    )


class DatabaseIdentityMismatchError(DbanonError):
    """Another database is attached under the name that the policy has for one."""

    message = (
        "{function}: the policy in {home} means the database {meant} by {name}, and {found} is attached so. Hint: "
        "attach the other one, or this one by another name; where it has taken the other's place (restored, moved), "
        "DELETE its row from dbanon.foreign_database of {home} and insert it anew."
    )
    example = Situation(
        _SOURCE + "where another database is attached by the name that the policy has for one.",
        ("kacpc", "clinic", "postgres:7411264587391234567/16384", "pg", "postgres:7411264587391234567/5"),
    )


class DatabaseIdentityUnavailableError(DbanonError):
    """An attached database that cannot be identified."""

    example = Situation(
        _SOURCE + "where that is in memory, or where a role may not ask which server it is on.",
        ("kacpc", "passing", "sqlite", "it is in memory"),
    )

    def __init__(self, function: str, name: str, kind: str, why: str) -> None:
        """Build the message; its hint depends on `kind`, the system of the database ("postgres", "mysql", ...)."""
        hint = {
            "postgres": "the role that reads it needs EXECUTE on pg_control_system()",
            "mysql": "it has to have @@server_uuid, as MySQL does, or @@server_uid, as MariaDB does",
        }.get(kind, "attach a database that is a file")
        super().__init__(
            f"{function}: {name} does not tell which database it is, so no policy can be about it ({why}). "
            f"Hint: {hint}."
        )


class AmbiguousPolicyError(DbanonError):
    """A source that has a policy in two databases."""

    message = (
        "{function}: {homes:and} both have a policy of {source}, and only one can count. Hint: DELETE its rows in "
        "one of them, or DETACH that database."
    )
    example = Situation(
        _SOURCE + "where two of the attached DuckDB databases have rows about it.",
        ("kacpc", ["clinic", "second"], '"pg"."public"."patients"'),
    )


class NamesDifferOnlyByCaseError(DbanonError):
    """Tables of another system whose names differ only by case."""

    message = (
        "{function}: {alike:and} differ by capitals alone, and a policy does not tell them apart. Hint: CREATE VIEW "
        "there, of the one that you mean, with a name that no other table has but for capitals."
    )
    example = Situation(
        _SOURCE + "where another table there has the same name but for capitals.",
        ("kacpc", ['"pg"."public"."Patients"', '"pg"."public"."patients"']),
    )


class NoDatabaseForPolicyError(DbanonError):
    """A source in another system without a DuckDB database for its policy and releases."""

    example = Situation(
        _SOURCE + "in a session that uses that database (`USE pg`), where several DuckDB databases are attached and "
        "none has rows about it.",
        ("kacpc", '"pg"."public"."patients"', ["clinic", "second"]),
    )

    def __init__(self, function: str, source: str, databases: Iterable[str]) -> None:
        """Build the message; `databases` are the attached DuckDB databases, of which none is chosen."""
        names = ", ".join(databases)
        super().__init__(
            f"{function}: {source} is in another system, and what dbanon keeps of it belongs into a DuckDB database, "
            f"of which {'there are ' + names if names else 'none is attached'}. Hint: say which by USE "
            f"{names.split(', ')[0] if names else 'clinic'}, and write the whole name of the source."
        )


class NotPostgresDatabaseError(DbanonError):
    """Security labels are requested for a table that is not in PostgreSQL."""

    message = (
        "{function}: {source} is no table of PostgreSQL, and only those have security labels. Hint: ATTACH "
        "'dbname=clinic' AS pg (TYPE postgres), and name 'pg.public.patients'; profile() proposes roles of "
        "any table."
    )
    example = Example("FROM policy_from_labels('patients');")


class NotAttachedError(DbanonError):
    """A database that a command could not attach."""

    example = Situation(
        "It comes from a command with `--attach` whose database is not there, or does not let the user in.",
        ("pg", "postgres", "IO Error: Unable to connect to Postgres"),
    )

    def __init__(self, name: str, system: str, why: str) -> None:
        """Build the message; `name` is the database, `system` its kind, such as "postgres", and `why` the reason."""
        super().__init__(
            f"{name} could not be attached as a database of {system}: {why.rstrip('. ')}. Hint: see what follows "
            f"{name}={system}: after --attach, and that the environment has the password."
        )


class PolicyRowNeedsSchemaError(DbanonError):
    """A policy row about a MySQL table that does not name its database."""

    message = (
        "{function}: the policy in {home} has rows about {named}, and a server of MySQL has several databases: which "
        "one that is follows from how it is attached. Hint: UPDATE dbanon.policy SET table_name = {whole:sql} WHERE "
        "table_name = {named:sql}, where that is the one."
    )
    example = Situation(
        _MYSQL + "where a row of the policy names the server and the table, and not the database between them.",
        ("kacpc", "clinic", "my.patients", "my.clinic.patients"),
    )


class StaleTableListError(DbanonError):
    """A MySQL table that was created after DuckDB read the list of tables."""

    message = (
        "{function}: {source} is in MySQL, and DuckDB does not know it: it keeps a list of the tables that were "
        "there when it looked first. Hint: CALL mysql_clear_cache(), then call again."
    )
    example = Situation(
        _MYSQL + "where the table was made after it was attached and read.", ("kacpc", '"my"."clinic"."later"')
    )


class UnsafeNameError(DbanonError):
    """A MySQL table or column whose name DuckDB's extension does not quote as MySQL does."""

    message = (
        "{function}: {source} has a name with ` or \\ in it ({unsafe:list}), which DuckDB writes in another way than "
        "MySQL reads it. Hint: CREATE VIEW there, with other names."
    )
    example = Situation(
        _MYSQL + "where the table or one of its columns has such a name.", ("kacpc", '"my"."clinic"."odd"', ["a`b"])
    )


class PushdownEnabledError(DbanonError):
    """A MySQL table that MySQL instead of DuckDB would filter, count or sort."""

    example = Situation(
        _MYSQL + "also under a view, where DuckDB would not filter, count and sort itself. "
        "`dbanon.load_extension(con, 'mysql')` sees to it.",
        ("my.clinic.patients", ["mysql_aggregate_pushdown_enabled"]),
    )

    def __init__(self, source: str, settings: Sequence[str]) -> None:
        """Build the message; `settings` are the DuckDB settings that are on and let MySQL filter, count and sort."""
        off = "; ".join(f"SET GLOBAL {setting} = false" for setting in settings)
        super().__init__(
            f"{source} may be read from MySQL, and DuckDB is set to let MySQL filter, count and sort, for which texts "
            "can be equal that differ: what is found would not be what is there. Hint: dbanon.load_extension(con, "
            f"'mysql') turns that off, and so does {off} (SET SESSION where this session has a setting of its own)."
        )


class ReadUncommittedError(DbanonError):
    """A MySQL server that shows uncommitted changes."""

    message = (
        "{function}: {source} is read from {database}, whose transactions are READ UNCOMMITTED: while "
        "others write, that is a table that never was. Hint: SET GLOBAL TRANSACTION ISOLATION LEVEL "
        "REPEATABLE READ there, and attach it anew."
    )
    example = Situation(
        _MYSQL + "where the server shows what others have not committed.", ("kacpc", "my.clinic.patients", "my")
    )


class MultithreadedScanEnabledError(DbanonError):
    """A SQLite table that several threads would read, each at another moment."""

    message = (
        "{source} is in SQLite, which DuckDB reads on several threads, each in a transaction of its "
        "own: while others write, that is a table that never was. Hint: SET GLOBAL "
        "sqlite_disable_multithreaded_scans = true, then call again."
    )
    example = Situation(
        "It comes from a call whose source is in SQLite, where DuckDB would read that on several threads.",
        ("ward.patients",),
    )
