"""The dot commands of the shell, and their descriptions in `.help`."""

import re
import shlex
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.cli.manual import function_page, metric_page
from dbanon.cli.shell.shell import Shell
from dbanon.cli.terminal.result_table import MODES, TABLE_LINES
from dbanon.cli.terminal.value_format import format_number, format_value
from dbanon.release.key_metrics import key_metric_positions, shorten_description
from dbanon.runtime import csv_formulas
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.table_functions.registry import table_functions

MAX_NESTED_SCRIPTS = 16
"""Most `.read` within each other."""


BORDERS_WIDTH = 10
"""Width of the borders and blanks of a table with three columns."""


@dataclass(frozen=True)
class DotCommandEntry:
    """A dot command of the shell.

    Attributes:
        name: Its name, with the dot.
        usage: How it is typed.
        doc: Its description in `.help`.
        run: Runs it with its arguments; returns False after an error that was written already.
        min_arguments: The least number of arguments.
        max_arguments: The greatest number of arguments.
    """

    name: str
    usage: str
    doc: str
    run: Callable[[Shell, list[str]], bool | None]
    min_arguments: int = 0
    max_arguments: int = 0
    takes_sql: bool = False
    """Whether what follows is SQL: one word, as it is typed."""


class LeaveShellError(Exception):
    """Raised by `.quit` to end the shell."""


def run_dot_command(shell: Shell, line: str) -> bool:
    """Run a line such as `.mode csv` and return whether it succeeded.

    Raises:
        UnknownCommandError: There is no such dot command.
        UnreadableCommandError: The line has unbalanced quotes or another number of arguments.
        LeaveShellError: The command is `.quit`.

    Also raises the errors of the command.
    """
    name, _, rest = line.strip().partition(" ")
    entry = COMMANDS.get(ALIASES.get(name, name))
    if entry is not None and entry.takes_sql:
        words = [rest.strip("; \t")] if rest.strip("; \t") else []
    else:
        try:
            name, *words = shlex.split(line.rstrip("; \t"), posix=True)
        except ValueError:
            raise errors.UnreadableCommandError(line, "each quote is closed") from None
        entry = COMMANDS.get(ALIASES.get(name, name))
    if entry is None:
        raise errors.UnknownCommandError(name, COMMANDS)
    if not entry.min_arguments <= len(words) <= entry.max_arguments:
        raise errors.UnreadableCommandError(line, entry.usage)
    return entry.run(shell, words) is not False


# --- settings --------------------------------------------------------------------------------------------


def _chosen_word(shell: Shell, command: str, words: list[str], accepted: Collection[str], setting: str) -> str | None:
    """Return the word that was typed, in lower case; without one, write the present setting and return None.

    Raises:
        UnreadableCommandError: The word is not accepted.
    """
    if not words:
        shell.say(setting)
        return None
    if words[0].lower() not in accepted:
        raise errors.UnreadableCommandError(f"{command} {words[0]}", COMMANDS[command].usage)
    return words[0].lower()


def _mode(shell: Shell, words: list[str]) -> None:
    """Set the format of results, or write the present one.

    Raises:
        UnreadableCommandError: There is no such format.
    """
    setting = f"The mode is {shell.mode}. Accepted: {', '.join(MODES)}."
    shell.mode = _chosen_word(shell, ".mode", words, MODES, setting) or shell.mode


def _csv_formulas(shell: Shell, words: list[str]) -> None:
    """Set whether formulas in CSV are escaped or kept, or write the present setting.

    Raises:
        UnreadableCommandError: The word is neither "escape" nor "keep".
    """
    setting = f"Formulas in CSV: {shell.csv_formulas}."
    shell.csv_formulas = (
        _chosen_word(shell, ".csv_formulas", words, csv_formulas.CHOICES, setting) or shell.csv_formulas
    )


def _timer(shell: Shell, words: list[str]) -> None:
    """Switch the time after each statement on or off, or write the present setting.

    Raises:
        UnreadableCommandError: The word is neither "on" nor "off".
    """
    present_word = "on" if shell.timer else "off"
    chosen_word = _chosen_word(shell, ".timer", words, ("on", "off"), f"The timer is {present_word}.")
    shell.timer = (chosen_word or present_word) == "on"


