"""How a message is read on the command line: `overwrite = True` is `--force` there, or whatever the command calls it.

Messages name an option as Python and SQL write it, `name = value`. What a command accepts is known to the command, so
nothing has to be told twice: its own option where it has one, else `-p name=value` where it takes parameters.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

_NAMED = re.compile(
    r"\b([a-z_]+) :?= ('(?:[^']|'')*'|\[[^\[\]]*\]|\{[^{}]*\}|[Tt]rue|[Ff]alse|-?\d+(?:\.\d+)?)", re.IGNORECASE
)
_OTHER = {"overwrite": "force", "parameters": "given"}
"""Options of a command that have another name in Python."""

_STATEMENTS = {
    "FROM policy_problems()": "dbanon policy",
    "FROM releases()": "dbanon releases",
    "FROM hierarchies()": "dbanon hierarchy list",
    "FROM hierarchy_problems()": "dbanon hierarchy check",
}
"""Statements that are commands."""


def spelled(message: str, context: click.Context | None) -> str:
    """Return the message as the user of a command writes it; unchanged outside of one."""
    if context is None:
        return message
    from dbanon.table_functions.registry import table_functions

    flags = {p.name: p for p in context.command.params if isinstance(p, click.Option) and p.name}
    parameters = {p.name for f in table_functions().values() for p in f.parameters}

    def option(match: re.Match[str]) -> str:
        name, value = match[1].lower(), match[2]
        if _OF_POLICY.search(message, 0, match.start()):
            return match[0]
        inside = message.count("(", 0, match.start()) - message.count(")", 0, match.start())
        if inside > 0 and not _prose(message, match.start()):
            return match[0]
        if name == "refresh" and "how" in flags and _text(value) not in flags:
            return _flag(flags["how"], value)
        found = flags.get(name) or flags.get(_OTHER.get(name, ""))
        if found is not None and found.name != "given":
            return _flag(found, value)
        if (word := flags.get(_text(value))) is not None and word.is_flag:  # refresh = 'recluster' is --recluster
            return str(word.opts[-1])
        if name in parameters and "given" in flags:
            return f"-p {shlex.quote(f'{name}={_plain(value)}')}"
        return match[0]

    made = _of_input(_NAMED.sub(option, message), context)
    database = context.params.get("database")
    if database is not None:
        for statement, command in _STATEMENTS.items():
            made = made.replace(statement, f"{command} {shlex.quote(str(database))}")
    return made


POLICY_FILE = "dbanon policy file"
"""Where the context of a command keeps the name of the file that is its policy."""

_OF_POLICY = re.compile(r"(?:is declared|asks for) $")
"""Before a setting of a policy, which is no option of the command."""

_INPUT = re.compile(r"""\"main\"\.\"input\"|(?<![\w./-])input(?=\.[\w"]|'| has )""")
"""The table that a command makes of what it reads, as messages name it."""


def _of_input(message: str, context: click.Context) -> str:
    """Return the message with the names that the user has given to the rows and to the policy."""
    name = context.params.get("table") or context.params.get("source")
    if name is not None and "policy" in context.params:
        shown = str(name) if context.params.get("table") else Path(str(name)).name
        message = _INPUT.sub(lambda _: "the lines" if shown == "-" else shown, message)
    file = context.meta.get(POLICY_FILE)
    if file is not None:
        message = message.replace("UPDATE dbanon.policy to change it", f"change it in {file}")
        message = message.replace("dbanon.policy", str(file))
    return message


def _prose(message: str, at: int) -> bool:
    """Whether the bracket that is open at a place belongs to the text, not to a call such as `kacpc('t', k = 10)`."""
    opened = message.rfind("(", 0, at)
    return opened == 0 or message[opened - 1] in " \n"


def _flag(option: click.Option, value: str) -> str:
    """Return an option with its value: `--force`, `--qi age --qi zip`."""
    name = str(max(option.opts, key=len))
    if option.is_flag:
        return name
    return " ".join(f"{name} {shlex.quote(one)}" for one in _each(value, option.multiple))


def _each(value: str, several: bool) -> Iterator[str]:
    if several and value.startswith("["):
        yield from (_text(item) for item in map(str.strip, value[1:-1].split(",")) if item != "...")
    else:
        yield _text(value)


def _plain(value: str) -> str:
    """Return a literal as -p takes it without quotes, where it has none that are needed: age,zip for ['age', 'zip']."""
    written = list(_each(value, several=value.startswith("[")))
    plain = written and all(one.isidentifier() and one.lower() not in ("true", "false", "null") for one in written)
    return ",".join(written) if plain else value


def _text(value: str) -> str:
    """What a literal says."""
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value
