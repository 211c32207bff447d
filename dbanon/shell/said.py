"""Errors and warnings as people read them."""

from __future__ import annotations

import re

from dbanon.shell.values import harmless

_OURS = re.compile(r"^(?:Invalid Input|Binder) Error: (?=[a-z_]+: )")
"""DuckDB's name for the kind of an error that is ours says nothing."""

_CALL_SHOWN = re.compile(r"\n+LINE \d+:.*", re.DOTALL)


def for_people(message: str) -> str:
    """An error's text for people: our own without DuckDB's wrapping, hints on a line of their own."""
    ours = _OURS.match(message)
    if ours:
        message = _CALL_SHOWN.sub("", message[ours.end() :])
    message = re.sub(r" Hint: ", "\nHint: ", message.strip())
    lines = [line for line in harmless(message).split("\n") if line.strip()]
    return "\n".join(lines if len(lines) <= 20 else [*lines[:20], "…"])
