"""DuckDB's extensions that speak Quack: from Python packages, or installed by DuckDB itself.

Quack needs httpfs on both sides. The packages have one file for one version of DuckDB, which no other loads.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import duckdb

from dbanon import errors
from dbanon.sqltext.quote import Sql, identifier, text

NAMES = ("httpfs", "quack")

READ = "1.5."
"""The DuckDB whose trees of statements `dbanon.serve.allowed` knows; of others it lets nothing through."""


def load(connection: Any, function: str) -> None:
    """Loads the extensions into the connection's instance; NoQuack."""
    if not duckdb.__version__.startswith(READ):
        why = f"serving is made for DuckDB {READ}x, whose protocol and parsed statements it knows"
        raise errors.NoQuack(function, "quack", duckdb.__version__, why)
    for name in NAMES:
        try:
            connection.execute(statement(name))
        except duckdb.Error as error:
            raise errors.NoQuack(function, name, duckdb.__version__, _why(name, error)) from None


def statement(name: str) -> Sql:
    """The statement that loads an extension."""
    path = _packaged(name)
    return Sql(f"LOAD {identifier(name) if path is None else text(str(path))}")


def _packaged(name: str) -> Path | None:
    """The file of an extension in a Python package, where it is for this DuckDB."""
    path = _folder(name)
    found = None if path is None else path / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    return found if found is not None and found.exists() else None


def _folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "extensions"


def _why(name: str, error: duckdb.Error) -> str:
    """Why an extension could not be loaded."""
    folder = _folder(name)
    if _packaged(name) is None and folder is not None and folder.is_dir():
        versions = ", ".join(sorted(path.name.removeprefix("v") for path in folder.iterdir()))
        return f"the package duckdb-extension-{name} that is installed has it for DuckDB {versions}"
    if _packaged(name) is None:
        return "it is not installed"
    return f"it could not be loaded ({str(error).split(chr(10))[0]})"
