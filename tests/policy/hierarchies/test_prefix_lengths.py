"""hierarchy_prefix() of codes of different lengths: one node per prefix, whose label does not reveal a length."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from dbanon.sqltext.quote import text

CODES = {
    "zip codes": (["02138", "02138-1234", "02139", "10001-0001"], [5, 3]),
    "diagnoses": (["E119", "E11.9", "E11", "I10", "I10.0"], [3, 1]),
    "postcodes": (["M1 1AA", "SW1A 1AA", "SW1A 2AA", "B33 8TH"], [4, 2]),
    "addresses": (["10.0.0.1", "10.0.12.131", "192.168.100.100"], [7, 3]),
    "one short": (["9", *(f"{i:05d}" for i in range(0, 99999, 1500))], [4, 3]),
}


def inner_labels(con: Any, values: list[str], call: str) -> dict[str, list[str]]:
    """Return the labels above each value in the hierarchy that a call builds, from the value to the root."""
    con.execute("CREATE OR REPLACE TABLE codes AS SELECT unnest(?::VARCHAR[]) AS v", [values])
    con.execute("DELETE FROM dbanon.hierarchy")
    con.execute(f"INSERT INTO dbanon.hierarchy FROM {call}")
    assert con.execute("FROM hierarchy_problems()").fetchall() == []
    assert con.execute("FROM uncovered_values('codes', 'v', hierarchy = 'h')").fetchall() == []
    return dict(con.execute("SELECT leaf, path[2:] FROM dbanon.hierarchy_path WHERE name = 'h'").fetchall())


@pytest.mark.parametrize("kind", CODES)
def test_equal_prefixes_share_nodes_of_any_length(con: Any, kind: str) -> None:
    values, keep = CODES[kind]
    labels = inner_labels(con, values, f"hierarchy_prefix('h', 'codes', 'v', keep = {keep})")
    for one, other in itertools.combinations(values, 2):
        for n in keep:
            if one[:n] == other[:n] and min(len(one), len(other)) >= n:
                common = set(labels[one]) & set(labels[other])
                assert [label for label in common if label.rstrip("*") == one[:n]], (one, other, n)
    for value, above in labels.items():
        assert all(value.startswith(label.rstrip("*")) for label in above)


def test_mask_does_not_reveal_length(con: Any) -> None:
    values, _ = CODES["zip codes"]
    labels = inner_labels(con, values, "hierarchy_prefix('h', 'codes', 'v', keep = [3])")
    assert {value: above[0] for value, above in labels.items()} == {
        "02138": "021**", "02138-1234": "021**", "02139": "021**", "10001-0001": "100**",
    }  # fmt: skip
    labels = inner_labels(con, values, "hierarchy_prefix('h', 'codes', 'v')")
    assert labels["02138"] == ["02138*", "0213*", "021**", "02***", "0****", "*"]
    assert labels["02139"] == ["0213*", "021**", "02***", "0****", "*"]


def test_few_short_codes_do_not_shorten_masks(con: Any) -> None:
    values, _ = CODES["one short"]
    labels = inner_labels(con, values, "hierarchy_prefix('h', 'codes', 'v', keep = [3])")
    assert labels["09000"] == ["090**", "*"] and labels["9"] == ["*"]


def test_release_publishes_one_mask_for_all_lengths(con: Any) -> None:
    inner_labels(con, CODES["zip codes"][0][:3], "hierarchy_prefix('h', 'codes', 'v', keep = [3])")
    released = con.execute("SELECT v FROM kacpc('codes', k = 3, qi = ['v'], hierarchies = {'v': 'h'})").fetchall()
    assert released == [("021**",)] * 3
    for value in CODES["zip codes"][0][:3]:
        assert con.execute(f"SELECT covers('021**', {text(value)})").fetchall() == [(True,)]
