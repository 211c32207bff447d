"""Qualify every function of a statement, so that it runs DuckDB's own whatever macros and settings a session has.

DuckDB looks a function up on the search path before it looks among its own, so a macro `sum` or `error` of a database
would take the place of DuckDB's, and so would macros named `+`, `||` or `list_value`, which is what `a + b`, `a || b`
and `[a, b]` call. `qualify_builtins` writes every call with its qualified name. Settings of the parser do not
apply to an operator that is written as a call either: `/` divides fractions even under `integer_division`.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.sqltext.tokenizer import spaced_words

SYSTEM_SCHEMA = "system.main."
"""The schema of DuckDB's functions and the registered Python functions. No database can be attached by that name."""

_PRECEDENCE = {
    **dict.fromkeys(("||", "&", "|", "<<", ">>"), 1),
    **dict.fromkeys(("+", "-"), 2),
    **dict.fromkeys(("*", "/", "//", "%"), 3),
    **dict.fromkeys(("**", "^"), 4),
}
"""Precedence of the operators that are functions. Comparisons are no functions and cannot be replaced."""

_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """all and anti any as asc between by collate create cross current delete desc distinct else end escape
        except exclude exists filter following from full glob group having ignore ilike in inner insert intersect
        into is isnull join lambda lateral left like limit macro materialized natural not notnull nulls offset on
        or order outer over partition positional preceding qualify recursive replace respect right rows sample
        select semi set similar some table temp then to unbounded union update using values when where window
        with within""",
    )
)
"""Keywords that an operand follows, so that an operator after them is a sign: `THEN -x`, `SELECT *`."""

_CALL_LIKE_SYNTAX = frozenset({"cast", "try_cast", "try", "coalesce", "columns", "grouping"})
"""Syntax that looks like a call of a function, and that no macro can replace."""

_NOT_CALLED = frozenset({"cube", "rollup", "sets"}) | _KEYWORDS - {"left", "right", "replace"}
"""Words before an opening bracket that do not call a function."""

_LITERAL_TYPES = frozenset({"date", "time", "timestamp", "timestamptz", "interval", "blob", "uuid"})
"""Types that can precede a string literal: DATE '2000-01-01'."""

_EXPANDED_MACROS: dict[str, Callable[..., str]] = {
    "list_append": lambda x, item: f"{SYSTEM_SCHEMA}list_concat({x}, {SYSTEM_SCHEMA}list_value({item}))",
    "list_prepend": lambda item, x: f"{SYSTEM_SCHEMA}list_concat({SYSTEM_SCHEMA}list_value({item}), {x})",
    "list_max": lambda x: f"{SYSTEM_SCHEMA}list_aggregate({x}, 'max')",
    "list_min": lambda x: f"{SYSTEM_SCHEMA}list_aggregate({x}, 'min')",
    "list_reverse": lambda x: f"{SYSTEM_SCHEMA}array_slice({x}, {SYSTEM_SCHEMA}len({x}), 1, -1)",
    "list_sum": lambda x: f"{SYSTEM_SCHEMA}list_aggregate({x}, 'sum')",
    "array_to_string": lambda x, by: (
        f"CASE WHEN {SYSTEM_SCHEMA}len(CAST({x} AS VARCHAR[])) = 0 THEN '' "
        f"ELSE {SYSTEM_SCHEMA}list_aggregate(CAST({x} AS VARCHAR[]), 'string_agg', {by}) END"
    ),
    "split_part": lambda x, by, n: (
        f"CASE WHEN ({x}) IS NOT NULL "
        f"THEN coalesce({SYSTEM_SCHEMA}array_extract({SYSTEM_SCHEMA}string_split({x}, {by}), {n}), '') END"
    ),
    # DuckDB's macro takes the same bits, which it writes and reads as text: that takes four times as long.
    "md5_number_lower": lambda x: (
        f'CAST({SYSTEM_SCHEMA}">>"({SYSTEM_SCHEMA}md5_number({x}), CAST(64 AS UHUGEINT)) AS UBIGINT)'
    ),
    "generate_subscripts": lambda x, n: (
        f"{SYSTEM_SCHEMA}unnest({SYSTEM_SCHEMA}generate_series(1, {SYSTEM_SCHEMA}array_length({x}, {n})))"
    ),
}
"""The expansions of DuckDB's functions that are macros, whose bodies would be looked up on the search path."""

