"""Resolve the codes for missing values of one call: those of the policy, and those that the call adds."""

from collections.abc import Iterable, Mapping, Sequence

from dbanon import errors
from dbanon.source import missing_codes
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.options import Options

SETTING = "missing_codes"
"""The column of dbanon.policy and the parameter of a call."""


def resolve_codes(
    function: str,
    source: Source,
    declared: Iterable[DeclaredColumn],
    options: Options,
    published_columns: Sequence[str],
    person: str | None,
    holds: missing_codes.IsTrue,
) -> dict[str, tuple[Sql, ...]]:
    """Return the codes for missing values of one call, by column, as SQL values of the column's type.

    Codes of the policy come first, then those that the call adds. Codes given for all columns apply to published
    columns whose type can have them, and not to the person, since a record of an unknown person would result. Columns
    without codes are missing in the result.

    Args:
        function: The calling function, for messages.
        source: The table.
        declared: Its rows of the policy.
        options: The validated parameters.
        published_columns: The columns that are published.
        person: The column that identifies persons; None without one.
        holds: Returns whether a SQL condition is true.

    Raises:
        UnknownColumnError: A named column does not exist.
        UnsupportedSettingError: A code cannot be a value of the column it is named for, or the call does not read the
            column.
    """
    common_codes, columns = options.get(SETTING), [*published_columns, *([person] if person else [])]
    codes_by_column = {fold_case(row.column): list(row.settings.missing_codes) for row in declared}
    for listed_name, codes in options.per_column(SETTING).items():
        column = source.column(function, listed_name, SETTING)
        if column not in columns:
            raise errors.UnsupportedSettingError(function, SETTING, source.shown, column, "this call does not read it.")
        codes_by_column.setdefault(fold_case(column), []).extend(codes)
    code_values: dict[str, tuple[Sql, ...]] = {}
    for column in columns:
        type_ = source.columns[column]
        values = [
            _code_value(function, source, column, code, holds) for code in codes_by_column.get(fold_case(column), ())
        ]
        if column in published_columns and not isinstance(common_codes, Mapping):
            values += [
                v for code in common_codes or () if (v := missing_codes.code_value(type_, code, holds)) is not None
            ]
        if values:
            code_values[column] = tuple(dict.fromkeys(values))
    return code_values


def is_possible_code(holds: missing_codes.IsTrue, type_: str, code: str) -> bool:
    """Return whether a code for missing values, given as text, can be a value of a DuckDB type.

    `holds` returns whether a SQL condition is true.
    """
    return missing_codes.code_value(type_, code, holds) is not None


def _code_value(function: str, source: Source, column: str, code: str, holds: missing_codes.IsTrue) -> Sql:
    """Return a code for missing values, given as text, as a SQL value of the column's type.

    `holds` returns whether a SQL condition is true.

    Raises:
        UnsupportedSettingError: The type has no such value.
    """
    type_ = source.columns[column]
    code_value = missing_codes.code_value(type_, code, holds)
    if code_value is None:
        raise errors.UnsupportedSettingError(function, SETTING, source.shown, column, code_problem(type_, code))
    return code_value


def code_problem(type_: str, code: str) -> str:
    """Return the reason, as a sentence for messages, why a code cannot be a value of a type; it does not check this."""
    if not missing_codes.supports_codes(type_):
        return f"no code is compared with values of type {type_}."
    return f"{code!r} is not a value of type {type_}."
