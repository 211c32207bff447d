"""Decode the records of a stream from the arguments of UDFs, and encode what its classes publish."""

from dataclasses import replace
from typing import Any

import numpy as np

from dbanon.algorithms import streams
from dbanon.algorithms.streams import Arrivals, StreamAlgorithm
from dbanon.algorithms.streams.checkpoint import StreamSegment
from dbanon.algorithms.streams.number_scales import NumberScale
from dbanon.encoding import encoded_table
from dbanon.udf import cluster_input
from dbanon.udf.arrow_columns import is_valid, list_items, to_numpy


def decode_attributes(request: dict[str, Any], domains: list[Any]) -> list[encoded_table.Attribute]:
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
    domains: list[Any],
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
