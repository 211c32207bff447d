"""`dbanon serve`, `token` and `write-client`: serve a database to clients of DuckDB's protocol."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbanon import errors
from dbanon.cli.options.connection_options import memory_arguments, memory_options
from dbanon.cli.terminal.common import AS_JSON, DATABASE, REPLACE, errors_as_messages, print_result, print_table
from dbanon.integrations.quack import tokens
from dbanon.runtime import atomic_write, output_files

if TYPE_CHECKING:
    from dbanon.integrations.quack.reader_process import StatementLimits

_PORTS = {"reader": 9494, "custodian": 9495}
ROLE = click.option(
    "--role", type=click.Choice(tuple(_PORTS)), required=True, help="Choose the role: reader or custodian."
)


@click.command()
@DATABASE
@ROLE
@click.option(
    "--listen", metavar="HOST:PORT", help="Use this address; default: 127.0.0.1:9494 for readers, :9495 for custodians."
)
@click.option(
    "--allow-remote", is_flag=True, help="Allow an address that other machines can reach, without encryption."
)
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the log to this file; default: DATABASE.log.jsonl.",
)
@click.option(
    "--statement-timeout",
    type=click.FloatRange(0.1, 86_400),
    default=30,
    show_default=True,
    help="Limit the time of a reader's statement, in seconds.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(1),
    default=1_000_000,
    show_default=True,
    help="Limit the number of rows that a reader's statement returns.",
)
@memory_options
@AS_JSON
def serve(
    database: Path,
    role: str,
    listen: str | None,
    allow_remote: bool,
    log: Path | None,
    statement_timeout: float,
    max_rows: int,
    as_json: bool,
) -> None:
    """Serve DATABASE to DuckDB clients, until Ctrl-C.

    The protocol is Quack; SIGTERM stops the server too. Readers may run SELECT on the published releases (materialized
    anonymized views), in a process that can access nothing else. Custodians can access everything. Each role has its
    own port, process and tokens (`dbanon token add`).

    The server prints a line once it listens. --memory limits DuckDB; the default for readers is 2GB.
    """
    with errors_as_messages():
        host, port = _parse_address(listen, _PORTS[role], allow_remote)
        journal = log or database.with_name(database.name + ".log.jsonl")
        facts = {"database": str(database), "role": role, "host": host, "port": port, "log": str(journal)}
        facts["duckdb_cli"] = version("duckdb")

        def ready() -> None:
            """Print the address once the server listens."""
            print_result(facts, as_json, _ready_text(facts))

        from dbanon.integrations.quack.subprocesses import ServerConfig

        serving = ServerConfig(database, host, port, journal)
        log_message = functools.partial(click.echo, err=True)
        if role == "reader":
            from dbanon.integrations.quack import reader_supervisor

            reader_supervisor.serve(serving, _reader_limits(statement_timeout, max_rows), log_message, ready)
        else:
            from rich.console import Console

            from dbanon.cli.terminal.compiling import ServerCompilation
            from dbanon.integrations.quack import custodian_server
            from dbanon.kernels import compile_events

            notice = ServerCompilation(Console(stderr=True, highlight=False))
            with contextlib.closing(notice), compile_events.listen(notice.report):
                custodian_server.serve(serving, memory_arguments(), log_message, ready)


def _ready_text(facts: Mapping[str, object]) -> str:
    """Return what is printed once the server listens: the address, and DuckDB's command line that fits the server."""
    duckdb_cli = facts["duckdb_cli"]
    return (
        f"Serving {facts['database']} to {facts['role']}s on {facts['host']}:{facts['port']}. Ctrl-C ends it.\n"
        f"DuckDB's command line for it: duckdb-cli {duckdb_cli} (pip install duckdb-cli=={duckdb_cli})."
    )


def _reader_limits(timeout_s: float, max_rows: int) -> StatementLimits:
    """Return the limits of a reader's statements: seconds, rows, and the memory of --memory, by default 2GB.

    Raises:
        InvalidArgumentError: --memory is invalid, or --temp-directory is given, which readers never use.
    """
    from dbanon.api.memory_settings import duckdb_settings
    from dbanon.integrations.quack.reader_process import StatementLimits

    limits = memory_arguments()
    if limits.get("temp_directory"):
        accepts = "omitted for readers, whose statements are never written to a disk"
        raise errors.InvalidArgumentError("serve", "temp_directory", accepts, limits["temp_directory"])
    return StatementLimits(timeout_s, max_rows, duckdb_settings(limits.get("memory") or "2GB", None)["memory_limit"])


