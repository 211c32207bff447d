"""Write values as labels of a hierarchy for the release gate, which looks up numbers and truth values in its notation.

The module uses nothing of dbanon.policy, which writes the values that a release is made from.
"""

from collections.abc import Sequence
from decimal import Decimal

from dbanon.gate.missing_codes import DECIMAL_TYPE, FLOAT_TYPES, HUGE_INTEGER_TYPES, INTEGER_TYPES
from dbanon.sqltext.quote import Sql, text


def label_text(value: Sql, type_: str, leaf_shapes: Sequence[str]) -> Sql:
    """Return SQL of the text by which a hierarchy knows a value.

    This is the text that DuckDB writes, unless all leaves that are numbers have another number of decimals, or no
    trailing zeros (35 for 35.0), or the leaves write truth values in capitals. The text .50 of a DECIMAL(2,2)
    is 0.50 unless a leaf begins with a point.

    Args:
        value: SQL of the value.
        type_: Its DuckDB type.
        leaf_shapes: The leaves, as `GateRequest.leaf_shapes` has them.
    """
    own_text = Sql(f"{value}::VARCHAR")
    if type_ == "BOOLEAN":
        return _truth_text(own_text, leaf_shapes)
    decimals = DECIMAL_TYPE.match(type_)
    if type_ not in (*INTEGER_TYPES, *HUGE_INTEGER_TYPES, *FLOAT_TYPES) and decimals is None:
        return own_text
    numbers = [Decimal(shape) for shape in leaf_shapes if shape[0] == "0"]
    n_own = 1 if type_ in FLOAT_TYPES else int(decimals[1]) if decimals else 0
    is_own = any(_n_decimals(number) == n_own and _is_padded(number, n_own) for number in numbers)
    if not numbers:
        return own_text
    if decimals and type_.startswith(f"DECIMAL({n_own},"):  # no digits before the point: 0.50 is written .50
        if any(shape[0] == "." for shape in leaf_shapes):
            return own_text
        own_text = Sql(f"regexp_replace({own_text}, '^(-?)[.]', '\\10.')")
    if is_own:
        return own_text
    if not any(_n_decimals(number) and _is_padded(number, 1) for number in numbers):
        return _without_zero_sign(_shortest_text(own_text))
    counts = {_n_decimals(number) for number in numbers}
    return _without_zero_sign(_fixed_text(own_text, *counts)) if len(counts) == 1 else own_text


def _n_decimals(number: Decimal) -> int:
    """Return the number of digits after the point, with trailing zeros."""
    return -int(number.as_tuple().exponent)


def _is_padded(number: Decimal, n_decimals: int) -> bool:
    """Return whether the last digit after the point is 0; also if the type of the number has no decimals at all."""
    return n_decimals == 0 or number.as_tuple().digits[-1] == 0


def _shortest_text(own_text: Sql) -> Sql:
    """Return SQL of the text of a number without trailing zeros and without a point at the end."""
    has_decimals = f"contains({own_text}, '.') AND NOT contains({own_text}, 'e')"
    return Sql(f"CASE WHEN {has_decimals} THEN rtrim(rtrim({own_text}, '0'), '.') ELSE {own_text} END")


def _fixed_text(own_text: Sql, n_decimals: int) -> Sql:
    """Return SQL of the text of a number with `n_decimals` decimals; numbers that have more remain as they are."""
    integer_part, decimals = f"split_part({own_text}, '.', 1)", f"rtrim(split_part({own_text}, '.', 2), '0')"
    return Sql(
        f"CASE WHEN len({decimals}) > {n_decimals} OR regexp_matches({own_text}, '[a-z]') THEN {own_text} "
        f"ELSE {integer_part} || '.' || rpad({decimals}, {n_decimals}, '0') END"
    )


def _without_zero_sign(number_text: Sql) -> Sql:
    """Return SQL of the text of a number, without the sign of -0.0."""
    return Sql(f"CASE WHEN ltrim({number_text}, '-0.') = '' THEN ltrim({number_text}, '-') ELSE {number_text} END")


def _truth_text(own_text: Sql, leaf_shapes: Sequence[str]) -> Sql:
    """Return SQL of a truth value in the spelling of the leaves, if there is one of each and none is that of DuckDB."""
    spellings = {label.lower(): label for label in leaf_shapes if label.isalpha()}
    if not spellings or len(spellings) < sum(label.isalpha() for label in leaf_shapes):
        return own_text
    if any(label.islower() for label in spellings.values()):
        return own_text
    return Sql(
        f"CASE {own_text} {' '.join(f'WHEN {text(value)} THEN {text(label)}' for value, label in spellings.items())} "
        f"ELSE {own_text} END"
    )
