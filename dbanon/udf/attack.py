"""The scalar function that attacks call: Arrow in, what can be inferred out. No thinking is done here."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.audit import prediction
from dbanon.audit.attacks import cut_posterior
from dbanon.encoding import encoded_table
from dbanon.runtime import progress, session
from dbanon.runtime.version import __version__
from dbanon.udf.cluster_input import answers, array, features, interruptible, one, whole

INFERRED = pa.list_(pa.struct([("id", pa.int64()), ("place", pa.int64()), ("confidence", pa.float64())]))
INFERENCE = pa.struct([("rows", INFERRED), ("error", pa.string())])


def dbanon_attack(request: Any, given: Any) -> Any:
    """STRUCT(rows STRUCT(id, place, confidence)[], error VARCHAR) of each attack.

    `given` is STRUCT(cuts STRUCT(id, sizes, limits, held)[]), to be answered with a row for each side of a cut, or
    STRUCT(learned STRUCT(f, label, records)[], asked STRUCT(id, f)[]), with the label of each row that is asked.
    """
    given = array(given)
    return answers(request, lambda asked, i: _inferred(asked, given.slice(i, 1)), INFERENCE)


def _inferred(asked: dict[str, Any], given: Any) -> Any:
    """Return the answer of one attack, as an array of one."""
    rows = _learned(asked, given) if asked["kind"] == "prediction" else _cuts(given)
    arrays = [pa.array(column, field.type) for column, field in zip(rows, INFERRED.value_type, strict=True)]
    values = pa.StructArray.from_arrays(arrays, fields=list(INFERRED.value_type))
    return pa.StructArray.from_arrays([one(values, INFERRED), pa.nulls(1, pa.string())], fields=list(INFERENCE))


def _cuts(given: Any) -> tuple[list[int], list[int], list[float]]:
    """Cut, side (from 1) and chance of each side that something can be inferred of."""
    rows = [
        (cut["id"], side, confidence)
        for cut in given.field("cuts")[0].as_py() or ()
        for side, confidence in enumerate(cut_posterior.posteriors(cut["sizes"], cut["limits"], cut["held"]) or (), 1)
    ]
    return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]


def _learned(asked: dict[str, Any], given: Any) -> tuple[encoded_table.Ints, encoded_table.Ints, Any]:
    """Row, label and confidence of each row that is asked."""
    learned, wanted = (given.field(name).flatten() for name in ("learned", "asked"))
    known, rows = features(learned), features(wanted)
    labels, records = whole(learned, "label"), whole(learned, "records")
    current = session.session_by_token(asked["session"])

    def compute() -> prediction.Guesses:
        with interruptible(asked) as check:
            step = progress.progress_steps(current, check, prediction.TREES)
            return prediction.guesses(asked["function"], known, labels, records, rows, asked["seed"], step)

    order = np.lexsort((labels, *known.T[::-1])) if len(labels) else labels
    content = hashlib.blake2b(f"{__version__} prediction {asked['seed']} {known.shape}".encode(), digest_size=16)
    for each in (known[order], labels[order], records[order], rows):
        content.update(np.ascontiguousarray(each).data)
    found = current.cache.get(content.digest(), compute)
    return whole(wanted, "id"), found.labels, found.confidence
