"""Check that releases are unchanged: `python -m tests.unchanged`.

A release is reproducible from version to version: the same rows, parameters and seed give the same bytes.
`recorded.json` has a hash of the result of every algorithm and function, of views, commands and error messages, one
line per case; this command runs them again and prints the differences (exit code 1). A changed hash must be intended:
record it again with `--record` (or only cases whose names have a TEXT: `--record TEXT`), and give the reason in the
same commit.

`--small` omits Adult and runs in some 40 CPU seconds; `--group NAME` runs one group; `--show TEXT` prints the rows of
the cases whose names have TEXT, to be compared with those of another version.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dbanon
from tests.unchanged import cases, others, tables
from tests.unchanged.answers import Answer, Lines, statements

RECORDED = Path(__file__).with_name("recorded.json")
LEARNED = re.compile(r"simdiv(?!.*influence := 'weights')|influence\('|weights := 'influence'|'prediction'")
"""Cases that use a forest: they depend on the version of scikit-learn, and are only compared under the same one."""


def small_answers(
    statement_source: Callable[..., Iterator[str]], safe: bool = False, are_refused: bool = False
) -> Iterator[Answer]:
    """Yield the answers to statements about the small tables; with `safe` there is a release of that name."""
    con = tables.small()
    if safe:
        con.execute("CREATE TABLE safe AS FROM kacpc('clinic', k := 4)")
    yield from statements(con, statement_source, are_refused)
    con.close()


def adult_answers(statement_source: Callable[..., Iterator[str]], safe: bool = False) -> Iterator[Answer]:
    """Yield the answers to statements about Adult."""
    con = tables.adult()
    if safe:
        con.execute("CREATE TABLE safe AS FROM kacpc('adult', k := 10)")
    yield from statements(con, statement_source)
    con.close()


GROUPS: dict[str, Callable[[], Iterator[Answer]]] = {
    "six": lambda: small_answers(cases.six_statements),
    "clinic": lambda: small_answers(cases.clinic_statements),
    "functions": lambda: small_answers(cases.function_statements),
    "refused": lambda: small_answers(cases.error_statements, are_refused=True),
    "views": others.views,
}
MORE: dict[str, Callable[[], Iterator[Answer]]] = {
    "models": lambda: small_answers(cases.model_statements),
    "own": lambda: small_answers(cases.algorithm_option_statements),
    "declared": lambda: small_answers(cases.declared_statements),
    "options": lambda: small_answers(cases.option_statements),
    "judged": lambda: small_answers(cases.measure_statements, safe=True),
    "learned": lambda: small_answers(cases.forest_statements, safe=True),
    "commands": others.commands,
}
ADULT: dict[str, Callable[[], Iterator[Answer]]] = {
    "adult": lambda: adult_answers(cases.adult_statements),
    "adult options": lambda: adult_answers(cases.adult_option_statements),
    "adult judged": lambda: adult_answers(cases.adult_metric_statements, safe=True),
}


def selected_groups(small: bool, group: str | None) -> dict[str, Callable[[], Iterator[Answer]]]:
    """Return the groups to run; print a notice where Adult is missing."""
    groups = dict(GROUPS if small else GROUPS | MORE | ADULT)
    if group is not None:
        groups = {group: (GROUPS | MORE | ADULT)[group]}
    if not (tables.DATA / "adult.csv").exists() and groups.keys() & ADULT.keys():
        print("Left out: Adult is not beside this checkout (shared/data/adult.csv).")
        groups = {name: answers for name, answers in groups.items() if name not in ADULT}
    return groups


def scikit_learn_version() -> str:
    """Return the version of scikit-learn, or "none"."""
    try:
        return importlib.metadata.version("scikit-learn")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def digest(lines: Lines) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def compute_hashes(
    groups: dict[str, Callable[[], Iterator[Answer]]], forests: bool, only: str, show: bool
) -> dict[str, str]:
    """Return the new hashes of cases whose names have `only`; a case that raises has the error instead."""
    result: dict[str, str] = {}
    for group, answers in groups.items():
        clock = sum(os.times()[:4])
        for case, lines in answers():
            name = f"{group}: {case}"
            remaining = only not in name and group != "views"  # their cases depend on each other
            if remaining or (not forests and LEARNED.search(case)):
                continue
            if name in result:
                raise ValueError(f"{name} is there twice")
            try:
                actual_lines = lines()
                result[name] = digest(actual_lines)
            except Exception as error:
                actual_lines = [f"{type(error).__name__}: {error}"]
                result[name] = actual_lines[0]
            if show and only in name:
                print(name, *actual_lines, "", sep="\n")
        print(f"{group}: {sum(os.times()[:4]) - clock:.1f} CPU s", file=sys.stderr)
    return result


def recorded_answers() -> dict[str, Any]:
    """Return the recorded hashes, and the version of scikit-learn that they were made with."""
    if not RECORDED.exists():
        return {"scikit-learn": scikit_learn_version(), "hashes": {}}
    kept_document: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return kept_document


def record(hashes: dict[str, str], only: str) -> int:
    """Write the hashes of cases whose names have `only`, and report cases that raised, which are not written."""
    old_hashes = recorded_answers()["hashes"]
    broken_errors_by_name = {name: error for name, error in hashes.items() if not re.fullmatch("[0-9a-f]{32}", error)}
    groups = {name.split(": ")[0] for name in hashes}
    kept_values = {n: h for n, h in old_hashes.items() if n.split(": ")[0] not in groups or only not in n}
    kept_values |= {n: h for n, h in hashes.items() if only in n and n not in broken_errors_by_name}
    text = json.dumps(
        {"scikit-learn": scikit_learn_version(), "hashes": dict(sorted(kept_values.items()))},
        indent=1,
        ensure_ascii=False,
    )
    RECORDED.write_text(text + "\n", encoding="utf-8")
    changed_total = sum(kept_values.get(n) != old_hashes.get(n) for n in kept_values | old_hashes)
    print(f"Recorded: {len(kept_values)} cases, {changed_total} of them new, changed or gone.")
    for name, error in broken_errors_by_name.items():
        print(f"RAISES, not recorded: {name}\n    {error}")
    return int(bool(broken_errors_by_name))


def compare(hashes: dict[str, str], recorded_hashes: dict[str, str]) -> int:
    """Print the differences; return the exit code."""
    differing = 0
    for name in sorted(hashes.keys() | recorded_hashes.keys()):
        was, current_result = recorded_hashes.get(name), hashes.get(name)
        if was != current_result:
            differing += 1
            print(f"{'new' if was is None else 'gone' if current_result is None else 'CHANGED'}: {name}")
            if current_result is not None:
                print(f"    {current_result}, recorded was {was}")
    print(f"{len(hashes)} cases, {differing} of them not as recorded.")
    return int(differing > 0)


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen cases; record, show or compare them."""
    parser = argparse.ArgumentParser(prog="python -m tests.unchanged", description=__doc__.split("\n")[0])
    parser.add_argument("--small", action="store_true", help="skip Adult and run fewer cases: some 40 CPU seconds")
    parser.add_argument("--group", choices=[*GROUPS, *MORE, *ADULT], help="run one group of cases")
    parser.add_argument("--record", nargs="?", const="", metavar="TEXT", help="write the hashes (of names with TEXT)")
    parser.add_argument("--show", metavar="TEXT", help="print the rows of the cases whose names have TEXT")
    args = parser.parse_args(arguments)
    for kind in (dbanon.DisclosureWarning, dbanon.UtilityWarning):
        warnings.simplefilter("ignore", kind)
    os.environ["COLUMNS"] = "100"  # the width of help texts
    remaining = recorded_answers()
    groups = selected_groups(args.small, args.group)
    forests = scikit_learn_version() == remaining["scikit-learn"] or args.record == ""
    if not forests:
        print(
            f"Not run: forests, recorded with scikit-learn {remaining['scikit-learn']}; "
            f"here it is {scikit_learn_version()}."
        )
    only = args.show or args.record or ""
    result = compute_hashes(groups, forests and scikit_learn_version() != "none", only, args.show is not None)
    if args.show is not None:
        return 0
    if args.record is not None:
        return record(result, args.record)
    recorded_hashes = {
        name: hashed
        for name, hashed in remaining["hashes"].items()
        if name.split(": ")[0] in groups and (forests or not LEARNED.search(name))
    }
    return compare(result, recorded_hashes)


if __name__ == "__main__":
    sys.exit(main())
