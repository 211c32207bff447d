"""Formats of numbers with more text: units, currencies, open ends, and what spreadsheets leave around texts."""

from dbanon.policy.profiling.text_format import TEXT_PLACEHOLDER as _TEXT, TextFormat
from dbanon.sqltext.quote import text

_NUMBER = r"((0|[1-9]\d{0,14})(\.\d+)?|[1-9]\d{0,2}(,\d{3}){1,4}(\.\d+)?|(0|[1-9]\d{0,14}),\d{1,2})"
"""A number with a decimal point and commas between thousands, or with a comma before one or two decimals.

A code with leading zeros is no number, nor are more than 15 digits.
"""

_DIGITS = f"regexp_extract({_TEXT}, '[+-]?[0-9][0-9.,]*')"
"""SQL of such a number in a text."""

_VALUE = (
    f"CAST(CASE WHEN regexp_full_match({_DIGITS}, '[+-]?[0-9]+,[0-9]{{1,2}}') "
    f"THEN replace({_DIGITS}, ',', '.') ELSE replace({_DIGITS}, ',', '') END AS DOUBLE)"
)
"""SQL of its value."""

_CURRENCIES = ("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF")

_UNITS = {
    "%": "%",
    "cm": "cm",
    "mm": "mm",
    "kg": "kgs?",
    "g": "g",
    "mg": "mg",
    "lb": "lbs?",
    "mg/dl": "mg/dl",
    "mmol/l": "mmol/l",
    "mmHg": "mm ?hg",
    "bpm": "bpm",
    "hours": "hours?|hrs?|h",
    "minutes": "minutes?|mins?",
    "days": "days?",
    "weeks": "weeks?|wks?",
    "months": "months?|mths?|mos?",
    "years": "years?|yrs?|y/?o",
}
"""Units by their names, with a pattern of how they are written."""

_TIME_UNITS = {
    "days": (r"d(ays?)?", "365.25"),
    "weeks": (r"w(ee)?ks?", "52.1786"),
    "months": (r"m(onths?|ths?|os?)", "12"),
}
"""Units of time with a pattern of how they are written, and how many there are in a year."""


_CODE_LETTERS = {"g": "g", "hours": "h"}
"""Units that are written with one letter, with which codes may also end."""


def _unit_format(description: str, pattern: str, sign: str, letter: str | None = None) -> TextFormat:
    """Return the format of numbers with a unit or a currency.

    Args:
        description: Completes "numbers with".
        pattern: The regular expression of the texts, in lower case.
        sign: What every text contains in lower case, which is compared first, because it costs less than a pattern.
        letter: The letter that may be the unit, or the end of a code; None if there is none.
    """
    hint = "" if letter is None else f"keep the text if {letter} is part of a code, such as a room number"
    is_readable = f"(contains(lower({_TEXT}), {text(sign)}) AND regexp_full_match(lower({_TEXT}), {text(pattern)}))"
    return TextFormat("DOUBLE", f"numbers with {description}", is_readable, _VALUE, hint=hint)


def _currency_format(currency: str) -> TextFormat:
    """Return the format of amounts in a currency, which is written before or after them."""
    sign = currency.lower()
    escaped_sign = sign.replace("$", r"\$")
    pattern = rf"{escaped_sign} ?[+-]?{_NUMBER}|[+-]?{_NUMBER} ?{escaped_sign}"
    return _unit_format(f"the currency {currency}", pattern, sign)


def _age_format() -> TextFormat:
    """Return the format of ages and durations in several units, which are read as years."""
    units = "|".join(pattern for pattern, _ in _TIME_UNITS.values())
    pattern = rf"{_NUMBER}( ?(y(ears?|rs?|/?o)?|{units}))?( old)?"
    cases = " ".join(
        f"WHEN regexp_matches(lower({_TEXT}), {text(f'[0-9] ?({unit})( old)?$')}) THEN {per_year}"
        for unit, per_year in _TIME_UNITS.values()
    )
    return TextFormat(
        "DOUBLE",
        "ages or durations with units, in years",
        f"(regexp_matches({_TEXT}, '^[0-9]') AND regexp_full_match(lower({_TEXT}), {text(pattern)}))",
        f"{_VALUE} / CASE {cases} ELSE 1 END",
        hint="numbers without a unit are read as years",
        # A column of only 12 and 101d may have numbers of flats: a year or a written unit shows that it has ages.
        sign=f"regexp_matches(lower({_TEXT}), '[0-9] ?(y|[a-z][a-z])')",
    )


def _open_end_format() -> TextFormat:
    """Return the format of whole numbers of which some have an open end: 90+, >89, >=90, <18, <=17."""
    digits = f"CAST(regexp_extract({_TEXT}, '[0-9]+') AS BIGINT)"
    return TextFormat(
        "BIGINT",
        "whole numbers with an open end, such as 90+ or >89",
        rf"regexp_full_match({_TEXT}, '(0|[1-9]\d{{0,8}}) ?\+?|(<|>|<=|>=|≤|≥) ?(0|[1-9]\d{{0,8}})')",
        f"{digits} + CASE WHEN regexp_matches({_TEXT}, '^> ?[0-9]') THEN 1 "
        f"WHEN regexp_matches({_TEXT}, '^< ?[0-9]') THEN -1 ELSE 0 END",
        hint="the end becomes its limit: declare it as top or bottom, so that it stays open",
        sign=rf"NOT regexp_full_match({_TEXT}, '\d+')",
    )


QUANTITY_FORMATS = (
    *map(_currency_format, _CURRENCIES),
    *(
        _unit_format(
            f"the unit {unit}",
            rf"[+-]?{_NUMBER} ?({pattern})( old)?",
            unit.lower()[:1],
            letter=_CODE_LETTERS.get(unit),
        )
        for unit, pattern in _UNITS.items()
    ),
    _open_end_format(),
    _age_format(),
    TextFormat(
        "VARCHAR",
        'texts of a spreadsheet, such as ="1"',
        f"""regexp_full_match({_TEXT}, '="[^"]*"')""",
        f"substr({_TEXT}, 3, length({_TEXT}) - 3)",
    ),
    TextFormat(
        "VARCHAR",
        "texts of a spreadsheet with an apostrophe before them",
        f"regexp_full_match({_TEXT}, '''[^'']+')",
        f"substr({_TEXT}, 2)",
    ),
)
"""Formats that are tried after all others; a column has one of them if all of its values have the unit."""
