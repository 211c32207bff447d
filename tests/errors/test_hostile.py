"""Unusual tables: with any call on them, a failure is one error of dbanon."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.sqltext.quote import identifier, text

NAMES = (
    "select", "a b", "a.b", "1st", "", "x" * 300, "Ünïcode", "日本", "a'b", 'a"b', "a;b", "--", "/*", "*", "{{ x }}",
    "%s", "null", "class_id", "rid", "q0", "u0", "person", "size", "count", "a\nb", "\\", "$1", "value", "age_min",
    "dbanon",
)  # fmt: skip

TYPES = {
    "INTEGER": "i", "VARCHAR": "'v' || i % 3", "INTEGER[]": "[i, NULL]", "INTEGER[2]": "[i, i]::INTEGER[2]",
    "STRUCT(a INTEGER)": "{'a': i}", "MAP(VARCHAR, INTEGER)": "MAP {'a': i}",
    "UNION(n INTEGER, s VARCHAR)": "i::INTEGER",
    "DATE": "DATE '2000-01-01' + i::INTEGER", "INTERVAL": "to_days(i::INTEGER)", "BLOB": "('v' || i)::BLOB",
    "UUID": "uuid()", "BIT": "'101'::BIT", "JSON": "'{}'::JSON", "TIME": "TIME '00:00:00'", "DECIMAL(38, 10)": "i",
    "HUGEINT": "i", "DOUBLE": "IF(i = 2, 'nan'::DOUBLE, i)", "BOOLEAN": "i % 2 = 0", "ENUM('v', 'w')": "'v'",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP '2000-01-01'", "INTEGER ": "NULL",
}  # fmt: skip

CALLS = (
    "kacpc({t}, k := 2, qi := [{a}], sensitive := [{b}])",
    "kacpc({t}, k := 2, qi := [{a}, {b}], nulls := 'drop')",
    "mondrian_metrics({t}, k := 2, qi := [{b}], insensitive := [{a}], allow_rare := [{a}])",
    "kacpc_classes({t}, k := 2, qi := [{a}], person := {b})",
    "kacpc({t}, k := 2, qi := [{a}], intervals := 'bounds', sensitive := [{b}], l := 2)",
    "profile({t})",
    "risk({t}, qi := [{a}], sensitive := [{b}])",
    "anonymity({t}, qi := [{b}], sensitive := [{a}], person := {a})",
    "uncovered_values({t}, {a}, 'sex')",
    "hierarchy_prefix('h', {t}, {b})",
    "hierarchy_intervals('h', {t}, {a}, widths := [10])",
    "hierarchy_dates('h', {t}, {b})",
    "query_error({t}, {t}, qi := [{a}], queries := 3)",
    "attack({t}, kind := 'homogeneity', source := {t}, qi := [{a}], sensitive := [{b}])",
    "inference({t}, k := 2, qi := [{a}], sensitive := [{b}])",
)


def assert_rows_or_own_error(con: Any, call: str) -> None:
    """Assert that the call returns rows, or a dbanon error: never one of Python or of DuckDB's internals."""
    try:
        con.execute(f"FROM {call}").fetchall()
    except duckdb.Error as error:
        message = str(error)
        assert message.startswith("Invalid Input Error: "), (call, message)
        for word in ("Python exception", "INTERNAL", "MemoryError", "KeyError", "IndexError", "TypeError"):
            assert word not in message.split("\n\nLINE")[0], (call, message)


@pytest.mark.parametrize("seed", range(3))
def test_hostile_table_gives_rows_or_own_error(con: Any, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    path = str(tmp_path / "hostile.duckdb")
    parameters = []
    with duckdb.connect(path) as write_con:
        dbanon.attach(write_con)
        for number in range(8):
            names = [name for name in rng.sample(NAMES, 3) if name]
            table, (first, second) = rng.choice([*filter(None, NAMES)]) + str(number), rng.sample(sorted(TYPES), 2)
            rows = rng.choice([0, 1, 2, 6])
            a, b = names[:2]
            write_con.execute(
                f"CREATE TABLE {identifier(table)} AS SELECT ({TYPES[first]})::{first} AS {identifier(a)}, "
                f"({TYPES[second]})::{second} AS {identifier(b)} FROM range({rows}) AS r (i)"
            )
            parameters += [
                call.format(t=text(str(identifier(table))), a=text(a), b=text(b)) for call in rng.sample(CALLS, 6)
            ]
        write_con.execute(
            "CREATE TABLE made (i INTEGER, j INTEGER GENERATED ALWAYS AS (i + 1), v VARCHAR AS ('v' || i))"
        )
        write_con.execute("INSERT INTO made SELECT * FROM range(6)")
        parameters += [call.format(t="'made'", a="'j'", b="'v'") for call in rng.sample(CALLS, 4)]
        for call in parameters[: len(parameters) // 2]:
            assert_rows_or_own_error(write_con, call)
    with duckdb.connect(path, read_only=True) as read:
        dbanon.attach(read)
        for call in parameters[len(parameters) // 2 :]:
            assert_rows_or_own_error(read, call)
