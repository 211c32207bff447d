"""The tokenizer: no character is lost, and tokens begin where DuckDB's own scanner begins them."""

from __future__ import annotations

import re

import duckdb
import pytest
from hypothesis import given, strategies as st

from dbanon.sqltext import tokenizer
from dbanon.sqltext.tokenizer import SPARK, code_tokens, spaced_words, tokens

PIECES = (
    "SELECT", "k", "é😀a", "a$b", "_x1", '"a ""b"', "'it''s'", "E'a\\'b'", "x'ab'", "$$a'b$$", "$t$ $$ $t$", "10",
    "1.5", "1e5", ".5", "1_000", "(", ")", "[", "]", "{", "}", ",", ";", ".", ":", "::", ":=", "=>", "=", "<>", "!=",
    "==", "->", "->>", "||", "//", "**", "<=", "-", "+", "*", "/", "%", "@>", "&&", "~", "?", "\n", " ", "\t",
    "-- line\n", "/* block */", "/* a /* b */ 'c */",
)  # fmt: skip
statements = st.lists(st.sampled_from(PIECES), max_size=12)
texts = st.one_of(
    st.text(), st.lists(st.sampled_from([*PIECES, "'", '"', "`", "/*", "*/", "$$", "E'", "\\"])).map("".join)
)


def duckdb_starts(query: str) -> list[int]:
    """Return the offsets in bytes of DuckDB's tokens, without comments."""
    return [start for start, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment]


@given(texts, st.sampled_from([tokenizer.DUCKDB, SPARK]))
def test_joined_tokens_equal_text(text: str, dialect: re.Pattern[str]) -> None:
    actual_tokens = tokens(text, dialect)
    assert "".join(token.text for token in actual_tokens) == text
    assert [token.start for token in actual_tokens[1:]] == [token.end for token in actual_tokens[:-1]]


@given(statements)
def test_tokens_start_like_duckdb(pieces: list[str]) -> None:
    query = " ".join(pieces)
    assert [len(query[: token.start].encode()) for token in code_tokens(query)] == duckdb_starts(query)


@given(statements)
def test_adjacent_operators_end_like_duckdb(pieces: list[str]) -> None:
    query = "".join(f"a{piece}b" for piece in pieces if re.fullmatch(r"[-+*/<>=~!@%^&|()\[\],;]+", piece))
    assert [len(query[: token.start].encode()) for token in code_tokens(query)] == duckdb_starts(query)


@given(st.text("-+*/<>=~!@%^&|", max_size=6))
def test_operator_tokens_start_like_duckdb(signs: str) -> None:
    query = f"a {signs} b"
    if not re.search(r"--|/\*", signs):
        assert [token.start for token in code_tokens(query)] == duckdb_starts(query)


@given(statements)
def test_spaced_words_equal_code_tokens(pieces: list[str]) -> None:
    query = " ".join(piece for piece in pieces if "$" not in piece and "/* a" not in piece) + " k"
    assert [word for _, word in spaced_words(query)] == [token.text for token in code_tokens(query)]


@pytest.mark.parametrize(
    ("text", "kind", "is_unfinished"),
    [("'it''s'", "string", False), ("'it''s", "string", True), ("'it''", "string", True), ("E'a\\'", "string", True),
     ("$a$ b", "string", True), ('"a""', "quoted", True), ('"a"', "quoted", False), ("-- a", "comment", True),
     ("/* /* */", "comment", True), ("/* /* */ */", "comment", False), ("$1", "parameter", False),
     ("$name", "parameter", False), ("?", "parameter", False), ("1.5e-3", "number", False), ("été", "word", False),
     ("->>", "operator", False)],
)  # fmt: skip
def test_single_token_has_expected_kind(text: str, kind: str, is_unfinished: bool) -> None:
    assert tokens(text) == [(kind, text, 0, is_unfinished)]


def test_token_name_and_value_are_unquoted() -> None:
    assert [token.name for token in tokens('"a ""b"')] == ['a "b']
    assert [token.name for token in tokens("`a ``b`", SPARK)] == ["a `b"]
    assert [token.value for token in tokens("'it''s'")] == ["it's"]


def test_spark_tokenizer_reads_backslashes_and_backquotes() -> None:
    actual_code_tokens = code_tokens(r"""SELECT `a``(`, "it\"s (", '\' ('""", SPARK)
    assert [token.kind for token in actual_code_tokens] == [
        "word",
        "quoted",
        "operator",
        "string",
        "operator",
        "string",
    ]
