"""A plot as it is given back: shown in a notebook, saved as a file; and the looks that all plots share."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbanon import errors
from dbanon.runtime import output_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's colours, which all kinds of colour vision tell apart, without yellow, which is too pale to read."""

MARKERS = "osD^vPX*<>"
DASHES = ("-", "--", ":", "-.")

FORMATS = (".svg", ".png", ".pdf")

_LOOKS: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "svg.fonttype": "none",  # texts stay texts: found, read out, selected
    "svg.hashsalt": "dbanon",  # and the same figure is the same file
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Drawing:
    """A plot. A notebook shows it; `figure` is matplotlib's, to be changed at will."""

    figure: Figure

    def save(self, path: str | Path) -> Path:
        """Write a .svg, .png or .pdf file, whole or not at all, in place of one that is there.

        InvalidArgumentError, TargetNotLocalError, WriteFailedError.
        """
        file = writable(path)
        content = self._as(file.suffix.lower()[1:])
        with output_files.open_draft("plot", file) as new:
            new.write_bytes(content)
        return file

    def _repr_svg_(self) -> str:
        return self._as("svg").decode()

    def _as(self, kind: str) -> bytes:
        from matplotlib import rc_context

        made = io.BytesIO()
        with rc_context(_LOOKS):
            self.figure.savefig(
                made, format=kind, dpi=150, facecolor="white", metadata={} if kind == "png" else _dateless(kind)
            )
        return made.getvalue()


def writable(path: str | Path) -> Path:
    """Return the file that a plot is written to.

    InvalidArgumentError, TargetNotLocalError, WriteFailedError, and MissingExtraError.
    """
    file = output_files.local_target("plot", path)
    if file.suffix.lower() not in FORMATS:
        raise errors.InvalidArgumentError("plot", "path", f"a file that ends in {', '.join(FORMATS)}", repr(str(path)))
    library()
    return file


def library() -> None:
    """MissingExtraError where there is none to draw with."""
    try:
        import_module("matplotlib")
    except ImportError as missing:
        raise errors.MissingExtraError("a plot", "matplotlib", "plot") from missing


def _dateless(kind: str) -> dict[str, None]:
    return {"Date": None} if kind == "svg" else {"CreationDate": None}


def panels(number: int) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, at most three in a row. MissingExtraError."""
    library()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    across = min(number, 3)
    down = -(-number // across)
    with rc_context(_LOOKS):
        figure = Figure(figsize=(4.2 * across, 3.2 * down + 0.7), layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for spare in axes[number:]:
        spare.set_axis_off()
    return figure, axes[:number]


def legend(figure: Any, of: Any, names: int) -> None:
    """One legend under all panels."""
    handles, labels = of.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(names, 4), frameon=False)


def rows_of(found: Any) -> list[Row]:
    """Return the rows of a DataFrame, of a DuckDB relation, or rows as they are, with None where there is no value."""
    if hasattr(found, "df"):
        found = found.df()
    rows = found.to_dict("records") if hasattr(found, "to_dict") else list(found)
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def looks(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Colour, marker and dashes of each name: no two are alike, without their colours neither."""
    return {
        name: {
            "color": COLORS[i % len(COLORS)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": DASHES[i // len(COLORS) % len(DASHES)],
        }
        for i, name in enumerate(names)
    }
