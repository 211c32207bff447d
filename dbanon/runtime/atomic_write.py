"""Files that appear whole or not at all: drafts beside them, which become them, and what killed runs left of drafts."""

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_DRAFT = re.compile(r"\.(?P<name>.+)\.(?P<process>\d+)-[0-9a-f]{8}\.dbanon-draft(?:[._].*)?", re.DOTALL)
"""Names of drafts and of what is written on the way to one; nobody else calls a file like that."""
_DAY = 24 * 60 * 60


@contextlib.contextmanager
def drafts(final: Mapping[str, Path], gone: Iterable[Path]) -> Iterator[dict[str, Path]]:
    """Return files to be written, by the keys of `final`, which they become once all are whole; else nothing remains.

    The first of `final` appears last; `gone` are removed before. Where their folder is not there yet, it appears
    with all of them at once. What killed runs left beside them is removed.
    """
    folder = next(iter(final.values())).parent
    _swept(folder, [path.name for path in final.values()])
    _swept(folder.parent, [folder.name])
    made = [path for path in (folder, *folder.parents) if not path.exists()]  # the lowest first
    folder.parent.mkdir(parents=True, exist_ok=True)
    mark = f"{os.getpid()}-{secrets.token_hex(4)}.dbanon-draft"
    if made:
        whole = folder.with_name(f".{folder.name}.{mark}")
        whole.mkdir()
        written = {key: whole / path.name for key, path in final.items()}
    else:
        written = {key: path.with_name(f".{path.name}.{mark}") for key, path in final.items()}
    try:
        yield written
        if made:
            _moved(whole, folder)
            return
        for path in gone:
            path.unlink(missing_ok=True)
        for key in reversed(written):
            _moved(written[key], final[key])
    except BaseException:
        _dropped([whole] if made else [Path(f"{path}{end}") for path in written.values() for end in ("", ".wal")])
        for path in made:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _moved(draft: Path, final: Path) -> None:
    draft.replace(final)


def _dropped(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _swept(folder: Path, names: Iterable[str]) -> None:
    """Remove drafts of files (folders) of these names whose processes are gone."""
    wanted = set(names)
    with contextlib.suppress(OSError):  # a folder that is not there, or that others may list and we may not
        for path in list(folder.iterdir()):
            found = _DRAFT.fullmatch(path.name)
            if found is not None and found["name"] in wanted and not _runs(int(found["process"]), path):
                _dropped([path])


def _runs(process: int, path: Path) -> bool:
    """Return whether the process that writes a draft may still run."""
    if process == os.getpid():
        return True
    if os.name == "nt":  # where asking for a process ends it
        return time.time() - path.lstat().st_mtime < _DAY
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
