"""The scalar function of the refinement attack: classes as Arrow columns in, what a least loss reveals out."""

from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.audit.attacks import refinement
from dbanon.audit.attacks.refinement_columns import KnownColumn
from dbanon.udf.arrow_columns import list_items, to_numpy
from dbanon.udf.cluster_input import answers_requests, feature_matrix, integer_field, interrupt_check

BOUNDS_TYPE = pa.list_(
    pa.struct(
        [("id", pa.int64()), ("place", pa.int64()), ("low", pa.float64()), ("high", pa.float64()), ("most", pa.int64())]
    )
)
LOSSES_TYPE = pa.list_(pa.struct([("id", pa.int64()), ("own", pa.float64()), ("freed", pa.float64())]))
REFINEMENT_TYPE = pa.struct(
    [("rows", BOUNDS_TYPE), ("losses", LOSSES_TYPE), ("examined", pa.int64()), ("error", pa.string())]
)


@answers_requests(REFINEMENT_TYPE)
def dbanon_refine(request: dict[str, Any], inputs: Any) -> dict[str, Any]:
    """Infer from a minimal loss what the records of classes are; return the fields of REFINEMENT_TYPE except `error`.

    Without classes, `rows` and `losses` are empty and `examined` is 0.

    Args:
        request: The attack: its columns, whether a node loses its share of leaves (else levels), session and function.
        inputs: STRUCT(classes STRUCT(id, records, f)[], nodes STRUCT(first, last, depth)[][], tight BOOLEAN[], k): `f`
            has the lower and the upper end of each column in turn, `nodes` the nodes of each column's hierarchy.

    Returns:
        STRUCT(rows STRUCT(id, place, low, high, most)[], losses STRUCT(id, own, freed)[], examined BIGINT, error
        VARCHAR). A row says that at most `most` records of class `id` are from `low` to `high` in column `place` (its
        number, from 0); see `refinement.refine_classes`.
    """
    classes = inputs.field("classes").flatten()
    if not len(classes):
        return {"rows": [], "losses": [], "examined": 0}
    ids, ends = integer_field(classes, "id"), feature_matrix(classes)
    columns, k = _columns(request, inputs), int(inputs.field("k")[0].as_py())
    with interrupt_check(request) as check:
        refined = refinement.refine_classes(
            columns, ends[:, ::2], ends[:, 1::2], integer_field(classes, "records"), k, request["leaves"], check
        )
    losses = zip(refined.losses.tolist(), refined.savings.tolist(), strict=True)
    return {
        "rows": [
            {"id": int(ids[b.class_index]), "place": b.column, "low": b.low, "high": b.high, "most": b.max_records}
            for b in refined.bounds
        ],
        "losses": [{"id": i, "own": own, "freed": freed} for i, (own, freed) in zip(ids.tolist(), losses, strict=True)],
        "examined": refined.n_examined,
    }


def _columns(request: dict[str, Any], inputs: Any) -> list[KnownColumn]:
    """Return the columns as the attacker knows them.

    Of each: whether it is a number, weight, step, whether its published bounds are tight, and its hierarchy or None.
    """
    nodes, is_tight = list_items(inputs.field("nodes")), inputs.field("tight")[0].as_py()
    return [
        KnownColumn(
            column["is_number"],
            column["weight"],
            column["step"],
            bool(is_tight[j]),
            _node_spans(nodes.slice(j, 1)) if column["is_tree"] else None,
        )
        for j, column in enumerate(request["columns"])
    ]


def _node_spans(nodes: Any) -> Any:
    """Return a (nodes, 3) array of each node's first leaf, last leaf and depth in a hierarchy."""
    rows = nodes.flatten()
    return np.column_stack([to_numpy(rows.field(name)) for name in ("first", "last", "depth")])
