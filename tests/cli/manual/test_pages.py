"""The manual is complete: every function has a page, every example runs, every error matches its page."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support import example_outputs
from support.examples import Demo, run_example, words

import dbanon
from dbanon.algorithms import algorithms
from dbanon.api.demo import create_demo
from dbanon.cli import main
from dbanon.cli.commands.docs import documented_commands
from dbanon.cli.manual import function_page, pages
from dbanon.cli.manual.error_page import documented_errors, error_messages
from dbanon.cli.shell.dot_commands import COMMANDS
from dbanon.errors.example import Example
from dbanon.release.plan import metrics
from dbanon.table_functions.parameters import format_value
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.scalar_functions import FUNCTIONS

SCALARS = [f.name for f in FUNCTIONS]
EXAMPLES = {f.name: f.example for f in (*table_functions().values(), *FUNCTIONS)}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("manual")
    with contextlib.chdir(folder):
        demo = Demo(Path("dbanon_demo.duckdb"))
        yield demo
        demo.con.close()


@pytest.fixture(scope="module")
def full_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Create the database that `dbanon demo` makes."""
    with create_demo(tmp_path_factory.mktemp("demo") / "dbanon_demo.duckdb") as con:
        yield con


@pytest.fixture(scope="module")
def linked_pages() -> dict[str, str]:
    return pages.manual_pages(documented_commands(main))


@pytest.fixture(scope="module")
def unlinked_pages(linked_pages: dict[str, str]) -> dict[str, str]:
    """Return the pages without the links to the bibliography."""
    link = r"\[([^\]]*)\]\((?:\.\./)?bibliography\.md#[^)]*\)"
    return {path: re.sub(link, r"\1", page) for path, page in linked_pages.items()}


# --- nothing is missing -----------------------------------------------------------------------------------------


@pytest.mark.all_cases
@pytest.mark.parametrize("name", [*table_functions(), *SCALARS])
def test_function_page_lists_parameters_and_example(unlinked_pages: dict[str, str], name: str) -> None:
    path = f"functions/{function_page.page_name(name)}.md"
    page = unlinked_pages[path]
    assert path in unlinked_pages["index.md"]
    example = EXAMPLES[name]
    assert re.search(rf"\b{name}\(", example.code)
    assert example.code in page
    if name in SCALARS:
        return
    function = table_functions()[name]
    assert function.doc
    title, _, rest = function.doc.partition(". ")
    is_titled = (
        f"\n\n{function_page.escape_markdown(title)}.\n\n" in page
    )  # the page of an algorithm has its title once
    assert function_page.escape_markdown(rest if is_titled else function.doc) in page
    common = unlinked_pages["parameters.md"] if "](../parameters.md)" in page else ""
    for parameter in function.parameters:
        assert parameter.doc, parameter.name
        doc = re.escape(function_page.escape_markdown(parameter.doc))
        row = rf"^\| `{parameter.name}` \| .+ \| (.*) \| {doc}(?: Only of `\w+`\.)? \|$"
        described_match = re.search(row, page, re.MULTILINE) or re.search(row, common, re.MULTILINE)
        assert described_match, parameter.name
        default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
        usual = "" if default is None else f"`{format_value(default)}`"
        assert described_match[1] == ("required" if parameter.required else usual), parameter.name


def test_standalone_page_has_all_parameters() -> None:
    for function in table_functions().values():
        page = function_page.page(function.name, alone=True)
        assert "parameters.md" not in page
        for parameter in function.parameters:
            assert page.count(f"\n| `{parameter.name}` | ") == 1, f"{function.name}: {parameter.name}"


@pytest.mark.all_cases
@pytest.mark.parametrize("algorithm", algorithms(), ids=lambda a: a.name)
def test_algorithm_page_names_source(unlinked_pages: dict[str, str], algorithm: Any) -> None:
    page = unlinked_pages[f"functions/{algorithm.name}.md"]
    for fact in (algorithm.title, algorithm.family, algorithm.source, algorithm.complexity, algorithm.evidence_text):
        assert fact
        assert function_page.escape_markdown(fact) in page


def test_algorithm_page_describes_its_three_functions(linked_pages: dict[str, str]) -> None:
    page = linked_pages["functions/kacpc.md"]
    for name in ("kacpc", "kacpc_classes", "kacpc_metrics"):
        assert page.count(f"\n| `{name}(tbl, k [, ...])` | ") == 1
        assert f"functions/{name}.md" not in linked_pages or name == "kacpc"
        assert function_page.page(name) == function_page.page("kacpc")
    assert "Only of `kacpc_metrics`." in page
    assert "\n```\n\n| birth_date | sex | zip | " in page, "the example has its output"


def test_examples_of_algorithms_have_recorded_output() -> None:
    assert list(function_page.example_outputs()) == example_outputs.algorithm_functions()
    assert all(len(rows) > 1 for rows in function_page.example_outputs().values())


@pytest.mark.in_turn(20)
@pytest.mark.not_everyday
@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
@pytest.mark.parametrize("name", example_outputs.algorithm_functions())
def test_recorded_output_equals_result_of_example(full_demo: Any, name: str) -> None:
    again = f"python -m tests.support.example_outputs {name}"
    assert function_page.example_outputs()[name] == example_outputs.example_output(full_demo, name), again


