"""Statements about materialized and streaming anonymized views, which DuckDB cannot parse: read here, carried out by
`materialized` and `streaming`.

A query string is cut into its statements with DuckDB's own tokens; those that are not ours go to DuckDB as they are.
The call in CREATE is evaluated by DuckDB too: the planner notes what it was called with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from dbanon import errors, session
from dbanon.functions import arguments, literals
from dbanon.functions.registry import table_functions
from dbanon.release.related import parameters as several
from dbanon.sqltext.quote import Sql, identifier, joined, literal
from dbanon.views import materialized, streaming

CREATE = "CREATE MATERIALIZED ANONYMIZED VIEW"
REFRESH = "REFRESH MATERIALIZED ANONYMIZED VIEW"
DROP = "DROP MATERIALIZED ANONYMIZED VIEW"
CREATE_STREAM = "CREATE STREAMING ANONYMIZED VIEW"
REFRESH_STREAM = "REFRESH STREAMING ANONYMIZED VIEW"
DROP_STREAM = "DROP STREAMING ANONYMIZED VIEW"

FORMS = {
    CREATE: "CREATE [OR REPLACE] MATERIALIZED ANONYMIZED VIEW [IF NOT EXISTS] name [KEY (column, ...)] "
    "[WITH (composition = 'refuse', allow_delta = true, disjoint_from = ['other'])] "
    "AS SELECT * FROM kacpc('table', k = 10)",
    REFRESH: "REFRESH MATERIALIZED ANONYMIZED VIEW name "
    "[WITH (refresh = 'hold', allow_delta = true, if_stale = true, erase = true, composition = 'refuse')]",
    DROP: "DROP MATERIALIZED ANONYMIZED VIEW [IF EXISTS] name",
    CREATE_STREAM: "CREATE STREAMING ANONYMIZED VIEW [IF NOT EXISTS] name AS "
    "SELECT * FROM fads('table', k = 10, delta = 1000, order_by = 'ts')",
    REFRESH_STREAM: "REFRESH STREAMING ANONYMIZED VIEW name [WITH (flush = true, pruned = true)]",
    DROP_STREAM: "DROP STREAMING ANONYMIZED VIEW [IF EXISTS] name",
}
"""What is accepted, by statement."""

_OPTIONS = {
    CREATE: ("composition", "allow_delta", "disjoint_from"),
    REFRESH: ("refresh", "allow_delta", "composition", "if_stale", "erase"),
    REFRESH_STREAM: ("flush", "pruned"),
}
_FLAGS = ("allow_delta", "if_stale", "erase", "flush", "pruned")
_LISTS = ("disjoint_from",)
_CREATES = (CREATE, CREATE_STREAM)
_CONDITIONS = dict.fromkeys(_CREATES, ("IF", "NOT", "EXISTS")) | dict.fromkeys((DROP, DROP_STREAM), ("IF", "EXISTS"))


# --- tokens ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Token:
    """A word of a statement, without the blanks and comments around it, and its byte offset."""

    start: int
    word: str

    @property
    def upper(self) -> str:
        """For comparison with keywords; a quoted name equals none."""
        return self.word.upper()


_WORD = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | [A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]* | [()\[\]{},;.]
      | (?:(?!--|/\*)\S)+""",
    re.VERBOSE,
)


_NAME = re.compile(r'"(?:[^"]|"")+"|[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*')


def tokens(query: str) -> list[Token]:
    """The tokens of a query; none where DuckDB cannot read it."""
    data = query.encode()
    try:
        found = duckdb.tokenize(query)
    except duckdb.Error:
        return []
    ends = [offset for offset, _ in found[1:]] + [len(data)]
    made = []
    for (start, kind), end in zip(found, ends, strict=True):
        if kind == duckdb.token_type.comment:  # DuckDB 1.5 gives none: a comment belongs to the token before
            continue
        whole = data[start:end].decode(errors="replace").strip()
        prefixed = kind == duckdb.token_type.string_const and not whole.startswith("'")  # E'...', $$...$$
        match = None if prefixed else _WORD.match(whole)
        made.append(Token(start, match[0] if match else whole))
    return made


# --- statements ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """One statement about an anonymized view. `query` is what follows AS, in CREATE."""

    statement: str
    name: tuple[str, ...]
    options: Mapping[str, str | bool | tuple[str, ...]]
    key: tuple[str, ...] | None = None
    replace: bool = False
    exists: bool = False
    """IF EXISTS or IF NOT EXISTS."""
    query: str = ""


