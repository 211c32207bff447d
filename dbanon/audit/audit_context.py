"""What a call about a release is about: the release, the table it is judged by, what their columns are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dbanon import errors
from dbanon.audit import anonymity, column_pairs, release_lookup
from dbanon.audit.column_pairs import Pair, PairedColumn
from dbanon.ledger.releases import LedgerEntry
from dbanon.policy.column_roles import ROLES
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.table_functions.table_function import Call

_PASSTHROUGH = (None, "sensitive")
"""What a column may be in a call (None: it is in no list) and still count among those published as they are."""


@dataclass(frozen=True)
class Tables:
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
    entry: LedgerEntry | None = None
    """What the ledger says of the release, where it says what the columns are."""
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Codes for missing values in the source, by lower-case column."""

    @property
    def has_source(self) -> bool:
        """Whether there is another table that the release is judged by."""
        return self.source is not self.release


@dataclass(frozen=True)
class _Pair:
    """A release and the table it is judged by, what the columns of that are, and where that is said."""

    release: Source
    source: Source
    declared: Sequence[DeclaredColumn]
    entry: LedgerEntry | None = None
    codes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def resolved(call: Call, *, judges: bool, counts_persons: bool = True, needs_source: bool = False) -> Tables:
    """What a call is about; `judges`: sensitive columns matter; `counts_persons`: a person column of the release, too;
    `needs_source`: nothing can be said without one.

    What the call does not say of a release is taken from the ledger, else from the policy. Raises UnknownTableError,
    UnknownColumnError, UnknownRoleError, ConflictingRolesError, PolicyMissingError, NoCommonQuasiIdentifiersError,
    ReleaseTableMismatchError, SourceNotFoundError, LedgerMismatchError and MissingArgumentError.
    """
    function, options = call.function.name, call.options
    pair = _cleaned(call, paired(call, needs_source))
    release, source, declared = pair.release, pair.source, pair.declared
    qi = _quasi(call, pair)
    judged = options.listed("sensitive")
    sensitive = _released(function, release, source, declared, "sensitive", judged) if judges else ()
    person = options.text("person")
    persons: tuple[str, ...] = ()
    if counts_persons and person is not None:
        persons = _released(function, release, source, declared, "person", (person,))
    elif counts_persons:
        tellers = stored_policy.person_columns((row.column, row.role, dict(row.settings.form)) for row in declared)
        persons = tuple(name for name in release.columns if [name.lower()] == [t.lower() for t in tellers])
    roles: dict[str, str] = {}
    for role, names in (("qi", tuple(qi)), ("sensitive", sensitive), ("person", persons[:1])):
        for name in names:
            if roles.setdefault(name.lower(), role) != role:
                raise errors.ConflictingRolesError(function, release.shown, name, (roles[name.lower()], role))
    named = (
        sensitive,
        *(_released(function, release, source, declared, role, None) for role in ("sensitive", "other")),
    )
    every = dict.fromkeys(name for names in named for name in names)
    passthrough = tuple(name for name in every if roles.get(name.lower()) in _PASSTHROUGH)
    _, fingerprint_sql, fingerprint = stored_policy.policy_of(source, call.cursor)
    fingerprints = {"fingerprint_sql": fingerprint_sql, "fingerprint": text(fingerprint)}
    person = next(iter(persons), None)
    if counts_persons and person is None and pair.entry is not None:
        known = release_lookup.with_persons(call, pair.entry, release)
        if known is not None:
            source = known if source is release else source
            release, person = known, release_lookup.PERSON
    return Tables(
        function, release, source, declared, qi, sensitive, person, fingerprints, passthrough, pair.entry, pair.codes
    )


def paired(call: Call, needs_source: bool) -> _Pair:
    """Return the release and the source of a call. Errors are those of `resolved`."""
    function, options = call.function.name, call.options
    find = partial(
        catalog.resolve_source,
        function,
        cursor=call.cursor,
        path=call.path,
        local_relations=call.session.temporary.columns,
    )
    release = find(call.text("release"))
    name = options.text("source")
    given = None if name is None else find(name)
    entry = release_lookup.found(call, release)
    if entry is not None and given is None:
        entry = release_lookup.unchanged(call, entry, needs_source or options["qi"] is None)
    if entry is not None:
        source = release_lookup.chosen(call, entry, given)
        if source is None and (needs_source or (function == "risk" and options["qi"] is None)):
            raise release_lookup.gone(call, entry)
        return _Pair(release, source or release, release_lookup.declared(entry), entry)
    if given is None and needs_source:
        raise errors.MissingArgumentError(function, "source", "a table's name", "source = 'patients'")
    source = given or release
    return _Pair(release, source, stored_policy.policy_of(source, call.cursor).declared)


