"""Releases of the same people, one after another: differences that a reader of all of them can compute."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.ledger import releases as ledger_
from dbanon.ledger.composition import version_differences
from dbanon.ledger.releases import LedgerEntry
from dbanon.runtime import session

WORLDS = int(os.environ.get("DBANON_WORLDS", "1"))
RELEASES = int(os.environ.get("DBANON_RELEASES", "4"))
"""Numbers of random sequences of releases, and of attempts after the first release in each; at most nine are useful."""
SEQUENCES = int(os.environ.get("DBANON_SEQUENCES", "3"))
"""Random sequences of drawn versions, without an algorithm."""

DISEASES = ["Flu", "HIV", "TB", "Cold"]
K, L = 3, 2


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    yield connection
    connection.close()


def patients(con: Any, count: int = 30, key: str = "PRIMARY KEY", person: bool = False) -> None:
    """Create patients of 20 to 49 years with alternating diseases."""
    con.execute(f"CREATE TABLE patients (pid INTEGER {key}, age INTEGER, disease VARCHAR)")
    con.executemany("INSERT INTO patients VALUES (?, ?, ?)", [(i, 20 + i, DISEASES[i % 4]) for i in range(count)])
    declare_patients(con, "patients", person)


def declare_patients(con: Any, source: str, person: bool = False) -> None:
    dbanon.declare(con, source, pid="person" if person else "identifier", age="quasi", disease="sensitive")


def ledger_rows(con: Any) -> list[tuple[Any, ...]]:
    return con.execute("SELECT name, version, status, small_differences, composition FROM releases()").fetchall()


# --- one person --------------------------------------------------------------------------------------------


@pytest.mark.not_everyday
def test_person_in_one_release_only_is_found(con: Any) -> None:
    """The difference of the two is one person's disease."""
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("DELETE FROM patients WHERE pid = 7")
    for work in (
        lambda: dbanon.create_release(con, "other", "mondrian", "patients", k=5, composition="refuse"),
        lambda: dbanon.create_release(con, "safe", "mondrian", "patients", k=5, replace=True),
        lambda: dbanon.refresh_release(con, "safe", mode="recluster"),
    ):
        with pytest.raises((errors.CompositionRefusedError, errors.SmallDifferencesRefusedError), match="version 1"):
            work()
    dbanon.drop_release(con, "safe")
    with pytest.raises(errors.SmallDifferencesRefusedError, match=r"^create_release: .* version 1 "):
        dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    assert ledger_rows(con) == [("safe", 1, "dropped", 0, {})]
    with pytest.warns(dbanon.DisclosureWarning, match="with safe version 1"):
        dbanon.create_release(con, "other", "kacpc", "patients", k=5)
    (actual_row,) = con.execute("SELECT composition FROM releases() WHERE name = 'other'").fetchall()
    assert actual_row[0]["safe version 1"] > 0
    history = con.execute("SELECT value FROM certificate('other') WHERE section = 'other releases'").fetchall()
    assert "distinguished" in history[0][0]
    with pytest.warns(dbanon.DisclosureWarning):
        release = dbanon.create_release(con, "safe", "kacpc", "patients", k=5, allow_small_differences=True)
    assert release.version == 2
    row = con.execute(
        "SELECT small_differences > 0, allow_small_differences FROM releases() WHERE name = 'safe' AND version = 2"
    )
    assert row.fetchall() == [(True, True)]


@pytest.mark.not_everyday
def test_third_version_compared_with_first_version(con: Any) -> None:
    """A class of ten is removed, nine of them and another are added: each step alone shows ten people."""
    patients(con, 40)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=10)
    con.execute("CREATE TABLE went AS FROM patients WHERE age < 30")
    con.execute("DELETE FROM patients WHERE age < 30")
    assert dbanon.refresh_release(con, "safe").records == 30
    con.execute("INSERT INTO patients FROM went WHERE pid <> 4")
    con.execute("INSERT INTO patients VALUES (100, 24, 'Cut')")
    for how in ("keep", "recluster"):
        with pytest.raises(errors.SmallDifferencesRefusedError, match="version 1"):
            dbanon.refresh_release(con, "safe", mode=how)
    con.execute("DELETE FROM patients WHERE pid = 100")
    con.execute("INSERT INTO patients FROM went WHERE pid = 4")
    assert dbanon.refresh_release(con, "safe").records == 40


