"""What a session records while it plans."""

from __future__ import annotations

import pytest

from dbanon.runtime.session import Recorded


def test_recorded_collections_filled_during_block_only() -> None:
    recorded, notes = Recorded(), list[str]()
    with recorded.filling(notes=notes, kinds={}):
        assert recorded.notes is notes
        assert (recorded.kinds, recorded.calls) == ({}, None)
    assert recorded == Recorded()


def test_recorded_collections_end_with_error() -> None:
    recorded = Recorded()
    with pytest.raises(ZeroDivisionError), recorded.filling(calls=[]):
        raise ZeroDivisionError
    assert recorded.calls is None
