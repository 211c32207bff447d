"""Plots for a page: SVG without a background, whose colours the page chooses.

Each is drawn in colours that stand for a role, and the SVG names the role: `var(--ink)` for texts, `var(--grid)`,
`var(--first)` and `var(--second)` for what is shown. So the same picture is read in light and dark and on paper.
"""

import hashlib
import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from dbanon.audit.plots.drawing import library
from dbanon.sqltext.quote import one_line

_ROLES = {"ink": "#010203", "grid": "#040506", "first": "#070809", "second": "#0a0b0c"}
"""Colours that nothing else has."""

_LOOKS: Any = {
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

_NAME = 18
"""Characters of a name beside a bar."""

_BARS = 20
"""Most bars of a histogram."""


def counts(points: Sequence[tuple[int, int]], along: str, up: str) -> str:
    """How often whole numbers occur: (number, count); many are gathered into ranges of one width."""
    low, high = points[0][0], points[-1][0]
    width = -(-(high - low + 1) // _BARS)
    heights: dict[int, int] = {}
    for value, count in points:
        place = (value - low) // width
        heights[place] = heights.get(place, 0) + count

    def draw(axes: Any) -> None:
        middle = [low + place * width + (width - 1) / 2 for place in heights]
        axes.bar(middle, list(heights.values()), width=width * 0.85, color=_ROLES["first"])
        axes.set_xlim(low - width, high + width)
        _whole(axes.xaxis)
        _standing(axes, along, up)

    return _svg(draw, 2.4)


def shares(points: Sequence[tuple[float, int]], along: str, up: str) -> str:
    """How often shares occur: (share, count), in ten ranges from 0 to 1."""
    heights = [0] * 10
    for share, count in points:
        heights[min(int(share * 10 + 1e-9), 9)] += count

    def draw(axes: Any) -> None:
        axes.bar([i / 10 + 0.05 for i in range(10)], heights, width=0.088, color=_ROLES["first"])
        axes.set_xlim(0, 1)
        _standing(axes, along, up)

    return _svg(draw, 2.4)


def bars(of: Sequence[tuple[str, float]], along: str) -> str:
    """Return a bar a name, from 0 to 1."""

    def draw(axes: Any) -> None:
        axes.barh(range(len(of)), [value for _, value in of], color=_ROLES["first"], height=0.6)
        _named(axes, [name for name, _ in of])
        axes.set_xlim(0, 1)
        axes.set(xlabel=along)

    return _svg(draw, 0.9 + 0.32 * len(of))


def before_and_after(of: Sequence[tuple[Any, ...]], along: str) -> str:
    """Return a name with one number, or with two: before as a ring, after as a dot, and a line between."""
    after = [row[-1] for row in of]

    def draw(axes: Any) -> None:
        from matplotlib.ticker import StrMethodFormatter

        places = range(len(of))
        if of and len(of[0]) > 2:
            axes.hlines(places, after, [row[1] for row in of], color=_ROLES["grid"], linewidth=2)
            axes.plot([row[1] for row in of], places, "o", fillstyle="none", markersize=8, markeredgewidth=1.6,
                      color=_ROLES["second"], label="before")  # fmt: skip
        axes.plot(after, places, "o", markersize=5, color=_ROLES["first"], label="after")
        axes.set_xscale("symlog", linthresh=1)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        _two_marks(axes, [row[0] for row in of], along)

    return _svg(draw, 1.3 + 0.32 * len(of))


def ranges(of: Sequence[tuple[str, float, float]], along: str) -> str:
    """Return a name with two numbers: the lower one as a dot, the upper one as a diamond, and a line between."""

    def draw(axes: Any) -> None:
        places = range(len(of))
        axes.hlines(places, [row[1] for row in of], [row[2] for row in of], color=_ROLES["grid"], linewidth=2)
        axes.plot([row[1] for row in of], places, "o", markersize=6, color=_ROLES["first"], label="median")
        axes.plot([row[2] for row in of], places, "D", markersize=6, color=_ROLES["second"], label="p95")
        _two_marks(axes, [row[0] for row in of], along)

    return _svg(draw, 1.3 + 0.32 * len(of))


def _standing(axes: Any, along: str, up: str) -> None:
    """Bars that stand: counts upwards."""
    _whole(axes.yaxis)
    axes.set(xlabel=along, ylabel=up)
    axes.grid(axis="x", visible=False)


def _two_marks(axes: Any, names: Sequence[str], along: str) -> None:
    """Rows with two marks each, which a legend explains."""
    axes.set_xlim(left=0)
    _named(axes, names)
    axes.set(xlabel=along)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _named(axes: Any, names: Sequence[str]) -> None:
    """Rows by their names, the first on top."""
    cut = [one_line(name) for name in names]
    axes.set_yticks(range(len(cut)), [name if len(name) <= _NAME else name[: _NAME - 1] + "…" for name in cut])
    axes.set_ylim(len(cut) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)


def _whole(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _svg(draw: Callable[[Any], None], height: float) -> str:
    """What `draw` draws, as an element of a page. MissingExtraError."""
    library()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    made = io.BytesIO()
    with warnings.catch_warnings():
        # Texts stay texts, which the browser has the glyphs of.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        with rc_context(_LOOKS):
            figure = Figure(figsize=(4.6, height), layout="constrained")
            draw(figure.add_subplot())
            figure.savefig(made, format="svg", transparent=True, metadata={"Date": None})
    return _element(made.getvalue())


def _element(file: bytes) -> str:
    """Return the SVG of a file without what is not drawn, in roles for colours, and without a size of its own."""
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
    own = hashlib.sha256(file).hexdigest()[:8]  # a page has several, whose names must not meet
    for element in root.iter():
        if element.get("id", "").partition("_")[0] in _GROUPS:
            del element.attrib["id"]
        for name, value in element.attrib.items():
            value = f"{own}-{value}" if name == "id" else _REFERENCE.sub(rf"\g<1>{own}-", value)
            element.set(name, _COLOR.sub(_role, value))
    return ElementTree.tostring(root, encoding="unicode")


_GROUPS = {
    "figure", "axes", "patch", "matplotlib.axis", "xtick", "ytick", "line2d", "text", "legend", "LineCollection",
}  # fmt: skip
"""Names that matplotlib gives to groups of every figure, to which nothing refers."""

_REFERENCE = re.compile(r"(^#|url\(#)")
_COLOR = re.compile("|".join(_ROLES.values()))
_OF = {color: role for role, color in _ROLES.items()}


def _role(found: re.Match[str]) -> str:
    return f"var(--{_OF[found.group()]})"
