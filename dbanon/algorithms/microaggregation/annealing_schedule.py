"""The annealing schedule of the search for least squares: rounds from hot to cold, short ones first.

The length of a round follows from the number of records alone. So the same number of moves gives the same classes,
however the number was determined: by a parameter, a time limit, or an interrupt.
"""

from itertools import count

from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint

RECORDS_PER_FIRST_MOVE, MAX_DOUBLINGS = 64, 16
"""The first round has one move for so many records; then rounds are twice as long as the one before, so many times."""

MIN_HEAT, MAX_HEAT, HEAT_PER_MOVE = 1e-4, 3.0, 0.1
"""The last and the greatest heat, in average squares of a record at first, and how much there is for each move that a
record has in a round: a round of few moves begins colder, so that it does not leave its start for worse."""

HEATS_PER_ROUND, MIN_MOVES, MAX_MOVES = 100, 20, 2_000
"""Times that the heat is lowered in a round; between two there are at least and at most so many moves."""

EFFORT_MOVES = {"fast": (40_000, 2), "normal": (800_000, 10), "high": (3_000_000, 50)}
"""Moves of `best` by its effort: in all, and for each record."""

MODEL_COST_FACTOR = 8
"""Where a model judges more than the number of records, a move costs so many times more."""


def round_moves(n_records: int, round_number: int) -> int:
    """Moves of a round."""
    return max((n_records << min(round_number, MAX_DOUBLINGS)) // RECORDS_PER_FIRST_MOVE, MIN_MOVES)


def moves_per_heat(n_records: int, round_number: int) -> int:
    """Moves of a round between two heats."""
    return min(max(round_moves(n_records, round_number) // HEATS_PER_ROUND, MIN_MOVES), MAX_MOVES)


def heat(n_records: int, round_number: int, moves_in_round: int) -> float:
    """Return the heat of a round after so many of its moves, in average squares of a record at first."""
    n_moves = round_moves(n_records, round_number)
    start_heat = min(MAX_HEAT, MIN_HEAT + HEAT_PER_MOVE * n_moves / n_records)
    return float(start_heat * (MIN_HEAT / start_heat) ** (moves_in_round / n_moves))


def effort_moves(space: EncodedTable, constraint: Constraint, effort: str) -> int:
    """Moves of `best`: whole rounds, about as many as the effort says; fewer where groups have more than ten records,
    of which a cut takes longer, and where a model judges more than their number."""
    total_moves, moves_per_record = EFFORT_MOVES[effort]
    share = min(10 / constraint.min_records, 1.0) ** 1.5 / (
        1 if constraint.counts_only_records(space) else MODEL_COST_FACTOR
    )
    target_moves, n_moves = (total_moves + moves_per_record * space.rows) * share, 0
    for round_number in count():
        next_round = round_moves(space.rows, round_number)
        if n_moves and n_moves + next_round // 2 > target_moves:
            break
        n_moves += next_round
    return n_moves