def _rows(shell: Shell, words: list[str]) -> None:
    """Set the maximum number of rows of a table: a number, "all", or "auto" (as many as fit); or write the present one.

    Raises:
        UnreadableCommandError: The word is none of these.
    """
    word = words[0].lower() if words else ""
    if not words:
        limit = shell.page.max_rows(TABLE_LINES)
        shell.say(f"{'All rows are' if limit is None else f'At most {limit:,} rows are'} shown.")
    elif word in ("all", "auto"):
        shell.rows, shell.all_rows = None, word == "all"
    elif word.isdecimal() and int(word) > 0:
        shell.rows, shell.all_rows = int(word), False
    else:
        raise errors.UnreadableCommandError(f".rows {words[0]}", COMMANDS[".rows"].usage)


# --- what there is ---------------------------------------------------------------------------------------


def _tables(shell: Shell, words: list[str]) -> None:
    """Write the tables and views, or those whose name contains a word, with kind, columns and estimated rows.

    The number of rows of views is NULL.
    """
    shell.show(
        qualify_builtins("""
        SELECT
            CASE
                WHEN database_name NOT IN (current_database(), 'temp') THEN database_name || '.' || schema_name || '.'
                WHEN schema_name <> current_schema() AND database_name <> 'temp' THEN schema_name || '.'
                ELSE ''
            END || name AS name,
            CASE WHEN database_name = 'temp' THEN 'temporary ' ELSE '' END || kind AS kind,
            columns,
            rows
        FROM (
            SELECT database_name, schema_name, table_name AS name, 'table' AS kind, column_count AS columns,
                estimated_size AS rows
            FROM duckdb_tables()
            WHERE NOT internal
            UNION ALL
            SELECT database_name, schema_name, view_name, 'view', column_count, NULL
            FROM duckdb_views()
            WHERE NOT internal
        )
        WHERE contains(lower(name), lower($1))
        ORDER BY schema_name <> current_schema() ASC, database_name ASC, schema_name ASC, 1 ASC
        """),
        [words[0] if words else ""],
    )


def _schema(shell: Shell, words: list[str]) -> None:
    """Write the CREATE statements of the tables and views with the given name, or of all outside the schema dbanon.

    The name may have a schema and a database; case is ignored.

    Raises:
        UnreadableCommandError: No table or view has the name.
    """
    rows = shell.query(
        qualify_builtins("""
        SELECT sql
        FROM (
            SELECT database_name, schema_name, table_name AS name, sql FROM duckdb_tables() WHERE NOT internal
            UNION ALL
            SELECT database_name, schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal
        )
        WHERE CASE
            WHEN $1 = '' THEN schema_name <> 'dbanon'
            ELSE lower($1) IN (
                lower(name), lower(schema_name || '.' || name), lower(concat_ws('.', database_name, schema_name, name))
            )
        END
        ORDER BY database_name ASC, schema_name ASC, name ASC
        """),
        [words[0] if words else ""],
    )
    if words and not rows:
        raise errors.UnreadableCommandError(f".schema {words[0]}", ".schema [NAME], where .tables lists the names")
    shell.code("\n".join(_format_create_table(str(sql)) for (sql,) in rows))


def _format_create_table(sql: str) -> str:
    """Return a CREATE TABLE statement with one column per line; other statements are returned unchanged."""
    from dbanon.sqltext.tokenizer import tokens

    if not sql.upper().startswith(("CREATE TABLE", "CREATE TEMP TABLE")):
        return sql
    depth, formatted, position = 0, "", 0
    for token in tokens(sql):
        if token.text in "([{":
            depth += 1
            if depth == 1:
                formatted, position = formatted + sql[position : token.start] + "(\n    ", token.end
        elif token.text in ")]}":
            depth -= 1
            if depth == 0:
                formatted, position = formatted + sql[position : token.start] + "\n)", token.end
        elif token.text == "," and depth == 1:
            formatted, position = formatted + sql[position : token.start].strip(" ") + ",\n    ", token.end
            while sql[position : position + 1] == " ":
                position += 1
    return formatted + sql[position:]


