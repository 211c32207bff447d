"""The schedule of simulated annealing: rounds that cool from hot to cold, short ones first.

The length of a round follows from the number of records alone. So the same number of moves gives the same classes,
however the number was determined: by a parameter, a time limit, or an interrupt.
"""

from itertools import count

from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint

RECORDS_PER_FIRST_MOVE, MAX_DOUBLINGS = 64, 16
"""The first round has one move for this many records; each later round is twice as long, up to this many doublings."""

MIN_HEAT, MAX_HEAT, HEAT_PER_MOVE = 1e-4, 3.0, 0.1
"""The final and the greatest heat, in average squared errors of a record at the beginning, and the initial heat for
each move per record in a round. A round of few moves begins colder, so that it does not end worse than it began."""

HEATS_PER_ROUND, MIN_MOVES, MAX_MOVES = 100, 20, 2_000
"""Times that the heat is lowered in a round, and the least and greatest number of moves between two of them."""

EFFORT_MOVES = {"fast": (40_000, 2), "normal": (800_000, 10), "high": (3_000_000, 50)}
"""Moves of `best` by effort: in all, and in addition for each record."""

MODEL_COST_FACTOR = 8
"""Cost of a move, relative to k alone, if other models must be checked."""


def round_moves(n_records: int, round_number: int) -> int:
    """Return the number of moves of a round of simulated annealing.

    It is one move for each RECORDS_PER_FIRST_MOVE records in round 0 and doubles from round to round, at most
    MAX_DOUBLINGS times; it is at least MIN_MOVES.
    """
    return max((n_records << min(round_number, MAX_DOUBLINGS)) // RECORDS_PER_FIRST_MOVE, MIN_MOVES)


def moves_per_heat(n_records: int, round_number: int) -> int:
    """Return the number of moves in a round between two changes of the heat (temperature) of simulated annealing.

    The round has HEATS_PER_ROUND heats, but not fewer than MIN_MOVES or more than MAX_MOVES moves for each.
    """
    return min(max(round_moves(n_records, round_number) // HEATS_PER_ROUND, MIN_MOVES), MAX_MOVES)


def heat(n_records: int, round_number: int, moves_in_round: int) -> float:
    """Return the heat (temperature) of simulated annealing after `moves_in_round` moves of a round.

    It falls exponentially to MIN_HEAT within the round. Its unit is the average squared error of a record at the
    beginning of the search. Rounds of few moves per record begin colder.

    Args:
        n_records: Number of records.
        round_number: Number of the round, from 0.
        moves_in_round: Moves made in this round.
    """
    n_moves = round_moves(n_records, round_number)
    start_heat = min(MAX_HEAT, MIN_HEAT + HEAT_PER_MOVE * n_moves / n_records)
    return float(start_heat * (MIN_HEAT / start_heat) ** (moves_in_round / n_moves))


def effort_moves(space: EncodedTable, constraint: Constraint, effort: str) -> int:
    """Return the number of moves of simulated annealing for an effort ('fast', 'normal' or 'high').

    These are whole rounds with together about as many moves as EFFORT_MOVES states. There are fewer moves if clusters
    have more than ten records, since cuts take longer then, and if persons or models other than k must be checked.
    """
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
