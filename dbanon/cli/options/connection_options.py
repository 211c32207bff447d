"""Options of a command about its connection: --attach and --attach-rw, --memory and --temp-directory."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from dbanon import errors
from dbanon.source import attached_databases
from dbanon.sqltext.quote import identifier, text

_ATTACHED_KEY = "dbanon.attached"
_MEMORY_KEY = "dbanon.bounds"

_SYSTEMS = ("postgres", "mysql", "sqlite")
_ATTACH_VALUE = re.compile(rf"\s*([^=:]+?)\s*=\s*({'|'.join(_SYSTEMS)}):(.*)", re.DOTALL | re.IGNORECASE)

_PASSWORD = re.compile(r"\b(pass(word|wd)?|sslpassword)\s*=|://[^/@]*:[^/@]*@", re.IGNORECASE)
"""A password in a connection string, or in an address. Other users of a machine see arguments of commands."""


@dataclass(frozen=True)
class _AttachedDatabase:
    """A database to attach: its name, its system, its connection string, and whether it may be written."""

    name: str
    system: str
    connection_string: str
    writable: bool


def _store_databases(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> None:
    """Store the databases that an option names in the context of the command, for `attach`.

    Raises:
        click.BadParameter: A value is not NAME=SYSTEM:WHERE, or contains a password. The message never contains the
            connection string.
    """
    for value in values:
        match = _ATTACH_VALUE.fullmatch(value)
        if match is None:
            raise click.BadParameter(f"it is not NAME=SYSTEM:WHERE with {' or '.join(_SYSTEMS)}, such as "
                                     "pg=postgres:host=db.example.", context, option)  # fmt: skip
        if _PASSWORD.search(match[3]):
            raise click.BadParameter(
                "others can see a password on the command line. Use PGPASSWORD, a .pgpass file, MYSQL_PWD or a secret "
                "of DuckDB.", context, option)  # fmt: skip
        other = _AttachedDatabase(match[1], match[2].lower(), match[3].strip(), option.name == "attach_rw")
        context.meta.setdefault(_ATTACHED_KEY, []).append(other)


def attach_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options --attach and --attach-rw to a command; only `attach` reads their values."""
    metavar = "NAME=SYSTEM:WHERE"
    reading = click.option(
        "--attach",
        multiple=True,
        metavar=metavar,
        expose_value=False,
        callback=_store_databases,
        help="Attach another database for reading: 'pg=postgres:host=db.example dbname=clinic', my=mysql:..., "
        "lite=sqlite:FILE. Passwords come from the environment.",
    )
    writing = click.option(
        "--attach-rw",
        multiple=True,
        metavar=metavar,
        expose_value=False,
        callback=_store_databases,
        help="Attach PostgreSQL for writing, for copies of releases.",
    )
    return reading(writing(command))


def attach(connection: Any) -> None:
    """Attach the databases that the options of the command name to a connection, and read their lists of tables.

    Does nothing outside of a command.

    Raises:
        ScannerExtensionMissingError: The extension for the system is missing.
        NotAttachedError: A database could not be attached.
    """
    from dbanon.api.extensions import load_extension

    context = click.get_current_context(silent=True)
    for other in context.meta.get(_ATTACHED_KEY, []) if context is not None else []:
        load_extension(connection, other.system)
        options = f"TYPE {other.system}" + ("" if other.writable else ", READ_ONLY")
        try:
            connection.execute(f"ATTACH {text(other.connection_string)} AS {identifier(other.name)} ({options})")
            attached_databases.relations(
                connection, other.name, other.system
            )  # DuckDB opens some when it first reads them
        except Exception as error:
            why = str(error).split("\n")[0].replace(other.connection_string or "\0", "...")
            raise errors.NotAttachedError(other.name, other.system, why) from None


def _store_option(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Store the value of an option in the context of the command, for `memory_arguments`."""
    context.meta.setdefault(_MEMORY_KEY, {})[option.name] = value


def memory_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options --memory and --temp-directory to a command; only `memory_arguments` reads their values."""
    memory = click.option(
        "--memory",
        metavar="AMOUNT",
        expose_value=False,
        callback=_store_option,
        help="Limit the memory of DuckDB: 2GB, 500MB.",
    )
    directory = click.option(
        "--temp-directory",
        metavar="FOLDER",
        expose_value=False,
        callback=_store_option,
        help="Let DuckDB write data that does not fit into memory to this folder, raw rows too.",
    )
    return memory(directory(command))


def memory_arguments() -> dict[str, Any]:
    """Return the values of --memory and --temp-directory as arguments of `connect`.

    Returns an empty mapping outside of a command, or for a command without these options. An option that is not given
    is None.
    """
    context = click.get_current_context(silent=True)
    return dict(context.meta.get(_MEMORY_KEY, {})) if context is not None else {}
