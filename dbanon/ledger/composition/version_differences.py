"""Find sets of records that a reader could isolate by adding and subtracting versions of the same people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbanon.ledger import releases
from dbanon.ledger.composition.inherited_models import inherit_models
from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, join_sql, literal

_BITS = 60
"""Number of versions per integer of a signature."""


_ROW_HASH = Sql("row_hash")
"""SQL of the hash of all values of a record."""


@dataclass(frozen=True)
class SmallDifference:
    """Sets of records that miss a privacy model and that a reader can isolate from a new version and earlier ones.

    Attributes:
        kind: The relation of the records in a set: `whole` (any records), `label` (published with equal generalized
            quasi-identifiers), `lineage` (in one cluster that was kept), `linked` (in classes connected by common
            records) or `refined` (in the same classes, version by version).
        others: The earlier versions to subtract: those without the records if the new version has them, else those with
            them.
        is_new: Whether the new version has the records.
        n_sets: Number of sets.
        n_people: Number of people in them; of records if no person column is declared.
        missed_parameters: The parameters of the models that the sets miss.
    """

    kind: str
    others: tuple[LedgerEntry, ...]
    is_new: bool
    n_sets: int
    n_people: int
    missed_parameters: tuple[str, ...]


def are_comparable(entry: LedgerEntry, other: LedgerEntry) -> bool:
    """Return whether both versions identify people by the same columns, without regard to case.

    False if the versions have no person key.
    """
    entry_key, other_key = ([fold_case(c) for c in e.person_key or ()] for e in (entry, other))
    return bool(entry_key) and entry_key == other_key


def versions_of_release(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Return those of `others` that are versions of the same release: equal database, schema and name."""
    return [o for o in others if o.place[:3] == entry.place[:3]]


