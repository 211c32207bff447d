"""Format values of a result as text: as SQL shows them, and as JSON."""

import datetime
import json
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from dbanon.release.summary import format_number as format_number


def format_value(value: object, number: Callable[[float], str] = str) -> str:
    """Return a value as DuckDB's SQL shows it as text; `number` formats floats.

    >>> format_value([1.5, None, {'a': True}])
    '[1.5, NULL, {a: true}]'
    >>> format_value([0.1 + 0.2], format_number)
    '[0.3]'
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "".join(chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02X}" for b in bytes(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{format_value(k, number)}: {format_value(v, number)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(format_value(v, number) for v in value) + "]"
    return number(value) if isinstance(value, float) else str(value)


def as_json(value: object) -> str:
    """Return a value as JSON text; values that JSON cannot represent become texts, NaN and infinities null."""
    return json.dumps(_json_value(value), ensure_ascii=False)


def _json_value(value: Any) -> Any:
    """Return a value with only types that JSON has; NaN and infinities become None, other values texts."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {format_value(k): _json_value(v) for k, v in value.items()}
    return [_json_value(v) for v in value] if isinstance(value, (list, tuple)) else format_value(value)


def unique_names(names: Iterable[str]) -> list[str]:
    """Return column names without repetitions: a number is appended to repeated ones.

    >>> unique_names(["a", "a", "a_1"])
    ['a', 'a_2', 'a_1']
    """
    names = list(names)
    used: set[str] = set(names)
    unique: list[str] = []
    for name in names:
        number, candidate = 0, name
        while candidate in unique or (number and candidate in used):
            number += 1
            candidate = f"{name}_{number}"
        unique.append(candidate)
    return unique
