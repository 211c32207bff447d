"""The table of environment variables has those that the code reads, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dbanon

ROOT = Path(dbanon.__file__).parents[1]
PAGE = ROOT / "docs" / "environment.md"

OF_LIBRARIES = {"NUMBA_CACHE_DIR", "PGPASSWORD", "MYSQL_PWD", "COLUMNS", "NO_COLOR", "_DBANON_COMPLETE"}
"""Variables in the table that libraries read, and not dbanon."""


def table_variables() -> set[str]:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row.split("|")[1])}


def constants(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def is_environment(node: ast.AST) -> bool:
    return ast.unparse(node) in ("os.environ", "environ")


def read_variables(source: str) -> set[str]:
    """Return the variables that a module reads or names in a constant.

    A constant is one whose name ends in VARIABLE or VARIABLES, or a reference such as `env:DBANON_KEY`.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.getenv", "os.environ.get") and node.args:
            found |= set(constants(node.args[0]))
        elif isinstance(node, ast.Subscript) and is_environment(node.value):
            found |= set(constants(node.slice))
        elif isinstance(node, ast.Compare) and any(map(is_environment, node.comparators)):
            found |= set(constants(node.left))
        elif isinstance(node, ast.Assign) and re.search(r"VARIABLES?$", ast.unparse(node.targets[0])):
            found |= set(constants(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(re.findall(r"^env:([A-Z_]+)$", node.value))
    return {name for name in found if re.fullmatch(r"[A-Z_]+", name)}


def test_table_of_environment_variables_is_complete() -> None:
    read = {name for file in (ROOT / "dbanon").rglob("*.py") for name in read_variables(file.read_text("utf-8"))}
    assert read - {"NAME"} == table_variables() - OF_LIBRARIES
    assert table_variables() >= OF_LIBRARIES


def test_variables_in_messages_are_in_the_table() -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / "dbanon").rglob("*.py")]
    named = {
        name for text in texts for name in re.findall(r"\b(?:NUMBA|DBANON|PG|MYSQL|XDG)_?[A-Z]+(?:_[A-Z]+)*\b", text)
    }
    assert {
        name for name in named if re.search(r"_DIR$|_KEY$|_TOKEN$|PASSWORD$|_PWD$|_HOME$", name)
    } <= table_variables()


def test_reader_of_variables_finds_each_form() -> None:
    source = "A_VARIABLE = 'A'\nos.environ['B'], os.getenv('C'), os.environ.get('D', ''), 'E' in os.environ\n'env:F'"
    assert read_variables(source) == set("ABCDEF")
