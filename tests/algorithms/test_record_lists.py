"""Removing the records of a new group from the lists of their tuples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, strategies as st
from support.tables import SOME

from dbanon.encoding.encoded_table import Ints
from dbanon.kernels.model_gathering import unlink_labelled


def linked_list(labels: Sequence[int]) -> tuple[Ints, Ints]:
    """Return the arrays `head` and `following` of one tuple with one record per label, in this order."""
    return np.array([0]), np.array([*range(1, len(labels)), -1])


def listed_records(head: Ints, following: Ints) -> list[int]:
    """Return the records of the list, in its order."""
    records, record = [], int(head[0])
    while record >= 0:
        records.append(record)
        record = int(following[record])
    return records


@given(st.lists(st.integers(-1, 0), min_size=1, max_size=9), st.integers(0, 9))
@SOME
def test_first_labelled_records_are_removed(labels: list[int], limit: int) -> None:
    labelled = [record for record, label in enumerate(labels) if label >= 0][:limit]
    head, following = linked_list(labels)
    unlink_labelled.py_func(0, len(labelled), head, following, np.array(labels))
    assert listed_records(head, following) == [record for record in range(len(labels)) if record not in labelled]


def test_rest_of_a_long_list_is_not_read() -> None:
    """A group of ten takes ten steps in a tuple of a million records: the eleventh record here has no successor."""
    labels = np.array([0, -1, 0, *[-1] * 8])
    head, following = linked_list(labels)
    following[4] = 10**9
    unlink_labelled.py_func(0, 2, head, following, labels)
    assert (head[0], following[1]) == (1, 3)
