"""Sixty people, on whom the releases of an algorithm are tested as a user calls it."""

from __future__ import annotations

from typing import Any

ASKED = "('people', k=5, qi=['age', 'sex', 'town'], sensitive=['disease']{})"
"""The arguments of a function; `{}` is for more parameters."""

ONE_RARE = "CASE WHEN i % 4 = 0 THEN 'HIV' ELSE 'Flu' END"
FOUR = "['Flu', 'Cold', 'Ache', 'HIV'][1 + (i // 5) % 4]"
"""Their diseases."""


def people(con: Any, *, disease: str = ONE_RARE, oldest: int | None = None) -> Any:
    """Create people(age, sex, town, disease), of whom the last one may be `oldest`, far from the others."""
    age = "20 + (i * 7) % 41" if oldest is None else f"CASE WHEN i = 59 THEN {oldest} ELSE 20 + (i * 7) % 41 END"
    con.execute(f"""CREATE TABLE people AS
        SELECT {age} AS age, ['F', 'M'][1 + i % 2] AS sex, ['a', 'b', 'c'][1 + i % 3] AS town, {disease} AS disease
        FROM range(60) AS r (i)""")
    return con


def assert_classes(con: Any, call: str, extra_arguments: str, *, classes: int, values: int) -> None:
    """Assert that all people are in classes of at least five.

    There are at least `classes` classes, each with at least `values` diseases.
    """
    sizes = con.execute(f"SELECT size, len(disease) FROM {call}_classes{ASKED.format(extra_arguments)}").fetchall()
    assert sum(size for size, _ in sizes) == 60
    assert min(size for size, _ in sizes) >= 5
    assert len(sizes) >= classes
    assert min(result for _, result in sizes) >= values


def assert_seed_determines_release(con: Any, call: str) -> None:
    """Assert that equal seeds publish equal rows, and some other seeds do not."""
    one, same = (con.execute(f"FROM {call}{ASKED.format(', seed=1')}").fetchall() for _ in range(2))
    others = [con.execute(f"FROM {call}{ASKED.format(f', seed={seed}')}").fetchall() for seed in range(2, 6)]
    assert one == same
    assert any(one != other for other in others)
