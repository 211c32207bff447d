"""Plot the result of compare(): one panel per metric and one for the seconds, one line per algorithm."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.audit.plots.drawing import Drawing, Row, add_legend, make_panels, series_styles
from dbanon.audit.plots.labels import text_width
from dbanon.release.plan import metrics as plan_metrics
from dbanon.release.streams import metrics as streams_metrics

AXES = {"k": "k", "n_quasi_identifiers": "quasi-identifiers", "n": "records"}
"""Columns that can be an axis, with its label."""

COLUMNS = ("algorithm", *AXES, "metric", "mean", "stddev", "seconds")

SECONDS = "seconds"

_NOT_METRICS = ("query_error", SECONDS)
"""Compared values that are not metrics of a release."""


def draw_comparison(rows: Sequence[Row]) -> Drawing:
    """Plot rows of compare(): one panel per metric and one for the seconds, with one line per algorithm.

    The x axis is k, the number of quasi-identifiers or the number of records: the one with most values. Other axes with
    several values make separate lines. If no axis has several values, bars are drawn. Rows without a mean (of runs that
    were refused) are omitted.

    Raises:
        InvalidArgumentError: No row has a mean.
        MissingExtraError: matplotlib is not installed.
    """
    measured_rows = [row for row in rows if row["mean"] is not None]
    if not measured_rows:
        raise errors.InvalidArgumentError("plot", "found", "rows of compare() with a mean", f"{len(rows)} without one")
    metrics = list(dict.fromkeys(row["metric"] for row in measured_rows))
    values = {axis: sorted({row[axis] for row in measured_rows}) for axis in AXES}
    x_axis = max(AXES, key=lambda axis: len(values[axis]))
    line_axes = [axis for axis in AXES if axis != x_axis and len(values[axis]) > 1]
    lines: dict[str, list[Row]] = {}
    for row in measured_rows:
        name = ", ".join([row["algorithm"], *(f"{axis} = {row[axis]:,}" for axis in line_axes)])
        lines.setdefault(name, []).append(row)
    figure, axes = make_panels(len(metrics) + 1)
    directions = _metric_directions()
    styles = series_styles(list(lines))
    for panel, metric in zip(axes, [*metrics, SECONDS], strict=True):
        points = {name: _points(line_rows, metric, x_axis, metrics[0]) for name, line_rows in lines.items()}
        if len(values[x_axis]) > 1:
            _draw_lines(panel, points, styles, AXES[x_axis])
        else:
            _draw_bars(panel, points, styles, 2 if metric == SECONDS else 4)
        if metric == SECONDS and len(values[x_axis]) > 1:
            panel.set_ylim(bottom=0)
        panel.set_title("seconds of clustering" if metric == SECONDS else metric.replace("_", " "), loc="left", pad=18)
        panel.text(
            0,
            1.02,
            f"{directions[metric]} is better",
            transform=panel.transAxes,
            ha="left",
            va="bottom",
            color="#555555",
        )
    if len(values[x_axis]) > 1:
        add_legend(figure, axes[0], len(lines))
    else:
        figure.draw_without_rendering()  # the layout, which says how wide the texts next to the bars are
        for panel in axes:
            _fit_bar_texts(panel)
        figure.set_layout_engine("none")
    return Drawing(figure)


def _metric_directions() -> dict[str, str]:
    """Return "higher" or "lower" by metric name: which values are better, for metrics of releases and of streams."""
    stream_metrics = {measure.name: measure.direction for measure in streams_metrics.STREAM_METRICS}
    release_metrics = {metric.name: metric.better for metric in plan_metrics.all_metrics()}
    return stream_metrics | release_metrics | dict.fromkeys(_NOT_METRICS, "lower")


def _points(rows: Sequence[Row], metric: str, x_axis: str, first_metric: str) -> list[tuple[float, float, float]]:
    """Return (position, value, standard deviation) of a line's points in one panel, sorted.

    Args:
        rows: The rows of the line.
        metric: The metric of the panel, or "seconds".
        x_axis: The column of the positions.
        first_metric: A metric from whose rows the seconds are read, as they are equal for all metrics of a run.
    """
    is_seconds = metric == SECONDS
    metric_rows = [row for row in rows if row["metric"] == (first_metric if is_seconds else metric)]
    return sorted(
        (row[x_axis], row[SECONDS if is_seconds else "mean"], 0.0 if is_seconds else row["stddev"] or 0.0)
        for row in metric_rows
    )


def _draw_lines(
    panel: Any,
    lines: Mapping[str, list[tuple[float, float, float]]],
    styles: Mapping[str, dict[str, str]],
    x_label: str,
) -> None:
    """Draw each line of points (position, value, standard deviation) in a panel, with a band of one standard deviation.

    No band is drawn for a line without deviations.

    Args:
        panel: The matplotlib axes.
        lines: The points by name of the line.
        styles: Colour, marker and dashes by name of the line.
        x_label: The label of the horizontal axis.
    """
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    for name, points in lines.items():
        x_values, values, deviations = (list(part) for part in zip(*points, strict=True)) if points else ([], [], [])
        panel.plot(x_values, values, label=name, markersize=4, linewidth=1.4, **styles[name])
        if any(deviations):
            low = [v - s for v, s in zip(values, deviations, strict=True)]
            high = [v + s for v, s in zip(values, deviations, strict=True)]
            panel.fill_between(x_values, low, high, color=styles[name]["color"], alpha=0.15, linewidth=0)
    panel.set_xlabel(x_label)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _draw_bars(
    panel: Any,
    bars: Mapping[str, list[tuple[float, float, float]]],
    styles: Mapping[str, dict[str, str]],
    n_digits: int,
) -> None:
    """Draw one horizontal bar per name in `bars`, from top to bottom, with value as text and standard deviation.

    Only the first point (position, value, standard deviation) of each name is drawn. `styles` are those of the bars by
    name; only the colour is used. The text has `n_digits` significant digits.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    names = list(bars)[::-1]
    for y, name in enumerate(names):
        for _, value, deviation in bars[name][:1]:
            panel.barh(y, value, xerr=deviation or None, color=styles[name]["color"], height=0.7)
            end = max(value, 0) + deviation
            text = f" {value:,.0f}" if abs(value) >= 10**n_digits else f" {value:.{n_digits}g}"
            panel.text(end, y, text, va="center", ha="left", fontsize=BAR_FONT_SIZE, gid="label")
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(min(len(names), 3) - 3.6, len(names) - 0.4)  # a single bar is no wider than one of three
    panel.xaxis.set_major_locator(MaxNLocator(nbins=4))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.6g}"))
    panel.grid(axis="y", visible=False)


def _fit_bar_texts(panel: Any) -> None:
    """Make the horizontal axis of bars so long that the texts next to them are inside the axes; it includes zero."""
    labels = [text for text in panel.texts if text.get_gid() == "label"]
    lowest = min([0.0, *(bar.get_width() - abs(bar.get_width()) * 0.1 for bar in panel.patches if bar.get_width() < 0)])
    available = panel.bbox.width - max([0.0, *(text_width(panel, t.get_text(), BAR_FONT_SIZE) for t in labels)]) - 4
    highest = max([0.0, *(text.get_position()[0] for text in labels)])
    if available > 0 and highest > lowest:
        panel.set_xlim(lowest, lowest + (highest - lowest) * panel.bbox.width / available)


BAR_FONT_SIZE = 8
"""Size of the texts next to bars, in points."""