@pytest.mark.not_everyday
def test_equal_class_sums_warned_or_refused(con: Any) -> None:
    """Four are added, two of them in their twenties; the classes of the twenties become one, with a new label."""
    con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, disease VARCHAR)")
    con.executemany(
        "INSERT INTO patients VALUES (?, ?, ?)", [(i, 20 + i + 40 * (i // 8), DISEASES[i % 2]) for i in range(16)]
    )
    declare_patients(con, "patients")
    dbanon.create_release(con, "safe", "mondrian", "patients", k=4)
    con.execute("INSERT INTO patients VALUES (20, 24, 'TB'), (21, 25, 'TB'), (22, 70, 'Flu'), (23, 71, 'HIV')")
    wide_mapping: dict[str, Any] = {"k": 4, "rounding": {"age": "20"}, "replace": True}
    with pytest.raises(errors.CompositionRefusedError, match="4 with safe version 1"):
        dbanon.create_release(con, "safe", "mondrian", "patients", composition="refuse", **wide_mapping)
    with pytest.warns(
        dbanon.DisclosureWarning,
        match="groups can be isolated by subtracting sums of classes: people 4 with safe version 1",
    ):
        release = dbanon.create_release(con, "safe", "mondrian", "patients", **wide_mapping)
    assert release.composition == {"safe version 1": 4}


@pytest.mark.not_everyday
def test_view_and_view_without_one_row_share_people(con: Any) -> None:
    patients(con)
    con.execute("CREATE VIEW everybody AS FROM patients; CREATE VIEW most AS FROM everybody WHERE pid <> 7")
    for view in ("everybody", "most"):
        declare_patients(con, view)
    dbanon.create_release(con, "a", "kacpc", "everybody", k=5, key="pid")
    with pytest.raises(errors.CompositionRefusedError, match="with a version 1"):
        dbanon.create_release(con, "b", "kacpc", "most", k=5, key="pid", composition="refuse")
    assert con.execute("SELECT source_tables FROM releases()").fetchall() == [(['"main"."patients"'],)]
    con.execute("CREATE TABLE others AS FROM patients WHERE pid <> 7")
    declare_patients(con, "others")
    with pytest.raises(errors.CompositionRefusedError, match="with a version 1"):  # a copy has the same people
        dbanon.create_release(con, "c", "kacpc", "others", k=5, key="pid", composition="refuse")


@pytest.mark.parametrize("read", ["patients AS p", 'main."patients" p', "(FROM patients AS z) AS y"])
def test_views_with_renamed_table_share_people(con: Any, read: str) -> None:
    patients(con)
    con.execute(f"CREATE VIEW seen AS SELECT * FROM {read}")
    declare_patients(con, "seen")
    dbanon.create_release(con, "a", "kacpc", "seen", k=5, key="pid")
    assert con.execute("SELECT source_tables FROM releases()").fetchall() == [(['"main"."patients"'],)]


@pytest.mark.not_everyday
def test_uncheckable_composition_refused_on_request(con: Any) -> None:
    patients(con, key="")
    dbanon.create_release(con, "a", "kacpc", "patients", k=5, composition="refuse")
    with pytest.raises(errors.CompositionUncheckedError, match="role person"):
        dbanon.create_release(con, "b", "mondrian", "patients", k=6, composition="refuse")
    con.execute("DELETE FROM patients WHERE pid = 7")
    with pytest.warns(dbanon.DisclosureWarning, match="with a version 1"):  # by published counts
        dbanon.create_release(con, "b", "mondrian", "patients", k=6)
    assert con.execute("SELECT unchecked_against FROM releases() WHERE name = 'b'").fetchall() == [(["a version 1"],)]


def test_changed_value_counts_as_removed_and_added(con: Any) -> None:
    patients(con)
    dbanon.create_release(con, "a", "kacpc", "patients", k=5)
    con.execute("UPDATE patients SET disease = 'Cut' WHERE pid = 7")
    with pytest.raises(errors.CompositionRefusedError):
        dbanon.create_release(con, "b", "kacpc", "patients", k=5, composition="refuse")


@pytest.mark.not_everyday
def test_versions_compared_by_common_columns(con: Any) -> None:
    con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, disease VARCHAR, ward VARCHAR)")
    values = "['Flu', 'HIV'][1 + i % 2], ['a', 'b'][1 + i % 2]"
    con.execute(f"INSERT INTO patients SELECT i, 20 + i, {values} FROM range(20) AS r (i)")
    dbanon.declare(con, "patients", pid="identifier", age="quasi", disease="sensitive", ward="sensitive")
    dbanon.create_release(con, "a", "kacpc", "patients", k=5)
    dbanon.create_release(con, "b", "kacpc", "patients", k=5, withhold=["ward"], composition="refuse")
    con.execute("UPDATE patients SET disease = 'TB' WHERE pid = 7")
    with pytest.raises(errors.CompositionRefusedError):
        dbanon.create_release(con, "c", "kacpc", "patients", k=5, withhold=["ward"], composition="refuse")


# --- the whole model ---------------------------------------------------------------------------------------------

MODELS = {"l": 2, "t": 0.4, "alpha": 0.6, "p": 2, "beta": 3.0}


def insert_rare_patients(con: Any) -> None:
    """Insert six more patients of 60 to 65 years, who all have the same disease."""
    con.execute("INSERT INTO patients SELECT 100 + i, 60 + i, 'Rare' FROM range(6) AS r (i)")


def record_missed_parameters(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Collect the parameters that sets of records miss, as they are found."""
    missed_values: set[str] = set()
    separate_small_differences = version_differences.small_differences

    def recording_differences(*given: Any, **more: Any) -> Any:
        result = separate_small_differences(*given, **more)
        missed_values.update(m for one in result for m in one.missed_parameters)
        return result

    monkeypatch.setattr(version_differences, "small_differences", recording_differences)
    return missed_values


@pytest.mark.not_everyday
def test_removed_people_keep_models_of_earlier_versions(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six removed people are enough for k; the remaining ones have no model of their own, or none has their disease."""
    patients(con)
    insert_rare_patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=4, **MODELS)
    con.execute("DELETE FROM patients WHERE disease = 'Rare'")
    missed_result = record_missed_parameters(monkeypatch)
    for work in (
        lambda: dbanon.refresh_release(con, "safe", mode="recluster"),
        lambda: dbanon.create_release(con, "safe", "kacpc", "patients", k=4, replace=True),
    ):
        missed_result.clear()
        with pytest.raises(errors.SmallDifferencesRefusedError, match="version 1"):
            work()
        assert missed_result == set(MODELS)


@pytest.mark.not_everyday
@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
def test_version_meets_model_of_first_for_its_people(con: Any) -> None:
    """Six of one disease may be added to a version without l; four of one disease may not leave one with l = 2."""
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=4, l=2)
    insert_rare_patients(con)
    assert dbanon.create_release(con, "safe", "kacpc", "patients", k=4, replace=True).version == 2
    con.execute("DELETE FROM patients WHERE pid IN (0, 4, 8, 12)")  # Flu
    with pytest.raises(errors.SmallDifferencesRefusedError, match="version 1, version 2"):
        dbanon.refresh_release(con, "safe", mode="recluster")


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
def test_versions_with_different_forms_of_one_model_are_compared_by_both(con: Any) -> None:
    """The new version alone would allow what the entropy of the first one forbids."""
    patients(con)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=4, l=2, diversity="entropy")
    recursive = {"k": 4, "l": 2, "diversity": "recursive", "c": 9.0, "replace": True}
    con.execute("INSERT INTO patients SELECT 100 + i, 60 + i, 'Flu' FROM range(4) AS r (i)")
    with pytest.raises(errors.SmallDifferencesRefusedError, match="version 1"):
        dbanon.create_release(con, "safe", "kacpc", "patients", **recursive)
    con.execute("UPDATE patients SET disease = 'd' || pid % 4 WHERE pid >= 100")
    assert dbanon.create_release(con, "safe", "kacpc", "patients", **recursive).version == 2


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
def test_joint_models_of_two_sensitive_columns_create_versions(con: Any) -> None:
    """The classes of a joint check are structs, which DuckDB 1.5 stores only if their fields have names."""
    con.execute(
        "CREATE TABLE visits AS SELECT i AS pid, 20 + i AS age, i % 2 AS a, i // 2 % 2 AS b FROM range(64) r (i)"
    )
    dbanon.declare(con, "visits", pid="person", age="quasi", a="sensitive", b="sensitive")
    dbanon.create_release(con, "joint", "mondrian", "visits", k=8, l=2, multi_sensitive="joint")
    con.execute("DELETE FROM visits WHERE pid < 8")
    assert dbanon.refresh_release(con, "joint", allow_small_differences=True).version == 2


