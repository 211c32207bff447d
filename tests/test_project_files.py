"""The files about the project agree with its code: citation, hooks, workflow, source distribution."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import dbanon

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    """Return the text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_citation_has_version_and_license_of_package() -> None:
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", text("CITATION.cff"), re.MULTILINE))
    assert fields["version"] == PROJECT["project"]["version"] == dbanon.__version__
    assert fields["license"] == PROJECT["project"]["license"]


def test_hooks_run_ruff_and_naming_test_of_environment() -> None:
    hooks = text(".pre-commit-config.yaml")
    assert re.findall(r"- repo: (\S+)", hooks) == ["local"]
    assert set(re.findall(r"language: (\S+)", hooks)) == {"system"}
    assert "entry: ruff check" in hooks and "entry: ruff format" in hooks
    (tests,) = re.findall(r"entry: python -m pytest .* (\S+)", hooks)
    assert (ROOT / tests).exists()


def test_workflow_runs_ci_script() -> None:
    workflow = text(".github/workflows/ci.yml")
    assert re.findall(r"- run: (.+)", workflow) == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    assert f'"{PROJECT["project"]["requires-python"].removeprefix(">=")}"' in workflow


def test_source_distribution_includes_existing_files() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [path for path in included if not (ROOT / path).exists()] == []
    assert {path.name for path in ROOT.glob("*.*") if path.suffix in (".md", ".yml", ".cff")} <= set(included)


def test_changelog_has_sections_of_keep_a_changelog() -> None:
    sections = re.findall(r"^### (.+)$", text("CHANGELOG.md"), re.MULTILINE)
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    assert sections == [section for section in order if section in sections]


def test_ci_script_builds_site_strictly() -> None:
    script = text(".ci/run")
    assert 'mkdocs" build --strict' in script and "tests/cli/manual/test_site.py" in script
