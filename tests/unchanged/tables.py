"""The tables of the recorded releases, made by arithmetic alone, so that they are identical everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

import dbanon

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
"""The folder of the papers' data sets, next to the checkout; without it the comparison omits Adult."""

SIX = """
    CREATE TABLE six (rid INTEGER, age INTEGER, workclass VARCHAR, disease VARCHAR);
    INSERT INTO six VALUES
        (1, 25, 'Local-gov', 'Flu'), (2, 27, 'State-gov', 'Flu'), (3, 29, 'Federal-gov', 'Cancer'),
        (4, 40, 'Private', 'Flu'), (5, 46, 'Private', 'Cancer'), (6, 55, 'Self-emp-inc', 'HIV')
"""

CLINIC = """
    CREATE TABLE clinic AS
    SELECT
        i::INTEGER AS rid,
        'N' || i AS name,
        (i * 7 % 200)::INTEGER AS pid,
        CASE WHEN i % 37 = 5 THEN NULL ELSE 18 + (a % 73) END::INTEGER AS age,
        ['F', 'M', NULL][1 + CASE WHEN i % 41 = 3 THEN 2 ELSE b % 2 END] AS sex,
        '02' || (100 + (b * 7 % 4) * 10 + a % 6)::VARCHAR AS zip,
        CASE WHEN i % 53 = 1 THEN NULL ELSE 45 + (c % 160) / 4.0 END::DOUBLE AS weight,
        DATE '1950-03-01' + (c % 18000)::INTEGER AS born,
        TIMESTAMP '2024-01-31 23:00:00' + to_minutes(a % 300000) AS seen,
        b % 3 = 0 AS smoker,
        ['cook', 'clerk', 'nurse', 'smith'][1 + c % 4] AS job,
        ['TB', 'Flu', 'HIV', 'Stroke', 'Cancer', NULL][1 + CASE WHEN i % 61 = 9 THEN 5 ELSE a * 3 % 5 END] AS disease,
        [10, 9, -1, 300, 0][1 + b % 5]::INTEGER AS score,
        ['north', 'south'][1 + c % 2] AS ward
    FROM (
        SELECT i, i * 7919 % 1009 * 31 % 997 AS a, (i * 104729 + 17) % 1013 * 37 % 991 AS b,
            (i * 15485863 + 5) % 100003 AS c
        FROM range(240) AS r (i)
    )
    ORDER BY c
"""

ILLNESS = [
    ["TB", "Infectious", "*"],
    ["Flu", "Viral", "Infectious", "*"],
    ["HIV", "Viral", "Infectious", "*"],
    ["Stroke", "*"],
    ["Cancer", "Oncology", "*"],
]
RAGGED = [["cook", "Hands", "*"], ["smith", "Hands", "*"], ["nurse", "Care", "Service", "*"], ["clerk", "*"]]


def small() -> Any:
    """Create `six`, `clinic` (NULLs, eight types, several rows per person), and their policies.

    `declared` is `clinic` with a more detailed policy, and `free` is without one.
    """
    con = dbanon.attach(duckdb.connect())
    con.execute(SIX)
    con.execute(CLINIC)
    for name in ("declared", "free"):
        con.execute(f"CREATE TABLE {name} AS FROM clinic")
    dbanon.load_hierarchy(con, "illness", ILLNESS)
    dbanon.load_hierarchy(con, "trades", RAGGED)
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zips', 'clinic', 'zip', keep := [4, 3])")
    dbanon.declare(
        con, "six", rid="identifier", age="quasi", workclass=("quasi", "adult_workclass"), disease="sensitive"
    )
    roles = {
        "rid": "identifier",
        "name": "identifier",
        "age": "quasi",
        "sex": ("quasi", "sex"),
        "zip": ("quasi", "zips"),
        "disease": ("sensitive", "illness"),
    }
    dbanon.declare(con, "clinic", **roles)
    extra_parameters = {
        "pid": "person",
        "age": {"role": "quasi", "weight": 3, "top": 80, "bottom": 25, "rounding": 5},
        "zip": {"role": "quasi", "hierarchy": "zips", "min_level": 1},
        "job": {"role": "quasi", "hierarchy": "trades", "max_level": 2, "weight": 0.5},
        "born": "quasi",
        "ward": "insensitive",
    }
    dbanon.declare(con, "declared", **(roles | extra_parameters))
    return con


def adult() -> Any:
    """Create the 30,162 complete records of Adult, the KACPC paper's roles and its hierarchies."""
    con = dbanon.attach(duckdb.connect())
    con.execute(f"CREATE TABLE adult AS FROM '{DATA / 'adult.csv'}'")
    roles: dict[str, Any] = {"age": "quasi", "occupation": "sensitive", "salary": "sensitive"}
    for column in ("workclass", "education", "marital_status", "race", "sex"):
        dbanon.load_hierarchy(con, column, DATA / "hierarchies" / "kacpc" / f"{column}.csv")
        roles[column] = ("quasi", column)
    dbanon.declare(con, "adult", **roles)
    con.execute("CREATE TABLE visits AS SELECT *, (rowid * 7919 % 20011)::INTEGER AS pid FROM adult")
    dbanon.declare(con, "visits", pid="person", **roles)
    return con
