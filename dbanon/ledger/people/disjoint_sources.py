"""Releases that the custodian declared to be about other people: they are not compared."""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.ledger import releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.source import catalog
from dbanon.sqltext import names


def disjoint_names(
    cursor: Any, entry: LedgerEntry, names_given: str | Sequence[str], earlier: Sequence[LedgerEntry]
) -> tuple[str, ...]:
    """Return the names from which a version is declared disjoint: those given, or those of the previous version.

    Raises:
        InvalidArgumentError: A name is neither that of a release of the database nor that of a table or view.
    """
    if not names_given:
        return earlier[-1].disjoint_from if earlier else ()
    names_given = [names_given] if isinstance(names_given, str) else names_given
    existing = {names.fold_case(e.name) for e in releases.entries(cursor, entry.database)}
    existing |= {names.fold_case(place[2]) for place in catalog.relations(cursor, entry.database)}
    for name in names_given:
        parts = names.table_parts(name) or (name,)
        if names.fold_case(parts[-1]) not in existing:
            raise errors.InvalidArgumentError(
                "create_release", "disjoint_from", "names of releases, tables or views", name
            )
    return tuple(names_given)


def without_disjoint(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Return the other versions without those that are declared disjoint from an entry, by either of both."""
    return [o for o in others if not (_declares(entry.disjoint_from, o) or _declares(o.disjoint_from, entry))]


def _declares(declared: Sequence[str], other: LedgerEntry) -> bool:
    """Return whether a declaration names a release, or the source of it."""
    return any(_is_named(name, other) for name in declared)


def _is_named(name: str, other: LedgerEntry) -> bool:
    source = names.table_parts(str(other.call["source"])) or (str(other.call["source"]),)
    places = ((other.database, other.schema, other.name), (other.database, str(other.call["schema"]), *source)[-3:])
    parts = tuple(map(names.fold_case, names.table_parts(name) or (name,)))
    return any(parts == tuple(map(names.fold_case, place))[-len(parts) :] for place in places)
