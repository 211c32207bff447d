"""risk and its single functions: worked numbers, plain Python on random tables, odd data and names."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.audit import risk
from dbanon.sqltext.quote import identifier, text

COLUMNS = ["name", "sensitive", "value", "classes", "records", "worst", "description"]
WORK = [
    ["Private", "Any"],
    ["Self-emp-not-inc", "Self-emp", "Any"],
    ["Self-emp-inc", "Self-emp", "Any"],
    ["Federal-gov", "Gov", "Any"],
    ["Local-gov", "Gov", "Any"],
    ["State-gov", "Gov", "Any"],
    ["Without-pay", "Any"],
]
STAR = "('[25, 29]', 'Gov', 'Flu'), ('[25, 29]', 'Gov', 'Flu'), ('[25, 29]', 'Gov', 'Cancer'), " \
    "('[40, 55]', 'Any', 'Flu'), ('[40, 55]', 'Any', 'Cancer'), ('[40, 55]', 'Any', 'HIV')"  # fmt: skip


def rows(con: Any, call: str) -> list[dict[str, Any]]:
    cursor = con.execute(f"FROM {call}")
    assert [column[0] for column in cursor.description] == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]


def metric_values(con: Any, call: str) -> dict[str, float]:
    """Return value by name; of several sensitive columns the last."""
    return {row["name"]: row["value"] for row in rows(con, call)}


def approx(value: float) -> Any:
    return pytest.approx(value, abs=1e-6)


@pytest.fixture
def star(six: Any) -> Any:
    """Create the six rows and their published partition P*."""
    dbanon.load_hierarchy(six, "work", WORK)
    six.execute("UPDATE dbanon.policy SET hierarchy = 'work' WHERE column_name = 'workclass'")
    six.execute(f"CREATE TABLE safe AS FROM (VALUES {STAR}) AS v (age, workclass, disease)")
    return six


# --- worked numbers ---------------------------------------------------------------------------------------


def test_risk_of_six_records_equals_hand_computed_values(star: Any) -> None:
    assert metric_values(star, "risk('safe', source='six', threshold=0.3)") == {
        "prosecutor_highest": approx(1 / 3),
        "prosecutor_average": approx(1 / 3),
        "prosecutor_above": 1,
        "marketer_highest": approx(1 / 3),
        "marketer_average": approx(1 / 3),
        "marketer_above": 1,
        "uniqueness_sample": 0,
        "k_full_record": 1,
        "disclosure_equation_13": approx(0.416667),
        "disclosure_majority": approx(0.5),
        "exposure": approx(0.666667),
        # (4/30 + 1/3) and (15/30 + 2/3): three levels of workclass, a width for age.
        "distortion": approx((4 / 30 + 1 / 3 + 15 / 30 + 2 / 3) / 2),
        "infeasible_classes": 1,
    }
    assert metric_values(star, "exposure('safe', source='six', count_ties=true)") == {"exposure": 1}
    (vague,) = rows(star, "infeasible_classes('safe', source='six')")
    assert (vague["classes"], vague["records"]) == (1, 3)
    assert vague["worst"] == [{"class": {"age": "[40, 55]", "workclass": "Any"}, "records": 3, "value": 1}]
    # Half of the range is not more than half of it, but more than 0.4.
    assert metric_values(star, "infeasible_classes('safe', source='six', qi=['age'])") == {"infeasible_classes": 0}
    assert metric_values(star, "infeasible_classes('safe', source='six', qi=['age'], max_interval_share=0.4)") == {
        "infeasible_classes": 1
    }


def test_risk_metric_lists_its_worst_classes(star: Any) -> None:
    star.execute("INSERT INTO safe VALUES ('60', 'Private', 'Flu')")
    rows_by_name = {row["name"]: row for row in rows(star, "risk('safe', source='six')")}
    alone = {"class": {"age": "60", "workclass": "Private"}, "records": 1, "value": 1.0}
    for name in ("prosecutor_highest", "uniqueness_sample", "prosecutor_average"):
        assert (rows_by_name[name]["classes"], rows_by_name[name]["records"], rows_by_name[name]["worst"]) == (
            1,
            1,
            [alone],
        ), name
    assert rows_by_name["prosecutor_above"]["records"] == 7
    assert [w["value"] for w in rows_by_name["prosecutor_above"]["worst"]] == [1, approx(1 / 3), approx(1 / 3)]
    assert rows_by_name["uniqueness_sample"]["value"] == approx(1 / 7)
    # Flu leads with 2 in the first class and is alone in the last.
    assert rows_by_name["exposure"]["value"] == approx(3 / 4)
    assert [w["records"] for w in rows_by_name["exposure"]["worst"]] == [3, 1]


@pytest.fixture
def clinic(con: Any) -> Any:
    """Create six patients and two releases of them, from Figure 9 of the similarity-and-diversity paper."""
    con.execute(
        "CREATE TABLE six AS FROM (VALUES (75, 'Greenland', 'Leukemia'), (75, 'Canada', 'Rhinitis'), "
        "(78, 'Belize', 'Leukemia'), (80, 'Belize', 'Leukemia'), (77, 'Canada', 'Rhinitis'), "
        "(77, 'Canada', 'Rhinitis')) AS v (age, country, disease)"
    )
    north, central = "'75-77', 'North America'", "'78-80', 'Central America'"
    con.execute(
        f"CREATE TABLE mwck AS FROM (VALUES ({north}, 'Leukemia', 1), ({north}, 'Rhinitis', 1), "
        f"({central}, 'Leukemia', 2), ({central}, 'Leukemia', 2), ({north}, 'Rhinitis', 3), ({north}, 'Rhinitis', 3)) "
        "AS v (age, country, disease, class_id)"
    )
    near, far = "'75-80', 'North America'", "'75-80', 'America'"
    con.execute(
        f"CREATE TABLE proposed AS FROM (VALUES ({near}, 'Leukemia', 1), ({near}, 'Rhinitis', 1), "
        f"({far}, 'Leukemia', 2), ({far}, 'Leukemia', 2), ({far}, 'Rhinitis', 3), ({far}, 'Rhinitis', 3)) "
        "AS v (age, country, disease, class_id)"
    )
    return con


def test_disclosure_and_exposure_equal_paper(clinic: Any) -> None:
    options_text = "qi=['age', 'country'], sensitive=['disease']"
    for table, literal, dominant in (("mwck", 0.666667, 0.833333), ("proposed", 0.5, 0.5)):
        expected = {"disclosure_equation_13": approx(literal), "disclosure_majority": approx(dominant)}
        assert metric_values(clinic, f"disclosure('{table}', {options_text})") == expected
        by_cluster = dict.fromkeys(expected, approx(0.833333))
        assert metric_values(clinic, f"disclosure('{table}', {options_text}, classes='cluster')") == by_cluster
    # Leukemia and Rhinitis are equally frequent: the smaller one counts; it leads in Central America only.
    assert metric_values(clinic, f"exposure('mwck', {options_text})") == {"exposure": approx(2 / 3)}
    assert metric_values(clinic, f"exposure('proposed', {options_text})") == {"exposure": 0}
    assert metric_values(clinic, f"exposure('proposed', {options_text}, count_ties=true)") == {"exposure": 1}


def test_distortion_is_weighted_by_influence(con: Any) -> None:
    ages = "\n".join(f"{a};{a // 2 * 2}+;{a // 4 * 4}++;{a // 8 * 8}+++;*" for a in range(16)).replace("\n", "\\n")
    con.execute("CREATE TABLE people AS SELECT i AS age, ['M', 'F'][1 + i % 2] AS gender FROM range(16) AS r (i)")
    con.execute("CREATE TABLE safe AS SELECT age // 4 * 4 || '++' AS age, '*' AS gender FROM people")
    call = f"source='people', qi=['age', 'gender'], hierarchies={{'age': E'{ages}'}}"
    # Level 2 of 5 and level 1 of 2.
    weights = "influence={'age': 0.8, 'GENDER': 0.3}"
    assert metric_values(con, f"distortion('safe', {call}, {weights})") == {"distortion": approx(0.47)}
    assert metric_values(con, f"distortion('safe', {call})") == {"distortion": approx(0.4 + 0.5)}
    assert metric_values(con, f"distortion('safe', {call}, normalize_levels=true)") == {"distortion": approx(0.5 + 1)}
    assert metric_values(con, f"distortion('people', {call})") == {"distortion": 0}
    # A number with a hierarchy is as wide as the leaves below the node: 3 of 15.
    for w, classes in ((0.19, 4), (0.2, 0)):
        actual_numbers = metric_values(
            con, f"infeasible_classes('safe', {call.replace(', qi', f', max_interval_share={w}, qi')})"
        )
        assert actual_numbers == {"infeasible_classes": 4}, "gender is suppressed"
        only = call.replace("['age', 'gender']", "['age']")
        assert metric_values(con, f"infeasible_classes('safe', {only}, max_interval_share={w})") == {
            "infeasible_classes": classes
        }


def test_open_and_suppressed_values_count_as_infeasible(con: Any) -> None:
    con.execute("CREATE TABLE people AS SELECT i AS age FROM range(101) AS r (i)")
    con.execute(
        "CREATE TABLE safe AS FROM (VALUES ('[0, 10]', 0.1), ('<=18', 0.18), ('>=90', 0.1), ('[85, >=90]', 0.15), "
        "('*', 1), ('[10, 100]', 0.9), ('7', 0), ('[<=18, 30]', 0.3), (NULL, 0)) AS v (age, raised)"
    )
    (row,) = rows(con, "infeasible_classes('safe', source='people', qi=['age'])")
    assert row["value"] == 6
    assert {w["class"]["age"] for w in row["worst"]} == {"<=18", ">=90", "[85, >=90]", "*", "[10, 100]", "[<=18, 30]"}
    (row,) = rows(con, "distortion('safe', source='people', qi=['age'])")
    raised_mapping = dict(con.execute("SELECT age, raised::DOUBLE FROM safe").fetchall())
    assert row["value"] == approx(sum(raised_mapping.values()) / 9)
    assert {w["class"]["age"]: w["value"] for w in row["worst"]} == {
        age: approx(value) for age, value in raised_mapping.items() if value >= sum(raised_mapping.values()) / 9
    }


# --- plain Python on random tables ------------------------------------------------------------------------


def oracle(classes: dict[Any, list[str | None]], threshold: float) -> dict[str, float]:
    """Return the numbers of sensitive values by class."""
    n = sum(map(len, classes.values()))
    sizes = [len(c) for c in classes.values()]
    counts = [Counter(v for v in c if v is not None) for c in classes.values()]
    full_total: Counter[str] = sum(counts, Counter())
    dominant = min(full_total, key=lambda v: (-full_total[v], v))
    literal = maximum = lead = tied_number = 0.0
    for count, size in zip(counts, sizes, strict=True):
        shares = [max(1, c) / size for c in count.values()]
        literal += size * (sum(shares) / len(shares) if shares else 0)
        maximum += size * max(shares, default=0)
        others = max((c for v, c in count.items() if v != dominant), default=0)
        lead += count[dominant] if count[dominant] > others else 0
        tied_number += count[dominant] if count[dominant] >= others else 0
    return {
        "prosecutor_highest": 1 / min(sizes),
        "prosecutor_average": len(sizes) / n,
        "prosecutor_above": sum(s for s in sizes if 1 / s > threshold) / n,
        "uniqueness_sample": sizes.count(1) / n,
        "disclosure_equation_13": literal / n,
        "disclosure_majority": maximum / n,
        "exposure": lead / full_total[dominant],
        "exposure_ties": tied_number / full_total[dominant],
    }


@pytest.mark.parametrize("seed", range(12))
def test_risk_equals_plain_python(con: Any, seed: int) -> None:
    rng = random.Random(seed)
    values: Sequence[str | None] = ["Flu", "HIV", "Cancer", None][: rng.randint(2, 4)]
    classes: dict[Any, list[str | None]] = defaultdict(list)
    con.execute("CREATE TABLE t (a VARCHAR, b INTEGER, s VARCHAR)")
    for _ in range(rng.randint(3, 60)):
        cell = (rng.choice([*"wxyz", None]), rng.randint(0, 2))
        value = "Flu" if not classes else rng.choice(values)
        classes[cell].append(value)
        con.execute("INSERT INTO t VALUES (?, ?, ?)", [*cell, value])
    threshold = rng.choice([0.1, 0.2, 1 / 3, 0.5])
    expected = oracle(classes, threshold)
    actual_numbers = metric_values(con, f"risk('t', qi=['a', 'b'], sensitive='s', threshold={threshold})")
    tied_numbers = metric_values(con, "exposure('t', qi=['a', 'b'], sensitive='s', count_ties=true)")
    for name, value in expected.items():
        shown_exposure = tied_numbers["exposure"] if name == "exposure_ties" else actual_numbers[name]
        assert shown_exposure == approx(value), name
    for attacker in ("highest", "average", "above"):
        assert actual_numbers[f"marketer_{attacker}"] == actual_numbers[f"prosecutor_{attacker}"]


# --- a sample of the classes ---------------------------------------------------------------------------------


def sampled_classes(con: Any, cells: Sequence[tuple[str, int]], sample: float, seed: int) -> set[tuple[str, int]]:
    """Return the classes that a sample draws.

    They are read from a table with equal published values in which each class exposes a value.
    """
    con.execute("CREATE OR REPLACE TABLE alike (a VARCHAR, b INTEGER, s VARCHAR)")
    con.executemany("INSERT INTO alike VALUES (?, ?, 'x')", cells)
    (row,) = rows(con, f"exposure('alike', qi=['a', 'b'], sensitive='s', sample={sample}, seed={seed})")
    assert row["value"] == 1 and len(row["worst"]) == row["classes"]
    return {(w["class"]["a"], int(w["class"]["b"])) for w in row["worst"]}


@pytest.mark.parametrize("seed", range(8))
def test_sample_exposure_equals_its_classes(con: Any, seed: int) -> None:
    rng = random.Random(seed)
    cells = [("odd, 'one'", i) for i in range(5)] + [("NULL", i) for i in range(rng.randint(1, 4))]
    classes = {cell: rng.choices(["Flu", "HIV", "Cancer", None], k=rng.randint(1, 9)) for cell in cells}
    classes[cells[0]].append("Flu")
    table = [(*cell, value) for cell, values in classes.items() for value in values]
    rng.shuffle(table)
    con.execute("CREATE TABLE t (a VARCHAR, b INTEGER, s VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", table)
    full_counts = Counter(value for *_, value in table if value is not None)
    dominant = min(full_counts, key=lambda v: (-full_counts[v], v))
    for sample in (0.1, 0.3, 0.5, 0.75, 0.99):
        subset = sampled_classes(con, cells, sample, seed)
        assert len(subset) == math.ceil(sample * len(cells))
        counts = [Counter(v for v in classes[cell] if v is not None) for cell in subset]
        records = sum(count[dominant] for count in counts)
        for ties in (False, True):
            lead = sum(
                count[dominant]
                for count in counts
                if count[dominant] >= max((n for v, n in count.items() if v != dominant), default=0) + (not ties)
            )
            asked_text = f"sample={sample}, seed={seed}, count_ties={ties}"
            (row,) = rows(con, f"exposure('t', qi=['a', 'b'], sensitive='s', {asked_text})")
            assert row["value"] == (approx(lead / records) if records else None)
            assert {(w["class"]["a"], int(w["class"]["b"])) for w in row["worst"]} <= subset


def test_exposure_of_full_and_tiny_samples_has_classes(star: Any) -> None:
    plain_rows = rows(star, "exposure('safe', source='six')")
    assert rows(star, "exposure('safe', source='six', sample=1, seed=5)") == plain_rows
    assert plain_rows[0]["value"] == approx(2 / 3)
    # Flu leads in the first class, two of two; in the second, one of one, it does not.
    numbers_by_seed = {
        seed: metric_values(star, f"exposure('safe', source='six', sample=1e-9, seed={seed})") for seed in range(12)
    }
    assert {n["exposure"] for n in numbers_by_seed.values()} == {0, 1}
    with pytest.raises(duckdb.Error, match="sample must be a number above 0 and at most 1"):
        star.execute("FROM exposure('safe', source='six', sample=0)")
    with pytest.raises(duckdb.Error):  # all numbers of risk cover all classes
        star.execute("FROM risk('safe', source='six', sample := 0.5)")


def test_sample_without_dominant_value_has_null_exposure(con: Any) -> None:
    con.execute("CREATE TABLE t AS FROM (VALUES ('a', 'Flu'), ('a', 'Flu'), ('b', 'HIV'), ('b', NULL)) AS v (q, s)")
    actual_rows = [rows(con, f"exposure('t', qi=['q'], sensitive=['s'], sample=0.5, seed={i})")[0] for i in range(12)]
    values = {(row["value"], row["classes"], row["records"]) for row in actual_rows}
    assert values == {(1, 1, 2), (None, 0, 0)}
    con.execute("UPDATE t SET s = NULL")
    assert metric_values(con, "exposure('t', qi=['q'], sensitive=['s'], sample=0.5)") == {"exposure": None}


@pytest.mark.not_everyday
def test_mean_sample_exposure_estimates_full_exposure(con: Any) -> None:
    """120 classes, half of them drawn: the mean over 60 seeds is within four standard errors, which are below 0.01."""
    rng = random.Random(3)
    con.execute("CREATE TABLE t (q INTEGER, s VARCHAR, class_id INTEGER)")
    table = [(i, rng.choice(["Flu", "Flu", "HIV", "Cancer"])) for i in range(120) for _ in range(rng.randint(2, 8))]
    con.executemany("INSERT INTO t VALUES (?, ?, 1)", table)
    call = "exposure('t', qi=['q'], sensitive=['s']"
    full_exposure = metric_values(con, f"{call})")["exposure"]
    exposures = [metric_values(con, f"{call}, sample=0.5, seed={seed})")["exposure"] for seed in range(60)]
    assert len(set(exposures)) > 40
    mean = sum(exposures) / len(exposures)
    error = math.sqrt(sum((v - mean) ** 2 for v in exposures) / (len(exposures) - 1) / len(exposures))
    assert error < 0.01
    assert abs(mean - full_exposure) < 4 * error
    # Neither the order of the rows nor class_id counts.
    con.execute("CREATE OR REPLACE TABLE t AS SELECT q, s, 120 - q AS class_id FROM t ORDER BY hash(q, s)")
    second_exposures = [metric_values(con, f"{call}, sample=0.5, seed={seed})")["exposure"] for seed in range(5)]
    assert second_exposures == exposures[:5]


@pytest.mark.parametrize("seed", range(6))
def test_population_risk_equals_plain_loop(con: Any, seed: int) -> None:
    """Intervals, nodes, masks, *, NULL and open ends compared with a plain loop over the population."""
    rng = random.Random(seed)
    tree = {"a1": "A", "a2": "A", "b1": "B", "b2": "B"}
    dbanon.load_hierarchy(con, "wards", [[leaf, node, "*"] for leaf, node in tree.items()])

    def person() -> tuple[Any, ...]:
        age = None if rng.random() < 0.1 else rng.randint(0, 30)
        return (age, rng.choice([*tree, "zz"]), rng.choice(["021", "022", "113"]))

    people = [person() for _ in range(120)]
    con.execute("CREATE TABLE pop (age INTEGER, ward VARCHAR, zip VARCHAR)")
    con.executemany("INSERT INTO pop VALUES (?, ?, ?)", people)
    released_peoples = [p for p in people if p[1] != "zz"][:40]
    published_values = []
    for age, ward, zip_ in released_peoples:
        low = None if age is None else age // 10 * 10
        ages = rng.choice(
            ["*", None if low is None else f"[{low}, {low + 9}]", None if low is None else f"<={low + 9}"]
            if age is None or age < 10
            else [f"[{low}, {low + 9}]", str(age), f">={low}"]
        )
        published_values.append((ages, rng.choice([ward, tree[ward], "*"]), rng.choice([zip_, zip_[:2] + "*", "*"])))
    con.execute("CREATE TABLE rel (age VARCHAR, ward VARCHAR, zip VARCHAR)")
    con.executemany("INSERT INTO rel VALUES (?, ?, ?)", published_values)
    con.execute("CREATE TABLE src (age INTEGER, ward VARCHAR, zip VARCHAR)")
    con.executemany("INSERT INTO src VALUES (?, ?, ?)", released_peoples)
    dbanon.declare(con, "src", age="quasi", ward=("quasi", "wards"), zip="quasi")

    def fits(published_values: tuple[Any, ...], raw: tuple[Any, ...]) -> bool:
        age, ward, zip_ = published_values
        if age is None or raw[0] is None:
            if age != "*" and age is not raw[0]:
                return False
        elif age.startswith("["):
            low, high = map(int, age[1:-1].split(", "))
            if not low <= raw[0] <= high:
                return False
        elif age.startswith("<="):
            if raw[0] > int(age[2:]):
                return False
        elif age.startswith(">="):
            if raw[0] < int(age[2:]):
                return False
        elif age not in ("*", str(raw[0])):
            return False
        wards = raw[1] in tree and ward in (raw[1], tree[raw[1]], "*")
        return wards and (zip_ in ("*", raw[2]) or (zip_.endswith("*") and raw[2].startswith(zip_[:-1])))

    sizes = Counter(published_values)
    risks = {c: 1 / max(n, sum(fits(c, p) for p in people)) for c, n in sizes.items()}
    actual_numbers = metric_values(con, "risk('rel', source='src', population='pop', threshold=0.1)")
    assert actual_numbers["journalist_highest"] == approx(max(risks.values()))
    assert actual_numbers["journalist_average"] == approx(sum(risks[c] * n for c, n in sizes.items()) / 40)
    assert actual_numbers["journalist_above"] == approx(sum(n for c, n in sizes.items() if risks[c] > 0.1) / 40)
    assert actual_numbers["marketer_average"] == actual_numbers["journalist_average"]
    assert actual_numbers["uniqueness_population"] == approx(sum(n for c, n in sizes.items() if risks[c] == 1) / 40)
    assert actual_numbers["prosecutor_average"] == approx(len(sizes) / 40)


def test_fraction_gives_journalist_risk_without_population(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i // 5 AS a FROM range(50) AS r (i)")
    actual_numbers = metric_values(con, "reidentification('t', qi=['a'], fraction=0.1)")
    assert actual_numbers["prosecutor_highest"] == approx(0.2)
    assert actual_numbers["journalist_highest"] == actual_numbers["marketer_average"] == approx(0.02)


def test_persons_counted_if_released_by_person(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i // 10 AS a, i // 5 AS who, 'Flu' AS s FROM range(40) AS r (i)")
    assert metric_values(con, "reidentification('t', qi=['a'])")["prosecutor_highest"] == approx(0.1)
    assert metric_values(con, "reidentification('t', qi=['a'], person='who')")["prosecutor_highest"] == approx(0.5)
    dbanon.declare(con, "t", a="quasi", who="person", s="sensitive")
    assert metric_values(con, "risk('t')")["prosecutor_highest"] == approx(0.5)
    con.execute("CREATE TABLE safe AS SELECT a, s FROM t")
    assert metric_values(con, "risk('safe', source='t')")["prosecutor_highest"] == approx(0.1)
    con.execute("CREATE TABLE everybody AS SELECT i // 10 AS a, i // 2 AS who FROM range(40) AS r (i)")
    assert metric_values(con, "risk('t', population='everybody')")["journalist_highest"] == approx(0.2)


@pytest.mark.not_everyday
def test_every_interval_form_gives_same_numbers(con: Any) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT (i * i) % 71 AS age, ['a1', 'a2', 'b1', 'b2'][1 + i % 4] AS ward, "
        "DATE '1960-01-01' + ((i * 13) % 9000)::INTEGER AS born, ((i * 7) % 31) / 2 AS dose, "
        "['Flu', 'HIV', 'Cancer'][1 + i % 3] AS disease FROM range(300) AS r (i)"
    )
    dbanon.load_hierarchy(con, "wards", [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"]])
    dbanon.declare(con, "people", age="quasi", ward=("quasi", "wards"), born="quasi", dose="quasi", disease="sensitive")
    actual_numbers = []
    for form in ("text", "bounds", "struct"):
        con.execute(f"CREATE OR REPLACE TABLE safe AS FROM mondrian('people', k=5, intervals='{form}')")
        actual_numbers.append(metric_values(con, "risk('safe', source='people', population='people')"))
    for other in actual_numbers[1:]:
        assert other == actual_numbers[0]
    assert actual_numbers[0]["prosecutor_highest"] == approx(0.2)
    metrics = dict(con.execute("SELECT metric, value FROM mondrian_metrics('people', k=5)").fetchall())
    assert actual_numbers[0]["prosecutor_average"] == approx(metrics["risk_average"])
    exact = metric_values(con, "risk('people', source='people')")
    assert (exact["distortion"], exact["infeasible_classes"]) == (0, 0)
    assert 0 < actual_numbers[0]["distortion"] < 4


def test_without_source_only_release_metrics_given(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i // 5 AS a FROM range(50) AS r (i)")
    names = set(metric_values(con, "risk('t', qi=['a'])"))
    assert names == {f"{a}_{n}" for a in ("prosecutor", "marketer") for n in ("highest", "average", "above")} | {
        "uniqueness_sample"
    }


# --- odd data, names and calls ----------------------------------------------------------------------------

HOSTILE = ["x'); DROP TABLE t; --", "🦆 {{ q }}", 'a "b"', "class", "select", "é\n;", "{% if %}", "value"]


@pytest.mark.parametrize("name", HOSTILE)
def test_risk_accepts_hostile_names(con: Any, name: str) -> None:
    con.execute(
        f"CREATE TABLE {identifier(name)} AS SELECT i % 9 AS {identifier(name)}, "
        f"'n' || i % 2 AS {identifier(name + '2')}, i % 3 AS {identifier(name + '3')} FROM range(30) AS r (i)"
    )
    con.execute("CREATE TABLE t AS SELECT i % 9 AS q, 'n' || i % 2 AS r, i % 3 AS s FROM range(30) AS r (i)")
    quoted = text(str(identifier(name)))
    call = f"risk({quoted}, source={quoted}, population={quoted}, "
    call += f"qi=[{text(name)}, {text(name + '2')}], sensitive=[{text(name + '3')}], influence=MAP {{{text(name)}: 2}})"
    plain_call = "risk('t', source='t', population='t', qi=['q', 'r'], sensitive=['s'], influence={'q': 2})"
    assert metric_values(con, call) == metric_values(con, plain_call)
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(30,)]


def test_missing_values_expose_nothing(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT NULL::VARCHAR AS a, NULL::VARCHAR AS s FROM range(4)")
    actual_numbers = metric_values(con, "risk('t', qi=['a'], sensitive=['s'])")
    assert (
        actual_numbers["disclosure_equation_13"],
        actual_numbers["disclosure_majority"],
        actual_numbers["exposure"],
    ) == (0, 0, 0)
    assert actual_numbers["prosecutor_highest"] == approx(0.25)
    con.execute(
        "CREATE TABLE odd AS FROM (VALUES ('nan'::DOUBLE, true), ('-0'::DOUBLE, true), (0.0, NULL)) AS v (a, s)"
    )
    assert metric_values(con, "risk('odd', qi=['a'], sensitive=['s'])")["uniqueness_sample"] == approx(1 / 3)


@pytest.mark.parametrize("function", [f.name for f in risk.FUNCTIONS])
def test_single_functions_equal_risk(star: Any, function: str) -> None:
    full_rows_by_name = {row["name"]: row for row in rows(star, "risk('safe', source='six')")}
    own_rows = rows(star, f"{function}('safe', source='six')")
    assert own_rows
    assert all(full_rows_by_name[row["name"]] == row for row in own_rows)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("risk('safe')", "no quasi-identifier is declared for safe"),
        ("risk('nope', source='six')", "no table, view or file 'nope'"),
        ("risk('safe', source='nope')", "no table, view or file 'nope'"),
        ("risk('safe', source='six', population='nope')", "no table, view or file 'nope'"),
        ("risk('safe', source='six', qi=['rid'])", "safe has no column 'rid'"),
        ("risk('safe', source='six', sensitive=['rid'])", "safe has no column 'rid'"),
        ("risk('safe', source='six', sensitive=['age'])", "two roles"),
        ("risk('safe', source='six', person='rid')", "safe has no column 'rid'"),
        ("risk('safe', source='six', classes='cluster')", "safe has no column 'class_id'"),
        ("risk('safe', source='six', classes='both')", "classes must be one of 'published', 'cluster'"),
        ("risk('safe', source='six', influence={'disease': 1})", "no column 'disease' \\(influence\\)|'disease'"),
        ("risk('safe', source='six', fraction=0)", "fraction must be a number above 0"),
        ("risk('safe', source='six', fraction=0.5, population='six')", "fraction has no effect, because a population"),
        ("distortion('safe', qi=['age'])", "source is missing"),
        ("disclosure('safe', qi=['age'])", "disclosure needs a sensitive column, and safe has none"),
        ("risk('few', source='six')", "few has no rows"),
        ("risk('safe', source='few', qi=['age', 'workclass'])", "few has no rows"),
        ("risk('bad', source='six')", "1 distinct value of bad.age does not have a published form"),
        ("risk('safe', source='six', population='other')", "other has none of the quasi-identifiers of safe"),
    ],
)
def test_invalid_risk_call_raises(star: Any, call: str, says: str) -> None:
    star.execute("CREATE TABLE few AS SELECT age, workclass, disease FROM six LIMIT 0")
    star.execute("CREATE TABLE bad AS SELECT 'young' AS age, workclass, disease FROM safe")
    star.execute("CREATE TABLE other AS SELECT 1 AS something")
    with pytest.raises(duckdb.Error, match=says):
        star.execute(f"FROM {call}").fetchall()


def test_risk_reads_uncommitted_rows_and_refuses_new_policy(star: Any) -> None:
    star.execute("BEGIN")
    star.execute("INSERT INTO safe VALUES ('60', 'Private', 'Flu')")
    assert metric_values(star, "risk('safe', source='six')")["uniqueness_sample"] == approx(1 / 7)
    star.execute("UPDATE dbanon.policy SET weight = 2 WHERE column_name = 'age'")
    with pytest.raises(duckdb.Error, match="policy"):
        star.execute("FROM risk('safe', source='six')").fetchall()
    star.execute("ROLLBACK")


def test_risk_accepts_views_and_temporary_tables(star: Any) -> None:
    star.execute("CREATE VIEW watched AS FROM risk('safe', source='six')")
    assert len(star.execute("FROM watched").fetchall()) == 13
    with dbanon.connect() as own_con:
        own_con.execute("CREATE TEMP TABLE t AS SELECT i // 5 AS a FROM range(50) AS r (i)")
        actual_numbers = metric_values(own_con, "risk('t', qi=['a'], threshold=0.1, fraction=0.5)")
        assert math.isclose(actual_numbers["journalist_highest"], 0.1)


def test_class_of_unknown_persons_counts_as_one(con: Any) -> None:
    con.execute("CREATE TABLE odd AS SELECT i % 2 AS a, IF(i % 2 = 0, i, NULL) AS who FROM range(8) AS r (i)")
    for further in ("", ", population='odd', source='odd'"):
        actual_numbers = metric_values(con, f"risk('odd', qi=['a'], person='who'{further})")
        assert actual_numbers["prosecutor_highest"] == 1
        assert actual_numbers["prosecutor_average"] == approx((1 + 1 / 4) / 2)
        assert actual_numbers["uniqueness_sample"] == approx(1 / 2)


def test_problem_messages_keep_braces_of_names(con: Any) -> None:
    con.execute("""CREATE TABLE "t{1}" AS SELECT i AS "{0}" FROM range(9) AS r (i)""")
    con.execute("""CREATE TABLE "safe{2}" AS SELECT 'some {3}' AS "{0}" FROM range(2)""")
    expected = r'distortion: 1 distinct value of "safe\{2\}"\.\{0\} does not have a published form. Accepted: 25, '
    with pytest.raises(duckdb.Error, match=expected):
        con.execute("""FROM distortion('"safe{2}"', source='"t{1}"', qi=['{0}'])""").fetchall()


def test_first_column_problem_is_raised(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i::DOUBLE AS a, 'x' || i AS b, i AS c FROM range(9) AS r (i)")
    con.execute("INSERT INTO t VALUES ('nan', 'x1', 1), ('inf', 'x1', 1)")
    con.execute("CREATE TABLE safe AS SELECT '1' AS a, '*' AS b, 'one' AS c")
    tree = "hierarchies={'b': E'x1;*\\nx2;*'}"
    for columns, expected in (
        ("'a', 'b', 'c'", "t.a is NaN or infinite in 2 rows"),
        ("'c', 'b', 'a'", "1 distinct value of safe.c does not have a published form"),
        ("'b', 'c', 'a'", "t.b: 7 distinct values are missing from hierarchy 'given as text'"),
    ):
        with pytest.raises(duckdb.Error, match=expected):
            con.execute(f"FROM distortion('safe', source='t', qi=[{columns}], {tree})").fetchall()


@pytest.mark.parametrize(
    ("published", "is_read"),
    [
        ("[1960, 1964-Q1]", True),
        ("[<=1961, 1964-02]", True),
        ("{'low': 1960-01-01, 'high': 1963-12-31}", True),
        ("[1960, 1963-01-01]", False),
        ("[>=1960, 1964]", False),
        ("[1960, <=1964]", False),
        ("{'low': 1960-01-01}", False),
        ("[1964, 1960]", False),
    ],
)
def test_distortion_reads_only_published_forms(con: Any, published: str, is_read: bool) -> None:
    con.execute("CREATE TABLE t AS SELECT DATE '1960-01-01' + i::INTEGER AS born FROM range(3653) AS r (i)")
    con.execute("CREATE TABLE safe (born VARCHAR)")
    con.execute("INSERT INTO safe VALUES (?)", [published])
    call = "distortion('safe', source='t', qi=['born'])"
    if is_read:
        assert 0 < metric_values(con, call)["distortion"] < 0.5
    else:
        with pytest.raises(duckdb.Error, match=r"1 distinct value of safe\.born does not have a published form"):
            con.execute(f"FROM {call}").fetchall()


def test_risk_statement_stays_short(star: Any) -> None:
    statement = dbanon.explain(star, "FROM risk('safe', source='six')")
    lines = statement.splitlines()
    assert len(lines) <= 460
    assert max(map(len, lines)) <= 120
    assert sum(line.startswith("-- One row") for line in lines) <= 29
    # Each text occurs once, however many columns have a hierarchy.
    assert statement.count("is not well-formed") == statement.count("policy of six changed") == 1
