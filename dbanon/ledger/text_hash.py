"""A hash of texts in their order, as they come from DuckDB."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

PIECE = 4096
"""Lines that are hashed together; the first piece has one less."""

_BATCH = 100_000


def sha256(header: str, lines: Any) -> str:
    """The SHA-256, in hexadecimal digits, of a header and of the hashes of the pieces of `lines`: a relation of one
    column of texts, none of them empty.

    The lines are read where Arrow has them, one after another: no row is an object, and memory does not grow with them.
    """
    with lines.to_arrow_reader(_BATCH) as reader:
        parts = "".join(_pieces(reader))
    return hashlib.sha256((header + parts).encode()).hexdigest()


def _pieces(batches: Any) -> Iterator[str]:
    """Yield the hash of the first PIECE - 1 lines, joined, and then of PIECE at a time."""
    import pyarrow as pa  # attach would wait for it

    current, held, most = hashlib.sha256(), 0, PIECE - 1
    for batch in batches:
        lines = batch.column(0).cast(pa.large_string())
        _, ends, joined = lines.buffers()
        at = np.frombuffer(ends, np.int64, len(lines) + 1, lines.offset * 8)
        done = 0
        while done < len(lines):
            to = min(len(lines), done + most - held)
            current.update(memoryview(joined)[at[done] : at[to]])
            held += to - done
            done = to
            if held == most:
                yield current.hexdigest()
                current, held, most = hashlib.sha256(), 0, PIECE
    if held:
        yield current.hexdigest()
