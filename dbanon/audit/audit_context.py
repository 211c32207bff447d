"""Resolve what a call about a release refers to: release, source, and the roles of their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dbanon import errors
from dbanon.audit import anonymity, column_pairs, release_lookup
from dbanon.audit.column_pairs import PairedColumn, PairSpec
from dbanon.ledger.releases import LedgerEntry
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.column_labels import column_reference, derived_reference
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.table_functions.table_function import Call

_UNCHANGED_ROLES = (None, "sensitive")
"""Roles in the call that an unchanged column may have; None: the call does not list it."""


@dataclass(frozen=True)
class ReleaseAndSource:
    """A release and its source, with the declared columns of the source.

    Attributes:
        release: The measured table.
        source: The table the release was made from; the release itself if no source is known.
        declared: The declared columns of the source, with their roles.
        ledger_entry: The ledger entry of the release, if column roles come from it.
        missing_codes: Codes for missing values in the source, by lower-case column.
    """

    release: Source
    source: Source
    declared: Sequence[DeclaredColumn]
    ledger_entry: LedgerEntry | None = None
    missing_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def has_source(self) -> bool:
        """Whether the source of the release is known, so that the release can be compared with it."""
        return self.source is not self.release


@dataclass(frozen=True, kw_only=True)
class AuditContext(ReleaseAndSource):
    """The resolved context of a call: a release, its source, and the roles of their columns.

    Attributes:
        function: The name of the called function.
        qi: SQL of the published quasi-identifiers, by their name in the source.
        sensitive: Sensitive columns of the release.
        person: The column of the release that identifies persons; None to count records.
        fingerprints: Template values that check that the policy has not changed since planning.
        passthrough: Columns of the release that are published unchanged: sensitive and other.
    """

    function: str
    qi: Mapping[str, Sql]
    sensitive: tuple[str, ...]
    person: str | None
    fingerprints: Mapping[str, object]
    passthrough: tuple[str, ...] = ()


def resolve_context(
    call: Call, *, with_sensitive: bool, with_person: bool = True, needs_source: bool = False
) -> AuditContext:
    """Return the release, the source and the column roles that a call refers to.

    Roles that the call does not give come from the ledger, else from the policy. Codes for missing values in the source
    are read as NULL.

    Args:
        call: The call of a table function whose first argument is a release.
        with_sensitive: Resolve the sensitive columns; if false, there are none in the result.
        with_person: Resolve a column of the release that identifies persons. If the release publishes none but the
            ledger knows the persons, such a column is added to the release.
        needs_source: Raise an error if the source is unknown; if false, the release is then its own source.

    Raises:
        UnknownTableError, UnknownColumnError, UnknownRoleError: A name or a declared role does not exist.
        ConflictingRolesError: A column has two roles.
        PolicyMissingError, NoCommonQuasiIdentifiersError: No quasi-identifier is known, or release and source share
            none.
        ReleaseTableMismatchError, LedgerMismatchError: The release or the given source differs from the ledger.
        SourceNotFoundError, MissingArgumentError: The source is needed and not available.
    """
    function, options = call.function.name, call.options
    pair = _replace_missing_codes(call, resolve_release_and_source(call, needs_source))
    release, source, declared = pair.release, pair.source, pair.declared
    qi = _published_quasi_identifiers(call, pair)
    sensitive = (
        _release_columns(function, release, source, declared, "sensitive", options.sequence("sensitive"))
        if with_sensitive
        else ()
    )
    person = options.text("person")
    persons: tuple[str, ...] = ()
    if with_person and person is not None:
        persons = _release_columns(function, release, source, declared, "person", (person,))
    elif with_person:
        person_columns = stored_policy.person_columns(
            (row.column, row.role, dict(row.settings.settings)) for row in declared
        )
        persons = tuple(name for name in release.columns if [fold_case(name)] == [fold_case(t) for t in person_columns])
    roles: dict[str, str] = {}
    for role, names in (("qi", tuple(qi)), ("sensitive", sensitive), ("person", persons[:1])):
        for name in names:
            if roles.setdefault(fold_case(name), role) != role:
                raise errors.ConflictingRolesError(function, release.shown, name, (roles[fold_case(name)], role))
    columns_by_role = (
        sensitive,
        *(_release_columns(function, release, source, declared, role, None) for role in ("sensitive", "insensitive")),
    )
    unchanged = dict.fromkeys(name for names in columns_by_role for name in names)
    passthrough = tuple(name for name in unchanged if roles.get(fold_case(name)) in _UNCHANGED_ROLES)
    policy = stored_policy.policy_of(source, call.cursor)
    fingerprints = {"fingerprint_sql": policy.fingerprint_sql, "fingerprint": text(policy.fingerprint)}
    person = next(iter(persons), None)
    if with_person and person is None and pair.ledger_entry is not None:
        release_with_persons = release_lookup.add_person_column(call, pair.ledger_entry, release)
        if release_with_persons is not None:
            source = release_with_persons if source is release else source
            release, person = release_with_persons, release_lookup.PERSON_COLUMN
    return AuditContext(
        **vars(replace(pair, release=release, source=source)),
        function=function,
        qi=qi,
        sensitive=sensitive,
        person=person,
        fingerprints=fingerprints,
        passthrough=passthrough,
    )


def resolve_release_and_source(call: Call, needs_source: bool) -> ReleaseAndSource:
    """Return the release and the source of a call, with the source's declared columns and the release's ledger entry.

    - Ledger entry: that of the release. If the call gives no source and the release has changed since, it is ignored;
      if the source or `qi` is needed from it, this is an error.
    - Source: that of the ledger entry; a source in the call must be the same table. If the entry's source is gone, or
      there is no entry, it is the source in the call, else the release itself.
    - Declared columns: the roles in the entry; without an entry those of the policy.

    Args:
        call: The call of a table function whose first argument is a release.
        needs_source: Raise an error if neither the entry nor the call has a source.

    Raises:
        LedgerMismatchError: The call gives another table than the source of the entry.
        ReleaseTableMismatchError: The release has changed, and the entry is needed.
        SourceNotFoundError: The source of the entry is gone, none is given, and it is needed, also by risk() without
            `qi`.
        MissingArgumentError: There is no entry, and the call does not give the source, which is needed.
        DbanonError: Other errors, as in `resolve_context`.
    """
    function, options = call.function.name, call.options
    resolve_table = partial(
        catalog.resolve_source,
        function,
        cursor=call.cursor,
        path=call.path,
        local_relations=call.session.temporary.columns,
    )
    release = resolve_table(call.text("release"))
    name = options.text("source")
    call_source = None if name is None else resolve_table(name)
    entry = release_lookup.find_release(call, release)
    if entry is not None and call_source is None:
        entry = release_lookup.entry_if_unchanged(call, entry, needs_source or options["qi"] is None)
    if entry is not None:
        source = release_lookup.choose_source(call, entry, call_source)
        if source is None and (needs_source or (function == "risk" and options["qi"] is None)):
            raise release_lookup.source_missing_error(call, entry)
        return ReleaseAndSource(release, source or release, release_lookup.source_declarations(entry), entry)
    if call_source is None and needs_source:
        raise errors.MissingArgumentError(function, "source", "a table's name", "source = 'patients'")
    source = call_source or release
    return ReleaseAndSource(release, source, stored_policy.policy_of(source, call.cursor).declared)


def _replace_missing_codes(call: Call, pair: ReleaseAndSource) -> ReleaseAndSource:
    """Return a copy of `pair` whose source reads codes for missing values as NULL.

    If release and source are one table, both do.
    """
    codes = release_lookup.source_missing_codes(call, pair.source, pair.ledger_entry if pair.has_source else None)
    source = _without_codes(call, pair.source, codes)
    release = pair.release if pair.has_source else source
    return replace(pair, release=release, source=source, missing_codes=codes)


def _without_codes(call: Call, source: Source, codes: Mapping[str, Sequence[str]]) -> Source:
    """Return a copy of a table that reads the given codes for missing values (by column) as NULL."""
    return replace(source, cleaned=missing_codes.relation_without_codes(source.read, source.columns, codes, call.holds))


def _published_quasi_identifiers(call: Call, pair: ReleaseAndSource) -> dict[str, Sql]:
    """Return SQL of the published quasi-identifiers, by their name in the source.

    They are those that the call names in `qi`, else those of the ledger entry or the policy.

    Raises:
        DbanonError: As `column_pairs.shared_columns` and `release_lookup.published_quasi_identifiers`.
    """
    function, requested = call.function.name, call.options.sequence("qi")
    if pair.ledger_entry is not None and not pair.has_source:
        return release_lookup.published_quasi_identifiers(function, pair.ledger_entry, pair.release, requested)
    return column_pairs.shared_columns(function, pair.release, pair.source, pair.declared, requested)


def context_hierarchies(
    call: Call, context: AuditContext, other_columns: Sequence[str] = ()
) -> dict[str, tuple[str, str | None]]:
    """Return the hierarchies of the quasi-identifiers, and of `other_columns`.

    Args:
        call: The call, which may name hierarchies.
        context: Its resolved context.
        other_columns: Further columns that may have a hierarchy.

    Returns:
        By column: the name of the hierarchy, and the name that the call gave (None: declared). Columns without a
        hierarchy are missing.

    Raises:
        HierarchiesChangedError: The hierarchies differ from those of the release and the call names none.
        UnknownColumnError, UnsupportedSettingError: The call names a hierarchy of another column.
    """
    declared = context.declared
    if context.ledger_entry is not None:
        declared = release_lookup.add_hierarchies(call, context.ledger_entry, context.source, declared)
    return column_pairs.hierarchies_by_column(
        context.function, context.source, context.qi, declared, call.options, other_columns
    )


def _release_columns(
    function: str,
    release: Source,
    source: Source,
    declared: Sequence[DeclaredColumn],
    role: str,
    requested: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return columns of the release with a role: those that the call names, else the declared ones that it publishes.

    Args:
        function: The called function, for messages.
        release: The release.
        source: The source, for messages.
        declared: The declared columns of the source.
        role: The role.
        requested: The names in the call; None if it gives none.

    Raises:
        UnknownRoleError: A declared role does not exist.
        UnknownColumnError: The release does not have a named column.
    """
    if requested is None:
        names = [fold_case(name) for name in column_pairs.columns_with_role(source, declared, role)]
        return tuple(name for name in release.columns if fold_case(name) in names)
    return tuple(release.column(function, name, role) for name in requested)


