"""The scalar function that functions of streams call: encoded records in the order of arrival in, what left out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.algorithms import streams
from dbanon.algorithms.streams import Arrivals, StreamModel, StreamState
from dbanon.algorithms.streams.checkpoint import NumberMeaning, StreamSegment
from dbanon.encoding import encoded_table
from dbanon.udf import cluster_input, stream_input
from dbanon.udf.arrow_columns import items, packed
from dbanon.udf.cluster import WIDE

RECORDS = pa.list_(
    pa.struct([("rid", pa.int64()), ("cluster", pa.int32()), ("step", pa.int64()), ("again", pa.int64())])
)
LEFT = pa.struct([("records", RECORDS), ("wide", WIDE), ("error", pa.string())])


def dbanon_stream(request: Any, rows: Any, *rest: Any) -> Any:
    """STRUCT(records STRUCT(rid, cluster, step, again)[], wide STRUCT(cluster, low[], high[], raised[])[], error
    VARCHAR) of each table of groups of records that are alike. `rest`: the records, with the group of each, the domains
    of dbanon_cluster, and, of a stream that grows, the names of the nodes of each tree in preorder, the texts of
    numbers whose positions are not exact, and hashes of sensitive values.

    `cluster` is the class that a record left with (-1: it is left out, -2: it waits), `step` how many had arrived then,
    `again` the class_id where that class was published before (else NULL); `wide` the least and greatest codes of
    classes that publish more than their records span.
    """
    return cluster_input.each(request, rows, rest, _left, LEFT)


def _left(asked: dict[str, Any], groups: Any, rest: list[Any]) -> Any:
    """What left of one table, as an array of one."""
    segment = StreamSegment.find(asked["segment"])
    width = len(asked["attributes"]) + len(asked["sensitive"])
    domains, known_by = rest[1 : width + 1], rest[width + 1 :]
    attributes = stream_input.attributes(asked, domains)
    of, order = stream_input.places(groups, rest[0].values)
    people, hashes = stream_input.people(asked, groups, of, order, segment)
    system, model = streams.find(asked["stream"]), StreamModel(asked["k"], tuple(asked["need"]))
    names = _names(asked, known_by) if segment is not None else []
    scales = stream_input.scales(attributes, segment, system, names) if segment is not None else None
    growth = None if segment is None or scales is None else (segment, scales)
    came = stream_input.arrivals(asked, groups, domains, attributes, of, order, people, growth=growth)
    before, meaning = None, None
    if segment is not None:
        if system.state_layout.has_value_numbers:
            came = replace(came, sensitive=_numbered(came.sensitive, known_by[-len(asked["sensitive"]) :], segment))
        is_number = [isinstance(a, encoded_table.NumericAttribute) for a in attributes]
        nodes = [None if number else list(map(str, n)) for number, n in zip(is_number, names, strict=True)]
        is_integral = [isinstance(a, encoded_table.NumericAttribute) and a.integral for a in attributes]
        meaning = NumberMeaning(came.places, nodes, hashes, is_integral)
        before = segment.initial_state(system, meaning, asked["function"], came.n_pending)
    ends = segment is None or segment.is_last
    with cluster_input.interruptible(asked) as check:
        state = system.run(came, model, asked["options"], check, before, ends)
    again = np.full(came.n_records, -1, np.int64)
    if segment is not None and meaning is not None:
        if system.widens:
            _span(came, state, len(segment.classes))
        segment.save(system, state, meaning)
        is_old = (state.class_ids >= 0) & (state.class_ids < len(segment.classes))
        again[is_old] = segment.classes[state.class_ids[is_old]]
    columns = [packed(came.arrived), packed(state.class_ids.astype(np.int32)), packed(state.published_at)]
    columns.append(pa.array(again, mask=again < 0))
    left = pa.StructArray.from_arrays(columns, fields=list(RECORDS.value_type))
    wide = pa.array([_wide(attributes, state)], WIDE) if system.widens and segment is None else pa.nulls(1, WIDE)
    return pa.StructArray.from_arrays(
        [cluster_input.one(left, RECORDS), wide, pa.nulls(1, pa.string())], fields=list(LEFT)
    )


def _names(asked: dict[str, Any], named: list[Any]) -> list[list[str | None]]:
    """Return the names of the nodes of each tree, and the texts of numbers whose positions are not exact."""
    return [items(names).to_pylist() for names in named[: len(asked["attributes"])]]


def _numbered(sensitive: encoded_table.Ints, hashes: list[Any], segment: StreamSegment) -> encoded_table.Ints:
    """Return the sensitive values by numbers that stay the same for as long as a stream goes on."""
    columns = []
    for i, codes in enumerate(sensitive.T):
        known_as = segment.value_numbers(i, cluster_input.flat(hashes[i], np.uint64))
        columns.append(np.where(codes >= 0, np.append(known_as, -1)[codes], -1))
    return np.stack(columns, axis=1) if columns else sensitive


def _span(came: Arrivals, state: StreamState, old: int) -> None:
    """Make classes as narrow as what they publish: their records alone."""
    from dbanon.kernels.streams.intervals import shrink_to_records

    begun = np.zeros(len(state.lows), bool)
    shrink_to_records(
        state.class_ids, came.values, came.places.arrays(state.seen_ranges), old, begun, state.lows, state.highs
    )


def _wide(attributes: list[encoded_table.Attribute], state: StreamState) -> list[dict[str, object]]:
    low, high = stream_input.wide(attributes, state)
    return [{"cluster": c, "low": low[c].tolist(), "high": high[c].tolist()} for c in range(len(low))]
