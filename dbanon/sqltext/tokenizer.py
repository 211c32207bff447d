"""Split SQL text into tokens as DuckDB does. Keywords are words."""

import re
from typing import NamedTuple

_NAME_START = r"[^\x00-@\[-^`{-\x7f\s]"  # an ASCII letter, _, or any other character that is neither ASCII nor blank
_TAG = rf"(?:{_NAME_START}[^\x00-/:-@\[-^`{{-\x7f\s]*+)?"
_DIGITS = r"\d+(?:_\d+)*"
_LINE_COMMENT = r"--[^\n\r]*+"
_BLOCK_COMMENT = r"/\*[^*/]*+(?:(?:\*(?!/)|/(?!\*))[^*/]*+)*\*/"  # without a comment inside it
_STRING = r"""[eE]'(?:[^'\\]|\\.|'')*+' | [bBxX]?'[^']*+(?:''[^']*+)*+'"""
_QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'
_WORD = rf"{_NAME_START}[^\x00-\x23%-/:-@\[-^`{{-\x7f\s]*+"
_NUMBER = rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
_PARAMETER = rf"\?\d*|\$(?:\d+|{_WORD})"

_SIGN = r"(?!--|/\*)[-+*/<>=]"  # an operator ends before a comment
_OTHER_SIGN = r"[~!@%^&|]"
_OPERATOR = rf"""[](),;[{{}}] | :[:=]?
    | (?:{_SIGN})*+{_OTHER_SIGN}(?:{_SIGN}|{_OTHER_SIGN})*+
    | (?:{_SIGN})*(?!--|/\*)[*/<>=] | ."""  # the last sign is + or - only with one of the other signs, or alone


def _pattern(**rules: str) -> re.Pattern[str]:
    """Return one regular expression that tries the rules in order; each is a group named after its kind of token."""
    return re.compile("|".join(f"(?P<{kind}>{rule})" for kind, rule in rules.items()), re.VERBOSE | re.DOTALL)


DUCKDB = _pattern(
    space=r"\s+",
    comment=f"{_LINE_COMMENT}|{_BLOCK_COMMENT}",
    string=rf"{_STRING} | \$(?P<tag>{_TAG})\$.*?\$(?P=tag)\$",
    quoted=_QUOTED,
    begun_comment=r"/\*",
    begun_string=rf"[eEbBxX]?'|\${_TAG}\$",
    begun_quoted='"',
    word=_WORD,
    number=_NUMBER,
    parameter=_PARAMETER,
    operator=_OPERATOR,
)
SPARK = _pattern(
    space=r"\s+",
    comment=f"{_LINE_COMMENT}|{_BLOCK_COMMENT}",
    string=r"""'(?:[^'\\]|\\.|'')*+' | "(?:[^"\\]|\\.|"")*+\"""",
    quoted="`[^`]*+(?:``[^`]*+)*+`",
    begun_comment=r"/\*",
    begun_string="""['"]""",
    begun_quoted="`",
    word=_WORD,
    number=_NUMBER,
    parameter=_PARAMETER,
    operator=_OPERATOR,
)
"""Spark's rules: strings have single or double quotes and backslash escapes, names have backquotes."""

_SPACED = re.compile(
    rf"(\s*(?:(?:{_LINE_COMMENT}|{_BLOCK_COMMENT})\s*)*)"
    rf"({_STRING} | {_WORD} | {_QUOTED} | {_NUMBER} | {_PARAMETER} | {_OPERATOR})",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


class Token(NamedTuple):
    """A token of SQL text.

    Attributes:
        kind: space, comment, word, quoted, string, number, parameter or operator.
        text: Its text, with quotes.
        start: The index of its first character.
        is_unfinished: Whether the text ends before the closing quote or the end of a comment.
    """

    kind: str
    text: str
    start: int
    is_unfinished: bool = False

    @property
    def end(self) -> int:
        """The index after the token's last character."""
        return self.start + len(self.text)

    @property
    def upper(self) -> str:
        """The text in upper case, for comparison with keywords.

        A quoted name keeps its quotes, so it equals no keyword.
        """
        return self.text.upper()

    @property
    def name(self) -> str:
        """The name that a word or a quoted name denotes; the case is kept.

        Of a quoted name, the quotes are removed and doubled quotes inside become one. The text of any other token is
        returned unchanged.
        """
        if self.kind != "quoted":
            return self.text
        return self.text[1 : None if self.is_unfinished else -1].replace(self.text[0] * 2, self.text[0])

    @property
    def value(self) -> str:
        """The content of a string token that begins with a single quote, with doubled quotes as one.

        Strings with a prefix (such as e'...') and dollar quotes are not handled.
        """
        return self.text[1 : None if self.is_unfinished else -1].replace("''", "'")


def tokens(text: str, dialect: re.Pattern[str] = DUCKDB) -> list[Token]:
    """Split a text into tokens, including space and comments: their texts joined are the whole text. O(n).

    Quotes and block comments that are not closed extend to the end of the text and are marked `is_unfinished`. So is a
    `--` comment that the text ends with.

    Args:
        text: The text.
        dialect: The rules of the SQL dialect: DUCKDB or SPARK.

    >>> [t.kind for t in tokens("k = 10 /* ten")]
    ['word', 'space', 'operator', 'space', 'number', 'space', 'comment']
    """
    token_list: list[Token] = []
    position = 0
    while match := dialect.match(text, position):
        start, position, kind, is_unfinished = position, match.end(), match.lastgroup or "", False
        if kind.startswith("begun_"):
            kind = kind[6:]
            position, is_unfinished = _comment_end(text, position) if kind == "comment" else (len(text), True)
        elif kind == "comment" and position == len(text):
            is_unfinished = match[0].startswith("--")
        token_list.append(Token(kind, text[start:position], start, is_unfinished))
    return token_list


def code_tokens(text: str, dialect: re.Pattern[str] = DUCKDB) -> list[Token]:
    """Return the tokens of a text without space and comments.

    >>> [t.text for t in code_tokens("FROM kacpc('a;b', k=10) -- ten")]
    ['FROM', 'kacpc', '(', "'a;b'", ',', 'k', '=', '10', ')']
    """
    return [token for token in tokens(text, dialect) if token.kind not in ("space", "comment")]


def spaced_words(query: str) -> list[tuple[str, str]]:
    """Return the tokens of a query that dbanon wrote as (space and comments before it, token) pairs.

    Faster than `tokens`, for text without dollar quotes and nested comments that does not end in a comment. O(n).
    """
    return _SPACED.findall(query)


def _comment_end(text: str, start: int) -> tuple[int, bool]:
    """Return the index after a block comment, and whether the text ends before the comment does.

    `start` is the index after its opening `/*`. Comments nested in it are part of it.
    """
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end(), False
    return len(text), True
