"""Find releases whose sources have the same records under other names: a renamed table, a copy, a conversion.

For each record, the ledger's membership has its person and a hash of all its values that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbanon.ledger.releases import LedgerEntry
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, join_sql, literal, qualified, text

MIN_SHARE = 0.5
"""Minimum share of the records of the smaller source that are in the other one for both to count as the same."""

_SKETCH_SIZE = 256


@dataclass(frozen=True)
class _Sketch:
    """A sample of the records of a version to compare it with others.

    `n_records` is the number of rows of its membership with a person; `min_hashes` are the 256 smallest hashes of
    (person, record).
    """

    n_records: int
    min_hashes: tuple[int, ...]

    def share(self, other: _Sketch) -> float:
        """Estimate which share of the smaller version's records is in the other version, from 0 to 1.

        0 if both are empty. Beyer et al., On synopses for distinct-value estimation under multiset operations, SIGMOD
        2007: among the least hashes of a union, the share that is in both estimates the Jaccard index.
        """
        union = sorted({*self.min_hashes, *other.min_hashes})[:_SKETCH_SIZE]
        if not union:
            return 0.0
        jaccard = len(set(union) & set(self.min_hashes) & set(other.min_hashes)) / len(union)
        n_common = jaccard / (1 + jaccard) * (self.n_records + other.n_records)
        return n_common / min(self.n_records, other.n_records)


def same_content(entry: LedgerEntry, others: Sequence[LedgerEntry], cursor: Any) -> list[LedgerEntry]:
    """Return the versions in `others` of all releases whose latest version has mostly the records of `entry`.

    At least half of the records of the smaller of both versions must be, by estimate, in the other one. Two records are
    the same if their persons and their values are equal. Only releases with the key columns of `entry` are compared.
    The result is empty if `entry` has no key columns. One scan of the memberships of the latest versions.
    """
    key = [fold_case(column) for column in entry.person_key or ()]
    latest = {
        other.place[:3]: other
        for other in sorted(others, key=lambda e: e.version)
        if key and key == [fold_case(column) for column in other.person_key or ()]
    }
    sketches: dict[tuple[str, str, str, int], _Sketch] = {}
    for database in dict.fromkeys(e.database for e in latest.values()):
        sketches |= _sketches([e for e in (entry, *latest.values()) if e.database == database], cursor)
    if latest and entry.place not in sketches:
        sketches |= _sketches([entry], cursor)
    mine = sketches.get(entry.place)
    same = {
        name
        for name, other in latest.items()
        if mine and other.place in sketches and mine.share(sketches[other.place]) >= MIN_SHARE
    }
    return [other for other in others if other.place[:3] in same]


def _sketches(versions: Sequence[LedgerEntry], cursor: Any) -> dict[tuple[str, str, str, int], _Sketch]:
    """Return the sketches (samples of hashes) of versions, by (database, schema, lower-case name, version).

    Versions without records of known persons are missing. `versions` must not be empty and must be in one database.
    """
    version_keys = join_sql(Sql(f"({text(e.schema)}, {text(e.name)}, {literal(e.version)})") for e in versions)
    rows = cursor.execute(
        "SELECT schema_name, release, version, count(*), "
        f"min(hash(person_key, row_hash), {_SKETCH_SIZE}) FROM {qualified(versions[0].database, SCHEMA, 'membership')} "
        f"WHERE person_key IS NOT NULL AND (schema_name, release, version) IN ({version_keys}) GROUP BY ALL"
    ).fetchall()
    return {
        (versions[0].database, schema, name.lower(), version): _Sketch(n_records, tuple(min_hashes))
        for schema, name, version, n_records, min_hashes in rows
    }
