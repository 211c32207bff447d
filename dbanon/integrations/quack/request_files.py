"""Requests of readers for releases, as files: the process that serves readers has no database.

A file contains the reader and the call. The process that opens the database checks it again, publishes the release and
a copy with it, and removes the file. The copy has the outcome.
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

_MAX_AGE_S = 3600.0
MAX_REQUESTS = 4
"""Largest number of pending requests; a reader with another one is asked to try again later."""


@dataclass(frozen=True)
class RequestFile:
    """A request for a release: reader, algorithm, source and parameters of the call."""

    reader: str
    algorithm: str
    source: str
    parameters: Mapping[str, Any]

    def path(self, folder: Path) -> Path:
        """Return the path of the file: equal requests of one reader have the same."""
        request_json = json.dumps(asdict(self), sort_keys=True)
        return folder / f"ask-{hashlib.sha256(request_json.encode()).hexdigest()[:32]}.json"


def write_request(folder: Path, request: RequestFile) -> Path | None:
    """Write a request and return its path; None if too many are pending."""
    path = request.path(folder)
    if not path.exists():
        if len(list(folder.glob("ask-*.json"))) >= MAX_REQUESTS:
            return None
        with atomic_write.open_drafts({"": path}, []) as drafts:
            drafts[""].write_text(json.dumps(asdict(request)), encoding="utf-8")
    return path


@contextlib.contextmanager
def take_requests(folder: Path) -> Iterator[list[RequestFile]]:
    """Return a context manager for the pending requests, whose files are removed at its end in any case."""
    requests: dict[Path, RequestFile] = {}
    paths = sorted(folder.glob("ask-*.json"))
    for path in paths:
        with contextlib.suppress(OSError, ValueError, TypeError):
            request = RequestFile(**json.loads(path.read_text(encoding="utf-8")))
            has_texts = all(isinstance(part, str) for part in (request.reader, request.algorithm, request.source))
            if has_texts and isinstance(request.parameters, dict):
                requests[path] = request
    try:
        yield list(requests.values())
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def has_requests(folder: Path) -> bool:
    """Return whether there are pending requests."""
    return any(folder.glob("ask-*.json"))


def remove_old_requests(folder: Path) -> None:
    """Remove requests that were not answered for an hour."""
    for path in folder.glob("ask-*.json"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _MAX_AGE_S:
                path.unlink()
