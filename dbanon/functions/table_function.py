"""What a table function is: name, arguments, parameters, what answers it, an example and a sentence about it.

A module of a folder of features declares its table functions in `FUNCTIONS`; macros, validation, completion and
documentation follow from that (see dbanon.functions.registry).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbanon.functions import arguments
from dbanon.functions.example import Example
from dbanon.functions.parameter_types import Choice, Text
from dbanon.functions.parameters import Parameter
from dbanon.sqltext.quote import Sql

if TYPE_CHECKING:
    from dbanon.functions.call import Call

ENDINGS = {"": "release", "_classes": "classes", "_metrics": "metrics"}
"""Endings of an algorithm's three functions, and the kind of each."""

MOST_CAPTURED = 10
"""Binding a call doubles with each captured name."""


@dataclass(frozen=True)
class TableFunction:
    """One table function; `handler` gives the SQL of a call, or raises a DbanonError.

    Functions that publish have a `kind` (release, classes, metrics, inference) and an `algorithm`, or else `narrowed`,
    which gives their form with the parameters of the algorithm that a call names, from the arguments of the call.
    """

    name: str
    positional: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    doc: str
    handler: Callable[[Call], Sql]
    example: Example
    algorithm: str | None = None
    kind: str | None = None
    narrowed: Callable[[Mapping[str, object]], TableFunction] | None = None
    placed: tuple[str, ...] = ()
    """Parameters, the first ones, that may be given by their place alone, as texts."""
    system: str | None = None
    """The stream system, of functions of streams."""

    @property
    def captured(self) -> tuple[str, ...]:
        """Parameters that `=` is understood for with any value; those of texts take it anyway."""
        names = tuple(p.name for p in self.parameters)
        if set(arguments.CAPTURED) <= set(names):  # takes what algorithms take
            return (*arguments.CAPTURED, "support") if self.kind == "inference" else arguments.CAPTURED
        if len(names) <= MOST_CAPTURED:
            return names
        return tuple(p.name for p in self.parameters if not isinstance(p.kind, Text | Choice))[:MOST_CAPTURED]
