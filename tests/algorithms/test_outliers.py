"""`suppress` suppresses single outliers, by lowest loss, in every algorithm, also with max_level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import by_row
from support.model_tables import model_requirement
from support.scale import case_sample

from dbanon import algorithms
from dbanon.algorithms.postprocess.isolation import isolation_losses
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint

ALGORITHMS = [a.name for a in algorithms.algorithms()]


def letters(text: str, sensitive: str | None = None, max_level: int | None = None) -> EncodedTable:
    """Create a table of one flat category, and a sensitive column: by default different values in turn."""
    values, codes = np.unique(list(text), return_inverse=True)
    other_values, other_codes = np.unique(list(sensitive or "xyz" * len(text))[: len(text)], return_inverse=True)
    parent = np.array([-1, *[0] * len(values)], np.int32)
    table, _ = encoded_table.encode_table(
        (CategoricalAttribute(parent, np.arange(1, len(values) + 1, dtype=np.int32), max_level=max_level),),
        [codes.astype(np.int32)],
        np.zeros(len(text), np.uint64),
        None,
        None,
        [(other_codes.astype(np.int32), len(other_values), None)],
    )
    return table


def run(name: str, table: EncodedTable, share: float, constraint: Constraint | None = None, **own: object) -> list[int]:
    """Return the cluster of every record, -1 for suppressed ones."""
    algorithm = algorithms.find(name)
    options = {p.name: p.default for p in algorithm.own_parameters} | own
    refinement = algorithms.Refinement(max_suppressed_share=share)
    labels = by_row.run_labels(
        algorithm, table, constraint or Constraint(2), options, algorithms.MessageNames(("v",)), refinement
    )
    return list(labels.tolist())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_single_outlier_suppressed_by_every_algorithm(name: str) -> None:
    for max_level in case_sample((None, 0), name):
        labels = run(name, letters("aaaab", max_level=max_level), 0.2)
        assert labels[4] == -1
        assert min(labels[:4]) >= 0
        assert all(labels.count(c) >= 2 for c in set(labels[:4]))


@pytest.mark.parametrize("name", ["kacpc", "best", "mondrian"])
def test_four_odd_records_of_100_suppressed(name: str) -> None:
    assert [i for i, c in enumerate(run(name, letters("a" * 96 + "bcde"), 0.04, Constraint(5))) if c < 0] == [
        96, 97, 98, 99,
    ]  # fmt: skip
    assert run(name, letters("a" * 96 + "bcde"), 0.03, Constraint(5)).count(-1) <= 3


def test_no_more_outliers_suppressed_than_gain() -> None:
    assert run("kacpc", letters("a" * 10 + "b"), 0.9).count(-1) == 1
    assert run("kacpc", letters("a" * 10 + "bb"), 0.9).count(-1) == 0


@pytest.mark.parametrize("name", ["kacpc", "best"])
def test_outlier_kept_if_rest_misses_model(name: str) -> None:
    """Without b there is one sensitive value only."""
    two = Constraint(2, (model_requirement(l=2),))
    assert run(name, letters("aaaab", "xxxxy"), 0.2, two) == [0] * 5
    assert run(name, letters("aaaab", "xxyyy"), 0.2, two).count(-1) == 1


def test_max_level_groups_suppressed_only_within_share(con: Any) -> None:
    con.execute("CREATE TABLE s AS SELECT unnest(['a', 'a', 'a', 'a', 'b']) AS v")
    call = "FROM {}('s', k = 2, qi = ['v'], max_level = {{'v': 0}}, {})"
    for name in ("kacpc", "datafly"):
        published_rows = con.execute(f"SELECT v {call.format(name, 'suppress = 0.2')}").fetchall()
        assert published_rows == [("a",)] * 4
    for arguments in ("suppress = 0.19", "nulls = 'keep'"):
        with pytest.raises(Exception, match="set suppress to at least the share"):
            con.execute(call.format("kacpc", arguments))
    with pytest.raises(Exception, match="set suppress to at least the share"):
        con.execute(call.format("datafly", "recoding = 'full'"))  # k records by default are not a request


FULL = ("datafly", "incognito", "samarati")


@pytest.mark.parametrize("name", FULL)
def test_share_and_number_are_limits_of_their_own(name: str, con: Any) -> None:
    """Nine records are alone: k = 3, so datafly suppresses up to three of them by default."""
    con.execute("CREATE TABLE s AS SELECT if(i < 91, 'a', 'b' || i) AS v FROM range(100) AS r (i)")

    def suppressed(arguments: str) -> int:
        query = f"SELECT value FROM {name}_metrics('s', k = 3, qi = ['v']{arguments}) WHERE metric = 'suppressed'"
        return int(con.execute(query).fetchall()[0][0])

    assert suppressed("") == 0
    cases = {", suppress = 0.09": 9, ", max_suppressed = 9": 9, ", suppress = 0.09, max_suppressed = 8": 0}
    for arguments in case_sample(tuple(cases), name):
        assert suppressed(arguments) == cases[arguments]


def test_isolation_is_loss_with_nearest_records() -> None:
    """Numbers 0, 1, 3 and 10, of one, one, two and one records: the range is 10."""
    attribute = NumericAttribute(np.array([0.0, 1.0, 3.0, 10.0]), True)
    table, _ = encoded_table.encode_table(
        (attribute,), [np.array([0, 1, 2, 2, 3], np.int32)], np.zeros(5, np.uint64), None, None, []
    )
    assert isolation_losses(table, np.arange(4), 2) == pytest.approx([0.1, 0.1, 0, 0.7])
    assert isolation_losses(table, np.array([0, 3]), 4) == pytest.approx([0.3, 0.9])
