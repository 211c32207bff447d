"""The scalar function that anonymizes streams: encoded records in the order of arrival in, published classes out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.algorithms import streams
from dbanon.algorithms.streams import StreamModel
from dbanon.algorithms.streams.checkpoint import NumberMeaning, StreamSegment
from dbanon.encoding import encoded_table
from dbanon.udf import cluster_input, stream_input
from dbanon.udf.arrow_columns import list_items, to_arrow

RECORDS_TYPE = pa.list_(
    pa.struct([("rid", pa.int64()), ("cluster", pa.int32()), ("step", pa.int64()), ("again", pa.int64())])
)
STREAM_TYPE = pa.struct([("records", RECORDS_TYPE), ("error", pa.string())])


def dbanon_stream(requests: Any, rows: Any, *inputs: Any) -> Any:
    """Run a stream algorithm on each stream; return the class of each record as an Arrow column of STREAM_TYPE.

    Args:
        requests: JSON of each call: the stream algorithm, its parameters, and the segment of a stream that grows.
        rows: The groups of equal records, as in dbanon_cluster.
        *inputs: The records with the group of each, then the domains of dbanon_cluster. For a stream that grows also
            the names of each tree's nodes in preorder, the texts of numbers whose positions are not exact, and hashes
            of sensitive values.

    Returns:
        STRUCT(records STRUCT(rid, cluster, step, again)[], error VARCHAR).

        - `cluster` is the class that a record was published with; -1 if it was suppressed, -2 if it is pending.
        - `step` is the number of records that had arrived by then.
        - `again` is the class_id if that class was published before, else NULL.
    """
    return cluster_input.answer_each(requests, rows, inputs, _run_stream, STREAM_TYPE)


def _run_stream(request: dict[str, Any], groups: Any, inputs: list[Any]) -> Any:
    """Run one stream algorithm on the records of one stream; return an Arrow array of STREAM_TYPE with length one.

    If the stream grows (the request has a segment: the part of the stream that one refresh reads), the algorithm starts
    from the segment's saved state with the new records, and the new state is saved in the segment.

    Args:
        request: The decoded request of `dbanon_stream`.
        groups: STRUCT array with one row per group of equal records (see `cluster_input.encode_records`).
        inputs: The further arguments of `dbanon_stream`, as arrays of length one.
    """
    segment = StreamSegment.find(request["segment"])
    n_domains = len(request["attributes"]) + len(request["sensitive"])
    domains, growth_inputs = inputs[1 : n_domains + 1], inputs[n_domains + 1 :]
    attributes = stream_input.decode_attributes(request, domains)
    group, arrival = stream_input.arrival_groups(groups, inputs[0].values)
    people, hashes = stream_input.stream_persons(request, groups, group, arrival, segment)
    algorithm, model = streams.find(request["stream"]), StreamModel(request["k"], tuple(request["need"]))
    # The names of each tree's nodes, or the texts of numbers; None for a number whose position is exact.
    names = [list_items(name_lists).to_pylist() for name_lists in growth_inputs[: len(request["attributes"])]]
    scales = None if segment is None else stream_input.number_scales(attributes, segment, algorithm, names)
    arrivals = stream_input.stream_arrivals(
        request, groups, domains, attributes, group, arrival, people, segment=segment, scales=scales
    )
    previous_state, meaning = None, None
    if segment is not None:
        if algorithm.state_layout.has_value_numbers:
            arrivals = replace(
                arrivals,
                sensitive=_lasting_value_numbers(
                    arrivals.sensitive, growth_inputs[-len(request["sensitive"]) :], segment
                ),
            )
        nodes = [
            None if isinstance(a, encoded_table.NumericAttribute) else list(map(str, n))
            for a, n in zip(attributes, names, strict=True)
        ]
        is_integral = [isinstance(a, encoded_table.NumericAttribute) and a.integral for a in attributes]
        meaning = NumberMeaning(arrivals.places, nodes, hashes, is_integral)
        previous_state = segment.initial_state(algorithm, meaning, request["function"], arrivals.n_pending)
    is_last = segment is None or segment.is_last
    with cluster_input.interrupt_check(request) as check:
        state = algorithm.run(arrivals, model, request["options"], check, previous_state, is_last)
    republished = np.full(arrivals.n_records, -1, np.int64)
    if segment is not None and meaning is not None:
        segment.save(algorithm, state, meaning)
        is_old = (state.class_ids >= 0) & (state.class_ids < len(segment.classes))
        republished[is_old] = segment.classes[state.class_ids[is_old]]
    columns = [to_arrow(arrivals.arrived), to_arrow(state.class_ids.astype(np.int32)), to_arrow(state.published_at)]
    return cluster_input.rows_answer([*columns, to_arrow(republished, republished < 0)], STREAM_TYPE)


def _lasting_value_numbers(
    sensitive: encoded_table.Ints, hashes: list[Any], segment: StreamSegment
) -> encoded_table.Ints:
    """Replace codes of sensitive values by numbers that stay the same from segment to segment of a stream; -1 for NULL.

    Args:
        sensitive: (records, columns) codes of sensitive values in this segment.
        hashes: For each column, the hash of the value of each code.
        segment: The segment, which assigns the numbers.
    """
    columns = []
    for i, codes in enumerate(sensitive.T):
        lasting_numbers = segment.value_numbers(i, cluster_input.list_numbers(hashes[i], np.uint64))
        columns.append(np.where(codes >= 0, np.append(lasting_numbers, -1)[codes], -1))
    return np.stack(columns, axis=1) if columns else sensitive
