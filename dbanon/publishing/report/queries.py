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
    """One release as its custodian reads it, or as a recipient does, who has only its tables."""

    def __init__(self, certificate: Certificate, *, outgoing: bool) -> None:
        self.certificate, self.outgoing = certificate, outgoing
        self.entry, self.cursor = certificate.entry, certificate.cursor
        self.shape, self.full = certificate.shape, certificate.qualified_tables
        self.locations: TableLocations = (
            certificate.published_tables(classes=True) if outgoing else certificate.local_tables
        )

    def rows(self, query: ReportQuery) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        rows: list[tuple[Any, ...]] = self.cursor.execute(query.executable_sql).fetchall()
        return rows

    def query(self, make: Callable[[TableLocations], Sql]) -> ReportQuery:
        """Return a query over the tables of the release, for display and for execution."""
        return ReportQuery(make(self.locations), qualify_builtins(make(self.full)))

    def table(self, caption: str, head: Sequence[str], query: ReportQuery) -> ResultTable:
        """Return the result of a query as a table."""
        return ResultTable(caption, head, self.rows(query), query.display_sql)

    def function(
        self, name: str, columns: Sequence[str], parameters: Mapping[str, object], condition: str = "true"
    ) -> ReportQuery:
        """Return the query for rows of a table function about the release; raises what the function raises."""
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
    return Sql(f"SELECT {join_sql(map(identifier, columns))} FROM {relation} WHERE {condition}")


def values(rows: Sequence[Sequence[Any]]) -> Mapping[str, Any]:
    """Return rows of a name and a value as a mapping; the first row of a name counts."""
    return {row[0]: row[1] for row in reversed(rows)}
