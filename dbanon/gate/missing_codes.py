"""Read columns of the source for the release gate, with NULL in place of codes for missing values.

A code is recognized by the text of the value. The module uses nothing of dbanon.source.missing_codes, which reads the
source for the release.
"""

import re
from collections.abc import Mapping
from fractions import Fraction

from dbanon.gate.request import GateRequest
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

DATE_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE")
INTEGER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
HUGE_INTEGER_TYPES = ("HUGEINT", "UHUGEINT")
FLOAT_TYPES = ("FLOAT", "DOUBLE")
DECIMAL_TYPE = re.compile(r"DECIMAL\(\d+,(\d+)\)$")
_NUMBER_PATTERN = r"[-+]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_TIME_PATTERN = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.]([0-9]+))?)?"
_DATE_PATTERN = r"[0-9]{4,6}-[0-9]{1,2}-[0-9]{1,2}"
_INFINITIES = ("infinity", "-infinity")
_SECOND_DECIMALS = {"TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP_NS": 9}


def column_value(request: GateRequest, name: str) -> Sql:
    """Return SQL of a column as the gate reads it: NULL where its text is a missing code of the policy or the call.

    Without applicable codes, this is the quoted column name.
    """
    quoted_name, type_ = identifier(name), request.columns[name]
    texts = [code_text for code in _missing_codes(request, name) if (code_text := _code_text(code, type_)) is not None]
    if not texts:
        return quoted_name
    codes = join_sql(Sql(f"encode({code_text})") for code_text in texts)
    return Sql(
        f"(CASE WHEN encode({_comparable_text(quoted_name, type_)}) IN ({codes}) THEN NULL ELSE {quoted_name} END)"
    )


def _missing_codes(request: GateRequest, name: str) -> list[str]:
    """Return the codes for missing values of a column: those of the policy, then those of the call.

    The call's codes are ignored if the policy requires that the column is published coarser than its values. Codes that
    the call gives for all columns do not apply to the person column.
    """
    policy_codes = [row.settings.missing_codes for row in request.declared if fold_case(row.column) == fold_case(name)]
    codes = [code for column_codes in policy_codes for code in column_codes]
    call_codes = request.options.get("missing_codes")
    if any(
        fold_case(row.column) == fold_case(name) and _requires_coarse_values(row, request) for row in request.declared
    ):
        return codes  # a code of the call would reveal which records have exactly that value
    if isinstance(call_codes, Mapping):
        return codes + [
            code
            for key, column_codes in call_codes.items()
            if fold_case(key) == fold_case(name)
            for code in column_codes
        ]
    return codes if name == request.roles.person else [*codes, *(call_codes or ())]


def _requires_coarse_values(row: DeclaredColumn, request: GateRequest) -> bool:
    """Return whether the policy requires that a column is published coarser than its values.

    True for a quasi-identifier with a least level, top or bottom coding, or a grid. Dates have a grid unless the policy
    says 'none'.
    """
    settings, type_ = row.settings, next(t for c, t in request.columns.items() if fold_case(c) == fold_case(row.column))
    grid = settings.rounding if settings.rounding or type_ not in DATE_TYPES else "month"
    has_bounds = settings.top is not None or settings.bottom is not None
    return row.role.lower() == "quasi" and bool(settings.min_level or has_bounds or (grid or "none").lower() != "none")


def _comparable_text(column: Sql, type_: str) -> Sql:
    """Return SQL of a column as text; equal values (0.0 and -0.0, one instant in two zones) have equal texts."""
    if type_ in FLOAT_TYPES:
        return Sql(f"(CASE WHEN {column} = 0 THEN 0::{type_} ELSE {column} END)::VARCHAR")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"({column} AT TIME ZONE 'UTC')::VARCHAR")
    return Sql(f"{column}::VARCHAR")


