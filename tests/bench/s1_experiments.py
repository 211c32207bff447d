"""Further experiments of Majeed et al. 2024: `python -m tests.bench.s1 --experiment NAME`.

`parameters` is Figure 7, `stability` Figure 8, `accuracy` Table 7 and `time` Figure 15. Figures 7, 8 and 15 are images
without numbers, so only what the paper says about them can be compared.
"""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dbanon
from tests.bench.s1_data import CASES, DataSet, influence_scores, load, risk_values

K = 10
"""k of all experiments; the paper does not state its own."""

OPTIMUM = {"alpha_pr": 0.5, "t_cs": 0.9, "t_div": 0.7}
"""The values that the paper chooses by Figure 7; beta_ut is 1 - alpha_pr."""

GRID = {
    "alpha_pr": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0),
    "t_cs": (0.5, 0.7, 0.9, 0.95, 0.99, 0.999),
    "t_div": (0.1, 0.3, 0.5, 0.7, 0.9, 1.0),
}
"""Values of each parameter; the others keep those of OPTIMUM."""

NOISE = "mr_mondrian('t', k := {k}, noise_epsilon := 1)"
"""MR Mondrian as the paper's method of differential privacy; the paper states no epsilon."""

REPEATS = 3
"""Number of runs whose median CPU time is printed."""

SIZES = {"adult": (5000, 10000, 20000, 32561), "diabetes": (5000, 10000, 15000, 20501)}
"""Numbers of records of Figure 15 (b); the paper does not state its own."""

PAPER_ACCURACY = {"adult": (88.14, 86.31), "careplans": (82.05, 81.58), "diabetes": (84.69, 80.89)}
"""Table 7: accuracy in percent with and without non-sensitive attributes."""

NON_SENSITIVE = {
    "adult": {
        name: name
        for name in ("workclass", "education", "marital_status", "occupation", "relationship", "capital_gain",
                     "capital_loss", "hours_per_week")
    },
    "careplans": {"reason": "coalesce(reasondescription, 'none')", "ethnicity": "ethnicity", "prefix": "prefix"},
    "diabetes": {
        name: f'"{name}"'
        for name in ("time_in_hospital", "num_medications", "number_diagnoses", "max_glu_serum", "A1Cresult",
                     "metformin", "glipizide", "glyburide", "pioglitazone", "rosiglitazone", "readmitted")
    },
}  # fmt: skip
"""Non-sensitive attributes of Table 7, by name their SQL; the paper does not name its own."""


# --- Figure 7: parameters -------------------------------------------------------------------------------------------


def parameter_rows(con: Any, grid: Mapping[str, Sequence[float]] = GRID) -> Iterator[dict[str, Any]]:
    """Yield one row per parameter and value, with the paper's metrics of the release at K.

    Every parameter is varied with the cosine of the values as they are, and scaled to 0 to 1 (`cs_scale`).
    """
    influence = influence_scores(con)
    for parameter, values in grid.items():
        for scale in ("raw", "minmax"):
            for value in values:
                settings = OPTIMUM | {parameter: value}
                settings["beta_ut"] = 1 - settings["alpha_pr"]
                arguments = "".join(f", {name} := {number!r}" for name, number in settings.items())
                con.execute(
                    f"CREATE OR REPLACE TABLE safe AS FROM simdiv('t', k := {K}{arguments}, cs_scale := '{scale}')"
                ).fetchall()
                yield {"parameter": parameter, "cs_scale": scale, "value": value} | risk_values(con, influence)


# --- Figure 8: stability --------------------------------------------------------------------------------------------


def stability_rows(con: Any, case: DataSet) -> Iterator[dict[str, Any]]:
    """Yield one row per method and quasi-identifier: how far its distribution in the release is from the original one.

    Numbers have no hierarchy here, so that MR Mondrian adds noise to them.
    """
    numbers = [column for column, type_, *_ in con.execute("DESCRIBE t").fetchall() if type_ == "BIGINT"]
    con.execute("UPDATE dbanon.policy SET hierarchy = NULL WHERE list_contains(?, column_name)", [numbers])
    for method, call in {"proposed": "simdiv('t', k := {k})", "MR Mondrian": NOISE}.items():
        con.execute(f"CREATE OR REPLACE TABLE safe AS FROM {call.format(k=K)}").fetchall()
        for column in case.qi:
            original, published = (
                Counter(dict(con.execute(f'SELECT "{column}", count(*) FROM {table} GROUP BY ALL').fetchall()))
                for table in ("t", "safe")
            )
            nodes = _nodes(con, column)
            distance, outside = distribution_distance(
                original, published, lambda value, o=original, n=nodes: covered_values(value, o, n)
            )
            yield {"method": method, "column": column, "distance": distance, "outside": outside}


def _nodes(con: Any, column: str) -> dict[str, set[str]]:
    """Return, by label of a node of the column's hierarchy, the labels of the leaves below it."""
    paths = con.execute("SELECT node, label FROM dbanon.hierarchy WHERE name = ?", [column]).fetchall()
    parents = {path.rpartition("/")[0] for path, _ in paths}
    leaves = [(path, label) for path, label in paths if path not in parents]
    nodes: dict[str, set[str]] = {}
    for path, label in paths:
        nodes.setdefault(label, set()).update(leaf for below, leaf in leaves if f"{below}/".startswith(f"{path}/"))
    return nodes


