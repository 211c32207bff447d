"""Noise releases: the drawn noise, shuffled columns, their own gate, and refusals."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from support.tables import MANY, Table, encode_records, tables
from test_gate import CORE, ROWS, SHAPES, SPOILED, ZIPS, assert_refused

import dbanon
from dbanon import algorithms, errors
from dbanon.algorithms.base import noise as noises
from dbanon.algorithms.base.noise import Noise
from dbanon.algorithms.base.registry import NoiseRelease
from dbanon.encoding import encoded_table
from dbanon.udf import cluster

RKA = Noise("release = 'noise'", 1.0)
MR = Noise("noise_epsilon = 1", 1.0, by_column=True, categories=False)
KEY = b"key"

# --- drawn noise --------------------------------------------------------------------------------------------


def numbers(values: list[float | None], integral: bool = True) -> encoded_table.EncodedTable:
    """Return the table of one numeric column."""
    known_values = sorted({v for v in values if v is not None})
    positions = np.array([v - known_values[0] for v in known_values])
    codes = np.array([len(known_values) if v is None else known_values.index(v) for v in values], np.int32)
    code_table, _ = encoded_table.encode_table(
        [encoded_table.NumericAttribute(positions, integral)], [codes], np.arange(len(values), dtype=np.uint64), None
    )
    return code_table


def words(values: list[str | None]) -> encoded_table.EncodedTable:
    """Return the table of one category without a hierarchy."""
    known_values = sorted({v for v in values if v is not None})
    tree = encoded_table.CategoricalAttribute(
        np.array([-1] + [0] * len(known_values), np.int32), np.arange(1, len(known_values) + 1, dtype=np.int32)
    )
    codes = np.array([len(known_values) if v is None else known_values.index(v) for v in values], np.int32)
    code_table, _ = encoded_table.encode_table([tree], [codes], np.arange(len(values), dtype=np.uint64), None)
    return code_table


def patch_random_numbers(monkeypatch: pytest.MonkeyPatch, numbers_of: Callable[[str, int], list[float]]) -> None:
    """Replace the random numbers by chosen ones."""
    monkeypatch.setattr(noises, "uniforms", lambda key, name, count: np.array(numbers_of(name, count)))


def test_drawn_numbers_equal_hand_computed_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages 20, 22, 30 | 50, 50, NULL: scales 10 and 0; chances 1/4, 3/4, 1/2 are noise of -ln 2, ln 2, 0 scales."""
    actual_numbers = numbers([20, 22, 30, 50, 50, None])
    patch_random_numbers(
        monkeypatch, lambda name, n: [0.25, 0.75, 0.5] * 2 if name.startswith("values") else [0.1, 0.2, 0.3] * 2
    )
    noisy_records = noises.draw_noisy_records(actual_numbers, np.array([0, 0, 0, 1, 1, 1]), RKA, KEY)
    assert noisy_records.cluster.tolist() == [0, 0, 0, 1, 1, 1]
    assert noisy_records.seat.tolist() == [1, 2, 3, 1, 2, 3]
    assert noisy_records.code[:, 0].tolist() == [-1, -1, -1, 3, 3, -1]
    # 20 - 6.93 is kept within the table; 22 + 6.93 and 30 are rounded to years.
    assert noisy_records.position[:3, 0].tolist() == [0.0, 9.0, 10.0]
    assert np.isnan(noisy_records.position[3:, 0]).all()
    patch_random_numbers(
        monkeypatch, lambda name, n: [0.25, 0.75, 0.5] * 2 if name.startswith("values") else [0.3, 0.1, 0.2] * 2
    )
    noisy_records = noises.draw_noisy_records(actual_numbers, np.array([0, 0, 0, 1, 1, 1]), RKA, KEY)
    assert noisy_records.position[:3, 0].tolist() == [9.0, 10.0, 0.0]
    assert noisy_records.code[3:, 0].tolist() == [3, -1, 3]
    # By the range of the column, 30, and beyond it.
    noisy_records = noises.draw_noisy_records(actual_numbers, np.array([0, 0, 0, 1, 1, 1]), MR, KEY)
    expected = [2 + 30 * math.log(2), 10.0, -30 * math.log(2)]
    assert noisy_records.position[:3, 0].tolist() == [round(p) for p in expected]


