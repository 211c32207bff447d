"""Releases are true, reveal nothing else, and every number can be recomputed from them."""

from __future__ import annotations

import datetime
import itertools
import math
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from oracle import dates
from oracle.reference import Attribute, Category, Number, Tree, check_release, eloss_precision, flat

import dbanon

Row = dict[str, Any]

CITIES = [
    ["Boston", "Massachusetts", "East", "*"],
    ["Salem", "Massachusetts", "East", "*"],
    ["Albany", "New York", "East", "*"],
    ["Buffalo", "New York", "East", "*"],
    ["Reno", "West", "*"],
    ["Elko", "West", "*"],
    ["Abroad", "*"],
]
TREE = Tree(CITIES)
ALGORITHMS = ("kacpc", "mondrian")
MEASURED_ELSEWHERE = (
    r"(\w+_clusters|total_information_loss|ncp|gcp|numeric_\w+|\w+_suppression|square_error\w*|sse_share|"
    r"fully_generalized)(:.*)?$"
)
"""Metrics that tests/release/plan/test_metrics.py and test_publishable_metrics.py recompute."""


def rows_of(con: Any, query: str, parameters: Sequence[Any] | None = None) -> list[Row]:
    """Return the rows of a query as dicts."""
    con.execute(query, parameters) if parameters else con.execute(query)
    names = [column[0] for column in con.description]
    return [dict(zip(names, row, strict=True)) for row in con.fetchall()]


@pytest.fixture
def trees(con: Any) -> Any:
    """Provide the connection with the hierarchy `cities`."""
    dbanon.load_hierarchy(con, "cities", CITIES)
    return con


# --- random tables -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RandomTable:
    """A random table `t(uid, age, income, city, job, disease, note, person)` and a call on it."""

    rows: list[Row]
    k: int
    algorithm: str
    qi: tuple[str, ...]
    person: bool

    @property
    def arguments(self) -> str:
        person = ", person := 'person'" if self.person else ""
        hierarchies = ", hierarchies := {'city': 'cities'}" if "city" in self.qi else ""
        return (
            f"('t', k := {self.k}, qi := {list(self.qi)}, sensitive := ['uid', 'disease'], insensitive := ['note'], "
            f"allow_rare := ['note']{hierarchies}{person})"
        )

    def call(self, ending: str = "") -> str:
        return f"{self.algorithm}{ending}{self.arguments}"

    @property
    def attributes(self) -> list[Attribute]:
        kinds: dict[str, Attribute] = {
            "age": Number(),
            "income": Number(),
            "city": Category(TREE),
            "job": Category(flat([r["job"] for r in self.rows])),
        }
        return [kinds[name] for name in self.qi]

    @property
    def units(self) -> int:
        """Return what k counts: records, or known persons."""
        return len({r["person"] for r in self.rows} - {None}) if self.person else len(self.rows)


TYPES = {
    "uid": "INTEGER", "age": "INTEGER", "income": "DOUBLE", "city": "VARCHAR", "job": "VARCHAR", "disease": "VARCHAR",
    "note": "BOOLEAN", "person": "INTEGER",
}  # fmt: skip


def random_table(seed: int) -> RandomTable:
    """Return a feasible table of mixed types, with NULLs, duplicates and few or many distinct values."""
    rnd = random.Random(seed)
    n = rnd.randint(2, 28)
    nulls = rnd.choice([0, 0, 0.15, 0.5])

    def maybe(value: Any, first: int) -> Any:
        return None if first and rnd.random() < nulls else value

    ages, incomes = rnd.choice([3, 20, 90]), rnd.choice([2, 1000])
    rows = [
        {
            "uid": i,
            "age": maybe(rnd.randint(-5, ages), i),
            "income": maybe(rnd.randint(0, incomes) / 8, i),
            "city": maybe(rnd.choice(CITIES)[0], i),
            "job": maybe(rnd.choice(["cook", "Cook", "nurse", "x;y", "o'k", ""]), i),
            "disease": maybe(rnd.choice(["Flu", "HIV", "Cancer"]), i),
            "note": maybe(rnd.random() < 0.5, i),
            "person": maybe(rnd.randint(0, n), i),
        }
        for i in range(n)
    ]
    qi = tuple(rnd.sample(["age", "income", "city", "job"], rnd.randint(1, 4)))
    person = rnd.random() < 0.3
    max_count = len({r["person"] for r in rows} - {None}) if person else n
    if max_count < 2:
        person, max_count = False, n
    k = rnd.choice([2, rnd.randint(2, max_count), max_count])
    return RandomTable(rows, k, ALGORITHMS[seed % 2], qi, person)


def write_table(con: Any, rows: Sequence[Row], types: dict[str, str] = TYPES, name: str = "t") -> None:
    """Write the rows to a table, in this order."""
    con.execute(f"CREATE OR REPLACE TABLE {name} ({', '.join(f'{n} {t}' for n, t in types.items())})")
    places = ", ".join(["(" + ", ".join("?" * len(types)) + ")"] * len(rows))
    con.execute(f"INSERT INTO {name} VALUES {places}", [row[n] for row in rows for n in types])


