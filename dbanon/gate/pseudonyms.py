"""Read the key and compute pseudonyms and date shifts for the release gate, from the definition of HMAC (RFC 2104).

The module uses nothing of dbanon.policy.transforms or Python's hmac, so that an error there is not repeated here. A
pseudonym that was made with a wrong key would pass a check with that same key; so nothing of
`dbanon.runtime.secret_keys` is used either, which reads the key for the release.
"""

import base64
import hashlib
import os
from typing import Any

from dbanon import errors

_BLOCK_BYTES = 64
_BASE32_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_ENVIRONMENT, _FILE = "env:", "file:"
_MAX_BYTES = 8192
_MIN_KEY_BYTES = 32
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


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

    The settings are `key` (a reference such as 'env:NAME') and `scope`. Errors are those of `read_key`.
    """
    inner, outer = _hmac_hashes(read_key(settings["key"]), b"dbanon scope 1\0")
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


def read_key(reference: str) -> bytes:
    """Return the bytes of the secret key that a reference such as `env:NAME` or `file:/path` names.

    The stored text is hexadecimal digits or Base64. Randomness of the key is not checked here.

    Raises:
        PseudonymKeyMissingError: The variable or the file is missing or empty.
        WeakPseudonymKeyError: Its content is not a key of at least 32 bytes.
        UnreadableKeyReferenceError: The reference names neither an environment variable nor a file.
    """
    stored_bytes, location = _stored_key(reference)
    key_text = stored_bytes.strip().decode("ascii", "replace")
    if not key_text:
        raise errors.PseudonymKeyMissingError(location, "has no key")
    try:
        is_hex = len(key_text) % 2 == 0 and _HEX_DIGITS.issuperset(key_text)
        key = base64.b16decode(key_text.upper()) if is_hex else _from_base64(key_text)
    except ValueError:
        raise errors.WeakPseudonymKeyError(location, "it is not text in hexadecimal digits or Base64") from None
    if len(key) < _MIN_KEY_BYTES:
        raise errors.WeakPseudonymKeyError(location, f"it has {len(key)} bytes")
    return key


def fingerprint(reference: str) -> bytes:
    """Return a SHA-256 hash of the key that a reference names, to compare keys; errors are those of `read_key`."""
    return hashlib.sha256(b"gate\0" + read_key(reference)).digest()


def _stored_key(reference: str) -> tuple[bytes, str]:
    """Return the stored bytes of a key's text (b"" if a variable is not set) and a phrase for their location.

    Raises:
        PseudonymKeyMissingError: The file cannot be read.
        UnreadableKeyReferenceError: The reference begins with neither `env:` nor `file:`.
    """
    if reference.startswith(_ENVIRONMENT):
        name = reference[len(_ENVIRONMENT) :]
        return os.fsencode(os.getenv(name, "")), f"the environment variable {name}"
    if reference.startswith(_FILE):
        name = reference[len(_FILE) :]
        try:
            with open(os.path.expanduser(name), "rb") as file:  # noqa: PTH111, PTH123
                return file.read(_MAX_BYTES), f"the file {name}"
        except OSError:
            raise errors.PseudonymKeyMissingError(f"the file {name}", "cannot be read") from None
    raise errors.UnreadableKeyReferenceError("key")


def _from_base64(encoded: str) -> bytes:
    """Return the bytes of standard or URL-safe Base64, with or without padding."""
    digits = encoded.encode("ascii").translate(_URL_SAFE).rstrip(b"=")
    return base64.b64decode(digits + b"=" * (-len(digits) % 4), validate=True)
