"""The registry of algorithms, and what they are made of."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TypeVar

from dbanon import errors
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.capabilities import Ability, Suppression
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.encoding.encoded_table import Ints, Space
from dbanon.privacy_models import registry
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import SEEDS, Choice, Flag, Integer
from dbanon.table_functions.parameters import Parameter

Check = Callable[[], None]
"""Called often while an algorithm works; raises when the run was interrupted."""

Run = Callable[[Space, Constraint, Mapping[str, object], Check], Runs | Ints]
"""space, privacy model, own options, check -> clusters from 0, as runs or as the number of every canonical row."""

A = TypeVar("A", bound=Ability)

EVERY_MODEL = ("k", *(m.parameter for m in registry.models()), "person")
"""What algorithms meet that ask the privacy model itself whether a cluster is enough."""

SEED = Parameter("seed", Integer(0, SEEDS), "Seed of the random choices; the same seed gives the same release.", 0)
MODE = Parameter(
    "mode",
    Choice(("random", "deterministic")),
    "Deterministic: the first record in canonical order wherever a random one is meant.",
    "random",
)
"""Own parameters of algorithms with random steps."""

LARGE = Parameter("large", Flag(), "Accept a table on which this takes very long.", False)
"""Own parameter of algorithms whose time can grow with the square of the table (see
dbanon.algorithms.base.progress)."""


EVIDENCE = {
    "SEED": "a paper that the project implements gives the steps",
    "LIT": "standard published algorithm",
    "LIT-m": "standard published algorithm as it is generally known, its paper not read",
    "RECON": "reconstructed from descriptions: no paper at hand gives the steps",
}
"""What the words of `evidence` mean."""


@dataclass(frozen=True)
class Algorithm:
    """One registered algorithm.

    `evidence` is a word of EVIDENCE, which `known_by` says in plain ones; `own` are parameters that only this
    algorithm has, `defaults` its own defaults of common ones. `reads` names what it looks at beside codes:
    'sensitive' (sensitive values, whatever the model), 'magnitudes' (the values of numbers); with the parameter that
    `looks_up` names it sees what sensitive values are of, as hierarchies of their columns say. `abilities` are what few
    algorithms do (see dbanon.algorithms.base.capabilities). `meets` are the models, by their parameters (person: k of
    persons), that each cluster is made to meet while the algorithm works; the shared repair merges for all others, and
    where records left at the end spoil a cluster.
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
    defaults: Mapping[str, object] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    looks_up: str | None = None
    meets: tuple[str, ...] = ("k",)
    abilities: tuple[Ability, ...] = ()

    @property
    def known_by(self) -> str:
        """How the steps are known."""
        return EVIDENCE[self.evidence]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of the table function."""
        common = (replace(p, default=self.defaults[p.name]) if p.name in self.defaults else p for p in COMMON)
        own = self.ability(Suppression)
        if own is not None:
            said = f"Greatest share of the records that may be left out: {own.what}. Reported in metrics and classes."
            common = (replace(p, doc=said) if p.name == "suppress" else p for p in common)
        return (*common, *self.own)

    def ability(self, kind: type[A]) -> A | None:
        """What it declares of a kind; None where it has no such ability."""
        return next((ability for ability in self.abilities if isinstance(ability, kind)), None)


_REGISTRY: dict[str, Algorithm] = {}


def register(algorithm: Algorithm) -> Algorithm:
    """Adds an algorithm; its name becomes a table function."""
    if algorithm.name in _REGISTRY:
        raise ValueError(f"{algorithm.name} is registered already")
    _REGISTRY[algorithm.name] = algorithm
    return algorithm


def discover(*packages: ModuleType) -> None:
    """Imports all modules of some packages: each registers its algorithms."""
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def algorithms() -> tuple[Algorithm, ...]:
    """All algorithms by name."""
    return tuple(_REGISTRY[name] for name in sorted(_REGISTRY))


def find(name: str) -> Algorithm:
    """The algorithm of a name; UnknownAlgorithm."""
    if name not in _REGISTRY:
        raise errors.UnknownAlgorithm(name, sorted(_REGISTRY))
    return _REGISTRY[name]
