"""How much runs: of every sweep one case and of random tables a few (`pytest`), or all (`pytest --exhaustive`)."""

from __future__ import annotations

import os

_VARIABLE = "DBANON_EXHAUSTIVE"


def choose(exhaustive: bool) -> None:
    """For this process, before the tests are read."""
    os.environ[_VARIABLE] = "1" if exhaustive else ""


def examples(many: int) -> int:
    """How many random tables a test tries that tries so many at most."""
    return many if os.environ.get(_VARIABLE) else max(many // 10, 1)
