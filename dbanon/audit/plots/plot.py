"""dbanon.plot: plot the result of compare() or tradeoffs()."""

from typing import Any

from dbanon import errors
from dbanon.audit.plots import compare_plot, tradeoffs_plot
from dbanon.audit.plots.drawing import Drawing, read_result_rows


def plot(found: Any) -> Drawing:
    """Return a plot of the rows of compare() (one panel per metric) or of tradeoffs() (risk against utility).

    Args:
        found: The rows: a DataFrame, a DuckDB relation or a list of dicts.

    Returns:
        A plot that notebooks show; `save("out.svg")` writes it to a file.

    Raises:
        InvalidArgumentError: The rows are those of another function, or there are none.
        MissingExtraError: matplotlib is not installed.

    Examples:
        >>> import pandas as pd
        >>> import dbanon
        >>> found = dbanon.compare(pd.DataFrame({"age": [21, 23, 24, 61, 65, 68]}), k=[2, 3], qi=["age"])
        >>> [panel.get_title(loc="left") for panel in dbanon.plot(found).figure.axes]
        ['precision', 'ncp', 'seconds of clustering']
    """
    rows = read_result_rows(found)
    for columns, draw in (
        (compare_plot.COLUMNS, compare_plot.draw_comparison),
        (tradeoffs_plot.COLUMNS, tradeoffs_plot.draw_tradeoffs),
    ):
        if rows and set(columns) <= rows[0].keys():
            return draw(rows)
    accepts = "rows of compare() or tradeoffs(), at least one"
    raise errors.InvalidArgumentError("plot", "found", accepts, ", ".join(rows[0]) if rows else "no rows")
