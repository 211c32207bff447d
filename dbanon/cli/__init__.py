"""The command line: a module a topic, put together here."""

from __future__ import annotations

import click

from dbanon.cli.anonymize import anonymize
from dbanon.cli.browse import algorithms, hierarchy, policy
from dbanon.cli.compare import choose, compare
from dbanon.cli.dbt import dbt
from dbanon.cli.demo import demo
from dbanon.cli.docs import docs
from dbanon.cli.group import Commands
from dbanon.cli.init import init
from dbanon.cli.releases import certificate, doctor, drop, materialize, publish, refresh, releases, report, verify
from dbanon.cli.serve import client, serve, token
from dbanon.cli.stream import stream
from dbanon.cli.warmup import warmup
from dbanon.runtime.version import __version__
from dbanon.shell.command import shell


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dbanon")
def main() -> None:
    """Anonymization that lives in the database.

    \b
    Exit codes:
      0    done
      1    failed, or something was found to be wrong (doctor, policy, verify)
      2    not understood: an option, a parameter or its value
      3    refused, because privacy would suffer: nothing was released
      4    busy: another process or connection has the database; try again
      130  interrupted (Ctrl-C)

    With --json the answer is one JSON document on stdout, an error too:
    {"error": {"kind": "refused", "exit_code": 3, "message": ..., "hint": ...}}
    """


for command in (
    algorithms,
    anonymize,
    certificate,
    choose,
    client,
    compare,
    dbt,
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
    report,
    serve,
    shell,
    stream,
    token,
    verify,
    warmup,
):
    main.add_command(command)
