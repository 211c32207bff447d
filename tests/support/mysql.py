"""A MariaDB server of the tests' own, and functions that create patients in it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.postgres import needs_scanner

PATIENTS = (
    "CREATE TABLE clinic.patients (id int PRIMARY KEY, name varchar(40), age int, sex char(4), disease varchar(20))",
    "INSERT INTO clinic.patients SELECT seq, concat('somebody ', seq), 20 + seq % 50, elt(1 + seq % 2, 'f', 'm'), "
    "elt(1 + seq % 3, 'Flu', 'Cold', 'Ulcer') FROM seq_1_to_300",
)
ROLES = {"id": "person", "name": "identifier", "age": "quasi", "sex": "quasi", "disease": "sensitive"}


@dataclass(frozen=True)
class MySqlServer:
    """A running server, in its folder."""

    folder: Path

    def params(self, user: str = "root", database: str | None = "clinic") -> str:
        """Return the argument of ATTACH for it."""
        default = "" if database is None else f" database={database}"
        return f"socket={self.folder / 's'} user={user}{default}"

    @property
    def log(self) -> Path:
        """Return the file in which the server logs all statements."""
        return self.folder / "statements"


@contextlib.contextmanager
def running_mysql() -> Iterator[MySqlServer]:
    """Run a server in a folder of its own inside the block.

    The test is skipped where MariaDB is not installed.
    """
    needs_scanner("mysql")
    install, serve = _program("mariadb-install-db"), _program("mariadbd")
    folder = Path(tempfile.mkdtemp(prefix="my"))
    path, log = folder / "data", folder / "errors"
    as_owner: list[str] = []
    if os.geteuid() == 0:  # MariaDB does not run as root
        owner = next((n for n in ("mysql", "nobody") if n in {u.pw_name for u in pwd.getpwall()}), None)
        if owner is None or shutil.which("runuser") is None:
            pytest.skip("MariaDB does not run as root, and there is no other user to run it as")
        shutil.chown(folder, owner)
        as_owner = ["runuser", "-u", owner, "--"]
    quick = ["--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=24M"]
    values = [
        install,
        "--no-defaults",
        f"--datadir={path}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]
    run = [
        serve, "--no-defaults", f"--datadir={path}", f"--socket={folder / 's'}", "--skip-networking",
        f"--pid-file={folder / 'pid'}", f"--log-error={log}", "--general-log=1",
        f"--general-log-file={folder / 'statements'}", "--performance-schema=0", *quick,
    ]  # fmt: skip
    try:
        subprocess.run([*as_owner, *values], cwd=folder, check=True, capture_output=True)
        with subprocess.Popen(
            [*as_owner, *run], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as it:
            try:
                _await(it, folder / "s", log)
                yield MySqlServer(folder)
            finally:
                it.terminate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _await(server_process: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    """Wait at most 60 seconds until the server listens."""
    until = time.monotonic() + 60
    while not socket.exists():
        if server_process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"MariaDB did not start: {log.read_text('utf-8') if log.exists() else 'without a word'}")
        time.sleep(0.05)


def _program(name: str) -> str:
    """Return a program of MariaDB; Debian installs the server's outside of PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.skip(f"no MariaDB server is installed: there is no {name}")
    return path


def run_statements(con: Any, *statements: str, database: str = "my") -> None:
    """Run statements in MariaDB; DuckDB then reads its catalog again."""
    for statement in statements:
        con.execute("CALL mysql_execute(?, ?)", [database, statement])
    con.execute("CALL mysql_clear_cache()")
