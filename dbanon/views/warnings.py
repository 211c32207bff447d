"""What is said of a release that was made: warnings, never errors."""

from collections.abc import Iterable, Mapping
from typing import Any

from dbanon import errors
from dbanon.errors.warnings import PersonSpellingsWarning, UtilityWarning, warn
from dbanon.policy.checks.person_spellings import count, is_spelled
from dbanon.source.catalog import Source
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql

MOST = 0.5
"""Share of the records from which on a column counts as one that tells nothing."""

_METRIC = "fully_generalized:"


def one_class(release: str, metrics: Mapping[str, float]) -> None:
    """UtilityWarning where all records of a release are in one class and generalized, by its measures."""
    columns = [name for name, share in _shares(metrics) if share == 1]
    if metrics.get("one_class") == 1 and columns:
        warn(
            f"{release}: all {int(metrics['records'])} records are in one class, which says nothing of "
            f"{_listed(columns)} but the whole range or *. The release is valid. Hint: a smaller k, weaker models (a "
            "greater t), fewer quasi-identifiers or suppress keep something.",
            UtilityWarning,
        )


def person_spellings(cursor: Any, rows: Sql, source: Source, person: str | None) -> None:
    """Issue a PersonSpellingsWarning where a person column of a source has ids in several spellings."""
    if person is not None and is_spelled(source.columns.get(person, "")):
        spellings_of(cursor, rows, source.shown, person)


def spellings_of(cursor: Any, rows: Sql, shown: str, person: str) -> None:
    """Issue a PersonSpellingsWarning where a column of rows has ids in several spellings."""
    ((n_ids,),) = cursor.execute(qualify_builtins(count(rows, person))).fetchall()
    if n_ids:
        warn(str(errors.PersonSpellingsError(shown, person, n_ids)), PersonSpellingsWarning)


def generalized(metrics: Mapping[str, float]) -> list[str]:
    """A sentence on the columns of a release that are published as `*` for most records; none where there are no such
    columns, or where `one_class` has said it."""
    found = [(name, share) for name, share in _shares(metrics) if share > MOST]
    if not found or metrics.get("one_class") == 1:
        return []
    shown = [f"{name} ({min(int(share * 100), 99) if share < 1 else 100} %)" for name, share in found]
    return [
        f"Published as * or the whole range for most records: {', '.join(shown)}. Fewer quasi-identifiers, a "
        "smaller k, weaker models (a greater t), a better hierarchy or greater weights keep more of them."
    ]


def _shares(metrics: Mapping[str, float]) -> Iterable[tuple[str, float]]:
    """Return columns, and the share of the records for which each tells nothing."""
    return ((name.removeprefix(_METRIC), share) for name, share in metrics.items() if name.startswith(_METRIC))


def _listed(columns: list[str]) -> str:
    return columns[0] if len(columns) == 1 else f"{', '.join(columns[:-1])} and {columns[-1]}"
