"""Values of a result as text: as SQL shows them, and as JSON."""

import datetime
import json
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from dbanon.release.summary import short as short


def shown(value: object, number: Callable[[float], str] = str) -> str:
    """Return a value as SQL shows it; `number` writes fractions.

    >>> shown([1.5, None, {'a': True}])
    '[1.5, NULL, {a: true}]'
    >>> shown([0.1 + 0.2], short)
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
        return "{" + ", ".join(f"{shown(k, number)}: {shown(v, number)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(v, number) for v in value) + "]"
    return number(value) if isinstance(value, float) else str(value)


def as_json(value: object) -> str:
    """Return a value as JSON; what JSON cannot hold is text, and a number that is none is null."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {shown(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else shown(value)


def unlike(names: Iterable[str]) -> list[str]:
    """Return the column names, repeated ones with a number: an object has a key once.

    >>> unlike(["a", "a", "a_1"])
    ['a', 'a_2', 'a_1']
    """
    names = list(names)
    taken: set[str] = set(names)
    found: list[str] = []
    for name in names:
        number, made = 0, name
        while made in found or (number and made in taken):
            number += 1
            made = f"{name}_{number}"
        found.append(made)
    return found
