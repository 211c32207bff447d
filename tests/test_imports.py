"""Imports point one way, and heavy libraries stay in their rooms."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

PACKAGE = Path(__file__).resolve().parents[1] / "dbanon"

LAYERS = [
    {"quote", "names", "resources", "vocabulary"},
    {"builtin", "proposal"},
    {"errors.base"},
    {
        "errors.arguments",
        "errors.data",
        "errors.frontends",
        "errors.hierarchies",
        "errors.releases",
        "errors.roles",
        "errors.sources",
    },
    {"errors"},
    {"guessing", "posterior"},
    {"kernels.jit", "kernels.axes", "kernels.loss", "kernels.tree"},
    {"kernels.centers", "kernels.search"},
    {
        "kernels.assign",
        "kernels.average",
        "kernels.blocks",
        "kernels.eld",
        "kernels.greedy",
        "kernels.models",
        "kernels.simdiv",
    },
    {"kernels.groups"},
    {"kernels.lines", "kernels.path"},
    {"kernels.carve"},
    {"kernels.rebuild"},
    {"kernels"},
    {"arguments", "demand", "hierarchy", "kinds", "parameters", "metric", "policy", "space"},
    {"cells", "files", "targets", "within"},
    {"catalog", "attribute", "distance", "forest", "index", "constraint", "model"},
    {"cluster.labels", "cluster.loss", "cluster.noise", "cluster.registry"},
    {"cluster.diverse", "cluster.extent", "cluster.lattice", "cluster.needs", "cluster.outliers", "cluster.repair"},
    {"cluster.layout"},
    {"cluster.entries"},
    {"cluster.improve"},
    {
        "cluster.assign",
        "cluster.average",
        "cluster.baselines",
        "cluster.gather",
        "cluster.greedy",
        "cluster.runner",
        "cluster.simdiv",
        "cluster.split",
        "cluster.widen",
    },
    {"cluster.best"},
    {"cluster"},
    {"template", "publication"},
    {"behind", "lineage", "shadowed"},
    {"column", "read", "rules"},
    {"measure", "threats"},
    {"functions", "plan", "session"},
    {"examples"},
    {"function_page"},
    {"metric_page"},
    {"call", "repeated"},
    {"singled"},
    {"publishing"},
    {"beside"},
    {"influence", "problems", "profile", "query_error", "risk"},
    {"attack"},
    {"ledger", "recompute", "seal"},
    {"erasure", "promised", "related"},
    {"sequence"},
    {"certified"},
    {"request"},
    {"udf", "udf_attack"},
    {"install"},
    {"timed", "version"},
    {"materialized"},
    {"drafts"},
    {"doctor", "handout", "verified"},
    {"statement"},
    {"mistakes.mistake"},
    {"mistakes.calls", "mistakes.releases"},
    {"mistakes"},
    {"declaration", "connection"},
    {"alchemy.info", "alchemy.raw"},
    {"alchemy.element", "alchemy.shape"},
    {"alchemy.policy", "alchemy.selectable"},
    {"alchemy.engine"},
    {"alchemy.view"},
    {"alchemy.migration"},
    {"alchemy"},
    {"frame", "demo"},
    {"harlequin_adapter"},
    {"shell", "shell.scan", "shell.values", "shell.work", "shell.known"},
    {"shell.render"},
    {"shell.commands", "shell.shell"},
    {"shell.completion"},
    {"shell.prompt"},
    {"shell.command"},
    {"cli.spelling"},
    {"cli.common"},
    {"cli.anonymize", "cli.browse", "cli.demo", "cli.init", "cli.releases"},
    {"cli", "cli.docs", "pages"},
    {"__main__"},
]
"""A module may import from the layers before its own, and from its own."""

ROOMS = {
    "numpy": {
        "space", "distance", "forest", "index", "constraint", "model", "udf", "demo",
        "udf_attack", "guessing", "posterior",
        "kernels.assign", "kernels.average", "kernels.axes", "kernels.centers", "kernels.tree", "kernels.search",
        "kernels.blocks", "kernels.eld", "kernels.greedy", "kernels.models", "kernels.simdiv",
        "kernels.carve", "kernels.groups", "kernels.lines", "kernels.path", "kernels.rebuild",
        "cluster.assign", "cluster.average", "cluster.gather", "cluster.greedy", "cluster.labels", "cluster.loss",
        "cluster.split", "cluster.registry", "cluster.diverse", "cluster.extent", "cluster.outliers", "cluster.repair",
        "cluster.runner", "cluster.widen", "cluster.needs", "cluster.simdiv",
        "cluster.baselines", "cluster.best", "cluster.entries", "cluster.improve", "cluster.lattice", "cluster.layout",
        "cluster.noise",
    },
    "numba": {"kernels.jit"},
    "pyarrow": {"udf", "udf_attack"},
    "sklearn": {"forest", "guessing"},
    "duckdb": {
        "cells", "cli.common", "doctor", "handout", "install", "verified", "connection", "materialized", "statement",
        "alchemy.engine", "alchemy.raw", "alchemy.view", "alchemy.migration", "shell.shell", "shell.command",
        "harlequin_adapter",
    },
    "jinja2": {"template"},
    "pandas": {"frame", "demo"},
    "click": {
        "cli", "cli.anonymize", "cli.browse", "cli.common", "cli.demo", "cli.init", "cli.releases", "cli.docs",
        "cli.spelling",
        "pages", "shell.command", "shell.prompt",
    },
    "sqlalchemy": {
        "alchemy", "alchemy.element", "alchemy.engine", "alchemy.info", "alchemy.policy", "alchemy.raw",
        "alchemy.selectable", "alchemy.shape", "alchemy.view", "alchemy.migration",
    },
    "alembic": {"alchemy.migration"},
    "duckdb_sqlalchemy": {"alchemy", "alchemy.shape"},
    "rich": {"cli.anonymize", "cli.common", "shell.commands", "shell.render", "shell.shell"},
    "prompt_toolkit": {"shell.prompt"},
    "pygments": {"shell.prompt"},
    "harlequin": {"harlequin_adapter"},
}  # fmt: skip
"""Which modules may import a library."""


def modules() -> dict[str, Path]:
    """Module files by name below the package; the package itself is left out."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(p for p in parts if p != "__init__")
        if name:
            found[name] = path
    return found


def imports(path: Path) -> set[str]:
    """Names that a file imports anywhere, `dbanon.x` as it is written."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def layer(name: str) -> int:
    for number, names in enumerate(LAYERS):
        if name in names:
            return number
    raise AssertionError(f"dbanon.{name} is in no layer: say where it belongs")


@pytest.mark.parametrize("name", modules())
def test_imports_point_to_earlier_layers(name: str) -> None:
    known = set(modules())
    for imported in imports(modules()[name]):
        if not imported.startswith("dbanon."):
            continue
        parts = imported.removeprefix("dbanon.").split(".")
        target = next((".".join(parts[:n]) for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in known), None)
        if target is not None and target != name:
            assert layer(target) <= layer(name), f"dbanon.{name} imports dbanon.{target}"


@pytest.mark.parametrize("name", modules())
def test_heavy_libraries_stay_in_their_rooms(name: str) -> None:
    for imported in imports(modules()[name]):
        library = imported.split(".")[0]
        if library in ROOMS:
            assert name in ROOMS[library], f"dbanon.{name} imports {library}"
