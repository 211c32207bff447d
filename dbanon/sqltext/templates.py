"""Fill SQL templates.

A template can print `Sql` only (see `dbanon.sqltext.quote`), so an unquoted name or value cannot reach a statement.
Lines of a template that contain only tags produce no text; all other lines keep their indentation and line break. The
comments of a template, `--` lines above a relation, are part of the text; `dbanon.sqltext.qualify_builtins` removes
them from the statement that runs.
"""

import contextlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache, lru_cache
from typing import Any

import jinja2

from dbanon.sqltext import resources
from dbanon.sqltext.column_labels import derived_reference
from dbanon.sqltext.messages import StatementMessages
from dbanon.sqltext.quote import Fragment, Sql, identifier, one_line


def _printable(value: object) -> object:
    """Return a value unchanged if a template may print it; raise TypeError for any other.

    It may be an integer, or an object that Jinja does not escape (with `__html__`), such as a `Fragment`. Jinja's
    undefined values pass, because they raise an error of their own.
    """
    if isinstance(value, (int, jinja2.Undefined)) or hasattr(value, "__html__"):
        return value
    raise TypeError(f"a template printed {value!r}, which is not SQL")


@cache
def _templates() -> jinja2.Environment:
    """Return the Jinja environment that loads templates from sql/, created once."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda path: _keep_line_ends(resources.sql(path))),
        autoescape=True,
        finalize=_printable,
        undefined=jinja2.StrictUndefined,
        lstrip_blocks=True,
        trim_blocks=True,
        bytecode_cache=_bytecode_cache(),
    )
    environment.globals["sql"] = _concatenate_sql
    environment.filters |= {
        "of": _relation_name,
        "comment": lambda words: Fragment(one_line(words)),
        "filled": _fill_pieces,
    }
    return environment


def _bytecode_cache() -> jinja2.BytecodeCache | None:
    """Return a cache of compiled templates on disk; None if Python writes no bytecode or the folder is not writable.

    Compiling templates is most of the cost of a first statement.
    """
    cache_folder = resources.folder("sql") / "__pycache__"
    if sys.dont_write_bytecode:
        return None
    with contextlib.suppress(OSError):
        cache_folder.mkdir(exist_ok=True)
    return jinja2.FileSystemBytecodeCache(str(cache_folder)) if os.access(cache_folder, os.W_OK) else None


_TAG = re.compile(r"\{[%#].*?[%#]\}")
_TAG_AT_START = re.compile(r"^(\s*\{%)(?![-+])(?!\s*(?:set|macro|include)\b)")
_TAG_AT_END = re.compile(r"(?<![-+])%\}$")


def _keep_line_ends(source: str) -> str:
    """Return a template in which Jinja trims the space around a tag only if the line has nothing but tags.

    All other tags get a `+`, which keeps the space around them.

    >>> print(_keep_line_ends("  {% if a %}x{% endif %}"))
      {%+ if a %}x{% endif +%}
    """
    return "\n".join(_keep_line_end(line) for line in source.split("\n"))


def _keep_line_end(line: str) -> str:
    """Add a `+` to the tags at the start and the end of a template line, so that Jinja keeps the space around them.

    Tags that have a sign, and an include at the start, get none. A line is returned unchanged if it has nothing but
    tags, none of them an include, or if it begins with a `set` or `macro` tag.
    """
    alone = not _TAG.sub("", line).strip() and "{% include" not in line
    if alone or line.lstrip().startswith(("{% set", "{% macro")):
        return line
    return _TAG_AT_END.sub("+%}", _TAG_AT_START.sub(r"\1+", line))


def _concatenate_sql(*pieces: str | int) -> Fragment:
    """Return strings and integers of a template joined to one piece of SQL, such as `sql('q', 3)` for `q3`."""
    return Fragment("".join(str(p) for p in pieces))


@jinja2.pass_environment
def _relation_name(environment: jinja2.Environment, step: str, *columns: object) -> Fragment:
    """Return the quoted name of a relation or column that is derived from one column or several: `"age: code"`.

    The name is unique: names of other relations have no colon, and neither has `step`, so the text before the last
    colon is the column, or the quoted columns joined by `and`.

    Args:
        environment: Jinja's environment, which reads attributes.
        step: The part of the name after the colon, such as `code`.
        columns: Objects with the attribute `raw_name`, the name of the column.
    """
    column_names = [environment.getattr(column, "raw_name") for column in columns]
    if len(column_names) == 1:
        return Fragment(derived_reference(step, column_names[0]))
    return Fragment(identifier(f"{' and '.join(map(identifier, column_names))}: {step}"))


def _fill_pieces(template: Sql, **pieces: object) -> Fragment:
    """Return SQL with each `{name}` replaced by the piece of that name; pieces that do not occur are ignored."""
    return Fragment(template.format(**{name: str(piece) for name, piece in pieces.items()}))


def fill(template: str, **values: object) -> str:
    """Return the text of the template at a path below sql/, filled with values.

    Only values that are `Sql` or integers can be printed; a template that prints another value raises TypeError.
    """
    return str(_templates().get_template(template).render(_template_values(values)))


def fill_text(source: str, values: Mapping[str, object]) -> Sql:
    """Return the SQL of a template whose source text is given, filled with values by name."""
    return Sql(str(_template_from_text(_templates(), source).render(_template_values(values))))


def _template_values(values: Mapping[str, object]) -> dict[str, object]:
    """Return values as a template reads them, and `messages`, which collects the messages that its checks name."""
    return {name: _make_printable(value) for name, value in values.items()} | {"messages": StatementMessages()}


@lru_cache(256)
def _template_from_text(environment: jinja2.Environment, source: str) -> jinja2.Template:
    """Return the compiled template of a source text; the last 256 are cached.

    Jinja caches only templates that it loads by name. Here the source text is the name in the cache on disk.
    """
    lines = _keep_line_ends(source)
    cache = environment.bytecode_cache
    if cache is None:
        return environment.from_string(lines)
    bucket = cache.get_bucket(environment, lines, None, lines)
    if bucket.code is None:
        bucket.code = environment.compile(lines)
        cache.set_bucket(bucket)
    return environment.template_class.from_code(environment, bucket.code, environment.make_globals(None))


def _make_printable(value: Any) -> Any:
    """Return a copy of a value in which a template can print all `Sql`, also inside lists, mappings and dataclasses.

    A dataclass becomes a `_TemplateView`; other values are unchanged.
    """
    if isinstance(value, Sql):
        return value if isinstance(value, Fragment) else Fragment(value)
    if isinstance(value, Mapping):
        return {k: _make_printable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_make_printable(v) for v in value]
    return _TemplateView(value) if is_dataclass(value) else value


class _TemplateView:
    """A dataclass instance as a template sees it: `Sql` fields and properties can be printed, the object itself not.

    Names that begin with an underscore are not accessible.
    """

    def __init__(self, instance: object) -> None:
        """Store the dataclass instance."""
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the instance so that a template can print its `Sql`; it is kept for the next access.

        AttributeError for a name that begins with an underscore.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        value = _make_printable(getattr(self._instance, name))
        self.__dict__[name] = value
        return value
