"""Records of a stream as a UDF is given them, and what its classes publish as codes."""

from dataclasses import replace
from typing import Any

import numpy as np

from dbanon.algorithms import streams
from dbanon.algorithms.streams import Arrivals, StreamAlgorithm, StreamState
from dbanon.algorithms.streams.arrivals import needed_scale, values_of_codes
from dbanon.algorithms.streams.checkpoint import StreamSegment
from dbanon.algorithms.streams.number_scales import NumberScale
from dbanon.encoding import encoded_table
from dbanon.udf import cluster_input
from dbanon.udf.arrow_columns import items, known, numbers


def attributes(asked: dict[str, Any], domains: list[Any]) -> list[encoded_table.Attribute]:
    """What the values are."""
    kinds = asked["attributes"]
    return [cluster_input.attribute_of(kind, of) for kind, of in zip(kinds, domains[: len(kinds)], strict=True)]


def places(groups: Any, records: Any) -> tuple[encoded_table.Ints, encoded_table.Ints]:
    """Return the group of each record in the order of arrival, and at which place each arrived."""
    rid, gid = (cluster_input.whole(records, name) for name in ("rid", "gid"))
    order = np.argsort(rid, kind="stable")
    place = np.empty(len(groups), np.int64)
    place[cluster_input.whole(groups, "gid")] = np.arange(len(groups))
    return place[gid[order]], rid[order]


def people(
    asked: dict[str, Any],
    groups: Any,
    of: encoded_table.Ints,
    arrived: encoded_table.Ints,
    segment: StreamSegment | None,
) -> tuple[encoded_table.Ints | None, Any]:
    """Return numbers of the persons of records (None.

    Each record is one's own), and hashes of the persons by number.
    """
    if segment is None:
        return (cluster_input.persons_of(groups)[of] if asked["person"] else None), None
    if asked["person"]:
        person = groups.field("person")
        own, is_known = numbers(person, 0).astype(np.uint64)[of], known(person)[of]
    else:
        own, is_known = arrived.astype(np.uint64), np.full(len(arrived), True)
    hashes = np.unique(np.concatenate([own[is_known], segment.person_hashes(streams.find(asked["stream"]))]))
    people = np.full(len(own), -1, np.int64)
    people[is_known] = np.searchsorted(hashes, own[is_known])
    return people, hashes


def arrivals(
    asked: dict[str, Any],
    groups: Any,
    domains: list[Any],
    attributes: list[encoded_table.Attribute],
    of: encoded_table.Ints,
    arrived: encoded_table.Ints,
    people: encoded_table.Ints | None,
    *,
    growth: tuple[StreamSegment, list[NumberScale | None]] | None = None,
) -> Arrivals:
    """Return the records in the order of arrival; `growth` is a stream that grows, with the scales of its numbers."""
    segment, scales = growth or (None, None)
    codes = np.stack([cluster_input.codes_of(groups, j, a)[of] for j, a in enumerate(attributes)], axis=1)
    width = len(asked["attributes"])
    values = [cluster_input.sensitive_codes_of(groups, i)[of] for i in range(len(domains) - width)]
    tested = values[: len(asked["need"])]
    sensitive = np.stack(tested, axis=1) if tested else np.empty((len(of), 0), np.int64)
    labels = None if asked["label"] is None else values[asked["label"]]
    waiting = 0 if segment is None else int((arrived <= segment.n_arrived).sum())
    came = streams.build_arrivals(
        attributes, codes, people, sensitive, arrived=arrived, n_pending=waiting, labels=labels, scales=scales
    )
    if asked["looks_up"] and tested:
        kinds = [_kinds(codes_, domain) for codes_, domain in zip(tested, domains[width:], strict=False)]
        came = replace(came, meanings=np.stack(kinds, axis=1))
    return came


def _kinds(codes: encoded_table.Ints, domain: Any) -> encoded_table.Ints:
    """The node one level above each value, or the value's own right below the root; the values where there are no
    nodes; -1 for NULL."""
    parents = numbers(items(domain.field("parent")), -1)
    if len(parents) == 0:
        return codes
    node = cluster_input.flat(domain.field("value"), np.int64)
    kinds = np.where(parents[node] > 0, parents[node], node)
    return np.where(codes >= 0, kinds[codes], -1).astype(np.int64)


def scales(
    attributes: list[encoded_table.Attribute],
    segment: StreamSegment,
    system: StreamAlgorithm,
    texts: list[list[str | None]],
) -> list[NumberScale | None]:
    """The scales of the numbers of a stream that grows; `texts` are by attribute the exact values of codes, where
    positions are not exact."""
    return [
        segment.scale(system, a, attribute.positions, texts[a], attribute.integral)
        if isinstance(attribute, encoded_table.NumericAttribute)
        else None
        for a, attribute in enumerate(attributes)
    ]


def wide(
    attributes: list[encoded_table.Attribute], state: StreamState
) -> tuple[encoded_table.Ints, encoded_table.Ints]:
    """What classes of a stream that is read at once publish, as least and greatest codes (classes, attributes): of a
    category the first and the last one below its node."""
    low, high = np.empty(state.lows.shape, np.int64), np.empty(state.lows.shape, np.int64)
    for a, attribute in enumerate(attributes):
        values = values_of_codes(attribute, needed_scale(attribute))
        low[:, a] = np.searchsorted(values, state.lows[:, a])
        high[:, a] = np.searchsorted(values, state.highs[:, a], side="right") - 1
    return low, high
