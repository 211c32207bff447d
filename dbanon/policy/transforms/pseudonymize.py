"""Compute the pseudonyms and shifts that releases publish from texts and a key.

`dbanon.gate.pseudonyms` checks them and shares no code with this module.
"""

import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable, Iterable
from itertools import pairwise

from dbanon.policy.transforms.formats import Form
from dbanon.runtime.secret_keys import SecretKey

_MOST_DIGITS = 60


def pseudonyms(values: Iterable[str | None], key: SecretKey, scope: str, form: Form) -> list[str | None]:
    """Return the pseudonym of each value, None of None.

    Equal values have equal pseudonyms in one scope, and unrelated ones in two: each is the beginning of the
    HMAC-SHA-256 of the value's UTF-8, by the key of the scope, in the form. Two values can share a beginning: whoever
    publishes these looks for that (`least_length`). O(n), one HMAC for each different value.

    >>> from dbanon.runtime.secret_keys import SecretKey
    >>> pseudonyms(["7", None, "7"], SecretKey("env:K", bytes(range(32))), "visits", Form(length=8, prefix="P-"))
    ['P-1b7fbd7e', None, 'P-1b7fbd7e']
    """
    digest, written = _digesting(key.derive_scope_key(scope), b"pseudonym\0"), _WRITTEN[form.format]
    known: dict[str | None, str | None] = {None: None}
    return [
        known[v] if v in known else known.setdefault(v, form.prefix + written(digest(v))[: form.length])  # type: ignore[arg-type]
        for v in values
    ]


def shifts(persons: Iterable[str | None], key: SecretKey, scope: str, days: int) -> list[int | None]:
    """By how many days the dates of each person are shifted: one of -days to days except 0, None of None. O(n)."""
    digest = _digesting(key.derive_scope_key(scope), b"shift\0")
    known: dict[str | None, int | None] = {None: None}
    return [known[p] if p in known else known.setdefault(p, _days(digest(p), days)) for p in persons]  # type: ignore[arg-type]


def least_length(values: Iterable[str], key: SecretKey, scope: str, form: Form) -> int | None:
    """Return the fewest characters by which the pseudonyms of different values differ; None where no length holds.

    It is at least `form.length`, and it is enough to give it those values that share a pseudonym of that length. O(n
    log n).
    """
    whole = pseudonyms(set(values), key, scope, form.longest)
    texts = sorted(p[len(form.prefix) :] for p in whole if p is not None)
    needed = max([_common(a, b) for a, b in pairwise(texts)], default=0) + 1
    return None if needed > form.longest.length else max(needed, form.length)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


def _digesting(key: bytes, what: bytes) -> Callable[[str], bytes]:
    """Return the HMAC of a text by a key; `what` keeps pseudonyms and shifts apart."""
    begun = hmac.new(key, what, hashlib.sha256)

    def digest(value: str) -> bytes:
        of = begun.copy()
        of.update(value.encode())
        return of.digest()

    return digest


def _days(digest: bytes, most: int) -> int:
    """Return a number of days from 256 random bits; 2 * most is small beside these, so no number is more likely."""
    at = int.from_bytes(digest) % (2 * most) - most
    return at if at < 0 else at + 1


def _uuid(digest: bytes) -> str:
    return str(
        uuid.UUID(
            bytes=digest[:6] + bytes([0x80 | digest[6] & 0x0F, digest[7], 0x80 | digest[8] & 0x3F]) + digest[9:16]
        )
    )


_WRITTEN: dict[str, Callable[[bytes], str]] = {
    "hex": bytes.hex,
    "base32": lambda digest: base64.b32encode(digest).decode().rstrip("="),
    "digits": lambda digest: f"{int.from_bytes(digest) % 10**_MOST_DIGITS:0{_MOST_DIGITS}}",
    "uuid": _uuid,
}
"""How the bits of an HMAC are written; texts of a shorter length are its beginning."""
