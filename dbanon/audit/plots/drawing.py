"""Plots that notebooks show and files store, and the style that all plots share."""

from __future__ import annotations

import io
import re
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
"""Colours of Okabe and Ito, which people with any colour vision can distinguish; without yellow, which is too pale."""

MARKERS = "osD^vPX*<>"
DASHES = ("-", "--", ":", "-.")

FORMATS = (".svg", ".png", ".pdf")

_WITHOUT_DATE: Mapping[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
"""Metadata of matplotlib that omit the date from each kind of file, so that equal plots are equal files."""

_STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "svg.fonttype": "none",  # keep text as text, so that it can be searched, read aloud and selected
    "svg.hashsalt": "dbanon",  # equal figures are equal files
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Drawing:
    """A plot that a notebook shows as SVG; `figure` is a matplotlib figure that can be changed."""

    figure: Figure

    def save(self, path: str | Path) -> Path:
        """Write a .svg, .png or .pdf file atomically, replacing an existing one; return its path.

        Raises:
            InvalidArgumentError: The file name has another ending.
            TargetNotLocalError, WriteFailedError: The file cannot be written.
        """
        file = check_plot_path(path)
        content = self._render(file.suffix.lower()[1:])
        with output_files.open_draft("plot", file) as new:
            new.write_bytes(content)
        return file

    def _repr_svg_(self) -> str:
        """Return the plot as SVG text, which notebooks show; it is as wide as the notebook, up to its own width."""
        return re.sub(r"<svg\b[^>]*>", _scalable_tag, self._render("svg").decode(), count=1)

    def _render(self, format_: str) -> bytes:
        """Return the plot as bytes of an image format: svg, png or pdf; without the date."""
        from matplotlib import rc_context

        buffer = io.BytesIO()
        with rc_context(_STYLE):
            self.figure.savefig(
                buffer,
                format=format_,
                dpi=150,
                facecolor="white",
                metadata=_WITHOUT_DATE[format_],
            )
        return buffer.getvalue()


def _scalable_tag(match: re.Match[str]) -> str:
    """Return the opening tag of an SVG with its width as the greatest width, instead of a fixed width and height."""
    width = re.search(r' width="([^"]+)"', match[0])
    tag = re.sub(r' (?:width|height)="[^"]*"', "", match[0])
    return f'{tag[:-1]} style="width: 100%; max-width: {width[1] if width else "none"}; height: auto">'


def check_plot_path(path: str | Path) -> Path:
    """Return the path of the file that a plot is to be written to; write nothing.

    Raises:
        InvalidArgumentError: The file name has another ending than .svg, .png or .pdf.
        TargetNotLocalError, WriteFailedError: The file cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    file = output_files.local_target("plot", path)
    if file.suffix.lower() not in FORMATS:
        raise errors.InvalidArgumentError("plot", "path", f"a file that ends in {', '.join(FORMATS)}", repr(str(path)))
    require_matplotlib()
    return file


def require_matplotlib(purpose: str = "a plot") -> None:
    """Check that matplotlib is installed; `purpose` is what needs it, for the message.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import_module("matplotlib")
    except ImportError as missing:
        raise errors.MissingExtraError(purpose, "matplotlib", "plot") from missing


def make_panels(n_panels: int) -> tuple[Any, list[Any]]:
    """Return a new matplotlib figure and its panels (axes), at most three next to each other.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    n_columns = min(n_panels, 3)
    n_rows = -(-n_panels // n_columns)
    with rc_context(_STYLE):
        figure = Figure(figsize=(4.2 * n_columns, 3.2 * n_rows + 0.7), layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel().tolist()
    for spare in axes[n_panels:]:
        spare.set_axis_off()
    return figure, axes[:n_panels]


def add_legend(figure: Any, panel: Any, n_names: int) -> None:
    """Add one legend below all panels of a figure, with the labels in `panel` and at most four columns.

    `n_names` is the number of labels.
    """
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(n_names, 4), frameon=False)


def read_result_rows(result: Any) -> list[Row]:
    """Return the rows of a DataFrame, a DuckDB relation or a list of dicts as new dicts, with None for NaN."""
    if hasattr(result, "df"):
        result = result.df()
    rows = result.to_dict("records") if hasattr(result, "to_dict") else list(result)
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def series_styles(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return colour, marker and dashes for each name, as matplotlib arguments; they differ even without colours."""
    return {
        name: {
            "color": COLORS[i % len(COLORS)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": DASHES[i // len(COLORS) % len(DASHES)],
        }
        for i, name in enumerate(names)
    }
