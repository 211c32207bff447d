"""Infer sensitive values from a cut that an algorithm did not make: one side had too many records of a value.

An algorithm such as Mondrian splits a class at a cut if all sides meet the privacy model. So a class that was not split
shows that some side would have violated it.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NEGLIGIBLE = 1e-9
"""Chance of a side that violates the model below which the result would depend on rounding."""


def posteriors(sizes: Sequence[int], limits: Sequence[int], n_with_value: int) -> list[float] | None:
    """Return, for each side of a cut, the probability that a record of it has the value, given that a side is too full.

    A cut divides the records of a class into sides; the value is a sensitive value. A side is too full if it has more
    records with the value than its limit. Wong et al. 2007, section 4. O(sides * n_with_value^2).

    Args:
        sizes: Number of records of each side.
        limits: Maximum number of records with the value that each side may have.
        n_with_value: Number of records with the value on all sides together; all ways to distribute them are equally
            likely.

    Returns:
        The probabilities by side; None if no side can exceed its limit, or only with a probability below NEGLIGIBLE.
    """
    records = sum(sizes)
    if n_with_value >= records:
        return [1.0] * len(sizes) if any(n > limit for n, limit in zip(sizes, limits, strict=True)) else None
    # Independent binomial counts, given their sum, are distributed as in a draw without replacement.
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
    """Return the (max_successes + 1,) probabilities of 0, ..., `max_successes` successes in n trials.

    `share` is the probability of a success, strictly between 0 and 1.
    """
    n_possible = min(n, max_successes)
    logs = [
        math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
        + x * math.log(share) + (n - x) * math.log1p(-share)
        for x in range(n_possible + 1)
    ]  # fmt: skip
    return np.concatenate([np.exp(logs), np.zeros(max_successes - n_possible)])


def _prefix_convolutions(distributions: Sequence[Floats], max_sum: int) -> list[Floats]:
    """Return the convolutions of the first 0, 1, ..., n distributions, each cut to sums from 0 to `max_sum`.

    The first one is the distribution of the constant 0.
    """
    convolutions = [np.eye(1, max_sum + 1)[0]]
    for distribution in distributions:
        convolutions.append(np.convolve(convolutions[-1], distribution)[: max_sum + 1])
    return convolutions
