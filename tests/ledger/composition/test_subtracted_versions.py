"""Random sequences of releases, subtracted from each other by a reader who knows which records are whose.

Between two releases every key, every value or every age can change, and a few people are added or removed. The test
keeps its own list of the people of each release, by numbers that the package never sees.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest

import dbanon

K = 5
_VALUES = ("flu", "cold", "gout", "asthma", "hiv", "cancer")


@dataclass
class ChangingPeople:
    """People by their true numbers, and the current spelling of their keys and values."""

    rnd: random.Random
    people: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    arrived: int = 0
    key: str = "{}"
    value: str = "{}"

    def come(self, count: int) -> None:
        for _ in range(count):
            self.arrived += 1
            sizes = [self.rnd.randrange(n) for n in (40, 12, 30, len(_VALUES))]
            self.people[self.arrived] = (20 + sizes[0], sizes[1], sizes[2], sizes[3])

    def go(self, count: int) -> None:
        for number in self.rnd.sample(sorted(self.people), min(count, len(self.people) - 60)):
            del self.people[number]

    def start_anew(self) -> None:
        self.people.clear()
        self.come(150)

    def write_otherwise(self, event: str) -> None:
        tag = self.rnd.randrange(10**6)
        if event == "keys":
            self.key = self.rnd.choice(["{}", "0{}", "{}.0", f"{tag}-{{}}"])
        elif event == "values":
            self.value = self.rnd.choice(["{}", f"{tag} {{}}"])
        elif event == "ages":
            self.people = {n: (age + 1, *rest) for n, (age, *rest) in self.people.items()}

    def rows(self) -> list[tuple[object, ...]]:
        values = [
            (self.key.format(n), age, f"1{town:03}", size, self.value.format(_VALUES[value]))
            for n, (age, town, size, value) in self.people.items()
        ]
        self.rnd.shuffle(values)
        return values


def replace_rows(connection: Any, clinic: ChangingPeople) -> None:
    connection.execute("BEGIN; DELETE FROM p")
    connection.executemany("INSERT INTO p VALUES (?, ?, ?, ?, ?)", clinic.rows())
    connection.execute("COMMIT")


def is_published(connection: Any, name: str, how: str, key: str | None) -> bool:
    """Try to publish the table; return whether it was published."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if how in ("keep", "hold", "recluster"):
                dbanon.refresh_release(connection, name, mode=how, composition="refuse")
            else:
                dbanon.create_release(connection, name, how, "p", k=K, composition="refuse", replace=True, key=key)
        except dbanon.DbanonError:
            return False
    return True


def differ_by_too_few(one: set[int], other: set[int]) -> bool:
    """Return whether the difference of two releases consists of too few people."""
    return any(0 < len(side) < K for side in (one - other, other - one))


@pytest.mark.parametrize("has_key", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_random_releases_never_differ_by_too_few_people(seed: int, has_key: bool) -> None:
    rnd = random.Random(100 * seed + has_key)
    clinic = ChangingPeople(rnd)
    clinic.come(rnd.randint(120, 200))
    with dbanon.connect() as connection:
        connection.execute("CREATE TABLE p (id VARCHAR, age INTEGER, zip VARCHAR, size INTEGER, disease VARCHAR)")
        key = "id" if has_key else None
        dbanon.declare(connection, "p", id="identifier", age="quasi", zip="quasi", size="quasi", disease="sensitive")
        published_values: list[tuple[str, set[int]]] = []
        outcomes = Counter[bool]()
        for _ in range(10):
            for event in rnd.sample(["keys", "values", "ages"], rnd.choice([0, 1, 1])):
                clinic.write_otherwise(event)
            rnd.choice(
                [
                    lambda: None,
                    lambda: clinic.go(1),
                    lambda: clinic.come(2),
                    lambda: clinic.go(2 * K),
                    clinic.start_anew,
                ]
            )()
            replace_rows(connection, clinic)
            name, how = rnd.choice(["a", "b"]), rnd.choice(["kacpc", "mondrian", "keep", "hold", "recluster"])
            done = is_published(connection, name, how, key)
            outcomes[done] += 1
            if done and how != "hold":
                published_values.append((f"{name} by {how}", set(clinic.people)))
        for (one, mine), (other, theirs) in combinations(published_values, 2):
            assert not differ_by_too_few(mine, theirs), (one, other, len(mine - theirs), len(theirs - mine), outcomes)
        assert outcomes[True]
