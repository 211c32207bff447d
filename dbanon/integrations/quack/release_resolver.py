"""How a reader's call finds its release: the one that there is, or one that another process is asked to make."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dbanon import errors
from dbanon.integrations.quack import request_files
from dbanon.integrations.quack.call_rewriter import Call
from dbanon.integrations.quack.request_files import Request
from dbanon.ledger import permissions
from dbanon.ledger.permissions import Permission, ReleaseRequest

_SHARE = 0.8
"""Of the seconds that a statement has, those that it waits at most: whoever answers must not be ended for waiting."""
_BEHIND = 2.0
"""Seconds by which a copy is noticed later than that the request for it is gone."""
_WAITING = threading.BoundedSemaphore(request_files.MOST)
"""Statements that wait hold threads of the server."""


class Known(Protocol):
    """What a copy tells: what readers may ask for, and the releases of what was asked for, None where there is none."""

    @property
    def permissions(self) -> Sequence[Permission]: ...

    @property
    def releases(self) -> dict[ReleaseRequest, tuple[str, str] | None]: ...


@dataclass(frozen=True)
class Releases:
    """The releases that one reader asks for in one statement.

    `newest` is the newest copy, `whom` the custodians, `folder` where requests are left.
    """

    newest: Callable[[], Known]
    whom: Callable[[], list[str]]
    folder: Path
    reader: str
    seconds: float

    def of(self, call: Call) -> tuple[str, str]:
        """Return the schema and name of the release of a call.

        RequestNotPermittedError, InvalidArgumentError, ReleaseUnavailableError, ReleasePendingError.
        """
        known = self.newest()
        asked = self.reader, call.algorithm, call.source, call.given
        _, asking = permissions.find_permission(known.permissions, *asked, self.whom())
        if asking not in known.releases:
            known = self._made(asking, Request(*asked))
        release = known.releases[asking]
        if release is None:
            others = [a.said for a, r in known.releases.items() if r and a.source == asking.source]
            raise errors.ReleaseUnavailableError(asking.said, others)
        return release

    def _made(self, asking: ReleaseRequest, request: Request) -> Known:
        """Ask for a release, and wait for the copy that says what became of it."""
        end = time.monotonic() + self.seconds * _SHARE
        if not _WAITING.acquire(blocking=False):
            raise errors.ReleasePendingError(asking.said, "waits for others that are being made")
        try:
            path = request_files.write(self.folder, request)
            if path is None:
                raise errors.ReleasePendingError(asking.said, "waits for others that are being made")
            while asking not in (known := self.newest()).releases:
                now = time.monotonic()
                if now > end:
                    raise errors.ReleasePendingError(asking.said)
                if not path.exists():
                    end = min(end, now + _BEHIND)
                time.sleep(0.1)
            return known
        finally:
            _WAITING.release()
