"""Growth: the one loop of the algorithm families that form clusters one after another.

A group is a cluster that is being formed. It begins with a seed, records join it until it is large enough, and the next
group begins, while the remaining records can form one. Then the leftovers are assigned. Algorithms differ in four
rules:

nearest_groups      seed: least or greatest sum of distances to all seeds; joins: nearest to the seed; enough: k
                    records, or any model; leftovers: nearest seed
ConstrainedGroups   (in nearest_groups) as above, except joins: nearest with which the models can still be met;
                    leftovers: nearest group that meets them then
mdav                seed: farthest from the average, then from that seed; joins: nearest to the seed; enough: k records;
                    leftovers: a group of their own
least_loss          seed: farthest from the seed before, a random record, or the first; joins: least loss; enough: k
                    records; leftovers: least loss
eld                 seed: farthest from the seed before; enough: k records and l values; else as above

Seed, joining and enough are mostly one compiled kernel: a call for each record would cost more than its answer.
"""

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import AssignmentLog, RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.registry import Assignment, Check
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.kernels.arrays import N_REMAINING
from dbanon.privacy_models.constraint import Constraint

MIN_BATCH, MAX_BATCH = 4, 2**22
"""Least and greatest number of groups that are formed between two checks for interrupts."""

CHECK_INTERVAL_S = 0.1
"""Seconds between two checks for interrupts, if groups are formed one after another in compiled code."""

SAMPLE_GROUPS, SAMPLE_STEPS = 64, 10**8
"""Groups from which the time of all groups is estimated, or the steps after which fewer are enough. The first MIN_BATCH
groups are not among them: kernels may have been compiled for them."""

MAX_MEMBERS = 2**22
"""Greatest number of members of groups in memory at a time."""


class GrowthRules(ABC):
    """The rules by which an algorithm grows its groups (clusters that are being formed) and assigns the leftovers.

    Attributes:
        index: Counts the remaining records, and the records examined so far.
        log: The groups formed so far.
        k: Least number of records of a group.
        n_queries: Queries per group, each of which may examine all tuples.
        sparse_cost_factor: Measured cost of the queries of all groups as a multiple of that of the first groups, if
            those examine few tuples: groups that begin far from the others take the outlying records first.
        dense_cost_factor: The same multiple if the first groups examine most tuples.
    """

    index: Any
    log: AssignmentLog
    k: int
    n_queries, sparse_cost_factor, dense_cost_factor = 1, 1.0, progress.DENSE_COST_FACTOR

    @property
    def n_remaining(self) -> int:
        """Number of records in no group (cluster) yet."""
        return int(self.index.records)

    @property
    def steps(self) -> int:
        """Number of records examined so far."""
        return int(self.index.steps)

    def can_form_group(self) -> bool:
        """Return whether the remaining records may be enough for one more group (cluster): at least k records."""
        return self.n_remaining >= self.k

    @abstractmethod
    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups (clusters), numbered from `first_number`, and return how many were formed.

        A group is a seed and the records that join it until it meets the requirement; they no longer remain. 0 means
        that the remaining records form no group. Some algorithms form one group more than `max_groups`.
        """

    @abstractmethod
    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign each remaining record to one of the `n_groups` groups formed so far, or to one new group, `n_groups`.

        `check` is called from time to time; it raises if the run was interrupted.
        """

    def assignment(self) -> Assignment:
        """Return the group (cluster) of every record as runs, from the log."""
        return self.log.to_labels()


