"""The registry of stream algorithms."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.algorithms.base.registry import Check, Options, RegisteredAlgorithm
from dbanon.algorithms.streams.arrivals import Arrivals, StreamModel
from dbanon.algorithms.streams.common_parameters import COMMON, N_COMMON_FIRST
from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.table_functions.parameters import Parameter

StreamRun = Callable[[Arrivals, StreamModel, Options, Check, StreamState | None, bool], StreamState]
"""Function of the records that arrived (pending ones first), the requirement of every class, the values of the
parameters, a check that is called often and raises if the run was interrupted, the previous state (None if the stream
begins) and whether the stream ends with these records. It returns the state after them, with the class of every
record."""


@dataclass(frozen=True)
class StateLayout:
    """The meaning of the arrays that only one algorithm stores (see `StreamState.own`), unless they are plain numbers.

    Attributes:
        by_record: Arrays with one place per record.
        spans: Pairs of arrays with the lows and highs of classes.
        people: Arrays of numbers of persons.
        has_value_numbers: Whether some arrays contain numbers of sensitive values.
    """

    by_record: tuple[str, ...] = ()
    spans: tuple[tuple[str, str], ...] = ()
    people: tuple[str, ...] = ()
    has_value_numbers: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamAlgorithm(RegisteredAlgorithm):
    """One registered stream algorithm.

    Attributes:
        run: The function from a workspace to the state after it.
        state_layout: The meaning of the arrays that only this algorithm stores.
        maybe: Whether a NULL may be in a class of values (maybe match) and is then published as the class is.
        looks_up: Whether it uses the categories of sensitive values in the hierarchies of their columns.
        limits_pending: Whether, with these options, `delta` limits the number of pending records, not their delay.
        problem: Returns a parameter that contradicts k or another one, and its accepted values; None if none does.
    """

    run: StreamRun
    state_layout: StateLayout = field(default_factory=StateLayout)
    maybe: bool = False
    looks_up: bool = False
    limits_pending: Callable[[Options], bool] = lambda options: False
    problem: Callable[[Options, int], tuple[str, str] | None] = lambda options, k: None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of the table function: the first common ones, those of the algorithm, the other common ones.

        Common parameters have the algorithm's own defaults where it has some.
        """
        common = self.with_own_defaults(COMMON)
        return (*common[:N_COMMON_FIRST], *self.own_parameters, *common[N_COMMON_FIRST:])


_REGISTRY: dict[str, StreamAlgorithm] = {}


def register(method: Callable[[Workspace], StreamState], **fields: Any) -> StreamAlgorithm:
    """Add a stream algorithm to the registry and return it; its name becomes a table function.

    Args:
        method: The function from a workspace to the state after it.
        **fields: Fields of `StreamAlgorithm`; the name is that of the method by default.

    Raises:
        ValueError: If an algorithm of this name is registered.
    """
    name = fields.pop("name", None) or method.__name__
    if name in _REGISTRY:
        raise ValueError(f"{name} is registered already")
    _REGISTRY[name] = StreamAlgorithm(name=name, run=lambda *arguments: method(Workspace(*arguments)), **fields)
    return _REGISTRY[name]


def streams() -> tuple[StreamAlgorithm, ...]:
    """Return all registered stream algorithms, sorted by name."""
    return tuple(_REGISTRY[name] for name in sorted(_REGISTRY))


def find(name: str) -> StreamAlgorithm:
    """Return the stream algorithm with this name.

    Raises:
        UnknownAlgorithmError: If there is none.
    """
    if name not in _REGISTRY:
        raise errors.UnknownAlgorithmError(name, sorted(_REGISTRY))
    return _REGISTRY[name]
