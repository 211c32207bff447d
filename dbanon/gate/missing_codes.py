"""How the release gate reads the source: with NULL in place of codes for missing values, found by their texts.

It takes nothing from dbanon.source.missing_codes, which reads them for the release.
"""

import re
from collections.abc import Mapping
from fractions import Fraction

from dbanon.gate.request import GateRequest
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql, identifier, joined, text

DAYS = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
LARGE = ("HUGEINT", "UHUGEINT")
FLOATS = ("FLOAT", "DOUBLE")
DECIMAL = re.compile(r"DECIMAL\(\d+,(\d+)\)$")
_DIGITS = r"[-+]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_HOUR = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.]([0-9]+))?)?"
_DAY = r"[0-9]{4,6}-[0-9]{1,2}-[0-9]{1,2}"
_ENDLESS = ("infinity", "-infinity")
_DECIMALS = {"TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP_NS": 9}


def column(request: GateRequest, name: str) -> Sql:
    """Return a column as the gate reads it: NULL where its text is that of a code of the policy or the call."""
    plain, type_ = identifier(name), request.columns[name]
    texts = [told for code in _codes(request, name) if (told := _code_text(code, type_)) is not None]
    if not texts:
        return plain
    codes = joined(Sql(f"encode({told})") for told in texts)
    return Sql(f"(CASE WHEN encode({_told(plain, type_)}) IN ({codes}) THEN NULL ELSE {plain} END)")


def _codes(request: GateRequest, name: str) -> list[str]:
    """What is declared of a column, then what the call says of it, or of all columns but the person."""
    declared = [row.settings.missing for row in request.declared if row.column.lower() == name.lower()]
    found = [code for codes in declared for code in codes]
    asked = request.options.get("missing")
    if any(row.column.lower() == name.lower() and _is_coarse(row, request) for row in request.declared):
        return found  # a code of the call would tell which records have that very value
    if isinstance(asked, Mapping):
        return found + [code for key, codes in asked.items() if key.lower() == name.lower() for code in codes]
    return found if name == request.roles.person else [*found, *(asked or ())]


def _is_coarse(row: DeclaredColumn, request: GateRequest) -> bool:
    """Whether the policy lets single values of a quasi-identifier not be seen; dates have a grid where it is silent."""
    settings, type_ = row.settings, next(t for c, t in request.columns.items() if c.lower() == row.column.lower())
    grid = settings.grid if settings.grid or type_ not in DAYS else "month"
    ends = settings.top is not None or settings.bottom is not None
    return row.role.lower() == "quasi" and bool(settings.min_level or ends or (grid or "none").lower() != "none")


def _told(column: Sql, type_: str) -> Sql:
    """Return the text of a value, such that equal values have one text."""
    if type_ in FLOATS:
        return Sql(f"(CASE WHEN {column} = 0 THEN 0::{type_} ELSE {column} END)::VARCHAR")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"({column} AT TIME ZONE 'UTC')::VARCHAR")
    return Sql(f"{column}::VARCHAR")


def _code_text(code: str, type_: str) -> Sql | None:
    """Return the text of the value that a code is; None where it is none of the type."""
    decimals = DECIMAL.match(type_)
    if type_ in (*WHOLE, *LARGE) or decimals is not None:
        return _exact_text(code, type_, int(decimals[1]) if decimals else 0)
    if type_ in FLOATS:
        return _float_text(code, type_)
    if type_ in DAYS or type_ == "TIME":
        return _moment_text(code, type_)
    if type_ == "BOOLEAN":
        return text(code.lower())
    if type_ == "UUID":
        return Sql(f"TRY_CAST({text(code)} AS UUID)::VARCHAR")
    return text(code) if type_ == "VARCHAR" or type_.startswith("ENUM(") else None


def _exact_text(code: str, type_: str, decimals: int) -> Sql | None:
    """Return a number as DuckDB shows it, which may be without the zero before the point.

    None that would be rounded.
    """
    if not re.fullmatch(_DIGITS, code) or len(code) >= 400:
        return None
    steps = Fraction(code) * 10**decimals
    if steps.denominator != 1:
        return None
    digits = str(abs(steps.numerator)).rjust(decimals + 1, "0")
    shown = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return Sql(f"TRY_CAST({text(f'-{shown}' if steps < 0 else shown)} AS {type_})::VARCHAR")


def _float_text(code: str, type_: str) -> Sql | None:
    """Return a floating number as DuckDB shows it; digits beyond all of its numbers are none."""
    if code.lower() in ("nan", "inf", "-inf", *_ENDLESS):
        return Sql(f"{text(code)}::{type_}::VARCHAR")
    if not re.fullmatch(_DIGITS, code) or len(code) >= 400:
        return None
    number = Sql(f"TRY_CAST({text(code)} AS {type_})")
    return Sql(f"CASE WHEN {number} = 0 THEN 0::{type_} WHEN isfinite({number}) THEN {number} END::VARCHAR")


def _moment_text(code: str, type_: str) -> Sql | None:
    """Return a day or a time as DuckDB shows it."""
    match = re.fullmatch(_HOUR if type_ == "TIME" else f"{_DAY}(?:[ Tt]{_HOUR})?", code)
    if match is None and (code.lower() not in _ENDLESS or type_ == "TIME"):
        return None
    if match is not None and len((match[1] or "").rstrip("0")) > _DECIMALS.get(type_, 6):
        return None
    kind = "TIMESTAMP" if type_ == "TIMESTAMP WITH TIME ZONE" else type_
    value = f"TRY_CAST({text(code)} AS {kind})"
    if type_ != "DATE" or match is None:
        return Sql(f"{value}::VARCHAR")
    moment = f"TRY_CAST({text(code)} AS TIMESTAMP)"
    whole = f"{moment} IS NULL OR {moment} = {value}::TIMESTAMP"
    return Sql(f"CASE WHEN {whole if ':' in code else 'true'} THEN {value}::VARCHAR END")
