"""A clinic served by a real server, and clients that query it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.integrations.quack import extension, tokens
from support import kept

KNOWN = duckdb.__version__.startswith(extension.SUPPORTED_VERSION)


def needs_quack() -> None:
    """Skip a test where DuckDB's remote protocol is not available."""
    with duckdb.connect() as con:
        try:
            extension.load(con, "serve")
        except errors.QuackExtensionMissingError as error:
            pytest.skip(str(error))


SECRETS = ("Guinevere Pendragon", "Perceval of Wales")
"""Names of two patients, which are published nowhere."""


def clinic(path: Path) -> Path:
    """Create a database of sixty patients with one release, `safe`, and one unpublished table."""
    return kept.copy_database(path, _clinic)


def _clinic(path: Path) -> None:
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE patients AS SELECT i AS pid, "
            "CASE i WHEN 7 THEN ? WHEN 8 THEN ? ELSE 'somebody ' || i END AS name, "
            "(20 + (i * 7) % 50)::INTEGER AS age, ['F', 'M'][1 + i % 2] AS sex, "
            "['flu', 'cold', 'cough'][1 + i % 3]::ENUM ('flu', 'cold', 'cough') AS disease FROM range(60) AS r (i)",
            list(SECRETS),
        )
        con.execute(
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('patients', 'pid', 'person'), "
            "('patients', 'name', 'identifier'), ('patients', 'age', 'quasi'), ('patients', 'sex', 'quasi'), "
            "('patients', 'disease', 'sensitive')"
        )
        con.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k=5)")


def free_port() -> int:
    with socket.socket() as connection:
        connection.bind(("127.0.0.1", 0))
        return int(connection.getsockname()[1])


class DbanonServer:
    """A running `dbanon serve`, and a token for it."""

    def __init__(self, database: Path, role: str, *options: str) -> None:
        self.database, self.role, self.port = database, role, free_port()
        with contextlib.suppress(errors.TokenExistsError):
            self.token = tokens.add_token(tokens.token_file(database), f"some_{role}", role)
        command = [sys.executable, "-m", "dbanon", "serve", str(database), "--role", role]
        self.process = subprocess.Popen(
            [*command, "--listen", f"127.0.0.1:{self.port}", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "SECRET_OF_THE_MACHINE": "xyzzy"},
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        assert self.said.startswith("Serving "), self.said + self.process.stdout.read()

    @property
    def uri(self) -> str:
        return f"quack:127.0.0.1:{self.port}"

    @property
    def log(self) -> list[dict[str, Any]]:
        path = self.database.with_name(self.database.name + ".log.jsonl")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def child(self) -> int:
        """Return the process id of the process that answers."""
        ages_text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return int(ages_text.split()[0])

    def cpu_seconds(self) -> float:
        """Return the seconds of CPU time of the process that answers: with it, a test waits for a running statement."""
        fields = Path(f"/proc/{self.child()}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        """Return the exit code after SIGTERM."""
        self.process.terminate()
        assert self.process.stdout is not None
        self.said += self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(120)


@contextlib.contextmanager
def serving(database: Path, role: str, *options: str) -> Iterator[DbanonServer]:
    """Run a server inside the block."""
    server = DbanonServer(database, role, *options)
    try:
        yield server
    finally:
        if server.process.returncode is None:
            server.stop()


class Client:
    """A plain DuckDB that queries a server."""

    def __init__(self, server: DbanonServer, token: str | None = None) -> None:
        self.server, self.token = server, token or server.token
        self.con = duckdb.connect(config={"threads": 1})
        extension.load(self.con, "client")

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        result = self.con.execute("FROM quack_query(?, ?, token := ?)", [self.server.uri, statement, self.token])
        return list(result.fetchall())

    def error(self, statement: str) -> str:
        """Return the error with which a statement is refused."""
        with pytest.raises(duckdb.Error) as caught:
            self.rows(statement)
        return str(caught.value).split("\n\nLINE ")[0]


def run_concurrently(n_threads: int, request: Any) -> list[Any]:
    """Return the answers or errors of `n_threads` threads that ask at once."""
    result: list[Any] = []

    def one() -> None:
        try:
            result.append(request())
        except duckdb.Error as error:
            result.append(error)

    threads = [threading.Thread(target=one) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return result


def wait_until(condition: Any, seconds: float = 20.0) -> None:
    """Wait until a condition becomes true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.1)
