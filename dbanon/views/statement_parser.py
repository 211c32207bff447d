"""Parse statements about materialized and streaming anonymized views, which DuckDB cannot parse."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.sqltext.cte_names import after_brackets
from dbanon.sqltext.tokenizer import Token, code_tokens
from dbanon.table_functions.registry import table_functions

CREATE = "CREATE MATERIALIZED ANONYMIZED VIEW"
REFRESH = "REFRESH MATERIALIZED ANONYMIZED VIEW"
DROP = "DROP MATERIALIZED ANONYMIZED VIEW"
PUBLISH = "PUBLISH MATERIALIZED ANONYMIZED VIEW"
CREATE_STREAM = "CREATE STREAMING ANONYMIZED VIEW"
REFRESH_STREAM = "REFRESH STREAMING ANONYMIZED VIEW"
DROP_STREAM = "DROP STREAMING ANONYMIZED VIEW"

SYNTAX = {
    CREATE: "CREATE [OR REPLACE] MATERIALIZED ANONYMIZED VIEW [IF NOT EXISTS] name [KEY (column, ...)] "
    "[WITH (composition = 'refuse', allow_small_differences = true, disjoint_from = ['other'])] "
    "AS SELECT * FROM kacpc('table', k = 10)",
    REFRESH: "REFRESH MATERIALIZED ANONYMIZED VIEW name "
    "[WITH (mode = 'hold', allow_small_differences = true, if_stale = true, erase = true, composition = 'refuse')]",
    DROP: "DROP MATERIALIZED ANONYMIZED VIEW [IF EXISTS] name",
    PUBLISH: "PUBLISH MATERIALIZED ANONYMIZED VIEW name TO 'file.csv' "
    "[WITH (recipient = 'name', purpose = 'text', legal_basis = 'text', classes = true, replace = true, "
    "csv_formulas = 'keep', storage_version = 'v1.0.0')]",
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
    PUBLISH: ("recipient", "purpose", "legal_basis", "classes", "replace", "csv_formulas", "storage_version"),
}
_FLAGS = ("allow_small_differences", "if_stale", "erase", "flush", "allow_deleted_rows", "classes", "replace")
_LISTS = ("disjoint_from",)
_QUOTED_TEXTS = ("recipient", "purpose", "legal_basis")
"""Options whose texts the ledger stores; a word without quotes would lose its case, and NULL would be a name."""
CREATES = (CREATE, CREATE_STREAM)
_CONDITIONS = dict.fromkeys(CREATES, ("IF", "NOT", "EXISTS")) | dict.fromkeys((DROP, DROP_STREAM), ("IF", "EXISTS"))


@dataclass(frozen=True)
class ViewStatement:
    """A parsed statement about an anonymized view.

    Attributes:
        statement: The kind of statement, such as CREATE or REFRESH_STREAM.
        name: The one to three parts of the view's name.
        options: The values of WITH (...), by name.
        key: The columns of KEY (...), in CREATE; None without KEY.
        replace: Whether it is CREATE OR REPLACE.
        exists: Whether IF EXISTS or IF NOT EXISTS is given.
        query: The text after AS, in CREATE; otherwise "".
        path: The file or folder after TO, in PUBLISH; otherwise "".
    """

    statement: str
    name: tuple[str, ...]
    options: Mapping[str, str | bool | tuple[str, ...]]
    key: tuple[str, ...] | None = None
    replace: bool = False
    exists: bool = False
    query: str = ""
    path: str = ""


Parse = Callable[[str], Any]
"""A parser that raises duckdb.ParserException for invalid SQL."""


def split_statements(query: Any, parse: Parse) -> list[Any]:
    """Return the statements of a query in order: statements of dbanon parsed, as `ViewStatement`, all others as text.

    Anything without a statement of dbanon is returned unchanged, as the only element. Nothing is executed.

    Args:
        query: The argument of `execute`, one or more statements; it may be something else than a text.
        parse: DuckDB's parser, which checks the other statements and the queries after AS.

    Raises:
        UnreadableStatementError: A statement of dbanon has invalid syntax.
        NotASingleCallError: The query after AS is not one call of a function.
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
    """A recursive-descent parser of one statement; `position` is the index of the next token."""

    def __init__(self, tokens: Sequence[Token], text: str, sql_parser: Parse) -> None:
        """Store the tokens of one statement, to which an end token is added, and begin at the first.

        Args:
            tokens: The tokens of the statement.
            text: The query up to the end of the statement.
            sql_parser: DuckDB's parser, which decides which names are valid.
        """
        self.tokens = [*tokens, Token("end", "", len(text))]
        self.text = text
        self.sql_parser = sql_parser
        self.position = 0
        self.statement = ""

    def parse_statement(self) -> ViewStatement | None:
        """Return the parsed statement; None if it is no statement about an anonymized view.

        Raises:
            UnreadableStatementError: The statement has invalid syntax.
            NotASingleCallError: The query after AS is not one call of a function.
        """
        replace = self.accept("CREATE", "OR", "REPLACE")
        verb = "CREATE" if replace else self.peek()
        self.position += 0 if replace else 1
        kind = next((w for w in ("MATERIALIZED", "STREAMING") if self.accept(w, "ANONYMIZED")), None)
        if verb not in ("CREATE", "REFRESH", "DROP", "PUBLISH") or kind is None:
            return None
        self.statement = f"{verb} {kind} ANONYMIZED VIEW"
        if self.statement not in SYNTAX:
            raise errors.UnreadableStatementError("PUBLISH", "MATERIALIZED", kind, SYNTAX[PUBLISH])
        if replace and self.statement == CREATE_STREAM:
            raise errors.UnreadableStatementError(
                self.statement, "CREATE STREAMING", "OR REPLACE", SYNTAX[self.statement]
            )
        self.expect("VIEW")
        condition = _CONDITIONS.get(self.statement, ())
        exists = bool(condition) and not replace and self.accept(*condition)
        name = self.parse_name()
        key = self.parse_columns() if self.statement == CREATE and self.accept("KEY") else None
        path = ""
        if self.statement == PUBLISH:
            self.expect("TO")
            path = self.parse_string("the path of a file or folder, such as 'safe.csv'")
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
        return ViewStatement(self.statement, name, options, key, replace, exists, query, path)

    def peek(self) -> str:
        """Return the next token in upper case, without moving past it."""
        return self.tokens[self.position].upper

    def accept(self, *keywords: str) -> bool:
        """Move past the next tokens if they are these keywords, and return whether they are."""
        if [t.upper for t in self.tokens[self.position : self.position + len(keywords)]] != list(keywords):
            return False
        self.position += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        """Move past the next tokens, which must be these keywords.

        Raises:
            UnreadableStatementError: They are not.
        """
        if not self.accept(*keywords):
            raise self.syntax_error(" ".join(keywords))

    def syntax_error(self, expected: str) -> errors.UnreadableStatementError:
        """Return (do not raise) an error stating that `expected` was expected at the next token."""
        return errors.UnreadableStatementError(
            self.statement, expected, self.tokens[self.position].text or None, SYNTAX[self.statement]
        )

    def parse_name_part(self, description: str) -> str:
        """Return the next token as one part of a name, without its quotes, and move past it.

        DuckDB's parser decides which names are valid. `description` says what is expected, for the message.

        Raises:
            UnreadableStatementError: The token is no valid name.
        """
        token = self.tokens[self.position]
        is_valid = token.kind in ("word", "quoted") and token.name != ""
        try:
            self.sql_parser(f"DROP TABLE {token.text}")
        except duckdb.Error:
            is_valid = False
        if not is_valid:
            raise self.syntax_error(
                f"{description}, in double quotes if it is a keyword or has characters other than letters"
            )
        self.position += 1
        return token.name

    def parse_name(self) -> tuple[str, ...]:
        """Return the parts of a name of one to three parts, and move past it.

        Raises:
            UnreadableStatementError: There is no valid name, or it has more parts.
        """
        parts = [self.parse_name_part("a name")]
        while self.accept("."):
            parts.append(self.parse_name_part("a name"))
        if len(parts) > 3:
            self.position -= 2
            raise self.syntax_error("a name of at most three parts")
        return tuple(parts)

    def parse_columns(self) -> tuple[str, ...]:
        """Return the column names of `(column, ...)`, and move past it.

        Raises:
            UnreadableStatementError: The tokens are no such list.
        """
        self.expect("(")
        parsed = [self.parse_name_part("a column")]
        while self.accept(","):
            parsed.append(self.parse_name_part("a column"))
        self.expect(")")
        return tuple(parsed)

    def parse_texts(self) -> tuple[str, ...]:
        """Return the texts of `['text', ...]`, or the only one of `'text'`, and move past it.

        Raises:
            UnreadableStatementError: The tokens are neither.
        """
        if not self.accept("["):
            return (self.parse_string(),)
        parsed: list[str] = []
        while not self.accept("]"):
            parsed.append(self.parse_string())
            if self.peek() != "]":
                self.expect(",")
        return tuple(parsed)

    def parse_string(self, description: str = "a text such as 'other' or a list of texts") -> str:
        """Return the value of the next token, a string literal such as `'text'`, and move past it.

        `description` says what is expected, for the message.

        Raises:
            UnreadableStatementError: The token is no string literal.
        """
        token = self.tokens[self.position]
        if not token.text.startswith("'"):
            raise self.syntax_error(description)
        self.position += 1
        return token.value

    def parse_options(self) -> dict[str, str | bool | tuple[str, ...]]:
        """Return the options of `(name = value, ...)` by name in lower case, and move past them.

        A value is a text, a word in lower case, a boolean (for `true` and `false`), or a tuple of texts (for
        disjoint_from).

        Raises:
            UnreadableStatementError: The syntax is invalid.
            UnknownParameterError: The statement has no such option.
            RepeatedArgumentError: An option occurs twice.
            InvalidArgumentError: A flag has another value than true or false, or another option has one of these.
        """
        accepted_options = _OPTIONS[self.statement]
        parsed: dict[str, str | bool | tuple[str, ...]] = {}
        self.expect("(")
        while not parsed or self.accept(","):
            if self.tokens[self.position].kind not in ("word", "quoted"):
                raise self.syntax_error("an option: " + " or ".join(accepted_options))
            name = self.tokens[self.position].name.lower()
            self.position += 1
            if name not in accepted_options:
                raise errors.UnknownParameterError(
                    f"{self.statement} WITH", name, accepted_options, renamed_names.REFRESH_OPTIONS
                )
            if name in parsed:
                raise errors.RepeatedArgumentError(self.statement, name)
            self.expect("=")
            if name in _LISTS:
                parsed[name] = self.parse_texts()
                continue
            value = self.tokens[self.position]
            if not (value.kind in ("word", "number") or value.text.startswith("'")):
                raise self.syntax_error("a value such as 'refuse' or true")
            if name in _QUOTED_TEXTS and value.kind != "string":
                raise self.syntax_error("a text in single quotes")
            self.position += 1
            word = value.text.lower()
            parsed[name] = value.value if value.kind == "string" else {"true": True, "false": False}.get(word, word)
            if isinstance(parsed[name], bool) != (name in _FLAGS):
                raise errors.InvalidArgumentError(
                    self.statement, name, "true or false" if name in _FLAGS else "a text", value.text
                )
        self.expect(")")
        return parsed


