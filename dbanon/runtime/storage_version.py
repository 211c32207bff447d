"""Storage versions: which DuckDB can read a database file, and why a file cannot be opened."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed

from dbanon import errors

DEFAULT_VERSION = "v1.0.0"
"""The storage version of files unless another is requested. Newer ones are neither smaller nor faster, and files in the
default version of DuckDB 2.0 cannot be read by any earlier DuckDB.
"""

_MIN_VERSIONS = {"VARIANT": "v1.5.0", "TIMESTAMPTZ_NS": "v2.0.0"}
"""Types that files of older versions cannot store. DuckDB writes the second one into such files, and then nothing can
read them.
"""

_NEW_TYPE = re.compile(rf"\b({'|'.join(_MIN_VERSIONS)})(?=[,)\[]|$)")
"""One of these types anywhere within another type; a field name would be followed by a blank."""


def check_column_types(function: str, columns: Mapping[str, str], version: str) -> None:
    """Check that the oldest DuckDB that must read a file knows the types of its columns, also of nested ones.

    Only VARIANT (since v1.5.0) and TIMESTAMPTZ_NS (since v2.0.0) are checked.

    Args:
        function: The name of the function that was called.
        columns: DuckDB types by column name.
        version: The oldest DuckDB that must read the file, such as `v1.0.0`, or `latest`.

    Raises:
        StorageVersionTooOldError: A type is newer than `version`.
    """
    for name, type_ in columns.items():
        for new_type in _NEW_TYPE.findall(type_):
            if _version_key(version) < _version_key(_MIN_VERSIONS[new_type]):
                raise errors.StorageVersionTooOldError(function, name, new_type, _MIN_VERSIONS[new_type], version)


def _version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of a version as a sort key, (1, 5, 0) for `v1.5.0`; a word such as `latest` sorts last."""
    return tuple(map(int, re.findall(r"\d+", version))) or (1_000_000,)


_TOO_NEW_MESSAGE = re.compile(
    r"with (?:storage )?version number (\d+), but we can only read (?:storage )?versions? (.+?)\."
)
"""The message of DuckDB for a file that a newer DuckDB wrote."""


@contextlib.contextmanager
def translate_version_errors(path: object) -> Iterator[None]:
    """Raise NewerDatabaseError if opening a database in the block fails because a newer DuckDB wrote it.

    Other errors pass unchanged. `path` is the database, for the message.
    """
    try:
        yield
    except Exception as error:
        if (version_error := newer_database_error(error, path)) is None:
            raise
        raise version_error from None


def newer_database_error(error: BaseException | None, path: object) -> errors.NewerDatabaseError | None:
    """Return a NewerDatabaseError if DuckDB's error says that a newer DuckDB wrote the database; else None."""
    match = _TOO_NEW_MESSAGE.search(str(error))
    return None if match is None else errors.NewerDatabaseError(str(path), match[1], installed("duckdb"), match[2])
