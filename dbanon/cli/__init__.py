"""The command line: the group of all commands, each in a module of `dbanon.cli.commands`."""

import click

from dbanon.cli.commands.anonymize import anonymize
from dbanon.cli.commands.compare import compare, tradeoffs
from dbanon.cli.commands.dbt import dbt
from dbanon.cli.commands.demo import demo
from dbanon.cli.commands.docs import docs
from dbanon.cli.commands.init import init
from dbanon.cli.commands.policy import algorithms, hierarchy, policy
from dbanon.cli.commands.releases import (
    certificate,
    create_release,
    doctor,
    drop,
    publish,
    refresh,
    releases,
    report,
    verify,
)
from dbanon.cli.commands.serve import serve, token, write_client
from dbanon.cli.commands.stream import stream
from dbanon.cli.commands.warmup import warmup
from dbanon.cli.shell.command import shell
from dbanon.cli.terminal.command_group import JsonErrorGroup
from dbanon.runtime.version import __version__


@click.group(cls=JsonErrorGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="dbanon")
def main() -> None:
    """Anonymize tables inside DuckDB.

    \b
    From a source file to a file that you can share:
      dbanon init visits.csv
      dbanon anonymize visits.duckdb -k 10
      dbanon publish visits.duckdb visits_release -o visits_safe.csv

    \b
    Exit codes:
      0    done
      1    failed, or a problem was found (doctor, policy, verify)
      2    usage error: an option, a parameter or its value
      3    refused for privacy: nothing was released
      4    busy: another process or connection has the database; try again
      130  interrupted (Ctrl-C)

    With --json the result is one JSON document on stdout, also for an error:
    {"error": {"kind": "refused", "exit_code": 3, "message": ..., "hint": ...}}
    """


for command in (
    algorithms,
    anonymize,
    certificate,
    compare,
    create_release,
    dbt,
    demo,
    docs,
    doctor,
    drop,
    hierarchy,
    init,
    policy,
    publish,
    refresh,
    releases,
    report,
    serve,
    shell,
    stream,
    token,
    tradeoffs,
    verify,
    warmup,
    write_client,
):
    main.add_command(command)
