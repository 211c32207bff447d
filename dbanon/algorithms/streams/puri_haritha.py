"""Puri-Haritha: groups of sensitive values of different kinds (categories)."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.streams.castle import BETA
from dbanon.algorithms.streams.fads import LIFE
from dbanon.algorithms.streams.open_clusters import OpenClusters
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import ValueSets
from dbanon.table_functions.parameter_types import Integer, PerColumn, Text
from dbanon.table_functions.parameters import Parameter

ONTOLOGY = Parameter(
    "value_hierarchy",
    PerColumn(Text("a hierarchy's name"), "{'disease': 'icd10'}"),
    "Hierarchy of a sensitive column: values with the same parent, unless it is the root, are of one kind. Default: "
    "the hierarchy in hierarchies or in the policy; without one, each value is a kind of its own.",
)
OPEN_GROUPS = replace(
    BETA,
    default=None,
    doc="Greatest number of groups that are open at a time; default delta / 2k, at least 1 and at most 50, so that "
    "groups can reach k records.",
)
GROUPS = Parameter(
    "n_groups",
    Integer(0, 10**6),
    "A group with the same set of sensitive values as one of this many groups published last remains pending until "
    "it has another value.",
    5,
)


def puri_haritha(workspace: Workspace) -> StreamState:
    """Publish a stream with the l-diverse anonymization of health data by Puri and Haritha (2018).

    Reconstructed from the description in a review. The kind of a sensitive value is its parent in the hierarchy. A
    record joins the open group that loses least with it, among those that have fewer than two records of its kind in
    each sensitive column or, if that is more, than k / l: otherwise no group could have k records where there are few
    kinds, and every record would be published as in FADS. It begins a new group if there is none, or if it widens that
    group and fewer than `beta` groups are open (in place of the paper's window).

    A group is published once it has k persons and in each column values of l kinds, so that its values are not all
    similar in meaning, and a set of values that differs from those of the last `n_groups` groups; with an equal set it
    stays open. The paper then replaces a value by a synonym: here only true values are published, and the group is
    published as it is when one of its records is due (`delta` records have arrived since, itself counted). A due record
    in a group that is not enough for a class is published as in FADS, with its nearest records or with an earlier
    class. No record is pending longer than `delta`; if no class is found, it is suppressed. The numbers of sensitive
    values have to be the same throughout a stream. O(delta * attributes) time per record.
    """
    from dbanon.kernels.streams.puri_haritha import PuriOptions, puri_steps

    values = workspace.arrivals.sensitive
    workspace = workspace.with_meanings()
    delta, beta = workspace.integer("delta"), workspace.options["beta"]
    max_open = max(1, min(50, delta // (2 * workspace.model.k))) if beta is None else int(str(beta))
    options = PuriOptions(workspace.is_last, delta, max_open, workspace.integer("reuse_window"))
    open_clusters = OpenClusters.from_workspace(workspace, 0, min(delta, workspace.arrivals.n_records))
    sets = np.zeros(workspace.integer("n_groups"), np.uint64)
    if workspace.previous is not None:
        sets[:] = workspace.previous.own["sets"]
    values_of = np.zeros((values.shape[1], int(values.max(initial=0)) + 1), np.int64)
    value_sets = ValueSets(values, values_of, sets, workspace.nearest_scratch())
    workspace.run(puri_steps, options, open_clusters.clusters, value_sets)
    return workspace.state(**open_clusters.own_arrays(workspace), sets=sets)


register(
    puri_haritha,
    title="Puri-Haritha: groups of sensitive values of different kinds",
    source="Puri and Haritha 2018",
    evidence="description",
    complexity="O(delta) time per record, O(delta + kept classes) memory",
    own_parameters=(ONTOLOGY, GROUPS, OPEN_GROUPS, LIFE),
    defaults={"l": 2},
    looks_up=True,
    state_layout=StateLayout(by_record=("cluster",), spans=(("open_lows", "open_highs"),), has_value_numbers=True),
)