def _cleaned(call: Call, pair: _Pair) -> _Pair:
    """Return the same with the codes for missing values of the source, in whose place its `rows` have NULL."""
    codes = release_lookup.codes(call, pair.source, pair.entry if pair.source is not pair.release else None)
    source = _without(call, pair.source, codes)
    release = source if pair.source is pair.release else pair.release
    return replace(pair, release=release, source=source, codes=codes)


def _without(call: Call, source: Source, codes: Mapping[str, Sequence[str]]) -> Source:
    return replace(source, cleaned=missing_codes.relation_without_codes(source.read, source.columns, codes, call.holds))


def _quasi(call: Call, pair: _Pair) -> dict[str, Sql]:
    """What was published of the quasi-identifiers, by their name in the source."""
    function, given = call.function.name, call.options.listed("qi")
    if pair.entry is not None and pair.source is pair.release:
        return release_lookup.columns(function, pair.entry, pair.release, given)
    return column_pairs.columns(function, pair.release, pair.source, pair.declared, given)


def hierarchies(call: Call, tables: Tables, others: Sequence[str] = ()) -> dict[str, tuple[str, str | None]]:
    """(hierarchy, how the call named it) of the columns that have one; `others`: columns that may have one, too.

    Raises HierarchiesChangedError, UnknownColumnError, UnsupportedSettingError.
    """
    declared = tables.declared
    if tables.entry is not None:
        declared = release_lookup.with_hierarchies(call, tables.entry, tables.source, declared)
    return column_pairs.hierarchies(tables.function, tables.source, tables.qi, declared, call.options, others)


def _released(
    function: str,
    release: Source,
    source: Source,
    declared: Sequence[DeclaredColumn],
    role: str,
    given: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return columns of the release: those that the call names, else the declared ones that were released."""
    if given is None:
        for row in declared:
            if row.role.lower() not in ROLES:
                raise errors.UnknownRoleError(source.shown, row.column, row.role, ROLES)
        names = [row.column.lower() for row in declared if row.role.lower() == role]
        return tuple(name for name in release.columns if name.lower() in names)
    return tuple(release.column(function, name, role) for name in given)


def classes(tables: Tables, of: object = "published") -> dict[str, object]:
    """Template values of sql/audit/anonymity/inputs.sql: the classes of the release, of texts as they are published."""
    function, release, person = tables.function, tables.release, tables.person
    quasi = [
        {"name": identifier(name), "value": Sql(f"CAST({value} AS VARCHAR) COLLATE POSIX")}
        for name, value in ((n, _plain(release, n, v)) for n, v in tables.qi.items())
    ]
    if of == "cluster":
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
                "value": anonymity.value(name, release.columns[name]),
                "rows": None,
                "label": text(name),
            }
            for i, name in enumerate(tables.sensitive)
        ],
        "person": value,
        "joint": False,
        "bare": None,
        **tables.fingerprints,
    }


def _plain(release: Source, name: str, published: Sql) -> Sql:
    """What was published; of 0.0 and -0.0 only one is shown."""
    spelled = release.spelled(name)
    type_ = None if spelled is None else release.columns[spelled]
    return Sql(f"({published} + 0::{type_})") if type_ in ("FLOAT", "DOUBLE") else published


def people(call: Call, tables: Tables, name: str) -> Source:
    """Return another table of such people: codes for missing values of the source are codes there, too.

    UnknownTableError.
    """
    found = catalog.resolve_source(tables.function, name, call.cursor, call.path, call.session.temporary.columns)
    return _without(call, found, tables.codes)


def strangers(
    call: Call, tables: Tables, other: Source, hierarchies: Mapping[str, tuple[str, str | None]]
) -> list[PairedColumn]:
    """Return the release's quasi-identifiers that another table of people has.

    Raises NoCommonQuasiIdentifiersError, UnsupportedTypeError.
    """
    attributes: list[PairedColumn] = []
    for i, (column, published) in enumerate(tables.qi.items()):
        name = other.spelled(column)
        if name is None:
            continue
        pair = Pair(
            len(tables.qi) + i, name, published, hierarchies.get(column), "other_cells", "other_told", tables.source
        )
        attributes.append(replace(column_pairs.attribute(call, tables.release, other, pair), q=i))
    if not attributes:
        raise errors.NoCommonQuasiIdentifiersError(tables.function, other.shown, tables.release.shown, tuple(tables.qi))
    return attributes
