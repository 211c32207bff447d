"""Compute the pseudonyms and shifts that releases publish from texts and a key.

`dbanon.gate.pseudonyms` checks them and shares no code with this module.
"""

import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeVar

from dbanon.policy.transforms.formats import PseudonymFormat
from dbanon.runtime.secret_keys import SecretKey

_N_DIGITS = 60

_Result = TypeVar("_Result")


def compute_pseudonyms(
    values: Iterable[str | None], key: SecretKey, scope: str, pseudonym_format: PseudonymFormat
) -> list[str | None]:
    """Return the pseudonym of each value, in their order; None for None.

    Equal values have equal pseudonyms in one scope (a name from which, with `key`, the key of the HMAC is derived), and
    unrelated ones in two. Each pseudonym is the prefix of the format, and then the beginning of the HMAC-SHA-256 of the
    value's UTF-8 in the encoding of the format. Two values can have equal pseudonyms; a release must check this
    (`min_unique_length`). O(n), one HMAC per distinct value.

    >>> from dbanon.runtime.secret_keys import SecretKey
    >>> key, short = SecretKey("env:K", bytes(range(32))), PseudonymFormat(length=8, prefix="P-")
    >>> compute_pseudonyms(["7", None, "7"], key, "visits", short)
    ['P-1b7fbd7e', None, 'P-1b7fbd7e']
    """
    digest, encode = _keyed_digest(key.derive_scope_key(scope), b"pseudonym\0"), _ENCODERS[pseudonym_format.encoding]
    return _map_distinct(
        values, lambda value: pseudonym_format.prefix + encode(digest(value))[: pseudonym_format.length]
    )


def compute_shifts(persons: Iterable[str | None], key: SecretKey, scope: str, max_days: int) -> list[int | None]:
    """Return the number of days by which the dates of each person are shifted, in their order; None for None.

    The number is from -max_days to max_days, but not 0, and equal for equal persons in one scope with one key. O(n).
    """
    digest = _keyed_digest(key.derive_scope_key(scope), b"shift\0")
    return _map_distinct(persons, lambda person: _shift_days(digest(person), max_days))


def _map_distinct(values: Iterable[str | None], compute: Callable[[str], _Result]) -> list[_Result | None]:
    """Return the result of `compute` for each value, in their order; None for None. Equal values are computed once."""
    values = list(values)
    results = {value: compute(value) for value in set(values) if value is not None}
    return [None if value is None else results[value] for value in values]


def min_unique_length(
    values: Iterable[str], key: SecretKey, scope: str, pseudonym_format: PseudonymFormat
) -> int | None:
    """Return the minimum length, at least that of the format, at which distinct values have distinct pseudonyms.

    Lengths are without the prefix. O(n log n).

    Args:
        values: The values; those that share a pseudonym at the length of the format are enough.
        key: The secret key.
        scope: Its scope, as in `compute_pseudonyms`.
        pseudonym_format: The format.

    Returns:
        The length; None if no length of the encoding is enough.
    """
    longest = compute_pseudonyms(set(values), key, scope, pseudonym_format.longest)
    sorted_texts = sorted(p[len(pseudonym_format.prefix) :] for p in longest if p is not None)
    needed = max([_common_prefix_length(a, b) for a, b in pairwise(sorted_texts)], default=0) + 1
    return None if needed > pseudonym_format.longest.length else max(needed, pseudonym_format.length)


def _common_prefix_length(one: str, other: str) -> int:
    """Return the number of characters that two texts of equal length have in common at their beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


def _keyed_digest(key: bytes, purpose: bytes) -> Callable[[str], bytes]:
    """Return a function that computes the HMAC-SHA-256 of `purpose` followed by a text, with a key.

    `purpose` separates pseudonyms from shifts.
    """
    base_mac = hmac.new(key, purpose, hashlib.sha256)

    def digest(value: str) -> bytes:
        """Return the 32 bytes of the HMAC of a text."""
        mac = base_mac.copy()
        mac.update(value.encode())
        return mac.digest()

    return digest


def _shift_days(digest: bytes, max_days: int) -> int:
    """Return a number of days from -max_days to max_days, but not 0, derived from a digest of 256 bits.

    Equal digests give equal numbers. Since 2 * max_days is small, all numbers are practically equally likely.
    """
    offset = int.from_bytes(digest) % (2 * max_days) - max_days
    return offset if offset < 0 else offset + 1


def _uuid(digest: bytes) -> str:
    """Return a UUID of version 8 made from the first 16 bytes of a digest; equal digests give equal UUIDs."""
    return str(
        uuid.UUID(
            bytes=digest[:6] + bytes([0x80 | digest[6] & 0x0F, digest[7], 0x80 | digest[8] & 0x3F]) + digest[9:16]
        )
    )


_ENCODERS: dict[str, Callable[[bytes], str]] = {
    "hex": bytes.hex,
    "base32": lambda digest: base64.b32encode(digest).decode().rstrip("="),
    "digits": lambda digest: f"{int.from_bytes(digest) % 10**_N_DIGITS:0{_N_DIGITS}}",
    "uuid": _uuid,
}
"""Encoders of an HMAC's bits; texts of a shorter length are prefixes."""
