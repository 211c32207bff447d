"""Recognize the people of a version in another one in which they have different keys.

People are first recognized by the canonical text of their keys. The remaining people of both versions are compared: by
keys that differ only in blanks, case and leading zeros, and by the values of their records. If their records agree far
more often than chance explains, they are taken for the same people under other keys, and the versions are compared as
if the keys were equal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbanon.ledger.composition import version_differences
from dbanon.ledger.people import chance_agreement
from dbanon.ledger.releases import LedgerEntry
from dbanon.policy.checks.spellings import NORMALIZED_VALUE
from dbanon.source.canonical_text import FORMAT
from dbanon.sqltext import templates
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier

_PLAIN_KEY = Sql(NORMALIZED_VALUE.replace("value", r"regexp_replace(value, '^(\s*[0-9]+)\.0+\s*$', '\1')", 1))
"""SQL of a key `value` without blanks, capitals, leading zeros, and zeros behind the point of a number."""

_MAX_COLUMNS = 8
"""From this number of columns on, records are not also compared with each single column omitted."""


@dataclass(frozen=True)
class Recognized:
    """The result of recognizing the people of a new version in another one.

    Attributes:
        other: The other version; its people have the keys of the new one, as far as they are recognized.
        people: Number of people of the smaller of both versions; of records, if no column identifies people.
        by_key: Number of people with the same key in both.
        by_spelling: Number of further people whose keys differ only by blanks, case or leading zeros.
        by_records: Number of further people recognized by their records; None if too few remain, or if their records
            agree no more than by chance.
        unmatched: Number of people of the new version, and of the other one, who are not recognized.
        columns: The names, in lower case, of the columns by which records were recognized.
        is_comparable: Whether the other version has hashes of the present format.
        are_others: Whether no column identifies people and the records agree no more than those of different people.
        respelled: The other version with its values as the new one spells them; None if all spellings are equal.
    """

    other: LedgerEntry
    people: int
    by_key: int
    by_spelling: int = 0
    by_records: int | None = None
    unmatched: tuple[int, int] = (0, 0)
    columns: tuple[str, ...] = ()
    is_comparable: bool = True
    are_others: bool = False
    respelled: LedgerEntry | None = None

    @property
    def total(self) -> int:
        """Number of people who are recognized in any way."""
        return self.by_key + self.by_spelling + (self.by_records or 0)


def recognize(cursor: Any, entry: LedgerEntry, others: Sequence[LedgerEntry]) -> list[Recognized]:
    """Recognize the people of a version that was just written in each of the other versions; one result for each.

    Creates temporary tables on the cursor, which exist until `drop_temporary_tables`. Linear in the records of both
    versions for each other one.
    """
    results = [_recognize(cursor, entry, other, i) for i, other in enumerate(others)]
    return [_with_respelled_values(cursor, entry, result, i) for i, result in enumerate(results)]


def _with_respelled_values(cursor: Any, entry: LedgerEntry, recognized: Recognized, i: int) -> Recognized:
    """Return `recognized`, with `respelled` set if the versions spell values of the same people differently.

    Only values that occur in one of the versions are compared. A value of the other version is respelled as a value of
    the new one if most people with the former now have the latter, and most people with the latter had the former. The
    result is unchanged if there are no such values, or if the versions do not publish comparable values of the same
    people.

    Args:
        cursor: A cursor, on which the temporary table of these pairs is created.
        entry: The new version.
        recognized: The result of recognizing people in the other version.
        i: Number of the other version, which is part of the temporary table's name.
    """
    other = recognized.other
    if not (
        entry.values
        and version_differences.are_comparable(entry, other)
        and version_differences.same_values(entry, other)
    ):
        return recognized
    cursor.execute(
        templates.fill(
            "ledger/people/same_values.sql",
            same=_temporary_table("same values", i),
            mine=entry.members,
            theirs=other.members,
        )
    )
    if not cursor.execute(f"SELECT 1 FROM {_temporary_table('same values', i)} LIMIT 1").fetchall():
        return recognized
    return replace(recognized, respelled=replace(other, same_values=_temporary_table("same values", i)))


def is_same_release(cursor: Any, entry: LedgerEntry, other: LedgerEntry) -> bool:
    """Return whether two versions publish the same rows equally often, so that a reader learns no more from both.

    Compares hashes of the generalized quasi-identifiers and of the other published values: first their sums, then, if
    these are equal, each of them. False also if the hashes have different formats or the columns differ.
    """
    if (
        entry.hash_format != other.hash_format
        or not version_differences.same_values(entry, other)
        or entry.quasi != other.quasi
        or _sum_of_rows(cursor, entry) != _sum_of_rows(cursor, other)
    ):
        return False
    query = templates.fill("ledger/people/same_release.sql", mine=entry.members, theirs=other.members)
    return bool(cursor.execute(query).fetchall()[0][0] == 0)


def _sum_of_rows(cursor: Any, version: LedgerEntry) -> Sequence[object]:
    """Return the number of the records of a version, and a sum of hashes of the rows that they publish.

    Versions with equal rows have equal sums; those with equal sums need not have equal rows.
    """
    row_sum = "system.main.sum(system.main.hash(label_hash, value_hash)::HUGEINT * records)"
    query = f"SELECT system.main.sum(records), {row_sum} FROM {version.members} WHERE class_id IS NOT NULL"
    return tuple(cursor.execute(query).fetchall()[0])


def drop_temporary_tables(cursor: Any, n_versions: int) -> None:
    """Drop the temporary tables that `recognize` created for the first `n_versions` versions, if they exist."""
    for i in range(n_versions):
        for content in ("unrecognized", "same people", "same values"):
            cursor.execute(f"DROP TABLE IF EXISTS {_temporary_table(content, i)}")


def _temporary_table(content: str, i: int) -> Sql:
    """Return the name of the temporary table for the other version number `i` with a content.

    Args:
        content: `unrecognized`: the records of unrecognized people. `same people`: (their_key, person_key) of matched
            people. `same values`: (their_value, value_hash) of respelled values.
        i: The number of the other version.
    """
    return Sql(f"temp.main.{identifier(f'dbanon {content} {i}')}")


def _recognize(cursor: Any, entry: LedgerEntry, other: LedgerEntry, i: int) -> Recognized:
    """Recognize the people of `entry` in the version `other`: by key, then by spelling, then by the values of records.

    Without a common person key, records are compared: by their hash, then by columns. Later steps are skipped if no one
    is unmatched, and the last one if fewer than k people are, or the hashes of columns cannot be compared. If people
    were matched by spelling or records, `other` in the result reads their keys as those of `entry`. `i` numbers the
    temporary tables.
    """
    has_keys = version_differences.are_comparable(entry, other)
    identity = Sql("person_key" if has_keys else "row_hash")
    mine, theirs, by_key = cursor.execute(
        templates.fill(
            "ledger/people/recognized_people.sql",
            mine=entry.members,
            theirs=other.members,
            who=identity,
            has_keys=has_keys,
        )
    ).fetchall()[0]
    recognized = Recognized(other, min(mine, theirs), by_key, is_comparable=other.hash_format == FORMAT)
    n_left = min(mine, theirs) - by_key
    if not n_left:
        return recognized
    columns = _common_columns(entry, other) if recognized.is_comparable else []
    cursor.execute(
        templates.fill(
            "ledger/people/unrecognized_people.sql",
            table=_temporary_table("unrecognized", i),
            mine=entry.members,
            theirs=other.members,
            who=identity,
            has_keys=has_keys,
            columns=columns,
        )
    )
    by_spelling = _match_by_spelling(cursor, i) if has_keys else 0
    agreement, is_chance = None, False
    if columns and n_left - by_spelling >= min(entry.k, other.k):
        agreement, is_chance = _best_agreement(cursor, i, columns, has_keys)
    by_records = None
    if agreement is not None:
        by_records = _match_by_records(cursor, i, columns, agreement) if has_keys else agreement.common
    agreeing = tuple(columns[n].name for n in agreement.column_indexes) if agreement else ()
    total = by_key + by_spelling + (by_records or 0)
    if not has_keys and by_records is not None:  # all records were compared
        by_key, total = 0, by_records
    recognized = replace(
        recognized,
        by_key=by_key,
        by_spelling=by_spelling,
        by_records=by_records,
        unmatched=(mine - total, theirs - total),
        columns=agreeing,
    )
    if is_chance and not has_keys:
        return replace(recognized, by_key=0, are_others=True)
    if has_keys and (by_spelling or by_records):
        recognized = replace(recognized, other=replace(other, same_people=_temporary_table("same people", i)))
    return recognized


@dataclass(frozen=True)
class _CommonColumn:
    """A column of which both versions have hashes.

    `name` is in lower case. `mine` and `theirs` are SQL of its hash in the new version and in the other one.
    """

    name: str
    is_quasi: bool
    mine: Sql
    theirs: Sql

    @property
    def column(self) -> Sql:
        """The quoted name of the column in the temporary table of unrecognized people."""
        return column_reference(self.name)


def _common_columns(entry: LedgerEntry, other: LedgerEntry) -> list[_CommonColumn]:
    """Return the columns of which both versions have comparable hashes, in the order of `entry`.

    Quasi-identifiers are first.
    """
    mine, theirs = ({**_places(e.quasi, "quasi_cells"), **_places(e.values, "cells")} for e in (entry, other))
    shared = [
        name
        for name in mine
        if name in theirs and (name not in _lower(entry.values) or entry.has_comparable_values(other, name))
    ]
    return [_CommonColumn(name, name in _lower(entry.quasi), mine[name], theirs[name]) for name in shared]


def _lower(names: Sequence[str]) -> list[str]:
    """Return the names in lower case."""
    return [fold_case(name) for name in names]


def _places(names: Sequence[str], column: str) -> dict[str, Sql]:
    """Map each name, in lower case, to SQL such as `cells[2]`: the element of array `column` at its position."""
    return {name: Sql(f"{column}[{place}]") for place, name in enumerate(_lower(names), 1)}


def _match_by_spelling(cursor: Any, i: int) -> int:
    """Match people not matched by key whose keys differ only by blanks, case or leading zeros; return their number.

    Replaces the temporary table of matched people for the other version number `i`. A key that would match several keys
    is not matched.
    """
    query = templates.fill(
        "ledger/people/same_spelling.sql",
        units=_temporary_table("unrecognized", i),
        same=_temporary_table("same people", i),
        plain=_PLAIN_KEY,
    )
    for statement in query.split(";\n"):
        cursor.execute(statement)
    return int(cursor.execute(f"SELECT count(*) FROM {_temporary_table('same people', i)}").fetchall()[0][0])


def _match_by_records(
    cursor: Any, i: int, columns: Sequence[_CommonColumn], agreement: chance_agreement.Agreement
) -> int:
    """Match the people of two versions who are not matched yet and have equal records in the columns of `agreement`.

    The matches are added to the temporary table of matched people for the other version number `i`. Among several
    people with equal records, matches follow the order of their keys.

    Returns:
        The number of people matched by this.
    """
    n_before = cursor.execute(f"SELECT count(*) FROM {_temporary_table('same people', i)}").fetchall()[0][0]
    cursor.execute(
        templates.fill(
            "ledger/people/same_records.sql",
            units=_temporary_table("unrecognized", i),
            same=_temporary_table("same people", i),
            columns=[columns[n].column for n in agreement.column_indexes],
        )
    )
    return int(cursor.execute(f"SELECT count(*) FROM {_temporary_table('same people', i)}").fetchall()[0][0] - n_before)


def _best_agreement(
    cursor: Any, i: int, columns: Sequence[_CommonColumn], has_keys: bool
) -> tuple[chance_agreement.Agreement | None, bool]:
    """Return the best significant agreement of the unmatched people, and whether their records agree only by chance.

    Records are compared in several sets of columns. The best agreement is that with the most common records; None if
    none is significant. The second value is true if all columns together would show equal people but do not, and no set
    of columns agrees notably.

    Args:
        cursor: A cursor; some values in the temporary table are replaced by ranks, see `_rank_respelled`.
        i: Number of the other version, which is part of the temporary table's name.
        columns: The columns of which both versions have hashes.
        has_keys: Whether people have keys; their records are then compared person by person.
    """
    ranked_columns = _rank_respelled(cursor, i, columns, has_keys)

    def compare(places: tuple[int, ...]) -> chance_agreement.Agreement:
        """Return the agreement of the unmatched people in the columns with the indexes `places`, from one query."""
        query = templates.fill(
            "ledger/people/agreement.sql",
            units=_temporary_table("unrecognized", i),
            same=_temporary_table("same people", i),
            columns=[columns[n].column for n in places],
            has_keys=has_keys,
        )
        return chance_agreement.agreement(cursor.execute(query).fetchall(), places)

    agreements = [compare(places) for places in _column_sets(columns)]
    agreeing = tuple(n for n in range(len(columns)) if compare((n,)).is_mostly_same)
    for places in (agreeing, tuple(n for n in agreeing if n not in ranked_columns)):
        if places and all(places != agreement.column_indexes for agreement in agreements):
            agreements.append(compare(places))
    significant = [agreement for agreement in agreements if agreement.is_no_chance]
    is_chance = agreements[0].is_decidable and not any(agreement.is_notable for agreement in agreements)
    return max(significant, key=lambda a: (a.common, len(a.column_indexes)), default=None), is_chance


def _rank_respelled(cursor: Any, i: int, columns: Sequence[_CommonColumn], has_keys: bool) -> set[int]:
    """Replace values by frequency ranks in columns in which no value is in both versions; return the columns' indexes.

    Changes the temporary table of unrecognized people of version number `i`. Frequency ranks stay the same if every
    value of a column was spelled otherwise. `has_keys`: whether people have keys.
    """
    ranked_columns = set()
    for n, column in enumerate(columns):
        query = templates.fill(
            "ledger/people/ranked_values.sql",
            units=_temporary_table("unrecognized", i),
            column=column.column,
            has_keys=has_keys,
        )
        check, rank = query.split(";\n")[:2]
        if not cursor.execute(check).fetchall()[0][0]:
            cursor.execute(rank)
            ranked_columns.add(n)
    return ranked_columns


def _column_sets(columns: Sequence[_CommonColumn]) -> Iterator[tuple[int, ...]]:
    """Yield the distinct sets of column indexes by which records are compared; empty sets are not yielded.

    They are all columns; for three to seven columns, all but one of them; all quasi-identifiers; and all other columns.
    """
    all_places = tuple(range(len(columns)))
    choices = [all_places]
    if 2 < len(all_places) < _MAX_COLUMNS:
        choices += [tuple(n for n in all_places if n != omitted) for omitted in all_places]
    choices += [tuple(n for n in all_places if columns[n].is_quasi is side) for side in (True, False)]
    yield from dict.fromkeys(choice for choice in choices if choice)
