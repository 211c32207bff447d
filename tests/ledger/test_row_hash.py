"""The hash of a table's rows is that of their texts, each after its length; NULL is a dash."""

import hashlib
import json

import duckdb

from dbanon.ledger import hashes
from dbanon.sqltext.quote import Sql


def test_hash_covers_lengths_texts_and_nulls() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a:b'), (NULL, ''), (-5, NULL), (12, 'ü')) AS v (n, x)"
        )
        columns = {"n": "INTEGER", "x": "VARCHAR"}
        header = json.dumps([list(column) for column in columns.items()])
        rows = hashlib.sha256("1:13:a:b-0:2:-5-2:122:ü".encode()).hexdigest()
        expected = hashlib.sha256((header + rows).encode()).hexdigest()
        assert hashes.hash_relation(con, Sql("t"), columns) == expected
