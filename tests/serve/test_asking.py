"""What waits for a release is bounded: in time, and in how many."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbanon import errors
from dbanon.ledger.permissions import Permission
from dbanon.serve import requests
from dbanon.serve.asking import Releases
from dbanon.serve.calls import Call

pytestmark = pytest.mark.whole


def releases(folder: Path, seconds: float) -> Releases:
    known = SimpleNamespace(permissions=[Permission("visits", ("kacpc",), 10)], releases={})
    return Releases(lambda: known, list, folder, "alice", seconds)


def test_a_reader_waits_no_longer_than_a_statement_may_take(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(errors.StillMade, match="is being made"):
        releases(tmp_path, 0.5).of(Call("kacpc", "", "visits", {"k": 10}))
    assert time.monotonic() - began < 0.6
    with requests.taken(tmp_path) as waiting:
        assert waiting == [requests.Request("alice", "kacpc", "visits", {"k": 10})]
    assert not requests.waiting(tmp_path)


def test_only_so_many_requests_wait(tmp_path: Path) -> None:
    for k in range(10, 10 + requests.MOST):
        with pytest.raises(errors.StillMade):
            releases(tmp_path, 0.1).of(Call("kacpc", "", "visits", {"k": k}))
    with pytest.raises(errors.StillMade, match="waits for others"):
        releases(tmp_path, 0.1).of(Call("kacpc", "", "visits", {"k": 99}))
    assert len(list(tmp_path.iterdir())) == requests.MOST
