"""Releases that the custodian declared to be about other people: they are not compared."""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.ledger import releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.source import catalog
from dbanon.sqltext import names


def disjoint_names(
    cursor: Any, database: str, names_given: str | Sequence[str], earlier: Sequence[LedgerEntry]
) -> tuple[str, ...]:
    """Return the names of releases and sources that a new version is declared to be disjoint from (about other people).

    Args:
        cursor: A cursor.
        database: The database of the new version.
        names_given: The names in the call, one or several; empty if none is given.
        earlier: The earlier versions of the release, the latest last.

    Returns:
        The names in the call as given; if none is given, those of the previous version; empty without one.

    Raises:
        InvalidArgumentError: A name is neither that of a release nor that of a table or view of `database`.
    """
    if not names_given:
        return earlier[-1].disjoint_from if earlier else ()
    names_given = [names_given] if isinstance(names_given, str) else names_given
    existing = {names.fold_case(e.name) for e in releases.entries(cursor, database)}
    existing |= {names.fold_case(place[2]) for place in catalog.relations(cursor, database)}
    for name in names_given:
        if names.fold_case((names.table_parts(name) or (name,))[-1]) not in existing:
            raise errors.InvalidArgumentError(
                "create_release", "disjoint_from", "names of releases, tables or views", name
            )
    return tuple(names_given)


def without_disjoint(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Return `others` without the versions that are declared to be about other people than `entry`.

    A declaration of either version counts. It can name the release or its source.
    """
    return [o for o in others if not (_declares(entry.disjoint_from, o) or _declares(o.disjoint_from, entry))]


def _declares(declared: Sequence[str], other: LedgerEntry) -> bool:
    """Return whether one of the declared names is that of the release `other` or of its source."""
    return any(_is_named(name, other) for name in declared)


def _is_named(name: str, other: LedgerEntry) -> bool:
    """Return whether a name, of one to three parts, is that of the release `other` or of its source, ignoring case.

    A name without schema or database matches every schema or database.
    """
    source = names.table_parts(str(other.call["source"])) or (str(other.call["source"]),)
    places = ((other.database, other.schema, other.name), (other.database, str(other.call["schema"]), *source)[-3:])
    parts = tuple(map(names.fold_case, names.table_parts(name) or (name,)))
    return any(parts == tuple(map(names.fold_case, place))[-len(parts) :] for place in places)
