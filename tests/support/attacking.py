"""Helpers for tests of the attacks: rows by name, planted tables, and tolerances of observed shares."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

ROWS = [
    "attribute",
    "class",
    "records",
    "guess",
    "confidence",
    "baseline_confidence",
    "actual_accuracy",
    "people",
    "note",
]
SUMMARY = ["name", "attribute", "value", "majority_baseline", "raw_baseline", "description"]
TREE = [
    ["Flu", "Infectious", "*"],
    ["HIV", "Infectious", "*"],
    ["Cancer", "Oncology", "*"],
    ["Lymphoma", "Oncology", "*"],
]


def attack(
    con: Any, kind: str, release: str = "safe", source: str = "people", extra_arguments: str = ""
) -> list[dict[str, Any]]:
    """Return the rows of one attack."""
    cursor = con.execute(
        f"FROM attack('{release}', kind='{kind}', source='{source}'{', ' if extra_arguments else ''}{extra_arguments})"
    )
    assert [column[0] for column in cursor.description] == ROWS
    return [dict(zip(ROWS, row, strict=True)) for row in cursor.fetchall()]


def summary(
    con: Any, kind: str, release: str = "safe", source: str = "people", extra_arguments: str = ""
) -> dict[str, dict[str, Any]]:
    """Return the summary of one attack by name; of several attributes the last."""
    separator = ", " if extra_arguments else ""
    query = f"FROM attack_summary('{release}', kind='{kind}', source='{source}'{separator}{extra_arguments})"
    cursor = con.execute(query)
    assert [column[0] for column in cursor.description] == SUMMARY
    return {row[0]: dict(zip(SUMMARY, row, strict=True)) for row in cursor.fetchall()}


def exposed_people(rows: Iterable[dict[str, Any]]) -> set[str]:
    """Return every person whom an attack names."""
    return {person for row in rows for person in row["people"]}


def create_people_and_release(con: Any, rows: Sequence[tuple[Any, ...]]) -> None:
    """Create people(id, age, sex, disease) and safe(age, sex, disease): ages in tens, sex unchanged, by classes."""
    con.execute("CREATE OR REPLACE TABLE people (id INTEGER, age INTEGER, sex VARCHAR, disease VARCHAR)")
    con.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", [(i, *row) for i, row in enumerate(rows)])
    con.execute(
        "CREATE OR REPLACE TABLE safe AS SELECT '[' || age // 10 * 10 || ', ' || age // 10 * 10 + 9 || ']' AS age, "
        "sex, disease FROM people ORDER BY random()"
    )


def declare_people(con: Any) -> Any:
    """Provide the connection with the policy of the planted people."""
    import dbanon

    con.execute("CREATE TABLE people (id INTEGER, age INTEGER, sex VARCHAR, disease VARCHAR)")
    dbanon.load_hierarchy(con, "diseases", TREE)
    dbanon.declare(con, "people", id="person", age="quasi", sex="quasi", disease=("sensitive", "diseases"))
    return con


def random_people(seed: int, size: int, diseases: Sequence[str], weights: Sequence[float]) -> list[tuple[Any, ...]]:
    """Return people whose diseases are independent of everything."""
    rng = random.Random(seed)
    return [(rng.randrange(40), rng.choice("MF"), rng.choices(diseases, weights)[0]) for _ in range(size)]


def is_calibrated(stated: float, hits: float, n_attempts: float) -> bool:
    """Return whether a share of hits equals the stated one, within four standard deviations of a binomial."""
    return abs(hits / n_attempts - stated) <= 4 * math.sqrt(max(stated * (1 - stated), 1 / n_attempts) / n_attempts)
