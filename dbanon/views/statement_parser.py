"""Parse statements about materialized and streaming anonymized views, which DuckDB cannot parse."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.sqltext.tokenizer import Token, code_tokens
from dbanon.table_functions.registry import table_functions

CREATE = "CREATE MATERIALIZED ANONYMIZED VIEW"
REFRESH = "REFRESH MATERIALIZED ANONYMIZED VIEW"
DROP = "DROP MATERIALIZED ANONYMIZED VIEW"
CREATE_STREAM = "CREATE STREAMING ANONYMIZED VIEW"
REFRESH_STREAM = "REFRESH STREAMING ANONYMIZED VIEW"
DROP_STREAM = "DROP STREAMING ANONYMIZED VIEW"

SYNTAX = {
    CREATE: "CREATE [OR REPLACE] MATERIALIZED ANONYMIZED VIEW [IF NOT EXISTS] name [KEY (column, ...)] "
    "[WITH (composition = 'refuse', allow_small_differences = true, disjoint_from = ['insensitive'])] "
    "AS SELECT * FROM kacpc('table', k = 10)",
    REFRESH: "REFRESH MATERIALIZED ANONYMIZED VIEW name "
    "[WITH (mode = 'hold', allow_small_differences = true, if_stale = true, erase = true, composition = 'refuse')]",
    DROP: "DROP MATERIALIZED ANONYMIZED VIEW [IF EXISTS] name",
    CREATE_STREAM: "CREATE STREAMING ANONYMIZED VIEW [IF NOT EXISTS] name AS "
    "SELECT * FROM fads('table', k = 10, delta = 1000, order_by = 'ts')",
    REFRESH_STREAM: "REFRESH STREAMING ANONYMIZED VIEW name [WITH (flush = true, allow_deleted_rows = true)]",
    DROP_STREAM: "DROP STREAMING ANONYMIZED VIEW [IF EXISTS] name",
}
"""The syntax of each statement, for messages."""

_OPTIONS = {
    CREATE: ("composition", "allow_small_differences", "disjoint_from"),
    REFRESH: ("mode", "allow_small_differences", "composition", "if_stale", "erase"),
    REFRESH_STREAM: ("flush", "allow_deleted_rows"),
}
_FLAGS = ("allow_small_differences", "if_stale", "erase", "flush", "allow_deleted_rows")
_LISTS = ("disjoint_from",)
CREATES = (CREATE, CREATE_STREAM)
_CONDITIONS = dict.fromkeys(CREATES, ("IF", "NOT", "EXISTS")) | dict.fromkeys((DROP, DROP_STREAM), ("IF", "EXISTS"))


@dataclass(frozen=True)
class ViewStatement:
    """A statement about an anonymized view. `query` is the text after AS, in CREATE."""

    statement: str
    name: tuple[str, ...]
    options: Mapping[str, str | bool | tuple[str, ...]]
    key: tuple[str, ...] | None = None
    replace: bool = False
    exists: bool = False
    """IF EXISTS or IF NOT EXISTS."""
    query: str = ""


Parse = Callable[[str], Any]
"""A parser that raises duckdb.ParserException for invalid SQL."""


def split_statements(query: Any, parse: Parse) -> list[Any]:
    """Return the statements of a query in order, those of dbanon as `ViewStatement`; only the query if there are none.

    No statement has run when this raises.

    Raises:
        UnreadableStatementError: A statement of dbanon has invalid syntax.
        NotASingleCallError: CREATE has no query that is one call.
        duckdb.ParserException: Another statement is invalid.
    """
    if not isinstance(query, str) or "anonymized" not in query.lower():
        return [query]
    pieces: list[list[Token]] = [[]]
    ends = []
    for token in code_tokens(query):
        if token.text == ";":
            ends.append(token.start)
            pieces.append([])
        else:
            pieces[-1].append(token)
    statements: list[Any] = []
    for words, end in zip(pieces, [*ends, len(query)], strict=True):
        if not words:
            continue
        statements.append(_StatementParser(words, query[:end], parse).parse_statement() or query[words[0].start : end])
    if not any(isinstance(step, ViewStatement) for step in statements):
        return [query]
    for step in statements:
        parse(step.query if isinstance(step, ViewStatement) else step)
    return statements


class _StatementParser:
    """A parser of one statement, token after token."""

    def __init__(self, tokens: Sequence[Token], text: str, sql_parser: Parse) -> None:
        self.tokens = [*tokens, Token("end", "", len(text))]
        self.text = text
        self.sql_parser = sql_parser
        self.position = 0
        self.statement = ""

    def parse_statement(self) -> ViewStatement | None:
        """Return the statement; None if it is not one of dbanon."""
        replace = self.accept("CREATE", "OR", "REPLACE")
        verb = "CREATE" if replace else self.peek()
        self.position += 0 if replace else 1
        kind = next((w for w in ("MATERIALIZED", "STREAMING") if self.accept(w, "ANONYMIZED")), None)
        if verb not in ("CREATE", "REFRESH", "DROP") or kind is None:
            return None
        self.statement = f"{verb} {kind} ANONYMIZED VIEW"
        if replace and self.statement == CREATE_STREAM:
            raise errors.UnreadableStatementError(
                self.statement, "CREATE STREAMING", "OR REPLACE", SYNTAX[self.statement]
            )
        self.expect("VIEW")
        condition = _CONDITIONS.get(self.statement, ())
        exists = bool(condition) and not replace and self.accept(*condition)
        name = self.parse_name()
        key = self.parse_columns() if self.statement == CREATE and self.accept("KEY") else None
        options: dict[str, str | bool | tuple[str, ...]] = {}
        if self.statement in _OPTIONS and self.accept("WITH"):
            options = self.parse_options()
        query = ""
        if self.statement in CREATES:
            self.expect("AS")
            query = self.text[self.tokens[self.position].start :]
            check_single_call(self.statement, self.tokens[self.position : -1])
        elif self.tokens[self.position].kind != "end":
            raise self.syntax_error("the end of the statement")
        return ViewStatement(self.statement, name, options, key, replace, exists, query)

    def peek(self) -> str:
        return self.tokens[self.position].upper

    def take_text(self) -> str:
        self.position += 1
        return self.tokens[self.position - 1].text

    def accept(self, *keywords: str) -> bool:
        """Return whether the next words are these; if so, move past them."""
        if [t.upper for t in self.tokens[self.position : self.position + len(keywords)]] != list(keywords):
            return False
        self.position += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        if not self.accept(*keywords):
            raise self.syntax_error(" ".join(keywords))

    def syntax_error(self, expected: str) -> errors.UnreadableStatementError:
        return errors.UnreadableStatementError(
            self.statement, expected, self.tokens[self.position].text or None, SYNTAX[self.statement]
        )

    def parse_name_part(self, description: str) -> str:
        """Parse one name as DuckDB's grammar accepts it."""
        token = self.tokens[self.position]
        is_valid = token.kind in ("word", "quoted") and token.name != ""
        try:
            self.sql_parser(f"DROP TABLE {token.text}")
        except duckdb.Error:
            is_valid = False
        if not is_valid:
            raise self.syntax_error(
                f"{description}, in double quotes if it is a keyword or holds other signs than letters"
            )
        self.position += 1
        return token.name

    def parse_name(self) -> tuple[str, ...]:
        """Parse one to three name parts."""
        parts = [self.parse_name_part("a name")]
        while self.accept("."):
            parts.append(self.parse_name_part("a name"))
        if len(parts) > 3:
            self.position -= 2
            raise self.syntax_error("a name of at most three parts")
        return tuple(parts)

    def parse_columns(self) -> tuple[str, ...]:
        """Parse (column, ...)."""
        self.expect("(")
        parsed = [self.parse_name_part("a column")]
        while self.accept(","):
            parsed.append(self.parse_name_part("a column"))
        self.expect(")")
        return tuple(parsed)

    def parse_texts(self) -> tuple[str, ...]:
        """Parse ['text', ...], or one text."""
        if not self.accept("["):
            return (self.parse_string(),)
        parsed: list[str] = []
        while not self.accept("]"):
            parsed.append(self.parse_string())
            if self.peek() != "]":
                self.expect(",")
        return tuple(parsed)

    def parse_string(self) -> str:
        """Parse 'text'."""
        token = self.tokens[self.position]
        if not token.text.startswith("'"):
            raise self.syntax_error("a text such as 'insensitive' or a list of texts")
        self.position += 1
        return token.value

    def parse_options(self) -> dict[str, str | bool | tuple[str, ...]]:
        """Parse (name = value, ...): texts, words, true and false, and lists of texts."""
        accepted_options = _OPTIONS[self.statement]
        parsed: dict[str, str | bool | tuple[str, ...]] = {}
        self.expect("(")
        while True:
            if self.tokens[self.position].kind not in ("word", "quoted"):
                raise self.syntax_error("an option: " + " or ".join(accepted_options))
            name = self.take_text().lower()
            if name not in accepted_options:
                raise errors.UnknownParameterError(
                    f"{self.statement} WITH", name, accepted_options, renamed_names.REFRESH_OPTIONS
                )
            if name in parsed:
                raise errors.RepeatedArgumentError(self.statement, name)
            self.expect("=")
            if name in _LISTS:
                parsed[name] = self.parse_texts()
                if not self.accept(","):
                    break
                continue
            value = self.tokens[self.position]
            if not (value.kind in ("word", "number") or value.text.startswith("'")):
                raise self.syntax_error("a value such as 'refuse' or true")
            self.position += 1
            word = value.text.lower()
            parsed[name] = value.value if value.kind == "string" else {"true": True, "false": False}.get(word, word)
            if isinstance(parsed[name], bool) != (name in _FLAGS):
                raise errors.InvalidArgumentError(
                    self.statement, name, "true or false" if name in _FLAGS else "a text", value.text
                )
            if not self.accept(","):
                break
        self.expect(")")
        return parsed


