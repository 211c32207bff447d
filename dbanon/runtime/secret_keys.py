"""The secret key of pseudonyms: where to find it, its minimum quality, and the keys derived from it for each scope.

A key is at least 32 random bytes, in an environment variable or a file and nowhere else. It is read when it is needed
and not stored: plans, ledgers, messages and caches contain its reference ('env:NAME', 'file:/path') and its id.
"""

import base64
import binascii
import hmac
import os
import re
import stat
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from dbanon import errors

DEFAULT_REFERENCE = "env:DBANON_KEY"
"""The reference of the key unless the policy or the call names another."""

MIN_BYTES = 32
MIN_DISTINCT = 20
"""Minimum number of distinct bytes, and of distinct differences of adjacent bytes. Of 32 random bytes 30 are distinct;
fewer than 20 are distinct in less than one of 10^11 keys, and in nearly every text written by a person.
"""

_HEX = re.compile(r"[0-9a-fA-F]+")
_MAX_CHARACTERS = 8192
"""Characters of a file that are read; no key is longer."""


@dataclass(frozen=True)
class SecretKey:
    """The bytes of a secret key and the reference under which it was found; its `repr` shows only the reference."""

    reference: str
    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The key's identifier: 16 hexadecimal digits that distinguish keys and reveal nothing about their bytes."""
        return hmac.digest(self.secret, b"dbanon key id 1", "sha256").hex()[:16]

    def derive_scope_key(self, scope: str) -> bytes:
        """Return the 32-byte key of one scope, such as one release: the HMAC-SHA256 of the scope's name with this key.

        A person who has it learns nothing about this key or the keys of other scopes.
        """
        return hmac.digest(self.secret, b"dbanon scope 1\0" + scope.encode(), "sha256")


def find_key(reference: str | None = None) -> SecretKey:
    """Read and return the key of a reference: 'env:NAME' or 'file:/absolute/path' (None: DEFAULT_REFERENCE).

    The text in the variable or file is decoded from hexadecimal digits or Base64.

    Raises:
        UnreadableKeyReferenceError: The reference has neither form.
        PseudonymKeyMissingError: There is no such variable or file, or it is empty.
        WeakPseudonymKeyError: The text has neither encoding, or the key is too short or not random.
    """
    reference = reference or DEFAULT_REFERENCE
    kind, name = parse_reference(reference)
    key_text = os.environ.get(name) if kind == "env" else _read_key_file(name)
    if key_text is None or not key_text.strip():
        raise errors.PseudonymKeyMissingError(
            _describe_reference(kind, name), "is empty" if key_text is not None else _missing_reason(kind, name)
        )
    return SecretKey(reference, _decode_key(key_text.strip(), _describe_reference(kind, name)))


def parse_reference(reference: str) -> tuple[str, str]:
    """Split a key's reference into its kind ('env' or 'file') and the name of a variable or an absolute path (or ~).

    Nothing is read.

    Raises:
        UnreadableKeyReferenceError: The reference has another form, or the name of the variable looks like a key. The
            message does not repeat the reference: it may be a key.
    """
    kind, colon, name = reference.partition(":")
    looks_like_key = len(name) >= MIN_BYTES and _HEX.fullmatch(name) is not None
    if kind == "env" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,39}", name) and not looks_like_key:
        return kind, name
    if kind == "file" and colon and "\0" not in name and (name.startswith("~") or Path(name).is_absolute()):
        return kind, name
    raise errors.UnreadableKeyReferenceError("key")


def shared_file_mode(reference: str) -> str | None:
    """Return the mode of a key's file, such as `0o644`, if users other than its owner have any permission; else None.

    None also for environment variables, for a file that cannot be read, and on systems without such modes.
    """
    kind, name = parse_reference(reference)
    if kind != "file" or os.name != "posix":
        return None
    try:
        mode = stat.S_IMODE(Path(name).expanduser().stat().st_mode)
    except OSError:
        return None
    return oct(mode) if mode & 0o077 else None


def _describe_reference(kind: str, name: str) -> str:
    """Return "the environment variable NAME" or "the file NAME", for messages."""
    return f"the environment variable {name}" if kind == "env" else f"the file {name}"


def _read_key_file(name: str) -> str | None:
    """Return at most 8192 characters of a key's file; None if it does not exist or cannot be read.

    Raises:
        WeakPseudonymKeyError: The file is not ASCII text.
    """
    try:
        with Path(name).expanduser().open(encoding="ascii") as file:
            return file.read(_MAX_CHARACTERS)
    except UnicodeDecodeError:
        raise errors.WeakPseudonymKeyError(
            _describe_reference("file", name), "it is not text in hexadecimal digits or Base64"
        ) from None
    except (OSError, RuntimeError):  # no home for ~
        return None


def _missing_reason(kind: str, name: str) -> str:
    """Return why no key was read, as the end of a sentence for a message.

    Args:
        kind: "env" for a variable ("is not set") or "file" for a file ("cannot be read" or "does not exist").
        name: The name of the variable or the path of the file.
    """
    if kind == "env":
        return "is not set"
    try:
        exists = Path(name).expanduser().is_file()
    except (OSError, RuntimeError):
        exists = False
    return "cannot be read" if exists else "does not exist"


def _decode_key(text: str, description: str) -> bytes:
    """Return the bytes of a key from hexadecimal digits or Base64 (standard or URL-safe, with or without padding).

    Args:
        text: The key as text.
        description: Where the key was found, for messages.

    Raises:
        WeakPseudonymKeyError: The text is encoded in neither way, has fewer than 32 bytes, or its bytes are not random:
            they repeat, or fewer than 20 of them (or of the differences of adjacent ones) are distinct.
    """
    if _HEX.fullmatch(text) and len(text) % 2 == 0:
        secret = bytes.fromhex(text)
    else:
        try:
            standard_base64 = text.replace("-", "+").replace("_", "/").rstrip("=")
            secret = base64.b64decode(standard_base64 + "=" * (-len(standard_base64) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise errors.WeakPseudonymKeyError(description, "it is not text in hexadecimal digits or Base64") from None
    if len(secret) < MIN_BYTES:
        raise errors.WeakPseudonymKeyError(description, f"it has {len(secret)} bytes")
    differences = {(b - a) % 256 for a, b in pairwise(secret)}
    is_periodic = _period(secret) < min(MIN_BYTES, len(secret) // 2 + 1)
    if is_periodic or min(len(set(secret)), len(differences)) < MIN_DISTINCT:
        raise errors.WeakPseudonymKeyError(description, "its bytes are not random: they repeat or follow a pattern")
    return secret


def _period(secret: bytes) -> int:
    """Return the least number of bytes after which a key repeats itself; its length if it does not."""
    return next((n for n in range(1, len(secret)) if secret[n:] == secret[:-n]), len(secret))
