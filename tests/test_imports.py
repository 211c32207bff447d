"""Imports point one way, package by package, and heavy libraries stay in their packages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.all_cases

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "dbanon"
TEMPLATES = ROOT / "sql"

TIERS = {
    "foundation": {"sqltext": "jinja2", "errors": "duckdb", "runtime": "duckdb"},
    "data": {"source": "", "table_functions": ""},
    "computing": {
        "kernels": "numba numpy", "encoding": "numpy", "privacy_models": "numpy", "policy": "",
        "algorithms": "numpy sklearn",
    },
    "release": {"gate": "", "release": ""},
    "stored releases": {
        "ledger": "duckdb numpy pyarrow", "audit": "numpy sklearn matplotlib", "publishing": "duckdb jinja2 matplotlib",
        "views": "duckdb", "udf": "duckdb numpy pyarrow",
    },
    "interfaces": {
        "api": "duckdb ibis numpy pandas polars pyarrow",
        "integrations": "",
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
"""Modules of the package that the release gate imports: none of those that make a release."""

GATE_INCLUDES = ("gate/", "privacy_models/", "shared/")
"""Folders of the templates that a template of the release gate includes."""

SHARED_TEMPLATES = {"hierarchies.sql", "messages.sql", "record_assignment.sql", "small_relation_hint.sql"}
"""The templates that the gate shares with the plan."""

MAX_LINES = 2_500
CATALOGUES = {"kernels", "kernels/streams", "errors"}
"""Packages of any size: one file per algorithm, or per kind of error."""

TEST_FOLDERS = {"bench", "mutations", "oracle", "support", "hand_traced", "unchanged"}
"""Folders of tests/ without a counterpart in dbanon/."""


@cache
def syntax_nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a file of the package."""
    return tuple(ast.walk(ast.parse((PACKAGE / path).read_text(encoding="utf-8"))))


@cache
def imported_names(path: Path) -> frozenset[str]:
    """Return the qualified names that a file imports anywhere in it, including those for types."""
    values: set[str] = set()
    for node in syntax_nodes(path):
        if isinstance(node, ast.Import):
            values.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            values.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(values)


def libraries_of(path: Path) -> str:
    """Return the libraries that a file may import."""
    if path.parts[0] == "integrations" and len(path.parts) > 2:
        return INTEGRATIONS[path.parts[1]]
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


def test_top_level_has_packages_and_public_import_paths() -> None:
    assert {str(path) for path in FILES if len(path.parts) == 1} == {"__init__.py", "__main__.py", *FORWARDING}
    assert {path.parts[0] for path in FILES if len(path.parts) > 1} == set(ORDER)
    assert {path.parts[1] for path in FILES if path.parts[0] == "integrations" and len(path.parts) > 2} == set(
        INTEGRATIONS
    )


def test_packages_are_at_most_two_deep() -> None:
    assert not [str(path) for path in FILES if len(path.parts) > 3]


def may_import(path: Path, name: str) -> bool:
    """Return whether a file of a package may import a qualified name."""
    parts = name.split(".")
    if parts[0] == "dbanon":
        lower_packages = list(ORDER)[: list(ORDER).index(path.parts[0]) + 1]
        is_own = path.parts[0] != "integrations" or parts[1] != "integrations" or parts[2] == path.parts[1]
        return bool(parts[1:2]) and parts[1] in lower_packages and is_own
    return parts[0] not in LIBRARIES or parts[0] in libraries_of(path).split()


def test_files_import_only_lower_packages_and_own_libraries() -> None:
    files = [path for path in FILES if len(path.parts) > 1]
    assert not [
        f"{path} imports {name}" for path in files for name in imported_names(path) if not may_import(path, name)
    ]


