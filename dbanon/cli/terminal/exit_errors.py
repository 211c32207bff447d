"""Exceptions that end a command with a message and an exit code."""

from collections.abc import Mapping
from types import MappingProxyType

import click

from dbanon.errors.base import Outcome
from dbanon.errors.exit_codes import EXIT_CODES


class FailedError(click.ClickException):
    """Ends a command that failed or found a problem (exit code 1)."""

    exit_code = EXIT_CODES["failed"]


class UsageFailedError(click.ClickException):
    """Ends a command that was not understood (exit code 2)."""

    exit_code = EXIT_CODES["usage"]


class ExitRefusedError(click.ClickException):
    """Ends a command that was refused to protect privacy (exit code 3)."""

    exit_code = EXIT_CODES["refused"]


class BusyError(click.ClickException):
    """Ends a command because another process or connection has the database (exit code 4)."""

    exit_code = EXIT_CODES["busy"]


class InterruptedByUserError(click.ClickException):
    """Ends a command after Ctrl-C (exit code 130)."""

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
    """Return (do not raise) the exception that ends a command with a message and the exit code of an outcome."""
    return _KINDS[outcome](message)
