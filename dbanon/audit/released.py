"""What a call about a release is about: the release, the table it is judged by, what their columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dbanon import errors
from dbanon.audit import anonymity, pairing
from dbanon.audit.pairing import Pair, PairedColumn
from dbanon.functions.call import Call
from dbanon.policy.column_roles import ROLES
from dbanon.source import catalog, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import Declared
from dbanon.sqltext.quote import Sql, identifier, text

_PASSTHROUGH = (None, "sensitive")
"""What a column may be in a call (None: it is in no list) and still count among those published as they are."""


@dataclass(frozen=True)
class Tables:
    """A release, the table it is judged by (itself where no source is given), and what their columns are.

    `qi` are SQL for what was published of the quasi-identifiers, by their name in the source; `sensitive` and `person`
    are columns of the release.
    """

    function: str
    release: Source
    source: Source
    declared: Sequence[Declared]
    qi: Mapping[str, Sql]
    sensitive: tuple[str, ...]
    person: str | None
    fingerprints: Mapping[str, object]
    passthrough: tuple[str, ...] = ()
    """Columns of the release that are published as they are: sensitive and other."""


def resolved(call: Call, *, judges: bool, counts_persons: bool = True) -> Tables:
    """What a call is about; `judges`: sensitive columns matter; `counts_persons`: a person column of the release, too.

    Raises UnknownTable, UnknownColumn, UnknownRole, TwoRoles, NoPolicy, NothingShared.
    """
    function, options = call.function.name, call.options
    find = partial(catalog.resolve, function, cursor=call.cursor, path=call.path, local=call.session.local)
    release = find(call.text("release"))
    given = options.text("source")
    source = release if given is None else find(given)
    declared, fingerprint_sql, fingerprint = stored_policy.policy_of(source, call.cursor)
    qi = pairing.columns(function, release, source, declared, options.listed("qi"))
    judged = options.listed("sensitive")
    sensitive = _released(function, release, source, declared, "sensitive", judged) if judges else ()
    person = options.text("person")
    persons: tuple[str, ...] = ()
    if counts_persons:
        persons = _released(function, release, source, declared, "person", None if person is None else (person,))
    roles: dict[str, str] = {}
    for role, names in (("qi", tuple(qi)), ("sensitive", sensitive), ("person", persons[:1])):
        for name in names:
            if roles.setdefault(name.lower(), role) != role:
                raise errors.TwoRoles(function, release.shown, name, (roles[name.lower()], role))
    named = (
        sensitive,
        *(_released(function, release, source, declared, role, None) for role in ("sensitive", "other")),
    )
    every = dict.fromkeys(name for names in named for name in names)
    passthrough = tuple(name for name in every if roles.get(name.lower()) in _PASSTHROUGH)
    fingerprints = {"fingerprint_sql": fingerprint_sql, "fingerprint": text(fingerprint)}
    return Tables(
        function, release, source, declared, qi, sensitive, next(iter(persons), None), fingerprints, passthrough
    )


def _released(
    function: str,
    release: Source,
    source: Source,
    declared: Sequence[Declared],
    role: str,
    given: Sequence[str] | None,
) -> tuple[str, ...]:
    """Columns of the release: those that the call names, else the declared ones that were released."""
    if given is None:
        for row in declared:
            if row.role.lower() not in ROLES:
                raise errors.UnknownRole(source.shown, row.column, row.role, ROLES)
        names = [row.column.lower() for row in declared if row.role.lower() == role]
        return tuple(name for name in release.columns if name.lower() in names)
    return tuple(release.column(function, name, role) for name in given)


def classes(tables: Tables, of: object = "published") -> dict[str, object]:
    """Template values of sql/audit/anonymity/path.sql: the classes of the release, of texts as they are published."""
    function, release, person = tables.function, tables.release, tables.person
    quasi = [
        {"name": identifier(name), "value": Sql(f"CAST({value} AS VARCHAR) COLLATE POSIX")}
        for name, value in ((n, _plain(release, n, v)) for n, v in tables.qi.items())
    ]
    if of == "cluster":
        name = identifier(release.column(function, "class_id", "classes"))
        quasi.append({"name": name, "value": name})
    value = None if person is None else person_value(person, release.columns[person])
    if person is not None and value is None:
        raise errors.UnsupportedPerson(function, release.shown, person, release.columns[person])
    return {
        "source": release.sql,
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


def strangers(
    call: Call, tables: Tables, other: Source, hierarchies: Mapping[str, tuple[str, str | None]]
) -> list[PairedColumn]:
    """The release's quasi-identifiers that another table of people has.

    Raises NothingShared, UnsupportedType.
    """
    attributes: list[PairedColumn] = []
    for i, (column, published) in enumerate(tables.qi.items()):
        name = other.spelled(column)
        if name is None:
            continue
        pair = Pair(
            len(tables.qi) + i, name, published, hierarchies.get(column), "other_cells", "other_told", tables.source
        )
        attributes.append(replace(pairing.attribute(call, tables.release, other, pair), q=i))
    if not attributes:
        raise errors.NothingShared(tables.function, other.shown, tables.release.shown, tuple(tables.qi))
    return attributes
