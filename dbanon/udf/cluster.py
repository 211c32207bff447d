"""The function that clusters: Arrow tables of records in, clusters out."""

import hashlib
import json
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import algorithms
from dbanon.algorithms.base.assignments import intersect_partitions
from dbanon.encoding import encoded_table
from dbanon.privacy_models import constraint
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.runtime import session
from dbanon.runtime.version import __version__
from dbanon.udf import cluster_input
from dbanon.udf.arrow_columns import packed
from dbanon.udf.cluster_input import one, whole
from dbanon.udf.influence import influenced

PARTS = pa.list_(pa.struct([("gid", pa.int64()), ("cluster", pa.int32()), ("first", pa.int32()), ("last", pa.int32())]))
WIDE = pa.list_(
    pa.struct([("cluster", pa.int32()), *((name, pa.list_(pa.int32())) for name in ("low", "high", "raised"))])
)
DRAWN = pa.list_(
    pa.struct([("cluster", pa.int32()), ("seat", pa.int32()),
               ("code", pa.list_(pa.int32())), ("position", pa.list_(pa.float64()))])
)  # fmt: skip
ANSWER = pa.struct([("parts", PARTS), ("wide", WIDE), ("drawn", DRAWN), ("error", pa.string())])


def dbanon_cluster(request: Any, rows: Any, *domains: Any) -> Any:
    """STRUCT(parts STRUCT(gid, cluster, first, last)[], wide STRUCT(cluster, low[], high[], raised[])[], drawn
    STRUCT(cluster, seat, code[], position[])[], error VARCHAR) of each table of groups of equal records.

    A part says which cluster the records first to last (from 1) of a group belong to; `wide` has the least and greatest
    codes of clusters that are published with more than their records span, and what each attribute is raised to (a
    node, -2: `*`, -1: what covers the codes); `drawn` what the seats of a cluster are published with, where that is
    noise. DuckDB calls it with one table; with none where the source is empty, and with
    several equal ones where the call stands in a correlated subquery.
    """
    return cluster_input.each(request, rows, domains, _clusters, ANSWER)


def _clusters(asked: dict[str, Any], records: Any, domains: list[Any]) -> Any:
    """Return the clusters of one table, as an array of one."""
    if records is None:  # a refresh to which nothing came
        return pa.array([{"parts": []}], ANSWER)
    table, order = cluster_input.table(asked, records, domains)
    algorithm = algorithms.find(asked["algorithm"])
    limits = limits_of(asked)
    if asked.get("waiting"):
        runs = algorithms.clusterable_records(table, limits)
        return _answer(_parts(whole(records, "gid")[order], whole(records, "size")[order], runs))
    if asked["forest"] is not None:
        table = influenced(table, asked)
    runs = _runs(asked, table, limits)
    noise, values = asked["noise"], None
    if noise is not None:
        key = _noise_key(asked, table, whole(records, "tie")[order])
        labels = algorithms.shuffle_cluster_numbers(runs.labels(), key)
        values = _drawn(algorithms.draw_noisy_records(table, labels, algorithms.Noise(**noise), key))
        runs = algorithms.RunLengthLabels.from_labels(table, labels)
    parts = _parts(whole(records, "gid")[order], whole(records, "size")[order], runs)
    wide = algorithms.widen_clusters(algorithm, table, limits, asked["options"], runs)
    return _answer(parts, wide and _wide(table, *wide), values)


def limits_of(asked: dict[str, Any]) -> constraint.Constraint:
    """Return the privacy model that a request asks for."""
    models = tuple(ModelRequirement(**fields) for fields in asked["models"])
    return constraint.Constraint(asked["k"], models, asked["joint"])


def _answer(parts: Any, wide: list[dict[str, object]] | None = None, drawn: Any = None) -> Any:
    """What is answered about one table, as an array of one."""
    return pa.StructArray.from_arrays(
        [
            one(parts, PARTS),
            pa.array([wide], WIDE) if wide else pa.nulls(1, WIDE),
            pa.nulls(1, DRAWN) if drawn is None else one(drawn, DRAWN),
            pa.nulls(1, pa.string()),
        ],
        fields=list(ANSWER),
    )


