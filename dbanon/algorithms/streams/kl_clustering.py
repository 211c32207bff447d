"""(k,l)-clustering: the same k persons leave together, for as long as a stream lasts."""

import numpy as np

from dbanon.algorithms.base.registry import Options
from dbanon.algorithms.streams.registry import StateLayout, register
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.kernels.streams.arrays import PersonClusterArrays


def kl_clustering(workspace: Workspace) -> StreamState:
    """(k,l)-clustering for transactional data streams (Tekli et al. 2018), reconstructed from what a review says of it.

    Persons are in clusters of exactly k, each in one for the whole stream: so what leaves of a person always leaves
    with the same others, and cannot be told from theirs by following it. A cluster is made when a record of a person
    without one is due, of that person and the nearest k - 1 others that have none (where they have too few sensitive
    values, first of the nearest that have others), whose records leave at once. After that a cluster emits as soon as a
    record of each of its persons waits: the oldest of each, if they have enough sensitive values. The paper publishes
    them in two tables, of quasi-identifiers as they are and of sensitive values; one relation leaves here, so a group
    is published with what its records span. No record waits longer than `delta`, which the paper does not say: one that
    is due before that is suppressed, as is every record of an unknown person. O(delta * attributes) time for a record
    whose person has no cluster, O(k) for all others; what is kept is linear in the persons, whose numbers have to be
    the same for as long as a stream goes on.
    """
    from dbanon.kernels.streams.person_clusters import PersonOptions, person_steps, restore_pending

    arrivals, previous, k = workspace.arrivals, workspace.previous, workspace.model.k
    stored_clusters = np.empty((0, k), np.int64) if previous is None else previous.own["clusters"].astype(np.int64)
    persons = max(int(arrivals.people.max(initial=0)), int(stored_clusters.max(initial=0))) + 1
    members = np.full((persons // k + 1, k), -1)
    members[: len(stored_clusters)] = stored_clusters
    home, heads, tails = (np.full(persons, -1, np.int64) for _ in range(3))
    home[stored_clusters] = np.arange(len(stored_clusters))[:, None]
    ready = np.zeros(len(members), np.int64)
    link, loose = (np.full(arrivals.n_records, -1, np.int64) for _ in range(2))
    table, group, far = workspace.nearest_scratch()
    workspace.counters[4] = len(stored_clusters)
    clusters = PersonClusterArrays(home, members, ready, heads, tails, link, loose, group, far, table)
    restore_pending(workspace.counters, workspace.records, clusters)
    options = PersonOptions(workspace.is_last, workspace.integer("delta"))
    workspace.run(person_steps, options, workspace.records._replace(people=loose), clusters)
    return workspace.state(clusters=members[: workspace.counters[4]])


def excluded_parameter(options: Options, k: int) -> tuple[str, str] | None:
    """Return a parameter that options or k exclude, and what it must be; None where nothing does."""
    if options.get("l") is not None and int(str(options["l"])) > k:
        return "l", f"at most {k}, as a group is exactly k records"
    return None


register(
    kl_clustering,
    title="(k,l)-clustering for transactional data streams",
    source="Tekli et al. 2018",
    evidence="RECON",
    complexity="O(k) time a record, O(delta) for one of a new person; O(delta + persons) memory",
    state_layout=StateLayout(people=("clusters",)),
    problem=excluded_parameter,
)