def test_drawn_categories_equal_hand_computed_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two a, one b: shares e / (e + e^0.5) = 0.62 and 0.38."""
    actual_words = words(["a", "a", "b"])
    share = math.e / (math.e + math.exp(0.5))
    patch_random_numbers(monkeypatch, lambda name, n: [share - 1e-9, share + 1e-9, 1 - 2.0**-53])
    noisy_records = noises.draw_noisy_records(actual_words, np.zeros(3, np.int64), RKA, KEY)
    assert noisy_records.code[:, 0].tolist() == [0, 1, 1]
    actual_words = words(["a", None, None])
    patch_random_numbers(monkeypatch, lambda name, n: [1e-9, 0.5, 0.9])
    assert noises.draw_noisy_records(actual_words, np.zeros(3, np.int64), RKA, KEY).code[:, 0].tolist() == [0, -1, -1]


@given(tables(), st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 100.0]), st.booleans())
@MANY
def test_noise_keeps_clusters_and_ranges_of_random_tables(
    table: Table, seed: int, epsilon: float, by_column: bool
) -> None:
    code_table = encode_records(table).space
    labels = np.random.default_rng(seed).integers(-1, 3, code_table.rows)
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1) - int((labels == -1).any())
    noise = Noise("", epsilon, by_column, not by_column)
    noisy_records = noises.draw_noisy_records(code_table, labels, noise, seed.to_bytes(4, "big"))
    assert (noisy_records.cluster >= 0).all()
    assert Counter(noisy_records.cluster.tolist()) == Counter(labels[labels >= 0].tolist())
    for c in range(int(labels.max(initial=-1)) + 1):
        local_result = noisy_records.cluster == c
        assert noisy_records.seat[local_result].tolist() == list(range(1, int(local_result.sum()) + 1))
        own_part = np.repeat(code_table.codes, code_table.counts, axis=0)[labels == c]
        for j, attribute in enumerate(code_table.attributes):
            code, position = noisy_records.code[local_result, j], noisy_records.position[local_result, j]
            if isinstance(attribute, encoded_table.CategoricalAttribute):
                assert np.isnan(position).all()
                allowed_values = (
                    {-1} if by_column else {-1 if v == attribute.values else int(v) for v in own_part[:, j]}
                )
                assert set(code.tolist()) <= allowed_values
                continue
            known_values = own_part[own_part[:, j] < attribute.values, j]
            assert ((code < 0) & np.isnan(position)).sum() == len(own_part) - len(known_values)
            one = len(set(known_values.tolist())) == 1
            full_result = np.repeat(code_table.codes[:, j], code_table.counts)[labels >= 0]
            shown_values = np.unique(full_result[full_result < attribute.values])
            if by_column and len(shown_values) > 1:
                one = False
            assert (code >= 0).sum() == (len(known_values) if one else 0)
            if one:
                assert set(code[code >= 0].tolist()) == set(known_values.tolist())
            if not by_column:
                noisy = position[~np.isnan(position)]
                assert (
                    (noisy >= 0) & (noisy <= np.ptp(attribute.positions[shown_values]) if len(shown_values) else 0)
                ).all()


def test_range_noise_hides_values_beyond_double_precision() -> None:
    """Next to -2^50, which is suppressed, 0 and 0.1 have one position: each gets noise as a value of its own."""
    actual_numbers = numbers([-(2.0**50), 0.0, 0.1], integral=False)
    assert actual_numbers.attributes[0].positions[1] == actual_numbers.attributes[0].positions[2]
    noisy_records = noises.draw_noisy_records(actual_numbers, np.array([-1, 0, 1]), MR, KEY)
    assert noisy_records.code[:, 0].tolist() == [-1, -1] and noisy_records.position[:, 0].tolist() == [0.0, 0.0]


@pytest.mark.not_everyday
def test_laplace_noise_has_expected_mean_and_variance() -> None:
    """The median of the absolute noise is ln 2 scales, and it is as often negative as positive."""
    actual_numbers = numbers([float(v) for v in range(40_000)])
    for epsilon in (0.5, 2.0):
        # Clusters of eight neighbours in the middle of the range: nothing is cut off at its ends.
        labels = np.arange(40_000) // 8
        noisy_records = noises.draw_noisy_records(actual_numbers, labels, Noise("", epsilon), KEY)
        noise = np.sort(noisy_records.position[:, 0].reshape(-1, 8)) - np.arange(40_000).reshape(-1, 8)
        assert abs(noise.mean()) < 0.2 / epsilon
        # Shuffled: seats are independent of values, so the noise is measured by the mean of each cluster.
        means = noisy_records.position[:, 0].reshape(-1, 8).mean(axis=1) - (np.arange(5_000) * 8 + 3.5)
        assert (means**2).mean() == pytest.approx(2 * (7 / epsilon) ** 2 / 8, rel=0.1)


def test_seats_are_independent_of_values() -> None:
    """With almost no noise, the seat of the k-th value of a cluster is uniform, independently in each column."""
    columns = [np.arange(60_000, dtype=np.int32), np.arange(60_000, dtype=np.int32)]
    attribute = encoded_table.NumericAttribute(np.arange(60_000.0), integral=False)
    code_table, _ = encoded_table.encode_table(
        [attribute, attribute], columns, np.arange(60_000, dtype=np.uint64), None
    )
    noisy_records = noises.draw_noisy_records(code_table, np.arange(60_000) // 3, Noise("", 100.0), KEY)
    rank = noisy_records.position.reshape(-1, 3, 2).argsort(axis=1)
    together = Counter(zip(*(map(tuple, rank[:, :, j].tolist()) for j in (0, 1)), strict=True))
    orders = list(itertools.permutations(range(3)))
    assert set(together) == set(itertools.product(orders, orders))
    expected = 20_000 / 36
    chi = sum((n - expected) ** 2 / expected for n in together.values())
    assert chi < 80  # 35 degrees of freedom: 1 in 30,000


def test_category_shares_equal_exponential_mechanism() -> None:
    values = ["a"] * 3 + ["b"] * 2 + ["c"]
    actual_words = words(values * 20_000)
    # Canonical order is by value: the clusters have three, two and one of each.
    codes = np.repeat(actual_words.codes[:, 0], actual_words.counts)
    labels = np.concatenate([np.arange(int((codes == c).sum())) // n for c, n in ((0, 3), (1, 2), (2, 1))])
    for epsilon in (1.0, 2.0):
        weight = np.exp(epsilon * np.array([3, 2, 1]) / 2)
        noisy_records = noises.draw_noisy_records(actual_words, labels, Noise("", epsilon), KEY)
        share = np.bincount(noisy_records.code[:, 0], minlength=3) / len(labels)
        assert share == pytest.approx(weight / weight.sum(), abs=0.005)


def test_random_numbers_depend_only_on_key_and_name() -> None:
    first, second_uniforms, other = (noises.uniforms(k, "values 0", 10_000) for k in (b"a", b"a", b"b"))
    assert (first == second_uniforms).all()
    assert (first != other).any()
    assert (first != noises.uniforms(b"a", "values 1", 10_000)).any()
    assert first.min() > 0 and first.max() < 1
    assert first.mean() == pytest.approx(0.5, abs=0.02)
    # Fixed: a release is the same with every version of the libraries.
    assert noises.uniforms(b"dbanon", "seats 0", 2).tolist() == [0.8878854303451346, 0.9462569623843095]


def test_cluster_numbers_are_shuffled() -> None:
    labels = np.array([0, 0, 1, -1, 2, 3, 3, 4])
    cluster_numbers = noises.shuffle_cluster_numbers(labels, KEY)
    assert cluster_numbers[3] == -1
    assert sorted({(a, b) for a, b in zip(labels.tolist(), cluster_numbers.tolist(), strict=True) if a >= 0}) == sorted(
        zip(range(5), (cluster_numbers[np.flatnonzero(labels == c)[0]] for c in range(5)), strict=True)
    )
    orders = {tuple(noises.shuffle_cluster_numbers(np.arange(5), bytes([i])).tolist()) for i in range(200)}
    assert len(orders) > 60  # of 120
    assert noises.shuffle_cluster_numbers(np.array([-1, -1]), KEY).tolist() == [-1, -1]


# --- in SQL -------------------------------------------------------------------------------------------------

CALL = "('sick', k := 4, release := 'noise'{})"


@pytest.fixture
def sick(con: Any) -> Any:
    """Create 300 people with a number, a decimal, a date and two categories, one with a hierarchy; some are NULL."""
    con.execute(
        """
        CREATE TABLE sick AS SELECT
            i AS pid, 'p' || i // 2 AS person, CASE WHEN i % 29 <> 0 THEN (20 + i * 7 % 61)::INTEGER END AS age,
            (i * 13 % 97 / 4)::DECIMAL(6, 2) AS pay, DATE '1950-01-01' + (i * 37 % 9000)::INTEGER AS born,
            CASE WHEN i % 31 <> 0 THEN ['f', 'm'][1 + i * 5 % 2] END AS sex,
            ['02138', '02139', '02141', '10001', '10002'][1 + i * 3 % 5] AS zip,
            ['Flu', 'HIV', 'Cancer'][1 + i * 11 % 3] AS disease
        FROM range(300) AS r (i)
        """
    )
    dbanon.load_hierarchy(con, "zip5", ZIPS)
    dbanon.declare(
        con, "sick", age="quasi", pay="quasi", born="quasi", sex="quasi", zip=("quasi", "zip5"), disease="sensitive"
    )
    return con


def rows(con: Any, query: str) -> list[dict[str, Any]]:
    result = con.execute(query)
    names = [d[0] for d in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def test_noisy_release_has_source_types_and_counts(sick: Any) -> None:
    types = {r["column_name"]: r["column_type"] for r in rows(sick, f"DESCRIBE FROM rka{CALL.format('')}")}
    assert types == {"age": "INTEGER", "pay": "DECIMAL(6,2)", "born": "DATE", "sex": "VARCHAR", "zip": "VARCHAR",
                     "disease": "VARCHAR", "class_id": "BIGINT"}  # fmt: skip
    out = rows(sick, f"FROM rka{CALL.format('')}")
    raw = rows(sick, "FROM sick")
    assert len(out) == 300
    assert Counter(r["disease"] for r in out) == Counter(r["disease"] for r in raw)
    assert min(Counter(r["class_id"] for r in out).values()) >= 4
    for name in ("age", "pay", "born"):
        assert sum(r[name] is None for r in out) == sum(r[name] is None for r in raw)
    for name in ("age", "pay"):
        ends = [f(r[name] for r in raw if r[name] is not None) for f in (min, max)]
        assert all(r[name] is None or ends[0] <= r[name] <= ends[1] for r in out)
    assert all(r["born"].day == 1 for r in out)  # the grid of dates is the month
    assert {r["zip"] for r in out} <= {z[0] for z in ZIPS}
    assert {r["sex"] for r in out} <= {"f", "m", None}
    # Noise: a row equals that of a record only by chance.
    counts = Counter((r["age"], r["pay"], r["sex"], r["zip"], r["disease"]) for r in raw)
    assert sum((r["age"], r["pay"], r["sex"], r["zip"], r["disease"]) in counts for r in out) < 10
    order = [r["class_id"] for r in out]
    assert order == sorted(order)


def test_noisy_release_uses_clusters_of_class_release(sick: Any) -> None:
    classes = rows(sick, "FROM rka_classes('sick', k := 4)")
    metrics = {r["metric"]: r["value"] for r in rows(sick, "FROM rka_metrics('sick', k := 4)")}
    noisy = rows(sick, f"FROM rka_classes{CALL.format('')}")
    assert metrics["clusters"] == len(noisy)
    if metrics["classes"] == metrics["clusters"]:
        assert Counter(c["size"] for c in classes) == Counter(c["size"] for c in noisy)
    assert rows(sick, "FROM rka('sick', k := 4)") == rows(sick, "FROM rka('sick', k := 4, release := 'class')")


def test_noise_is_reproducible_per_table(sick: Any) -> None:
    first = rows(sick, f"FROM rka{CALL.format('')}")
    assert rows(sick, f"FROM rka{CALL.format('')}") == first
    assert rows(sick, "FROM anonymize('sick', algorithm = 'rka', k = 4, release = 'noise')") == first
    assert rows(sick, f"FROM rka{CALL.format(', allow_slow := true')}") == first
    assert rows(sick, f"FROM rka{CALL.format(', epsilon := 1')}") == first, "the default"
    sick.execute("CREATE TABLE turned AS FROM sick ORDER BY hash(pid)")
    dbanon.declare(sick, "turned", age="quasi", pay="quasi", born="quasi", sex="quasi", zip=("quasi", "zip5"),
                   disease="sensitive")  # fmt: skip
    assert rows(sick, "FROM rka('turned', k => 4, release => 'noise')") == first
    assert rows(sick, f"FROM rka{CALL.format(', seed := 7')}") != first
    assert rows(sick, f"FROM rka{CALL.format(', epsilon := 2')}") != first
    # One changed sensitive value changes all the noise, so it cannot be drawn without the table.
    sick.execute("UPDATE turned SET disease = 'Flu' WHERE pid = 7")
    other = rows(sick, "FROM rka('turned', k := 4, release := 'noise')")
    ages = [[r["age"] for r in actual_first] for actual_first in (first, other)]
    assert sum(a == b for a, b in zip(*ages, strict=True)) < 60


def test_noisy_release_keeps_bounds_rounding_and_levels(sick: Any) -> None:
    extra_options = (
        ", top := {'age': 70}, bottom := {'age': 30}, rounding := {'pay': 0.5, 'born': 'year'}, min_level := {'zip': 1}"
    )
    for call in (
        f"rka{CALL.format(extra_options)}",
        f"mr_mondrian('sick', k := 4, noise_epsilon := 0.5{extra_options})",
    ):
        out = rows(sick, f"FROM {call}")
        assert all(r["age"] is None or 30 <= r["age"] <= 70 for r in out)
        assert all(float(r["pay"]) % 0.5 == 0 for r in out)
        assert all((r["born"].month, r["born"].day) == (1, 1) for r in out)
        assert not {r["zip"] for r in out} & {z[0] for z in ZIPS}
    out = rows(sick, f"FROM rka{CALL.format(extra_options)}")
    assert {r["zip"] for r in out} <= {z[1] for z in ZIPS}


@pytest.mark.not_everyday
def test_noisy_release_meets_models_with_persons_and_outliers(sick: Any) -> None:
    out = rows(sick, f"FROM rka{CALL.format(', l := 3, alpha := 0.6')}")
    for _, group in itertools.groupby(out, key=lambda r: r["class_id"]):
        stored_counts = Counter(r["disease"] for r in group)
        assert len(stored_counts) == 3
        assert max(stored_counts.values()) / sum(stored_counts.values()) <= 0.6
    metrics = {r["metric"]: r["value"] for r in rows(sick, f"FROM rka_metrics{CALL.format(', l := 3')}")}
    assert metrics["l_diversity:disease"] == 3
    person = ", person := 'person'"
    metrics = {r["metric"]: r["value"] for r in rows(sick, f"FROM rka_metrics{CALL.format(person)}")}
    assert metrics["k_clusters"] >= 4
    assert metrics["persons"] == 150
    sizes = [c["size"] for c in rows(sick, f"FROM rka_classes{CALL.format(person)}")]
    assert sum(sizes) == 300
    remaining_rows = rows(sick, f"FROM rka_classes{CALL.format(', suppress := 0.1')}")
    assert remaining_rows[-1]["class_id"] is None and remaining_rows[-1]["suppressed"] == "outlier"
    assert len(rows(sick, f"FROM rka{CALL.format(', suppress := 0.1')}")) == 300 - remaining_rows[-1]["size"]
    dropped = CALL.format(", nulls := 'drop'")
    full = rows(sick, "FROM sick WHERE age IS NOT NULL AND sex IS NOT NULL")
    assert len(rows(sick, f"FROM rka{dropped}")) == len(full)


def test_noisy_classes_count_published_values(sick: Any) -> None:
    out = rows(sick, f"FROM rka{CALL.format('')}")
    for c in rows(sick, f"FROM rka_classes{CALL.format('')}"):
        own_outs = [r for r in out if r["class_id"] == c["class_id"]]
        assert c["size"] == len(own_outs)
        for name in ("age", "pay", "born", "sex", "zip", "disease"):
            assert Counter({v["value"]: v["size"] for v in c[name]}) == Counter(r[name] for r in own_outs)


def test_noisy_metrics_equal_plain_loops(sick: Any) -> None:
    sick.execute("CREATE TABLE told AS SELECT pid, age, zip, sex, disease FROM sick")
    dbanon.declare(
        sick, "told", age="quasi", sex="quasi", zip=("quasi", "zip5"), disease="insensitive", pid="insensitive"
    )
    call = "('told', k := 5, insensitive := ['pid', 'disease'], allow_rare := ['pid'], release := 'noise')"
    out = rows(sick, f"FROM rka{call}")
    metrics = {r["metric"]: r["value"] for r in rows(sick, f"FROM rka_metrics{call}")}
    raw = {r["pid"]: r for r in rows(sick, "FROM told")}
    assert metrics["records"] == 300
    assert metrics["k_distinct_rows"] == min(Counter((r["age"], r["sex"], r["zip"]) for r in out).values())
    assert metrics["k_clusters"] == min(Counter(r["class_id"] for r in out).values())
    assert not {"k", "classes", "precision", "risk_highest"} & set(metrics)
    groups: dict[str, list[list[dict[str, Any]]]] = {
        "class_distance": [list(g) for _, g in itertools.groupby(out, key=lambda r: r["class_id"])],
        "marginal_distance": [out],
    }
    known_ages = [r["age"] for r in raw.values() if r["age"] is not None]
    for metric, parts in groups.items():
        separate_result = []
        for part in parts:
            true = [raw[r["pid"]] for r in part]
            ages = [[r["age"] for r in actual_part if r["age"] is not None] for actual_part in (part, true)]
            separate_result += [abs(a - b) for a, b in zip(*map(sorted, ages), strict=True)]
        assert metrics[f"{metric}:age"] == pytest.approx(
            sum(separate_result) / len(separate_result) / (max(known_ages) - min(known_ages))
        )
        for name in ("sex", "zip"):
            off = 0.0
            for part in parts:
                shown_counts, stored_counts = (
                    Counter(r[name] for r in actual_part) for actual_part in (part, [raw[r["pid"]] for r in part])
                )
                off += sum(abs(shown_counts[v] - stored_counts[v]) for v in shown_counts | stored_counts) / 2
            assert metrics[f"{metric}:{name}"] == pytest.approx(off / 300)


@pytest.mark.parametrize("function", ["rka", "mr_mondrian"])
def test_distances_compare_with_coded_numbers(sick: Any, function: str) -> None:
    noise = "release := 'noise', epsilon := 1" if function == "rka" else "noise_epsilon := 5"
    call = (
        "('ages', k := 5, qi := ['age'], insensitive := ['pid'], allow_rare := ['pid'], "
        f"top := {{'age': 60}}, bottom := {{'age': 30}}, {noise})"
    )
    sick.execute("CREATE OR REPLACE TABLE ages AS SELECT pid, age FROM sick")
    records = rows(sick, f"FROM {function}{call}")
    metrics = {r["metric"]: r["value"] for r in rows(sick, f"FROM {function}_metrics{call}")}
    ages = {r["pid"]: min(60, max(30, r["age"])) for r in rows(sick, "FROM sick WHERE age IS NOT NULL")}
    assert min(ages.values()) == 30 and max(ages.values()) == 60
    for metric, key in (("class_distance:age", "class_id"), ("marginal_distance:age", None)):
        difference = 0
        for part in {r["class_id"] for r in records} if key else {None}:
            members = [r for r in records if key is None or r[key] == part]
            noisy_ages = sorted(r["age"] for r in members if r["age"] is not None)
            coded_ages = sorted(ages[r["pid"]] for r in members if r["pid"] in ages)
            difference += sum(abs(a - b) for a, b in zip(noisy_ages, coded_ages, strict=True))
        assert metrics[metric] == pytest.approx(difference / len(ages) / 30)


@pytest.mark.not_everyday
def test_larger_epsilon_lowers_class_distance(sick: Any) -> None:
    def far(epsilon: float) -> float:
        query = f"SELECT avg(value) FROM rka_metrics{CALL} WHERE metric LIKE 'class_distance:%'"
        return float(sick.execute(query.format(f", epsilon := {epsilon}")).fetchone()[0])

    assert far(0.1) > far(1) > far(10)


@pytest.mark.not_everyday
def test_mr_mondrian_noise_exceeds_range_like_paper(sick: Any) -> None:
    """Ages below zero, as in Figure 8 of Majeed et al. 2024; categories are published as in Mondrian's classes."""
    out = rows(sick, "FROM mr_mondrian('sick', k := 4, noise_epsilon := 1)")
    assert min(r["age"] for r in out if r["age"] is not None) < 0
    classes = rows(sick, "FROM mr_mondrian_classes('sick', k := 4)")
    expected: Counter[tuple[Any, ...]] = Counter()
    for c in classes:
        expected[c["sex"], c["zip"]] += c["size"]
    assert Counter((r["sex"], r["zip"]) for r in out) == expected
    actual_rows = rows(sick, "FROM mr_mondrian_metrics('sick', k := 4, noise_epsilon := 1)")
    metrics = {r["metric"]: r["value"] for r in actual_rows}
    assert metrics["k_clusters"] >= 4
    assert "class_distance:zip" not in metrics
    assert rows(sick, "FROM mr_mondrian('sick', k := 4)") == rows(sick, "FROM mondrian('sick', k := 4)")