# --- erasure -------------------------------------------------------------------------------------------------


def test_erasure_that_withholds_nothing_warns_only_of_erased_class(con: Any) -> None:
    patients(con, 15)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dbanon.refresh_release(con, "safe", erase=True).records == 15
    con.execute("DELETE FROM patients WHERE pid < 5")
    with pytest.warns(dbanon.DisclosureWarning, match="^safe: no records are withheld, but earlier versions") as caught:
        assert dbanon.refresh_release(con, "safe", erase=True).records == 10
    assert len(caught) == 1


@pytest.mark.not_everyday
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_erasure_removes_whole_class(con: Any, key: str) -> None:
    """Six classes of five. One record of the first is erased, one of the third changed; four of each stay withheld."""
    patients(con, 30, key)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    classes = con.execute("SELECT class_id, list(disease) FROM safe GROUP BY ALL").fetchall()
    con.execute("CREATE TABLE old AS SELECT * EXCLUDE (class_id) FROM safe")
    con.execute("DELETE FROM patients WHERE pid = 2; UPDATE patients SET disease = 'Cut' WHERE pid = 12")
    con.execute("INSERT INTO patients VALUES (100, 33, 'Cut')")
    with pytest.raises(errors.SmallDifferencesRefusedError, match="erase = true"):
        dbanon.refresh_release(con, "safe")
    with pytest.warns(dbanon.DisclosureWarning, match="8 records are withheld"):
        release = dbanon.refresh_release(con, "safe", erase=True)
    assert (release.version, release.records, len(classes)) == (2, 20, 6)
    assert con.execute("SELECT * EXCLUDE (class_id) FROM safe EXCEPT ALL FROM old").fetchall() == []
    assert con.execute(
        "SELECT withheld_after_erasure, small_differences FROM releases() WHERE version = 2"
    ).fetchall() == [(8, 0)]
    messages = con.execute("SELECT value FROM certificate('safe') WHERE item = 'withheld since an erasure'").fetchall()
    assert messages == [("8",)]
    # The two added or changed records are still to be published; the eight stay withheld, whatever is added.
    assert con.execute("SELECT status, added, removed FROM release_status()").fetchall() == [("stale", 2, 0)]
    con.execute("INSERT INTO patients SELECT 200 + i, 60 + i, 'Flu' FROM range(4) AS r (i)")
    assert con.execute("FROM refresh_problems('safe')").fetchall() == []  # which compares with version 2 only
    with pytest.raises(errors.SmallDifferencesRefusedError):  # the changed record's person returns alone
        dbanon.refresh_release(con, "safe")
    with contextlib.nullcontext() if key else pytest.warns(dbanon.DisclosureWarning, match="no key"):
        release = dbanon.refresh_release(con, "safe", allow_small_differences=True)
    assert release.records == 26
    assert con.execute("SELECT count(*) FROM patients").fetchall() == [(34,)]
    assert con.execute("SELECT status FROM release_status()").fetchall() == [("fresh",)]
    # The first version is forgotten: they may be published again.
    dbanon.forget_release(con, "safe", 1)
    with pytest.warns(dbanon.DisclosureWarning, match="clustered again"):
        release = dbanon.refresh_release(con, "safe", mode="recluster", allow_small_differences=True)
    assert release.records == 34


