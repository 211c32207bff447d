"""What a cut that was not made tells: some side of it has more of a sensitive value than is allowed."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NEGLIGIBLE = 1e-9
"""Chance of a side that breaks the model below which rounding decides what is inferred."""


def posteriors(sizes: Sequence[int], limits: Sequence[int], held: int) -> list[float] | None:
    """For each side, the chance that one of its records has the value, if some side has more of them than its limit.

    `held` records of all sides together have the value, and any of them as likely as any others. None where no side
    can have too many, or hardly ever has. Wong et al. 2007, section 4. O(sides * held^2).
    """
    records = sum(sizes)
    if held >= records:
        return [1.0] * len(sizes) if any(n > limit for n, limit in zip(sizes, limits, strict=True)) else None
    # Counts of independent binomials, given their sum, are those of a draw without replacement.
    share = held / records
    allowed = [_binomial(n, share, held) for n in sizes]
    for counts, limit in zip(allowed, limits, strict=True):
        counts[limit + 1 :] = 0
    before, after = _products(allowed, held), _products(allowed[::-1], held)[::-1]
    whole = float(_binomial(records, share, held)[held])
    kept = float(before[-1][held]) / whole
    if 1 - kept < NEGLIGIBLE:
        return None
    found = []
    for i, size in enumerate(sizes):
        weighted = allowed[i] * np.arange(held + 1)
        others = np.convolve(before[i], after[i + 1])[: held + 1]
        within = float(np.convolve(weighted, others)[held]) / whole
        found.append((size * share - within) / (1 - kept) / size)
    return found


def _binomial(n: int, share: float, most: int) -> Floats:
    """Return chances of 0 to `most` successes among n."""
    up_to = min(n, most)
    logs = [
        math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
        + x * math.log(share) + (n - x) * math.log1p(-share)
        for x in range(up_to + 1)
    ]  # fmt: skip
    return np.concatenate([np.exp(logs), np.zeros(most - up_to)])


def _products(counts: Sequence[Floats], most: int) -> list[Floats]:
    """Return convolutions of the first 0, 1, .. all of the distributions."""
    found = [np.eye(1, most + 1)[0]]
    for one in counts:
        found.append(np.convolve(found[-1], one)[: most + 1])
    return found
