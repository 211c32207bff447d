"""profile() withholds sensitive columns whose exact values are unique, and columns with the content of another one."""

from __future__ import annotations

from typing import Any

import pytest

from dbanon.sqltext.quote import identifier


def proposals(con: Any, columns: dict[str, str], n_rows: int = 600) -> dict[str, tuple[str, str]]:
    """Return the proposed role and the reason of each column of a table with these SQL expressions of `i`."""
    selected = ", ".join(f"{sql} AS {identifier(name)}" for name, sql in columns.items())
    con.execute(f"CREATE OR REPLACE TABLE t AS SELECT {selected} FROM range({n_rows}) AS r (i)")
    rows = con.execute("SELECT column_name, proposed_role, reason, statement FROM profile('t')").fetchall()
    assert all((role == "withheld") == (statement is None) for _, role, _, statement in rows)
    return {name: (role, reason) for name, role, reason, _ in rows}


# --- exact sensitive values ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["total_cost", "glucose", 'Gehalt "; DROP TABLE t; --'])
def test_mostly_unique_sensitive_values_withheld(con: Any, name: str) -> None:
    cents = "(100 + hash(i) % 90000 / 100)::DECIMAL(9,2)"
    [(role, reason)] = proposals(con, {name: f"CASE WHEN i % 5 = 0 THEN 250 ELSE {cents} END"}).values()
    assert role == "withheld"
    assert reason.endswith("makes most records unique: publish it rounded, as a column of its own, or as ranges, "
                           "with the role quasi")  # fmt: skip


def test_repeated_sensitive_values_stay_sensitive(con: Any) -> None:
    roles = proposals(con, {"cost": "100 + i % 400 * 2.5", "glucose": "70 + hash(i) % 150", "salary": "i // 2 * 10"})
    assert {name: role for name, (role, _) in roles.items()} == dict.fromkeys(roles, "sensitive")


# --- columns with the same content -----------------------------------------------------------------------

SEX = "['F', 'M'][1 + i * 7 % 11 % 2]"


def test_column_with_content_of_another_withheld(con: Any) -> None:
    roles = proposals(
        con, {"SexCode": "1 + i * 7 % 11 % 2", "Sex": SEX, "ward": "i % 2", 'Gender "x"': f"lower({SEX})"}
    )
    reason = "review: it has the same content as {}: each value of one column belongs to one value of the other one. "
    assert roles["Sex"][0] == roles["ward"][0] == "quasi"
    for name in ("SexCode", 'Gender "x"'):
        assert roles[name] == ("withheld", reason.format("Sex") + "Publish one of them")


def test_sensitive_column_stays_next_to_its_code(con: Any) -> None:
    code = "CASE WHEN i % 13 > 0 THEN 'A' || i % 13 END"
    roles = proposals(con, {"city": code, "diagnosis": f"'icd ' || {code}"})
    assert (roles["city"][0], roles["diagnosis"][0]) == ("withheld", "sensitive")


def test_few_values_with_unrelated_names_are_other_content(con: Any) -> None:
    columns = {"sex": "['F', 'M'][1 + i % 2]", "state": "['N', 'S'][1 + i % 2]", "ward": "i % 2"}
    assert {role for role, _ in proposals(con, columns).values()} == {"quasi"}


def test_equally_frequent_values_are_other_content(con: Any) -> None:
    columns = {"sex": "['F', 'M'][1 + i % 2]", "sex_code": "1 + i // 2 % 2"}
    columns |= {"age": "i // 10", "weight": "i % 60"}
    assert {role for role, _ in proposals(con, columns).values()} == {"quasi"}


def test_one_column_of_missing_values_is_other_content(con: Any) -> None:
    columns = {"sex": "CASE WHEN i % 3 > 0 THEN 'F' END", "sex2": "['F', 'M', 'M'][1 + i % 3]"}
    assert {role for role, _ in proposals(con, columns).values()} == {"quasi"}


def test_numbers_of_education_are_no_key(con: Any) -> None:
    roles = proposals(con, {"education": "'degree ' || i % 16", "education_num": "i % 16"}, 3_000)
    assert roles["education"][0] == "quasi"
    role, reason = roles["education_num"]
    assert role == "withheld" and "the same content as education" in reason
    assert proposals(con, {"education_num": "i % 16"}, 3_000)["education_num"][0] == "quasi"
