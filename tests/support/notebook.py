"""The notebook of the documentation: its cells are here, its outputs are their results.

    (cd tests && python -m support.notebook)

rewrites docs/notebook.ipynb.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from support import documents

PATH = documents.ROOT / "docs" / "notebook.ipynb"
DATABASE = "dbanon_demo.duckdb"

CELLS: tuple[tuple[str, str], ...] = (
    (
        "markdown",
        "# dbanon in a notebook\n\nMade-up patients, as `dbanon demo` makes them, 1,000 of them here. "
        "[In a notebook](how-to/notebook.md) says more.",
    ),
    ("code", "%load_ext dbanon\n%dbanon dbanon_demo.duckdb"),
    ("markdown", "A cell is SQL. Its rows are a table; all of them are in the answer, and ten are shown."),
    ("code", "%%dbanon\nSELECT column_name, role, hierarchy FROM dbanon.policy ORDER BY ALL"),
    ("markdown", "A release is shown with its metrics."),
    ("code", "%%dbanon\nFROM mondrian('patients', k=10)"),
    ("markdown", "`name <<` assigns the rows, as a DataFrame of pandas."),
    ("code", "%%dbanon safe <<\nFROM mondrian('patients', k=10)"),
    ("code", "safe.groupby('disease').size().sort_values(ascending=False).head(3)"),
    ("markdown", "Variables of the notebook are parameters, with a dollar sign, and its DataFrames are sources."),
    (
        "code",
        "import pandas as pd\n\nk = 3\npeople = pd.DataFrame({'age': [21, 23, 24, 61, 65, 68], 'sick': [True] * 6})",
    ),
    ("code", "%dbanon FROM mondrian('people', k=$k, qi=['age'], sensitive=['sick'])"),
    ("markdown", "Without a connection, `dbanon.anonymize` gives a frame of the kind that came."),
    (
        "code",
        "import dbanon\n\nmade = dbanon.anonymize(people, 'mondrian', k=3, qi=['age'], sensitive=['sick'])\nmade",
    ),
    ("code", "made.release"),
    ("markdown", "A mistake is one message."),
    ("code", "%dbanon FROM mondrian('patients', k=10, roundng=['age'])"),
    ("code", "%dbanon --close"),
)


def run_notebook() -> Any:
    """Return the notebook, run in a folder of its own next to a small demo."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    for number, (kind, source) in enumerate(CELLS):
        make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        cell = make(source, id=f"cell-{number}")
        if "roundng" in source:
            cell.metadata["tags"] = ["raises-exception"]
        notebook.cells.append(cell)
    with tempfile.TemporaryDirectory() as folder:
        documents.create_small_demo(Path(folder) / DATABASE)
        client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}, record_timing=False)
        client.execute(env={**os.environ, "PYTHONWARNINGS": "ignore"})
    notebook.metadata.pop("language_info", None)
    return notebook


def outputs(notebook: Any) -> list[list[dict[str, Any]]]:
    """Return the visible outputs of a notebook's cells, without removed progress bars."""
    return [
        [dict(shown_output) for shown_output in cell.outputs if shown_output.get("data") != {"text/plain": ""}]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


if __name__ == "__main__":
    import nbformat

    nbformat.write(run_notebook(), PATH)
