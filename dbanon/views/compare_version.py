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
from dbanon.sqltext.quote import Sql, identifier
from dbanon.views import deferred_records, erasure

OLD_SUFFIX = " before refresh"
"""Suffix of the table names of the old version while the next one is created."""


_CHANGED_ROWS = Sql('temp.main."dbanon changed rows"')
_CHANGED_MEMBERS = Sql('temp.main."dbanon changed members"')
"""Temporary tables of the rows, and of the records by cluster, by which two versions differ."""

_REVERSE_RELATIONS = ("other", "version", "other_members", "members", "other_class_id", "class_id")


@dataclass(frozen=True)
class VersionOptions:
    """Options for creating a version of a release.

    Attributes:
        function: The function that creates it, for messages.
        allow_small_differences: Publish it even if it differs from other versions by sets of too few records.
        composition: The reaction if this and other releases together narrow people: "warn" or "refuse".
        old: The version that it replaces; None for the first one.
        erase: Whether it applies an erasure. Differences from earlier versions are then reported, not refused.
        deferred_group: The group of new records (see `deferred_records.DEFERRED_GROUPS`) that is deferred in addition
            to those that cannot be published.
        delivery_target: The PostgreSQL table to which the release is copied; None if it is not copied.
        with_members: Whether the membership gets its records; if not, no later version can be compared with it.
    """

    function: str
    allow_small_differences: bool
    composition: str
    old: LedgerEntry | None = None
    erase: bool = False
    deferred_group: str = deferred_records.DEFERRED_GROUPS[0]
    delivery_target: DeliveryTarget | None = None
    with_members: bool = True

    @property
    def allows_small_differences(self) -> bool:
        """Whether versions of the same release may differ by too few records: by option, or because of an erasure."""
        return self.allow_small_differences or self.erase


@dataclass(frozen=True)
class VersionComparison:
    """The comparison of a new version with others of the same people.

    Attributes:
        own_versions: Earlier versions of the same release.
        checked: Versions that `composition = 'refuse'` takes into account.
        unchecked: Versions with which it cannot be compared.
        differences: Sets of too few records that distinguish it from its own earlier versions.
        elsewhere: Sets of too few records that distinguish it from any other version.
        together: The number of exposed people by the name of the other version; None if people cannot be matched.
        unknown: Releases of which it is unknown whether they are about the same people, with the reason.
    """

    own_versions: Sequence[LedgerEntry]
    checked: Sequence[LedgerEntry]
    unchecked: Sequence[LedgerEntry]
    differences: Sequence[version_differences.SmallDifference]
    elsewhere: list[version_differences.SmallDifference]
    together: Mapping[str, int] | None
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def exposed(self) -> dict[str, int]:
        """The number of people whom the new version and another one isolate or narrow down, by the name of the other.

        Versions without such people are omitted. Differences from earlier versions of the same release do not count.
        """
        return _exposed_people(self.together, self.elsewhere)

    @property
    def composition(self) -> dict[str, int] | None:
        """The number of people exposed by the new version and each compared one, by the name of the other, 0 included.

        Exposed people are isolated or narrowed down by the two versions together. Unlike in `exposed`, differences from
        earlier versions of the same release count. None if people cannot be matched.
        """
        if self.together is None:
            return None
        return dict.fromkeys(self.together, 0) | _exposed_people(self.together, [*self.elsewhere, *self.differences])


def respelled_versions(recognized: Sequence[recognized_people.Recognized]) -> list[LedgerEntry]:
    """Return the versions of the same people, with their values replaced by the spellings that the new version uses.

    A version whose spellings are the same is unchanged. Returns an empty list if no version spells a value differently.
    Versions of other people are omitted.
    """
    same = [r for r in recognized if not r.are_others]
    return [r.respelled or r.other for r in same] if any(r.respelled for r in same) else []


def check_changed_keys(
    cursor: Any,
    entry: LedgerEntry,
    version_options: VersionOptions,
    recognized: Sequence[recognized_people.Recognized],
    same_name: Sequence[LedgerEntry],
) -> None:
    """Warn of, or refuse, other versions that are probably about the same people under other keys.

    Keys that differ only by blanks, case or leading zeros cause a warning. Versions that publish the same rows are
    skipped.

    Args:
        cursor: A cursor.
        entry: The new version.
        version_options: The options of the new version.
        recognized: The result of recognizing the people of the new version in each other version.
        same_name: The earlier versions of the release; small differences from these can be allowed.

    Raises:
        PeopleNotRecognizedError: People are recognized only by their records, or versions cannot be compared, and
            composition = 'refuse'.
        SmallDifferencesRefusedError: Versions of one name, without a person column, differ by too few records.
    """
    for result in recognized:
        other = result.other
        allow_differences = version_options.allows_small_differences and other in same_name
        if result.is_comparable and result.by_records is None:
            if result.by_spelling:
                _warn(str(errors.PeopleNotRecognizedError(entry.display_name, other.version_name, result)))
            continue
        if recognized_people.is_same_release(cursor, entry, other):
            continue
        too_few = [n for n in result.unmatched if 0 < n < max(entry.k, other.k)]
        if (
            too_few
            and result.is_comparable
            and other in same_name
            and not allow_differences
            and not version_differences.are_comparable(entry, other)
        ):
            raise errors.SmallDifferencesRefusedError(
                version_options.function, entry.display_name, len(too_few), [f"version {other.version}"]
            )
        error = errors.PeopleNotRecognizedError(entry.display_name, other.version_name, result)
        if version_options.composition == "refuse" and not allow_differences:
            raise error
        _warn(str(error))


