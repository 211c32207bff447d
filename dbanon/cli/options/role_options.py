"""Roles and settings of columns on the command line: options, and the policy file of --policy.

A policy determines what a call may publish, and options are parameters of the call. The policy is that of the database
or, if that has none for the table, the file; a file in addition to a stored policy is read as parameters.
"""

import csv
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbanon.cli.options.message_options import POLICY_FILE
from dbanon.cli.options.name_completion import complete_columns
from dbanon.policy import policy_files
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS
from dbanon.runtime import session
from dbanon.source import catalog, stored_policy
from dbanon.source.stored_policy import DeclaredColumn, Settings
from dbanon.sqltext import names

_OPTIONS = (
    click.option(
        "--policy",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Read roles and settings from TOML or CSV: the policy, or limits in addition to that of the database.",
    ),
    click.option(
        "--qi",
        multiple=True,
        metavar="COLUMN[=HIERARCHY],...",
        help="Name quasi-identifiers, and the name or file of their hierarchies.",
        shell_complete=complete_columns,
    ),
    click.option(
        "--sensitive",
        multiple=True,
        metavar="COLUMN,...",
        help="Name sensitive columns.",
        shell_complete=complete_columns,
    ),
    click.option("--person", help="Name the column that identifies persons.", shell_complete=complete_columns),
    click.option(
        "--identifier",
        "identifiers",
        multiple=True,
        metavar="COLUMN,...",
        help="Name columns that identify people; they are withheld.",
        shell_complete=complete_columns,
    ),
    click.option(
        "--insensitive",
        multiple=True,
        metavar="COLUMN,...",
        help="Name columns that are published unchanged.",
        shell_complete=complete_columns,
    ),
)

_PARAMETERS = {"quasi": "qi", "sensitive": "sensitive", "insensitive": "insensitive", "identifier": "identifier"}
"""Parameters that list the columns of a role."""

_SETTINGS = {
    "hierarchy": "hierarchies",
    "weight": "weights",
    "min_level": "min_level",
    "max_level": "max_level",
    "top": "top",
    "bottom": "bottom",
    "rounding": "rounding",
    "missing_codes": "missing_codes",
}
"""Parameters of a call that give a setting of the policy for columns."""

PolicyColumns = Mapping[str, Mapping[str, Any]]
"""Roles and settings by column, as a policy file has them."""

PolicyFile = tuple[Path, PolicyColumns]
"""A policy file with what it says."""


def role_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options --policy, --qi, --sensitive, --person, --identifier and --insensitive to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def split_names(values: Iterable[str]) -> list[str]:
    """Return the names in values of an option: a value is split at its commas, except within double quotes.

    Blanks before a name are omitted, except within quotes.

    >>> split_names(["age, zip=zip5", '"a,b", " c"'])
    ['age', 'zip=zip5', 'a,b', ' c']
    """
    return [name for value in values for row in csv.reader([value], skipinitialspace=True) for name in row]


def role_parameters(
    qi: Sequence[str],
    sensitive: Sequence[str],
    person: str | None,
    identifiers: Sequence[str],
    insensitive: Sequence[str],
) -> dict[str, Any]:
    """Return the options for roles as parameters of a call; a parameter whose option is not given is None.

    A value of an option can list several columns (see `split_names`).

    Args:
        qi: Values of --qi: `column` or `column=hierarchy`.
        sensitive: Sensitive columns.
        person: The person column.
        identifiers: Columns that identify people.
        insensitive: Columns that are published unchanged (insensitive).

    Raises:
        click.BadParameter: A column has two hierarchies.
    """
    quasi: list[str] = []
    hierarchies: dict[str, str] = {}
    for text in split_names(qi):
        column, _, hierarchy = text.partition("=")
        quasi.append(column)
        if hierarchy and hierarchies.setdefault(column, hierarchy) != hierarchy:
            raise click.BadParameter(f"{column} has two hierarchies.", param_hint="--qi")
    columns_by_parameter = {
        "qi": quasi,
        "sensitive": split_names(sensitive),
        "identifier": split_names(identifiers),
        "insensitive": split_names(insensitive),
    }
    parameters = {name: list(dict.fromkeys(columns)) or None for name, columns in columns_by_parameter.items()}
    return {**parameters, "person": person, "hierarchies": hierarchies or None}


