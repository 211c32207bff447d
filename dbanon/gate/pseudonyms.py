"""Compute pseudonyms and date shifts for the release gate, from the definition of HMAC (RFC 2104).

The module uses nothing of dbanon.policy.transforms or Python's hmac, so that an error there is not repeated here.
`pseudonym_key` reads the key.
"""

import hashlib
from typing import Any

from dbanon.gate import pseudonym_key

_BLOCK_BYTES = 64
_BASE32_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def expected_pseudonyms(values: list[str | None], settings: dict[str, Any]) -> list[str | None]:
    """Compute the pseudonym that must be published for each value, in order; None for None.

    Args:
        values: The original values as text.
        settings: `key` (a reference such as 'env:NAME'), `scope`, `format`, `length` and `prefix`.

    The secret key is read from the reference at each call.
    """
    inner, outer = _hmac_hashes(_scope_key(settings), b"pseudonym\0")
    prefix, length, text_format = settings["prefix"], settings["length"], settings["format"]
    return [None if v is None else prefix + _format_mac(_mac(inner, outer, v), text_format)[0:length] for v in values]


def expected_shifts(persons: list[str | None], settings: dict[str, Any]) -> list[int | None]:
    """Compute the number of days by which the dates of each person must be shifted, in order; None for None.

    The number is between -days and days, and never 0.

    Args:
        persons: The values that identify persons, as text.
        settings: `key` (a reference such as 'env:NAME'), `scope` and `days`.
    """
    inner, outer = _hmac_hashes(_scope_key(settings), b"shift\0")
    offsets = [day for day in range(-settings["days"], settings["days"] + 1) if day]
    return [None if p is None else offsets[int(_mac(inner, outer, p).hex(), 16) % len(offsets)] for p in persons]


def _scope_key(settings: dict[str, Any]) -> bytes:
    """Return the 32-byte key of the scope in the settings, derived by HMAC from the secret key that they refer to.

    The settings are `key` (a reference such as 'env:NAME') and `scope`. Errors are those of `pseudonym_key.read_key`.
    """
    inner, outer = _hmac_hashes(pseudonym_key.read_key(settings["key"]), b"dbanon scope 1\0")
    return _mac(inner, outer, settings["scope"])


def _hmac_hashes(secret: bytes, message_prefix: bytes) -> tuple[Any, Any]:
    """Return the two SHA-256 hash objects (inner, outer) with which HMACs of one key begin.

    The inner hash object also contains `message_prefix`, with which every message begins.
    """
    padded = (hashlib.sha256(secret).digest() if len(secret) > _BLOCK_BYTES else secret).ljust(_BLOCK_BYTES, b"\0")
    return hashlib.sha256(bytes(b ^ 0x36 for b in padded) + message_prefix), hashlib.sha256(
        bytes(b ^ 0x5C for b in padded)
    )


def _mac(inner: Any, outer: Any, message: str) -> bytes:
    """Return the HMAC-SHA256 (32 bytes) of a text, from the hash objects of its key, which are not changed."""
    first, second = inner.copy(), outer.copy()
    first.update(message.encode("utf-8"))
    second.update(first.digest())
    return bytes(second.digest())


def _format_mac(mac: bytes, text_format: str) -> str:
    """Return a 32-byte MAC as text in full length: 64 hex digits, 52 base32 letters, 60 decimal digits, or a UUID.

    `text_format` is 'hex', 'base32', 'digits' or 'uuid' (version 8, of the first 128 bits).
    """
    if text_format == "hex":
        return "".join(f"{byte:02x}" for byte in mac)
    number = int(mac.hex(), 16)
    if text_format == "base32":  # 256 bits are 51 groups of five and one bit, filled up with zeros
        number <<= 4
        return "".join(_BASE32_LETTERS[number >> 5 * position & 31] for position in range(51, -1, -1))
    if text_format == "digits":
        return str(number % 10**60).rjust(60, "0")
    bits = number >> 128
    bits = bits & ~(0xF << 76) | 0x8 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    digits = f"{bits:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
