"""Progress and time estimates, reported through the interrupt check that algorithms call anyway.

Work is counted in steps: boxes, nodes or pairs that are examined, about 30 nanoseconds each. Counts are the same on
every machine, so the decision that a table is too large for an algorithm is, too. The time per step is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS_PER_STEP = 3e-8
"""Approximate time of a step."""

MIN_REPORTED_FRACTION = 0.005
"""Smaller advances are not reported."""

MAX_STEPS = 4 * 10**9
"""Number of steps beyond which a run must be allowed explicitly: one or two minutes."""

STEPS_PER_CALL = 2**22
"""Number of clusters or items that a kernel examines between two checks for interrupts, unless they cost much."""

DENSE_SHARE = 0.25
"""Share of all tuples from which on a query is said to examine most of them."""

DENSE_COST_FACTOR = 0.6
"""Queries that examine most tuples cost less as tuples are removed: on average this multiple of the first ones
(measured: 0.5 to 0.8)."""

MIN_REPORTED_S = 5.0
"""The remaining time is stated after this many seconds, and only if it is at least as long."""

OnEstimate = Callable[[float, float], None]
"""Called with the estimated steps and seconds of the whole work; raises if these must be allowed explicitly."""


class ProgressCheck:
    """An interrupt check that also reports progress of one task within the whole run.

    Args:
        check: Called for every check; raises if the run was interrupted.
        on_progress: Called with the fraction of the whole run that is complete.
        first: Fraction of the whole run at which this task begins.
        last: Fraction at which it ends.
        on_estimate: Called with the estimated steps and seconds of the whole run; may raise.
    """

    def __init__(
        self,
        check: Callable[[], None],
        on_progress: Callable[[float], None],
        first: float = 0,
        last: float = 1,
        *,
        on_estimate: OnEstimate = lambda steps, seconds: None,
    ) -> None:
        """Store the callbacks; nothing is reported yet.

        Args:
            check: Called for every check; raises if the run was interrupted.
            on_progress: Called with the fraction of the whole run that is complete.
            first: Fraction of the whole run at which this task begins.
            last: Fraction at which it ends.
            on_estimate: Called with the estimated steps and seconds of the whole run; may raise.
        """
        self._check, self._on_progress = check, on_progress
        self._first, self._last = first, last
        self._reported = first
        self.on_estimate = on_estimate

    def __call__(self) -> None:
        """Call the interrupt check, which raises if the run was interrupted."""
        self._check()

    def advance(self, fraction: float) -> None:
        """Report that `fraction` of this task is complete.

        Nothing is reported until progress of the whole run has grown by MIN_REPORTED_FRACTION since the last report.
        """
        overall_fraction = self._first + (self._last - self._first) * min(fraction, 1.0)
        if overall_fraction >= self._reported + MIN_REPORTED_FRACTION:
            self._reported = overall_fraction
            self._on_progress(overall_fraction)

    def extrapolate(self, fraction: float, steps: float, seconds: float, cost_factor: float = 1.0) -> None:
        """Report the estimate for the whole work, from a measured part of it.

        The estimated steps and seconds are those of the part over its fraction of the work, times `cost_factor`.

        Args:
            fraction: Fraction of the whole work.
            steps: Steps that it took.
            seconds: Seconds that it took.
            cost_factor: Factor of the extrapolated steps and seconds.
        """
        self.on_estimate(steps / fraction * cost_factor, seconds / fraction * cost_factor)

    def subtask(self, first: float, last: float) -> ProgressCheck:
        """Return a check for the part of this task from the fraction `first` to the fraction `last`."""
        width = self._last - self._first
        begin, end = self._first + width * first, self._first + width * last
        return ProgressCheck(self._check, self._on_progress, begin, end, on_estimate=self.on_estimate)


def as_progress_check(check: Callable[[], None]) -> ProgressCheck:
    """Return `check` if it is a ProgressCheck; otherwise wrap it in one that reports no progress."""
    return check if isinstance(check, ProgressCheck) else ProgressCheck(check, lambda share: None)


class KernelEstimate:
    """An estimate of the whole work from what a kernel does up to its second return.

    The first call is ignored, since the kernel may be compiled then.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        """Start without a return of the kernel; the estimate is reported through `check` if it is a `ProgressCheck`."""
        self._progress, self._n_returns = as_progress_check(check), 0

    def report_return(self, fraction: float, steps: float, seconds: float, cost_factor: float = 1.0) -> None:
        """Count a return of the kernel; at the second one, report the estimate for the whole work.

        Args:
            fraction: Fraction of the whole work that the kernel did in this call.
            steps: Steps that it took.
            seconds: Seconds that it took.
            cost_factor: Factor of the extrapolated steps and seconds.
        """
        self._n_returns += 1
        if self._n_returns == 2:
            self._progress.extrapolate(fraction, steps, seconds, cost_factor)


def cost_factor(steps: float, n_tuples: int, sparse_factor: float, dense_factor: float = DENSE_COST_FACTOR) -> float:
    """Return the estimated average cost of the queries of all groups, as a multiple of that of the first groups.

    The first groups examined `steps` of `n_tuples` tuples per query: `sparse_factor` is returned if that is less than
    DENSE_SHARE of the tuples, otherwise `dense_factor`.
    """
    return sparse_factor if steps < DENSE_SHARE * n_tuples else dense_factor


def thread_seconds() -> float:
    """Return the CPU seconds that this thread has used; the work of other threads does not count."""
    return time.thread_time()


def remaining_text(seconds: float, fraction: float) -> str:
    """Return the estimated remaining time as text such as ', some 40 minutes left'; '' if it is not worth stating.

    `seconds` were spent on `fraction` of the work. The text is empty if seconds spent or remaining are below
    MIN_REPORTED_S, or if `fraction` is 0.
    """
    remaining_s = seconds * (1 - fraction) / fraction if fraction > 0 else 0.0
    return (
        f", {humanize_duration(remaining_s)} left"
        if seconds >= MIN_REPORTED_S and remaining_s >= MIN_REPORTED_S
        else ""
    )


def humanize_duration(seconds: float) -> str:
    """Return a duration rounded to one significant digit in a fitting unit: 'some 40 minutes'."""
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
