"""The command line: a module a topic, put together here."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from dbanon import __version__
from dbanon.cli.anonymize import anonymize
from dbanon.cli.browse import algorithms, hierarchy, policy
from dbanon.cli.demo import demo
from dbanon.cli.docs import docs
from dbanon.cli.init import init
from dbanon.cli.releases import certificate, doctor, drop, materialize, publish, refresh, releases, verify
from dbanon.shell.command import INTERRUPTED, shell


class _Commands(click.Group):
    """Commands that Ctrl-C ends with one line and the exit code that shells know it by."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dbanon")
def main() -> None:
    """Anonymization that lives in the database."""


for command in (
    algorithms,
    anonymize,
    certificate,
    demo,
    docs,
    doctor,
    drop,
    hierarchy,
    init,
    materialize,
    policy,
    publish,
    refresh,
    releases,
    shell,
    verify,
):
    main.add_command(command)
