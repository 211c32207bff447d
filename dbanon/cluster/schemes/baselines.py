"""The methods that the similarity-and-diversity paper (S1) compares with: MWCK, RKA, ELD, an l-diverse Mondrian and
Mondrian level by level. Of the first three only descriptions were to be had, so they are reconstructed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dbanon.cluster.labels import Dealer, dealt
from dbanon.cluster.loss import Loss
from dbanon.cluster.noise import Noise
from dbanon.cluster.registry import EVERY_MODEL, MODE, SEED, Algorithm, Check, register
from dbanon.cluster.schemes.greedy import FAR, arrays, greedy, nowhere, place, start
from dbanon.cluster.schemes.lattice import full_domain
from dbanon.cluster.schemes.split import Part, first_cut, mondrian
from dbanon.functions.parameter_types import Choice, Integer, Real
from dbanon.functions.parameters import Parameter
from dbanon.models.constraint import Constraint
from dbanon.space.index import Index
from dbanon.space.space import Ints, Number, Space


def mwck(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """MWCK, mixed-feature weighted clustering for k-anonymity, reconstructed from what S1 says of it.

    k-member with weights by what columns say: the entropy of each column's values (numbers: in `bins` equal intervals)
    over the greatest that as many values can have, scaled so that the weights of d columns sum to d, times the declared
    ones. Clusters begin at the record farthest from the seed before; leftovers go where the weighted loss grows least.
    O(n^2) without the index, O(n) memory.
    """
    shares = entropies(space, int(str(options["bins"])))
    mean = sum(shares) / len(shares)
    factors = [share / mean if mean > 0 else 1.0 for share in shares]
    # A column of one value has no distances, whatever its weight.
    attributes = tuple(
        replace(a, weight=a.weight * (f if f > 0 else 1.0)) for a, f in zip(space.attributes, factors, strict=True)
    )
    weighted = replace(space, attributes=attributes)
    return greedy(weighted, constraint, Loss(weighted, constraint.least, "edges"), start(weighted, FAR, options), check)


def entropies(space: Space, bins: int) -> list[float]:
    """Entropy of each attribute's values over the greatest of as many values, 0 to 1. A NULL is a value."""
    found = []
    for j, attribute in enumerate(space.attributes):
        cell = space.codes[:, j].astype(np.int64)
        if isinstance(attribute, Number):
            width = float(attribute.positions[-1]) if attribute.values else 0.0
            at = np.append(attribute.positions / width if width > 0 else attribute.positions, 0.0)
            cell = np.where(cell == attribute.values, bins, np.minimum((at[cell] * bins).astype(np.int64), bins - 1))
        records = np.bincount(cell, weights=space.counts)
        p = records[records > 0] / max(space.rows, 1)
        found.append(float(-(p * np.log(p)).sum() / np.log(len(p))) if len(p) > 1 else 0.0)
    return found


