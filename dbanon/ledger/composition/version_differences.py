"""What a version shows beside all others of the same people, whichever of them a reader adds and subtracts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbanon.ledger import releases
from dbanon.ledger.composition.inherited_models import promised
from dbanon.ledger.releases import Entry
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, joined, literal

_BITS = 60
"""Versions in one integer of a signature."""


@dataclass(frozen=True)
class Apart:
    """Sets of records that a new version and earlier ones tell apart and that miss the model.

    `others` are the versions to subtract: those without the records if the new one has them, else those with them.
    `people` are records where no person column is declared.
    """

    kind: str
    others: tuple[Entry, ...]
    is_new: bool
    sets: int
    people: int
    missed: tuple[str, ...]


def comparable(entry: Entry, other: Entry) -> bool:
    """Return whether it is known who is in both versions."""
    mine, theirs = ([c.lower() for c in e.person_key or ()] for e in (entry, other))
    return bool(mine) and mine == theirs


def same_name(entry: Entry, others: Sequence[Entry]) -> list[Entry]:
    """Return earlier versions under the same name."""
    return [o for o in others if o.place[:3] == entry.place[:3]]


def kept_since(entry: Entry, others: Sequence[Entry]) -> list[Entry]:
    """Return earlier versions whose clusters the new one keeps."""
    lineages = _lineages(entry, others)
    return [o for o in others if lineages.get(o.place) == lineages[entry.place]]


def apart(
    cursor: Any, entry: Entry, publication: ReleaseSpec, others: Sequence[Entry], refined: bool = False, moved: str = ""
) -> list[Apart]:
    """Sets of too few that version `entry` makes known beside `others`; see ledger/apart.sql. Linear in their rows.

    `refined` looks at classes, not at presence, where it is known who is who. `moved` ends the name of the table that
    the published version of the same name has meanwhile.
    """
    found: list[Apart] = []
    for group in _groups(entry, others):
        if refined and (not group.known or (group.is_by_people and _are_alike(entry, group.others))):
            continue
        sets = _judged(cursor, entry, publication, group, refined, moved)
        found += _not_covered(sets, found) if group.is_by_people else sets
    return found


def _are_alike(entry: Entry, others: Sequence[Entry]) -> bool:
    """Return whether all versions are of one source and publish the same columns, which are compared with the
    people."""
    return all(o.call["source"] == entry.call["source"] and same_values(entry, o) for o in others)


def _not_covered(sets: Sequence[Apart], earlier: Sequence[Apart]) -> list[Apart]:
    """Return the sets of versions with which none was found before: the others are seldom of other people."""
    pairs = {(a.kind, a.is_new, o.place) for a in earlier for o in a.others}
    return [a for a in sets if not all((a.kind, a.is_new, o.place) in pairs for o in a.others)]


def came_back(
    cursor: Any, entry: Entry, publication: ReleaseSpec, others: Sequence[Entry], moved: str = ""
) -> list[Apart]:
    """Sets of too few that classes of version `entry` and of those whose clusters it keeps share: of people who went,
    came back and are with others now. Who stayed has such a set with those who did. Linear in their rows."""
    return [
        found
        for group in _groups(entry, kept_since(entry, others))
        if group.known and not group.is_by_people
        for found in _judged(cursor, entry, publication, group, True, moved, by_who=True)
    ]


def sums(cursor: Any, entry: Entry, publication: ReleaseSpec, others: Sequence[Entry], moved: str = "") -> list[Apart]:
    """Sets of too few by which classes of version `entry` and of one other, of another clustering, differ in sum.

    Classes of both that hang together by common records cover the same values; a reader may not see that others lie
    beside them, so this can find more than he can tell. Linear in the records for each version.
    """
    kept = kept_since(entry, others)
    found: list[Apart] = []
    for group in _groups(entry, others):
        for other in (o for o in group.others if group.known and o not in kept):
            if group.is_by_people and _are_alike(entry, [other]):
                continue
            linked = _linked(cursor, entry, other)
            if len({n for side in linked for n in side.values()}) > 1:  # else it is everybody
                sets = _judged(cursor, entry, publication, replace(group, others=(other,)), False, moved, linked)
                found += _not_covered(sets, found) if group.is_by_people else sets
    return found


def _linked(cursor: Any, entry: Entry, other: Entry) -> tuple[dict[int, int], dict[int, int]]:
    """Which classes of another version and of the new one hang together by records that are in both: a number for each.

    Such classes cover the same values together, so that a reader can subtract their sums. Linear in the records.
    """
    same = other.call["source"] == entry.call["source"] and releases.same_roles(other, entry.roles)
    rows = cursor.execute(
        f"SELECT DISTINCT o.class_id, n.class_id FROM {other.members} AS o JOIN {entry.members} AS n "
        f"USING (person_key{', row_hash' * same}) WHERE o.class_id IS NOT NULL AND n.class_id IS NOT NULL "
        "ORDER BY ALL ASC NULLS LAST"
    ).fetchall()
    above: dict[tuple[bool, int], tuple[bool, int]] = {}

    def top(of: tuple[bool, int]) -> tuple[bool, int]:
        while above.setdefault(of, of) != of:
            above[of] = above[above[of]]
            of = above[of]
        return of

    for before, now in rows:
        above[top((False, before))] = top((True, now))
    numbers = {root: n for n, root in enumerate(sorted({top(of) for of in list(above)}))}
    theirs, mine = ({c: numbers[top((side, c))] for new, c in above if new is side} for side in (False, True))
    return theirs, mine


@dataclass(frozen=True)
class _Group:
    """Versions that are compared at once: by who a record is about, and the values of some columns.

    `known`: whether it is known who is who; `exact`: whether all of them publish these columns and no others.
    """

    who: Sql
    columns: tuple[str, ...]
    others: tuple[Entry, ...]
    known: bool
    exact: bool

    @property
    def is_by_people(self) -> bool:
        """Whether only the people are compared, whatever is published of them."""
        return self.known and not self.columns


def _groups(entry: Entry, others: Sequence[Entry]) -> Iterator[_Group]:
    known = [o for o in others if comparable(entry, o)]
    yield from _by_columns(entry, known, Sql("person_key"), True)
    if known and entry.values:  # values may be spelled otherwise, and another view may call something else the same
        yield _Group(Sql("person_key"), (), tuple(known), True, False)
    unknown = [o for o in others if not comparable(entry, o)]
    # Records that are alike in all that counts can be taken for the same.
    alike = [
        o
        for o in unknown
        if not (entry.person_key or o.person_key)
        and o.call["source"] == entry.call["source"]
        and o.hash_format == entry.hash_format
        and releases.same_roles(o, entry.roles)
        and same_values(entry, o)
    ]
    if alike:
        yield _Group(Sql("row_hash::VARCHAR"), entry.values, tuple(alike), False, True)
    rest = [o for o in unknown if o not in alike and o.hash_format == entry.hash_format]
    yield from (g for g in _by_columns(entry, rest, Sql("NULL::VARCHAR"), False) if g.columns)


def _by_columns(entry: Entry, others: Sequence[Entry], who: Sql, known: bool) -> Iterator[_Group]:
    """Yield a group for each set of columns that versions have in common with the new one."""
    exact = [o for o in others if same_values(entry, o)]
    if exact:
        yield _Group(who, entry.values, tuple(exact), known, True)
    for columns in sorted({_shared(entry, o) for o in others if o not in exact}):
        having = [o for o in others if not columns or (o.bases is not None and set(columns) <= set(_shared(entry, o)))]
        yield _Group(who, columns, tuple(having), known, False)


def same_values(entry: Entry, other: Entry) -> bool:
    """Return whether both publish the same columns, in which equal values are equal."""
    same_format = other.hash_format == entry.hash_format or not entry.values
    return same_format and other.values == entry.values and all(entry.alike(other, c) for c in entry.values)


def _shared(entry: Entry, other: Entry) -> tuple[str, ...]:
    """Return the columns that both publish as they are; none where the ledger has no hashes of single columns."""
    theirs = {c.lower() for c in other.values} if other.hash_format == entry.hash_format else set()
    return tuple(c for c in entry.values if c.lower() in theirs and entry.alike(other, c))


def _judged(
    cursor: Any,
    entry: Entry,
    publication: ReleaseSpec,
    group: _Group,
    refined: bool,
    moved: str,
    linked: Sequence[Mapping[int, int]] = (),
    by_who: bool = False,
) -> list[Apart]:
    """Sets of too few in a group; `linked`: only among classes of one other version and the new one with one number.

    `by_who`: records that are alike are those of whom the membership says it.
    """
    others, last = group.others, len(group.others)
    lineages = _lineages(entry, others)
    versions = [
        {
            "i": i,
            "value": _value(version, group),
            "members": version.members if version.bases is not None else Sql(_EARLY.format(version.members)),
            "lineage": lineages.get(version.place) if entry.keeps else None,
        }
        for i, version in enumerate([*others, entry])
    ]
    wanted = promised(publication, others)
    # What a set of people is compared with is another table for those who stay or come and for those who went.
    sides = ("now IS NOT NULL", "now IS NULL") if wanted.compares else (None,)
    found = []
    for side in sides:
        query = plan.filled(
            "ledger/composition/version_differences.sql",
            wanted.publication,
            None if group.columns == entry.values and not entry.links else group.columns,
            versions=versions,
            who=group.who,
            alike=group.who if by_who else _alike(entry, publication, group),
            last=last,
            chunks=[{"first": at, "last": min(at + _BITS, last) - 1} for at in range(0, last, _BITS)],
            refined=refined,
            exact=group.exact,
            known=_live(cursor, entry, group, moved),
            k=max(entry.k, *(o.k for o in others)),
            person=Sql("person") if publication.roles.person is not None and group.known else None,
            side=None if side is None else Sql(side),
            linked=bool(linked),
            promised={number: _had(places) for number, places in wanted.by.items()},
            joint=wanted.joint,
            version=entry.table(),
            nulls=None,
            suppress=None,
        )
        for kind, before, is_new, sets, people, missed in cursor.execute(query, _parameters(linked)).fetchall():
            had = [o for i, o in enumerate(others) if before[i // _BITS] >> (i % _BITS) & 1]
            found.append(
                Apart(kind, tuple(o for o in others if (o in had) != is_new), is_new, sets, people, tuple(missed))
            )
    return found


def _parameters(linked: Sequence[Mapping[int, int]]) -> dict[str, list[int]]:
    """Return parameters of a statement: the classes of each side and their numbers."""
    classes = {f"classes{i}": list(by) for i, by in enumerate(linked)}
    return classes | {f"numbers{i}": list(by.values()) for i, by in enumerate(linked)}


def _had(places: Sequence[int]) -> Sql:
    """Return whether the people of a part were in one of these versions."""
    bits: dict[int, int] = {}
    for i in places:
        bits[i // _BITS] = bits.get(i // _BITS, 0) | 1 << i % _BITS
    return Sql(" OR ".join(f"before{chunk} & {mask}::BIGINT <> 0" for chunk, mask in bits.items()))


def _alike(entry: Entry, publication: ReleaseSpec, group: _Group) -> Sql:
    """What a record is known by within classes: all that counts of it if that can be compared, else who it is about."""
    same = all(
        o.call["source"] == entry.call["source"] and releases.same_roles(o, entry.roles) and same_values(entry, o)
        for o in group.others
    )
    return Sql("row_hash::VARCHAR") if same and group.exact and publication.roles.person is None else group.who


def _value(version: Entry, group: _Group) -> Sql:
    """What a record publishes of the group's columns, as a hash."""
    if group.exact:
        return Sql("value_hash")
    if not group.columns:
        return Sql("0::UBIGINT")
    at = [c.lower() for c in version.values]
    places = joined(literal(at.index(c.lower()) + 1) for c in group.columns)
    return Sql(f"md5_number_lower(list_select(cells, [{places}])::VARCHAR)")


