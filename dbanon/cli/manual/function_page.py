"""The manual's page of one function, as Markdown: `dbanon docs` and `.help` in the shell print it."""

import tomllib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from dbanon.algorithms import find
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.base.registry import Algorithm
from dbanon.algorithms.streams import StreamAlgorithm, find as find_stream
from dbanon.errors.example import Example
from dbanon.release.spec.related_parameters import RELATED_PARAMETERS
from dbanon.table_functions import scalar_functions
from dbanon.table_functions.parameters import Parameter, format_value
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import KIND_BY_ENDING, TableFunction

_COMMON_TITLE = "Parameters of every algorithm"
_COMMON_PARAMETERS = (*COMMON, *RELATED_PARAMETERS)

SCALARS = {f.name: f for f in scalar_functions.FUNCTIONS}
"""The scalar functions by name."""

OUTPUTS_FILE = Path(__file__).with_name("example_outputs.toml")
"""The recorded results of examples; `python -m tests.support.example_outputs` runs them and writes it."""


def function_names() -> list[str]:
    """Return the names of all functions that have a page: table functions, then scalar functions."""
    return [*table_functions(), *SCALARS]


def page_name(name: str) -> str:
    """Return the name of the function whose page describes a function.

    The functions NAME, NAME_classes and NAME_metrics of an algorithm share the page NAME; others have their own.
    """
    function = table_functions().get(name)
    return name if function is None else _family(function)[0].name


def page_names() -> list[str]:
    """Return the names of all pages about functions: table functions, then scalar functions."""
    return list(dict.fromkeys(map(page_name, function_names())))


def signature(function: TableFunction, max_parameters: int = 6) -> str:
    """Return the call of a function with the names of its parameters; optional ones are in brackets.

    Of more than `max_parameters` optional parameters, the rest is `...`.

    >>> signature(table_functions()["hierarchy_intervals"])
    'hierarchy_intervals(name, tbl, col, widths)'
    """
    must = [p.name for p in function.parameters if p.required]
    may = [p.name for p in function.parameters if not p.required]
    shown_names = [*function.positional, *must]
    optional = ", ".join([*may[:max_parameters], *(["..."] if len(may) > max_parameters else [])])
    if optional:
        shown_names.append((shown_names.pop() + " [, " if shown_names else "[") + optional + "]")
    return f"{function.name}({', '.join(shown_names)})"


def page(name: str, *, alone: bool = False) -> str:
    """Return the page that describes a table function or a scalar function, as Markdown.

    `alone`: whether to include the parameters that every algorithm has, which otherwise have a page of their own.

    Raises:
        KeyError: There is no function of that name.
    """
    if name in SCALARS:
        parts = _scalar(SCALARS[name])
    elif len(family := _family(table_functions()[name])) > 1:
        parts = _algorithm_functions(family, alone)
    else:
        parts = _table(family[0], alone)
    return join_parts(f"# {page_name(name)}", *parts)


