"""`dbanon anonymize`: a file in, files out, nothing left behind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbanon.cli.commands.anonymize_input import TABLE, Input, load_input
from dbanon.cli.commands.review import before_files
from dbanon.cli.options.memory_options import bounded, bounds
from dbanon.cli.options.parameters import improvement, joined_parameters, not_given, parameter, parameters, together
from dbanon.cli.options.role_options import (
    PolicyFile,
    declare_policy,
    hierarchies_of,
    hierarchy_files,
    policy_columns,
    policy_parameters,
    role_options,
    role_parameters,
    roles_of,
    with_declared_columns,
    with_stored_files,
)
from dbanon.cli.terminal.common import (
    AS_JSON,
    CSV_FORMULAS,
    answer,
    errors_as_messages,
    headlines,
    progress,
    rows,
    searched,
)
from dbanon.runtime import output_files
from dbanon.sqltext import names
from dbanon.sqltext.quote import identifier
from dbanon.views import warnings

DEFAULT = "best"
"""The algorithm, where none is named: the least loss."""


@click.command("anonymize")
@click.argument("source", metavar="INPUT", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, help="A .parquet, .csv or .duckdb file, or a folder.")
@parameters
@click.option("--table", help="The table, where INPUT is a DuckDB database.")
@click.option("--algorithm", help=f"See dbanon algorithms; default: {DEFAULT}.")
@role_options
@click.option("--storage-version", help="Oldest DuckDB that shall read a .duckdb file; default: v1.0.0.")
@CSV_FORMULAS
@click.option("--force", is_flag=True, help="Replace files that are there.")
@bounds
@AS_JSON
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def anonymize(
    source: Path,
    output: str,
    k: int | None,
    l: int | None,  # noqa: E741
    t: float | None,
    given: Sequence[str],
    improve: str | None,
    table: str | None,
    algorithm: str | None,
    policy: Path | None,
    qi: Sequence[str],
    sensitive: Sequence[str],
    person: str | None,
    identifiers: Sequence[str],
    other: Sequence[str],
    storage_version: str | None,
    csv_formulas: str,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Anonymize INPUT (CSV, Parquet, JSON, or a table of a DuckDB database) into files.

    Writes the release to OUTPUT and beside it its classes, metrics and certificate; each file appears whole or not at
    all. Columns without a role are withheld. INPUT is only read.
    """
    from dbanon.api.connection import connect
    from dbanon.api.publish import publish
    from dbanon.publishing import release_files as handouts
    from dbanon.views.materialize import create_release

    name = _name(output)
    roles = role_parameters(qi, sensitive, person, identifiers, other)
    algorithm, given = _algorithm(algorithm, given)
    with errors_as_messages():
        asked = together(algorithm, given, k=k, l=l, t=t, improve=improvement(improve), **roles)
        read = [source, *([policy] if policy else []), *_hierarchy_files(asked)]
        written = handouts.files_of(output, name)
        output_files.check_not_source("anonymize", written, read)
    with errors_as_messages(), connect(**bounded()) as con, progress(quiet) as step:
        step("Reading")
        loaded = load_input(con, source, table)
        columns = policy_columns(policy, loaded.table_name, loaded.is_about)
        output_files.check_not_source("anonymize", written, [*loaded.read, *hierarchy_files(hierarchies_of(columns))])
        file = None if policy is None or columns is None else (policy, columns)
        asked = _governed(con, loaded, file, asked, not_given(roles, given))
        step("Clustering and checking")
        con.on_first_release = before_files(source, quiet or as_json or any(map(Path.exists, written)))
        create_release(con, identifier(name), algorithm, TABLE, progress=searched(step), **asked)
        step("Writing")
        how: dict[str, Any] = {
            "storage_version": storage_version, "overwrite": force, "csv_formulas": csv_formulas,
        }  # fmt: skip
        files = publish(con, identifier(name), output, classes=True, **how)
        measured = rows(con, f"SELECT metric, value, description FROM {identifier(name + '_metrics')}")
        unnamed = _unnamed(con, asked)
    if as_json or not quiet:
        _report(name, files, measured, unnamed, as_json, quiet)


def _report(
    name: str,
    files: Sequence[Path],
    measured: Sequence[Mapping[str, Any]],
    unnamed: Sequence[str],
    as_json: bool,
    quiet: bool,
) -> None:
    """Print what was published, where it is, and which columns were withheld because nothing says what they are."""
    if unnamed and not quiet:
        _review(unnamed)
    metrics = {row["metric"]: row["value"] for row in measured}
    if as_json:
        answer({"files": [str(f) for f in files], "metrics": metrics, "withheld": unnamed}, as_json)
    else:
        _tell(metrics, files)
        click.echo(headlines(measured, _rest(files, name)))