TYPES = (
    "TINYINT", "UTINYINT", "SMALLINT", "BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL(9,3)",
    "DECIMAL(38,2)", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ",
    "BOOLEAN", "UUID", "ENUM('a', 'b', '🙂')",
)  # fmt: skip


TABLE, COLUMN = '"x\'); DROP TABLE t; --"', '"the ""q"'
GIVEN = TABLE.replace("'", "''")


@pytest.mark.parametrize("type_", TYPES)
def test_noise_of_every_type_keeps_type_and_range(con: Any, type_: str) -> None:
    is_category = type_ in ("BOOLEAN", "UUID") or type_.startswith("ENUM")
    value = {"BOOLEAN": "i % 2 = 0", "UUID": "md5((i % 7)::VARCHAR)"}.get(type_, "i % 120")
    if type_ == "TIME":
        value = "TIME '00:00:01' + INTERVAL (i * 400) SECOND"
    elif type_ == "DATE" or type_.startswith("TIMESTAMP"):
        value = "TIMESTAMP '1899-12-31 23:59:59' + INTERVAL (i * 391) HOUR"
    elif type_.startswith("ENUM"):
        value = "['a', 'b', '🙂'][1 + i % 3]"
    con.execute(f"CREATE TABLE {TABLE} AS SELECT ({value})::{type_} AS {COLUMN}, i % 3 AS s FROM range(200) AS r (i)")
    grids = ("",) if is_category else ("", """, rounding := MAP {'the "q': 'none'}""")
    for grid, call in itertools.product(
        grids, ("rka('{}', k := 5, release := 'noise'{}", "mr_mondrian('{}', k := 5, noise_epsilon := 0.01{}")
    ):
        extra_text = f"""{grid}, qi := ['the "q'], sensitive := ['s'])"""
        actual_rows = con.execute(f"FROM {call.format(GIVEN, extra_text)}").fetchall()
        assert Counter(r[1] for r in actual_rows) == Counter(i % 3 for i in range(200))
        assert all(r[0] is not None for r in actual_rows)
        if grid and call.startswith("rka"):
            query = f"""
                SELECT bool_and({COLUMN} BETWEEN low AND high), any_value(typeof({COLUMN})), any_value(typeof(low))
                FROM {call.format(GIVEN, extra_text)}, (SELECT min({COLUMN}) AS low, max({COLUMN}) AS high FROM {TABLE})
                """
            inner_result, got, had = con.execute(query).fetchone()
            assert inner_result
            assert got == had or type_ in ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMPTZ")


