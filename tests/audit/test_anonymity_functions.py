"""The functions that measure any table: worked values, definitions on random tables, pycanon, odd data and names."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from oracle import models
from oracle.models import Record, Value

import dbanon
from dbanon.audit import anonymity
from dbanon.privacy_models import registry
from dbanon.sqltext.quote import identifier, text

WORST = ["model", "sensitive", "achieved", "better", "class", "size", "value"]
ALL = ["model", "sensitive", "achieved", "better", "worst_classes", "records_in_worst", "description"]
MEASURING = [f.name for f in anonymity.FUNCTIONS if f.name != "anonymity"]
JUDGING = [name for name in MEASURING if name != "k_anonymity"]
OTHERS = {f.table_measure.name for m in registry.models() for f in m.forms if (m.name, f.name) not in models.ORACLES}
"""Metrics that only the tests of models compare with their definitions."""
HOSTILE = ["x'); DROP TABLE t; --", "🦆 {{ q }}", 'a "b"', "value", "class_id", "select", "é\n;", "{% if %}"]
TREE = "Flu;Infectious;*\nHIV;Infectious;*\nCancer;Oncology;*"


def literal(value: object) -> str:
    """Return a parameter's value as SQL."""
    if isinstance(value, dict):
        return "MAP {" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    return str(text(value)) if isinstance(value, str) else str(value)


def call(function: str, table: str = "t", equals: str = "=", **parameters: object) -> str:
    arguments_text = "".join(f", {name} {equals} {literal(value)}" for name, value in parameters.items())
    return f"{function}({text(table)}{arguments_text})"


def rows(con: Any, function: str, table: str = "t", **parameters: object) -> list[dict[str, Any]]:
    """Return the rows of one call."""
    cursor = con.execute(f"FROM {call(function, table, **parameters)}")
    names = [column[0] for column in cursor.description]
    assert names == (ALL if function == "anonymity" else WORST)
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def achieved(con: Any, function: str, table: str = "t", **parameters: object) -> float:
    """Return the achieved value, which is equal in every row of a call about one sensitive column."""
    (result,) = {row["achieved"] for row in rows(con, function, table, **parameters)}
    return float(result)


