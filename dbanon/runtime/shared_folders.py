"""Find out whether other users of this system can change the contents of a folder."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MAX_LINKS = 40
"""Symbolic links followed on the way to a folder; the same limit as the system's."""


def shared_write_reason(folder: Path) -> str | None:
    """Return why another user can change a folder or its files, as a phrase; None if no one can, or this is unknown.

    The phrase is "PATH belongs to user NAME" or "other users can write to PATH". The folder, the files directly in it,
    and every folder and symbolic link on the path to it are checked: anyone who can write to a folder on the path can
    replace the next one, unless the sticky bit of that folder (as of /tmp) prevents it. Root is not counted as another
    user. None is also returned on Windows, which has no such modes, and if the system refuses to list or to read one of
    the paths.
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
    """Yield every folder and symbolic link that the system passes to resolve an absolute path, each with its lstat.

    The root is first. The last one is the path itself with all links resolved; it may have been yielded before.

    Raises:
        OSError: A part does not exist or cannot be read, or there are more than 40 symbolic links.
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
    """Return "user NAME" if the owner of a file is neither root nor the current user; else None.

    If the owner has no account, return "user UID", or None if the current user is root: in a container, that owner is
    the host, which mounted the file.
    """
    import pwd

    if state.st_uid in (0, os.geteuid()):
        return None
    try:
        return f"user {pwd.getpwuid(state.st_uid).pw_name}"
    except KeyError:
        return None if os.geteuid() == 0 else f"user {state.st_uid}"


def _is_writable_by_others(path: Path, state: os.stat_result) -> bool:
    """Return whether the mode of a file or folder lets users other than its owner and root write to it.

    Write permission of the group does not count if only the owner and root are in the group and the file has no access
    list.
    """
    if state.st_mode & stat.S_IWOTH:
        return True
    return bool(state.st_mode & stat.S_IWGRP) and not _is_own_group(path, state)


def _is_own_group(path: Path, state: os.stat_result) -> bool:
    """Return whether a file's group has no members but its owner and root, and the file has no POSIX access list.

    False if the owner or the group has no account.
    """
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
