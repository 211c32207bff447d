"""The algorithm of a release may be omitted, a parameter, or an argument before the source."""

from __future__ import annotations

from typing import Any

import pytest

import dbanon
from dbanon import errors
from dbanon.audit.comparison.compare import COMPARED_ALGORITHMS
from dbanon.release.functions import DEFAULT_ALGORITHM
from dbanon.table_functions.registry import table_functions


@pytest.fixture
def ages() -> Any:
    """Create `ages`, twelve records without a policy."""
    with dbanon.connect() as con:
        con.execute("CREATE TABLE ages AS SELECT 20 + i AS age FROM range(12) AS r (i)")
        yield con


@pytest.mark.parametrize(
    ("arguments", "named", "algorithm"),
    [
        (["ages"], {}, "best"),
        (["ages"], {"algorithm": "mdav"}, "mdav"),
        (["mdav", "ages"], {}, "mdav"),
        (["mdav"], {"source": "ages"}, "mdav"),
        ([], {"source": "ages", "algorithm": "mdav"}, "mdav"),
    ],
)
def test_create_release_algorithm_is_optional(
    ages: Any, arguments: list[str], named: dict[str, str], algorithm: str
) -> None:
    dbanon.create_release(ages, "safe", *arguments, k=3, qi=["age"], **named)
    assert ages.execute("SELECT algorithm, source LIKE '%ages%' FROM releases()").fetchall() == [(algorithm, True)]


def test_create_release_refuses_other_arguments(ages: Any) -> None:
    with pytest.raises(errors.MissingArgumentError, match="source is missing"):
        dbanon.create_release(ages, "safe", k=3)  # type: ignore[call-overload]
    with pytest.raises(errors.RepeatedArgumentError, match="algorithm is given twice"):
        dbanon.create_release(ages, "safe", "mdav", "ages", algorithm="kacpc", k=3)
    with pytest.raises(errors.UnknownAlgorithmError):
        dbanon.create_release(ages, "safe", "ages", algorithm="mdva", k=3, qi=["age"])


def test_default_algorithms_are_those_of_one_place() -> None:
    defaults = {
        name: {p.name: p.default for p in table_functions()[name].parameters}
        for name in ("anonymize", "inference", "tradeoffs", "compare")
    }
    assert defaults["anonymize"]["algorithm"] == defaults["inference"]["algorithm"] == DEFAULT_ALGORITHM
    assert defaults["tradeoffs"]["algorithms"] == (DEFAULT_ALGORITHM,)
    assert defaults["compare"]["algorithms"] == COMPARED_ALGORITHMS