@pytest.mark.not_everyday
def test_noise_for_unprotected_values_raises(con: Any) -> None:
    con.execute("CREATE TABLE few AS SELECT i AS a, 1.5 AS b, NULL::INTEGER AS c FROM range(3) AS r (i)")
    con.execute("CREATE TABLE none AS FROM few LIMIT 0")
    with pytest.raises(duckdb.Error, match="k"):
        con.execute("FROM rka('few', k = 10, qi = ['a'], release = 'noise')")
    with pytest.raises(duckdb.Error, match="no rows"):
        con.execute("FROM rka('none', k = 2, qi = ['a'], release = 'noise')")
    actual_rows = con.execute("FROM rka('few', k = 3, qi = ['a', 'b'], release = 'noise')").fetchall()
    assert [r[1:] for r in actual_rows] == [(1.5, 1)] * 3  # a constant column is unchanged
    con.execute("CREATE TABLE many AS SELECT i AS a, i % 2 AS s FROM range(100_000) AS r (i)")
    actual_rows = con.execute(
        "SELECT count(*), count(DISTINCT class_id) FROM rka('many', k = 50, qi = ['a'], sensitive = ['s'], "
        "release = 'noise')"
    ).fetchall()
    assert actual_rows == [(100_000, 2_000)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("rka('sick', k = 4, epsilon = 2)", "epsilon has no effect, because release is not 'noise'"),
        ("rka('sick', k = 4, release = 'noise', epsilon = 0)", "epsilon must be a number from 0.001 to 100, got 0"),
        ("rka('sick', k = 4, release = 'loud')", "release must be one of 'class', 'noise', got 'loud'"),
        ("rka('sick', k = 4, release = 'noise', intervals = 'bounds')", "intervals has no effect, because with"),
        ("rka_metrics('sick', k = 4, release = 'noise', with_kl_divergence = "
         "true)", "with_kl_divergence has no effect"),
        ("inference('sick', algorithm = 'rka', k = 4, release = 'noise')", "release has no effect"),
        ("mr_mondrian('sick', k = 4, noise_epsilon = -1)", "noise_epsilon must be a number from 0.001 to 100"),
        ("kacpc('sick', k = 4, release = 'noise')", "there is no parameter 'release'"),
    ],
)  # fmt: skip
def test_incompatible_noise_options_raise(sick: Any, call: str, says: str) -> None:
    with pytest.raises((duckdb.Error, errors.DbanonError), match=says), dbanon.connect() as con:
        con.execute("CREATE TABLE sick AS SELECT i AS age, i % 3 AS disease FROM range(30) AS r (i)")
        dbanon.declare(con, "sick", age="quasi", disease="sensitive")
        con.execute(f"FROM {call}").fetchall()


