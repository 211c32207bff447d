"""Statements that call DuckDB's own functions, whatever macros and settings the session has.

DuckDB looks a function up on the search path before it looks among its own, so a macro `sum` or `error` of a database
would take the place of DuckDB's, and so would macros named `+`, `||` or `list_value`, which is what `a + b`, `a || b`
and `[a, b]` call. `bound` writes every call with its whole name. An operator that is written as a call is not read
through the settings of the parser either: `/` stays a division of fractions under `integer_division`.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.sqltext.tokenizer import spaced_words

OWN = "system.main."
"""Where DuckDB's functions and the registered Python functions are. No database can be attached by that name."""

_PRECEDENCE = {
    **dict.fromkeys(("||", "&", "|", "<<", ">>"), 1),
    **dict.fromkeys(("+", "-"), 2),
    **dict.fromkeys(("*", "/", "//", "%"), 3),
    **dict.fromkeys(("**", "^"), 4),
}
"""Of operators that are functions; comparisons are none and cannot be replaced."""

_WORDS = frozenset(
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
"""After these comes an operand, an operator there is a sign: `THEN -x`, `SELECT *`."""

_SYNTAX = frozenset({"cast", "try_cast", "try", "coalesce", "columns", "grouping"})
"""What is written like a call and is none of a function: nothing can take its place."""

_NO_CALLS = frozenset({"cube", "rollup", "sets"}) | _WORDS - {"left", "right", "replace"}
"""What stands before an opening bracket otherwise."""

_TYPED = frozenset({"date", "time", "timestamp", "timestamptz", "interval", "blob", "uuid"})
"""Types that can stand before a text: DATE '2000-01-01'."""

_EXPANDED: dict[str, Callable[..., str]] = {
    "list_append": lambda x, item: f"{OWN}list_concat({x}, {OWN}list_value({item}))",
    "list_prepend": lambda item, x: f"{OWN}list_concat({OWN}list_value({item}), {x})",
    "list_max": lambda x: f"{OWN}list_aggregate({x}, 'max')",
    "list_min": lambda x: f"{OWN}list_aggregate({x}, 'min')",
    "list_reverse": lambda x: f"{OWN}array_slice({x}, {OWN}len({x}), 1, -1)",
    "list_sum": lambda x: f"{OWN}list_aggregate({x}, 'sum')",
    "array_to_string": lambda x, by: (
        f"CASE WHEN {OWN}len(CAST({x} AS VARCHAR[])) = 0 THEN '' "
        f"ELSE {OWN}list_aggregate(CAST({x} AS VARCHAR[]), 'string_agg', {by}) END"
    ),
    "split_part": lambda x, by, n: (
        f"CASE WHEN ({x}) IS NOT NULL THEN coalesce({OWN}array_extract({OWN}string_split({x}, {by}), {n}), '') END"
    ),
    "md5_number_lower": lambda x: (
        f"CAST(CAST({OWN}left(CAST(CAST({OWN}md5_number({x}) AS BIT) AS VARCHAR), 64) AS BIT) AS UBIGINT)"
    ),
    "generate_subscripts": lambda x, n: f"{OWN}unnest({OWN}generate_series(1, {OWN}array_length({x}, {n})))",
}
"""DuckDB's functions that are macros themselves, whose bodies would be looked up on the search path: written out."""

_CLOSING = {"(": ")", "[": "]", "{": "}", "case": "end"}
_HEADS = frozenset({*_CLOSING, "-", "as", "interval", "values"})
_FOLLOWING = frozenset({*_PRECEDENCE, "(", "[", "::", "collate", "at"})
"""What makes more of an operand than itself."""


@lru_cache(maxsize=128)
def bound(query: str) -> Sql:
    """Return the query, every function and operator of which is DuckDB's own. O(n); the last ones are kept.

    Read are the forms that our SQL uses. Names that are called must not be quoted; a name behind AS is none. Comments
    and blank lines are left out.

    >>> print(bound("SELECT sum(a + 1) / 2, b[1] FROM t"))
    SELECT system.main."/"(system.main.sum(system.main."+"(a, 1)), 2), system.main.array_extract(b, 1) FROM t
    """
    return Sql(_Reader(query).whole())


def tidy(query: str) -> str:
    """Return the query without blank lines and blanks at ends of lines; comments stand as far in as what follows them.

    What is quoted stays as it is. O(n).
    """
    return "".join(_aligned(blank) + word for blank, word in spaced_words(query)).strip()


def _aligned(blank: str) -> str:
    first, *lines = blank.split("\n")
    if not lines:
        return first
    comments = [f"\n{lines[-1]}{line.strip()}" for line in lines[:-1] if line.strip()]
    return "".join((first.rstrip(), *comments, "\n", lines[-1]))


def _separator(blank: str) -> str:
    """What stands between two tokens on several lines, without comments and blank lines."""
    return "\n" + blank.rpartition("\n")[2]


def _utc(value: str) -> str:
    """Return the moment of a TIMESTAMPTZ as a TIMESTAMP of UTC.

    Timezone() counts years as the session's calendar does.
    """
    ends = ("infinity", "-infinity")
    same = [f" WHEN {value} = CAST('{end}' AS TIMESTAMPTZ) THEN CAST('{end}' AS TIMESTAMP)" for end in ends]
    return f"(CASE{''.join(same)} ELSE {OWN}make_timestamp({OWN}epoch_us({value})) END)"


class _Reader:
    """Reads tokens from left to right; each method gives what it read as SQL, and where it stopped."""

    def __init__(self, query: str) -> None:
        found = spaced_words(query)
        self.blank = [_separator(blank) if "\n" in blank else blank for blank, _ in found]
        self.word = [word for _, word in found]
        self.token = [blank + word for blank, (_, word) in zip(self.blank, found, strict=True)]
        self.lower = [word.lower() for word in self.word]
        self.close: dict[int, int] = {}
        opened: list[int] = []
        for i, word in enumerate(self.lower):
            if word in _CLOSING:
                opened.append(i)
            elif opened and word == _CLOSING[self.lower[opened[-1]]]:
                self.close[opened.pop()] = i
        self.values = 0

    def whole(self) -> str:
        return self.level(0, len(self.word))

    def raw(self, at: int, end: int) -> str:
        """Return tokens as they are."""
        return "".join(self.token[at:end])

    def level(self, at: int, end: int) -> str:
        """What is between two brackets: operands, and what is between them."""
        pieces: list[str] = []
        words, lower = self.word, self.lower
        while at < end:
            stop = at + 1
            if lower[at] not in _HEADS:  # most names and keywords stand alone
                while stop < end and words[stop] == ".":
                    stop += 2
                if stop >= end or (lower[stop] not in _FOLLOWING and words[stop][0] != "'"):
                    if stop < end and words[stop] == ":=" and words[at][0] != '"':  # a setting spells bare names anew
                        pieces += self.blank[at], identifier(words[at])
                    else:
                        pieces += self.token[at:stop]
                    at = stop
                    continue
            if self.begins(at):
                piece, at = self.operand(at, end, 0)
            elif lower[at] == "values":  # rows of their own
                self.values += 1
                inner = self.level(at + 1, end)
                self.values -= 1
                piece, at = self.token[at] + inner, end
            elif lower[at] == "as":
                piece, at = self.named(at, end)
            else:
                piece, at = self.token[at], at + 1
            pieces.append(piece)
        return "".join(pieces)

    def begins(self, at: int) -> bool:
        """Return whether an operand begins here."""
        word = self.lower[at]
        if word[0].isalpha() or word[0] == "_":
            return word not in _WORDS or (word in ("left", "right", "replace") and self.calls(at))
        return word[0] in "'\"([{-.?$" or word[0].isdigit()

    def calls(self, at: int) -> bool:
        """Return whether this is the name of a function that is called."""
        if at + 1 >= len(self.word) or self.word[at + 1] != "(" or self.lower[at] in _NO_CALLS:
            return False
        return not (self.lower[at] == "replace" and self.word[at - 1] in ("*", ")"))  # * REPLACE (x AS y)

    def named(self, at: int, end: int) -> tuple[str, int]:
        """AS and the alias, type or query behind it: no operand."""
        stop = at + 1
        if stop < end and (self.lower[stop][0].isalpha() or self.word[stop][0] in '_"'):
            if self.lower[stop] in ("materialized", "not"):
                return self.raw(at, stop), stop
            stop = self.type(stop, end)
        return self.raw(at, stop), stop

    def type(self, at: int, end: int) -> int:
        """Where the type or the alias ends that begins here."""
        at += 1
        if self.lower[at : at + 3] == ["with", "time", "zone"]:
            at += 3
        while at < end and self.word[at] in (".", "(", "["):
            at = self.close[at] + 1 if at in self.close else at + 2
        return at

    def operand(self, at: int, end: int, least: int) -> tuple[str, int]:
        """Return operands with operators between them that bind at least so well."""
        blank = self.blank[at]
        left, at = self.signed(at, end)
        while at < end and _PRECEDENCE.get(self.word[at], -1) >= max(least, 0) and self.word[at] in _PRECEDENCE:
            operator = self.word[at]
            right, at = self.operand(at + 1, end, _PRECEDENCE[operator] + 1)
            left = f'{OWN}"{operator}"({left}, {right.strip()})'
        return blank + left, at

    def signed(self, at: int, end: int) -> tuple[str, int]:
        """Return an operand with its sign, without the blanks before it."""
        if self.word[at] != "-":
            return self.postfixed(at, end)
        value, stop = self.signed(at + 1, end)
        return (f"-{value}" if value[0].isdigit() else f'{OWN}"-"({value})'), stop

    def postfixed(self, at: int, end: int) -> tuple[str, int]:
        """Return an operand with its casts, subscripts and collations."""
        value, at = self.primary(at, end)
        while at < end:
            word = self.word[at]
            if word == "::":
                stop = self.type(at + 1, end)
                value, at = value + self.raw(at, stop), stop
            elif word == "[":
                value, at = self.subscript(value, at), self.close[at] + 1
            elif word == ".":
                field = self.word[at + 1]
                plain = field[1:-1].replace('""', '"') if field[0] == '"' else field
                value, at = f"{OWN}struct_extract({value}, {text(plain)})", at + 2
            elif self.lower[at] == "collate":
                value, at = f"{value} COLLATE {self.word[at + 1]}", at + 2
            elif self.lower[at : at + 3] == ["at", "time", "zone"]:
                zone, stop = self.primary(at + 3, end)
                value = _utc(value) if zone == "'UTC'" else f"{OWN}timezone({zone}, {value})"
                at = stop
            else:
                break
        return value, at

    def subscript(self, value: str, at: int) -> str:
        """value[i], or the part value[i:j]."""
        close, depth = self.close[at], 0
        for i in range(at + 1, close):
            depth += (self.lower[i] in _CLOSING) - (self.lower[i] in _CLOSING.values())
            if self.word[i] == ":" and depth == 0:
                first = self.level(at + 1, i).strip() or "1"
                last = self.level(i + 1, close).strip() or f"{OWN}len({value})"
                return f"{OWN}array_slice({value}, {first}, {last})"
        return f"{OWN}array_extract({value}, {self.level(at + 1, close).strip()})"

    def primary(self, at: int, end: int) -> tuple[str, int]:
        """Return a literal, a column, a call, or what stands in brackets."""
        word, lower = self.word[at], self.lower[at]
        close = self.close.get(at)
        if close is not None:
            inner = self.fields(at + 1, close) if word == "{" else self.level(at + 1, close)
            before = {"[": f"{OWN}list_value(", "{": f"{OWN}struct_pack("}.get(word, word)
            before = f"{OWN}row(" if word == "(" and self.is_row(at) else before
            return before + inner + (")" if word in "[{" else self.blank[close] + self.word[close]), close + 1
        if at + 1 < end and self.word[at + 1][0] == "'" and lower in _TYPED:
            return self.raw(at, at + 2).strip(), at + 2
        if lower == "interval" and at + 2 < end and self.word[at + 1].isdigit():
            return f"INTERVAL '{self.word[at + 1]} {self.word[at + 2]}'", at + 3
        stop = at + 1
        while stop + 1 < end and self.word[stop] == "." and (self.word[stop + 1] == "*" or self.begins(stop + 1)):
            stop += 2
        name = self.raw(at, stop).strip()
        if stop < end and self.word[stop] == "(" and (stop > at + 1 or self.calls(at)):
            return self.call(name if stop > at + 1 or lower in _SYNTAX else OWN + name, lower, stop, end)
        return name, stop

    def is_row(self, at: int) -> bool:
        """Return whether a bracket that no name stands before makes a row: (a, b), but not IN (1, 2)."""
        if self.lower[at - 1] in ("in", "using", "exclude", "sets", "values") or self.values:
            return False
        if self.lower[at + 1] in ("select", "from", "with", "values"):
            return False
        stop, close = at + 1, self.close[at]
        while stop < close:
            if self.word[stop] == ",":
                return True
            stop = self.close.get(stop, stop) + 1
        return False

    def call(self, name: str, lower: str, at: int, end: int) -> tuple[str, int]:
        """Return a call and what belongs to it: FILTER, OVER."""
        close = self.close[at]
        if lower in _EXPANDED and name.startswith(OWN):
            return _EXPANDED[lower](*self.arguments(at + 1, close)), close + 1
        made, at = f"{name}({self.level(at + 1, close)}{self.blank[close]})", close + 1
        while at + 1 < end and self.lower[at] in ("filter", "over") and (close := self.close.get(at + 1, at + 1)):
            made += self.raw(at, at + 1)
            if close == at + 1:
                made, at = made + self.raw(close, close + 1), close + 1
            else:
                made, at = f"{made} ({self.level(at + 2, close)}{self.blank[close]})", close + 1
        return made, at

    def arguments(self, at: int, end: int) -> list[str]:
        """Return arguments of a call, one by one."""
        found, first = [], at
        while at < end:
            if self.word[at] == ",":
                found.append(self.level(first, at).strip())
                first = at + 1
            at = self.close.get(at, at) + 1
        return [*found, self.level(first, end).strip()]

    def fields(self, at: int, end: int) -> str:
        """Return fields of a struct: 'a': 1, b: 2."""
        made = []
        while at < end:
            name, first = self.word[at], at + 2
            at = first
            while at < end and self.word[at] != ",":
                at = self.close.get(at, at) + 1
            plain = name[1:-1].replace("''", "'") if name[0] == "'" else name.strip('"')
            made.append(f"{identifier(plain)} := {self.level(first, at).strip()}")
            at += 1
        return ", ".join(made)
