"""How far an algorithm has come, for those that know: said through the check that they call anyway."""

from __future__ import annotations

from collections.abc import Callable

STEP = 0.005
"""Less than this is not worth saying."""


class Work:
    """A check of work that also says how far the work has come, as a share of a stretch from `first` to `last`."""

    def __init__(
        self, check: Callable[[], None], told: Callable[[float], None], first: float = 0, last: float = 1
    ) -> None:
        self._check, self._told = check, told
        self._first, self._last = first, last
        self._said = first

    def __call__(self) -> None:
        self._check()

    def come(self, share: float) -> None:
        """So much of the stretch is done."""
        now = self._first + (self._last - self._first) * min(share, 1.0)
        if now >= self._said + STEP:
            self._said = now
            self._told(now)

    def part(self, first: float, last: float) -> Work:
        """The check of a part of this stretch."""
        wide = self._last - self._first
        return Work(self._check, self._told, self._first + wide * first, self._first + wide * last)


def work(check: Callable[[], None]) -> Work:
    """The check as one that can say how far work has come; where nobody listens it says nothing."""
    return check if isinstance(check, Work) else Work(check, lambda share: None)
