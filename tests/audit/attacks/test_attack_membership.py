"""The membership attack: a plain loop over register and classes, planted people, and what the attack cannot tell."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pytest
from support.attacking import attack, create_people_and_release, declare_people, random_people, summary

import dbanon

VALUES = ["Flu", "HIV", "Cancer", "Lymphoma"]
REGISTER = "register='register'"


@pytest.fixture
def clinic(con: Any) -> Any:
    return declare_people(con)


def create_register(con: Any, people: list[tuple[int, int, str]]) -> None:
    """Create register(id, age, sex)."""
    con.execute("CREATE OR REPLACE TABLE register (id INTEGER, age INTEGER, sex VARCHAR)")
    con.executemany("INSERT INTO register VALUES (?, ?, ?)", people)


def values(con: Any, extra: str = REGISTER) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Return value, baseline and value by the raw data of each number of the summary."""
    return {
        name: (row["value"], row["majority_baseline"], row["raw_baseline"])
        for name, row in summary(con, "membership", extra_arguments=extra).items()
    }


def presences(register: list[tuple[int, int, str]], classes: Counter[tuple[int, int, str]]) -> list[float]:
    """Return the chance of presence of each person: for each class that the person fits, records / people who fit."""
    chances = []
    for _, age, sex in register:
        chance = 0.0
        for (low, high, published_sex), records in classes.items():
            if low <= age <= high and sex == published_sex:
                fitting = [p for p in register if low <= p[1] <= high and p[2] == published_sex]
                chance += records / len(fitting)
        chances.append(min(chance, 1.0))
    return chances


def numbers(chances: list[float], members: list[bool]) -> tuple[float, float, float]:
    """Return the accuracy, the gain over the same answer for all, and the advantage."""
    right = sum((chance >= 0.5 - 1e-9) == member for chance, member in zip(chances, members, strict=True))
    inside = [chance for chance, member in zip(chances, members, strict=True) if member]
    outside = [chance for chance, member in zip(chances, members, strict=True) if not member]
    accuracy = right / len(members)
    common = max(len(inside), len(outside)) / len(members)
    return accuracy, accuracy - common, sum(inside) / len(inside) - sum(outside) / len(outside)


@pytest.mark.parametrize("seed", range(4))
def test_membership_equals_plain_loop(clinic: Any, seed: int) -> None:
    """Classes overlap, some people are suppressed, and the register lacks some people of the source."""
    rng = random.Random(seed)
    everyone = random_people(seed, 80, VALUES, [4, 2, 2, 1])
    create_people_and_release(clinic, everyone[:45])
    clinic.execute("DELETE FROM safe WHERE age = '[30, 39]' AND sex = 'F'")
    clinic.execute("UPDATE safe SET age = '[5, 29]' WHERE age = '[10, 19]'")
    register = [(i, age, sex) for i, (age, sex, _) in enumerate(everyone) if i >= 45 or rng.random() < 0.8]
    create_register(clinic, register)
    classes = Counter(
        (*map(int, age[1:-1].split(", ")), sex) for age, sex in clinic.execute("SELECT age, sex FROM safe").fetchall()
    )
    chances, members = presences(register, classes), [i < 45 for i, *_ in register]
    raw = presences(register, Counter((age, age, sex) for age, sex, _ in everyone[:45]))
    found = values(clinic)
    by_release, by_raw = numbers(chances, members), numbers(raw, members)
    for i, name in enumerate(("accuracy", "gain", "advantage")):
        assert (found[name][0], found[name][2]) == pytest.approx((by_release[i], by_raw[i])), name
    assert found["accuracy"][1] == pytest.approx(max(sum(members), len(members) - sum(members)) / len(members))
    assert (found["members"][0], found["registered"][0]) == (sum(members), len(register))
    share = sum(classes.values()) / len(register)
    assert found["presence_least"] == pytest.approx((min(chances), min(share, 1), min(raw)))
    assert found["presence_greatest"] == pytest.approx((max(chances), min(share, 1), max(raw)))
    rows = attack(clinic, "membership", extra_arguments=f"{REGISTER}, threshold=0")
    by_person = {int(person): row for row in rows for person in row["people"]}
    for (i, *_), chance in zip(register, chances, strict=True):
        assert by_person[i]["confidence"] == pytest.approx(chance)
        assert by_person[i]["baseline_confidence"] == pytest.approx(min(share, 1))
    for row in rows:
        group = [int(person) for person in row["people"]]
        assert row["actual_accuracy"] == pytest.approx(sum(i < 45 for i in group) / len(group))
    likely = attack(clinic, "membership", extra_arguments=REGISTER)
    assert likely == [row for row in rows if row["confidence"] >= 0.5]


