"""Write error messages that a statement completes while it runs, and keep their texts out of its logic."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from dbanon.sqltext.quote import Fragment, text

_PLACEHOLDER_KEY = secrets.token_hex(16)
"""Marks SQL expressions in messages. It is random, so no name of a table or column contains it."""

_PLACEHOLDER = re.compile(f"<{_PLACEHOLDER_KEY}>(.*?)</{_PLACEHOLDER_KEY}>", re.DOTALL)

_SIMPLE = re.compile(r"[\w.]+(\([^()]*\))?|\"[^\"]+\"")
"""A name, or a call of a function without nested calls: it can be cast without parentheses."""


_CHOICE = re.compile(r"CASE WHEN [^']* THEN '[^']*' ELSE '[^']*' END")
"""One of two words, by `plural_form`."""


def sql_placeholder(expression: str) -> str:
    """Return a placeholder for a SQL expression, for use as an argument of an error's message.

    `error_sql` replaces it by the expression, whose value is in the message when the statement runs.
    """
    return f"<{_PLACEHOLDER_KEY}>{expression}</{_PLACEHOLDER_KEY}>"


def plural_form(count: object, singular: str, plural: str) -> str:
    """Return the form of a word that fits a count: `singular` for 1, otherwise `plural`.

    If `count` is a placeholder by `sql_placeholder`, so is the result: SQL that selects the form when the statement
    runs.

    >>> [f"{n} {plural_form(n, 'row is', 'rows are')} missing" for n in (0, 1, 2)]
    ['0 rows are missing', '1 row is missing', '2 rows are missing']
    """
    expression = _PLACEHOLDER.fullmatch(str(count))
    if expression:
        return sql_placeholder(f"CASE WHEN {_operand(expression[1])} = 1 THEN {text(singular)} ELSE {text(plural)} END")
    return singular if str(count) == "1" else plural


def error_sql(error: Exception) -> Message:
    """Return a SQL expression of the text of an error's message.

    Expressions in it that `sql_placeholder` marked are evaluated when the statement runs; the rest is a string literal.
    """
    return Message.from_parts(_PLACEHOLDER.split(str(error)))


def _text_value(expression: str) -> str:
    """Return SQL of the text of an expression's value; a string literal, or a choice of two, stays as it is."""
    if expression.startswith("'") or _CHOICE.fullmatch(expression):
        return expression
    return f"{_operand(expression)}::VARCHAR"


def _operand(expression: str) -> str:
    """Return an expression, in parentheses unless it is a name or a simple call."""
    return expression if _SIMPLE.fullmatch(expression) else f"({expression})"


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

    def take_texts(self) -> dict[str, object]:
        """Return SQL of the texts of the named messages, and forget them.

        Returns:
            rows: For each message its name and the part of its text that differs from those of others, as a row of
                VALUES.
            whole_text: SQL of the whole text, from the second column `col1` of a row.
            mark: The mark, as a literal, of the places in texts where values are inserted.
        """
        pieces_by_name = {name: message.pieces for name, message in self._messages_by_name.items()}
        self._messages_by_name.clear()
        mark = _unused_mark([piece for pieces in pieces_by_name.values() for piece in pieces])
        texts = [mark.join(pieces) for pieces in pieces_by_name.values()]
        prefix, suffix = _common_ends(texts) if len(texts) >= _MIN_SHARED else ("", "")
        rows = [
            Fragment(f"({text(name)}, {text(message[len(prefix) : len(message) - len(suffix)])})")
            for name, message in zip(pieces_by_name, texts, strict=True)
        ]
        ends = [text(prefix)] * bool(prefix), [text(suffix)] * bool(suffix)
        whole_text = Fragment(" || ".join([*ends[0], "col1", *ends[1]]))
        return {"rows": rows, "whole_text": whole_text, "mark": Fragment(text(mark))}


_MIN_SHARED = 3
"""From so many messages on, the beginning and the end that all have in common are written once."""


def _unused_mark(pieces: Sequence[str]) -> str:
    """Return a mark of an inserted value that no piece of text contains: `{}`, or braces with underscores in them."""
    n_underscores = 0
    while any("{" + "_" * n_underscores + "}" in piece for piece in pieces):
        n_underscores += 1
    return "{" + "_" * n_underscores + "}"


def _common_ends(texts: Sequence[str]) -> tuple[str, str]:
    """Return the longest common beginning, up to a blank, and end, from a blank on, of texts; "" for none."""
    n_first = _n_common(texts)
    n_first = texts[0].rfind(" ", 0, n_first) + 1
    n_last = _n_common([message[n_first:][::-1] for message in texts])
    suffix = texts[0][len(texts[0]) - n_last :]
    return texts[0][:n_first], suffix[suffix.find(" ") :] if " " in suffix else ""


def _n_common(texts: Sequence[str]) -> int:
    """Return the number of characters at the beginning that all texts have in common."""
    columns = enumerate(zip(*texts, strict=False))
    return next((place for place, characters in columns if len(set(characters)) > 1), min(map(len, texts)))