def release_classes_metrics(con: Any, table: RandomTable) -> tuple[list[Row], list[Row], list[Row]]:
    """Return release, classes and metrics."""
    return tuple(rows_of(con, f"FROM {table.call(e)}") for e in ("", "_classes", "_metrics"))  # type: ignore[return-value]


def check_recomputed_values(table: RandomTable, release: list[Row], classes: list[Row], metrics: list[Row]) -> None:
    """Assert that everything that can be recomputed from the released rows agrees."""
    qi = table.qi
    unchanged = ("uid", "disease", "note")
    if not table.person:
        check_release(table.rows, release, qi, table.attributes, table.k, unchanged)
    else:
        check_release(table.rows, release, qi, table.attributes, 1, unchanged)
    assert set(release[0]) == {*qi, *unchanged, "class_id"}

    # class_id and the published values determine each other; ids are 1, 2, ...
    key_of = {r["class_id"]: tuple(r[name] for name in qi) for r in release}
    assert len({*key_of.values()}) == len(key_of)
    assert all(key_of[r["class_id"]] == tuple(r[name] for name in qi) for r in release)
    assert sorted(key_of) == list(range(1, len(key_of) + 1))

    # rows are ordered by class_id and then by the published values
    def place(row: Row) -> tuple[Any, ...]:
        return (row["class_id"], *((row[n] is None, row[n] if row[n] is not None else 0) for n in unchanged))

    assert release == sorted(release, key=place)

    # classes
    members = defaultdict(list)
    for row in release:
        members[row["class_id"]].append(row)
    source = {row["uid"]: row for row in table.rows}
    persons = {c: len({source[r["uid"]]["person"] for r in rows} - {None}) for c, rows in members.items()}
    size = {c: len(rows) for c, rows in members.items()}
    units = persons if table.person else size
    assert min(units.values()) >= table.k
    assert [c["class_id"] for c in classes] == sorted(members)
    assert sum(c["size"] for c in classes) == len(release)
    for c in classes:
        rows = members[c["class_id"]]
        assert c["size"] == len(rows)
        assert tuple(c[name] for name in qi) == key_of[c["class_id"]]
        assert ("persons" in c) == table.person
        assert c.get("persons", 0) == (persons[c["class_id"]] if table.person else 0)
        for name in ("uid", "disease"):
            expected = Counter(r[name] for r in rows)
            assert {v["value"]: v["size"] for v in c[name]} == expected
            sizes = [v["size"] for v in c[name]]
            assert sizes == sorted(sizes, reverse=True)

    # metrics
    n, m = len(release), len(members)
    place_of = {row["uid"]: i for i, row in enumerate(table.rows)}
    clusters = [[place_of[r["uid"]] for r in rows] for rows in members.values()]
    records = [[row[name] for name in qi] for row in table.rows]
    precision = eloss_precision(records, table.attributes, clusters, clusters)
    loss = {c["class_id"]: c["loss"] for c in classes}
    for c, rows in members.items():
        own_values = [[place_of[r["uid"]] for r in rows]]
        alone = len(records) * (1 - eloss_precision(records, table.attributes, own_values, clusters)) / len(rows)
        assert loss[c] == pytest.approx(alone, abs=1e-9)
    homogeneous = {
        name: {c for c, rows in members.items() if len({r[name] for r in rows}) == 1} for name in ("uid", "disease")
    }

    def share(ids: set[int]) -> float:
        return sum(size[c] for c in ids) / n

    expected_metrics: dict[str, float] = {
        "records": n,
        "dropped:null": 0,
        "suppressed": 0,
        "k": min(units.values()),
        "k_full_record": 1,  # every record has a uid of its own
        "unique_by_unchanged_columns": n,
        "classes": m,
        "class_size_average": n / m,
        "class_size_greatest": max(size.values()),
        "c_avg": n / m / table.k,
        "precision": precision,
        "information_loss": (1 - precision) * n * len(qi),
        "discernibility": sum(s * s for s in size.values()),
        "risk_highest": max(1 / u for u in units.values()),
        "risk_average": sum(size[c] / units[c] for c in members) / n,
        "homogeneous_share": share(homogeneous["uid"] | homogeneous["disease"]),
        "homogeneous_share:uid": share(homogeneous["uid"]),
        "homogeneous_share:disease": share(homogeneous["disease"]),
        "columns_with_flat_hierarchy": int("job" in qi),
        "is_single_class": int(m == 1),
    }
    if table.person:
        expected_metrics["persons"] = table.units
    rare: dict[str, float] = {}
    for name in ("uid", "disease"):
        belongs = defaultdict(set)
        for row in release:
            person = source[row["uid"]]["person"] if table.person else row["uid"]
            belongs[row[name]] |= {person} - {None} if table.person else {person}
        few_counts_by_value = {value: len(person) for value, person in belongs.items() if len(person) < table.k}
        expected_metrics[f"n_rare_values:{name}"] = len(few_counts_by_value)
        rare |= {f"rare_value:{name}={'NULL' if v is None else v}": count for v, count in few_counts_by_value.items()}
    values_by_metric = {row["metric"]: row["value"] for row in metrics}
    assert len(values_by_metric) == len(metrics)
    clusters_made = values_by_metric.pop("clusters")
    for name in set(values_by_metric) - set(expected_metrics | rare):
        assert re.match(MEASURED_ELSEWHERE, name), name
        assert math.isfinite(values_by_metric.pop(name))
    assert m <= clusters_made <= n // table.k
    if table.algorithm == "kacpc" and not table.person:
        assert clusters_made == n // table.k
    assert values_by_metric == pytest.approx(expected_metrics | rare, abs=1e-9)
    assert all(row["better"] in ("higher", "lower") and row["description"] for row in metrics)


