"""The examples of the manual. `python -m tests.support.examples NAME ...` records the messages of these errors.

Without names it records the messages of all. Check the changes in `dbanon/cli/manual/error_messages.toml`.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.api import demo
from dbanon.cli import main
from dbanon.cli.manual import error_page
from dbanon.cli.manual.error_page import documented_errors
from dbanon.errors import DbanonError
from dbanon.errors.example import Example
from dbanon.sqltext import messages
from dbanon.sqltext.quote import identifier

ROWS = 200


class Demo:
    """The demo database with fewer patients, made once; statements are undone before others run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "make_patients", lambda real=demo.make_patients: real(ROWS))
            self.con = demo.create_demo(path)
        self.con.execute("ATTACH ':memory:' AS kept; CREATE TABLE kept.policy AS FROM dbanon.policy")
        self.con.execute("CREATE TABLE kept.hierarchy AS FROM dbanon.hierarchy")
        self.con.execute("SET threads = 1")
        self.tables = self._tables()
        self.before: tuple[str, ...] | None = ()

    def ready(self, setup: tuple[str, ...]) -> Any:
        """Return the connection after these statements and no others."""
        if self.before != setup:
            self._undo()
            self.before = None
            for statement in setup:
                self.con.execute(statement)
            self.before = setup
        return self.con

    def _tables(self) -> set[tuple[str, str, str]]:
        """Return database, schema, name and kind of all tables and views."""
        return set(
            self.con.execute(
                "SELECT database_name, schema_name, table_name, 'TABLE' FROM duckdb_tables() UNION ALL "
                "SELECT database_name, schema_name, view_name, 'VIEW' FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
        )

    def _undo(self) -> None:
        """Restore the demo: drop what statements created, and reset the tables of the schema dbanon."""
        with contextlib.suppress(Exception):
            self.con.execute("ROLLBACK")
        for name in ("elsewhere", "ward"):
            self.con.execute(f"DETACH DATABASE IF EXISTS {name}")
        for database, schema, name, kind in self._tables() - self.tables:
            if schema != "dbanon" or name.startswith("waiting "):
                place = f"{identifier(database)}.{identifier(schema)}.{identifier(name)}"
                self.con.execute(f"DROP {kind} IF EXISTS {place}")
        macros = (
            "SELECT function_name FROM duckdb_functions() WHERE database_name = 'dbanon_demo' AND schema_name = 'main'"
        )
        for (name,) in self.con.execute(f"{macros} AND NOT internal AND function_type = 'macro'").fetchall():
            self.con.execute(f"DROP MACRO {identifier(name)}")
        self.con.execute("DROP SCHEMA IF EXISTS ward")
        for name in ("policy", "hierarchy"):
            self.con.execute(f"DELETE FROM dbanon.{name}; INSERT INTO dbanon.{name} BY NAME FROM kept.{name}")
        for name in ("membership", "release", "stream", "related_release", "relation"):
            if self.con.execute(
                "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'dbanon' AND table_name = ?", [name]
            ).fetchall():
                self.con.execute(f"DELETE FROM dbanon.{name}")


def run_example(database: Demo, example: Example) -> str:
    """Return the output or message of an example."""
    con = database.ready(example.setup)
    if example.language == "sh":
        return CliRunner().invoke(main, shlex.split(example.code.removeprefix("dbanon "))).output
    try:
        if example.language == "python":
            exec(
                compile(example.code, "example", "exec", dont_inherit=True),
                {"con": con, "dbanon": dbanon, "__name__": "example"},
            )
            return ""
        return "\n".join(str(cell) for row in con.execute(example.code).fetchall() for cell in row)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def words(text: object) -> str:
    """Return text on one line, so that it is found in any wrapping."""
    return " ".join(str(text).split())


@contextlib.contextmanager
def record_messages() -> Iterator[dict[str, list[str]]]:
    """Record the texts of errors built inside the block, by the names of their classes, the latest first."""
    texts: dict[str, list[str]] = {}
    real = DbanonError.__init__

    def note(self: DbanonError, *arguments: object) -> None:
        real(self, *arguments)
        texts.setdefault(type(self).__name__, []).insert(0, str(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DbanonError, "__init__", note)
        yield texts


def find_message(output: str, texts: list[str]) -> str:
    """Return the message in the output of an example that is one of these texts, with the values of the query."""
    for text in texts:
        parts = messages._PLACEHOLDER.split(text)[::2]
        if match := re.search(".*?".join(re.escape(re.sub(r"\s+", " ", part)) for part in parts), output):
            return match[0]
    raise ValueError(f"the example does not raise its error: {output}")


def record_examples(names: list[str]) -> None:
    """Write the messages of errors to the file that the page is made from; those of `names`, or of all."""
    shown_examples_by_name = {
        name: kind.example for name, kind in documented_errors().items() if isinstance(kind.example, Example)
    }
    document = tomllib.loads(error_page.MESSAGES_FILE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), record_messages() as texts:
        database = Demo(Path("dbanon_demo.duckdb"))
        for name in sorted(names or shown_examples_by_name, key=lambda name: shown_examples_by_name[name].setup):
            output = words(run_example(database, shown_examples_by_name[name]))
            document[name] = find_message(output, texts.get(name, []))
        database.con.close()
    lines = (f"{name} = {json.dumps(document[name], ensure_ascii=False)}\n" for name in shown_examples_by_name)
    error_page.MESSAGES_FILE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    record_examples(sys.argv[1:])
