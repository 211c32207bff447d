"""Exceptions that end a command with a message and an exit code."""

from collections.abc import Mapping
from types import MappingProxyType

import click

from dbanon.errors.base import Outcome
from dbanon.errors.exit_codes import EXIT_CODES


class FailedError(click.ClickException):
    """The command failed, or found a problem."""

    exit_code = EXIT_CODES["failed"]


class UsageFailedError(click.ClickException):
    """The command was not understood."""

    exit_code = EXIT_CODES["usage"]


class ExitRefusedError(click.ClickException):
    """The command was refused to protect privacy."""

    exit_code = EXIT_CODES["refused"]


class BusyError(click.ClickException):
    """Another process has the database open."""

    exit_code = EXIT_CODES["busy"]


class InterruptedByUserError(click.ClickException):
    """Ctrl-C was pressed."""

    exit_code = EXIT_CODES["interrupted"]


_KINDS: Mapping[Outcome, type[click.ClickException]] = MappingProxyType(
    {
        "failed": FailedError,
        "usage": UsageFailedError,
        "refused": ExitRefusedError,
        "busy": BusyError,
        "interrupted": InterruptedByUserError,
    }
)


def exit_error(message: str, outcome: Outcome = "failed") -> click.ClickException:
    """Return the exception that ends a command with a message and the exit code of an outcome."""
    return _KINDS[outcome](message)
