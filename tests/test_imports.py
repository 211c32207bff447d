"""Imports point one way, package by package, and heavy libraries stay in their packages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "dbanon"
TEMPLATES = ROOT / "sql"

TIERS = {
    "all": {
        "sqltext": "jinja2",
        "errors": "duckdb",
        "runtime": "",
        "source": "",
        "table_functions": "",
        "kernels": "numba numpy",
        "encoding": "numpy",
        "privacy_models": "numpy",
        "policy": "",
        "algorithms": "numpy sklearn",
        "gate": "",
        "release": "",
        "ledger": "duckdb numpy pyarrow",
        "audit": "matplotlib numpy sklearn",
        "publishing": "duckdb jinja2 matplotlib",
        "views": "duckdb",
        "udf": "duckdb numpy pyarrow",
        "api": "duckdb ibis numpy pandas pyarrow",
        "integrations": "alembic dbt dbt_common duckdb duckdb_sqlalchemy harlequin numpy pandas polars pyarrow pyspark sqlalchemy",
        "cli": "click duckdb prompt_toolkit pyarrow pygments rich",
    },
}  # fmt: skip
"""The packages, lowest first. A package imports from itself and from those before it, and only the libraries named."""

INTEGRATIONS = {
    "sqlalchemy": "alembic duckdb duckdb_sqlalchemy sqlalchemy", "dbt": "dbt dbt_common duckdb",
    "spark": "duckdb numpy pyarrow pyspark", "quack": "duckdb pyarrow",
    "notebook": "IPython duckdb pandas polars pyarrow", "harlequin": "duckdb harlequin",
}  # fmt: skip
"""The libraries of each integration, which imports from no other integration."""

FORWARDING = {"alchemy.py", "dbt.py", "spark.py", "sqlalchemy.py"}
"""Public import paths of integrations: they forward to these and hold nothing else."""

ORDER = {package: libraries for tier in TIERS.values() for package, libraries in tier.items()}
LIBRARIES = {library for libraries in (*ORDER.values(), *INTEGRATIONS.values()) for library in libraries.split()}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
MODULES = {".".join(("dbanon", *path.with_suffix("").parts)).removesuffix(".__init__"): path for path in FILES}

GATE_IMPORTS = ("sqltext", "errors", "source.stored_policy", "table_functions.options", "gate")
"""What the release gate imports of the package: nothing of what makes a release."""

GATE_INCLUDES = ("gate/", "privacy_models/", "shared/")
"""Where the templates lie that a template of the release gate includes."""

SHARED_TEMPLATES = {"hierarchies.sql", "record_assignment.sql", "small_relation_hint.sql"}
"""The templates that the gate shares with the plan."""

MAX_LINES = 2_500
CATALOGUES = {"kernels", "kernels/streams", "errors"}
"""Packages of any size: one file per algorithm, or per kind of error."""

TEST_FOLDERS = {"bench", "mutations", "oracle", "support", "traced", "unchanged"}
"""Folders of tests/ that are no folder of dbanon/."""


def imported(path: Path) -> set[str]:
    """Return the whole names that a file imports anywhere in it, for its types too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def libraries_of(path: Path) -> str:
    """Return the libraries that a file may import."""
    return ORDER.get(path.parts[0], "")


def n_code_lines(path: Path) -> int:
    """Return the number of lines of a file that are neither blank, comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in skipped
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


@pytest.mark.parametrize("path", [path for path in FILES if len(path.parts) > 1 and path.parts[0] in ORDER], ids=str)
def test_file_imports_only_lower_packages_and_its_libraries(path: Path) -> None:
    before = list(ORDER)[: list(ORDER).index(path.parts[0]) + 1]
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "dbanon":
            assert parts[1:2] and parts[1] in before, f"{path} imports {name}"
        elif parts[0] in LIBRARIES:
            assert parts[0] in libraries_of(path).split(), f"{path} imports {name}"


@pytest.mark.parametrize("path", [path for path in FILES if path.parts[0] == "gate"], ids=str)
def test_gate_imports_nothing_of_the_plan(path: Path) -> None:
    for name in imported(path):
        if name.startswith("dbanon."):
            assert name.removeprefix("dbanon.").startswith(GATE_IMPORTS), f"{path} imports {name}"


@pytest.mark.parametrize(
    "path", sorted((*TEMPLATES.glob("gate/*.sql"), *TEMPLATES.glob("shared/*.sql"))), ids=lambda p: p.name
)
def test_gate_templates_include_no_template_of_the_plan(path: Path) -> None:
    for statement in re.findall(r"{%-?\s*((?:include|import|from|extends)\b[^%]*)%}", path.read_text(encoding="utf-8")):
        if path.name == "model_measures.sql" and statement.startswith("import m.file "):  # the file of a privacy model
            continue
        (name,) = re.findall(r"'([^']+)'", statement)
        assert name.startswith(GATE_INCLUDES), f"{path.name} includes {name}"


def test_three_templates_are_shared_by_gate_and_plan() -> None:
    assert {path.name for path in (TEMPLATES / "shared").iterdir()} == SHARED_TEMPLATES


def test_importing_the_package_imports_no_library() -> None:
    assert not {name.split(".")[0] for name in imported(Path("__init__.py"))} & LIBRARIES


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = {
        module: {name if name in MODULES else name.rpartition(".")[0] for name in imported(path)}
        & MODULES.keys() - {module, "dbanon"}
        for module, path in MODULES.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError
