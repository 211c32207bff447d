"""A table function is one object next to its implementation: declaring it in a module is enough."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
import dbanon.audit
from dbanon.api import frame_references
from dbanon.cli.manual import function_page
from dbanon.release import functions
from dbanon.table_functions import name_index, registry
from dbanon.table_functions.registry import table_functions
from tests.support import generated
from tests.support.declarations import PACKAGES, find_declarations

MODULE = '''"""How often a number is in a column."""

from dbanon.errors.example import Example
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import TableFunction
from dbanon.sqltext.quote import Sql, identifier


def statement(call):
    source = call.source()
    column = identifier(call.column(source))
    return Sql(f"SELECT count(*) AS times FROM {source.sql} WHERE {column} = {call.options['number']}")


FUNCTIONS = (
    TableFunction(
        "occurrences",
        ("tbl", "col"),
        (Parameter("number", Integer(0), "The number.", required=True, example="number = 3"),),
        "How often a number is in a column.",
        handler=statement,
        example=Example("SELECT * FROM occurrences('t', 'a', number = 3);"),
    ),
)
'''


@pytest.fixture
def feature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Put modules into a folder of features for a test."""
    monkeypatch.setattr(dbanon.audit, "__path__", [*dbanon.audit.__path__, str(tmp_path)])
    caches = (table_functions, frame_references._function_name_pattern)

    def add(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.setattr(name_index, "FUNCTIONS_BY_MODULE", find_declarations())
        for cached in caches:
            cached.cache_clear()

    yield add
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(f"dbanon.audit.{path.stem}", None)
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


def test_registry_finds_function_of_new_module(feature: Any) -> None:
    feature("numbers_of_a_column", MODULE)
    assert "occurrences" in table_functions()
    con = dbanon.attach(duckdb.connect())
    con.execute("CREATE TABLE t AS SELECT i % 4 AS a FROM range(10) AS r (i)")
    example = table_functions()["occurrences"].example.code
    for call in (example, "FROM occurrences('t', 'A', number := 3)", "FROM occurrences('t', 'a', number=3)"):
        assert con.execute(call).fetchall() == [(2,)]
    with pytest.raises(duckdb.Error, match="number must be an integer of at least 0"):
        con.execute("FROM occurrences('t', 'a', number := -1)")
    with pytest.raises(duckdb.Error, match="'b'"):
        con.execute("FROM occurrences('t', 'b', number := 1)")
    con.close()
    page = function_page.page("occurrences")
    assert "| `number` | an integer of at least 0 | required | The number. |" in page
    assert example in page


def test_registry_does_not_import_module_without_functions(feature: Any) -> None:
    feature("no_function", '"""Says FUNCTIONS, in a sentence."""\n\nraise AssertionError("imported")\n')
    assert "kacpc" in table_functions()
    assert "dbanon.audit.no_function" not in sys.modules


def test_registry_refuses_function_name_declared_twice(feature: Any) -> None:
    feature("numbers_of_a_column", MODULE)
    with pytest.raises(
        ValueError, match=r"occurrences is declared twice, the second time in dbanon\.audit\.numbers_too"
    ):
        feature("numbers_too", MODULE)


def test_name_index_is_that_of_declared_functions() -> None:
    assert generated.name_index() == generated.NAME_INDEX.read_text("utf-8"), "python -m tests.support.generated"


def test_lookup_of_function_equals_its_declaration() -> None:
    declared = {f.name: f for f in functions.FUNCTIONS()}
    for name in ("best", "kacpc_metrics", "kmeans_no2_classes", "anonymize_metrics", "inference"):
        found = registry.FunctionRegistry(name_index.FUNCTIONS_BY_MODULE)[name]
        assert replace(found, specialize=None) == replace(declared[name], specialize=None)
        assert (found.specialize is None) == (declared[name].specialize is None)
    with pytest.raises(KeyError):
        table_functions()["best_mistakes"]


CALL = """
import sys
import dbanon
con = dbanon.connect()
con.execute("CREATE TABLE t AS SELECT i % 7 AS a FROM range(60) r (i)")
con.execute("FROM mondrian('t', k = 5, qi = ['a'])").fetchall()
families = {name.split(".")[2] for name in sys.modules if name.startswith("dbanon.algorithms.") and name.count(".") > 2}
packages = {name.split(".")[1] for name in sys.modules if name.startswith("dbanon.")}
print(sorted(families & {"agglomerative", "diversity", "hybrid", "single_dimension", "streams"}))
print(sorted(packages & {"audit", "ledger", "publishing"}))
"""


def test_call_imports_only_its_own_algorithm() -> None:
    completed = subprocess.run([sys.executable, "-c", CALL], capture_output=True, text=True, check=True)
    assert completed.stdout.splitlines()[-2:] == ["[]", "[]"]


def test_registered_functions_belong_to_feature_packages() -> None:
    for function in table_functions().values():
        handler = getattr(function.handler, "func", function.handler)
        assert handler.__module__.split(".")[1] in PACKAGES, function.name
        assert function.example.code and function.doc
