"""The figures of the papers on Adult, each one statement of compare(); `--plot FOLDER` draws them.

`python -m tests.bench figures` prints the statements and their results. The table `adult` has the papers' columns and
hierarchies declared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dbanon
from tests.bench import data

KACPC = "['kacpc', 'ikac', 'oka', 'gaa_cp', 'mdav']"
"""The algorithms compared in the KACPC paper."""

FIGURES = {
    "kacpc-k": (
        "The KACPC paper's precision and time by k: six quasi-identifiers, all records",
        f"FROM compare('adult', algorithms={KACPC}, k=[10, 20, 30, 40, 50, 60, 70, 80, 90, 100], "
        "metrics=['precision'], repeat=10);",
    ),
    "kacpc-d": (
        "By the number of quasi-identifiers, in the order in which the paper lists them",
        f"FROM compare('adult', algorithms={KACPC}, k=[10, 50], n_quasi_identifiers=[2, 3, 4, 5, 6], "
        f"metrics=['precision'], repeat=10);",
    ),
    "kacpc-n": (
        "By the number of records",
        f"FROM compare('adult', algorithms={KACPC}, k=[10, 50], sample_sizes=[5000, 10000, 15000, 20000, 25000, "
        f"30162], "
        "metrics=['precision'], repeat=10);",
    ),
    "three-variants": (
        "The three-variants paper's measures by k: nine quasi-identifiers",
        "FROM compare('adult_nine', algorithms=['kmeans_no1', 'kmeans_no2', 'kmeans_no3', 'oka', 'kmember'], "
        "k=[5, 10, 20, 50, 100], metrics=['square_error', 'total_information_loss', 'discernibility'], repeat=3);",
    ),
    "neighbours": (
        "k-member, KNN and greedy clustering, as the review compares them: normalized certainty penalty and time",
        "FROM compare('adult', algorithms=['kmember', 'knn_anon', 'gaa_cp'], k=[10, 20, 50, 100], "
        "sample_sizes=[5000, 10000, 30162], metrics=['ncp', 'gcp'], repeat=3);",
    ),
}
"""By figure: its subject, and its statement."""

NINE = (*data.QUASI, "occupation", "native_country", "relationship")
"""The three-variants paper names eight columns; the ninth is unknown."""


def prepare(con: Any) -> None:
    """Create the tables `adult` and `adult_nine` with their policies."""
    con.execute(f"CREATE TABLE adult AS SELECT {', '.join(data.QUASI)} FROM read_csv('{data.DATA / 'adult.csv'}')")
    con.execute(f"CREATE TABLE adult_nine AS SELECT {', '.join(NINE)} FROM read_csv('{data.DATA / 'adult.csv'}')")
    for column in NINE:
        path = data.DATA / "hierarchies" / "kacpc" / f"{column}.csv"
        hierarchy = column if path.exists() else None if column == "age" else f"adult_{column}"
        if path.exists():
            dbanon.load_hierarchy(con, column, path)
        role = "quasi" if hierarchy is None else ("quasi", hierarchy)
        dbanon.declare(con, "adult_nine", **{column: role})
        if column in data.QUASI:
            dbanon.declare(con, "adult", **{column: role})


def report(names: list[str], plots: str | None, as_json: bool) -> None:
    """Print the result of each statement, and draw it into a folder."""
    con = dbanon.connect()
    prepare(con)
    for name in names or FIGURES:
        message, statement = FIGURES[name]
        frame = con.execute(statement).df()
        if plots is not None:
            dbanon.plot(frame).save(Path(plots) / f"{name}.svg")
        if as_json:
            print(json.dumps({"figure": name, "rows": json.loads(frame.to_json(orient="records"))}))
            continue
        print(f"\n{message}\n\n    {statement}\n")
        remaining = frame[frame["mean"].notna()]
        index = ["metric", "algorithm", *(a for a in ("n_quasi_identifiers", "n") if remaining[a].nunique() > 1)]
        print(remaining.pivot_table(index=index, columns="k", values="mean", sort=False).round(4).to_string())
        print("\nseconds\n")
        print(remaining.pivot_table(index=index[1:], columns="k", values="seconds", sort=False).round(3).to_string())
