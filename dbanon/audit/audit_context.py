"""What a call about a release is about: the release, the table it is judged by, what their columns are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dbanon import errors
from dbanon.audit import anonymity, column_pairs, release_lookup
from dbanon.audit.column_pairs import PairedColumn, PairSpec
from dbanon.ledger.releases import LedgerEntry
from dbanon.policy.column_roles import ROLES
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.table_functions.table_function import Call

_UNCHANGED_ROLES = (None, "sensitive")
"""What a column may be in a call (None: it is in no list) and still count among those published as they are."""


@dataclass(frozen=True)
class AuditContext:
    """A release, the table it is judged by (itself where there is no source), and what their columns are.

    `qi` are SQL for what was published of the quasi-identifiers, by their name in the source; `sensitive` and `person`
    are columns of the release.
    """

    function: str
    release: Source
    source: Source
    declared: Sequence[DeclaredColumn]
    qi: Mapping[str, Sql]
    sensitive: tuple[str, ...]
    person: str | None
    fingerprints: Mapping[str, object]
    passthrough: tuple[str, ...] = ()
    """Columns of the release that are published as they are: sensitive and other."""
    ledger_entry: LedgerEntry | None = None
    """What the ledger says of the release, where it says what the columns are."""
    missing_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Codes for missing values in the source, by lower-case column."""

    @property
    def has_source(self) -> bool:
        """Whether there is another table that the release is judged by."""
        return self.source is not self.release


@dataclass(frozen=True)
class _ReleaseAndSource:
    """A release and the table it is judged by, what the columns of that are, and where that is said."""

    release: Source
    source: Source
    declared: Sequence[DeclaredColumn]
    ledger_entry: LedgerEntry | None = None
    missing_codes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def resolve_context(
    call: Call, *, with_sensitive: bool, with_person: bool = True, needs_source: bool = False
) -> AuditContext:
    """What a call is about; `with_sensitive`: sensitive columns matter; `with_person`: a person column of the release,
    too; `needs_source`: nothing can be said without one.

    What the call does not say of a release is taken from the ledger, else from the policy. Raises UnknownTableError,
    UnknownColumnError, UnknownRoleError, ConflictingRolesError, PolicyMissingError, NoCommonQuasiIdentifiersError,
    ReleaseTableMismatchError, SourceNotFoundError, LedgerMismatchError and MissingArgumentError.
    """
    function, options = call.function.name, call.options
    pair = _replace_missing_codes(call, resolve_release_and_source(call, needs_source))
    release, source, declared = pair.release, pair.source, pair.declared
    qi = _published_quasi_identifiers(call, pair)
    requested_sensitive = options.listed("sensitive")
    sensitive = (
        _release_columns(function, release, source, declared, "sensitive", requested_sensitive)
        if with_sensitive
        else ()
    )
    person = options.text("person")
    persons: tuple[str, ...] = ()
    if with_person and person is not None:
        persons = _release_columns(function, release, source, declared, "person", (person,))
    elif with_person:
        person_columns = stored_policy.person_columns(
            (row.column, row.role, dict(row.settings.form)) for row in declared
        )
        persons = tuple(name for name in release.columns if [name.lower()] == [t.lower() for t in person_columns])
    roles: dict[str, str] = {}
    for role, names in (("qi", tuple(qi)), ("sensitive", sensitive), ("person", persons[:1])):
        for name in names:
            if roles.setdefault(name.lower(), role) != role:
                raise errors.ConflictingRolesError(function, release.shown, name, (roles[name.lower()], role))
    columns_by_role = (
        sensitive,
        *(_release_columns(function, release, source, declared, role, None) for role in ("sensitive", "other")),
    )
    unchanged = dict.fromkeys(name for names in columns_by_role for name in names)
    passthrough = tuple(name for name in unchanged if roles.get(name.lower()) in _UNCHANGED_ROLES)
    _, fingerprint_sql, fingerprint = stored_policy.policy_of(source, call.cursor)
    fingerprints = {"fingerprint_sql": fingerprint_sql, "fingerprint": text(fingerprint)}
    person = next(iter(persons), None)
    if with_person and person is None and pair.ledger_entry is not None:
        release_with_persons = release_lookup.add_person_column(call, pair.ledger_entry, release)
        if release_with_persons is not None:
            source = release_with_persons if source is release else source
            release, person = release_with_persons, release_lookup.PERSON_COLUMN
    return AuditContext(
        function,
        release,
        source,
        declared,
        qi,
        sensitive,
        person,
        fingerprints,
        passthrough,
        pair.ledger_entry,
        pair.missing_codes,
    )


