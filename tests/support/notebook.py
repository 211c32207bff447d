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
        "# dbanon in a notebook\n\nThis notebook uses 1,000 made-up patients. `dbanon demo` creates 20,000 such "
        "patients, so your results differ. "
        "[In a notebook](how-to/notebook.md) explains all commands.\n\n"
        "First load the extension and open a database.",
    ),
    ("code", "%load_ext dbanon\n%dbanon dbanon_demo.duckdb"),
    (
        "markdown",
        "Start a cell with `%%dbanon` and write SQL in it. The first ten rows of the result are shown; the result "
        "itself has all of them.",
    ),
    ("code", "%%dbanon\nSELECT column_name, role, hierarchy FROM dbanon.policy ORDER BY ALL"),
    ("markdown", "If the statement is one call of an algorithm, you see the release and its metrics."),
    ("code", "%%dbanon\nFROM mondrian('patients', k=10)"),
    ("markdown", "With `name <<` you assign the rows to a variable, as a pandas DataFrame."),
    ("code", "%%dbanon safe <<\nFROM mondrian('patients', k=10)"),
    ("code", "safe.groupby('disease').size().sort_values(ascending=False).head(3)"),
    (
        "markdown",
        "You can use variables of the notebook as parameters, with a dollar sign, and DataFrames of the notebook as "
        "sources.",
    ),
    (
        "code",
        "import pandas as pd\n\nk = 3\npeople = pd.DataFrame({'age': [21, 23, 24, 61, 65, 68], 'sick': [True] * 6})",
    ),
    ("code", "%dbanon FROM mondrian('people', k=$k, qi=['age'], sensitive=['sick'])"),
    (
        "markdown",
        "Without a connection, call `dbanon.anonymize`. The result is a frame of the same kind as the one that you "
        "pass: here a pandas DataFrame.",
    ),
    (
        "code",
        "import dbanon\n\nmade = dbanon.anonymize(people, 'mondrian', k=3, qi=['age'], sensitive=['sick'])\nmade",
    ),
    ("code", "made.release"),
    ("markdown", "After a mistake you see one message, without a traceback."),
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
