"""Sets of equal records that versions have more or less often, compared with a count of record by record."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

import dbanon
from dbanon import errors
from dbanon.ledger import releases
from dbanon.ledger.composition import version_differences
from dbanon.ledger.releases import LedgerEntry
from dbanon.runtime import session

K = 4


def random_rows(generator: random.Random, count: int) -> list[tuple[int, str, str]]:
    return [
        (20 + generator.randrange(3), f"1{generator.randrange(2)}", generator.choice(["Flu", "HIV", "TB"]))
        for _ in range(count)
    ]


def publish_versions(con: Any, generator: random.Random, modes: Iterable[str]) -> None:
    """Publish a table with few distinct records, then change some records before each refresh."""
    con.execute("CREATE TABLE p (age INTEGER, zip VARCHAR, disease VARCHAR)")
    con.executemany("INSERT INTO p VALUES (?, ?, ?)", random_rows(generator, 150))
    dbanon.declare(con, "p", age="quasi", zip="quasi", disease="sensitive")
    dbanon.create_release(con, "safe", "kacpc", "p", k=K)
    for mode in modes:
        con.execute(f"DELETE FROM p WHERE rowid % 31 = {generator.randrange(31)}")
        con.executemany("INSERT INTO p VALUES (?, ?, ?)", random_rows(generator, generator.choice([1, 4, 9])))
        with contextlib.suppress(errors.CannotKeepClassesError):
            dbanon.refresh_release(con, "safe", mode=mode, allow_small_differences=True)


def record_sets(
    cursor: Any, versions: Sequence[LedgerEntry], lineages: Mapping[int, int]
) -> dict[tuple[str, Any], dict[tuple[int, int], list[int]]]:
    """Return, for each set, how many equal records each version has in it."""
    sets: dict[tuple[str, Any], dict[tuple[int, int], list[int]]] = defaultdict(
        lambda: defaultdict(lambda: [0] * len(versions))
    )
    for place, version in enumerate(versions):
        query = f"SELECT row_hash, value_hash, label_hash, cluster_id, records FROM {version.members}"
        for row, value, label, cluster, records in cursor.execute(f"{query} WHERE class_id IS NOT NULL").fetchall():
            ids = [("whole", 0), ("label", label)]
            if versions[-1].keeps_classes:
                ids.append(("lineage", (lineages[version.version], cluster)))
            for key in ids:
                sets[key][row, value][place] += records
    return sets


def small_sets(
    sets: Mapping[tuple[str, Any], Mapping[tuple[int, int], list[int]]], k: int
) -> Counter[tuple[str, bool, tuple[bool, ...], int]]:
    """Return the parts of atoms with fewer than k records: kind, whether new, earlier presence, number of records."""
    small: Counter[tuple[str, bool, tuple[bool, ...], int]] = Counter()
    for (kind, _), values in sets.items():
        atoms: dict[tuple[bool, ...], Counter[bool]] = defaultdict(Counter)
        totals = [sum(counts) for counts in zip(*values.values(), strict=True)]
        if kind != "whole" and not (totals[-1] and sum(totals[:-1])):
            continue
        for counts in values.values():
            for layer in range(max(counts)):
                presence = [count > layer for count in counts]
                atoms[tuple(presence[:-1])][presence[-1]] += 1
        for earlier, parts in atoms.items():
            if len(parts) > 1 or not any(earlier):
                for is_new, size in parts.items():
                    small[kind, is_new, earlier, size] += size < k
    return +small


@pytest.mark.parametrize("seed", range(4))
def test_sets_of_equal_records_counted_like_single_records(seed: int) -> None:
    generator = random.Random(seed)
    modes = [generator.choice(["keep", "recluster"]), "recluster", "keep", "keep"]
    with dbanon.connect() as con, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        publish_versions(con, generator, modes)
        current = session.find_session(con.raw)
        with current.cursor() as cursor:
            *others, entry = releases.entries(cursor, "memory")
            spec = releases.current_spec(entry, current, cursor)
            differences = version_differences.small_differences(cursor, entry, spec, others)
            lineage, lineages = 0, {}
            for version in [*others, entry]:
                lineage = lineage if version.keeps_classes else version.version
                lineages[version.version] = lineage
            expected: Counter[tuple[str, bool, tuple[bool, ...]]] = Counter()
            people: Counter[tuple[str, bool, tuple[bool, ...]]] = Counter()
            for (kind, is_new, earlier, size), count in small_sets(
                record_sets(cursor, [*others, entry], lineages), K
            ).items():
                expected[kind, is_new, earlier] += count
                people[kind, is_new, earlier] += count * size
    differences_by_kind = {
        (d.kind, d.is_new, tuple((o in d.others) != d.is_new for o in others)): d for d in differences
    }
    assert {key: d.n_sets for key, d in differences_by_kind.items()} == dict(expected)
    assert {key: d.n_people for key, d in differences_by_kind.items()} == dict(people)
    assert others
