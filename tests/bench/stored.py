"""Stored releases: creation, refresh and publishing, as multiples of the CPU time of CREATE TABLE AS.

`steps` prints each figure next to its target, and the share of each step. Source, ledger and release are in a file.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tests.bench import apart
from tests.bench.apart import Clock, row, table

TARGETS = {"create": 1.6, "refresh, unchanged": 0.5, "refresh, 1% changed": 2.0}
"""The greatest CPU time of an operation, as a multiple of that of CREATE TABLE AS."""

STEPS = (
    ("CREATE TEMP TABLE temp.main", "reading, clustering and gate"),
    ('_classes" AS WITH', "table of classes"),
    ('"membership" BY NAME', "membership"),
    ("CREATE TABLE", "table of rows"),
    ("metric_rows", "metrics"),
    ("missed_models", "comparison with earlier versions"),
    ('"dbanon changed', "comparison with earlier versions"),
    ("new_people", "recognizing people of earlier versions"),
    ('"dbanon unrecognized', "recognizing people of earlier versions"),
    ("value_differences", "reading the tables back"),
    ("ordering_values", "reading the tables back"),
    ("system.main.hash(", "recognizing an unchanged source"),
    ("COMMIT", "commit"),
)
"""Words that identify a statement, and the step that it is; the first ones that occur count."""

_REMOVED = """CREATE OR REPLACE TEMP TABLE removed AS SELECT * FROM (
    SELECT *, sum(size) OVER (ORDER BY {quasi}) AS total
    FROM (SELECT {quasi}, count(*) AS size FROM t GROUP BY ALL) AS s
    SEMI JOIN (SELECT {quasi}, count(*) AS size FROM safe GROUP BY ALL) AS p
        ON ({published}, p.size) = ({original}, s.size)
) WHERE total <= {rows}"""
"""The tuples that are classes of their own, until they have the number of rows that is to be removed."""


class _TimedCursor:
    """A cursor that adds the CPU time of each statement to that of its step."""

    def __init__(self, cursor: Any, seconds: dict[str, float]) -> None:
        self._cursor, self._seconds = cursor, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def execute(self, query: str, *values: Any) -> Any:
        """Execute a statement; the result is read from the cursor."""
        start = time.process_time()
        try:
            result = self._cursor.execute(query, *values)
        finally:
            step = next((name for words, name in STEPS if words in str(query)), "planning and other statements")
            self._seconds[step] = self._seconds.get(step, 0.0) + time.process_time() - start
        return self if result is self._cursor else result

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        return list(self._cursor.fetchall())

    def __enter__(self) -> _TimedCursor:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()


@contextlib.contextmanager
def _timed_steps() -> Iterator[dict[str, float]]:
    """Yield the CPU seconds by step of the statements and hashes that are computed in the block."""
    from dbanon.ledger import text_hash
    from dbanon.runtime import session

    seconds: dict[str, float] = {}
    open_cursor, compute_hash = session.Session.cursor, text_hash.sha256

    def timed_hash(*values: Any) -> str:
        start = time.process_time()
        try:
            return compute_hash(*values)
        finally:
            name = "SHA-256 of the tables"
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - start

    with (
        mock.patch.object(session.Session, "cursor", lambda self: _TimedCursor(open_cursor(self), seconds)),
        mock.patch.object(text_hash, "sha256", timed_hash),
    ):
        yield seconds


def measure(rows: int, algorithm: str, runs: int) -> dict[str, Any]:
    """Return the CPU seconds of each operation (medians), and by operation those of each step."""
    import dbanon
    from tests.bench import data

    warnings.simplefilter("ignore")
    seconds: dict[str, list[float]] = {}
    steps: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        data.resampled(rows, path)
        con = dbanon.connect(Path(folder) / "clinic.duckdb")
        quasi = data.load(con, path)
        con.execute("CREATE TABLE original AS FROM t; CREATE TABLE few AS FROM t LIMIT 2000")
        con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('few' AS table_name) FROM dbanon.policy")

        def run(name: str, statement: str) -> None:
            dbanon.clear_cache(con)
            with _timed_steps() as spent:
                clock = Clock()
                con.execute(statement).fetchall()
                seconds.setdefault(name, []).append(clock.read()[1])
            steps[name] = spent

        call, view = f"{algorithm}('{{}}', k=10)", "MATERIALIZED ANONYMIZED VIEW safe"
        con.execute(f"CREATE TABLE safe AS FROM {call.format('few')}").fetchall()
        con.execute("DROP TABLE safe")
        for number in range(runs):
            run("create table as", f"CREATE TABLE safe AS FROM {call.format('t')}")
            con.execute("DROP TABLE safe")
            run("create", f"CREATE {view} AS SELECT * FROM {call.format('t')}")
            run("refresh, unchanged", f"REFRESH {view}")
            change(con, quasi, rows // 100)
            run("refresh, 1% changed", f"REFRESH {view} WITH (allow_small_differences = true)")
            run("publish", f"PUBLISH {view} TO '{folder}/safe{number}.parquet'")
            con.execute(f"DROP {view}").fetchall()
            dbanon.forget_release(con, "safe")
            con.execute("CREATE OR REPLACE TABLE t AS FROM original")
        con.close()
    return {"cpu": {name: statistics.median(values) for name, values in seconds.items()}, "steps": steps}


def change(con: Any, quasi: Sequence[str], rows: int) -> None:
    """Replace so many rows of the table t: remove half as many, in whole classes, and insert copies of other rows."""
    names = ", ".join(quasi)
    published, original = (", ".join(f"{alias}.{column}::VARCHAR" for column in quasi) for alias in ("p", "s"))
    con.execute(_REMOVED.format(quasi=names, published=published, original=original, rows=rows // 2))
    con.execute(f"DELETE FROM t USING removed AS r WHERE {' AND '.join(f't.{c} = r.{c}' for c in quasi)}")
    con.execute(f"INSERT INTO t FROM t USING SAMPLE {rows // 2} ROWS (reservoir, 1)")


def report(sizes: Sequence[int], algorithms: Sequence[str], runs: int, as_json: bool) -> None:
    """Print, for each size and algorithm, the operations with their targets, then the shares of their steps."""
    for size in sizes:
        for algorithm in algorithms:
            result = apart.run(measure, rows=size, algorithm=algorithm, runs=runs if size < 10**7 else 1)
            if as_json:
                print(json.dumps({"rows": size, "algorithm": algorithm} | result), flush=True)
                continue
            print(f"\nStored releases: {algorithm}, {size:,} rows in a file, k = 10, peak {result['peak_mb']:,} MB\n")
            print(table("operation", "CPU s", "/ CREATE TABLE AS", "target"))
            for name, cpu in result["cpu"].items():
                print(row(name, cpu, cpu / result["cpu"]["create table as"], TARGETS.get(name, "")))
            for name in TARGETS:
                print(f"\nSteps: {name}\n\n{table('step', 'CPU s', 'share')}")
                total = sum(result["steps"][name].values())
                for step, cpu in sorted(result["steps"][name].items(), key=lambda item: -item[1]):
                    print(row(step, cpu, f"{cpu / total:.0%}"), flush=True)
