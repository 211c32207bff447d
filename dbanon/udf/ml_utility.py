"""The scalar function that ml_utility calls: Arrow in, how often models are right out. No thinking is done here."""

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.audit import ml_utility_scores
from dbanon.runtime import progress, session
from dbanon.runtime.version import __version__
from dbanon.udf.cluster_input import answers, array, features, interruptible, whole

ROWS = pa.list_(
    pa.struct(
        [
            ("trained_on", pa.string()),
            ("accuracy", pa.float64()),
            ("balanced_accuracy", pa.float64()),
            ("kept", pa.float64()),
            ("learned", pa.int64()),
            ("tested", pa.int64()),
        ]
    )
)
SCORES = pa.struct([("rows", ROWS), ("error", pa.string())])


def dbanon_utility(request: Any, given: Any) -> Any:
    """STRUCT(rows STRUCT(trained_on, accuracy, balanced_accuracy, kept, learned, tested)[], error VARCHAR) of each
    call.

    `given` is STRUCT(source STRUCT(f, label, records)[], release STRUCT(f, box, label, records)[]); where either is
    empty there are no rows.
    """
    given = array(given)
    return answers(request, lambda asked, i: pa.array([_answer(asked, given.slice(i, 1))], SCORES), SCORES)


@dataclass(frozen=True)
class _Scores:
    """What is kept of a call."""

    scores: list[ml_utility_scores.Score]
    nbytes: int = 1024


def _answer(asked: dict[str, Any], given: Any) -> dict[str, Any]:
    source, told = (given.field(name).flatten() for name in ("source", "release"))
    if not len(source) or not len(told):
        return {"rows": []}
    source, release = _rows(source).ordered(), ml_utility_scores.Released(_rows(told), features(told, "box")).ordered()
    current = session.session_by_token(asked["session"])

    def compute() -> _Scores:
        with interruptible(asked) as check:
            step = progress.progress_steps(current, check, ml_utility_scores.STEPS)
            train = ml_utility_scores.Training(asked["train"], asked["most"], asked["seed"])
            return _Scores(ml_utility_scores.scores(asked["function"], source, release, train, step, check))

    told = {name: value for name, value in asked.items() if name != "session"}
    content = hashlib.blake2b(f"{__version__} {json.dumps(told, sort_keys=True)}".encode(), digest_size=16)
    for rows in (source, release.rows):
        for each in (rows.features, rows.labels, rows.records, *([] if rows is source else [release.box])):
            content.update(f"{each.shape}".encode())
            content.update(np.ascontiguousarray(each).data)
    found = current.cache.get(content.digest(), compute).scores
    least, most = found[0].accuracy, found[1].accuracy
    return {
        "rows": [
            {
                "trained_on": s.trained_on,
                "accuracy": s.accuracy,
                "balanced_accuracy": s.balanced,
                "kept": None if math.isclose(most, least) else (s.accuracy - least) / (most - least),
                "learned": s.learned,
                "tested": s.tested,
            }
            for s in found
        ]
    }


def _rows(records: Any) -> ml_utility_scores.Rows:
    return ml_utility_scores.Rows(features(records), whole(records, "label"), whole(records, "records"))