def with_declared_columns(
    parameters: Mapping[str, Any],
    options: Mapping[str, Any],
    roles: Iterable[tuple[str, str]],
    order: Sequence[str] = (),
) -> dict[str, Any]:
    """Return parameters in which options set the role of some columns and the others keep their declared roles.

    In a call a list such as `qi` is complete: a declared quasi-identifier that it does not name is withheld. So each
    list that an option gives is completed with the declared columns of its role that no parameter gives another role.
    If the option names only columns that are declared so anyway, the parameter is removed.

    Args:
        parameters: All parameters of the call; not changed.
        options: The parameters that options give, from `role_parameters`. Lists given by -p are not completed.
        roles: Columns of the policy with their roles.
        order: The columns of the table in their order, if it is known.
    """
    completed = dict(parameters)
    declared = [(column, role.lower()) for column, role in roles]
    places = {names.fold_case(column): place for place, column in enumerate(order)}
    for role in ("quasi", "sensitive", "insensitive"):
        name = _PARAMETERS[role]
        if options.get(name) is None:
            continue
        elsewhere = {
            names.fold_case(c)
            for other in _ROLE_PARAMETERS
            if other != name
            for c in _listed_columns(parameters, other)
        }
        of_role = [column for column, declared_role in declared if declared_role == role]
        given_columns = {names.fold_case(column) for column in options[name]}
        if given_columns <= {names.fold_case(column) for column in of_role} and not elsewhere & given_columns:
            del completed[name]
            continue
        added_columns = [column for column in of_role if names.fold_case(column) not in elsewhere | given_columns]
        completed[name] = sorted(
            [*added_columns, *options[name]], key=lambda c: places.get(names.fold_case(c), len(places))
        )
    return completed


_ROLE_PARAMETERS = (*_PARAMETERS.values(), "withhold", "person")


def _listed_columns(parameters: Mapping[str, Any], name: str) -> Sequence[str]:
    """Return the columns that a parameter lists, also if it is one name instead of a list; empty if it is not given."""
    value = parameters.get(name) or ()
    return [value] if isinstance(value, str) else value


# --- the policy file -------------------------------------------------------------------------------------------------


def policy_columns(
    path: Path | None, table: str, is_about: Callable[[str | None, str], bool]
) -> dict[str, dict[str, Any]] | None:
    """Read a policy file.

    Args:
        path: The file; None if there is none.
        table: The table as messages call it.
        is_about: Whether a row with this schema_name (None: not given) and table_name is about the table.

    Returns:
        Roles and settings by column; None without a file.

    Raises:
        click.BadParameter: The file cannot be read, or it has no row about the table.
    """
    from dbanon.api import missing_codes

    if path is None:
        return None
    try:
        columns = policy_files.read_policy_file(path, missing_codes.codes_from_cell, is_about_table=is_about)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--policy") from None
    if not columns:
        raise click.BadParameter(f"{path} names no column of {table}.", param_hint="--policy")
    return columns


def roles_of(columns: PolicyColumns) -> list[tuple[str, str]]:
    """Return the columns of a policy file with their roles; "" for a column without a role."""
    return [(column, str(settings.get("role", ""))) for column, settings in columns.items()]


def name_predicate(*table_names: str) -> Callable[[str | None, str], bool]:
    """Return a function that checks whether a row of a policy file has one of these table names; case is ignored.

    The function takes schema_name, which it does not check, and table_name.
    """
    accepted_names = {names.fold_case(name) for name in table_names}
    return lambda schema_name, table_name: names.fold_case(table_name) in accepted_names


def policy_parameters(path: Path, columns: PolicyColumns, declared: Iterable[DeclaredColumn]) -> dict[str, Any]:
    """Return a policy file as parameters of a call, which can only make a stored policy stricter.

    Settings that the stored policy has with the same value are omitted.

    Args:
        path: The file, for messages.
        columns: Roles and settings by column in the file.
        declared: The rows of the stored policy.

    Raises:
        click.BadParameter: The file has an unknown role or setting, two persons, or a pseudonym, mask or shift that the
            stored policy does not have: a call has no parameter for them.
    """
    stored = {names.fold_case(row.column): row for row in declared}
    parameters: dict[str, Any] = {}
    for column, settings in columns.items():
        stored_row = stored.get(names.fold_case(column))
        role = str(settings.get("role", "")).lower()
        if role in TRANSFORM_SETTINGS:
            form = settings.get("settings")
            pairs = stored_policy.parse_settings(form if isinstance(form, Mapping) else None)
            if stored_row is None or (stored_row.role.lower(), stored_row.settings.settings) != (role, pairs):
                raise click.BadParameter(
                    f"{path} makes {column} a {role} that the policy of the database does not have. A file in "
                    "addition to that policy can only tighten it. Hint: remove the column from the file, or declare "
                    "it in dbanon.policy.",
                    param_hint="--policy",
                )
        elif role == "person":
            if "person" in parameters:
                raise click.BadParameter(f"{path} has two columns with the role person.", param_hint="--policy")
            parameters["person"] = column
        elif role in _PARAMETERS:
            parameters.setdefault(_PARAMETERS[role], []).append(column)
        else:
            accepted_roles = (*_PARAMETERS, "person", *TRANSFORM_SETTINGS)
            raise click.BadParameter(
                f"{path} gives {column} the role {role!r}. Accepted: {', '.join(accepted_roles)}.",
                param_hint="--policy",
            )
        stored_settings = stored_row.settings if stored_row is not None else Settings()
        for setting, value in settings.items():
            if setting in _SETTINGS and not _is_already_stored(setting, value, stored_settings):
                parameters.setdefault(_SETTINGS[setting], {})[column] = value
            elif setting not in (*_SETTINGS, "role", "settings"):
                accepted = ", ".join(("role", *_SETTINGS, "settings"))
                raise click.BadParameter(
                    f"{path} has the setting {setting} for {column}. Accepted: {accepted}.", param_hint="--policy"
                )
    return parameters


