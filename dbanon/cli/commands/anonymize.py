"""`dbanon anonymize`: store a release in a database, or read a file and write the release to files."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from dbanon.cli.commands.anonymize_input import (
    INPUT_TABLE,
    LoadedInput,
    check_input_ending,
    is_database,
    load_input,
)
from dbanon.cli.commands.input_tables import (
    InputPath,
    chosen_table,
    print_reading_notes,
    private_database,
    table_text,
)
from dbanon.cli.commands.next_command import next_command, print_next_command, publish_command
from dbanon.cli.commands.release_advice import (
    AnonymizeCall,
    precision_text,
    release_advice,
)
from dbanon.cli.commands.review import print_file_review
from dbanon.cli.options.connection_options import memory_arguments, memory_options
from dbanon.cli.options.name_completion import complete_tables
from dbanon.cli.options.parameters import (
    algorithm_option,
    merge_parameters,
    options_not_assigned,
    parameter_options,
    parse_improve,
    split_algorithm,
    union_parameters,
)
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
    split_names,
    with_declared_columns,
    with_stored_files,
)
from dbanon.cli.terminal.common import (
    ALLOW_SMALL_DIFFERENCES,
    AS_JSON,
    CLASSES,
    CSV_FORMULAS,
    errors_as_messages,
    key_metric_lines,
    open_database,
    print_result,
    query_rows,
    search_progress,
    show_progress,
)
from dbanon.policy.checks import review
from dbanon.runtime import output_files, session
from dbanon.source import catalog, stored_policy
from dbanon.sqltext import names
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import identifier, qualified
from dbanon.views import warnings
from dbanon.views.pre_release_review import planned_rows


@click.command("anonymize")
@click.argument("source", metavar="INPUT", type=InputPath())
@click.option(
    "-o", "--output", help="Write to this .parquet, .csv or .duckdb file, or folder; required if INPUT is a file."
)
@parameter_options
@click.option("--table", help="Choose the table if INPUT is a database with several.", shell_complete=complete_tables)
@algorithm_option
@role_options
@click.option("--dry-run", is_flag=True, help="Print what would be published and withheld, and create nothing.")
@click.option(
    "--replace",
    is_flag=True,
    help="Create the next version of a stored release, if it is safe next to earlier ones; with -o, replace files.",
)
@ALLOW_SMALL_DIFFERENCES
@CLASSES
@click.option(
    "--storage-version", help="Write a .duckdb file that this DuckDB and later ones can read; default: v1.0.0."
)
@CSV_FORMULAS
@memory_options
@AS_JSON
@click.option("--quiet", is_flag=True, help="Print only errors.")
def anonymize(
    source: Path,
    output: str | None,
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
    insensitive: Sequence[str],
    dry_run: bool,
    replace: bool,
    allow_small_differences: bool,
    classes: bool,
    storage_version: str | None,
    csv_formulas: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Anonymize INPUT, a DuckDB database or a file of rows.

    A file is CSV, Parquet or JSON.

    \b
    From a source file to a file that you can share:
      dbanon init visits.csv
      dbanon anonymize visits.duckdb -k 10
      dbanon publish visits.duckdb visits_release -o visits_safe.csv

    In a database, the release of the table visits is stored as visits_release, by the policy of the database, and no
    file is written. With -o, or from a file, the release is written to OUTPUT and next to it its metrics and its
    certificate, and with --classes its classes; each file appears whole or not at all, and INPUT is only read. Columns
    without a role are withheld.
    """
    roles = role_parameters(qi, sensitive, person, identifiers, insensitive)
    algorithm, given = split_algorithm(algorithm, given)
    with errors_as_messages():
        call_parameters = merge_parameters(algorithm, given, k=k, l=l, t=t, improve=parse_improve(improve), **roles)
    check_input_ending(source)
    is_stored = output is None and is_database(source)
    if output is None and not is_stored and not dry_run:
        raise click.UsageError(
            "Missing option '-o' / '--output'. Hint: -o names the file to write; or load this file into a database, "
            f"which can store the release, with {next_command('init', source)}."
        )
    if is_stored and policy is not None:
        raise click.BadParameter("a release in a database follows the policy of the database; or give -o.",
                                 param_hint="--policy")  # fmt: skip
    request = _Request(
        source,
        table,
        algorithm,
        call_parameters,
        options_not_assigned(roles, given),
        dry_run,
        replace,
        allow_small_differences,
        policy,
        output,
    )
    if is_stored and classes:
        raise click.BadParameter("it is for files; a release in a database has a table of classes.",
                                 param_hint="--classes")  # fmt: skip
    if is_stored:
        _store_release(request, as_json, quiet)
    else:
        how = {"storage_version": storage_version, "csv_formulas": csv_formulas, "classes": classes}
        _write_release(request, how, as_json, quiet)