def versions_with_kept_clusters(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Return those of `others` from which `entry`, the new version, has kept its clusters without interruption.

    Only versions under the name of `entry` can be among them.
    """
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
    """Return the sets of records that miss a privacy model and that readers can isolate from `entry` and `others`.

    Empty if there are none. Linear in the rows of these versions; see sql/ledger/composition/version_differences.sql.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: Its release spec.
        others: Earlier versions of the same people.
        by_class: If true, compare the classes in which records are, but only for versions in which people can be
            matched. If false, compare in which versions records are present.
        old_suffix: Suffix of the table names of the version that is replaced, until the new one is complete.
    """
    differences: list[SmallDifference] = []
    for group in _groups(entry, others):
        if by_class and (not group.is_matchable or (group.is_by_people and _have_same_columns(entry, group.others))):
            continue
        sets = _find_small_differences(cursor, entry, spec, group, by_class, old_suffix)
        differences += _uncovered_differences(sets, differences) if group.is_by_people else sets
    return differences


def _have_same_columns(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> bool:
    """Return whether all versions have the source of `entry` and publish the same columns with comparable values.

    If so, a comparison of these columns includes the comparison of the people.
    """
    return all(o.call["source"] == entry.call["source"] and same_values(entry, o) for o in others)


def _uncovered_differences(
    sets: Sequence[SmallDifference], earlier: Sequence[SmallDifference]
) -> list[SmallDifference]:
    """Return those of `sets` that have a version to subtract which no similar set in `earlier` has.

    A set is dropped if each of its `others` is also among the `others` of an earlier set with equal `kind` and
    `is_new`: it is rarely about other people.
    """
    pairs = {(a.kind, a.is_new, o.place) for a in earlier for o in a.others}
    return [a for a in sets if not all((a.kind, a.is_new, o.place) in pairs for o in a.others)]


def returned_people(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, others: Sequence[LedgerEntry], old_suffix: str = ""
) -> list[SmallDifference]:
    """Return the sets of too few people whom a class of version `entry` shares with a class of an earlier version.

    These are people who were removed, were added again and are in another class now. Only versions whose clusters
    `entry` keeps are compared, and only if people can be matched by keys and values are compared, too. Linear in the
    rows.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: Its release spec.
        others: Earlier versions.
        old_suffix: Suffix of the table names of the version that is replaced.

    Returns:
        The sets; empty if there are no such people.
    """
    return [
        difference
        for group in _groups(entry, versions_with_kept_clusters(entry, others))
        if group.is_matchable and not group.is_by_people
        for difference in _find_small_differences(cursor, entry, spec, group, True, old_suffix, by_identity=True)
    ]


def class_sum_differences(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, others: Sequence[LedgerEntry], old_suffix: str = ""
) -> list[SmallDifference]:
    """Return the sets of too few records by which sums over classes of `entry` and of one other version differ.

    Each version with another clustering, in which people can be matched, is compared with `entry` on its own. Classes
    of both versions that are connected by common records cover the same values, so a reader can subtract their sums. A
    reader may not see that other classes cover these values, too, so this can find more than a reader can isolate.
    Linear in the records for each version.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: Its release spec.
        others: Earlier versions.
        old_suffix: Suffix of the table names of the version that is replaced.

    Returns:
        The sets; empty if there are none.
    """
    same_clusters = versions_with_kept_clusters(entry, others)
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
                differences += _uncovered_differences(sets, differences) if group.is_by_people else sets
    return differences


def _class_components(cursor: Any, entry: LedgerEntry, other: LedgerEntry) -> tuple[dict[int, int], dict[int, int]]:
    """Return two mappings from class to number of its connected component: for `other`, and for the new `entry`.

    Two classes are connected if they have a common record. If the versions have another source or other roles, a common
    person connects them. Classes without any common record are missing. Classes of one component cover the same values
    together, so that a reader can subtract their sums. Linear in the records.
    """
    by_record = other.call["source"] == entry.call["source"] and releases.same_roles(other, entry.roles)
    rows = cursor.execute(
        f"SELECT DISTINCT o.class_id, n.class_id FROM {other.members} AS o JOIN {entry.members} AS n "
        f"USING (person_key{', row_hash' * by_record}) WHERE o.class_id IS NOT NULL AND n.class_id IS NOT NULL "
        "ORDER BY ALL ASC NULLS LAST"
    ).fetchall()
    parents: dict[tuple[bool, int], tuple[bool, int]] = {}

    def root_of(node: tuple[bool, int]) -> tuple[bool, int]:
        """Return the root of a node in the union-find forest, and shorten the path; an unknown node becomes a root.

        A node is (whether it is a class of the new version, class).
        """
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
    """Earlier versions that one query compares with a new one, by identities of records and values of some columns.

    Attributes:
        identity: SQL of the identity of a record: the person key, the row hash, or NULL if records cannot be matched.
        columns: The published columns that are compared; none to compare only the people.
        others: The earlier versions.
        is_matchable: Whether people can be matched.
        is_exact: Whether all versions publish exactly these columns.
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
    """Yield the groups of earlier versions (of `others`) that are compared with the new version `entry` in one query.

    Versions with the same person columns are grouped by common columns, and once more by people alone. Versions without
    a person key, of the same source and with equal roles and columns, are matched by row hash. All remaining versions
    with hashes of the same format are compared only by the values of common columns, without matching records.
    """
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
        yield _Group(_ROW_HASH, entry.values, tuple(same_roles), False, True)
    remaining = [o for o in incomparable if o not in same_roles and o.hash_format == entry.hash_format]
    yield from (g for g in _by_columns(entry, remaining, Sql("NULL::VARCHAR"), False) if g.columns)


def _by_columns(
    entry: LedgerEntry, others: Sequence[LedgerEntry], identity: Sql, is_comparable: bool
) -> Iterator[_Group]:
    """Yield one group of the versions with exactly the columns of `entry`, and one per other set of common columns.

    A version is in the group of every set of columns that it has in common with `entry`. Without such versions nothing
    is yielded.

    Args:
        entry: The new version.
        others: Earlier versions.
        identity: SQL of the identity of a record, for the groups.
        is_comparable: Whether people can be matched by it.
    """
    exact = [o for o in others if same_values(entry, o)]
    if exact:
        yield _Group(identity, entry.values, tuple(exact), is_comparable, True)
    for columns in sorted({_shared(entry, o) for o in others if o not in exact}):
        with_columns = [
            o for o in others if not columns or (o.bases is not None and set(columns) <= set(_shared(entry, o)))
        ]
        yield _Group(identity, columns, tuple(with_columns), is_comparable, False)


def same_values(entry: LedgerEntry, other: LedgerEntry) -> bool:
    """Return whether both versions publish the same columns unchanged and spell equal values equally.

    If so, hashes of the values can be compared. Generalized columns and pseudonyms are not considered.
    """
    return (
        (other.hash_format == entry.hash_format or not entry.values)
        and other.values == entry.values
        and all(entry.has_comparable_values(other, c) for c in entry.values)
    )


def _shared(entry: LedgerEntry, other: LedgerEntry) -> tuple[str, ...]:
    """Return the columns that both versions publish unchanged with comparable values, in the order of `entry`.

    Empty if the formats of their hashes differ.
    """
    theirs = {fold_case(c) for c in other.values} if other.hash_format == entry.hash_format else set()
    return tuple(c for c in entry.values if fold_case(c) in theirs and entry.has_comparable_values(other, c))


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
    """Return the sets of records that miss a privacy model and that the new version and a group's versions isolate.

    k is the greatest k of all these versions; the models that the earlier versions require are added.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: Its release spec.
        group: The earlier versions and what is compared.
        by_class: Whether classes are compared instead of presence.
        old_suffix: Suffix of the table names of the version that is replaced.
        components: Component number by class, for the one other version and for the new one; empty to compare single
            records. Sums of classes in one component are compared.
        by_identity: Whether records within a class count as the same if the group's `identity` is equal, even where all
            their values could be compared.
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
    sides = ("new_class IS NOT NULL", "new_class IS NULL") if inherited.uses_whole_table else (None,)
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
            chunks=[_chunk(start, min(start + _BITS, last)) for start in range(0, last, _BITS)],
            refined=by_class,
            exact=group.is_exact,
            known=live_tables(cursor, entry, others, group.columns, old_suffix),
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


def _chunk(start: int, stop: int) -> dict[str, Any]:
    """Return the first and last of the versions `start` to `stop` - 1, and SQL of a number with a bit for each."""
    return {"first": start, "last": stop - 1, "mask": Sql(f"{(1 << (stop - start)) - 1}::BIGINT")}


def _members_sql(version: LedgerEntry) -> Sql:
    """Return SQL of the rows of dbanon.membership of a version.

    Columns for hashes of labels and single columns are NULL for a version that was stored without them.
    """
    return version.members if version.bases is not None else Sql(_WITHOUT_COLUMN_HASHES.format(version.members))


def _parameters(components: Sequence[Mapping[int, int]]) -> dict[str, list[int]]:
    """Return the values of the statement's named parameters `classesN` and `numbersN`: classes and component numbers.

    N is the index in `components` (component number by class). Empty if `components` is empty.
    """
    return {
        **{f"classes{i}": list(numbers) for i, numbers in enumerate(components)},
        **{f"numbers{i}": list(numbers.values()) for i, numbers in enumerate(components)},
    }


def _presence_condition(version_indexes: Sequence[int]) -> Sql:
    """Return SQL of the condition that the records of a set were in any of some versions.

    `version_indexes` are the indexes of these versions. The columns `before0`, `before1` and so on have one bit per
    version: `before0` for the first 60 versions, `before1` for the next 60.
    """
    bits: dict[int, int] = {}
    for i in version_indexes:
        bits[i // _BITS] = bits.get(i // _BITS, 0) | 1 << i % _BITS
    return Sql(" OR ".join(f"before{chunk} & {mask}::BIGINT <> 0" for chunk, mask in bits.items()))


def _record_identity(entry: LedgerEntry, spec: ReleaseSpec, group: _Group) -> Sql:
    """Return SQL that identifies a record within classes: its row hash if rows are comparable, else `group.identity`.

    Rows are comparable if all versions have the same source, roles and columns, and no person column is declared.
    """
    same_records = all(
        o.call["source"] == entry.call["source"] and releases.same_roles(o, entry.roles) and same_values(entry, o)
        for o in group.others
    )
    if not (same_records and group.is_exact and spec.roles.person is None):
        return group.identity
    return _ROW_HASH if group.identity == _ROW_HASH else Sql(f"{_ROW_HASH}::VARCHAR")


def _value_hash(version: LedgerEntry, group: _Group) -> Sql:
    """Return SQL of a hash of the values that a record publishes in the group's columns; constant 0 if there are none.

    Args:
        version: The version whose membership has the record; it gives the positions of the columns.
        group: The group.
    """
    if group.is_exact:
        return Sql("value_hash")
    if not group.columns:
        return Sql("0::UBIGINT")
    positions = [fold_case(c) for c in version.values]
    places = join_sql(literal(positions.index(fold_case(c)) + 1) for c in group.columns)
    return Sql(f"md5_number_lower(list_select(cells, [{places}])::VARCHAR)")


_WITHOUT_COLUMN_HASHES = "(SELECT *, NULL::UBIGINT AS label_hash, NULL::UBIGINT[] AS cells FROM {})"
"""Members of a version that was created before labels and columns were hashed."""


def _lineages(entry: LedgerEntry, others: Sequence[LedgerEntry]) -> dict[tuple[str, str, str, int], int]:
    """Return the number of the version since which clusters were kept, for `entry` and each of `others` with its name.

    The keys are places (database, schema, name, version). A version that was clustered again has its own number. So has
    a version whose predecessor is not among `others`.
    """
    lineages: dict[tuple[str, str, str, int], int] = {}
    previous: LedgerEntry | None = None
    for version in sorted([*versions_of_release(entry, others), entry], key=lambda e: e.version):
        is_continued = version.keeps_classes and previous is not None and previous.version == version.version - 1
        lineages[version.place] = lineages[previous.place] if is_continued and previous is not None else version.version
        previous = version
    return lineages


def live_tables(
    cursor: Any, entry: LedgerEntry, others: Sequence[LedgerEntry], columns: Sequence[str], old_suffix: str
) -> list[Sql]:
    """Return SQL of the tables that still have some columns in their present types, the table of `entry` first.

    The tables have the values of which the ledger has hashes. Without columns, the result is one subquery with as many
    rows as the table of `entry`.

    Args:
        cursor: A cursor.
        entry: The new version.
        others: The earlier versions. Tables of dropped versions are omitted.
        columns: The columns, which all versions must publish.
        old_suffix: Appended to the names of earlier versions under the name of `entry`.
    """
    if not columns:
        return [Sql(f"(SELECT 1 FROM {entry.table()})")]
    entry_types = releases.table_columns(entry, "", cursor)
    tables = [entry.table()]
    for other in others:
        ending = old_suffix if other.place[:3] == entry.place[:3] else ""
        other_types = {fold_case(n): t for n, t in releases.table_columns(other, ending, cursor).items()}
        if other.status != "dropped" and all(other_types.get(fold_case(c)) == entry_types[c] for c in columns):
            tables.append(other.table(ending))
    return list(dict.fromkeys(tables))
