"""Refinement: planted classes, none planted, releases of minimal loss, hostile ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from support.attacking import attack, summary

import dbanon
from dbanon.audit.attacks import refinement
from dbanon.audit.attacks.interval_bounds import IntervalProgram, Span
from dbanon.audit.attacks.refinement_columns import KnownColumn

pytestmark = pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")

QI = "qi=['sex', 'age'], sensitive=['id'], k=3"


@pytest.fixture
def clinic(con: Any) -> Any:
    con.execute("CREATE TABLE people (id INTEGER, sex VARCHAR, age INTEGER)")
    con.execute("CREATE TABLE safe (id INTEGER, sex VARCHAR, age VARCHAR)")
    return con


def publish(con: Any, *classes: tuple[str, str, Sequence[int | None]]) -> None:
    """Create tables people and safe of classes: the published sex and age, and the ages."""
    con.execute("DELETE FROM people")
    con.execute("DELETE FROM safe")
    number = itertools.count()
    for sex, age, ages in classes:
        for each_age in ages:
            i = next(number)
            con.execute("INSERT INTO people VALUES (?, ?, ?)", [i, sex, each_age])
            con.execute("INSERT INTO safe VALUES (?, ?, ?)", [i, sex, age])


MEN = ("M", "[20, 60]", (20, 41, 60))
"""They make the range of ages 40, and no other class covers them."""


def metric_values(con: Any, extra_arguments: str = QI) -> dict[str, float]:
    """Return the numbers of the summary that belong to no attribute."""
    rows = con.execute(
        f"FROM attack_summary('safe', kind='refinement', source='people', {extra_arguments}) WHERE attribute IS NULL"
    ).fetchall()
    return {row[0]: row[2] for row in rows}


# --- planted, and none planted -----------------------------------------------------------------------------------


def test_refinement_rules_out_values_of_cheaper_class(clinic: Any) -> None:
    """A woman of 25 to 30 loses 5/40 in one class and 20/40 in the other, which can spare one."""
    publish(clinic, ("F", "[20, 40]", (20, 33, 38, 40)), ("F", "[25, 30]", (25, 27, 30)), MEN)
    (row,) = (r for r in attack(clinic, "refinement", extra_arguments=QI) if r["attribute"] == "age")
    assert (row["class"], row["guess"]) == ({"sex": "F", "age": "[20, 40]"}, "not 25 to 30")
    assert (row["records"], row["confidence"], row["actual_accuracy"]) == (4, 1, 1)
    assert row["baseline_confidence"] == pytest.approx(15 / 21)
    assert row["note"] == "a record of these values would lose less in another class"
    assert metric_values(clinic) == {
        "examined": 1, "n_contradictions": 0, "n_ambiguous": 3, "n_with_fewer_classes": 3, "n_resolved": 3,
        "resolved_accuracy": 1,
    }  # fmt: skip
    by_column = summary(clinic, "refinement", extra_arguments=f"{QI}, threshold=0")
    assert by_column["narrowed"]["value"] == 4
    assert by_column["ruled_out"]["value"] == pytest.approx(6 / 21)


def test_refinement_bounds_records_of_cheaper_class(clinic: Any) -> None:
    """The class of 5/40 grows by one or two records until the other class is cheaper.

    With one record more it may lose below (30 + 3 * 5) / 4 / 40, which is from 25 to 36 and from 19 on; with two more
    below (2 * 30 + 3 * 5) / 5 / 40, which is just not from 25 to 40. Others end at 31 and 39.
    """
    others = [("M", f"[20, {end}]", (20, 21, end)) for end in (31, 39)]
    publish(clinic, ("F", "[10, 40]", (10, 12, 15, 35, 40)), ("F", "[25, 30]", (25, 27, 30)), *others, MEN)
    clinic.execute("UPDATE safe SET age = '[20, 50]' WHERE age = '[20, 60]'")
    clinic.execute("UPDATE people SET age = 50 WHERE age = 60")
    rows = [r for r in attack(clinic, "refinement", extra_arguments=QI) if r["class"]["sex"] == "F"]
    assert [(r["guess"], r["confidence"], r["actual_accuracy"]) for r in rows] == [
        ("not 20 to 31", 1, 1),
        ("not 20 to 39", 0.8, 0.8),
    ]
    assert rows[1]["baseline_confidence"] == pytest.approx(11 / 31)
    assert rows[1]["note"] == "more than 1 record of these values would lose less in another class"


def test_refinement_combines_bounds_of_intervals(clinic: Any) -> None:
    """From 20 to 30 there is one record at most, and one person is 20: so none is 21 to 30."""
    men = ("M", "[20, 33]", (20, 21, 33))
    publish(clinic, ("F", "[20, 40]", (20, 35, 38, 39, 40)), ("F", "[25, 30]", (25, 27, 30)), men, MEN)
    (row,) = (r for r in attack(clinic, "refinement", extra_arguments=QI) if r["class"]["sex"] == "F")
    assert (row["guess"], row["confidence"], row["actual_accuracy"]) == ("not 21 to 33", 1, 1)


def test_class_without_spare_record_filled_from_nested_class(clinic: Any) -> None:
    wide_values, cheap = ("F", "[20, 40]", (20, 38, 40)), ("F", "[25, 30]", (25, 27, 30))
    publish(clinic, wide_values, cheap, MEN)
    assert attack(clinic, "refinement", extra_arguments=QI) == []
    assert metric_values(clinic)["examined"] == metric_values(clinic)["n_with_fewer_classes"] == 0
    publish(clinic, wide_values, cheap, ("F", "[32, 39]", (32, 33, 36, 39)), MEN)
    (row,) = (r for r in attack(clinic, "refinement", extra_arguments=QI) if r["class"]["age"] == "[20, 40]")
    # The removed records save 7/40, the loss of the added ones: less than the loss from 25 to 30 alone.
    assert (row["guess"], row["actual_accuracy"]) == ("not 25 to 30", 1)
    # Anyone who fits the class that can spare a record may also be in the wide one.
    assert metric_values(clinic) | {
        "n_ambiguous": 8,
        "n_with_fewer_classes": 3,
        "n_resolved": 3,
        "resolved_accuracy": 1,
    } == metric_values(clinic)


def test_sensitive_value_inferred_from_remaining_class(clinic: Any) -> None:
    publish(clinic, ("F", "[20, 40]", (20, 33, 38, 40)), ("F", "[25, 30]", (25, 27, 30)), MEN)
    for table in ("people", "safe"):
        clinic.execute(f"ALTER TABLE {table} ADD COLUMN disease VARCHAR")
        clinic.execute(f"UPDATE {table} SET disease = CASE WHEN id IN (0, 1, 4, 5, 6) THEN 'HIV' ELSE 'Flu' END")
    extra_options = "qi=['sex', 'age'], sensitive=['disease'], person='id', k=3"
    (row,) = (r for r in attack(clinic, "refinement", extra_arguments=extra_options) if r["attribute"] == "disease")
    assert (row["guess"], row["confidence"], row["actual_accuracy"]) == ("HIV", 1, 1)
    assert (row["class"]["age"], row["people"], row["records"]) == ("[25, 30]", ["4", "5", "6"], 3)
    assert row["baseline_confidence"] == pytest.approx(5 / 7)
    # The class of the three with HIV cannot be determined: both have it.
    (row,) = (r for r in attack(clinic, "refinement", extra_arguments=extra_options) if r["attribute"] == "age")
    assert row["actual_accuracy"] is None
    assert metric_values(clinic, extra_options)["resolved_accuracy"] is None


def test_nothing_inferred_without_cheaper_class(clinic: Any) -> None:
    publish(clinic, ("F", "[20, 30]", (20, 22, 25, 30)), ("F", "[40, 50]", (40, 41, 45, 50)), MEN)
    assert attack(clinic, "refinement", extra_arguments=f"{QI}, threshold=0") == []
    assert metric_values(clinic)["n_ambiguous"] == metric_values(clinic)["n_contradictions"] == 0
    publish(clinic, ("F", "[20, 40]", (20, 33, 38, 40)), ("F", "[25, 30]", (25, 27, 30)), MEN)
    assert attack(clinic, "refinement", extra_arguments=QI.replace("k=3", "k=4")) == [], "no class can spare a record"


def test_values_without_hierarchy_reveal_nothing(clinic: Any) -> None:
    publish(clinic, ("F", "[20, 40]", (20, 33, 38, 40)), ("*", "[25, 30]", (25, 27, 30)), MEN)
    for kind in ("refinement", "downcoding"):
        assert attack(clinic, kind, extra_arguments="qi=['sex'], threshold=0") == []
        assert summary(clinic, kind, extra_arguments="qi=['sex']")["guesses"]["value"] == 0
    assert attack(clinic, "refinement", extra_arguments="qi=['sex'], sensitive=['id'], threshold=0") == []


def test_wrong_refinement_guess_has_lower_observed_share(clinic: Any) -> None:
    publish(clinic, ("F", "[20, 40]", (20, 26, 29, 40)), ("F", "[25, 30]", (25, 27, 30)), MEN)
    (row,) = (r for r in attack(clinic, "refinement", extra_arguments=QI) if r["attribute"] == "age")
    assert (row["guess"], row["confidence"], row["actual_accuracy"]) == ("not 25 to 30", 1, 0.5)
    assert metric_values(clinic)["resolved_accuracy"] == pytest.approx(3 / 5)


def test_contradicting_class_reveals_nothing(clinic: Any) -> None:
    """One person is certainly 25, although the inference says that none is."""
    publish(clinic, ("F", "[25, 45]", (25, 33, 38, 45)), ("F", "[22, 30]", (22, 27, 30)), MEN)
    assert [r for r in attack(clinic, "refinement", extra_arguments=QI) if r["attribute"] == "age"] == []
    assert metric_values(clinic)["n_contradictions"] == 1


def test_refinement_rules_out_nodes_and_missing_values(con: Any) -> None:
    tree = [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"], ["c1", "C", "*"]]
    dbanon.load_hierarchy(con, "wards", tree)
    wards = ["a1", "b1", "b2", "c1", *["a1", "a2", "a1"], *[None] * 3]
    published_values = [*["*"] * 4, *["A"] * 3, *[None] * 3]
    con.execute("CREATE TABLE people AS SELECT unnest(range(10)) AS id, unnest(?) AS ward", [wards])
    con.execute("CREATE TABLE safe AS SELECT unnest(range(10)) AS id, unnest(?) AS ward", [published_values])
    extra_options = "qi=['ward'], sensitive=['id'], hierarchies={'ward': 'wards'}, k=3"
    (row,) = (r for r in attack(con, "refinement", extra_arguments=extra_options) if r["attribute"] == "ward")
    assert (row["guess"], row["confidence"], row["baseline_confidence"], row["actual_accuracy"]) == (
        "not missing, A",
        1,
        0.6,
        0.75,
    )
    con.execute("UPDATE people SET ward = 'b1' WHERE id = 0")
    (row,) = (r for r in attack(con, "refinement", extra_arguments=extra_options) if r["attribute"] == "ward")
    assert row["actual_accuracy"] == 1


# --- properties of every release of minimal loss -----------------------------------------------------------------


def max_records_by_enumeration(size: int, low: int, high: int, spans: Sequence[Span]) -> np.ndarray[Any, Any] | None:
    """Return the most records between two places, over all distributions of the records over the values."""
    width, maximum = high - low, None
    for counts in itertools.product(range(size + 1), repeat=width):
        if sum(counts) != size:
            continue
        sums = [sum(counts[int(s.low) - low : int(s.high) - low]) for s in spans]
        if all(
            n <= s.max_records if s.max_records >= 0 else n >= -s.max_records for n, s in zip(sums, spans, strict=True)
        ):
            array = np.array([[sum(counts[i:j]) for j in range(width + 1)] for i in range(width + 1)])
            maximum = array if maximum is None else np.maximum(maximum, array)
    return maximum


@pytest.mark.parametrize("seed", range(25))
def test_interval_program_optimum_equals_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    size, low, width = rng.randint(1, 5), rng.randint(-3, 3), rng.randint(1, 5)
    spans = []
    for _ in range(rng.randint(0, 4)):
        first = rng.randrange(width)
        spans.append(Span(low + first, low + rng.randint(first + 1, width), rng.choice([-1, -1, 0, 1, 2])))
    known_spans, bounds = [s for s in spans if s.max_records < 0], [s for s in spans if s.max_records >= 0]
    expected = max_records_by_enumeration(size, low, low + width, spans)
    if max_records_by_enumeration(size, low, low + width, known_spans) is None:
        return
    solve = IntervalProgram.solve((low, low + width), size, known_spans, bounds)
    if expected is None:
        assert solve is None
        return
    assert solve is not None
    for (i, a), (j, b) in itertools.combinations(enumerate(solve.points), 2):
        assert solve.max_records[i, j] == expected[int(a) - low, int(b) - low]


TREE = [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"], ["b3", "B", "*"]]
Person = tuple[int, str, int]


def published_values(people: Sequence[Person]) -> tuple[str, str]:
    """Return the published ages and wards of a class."""
    ages, wards = {p[0] for p in people}, {p[1] for p in people}
    nodes = {w[0].upper() for w in wards}
    ward = wards.pop() if len(wards) == 1 else nodes.pop() if len(nodes) == 1 else "*"
    return (str(ages.pop()) if len(ages) == 1 else f"[{min(ages)}, {max(ages)}]"), ward


def class_loss(people: Sequence[Person], range_: int) -> float:
    """Return the summed loss of the records of a class."""
    ages = [p[0] for p in people]
    ward = published_values(people)[1]
    return len(people) * ((max(ages) - min(ages)) / range_ + {"*": 1.0, "A": 0.5, "B": 0.5}.get(ward, 0.0))


def moves(classes: list[list[Person]], k: int) -> Iterator[dict[int, list[Person]]]:
    """Yield every change examined: records move to a second class, and a third class replaces them."""
    for c, d in itertools.permutations(range(len(classes)), 2):
        for size in range(1, len(classes[c]) - k + 3):
            for removed_combination in itertools.combinations(classes[c], size):
                remaining_class = [p for p in classes[c] if p not in removed_combination]
                grown_values = [*classes[d], *removed_combination]
                if len(remaining_class) >= k:
                    yield {c: remaining_class, d: grown_values}
                for e in set(range(len(classes))) - {c, d}:
                    for back in itertools.combinations(classes[e], size) if len(classes[e]) - size >= k else ():
                        yield {
                            c: [*remaining_class, *back],
                            d: grown_values,
                            e: [p for p in classes[e] if p not in back],
                        }


def locally_optimal_classes(seed: int, k: int, size: int) -> list[list[Person]]:
    """Return classes of random people whose loss no such change lowers."""
    rng = random.Random(seed)
    people = [(rng.randrange(rng.choice([3, 12, 12])), rng.choice(TREE)[0], i) for i in range(size)]
    classes = [people[i : i + k] for i in range(0, size - k + 1, k)]
    classes[-1] = people[(len(classes) - 1) * k :]
    range_ = max(p[0] for p in people) - min(p[0] for p in people)
    better = True
    while better:
        better = False
        merged: dict[tuple[str, str], list[Person]] = {}
        for each_class in classes:
            merged.setdefault(published_values(each_class), []).extend(each_class)
        classes = list(merged.values())
        for change in moves(classes, k):
            old_total = sum(class_loss(classes[i], range_) for i in change)
            if sum(class_loss(each_class, range_) for each_class in change.values()) < old_total - 1e-9:
                classes = [change.get(i, each_class) for i, each_class in enumerate(classes)]
                better = True
                break
    return classes


NODES = np.array([[0, 4, 0], [0, 1, 1], [2, 4, 1], *([i, i, 2] for i in range(5))], float)
LEAVES = [line[0] for line in TREE]
ENDS = {"*": (-np.inf, np.inf), "A": (0, 1), "B": (2, 4)} | {leaf: (i, i) for i, leaf in enumerate(LEAVES)}


def test_refinement_inferences_hold_at_local_optimum() -> None:
    """The search of the test shares no code with the attack, and includes every change that the attack considers."""
    columns = [KnownColumn(is_number=True), KnownColumn(is_number=False, nodes=NODES)]
    number, ruled_out = 0, 0
    for seed in range(70):
        classes = locally_optimal_classes(seed, 3, 14 + seed % 4)
        ages = [[p[0] for p in each_class] for each_class in classes]
        ends = [ENDS[published_values(each_class)[1]] for each_class in classes]
        low = np.array([[min(a), e[0]] for a, e in zip(ages, ends, strict=True)], float)
        high = np.array([[max(a), e[1]] for a, e in zip(ages, ends, strict=True)], float)
        records = np.array([len(each_class) for each_class in classes])
        refine_classes = refinement.refine_classes(columns, low, high, records, 3, False, lambda: None)
        values = [np.array([[p[0], LEAVES.index(p[1])] for p in each_class]) for each_class in classes]
        for bound in refine_classes.bounds:
            assert bound.max_records >= 0, "nothing is contradicted"
            inside = values[bound.class_index][:, bound.column]
            assert np.sum((inside >= bound.low) & (inside <= bound.high)) <= bound.max_records, (seed, bound)
            number += 1
        for c, d in itertools.permutations(range(len(classes)), 2):
            fitting = ((values[c] >= low[d]) & (values[c] <= high[d])).all(axis=1)
            if refine_classes.losses[d] + 1e-9 < refine_classes.savings[c]:
                assert not fitting.any(), (seed, c, d)
                ruled_out += bool((low[c] <= high[d]).all() and (low[d] <= high[c]).all())
    assert number > 4 and ruled_out > 4, (number, ruled_out)


# --- releases ----------------------------------------------------------------------------------------------------

CLINIC = (
    "CREATE OR REPLACE TABLE visits AS SELECT i AS pid, i AS uid, 20 + (u * u * 50)::INTEGER AS age, "
    "['F', 'M'][1 + (v * v * 2)::INTEGER % 2] AS sex, 'w' || (v * 7919 % 1 * 30 % 5)::INTEGER AS ward, "
    "['02138', '02139', '03010', '03011'][1 + (u * 104729 % 1 * v * 4)::INTEGER % 4] AS zip FROM ("
    "SELECT i, (i * 7907 + 13) % 10007 / 10007 AS u, (i * i * 31 + i * 4241) % 9973 / 9973 AS v "
    "FROM range(600) AS r (i))"
)
ZIPS = [["02138", "021**", "*"], ["02139", "021**", "*"], ["03010", "030**", "*"], ["03011", "030**", "*"]]


@pytest.fixture(scope="module")
def visits() -> Iterator[Any]:
    with dbanon.connect() as con:
        con.execute(CLINIC)
        dbanon.load_hierarchy(con, "zips", ZIPS)
        dbanon.declare(
            con, "visits", pid="person", uid="sensitive", age="quasi", sex="quasi", ward="quasi", zip=("quasi", "zips")
        )
        for name in ("best", "mondrian"):
            dbanon.create_release(con, name, name, "visits", k=10)
        yield con


def test_refinement_attack_reads_k_from_ledger(visits: Any) -> None:
    numbers = {}
    for name in ("best", "mondrian"):
        rows = visits.execute(f"FROM attack_summary('{name}', kind='refinement')").fetchall()
        assert rows == visits.execute(f"FROM attack_summary('{name}', kind='refinement', k=10)").fetchall()
        numbers[name] = {row[0]: row[2] for row in rows if row[1] is None}
        for row in visits.execute(f"FROM attack('{name}', kind='refinement', threshold=0)").fetchall():
            assert 0 <= row[4] <= 1 and 0 <= row[5] <= 1 and (row[6] is None or 0 <= row[6] <= 1)
    # Classes of `best` overlap, and its search left little that was cheaper; those of Mondrian never overlap.
    assert numbers["best"]["n_ambiguous"] > numbers["best"]["n_resolved"] > 0
    assert numbers["best"]["resolved_accuracy"] > 0.9
    assert numbers["mondrian"]["n_ambiguous"] == 0
    assert numbers["mondrian"]["resolved_accuracy"] is None


def test_refinement_guesses_depend_only_on_release(visits: Any) -> None:
    """The release is fixed; another source table that it covers as tightly gives equal guesses."""
    columns = "attribute, class, records, guess, confidence, baseline_confidence"
    call = "attack('{}', kind='refinement', source='{}', qi=['age', 'sex', 'ward', 'zip'], sensitive=[], k=3, "
    call += "hierarchies={{'zip': 'zips'}})"
    visits.execute("CREATE OR REPLACE TABLE free AS FROM visits")
    visits.execute(
        "CREATE OR REPLACE TABLE copied AS "
        "FROM mondrian('free', k=3, qi=['age', 'sex', 'ward', 'zip'], hierarchies={'zip': 'zips'})"
    )
    visits.execute(
        "CREATE OR REPLACE TABLE others AS SELECT DISTINCT a.age, s.sex, w.ward, z.zip FROM copied AS c "
        "JOIN (SELECT DISTINCT age FROM visits) AS a ON a.age IN (lower_bound(c.age), upper_bound(c.age)) "
        "JOIN (SELECT DISTINCT sex FROM visits) AS s ON c.sex IN (s.sex, '*') "
        "JOIN (SELECT DISTINCT ward FROM visits) AS w ON c.ward IN (w.ward, '*') "
        "JOIN (SELECT DISTINCT zip FROM visits) AS z ON c.zip IN (z.zip, z.zip[:3] || '**', '*')"
    )
    rows = [
        visits.execute(f"SELECT {columns} FROM {call.format('copied', source)} ORDER BY ALL").fetchall()
        for source in ("visits", "others")
    ]
    assert rows[0] == rows[1]
    assert {row[0] for row in rows[0]} == {"age", "zip"}


HOSTILE = {
    "one class": "SELECT '[20, 70]' AS age, '*' AS sex, '*' AS ward, '*' AS zip, uid FROM visits",
    "all suppressed": "SELECT '*' AS age, '*' AS sex, '*' AS ward, '*' AS zip, uid FROM visits",
    "nothing but missing": "SELECT NULL::VARCHAR AS age, NULL::VARCHAR AS sex, NULL::VARCHAR AS ward, "
    "NULL::VARCHAR AS zip, uid FROM visits",
    "as it is": "SELECT age::VARCHAR AS age, sex, ward, zip, uid FROM visits",
    "open ends": "SELECT CASE WHEN age < 40 THEN '<=39' WHEN age > 60 THEN '[61, >=65]' ELSE '[40, 60]' END AS age, "
    "sex, ward, zip, uid FROM visits",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_releases_attacked_or_silent(visits: Any, name: str) -> None:
    visits.execute(f"CREATE OR REPLACE TABLE odd AS {HOSTILE[name]}")
    for extra_text in ("", ", sensitive=[], k=1", ", k=1000, qi=['age']"):
        call = f"('odd', kind='refinement', source='visits'{extra_text})"
        rows = visits.execute(f"FROM attack{call}").fetchall()
        if name in ("one class", "all suppressed", "nothing but missing") or "1000" in extra_text:
            assert rows == []
        assert visits.execute(f"FROM attack_summary{call}").fetchall()


@pytest.mark.parametrize(
    ("type_", "value", "guess"),
    [
        ("DOUBLE", "(20 + {} / 4)::DOUBLE", "not 21.25 to 22.5"),
        ("DECIMAL(6,2)", "(20 + {} / 4)::DECIMAL(6,2)", "not 21.25 to 22.5"),
        ("DATE", "DATE '1969-12-01' + {}", "not 1969-12-06 to 1969-12-11"),
        ("TIMESTAMP", "TIMESTAMP '1969-12-31 23:00:00' + {} * INTERVAL 1 MINUTE",
         "not 1969-12-31 23:05:00 to 1969-12-31 23:10:00"),
        ("TIME", "TIME '10:00:00' + {} * INTERVAL 1 MINUTE", "not 10:05:00 to 10:10:00"),
        ("BIGINT", "-{}::BIGINT", "not -10 to -5"),
    ],
)  # fmt: skip
def test_every_value_type_shown_unchanged(con: Any, type_: str, value: str, guess: str) -> None:
    ages = [0, 13, 18, 20, 5, 7, 10, *[0, 21, 40]]
    raw = ", ".join(f"({i}, {i // 4 if i < 7 else 2}, {value.format(age)})" for i, age in enumerate(ages))
    con.execute(
        f"CREATE TABLE people AS SELECT id, g::VARCHAR AS g, v::{type_} AS v FROM (VALUES {raw}) AS t (id, g, v)"
    )
    con.execute("UPDATE people SET g = 'F' WHERE g <> '2'")
    con.execute(
        "CREATE TABLE safe AS SELECT p.id, p.g, '[' || e.low || ', ' || e.high || ']' AS v FROM people AS p JOIN ("
        "SELECT CASE WHEN id < 4 THEN 0 WHEN id < 7 THEN 1 ELSE 2 END AS class, min(v)::VARCHAR AS low, "
        "max(v)::VARCHAR AS high FROM people GROUP BY class) AS e "
        "ON e.class = CASE WHEN p.id < 4 THEN 0 WHEN p.id < 7 THEN 1 ELSE 2 END"
    )
    (row,) = (
        r
        for r in attack(con, "refinement", extra_arguments="qi=['g', 'v'], sensitive=['id'], k=3")
        if r["attribute"] == "v"
    )
    assert (row["guess"], row["confidence"], row["actual_accuracy"]) == (guess, 1, 1)


def test_refinement_loss_uses_declared_weights(clinic: Any) -> None:
    """A class of both sexes is cheaper than one of twenty years where sex has a small weight."""
    publish(clinic, ("F", "[20, 40]", (20, 33, 38, 40)), ("*", "[25, 30]", (25, 27, 30)), MEN)
    clinic.execute("UPDATE people SET sex = 'F' WHERE sex = '*'")
    dbanon.declare(clinic, "people", sex="quasi", age="quasi", id="sensitive")
    assert [r for r in attack(clinic, "refinement") if r["attribute"] == "age"] == []
    clinic.execute("UPDATE dbanon.policy SET weight = 0.1 WHERE column_name = 'sex'")
    assert [r["guess"] for r in attack(clinic, "refinement") if r["attribute"] == "age"] == ["not 25 to 30"]
