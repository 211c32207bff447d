"""How a report asks: plain SQL over the tables of a release, and table functions, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbanon.publishing.certificate import Certificate
from dbanon.publishing.recompute_queries import Place
from dbanon.publishing.report.blocks import Query, Table
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, argument, identifier, join_sql, text
from dbanon.table_functions.dispatch import make_call


class Asking:
    """One release, as its custodian asks of it, or as a recipient does, who has its tables and nothing else."""

    def __init__(self, certificate: Certificate, *, outgoing: bool) -> None:
        self.certificate, self.outgoing = certificate, outgoing
        self.entry, self.cursor = certificate.entry, certificate.cursor
        self.shape, self.full = certificate.shape, certificate.full
        self.at: Place = certificate.handed_out(classes=True) if outgoing else certificate.home

    def rows(self, query: Query) -> list[tuple[Any, ...]]:
        """What a query gives."""
        found: list[tuple[Any, ...]] = self.cursor.execute(query.run).fetchall()
        return found

    def of(self, make: Callable[[Place], Sql]) -> Query:
        """Return a query over the tables of the release, wherever they are read."""
        return Query(make(self.at), qualify_builtins(make(self.full)))

    def table(self, caption: str, head: Sequence[str], query: Query) -> Table:
        """Return a query's result as a table."""
        return Table(caption, head, self.rows(query), query.shown)

    def function(self, name: str, columns: Sequence[str], given: Mapping[str, object], where: str = "true") -> Query:
        """Return the rows of a table function about the release; raises what the function raises."""
        places = (self.entry.database, "main", "")
        call = make_call(
            self.certificate.session, self.cursor, name, {"release": str(self.full.release)}, given, places
        )
        own = Sql(
            f"{name}({join_sql([text(str(self.at.release)), *(f'{n} := {argument(v)}' for n, v in given.items())])})"
        )
        return Query(
            _selected(columns, own, where),
            qualify_builtins(_selected(columns, f"({call.function.handler(call)})", where)),
        )


def _selected(columns: Sequence[str], of: str, where: str) -> Sql:
    return Sql(f"SELECT {join_sql(map(identifier, columns))} FROM {of} WHERE {where}")


def values(rows: Sequence[Sequence[Any]]) -> Mapping[str, Any]:
    """Return rows of a name and a value, by name; the first of a name counts."""
    return {row[0]: row[1] for row in reversed(rows)}
