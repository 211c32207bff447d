"""Make texts safe to show on a terminal: errors, warnings and values without control characters."""

import re

_CONTROLS = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160))} | {9: "\\t", 10: "\\n", 13: "\\r"}
"""Control characters and their escapes: a cell of a table must not move the cursor or change colours."""

_CONTROLS_WITHOUT_BREAKS = {c: text for c, text in _CONTROLS.items() if c not in (9, 10, 13)}

_ERROR_PREFIX = re.compile(r"^(?:Invalid Input|Binder) Error: (?=[a-z_]+: )")
"""DuckDB's prefix for the kind of error, which says nothing about errors of dbanon."""

_STATEMENT_EXCERPT = re.compile(r"\n+LINE \d+:.*", re.DOTALL)


def format_error(message: str) -> str:
    """Return the text of an error for people, with control characters escaped and each hint on a line of its own.

    From errors of dbanon, the prefix and the excerpt of the statement that DuckDB adds are removed. Blank lines are
    removed. Of more than 20 lines, the first 20 and `…` remain.
    """
    prefix = _ERROR_PREFIX.match(message)
    if prefix:
        message = _STATEMENT_EXCERPT.sub("", message[prefix.end() :])
    message = re.sub(r" Hint: ", "\nHint: ", message.strip())
    lines = [line for line in escape_controls(message).split("\n") if line.strip()]
    return "\n".join(lines if len(lines) <= 20 else [*lines[:20], "…"])


def single_line(text: str) -> str:
    """Return a text with all control characters escaped, including line breaks and tabs."""
    return text.translate(_CONTROLS)


def escape_controls(text: str) -> str:
    """Return a text with control characters escaped, except line feeds, carriage returns and tabs."""
    return text.translate(_CONTROLS_WITHOUT_BREAKS)
