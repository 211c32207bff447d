"""What dbt does with a project that uses DuckDB, as far as the documentation's example needs it.

dbt itself is no dependency of the tests. This reads the same files: it hands a cursor to the plugin, loads the seeds
with their hooks, and makes every model a table.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest

_REF = re.compile(r"""ref\(["'](\w+)["']\)""")


def build(patch: pytest.MonkeyPatch) -> None:
    """`dbt build` in the current folder."""
    (database,) = re.findall(r"^ *path: (\S+)$", Path("profiles.yml").read_text(), re.MULTILINE)
    with duckdb.connect(database) as parent:
        cursor = parent.cursor()
        _plugin(patch).configure_cursor(cursor)
        made = {path.stem: path for path in (*Path("seeds").glob("*.csv"), *Path("models").glob("*.sql"))}
        needs = {name: set(_REF.findall(path.read_text())) for name, path in made.items()}
        for name in TopologicalSorter(needs).static_order():
            (_seed if made[name].suffix == ".csv" else _model)(cursor, made[name], database)


def _plugin(patch: pytest.MonkeyPatch) -> Any:
    """The plugin that the profile names, on a base class that stands in for dbt's."""
    for module in ("dbt", "dbt.adapters", "dbt.adapters.duckdb", "dbt.adapters.duckdb.plugins"):
        patch.setitem(sys.modules, module, types.ModuleType(module))
    patch.setattr(sys.modules["dbt.adapters.duckdb.plugins"], "BasePlugin", object, raising=False)
    (name,) = re.findall(r"module: (\w+)$", Path("profiles.yml").read_text(), re.MULTILINE)
    spec = importlib.util.spec_from_file_location(name, f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Plugin()


def _seed(cursor: Any, path: Path, database: str) -> None:
    this = f'"{Path(database).stem}"."main"."{path.stem}"'
    cursor.execute("BEGIN")
    cursor.execute(f"CREATE OR REPLACE TABLE {this} AS FROM read_csv('{path}', all_varchar = true)")
    for hook in re.findall(r'^ *- "(.*)"$', Path("dbt_project.yml").read_text(), re.MULTILINE):
        cursor.execute(jinja2.Template(hook).render(this=this))
    cursor.execute("COMMIT")


def _model(cursor: Any, path: Path, database: str) -> None:
    def ref(name: str) -> str:
        return f'"{Path(database).stem}"."main"."{name}"'

    query = jinja2.Template(path.read_text()).render(ref=ref, config=lambda **settings: "")
    cursor.execute(f"CREATE OR REPLACE TABLE {ref(path.stem)} AS ({query})")
