"""Tokens: who may come in, in a file beside the database.

A file, not a table: a database is one process's at a time, and whoever checks a token shall not have to open it. A
token has 256 random bits, so a plain SHA-256 of it cannot be guessed back and needs no salt and no slow hash.
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
_MARK = "dbanon_"
"""What every token begins with, so that one in a text is found."""


@dataclass(frozen=True)
class Token:
    """One token, without the token: times are ISO 8601 in UTC."""

    name: str
    role: str
    hash: str
    made: str
    expires: str | None

    def is_valid(self, now: datetime) -> bool:
        """Return whether it has not expired."""
        return self.expires is None or now < datetime.fromisoformat(self.expires)


def file_of(database: Path) -> Path:
    """Where the tokens of a database are kept."""
    return database.with_name(database.name + ".tokens")


def add(path: Path, name: str, role: str, expires: str | None = None) -> str:
    """Make a token and keep its hash.

    Return the token, which nothing can show again. TokenExistsError, InvalidArgumentError.
    """
    if role not in ROLES:
        raise errors.InvalidArgumentError("token add", "role", " or ".join(ROLES), role)
    if not re.fullmatch(r"[\w.@+-]{1,60}", name):
        accepts = "up to 60 letters, digits and . @ + - _"
        raise errors.InvalidArgumentError("token add", "name", accepts, name)
    now = datetime.now(UTC)
    until = None if expires is None else (now + _span(expires)).isoformat(timespec="seconds")
    with _changed(path) as tokens:
        if any(token.name == name for token in tokens):
            raise errors.TokenExistsError(name)
        secret = _MARK + secrets.token_urlsafe(32)
        tokens.append(Token(name, role, _hash(secret), now.isoformat(timespec="seconds"), until))
    return secret


def revoke(path: Path, name: str) -> None:
    """Remove a token; UnknownTokenError."""
    with _changed(path) as tokens:
        if not any(token.name == name for token in tokens):
            raise errors.UnknownTokenError(name, [token.name for token in tokens])
        tokens[:] = [token for token in tokens if token.name != name]


def listed(path: Path) -> list[Token]:
    """Return all tokens in the order in which they were made; none where there is no file."""
    with contextlib.suppress(FileNotFoundError):
        return [Token(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))["tokens"]]
    return []


def _span(given: str) -> timedelta:
    """How long a token is valid."""
    found = re.fullmatch(r"([1-9]\d{0,5})([dhm])", given)
    if found is None:
        raise errors.InvalidArgumentError("token add", "expires", "days, hours or minutes: 30d, 12h, 45m", given)
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@contextlib.contextmanager
def _changed(path: Path) -> Iterator[list[Token]]:
    """Return the tokens, which are written back whole; one process at a time."""
    with _locked(path.with_name(path.name + ".lock")):
        tokens = listed(path)
        yield tokens
        with atomic_write.open_drafts({"": path}, []) as written:
            said = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=2) + "\n"
            with os.fdopen(os.open(written[""], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(said)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock; where there are no such locks, change one after the other."""
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


class Checker:
    """Who holds a token of one role; reads the file again when it has changed."""

    def __init__(self, path: Path, role: str) -> None:
        self.path, self.role = path, role
        self._seen: tuple[int, ...] | None = None
        self._tokens: list[Token] = []

    def holder(self, secret: str) -> Token | None:
        """Return the valid token that this is. Every hash is compared, each in constant time."""
        given, found, now = _hash(secret), None, datetime.now(UTC)
        for token in self._valid(now):
            if hmac.compare_digest(token.hash, given):
                found = token
        return found

    def is_valid(self, token: Token) -> bool:
        """Return whether a token that was right is still there: not revoked, not expired."""
        return any(token == other for other in self._valid(datetime.now(UTC)))

    def _valid(self, now: datetime) -> list[Token]:
        try:
            stat = self.path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if seen != self._seen:
                self._tokens, self._seen = listed(self.path), seen
        except (OSError, ValueError, KeyError, TypeError):  # a file that is gone or damaged lets nobody in
            self._tokens, self._seen = [], None
        return [token for token in self._tokens if token.role == self.role and token.is_valid(now)]
