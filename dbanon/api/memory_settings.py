"""Check the memory limit of DuckDB and the folder of its temporary files."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbanon import errors

_MEMORY_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_MIN_BYTES = 100 * 10**6
"""Bytes below which DuckDB cannot plan and run a release of a few rows."""


def duckdb_settings(
    memory: str | None, temp_directory: str | Path | None, config: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a copy of `config` with DuckDB's settings memory_limit and temp_directory.

    Args:
        memory: The memory limit, such as '2GB'; None adds no setting.
        temp_directory: A folder that can be written to; None adds no setting.
        config: Other settings of DuckDB by name.

    Raises:
        InvalidArgumentError: The amount is invalid or too small, the folder cannot be written to, or `config` contains
            the same setting.
    """
    merged = dict(config or {})
    if memory is not None:
        _check_not_in_config(merged, "memory", ("memory_limit", "max_memory"))
        merged["memory_limit"] = _check_amount(memory)
    if temp_directory is not None:
        _check_not_in_config(merged, "temp_directory", ("temp_directory",))
        merged["temp_directory"] = _check_directory(temp_directory)
    return merged


def _check_not_in_config(config: Mapping[str, Any], name: str, setting_names: tuple[str, ...]) -> None:
    """Raise InvalidArgumentError if `config` has one of `setting_names`, which the argument `name` sets too."""
    for setting in setting_names:
        if setting in config:
            raise errors.InvalidArgumentError("connect", name, f"omitted if config has {setting}", "both")


def _check_amount(memory: object) -> str:
    """Return the memory amount, such as '2GB', without surrounding space.

    InvalidArgumentError if invalid or under 100 MB.
    """
    match = _MEMORY_AMOUNT.fullmatch(memory.strip()) if isinstance(memory, str) else None
    if match is not None:
        base = 1024 if match[3] else 1000
        if float(match[1]) * base ** ("KMGT".index(match[2].upper()) + 1) >= _MIN_BYTES:
            return match[0]
    accepts = "an amount of at least 100MB, in MB, GB or TB (or MiB, GiB, TiB) such as '2GB' or '500MB'"
    raise errors.InvalidArgumentError("connect", "memory", accepts, repr(memory))


def _check_directory(path: str | Path) -> str:
    """Return the absolute path of a folder; InvalidArgumentError if no file can be written to it."""
    reason = "which is no path"
    if isinstance(path, (str, Path)) and str(path):
        folder = Path(path).expanduser().absolute()
        try:
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError as error:
            reason = f"({error.strerror})" if error.strerror else "which cannot be written"
    accepts = "a directory that exists and can be written to"
    raise errors.InvalidArgumentError("connect", "temp_directory", accepts, f"{str(path)!r} {reason}")
