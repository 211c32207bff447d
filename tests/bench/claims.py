"""The review's claims that one algorithm loses less than another, measured on Adult.

`python -m tests.bench claims` measures every algorithm of tests/bench/review.py once per k and seed, and prints one row
per claim. A seed draws 10,000 records and their order of arrival, and is the seed of the random steps. The hierarchical
clusterings need scikit-learn (extra `learn`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd

import dbanon
from dbanon.algorithms import algorithms, streams
from tests.bench import apart, data
from tests.bench.review import CLAIMS, Claim

ROWS = 10_000
K = (10, 50)
SEEDS = (0, 1, 2)

DELTA_PER_K = 100
"""The delta of streams as a multiple of k, as in tests/bench/streams.py."""

MISSING_SHARE = 0.1
"""Share of the cells without a value in the table `incomplete`."""

TABLES: dict[str, tuple[str, ...]] = {
    "adult": data.QUASI,
    "incomplete": data.QUASI,
    "numbers": ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week"),
}
"""The quasi-identifiers of each table."""

MEASURES = {"loss": "loss", "ncp": "NCP", "divergence": "divergence", "average_loss": "stream loss"}
"""The measures and their names in the table."""

LINKAGES = {"single link": "single", "complete link": "complete", "average link": "average"}
"""Hierarchical clusterings, which are not functions of dbanon, and scikit-learn's names of them."""

TRADITIONAL = ("mondrian", "mr_mondrian(l := 2)", "incognito", "datafly")
"""The measured algorithms that the review calls traditional; all others are clusterings."""

Means = dict[tuple[str, str, int], dict[str, float]]
"""The mean measures by call, table and k."""


class Outcome(NamedTuple):
    """A claim with its mean measures."""

    claim: Claim
    results: dict[int, tuple[float, float]]
    """By k: the measure of the algorithm, and of the baseline."""

    @property
    def holds(self) -> list[int]:
        """The values of k for which the algorithm loses less."""
        return [k for k, (algorithm, baseline) in self.results.items() if algorithm < baseline]

    @property
    def problem(self) -> str:
        """A message if a claim has a reason but holds, or does not hold and has none."""
        is_confirmed = len(self.holds) == len(self.results)
        if is_confirmed and self.claim.reason:
            return "the claim holds, but a reason is stored"
        return "" if is_confirmed or self.claim.reason else "the claim does not hold, and no reason is stored"


def prepare(seed: int, rows: int = ROWS) -> Any:
    """Return a connection with the tables of `TABLES`: a sample of Adult in an order of arrival, both by `seed`."""
    columns = [*dict.fromkeys(column for quasi in TABLES.values() for column in quasi), "occupation"]
    source = pd.read_csv(data.DATA / "adult.csv")[columns]
    frame = source.sample(min(rows, len(source)), random_state=seed).reset_index(drop=True)
    frame["arrival"] = range(len(frame))
    random = np.random.default_rng(seed)
    present = pd.DataFrame({c: random.random(len(frame)) >= MISSING_SHARE for c in data.QUASI})
    cells = ", ".join(f"CASE WHEN present.{c} THEN records.{c} END AS {c}" for c in data.QUASI)
    con = dbanon.attach(duckdb.connect())
    con.register("records", frame)
    con.register("present", present)
    con.execute("CREATE TABLE adult AS FROM records")
    con.execute("CREATE TABLE numbers AS FROM records")
    con.execute(f"CREATE TABLE incomplete AS "
                f"SELECT {cells}, occupation, arrival FROM records POSITIONAL JOIN present")  # fmt: skip
    paths = {c: data.DATA / "hierarchies" / "kacpc" / f"{c}.csv" for c in data.QUASI}
    paths = {column: path for column, path in paths.items() if path.exists()}
    for column, path in paths.items():
        dbanon.load_hierarchy(con, column, path)
    for table, quasi in TABLES.items():
        roles = {c: ("quasi", c) if c in paths else "quasi" for c in quasi}
        dbanon.declare(con, table, **roles, occupation="sensitive")
    return con


