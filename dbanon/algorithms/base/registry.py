"""The registry of algorithms: the data of a registration, and the abilities that only some algorithms declare."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.base.noise import Noise
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models import registry
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions import name_index
from dbanon.table_functions.parameter_types import MAX_SEED, Boolean, Choice, Integer
from dbanon.table_functions.parameters import Parameter

Check = Callable[[], None]
"""Called often while an algorithm works; raises if the run was interrupted."""

Options = Mapping[str, object]
"""Values of an algorithm's own parameters."""

Assignment = RunLengthLabels | Ints
"""The clusters, numbered from 0: as runs, or as the cluster number of every canonical row."""

AlgorithmFunction = Callable[[EncodedTable, Constraint, Options, Check], Assignment]
"""Function of encoded table, constraint, own options and check that returns the clusters."""


def single_cluster_below_2k(run: AlgorithmFunction) -> AlgorithmFunction:
    """Wrap an algorithm so that it runs only on at least 2 * min_records records, twice the least size of a cluster.

    With fewer records the result is a single cluster.
    """

    @wraps(run)
    def checked(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
        """Return a single cluster for fewer than 2 * min_records records; otherwise run the algorithm."""
        return (
            RunLengthLabels.single_cluster(space)
            if space.rows < 2 * constraint.min_records
            else run(space, constraint, options, check)
        )

    return checked


ALL_MODELS = ("k", *(m.parameter for m in registry.models()), "person")
"""The models of an algorithm that tests every cluster with the whole constraint."""

SEED = Parameter("seed", Integer(0, MAX_SEED), "Seed of the random choices; the same seed gives the same release.", 0)
MODE = Parameter(
    "mode",
    Choice(("random", "deterministic")),
    "deterministic: takes the first record in canonical order in place of every random one.",
    "random",
)
"""Own parameters of algorithms with random steps."""

LARGE = Parameter("allow_slow", Boolean(), "Run even if the estimated time is more than a minute or two.", False)
"""Own parameter of algorithms whose time can grow with the square of the table (see
dbanon.algorithms.base.progress)."""


EVIDENCE = {
    "paper": "paper read",
    "code": "paper not read; compared with public code",
    "textbook": "paper not read; standard algorithm as it is generally known",
    "abstract": "abstract only, reconstructed",
    "description": "descriptions in other papers only, reconstructed",
    "own": "our own",
}
"""The values of `evidence` with the texts that say what the steps of an algorithm are known from."""

RECONSTRUCTED = ("abstract", "description")
"""The values of `evidence` of algorithms whose steps no text at hand gives."""


@dataclass(frozen=True)
class AlgorithmFamily:
    """A family of algorithms, which is one folder of `dbanon.algorithms`.

    Attributes:
        title: Title of its section in the manual.
        idea: Its idea in one sentence.
    """

    title: str
    idea: str


FAMILIES = {
    "nearest_neighbour": AlgorithmFamily(
        "Nearest-neighbour", "Each cluster is a seed record and the records nearest to it, at least k in all."
    ),
    "greedy": AlgorithmFamily("Greedy (k-member)", "Each cluster grows by the record that raises the loss least."),
    "centroid": AlgorithmFamily(
        "Centroid-based", "Centers or seeds are chosen first; then every record joins one of them."
    ),
    "hybrid": AlgorithmFamily("Hybrid", "One algorithm forms the first clusters, and another one finishes them."),
    "agglomerative": AlgorithmFamily(
        "Agglomerative", "Many small classes are merged, step by step, with the nearest one."
    ),
    "diversity": AlgorithmFamily("Diversity-aware", "Clusters take records with different sensitive values."),
    "partitioning": AlgorithmFamily(
        "Partitioning", "The table is cut in two again and again, as long as both parts meet the constraint."
    ),
    "full_domain": AlgorithmFamily(
        "Full-domain generalization", "Each column is published on one level for all records."
    ),
    "single_dimension": AlgorithmFamily(
        "Single-dimensional recoding",
        "Each column is cut once for all records. Published values are then narrowed to the records of each class.",
    ),
    "optimizing": AlgorithmFamily(
        "Optimizing", "The best result of several starting points is improved by a local search."
    ),
}
"""The families by name, which is that of their folder, in the order in which pages show them."""


# --- abilities of some algorithms ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Exclusion:
    """The ability to drop records before they are clustered.

    Attributes:
        bounds: Function of the options: bounds by column, beyond which records are dropped.
        duplicates: Function of the options: whether duplicates are dropped.
    """

    bounds: Callable[[Options], Mapping[str, tuple[str, str]]]
    duplicates: Callable[[Options], bool]


@dataclass(frozen=True)
class InfluenceWeighting:
    """The ability to weight attributes by their influence on sensitive values.

    The parameters of the forest that measures influence are then parameters of the algorithm.

    Attributes:
        is_wanted: Function of the options: whether attributes are weighted.
    """

    is_wanted: Callable[[Options], bool]


@dataclass(frozen=True)
class NoiseRelease:
    """The ability to publish values hidden in noise instead of classes.

    Attributes:
        noise: Function of the options: the noise, or None to publish classes.
        noise_only: Parameters that are used with noise only, and the reason that is given when they are refused without
            it.
    """

    noise: Callable[[Options], Noise | None]
    noise_only: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OwnSearch:
    """The ability to improve clusters by a local search without being asked (dbanon.algorithms.postprocess.improve).

    Attributes:
        n_moves: Function of table, constraint and options: the number of moves if the call does not state one.
    """

    n_moves: Callable[[EncodedTable, Constraint, Options], int]


@dataclass(frozen=True)
class PublishedEnds:
    """The codes and nodes that clusters publish, each a (clusters, attributes) array.

    Attributes:
        low: Least code of each cluster.
        high: Greatest code; if it is the code of NULL and `low` is not, the cluster publishes `*`.
        raised_nodes: Node that is published in place of the lowest one that covers the codes; -1 for none and numbers.
    """

    low: Ints
    high: Ints
    raised_nodes: Ints

    @classmethod
    def covering(cls, low: Ints, high: Ints) -> PublishedEnds:
        """Return ends that publish exactly the range from the least to the greatest code, with no node raised.

        `low` and `high` are the (clusters, attributes) least and greatest codes.
        """
        return cls(low, high, np.full(low.shape, -1, np.int64))

    def subset(self, clusters: Ints) -> PublishedEnds:
        """Return the ends of some of the clusters, in the given order."""
        return PublishedEnds(self.low[clusters], self.high[clusters], self.raised_nodes[clusters])


@dataclass(frozen=True)
class Widening:
    """The ability to publish clusters with wider ranges than those of their records.

    Attributes:
        widen: Function of table, labels, constraint and options: the codes and nodes that each cluster is published
            with.
        is_wanted: Function of the options: whether clusters are widened.
    """

    widen: Callable[[EncodedTable, Ints, Constraint, Options], PublishedEnds]
    is_wanted: Callable[[Options], bool] = lambda options: True


@dataclass(frozen=True)
class Suppression:
    """The ability to suppress records by a rule of the algorithm itself.

    The algorithm finds the greatest number for its part of the table in its options, under MAX_SUPPRESSED, and enforces
    it itself.

    Attributes:
        rule: A clause for the description of the parameter `suppress`.
        max_records: Function of options and k: the greatest number of records that the options set; None if they set
            none.
        default_max_records: Function of options and k: the limit if neither the options nor `suppress` set one (if
            `suppress` is 1); None for no limit.
        is_complete: Whether the rule chooses single records by the loss of the others, so that no more are suppressed
            after it.
    """

    rule: str
    max_records: Callable[[Options, int], int | None] = lambda options, k: None
    default_max_records: Callable[[Options, int], int | None] = lambda options, k: None
    is_complete: bool = False

    def limit(self, options: Options, k: int, share: float) -> int | None:
        """Return the greatest number of records that may be suppressed, in addition to `share`; None for no limit.

        `share` is the parameter `suppress`, `options` are the algorithm's own.
        """
        max_records = self.max_records(options, k)
        return self.default_max_records(options, k) if max_records is None and share == 1 else max_records


MAX_SUPPRESSED = "most_left_out"
"""The option in which an algorithm finds how many records it may suppress."""

Ability = Exclusion | InfluenceWeighting | NoiseRelease | OwnSearch | Suppression | Widening

A = TypeVar("A", bound=Ability)


# --- algorithms --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RegisteredAlgorithm:
    """The fields and properties that every registered algorithm has, for tables and for streams.

    Attributes:
        name: Name of its table function.
        title: Title of its page.
        source: The paper or standard.
        evidence: A key of EVIDENCE: how the steps are known (see `evidence_text`).
        complexity: Time and memory, from the docstring of `run` for an algorithm on tables.
        own_parameters: Parameters that only this algorithm has.
        defaults: Its own defaults of common parameters.
    """

    name: str
    title: str
    source: str
    evidence: str
    complexity: str
    own_parameters: tuple[Parameter, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)

    @property
    def evidence_text(self) -> str:
        """The meaning of `evidence` as text."""
        return EVIDENCE[self.evidence]

    def with_own_defaults(self, common: Iterable[Parameter]) -> tuple[Parameter, ...]:
        """Return the common parameters, with the algorithm's own defaults where it has some."""
        return tuple(replace(p, default=self.defaults[p.name]) if p.name in self.defaults else p for p in common)


@dataclass(frozen=True, kw_only=True)
class Algorithm(RegisteredAlgorithm):
    """One registered algorithm.

    Attributes:
        family: Family, from its folder.
        run: The function that clusters an encoded table.
        deterministic: Whether equal input gives equal clusters without a seed.
        reads: What it uses in addition to codes: 'sensitive' (sensitive values, whatever the model), 'magnitudes' (the
            values of numbers).
        looks_up: A parameter with which it uses the categories of sensitive values in the hierarchies of their columns.
        meets: The models, by their parameters (person: k of persons), that each cluster meets while the algorithm
            runs. For all others, and if leftovers violate a model, clusters are merged afterwards.
        abilities: What few algorithms can do (see `Ability`).
        summary: What it does, in plain sentences: for docs/algorithms.md and the manual. Backquotes mark code.
    """

    family: str
    run: AlgorithmFunction
    deterministic: bool
    reads: tuple[str, ...] = ()
    looks_up: str | None = None
    meets: tuple[str, ...] = ("k",)
    abilities: tuple[Ability, ...] = ()
    summary: str = ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of the table function: the common ones with the algorithm's own defaults, then its own.

        An algorithm with a suppression rule states it in the description of `suppress`.
        """
        common = self.with_own_defaults(COMMON)
        suppression = self.ability(Suppression)
        if suppression is not None:
            doc = (
                f"Greatest share of the records that may be suppressed: {suppression.rule}. "
                "Reported in metrics and classes."
            )
            common = tuple(replace(p, doc=doc) if p.name == "suppress" else p for p in common)
        return (*common, *self.own_parameters)

    def ability(self, kind: type[A]) -> A | None:
        """Return the algorithm's declared ability of the class `kind`, such as `Suppression`; None if it has none."""
        return next((ability for ability in self.abilities if isinstance(ability, kind)), None)


_REGISTRY: dict[str, Algorithm] = {}

_REFERENCES: list[Mapping[str, str]] = []


_COMPLEXITY = re.compile(r"O\([^.]* memory")
"""The complexity at the end of an algorithm's docstring."""


def register(run: AlgorithmFunction, *, references: Iterable[Mapping[str, str]] = (), **fields: Any) -> Algorithm:
    """Add an algorithm to the registry and return it; its name becomes a table function.

    Args:
        run: The algorithm.
        references: Papers that only this algorithm cites (see `references`).
        **fields: Fields of `Algorithm`. By default the name is that of the function, the family that of its folder,
            the complexity the last one that the docstring states (as "O(n^2) time, O(n) memory"), and the algorithm
            is deterministic unless it has the parameter `seed`.

    Raises:
        ValueError: An algorithm of this name is registered.
    """
    derived = {
        "name": run.__name__,
        "family": run.__module__.split(".")[-2],
        "complexity": (_COMPLEXITY.findall(" ".join((run.__doc__ or "").split())) or [""])[-1],
        "deterministic": SEED not in fields.get("own_parameters", ()),
    }
    algorithm = Algorithm(run=run, **(derived | fields))
    if algorithm.name in _REGISTRY:
        raise ValueError(f"{algorithm.name} is registered already")
    _REGISTRY[algorithm.name] = algorithm
    _REFERENCES.extend(references)
    return algorithm


def discover(*packages: ModuleType) -> None:
    """Import all modules of some packages, so that each registers its algorithms."""
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def algorithms() -> tuple[Algorithm, ...]:
    """Return all algorithms, sorted by name; the modules of all of them are imported."""
    for module in dict.fromkeys(name_index.ALGORITHM_MODULES.values()):
        importlib.import_module(f"dbanon.algorithms.{module}")
    return tuple(_REGISTRY[name] for name in sorted(_REGISTRY))


def find(name: str) -> Algorithm:
    """Return the algorithm with this name; its module is imported.

    Raises:
        UnknownAlgorithmError: There is none.
    """
    if name not in _REGISTRY and name in name_index.ALGORITHM_MODULES:
        importlib.import_module(f"dbanon.algorithms.{name_index.ALGORITHM_MODULES[name]}")
    if name not in _REGISTRY:
        raise errors.UnknownAlgorithmError(name, sorted({*name_index.ALGORITHM_MODULES, *_REGISTRY}))
    return _REGISTRY[name]


def references() -> list[Mapping[str, str]]:
    """Return the papers that only one algorithm cites, with the fields of dbanon/cli/manual/references.toml."""
    algorithms()
    return _REFERENCES
