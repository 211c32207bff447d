"""Imports point one way, folder by folder, and heavy libraries stay in their folders."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

PACKAGE = Path(__file__).resolve().parents[1] / "dbanon"
TEMPLATES = PACKAGE.parent / "sql"

RULES = {
    "session": "", "vocabulary": "", "sqltext": "jinja2", "errors": "", "files": "", "pseudonym": "", "source": "",
    "kernels": "numba numpy", "space": "numpy", "functions": "", "models": "numpy", "hierarchy": "", "policy": "",
    "learn": "numpy sklearn", "cluster": "numpy", "stream": "numpy", "release": "", "engine": "duckdb numpy pyarrow",
    "views": "duckdb numpy",
    "audit": "", "client": "duckdb ibis numpy pandas polars pyarrow", "plots": "matplotlib",
    "reports": "duckdb jinja2", "spark": "duckdb numpy pyarrow pyspark", "serve": "duckdb pyarrow",
    "alchemy": "alembic duckdb duckdb_sqlalchemy sqlalchemy",
    "dbt": "dbt dbt_common duckdb", "harlequin": "duckdb harlequin", "manual": "click",
    "shell": "click duckdb prompt_toolkit pygments rich",
    "notebook": "IPython duckdb pandas polars pyarrow",
    "cli": "click duckdb rich", "__main__": "",
}  # fmt: skip
"""A folder imports from itself and from those before it, and of the libraries below only those that it names."""

GATE = [
    *(f"release/gate_{name}.py" for name in ("codes", "made", "messages", "request", "rules", "statement")),
    "release/related_gate_messages.py",
    *(f"pseudonym/{name}.py" for name in ("gate_key", "recomputed", "together")),
]
"""The files of the release gate."""

GATE_IMPORTS = ("sqltext", "errors", "source.stored_policy", "functions.options")
"""What the gate imports of the package besides itself."""

GATE_TEMPLATES = {
    "release/noise/gate.sql",
    *(
        f"release/part/{name}.sql"
        for name in (
            "ancestors", "apart", "checks", "covered", "gate", "judged", "keeps", "linked", "original", "own_loss",
            "parsed", "second", "stated_classes", "stated_metrics",
        )
    ),
    *(f"release/related/{name}.sql" for name in ("gate", "held", "judged", "regrouped")),
    *(f"stream/{name}.sql" for name in ("beyond", "checks", "gate", "stated_metrics")),
}  # fmt: skip
"""The templates of the release gate."""

SHARED_TEMPLATES = {f"shared/{name}.sql" for name in ("hierarchies", "record_assignment", "small_relation_hint")}
"""The templates that the gate shares with the plan."""

LIBRARIES = {library for libraries in RULES.values() for library in libraries.split()}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def folder(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported(path: Path, *, types: bool = True) -> set[str]:
    """What a file imports anywhere in it, by its whole name; `types`: also what only its types name."""
    found: set[str] = set()
    nodes: list[ast.AST] = [ast.parse((PACKAGE / path).read_text(encoding="utf-8"))]
    for node in nodes:
        if types or not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            nodes.extend(ast.iter_child_nodes(node))
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


@pytest.mark.parametrize("path", GATE)
def test_gate_imports_nothing_of_plan(path: str) -> None:
    own = {path.removesuffix(".py").replace("/", ".") for path in GATE}
    for name in imported(Path(path)):
        if name.startswith("dbanon."):
            module = name.removeprefix("dbanon.")
            assert module.startswith(GATE_IMPORTS) or {module, module.rpartition(".")[0]} & own, (
                f"{path} imports {name}"
            )


@pytest.mark.parametrize("path", sorted(GATE_TEMPLATES | SHARED_TEMPLATES))
def test_gate_templates_include_no_template_of_plan(path: str) -> None:
    text = (TEMPLATES / path).read_text(encoding="utf-8")
    for statement in re.findall(r"{%-?\s*((?:include|import|from|extends)\b[^%]*)%}", text):
        if path == "release/part/judged.sql" and statement.startswith("import m.file "):  # the file of a privacy model
            continue
        (name,) = re.findall(r"'([^']+)'", statement)
        assert name in GATE_TEMPLATES | SHARED_TEMPLATES or name.startswith("models/"), f"{path} includes {name}"


def test_only_three_templates_are_shared() -> None:
    assert {f"shared/{path.name}" for path in (TEMPLATES / "shared").iterdir()} == SHARED_TEMPLATES


def test_importing_the_package_imports_no_library() -> None:
    assert not {name.split(".")[0] for name in imported(Path("__init__.py"))} & LIBRARIES


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {".".join(("dbanon", *path.with_suffix("").parts)).removesuffix(".__init__"): path for path in FILES}
    graph = {
        module: {name if name in modules else name.rpartition(".")[0] for name in imported(path, types=False)}
        & modules.keys() - {module, "dbanon"}
        for module, path in modules.items()
    }
    assert graph["dbanon.shell.shell"] > {"dbanon.errors", "dbanon.shell.commands"}
    TopologicalSorter(graph).prepare()  # raises CycleError