Parse = Callable[[str], Any]
"""Raises duckdb.ParserException for what is no SQL."""


def steps(query: Any, parse: Parse) -> list[Any]:
    """The statements of a query in order, ours as `View`; the query itself where none is ours.

    Nothing has run when this raises: UnreadableStatement, NotOneCall, or DuckDB's ParserException.
    """
    if not isinstance(query, str) or "anonymized" not in query.lower():
        return [query]
    data = query.encode()
    pieces: list[list[Token]] = [[]]
    ends = []
    for token in tokens(query):
        if token.word == ";":
            ends.append(token.start)
            pieces.append([])
        else:
            pieces[-1].append(token)
    found: list[Any] = []
    for words, end in zip(pieces, [*ends, len(data)], strict=True):
        if not words:
            continue
        text = data[words[0].start : end].decode()
        view = _Reader(words, data[:end], parse).view()
        found.append(view or text)
    if not any(isinstance(step, View) for step in found):
        return [query]
    for step in found:
        parse(step.query if isinstance(step, View) else step)
    return found


class _Reader:
    """Reads one statement, token after token."""

    def __init__(self, words: Sequence[Token], data: bytes, parse: Parse) -> None:
        self.words = words
        self.data = data
        self.parse = parse
        self.at = 0
        self.statement = ""

    def view(self) -> View | None:
        """The statement, or None if it is not ours."""
        replace = self.took("CREATE", "OR", "REPLACE")
        verb = "CREATE" if replace else self.peek()
        self.at += 0 if replace else 1
        kind = next((w for w in ("MATERIALIZED", "STREAMING") if self.took(w, "ANONYMIZED")), None)
        if verb not in ("CREATE", "REFRESH", "DROP") or kind is None:
            return None
        self.statement = f"{verb} {kind} ANONYMIZED VIEW"
        if replace and self.statement == CREATE_STREAM:
            raise errors.UnreadableStatement(self.statement, "CREATE STREAMING", "OR REPLACE", FORMS[self.statement])
        self.expect("VIEW")
        condition = _CONDITIONS.get(self.statement, ())
        exists = bool(condition) and not replace and self.took(*condition)
        name = self.name()
        key = self.columns() if self.statement == CREATE and self.took("KEY") else None
        options: dict[str, str | bool | tuple[str, ...]] = {}
        if self.statement in _OPTIONS and self.took("WITH"):
            options = self.options()
        query = ""
        if self.statement in _CREATES:
            self.expect("AS")
            query = self.data[self.words[self.at].start :].decode() if self.at < len(self.words) else ""
            one_call(self.statement, self.words[self.at :])
        elif self.at < len(self.words):
            raise self.unreadable("the end of the statement")
        return View(self.statement, name, options, key, replace, exists, query)

    def peek(self) -> str:
        return self.words[self.at].upper if self.at < len(self.words) else ""

    def next(self) -> str:
        word = self.words[self.at].word if self.at < len(self.words) else ""
        self.at += 1
        return word

    def took(self, *keywords: str) -> bool:
        """Whether these words come next; then they are behind."""
        if [t.upper for t in self.words[self.at : self.at + len(keywords)]] != list(keywords):
            return False
        self.at += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        if not self.took(*keywords):
            raise self.unreadable(" ".join(keywords))

    def unreadable(self, expected: str) -> errors.UnreadableStatement:
        got = self.words[self.at].word if self.at < len(self.words) else None
        return errors.UnreadableStatement(self.statement, expected, got, FORMS[self.statement])

    def part(self, what: str) -> str:
        """One name as DuckDB's grammar accepts it."""
        word = self.words[self.at].word if self.at < len(self.words) else ""
        good = _NAME.fullmatch(word) is not None
        try:
            self.parse(f"DROP TABLE {word}")
        except duckdb.Error:
            good = False
        if not good:
            raise self.unreadable(f"{what}, in double quotes if it is a keyword or holds other signs than letters")
        self.at += 1
        return word[1:-1].replace('""', '"') if word[0] == '"' else word

    def name(self) -> tuple[str, ...]:
        """One to three name parts."""
        parts = [self.part("a name")]
        while self.took("."):
            parts.append(self.part("a name"))
        if len(parts) > 3:
            self.at -= 2
            raise self.unreadable("a name of at most three parts")
        return tuple(parts)

    def columns(self) -> tuple[str, ...]:
        """(column, ...)"""
        self.expect("(")
        found = [self.part("a column")]
        while self.took(","):
            found.append(self.part("a column"))
        self.expect(")")
        return tuple(found)

    def texts(self) -> tuple[str, ...]:
        """['text', ...], or one text."""
        if not self.took("["):
            return (self.text(),)
        found: list[str] = []
        while not self.took("]"):
            found.append(self.text())
            if self.peek() != "]":
                self.expect(",")
        return tuple(found)

    def text(self) -> str:
        """'text'"""
        if not self.peek().startswith("'"):
            raise self.unreadable("a text such as 'other' or a list of texts")
        return self.next()[1:-1].replace("''", "'")

    def options(self) -> dict[str, str | bool | tuple[str, ...]]:
        """(name = value, ...): texts, words, true and false, and lists of texts."""
        known = _OPTIONS[self.statement]
        found: dict[str, str | bool | tuple[str, ...]] = {}
        self.expect("(")
        while True:
            if not _NAME.fullmatch(self.peek()):
                raise self.unreadable("an option: " + " or ".join(known))
            name = self.next().lower()
            if name not in known:
                raise errors.UnknownParameter(f"{self.statement} WITH", name, known)
            if name in found:
                raise errors.RepeatedArgument(self.statement, name)
            self.expect("=")
            if name in _LISTS:
                found[name] = self.texts()
                if not self.took(","):
                    break
                continue
            value = self.peek()
            if not re.fullmatch(r"'.*'|\w+", value, re.DOTALL):
                raise self.unreadable("a value such as 'refuse' or true")
            word = self.next()
            if word.startswith("'"):
                found[name] = word[1:-1].replace("''", "'")
            else:
                found[name] = {"true": True, "false": False}.get(word.lower(), word.lower())
            if isinstance(found[name], bool) != (name in _FLAGS):
                accepts = "true or false" if name in _FLAGS else "a text"
                raise errors.InvalidArgument(self.statement, name, accepts, word)
            if not self.took(","):
                break
        self.expect(")")
        return found


