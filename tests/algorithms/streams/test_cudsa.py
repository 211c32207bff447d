"""CUDSA compared with its plain loop, in any split into calls, and with a stream traced by hand; labels."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import pytest
from oracle.stream_cudsa import Cudsa
from support.streams import check_cuts, check_plain_loop, random_arrivals, refuse_broken

import dbanon
from dbanon.algorithms.streams import Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, object]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("cudsa").run(came, model, options, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, Options]:
    """Return a random stream, its model and the options: labels, NULLs, several records per person, few values."""
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(0, 3))
    came = random_arrivals(
        seed,
        int(random.integers(1, 90)),
        nulls=bool(seed % 2),
        persons=bool(seed % 3),
        sensitive=sensitive,
        values=int(random.integers(1, 9)),
    )
    if seed % 4:
        came = replace(came, labels=random.integers(-1, 3, came.n_records))
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    options: Options = {
        "delta": model.k + int(random.integers(0, 30)),
        "label_weight": float(random.choice([0.0, 0.3, 0.5, 1.0])),
        "max_stored_classes": int(random.integers(0, 6)),
    }
    return came, model, options


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_cudsa_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 300, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_cudsa = Cudsa(came, model.k, model.min_values, options)
        check_plain_loop(remaining, plain_cudsa, seed)
        refuse_broken(came, model, remaining, int(str(options["delta"])))


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(2))
def test_cudsa_result_independent_of_batching(part: int) -> None:
    for seed in range(part, 200, 2):
        check_cuts("cudsa", run, seed, *case(seed))


def run_traced_stream(labels: np.ndarray[tuple[int], np.dtype[np.int64]] | None) -> StreamState:
    value = np.array([[0], [2], [3], [10], [9], [1], [5]], np.int32)
    number = [NumericAttribute(np.arange(11.0), integral=True)]
    came = build_arrivals(number, value, None, np.zeros((7, 0), np.int64), labels=labels)
    return run(came, StreamModel(2), {"delta": 4, "label_weight": 0.5, "max_stored_classes": 2})


def test_cudsa_equals_hand_traced_stream() -> None:
    """k = 2, delta = 4, one number, labels a b a b b a a, label_weight = 0.5.

    4: 0 (a) is due; of 2 (b), 3 (a) and 10 (b) the 2 costs (0.4 + 1) / 2 more, as two labels are mixed, 3 only 0.6 / 2,
    10 (2 + 1) / 2: class 0, 0-3, which costs 0.3. 5: 2 (b) is due; 10 (b) would cost 1.6 / 2 and 9 (b) 1.4 / 2, more
    than class 0, which covers it. 7: 10 (b) is due and takes 9 (b): class 1, 9-10. The stream ends: 1 (a) would cost
    0.8 / 2 with 5 (a), more than class 0; 5 (a) is the last and suppressed.
    """
    remaining = run_traced_stream(np.array([0, 1, 0, 1, 1, 0, 0]))
    assert remaining.class_ids.tolist() == [0, 0, 0, 1, 1, 0, -1]
    assert remaining.published_at.tolist() == [4, 5, 4, 7, 7, 7, 7]
    assert (remaining.lows.tolist(), remaining.highs.tolist()) == ([[0], [9]], [[3], [10]])


def test_cudsa_without_labels_minimizes_loss_alone() -> None:
    """The stream of the test above without labels.

    0 takes 2 at 4, class 0, 0-2, which costs 0.4; 3 is due at 6 and takes 1, 1-3, which costs as much; at 7 10 takes 9,
    and 5 is the last and suppressed.
    """
    remaining = run_traced_stream(None)
    assert remaining.class_ids.tolist() == [0, 0, 1, 2, 2, 1, -1]
    assert remaining.published_at.tolist() == [4, 4, 6, 7, 7, 6, 7]


def test_label_is_sensitive_and_unique_per_class() -> None:
    con = dbanon.connect()
    con.execute(
        "CREATE TABLE visits AS SELECT i AS ts, (i * 37) % 50 AS age, 'd' || (i * 13) % 3 AS disease, "
        "'o' || (i * 7) % 2 AS outcome FROM range(300) r (i)"
    )
    text = "'visits', k := 4, delta := 40, order_by := 'ts', qi := 'age', sensitive := ['disease', 'outcome']"

    def average_labels_per_class(extra_arguments: str) -> float:
        labels = (
            f"SELECT class_id, count(DISTINCT outcome) AS labels FROM cudsa({text}{extra_arguments}) GROUP BY class_id"
        )
        row = con.execute(f"SELECT avg(labels) FROM ({labels})").fetchone()
        assert row is not None
        return float(row[0])

    assert average_labels_per_class(", target := 'Outcome', label_weight := 0.1") < average_labels_per_class("")
    assert average_labels_per_class(", target := 'outcome', label_weight := 0.1, l := 2") >= 2
    assert con.execute(f"FROM cudsa_metrics({text}, target := 'outcome')").fetchall()
    for label in ("age", "nothing"):
        with pytest.raises(duckdb.Error, match="target must be a sensitive column, disease, outcome"):
            con.execute(f"FROM cudsa({text}, target := '{label}')").fetchall()
    con.close()
