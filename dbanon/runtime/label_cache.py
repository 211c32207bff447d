"""The cache of cluster labels that all connections of a database instance share."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

CACHE_BYTES = 256 * 2**20
"""Most bytes of cluster labels that an instance keeps."""

Labels = Any
"""Clusters of records: runs, or an array; something with `nbytes`."""


class LabelCache:
    """Cluster labels by a hash of everything they follow from; the least recently used are dropped first.

    Two callers that ask for the same labels at once compute them once. Errors are not kept.
    """

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.calls = 0
        self._labels: OrderedDict[bytes, Labels] = OrderedDict()
        self._lock = threading.Lock()
        self._running: dict[bytes, threading.Lock] = {}

    def get(self, key: bytes, compute: Callable[[], Labels]) -> Labels:
        """Return the labels of a key, computed if they are not kept."""
        with self._lock:
            if key in self._labels:
                self._labels.move_to_end(key)
                return self._labels[key]
            flight = self._running.setdefault(key, threading.Lock())
        with flight:
            with self._lock:
                if key in self._labels:
                    return self._labels[key]
                self.calls += 1
            try:
                labels = compute()
            except BaseException:
                with self._lock:
                    self._running.pop(key, None)
                raise
            with self._lock:
                self._running.pop(key, None)
                self._labels[key] = labels
                while sum(a.nbytes for a in self._labels.values()) > self.limit and self._labels:
                    self._labels.popitem(last=False)
            return labels

    def put(self, key: bytes, labels: Labels) -> None:
        """Keep labels that were computed elsewhere."""
        with self._lock:
            self._labels[key] = labels

    def clear(self) -> None:
        """Forget all labels."""
        with self._lock:
            self._labels.clear()
