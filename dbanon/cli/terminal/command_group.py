"""Click groups that report errors as JSON with --json, and Ctrl-C as one line; the exception that ends a command."""

import contextlib
from typing import Any

import click

from dbanon.cli.terminal.value_format import as_json
from dbanon.errors import renamed_names
from dbanon.errors.base import Outcome
from dbanon.errors.exit_codes import EXIT_CODES

JSON = "--json"
_CONTEXT_KEY = "dbanon.json"

OUTCOMES = {code: outcome for outcome, code in EXIT_CODES.items()}


class ExitError(click.ClickException):
    """Ends a command with a message and the exit code of an outcome."""

    def __init__(self, message: str, outcome: Outcome = "failed") -> None:
        """Store the message and the exit code: 1 unless another outcome than "failed" is given."""
        super().__init__(message)
        self.exit_code = EXIT_CODES[outcome]  # type: ignore[misc]  # click declares it for the class


class JsonErrorGroup(click.Group):
    """A group of commands that prints errors as JSON if --json is given, and only one line after Ctrl-C."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and note whether --json is among them, up to a `--`, so that errors become JSON."""
        ctx.meta[_CONTEXT_KEY] = JSON in args[: args.index("--")] if "--" in args else JSON in args
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, as click does.

        The name that a command had in an earlier version is a usage error, which states the new name.
        """
        current = renamed_names.COMMANDS.get(args[0]) if args else None
        if current is not None:
            ctx.fail(f"No such command '{args[0]}'.{renamed_names.renamed_hint(args[0], current)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print its errors as JSON with --json, and end with their exit code.

        Without --json, click prints them. After Ctrl-C it prints "Interrupted." and ends with the exit code 130.
        Unknown options state their new name if they were renamed.
        """
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            shown = _with_current_name(error) if isinstance(error, click.NoSuchOption) else error
            if not ctx.meta[_CONTEXT_KEY]:
                raise shown from None
            print_error(shown.format_message(), shown.exit_code)
            ctx.exit(shown.exit_code)
        except (KeyboardInterrupt, click.Abort) as error:
            if isinstance(error, click.Abort) and not isinstance(error.__context__, KeyboardInterrupt):
                raise  # "no" to a question
            code = EXIT_CODES["interrupted"]
            with contextlib.suppress(OSError):
                if ctx.meta[_CONTEXT_KEY]:
                    print_error("Interrupted.", code)
                else:
                    click.echo("Interrupted.", err=True)
            ctx.exit(code)


def _with_current_name(error: click.NoSuchOption) -> click.NoSuchOption:
    """Return the error about an unknown option, with the new name if the option was renamed."""
    name, parameters = error.option_name, error.ctx.command.params if error.ctx is not None else []
    current_names = [option for parameter in parameters for option in parameter.opts]
    current = renamed_names.current_option(name, current_names)
    hint = renamed_names.renamed_hint(name, current)
    if name in renamed_names.ARGUMENTS and current is None:
        argument = renamed_names.ARGUMENTS[name]
        hint = f" '{name} {argument}' is now the argument {argument}." * (argument.lower() in current_names)
    return click.NoSuchOption(error.option_name, error.message + hint, None if hint else error.possibilities, error.ctx)


def print_error(message: str, code: int) -> None:
    """Print an error as JSON on stdout: the kind that belongs to the exit code, message and hint.

    The part of `message` after " Hint: " is the hint, null if there is none.
    """
    text, _, hint = message.partition(" Hint: ")
    error = {"kind": OUTCOMES.get(code, "failed"), "exit_code": code, "message": text, "hint": hint or None}
    click.echo(as_json({"error": error}))
