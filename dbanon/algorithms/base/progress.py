"""How far an algorithm has come and how long it will take, for those that know: said through the check that they call
anyway.

Work is counted in steps: boxes, nodes or pairs that are looked at, each some 30 nanoseconds. Counts are the same on
every machine, so whether a table is too large to be clustered without being asked for is, too; what a step takes is
measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

SECONDS = 3e-8
"""What a step takes, about."""

STEP = 0.005
"""Less than this is not worth saying."""

LARGEST = 4 * 10**9
"""Steps beyond which a run must be asked for: one or two minutes."""

DENSE = 0.25
"""Share of all tuples from which on a question is said to look at most of them."""

FEWER = 0.6
"""Questions that look at most tuples cost less as these become fewer: on average this much of the first (measured: 0.5
to 0.8)."""

FIRST = 5.0
"""Seconds after which it is said how many more there will be, and how many are worth saying."""

Expected = Callable[[float, float], None]
"""Called with the steps and the seconds that the whole work will take; raises where these must be asked for."""


class Work:
    """A check of work that also says how far the work has come, as a share of a stretch from `first` to `last`."""

    def __init__(
        self,
        check: Callable[[], None],
        told: Callable[[float], None],
        first: float = 0,
        last: float = 1,
        *,
        expected: Expected = lambda steps, seconds: None,
    ) -> None:
        self._check, self._told = check, told
        self._first, self._last = first, last
        self._said = first
        self.expect = expected

    def __call__(self) -> None:
        self._check()

    def come(self, share: float) -> None:
        """So much of the stretch is done."""
        now = self._first + (self._last - self._first) * min(share, 1.0)
        if now >= self._said + STEP:
            self._said = now
            self._told(now)

    def part(self, first: float, last: float) -> Work:
        """Return the check of a part of this stretch."""
        wide = self._last - self._first
        begin, end = self._first + wide * first, self._first + wide * last
        return Work(self._check, self._told, begin, end, expected=self.expect)


def work(check: Callable[[], None]) -> Work:
    """Return the check as one that can say how far work has come; where nobody listens it says nothing."""
    return check if isinstance(check, Work) else Work(check, lambda share: None)


@dataclass(frozen=True)
class Sample:
    """A part of the work that was done: a share of it, in so many steps and seconds."""

    share: float
    steps: float
    seconds: float

    def whole(self, factor: float = 1.0) -> tuple[float, float]:
        """Return steps and seconds of all of it, where the rest is so many times as hard."""
        return self.steps / self.share * factor, self.seconds / self.share * factor


class Pauses:
    """Judges how long all work takes by what a kernel does until it comes back for the second time: it may be compiled
    for the first."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._work, self._number = work(check), 0

    def paused(self, sample: Sample, factor: float = 1.0) -> None:
        """A kernel came back after a part of the work; all of it is `factor` times as much."""
        self._number += 1
        if self._number == 2:
            self._work.expect(*sample.whole(factor))


def later(steps: float, tuples: int, harder: float, fewer: float = FEWER) -> float:
    """How many times as hard the questions of all groups are, on average, as the first ones, which looked at so many
    of the tuples each: `harder` where these were few, else `fewer`."""
    return harder if steps < DENSE * tuples else fewer


def clock() -> float:
    """Seconds that this thread has worked: what else the machine does is none of them."""
    return time.thread_time()


def remaining(seconds: float, done: float) -> str:
    """How much longer it will take, after a comma, where so many seconds have done a share of it; nothing where that
    cannot be told, or is not worth saying."""
    left = seconds * (1 - done) / done if done > 0 else 0.0
    return f", {roughly(left)} left" if seconds >= FIRST and left >= FIRST else ""


def roughly(seconds: float) -> str:
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
