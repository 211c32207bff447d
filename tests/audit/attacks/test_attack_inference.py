"""Minimality and prediction: planted victims, none planted, calibration, and the computations behind them."""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
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
from dbanon.audit import prediction
from dbanon.audit.attacks import cut_posterior
from dbanon.sqltext.quote import identifier, text

OTHERS = [f"d{i}" for i in range(30)]


@pytest.fixture
def clinic(con: Any) -> Any:
    return declare_people(con)


# --- minimality -------------------------------------------------------------------------------------------


def posterior_by_enumeration(sizes: Sequence[int], limits: Sequence[int], n_with_value: int) -> list[Fraction] | None:
    """Return the posterior by enumerating all distributions of `n_with_value` records with the value over the sides."""
    total, sums = 0, [0] * len(sizes)
    for counts in itertools.product(*(range(n + 1) for n in sizes)):
        if sum(counts) == n_with_value and any(x > limit for x, limit in zip(counts, limits, strict=True)):
            ways = math.prod(math.comb(n, x) for n, x in zip(sizes, counts, strict=True))
            total += ways
            sums = [s + ways * x for s, x in zip(sums, counts, strict=True)]
    return [Fraction(s, total * n) for s, n in zip(sums, sizes, strict=True)] if total else None


@pytest.mark.parametrize("seed", range(30))
def test_cut_posterior_equals_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.randint(1, 8) for _ in range(rng.randint(2, 4))]
    limits = [rng.randint(0, n) for n in sizes]
    stored_number = rng.randint(1, sum(sizes))
    expected, posteriors = (
        posterior_by_enumeration(sizes, limits, stored_number),
        cut_posterior.posteriors(sizes, limits, stored_number),
    )
    if expected is None:
        assert posteriors is None
    else:
        assert posteriors == pytest.approx([float(e) for e in expected], abs=1e-9)


def test_cut_posterior_of_large_classes_does_not_overflow() -> None:
    posteriors = cut_posterior.posteriors([1000, 4000], [500, 2000], 600)
    assert posteriors is None  # five hundred and one of a thousand hardly ever happens
    posteriors = cut_posterior.posteriors([10, 4000], [5, 2000], 900)
    assert posteriors is not None
    assert 0.6 <= posteriors[0] <= 0.7
    assert 10 * posteriors[0] + 4000 * posteriors[1] == pytest.approx(900)


def plant_uncut_class(con: Any, women: Sequence[str], men: Sequence[str]) -> None:
    """Create a class that contains both sexes."""
    create_people_and_release(con, [*((10, "F", d) for d in women), *((10, "M", d) for d in men)])
    con.execute("UPDATE safe SET sex = '*'")


def test_avoided_cut_names_planted_people(clinic: Any) -> None:
    plant_uncut_class(clinic, ["HIV", "HIV", "HIV", "HIV"], OTHERS[:16])
    (row,) = attack(clinic, "minimality", extra_arguments="alpha=0.5, k=4")
    # Of 4 among 20 with HIV only the women can exceed the limit: 3 or all 4 of them.
    three, four = math.comb(4, 3) * 16, 1
    assert row["confidence"] == pytest.approx((3 * three + 4 * four) / (4 * (three + four)))
    assert (row["guess"], row["baseline_confidence"], row["actual_accuracy"], row["records"]) == ("HIV", 0.2, 1, 4)
    assert row["people"] == ["0", "1", "2", "3"]
    assert row["note"] == "sex F: k would have allowed to cut there"
    assert [r["people"] for r in attack(clinic, "minimality", extra_arguments="l=2, k=4")] == [row["people"]]
    values_by_name = {
        name: r["value"] for name, r in summary(clinic, "minimality", extra_arguments="alpha=0.5, k=4").items()
    }
    expected = {"n_decidable": 1, "judged": 1, "n_undecidable": 0, "n_contradictions": 0, "exposed_people": 4}
    assert values_by_name | expected == values_by_name
    both = attack(clinic, "minimality", extra_arguments="alpha=0.5, k=4, threshold=0")
    assert sum(r["confidence"] * r["records"] for r in both) == pytest.approx(4)


