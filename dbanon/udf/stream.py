"""The scalar function that anonymizes streams: encoded records in the order of arrival in, published classes out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.algorithms import streams
from dbanon.algorithms.streams import Arrivals, StreamAlgorithm, StreamModel
from dbanon.algorithms.streams.checkpoint import NumberMeaning, StreamSegment
from dbanon.algorithms.streams.number_scales import NumberScale
from dbanon.encoding import encoded_table
from dbanon.udf import cluster_input
from dbanon.udf.arrow_columns import is_valid, list_items, to_arrow, to_numpy

RECORDS_TYPE = pa.list_(
    pa.struct([("rid", pa.int64()), ("cluster", pa.int32()), ("step", pa.int64()), ("again", pa.int64())])
)
STREAM_TYPE = pa.struct([("records", RECORDS_TYPE), ("error", pa.string())])


@cluster_input.answers_requests(STREAM_TYPE, with_records=True)
def dbanon_stream(request: dict[str, Any], groups: Any, *inputs: Any) -> Any:
    """Run one stream algorithm on one stream; return the class of each record, as a STREAM_TYPE array of length one.

    If the stream grows (the request has a segment: the part of the stream that one refresh reads), the algorithm starts
    from the segment's saved state with the new records, and the new state is saved in the segment.

    Args:
        request: The stream algorithm, its parameters, and the segment of a stream that grows.
        groups: The groups of equal records, as in dbanon_cluster.
        *inputs: The records with the group of each, then the domains of dbanon_cluster. For a stream that grows also
            the names of each tree's nodes in preorder, the texts of numbers whose positions are not exact, and hashes
            of sensitive values.

    Returns:
        STRUCT(records STRUCT(rid, cluster, step, again)[], error VARCHAR).

        - `cluster` is the class that a record was published with; -1 if it was suppressed, -2 if it is pending.
        - `step` is the number of records that had arrived by then.
        - `again` is the class_id if that class was published before, else NULL.
    """
    segment = StreamSegment.find(request["segment"])
    n_domains = len(request["attributes"]) + len(request["sensitive"])
    domains, growth_inputs = inputs[1 : n_domains + 1], inputs[n_domains + 1 :]
    attributes = decode_attributes(request, domains)
    group, arrival = arrival_groups(groups, inputs[0].values)
    people, hashes = stream_persons(request, groups, group, arrival, segment)
    algorithm, model = streams.find(request["stream"]), StreamModel(request["k"], tuple(request["need"]))
    # The names of each tree's nodes, or the texts of numbers; None for a number whose position is exact.
    names = [list_items(name_lists).to_pylist() for name_lists in growth_inputs[: len(request["attributes"])]]
    scales = None if segment is None else number_scales(attributes, segment, algorithm, names)
    arrivals = stream_arrivals(
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
    sensitive: encoded_table.Ints, hashes: tuple[Any, ...], segment: StreamSegment
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


def decode_attributes(request: dict[str, Any], domains: tuple[Any, ...]) -> list[encoded_table.Attribute]:
    """Build the attributes of a request from its settings and the first domains, one per attribute."""
    settings = request["attributes"]
    return [
        cluster_input.attribute_from_domain(setting, domain)
        for setting, domain in zip(settings, domains[: len(settings)], strict=True)
    ]


def arrival_groups(groups: Any, records: Any) -> tuple[encoded_table.Ints, encoded_table.Ints]:
    """Return the row in `groups` and the stream position (rid) of each record, in the order of arrival.

    `groups` is a STRUCT array with one row per group of equal records, numbered by its field gid; `records` is one with
    rid (the place of arrival) and gid of each record.
    """
    record_ids, group_ids = (cluster_input.integer_field(records, name) for name in ("rid", "gid"))
    order = np.argsort(record_ids, kind="stable")
    group_place = np.empty(len(groups), np.int64)
    group_place[cluster_input.integer_field(groups, "gid")] = np.arange(len(groups))
    return group_place[group_ids[order]], record_ids[order]


def stream_persons(
    request: dict[str, Any],
    groups: Any,
    group: encoded_table.Ints,
    arrival: encoded_table.Ints,
    segment: StreamSegment | None,
) -> tuple[encoded_table.Ints | None, Any]:
    """Return the person number of each record, and the hashes of the persons by number.

    Without a segment (a stream that does not grow), there are no hashes (None), and the numbers are None if each record
    is a person of its own. With a segment, records are numbered as persons in this case, and the persons of its saved
    state are numbered too. A record of an unknown person (NULL) has -1.

    Args:
        request: The request; `person` says whether there is a person column.
        groups: The groups of equal records, with their person.
        group: The group of each record.
        arrival: The stream position of each record.
        segment: The part of a growing stream that is read, or None.
    """
    if segment is None:
        return (cluster_input.person_numbers(groups)[group] if request["person"] else None), None
    if request["person"]:
        person = groups.field("person")
        person_hashes, is_known = to_numpy(person, 0).astype(np.uint64)[group], is_valid(person)[group]
    else:
        person_hashes, is_known = arrival.astype(np.uint64), np.full(len(arrival), True)
    hashes = np.unique(
        np.concatenate([person_hashes[is_known], segment.person_hashes(streams.find(request["stream"]))])
    )
    people = np.full(len(person_hashes), -1, np.int64)
    people[is_known] = np.searchsorted(hashes, person_hashes[is_known])
    return people, hashes


def stream_arrivals(
    request: dict[str, Any],
    groups: Any,
    domains: tuple[Any, ...],
    attributes: list[encoded_table.Attribute],
    group: encoded_table.Ints,
    arrival: encoded_table.Ints,
    persons: encoded_table.Ints | None,
    *,
    segment: StreamSegment | None = None,
    scales: list[NumberScale | None] | None = None,
) -> Arrivals:
    """Build the input of stream algorithms: the records in the order of arrival, with values and persons.

    Args:
        request: The request.
        groups: The groups of equal records, with their codes.
        domains: The domains of the attributes, then of the sensitive columns.
        attributes: The decoded attributes.
        group: The group of each record.
        arrival: The stream position of each record.
        persons: The person number of each record, or None.
        segment: The segment of a stream that grows, or None.
        scales: The scales of the numbers of a stream that grows, or None.
    """
    codes = np.stack([cluster_input.attribute_codes(groups, j, a)[group] for j, a in enumerate(attributes)], axis=1)
    n_attributes = len(request["attributes"])
    values = [cluster_input.sensitive_codes(groups, i)[group] for i in range(len(domains) - n_attributes)]
    model_columns = values[: len(request["need"])]
    sensitive = np.stack(model_columns, axis=1) if model_columns else np.empty((len(group), 0), np.int64)
    labels = None if request["label"] is None else values[request["label"]]
    n_pending = 0 if segment is None else int((arrival <= segment.n_arrived).sum())
    encoded = streams.build_arrivals(
        attributes, codes, persons, sensitive, arrived=arrival, n_pending=n_pending, labels=labels, scales=scales
    )
    if request["looks_up"] and model_columns:
        categories = [
            _value_categories(codes_, domain)
            for codes_, domain in zip(model_columns, domains[n_attributes:], strict=False)
        ]
        encoded = replace(encoded, meanings=np.stack(categories, axis=1))
    return encoded


def _value_categories(codes: encoded_table.Ints, domain: Any) -> encoded_table.Ints:
    """Return, for each entry of `codes`, the category of the sensitive value: the parent of its node; -1 for NULL.

    The category of a value directly below the root is its own node. Without a hierarchy, the codes are returned
    unchanged. If the hierarchy has none of the values, the result is -1; the statement then raises an error.
    """
    parents = to_numpy(list_items(domain.field("parent")), -1)
    if len(parents) == 0:
        return codes
    value_nodes = cluster_input.list_numbers(domain.field("value"), np.int64)
    if len(value_nodes) == 0:
        return np.full_like(codes, -1)
    categories = np.where(parents[value_nodes] > 0, parents[value_nodes], value_nodes)
    return np.where(codes >= 0, categories[codes], -1).astype(np.int64)


def number_scales(
    attributes: list[encoded_table.Attribute],
    segment: StreamSegment,
    algorithm: StreamAlgorithm,
    exact_texts: list[list[str | None]],
) -> list[NumberScale | None]:
    """Return the scale (values by rank) of each numeric attribute of a stream that grows; None for categories.

    Args:
        attributes: The attributes.
        segment: The part of the stream that is read; it has the saved scales.
        algorithm: The stream algorithm.
        exact_texts: By attribute and code, the exact number as a text where the position (a DOUBLE) is not exact.
    """
    return [
        segment.scale(algorithm, index, attribute.positions, exact_texts[index], attribute.integral)
        if isinstance(attribute, encoded_table.NumericAttribute)
        else None
        for index, attribute in enumerate(attributes)
    ]
