"""A hash of a sequence of texts, read from DuckDB in batches."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

BLOCK_LINES = 4096
"""Number of lines that are hashed together; the first block has one less."""

_BATCH = 100_000


def sha256(header: str, lines: Any) -> str:
    """Return the SHA-256, in hexadecimal digits, of a header followed by the hexadecimal hashes of all blocks of lines.

    A block has BLOCK_LINES lines, the first one a line less. `lines` is a DuckDB relation of one column of texts, none
    of them empty. They are read in the memory of Arrow, batch by batch: no row becomes a Python object, and memory does
    not grow with the number of rows.
    """
    with lines.to_arrow_reader(_BATCH) as reader:
        block_hashes = "".join(_block_hashes(reader))
    return hashlib.sha256((header + block_hashes).encode()).hexdigest()


def _block_hashes(batches: Any) -> Iterator[str]:
    """Yield the SHA-256 of each block of lines: first of BLOCK_LINES - 1 lines, joined, then of BLOCK_LINES at a time.

    The last block may have fewer lines. `batches` are Arrow record batches of one column.
    """
    import pyarrow as pa  # attach would wait for it

    current, n_hashed, n_block = hashlib.sha256(), 0, BLOCK_LINES - 1
    for batch in batches:
        lines = batch.column(0).cast(pa.large_string())
        _, ends, characters = lines.buffers()
        offsets = np.frombuffer(ends, np.int64, len(lines) + 1, lines.offset * 8)
        start = 0
        while start < len(lines):
            stop = min(len(lines), start + n_block - n_hashed)
            current.update(memoryview(characters)[offsets[start] : offsets[stop]])
            n_hashed += stop - start
            start = stop
            if n_hashed == n_block:
                yield current.hexdigest()
                current, n_hashed, n_block = hashlib.sha256(), 0, BLOCK_LINES
    if n_hashed:
        yield current.hexdigest()
