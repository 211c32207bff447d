"""The scalar function that functions of streams call: encoded records in the order of arrival in, what left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import errors, session, stream
from dbanon.engine import tables
from dbanon.engine.arrow import items, numbers, packed
from dbanon.space import space
from dbanon.stream import Arrivals, Model, State

RECORDS = pa.list_(pa.struct([("rid", pa.int64()), ("cluster", pa.int32()), ("step", pa.int64())]))
WIDE = pa.list_(pa.struct([("cluster", pa.int32()), ("low", pa.list_(pa.int32())), ("high", pa.list_(pa.int32()))]))
LEFT = pa.struct([("records", RECORDS), ("wide", WIDE), ("error", pa.string())])


def dbanon_stream(request: Any, rows: Any, *rest: Any) -> Any:
    """STRUCT(records STRUCT(rid, cluster, step)[], wide STRUCT(cluster, low[], high[])[], error VARCHAR) of each table
    of groups of records that are alike. `rest`: the records, with the group of each, and the domains of dbanon_cluster.

    `cluster` is the class that a record left with (-1: it is left out), `step` how many had arrived then; `wide` the
    least and greatest codes of classes that publish more than their records span.
    """
    return tables.each(request, rows, rest, _left, LEFT)


def _left(asked: dict[str, Any], groups: Any, rest: list[Any]) -> Any:
    """What left of one table, as an array of one."""
    came, attributes = _arrivals(asked, groups, rest[0].values, rest[1:])
    current = session.get(asked["session"])
    system, model = stream.find(asked["stream"]), Model(asked["k"], tuple(asked["need"]))
    with session.interruptible(current, lambda: errors.Interrupted(asked["function"])) as check:
        state = system.run(came, model, asked["options"], check, None, True)
    columns = [packed(came.arrived), packed(state.out.astype(np.int32)), packed(state.step)]
    left = pa.StructArray.from_arrays(columns, fields=list(RECORDS.value_type))
    wide = pa.array([_wide(attributes, state)], WIDE) if system.widens else pa.nulls(1, WIDE)
    return pa.StructArray.from_arrays([tables.one(left, RECORDS), wide, pa.nulls(1, pa.string())], fields=list(LEFT))


def _arrivals(
    asked: dict[str, Any], groups: Any, records: Any, domains: list[Any]
) -> tuple[Arrivals, list[space.Attribute]]:
    """The records in the order of arrival, and what their values are."""
    width = len(asked["attributes"])
    attributes = [tables.attribute_of(kind, of) for kind, of in zip(asked["attributes"], domains[:width], strict=True)]
    rid, gid = (tables.whole(records, name) for name in ("rid", "gid"))
    order = np.argsort(rid, kind="stable")
    place = np.empty(len(groups), np.int64)
    place[tables.whole(groups, "gid")] = np.arange(len(groups))
    of = place[gid[order]]
    codes = np.stack([tables.codes_of(groups, j, a)[of] for j, a in enumerate(attributes)], axis=1)
    people = tables.persons_of(groups)[of] if asked["person"] else None
    values = [tables.sensitive_codes_of(groups, i)[of] for i in range(len(domains) - width)]
    tested = values[: len(asked["need"])]
    sensitive = np.stack(tested, axis=1) if tested else np.empty((len(of), 0), np.int64)
    labels = None if asked["label"] is None else values[asked["label"]]
    came = stream.arrivals(attributes, codes, people, sensitive, rid[order], labels=labels)
    if asked["looks_up"] and tested:
        kinds = [_kinds(codes_, domain) for codes_, domain in zip(tested, domains[width:], strict=False)]
        came = replace(came, kinds=np.stack(kinds, axis=1))
    return came, attributes


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
