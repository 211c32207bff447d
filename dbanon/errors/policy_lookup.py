"""Sources whose policy cannot be determined."""

from __future__ import annotations

from collections.abc import Iterable

from dbanon.errors.base import DbanonError, listed
from dbanon.errors.example import FEW, Example, Situation
from dbanon.sqltext.quote import text


class SourceNotResolvedError(DbanonError):
    """A view whose tables cannot be determined, in a place where tables have policies."""

    outcome = "refused"
    words = "so which policy applies cannot be determined"
    example = Example(
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        (
            FEW.replace("TABLE few", "TEMP TABLE copied"),
            "CREATE VIEW women AS SELECT zip, disease FROM copied WHERE sex = 'F';",
        ),
    )

    def __init__(self, function: str, source: str, why: str, hint: str) -> None:
        super().__init__(
            f"{function}: {source} {why}, so which policy applies cannot be determined. Hint: {hint}, or declare a "
            "policy for the source itself."
        )


class SourceChangedError(DbanonError):
    """What a source reads in the caller's transaction is not what the call was planned for."""

    outcome = "refused"
    words = "are not those that are committed"
    example = Example(
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        (
            FEW,
            "CREATE VIEW women AS SELECT zip, disease FROM few WHERE sex = 'F';",
            "CREATE TEMP VIEW few AS FROM patients;",
        ),
    )

    def __init__(self, function: str, source: str) -> None:
        super().__init__(
            f"{function}: the tables, columns, views or macros from which {source} is read here are not those that are "
            "committed: the open transaction changed or does not yet see them, or a temporary object has the name of "
            "one. Hint: COMMIT or ROLLBACK, drop temporary objects of these names, and call again."
        )


class UnmatchedPolicyError(DbanonError):
    """Policy rows that match no table have the columns of a table without a policy."""

    outcome = "refused"
    words = "match no table, and most of their columns are columns of"
    example = Example(
        "FROM kacpc('few', k = 10, qi = ['zip']);",
        (
            FEW,
            "INSERT INTO dbanon.policy (table_name, column_name, role) "
            "VALUES ('fwe', 'name', 'identifier'), ('fwe', 'zip', 'quasi');",
        ),
    )

    def __init__(self, function: str, source: str, database: str, rows: tuple[str, str], key: tuple[str, str]) -> None:
        schema, table = rows
        old, new = (f"(schema_name, table_name) = ({text(a)}, {text(b)})" for a, b in (rows, key))
        super().__init__(
            f"{function}: {source} has no policy, but rows of {database}.dbanon.policy for table {table!r} in schema "
            f"{schema!r} match no table, and most of their columns are columns of {source}. Hint: if they are about "
            f"{source}, UPDATE dbanon.policy SET {new} WHERE {old}; otherwise "
            f"DELETE FROM dbanon.policy WHERE {old}."
        )


class DatabaseReadAsFileError(DbanonError):
    """A source reads a DuckDB database as a file, past the policy in it."""

    outcome = "refused"
    words = "reads a DuckDB database as a file"
    example = Situation(
        "A view calls DuckDB's function read_duckdb, which DuckDB has from version 2 on.",
        ("kacpc", "women", ["read_duckdb"]),
    )

    def __init__(self, function: str, source: str, readers: Iterable[str]) -> None:
        super().__init__(
            f"{function}: {source} reads a DuckDB database as a file ({listed(readers)}), where no policy is found. "
            "Hint: ATTACH the database and name its table, so that the policy of the table applies."
        )


class RelationOverPolicyError(DbanonError):
    """A relation of DuckDB or ibis, given as data, reads a table that has a policy."""

    outcome = "refused"
    words = "what is given as data would be published without it"
    example = Example('dbanon.anonymize(con.table("patients"), k=10, qi=["zip"])', language="python")

    def __init__(self, function: str, table: str) -> None:
        super().__init__(
            f"{function}: the relation reads {table}, which has a policy: what is given as data would be published "
            f"without it. Hint: name the table in a call on its connection, such as FROM kacpc({text(table)}, k = 10), "
            "or declare a view of what shall be published and its policy."
        )