def summary(con: Any, table: str = "t", **parameters: object) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Return the rows of anonymity() by model and sensitive column."""
    return {(row["model"], row["sensitive"]): row for row in rows(con, "anonymity", table, **parameters)}


def values(con: Any, function: str, **parameters: object) -> dict[Any, float]:
    """Return the value of each class of column g."""
    return {row["class"]["g"]: row["value"] for row in rows(con, function, qi=["g"], **parameters)}


def approx(number: Any) -> Any:
    return pytest.approx(float(number), abs=1e-9)


def assert_refused(con: Any, query: str, match: str) -> None:
    with pytest.raises((duckdb.Error, dbanon.DbanonError), match=match):
        con.execute(f"FROM {query}").fetchall()


@pytest.fixture
def star(con: Any) -> Any:
    """Create six rows as a partition P* publishes them."""
    con.execute(
        "CREATE TABLE t AS FROM (VALUES ('E1', 'Flu'), ('E1', 'Flu'), ('E1', 'Cancer'), ('E2', 'Flu'), "
        "('E2', 'Cancer'), ('E2', 'HIV')) AS v (g, disease)"
    )
    return con


# --- worked values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "parameters", "expected"),
    [
        ("l_diversity", {}, {"E1": 2, "E2": 3}),
        ("l_diversity", {"diversity": "entropy"}, {"E1": math.exp(0.6365141683), "E2": 3}),
        ("l_diversity", {"diversity": "recursive"}, {"E1": 1, "E2": 3}),
        ("l_diversity", {"diversity": "recursive", "c": 2.1}, {"E1": 2, "E2": 3}),
        ("l_diversity", {"diversity": "recursive", "c": 0.6}, {"E1": 0, "E2": 2}),
        ("l_diversity", {"diversity": "recursive", "c": 0.3}, {"E1": 0, "E2": 0}),
        ("t_closeness", {}, {"E1": 1 / 6, "E2": 1 / 6}),
        ("t_closeness", {"ground_distance": "ordered"}, {"E1": 1 / 12, "E2": 1 / 12}),
        (
            "t_closeness",
            {"ground_distance": "ordered", "hierarchies": {"disease": "Flu;*\nCancer;*\nHIV;*"}},
            {"E1": 1 / 6, "E2": 1 / 6},
        ),
        (
            "t_closeness",
            {"ground_distance": "hierarchical", "hierarchies": {"disease": TREE}},
            {"E1": 1 / 12, "E2": 1 / 12},
        ),
        ("alpha_k", {}, {"E1": 2 / 3, "E2": 1 / 3}),
        ("p_sensitive", {}, {"E1": 2, "E2": 3}),
        ("beta_likeness", {}, {"E1": 1 / 3, "E2": 1}),
        ("beta_likeness", {"likeness": "enhanced"}, {"E1": 1 / 3, "E2": 1}),
    ],
)
def test_model_values_equal_hand_computed_example(
    star: Any, function: str, parameters: Any, expected: dict[str, float]
) -> None:
    actual_rows = rows(star, function, qi=["g"], sensitive=["disease"], **parameters)
    assert {row["class"]["g"]: row["value"] for row in actual_rows} == pytest.approx(expected, abs=1e-9)
    better = actual_rows[0]["better"]
    worst = (min if better == "higher" else max)(expected.values())
    for row in actual_rows:
        assert (row["model"], row["sensitive"], row["better"], row["size"]) == (function, "disease", better, 3)
        assert row["achieved"] == pytest.approx(worst, abs=1e-9)
    assert [row["value"] for row in actual_rows] == sorted(
        (row["value"] for row in actual_rows), reverse=better == "lower"
    )


def test_k_is_size_of_smallest_class(star: Any) -> None:
    star.execute("INSERT INTO t VALUES ('E3', 'Flu'), ('E3', 'Flu')")
    actual_rows = rows(star, "k_anonymity", qi=["g"])
    assert [(row["class"]["g"], row["size"], row["value"]) for row in actual_rows] == [
        ("E3", 2, 2),
        ("E1", 3, 3),
        ("E2", 3, 3),
    ]
    assert {(row["model"], row["sensitive"], row["achieved"], row["better"]) for row in actual_rows} == {
        ("k_anonymity", None, 2, "higher")
    }


def test_t_closeness_of_salaries_uses_rank_distance(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i IN (3, 4, 5) THEN 'P1' WHEN i IN (6, 8, 11) THEN 'P2' ELSE 'P3' END "
        "AS g, i * 1000 AS salary FROM range(3, 12) AS r (i)"
    )
    actual_values = values(con, "t_closeness", sensitive=["salary"], ground_distance="ordered")
    assert (actual_values["P1"], actual_values["P2"]) == (approx(0.375), approx(1 / 6))


def test_ranks_follow_numbers_dates_or_hierarchy_leaves(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS g, [9, 10, 100][i] AS n, ['9', '10', '100'][i] AS s, "
        "[9, 10, 100][i]::DECIMAL(9, 2) AS d, DATE '2000-01-01' + [9, 10, 100][i] AS day FROM range(1, 4) AS r (i)"
    )
    for column in ("n", "d", "day"):
        assert values(con, "t_closeness", sensitive=[column], ground_distance="ordered")[2] == approx(1 / 3), (
            "the middle rank"
        )
    assert values(con, "t_closeness", sensitive=["s"], ground_distance="ordered")[2] == approx(1 / 2), (
        "texts: 10, 100, 9"
    )
    order = {"ground_distance": "ordered", "hierarchies": {"s": "9;*\n10;*\n100;*"}}
    assert values(con, "t_closeness", sensitive=["s"], **order)[2] == approx(1 / 3)
    order["hierarchies"] = {"n": "10;*\n9;*\n100;*"}
    assert values(con, "t_closeness", sensitive=["n"], **order)[1] == approx(1 / 3)


def test_enhanced_gain_above_log_share_is_infinite(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i // 3 AS g, ['a', 'a', 'a', 'b', 'b', 'c'][i + 1] AS s FROM range(6) AS r (i)"
    )
    assert achieved(con, "beta_likeness", qi=["g"], sensitive=["s"]) == approx(1)
    actual_values = values(con, "beta_likeness", sensitive=["s"], likeness="enhanced")
    assert actual_values == {0: math.inf, 1: approx(1)}, "a: gain 1 is above ln 2"
    assert summary(con, qi=["g"], sensitive=["s"])["beta_enhanced", "s"]["records_in_worst"] == 3


# --- the definitions, on random tables -------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """A random table t(g, u, v, person): up to nine classes, two sensitive columns."""

    classes: list[list[Record]]
    has_persons: bool

    def store(self, con: Any) -> None:
        con.execute("CREATE OR REPLACE TABLE t (g INTEGER, u VARCHAR, v INTEGER, person VARCHAR)")
        records = [(g, *cells, person) for g, part in enumerate(self.classes) for cells, person in part]
        random.Random(0).shuffle(records)
        con.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)", [(*r[:3], None if r[3] is None else str(r[3])) for r in records]
        )


def sample(seed: int) -> Sample:
    """Return a random table."""
    rng = random.Random(f"measure {seed}")
    has_persons = seed % 2 == 1
    texts: list[Value] = ["Flu", "HIV", "Cancer", *([None] if rng.random() < 0.5 else [])]
    numbers: list[Value] = [10, 9, -1, *([None] if rng.random() < 0.5 else [])]
    people = [None, *"ABCDEFGH"]
    classes = [
        [
            ((rng.choice(texts), rng.choice(numbers)), rng.choice(people) if has_persons else (g, i))
            for i in range(rng.randint(1, 12))
        ]
        for g in range(rng.randint(1, 9))
    ]
    classes[0].append((("Flu", 10), "A"))
    return Sample(classes, has_persons)


def definitions(classes: Sequence[models.Class], column: int, joint: bool) -> dict[str, models.ModelResult]:
    """Return the value of each model by its definition, under the name that anonymity() uses."""
    tree = [line.split(";") for line in TREE.split("\n")]

    def recursive(part: models.Class) -> int:
        """Return the greatest l with r_1 < 2 (r_l + .. + r_m) in every part."""
        parts = models.parts_of(part, column, joint)
        return min(
            (max((n for n in range(1, 9) if models.recursive([p], n, column).table < 2), default=0) for p in parts),
            default=0,
        )

    lengths = tuple(recursive(part) for part in classes)
    return {
        "distinct_l": models.distinct_l(classes, column, joint),
        "entropy_l": models.entropy_l(classes, column, joint),
        "recursive_l": models.ModelResult(lengths, min(lengths)),
        "t_closeness_equal": models.t_equal(classes, column, joint),
        "t_closeness_ordered": models.t_ordered(classes, column, joint, None if column else ["Flu", "HIV", "Cancer"]),
        **({} if column else {"t_closeness_hierarchical": models.t_hierarchical(classes, tree, column, joint)}),
        "alpha": models.alpha(classes, column, joint),
        "p_sensitive": models.p(classes, column, joint),
        "beta_basic": models.beta(classes, column, joint),
        "beta_enhanced": models.beta(classes, column, joint, True),
    }


@pytest.mark.parametrize("seed", range(16))
def test_every_model_equals_its_definition(con: Any, seed: int) -> None:
    """Includes NULLs, persons, records of unknown persons, and joint judgement."""
    table = sample(seed)
    table.store(con)
    joint = seed % 4 >= 2
    parameters: dict[str, object] = {
        "qi": ["g"],
        "sensitive": ["u", "v"],
        **({"multi_sensitive": "joint"} if joint else {}),
        **({"person": "person"} if table.has_persons else {}),
    }
    actual_summary = summary(con, hierarchies={"u": TREE}, **parameters)
    sizes = [len(part) for part in table.classes]
    expected = {("k_anonymity", None): models.k(table.classes)} | {
        (name, "uv"[column]): achieved
        for column in range(2)
        for name, achieved in definitions(table.classes, column, joint).items()
    }
    assert [key for key in actual_summary if key[0] not in OTHERS] == list(expected)
    for key, (worst, row) in {key: (expected[key], actual_summary[key]) for key in expected}.items():
        assert row["achieved"] == approx(worst.table), key
        same = [i for i, value in enumerate(worst.classes) if float(value) == approx(worst.table)]
        assert (row["worst_classes"], row["records_in_worst"]) == (len(same), sum(sizes[i] for i in same)), key
    for function, forms in {
        "k_anonymity": [("k_anonymity", {})],
        "l_diversity": [(f"{d}_l", {"diversity": d}) for d in ("distinct", "entropy", "recursive")],
        "t_closeness": [("t_closeness_ordered", {"ground_distance": "ordered", "hierarchies": {"u": TREE}})],
        "beta_likeness": [("beta_basic", {}), ("beta_enhanced", {"likeness": "enhanced"})],
        "alpha_k": [("alpha", {})],
        "p_sensitive": [("p_sensitive", {})],
    }.items():
        given_values = (
            {n: v for n, v in parameters.items() if n in ("qi", "person")} if function == "k_anonymity" else parameters
        )
        for name, form in forms:
            for row in rows(con, function, **given_values, **form):
                worst = expected[name, row["sensitive"]]
                assert row["value"] == approx(worst.classes[row["class"]["g"]]), (name, row)
                assert row["achieved"] == approx(worst.table)
                assert row["size"] == models.n_persons(table.classes[row["class"]["g"]])


def test_persons_counted_once_per_value(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS FROM (VALUES ('a', 'p', 'Flu'), ('a', 'p', 'Flu'), ('a', 'p', 'HIV'), ('a', 'q', 'Flu'), "
        "('a', NULL, 'TB'), ('b', NULL, 'TB'), ('b', NULL, 'Flu')) AS v (g, person, s)"
    )
    assert values(con, "k_anonymity") == {"a": 5, "b": 2}
    assert values(con, "k_anonymity", person="person") == {"a": 2, "b": 0}
    known_mapping = {"sensitive": ["s"], "person": "person"}
    assert values(con, "l_diversity", **known_mapping) == {"a": 2, "b": 0}
    assert values(con, "alpha_k", **known_mapping) == {"a": 1, "b": 1}, "both persons have Flu; nobody is in b"
    assert values(con, "t_closeness", **known_mapping) == {"a": 0, "b": 1}


def test_diversity_ignores_null_and_other_models_count_null(con: Any) -> None:
    con.execute("CREATE TABLE t AS FROM (VALUES (1, 'Flu'), (1, NULL), (1, NULL), (2, NULL), (2, NULL)) AS v (g, s)")
    assert values(con, "l_diversity", sensitive=["s"]) == {1: 1, 2: 0}
    assert values(con, "l_diversity", sensitive=["s"], diversity="entropy") == {1: 1, 2: 0}
    assert values(con, "l_diversity", sensitive=["s"], diversity="recursive") == {1: 1, 2: 0}
    assert values(con, "p_sensitive", sensitive=["s"]) == {1: 1, 2: 0}
    assert values(con, "alpha_k", sensitive=["s"]) == {1: approx(2 / 3), 2: 1}
    assert values(con, "t_closeness", sensitive=["s"]) == {1: approx(1 / 3 - 1 / 5), 2: approx(1 / 5)}
    assert values(con, "beta_likeness", sensitive=["s"]) == {1: approx((1 / 3 - 1 / 5) * 5), 2: approx(1 / 4)}


def test_joint_is_within_equal_other_sensitive_values(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS FROM (VALUES (1, 'a', 'x'), (1, 'b', 'x'), (1, 'a', 'y'), (1, 'c', 'y')) AS v (g, s, u)"
    )
    for multi, expected in (("independent", {"s": 3, "u": 2}), ("joint", {"s": 2, "u": 1})):
        actual_rows = rows(con, "l_diversity", qi=["g"], sensitive=["s", "u"], multi_sensitive=multi)
        assert {row["sensitive"]: row["value"] for row in actual_rows} == expected
    assert (
        "Within equal values"
        in summary(con, qi=["g"], sensitive=["s", "u"], multi_sensitive="joint")["alpha", "s"]["description"]
    )


def test_ten_worst_classes_are_listed_in_order(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT g, i AS s FROM range(1, 16) AS a (g), range(g) AS b (i)")
    actual_rows = rows(con, "k_anonymity", qi=["g"])
    assert [(row["class"]["g"], row["value"]) for row in actual_rows] == [(n, n) for n in range(1, 11)]
    actual_rows = rows(con, "alpha_k", qi=["g"], sensitive=["s"])
    assert [row["class"]["g"] for row in actual_rows] == list(range(1, 11))
    assert {row["achieved"] for row in actual_rows} == {1.0}


def test_t_closeness_of_many_values_within_500_mb(con: Any) -> None:
    con.execute("SET memory_limit = '500MB'").fetchall()
    con.execute("CREATE TABLE t AS SELECT i % 5000 AS g, i AS s FROM range(50_000) AS r (i)")
    assert achieved(con, "t_closeness", qi=["g"], sensitive=["s"], ground_distance="ordered") < 0.2


# --- pycanon ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_model_values_equal_pycanon(con: Any, seed: int) -> None:
    """Compares the correct metrics only.

    Its recursive diversity begins at the least frequent value, and its enhanced likeness is not judged value by value.
    """
    canon = pytest.importorskip("pycanon.anonymity")
    rng = random.Random(f"canon {seed}")
    n = rng.randint(10, 80)
    con.execute("CREATE TABLE t (age INTEGER, area VARCHAR, disease VARCHAR, score INTEGER)")
    records = [
        (rng.randint(1, 3), rng.choice("ab"), rng.choice("xxxyyz"), rng.choice([9, 9, 10, -1])) for _ in range(n)
    ]
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [*records, (1, "a", "y", 10), (1, "a", "x", 9)])
    frame, qi = con.execute("FROM t").df(), ["age", "area"]
    assert achieved(con, "k_anonymity", qi=qi) == canon.k_anonymity(frame, qi)
    for column, emd in (("disease", "equal"), ("score", "ordered")):
        parameters: dict[str, object] = {"qi": qi, "sensitive": [column]}
        asked_values = (frame, qi, [column])
        assert achieved(con, "l_diversity", **parameters) == canon.l_diversity(*asked_values)
        assert achieved(con, "p_sensitive", **parameters) == canon.l_diversity(*asked_values)
        entropy = achieved(con, "l_diversity", diversity="entropy", **parameters)
        assert canon.entropy_l_diversity(*asked_values) in (int(entropy - 1e-9), int(entropy + 1e-9)), (
            "it cuts to an integer"
        )
        assert achieved(con, "alpha_k", **parameters) == approx(canon.alpha_k_anonymity(*asked_values)[0])
        assert achieved(con, "beta_likeness", **parameters) == approx(canon.basic_beta_likeness(*asked_values))
        assert achieved(con, "t_closeness", ground_distance=emd, **parameters) == approx(
            canon.t_closeness(*asked_values)
        )


@pytest.mark.filterwarnings("ignore")
def test_lone_null_is_class_unlike_pycanon(con: Any) -> None:
    canon = pytest.importorskip("pycanon.anonymity")
    con.execute("CREATE TABLE t AS FROM (VALUES ('a', 1), ('a', 2), (NULL, 1)) AS v (g, s)")
    assert canon.k_anonymity(con.execute("FROM t").df(), ["g"]) == 2
    assert values(con, "k_anonymity") == {"a": 2, None: 1}


# --- data ------------------------------------------------------------------------------------------------

TYPES = {
    "BOOLEAN": ("true", "false"),
    "DECIMAL(18, 3)": ("1.250", "1.251"),
    "DECIMAL(38, 10)": ("1", "2"),
    "HUGEINT": ("1", "170141183460469231731687303715884105727"),
    "DOUBLE": ("'nan'", "0.0"),
    "FLOAT": ("'inf'", "'-inf'"),
    "DATE": ("'2020-01-01'", "'infinity'"),
    "TIMESTAMP": ("'2020-01-01'", "'2020-01-02'"),
    "TIME": ("'10:00'", "'11:00'"),
    "INTERVAL": ("'1 day'", "'2 days'"),
    "UUID": ("'00000000-0000-0000-0000-000000000000'", "'00000000-0000-0000-0000-000000000001'"),
    "BLOB": (r"'\x00'", "'a'"),
    "ENUM ('b', 'a')": ("'a'", "'b'"),
    "INTEGER[]": ("[1, 2]", "[1, NULL]"),
    "VARCHAR[2]": ("['a', 'b']", "['b', NULL]"),
    "STRUCT(x INTEGER, y VARCHAR)": ("{'x': 1, 'y': NULL}", "{'x': 2, 'y': 'a'}"),
    "MAP(VARCHAR, INTEGER)": ("MAP {'a': 1}", "MAP {'b': 1}"),
    "UNION(n INTEGER, s VARCHAR)": ("1", "'a'::VARCHAR"),
}


@pytest.mark.parametrize("type_", TYPES)
def test_columns_of_every_type_form_classes_and_are_measured(con: Any, type_: str) -> None:
    one, other = (f"CAST({value} AS {type_})" for value in TYPES[type_])
    con.execute(f"CREATE TABLE t AS SELECT unnest([{one}, {one}, {other}, NULL]) AS x, unnest([1, 1, 1, 2]) AS g")
    con.execute(f"CREATE TABLE found AS FROM {call('k_anonymity', qi=['x'])}")
    assert con.execute("SELECT value FROM found ORDER BY ALL").fetchall() == [(1,), (1,), (2,)]
    assert con.execute("SELECT typeof(class.x) = typeof(x) FROM found, t LIMIT 1").fetchall() == [(True,)]
    assert values(con, "l_diversity", sensitive=["x"]) == {1: 2, 2: 0}
    assert values(con, "alpha_k", sensitive=["x"]) == {1: approx(2 / 3), 2: 1}
    assert values(con, "t_closeness", sensitive=["x"]) == {1: approx(1 / 4), 2: approx(3 / 4)}
    assert values(con, "t_closeness", sensitive=["x"], ground_distance="ordered").keys() == {1, 2}
    assert summary(con, qi=["g"], sensitive=["x"])["k_anonymity", None]["achieved"] == 1


def test_nan_null_and_minus_zero_form_classes(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT unnest([0.0::DOUBLE, -0.0, 'nan', 'nan', NULL, NULL]) AS g")
    actual_rows = rows(con, "k_anonymity", qi=["g"])
    assert [row["value"] for row in actual_rows] == [2, 2, 2]
    assert str(actual_rows[0]["class"]["g"]) == "0.0"
    assert math.isnan(actual_rows[1]["class"]["g"])
    assert actual_rows[2]["class"]["g"] is None


def test_anonymity_ignores_collation_of_texts(con: Any) -> None:
    con.execute("CREATE TABLE t (g VARCHAR COLLATE NOCASE, s VARCHAR COLLATE NOCASE)")
    con.execute("INSERT INTO t VALUES ('a', 'x'), ('A', 'X'), ('a', 'X')")
    assert values(con, "k_anonymity") == {"A": 1, "a": 2}
    assert values(con, "l_diversity", sensitive=["s"]) == {"A": 1, "a": 2}


def test_anonymity_of_empty_table_raises(con: Any) -> None:
    con.execute("CREATE TABLE t (g INTEGER, s VARCHAR)")
    for function in MEASURING:
        sensitive = {} if function == "k_anonymity" else {"sensitive": ["s"]}
        assert_refused(con, call(function, qi=["g"], **sensitive), f"{function}: t has no rows")
    assert_refused(con, call("anonymity", qi=["g"]), "anonymity: t has no rows")


def test_single_record_achieves_k_1_and_l_1(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS g, 'Flu' AS s")
    achieveds = {key[0]: row["achieved"] for key, row in summary(con, qi=["g"], sensitive=["s"]).items()}
    assert {name: achieved for name, achieved in achieveds.items() if name not in OTHERS} == {
        "k_anonymity": 1,
        "distinct_l": 1,
        "entropy_l": 1,
        "recursive_l": 1,
        "t_closeness_equal": 0,
        "alpha": 1,
        "p_sensitive": 1,
        "beta_basic": 0,
        "beta_enhanced": 0,
    }
    assert values(con, "t_closeness", sensitive=["s"], ground_distance="ordered") == {1: 0}


def test_anonymity_without_sensitive_column_reports_only_k(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 2 AS g FROM range(7) AS r (i)")
    (row,) = rows(con, "anonymity", qi=["g"])
    assert (row["model"], row["achieved"], row["worst_classes"], row["records_in_worst"]) == ("k_anonymity", 3, 1, 3)
    for function in JUDGING:
        assert_refused(con, call(function, qi=["g"]), "needs a sensitive column, and t has none")


def test_anonymity_reads_source_once(con: Any) -> None:
    con.execute("CREATE VIEW t AS SELECT (random() * 4)::INTEGER AS g, (random() * 4)::INTEGER AS s FROM range(1000)")
    actual_summary = summary(con, qi=["g"], sensitive=["s"])
    assert sum(row["size"] for row in rows(con, "k_anonymity", qi=["g"])) == 1000
    assert actual_summary["distinct_l", "s"]["records_in_worst"] == 1000


# --- names and sources -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "column"), [*zip(HOSTILE, reversed(HOSTILE), strict=True)])
def test_anonymity_accepts_hostile_names(con: Any, name: str, column: str) -> None:
    con.execute(f"CREATE TABLE {identifier(name)} ({identifier(column)} INTEGER, g VARCHAR)")
    con.execute(f"INSERT INTO {identifier(name)} VALUES (1, ?), (2, NULL)", [name])
    table = str(identifier(name))
    expected = [{column: 1, "g": name}, {column: 2, "g": None}]
    for equals in ("=", ":=", "=>"):
        query = call("k_anonymity", table, equals, qi=[column, "g"])
        assert [row[4] for row in con.execute(f"FROM {query}").fetchall()] == expected
    query = call("anonymity", table, qi=["g"], sensitive=[column])
    assert {row[1] for row in con.execute(f"FROM {query}").fetchall()} == {None, column}
    assert_refused(con, call("k_anonymity", table, qi=[name + "?"]), "has no column")


def test_anonymity_accepts_internal_column_names(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i % 2 AS s0, i % 3 AS q0, i AS person, 1 AS records, i AS value "
        "FROM range(12) AS r (i)"
    )
    actual_summary = summary(con, qi=["s0", "records"], sensitive=["q0", "value"], person="person")
    assert actual_summary["k_anonymity", None]["achieved"] == 6
    assert actual_summary["distinct_l", "q0"]["achieved"] == 3
    assert actual_summary["distinct_l", "value"]["achieved"] == 6


def test_anonymity_reads_views_schemas_databases_and_files(con: Any, tmp_path: Path) -> None:
    con.execute("CREATE SCHEMA clinic")
    con.execute("CREATE TABLE clinic.t AS SELECT i % 2 AS g, i % 3 AS s FROM range(12) AS r (i)")
    con.execute("CREATE VIEW seen AS SELECT g AS g, s AS s FROM clinic.t WHERE s < 2")
    con.execute(f"ATTACH {text(str(tmp_path / 'other.duckdb'))} AS other")
    con.execute("CREATE TABLE other.main.t AS FROM clinic.t")
    sources = ["clinic.t", "memory.clinic.t", "other.main.t", "other.t"]
    for ending in ("csv", "parquet", "json"):
        con.execute(f"COPY clinic.t TO {text(str(tmp_path / f't.{ending}'))}")
        sources.append(str(tmp_path / f"t.{ending}"))
    for source in sources:
        assert achieved(con, "k_anonymity", source, qi=["g"]) == 6, source
        assert achieved(con, "l_diversity", source, qi=["g"], sensitive=["s"]) == 3, source
    assert achieved(con, "k_anonymity", "seen", qi=["g"]) == 4


def test_anonymity_usable_in_tables_views_and_prepared_calls(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i % 2 AS g, i % 3 AS s FROM range(12) AS r (i)")
    query = call("l_diversity", qi=["g"], sensitive=["s"])
    expected = con.execute(f"FROM {query}").fetchall()
    con.execute(f"CREATE TABLE stored AS FROM {query}")
    con.execute(f"CREATE VIEW seen AS FROM {query}")
    assert con.execute("FROM stored").fetchall() == con.execute("FROM seen").fetchall() == expected
    assert con.execute("FROM l_diversity('t', qi = ?, sensitive = ?)", [["g"], ["s"]]).fetchall() == expected
    con.execute("INSERT INTO t VALUES (3, 1)")
    assert con.execute("SELECT min(achieved) FROM seen").fetchall() == [(1,)], "a view measures anew"
    con.execute(f"CREATE TABLE whole AS FROM {call('anonymity', qi=['g'], sensitive=['s'])}")
    assert con.execute("SELECT achieved FROM whole WHERE model = 'k_anonymity'").fetchall() == [(1,)]


def test_own_connection_measures_temp_tables_and_frames() -> None:
    import pandas as pd

    with dbanon.connect() as con:
        con.execute("CREATE TEMP TABLE t AS SELECT i % 2 AS g, i % 3 AS s FROM range(12) AS r (i)")
        assert achieved(con, "k_anonymity", qi=["g"]) == 6
        assert achieved(con, "l_diversity", qi=["g"], sensitive=["s"]) == 3
        con.register("frame", pd.DataFrame({"g": [1, 1, 2], "s": ["x", "y", "x"]}))
        assert achieved(con, "k_anonymity", "frame", qi=["g"]) == 1
        assert_refused(con, call("k_anonymity", qi=["g"], persom="s"), "no parameter 'persom'.*Did you mean 'person'")
        assert_refused(
            con, call("l_diversity", qi=["g"], sensitive=["s"], diverse="entropy"), "Did you mean 'diversity'"
        )


# --- parameters ------------------------------------------------------------------------------------------

GIVEN: dict[str, object] = {
    "qi": ["g"],
    "sensitive": ["disease"],
    "person": "nobody",
    "multi_sensitive": "joint",
    "diversity": "recursive",
    "c": 2.5,
    "ground_distance": "hierarchical",
    "hierarchies": {"disease": TREE},
    "likeness": "enhanced",
    "suppressed": "*",
}


@pytest.mark.parametrize("function", [f.name for f in anonymity.FUNCTIONS])
def test_parameters_accept_all_three_forms(star: Any, function: str) -> None:
    star.execute("ALTER TABLE t ADD COLUMN nobody INTEGER DEFAULT 1")
    names = next([p.name for p in f.parameters] for f in anonymity.FUNCTIONS if f.name == function)
    values_by_name = {name: GIVEN[name] for name in names}
    actual_rows = [
        star.execute(f"FROM {call(function, equals=form, **values_by_name)}").fetchall() for form in ("=", ":=", "=>")
    ]
    assert actual_rows[0] and actual_rows[0] == actual_rows[1] == actual_rows[2]


@pytest.mark.parametrize(
    ("query", "match"),
    [
        ("k_anonymity('t')", "no quasi-identifier is declared for t"),
        ("k_anonymity('t', qi=[])", "no quasi-identifier"),
        ("k_anonymity('nobody', qi=['g'])", "no table, view or file 'nobody'"),
        ("k_anonymity(NULL, qi=['g'])", "tbl is missing"),
        ("k_anonymity('SELECT 1', qi=['g'])", "is not the name of a table"),
        ("k_anonymity('t', qi=['desease'])", "no column 'desease' .named in qi.. Did you mean 'disease'"),
        ("alpha_k('t', qi=['g'], sensitive=['desease'])", "named in sensitive.. Did you mean 'disease'"),
        ("k_anonymity('t', qi=['g'], person='desease')", "named in person.. Did you mean 'disease'"),
        ("k_anonymity('t', qi=['g'], multi_sensitive='joint')", "no parameter 'multi_sensitive'"),
        ("k_anonymity('t', qi=['g', 'G'])", "qi must be a list of different column names"),
        ("alpha_k('t', qi=['g'], sensitive=['g'])", "t.g is in two roles: qi and sensitive"),
        ("k_anonymity('t', qi=['g'], person='G')", "t.g is in two roles: qi and person"),
        (
            "alpha_k('t', qi=['g'], sensitive=['disease'], multi_sensitive='both')",
            "multi_sensitive must be one of 'independent', 'joint'",
        ),
        ("l_diversity('t', qi=['g'], sensitive=['disease'], c=3)", "c has no effect.*not 'recursive'"),
        ("l_diversity('t', qi=['g'], sensitive=['disease'], diversity='recursive', c=0)", "c must be a number above 0"),
        ("l_diversity('t', qi=['g'], sensitive=['disease'], diversity='all')", "diversity must be one of"),
        (
            "t_closeness('t', qi=['g'], sensitive=['disease'], ground_distance='hierarchical')",
            "needs a hierarchy of t.disease",
        ),
        (
            "t_closeness('t', qi=['g'], sensitive=['disease'], hierarchies={'disease': 'sex'})",
            "ground_distance is 'equal'",
        ),
        (
            "t_closeness('t', qi=['g'], sensitive=['disease'], ground_distance='hierarchical', "
            "hierarchies={'disease': 'sexx'})",
            "no hierarchy 'sexx' .of t.disease.. Did you mean 'sex'",
        ),
        (
            "t_closeness('t', qi=['g'], sensitive=['disease'], ground_distance='ordered', hierarchies={'disease': "
            "'sex'})",
            "t.disease: 3 distinct values are missing from hierarchy 'sex'",
        ),
        ("anonymity('t', qi=['g'], hierarchies={'disease': 'sex'})", "not a sensitive column of this call"),
        ("anonymity('t', qi=['g'], hierarchies={'desease': 'sex'})", "named in hierarchies.. Did you mean 'disease'"),
        ("anonymity('t', qi=['g'], qi=['g'])", "qi is given twice"),
        ("beta_likeness('t', qi=['g'], sensitive=['disease'], likeness='more')", "likeness must be one of"),
    ],
)
def test_invalid_anonymity_call_raises(star: Any, query: str, match: str) -> None:
    assert_refused(star, query, match)


@pytest.mark.parametrize("type_", ["INTEGER[]", "STRUCT(x INTEGER)", "INTERVAL"])
def test_indistinguishable_person_columns_refused(con: Any, type_: str) -> None:
    con.execute(f"CREATE TABLE t (g INTEGER, person {type_})")
    assert_refused(con, call("k_anonymity", qi=["g"], person="person"), "cannot identify persons")


# --- the policy ------------------------------------------------------------------------------------------


def test_call_columns_override_declared_columns(star: Any) -> None:
    star.execute("ALTER TABLE t ADD COLUMN who INTEGER")
    star.execute("UPDATE t SET who = rowid // 2")
    dbanon.declare(star, "t", g="quasi", disease="sensitive", who="person")
    assert achieved(star, "k_anonymity") == 2
    assert achieved(star, "alpha_k") == 0.5
    assert set(summary(star)) == set(summary(star, qi=["g"], sensitive=["disease"], person="who"))
    assert achieved(star, "k_anonymity", qi=["disease"]) == 1
    assert_refused(star, call("k_anonymity", qi=["who"]), "t.who is in two roles: qi and person")


def test_declared_hierarchy_determines_distance(star: Any) -> None:
    star.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_flat('flat', 't', 'disease')")
    dbanon.declare(star, "t", g="quasi", disease={"role": "sensitive", "hierarchy": "flat"})
    assert achieved(star, "t_closeness", ground_distance="hierarchical") == approx(1 / 6), "flat: all equally far apart"
    assert achieved(star, "t_closeness", ground_distance="hierarchical", hierarchies={"disease": TREE}) == approx(
        1 / 12
    )
    assert summary(star)["t_closeness_hierarchical", "disease"]["achieved"] == approx(1 / 6)


@pytest.mark.parametrize(
    ("hierarchy_rows", "why"),
    [
        ("('r', NULL, '*'), ('s', NULL, '*')", "exactly one root"),
        ("('r', NULL, '*'), ('a', 'b', 'Flu'), ('b', 'a', 'b')", "not reachable"),
        ("('r', NULL, '*'), ('a', 'r', 'Flu'), ('b', 'r', 'Flu')", "under one parent have the same label"),
        (
            "('r', NULL, '*'), ('a', 'r', 'A'), ('b', 'r', 'B'), ('c', 'a', 'Flu'), ('d', 'b', 'Flu')",
            "of several leaves",
        ),
    ],
)
@pytest.mark.parametrize("emd", ["ordered", "hierarchical"])
def test_hierarchy_that_is_no_tree_refused(star: Any, hierarchy_rows: str, why: str, emd: str) -> None:
    star.execute("DELETE FROM t WHERE disease <> 'Flu'")
    star.execute(
        f"INSERT INTO dbanon.hierarchy (name, node, parent, label) SELECT 'odd', * FROM (VALUES {hierarchy_rows}) AS v"
    )
    assert_refused(
        star,
        call("t_closeness", qi=["g"], sensitive=["disease"], ground_distance=emd, hierarchies={"disease": "odd"}),
        why,
    )


def test_anonymity_refuses_invalid_policy(star: Any) -> None:
    star.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('t', 'g', 'quasy')")
    assert_refused(star, call("k_anonymity", qi=["disease"]), "t.g: there is no role 'quasy'. Did you mean 'quasi'")
    star.execute("UPDATE dbanon.policy SET role = 'quasi', column_name = 'h'")
    assert_refused(star, call("k_anonymity"), "no column 'h' .named in dbanon.policy")
    star.execute("UPDATE dbanon.policy SET column_name = 'g'")
    star.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('t', 'G', 'quasi')")
    assert_refused(star, call("k_anonymity"), "t.g is in two roles")


def test_policy_change_in_open_transaction_refused(star: Any) -> None:
    dbanon.declare(star, "t", g="quasi", disease="sensitive")
    star.execute("BEGIN")
    star.execute("DELETE FROM dbanon.policy WHERE column_name = 'disease'")
    assert_refused(star, call("k_anonymity"), "policy of t changed")
    star.execute("ROLLBACK")
    assert achieved(star, "k_anonymity") == 3


def test_release_achieves_requested_models(six: Any) -> None:
    six.execute("CREATE TABLE safe AS FROM kacpc('six', k=3)")
    actual_summary = summary(six, "safe", qi=["age", "workclass"], sensitive=["disease"])
    assert actual_summary["k_anonymity", None]["achieved"] >= 3
