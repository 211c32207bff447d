"""What readers ask to be released, as files: the process that answers them has no database, and who has it looks here.

A file says who asks for which call. Whoever opens the database judges that anew, makes the release and the copy with
it, and removes the file. The copy then tells what became of it.
"""

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dbanon.runtime import atomic_write

_HOUR = 3600.0
MOST = 4
"""Requests that wait at once; others are told to come again."""


@dataclass(frozen=True)
class Request:
    """Who asks for which call; `given` are the parameters that he says."""

    reader: str
    algorithm: str
    source: str
    given: Mapping[str, Any]

    def file(self, folder: Path) -> Path:
        """Where it is written: the same asking of the same reader in the same file."""
        said = json.dumps(asdict(self), sort_keys=True)
        return folder / f"ask-{hashlib.sha256(said.encode()).hexdigest()[:32]}.json"


def write(folder: Path, request: Request) -> Path | None:
    """Leave a request; None where too many wait."""
    path = request.file(folder)
    if not path.exists():
        if len(list(folder.glob("ask-*.json"))) >= MOST:
            return None
        with atomic_write.open_drafts({"": path}, []) as written:
            written[""].write_text(json.dumps(asdict(request)), encoding="utf-8")
    return path


@contextlib.contextmanager
def taken(folder: Path) -> Iterator[list[Request]]:
    """Return the requests that wait; they are removed behind it, whatever came of them."""
    found: dict[Path, Request] = {}
    paths = sorted(folder.glob("ask-*.json"))
    for path in paths:
        with contextlib.suppress(OSError, ValueError, TypeError):
            request = Request(**json.loads(path.read_text(encoding="utf-8")))
            named = all(isinstance(part, str) for part in (request.reader, request.algorithm, request.source))
            if named and isinstance(request.given, dict):
                found[path] = request
    try:
        yield list(found.values())
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def waiting(folder: Path) -> bool:
    """Return whether there are any."""
    return any(folder.glob("ask-*.json"))


def forget_old(folder: Path) -> None:
    """Remove what nobody answered for an hour."""
    for path in folder.glob("ask-*.json"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _HOUR:
                path.unlink()