def resolve_release_and_source(call: Call, needs_source: bool) -> _ReleaseAndSource:
    """Return the release and the source of a call. Errors are those of `resolved`."""
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
        entry = release_lookup.require_unchanged(call, entry, needs_source or options["qi"] is None)
    if entry is not None:
        source = release_lookup.choose_source(call, entry, call_source)
        if source is None and (needs_source or (function == "risk" and options["qi"] is None)):
            raise release_lookup.source_missing_error(call, entry)
        return _ReleaseAndSource(release, source or release, release_lookup.source_declarations(entry), entry)
    if call_source is None and needs_source:
        raise errors.MissingArgumentError(function, "source", "a table's name", "source = 'patients'")
    source = call_source or release
    return _ReleaseAndSource(release, source, stored_policy.policy_of(source, call.cursor).declared)


def _replace_missing_codes(call: Call, pair: _ReleaseAndSource) -> _ReleaseAndSource:
    """Return the same with the codes for missing values of the source, in whose place its `rows` have NULL."""
    codes = release_lookup.source_missing_codes(
        call, pair.source, pair.ledger_entry if pair.source is not pair.release else None
    )
    source = _without_codes(call, pair.source, codes)
    release = source if pair.source is pair.release else pair.release
    return replace(pair, release=release, source=source, missing_codes=codes)


def _without_codes(call: Call, source: Source, codes: Mapping[str, Sequence[str]]) -> Source:
    return replace(source, cleaned=missing_codes.relation_without_codes(source.read, source.columns, codes, call.holds))


def _published_quasi_identifiers(call: Call, pair: _ReleaseAndSource) -> dict[str, Sql]:
    """What was published of the quasi-identifiers, by their name in the source."""
    function, requested = call.function.name, call.options.listed("qi")
    if pair.ledger_entry is not None and pair.source is pair.release:
        return release_lookup.published_quasi_identifiers(function, pair.ledger_entry, pair.release, requested)
    return column_pairs.shared_columns(function, pair.release, pair.source, pair.declared, requested)


def context_hierarchies(
    call: Call, context: AuditContext, other_columns: Sequence[str] = ()
) -> dict[str, tuple[str, str | None]]:
    """(hierarchy, how the call named it) of the columns that have one; `other_columns`: columns that may have one, too.

    Raises HierarchiesChangedError, UnknownColumnError, UnsupportedSettingError.
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
    """Return columns of the release: those that the call names, else the declared ones that were released."""
    if requested is None:
        for row in declared:
            if row.role.lower() not in ROLES:
                raise errors.UnknownRoleError(source.shown, row.column, row.role, ROLES)
        names = [row.column.lower() for row in declared if row.role.lower() == role]
        return tuple(name for name in release.columns if name.lower() in names)
    return tuple(release.column(function, name, role) for name in requested)


def class_values(context: AuditContext, classes: object = "published") -> dict[str, object]:
    """Template values of sql/audit/anonymity/inputs.sql: the classes of the release, of texts as they are published."""
    function, release, person = context.function, context.release, context.person
    quasi = [
        {"name": identifier(name), "value": Sql(f"CAST({value} AS VARCHAR) COLLATE POSIX")}
        for name, value in ((n, _without_negative_zero(release, n, v)) for n, v in context.qi.items())
    ]
    if classes == "cluster":
        name = identifier(release.column(function, "class_id", "classes"))
        quasi.append({"name": name, "value": name})
    value = None if person is None else person_value(identifier(person), release.columns[person])
    if person is not None and value is None:
        raise errors.UnsupportedPersonError(function, release.shown, person, release.columns[person])
    return {
        "source": release.rows,
        "quasi": quasi,
        "sensitive": [
            {
                "i": i,
                "plain": name,
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
    """What was published; of 0.0 and -0.0 only one is shown."""
    spelled = release.spelled(name)
    type_ = None if spelled is None else release.columns[spelled]
    return Sql(f"({published_value} + 0::{type_})") if type_ in ("FLOAT", "DOUBLE") else published_value


def resolve_people_table(call: Call, context: AuditContext, name: str) -> Source:
    """Return another table of such people: codes for missing values of the source are codes there, too.

    UnknownTableError.
    """
    source = catalog.resolve_source(context.function, name, call.cursor, call.path, call.session.temporary.columns)
    return _without_codes(call, source, context.missing_codes)


def people_table_pairs(
    call: Call, context: AuditContext, people: Source, hierarchies: Mapping[str, tuple[str, str | None]]
) -> list[PairedColumn]:
    """Return the release's quasi-identifiers that another table of people has.

    Raises NoCommonQuasiIdentifiersError, UnsupportedTypeError.
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
            "other_cells",
            "other_told",
            context.source,
        )
        attributes.append(replace(column_pairs.pair_column(call, context.release, people, pair), qi_index=i))
    if not attributes:
        raise errors.NoCommonQuasiIdentifiersError(
            context.function, people.shown, context.release.shown, tuple(context.qi)
        )
    return attributes
