"""Click groups that report errors as JSON with --json, and Ctrl-C as one line."""

import contextlib
from typing import Any

import click

from dbanon.cli.terminal.value_format import as_json
from dbanon.errors.exit_codes import EXIT_CODES

JSON = "--json"
_CONTEXT_KEY = "dbanon.json"

OUTCOMES = {code: outcome for outcome, code in EXIT_CODES.items()}


class JsonErrorGroup(click.Group):
    """A group of commands whose errors are JSON with --json, and that Ctrl-C ends with one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and store whether errors are to be JSON."""
        ctx.meta[_CONTEXT_KEY] = JSON in args[: args.index("--")] if "--" in args else JSON in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and print its errors in the requested form."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if not ctx.meta[_CONTEXT_KEY]:
                raise
            print_error(error.format_message(), error.exit_code)
            ctx.exit(error.exit_code)
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


def print_error(message: str, code: int) -> None:
    """Print an error as JSON on stdout."""
    text, _, hint = message.partition(" Hint: ")
    error = {"kind": OUTCOMES.get(code, "failed"), "exit_code": code, "message": text, "hint": hint or None}
    click.echo(as_json({"error": error}))