def test_noisy_release_cannot_be_materialized(sick: Any) -> None:
    with pytest.raises(errors.NoiseNotMaterializableError, match=r"CREATE TABLE \.\.\. AS SELECT \* FROM rka"):
        dbanon.create_release(sick, "noisy", "rka", "sick", k=4, release="noise")
    with pytest.raises(errors.NoiseNotMaterializableError):
        dbanon.create_release(sick, "noisy", "mr_mondrian", "sick", k=4, noise_epsilon=1)
    assert sick.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'noisy%'").fetchall() == [(0,)]
    sick.execute("CREATE TABLE once AS SELECT * FROM rka('sick', k := 4, release := 'noise')")
    assert sick.execute("SELECT count(*) FROM once").fetchall() == [(300,)]
    result, classes, metrics = dbanon.anonymize(
        sick.execute("FROM sick").df(), "rka", k=4, qi=["age", "zip"], sensitive=["disease"], release="noise"
    )
    assert (len(result), classes["size"].sum()) == (300, 300)
    assert "k_distinct_rows" in set(metrics["metric"])


# --- the gate -----------------------------------------------------------------------------------------------

_how: Callable[[dict[str, Any]], dict[str, Any]] | None = None
_real = cluster.dbanon_cluster


def _spoiled(request: Any, tuples: Any, *domains: Any) -> Any:
    """Run dbanon_cluster and apply `_how` to its answer."""
    answer = _real(request, tuples, *domains)
    if len(request) == 0 or _how is None:
        return answer
    value = answer[0].as_py()
    assert value["error"] is None
    return pa.array([_how(value)], cluster.ANSWER_TYPE)


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create thirteen people and changeable clustering."""
    monkeypatch.setattr(cluster, "dbanon_cluster", _spoiled)
    con = dbanon.attach(duckdb.connect())
    con.execute("CREATE TABLE people (pid INTEGER, person VARCHAR, age INTEGER, zip VARCHAR, born DATE, disease TEXT)")
    con.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    dbanon.load_hierarchy(con, "zip5", ZIPS)
    dbanon.declare(con, "people", age="quasi", zip=("quasi", "zip5"), disease="sensitive")
    yield con
    con.close()


NOISY = {
    "rka": "rka{}('people', k := 3, top := {{'age': 59}}, release := 'noise')",
    "mr_mondrian": "mr_mondrian{}('people', k := 3, top := {{'age': 59}}, noise_epsilon := 1)",
}


def first_noisy_seat(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the first seat with a noisy age."""
    return next(seat for seat in answer["drawn"] if seat["position"][0] is not None)


