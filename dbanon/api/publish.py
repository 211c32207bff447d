"""Publish a release of a database as files."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from dbanon.ledger import releases
from dbanon.publishing.release_files import OutputOptions, write_release
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
) -> list[Path]:
    """Write a published release to files of its own; return their paths, the release first.

    `source` is the path of a database, or an attached connection. `to` ends in .duckdb (tables NAME, NAME_metrics and
    NAME_certificate), in .parquet or .csv (the release there, `_metrics` and `_certificate` beside it), or is a folder
    (the same by the release's name, in Parquet). `classes` adds NAME_classes; `storage_version` is the oldest DuckDB
    that shall read a .duckdb file: v1.0.0, unless a column has a type that needs a newer one
    (StorageVersionTooOldError). Each file appears whole or not at all, the release last, and a folder that is new with
    all of its files at once; the certificate names the SHA-256 of the others, which `verify` compares. Existing files
    are refused unless `overwrite`. So is a release that is not what it was when it was made. Every file is read back
    and compared with the release before it appears (OutputDiffersError).

    `csv_formulas="escape"` puts an apostrophe before text cells and column names of a .csv file that a spreadsheet
    would execute: those that begin with `=`, `+`, `-` or `@`. Numbers are never changed. "keep" changes nothing.

    A recipient sees the published columns with their roles, the algorithm and the version of dbanon, the model and its
    parameters, what was achieved, how many records were left out and why (with the released ones that is the size of
    the source), how many columns are withheld, and whether composition was checked. He does not see the name or path
    of the source, fingerprints, names of withheld columns and keys, hierarchies, other parameters, or what was found
    between this release and others.
    """
    options = OutputOptions(classes, storage_version, overwrite, csv_formulas)
    with _opened(source) as (current, cursor, path):
        return write_release(current, cursor, releases.published("publish", release, cursor, path), to, options)


@contextlib.contextmanager
def _opened(source: Any) -> Iterator[tuple[Session, Any, catalog.SearchPath]]:
    """The session, a cursor and the search path of a connection, or of a database file that is opened to be read."""
    own = None
    if isinstance(source, (str, Path)):
        with runtime_storage_version.opening(source):
            own = duckdb.connect(str(source), read_only=True)
    try:
        connection = install.attach(own) if own is not None else source
        current = session.of_connection(getattr(connection, "raw", connection))
        path = catalog.SearchPath.here(connection)
        with current.cursor() as cursor:
            yield current, cursor, path
    finally:
        if own is not None:
            own.close()