_EARLY = "(SELECT *, NULL::UBIGINT AS label_hash, NULL::UBIGINT[] AS cells FROM {})"
"""Members of a version that was made before labels and columns were kept."""


def _lineages(entry: Entry, others: Sequence[Entry]) -> dict[tuple[str, str, str, int], int]:
    """For versions of the same name: the version since which clusters were kept, as far as all between are known."""
    found: dict[tuple[str, str, str, int], int] = {}
    before: Entry | None = None
    for version in sorted([*same_name(entry, others), entry], key=lambda e: e.version):
        kept = version.keeps and before is not None and before.version == version.version - 1
        found[version.place] = found[before.place] if kept and before is not None else version.version
        before = version
    return found


def live(cursor: Any, entry: Entry, others: Sequence[Entry], moved: str) -> list[Sql]:
    """Return tables of these versions, which all publish the same columns, as far as they still stand."""
    return _live(cursor, entry, _Group(Sql("person_key"), entry.values, tuple(others), True, True), moved)


def _live(cursor: Any, entry: Entry, group: _Group, moved: str) -> list[Sql]:
    """Return tables of versions that still stand and have the group's columns: what the values behind hashes are."""
    if not group.columns:
        return [Sql(f"(SELECT 1 FROM {entry.table()})")]
    mine = releases.columns(entry, "", cursor)
    found = [entry.table()]
    for other in group.others:
        ending = moved if other.place[:3] == entry.place[:3] else ""
        theirs = {n.lower(): t for n, t in releases.columns(other, ending, cursor).items()}
        if other.status != "dropped" and all(theirs.get(c.lower()) == mine[c] for c in group.columns):
            found.append(other.table(ending))
    return list(dict.fromkeys(found))
