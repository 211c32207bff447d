"""Cuts SQL text that may be unfinished into words, and a script into statements and dot commands.

DuckDB's own tokenizer refuses text that ends within a quote, which is what a shell sees most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_PIECE = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\n]*|/\*)
    | (?P<string>[eE]'(?:[^'\\]|''|\\.)*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z) | (?P<dollar>\$(?:[^\W\d]\w*)?\$))
    | (?P<quoted>"(?:[^"]|"")*(?:"|\Z))
    | (?P<word>[^\W\d][\w$]*)
    | (?P<number>\d[\w.]*)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Piece:
    """A word of a statement: its kind (word, quoted, string, number, sign, comment), offset and text."""

    kind: str
    start: int
    text: str
    unfinished: bool = False
    """Whether the text ends before the closing quote, or before the end of a comment."""

    @property
    def name(self) -> str:
        """The name that a word or a quoted identifier stands for."""
        if self.kind != "quoted":
            return self.text
        return self.text[1 : None if self.unfinished else -1].replace('""', '"')

    @property
    def value(self) -> str:
        """What a plain string literal holds, as far as it goes."""
        return self.text[1 : None if self.unfinished else -1].replace("''", "'")


def pieces(text: str) -> list[Piece]:
    """The words of a text without the blanks between them.

    >>> [p.text for p in pieces("FROM kacpc('a;b', k=10) -- ten")]
    ['FROM', 'kacpc', '(', "'a;b'", ',', 'k', '=', '10', ')', '-- ten']
    """
    found: list[Piece] = []
    at = 0
    while match := _PIECE.match(text, at):
        kind, start, at = match.lastgroup or "", match.start(), match.end()
        if match["space"] is not None:
            continue
        unfinished = False
        if match["dollar"] is not None:
            kind = "string"
            close = text.find(match["dollar"], at)
            unfinished = close < 0
            at = len(text) if unfinished else close + len(match["dollar"])
        elif match[0] == "/*":
            at, unfinished = _comment_end(text, at)
        elif kind == "comment":
            unfinished = at == len(text)
        elif kind in ("string", "quoted"):
            unfinished = not _closed(match[0])
        found.append(Piece(kind, start, text[start:at], unfinished))
    return found


def _closed(literal: str) -> bool:
    """Whether a quoted text ends with its closing quote, not with a doubled or escaped one."""
    body = literal[1:] if literal[0] in "eE" else literal
    quote = body[0]
    escapes = r"|\\." if body is not literal else ""
    inside = r"[^'\\]|''" if escapes else f"[^{quote}]|{quote}{quote}"
    return re.fullmatch(f"{quote}(?:{inside}{escapes})*{quote}", body, re.DOTALL) is not None


def _comment_end(text: str, at: int) -> tuple[int, bool]:
    """Where a block comment ends, which may hold others, and whether the text ends first."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end(), False
    return len(text), True


def statements(text: str) -> tuple[list[str], str]:
    """The statements that a semicolon ends, without it, and what follows the last one; empty ones are left out.

    >>> statements("SELECT ';'; SELECT 2; FROM")
    (["SELECT ';'", 'SELECT 2'], ' FROM')
    """
    found, begin = [], 0
    content = False
    for piece in pieces(text):
        if piece.text == ";":
            if content:
                found.append(text[begin : piece.start].strip())
            begin, content = piece.start + 1, False
        elif piece.kind != "comment":
            content = True
    return found, text[begin:]


def blank(text: str) -> bool:
    """Whether a text holds nothing but blanks and comments."""
    return all(piece.kind == "comment" for piece in pieces(text))


def script(lines: Iterable[str]) -> Iterator[str]:
    """Statements and dot commands of a text; the last statement needs no semicolon.

    A dot command is a line that begins with a dot where no statement is open.
    """
    pending = ""
    for line in lines:
        if line.startswith(".") and blank(pending):
            pending = ""
            yield line.strip()
            continue
        pending += line if line.endswith("\n") else line + "\n"
        if ";" in line:
            done, pending = statements(pending)
            yield from done
    if not blank(pending):
        yield pending.strip()
