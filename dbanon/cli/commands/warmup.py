"""`dbanon warmup`: compile the kernels of algorithms in advance."""

from dataclasses import asdict

import click

from dbanon.cli.options.name_completion import complete_algorithms
from dbanon.cli.terminal.common import AS_JSON, errors_as_messages, print_result
from dbanon.errors.exit_codes import EXIT_CODES

NOT_STORED = (
    "Error: the compiled kernels cannot be stored, because no folder for them is writable: every process compiles "
    "them again. Hint: set NUMBA_CACHE_DIR to a folder that only you can write."
)
"""The message for a cache that cannot be written."""


@click.command()
@click.argument("algorithms", nargs=-1, metavar="[ALGORITHM]...", shell_complete=complete_algorithms)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@AS_JSON
@click.pass_context
def warmup(context: click.Context, algorithms: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Compile algorithms and stream systems in advance.

    Kernels are compiled when they are first needed, once after installation. This command compiles them before that,
    for instance in the image of a container or before a demonstration; by default all of them. The exit code is 3 if
    no folder for them is writable.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from dbanon.api.warmup import warmup

    console = Console(stderr=True)
    bar = Progress(
        BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True,
        disable=quiet or not console.is_terminal,
    )  # fmt: skip
    with errors_as_messages(), bar:
        task = bar.add_task("", total=1)
        done = warmup(algorithms, lambda step, share: bar.update(task, description=step, completed=share))
    kernels_compiled = "1 kernel was" if done.kernels == 1 else f"{done.kernels} kernels were"
    sentence = (
        f"{kernels_compiled} compiled in {done.seconds:.0f} s; they are stored in {done.folder}."
        if done.kernels
        else "Everything was compiled already."
    )
    print_result(asdict(done), as_json, sentence if done.folder else "")
    if done.folder is None:
        click.echo(NOT_STORED, err=True)
        context.exit(EXIT_CODES["refused"])
