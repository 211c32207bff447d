"""The results of the examples of algorithms in the manual. `python -m tests.support.example_outputs [NAME ...]` records
those of these functions, or of all, on the database of `dbanon demo`.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from dbanon.api import demo
from dbanon.cli.manual import function_page
from dbanon.table_functions.registry import table_functions


def algorithm_functions() -> list[str]:
    """Return the names of the functions whose pages show the output of their example."""
    functions = table_functions()
    names = [name for name in function_page.page_names() if name in functions]
    return [name for name in names if functions[name].kind == "release" or functions[name].stream_algorithm]


def example_output(con: Any, name: str) -> list[list[str]]:
    """Return the header and the rows of the example of a function, as texts."""
    result = con.execute(table_functions()[name].example.code)
    header = [column[0] for column in result.description]
    return [header, *[["NULL" if cell is None else str(cell) for cell in row] for row in result.fetchall()]]


def record_outputs(names: list[str]) -> None:
    """Write the results of the examples of `names`, or of all, to the file that the manual is made from."""
    outputs = dict(function_page.example_outputs()) if function_page.OUTPUTS_FILE.exists() else {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        con = demo.create_demo(Path("dbanon_demo.duckdb"))
        for name in names or algorithm_functions():
            outputs[name] = example_output(con, name)
        con.close()
    lines = [
        f"{name} = [\n" + "".join(f"    {json.dumps(row, ensure_ascii=False)},\n" for row in outputs[name]) + "]\n"
        for name in algorithm_functions()
    ]
    function_page.OUTPUTS_FILE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    record_outputs(sys.argv[1:])
