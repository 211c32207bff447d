"""Values that a hierarchy does not have are an error, whichever of a table's hierarchies it is."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import dbanon


@pytest.fixture(scope="module")
def con() -> Any:
    connection = dbanon.connect()
    connection.execute(
        "CREATE TABLE visits AS SELECT i AS ts, i % 3 AS person, ['F', 'M'][1 + i % 2] AS sex, "
        "['flu', 'cold', 'asthma', 'ulcer'][1 + i % 4] AS disease, ['a', 'b'][1 + i % 2] AS ward "
        "FROM range(60) AS r (i)"
    )
    return connection


SEX, WARD, DISEASE = "'sex': 'F;*\nM;*'", "'ward': 'a;*\nc;*'", "'disease': 'flu;lung;*\ncold;lung;*\nasthma;lung;*'"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (f"mondrian('visits', k := 2, qi := ['sex', 'ward'], hierarchies := {{{SEX}, {WARD}}})", r"visits\.ward: 1"),
        (
            "mondrian('visits', k := 2, qi := ['sex'], sensitive := 'disease', t := 0.5, "
            f"ground_distance := 'hierarchical', hierarchies := {{{SEX}, {DISEASE}}})",
            r"visits\.disease: 1",
        ),
        (
            "puri_haritha('visits', k := 2, delta := 30, order_by := 'ts', qi := ['sex'], sensitive := 'disease', "
            f"hierarchies := {{{SEX}}}, value_hierarchy := {{{DISEASE}}})",
            r"visits\.disease: 1",
        ),
        (
            "puri_haritha('visits', k := 2, delta := 30, order_by := 'ts', qi := ['sex'], sensitive := 'disease', "
            f"hierarchies := {{{SEX}}}, value_hierarchy := {{'disease': 'x;y;*'}})",
            r"visits\.disease: 4",
        ),
    ],
)
def test_values_missing_from_second_hierarchy_are_error(con: Any, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message + " distinct values? (is|are) missing from hierarchy"):
        con.execute(f"FROM {call}").fetchall()
