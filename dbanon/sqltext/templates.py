"""The one place where SQL templates are filled, and error messages that are only complete while a query runs.

A template can print `Sql` only (see `dbanon.sqltext.quote`), so names and values reach a statement quoted or not
at all. Lines of a template that hold tags alone leave nothing in the statement; all others keep their indentation and
their end. Comments of a template, `--` lines above what they are about, are part of the text;
`dbanon.sqltext.qualify_builtins` leaves them out of what runs.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import jinja2

from dbanon.sqltext import resources
from dbanon.sqltext.quote import Sql, identifier, one_line, text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Fragment(Sql):
    """SQL as a template value: printing one needs no escaping, printing anything else is refused."""

    __slots__ = ()

    def __html__(self) -> Fragment:
        return self


def _printable(value: object) -> object:
    if isinstance(value, (int, jinja2.Undefined)) or hasattr(value, "__html__"):
        return value
    raise TypeError(f"a template printed {value!r}, which is not SQL")


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda path: _whole_lines(resources.sql(path))),
        autoescape=True,
        finalize=_printable,
        undefined=jinja2.StrictUndefined,
        lstrip_blocks=True,
        trim_blocks=True,
        bytecode_cache=_compiled(),
    )
    environment.globals["sql"] = _sql
    environment.filters |= {"of": _of, "comment": _comment, "filled": _filled}
    return environment


def _compiled() -> jinja2.BytecodeCache | None:
    """Where templates are kept as Python compiles them, as modules are: reading them is most of the cost of a first
    statement. None where nothing can be written."""
    kept = resources.folder("sql") / "__pycache__"
    if sys.dont_write_bytecode:
        return None
    with contextlib.suppress(OSError):
        kept.mkdir(exist_ok=True)
    return jinja2.FileSystemBytecodeCache(str(kept)) if os.access(kept, os.W_OK) else None


_TAG = re.compile(r"\{[%#].*?[%#]\}")
_OPENED = re.compile(r"^(\s*\{%)(?![-+])(?!\s*(?:set|macro|include)\b)")
_CLOSED = re.compile(r"(?<![-+])%\}$")


def _whole_lines(source: str) -> str:
    """A template that trims its blocks only where they stand alone on a line: a `+` keeps what is around the others.

    >>> print(_whole_lines("  {% if a %}x{% endif %}"))
      {%+ if a %}x{% endif +%}
    """
    return "\n".join(_whole_line(line) for line in source.split("\n"))


def _whole_line(line: str) -> str:
    alone = not _TAG.sub("", line).strip() and "{% include" not in line
    if alone or line.lstrip().startswith(("{% set", "{% macro")):
        return line
    return _CLOSED.sub("+%}", _OPENED.sub(r"\1+", line))


def _sql(*pieces: str | int) -> Fragment:
    """Return words of a template as SQL, to be handed to a macro: `sql('q', 3)`."""
    return Fragment("".join(str(p) for p in pieces))


@jinja2.pass_environment
def _of(environment: jinja2.Environment, step: str, *columns: object) -> Fragment:
    """Return the name of a relation that exists once for each column (or pair): `"age: tree"`.

    No other relation has it: the names of all others are written without a colon, and no step has one, so that what
    stands before the last one is the column, or the columns as they are quoted.
    """
    plain = [environment.getattr(column, "plain") for column in columns]
    owner = plain[0] if len(plain) == 1 else " and ".join(map(identifier, plain))
    return Fragment(identifier(f"{owner}: {step}"))


def _filled(form: Sql, **pieces: object) -> Fragment:
    """Return SQL with pieces in its braces; pieces that it has no braces for are left out."""
    return Fragment(form.format(**{name: str(piece) for name, piece in pieces.items()}))


def _comment(words: str) -> Fragment:
    """Return any text as a part of a comment."""
    return Fragment(one_line(words))


def fill(template: str, **values: object) -> str:
    """Return the text of a template in sql/, with `Sql` values made printable."""
    return str(_templates().get_template(template).render({k: _fragments(v) for k, v in values.items()}))


def fill_text(source: str, values: Mapping[str, object]) -> Sql:
    """Return the same for a template given as text."""
    return Sql(str(_of_text(_templates(), source).render({k: _fragments(v) for k, v in values.items()})))


@lru_cache(256)
def _of_text(environment: jinja2.Environment, source: str) -> jinja2.Template:
    """Return a template given as text, compiled once: jinja2 keeps only those that it loads by name."""
    return environment.from_string(_whole_lines(source))


def _fragments(value: Any) -> Any:
    if isinstance(value, Sql):
        return Fragment(value)
    if isinstance(value, Mapping):
        return {k: _fragments(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_fragments(v) for v in value]
    return _View(value) if is_dataclass(value) else value


class _View:
    """A dataclass as a template sees it: its fields and properties, with `Sql` made printable. It cannot be printed."""

    def __init__(self, of: object) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = _fragments(getattr(self._of, name))
        self.__dict__[name] = value
        return value


def values(of: DataclassInstance) -> dict[str, object]:
    """Return the fields of a dataclass by name: what a template is filled with."""
    return {f.name: getattr(of, f.name) for f in fields(of)}


# --- messages that are only complete while the query runs ------------------------------------------------

_KEY = secrets.token_hex(16)
"""Marks expressions in messages; no name of a table or column can carry it."""

_LATER = re.compile(f"<{_KEY}>(.*?)</{_KEY}>", re.DOTALL)


def later(expression: str) -> str:
    """Return a message argument that a SQL expression will give."""
    return f"<{_KEY}>{expression}</{_KEY}>"


def message(error: Exception) -> Sql:
    """Return an error's text as a SQL expression."""
    pieces = _LATER.split(str(error))
    return Sql(
        "(" + " || ".join(f"({p})::VARCHAR" if i % 2 else text(p) for i, p in enumerate(pieces) if i % 2 or p) + ")"
    )
