"""The identity of a file: its canonical path, and a hash of its content, which does not change when it is moved."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from dbanon.sqltext import names

_BLOCK_BYTES = 2**20
_MAX_BLOCKS = 64
"""Number of blocks that are read of a larger file: the first, the last, and others at equal distances."""

CONTENT = "content:"
"""Prefix of the identity of a content."""


def file_identities(path: str) -> list[str]:
    """Return the canonical path of a file and the identity of its content (size and hash) unless unreadable or empty.

    A remote address (any URL other than file:) is returned as it is, alone.

    >>> file_identities("s3://bucket/x.parquet")
    ['s3://bucket/x.parquet']
    """
    scheme = names.url_scheme(path)
    if scheme == "file":
        path = "/" + path.split(":", 1)[1].lstrip("/").removeprefix("localhost/")
    elif scheme is not None:
        return [path]
    canonical = Path(path).expanduser().resolve()
    content = content_identity(canonical)
    return [str(canonical)] if content is None else [str(canonical), content]


def content_identity(path: Path) -> str | None:
    """Return the size of a file with a hash of its content, as text; None if it cannot be read or is empty.

    The hash covers at most 64 blocks of 1 MiB, distributed over the file.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        size = path.stat().st_size
        if size == 0:
            return None
        starts: Sequence[int] = range(0, size, _BLOCK_BYTES)
        if len(starts) > _MAX_BLOCKS:
            starts = [i * (size - _BLOCK_BYTES) // (_MAX_BLOCKS - 1) for i in range(_MAX_BLOCKS)]
        with path.open("rb") as file:
            for start in starts:
                file.seek(start)
                digest.update(file.read(_BLOCK_BYTES))
    except OSError:
        return None
    return f"{CONTENT}{size}:{digest.hexdigest()}"
