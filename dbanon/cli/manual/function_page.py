"""The manual's page of one function, as Markdown: `dbanon docs` and `.help` in the shell print it."""

from collections.abc import Iterable

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


def function_names() -> list[str]:
    """Return the names of all functions that have a page: table functions, then scalar functions."""
    return [*table_functions(), *SCALARS]


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
    """Return the page of a table function or a scalar function as Markdown.

    `alone`: whether to include the parameters that every algorithm has, which otherwise have a page of their own.

    Raises:
        KeyError: There is no function of that name.
    """
    parts = _scalar(SCALARS[name]) if name in SCALARS else _table(table_functions()[name], alone)
    return "\n\n".join([f"# {name}", *parts]) + "\n"


def escape_markdown(words: str) -> str:
    """Return text that Markdown displays unchanged, also in a cell of a table."""
    return words.replace("|", "\\|").replace("*", "\\*")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table, given its header and its rows, whose cells are Markdown already."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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


def link(name: str) -> str:
    """Return a Markdown link to the page of the function `name`, for the page of another function."""
    return f"[{name}]({name}.md)"


# --- the parts of a page -----------------------------------------------------------------------------------


def _table(function: TableFunction, alone: bool) -> list[str]:
    """Return the parts of a table function's page below its heading.

    `alone`: whether to include the parameters that every algorithm has.
    """
    parts = [f"```\n{signature(function)}\n```", escape_markdown(function.doc)]
    parts += _parameters(function, alone)
    parts += _example(function.example)
    if function.algorithm:
        parts += ["## Algorithm", *_algorithm(find(function.algorithm))]
    if function.stream_algorithm:
        parts += ["## Stream algorithm", *_system(find_stream(function.stream_algorithm))]
    siblings = _siblings(function)
    if siblings:
        parts += ["## See also", ", ".join(map(link, siblings)) + ", [metrics](../metrics.md), [errors](../errors.md)"]
    else:
        parts.append("[All functions](../index.md), [errors](../errors.md)")
    return parts


def _parameters(function: TableFunction, alone: bool) -> list[str]:
    """Return the parts of a page about parameters: the function's own, then those that every algorithm has.

    Unless `alone`, only a link to the parameters of every algorithm is given. A function of no algorithm has only its
    own parameters, or no parts if it has none.
    """
    if not function.kind:
        return ["## Parameters", _rows(function.parameters)] if function.parameters else []
    own_parameters = [p for p in function.parameters if p.required or p not in _COMMON_PARAMETERS]
    rest = [p for p in function.parameters if p not in own_parameters]
    others = (
        [f"## {_COMMON_TITLE}", _rows(rest)]
        if alone
        else ["The function also accepts the [parameters of every algorithm](../parameters.md)."]
    )
    return ["## Parameters", _rows(own_parameters), *others]


def common_parameters_page() -> str:
    """Return the page of the parameters that every algorithm has as Markdown."""
    parts = [
        f"# {_COMMON_TITLE}",
        "All functions of all algorithms accept these parameters, with `:=` or `=`, in any order. If an algorithm "
        "has another default, the pages of its functions state it.",
        _rows(_COMMON_PARAMETERS),
        "[All functions](index.md), [errors](errors.md)",
    ]
    return "\n\n".join(parts) + "\n"


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


def _algorithm(algorithm: Algorithm) -> list[str]:
    """Return what an algorithm does, and a table of its title, family, source, evidence, complexity and randomness."""
    return [
        *([escape_markdown(algorithm.summary)] if algorithm.summary else []),
        table(
            ("", ""),
            (
                ("name", escape_markdown(algorithm.title)),
                ("family", escape_markdown(algorithm.family)),
                ("source", escape_markdown(algorithm.source)),
                ("evidence", escape_markdown(algorithm.evidence_text)),
                ("complexity", escape_markdown(algorithm.complexity)),
                ("random", "no" if algorithm.deterministic else "from a seed; the same seed gives the same release"),
            ),
        ),
    ]


def _system(system: StreamAlgorithm) -> list[str]:
    """Return a table about a stream algorithm: title, source, evidence and complexity."""
    return [
        table(
            ("", ""),
            (
                ("name", escape_markdown(system.title)),
                ("source", escape_markdown(system.source)),
                ("evidence", escape_markdown(system.evidence_text)),
                ("complexity", escape_markdown(system.complexity)),
            ),
        )
    ]


def _siblings(function: TableFunction) -> list[str]:
    """Return the other two of the functions NAME, NAME_classes and NAME_metrics of an algorithm or stream algorithm.

    Empty for a function that belongs to no algorithm.
    """
    if function.stream_algorithm:
        return [
            name for name in (function.stream_algorithm + ending for ending in KIND_BY_ENDING) if name != function.name
        ]
    own_ending = next((ending for ending, kind in KIND_BY_ENDING.items() if kind == function.kind), None)
    if own_ending is None:
        return []
    base = function.name.removesuffix(own_ending)
    return [base + ending for ending in KIND_BY_ENDING if ending != own_ending]


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
