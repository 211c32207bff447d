"""Plot the result of tradeoffs(): one panel per risk against the precision of releases, with the frontier as a line."""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.audit.plots.drawing import Drawing, Row, make_panels, series_styles

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
                    markersize=6,
                    fillstyle="full" if frontier else "none",
                    clip_on=False,
                    **style,
                )
        _label_frontier(panel, [row for row in measured_rows if row["frontier"]], risk, varying_axes)
        for line in panel.lines:
            line.set_in_layout(False)
        panel.set_xlabel("precision (higher keeps more)")
        panel.set_title(RISKS[risk], loc="left")
        panel.margins(x=0.12, y=0.2)  # labels fit above the highest marker
        panel.set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        [*handles, *_frontier_handles()], [*labels, "frontier", "on the frontier", "not on the frontier"],
        loc="outside lower center", ncols=4, frameon=False,
    )  # fmt: skip
    return Drawing(figure)


def _frontier_handles() -> list[Any]:
    """Return legend entries for the line of the frontier, and for filled and hollow markers."""
    from matplotlib.lines import Line2D

    marker: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": "#555555", "markersize": 6}
    return [
        Line2D([], [], color="#999999", linewidth=0.8),
        Line2D([], [], fillstyle="full", **marker),
        Line2D([], [], fillstyle="none", **marker),
    ]


def _setting_text(rows: Sequence[Row], axes: Sequence[str]) -> str:
    """Return the settings of configurations with equal results as one label.

    >>> _setting_text([{"k": 5, "l": 1}, {"k": 5, "l": 2}, {"k": 5, "l": 3}], ("k", "l"))
    'k = 5, l = 1 to 3'
    """
    parts = []
    for axis in axes:
        values = sorted({row[axis] for row in rows})
        text = f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
        parts.append(f"{axis} = {text}")
    return ", ".join(parts)


def _label_frontier(panel: Any, rows: Sequence[Row], risk: str, varying_axes: Sequence[str]) -> None:
    """Join and label the points of `rows` that no other of them dominates in precision and this risk.

    Nothing is drawn without such points.

    Args:
        panel: The matplotlib axes.
        rows: The rows of tradeoffs() on the frontier.
        risk: The column of the risk.
        varying_axes: Those of k, l and t that have several values; they are the label.
    """
    frontier: list[Row] = []
    for row in sorted((r for r in rows if r.get(risk) is not None), key=lambda row: (-row["precision"], row[risk])):
        if not frontier or row[risk] < frontier[-1][risk]:
            frontier.append(row)
    if not frontier:
        return
    panel.plot(
        [r["precision"] for r in frontier], [r[risk] for r in frontier], color="#999999", linewidth=0.8, zorder=0
    )
    middle = (frontier[0]["precision"] + frontier[-1]["precision"]) / 2
    for row in frontier:
        is_left = row["precision"] > middle
        annotation = panel.annotate(
            _setting_text(
                [r for r in rows if (r["precision"], r.get(risk)) == (row["precision"], row[risk])], varying_axes
            ),
            (row["precision"], row[risk]),
            xytext=(-7 if is_left else 7, 6),
            ha="right" if is_left else "left",
            textcoords="offset points",
            fontsize=7,
        )
        annotation.set_in_layout(False)  # labels must not make the panels smaller
