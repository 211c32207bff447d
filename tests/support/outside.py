"""Statements that together run every kind of SQL, on a table with everything that a session could change."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import duckdb

import dbanon

HOSPITAL = """
CREATE TABLE stays AS SELECT
    i // 2 AS pid,
    20 + (i * 7) % 40 AS age,
    CASE WHEN i % 13 > 0 THEN ((i * 3) % 20) / 4.0::DOUBLE END AS dose,
    ((i * 7) % 30)::DECIMAL(9, 2) / 8 AS paid,
    (DATE '1960-01-31' + INTERVAL (37 * (i % 29)) DAY)::DATE AS born,
    TIMESTAMPTZ '2020-02-28 23:30:00+00' + INTERVAL (i % 31) HOUR AS seen,
    CASE WHEN i % 11 > 0 THEN ['021', '022', '103', '1Ä4', 'ä5B'][1 + i % 5] || i % 3 END AS zip,
    CASE WHEN i % 9 > 0 THEN ['flu', 'HIV', 'cold', 'Flu'][1 + (i * 5) % 4] END AS disease,
    (i * 11) % 6 AS severity,
    ['F', 'M'][1 + i % 2] AS sex
FROM range(64) AS r (i)
"""
ROLES = "sensitive := ['disease', 'severity'], person := 'pid', hierarchies := {'zip': 'zip'}"
QI = "qi := ['age', 'dose', 'paid', 'born', 'seen', 'zip', 'sex']"
FEW = "qi := ['age', 'zip', 'sex']"
MODELS = [
    "l := 2, t := 0.9",
    "l := 2, diversity := 'entropy', alpha := 0.9, beta := 9, multi_sensitive := 'joint'",
    "p := 2, t := 0.95, ground_distance := 'ordered', nulls := 'drop', suppress := 0.2, sensitive := ['severity']",
    "c := 3, l := 2, diversity := 'recursive', intervals := 'bounds', beta := 9, likeness := 'enhanced'",
]
MADE = "safe', source := 'stays', qi := ['age', 'zip', 'sex'], hierarchies := {'zip': 'zip'}"
JUDGED = f"{FEW}, sensitive := ['disease']"

STATEMENTS = {
    "release": f"FROM kacpc('stays', k := 2, {QI}, {ROLES})",
    "classes": f"FROM kacpc_classes('stays', k := 2, {QI}, {ROLES}, intervals := 'struct')",
    "metrics": f"FROM kacpc_metrics('stays', k := 2, {QI}, {ROLES}, with_kl_divergence := true)",
    "records": f"FROM mondrian_metrics('stays', k := 3, {QI}, sensitive := ['disease'], nulls := 'drop')",
    "coarse": f"FROM mondrian('stays', k := 3, {QI}, sensitive := ['disease'], top := {{'age': 50}}, "
    "bottom := {'age': 25}, rounding := {'dose': '0.5', 'born': 'quarter', 'seen': 'day'}, "
    "coarsen := {'age': 5}, max_level := {'zip': 2})",
    **{
        f"{kind} model {i}": f"FROM mondrian{kind}('stays', k := 2, {FEW}, person := 'pid', "
        + (f"{model})" if " sensitive" in model else f"sensitive := ['disease'], {model})")
        for i, model in enumerate(MODELS)
        for kind in ("", "_metrics")
    },
    "greedy": f"FROM simdiv_metrics('stays', k := 3, {FEW}, sensitive := ['disease'], "
    "bounds := {'age': [20, 55]}, drop_duplicates := true)",
    "noise": f"FROM rka('stays', k := 3, {QI}, sensitive := ['disease'], release := 'noise')",
    "noise classes": f"FROM rka_classes('stays', k := 3, {FEW}, sensitive := ['disease'], release := 'noise')",
    "noise metrics": f"FROM rka_metrics('stays', k := 3, {QI}, sensitive := ['disease'], release := 'noise')",
    "inference": f"FROM inference('stays', k := 2, {FEW}, sensitive := ['disease'], algorithm := 'mondrian')",
    "influence": "FROM influence('stays', qi := ['age', 'zip'], sensitive := ['disease'], trees := 3)",
    "profile": "FROM profile('stays')",
    "policy": "FROM policy_problems()",
    "anonymity": f"FROM anonymity('safe', {JUDGED})",
    "l": f"FROM l_diversity('safe', {JUDGED}, diversity := 'entropy')",
    "t": f"FROM t_closeness('safe', {FEW}, sensitive := ['severity'], ground_distance := 'ordered')",
    "alpha": f"FROM alpha_k('safe', {JUDGED})",
    "beta": f"FROM beta_likeness('safe', {JUDGED}, likeness := 'enhanced')",
    "risk": f"FROM risk('{MADE}, sensitive := ['disease'], threshold := 0.4)",
    "uniqueness": f"FROM uniqueness('{MADE}, population := 'stays')",
    **{n: f"FROM {n}('safe', source := 'stays', {JUDGED})" for n in ("disclosure", "exposure")},
    **{n: f"FROM {n}('{MADE})" for n in ("reidentification", "distortion", "infeasible_classes")},
    **{
        f"attack {kind}": f"FROM attack_summary('{MADE}, sensitive := ['disease'], kind := '{kind}'{more})"
        for kind, more in {
            **dict.fromkeys(("homogeneity", "skewness", "reconstruction", "downcoding"), ""),
            **dict.fromkeys(("refinement", "prediction"), ""),
            **dict.fromkeys(("linkage", "membership"), ", register := 'stays'"),
            "minimality": ", alpha := 0.5",
        }.items()
    },
    "query_error": f"FROM query_error('safe', 'stays', {FEW}, hierarchies := {{'zip': 'zip'}}, queries := 20)",
    "releases": "SELECT * EXCLUDE (released_at) FROM releases()",
    "status": "FROM release_status()",
    "delta": "FROM refresh_problems('held')",
    "composition": "FROM composition('held', 'held too') ORDER BY ALL",
    "certificate": "SELECT * FROM certificate('held') WHERE item <> 'released at'",
    "hierarchy_prefix": "FROM hierarchy_prefix('a', 'stays', 'zip', keep := [2])",
    "hierarchy_intervals": "FROM hierarchy_intervals('a', 'stays', 'age', widths := [5, 10])",
    "hierarchy_dates": "FROM hierarchy_dates('a', 'stays', 'born', levels := ['year', 'decade'])",
    "hierarchy_to_arx": "FROM hierarchy_to_arx('zip')",
    "hierarchy_problems": "FROM hierarchy_problems()",
    "uncovered_values": "FROM uncovered_values('stays', 'sex', hierarchy := 'zip')",
    "hierarchies": "SELECT name FROM hierarchies()",
    "algorithms": "FROM algorithms()",
    "read": "SELECT lower_bound('[25, 29]'), upper_date('[2001-01-01, 2001-12-31]'), midpoint('[1, 4]'), "
    "share_within('[1, 4]', 2, 3), covers('[1, 4]', 3), covers('0*', '0210', 'zip'), "
    "midpoint_date('[2001-01-01, 2001-12-31]')",
}


def hospital(con: Any) -> Any:
    """Provide the connection with the table, its hierarchy, a release of it and two materialized ones."""
    con.execute(HOSPITAL)
    dbanon.attach(con)
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zip', 'stays', 'zip', keep := [3, 1])")
    con.execute(f"CREATE TABLE safe AS FROM mondrian('stays', k := 2, {FEW}, sensitive := ['disease', 'severity'])")
    parameters = {"qi": ["age", "zip", "sex"], "sensitive": ["disease"], "person": "pid"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dbanon.create_release(con, "held", "mondrian", "stays", k=2, **parameters)
        dbanon.create_release(con, "held too", "kacpc", "stays", k=2, **parameters)
    return con


def answer(con: Any, query: str) -> Any:
    """Return the result of a statement: its rows, or its error."""
    try:
        return con.execute(query).fetchall()
    except duckdb.Error as error:
        return str(error)


@contextlib.contextmanager
def open_connection() -> Iterator[Any]:
    """Provide a connection of `hospital`, closed at the end."""
    con = duckdb.connect()
    try:
        yield hospital(con)
    finally:
        con.close()