def measure(con: Any, call: str, table: str, k: int, seed: int, measures: Sequence[str]) -> dict[str, float]:
    """Return the measures of one run.

    Args:
        con: A connection of `prepare`.
        call: A function, a call of it such as `gccg(parts := 4)`, or a key of `LINKAGES`.
        table: A key of `TABLES`.
        k: Least number of records of a class.
        seed: Seed of the random steps, if the algorithm has any.
        measures: The measures that are needed; KL divergence is slow and only measured if it is among them.

    Returns:
        The average loss and delay of a stream algorithm; `loss` and `ncp` of others, as shares of the greatest possible
        loss. A suppressed record loses everything. KL divergence is in nats.
    """
    if call in LINKAGES:
        numbers = con.execute(f"SELECT {', '.join(TABLES[table])} FROM {table}").df().to_numpy(float)
        return {"loss": linkage_loss(numbers, LINKAGES[call], k)}
    name, _, options = call.rstrip(")").partition("(")
    stream_parameters = {s.name: s.parameters for s in streams.streams()}
    parameters = stream_parameters.get(name) or next(a.own_parameters for a in algorithms() if a.name == name)
    given = [f"k := {k}", *([options] if options else [])]
    given += [f"seed := {seed}"] * any(p.name == "seed" for p in parameters)
    if name in stream_parameters:
        given += [f"delta := {DELTA_PER_K * k}", "order_by := 'arrival'"]
    elif "divergence" in measures:
        given.append("with_kl_divergence := true")
    metrics = dict(con.execute(f"SELECT metric, value FROM {name}_metrics('{table}', {', '.join(given)})").fetchall())
    if name in stream_parameters:
        return {metric: metrics[metric] for metric in ("average_loss", "average_delay")}
    n_columns, n_suppressed = len(TABLES[table]), metrics["suppressed"]
    n_cells = n_columns * con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
    sums = {"loss": metrics["total_information_loss"], "ncp": metrics["ncp"]}
    shares = {key: (total + n_columns * n_suppressed) / n_cells for key, total in sums.items()}
    return shares | ({"divergence": metrics["kl_divergence"]} if "divergence" in measures else {})


