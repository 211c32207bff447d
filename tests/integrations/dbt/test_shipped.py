"""The dbt package is installed, with the command that names or copies it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jinja2
import pytest
from click.testing import CliRunner

import dbanon
import dbanon.dbt
from dbanon import errors
from dbanon.cli import main
from dbanon.errors import DbanonError
from dbanon.integrations.dbt import dbt_package

MACROS = sorted((dbt_package.FOLDER / "macros").glob("*.sql"))


def test_dbt_package_version_equals_dbanon_version() -> None:
    message = (dbt_package.FOLDER / "dbt_project.yml").read_text()
    assert re.findall(r'^version: "(.*)"$', message, re.MULTILINE) == [dbanon.__version__]


@pytest.mark.all_cases
@pytest.mark.parametrize("path", MACROS, ids=lambda path: path.stem)
def test_macros_have_documentation_and_valid_jinja(path: Path) -> None:
    text = path.read_text()
    assert re.match(r"\{#- [A-Z].*\. -#\}\n", text)
    for tag in ("materialization", "test"):  # dbt's own functions, which are macros to it
        text = re.sub(rf"\{{% {tag} (\w+).*%\}}", r"{% macro \1() %}", text).replace(f"end{tag} %}}", "endmacro %}")
    jinja2.Environment(extensions=["jinja2.ext.do"], autoescape=False).parse(text)


def test_dbt_command_prints_path_or_copies_package(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, ["dbt"])
    assert (outcome.exit_code, outcome.output) == (0, f"packages:\n  - local: {dbt_package.FOLDER}\n")
    one_path = tmp_path / "it's"
    second_outcome = CliRunner().invoke(main, ["dbt", "--output", str(one_path), "--json"])
    assert json.loads(second_outcome.output) == {
        "folder": str(one_path),
        "packages_yml": f'packages:\n  - local: "{one_path}"\n',
    }
    files = {path.relative_to(one_path): path.read_text() for path in one_path.rglob("*") if path.is_file()}
    assert files == {
        p.relative_to(dbt_package.FOLDER): p.read_text() for p in dbt_package.FOLDER.rglob("*") if p.is_file()
    }


def test_existing_copy_kept_without_force(tmp_path: Path) -> None:
    dbt_package.copy_package(tmp_path)
    (tmp_path / "macros" / "names.sql").write_text("mine")
    with pytest.raises(errors.TargetExistsError):
        dbt_package.copy_package(tmp_path)
    outcome = CliRunner().invoke(main, ["dbt", "--output", str(tmp_path)])
    assert outcome.exit_code != 0
    assert "--replace" in outcome.output
    assert (tmp_path / "macros" / "names.sql").read_text() == "mine"
    assert CliRunner().invoke(main, ["dbt", "--output", str(tmp_path), "--replace"]).exit_code == 0
    assert (tmp_path / "macros" / "names.sql").read_text() != "mine"


def test_module_exports_only_plugin() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = dbanon.dbt.nothing  # type: ignore[attr-defined]
    assert issubclass(errors.DbtModelChangedError, DbanonError)
