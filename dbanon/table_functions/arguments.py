"""From what DuckDB binds to Python values: named arguments, and `k=10` on a plain connection.

A table macro has no `name = value` arguments: `kacpc('t', k=10)` passes a comparison in a positional slot, in which
`k` is no column and so becomes a text. `alias` gives what DuckDB bound, `(CAST('k' AS INTEGER) = CAST(10 AS INTEGER))`;
in a branch that is never taken, `CASE WHEN false THEN slot END`, the text is not cast, which would fail. `capture`
writes that and `slot` reads it back: a name, `=`, a literal, whole, or an error.

Where the statement reads another table, `k` may be a column of that one: a lambda parameter of the same name, around
the slots, comes first. Binding doubles with every nested lambda, so only the names in `CAPTURED` are, two a lambda.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from dbanon import errors
from dbanon.sqltext.tokenizer import code_tokens

CAPTURED = ("k", "qi", "sensitive", "hierarchies", "weights", "l", "t", "alpha")
"""Names that `=` is understood for even beside a table with a column of that name, on a connection that was only
attached."""

SLOTS = 12
"""How many `name = value` arguments one call can have."""


def capture(slots: Sequence[str], names: Sequence[str]) -> str:
    """Return SQL for a VARCHAR[] of the bound texts of positional slots, with `names` captured."""
    inner = "to_json([" + ", ".join(f"alias(CASE WHEN false THEN {s} END)" for s in slots) + "])::VARCHAR"
    alone, paired = names[: len(names) % 2], names[len(names) % 2 :]
    for one, two in zip(paired[::2], paired[1::2], strict=True):
        inner = f"list_reduce([NULL::VARCHAR, NULL], lambda {one}, {two}: {inner})"
    for name in alone:
        inner = f"list_transform([NULL], lambda {name}: {inner})[1]"
    return f"""from_json({inner}, '["VARCHAR"]')"""


_SLOT = re.compile(
    r"CASE\s+WHEN \((?:false|CAST\('f' AS BOOLEAN\))\) THEN \((?P<given>.*)\) ELSE (?:NULL|CAST\(NULL AS .*\)) END",
    re.DOTALL,
)


def slot(function: str, text: str, placed: str | None = None) -> tuple[str, object] | None:
    """`(name, value)` of one positional slot; None where the slot is empty. A text alone is the value of `placed`."""
    branch = _SLOT.fullmatch(text)
    text = branch["given"] if branch else text
    if text == "NULL":
        return None
    try:
        if placed is not None and (alone := _Reader(text).text_alone()) is not None:
            return placed, alone
        return _Reader(text).comparison()
    except ValueError:
        raise errors.UnreadableArgumentError(function, _plain(text)) from None


def _plain(text: str) -> str:
    """Return the bound text without its outer brackets and its casts, for a message."""
    while (start := text.find("CAST(")) >= 0:
        depth, as_at, end = 0, -1, start + 4
        for end in range(start + 4, len(text)):
            depth += (text[end] == "(") - (text[end] == ")")
            if depth == 1 and text.startswith(" AS ", end):
                as_at = end
            if depth == 0:
                break
        if as_at < 0 or depth != 0:
            break
        text = text[:start] + text[start + 5 : as_at] + text[end + 1 :]
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


@dataclass(frozen=True)
class _Name:
    """A bare word: the left side of a comparison."""

    text: str


class _Reader:
    """A small recursive reader of DuckDB's canonical expression text: literals, lists, structs, casts."""

    def __init__(self, text: str) -> None:
        self.tokens = [(token.kind, token.text) for token in code_tokens(text)]
        self.at = 0

    def text_alone(self) -> str | None:
        """Return the text that this is and nothing else; None where it is another expression."""
        if self.peek()[1] == "(":  # a comparison
            return None
        value = self.value()
        inner = value.inner if isinstance(value, _Cast) else value
        return inner if isinstance(inner, str) and self.at == len(self.tokens) else None

    def comparison(self) -> tuple[str, object]:
        """`(name = value)` and nothing after it."""
        self.expect("(")
        name = self.value()
        self.expect("=")
        value = self.value()
        self.expect(")")
        if self.at != len(self.tokens) or isinstance(value, _Name):
            raise ValueError
        name, fields = (name.inner, name.fields) if isinstance(name, _Cast) else (name, ())
        label = name.text if isinstance(name, _Name) else name
        if not isinstance(label, str) or not label:
            raise ValueError
        return label.lower(), _plain_value(value, fields)

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def next(self) -> tuple[str, str]:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, mark: str) -> None:
        if self.next()[1] != mark:
            raise ValueError(mark)

    def value(self) -> object:
        kind, text = self.next()
        if kind == "string":
            return text[1:-1].replace("''", "'")
        if text == "-" and self.peek()[0] == "number":
            kind, text = "number", text + self.next()[1]
        if kind == "number":
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if text == "[":
            return self.items("]")
        if text == "{":
            return self.fields()
        if text.lower() in ("map", '"map"') and self.peek()[1] == "(":
            return self.map()
        if kind == "quoted":
            return _Name(text[1:-1].replace('""', '"'))
        if kind != "word":
            raise ValueError(text)
        while self.peek()[1] == ".":
            text += self.next()[1] + self.next()[1]
        readers: dict[str, Callable[[], object]] = {
            "cast": self.cast,
            "list_value": self.bracketed,
            "struct_pack": lambda: _Struct(tuple(self.bracketed())),
        }
        lowered = text.lower()
        if lowered in readers and self.peek()[1] == "(":
            return readers[lowered]()
        constants = {"null": None, "true": True, "false": False}
        return constants[lowered] if lowered in constants else _Name(text)

    def bracketed(self) -> list[object]:
        self.expect("(")
        return self.items(")")

    def map(self) -> dict[str, object]:
        """`map(list of keys, list of values)`."""
        lists = self.bracketed()
        if len(lists) != 2 or not all(isinstance(one, list) for one in lists):
            raise ValueError
        keys, values = (_plain_value(one, ()) for one in lists)
        if not all(isinstance(key, str) for key in keys):  # type: ignore[attr-defined]
            raise ValueError
        return dict(zip(keys, values, strict=True))  # type: ignore[call-overload]

    def items(self, end: str) -> list[object]:
        """Return values up to the closing bracket."""
        found: list[object] = []
        while self.peek()[1] != end:
            if found:
                self.expect(",")
            found.append(self.value())
        self.expect(end)
        return found

    def fields(self) -> dict[str, object]:
        """Return a struct as a prepared value shows it: {'zip': 'z'}."""
        found: dict[str, object] = {}
        while self.peek()[1] != "}":
            if found:
                self.expect(",")
            name = self.value()
            if not isinstance(name, str):
                raise ValueError
            self.expect(":")
            found[name] = _plain_value(self.value(), ())
        self.expect("}")
        return found

    def cast(self) -> object:
        """`CAST(x AS type)`: the value, and the field names if the type is a struct."""
        self.expect("(")
        inner = self.value()
        if self.next()[1].upper() != "AS":
            raise ValueError
        boolean = self.peek()[1].upper() == "BOOLEAN"
        fields = self.type()
        self.expect(")")
        if isinstance(inner, _Name):
            return _Cast(inner, fields)
        if fields and isinstance(inner, _Struct):
            return _plain_value(inner, fields)
        if boolean and inner in ("t", "f"):
            return inner == "t"
        return _Cast(inner, fields) if isinstance(inner, str) else inner

    def type(self) -> tuple[str, ...]:
        """Skip a type up to the closing bracket; return the names of a struct's fields."""
        fields: list[str] = []
        depth = 0
        struct = self.peek()[1].upper() == "STRUCT"
        fresh = False
        while not (depth == 0 and self.peek()[1] == ")"):
            kind, text = self.next()
            if kind == "end":
                raise ValueError
            if fresh and depth == 1 and struct:
                fields.append(text[1:-1].replace('""', '"') if kind == "quoted" else text)
            fresh = (text == "(" and depth == 0) or (text == "," and depth == 1)
            depth += (text == "(") - (text == ")")
        return tuple(fields)


