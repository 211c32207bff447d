"""The scalar function behind ml_utility(): Arrow columns in, accuracies of models out.

The computation is in `dbanon.audit.ml_utility_scores`.
"""

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
from dbanon.udf.cluster_input import answers_requests, feature_matrix, integer_field, interrupt_check

SCORE_ROWS_TYPE = pa.list_(
    pa.struct(
        [
            ("trained_on", pa.string()),
            ("accuracy", pa.float64()),
            ("balanced_accuracy", pa.float64()),
            ("f_measure", pa.float64()),
            ("retained_gain", pa.float64()),
            ("n_train", pa.int64()),
            ("n_test", pa.int64()),
            ("davies_bouldin", pa.float64()),
            ("cluster_agreement", pa.float64()),
        ]
    )
)
SCORES_TYPE = pa.struct([("rows", SCORE_ROWS_TYPE), ("error", pa.string())])


@dataclass(frozen=True)
class _CachedScores:
    """The scores of a call, as the session's cache stores them; `nbytes` is an estimate of their size."""

    scores: list[ml_utility_scores.Score]
    nbytes: int = 1024


@answers_requests(SCORES_TYPE)
def dbanon_utility(request: dict[str, Any], inputs: Any) -> dict[str, Any]:
    """Train models on the source and on the release, and return their accuracies as the fields of SCORES_TYPE.

    Scores that the session's cache has are not computed again. `retained_gain` is the model's gain in accuracy over the
    baseline, divided by the source model's gain; None if the source model has no gain, or is less accurate than the
    baseline.

    Args:
        request: The share of training records, their greatest number, seed, number of clusters, session and function.
        inputs: STRUCT(source STRUCT(f, label, records)[], release STRUCT(f, box, label, records)[]): features, label
            and number of equal records; `box` has the lower ends, then the upper ends of the released features.

    Returns:
        STRUCT(rows STRUCT(trained_on, accuracy, balanced_accuracy, f_measure, retained_gain, n_train, n_test,
        davies_bouldin, cluster_agreement)[], error VARCHAR), one row per model; no rows if source or release is empty.
    """
    source, settings = (inputs.field(name).flatten() for name in ("source", "release"))
    if not len(source) or not len(settings):
        return {"rows": []}
    source, release = (
        _training_rows(source).in_canonical_order(),
        ml_utility_scores.ReleasedRecords(
            _training_rows(settings), feature_matrix(settings, "box")
        ).in_canonical_order(),
    )
    current_session = session.session_by_token(request["session"])

    def compute() -> _CachedScores:
        """Train and test the models, with progress reports and a check for interrupts."""
        with interrupt_check(request) as check:
            on_step = progress.progress_steps(current_session, check, ml_utility_scores.N_STEPS)
            train = ml_utility_scores.Training(request["train"], request["most"], request["seed"], request["clusters"])
            return _CachedScores(
                ml_utility_scores.score_models(request["function"], source, release, train, on_step, check)
            )

    settings = {name: value for name, value in request.items() if name != "session"}
    digest = hashlib.blake2b(f"{__version__} {json.dumps(settings, sort_keys=True)}".encode(), digest_size=16)
    for rows in (source, release.records):
        for array_ in (rows.features, rows.labels, rows.counts, *([] if rows is source else [release.bounds])):
            digest.update(f"{array_.shape}".encode())
            digest.update(np.ascontiguousarray(array_).data)
    scores = current_session.cache.get(digest.digest(), compute).scores
    baseline, source_accuracy = scores[0].accuracy, scores[1].accuracy
    return {
        "rows": [
            {
                "trained_on": s.trained_on,
                "accuracy": s.accuracy,
                "balanced_accuracy": s.balanced_accuracy,
                "f_measure": s.f_measure,
                "retained_gain": None
                if source_accuracy < baseline or math.isclose(source_accuracy, baseline)
                else (s.accuracy - baseline) / (source_accuracy - baseline),
                "n_train": s.n_training,
                "n_test": s.n_tested,
                "davies_bouldin": s.davies_bouldin,
                "cluster_agreement": s.cluster_agreement,
            }
            for s in scores
        ]
    }


def _training_rows(records: Any) -> ml_utility_scores.WeightedRecords:
    """Decode the fields `f` (features), `label` and `records` (number of equal records) of an Arrow struct array."""
    return ml_utility_scores.WeightedRecords(
        feature_matrix(records), integer_field(records, "label"), integer_field(records, "records")
    )
