"""Files that a call names: read by DuckDB, so that what a connection may not read no call of it reads.

A name is a name. `p[12].csv` is that file and never `p1.csv`, and no name makes DuckDB fetch or load an extension.
"""

import re
from typing import Any

from dbanon import errors
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, text

_EXTENSIONS = {
    "httpfs": ("http", "https", "s3", "s3a", "s3n", "gs", "gcs", "r2", "hf"),
    "azure": ("az", "azure", "abfs", "abfss"),
}
"""Schemes for which DuckDB would fetch and load an extension by itself."""

_MISSING = "there is no such file."

_READERS = {"csv": "read_csv", "tsv": "read_csv", "txt": "read_csv", "parquet": "read_parquet"}


def relation(path: str) -> Sql:
    """What stands behind FROM to read a file of rows.

    >>> relation('p[12].csv')
    "system.main.read_csv('p[[]12].csv')"
    """
    reader = _READERS.get(names.file_ending(path), "read_json")
    return Sql(f"system.main.{reader}({text(names.pattern(path))})")


def allowed(function: str, path: str, cursor: Any) -> None:
    """Raise RemoteFileError for a name on a network that the connection has no extension or file system for."""
    scheme = names.scheme(path)
    extension = next((e for e, schemes in _EXTENSIONS.items() if scheme in schemes), None)
    if extension is None:
        return
    loaded = "SELECT extension_name FROM system.main.duckdb_extensions() WHERE loaded"
    try:
        rows = cursor.execute(loaded).fetchall()
    except Exception:  # a connection without access to files cannot look where extensions are
        rows = []
    if (extension,) not in rows and scheme not in cursor.list_filesystems():
        raise errors.RemoteFileError(function, path, extension)


def content(function: str, path: str, cursor: Any) -> str:
    """Return the text of a file. Raises UnreadableFileError, RemoteFileError."""
    allowed(function, path, cursor)
    pattern = names.pattern(path)
    try:
        rows = cursor.execute(f"SELECT content FROM system.main.read_blob({text(pattern)})").fetchall()
        within = rows or cursor.execute(f"SELECT file FROM system.main.glob({text(pattern + '/*')})").fetchall()
    except Exception as error:
        raise errors.UnreadableFileError(function, path, why(error)) from None
    if not rows:
        raise errors.UnreadableFileError(function, path, "it is a directory." if within else _MISSING)
    try:
        return bytes(rows[0][0]).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise errors.UnreadableFileError(function, path, "it is not UTF-8 text.") from None


def why(error: Exception) -> str:
    """Return the first line of what DuckDB says, without the pattern that a name was turned into."""
    said = str(error).split("\n")[0]
    if "No files found that match" in said:
        return _MISSING
    return re.sub(r"^[A-Z]\w+ Error: ", "", said).rstrip(".") + "."