def modules_not_imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file reads as attributes and does not import."""
    names = imported_names(path)
    packages = {name.rpartition(".")[2]: name for name in names if name.startswith("dbanon.") and name in MODULES}
    for node in syntax_nodes(path):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages:
            package = packages[node.value.id]
            name = f"{package}.{node.attr}"
            if name in MODULES and name not in names | {n.rpartition(".")[0] for n in imported_names(MODULES[package])}:
                yield name


def test_files_import_every_package_module_in_use() -> None:
    assert not [f"{path} reads {name} and does not import it" for path in FILES for name in modules_not_imported(path)]


def test_kernels_import_no_other_package() -> None:
    names = {name for path in FILES if path.parts[0] == "kernels" for name in imported_names(path)}
    assert not {name for name in names if name.startswith("dbanon.") and not name.startswith("dbanon.kernels")}


def test_gate_imports_no_module_of_plan() -> None:
    files = [path for path in FILES if path.parts[0] == "gate"]
    names = [(path, name) for path in files for name in imported_names(path) if name.startswith("dbanon.")]
    assert names
    assert not [f"{path} imports {n}" for path, n in names if not n.removeprefix("dbanon.").startswith(GATE_IMPORTS)]


def included_templates(path: Path) -> Iterator[str]:
    """Yield the paths of the templates that a template includes or imports, except the file of a privacy model."""
    for statement in re.findall(r"{%-?\s*((?:include|import|from|extends)\b[^%]*)%}", path.read_text(encoding="utf-8")):
        if path.name == "model_measures.sql" and statement.startswith("import m.file "):
            continue
        (name,) = re.findall(r"'([^']+)'", statement)
        yield name


def test_gate_templates_include_no_template_of_plan() -> None:
    paths = sorted((*TEMPLATES.glob("gate/*.sql"), *TEMPLATES.glob("shared/*.sql")))
    names = [(path.name, name) for path in paths for name in included_templates(path)]
    assert names
    assert not [f"{path} includes {name}" for path, name in names if not name.startswith(GATE_INCLUDES)]


def test_few_templates_are_shared_by_gate_and_plan() -> None:
    assert {path.name for path in (TEMPLATES / "shared").iterdir()} == SHARED_TEMPLATES


@pytest.mark.parametrize("path", [path for path in FILES if len(path.parts) == 1 and path.name in FORWARDING], ids=str)
def test_public_import_path_only_forwards(path: Path) -> None:
    text = (PACKAGE / path).read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)]
    assert [type(node) for node in nodes] == [ast.If, ast.FunctionDef]


def test_package_init_imports_no_library() -> None:
    assert not {name.split(".")[0] for name in imported_names(Path("__init__.py"))} & LIBRARIES


def test_package_imports_form_no_cycle() -> None:
    graph = {
        module: {name if name in MODULES else name.rpartition(".")[0] for name in imported_names(path)}
        & MODULES.keys() - {module, "dbanon"}
        for module, path in MODULES.items()
    }
    assert graph["dbanon.cli.shell.dot_commands"] > {"dbanon.errors", "dbanon.cli.shell.shell"}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_packages_have_at_most_max_lines() -> None:
    folders = {path.parent for path in FILES} - {Path(name) for name in CATALOGUES}
    lines = {str(folder): sum(map(n_code_lines, (PACKAGE / folder).glob("*.py"))) for folder in folders}
    assert not {folder: n for folder, n in lines.items() if n > MAX_LINES}


def test_template_and_test_folders_match_packages() -> None:
    packages = {str(path.parent) for path in FILES}
    templates = {str(path.parent.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.sql")}
    tests = {str(path.parent.relative_to(ROOT / "tests")) for path in (ROOT / "tests").rglob("test_*.py")}
    assert templates - packages == {"shared", "source/migrations", "release/metrics", "release/noise",
                                    "audit/anonymity", "audit/query_error", "audit/risk"}  # fmt: skip
    assert {folder for folder in tests if folder.split("/")[0] not in TEST_FOLDERS} <= packages | templates | {"."}