@dataclass(frozen=True)
class _Request:
    """A release to be stored in the database of its source, or written to files.

    Attributes:
        source: The database, or the file.
        table: The value of --table; None if it is not given.
        algorithm: The algorithm.
        parameters: All parameters of the call.
        options: The parameters that options for roles give.
        is_dry_run: Whether nothing is made.
        is_replacing: Whether the next version of an existing release is made, or files are replaced.
        allows_small_differences: Whether it is made though versions differ by too few records.
        policy: The policy file; None without one.
        output: The path of the release in files; None for a release in the database, and for a dry run.
    """

    source: Path
    table: str | None
    algorithm: str
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]
    is_dry_run: bool
    is_replacing: bool
    allows_small_differences: bool
    policy: Path | None
    output: str | None


# --- a release in the database -----------------------------------------------------------------------------------


def _store_release(request: _Request, as_json: bool, quiet: bool) -> None:
    """Store the release of a table in its database, and print its summary, its warnings and the next command.

    A dry run prints the review of the release instead.
    """
    from dbanon.views.materialize import create_release

    database = request.source
    with errors_as_messages(), private_database(database), show_progress(quiet) as step:
        step("Reading")
        with open_database(database, read_only=request.is_dry_run) as con:
            table = chosen_table(con, database, request.table)
            resolved = catalog.resolve_source(
                "anonymize", table, con.duckdb_connection.cursor(), catalog.SearchPath.from_connection(con), {}
            )
            roles = [(row.column, row.role) for row in stored_policy.policy_rows(resolved, con)]
            parameters = with_declared_columns(request.parameters, request.options, roles, list(resolved.columns))
            name = f"{resolved.table}_release"
            release = table_text(resolved.schema, name)
            if request.is_dry_run:
                rows = planned_rows(con, request.algorithm, table, parameters)
                has_release = (resolved.database, resolved.schema, name) in catalog.relations(con, resolved.database)
            else:
                step("Clustering and checking")
                start = time.monotonic()
                created = create_release(
                    con,
                    release,
                    request.algorithm,
                    table,
                    replace=request.is_replacing,
                    allow_small_differences=request.allows_small_differences,
                    progress=search_progress(step),
                    **parameters,
                )
                metrics_table = qualified(resolved.schema, f"{name}_metrics")
                metric_rows = query_rows(con, f"SELECT metric, value, description FROM {metrics_table}")
                metrics = {row["metric"]: row["value"] for row in metric_rows}
                n_withheld = _count_withheld(con, resolved.schema, name)
                if not (quiet or as_json):
                    call = AnonymizeCall(request.algorithm, table, parameters, _named_columns())
                    advice = release_advice(con, call, metrics, time.monotonic() - start, step)
    if request.is_dry_run:
        _print_plan(table, rows, as_json, quiet, next_command(*_anonymize_words(request, has_release)))
        return
    command = publish_command(database, release, resolved.table)
    if as_json:
        print_result({"release": release, "version": created.version, "metrics": metrics, "next": command}, as_json)
    elif not quiet:
        click.echo(f"{release} version {created.version} is stored in {database}.")
        _print_summary(metrics, n_withheld, advice, ())
        click.echo(key_metric_lines(metric_rows, f"FROM {table_text(resolved.schema, f'{name}_metrics')}"))
        print_next_command(command)


def _anonymize_words(request: _Request, has_release: bool) -> list[str | Path]:
    """Return the words of the command that makes what a dry run showed, as far as its main options go.

    With `has_release` it makes the next version of the release.
    """
    context = click.get_current_context()
    words: list[str | Path] = ["anonymize", request.source]
    for option, name in (("--table", "table"), ("-k", "k"), ("-l", "l"), ("-t", "t"), ("--algorithm", "algorithm")):
        value = context.params.get(name)
        words += [] if value is None else [option, str(value)]
    return [*words, "--replace"] if has_release else words


