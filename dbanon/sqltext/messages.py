"""Write error messages that a statement completes while it runs, and keep their texts out of its logic."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from dbanon.sqltext.quote import Fragment, text

_PLACEHOLDER_KEY = secrets.token_hex(16)
"""Marks SQL expressions in messages. It is random, so no name of a table or column contains it."""

_PLACEHOLDER = re.compile(f"<{_PLACEHOLDER_KEY}>(.*?)</{_PLACEHOLDER_KEY}>", re.DOTALL)

_SIMPLE = re.compile(r"[\w.]+(\([^()]*\))?")
"""A name, or a call of a function without nested calls: it can be cast without parentheses."""


def sql_placeholder(expression: str) -> str:
    """Return a placeholder for a SQL expression, for use as an argument of an error's message.

    `error_sql` replaces it by the expression, whose value is in the message when the statement runs.
    """
    return f"<{_PLACEHOLDER_KEY}>{expression}</{_PLACEHOLDER_KEY}>"


def error_sql(error: Exception) -> Message:
    """Return a SQL expression of the text of an error's message.

    Expressions in it that `sql_placeholder` marked are evaluated when the statement runs; the rest is a string literal.
    """
    return Message.from_parts(_PLACEHOLDER.split(str(error)))


def _text_value(expression: str) -> str:
    """Return SQL of the text of an expression's value; a string literal stays as it is."""
    if expression.startswith("'"):
        return expression
    return f"{expression if _SIMPLE.fullmatch(expression) else f'({expression})'}::VARCHAR"


class Message(Fragment):
    """SQL of the text of an error message, with its parts.

    Attributes:
        pieces: The constant pieces of the text.
        expressions: SQL of the values between the pieces, one fewer than there are pieces.
    """

    __slots__ = ("expressions", "pieces")

    pieces: tuple[str, ...]
    expressions: tuple[str, ...]

    @classmethod
    def from_parts(cls, parts: Sequence[str]) -> Message:
        """Return the message whose parts are alternately pieces of text and SQL expressions, a piece first and last."""
        sql = " || ".join(f"({p})::VARCHAR" if i % 2 else text(p) for i, p in enumerate(parts) if i % 2 or p)
        message = cls(f"({sql})")
        message.pieces, message.expressions = tuple(parts[::2]), tuple(parts[1::2])
        return message


class StatementMessages:
    """The error messages that the checks of one statement name, in the order in which its template names them.

    A template gets an instance as `messages`. It prints `failure(...)` in the branch of a check, and after all checks
    the relation of the messages that were named so far (sql/shared/messages.sql).
    """

    def __init__(self) -> None:
        """Start without messages."""
        self._messages_by_name: dict[str, Message] = {}

    def failure(self, name: str, message: Message) -> Fragment:
        """Return SQL of a struct with the name of a message and the values that are inserted into it.

        Args:
            name: A short name of the failed check, such as `classes below k`. Equal names have equal messages.
            message: The message.
        """
        self._messages_by_name.setdefault(name, message)
        return Fragment(f"{{'name': {text(name)}, 'values': [{', '.join(map(_text_value, message.expressions))}]}}")

    def take_rows(self) -> list[Fragment]:
        """Return SQL of the named messages, each with the list of the pieces of its text, and forget them."""
        rows = [
            Fragment(f"({text(name)}, [{', '.join(map(text, message.pieces))}])")
            for name, message in self._messages_by_name.items()
        ]
        self._messages_by_name.clear()
        return rows