def covered_values(value: Any, original: Mapping[Any, int], nodes: Mapping[str, set[str]]) -> list[Any]:
    """Return the original values that a published one covers: itself, those of an interval, or those below a node."""
    if value in original:
        return [value]
    if value == "*":
        return list(original)
    interval = re.fullmatch(r"\[(-?\d+), (-?\d+)\]", str(value))
    if interval:
        low, high = int(interval[1]), int(interval[2])
        return [number for number in original if low <= number <= high]
    return [one for one in original if str(one) in nodes.get(str(value), set())]


def distribution_distance(
    original: Mapping[Any, int], published: Mapping[Any, int], covered: Callable[[Any], Sequence[Any]]
) -> tuple[float, float]:
    """Return how far a published distribution is from the original one, and the share of values outside of it.

    A published value counts in equal parts for all original values that it covers; one that covers none is outside.

    Args:
        original: Number of records by value of the source.
        published: Number of records by value of the release.
        covered: Returns the original values that a published value covers.

    Returns:
        Half the sum of the absolute differences of all shares (outside values included), from 0 to 1; and the share of
        published records outside.
    """
    n_original, n_published = sum(original.values()), sum(published.values())
    shares, outside = dict.fromkeys(original, 0.0), 0.0
    for value, n in published.items():
        values = covered(value)
        for one in values:
            shares[one] += n / n_published / len(values)
        outside += 0 if values else n / n_published
    distance = sum(abs(shares[value] - n / n_original) for value, n in original.items())
    return (distance + outside) / 2, outside


# --- Table 7: non-sensitive attributes ------------------------------------------------------------------------------


def accuracy_rows(con: Any, name: str, max_records: int = 10**9) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of forests of source and release, with and without non-sensitive attributes.

    Table t must be loaded. The non-sensitive attributes are published unchanged. If the table has more than
    `max_records`, these are drawn by a hash.
    """
    case, columns = CASES[name], NON_SENSITIVE[name]
    extra = ", ".join(f'{sql} AS "{column}"' for column, sql in columns.items())
    con.execute(f"CREATE OR REPLACE TABLE t AS {case.query.replace('SELECT ', f'SELECT {extra}, ', 1)}")
    _keep_records(con, max_records)
    dbanon.declare(
        con,
        "t",
        **{case.sensitive: "sensitive"},
        **{column: ("quasi", column) for column in case.qi},
        **dict.fromkeys(columns, "insensitive"),
    )
    rare = ", ".join(f"'{column}'" for column in columns)
    con.execute(f"CREATE OR REPLACE TABLE safe AS FROM simdiv('t', k := {K}, allow_rare := [{rare}])").fetchall()
    for label, qi in {"with": (*case.qi, *columns), "without": case.qi}.items():
        names = ", ".join(f"'{column}'" for column in qi)
        scores = con.execute(
            f"SELECT trained_on, accuracy FROM ml_utility('safe', source := 't', qi := [{names}])"
        ).fetchall()
        yield {"non_sensitive": label} | dict(scores) | {"paper": PAPER_ACCURACY[name][label == "without"]}


# --- Figure 15: time ------------------------------------------------------------------------------------------------


def time_rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield the CPU seconds of SimDiv by number of records: of the random forest, of the rest, and of both.

    All are medians of REPEATS runs, each in a new connection.
    """
    case = CASES[name]
    with dbanon.connect(":memory:") as con:
        load(con, case)
        ((records,),) = con.execute("SELECT count(*) FROM t").fetchall()
    for size in SIZES.get(name, (records,)):
        runs = [_cpu_seconds(case, size) for _ in range(REPEATS)]
        forest, rest = (statistics.median(run[i] for run in runs) for i in range(2))
        yield {"records": size, "forest": forest, "clustering": rest, "total": forest + rest}


def _cpu_seconds(case: DataSet, size: int) -> tuple[float, float]:
    """Return CPU seconds of the forest, and of a release that needs none, for `size` records drawn by a hash."""
    with dbanon.connect(":memory:") as con:
        load(con, case)
        _keep_records(con, size)
        seconds = []
        for query in ("FROM influence('t')", f"FROM simdiv('t', k := {K}, influence := 'weights')"):
            clock = time.process_time()
            con.execute(query).fetchall()
            seconds.append(time.process_time() - clock)
    return seconds[0], seconds[1]


def _keep_records(con: Any, size: int) -> None:
    """Reduce the table t to `size` records, drawn by a hash."""
    con.execute(f"CREATE OR REPLACE TABLE t AS FROM t ORDER BY md5(t::VARCHAR || rowid::VARCHAR) LIMIT {size}")


# --- printing -------------------------------------------------------------------------------------------------------

EXPERIMENTS = {
    "parameters": "Figure 7: privacy and utility by alpha_pr (beta_ut = 1 - alpha_pr) and the thresholds",
    "stability": "Figure 8: distance of the distribution of each quasi-identifier from the original one",
    "accuracy": "Table 7: accuracy of predicting the sensitive value, with and without non-sensitive attributes",
    "time": "Figure 15: CPU seconds of the proposed method",
}
"""By name of an experiment: its title."""


def experiment_rows(experiment: str, name: str) -> list[dict[str, Any]]:
    """Return the rows of an experiment on one data set."""
    if experiment == "time":
        return list(time_rows(name))
    case = CASES[name]
    with dbanon.connect(":memory:") as con:
        load(con, case)
        if experiment == "parameters":
            return list(parameter_rows(con))
        return list(stability_rows(con, case) if experiment == "stability" else accuracy_rows(con, name))


def print_rows(experiment: str, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the rows of an experiment as a table."""
    print(f"\n## {EXPERIMENTS[experiment]}: {CASES[name].title}, k = {K}\n")
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        cells = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
        print("| " + " | ".join(cells) + " |", flush=True)
