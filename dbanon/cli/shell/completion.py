"""Complete statements: parameters and their values, sources, columns, functions, keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dbanon.algorithms import algorithms
from dbanon.cli.manual import metric_page
from dbanon.cli.manual.function_page import signature
from dbanon.cli.shell.catalog_cache import Catalog, NamedRelation
from dbanon.cli.shell.dot_commands import COMMANDS
from dbanon.cli.shell.script import split_statements
from dbanon.cli.terminal.result_table import MODES
from dbanon.runtime.csv_formulas import CHOICES
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import text as quoted
from dbanon.sqltext.tokenizer import Token, tokens
from dbanon.table_functions.parameter_types import Boolean, Choice, Choices, Columns, ForColumns, PerColumn, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import TableFunction

_RELATION_BEFORE = {"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "SUMMARIZE", "VIEW"}
_CLAUSES = _RELATION_BEFORE | {"SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "SET", "ON", "USING", "LIMIT", "VALUES"}

_FIRST_KEYWORDS = (
    "select", "from", "where", "group", "order", "by", "limit", "join", "left", "on", "and", "or", "not", "as",
    "with", "having", "union", "all", "distinct", "case", "when", "then", "else", "end", "insert", "into",
    "values", "update", "set", "delete", "create", "table", "view", "replace", "drop", "alter", "copy", "to",
    "describe", "summarize", "show", "materialized", "anonymized", "refresh", "using", "sample", "exclude", "is",
    "null", "in", "between", "like", "desc",
)  # fmt: skip
"""Keywords that are offered before others, as they are typed more often."""


@dataclass(frozen=True)
class Completion:
    """A completion at the cursor.

    Attributes:
        text: The text to insert.
        back: The number of characters before the cursor that it replaces.
        meta: A description, which the menu shows next to it.
        display_text: The text that the menu shows; "" shows `text`.
    """

    text: str
    back: int
    meta: str = ""
    display_text: str = ""
    """What the menu says, where that is not the text."""


def completions(text_before: str, text_after: str, catalog: Catalog, *, is_requested: bool = False) -> list[Completion]:
    """Return the completions at the cursor, the best first.

    There are none in a comment, after a number or a complete text, and, unless `is_requested`, before anything is typed
    at a position where many words are possible.

    Args:
        text_before: The input before the cursor.
        text_after: The input after the cursor; it is kept.
        catalog: The names of the database.
        is_requested: Whether Tab was pressed.
    """
    done, rest = split_statements(text_before)
    if not done and rest.startswith("."):
        return _command(rest, catalog)
    words = tokens(rest)
    last = words[-1] if words else None
    typed = None
    if last and (last.is_unfinished or (last.end == len(rest) and last.kind == "word")):
        if last.kind in ("comment", "number"):
            return []
        typed = last
    elif last and last.kind in ("number", "string", "quoted") and last.end == len(rest):
        return []
    place = _CursorContext.from_tokens(words[:-1] if typed else words)
    mentioned = catalog.find_relations(_mentioned([*words, *_tokens_after(words[-1] if words else None, text_after)]))
    offered = list(_offers(place, typed, mentioned, catalog))
    prefix = "" if typed is None else typed.value if typed.kind == "string" else typed.name
    back = 0 if typed is None else len(typed.text)
    if typed is None and not place.open and not is_requested:
        return []
    lower = typed is not None and typed.kind == "word" and prefix.islower()
    return _matching(offered, prefix, back, text_after, lower=lower)


# --- where the cursor is ---------------------------------------------------------------------------------


@dataclass
class _Bracket:
    """An open bracket before the cursor, and what it contains so far.

    Attributes:
        sign: The bracket.
        function: The table function of dbanon that it calls; None for other brackets.
        commas: The number of commas in it.
        given_names: The names of the parameters given so far.
        source: The first argument, if it is a text.
    """

    sign: str
    function: TableFunction | None = None
    commas: int = 0
    given_names: list[str] = field(default_factory=list)
    source: str | None = None
    parameter: Parameter | None = None
    """The parameter whose value is being written."""


@dataclass
class _CursorContext:
    """The open brackets and all words of the statement before the cursor, without the word that is being typed."""

    brackets: list[_Bracket]
    words: Sequence[Token]

    @staticmethod
    def from_tokens(words: Sequence[Token]) -> _CursorContext:
        """Return the context of the cursor, given the tokens of the statement before it.

        The word that is being typed must not be among them; white space and comments are ignored.
        """
        words = [w for w in words if w.kind not in ("space", "comment")]
        brackets: list[_Bracket] = []
        for i, word in enumerate(words):
            top = brackets[-1] if brackets else None
            previous = words[i - 1] if i else None
            if word.kind == "operator" and word.text in "([{":
                name = previous.name.lower() if previous and previous.kind in ("word", "quoted") else ""
                brackets.append(_Bracket(word.text, table_functions().get(name) if word.text == "(" else None))
            elif word.kind == "operator" and word.text in ")]}":
                if brackets:
                    brackets.pop()
            elif top is None or top.function is None:
                if top is not None and word.text == ",":
                    top.commas += 1
            elif word.text == ",":
                top.commas, top.parameter = top.commas + 1, None
            elif word.text in ("=", ":", ":=", "=>") and previous is not None and top.parameter is None:
                name = previous.name.lower()
                top.parameter = next((p for p in top.function.parameters if p.name == name), None)
                top.given_names.append(name)
            elif word.kind == "string" and top.commas == 0 and top.source is None:
                top.source = word.value
        return _CursorContext(brackets, words)

    @property
    def previous(self) -> str:
        """The word before the cursor in upper case, "" at the beginning; not the word that is being typed."""
        return self.words[-1].text.upper() if self.words else ""

    @property
    def call(self) -> _Bracket | None:
        """The call of a table function of dbanon whose arguments contain the cursor; None without one.

        The cursor may also be in a list or struct among the arguments.
        """
        for bracket in reversed(self.brackets):
            if bracket.sign == "(":
                return bracket if bracket.function else None
        return None

    @property
    def clause(self) -> str:
        """The last keyword before the cursor that begins a clause, in upper case; "" if there is none."""
        return next((w.text.upper() for w in reversed(self.words) if w.text.upper() in _CLAUSES), "")

    @property
    def open(self) -> bool:
        """Whether a menu opens before a letter is typed: after `.`, a keyword such as FROM, or in a call of dbanon."""
        if self.previous in (".", *_RELATION_BEFORE):
            return True
        return self.call is not None and self.previous in ("(", ",", "=", "=>", ":=", "[", "{", ":")


def _tokens_after(last: Token | None, text_after: str) -> list[Token]:
    """Return the tokens between the cursor and the end of the statement.

    Args:
        last: The last token before the cursor; if it is an open text or quoted name, its end is skipped.
        text_after: The input after the cursor.
    """
    if last is not None and last.is_unfinished and last.kind in ("string", "quoted"):
        quote = last.text.lstrip("bBeExX")[0]
        if text_after.count(quote) % 2:  # the quote that the cursor is in is closed there
            text_after = text_after.partition(quote)[2]
    words = tokens(text_after)
    end = next((i for i, word in enumerate(words) if word.text == ";"), len(words))
    return words[:end]


def _mentioned(words: Iterable[Token]) -> Iterator[str]:
    """Yield the names, and the texts in quotes, in a statement, each of which may be the name of a relation."""
    for word in words:
        if word.kind in ("word", "quoted"):
            yield word.name
        elif word.kind == "string":
            yield word.value


# --- what fits there -------------------------------------------------------------------------------------

Offer = tuple[str, str, str]
"""Name to compare with what is typed, text to insert, what the menu says about it."""


def _offers(
    place: _CursorContext, typed: Token | None, mentioned: Sequence[NamedRelation], catalog: Catalog
) -> Iterator[Offer]:
    """Yield what fits at the cursor, the best first, as (name, text to insert, description); see `Offer`.

    It is not yet compared with the typed text.

    Args:
        place: The context of the cursor.
        typed: The token that is being typed; None if none is.
        mentioned: The relations that the statement names.
        catalog: The names of the database.
    """
    call = place.call
    in_text = typed is not None and typed.kind == "string"
    if call is not None and call.function is not None:
        inner = place.brackets[-1]
        if call.parameter is not None:
            yield from _values(call.parameter, inner, place.previous, _source(call, catalog), catalog)
            return
        if place.previous in ("(", ",") and inner is call:
            if call.commas < len(call.function.positional):
                yield from _argument(call.function.positional[call.commas], call, catalog)
            elif not in_text:
                yield from _parameters(call.function, call.given_names)
            return
    if in_text:
        return
    if place.previous == ".":
        yield from _members(place, mentioned, catalog)
        return
    if place.previous in _RELATION_BEFORE or (place.previous == "," and place.clause == "FROM"):
        yield from ((r.name, r.name, _columns(r)) for r in catalog.relations)
        yield from _functions()
        return
    columns = {c: t for r in reversed(mentioned) for c, t in r.columns.items()}
    yield from ((c, catalog.spelled(c), t.lower()) for c, t in columns.items())
    if typed is not None and typed.kind == "quoted":
        return
    if typed is None and place.words:
        return
    yield from _functions()
    yield from ((w, w.upper(), "") for w in _FIRST_KEYWORDS)
    yield from ((r.name, r.name, "table") for r in catalog.relations)
    yield from ((f, f"{f}(", "function") for f in catalog.functions)
    yield from ((w, w.upper(), "") for w in catalog.keywords if w not in _FIRST_KEYWORDS)


def _functions() -> Iterator[Offer]:
    """Yield (name, text to insert, description) of all table functions of dbanon; the text is `name(`.

    For a function without arguments it is `name()`.
    """
    for function in table_functions().values():
        call = f"{function.name}(" + ("" if function.positional or function.parameters else ")")
        yield function.name, call, f"{signature(function, 3).removeprefix(function.name)} {function.doc}"


def _parameters(function: TableFunction, given_names: Sequence[str]) -> Iterator[Offer]:
    """Yield (name, `name=`, description) of each parameter of a function that is not given yet, required ones first."""
    for parameter in sorted(function.parameters, key=lambda p: not p.required):
        if parameter.name not in given_names:
            yield parameter.name, f"{parameter.name}=", parameter.doc


def _argument(name: str, call: _Bracket, catalog: Catalog) -> Iterator[Offer]:
    """Yield values of a positional argument of a call as (name, name in quotes, description).

    These are relations for tbl, a, b and release, columns for col, and hierarchies for name if that is the function's
    only positional argument. There are none for other arguments.

    Args:
        name: The name of the argument.
        call: The call; columns are those of its first argument, if that is given, else of all relations.
        catalog: The names of the database.
    """
    if name in ("tbl", "a", "b", "release"):
        yield from ((r.name, quoted(r.name), _columns(r)) for r in catalog.relations)
    elif name == "col":
        relations = catalog.relations if call.source is None else catalog.find_relations([call.source])
        yield from ((c, quoted(c), t.lower()) for r in relations for c, t in r.columns.items())
    elif name == "name" and call.function is not None and call.function.positional == ("name",):  # of one that is there
        yield from ((h, quoted(h), "hierarchy") for h in catalog.hierarchies)


def _source(call: _Bracket, catalog: Catalog) -> list[NamedRelation]:
    """Return the relations that the first argument of a call can mean; empty if that is no text."""
    return catalog.find_relations([call.source]) if call.source else []


def _values(
    parameter: Parameter, inner: _Bracket, previous: str, source: Sequence[NamedRelation], catalog: Catalog
) -> Iterator[Offer]:
    """Yield values of a parameter as (name, text to insert, description).

    Within the brackets of a list or struct these are elements of the value; otherwise the text opens such a bracket if
    the parameter needs one.

    Args:
        parameter: The parameter.
        inner: The innermost open bracket.
        previous: The word before the cursor, in upper case.
        source: The relations that the first argument of the call can mean.
        catalog: The names of the database.
    """
    kind = parameter.kind
    columns = {c: t.lower() for r in source for c, t in r.columns.items()}
    in_value = inner.sign in "[{"
    if isinstance(kind, (PerColumn, ForColumns)):
        if in_value and previous == ":":
            yield from _scalars(parameter.name, kind.value_type, columns, catalog)
        elif in_value:
            yield from ((c, f"{quoted(c)}: ", t) for c, t in columns.items())
        else:
            yield from ((c, f"{{{quoted(c)}: ", t) for c, t in columns.items())
    elif isinstance(kind, (Columns, Choices)):
        names = columns if isinstance(kind, Columns) else dict.fromkeys(kind.words, "")
        yield from ((n, quoted(n) if in_value else f"[{quoted(n)}", t) for n, t in names.items())
    elif not in_value:
        yield from _scalars(parameter.name, kind, columns, catalog)


def _scalars(name: str, kind: object, columns: dict[str, str], catalog: Catalog) -> Iterator[Offer]:
    """Yield values of a parameter that is no list as (name, text to insert, description).

    These are the words of a choice, booleans, hierarchies, algorithms, or columns for `person`; none for other types.

    Args:
        name: The name of the parameter.
        kind: Its type.
        columns: The columns of the source with their types.
        catalog: The names of the database.
    """
    if isinstance(kind, Choice):
        yield from ((w, quoted(w), "") for w in kind.words)
    elif isinstance(kind, Boolean):
        yield from ((w, w, "") for w in ("true", "false"))
    elif isinstance(kind, Text) and "hierarchy" in kind.description:
        yield from ((h, quoted(h), "hierarchy") for h in catalog.hierarchies)
    elif isinstance(kind, Text) and "algorithm" in kind.description:
        yield from ((a.name, quoted(a.name), a.title) for a in algorithms())
    elif isinstance(kind, Text) and name == "person":
        yield from ((c, quoted(c), t) for c, t in columns.items())


def _members(place: _CursorContext, mentioned: Sequence[NamedRelation], catalog: Catalog) -> Iterator[Offer]:
    """Yield what can follow `name.`, as (name, text to insert, description).

    These are the columns of the relations with that name or alias, and the relations of a schema or database of that
    name. An alias that is defined after the cursor is unknown. If no relation has the name, the columns of all
    relations that the statement names are offered.
    """
    if len(place.words) < 2:
        return
    name = place.words[-2].name.lower()
    relations = catalog.find_relations([name])
    for i, word in enumerate(place.words[1:-2], start=1):
        alias = place.words[i - (2 if place.words[i - 1].text.upper() == "AS" else 1)]
        if word.kind in ("word", "quoted") and word.name.lower() == name and alias.kind in ("word", "quoted"):
            relations += catalog.find_relations([alias.name])
    for relation in relations:
        yield from ((c, catalog.spelled(c), t.lower()) for c, t in relation.columns.items())
    for relation in catalog.relations:
        if name in (part.lower() for part in relation.parts[:2]):
            yield relation.parts[-1], catalog.spelled(relation.parts[-1]), _columns(relation)
    if not relations:  # an alias that is defined after the cursor
        yield from ((c, catalog.spelled(c), t.lower()) for r in mentioned for c, t in r.columns.items())


# --- dot commands ----------------------------------------------------------------------------------------


def _command(line: str, catalog: Catalog) -> list[Completion]:
    """Return the completions of a dot command: its name, or its argument. None after a line break."""
    if "\n" in line:
        return []
    name, blank, rest = line.partition(" ")
    if not blank:
        return [Completion(c.name, len(name), c.doc, c.usage) for c in COMMANDS.values() if c.name.startswith(name)]
    words = {
        ".csv_formulas": CHOICES,
        ".mode": MODES,
        ".timer": ("on", "off"),
        ".rows": ("auto", "all"),
        ".help": (*table_functions(), *metric_page.metric_names(), *COMMANDS),
        ".schema": tuple(r.name for r in catalog.relations),
        ".tables": (),
    }.get(name, ())
    return _matching([(w, w, "") for w in words], rest, len(rest), "", lower=True)


# --- what was typed --------------------------------------------------------------------------------------


def _matching(offered: Iterable[Offer], prefix: str, back: int, text_after: str, *, lower: bool) -> list[Completion]:
    """Return completions for the offers that begin with the typed text, then those that contain it, each text once.

    Offers that only contain the typed text count if at least three characters are typed. Brackets and quotes that the
    text after the cursor begins with are not inserted again.

    Args:
        offered: The offers: (name to compare, text to insert, description).
        prefix: The typed text; case is ignored.
        back: The number of characters before the cursor to replace.
        text_after: The input after the cursor.
        lower: Whether keywords are inserted in lower case.
    """
    low = prefix.lower()
    following = re.match(r"[('\"\w]*", text_after)
    tail = following[0] if following else ""
    begins: dict[str, Completion] = {}
    holds: dict[str, Completion] = {}
    for name, text, meta in offered:
        position = name.lower().find(low)
        if position < 0 or (position > 0 and len(low) < 3):
            continue
        if lower and text == name.upper():
            text = text.lower()
        if text.endswith("(") and tail.startswith("("):
            text = text[:-1]
        if text.startswith("'") and text.endswith("'") and tail.startswith("'"):
            text = text[:-1]
        if text != prefix or back == 0:
            (holds if position else begins).setdefault(text, Completion(text, back, meta, text.rstrip("(= ") or text))
    return [*begins.values(), *(c for t, c in holds.items() if t not in begins)]


def _columns(relation: NamedRelation) -> str:
    """Return the number of columns of a relation in words, such as `1 column`."""
    return f"{len(relation.columns)} {plural_form(len(relation.columns), 'column', 'columns')}"
