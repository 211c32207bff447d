"""What privacy models a call asks for, of which sensitive columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

from dbanon import errors

MODELS = {"l": ("diversity", "c"), "t": ("emd",), "alpha": (), "p": (), "beta": ("likeness",)}
"""Parameters that ask for a model, and the parameters that say which form of it."""


@dataclass(frozen=True)
class Demand:
    """One model of one sensitive column: the fields of `dbanon.models.model.Model`."""

    parameter: str
    kind: str
    sensitive: int
    bound: float
    extra: int = 0
    emd: str = ""

    def fields(self) -> dict[str, object]:
        """The demand as JSON."""
        return asdict(self)


def demands(function: str, table: str, options: Mapping[str, object], sensitive: Sequence[str]) -> tuple[Demand, ...]:
    """All models that parameters ask for, each for every sensitive column.

    Raises NoSensitive where there is none, and UnusedArgument for the form of a model that is not asked for.
    """
    asked = [name for name in MODELS if options[name] is not None]
    for name, forms in MODELS.items():
        for form in forms:
            if options[form] is not None and name not in asked:
                raise errors.UnusedArgument(function, form, f"{name} is not given")
    if options["c"] is not None and options["diversity"] != "recursive":
        raise errors.UnusedArgument(function, "c", "diversity is not 'recursive'")
    if options["multi"] is not None and not asked:
        raise errors.UnusedArgument(function, "multi", f"none of {', '.join(MODELS)} is given")
    if asked and not sensitive:
        raise errors.NoSensitive(function, table, asked[0])
    return tuple(_demand(name, options, i) for i in range(len(sensitive)) for name in asked)


def _demand(name: str, options: Mapping[str, object], sensitive: int) -> Demand:
    bound = float(cast(float, options[name]))
    if name == "l":
        form = str(options["diversity"] or "distinct")
        if form == "recursive":
            return Demand(name, form, sensitive, float(cast(float, options["c"] or 2.0)), int(bound))
        return Demand(name, form, sensitive, bound)
    if name == "t":
        return Demand(name, "closeness", sensitive, bound, emd=str(options["emd"] or "equal"))
    if name == "beta":
        return Demand(name, "enhanced" if options["likeness"] == "enhanced" else "gain", sensitive, bound)
    return Demand(name, {"alpha": "share", "p": "distinct"}[name], sensitive, bound)
