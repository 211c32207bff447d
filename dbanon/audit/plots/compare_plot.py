"""What compare() found: a panel a metric and one for the seconds, a line an algorithm."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.audit.plots.drawing import Drawing, Row, legend, looks, panels
from dbanon.release.plan import metrics as plan_metrics
from dbanon.release.streams import metrics as streams_metrics

AXES = {"k": "k", "d": "quasi-identifiers", "n": "records"}
"""What can be compared by, and how its axis is named."""

COLUMNS = ("algorithm", *AXES, "metric", "mean", "stddev", "seconds")

SECONDS = "seconds"

_ERRORS = ("query_error", SECONDS)
"""What is compared and is no metric of a release."""


def drawing(rows: Sequence[Row]) -> Drawing:
    """By the axis with most values; where others have several, each combination is a line.

    Where there is nothing to go along, bars. Runs that were refused are left out. InvalidArgumentError where nothing is
    left.
    """
    kept = [row for row in rows if row["mean"] is not None]
    if not kept:
        raise errors.InvalidArgumentError("plot", "found", "rows of compare() with a mean", f"{len(rows)} without one")
    metrics = list(dict.fromkeys(row["metric"] for row in kept))
    values = {axis: sorted({row[axis] for row in kept}) for axis in AXES}
    along = max(AXES, key=lambda axis: len(values[axis]))
    apart = [axis for axis in AXES if axis != along and len(values[axis]) > 1]
    lines: dict[str, list[Row]] = {}
    for row in kept:
        name = ", ".join([row["algorithm"], *(f"{axis} = {row[axis]:,}" for axis in apart)])
        lines.setdefault(name, []).append(row)
    figure, axes = panels(len(metrics) + 1)
    better = _better()
    look = looks(list(lines))
    for panel, metric in zip(axes, [*metrics, SECONDS], strict=True):
        shown = {name: _points(of, metric, along, metrics[0]) for name, of in lines.items()}
        if len(values[along]) > 1:
            _draw_lines(panel, shown, look, AXES[along])
        else:
            _draw_bars(panel, shown, look)
        if metric == SECONDS and len(values[along]) > 1:
            panel.set_ylim(bottom=0)
        panel.set_title("seconds of clustering" if metric == SECONDS else metric.replace("_", " "), loc="left")
        panel.text(
            1, 1.02, f"{better[metric]} is better", transform=panel.transAxes, ha="right", va="bottom", color="#555555"
        )
    if len(values[along]) > 1:
        legend(figure, axes[0], len(lines))
    return Drawing(figure)


def _better() -> dict[str, str]:
    """Return whether a higher or a lower figure is better, by metric."""
    of_streams = {measure.name: measure.direction for measure in streams_metrics.STREAM_METRICS}
    of_tables = {metric.name: metric.better for metric in plan_metrics.all_metrics()}
    return of_streams | of_tables | dict.fromkeys(_ERRORS, "lower")


def _points(rows: Sequence[Row], metric: str, along: str, first: str) -> list[tuple[float, float, float]]:
    """Place, value and spread of a line in one panel. All metrics of a run have the same seconds."""
    seconds = metric == SECONDS
    of = [row for row in rows if row["metric"] == (first if seconds else metric)]
    return sorted(
        (row[along], row[SECONDS if seconds else "mean"], 0.0 if seconds else row["stddev"] or 0.0) for row in of
    )


def _draw_lines(
    panel: Any, lines: Mapping[str, list[tuple[float, float, float]]], look: Mapping[str, dict[str, str]], along: str
) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    for name, points in lines.items():
        places, values, spread = (list(part) for part in zip(*points, strict=True)) if points else ([], [], [])
        panel.plot(places, values, label=name, markersize=4, linewidth=1.4, **look[name])
        if any(spread):
            low = [v - s for v, s in zip(values, spread, strict=True)]
            high = [v + s for v, s in zip(values, spread, strict=True)]
            panel.fill_between(places, low, high, color=look[name]["color"], alpha=0.15, linewidth=0)
    panel.set_xlabel(along)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _draw_bars(
    panel: Any, bars: Mapping[str, list[tuple[float, float, float]]], look: Mapping[str, dict[str, str]]
) -> None:
    names = list(bars)[::-1]
    for place, name in enumerate(names):
        for _, value, spread in bars[name][:1]:
            panel.barh(place, value, xerr=spread or None, color=look[name]["color"], height=0.7)
            panel.text(value, place, f" {value:.4g}", va="center", ha="left", fontsize=8)
    panel.set_yticks(range(len(names)), names)
    panel.grid(axis="y", visible=False)
    panel.margins(x=0.18)
