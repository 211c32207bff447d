"""The shell, optional libraries, SQLAlchemy and dbt."""

from __future__ import annotations

from collections.abc import Iterable

from dbanon.errors.base import DbanonError, listed, near


class MissingExtra(DbanonError):
    """A library that an extra brings is not installed."""

    def __init__(self, what: str, library: str, extra: str) -> None:
        super().__init__(f"{what} needs {library}, which is not installed. Hint: pip install 'dbanon[{extra}]'.")


class UnknownCommand(DbanonError):
    """A dot command, or a name for .help, that the shell does not have."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(
            f"{name}: there is no such command, function or metric.{near(name, known)} Hint: .help lists them."
        )


class UnreadableCommand(DbanonError):
    """A dot command with words that it does not accept."""

    def __init__(self, line: str, accepts: str) -> None:
        super().__init__(f"{line}: cannot be read. Accepted: {accepts}.")


class UnreadableScript(DbanonError):
    """A file of .read that cannot be read."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f".read {path}: {why}.")


class NotDuckDB(DbanonError):
    """An engine or a connection of another database."""

    def __init__(self, function: str, got: str) -> None:
        super().__init__(
            f"{function}: {got} is no engine or connection of DuckDB. Hint: create_engine('duckdb:///file.duckdb')."
        )


class PolicyDrift(DbanonError):
    """The model and the database say different things about columns of a query."""

    def __init__(self, function: str, table: str, columns: Iterable[str]) -> None:
        super().__init__(
            f"{function}: the model and dbanon.policy differ about {table}: {listed(columns)}. Hint: "
            "declare_models(Base, engine) writes the model's roles, policy_from_reflection shows the database's."
        )


class PersonLeftOut(DbanonError):
    """A query whose records cannot be counted by persons any more."""

    outcome = "refused"
    words = "so k would count records"

    def __init__(self, function: str, table: str, column: str) -> None:
        super().__init__(
            f"{function}: the query leaves out {table}.{column}, which tells people apart, so k would count records. "
            "Hint: select it too (it is withheld), or name another column with person = '...'."
        )


class UnmappedTableError(DbanonError):
    """A query reads a table with a policy that is no mapped table of the query."""

    outcome = "refused"
    words = "and is no mapped table of the query"

    def __init__(self, function: str, table: str) -> None:
        super().__init__(
            f"{function}: the query reads {table}, which has a policy and is no mapped table of the query, so its "
            f"columns have no roles here. Hint: select columns of a class or Table that is mapped to {table}, with the "
            "roles that declare_models writes. A view needs a policy of its own."
        )


class RepeatedRecordsError(DbanonError):
    """A query may repeat the records of a table that has no person column, and k would count them."""

    outcome = "refused"
    words = "so k would count it several times"

    def __init__(self, function: str, table: str) -> None:
        super().__init__(
            f"{function}: the query may contain a record of {table} in several rows, so k would count it several "
            f"times. Hint: join other tables by a key that is unique in them, read {table} once, or declare its person "
            "column and select it."
        )


class ReadOnlyView(DbanonError):
    """A write to an anonymized view."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is an anonymized view and cannot be written. Hint: write to its source; a materialized one is "
            "made anew with refresh(session)."
        )


class UnmappableView(DbanonError):
    """A class that cannot be mapped onto an anonymized view."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"{name}: {why} Hint: class {name}(AnonymizedView, Base): __source__ = Patient; __algorithm__ = 'kacpc'; "
            "__k__ = 10."
        )


class ChangedModel(DbanonError):
    """A dbt model whose call is not the one that its release was made by."""

    def __init__(self, name: str, differs: Iterable[str]) -> None:
        super().__init__(
            f"{name}: the published version was made by another call; what differs: {', '.join(differs)}. A refresh "
            "keeps the call. Hint: dbt run --full-refresh makes the next version by the call as it is now, with all "
            "records clustered anew, and holds it against every version before."
        )


class NoConnection(DbanonError):
    """`%dbanon` with a statement, before there is a connection."""

    def __init__(self, magic: str) -> None:
        super().__init__(
            f"{magic}: there is no connection. Hint: {magic} clinic.duckdb opens a database, and {magic} con takes a "
            "connection that dbanon.connect gave."
        )


class UnknownConnection(DbanonError):
    """`%dbanon` with a word that names no connection, no database and no statement."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"%dbanon: {text!r} is no variable with a connection, and no file of DuckDB by its name (.duckdb, .ddb or "
            ".db). Hint: con = dbanon.connect('clinic.duckdb') and %dbanon con, or %dbanon clinic.duckdb."
        )
