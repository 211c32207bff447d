"""Compare a version of a release with other versions and releases of the same people, and refuse or report it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.errors.warnings import DisclosureWarning, warn
from dbanon.ledger import releases, same_source
from dbanon.ledger.composition import composition_function, version_differences
from dbanon.ledger.deliveries import DeliveryTarget
from dbanon.ledger.people import recognized_people
from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, identifier, qualified
from dbanon.views import deferred_records, erasure

OLD = " before refresh"
"""What the names of the tables of the version before end with while the next one is made."""


@dataclass(frozen=True)
class Making:
    """How a version is made: by which function, and in place of which version (`old`).

    `allow_delta` publishes what differs by too few, `composition` says what happens where other releases and this one
    narrow people together: warn or refuse. With `erase` what its differences to earlier versions show is said, not
    refused. Where newcomers may wait, those do who cannot be published, and those who `wait` (see `holding.WHO`).
    `to`: where it is to be shown, too.
    """

    function: str
    allow_delta: bool
    composition: str
    old: LedgerEntry | None = None
    erase: bool = False
    wait: str = deferred_records.WHO[0]
    to: DeliveryTarget | None = None

    @property
    def lets_differ(self) -> bool:
        """Whether versions of the same name may differ by too few."""
        return self.allow_delta or self.erase


@dataclass(frozen=True)
class VersionComparison:
    """What a version shows beside others of the same people.

    `mine` are versions of its own name, `checked` those whose exposure is refused on request, `unchecked` those that it
    cannot be held against; `differences` are sets that tell it apart from its own, `elsewhere` from all. `together`:
    people by version, None where nobody knows who is who. `unknown` are releases that may be about the same people.
    """

    mine: Sequence[LedgerEntry]
    checked: Sequence[LedgerEntry]
    unchecked: Sequence[LedgerEntry]
    differences: Sequence[version_differences.SmallDifference]
    elsewhere: list[version_differences.SmallDifference]
    together: Mapping[str, int] | None
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def exposed(self) -> dict[str, int]:
        """How many people each other version helps to narrow or tell apart."""
        return _exposed(self.together, self.elsewhere)

    @property
    def composition(self) -> dict[str, int] | None:
        """The same of every version, for the ledger."""
        if self.together is None:
            return None
        return dict.fromkeys(self.together, 0) | _exposed(self.together, [*self.elsewhere, *self.differences])


def respelled_versions(recognized: Sequence[recognized_people.Recognized]) -> list[LedgerEntry]:
    """Return the other versions with their values as the new one spells them; none where all are spelled alike."""
    same = [r for r in recognized if not r.are_others]
    return [r.respelled or r.other for r in same] if any(r.respelled for r in same) else []


def check_recognized(
    cursor: Any,
    entry: LedgerEntry,
    making: Making,
    recognized: Sequence[recognized_people.Recognized],
    mine: Sequence[LedgerEntry],
) -> None:
    """Refuse or report versions of which the people are probably the same, though their keys are others.

    Raises:
        PeopleNotRecognizedError: Under composition = 'refuse'.
        SmallDifferencesRefusedError: Versions of one name, whose people are not told apart, differ by too few records.
    """
    for found in recognized:
        other = found.other
        lets = making.lets_differ and other in mine
        if found.is_comparable and found.by_records is None:
            if found.by_spelling:
                _warn(str(errors.PeopleNotRecognizedError(entry.shown, other.named, found)))
            continue
        if recognized_people.is_same_release(cursor, entry, other):
            continue
        too_few = [n for n in found.unmatched if 0 < n < max(entry.k, other.k)]
        if (
            too_few
            and found.is_comparable
            and other in mine
            and not lets
            and not version_differences.are_comparable(entry, other)
        ):
            raise errors.SmallDifferencesRefusedError(
                making.function, entry.shown, len(too_few), [f"version {other.version}"]
            )
        error = errors.PeopleNotRecognizedError(entry.shown, other.named, found)
        if making.composition == "refuse" and not lets:
            raise error
        _warn(str(error))


def streams_of_same_people(cursor: Any, entry: LedgerEntry, making: Making) -> list[str]:
    """Streaming views of the same people; OverlappingStreamError."""
    streams = list(
        dict.fromkeys(s.shown for s in same_source.streams_of_bases(same_source.comparable_bases(entry), cursor))
    )
    if streams and making.composition == "refuse":
        raise errors.OverlappingStreamError(entry.shown, streams)
    return streams


def compare_versions(
    cursor: Any,
    entry: LedgerEntry,
    publication: ReleaseSpec,
    making: Making,
    others: Sequence[LedgerEntry],
    mine: Sequence[LedgerEntry],
    differences: Sequence[version_differences.SmallDifference],
) -> VersionComparison:
    """What a version shows beside others; CompositionUncheckedError."""
    checked = [o for o in others if not (making.lets_differ and o in mine)]
    unchecked = [o for o in others if not version_differences.are_comparable(entry, o)]
    unchecked = [o for o in unchecked if not recognized_people.is_same_release(cursor, entry, o)]
    if making.composition == "refuse" and (unknown := [o for o in unchecked if o in checked]):
        raise errors.CompositionUncheckedError(entry.shown, entry.person_key, {o.named: o.person_key for o in unknown})
    together = _together(cursor, entry, others)
    elsewhere = (
        []
        if len(others) == len(mine)
        else version_differences.small_differences(cursor, entry, publication, others, old_suffix=OLD)
    )
    elsewhere += version_differences.class_sum_differences(cursor, entry, publication, others, old_suffix=OLD)
    if making.composition == "refuse":
        elsewhere += version_differences.small_differences(
            cursor, entry, publication, checked, by_class=True, old_suffix=OLD
        )
    return VersionComparison(mine, checked, unchecked, differences, elsewhere, together)


def disclose(cursor: Any, entry: LedgerEntry, making: Making, beside: VersionComparison) -> None:
    """Warn of what readers of other versions can tell."""
    exposed, old = beside.exposed, making.old
    if making.erase:
        for said in erasure.learned(entry.shown, count_held_back(cursor, entry), _exposed(None, beside.differences)):
            _warn(said)
    if entry.how == "recluster" and old is not None:
        narrowed = {o.named: exposed.pop(o.named) for o in beside.mine if o.named in exposed}
        counts = ", ".join(f"{people} with {name}" for name, people in narrowed.items())
        _warn(
            f"{entry.shown} was clustered anew: who has version {old.version} too can intersect its classes with those "
            f"of version {entry.version}"
            + (
                f"; candidate sets fall below k or l, or sums of classes can be subtracted: people {counts}."
                if counts
                else "."
            )
        )
        changed = releases.changed_roles(old, entry.roles)
        if changed:
            _warn(f"{entry.shown}: roles have changed since version {old.version}: {', '.join(changed)}.")
    if exposed:
        _warn(str(errors.CompositionRefusedError(entry.shown, exposed)))


def count_small_differences(cursor: Any, entry: LedgerEntry, old: LedgerEntry, publication: ReleaseSpec) -> int:
    """How many sets of records tell two versions apart and are too little, either way."""
    before = qualified(old.database, old.schema, old.name + OLD)
    # Versions that show other columns are compared by those that both show, record by record.
    alike = releases.same_roles(old, entry.roles)
    by_person = alike and publication.roles.person is not None and old.person_key == entry.person_key
    shown, shown_before = releases.table_columns(entry, "", cursor), releases.table_columns(old, OLD, cursor)
    of_both = {name for name, type_ in shown.items() if shown_before.get(name) == type_ and entry.alike(old, name)}
    only = None if alike and of_both == shown.keys() else of_both
    total = 0
    for is_new, version, other, members, other_members in (
        (True, entry.table(), before, entry.members, old.members),
        (False, before, entry.table(), old.members, entry.members),
    ):
        query = plan.filled(
            "ledger/small_differences.sql",
            publication,
            only,
            version=version,
            other=other,
            members=members,
            other_members=other_members,
            class_id=identifier(list(shown if is_new else shown_before)[-1]),
            other_class_id=identifier(list(shown_before if is_new else shown)[-1]),
            kept_clusters=entry.keeps,
            is_new=is_new,
            person=Sql("person") if by_person else None,
            nulls=None,
            suppress=None,
        )
        total += cursor.execute(query).fetchall()[0][0]
    return total


def _together(cursor: Any, entry: LedgerEntry, others: Sequence[LedgerEntry]) -> dict[str, int] | None:
    """People whose candidate set is too small over this and another version, by version; None: nobody knows who is who.

    Versions whose clusters were kept are left out: what they have in common is judged by what each gained and lost.
    """
    if entry.person_key is None:
        return None
    kept = version_differences.kept_since(entry, others)
    found = {}
    for other in others:
        if version_differences.are_comparable(entry, other):
            query = "SELECT NULL AS person_key WHERE false"
            if other not in kept:
                query = composition_function.composition_sql("composition", entry, other)
            found[other.named] = cursor.execute(f"SELECT count(DISTINCT person_key) FROM ({query})").fetchall()[0][0]
    return found


def _exposed(
    together: Mapping[str, int] | None, differences: Sequence[version_differences.SmallDifference]
) -> dict[str, int]:
    """How many people each other version helps to narrow or tell apart; versions that do not are left out."""
    found = {name: people for name, people in (together or {}).items() if people}
    by_kind: dict[tuple[str, str], int] = {}
    for t in differences:
        for other in t.others:
            by_kind[other.named, t.kind] = by_kind.get((other.named, t.kind), 0) + t.people
    for (name, _), people in by_kind.items():
        found[name] = max(found.get(name, 0), people)
    return found


def count_held_back(cursor: Any, entry: LedgerEntry) -> int:
    """Return records of the source that are left out since an erasure."""
    query = f"SELECT coalesce(sum(records), 0) FROM {entry.membership} WHERE {entry.row} AND held"
    return int(cursor.execute(query).fetchall()[0][0])


def _warn(message: str) -> None:
    warn(message, DisclosureWarning)
