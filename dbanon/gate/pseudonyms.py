"""The gate's own pseudonyms and shifts, from the definition of HMAC (RFC 2104) and of the formats.

Nothing here is taken from `making`, `form`, `key` or Python's hmac: a mistake of theirs must not be one of the gate's.
The key is read by `gate_key`.
"""

import hashlib
from typing import Any

from dbanon.gate import pseudonym_key

_BLOCK = 64
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def expected(values: list[str | None], how: dict[str, Any]) -> list[str | None]:
    """What must be published of each value: `how` has key (a reference), scope, format, length and prefix."""
    inner, outer = _pads(_scoped(how), b"pseudonym\0")
    prefix, length, form = how["prefix"], how["length"], how["format"]
    return [None if v is None else prefix + _text(_mac(inner, outer, v), form)[0:length] for v in values]


def expected_days(persons: list[str | None], how: dict[str, Any]) -> list[int | None]:
    """By how many days the dates of each person must be shifted: `how` has key, scope and days."""
    inner, outer = _pads(_scoped(how), b"shift\0")
    ladder = [day for day in range(-how["days"], how["days"] + 1) if day]
    return [None if p is None else ladder[int(_mac(inner, outer, p).hex(), 16) % len(ladder)] for p in persons]


def _scoped(how: dict[str, Any]) -> bytes:
    inner, outer = _pads(pseudonym_key.secret(how["key"]), b"dbanon scope 1\0")
    return _mac(inner, outer, how["scope"])


def _pads(secret: bytes, what: bytes) -> tuple[Any, Any]:
    """Return the two hashes of an HMAC, begun: with the key and `what` precedes every message, and with the key."""
    padded = (hashlib.sha256(secret).digest() if len(secret) > _BLOCK else secret).ljust(_BLOCK, b"\0")
    return hashlib.sha256(bytes(b ^ 0x36 for b in padded) + what), hashlib.sha256(bytes(b ^ 0x5C for b in padded))


def _mac(inner: Any, outer: Any, message: str) -> bytes:
    first, second = inner.copy(), outer.copy()
    first.update(message.encode("utf-8"))
    second.update(first.digest())
    return bytes(second.digest())


def _text(mac: bytes, form: str) -> str:
    """Return the bits of a MAC in a format, as long as it can be."""
    if form == "hex":
        return "".join(f"{byte:02x}" for byte in mac)
    number = int(mac.hex(), 16)
    if form == "base32":  # 256 bits are 51 groups of five and one bit, filled up with zeros
        number <<= 4
        return "".join(_LETTERS[number >> 5 * place & 31] for place in range(51, -1, -1))
    if form == "digits":
        return str(number % 10**60).rjust(60, "0")
    bits = number >> 128
    bits = bits & ~(0xF << 76) | 0x8 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    digits = f"{bits:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
