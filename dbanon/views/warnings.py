"""Warnings about a release that was created."""

from collections.abc import Iterable, Mapping
from typing import Any

from dbanon import errors
from dbanon.errors.warnings import PersonSpellingsWarning, UtilityWarning, warn
from dbanon.policy.checks.person_spellings import count_spellings_sql, has_spellings
from dbanon.source.catalog import Source
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql

MIN_SHARE = 0.5
"""Minimum share of generalized records for a column to count as uninformative."""

_METRIC = "fully_generalized:"


def warn_of_one_class(release: str, metrics: Mapping[str, float]) -> None:
    """Issue a UtilityWarning if all records of a release are in one class and generalized, by its metrics."""
    columns = [name for name, share in _uninformative_shares(metrics) if share == 1]
    if metrics.get("is_single_class") == 1 and columns:
        warn(
            f"{release}: all {int(metrics['records'])} records are in one class, which says nothing of "
            f"{_join_names(columns)} but the whole range or *. The release is valid. Hint: a smaller k, weaker models "
            "(a greater t), fewer quasi-identifiers or suppress keep something.",
            UtilityWarning,
        )


def warn_of_person_spellings(cursor: Any, rows: Sql, source: Source, person: str | None) -> None:
    """Issue a PersonSpellingsWarning if a person column of a source has ids in several spellings."""
    if person is not None and has_spellings(source.columns.get(person, "")):
        warn_of_spellings(cursor, rows, source.shown, person)


def warn_of_spellings(cursor: Any, rows: Sql, source_name: str, person: str) -> None:
    """Issue a PersonSpellingsWarning if a column of rows has ids in several spellings."""
    ((n_ids,),) = cursor.execute(qualify_builtins(count_spellings_sql(rows, person))).fetchall()
    if n_ids:
        warn(str(errors.PersonSpellingsError(source_name, person, n_ids)), PersonSpellingsWarning)


def describe_generalized(metrics: Mapping[str, float]) -> list[str]:
    """Return a sentence on the columns that are published as `*` for most records.

    Empty if there are none, or if `warn_of_one_class` has warned of them.
    """
    columns = [(name, share) for name, share in _uninformative_shares(metrics) if share > MIN_SHARE]
    if not columns or metrics.get("is_single_class") == 1:
        return []
    descriptions = [f"{name} ({min(int(share * 100), 99) if share < 1 else 100} %)" for name, share in columns]
    return [
        f"Published as * or the whole range for most records: {', '.join(descriptions)}. Fewer quasi-identifiers, a "
        "smaller k, weaker models (a greater t), a better hierarchy or greater weights keep more of them."
    ]


def _uninformative_shares(metrics: Mapping[str, float]) -> Iterable[tuple[str, float]]:
    """Return columns, and the share of the records for which each is fully generalized."""
    return ((name.removeprefix(_METRIC), share) for name, share in metrics.items() if name.startswith(_METRIC))


def _join_names(columns: list[str]) -> str:
    return columns[0] if len(columns) == 1 else f"{', '.join(columns[:-1])} and {columns[-1]}"
