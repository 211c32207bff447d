"""Convert the arguments that DuckDB binds to Python values, also `k=10` on a plain connection.

A table macro has no `name = value` arguments: `kacpc('t', k=10)` passes a comparison in a positional slot, where `k` is
no column and so becomes a text. `alias` returns what DuckDB bound, `(CAST('k' AS INTEGER) = CAST(10 AS INTEGER))`; in a
branch that is never taken, `CASE WHEN false THEN slot END`, the text is not cast, which would fail. `capture_sql`
writes that expression and `parse_slot` reads it back: a name, `=`, a literal, completely, or an error.

If the statement reads another table, `k` may be a column of that table. A lambda parameter of the same name around the
slots takes precedence. Binding time doubles with every nested lambda, so only the names in `CAPTURED` are captured, two
per lambda.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from dbanon import errors
from dbanon.sqltext.tokenizer import code_tokens

CAPTURED = ("k", "qi", "sensitive", "hierarchies", "weights", "l", "t", "alpha")
"""Names for which `=` is recognized even if a table in the statement has a column of that name, on a connection that
was only attached."""

SLOTS = 12
"""Maximum number of `name = value` arguments of one call."""


def capture_sql(slots: Sequence[str], names: Sequence[str]) -> str:
    """Return SQL for a VARCHAR[]: the text of the expression that DuckDB bound for each positional slot.

    `slots` are the SQL names of the macro's positional arguments. `names` are parameters such as `k` that become lambda
    parameters around the slots, so that `k=10` is bound as text even if a table has a column `k`.
    """
    expression = "to_json([" + ", ".join(f"alias(CASE WHEN false THEN {s} END)" for s in slots) + "])::VARCHAR"
    unpaired, pairs = names[: len(names) % 2], names[len(names) % 2 :]
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        expression = f"list_reduce([NULL::VARCHAR, NULL], lambda {first}, {second}: {expression})"
    for name in unpaired:
        expression = f"list_transform([NULL], lambda {name}: {expression})[1]"
    return f"""from_json({expression}, '["VARCHAR"]')"""


_SLOT = re.compile(
    r"CASE\s+WHEN \((?:false|CAST\('f' AS BOOLEAN\))\) THEN \((?P<given>.*)\) ELSE (?:NULL|CAST\(NULL AS .*\)) END",
    re.DOTALL,
)


def parse_slot(function: str, text: str, positional_name: str | None = None) -> tuple[str, object] | None:
    """Return the name, in lower case, and the value of one positional slot of a call, which DuckDB passes as SQL text.

    Args:
        function: The table function, for messages.
        text: A comparison such as `(k = 5)`, or NULL for an argument that is not given.
        positional_name: The parameter whose value the slot may also be as a single text literal without a name.

    Returns:
        The (name, value) pair; None if the argument is not given.

    Raises:
        UnreadableArgumentError: The slot is anything else.
    """
    branch = _SLOT.fullmatch(text)
    text = branch["given"] if branch else text
    if text == "NULL":
        return None
    try:
        if (
            positional_name is not None
            and (positional_value := _ExpressionParser(text).parse_single_text()) is not None
        ):
            return positional_name, positional_value
        return _ExpressionParser(text).parse_comparison()
    except ValueError:
        raise errors.UnreadableArgumentError(function, _without_casts(text)) from None


def _without_casts(text: str) -> str:
    """Return a bound expression without its `CAST(... AS type)` wrappers and its outer brackets, for a message."""
    while (start := text.find("CAST(")) >= 0:
        depth, as_position, end = 0, -1, start + 4
        for end in range(start + 4, len(text)):
            depth += (text[end] == "(") - (text[end] == ")")
            if depth == 1 and text.startswith(" AS ", end):
                as_position = end
            if depth == 0:
                break
        if as_position < 0 or depth != 0:
            break
        text = text[:start] + text[start + 5 : as_position] + text[end + 1 :]
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


@dataclass(frozen=True)
class _BareWord:
    """A name without quotes around a text, such as the `k` in `k = 5`."""

    text: str


class _ExpressionParser:
    """A recursive-descent parser of the expression text that DuckDB prints: literals, lists, structs, maps, casts.

    The methods consume tokens and raise ValueError if the text is anything else.
    """

    def __init__(self, text: str) -> None:
        """Split the text into tokens; the methods read them from the first."""
        self.tokens = [(token.kind, token.text) for token in code_tokens(text)]
        self.position = 0

    def parse_single_text(self) -> str | None:
        """Return the text if the expression is one text literal, possibly in a cast; None for any other expression."""
        if self.peek_token()[1] == "(":  # a comparison
            return None
        value = self.parse_value()
        inner = value.inner if isinstance(value, _CastValue) else value
        return inner if isinstance(inner, str) and self.position == len(self.tokens) else None

    def parse_comparison(self) -> tuple[str, object]:
        """Parse `(name = value)` up to the end of the text.

        Return the name in lower case and the value as a Python value.
        """
        self.expect_token("(")
        name = self.parse_value()
        self.expect_token("=")
        value = self.parse_value()
        self.expect_token(")")
        if self.position != len(self.tokens) or isinstance(value, _BareWord):
            raise ValueError
        name, fields = (name.inner, name.fields) if isinstance(name, _CastValue) else (name, ())
        label = name.text if isinstance(name, _BareWord) else name
        if not isinstance(label, str) or not label:
            raise ValueError
        return label.lower(), _python_value(value, fields)

    def peek_token(self) -> tuple[str, str]:
        """Return the kind and the text of the next token without consuming it; ("end", "") after the last."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def next_token(self) -> tuple[str, str]:
        """Consume the next token and return its kind and text; ("end", "") after the last."""
        token = self.peek_token()
        self.position += 1
        return token

    def expect_token(self, mark: str) -> None:
        """Consume the next token; raise ValueError if it is not `mark`."""
        if self.next_token()[1] != mark:
            raise ValueError(mark)

    def parse_value(self) -> object:
        """Parse a literal, list, struct, map, cast or name and return its value.

        Numbers, texts, booleans, NULL and lists become Python values; structs and maps become dictionaries. A name,
        also one with dots, is returned as a `_BareWord`; a call of struct_pack as `_StructValues`; a cast of a text or
        name as a `_CastValue`.

        Raises:
            ValueError: The text is anything else.
        """
        kind, text = self.next_token()
        if kind == "string":
            return text[1:-1].replace("''", "'")
        if text == "-" and self.peek_token()[0] == "number":
            kind, text = "number", text + self.next_token()[1]
        if kind == "number":
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if text == "[":
            return self.parse_items("]")
        if text == "{":
            return self.parse_fields()
        if text.lower() in ("map", '"map"') and self.peek_token()[1] == "(":
            return self.parse_map()
        if kind == "quoted":
            return _BareWord(text[1:-1].replace('""', '"'))
        if kind != "word":
            raise ValueError(text)
        while self.peek_token()[1] == ".":
            text += self.next_token()[1] + self.next_token()[1]
        readers: dict[str, Callable[[], object]] = {
            "cast": self.parse_cast,
            "list_value": self.parse_bracketed,
            "struct_pack": lambda: _StructValues(tuple(self.parse_bracketed())),
        }
        lower_text = text.lower()
        if lower_text in readers and self.peek_token()[1] == "(":
            return readers[lower_text]()
        constants = {"null": None, "true": True, "false": False}
        return constants[lower_text] if lower_text in constants else _BareWord(text)

    def parse_bracketed(self) -> list[object]:
        """Parse values between round brackets, separated by commas, and return them as a list."""
        self.expect_token("(")
        return self.parse_items(")")

    def parse_map(self) -> dict[str, object]:
        """Parse `([keys], [values])`, the part of a map call after `map`, and return a dictionary with text keys."""
        lists = self.parse_bracketed()
        if len(lists) != 2 or not all(isinstance(one, list) for one in lists):
            raise ValueError
        keys, values = (_python_value(one, ()) for one in lists)
        if not all(isinstance(key, str) for key in keys):  # type: ignore[attr-defined]
            raise ValueError
        return dict(zip(keys, values, strict=True))  # type: ignore[call-overload]

    def parse_items(self, end: str) -> list[object]:
        """Parse values separated by commas up to and including the closing bracket `end`.

        The opening bracket is consumed already.
        """
        values: list[object] = []
        while self.peek_token()[1] != end:
            if values:
                self.expect_token(",")
            values.append(self.parse_value())
        self.expect_token(end)
        return values

    def parse_fields(self) -> dict[str, object]:
        """Parse the rest of a struct literal such as `{'zip': 'z'}` after its brace, and return a dictionary.

        DuckDB prints the struct values of prepared statements in this form.
        """
        values: dict[str, object] = {}
        while self.peek_token()[1] != "}":
            if values:
                self.expect_token(",")
            name = self.parse_value()
            if not isinstance(name, str):
                raise ValueError
            self.expect_token(":")
            values[name] = _python_value(self.parse_value(), ())
        self.expect_token("}")
        return values

    def parse_cast(self) -> object:
        """Parse `(x AS type)`, the part of a cast after its name, and return the value of x.

        A struct becomes a dictionary with the type's field names, 't' or 'f' as BOOLEAN a bool. Any other text or name
        is returned as a `_CastValue` with these field names.
        """
        self.expect_token("(")
        inner = self.parse_value()
        if self.next_token()[1].upper() != "AS":
            raise ValueError
        boolean = self.peek_token()[1].upper() == "BOOLEAN"
        fields = self.parse_type()
        self.expect_token(")")
        if isinstance(inner, _BareWord):
            return _CastValue(inner, fields)
        if fields and isinstance(inner, _StructValues):
            return _python_value(inner, fields)
        if boolean and inner in ("t", "f"):
            return inner == "t"
        return _CastValue(inner, fields) if isinstance(inner, str) else inner

    def parse_type(self) -> tuple[str, ...]:
        """Consume a type up to, but not including, the closing bracket after it.

        Return the field names of a STRUCT; an empty tuple for any other type.
        """
        fields: list[str] = []
        depth = 0
        struct = self.peek_token()[1].upper() == "STRUCT"
        fresh = False
        while not (depth == 0 and self.peek_token()[1] == ")"):
            kind, text = self.next_token()
            if kind == "end":
                raise ValueError
            if fresh and depth == 1 and struct:
                fields.append(text[1:-1].replace('""', '"') if kind == "quoted" else text)
            fresh = (text == "(" and depth == 0) or (text == "," and depth == 1)
            depth += (text == "(") - (text == ")")
        return tuple(fields)


