"""Publishing recomputes the metrics of a release with one reading of its rows per grouping."""

from collections import Counter
from typing import Any

import duckdb
import pytest

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
            groupings = [s for s in recorded.statements for _ in range(s.count(f"FROM {entry.table()} GROUP BY"))]
            assert len(groupings) == 1


def test_metrics_of_record_groups_equal_those_of_rows() -> None:
    with dbanon.connect() as con:
        con.execute(
            "CREATE TABLE p AS SELECT hash(i) % 4 AS a, ['x', 'X', NULL][1 + (hash(i, 1) % 3)::INT] AS b, "
            "['u', 'U', 'v', NULL][1 + (hash(i, 2) % 4)::INT] AS s, i * i % 7 AS records FROM range(300) AS r (i)"
        )
        roles = {"qi": ["a", "b"], "sensitive": ["s"], "insensitive": ["records"]}
        dbanon.create_release(con, "safe", "kacpc", "p", k=5, l=2, **roles)
        current = session.find_session(con.raw)
        with current.cursor() as cursor:
            entry = releases.find_published("test", "safe", cursor, SearchPath.from_connection(con))
            certificate = Certificate(entry, current, cursor)
            steps, tables = certificate._grouped_once()
            grouped_lines, lines = (
                list(certificate._metric_lines(certificate.recompute_queries(places)))
                for places in (tables, certificate.qualified_tables)
            )
            assert steps.startswith("WITH record_groups") and len(lines) > 15
            for grouped, line in zip(grouped_lines, lines, strict=True):
                values = [
                    cursor.execute(q).fetchall() for q in (f"{steps}SELECT ({grouped.sql})", line.sql) if line.sql
                ]
                assert values[:1] == values[1:], line.label


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


@pytest.mark.parametrize("is_quasi", [False, True])
def test_is_escaped_sql_equals_changed_cells(is_quasi: bool) -> None:
    cells = [
        first + second for first in ["", "'", " ", "a", "[", "*", "5", "\u3000"] for second in ["", "=1", "-5", "@"]
    ]
    condition = csv_formulas.is_escaped_sql("$1::VARCHAR", is_quasi=is_quasi)
    with duckdb.connect() as con:
        for cell in [*cells, None]:
            is_changed = cell is not None and csv_formulas.escape_cell(cell, is_quasi=is_quasi) != cell
            assert con.execute(f"SELECT {condition}", [cell]).fetchall() == [(is_changed,)], cell


def test_record_groups_store_the_distinct_rows() -> None:
    rows = [(i % 3, ["x", "X", None, "y "][i % 4], i % 2) for i in range(60)]
    with dbanon.connect() as con:
        session.find_session(con.raw).has_private_database = True
        con.execute("CREATE TABLE p (a INT, s VARCHAR, records INT)")
        con.executemany("INSERT INTO p VALUES (?, ?, ?)", rows)
        dbanon.create_release(con, "safe", "kacpc", "p", k=5, qi=["a"], sensitive=["s"], insensitive=["records"])
        rows_by_values = Counter(con.execute("FROM safe").fetchall())
        assert (
            Counter({tuple(row): n for *row, n in con.execute("FROM dbanon.record_groups").fetchall()})
            == rows_by_values
        )