def test_minimality_silent_if_k_or_data_explain_class(clinic: Any) -> None:
    women, men = ["HIV", "HIV", "HIV", "HIV"], OTHERS[:16]
    plant_uncut_class(clinic, women, men)
    assert attack(clinic, "minimality", extra_arguments="alpha=0.5, k=5") == [], "k forbids the cut"
    plant_uncut_class(clinic, [*women, "d0", "d0", "d0"], [*men, "d0"])
    assert attack(clinic, "minimality", extra_arguments="alpha=0.4, k=4") == [], "one of two values forbids it"
    assert summary(clinic, "minimality", extra_arguments="alpha=0.4, k=4")["n_undecidable"]["value"] == 1
    plant_uncut_class(clinic, ["HIV", *OTHERS[:5]], OTHERS[5:])
    assert attack(clinic, "minimality", extra_arguments="alpha=0.5, k=4") == []
    assert summary(clinic, "minimality", extra_arguments="alpha=0.5, k=4")["n_contradictions"]["value"] == 1
    clinic.execute("UPDATE safe SET sex = 'M' WHERE disease = 'HIV'")
    assert summary(clinic, "minimality", extra_arguments="alpha=0.5, k=4")["n_decidable"]["value"] == 0


def test_medians_nodes_and_missing_cut_like_mondrian(con: Any) -> None:
    dbanon.load_hierarchy(con, "wards", [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"]])
    sick = ["HIV"] * 3
    rows = [*((1, "a1", d) for d in [*sick, "d0"]), *((i, "b1", d) for i, d in enumerate(OTHERS[:12], 2))]
    con.execute("CREATE TABLE t (age INTEGER, ward VARCHAR, s VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    con.execute("CREATE TABLE r AS SELECT '[1, 13]' AS age, '*' AS ward, s FROM t")
    extra_options = "qi=['age', 'ward'], hierarchies={'ward': 'wards'}, sensitive=['s'], alpha=0.5, k=4, threshold=0"
    rows_of = {r["note"].split(":")[0]: r["records"] for r in attack(con, "minimality", "r", "t", extra_options)}
    # The eight records up to the lower median may have four HIV, and there are only three: that cut is allowed.
    assert rows_of == {"ward A": 4, "ward B": 12}
    assert summary(con, "minimality", "r", "t", extra_options)["n_contradictions"]["value"] == 1
    con.execute("UPDATE t SET age = NULL WHERE ward = 'a1'")
    con.execute("UPDATE r SET age = '*'")
    rows_of = {r["note"].split(":")[0]: r["records"] for r in attack(con, "minimality", "r", "t", extra_options)}
    assert rows_of == {"age missing": 4, "age not missing": 12, "ward A": 4, "ward B": 12}


def test_minimality_confidence_equals_hit_rate(con: Any) -> None:
    """An algorithm that cuts whenever k and alpha allow it, on many small groups with independent diseases."""
    rng = random.Random(7)
    rows, output = [], []
    for group in range(1500):
        women, men = rng.choice([(4, 9), (5, 12), (4, 6)])
        diseases = ["HIV" if rng.random() < 0.25 else rng.choice(OTHERS) for _ in range(women + men)]
        sides = {"F": diseases[:women], "M": diseases[women:]}

        def meets(values: Sequence[str]) -> bool:
            return all(values.count(v) <= 0.5 * len(values) for v in values)

        cut_has_all = all(map(meets, sides.values()))
        if not cut_has_all and not meets(diseases):
            continue
        for sex, values in sides.items():
            rows += [(group, sex, v) for v in values]
            output += [(str(group), sex if cut_has_all else "*", v) for v in values]
    con.execute("CREATE TABLE t (g INTEGER, sex VARCHAR, s VARCHAR)")
    con.executemany("INSERT INTO t SELECT unnest(?), unnest(?), unnest(?)", [list(map(list, zip(*rows, strict=True)))])
    con.execute("CREATE TABLE r (g VARCHAR, sex VARCHAR, s VARCHAR)")
    con.executemany(
        "INSERT INTO r SELECT unnest(?), unnest(?), unnest(?)", [list(map(list, zip(*output, strict=True)))]
    )
    extra_options = "qi=['g', 'sex'], sensitive=['s'], alpha=0.5, k=4, threshold=0"
    tallies: dict[float, list[float]] = defaultdict(lambda: [0, 0, 0])
    actual_attack = attack(con, "minimality", "r", "t", extra_options)
    for row in actual_attack:
        tally = tallies[round(row["confidence"], 1)]
        tally[0] += row["actual_accuracy"] * row["records"]
        tally[1] += row["records"]
        tally[2] += row["confidence"] * row["records"]
    assert len(actual_attack) > 80
    assert any(row["confidence"] > 0.7 for row in actual_attack)
    for hits, n_attempts, stated in tallies.values():
        # The people of one side depend on each other.
        assert is_calibrated(stated / n_attempts, hits / 4, n_attempts / 4), (hits, n_attempts, stated)


@pytest.mark.not_everyday
def test_minimality_never_contradicted_by_mondrian_release(clinic: Any) -> None:
    """Real classes: the data never contradict a conclusion, since Mondrian cuts whatever it may."""
    clinic.execute("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'id'")
    checked_number = 0.0
    for seed in range(6):
        create_people_and_release(clinic, random_people(seed, 120, ["HIV", *OTHERS], [12, *[1] * 30]))
        clinic.execute("CREATE OR REPLACE TABLE safe AS FROM mondrian('people', k=4, alpha=0.4, sensitive=['disease'])")
        actual_summary = summary(clinic, "minimality", extra_arguments="alpha=0.4, k=4, person='id'")
        assert actual_summary["n_contradictions"]["value"] == 0
        checked_number += actual_summary["judged"]["value"]
    assert checked_number > 0


# --- prediction -------------------------------------------------------------------------------------------


def dependent_people(size: int, seed: int = 1) -> list[tuple[Any, ...]]:
    """Return people whose disease depends on decade and sex."""
    rng = random.Random(seed)
    rows = [(rng.randrange(40), rng.choice("MF")) for _ in range(size)]
    values = ["Flu", "HIV", "Cancer", "Lymphoma"]
    return [(age, sex, values[(age // 10 + (sex == "F")) % 4]) for age, sex in rows]


@pytest.mark.not_everyday
def test_prediction_names_people_with_determined_disease(clinic: Any) -> None:
    create_people_and_release(clinic, dependent_people(300))
    rows = attack(clinic, "prediction", extra_arguments="threshold=0.9")
    has = dict(clinic.execute("SELECT id::VARCHAR, disease FROM people").fetchall())
    assert all(has[row["people"][0]] == row["guess"] and row["actual_accuracy"] == 1 for row in rows)
    actual_summary = summary(clinic, "prediction", extra_arguments="threshold=0.9")
    assert actual_summary["accuracy"]["value"] == actual_summary["accuracy"]["raw_baseline"] == 1
    assert actual_summary["accuracy"]["majority_baseline"] < 0.5
    assert actual_summary["asked"]["value"] == len(rows) == len(exposed_people(rows))
    assert actual_summary["asked"]["value"] + actual_summary["learned"]["value"] == 300
    assert 0.27 < actual_summary["asked"]["value"] / 300 < 0.39
    assert {row["people"][0] for row in attack(clinic, "prediction", extra_arguments="seed=2")} != exposed_people(rows)
    assert summary(clinic, "prediction", extra_arguments="train := 0.9")["asked"]["value"] < 60


@pytest.mark.not_everyday
def test_prediction_reports_progress() -> None:
    result: list[tuple[float, float]] = []
    with dbanon.connect(progress=lambda *far: result.append(far)) as con:
        con.execute("CREATE TABLE t AS SELECT i % 60 AS age, i // 20 % 3 AS s FROM range(300) AS r (i)")
        dbanon.declare(con, "t", age="quasi", s="sensitive")
        con.execute("CREATE TABLE safe AS FROM kacpc('t', k=5)")
        result.clear()
        con.execute("FROM attack('safe', source='t', kind='prediction')").fetchall()
        shares = [done for done, _ in result]
        assert shares[0] == 0.0 and shares == sorted(shares) and 0.9 < shares[-1] < 1.0
        assert all(removed == 0.0 for _, removed in result)
        result.clear()
        con.cursor().execute("FROM influence('t', trees=20)").fetchall()
        assert [done for done, _ in result] == pytest.approx([i / 20 for i in range(20)])
        con.on_progress = None
        con.execute("FROM influence('t', trees=21)").fetchall()
        assert len(result) == 20


def test_prediction_names_no_one_without_dependence(clinic: Any) -> None:
    create_people_and_release(clinic, random_people(1, 300, ["Flu", "HIV", "Cancer", "Lymphoma"], [1, 1, 1, 1]))
    assert attack(clinic, "prediction") == []
    accuracy = summary(clinic, "prediction")["accuracy"]
    assert accuracy["value"] < 0.45


@pytest.mark.not_everyday
def test_prediction_confidence_equals_hit_rate(clinic: Any) -> None:
    tallies: dict[float, list[float]] = defaultdict(lambda: [0, 0, 0])
    for seed in range(10):
        rng = random.Random(seed)
        mixed = [
            (a, s, d if rng.random() < 0.15 + a / 50 else rng.choice(["Flu", "HIV", "Cancer"]))
            for a, s, d in dependent_people(400, seed)
        ]
        create_people_and_release(clinic, mixed)
        for row in attack(clinic, "prediction", extra_arguments="threshold=0"):
            tally = tallies[round(row["confidence"] * 5) / 5]
            tally[0] += row["actual_accuracy"]
            tally[1] += 1
            tally[2] += row["confidence"]
    assert sum(n_attempts for _, n_attempts, _ in tallies.values()) > 1000
    assert len([t for t in tallies.values() if t[1] > 100]) >= 3
    for hits, n_attempts, stated in tallies.values():
        # The people of one class depend on each other.
        assert is_calibrated(stated / n_attempts, hits / 8, n_attempts / 8), (hits, n_attempts, stated)


def test_prediction_accepts_register_of_unseen_people(clinic: Any) -> None:
    create_people_and_release(clinic, dependent_people(200))
    clinic.execute("CREATE TABLE unseen (id INTEGER, age BIGINT, disease VARCHAR)")
    clinic.executemany("INSERT INTO unseen VALUES (?, ?, ?)", [(900, 5, "Flu"), (901, 25, "Cancer"), (902, 99, "Flu")])
    rows = attack(clinic, "prediction", extra_arguments="register='unseen', threshold=0, qi=['age']")
    assert {row["people"][0] for row in rows} == {"900", "901", "902"}
    actual_summary = summary(clinic, "prediction", extra_arguments="register='unseen', qi=['age']")
    assert (
        actual_summary["asked"]["value"],
        actual_summary["learned"]["value"],
        actual_summary["learned"]["raw_baseline"],
    ) == (3, 200, 200)
    clinic.execute("ALTER TABLE unseen DROP disease")
    with pytest.raises(duckdb.Error, match="unseen has no column 'disease'"):
        attack(clinic, "prediction", extra_arguments="register='unseen', qi=['age']")


def test_numbers_guessed_by_range_rare_texts_never(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i % 40 AS age, (i % 40) * 1000 + i % 7 AS pay, 'x' || (i % 40) AS job "
        "FROM range(1200) AS r (i)"
    )
    con.execute(
        "CREATE TABLE r AS SELECT '[' || age // 2 * 2 || ', ' || age // 2 * 2 + 1 || ']' AS age, pay, job FROM t"
    )
    actual_summary = summary(con, "prediction", "r", "t", "qi=['age'], sensitive=['pay']")
    assert actual_summary["accuracy"]["value"] > 0.9
    guesses = {
        row["guess"] for row in attack(con, "prediction", "r", "t", "qi=['age'], sensitive=['pay'], threshold=0")
    }
    assert len(guesses) <= 20
    assert "[0.0, 1950.3)" in guesses
    con.execute("CREATE TABLE many AS SELECT age, 'y' || (age + 40 * (random() * 3)::INTEGER) AS job FROM t")
    names = {
        row["guess"] for row in attack(con, "prediction", "many", "many", "qi=['age'], sensitive=['job'], threshold=0")
    }
    assert len(names) <= 50


def test_prediction_depends_on_seed_but_not_on_row_order(clinic: Any) -> None:
    create_people_and_release(clinic, random_people(1, 200, ["Flu", "HIV", "Cancer"], [3, 2, 1]))
    first = attack(clinic, "prediction", extra_arguments="threshold=0")
    for table in ("people", "safe"):
        clinic.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} ORDER BY random()")
    clinic.execute("SET threads = 1")
    dbanon.clear_cache(clinic)
    assert attack(clinic, "prediction", extra_arguments="threshold=0") == first
    clinic.execute("RESET threads")
    assert attack(clinic, "prediction", extra_arguments="threshold=0, seed=9") != first


def test_prediction_includes_uncommitted_people(clinic: Any) -> None:
    create_people_and_release(clinic, dependent_people(150))
    clinic.execute("BEGIN")
    clinic.execute("INSERT INTO people SELECT 1000 + id, age, sex, disease FROM people")
    clinic.execute("INSERT INTO safe FROM safe")
    actual_summary = summary(clinic, "prediction")
    clinic.execute("ROLLBACK")
    assert actual_summary["asked"]["value"] + actual_summary["learned"]["value"] == 300


def test_prediction_without_scikit_learn_names_extra(clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    create_people_and_release(clinic, dependent_people(60))
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(duckdb.Error, match=r"needs scikit-learn, which is not installed. .*\[learn\]"):
        attack(clinic, "prediction")
    with pytest.raises(duckdb.Error, match=r"needs scikit-learn, which is not installed. .*\[learn\]"):
        summary(clinic, "prediction")


def test_label_probabilities_shrink_towards_overall_share() -> None:
    """Labels that follow from features keep their share; other labels have the overall share."""
    features = np.repeat(np.arange(40.0), 2)[:, None]
    labels = np.tile([0, 1], 40)
    array = np.array([[3.0], [99.0]])
    label_probabilities = prediction.label_probabilities(features, labels, np.tile([9, 1], 40), array, np.array([0, 0]))
    assert label_probabilities == pytest.approx([0.9, 0.9], abs=0.01)
    one_array = np.where(np.arange(80) // 2 % 2 == 0, np.tile([9, 1], 40), np.tile([1, 9], 40))
    label_probabilities = prediction.label_probabilities(features, labels, one_array, array, np.array([1, 1]))
    assert label_probabilities == pytest.approx([0.82, 0.5], abs=0.05)
    second_label_probabilities = prediction.label_probabilities(
        features, labels, np.tile([1, 1], 40), array, np.array([0, 0])
    )
    assert second_label_probabilities == pytest.approx([0.5, 0.5], abs=1e-9)


@pytest.mark.parametrize(("follows", "off"), [(0.0, 0.04), (1.0, 0.08)])
def test_small_class_guesses_are_not_overconfident(follows: float, off: float) -> None:
    """A forest on a hundred classes of three predicts the values that they happen to have.

    It may be slightly too modest.
    """
    stated = hits = tried_number = 0.0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        cells = rng.integers(0, 100, 450)
        own_integer = rng.integers(0, 4, 100)[cells]
        labels = np.where(rng.random(450) < 0.8 * follows, own_integer, rng.choice(4, 450, p=[0.4, 0.3, 0.2, 0.1]))
        known_values, x = np.arange(450) < 300, cells[:, None].astype(float)
        guess_labels = prediction.guess_labels(
            "f", x[known_values], labels[known_values], np.ones(300, np.int64), x[~known_values], 1, lambda: None
        )
        stated += guess_labels.confidence.sum()
        hits += (guess_labels.labels == labels[~known_values]).sum()
        tried_number += (~known_values).sum()
    assert -off < stated / tried_number - hits / tried_number < 0.04


def test_no_training_or_target_people_gives_no_row(clinic: Any) -> None:
    create_people_and_release(clinic, [(15, "F", "HIV")])
    assert attack(clinic, "prediction", extra_arguments="threshold=0") == []
    create_people_and_release(clinic, [(15, "F", "HIV")] * 30)
    rows = attack(clinic, "prediction")
    assert {(row["guess"], row["confidence"]) for row in rows} == {("HIV", 1)}


# --- both -------------------------------------------------------------------------------------------------

HOSTILE = ["x'); DROP TABLE t; --", "🦆 {{ q }}", 'a "b"', "class", "select", "é\n;"]


@pytest.mark.parametrize("name", HOSTILE)
def test_inference_attacks_accept_hostile_names(con: Any, name: str) -> None:
    con.execute(
        f"CREATE TABLE {identifier(name)} AS SELECT i % 9 AS {identifier(name)}, "
        f"'n' || i % 2 AS {identifier(name + '2')}, "
        f"i AS {identifier(name + '3')}, i % 3 AS {identifier(name + '4')} FROM range(60) AS r (i)"
    )
    con.execute("CREATE TABLE t AS SELECT i % 9 AS q, 'n' || i % 2 AS r, i AS p, i % 3 AS s FROM range(60) AS r (i)")
    quoted, names = text(str(identifier(name))), [text(name + end) for end in ("", "2", "3", "4")]
    for extra_options in ("kind='prediction'", "kind='minimality', alpha=0.5"):
        columns = f"qi=[{names[0]}, {names[1]}], sensitive=[{names[3]}]"
        call = f"attack({quoted}, {extra_options}, source={quoted}, {columns}, "
        plain_text = f"attack('t', {extra_options}, source='t', qi=['q', 'r'], sensitive=['s'], "
        rows = con.execute(f"FROM {call}person={names[2]}, threshold=0)").fetchall()
        assert [r[2:] for r in rows] == [
            r[2:] for r in con.execute(f"FROM {plain_text}person='p', threshold=0)").fetchall()
        ]
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(60,)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("kind='minimality'", "alpha is missing"),
        ("kind='minimality', alpha=0.5, l=2", "l has no effect, because alpha is given"),
        ("kind='minimality', l=1", "l must be an integer of at least 2"),
        ("kind='prediction', k=3", "k has no effect, because it is not about prediction"),
        ("kind='prediction', train := 0", "train must be a number above 0"),
        ("kind='prediction', sensitive=['more']", "people has no column 'more'"),
    ],
)
def test_invalid_inference_attack_call_raises(clinic: Any, call: str, says: str) -> None:
    create_people_and_release(clinic, dependent_people(20))
    clinic.execute("ALTER TABLE safe ADD COLUMN more VARCHAR DEFAULT 'x'")
    with pytest.raises(duckdb.Error, match=says):
        clinic.execute(f"FROM attack('safe', source='people', {call})").fetchall()
