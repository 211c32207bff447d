"""DuckDB's extensions: from Python packages, or installed by DuckDB itself.

A package has one file for one version of DuckDB, which no other loads.
"""

import importlib.util
from pathlib import Path

from dbanon.sqltext.quote import Sql, identifier, text


def statement(name: str, duckdb: str) -> Sql:
    """Return the statement that loads an extension into DuckDB of a version."""
    path = _file(name, duckdb)
    return Sql(f"LOAD {identifier(name) if path is None else text(str(path))}")


def why(name: str, duckdb: str, error: Exception) -> str:
    """Why an extension could not be loaded."""
    folder = _folder(name)
    if _file(name, duckdb) is None and folder is not None and folder.is_dir():
        versions = ", ".join(sorted(path.name.removeprefix("v") for path in folder.iterdir()))
        package = f"duckdb-extension-{name.replace('_', '-')}"
        return f"the package {package} that is installed has it for DuckDB {versions}"
    if _file(name, duckdb) is None:
        return "it is not installed"
    return f"it could not be loaded ({str(error).split(chr(10))[0]})"


def _file(name: str, duckdb: str) -> Path | None:
    """Return the file of an extension in a Python package, where it is for this DuckDB."""
    path = _folder(name)
    found = None if path is None else path / f"v{duckdb}" / f"{name}.duckdb_extension"
    return found if found is not None and found.exists() else None


def _folder(name: str) -> Path | None:
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "extensions"
