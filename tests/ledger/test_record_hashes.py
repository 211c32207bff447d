"""The hashes of records in the membership are those of their texts, whatever their types."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import date

import dbanon

ROWS = [
    (31, "a;b", date(2020, 1, 31), 1.5, "Flu"),
    (31, "a;b", date(2020, 1, 31), -0.0, "Flu"),
    (None, "", date(2020, 2, 1), None, None),
    (-4, None, None, 2.0, "grün"),
    (31, "a;b", date(2020, 1, 31), 1.5, "Flu"),
]


def canonical_text(value: object) -> str | None:
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else str(value)
    return None if value is None else str(value)


def upper_half(text: str) -> int:
    return int.from_bytes(hashlib.md5(text.encode()).digest()[8:], "little")


def text_hash(values: list[object]) -> int:
    """Return the hash of values: a text of VARCHAR has its length in bytes before it, and NULL is a dash."""
    texts = [canonical_text(value) for value in values]
    parts = [
        "-" if text is None else f"{len(text.encode())}:{text}" if isinstance(value, str) else text
        for value, text in zip(values, texts, strict=True)
    ]
    return upper_half(";".join(["dbanon 2", *parts]))


def test_membership_has_hashes_of_canonical_texts() -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE p (age INTEGER, zip VARCHAR, day DATE, size DOUBLE, disease VARCHAR)")
        con.executemany("INSERT INTO p VALUES (?, ?, ?, ?, ?)", ROWS)
        dbanon.declare(con, "p", age="quasi", zip="quasi", day="quasi", size="quasi", disease="sensitive")
        dbanon.create_release(con, "safe", "kacpc", "p", k=2)
        query = "SELECT row_hash, value_hash, quasi_cells, cells, records FROM dbanon.membership"
        members = Counter[object]()
        for row, value, quasi_cells, cells, records in con.execute(query).fetchall():
            members[row, value, *quasi_cells, *cells] += records
    expected = Counter[object]()
    for row in ROWS:
        texts = [canonical_text(value) for value in row]
        cells = [None if text is None else upper_half(f"dbanon 2;{text}") for text in texts]
        expected[text_hash(list(row)), text_hash([row[4]]), *cells] += 1
    assert members == expected
