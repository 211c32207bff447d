"""Bounds of timestamps in frames: they are timestamps, and contain every value of the class."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dbanon
from dbanon.api.frame_adapters import normalize_types

N = 40
TIMES = pd.Series(pd.date_range("2020-01-01 10:00", periods=N, freq="37h"))


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_bounds_of_timestamps_are_timestamps(zone: str | None) -> None:
    people = pd.DataFrame({"seen": TIMES if zone is None else TIMES.dt.tz_localize(zone), "id": range(N)})
    people["day"] = people["seen"].dt.date
    roles: dict[str, Any] = {"qi": ["seen", "day"], "sensitive": ["id"], "intervals": "bounds"}
    release = dbanon.anonymize(people, "kacpc", k=10, **roles).release.merge(people, on="id")
    assert (release["seen_min"] <= release["seen"]).all()
    assert (release["seen"] <= release["seen_max"]).all()
    assert release["seen_min"].dt.tz == release["seen"].dt.tz
    assert release["day_max"].map(type).unique().tolist() != [pd.Timestamp]


def test_bounds_of_polars_timestamps_are_datetimes() -> None:
    release = dbanon.anonymize(pl.DataFrame({"seen": TIMES.tolist()}), "kacpc", k=10, qi=["seen"], intervals="bounds")
    assert str(release.release.schema["seen_max"]) == "Datetime(time_unit='us', time_zone=None)"


def test_struct_bounds_and_infinite_dates() -> None:
    days = pa.array([0, 30, None], pa.date32())
    structs = pa.StructArray.from_arrays([days, days], names=["low", "high"], mask=pa.array([False, False, True]))
    far = pa.array([2**31 - 1, 0, 0], pa.date32())
    schema = pa.schema([("a", pa.timestamp("us")), ("b", pa.timestamp("ns")), ("c", pa.date32())])
    table = pa.table({"a": structs, "b_min": far, "b_max": days, "c_min": days, "d_min": days})
    actual = normalize_types(table, schema)
    assert actual["a"].to_pylist()[1] == {
        "low": pd.Timestamp("1970-01-31"),
        "high": pd.Timestamp("1970-01-31 23:59:59.999999"),
    }
    assert actual["a"].to_pylist()[2] is None
    assert actual["b_min"].type == pa.date32()
    assert actual["b_max"].type == pa.timestamp("ns")
    assert actual["c_min"].type == actual["d_min"].type == pa.date32()
