"""What only some algorithms do: objects that these declare, beside what every algorithm answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dbanon.algorithms.base.noise import Noise
from dbanon.encoding.encoded_table import Ints, Space
from dbanon.privacy_models.constraint import Constraint

Options = Mapping[str, object]
"""Values of an algorithm's own parameters."""


@dataclass(frozen=True)
class Exclusion:
    """Leaves records out before they are clustered: those beyond the `bounds` of a column, and `duplicates`."""

    bounds: Callable[[Options], Mapping[str, tuple[str, str]]]
    duplicates: Callable[[Options], bool]


@dataclass(frozen=True)
class Influence:
    """Works by what attributes tell of sensitive values, where `is_wanted`; own parameters are those of the forest."""

    is_wanted: Callable[[Options], bool]


@dataclass(frozen=True)
class NoiseRelease:
    """Publishes values hidden in noise instead of classes, where options ask for that (else None). `only`: parameters
    of noise alone, and why they are refused without it."""

    noise: Callable[[Options], Noise | None]
    only: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OwnSearch:
    """Improves its clusters by so many moves of a search where the call does not say
    (dbanon.algorithms.postprocess.improve)."""

    moves: Callable[[Space, Constraint, Options], int]


@dataclass(frozen=True)
class PublishedEnds:
    """What clusters are published with, (clusters, attributes) each.

    `low` and `high` are the least and greatest codes; a `high` that is the code of NULL above a `low` that is not
    publishes `*`. `raised_nodes` are the nodes of trees that are published in place of the lowest that covers the
    codes; -1 where there is none, and for numbers.
    """

    low: Ints
    high: Ints
    raised_nodes: Ints

    @classmethod
    def covering(cls, low: Ints, high: Ints) -> PublishedEnds:
        """Return ends that publish what just covers the codes."""
        return cls(low, high, np.full(low.shape, -1, np.int64))

    def of_clusters(self, rows: Ints) -> PublishedEnds:
        """Return the ends of some of the clusters."""
        return PublishedEnds(self.low[rows], self.high[rows], self.raised_nodes[rows])


@dataclass(frozen=True)
class Widening:
    """Publishes clusters with more than their records span: from space, labels, privacy model and options the codes and
    nodes that each cluster is published with. `is_wanted` says for which options."""

    widen: Callable[[Space, Ints, Constraint, Options], PublishedEnds]
    is_wanted: Callable[[Options], bool] = lambda options: True


@dataclass(frozen=True)
class Suppression:
    """May leave records out by a rule of its own (-1), `what`, a clause of the parameter `suppress`: at most the share
    that this says, and at most `records` of options and k (None: no bound but the share). The algorithm finds the least
    of both for its part of the table in its options, as MOST_LEFT_OUT; what it must keep then is its own concern."""

    what: str
    records: Callable[[Options, int], int | None] = lambda options, k: None


MOST_LEFT_OUT = "most_left_out"
"""The option that tells an algorithm how many records it may leave out."""

Ability = Exclusion | Influence | NoiseRelease | OwnSearch | Suppression | Widening
