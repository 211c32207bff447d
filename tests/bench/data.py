"""Tables for the benchmarks, generated from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import dbanon

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
QUASI = ("age", "workclass", "education", "marital_status", "race", "sex")


def adult(rows: int | None) -> pd.DataFrame:
    """Return Adult's six quasi-identifiers and occupation.

    With `rows`, records are resampled, then 20% of the cells of each column are redrawn from the column.
    """
    source = pd.read_csv(DATA / "adult.csv")[[*QUASI, "occupation"]]
    if rows is None:
        return source
    random = np.random.default_rng(1)
    pick = random.integers(0, len(source), rows)
    columns = {}
    for name in source.columns:
        values = source[name].to_numpy()
        column = values[pick].copy()
        redrawn = random.random(rows) < 0.2
        column[redrawn] = values[random.integers(0, len(values), int(redrawn.sum()))]
        columns[name] = column
    return pd.DataFrame(columns)


def resampled(rows: int, path: Path) -> None:
    """Write `adult(rows)` as Parquet, holding value numbers instead of values in memory."""
    source = pd.read_csv(DATA / "adult.csv")[[*QUASI, "occupation"]]
    random = np.random.default_rng(1)
    pick = random.integers(0, len(source), rows).astype(np.int32)
    columns = {}
    for name in source.columns:
        codes, values = pd.factorize(source[name])
        codes = codes.astype(np.int8)
        column = codes[pick]
        redrawn = random.random(rows) < 0.2
        column[redrawn] = codes[random.integers(0, len(codes), int(redrawn.sum()))]
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(column), pa.array(values))
    parquet.write_table(pa.table(columns), path)


def many_values(rows: int, values: int, path: Path) -> None:
    """Write Adult resampled, with an additional sensitive column `code` of `values` values."""
    resampled(rows, path)
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS SELECT *, 'c' || hash(file_row_number) % {values} AS code FROM "
                    f"read_parquet('{path}', file_row_number = true)")  # fmt: skip
        con.execute(f"COPY (SELECT * EXCLUDE (file_row_number) FROM t) TO '{path}'")


def sparse(rows: int, path: Path) -> None:
    """Write eight quasi-identifiers of 10,000 values (`deep`, with hierarchies), all tuples distinct."""
    random = np.random.default_rng(4)
    pd.DataFrame({f"deep{j}": [f"{v:05d}" for v in random.integers(0, 10_000, rows)] for j in range(8)}).to_parquet(
        path
    )


def varied(rows: int, path: Path) -> None:
    """Write eight quasi-identifiers, all tuples distinct.

    Three numbers with nearly distinct values, two categories of 10,000 values (`deep`, with hierarchies), three of 12.
    """
    random = np.random.default_rng(4)
    columns: dict[str, Any] = {f"number{j}": random.permutation(rows) // (j + 1) for j in range(3)}
    columns |= {f"deep{j}": [f"{v:05d}" for v in random.integers(0, 10_000, rows)] for j in range(2)}
    columns |= {f"few{j}": [f"v{v}" for v in random.integers(0, 12, rows)] for j in range(3)}
    pd.DataFrame(columns).to_parquet(path)


def broad(rows: int, path: Path) -> None:
    """Write thirty quasi-identifiers: ten numbers and twenty categories of five values."""
    random = np.random.default_rng(5)
    columns: dict[str, Any] = {f"number{j}": random.integers(0, 40, rows) for j in range(10)}
    columns |= {f"few{j}": [f"v{v}" for v in random.integers(0, 5, rows)] for j in range(20)}
    pd.DataFrame(columns).to_parquet(path)


def mixed(rows: int) -> pd.DataFrame:
    """Return two continuous quasi-identifiers and four of Adult's categories."""
    random = np.random.default_rng(2)
    table = adult(rows)[["workclass", "education", "marital_status", "race", "occupation"]]
    return table.assign(income=random.lognormal(10, 0.6, rows).round(2), height=random.normal(170, 12, rows))


def continuous(rows: int) -> pd.DataFrame:
    """Return four continuous quasi-identifiers, all tuples distinct."""
    random = np.random.default_rng(3)
    return pd.DataFrame({f"x{j}": random.normal(size=rows) for j in range(4)})


def load(con: Any, table: pd.DataFrame | Path) -> list[str]:
    """Store a table (or a Parquet file) as `t` with its policy; return its quasi-identifiers."""
    if isinstance(table, Path):
        con.execute(f"CREATE TABLE t AS FROM '{table}'").fetchall()
    else:
        con.register("made", table)
        con.execute("CREATE TABLE t AS FROM made").fetchall()
        con.unregister("made")
    columns = [name for (name,) in con.execute("SELECT column_name FROM (DESCRIBE t)").fetchall()]
    quasi = [c for c in columns if c not in ("occupation", "code")]
    roles: dict[str, Any] = {c: "sensitive" for c in columns if c not in quasi}
    for column in quasi:
        path = DATA / "hierarchies" / "kacpc" / f"{column}.csv"
        roles[column] = "quasi"
        if path.exists():
            dbanon.load_hierarchy(con, column, path)
            roles[column] = ("quasi", column)
        elif column.startswith("deep"):
            hierarchy_query = f"hierarchy_prefix('{column}', 't', '{column}', keep=[4, 3, 2, 1])"
            con.execute(f"INSERT INTO dbanon.hierarchy FROM {hierarchy_query}")
            roles[column] = ("quasi", column)
    dbanon.declare(con, "t", **roles)
    return quasi