def check_single_call(statement: str, words: Sequence[Token]) -> None:
    """Check that a query is SELECT * FROM function(...) or FROM function(...), and nothing else.

    The function must be one that returns releases; for a streaming view, one of a stream algorithm.

    Args:
        statement: CREATE or CREATE_STREAM.
        words: The tokens of the query.

    Raises:
        NotASingleCallError: The query is anything else.
    """
    functions = table_functions()
    publishing = [f.name for f in functions.values() if f.kind == "release"]
    if statement == CREATE_STREAM:
        publishing = [f.name for f in functions.values() if f.name == f.stream_algorithm]

    def call_error(why: str) -> errors.NotASingleCallError:
        """Return (do not raise) the error that the query is no single call; `why` says what it is instead."""
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
        if function is not None and bool(function.stream_algorithm) != (statement == CREATE_STREAM):
            other = CREATE if statement == CREATE_STREAM else CREATE_STREAM
            if function.name in (function.stream_algorithm, function.algorithm):
                raise call_error(f"{name} is for {other}")
        if function is not None and function.algorithm and function.kind in ("classes", "metrics"):
            raise call_error(f"{name} is created with it, as a separate table")
        raise call_error(f"this one calls {name}.{errors.did_you_mean(name, publishing)}".rstrip("."))
    remaining_words = words[after_brackets(words, name_index + 1) :]
    if remaining_words:
        raise call_error(f"this one continues after the call: {remaining_words[0].text}")
