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
    """A reader's request for a release: the reader, and the algorithm, source and parameters of the call."""

    reader: str
    algorithm: str
    source: str
    parameters: Mapping[str, Any]

    def path(self, folder: Path) -> Path:
        """Return the path of the request's file in a folder: equal requests of one reader have the same."""
        request_json = json.dumps(asdict(self), sort_keys=True)
        return folder / f"ask-{hashlib.sha256(request_json.encode()).hexdigest()[:32]}.json"


def write_request(folder: Path, request: RequestFile) -> Path | None:
    """Write a request to its file and return the path; None if MAX_REQUESTS others are pending.

    The file of an equal pending request is not written again.
    """
    path = request.path(folder)
    if not path.exists():
        if len(list(folder.glob("ask-*.json"))) >= MAX_REQUESTS:
            return None
        with atomic_write.open_drafts({"": path}, []) as drafts:
            drafts[""].write_text(json.dumps(asdict(request)), encoding="utf-8")
    return path


@contextlib.contextmanager
def take_requests(folder: Path) -> Iterator[list[RequestFile]]:
    """Yield the pending requests, and remove their files at the end, also after an error.

    Files that cannot be read are not in the list, and are removed, too.
    """
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
    """Return whether the folder has files of pending requests."""
    return any(folder.glob("ask-*.json"))


def remove_old_requests(folder: Path) -> None:
    """Remove the files of requests that are older than an hour."""
    for path in folder.glob("ask-*.json"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _MAX_AGE_S:
                path.unlink()
