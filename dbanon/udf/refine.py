"""The scalar function of the refinement attack: classes as Arrow in, what a least loss tells of them out."""

from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.audit.attacks import refinement
from dbanon.audit.attacks.refinement_columns import Column
from dbanon.udf.arrow_columns import items, numbers
from dbanon.udf.cluster_input import answers, array, features, interruptible, whole

BOUNDS = pa.list_(
    pa.struct(
        [("id", pa.int64()), ("place", pa.int64()), ("low", pa.float64()), ("high", pa.float64()), ("most", pa.int64())]
    )
)
LOSSES = pa.list_(pa.struct([("id", pa.int64()), ("own", pa.float64()), ("freed", pa.float64())]))
REFINED = pa.struct([("rows", BOUNDS), ("losses", LOSSES), ("examined", pa.int64()), ("error", pa.string())])


def dbanon_refine(request: Any, given: Any) -> Any:
    """STRUCT(rows STRUCT(id, place, low, high, most)[], losses STRUCT(id, own, freed)[], examined BIGINT, error
    VARCHAR) of each attack.

    `given` is STRUCT(classes STRUCT(id, records, f)[], nodes STRUCT(first, last, depth)[][], tight BOOLEAN[], k): `f`
    are the ends of the columns by turns, `nodes` those of the hierarchies. `place` is that of the column, from 0.
    """
    given = array(given)
    return answers(request, lambda asked, i: pa.array([_answer(asked, given.slice(i, 1))], REFINED), REFINED)


def _answer(asked: dict[str, Any], given: Any) -> dict[str, Any]:
    classes = given.field("classes").flatten()
    if not len(classes):
        return {"rows": [], "losses": [], "examined": 0}
    ids, ends = whole(classes, "id"), features(classes)
    columns, k = _columns(asked, given), int(given.field("k")[0].as_py())
    with interruptible(asked) as check:
        found = refinement.refined(
            columns, ends[:, ::2], ends[:, 1::2], whole(classes, "records"), k, asked["leaves"], check
        )
    told = zip(found.own.tolist(), found.freed.tolist(), strict=True)
    return {
        "rows": [
            {"id": int(ids[b.place]), "place": b.column, "low": b.low, "high": b.high, "most": b.most}
            for b in found.bounds
        ],
        "losses": [{"id": i, "own": own, "freed": freed} for i, (own, freed) in zip(ids.tolist(), told, strict=True)],
        "examined": found.examined,
    }


def _columns(asked: dict[str, Any], given: Any) -> list[Column]:
    """Return the columns as the attack knows them."""
    nodes, tight = items(given.field("nodes")), given.field("tight")[0].as_py()
    return [
        Column(
            of["is_number"],
            of["weight"],
            of["step"],
            bool(tight[j]),
            _nodes(nodes.slice(j, 1)) if of["is_tree"] else None,
        )
        for j, of in enumerate(asked["columns"])
    ]


def _nodes(listed: Any) -> Any:
    """Return the first leaf, last leaf and depth of each node of a hierarchy (nodes, 3)."""
    rows = listed.flatten()
    return np.column_stack([numbers(rows.field(name)) for name in ("first", "last", "depth")])
