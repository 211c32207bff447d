"""Published metrics follow from the released rows and reveal no value that these do not show."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.algorithms import PLAIN

import dbanon


@pytest.fixture(scope="module")
def db() -> Iterator[Any]:
    with dbanon.connect() as con:
        dbanon.load_hierarchy(con, "cities", TREE)
        yield con


def view_frames(con: Any, algorithm: str, call: dict[str, Any]) -> list[Any]:
    """Return the content of a materialized view of the call: the release, its classes, and the published metrics."""
    text = "".join(f", {name} := ${name}" for name in call)
    queries = [f"{algorithm}{ending}('t'{text})" for ending in ("", "_classes", "_metrics")]
    queries[2] = f"(SELECT metric, value FROM {queries[2]} WHERE is_publishable)"
    return [con.execute(f"FROM {query}", call).df() for query in queries]


def published_frames(
    con: Any, rows: Sequence[tuple[Any, ...]], algorithm: str, **call: Any
) -> list[list[tuple[Any, ...]]]:
    con.execute("CREATE OR REPLACE TABLE t (age INTEGER, sex VARCHAR, disease VARCHAR)")
    con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return [
        [tuple(map(str, row)) for row in frame.itertuples(index=False)] for frame in view_frames(con, algorithm, call)
    ]


# --- an attacker with two tables --------------------------------------------------------------------------------------

PEOPLE = [(20 + i % 30, "MF"[i % 2], ["Flu", "Cold", "HIV"][i % 3]) for i in range(60)]
CALL: dict[str, Any] = {"k": 5, "qi": ["age", "sex"], "sensitive": ["disease"]}


@pytest.mark.not_everyday
@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian", "simdiv"])
def test_suppressed_record_values_change_nothing_published(db: Any, algorithm: str) -> None:
    """If another record had 500, 5,000 or 60,000 for the age of the outlier, nothing else would be published."""
    own_options = {"influence": "weights"} if algorithm == "simdiv" else {}
    values = [
        published_frames(db, [*PEOPLE, (age, "M", "Flu")], algorithm, suppress=0.12, **CALL, **own_options)
        for age in (5_000, 60_000)
    ]
    assert "5000" not in str(values[0][0])
    assert values[0] == values[1]
    assert ("suppressed", "0.0") not in values[0][2]


@pytest.mark.not_everyday
@pytest.mark.parametrize(
    ("options", "records"),
    [
        ({"nulls": "drop"}, [(age, None, "Flu") for age in (300, 9_000)]),
        ({"bounds": {"age": [0, 100]}, "influence": "weights"}, [(age, "M", "Flu") for age in (300, 9_000)]),
    ],
)
def test_dropped_record_changes_published_counts_only(
    db: Any, options: dict[str, Any], records: Sequence[tuple[Any, ...]]
) -> None:
    algorithm = "simdiv" if "bounds" in options else "kacpc"
    values = [published_frames(db, [*PEOPLE, record], algorithm, **CALL, **options) for record in records]
    assert values[0] == values[1]


@pytest.mark.parametrize("intervals", ["text", "bounds"])
def test_published_metrics_independent_of_values_under_star(db: Any, intervals: str) -> None:
    """One class of ten holds a NULL and publishes `*`: the loss of the others must not reveal its greatest number."""
    near = [(20 + i, "F", "Flu") for i in range(20)]
    result = []
    for far in (200, 900):
        rows = [*near, *((age, "M", "Flu") for age in (None, far, *range(60, 68)))]
        result.append(
            published_frames(db, rows, "mondrian", k=10, qi=["age", "sex"], max_level={"sex": 0}, intervals=intervals)
        )
    assert len(result[0][1]) > 1
    assert result[0] == result[1]


def test_published_metrics_independent_of_inner_values(db: Any) -> None:
    """Classes keep their ends, and the values between them differ in each table."""
    values = [
        published_frames(db, [(age, "M", "Flu") for age in (20, *inner, 29, 60, *other, 69)], "mondrian", **CALL)
        for inner, other in [((21, 22, 23), (61, 62, 63)), ((28, 28, 20), (68, 64, 60)), ((22, 24, 27), (60, 60, 60))]
    ]
    assert len(values[0][1]) == 2
    assert values[0] == values[1] == values[2]


def test_published_metrics_merge_clusters_of_equal_values(db: Any) -> None:
    """With a grid of ten, four records are two clusters or one; the class and its metrics are equal."""
    values = [
        published_frames(db, [(age, "M", "x") for age in ages], "mondrian", k=2, qi=["age"], rounding={"age": 10})
        for ages in ((20, 20, 20, 29), (20, 21, 28, 29), (21, 21, 28, 28))
    ]
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize("seed", range(2))
def test_range_never_widened_to_suppressed_value(db: Any, seed: int) -> None:
    """Clusters of low diversity publish more than their records span: as far as released records reach."""
    rnd = random.Random(seed)
    rows = [(rnd.randint(20, 40), "M", "Flu") for _ in range(40)] + [(1_000 + seed, "M", "Flu")]
    release, _, measures = published_frames(
        db, rows, "simdiv", k=4, qi=["age"], sensitive=["disease"], suppress=0.15, influence="weights",
        levels=3, intervals="bounds",
    )  # fmt: skip
    if ("suppressed", "0.0") not in measures:
        assert max(int(row[1]) for row in release) <= 40


@pytest.mark.parametrize("call", ["rka('t', release := 'noise', %s)", "mr_mondrian('t', noise_epsilon := 1, %s)"])
def test_noise_scale_uses_range_of_released_records(con: Any, call: str) -> None:
    """A suppressed outlier of 1,000,000 would give noise of that scale, or numbers that are cut there."""
    con.execute("CREATE TABLE t AS SELECT 20 + i % 30 AS age FROM range(60) AS r (i) UNION ALL SELECT 1000000")
    query = call % "k := 5, qi := ['age'], suppress := 0.12"
    ages = [row[0] for row in con.execute(f"SELECT age FROM {query}").fetchall()]
    assert len(ages) <= 60 and max(ages) < 1_000


# --- every number, from the rows and the hierarchies ------------------------------------------------------------------

TREE = [["rome", "south", "*"], ["naples", "south", "*"], ["oslo", "*"], ["bonn", "west", "mid", "*"],
        ["lyon", "west", "mid", "*"]]  # fmt: skip
LEFT_OUT = ("dropped:null", "suppressed")
"""Metrics that count excluded records: the only published facts about them."""


@pytest.mark.parametrize("seed", range(6))
def test_published_metrics_recomputed_from_released_rows(db: Any, seed: int) -> None:
    rnd = random.Random(seed)
    nulls = rnd.choice([0, 0.15])
    rows = [
        tuple(
            None if rnd.random() < nulls else value
            for value in (rnd.choice([rnd.randint(20, 60), 25]), rnd.choice(TREE)[0], rnd.choice("abc"),
                          rnd.choice(["Flu", "Cold", "HIV", "TB"]))
        )
        for _ in range(rnd.randint(30, 60))
    ]  # fmt: skip
    rows.append((4_000, "oslo", "a", "Flu"))
    options: dict[str, Any] = {"suppress": rnd.choice([0, 0.2]), "intervals": rnd.choice(["text", "bounds", "struct"])}
    options |= rnd.choice([{}, {"rounding": {"age": 10}}, {"top": {"age": 50}, "bottom": {"age": 30}}])
    options |= rnd.choice([{}, {"nulls": "drop"}, {"alpha": 0.9}, {"loss_height": "sub"}])
    db.execute("CREATE OR REPLACE TABLE t (age INTEGER, city VARCHAR, job VARCHAR, disease VARCHAR)")
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    call = {"k": 4, "qi": ["age", "city", "job"], "sensitive": ["disease"], "hierarchies": {"city": "cities"}} | options
    release, classes, metrics = view_frames(db, PLAIN[seed % len(PLAIN)], call)
    ends = [c for c in release.columns if c.startswith("age")]
    shown_texts = ["_".join(map(str, cell)) for cell in release[ends].itertuples(index=False)]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, cells in enumerate(zip(shown_texts, release["city"].tolist(), release["job"].tolist(), strict=True)):
        groups.setdefault(tuple(map(str, cells)), []).append(i)
    read = [_ends(tuple(cell)) for cell in release[ends].itertuples(index=False)]
    known_reads = [r for r in read if r is not None]
    maximum = max(high for _, high in known_reads) - min(low for low, _ in known_reads) if known_reads else 0
    lost_numbers_by_form = {
        form: [
            [_number(read[i], options["intervals"], release[ends[0]][i], maximum),
             _node(release["city"][i], TREE, form), _node(release["job"][i], [[v, "*"] for v in "abc"], form)]
            for i in range(len(release))
        ]
        for form in ("levels", "edges", "leaves")
    }  # fmt: skip
    form = "edges" if "loss_height" in options else "levels"
    actual_class = classes[classes["class_id"].notna()]
    for class_id, size, loss, values in zip(
        actual_class["class_id"], actual_class["size"], actual_class["loss"], actual_class["disease"], strict=True
    ):
        members = [i for i in range(len(release)) if release["class_id"][i] == class_id]
        assert size == len(members)
        assert loss == pytest.approx(sum(lost_numbers_by_form[form][members[0]]) / 3)
        counted_sizes_by_value = {v["value"]: v["size"] for v in values}
        assert counted_sizes_by_value == Counter(_text(release["disease"][i]) for i in members)
    mapping = dict(zip(metrics["metric"], metrics["value"], strict=True))
    expected = _measures(groups.values(), [_text(v) for v in release["disease"]], lost_numbers_by_form, form)
    left_out = {name: mapping.pop(name) for name in LEFT_OUT}
    n, out = len(release), sum(left_out.values())
    expected["discernibility_suppression"] = expected["discernibility"] + out * (n + out)
    assert mapping == pytest.approx({name: expected[name] for name in mapping}, abs=1e-9)
    assert not {"clusters", "square_error", "square_error_raw:age"} & set(mapping)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _ends(cells: tuple[Any, ...]) -> tuple[float, float] | None:
    """Return the ends of a published interval in any of its forms; None for `*` and NULL."""
    if len(cells) == 1 and isinstance(cells[0], dict):
        cells = (cells[0]["low"], cells[0]["high"])
    if len(cells) == 2:
        return None if any(map(pd.isna, cells)) else (float(cells[0]), float(cells[1]))
    text = _text(cells[0])
    if text is None or text == "*":
        return None
    low, _, high = text.strip("[]").partition(", ")
    return float(low.lstrip("<=>")), float((high or low).lstrip("<=>"))


def _number(ends: tuple[float, float] | None, intervals: str, cell: Any, full_span: float) -> float:
    if ends is None:
        return 1.0 if intervals != "text" or cell == "*" else 0.0
    return (ends[1] - ends[0]) / full_span if full_span else 0.0


def _node(label: Any, tree: Sequence[Sequence[str]], form: str) -> float:
    """Return the loss of a published node in a hierarchy."""
    if _text(label) is None or label in {line[0] for line in tree}:
        return 0.0
    under = [line for line in tree if label in line]
    if form == "leaves":
        return len(under) / len(tree)
    longest = max(map(len, tree)) - 1
    if form == "levels":
        return (longest - (len(under[0]) - 1 - under[0].index(label))) / longest
    return max(line.index(label) for line in under) / longest


def _measures(
    groups: Any, diseases: list[str | None], losses: dict[str, list[list[float]]], form: str
) -> dict[str, float]:
    sizes = [len(group) for group in groups]
    n, k = sum(sizes), min(sizes)
    stored_counts = [Counter(diseases[i] for i in group) for group in groups]
    rare = {v: c for v, c in Counter(diseases).items() if c < 4}
    total = {name: math.fsum(itertools.chain.from_iterable(cells)) for name, cells in losses.items()}
    numbers = math.fsum(cells[0] for cells in losses[form])
    told_nothing = [sum(cells[j] == 1 for cells in losses["leaves"]) / n for j in range(3)]
    homogeneous = sum(size for size, values in zip(sizes, stored_counts, strict=True) if len(values) == 1) / n
    return {
        "records": n, "k": k, "k_full_record": min(min(values.values()) for values in stored_counts),
        "unique_by_unchanged_columns": sum(c for c in Counter(diseases).values() if c == 1),
        "classes": len(sizes), "class_size_average": n / len(sizes),
        "class_size_greatest": max(sizes), "c_avg": n / len(sizes) / 4, "precision": 1 - total[form] / (3 * n),
        "information_loss": total[form], "total_information_loss": total["edges"], "ncp": total["leaves"],
        "gcp": total["leaves"] / (3 * n), "numeric_information_loss": numbers,
        "numeric_information_loss_average": numbers / n, "discernibility": sum(size**2 for size in sizes),
        "risk_highest": 1 / k, "risk_average": len(sizes) / n, "homogeneous_share": homogeneous,
        "homogeneous_share:disease": homogeneous, "n_rare_values:disease": len(rare),
        "columns_with_flat_hierarchy": 1, "is_single_class": float(len(sizes) == 1),
        **{f"fully_generalized:{c}": share for c, share in zip(("age", "city", "job"), told_nothing, strict=True)},
        "alpha:disease": max(c / sum(values.values()) for values in stored_counts for c in values.values()),
    } | {f"rare_value:disease={'NULL' if v is None else v}": c for v, c in rare.items()}  # fmt: skip


@pytest.mark.not_everyday
def test_ledger_keeps_custodian_metrics(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "a.duckdb") as con:
        con.execute("CREATE TABLE t (age INTEGER, sex VARCHAR, disease VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", PEOPLE)
        dbanon.create_release(con, "safe", "kacpc", "t", **CALL)
        all_query = "FROM kacpc_metrics('t', k := 5, qi := ['age', 'sex'], sensitive := ['disease'])"
        shown_rows = con.execute(f"SELECT metric, value, is_publishable {all_query}").fetchall()
        kept_value = con.execute("SELECT metrics FROM releases()").fetchall()[0][0]
        out = con.execute("SELECT metric, value FROM safe_metrics").fetchall()
    assert kept_value == {name: value for name, value, _ in shown_rows}
    assert out == [(name, value) for name, value, output in shown_rows if output]
    assert {"square_error_raw:age", "clusters"} <= kept_value.keys() - dict(out).keys()


@pytest.mark.not_everyday
def test_published_files_independent_of_unseen_values(tmp_path: Path) -> None:
    """The outlier has another age, and only the time of the release differs."""
    lines_by_names = []
    for far in (5_000, 90_000):
        folder = tmp_path / str(far)
        with dbanon.connect() as con:
            con.execute("CREATE TABLE t (age INTEGER, sex VARCHAR, disease VARCHAR)")
            con.executemany("INSERT INTO t VALUES (?, ?, ?)", [*PEOPLE, (far, "M", "Flu")])
            dbanon.create_release(con, "safe", "kacpc", "t", suppress=0.12, **CALL)
            assert con.execute("SELECT suppressed > 0 FROM releases()").fetchall() == [(True,)]
            dbanon.publish(con, "safe", f"{folder}/safe.csv", classes=True)
        written_parts_by_name = {p.name: p.read_text().split("\n") for p in folder.iterdir()}
        lines_by_names.append(
            {
                name: [line for line in lines if "released at" not in line]
                for name, lines in written_parts_by_name.items()
            }
        )
    assert lines_by_names[0] == lines_by_names[1]
    assert len(lines_by_names[0]) == 5 and all(map(len, lines_by_names[0].values()))
