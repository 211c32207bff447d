"""Find out whether other users of this system can change the contents of a folder."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MAX_LINKS = 40
"""Symbolic links followed on the way to a folder; the same limit as the system's."""


def shared_write_reason(folder: Path) -> str | None:
    """Return why another user can write or replace files of a folder; None if no one can, or this is unknown.

    The folder, its files, and every folder and symbolic link on the path to it are checked: anyone who can write to a
    folder on the path can replace the next one, unless the sticky bit of that folder (as of /tmp) prevents it. Root is
    not counted as another user. Windows has no such modes, so None is returned there.
    """
    if os.name == "nt":
        return None
    with contextlib.suppress(OSError):
        steps = list(_path_steps(folder.absolute()))
        for path, state in steps:
            is_last = path == steps[-1][0]
            if (owner := _other_owner(state)) is not None:
                return f"{path} belongs to {owner}"
            is_open = not stat.S_ISLNK(state.st_mode) and _is_writable_by_others(path, state)
            if is_open and (is_last or not state.st_mode & stat.S_ISVTX):
                return f"other users can write to {path}"
        for path in sorted(folder.iterdir()):
            if (owner := _other_owner(path.lstat())) is not None:
                return f"{path} belongs to {owner}"
            if _is_writable_by_others(path, path.stat()):
                return f"other users can write to {path}"
    return None


def _path_steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every folder and symbolic link that the system passes when it resolves a path, with its own state.

    The last one is the path itself with all links resolved.
    """
    current = Path(path.anchor)
    yield current, current.lstat()
    parts, links = list(path.parts[1:]), 0
    while parts:
        part = parts.pop(0)
        if part == "..":
            current = current.parent
            continue
        step = current / part
        state = step.lstat()
        yield step, state
        if not stat.S_ISLNK(state.st_mode):
            current = step
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError("too many symbolic links")
        target = step.readlink()
        if target.is_absolute():
            current = Path(target.anchor)
        parts = [*target.parts[target.is_absolute() :], *parts]
    yield current, current.lstat()


def _other_owner(state: os.stat_result) -> str | None:
    """Return the owner of a file if this is neither root nor the current user; else None.

    For root in a container, an owner without an account is the host, which mounted the file, and not another user.
    """
    import pwd

    if state.st_uid in (0, os.geteuid()):
        return None
    try:
        return f"user {pwd.getpwuid(state.st_uid).pw_name}"
    except KeyError:
        return None if os.geteuid() == 0 else f"user {state.st_uid}"


def _is_writable_by_others(path: Path, state: os.stat_result) -> bool:
    """Return whether users other than the owner (and root) may write to a file or folder.

    The permission of the group does not count if only the owner and root are in it and no access list grants more.
    """
    if state.st_mode & stat.S_IWOTH:
        return True
    return bool(state.st_mode & stat.S_IWGRP) and not _is_own_group(path, state)


def _is_own_group(path: Path, state: os.stat_result) -> bool:
    """Return whether only root and the owner are in a file's group, and no access list grants more than the mode."""
    import grp
    import pwd

    with contextlib.suppress(OSError, AttributeError):
        if "system.posix_acl_access" in os.listxattr(path):
            return False
    try:
        owner = pwd.getpwuid(state.st_uid).pw_name
        members = set(grp.getgrgid(state.st_gid).gr_mem)
    except KeyError:
        return False
    members |= {user.pw_name for user in pwd.getpwall() if user.pw_gid == state.st_gid}
    return members <= {owner, "root"}