def rka(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """RKA, random k-anonymous, reconstructed from what S1 says of it: k-member's clusters, within which values are
    hidden in noise and shuffled.

    By default the intervals and nodes of the clusters are published: k-anonymous, without noise. `release = 'noise'`
    publishes values (see `hidden`): not k-anonymous for who looks at the rows. O(n^2) without the index, O(n) memory.
    """
    return greedy(space, constraint, Loss(space, constraint.least, "edges"), start(space, FAR, options), check)


def hidden(options: Mapping[str, object]) -> Noise | None:
    """The noise that `rka` publishes: of a scale of the cluster's range over epsilon, categories drawn (card 1.8b)."""
    if options["release"] != "noise":
        return None
    return Noise("release = 'noise'", float(str(options["epsilon"] or 1.0)))


def eld(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """ELD, effective l-diversity by clustering, reconstructed from its abstract.

    The first cluster begins at a random record, later ones at that farthest from the seed before. Each takes the record
    that raises the information loss least, whatever its sensitive value, until it has k records and `l` different
    values; leftovers go where the whole loss grows least. Clusters grow where sensitive values are skewed. Other models
    and forms of l, and persons, are met by the shared repair. O(n^2) without the index, O(n) memory.
    """
    from dbanon.kernels import eld as kernels

    loss = Loss(space, constraint.least, "edges")
    index = Index(space, loss.tables(space))
    terms = arrays([loss.terms[j] for j in index.few])
    ask = index.question(
        [np.zeros(space.attributes[j].values + 1, np.int64) for j in sorted(index.few)], *nowhere(space)
    )
    least, codes, left_of = _asked(space, constraint)
    reference = start(space, FAR, options).reference
    found: list[Ints] = [np.empty((0, 2), np.int64)]
    members = np.empty((len(space.counts) + 2 + 2**18, 2), np.int64)
    steps, more = 4, index.records >= constraint.least
    while more:
        check()
        clock = time.perf_counter()
        used, reference, more = kernels.eld_steps(
            *index.arrays, terms, ask.flat, ask.axes, constraint.least, least, codes, space.starts, space.counts,
            left_of, reference, len(found) == 1, steps, members,
        )  # fmt: skip
        index.count()
        found.append(members[:used].copy())
        steps = int(min(max(steps * 0.1 / max(time.perf_counter() - clock, 1e-6), 4), 8 * steps))
    labels = dealt(space, np.concatenate(found))
    rest = index.remaining()
    if len(rest) and (labels >= 0).any():
        place(space, loss, labels, Dealer(space, index).rows(rest, index.left[rest]), check)
    return labels if (labels >= 0).any() else np.zeros(space.rows, np.int64)


def _asked(space: Space, constraint: Constraint) -> tuple[Ints, Ints, Ints]:
    """By sensitive column: least number of different values, code of every record (NULL: -1), records by value."""
    columns = max(len(space.sensitive), 1)
    width = max([s.values for s in space.sensitive], default=0) + 1
    least, left_of = np.zeros(columns, np.int64), np.zeros((columns, width), np.int64)
    codes = np.full((columns, space.rows), -1, np.int64)
    for model in constraint.models:
        if model.kind == "distinct":
            least[model.sensitive] = max(least[model.sensitive], int(model.bound))
    for s, sensitive in enumerate(space.sensitive):
        codes[s] = np.where(sensitive.codes == sensitive.values, -1, sensitive.codes)
        left_of[s, : sensitive.values] = np.bincount(sensitive.codes, minlength=sensitive.values + 1)[:-1]
    return least, codes, left_of


def imitated(options: Mapping[str, object]) -> Noise | None:
    """The noise of `mr_mondrian`: numbers with a scale of the table's range over epsilon, beyond that range too, as
    S1's Figure 8 shows them; each is shuffled within its class."""
    epsilon = options["noise_epsilon"]
    if epsilon is None:
        return None
    return Noise(f"noise_epsilon = {epsilon}", float(str(epsilon)), by_column=True, categories=False)


def ldiversity_mondrian(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """The l-diversity baseline: strict Mondrian whose cuts meet the whole model, or with base 'incognito' the best
    full-domain generalization that meets it (see `dbanon.cluster.schemes.lattice`)."""
    if options["base"] == "incognito":
        return full_domain(space, constraint, "ldiversity_mondrian", check)
    return mondrian(space, constraint, options, check)


def mr_mondrian(space: Space, constraint: Constraint, options: Mapping[str, object], check: Check) -> Ints:
    """MRMondrian, strict Mondrian run level by level, as map and reduce do it.

    All parts of a level are cut before any part of the next: the classes are those of `mondrian`. S1 shows negative
    ages under this name; they are noise, which no Mondrian adds: `noise_epsilon` imitates them. O(n log n) time for
    balanced cuts, O(n) memory.
    """
    labels = np.full(space.rows, -1, np.int64)
    level = [Part(np.arange(len(space.counts)), space.starts, space.counts)]
    clusters = 0
    while level:
        below: list[Part] = []
        for part in level:
            check()
            sides = first_cut(space, constraint, part, True)
            below += sides
            if not sides:
                labels[part.rows()] = clusters
                clusters += 1
        level = below
    return labels


_EPSILON = Real(0.001, 100)
"""Beyond, numbers are not hidden at all or nothing but noise."""

_S1 = "as the similarity-and-diversity paper (S1) describes it"

register(
    Algorithm(
        name="mwck",
        title="MWCK: mixed-feature weighted clustering for k-anonymity",
        family="greedy",
        run=mwck,
        source=f"S1's reference 28, {_S1}",
        evidence="RECON",
        deterministic=False,
        complexity="O(n^2) time without the index, O(n) memory",
        own=(
            Parameter("bins", Integer(1, 1_000_000), "Equal intervals in which values of a number are counted.", 10),
            SEED,
            MODE,
        ),
    )
)
register(
    Algorithm(
        name="rka",
        title="RKA: random k-anonymous",
        family="greedy",
        run=rka,
        source=f"S1's reference 29, {_S1}",
        evidence="RECON",
        deterministic=False,
        complexity="O(n^2) time without the index, O(n) memory",
        own=(
            Parameter(
                "release",
                Choice(("class", "noise")),
                "What is published: intervals and nodes of the classes, or values hidden in noise and shuffled within "
                "them, which is not k-anonymous.",
                "class",
            ),
            Parameter(
                "epsilon",
                _EPSILON,
                "Of release = 'noise', default 1: the scale of a number's noise is the range in its cluster over "
                "epsilon; a category is drawn in proportion to exp(epsilon * records / 2).",
            ),
            SEED,
            MODE,
        ),
        noise=hidden,
    )
)
register(
    Algorithm(
        name="eld",
        title="ELD: effective l-diversity by clustering",
        family="greedy",
        run=eld,
        source="S1's reference 30, its abstract",
        evidence="RECON",
        deterministic=False,
        complexity="O(n^2) time without the index, O(n) memory",
        own=(SEED, MODE),
        defaults={"l": 2},
        meets=("k", "l", "p"),
    )
)
register(
    Algorithm(
        name="ldiversity_mondrian",
        title="l-diverse strict Mondrian",
        family="split",
        run=ldiversity_mondrian,
        source="Machanavajjhala et al. 2006 on LeFevre et al. 2006 (base 'incognito': 2005); baseline of S1, which "
        "names no algorithm and no l",
        evidence="LIT-m",
        deterministic=True,
        complexity="O(n log n) time, O(n) memory; base 'incognito': O(n) time a node, exponential in the columns",
        own=(
            Parameter(
                "base",
                Choice(("mondrian", "incognito")),
                "The algorithm whose classes meet the model: Mondrian, or Incognito, which raises each column to one "
                "level for all records: the least sum of levels, then the least loss.",
                "mondrian",
            ),
        ),
        defaults={"l": 2},
        meets=EVERY_MODEL,
    )
)
register(
    Algorithm(
        name="mr_mondrian",
        title="Strict Mondrian, level by level",
        family="split",
        run=mr_mondrian,
        source="S1's reference 45 on LeFevre, DeWitt and Ramakrishnan 2006",
        evidence="LIT-m",
        deterministic=True,
        complexity="O(n log n) time, O(n) memory",
        own=(
            Parameter(
                "noise_epsilon",
                _EPSILON,
                "Publish numbers with noise instead of classes, which is not k-anonymous: of a scale of the column's "
                "range over this, as the paper's figures show.",
            ),
        ),
        noise=imitated,
        meets=EVERY_MODEL,
    )
)
