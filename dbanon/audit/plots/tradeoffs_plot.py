"""Plot the result of tradeoffs(): one panel per risk against the precision of releases, with the frontier as a line."""

import math
from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.audit.plots.drawing import Drawing, Row, make_panels, series_styles
from dbanon.audit.plots.labels import MARKER_SIZE, place_labels

RISKS = {
    "risk_highest": "highest risk of re-identification",
    "risk_average": "average risk of re-identification",
    "homogeneous_share": "records in classes of one sensitive value",
    "prediction": "sensitive values predicted right",
    "reconstruction": "records reconstructed",
}
"""Columns that are drawn if they have values, with the label of their axis."""

COLUMNS = ("algorithm", "k", "l", "t", "precision", "frontier", "statement")


def draw_tradeoffs(rows: Sequence[Row]) -> Drawing:
    """Plot rows of tradeoffs(): one panel per risk, with each configuration as a point of precision and risk.

    Points of the frontier (configurations that no other dominates) are filled, joined and labelled. Configurations that
    could not be released are omitted.

    Raises:
        InvalidArgumentError: No row has a precision.
        MissingExtraError: matplotlib is not installed.
    """
    measured_rows = [row for row in rows if row["precision"] is not None]
    if not measured_rows:
        raise errors.InvalidArgumentError(
            "plot", "found", "rows of tradeoffs() with a precision", f"{len(rows)} without one"
        )
    risks = [risk for risk in RISKS if any(row.get(risk) is not None for row in measured_rows)]
    varying_axes = [axis for axis in ("k", "l", "t") if len({row[axis] for row in measured_rows}) > 1]
    names = list(dict.fromkeys(row["algorithm"] for row in measured_rows))
    styles = series_styles(names)
    figure, axes = make_panels(len(risks))
    frontier_points: list[list[FrontierPoint]] = []
    for panel, risk in zip(axes, risks, strict=True):
        for name in names:
            algorithm_rows = [row for row in measured_rows if row["algorithm"] == name]
            style: dict[str, Any] = {
                "color": styles[name]["color"],
                "marker": styles[name]["marker"],
                "linestyle": "none",
            }
            for frontier in (True, False):
                points = [row for row in algorithm_rows if bool(row["frontier"]) == frontier]
                panel.plot(
                    [row["precision"] for row in points],
                    [row.get(risk) for row in points],
                    label=name if frontier == bool(algorithm_rows[0]["frontier"]) else None,
                    markersize=MARKER_SIZE,
                    fillstyle="full" if frontier else "none",
                    gid=f"points {name}",
                    **style,
                )
        frontier_points.append(_frontier_points([row for row in measured_rows if row["frontier"]], risk))
        _draw_frontier(panel, frontier_points[-1])
        panel.set_xlabel("precision (higher keeps more)")
        panel.set_title(RISKS[risk], loc="left")
        _set_limits(panel, measured_rows, risk)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        [*handles, *_frontier_handles()], [*labels, "frontier", "on the frontier", "not on the frontier"],
        loc="outside lower center", ncols=4, frameon=False,
    )  # fmt: skip
    figure.draw_without_rendering()  # the layout, from which the positions of labels follow
    for panel, risk, frontier_of_panel in zip(axes, risks, frontier_points, strict=True):
        markers = [(row["precision"], row[risk]) for row in measured_rows if row.get(risk) is not None]
        place_labels(panel, [(x, y, _setting_text(r, varying_axes)) for x, y, r in frontier_of_panel], markers)
    figure.set_layout_engine("none")
    return Drawing(figure)


def _set_limits(panel: Any, rows: Sequence[Row], risk: str) -> None:
    """Set the limits of a panel: room for labels around the markers, at least 0.1 wide, and from zero on.

    Args:
        panel: The matplotlib axes.
        rows: The rows of tradeoffs() that are drawn.
        risk: The column of the risk.
    """
    points = [(row["precision"], row[risk]) for row in rows if row.get(risk) is not None]
    lowest, highest = min(x for x, _ in points), max(x for x, _ in points)
    margin = max(0.18 * (highest - lowest), 0.05)
    panel.set_xlim(lowest - margin, highest + margin)
    top = max(y for _, y in points) or 0.1
    panel.set_ylim(-0.06 * top, 1.25 * top)


def _frontier_handles() -> list[Any]:
    """Return legend entries for the line of the frontier, and for filled and hollow markers."""
    from matplotlib.lines import Line2D

    marker: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": "#555555", "markersize": 6}
    return [
        Line2D([], [], color="#999999", linewidth=0.8),
        Line2D([], [], fillstyle="full", **marker),
        Line2D([], [], fillstyle="none", **marker),
    ]


FrontierPoint = tuple[float, float, list[Row]]
"""Precision, risk, and the rows of tradeoffs() with these."""


def _setting_text(rows: Sequence[Row], axes: Sequence[str]) -> str:
    """Return the settings of configurations with equal results as one label.

    >>> _setting_text([{"k": 5, "l": 1}, {"k": 5, "l": 2}, {"k": 5, "l": 3}], ("k", "l"))
    'k = 5, l = 1 to 3'
    >>> _setting_text([{"k": 5, "l": 3}, {"k": 10, "l": 1}], ("k", "l"))
    'k = 5, l = 3; k = 10, l = 1'
    """
    settings = sorted({tuple(row[axis] for axis in axes) for row in rows})
    values = [sorted(set(column)) for column in zip(*settings, strict=True)]
    if len(settings) == math.prod(map(len, values)):
        return ", ".join(f"{axis} = {_range_text(v)}" for axis, v in zip(axes, values, strict=True))
    texts = [", ".join(f"{axis} = {v:g}" for axis, v in zip(axes, setting, strict=True)) for setting in settings]
    return "; ".join(texts if len(texts) <= 2 else [texts[0], f"{len(texts) - 1} more"])


def _range_text(values: Sequence[float]) -> str:
    """Return values, in ascending order, as a text: one, two, or the first and the last."""
    if len(values) <= 2:
        return " and ".join(f"{value:g}" for value in values)
    return f"{values[0]:g} to {values[-1]:g}"


def _frontier_points(rows: Sequence[Row], risk: str) -> list[FrontierPoint]:
    """Return the points that no other point dominates in precision and a risk, by falling precision.

    Rows with equal results are one point.

    Args:
        rows: The rows of tradeoffs() on the frontier.
        risk: The column of the risk.
    """
    points: list[FrontierPoint] = []
    for row in sorted((r for r in rows if r.get(risk) is not None), key=lambda row: (-row["precision"], row[risk])):
        if points and (row["precision"], row[risk]) == points[-1][:2]:
            points[-1][2].append(row)
        elif not points or row[risk] < points[-1][1]:
            points.append((row["precision"], row[risk], [row]))
    return points


def _draw_frontier(panel: Any, points: Sequence[FrontierPoint]) -> None:
    """Join the points of the frontier by a line; draw nothing without points."""
    if points:
        panel.plot([x for x, _, _ in points], [y for _, y, _ in points], color="#999999", linewidth=0.8, zorder=0)