def test_erasure_of_everything_refused(con: Any) -> None:
    patients(con, 10)
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("DELETE FROM patients WHERE pid IN (1, 8)")
    with pytest.raises(errors.ErasureEmptiesReleaseError):
        dbanon.refresh_release(con, "safe", erase=True)


# --- random sequences ------------------------------------------------------------------------------------------


class ReleaseSequence:
    """Patients who are added, removed and changed, and the published versions as person, label and cluster."""

    def __init__(self, con: Any, seed: int) -> None:
        self.con, self.rng = con, random.Random(seed)
        self.names: set[str] = set()
        self.versions: list[dict[Any, tuple[Any, Any]]] = []
        """For each version: label and cluster of each (person, disease)."""
        self.lineage = 0
        self.went: list[tuple[Any, ...]] = []
        self.next = 0
        con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, disease VARCHAR)")
        con.execute("CREATE VIEW part AS FROM patients WHERE pid % 13 <> 3")
        for source in ("patients", "part"):
            declare_patients(con, source)
        self.insert(26)

    def insert(self, count: int) -> None:
        rows = [(self.next + i, 20 + self.rng.randrange(12), self.rng.choice(DISEASES)) for i in range(count)]
        self.next += count
        self.con.executemany("INSERT INTO patients VALUES (?, ?, ?)", rows)

    def change(self) -> None:
        rng, con = self.rng, self.con
        choice = rng.choice(["none", "many", "many", "one", "delete", "class", "update", "back"])
        if choice in ("many", "one"):
            self.insert(6 if choice == "many" else 1)
        elif choice == "update":
            con.execute("UPDATE patients SET disease = 'Cut' WHERE pid = (SELECT min(pid) FROM patients)")
        elif choice == "back" and self.went:
            con.executemany("INSERT INTO patients VALUES (?, ?, ?)", self.went)
            self.went = []
        elif choice in ("delete", "class"):
            text = f"pid = {rng.randrange(self.next)}"
            if choice == "class" and self.versions:
                last = self.versions[-1]
                label = rng.choice(sorted({label for label, _ in last.values()}))
                people = ", ".join(str(pid) for (pid, _), (row_label, _) in last.items() if row_label == label)
                text = f"pid IN ({people})"
            self.went += con.execute(f"SELECT * FROM patients WHERE {text}").fetchall()
            con.execute(f"DELETE FROM patients WHERE {text}")

    def release(self, composition: str) -> str:
        """Publish some release if it is allowed; return the outcome."""
        rng, con = self.rng, self.con
        elsewhere = ["other", "part"] if composition == "refuse" else []
        choice = rng.choice(["keep", "keep", "keep", "keep", "recluster", "replace", "again", *elsewhere])
        name = "other" if choice == "other" else "part" if choice == "part" else "safe"
        if choice in ("keep", "recluster") and self.names and composition == "refuse":
            name = rng.choice(sorted(self.names))
        source = "part" if name == "part" else "patients"
        try:
            if choice in ("keep", "recluster") and name in self.names:
                actual_release = dbanon.refresh_release(con, name, mode=choice, composition=composition)
            else:
                if name in self.names and choice != "replace":
                    dbanon.drop_release(con, name)
                    self.names.discard(name)
                algorithm = rng.choice(["kacpc", "mondrian"])
                parameters: dict[str, Any] = {"k": K, "l": L, "key": "pid", "replace": name in self.names}
                actual_release = dbanon.create_release(
                    con, name, algorithm, source, composition=composition, **parameters
                )
        except (errors.DbanonError, duckdb.Error):
            return "refused"
        self.names.add(name)
        self.lineage += choice != "keep"
        rows = con.execute(
            f"SELECT DISTINCT m.person_key::INTEGER, m.cluster_id, r.age, p.disease FROM dbanon.membership AS m "
            f"JOIN {name} AS r USING (class_id) JOIN patients AS p ON p.pid = m.person_key::INTEGER "
            "WHERE m.release = ? AND m.version = ?",
            [name, actual_release.version],
        ).fetchall()
        assert len(rows) == actual_release.records
        self.versions.append({(pid, d): (age, (self.lineage, cluster)) for pid, cluster, age, d in rows})
        return "released"


