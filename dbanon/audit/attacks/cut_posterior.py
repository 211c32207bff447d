"""What a cut that was not made tells: some side of it has more of a sensitive value than is allowed."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NEGLIGIBLE = 1e-9
"""Chance of a side that breaks the model below which rounding decides what is inferred."""


def posteriors(sizes: Sequence[int], limits: Sequence[int], n_with_value: int) -> list[float] | None:
    """For each side, the chance that one of its records has the value, if some side has more of them than its limit.

    `n_with_value` records of all sides together have the value, and any of them as likely as any others. None where no
    side can have too many, or hardly ever has. Wong et al. 2007, section 4. O(sides * held^2).
    """
    records = sum(sizes)
    if n_with_value >= records:
        return [1.0] * len(sizes) if any(n > limit for n, limit in zip(sizes, limits, strict=True)) else None
    # Counts of independent binomials, given their sum, are those of a draw without replacement.
    share = n_with_value / records
    distributions = [_binomial(n, share, n_with_value) for n in sizes]
    for counts, limit in zip(distributions, limits, strict=True):
        counts[limit + 1 :] = 0
    prefixes, suffixes = (
        _prefix_convolutions(distributions, n_with_value),
        _prefix_convolutions(distributions[::-1], n_with_value)[::-1],
    )
    total_chance = float(_binomial(records, share, n_with_value)[n_with_value])
    chance_all_allowed = float(prefixes[-1][n_with_value]) / total_chance
    if 1 - chance_all_allowed < NEGLIGIBLE:
        return None
    chances = []
    for i, size in enumerate(sizes):
        weighted = distributions[i] * np.arange(n_with_value + 1)
        others = np.convolve(prefixes[i], suffixes[i + 1])[: n_with_value + 1]
        allowed_mean = float(np.convolve(weighted, others)[n_with_value]) / total_chance
        chances.append((size * share - allowed_mean) / (1 - chance_all_allowed) / size)
    return chances


def _binomial(n: int, share: float, max_successes: int) -> Floats:
    """Return chances of 0 to `max_successes` successes among n."""
    n_possible = min(n, max_successes)
    logs = [
        math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
        + x * math.log(share) + (n - x) * math.log1p(-share)
        for x in range(n_possible + 1)
    ]  # fmt: skip
    return np.concatenate([np.exp(logs), np.zeros(max_successes - n_possible)])


def _prefix_convolutions(distributions: Sequence[Floats], max_sum: int) -> list[Floats]:
    """Return convolutions of the first 0, 1, .. all of the distributions."""
    convolutions = [np.eye(1, max_sum + 1)[0]]
    for distribution in distributions:
        convolutions.append(np.convolve(convolutions[-1], distribution)[: max_sum + 1])
    return convolutions
