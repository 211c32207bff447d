"""Cases that are no single statement: materialized views, ledger and certificate, published files, commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dbanon
from tests.unchanged import tables
from tests.unchanged.answers import Answer, Lines, rows

MAY_DIFFER = (
    "released_at",  # the time
    "library_versions",  # of Python, DuckDB and dbanon itself
    "hashes",  # that of the ledger's row covers both
)
IN_CERTIFICATE = re.compile(r"released at|library \w+")
"""Parts of a certificate that may differ."""


def views() -> Iterator[Answer]:
    """Yield a release that is made, refreshed after changes, joined by a second one, and published."""
    con = tables.small()
    with tempfile.TemporaryDirectory() as folder:
        yield (
            "materialize",
            lambda: release_lines(con, dbanon.create_release(con, "seen", "kacpc", "clinic", k=4, key="rid")),
        )
        yield "certificate", lambda: certificate_lines(con, "seen")
        for ending in (".csv", ".parquet"):
            yield f"publish {ending}", partial(file_lines, con, Path(folder) / f"seen{ending}")
        con.execute("DELETE FROM clinic WHERE rid % 5 = 0")
        con.execute("INSERT INTO clinic SELECT * REPLACE (rid + 1000 AS rid) FROM clinic WHERE rid % 4 = 1")
        for sql in ("FROM release_status()", "FROM refresh_problems('seen')"):
            yield sql, partial(rows, con, sql)
        yield (
            "refresh",
            lambda: release_lines(
                con, dbanon.refresh_release(con, "seen", mode="recluster", allow_small_differences=True)
            ),
        )
        yield (
            "materialize another",
            lambda: release_lines(con, dbanon.create_release(con, "other", "mondrian", "clinic", k=3, l=2, key="rid")),
        )
        sql = "FROM composition('seen', 'other')"
        yield sql, partial(rows, con, sql)
        yield "certificate of the other", lambda: certificate_lines(con, "other")
    con.close()


def release_lines(con: Any, release: Any) -> Lines:
    """Return the lines of a release: its description, its three tables, ledger and members."""
    texts = [str((release.name, release.version, release.records, release.classes, release.composition))]
    for ending in ("", "_classes", "_metrics"):
        texts += rows(con, f"FROM {release.name}{ending}")
    texts += rows(con, "FROM releases() ORDER BY name, version", MAY_DIFFER)
    return texts + rows(con, "FROM dbanon.membership ORDER BY ALL")


def certificate_lines(con: Any, release: str) -> Lines:
    """Return a certificate as text, without parts that may differ.

    Each number is followed by the result of its SQL, whose own text is not compared.
    """
    text = dbanon.certificate(con, release).split("how to recompute the numbers")[0]
    lines = [line for line in text.splitlines() if not IN_CERTIFICATE.search(line)]
    for section, element, value, sql in con.execute("FROM certificate($1)", [release]).fetchall():
        if sql is not None:
            lines.append(f"{section}, {element}: {value}, {con.execute(sql).fetchall()}")
    return lines


def file_lines(con: Any, file: Path) -> Lines:
    """Return the published files, read back.

    The certificate is without the parts that may differ, including hashes of files.
    """
    names = []
    for path in dbanon.publish(con, "seen", file, classes=True):
        names.append(path.name)
        if path.suffix == ".parquet":
            names += rows(con, f"FROM '{path}'") if "certificate" not in path.name else ["a certificate"]
        elif "certificate" not in path.name:
            names += path.read_text("utf-8").splitlines()
        names += [f"verified: {dbanon.verify(file)}"] if path == file else []
    return names


def commands() -> Iterator[Answer]:
    """Yield cases of the command line: its help, an anonymized file, and a proposed policy.

    The help of each command is in docs/manual.
    """
    yield "--help", lambda: command("--help")
    with tempfile.TemporaryDirectory() as folder:
        yield "anonymize", partial(from_file_to_file, Path(folder))
        yield "init", partial(init_lines, Path(folder))


def command(*arguments: str, folder: Path | None = None) -> Lines:
    """Return the output of `dbanon`, lines without trailing blanks."""
    package = str(Path(dbanon.__file__).parents[1])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [sys.executable, "-m", "dbanon", *arguments],
        capture_output=True, text=True, cwd=folder, env=os.environ | {"PYTHONPATH": path, "NO_COLOR": "1"},
    )  # fmt: skip
    if ran.returncode and "policy" not in arguments:  # it exits with 1 if the policy has a problem
        raise RuntimeError(f"dbanon {' '.join(arguments)}: {ran.stderr}")
    return [line.rstrip() for line in (ran.stdout + ran.stderr).splitlines()]


def from_file_to_file(folder: Path) -> Lines:
    """Return the output and the files of `dbanon anonymize`."""
    con = tables.small()
    con.execute(f"COPY six TO '{folder / 'six.csv'}'")
    con.close()
    values = ["--qi", "age", "--qi", "workclass=adult_workclass", "--sensitive", "disease", "--identifier", "rid"]
    actual_command = command("anonymize", "six.csv", "-o", "out.csv", "-k", "2", *values, "--json", folder=folder)
    shown_text = json.dumps(json.loads(actual_command[-1])["metrics"], sort_keys=True)
    files = sorted(path for path in folder.glob("out*") if "certificate" not in path.name)
    return [
        *actual_command[:-1],
        shown_text,
        *(line for path in files for line in path.read_text("utf-8").splitlines()),
    ]


def init_lines(folder: Path) -> Lines:
    """Return the output of `dbanon init --yes`, and the policy that it writes."""
    file = folder / "clinic.duckdb"
    with dbanon.connect(file) as con:
        con.execute(tables.CLINIC)
    actual_command = command("init", file.name, "clinic", "--yes", folder=folder)
    return actual_command + command("policy", file.name, "--json", folder=folder)