_CLOSING = {"(": ")", "[": "]", "{": "}", "case": "end"}
_SPECIAL_STARTS = frozenset({*_CLOSING, "-", "as", "interval", "values"})
_OPERAND_CONTINUATIONS = frozenset({*_PRECEDENCE, "(", "[", "::", "collate", "at"})
"""Tokens that continue an operand: operators, calls, subscripts, casts, collations."""


@lru_cache(maxsize=128)
def qualify_builtins(query: str) -> Sql:
    """Return the query with each call and arithmetic operator written as a call of DuckDB's function in `system.main`.

    Macros of DuckDB that call other functions, such as `list_sum`, are replaced by their bodies. Comments and blank
    lines are removed. It reads only SQL that dbanon writes: names of called functions are not quoted, and the name
    after AS is not a call. Calls of functions that already have a qualified name keep it. O(n); the last 128 queries
    are cached.

    >>> print(qualify_builtins("SELECT sum(a + 1) / 2, b[1] FROM t"))
    SELECT system.main."/"(system.main.sum(system.main."+"(a, 1)), 2), system.main.array_extract(b, 1) FROM t
    """
    qualifier = _BuiltinQualifier(query)
    return Sql(qualifier.expressions(0, len(qualifier.words)))


def strip_blank_lines(query: str) -> str:
    """Return the query without blank lines, trailing blanks and space at both ends; comment lines are kept.

    Each comment line is indented like the code below it. Quoted text is not changed. O(n).
    """
    return "".join(_align_comments(blank) + word for blank, word in spaced_words(query)).strip()


def _align_comments(blank: str) -> str:
    """Return the space and comments before a token, without blank lines, with comment lines indented like the token."""
    first, *lines = blank.split("\n")
    if not lines:
        return first
    comments = [f"\n{lines[-1]}{line.strip()}" for line in lines[:-1] if line.strip()]
    return "".join((first.rstrip(), *comments, "\n", lines[-1]))


def _timestamp_in_utc(value: str) -> str:
    """Return SQL that converts the TIMESTAMPTZ expression `value` to a TIMESTAMP in UTC; infinite values stay infinite.

    DuckDB's timezone() is not used: it would count years by the calendar of the session.
    """
    infinite_cases = [
        f" WHEN {value} = CAST('{infinity}' AS TIMESTAMPTZ) THEN CAST('{infinity}' AS TIMESTAMP)"
        for infinity in ("infinity", "-infinity")
    ]
    return f"(CASE{''.join(infinite_cases)} ELSE {SYSTEM_SCHEMA}make_timestamp({SYSTEM_SCHEMA}epoch_us({value})) END)"


