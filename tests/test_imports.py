"""Imports point one way, folder by folder, and heavy libraries stay in their folders."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

PACKAGE = Path(__file__).resolve().parents[1] / "dbanon"

RULES = {
    "session": "", "vocabulary": "", "sqltext": "jinja2", "errors": "", "files": "", "source": "",
    "kernels": "numba numpy", "space": "numpy", "functions": "", "models": "numpy", "hierarchy": "", "policy": "",
    "learn": "numpy sklearn", "cluster": "numpy", "release": "", "audit": "", "engine": "duckdb numpy pyarrow",
    "views": "duckdb", "client": "duckdb numpy pandas", "alchemy": "alembic duckdb duckdb_sqlalchemy sqlalchemy",
    "harlequin": "duckdb harlequin", "manual": "click", "shell": "click duckdb prompt_toolkit pygments rich",
    "cli": "click duckdb rich", "__main__": "",
}  # fmt: skip
"""A folder imports from itself and from those before it, and of the libraries below only those that it names."""

LIBRARIES = {library for libraries in RULES.values() for library in libraries.split()}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def folder(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """What a file imports anywhere in it, by its whole name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def test_only_the_public_names_and_the_session_lie_at_the_top() -> None:
    assert {str(path) for path in FILES if len(path.parts) == 1} == {"__init__.py", "__main__.py", "session.py"}
    assert {folder(path) for path in FILES} - {"__init__"} == set(RULES)


@pytest.mark.parametrize("path", [path for path in FILES if path != Path("__init__.py")], ids=str)
def test_a_file_imports_what_its_folder_may(path: Path) -> None:
    before = list(RULES)[: list(RULES).index(folder(path)) + 1]
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "dbanon":
            assert parts[1] in before or parts[1] not in RULES, f"{path} imports {name}"
        elif parts[0] in LIBRARIES:
            assert parts[0] in RULES[folder(path)].split(), f"{path} imports {name}"


def test_importing_the_package_imports_no_library() -> None:
    assert not {name.split(".")[0] for name in imported(Path("__init__.py"))} & LIBRARIES
