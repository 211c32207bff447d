"""Test whether two groups of records have more in common than groups of different people would by chance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

_LEAST_SHARE = 0.5
"""Share of the agreement of equal groups that counts as most of it."""

_CHANCE = 1e-4
"""Maximum probability, per comparison, that groups of different people are taken for the same."""

_DEVIATIONS = 3.72
"""Standard deviations beyond which a normal variable lies with that probability."""

_USUAL_DEVIATIONS = 3.0
"""Standard deviations within which groups of different people usually agree."""

_FEW_VALUES = 40
_FEW_RECORDS = 20_000
"""Up to these sizes the distribution is computed, beyond them it is normal."""


@dataclass(frozen=True)
class Agreement:
    """The extent to which the records of two groups are equal in some columns.

    Attributes:
        column_indexes: The indexes of the columns.
        common: Number of records of one group that have an equal one in the other.
        is_no_chance: Whether `is_mostly_same` holds and groups of different people would agree as much with a
            probability of at most 1e-4.
        is_mostly_same: Whether the groups agree at least half as far above chance as equal groups would.
        is_notable: Whether the groups agree more than groups of different people usually do (by more than three
            standard deviations).
        is_decidable: Whether equal groups would be recognized by these columns: they would agree far more than by
            chance.
    """

    column_indexes: tuple[int, ...]
    common: int
    is_no_chance: bool
    is_mostly_same: bool = False
    is_notable: bool = False
    is_decidable: bool = False


def agreement(counts: Sequence[tuple[int, int, int]], column_indexes: tuple[int, ...]) -> Agreement:
    """Return how far two groups of records agree, compared with chance.

    If each record were of one group or the other by chance, whatever its values, the number of records without an equal
    one in the other group would be a sum of independent variables |2 X - t|, X binomial with t trials. Groups of
    different people differ at least as much. O(records) time.

    Args:
        counts: Rows (mine, theirs, values): the number of values that occur `mine` times in one group and `theirs`
            times in the other.
        column_indexes: The indexes of the columns of these values; they are only passed on to the result.

    Returns:
        The agreement. If a group is empty, all its flags are false.
    """
    mine = sum(x * n for x, _, n in counts)
    theirs = sum(y * n for _, y, n in counts)
    common = sum(min(x, y) * n for x, y, n in counts)
    if not mine or not theirs:
        return Agreement(column_indexes, common, False)
    share = mine / (mine + theirs)
    n_differing, n_inevitable = mine + theirs - 2 * common, abs(mine - theirs)
    moments = {total: _moments(total, share) for total in {x + y for x, y, _ in counts}}
    expected = sum(n * moments[x + y][0] for x, y, n in counts)
    deviation = math.sqrt(sum(n * moments[x + y][1] for x, y, n in counts))
    full_excess, excess = expected - n_inevitable, expected - n_differing
    agreement_found = Agreement(
        column_indexes,
        common,
        is_no_chance=False,
        is_mostly_same=full_excess > 0 and excess >= _LEAST_SHARE * full_excess,
        is_notable=excess > _USUAL_DEVIATIONS * deviation,
        is_decidable=full_excess > _DEVIATIONS * deviation,
    )
    if not agreement_found.is_mostly_same:
        return agreement_found
    if sum(n for *_, n in counts) <= _FEW_VALUES and mine + theirs <= _FEW_RECORDS:
        totals = [x + y for x, y, n in counts for _ in range(n)]
        return replace(agreement_found, is_no_chance=_probability_at_most(totals, share, n_differing) <= _CHANCE)
    return replace(agreement_found, is_no_chance=excess >= _DEVIATIONS * deviation)


def _moments(total: int, share: float) -> tuple[float, float]:
    """Return the mean and the variance of |2 X - total|, X binomial: `total` trials with probability `share`.

    Approximated by a normal variable above 2,000 trials.
    """
    if total > _MANY:
        return _folded_normal(total * (2 * share - 1), 4 * total * share * (1 - share))
    values, weights = _distribution(total, share)
    mean = float((values * weights).sum())
    return mean, max(float((values * values * weights).sum()) - mean * mean, 0.0)


_MANY = 2000
"""Trials from which on a binomial variable is taken for a normal one."""


def _folded_normal(mean: float, variance: float) -> tuple[float, float]:
    """Return the mean and the variance of |Y|, where Y is normal with the given mean and variance."""
    deviation = math.sqrt(variance)
    ratio = mean / deviation
    folded = deviation * math.sqrt(2 / math.pi) * math.exp(-ratio * ratio / 2) + mean * math.erf(ratio / math.sqrt(2))
    return folded, mean * mean + variance - folded * folded


def _distribution(total: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of |2 X - total| for X = 0, ..., total, and the probability of each X.

    X is binomial with `total` trials of probability `share`. A value can occur twice.
    """
    trials = np.arange(total + 1)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, total + 1)))))
    logs = factorials[total] - factorials - factorials[::-1]
    weights = np.exp(logs + trials * math.log(share) + (total - trials) * math.log1p(-share))
    return np.abs(2 * trials - total), weights / weights.sum()


def _probability_at_most(totals: Sequence[int], share: float, limit: int) -> float:
    """Return the probability that a sum of independent |2 X - t|, X binomial with t trials, is at most `limit`.

    `totals` are the numbers t of trials, `share` is the probability of each trial.
    """
    sums = np.ones(1)
    for total in totals:
        values, weights = _distribution(total, share)
        sums = np.convolve(sums, np.bincount(values, weights, total + 1))[: limit + 1]
    return float(sums.sum())
