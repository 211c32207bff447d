"""What ends a command that did not do what it was asked: a message, with the exit code of what it means."""

from collections.abc import Mapping
from types import MappingProxyType

import click

from dbanon.errors.base import Outcome
from dbanon.errors.exit_codes import EXIT_CODES


class Failed(click.ClickException):
    """Something failed, or was found to be wrong."""

    exit_code = EXIT_CODES["failed"]


class Misused(click.ClickException):
    """The command was not understood."""

    exit_code = EXIT_CODES["usage"]


class Refused(click.ClickException):
    """Privacy would suffer."""

    exit_code = EXIT_CODES["refused"]


class Busy(click.ClickException):
    """Somebody else has the database."""

    exit_code = EXIT_CODES["busy"]


class Interrupted(click.ClickException):
    """Ctrl-C."""

    exit_code = EXIT_CODES["interrupted"]


_KINDS: Mapping[Outcome, type[click.ClickException]] = MappingProxyType(
    {"failed": Failed, "usage": Misused, "refused": Refused, "busy": Busy, "interrupted": Interrupted}
)


def failure(message: str, outcome: Outcome = "failed") -> click.ClickException:
    """Return the exception that ends a command with a message and the exit code of what it means."""
    return _KINDS[outcome](message)