def change_noisy_seat(answer: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer with that seat changed."""
    return {**answer, "drawn": [change(seat) if seat == first_noisy_seat(answer) else seat for seat in answer["drawn"]]}


def use_category_of_other_class(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a zip that no record of the class has."""
    stored_result: dict[int, set[int]] = {}
    for seat in answer["drawn"]:
        stored_result.setdefault(seat["cluster"], set()).add(seat["code"][1])
    all_values = set().union(*stored_result.values()) - {None}
    pair = next(i for i, seat in enumerate(answer["drawn"]) if all_values - stored_result[seat["cluster"]])
    seat = answer["drawn"][pair]
    other = min(all_values - stored_result[seat["cluster"]])
    moved_mapping = {**seat, "code": [seat["code"][0], other]}
    return {**answer, "drawn": [*answer["drawn"][:pair], moved_mapping, *answer["drawn"][pair + 1 :]]}


STRANGE: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a seat is missing": lambda f: {**f, "drawn": [s for s in f["drawn"] if s != first_noisy_seat(f)]},
    "no seats": lambda f: {**f, "drawn": None},
    "a seat is NULL": lambda f: change_noisy_seat(f, lambda s: {**s, "position": [None, None], "code": [None, None]}),
    "two in a seat": lambda f: {**f, "drawn": [*f["drawn"], f["drawn"][0]]},
    "a NULL has a number": lambda f: {**f, "drawn": [{**s, "position": [5.0, None]} if s["code"] == [None, None]
                                      and s["position"] == [None, None] else s for s in f["drawn"]]},
    "seats of another class": lambda f: {**f, "drawn": [{**s, "cluster": s["cluster"] + 1} for s in f["drawn"]]},
}  # fmt: skip


