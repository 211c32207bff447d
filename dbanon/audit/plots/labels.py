"""Place labels in a plot: inside the axes, off the markers and off each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

MARKER_SIZE = 6
"""Width of a marker in points."""

FONT_SIZE = 7
"""Size of the labels in points."""

_DISTANCES = (7, 14, 24, 36, 52)
"""Distances of a label from its marker in points, of which the first that is free is used."""

_DIRECTIONS = ((-1, 1), (1, 1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (0, -1))
"""Directions from a marker to its label, the best first."""

_MIN_LEADER_DISTANCE = 14
"""Minimum distance at which a thin line connects a label with its marker."""


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: Box) -> bool:
        """Return whether two rectangles share an area."""
        is_beside = self.right <= other.left or other.right <= self.left
        return not (is_beside or self.top <= other.bottom or other.top <= self.bottom)

    def distance(self, point: Sequence[float]) -> float:
        """Return the distance of a point from the rectangle."""
        dx = max(self.left - point[0], 0, point[0] - self.right)
        dy = max(self.bottom - point[1], 0, point[1] - self.top)
        return math.hypot(dx, dy)

    def contains(self, other: Box) -> bool:
        """Return whether another rectangle is inside this one."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.bottom <= other.bottom
            and other.top <= self.top
        )


def place_labels(
    panel: Any, labels: Sequence[tuple[float, float, str]], markers: Sequence[tuple[float, float]]
) -> None:
    """Write a label next to each of some markers of a panel whose layout and limits are final.

    Labels that would be outside the axes, or on a marker or on another label, are moved away from their marker, with
    a thin line to it. Places that are nearer to another marker are only used if there are no others. A label without
    a free place is omitted.

    Args:
        panel: The matplotlib axes.
        labels: Position (x, y) and text of each label, in the order of importance.
        markers: Positions of all markers.
    """
    pixels_per_point = panel.figure.dpi / 72
    radius = (MARKER_SIZE / 2 + 1.5) * pixels_per_point
    axes_box = Box(*panel.bbox.extents)
    centers = [tuple(map(float, panel.transData.transform(position))) for position in markers]
    taken = [Box(x - radius, y - radius, x + radius, y + radius) for x, y in centers]
    for x, y, text in (label for label in labels if label[2]):
        width, height = _text_size(panel, text)
        center = panel.transData.transform((x, y))
        free_places = [
            (dx, dy, box)
            for dx, dy, box in _places(center, width, height, pixels_per_point)
            if axes_box.contains(box) and not any(box.overlaps(other) for other in taken)
        ]
        if not free_places:
            continue
        nearest_places = (  # those to which no marker is nearer than that of the label
            (dx, dy, box)
            for dx, dy, box in free_places
            if box.distance(center) <= min(map(box.distance, centers)) + 1e-6
        )
        dx, dy, box = next(nearest_places, free_places[0])
        taken.append(box)
        _write_label(panel, (x, y), text, (dx / pixels_per_point, dy / pixels_per_point))


def _places(
    center: Sequence[float], width: float, height: float, pixels_per_point: float
) -> Iterator[tuple[float, float, Box]]:
    """Yield the places of a label around a marker, the best first: offset of its centre in pixels, and its rectangle.

    Args:
        center: The position of the marker in pixels.
        width: The width of the label in pixels.
        height: Its height in pixels.
        pixels_per_point: The number of pixels per point.
    """
    for distance in _DISTANCES:
        for horizontal, vertical in _DIRECTIONS:
            dx = horizontal * (distance * pixels_per_point + width / 2)
            dy = vertical * (distance * pixels_per_point + height / 2)
            x, y = center[0] + dx, center[1] + dy
            yield dx, dy, Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _write_label(panel: Any, position: tuple[float, float], text: str, offset: tuple[float, float]) -> None:
    """Write a label whose centre has an offset in points from a position, with a line to it if it is far away."""
    is_far = max(map(abs, offset)) > _MIN_LEADER_DISTANCE and min(map(abs, offset)) > _MIN_LEADER_DISTANCE
    panel.annotate(
        text,
        position,
        xytext=offset,
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=FONT_SIZE,
        gid="label",
        arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.5} if is_far else None,
    )


def text_width(panel: Any, text: str, font_size: float) -> float:
    """Return the width of a text in pixels."""
    return _text_size(panel, text, font_size)[0]


def _text_size(panel: Any, text: str, font_size: float = FONT_SIZE) -> tuple[float, float]:
    """Return width and height of a text in pixels, with a margin for fonts that are wider."""
    drawn = panel.text(0, 0, text, fontsize=font_size)
    box = drawn.get_window_extent()
    drawn.remove()
    return 1.06 * box.width, 1.1 * box.height
