"""Canonical text of values: equal in every version of DuckDB, every session and every type that can hold the value.

The ledger compares records of releases by hashes of these texts. 1, 1.0 and 1.00 have one text, which is also that of
the text '1'; -0.0 has that of 0. '01' has another text: that it may mean the same is reported, never assumed.
"""

import re

from dbanon.sqltext.quote import Sql

FORMAT = 2
"""The version of this format in the ledger. Hashes of another format, or without a format, are not comparable."""

_DECIMAL = re.compile(r"DECIMAL\(\d+,(\d+)\)$")
_TEXTS = re.compile(r"(VARCHAR|ENUM\(.*)$", re.DOTALL)
_NESTED = re.compile(r"(STRUCT|MAP|UNION|JSON|VARIANT)\b|.*\]$", re.DOTALL)


def canonical_form(type_: str) -> Sql:
    """Return SQL, with the placeholder `{value}`, of the canonical text of a value of a DuckDB type; NULL for NULL.

    For values inside a VARIANT it contains DuckDB's own hash, too, which another version may compute differently.
    """
    if type_ in ("FLOAT", "DOUBLE"):
        integer = "CASE WHEN {value} = trunc({value}) AND abs({value}) < 9e18 THEN TRY_CAST({value} AS BIGINT)::VARCHAR"
        return Sql(f"{integer} ELSE {{value}}::VARCHAR END")
    if (decimal := _DECIMAL.match(type_)) and int(decimal[1]) > 0:
        return Sql("rtrim(rtrim({value}::VARCHAR, '0'), '.')")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql("epoch_us({value})::VARCHAR")
    if "VARIANT" in type_:
        return Sql("concat(to_json({value})::VARCHAR, hash({value})::VARCHAR)")
    return Sql("to_json({value})::VARCHAR") if _NESTED.match(type_) else Sql("{value}::VARCHAR")


def hashed_form(type_: str) -> Sql:
    """Return SQL, with the placeholder `{value}`, of the canonical text of a value of a DuckDB type, for concatenation.

    Texts and nested values, which can have any characters, are prefixed with their length in bytes and a colon, so that
    concatenated values remain distinguishable. NULL is a dash.
    """
    text = canonical_form(type_)
    if _TEXTS.match(type_) or _NESTED.match(type_):
        return Sql(f"coalesce(strlen({text})::VARCHAR || ':' || {text}, '-')")
    return Sql(f"coalesce({text}, '-')")
