"""DataFrames with columns that DuckDB does not read and with names that are no texts; errors speak of DataFrames."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import dbanon
from dbanon.api import frame_columns

N = 30
COLUMNS: dict[str, Any] = {
    "cut": pd.cut(np.arange(N) % 6, 3),
    "interval": pd.arrays.IntervalArray.from_breaks(range(N + 1)),
    "period": pd.period_range("2020-01", periods=N, freq="M"),
    "sparse": pd.arrays.SparseArray(np.arange(N) % 3),
    "sparse complex": pd.arrays.SparseArray(np.arange(N) % 3 * 1j),
    "complex": np.arange(N) * 1j,
}


def frame(name: str) -> Any:
    return pd.DataFrame({"age": np.arange(N) % 6, name: COLUMNS[name]})


@pytest.mark.parametrize("name", COLUMNS)
def test_frame_with_unusual_column_is_readable(name: str) -> None:
    people = frame(name)
    types = people.dtypes.tolist()
    assert dbanon.anonymize(people, "kacpc", k=5, qi=["age"]).release.columns.tolist() == ["age", "class_id"]
    with dbanon.connect() as con:
        assert len(con.execute("FROM kacpc('people', k = 5, qi = ['age'])").fetchall()) == N
    assert people.dtypes.tolist() == types


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cut", {"(-0.005, 1.667]", "(1.667, 3.333]", "(3.333, 5.0]"}),
        ("sparse", {0, 1, 2}),
        ("period", set(pd.date_range("2020-01-01", periods=N, freq="MS"))),
        ("interval", {f"({i}, {i + 1}]" for i in range(N)}),
    ],
)
def test_unusual_column_is_converted_where_published(name: str, values: set[Any]) -> None:
    release = dbanon.anonymize(frame(name), "kacpc", k=5, qi=["age"], sensitive=[name]).release
    assert set(release[name]) == values


def test_converted_columns_keep_missing_values() -> None:
    converted = frame_columns.readable_frame(
        pd.DataFrame(
            {
                "cut": pd.cut(pd.Series([1.0, np.nan]), [0, 2]),
                "interval": pd.arrays.IntervalArray([pd.Interval(0, 1), np.nan]),
                "period": pd.PeriodIndex(["2020-01", pd.NaT], freq="M"),
            }
        )
    )
    assert converted.isna().to_numpy().tolist() == [[False] * 3, [True] * 3]
    assert converted.iloc[0].tolist() == ["(0, 2]", "(0.0, 1.0]", pd.Timestamp("2020-01-01")]


def test_frame_without_unusual_columns_is_not_copied() -> None:
    people = pd.DataFrame({"age": [1], "city": pd.Categorical(["a"]), "born": [pd.Timestamp("2020-01-01", tz="UTC")]})
    assert frame_columns.readable_frame(people) is people


def test_columns_with_integer_names_can_be_named() -> None:
    people = pd.DataFrame({0: np.arange(N) % 6, 1: ["M", "F"] * (N // 2), 2: ["x", "y", "z"] * (N // 3)})
    roles: dict[str, Any] = {"qi": [0, 1], "sensitive": 2, "hierarchies": {1: [["M", "*"], ["F", "*"]]}}
    result = dbanon.anonymize(people, "kacpc", k=5, l=2, **roles)
    assert result.release.columns.tolist() == ["0", "1", "2", "class_id"]
    assert dbanon.risk(result)["value"].notna().any()
    assert dbanon.risk(people, qi=[0])["value"].notna().any()
    with pytest.raises(duckdb.Error, match=r"qi must be a list of different column names.*got \[7\]"):
        dbanon.anonymize(people, "kacpc", k=5, qi=[7])


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown column": ({"qi": ["agee"]}, r"the DataFrame has no column 'agee'.*Did you mean 'age'"),
    "no roles": ({}, r"declared for the DataFrame\. Hint: name the columns in the call, qi=\['age', \.\.\.\]; dbanon"),
    "k": ({"k": 99, "qi": ["age"]}, r"\(the DataFrame has 30 rows\)"),
    "type": ({"qi": ["pair"]}, r"the DataFrame\.pair has the type .*extract a column of numbers"),
    "hierarchy": (
        {"qi": ["city"], "hierarchies": {"city": [["q", "*"]]}},
        r"the DataFrame\.city: 2 distinct values .*compare the values of the column 'city'",
    ),
}


@pytest.mark.parametrize(("parameters", "message"), MISTAKES.values(), ids=MISTAKES)
def test_errors_speak_of_dataframe(parameters: dict[str, Any], message: str) -> None:
    people = pd.DataFrame({"age": np.arange(N) % 6, "city": ["a", "b"] * (N // 2), "pair": [[1]] * N})
    with pytest.raises(duckdb.Error, match=message) as caught:
        dbanon.anonymize(people, "kacpc", **{"k": 5, **parameters})
    assert not {"dbanon.policy", "uncovered_values", "a view", "LINE 1"} & set(str(caught.value).split())


@pytest.mark.parametrize(("column", "example"), [("birth_date", r"'birth_date', \.\.\."), ("email", r"\.\.\.")])
def test_hint_for_dataframe_without_roles_names_qi_only(column: str, example: str) -> None:
    """The text of a column with the name email is no quasi-identifier, so the hint has no example then."""
    people = pd.DataFrame({column: [f"p{i}@example.org" if column == "email" else i % 6 for i in range(N)]})
    with pytest.raises(duckdb.Error, match=rf"Hint: name the columns in the call, qi=\[{example}\]; dbanon") as caught:
        dbanon.risk(people)
    assert "dbanon.policy" not in str(caught.value)


def test_errors_of_audits_speak_of_dataframes() -> None:
    people = pd.DataFrame({"age": np.arange(N) % 6})
    with pytest.raises(
        duckdb.Error, match=r"risk: the DataFrame has no column 'z' \(named in qi\)\. Columns: 'age'\.$"
    ):
        dbanon.risk(people, qi=["z"])
    with pytest.raises(duckdb.Error, match="declared for the source DataFrame"):
        dbanon.attack(people, kind="homogeneity", source=people)