def streams_of_same_people(cursor: Any, entry: LedgerEntry, version_options: VersionOptions) -> list[str]:
    """Return the distinct names of streaming views that read at least one of the tables which a new version reads.

    Dropped views are included, as readers may still have them. `entry` is the ledger entry of the new version.

    Raises:
        OverlappingStreamError: There is such a view, and `composition` is 'refuse'.
    """
    streams = list(
        dict.fromkeys(s.display_name for s in same_source.streams_of_bases(same_source.comparable_bases(entry), cursor))
    )
    if streams and version_options.composition == "refuse":
        raise errors.OverlappingStreamError(entry.display_name, streams)
    return streams


def compare_versions(
    cursor: Any,
    entry: LedgerEntry,
    spec: ReleaseSpec,
    version_options: VersionOptions,
    others: Sequence[LedgerEntry],
    same_name: Sequence[LedgerEntry],
    differences: Sequence[version_differences.SmallDifference],
) -> VersionComparison:
    """Compare a new version with the other versions of the same people.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: Its release spec.
        version_options: Its options.
        others: The other versions.
        same_name: Those of `others` that are earlier versions of the same release.
        differences: The small differences from `same_name`, which are passed on unchanged.

    Raises:
        CompositionUncheckedError: Under composition = 'refuse', a version cannot be compared.
    """
    checked = [o for o in others if not (version_options.allows_small_differences and o in same_name)]
    unchecked = [o for o in others if not version_differences.are_comparable(entry, o)]
    unchecked = [o for o in unchecked if not recognized_people.is_same_release(cursor, entry, o)]
    if version_options.composition == "refuse" and (unknown := [o for o in unchecked if o in checked]):
        raise errors.CompositionUncheckedError(
            entry.display_name, entry.person_key, {o.version_name: o.person_key for o in unknown}
        )
    together = _count_exposed_people(cursor, entry, others)
    elsewhere = (
        []
        if len(others) == len(same_name)
        else version_differences.small_differences(cursor, entry, spec, others, old_suffix=OLD_SUFFIX)
    )
    elsewhere += version_differences.class_sum_differences(cursor, entry, spec, others, old_suffix=OLD_SUFFIX)
    if version_options.composition == "refuse":
        elsewhere += version_differences.small_differences(
            cursor, entry, spec, checked, by_class=True, old_suffix=OLD_SUFFIX
        )
    return VersionComparison(same_name, checked, unchecked, differences, elsewhere, together)


def warn_of_disclosure(
    cursor: Any, entry: LedgerEntry, version_options: VersionOptions, comparison: VersionComparison
) -> None:
    """Issue DisclosureWarning for all that readers of this and other versions can learn together.

    There are warnings of an erasure, of a version that was clustered again, of roles that changed with it, and of
    people whom other releases help to narrow down or isolate.
    """
    exposed, old = comparison.exposed, version_options.old
    if version_options.erase:
        for message in erasure.residual_disclosures(
            entry.display_name,
            count_withheld(cursor, entry),
            _exposed_people(None, comparison.differences),
            is_smaller=old is not None
            and _count_rows(cursor, old.table(OLD_SUFFIX)) > _count_rows(cursor, entry.table()),
        ):
            _warn(message)
    if entry.refresh_mode == "recluster" and old is not None:
        narrowed_counts = {
            o.version_name: exposed.pop(o.version_name) for o in comparison.own_versions if o.version_name in exposed
        }
        counts = ", ".join(f"{people} with {name}" for name, people in narrowed_counts.items())
        _warn(
            f"{entry.display_name} was clustered again: a reader who also has version {old.version} can intersect its "
            f"classes with those of version {entry.version}"
            + (
                "; candidate sets fall below k or l, or groups can be isolated by subtracting sums of classes: people "
                f"{counts}."
                if counts
                else "."
            )
        )
        role_changes = releases.changed_roles(old, entry.roles)
        if role_changes:
            _warn(f"{entry.display_name}: roles have changed since version {old.version}: {', '.join(role_changes)}.")
    if exposed:
        _warn(str(errors.CompositionRefusedError(entry.display_name, exposed)))


