"""Benchmarks: `python -m tests.bench`. Each figure is next to a baseline measured in the same run.

`first`: the first call after an install; `small`: whole statements on Adult; `processes` (`--rows`):
commands from CSV to CSV, a DataFrame, a stream and a script; `large` (`--rows`): 1M rows and more;
`bounded` (`--memory`): under a memory limit; `wide` (`--tables`, `--columns`): many columns, all records distinct, and
the time by the number of columns; `paths` (`--path`): the exponent of the time by the number of rows on tables that
could take its square; `planning`: the phases of a statement; `improve`: least loss; `squares`: microaggregation;
`steps` (`--rows`): stored releases as multiples of CREATE TABLE AS, next to their targets, and the share of each step;
`streams`: every stream algorithm compared with FADS; `spark` (`--rows`): by Spark, which must be
installed; `lossless`: `best` where most classes lose nothing, and with persons and a large k; `figures`
(`--plot`): the papers' figures; `claims`: the review's claims that one algorithm loses less than another; `guide`: the
guide to all algorithms; `own` (`--file`, `--hierarchies`, `--quasi`, `--sensitive`, `--numbers`, `--call`): the loss on
a table of yours. Any other name is a table of tests/bench/speed.py: statement, clustering alone, and a plain loop.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from tests.bench import (
    bounded,
    claims,
    data,
    figures,
    first,
    guide,
    improve,
    large,
    lossless,
    own,
    paths,
    planning,
    processes,
    small,
    spark,
    speed,
    squares,
    stored,
    streams,
    wide,
)

SIZES = {"adult": 30_162, "100k": 10**5, "1m": 10**6, "3m": 3 * 10**6, "10m": 10**7, "30m": 3 * 10**7, "100m": 10**8}
"""Numbers of rows by name; 100,000, and 30 million and more, only on request."""

GROUPS: dict[str, Callable[[argparse.Namespace], None]] = {
    "first": lambda given: first.report(given.json),
    "small": lambda given: small.report(given.runs, given.json),
    "large": lambda given: large.report(
        [SIZES[n] for n in given.rows or ("1m", "10m")], given.algorithm or ["kacpc", "best"], given.runs, given.json
    ),
    "processes": lambda given: processes.report(
        [SIZES[n] for n in given.rows or ("adult", "1m")], given.algorithm or ["kacpc", "best"], given.runs, given.json
    ),
    "bounded": lambda given: bounded.report(
        [*([] if given.rows else [(SIZES["3m"], 100_000)]), *((SIZES[n], 0) for n in given.rows or ("10m",))],
        given.memory, not given.no_comparison, given.json,
    ),
    "wide": lambda given: _report_wide(given),
    "planning": lambda given: planning.report(given.runs, given.json),
    "paths": lambda given: paths.report(
        given.path or list(paths.CASES), given.algorithm or paths.ALGORITHMS, given.json
    ),
    "improve": lambda given: improve.report(given.runs, given.json),
    "lossless": lambda given: lossless.report(given.runs, given.json),
    "squares": lambda given: squares.report(given.json),
    "steps": lambda given: stored.report(
        [SIZES[n] for n in given.rows or ("1m",)], given.algorithm or ["kacpc"], given.runs, given.json
    ),
    "streams": lambda given: streams.report(given.json),
    "spark": lambda given: spark.report(
        [SIZES[n] for n in given.rows or ("1m", "10m")], given.algorithm or ["kacpc"], given.json
    ),
    "claims": lambda given: claims.report(given.json),
    "guide": lambda given: guide.report(),
    "own": lambda given: own.report(
        given.call or own.QUICK, given.k or [10], given.json, file=given.file, hierarchies=given.hierarchies,
        quasi=_names(given.quasi), sensitive=_names(given.sensitive), numbers=_names(given.numbers),
    ),
    "figures": lambda given: figures.report(given.figure or [], given.plot, given.json),
}  # fmt: skip


def _report_wide(given: argparse.Namespace) -> None:
    """Print the wide tables that are requested, then the time by the number of columns."""
    tables = given.tables or [*wide.CASES, "columns"]
    if cases := [name for name in tables if name != "columns"]:
        wide.report(cases, given.json)
    if "columns" in tables:
        planning.report_widths(given.columns, given.json)


def _names(text: str) -> list[str]:
    """Return the column names of a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cases", nargs="*", choices=[*GROUPS, *speed.CASES, []], help="benchmarks to run (default: all but 10m)"
    )
    parser.add_argument("-k", type=int, action="append", help="k (default: 2, 10, 100)")
    parser.add_argument("--runs", type=int, default=3, help="time each case this many times (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON document per line")
    parser.add_argument("--profile", action="store_true", help="print the time of each step of a statement")
    parser.add_argument(
        "--algorithm", action="append", help="measure this algorithm (default: kacpc; large: also best)"
    )
    parser.add_argument("--algorithms", action="store_true", help="run all algorithms on each case")
    parser.add_argument(
        "--rows", action="append", choices=list(SIZES), help="processes, large, bounded, steps: number of rows"
    )
    parser.add_argument(
        "--columns", type=int, default=200, help="wide: most quasi-identifiers of a table (default: 200)"
    )
    parser.add_argument("--memory", default="1GB", help="bounded: set memory_limit (default: 1GB)")
    parser.add_argument("--no-comparison", action="store_true", help="bounded: skip the runs without a limit")
    parser.add_argument(
        "--tables", action="append", choices=[*wide.CASES, "columns"], help="wide: tables to run (default: all)"
    )
    parser.add_argument(
        "--path", action="append", choices=list(paths.CASES), help="paths: tables to run (default: all)"
    )
    parser.add_argument(
        "--figure", action="append", choices=list(figures.FIGURES), help="figures: figures to run (default: all)"
    )
    parser.add_argument("--plot", metavar="FOLDER", help="figures: draw them into this folder")
    parser.add_argument("--file", help="own: read this CSV or Parquet file")
    parser.add_argument("--hierarchies", metavar="FOLDER", help="own: read the hierarchies COLUMN.csv in this folder")
    parser.add_argument("--quasi", default="", metavar="COLUMNS", help="own: quasi-identifiers (default: all others)")
    parser.add_argument("--sensitive", default="", metavar="COLUMNS", help="own: sensitive columns")
    parser.add_argument("--numbers", default="", metavar="COLUMNS", help="own: ignore the hierarchies of these columns")
    parser.add_argument("--call", action="append", choices=list(own.CALLS), help="own: calls to measure")
    args = parser.parse_args()
    if "own" in args.cases and not args.file:
        parser.error("own needs --file")
    return args


def main() -> None:
    """Run the chosen benchmarks and print tables or JSON lines."""
    given_arguments = arguments()
    if given_arguments.cases != ["own"] and not (data.DATA / "adult.csv").exists():
        sys.exit("the benchmarks resample Adult: shared/data/adult.csv is not beside this checkout")
    tables = [
        c for c in given_arguments.cases or speed.CASES if c in speed.CASES and (given_arguments.cases or c != "10m")
    ]
    if given_arguments.algorithms:
        for case in tables:
            speed.compare(case, given_arguments.k or [10, 50, 100], given_arguments.runs)
    elif given_arguments.profile:
        for case in tables:
            for algorithm in given_arguments.algorithm or ["kacpc"]:
                speed.profile(case, given_arguments.k[0] if given_arguments.k else 10, given_arguments.runs, algorithm)
    else:
        unasked = [group for group in GROUPS if group not in ("claims", "guide", "own", "spark")]
        for group in [case for case in given_arguments.cases or unasked if case in GROUPS]:
            GROUPS[group](given_arguments)
        if tables:
            speed.report(tables, given_arguments.k or [2, 10, 100], given_arguments.runs, given_arguments.json)


if __name__ == "__main__":
    main()