def _code_text(code: str, type_: str) -> Sql | None:
    """Return SQL of a missing code's text as DuckDB prints a value of the type; None if the type has no such value.

    A code such as '99.0' for an integer column becomes '99'. The SQL may evaluate to NULL if the value does not fit.
    Codes of BOOLEAN, VARCHAR and ENUM columns are not checked. None for types such as lists, which have no codes.
    """
    decimals = DECIMAL_TYPE.match(type_)
    if type_ in (*INTEGER_TYPES, *HUGE_INTEGER_TYPES) or decimals is not None:
        return _exact_text(code, type_, int(decimals[1]) if decimals else 0)
    if type_ in FLOAT_TYPES:
        return _float_text(code, type_)
    if type_ in DATE_TYPES or type_ == "TIME":
        return _moment_text(code, type_)
    if type_ == "BOOLEAN":
        return text(code.lower())
    if type_ == "UUID":
        return Sql(f"TRY_CAST({text(code)} AS UUID)::VARCHAR")
    return text(code) if type_ == "VARCHAR" or type_.startswith("ENUM(") else None


def _exact_text(code: str, type_: str, decimals: int) -> Sql | None:
    """Return SQL of the text that DuckDB prints for a missing-value code of an integer or decimal column.

    Args:
        code: The code as the policy has it, such as `99.0`.
        type_: The type of the column.
        decimals: The number of decimals of the type; 0 for integers.

    Returns:
        The SQL, which evaluates to NULL if the number does not fit the type. None if no SQL is possible: the code is
        not a number, has 400 characters or more, or needs more decimals than the type has.
    """
    if not re.fullmatch(_NUMBER_PATTERN, code) or len(code) >= 400:
        return None
    scaled = Fraction(code) * 10**decimals
    if scaled.denominator != 1:
        return None
    digits = str(abs(scaled.numerator)).rjust(decimals + 1, "0")
    decimal_text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return Sql(f"TRY_CAST({text(f'-{decimal_text}' if scaled < 0 else decimal_text)} AS {type_})::VARCHAR")


def _float_text(code: str, type_: str) -> Sql | None:
    """Return SQL of the text of a floating-point code as DuckDB prints it; None if the code is no number.

    NaN and infinities are numbers here. The SQL is NULL if the code overflows.
    """
    if code.lower() in ("nan", "inf", "-inf", *_INFINITIES):
        return Sql(f"{text(code)}::{type_}::VARCHAR")
    if not re.fullmatch(_NUMBER_PATTERN, code) or len(code) >= 400:
        return None
    number = Sql(f"TRY_CAST({text(code)} AS {type_})")
    return Sql(f"CASE WHEN {number} = 0 THEN 0::{type_} WHEN isfinite({number}) THEN {number} END::VARCHAR")


def _moment_text(code: str, type_: str) -> Sql | None:
    """Return SQL of the text of a date or time code as DuckDB prints it; None if it is none or has too many decimals.

    For a DATE column, a code with a time of day other than 0:00 gives NULL.
    """
    match = re.fullmatch(_TIME_PATTERN if type_ == "TIME" else f"{_DATE_PATTERN}(?:[ Tt]{_TIME_PATTERN})?", code)
    if match is None and (code.lower() not in _INFINITIES or type_ == "TIME"):
        return None
    if match is not None and len((match[1] or "").rstrip("0")) > _SECOND_DECIMALS.get(type_, 6):
        return None
    parsed_type = "TIMESTAMP" if type_ == "TIMESTAMP WITH TIME ZONE" else type_
    value = f"TRY_CAST({text(code)} AS {parsed_type})"
    if type_ != "DATE" or match is None:
        return Sql(f"{value}::VARCHAR")
    moment = f"TRY_CAST({text(code)} AS TIMESTAMP)"
    is_whole_day = f"{moment} IS NULL OR {moment} = {value}::TIMESTAMP"
    return Sql(f"CASE WHEN {is_whole_day if ':' in code else 'true'} THEN {value}::VARCHAR END")
