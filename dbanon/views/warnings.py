"""Warnings about a release that was created."""

from collections.abc import Iterable, Mapping
from typing import Any

from dbanon import errors
from dbanon.errors.warnings import PersonSpellingsWarning, UtilityWarning, warn
from dbanon.policy.checks.spellings import count_spellings_sql, has_spellings
from dbanon.source.catalog import Source
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql

MIN_SHARE = 0.5
"""Minimum share of generalized records for a column to count as uninformative, and of dropped rows for a table."""

_METRIC = "fully_generalized:"


def warn_of_one_class(release: str, metrics: Mapping[str, float]) -> None:
    """Issue a UtilityWarning if all records are in one class, in which at least one column is fully generalized.

    `metrics` are the metrics of the release; nothing else is read.
    """
    columns = [name for name, share in _uninformative_shares(metrics) if share == 1]
    if metrics.get("is_single_class") == 1 and columns:
        warn(
            f"{release}: all {int(metrics['records'])} records are in one class, which publishes only the whole range "
            f"or * of {_join_names(columns)}. The release is valid. Hint: to keep more detail, use a smaller k, "
            "weaker models (a greater t), fewer quasi-identifiers or suppress.",
            UtilityWarning,
        )


def warn_of_dropped_rows(release: str, table: str, n_classes: int, n_empty: int, metrics: Mapping[str, float]) -> None:
    """Issue a UtilityWarning if a release drops most rows of a related table to make the numbers per person equal.

    All persons of a class publish as many rows as the person with the fewest, so that a class in which a person has no
    row publishes none.

    Args:
        release: The name of the release.
        table: The related table, as the metrics name it.
        n_classes: The number of classes.
        n_empty: The number of classes that publish no row of the table.
        metrics: The metrics of the release.
    """
    n_published, n_dropped = (int(metrics[f"{name}:{table}"]) for name in ("rows", "rows_surplus"))
    if n_dropped > MIN_SHARE * (n_published + n_dropped):
        warn(
            f"{release}: {n_dropped} of {n_published + n_dropped} rows of {table} are dropped, because each person of "
            f"a class publishes as many rows as the one with the fewest; {n_empty} of {n_classes} classes publish "
            f"none. The release is valid. Hint: release a table of only the people with rows of {table}, use a "
            "smaller k or l, or best if you called another algorithm.",
            UtilityWarning,
        )


def warn_of_person_spellings(cursor: Any, rows: Sql, source: Source, person: str | None) -> None:
    """Issue a PersonSpellingsWarning if ids of the person column differ only by blanks, case or leading zeros.

    Does nothing if there is no person column (`person` is None), or if its type has only one spelling for each value.

    Args:
        cursor: A cursor.
        rows: The relation whose ids are counted.
        source: The source; it gives the type of the column and the name in the message.
        person: The person column.
    """
    if person is not None and has_spellings(source.columns.get(person, "")):
        warn_of_spellings(cursor, rows, source.shown, person)


def warn_of_spellings(cursor: Any, rows: Sql, source_name: str, person: str) -> None:
    """Issue a PersonSpellingsWarning if ids in a column differ only by blanks, case or leading zeros.

    Args:
        cursor: A cursor.
        rows: The relation whose ids are counted.
        source_name: The name of the source in the message.
        person: The column with the ids.
    """
    ((n_ids,),) = cursor.execute(qualify_builtins(count_spellings_sql(rows, person))).fetchall()
    if n_ids:
        warn(str(errors.PersonSpellingsError(source_name, person, n_ids)), PersonSpellingsWarning)


def describe_generalized(metrics: Mapping[str, float]) -> list[str]:
    """Return a list with one sentence that names the columns published as `*` or whole range for most records.

    The list is empty if there are none, or if all records are in one class (see `warn_of_one_class`). A column counts
    if its share of fully generalized records is more than MIN_SHARE.
    """
    columns = [(name, share) for name, share in _uninformative_shares(metrics) if share > MIN_SHARE]
    if not columns or metrics.get("is_single_class") == 1:
        return []
    descriptions = [f"{name} ({min(int(share * 100), 99) if share < 1 else 100} %)" for name, share in columns]
    return [
        f"Published as * or the whole range for most records: {', '.join(descriptions)}. To keep more detail, use "
        "fewer quasi-identifiers, a smaller k, weaker models (a greater t), a better hierarchy or greater weights."
    ]


def _uninformative_shares(metrics: Mapping[str, float]) -> Iterable[tuple[str, float]]:
    """Yield every column that has the metric `fully_generalized:COLUMN`, with that share of records (0 to 1)."""
    return ((name.removeprefix(_METRIC), share) for name, share in metrics.items() if name.startswith(_METRIC))


def _join_names(columns: list[str]) -> str:
    """Return names as text, the last one after "and"."""
    return columns[0] if len(columns) == 1 else f"{', '.join(columns[:-1])} and {columns[-1]}"