def _review(unnamed: Sequence[str]) -> None:
    """Say on stderr which columns are withheld because nobody has said what they are."""
    click.echo(
        f"Withheld, for review: {', '.join(unnamed)}. Nothing says what they are; name them with --qi, --sensitive "
        "or --other to publish them, with --identifier to leave them out knowingly.",
        err=True,
    )


def _algorithm(option: str | None, given: Sequence[str]) -> tuple[str, list[str]]:
    """Return the algorithm, which -p names too, and the other parameters."""
    named = {"algorithm": option} if option else {}
    others = []
    for text_ in given:
        name, value = parameter(text_, {})
        if name != "algorithm":
            others.append(text_)
        elif named.setdefault(name, str(value)) != value:
            raise click.BadParameter("algorithm is given twice, and differently.", param_hint="-p algorithm")
    return named.get("algorithm", DEFAULT), others


def _rest(files: Sequence[Path], name: str) -> str:
    """Where the other measures are."""
    beside = [file for file in files if file.stem == f"{files[0].stem}_metrics"]
    return f"in {beside[0]}" if beside else f"FROM {identifier(name + '_metrics')}, in {files[0]}"


def _tell(metrics: Mapping[str, float], files: Sequence[Path]) -> None:
    """Print what was published, and where."""
    click.echo(
        f"{int(metrics['records'])} records in {int(metrics['classes'])} classes of at least {int(metrics['k'])}; "
        f"precision {metrics['precision']:.4f}."
    )
    alone = int(metrics.get("unique_unchanged", 0))
    if alone:
        click.echo(
            f"{alone} of these records are unique by the values of their unchanged columns (sensitive, "
            f"other), whatever k is: who knows those values finds them. The smallest group alike in everything "
            f"published has {int(metrics['k_all'])}."
        )
    for line in (*warnings.describe_generalized(metrics), *files):
        click.echo(str(line))


def _name(output: str) -> str:
    """Return the name of the release: that of the output file without its ending, whatever characters it has.

    It is a name and no path: `x.csv.csv` gives the table "x.csv". A name that the table `input` takes is `release`.
    """
    stem = Path(output).stem
    is_taken = stem.lower().replace("\u0307", "") in ("input", "input_classes", "input_metrics")
    return "release" if is_taken or not stem.strip(".") else stem


def _hierarchy_files(parameters: Mapping[str, Any]) -> list[Path]:
    """Return the files of hierarchies that parameters name."""
    hierarchies = parameters.get("hierarchies")
    return hierarchy_files(hierarchies.values()) if isinstance(hierarchies, Mapping) else []


def _governed(
    con: Any, loaded: Input, file: PolicyFile | None, asked: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of the call over the policy of the input.

    The policy file is the policy where the database has none for the table, and parameters of the call otherwise. The
    `options` for roles leave other columns as the policy and the file declare them.
    """
    roles = [(row.column, row.role) for row in loaded.declared]
    if file is not None and loaded.declared:
        limits = policy_parameters(*file, loaded.declared)
        asked = joined_parameters(asked, limits, "--policy")
        options = {name: value for name, value in options.items() if name not in limits}
    elif file is not None:
        declare_policy(con, *file)
        roles = roles_of(file[1])
    described = con.raw.execute(f"SELECT column_name FROM (DESCRIBE FROM memory.main.{TABLE})").fetchall()
    asked = with_declared_columns(asked, options, roles, [column for (column,) in described])
    return with_stored_files(con, asked)


def _unnamed(con: Any, parameters: Mapping[str, Any]) -> list[str]:
    """Columns that are not in the output because neither the policy nor the call says what they are, in their order."""
    role_lists = (parameters.get(p) or () for p in ("qi", "sensitive", "other", "identifier", "withhold"))
    columns = [c for given in role_lists for c in ([given] if isinstance(given, str) else given)]
    columns += [str(parameters.get("person")), *(c for (c,) in con.execute(_DECLARED).fetchall())]
    known = {names.fold_case(column) for column in columns}
    withheld = con.execute("SELECT system.main.unnest(withheld) FROM dbanon.release").fetchall()
    return [column for (column,) in withheld if names.fold_case(column) not in known]


_DECLARED = "SELECT column_name FROM dbanon.policy"
