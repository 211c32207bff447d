"""Missing extensions and invalid options are reported before anything is served."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from support.serving import KNOWN, Client, clinic, needs_quack, serving

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.integrations.quack import extension, published_copy, reader_supervisor
from dbanon.runtime import duckdb_extensions

pytestmark = pytest.mark.all_cases


def test_serve_without_quack_extension_names_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_extensions, "_package_folder", lambda name: None)
    with (
        duckdb.connect(config={"extension_directory": "/nonexistent"}) as con,
        pytest.raises(errors.QuackExtensionMissingError) as caught,
    ):
        extension.load(con, "serve")
    assert "pip install -e '.[serve]'" in str(caught.value) and duckdb.__version__ in str(caught.value)


@pytest.mark.skipif(not KNOWN, reason="another DuckDB is refused before its extensions are looked for")
def test_quack_extension_for_other_duckdb_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v1.5.1").mkdir()
    monkeypatch.setattr(duckdb_extensions, "_package_folder", lambda name: tmp_path)
    with duckdb.connect(config={"extension_directory": "/nonexistent"}) as con:
        with pytest.raises(errors.QuackExtensionMissingError, match=r"is installed has it for DuckDB 1\.5\.1"):
            extension.load(con, "serve")
        (tmp_path / f"v{duckdb.__version__}").mkdir()
        (tmp_path / f"v{duckdb.__version__}" / "httpfs.duckdb_extension").write_bytes(b"nothing")
        with pytest.raises(errors.QuackExtensionMissingError, match="could not be loaded"):
            extension.load(con, "serve")


@pytest.mark.skipif(KNOWN, reason="this DuckDB is served")
def test_serve_refused_on_unsupported_duckdb(tmp_path: Path) -> None:
    database = clinic(tmp_path / "clinic.duckdb")
    for role in ("reader", "custodian"):
        done = CliRunner().invoke(main, ["serve", str(database), "--role", role])
        assert done.exit_code == 1 and "serving works only with DuckDB 1.5.x" in done.output


@pytest.mark.parametrize(
    ("listen", "message"),
    [
        ("0.0.0.0:9494", "other machines can reach"),
        ("192.168.1.1:9494", "other machines can reach"),
        ("[::]:9494", "other machines can reach"),
        ("example.org:9494", "other machines can reach"),
        ("127.0.0.1.example.org:9494", "other machines can reach"),
        ("127.0.0.1", "an address with a port"),
        ("127.0.0.1:", "an address with a port"),
        (":9494", "an address with a port"),
        ("127.0.0.1:0", "an address with a port"),
        ("127.0.0.1:65536", "an address with a port"),
        ("127.0.0.1:x", "an address with a port"),
        ("127.0.0.1:9494 --memory 2", "an amount of at least 100MB"),
        ("127.0.0.1:9494 --temp-directory /tmp", "never written to a disk"),
    ],
)
def test_invalid_serve_options_refused_before_start(tmp_path: Path, listen: str, message: str) -> None:
    database = tmp_path / "clinic.duckdb"
    duckdb.connect(str(database)).close()
    done = CliRunner().invoke(main, ["serve", str(database), "--role", "reader", "--listen", *listen.split()])
    assert done.exit_code == 2 and message in done.output
    assert not published_copy.copy_folder(database).exists()


@pytest.mark.parametrize("role", ["reader", "custodian"])
def test_serve_error_names_occupied_port(tmp_path: Path, role: str) -> None:
    needs_quack()
    database = clinic(tmp_path / "clinic.duckdb")
    with socket.socket() as taken_connection:
        taken_connection.bind(("127.0.0.1", 0))
        taken_connection.listen()
        address = f"127.0.0.1:{taken_connection.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "dbanon", "serve", str(database), "--role", role, "--listen", address],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1 and f"the server cannot listen on {address}" in done.stderr


def test_serve_with_database_open_elsewhere_exits_as_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_supervisor, "_FIRST_COPY_TIMEOUT_S", 0.0)
    database = clinic(tmp_path / "clinic.duckdb")
    with dbanon.connect(database):
        done = CliRunner().invoke(main, ["serve", str(database), "--role", "reader"])
    assert done.exit_code == 4 and "cannot be copied" in done.output


def test_log_written_to_requested_file(tmp_path: Path) -> None:
    needs_quack()
    database = clinic(tmp_path / "clinic.duckdb")
    with serving(database, "reader", "--log", str(tmp_path / "who.jsonl")) as server:
        assert Client(server).rows("SELECT 1") == [(1,)]
        assert "session" in (tmp_path / "who.jsonl").read_text(encoding="utf-8")
        client = Client(server)
        values = [f"quack:localhost:{server.port}", "SELECT 2", server.token]
        assert client.con.execute("FROM quack_query(?, ?, token := ?)", values).fetchall() == [(2,)]


def test_memory_limit_texts_parsed_to_bytes() -> None:
    texts = ("500MB", "2GB", "1.5 GiB", "2GiB", "100 mb", "1TB", "512", "8 kib", " .5G ")
    assert [reader_supervisor._memory_bytes(text) for text in texts] == [
        500 * 10**6, 2 * 10**9, 3 * 2**29, 2**31, 10**8, 10**12, 512, 2**13, 5 * 10**8,
    ]  # fmt: skip
    with duckdb.connect() as con:  # DuckDB reads them in the same way
        for text in ("500MB", "2GB", "2GiB", "1536MiB"):
            con.execute(f"SET memory_limit = '{text}'")
            (shown,) = con.execute("SELECT current_setting('memory_limit')").fetchall()[0]
            shown_bytes = reader_supervisor._memory_bytes(shown)
            assert reader_supervisor._memory_bytes(text) == pytest.approx(shown_bytes, rel=0.05)
