"""best: the least loss that there is time for.

All records in one line are cut where the whole loss is least, along several lines and covers; the search of
dbanon.algorithms.postprocess.improve goes on from the best of them.
"""

from collections.abc import Iterator

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.kernel_inputs import layout
from dbanon.algorithms.base.packed_classes import Classes
from dbanon.algorithms.base.registry import SEED, Check, Options, OwnSearch, register
from dbanon.algorithms.microaggregation import annealing_schedule
from dbanon.algorithms.microaggregation.initial_clusters import start
from dbanon.algorithms.optimizing.generalization_covers import covers
from dbanon.algorithms.optimizing.orderings import Best, Line, ordered
from dbanon.algorithms.optimizing.seeded_starts import FEW, LARGE, less_lost
from dbanon.algorithms.partitioning.mondrian import mondrian
from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter

MOVES = {"fast": 40_000, "normal": 400_000, "high": 3_000_000}
"""Moves of the search after the start, by effort."""

EACH = {"fast": 2, "normal": 15, "high": 100}
"""Moves for each tuple, where that is more."""

LEAST = 50
"""Classes of more records than this have fewer moves in proportion."""

WORK = {"fast": 6_000_000, "normal": 30_000_000, "high": 100_000_000}
"""Lines are tried until records times greatest class size come to this; one is always tried."""

JUDGING = 8
"""Where a model judges more than the number of records, a line (a move) costs so many times more."""

MANY = 64
"""Numbers of more values are coarsened in some lines, where there are several of them."""


LINES = 0.2
"""Share of the time that lines take, where Mondrian is tried too."""


def best(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Runs:
    """The best of several starts: the records in a line are cut into classes with the least loss of all cuts, as
    multivariate microaggregation by Hansen and Mukherjee's method does (Domingo-Ferrer et al. 2006), here with the loss
    of generalization (KACPC paper, Eq. 1).

    A line orders the tuples by one attribute after the other. The first has the attributes of few values in front;
    neighbours in it are exchanged while that loses less. Where several numbers have many values, lines of coarsened
    numbers and Mondrian are tried too; in tables of 5,000 tuples and more, and with high effort, groups of a few
    full-domain generalizations (covered.py); where most tuples are alone, and with high effort, classes that grow
    (grown.py). These and Mondrian are passed over where a cover loses less than all lines and few attributes are
    numbers of many values. With fast effort, covers of such numbers and classes that grow are passed over in tables of
    more than 200,000 tuples.
    The search that follows takes 40,000 moves (`effort = 'fast'`), 400,000 or 3,000,000, or 2, 15 or 100 for each tuple
    where that is more; an eighth of them where a model judges more than the number of records, and fewer in proportion
    from k = 50 on. O(lines * n * k) time up to k = 128, O(lines * n) above, O(n) memory.
    """
    if options.get("objective") == "sse":
        return start(space, constraint, check)
    effort, heights = str(options["effort"]), str(options.get("heights", "top"))
    problem = layout(space, constraint, heights)
    whole = progress.work(check)
    many = [j for j, a in enumerate(space.attributes) if isinstance(a, NumericAttribute) and a.values > MANY]
    if len(many) < 2:
        many = []
    so_far = Best(problem, space, Runs.one(space))
    _along_lines(so_far, many, effort, whole.part(0, LINES if many else 1))
    along_lines, thorough = so_far.loss, effort == "high"
    numbers = 2 * len(many) >= len(space.attributes)
    hopeless = effort == "fast" and numbers and len(space.counts) > LARGE
    if thorough or (len(space.counts) >= FEW and not hopeless):
        for order in covers(space, problem, effort, heights, whole):
            so_far.offered(order)
    found = so_far.runs
    if not thorough and so_far.loss < along_lines and not numbers:
        return found
    if many:
        split = mondrian(space, constraint, {}, whole.part(LINES, 1))
        if Classes.of(problem, split).loss(problem) < so_far.loss:
            found = split
    return less_lost(space, constraint, problem, found, options, whole.part(1, 1))


def _along_lines(so_far: Best, many: list[int], effort: str, whole: progress.Work) -> None:
    """Try lines while neighbours of the best one lose less and there is time."""
    problem, space = so_far.problem, so_far.space
    work = space.rows * problem.most * (1 if problem.mode == 0 else JUDGING)
    lines = max(WORK[effort] // max(work, 1), 1)
    tried: dict[Line, int] = {}

    def loss_of(line: Line) -> int:
        whole()
        if line not in tried:
            tried[line] = so_far.offered(ordered(problem, line))
            whole.come(len(tried) / lines)
        return tried[line]

    line = _first(space, many, max(space.rows // problem.least, 1))
    value = loss_of(line)
    better = True
    while better:
        better = False
        for other in _neighbours(line, many):
            if len(tried) < lines and loss_of(other) < value:
                line, value, better = other, tried[other], True


def _first(space: EncodedTable, many: list[int], classes: int) -> Line:
    """Attributes of few values first; of `many` numbers all but the last coarsened to a grid of about so many cells."""
    order = sorted(range(len(space.attributes)), key=lambda j: (space.attributes[j].values, j))
    cells = max(classes ** (1 / max(len(many), 1)), 2.0)
    return tuple(
        (j, max(int(np.log2(space.attributes[j].values / cells)), 0) if j in many and j != order[-1] else 0)
        for j in order
    )


def _neighbours(line: Line, many: list[int]) -> Iterator[Line]:
    """Yield lines with two neighbours exchanged, or a number half or twice as coarse."""
    for i in range(len(line) - 1):
        yield (*line[:i], line[i + 1], line[i], *line[i + 2 :])
    for i, (j, bits) in enumerate(line):
        for other in (bits - 1, bits + 1):
            if j in many and other >= 0:
                yield (*line[:i], (j, other), *line[i + 1 :])


def _moves(space: EncodedTable, constraint: Constraint, options: Options) -> int:
    """Moves of the search after the start."""
    if options.get("objective") == "sse":
        return annealing_schedule.moves(space, constraint, str(options["effort"]))
    effort = str(options["effort"])
    moves = max(MOVES[effort], EACH[effort] * len(space.counts))
    moves //= 1 if constraint.counts_records(space) else JUDGING
    return moves * LEAST // max(constraint.least, LEAST)


register(
    best,
    title="Least loss: the best cut of several lines, then local search",
    summary=(
        "for the least loss: cuts all records in a line where the whole loss is least, along several lines,"
        " then runs a local search (`improve`). O(lines * n * k + moves)"
    ),
    source="Hansen and Mukherjee 2003, Domingo-Ferrer et al. 2006, and this project",
    evidence="LIT-m",
    deterministic=True,
    complexity="O(lines * n * min(k, 128) + moves * k) time, O(n) memory",
    own=(
        SEED,
        Parameter(
            "effort",
            Choice(("fast", "normal", "high")),
            "How long is searched: 40,000 moves (default), 400,000 or 3,000,000, or 2, 15 or 100 a tuple; "
            "improve says it exactly.",
            "fast",
        ),
    ),
    abilities=(OwnSearch(_moves),),
)