# --- the query of CREATE ---------------------------------------------------------------------------------


def one_call(statement: str, words: Sequence[Token]) -> None:
    """NotOneCall unless the words are SELECT * FROM function(...), or FROM function(...)."""
    every = table_functions()
    publishing = [f.name for f in every.values() if f.kind == "release"]
    if statement == CREATE_STREAM:
        publishing = [f.name for f in every.values() if f.name == f.system]

    def refused(why: str) -> errors.NotOneCall:
        return errors.NotOneCall(why, publishing, statement)

    leading = [t.upper for t in words[:3]]
    at = 3 if leading == ["SELECT", "*", "FROM"] else 1 if leading[:1] == ["FROM"] else 0
    if not at:
        raise refused("this one does not begin with SELECT * FROM or FROM" if words else "there is none")
    if len(words) < at + 2 or words[at + 1].word != "(":
        raise refused("this one does not call a function first")
    name = words[at].word.strip('"').lower()
    if name not in publishing:
        function = every.get(name)
        if function is not None and bool(function.system) != (statement == CREATE_STREAM):
            other = CREATE if statement == CREATE_STREAM else CREATE_STREAM
            if function.name in (function.system, function.algorithm):
                raise refused(f"{name} is for {other}")
        if function is not None and function.algorithm and function.kind in ("classes", "metrics"):
            raise refused(f"{name} is made with it, as a table of its own")
        raise refused(f"this one calls {name}.{errors.near(name, publishing)}".rstrip("."))
    behind = words[at + 1 :][_closing(words[at + 1 :]) + 1 :]
    if behind:
        raise refused(f"this one goes on after the call: {behind[0].word}")


def _closing(words: Sequence[Token]) -> int:
    """Where the bracket is closed that comes first."""
    depth = 0
    for i, token in enumerate(words):
        depth += (token.word in ("(", "[", "{")) - (token.word in (")", "]", "}"))
        if depth == 0:
            return i
    return len(words)