def count_small_differences(cursor: Any, entry: LedgerEntry, old: LedgerEntry, spec: ReleaseSpec) -> int:
    """Return the number of sets of records that only one of two versions has and that miss k or the privacy models.

    Both directions are counted.

    Args:
        cursor: A cursor within the transaction that creates the new version.
        entry: The new version.
        old: The version that it replaces, whose tables have been renamed with OLD_SUFFIX.
        spec: The release spec of the new version.
    """
    # Versions that show other columns are compared by those that both show, record by record.
    have_same_roles = releases.same_roles(old, entry.roles)
    by_person = have_same_roles and spec.roles.person is not None and old.person_key == entry.person_key
    column_types, old_column_types = (
        releases.table_columns(entry, "", cursor),
        releases.table_columns(old, OLD_SUFFIX, cursor),
    )
    common_columns = {
        name
        for name, type_ in column_types.items()
        if old_column_types.get(name) == type_ and entry.has_comparable_values(old, name)
    }
    compared_columns = None if have_same_roles and common_columns == column_types.keys() else common_columns
    relations = {
        "version": entry.table(),
        "other": old.table(OLD_SUFFIX),
        "members": entry.members,
        "other_members": old.members,
        "class_id": identifier(list(column_types)[-1]),
        "other_class_id": identifier(list(old_column_types)[-1]),
    }
    values = {
        "changed_rows": _CHANGED_ROWS,
        "changed_members": _CHANGED_MEMBERS,
        "kept_clusters": entry.keeps_classes,
        "person": Sql("person") if by_person else None,
        "nulls": None,
        "suppress": None,
    }

    def fill(template: str, **more_values: object) -> str:
        """Return the SQL of a template of sql/ledger for these versions and columns."""
        return plan.fill_release_template(f"ledger/{template}", spec, compared_columns, **values | more_values)

    cursor.execute(fill("changed_rows.sql", table=_CHANGED_ROWS, **relations))
    if entry.keeps_classes:
        cursor.execute(fill("changed_members.sql", table=_CHANGED_MEMBERS, **relations))
    reverse = dict(zip(relations, [relations[name] for name in _REVERSE_RELATIONS], strict=True))
    queries = [
        fill("small_differences.sql", is_new=is_new, **directed)
        for is_new, directed in ((True, relations), (False, reverse))
    ]
    total: int = sum(cursor.execute(query).fetchall()[0][0] for query in queries)
    for table in (_CHANGED_ROWS, _CHANGED_MEMBERS):
        cursor.execute(f"DROP TABLE IF EXISTS {table}")
    return total


def _count_exposed_people(cursor: Any, entry: LedgerEntry, others: Sequence[LedgerEntry]) -> dict[str, int] | None:
    """Return the number of people with too few candidates over this and another version, by the other's name.

    Returns None if the new version has no key that identifies people. Versions with other key columns are omitted. For
    versions with the same clusters the number is 0: what each class gained and lost is checked instead.
    """
    if entry.person_key is None:
        return None
    same_clusters = version_differences.versions_with_kept_clusters(entry, others)

    def count_people(other: LedgerEntry) -> int:
        """Return the number of people with too few candidates over the new version and another one."""
        query = composition_function.composition_sql("composition", entry, other)
        return int(cursor.execute(f"SELECT count(DISTINCT person_key) FROM ({query})").fetchall()[0][0])

    return {
        other.version_name: 0 if other in same_clusters else count_people(other)
        for other in others
        if version_differences.are_comparable(entry, other)
    }


def _exposed_people(
    together: Mapping[str, int] | None, differences: Sequence[version_differences.SmallDifference]
) -> dict[str, int]:
    """Return the number of people whom each other version helps to isolate or narrow down, by its name.

    Versions without such people are omitted.

    Args:
        together: The number of people with too few candidates by version, or None.
        differences: Sets of too few records. Their people are added up by version and kind of difference; the greatest
            sum of a version counts, if it exceeds the number in `together`.
    """
    people_by_version = {name: people for name, people in (together or {}).items() if people}
    by_kind: dict[tuple[str, str], int] = {}
    for t in differences:
        for other in t.others:
            by_kind[other.version_name, t.kind] = by_kind.get((other.version_name, t.kind), 0) + t.n_people
    for (name, _), people in by_kind.items():
        people_by_version[name] = max(people_by_version.get(name, 0), people)
    return people_by_version


def count_withheld(cursor: Any, entry: LedgerEntry) -> int:
    """Return the number of records of the source that a version withholds because of an erasure."""
    query = f"SELECT coalesce(sum(records), 0) FROM {entry.membership} WHERE {entry.row} AND held"
    return int(cursor.execute(query).fetchall()[0][0])


def _count_rows(cursor: Any, table: Sql) -> int:
    """Return the number of rows of a table."""
    return int(cursor.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _warn(message: str) -> None:
    """Issue a DisclosureWarning with the message."""
    warn(message, DisclosureWarning)
