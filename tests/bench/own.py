"""Any table: the loss of `best` and other algorithms on a file, by precision and by NCP, and the time.

    python -m tests.bench own --file people.csv --hierarchies folder --quasi age,zip,sex --sensitive disease

A hierarchy is a file `COLUMN.csv` of the folder in ARX's format, one line per leaf. Numbers and dates without one (or
named with `--numbers`) are published as intervals, other columns without one unchanged or as `*`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dbanon.sqltext.quote import identifier
from tests.bench import apart
from tests.bench.apart import Clock, row, table

CALLS: dict[str, tuple[str, str]] = {
    "kacpc": ("kacpc", ""),
    "kmember": ("kmember", ", allow_slow := true"),
    "mondrian": ("mondrian", ""),
    "mdav": ("mdav", ", allow_slow := true"),
    "best fast": ("best", ""),
    "best normal": ("best", ", effort := 'normal'"),
    "best high": ("best", ", effort := 'high'"),
    "best fast, ncp": ("best", ", objective := 'ncp'"),
    "best normal, ncp": ("best", ", objective := 'ncp', effort := 'normal'"),
    "best high, ncp": ("best", ", objective := 'ncp', effort := 'high'"),
}
"""Calls that can be measured: a function, and its arguments in addition to table and k."""

QUICK = tuple(name for name in CALLS if "high" not in name)
"""Calls measured by default; the times of the others are compared with the first one."""


def load(
    con: Any, file: str, hierarchies: str | None, quasi: Sequence[str], sensitive: Sequence[str], numbers: Sequence[str]
) -> list[str]:
    """Store a file (CSV, Parquet) as `t` with its policy; return its quasi-identifiers.

    Without `quasi`, all columns that are not sensitive are quasi-identifiers.

    Raises:
        ValueError: The file has no such column.
    """
    import dbanon

    con.read_parquet(file).create("t") if file.endswith(".parquet") else con.read_csv(file).create("t")
    columns = [name for (name,) in con.execute("SELECT column_name FROM (DESCRIBE t)").fetchall()]
    unknown = sorted({*quasi, *sensitive, *numbers} - set(columns))
    if unknown:
        raise ValueError(f"no column {', '.join(unknown)} in {file}, which has {', '.join(columns)}")
    selected_quasis = list(quasi) or [c for c in columns if c not in sensitive]
    roles: dict[str, Any] = dict.fromkeys(sensitive, "sensitive")
    for column in selected_quasis:
        stored = Path(hierarchies or "", f"{column}.csv")
        roles[column] = "quasi"
        if hierarchies and column not in numbers and stored.exists():
            dbanon.load_hierarchy(con, column, stored)
            roles[column] = ("quasi", column)
    dbanon.declare(con, "t", **roles)
    return selected_quasis


def measure(name: str, k: int, **given: Any) -> dict[str, Any]:
    """Measure one call with compiled kernels.

    Returns:
        Precision, NCP per cell, wall and CPU seconds of the statement, the seconds of DuckDB's GROUP BY of the columns,
        and the numbers of records and tuples.
    """
    import duckdb

    import dbanon

    con = dbanon.attach(duckdb.connect())
    quasi = ", ".join(identifier(c) for c in load(con, **given))
    function, extra = CALLS[name]
    con.execute("CREATE TABLE few AS FROM t LIMIT 500")
    con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('few' AS table_name) FROM dbanon.policy")
    con.execute(f"CREATE TABLE safe AS FROM {function}('few', k = 2{extra})")
    clock = Clock()
    tuples = con.execute(f"SELECT count(*) FROM (SELECT {quasi}, count(*) FROM t GROUP BY ALL)").fetchall()[0][0]
    grouped = clock.read()
    clock = Clock()
    con.execute(f"CREATE OR REPLACE TABLE safe AS FROM {function}('t', k = {k}{extra})")
    seconds, cpu = clock.read()
    metrics = dict(con.execute(f"SELECT metric, value FROM {function}_metrics('t', k = {k}{extra})").fetchall())
    con.close()
    return {
        "rows": int(metrics["records"]), "tuples": tuples, "precision": metrics["precision"], "ncp": metrics["gcp"],
        "s": seconds, "cpu": cpu, "group_by_s": grouped[0], "group_by_cpu": grouped[1],
    }  # fmt: skip


def measurements(calls: Sequence[str], ks: Sequence[int], **given: Any) -> Iterator[dict[str, Any]]:
    """Yield one row per k and call, each from a process of its own.

    `cpu_to_baseline`: CPU time relative to the first call.
    """
    for k in ks:
        baseline = None
        for name in calls:
            mapping: dict[str, Any] = {"k": k, "call": name}
            try:
                mapping |= apart.run(measure, name=name, k=k, **given)
            except apart.ProcessFailedError as error:
                yield mapping | {"failed": str(error)}
                continue
            baseline = baseline or mapping["cpu"]
            yield mapping | {"cpu_to_baseline": mapping["cpu"] / baseline}


def report(calls: Sequence[str], ks: Sequence[int], as_json: bool, **given: Any) -> None:
    """Print one row per k and call."""
    if not as_json:
        print(f"\n{given['file']}: CREATE TABLE AS in a database in memory, each in a process of its own\n")
        print(table("k", "call", "precision", "NCP", "s", "CPU s", f"CPU / {calls[0]}", "CPU / GROUP BY", "peak MB"))
    for result in measurements(calls, ks, **given):
        if as_json:
            print(json.dumps(result), flush=True)
        elif "failed" in result:
            print(row(result["k"], result["call"], result["failed"], *[""] * 6), flush=True)
        else:
            print(
                row(
                    result["k"], result["call"], f"{result['precision']:.4f}", f"{result['ncp']:.4f}", result["s"],
                    result["cpu"], result["cpu_to_baseline"], round(result["cpu"] / result["group_by_cpu"]),
                    result["peak_mb"],
                ),
                flush=True,
            )  # fmt: skip