def _print_plan(table: str, rows: Sequence[review.ReviewRow], as_json: bool, quiet: bool, command: str | None) -> None:
    """Print what a release would publish and withhold, and the command that makes it, where there is one."""
    if as_json:
        print_result({"table": table, "review": review.review_objects(rows), "next": command}, as_json)
    elif not quiet:
        click.echo("\n".join(review.format_review(rows, f"{table}, if it is released", with_statements=False)))
        click.echo("Nothing was made.")
        if command is not None:
            print_next_command(command)


# --- a release in files ------------------------------------------------------------------------------------------


def _write_release(request: _Request, how: Mapping[str, Any], as_json: bool, quiet: bool) -> None:
    """Write the release of a file, or of a table of a database, to files, and print its summary and the next command.

    A dry run prints the review of the release instead. `how` are further options of `publish`.
    """
    from dbanon.api.connection import connect
    from dbanon.api.publish import publish
    from dbanon.publishing import release_files as handouts
    from dbanon.views.materialize import create_release

    source, policy, output, algorithm = request.source, request.policy, request.output or "", request.algorithm
    name = _release_name(output)
    with errors_as_messages():
        read = [source, *([policy] if policy else []), *_hierarchy_files(request.parameters)]
        output_paths = handouts.output_paths(output, name) if request.output is not None else []
        output_files.check_not_source("anonymize", output_paths, read)
    with errors_as_messages(), connect(**memory_arguments()) as con, show_progress(quiet) as step:
        step("Reading")
        loaded = load_input(con, source, request.table)
        if not quiet and not is_database(source):
            print_reading_notes(con, source)
        columns = policy_columns(policy, loaded.table_name, loaded.is_about)
        output_files.check_not_source(
            "anonymize", output_paths, [*loaded.read, *hierarchy_files(hierarchies_of(columns))]
        )
        file = None if policy is None or columns is None else (policy, columns)
        call_parameters = _parameters_under_policy(con, loaded, file, request.parameters, request.options)
        if request.is_dry_run:
            rows = planned_rows(con, algorithm, INPUT_TABLE, call_parameters)
        else:
            step("Clustering and checking")
            start = time.monotonic()
            session.find_session(con.duckdb_connection).has_private_database = True
            is_reviewed = not (quiet or as_json or any(map(Path.exists, output_paths)))
            con.on_review = partial(print_file_review, source) if is_reviewed else None
            create_release(
                con, identifier(name), algorithm, INPUT_TABLE, progress=search_progress(step), **call_parameters
            )
            step("Writing")
            files = publish(con, identifier(name), output, overwrite=request.is_replacing, **how)
            metric_rows = query_rows(con, f"SELECT metric, value, description FROM {identifier(name + '_metrics')}")
            metrics = {row["metric"]: row["value"] for row in metric_rows}
            unnamed, n_withheld = _columns_without_role(con, call_parameters), _count_withheld(con, "main", name)
            if not (quiet or as_json):
                call = AnonymizeCall(algorithm, INPUT_TABLE, call_parameters, _named_columns())
                advice = release_advice(con, call, metrics, time.monotonic() - start, step)
    if request.is_dry_run:
        _print_plan(loaded.table_name, rows, as_json, quiet, None)
        return
    if unnamed and not quiet:
        click.echo(
            f"Withheld, for review: {', '.join(unnamed)}. Their roles are unknown. To publish them, name them with "
            "--qi, --sensitive or --insensitive; to confirm that they are withheld, with --identifier.",
            err=True,
        )
    if as_json:
        print_result({"files": [str(f) for f in files], "metrics": metrics, "withheld": unnamed}, as_json)
    elif not quiet:
        _print_summary(metrics, n_withheld, advice, files)
        click.echo(key_metric_lines(metric_rows, _other_metrics_hint(files, name)))
        if files[0].suffix != ".duckdb":
            print_next_command(next_command("verify", files[0]))


def _named_columns() -> list[str]:
    """Return the columns that the option --qi names, of which one value can list several, with their hierarchies."""
    values = split_names(click.get_current_context().params.get("qi") or ())
    return [value.partition("=")[0] for value in values]


def _count_withheld(con: Any, schema_name: str, name: str) -> int:
    """Return how many columns the last version of a release withholds."""
    ((n_withheld,),) = con.execute(
        "SELECT system.main.len(withheld) FROM dbanon.release WHERE schema_name = ? AND name = ? "
        "ORDER BY version DESC LIMIT 1",
        [schema_name, name],
    ).fetchall()
    return int(n_withheld)


