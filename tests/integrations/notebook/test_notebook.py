"""The notebook of the documentation shows the output of its cells."""

from __future__ import annotations

import json

import pytest

for library in ("nbclient", "nbformat", "ipykernel"):
    pytest.importorskip(library, reason=f"{library} is not installed")

from support import notebook  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.not_everyday
def test_notebook_cells_reproduce_output() -> None:
    import nbformat

    stored = nbformat.read(notebook.PATH, 4)
    assert notebook.outputs(notebook.run_notebook()) == notebook.outputs(stored)


def test_notebook_matches_script_without_machine_names() -> None:
    stored = json.loads(notebook.PATH.read_text("utf-8"))
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in stored["cells"]]
    assert cells == list(notebook.CELLS)
    text = notebook.PATH.read_text("utf-8")
    assert len(text) < 40_000 and "/home" not in text and "/tmp" not in text and "Traceback" not in text
    assert sum(bool(cell.get("outputs")) for cell in stored["cells"]) > 7
