"""KACPC as the compiled O(n^2 / k) loop over distinct tuples: the baseline that the index is measured against."""

from __future__ import annotations

import time
from typing import Any

import numba
import numpy as np

from dbanon.algorithms.nearest_neighbour.kacpc import modal_codes
from dbanon.encoding import distance, encoded_table


@numba.njit
def _loop(
    codes: Any, counts: Any, tables: Any, starts: Any, widths: Any, sums: Any, seed: int, k: int, steps: int
) -> int:
    """Form up to `steps` clusters of KACPC; return how many. `counts` and `sums` are updated in place."""
    tuples, attributes = codes.shape
    near = np.empty(tuples, np.int64)
    remaining = counts.sum()
    number = 0
    while number < steps and remaining >= k:
        if number > 0:
            seed = -1
            for t in range(tuples):
                if counts[t] > 0 and (seed < 0 or sums[t] < sums[seed]):
                    seed = t
        counts[seed] -= 1
        for t in range(tuples):
            if counts[t] > 0:
                total = np.int64(0)
                for j in range(attributes):
                    total += tables[starts[j] + codes[seed, j] * widths[j] + codes[t, j]]
                near[t] = total
                sums[t] += total
        wanted = k - 1
        while wanted > 0:
            best = -1
            for t in range(tuples):
                if counts[t] > 0 and (best < 0 or near[t] < near[best]):
                    best = t
            minimum = min(wanted, counts[best])
            counts[best] -= minimum
            wanted -= minimum
        remaining -= k
        number += 1
    return number


def seconds(table: encoded_table.EncodedTable, k: int, max_seconds: float = 10.0) -> tuple[float | None, bool]:
    """Return the seconds of a whole clustering, and whether they were extrapolated.

    The time is None if the tables would not fit in memory. It is extrapolated from the clusters made in `max_seconds`
    seconds.
    """
    rows = distance.kacpc_distances(table, k, True)
    widths = np.array([a.values + 1 for a in table.attributes])
    if int((widths**2).sum()) > 2**26:
        return None, True
    tables = np.concatenate([row.row(c) for row, n in zip(rows, widths, strict=True) for c in range(n)])
    starts = np.cumsum([0, *(widths**2)])[:-1]
    first = modal_codes(table)
    start = sum(rows[j].row(first[j])[table.codes[:, j]] for j in range(len(rows)))
    seed, remaining_copy = int(np.argmin(start)), table.counts.copy()
    sums = np.zeros(len(remaining_copy), np.int64)
    clusters = table.rows // k
    _loop(table.codes, remaining_copy.copy(), tables, starts, widths, sums.copy(), seed, k, 1)
    clock, done, chunk = time.perf_counter(), 0, max(1, min(clusters, 50))
    while done < clusters and time.perf_counter() - clock < max_seconds:
        done += _loop(table.codes, remaining_copy, tables, starts, widths, sums, seed, k, min(chunk, clusters - done))
        seed = int(np.argmin(np.where(remaining_copy > 0, sums, np.iinfo(np.int64).max)))
    took = time.perf_counter() - clock
    return took * clusters / done, done < clusters
