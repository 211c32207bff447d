"""Random sequences of versions with deferred records: every separable set of records has k persons and l values.

Sets are separated by who is in which version and by sums of classes of all versions together. The test reads nothing
but the published tables, whose column `tag` identifies the record of a row, and the source at every time: not the
ledger, nor dbanon's comparison of versions.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors

WORLDS = int(os.environ.get("DBANON_WORLDS", "1"))
"""Random sequences of each kind."""
STEPS = int(os.environ.get("DBANON_STEPS", "8"))
"""Number of refreshes in each sequence, which ends with the tenth version."""
SUMS = 300
"""Random signed sums of classes that are computed in each."""

DISEASES = ["Flu", "HIV", "TB"]
K, L = 3, 2

Record = tuple[int, str]
"""Tag and disease: a person with another disease is another record."""
Version = Mapping[Record, str]
"""The published values of a version: the ages of each record's class."""

KINDS: dict[str, tuple[tuple[str, ...], bool, str]] = {
    "hold": (("hold",), False, "warn"),
    "erase": (("hold", "hold", "keep"), True, "warn"),
    "recluster": (("hold", "hold", "keep", "recluster"), False, "warn"),
    "refuse": (("hold", "hold", "keep", "recluster", "replace"), False, "refuse"),
}
"""Ways to refresh that are mixed, whether erasures are honoured, and the effect of versions that narrow people."""


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    yield connection
    connection.close()


