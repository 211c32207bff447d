"""Files that are written: on this machine, never over what is read, whole or not at all; and why one was not."""

import contextlib
import errno
import fnmatch
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.sqltext import names


def local(function: str, to: str | Path) -> Path:
    """Return the path of a file or folder to be written.

    Raises TargetNotLocalError for `s3://...` and the like, WriteFailedError.
    """
    if names.scheme(str(to)) is not None:
        raise errors.TargetNotLocalError(function, str(to))
    with written(function, to):
        Path(to).exists()  # a name that is too long cannot even be asked for
    return Path(to)


# --- never over what is read ---------------------------------------------------------------------------------


def apart(function: str, targets: Iterable[Path], read: Iterable[Path]) -> None:
    """Raise TargetInUseError where a target is a file that is read, by whatever spelling or link."""
    sources = [path for one in read for path in (one, log(one))]
    for target in targets:
        if any(_same(target, source) for source in sources):
            raise errors.TargetInUseError(str(target), function)


def log(path: Path) -> Path:
    """Return the write-ahead log of a database file."""
    return path.with_name(path.name + ".wal")


def _same(target: Path, source: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        if target.samefile(source):
            return True
    whole, given = str(target.absolute().resolve()), str(source.absolute())
    return whole == str(source.absolute().resolve()) or (
        re.search(r"[*?\[]", given) is not None and fnmatch.fnmatch(whole, given)
    )


_TEXTS = re.compile(r"'((?:[^']|'')+)'")


def read_by(cursor: Any) -> list[Path]:
    """Return files that a connection reads: attached databases, and whatever its views name.

    A text in a view that is no file is a path to nothing, and does no harm.
    """
    rows = cursor.execute("SELECT path FROM system.main.duckdb_databases() WHERE path IS NOT NULL").fetchall()
    views = cursor.execute("SELECT sql FROM system.main.duckdb_views() WHERE NOT internal").fetchall()
    named = {found.replace("''", "'") for (sql,) in views for found in _TEXTS.findall(sql or "")}
    paths = [name.removeprefix("file://") for name in sorted(named) if names.file_ending(name)]
    return [Path(path) for path in (*(row[0] for row in rows), *paths) if "\0" not in path]


# --- whole or not at all -------------------------------------------------------------------------------------


@contextlib.contextmanager
def draft(function: str, target: Path) -> Iterator[Path]:
    """Return a file to be written beside the target, which it becomes at the end. Raises WriteFailedError."""
    made = target.with_name(f".{target.name[:80]}.{secrets.token_hex(4)}")
    with written(function, target):
        try:
            yield made
            made.replace(target)
        except BaseException:
            made.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def written(function: str, target: object) -> Iterator[None]:
    """Raise WriteFailedError where the reason is a full disk, a name or a right; other errors pass."""
    try:
        yield
    except errors.DbanonError:
        raise
    except Exception as error:
        if (reason := why(error)) is None:
            raise
        raise errors.WriteFailedError(str(target), reason, function) from None


_REASONS = {
    errno.ENOSPC: ("No space left on device", "the disk is full"),
    errno.EDQUOT: ("Disk quota exceeded", "the disk quota is used up"),
    errno.EFBIG: ("File too large", "the file would be larger than this system allows"),
    errno.EROFS: ("Read-only file system", "the file system is read-only"),
    errno.EACCES: ("Permission denied", "there is no permission to write there"),
    errno.EPERM: ("Operation not permitted", "there is no permission to write there"),
    errno.ENAMETOOLONG: ("File name too long", "the name is too long for the file system"),
    errno.ENOTDIR: ("Not a directory", "a part of the path is a file, not a folder"),
    errno.EISDIR: ("Is a directory", "it is a folder"),
}
"""What the system says by number and in words, and what we say."""


def why(error: BaseException) -> str | None:
    """Return the reason that the system had, of an error of Python or of DuckDB; None where it is another one."""
    if isinstance(error, OSError) and error.errno in _REASONS:
        return _REASONS[error.errno][1]
    said = str(error)
    return next((plain for words, plain in _REASONS.values() if words in said), None)