def class_values(context: AuditContext, classes: object = "published") -> dict[str, object]:
    """Return the values for the template sql/audit/anonymity/inputs.sql, which computes the classes of the release.

    Args:
        context: The resolved context.
        classes: "published" for classes of records with equal published texts, or "cluster" for these divided further
            by the column class_id.

    Raises:
        UnsupportedPersonError: The type of the person column cannot identify persons.
        UnknownColumnError: `classes` is "cluster" and there is no column class_id.
    """
    function, release, person = context.function, context.release, context.person
    quasi = [
        {
            "name": identifier(name),
            "raw_name": name,
            "column": column_reference(name),
            "value": Sql(f"CAST({value} AS VARCHAR) COLLATE POSIX"),
        }
        for name, value in ((n, _without_negative_zero(release, n, v)) for n, v in context.qi.items())
    ]
    if classes == "cluster":
        name = identifier(release.column(function, "class_id", "classes"))
        quasi.append({"name": name, "column": derived_reference("cluster", "class_id"), "value": name})
    value = None if person is None else person_value(identifier(person), release.columns[person])
    if person is not None and value is None:
        raise errors.UnsupportedPersonError(function, release.shown, person, release.columns[person])
    return {
        "source": release.rows,
        "quasi": quasi,
        "sensitive": [
            {
                "i": i,
                "raw_name": name,
                "column": column_reference(name),
                "value": anonymity.comparable_value(name, release.columns[name]),
                "rows": None,
                "label": text(name),
            }
            for i, name in enumerate(context.sensitive)
        ],
        "person": value,
        "joint": False,
        "bare": None,
        **context.fingerprints,
    }


