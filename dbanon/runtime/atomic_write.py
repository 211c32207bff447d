"""Write files atomically: write drafts in the target folder, rename them when all are complete, remove stale drafts."""

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_DRAFT = re.compile(r"\.(?P<name>.+)\.(?P<process>\d+)-[0-9a-f]{8}\.dbanon-draft(?:[._].*)?", re.DOTALL)
"""Names of drafts and of temporary files made while a draft is written; no other program uses such names."""
_DAY_S = 24 * 60 * 60


@contextlib.contextmanager
def open_drafts(targets: Mapping[str, Path], obsolete: Iterable[Path]) -> Iterator[dict[str, Path]]:
    """Yield a draft path for every target; rename all drafts to their targets when the block ends without an error.

    The result maps the keys of `targets` to paths. The first target is renamed last, and `obsolete` files are deleted
    before any rename. If the folder of the targets does not exist, it is created (with its parents) and appears with
    all files at once. After an error, drafts and new folders are deleted. Drafts that killed processes left in the
    folder are deleted at the start.

    Args:
        targets: The final path of every file, by any key. All are in one folder.
        obsolete: Files to delete once all drafts are complete; none are deleted if the folder is new.
    """
    folder = next(iter(targets.values())).parent
    _delete_stale_drafts(folder, [path.name for path in targets.values()])
    _delete_stale_drafts(folder.parent, [folder.name])
    new_folders = [path for path in (folder, *folder.parents) if not path.exists()]  # the lowest first
    folder.parent.mkdir(parents=True, exist_ok=True)
    suffix = f"{os.getpid()}-{secrets.token_hex(4)}.dbanon-draft"
    if new_folders:
        draft_folder = folder.with_name(f".{folder.name}.{suffix}")
        draft_folder.mkdir()
        draft_paths = {key: draft_folder / path.name for key, path in targets.items()}
    else:
        draft_paths = {key: path.with_name(f".{path.name}.{suffix}") for key, path in targets.items()}
    try:
        yield draft_paths
        if new_folders:
            _replace(draft_folder, folder)
            return
        for path in obsolete:
            path.unlink(missing_ok=True)
        for key in reversed(draft_paths):
            _replace(draft_paths[key], targets[key])
    except BaseException:
        _delete(
            [draft_folder]
            if new_folders
            else [Path(f"{path}{end}") for path in draft_paths.values() for end in ("", ".wal")]
        )
        for path in new_folders:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _replace(draft: Path, target: Path) -> None:
    """Rename a draft to its target, which is replaced if it exists."""
    draft.replace(target)


def _delete(paths: Iterable[Path]) -> None:
    """Delete files and folders with their contents; missing paths are no error, and links are deleted, not followed."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _delete_stale_drafts(folder: Path, names: Iterable[str]) -> None:
    """Delete the drafts in a folder whose target has one of these names and whose writing process has ended.

    A folder that cannot be listed is ignored.
    """
    target_names = set(names)
    with contextlib.suppress(OSError):  # a folder that is not there, or that others may list and we may not
        for path in list(folder.iterdir()):
            match = _DRAFT.fullmatch(path.name)
            if match is not None and match["name"] in target_names and not _may_be_running(int(match["process"]), path):
                _delete([path])


def _may_be_running(pid: int, draft: Path) -> bool:
    """Return whether the process `pid` that writes a draft may still be running.

    On Windows, where the process cannot be asked, it may be if the draft was changed within the last day.
    """
    if pid == os.getpid():
        return True
    if os.name == "nt":  # where asking for a process ends it
        return time.time() - draft.lstat().st_mtime < _DAY_S
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
