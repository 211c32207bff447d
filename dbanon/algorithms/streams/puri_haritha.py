"""Puri-Haritha: groups of sensitive values of different kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.streams.arrivals import Arrivals, Model
from dbanon.algorithms.streams.castle import BETA
from dbanon.algorithms.streams.fads import LIFE
from dbanon.algorithms.streams.open_clusters import OpenClusters
from dbanon.algorithms.streams.registry import Kept, Stream, register
from dbanon.algorithms.streams.state import Desk, State
from dbanon.kernels.streams.arrays import ValueSets
from dbanon.table_functions.parameter_types import Integer, PerColumn, Text
from dbanon.table_functions.parameters import Parameter

ONTOLOGY = Parameter(
    "ontology",
    PerColumn(Text("a hierarchy's name"), "{'disease': 'icd10'}"),
    "Hierarchy of a sensitive column: values that have the same parent, unless it is the root, are of one kind. "
    "Default: that of hierarchies or of the policy; without one each value is a kind of its own.",
)
GROUPS = Parameter(
    "groups",
    Integer(0, 10**6),
    "A group with the same set of sensitive values as one of so many that left last waits for another value.",
    5,
)


def puri_haritha(
    arrivals: Arrivals, model: Model, options: Mapping[str, object], check: Check, before: State | None, ends: bool
) -> State:
    """An l-diverse anonymization of streams of health data (Puri and Haritha 2018), reconstructed from what a review
    says.

    A record joins the open group that loses least with it, of those that have fewer than two records of its kind in
    each sensitive column; or a new one, if it widens that and fewer than `beta` groups are open, which stands for the
    paper's window, or if there is none. A group leaves once it has k persons and of each column values of l kinds, so
    that its values are not all alike in meaning, and not the same set of values as one of the last `groups` groups;
    with such a set it waits. The paper then replaces a value by a synonym: here only true values are published, and
    the group leaves as it is when a record of it is due. A record that is due in a group that is not enough leaves as
    in FADS, with its nearest or with a class of before. No record waits longer than `delta`, and where nothing is found
    it is suppressed. The numbers of sensitive values have to be the same for as long as a stream goes on. O(delta *
    attributes) time a record.
    """
    from dbanon.kernels.streams.puri_haritha import PuriOptions, puri_steps

    kinds = arrivals.sensitive if arrivals.kinds is None else arrivals.kinds
    desk = Desk.of(replace(arrivals, sensitive=kinds), model, before)
    delta, beta, life = (int(str(options[name])) for name in ("delta", "beta", "life"))
    open_ = OpenClusters.of(desk, 0, min(delta, arrivals.records), before)
    sets = np.zeros(int(str(options["groups"])), np.uint64)
    if before is not None:
        sets[:] = before.own["sets"]
    codes = int(arrivals.sensitive.max(initial=0)) + 1
    values_of = np.zeros((arrivals.sensitive.shape[1], codes), np.int64)
    found = np.empty(desk.group_size, np.int64)
    far, table = np.empty(len(found)), np.empty(len(arrivals.places.share))
    value_sets = ValueSets(arrivals.sensitive, values_of, sets, table, found, far)
    desk.run(puri_steps, check, PuriOptions(ends, delta, beta, life), open_.clusters, value_sets)
    return desk.state(**open_.kept(desk), sets=sets)


register(
    Stream(
        name="puri_haritha",
        title="Puri-Haritha: groups of sensitive values of different kinds",
        run=puri_haritha,
        source="Puri and Haritha 2018",
        evidence="RECON",
        complexity="O(delta) time a record, O(delta + kept classes) memory",
        own=(ONTOLOGY, GROUPS, BETA, LIFE),
        defaults={"l": 2},
        looks_up=True,
        kept=Kept(by_record=("cluster",), spans=(("open_lows", "open_highs"),), values=True),
    )
)
