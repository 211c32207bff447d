"""Write files safely: only on this machine, never over a file that is being read, and atomically."""

import contextlib
import errno
import fnmatch
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.sqltext import names


def local_target(function: str, target: str | Path) -> Path:
    """Return the path of a file or folder to be written, as a Path; the file need not exist.

    Args:
        function: The name of the called function, for error messages.
        target: The path as the user gave it.

    Raises:
        InvalidArgumentError: The target is empty or has a NUL character.
        TargetNotLocalError: The target is a URL such as `s3://...`.
        WriteFailedError: The path cannot exist, for example because its name is too long.
    """
    if str(target) == "" or "\0" in str(target):
        raise errors.InvalidArgumentError(function, "the path", "the path of a file or folder", repr(str(target)))
    if names.url_scheme(str(target)) is not None:
        raise errors.TargetNotLocalError(function, str(target))
    with translate_os_errors(function, target):
        Path(target).exists()  # raises for a name that is too long
    return Path(target)


# --- targets that are not sources -----------------------------------------------------------------------------


def check_not_source(function: str, targets: Iterable[Path], sources: Iterable[Path]) -> None:
    """Check that no target to be written is a file that is being read, under any spelling or link.

    The write-ahead log of a source (its path with `.wal`) counts as a source. A source may be a pattern such as
    `*.csv`.

    Args:
        function: The name of the called function, for error messages.
        targets: The files that will be written.
        sources: The files that are read.

    Raises:
        TargetInUseError: A target is one of the sources.
    """
    read_paths = [path for source in sources for path in (source, wal_file(source))]
    for target in targets:
        if any(_is_same_file(target, path) for path in read_paths):
            raise errors.TargetInUseError(str(target), function)


def wal_file(path: Path) -> Path:
    """Return the path of a database file's write-ahead log: the path with `.wal` appended."""
    return path.with_name(path.name + ".wal")


def _is_same_file(target: Path, source: Path) -> bool:
    """Return whether two paths denote one file, links resolved, or the target matches `source` as a glob pattern."""
    with contextlib.suppress(OSError, ValueError):
        if target.samefile(source):
            return True
    target_path, source_path = str(target.absolute().resolve()), str(source.absolute())
    return target_path == str(source.absolute().resolve()) or (
        re.search(r"[*?\[]", source_path) is not None and fnmatch.fnmatch(target_path, source_path)
    )


_SQL_TEXTS = re.compile(r"'((?:[^']|'')+)'")


def source_files(cursor: Any) -> list[Path]:
    """Return the files that a connection may read: attached databases, and every file name in the text of a view.

    A file name is any SQL string of a view's statement that has a file ending, such as `.csv`. It need not exist.
    """
    rows = cursor.execute("SELECT path FROM system.main.duckdb_databases() WHERE path IS NOT NULL").fetchall()
    views = cursor.execute("SELECT sql FROM system.main.duckdb_views() WHERE NOT internal").fetchall()
    texts = {text.replace("''", "'") for (sql,) in views for text in _SQL_TEXTS.findall(sql or "")}
    paths = [text.removeprefix("file://") for text in sorted(texts) if names.file_ending(text)]
    return [Path(path) for path in (*(row[0] for row in rows), *paths) if "\0" not in path]


# --- atomic writes ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_draft(function: str, target: Path) -> Iterator[Path]:
    """Yield a temporary path next to the target; when the block ends without an error, rename it to the target.

    The block must write the file. The rename replaces an existing target. After an error, the temporary file is deleted
    and the target is unchanged.

    Raises:
        WriteFailedError: The system refuses to write the file (full disk, missing permission, ...).
    """
    draft_path = target.with_name(f".{target.name[:80]}.{secrets.token_hex(4)}")
    with translate_os_errors(function, target):
        try:
            yield draft_path
            draft_path.replace(target)
        except BaseException:
            draft_path.unlink(missing_ok=True)
            raise


def write_texts(function: str, folder: str | Path, texts: Mapping[Path, str], *, overwrite: bool) -> None:
    """Write texts to files in a folder, each atomically; folders that do not exist are created.

    Args:
        function: The name of the called function, for error messages.
        folder: The folder, for error messages.
        texts: The text of each file, by its path.
        overwrite: Whether existing files are replaced.

    Raises:
        TargetExistsError: A file exists and `overwrite` is false; nothing is written then.
        WriteFailedError: The system refuses to write a file.
    """
    if not overwrite and (existing_files := [str(path) for path in texts if path.exists()]):
        raise errors.TargetExistsError(str(folder), existing_files, function)
    for path, text in texts.items():
        with translate_os_errors(function, path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        with open_draft(function, path) as draft:
            draft.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def translate_os_errors(function: str, target: object) -> Iterator[None]:
    """Raise WriteFailedError in place of an error of the block that says why the system refused a write.

    Such reasons are a full disk, an invalid name or a missing permission (see `os_reason`). Other errors pass
    unchanged.

    Args:
        function: The name of the called function, for the message.
        target: The file or folder to be written, for the message.
    """
    try:
        yield
    except errors.DbanonError:
        raise
    except Exception as error:
        if (reason := os_reason(error)) is None:
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
"""By error number: the message of the system, and ours."""


def os_reason(error: BaseException) -> str | None:
    """Return why the system refused a write, in our words; None if an error of Python or DuckDB has another reason.

    An OSError is recognized by its number, other errors by the system's phrase in their message.
    """
    if isinstance(error, OSError) and error.errno in _REASONS:
        return _REASONS[error.errno][1]
    return next((reason for system_words, reason in _REASONS.values() if system_words in str(error)), None)
