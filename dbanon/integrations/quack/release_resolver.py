"""Resolve a reader's call to its release: an existing one, or one that another process is requested to publish."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dbanon import errors
from dbanon.integrations.quack import request_files
from dbanon.integrations.quack.call_rewriter import AlgorithmCall
from dbanon.integrations.quack.request_files import RequestFile
from dbanon.ledger import permissions
from dbanon.ledger.permissions import Permission, ReleaseRequest

_MAX_WAIT_SHARE = 0.8
"""Largest share of a statement's time that it waits, so that the time limit does not end its process."""
_COPY_DELAY_S = 5.0
"""Seconds by which a copy may appear after its request is removed."""
_WAITING_STATEMENTS = threading.BoundedSemaphore(request_files.MAX_REQUESTS)
"""Bounds the waiting statements, which hold threads of the server."""


class CopyContents(Protocol):
    """The protocol of a copy of published releases: its permissions, and the releases of earlier requests."""

    @property
    def permissions(self) -> Sequence[Permission]:
        """The releases that readers may request."""

    @property
    def releases(self) -> dict[ReleaseRequest, tuple[str, str] | None]:
        """(schema, name) of the release of each request that has an outcome; None if it was refused."""


@dataclass(frozen=True)
class ReleaseResolver:
    """Finds the releases of the calls in one statement of a reader.

    Attributes:
        current_copy: Returns the newest copy.
        list_custodians: Returns the names of the custodians, for messages.
        folder: The folder for files of requests.
        reader: The name of the reader.
        seconds: The time limit of the statement.
    """

    current_copy: Callable[[], CopyContents]
    list_custodians: Callable[[], list[str]]
    folder: Path
    reader: str
    seconds: float

    def resolve(self, call: AlgorithmCall) -> tuple[str, str]:
        """Return the schema and name of the release of a call; request it, and wait for it, if it is not published yet.

        Raises:
            RequestNotPermittedError: The reader may not request it.
            InvalidArgumentError: A parameter is invalid.
            ReleaseUnavailableError: The request was refused.
            RequestLimitReachedError: As many releases of the source were requested as the permission allows.
            ReleasePendingError: The release is not published in time.
        """
        copy = self.current_copy()
        request_fields = self.reader, call.algorithm, call.source, call.parameters
        permission, release_request = permissions.find_permission(
            copy.permissions, *request_fields, self.list_custodians()
        )
        if release_request not in copy.releases:
            copy = self._request_release(permission, release_request, RequestFile(*request_fields))
        release = copy.releases[release_request]
        if release is None:
            available = _available_releases(copy, release_request.source)
            raise errors.ReleaseUnavailableError(release_request.description, available)
        return release

    def _request_release(
        self, permission: Permission, release_request: ReleaseRequest, request: RequestFile
    ) -> CopyContents:
        """Write a request for a release, and wait for and return the first copy that has its outcome.

        Args:
            permission: The permission that covers the request.
            release_request: The request as a copy identifies its outcome.
            request: The file to write.

        Raises:
            RequestLimitReachedError: As many releases of the source were requested as the permission allows. No file is
                written in this case, unless other requests reach the limit while this one is pending.
            ReleasePendingError: There is no outcome in time, or too many requests are pending, or the release could not
                be created for a reason that may not recur.
        """
        _check_number_of_requests(self.current_copy(), permission, release_request)
        end = time.monotonic() + self.seconds * _MAX_WAIT_SHARE
        if not _WAITING_STATEMENTS.acquire(blocking=False):
            raise errors.ReleasePendingError(
                release_request.description, "waits for other releases that are being created"
            )
        try:
            path = request_files.write_request(self.folder, request)
            if path is None:
                raise errors.ReleasePendingError(
                    release_request.description, "waits for other releases that are being created"
                )
            why = "is being made"
            while release_request not in (copy := self.current_copy()).releases:
                _check_number_of_requests(copy, permission, release_request)
                current_time = time.monotonic()
                if current_time > end:
                    raise errors.ReleasePendingError(release_request.description, why)
                if not path.exists():
                    why = "could not be created; the output of the server has the reason"
                    end = min(end, current_time + _COPY_DELAY_S)
                time.sleep(0.1)
            return copy
        finally:
            _WAITING_STATEMENTS.release()


def _check_number_of_requests(copy: CopyContents, permission: Permission, release_request: ReleaseRequest) -> None:
    """Raise RequestLimitReachedError if a request without an outcome exceeds the maximum number of the permission."""
    if len(permissions.requests_of_source(copy.releases, release_request.source)) >= permission.max_requests:
        available = _available_releases(copy, release_request.source)
        raise errors.RequestLimitReachedError(
            release_request.description, release_request.source, permission.max_requests, available
        )


def _available_releases(copy: CopyContents, source: str) -> list[str]:
    """Return the calls of a source whose releases are in a copy."""
    requests = permissions.requests_of_source((r for r, release in copy.releases.items() if release), source)
    return [request.description for request in requests]
