"""The benchmark's parts: tables, separate processes, and the bytes of a directory during a run."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest

from dbanon.algorithms import streams as stream_algorithms
from tests.bench import apart, bounded, data as tables, large, own, streams


def test_resampling_by_codes_equals_by_values(data_folder: Path, tmp_path: Path) -> None:
    tables.resampled(3_000, tmp_path / "t.parquet")
    expected = tables.adult(3_000)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet").astype(expected.dtypes), expected)


def test_measurement_runs_in_separate_process(data_folder: Path, tmp_path: Path) -> None:
    result = apart.run(large.write, rows=50, path=str(tmp_path / "t.parquet"))
    assert 20 < result["peak_mb"] < 2_000
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 50
    with pytest.raises(apart.ProcessFailedError, match="No such file or directory"):
        apart.run(large.write, rows=50, path=str(tmp_path / "nowhere" / "t.parquet"))


def test_stream_benchmark_measures_every_algorithm(data_folder: Path) -> None:
    result = apart.run(streams.measure, setting=next(iter(streams.SETTINGS)), rows=300)
    assert result["systems"].keys() == {system.name for system in stream_algorithms.streams()}
    for alone, statement, loss, delay, out in result["systems"].values():
        assert 0 < alone <= statement
        assert 0 <= loss <= 1 and 0 <= delay < 300 and 0 <= out <= 1


def test_spill_watcher_reports_maximum_directory_size(tmp_path: Path) -> None:
    with bounded._SpillWatcher(tmp_path) as spilled:
        (tmp_path / "rows.tmp").write_bytes(b"x" * 200_000)
        time.sleep(0.3)
        (tmp_path / "rows.tmp").unlink()
        time.sleep(0.2)
    assert 200_000 <= spilled.most < 300_000


def test_growth_reported_as_exponent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the rows in twenty times the CPU seconds: log 20 / log 10."""
    iterator = iter([{}, {"rows": 100, "cpu": 1.0}, {}, {"rows": 1_000, "cpu": 20.0}])
    monkeypatch.setattr(apart, "run", lambda *_, **__: next(iterator))
    first, second = large.measurements([100, 1_000], ["kacpc"], 1)
    assert "exponent" not in first
    assert second["exponent"] == pytest.approx(1.30103)


def test_own_benchmark_measures_given_table(tmp_path: Path) -> None:
    """Two zip codes of one region and two ages, three records each.

    In classes of three nothing is lost, in one of six half of the levels of zip codes (two of its three leaves) and all
    of the ages.
    """
    (tmp_path / "zip.csv").write_text("12;1*;*\n13;1*;*\n20;2*;*\n")
    pd.DataFrame({"zip": ["12", "13"] * 3, "age": [30, 40] * 3, "name": list("abcdef")}).to_csv(
        tmp_path / "people.csv", index=False
    )
    parameters = {"file": str(tmp_path / "people.csv"), "hierarchies": str(tmp_path), "quasi": ["zip", "age"],
             "sensitive": [], "numbers": []}  # fmt: skip
    threes, sixes = list(own.measurements(["kacpc"], [3, 6], **parameters))
    assert (threes["rows"], threes["tuples"], threes["precision"], threes["ncp"]) == (6, 2, 1.0, 0.0)
    assert sixes["precision"] == pytest.approx(1 - (1 / 2 + 1) / 2)
    assert sixes["ncp"] == pytest.approx((2 / 3 + 1) / 2)
    assert threes["cpu_to_baseline"] == sixes["cpu_to_baseline"] == 1.0
    (failed,) = own.measurements(["kacpc"], [3], **parameters | {"quasi": ["height"]})
    assert "no column height" in failed["failed"]
