"""Names that earlier versions used in SQL and on the command line, and the names that replaced them.

Errors state the new name; `dbanon.source.earlier_schema` and `dbanon.ledger.earlier_names` translate what a database
stored under the old one.
"""

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "a": ("sort_quasi",),
    "ahead": ("lookahead",),
    "allow_delta": ("allow_small_differences",),
    "b": ("sort_sensitive",),
    "cell": ("max_partition",),
    "coarser": ("group_size_factor",),
    "d": ("n_quasi_identifiers",),
    "divergence": ("with_kl_divergence",),
    "each": ("records_per_group",),
    "eloss_height": ("loss_height",),
    "emd": ("ground_distance",),
    "escape": ("escape_labels",),
    "facts": ("known_negatives",),
    "first": ("first_seed",),
    "form": ("settings",),
    "grid": ("rounding",),
    "groups": ("n_groups",),
    "label": ("target",),
    "large": ("allow_slow",),
    "level": ("group_level",),
    "life": ("reuse_window",),
    "missing": ("missing_codes",),
    "most": ("max_suppressed", "max_requests"),
    "multi": ("multi_sensitive",),
    "next": ("next_seed",),
    "norm": ("normalize_levels",),
    "ontology": ("value_hierarchy",),
    "other": ("insensitive",),
    "protection": ("diversity_weight",),
    "round": ("coarsen",),
    "rows": ("sample_sizes",),
    "sanity": ("error_floor",),
    "store": ("max_stored_classes",),
    "stub": ("split_donor",),
    "support": ("min_records",),
    "ties": ("count_ties",),
    "w": ("label_weight", "max_interval_share"),
}
"""The names that replaced the name of a parameter or setting; which one, depends on the function."""

FUNCTIONS: Mapping[str, str] = {
    "choose": "tradeoffs",
    "delta_problems": "refresh_problems",
    "foreign_databases": "attached_databases",
    "hierarchy_arx": "hierarchy_to_arx",
    "hierarchy_file": "hierarchy_from_file",
    "hierarchy_shipped": "hierarchy_builtin",
    "lower_date_of": "lower_date",
    "lower_of": "lower_bound",
    "uncovered": "uncovered_values",
    "upper_date_of": "upper_date",
    "upper_of": "upper_bound",
}
"""The function that replaced a function."""

REFRESH_OPTIONS: Mapping[str, str] = {
    "allow_delta": "allow_small_differences",
    "pruned": "allow_deleted_rows",
    "refresh": "mode",
}
"""The option that replaced an option of statements and functions that refresh a view."""

COMMANDS: Mapping[str, str] = {"choose": "tradeoffs", "client": "write-client", "materialize": "create-release"}
"""The command that replaced a command of `dbanon`."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "--allow-delta": ("--allow-small-differences",),
    "--attach-writable": ("--attach-rw",),
    "--every": ("--poll-interval",),
    "--force": ("--replace",),
    "--into": ("--output",),
    "--other": ("--insensitive",),
    "--overwrite": ("--replace",),
    "--pruned": ("--allow-deleted-rows",),
    "--recluster": ("--mode recluster",),
    "--refresh": ("--mode",),
    "--rows": ("--max-rows", "--sample-sizes"),
    "--seconds": ("--statement-timeout",),
    "--to": ("--output",),
    "-d": ("--n-quasi-identifiers",),
}
"""The options that replaced an option; which one, depends on the command."""

ARGUMENTS: Mapping[str, str] = {"--release": "NAME"}
"""The argument that replaced an option."""

ROLES: Mapping[str, str] = {"other": "insensitive"}
"""The role that replaced a role."""


METRICS: Mapping[str, str] = {
    "built_levels": "columns_with_derived_levels",
    "dropped": "dropped:null",
    "flat_hierarchies": "columns_with_flat_hierarchy",
    "k_all": "k_full_record",
    "k_rows": "k_distinct_rows",
    "left_out:bounds": "dropped:bounds",
    "left_out:duplicate": "dropped:duplicate",
    "linked": "linked_records",
    "one_class": "is_single_class",
    "suppressed:outlier": "suppressed",
    "unique_unchanged": "unique_by_unchanged_columns",
}
"""New names of metrics without columns."""

COLUMN_METRICS: Mapping[str, str] = {
    "missing": "missing_code_records",
    "rare_sensitive_value": "rare_value",
    "rare_sensitive_values": "n_rare_values",
}
"""New names of metrics of one column each, which follows after a colon."""


def current_parameter(name: str, current_names: Collection[str]) -> str | None:
    """Return the name that replaced an earlier parameter name and is among `current_names`; None if there is none.

    Args:
        name: The earlier name, in upper or lower case.
        current_names: The names of a function's parameters today.
    """
    return next((new for new in PARAMETERS.get(name.lower(), ()) if new in current_names), None)


def translate_parameter(name: str, current_names: Collection[str]) -> str:
    """Return today's name of a function's parameter.

    Args:
        name: A name of today or an earlier one. It is returned unchanged if it is among `current_names`, or if nothing
            replaced it.
        current_names: The names of the function's parameters today.
    """
    return name if name in current_names else current_parameter(name, current_names) or name


def earlier_parameters(current_names: Collection[str]) -> list[str]:
    """Return the earlier names of a function's parameters, in alphabetical order.

    Args:
        current_names: The names of the function's parameters today. An earlier name that is one of these is not
            returned.
    """
    return [old for old in PARAMETERS if old not in current_names and current_parameter(old, current_names) is not None]


def current_option(name: str, current_names: Collection[str]) -> str | None:
    """Return the option that replaced an option of a command, with its value if it needs one; None if there is none.

    Args:
        name: The earlier option, such as `--every`.
        current_names: The options that the command has today. A new name counts only if it is among these.
    """
    return next((new for new in OPTIONS.get(name, ()) if new.split()[0] in current_names), None)


def with_renamed_options(
    *earlier_names: str,
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Return a decorator for a function that refreshes a view: earlier names of its options raise TypeError.

    Args:
        earlier_names: The earlier names, of `REFRESH_OPTIONS`. The error states the new one.
    """

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        """Return the function with a check of its keyword arguments."""

        @wraps(function)
        def checked(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
            """Raise TypeError if an earlier name of an option is given; otherwise call the function."""
            for old in earlier_names:
                if old in named:
                    hint = renamed_hint(old, REFRESH_OPTIONS[old])
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{old}'.{hint}")
            return function(*arguments, **named)

        return checked

    return decorate


def renamed_hint(old: str, new: str | None) -> str:
    """Return ` 'old' is now 'new'.`, with a leading space; "" if `new` is None."""
    return "" if new is None else f" '{old}' is now '{new}'."


def current_metric(name: str) -> str:
    """Return today's name of a metric; a name that was never replaced is returned unchanged.

    If the name has a colon, as in `missing:age`, and was not replaced as a whole, only the part before it is
    translated.
    """
    if name in METRICS:
        return METRICS[name]
    base, colon, column = name.partition(":")
    return f"{COLUMN_METRICS.get(base, base)}{colon}{column}"