def check_single_call(statement: str, words: Sequence[Token]) -> None:
    """Check that the words are SELECT * FROM function(...), or FROM function(...).

    Raises:
        NotASingleCallError: They are not.
    """
    functions = table_functions()
    publishing = [f.name for f in functions.values() if f.kind == "release"]
    if statement == CREATE_STREAM:
        publishing = [f.name for f in functions.values() if f.name == f.system]

    def call_error(why: str) -> errors.NotASingleCallError:
        return errors.NotASingleCallError(why, publishing, statement)

    leading = [t.upper for t in words[:3]]
    name_index = 3 if leading == ["SELECT", "*", "FROM"] else 1 if leading[:1] == ["FROM"] else 0
    if not name_index:
        raise call_error("this one does not begin with SELECT * FROM or FROM" if words else "there is none")
    if len(words) < name_index + 2 or words[name_index + 1].text != "(":
        raise call_error("this one does not call a function first")
    name = words[name_index].text.strip('"').lower()
    if name not in publishing:
        function = functions.get(name)
        if function is not None and bool(function.system) != (statement == CREATE_STREAM):
            other = CREATE if statement == CREATE_STREAM else CREATE_STREAM
            if function.name in (function.system, function.algorithm):
                raise call_error(f"{name} is for {other}")
        if function is not None and function.algorithm and function.kind in ("classes", "metrics"):
            raise call_error(f"{name} is made with it, as a table of its own")
        raise call_error(f"this one calls {name}.{errors.did_you_mean(name, publishing)}".rstrip("."))
    remaining_words = words[name_index + 1 :][_closing_bracket(words[name_index + 1 :]) + 1 :]
    if remaining_words:
        raise call_error(f"this one goes on after the call: {remaining_words[0].text}")


def _closing_bracket(words: Sequence[Token]) -> int:
    """Return the index of the bracket that closes the first one."""
    depth = 0
    for i, token in enumerate(words):
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if depth == 0:
            return i
    return len(words)
