"""Pages and messages say how to install what is on no index; the metadata of the package names no person."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import dbanon
from dbanon import errors
from dbanon.cli.commands import serve as serve_command

ROOT = Path(dbanon.__file__).parents[1]
FILE = ROOT / "pyproject.toml"
PROJECT = tomllib.loads(FILE.read_text("utf-8"))["project"] if FILE.exists() else {}

pytestmark = pytest.mark.skipif(not PROJECT, reason="the sources of the project are not there")


def texts() -> Iterator[tuple[Path, str]]:
    for pattern in ("*.md", "docs/**/*.md", "docs/**/*.ipynb", "dbanon/**/*.py", "dbanon/**/*.toml"):
        for path in ROOT.glob(pattern):
            yield path.relative_to(ROOT), path.read_text("utf-8")


INDEX = re.compile(r"dbanon\[[a-z{]|pip install (?:--?\w+ )*['\"]?dbanon\b")
"""What only an index of packages could install."""


def test_no_text_installs_dbanon_from_an_index() -> None:
    found = [(str(path), line) for path, text in texts() for line in text.splitlines() if INDEX.search(line)]
    assert found == []


def test_named_extras_exist() -> None:
    extras = PROJECT["optional-dependencies"]
    named = {extra for _, text in texts() for extra in re.findall(r"pip install -e '\.\[([a-z]+)\]'", text)}
    assert named <= set(extras) and {"shell", "plot", "sqlalchemy"} <= named
    message = str(errors.MissingExtraError("a plot", "matplotlib", "plot"))
    assert message.endswith("Hint: in the clone of dbanon, pip install -e '.[plot]'.")


def test_metadata_has_classifiers_and_no_person() -> None:
    assert not {"authors", "maintainers", "urls"} & set(PROJECT)
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert any(name.startswith("Development Status :: ") for name in PROJECT["classifiers"])
    assert not [name for name in PROJECT["classifiers"] if name.startswith("License ::")], "the field license says it"


def test_extras_of_server_and_client_fit_the_same_duckdb() -> None:
    extras = PROJECT["optional-dependencies"]
    versions = {re.split("[~=]=", requirement)[1] for name in ("cli", "serve") for requirement in extras[name]}
    assert len(versions) == 1


def test_serve_names_command_line_of_its_duckdb() -> None:
    facts = {"database": "clinic.duckdb", "role": "reader", "host": "127.0.0.1", "port": 9494, "duckdb_cli": "1.5.5"}
    text = serve_command._ready_text(facts)
    assert text.startswith("Serving clinic.duckdb to readers on 127.0.0.1:9494.")
    assert "duckdb-cli 1.5.5 (pip install duckdb-cli==1.5.5)" in text
