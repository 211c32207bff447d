"""Files and modules that pages, docstrings and comments name exist."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.all_cases

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("dbanon", "docs", "hierarchies", "sql", "tests")
TOP = ("README.md", "CONTRIBUTING.md", "pyproject.toml", ".ci/run")
"""Files outside FOLDERS that are checked. CHANGELOG.md may name files that are gone."""

SUFFIX = re.compile(r"\.(?:ipynb|j2|md|py|sql|toml)\b(?![\w(])")
"""The end of the name of a source file or a page. `con.sql(` is a call."""

STEM = re.compile(r"(?<![\w./{-])[\w/-]++$")
"""The name before the suffix, with its folders."""

MODULE = re.compile(r"dbanon(?:\.\w++){2,}")
"""A module of the package, or something in one: `dbanon.sqltext.quote`, `dbanon.ledger.releases.entries`."""

PART_OF_STRING = re.compile(r"[\w./'\"]$")
"""What precedes a name that is no module: part of a longer name, or a string of SQL."""

PLACEHOLDER = re.compile(r"[A-Z]{3,}")
"""The part of a name that a reader replaces: NAME, FAMILY."""

SHORT_NAMES = {"spark": "integrations/spark", "sqlalchemy": "integrations/sqlalchemy", "dbt": "integrations/dbt"}
"""Packages that users import by a shorter name."""

FILES_OF_USERS = {
    "env.py", "migrations/env.py",  # Alembic
    "models/safe_patients.sql", "models/stg_patients.sql",  # a dbt project
    "policy.toml", "visits.toml",
    "tests/a/test_b.py",
    "con.sql", "spark.sql",  # methods
}  # fmt: skip
"""Names in examples that look like files of the project."""


@cache
def files() -> list[Path]:
    """Return the files of the project that may have or be references."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*") if "__pycache__" not in path.parts)
    return [*(ROOT / name for name in TOP), *sorted(found)]


@cache
def endings() -> frozenset[str]:
    """Return what may name a file or a folder: its path from the root, and from every folder within it."""
    paths = {path.relative_to(ROOT) for path in (*files(), *ROOT.glob("*.*"))}
    folders = {folder for path in paths for folder in path.parents}
    return frozenset("/".join(p.parts[i:]) for p in (*paths, *folders) for i in range(len(p.parts)))


@cache
def is_stale_file(name: str) -> bool:
    """Return whether a name of a file leads nowhere; of one with a placeholder, whether its folder does."""
    folder = PLACEHOLDER.split(name)[0].rpartition("/")[0]
    is_found = name in endings() or (PLACEHOLDER.search(name) is not None and (not folder or folder in endings()))
    return not is_found and name not in FILES_OF_USERS


@cache
def is_stale_module(name: str) -> bool:
    """Return whether a dotted name leads to no module, or to one that does not mention what follows."""
    place, (first, *rest) = ROOT / "dbanon", name.split(".")[1:]
    parts = [*SHORT_NAMES.get(first, first).split("/"), *rest]
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if parts and (place / f"{parts[0]}.py").exists():
        place /= f"{parts.pop(0)}.py"
    text = (place / "__init__.py" if place.is_dir() else place).read_text("utf-8")
    return any(re.search(rf"\b{part}\b", text) is None for part in parts)


def stale_references(text: str) -> list[str]:
    """Return the files and modules in a text that do not exist."""
    stale = []
    for suffix in SUFFIX.finditer(text):
        stem = STEM.search(text[max(suffix.start() - 120, 0) : suffix.start()])
        if stem is not None and is_stale_file(stem[0] + suffix[0]):
            stale.append(stem[0] + suffix[0])
    for module in MODULE.finditer(text):
        if not PART_OF_STRING.search(text[max(module.start() - 1, 0) : module.start()]) and is_stale_module(module[0]):
            stale.append(module[0])
    return stale


def prose(path: Path, text: str) -> Iterator[str]:
    """Yield what a file says to readers: prose of a page, docstrings, and comments."""
    if path.suffix == ".md":
        yield re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    elif path.suffix == ".sql":
        yield from re.findall(r"\{#.*?#\}|--[^\n]*", text, re.DOTALL)
    elif path.suffix == ".py":
        yield from re.findall(r"(?<!\S)#[^\n]*", text)
        nodes = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))
        yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    else:
        yield from re.findall(r"#[^\n]*", text)


def test_files_and_modules_named_in_prose_exist() -> None:
    stale = {}
    for path in files():
        if path.suffix in {".md", ".py", ".sql", ".toml", ".j2", ""}:
            text = path.read_text("utf-8")
            if stale_references(text):  # few files need to be read closely: strings name files of users
                names = list(itertools.chain.from_iterable(map(stale_references, prose(path, text))))
                stale |= {str(path.relative_to(ROOT)): names} if names else {}
    assert stale == {}


@pytest.mark.parametrize(
    ("text", "stale"),
    [
        ("see dbanon/quote.py and dbanon/sqltext/quote.py", ["dbanon/quote.py"]),
        ("as in raw.sql, gate/checks.sql and checks.sql", ["raw.sql"]),
        ("audit/risk.py and views/sequence.py", ["views/sequence.py"]),
        ("dbanon/kernels/NAME.py, dbanon/cores/NAME.py, NAME.sql", ["dbanon/cores/NAME.py"]),
        ("dbanon.sqltext.quote.literal, dbanon.sqltext.quotes", ["dbanon.sqltext.quotes"]),
        ("dbanon.spark.anonymize, dbanon.spark.anonymise", ["dbanon.spark.anonymise"]),
    ],
)
def test_stale_references_are_found(text: str, stale: list[str]) -> None:
    assert stale_references(text) == stale
