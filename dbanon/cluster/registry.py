"""The registry of algorithms, and the one way to run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dbanon import errors
from dbanon.constraint import Constraint
from dbanon.parameters import COMMON, Parameter
from dbanon.space import Ints, Space, Tree

Check = Callable[[], None]
"""Called often while an algorithm works; raises when the run was interrupted."""

Run = Callable[[Space, Constraint, Mapping[str, object], Check], Ints]
"""space, privacy model, own options, check -> cluster number of every canonical row, from 0."""


@dataclass(frozen=True)
class Algorithm:
    """One registered algorithm.

    `evidence` is SEED (a paper of the project gives the steps), LIT or LIT-m (standard published algorithm) or RECON
    (reconstructed); `own` are parameters that only this algorithm has.
    """

    name: str
    title: str
    family: str
    run: Run
    source: str
    evidence: str
    deterministic: bool
    complexity: str
    own: tuple[Parameter, ...] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of the table function."""
        return COMMON + self.own


_REGISTRY: dict[str, Algorithm] = {}


def register(algorithm: Algorithm) -> Algorithm:
    """Adds an algorithm; its name becomes a table function."""
    if algorithm.name in _REGISTRY:
        raise ValueError(f"{algorithm.name} is registered already")
    _REGISTRY[algorithm.name] = algorithm
    return algorithm


def algorithms() -> tuple[Algorithm, ...]:
    """All algorithms by name."""
    return tuple(_REGISTRY[name] for name in sorted(_REGISTRY))


def find(name: str) -> Algorithm:
    """The algorithm of a name; UnknownAlgorithm."""
    if name not in _REGISTRY:
        raise errors.UnknownAlgorithm(name, sorted(_REGISTRY))
    return _REGISTRY[name]


def run(
    algorithm: Algorithm,
    space: Space,
    constraint: Constraint,
    options: Mapping[str, object],
    names: tuple[str, ...] = (),
    function: str | None = None,
    check: Check = lambda: None,
) -> Ints:
    """Cluster numbers of every canonical row.

    Where attributes have a max_level, records that it keeps apart are clustered apart; TooSmallBlock if one of these
    blocks cannot meet the model. `names` are the attributes' names and `function` what was called, for that message.
    """
    blocks = _blocks(space)
    if blocks is None:
        return algorithm.run(space, constraint, options, check)
    parts = [np.flatnonzero(blocks == block) for block in range(int(blocks.max()) + 1)]
    small = [part for part in parts if not constraint.enough(space, part)]
    if small:
        limited = [n for n, a in zip(names, space.attributes, strict=True) if _limited(a)]
        rows = sum(int(space.counts[part].sum()) for part in small)
        raise errors.TooSmallBlock(function or algorithm.name, constraint.least, rows, limited)
    labels = np.full(space.rows, -1, np.int64)
    clusters = 0
    for part in parts:
        found = algorithm.run(space.part(part), constraint, options, check)
        labels[space.rows_of(part)] = found + clusters
        clusters += int(found.max()) + 1
    return labels


def _limited(attribute: object) -> bool:
    return isinstance(attribute, Tree) and attribute.max_level is not None


def _blocks(space: Space) -> Ints | None:
    """Number of the block of every tuple, or None where nothing is kept apart."""
    keys = [
        attribute.block(attribute.max_level)[space.codes[:, j]]
        for j, attribute in enumerate(space.attributes)
        if isinstance(attribute, Tree) and attribute.max_level is not None
    ]
    if not keys or len(space.codes) == 0:
        return None
    _, blocks = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    return np.asarray(blocks, np.int64).reshape(-1)
