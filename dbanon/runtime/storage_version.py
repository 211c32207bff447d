"""Storage versions: which DuckDB reads a database file that is written, and why a file cannot be opened."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version as installed

from dbanon import errors

WIDEST = "v1.0.0"
"""What files are written for unless another version is asked for. Newer ones make them neither smaller nor faster, and
the default of DuckDB 2.0 is read by no DuckDB before it."""

_TYPES = {"VARIANT": "v1.5.0", "TIMESTAMPTZ_NS": "v2.0.0"}
"""Types that files for older versions cannot hold; the second is written to such files, and then nothing reads them."""

_TYPE = re.compile(rf"\b({'|'.join(_TYPES)})(?=[,)\[]|$)")
"""Such a type anywhere in another one; a blank would follow the name of a field."""


def check(function: str, columns: Mapping[str, str], version: str) -> None:
    """Raise StorageVersionTooOldError where a column (type by name) cannot be read by the oldest DuckDB that shall read
    the file.
    """
    for name, type_ in columns.items():
        for found in _TYPE.findall(type_):
            if _order(version) < _order(_TYPES[found]):
                raise errors.StorageVersionTooOldError(function, name, found, _TYPES[found], version)


def _order(version: str) -> tuple[int, ...]:
    """Return versions in order; words such as `latest` come last."""
    return tuple(map(int, re.findall(r"\d+", version))) or (1_000_000,)


_REFUSED = re.compile(r"with (?:storage )?version number (\d+), but we can only read (?:storage )?versions? (.+?)\.")
"""What DuckDB says of a file that a newer one wrote."""


@contextlib.contextmanager
def opening(path: object) -> Iterator[None]:
    """Raise NewerDatabaseError where a newer DuckDB wrote the database; other errors pass."""
    try:
        yield
    except Exception as error:
        if (newer := refused(error, path)) is None:
            raise
        raise newer from None


def refused(error: BaseException | None, path: object) -> errors.NewerDatabaseError | None:
    """Return the error of a database that a newer DuckDB wrote; None for any other."""
    found = _REFUSED.search(str(error))
    return None if found is None else errors.NewerDatabaseError(str(path), found[1], installed("duckdb"), found[2])