def _parse_address(address: str | None, port: int, allow_remote: bool) -> tuple[str, int]:
    """Return host and port of an address HOST:PORT, [IPV6]:PORT; 127.0.0.1 and `port` if none is given.

    Raises:
        NotLoopbackAddressError: Other machines can reach the host, and `allow_remote` is false.
        InvalidArgumentError: The text is no address with a port.
    """
    from dbanon.integrations.quack.transport import is_loopback

    if address is None:
        return "127.0.0.1", port
    host, colon, number = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and number.isascii() and number.isdigit() and 0 < int(number) < 65_536):
        raise errors.InvalidArgumentError("serve", "listen", "an address with a port, such as 127.0.0.1:9494", address)
    if not (allow_remote or is_loopback(host)):
        raise errors.NotLoopbackAddressError("serve", address)
    return host, int(number)


@click.group()
def token() -> None:
    """Manage the tokens for `dbanon serve`.

    The file DATABASE.tokens stores their hashes.
    """


@token.command("add")
@DATABASE
@click.argument("name")
@ROLE
@click.option("--expires", metavar="SPAN", help="Let the token expire after this time: 30d, 12h, 45m; default: never.")
@AS_JSON
def add(database: Path, name: str, role: str, expires: str | None, as_json: bool) -> None:
    """Create a token for NAME and show it once.

    It cannot be shown again. The log identifies the requests of NAME by that name.
    """
    with errors_as_messages():
        new_token = tokens.add_token(tokens.token_file(database), name, role, expires)
    print_result({"name": name, "role": role, "token": new_token}, as_json, new_token)


@token.command("list")
@DATABASE
@AS_JSON
def list_(database: Path, as_json: bool) -> None:
    """List the names of the tokens, without the tokens themselves."""
    with errors_as_messages():
        entries = [asdict(t) for t in tokens.read_tokens(tokens.token_file(database))]
    public_entries = [{name: value for name, value in entry.items() if name != "hash"} for entry in entries]
    if as_json:
        print_result(public_entries, as_json)
    else:
        print_table("Tokens", public_entries)


@token.command("revoke")
@DATABASE
@click.argument("name")
@AS_JSON
def revoke(database: Path, name: str, as_json: bool) -> None:
    """Remove the token of NAME.

    Its sessions can run no more statements.
    """
    with errors_as_messages():
        tokens.revoke_token(tokens.token_file(database), name)
    print_result({"revoked": name}, as_json, f"The token of {name} is revoked.")


@click.command("write-client")
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Write to this file."
)
@ROLE
@click.option(
    "--server", metavar="HOST:PORT", help="Use this address; default: 127.0.0.1:9494 for readers, :9495 for custodians."
)
@click.option("--name", default="clinic", show_default=True, help="Attach the server under this name.")
@REPLACE
@AS_JSON
def write_client(output: Path, role: str, server: str | None, name: str, replace: bool, as_json: bool) -> None:
    """Write an init file for DuckDB clients of a server.

    DBANON_TOKEN=... duckdb -init FILE

    With the file, DuckDB's own command line calls the functions of dbanon on the server: for custodians every table
    function with all parameters, for readers those that read releases. The file does not contain the token.
    """
    from dbanon.integrations.quack import client_file

    with errors_as_messages():
        host, port = _parse_address(server, _PORTS[role], allow_remote=True)
        if output.exists() and not replace:
            raise errors.TargetExistsError(str(output), [str(output)], "write-client")
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        content = client_file.client_file_sql(f"quack:{address}", name, role)
        with (
            output_files.translate_os_errors("write-client", str(output)),
            atomic_write.open_drafts({"": output}, []) as drafts,
        ):
            drafts[""].write_text(content, encoding="utf-8")
    print_result({"files": [str(output)]}, as_json, str(output))
