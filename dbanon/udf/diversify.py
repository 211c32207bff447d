"""The scalar function that merges clusters of persons until no sensitive value of their rows is too frequent."""

from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import algorithms
from dbanon.encoding.encoded_table import Ints
from dbanon.udf import cluster_input
from dbanon.udf.arrow_columns import to_arrow
from dbanon.udf.cluster_input import feature_matrix, integer_field, rows_answer

PEOPLE_TYPE = pa.list_(pa.struct([("rid", pa.int64()), ("cluster", pa.int32())]))
DIVERSITY_TYPE = pa.struct([("people", PEOPLE_TYPE), ("error", pa.string())])


@cluster_input.answers_requests(DIVERSITY_TYPE, with_records=True)
def dbanon_diversify(request: dict[str, Any], records: Any, people: Any, sensitive_values: Any, *domains: Any) -> Any:
    """Merge the clusters of the persons of one table until they are diverse; return an answer of DIVERSITY_TYPE.

    Clusters are merged until no sensitive value of the persons' rows in related tables is too frequent in one. Persons
    are in canonical order in the result, not in that of the input. The given clusters are not changed.

    Args:
        request: l, and the name and table of each sensitive column of related tables.
        records: The groups of equal persons, as in dbanon_cluster.
        people: STRUCT(rid, gid, cluster, sizes[])[]: the group and the cluster of each person, and how many rows of
            each related table the person has.
        sensitive_values: STRUCT(rid, place, holding, value)[]: the sensitive values of the person's rows by position;
            `holding` is the number of the sensitive column.
        *domains: The domains as in dbanon_cluster.

    Returns:
        STRUCT(people STRUCT(rid, cluster)[], error VARCHAR) with the new cluster of each person.
    """
    person_records, value_records = (one_list[0].values for one_list in (people, sensitive_values))
    table, order = cluster_input.encode_records(request, records, domains)
    group_ids = integer_field(records, "gid")[order]
    group_place = np.empty(len(group_ids), np.int64)
    group_place[group_ids] = np.arange(len(group_ids))
    record_ids = integer_field(person_records, "rid")
    row_order = np.lexsort((record_ids, group_place[integer_field(person_records, "gid")]))
    person_row = np.empty(len(record_ids), np.int64)
    person_row[record_ids[row_order]] = np.arange(len(record_ids))
    diversity = algorithms.LinkedDiversity(
        request["l"],
        _linked_values(request, value_records, person_row),
        feature_matrix(person_records, "sizes").astype(np.int64)[row_order],
    )
    with cluster_input.interrupt_check(request) as check:
        labels = integer_field(person_records, "cluster")[row_order]
        merged_labels = algorithms.diversify_clusters(
            request["function"], table, algorithms.max_level_blocks(table), labels, diversity, check
        )
    return rows_answer([to_arrow(record_ids[row_order]), to_arrow(merged_labels.astype(np.int32))], DIVERSITY_TYPE)


def _linked_values(request: dict[str, Any], values: Any, person_row: Ints) -> tuple[algorithms.LinkedValues, ...]:
    """Return, for each sensitive column of related tables, its values grouped by the row of the person.

    Args:
        request: The request; `held` has the name and table of each column.
        values: STRUCT(rid, place, holding, value) array.
        person_row: The row of each person in the encoded table, by rid.
    """
    rows = person_row[integer_field(values, "rid")]
    holding, places, value_codes = (integer_field(values, name) for name in ("holding", "place", "value"))
    order = np.lexsort((places, rows, holding))
    linked_values = []
    for i, column in enumerate(request["held"]):
        column_order = order[np.searchsorted(holding[order], i) : np.searchsorted(holding[order], i, side="right")]
        count = np.bincount(rows[column_order], minlength=len(person_row))
        first = np.cumsum(count) - count
        linked_values.append(
            algorithms.LinkedValues(
                column["name"], column["table"], first, count, places[column_order], value_codes[column_order]
            )
        )
    return tuple(linked_values)
