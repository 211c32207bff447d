"""Read the key of pseudonyms for the release gate.

A pseudonym that was made with a wrong key would pass a check with that same key. The gate therefore reads the key by
itself and uses nothing of `dbanon.runtime.secret_keys`, which reads it for the release.
"""

import base64
import hashlib
import os

from dbanon import errors

_ENVIRONMENT, _FILE = "env:", "file:"
_MAX_BYTES = 8192
_MIN_KEY_BYTES = 32
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


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
