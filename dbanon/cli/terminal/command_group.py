"""Commands: their errors as JSON where --json asks for it, and Ctrl-C as one line."""

import contextlib
from typing import Any

import click

from dbanon.cli.terminal.value_format import as_json
from dbanon.errors.exit_codes import EXIT_CODES

JSON = "--json"
_ASKED = "dbanon.json"

OUTCOMES = {code: outcome for outcome, code in EXIT_CODES.items()}


class Commands(click.Group):
    """Commands whose errors are JSON where --json asks for it, and that Ctrl-C ends with one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ASKED] = JSON in args[: args.index("--")] if "--" in args else JSON in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if not ctx.meta[_ASKED]:
                raise
            tell(error.format_message(), error.exit_code)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort) as error:
            if isinstance(error, click.Abort) and not isinstance(error.__context__, KeyboardInterrupt):
                raise  # "no" to a question
            code = EXIT_CODES["interrupted"]
            with contextlib.suppress(OSError):
                if ctx.meta[_ASKED]:
                    tell("Interrupted.", code)
                else:
                    click.echo("Interrupted.", err=True)
            ctx.exit(code)


def tell(message: str, code: int) -> None:
    """Write an error as JSON, where the answer would be."""
    said, _, hint = message.partition(" Hint: ")
    error = {"kind": OUTCOMES.get(code, "failed"), "exit_code": code, "message": said, "hint": hint or None}
    click.echo(as_json({"error": error}))
