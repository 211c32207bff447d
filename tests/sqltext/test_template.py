"""Readable statements: comments that templates keep, and the SQL that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pytest

from dbanon.sqltext import templates
from dbanon.sqltext.qualify_builtins import qualify_builtins, strip_blank_lines
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import fill_text

_TEMPLATE = """\
{% if first %}
-- What comes first.
{% endif %}
SELECT
    {% for name in names %}
    {{ name }},
    {% endfor %}
    {% if last %}last, {% endif %}1 AS one
FROM t{% if many %} LIMIT 10{% endif %}
ORDER BY one ASC
"""


def test_tag_lines_removed_and_others_keep_position() -> None:
    filled_text = fill_text(_TEMPLATE, {"first": True, "names": [Sql("a"), Sql("b")], "last": True, "many": True})
    assert filled_text.split("\n") == [
        "-- What comes first.",
        "SELECT",
        "    a,",
        "    b,",
        "    last, 1 AS one",
        "FROM t LIMIT 10",
        "ORDER BY one ASC",
    ]
    bare_text = fill_text(_TEMPLATE, {"first": False, "names": [], "last": False, "many": False})
    assert bare_text.split("\n") == ["SELECT", "    1 AS one", "FROM t", "ORDER BY one ASC"]


def test_comments_and_blank_lines_removed_outside_quotes() -> None:
    name, value = '"a\n\n-- b"', "'c\n  \n-- d'"
    query = f"SELECT  -- of all\n\n   \n-- the name\n    {name} AS x,   \n  {value}\n\n FROM t"
    assert strip_blank_lines(query) == f"SELECT  -- of all\n    -- the name\n    {name} AS x,\n  {value}\n FROM t"
    assert qualify_builtins(query) == f"SELECT\n    {name} AS x,\n  {value}\n FROM t"
    assert qualify_builtins(strip_blank_lines(query)) == qualify_builtins(query)


def test_brackets_of_distinct_on_are_no_row() -> None:
    query = "SELECT DISTINCT ON (a, b) c, (a, b) FROM t"
    assert qualify_builtins(query) == "SELECT DISTINCT ON (a, b) c, system.main.row(a, b) FROM t"


def test_template_from_text_is_compiled_once_on_disk(tmp_path: Path) -> None:
    environment: Any = templates._templates().overlay(bytecode_cache=jinja2.FileSystemBytecodeCache(str(tmp_path)))
    source = "SELECT {{ value }}{% if value %}\n{% endif %} -- of the test"
    compiled = templates._template_from_text.__wrapped__(environment, source)
    files = list(tmp_path.iterdir())
    environment.compile = lambda *arguments, **options: pytest.fail("compiled again")
    from_disk = templates._template_from_text.__wrapped__(environment, source)
    assert len(files) == 1 and list(tmp_path.iterdir()) == files
    assert compiled.render(value=7) == from_disk.render(value=7) == "SELECT 7\n -- of the test"
