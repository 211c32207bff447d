"""Person ids that differ only by spelling are reported, and calls that count persons by them warn."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import dbanon
from dbanon import PersonSpellingsWarning

SPELLINGS = {
    "case": "['p', 'P'][i % 2 + 1] || i // 2", "blanks": "['', ' '][i % 2 + 1] || 'p' || i // 2",
    "blanks inside": "'p' || ['', ' '][i % 2 + 1] || i // 2", "tabs": "'p' || i // 2 || ['', chr(9)][i % 2 + 1]",
    "hard blanks": "'p' || i // 2 || ['', chr(160)][i % 2 + 1]", "zeros": "['', '00'][i % 2 + 1] || (1 + i // 2)",
    "zeros behind letters": "'p' || ['', '0'][i % 2 + 1] || (1 + i // 2)",
}  # fmt: skip
DISTINCT = {"numbers": "i // 2", "texts": "'p' || i // 2", "zeros inside": "(1 + i // 2) || '0' || '1'"}


def people(con: Any, person: str) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {person} AS patient_id, 20 + i % 9 AS age FROM range(400) AS r (i)")
    con.execute("INSERT INTO t FROM t")
    dbanon.declare(con, "t", patient_id="person", age="quasi")


def spelling_reports(con: Any) -> list[list[str]]:
    """Return the findings of policy_problems, policy_review and profile about spellings."""
    queries = (
        "SELECT problem FROM policy_problems()",
        "SELECT finding FROM policy_review('t') WHERE topic = 'problem'",
        "SELECT unnest(problems) FROM profile('t') WHERE column_name = 'patient_id'",
    )
    values = ([row[0] for row in con.execute(query).fetchall()] for query in queries)
    return [[actual_row for actual_row in rows if "leading zeros" in actual_row] for rows in values]


@pytest.mark.parametrize("name", SPELLINGS)
def test_person_spelling_variants_reported_and_warned(con: Any, name: str) -> None:
    people(con, SPELLINGS[name])
    result = spelling_reports(con)
    assert [len(rows) for rows in result] == [1, 1, 1]
    assert all("400" in rows[0] for rows in result)
    with pytest.warns(PersonSpellingsWarning, match="patient_id: 400 person ids differ"):
        dbanon.create_release(con, "r", "kacpc", "t", k=4)


@pytest.mark.parametrize("name", DISTINCT)
def test_distinct_person_ids_not_reported(con: Any, name: str) -> None:
    people(con, DISTINCT[name])
    assert spelling_reports(con) == [[], [], []]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PersonSpellingsWarning)
        dbanon.create_release(con, "r", "kacpc", "t", k=4)


def test_spelling_reports_contain_no_person_id(con: Any) -> None:
    people(con, "['secret', 'SECRET'][i % 2 + 1] || i // 2")
    assert "secret" not in str(spelling_reports(con)).lower()


@pytest.mark.parametrize(("name", "count"), [("case", 1), ("zeros", 1), ("texts", 0), ("numbers", 0)])
def test_anonymize_warns_of_person_spelling_variants(con: Any, name: str, count: int, tmp_path: Any) -> None:
    people(con, (SPELLINGS | DISTINCT)[name])
    path = tmp_path / "people.parquet"
    con.execute(f"COPY t TO '{path}'")
    for df in (con.execute("FROM t").fetch_df(), str(path)):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            dbanon.anonymize(df, "kacpc", k=4, qi=["age"], person="patient_id")
        assert sum(w.category is PersonSpellingsWarning for w in issued) == count
