"""Generate the manual: Markdown pages of the functions, metrics, commands and errors."""

import re
from pathlib import Path, PurePosixPath

from dbanon.cli.manual import bibliography, command_page, error_page, function_page, metric_page
from dbanon.cli.manual.command_page import DocumentedCommands
from dbanon.cli.manual.function_page import SCALARS, escape_markdown, join_parts, table
from dbanon.runtime import output_files
from dbanon.table_functions.registry import table_functions


def manual_pages(commands: DocumentedCommands) -> dict[str, str]:
    """Return the Markdown of all pages of the manual by their path below its folder, with citations linked."""
    citing = {
        "index.md": _index_page(),
        "parameters.md": function_page.common_parameters_page(),
        "metrics.md": metric_page.page(),
        "commands.md": command_page.page(commands),
        "errors.md": error_page.page(),
        **{f"functions/{name}.md": function_page.page(name) for name in function_page.page_names()},
    }
    linked_pages = {
        path: bibliography.link_citations(text, "../" * path.count("/") + "bibliography.md")
        for path, text in citing.items()
    }
    return linked_pages | {"bibliography.md": bibliography.page()}


def topics(commands: DocumentedCommands) -> dict[str, str]:
    """Return the texts of `dbanon docs NAME` by lower-case name: whole pages, and sections of pages about one thing.

    If a page and a section have the same name, the page counts.
    """
    all_pages = manual_pages(commands)
    sections = {PurePosixPath(path).stem.lower(): text for path, text in all_pages.items()}
    for name in function_page.function_names():
        sections.setdefault(name, all_pages[f"functions/{function_page.page_name(name)}.md"])
    for path in ("commands.md", "errors.md", "metrics.md", "bibliography.md"):
        for section in re.split(r"^(?=## )", all_pages[path], flags=re.MULTILINE)[1:]:
            title = section.split("\n")[0].removeprefix("## ").removeprefix("dbanon ")
            sections.setdefault(title.lower(), section.rstrip() + "\n")
    return sections


def write_pages(folder: str | Path, commands: DocumentedCommands, *, overwrite: bool = False) -> list[Path]:
    """Write all pages below a folder and return their paths; the folder is created if it does not exist.

    Raises:
        TargetNotLocalError: The folder is a URL.
        TargetExistsError: A page exists and `overwrite` is false; nothing is written then.
        WriteFailedError: The system refuses to write a page.
    """
    texts = {output_files.local_target("docs", folder) / path: text for path, text in manual_pages(commands).items()}
    output_files.write_texts("docs", folder, texts, overwrite=overwrite)
    return list(texts)


# --- the pages ---------------------------------------------------------------------------------------------


def _index_page() -> str:
    """Return the first page of the manual, which lists all functions."""
    functions = table_functions()
    names = function_page.page_names()
    streams = [n for n in names if n in functions and functions[n].stream_algorithm]
    algorithms = [n for n in names if n in functions and functions[n].kind == "release"]
    others = [n for n in names if n in functions and n not in streams and n not in algorithms]
    groups = {
        "Algorithms": algorithms,
        "Stream algorithms": streams,
        "Functions about data, policy, hierarchies and releases": others,
        "Functions that read published values": list(SCALARS),
    }
    docs = {name: f.doc for name, f in functions.items()} | {name: f.doc for name, f in SCALARS.items()}
    parts = [
        "# dbanon",
        "This manual describes every function, command, metric and error of dbanon, which anonymizes data inside the "
        "database. Run its examples on the database that `dbanon demo` creates: in `dbanon shell "
        "dbanon_demo.duckdb`, or on `con = dbanon.connect('dbanon_demo.duckdb')`.",
        "- [Parameters of every algorithm](parameters.md)\n- [Commands](commands.md)\n- [Metrics](metrics.md)\n"
        "- [Errors](errors.md)\n- [Bibliography](bibliography.md)",
        "An algorithm has three functions, such as `best`, `best_classes` and `best_metrics`: the released rows, the "
        "equivalence classes and the metrics of the same release. Its page describes all three.",
    ]
    for title, names in groups.items():
        rows = ((f"[{name}](functions/{name}.md)", escape_markdown(docs[name])) for name in names)
        parts += [f"## {title}", table(("function", "returns"), rows)]
    return join_parts(*parts)