def test_manual_describes_every_metric(unlinked_pages: dict[str, str]) -> None:
    for one in metrics.all_metrics():
        section = unlinked_pages["metrics.md"].split(f"\n## {one.name}\n")[1].split("\n## ")[0]
        assert one.description
        assert function_page.escape_markdown(one.description.replace("{unit}", "records (persons)")) in section, (
            one.name
        )
        assert f"- better: {one.better}" in section, one.name
        assert one.source == "-" or f"- source: {function_page.escape_markdown(one.source)}" in section, one.name


def test_manual_describes_every_command_and_option(unlinked_pages: dict[str, str]) -> None:
    for path, command in documented_commands(main).walk():
        section = unlinked_pages["commands.md"].split(f"\n## {path}\n")[1].split("\n## ")[0]
        assert command.help, path
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.help, f"{path} {parameter.name}"
                assert all(name in section for name in parameter.opts), f"{path} {parameter.name}"
            elif isinstance(parameter, click.Argument):
                assert (parameter.metavar or str(parameter.name).upper()) in section, f"{path} {parameter.name}"
    for dot in COMMANDS.values():
        assert function_page.escape_markdown(dot.usage) in unlinked_pages["commands.md"]


def test_every_error_documented_with_example_or_reason(unlinked_pages: dict[str, str]) -> None:
    for name, kind in documented_errors().items():
        section = unlinked_pages["errors.md"].split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert kind.__doc__
        assert kind.example is not None
        shown_code = kind.example.code if isinstance(kind.example, Example) else kind.example.text
        assert shown_code in section
        assert error_messages()[name] in section


def test_manual_links_lead_to_existing_pages(linked_pages: dict[str, str]) -> None:
    for path, page in linked_pages.items():
        for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", page, flags=re.DOTALL)):
            if not target.startswith("https://doi.org/"):
                result = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))
                assert result in linked_pages, f"{path}: {target}"


# --- statements of the pages are true ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
@pytest.mark.parametrize("name", sorted(EXAMPLES, key=lambda name: EXAMPLES[name].setup))
def test_function_example_runs(database: Demo, name: str) -> None:
    if "'pg." in EXAMPLES[name].code:
        pytest.skip("needs a server of PostgreSQL: tests/policy/profiling/test_foreign_labels.py has one")
    con = database.ready(EXAMPLES[name].setup)
    con.execute(EXAMPLES[name].code).fetchall()


SHOWN = {name: kind.example for name, kind in documented_errors().items() if isinstance(kind.example, Example)}


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", sorted(SHOWN, key=lambda name: SHOWN[name].setup))
def test_error_example_raises_its_message(database: Demo, name: str) -> None:
    if "sqlalchemy" in SHOWN[name].code:
        pytest.importorskip("duckdb_sqlalchemy")
    assert words(error_messages()[name]) in words(run_example(database, SHOWN[name]))


# --- the command -------------------------------------------------------------------------------------------------


def test_docs_command_prints_and_writes_manual_pages(linked_pages: dict[str, str], tmp_path: Path) -> None:
    run = CliRunner()
    assert run.invoke(main, ["docs"]).output == linked_pages["index.md"]
    for name in ("KACPC", "kacpc_metrics"):
        assert run.invoke(main, ["docs", name]).output == linked_pages["functions/kacpc.md"]
    assert run.invoke(main, ["docs", "KOutOfRangeError"]).output in linked_pages["errors.md"]
    assert run.invoke(main, ["docs", "precision"]).output.startswith("## precision\n")
    assert "--storage-version" in run.invoke(main, ["docs", "publish"]).output
    result = run.invoke(main, ["docs", "--output", str(tmp_path / "manual")])
    assert result.exit_code == 0
    written_values = {p.relative_to(tmp_path / "manual").as_posix(): p.read_text() for p in tmp_path.rglob("*.md")}
    assert written_values == linked_pages


def test_docs_command_errors_are_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["docs", "kacpd"])
    assert result.exit_code == 1
    assert "no page about 'kacpd'. Did you mean 'kacpc'?" in result.output
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(main, ["docs", "--output", str(tmp_path / "file" / "manual")])
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert result.output.count("\n") == 1


PACKAGE = Path(dbanon.__file__).parent
SHOWING = [p for p in sorted(PACKAGE.rglob("*.py")) if re.search(r"\n {4,}>>> ", p.read_text(encoding="utf-8"))]


IMPORTED = re.compile(r"^\s*(?:>>> |\.\.\. )?(?:from|import) (dbanon[\w.]*)", re.MULTILINE)


@pytest.mark.parametrize("module", ["", ".sqlalchemy"])
def test_public_docstring_examples_import_public_modules(module: str) -> None:
    if module:
        pytest.importorskip("sqlalchemy")
    public = importlib.import_module(f"dbanon{module}")
    examples = {name: _example(getattr(public, name)) for name in public.__all__}
    imports = {name: set(IMPORTED.findall(example)) for name, example in examples.items() if example}
    assert len(imports) > 15
    assert {n: i for n, i in imports.items() if not i <= {"dbanon", "dbanon.sqlalchemy"}} == {}
    uses = {n: re.findall(rf"(?<![\w.]){n}\(", example) for n, example in examples.items() if not module}
    assert {n: u for n, u in uses.items() if u} == {}, "an example calls the name without dbanon."


def _example(value: Any) -> str:
    """Return the section Examples of a docstring; empty if there is none."""
    return (value.__doc__ or "").partition("Examples:\n")[2]


@pytest.mark.all_cases
@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.stem)
def test_docstring_examples_pass_doctest(path: Path) -> None:
    name = ".".join(("dbanon", *path.relative_to(PACKAGE).with_suffix("").parts))
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