class History:
    """A source that changes and is released, with everything that was ever published of it."""

    def __init__(self, con: Any, seed: int, kind: str, by_person: bool) -> None:
        self.con, self.rng, self.by_person = con, random.Random(f"{seed} {kind} {by_person}"), by_person
        self.ways, self.erases, self.composition = KINDS[kind]
        self.person: dict[int, int] = {}
        """The person of each tag."""
        self.versions: list[Version] = []
        self.went: list[tuple[Any, ...]] = []
        self.waited: list[int] = []
        con.execute("CREATE TABLE patients (tag INTEGER PRIMARY KEY, pid INTEGER, age INTEGER, disease VARCHAR)")
        person = "person" if by_person else "identifier"
        dbanon.declare(con, "patients", tag="insensitive", pid=person, age="quasi", disease="sensitive")
        self.insert(14)

    @property
    def asked(self) -> dict[str, Any]:
        return {"k": K, "l": L, "allow_rare": ["tag"]} | ({} if self.by_person else {"key": "tag"})

    def insert(self, count: int, disease: str | None = None) -> None:
        """Insert new records; some of their persons may be known."""
        rows = []
        for _ in range(count):
            tag = len(self.person)
            known_by_person = self.by_person and self.person and self.rng.random() < 0.3
            self.person[tag] = self.rng.choice(list(self.person.values())) if known_by_person else tag
            rows.append((tag, self.person[tag], 20 + self.rng.randrange(15), disease or self.rng.choice(DISEASES)))
        self.con.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", rows)

    def change(self) -> None:
        """Add, remove, restore or change some records."""
        rng, con = self.rng, self.con
        choice = rng.choice(
            ["few", "few", "few", "many", "alike", "class", "class", "one", "some back", "back", "value"]
        )
        if choice in ("few", "many", "alike"):
            self.insert(rng.randrange(1, K) if choice == "few" else 2 * K, "Flu" if choice == "alike" else None)
        elif choice in ("class", "one"):
            last = self.versions[-1]
            ages = rng.choice(sorted(set(last.values())))
            tags = [tag for (tag, _), of in last.items() if of == ages]
            removed_text = ", ".join(map(str, tags if choice == "class" else tags[:1]))
            self.went += con.execute(f"SELECT * FROM patients WHERE tag IN ({removed_text})").fetchall()
            con.execute(f"DELETE FROM patients WHERE tag IN ({removed_text})")
        elif choice == "value":
            con.execute("UPDATE patients SET disease = 'Cut' WHERE tag = (SELECT max(tag) FROM patients)")
        elif self.went:
            back = self.went if choice == "back" else self.went[: rng.randrange(1, len(self.went) + 1)]
            self.went = [row for row in self.went if row not in back]
            con.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", back)

    def release(self, erase: bool = False) -> str:
        """Refresh in some way, published if it is allowed; return the outcome."""
        way = self.rng.choice(self.ways)
        parameters: dict[str, Any] = {"composition": self.composition}
        try:
            if not self.versions:
                actual_release = dbanon.create_release(self.con, "safe", "kacpc", "patients", **self.asked)
            elif way == "replace":
                actual_release = dbanon.create_release(
                    self.con, "safe", "mondrian", "patients", replace=True, **parameters, **self.asked
                )
            else:
                actual_release = dbanon.refresh_release(self.con, "safe", mode=way, erase=erase, **parameters)
        except (
            errors.SmallDifferencesRefusedError,
            errors.CompositionRefusedError,
            errors.CannotKeepClassesError,
            errors.ErasureEmptiesReleaseError,
        ):
            return "refused"
        except duckdb.InvalidInputException:
            return "impossible"
        waiting = actual_release.waiting or 0
        if actual_release.version == len(self.versions):
            assert self.shown() == self.versions[-1]
            self.waited.append(waiting)
            return "waits"
        self.versions.append(self.shown())
        self.waited.append(waiting)
        (present_result,) = self.con.execute("SELECT count(*) FROM patients").fetchall()[0]
        if way == "hold" and not self.erases:
            assert len(self.versions[-1]) + waiting == present_result
        return "released"

    def shown(self) -> Version:
        """Return the published rows."""
        rows = self.con.execute("SELECT tag, disease, age FROM safe").fetchall()
        ages = {(tag, disease): age for tag, disease, age in rows}
        assert len(ages) == len(rows)
        return ages

    def step(self) -> str:
        """Change and refresh; a refused change is undone or, in erasure, erased."""
        self.con.execute("CREATE OR REPLACE TABLE before AS FROM patients")
        went = list(self.went)
        self.change()
        how = self.release()
        if how == "refused" and self.erases and self.rng.random() < 0.6:
            how = f"erased, {self.release(erase=True)}"
        if how.endswith(("refused", "impossible")):
            self.went = went
            self.con.execute("DELETE FROM patients")
            self.con.execute("INSERT INTO patients FROM before")
        return how

    def short(self, records: Iterable[Record]) -> bool:
        """Return whether a set has too few people or values."""
        actual_records = list(records)
        return (
            len({self.person[tag] for tag, _ in actual_records}) < K
            or len({disease for _, disease in actual_records}) < L
        )

    def exposed(self, by_class: bool) -> list[list[Record]]:
        """Return the sets that the versions together separate and that are too small.

        They are separated by the classes of every version (`by_class`), else by who is in which version, over all
        records and over those with equal ages.
        """
        records = sorted({record for version in self.versions for record in version})

        def separated(patterns: Mapping[Record, Hashable]) -> list[list[Record]]:
            sets: dict[Hashable, list[Record]] = defaultdict(list)
            for record, pattern in patterns.items():
                sets[pattern].append(record)
            return [members for members in sets.values() if self.short(members)]

        if by_class:
            result = separated({r: tuple(version.get(r) for version in self.versions) for r in records})
            for _ in range(SUMS):
                result += separated(self.summed(records))
            return result
        result = separated({r: tuple(r in version for version in self.versions) for r in records})
        for ages in sorted({value for version in self.versions for value in version.values()}):
            patterns = {r: tuple(version.get(r) == ages for version in self.versions) for r in records}
            result += separated({r: pattern for r, pattern in patterns.items() if any(pattern)})
        return result

    def summed(self, records: Sequence[Record]) -> Mapping[Record, int]:
        """Return the nonzero counts of each record in a random signed sum of classes."""
        sign = {
            (i, ages): self.rng.choice((-1, 0, 1))
            for i, version in enumerate(self.versions)
            for ages in sorted(set(version.values()))
        }
        remaining_totals = {r: sum(sign[i, v[r]] for i, v in enumerate(self.versions) if r in v) for r in records}
        return {r: count for r, count in remaining_totals.items() if count}


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning", "ignore::dbanon.UtilityWarning")
@pytest.mark.parametrize("by_person", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(WORLDS))
def test_random_version_sequences_meet_model(con: Any, seed: int, kind: str, by_person: bool) -> None:
    history = History(con, seed, kind, by_person)
    ends = [history.release()]
    while len(ends) < STEPS and len(history.versions) < 10:
        ends.append(history.step())
        by_class = kind != "recluster"
        assert history.exposed(by_class) == [], ends
    assert len(history.versions) > 1, ends


def test_history_checker_finds_planted_differences(con: Any) -> None:
    """One person was removed, and one is in the classes of two versions with no one else."""
    history = History(con, 0, "hold", False)
    people = [(tag, DISEASES[tag % 3]) for tag in range(12)]
    everybody = dict.fromkeys(people, "[20, 29]")
    history.versions = [everybody, {r: ages for r, ages in everybody.items() if r[0] != 7}]
    assert [(7, "HIV")] in history.exposed(False)
    assert [(7, "HIV")] in history.exposed(True)
    history.versions = [
        {r: "[20, 24]" if i < 6 else "[25, 29]" for i, r in enumerate(people)},
        {r: "[20, 25]" if i < 7 else "[26, 29]" for i, r in enumerate(people)},
    ]
    assert history.exposed(False) == []
    assert [(6, "Flu")] in history.exposed(True)
