"""Rewrite messages for the command line: `overwrite = True` becomes `--replace`, or the option of that command.

Messages name an option as Python and SQL write it, `name = value`. A command knows its own options: the name is
replaced by its option if it has one, otherwise by `-p name=value` if it takes parameters.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

_NAMED_OPTION = re.compile(
    r"\b([a-z_]+) :?= ('(?:[^']|'')*'|\[[^\[\]]*\]|\{[^{}]*\}|[Tt]rue|[Ff]alse|-?\d+(?:\.\d+)?)", re.IGNORECASE
)
_OTHER_NAMES = {"into": "output", "overwrite": "replace", "parameters": "given", "to": "output"}
"""Options of a command that have another name in Python."""

_STATEMENTS = {
    "FROM policy_problems()": "dbanon policy",
    "FROM releases()": "dbanon releases",
    "FROM hierarchies()": "dbanon hierarchy list",
    "FROM hierarchy_problems()": "dbanon hierarchy check",
}
"""Statements that are commands."""

_DROP_AND_FORGET = re.compile(r"DROP MATERIALIZED ANONYMIZED VIEW (\S+) and dbanon\.forget_release\(con, '.*?'\)")
"""What `dbanon drop DATABASE NAME --forget` does."""


def with_option_names(message: str, context: click.Context | None) -> str:
    """Return a message in which `name = value` is replaced by the option of the command that has this effect.

    Also replaced are the statements in _STATEMENTS, by commands, if the command has an argument DATABASE, and the
    internal names of the input and of the policy. Text within a call such as `kacpc('t', k = 10)` stays. Without a
    command (`context` is None) the message is returned unchanged.
    """
    if context is None:
        return message
    from dbanon.table_functions.registry import table_functions

    flags = {p.name: p for p in context.command.params if isinstance(p, click.Option) and p.name}
    parameters = {p.name for f in table_functions().values() for p in f.parameters}

    def option(match: re.Match[str]) -> str:
        """Return the option that replaces a match; the matched text if the command has no such option."""
        name, value = match[1].lower(), match[2]
        if _POLICY_PHRASE.search(message, 0, match.start()):
            return match[0]
        inside = message.count("(", 0, match.start()) - message.count(")", 0, match.start())
        if inside > 0 and not _is_prose_bracket(message, match.start()):
            return match[0]
        flag = flags.get(name) or flags.get(_OTHER_NAMES.get(name, ""))
        if flag is not None and flag.name != "given":
            return _option_text(flag, value)
        if name in parameters and "given" in flags:
            return f"-p {shlex.quote(f'{name}={_unquoted(value)}')}"
        return match[0]

    rewritten = _with_input_names(_NAMED_OPTION.sub(option, message), context)
    database = context.params.get("database") or context.params.get("source")
    if isinstance(database, Path):
        rewritten = _DROP_AND_FORGET.sub(
            lambda match: f"dbanon drop {shlex.quote(str(database))} {shlex.quote(match[1])} --forget", rewritten
        )
        for statement, command in _STATEMENTS.items():
            rewritten = rewritten.replace(statement, f"{command} {shlex.quote(str(database))}")
    return rewritten


POLICY_FILE = "dbanon policy file"
"""Where the context of a command keeps the name of the file that is its policy."""

_POLICY_PHRASE = re.compile(r"(?:is declared|asks for) $")
"""Before a setting of a policy, which is no option of the command."""

_INPUT_NAME = re.compile(
    r"""\"main\"\.\"input\"|(?<![\w./-])input(?=\.[\w"]|'| has )|(?<=is declared for )input(?=\. )"""
)
"""The table that a command makes of what it reads, as messages name it."""


_DECLARE_IN_DATABASE = re.compile(
    r"declare its policy, INSERT INTO .*? proposes a policy\); or name the columns in the call, (.*?)\.?$", re.DOTALL
)
"""A hint for a table of a database: to declare the policy there, or name the columns."""


def _with_input_names(message: str, context: click.Context) -> str:
    """Return a message with the user's names in place of the table `input` and of `dbanon.policy`.

    The first becomes the file (or "the lines" for standard input) or table that the command reads; the second the
    policy file of --policy.
    """
    name = context.params.get("table") or context.params.get("source")
    if name is not None and "policy" in context.params:
        input_name = str(name) if context.params.get("table") else Path(str(name)).name
        message = _INPUT_NAME.sub(lambda _: "the lines" if input_name == "-" else input_name, message)
        if not context.params.get("table") and input_name != "-":
            file_name = shlex.quote(str(name))
            message = _DECLARE_IN_DATABASE.sub(
                lambda match: f"name the columns, {match[1]}, or see what dbanon init {file_name} proposes.", message
            )
    file = context.meta.get(POLICY_FILE)
    if file is not None:
        message = message.replace("UPDATE dbanon.policy to change it", f"change it in {file}")
        message = message.replace("dbanon.policy", str(file))
    return message


def _is_prose_bracket(message: str, position: int) -> bool:
    """Return whether the bracket that is open at a position belongs to a sentence, not to a call.

    The bracket of a call follows its name directly, as in `f(k = 10)`.
    """
    bracket = message.rfind("(", 0, position)
    return bracket == 0 or message[bracket - 1] in " \n"


def _option_text(option: click.Option, value: str) -> str:
    """Return an option with its value as it is typed, quoted for the shell: `--replace`, `--qi age --qi zip`."""
    name = str(max(option.opts, key=len))
    if option.is_flag:
        return name
    return " ".join(f"{name} {shlex.quote(one)}" for one in _split_values(value, option.multiple))


def _split_values(value: str, several: bool) -> Iterator[str]:
    """Yield the text of a literal; if `several`, the texts of the elements of a list, without `...`."""
    if several and value.startswith("["):
        yield from (_literal_text(element) for element in map(str.strip, value[1:-1].split(",")) if element != "...")
    else:
        yield _literal_text(value)


def _unquoted(value: str) -> str:
    """Return a SQL literal as -p accepts it without quotes, such as age,zip for ['age', 'zip'].

    Returns the literal unchanged if an element is no plain name, or is true, false or null.
    """
    values = list(_split_values(value, several=value.startswith("[")))
    needs_no_quotes = values and all(
        one.isidentifier() and one.lower() not in ("true", "false", "null") for one in values
    )
    return ",".join(values) if needs_no_quotes else value


def _literal_text(value: str) -> str:
    """Return the value of a literal as text; a text that is no literal is returned unchanged."""
    try:
        return str(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value