def recorded(connection: Any, query: str, parameters: object) -> tuple[str, Any, dict[str, Any]]:
    """Function, source and parameters of the call in a query, as DuckDB evaluates them."""
    current = session.of_connection(connection)
    current.recorded = []
    try:
        connection.execute(query) if parameters is None else connection.execute(query, parameters)
        calls = current.recorded
    finally:
        current.recorded = None
    if not calls:
        raise errors.NotOneCall("this one calls another function of that name", [])
    call = calls[-1]  # a statement with parameters is bound again when they are known
    name = call["function"]
    with current.cursor() as cursor:
        literals.refuse(name, cursor)
    given = arguments.merged(name, call["slots"] or (), dict(call["named"] or {}))
    known = [p.name for p in table_functions()[name].parameters]
    for parameter in given:
        if parameter not in known:
            raise errors.UnknownParameter(name, parameter, known)
    return name, call["positional"]["tbl"], given


# --- carrying out ----------------------------------------------------------------------------------------


def run(view: View, connection: Any, ready: Callable[[str], str], parameters: object = None) -> Sql:
    """Does what the statement says; the query that gives its result. `ready` makes a call fit for the planner."""
    if view.statement not in _CREATES and parameters:
        connection.execute("SELECT 1", parameters)  # DuckDB's error: there is nothing to put them into
    name = _resolved(connection, view.name)
    if view.statement == DROP:
        materialized.drop(connection, name, if_exists=view.exists)
        return Sql('SELECT true AS "Success" WHERE false')
    if view.statement == DROP_STREAM:
        streaming.drop_stream(connection, name, if_exists=view.exists)
        return Sql('SELECT true AS "Success" WHERE false')
    options: dict[str, Any] = dict(view.options)
    if view.statement == REFRESH:
        return _row(materialized.refresh(connection, name, **options))
    if view.statement == REFRESH_STREAM:
        return _grown(streaming.refresh_stream(connection, name, **options))
    function, source, given = recorded(connection, ready(view.query), parameters)
    if view.statement == CREATE_STREAM:
        try:
            return _grown(streaming.create_stream(connection, name, function, source, **given))
        except errors.ReleaseExists:
            if view.exists and streaming.exists(connection, name):
                return Sql(f"{_grown(streaming.Grown(name, 0, 0, 0, 0, 0))} WHERE false")
            raise
    key: Any = view.key
    if not several.asks(given):
        several.refuse(function, given)
    elif "key" in given:
        if key is not None:
            raise errors.RepeatedArgument(CREATE, "key")
        key = given.pop("key")
    try:
        made = materialized.materialize(
            connection, name, function, source, key=key, replace=view.replace, **options, **given
        )
    except errors.ReleaseExists as error:
        if view.exists and error.published:
            return Sql(f"{_row(materialized.Release(name, 0, 0, 0, None))} WHERE false")
        raise
    return _row(made)


def _row(made: materialized.Release) -> Sql:
    waiting = "" if made.waiting is None else f", {literal(made.waiting)}::BIGINT AS waiting"
    return Sql(
        f"SELECT {literal(made.name)} AS name, {literal(made.version)}::INTEGER AS version, "
        f"{literal(made.records)}::BIGINT AS records, {literal(made.classes)}::BIGINT AS classes{waiting}"
    )


def _grown(made: streaming.Grown) -> Sql:
    counts = ("read", "published", "suppressed", "waiting", "classes")
    said = joined(f"{literal(getattr(made, name))}::BIGINT AS {name}" for name in counts)
    return Sql(f"SELECT {literal(made.name)} AS name, {said}")


def _resolved(connection: Any, parts: Sequence[str]) -> str:
    """The name with database and schema, spelled as the catalog has them, where it has more than one part.

    The first of two parts is a schema of the current database, or a database.
    """
    if len(parts) == 1:
        return _shown(parts)
    places = connection.execute(
        "SELECT database_name, schema_name, database_name = system.main.current_database() "
        "FROM system.main.duckdb_schemas()"
    ).fetchall()
    first = [part.lower() for part in parts[:-1]]
    found = [
        (database, schema)
        for database, schema, here in places
        if (here and first == [schema.lower()])
        or (schema == "main" and first == [database.lower()])
        or first == [database.lower(), schema.lower()]
    ]
    shown = [_shown((*place, parts[-1])) for place in found]
    if len(shown) > 1:
        raise errors.AmbiguousTable("materialized anonymized view", _shown(parts), shown)
    return shown[0] if shown else _shown(parts)


def _shown(parts: Sequence[str]) -> str:
    """A name as text, quoted where needed."""
    return joined((p if re.fullmatch(r"[^\W\d][\w$]*", p) else identifier(p) for p in parts), ".")
