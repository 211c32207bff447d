"""Publishing recomputes the metrics of a release with one reading of its rows per grouping."""

from typing import Any

import duckdb

import dbanon
from dbanon.ledger import releases
from dbanon.publishing.certificate import Certificate
from dbanon.runtime import csv_formulas, session
from dbanon.source.catalog import SearchPath


class _RecordedCursor:
    """A cursor that records the statements that are run on it."""

    def __init__(self, cursor: Any) -> None:
        self.cursor, self.statements = cursor, list[str]()

    def execute(self, statement: str, *parameters: Any) -> Any:
        self.statements.append(statement)
        return self.cursor.execute(statement, *parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cursor, name)


def test_problems_group_released_rows_once() -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE p AS SELECT i % 3 AS a, i % 5 AS s FROM range(30) AS r (i)")
        dbanon.create_release(con, "safe", "kacpc", "p", k=5, qi=["a"], sensitive=["s"])
        current = session.find_session(con.raw)
        with current.cursor() as cursor:
            recorded = _RecordedCursor(cursor)
            entry = releases.find_published("test", "safe", cursor, SearchPath.from_connection(con))
            certificate = Certificate(entry, current, recorded)
            assert list(certificate.problems()) == []
            certificate.lines(certificate.published_tables(classes=False))
            sizes = certificate.recompute_queries(certificate.qualified_tables).class_sizes()
            assert sum(statement.count(str(sizes)) for statement in recorded.statements) == 2


def test_escaped_cells_are_the_same_in_sql() -> None:
    cells = [
        "=1",
        " +1",
        "'=1",
        "-5",
        "a",
        "[1, 2]",
        "\uff1d1",
        "",
        "'tis",
        "\u2003-x",
        "Zebra",
        "9-1",
        "@x",
        ":",
        "_=",
    ]
    with duckdb.connect() as con:
        for cell in cells:
            (escaped,) = con.execute(f"SELECT {csv_formulas.escape_sql('$1::VARCHAR')}", [cell]).fetchall()[0]
            assert escaped == csv_formulas.escape_cell(cell)
