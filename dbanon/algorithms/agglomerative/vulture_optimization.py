"""African vultures optimization: a population of centers that moves around its two best (Abdollahzadeh et al. 2021)."""

import math
from collections.abc import Callable

import numpy as np

from dbanon.algorithms.agglomerative.fuzzy_cmeans import square_distances
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Floats, Ints

POPULATION = 30
"""Number of vultures (as in the paper on KAPP)."""

BEST_SHARE, EXPLORE_SHARE, CIRCLE_SHARE, GATHER_SHARE, STARVING_EXPONENT = 0.8, 0.6, 0.4, 0.6, 2.5
"""L1, P1, P2, P3 and w of the paper; its L2 is 1 - L1."""

LEVY_SCALE = 0.696575
"""The scale of a step of a Levy flight of exponent 1.5."""

GRID = 2.0**20
"""Positions are rounded to multiples of 1 / GRID, so that machines whose sines differ in the last bit give equal
results."""


def vulture_centers(points: Floats, counts: Ints, n_centers: int, seed: int, rounds: int, check: Check) -> Floats:
    """Search for the centers of fuzzy c-means with African vultures optimization, and return the best ones found.

    Each vulture is one choice of all centers; the best has the least value of `objective`. The result depends on `seed`
    alone. O(rounds * vultures * number * points) time.

    Args:
        points: (axes, points) coordinates from 0 to 1.
        counts: (points,) how many records each point represents.
        n_centers: Number of centers.
        seed: Seed of the random numbers.
        rounds: Number of moves of the vultures.
        check: Called before every move; raises if the run was interrupted.

    Returns:
        (n_centers, axes) the centers.
    """
    draw = _uniform_draws(seed)
    shape = n_centers, points.shape[0]
    places = [_round_place(draw(*shape)) for _ in range(POPULATION)]
    first = second = (math.inf, places[0])
    for round_number in range(rounds + 1):
        check()
        for place in places:
            reached = objective(points, counts, place), place
            if reached[0] < first[0]:
                first, second = reached, first
            elif first[0] < reached[0] < second[0]:
                second = reached
        fraction = round_number / max(rounds, 1)
        restless = math.sin(math.pi / 2 * fraction) ** STARVING_EXPONENT + math.cos(math.pi / 2 * fraction) - 1
        for i, place in enumerate(places):
            leader = (first if draw(1)[0] < BEST_SHARE else second)[1]
            hunger = (2 * draw(1)[0] + 1) * (2 * draw(1)[0] - 1) * (1 - fraction) + (4 * draw(1)[0] - 2) * restless
            places[i] = _round_place(_next_place(place, leader, (first[1], second[1]), hunger, draw))
    return first[1]


def objective(points: Floats, counts: Ints, centers: Floats) -> float:
    """Return the objective of fuzzy c-means with exponent 2, with the best memberships for `centers`; it is minimized.

    It is the sum, over records and centers, of squared memberships times squared distances.

    Args:
        points: (axes, points) coordinates.
        counts: (points,) number of records at each point.
        centers: (n_centers, axes) the centers.
    """
    near = sum((1 / np.maximum(square_distances(points, c), 2.0**-60) for c in centers), np.zeros(points.shape[1]))
    return float(np.cumsum(counts / near)[-1])


Draw = Callable[..., Floats]


def _next_place(place: Floats, leader: Floats, best: tuple[Floats, Floats], hunger: float, draw: Draw) -> Floats:
    """Return the next position of a vulture, not yet limited to the range from 0 to 1.

    With |hunger| of 1 or more it explores, from 0.5 it circles the leader, below it gathers with the two best vultures
    or flies towards the leader.

    Args:
        place: Its position: the centers, (n_centers, axes).
        leader: The position of the vulture that it follows.
        best: The positions of the best and the second best vulture.
        hunger: The hunger F of the paper.
        draw: Returns uniform random numbers of a shape.
    """
    if abs(hunger) >= 1:
        if draw(1)[0] <= EXPLORE_SHARE:
            return leader - np.abs(2 * draw(*place.shape) * leader - place) * hunger
        return leader - hunger + draw(*place.shape) * draw(*place.shape)
    if abs(hunger) >= 0.5:
        if draw(1)[0] <= CIRCLE_SHARE:
            return np.abs(2 * draw(*place.shape) * leader - place) * (hunger + draw(*place.shape)) - (leader - place)
        turns = leader * place / (2 * math.pi)
        return leader - turns * (draw(*place.shape) * np.cos(place) + draw(*place.shape) * np.sin(place))
    if draw(1)[0] <= GATHER_SHARE:
        steps = [b - b * place / _away_from_zero(b - place * place) * hunger for b in best]
        return (steps[0] + steps[1]) / 2
    normal, other = (_draw_normal(draw, place) for _ in range(2))
    flight = 0.01 * normal * LEVY_SCALE / np.maximum(np.abs(other), 1e-9) ** (1 / 1.5)
    return leader - np.abs(leader - place) * hunger * flight


def _away_from_zero(values: Floats) -> Floats:
    """Return the values, with 1e-9 in place of those whose absolute value is below it."""
    return np.asarray(np.where(np.abs(values) < 1e-9, 1e-9, values))


def _draw_normal(draw: Draw, place: Floats) -> Floats:
    """Return standard normal random numbers in the shape of `place` (Box-Muller)."""
    return np.asarray(np.sqrt(-2 * np.log(1 - draw(*place.shape))) * np.cos(2 * math.pi * draw(*place.shape)))


def _round_place(place: Floats) -> Floats:
    """Return the position clipped to the range from 0 to 1 and rounded to a multiple of 1 / GRID."""
    return np.asarray(np.rint(np.clip(place, 0.0, 1.0) * GRID) / GRID)


def _uniform_draws(seed: int) -> Draw:
    """Return a function that draws uniform random numbers from 0 to 1 in a given shape, reproducible by `seed`."""
    stream = np.random.PCG64(seed)  # its stream, unlike a Generator's, is promised

    def draw(*shape: int) -> Floats:
        """Return the next uniform random numbers from 0 (inclusive) to 1 (exclusive), in the given shape."""
        raw = stream.random_raw(math.prod(shape)) >> np.uint64(11)
        return (raw.astype(np.float64) * 2.0**-53).reshape(shape)

    return draw
