"""Requests for a release are limited in time and number."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.serving import wait_until

from dbanon import errors
from dbanon.integrations.quack import release_resolver, request_files
from dbanon.integrations.quack.call_rewriter import AlgorithmCall
from dbanon.integrations.quack.release_resolver import ReleaseResolver
from dbanon.ledger.permissions import Permission, ReleaseRequest

pytestmark = pytest.mark.all_cases


def releases(
    folder: Path, seconds: float, outcomes: dict[ReleaseRequest, tuple[str, str] | None] | None = None
) -> ReleaseResolver:
    permission = Permission("visits", ("kacpc",), 10, max_requests=3)
    known_namespace = SimpleNamespace(permissions=[permission], releases={} if outcomes is None else outcomes)
    return ReleaseResolver(lambda: known_namespace, list, folder, "alice", seconds)


def outcomes_of(**releases_by_source: list[tuple[str, str] | None]) -> dict[ReleaseRequest, tuple[str, str] | None]:
    """Return outcomes of requests for k = 20, 21, ... of each source."""
    return {
        ReleaseRequest.from_call("kacpc", source, {"k": 20 + i}): release
        for source, source_releases in releases_by_source.items()
        for i, release in enumerate(source_releases)
    }


def test_pending_request_ends_at_statement_time_limit(tmp_path: Path) -> None:
    with pytest.raises(errors.ReleasePendingError, match="is being made"):
        releases(tmp_path, 0.05).resolve(AlgorithmCall("kacpc", "", "visits", {"k": 10}))
    with request_files.take_requests(tmp_path) as waiting:
        assert waiting == [request_files.RequestFile("alice", "kacpc", "visits", {"k": 10})]
    assert not request_files.has_requests(tmp_path)


def test_pending_requests_limited_in_number(tmp_path: Path) -> None:
    for k in range(10, 10 + request_files.MAX_REQUESTS):
        with pytest.raises(errors.ReleasePendingError):
            releases(tmp_path, 0.1).resolve(AlgorithmCall("kacpc", "", "visits", {"k": k}))
    with pytest.raises(errors.ReleasePendingError, match="waits for other"):
        releases(tmp_path, 0.1).resolve(AlgorithmCall("kacpc", "", "visits", {"k": 99}))
    assert len(list(tmp_path.iterdir())) == request_files.MAX_REQUESTS


def test_request_beyond_max_requests_refused_at_once(tmp_path: Path) -> None:
    outcomes = outcomes_of(visits=[("asked", "a"), None], VISITS=[None], patients=[("asked", "b")] * 5)
    resolver = releases(tmp_path, 30.0, outcomes)
    assert resolver.resolve(AlgorithmCall("kacpc", "", "visits", {"k": 20})) == ("asked", "a")
    with pytest.raises(errors.ReleaseUnavailableError, match="cannot be released"):
        resolver.resolve(AlgorithmCall("kacpc", "", "visits", {"k": 21}))
    with pytest.raises(errors.RequestLimitReachedError) as caught:
        resolver.resolve(AlgorithmCall("kacpc", "", "Visits", {"k": 99}))
    assert str(caught.value) == (
        "kacpc('visits', k=99) is not created: readers may request at most 3 different releases of 'visits' (refused "
        "ones count), and these were requested already. Existing releases: kacpc('visits', k=20). Hint: ask for an "
        "existing one, or ask the custodian of the data for a greater max_requests in dbanon.permission."
    )
    assert not request_files.has_requests(tmp_path)


def test_requests_of_other_sources_do_not_count(tmp_path: Path) -> None:
    outcomes = outcomes_of(visits=[None, None], patients=[None] * 5)
    with pytest.raises(errors.ReleasePendingError, match="is being made"):
        releases(tmp_path, 0.05, outcomes).resolve(AlgorithmCall("kacpc", "", "visits", {"k": 99}))


def _after_request(folder: Path, change: Callable[[], object]) -> threading.Thread:
    """Start and return a thread that makes a change and removes the request's file, as soon as the file exists."""

    def wait_and_change() -> None:
        wait_until(lambda: request_files.has_requests(folder))
        with request_files.take_requests(folder):
            change()

    thread = threading.Thread(target=wait_and_change)
    thread.start()
    return thread


def test_limit_reached_while_request_is_pending(tmp_path: Path) -> None:
    outcomes = outcomes_of(visits=[None, None])
    thread = _after_request(tmp_path, lambda: outcomes.update(outcomes_of(visits=[None] * 3)))
    with pytest.raises(errors.RequestLimitReachedError, match="at most 3 different releases of 'visits'"):
        releases(tmp_path, 30.0, outcomes).resolve(AlgorithmCall("kacpc", "", "visits", {"k": 99}))
    thread.join()


def test_request_without_outcome_is_not_called_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_resolver, "_COPY_DELAY_S", 0.1)
    thread = _after_request(tmp_path, list)
    with pytest.raises(errors.ReleasePendingError, match=r"could not be created; .* Hint: try again later\.$"):
        releases(tmp_path, 30.0).resolve(AlgorithmCall("kacpc", "", "visits", {"k": 99}))
    thread.join()
