"""The parts of pages that are generated from the registered algorithms and streams.

`python -m tests.support.generated` writes them again, with the manual, the messages that list algorithms and the
picture of the README. It measures nothing: the guide keeps its figures, and an algorithm without any has empty cells
until `python -m tests.bench guide` measures it.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbanon import algorithms
from dbanon.algorithms import streams
from dbanon.algorithms.base.registry import FAMILIES, RECONSTRUCTED, Algorithm
from dbanon.cli.manual import bibliography, function_page
from dbanon.table_functions.registry import table_functions
from tests.bench import guide
from tests.support import picture
from tests.support.declarations import find_algorithm_modules, find_declarations

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MANUAL = DOCS / "manual"
FUNCTION_LIST = DOCS / "functions.md"
TOPICS = {
    "release": "Functions about releases",
    "ledger": "Functions about releases",
    "publishing": "Functions about releases",
    "views": "Functions about releases",
    "algorithms": "Functions about releases",
    "policy": "Functions about policy and hierarchies",
    "audit": "Functions about risk and models",
    "scalar": "Functions about published values",
}
"""The title in the site's navigation of functions that are no algorithms, by the package that declares them."""

MESSAGES = ("UnknownAlgorithmError", "NotASingleCallError")
"""Errors whose recorded messages list the algorithms."""


def by_family() -> Mapping[str, list[Algorithm]]:
    """Return the algorithms by the title of their family, in the order of the pages."""
    return {family.title: [a for a in algorithms.algorithms() if a.family == name] for name, family in FAMILIES.items()}


def names_line(title: str, names: Iterable[str]) -> str:
    """Return a list item: a title and names of functions, in lines of at most 120 characters."""
    text = f"- {title}: " + ", ".join(f"`{name}`" for name in names)
    return textwrap.fill(text, 120, subsequent_indent="  ", break_on_hyphens=False)


def algorithm_table() -> str:
    """Return the table of docs/algorithms.md: the description of each algorithm, and its source."""
    rows = []
    for family, members in by_family().items():
        for a in members:
            description = a.summary.replace("|", "\\|") + (" Reconstructed." if a.evidence in RECONSTRUCTED else "")
            source = bibliography.link_citations(a.source, "manual/bibliography.md")
            rows.append((family, f"`{a.name}`", description, source))
    return function_page.table(("family", "algorithm", "what it does", "source"), rows)


def site_navigation() -> str:
    """Return the entries of mkdocs.yml for the pages of functions: algorithms by family, the others by topic."""
    topics: dict[str, list[str]] = {title: [] for title in TOPICS.values()}
    listed = {a.name for a in algorithms.algorithms()} | {s.name for s in streams.streams()}
    for name in function_page.page_names():
        if name in function_page.SCALARS:
            topics[TOPICS["scalar"]].append(name)
        elif name not in listed:
            handler = table_functions()[name].handler
            module = getattr(handler, "func", handler).__module__
            topics[TOPICS[module.split(".")[1]]].append(name)
    lines = ["      - Algorithms:\n"]
    for title, members in by_family().items():
        lines += [f"          - {title}:\n", *(_navigation_entry(a.name, 14) for a in members)]
    lines += ["      - Stream algorithms:\n", *(_navigation_entry(s.name, 10) for s in streams.streams())]
    for title, names in topics.items():
        lines += [f"      - {title}:\n", *(_navigation_entry(name, 10) for name in names)]
    return "".join(lines)


def _navigation_entry(name: str, indent: int) -> str:
    return f"{' ' * indent}- {name}: manual/functions/{name}.md\n"


@dataclass(frozen=True)
class Section:
    """A generated part of a page: the text before it, the text after it, and the text between them."""

    before: str
    after: str
    text: str

    def put(self, page: str) -> str:
        """Return the page with this section replaced."""
        head, begin, rest = page.partition(self.before)
        _, end, tail = rest.partition(self.after)
        if not (begin and end):
            raise ValueError(f"the page has no section between {self.before!r} and {self.after!r}")
        return f"{head}{begin}{self.text}{end}{tail}"


def sections() -> dict[Path, list[Section]]:
    """Return the generated sections by page."""
    families = "\n".join(names_line(title, [a.name for a in members]) for title, members in by_family().items())
    systems = names_line(
        "Each stream algorithm is three functions, as an algorithm is", [s.name for s in streams.streams()]
    )
    return {
        FUNCTION_LIST: [
            Section("(manual/index.md) has a page for each.\n\n", "\n- [`anonymize`]", families),
            Section("## [Streams](streams.md)\n\n", "\n- [`stream_status`]", systems),
        ],
        ROOT / "mkdocs.yml": [
            Section("# Generated: the pages of functions.\n", "# End of the generated", site_navigation())
        ],
        DOCS / "algorithms.md": [Section("alphabetical order.\n\n", '\n\n"Reconstructed" means', algorithm_table())],
    }


def pages() -> dict[Path, str]:
    """Return the pages with generated parts, as they should be."""
    mapping = {DOCS / "algorithm-guide.md": guide.page(guide.read((DOCS / "algorithm-guide.md").read_text("utf-8")))}
    for path, result in sections().items():
        mapping[path] = functools.reduce(lambda page, section: section.put(page), result, path.read_text("utf-8"))
    return mapping


def write_manual() -> None:
    """Make docs/manual the manual that the code generates, by `dbanon docs`; equal pages are not written again."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "dbanon", "docs", "--output", folder], check=True, cwd=ROOT)
        current = {path.relative_to(folder): path.read_bytes() for path in Path(folder).rglob("*.md")}
    for path in MANUAL.rglob("*.md"):
        if path.relative_to(MANUAL) not in current:
            path.unlink()
    for name, page in current.items():
        path = MANUAL / name
        if not path.exists() or path.read_bytes() != page:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(page)


NAME_INDEX = ROOT / "dbanon" / "table_functions" / "name_index.py"
_NAME_INDEX_TEXT = '''"""The modules of all table functions and algorithms, so that one of them can be imported alone.

Generated: `python -m tests.support.generated` writes this module.
"""

from collections.abc import Mapping

FUNCTIONS_BY_MODULE: Mapping[str, str] = {
%s}
"""The names of the table functions of each module, separated by blanks, in the order of the manual."""

ALGORITHM_MODULES: Mapping[str, str] = {
%s}
"""The module of each algorithm for tables, in `dbanon.algorithms`, by name."""
'''


def name_index() -> str:
    """Return the text of the module `name_index`: the names of table functions and algorithms by module."""
    algorithm_modules = find_algorithm_modules()  # registers all algorithms, before their functions are declared
    functions = []
    for module, names in find_declarations().items():
        text = textwrap.indent(textwrap.fill(names, 112, break_on_hyphens=False), " " * 8)
        functions.append(f'    "{module}": """\n{text}\n    """,\n')
    entries = (f'    "{name}": "{module}",\n' for name, module in algorithm_modules.items())
    return _NAME_INDEX_TEXT % ("".join(functions), "".join(entries))


def main() -> None:
    """Write everything that is generated from the registry."""
    index = name_index()
    if index != NAME_INDEX.read_text(encoding="utf-8"):
        NAME_INDEX.write_text(index, encoding="utf-8")
        subprocess.run([sys.executable, "-m", "tests.support.generated"], check=True, cwd=ROOT)  # with the new index
        return
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    picture.write()
    subprocess.run([sys.executable, "-m", "tests.support.examples", *MESSAGES], check=True)
    write_manual()


if __name__ == "__main__":
    main()
