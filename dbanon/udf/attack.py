"""The scalar function behind attack(): Arrow columns in, inferred values out. The computation is in `dbanon.audit`."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.audit import prediction
from dbanon.audit.attacks import cut_posterior
from dbanon.encoding import encoded_table
from dbanon.runtime import progress, session
from dbanon.runtime.version import __version__
from dbanon.udf.cluster_input import (
    answers_requests,
    feature_matrix,
    integer_field,
    interrupt_check,
    rows_answer,
)

INFERENCE_ROWS_TYPE = pa.list_(pa.struct([("id", pa.int64()), ("place", pa.int64()), ("confidence", pa.float64())]))
INFERENCE_TYPE = pa.struct([("rows", INFERENCE_ROWS_TYPE), ("error", pa.string())])


@answers_requests(INFERENCE_TYPE)
def dbanon_attack(request: dict[str, Any], inputs: Any) -> Any:
    """Return the values that an attack infers, as an Arrow array of INFERENCE_TYPE with length one; `error` is NULL.

    The kind 'prediction' predicts labels with a random forest; all other kinds compute posterior probabilities of cuts.

    Args:
        request: The attack: its kind, seed, session and function.
        inputs: STRUCT(cuts STRUCT(id, sizes, limits, held)[]) or STRUCT(learned STRUCT(f, label, records)[], asked
            STRUCT(id, f)[]): cuts of classes, or training records and records whose label is predicted. `sizes` are the
            records of each side of a cut, `limits` the most records with the sensitive value that each side may have,
            `held` is the number of records with the value; `f` are features, `records` the number of equal records.

    Returns:
        STRUCT(rows STRUCT(id, place, confidence)[], error VARCHAR). For cuts there is one row per side of each cut
        about which something can be inferred, where `place` is the number of the side, from 1; for a prediction one row
        per record of `asked`, where `place` is the predicted label.
    """
    rows = _predict(request, inputs) if request["kind"] == "prediction" else _cut_confidences(inputs)
    columns = [pa.array(column, field.type) for column, field in zip(rows, INFERENCE_ROWS_TYPE.value_type, strict=True)]
    return rows_answer(columns, INFERENCE_TYPE)


def _cut_confidences(inputs: Any) -> tuple[list[int], list[int], list[float]]:
    """Return three lists, one entry per side of a cut: the cut's id, the side (from 1), its posterior probability.

    It is the probability that a record of the side has the sensitive value. A cut divides the records of a class into
    sides; cuts about which nothing can be inferred have no entries. See `cut_posterior.posteriors`.
    """
    rows = [
        (cut["id"], side, confidence)
        for cut in inputs.field("cuts")[0].as_py() or ()
        for side, confidence in enumerate(cut_posterior.posteriors(cut["sizes"], cut["limits"], cut["held"]) or (), 1)
    ]
    return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]


def _predict(request: dict[str, Any], inputs: Any) -> tuple[encoded_table.Ints, encoded_table.Ints, Any]:
    """Return the id, predicted label and confidence of each record of `asked`, as three arrays.

    The model is trained on the records of `learned`. Labels and confidences are taken from the session's cache if an
    attack on the same data with the same seed was computed before, and stored there otherwise.
    """
    training, targets = (inputs.field(name).flatten() for name in ("learned", "asked"))
    training_features, target_features = feature_matrix(training), feature_matrix(targets)
    labels, records = integer_field(training, "label"), integer_field(training, "records")
    current_session = session.session_by_token(request["session"])

    def compute() -> prediction.Guesses:
        """Train the model and predict the labels, with progress reports and a check for interrupts."""
        with interrupt_check(request) as check:
            on_step = progress.progress_steps(current_session, check, prediction.N_TREES)
            return prediction.guess_labels(
                request["function"], training_features, labels, records, target_features, request["seed"], on_step
            )

    order = np.lexsort((labels, *training_features.T[::-1])) if len(labels) else labels
    digest = hashlib.blake2b(
        f"{__version__} prediction {request['seed']} {training_features.shape}".encode(), digest_size=16
    )
    for array_ in (training_features[order], labels[order], records[order], target_features):
        digest.update(np.ascontiguousarray(array_).data)
    guesses = current_session.cache.get(digest.digest(), compute)
    return integer_field(targets, "id"), guesses.labels, guesses.confidence
