"""Progress and time estimates, reported through the interrupt check that algorithms call anyway.

Work is counted in steps: boxes, nodes or pairs that are examined, about 30 nanoseconds each. Counts are the same on
every machine, so the decision that a table is too large for an algorithm is, too. The time per step is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

SECONDS_PER_STEP = 3e-8
"""What a step takes, about."""

MIN_REPORTED_FRACTION = 0.005
"""Less than this is not worth saying."""

MAX_STEPS = 4 * 10**9
"""Steps beyond which a run must be asked for: one or two minutes."""

DENSE_SHARE = 0.25
"""Share of all tuples from which on a question is said to look at most of them."""

DENSE_COST_FACTOR = 0.6
"""Questions that look at most tuples cost less as these become fewer: on average this much of the first (measured: 0.5
to 0.8)."""

MIN_REPORTED_S = 5.0
"""Seconds after which it is said how many more there will be, and how many are worth saying."""

OnEstimate = Callable[[float, float], None]
"""Called with the steps and the seconds that the whole work will take; raises where these must be asked for."""


class ProgressCheck:
    """A check of work that also says how far the work has come, as a share of a stretch from `first` to `last`."""

    def __init__(
        self,
        check: Callable[[], None],
        on_progress: Callable[[float], None],
        first: float = 0,
        last: float = 1,
        *,
        on_estimate: OnEstimate = lambda steps, seconds: None,
    ) -> None:
        self._check, self._on_progress = check, on_progress
        self._first, self._last = first, last
        self._reported = first
        self.on_estimate = on_estimate

    def __call__(self) -> None:
        self._check()

    def advance(self, fraction: float) -> None:
        """So much of the stretch is done."""
        overall_fraction = self._first + (self._last - self._first) * min(fraction, 1.0)
        if overall_fraction >= self._reported + MIN_REPORTED_FRACTION:
            self._reported = overall_fraction
            self._on_progress(overall_fraction)

    def subtask(self, first: float, last: float) -> ProgressCheck:
        """Return the check of a part of this stretch."""
        width = self._last - self._first
        begin, end = self._first + width * first, self._first + width * last
        return ProgressCheck(self._check, self._on_progress, begin, end, on_estimate=self.on_estimate)


def as_progress_check(check: Callable[[], None]) -> ProgressCheck:
    """Return the check as one that can report progress; without a listener it reports nothing."""
    return check if isinstance(check, ProgressCheck) else ProgressCheck(check, lambda share: None)


@dataclass(frozen=True)
class WorkSample:
    """A part of the work that was done: a share of it, in so many steps and seconds."""

    fraction: float
    steps: float
    seconds: float

    def extrapolate(self, cost_factor: float = 1.0) -> tuple[float, float]:
        """Return steps and seconds of all of it, where the rest is so many times as hard."""
        return self.steps / self.fraction * cost_factor, self.seconds / self.fraction * cost_factor


class KernelEstimate:
    """Judges how long all work takes by what a kernel does until it comes back for the second time: it may be compiled
    for the first."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._progress, self._n_returns = as_progress_check(check), 0

    def report_return(self, sample: WorkSample, cost_factor: float = 1.0) -> None:
        """A kernel came back after a part of the work; all of it is `cost_factor` times as much."""
        self._n_returns += 1
        if self._n_returns == 2:
            self._progress.on_estimate(*sample.extrapolate(cost_factor))


def cost_factor(steps: float, n_tuples: int, sparse_factor: float, dense_factor: float = DENSE_COST_FACTOR) -> float:
    """Return the average cost of the queries of all groups, as a multiple of that of the first groups.

    The first groups examined `steps` of `n_tuples` tuples per query: `sparse_factor` if these were few, otherwise
    `dense_factor`.
    """
    return sparse_factor if steps < DENSE_SHARE * n_tuples else dense_factor


def thread_seconds() -> float:
    """Seconds that this thread has worked: what else the machine does is none of them."""
    return time.thread_time()


def remaining_text(seconds: float, fraction: float) -> str:
    """Return the estimated remaining time as text after a comma, given the seconds spent on a fraction of the work.

    Empty if it cannot be estimated, or is too short to mention.
    """
    remaining_s = seconds * (1 - fraction) / fraction if fraction > 0 else 0.0
    return (
        f", {humanize_duration(remaining_s)} left"
        if seconds >= MIN_REPORTED_S and remaining_s >= MIN_REPORTED_S
        else ""
    )


def humanize_duration(seconds: float) -> str:
    """Return a length of time as people say it: 'some 40 minutes'."""
    unit, name = next(
        (unit, name)
        for least, unit, name in (
            (2 * 86400 * 365, 86400 * 365, "years"), (2 * 86400, 86400, "days"), (2 * 3600, 3600, "hours"),
            (120, 60, "minutes"), (0, 1, "seconds"),
        )
        if seconds >= least
    )  # fmt: skip
    number = max(seconds / unit, 1)
    step = 10 ** max(len(str(int(number))) - 1, 0)
    return f"some {round(number / step) * step} {name}"
