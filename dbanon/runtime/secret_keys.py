"""The key of pseudonyms: where it is found, what it must be, and the keys of releases that are derived from it.

A key is at least 32 random bytes, in an environment variable or a file and nowhere else. It is read when it is needed
and not kept: plans, ledgers, messages and caches have the reference ('env:NAME', 'file:/path') and the key's id.
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

DEFAULT = "env:DBANON_KEY"
"""Where the key is looked for unless the policy or the call says otherwise."""

LEAST_BYTES = 32
LEAST_DIFFERENT = 20
"""Different bytes, and different steps between neighbours, of a key of 32 bytes or more. Of 32 random bytes 30 differ;
fewer than 20 do in less than one of 10^11 keys, and in nearly every text that somebody made up."""

_HEX = re.compile(r"[0-9a-fA-F]+")
_MOST_READ = 8192
"""Characters of a file that are read: no key is longer."""


@dataclass(frozen=True)
class Key:
    """A key that was found; what is shown of it is where it was and its id."""

    reference: str
    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """16 hexadecimal digits that tell keys apart and tell nothing else of them."""
        return hmac.digest(self.secret, b"dbanon key id 1", "sha256").hex()[:16]

    def scoped(self, scope: str) -> bytes:
        """Return the key of one scope (a release, as a rule).

        Who has it learns nothing of this key or of other scopes.
        """
        return hmac.digest(self.secret, b"dbanon scope 1\0" + scope.encode(), "sha256")


def find(reference: str | None = None) -> Key:
    """Return the key that a reference names: 'env:NAME' or 'file:/absolute/path' (None: DEFAULT).

    Raises UnreadableKeyReferenceError, PseudonymKeyMissingError (says where it was looked for) or
    WeakPseudonymKeyError.
    """
    reference = reference or DEFAULT
    kind, name = checked(reference)
    given = os.environ.get(name) if kind == "env" else _read(name)
    if given is None or not given.strip():
        raise errors.PseudonymKeyMissingError(_shown(kind, name), "is empty" if given is not None else _why(kind, name))
    return Key(reference, _decoded(given.strip(), _shown(kind, name)))


def checked(reference: str) -> tuple[str, str]:
    """The kind (env or file) and the name of a reference; UnreadableKeyReferenceError, which repeats nothing: what
    stands in place of a reference may be a key."""
    kind, colon, name = reference.partition(":")
    looks_like_key = len(name) >= LEAST_BYTES and _HEX.fullmatch(name) is not None
    if kind == "env" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,39}", name) and not looks_like_key:
        return kind, name
    if kind == "file" and colon and "\0" not in name and (name.startswith("~") or Path(name).is_absolute()):
        return kind, name
    raise errors.UnreadableKeyReferenceError("key")


def open_to_others(reference: str) -> str | None:
    """The mode of a key's file, as `0o644`, where others than its owner may read or write it; None where they may not,
    for environment variables, and where the system has no such modes."""
    kind, name = checked(reference)
    if kind != "file" or os.name != "posix":
        return None
    try:
        mode = stat.S_IMODE(Path(name).expanduser().stat().st_mode)
    except OSError:
        return None
    return oct(mode) if mode & 0o077 else None


def _shown(kind: str, name: str) -> str:
    return f"the environment variable {name}" if kind == "env" else f"the file {name}"


def _read(name: str) -> str | None:
    try:
        with Path(name).expanduser().open(encoding="ascii") as file:
            return file.read(_MOST_READ)
    except UnicodeDecodeError:
        raise errors.WeakPseudonymKeyError(
            _shown("file", name), "it is not text in hexadecimal digits or Base64"
        ) from None
    except (OSError, RuntimeError):  # no home for ~
        return None


def _why(kind: str, name: str) -> str:
    if kind == "env":
        return "is not set"
    try:
        exists = Path(name).expanduser().is_file()
    except (OSError, RuntimeError):
        exists = False
    return "cannot be read" if exists else "does not exist"


def _decoded(text: str, where: str) -> bytes:
    """Return the bytes of a key; WeakPseudonymKeyError where they are too few, no encoding of bytes, or not random."""
    if _HEX.fullmatch(text) and len(text) % 2 == 0:
        secret = bytes.fromhex(text)
    else:
        try:
            plain = text.replace("-", "+").replace("_", "/").rstrip("=")
            secret = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise errors.WeakPseudonymKeyError(where, "it is not text in hexadecimal digits or Base64") from None
    if len(secret) < LEAST_BYTES:
        raise errors.WeakPseudonymKeyError(where, f"it has {len(secret)} bytes")
    steps = {(b - a) % 256 for a, b in pairwise(secret)}
    repeats = _period(secret) < min(LEAST_BYTES, len(secret) // 2 + 1)
    if repeats or min(len(set(secret)), len(steps)) < LEAST_DIFFERENT:
        raise errors.WeakPseudonymKeyError(where, "its bytes are not random: they repeat or follow a pattern")
    return secret


def _period(secret: bytes) -> int:
    """After how many bytes a key repeats itself; its length where it does not."""
    return next((n for n in range(1, len(secret)) if secret[n:] == secret[:-n]), len(secret))
