"""Parameters of table functions on the command line: `-k 10`, `-p k=10`, `-p nulls=drop`, `-p qi=age,zip`.

A value is a SQL literal or otherwise plain text. Only literals are evaluated.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import click

from dbanon import errors
from dbanon.cli.options.name_completion import complete_algorithms
from dbanon.release.functions import DEFAULT_ALGORITHM
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

_LIST_TYPES = (Columns, ForColumns, Choices, Identifiers, Integers, Floats)
"""Parameters that are lists: plain text is divided at its commas."""

_ASSIGNMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::=|=>|==|=)\s*(.*?)\s*", re.DOTALL)

_CONSTRUCTORS = {"list_value", "struct_pack", "map", "row"}
"""What a literal may call: [...], {...}, MAP {...} and (...)."""

_LITERAL_STARTS = "[{('\"$"
"""A value that begins with one of these was meant as a literal."""


class _CheckedType(click.ParamType):  # type: ignore[type-arg]
    """A click type for numbers that accepts what a parameter type of a table function accepts, with its messages."""

    def __init__(self, name: str, kind: Integer | Float) -> None:
        """Store the name that click shows for the type, and the parameter type that checks values."""
        self.name, self.kind = name, kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; let click report a text that is no number or out of range."""
        try:
            return self.kind.check(int(value) if isinstance(self.kind, Integer) else float(value))
        except (ValueError, TypeError) as error:
            accepts = str(error) if isinstance(error, ValueError) and error.args and "of at most" in str(error) else ""
            self.fail(f"{value} is not {accepts or self.kind}.", param, ctx)


_K = click.option(
    "-k",
    type=_CheckedType("integer", Integer(2)),
    help="Require k-anonymity: at least this number of records (persons) per class.",
)
_L = click.option(
    "-l",
    type=_CheckedType("integer", Integer(2)),
    help="Require l-diversity: at least this number of sensitive values per class.",
)
_T = click.option(
    "-t",
    type=_CheckedType("number", Float(0, 1)),
    help="Require t-closeness: at most this distance from the whole table.",
)
_P = click.option(
    "-p",
    "--parameter",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set any parameter of the function: nulls=drop, qi=age,zip, \"top={'age': 90}\".",
)
_IMPROVE = click.option(
    "--improve",
    metavar="MOVES|TIME",
    help="Reduce the loss by a search: 20000 moves, or 5s (Ctrl-C keeps the best so far).",
)


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options -k, -l and -t to a command."""
    return _K(_L(_T(command)))


def parameter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options -k, -l, -t, -p and --improve to a command."""
    return model_options(_P(_IMPROVE(command)))


def stream_parameter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options -k, -l and -p of a stream to a command."""
    return _K(_L(_P(command)))


def merge_stream_parameters(system: str, assignments: Iterable[str], **options: object) -> dict[str, Any]:
    """Return all parameters of a call of a stream algorithm, by name.

    `assignments` are the texts of -p, `options` the values of other options (None: not given).

    Raises:
        UnknownAlgorithmError: There is no such stream algorithm.

    Also raises the errors of `merge_parameters`.
    """
    systems = sorted({f.stream_algorithm for f in table_functions().values() if f.stream_algorithm})
    if system not in systems:
        raise errors.UnknownAlgorithmError(system, systems)
    return _merge(system, assignments, options)


def algorithm_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option --algorithm to a command; `split_algorithm` reads it."""
    return click.option(
        "--algorithm",
        help=f"Use this algorithm (see dbanon algorithms); default: {DEFAULT_ALGORITHM}.",
        shell_complete=complete_algorithms,
    )(command)