def _other_metrics_hint(files: Sequence[Path], name: str) -> str:
    """Return words that state where all metrics are: in the file of metrics, or in a table of the database file."""
    metric_files = [file for file in files if file.stem == f"{files[0].stem}_metrics"]
    return f"in {metric_files[0]}" if metric_files else f"FROM {identifier(name + '_metrics')}, in {files[0]}"


def _print_summary(metrics: Mapping[str, float], n_withheld: int, advice: Sequence[str], files: Sequence[Path]) -> None:
    """Print counts and precision, notes on records unique by unchanged columns and on lost columns, and the files.

    `n_withheld` is the number of withheld columns; `advice` are sentences that follow the notes.
    """
    n_records, n_classes = int(metrics["records"]), int(metrics["classes"])
    click.echo(
        f"{n_records} {plural_form(n_records, 'record', 'records')} in {n_classes} "
        f"{plural_form(n_classes, 'class', 'classes')} of at least {int(metrics['k'])}; "
        f"{precision_text(metrics, n_withheld)}."
    )
    alone = int(metrics.get("unique_by_unchanged_columns", 0))
    if alone:
        click.echo(
            f"{alone} of these records {plural_form(alone, 'is', 'are')} unique by the values of the unchanged columns "
            "(sensitive, insensitive), for any k: anyone who knows those values finds the record. The smallest group "
            "that is equal in everything "
            f"published has {int(metrics['k_full_record'])}."
        )
    for line in (*warnings.describe_generalized(metrics), *advice, *files):
        click.echo(str(line))


def _release_name(output: str) -> str:
    """Return the name of the release: that of the output file without its last ending, whatever characters it has.

    It is a name and not a path: `x.csv.csv` gives the table "x.csv". It is `release` if the file is named input,
    input_classes or input_metrics (case is ignored), or if only dots remain.
    """
    stem = Path(output).stem
    is_taken = stem.lower().replace("\u0307", "") in ("input", "input_classes", "input_metrics")
    return "release" if is_taken or not stem.strip(".") else stem


def _hierarchy_files(parameters: Mapping[str, Any]) -> list[Path]:
    """Return the paths of the hierarchies in the parameters of a call that are CSV files; empty without any."""
    hierarchies = parameters.get("hierarchies")
    return hierarchy_files(hierarchies.values()) if isinstance(hierarchies, Mapping) else []


def _parameters_under_policy(
    con: Any, loaded: LoadedInput, file: PolicyFile | None, parameters: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of the call, given the policy that applies to the input.

    The policy file is written as the policy if the database has none for the table; otherwise its rows are parameters
    of the call. Columns that no option names keep the role that the policy and the file declare. Hierarchies that are
    files are stored.

    Args:
        con: The in-memory connection.
        loaded: The loaded input.
        file: The policy file; None if there is none.
        parameters: All parameters of the call.
        options: The parameters that options for roles give.
    """
    roles = [(row.column, row.role) for row in loaded.declared]
    if file is not None and loaded.declared:
        limits = policy_parameters(*file, loaded.declared)
        parameters = union_parameters(parameters, limits, "--policy")
        options = {name: value for name, value in options.items() if name not in limits}
    elif file is not None:
        declare_policy(con, *file)
        roles = roles_of(file[1])
    column_rows = con.duckdb_connection.execute(
        f"SELECT column_name FROM (DESCRIBE FROM memory.main.{INPUT_TABLE})"
    ).fetchall()
    parameters = with_declared_columns(parameters, options, roles, [column for (column,) in column_rows])
    return with_stored_files(con, parameters)


def _columns_without_role(con: Any, parameters: Mapping[str, Any]) -> list[str]:
    """Return, in their order, the columns withheld because neither the policy nor the call gives them a role."""
    role_lists = (parameters.get(p) or () for p in ("qi", "sensitive", "insensitive", "identifier", "withhold"))
    columns = [c for role_list in role_lists for c in ([role_list] if isinstance(role_list, str) else role_list)]
    columns += [str(parameters.get("person")), *(c for (c,) in con.execute(_DECLARED_COLUMNS_QUERY).fetchall())]
    declared_names = {names.fold_case(column) for column in columns}
    withheld = con.execute("SELECT system.main.unnest(withheld) FROM dbanon.release").fetchall()
    return [column for (column,) in withheld if names.fold_case(column) not in declared_names]


_DECLARED_COLUMNS_QUERY = "SELECT column_name FROM dbanon.policy"
