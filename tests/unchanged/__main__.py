"""Whether releases are what they were: `python -m tests.unchanged`.

A release is reproducible from version to version: the same rows, parameters and seed give the same bytes.
`recorded.json` keeps a hash of what every algorithm and function, views, commands and error messages gave, one line a
case; this command asks anew and prints what differs (exit code 1). A hash that changes must be meant: record it
anew with `--record` (or only cases whose names have a TEXT: `--record TEXT`), and say why in the same commit.

`--small` leaves out Adult and runs in some 40 CPU seconds; `--group NAME` runs one group; `--show TEXT` prints the rows
of the cases whose names have TEXT, to be compared with those of another version.
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
"""Cases in which a forest has a say: they depend on the version of scikit-learn, and are compared under that alone."""


def on_small(asked: Callable[..., Iterator[str]], safe: bool = False, refused: bool = False) -> Iterator[Answer]:
    """Statements about the small tables; with `safe` there is a release of that name."""
    con = tables.small()
    if safe:
        con.execute("CREATE TABLE safe AS FROM kacpc('clinic', k := 4)")
    yield from statements(con, asked, refused)
    con.close()


def on_adult(asked: Callable[..., Iterator[str]], safe: bool = False) -> Iterator[Answer]:
    """Statements about Adult."""
    con = tables.adult()
    if safe:
        con.execute("CREATE TABLE safe AS FROM kacpc('adult', k := 10)")
    yield from statements(con, asked)
    con.close()


GROUPS: dict[str, Callable[[], Iterator[Answer]]] = {
    "six": lambda: on_small(cases.six),
    "clinic": lambda: on_small(cases.clinic),
    "functions": lambda: on_small(cases.functions),
    "refused": lambda: on_small(cases.refused, refused=True),
    "views": others.views,
}
MORE: dict[str, Callable[[], Iterator[Answer]]] = {
    "models": lambda: on_small(cases.models),
    "own": lambda: on_small(cases.own),
    "declared": lambda: on_small(cases.declared),
    "options": lambda: on_small(cases.options),
    "judged": lambda: on_small(cases.judged, safe=True),
    "learned": lambda: on_small(cases.learned, safe=True),
    "commands": others.commands,
}
ADULT: dict[str, Callable[[], Iterator[Answer]]] = {
    "adult": lambda: on_adult(cases.adult),
    "adult options": lambda: on_adult(cases.adult_options),
    "adult judged": lambda: on_adult(cases.adult_judged, safe=True),
}


def chosen(small: bool, group: str | None) -> dict[str, Callable[[], Iterator[Answer]]]:
    """The groups to run; says so where Adult is not there."""
    groups = dict(GROUPS if small else GROUPS | MORE | ADULT)
    if group is not None:
        groups = {group: (GROUPS | MORE | ADULT)[group]}
    if not (tables.DATA / "adult.csv").exists() and groups.keys() & ADULT.keys():
        print("Left out: Adult is not beside this checkout (shared/data/adult.csv).")
        groups = {name: answers for name, answers in groups.items() if name not in ADULT}
    return groups


def learner() -> str:
    """The version of scikit-learn, or that there is none."""
    try:
        return importlib.metadata.version("scikit-learn")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def digest(lines: Lines) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def asked_anew(
    groups: dict[str, Callable[[], Iterator[Answer]]], forests: bool, only: str, show: bool
) -> dict[str, str]:
    """The hashes of cases whose names have `only`; a case that raises has the error instead."""
    found: dict[str, str] = {}
    for group, answers in groups.items():
        clock = sum(os.times()[:4])
        for case, lines in answers():
            name = f"{group}: {case}"
            left = only not in name and group != "views"  # whose cases build on each other
            if left or (not forests and LEARNED.search(case)):
                continue
            if name in found:
                raise ValueError(f"{name} is there twice")
            try:
                told = lines()
                found[name] = digest(told)
            except Exception as error:
                told = [f"{type(error).__name__}: {error}"]
                found[name] = told[0]
            if show and only in name:
                print(name, *told, "", sep="\n")
        print(f"{group}: {sum(os.times()[:4]) - clock:.1f} CPU s", file=sys.stderr)
    return found


def recorded() -> dict[str, Any]:
    """What is on disk: the hashes, and the scikit-learn that they were made with."""
    if not RECORDED.exists():
        return {"scikit-learn": learner(), "hashes": {}}
    kept: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return kept


def record(found: dict[str, str], only: str) -> int:
    """Writes the hashes of cases whose names have `only`, and says which cases raised, of which it writes none."""
    before = recorded()["hashes"]
    broken = {name: error for name, error in found.items() if not re.fullmatch("[0-9a-f]{32}", error)}
    groups = {name.split(": ")[0] for name in found}
    kept = {n: h for n, h in before.items() if n.split(": ")[0] not in groups or only not in n}
    kept |= {n: h for n, h in found.items() if only in n and n not in broken}
    text = json.dumps({"scikit-learn": learner(), "hashes": dict(sorted(kept.items()))}, indent=1, ensure_ascii=False)
    RECORDED.write_text(text + "\n", encoding="utf-8")
    changed = sum(kept.get(n) != before.get(n) for n in kept | before)
    print(f"Recorded: {len(kept)} cases, {changed} of them new, changed or gone.")
    for name, error in broken.items():
        print(f"RAISES, not recorded: {name}\n    {error}")
    return int(bool(broken))


def compare(found: dict[str, str], before: dict[str, str]) -> int:
    """Prints what differs; the exit code."""
    differing = 0
    for name in sorted(found.keys() | before.keys()):
        was, now = before.get(name), found.get(name)
        if was != now:
            differing += 1
            print(f"{'new' if was is None else 'gone' if now is None else 'CHANGED'}: {name}")
            if now is not None:
                print(f"    {now}, recorded was {was}")
    print(f"{len(found)} cases, {differing} of them not as recorded.")
    return int(differing > 0)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.unchanged", description=__doc__.split("\n")[0])
    parser.add_argument("--small", action="store_true", help="no Adult, fewer cases: some 40 CPU seconds")
    parser.add_argument("--group", choices=[*GROUPS, *MORE, *ADULT], help="one group of cases")
    parser.add_argument("--record", nargs="?", const="", metavar="TEXT", help="write the hashes (of names with TEXT)")
    parser.add_argument("--show", metavar="TEXT", help="print the rows of the cases whose names have TEXT")
    given = parser.parse_args(arguments)
    for kind in (dbanon.DisclosureWarning, dbanon.UtilityWarning):
        warnings.simplefilter("ignore", kind)
    os.environ["COLUMNS"] = "100"  # the width of help texts
    kept = recorded()
    groups = chosen(given.small, given.group)
    forests = learner() == kept["scikit-learn"] or given.record == ""
    if not forests:
        print(f"Left out: forests, recorded with scikit-learn {kept['scikit-learn']}; here it is {learner()}.")
    only = given.show or given.record or ""
    found = asked_anew(groups, forests and learner() != "none", only, given.show is not None)
    if given.show is not None:
        return 0
    if given.record is not None:
        return record(found, given.record)
    before = {
        name: hashed
        for name, hashed in kept["hashes"].items()
        if name.split(": ")[0] in groups and (forests or not LEARNED.search(name))
    }
    return compare(found, before)


if __name__ == "__main__":
    sys.exit(main())