Version = dict[Any, tuple[Any, Any]]
"""Label and cluster of each (person, disease) of a version."""


def exposed_differences(versions: Sequence[dict[Any, tuple[Any, Any]]]) -> list[Any]:
    """Return differences that show fewer than k people or l diseases, over all signed sums of versions.

    Sums are of all people, of each label, and of each kept cluster.
    """
    sets: list[list[set[Any]]] = [[set(v) for v in versions]]
    for place in (0, 1):
        labels = {value[place] for v in versions for value in v.values()}
        sets += [[{r for r, value in v.items() if value[place] == label} for v in versions] for label in labels]
    value = []
    for tracked in sets:
        atoms: dict[tuple[bool, ...], set[Any]] = {}
        for record in set().union(*tracked):
            atoms.setdefault(tuple(record in version for version in tracked), set()).add(record)
        sides = set()
        for signs in itertools.product((-1, 0, 1), repeat=len(versions)):
            sums = {a: sum(s for s, present_result in zip(signs, a, strict=True) if present_result) for a in atoms}
            sides |= {frozenset(a for a in atoms if sums[a] > 0), frozenset(a for a in atoms if sums[a] < 0)}
        for side in sides - {frozenset()}:
            records = set().union(*(atoms[a] for a in side))
            if not meets(records):
                value.append(records)
    return value


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
@pytest.mark.parametrize("seed", range(WORLDS))
def test_random_release_sums_meet_k_and_l(con: Any, seed: int) -> None:
    """Releases allowed by default under one name, and with composition = 'refuse' under several."""
    world = ReleaseSequence(con, seed)
    composition = ["warn", "refuse"][seed % 2]
    ends = [world.release(composition)]
    for _ in range(RELEASES):
        con.execute("CREATE OR REPLACE TABLE before AS FROM patients")
        went = list(world.went)
        world.change()
        ends.append(world.release(composition))
        if ends[-1] == "refused":  # otherwise the next release would be refused, too
            world.went = went
            con.execute("DELETE FROM patients")
            con.execute("INSERT INTO patients FROM before")
        if len(world.versions) == 7:  # 2187 sums
            break
    assert ends.count("released") >= (2 if composition == "warn" else 1), ends
    assert exposed_differences(world.versions) == [], ends


