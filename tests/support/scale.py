"""The number of cases that run: one of every sweep and a few random tables, or all with `--exhaustive`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")

_EXHAUSTIVE = "DBANON_EXHAUSTIVE"
_PART = "DBANON_PART"


def set_scale(exhaustive: bool, part: int) -> None:
    """Choose the number of cases of this process, before the tests are read."""
    os.environ[_EXHAUSTIVE] = "1" if exhaustive else ""
    os.environ[_PART] = str(part)


def n_examples(n: int) -> int:
    """Return the number of random tables for a test that tries at most `n`."""
    return n if os.environ.get(_EXHAUSTIVE) else max(n // 10, 1)


def sample_cases(values: Sequence[T], share: int = 8) -> list[T]:
    """Return one in `share` values of a loop, others in each part of the suite; all values if all is to run."""
    if os.environ.get(_EXHAUSTIVE):
        return list(values)
    return list(values[int(os.environ.get(_PART, "0")) % min(share, len(values)) :: share])


def case_sample(values: Sequence[T], case: str) -> list[T]:
    """Return one value of a loop, a different one in each case of a sweep; all values if all is to run."""
    if os.environ.get(_EXHAUSTIVE):
        return list(values)
    return [values[(crc32(case.encode()) + int(os.environ.get(_PART, "0"))) % len(values)]]
