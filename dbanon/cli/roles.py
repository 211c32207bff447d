"""What columns are, as the commands that read files are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--policy", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Roles, as TOML or CSV."
    ),
    click.option(
        "--qi", multiple=True, metavar="COLUMN[=HIERARCHY]", help="A quasi-identifier; a hierarchy's name or file."
    ),
    click.option("--sensitive", multiple=True, help="A sensitive column."),
    click.option("--person", help="The column that tells people apart."),
    click.option("--identifier", "identifiers", multiple=True, help="A column that identifies people; withheld."),
    click.option("--other", multiple=True, help="A column that is published as it is."),
)


def role_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options --policy, --qi, --sensitive, --person, --identifier and --other."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def declared(policy: Path | None, qi: Sequence[str], roles: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Roles and settings by column: those of the file, then those of the command line."""
    declared = _policy(policy) if policy else {}
    for column in qi:
        plain, _, hierarchy = column.partition("=")
        declared[plain] = {"role": "quasi", **({"hierarchy": hierarchy} if hierarchy else {})}
    for role, columns in roles.items():
        declared |= {column: {"role": role} for column in columns}
    return declared


def _policy(path: Path) -> dict[str, dict[str, Any]]:
    from dbanon.client import codes
    from dbanon.policy import files

    try:
        return files.read(path, codes.of_cell)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--policy") from None


def hierarchy_files(roles: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Hierarchies that are files, by column."""
    given = {column: str(settings.get("hierarchy")) for column, settings in roles.items()}
    return {column: name for column, name in given.items() if name.lower().endswith(".csv")}


def write(con: Any, roles: Mapping[str, dict[str, Any]]) -> None:
    """Writes the roles; hierarchies that are files are loaded under the column's name."""
    from dbanon.policy.declare import declare, load_hierarchy

    for column, file in hierarchy_files(roles).items():
        load_hierarchy(con, f"{column} of {Path(file).name}", file)
        roles[column]["hierarchy"] = f"{column} of {Path(file).name}"
    if roles:
        declare(con, "input", **roles)
