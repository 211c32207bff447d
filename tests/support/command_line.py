"""Calls of the command line in the test's process, with the attempts of `policy_attempts` as arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
from click.testing import CliRunner, Result

from dbanon.cli import main
from support.policy_attempts import ATTEMPTS, HIERARCHY, POLICY, REFUSAL, Attempt, K, problems, rows_sql

Ran = tuple[Result, list[str] | None]
"""The result of a command, and the problems of the rows that it published (None: it published nothing)."""


def write_people(folder: Path) -> Path:
    """Write the rows of the clinic to people.csv."""
    path = folder / "people.csv"
    duckdb.sql(f"COPY ({rows_sql()}) TO '{path}'")
    return path


def write_policy(folder: Path) -> Path:
    """Write the policy of the clinic to policy.toml, and its hierarchy to zip5.csv."""
    zips = folder / "zip5.csv"
    zips.write_text("".join(";".join(path) + "\n" for path in HIERARCHY), encoding="utf-8")
    return toml(folder / "policy.toml", POLICY | {"zip": {**POLICY["zip"], "hierarchy": str(zips)}})


def toml(path: Path, columns: Mapping[str, Any]) -> Path:
    """Write a policy file."""
    lines = []
    for column, settings in columns.items():
        parameters = {"role": settings} if isinstance(settings, str) else settings
        lines.append(f"{column} = {{{', '.join(f'{n} = {json.dumps(v)}' for n, v in parameters.items())}}}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def literal(value: Any) -> str:
    """Return a parameter's value as SQL."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def as_parameters(attempt: Attempt) -> list[str]:
    """Return an attempt as `-p NAME=VALUE`."""
    return [word for name, value in attempt.parameters.items() for word in ("-p", f"{name}={literal(value)}")]


def as_options(attempt: Attempt, folder: Path) -> list[str]:
    """Return an attempt as options, as far as there are any; hierarchies are files."""
    mapping = dict(attempt.parameters)
    words: list[str] = []
    files = {column: text for column, text in mapping.get("hierarchies", {}).items() if ";" in text}
    for number, (column, text) in enumerate(files.items()):
        file = folder / f"hierarchy{number}.csv"
        file.write_text(text, encoding="utf-8")
        words += ["--qi", f"{column}={file}"]
    if files:
        del mapping["hierarchies"]
    for name in ("qi", "sensitive", "insensitive", "identifier"):
        words += [word for column in mapping.pop(name, ()) for word in (f"--{name}", column)]
    if "person" in mapping:
        words += ["--person", mapping.pop("person")]
    return words + as_parameters(Attempt(attempt.label, mapping))


ROLES = [
    a for a in ATTEMPTS if {"qi", "sensitive", "insensitive", "identifier", "person", "hierarchies"} & set(a.parameters)
]
"""Attempts that options can express."""

QUASI_KEEPS_SETTINGS: tuple[tuple[str, ...], ...] = (
    ("--qi", "age"),
    ("--qi", "AGE", "--qi", "Zip"),
    ("--qi", "born"),
    ("--qi", "zip"),
    ("--qi", "zip=zip5"),
    ("--sensitive", "disease"),
    ("--sensitive", "disease", "--sensitive", "ward"),
    ("--identifier", "zip"),
    ("--person", "PID"),
)
"""Options that the policy allows: the declared settings of these columns remain in force."""


def anonymize(source: Path, words: Sequence[str], table: str | None = "patients") -> Ran:
    """Run `dbanon anonymize`; return the result, and the problems of the rows (None: nothing was written)."""
    out = source.with_name("out") / "safe.parquet"
    named_values = [] if table is None else ["--table", table]
    call = [
        "anonymize",
        str(source),
        *named_values,
        "-k",
        str(K),
        "--algorithm",
        "mondrian",
        "-o",
        str(out),
        "--replace",
    ]
    result = CliRunner().invoke(main, [*call, "--quiet", *words])
    if not out.exists():
        assert not out.parent.exists()
        return result, None
    with duckdb.connect() as con:
        rows = con.execute(f"FROM '{out}'")
        actual_problems = problems([column[0] for column in rows.description], rows.fetchall())
    for file in out.parent.iterdir():
        file.unlink()
    out.parent.rmdir()
    return result, actual_problems


def assert_refused(ran: Ran, says: str = REFUSAL) -> None:
    """Assert that the command ended with one line that states the reason, and wrote nothing."""
    result, found = ran
    assert found is None and result.exit_code in (1, 2, 3), result.output
    assert re.search(says, result.output), result.output
    assert "CANARY" not in result.output


def assert_released(ran: Ran) -> None:
    """Assert that the command published rows, and that the policy allows all of them."""
    assert ran[0].exit_code == 0, ran[0].output
    assert ran[1] == []


def stream(people: Path, words: Sequence[str]) -> Ran:
    """Run `dbanon stream --from --output`; return the result, and the problems of the rows (None: there are none)."""
    out = people.with_name("left.ndjson")
    call = [
        "stream",
        "--from",
        str(people),
        "--output",
        str(out),
        "-k",
        str(K),
        "-p",
        "delta=60",
        "--types",
        "zip=string",
    ]
    result = CliRunner().invoke(main, [*call, "-p", "allow_rare=ward", *words])
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []
    out.unlink(missing_ok=True)
    return result, problems(list(rows[0]), [list(row.values()) for row in rows], is_split=True) if rows else None