@dataclass(frozen=True)
class _Struct:
    """The values of struct_pack; the names come from the type the other side was cast to."""

    values: tuple[object, ...]


@dataclass(frozen=True)
class _Cast:
    """A name or text under a cast."""

    inner: object
    fields: tuple[str, ...]


def _plain_value(value: object, fields: tuple[str, ...]) -> object:
    """Return a Python value out of the reader's nodes."""
    if isinstance(value, _Cast):
        value = value.inner
    if isinstance(value, _Struct):
        if len(value.values) != len(fields):
            raise ValueError
        return {f: _plain_value(v, ()) for f, v in zip(fields, value.values, strict=True)}
    if isinstance(value, list):
        return [_plain_value(v, ()) for v in value]
    if isinstance(value, _Name):
        raise ValueError
    return value


def merged(
    function: str, slots: Sequence[str], named_values: dict[str, object], placed: Sequence[str] = ()
) -> dict[str, object]:
    """Return all arguments of a call by name; RepeatedArgumentError when one is given twice.

    `placed` are names of the first slots, whose values may be texts without a name.
    """
    given = {name: value for name, value in named_values.items() if value is not None}
    for text, place in zip_longest(slots, placed[: len(slots)]):
        found = slot(function, text, place)
        if found is None:
            continue
        name, value = found
        if name in given:
            raise errors.RepeatedArgumentError(function, name)
        given[name] = value
    return given