def _drawn(found: algorithms.NoisyRecords) -> Any:
    """Return rows of `drawn`."""
    rows, width = found.code.shape
    ends = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
    code, position = found.code.reshape(-1), found.position.reshape(-1)
    lists = (pa.array(code, mask=code < 0), pa.array(position, mask=np.isnan(position)))
    arrays = [pa.array(found.cluster.astype(np.int32)), pa.array(found.seat.astype(np.int32))]
    arrays += [pa.ListArray.from_arrays(ends, values) for values in lists]
    return pa.StructArray.from_arrays(arrays, fields=list(DRAWN.value_type))


def _noise_key(asked: dict[str, Any], table: encoded_table.EncodedTable, tie: Any) -> bytes:
    """What noise is drawn by: a hash of all that is clustered and published.

    The same table has the same noise, which asking again does not average out; who does not know the table cannot draw
    it.
    """
    hashed = hashlib.blake2b(json.dumps(asked["noise"], sort_keys=True).encode(), digest_size=32)
    hashed.update(content(asked, table))
    hashed.update(np.ascontiguousarray(tie).data)
    return hashed.digest()


def _wide(
    table: encoded_table.EncodedTable, clusters: encoded_table.Ints, ends: algorithms.PublishedEnds
) -> list[dict[str, object]]:
    """Return rows of `wide`."""
    nulls = np.array([a.values for a in table.attributes])
    raised = np.where((ends.low < nulls) & (ends.high == nulls), -2, ends.raised_nodes)
    rows = zip(clusters.tolist(), ends.low.tolist(), ends.high.tolist(), raised.tolist(), strict=True)
    return [{"cluster": c, "low": low, "high": high, "raised": node} for c, low, high, node in rows]


def _parts(gid: encoded_table.Ints, sizes: encoded_table.Ints, runs: algorithms.RunLengthLabels) -> Any:
    """Return the runs cut where groups end; groups, in canonical order, are tuples or parts of them."""
    counts, group, run = intersect_partitions(sizes, runs.counts)
    last = np.cumsum(counts) - (np.cumsum(sizes) - sizes)[group]
    arrays = [gid[group], runs.clusters[run], (last - counts + 1).astype(np.int32), last.astype(np.int32)]
    return pa.StructArray.from_arrays([packed(a) for a in arrays], fields=list(PARTS.value_type))


def _runs(
    asked: dict[str, Any], table: encoded_table.EncodedTable, limits: constraint.Constraint
) -> algorithms.RunLengthLabels:
    """Return the clusters of all records, from the cache where they are known."""
    current = session.session_by_token(asked["session"])
    moves, search = asked["improve"], current.search
    budget = None if moves is None and search is None else algorithms.SearchBudget(moves or 0)
    if budget is not None and search is not None:
        budget.seconds, budget.keep_on_interrupt = search.seconds, True

    def compute() -> algorithms.RunLengthLabels:
        with cluster_input.interruptible(asked) as check:
            return algorithms.run_algorithm(
                algorithms.find(asked["algorithm"]),
                table,
                limits,
                asked["options"],
                algorithms.MessageNames(
                    tuple(a["name"] for a in asked["attributes"]), asked["sensitive"], asked["function"]
                ),
                algorithms.Refinement(
                    asked["suppress"], asked["heights"], budget, current.on_progress, asked["objective"]
                ),
                check,
                cell=asked["cell"],
            )

    if search is None or budget is None:
        found: algorithms.RunLengthLabels = current.cache.get(content(asked, table), compute)
        return found
    runs = compute()
    search.moves = budget.n_moves_done
    current.cache.put(content({**asked, "improve": budget.n_moves_done}, table), runs)
    return runs


def content(asked: dict[str, Any], table: encoded_table.EncodedTable) -> bytes:
    """128-bit hash of all that clusters follow from: version, algorithm, parameters, attributes, tuples, persons."""
    told = {
        key: asked[key]
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
    told["options"] = {name: value for name, value in asked["options"].items() if name != "large"}
    if asked["objective"] != "precision":  # else as above
        told["objective"] = asked["objective"]
    if asked["cell"] is not None:  # else the hash, by which noise is drawn, is what it was without cells
        told["cell"] = asked["cell"]
    if "records" in asked:
        told["records"] = asked["records"]
    told["influence"] = [[a.influence, a.weight] for a in table.attributes]
    hashed = hashlib.blake2b(json.dumps([__version__, told], sort_keys=True).encode(), digest_size=16)
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
    for each in arrays:
        hashed.update(f"{each.dtype}{each.shape}".encode())
        hashed.update(np.ascontiguousarray(each).data)
    return hashed.digest()
