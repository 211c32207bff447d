"""Disclosure risk and distortion of any release, each number with the classes that drive it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from dbanon import errors
from dbanon.audit import anonymity, pairing, threats
from dbanon.functions.call import Call
from dbanon.policy.column_roles import ROLES
from dbanon.source import catalog, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, person_value
from dbanon.source.stored_policy import Declared
from dbanon.sqltext.quote import Sql, identifier, literal, text
from dbanon.sqltext.template import fill, message

_UNCHANGED = (None, "sensitive")
"""What a column may be in a call (None: it is in no list) and still count among those published as they are."""

_OF_THE_SOURCE = ("distortion", "infeasible_classes")
"""Numbers that compare published values with those of the source."""


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
    unchanged: tuple[str, ...] = ()
    """Columns of the release that are published as they are: sensitive and other."""


def tables(call: Call, *, judges: bool, counts_persons: bool = True) -> Tables:
    """What a call is about; `judges`: sensitive columns matter; `counts_persons`: a person column of the release, too.

    Raises UnknownTable, UnknownColumn, UnknownRole, TwoRoles, NoPolicy, NothingShared.
    """
    function, options = call.function.name, call.options
    find = partial(catalog.resolve, function, cursor=call.cursor, path=call.path, local=call.session.local)
    release = find(call.text("release"))
    given = cast("str | None", options["source"])
    source = release if given is None else find(given)
    declared, fingerprint_sql, fingerprint = stored_policy.policy_of(source, call.cursor)
    qi = pairing.columns(function, release, source, declared, cast("Sequence[str] | None", options["qi"]))
    asked = cast("Sequence[str] | None", options.get("sensitive"))
    sensitive = _released(function, release, source, declared, "sensitive", asked) if judges else ()
    person = cast("str | None", options.get("person"))
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
    unchanged = tuple(n for n in dict.fromkeys(n for some in named for n in some) if roles.get(n.lower()) in _UNCHANGED)
    fingerprints = {"fingerprint_sql": fingerprint_sql, "fingerprint": text(fingerprint)}
    return Tables(
        function, release, source, declared, qi, sensitive, next(iter(persons), None), fingerprints, unchanged
    )


def _released(
    function: str,
    release: Source,
    source: Source,
    declared: Sequence[Declared],
    role: str,
    asked: Sequence[str] | None,
) -> tuple[str, ...]:
    """Columns of the release: those that the call names, else the declared ones that were released."""
    spelled = {name.lower(): name for name in release.columns}
    if asked is None:
        for row in declared:
            if row.role.lower() not in ROLES:
                raise errors.UnknownRole(source.shown, row.column, row.role, ROLES)
        names = [row.column.lower() for row in declared if row.role.lower() == role]
        return tuple(spelled[name] for name in spelled if name in names)
    for name in asked:
        if name.lower() not in spelled:
            raise errors.UnknownColumn(function, release.shown, name, role, release.columns)
    return tuple(spelled[name.lower()] for name in asked)


def classes(made: Tables, of: object = "published") -> dict[str, object]:
    """Template values of sql/audit/anonymity/path.sql: the classes of the release, of texts as they are published."""
    function, release, person = made.function, made.release, made.person
    quasi = [
        {"name": identifier(name), "value": Sql(f"CAST({value} AS VARCHAR) COLLATE POSIX")}
        for name, value in ((n, _plain(release, n, v)) for n, v in made.qi.items())
    ]
    if of == "cluster":
        known = {name.lower(): name for name in release.columns}
        if "class_id" not in known:
            raise errors.UnknownColumn(function, release.shown, "class_id", "classes", release.columns)
        name = identifier(known["class_id"])
        quasi.append({"name": name, "value": name})
    value = None if person is None else person_value(person, release.columns[person])
    if person is not None and value is None:
        raise errors.UnsupportedPerson(function, release.shown, person, release.columns[person])
    return {
        "source": release.sql,
        "quasi": quasi,
        "sensitive": [
            {"i": i, "value": anonymity.value(name, release.columns[name]), "rows": None, "label": text(name)}
            for i, name in enumerate(made.sensitive)
        ],
        "person": value,
        "joint": False,
        "bare": None,
        **made.fingerprints,
    }


def _plain(release: Source, name: str, published: Sql) -> Sql:
    """What was published; of 0.0 and -0.0 only one is shown."""
    types = {column.lower(): type_ for column, type_ in release.columns.items()}
    type_ = types.get(name.lower())
    return Sql(f"({published} + 0::{type_})") if type_ in ("FLOAT", "DOUBLE") else published


def raw(source: Source, attributes: Sequence[Mapping[str, object]], name: str, person: Sql | None) -> dict[str, object]:
    """Template values of sql/audit/risk/raw.sql: the cells of a raw table."""
    return {"name": Sql(name), "source": source.sql, "attributes": attributes, "person": person}


def statement(call: Call) -> Sql:
    """The SQL of `risk(release, ...)` and of the functions that give some of its numbers.

    Raises UnknownTable, UnknownColumn, UnknownRole, TwoRoles, NoPolicy, NothingShared, NoSensitive, UnsupportedPerson,
    UnsupportedType, UnsupportedSetting, UnknownHierarchy, MissingArgument, UnusedArgument.
    """
    function, options = call.function.name, call.options
    groups = next(f.numbers for f in threats.RISKS if f.name == function)
    judging = "disclosure" in groups or "exposure" in groups
    made = tables(call, judges=judging)
    if judging and not made.sensitive and function != "risk":
        raise errors.NoSensitive(function, made.release.shown, function)
    if options["source"] is None:
        if function in _OF_THE_SOURCE:
            raise errors.MissingArgument(function, "source", "a table's name", "source = 'patients'")
        groups = tuple(g for g in groups if g not in _OF_THE_SOURCE)
    if not made.unchanged:
        groups = tuple(g for g in groups if g != "together")
    population = _population(call, made)
    fraction = cast("float | None", options.get("fraction"))
    if population is not None and fraction is not None:
        raise errors.UnusedArgument(function, "fraction", "a population is given")
    hierarchies = (
        pairing.hierarchies(function, made.source, made.qi, made.declared, options) if "hierarchies" in options else {}
    )
    compared = any(g in _OF_THE_SOURCE for g in groups)
    attributes = [
        pairing.attribute(call, i, made.release, made.source, column, published, hierarchies.get(column))
        for i, (column, published) in enumerate(made.qi.items() if compared else ())
    ]
    weights = {k.lower(): v for k, v in cast("Mapping[str, float]", options.get("influence") or {}).items()}
    for name in weights:
        if name not in {column.lower() for column in made.qi}:
            raise errors.UnknownColumn(function, made.source.shown, name, "influence", tuple(made.qi))
    numeric = [family(made.source.columns[column])[0] is not None for column in made.qi]
    threshold = cast(float, options.get("threshold") or 0.0)
    sample = cast(float, options.get("sample", 1.0))
    sides = [
        {**a, "influence": literal(weights.get(column.lower(), 1.0)), "is_numeric": is_numeric}
        for a, column, is_numeric in zip(attributes, made.qi, numeric, strict=False)
    ]
    raws = [raw(made.source, sides, "true_cells", None)] if sides else []
    others: list[dict[str, object]] = []
    if population is not None:
        others = strangers(call, made, population, hierarchies)
        raws.append(raw(population, others, "other_cells", _person(made, population)))
    return Sql(
        fill(
            "audit/risk/numbers.sql",
            **classes(made, options.get("classes", "published")),
            beside=[anonymity.value(name, made.release.columns[name]) for name in made.unchanged],
            attributes=sides,
            others=others,
            raws=raws,
            fraction=None if fraction is None else literal(fraction),
            threshold=literal(threshold),
            ties=options.get("ties") == "count",
            sample=None if sample == 1 else literal(sample),
            seed=options.get("seed"),
            norm=bool(options.get("norm")),
            w=literal(cast(float, options.get("w", 0.5))),
            numbers=_numbers(made, groups, population is not None, fraction is not None, threshold, sample < 1),
            sources=[
                {**pairing.stands(function, s), **made.fingerprints}
                for s in (made.source, made.release, *([population] if population else ()))
            ],
            say={
                "policy_changed": message(errors.PolicyChanged(function, made.source.shown)),
                "empty": message(errors.EmptySource(function, made.release.shown)),
                "empty_source": message(errors.EmptySource(function, made.source.shown)),
            },
        )
    )


def _population(call: Call, made: Tables) -> Source | None:
    given = cast("str | None", call.options.get("population"))
    if given is None:
        return None
    return catalog.resolve(made.function, given, call.cursor, call.path, call.session.local)


def strangers(
    call: Call, made: Tables, other: Source, hierarchies: Mapping[str, tuple[str, str | None]]
) -> list[dict[str, object]]:
    """Template values of the release's quasi-identifiers that another table of people has.

    Raises NothingShared, UnsupportedType.
    """
    spelled = {name.lower(): name for name in other.columns}
    found: list[dict[str, object]] = []
    for i, (column, published) in enumerate(made.qi.items()):
        if column.lower() not in spelled:
            continue
        name = spelled[column.lower()]
        a = pairing.attribute(
            call, len(made.qi) + i, made.release, other, name, published, hierarchies.get(column),
            raw="other_cells", told="other_told", home=made.source,
        )  # fmt: skip
        found.append({**a, "q": i})
    if not found:
        raise errors.NothingShared(made.function, other.shown, made.release.shown, tuple(made.qi))
    return found


def _person(made: Tables, other: Source) -> Sql | None:
    """The declared person column, if another table has it."""
    spelled = {name.lower(): name for name in other.columns}
    names = [row.column.lower() for row in made.declared if row.role.lower() == "person"]
    return next((person_value(spelled[n], other.columns[spelled[n]]) for n in names if n in spelled), None)


# --- the numbers -----------------------------------------------------------------------------------------


def _numbers(
    made: Tables, groups: Sequence[str], population: bool, fraction: bool, threshold: float, sampled: bool
) -> list[dict[str, object]]:
    """Template values of the numbers of a call, in order.

    `of` is a relation of (class_id, value) in sql/audit/risk/value.sql, `total` how the number comes from it, `drives`
    which classes drive it.
    """
    known = population or fraction
    unit = "persons" if made.person is not None else "records"
    found: list[tuple[str, str, str, str, int | None, str]] = []
    if "reidentification" in groups:
        found += _reidentification("prosecutor", f"who knows that somebody is in the release: 1 / {unit} of the class")
        if known:
            whom = "people of the population who fit the class"
            found += _reidentification("journalist", f"who knows somebody of the population: 1 / {whom}", threshold)
            found += _reidentification("marketer", "who matches all records with the population at random", threshold)
        else:
            found += _reidentification("marketer", "who matches all records with the people in it at random", threshold)
    if "uniqueness" in groups:
        said = f"Share of records in classes of one {unit.removesuffix('s')}."
        found.append(("uniqueness_sample", "single", "average", "positive", None, said))
        if population:
            said = "Share of records that fit exactly one person of the population."
            found.append(("uniqueness_population", "alone", "average", "positive", None, said))
    if "together" in groups:
        said = f"Least number of {unit} alike in everything that is published, unchanged columns too."
        found.append(("k_all", "alike", "lowest", "at_lowest", None, said))
    for i, _ in enumerate(made.sensitive):
        if "disclosure" in groups:
            said = "Disclosure risk: mean over the values of a class of the chance to guess them; average over records."
            found.append(("disclosure_literal", "literal", "average", "above_average", i, said))
            said = "Disclosure risk: chance of the class's most frequent value; average over records."
            found.append(("disclosure_dominant", "dominant", "average", "above_average", i, said))
        if "exposure" in groups:
            said = "Share of the records of the most frequent value that lie in classes where it is the most frequent"
            said += ", estimated from a sample of the classes." if sampled else "."
            found.append(("exposure", "exposed", "sum", "positive", i, said))
    if "distortion" in groups:
        said = (
            "Levels that quasi-identifiers were raised over their number, weighted by influence; sum of the columns, "
        )
        found.append(("distortion", "distortion", "average", "above_average", None, f"{said}average over records."))
    if "infeasible_classes" in groups:
        said = "Number of classes with a suppressed, an open or a wide value."
        found.append(("infeasible_classes", "infeasible", "sum", "positive", None, said))
    return [
        {
            "number": number,
            "name": text(name),
            "of": of,
            "total": total,
            "drives": drives,
            "i": i,
            "sensitive": Sql("NULL") if i is None else text(made.sensitive[i]),
            "what": text(what),
        }
        for number, (name, of, total, drives, i, what) in enumerate(found)
    ]


def _reidentification(
    attacker: str, what: str, threshold: float = 0.0
) -> list[tuple[str, str, str, str, int | None, str]]:
    said = f"risk from an attacker {what}"
    return [
        (f"{attacker}_highest", attacker, "highest", "at_highest", None, f"Highest {said}."),
        (f"{attacker}_average", attacker, "average", "above_average", None, f"Average {said}, over records."),
        (f"{attacker}_above", attacker, "share_above", "above_threshold", None, "Share of records whose "
         f"{said}, is above the threshold."),
    ]  # fmt: skip
