"""A session records the statements, calls and notes of a block, and forgets them after it."""

from __future__ import annotations

import pytest

from dbanon.runtime.session import Recorded


def test_recorded_collections_filled_during_block_only() -> None:
    record, notes = Recorded(), list[str]()
    with record.filling(notes=notes, kinds={}):
        assert record.notes is notes
        assert (record.kinds, record.calls) == ({}, None)
    assert record == Recorded()


def test_recorded_collections_end_with_error() -> None:
    record = Recorded()
    with pytest.raises(ZeroDivisionError), record.filling(calls=[]):
        raise ZeroDivisionError
    assert record.calls is None
