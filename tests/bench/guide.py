"""The guide to all algorithms, docs/algorithm-guide.md: facts of the registry, and measurements by compare() on Adult.

`python -m tests.bench guide` measures all algorithms and prints the page; `python -m tests.support.generated` writes it
again with the stored figures. tests/test_bench_guide.py checks it against the registry and against Adult.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dbanon
from dbanon import algorithms as static_algorithms
from dbanon.algorithms.base.registry import FAMILIES, RECONSTRUCTED, Algorithm, NoiseRelease, Suppression, Widening
from tests.bench import data

CALL = "compare('adult', algorithms = 'all', k = 10, metrics = ['precision', 'ncp'])"

INTRODUCTION = f"""# Guide to the algorithms

Use this page to choose an algorithm. Its tables compare all of them on Adult (30,162 records, six quasi-identifiers,
the occupation sensitive). The figures are the result of this statement; [`python -m tests.bench
guide`](measured.md#running-the-benchmarks) stores Adult with hierarchies and a policy, and runs it. You can run the
statement on a table of your own. With all algorithms it can take minutes (on the demo 3 to 5), so name only some of
them, as in `algorithms = ['best', 'kacpc']`:

```text
FROM {CALL};
```

For most tables, use `best`. It has the greatest precision of all in these tables. We also compared it with some of the
others under a privacy model, on Adult and on the demo, each with `l = 3` and with `t = 0.3`: its precision was the
greatest in all four runs. It can take longer than others: run `compare` with your models.

`precision` and `NCP` measure the information loss. `s` is the column `seconds` of the result: the time of clustering
alone, on two cores. The rest of a statement such as `FROM kacpc('adult', k = 10)` takes 0.2 s.
[Algorithms](algorithms.md) describes what each algorithm does, and names its source. There is one table per family; in
each, the algorithms with the greatest precision come first. When you choose, look at these columns:

- **Loss** (`precision`, `NCP`). Higher precision is better: 1 if nothing was generalized, 0 if everything was. Lower
  NCP is better: from 0 to the number of records times that of quasi-identifiers, here 180,972. They differ for
  categories: precision counts levels of the hierarchy, NCP the share of the leaves below a node. Choose by NCP if nodes
  on one level have [very different numbers of leaves](algorithms.md#lowering-ncp), and try `best` with
  `objective = 'ncp'`; otherwise choose by precision. On another table the order can differ: run `compare` on your own,
  as in [Choosing algorithm, k and l](how-to/choosing.md).
- **Time** (`s`). It depends mostly on the number of distinct records, those that differ in a quasi-identifier. Adult
  has 9,727. The demo has only 20,000 records, but 19,950 distinct ones, because of its birth dates. There `kmember`
  takes about 2 s, `ikac` 5 to 10 s, and `bottom_up_generalization` about 20 to 30 s.
- **Large tables.** How the time grows with the table. *fine*: the time grows hardly faster than the number of distinct
  records. *slow*: the time can grow with the square of this number. A call that would take minutes then fails, unless
  you set `allow_slow := true`, or cut the table into cells with `max_partition`.
- **Diversity.** Every algorithm meets every privacy model, but in different ways. *own*: the algorithm forms its
  clusters so that they meet all models. *merged*: clusters that violate a model are merged afterwards, which loses
  more. *some: l, p* or *some: t*: the algorithm forms its clusters so that they meet the models named here; clusters
  that violate another model are merged afterwards. *l = 2*: without `l` in the call, the algorithm uses `l = 2`.
- **Determinism.** *fixed*: no random steps. *seed*: the same seed gives the same release on every machine.
- **Published values** (`published`). *close*: intervals and nodes are as narrow as the records of a class allow, which
  [reveals more about them](limits.md#leakage-from-tight-classes). *levels*: each column has one level for all records,
  which is easy to explain. *wider*: some classes are published more coarsely than their records need. *suppressed*:
  records may be suppressed, with some algorithms only if you ask for it: see its page in the
  [manual](manual/index.md). *or noise*: the algorithm can publish values with [noise](noise.md) instead.
- **Evidence.** How the steps of the algorithm are known. *paper*: from a paper that the project implements. *standard*:
  it is a published standard algorithm, known from textbooks or public code. *reconstructed*: we had an abstract or
  descriptions only. *own*: the project's own. The column `evidence` of `algorithms()` is more precise.
"""


@dataclass(frozen=True)
class Figures:
    """The measurements of one algorithm; None where a figure does not apply."""

    precision: float | None
    ncp: float | None
    seconds: float | None


UNKNOWN = Figures(None, None, None)


def measurements(names: str = "'all'") -> dict[str, Figures]:
    """Return the figures that compare() reports for each algorithm on Adult."""
    with dbanon.connect() as con:
        con.execute(f"CREATE TABLE adult AS SELECT {', '.join(data.QUASI)}, occupation "
                    f"FROM read_csv('{data.DATA / 'adult.csv'}')")  # fmt: skip
        for column in data.QUASI:
            path = data.DATA / "hierarchies" / "kacpc" / f"{column}.csv"
            if path.exists():
                dbanon.load_hierarchy(con, column, path)
            dbanon.declare(con, "adult", **{column: ("quasi", column) if path.exists() else "quasi"})
        dbanon.declare(con, "adult", occupation="sensitive")
        rows = con.execute(f"FROM {CALL.replace(chr(39) + 'all' + chr(39), names)}").fetchall()
    result: dict[str, dict[str, Any]] = {}
    for algorithm, _, _, _, _, metric, mean, _, seconds, _, _ in rows:
        result.setdefault(algorithm, {}).update({metric: mean, "seconds": seconds})
    return {
        name: Figures(values.get("precision"), values.get("ncp"), values.get("seconds"))
        for name, values in result.items()
    }


def page(figures: Mapping[str, Figures]) -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    algorithms = {a.name: a for a in static_algorithms.algorithms()}
    for name, family in FAMILIES.items():
        values = [a for a in algorithms.values() if a.family == name]
        values.sort(key=lambda a: (-round(figures.get(a.name, UNKNOWN).precision or 0, 3), a.name))
        parts.append(f"## {family.title}\n\n{family.idea}\n\n" + "\n".join(_table(values, figures)) + "\n")
    return "\n".join(parts)


EVIDENCE_WORDS = {"paper": "paper", "own": "own"}
HEAD = ("algorithm", "precision", "NCP", "s", "large tables", "diversity", "determinism", "published", "evidence")


def _table(algorithms: list[Algorithm], figures: Mapping[str, Figures]) -> list[str]:
    rows = [HEAD, ("---",) * len(HEAD), *(_row(a, figures.get(a.name, UNKNOWN)) for a in algorithms)]
    return ["| " + " | ".join(row) + " |" for row in rows]


def _row(algorithm: Algorithm, figures: Figures) -> tuple[str, ...]:
    """Return the row of one algorithm: facts of the registry around the figures."""
    own_names = {p.name for p in algorithm.own_parameters}
    seconds = "" if figures.seconds is None else f"{figures.seconds:.2g}"
    return (
        f"`{algorithm.name}`",
        "" if figures.precision is None else f"{figures.precision:.3f}",
        "" if figures.ncp is None else f"{figures.ncp:,.0f}",
        seconds,
        "slow" if "allow_slow" in own_names else "fine",
        _diversity(algorithm),
        "fixed" if algorithm.deterministic else "seed",
        _closeness(algorithm),
        "reconstructed" if algorithm.evidence in RECONSTRUCTED else EVIDENCE_WORDS.get(algorithm.evidence, "standard"),
    )


def _diversity(algorithm: Algorithm) -> str:
    """Return how the algorithm meets models of sensitive values."""
    models = [m for m in algorithm.meets if m not in ("k", "person")]
    message = "merged" if not models else "own" if len(models) > 5 else f"some: {', '.join(models)}"
    texts = [f"{name} = {value}" for name, value in algorithm.defaults.items() if name in ("l", "p", "alpha")]
    return "; ".join([message, *texts])


def _closeness(algorithm: Algorithm) -> str:
    """Return how closely the algorithm publishes."""
    values = ["levels" if algorithm.family == "full_domain" else "wider" if algorithm.ability(Widening) else "close"]
    values += ["suppressed"] * (algorithm.ability(Suppression) is not None)
    return ", ".join(values + ["or noise"] * (algorithm.ability(NoiseRelease) is not None))


def read(text: str) -> dict[str, Figures]:
    """Return the figures of a page."""
    result = {}
    for name, *cells in re.findall(r"^\| `(\w+)` \| ([\d.]*) \| ([\d,]*) \| ([\d.e+-]*) \|", text, re.MULTILINE):
        precision, ncp, seconds = (float(cell.replace(",", "")) if cell else None for cell in cells)
        result[name] = Figures(precision, ncp, seconds)
    return result


def report() -> None:
    """Measure, and print the page."""
    print(page(measurements()), end="")
