"""Queries of a report: plain SQL over the tables of a release, and table functions, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbanon.publishing.certificate import Certificate
from dbanon.publishing.recompute_queries import TableLocations
from dbanon.publishing.report.blocks import ReportQuery, ResultTable
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, argument, identifier, join_sql, text
from dbanon.table_functions.dispatch import make_call


class ReleaseReader:
    """A reader of one release: its custodian, or with `outgoing` a recipient, who has only the published tables."""

    def __init__(self, certificate: Certificate, *, outgoing: bool) -> None:
        """Store the certificate and the names of the tables.

        `locations` are the names that the page displays to its readers; `full` are those with which queries are
        executed.
        """
        self.certificate, self.outgoing = certificate, outgoing
        self.entry, self.cursor = certificate.entry, certificate.cursor
        self.shape, self.full = certificate.shape, certificate.qualified_tables
        self._results: dict[str, list[tuple[Any, ...]]] = {}
        self.locations: TableLocations = (
            certificate.published_tables(classes=True) if outgoing else certificate.local_tables
        )

    def rows(self, query: ReportQuery) -> list[tuple[Any, ...]]:
        """Execute a query and return its rows; a query that was executed before is not executed again."""
        key = str(query.executable_sql)
        if key not in self._results:
            self._results[key] = self.cursor.execute(query.executable_sql).fetchall()
        return self._results[key]

    def query(self, make: Callable[[TableLocations], Sql]) -> ReportQuery:
        """Return a query over the tables of the release, once with the displayed and once with the executed names.

        `make` returns the SQL for given names of the tables.
        """
        return ReportQuery(make(self.locations), qualify_builtins(make(self.full)))

    def table(self, caption: str, head: Sequence[str], query: ReportQuery) -> ResultTable:
        """Execute a query and return its result as a table of the page, with a caption and a header."""
        return ResultTable(caption, head, self.rows(query), query.display_sql)

    def function(
        self, name: str, columns: Sequence[str], parameters: Mapping[str, object], condition: str = "true"
    ) -> ReportQuery:
        """Return a query for the rows of a table function that is called on the release.

        Args:
            name: The table function, whose first argument is a release.
            columns: The columns to select.
            parameters: Its other arguments.
            condition: A SQL condition for the rows.

        Also raises the errors of the table function.
        """
        places = (self.entry.database, "main", "")
        call = make_call(
            self.certificate.session, self.cursor, name, {"release": str(self.full.release)}, parameters, places
        )
        arguments = (f"{n} := {argument(v)}" for n, v in parameters.items())
        display_call = Sql(f"{name}({join_sql([text(str(self.locations.release)), *arguments])})")
        return ReportQuery(
            _select_sql(columns, display_call, condition),
            qualify_builtins(_select_sql(columns, f"({call.function.handler(call)})", condition)),
        )


def _select_sql(columns: Sequence[str], relation: str, condition: str) -> Sql:
    """Return a SELECT statement for the columns of a relation, which is SQL, with a condition."""
    return Sql(f"SELECT {join_sql(map(identifier, columns))} FROM {relation} WHERE {condition}")


def first_value_by_name(rows: Sequence[Sequence[Any]]) -> Mapping[str, Any]:
    """Return a mapping from the first to the second element of each row.

    Of rows with equal first elements, the first row counts.
    """
    return {row[0]: row[1] for row in reversed(rows)}
