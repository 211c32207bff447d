"""The cache of cluster labels that all connections of a database instance share."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

CACHE_BYTES = 256 * 2**20
"""The size limit of the label cache of one database instance."""

Labels = Any
"""Cluster numbers of records, as runs or an array; any object with `nbytes`."""


class LabelCache:
    """A thread-safe cache of cluster labels: the cluster number of every record, by a hash of all that they depend on.

    When the size limit is exceeded, the least recently used labels are removed. If two threads request the same labels
    at once, they are computed once. Errors are not cached. `n_computed` counts the computations, also failed ones.
    """

    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        """Create an empty cache with a limit for the summed `nbytes` of its labels."""
        self.max_bytes = max_bytes
        self.n_computed = 0
        self._labels: OrderedDict[bytes, Labels] = OrderedDict()
        self._lock = threading.Lock()
        self._running: dict[bytes, threading.Lock] = {}

    def get(self, key: bytes, compute: Callable[[], Labels]) -> Labels:
        """Return the labels of a key; call `compute` and store its result if they are not cached.

        If another thread is computing the labels of this key, its result is returned once it is there. If the cache
        exceeds its limit afterwards, the least recently used labels are removed, possibly those just stored. An error
        of `compute` passes to the caller.
        """
        with self._lock:
            if key in self._labels:
                self._labels.move_to_end(key)
                return self._labels[key]
            key_lock = self._running.setdefault(key, threading.Lock())
        with key_lock:
            with self._lock:
                if key in self._labels:
                    return self._labels[key]
                self.n_computed += 1
            try:
                labels = compute()
                with self._lock:
                    self._labels[key] = labels
                    self._evict(0)
            finally:
                with self._lock:
                    self._running.pop(key, None)
            return labels

    def put(self, key: bytes, labels: Labels) -> None:
        """Store labels that were computed elsewhere; the next call for the key finds them, whatever their size."""
        with self._lock:
            self._labels.pop(key, None)
            self._labels[key] = labels
            self._evict(1)

    def _evict(self, n_kept: int) -> None:
        """Remove the labels that were used least recently until the size is allowed, or `n_kept` are left."""
        while len(self._labels) > n_kept and sum(a.nbytes for a in self._labels.values()) > self.max_bytes:
            self._labels.popitem(last=False)

    def clear(self) -> None:
        """Remove all labels; the count `n_computed` stays."""
        with self._lock:
            self._labels.clear()
