"""Random seeds of clusters; in the deterministic mode the first records instead."""

from collections.abc import Mapping

import numpy as np

from dbanon.encoding.encoded_table import EncodedTable, Ints


def generator(options: Mapping[str, object]) -> np.random.Generator:
    """Return a new random number generator with the call's `seed`."""
    return np.random.Generator(np.random.PCG64(int(str(options["seed"]))))


def random_tuple(space: EncodedTable, options: Mapping[str, object], draws: np.random.Generator) -> int:
    """Return the tuple of a random record; in the deterministic mode, of the first record."""
    record = 0 if options["mode"] == "deterministic" else int(draws.integers(space.rows))
    return int(np.searchsorted(space.starts, record, side="right")) - 1


def random_order(space: EncodedTable, options: Mapping[str, object]) -> Ints:
    """Return all row numbers in a random order; in the deterministic mode, in canonical order."""
    if options["mode"] == "deterministic":
        return np.arange(space.rows)
    random = np.random.PCG64(int(str(options["seed"])))  # its stream, unlike a Generator's, is promised
    return np.argsort(random.random_raw(space.rows), kind="stable")


def spread_rows(space: EncodedTable, clusters: int, options: Mapping[str, object]) -> tuple[Ints, Ints]:
    """Return `clusters` different rows, and an order of all rows, both random by the option `seed`.

    In the deterministic mode the rows are every (rows / clusters)th row, and the order is the canonical one.
    """
    if options["mode"] == "deterministic":
        return np.arange(clusters) * space.rows // clusters, np.arange(space.rows)
    random = np.random.PCG64(int(str(options["seed"])))  # its stream, unlike a Generator's, is promised
    rows = np.argsort(random.random_raw(space.rows), kind="stable")[:clusters]
    return rows, np.argsort(random.random_raw(space.rows), kind="stable")
