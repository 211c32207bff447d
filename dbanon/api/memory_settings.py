"""How much memory DuckDB may take, and where it writes what does not fit."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbanon import errors

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_LEAST = 100 * 10**6
"""Bytes below which DuckDB cannot plan and run a release of a few rows."""


def settings(
    memory: str | None, temp_directory: str | Path | None, config: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the settings of DuckDB, with those of `config`.

    InvalidArgumentError where an amount is none or is too small, where nothing can be written to the directory, and
    where `config` says the same setting.
    """
    found = dict(config or {})
    if memory is not None:
        _only(found, "memory", ("memory_limit", "max_memory"))
        found["memory_limit"] = _amount(memory)
    if temp_directory is not None:
        _only(found, "temp_directory", ("temp_directory",))
        found["temp_directory"] = _directory(temp_directory)
    return found


def _only(config: Mapping[str, Any], name: str, same: tuple[str, ...]) -> None:
    for setting in same:
        if setting in config:
            raise errors.InvalidArgumentError("connect", name, f"left out where config has {setting}", "both")


def _amount(memory: object) -> str:
    match = _AMOUNT.fullmatch(memory.strip()) if isinstance(memory, str) else None
    if match is not None:
        base = 1024 if match[3] else 1000
        if float(match[1]) * base ** ("KMGT".index(match[2].upper()) + 1) >= _LEAST:
            return match[0]
    accepts = "an amount of at least 100MB, in MB, GB or TB (or MiB, GiB, TiB) such as '2GB' or '500MB'"
    raise errors.InvalidArgumentError("connect", "memory", accepts, repr(memory))


def _directory(path: str | Path) -> str:
    """Return the whole path of a directory that can be written to, found out by writing there."""
    why = "which is no path"
    if isinstance(path, (str, Path)) and str(path):
        folder = Path(path).expanduser().absolute()
        try:
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError as error:
            why = f"({error.strerror})" if error.strerror else "which cannot be written"
    accepts = "a directory that exists and can be written to"
    raise errors.InvalidArgumentError("connect", "temp_directory", accepts, f"{str(path)!r} {why}")
