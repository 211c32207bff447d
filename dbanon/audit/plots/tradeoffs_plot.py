"""What choose() found: risk against what a release keeps, a panel a risk, the frontier as a line."""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.audit.plots.drawing import Drawing, Row, legend, looks, panels

RISKS = {
    "risk_highest": "highest risk of re-identification",
    "risk_average": "average risk of re-identification",
    "homogeneous_share": "records in classes of one sensitive value",
    "prediction": "sensitive values predicted right",
    "reconstruction": "records reconstructed",
}
"""Columns that are drawn, where they have values, and how their axis is named."""

COLUMNS = ("algorithm", "k", "l", "t", "precision", "frontier", "statement")


def drawing(rows: Sequence[Row]) -> Drawing:
    """Points of the frontier are filled, and those that no other of them beats in a panel are joined and named there.
    What could not be released is left out. InvalidArgumentError where nothing is left."""
    kept = [row for row in rows if row["precision"] is not None]
    if not kept:
        raise errors.InvalidArgumentError(
            "plot", "found", "rows of choose() with a precision", f"{len(rows)} without one"
        )
    risks = [risk for risk in RISKS if any(row.get(risk) is not None for row in kept)]
    several = [axis for axis in ("k", "l", "t") if len({row[axis] for row in kept}) > 1]
    names = list(dict.fromkeys(row["algorithm"] for row in kept))
    look = looks(names)
    figure, axes = panels(len(risks))
    for panel, risk in zip(axes, risks, strict=True):
        for name in names:
            of = [row for row in kept if row["algorithm"] == name]
            style: dict[str, Any] = {"color": look[name]["color"], "marker": look[name]["marker"], "linestyle": "none"}
            for frontier in (True, False):
                points = [row for row in of if bool(row["frontier"]) == frontier]
                panel.plot(
                    [row["precision"] for row in points],
                    [row.get(risk) for row in points],
                    label=name if frontier == bool(of[0]["frontier"]) else None,
                    markersize=6,
                    fillstyle="full" if frontier else "none",
                    clip_on=False,
                    **style,
                )
        _label(panel, [row for row in kept if row["frontier"]], risk, several)
        for line in panel.lines:
            line.set_in_layout(False)
        panel.set_xlabel("precision (higher keeps more)")
        panel.set_title(RISKS[risk], loc="left")
        panel.set_ylim(bottom=0)
        panel.margins(x=0.12, y=0.12)
    legend(figure, axes[0], len(names))
    return Drawing(figure)


def _label(panel: Any, rows: Sequence[Row], risk: str, several: Sequence[str]) -> None:
    """Name the points of the frontier by what differs, and join those that no other of them beats in this panel."""
    best: list[Row] = []
    for row in sorted((r for r in rows if r.get(risk) is not None), key=lambda row: (-row["precision"], row[risk])):
        if not best or row[risk] < best[-1][risk]:
            best.append(row)
    if not best:
        return
    panel.plot([r["precision"] for r in best], [r[risk] for r in best], color="#999999", linewidth=0.8, zorder=0)
    middle = (best[0]["precision"] + best[-1]["precision"]) / 2
    for row in best:
        left = row["precision"] > middle
        named = panel.annotate(
            ", ".join(f"{axis} = {row[axis]:g}" for axis in several),
            (row["precision"], row[risk]),
            xytext=(-6 if left else 6, 4),
            ha="right" if left else "left",
            textcoords="offset points",
            fontsize=7,
        )
        named.set_in_layout(False)  # a name takes no room from the panels
