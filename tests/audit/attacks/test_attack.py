"""Attacks on classes by linkage, reconstruction and downcoding: planted victims, none planted, calibration."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from support.attacking import (
    attack,
    create_people_and_release,
    declare_people,
    exposed_people,
    is_calibrated,
    random_people,
    summary,
)

import dbanon
from dbanon.audit.attacks import attack_kinds
from dbanon.sqltext.quote import identifier, text

VALUES = ["Flu", "HIV", "Cancer", "Lymphoma"]


def block(age: int, sex: str, *diseases: str) -> list[tuple[Any, ...]]:
    """Return people of one class."""
    return [(age + i % 10, sex, disease) for i, disease in enumerate(diseases)]


@pytest.fixture
def clinic(con: Any) -> Any:
    return declare_people(con)


# --- victims planted, and none planted -------------------------------------------------------------------

PLANTED = {
    "homogeneity": (["HIV", "HIV", "HIV", "HIV"], "", "HIV", 1.0, range(4)),
    "skewness": (["HIV", "HIV", "HIV", "Flu"], ", threshold=0.3", "HIV", 0.75, range(4)),
    "similarity": (["HIV", "Flu", "HIV", "Flu"], "", "Infectious", 1.0, range(4)),
    "background": (["HIV", "Cancer", "HIV", "HIV"], "", "HIV", 1.0, [0, 2, 3]),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_class_attack_names_exactly_planted_people(clinic: Any, kind: str) -> None:
    diseases, extra, guess, confidence, people = PLANTED[kind]
    varied = [*VALUES, *VALUES] * 3
    create_people_and_release(clinic, [*block(10, "F", *diseases), *block(20, "M", *varied), *block(30, "F", *varied)])
    rows = [row for row in attack(clinic, kind, extra_arguments=extra.lstrip(", ")) if row["guess"] == guess]
    (row,) = rows
    assert (row["attribute"], row["class"]) == ("disease", {"age": "[10, 19]", "sex": "F"})
    assert (row["confidence"], row["actual_accuracy"], row["records"]) == (confidence, confidence, len(people))
    assert row["people"] == [str(i) for i in people]
    assert row["baseline_confidence"] < confidence
    actual_summary = summary(clinic, kind, extra_arguments=extra.lstrip(", "))
    assert actual_summary["confidence"]["value"] == pytest.approx(actual_summary["actual_accuracy"]["value"])
    assert actual_summary["guesses"]["value"] == len(attack(clinic, kind, extra_arguments=extra.lstrip(", ")))


@pytest.mark.parametrize("kind", PLANTED)
def test_class_attack_finds_no_one_without_exposure(clinic: Any, kind: str) -> None:
    create_people_and_release(clinic, [*block(10, "F", *VALUES), *block(20, "M", *VALUES, *VALUES)])
    assert attack(clinic, kind) == []
    actual_summary = summary(clinic, kind)
    assert (
        actual_summary["guesses"]["value"],
        actual_summary["exposed_people"]["value"],
        actual_summary["actual_accuracy"]["value"],
    ) == (0, 0, None)


def test_background_attack_with_more_facts_exposes_more(clinic: Any) -> None:
    create_people_and_release(
        clinic, [*block(10, "F", "Flu", "Flu", "Flu", "HIV", "HIV", "Cancer"), *block(20, "M", *VALUES)]
    )
    by_facts = [
        {(r["class"]["sex"], r["guess"]) for r in attack(clinic, "background", extra_arguments=f"known_negatives={m}")}
        for m in range(4)
    ]
    assert by_facts[:3] == [set(), set(), {("F", "Flu"), ("F", "HIV"), ("F", "Cancer")}]
    assert by_facts[3] == by_facts[2] | {("M", v) for v in VALUES}
    rows = attack(clinic, "background", extra_arguments="known_negatives=1, threshold=0.7")
    # Flu among those without HIV: 3 of 4; without the release, 4 of the 8 without HIV.
    (flu,) = (r for r in rows if r["guess"] == "Flu")
    assert (flu["confidence"], flu["records"], flu["note"]) == (0.75, 4, "who do not have: HIV")
    assert flu["baseline_confidence"] == pytest.approx(4 / 7)
    assert flu["people"] == ["0", "1", "2", "5"]


def test_person_fitting_two_classes_is_not_named(clinic: Any) -> None:
    create_people_and_release(clinic, [*block(10, "F", "HIV", "HIV"), *block(20, "F", "Flu", "HIV")])
    clinic.execute("UPDATE safe SET age = '[11, 29]' WHERE age = '[20, 29]'")
    (row,) = attack(clinic, "homogeneity")
    assert row["people"] == ["0"]
    assert (row["records"], row["actual_accuracy"], row["note"]) == (2, 1, None)


def test_unknown_accuracy_states_its_reason(clinic: Any) -> None:
    """Everyone of the class of HIV fits a class of two diseases, too; later the source has no diseases."""
    create_people_and_release(clinic, [*block(10, "F", "HIV", "HIV"), *block(20, "F", "Flu", "HIV")])
    clinic.execute("UPDATE safe SET age = '[10, 29]' WHERE age = '[20, 29]'")
    (row,) = attack(clinic, "homogeneity")
    assert (row["people"], row["actual_accuracy"]) == ([], None)
    assert row["note"] == "no one in the source fits only classes with this guess"
    rows = attack(clinic, "background", extra_arguments="threshold=0.5")
    assert all((r["actual_accuracy"] is None) == ("no one in the source" in (r["note"] or "")) for r in rows)
    clinic.execute("ALTER TABLE people DROP COLUMN disease")
    (row,) = attack(clinic, "homogeneity")
    assert (row["actual_accuracy"], row["note"]) == (None, "the source does not have this column")


@pytest.mark.not_everyday
@pytest.mark.parametrize("kind", PLANTED)
def test_class_attack_confidence_equals_hit_rate(clinic: Any, kind: str) -> None:
    """Over real releases of random tables, compared with the true values of each person."""
    by_confidence: dict[float, list[float]] = defaultdict(lambda: [0, 0])
    node = {"Flu": "Infectious", "HIV": "Infectious", "Cancer": "Oncology", "Lymphoma": "Oncology"}
    clinic.execute("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'id'")
    for seed in range(12):
        create_people_and_release(clinic, random_people(seed, 150, VALUES, [5, 2, 2, 1]))
        clinic.execute("CREATE OR REPLACE TABLE safe AS FROM mondrian('people', k=4)")
        threshold = 0.1 if kind == "skewness" else 0.6
        has = dict(clinic.execute("SELECT id::VARCHAR, disease FROM people").fetchall())
        for row in attack(clinic, kind, extra_arguments=f"threshold={threshold}, person='id'"):
            tally = by_confidence[round(row["confidence"], 1)]
            for person in row["people"]:
                tally[0] += row["guess"] in (has[person], node[has[person]])
                tally[1] += 1
            if row["people"]:
                assert row["actual_accuracy"] == pytest.approx(
                    sum(row["guess"] in (has[w], node[has[w]]) for w in row["people"]) / len(row["people"])
                )
    assert sum(n_attempts for _, n_attempts in by_confidence.values()) > 300
    for confidence, (hits, n_attempts) in by_confidence.items():
        # Rounded to tenths, and Mondrian's classes do not overlap: the stated value is exact.
        assert abs(hits / n_attempts - confidence) <= 0.06, (kind, confidence, hits, n_attempts)


# --- linkage ----------------------------------------------------------------------------------------------


def test_linkage_names_exactly_planted_people(clinic: Any) -> None:
    create_people_and_release(clinic, [(15, "F", "HIV"), *block(20, "M", *VALUES), (35, "F", "Flu")])
    clinic.execute("CREATE TABLE register AS SELECT id, age, sex FROM people WHERE id <> 5")
    clinic.execute("INSERT INTO register VALUES (100, 36, 'F'), (101, 99, 'F')")
    rows = attack(clinic, "linkage", extra_arguments="register='register'")
    assert [(r["people"], r["confidence"], r["actual_accuracy"], r["class"]["age"]) for r in rows] == [
        (["0"], 1, 1, "[10, 19]"),
        (["100"], 1, 0, "[30, 39]"),
    ]
    values_by_name = {
        name: row["value"] for name, row in summary(clinic, "linkage", extra_arguments="register='register'").items()
    }
    expected = {"registered": 7, "linked": 6, "candidates_least": 1, "candidates_median": 4, "exact_matches": 2}
    assert values_by_name | expected == values_by_name
    assert values_by_name["wrong_matches"] == 1
    assert summary(clinic, "linkage", extra_arguments="register='register'")["exact_matches"]["raw_baseline"] == 5


def test_linkage_finds_no_one_in_large_classes(clinic: Any) -> None:
    create_people_and_release(clinic, [*block(10, "F", *VALUES), *block(20, "M", *VALUES)])
    clinic.execute("CREATE TABLE register AS SELECT id, age, sex FROM people")
    assert attack(clinic, "linkage", extra_arguments="register='register'") == []
    actual_summary = summary(clinic, "linkage", extra_arguments="register='register'")
    assert (actual_summary["exact_matches"]["value"], actual_summary["wrong_matches"]["value"]) == (0, 0)
    assert actual_summary["candidates_least"]["value"] == 4


def test_linkage_confidence_is_divided_among_fitting_people(clinic: Any) -> None:
    create_people_and_release(clinic, [(15, "F", "HIV")])
    clinic.execute("CREATE TABLE register AS SELECT i AS id, 15 AS age, 'F' AS sex FROM range(8) AS r (i)")
    rows = attack(clinic, "linkage", extra_arguments="register='register', threshold=0")
    assert {(r["confidence"], r["actual_accuracy"]) for r in rows} == {(0.125, 0), (0.125, 1)}
    assert sum(r["actual_accuracy"] for r in rows) == 1


@pytest.mark.not_everyday
@pytest.mark.parametrize("larger", ["register", "release"])
def test_linkage_confidence_equals_hit_rate(clinic: Any, larger: str) -> None:
    """The attacker links at random; the register has more people than the release, or fewer."""
    rng = random.Random(larger)
    by_confidence: dict[float, list[float]] = defaultdict(lambda: [0, 0])
    for seed in range(25):
        everybody = random_people(seed, 60, VALUES, [1, 1, 1, 1])
        create_people_and_release(clinic, everybody if larger == "release" else everybody[:20])
        clinic.execute("CREATE OR REPLACE TABLE register (id INTEGER, age INTEGER, sex VARCHAR)")
        listed_everybody = everybody[:20] if larger == "release" else everybody
        clinic.executemany(
            "INSERT INTO register VALUES (?, ?, ?)", [(i, *p[:2]) for i, p in enumerate(listed_everybody)]
        )
        numbers = {str(i): (p[0] // 10, p[1]) for i, p in enumerate(everybody)}
        released_texts = [str(i) for i in range(60 if larger == "release" else 20)]
        for row in attack(clinic, "linkage", extra_arguments="register='register', threshold=0"):
            (person,) = row["people"]
            candidates = [i for i in released_texts if numbers[i] == numbers[person]]
            assert row["records"] == len(candidates)
            tally = by_confidence[row["confidence"]]
            tally[0] += rng.choice(candidates) == person
            tally[1] += 1
    assert sum(n_attempts for _, n_attempts in by_confidence.values()) > 400
    for confidence, (hits, n_attempts) in by_confidence.items():
        assert is_calibrated(confidence, hits, n_attempts), (confidence, hits, n_attempts)


def test_linkage_without_person_column_reports_no_errors(clinic: Any) -> None:
    create_people_and_release(clinic, [(15, "F", "HIV"), *block(20, "M", *VALUES)])
    clinic.execute("CREATE TABLE register AS SELECT age, sex FROM people")
    clinic.execute("DELETE FROM dbanon.policy WHERE column_name = 'id'")
    (row,) = attack(clinic, "linkage", extra_arguments="register='register'")
    assert (row["people"], row["actual_accuracy"]) == (["{'age': 15, 'sex': F}"], None)
    assert summary(clinic, "linkage", extra_arguments="register='register'")["wrong_matches"]["value"] is None


def test_linkage_sample_limits_tried_people(clinic: Any) -> None:
    create_people_and_release(clinic, random_people(3, 200, VALUES, [1, 1, 1, 1]))
    extra_options = "register='people', threshold=0"
    full_summary = summary(clinic, "linkage", extra_arguments=extra_options)
    actual_summary = summary(clinic, "linkage", extra_arguments=f"{extra_options}, sample=50")
    assert (
        actual_summary["registered"]["value"],
        actual_summary["tried"]["value"],
        actual_summary["linked"]["value"],
    ) == (200, 50, 50)
    assert actual_summary["candidates_least"]["value"] >= full_summary["candidates_least"]["value"]
    assert actual_summary["exact_matches"]["raw_baseline"] <= 50 and "tried" not in full_summary
    rows = attack(clinic, "linkage", extra_arguments=f"{extra_options}, sample=50")
    assert rows == attack(clinic, "linkage", extra_arguments=f"{extra_options}, sample=50")
    by_who = {
        r["people"][0]: (r["records"], r["confidence"])
        for r in attack(clinic, "linkage", extra_arguments=extra_options)
    }
    assert all(by_who[r["people"][0]] == (r["records"], r["confidence"]) for r in rows) and len(rows) == 50
    other = attack(clinic, "linkage", extra_arguments=f"{extra_options}, sample=50, seed=2")
    assert exposed_people(other) != exposed_people(rows)
    assert attack(clinic, "linkage", extra_arguments=f"{extra_options}, sample=1000") == [
        row | {"note": row["note"].split(",")[0]} for row in attack(clinic, "linkage", extra_arguments=extra_options)
    ]
    with pytest.raises(duckdb.Error, match=r"sample .*it is not about homogeneity"):
        attack(clinic, "homogeneity", extra_arguments="sample=5")


# --- majority ---------------------------------------------------------------------------------------------


def majority_accuracies(
    people: list[tuple[Any, ...]], safe: list[tuple[Any, ...]], is_match: Callable[[tuple[Any, ...], Any, Any], bool]
) -> tuple[float, float, float, int]:
    """Return three shares of right guesses and the number of people.

    The guesses are made from the release, from the most frequent value, and from the raw data.
    """
    common = Counter(value for *_, value in safe if value is not None)

    def most_frequent(counts: Counter[Any]) -> Any:
        known_values = [(-n, -common[value], value) for value, n in counts.items() if value is not None]
        return min(known_values)[2] if known_values else most_frequent(common)

    right, number = [0, 0, 0], 0
    for person in people:
        age, sex, value = person[1:]
        if value is None:
            continue
        number += 1
        fits = Counter(row[2] for row in safe if is_match(row, age, sex))
        equal_counts = Counter(p[3] for p in people if p[1:3] == (age, sex))
        for i, guess in enumerate((most_frequent(fits), most_frequent(common), most_frequent(equal_counts))):
            right[i] += guess == value
    return right[0] / number, right[1] / number, right[2] / number, number


@pytest.mark.parametrize("seed", range(12))
def test_majority_accuracy_equals_plain_loop(clinic: Any, seed: int) -> None:
    """Classes overlap in this release, some of the people are suppressed, and some have no value."""
    rng = random.Random(seed)
    create_people_and_release(
        clinic, [(*p[:2], rng.choice([p[2], None, p[2]])) for p in random_people(seed, 90, VALUES, [4, 2, 2, 1])]
    )
    clinic.execute("DELETE FROM safe WHERE age = '[30, 39]' AND sex = 'F'")
    clinic.execute("UPDATE safe SET age = '[5, 29]' WHERE age = '[10, 19]'")
    people = clinic.execute("SELECT id, age, sex, disease FROM people").fetchall()
    safe = clinic.execute("SELECT age, sex, disease FROM safe").fetchall()

    def fits(row: tuple[Any, ...], age: int, sex: str) -> bool:
        low, high = map(int, row[0][1:-1].split(", "))
        return low <= age <= high and row[1] == sex

    actual_summary = summary(clinic, "majority")
    expected = majority_accuracies(people, safe, fits)
    accuracy = actual_summary["accuracy"]
    assert (accuracy["value"], accuracy["majority_baseline"], accuracy["raw_baseline"]) == pytest.approx(expected[:3])
    assert actual_summary["asked"]["value"] == expected[3]
    for row in attack(clinic, "majority", extra_arguments="threshold=0"):
        if row["class"] is not None:
            low, high = map(int, row["class"]["age"][1:-1].split(", "))
            assert all(low <= people[int(person)][1] <= high for person in row["people"])
    everybody = exposed_people(attack(clinic, "majority", extra_arguments="threshold=0"))
    assert everybody == {str(p[0]) for p in people if p[1] < 30 or p[2] == "M"}
    sampled = summary(clinic, "majority", extra_arguments="sample=30")
    assert sampled["asked"]["value"] <= 30 and abs(sampled["accuracy"]["value"] - accuracy["value"]) < 0.4
    assert summary(clinic, "majority", extra_arguments="sample=90")["accuracy"] == accuracy


def test_majority_reveals_single_value_but_not_missing(clinic: Any) -> None:
    create_people_and_release(clinic, [*block(10, "F", *["HIV"] * 4), *block(20, "M", *VALUES)])
    (row,) = attack(clinic, "majority")
    assert (row["guess"], row["confidence"], row["actual_accuracy"], row["people"]) == (
        "HIV",
        1,
        1,
        ["0", "1", "2", "3"],
    )
    assert summary(clinic, "majority")["accuracy"]["value"] == 5 / 8
    clinic.execute("UPDATE people SET disease = NULL; UPDATE safe SET disease = NULL")
    actual_summary = summary(clinic, "majority")
    assert (actual_summary["accuracy"]["value"], actual_summary["asked"]["value"]) == (None, 0) and attack(
        clinic, "majority"
    ) == []


# --- reconstruction ---------------------------------------------------------------------------------------


def test_reconstruction_equals_hand_computed_confidences(six: Any) -> None:
    tree = [["Private", "Any"], ["Self-emp-not-inc", "Self-emp", "Any"], ["Self-emp-inc", "Self-emp", "Any"]]
    tree += [[f"{level}-gov", "Gov", "Any"] for level in ("Federal", "Local", "State")] + [["Without-pay", "Any"]]
    dbanon.load_hierarchy(six, "work", tree)
    six.execute("UPDATE dbanon.policy SET hierarchy = 'work' WHERE column_name = 'workclass'")
    star = [("[25, 29]", "Gov", d) for d in ("Flu", "Flu", "Cancer")]
    star += [("[40, 55]", "Any", d) for d in ("Flu", "Cancer", "HIV")]
    six.execute("CREATE TABLE safe (age VARCHAR, workclass VARCHAR, disease VARCHAR)")
    six.executemany("INSERT INTO safe VALUES (?, ?, ?)", star)
    rows = attack(six, "reconstruction", source="six", extra_arguments="threshold=0")
    # Three ages and three leaves; three ages and seven leaves; values by their share in the class.
    assert [r["confidence"] for r in rows] == [pytest.approx(1 / 9 * 5 / 9), pytest.approx(1 / 21 * 1 / 3)]
    assert [r["note"][:9] for r in rows] == ["one of 9 ", "one of 21"]
    success = summary(six, "reconstruction", source="six")["success"]
    assert success["value"] == pytest.approx((5 / 81 + 1 / 63) / 2)
    assert (success["majority_baseline"], success["raw_baseline"]) == (pytest.approx(1 / 6), 1)


def test_reconstruction_names_exactly_planted_people(clinic: Any) -> None:
    create_people_and_release(clinic, [(15, "F", "HIV"), (15, "F", "HIV"), *block(20, "M", *VALUES)])
    (row,) = attack(clinic, "reconstruction")
    assert (row["people"], row["confidence"], row["actual_accuracy"]) == (["0", "1"], 1, 1)
    create_people_and_release(clinic, [*block(10, "F", *VALUES), *block(20, "M", *VALUES)])
    assert attack(clinic, "reconstruction") == []


@pytest.mark.not_everyday
def test_reconstruction_confidence_equals_hit_rate(clinic: Any) -> None:
    """An attacker draws a value of each published cell and a disease as frequent as in the class, many times."""
    stated = hits = tried_number = 0.0
    rng = random.Random(5)
    for seed in range(20):
        people = random_people(seed, 60, VALUES, [5, 2, 2, 1])
        create_people_and_release(clinic, people)
        ages = sorted({p[0] for p in people})
        by_class = defaultdict(list)
        for p in people:
            by_class[f"[{p[0] // 10 * 10}, {p[0] // 10 * 10 + 9}]", p[1]].append(p)
        for row in attack(clinic, "reconstruction", extra_arguments="threshold=0"):
            members = by_class[row["class"]["age"], row["class"]["sex"]]
            low = int(row["class"]["age"][1:].split(",")[0])
            domain = [a for a in ages if low <= a <= low + 9]
            for person in members * 20:
                guess = (rng.choice(domain), row["class"]["sex"], rng.choice(members)[2])
                hits += guess == person
                tried_number += 1
                stated += row["confidence"]
    assert is_calibrated(stated / tried_number, hits, tried_number)


# --- downcoding -------------------------------------------------------------------------------------------


def test_tight_pairs_are_downcoded_and_named(clinic: Any) -> None:
    create_people_and_release(clinic, [(11, "F", "Flu"), (18, "F", "HIV"), *((20 + i, "M", "Flu") for i in range(10))])
    clinic.execute("UPDATE safe SET age = '[11, 18]' WHERE age = '[10, 19]'")
    pair, wide_result = attack(clinic, "downcoding", extra_arguments="threshold=0")
    assert (pair["attribute"], pair["guess"], pair["confidence"], pair["actual_accuracy"]) == ("age", "11 or 18", 1, 1)
    assert (pair["people"], pair["baseline_confidence"], pair["records"]) == (["0", "1"], 0.25, 2)
    assert (wide_result["guess"], wide_result["actual_accuracy"], wide_result["records"]) == ("20 or 29", 0.2, 10)
    assert [r["people"] for r in attack(clinic, "downcoding")] == [["0", "1"]]
    actual_summary = summary(clinic, "downcoding")
    assert (actual_summary["tight"]["value"], actual_summary["known"]["value"]) == (1, 4)


def test_snapped_intervals_and_coarse_nodes_are_not_downcoded(clinic: Any) -> None:
    create_people_and_release(clinic, [(11, "F", "Flu"), (18, "F", "HIV"), (21, "M", "Flu"), (25, "M", "Flu")])
    assert attack(clinic, "downcoding", extra_arguments="threshold=0") == []
    assert summary(clinic, "downcoding")["tight"]["value"] == 0
    dbanon.load_hierarchy(clinic, "sexes", [["M", "any", "*"], ["F", "any", "*"]])
    clinic.execute("UPDATE dbanon.policy SET hierarchy = 'sexes' WHERE column_name = 'sex'")
    clinic.execute("UPDATE safe SET sex = '*'")
    assert attack(clinic, "downcoding", extra_arguments="threshold=0, qi=['sex']") == []


def test_downcoding_guesses_child_that_must_occur(clinic: Any) -> None:
    zips = [[f"a{i}", "A", "*"] for i in range(9)] + [["b", "B", "*"]]
    dbanon.load_hierarchy(clinic, "zips", zips)
    clinic.execute("CREATE TABLE t AS FROM (VALUES (1, 'a1'), (2, 'b')) AS v (id, zip)")
    clinic.execute("CREATE TABLE r AS SELECT '*' AS zip FROM range(2)")
    extra_options = "qi=['zip'], hierarchies={'zip': 'zips'}, person='id'"
    (row,) = attack(clinic, "downcoding", "r", "t", extra_options)
    assert (row["guess"], row["confidence"], row["baseline_confidence"], row["actual_accuracy"]) == ("B", 0.5, 0.1, 0.5)
    assert row["people"] == ["2"]


@pytest.mark.parametrize("size", [2, 3, 5])
def test_downcoding_confidence_equals_hit_rate(con: Any, size: int) -> None:
    """Classes of uniformly drawn values; by published interval and by published node."""
    rng = random.Random(size)
    tree = [[f"a{i}", "A", "*"] for i in range(6)] + [["b1", "B", "*"], ["b2", "B", "*"]]
    dbanon.load_hierarchy(con, "wards", tree)
    rows, output = [], []
    for number in range(400):
        ages = [rng.randrange(6) for _ in range(size)]
        wards = [rng.choice(tree)[0] for _ in range(size)]
        nodes = {w[0] for w in wards}
        ward = wards[0] if len(set(wards)) == 1 else nodes.pop().upper() if len(nodes) == 1 else "*"
        shown_text = f"[{min(ages)}, {max(ages)}]" if min(ages) < max(ages) else str(ages[0])
        rows += [(number, a, w) for a, w in zip(ages, wards, strict=True)]
        output += [(str(number), shown_text, ward)] * size
    con.execute("CREATE TABLE t (g INTEGER, age INTEGER, ward VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    con.execute("CREATE TABLE r (g VARCHAR, age VARCHAR, ward VARCHAR)")
    con.executemany("INSERT INTO r VALUES (?, ?, ?)", output)
    extra_options = "qi=['g', 'age', 'ward'], hierarchies={'ward': 'wards'}, threshold=0"
    tallies: dict[tuple[str, float], list[float]] = defaultdict(lambda: [0, 0])
    for row in attack(con, "downcoding", "r", "t", extra_options):
        tally = tallies[row["attribute"], row["confidence"]]
        tally[0] += row["actual_accuracy"] * size
        tally[1] += size
    assert {attribute for attribute, _ in tallies} == {"age", "ward"}
    assert sum(n_attempts for _, n_attempts in tallies.values()) > 500
    for (attribute, confidence), (hits, n_attempts) in tallies.items():
        # The records of one class depend on each other.
        assert is_calibrated(confidence, hits / size, n_attempts / size), (attribute, confidence, hits, n_attempts)


# --- any attack -------------------------------------------------------------------------------------------


@pytest.mark.not_everyday
def test_attack_rows_independent_of_order(clinic: Any) -> None:
    create_people_and_release(clinic, random_people(1, 80, VALUES, [5, 2, 2, 1]))
    clinic.execute("CREATE TABLE register AS SELECT id, age, sex FROM people")
    extra_parameters = dict.fromkeys(("linkage", "membership"), "register='register', threshold=0")
    for kind in KINDS:
        first = attack(clinic, kind, extra_arguments=extra_parameters.get(kind, "threshold=0"))
        assert first or kind in ("downcoding", "refinement")
        clinic.execute("CREATE OR REPLACE TABLE people AS FROM people ORDER BY hash(id)")
        clinic.execute("SET threads = 1")
        assert attack(clinic, kind, extra_arguments=extra_parameters.get(kind, "threshold=0")) == first
        clinic.execute("RESET threads")


KINDS = [k for k in attack_kinds.KINDS if k not in ("prediction", "minimality")]
HOSTILE = ["x'); DROP TABLE t; --", "🦆 {{ q }}", 'a "b"', "class", "select", "é\n;", "{% if %}", "value"]


@pytest.mark.not_everyday
@pytest.mark.parametrize("name", HOSTILE)
def test_attack_accepts_hostile_names(con: Any, name: str) -> None:
    con.execute(
        f"CREATE TABLE {identifier(name)} AS SELECT i % 9 AS {identifier(name)}, "
        f"'n' || i % 2 AS {identifier(name + '2')}, "
        f"i AS {identifier(name + '3')}, i % 3 AS {identifier(name + '4')} FROM range(30) AS r (i)"
    )
    con.execute("CREATE TABLE t AS SELECT i % 9 AS q, 'n' || i % 2 AS r, i AS p, i % 3 AS s FROM range(30) AS r (i)")
    quoted = text(str(identifier(name)))
    names = [text(name + end) for end in ("", "2", "3", "4")]
    for kind in KINDS:
        if kind == "similarity":
            continue
        register = f", register={quoted}" if kind in ("linkage", "membership") else ""
        for function in ("attack", "attack_summary"):
            call = f"{function}({quoted}, kind='{kind}', source={quoted}, qi=[{names[0]}, {names[1]}], "
            call += f"sensitive=[{names[3]}], person={names[2]}, threshold=0{register})"
            plain_text = (
                f"{function}('t', kind='{kind}', source='t', qi=['q', 'r'], sensitive=['s'], person='p', threshold=0"
            )
            plain_text += ", register='t')" if register else ")"
            rows, expected = (con.execute(f"FROM {c}").fetchall() for c in (call, plain_text))
            skip = 2 if function == "attack" else 0
            assert [r[skip:] if skip else (r[0], *r[2:]) for r in rows] == [
                r[skip:] if skip else (r[0], *r[2:]) for r in expected
            ]
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(30,)]


def test_class_attacks_never_guess_null(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT NULL::VARCHAR AS a, NULL::VARCHAR AS s FROM range(4)")
    for kind in ("homogeneity", "skewness", "background"):
        assert attack(con, kind, "t", "t", "qi=['a'], sensitive=['s'], threshold=0") == []


@pytest.mark.not_everyday
def test_attack_result_independent_of_interval_form(clinic: Any) -> None:
    create_people_and_release(clinic, random_people(3, 90, VALUES, [5, 2, 2, 1]))
    clinic.execute("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'id'")
    clinic.execute("CREATE TABLE register AS SELECT id, age, sex FROM people")
    values = []
    for form in ("text", "bounds", "struct"):
        clinic.execute(f"CREATE OR REPLACE TABLE safe AS FROM mondrian('people', k=2, intervals='{form}')")
        values.append([
            {k: v for k, v in row.items() if k != "class"}
            for kind in KINDS
            for register in [", register='register'" if kind in ("linkage", "membership") else ""]
            for row in attack(clinic, kind, extra_arguments=f"threshold=0.4, person='id'{register}")
        ])  # fmt: skip
    assert Counter(map(str, values[0])) == Counter(map(str, values[1])) == Counter(map(str, values[2]))
    assert {row["attribute"] for row in values[0]} == {"disease", "age", None}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("attack('safe', source='people')", "kind is missing"),
        ("attack('safe', kind='homogeneity')", "source is missing"),
        ("attack('safe', kind='magic', source='people')", "kind must be one of 'homogeneity', 'skewness'"),
        ("attack('safe', kind='linkage', source='people')", "register is missing"),
        ("attack('safe', kind='linkage', source='people', register='nope')", "no table, view or file 'nope'"),
        ("attack('safe', kind='linkage', source='people', register='other')", "none of the quasi-identifiers"),
        ("attack('safe', kind='skewness', source='people', register='people')", "register has no effect"),
        ("attack('safe', kind='skewness', source='people', alpha=0.5)", "alpha has no effect, because it is not about"),
        ("attack('safe', kind='skewness', source='people', person='nope')", "people has no column 'nope'"),
        ("attack('safe', kind='similarity', source='people', sensitive=['plain'])", "'similarity' needs a hierarchy"),
        ("attack('noone', kind='homogeneity', source='people')", "noone has no rows"),
        ("attack('safe', kind='homogeneity', source='noone', qi=['age'], sensitive=['disease'])", "noone has no rows"),
        ("attack('undeclared', kind='homogeneity', source='undeclared')", "no quasi-identifier is declared"),
        ("attack('bare', kind='homogeneity', source='people')", "homogeneity needs a sensitive column"),
        ("attack_summary('safe', kind='background', source='people', "
         "known_negatives=-1)", "known_negatives must be an integer"),
    ],
)  # fmt: skip
def test_invalid_attack_call_raises(clinic: Any, call: str, says: str) -> None:
    create_people_and_release(clinic, block(10, "F", *VALUES))
    clinic.execute("ALTER TABLE safe ADD COLUMN plain VARCHAR DEFAULT 'x'")
    clinic.execute("CREATE TABLE noone AS SELECT age, sex, disease FROM people LIMIT 0")
    clinic.execute("CREATE TABLE undeclared AS FROM safe")
    clinic.execute("CREATE TABLE bare AS SELECT age, sex FROM safe")
    clinic.execute("CREATE TABLE other AS SELECT 1 AS something")
    with pytest.raises(duckdb.Error, match=says):
        clinic.execute(f"FROM {call}").fetchall()
