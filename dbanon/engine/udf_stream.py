"""The scalar function that functions of streams call: encoded records in the order of arrival in, what left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import errors, session, stream
from dbanon.engine import tables
from dbanon.engine.arrow import items, known, numbers, packed
from dbanon.space import space
from dbanon.stream import Arrivals, Model, State, Stream
from dbanon.stream.growing import Growing, Meaning

RECORDS = pa.list_(
    pa.struct([("rid", pa.int64()), ("cluster", pa.int32()), ("step", pa.int64()), ("again", pa.int64())])
)
WIDE = pa.list_(pa.struct([("cluster", pa.int32()), ("low", pa.list_(pa.int32())), ("high", pa.list_(pa.int32()))]))
LEFT = pa.struct([("records", RECORDS), ("wide", WIDE), ("error", pa.string())])


def dbanon_stream(request: Any, rows: Any, *rest: Any) -> Any:
    """STRUCT(records STRUCT(rid, cluster, step, again)[], wide STRUCT(cluster, low[], high[])[], error VARCHAR) of each
    table of groups of records that are alike. `rest`: the records, with the group of each, the domains of
    dbanon_cluster, and, of a stream that grows, the names of the nodes of each tree in preorder.

    `cluster` is the class that a record left with (-1: it is left out, -2: it waits), `step` how many had arrived then,
    `again` the class_id where that class was published before (else NULL); `wide` the least and greatest codes of
    classes that publish more than their records span.
    """
    return tables.each(request, rows, rest, _left, LEFT)


def _left(asked: dict[str, Any], groups: Any, rest: list[Any]) -> Any:
    """What left of one table, as an array of one."""
    current = session.get(asked["session"])
    growing: Growing | None = current.growing if asked["grows"] else None
    width = len(asked["attributes"]) + len(asked["sensitive"])
    domains, known_by = rest[1 : width + 1], rest[width + 1 :]
    attributes = _attributes(asked, domains)
    of, order = _places(groups, rest[0].values)
    people, hashes = _people(asked, groups, of, order, growing)
    system, model = stream.find(asked["stream"]), Model(asked["k"], tuple(asked["need"]))
    came = _arrivals(asked, groups, domains, attributes, of, order, people, growing)
    before, meaning = None, None
    if growing is not None:
        if system.kept.values:
            came = replace(came, sensitive=_numbered(came.sensitive, known_by[-len(asked["sensitive"]) :], growing))
        meaning = Meaning(came.places, _names(asked, known_by), hashes)
        before = growing.before(system, meaning, asked["function"], came.waiting)
    ends = growing is None or growing.ends
    with session.interruptible(current, lambda: errors.Interrupted(asked["function"])) as check:
        state = system.run(came, model, asked["options"], check, before, ends)
    again = np.full(came.records, -1, np.int64)
    if growing is not None and meaning is not None:
        if system.widens:
            _span(came, state, len(growing.classes))
        growing.after(system, state, meaning)
        is_old = (state.out >= 0) & (state.out < len(growing.classes))
        again[is_old] = growing.classes[state.out[is_old]]
    columns = [packed(came.arrived), packed(state.out.astype(np.int32)), packed(state.step)]
    columns.append(pa.array(again, mask=again < 0))
    left = pa.StructArray.from_arrays(columns, fields=list(RECORDS.value_type))
    wide = pa.array([_wide(attributes, state)], WIDE) if _widens(system, growing) else pa.nulls(1, WIDE)
    return pa.StructArray.from_arrays([tables.one(left, RECORDS), wide, pa.nulls(1, pa.string())], fields=list(LEFT))


def _widens(system: Stream, growing: Growing | None) -> bool:
    return system.widens and growing is None


def _attributes(asked: dict[str, Any], domains: list[Any]) -> list[space.Attribute]:
    """What the values are."""
    kinds = asked["attributes"]
    return [tables.attribute_of(kind, of) for kind, of in zip(kinds, domains[: len(kinds)], strict=True)]


def _places(groups: Any, records: Any) -> tuple[space.Ints, space.Ints]:
    """The group of each record in the order of arrival, and at which place each arrived."""
    rid, gid = (tables.whole(records, name) for name in ("rid", "gid"))
    order = np.argsort(rid, kind="stable")
    place = np.empty(len(groups), np.int64)
    place[tables.whole(groups, "gid")] = np.arange(len(groups))
    return place[gid[order]], rid[order]


def _people(
    asked: dict[str, Any], groups: Any, of: space.Ints, arrived: space.Ints, growing: Growing | None
) -> tuple[space.Ints | None, Any]:
    """Numbers of the persons of records (None: each record is one's own), and hashes of the persons by number."""
    if growing is None:
        return (tables.persons_of(groups)[of] if asked["person"] else None), None
    if asked["person"]:
        person = groups.field("person")
        own, is_known = numbers(person, 0).astype(np.uint64)[of], known(person)[of]
    else:
        own, is_known = arrived.astype(np.uint64), np.full(len(arrived), True)
    hashes = np.unique(np.concatenate([own[is_known], growing.people(stream.find(asked["stream"]))]))
    people = np.full(len(own), -1, np.int64)
    people[is_known] = np.searchsorted(hashes, own[is_known])
    return people, hashes


def _arrivals(
    asked: dict[str, Any],
    groups: Any,
    domains: list[Any],
    attributes: list[space.Attribute],
    of: space.Ints,
    arrived: space.Ints,
    people: space.Ints | None,
    growing: Growing | None,
) -> Arrivals:
    """The records in the order of arrival."""
    codes = np.stack([tables.codes_of(groups, j, a)[of] for j, a in enumerate(attributes)], axis=1)
    width = len(asked["attributes"])
    values = [tables.sensitive_codes_of(groups, i)[of] for i in range(len(domains) - width)]
    tested = values[: len(asked["need"])]
    sensitive = np.stack(tested, axis=1) if tested else np.empty((len(of), 0), np.int64)
    labels = None if asked["label"] is None else values[asked["label"]]
    waiting = 0 if growing is None else int((arrived <= growing.arrived).sum())
    came = stream.arrivals(attributes, codes, people, sensitive, arrived, waiting, labels=labels)
    if asked["looks_up"] and tested:
        kinds = [_kinds(codes_, domain) for codes_, domain in zip(tested, domains[width:], strict=False)]
        came = replace(came, kinds=np.stack(kinds, axis=1))
    return came


def _names(asked: dict[str, Any], named: list[Any]) -> list[list[str] | None]:
    """The names of the nodes of each attribute."""
    lists = iter(named)
    return [items(next(lists)).to_pylist() if a["kind"] == "tree" else None for a in asked["attributes"]]


def _numbered(sensitive: space.Ints, hashes: list[Any], growing: Growing) -> space.Ints:
    """The sensitive values by numbers that stay the same for as long as a stream goes on."""
    columns = []
    for i, codes in enumerate(sensitive.T):
        known_as = growing.numbers(i, tables.flat(hashes[i], np.uint64))
        columns.append(np.where(codes >= 0, np.append(known_as, -1)[codes], -1))
    return np.stack(columns, axis=1) if columns else sensitive


def _span(came: Arrivals, state: State, old: int) -> None:
    """Makes classes as narrow as what they publish: their records alone."""
    from dbanon.kernels.stream_spans import span

    begun = np.zeros(len(state.lows), bool)
    span(state.out, came.values, came.places.first, came.places.nodes, old, begun, state.lows, state.highs)


def _kinds(codes: space.Ints, domain: Any) -> space.Ints:
    """The node one level above each value, or the value's own right below the root; the values where there are no
    nodes; -1 for NULL."""
    parents = numbers(items(domain.field("parent")), -1)
    if len(parents) == 0:
        return codes
    node = tables.flat(domain.field("value"), np.int64)
    kinds = np.where(parents[node] > 0, parents[node], node)
    return np.where(codes >= 0, kinds[codes], -1).astype(np.int64)


def _wide(attributes: list[space.Attribute], state: State) -> list[dict[str, object]]:
    """What classes publish, as codes: of a category the first and the last one below its node."""
    low, high = np.empty(state.lows.shape, np.int64), np.empty(state.lows.shape, np.int64)
    for a, attribute in enumerate(attributes):
        values = attribute.positions if isinstance(attribute, space.Number) else attribute.node
        low[:, a] = np.searchsorted(values, state.lows[:, a])
        high[:, a] = np.searchsorted(values, state.highs[:, a], side="right") - 1
    return [{"cluster": c, "low": low[c].tolist(), "high": high[c].tolist()} for c in range(len(low))]
