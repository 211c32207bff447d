"""Parameters of table functions on the command line: `-k 10`, `-p k=10`, `-p nulls=drop`, `-p qi=age,zip`.

A value is a SQL literal or, where it is none, plain text. Nothing is evaluated that is not a literal.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import click

from dbanon import errors
from dbanon.release.spec import related_parameters as related
from dbanon.table_functions.parameter_types import (
    Choices,
    Columns,
    Float,
    Floats,
    ForColumns,
    Identifiers,
    Integer,
    Integers,
    ParameterType,
)
from dbanon.table_functions.registry import check_algorithm, table_functions

_LISTS = (Columns, ForColumns, Choices, Identifiers, Integers, Floats)
"""Parameters that are lists: plain text is divided at its commas."""

_GIVEN = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::=|=>|==|=)\s*(.*?)\s*", re.DOTALL)

_MADE = {"list_value", "struct_pack", "map", "row"}
"""What a literal may call: [...], {...}, MAP {...} and (...)."""

_MEANT = "[{('\"$"
"""A value that begins with one of these was meant as a literal."""


class _Checked(click.ParamType):  # type: ignore[type-arg]
    """A value that a kind of parameter accepts, in the words of the kind."""

    def __init__(self, name: str, kind: Integer | Float) -> None:
        self.name, self.kind = name, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.kind.check(int(value) if isinstance(self.kind, Integer) else float(value))
        except (ValueError, TypeError) as error:
            accepts = str(error) if isinstance(error, ValueError) and error.args and "of at most" in str(error) else ""
            self.fail(f"{value} is not {accepts or self.kind}.", param, ctx)


_K = click.option("-k", type=_Checked("integer", Integer(2)), help="k-anonymity: least records (persons) in a class.")
_L = click.option("-l", type=_Checked("integer", Integer(2)), help="l-diversity: least sensitive values in a class.")
_T = click.option("-t", type=_Checked("number", Float(0, 1)), help="t-closeness: greatest distance from the whole.")
_P = click.option(
    "-p",
    "--parameter",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any parameter of the function: nulls=drop, qi=age,zip, \"top={'age': 90}\".",
)
_IMPROVE = click.option(
    "--improve", metavar="MOVES|TIME", help="Lower the loss by a search: 20000, or 5s (Ctrl-C: the best so far)."
)


def models(command: Callable[..., None]) -> Callable[..., None]:
    """Return the options -k, -l and -t."""
    return _K(_L(_T(command)))


def parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Return the options -k, -l, -t, -p and --improve."""
    return models(_P(_IMPROVE(command)))