class RandomVersions:
    """Randomly drawn versions, without an algorithm, compared by the checker like real versions."""

    def __init__(self, con: Any, person: bool) -> None:
        """Publish one real release, whose ledger identifies the people and values.

        Args:
            con: The connection.
            person: Whether people have several records.
        """
        patients(con, 8, person=person, key="" if person else "PRIMARY KEY")
        self.made = dbanon.create_release(con, "safe", "kacpc", "patients", k=K, l=L)
        self.person = person
        current = session.find_session(con.raw)
        self.cursor = con.raw.cursor()
        (self.first,) = ledger_.entries(self.cursor, "memory")
        self.publication = ledger_.current_spec(self.first, current, self.cursor)
        rows = con.execute(
            "SELECT p.disease, any_value(m.value_hash), any_value(m.cells) FROM dbanon.membership AS m "
            "JOIN patients AS p ON p.pid = m.person_key::INTEGER GROUP BY ALL"
        ).fetchall()
        self.hashes = {disease: (value, cells) for disease, value, cells in rows}
        self.entries: list[LedgerEntry] = []
        self.versions: list[Version] = []
        self.went: set[Any] = set()
        self.lineage = 0

    def start(self, rng: random.Random) -> None:
        self.entries, self.versions, self.went = [], [], set()
        self.cursor.execute("DELETE FROM dbanon.membership")
        people = rng.sample(range(30), 20)
        self.there = {
            (pid, rng.choice(DISEASES[:2])) for pid in people for _ in range(1 + self.person * rng.randrange(2))
        }

    def change(self, rng: random.Random) -> None:
        """Remove no one, one person or a class, perhaps restore them; add one or several people."""
        choice = rng.choice(["none", "class", "class", "back", "back", "some", "some", "one", "many", "many"])
        last = self.versions[-1] if self.versions else {}
        if choice == "class" and last:
            cluster = rng.choice(sorted({value[1] for value in last.values()}))
            went = {r for r, value in last.items() if value[1] == cluster}
            self.went, self.there = self.went | went, self.there - went
        elif choice == "back":
            self.there, self.went = self.there | self.went, set()
        elif choice == "some" and last:  # of those with one label
            label = rng.choice([value[0] for value in last.values()])
            equal_values = sorted(r for r, value in last.items() if value[0] == label)
            self.there = self.there - set(rng.sample(equal_values, min(len(equal_values), 4)))
        elif choice != "none":
            pids = rng.sample(sorted(set(range(60)) - {pid for pid, _ in self.there}), 1 if choice == "one" else 5)
            self.there |= {(pid, rng.choice(DISEASES[:2])) for pid in pids}

    def clusters(self, rng: random.Random, records: set[Any], first: int) -> Version:
        """Return clusters of k people and l diseases or more, some with equal labels; nothing if there are too few."""
        rest, groups = sorted(records), []
        rng.shuffle(rest)
        while rest:
            group = [rest.pop()]
            while rest and not meets(group):
                group.append(rest.pop())
            groups.append(group)
        if groups and not meets(groups[-1]):
            last = groups.pop()
            if not groups:
                return {}
            groups[0] += last
        labels = [rng.choice([1, first + 10 + i]) for i in range(len(groups))]
        pairs = zip(range(first, first + len(groups)), labels, groups, strict=True)
        return {r: (label, (self.lineage, i)) for i, label, group in pairs for r in group}

    def version(self, rng: random.Random) -> bool:
        """Draw a version, and publish it if the checker allows it next to the earlier ones; return whether it does."""
        how = "keep" if self.versions and rng.random() < 0.6 else "recluster"
        sampled_values: Version = {}
        if how == "keep":
            sampled_values = {r: result for r, result in self.versions[-1].items() if r in self.there}
        else:
            self.lineage += 1
        sampled_values |= self.clusters(rng, self.there - sampled_values.keys(), 1000 * len(self.versions))
        entry = replace(self.first, version=len(self.entries) + 1, refresh_mode=how)
        self.store(entry, sampled_values)
        differences = version_differences.small_differences(self.cursor, entry, self.publication, self.entries)
        if differences:
            self.cursor.execute("DELETE FROM dbanon.membership WHERE version = ?", [entry.version])
        else:
            self.entries.append(entry)
            self.versions.append(sampled_values)
        return not differences

    def store(self, entry: LedgerEntry, version_rows: Version) -> None:
        """Write the members of a version in the form of the ledger's own."""
        columns = {"person_key": [str(pid) for pid, _ in version_rows]}
        columns["row_hash"] = [pid * 10 + DISEASES.index(disease) for pid, disease in version_rows]
        columns["class_id"] = columns["label_hash"] = [label for label, _ in version_rows.values()]
        columns["cluster_id"] = [cluster for _, (_, cluster) in version_rows.values()]
        columns["value_hash"], columns["cells"] = (
            list(pair) for pair in zip(*(self.hashes[d] for _, d in version_rows), strict=True)
        )
        ages_text = ", ".join(f'unnest(?) AS "{name}"' for name in columns)
        self.cursor.execute(
            "INSERT INTO dbanon.membership BY NAME SELECT 'main' AS schema_name, 'safe' AS \"release\", "
            f"{entry.version} AS version, 1 AS records, {ages_text}",
            list(columns.values()),
        )


