"""More rows than memory: statements under a memory limit, compared with runs without one."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import apart
from tests.bench.apart import Clock, row, table

STATEMENTS = {
    "CREATE TABLE": "CREATE TABLE safe AS FROM kacpc('t', k=10)",
    "_metrics": "CREATE TABLE safe AS FROM kacpc_metrics('t', k=10)",
    "view": "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('t', k=10)",
}


def write(rows: int, values: int, database: str) -> dict[str, Any]:
    """Create a database with the table and its policy, and with a sensitive column of `values` values if positive."""
    import dbanon
    from tests.bench import data

    path = Path(database).with_suffix(".parquet")
    if values:
        data.many_values(rows, values, path)
    else:
        data.resampled(rows, path)
    with dbanon.connect(database) as con:
        data.load(con, path)
    path.unlink()
    return {}


def measure(database: str, statement: str, memory: str | None) -> dict[str, Any]:
    """Return the seconds of a statement, the maximum bytes in the temporary directory, and a hash of the result."""
    import dbanon

    with (
        tempfile.TemporaryDirectory() as folder,
        _SpillWatcher(Path(folder)) as spilled,
        dbanon.connect(database, memory=memory, temp_directory=folder) as con,
    ):
        clock = Clock()
        con.execute(statement)
        con.execute("SELECT 1").fetchall()
        seconds, cpu = clock.read()
        shown_row = con.execute("SELECT sum(hash(safe, rowid))::VARCHAR, count(*) FROM safe").fetchall()[0]
        con.execute("DROP MATERIALIZED ANONYMIZED VIEW safe" if "VIEW" in statement else "DROP TABLE safe")
    return {
        "s": seconds,
        "cpu": cpu,
        "spilled_mb": round(spilled.most / 2**20),
        "hash": shown_row[0],
        "made": shown_row[1],
    }


class _SpillWatcher(threading.Thread):
    """A thread that records the maximum bytes in a directory, ten times a second."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.most, self._ended = folder, 0, threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.1):
            sizes = 0
            for path in self.folder.rglob("*"):
                try:
                    sizes += path.stat().st_blocks * 512
                except FileNotFoundError:  # read back and deleted since
                    continue
            self.most = max(self.most, sizes)

    def __enter__(self) -> _SpillWatcher:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def measurements(cases: Sequence[tuple[int, int]], memory: str, free: bool) -> Iterator[dict[str, Any]]:
    """Yield one row per case (rows, values of a further sensitive column) and statement.

    `same`: whether the result equals that without a memory limit, which is computed if `free`.
    """
    for rows, values in cases:
        with tempfile.TemporaryDirectory() as folder:
            database = str(Path(folder) / "t.duckdb")
            apart.run(write, rows=rows, values=values, database=database)
            for name, statement in STATEMENTS.items():
                mapping: dict[str, Any] = {"rows": rows, "values": values, "statement": name}
                try:
                    mapping |= apart.run(measure, database=database, statement=statement, memory=memory)
                    if free:
                        other = apart.run(measure, database=database, statement=statement, memory=None)
                        mapping |= {"same": mapping["hash"] == other["hash"], "free_s": other["s"]}
                except apart.ProcessFailedError as error:
                    mapping["failed"] = str(error)
                yield mapping


def report(cases: Sequence[tuple[int, int]], memory: str, free: bool, as_json: bool) -> None:
    """Print one row per case and statement."""
    if not as_json:
        print(f"\nUnder memory_limit = '{memory}': Adult resampled, k = 10, a database file\n")
        print(table("rows", "further values", "statement", "s", "CPU s", "peak MB", "spilled MB", "as without a limit"))
    for result in measurements(cases, memory, free):
        cells: tuple[object, ...] = (result["rows"], result["values"] or "", result["statement"])
        if "failed" in result:
            line = row(*cells, result["failed"], *[""] * 4)
        else:
            same = {True: "yes", False: "no", None: ""}[result.get("same")]
            line = row(*cells, result["s"], result["cpu"], result["peak_mb"], result["spilled_mb"], same)
        print(json.dumps(result) if as_json else line, flush=True)