def _help(shell: Shell, words: list[str]) -> None:
    """Write the manual's page of a function, metric or dot command, or without a word the list of dot commands.

    `functions` instead of a name writes the list of all functions.

    Raises:
        UnknownCommandError: There is nothing of that name.
    """
    if words and words[0].lower() == "functions":
        shell.print(_definition_list(_function_groups()))
    elif words and words[0].lower() not in function_page.function_names():
        name = ALIASES.get(words[0], words[0])
        entry = COMMANDS.get(name if name.startswith(".") else f".{name}")
        measures = metric_page.page() if words[0].lower() == "metrics" else metric_page.metric_section(words[0])
        if measures is not None:
            _page(shell, measures)
        elif entry is not None:
            shell.say(f"{entry.usage}\n    {entry.doc}")
        else:
            raise errors.UnknownCommandError(
                words[0], [*COMMANDS, *function_page.function_names(), *metric_page.metric_names()]
            )
    elif words:
        _page(shell, function_page.page(words[0].lower(), alone=True))
    else:
        shell.print(_definition_list((c.usage, c.doc) for c in COMMANDS.values()))
        shell.say(
            "\nStatements end with a semicolon. Tab completes, Ctrl-R searches the history, Ctrl-C stops a statement. "
            "A line that starts with a blank is not stored in the history.\n.help functions lists all functions, "
            ".help metrics all metrics, .help best shows the page of best."
        )


def _definition_list(entries: Iterable[tuple[str, str]]) -> Table:
    """Return (term, text) as a table without borders, whose texts are wrapped and aligned next to the terms."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(overflow="fold", min_width=12)
    grid.add_column(overflow="fold")
    for term, words in entries:
        grid.add_row(Text(term, style="bold"), Text(words))
    return grid


def _function_groups() -> list[tuple[str, str]]:
    """Return the titles of groups of functions, with the names of the functions, without `_classes` and `_metrics`."""
    names = [name for name in function_page.function_names() if not _is_variant(name)]
    stream_names = {system.name for system in streams.streams()}
    publishing = [name for name in names if (f := table_functions().get(name)) is not None and f.kind == "release"]
    reading = [name for name in names if name in function_page.SCALARS]
    listed_names = {*stream_names, *publishing, *reading}
    return [
        ("releases", ", ".join(publishing)),
        ("streams", ", ".join(sorted(stream_names))),
        ("data, policy, audits", ", ".join(name for name in names if name not in listed_names)),
        ("published values", ", ".join(reading)),
        ("", "Releases and streams have two more functions each, such as best_classes and best_metrics."),
    ]


def _page(shell: Shell, text: str) -> None:
    """Write a text in Markdown."""
    from dbanon.cli.shell.markdown_page import MarkdownPage  # imports pygments, which only a page needs

    shell.print(MarkdownPage(text))


def _is_variant(name: str) -> bool:
    """Return whether a function returns the classes or the metrics of a release or stream, rather than its rows."""
    base, _, ending = name.rpartition("_")
    return ending in ("classes", "metrics") and base in table_functions()


def _plan(shell: Shell, words: list[str]) -> None:
    """Write the SQL of the table functions in a statement, with comments, or the chapter that the first word names.

    Raises:
        UnreadableCommandError: There is no statement.
        DbanonError: `explain` raises it.
    """
    from dbanon.api.explain import explain

    first_word, *rest = words[0].rstrip("; \n").split(maxsplit=1)
    if not rest and first_word.isalpha():
        raise errors.UnreadableCommandError(
            f".plan {first_word}", f".plan {first_word} SELECT ..., or .plan SELECT ..."
        )
    if rest and re.match(r"(FROM|SELECT|WITH)\b", rest[0], re.IGNORECASE) and first_word.isalpha():
        shell.code(explain(shell.connection, rest[0], chapter=first_word.lower()))
    else:
        shell.code(explain(shell.connection, words[0]))


def _metrics(shell: Shell, words: list[str]) -> None:
    """Write the key metrics of a call such as `best('patients', k=10)`, or of a stored release.

    If the output is a terminal, also write how many other metrics there are, and the query that returns all.

    Args:
        shell: The shell.
        words: One text: the call or the name of the release.

    Raises:
        UnreadableCommandError: The text is neither the call of a function that publishes nor a name.
    """
    match = _METRICS_ARGUMENT.fullmatch(words[0])
    name, arguments = (match["name"], match["arguments"] or "") if match else ("", "")
    function = table_functions().get(name.lower()) if arguments else None
    if match is None or (arguments and (function is None or function.kind not in ("release", "classes", "metrics"))):
        raise errors.UnreadableCommandError(
            f".metrics {words[0]}", ".metrics best('patients', k=10), or a release's name"
        )
    quote = '"' if name.endswith('"') else ""
    function_name = name.removesuffix(quote).removesuffix("_classes").removesuffix("_metrics")
    query = f"FROM {function_name}_metrics{quote}{arguments}"
    names, types, rows = shell.rows_of(f"SELECT metric, value, description {query}")
    key_metrics = [rows[i] for i in key_metric_positions([str(row[0]) for row in rows])]
    if shell.mode == "table" and shell.watched:
        name_width = max((len(str(row[0])) for row in key_metrics), default=0)
        value_width = max((len(format_value(row[1], format_number)) for row in key_metrics), default=0)
        room = max(shell.console.width - name_width - max(value_width, len("double")) - BORDERS_WIDTH, 20)
        key_metrics = [
            (metric, value, shorten_description(str(description), room)) for metric, value, description in key_metrics
        ]
    shell.write(names, types, key_metrics)
    if shell.watched:
        shell.say(f"{len(rows) - len(key_metrics)} more: {query};")


_METRICS_ARGUMENT = re.compile(
    r"""(?:select\s+\*\s+)?(?:from\s+)?(?P<name>(?:[\w.]|"(?:[^"]|"")+")+)\s*(?P<arguments>\(.*\))?""",
    re.IGNORECASE | re.DOTALL,
)
"""A call of a function that publishes, or the name of a release."""


