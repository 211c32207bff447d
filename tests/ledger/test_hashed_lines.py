"""The hash of a table's lines equals that of one SQL expression, which keeps all lines in memory."""

from __future__ import annotations

import duckdb
import pytest

from dbanon.ledger import hashes
from dbanon.ledger.text_hash import BLOCK_LINES, sha256
from dbanon.sqltext.quote import identifier

IN_SQL = """
    SELECT sha256('header' || coalesce(string_agg(part, '' ORDER BY piece), ''))
    FROM (
        SELECT place // 4096 AS piece, sha256(string_agg(line, '' ORDER BY place)) AS part
        FROM (SELECT row_number() OVER () AS place, line FROM t)
        GROUP BY piece
    )
"""
SIZES = [
    0,
    1,
    BLOCK_LINES - 2,
    BLOCK_LINES - 1,
    BLOCK_LINES,
    2 * BLOCK_LINES - 2,
    2 * BLOCK_LINES - 1,
    2 * BLOCK_LINES,
    99_999,
    100_000,
    204_799,
    250_001,
]


@pytest.mark.parametrize("rows", SIZES)
def test_table_hash_equals_sql_hash(rows: int) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT repeat('é', (range % 7)::BIGINT) || range AS line FROM range({rows})")
        expected = con.execute(IN_SQL).fetchall()[0][0]
        assert sha256("header", con.sql("SELECT line FROM t")) == expected
        con.execute("SET arrow_large_buffer_size = true")
        assert sha256("header", con.sql("SELECT line FROM t")) == expected
        if rows > 1:
            assert sha256("header", con.sql("SELECT line FROM t ORDER BY line DESC")) != expected


def test_block_size_of_hash_unchanged() -> None:
    assert BLOCK_LINES == 4096, "hashes that were kept would be others"


def test_line_equals_joined_length_prefixed_texts() -> None:
    """Lines are as they were when earlier versions were created: each value after its length, `-` for NULL."""
    values = {"a": "''", "b": "'né'", "c": "NULL::VARCHAR", "d": "12", "e": "0.5::DOUBLE", "f": "['x', NULL, ';']"}
    types = dict.fromkeys("abc", "VARCHAR") | {"d": "INTEGER", "e": "DOUBLE", "f": "VARCHAR[]"}
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT {', '.join(f'{value} AS {name}' for name, value in values.items())}")
        pieces = ", ".join(hashes._text_pieces(identifier(name), type_) for name, type_ in types.items())
        assert con.execute(f"SELECT concat({pieces}) FROM t").fetchall() == [("0:3:né-2:123:0.59:1:x;-;1:;",)]
