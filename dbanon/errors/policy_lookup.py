"""Errors about sources whose policy cannot be determined."""

from dbanon.errors.base import RefusedError
from dbanon.errors.example import FEW, Example, Situation
from dbanon.sqltext.quote import text


class SourceNotResolvedError(RefusedError):
    """A view whose tables cannot be determined, in a database whose tables have policies."""

    message = (
        "{function}: {source} {why}, so which policy applies cannot be determined. Hint: {hint}, or declare a "
        "policy for the source itself."
    )
    example = Example(
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        (
            FEW.replace("TABLE few", "TEMP TABLE copied"),
            "CREATE VIEW women AS SELECT zip, disease FROM copied WHERE sex = 'F';",
        ),
    )


class SourceChangedError(RefusedError):
    """A source that reads other objects in the caller's transaction than those the call was planned with."""

    message = (
        "{function}: the tables, columns, views or macros from which {source} is read here are not those that are "
        "committed: the open transaction changed or does not yet see them, or a temporary object has the name of "
        "one. Hint: COMMIT or ROLLBACK, drop temporary objects of these names, and call again."
    )
    example = Example(
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        (
            FEW,
            "CREATE VIEW women AS SELECT zip, disease FROM few WHERE sex = 'F';",
            "CREATE TEMP VIEW few AS FROM patients;",
        ),
    )


class UnmatchedPolicyError(RefusedError):
    """Policy rows that match no table and have the columns of a table without a policy."""

    message_pattern = "match no table, and most of their columns are columns of"
    example = Example(
        "FROM kacpc('few', k = 10, qi = ['zip']);",
        (
            FEW,
            "INSERT INTO dbanon.policy (table_name, column_name, role) "
            "VALUES ('fwe', 'name', 'identifier'), ('fwe', 'zip', 'quasi');",
        ),
    )

    def __init__(self, function: str, source: str, database: str, rows: tuple[str, str], key: tuple[str, str]) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            source: The source, which has no policy.
            database: The database with the policy rows.
            rows: Schema and table in the policy rows, which match no table.
            key: Schema and table under which the source is found in the policy; the hint renames the rows to these.
        """
        schema, table = rows
        old, new = (f"(schema_name, table_name) = ({text(a)}, {text(b)})" for a, b in (rows, key))
        super().__init__(
            f"{function}: {source} has no policy, but rows of {database}.dbanon.policy for table {table!r} in schema "
            f"{schema!r} match no table, and most of their columns are columns of {source}. Hint: if they are about "
            f"{source}, UPDATE dbanon.policy SET {new} WHERE {old}; otherwise "
            f"DELETE FROM dbanon.policy WHERE {old}."
        )


class DatabaseReadAsFileError(RefusedError):
    """A source that reads a DuckDB database as a file, which bypasses its policy."""

    message = (
        "{function}: {source} reads a DuckDB database as a file ({readers:names}), without its policy. Hint: ATTACH "
        "the database and name its table, so that the policy of the table applies."
    )
    example = Situation(
        "A view calls DuckDB's function read_duckdb (DuckDB 2 and later).",
        ("kacpc", "women", ["read_duckdb"]),
    )


class RelationOverPolicyError(RefusedError):
    """A relation of DuckDB or ibis, passed as data, that reads a table with a policy."""

    message = (
        "{function}: the relation reads {table}, which has a policy; passed as data, it would be published without "
        "its policy. Hint: name the table in a call on its connection, such as FROM kacpc({table:sql}, k = 10), or "
        "create a view of the part to publish and declare its policy."
    )
    example = Example('dbanon.anonymize(con.table("patients"), k=10, qi=["zip"])', language="python")