def linkage_loss(numbers: np.ndarray, linkage: str, k: int) -> float:
    """Return the loss of hierarchical clustering of numbers into floor(n / k) clusters.

    Clusters of fewer than k records are merged: the smallest joins the one with the nearest mean, until all have k
    records. Of equally small clusters, the one whose first record comes first is merged first. The range of each column
    is scaled to 0 to 1. O(n^2).
    """
    from sklearn.cluster import AgglomerativeClustering

    scaled = (numbers - numbers.min(axis=0)) / np.maximum(np.ptp(numbers, axis=0), 1e-12)
    labels = pd.factorize(AgglomerativeClustering(len(scaled) // k, linkage=linkage).fit_predict(scaled))[0]
    sizes = np.bincount(labels).astype(float)
    sums = np.stack([np.bincount(labels, column) for column in scaled.T], axis=1)
    while (sizes[sizes > 0] < k).any():
        small = int(np.argmin(np.where(sizes > 0, sizes, np.inf)))
        means = sums / np.maximum(sizes, 1)[:, None]
        distances = ((means - means[small]) ** 2).sum(axis=1)
        distances[sizes == 0] = distances[small] = np.inf
        first, second = sorted((small, int(np.argmin(distances))))
        for totals in (sizes, sums):
            totals[first] += totals[second]
            totals[second] = 0
        labels[labels == second] = first
    clusters = pd.DataFrame(scaled).groupby(labels)
    widths = (clusters.max() - clusters.min()).sum(axis=1) * clusters.size()
    return float(widths.sum() / scaled.size)


def measurements(
    claims: Sequence[Claim] = CLAIMS, ks: Sequence[int] = K, seeds: Sequence[int] = SEEDS, rows: int = ROWS
) -> Means:
    """Return the mean measures of every algorithm that the claims name: each runs once per table, k and seed."""
    needed: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        for call in (claim.algorithm, claim.baseline):
            needed.setdefault((call, claim.data), []).append(claim.measure)
    collected: dict[tuple[str, str, int], list[dict[str, float]]] = {}
    for seed in seeds:
        con = prepare(seed, rows)
        for (call, table), measures in needed.items():
            for k in ks:
                collected.setdefault((call, table, k), []).append(measure(con, call, table, k, seed, measures))
        con.close()
    return {key: {name: float(np.mean([r[name] for r in runs])) for name in runs[0]} for key, runs in collected.items()}


def outcomes(means: Means, claims: Sequence[Claim] = CLAIMS, ks: Sequence[int] = K) -> list[Outcome]:
    """Return each claim with the measures of its two algorithms."""
    return [
        Outcome(c, {k: (means[c.algorithm, c.data, k][c.measure], means[c.baseline, c.data, k][c.measure]) for k in ks})
        for c in claims
    ]


def traditional_counts(means: Mapping[tuple[str, str, int], Mapping[str, float]]) -> tuple[int, dict[str, int]]:
    """Return the number of clustering algorithms, and how many lose less than each traditional one at every k.

    Of calls of the same function, only that without options counts.
    """
    ks = sorted({k for _, _, k in means})
    losses = {
        call: [means[call, "adult", k]["loss"] for k in ks]
        for call, table, _ in means
        if table == "adult" and "loss" in means[call, table, ks[0]]
    }
    clusterings = [call for call in losses if call not in TRADITIONAL and "(" not in call]
    counts = {
        name: sum(all(a < b for a, b in zip(losses[call], losses[name], strict=True)) for call in clusterings)
        for name in TRADITIONAL
        if name in losses and "(" not in name
    }
    return len(clusterings), counts


def table_rows(results: Sequence[Outcome]) -> Iterator[str]:
    """Yield the lines of the Markdown table of docs/papers.md."""
    ks = list(results[0].results)
    yield apart.table("loses less", "than", "place", "measure", *(f"k = {k}" for k in ks), "holds", "reason")
    for outcome in results:
        claim = outcome.claim
        holds = "yes" if len(outcome.holds) == len(ks) else " and ".join(f"k = {k}" for k in outcome.holds) or "no"
        figures = [f"{algorithm:.4f}, {baseline:.4f}" for algorithm, baseline in outcome.results.values()]
        yield apart.row(*claim_cells(claim), *figures, holds, claim.reason)


def claim_cells(claim: Claim) -> tuple[str, str, str, str]:
    """Return the first cells of the row of a claim: its algorithms, its place, and its measure with the table."""
    names = (name if name in LINKAGES else f"`{name}`" for name in (claim.algorithm, claim.baseline))
    table = "" if claim.data == "adult" else f", {claim.data}"
    return (*names, claim.place, f"{MEASURES[claim.measure]}{table}")


def report(as_json: bool) -> None:
    """Measure all claims, and print a table or JSON lines, with the claims whose stored reason is wrong."""
    means = measurements()
    results = outcomes(means)
    n_clusterings, counts = traditional_counts(means)
    if as_json:
        for outcome in results:
            extra = {"results": outcome.results, "holds": outcome.holds, "problem": outcome.problem}
            print(json.dumps(outcome.claim._asdict() | extra))
        print(json.dumps({"clusterings": n_clusterings, "lose_less_than": counts}))
        return
    for line in table_rows(results):
        print(line)
    n_confirmed, n_refuted = (sum(len(o.holds) == n for o in results) for n in (len(K), 0))
    print(f"\n{len(results)} claims: {n_confirmed} hold at every k, {n_refuted} at none, "
          f"{len(results) - n_confirmed - n_refuted} at some.")  # fmt: skip
    for name, count in counts.items():
        print(f"{count} of {n_clusterings} clustering algorithms lose less than {name} at every k.")
    for outcome in results:
        if outcome.problem:
            print(f"Problem: {outcome.claim.algorithm} < {outcome.claim.baseline}: {outcome.problem}.")
