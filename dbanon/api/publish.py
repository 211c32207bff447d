"""Publish a release of a database as files."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from dbanon.ledger import releases
from dbanon.ledger.published_files import Handover
from dbanon.publishing.release_files import OutputOptions, publish_release
from dbanon.runtime import session, storage_version as runtime_storage_version
from dbanon.runtime.session import Session
from dbanon.source import catalog
from dbanon.udf import install


def publish(
    source: Any,
    release: str,
    to: str | Path,
    *,
    classes: bool = False,
    storage_version: str | None = None,
    overwrite: bool = False,
    csv_formulas: str = "escape",
    recipient: str | None = None,
    purpose: str | None = None,
    legal_basis: str | None = None,
) -> list[Path]:
    """Write a published release to files and return their paths, the release first.

    Each file appears atomically, the release last, and a new folder appears together with all of its files. The
    certificate contains the SHA-256 of the other files, which `verify` compares. Every file is read back and compared
    with the release before it appears. A release that has changed since it was made is refused.

    The ledger gets one row per file: `FROM published_files()`. A read-only database cannot store it: the files are
    then written with a warning, or refused if a recipient, a purpose or a legal basis is given.

    A recipient sees the published columns with their roles, the algorithm and the version of dbanon, the model and its
    parameters, the achieved values, how many records were suppressed or dropped and why (together with the released
    ones this is the size of the source), how many columns are withheld, and whether composition was checked. The
    recipient does not see the name or path of the source, fingerprints, names of withheld columns and keys,
    hierarchies, other parameters, or results of comparing this release with others.

    Args:
        source: The path of a database, or an attached connection.
        release: The name of the release.
        to: A path that ends in .duckdb (tables NAME, NAME_metrics and NAME_certificate), in .parquet or .csv (the
            release, with `_metrics` and `_certificate` files next to it), or a folder (the same files named after the
            release, in Parquet).
        classes: Whether to add NAME_classes.
        storage_version: The oldest DuckDB that must read a .duckdb file: v1.0.0 by default, unless a column has a type
            that needs a newer one.
        overwrite: Whether to replace existing files.
        csv_formulas: With "escape", text cells and column names of a .csv file that a spreadsheet would execute (they
            begin with `=`, `+`, `-` or `@`) get an apostrophe in front. Numbers are never changed. "keep" changes
            nothing.
        recipient: The person or organization that gets the files, for the ledger.
        purpose: The purpose for which the recipient gets them.
        legal_basis: The legal basis, such as an article of a law or the number of a contract.

    Returns:
        The paths of the files, the release first.

    Raises:
        UnknownReleaseError: There is no such release.
        ReleaseChangedError: The release is not as it was made.
        StorageVersionTooOldError: `storage_version` cannot store the type of a column.
        TargetExistsError: A file exists.
        OutputDiffersError: A written file differs from the release.
        NewerDatabaseError: A newer DuckDB wrote the database.
        DbanonError: A file cannot be written.

    Examples:
        >>> import tempfile
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> _ = dbanon.create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dbanon.publish(con, "safe", f"{folder}/safe.parquet")[0].name
        'safe.parquet'
    """
    options = OutputOptions(classes, storage_version, overwrite, csv_formulas)
    with _open_source(source) as (current, cursor, path):
        entry = releases.find_published("publish", release, cursor, path)
        return publish_release(current, cursor, entry, to, options, Handover(recipient, purpose, legal_basis))


@contextlib.contextmanager
def _open_source(source: Any) -> Iterator[tuple[Session, Any, catalog.SearchPath]]:
    """Yield the session, a new cursor and the search path of a connection or of a database file.

    A file (text or path) is opened, for writing if possible, dbanon is attached to it, and it is closed at the end. To
    a connection, dbanon must be attached already, and the connection stays open.
    """
    own_connection = _open_database(source) if isinstance(source, (str, Path)) else None
    try:
        connection = install.attach(own_connection, catalog=False) if own_connection is not None else source
        current = session.find_session(session.plain_connection(connection))
        path = catalog.SearchPath.from_connection(connection)
        with current.cursor() as cursor:
            yield current, cursor, path
    finally:
        if own_connection is not None:
            own_connection.close()


def _open_database(path: str | Path) -> duckdb.DuckDBPyConnection:
    """Open a database file that exists, for writing; read-only if another process reads it or it cannot be written."""
    with runtime_storage_version.translate_version_errors(path):
        if Path(path).is_file():
            with contextlib.suppress(duckdb.IOException, duckdb.ConnectionException):
                return duckdb.connect(str(path))
        return duckdb.connect(str(path), read_only=True)
