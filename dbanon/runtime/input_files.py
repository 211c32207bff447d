"""Read files that a call names through DuckDB, so that the file access settings of the connection apply.

A path is taken literally: `p[12].csv` is that file and never `p1.csv`, and no path makes DuckDB download or load an
extension.
"""

import contextlib
import re
from typing import Any

from dbanon import errors
from dbanon.errors import redaction
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, text

_SCHEMES_BY_EXTENSION = {
    "httpfs": ("http", "https", "s3", "s3a", "s3n", "gs", "gcs", "r2", "hf"),
    "azure": ("az", "azure", "abfs", "abfss"),
}
"""URL schemes for which DuckDB would download and load an extension automatically."""

_NO_SUCH_FILE = "there is no such file."

_READERS = {"csv": "read_csv", "tsv": "read_csv", "txt": "read_csv", "parquet": "read_parquet"}


def file_relation(path: str) -> Sql:
    """Return the SQL expression, to be used after FROM, that reads the rows of a file by the reader for its ending.

    CSV, TSV and TXT files are read as CSV, `.parquet` as Parquet, all others as JSON. `*`, `?` and `[` in the path are
    escaped, so that it denotes one file.

    >>> file_relation('p[12].csv')
    "system.main.read_csv('p[[]12].csv')"
    """
    reader = _READERS.get(names.file_ending(path), "read_json")
    return Sql(f"system.main.{reader}({text(names.escape_glob(path))})")


def required_extension(scheme: str | None) -> str | None:
    """Return the extension of DuckDB that reads URLs of a scheme; None if none is needed, or known.

    >>> required_extension("s3"), required_extension(None)
    ('httpfs', None)
    """
    return next((extension for extension, schemes in _SCHEMES_BY_EXTENSION.items() if scheme in schemes), None)


def load_installed_extension(path: str, connection: Any) -> None:
    """Load the extension of DuckDB that reads a URL on a connection of dbanon's own. Nothing is downloaded.

    Nothing is done for a local path, and where the extension is not installed: `check_file_system` then refuses the
    path.
    """
    extension = required_extension(names.url_scheme(path))
    if extension is not None:
        with contextlib.suppress(Exception):
            connection.execute(f"LOAD {extension}")


def check_file_system(function: str, path: str, cursor: Any) -> None:
    """Check that the connection can read the URL scheme of a path without loading an extension automatically.

    A path without a scheme, or with one that needs no extension, passes. Otherwise the extension must be loaded, or the
    cursor's connection must have a registered file system for the scheme.

    Raises:
        RemoteFileError: Neither is the case.
    """
    scheme = names.url_scheme(path)
    extension = required_extension(scheme)
    if extension is None:
        return
    try:
        rows = cursor.execute("SELECT extension_name FROM system.main.duckdb_extensions() WHERE loaded").fetchall()
    except Exception:  # a connection without access to files cannot look where extensions are
        rows = []
    if (extension,) not in rows and scheme not in cursor.list_filesystems():
        raise errors.RemoteFileError(function, path, extension)


def read_text(function: str, path: str, cursor: Any) -> str:
    """Return the text of one file, without its byte order mark; DuckDB reads it, so its file access settings apply.

    Args:
        function: The name of the called function, for error messages.
        path: A path or URL, taken literally.
        cursor: A cursor of the connection.

    Raises:
        UnreadableFileError: The file does not exist, is a directory, or cannot be read.
        FileEncodingError: It is not UTF-8 text.
        RemoteFileError: The connection has no file system for the URL.
    """
    check_file_system(function, path, cursor)
    pattern = names.escape_glob(path)
    try:
        rows = cursor.execute(f"SELECT content FROM system.main.read_blob({text(pattern)})").fetchall()
        directory_entries = (
            rows or cursor.execute(f"SELECT file FROM system.main.glob({text(pattern + '/*')})").fetchall()
        )
    except Exception as error:
        raise errors.UnreadableFileError(function, path, failure_reason(error)) from None
    if not rows:
        raise errors.UnreadableFileError(function, path, "it is a directory." if directory_entries else _NO_SUCH_FILE)
    try:
        return bytes(rows[0][0]).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise errors.FileEncodingError(function, [path], "") from None


def exists(path: str, cursor: Any) -> bool:
    """Return whether a local file exists at a path and the connection may look for it. Nothing is read."""
    if names.url_scheme(path) is not None:
        return False
    try:
        return bool(cursor.execute(f"SELECT file FROM system.main.glob({text(names.escape_glob(path))})").fetchall())
    except Exception:  # a connection without access to files
        return False


def unreadable_error(function: str, path: str, error: Exception) -> errors.DbanonError:
    """Return the error about a file of rows that DuckDB could not bind, for the error of DuckDB.

    Args:
        function: The name of the called function, for the message.
        path: The file.
        error: The error of DuckDB.
    """
    if redaction.is_encoding_error(error):
        return redaction.encoding_error(function, [path], error)
    return errors.UnreadableFileError(function, path, failure_reason(error))


def failure_reason(error: Exception) -> str:
    """Return the first line of a DuckDB error as one sentence for a message, without the error's type.

    If DuckDB found no file, it is "there is no such file.", since DuckDB's own message shows the escaped path.
    """
    message = str(error).split("\n")[0]
    if "No files found that match" in message:
        return _NO_SUCH_FILE
    return re.sub(r"^[A-Z]\w+ Error: ", "", message).rstrip(".") + "."