def escape_markdown(words: str) -> str:
    """Return text that Markdown displays unchanged, also in a cell of a table."""
    return words.replace("|", "\\|").replace("*", "\\*")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table, given its header and its rows, whose cells are Markdown already."""
    head = list(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def join_parts(*parts: str) -> str:
    """Return the parts of a page, which are Markdown, as one text with an empty line between them."""
    return "\n\n".join(parts) + "\n"


def example_block(example: Example) -> str:
    """Return an example as a fenced block of Markdown, with the statements that must run before it.

    If the example is not SQL, these have a block of their own.
    """
    setup = "\n".join(example.setup)
    if example.language == "sql" or not setup:
        return _fenced(example.language, "\n".join([*example.setup, example.code]))
    return f"{_fenced('sql', setup)}\n\n{_fenced(example.language, example.code)}"


def _fenced(language: str, code: str) -> str:
    """Return code in a fenced block of Markdown."""
    return f"```{language}\n{code}\n```"


@cache
def example_outputs() -> dict[str, list[list[str]]]:
    """Return the recorded results of the examples of algorithms by function: the header, then the rows."""
    return tomllib.loads(OUTPUTS_FILE.read_text(encoding="utf-8"))


# --- the parts of a page -----------------------------------------------------------------------------------


def _table(function: TableFunction, alone: bool) -> list[str]:
    """Return the parts of a table function's page below its heading.

    `alone`: whether to include the parameters that every algorithm has.
    """
    return [
        f"```\n{signature(function)}\n```",
        escape_markdown(function.doc),
        *_parameters(function, alone),
        *_example(function.example),
        "[All functions](../index.md), [errors](../errors.md)",
    ]


def _algorithm_functions(family: tuple[TableFunction, ...], alone: bool) -> list[str]:
    """Return the parts of the page of an algorithm below its heading: its three functions, one example with output.

    `alone`: whether to include the parameters that every algorithm has.
    """
    function = family[0]
    algorithm = find(function.algorithm) if function.algorithm else None
    stream = find_stream(function.stream_algorithm) if function.stream_algorithm else None
    title = next((one.title for one in (algorithm, stream) if one is not None), "")
    docs = [one.doc.removeprefix(f"{title}. ") for one in family]
    parts = [f"{escape_markdown(title)}."] if title else []
    parts.append(
        table(
            ("function", "returns"),
            ((f"`{signature(one, 0)}`", escape_markdown(doc)) for one, doc in zip(family, docs, strict=True)),
        )
    )
    parts += _parameters(_with_all_parameters(family), alone)
    parts += _example(function.example)
    if output := example_outputs().get(function.name):
        parts.append(table(map(escape_markdown, output[0]), (map(escape_markdown, row) for row in output[1:])))
    parts.append("The classes and the metrics of the same release:")
    parts.append(_fenced("sql", "\n".join(one.example.code for one in family[1:])))
    registered_algorithm = algorithm or stream
    if registered_algorithm is not None:
        parts += ["## Algorithm", *_algorithm(registered_algorithm)]
    parts.append("[All functions](../index.md), [metrics](../metrics.md), [errors](../errors.md)")
    return parts


def _with_all_parameters(family: tuple[TableFunction, ...]) -> TableFunction:
    """Return the first function with the parameters of all; those that it lacks say whose they are."""
    parameters = list(family[0].parameters)
    for function in family[1:]:
        known_names = {parameter.name for parameter in parameters}
        parameters += [
            replace(parameter, doc=f"{parameter.doc} Only of `{function.name}`.")
            for parameter in function.parameters
            if parameter.name not in known_names
        ]
    return replace(family[0], parameters=tuple(parameters))


def _parameters(function: TableFunction, alone: bool) -> list[str]:
    """Return the parts of a page about parameters: the function's own, then those that every algorithm has.

    Unless `alone`, only a link to the parameters of every algorithm is given. A function of no algorithm has only its
    own parameters, or no parts if it has none.
    """
    if not function.kind:
        return ["## Parameters", _rows(function.parameters)] if function.parameters else []
    own_parameters = [p for p in function.parameters if p.required or p not in _COMMON_PARAMETERS]
    others = (
        [f"## {_COMMON_TITLE}", _rows([p for p in function.parameters if p not in own_parameters])]
        if alone
        else ["The function also accepts the [parameters of every algorithm](../parameters.md)."]
    )
    return ["## Parameters", _rows(own_parameters), *others]


def common_parameters_page() -> str:
    """Return the page of the parameters that every algorithm has as Markdown."""
    return join_parts(
        f"# {_COMMON_TITLE}",
        "All functions of all algorithms accept these parameters, with `:=` or `=`, in any order. If an algorithm "
        "has another default, the pages of its functions state it.",
        _rows(_COMMON_PARAMETERS),
        "[All functions](index.md), [errors](errors.md)",
    )


def _rows(parameters: Iterable[Parameter]) -> str:
    """Return a Markdown table of parameters with the columns parameter, accepts, default and meaning."""
    return table(("parameter", "accepts", "default", "meaning"), map(_row, parameters))


def _example(example: Example) -> list[str]:
    """Return the heading and the block of an example."""
    return ["## Example", example_block(example)]


def _row(parameter: Parameter) -> tuple[str, ...]:
    """Return the row of a parameter: name, accepted values, default, meaning."""
    default = parameter.default
    default_text = (
        "" if default is None else f"`{format_value(list(default) if isinstance(default, tuple) else default)}`"
    )
    return (
        f"`{parameter.name}`",
        escape_markdown(str(parameter.kind)),
        "required" if parameter.required else default_text,
        escape_markdown(parameter.doc),
    )


def _algorithm(algorithm: Algorithm | StreamAlgorithm) -> list[str]:
    """Return a table of an algorithm's title, source, evidence and complexity.

    If it is one for tables, the table has its family and randomness, too, and the text what it does before the table.
    """
    rows = [
        ("source", escape_markdown(algorithm.source)),
        ("evidence", escape_markdown(algorithm.evidence_text)),
        ("complexity", escape_markdown(algorithm.complexity)),
    ]
    summary = []
    if isinstance(algorithm, Algorithm):
        randomness = "no" if algorithm.deterministic else "from a seed; the same seed gives the same release"
        rows = [("family", escape_markdown(algorithm.family)), *rows, ("random", randomness)]
        summary = [escape_markdown(algorithm.summary)] if algorithm.summary else []
    return [*summary, table(("name", escape_markdown(algorithm.title)), rows)]


def _family(function: TableFunction) -> tuple[TableFunction, ...]:
    """Return the functions NAME, NAME_classes and NAME_metrics that a function belongs to.

    It is only the function itself if it is none of an algorithm or of a stream algorithm.
    """
    ending = next((e for e in KIND_BY_ENDING if e and function.name.endswith(e)), "")
    is_of_algorithm = function.stream_algorithm is not None or function.kind == KIND_BY_ENDING[ending]
    if not is_of_algorithm:
        return (function,)
    base = function.name.removesuffix(ending)
    return tuple(table_functions()[base + one] for one in KIND_BY_ENDING)


def _scalar(function: scalar_functions.ScalarFunction) -> list[str]:
    """Return the parts of a scalar function's page below its heading."""
    forms = "\n".join(
        f"{function.name}({', '.join(form.arguments)}) -> {function.returns}" for form in function.overloads
    )
    return [
        f"```\n{forms}\n```",
        escape_markdown(function.doc),
        *_example(function.example),
        "[All functions](../index.md)",
    ]
