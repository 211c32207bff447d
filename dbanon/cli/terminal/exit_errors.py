"""The exception that ends a command with a message and an exit code."""

import click

from dbanon.errors.base import Outcome
from dbanon.errors.exit_codes import EXIT_CODES


class ExitError(click.ClickException):
    """Ends a command with a message and the exit code of an outcome."""

    def __init__(self, message: str, outcome: Outcome = "failed") -> None:
        """Store the message and the exit code: 1 unless another outcome than "failed" is given."""
        super().__init__(message)
        self.exit_code = EXIT_CODES[outcome]  # type: ignore[misc]  # click declares it for the class