@pytest.mark.parametrize("how", STRANGE)
@pytest.mark.parametrize("function", ["", "_classes", "_metrics"])
def test_gate_refuses_every_broken_noise_draw(
    people: Any, monkeypatch: pytest.MonkeyPatch, function: str, how: str
) -> None:
    query = f"FROM {NOISY['rka'].format(function)}"
    assert people.execute(query).fetchall()
    monkeypatch.setitem(globals(), "_how", STRANGE[how])
    assert_refused(people, query)


def test_gate_refuses_noisy_category_of_other_class(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "_how", use_category_of_other_class)
    assert_refused(
        people, f"FROM {NOISY['rka'].format('')}", "published values of zip that none of their records may have"
    )


@pytest.mark.parametrize("algorithm", NOISY)
@pytest.mark.parametrize("how", [h for h in SPOILED if "overlaps" not in h])
def test_gate_refuses_noise_of_broken_clustering(
    people: Any, monkeypatch: pytest.MonkeyPatch, algorithm: str, how: str
) -> None:
    monkeypatch.setitem(globals(), "_how", lambda found: {**found, "parts": SPOILED[how](found["parts"])})
    for function in ("", "_classes", "_metrics"):
        assert_refused(people, f"FROM {NOISY[algorithm].format(function)}")