def stream_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Return the options -k, -l and -p, of a stream."""
    return _K(_L(_P(command)))


def of_system(system: str, given: Iterable[str], **options: object) -> dict[str, Any]:
    """Return all parameters of a call of a stream system, likewise."""
    known = sorted({f.system for f in table_functions().values() if f.system})
    if system not in known:
        raise errors.UnknownAlgorithmError(system, known)
    return _together(system, given, options)


def together(algorithm: str, given: Iterable[str], **options: object) -> dict[str, Any]:
    """Return all parameters of a call: those of -p and those that have an option of their own (None: not given).

    BadParameter where one is given twice, with different values; UnknownAlgorithmError, UnknownParameterError,
    NotSupportedForRelatedTablesError.
    """
    check_algorithm("dbanon", algorithm)
    return _together(algorithm, given, options)


def _together(algorithm: str, given: Iterable[str], options: Mapping[str, object]) -> dict[str, Any]:
    kinds = {p.name: p.kind for p in table_functions()[algorithm].parameters}
    found: dict[str, Any] = {}
    for name, value in (parameter(text, kinds) for text in given):
        if name not in kinds:
            raise errors.UnknownParameterError(algorithm, name, kinds)
        if name in related.NAMES:
            raise errors.NotSupportedForRelatedTablesError(algorithm, name, *related.PAIR)
        _put(found, name, value, f"-p {name}")
    for name, value in options.items():
        if value is not None:
            _put(found, name, value, _OPTIONS.get(name, f"{'-' if len(name) == 1 else '--'}{name}"))
    return found


_OPTIONS = {"hierarchies": "--qi"}
"""Options that give a parameter of another name."""


def joined_parameters(first: Mapping[str, Any], second: Mapping[str, Any], hint: str) -> dict[str, Any]:
    """Return both; click.BadParameter where both give a parameter, with different values."""
    found = dict(first)
    for name, value in second.items():
        _put(found, name, value, hint)
    return found


def not_given(options: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """Return the options that `-p` does not give, too."""
    names = {parameter(text, {})[0] for text in given}
    return {name: value for name, value in options.items() if name not in names}


def _put(found: dict[str, Any], name: str, value: Any, hint: str) -> None:
    if name in found and found[name] != value:
        raise click.BadParameter(f"{name} is given twice, and differently.", param_hint=hint)
    found[name] = value


def improvement(given: str | None) -> int | str | None:
    """Return the parameter `improve` of --improve: a number of moves, or a time as text."""
    return given if given is None or not given.strip().isdecimal() else int(given)


def parameter(given: str, kinds: Mapping[str, ParameterType]) -> tuple[str, Any]:
    """`name=value` as parameters of these kinds, by name, take it; BadParameter."""
    match = _GIVEN.fullmatch(given)
    if match is None:
        raise click.BadParameter(f"{given} is not NAME=VALUE.", param_hint="-p")
    name, text = match[1].lower(), match[2]
    is_list = isinstance(kinds.get(name), _LISTS)
    known, value = literal(text)
    if not known and text[:1] in ("[", "{"):  # a list that mixes texts and numbers
        known, value = literal(_quoted(text))
    alone = isinstance(kinds.get(name), (Integers, Floats))
    if known and not (is_list and not alone and isinstance(value, (bool, int, float))):
        return name, value
    if not known and (not text or text[0] in _MEANT):
        raise click.BadParameter(
            f"{text or 'nothing'} is no SQL literal. Hint: -p {name}=text, or a literal in quotes for the shell, such "
            f"as -p \"{name}=['a', 'b']\".",
            param_hint=f"-p {name}",
        )
    if alone:
        read = [(item.strip(), *literal(item)) for item in text.split(",")]
        return name, [value if known else item for item, known, value in read]
    return name, [item.strip() for item in text.split(",")] if is_list else text


def _quoted(text: str) -> str:
    """Return the same with the numbers in its lists as texts."""
    from dbanon.api import missing_codes

    return missing_codes.quote_listed_numbers(text)


# --- literals ----------------------------------------------------------------------------------------------------


def literal(text: str) -> tuple[bool, Any]:
    """Return whether a text is one SQL literal, and its value. DuckDB reads it; only constants are evaluated."""
    import duckdb

    with duckdb.connect(config={"enable_external_access": "false"}) as scratch:
        try:
            query, empty = (
                json.loads(scratch.execute("SELECT json_serialize_sql(?)", [f"SELECT {of}"]).fetchall()[0][0])
                for of in (text, "NULL")
            )
            if not _is_literal(query, empty):
                return False, None
            return True, _plain(scratch.execute(f"SELECT {text}").fetchall()[0][0])
        except duckdb.Error:
            return False, None


def _is_literal(query: dict[str, Any], empty: dict[str, Any]) -> bool:
    """Return whether a statement is like `SELECT NULL`, with another constant."""
    statements = query.get("statements", ())
    if len(statements) != 1:
        return False
    chosen = statements[0]["node"].pop("select_list", ())
    empty["statements"][0]["node"].pop("select_list")
    return len(chosen) == 1 and query == empty and all(map(_constant, _nodes(chosen[0])))


def _nodes(of: object) -> Iterable[Mapping[str, Any]]:
    """Return all expressions within one."""
    if isinstance(of, Mapping):
        if "class" in of:
            yield of
        for value in of.values():
            yield from _nodes(value)
    elif isinstance(of, list):
        for item in of:
            yield from _nodes(item)


def _constant(node: Mapping[str, Any]) -> bool:
    kind = node["class"]
    return kind in ("CONSTANT", "CAST", "TYPE") or (kind == "FUNCTION" and node.get("function_name") in _MADE)


def _plain(value: Any) -> Any:
    """Return a value of DuckDB as parameters take it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
