"""Texts that are safe to show on a terminal: errors, warnings and values without control characters."""

import re

_CONTROLS = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160))} | {9: "\\t", 10: "\\n", 13: "\\r"}
"""What moves the cursor or colours a terminal must not come out of a table's cell."""

_BREAKS = {c: shown for c, shown in _CONTROLS.items() if c not in (9, 10, 13)}

_OURS = re.compile(r"^(?:Invalid Input|Binder) Error: (?=[a-z_]+: )")
"""DuckDB's name for the kind of an error that is ours says nothing."""

_CALL_SHOWN = re.compile(r"\n+LINE \d+:.*", re.DOTALL)


def for_people(message: str) -> str:
    """Return an error's text for people: our own without DuckDB's wrapping, hints on a line of their own."""
    ours = _OURS.match(message)
    if ours:
        message = _CALL_SHOWN.sub("", message[ours.end() :])
    message = re.sub(r" Hint: ", "\nHint: ", message.strip())
    lines = [line for line in harmless(message).split("\n") if line.strip()]
    return "\n".join(lines if len(lines) <= 20 else [*lines[:20], "…"])


def one_line(text: str) -> str:
    """Return a text with its line breaks and control characters spelled out."""
    return text.translate(_CONTROLS)


def harmless(text: str) -> str:
    """Return a text of several lines that cannot command a terminal."""
    return text.translate(_BREAKS)