def test_membership_names_people_of_a_full_class(clinic: Any) -> None:
    create_people_and_release(clinic, [(11, "F", "HIV"), (12, "F", "Flu"), (21, "M", "Flu"), (22, "M", "HIV")])
    create_register(clinic, [(0, 11, "F"), (1, 12, "F"), *((i, 19 + i, "M") for i in range(2, 9)), (9, 35, "F")])
    (row,) = attack(clinic, "membership", extra_arguments=REGISTER)
    assert (row["class"], row["people"], row["confidence"], row["actual_accuracy"]) == (
        {"age": "[10, 19]", "sex": "F"},
        ["0", "1"],
        1,
        1,
    )
    assert (row["guess"], row["baseline_confidence"], row["records"]) == ("in the source", 0.4, 2)
    assert row["note"] == "one of 2 of the register who fit 2 records"
    found = values(clinic)
    # Of ten people four are in the source (2 and 3 as members of the men's class); two of them are found.
    assert found["members"][0] == 4
    assert found["accuracy"] == pytest.approx((0.8, 0.6, 1))
    assert found["gain"] == pytest.approx((0.2, 0, 0.4))
    assert attack(clinic, "membership", extra_arguments=f"{REGISTER}, threshold=0")[-1]["note"] == "who fit no class"


def test_membership_gains_nothing_if_one_class_covers_all(clinic: Any) -> None:
    create_people_and_release(clinic, random_people(1, 20, VALUES, [1, 1, 1, 1]))
    clinic.execute("UPDATE safe SET age = '*', sex = '*'")
    create_register(clinic, [(i, i % 40, "FM"[i % 2]) for i in range(60)])
    found = values(clinic)
    assert (found["gain"][0], found["advantage"][0]) == pytest.approx((0, 0))
    assert (found["presence_least"][0], found["presence_greatest"][0]) == pytest.approx((1 / 3, 1 / 3))
    assert attack(clinic, "membership", extra_arguments=REGISTER) == []


def test_membership_without_person_column_reports_no_accuracy(clinic: Any) -> None:
    create_people_and_release(clinic, [(15, "F", "HIV"), (25, "M", "Flu")])
    clinic.execute("CREATE TABLE register AS SELECT age, sex FROM people")
    (first, second) = attack(clinic, "membership", extra_arguments=REGISTER)
    assert first["actual_accuracy"] is None and second["actual_accuracy"] is None
    found = values(clinic)
    assert [found[name][0] for name in ("members", "accuracy", "gain", "advantage")] == [None] * 4
    assert found["presence_greatest"][0] == 1
    assert summary(clinic, "linkage", extra_arguments=REGISTER)["wrong_matches"]["value"] is None


def test_membership_of_value_outside_hierarchy_is_excluded(clinic: Any) -> None:
    dbanon.load_hierarchy(clinic, "sexes", [["M", "any", "*"], ["F", "any", "*"]])
    clinic.execute("UPDATE dbanon.policy SET hierarchy = 'sexes' WHERE column_name = 'sex'")
    create_people_and_release(clinic, [(15, "F", "HIV"), (15, "M", "HIV")])
    clinic.execute("UPDATE safe SET sex = '*'")
    create_register(clinic, [(0, 15, "F"), (1, 15, "M"), (2, 15, "X")])
    rows = attack(clinic, "membership", extra_arguments=f"{REGISTER}, threshold=0")
    assert [(row["people"], row["confidence"]) for row in rows] == [(["0", "1"], 1), (["2"], 0)]


def test_membership_refuses_wrong_arguments(clinic: Any) -> None:
    create_people_and_release(clinic, [(15, "F", "HIV")])
    with pytest.raises(duckdb.Error, match=r"register .*Hint: .*register = 'citizens'"):
        attack(clinic, "membership")
    create_register(clinic, [(0, 15, "F")])
    with pytest.raises(duckdb.Error, match=r"sample .*it is not about membership"):
        attack(clinic, "membership", extra_arguments=f"{REGISTER}, sample=1")
    clinic.execute("CREATE TABLE names AS SELECT 'Ann' AS name")
    with pytest.raises(duckdb.Error, match="names"):
        attack(clinic, "membership", extra_arguments="register='names'")
