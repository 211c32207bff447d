"""Random people with random rows about them, and the published rows of a release."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from oracle.related import Kind, Row

import dbanon

ZIPS = {z: (z[:4] + "*", z[:3] + "**", "*") for z in ("02138", "02139", "02141", "10001", "10002")}
CODES = {c: (c[0], "*") for c in ("J10", "J11", "I21", "I25", "K29")}
KEY = "key := {'patient_id': 'id'}"
KINDS: tuple[tuple[Kind, ...], ...] = (("number", ZIPS), ("date", CODES), ("number",))
"""Of patients, visits and labs."""


@dataclass(frozen=True)
class RelatedClinic:
    """People by key, each with the rows of every table."""

    people: dict[int, Row]
    visits: dict[int, list[Row]]
    labs: dict[int, list[Row]]


def clinic(con: Any, seed: int, people: int, max_visits: int = 6) -> RelatedClinic:
    """Create patients, visits and labs, with their policy: rows in no order, NULLs, people without rows."""
    draw = random.Random(seed)

    def maybe(value: object) -> object:
        return None if draw.random() < 0.05 else value

    def day() -> date:
        return date(1969, 6, 1) + timedelta(days=draw.randrange(700))

    keys = draw.sample(range(-500, 500), people)
    actual_clinic = RelatedClinic(
        {key: (maybe(draw.randrange(18, 80)), maybe(draw.choice(list(ZIPS)))) for key in keys},
        {
            key: [(maybe(day()), maybe(draw.choice(list(CODES)))) for _ in range(draw.randrange(max_visits + 1))]
            for key in keys
        },
        {key: [(maybe(draw.randrange(1000) / 10),) for _ in range(draw.randrange(3))] for key in keys},
    )
    con.execute("CREATE TABLE patients (id INTEGER, age INTEGER, zip VARCHAR, blood VARCHAR)")
    con.execute("CREATE TABLE visits (patient_id BIGINT, day DATE, code VARCHAR, disease VARCHAR)")
    con.execute("CREATE TABLE labs (patient_id INTEGER, value DOUBLE)")
    con.executemany(
        "INSERT INTO patients VALUES (?, ?, ?, ?)",
        [(key, *actual_clinic.people[key], draw.choice(["A", "B"])) for key in keys],
    )
    for table, rows, extra in (
        ("visits", actual_clinic.visits, ["Flu", "HIV", None]),
        ("labs", actual_clinic.labs, []),
    ):
        lines = [(key, *row, *([draw.choice(extra)] if extra else [])) for key in keys for row in rows[key]]
        draw.shuffle(lines)
        con.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(lines[0]))})", lines)
    for name, tree in (("zips", ZIPS), ("codes", CODES)):
        dbanon.load_hierarchy(con, name, [[value, *above] for value, above in tree.items()])
    dbanon.declare(con, "patients", id="person", age="quasi", zip=("quasi", "zips"), blood="sensitive")
    dbanon.declare(con, "visits", patient_id="person", day="quasi", code=("quasi", "codes"), disease="sensitive")
    dbanon.declare(con, "labs", patient_id="person", value={"role": "quasi", "rounding": 5})
    return actual_clinic


def rows_by_pseudonym(con: Any, table: str, columns: str, call: str) -> dict[int, list[Row]]:
    """Return some columns of a call's rows, by pseudonym."""
    groups: dict[int, list[Row]] = defaultdict(list)
    for pseudonym, *row in con.execute(f"SELECT {columns} FROM {call.replace('TABLE', repr(table))}").fetchall():
        groups[pseudonym].append(tuple(row))
    return dict(groups)
