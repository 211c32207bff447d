"""REFRESH: unchanged parts, refusals, and sufficient differences of versions, judged by the definitions."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pytest
from oracle import models
from support.scale import sample_cases

import dbanon
from dbanon import errors

TABLES = 12
"""Random tables, each with a few batches of changes."""

TREE = [["Flu", "Viral", "*"], ["HIV", "Viral", "*"], ["Cold", "Viral", "*"], ["TB", "*"], ["Cut", "Injury", "*"]]
DISEASES = [row[0] for row in TREE]
WARDS = [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"], ["c", "*"]]


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    yield connection
    connection.close()


def patients(con: Any, rows: Sequence[tuple[int, int, str]], **roles: Any) -> None:
    """Create the table `patients(pid, age, disease)` with a key, and its policy."""
    con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, disease VARCHAR)")
    con.executemany("INSERT INTO patients VALUES (?, ?, ?)", list(rows))
    dbanon.declare(con, "patients", **({"pid": "identifier", "age": "quasi", "disease": "sensitive"} | roles))


def two_groups(con: Any, **roles: Any) -> None:
    """Create ages 20 to 29 and 60 to 69, one patient each, with alternating diseases."""
    patients(con, [(i, (20 if i < 10 else 50) + i, DISEASES[i % 4]) for i in range(20)], **roles)


def status(con: Any) -> tuple[Any, ...]:
    rows = con.execute("SELECT status, added, removed, changed FROM release_status()").fetchall()
    assert len(rows) == 1
    return rows[0]


def all_rows(con: Any, *names: str) -> dict[str, Any]:
    """Return all tables of the releases, the ledger and the membership."""
    tables = [name + ending for name in names for ending in ("", "_classes", "_metrics")]
    tables += ["dbanon.release", "dbanon.membership"]
    rows = {t: con.execute(f"SELECT * FROM {t} ORDER BY ALL").fetchall() for t in tables}
    rows["tables"] = con.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
    return rows


def assert_refused_unchanged(con: Any, name: str, work: Callable[[], object], error: type[Exception]) -> Any:
    """Assert that `work` is refused and changes nothing; return the error."""
    previous = all_rows(con, name)
    with pytest.raises(error) as error_info:
        work()
    assert all_rows(con, name) == previous
    return error_info.value


# --- release_status --------------------------------------------------------------------------------------


def test_release_status_stale_after_source_change(con: Any) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    assert status(con) == ("fresh", 0, 0, 0)
    con.execute("INSERT INTO patients VALUES (100, 25, 'Flu'), (101, 26, 'Flu')")
    assert status(con) == ("stale", 2, 0, 0)
    con.execute("DELETE FROM patients WHERE pid = 3")
    assert status(con) == ("stale", 2, 1, 0)
    con.execute("UPDATE patients SET disease = 'Cut' WHERE pid IN (5, 6, 7)")
    assert status(con) == ("stale", 2, 1, 3)


def test_change_without_key_is_removal_and_addition(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 20 + i AS age, ['Flu', 'HIV'][1 + i % 2] AS disease FROM range(20) AS r (i)")
    dbanon.declare(con, "t", age="quasi", disease="sensitive")
    dbanon.create_release(con, "safe", "kacpc", "t", k=5)
    con.execute("UPDATE t SET disease = 'TB' WHERE age IN (21, 22)")
    assert status(con) == ("stale", 2, 2, 0)


@pytest.mark.not_everyday
def test_unpublished_column_does_not_make_stale(con: Any) -> None:
    two_groups(con, disease="identifier")
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("UPDATE patients SET disease = 'Cut'")
    assert status(con) == ("fresh", 0, 0, 0)


@pytest.mark.not_everyday
@pytest.mark.parametrize(
    ("change", "column"),
    [
        ("UPDATE dbanon.policy SET weight = 3 WHERE column_name = 'age'", "policy_changed"),
        ("UPDATE dbanon.hierarchy SET label = 'X' WHERE label = 'Injury'", "hierarchy_changed"),
    ],
)
def test_release_status_stale_after_policy_change(con: Any, change: str, column: str) -> None:
    two_groups(con)
    dbanon.load_hierarchy(con, "illness", TREE)
    dbanon.declare(con, "patients", disease=("quasi", "illness"))
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute(change)
    assert con.execute(f"SELECT status, {column}, problem FROM release_status()").fetchall() == [("stale", True, None)]


@pytest.mark.not_everyday
@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE patients",
        "ALTER TABLE patients DROP COLUMN disease",
        "ALTER TABLE patients RENAME age TO years",
        "ALTER TABLE patients RENAME TO people",
    ],
)
def test_release_status_reports_missing_source(con: Any, change: str) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute(change)
    ((state, problem),) = con.execute("SELECT status, problem FROM release_status()").fetchall()
    assert state == "stale"
    assert problem
    assert_refused_unchanged(con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.DbanonError)
    dbanon.drop_release(con, "safe")


# --- keep ------------------------------------------------------------------------------------------------


def test_refresh_keep_preserves_published_rows(con: Any) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("CREATE TABLE old AS FROM safe")
    con.execute("INSERT INTO patients SELECT 100 + i, 40 + i, 'Flu' FROM range(7) AS r (i)")
    release = dbanon.refresh_release(con, "safe")
    assert (release.version, release.records) == (2, 27)
    assert con.execute("SELECT age, disease FROM old EXCEPT ALL SELECT age, disease FROM safe").fetchall() == []
    added = con.execute("SELECT age, disease FROM safe EXCEPT ALL SELECT age, disease FROM old").fetchall()
    assert added == [("[40, 46]", "Flu")] * 7


@pytest.mark.not_everyday
def test_refresh_without_changes_gives_same_rows(con: Any) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=3, l=2, suppress=0.2)
    con.execute("CREATE TABLE old AS FROM safe")
    assert con.execute("FROM refresh_problems('safe')").fetchall() == []
    assert dbanon.refresh_release(con, "safe", if_stale=False).version == 2
    assert con.execute("FROM safe").fetchall() == con.execute("FROM old").fetchall()


@pytest.mark.not_everyday
def test_few_new_records_suppressed_if_allowed(con: Any) -> None:
    """The share of suppress is counted over the whole table."""
    patients(con, [(i, 20 + i % 10, DISEASES[i % 4]) for i in range(40)])
    assert dbanon.create_release(con, "safe", "kacpc", "patients", k=4, suppress=0.1).records == 40
    con.execute("INSERT INTO patients VALUES (92, 96, 'Flu')")
    assert con.execute("FROM refresh_problems('safe')").fetchall() == []
    assert dbanon.refresh_release(con, "safe").records == 40
    assert con.execute("SELECT suppressed FROM dbanon.release ORDER BY version").fetchall() == [(0,), (1,)]
    con.execute("INSERT INTO patients SELECT 200 + i, 90 + i, 'Cut' FROM range(5) AS r (i)")
    assert dbanon.refresh_release(con, "safe").records == 46


def test_refresh_of_shrunk_relabelled_class_refused(con: Any) -> None:
    """The five oldest of a class of ten, all with HIV, are removed.

    By published values all rows are new, and diverse; but a reader of both versions sees which five are missing.
    """
    rows = [(i, 20 + i, "HIV" if i >= 5 else DISEASES[i % 4]) for i in range(10)]
    patients(con, rows)
    with pytest.warns(dbanon.UtilityWarning, match="all 10 records are in one class"):
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5, l=2)
    assert con.execute("SELECT count(DISTINCT age) FROM safe").fetchall() == [(1,)]
    con.execute("DELETE FROM patients WHERE pid >= 5")
    assert con.execute("SELECT change, missed FROM refresh_problems('safe')").fetchall() == [("removed", ["l"])]
    error = assert_refused_unchanged(
        con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.SmallDifferencesRefusedError
    )
    assert "refresh_problems" in str(error)


def test_small_removal_refused_despite_new_records(con: Any) -> None:
    """Seven of ten are replaced by others with equal published values: three would be known to be in both."""
    patients(con, [(i, 30, DISEASES[i % 4]) for i in range(10)])
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("DELETE FROM patients WHERE pid < 7")
    con.execute("INSERT INTO patients SELECT 100 + i, 30, 'Cut' FROM range(7) AS r (i)")
    rows = con.execute("SELECT change, sum(records) FROM refresh_problems('safe') GROUP BY ALL").fetchall()
    assert rows
    assert_refused_unchanged(
        con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.SmallDifferencesRefusedError
    )


def test_partial_removal_of_records_of_same_version_refused(con: Any) -> None:
    """Six are added to a class, five of them removed: readers of the first and third version would see one more."""
    patients(con, [(i, 30, DISEASES[i % 4]) for i in range(10)])
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("INSERT INTO patients SELECT 100 + i, 30, 'Cut' FROM range(6) AS r (i)")
    assert dbanon.refresh_release(con, "safe").records == 16
    con.execute("DELETE FROM patients WHERE pid BETWEEN 100 AND 104")
    assert_refused_unchanged(
        con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.SmallDifferencesRefusedError
    )


def test_fewer_than_k_new_records_refused_if_small_differences_allowed(con: Any) -> None:
    """The new records form classes of their own, so k bounds their number, whatever differences are allowed."""
    two_groups(con)
    dbanon.create_release(con, "safe", "best", "patients", k=5)
    con.execute("INSERT INTO patients SELECT 100 + i, 30, 'Cold' FROM range(4) AS r (i)")
    refresh = functools.partial(dbanon.refresh_release, con, "safe", allow_small_differences=True)
    error = assert_refused_unchanged(con, "safe", refresh, errors.CannotKeepClassesError)
    assert "clustering the new records: best: 4 records cannot form a class of k = 5. The old version" in str(error)
    con.execute("INSERT INTO patients VALUES (104, 31, 'Flu')")
    assert refresh().records == 25


@pytest.mark.not_everyday
def test_refresh_counts_persons_of_added_records(con: Any) -> None:
    con.execute("CREATE TABLE visits (person INTEGER, age INTEGER, disease VARCHAR)")
    con.executemany("INSERT INTO visits VALUES (?, ?, ?)", [(i, 30, DISEASES[i % 4]) for i in range(8)])
    dbanon.declare(con, "visits", person="person", age="quasi", disease="sensitive")
    dbanon.create_release(con, "safe", "kacpc", "visits", k=4)
    con.execute("INSERT INTO visits SELECT 3, 30, 'Cut' FROM range(9)")
    assert con.execute("SELECT change, records, persons FROM refresh_problems('safe')").fetchall() == [("added", 9, 1)]
    assert_refused_unchanged(
        con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.SmallDifferencesRefusedError
    )
    con.execute("INSERT INTO visits SELECT i, 30, 'Cold' FROM range(8) AS r (i)")
    assert dbanon.refresh_release(con, "safe").records == 25


@pytest.mark.not_everyday
def test_refresh_keep_refused_if_t_closeness_is_missed(con: Any) -> None:
    """t-closeness compares with the whole table, which new records change under unchanged classes."""
    patients(con, [(i, 20 + i % 2, DISEASES[i // 2 % 2]) for i in range(20)])
    dbanon.create_release(con, "safe", "kacpc", "patients", k=4, t=0.2)
    con.execute("INSERT INTO patients SELECT 100 + i, 60 + i % 2, 'TB' FROM range(60) AS r (i)")
    assert_refused_unchanged(con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.CannotKeepClassesError)
    assert_refused_unchanged(
        con,
        "safe",
        lambda: dbanon.refresh_release(con, "safe", allow_small_differences=True),
        errors.CannotKeepClassesError,
    )
    with pytest.warns(dbanon.DisclosureWarning, match="clustered again"):
        dbanon.refresh_release(con, "safe", mode="recluster", allow_small_differences=True)
    assert con.execute(
        "SELECT refresh_mode, allow_small_differences FROM dbanon.release WHERE version = 2"
    ).fetchall() == [("recluster", True)]


@pytest.mark.not_everyday
def test_refresh_keep_refused_if_published_columns_change(con: Any) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("DELETE FROM dbanon.policy WHERE column_name = 'disease'")
    error = assert_refused_unchanged(
        con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.CannotKeepClassesError
    )
    assert "disease was sensitive and is withheld" in str(error)
    with pytest.warns(dbanon.DisclosureWarning) as caught:
        assert dbanon.refresh_release(con, "safe", mode="recluster").version == 2
    assert "disease was sensitive and is withheld" in " ".join(str(w.message) for w in caught)
    assert [c[0] for c in con.execute("FROM safe").description] == ["age", "class_id"]


@pytest.mark.not_everyday
def test_allow_small_differences_recorded_in_ledger(con: Any) -> None:
    patients(con, [(i, 30, DISEASES[i % 4]) for i in range(12)])
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("DELETE FROM patients WHERE pid IN (3, 4)")
    error = assert_refused_unchanged(
        con, "safe", lambda: dbanon.refresh_release(con, "safe"), errors.SmallDifferencesRefusedError
    )
    assert all(word in str(error) for word in ("wait for more", "recluster", "allow_small_differences"))
    assert_refused_unchanged(
        con,
        "safe",
        lambda: dbanon.refresh_release(con, "safe", mode="recluster"),
        errors.SmallDifferencesRefusedError,
    )
    dbanon.refresh_release(con, "safe", allow_small_differences=True)
    rows = con.execute(
        "SELECT version, status, refresh_mode, allow_small_differences, small_differences > 0 FROM releases()"
    ).fetchall()
    assert rows == [(1, "replaced", "first", False, False), (2, "published", "keep", True, True)]


def test_recluster_warns_that_classes_can_be_intersected(con: Any) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("INSERT INTO patients SELECT 100 + i, 25 + i, 'Flu' FROM range(9) AS r (i)")
    with pytest.warns(dbanon.DisclosureWarning, match="intersect"):
        release = dbanon.refresh_release(con, "safe", mode="recluster")
    assert (release.version, release.records) == (2, 29)
    assert con.execute("SELECT refresh_mode FROM dbanon.release WHERE version = 2").fetchall() == [("recluster",)]


@pytest.mark.not_everyday
def test_if_stale_skips_fresh_release(con: Any) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    previous = all_rows(con, "safe")
    release = dbanon.refresh_release(con, "safe", if_stale=True)
    assert (release.version, release.records, release.classes) == (1, 20, 4)
    rows = con.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe WITH (if_stale = true)").fetchall()
    assert rows == [("safe", 1, 20, 4)]
    assert all_rows(con, "safe") == previous
    con.execute("INSERT INTO patients SELECT 100 + i, 25 + i, 'Flu' FROM range(9) AS r (i)")
    assert dbanon.refresh_release(con, "safe", if_stale=True).version == 2
    con.execute("UPDATE dbanon.policy SET weight = 3 WHERE column_name = 'age'")
    assert dbanon.refresh_release(con, "safe", if_stale=True).version == 3


@pytest.mark.not_everyday
def test_failed_refresh_keeps_old_version(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    two_groups(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("DELETE FROM patients WHERE pid > 3")
    for how in ("keep", "recluster"):
        assert_refused_unchanged(con, "safe", lambda how=how: dbanon.refresh_release(con, "safe", mode=how), Exception)  # type: ignore[misc]
    con.execute("DELETE FROM patients")
    assert_refused_unchanged(con, "safe", lambda: dbanon.refresh_release(con, "safe"), Exception)


# --- many random changes -----------------------------------------------------------------------------------

ASKS: list[dict[str, Any]] = [
    {},
    {"l": 2},
    {"l": 2, "diversity": "entropy"},
    {"t": 0.5},
    {"t": 0.4, "ground_distance": "ordered"},
    {"t": 0.6, "ground_distance": "hierarchical"},
    {"alpha": 0.7},
    {"l": 2, "t": 0.6},
    {"beta": 4},
]


class ChangingTable:
    """A random table that changes, and the call that releases it."""

    def __init__(self, con: Any, seed: int) -> None:
        self.con, self.rng = con, random.Random(seed)
        rng = self.rng
        self.person = rng.random() < 0.35
        self.key = not self.person and rng.random() < 0.7
        self.asked: dict[str, Any] = {"k": rng.choice([2, 2, 3, 4])} | rng.choice(ASKS)
        self.options: dict[str, Any] = {}
        if rng.random() < 0.3:
            self.options["top"] = {"age": rng.choice([35, 45])}
        if rng.random() < 0.3:
            self.options["bottom"] = {"age": 24}
        if rng.random() < 0.3:
            self.options["rounding"] = {"age": 5}
        if rng.random() < 0.3:
            self.options["min_level"] = {"ward": 1}
        if rng.random() < 0.25:
            self.options["suppress"] = 0.15
        if rng.random() < 0.25:
            self.options["nulls"] = "drop"
        if rng.random() < 0.2:
            self.options["intervals"] = "bounds"
        self.ages = rng.choice([4, 12, 30])
        self.holes = rng.choice([0, 0, 0.15])
        self.algorithm = rng.choice(["kacpc", "mondrian"])
        self.next = 0
        primary = "PRIMARY KEY" if self.key else ""
        con.execute(
            f"CREATE OR REPLACE TABLE t (pid INTEGER {primary}, person INTEGER, age INTEGER, ward VARCHAR, "
            "disease VARCHAR)"
        )
        con.execute("DELETE FROM dbanon.policy")
        dbanon.declare(
            con,
            "t",
            pid="identifier",
            person="person" if self.person else "identifier",
            age="quasi",
            ward=("quasi", "wards"),
            disease=("sensitive", "illness"),
        )
        self.insert(rng.randint(25, 50))

    def insert(self, count: int) -> None:
        rng = self.rng
        rows = []
        for _ in range(count):
            age = None if rng.random() < self.holes else 20 + rng.randrange(self.ages)
            ward = None if rng.random() < self.holes / 2 else rng.choice(WARDS)[0]
            person = rng.randrange(40) if rng.random() < 0.9 else None
            disease = None if rng.random() < 0.05 else rng.choices(DISEASES, [4, 4, 3, 1, 1])[0]
            rows.append((self.next, person, age, ward, disease))
            self.next += 1
        self.con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)

    def change(self) -> None:
        """Add some records; remove some, often a whole class of them; change some."""
        rng, con = self.rng, self.con
        choice = rng.choices(["many", "one", "class", "some", "other"], [6, 1, 4, 1, 1])[0]
        if choice in ("many", "class"):
            self.insert(rng.choice([8, 15, 25]))
        if choice == "one":
            self.insert(1)
        if choice == "class" and self.key:
            con.execute(
                "DELETE FROM t WHERE pid::VARCHAR IN (SELECT person_key FROM dbanon.membership "
                "WHERE version = (SELECT max(version) FROM dbanon.membership) AND cluster_id IN (SELECT unnest(?)))",
                [[rng.randrange(12) for _ in range(rng.choice([1, 2, 4]))]],
            )
        if choice == "some":
            con.execute(f"DELETE FROM t WHERE (pid * 7919 + {rng.randrange(9)}) % 9 = 0")
        if choice == "other":
            con.execute(f"UPDATE t SET disease = '{rng.choice(DISEASES)}' WHERE (pid + {rng.randrange(9)}) % 9 = 0")

    def sets(self, version: str, other: str) -> list[list[tuple[Any, ...]]]:
        """Return the records of each class of a version, by published values, that the other does not have."""
        cells = f"{version}.* EXCLUDE (class_id)"
        query = f"SELECT {cells} FROM {version} EXCEPT ALL SELECT {cells.replace(version, other)} FROM {other}"
        result: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        columns = [c[0] for c in self.con.execute(f"SELECT * EXCLUDE (class_id) FROM {version}").description]
        index = columns.index("disease")
        for row in self.con.execute(query).fetchall():
            result.setdefault(tuple(v for i, v in enumerate(row) if i != index), []).append(row)
        return [[(row[index],) for row in rows] for rows in result.values()]


def missed_models(part: Sequence[Any], table_counts: Mapping[Any, int], parameters: Mapping[str, Any]) -> list[str]:
    """Return the models that a set of sensitive values misses; records are persons of their own."""
    failed = []
    (records,) = models.records_as_persons([[(value,) for (value,) in part]])
    if models.n_persons(records) < parameters["k"]:
        failed.append("k")
    if "l" in parameters:
        measure = models.entropy_l if parameters.get("diversity") == "entropy" else models.distinct_l
        if measure([records]).table < parameters["l"] - models.SLACK:
            failed.append("l")
    if "alpha" in parameters and models.alpha([records]).table > parameters["alpha"] + models.SLACK:
        failed.append("alpha")
    total = sum(table_counts.values())
    q = {value: models.Fraction(count, total) for value, count in table_counts.items()}
    p = models.shares(records, 0)
    if "t" in parameters:
        emd = parameters.get("ground_distance", "equal")
        if emd == "equal":
            distance = models.equal_distance(p, q)
        elif emd == "ordered":
            ranked_values = [value for value in [*DISEASES, None] if value in q]
            distance = models.ordered_distance(p, q, ranked_values)
        else:
            distance = models.hierarchical_distance(p, q, TREE)
        if distance > parameters["t"] + models.SLACK:
            failed.append("t")
    if "beta" in parameters and any((p[v] - q[v]) / q[v] > parameters["beta"] + models.SLACK for v in p):
        failed.append("beta")
    return failed


def missed_by_persons(con: Any, world: ChangingTable, version: int, other: int, new: bool) -> list[str]:
    """Return models missed by changed records and by those that remain in reduced clusters, from the ledger."""
    rows = con.execute(
        "SELECT version, cluster_id, value_hash, person_key, records FROM dbanon.membership "
        "WHERE release = 'safe' AND cluster_id IS NOT NULL AND version IN (?, ?)",
        [version, other],
    ).fetchall()
    stored_mapping: dict[int, dict[int, Counter[Any]]] = {version: {}, other: {}}
    for number, cluster, value, person, records in rows:
        stored_mapping[number].setdefault(cluster, Counter())[(value, person if world.person else None)] += records
    failed = []

    def is_too_few(members: Counter[Any]) -> bool:
        size = len({p for _, p in members} - {None}) if world.person else sum(members.values())
        return bool(members) and size < world.asked["k"]

    for cluster, members in stored_mapping[version].items():
        moved_members = members - stored_mapping[other].get(cluster, Counter())
        failed += ["moved"] if is_too_few(moved_members) else []
        if moved_members and not new:
            failed += ["stayed"] if is_too_few(members - moved_members) else []
    return failed


@pytest.mark.not_everyday
@pytest.mark.parametrize("part", range(2))
def test_version_differences_empty_or_meet_model(con: Any, part: int) -> None:
    dbanon.load_hierarchy(con, "wards", WARDS)
    dbanon.load_hierarchy(con, "illness", TREE)
    ends: Counter[str] = Counter()
    for seed in sample_cases(range(part, TABLES, 2), 2):
        world = ChangingTable(con, seed)
        try:
            dbanon.create_release(con, "safe", world.algorithm, "t", **world.asked, **world.options)
        except (errors.DbanonError, duckdb.Error):
            ends["no release"] += 1
            continue
        for _ in range(4):
            world.change()
            ends[refresh_and_check(con, world, f"seed {seed}")] += 1
        dbanon.drop_release(con, "safe")
        dbanon.forget_release(con, "safe")
    assert ends["released"] >= 1, ends
    assert ends["refused"] >= 1, ends


def refresh_and_check(con: Any, world: ChangingTable, context: str) -> str:
    """Refresh and check the result, whether it succeeds or not; return the outcome."""
    con.execute("CREATE OR REPLACE TEMP TABLE old AS FROM safe")
    previous = all_rows(con, "safe")
    problems: list[Any] | None = None
    try:
        problems = con.execute("FROM refresh_problems('safe')").fetchall()
        release = dbanon.refresh_release(con, "safe", if_stale=False)
    except (errors.DbanonError, duckdb.Error) as error:
        assert all_rows(con, "safe") == previous, context
        assert not problems or isinstance(error, errors.SmallDifferencesRefusedError), f"{context}: {error}"
        return "refused"
    assert problems == [], context
    new, old = release.version, release.version - 1
    context = f"{context}, version {new}, {world.asked} {world.options} person: {world.person}"
    for version, other in (("safe", "old"), ("old", "safe")):
        full_values = [row[0] for row in con.execute(f"SELECT disease FROM {version}").fetchall()]
        for moves in world.sets(version, other):
            if world.person:  # persons are judged below; records are never fewer
                assert len(moves) >= world.asked["k"], f"{context}: {version} {moves}"
                if world.asked.keys() == {"k", "l"} and "diversity" not in world.asked:
                    assert missed_models(moves, Counter(full_values), world.asked) == [], (
                        f"{context}: {version} {moves}"
                    )
            else:
                assert missed_models(moves, Counter(full_values), world.asked) == [], f"{context}: {version} {moves}"
    assert missed_by_persons(con, world, new, old, True) == [], context
    assert missed_by_persons(con, world, old, new, False) == [], context
    return "released"