@pytest.mark.not_everyday
@pytest.mark.parametrize("batch", range(8))
def test_random_releases_true_and_recomputable(trees: Any, batch: int) -> None:
    for seed in range(batch * 12, batch * 12 + 12):
        table = random_table(seed)
        write_table(trees, table.rows)
        check_recomputed_values(table, *release_classes_metrics(trees, table))


@pytest.mark.not_everyday
@pytest.mark.parametrize("batch", range(8))
def test_shuffled_source_and_threads_give_same_release(trees: Any, batch: int) -> None:
    for seed in range(1000 + batch * 15, 1000 + batch * 15 + 15):
        table = random_table(seed)
        write_table(trees, table.rows)
        trees.execute("SET threads = 1")
        release = rows_of(trees, f"FROM {table.call()}")
        values = [rows_of(trees, f"FROM {table.call(e)}") for e in ("_classes", "_metrics")] if seed % 4 == 0 else []
        shuffled = random.Random(seed).sample(table.rows, len(table.rows))
        dbanon.clear_cache(trees)
        write_table(trees, shuffled)
        trees.execute("SET threads = 4")
        assert rows_of(trees, f"FROM {table.call()}") == release, seed
        if values:
            assert [rows_of(trees, f"FROM {table.call(e)}") for e in ("_classes", "_metrics")] == values


@pytest.mark.not_everyday
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_large_release_independent_of_order_and_threads(con: Any, algorithm: str) -> None:
    con.execute(
        "CREATE TABLE base AS SELECT i AS uid, (hash(i) % 60)::INTEGER AS age, 'c' || hash(i + 1) % 9 AS city, "
        "CASE WHEN hash(i + 2) % 20 > 0 THEN (hash(i + 2) % 5)::INTEGER END AS s, hash(i + 3) % 3 AS note, "
        "hash(i + 4) % 40000 AS person FROM range(150000) AS r (i)"
    )
    call = "('t', k := 400, qi := ['age', 'city'], sensitive := ['s'], insensitive := ['note'], person := 'person')"
    answers = []
    for threads, order in ((4, "uid"), (1, "hash(uid + 9)"), (4, "age DESC, uid DESC")):
        dbanon.clear_cache(con)
        con.execute(f"SET threads = {threads}")
        con.execute(f"SET preserve_insertion_order = {'true' if threads == 1 else 'false'}")
        con.execute(f"CREATE OR REPLACE TABLE t AS FROM base ORDER BY {order}")
        answers.append([con.execute(f"FROM {algorithm}{e}{call}").fetchall() for e in ("", "_classes", "_metrics")])
    assert len(answers[0][0]) == 150_000
    assert answers[0][1:] == answers[1][1:] == answers[2][1:]
    assert answers[0][0] == answers[1][0] == answers[2][0]
    rows = answers[0][0]
    assert rows == sorted(rows, key=lambda r: (r[-1], r[2] is None, r[2] or 0, r[3]))


# --- settings of the session -----------------------------------------------------------------------------------

SETTINGS = (
    "SET default_null_order = 'nulls_first'",
    "SET default_null_order = 'nulls_last_on_asc_first_on_desc'",
    "SET integer_division = true",
    "SET default_collation = 'NOCASE'",
    "SET ieee_floating_point_ops = false",
    "SET old_implicit_casting = true",
    "SET TimeZone = 'Asia/Tokyo'",
    "SET Calendar = 'japanese'",
    "PRAGMA disable_optimizer",
    "SET preserve_insertion_order = false",
)

MIXED = """
    CREATE TABLE mixed AS SELECT
        i AS uid,
        CASE WHEN i % 11 > 0 THEN i // 5 % 9 END AS age,
        CASE WHEN i % 7 > 0 THEN ['a', 'A', 'b', 'ä', 'Z'][1 + i % 5] END AS word,
        TIMESTAMPTZ '2020-02-28 20:00:00+00' + INTERVAL (i * 13) HOUR AS seen,
        DATE '2019-12-30' + (i % 5 * 30)::INTEGER AS born
    FROM range(120) AS r (i)
"""
MIXED_CALL = (
    "('mixed', k := 3, qi := ['age', 'word', 'born'], sensitive := 'seen', insensitive := 'uid', allow_rare := 'uid')"
)


def fingerprints(con: Any, call: str = MIXED_CALL) -> list[str]:
    """Return release, classes and metrics as texts that do not depend on the session, in their order."""
    con.execute("BEGIN")
    release = con.execute(f"SELECT * REPLACE (epoch_us(seen) AS seen) FROM kacpc{call}").fetchall()
    classes = con.execute(f"SELECT * EXCLUDE (seen) FROM kacpc_classes{call}").fetchall()
    metrics = con.execute(f"FROM kacpc_metrics{call} WHERE metric NOT LIKE 'rare_value:%'").fetchall()
    con.execute("COMMIT")
    return [str(release), str(classes), str(metrics)]


