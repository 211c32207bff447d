"""Functions fit a page and have few parameters, and templates have short lines."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "dbanon"

LINE_LENGTH = 120

LINES = 60

PUBLIC_PARAMETERS, OTHER_PARAMETERS = 7, 10
"""Most parameters of functions that others call by name, and of private functions and kernels."""

FIELDS = 15
"""Most fields of a dataclass; one of the ledger has one field per column of its table."""

FILES = sorted(PACKAGE.rglob("*.py"))


def is_kernel(path: Path) -> bool:
    """Return whether a file has compiled loops, which numba requires in one function."""
    return "kernels" in path.relative_to(PACKAGE).parts


@cache
def definitions(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes of a file, methods and inner ones too."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Return the functions of a file, methods and inner ones too, without signatures of overloads."""
    for node in definitions(path):
        if isinstance(node, ast.FunctionDef) and "overload" not in map(ast.unparse, node.decorator_list):
            yield node


def lines(function: ast.FunctionDef) -> int:
    """Return the number of lines of a function without decorators, its docstring and those of inner functions."""
    docstrings = [
        (inner.body[0].end_lineno or 0) - inner.body[0].lineno + 1
        for inner in ast.walk(function)
        if isinstance(inner, ast.FunctionDef) and ast.get_docstring(inner) is not None
    ]
    return (function.end_lineno or 0) - function.lineno + 1 - sum(docstrings)


def is_command(function: ast.FunctionDef) -> bool:
    """Return whether a function is a command of the command line: its parameters are the user's options."""
    names = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in function.decorator_list]
    return any(name.rpartition(".")[2] == "command" for name in names)


def parameters(function: ast.FunctionDef) -> int:
    """Return the number of parameters that a caller must know.

    The object of a method does not count, nor do keywords with a default in documented functions.
    """
    args = function.args
    names = [a.arg for a in (*args.posonlyargs, *args.args) if a.arg not in ("self", "cls")]
    optional = sum(default is not None for default in args.kw_defaults)
    is_documented = not function.name.startswith("_") and ast.get_docstring(function) is not None
    return len(names) + len(args.kwonlyargs) - (optional if is_documented else 0)


def functions_above_limit(measure: Callable[[ast.FunctionDef], int], limit: int, files: list[Path]) -> dict[str, int]:
    """Return the functions whose metric exceeds a limit."""
    all_values = {
        f"{path.relative_to(PACKAGE)}:{f.lineno} {f.name}": measure(f) for path in files for f in functions(path)
    }
    assert len(all_values) > 100
    return {name: measurement for name, measurement in all_values.items() if measurement > limit}


def test_functions_have_at_most_max_lines() -> None:
    assert not functions_above_limit(lines, LINES, [path for path in FILES if not is_kernel(path)])


def test_public_functions_have_at_most_seven_parameters() -> None:
    def n_public_parameters(function: ast.FunctionDef) -> int:
        return 0 if function.name.startswith("_") or is_command(function) else parameters(function)

    assert not functions_above_limit(
        n_public_parameters, PUBLIC_PARAMETERS, [path for path in FILES if not is_kernel(path)]
    )


def test_no_function_has_more_than_ten_parameters() -> None:
    assert not functions_above_limit(lambda f: 0 if is_command(f) else parameters(f), OTHER_PARAMETERS, FILES)


def n_fields(node: ast.ClassDef) -> int:
    """Return the number of fields that a dataclass declares, class variables not counted."""
    fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
    return sum(not ast.unparse(field.annotation).startswith("ClassVar") for field in fields)


def test_dataclasses_outside_ledger_have_at_most_15_fields() -> None:
    actual_n_fields = {
        f"{path.relative_to(PACKAGE)} {node.name}": n_fields(node)
        for path in FILES
        if path.relative_to(PACKAGE).parts[0] != "ledger"
        for node in definitions(path)
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in node.decorator_list)
    }
    assert actual_n_fields["runtime/session.py Session"] > 10
    assert not {name: n for name, n in actual_n_fields.items() if n > FIELDS}


def test_template_lines_have_at_most_120_characters() -> None:
    templates = PACKAGE.parent / "sql"
    assert not [
        f"{path.relative_to(templates)}:{number}"
        for path in sorted(templates.rglob("*.sql"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LINE_LENGTH
    ]
