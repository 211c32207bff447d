"""Find out whether other users of this system can change what a folder contains."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MAX_LINKS = 40
"""Symbolic links that are followed on the way to a folder, as many as the system follows."""


def writable_by_others(folder: Path) -> str | None:
    """Return why another user can write or replace files of a folder; None if no one can, or this is unknown.

    Checked are the folder, its files, and every folder and symbolic link on the way to it: anyone who can write a
    folder on the way can put another one in its place, unless the sticky bit of that folder (as of /tmp) prevents it.
    Root is no other user. Windows has no such modes, and nothing is reported there.
    """
    if os.name == "nt":
        return None
    with contextlib.suppress(OSError):
        way = list(_way(folder.absolute()))
        for path, state in way:
            is_last = path == way[-1][0]
            if (owner := _other_owner(state)) is not None:
                return f"{path} belongs to {owner}"
            is_open = not stat.S_ISLNK(state.st_mode) and _is_open(path, state)
            if is_open and (is_last or not state.st_mode & stat.S_ISVTX):
                return f"other users can write to {path}"
        for path in sorted(folder.iterdir()):
            if (owner := _other_owner(path.lstat())) is not None:
                return f"{path} belongs to {owner}"
            if _is_open(path, path.stat()):
                return f"other users can write to {path}"
    return None


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and symbolic link that the system passes on the way to a path, with its own state; the last is the
    path itself with all links resolved."""
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
    """Return the user whom something belongs to, who is neither root nor the one that runs this.

    For root in a container, an owner without an account is no user of this system: it is the host's, who mounted it.
    """
    import pwd

    if state.st_uid in (0, os.geteuid()):
        return None
    try:
        return f"user {pwd.getpwuid(state.st_uid).pw_name}"
    except KeyError:
        return None if os.geteuid() == 0 else f"user {state.st_uid}"


def _is_open(path: Path, state: os.stat_result) -> bool:
    """Return whether the mode lets somebody else than the owner write."""
    if state.st_mode & stat.S_IWOTH:
        return True
    return bool(state.st_mode & stat.S_IWGRP) and not _is_own_group(path, state)


def _is_own_group(path: Path, state: os.stat_result) -> bool:
    """Return whether the group has no member but root or the owner, and no access list grants more than the mode
    shows."""
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