@pytest.mark.not_everyday
@pytest.mark.parametrize("setting", SETTINGS)
def test_session_settings_do_not_change_release(con: Any, setting: str) -> None:
    con.execute(MIXED)
    old_fingerprints = fingerprints(con)
    dbanon.clear_cache(con)
    con.execute(setting)
    assert fingerprints(con) == old_fingerprints


@pytest.mark.not_everyday
def test_default_order_desc_does_not_change_release() -> None:
    script = (
        "import duckdb, dbanon\n"
        "con = dbanon.attach(duckdb.connect())\n"
        f"con.execute('''{MIXED}''')\n"
        f"""query = "SELECT * EXCLUDE (seen) FROM kacpc{MIXED_CALL}"\n"""
        "before = con.execute(query).fetchall()\n"
        "con.execute(\"SET default_order = 'DESC'\")\n"
        "assert con.execute(query).fetchall() == before\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=20, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


# --- collations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("collate", "setting"), [(" COLLATE NOCASE", None), ("", "SET default_collation = 'NOCASE'")])
def test_collated_equal_values_remain_distinct(con: Any, collate: str, setting: str | None) -> None:
    if setting:
        con.execute(setting)
    rnd = random.Random(7)
    rows = [(i, rnd.choice(["a", "A", "b", "B", "c"]), rnd.choice(["Flu", "flu", "HIV"])) for i in range(60)]
    answers = []
    for order in (rows, rows[::-1]):
        con.execute(f"CREATE OR REPLACE TABLE t (uid INTEGER, word VARCHAR{collate}, s VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", order)
        answers.append(
            con.execute(
                "FROM kacpc('t', k := 3, qi := ['word'], sensitive := ['s'], insensitive := 'uid', allow_rare := 'uid')"
            ).fetchall()
        )
    assert answers[0] == answers[1], "the release depends on the physical order"
    source = {uid: (word, s) for uid, word, s in rows}
    by_uid = {row[0]: row for row in answers[0]}
    for uid, (word, s) in source.items():
        assert by_uid[uid][1] in ("*", word), f"{word} is published as {by_uid[uid][1]}"
        assert by_uid[uid][2] == s


# --- the order of the rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [*itertools.permutations(["u0", "u1", "class_id"]), ("rid", "tie", "cluster")])
def test_rows_ordered_by_all_published_columns(con: Any, names: Any) -> None:
    rnd = random.Random(3)
    rows = [(i // 40, rnd.randint(0, 3), rnd.randint(0, 2), i) for i in range(200)]
    rnd.shuffle(rows)
    a, b, c = names
    con.execute(f"CREATE TABLE t (age INTEGER, {a} INTEGER, {b} INTEGER, {c} INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    con.execute(f"FROM kacpc('t', k := 20, qi := ['age'], sensitive := ['{a}', '{b}', '{c}'])")
    columns = [d[0] for d in con.description]
    assert columns[:4] == ["age", a, b, c]
    release = con.fetchall()
    assert release == sorted(release, key=lambda r: (r[4], r[1], r[2], r[3])), columns


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("INTERVAL", ["INTERVAL 1 MONTH", "INTERVAL 30 DAY", "INTERVAL 720 HOUR"]),
        ("DOUBLE", ["0.0::DOUBLE", "'-0.0'::DOUBLE"]),
        ("INTERVAL[]", ["[INTERVAL 1 MONTH]", "[INTERVAL 30 DAY]"]),
        ("STRUCT(a DOUBLE)", ["{'a': 0.0}", "{'a': '-0.0'::DOUBLE}"]),
    ],
)
def test_equal_comparing_values_hide_source_order(con: Any, type_: str, values: list[str]) -> None:
    choice = "CASE " + " ".join(f"WHEN i % {len(values)} = {j} THEN {v}" for j, v in enumerate(values)) + " END"
    answers = []
    for threads, order in ((1, "i"), (4, "hash(i)"), (4, "-i")):
        con.execute(f"SET threads = {threads}")
        con.execute(f"CREATE OR REPLACE TABLE t (age INTEGER, v {type_})")
        con.execute(f"INSERT INTO t SELECT 7, {choice} FROM range(130000) AS r (i) ORDER BY {order}")
        answers.append(
            con.execute("SELECT v::VARCHAR FROM kacpc('t', k := 50000, qi := 'age', sensitive := 'v')").fetchall()
        )
    assert answers[0] == answers[1] == answers[2]
    runs = sum(a != b for a, b in itertools.pairwise(answers[0]))
    assert runs < len(values), "equal values are not ordered by how they read, so they keep an inner order"


# --- the source is read once -----------------------------------------------------------------------------------

FUNCTIONS = ("kacpc", "kacpc_classes", "kacpc_metrics", "mondrian", "mondrian_classes", "mondrian_metrics")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("nulls", ["keep", "drop"])
def test_release_reads_source_once(con: Any, function: str, nulls: str) -> None:
    con.execute("CREATE SEQUENCE reads START 1")
    con.execute("CREATE TABLE t AS SELECT i AS s, i // 5 AS a FROM range(40) AS r (i)")
    con.execute("CREATE VIEW v AS SELECT nextval('reads') % 1000 AS n, a, s FROM t")
    con.execute(f"FROM {function}('v', k := 4, qi := ['n', 'a'], sensitive := ['s'], nulls := '{nulls}')").fetchall()
    assert con.execute("SELECT nextval('reads')").fetchall() == [(41,)]


@pytest.mark.not_everyday
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_random_view_is_released_as_one_table(trees: Any, algorithm: str) -> None:
    trees.execute("CREATE TABLE t AS SELECT i AS uid FROM range(300) AS r (i)")
    trees.execute(
        "CREATE VIEW v AS SELECT uid, r AS age, r AS own, ['Boston', 'Salem', 'Reno', NULL][1 + q] AS city, q FROM ("
        "SELECT uid, (random() * 40)::INTEGER AS r, (random() * 3.99)::INTEGER % 4 AS q FROM t)"
    )
    arguments = (
        "('v', k := 7, qi := ['age', 'city'], sensitive := ['uid', 'own', 'q'], hierarchies := {'city': 'cities'})"
    )
    for _ in range(3):
        release = rows_of(trees, f"FROM {algorithm}{arguments}")
        source = [
            {"age": r["own"], "city": ["Boston", "Salem", "Reno", None][r["q"]], "uid": r["uid"]} for r in release
        ]
        assert sorted(r["uid"] for r in release) == list(range(300))
        check_release(source, release, ("age", "city"), [Number(), Category(TREE)], 7, ("uid",))
        classes = rows_of(trees, f"FROM {algorithm}_classes{arguments}")
        assert sum(c["size"] for c in classes) == 300
        assert min(c["size"] for c in classes) >= 7
        metrics = {m["metric"]: m["value"] for m in rows_of(trees, f"FROM {algorithm}_metrics{arguments}")}
        assert metrics["records"] == 300
        assert metrics["k"] >= 7


@pytest.mark.not_everyday
@pytest.mark.parametrize("sample", ["50 PERCENT (bernoulli)", "50 PERCENT (system)", "400 ROWS"])
def test_sampled_view_is_released_as_one_table(con: Any, sample: str) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS uid, i // 3 AS age, i % 4 AS s FROM range(40000) AS r (i)")
    con.execute(f"CREATE VIEW v AS SELECT * FROM t USING SAMPLE {sample}")
    for _ in range(3):
        release = rows_of(con, "FROM kacpc('v', k := 40, qi := ['age'], sensitive := ['uid', 's'])")
        assert len({r["uid"] for r in release}) == len(release)
        assert min(Counter(r["age"] for r in release).values()) >= 40
        for row in release:
            low, high = ends(row["age"])
            assert low <= row["uid"] // 3 <= high
            assert row["s"] == row["uid"] % 4
        metrics = {m: v for m, v, *_ in con.execute("FROM kacpc_metrics('v', k := 40, qi := ['age'])").fetchall()}
        assert metrics["k"] >= 40
        assert metrics["class_size_average"] == pytest.approx(metrics["records"] / metrics["classes"])


@pytest.mark.not_everyday
@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_file_is_released_like_table(con: Any, tmp_path: Path, ending: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS uid, (i * 7919) % 101 AS age, 'd' || i % 3 AS s FROM range(5000) AS r (i)"
    )
    path = tmp_path / f"people.{ending}"
    con.execute(f"COPY t TO '{path}'")
    for e in ("", "_classes", "_metrics"):
        for algorithm in ALGORITHMS:
            query = f"FROM {algorithm}{e}('{{}}', k := 30, qi := ['age'], sensitive := ['uid', 's'])"
            assert con.execute(query.format("t")).fetchall() == con.execute(query.format(path)).fetchall()


# --- numbers and dates ------------------------------------------------------------------------------------------


def ends(text: str) -> tuple[Fraction, Fraction]:
    """Return the ends of `25` or `[25, 29]`."""
    match = re.fullmatch(r"\[(\S+), (\S+)\]", text)
    low, high = match.groups() if match else (text, text)
    return Fraction(low), Fraction(high)


def test_dates_are_published_in_whole_months_by_default(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT DATE '1999-11-17' + (i * i % 900)::INTEGER AS born, "
        "TIMESTAMP '1969-12-30 23:59:59.999999' + INTERVAL (i * 37) HOUR AS seen, i AS uid FROM range(200) AS r (i)"
    )
    rows = con.execute("SELECT uid, born, seen FROM t").fetchall()
    source = {uid: (born, visited.date()) for uid, born, visited in rows}
    for qi in (["born"], ["seen"], ["born", "seen"]):
        release = rows_of(con, f"FROM kacpc('t', k := 4, qi := {qi}, sensitive := ['uid'])")
        typed = {
            r["uid"]: r
            for r in rows_of(con, f"FROM kacpc('t', k := 4, qi := {qi}, sensitive := ['uid'], intervals := 'bounds')")
        }
        for row in release:
            for name in qi:
                low, high = dates.ends(row[name])
                assert low is not None and high is not None
                assert row[name] == dates.text([low, high], "month")
                assert low.day == 1
                assert (high + datetime.timedelta(days=1)).day == 1
                assert low <= source[row["uid"]][("born", "seen").index(name)] <= high
                assert (typed[row["uid"]][name + "_min"], typed[row["uid"]][name + "_max"]) == (low, high)


@pytest.mark.not_everyday
def test_grid_snaps_outward_and_top_and_bottom_cover(con: Any) -> None:
    for seed in range(12):
        rnd = random.Random(seed)
        rows = [{"uid": i, "age": rnd.randint(-30, 120)} for i in range(rnd.randint(8, 80))]
        write_table(con, rows, {"uid": "INTEGER", "age": "INTEGER"})
        grid, bottom, top = rnd.choice([1, 5, 7, 10]), rnd.randint(-40, 40), rnd.randint(50, 130)
        call = f"('t', k := 4, qi := ['age'], sensitive := ['uid'], rounding := {{'age': {grid}}}"
        for row in rows_of(con, f"FROM kacpc{call})"):
            low, high = ends(row["age"])
            assert low % grid == 0
            assert (high + 1) % grid == 0
            assert low <= rows[row["uid"]]["age"] <= high
        coded_text = f", top := {{'age': {top}}}, bottom := {{'age': {bottom}}})"
        release = rows_of(con, f"FROM kacpc{call}{coded_text}")
        for row in release:
            age, text = rows[row["uid"]]["age"], row["age"]
            numbers = [int(n) for n in re.findall(r"-?\d+", text)]
            assert all(bottom <= n <= top for n in numbers), text
            assert (f">={top}" in text) or age <= max(numbers)
            assert (f"<={bottom}" in text) or age >= min(numbers)
            if age > top:
                assert f">={top}" in text
            if age < bottom:
                assert f"<={bottom}" in text
        assert min(Counter(r["age"] for r in release).values()) >= 4
        for intervals in ("bounds", "struct"):
            for row in rows_of(con, f"FROM kacpc{call}{coded_text[:-1]}, intervals := '{intervals}')"):
                typed = row["age"].values() if intervals == "struct" else (row["age_min"], row["age_max"])
                low, high = typed
                age = rows[row["uid"]]["age"]
                assert bottom <= low <= max(age, bottom)
                assert min(age, top) <= high <= top


@pytest.mark.not_everyday
def test_typed_bounds_and_structs_equal_text_intervals(trees: Any) -> None:
    for seed in range(2000, 2016):
        table = random_table(seed)
        numbers = [name for name in table.qi if name in ("age", "income")]
        if not numbers:
            continue
        write_table(trees, table.rows)
        text = {r["uid"]: r for r in rows_of(trees, f"FROM {table.call()}")}
        bounds = {r["uid"]: r for r in rows_of(trees, f"FROM {table.call()[:-1]}, intervals := 'bounds')")}
        structs = {r["uid"]: r for r in rows_of(trees, f"FROM {table.call()[:-1]}, intervals := 'struct')")}
        assert set(text) == set(bounds) == set(structs)
        for uid, row in text.items():
            for name in numbers:
                expected = (None, None) if row[name] in (None, "*") else ends(row[name])
                low, high = bounds[uid][name + "_min"], bounds[uid][name + "_max"]
                assert (low, high) == expected
                assert structs[uid][name] == (None if low is None else {"low": low, "high": high})
            for name in set(table.qi) - set(numbers):
                assert row[name] == bounds[uid][name] == structs[uid][name]
        for rows in (bounds, structs):
            keys = defaultdict(set)
            for row in rows.values():
                shown_values = {n: v for n, v in row.items() if n not in ("uid", "disease", "note", "class_id")}
                keys[str(shown_values)].add(row["class_id"])
            assert all(len(ids) == 1 for ids in keys.values())


def test_class_ids_follow_order_of_published_values(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT (i * 37) % 101 - 50 AS age, 'c' || i % 3 AS c FROM range(101) AS r (i)")
    classes = rows_of(con, "FROM mondrian_classes('t', k := 4, qi := ['age', 'c'])")
    places = [(*ends(c["age"]), c["c"]) for c in classes]
    assert len(places) > 8
    assert places == sorted(places)


def test_clusters_with_equal_values_form_one_class(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 5 AS age, i AS uid FROM range(20) AS r (i)")
    assert con.execute("SELECT class_id, size FROM kacpc_classes('t', k := 4, qi := ['age'])").fetchall() == [(1, 20)]
    metrics = dict(con.execute("SELECT metric, value FROM kacpc_metrics('t', k := 4, qi := ['age'])").fetchall())
    assert (metrics["clusters"], metrics["classes"], metrics["k"]) == (5, 1, 20)


# --- only declared columns are published -----------------------------------------------------------------------

SECRET = "SECRET-4711"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_row_id_identifier_or_withheld_column_published(con: Any, function: str) -> None:
    con.execute(
        f"CREATE TABLE t AS SELECT '{SECRET}' || i AS name, '{SECRET}' || i // 2 AS person, '{SECRET}' AS undeclared, "
        f"'{SECRET}' AS left_out, i // 6 AS age, 'x' AS note, 'Flu' AS s FROM range(60) AS r (i)"
    )
    dbanon.declare(
        con, "t", name="identifier", person="person", age="quasi", left_out="quasi", note="insensitive", s="sensitive"
    )
    for arguments in ("", ", qi := ['age']", ", withhold := ['left_out']", ", qi := ['age'], intervals := 'bounds'"):
        rows = rows_of(con, f"FROM {function}('t', k := 3{arguments})")
        shown_rows = set(rows[0])
        assert not shown_rows & {"rid", "tie", "person", "name", "undeclared", "rowid", "cluster"}
        if arguments:
            assert SECRET not in str(rows)
            assert "left_out" not in shown_rows
    if not function.endswith(("_classes", "_metrics")):
        assert shown_rows == {"age_min", "age_max", "note", "s", "class_id"}


def test_other_columns_rarer_than_k_are_refused_unless_allowed(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 1 AS a, i // 9 AS note FROM range(10) AS r (i)")
    for ending in ("", "_classes", "_metrics"):
        with pytest.raises(duckdb.Error, match="1 of its values belongs to fewer than k = 2"):
            con.execute(f"FROM kacpc{ending}('t', k := 2, qi := ['a'], insensitive := ['note'])").fetchall()
    rows = con.execute(
        "FROM kacpc('t', k := 2, qi := ['a'], insensitive := ['note'], allow_rare := ['note'])"
    ).fetchall()
    assert len(rows) == 10


SECRETS = f"""
    CREATE TABLE t (
        name VARCHAR, age INTEGER, pay DECIMAL(6, 2), half DOUBLE, big HUGEINT, born DATE, seen TIMESTAMP, city VARCHAR,
        job VARCHAR, hole INTEGER, tags VARCHAR[], doc JSON, disease VARCHAR, note VARCHAR
    );
    INSERT INTO t SELECT
        '{SECRET}-a' || i, 4711, 4711.47, 4711.4711, 47114711, DATE '4711-04-07', TIMESTAMP '4711-04-07 11:47:11',
        '{SECRET}-b', '{SECRET}-c' || i % 2, NULL, ['{SECRET}-d'], '{{"a": "{SECRET}-e"}}', '{SECRET}-f' || i % 2,
        '{SECRET}-g' || i
    FROM range(6) AS r (i);
"""

FAILING = {
    "k too large": "k := 50, qi := ['age']",
    "k beyond the persons": "k := 4, qi := ['age'], person := 'disease'",
    "k missing": "qi := ['age']",
    "a value missing from a hierarchy": "k := 2, qi := ['city'], hierarchies := {'city': 'cities'}",
    "a number missing from a hierarchy": "k := 2, qi := ['age'], hierarchies := {'age': 'cities'}",
    "an inline hierarchy": "k := 2, qi := ['job'], hierarchies := {'job': 'a;*'}",
    "an unknown hierarchy": "k := 2, qi := ['city'], hierarchies := {'city': 'none'}",
    "a reserved value": "k := 2, qi := ['star']",
    "a reserved label": f"k := 2, qi := ['city'], hierarchies := {{'city': 'x;{SECRET[:0]}y;*'}}",
    "rare others": "k := 2, qi := ['age'], insensitive := ['note']",
    "all NULL": "k := 2, qi := ['hole']",
    "NULL refused": "k := 2, qi := ['age', 'hole'], nulls := 'error'",
    "nothing left": "k := 2, qi := ['age', 'hole'], nulls := 'drop'",
    "a list": "k := 2, qi := ['tags']",
    "JSON": "k := 2, qi := ['doc']",
    "two roles": "k := 2, qi := ['age'], sensitive := ['age']",
    "an unknown column": "k := 2, qi := ['nam']",
    "an identifier": "k := 2, qi := ['age'], sensitive := ['name']",
    "a top of another type": "k := 2, qi := ['age'], top := {'age': 'old'}",
    "a grid of another type": "k := 2, qi := ['born'], rounding := {'born': 5}",
    "top of a category": "k := 2, qi := ['city'], top := {'city': 'a'}",
    "NaN": "k := 2, qi := ['half']",
    "a level of a number": "k := 2, qi := ['age'], min_level := {'age': 1}",
    "max_level": "k := 4, qi := ['job'], hierarchies := {'job': 'jobs'}, max_level := {'job': 0}",
}


@pytest.mark.parametrize("why", FAILING)
def test_release_errors_contain_no_source_value(trees: Any, why: str) -> None:
    trees.execute(SECRETS)
    trees.execute("ALTER TABLE t ADD COLUMN star VARCHAR; UPDATE t SET star = '*'")
    if why == "NaN":
        trees.execute("UPDATE t SET half = 'nan' WHERE name LIKE '%a0'")
    if why == "a reserved label":
        trees.execute("UPDATE t SET city = 'y'")
    dbanon.load_hierarchy(trees, "jobs", [[f"{SECRET}-c0", "*"], [f"{SECRET}-c1", "*"]])
    if why == "max_level":
        trees.execute(f"UPDATE t SET job = '{SECRET}-c1' WHERE name LIKE '%a0'")
    dbanon.declare(trees, "t", name="identifier")
    for function in FUNCTIONS:
        with pytest.raises(duckdb.Error) as caught:
            trees.execute(f"FROM {function}('t', {FAILING[why]})").fetchall()
        old_part = str(caught.value).split("LINE 1")[0]
        assert "SECRET" not in old_part
        assert "47" not in old_part, old_part
        assert trees.execute("SELECT 42").fetchall() == [(42,)]


def test_unreadable_file_error_contains_no_content(con: Any, tmp_path: Path) -> None:
    for name, content in (
        ("a.json", f'{{"age": 1, "name": "{SECRET}"}}\n{{"age": {SECRET}}}\n'),
        ("a.parquet", SECRET * 10),
        ("a.csv", f'age;name\n1;"{SECRET}\n2,3,4\n"{SECRET}'),
    ):
        (tmp_path / name).write_text(content)
        try:
            rows = con.execute(f"FROM kacpc('{tmp_path / name}', k := 2, qi := ['age'])").fetchall()
        except duckdb.Error as error:
            assert "SECRET" not in str(error), str(error)
        else:
            assert SECRET not in str(rows)


def test_gate_errors_contain_no_source_value(trees: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbanon.release.plan import plan

    trees.execute(SECRETS)
    real, city = plan.release_sql, '"city: published"'
    monkeypatch.setattr(plan, "release_sql", lambda r: real(r).replace(f", g.{city}", f", 'other' AS {city}"))
    with pytest.raises(duckdb.Error, match="gate refused") as caught:
        trees.execute("FROM kacpc('t', k := 2, qi := ['city'], sensitive := ['disease'])").fetchall()
    assert "SECRET" not in str(caught.value)


# --- NULL ---------------------------------------------------------------------------------------------------


def test_dropped_rows_reported(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS uid, CASE WHEN i % 4 > 0 THEN i END AS a FROM range(20) AS r (i)")
    call = "('t', k := 3, qi := ['a'], sensitive := ['uid'], nulls := 'drop')"
    uids = {uid for (uid,) in con.execute(f"SELECT uid FROM kacpc{call}").fetchall()}
    assert uids == {i for i in range(20) if i % 4 > 0}
    metrics = dict(con.execute(f"SELECT metric, value FROM kacpc_metrics{call}").fetchall())
    assert (metrics["records"], metrics["dropped:null"]) == (15, 5)
    assert con.execute(f"SELECT sum(size) FROM kacpc_classes{call}").fetchall() == [(15,)]


def test_null_class_publishes_null_and_mixed_class_star(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT unnest([NULL, NULL, NULL, 7, 7, 8]) AS a, unnest(range(6)) AS uid")
    assert con.execute("FROM kacpc_classes('t', k := 3, qi := ['a'])").fetchall() == [
        (1, 3, "[7, 8]", 1.0),
        (2, 3, None, 0.0),
    ]
    one = con.execute("SELECT DISTINCT a FROM kacpc('t', k := 6, qi := ['a'])").fetchall()
    assert one == [("*",)]


# --- results on a data set of the papers ---------------------------------------------------------------------


def test_adult_release_covers_source_with_exact_precision(adult: Any, data_folder: Path) -> None:
    names = ("age", "workclass", "education", "marital_status", "race", "sex")
    trees = {}
    for name in names[1:]:
        lines = (data_folder / "hierarchies" / "kacpc" / f"{name}.csv").read_text().splitlines()
        paths = [[x for i, x in enumerate(p) if i == 0 or x != p[i - 1]] for p in (s.split(";") for s in lines if s)]
        trees[name] = Tree(paths)
    adult.execute("CREATE TABLE a AS SELECT row_number() OVER () AS uid, * FROM adult")
    for name, role in adult.execute("SELECT column_name, role FROM dbanon.policy").fetchall():
        dbanon.declare(adult, "a", **{name: (role, name) if role == "quasi" and name != "age" else role})
    dbanon.declare(adult, "a", uid="sensitive")
    release = rows_of(adult, "FROM kacpc('a', k := 100)")
    assert len(release) == 30_162
    sizes = Counter(tuple(r[n] for n in names) for r in release)
    assert min(sizes.values()) >= 100
    source = {r["uid"]: r for r in rows_of(adult, "FROM a")}
    losses = defaultdict(float)
    maximum = max(r["age"] for r in source.values()) - min(r["age"] for r in source.values())
    for row in release:
        original = source[row["uid"]]
        low, high = ends(row["age"])
        assert low <= original["age"] <= high
        losses["age"] += float(high - low) / maximum
        for name, tree in trees.items():
            line = tree.leaf(original[name])
            assert row[name] in line
            node = line[: line.index(row[name]) + 1]
            losses[name] += (tree.hloss(node) - 1) / (tree.levels - 1)
        assert (row["occupation"], row["salary"]) == (original["occupation"], original["salary"])
    ((precision,),) = adult.execute(
        "SELECT value FROM kacpc_metrics('a', k := 100) WHERE metric = 'precision'"
    ).fetchall()
    assert math.isclose(precision, 1 - sum(losses.values()) / (30_162 * 6), abs_tol=1e-9)
    assert abs(precision - 0.807) < 0.003
