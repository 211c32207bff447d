"""Privacy models of a class's sensitive values: what a class measures, and whether that is enough.

A class is a row of counts by value, the last one for NULL: how many records (distinct persons) have the value. A
NULL never counts towards diversity and is a category of its own for the other models. Bounds are kept to within
1e-12, so that the release gate, which computes them anew in SQL, never meets a class that is a rounding error short.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

import numpy as np
import numpy.typing as npt

from dbanon.space.space import Ints, Sensitive

Floats = npt.NDArray[np.float64]
SLACK = 1e-12


@dataclass(frozen=True)
class Model:
    """One model of one sensitive column.

    `parameter`: l, t, alpha, p or beta; `kind`: distinct, entropy, recursive, share, gain, enhanced or closeness;
    `bound`: the parameter's value; `extra`: l of a recursive model, whose bound is c; `emd`: equal, ordered or
    hierarchical; `sensitive`: the column's number.
    """

    parameter: str
    kind: str
    sensitive: int
    bound: float
    extra: int = 0
    emd: str = ""

    @property
    def least(self) -> int:
        """No class of fewer records can meet the model."""
        if self.kind == "distinct":
            return int(self.bound)
        if self.kind == "entropy":
            return int(np.ceil(self.bound - SLACK))
        return self.extra

    @property
    def said(self) -> str:
        """The model as parameters of a call."""
        if self.kind == "recursive":
            return f"l = {self.extra}, diversity = 'recursive', c = {self.bound:g}"
        form = {"entropy": ", diversity = 'entropy'", "enhanced": ", likeness = 'enhanced'"}.get(self.kind, "")
        distance = f", emd = '{self.emd}'" if self.emd not in ("", "equal") else ""
        bound = str(int(self.bound)) if self.kind in ("distinct", "entropy") else f"{self.bound:g}"
        return f"{self.parameter} = {bound}{form}{distance}"

    def best(self, measured: float) -> str:
        """A measure of the whole table as the most that a call may ask for; asking for that works."""
        if self.kind in ("distinct", "entropy"):
            whole = int(measured + SLACK)
            return f"{self.parameter} = {whole}" if whole > 1 else f"no {self.parameter} above 1"
        if not np.isfinite(measured):
            return "a smaller l" if self.kind == "recursive" else f"no {self.parameter} in this form"
        above = "c above" if self.kind == "recursive" else f"{self.parameter} ="
        return f"{above} {_rounded_up(measured)}"

    def measure(self, sensitive: Sensitive, counts: Ints, sizes: Ints) -> Floats:
        """The measure of each class: counts (classes, values + 1), sizes (classes,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return _MEASURES[self.kind](self, sensitive, counts.astype(np.float64), sizes.astype(np.float64))

    def met(self, measured: Floats | np.float64) -> npt.NDArray[np.bool_]:
        """Whether measures are enough."""
        if self.kind in ("distinct", "entropy"):
            return np.asarray(measured >= self.bound - SLACK)
        if self.kind == "recursive":
            return np.asarray(measured < self.bound)
        return np.asarray(measured <= self.bound + SLACK)


def _distinct(model: Model, sensitive: Sensitive, counts: Floats, sizes: Floats) -> Floats:
    """Distinct l-diversity (Machanavajjhala et al. 2006) and p-sensitivity (Truta and Vinay 2006)."""
    return np.asarray((counts[:, :-1] > 0).sum(axis=1), np.float64)


def _entropy(model: Model, sensitive: Sensitive, counts: Floats, sizes: Floats) -> Floats:
    """exp of the entropy (Machanavajjhala et al. 2006)."""
    known = counts[:, :-1]
    total = known.sum(axis=1)
    logs = np.where(known > 0, known * np.log(np.where(known > 0, known, 1)), 0).sum(axis=1)
    return np.where(total > 0, np.exp(np.log(np.maximum(total, 1)) - logs / np.maximum(total, 1)), 0.0)


def _recursive(model: Model, sensitive: Sensitive, counts: Floats, sizes: Floats) -> Floats:
    """r_1 / (r_l + .. + r_m), infinite below l values (Machanavajjhala et al. 2006)."""
    ranked = -np.sort(-counts[:, :-1], axis=1)
    if ranked.shape[1] < model.extra:
        return np.full(len(counts), np.inf)
    tail = ranked[:, model.extra - 1 :].sum(axis=1)
    return np.where(tail > 0, ranked[:, 0] / np.maximum(tail, 1), np.inf)


def _share(model: Model, sensitive: Sensitive, counts: Floats, sizes: Floats) -> Floats:
    """The greatest share of a value: alpha (Wong et al. 2006)."""
    return np.asarray(counts.max(axis=1) / sizes)


def _gain(model: Model, sensitive: Sensitive, counts: Floats, sizes: Floats) -> Floats:
    """The greatest relative gain of a share over the whole table; in the enhanced form infinite above -ln q (Cao and
    Karras 2012)."""
    there = sensitive.share > 0
    q = sensitive.share[there]
    gains = np.maximum((shares(counts)[:, there] - q) / q, 0.0)
    if model.kind == "enhanced":
        gains = np.where(gains > -np.log(q) + SLACK, np.inf, gains)
    return np.asarray(gains.max(axis=1))


def _closeness(model: Model, sensitive: Sensitive, counts: Floats, sizes: Floats) -> Floats:
    """Earth mover's distance from the whole table (Li, Li and Venkatasubramanian 2007)."""
    off = shares(counts) - sensitive.share
    if model.emd == "equal":
        return np.asarray(np.abs(off).sum(axis=1) / 2)
    if model.emd == "ordered":
        there = sensitive.share > 0  # values that are not released have no rank: no reader knows of them
        between = np.abs(np.cumsum(off[:, there], axis=1))
        return np.asarray(between.sum(axis=1) / max(int(there.sum()) - 1, 1))
    parent, node, length = sensitive.edges()
    extra = np.zeros((len(off), len(parent)))
    for value, at in enumerate(node.tolist()):
        extra[:, at] += off[:, value]
    for at in range(len(parent) - 1, 0, -1):
        extra[:, parent[at]] += extra[:, at]
    return np.asarray((np.abs(extra) * length).sum(axis=1))


_MEASURES = {
    "distinct": _distinct,
    "entropy": _entropy,
    "recursive": _recursive,
    "share": _share,
    "gain": _gain,
    "enhanced": _gain,
    "closeness": _closeness,
}


def _rounded_up(number: float) -> str:
    """The least number of six digits that is not below, within SLACK."""
    six = Context(prec=6, rounding=ROUND_CEILING)
    return f"{float(six.create_decimal(max(number - SLACK, 0.0))):g}"


def shares(counts: Floats) -> Floats:
    """Counts of classes as shares."""
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
