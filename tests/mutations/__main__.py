"""Plant faults, one at a time, in a copy of the project and report which of them the tests notice.

    python -m tests.mutations [NAME ...] [--whole] [--jobs N]

Each fault (tests/mutations/faults.py) is tried with the tests that check the opposite; `--whole` runs all everyday
tests instead. The exit code is 1 where a fault survives or no longer fits the code.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

from tests.mutations.faults import FAULTS, ROOT, Fault

COPIED = ("dbanon", "sql", "hierarchies", "tests", "docs", "README.md", "mkdocs.yml", "pyproject.toml")


def copy_project(target: Path) -> Path:
    """Copy the project's files and its compiled kernels, of which a fault changes at most a few."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name)
        else:
            shutil.copy2(source, target / name)
    return target


def run_tests(tree: Path, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Return whether the tests pass in a tree, and the end of their output."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
        "--tb=line",
        "--slow-part",
        "1/1",
        *tests,
    ]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)}, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1, 2):  # 2: interrupted, for example by a module that no longer imports
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0, done.stdout[-400:]


def forget_compiled(tree: Path) -> None:
    """Delete kernels that call a changed one: they are compiled with it, and Numba does not detect the change."""
    for path in (tree / "dbanon" / "kernels").rglob("*.nb[ic]"):
        path.unlink()


def run_fault(name: str, fault: Fault, tree: Path, with_all_tests: bool) -> tuple[str, str, float]:
    """Return the name of a fault, its outcome, and the seconds that it took."""
    began = time.monotonic()
    file = tree / fault.file
    old_text = file.read_text("utf-8")
    planted = fault.planted(old_text)
    if planted is None:
        return name, "DOES NOT FIT", 0.0
    if fault.harmless:
        return name, "harmless", 0.0
    if fault.needs and find_spec(fault.needs) is None:
        return name, "skipped", 0.0
    kernel = file.parent.name == "kernels"
    file.write_text(planted, "utf-8")
    try:
        if kernel:
            forget_compiled(tree)
        passed, _ = run_tests(tree, ("tests",) if with_all_tests else fault.tests)
    finally:
        file.write_text(old_text, "utf-8")
        if kernel:
            forget_compiled(tree)
    return name, "SURVIVES" if passed else "killed", time.monotonic() - began


def main() -> int:
    """Plant the chosen faults and print the outcomes."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.split("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", choices=[[], *FAULTS], help="faults to plant (default: all)"
    )
    parser.add_argument("--whole", action="store_true", help="run all everyday tests, not those named with the fault")
    parser.add_argument("--jobs", type=int, default=2, help="try this many faults at a time (default: 2)")
    args = parser.parse_args()
    selected_faults_by_name = {name: FAULTS[name] for name in args.names or FAULTS}
    trees: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.jobs):
            trees.put(copy_project(Path(folder) / f"copy{i}"))

        tree = trees.get()
        named_values = tuple(sorted({t for f in selected_faults_by_name.values() for t in f.tests}))
        passed, end = (
            run_tests(tree, ("tests",) if args.whole else named_values) if args.whole or named_values else (True, "")
        )
        trees.put(tree)
        if not passed:  # a test that fails anyway detects nothing
            print(f"the tests fail without any fault:\n{end}")
            return 1

        def run_in_free_tree(named_fault: tuple[str, Fault]) -> tuple[str, str, float]:
            tree = trees.get()
            try:
                return run_fault(*named_fault, tree, args.whole)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(args.jobs) as pool:
            results = []
            for result in pool.map(run_in_free_tree, selected_faults_by_name.items()):
                results.append(result)
                print(f"{result[1]:<13} {result[2]:6.1f} s  {result[0]}", flush=True)
    outcomes = ("killed", "harmless", "skipped")
    killed, harmless, skipped = (
        sum(outcome == second_outcome for _, outcome, _ in results) for second_outcome in outcomes
    )
    print(f"{killed} of {len(results)} faults were noticed, {harmless} are harmless, {skipped} were skipped")
    return 0 if killed + harmless + skipped == len(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