class KernelCountedRules(GrowthRules):
    """Growth rules whose kernel counts the remaining records and the examined tuples.

    Attributes:
        state: The state from which the kernel continues (see `dbanon.kernels.arrays.NEXT_SEED`).
        n_examined: Tuples examined so far.
        step_cost: Cost of examining one tuple, in steps of dbanon.algorithms.base.progress.
        labels: (n,) group of every record; -1 if it is in none yet.
        code_offsets: (attributes + 1,) position of each attribute's first code among the codes of all attributes.
    """

    step_cost = 1.0

    def __init__(self, space: EncodedTable, k: int, state: NDArray[Any], min_records: int = 1) -> None:
        """Prepare the arrays of the kernel; no record is in a group yet.

        Args:
            space: The encoded table.
            k: Least number of records of a group.
            state: The initial state of the kernel.
            min_records: The k of the constraint from which the arrays for the kernel are built.
        """
        self.space, self.k, self.state, self.n_examined = space, k, state, 0
        self.kernel_inputs = build_kernel_inputs(space, Constraint(min_records), "edges")
        self.code_offsets = np.cumsum([0, *(a.values + 1 for a in space.attributes)])
        self.labels = np.full(space.rows, -1, np.int64)

    def count_examined(self, result: Any, n_examined: Any) -> int:
        """Add the examined tuples that a kernel returns after its result, and return the result as an integer."""
        self.n_examined += int(n_examined)
        return int(result)

    @property
    def n_remaining(self) -> int:
        """Number of records in no group yet, from the kernel's state."""
        return int(self.state[N_REMAINING])

    @property
    def steps(self) -> int:
        """Cost of the tuples examined so far, in steps of dbanon.algorithms.base.progress."""
        return round(self.n_examined * self.step_cost)

    def assignment(self) -> Assignment:
        """Return the (n,) group (cluster) of every record, by canonical row."""
        return self.labels


def grow_groups(space: EncodedTable, rules: GrowthRules, check: Check) -> Assignment:
    """Form groups by `rules` while possible, assign the leftovers, and return the group (cluster) of every record.

    If no group can be formed, all records are in one cluster. Between batches of groups `check` is called, and progress
    and a time estimate are reported through it.
    """
    n_groups, batch, progress_check = 0, MIN_BATCH, progress.as_progress_check(check)
    sample = _GrowthEstimate(space, rules, progress_check)
    while rules.can_form_group():
        check()
        batch = sample.next_batch(n_groups, batch)
        clock = time.perf_counter()
        n_formed = rules.form_groups(n_groups, batch)
        if n_formed == 0:
            break
        n_groups += n_formed
        elapsed_s = max(time.perf_counter() - clock, 1e-6)
        progress_check.advance(1 - rules.n_remaining / space.rows)
        batch = int(min(max(batch * CHECK_INTERVAL_S / elapsed_s, MIN_BATCH), 8 * batch, MAX_BATCH))
    if n_groups == 0:
        return RunLengthLabels.single_cluster(space)
    rules.assign_leftovers(n_groups, check)
    return rules.assignment()


class _GrowthEstimate:
    """A time estimate for all groups, made once from a sample: the groups after the first MIN_BATCH."""

    def __init__(self, space: EncodedTable, rules: GrowthRules, work: progress.ProgressCheck) -> None:
        """Start without a sample; `work` receives the estimate."""
        self._space, self._rules, self._work = space, rules, work
        self._sample_start: tuple[int, int, int, float] | None = None
        self._is_estimated = False

    def next_batch(self, n_groups: int, batch: int) -> int:
        """Return how many groups to form next; report the estimate once the sample is complete.

        Args:
            n_groups: Number of groups formed so far.
            batch: The batch size wanted by the caller, returned once the estimate is made. Until then batches are the
                same on every machine.
        """
        if self._is_estimated:
            return batch
        if n_groups < MIN_BATCH:
            return MIN_BATCH - n_groups
        rules = self._rules
        if self._sample_start is None:
            self._sample_start = n_groups, rules.n_remaining, rules.steps, progress.thread_seconds()
        first, records, steps, clock = self._sample_start
        steps = rules.steps - steps
        if n_groups < MIN_BATCH + SAMPLE_GROUPS and steps < SAMPLE_STEPS:
            return min(MIN_BATCH + SAMPLE_GROUPS - n_groups, MIN_BATCH)
        self._is_estimated = True
        fraction = max(records - rules.n_remaining, 1) / self._space.rows
        steps_per_query = steps / (max(n_groups - first, 1) * rules.n_queries)
        cost_factor = progress.cost_factor(
            steps_per_query, len(self._space.counts), rules.sparse_cost_factor, rules.dense_cost_factor
        )
        self._work.extrapolate(fraction, steps, progress.thread_seconds() - clock, cost_factor)
        return batch


def limit_batch(n_groups: int, min_records: int) -> int:
    """Return the number of groups to form at a time: `n_groups`, or as many as fit in MAX_MEMBERS rows if fewer.

    A group of `min_records` records needs min_records + 2 rows. The limit is not below MIN_BATCH.
    """
    return min(n_groups, max(MAX_MEMBERS // (min_records + 2), MIN_BATCH))
