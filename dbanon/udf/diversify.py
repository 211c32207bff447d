"""Clusters of people, merged until no sensitive value of their rows is held by too many: Arrow in, clusters out."""

from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import algorithms
from dbanon.encoding.encoded_table import Ints
from dbanon.udf import cluster_input
from dbanon.udf.arrow_columns import packed
from dbanon.udf.cluster_input import one, whole

PEOPLE = pa.list_(pa.struct([("rid", pa.int64()), ("cluster", pa.int32())]))
ANSWER = pa.struct([("people", PEOPLE), ("error", pa.string())])


def dbanon_diversify(request: Any, rows: Any, people: Any, held: Any, *domains: Any) -> Any:
    """STRUCT(people STRUCT(rid, cluster)[], error VARCHAR) of each table of groups of equal people.

    `rows` and `domains` are as in dbanon_cluster. `people` is STRUCT(rid, gid, cluster, sizes[])[]: the group and the
    cluster of each person, and how many rows of each table the person has. `held` is STRUCT(rid, place, holding,
    value)[]: the sensitive values of the person's rows by their places, `holding` the number of the column. The request
    says l, and of each such column its name and table.
    """
    return cluster_input.each(request, rows, (people, held, *domains), _diversified, ANSWER)


def _diversified(asked: dict[str, Any], records: Any, given: list[Any]) -> Any:
    people, held, *domains = given
    of, values = (one_list[0].values for one_list in (people, held))
    space, order = cluster_input.table(asked, records, domains)
    gid = whole(records, "gid")[order]
    place_of = np.empty(len(gid), np.int64)
    place_of[gid] = np.arange(len(gid))
    rids = whole(of, "rid")
    by_row = np.lexsort((rids, place_of[whole(of, "gid")]))
    row_of = np.empty(len(rids), np.int64)
    row_of[rids[by_row]] = np.arange(len(rids))
    sizes = of.field("sizes").flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    shares = algorithms.LinkedDiversity(asked["l"], _held(asked, values, row_of), sizes.reshape(len(rids), -1)[by_row])
    with cluster_input.interruptible(asked) as check:
        labels = whole(of, "cluster")[by_row]
        made = algorithms.diversify_clusters(
            asked["function"], space, algorithms.max_level_blocks(space), labels, shares, check
        )
    found = [packed(rids[by_row]), packed(made.astype(np.int32))]
    rows = pa.StructArray.from_arrays(found, fields=list(PEOPLE.value_type))
    return pa.StructArray.from_arrays([one(rows, PEOPLE), pa.nulls(1, pa.string())], fields=list(ANSWER))


def _held(asked: dict[str, Any], values: Any, row_of: Ints) -> tuple[algorithms.LinkedValues, ...]:
    """Return the values of each column by person, in the order of the space's rows."""
    rows = row_of[whole(values, "rid")]
    holding, place, value = (whole(values, name) for name in ("holding", "place", "value"))
    order = np.lexsort((place, rows, holding))
    found = []
    for i, column in enumerate(asked["held"]):
        mine = order[np.searchsorted(holding[order], i) : np.searchsorted(holding[order], i, side="right")]
        count = np.bincount(rows[mine], minlength=len(row_of))
        first = np.cumsum(count) - count
        found.append(algorithms.LinkedValues(column["name"], column["table"], first, count, place[mine], value[mine]))
    return tuple(found)
