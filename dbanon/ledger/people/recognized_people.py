"""Which people of a version are those of an earlier one, where their keys do not say so.

People are first recognised by the canonical text of their keys. Those of both versions who are left are compared: by
keys that differ only in blanks, case and leading zeros, and by what their records say. If their records agree far more
often than chance explains, they are taken for the same people under other keys, and the versions are compared by that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbanon.ledger.composition import version_differences
from dbanon.ledger.people import chance_agreement
from dbanon.ledger.releases import Entry
from dbanon.policy.checks.person_spellings import PLAIN
from dbanon.source.canonical_text import FORMAT
from dbanon.sqltext import templates
from dbanon.sqltext.quote import Sql, identifier

_PLAIN_KEY = Sql(PLAIN.replace("value", r"regexp_replace(value, '^(\s*[0-9]+)\.0+\s*$', '\1')", 1))
"""SQL of a key `value` without blanks, capitals, leading zeros, and zeros behind the point of a number."""

_MOST_COLUMNS = 8
"""From this number of columns on, records are not also compared without each single one of them."""


@dataclass(frozen=True)
class Recognized:
    """How the people of a new version are recognised in another one.

    Args:
        other: The other version; its people have the keys of the new one, as far as they are recognised.
        people: The people of the smaller of both versions; records, where no column tells people apart.
        by_key: How many of them have the same key in both.
        by_spelling: How many more differ only by blanks, case or leading zeros in their keys.
        by_records: How many more are taken for the same people because of their records; None where too few are left,
            or where their records agree no more than by chance.
        unmatched: How many people of the new version, and of the other one, are recognised in no way.
        columns: The columns by which the records are the same.
        is_comparable: Whether both versions have hashes of the same format.
        respelled: The other version with its values as the new one spells them; None where they are spelled alike.
        are_others: Whether no column tells people apart and the records agree no more than those of different people.
    """

    other: Entry
    people: int
    by_key: int
    by_spelling: int = 0
    by_records: int | None = None
    unmatched: tuple[int, int] = (0, 0)
    columns: tuple[str, ...] = ()
    is_comparable: bool = True
    are_others: bool = False
    respelled: Entry | None = None

    @property
    def total(self) -> int:
        """How many people are recognised in any way."""
        return self.by_key + self.by_spelling + (self.by_records or 0)


def recognize(cursor: Any, entry: Entry, others: Sequence[Entry]) -> list[Recognized]:
    """Return how people of a version that was just written are recognised in each other one.

    Temporary tables are left on the cursor until `forget`. Linear in the records of both versions for each other one.
    """
    found = [_recognize(cursor, entry, other, i) for i, other in enumerate(others)]
    return [_with_values(cursor, entry, recognized, i) for i, recognized in enumerate(found)]


def _with_values(cursor: Any, entry: Entry, recognized: Recognized, i: int) -> Recognized:
    """Recognise values of people that are spelled otherwise in the other version."""
    other = recognized.other
    if not (
        entry.values and version_differences.comparable(entry, other) and version_differences.same_values(entry, other)
    ):
        return recognized
    cursor.execute(
        templates.fill("ledger/people/same_values.sql", same=_spelled(i), mine=entry.members, theirs=other.members)
    )
    if not cursor.execute(f"SELECT 1 FROM {_spelled(i)} LIMIT 1").fetchall():
        return recognized
    return replace(recognized, respelled=replace(other, same_values=_spelled(i)))


def is_same_release(cursor: Any, entry: Entry, other: Entry) -> bool:
    """Return whether two versions publish the same rows: then who has both knows no more than who has one of them."""
    if (
        entry.hash_format != other.hash_format
        or not version_differences.same_values(entry, other)
        or entry.quasi != other.quasi
    ):
        return False
    query = templates.fill("ledger/people/same_release.sql", mine=entry.members, theirs=other.members)
    return bool(cursor.execute(query).fetchall()[0][0] == 0)


def forget(cursor: Any, count: int) -> None:
    """Drop the temporary tables of `recognize`, which looked at `count` versions."""
    for i in range(count):
        for name in (_units(i), _same(i), _spelled(i)):
            cursor.execute(f"DROP TABLE IF EXISTS {name}")


def _units(i: int) -> Sql:
    return Sql(f"temp.main.{identifier(f'dbanon unrecognized {i}')}")


def _same(i: int) -> Sql:
    return Sql(f"temp.main.{identifier(f'dbanon same people {i}')}")


def _spelled(i: int) -> Sql:
    return Sql(f"temp.main.{identifier(f'dbanon same values {i}')}")


def _recognize(cursor: Any, entry: Entry, other: Entry, i: int) -> Recognized:
    has_keys = version_differences.comparable(entry, other)
    who = Sql("person_key" if has_keys else "row_hash::VARCHAR")
    mine, theirs, by_key = cursor.execute(
        templates.fill(
            "ledger/people/recognized_people.sql", mine=entry.members, theirs=other.members, who=who, has_keys=has_keys
        )
    ).fetchall()[0]
    found = Recognized(other, min(mine, theirs), by_key, is_comparable=other.hash_format == FORMAT)
    n_left = min(mine, theirs) - by_key
    if not n_left:
        return found
    columns = _common(entry, other) if found.is_comparable else []
    cursor.execute(
        templates.fill(
            "ledger/people/unrecognized_people.sql",
            table=_units(i),
            mine=entry.members,
            theirs=other.members,
            who=who,
            has_keys=has_keys,
            columns=[{"i": n, "mine": c.mine, "theirs": c.theirs} for n, c in enumerate(columns)],
        )
    )
    by_spelling = _spelled_alike(cursor, i) if has_keys else 0
    agreement, is_chance = None, False
    if columns and n_left - by_spelling >= min(entry.k, other.k):
        agreement, is_chance = _agreement(cursor, i, columns, has_keys)
    by_records = None
    if agreement is not None:
        by_records = _same_records(cursor, i, agreement) if has_keys else agreement.common
    agreeing = tuple(columns[n].name for n in agreement.places) if agreement else ()
    total = by_key + by_spelling + (by_records or 0)
    if not has_keys and by_records is not None:  # all records were compared
        by_key, total = 0, by_records
    n_unmatched = (mine - total, theirs - total)
    found = replace(
        found, by_key=by_key, by_spelling=by_spelling, by_records=by_records, unmatched=n_unmatched, columns=agreeing
    )
    if is_chance and not has_keys:
        return replace(found, by_key=0, are_others=True)
    if has_keys and (by_spelling or by_records):
        found = replace(found, other=replace(other, same_people=_same(i)))
    return found


@dataclass(frozen=True)
class _Common:
    """A column of both versions: where its hashes are in each."""

    name: str
    is_quasi: bool
    mine: Sql
    theirs: Sql


def _common(entry: Entry, other: Entry) -> list[_Common]:
    """Return the columns of which both versions have hashes, quasi-identifiers first."""
    mine, theirs = ({**_places(e.quasi, "quasi_cells"), **_places(e.values, "cells")} for e in (entry, other))
    shared = [
        name for name in mine if name in theirs and (name not in _lower(entry.values) or entry.alike(other, name))
    ]
    return [_Common(name, name in _lower(entry.quasi), mine[name], theirs[name]) for name in shared]


def _lower(names: Sequence[str]) -> list[str]:
    return [name.lower() for name in names]


def _places(names: Sequence[str], column: str) -> dict[str, Sql]:
    return {name: Sql(f"{column}[{place}]") for place, name in enumerate(_lower(names), 1)}


def _spelled_alike(cursor: Any, i: int) -> int:
    """Write which of those who are left have keys that differ in spelling alone; return how many."""
    query = templates.fill("ledger/people/same_spelling.sql", units=_units(i), same=_same(i), plain=_PLAIN_KEY)
    for statement in query.split(";\n"):
        cursor.execute(statement)
    return int(cursor.execute(f"SELECT count(*) FROM {_same(i)}").fetchall()[0][0])


def _same_records(cursor: Any, i: int, agreement: chance_agreement.Agreement) -> int:
    """Write which of those who are left have the same records in the columns of an agreement; return how many."""
    before = cursor.execute(f"SELECT count(*) FROM {_same(i)}").fetchall()[0][0]
    query = templates.fill("ledger/people/same_records.sql", units=_units(i), same=_same(i), places=agreement.places)
    cursor.execute(query)
    return int(cursor.execute(f"SELECT count(*) FROM {_same(i)}").fetchall()[0][0] - before)


def _agreement(
    cursor: Any, i: int, columns: Sequence[_Common], has_keys: bool
) -> tuple[chance_agreement.Agreement | None, bool]:
    """The columns in which most of those who are left agree, by far more than chance, or None where there are none; and
    whether they agree as by chance in all columns together and in each part of them."""
    ranked = _rank_respelled(cursor, i, columns)

    def compare(places: tuple[int, ...]) -> chance_agreement.Agreement:
        query = templates.fill(
            "ledger/people/agreement.sql", units=_units(i), same=_same(i), places=places, has_keys=has_keys
        )
        return chance_agreement.agreement(cursor.execute(query).fetchall(), places)

    agreements = [compare(places) for places in _choices(columns)]
    agreeing = tuple(n for n in range(len(columns)) if compare((n,)).is_mostly_same)
    for places in (agreeing, tuple(n for n in agreeing if n not in ranked)):
        if places and all(places != agreement.places for agreement in agreements):
            agreements.append(compare(places))
    sure = [agreement for agreement in agreements if agreement.is_no_chance]
    is_chance = agreements[0].is_chance and not any(agreement.is_notable for agreement in agreements)
    return max(sure, key=lambda a: (a.common, len(a.places)), default=None), is_chance


def _rank_respelled(cursor: Any, i: int, columns: Sequence[_Common]) -> set[int]:
    """Write ranks by frequency in place of the values of columns of which both versions have none in common; return
    these columns."""
    ranked = set()
    for n in range(len(columns)):
        query = templates.fill("ledger/people/ranked_values.sql", units=_units(i), column=identifier(f"v{n}"))
        check, rank = query.split(";\n")[:2]
        if not cursor.execute(check).fetchall()[0][0]:
            cursor.execute(rank)
            ranked.add(n)
    return ranked


def _choices(columns: Sequence[_Common]) -> Iterator[tuple[int, ...]]:
    """Sets of columns by which records are compared: all, all but one, quasi-identifiers alone, the others alone."""
    all_places = tuple(range(len(columns)))
    choices = [all_places]
    if 2 < len(all_places) < _MOST_COLUMNS:
        choices += [tuple(n for n in all_places if n != omitted) for omitted in all_places]
    choices += [tuple(n for n in all_places if columns[n].is_quasi is side) for side in (True, False)]
    yield from dict.fromkeys(choice for choice in choices if choice)
