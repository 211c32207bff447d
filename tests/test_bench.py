"""The benchmark's parts: tables, processes of their own, what lies in a directory meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest

import dbanon.stream
from tests.bench import apart, bounded, large, streams
from tests.bench import data as tables


def test_what_is_resampled_by_codes_is_what_is_resampled_by_values(data: Path, tmp_path: Path) -> None:
    tables.resampled(3_000, tmp_path / "t.parquet")
    expected = tables.adult(3_000)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet").astype(expected.dtypes), expected)


def test_a_measurement_has_a_process_of_its_own(data: Path, tmp_path: Path) -> None:
    found = apart.run(large.write, rows=50, path=str(tmp_path / "t.parquet"))
    assert 20 < found["peak_mb"] < 2_000
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 50
    with pytest.raises(apart.Failed, match="No such file or directory"):
        apart.run(large.write, rows=50, path=str(tmp_path / "nowhere" / "t.parquet"))


def test_streams_are_measured_one_and_all(data: Path) -> None:
    found = apart.run(streams.measure, setting=next(iter(streams.SETTINGS)), rows=300)
    assert found["systems"].keys() == {system.name for system in dbanon.stream.streams()}
    for alone, statement, loss, delay, out in found["systems"].values():
        assert 0 < alone <= statement
        assert 0 <= loss <= 1 and 0 <= delay < 300 and 0 <= out <= 1


def test_the_most_that_lies_in_a_directory_is_seen(tmp_path: Path) -> None:
    with bounded._Spilled(tmp_path) as spilled:
        (tmp_path / "rows.tmp").write_bytes(b"x" * 200_000)
        time.sleep(0.3)
        (tmp_path / "rows.tmp").unlink()
        time.sleep(0.2)
    assert 200_000 <= spilled.most < 300_000


def test_growth_is_told_by_its_exponent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the rows in twenty times the CPU seconds: log 20 / log 10."""
    made = iter([{}, {"rows": 100, "cpu": 1.0}, {}, {"rows": 1_000, "cpu": 20.0}])
    monkeypatch.setattr(apart, "run", lambda *_, **__: next(made))
    first, second = large.measured([100, 1_000], ["kacpc"], 1)
    assert "exponent" not in first
    assert second["exponent"] == pytest.approx(1.30103)