def meets(records: Collection[Any]) -> bool:
    return len({pid for pid, _ in records}) >= K and len({disease for _, disease in records}) >= L


@pytest.mark.not_everyday
@pytest.mark.parametrize("person", [False, True])
def test_random_cluster_version_sums_meet_k_and_l(con: Any, person: bool) -> None:
    """Sequences of up to ten versions with any clusters, whose exposed sets are enumerated."""
    sampled_drawn, ends = RandomVersions(con, person), []
    for seed in range(SEQUENCES):
        rng = random.Random(seed)
        sampled_drawn.start(rng)
        sampled_drawn.version(rng)
        for _ in range(9):
            old_values = sampled_drawn.there, sampled_drawn.went
            sampled_drawn.change(rng)
            ends.append(sampled_drawn.version(rng))
            if not ends[-1]:  # otherwise the next would be refused, too
                sampled_drawn.there, sampled_drawn.went = old_values
            if len(sampled_drawn.versions) == 7:  # 2187 sums
                break
        assert exposed_differences(sampled_drawn.versions) == [], seed
    sampled_drawn.cursor.close()
    assert ends.count(True) > 2 * SEQUENCES
    assert ends.count(False) > 2 * SEQUENCES


def test_exposed_finds_planted_release_differences() -> None:
    """All, all but one, and the sum of three versions of which no two differ by too few."""
    everybody = {(i, DISEASES[i % 4]): ("*", (0, 0)) for i in range(20)}
    max_values = {r: result for r, result in everybody.items() if r[0] != 7}
    result = exposed_differences([everybody, max_values])
    assert result
    assert all(records == {(7, DISEASES[3])} for records in result)
    first = {(i, DISEASES[i % 4]): ("*", (0, 0)) for i in range(10)}
    second = {(i, DISEASES[i % 4]): ("*", (0, 0)) for i in range(10, 20)}
    both = {**first, **second, (99, "HIV"): ("*", (0, 0))}
    assert {(99, "HIV")} in exposed_differences([first, second, both])
