"""The prompt of the shell: history, completion, highlighting, multi-line input; uses prompt_toolkit and pygments."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, completion_is_selected, has_completions, is_done
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style
from pygments.lexers.sql import PostgresLexer
from pygments.token import Name, _TokenType

from dbanon.cli.shell.catalog_cache import Catalog
from dbanon.cli.shell.completion import completions
from dbanon.cli.shell.script import is_blank, split_statements
from dbanon.table_functions.registry import table_functions

STYLE = Style.from_dict(
    {
        "pygments.keyword": "bold ansiblue",
        "pygments.literal.string": "ansigreen",
        "pygments.literal.number": "ansimagenta",
        "pygments.comment": "italic ansibrightblack",
        "pygments.name.function": "bold ansicyan",
        "prompt": "bold",
        "continuation": "ansibrightblack",
    }
)

MAX_MENU_LINES = 8
"""Most lines below the input that are reserved for the menu of completions."""


class Lexer(PostgresLexer):
    """A SQL lexer that highlights dbanon's functions."""

    def get_tokens_unprocessed(self, text: str, *arguments: Any) -> Iterator[tuple[int, _TokenType, str]]:
        """Yield position, type and text of every token; names of dbanon's functions have the type Name.Function."""
        functions = table_functions()
        for position, kind, value in super().get_tokens_unprocessed(text, *arguments):
            yield position, Name.Function if kind in Name and value.lower() in functions else kind, value


class SqlCompleter(Completer):
    """A completer for prompt_toolkit that offers what `completions` finds, and paths after `.read`."""

    def __init__(self, current_catalog: Callable[[], Catalog]) -> None:
        """Store the function that returns the names for completion."""
        self._current_catalog = current_catalog
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the completions at the cursor of a document; after `.read ` these are paths of files."""
        text_before, text_after = document.text_before_cursor, document.text_after_cursor
        if text_before.startswith(".read "):
            yield from self._paths.get_completions(Document(text_before.removeprefix(".read ")), complete_event)
            return
        for completion in completions(
            text_before, text_after, self._current_catalog(), is_requested=complete_event.completion_requested
        ):
            yield Completion(
                completion.text, -completion.back, display=completion.display_text, display_meta=completion.meta
            )


class PrivateHistory(FileHistory):
    """A history of statements in a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        """Create the file and its folder, if they do not exist, and set the permissions of the file to 0600."""
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        path.chmod(0o600)
        super().__init__(str(path))

    def append_string(self, string: str) -> None:
        """Append a statement to the history, unless it begins with a blank or a tab."""
        if not string.startswith((" ", "\t")):
            super().append_string(string)


def state_folder() -> Path:
    """Return the folder for the history, which need not exist: the user's folder for program state on this system."""
    if sys.platform in ("win32", "darwin"):
        return Path(click.get_app_dir("dbanon"))
    configured = os.environ.get("XDG_STATE_HOME", "")
    return (Path(configured) if configured.startswith("/") else Path.home() / ".local" / "state") / "dbanon"


def open_history(keep: bool = True) -> History:
    """Return the history in a file, or one that lasts as long as the session.

    The latter is returned if `keep` is false or the file cannot be written.
    """
    if not keep:
        return InMemoryHistory()
    try:
        return PrivateHistory(state_folder() / "shell_history")
    except (OSError, RuntimeError):
        return InMemoryHistory()


def is_complete(text: str) -> bool:
    """Return whether Enter runs the text: it is a dot command, blank, or ends after a complete statement.

    Otherwise Enter begins a new line.
    """
    if text.lstrip().startswith(".") or not text.strip():
        return True
    done, rest = split_statements(text)
    return bool(done) and is_blank(rest)


def prompt_session(
    get_catalog: Callable[[], Catalog],
    command_history: History,
    *,
    source: Input | None = None,
    screen: Output | None = None,
) -> PromptSession[str]:
    """Return a session of prompt_toolkit with completion, highlighting and multi-line input.

    Args:
        get_catalog: Returns the names for completion.
        command_history: The history.
        source: Replaces the keyboard, in tests.
        screen: Replaces the terminal, in tests.
    """
    session: PromptSession[str] = PromptSession(
        lexer=PygmentsLexer(Lexer),
        completer=SqlCompleter(get_catalog),
        complete_while_typing=True,
        complete_in_thread=False,
        auto_suggest=AutoSuggestFromHistory(),
        history=command_history,
        key_bindings=_key_bindings(),
        multiline=True,
        prompt_continuation=_continuation,
        style=STYLE,
        include_default_pygments_style=False,
        reserve_space_for_menu=0,
        enable_history_search=False,
        enable_open_in_editor=True,
        input=source,
        output=screen,
    )

    def reserve_menu_lines(application: Application[str]) -> None:
        """Reserve lines below the input only for a menu that is open, so that a result above stays on the screen."""
        menu = application.current_buffer.complete_state
        session.reserve_space_for_menu = 0 if menu is None else min(len(menu.completions), MAX_MENU_LINES)

    session.app.before_render += reserve_menu_lines
    return session


def _continuation(width: int, line: int, wrapped: int) -> StyleAndTextTuples:
    """Return the beginning of a further line of the input: dots, or blanks if the line is only wrapped."""
    return [("class:continuation", "." * max(0, width - 2) + "  " if not wrapped else " " * width)]


def _key_bindings() -> KeyBindings:
    """Return the meanings of Enter: accept the selected completion, or run a complete statement."""
    keys = KeyBindings()

    @Condition
    def is_whole_statement() -> bool:
        """Return whether the input is complete, so that Enter runs it."""
        return is_complete(get_app().current_buffer.text)

    @keys.add("enter", filter=has_completions & completion_is_selected & ~is_done)
    def _(event: KeyPressEvent) -> None:
        """Accept the selected completion."""
        event.current_buffer.complete_state = None

    @keys.add("enter", filter=is_whole_statement & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Run the complete statement."""
        event.current_buffer.validate_and_handle()

    return keys
