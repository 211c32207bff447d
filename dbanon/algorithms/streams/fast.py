"""FAST: FADS in rounds, whose groups are searched for by several threads."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dbanon.algorithms.base.registry import Options
from dbanon.algorithms.streams.fads import LIFE
from dbanon.algorithms.streams.registry import register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.encoding.encoded_table import Ints
from dbanon.kernels.streams.arrays import BatchArrays, NearestScratch
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

AHEAD = Parameter(
    "lookahead",
    Integer(0, 10**9),
    "A record is published together with those that are due if it would be due before this many more records have "
    "arrived (the paper's time of a round); default k, at most delta minus k.",
)
WORKERS = Parameter(
    "workers", Integer(1, 256), "Number of threads that search for groups; the result is always the same.", 1
)


def fast(workspace: Workspace) -> StreamState:
    """Publish a stream with FAST, fast anonymization of big data streams (Mohammadian et al. 2014): FADS in rounds.

    Reconstructed from its abstract and the description in a review. A round takes place when a record is due, that is,
    when `delta` records have arrived since. It publishes, oldest first and each as in FADS, all records that would be
    due before `lookahead` more have arrived. The paper publishes what would be due before the next round, by the clock;
    here it is by arrivals, so that the result does not depend on how fast a machine is. The default is k, since a round
    publishes about as many. With `lookahead` 0 it is FADS with `trigger` 'age'.

    The paper's threads publish at the same time, with locks on records. Here `workers` threads search for the groups of
    a round at the same time; then the groups are published one after the other in the order of arrival, and a group is
    searched for again if some of its records were published. So the result is the same with any number of threads. They
    synchronize often, so several are only worth it if `delta` is large. O(delta * attributes) time per record.
    """
    from dbanon.kernels.streams.fast import NEEDS_GROUPS, FastOptions, fast_steps, precompute_groups

    workers, ahead = workspace.integer("workers"), _arrivals_ahead(workspace.options, workspace.model.k)
    fast_options = FastOptions(workspace.is_last, workspace.integer("delta"), ahead, workspace.integer("reuse_window"))
    size, at_once = workspace.group_size, workers if workers > 1 else 0
    found_rows, batch, numbers = (np.empty(n, np.int64) for n in (size, at_once, at_once))
    far, table = np.empty((workers, size)), np.empty((workers, len(workspace.arrivals.places.share)))
    batches = BatchArrays(batch, np.empty((at_once, size), np.int64), numbers)

    def guess_groups(worker: int) -> None:
        """Search for the groups of one worker's share of a round's records, before any is published."""
        precompute_groups(
            worker,
            workers,
            workspace.counters,
            workspace.requirement,
            workspace.records,
            workspace.attributes,
            table[worker],
            far[worker],
            batches,
        )

    def run_steps(counters: Ints, max_steps: int, *arguments: Any) -> int:
        """Run the kernel, with the worker threads between its calls, and return the steps done."""
        n_done = 0
        while n_done < max_steps:
            if counters[NEEDS_GROUPS]:
                list(pool.map(guess_groups, range(workers)))
            n_done += int(fast_steps(counters, max_steps, *arguments))
            if not counters[NEEDS_GROUPS]:
                break
        return n_done

    with ThreadPoolExecutor(workers) as pool:
        workspace.run(run_steps, fast_options, NearestScratch(table[0], found_rows, far[0]), batches)
    return workspace.state()


def _arrivals_ahead(options: Options, k: int) -> int:
    """Return the option `lookahead`: how many arrivals before it is due a record may be published with others.

    The default is k, at most delta - k.
    """
    delta = int(str(options["delta"]))
    return min(k, delta - k) if options["lookahead"] is None else int(str(options["lookahead"]))


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return ('lookahead', its accepted values as text) if it is above delta - k; None if the options are valid."""
    max_ahead = int(str(options["delta"])) - k
    if _arrivals_ahead(options, k) > max_ahead:
        return "lookahead", f"at most {max_ahead}, delta less as many records as a class needs"
    return None


register(
    fast,
    title="FAST: fast anonymization of big data streams",
    source="Mohammadian et al. 2014",
    evidence="abstract",
    complexity="O(delta / workers) time per record at best, O(delta + kept classes) memory",
    own_parameters=(LIFE, AHEAD, WORKERS),
    problem=excluded_parameter,
)
