"""The registry of stream systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dbanon import errors
from dbanon.cluster.registry import EVIDENCE, Check
from dbanon.functions.parameters import Parameter
from dbanon.stream.arrivals import Arrivals, Model
from dbanon.stream.parameters import COMMON, FIRST
from dbanon.stream.state import State

Run = Callable[[Arrivals, Model, Mapping[str, object], Check, State | None, bool], State]
"""arrivals, privacy model, options, check, what was kept (None: a stream begins), whether the stream ends with these
records -> what is kept, with the class of every record."""


@dataclass(frozen=True)
class Stream:
    """One registered system. `evidence` is a word of EVIDENCE; `own` are parameters that only this one has, `defaults`
    its own defaults of common ones. Where it is `maybe`, a NULL may stand in a class of values (maybe match) and is
    published as the class is; where it `widens`, classes publish more than their records span; where it `looks_up`, it
    sees what sensitive values are of, as hierarchies of their columns say. `by_record` are the arrays of a state's
    `own` that have a place for each record. `problem` gives, of options and k that exclude each other, a parameter and
    what it must be."""

    name: str
    title: str
    run: Run
    source: str
    evidence: str
    complexity: str
    own: tuple[Parameter, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)
    maybe: bool = False
    widens: bool = False
    looks_up: bool = False
    by_record: tuple[str, ...] = ()
    problem: Callable[[Mapping[str, object], int], tuple[str, str] | None] = lambda options, k: None

    @property
    def known_by(self) -> str:
        """How the steps are known."""
        return EVIDENCE[self.evidence]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of the table function."""
        common = [replace(p, default=self.defaults[p.name]) if p.name in self.defaults else p for p in COMMON]
        return (*common[:FIRST], *self.own, *common[FIRST:])


_REGISTRY: dict[str, Stream] = {}


def register(stream: Stream) -> Stream:
    """Adds a system; its name becomes a table function."""
    if stream.name in _REGISTRY:
        raise ValueError(f"{stream.name} is registered already")
    _REGISTRY[stream.name] = stream
    return stream


def streams() -> tuple[Stream, ...]:
    """All systems by name."""
    return tuple(_REGISTRY[name] for name in sorted(_REGISTRY))


def find(name: str) -> Stream:
    """The system of a name; UnknownAlgorithm."""
    if name not in _REGISTRY:
        raise errors.UnknownAlgorithm(name, sorted(_REGISTRY))
    return _REGISTRY[name]
