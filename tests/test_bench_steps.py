"""The benchmark's profile of a statement: every second is in one step, and the steps are the explained ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import steps


def test_profile_steps_equal_explained_steps(six: Any) -> None:
    profile = steps.profile(six, "SELECT * FROM kacpc('six', k=2)", 1)
    names = {name for (name,) in six.execute("SELECT step FROM explain_release('kacpc', 'six', k=2)").fetchall()}
    assert {name for name in profile.steps if "climb" not in name} <= names, "climb is a part of a step's SQL"
    assert {"cluster_parts", "gate", steps.RESULT} < set(profile.steps)
    assert all(step.operators for step in profile.steps.values())
    assert profile.steps[steps.RESULT].rows == 0
    assert profile.steps["cluster_parts"].rows >= 1


def test_planning_and_clustering_times_add_up(six: Any) -> None:
    profile = steps.profile(six, "CREATE OR REPLACE TABLE safe AS FROM kacpc('six', k=2)", 1)
    assert all(seconds > 0 for name, seconds in profile.clustering.items()), profile.clustering
    assert profile.planning["of the call, in Python"] > 0
    assert profile.steps[steps.WRITING].operators
    summed = steps.by_kind(profile.steps)
    assert sum(s.seconds for s in summed.values()) == pytest.approx(sum(s.seconds for s in profile.steps.values()))
    assert "each column: domain" in summed
    text = "\n".join(steps.report(profile))
    assert "| cluster_parts |" in text
    assert "clustering function: clustering" in text
    assert six.execute("SELECT count(*) FROM safe").fetchall() == [(6,)]