def _is_already_stored(setting: str, value: Any, stored: Settings) -> bool:
    """Return whether the stored policy has the same value of a setting; for missing_codes, whether it has all codes."""
    stored_value = getattr(stored, setting)
    if setting == "missing_codes":
        codes = value if isinstance(value, (list, tuple)) else [value]
        return {str(code) for code in codes} <= set(stored_value)
    return stored_value is not None and str(value) == str(stored_value)


# --- hierarchies -----------------------------------------------------------------------------------------------------


def hierarchy_files(hierarchies: Iterable[object]) -> list[Path]:
    """Return the paths of those hierarchies that are given as the name of a CSV file; it need not exist."""
    return [Path(str(name)) for name in hierarchies if _is_file(name)]


def _is_file(name: object) -> bool:
    """Return whether a hierarchy is given as the name of a CSV file, rather than by its name or as text."""
    return isinstance(name, str) and ";" not in name and name.lower().endswith(".csv")


def hierarchies_of(columns: PolicyColumns | None) -> list[object]:
    """Return the hierarchies that a policy file names; empty without a file."""
    return [settings["hierarchy"] for settings in (columns or {}).values() if settings.get("hierarchy")]


def _stored_file(con: Any, column: str, file: str) -> str:
    """Store the hierarchy in a file under a name that no stored hierarchy has, and return the name.

    The name is made of the column and the name of the file.
    """
    from dbanon.policy.hierarchies.store import load_hierarchy

    raw = session.plain_connection(con)
    stored_names: Collection[str] = catalog.stored_hierarchies(raw, catalog.SearchPath.from_connection(raw).database)
    first_name = f"{column} of {Path(file).name}"
    name = next(
        n
        for n in itertools.chain([first_name], (f"{first_name} {i}" for i in itertools.count(2)))
        if n not in stored_names
    )
    load_hierarchy(raw, name, file)
    return name


def with_stored_files(con: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in which hierarchies that are files are replaced by names, after storing the files.

    A name that is already stored is kept, even if it looks like a file.
    """
    raw = session.plain_connection(con)
    stored = catalog.stored_hierarchies(raw, catalog.SearchPath.from_connection(raw).database)
    return _with_hierarchies(
        parameters,
        lambda column, name: _stored_file(con, column, name) if _is_file(name) and name not in stored else name,
    )


def hierarchies_as_paths(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in which hierarchies that are files are Path objects, as the Python functions expect them."""
    return _with_hierarchies(parameters, lambda _, name: Path(str(name)) if _is_file(name) else name)


def _with_hierarchies(parameters: Mapping[str, Any], replacement: Callable[[str, Any], object]) -> dict[str, Any]:
    """Return a copy of parameters in which the hierarchy of each column is what `replacement` returns for it."""
    hierarchies = parameters.get("hierarchies")
    if not isinstance(hierarchies, Mapping):
        return dict(parameters)
    return {**parameters, "hierarchies": {column: replacement(column, name) for column, name in hierarchies.items()}}


def declare_policy(con: Any, path: Path, columns: PolicyColumns) -> None:
    """Write a policy file as the policy of the table `input`; hierarchies that are files are stored first.

    Messages of the command then name the file in place of dbanon.policy.
    """
    from dbanon.policy.declare import declare

    if (context := click.get_current_context(silent=True)) is not None:
        context.meta[POLICY_FILE] = path.name
    roles = {column: dict(settings) for column, settings in columns.items()}
    for column, settings in roles.items():
        if _is_file(settings.get("hierarchy")):
            settings["hierarchy"] = _stored_file(con, column, str(settings["hierarchy"]))
    declare(con, "input", **roles)