# --- the rest --------------------------------------------------------------------------------------------


def _read(shell: Shell, words: list[str]) -> bool:
    """Run a script file and return whether all its statements succeeded.

    Raises:
        UnreadableCommandError: Scripts that run scripts are nested too deeply.
        UnreadableScriptError: The file cannot be read.
    """
    if shell.reading >= MAX_NESTED_SCRIPTS:
        raise errors.UnreadableCommandError(
            f".read {words[0]}", f"files do not read each other more than {MAX_NESTED_SCRIPTS} deep"
        )
    path = Path(words[0]).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise errors.UnreadableScriptError(str(path), why) from None
    shell.reading += 1
    try:
        return shell.script(text.splitlines(keepends=True))
    finally:
        shell.reading -= 1


def _quit(shell: Shell, words: list[str]) -> None:
    """Raise LeaveShellError, which ends the shell."""
    raise LeaveShellError


COMMANDS = {
    c.name: c
    for c in (
        DotCommandEntry(
            ".help",
            ".help [functions|NAME]",
            "Show this list, or explain a function, command or metric.",
            _help,
            0,
            1,
        ),
        DotCommandEntry(
            ".metrics",
            ".metrics FUNCTION(...)|RELEASE",
            "Show the eight most important metrics.",
            _metrics,
            1,
            1,
            takes_sql=True,
        ),
        DotCommandEntry(
            ".csv_formulas",
            f".csv_formulas {'|'.join(csv_formulas.CHOICES)}",
            "Escape or keep text that a spreadsheet would execute.",
            _csv_formulas,
            0,
            1,
        ),
        DotCommandEntry(".mode", f".mode {'|'.join(MODES)}", "Set the format of results.", _mode, 0, 1),
        DotCommandEntry(
            ".plan",
            ".plan [CHAPTER] SELECT ...",
            "Show the commented SQL of a statement, or one chapter.",
            _plan,
            1,
            1,
            takes_sql=True,
        ),
        DotCommandEntry(".quit", ".quit", "Exit the shell (Ctrl-D).", _quit),
        DotCommandEntry(".read", ".read FILE", "Run a file, until the first error.", _read, 1, 1),
        DotCommandEntry(".rows", ".rows auto|N|all", "Limit the rows of a result; auto: as many as fit.", _rows, 0, 1),
        DotCommandEntry(
            ".schema", ".schema [NAME]", "Show CREATE statements of one or all tables and views.", _schema, 0, 1
        ),
        DotCommandEntry(
            ".tables", ".tables [PART]", "List tables and views (whose name contains PART).", _tables, 0, 1
        ),
        DotCommandEntry(".timer", ".timer on|off", "Show the time of each statement.", _timer, 0, 1),
    )
}
"""All dot commands by name."""

ALIASES = {".exit": ".quit", ".q": ".quit", ".h": ".help", ".?": ".help"}
