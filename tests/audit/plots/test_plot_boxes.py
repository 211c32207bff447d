"""The boxes of labels and markers in the SVG of plots: inside the axes, off the markers, and off each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

import dbanon

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"

WIDTH_PER_CHARACTER = 0.56
"""Average width of a character in a sans-serif font, as a share of the font size."""


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def is_inside(self, other: Box, tolerance: float = 0.5) -> bool:
        return (
            self.left >= other.left - tolerance
            and self.right <= other.right + tolerance
            and self.top >= other.top - tolerance
            and self.bottom <= other.bottom + tolerance
        )


class Panel(NamedTuple):
    axes: Box
    labels: list[tuple[str, Box]]
    markers: list[Box]


def text_box(text: Any) -> Box:
    """Return the box of a text of an SVG, with an estimate of its width."""
    size, anchor = float(re.search(r"([\d.]+)px", text.get("style"))[1]), text.get("style")  # type: ignore[index]
    x, y = float(text.get("x")), float(text.get("y"))
    width = WIDTH_PER_CHARACTER * size * len(text.text or "")
    left = x - width / 2 if "middle" in anchor else x - width if "anchor: end" in anchor else x
    return Box(left, y - 0.75 * size, left + width, y + 0.2 * size)


def panels(plot: Any) -> Iterator[Panel]:
    """Yield the axes, the labels and the markers of each panel, as the SVG of a plot has them."""
    root = ElementTree.fromstring(plot._repr_svg_())
    for group in root.iter(f"{SVG}g"):
        if not re.fullmatch(r"axes_\d+", group.get("id", "")):
            continue
        background = next(path for path in group.iter(f"{SVG}path") if path.get("d"))
        numbers = list(map(float, re.findall(r"-?[\d.]+", background.get("d", ""))))
        axes = Box(min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2]))
        labels, markers = [], []
        for part in group.iter(f"{SVG}g"):
            if part.get("id", "").startswith("label"):
                labels += [(text.text or "", text_box(text)) for text in part.iter(f"{SVG}text")]
            elif part.get("id", "").startswith("points"):
                positions = [(float(use.get("x", 0)), float(use.get("y", 0))) for use in part.iter(f"{SVG}use")]
                markers += [Box(x - 3, y - 3, x + 3, y + 3) for x, y in positions]
        yield Panel(axes, labels, markers)


def tradeoff_row(precision: float, risk: float, **settings: Any) -> dict[str, Any]:
    """Return a row of tradeoffs()."""
    row = {
        "algorithm": "best", "k": 5, "l": 1, "t": 1.0, "precision": precision, "ncp": 1.0, "query_error": None,
        "risk_highest": risk, "risk_average": risk / 2, "homogeneous_share": 0.0, "suppressed": 0.0, "frontier": True,
        "statement": "SELECT 1", "problem": None,
    }  # fmt: skip
    return row | settings


TRADEOFFS: dict[str, list[dict[str, Any]]] = {
    "one": [tradeoff_row(0.8, 0.1, k=10)],
    "no risk": [tradeoff_row(0.8, 0.0, k=10), tradeoff_row(0.7, 0.0, k=20, frontier=False)],
    "few": [tradeoff_row(0.87, 0.2), tradeoff_row(0.86, 0.2, l=3, frontier=False), tradeoff_row(0.83, 0.1, k=10)],
    "equal": [tradeoff_row(0.8, 0.1, k=10, l=n) for n in (1, 2, 3)] + [tradeoff_row(0.9, 0.2)],
    "close": [tradeoff_row(0.9 - i / 5000, 0.2 - i / 3000, k=5 + i) for i in range(12)],
    "crowd": [
        tradeoff_row(0.9 - i / 40 - j / 300, 1 / (5 * i + 5) + j / 90, k=5 * i + 5, l=j + 1, frontier=j == 0,
                     algorithm=("best", "mondrian", "kacpc", "datafly")[j])
        for i in range(8) for j in range(4)
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", TRADEOFFS)
def test_labels_of_tradeoffs_are_inside_axes_and_overlap_nothing(name: str) -> None:
    shown = list(panels(dbanon.plot(TRADEOFFS[name])))
    assert len(shown) == 3
    for panel in shown:
        assert panel.markers
        assert all(marker.is_inside(panel.axes) for marker in panel.markers)
        for i, (text, box) in enumerate(panel.labels):
            assert box.is_inside(panel.axes), text
            assert not any(box.overlaps(marker) for marker in panel.markers), text
            assert not any(box.overlaps(other) for _, other in panel.labels[:i]), text
    if len(TRADEOFFS[name]) > 1 and name != "no risk":
        assert shown[0].labels


def test_label_is_nearer_to_its_marker_than_to_others() -> None:
    panel = next(panels(dbanon.plot(TRADEOFFS["few"])))
    boxes = dict(panel.labels)
    filled = max(panel.markers, key=lambda marker: marker.left)
    assert set(boxes) == {"k = 5, l = 1", "k = 10, l = 1"}
    assert abs(boxes["k = 5, l = 1"].left - filled.right) < 20


def test_configurations_with_equal_results_share_one_label() -> None:
    panel = next(panels(dbanon.plot(TRADEOFFS["equal"])))
    assert sorted(text for text, _ in panel.labels) == ["k = 10, l = 1 to 3", "k = 5, l = 1"]


def test_legend_explains_line_and_markers_of_frontier() -> None:
    (legend,) = dbanon.plot(TRADEOFFS["few"]).figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "best", "frontier", "on the frontier", "not on the frontier",
    ]  # fmt: skip


def compare_row(algorithm: str, metric: str, mean: float, stddev: float | None, seconds: float) -> dict[str, Any]:
    """Return a row of compare() with k = 10."""
    return {
        "algorithm": algorithm, "k": 10, "n_quasi_identifiers": 6, "sample_size": None, "n": 1000, "metric": metric,
        "mean": mean, "stddev": stddev, "seconds": seconds, "runs": 1, "problem": None,
    }  # fmt: skip


BARS: dict[str, list[dict[str, Any]]] = {
    "one": [compare_row("best", "class_size_average", 10.0, None, 0.123456)],
    "large": [compare_row(name, "ncp", 123456.789 * i, 40000.0, 12.3456) for i, name in enumerate(("a", "b"), 1)],
    "zero": [compare_row(name, "homogeneous_share", 0.0, 0.0, 0.001) for name in ("mdav", "kacpc", "oka")],
    "many": [compare_row(f"algorithm_{i}", "precision", i / 12, 0.01, i) for i in range(1, 12)],
}


@pytest.mark.parametrize("name", BARS)
def test_texts_of_bars_are_inside_axes_that_begin_at_zero(name: str) -> None:
    plot = dbanon.plot(BARS[name])
    for panel in panels(plot):
        assert panel.labels
        assert all(box.is_inside(panel.axes) for _, box in panel.labels)
        assert not any(a.overlaps(b) for i, (_, a) in enumerate(panel.labels) for _, b in panel.labels[:i])
    for axes in plot.figure.axes:
        assert axes.get_xlim()[0] <= 0 < axes.get_xlim()[1]
    seconds = [text for text, _ in list(panels(plot))[-1].labels]
    assert all(len(re.sub(r"^\s*0*\.?0*|[.]", "", text)) <= 2 for text in seconds), seconds


def test_plots_have_no_interactive_content_inside_an_image() -> None:
    for rows in (TRADEOFFS["few"], BARS["one"]):
        root = ElementTree.fromstring(dbanon.plot(rows)._repr_svg_())
        assert not [e for e in root.iter() if e.tag in (f"{SVG}a", f"{SVG}script") or e.get("tabindex")]
