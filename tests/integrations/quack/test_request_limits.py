"""Pending requests for a release are limited in time and number."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dbanon import errors
from dbanon.integrations.quack import request_files
from dbanon.integrations.quack.call_rewriter import AlgorithmCall
from dbanon.integrations.quack.release_resolver import ReleaseResolver
from dbanon.ledger.permissions import Permission

pytestmark = pytest.mark.all_cases


def releases(folder: Path, seconds: float) -> ReleaseResolver:
    known_namespace = SimpleNamespace(permissions=[Permission("visits", ("kacpc",), 10)], releases={})
    return ReleaseResolver(lambda: known_namespace, list, folder, "alice", seconds)


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
