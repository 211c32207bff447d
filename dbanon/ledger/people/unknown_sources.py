"""Find releases for which it is unknown whether they are about the same people.

Two sources can be the same although their names do not show it: a table was renamed, a view computes the path of its
file, or reads relations that cannot be bound. Such a pair counts as unknown, not as unrelated.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.errors.warnings import DisclosureWarning, warn
from dbanon.ledger import related_releases, releases, same_source, streams
from dbanon.ledger.people.disjoint_sources import without_disjoint
from dbanon.ledger.releases import LedgerEntry
from dbanon.ledger.same_source import Base
from dbanon.source import attached_databases, catalog
from dbanon.source.file_identity import CONTENT
from dbanon.sqltext import names

Published = LedgerEntry | streams.StreamEntry | related_releases.RelatedRelease

RELATION_UNKNOWN = " (relation unknown)"
"""Marks, among the versions that were compared by counts only in the ledger, one that was not compared."""


def unknown_relations(
    cursor: Any, new: Published, composition_rule: str, compared: Sequence[LedgerEntry] = ()
) -> dict[str, str]:
    """Return the releases that may be about the people of a new one: a reason for each display name.

    A release is returned if a source of it or of the new one reads something undetermined. It is also returned if more
    than half of its columns are columns of the new one, and a table behind it does not exist any more under its name.
    Releases with a common base table, declared as disjoint, or in `compared` are not unknown.

    Args:
        cursor: A cursor that sees the ledgers.
        new: The release or stream that is about to be published.
        composition_rule: `refuse` to raise an error if there are some; else they are only returned.
        compared: Versions that are known to be about the same people.

    Raises:
        UnknownRelationError: There are some, and `composition_rule` is `refuse`.
    """
    places, columns = same_source.comparable_bases(new), frozenset[str]().union(*_source_columns(new))
    unknown_bases = _unknown_bases(new)
    compared_places = {entry.place for entry in compared}
    existing: set[Base] | None = None
    reasons: dict[str, str] = {}
    for other in _all_published(cursor):
        other_bases = same_source.comparable_bases(other)
        is_compared = isinstance(other, LedgerEntry) and (
            other.place in compared_places or (isinstance(new, LedgerEntry) and not without_disjoint(new, [other]))
        )
        if other.display_name in reasons or is_compared or places & other_bases:
            continue
        if base_reasons := unknown_bases or _unknown_bases(other):
            reasons[other.display_name] = f"a source reads {', '.join(base_reasons)}"
        elif any(
            2 * len(columns & older) > len(older) for older in _source_columns(other)
        ):  # more than half are in both
            existing = _existing_relations(cursor) if existing is None else existing
            if missing := [place for place in sorted(other_bases) if not _exists(place, existing)]:
                reasons[other.display_name] = (
                    f"{'.'.join(filter(None, missing[0]))} does not exist any more under this name"
                )
    if reasons and composition_rule == "refuse":
        raise errors.UnknownRelationError(new.display_name, reasons)
    return reasons


def warn_of_unknown(new: Published, unknown: Mapping[str, str]) -> None:
    """Issue one DisclosureWarning if it is unknown whether other releases are about the people of a new one.

    `unknown` maps the name of each such release to the reason; there is no warning if it is empty.
    """
    if unknown:
        warn(str(errors.UnknownRelationError(new.display_name, unknown)), DisclosureWarning)


def _all_published(cursor: Any) -> Iterator[Published]:
    """Yield all releases, streams and releases of related tables in the attached ledgers, dropped ones included.

    Releases come first, those of a database in the reverse order of schema, name and version.
    """
    for database in same_source.ledgers("release", cursor):
        yield from reversed(releases.entries(cursor, database))
    for database in same_source.ledgers("stream", cursor):
        yield from streams.entries(cursor, database)
    for database in same_source.ledgers("related_release", cursor):
        yield from related_releases.entries(cursor, database)


def _unknown_bases(release: Published) -> list[str]:
    """Return the reasons for which reads of the release's source are undetermined; empty if all are determined."""
    return [
        base.removeprefix(same_source.UNKNOWN) for base in release.bases or () if base.startswith(same_source.UNKNOWN)
    ]


def _source_columns(release: Published) -> list[frozenset[str]]:
    """Return, for each source of a release, the set of its column names with case folded."""
    sources = release.columns if isinstance(release, related_releases.RelatedRelease) else [release.roles]
    return [frozenset(map(names.fold_case, columns)) for columns in sources]


def _existing_relations(cursor: Any) -> set[Base]:
    """Return all tables and views of attached databases as (database, schema, name) in lower case.

    The database is its attached name. A table of another database system is included a second time with the identity by
    which ledgers name the database, if that can be determined.
    """
    existing: set[Base] = set()
    for (database,) in cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal"
    ).fetchall():
        database_names = {database}
        if (kind := attached_databases.database_kind(cursor, database)) is not None:
            with contextlib.suppress(errors.DatabaseIdentityUnavailableError):  # then no ledger names it so
                database_names.add(attached_databases.identity("create_release", cursor, database, kind))
        existing |= {
            (name.lower(), schema.lower(), table.lower())
            for _, schema, table in catalog.relations(cursor, database)
            for name in database_names
        }
    return existing


def _exists(place: Base, existing: set[Base]) -> bool:
    """Return whether a table or file behind a release still exists; false only if that is certain.

    Tables in databases that ledgers name by an identity (with a colon) count as existing if the database is not
    attached. Files named by content hash or URL count as existing.

    Args:
        place: Database, schema and table; for a file empty texts and its path.
        existing: All relations of attached databases.
    """
    database, schema, table = place
    if database or schema:
        # of a database of another system that is not attached nothing is known
        return place in existing or (":" in database and all(place[0] != database for place in existing))
    return table.startswith(CONTENT) or names.url_scheme(table) is not None or Path(table).exists()
