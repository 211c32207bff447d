"""The manual's page of errors, as Markdown: each with the example that raises it and its message."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dbanon import errors
from dbanon.cli.manual.function_page import escape_markdown, example_block, join_parts
from dbanon.errors import DbanonError
from dbanon.errors.example import Situation

MESSAGES_FILE = Path(__file__).with_name("error_messages.toml")
"""The recorded messages of the examples; `python -m tests.support.examples` runs them and writes it."""


@cache
def documented_errors() -> dict[str, type[DbanonError]]:
    """Return all exception classes of dbanon.errors by name, in the order of the page: by module, then by name.

    The base classes are omitted.
    """
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DbanonError)}
    error_types = (kind for kind in kinds if kind.__module__ != DbanonError.__module__)
    return {
        kind.__name__: kind for kind in sorted(error_types, key=lambda kind: (kind.__module__, kind.__name__.lower()))
    }


@cache
def error_messages() -> dict[str, str]:
    """Return a sample message of every error by the name of its class.

    It is the recorded message of its example or, if no example can raise it, one with sample arguments.
    """
    stored_messages = tomllib.loads(MESSAGES_FILE.read_text(encoding="utf-8"))
    return {
        name: str(kind(*kind.example.arguments)) if isinstance(kind.example, Situation) else stored_messages[name]
        for name, kind in documented_errors().items()
    }


def page() -> str:
    """Return the page of all errors as Markdown."""
    return join_parts(
        "# Errors",
        "Each is an exception class of `dbanon.errors` and a `dbanon.DbanonError`. An error of a SQL function reaches "
        "Python as an error of DuckDB with the same message. After an error nothing was released and nothing was "
        "changed.",
        *(part for kind in documented_errors().values() for part in _section(kind)),
    )


def _section(kind: type[DbanonError]) -> Iterator[str]:
    """Yield the parts of an error's section: heading, docstring, example or situation, and message."""
    yield f"## {kind.__name__}"
    yield escape_markdown((kind.__doc__ or "").strip())
    if kind.example is not None:
        yield kind.example.text if isinstance(kind.example, Situation) else example_block(kind.example)
    yield f"```text\n{error_messages()[kind.__name__]}\n```"
