"""Load extensions of DuckDB from Python packages, or those that DuckDB installed itself.

A package contains the extension for one version of DuckDB; no other version can load it.
"""

import importlib.util
from pathlib import Path

from dbanon.sqltext.quote import Sql, identifier, text


def load_statement(name: str, duckdb_version: str) -> Sql:
    """Return the SQL statement `LOAD ...` for an extension and a version of DuckDB; nothing is run.

    It loads the file in the Python package `duckdb_extension_NAME` if that has one for this version, else the extension
    that DuckDB installed under this name.
    """
    path = _packaged_file(name, duckdb_version)
    return Sql(f"LOAD {identifier(name) if path is None else text(str(path))}")


def load_failure_reason(name: str, duckdb_version: str, error: Exception) -> str:
    """Return why an extension could not be loaded, as part of an error message.

    The reason is one of: the installed Python package has files for other versions of DuckDB only (which are listed);
    the extension is in no package; or, if its file is there, the first line of `error`.
    """
    folder = _package_folder(name)
    if _packaged_file(name, duckdb_version) is None and folder is not None and folder.is_dir():
        versions = ", ".join(sorted(path.name.removeprefix("v") for path in folder.iterdir()))
        package = f"duckdb-extension-{name.replace('_', '-')}"
        return f"the package {package} that is installed has it for DuckDB {versions}"
    if _packaged_file(name, duckdb_version) is None:
        return "it is not installed"
    return f"it could not be loaded ({str(error).split(chr(10))[0]})"


def _packaged_file(name: str, duckdb_version: str) -> Path | None:
    """Return the path of an extension's file in its Python package; None if it has none for this version of DuckDB."""
    folder = _package_folder(name)
    file = None if folder is None else folder / f"v{duckdb_version}" / f"{name}.duckdb_extension"
    return file if file is not None and file.exists() else None


def _package_folder(name: str) -> Path | None:
    """Return the folder `extensions` in the Python package of an extension; None if no such package is installed.

    The folder itself need not exist.
    """
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "extensions"
