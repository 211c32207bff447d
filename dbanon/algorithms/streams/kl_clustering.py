"""(k,l)-clustering: the same k persons are published together for as long as a stream lasts."""

import numpy as np

from dbanon.algorithms.base.registry import Options
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import PersonClusterArrays


def kl_clustering(workspace: Workspace) -> StreamState:
    """Publish a stream with (k,l)-clustering for transactional data streams (Tekli et al. 2018).

    Reconstructed from its abstract, its introduction and the description in a review. Persons are in clusters of
    exactly k, each in one for the whole stream: so the records of a person are always published with those of the same
    others, and cannot be distinguished by following the stream. A cluster is formed when a record of a person without
    one is due (`delta` records have arrived since, itself counted), of that person and the nearest k - 1 others that
    have none (if they have too few sensitive values, first of the nearest that have others), whose records are
    published at once. After that a cluster publishes as soon as a record of each of its persons is pending: the oldest
    of each, if they have enough sensitive values.

    The paper publishes two tables, of quasi-identifiers as they are and of sensitive values; here one relation is
    published, so a group is published with the ranges of its records. No record is pending longer than `delta`, which
    the paper does not state: one that is due before is suppressed, as is every record of an unknown person. O(delta *
    attributes) time for a record whose person has no cluster, O(k) for all others. The state is linear in the persons,
    whose numbers have to be the same throughout a stream.
    """
    from dbanon.kernels.streams.person_clusters import N_CLUSTERS, PersonOptions, person_steps, restore_pending

    arrivals, previous, k = workspace.arrivals, workspace.previous, workspace.model.k
    stored_clusters = np.empty((0, k), np.int64) if previous is None else previous.own["clusters"].astype(np.int64)
    persons = max(int(arrivals.people.max(initial=0)), int(stored_clusters.max(initial=0))) + 1
    members = np.full((persons // k + 1, k), -1)
    members[: len(stored_clusters)] = stored_clusters
    home, heads, tails = (np.full(persons, -1, np.int64) for _ in range(3))
    home[stored_clusters] = np.arange(len(stored_clusters))[:, None]
    link, loose = (np.full(arrivals.n_records, -1, np.int64) for _ in range(2))
    workspace.counters[N_CLUSTERS] = len(stored_clusters)
    clusters = PersonClusterArrays(
        cluster_ids=home,
        members=members,
        n_ready=np.zeros(len(members), np.int64),
        heads=heads,
        tails=tails,
        next_record=link,
        loose_persons=loose,
        search=workspace.nearest_scratch(),
    )
    restore_pending(workspace.counters, workspace.records, clusters)
    options = PersonOptions(workspace.is_last, workspace.integer("delta"))
    workspace.run(person_steps, options, workspace.records._replace(people=loose), clusters)
    return workspace.state(clusters=members[: workspace.counters[N_CLUSTERS]])


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return ('l', its accepted values as text) if `l` is above k; None if the options are valid."""
    if options.get("l") is not None and int(str(options["l"])) > k:
        return "l", f"at most {k}, as a group is exactly k records"
    return None


register(
    kl_clustering,
    title="(k,l)-clustering for transactional data streams",
    source="Tekli et al. 2018",
    evidence="abstract",
    complexity="O(k) time per record, O(delta) for one of a new person; O(delta + persons) memory",
    state_layout=StateLayout(people=("clusters",)),
    problem=excluded_parameter,
)