class _BuiltinQualifier:
    """A recursive-descent parser that rewrites a query so that it calls DuckDB's own functions by qualified names.

    In all methods `pos` is the index of the first token to read, and `end` the index after the last one. Most methods
    return the qualified SQL of what they read and the index of the next token.
    """

    def __init__(self, query: str) -> None:
        """Split the query into tokens and find the closing token of each bracket and of each CASE."""
        spaced = spaced_words(query)
        # Space and comments become one line break and the indentation of the next token.
        self.blanks = ["\n" + blank.rpartition("\n")[2] if "\n" in blank else blank for blank, _ in spaced]
        self.words = [word for _, word in spaced]
        self.tokens = [blank + word for blank, (_, word) in zip(self.blanks, spaced, strict=True)]
        self.lower_words = [word.lower() for word in self.words]
        self.closing: dict[int, int] = {}
        open_brackets: list[int] = []
        for i, word in enumerate(self.lower_words):
            if word in _CLOSING:
                open_brackets.append(i)
            elif open_brackets and word == _CLOSING[self.lower_words[open_brackets[-1]]]:
                self.closing[open_brackets.pop()] = i
        self.values_depth = 0

    def source_text(self, pos: int, end: int) -> str:
        """Return the tokens from `pos` to before `end` unchanged, each with the space before it."""
        return "".join(self.tokens[pos:end])

    def expressions(self, pos: int, end: int) -> str:
        """Return the qualified SQL of the tokens from `pos` to before `end`.

        Operands are rewritten as by `operand`. Keywords, commas, columns and aliases between them are unchanged, except
        that the name in `name := value` is quoted.
        """
        pieces: list[str] = []
        words, lower = self.words, self.lower_words
        while pos < end:
            stop = pos + 1
            if lower[pos] not in _SPECIAL_STARTS:  # most names and keywords stand alone
                while stop < end and words[stop] == ".":
                    stop += 2
                if stop >= end or (lower[stop] not in _OPERAND_CONTINUATIONS and words[stop][0] != "'"):
                    # A setting would change the case of a bare name.
                    if stop < end and words[stop] == ":=" and words[pos][0] != '"':
                        pieces += self.blanks[pos], identifier(words[pos])
                    else:
                        pieces += self.tokens[pos:stop]
                    pos = stop
                    continue
            if self.starts_operand(pos):
                piece, pos = self.operand(pos, end, 0)
            elif lower[pos] == "values":  # rows of their own
                self.values_depth += 1
                inner = self.expressions(pos + 1, end)
                self.values_depth -= 1
                piece, pos = self.tokens[pos] + inner, end
            elif lower[pos] == "as":
                piece, pos = self.alias(pos, end)
            else:
                piece, pos = self.tokens[pos], pos + 1
            pieces.append(piece)
        return "".join(pieces)

    def starts_operand(self, pos: int) -> bool:
        """Return whether the token at `pos` begins an operand: a name, literal, bracket, minus sign or parameter.

        True also for CASE, CAST and NULL. False for the words in `_KEYWORDS`, such as NOT and THEN, except `left`,
        `right` and `replace` where they are called as functions.
        """
        word = self.lower_words[pos]
        if word[0].isalpha() or word[0] == "_":
            return word not in _KEYWORDS or (word in ("left", "right", "replace") and self.is_call(pos))
        return word[0] in "'\"([{-.?$" or word[0].isdigit()

    def is_call(self, pos: int) -> bool:
        """Return whether the token at `pos` is the name of a called function: an opening round bracket follows it.

        False for the words in `_NOT_CALLED`, such as IN and OVER, and for the `replace` of `* REPLACE (...)`. Words
        that only look like functions, such as CAST, count as called.
        """
        if pos + 1 >= len(self.words) or self.words[pos + 1] != "(" or self.lower_words[pos] in _NOT_CALLED:
            return False
        return not (self.lower_words[pos] == "replace" and self.words[pos - 1] in ("*", ")"))  # * REPLACE (x AS y)

    def alias(self, pos: int, end: int) -> tuple[str, int]:
        """Return the token AS at `pos` with the alias or type after it unchanged, and the index of the next token.

        Only AS is returned if a bracket, MATERIALIZED or NOT MATERIALIZED follows.
        """
        stop = pos + 1
        if stop < end and (self.lower_words[stop][0].isalpha() or self.words[stop][0] in '_"'):
            if self.lower_words[stop] in ("materialized", "not"):
                return self.source_text(pos, stop), stop
            stop = self.type_end(stop, end)
        return self.source_text(pos, stop), stop

    def type_end(self, pos: int, end: int) -> int:
        """Return the index after the type or alias that begins at `pos`, with its brackets, dots and WITH TIME ZONE."""
        pos += 1
        if self.lower_words[pos : pos + 3] == ["with", "time", "zone"]:
            pos += 3
        while pos < end and self.words[pos] in (".", "(", "["):
            pos = self.closing[pos] + 1 if pos in self.closing else pos + 2
        return pos

    def operand(self, pos: int, end: int, min_precedence: int) -> tuple[str, int]:
        """Read an operand and all binary operators after it that bind at least as strongly as `min_precedence`.

        Each operator of `_PRECEDENCE` is written as a call, grouped by precedence and from the left. Comparisons, AND
        and OR are not read.

        Args:
            pos: The index of the first token of the operand.
            end: The index after the last token that may be read.
            min_precedence: The least precedence of the operators; 0 for all.

        Returns:
            The SQL, with the space before the operand, and the index of the next token.
        """
        blank = self.blanks[pos]
        result, pos = self.signed(pos, end)
        while pos < end and _PRECEDENCE.get(self.words[pos], -1) >= min_precedence:
            operator = self.words[pos]
            right_operand, pos = self.operand(pos + 1, end, _PRECEDENCE[operator] + 1)
            result = f'{SYSTEM_SCHEMA}"{operator}"({result}, {right_operand.strip()})'
        return blank + result, pos

    def signed(self, pos: int, end: int) -> tuple[str, int]:
        """Return an operand with its minus signs, without the space before it, and the next index.

        A sign before a number stays a sign; any other minus is written as a call of the function `-`.
        """
        if self.words[pos] != "-":
            return self.postfixed(pos, end)
        value, stop = self.signed(pos + 1, end)
        return (f"-{value}" if value[0].isdigit() else f'{SYSTEM_SCHEMA}"-"({value})'), stop

    def postfixed(self, pos: int, end: int) -> tuple[str, int]:
        """Return an operand with the casts, subscripts and other suffixes after it, and the next index.

        Casts with `::` and COLLATE are unchanged; subscripts, struct fields and AT TIME ZONE are written as calls. AT
        TIME ZONE 'UTC' becomes a CASE expression (see `_timestamp_in_utc`).
        """
        value, pos = self.primary(pos, end)
        while pos < end:
            word = self.words[pos]
            if word == "::":
                stop = self.type_end(pos + 1, end)
                value, pos = value + self.source_text(pos, stop), stop
            elif word == "[":
                value, pos = self.subscript(value, pos), self.closing[pos] + 1
            elif word == ".":
                field = self.words[pos + 1]
                unquoted = field[1:-1].replace('""', '"') if field[0] == '"' else field
                value, pos = f"{SYSTEM_SCHEMA}struct_extract({value}, {text(unquoted)})", pos + 2
            elif self.lower_words[pos] == "collate":
                value, pos = f"{value} COLLATE {self.words[pos + 1]}", pos + 2
            elif self.lower_words[pos : pos + 3] == ["at", "time", "zone"]:
                zone, stop = self.primary(pos + 3, end)
                value = _timestamp_in_utc(value) if zone == "'UTC'" else f"{SYSTEM_SCHEMA}timezone({zone}, {value})"
                pos = stop
            else:
                break
        return value, pos

    def subscript(self, value: str, pos: int) -> str:
        """Return `value[i]` or `value[i:j]` as a call of array_extract or array_slice; the bracket is at `pos`.

        A missing `i` of a slice becomes 1, a missing `j` the length of `value`.
        """
        close, depth = self.closing[pos], 0
        for i in range(pos + 1, close):
            depth += (self.lower_words[i] in _CLOSING) - (self.lower_words[i] in _CLOSING.values())
            if self.words[i] == ":" and depth == 0:
                first = self.expressions(pos + 1, i).strip() or "1"
                last = self.expressions(i + 1, close).strip() or f"{SYSTEM_SCHEMA}len({value})"
                return f"{SYSTEM_SCHEMA}array_slice({value}, {first}, {last})"
        return f"{SYSTEM_SCHEMA}array_extract({value}, {self.expressions(pos + 1, close).strip()})"

    def primary(self, pos: int, end: int) -> tuple[str, int]:
        """Return the literal, column, parameter, call, CASE or bracketed expression at `pos`, and the next index.

        Calls in it are qualified; list, struct and row literals are written as calls. `INTERVAL 3 day` becomes
        `INTERVAL '3 day'`.
        """
        word, lower = self.words[pos], self.lower_words[pos]
        close = self.closing.get(pos)
        if close is not None:
            inner = self.struct_fields(pos + 1, close) if word == "{" else self.expressions(pos + 1, close)
            prefix = {"[": f"{SYSTEM_SCHEMA}list_value(", "{": f"{SYSTEM_SCHEMA}struct_pack("}.get(word, word)
            prefix = f"{SYSTEM_SCHEMA}row(" if word == "(" and self.is_row(pos) else prefix
            return prefix + inner + (")" if word in "[{" else self.blanks[close] + self.words[close]), close + 1
        if pos + 1 < end and self.words[pos + 1][0] == "'" and lower in _LITERAL_TYPES:
            return self.source_text(pos, pos + 2).strip(), pos + 2
        if lower == "interval" and pos + 2 < end and self.words[pos + 1].isdigit():
            return f"INTERVAL '{self.words[pos + 1]} {self.words[pos + 2]}'", pos + 3
        stop = pos + 1
        while (
            stop + 1 < end
            and self.words[stop] == "."
            and (self.words[stop + 1] == "*" or self.starts_operand(stop + 1))
        ):
            stop += 2
        name = self.source_text(pos, stop).strip()
        if stop < end and self.words[stop] == "(" and (stop > pos + 1 or self.is_call(pos)):
            return self.function_call(
                name if stop > pos + 1 or lower in _CALL_LIKE_SYNTAX else SYSTEM_SCHEMA + name, lower, stop, end
            )
        return name, stop

    def is_row(self, pos: int) -> bool:
        """Return whether the round bracket at `pos` constructs a row: it has a comma at its top level, as in (a, b).

        False after IN, USING, EXCLUDE, DISTINCT ON, SETS and VALUES, for rows of VALUES, and for a subquery. The
        bracket must not be that of a call.
        """
        if self.lower_words[pos - 1] in ("in", "using", "exclude", "sets", "values") or self.values_depth:
            return False
        if self.lower_words[pos - 2 : pos] == ["distinct", "on"]:
            return False
        if self.lower_words[pos + 1] in ("select", "from", "with", "values"):
            return False
        stop, close = pos + 1, self.closing[pos]
        while stop < close:
            if self.words[stop] == ",":
                return True
            stop = self.closing.get(stop, stop) + 1
        return False

    def function_call(self, name: str, lower: str, pos: int, end: int) -> tuple[str, int]:
        """Return a call with qualified arguments and its FILTER and OVER clauses, and the next index.

        Args:
            name: The qualified name to write.
            lower: The name in lower case. If `_EXPANDED_MACROS` has it and `name` is in `system.main`, the call is
                replaced by the body of this macro.
            pos: The index of the opening bracket.
            end: The index after the last token that may be read.
        """
        close = self.closing[pos]
        if lower in _EXPANDED_MACROS and name.startswith(SYSTEM_SCHEMA):
            return _EXPANDED_MACROS[lower](*self.arguments(pos + 1, close)), close + 1
        result, pos = f"{name}({self.expressions(pos + 1, close)}{self.blanks[close]})", close + 1
        while (
            pos + 1 < end
            and self.lower_words[pos] in ("filter", "over")
            and (close := self.closing.get(pos + 1, pos + 1))
        ):
            result += self.source_text(pos, pos + 1)
            if close == pos + 1:
                result, pos = result + self.source_text(close, close + 1), close + 1
            else:
                result, pos = f"{result} ({self.expressions(pos + 2, close)}{self.blanks[close]})", close + 1
        return result, pos

    def arguments(self, pos: int, end: int) -> list[str]:
        """Return the qualified SQL of each argument of a call.

        `pos` is the index after the opening bracket, `end` that of the closing one.
        """
        spaced, first = [], pos
        while pos < end:
            if self.words[pos] == ",":
                spaced.append(self.expressions(first, pos).strip())
                first = pos + 1
            pos = self.closing.get(pos, pos) + 1
        return [*spaced, self.expressions(first, end).strip()]

    def struct_fields(self, pos: int, end: int) -> str:
        """Return the fields of a struct literal such as `'a': 1, b: 2` as the named arguments `"a" := 1, "b" := 2`."""
        result = []
        while pos < end:
            name, first = self.words[pos], pos + 2
            pos = first
            while pos < end and self.words[pos] != ",":
                pos = self.closing.get(pos, pos) + 1
            unquoted = name[1:-1].replace("''", "'") if name[0] == "'" else name.strip('"')
            result.append(f"{identifier(unquoted)} := {self.expressions(first, pos).strip()}")
            pos += 1
        return ", ".join(result)