def split_algorithm(option: str | None, assignments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the algorithm and those assignments of -p that do not name it.

    The algorithm is that of --algorithm (`option`) or of `-p algorithm=...`, by default DEFAULT_ALGORITHM.

    Raises:
        click.BadParameter: Both name one, and differently.
    """
    algorithm_parameter = {"algorithm": option} if option else {}
    others = []
    for text in assignments:
        name, value = parse_assignment(text, {})
        if name != "algorithm":
            others.append(text)
        elif algorithm_parameter.setdefault(name, str(value)) != value:
            raise click.BadParameter("algorithm is given twice, with different values.", param_hint="-p algorithm")
    return algorithm_parameter.get("algorithm", DEFAULT_ALGORITHM), others


def merge_parameters(algorithm: str, assignments: Iterable[str], **options: object) -> dict[str, Any]:
    """Return all parameters of a call of an algorithm, by name.

    Args:
        algorithm: The algorithm.
        assignments: The texts of -p, such as `nulls=drop`.
        **options: The values of other options, by the name of the parameter; None if an option is not given.

    Raises:
        click.BadParameter: A parameter is given twice with different values.
        UnknownAlgorithmError: There is no such algorithm.
        UnknownParameterError: The algorithm has no such parameter.
        NotSupportedForRelatedTablesError: A parameter is for related tables, which commands do not support.
    """
    check_algorithm("dbanon", algorithm)
    return _merge(algorithm, assignments, options)


def _merge(algorithm: str, assignments: Iterable[str], options: Mapping[str, object]) -> dict[str, Any]:
    """Return the parameters of -p and of other options, by name; see `merge_parameters` for arguments and errors."""
    kinds = {p.name: p.kind for p in table_functions()[algorithm].parameters}
    merged: dict[str, Any] = {}
    for name, value in (parse_assignment(text, kinds) for text in assignments):
        if name not in kinds:
            raise errors.UnknownParameterError(algorithm, name, kinds)
        if name in related.RELATED_PARAMETER_NAMES:
            raise errors.NotSupportedForRelatedTablesError(algorithm, name, *related.ONE_TABLE_REASON)
        add_parameter(merged, name, value, f"-p {name}")
    for name, value in options.items():
        if value is not None:
            add_parameter(
                merged, name, value, _OPTION_BY_PARAMETER.get(name, f"{'-' if len(name) == 1 else '--'}{name}")
            )
    return merged


_OPTION_BY_PARAMETER = {"hierarchies": "--qi"}
"""Options that give a parameter of another name."""


def union_parameters(first: Mapping[str, Any], second: Mapping[str, Any], hint: str) -> dict[str, Any]:
    """Return the parameters of both mappings; neither mapping is changed.

    `hint` is the option that the message names.

    Raises:
        click.BadParameter: Both give a parameter, with different values.
    """
    merged = dict(first)
    for name, value in second.items():
        add_parameter(merged, name, value, hint)
    return merged


def options_not_assigned(options: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """Return the options whose names are not assigned by -p; `assignments` are the texts of -p."""
    names = {parse_assignment(text, {})[0] for text in assignments}
    return {name: value for name, value in options.items() if name not in names}


def add_parameter(merged: dict[str, Any], name: str, value: Any, hint: str) -> None:
    """Set a parameter in `merged`, which is changed in place.

    Raises:
        click.BadParameter: The parameter has another value already. `hint` is the option that the message names.
    """
    if name in merged and merged[name] != value:
        raise click.BadParameter(f"{name} is given twice, with different values.", param_hint=hint)
    merged[name] = value


def parse_improve(option_value: str | None) -> int | str | None:
    """Return the value of --improve as the parameter `improve`: a number of moves as int, or a time as text.

    Returns None if the option is not given.
    """
    return option_value if option_value is None or not option_value.strip().isdecimal() else int(option_value)


def parse_assignment(assignment: str, kinds: Mapping[str, ParameterType]) -> tuple[str, Any]:
    """Return the name, in lower case, and the value of a text `name=value`.

    A value that is a SQL literal is evaluated; other text is taken as it is. For parameters that are lists, text is
    split at its commas; of lists of numbers, each element that is a literal is then evaluated. A single number or
    boolean for a list of names remains text, in a list.

    Args:
        assignment: The text.
        kinds: The types of the parameters by name. A name without a type is accepted; its text is not split.

    Raises:
        click.BadParameter: The text is not `name=value`, or the value is empty or looks like a SQL literal and is none.
    """
    match = _ASSIGNMENT.fullmatch(assignment)
    if match is None:
        raise click.BadParameter(f"{assignment} is not NAME=VALUE.", param_hint="-p")
    name, text = match[1].lower(), match[2]
    is_list = isinstance(kinds.get(name), _LIST_TYPES)
    is_literal, value = parse_literal(text)
    if not is_literal and text[:1] in ("[", "{"):  # a list that mixes texts and numbers
        from dbanon.api import missing_codes

        is_literal, value = parse_literal(missing_codes.quote_listed_numbers(text))
    alone = isinstance(kinds.get(name), (Integers, Floats))
    if is_literal and not (is_list and not alone and isinstance(value, (bool, int, float))):
        return name, value
    if not is_literal and (not text or text[0] in _LITERAL_STARTS):
        raise click.BadParameter(
            f"{text or 'nothing'} is not a SQL literal. Hint: -p {name}=text, or a literal in quotes for the shell, "
            f"such as -p \"{name}=['a', 'b']\".",
            param_hint=f"-p {name}",
        )
    if alone:
        elements = [(element.strip(), *parse_literal(element)) for element in text.split(",")]
        return name, [value if is_literal else element for element, is_literal, value in elements]
    return name, [element.strip() for element in text.split(",")] if is_list else text


# --- literals ----------------------------------------------------------------------------------------------------


def parse_literal(text: str) -> tuple[bool, Any]:
    """Return whether a text is a single SQL literal, and its value; (False, None) if it is not.

    DuckDB parses it in a connection of its own. Only constants, casts, lists, structs, maps and rows are evaluated.
    """
    import duckdb

    with duckdb.connect(config={"enable_external_access": "false"}) as scratch:
        try:
            query, empty = (
                json.loads(scratch.execute("SELECT json_serialize_sql(?)", [f"SELECT {expression}"]).fetchall()[0][0])
                for expression in (text, "NULL")
            )
            if not _is_constant_query(query, empty):
                return False, None
            return True, _python_value(scratch.execute(f"SELECT {text}").fetchall()[0][0])
        except duckdb.Error:
            return False, None


def _is_constant_query(query: dict[str, Any], empty: dict[str, Any]) -> bool:
    """Return whether a parsed statement is SELECT with one constant and nothing else; both arguments are changed.

    `empty` is the parsed statement `SELECT NULL`, from which the statement may differ only in that constant.
    """
    statements = query.get("statements", ())
    if len(statements) != 1:
        return False
    select_list = statements[0]["node"].pop("select_list", ())
    empty["statements"][0]["node"].pop("select_list")
    return len(select_list) == 1 and query == empty and all(map(_is_constant, _expression_nodes(select_list[0])))


def _expression_nodes(tree: object) -> Iterable[Mapping[str, Any]]:
    """Yield all nodes of a parsed expression, as DuckDB serializes it."""
    if isinstance(tree, Mapping):
        if "class" in tree:
            yield tree
        for value in tree.values():
            yield from _expression_nodes(value)
    elif isinstance(tree, list):
        for child in tree:
            yield from _expression_nodes(child)


def _is_constant(node: Mapping[str, Any]) -> bool:
    """Return whether a node of a parsed expression may be in a literal: a constant, cast, list, struct, map or row."""
    kind = node["class"]
    return kind in ("CONSTANT", "CAST", "TYPE") or (kind == "FUNCTION" and node.get("function_name") in _CONSTRUCTORS)


def _python_value(value: Any) -> Any:
    """Return a value of DuckDB as a parameter: decimals as float, lists and structs element by element, others as text.

    NULL, booleans, integers and floats are unchanged.
    """
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(k): _python_value(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_python_value(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