@dataclass(frozen=True)
class _StructValues:
    """The values of a struct_pack call, without field names.

    The field names are in a type: of the cast around the call, or of the cast of the compared name.
    """

    values: tuple[object, ...]


@dataclass(frozen=True)
class _CastValue:
    """A name or a text inside a cast, with the field names of the type if it is a struct (else empty)."""

    inner: object
    fields: tuple[str, ...]


def _python_value(value: object, fields: tuple[str, ...]) -> object:
    """Convert a parsed value, with the values nested in it, to a Python value; ValueError for a name.

    `fields` are the field names for `_StructValues`, which become a dictionary.
    """
    if isinstance(value, _CastValue):
        value = value.inner
    if isinstance(value, _StructValues):
        if len(value.values) != len(fields):
            raise ValueError
        return {f: _python_value(v, ()) for f, v in zip(fields, value.values, strict=True)}
    if isinstance(value, list):
        return [_python_value(v, ()) for v in value]
    if isinstance(value, _BareWord):
        raise ValueError
    return value


def merge_arguments(
    function: str, slots: Sequence[str], named_values: dict[str, object], positional_names: Sequence[str] = ()
) -> dict[str, object]:
    """Return all given arguments of a call by name; those without a value are omitted.

    Args:
        function: The table function, for messages.
        slots: Bound texts of the positional slots.
        named_values: Values of named arguments; None counts as not given.
        positional_names: Names of the first slots, whose values may be texts without a name.

    Raises:
        RepeatedArgumentError: An argument is given twice.
        UnreadableArgumentError: A slot cannot be parsed.
    """
    values = {name: value for name, value in named_values.items() if value is not None}
    for text, positional_name in zip_longest(slots, positional_names[: len(slots)]):
        parsed = parse_slot(function, text, positional_name)
        if parsed is None:
            continue
        name, value = parsed
        if name in values:
            raise errors.RepeatedArgumentError(function, name)
        values[name] = value
    return values
