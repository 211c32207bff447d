"""Tokens that give access to a server, in a file next to the database.

A file, not a table: only one process at a time can open a database, and checking a token must not require that. A
token has 256 random bits, so a plain SHA-256 of it cannot be guessed and needs no salt and no slow hash.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dbanon import errors
from dbanon.runtime import atomic_write

ROLES = ("reader", "custodian")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_PREFIX = "dbanon_"
"""Beginning of every token, so that it can be found in texts."""


@dataclass(frozen=True)
class AccessToken:
    """A token as it is stored: without its secret, of which it has the SHA-256 in hex (`hash`).

    `made` and `expires` are times in ISO 8601 in UTC; `expires` is None if it never does.
    """

    name: str
    role: str
    hash: str
    made: str
    expires: str | None

    def is_valid(self, time: datetime) -> bool:
        """Return whether the token has not expired at the given time."""
        return self.expires is None or time < datetime.fromisoformat(self.expires)


def token_file(database: Path) -> Path:
    """Return the path of the file with the tokens of a database, next to it."""
    return database.with_name(database.name + ".tokens")


def add_token(path: Path, name: str, role: str, expires: str | None = None) -> str:
    """Create a token, store it in the file without its secret, and return the secret, which cannot be shown again.

    `expires` is a duration such as '30d'; None for no limit.

    Raises:
        TokenExistsError: There is a token of that name.
        InvalidArgumentError: The role, name or duration is invalid.
    """
    if role not in ROLES:
        raise errors.InvalidArgumentError("token add", "role", " or ".join(ROLES), role)
    if not re.fullmatch(r"[\w.@+-]{1,60}", name):
        raise errors.InvalidArgumentError("token add", "name", "up to 60 letters, digits and . @ + - _", name)
    created = datetime.now(UTC)
    expiry = None if expires is None else (created + _parse_duration(expires)).isoformat(timespec="seconds")
    with _edit_tokens(path) as tokens:
        if any(token.name == name for token in tokens):
            raise errors.TokenExistsError(name)
        secret = _PREFIX + secrets.token_urlsafe(32)
        tokens.append(AccessToken(name, role, _hash(secret), created.isoformat(timespec="seconds"), expiry))
    return secret


def revoke_token(path: Path, name: str) -> None:
    """Remove the token of this name from the file.

    Raises:
        UnknownTokenError: There is no token of that name.
    """
    with _edit_tokens(path) as tokens:
        if not any(token.name == name for token in tokens):
            raise errors.UnknownTokenError(name, [token.name for token in tokens])
        tokens[:] = [token for token in tokens if token.name != name]


def read_tokens(path: Path) -> list[AccessToken]:
    """Return all tokens in the file, in the order of their creation; an empty list if there is no file."""
    with contextlib.suppress(FileNotFoundError):
        return [AccessToken(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))["tokens"]]
    return []


def _parse_duration(duration: str) -> timedelta:
    """Return a duration such as 30d, 12h or 45m (days, hours, minutes) as a timedelta.

    Raises:
        InvalidArgumentError: The text is no such duration.
    """
    match = re.fullmatch(r"([1-9]\d{0,5})([dhm])", duration)
    if match is None:
        raise errors.InvalidArgumentError("token add", "expires", "days, hours or minutes: 30d, 12h, 45m", duration)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _hash(secret: str) -> str:
    """Return the SHA-256 of a secret in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


@contextlib.contextmanager
def _edit_tokens(path: Path) -> Iterator[list[AccessToken]]:
    """Yield the list of tokens for changes, and write it to the file at the end; only one process at a time can.

    If the block raises an error, nothing is written.
    """
    with _file_lock(path.with_name(path.name + ".lock")):
        tokens = read_tokens(path)
        yield tokens
        with atomic_write.open_drafts({"": path}, []) as drafts:
            content = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=2) + "\n"
            with os.fdopen(os.open(drafts[""], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(content)


@contextlib.contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file during the block, after other processes release it; it is created if missing.

    On systems without file locks, do nothing.
    """
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        yield
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# --- checking --------------------------------------------------------------------------------------------------------


class TokenChecker:
    """Checks secrets against the tokens of one role; the file is read again after it has changed."""

    def __init__(self, path: Path, role: str) -> None:
        """Store the file and the role; nothing is read yet."""
        self.path, self.role = path, role
        self._file_state: tuple[int, ...] | None = None
        self._tokens: list[AccessToken] = []

    def find_token(self, secret: str) -> AccessToken | None:
        """Return the valid token with this secret; None if there is none.

        Every hash is compared, each in constant time.
        """
        secret_hash, holder, current_time = _hash(secret), None, datetime.now(UTC)
        for token in self._valid_tokens(current_time):
            if hmac.compare_digest(token.hash, secret_hash):
                holder = token
        return holder

    def is_valid(self, token: AccessToken) -> bool:
        """Return whether a token that was accepted earlier is still in the file unchanged and has not expired."""
        return any(token == other for other in self._valid_tokens(datetime.now(UTC)))

    def _valid_tokens(self, time: datetime) -> list[AccessToken]:
        """Return the tokens of the role that have not expired at a time; empty if the file cannot be read."""
        try:
            stat = self.path.stat()
            file_state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if file_state != self._file_state:
                self._tokens, self._file_state = read_tokens(self.path), file_state
        except (OSError, ValueError, KeyError, TypeError):  # without a readable file there is no valid token
            self._tokens, self._file_state = [], None
        return [token for token in self._tokens if token.role == self.role and token.is_valid(time)]
