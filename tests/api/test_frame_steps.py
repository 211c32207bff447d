"""`anonymize` computes the release, its classes and its metrics from one reading and one clustering of the data."""

from typing import Any

import pandas as pd
import pytest

import dbanon
from dbanon.api import frame


def test_anonymize_shares_steps_and_returns_equal_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    people = pd.DataFrame({"a": [i % 7 for i in range(40)], "s": [f"v{i % 5}" for i in range(40)]})
    arguments: dict[str, Any] = {"k": 4, "qi": ["a"], "sensitive": ["s"], "suppress": 0.1}
    run: list[list[str]] = []
    shared_steps = frame.common_steps_computed

    def record(connection: Any, statements: Any) -> Any:
        run.append(list(statements))
        return shared_steps(connection, statements)

    monkeypatch.setattr(frame, "common_steps_computed", record)
    shared = dbanon.anonymize(people, "kacpc", **arguments)
    assert run == [["release", "classes", "metrics"]]
    with dbanon.connect() as con:
        separate = dbanon.anonymize_query(
            con, "FROM kacpc('people', k = 4, qi = ['a'], sensitive = ['s'], suppress = 0.1)"
        )
    assert len(run) == 1
    for ours, theirs in zip(shared, separate, strict=True):
        assert ours.astype(str).values.tolist() == theirs.astype(str).values.tolist()
