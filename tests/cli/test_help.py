"""Help texts of all commands are sentences that start with a verb, and fit into the list of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from dbanon.cli import main

VERBS = re.compile(
    "Accept|Allow|Anonymize|Apply|Attach|Choose|Compare|Compile|Compute|Copy|Create|Do|Draw|Drop|"
    "Escape|Forget|Let|Limit|List|Manage|Name|Open|Print|Propose|Publish|Read|Record|Reduce|"
    "Refresh|Remove|Replace|Require|Review|Run|Serve|Set|Show|State|Store|Try|Use|Wait|Warn|Write|"
    "Also"
)


def commands(group: click.Group, path: str = "dbanon") -> Iterator[tuple[str, click.Command]]:
    """Yield path and command of all commands of a group, and of the groups in it."""
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


COMMANDS = dict(commands(main))


def test_command_help_starts_with_verb() -> None:
    summaries = {path: (command.help or "").split("\n\n")[0] for path, command in COMMANDS.items()}
    assert len(summaries) > 25
    assert {
        path: text for path, text in summaries.items() if not VERBS.fullmatch(text.split()[0]) or text[-1] != "."
    } == {}


def test_option_help_starts_with_verb() -> None:
    texts = {
        (path, option.opts[-1]): option.help or ""
        for path, command in COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option)
    }
    assert {
        name: text for name, text in texts.items() if not VERBS.fullmatch(text.split(" ")[0]) or text[-1] not in ".)"
    } == {}


@pytest.mark.parametrize("words", [[], ["hierarchy"], ["token"]])
def test_command_list_has_whole_sentences(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = CliRunner().invoke(main, [*words, "--help"], terminal_width=80).output
    lines = output.partition("Commands:\n")[2].splitlines()
    assert len(lines) > 2 and [line for line in lines if not line.endswith(".") or line.endswith("...")] == []
