"""The scalar function that clusters: encoded records as Arrow columns in, clusters out."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import algorithms
from dbanon.algorithms.base.assignments import intersect_partitions
from dbanon.encoding import encoded_table
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.runtime import session
from dbanon.runtime.version import __version__
from dbanon.udf import cluster_input
from dbanon.udf.arrow_columns import struct_array, to_arrow
from dbanon.udf.cluster_input import integer_field, list_array

PARTS_TYPE = pa.list_(
    pa.struct([("gid", pa.int64()), ("cluster", pa.int32()), ("first", pa.int32()), ("last", pa.int32())])
)
WIDE_TYPE = pa.list_(
    pa.struct([("cluster", pa.int32()), *((name, pa.list_(pa.int32())) for name in ("low", "high", "raised"))])
)
NOISE_TYPE = pa.list_(
    pa.struct([("cluster", pa.int32()), ("seat", pa.int32()),
               ("code", pa.list_(pa.int32())), ("position", pa.list_(pa.float64()))])
)  # fmt: skip
ANSWER_TYPE = pa.struct([("parts", PARTS_TYPE), ("wide", WIDE_TYPE), ("drawn", NOISE_TYPE), ("error", pa.string())])


@cluster_input.answers_requests(ANSWER_TYPE, with_records=True)
def dbanon_cluster(request: dict[str, Any], records: Any, *domains: Any) -> Any:
    """Cluster one table of groups of equal records; return the clusters as an answer of ANSWER_TYPE.

    DuckDB calls this with one table; with none if the source is empty, and with several equal tables if the call is in
    a correlated subquery.

    Without records (None), there are no parts. If the request has `waiting`, no algorithm runs: the cluster is 0 for
    records that could be clustered now, and -1 for those that must be deferred. With noise, cluster numbers are
    shuffled and noisy records are drawn, by a key that depends on the table.

    Args:
        request: Algorithm, parameters, attributes, privacy models and session.
        records: The groups of equal records, encoded (see `cluster_input.encode_records`), or None.
        *domains: The domain (meaning of the codes) of each attribute, then of each sensitive column.

    Returns:
        STRUCT(parts STRUCT(gid, cluster, first, last)[], wide STRUCT(cluster, low[], high[], raised[])[], drawn
        STRUCT(cluster, seat, code[], position[])[], error VARCHAR).

        - `parts`: the records first to last (from 1) of group `gid` belong to a cluster.
        - `wide`: the least and greatest published codes of clusters that publish more than their records span, and what
          each attribute is generalized to: a node, -1 for the node that covers the codes, -2 for `*`.
        - `drawn`: with noise, what each seat of a cluster is published with.
        - `error`: the message if the call is refused or interrupted; the others are NULL then.
    """
    if records is None:  # a refresh to which nothing came
        return {"parts": []}
    table, order = cluster_input.encode_records(request, records, domains)
    constraint = request_constraint(request)
    if request.get("waiting"):
        return _answer_array(_part_rows(records, order, algorithms.clusterable_records(table, constraint)))
    if request["forest"] is not None:
        from dbanon.udf.influence import with_influence

        table = with_influence(table, request)
    runs = _find_clusters(request, table, constraint)
    noise, noise_rows = request["noise"], None
    if noise is not None:
        key = _noise_key(request, table, integer_field(records, "tie")[order])
        labels = algorithms.shuffle_cluster_numbers(runs.labels(), key)
        noise_rows = _noise_rows(algorithms.draw_noisy_records(table, labels, algorithms.Noise(**noise), key))
        runs = algorithms.RunLengthLabels.from_labels(table, labels)
    wide_clusters = algorithms.widen_clusters(
        algorithms.find(request["algorithm"]), table, constraint, request["options"], runs
    )
    return _answer_array(
        _part_rows(records, order, runs), wide_clusters and _wide_rows(table, *wide_clusters), noise_rows
    )


def request_constraint(request: dict[str, Any]) -> Constraint:
    """Build the constraint of a request from k, `models` (privacy models other than k) and `joint`.

    `joint` says whether a model of one sensitive column must hold within every combination of values of the others.
    """
    return Constraint(request["k"], tuple(ModelRequirement(**fields) for fields in request["models"]), request["joint"])


def _answer_array(parts: Any, wide_rows: Any = None, noise_rows: Any = None) -> Any:
    """Put the clusters of one table into an Arrow array of ANSWER_TYPE with length one, without an error.

    Args:
        parts: The rows of `parts`.
        wide_rows: The rows of `wide`; NULL if None or empty.
        noise_rows: The rows of `drawn`; NULL if None.
    """
    return struct_array(
        [
            list_array(parts, PARTS_TYPE),
            pa.nulls(1, WIDE_TYPE) if not wide_rows else list_array(wide_rows, WIDE_TYPE),
            pa.nulls(1, NOISE_TYPE) if noise_rows is None else list_array(noise_rows, NOISE_TYPE),
            pa.nulls(1, pa.string()),
        ],
        ANSWER_TYPE,
    )


def _noise_rows(noisy_records: algorithms.NoisyRecords) -> Any:
    """Return noisy records as a struct array of `drawn`: cluster, seat, and lists of codes and positions by attribute.

    Values that have no code (-1) or no position (NaN) are NULL.
    """
    shape = noisy_records.code.shape
    code, position = noisy_records.code.reshape(-1), noisy_records.position.reshape(-1)
    columns = [
        to_arrow(noisy_records.cluster.astype(np.int32)),
        to_arrow(noisy_records.seat.astype(np.int32)),
        _attribute_lists(to_arrow(code, code < 0), *shape),
        _attribute_lists(to_arrow(position, np.isnan(position)), *shape),
    ]
    return struct_array(columns, NOISE_TYPE.value_type)


def _noise_key(request: dict[str, Any], table: encoded_table.EncodedTable, ties: Any) -> bytes:
    """Return the 32-byte key of the noise: a hash of the noise settings, the clustering's inputs, and the `ties`.

    The same table has the same noise, so repeating a call does not average it out. Someone who does not know the table
    cannot compute the key.

    Args:
        request: The request, with the settings `noise`.
        table: The encoded table.
        ties: A number of each group of equal records, in canonical order, by which groups with equal codes are ordered.
    """
    digest = hashlib.blake2b(json.dumps(request["noise"], sort_keys=True).encode(), digest_size=32)
    digest.update(clustering_hash(request, table))
    digest.update(np.ascontiguousarray(ties).data)
    return digest.digest()


def _wide_rows(table: encoded_table.EncodedTable, clusters: encoded_table.Ints, ends: algorithms.PublishedEnds) -> Any:
    """Return a struct array of `wide`: the published ranges of clusters that publish more than they contain.

    Args:
        table: The encoded table.
        clusters: The numbers of those clusters, whose published ranges are wider than the values of their records.
        ends: The least and greatest published code and the published node of each of these clusters in each attribute.

    Returns:
        One row per cluster, with the lists `low`, `high` and `raised` (nodes) by attribute. A node is replaced by -2
        (`*`) where the codes reach from a value to NULL.
    """
    null_codes = np.array([a.values for a in table.attributes])
    raised_nodes = np.where((ends.low < null_codes) & (ends.high == null_codes), -2, ends.raised_nodes)
    lists = [
        _attribute_lists(to_arrow(a.reshape(-1).astype(np.int32)), *a.shape)
        for a in (ends.low, ends.high, raised_nodes)
    ]
    return struct_array([to_arrow(clusters.astype(np.int32)), *lists], WIDE_TYPE.value_type)


def _attribute_lists(values: Any, n_rows: int, n_attributes: int) -> Any:
    """Return an Arrow array of `n_rows` lists of `n_attributes` values each, which `values` has one after the other."""
    return pa.ListArray.from_arrays(to_arrow(np.arange(n_rows + 1, dtype=np.int32) * n_attributes), values)


def _part_rows(records: Any, order: encoded_table.Ints, runs: algorithms.RunLengthLabels) -> Any:
    """Return a struct array of `parts`: runs of records with equal cluster, split where groups of equal records end.

    Args:
        records: STRUCT array with one row per group of equal records, with `gid` and `size`.
        order: The row of `records` of each group, in canonical order.
        runs: The cluster of every record, run-length encoded in the same order.

    In each row, `first` and `last` are record numbers within the group, from 1.
    """
    sizes = integer_field(records, "size")[order]
    counts, groups, run_numbers = intersect_partitions(sizes, runs.counts)
    last_records = np.cumsum(counts) - (np.cumsum(sizes) - sizes)[groups]
    columns = [
        integer_field(records, "gid")[order][groups],
        runs.clusters[run_numbers],
        (last_records - counts + 1).astype(np.int32),
        last_records.astype(np.int32),
    ]
    return struct_array([to_arrow(column) for column in columns], PARTS_TYPE.value_type)


def _find_clusters(
    request: dict[str, Any], table: encoded_table.EncodedTable, constraint: Constraint
) -> algorithms.RunLengthLabels:
    """Run the algorithm of a request and return the cluster of every record, from the session's cache if it is there.

    If the session has a timed search, the algorithm always runs; the number of moves is stored in
    `session.search.moves`, and the result is cached as that of a call with this number of moves. Progress is reported
    to the session.

    Raises:
        DbanonError: If the algorithm refuses the table.
        StatementInterruptedError: After an interrupt, unless a timed search can return what it has found.
    """
    current_session = session.session_by_token(request["session"])
    n_moves, search = request["improve"], current_session.search
    budget = None if n_moves is None and search is None else algorithms.SearchBudget(n_moves or 0)
    if budget is not None and search is not None:
        budget.seconds, budget.keep_on_interrupt = search.seconds, True

    def compute() -> algorithms.RunLengthLabels:
        """Run the algorithm with its refinement, progress reports and a check for interrupts."""
        with cluster_input.interrupt_check(request) as check:
            return run_request(request, table, constraint, budget, current_session.on_progress, check)

    if search is None or budget is None:
        cached_runs: algorithms.RunLengthLabels = current_session.cache.get(clustering_hash(request, table), compute)
        return cached_runs
    runs = compute()
    search.moves = budget.n_moves_done
    current_session.cache.put(clustering_hash({**request, "improve": budget.n_moves_done}, table), runs)
    return runs


def run_request(
    request: dict[str, Any],
    table: encoded_table.EncodedTable,
    constraint: Constraint,
    budget: algorithms.SearchBudget | None,
    on_progress: Callable[[float, float], None] | None,
    check: Callable[[], None],
) -> algorithms.RunLengthLabels:
    """Run the algorithm of a request, with its refinement, on a table; return the cluster of every record.

    Args:
        request: The request.
        table: The encoded table.
        constraint: The privacy models.
        budget: The limits of a search; None without a search.
        on_progress: Called with the share that is done and the loss that was removed; or None.
        check: Raises an error after an interrupt.

    Raises:
        DbanonError: If the algorithm refuses the table.
    """
    return algorithms.run_algorithm(
        algorithms.find(request["algorithm"]),
        table,
        constraint,
        request["options"],
        algorithms.MessageNames(
            tuple(a["name"] for a in request["attributes"]), request["sensitive"], request["function"]
        ),
        algorithms.Refinement(
            request["suppress"], request["heights"], budget, on_progress, request["objective"], request["leaves"]
        ),
        check,
        max_cell_tuples=request["cell"],
    )


def clustering_hash(request: dict[str, Any], table: encoded_table.EncodedTable) -> bytes:
    """Return a 128-bit hash of all that determines the clusters.

    These are the version of dbanon; the settings of the request (algorithm, k, options except `allow_slow`, attributes,
    models and whether they are joint, suppression, number of moves, heights, objective and its leaves, partition size,
    number of records); and of the table the codes, counts, persons, sensitive values, positions, interval ends,
    magnitudes, hierarchies, influence and weights.
    """
    settings = {
        key: request[key]
        for key in (
            "algorithm",
            "k",
            "options",
            "attributes",
            "models",
            "joint",
            "suppress",
            "improve",
            "heights",
        )
    }
    # Whether a long run is accepted changes no cluster, and must not draw other noise either.
    settings["options"] = {name: value for name, value in request["options"].items() if name != "allow_slow"}
    if request["objective"] != "precision":  # else as above
        settings["objective"] = request["objective"]
        if request["leaves"] != "all":
            settings["leaves"] = request["leaves"]
    if request["cell"] is not None:  # else the hash, by which noise is drawn, is what it was without cells
        settings["cell"] = request["cell"]
    if "records" in request:
        settings["records"] = request["records"]
    settings["influence"] = [[a.influence, a.weight] for a in table.attributes]
    digest = hashlib.blake2b(json.dumps([__version__, settings], sort_keys=True).encode(), digest_size=16)
    arrays: list[Any] = [table.codes, table.counts]
    if table.persons is not None:
        arrays.append(table.persons.astype(np.int64))  # noise is drawn by numbers of this width
    for sensitive in table.sensitive:
        arrays += [sensitive.codes, sensitive.value_counts]
        if sensitive.tree is not None:
            arrays += [sensitive.tree.parent, sensitive.tree.node]
    for attribute in table.attributes:
        if isinstance(attribute, encoded_table.NumericAttribute):
            arrays.append(attribute.positions)
            if attribute.ends is not None:
                arrays += [
                    attribute.ends.lower_rank,
                    attribute.ends.upper_rank,
                    attribute.ends.lower_position,
                    attribute.ends.upper_position,
                ]
        else:
            arrays += [attribute.parent, attribute.node]
        if attribute.magnitudes is not None:
            arrays.append(attribute.magnitudes)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
