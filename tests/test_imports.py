"""Imports point one way, folder by folder, and heavy libraries stay in their folders."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

PACKAGE = Path(__file__).resolve().parents[1] / "dbanon"

ORDER = (
    "session", "vocabulary", "sqltext", "errors", "files", "source", "kernels", "space", "functions", "models",
    "hierarchy", "policy", "learn", "cluster", "release", "audit", "engine", "views", "client", "alchemy", "harlequin",
    "manual", "shell", "cli", "__main__",
)  # fmt: skip
"""A folder imports from itself and from those before it."""

TO_TURN = {("manual", "cli"), ("manual", "shell")}
"""Imports that still point the other way."""

HOMES = {
    "alembic": {"alchemy"},
    "click": {"cli", "manual", "shell"},
    "duckdb": {"alchemy", "cli", "client", "engine", "harlequin", "shell", "views"},
    "duckdb_sqlalchemy": {"alchemy"},
    "harlequin": {"harlequin"},
    "jinja2": {"sqltext"},
    "numba": {"kernels"},
    "numpy": {"client", "cluster", "engine", "kernels", "learn", "models", "space"},
    "pandas": {"client"},
    "prompt_toolkit": {"shell"},
    "pyarrow": {"engine"},
    "pygments": {"shell"},
    "rich": {"cli", "shell"},
    "sklearn": {"learn"},
    "sqlalchemy": {"alchemy"},
}
"""The folders that may import a library."""

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
    assert {folder(path) for path in FILES} - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("path", [path for path in FILES if path != Path("__init__.py")], ids=str)
def test_imports_point_to_earlier_folders(path: Path) -> None:
    here = ORDER.index(folder(path))
    for name in imported(path):
        where = name.split(".")[1] if name.startswith("dbanon.") else ""
        if where in ORDER and (folder(path), where) not in TO_TURN:
            assert ORDER.index(where) <= here, f"{path} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_heavy_libraries_stay_in_their_folders(path: Path) -> None:
    for name in imported(path):
        library = name.split(".")[0]
        if library in HOMES:
            assert folder(path) in HOMES[library], f"{path} imports {library}"