def _without_negative_zero(release: Source, name: str, published_value: Sql) -> Sql:
    """Return SQL of a published value, with -0.0 read as 0.0 if the column `name` of the release has a float type."""
    spelled = release.spelled(name)
    type_ = None if spelled is None else release.columns[spelled]
    return Sql(f"({published_value} + 0::{type_})") if type_ in ("FLOAT", "DOUBLE") else published_value


def source_pairs(
    call: Call,
    context: AuditContext,
    hierarchies: Mapping[str, tuple[str, str | None]],
    published_cells: str = "published_cells",
) -> list[PairedColumn]:
    """Pair the published quasi-identifiers with the columns of the source.

    `hierarchies` are those of the columns, as `context_hierarchies` returns them; `published_cells` is the relation
    that has the published values.
    """
    return [
        column_pairs.pair_column(
            call,
            context.source,
            PairSpec(i, column, published_value, hierarchies.get(column), published_cells=published_cells),
        )
        for i, (column, published_value) in enumerate(context.qi.items())
    ]


def resolve_people_table(call: Call, context: AuditContext, name: str) -> Source:
    """Return the table with this name, which is about people of the same population, such as a register.

    The codes for missing values of the source are read as NULL in it, too.

    Raises:
        UnknownTableError: The table does not exist.
    """
    source = catalog.resolve_source(context.function, name, call.cursor, call.path, call.session.temporary.columns)
    return _without_codes(call, source, context.missing_codes)


def people_table_pairs(
    call: Call, context: AuditContext, people: Source, hierarchies: Mapping[str, tuple[str, str | None]]
) -> list[PairedColumn]:
    """Pair the published quasi-identifiers with the columns of the same names in another table of people.

    Quasi-identifiers that the table does not have are omitted. `hierarchies` are those of the columns, as
    `context_hierarchies` returns them.

    Raises:
        NoCommonQuasiIdentifiersError: The table has none of the quasi-identifiers.
        UnsupportedTypeError: The type of a shared column cannot be compared.
    """
    attributes: list[PairedColumn] = []
    for i, (column, published_value) in enumerate(context.qi.items()):
        name = people.spelled(column)
        if name is None:
            continue
        pair = PairSpec(
            len(context.qi) + i,
            name,
            published_value,
            hierarchies.get(column),
            "population_cells",
            "classes",
            context.source,
        )
        paired_column = column_pairs.pair_column(call, people, pair)
        attributes.append(replace(paired_column, qi_index=i, column=column_reference(column)))
    if not attributes:
        raise errors.NoCommonQuasiIdentifiersError(
            context.function, people.shown, context.release.shown, tuple(context.qi)
        )
    return attributes
