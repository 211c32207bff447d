"""Values in place of classes: what the records of a cluster are published with where they are hidden in noise and
shuffled (RKA, card 1.8b of the similarity-and-diversity paper's baselines; reconstructed)."""

import hashlib
from dataclasses import dataclass

import numpy as np

from dbanon.encoding.encoded_table import CategoricalAttribute, Codes, EncodedTable, Floats, Ints, NumericAttribute
from dbanon.table_functions.parameter_types import Float

EPSILON_RANGE = Float(0.001, 100)
"""What a call may ask for; beyond, numbers are not hidden at all or nothing but noise."""

GRID_SHARE = 2.0**-30
"""Noisy numbers of a continuous column are multiples of about this share of its range, lest their last bits tell which
value they were made from."""


@dataclass(frozen=True)
class Noise:
    """What is published instead of classes.

    Numbers get Laplace noise of scale range / `epsilon`: of the range in the cluster, and kept within that of the
    release; or, with `by_column`, of the release's range, and not kept within it. `categories` are drawn too; else they
    are published as those of classes. `asked` is how the call says so.
    """

    asked: str
    epsilon: float
    by_column: bool = False
    categories: bool = True


@dataclass(frozen=True)
class NoisyRecords:
    """What is published of every record that is not left out: its cluster and its seat there (from 1), (records,); the
    code of a value of the table (-1: none) or the place of a noisy number beside the least value that is released (NaN:
    none), (records, attributes). A NULL
    has neither, and nor has what is published as that of a class."""

    cluster: Ints
    seat: Ints
    code: Codes
    position: Floats


def uniforms(key: bytes, name: str, n_draws: int) -> Floats:
    """Return numbers above 0 and below 1 that nobody foretells without the key (SHAKE-256), the same on every
    machine."""
    stream = hashlib.shake_256(key + name.encode()).digest(8 * n_draws)
    return ((np.frombuffer(stream, "<u8") >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def shuffle_cluster_numbers(labels: Ints, key: bytes) -> Ints:
    """Return the clusters in another order: theirs tells where in the table they are. -1 stays."""
    place = np.argsort(uniforms(key, "clusters", int(labels.max(initial=-1)) + 1), kind="stable")
    return np.where(labels >= 0, np.append(place, -1)[labels], -1)


def draw_noisy_records(space: EncodedTable, labels: Ints, noise: Noise, key: bytes) -> NoisyRecords:
    """What the records of each cluster are published with; every column is shuffled within it.

    A number is its value and noise, or, where all values of the cluster are equal, the value. A category is drawn from
    the cluster's values, each with a probability proportional to exp(epsilon * its records / 2). A NULL is a value of
    a category; NULLs of a number stay as many. O(n log n) time, O(n) memory for each attribute.
    """
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]
    cluster = labels[order]
    first = np.flatnonzero(np.append(True, cluster[1:] != cluster[:-1])) if len(cluster) else np.empty(0, np.int64)
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(cluster))))
    tuples = space.tuple_of[order]
    code = np.full((len(cluster), len(space.attributes)), -1, np.int32)
    position = np.full(code.shape, np.nan)
    for j, attribute in enumerate(space.attributes):
        draws = uniforms(key, f"values {j}", len(cluster))
        values = space.codes[tuples, j].astype(np.int64)
        if isinstance(attribute, CategoricalAttribute):
            if noise.categories:
                drawn_codes = _drawn_categories(values, group, attribute.values + 1, noise.epsilon, draws)
                code[:, j] = np.where(drawn_codes == attribute.values, -1, drawn_codes)
            continue
        exact, noisy = _noisy_numbers(attribute, values, first, group, noise, draws)
        seats = np.lexsort((uniforms(key, f"seats {j}", len(cluster)), group))
        code[:, j], position[:, j] = exact[seats], noisy[seats]
    return NoisyRecords(cluster, np.arange(len(cluster)) - first[group] + 1, code, position)


def _noisy_numbers(
    number: NumericAttribute, values: Ints, first: Ints, group: Ints, noise: Noise, draws: Floats
) -> tuple[Ints, Floats]:
    """Return codes of values that are published as they are, else -1; and positions of noisy ones, else NaN."""
    has_value = values < number.values
    if not has_value.any():
        return np.full(len(values), -1, np.int64), np.full(len(values), np.nan)
    low = np.minimum.reduceat(np.where(has_value, values, number.values), first)
    high = np.maximum.reduceat(np.where(has_value, values, -1), first)
    # What is left out has no part in it: neither in the range of the column, nor in its ends.
    place = np.append(number.positions - number.positions[low.min()], np.nan)
    max_position = float(place[high.max()])
    positions = place[values]
    with np.errstate(over="ignore"):  # beyond the greatest double lies infinity, and the end of the column
        width = (
            np.full(len(first), max_position)
            if noise.by_column
            else np.where(high > low, place[high] - place[low], 0.0)
        )
        scale = width / noise.epsilon
    centred = draws - 0.5
    step = 1.0 if number.integral else 2.0 ** np.floor(np.log2(max_position * GRID_SHARE)) if max_position > 0 else 1.0
    with np.errstate(over="ignore"):
        noisy = positions - scale[group] * np.sign(centred) * np.log1p(-2 * np.abs(centred))
        if not noise.by_column:
            noisy = np.clip(noisy, 0.0, max_position)
        noisy = np.rint(noisy / step) * step
    if not noise.by_column:
        noisy = np.minimum(noisy, max_position)
    hidden = has_value & ((high > low)[group] | (noise.by_column and high.max() > low.min()))
    return np.where(has_value & ~hidden, values, -1), np.where(hidden, noisy, np.nan)


def _drawn_categories(codes: Ints, group: Ints, n_values: int, epsilon: float, draws: Floats) -> Ints:
    """A code for each record, drawn from those of its group by the exponential mechanism with their numbers of records
    as utility."""
    cells, records = np.unique(group * n_values + codes, return_counts=True)
    cell_group, value = cells // n_values, cells % n_values
    begin = np.searchsorted(cell_group, np.arange(int(group.max(initial=-1)) + 2))
    max_records = np.maximum.reduceat(records, begin[:-1]) if len(records) else records
    weight = np.exp(epsilon * (records - max_records[cell_group]) / 2)
    total = np.add.reduceat(weight, begin[:-1]) if len(weight) else weight
    # Ends of the cells on one line, on which each group has its place of length 1.
    cumulative = np.cumsum(weight / total[cell_group]) if len(weight) else weight
    cumulative -= np.append(0.0, cumulative)[begin[:-1]][cell_group]
    ends = cell_group + np.minimum(cumulative, 1.0)
    ends[begin[1:] - 1] = cell_group[begin[1:] - 1] + 1.0
    # A sum that is rounded may lie in the next place.
    return np.asarray(value[np.clip(np.searchsorted(ends, group + draws), begin[group], begin[group + 1] - 1)])
