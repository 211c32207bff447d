"""The time of one statement by step: planning, every step of its plan, the clustering and the writing.

DuckDB's profile reports the CPU seconds of each operator. A step of our plan is a materialized relation of the
statement, so the operators below its definition are the step's; relations that are not materialized are part of the
steps that read them. The operators above all steps are the result and, where there is a table, writing it. DuckDB times
operators with the wall clock, on each thread: if other processes run, only the shares are meaningful.
"""

from __future__ import annotations

import heapq
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import dbanon
from dbanon.udf import cluster, cluster_input, plan

RESULT = "result"
WRITING = "writing"
_WRITERS = ("CREATE_TABLE", "COPY", "INSERT")


@dataclass
class ProfileStep:
    """CPU seconds of a step's operators, the rows it holds, and its operators with their kind and task."""

    seconds: float = 0.0
    rows: int = 0
    operators: list[tuple[float, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Profile:
    """Seconds of a statement.

    `clock` and `cpu` are those of the whole statement, run without a profile; `planning` is by part; `steps` are in the
    order of the plan; `clustering`: parts of the clustering function, which is most of the step `clustering`.
    """

    clock: float
    cpu: float
    planning: Mapping[str, float]
    steps: Mapping[str, ProfileStep]
    clustering: Mapping[str, float]


def profile(con: Any, statement: str, runs: int = 3) -> Profile:
    """Return the profile of a statement on an attached connection whose kernels are compiled.

    Values are medians of several runs; the label cache is cleared before each.
    """
    spent = [_statement_seconds(con, statement) for _ in range(runs)]
    values = [_profile_once(con, statement) for _ in range(runs)]
    middle = sorted(values, key=lambda each: sum(step.seconds for step in each[1].values()))[runs // 2]

    def medians(place: int) -> dict[str, float]:
        return {name: statistics.median(measurement[place][name] for measurement in values) for name in middle[place]}

    clock, cpu = (statistics.median(each_pair) for each_pair in zip(*spent, strict=True))
    return Profile(clock, cpu, medians(0), middle[1], medians(2))


def _statement_seconds(con: Any, statement: str) -> tuple[float, float]:
    """Return wall and CPU seconds of a statement."""
    dbanon.clear_cache(con)
    clock, cpu = time.perf_counter(), time.process_time()
    con.execute(statement).fetchall()
    return time.perf_counter() - clock, time.process_time() - cpu


def _profile_once(con: Any, statement: str) -> tuple[dict[str, float], dict[str, ProfileStep], dict[str, float]]:
    """Return planning, steps and clustering of one run."""
    dbanon.clear_cache(con)
    with tempfile.TemporaryDirectory() as folder, _watch_functions() as watched:
        file = Path(folder) / "profile.json"
        con.execute("SET enable_profiling = 'json'")
        con.execute("SET profiling_mode = 'detailed'")
        con.execute(f"SET profiling_output = '{file}'")
        try:
            con.execute(statement).fetchall()
        finally:
            con.execute("SET profiling_output = ''")
            con.execute("PRAGMA disable_profiling")
        document = json.loads(file.read_text())
    python = watched.pop("planning")
    planning = {"of the call, in Python": python} | {
        part: max(_reported_values(document, *names) - (python if part == "DuckDB's binding" else 0.0), 0.0)
        for part, names in {
            "DuckDB's binding": ("planner", "total_time"),
            "DuckDB's optimizer": ("optimizer", "total_time"),
            "DuckDB's physical plan": ("physical_planner", "total_time"),
        }.items()
    }
    return planning, _steps(document), watched


def _reported_values(document: Mapping[str, Any], part: str, total: str) -> float:
    """Return the seconds of a phase, in the format of DuckDB 2.0 or of 1.5."""
    if isinstance(document.get(part), dict):
        return float(document[part][total])
    return float(document.get({"optimizer": "all_optimizers"}.get(part, part), 0.0))


@contextmanager
def _watch_functions() -> Iterator[dict[str, float]]:
    """Measure the seconds of the planner and of the clustering function's parts while statements run."""
    spent = dict.fromkeys(("planning", "reading groups into a space", "clustering", "writing parts"), 0.0)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            clock = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                spent[name] += time.perf_counter() - clock

        return run

    places = (
        (plan, "call_sql"),
        (cluster_input, "encode_records"),
        (cluster.algorithms, "run_algorithm"),
        (cluster, "_part_rows"),
    )
    with ExitStack() as stack:
        for name, (place, attribute) in zip(spent, places, strict=True):
            stack.enter_context(mock.patch.object(place, attribute, timed(name, getattr(place, attribute))))
        yield spent


def _steps(document: Mapping[str, Any]) -> dict[str, ProfileStep]:
    """Return the steps of a profile, in the order in which the plan defines them."""
    result: dict[str, ProfileStep] = {}

    def walk(node: Mapping[str, Any], step_name: str) -> None:
        extra_info = node.get("extra_info") or {}
        kind = str(node.get("type", node.get("operator_name", "")))
        children = node.get("children", [])
        name_text = extra_info.get("CTE Name") if isinstance(extra_info, dict) else None
        if name_text is not None and not name_text.startswith("__") and len(children) == 2:
            recursive = "REC" in kind
            step = result.setdefault(name_text, ProfileStep())
            step.rows = max(step.rows, _rows(node if recursive else children[0]))
            _count(step, node, kind)
            walk(children[0], name_text)
            walk(children[1], name_text if recursive else step_name)
            return
        _count(result.setdefault(WRITING if any(w in kind for w in _WRITERS) else step_name, ProfileStep()), node, kind)
        for child in children:
            walk(child, step_name)

    for root in document.get("operator", document.get("children", [])):
        walk(root, RESULT)
    return {n: s for n, s in result.items() if n not in (RESULT, WRITING)} | {
        n: result[n] for n in (RESULT, WRITING) if n in result
    }


def by_kind(steps: Mapping[str, ProfileStep]) -> dict[str, ProfileStep]:
    """Return the steps; those that exist once per column are summed, as `each column: tree`."""
    result: dict[str, ProfileStep] = {}
    for name, step in steps.items():
        _, several, kind = name.rpartition(": ")
        into = result.setdefault(f"each column: {kind}" if several else name, ProfileStep())
        into.seconds += step.seconds
        into.rows += step.rows
        into.operators += step.operators
    return result


def _rows(node: Mapping[str, Any]) -> int:
    return int(node.get("intermediate_rows", node.get("operator_cardinality", 0)))


def _count(step: ProfileStep, node: Mapping[str, Any], kind: str) -> None:
    seconds = float(node.get("timing", node.get("operator_timing", 0.0)))
    step.seconds += seconds
    step.operators.append((seconds, f"{kind} {json.dumps(node.get('extra_info') or {})}"))


def report(measured_profile: Profile, min_share: float = 0.01, heaviest: int = 3) -> Iterator[str]:
    """Yield lines of a profile: planning, steps with a share of at least `min_share`, and the heaviest operators."""
    steps = by_kind(measured_profile.steps)
    executed = sum(step.seconds for step in steps.values())
    planned = sum(measured_profile.planning.values())
    yield f"whole statement, not profiled: {measured_profile.clock:.3f} s of clock, {measured_profile.cpu:.3f} CPU s"
    yield f"profiled: planning {planned:.3f} s, execution {executed:.3f} CPU s in {len(measured_profile.steps)} steps\n"
    yield "| part | s | share |\n|---|---|---|"
    for name, seconds in measured_profile.planning.items():
        yield f"| planning: {name} | {seconds:.3f} | {seconds / (planned + executed):.0%} |"
    for name, seconds in measured_profile.clustering.items():
        yield f"| clustering function: {name} | {seconds:.3f} | {seconds / (planned + executed):.0%} |"
    yield "\n| step | CPU s | share | rows | operators |\n|---|---|---|---|---|"
    small = [step for step in steps.values() if step.seconds < min_share * executed]
    for name, step in steps.items():
        if step.seconds >= min_share * executed:
            share = step.seconds / executed
            yield f"| {name} | {step.seconds:.3f} | {share:.0%} | {step.rows:,} | {len(step.operators)} |"
    rest, operators = sum(step.seconds for step in small), sum(len(step.operators) for step in small)
    yield f"| {len(small)} smaller ones | {rest:.3f} | {rest / executed:.0%} | | {operators} |"
    yield "\nTheir heaviest operators, CPU s:"
    for name, step in sorted(steps.items(), key=lambda item: -item[1].seconds):
        if step.seconds >= 3 * min_share * executed:
            yield f"{name}: {step.seconds:.3f}"
            for seconds, kind in heapq.nlargest(heaviest, step.operators):
                yield f"    {seconds:.3f}  {kind[:120]}"