def test_gate_refuses_noise_under_every_outer_query(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "_how", use_category_of_other_class)
    for shape in CORE:
        call = NOISY["rka"].format("")
        query = SHAPES[shape].format(f=call, a="", c="class_id", t="zip")
        assert_refused(people, query)


def test_gate_refuses_noise_outside_column_range(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SQL keeps numbers within the column; without it, the gate would refuse them."""
    from dbanon.sqltext import templates

    real = templates._templates().loader
    text = real.get_source(templates._templates(), "release/noise/pipeline.sql")[0]  # type: ignore[union-attr]
    loose = text.replace(
        "least(greatest({{ value }}, {{ 'range'|of(q) }}.low), {{ 'range'|of(q) }}.high)", "{{ value }} - 100"
    )
    assert loose != text
    broken_result = templates._templates().overlay(
        loader=_SingleTemplateLoader(real, "release/noise/pipeline.sql", loose)
    )
    monkeypatch.setattr(templates, "_templates", lambda: broken_result)
    assert_refused(
        people, f"FROM {NOISY['rka'].format('')}", "published values of age that none of their records may have"
    )


class _SingleTemplateLoader:
    """A loader of templates that replaces one template."""

    def __init__(self, real: Any, name: str, text: str) -> None:
        self.real, self.name, self.text = real, name, text

    def load(self, environment: Any, name: str, globals: Any = None) -> Any:
        if name == self.name:
            return environment.from_string(self.text, globals)
        return self.real.load(environment, name, globals)


# --- SQLAlchemy and Adult -----------------------------------------------------------------------------------


@pytest.mark.not_everyday
def test_noisy_release_has_typed_columns_in_sqlalchemy() -> None:
    sa = pytest.importorskip("sqlalchemy")
    pytest.importorskip("duckdb_sqlalchemy")
    from dbanon.integrations import sqlalchemy

    engine = sa.create_engine("duckdb:///:memory:")
    sqlalchemy.install(engine)
    table = sa.Table("sick", sa.MetaData(), sa.Column("age", sa.Integer), sa.Column("born", sa.Date),
                     sa.Column("zip", sa.String), sa.Column("disease", sa.String))  # fmt: skip
    parameters: dict[str, Any] = {"k": 4, "qi": ["age", "born", "zip"], "sensitive": ["disease"], "release": "noise"}
    with engine.connect() as con:
        con.execute(sa.text("CREATE TABLE sick AS SELECT i AS age, DATE '1960-01-01' + i::INTEGER AS born, "
                            "'z' || i % 3 AS zip, 'd' || i % 2 AS disease FROM range(40) AS r (i)"))  # fmt: skip
        con.commit()
        for make in (sqlalchemy.anonymized, sqlalchemy.classes, sqlalchemy.metrics):
            element = make(table, "rka", **parameters)
            result = con.execute(sa.select(element))
            assert list(result.keys()) == [c.name for c in element.c]
            assert result.fetchall()
        element = sqlalchemy.anonymized(table, "rka", **parameters)
        assert isinstance(element.c.age.type, sa.Integer)
        assert isinstance(element.c.born.type, sa.Date)
        old = con.execute(sa.select(sa.func.count()).select_from(element).where(element.c.age > 20)).scalar()
        assert 0 < old < 40
        with pytest.raises(errors.UnusedArgumentError):
            sqlalchemy.anonymized(table, "rka", **parameters, intervals="struct")


@pytest.mark.not_everyday
def test_noisy_adult_release_has_small_distances(adult: Any) -> None:
    metrics = {r["metric"]: r["value"] for r in rows(adult, "FROM rka_metrics('adult', k := 10, release := 'noise')")}
    assert metrics["records"] == 30162
    assert metrics["k_clusters"] >= 10
    assert metrics["k_distinct_rows"] == 1
    assert metrics["marginal_distance:age"] < 0.05
    assert metrics["class_distance:age"] < 0.1
    assert 0 < metrics["class_distance:race"] < 0.1
    assert algorithms.find("rka").ability(NoiseRelease) is not None
