"""FAST: FADS in rounds, whose groups several workers look for."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dbanon.algorithms.base.registry import Options
from dbanon.algorithms.streams.fads import LIFE
from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import BatchArrays, NearestScratch
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

AHEAD = Parameter(
    "lookahead",
    Integer(0, 10**9),
    "A record leaves with those that are due if it would be due before so many more have come (the paper's time of a "
    "round); default k, at most delta less k.",
)
WORKERS = Parameter("workers", Integer(1, 256), "How many threads look for groups; what leaves is always the same.", 1)


def fast(workspace: Workspace) -> StreamState:
    """FAST, fast anonymization of big data streams (Mohammadian et al. 2014), reconstructed from its abstract and what
    a review says of it: FADS in rounds.

    A round is held when a record is due, as it is one of `delta` that have come. In it all leave, oldest first and each
    as in FADS, that would be due before `ahead` more have come. The paper publishes what would be due before the next
    round, by the clock; here it is by arrivals, so that what leaves does not hang on how fast a machine is, and k where
    nobody says more, as a round takes about as many away. With `ahead` 0 it is FADS. The paper's threads publish at the
    same time, with locks on records; here `workers` look for the groups of a round at the same time, and one after the
    other leaves in the order of arrival, with a group that is looked for again where some of it have left: so what
    leaves is the same with any number of them. They wait for each other, so several are only worth it where `delta` is
    large. O(delta * attributes) time a record.
    """
    from dbanon.kernels.streams.fast import FastOptions, fast_steps, precompute_groups

    workers, ahead = workspace.integer("workers"), _arrivals_ahead(workspace.options, workspace.model.k)
    fast_options = FastOptions(workspace.is_last, workspace.integer("delta"), ahead, workspace.integer("reuse_window"))
    size, at_once = workspace.group_size, workers if workers > 1 else 0
    found_rows, batch, numbers = (np.empty(n, np.int64) for n in (size, at_once, at_once))
    far, table = np.empty((workers, size)), np.empty((workers, len(workspace.arrivals.places.share)))
    batches = BatchArrays(batch, np.empty((at_once, size), np.int64), numbers)

    def guess_groups(worker: int) -> None:
        scratch = (table[worker], far[worker])
        precompute_groups(
            worker,
            workers,
            workspace.counters,
            workspace.requirement,
            workspace.records,
            workspace.attributes,
            *scratch,
            batches,
        )

    def run_steps(*given: Any) -> int:
        n_done, max_steps = 0, given[1]
        while n_done < max_steps:
            if workspace.counters[7] > 0:
                list(pool.map(guess_groups, range(workers)))
            n_done += int(fast_steps(*given))
            if workspace.counters[7] == 0:
                break
        return n_done

    with ThreadPoolExecutor(workers) as pool:
        workspace.run(run_steps, fast_options, NearestScratch(table[0], found_rows, far[0]), batches)
    return workspace.state()


def _arrivals_ahead(options: Options, k: int) -> int:
    """Return how many arrivals before it is due a record may be published with others."""
    delta = int(str(options["delta"]))
    return min(k, delta - k) if options["lookahead"] is None else int(str(options["lookahead"]))


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return a parameter that options or k exclude, and what it must be; None where nothing does."""
    max_ahead = int(str(options["delta"])) - k
    if _arrivals_ahead(options, k) > max_ahead:
        return "lookahead", f"at most {max_ahead}, delta less as many records as a class needs"
    return None


register(
    fast,
    title="FAST: fast anonymization of big data streams",
    source="Mohammadian et al. 2014",
    evidence="RECON",
    complexity="O(delta / workers) time a record at best, O(delta + kept classes) memory",
    own=(LIFE, AHEAD, WORKERS),
    problem=excluded_parameter,
)
