"""A PostgreSQL server of the tests' own, and DuckDB connections that have one of its databases attached."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors

PATIENTS = (
    "CREATE TABLE patients (id int PRIMARY KEY, name text, age int, sex char(4), disease text);"
    "INSERT INTO patients SELECT i, 'somebody ' || i, 20 + i % 50, (ARRAY['f', 'm'])[1 + i % 2], "
    "(ARRAY['Flu', 'Cold', 'Ulcer'])[1 + i % 3] FROM generate_series(1, 300) AS i;"
)
ROLES = {"id": "person", "name": "identifier", "age": "quasi", "sex": "quasi", "disease": "sensitive"}

_PORT = "5499"
"""A name of the socket: the server listens on no address."""


def needs_scanner(name: str) -> None:
    """Skip a test where DuckDB has no extension for another system."""
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as con:
        try:
            dbanon.load_extension(con, name)
        except errors.ScannerExtensionMissingError as error:
            pytest.skip(str(error))


@dataclass(frozen=True)
class PostgresServer:
    """A running server, in its folder."""

    folder: Path

    def conninfo(self, database: str = "postgres") -> str:
        """Return the argument of ATTACH for one of its databases."""
        return f"host={self.folder} port={_PORT} user=postgres dbname={database}"


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Run a server in a folder of its own inside the block.

    The test is skipped where PostgreSQL is not installed.
    """
    needs_scanner("postgres")
    initdb = _program("initdb")
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    path = folder / "data"
    as_owner: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        owner = next((n for n in ("postgres", "nobody") if n in {u.pw_name for u in pwd.getpwall()}), None)
        if owner is None or shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user to run it as")
        shutil.chown(folder, owner)
        as_owner = ["runuser", "-u", owner, "--"]
    control = [*as_owner, str(initdb.with_name("pg_ctl")), "-w", "-D", str(path), "-l", str(folder / "log")]
    options = f"-p {_PORT} -k {folder} -c listen_addresses='' -c fsync=off -c log_statement=all"
    try:
        texts = [str(initdb), "-D", str(path), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([*as_owner, *texts], cwd=folder, check=True, capture_output=True)
        subprocess.run([*control, "-o", options, "start"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        try:
            yield PostgresServer(folder)
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> Path:
    """Return a program of PostgreSQL; Debian installs the server's outside of PATH."""
    path = shutil.which(name)
    places = [Path(path)] if path else sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not places:
        pytest.skip(f"no PostgreSQL server is installed: there is no {name}")
    return places[-1]


def run_statements(con: Any, statements: str, database: str = "pg") -> None:
    """Run statements in PostgreSQL."""
    con.execute("CALL postgres_execute(?, ?)", [database, statements])
