"""Canonical texts: one text per value, in any type that holds it."""

from __future__ import annotations

import duckdb
import pytest

from dbanon.source.canonical_text import canonical_form, hashed_form

SAME = [
    ("1", ["1::TINYINT", "1::HUGEINT", "1.0::DOUBLE", "1::FLOAT", "1.00::DECIMAL(9,2)", "'1'"]),
    ("-20", ["-20::INTEGER", "-20.0::DOUBLE", "-20.000::DECIMAL(9,3)", "'-20'"]),
    ("0", ["0::INTEGER", "'-0.0'::DOUBLE", "0.00::DECIMAL(4,2)"]),
    ("0.5", ["0.5::DOUBLE", "0.50::DECIMAL(4,2)", "'0.5'"]),
    ("9007199254740993", ["9007199254740993::BIGINT", "9007199254740993::DECIMAL(18,0)", "'9007199254740993'"]),
    ("nan", ["'nan'::DOUBLE", "'nan'::FLOAT"]),
    ("01", ["'01'"]),
    ("true", ["true", "'true'"]),
    ('["a","b\\"c"]', ["['a', 'b\"c']", "list_value('a', 'b\"c')"]),
    ("1577836800000000", ["TIMESTAMPTZ '2020-01-01 00:00:00+00'", "TIMESTAMPTZ '2020-01-01 05:30:00+05:30'"]),
]


def text(connection: duckdb.DuckDBPyConnection, form: str, value: str) -> object:
    (type_,) = connection.execute(f"SELECT typeof({value})").fetchone() or ("",)
    result = {"canonical": canonical_form, "hashed": hashed_form}[form](str(type_))
    return (connection.execute(f"SELECT {result.format(value=f'({value})')}").fetchone() or (None,))[0]


@pytest.mark.all_cases
@pytest.mark.parametrize(("expected", "values"), SAME)
def test_equal_values_of_all_types_have_equal_text(expected: str, values: list[str]) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Kolkata'")
        assert [text(connection, "canonical", value) for value in values] == [expected] * len(values)


@pytest.mark.all_cases
@pytest.mark.parametrize("type_", ["INTEGER", "DOUBLE", "DECIMAL(9,2)", "VARCHAR", "DATE", "INTEGER[]"])
def test_null_text_is_null_and_hashed_as_dash(type_: str) -> None:
    with duckdb.connect() as connection:
        assert text(connection, "canonical", f"NULL::{type_}") is None
        assert text(connection, "hashed", f"NULL::{type_}") == "-"


def test_joined_texts_of_distinct_rows_are_distinct() -> None:
    rows = [("a;1:b", "c"), ("a", "b;1:c"), ("-", "x"), (None, "x"), ("", "x"), ("1:a", ""), ("1", ":a")]
    with duckdb.connect() as connection:
        quoted = [["NULL::VARCHAR" if v is None else f"'{v}'" for v in row] for row in rows]
        joined_texts = [";".join(str(text(connection, "hashed", value)) for value in row) for row in quoted]
    assert len(set(joined_texts)) == len(rows)


def test_row_hash_is_stable() -> None:
    """The ledger stores it: another hash of the same row would need a new format number."""
    parts = ["'it''s'", "1.50::DECIMAL(9,2)", "NULL::INTEGER", "DATE '1969-12-31'", "{'a': ['x', NULL]}"]
    with duckdb.connect() as connection:
        full_text = ";".join(str(text(connection, "hashed", part)) for part in parts)
        assert full_text == '4:it\'s;1.5;-;1969-12-31;16:{"a":["x",null]}'
        assert connection.execute("SELECT md5_number_lower(?)", [full_text]).fetchone() == (8711152684159285325,)
