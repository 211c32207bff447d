"""Noisy values in place of classes: the records of a cluster are published with noise, and shuffled.

Reconstructed from RKA, card 1.8b of the similarity-and-diversity paper's baselines.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from dbanon.encoding.encoded_table import CategoricalAttribute, Codes, EncodedTable, Floats, Ints, NumericAttribute
from dbanon.table_functions.parameter_types import Float

EPSILON_RANGE = Float(0.001, 100)
"""Accepted values of epsilon; beyond these, numbers are not hidden at all or nothing but noise."""

GRID_SHARE = 2.0**-30
"""Noisy numbers of a continuous column are multiples of about this share of its range, so that their last bits do not
reveal the value that they were made from."""


@dataclass(frozen=True)
class Noise:
    """Parameters of noise that is published instead of classes.

    Attributes:
        asked: The parameter as the call states it, such as "release = 'noise'"; stored with the release's request.
        epsilon: Numbers get Laplace noise of scale range / epsilon.
        by_column: Whether the range is that of the release; the noisy number may then exceed it. Otherwise the range is
            that of the cluster, and noisy numbers stay within the range of the release.
        categories: Whether categories are drawn too; otherwise they are published as those of classes.
    """

    asked: str
    epsilon: float
    by_column: bool = False
    categories: bool = True


@dataclass(frozen=True)
class NoisyRecords:
    """The published values of every record that is not suppressed, where classes would publish ranges.

    A value has either a code or a position. A NULL, and a category that is published as that of its class, have
    neither.

    Attributes:
        cluster: (n,) cluster of each record.
        seat: (n,) number of the record within its cluster, from 1.
        code: (n, attributes) code of a published value; -1 for none.
        position: (n, attributes) distance of a noisy number from the least released value; NaN for none.
    """

    cluster: Ints
    seat: Ints
    code: Codes
    position: Floats


def uniforms(key: bytes, name: str, n_draws: int) -> Floats:
    """Return `n_draws` pseudorandom numbers between 0 and 1, exclusive, from a secret key and a name (SHAKE-256).

    They cannot be predicted without the key, and are the same on every machine and in every call.
    """
    stream = hashlib.shake_256(key + name.encode()).digest(8 * n_draws)
    return ((np.frombuffer(stream, "<u8") >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def shuffle_cluster_numbers(labels: Ints, key: bytes) -> Ints:
    """Return the labels with shuffled cluster numbers, by the secret key; -1 stays.

    The original numbers reveal positions in the table.
    """
    place = np.argsort(uniforms(key, "clusters", int(labels.max(initial=-1)) + 1), kind="stable")
    return np.where(labels >= 0, np.append(place, -1)[labels], -1)


def draw_noisy_records(space: EncodedTable, labels: Ints, noise: Noise, key: bytes) -> NoisyRecords:
    """Draw the published values of the records of each cluster; columns are shuffled independently in each cluster.

    A number is its value plus noise, or the value itself if all values of the cluster are equal (with `by_column`: if
    all values of the release are). A category is drawn from the cluster's values, each with a probability proportional
    to exp(epsilon * its records / 2); NULL is one of the values. A number has as many NULLs as before. O(n log n) time,
    O(n) memory for each attribute.

    Args:
        space: The encoded table.
        labels: (n,) cluster of each record; -1 for suppressed ones, which are not returned.
        noise: The parameters of the noise.
        key: The secret key of the random numbers.
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
    """Add Laplace noise to the numbers of one attribute, for records sorted by cluster.

    Args:
        number: The attribute.
        values: (n,) code of each record.
        first: First record of each cluster.
        group: (n,) cluster of each record, from 0.
        noise: The parameters of the noise.
        draws: (n,) uniform random numbers.

    Returns:
        Codes of the values that are published unchanged, else -1; and noisy positions, as distances from the least
        released value, else NaN. A NULL has -1 and NaN. Noisy positions are rounded to steps of the type, or to a fine
        grid.
    """
    has_value = values < number.values
    if not has_value.any():
        return np.full(len(values), -1, np.int64), np.full(len(values), np.nan)
    low = np.minimum.reduceat(np.where(has_value, values, number.values), first)
    high = np.maximum.reduceat(np.where(has_value, values, -1), first)
    # Suppressed records affect neither the range of the column nor its ends.
    place = np.append(number.positions - number.positions[low.min()], np.nan)
    max_position = float(place[high.max()])
    positions = place[values]
    centred = draws - 0.5
    step = 1.0 if number.integral else 2.0 ** np.floor(np.log2(max_position * GRID_SHARE)) if max_position > 0 else 1.0
    with np.errstate(over="ignore"):  # an overflow is clipped to the end of the column
        width = (
            np.full(len(first), max_position)
            if noise.by_column
            else np.where(high > low, place[high] - place[low], 0.0)
        )
        scale = width / noise.epsilon
        noisy = positions - scale[group] * np.sign(centred) * np.log1p(-2 * np.abs(centred))
        if not noise.by_column:
            noisy = np.clip(noisy, 0.0, max_position)
        noisy = np.rint(noisy / step) * step
    if not noise.by_column:
        noisy = np.minimum(noisy, max_position)
    hidden = has_value & ((high > low)[group] | (noise.by_column and high.max() > low.min()))
    return np.where(has_value & ~hidden, values, -1), np.where(hidden, noisy, np.nan)


def _drawn_categories(codes: Ints, group: Ints, n_values: int, epsilon: float, draws: Floats) -> Ints:
    """Draw a code for each record from the codes of its cluster, by the exponential mechanism.

    The utility of a code is its number of records in the cluster: its probability is proportional to exp(epsilon *
    records / 2).

    Args:
        codes: (n,) code of each record, NULL included.
        group: (n,) cluster of each record, ascending from 0.
        n_values: Number of codes.
        epsilon: The parameter of the mechanism.
        draws: (n,) uniform random numbers.
    """
    cells, records = np.unique(group * n_values + codes, return_counts=True)
    cell_group, value = cells // n_values, cells % n_values
    begin = np.searchsorted(cell_group, np.arange(int(group.max(initial=-1)) + 2))
    max_records = np.maximum.reduceat(records, begin[:-1]) if len(records) else records
    weight = np.exp(epsilon * (records - max_records[cell_group]) / 2)
    total = np.add.reduceat(weight, begin[:-1]) if len(weight) else weight
    # Ends of the cells on one line, on which each group has an interval of length 1.
    cumulative = np.cumsum(weight / total[cell_group]) if len(weight) else weight
    cumulative -= np.append(0.0, cumulative)[begin[:-1]][cell_group]
    ends = cell_group + np.minimum(cumulative, 1.0)
    ends[begin[1:] - 1] = cell_group[begin[1:] - 1] + 1.0
    # A rounded sum may be in the next interval.
    return np.asarray(value[np.clip(np.searchsorted(ends, group + draws), begin[group], begin[group + 1] - 1)])
