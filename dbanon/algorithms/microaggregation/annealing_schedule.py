"""How the search for the least squares goes on: in rounds from hot to cold, at first short ones.

How long a round is follows from the number of records alone. So as many moves give the same classes, whether they were
asked for, came from a time that was asked for, or from an interrupt.
"""

from itertools import count

from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint

FIRST, DOUBLINGS = 64, 16
"""The first round has one move for so many records; then rounds are twice as long as the one before, so many times."""

COLD, HOT, WARMER = 1e-4, 3.0, 0.1
"""The last and the greatest heat, in average squares of a record at first, and how much there is for each move that a
record has in a round: a round of few moves begins colder, so that it does not leave its start for worse."""

BATCHES, LEAST_MOVES, MOST_MOVES = 100, 20, 2_000
"""Times that the heat is lowered in a round; between two there are at least and at most so many moves."""

EFFORT = {"fast": (40_000, 2), "normal": (800_000, 10), "high": (3_000_000, 50)}
"""Moves of `best` by its effort: in all, and for each record."""

JUDGING = 8
"""Where a model judges more than the number of records, a move costs so many times more."""


def length(records: int, turn: int) -> int:
    """Moves of a round."""
    return max((records << min(turn, DOUBLINGS)) // FIRST, LEAST_MOVES)


def batch(records: int, turn: int) -> int:
    """Moves of a round between two heats."""
    return min(max(length(records, turn) // BATCHES, LEAST_MOVES), MOST_MOVES)


def heat(records: int, turn: int, made: int) -> float:
    """Return the heat of a round after so many of its moves, in average squares of a record at first."""
    moves = length(records, turn)
    hot = min(HOT, COLD + WARMER * moves / records)
    return float(hot * (COLD / hot) ** (made / moves))


def moves(space: EncodedTable, constraint: Constraint, effort: str) -> int:
    """Moves of `best`: whole rounds, about as many as the effort says; fewer where groups have more than ten records,
    of which a cut takes longer, and where a model judges more than their number."""
    whole, each = EFFORT[effort]
    share = min(10 / constraint.least, 1.0) ** 1.5 / (1 if constraint.counts_records(space) else JUDGING)
    wanted, made = (whole + each * space.rows) * share, 0
    for turn in count():
        more = length(space.rows, turn)
        if made and made + more // 2 > wanted:
            break
        made += more
    return made
