"""Chains: entries of which each names the next, as kernels keep lists that grow and are joined."""

from __future__ import annotations

import numpy as np

from dbanon.encoding.encoded_table import Ints


def heads(following: Ints) -> Ints:
    """The first entry of the chain that each entry is in; `following`: the next one, -1 for none. O(n log n) time."""
    head, on = np.arange(len(following)), np.flatnonzero(following >= 0)
    head[following[on]] = on
    while (head[head] != head).any():
        head = head[head]
    return head
