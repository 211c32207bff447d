"""The release gate's own way to the key of pseudonyms.

A pseudonym made with another key than the one that the policy names would be true to that other key. The gate therefore
finds the key by itself: nothing here is taken from `key`, which finds it for the release.
"""

import base64
import hashlib
import os

from dbanon import errors

_ENVIRONMENT, _FILE = "env:", "file:"
_MAX_BYTES = 8192
_MIN_SECRET = 32
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def secret(reference: str) -> bytes:
    """Return the bytes of the key that a reference names, `env:NAME` or `file:/path`.

    Raises:
        PseudonymKeyMissingError: There is nothing in that place.
        WeakPseudonymKeyError: What is there is no key of 32 bytes or more.
        UnreadableKeyReferenceError: The reference names neither an environment variable nor a file.
    """
    written, where = _written(reference)
    plain = written.strip().decode("ascii", "replace")
    if not plain:
        raise errors.PseudonymKeyMissingError(where, "has no key")
    try:
        is_hex = len(plain) % 2 == 0 and _HEX_DIGITS.issuperset(plain)
        found = base64.b16decode(plain.upper()) if is_hex else _from_base64(plain)
    except ValueError:
        raise errors.WeakPseudonymKeyError(where, "it is not text in hexadecimal digits or Base64") from None
    if len(found) < _MIN_SECRET:
        raise errors.WeakPseudonymKeyError(where, f"it has {len(found)} bytes")
    return found


def fingerprint(reference: str) -> bytes:
    """Return a hash of the key that a reference names, by which equal keys are equal."""
    return hashlib.sha256(b"gate\0" + secret(reference)).digest()


def _written(reference: str) -> tuple[bytes, str]:
    """Return the text of a key as it is stored, and the name of the place for messages."""
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


def _from_base64(plain: str) -> bytes:
    digits = plain.encode("ascii").translate(_URL_SAFE).rstrip(b"=")
    return base64.b64decode(digits + b"=" * (-len(digits) % 4), validate=True)
