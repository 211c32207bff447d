"""Find sets of records that a reader could isolate by adding and subtracting versions of the same people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbanon.ledger import releases
from dbanon.ledger.composition.inherited_models import inherit_models
from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, join_sql, literal

_BITS = 60
"""Number of versions per integer of a signature."""


@dataclass(frozen=True)
class SmallDifference:
    """Sets of records that miss the model and that a new version and earlier ones together distinguish.

    `others` are the versions to subtract: those without the records if the new one has them, else those with them.
    `people` are records if no person column is declared.
    """

    kind: str
    others: tuple[LedgerEntry, ...]
    is_new: bool
    n_sets: int
    n_people: int
    missed_parameters: tuple[str, ...]


def are_comparable(entry: LedgerEntry, other: LedgerEntry) -> bool:
    """Return whether both versions identify people by the same columns."""
    entry_key, other_key = ([c.lower() for c in e.person_key or ()] for e in (entry, other))
    return bool(entry_key) and entry_key == other_key


def same_name(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Return earlier versions under the same name."""
    return [o for o in others if o.place[:3] == entry.place[:3]]


def kept_since(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Return earlier versions whose clusters the new one keeps."""
    lineages = _lineages(entry, others)
    return [o for o in others if lineages.get(o.place) == lineages[entry.place]]


def small_differences(
    cursor: Any,
    entry: LedgerEntry,
    spec: ReleaseSpec,
    others: Sequence[LedgerEntry],
    by_class: bool = False,
    old_suffix: str = "",
) -> list[SmallDifference]:
    """Return the sets of too few records that version `entry` isolates together with `others`.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: Its release spec.
        others: Earlier versions.
        by_class: Compare classes instead of presence, where people can be matched.
        old_suffix: Suffix of the table names of the version that is replaced, until the new one is complete.

    Linear in the rows of these versions; see sql/ledger/composition/version_differences.sql.
    """
    differences: list[SmallDifference] = []
    for group in _groups(entry, others):
        if by_class and (not group.is_matchable or (group.is_by_people and _have_same_columns(entry, group.others))):
            continue
        sets = _find_small_differences(cursor, entry, spec, group, by_class, old_suffix)
        differences += _not_covered(sets, differences) if group.is_by_people else sets
    return differences


def _have_same_columns(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> bool:
    """Return whether all versions are of one source and publish the same columns.

    Then the comparison of these columns includes that of the people.
    """
    return all(o.call["source"] == entry.call["source"] and same_values(entry, o) for o in others)


def _not_covered(sets: Sequence[SmallDifference], earlier: Sequence[SmallDifference]) -> list[SmallDifference]:
    """Return the sets of versions for which none was found before, as the others are rarely of other people."""
    pairs = {(a.kind, a.is_new, o.place) for a in earlier for o in a.others}
    return [a for a in sets if not all((a.kind, a.is_new, o.place) in pairs for o in a.others)]


def returned_people(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, others: Sequence[LedgerEntry], old_suffix: str = ""
) -> list[SmallDifference]:
    """Return the sets of too few people that a class of version `entry` shares with a class of an earlier version.

    Only versions whose clusters `entry` keeps are compared: these are people who were removed, were added again and are
    in another class now. Linear in the rows.
    """
    return [
        difference
        for group in _groups(entry, kept_since(entry, others))
        if group.is_matchable and not group.is_by_people
        for difference in _find_small_differences(cursor, entry, spec, group, True, old_suffix, by_identity=True)
    ]


def class_sum_differences(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, others: Sequence[LedgerEntry], old_suffix: str = ""
) -> list[SmallDifference]:
    """Return the sets of too few records by which sums of classes of `entry` and of one other version differ.

    Only versions of another clustering are compared. Classes of both that are connected by common records cover the
    same values; a reader may not see that other classes cover them, too, so this can find more than a reader can
    isolate. Linear in the records for each version.
    """
    same_clusters = kept_since(entry, others)
    differences: list[SmallDifference] = []
    for group in _groups(entry, others):
        for other in (o for o in group.others if group.is_matchable and o not in same_clusters):
            if group.is_by_people and _have_same_columns(entry, [other]):
                continue
            components = _class_components(cursor, entry, other)
            if len({n for side in components for n in side.values()}) > 1:  # one component contains every person
                sets = _find_small_differences(
                    cursor, entry, spec, replace(group, others=(other,)), False, old_suffix, components
                )
                differences += _not_covered(sets, differences) if group.is_by_people else sets
    return differences


def _class_components(cursor: Any, entry: LedgerEntry, other: LedgerEntry) -> tuple[dict[int, int], dict[int, int]]:
    """Return the number of the connected component of every class of another version and of the new one.

    Classes are connected by records that are in both. Those of a component cover the same values together, so that a
    reader can subtract their sums. Linear in the records.
    """
    by_record = other.call["source"] == entry.call["source"] and releases.same_roles(other, entry.roles)
    rows = cursor.execute(
        f"SELECT DISTINCT o.class_id, n.class_id FROM {other.members} AS o JOIN {entry.members} AS n "
        f"USING (person_key{', row_hash' * by_record}) WHERE o.class_id IS NOT NULL AND n.class_id IS NOT NULL "
        "ORDER BY ALL ASC NULLS LAST"
    ).fetchall()
    parents: dict[tuple[bool, int], tuple[bool, int]] = {}

    def root_of(node: tuple[bool, int]) -> tuple[bool, int]:
        while parents.setdefault(node, node) != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for other_class, entry_class in rows:
        parents[root_of((False, other_class))] = root_of((True, entry_class))
    numbers = {root: n for n, root in enumerate(sorted({root_of(node) for node in list(parents)}))}
    theirs, mine = ({c: numbers[root_of((side, c))] for new, c in parents if new is side} for side in (False, True))
    return theirs, mine


@dataclass(frozen=True)
class _Group:
    """Versions that are compared at once: by the identity of a record, and the values of some columns.

    `is_matchable`: whether people can be matched; `is_exact`: whether all versions publish exactly these columns.
    """

    identity: Sql
    columns: tuple[str, ...]
    others: tuple[LedgerEntry, ...]
    is_matchable: bool
    is_exact: bool

    @property
    def is_by_people(self) -> bool:
        """Whether only the people are compared, not the published values."""
        return self.is_matchable and not self.columns


def _groups(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> Iterator[_Group]:
    comparable = [o for o in others if are_comparable(entry, o)]
    yield from _by_columns(entry, comparable, Sql("person_key"), True)
    if (
        comparable and entry.values
    ):  # values may be spelled otherwise, and another view may call something else the same
        yield _Group(Sql("person_key"), (), tuple(comparable), True, False)
    incomparable = [o for o in others if not are_comparable(entry, o)]
    # Without a person key, records with equal values in all compared columns count as the same record.
    same_roles = [
        o
        for o in incomparable
        if not (entry.person_key or o.person_key)
        and o.call["source"] == entry.call["source"]
        and o.hash_format == entry.hash_format
        and releases.same_roles(o, entry.roles)
        and same_values(entry, o)
    ]
    if same_roles:
        yield _Group(Sql("row_hash::VARCHAR"), entry.values, tuple(same_roles), False, True)
    remaining = [o for o in incomparable if o not in same_roles and o.hash_format == entry.hash_format]
    yield from (g for g in _by_columns(entry, remaining, Sql("NULL::VARCHAR"), False) if g.columns)


def _by_columns(
    entry: LedgerEntry, others: Sequence[LedgerEntry], identity: Sql, is_comparable: bool
) -> Iterator[_Group]:
    """Yield a group for each set of columns that versions have in common with the new one."""
    exact = [o for o in others if same_values(entry, o)]
    if exact:
        yield _Group(identity, entry.values, tuple(exact), is_comparable, True)
    for columns in sorted({_shared(entry, o) for o in others if o not in exact}):
        with_columns = [
            o for o in others if not columns or (o.bases is not None and set(columns) <= set(_shared(entry, o)))
        ]
        yield _Group(identity, columns, tuple(with_columns), is_comparable, False)


def same_values(entry: LedgerEntry, other: LedgerEntry) -> bool:
    """Return whether both publish the same columns, in which equal values are equal."""
    same_format = other.hash_format == entry.hash_format or not entry.values
    return (
        same_format
        and other.values == entry.values
        and all(entry.has_comparable_values(other, c) for c in entry.values)
    )


def _shared(entry: LedgerEntry, other: LedgerEntry) -> tuple[str, ...]:
    """Return the columns that both publish unchanged; empty if the ledger has no hashes of single columns."""
    theirs = {c.lower() for c in other.values} if other.hash_format == entry.hash_format else set()
    return tuple(c for c in entry.values if c.lower() in theirs and entry.has_comparable_values(other, c))


def _find_small_differences(
    cursor: Any,
    entry: LedgerEntry,
    spec: ReleaseSpec,
    group: _Group,
    by_class: bool,
    old_suffix: str,
    components: Sequence[Mapping[int, int]] = (),
    by_identity: bool = False,
) -> list[SmallDifference]:
    """Return the sets of too few records in a group.

    `components` restricts them to classes of one other version and the new one in one component. With `by_identity`
    records are equal if the membership has the same identity for them.
    """
    others, last = group.others, len(group.others)
    lineages = _lineages(entry, others)
    versions = [
        {
            "i": i,
            "value": _value_hash(version, group),
            "members": _members_sql(version),
            "lineage": lineages.get(version.place) if entry.keeps_classes else None,
        }
        for i, version in enumerate([*others, entry])
    ]
    inherited = inherit_models(spec, others)
    # Models that use the whole table compare present people with the new version, and removed people with the old one.
    sides = ("now IS NOT NULL", "now IS NULL") if inherited.uses_whole_table else (None,)
    differences = []
    for side in sides:
        query = plan.fill_release_template(
            "ledger/composition/version_differences.sql",
            inherited.spec,
            None if group.columns == entry.values and not entry.pseudonym_keys else group.columns,
            versions=versions,
            who=group.identity,
            alike=group.identity if by_identity else _record_identity(entry, spec, group),
            last=last,
            chunks=[{"first": start, "last": min(start + _BITS, last) - 1} for start in range(0, last, _BITS)],
            refined=by_class,
            exact=group.is_exact,
            known=_live_tables(cursor, entry, group, old_suffix),
            k=max(entry.k, *(o.k for o in others)),
            person=Sql("person") if spec.roles.person is not None and group.is_matchable else None,
            side=None if side is None else Sql(side),
            linked=bool(components),
            promised={number: _presence_condition(places) for number, places in inherited.versions_by_model.items()},
            joint=inherited.joint,
            version=entry.table(),
            nulls=None,
            suppress=None,
        )
        for kind, presence, is_new, n_sets, n_people, missed_parameters in cursor.execute(
            query, _parameters(components)
        ).fetchall():
            with_records = [o for i, o in enumerate(others) if presence[i // _BITS] >> (i % _BITS) & 1]
            versions_with = tuple(o for o in others if (o in with_records) != is_new)
            differences.append(SmallDifference(kind, versions_with, is_new, n_sets, n_people, tuple(missed_parameters)))
    return differences


def _members_sql(version: LedgerEntry) -> Sql:
    """Return the membership of a version; that of an earlier one has no hashes per column."""
    return version.members if version.bases is not None else Sql(_WITHOUT_COLUMN_HASHES.format(version.members))


def _parameters(components: Sequence[Mapping[int, int]]) -> dict[str, list[int]]:
    """Return parameters of the statement: the classes of each version and their component numbers."""
    classes = {f"classes{i}": list(numbers) for i, numbers in enumerate(components)}
    return classes | {f"numbers{i}": list(numbers.values()) for i, numbers in enumerate(components)}


def _presence_condition(places: Sequence[int]) -> Sql:
    """Return the condition that the people of a set were in one of these versions."""
    bits: dict[int, int] = {}
    for i in places:
        bits[i // _BITS] = bits.get(i // _BITS, 0) | 1 << i % _BITS
    return Sql(" OR ".join(f"before{chunk} & {mask}::BIGINT <> 0" for chunk, mask in bits.items()))


def _record_identity(entry: LedgerEntry, spec: ReleaseSpec, group: _Group) -> Sql:
    """Return SQL that identifies a record within classes: all its values if they can be compared, else its person."""
    same_records = all(
        o.call["source"] == entry.call["source"] and releases.same_roles(o, entry.roles) and same_values(entry, o)
        for o in group.others
    )
    return Sql("row_hash::VARCHAR") if same_records and group.is_exact and spec.roles.person is None else group.identity


def _value_hash(version: LedgerEntry, group: _Group) -> Sql:
    """Return SQL of a hash of the values that a record publishes in the group's columns."""
    if group.is_exact:
        return Sql("value_hash")
    if not group.columns:
        return Sql("0::UBIGINT")
    positions = [c.lower() for c in version.values]
    places = join_sql(literal(positions.index(c.lower()) + 1) for c in group.columns)
    return Sql(f"md5_number_lower(list_select(cells, [{places}])::VARCHAR)")


_WITHOUT_COLUMN_HASHES = "(SELECT *, NULL::UBIGINT AS label_hash, NULL::UBIGINT[] AS cells FROM {})"
"""Members of a version that was created before labels and columns were hashed."""


def _lineages(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> dict[tuple[str, str, str, int], int]:
    """Return the version since which clusters were kept, for each version of the same name.

    A lineage ends where a version in between is unknown.
    """
    lineages: dict[tuple[str, str, str, int], int] = {}
    previous: LedgerEntry | None = None
    for version in sorted([*same_name(entry, others), entry], key=lambda e: e.version):
        is_continued = version.keeps_classes and previous is not None and previous.version == version.version - 1
        lineages[version.place] = lineages[previous.place] if is_continued and previous is not None else version.version
        previous = version
    return lineages


def live_tables(cursor: Any, entry: LedgerEntry, others: Sequence[LedgerEntry], old_suffix: str) -> list[Sql]:
    """Return the tables of these versions, which all publish the same columns, that still exist."""
    return _live_tables(cursor, entry, _Group(Sql("person_key"), entry.values, tuple(others), True, True), old_suffix)


def _live_tables(cursor: Any, entry: LedgerEntry, group: _Group, old_suffix: str) -> list[Sql]:
    """Return the existing tables of versions with the group's columns; they have the values behind the hashes."""
    if not group.columns:
        return [Sql(f"(SELECT 1 FROM {entry.table()})")]
    entry_types = releases.table_columns(entry, "", cursor)
    tables = [entry.table()]
    for other in group.others:
        ending = old_suffix if other.place[:3] == entry.place[:3] else ""
        other_types = {n.lower(): t for n, t in releases.table_columns(other, ending, cursor).items()}
        if other.status != "dropped" and all(other_types.get(c.lower()) == entry_types[c] for c in group.columns):
            tables.append(other.table(ending))
    return list(dict.fromkeys(tables))
