"""SVG plots without a background, whose colours the page defines.

Each is drawn in colours that represent a role, and the SVG names the role: `var(--ink)` for texts, `var(--grid)`,
`var(--first)` and `var(--second)` for the data. So the same plot is readable in light and dark mode and on paper.
"""

import hashlib
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dbanon.audit.plots.drawing import require_matplotlib
from dbanon.sqltext.quote import one_line

_ROLES = {"ink": "#010203", "grid": "#040506", "first": "#070809", "second": "#0a0b0c"}
"""Colours that nothing else has."""

_STYLE: Any = {
    "font.size": 10,
    "font.family": "sans-serif",
    "text.parse_math": False,  # a $ in a name is a $
    "text.color": _ROLES["ink"],
    "axes.labelcolor": _ROLES["ink"],
    "axes.edgecolor": _ROLES["ink"],
    "xtick.color": _ROLES["ink"],
    "ytick.color": _ROLES["ink"],
    "grid.color": _ROLES["grid"],
    "grid.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "dbanon",
}

_MAX_NAME_LENGTH = 18
"""Maximum number of characters of a name next to a bar."""

_MAX_BARS = 20
"""Most bars of a histogram."""


def count_histogram(points: Sequence[tuple[int, int]], x_label: str, y_label: str) -> str:
    """Return an SVG histogram of whole numbers.

    If the range from the least to the greatest has more than 20 whole numbers, they are binned into at most 20 ranges
    of equal width.

    Args:
        points: (number, count) in ascending order of the numbers; not empty.
        x_label: The label of the numbers.
        y_label: The label of the counts.
    """
    low, high = points[0][0], points[-1][0]
    width = -(-(high - low + 1) // _MAX_BARS)
    heights = Counter[int]()
    for value, count in points:
        heights[(value - low) // width] += count

    def draw(axes: Any) -> None:
        """Draw the bars."""
        middle = [low + place * width + (width - 1) / 2 for place in heights]
        axes.bar(middle, list(heights.values()), width=width * 0.85, color=_ROLES["first"])
        axes.set_xlim(low - width if len(heights) > 1 else 0, high + width)
        _use_whole_number_ticks(axes.xaxis)
        _style_vertical_bars(axes, x_label, y_label)

    return _render_svg(draw, 2.4)


def share_histogram(points: Sequence[tuple[float, int]], x_label: str, y_label: str) -> str:
    """Return an SVG histogram of shares, given as (share, count), in ten ranges from 0 to 1."""
    heights = [0] * 10
    for share, count in points:
        heights[min(int(share * 10 + 1e-9), 9)] += count

    def draw(axes: Any) -> None:
        """Draw the bars."""
        from matplotlib.ticker import PercentFormatter

        axes.bar([i / 10 + 0.05 for i in range(10)], heights, width=0.088, color=_ROLES["first"])
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        _style_vertical_bars(axes, x_label, y_label)

    return _render_svg(draw, 2.4)


def bar_plot(rows: Sequence[tuple[str, float]], x_label: str) -> str:
    """Return an SVG plot with one horizontal bar per (name, value), on an axis from 0 to 1.

    The first name is on top.
    """

    def draw(axes: Any) -> None:
        """Draw the bars."""
        axes.barh(range(len(rows)), [value for _, value in rows], color=_ROLES["first"], height=0.6)
        _label_rows(axes, [name for name, _ in rows])
        axes.set_xlim(0, 1)
        axes.set(xlabel=x_label)

    return _render_svg(draw, 0.9 + 0.32 * len(rows))


def before_after_plot(rows: Sequence[tuple[Any, ...]], x_label: str) -> str:
    """Return an SVG plot with one row per name, on a logarithmic axis.

    `rows` are (name, after) or (name, before, after). The number after is a dot. The number before is a ring, connected
    with it by a line.
    """
    after_values = [row[-1] for row in rows]

    def draw(axes: Any) -> None:
        """Draw the marks."""
        from matplotlib.ticker import StrMethodFormatter

        places = range(len(rows))
        if rows and len(rows[0]) > 2:
            axes.hlines(places, after_values, [row[1] for row in rows], color=_ROLES["grid"], linewidth=2)
            axes.plot([row[1] for row in rows], places, "o", fillstyle="none", markersize=8, markeredgewidth=1.6,
                      color=_ROLES["second"], label="before")  # fmt: skip
        axes.plot(after_values, places, "o", markersize=5, color=_ROLES["first"], label="after")
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        _style_two_marks(axes, [row[0] for row in rows], x_label)

    return _render_svg(draw, 1.3 + 0.32 * len(rows))


def range_plot(rows: Sequence[tuple[str, float, float]], x_label: str) -> str:
    """Return an SVG plot with one row per (name, median, p95): a dot, a diamond, and a line between them."""

    def draw(axes: Any) -> None:
        """Draw the marks."""
        places = range(len(rows))
        axes.hlines(places, [row[1] for row in rows], [row[2] for row in rows], color=_ROLES["grid"], linewidth=2)
        axes.plot([row[1] for row in rows], places, "o", markersize=6, color=_ROLES["first"], label="median")
        axes.plot([row[2] for row in rows], places, "D", markersize=6, color=_ROLES["second"], label="p95")
        _style_two_marks(axes, [row[0] for row in rows], x_label)

    return _render_svg(draw, 1.3 + 0.32 * len(rows))


def _style_vertical_bars(axes: Any, x_label: str, y_label: str) -> None:
    """Set the labels of axes with vertical bars, with whole numbers on the vertical axis and no vertical grid."""
    _use_whole_number_ticks(axes.yaxis)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(axis="x", visible=False)


def _style_two_marks(axes: Any, names: Sequence[str], x_label: str) -> None:
    """Set the labels of axes with two marks per row, start the horizontal axis at 0, and add a legend."""
    axes.set_xlim(left=0)
    _label_rows(axes, names)
    axes.set(xlabel=x_label)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _label_rows(axes: Any, names: Sequence[str]) -> None:
    """Label the rows of axes with names, the first on top; names of more than 18 characters are shortened."""
    labels = [one_line(name) for name in names]
    axes.set_yticks(
        range(len(labels)),
        [name if len(name) <= _MAX_NAME_LENGTH else name[: _MAX_NAME_LENGTH - 1] + "…" for name in labels],
    )
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def _use_whole_number_ticks(axis: Any) -> None:
    """Label an axis with whole numbers only, at about six places."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _render_svg(draw: Callable[[Any], None], height: float) -> str:
    """Draw a plot and return it as an SVG element for a page.

    Args:
        draw: Draws on the axes that it is given.
        height: The height in inches; the width is 4.6.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # Texts stay texts, which the browser has the glyphs of.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        with rc_context(_STYLE):
            figure = Figure(figsize=(4.6, height), layout="constrained")
            draw(figure.add_subplot())
            figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _svg_element(buffer.getvalue())


def _svg_element(file: bytes) -> str:
    """Return matplotlib's SVG file as an element for a page.

    Metadata, style and fixed size are removed, colours become CSS variables of their roles, and ids get a prefix that
    distinguishes the plots of a page.
    """
    from xml.etree import ElementTree

    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(file)  # noqa: S314 - matplotlib wrote it
    for part in list(root.iter()):
        for child in [c for c in part if c.tag.endswith(("metadata", "style"))]:  # the style is the page's
            part.remove(child)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("aria-hidden", "true")  # the caption and the table say what it shows
    digest = hashlib.sha256(file).hexdigest()[:8]  # a page has several, whose names must not meet
    for element in root.iter():
        if element.get("id", "").partition("_")[0] in _GROUPS:
            del element.attrib["id"]
        for name, value in element.attrib.items():
            value = f"{digest}-{value}" if name == "id" else _REFERENCE.sub(rf"\g<1>{digest}-", value)
            element.set(name, _COLOR.sub(lambda color: f"var(--{_ROLE_BY_COLOR[color[0]]})", value))
    return ElementTree.tostring(root, encoding="unicode")


_GROUPS = {
    "figure", "axes", "patch", "matplotlib.axis", "xtick", "ytick", "line2d", "text", "legend", "LineCollection",
}  # fmt: skip
"""Names that matplotlib gives to groups of every figure, to which nothing refers."""

_REFERENCE = re.compile(r"(^#|url\(#)")
_COLOR = re.compile("|".join(_ROLES.values()))
_ROLE_BY_COLOR = {color: role for role, color in _ROLES.items()}
