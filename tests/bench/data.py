"""Tables for the benchmarks, made from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dbanon

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
QUASI = ("age", "workclass", "education", "marital_status", "race", "sex")


def adult(rows: int | None) -> pd.DataFrame:
    """Adult's six quasi-identifiers and occupation; with `rows`, resampled, then 20% of the cells of each column
    redrawn from the column."""
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


def mixed(rows: int) -> pd.DataFrame:
    """Two continuous quasi-identifiers and four of Adult's categories."""
    random = np.random.default_rng(2)
    table = adult(rows)[["workclass", "education", "marital_status", "race", "occupation"]]
    return table.assign(income=random.lognormal(10, 0.6, rows).round(2), height=random.normal(170, 12, rows))


def continuous(rows: int) -> pd.DataFrame:
    """Four continuous quasi-identifiers, all tuples distinct."""
    random = np.random.default_rng(3)
    return pd.DataFrame({f"x{j}": random.normal(size=rows) for j in range(4)})


def load(con: Any, table: pd.DataFrame | Path) -> list[str]:
    """Stores a table (or a Parquet file) as `t` with its policy; gives its quasi-identifiers."""
    if isinstance(table, Path):
        con.execute(f"CREATE TABLE t AS FROM '{table}'").fetchall()
    else:
        con.register("made", table)
        con.execute("CREATE TABLE t AS FROM made").fetchall()
        con.unregister("made")
    columns = [name for (name,) in con.execute("SELECT column_name FROM (DESCRIBE t)").fetchall()]
    quasi = [c for c in columns if c != "occupation"]
    roles: dict[str, Any] = {c: "sensitive" for c in columns if c == "occupation"}
    for column in quasi:
        path = DATA / "hierarchies" / "kacpc" / f"{column}.csv"
        if path.exists():
            dbanon.load_hierarchy(con, column, path)
        roles[column] = ("quasi", column) if path.exists() else "quasi"
    dbanon.declare(con, "t", **roles)
    return quasi
