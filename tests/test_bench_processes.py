"""The benchmark of whole processes runs a process, reports what it took, and compares figures with targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import apart, processes


def test_process_figures_have_targets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    took = {"s": 2.0, "cpu": 3.0, "peak_mb": 90}
    monkeypatch.setattr(processes, "run_process", lambda arguments: dict(took))
    rows = list(processes._commands(10**6, tmp_path / "t.csv", ["best"], ["-k", "10"], runs=1))
    assert [(each["process"], each["value"], each["target"]) for each in rows] == [
        ("DuckDB", 1.0, None),
        ("dbanon anonymize, best", 1.0, 4.5),
    ]


def test_failed_process_is_an_error() -> None:
    with pytest.raises(apart.ProcessFailedError, match="exit code 3"):
        processes.run_process(["-S", "-c", "raise SystemExit(3)"])


def test_options_name_every_column(tmp_path: Path) -> None:
    words = processes.options(tmp_path)
    assert words[:4] == ["-k", "10", "--qi", "age"] and words.count("--qi") == 6
