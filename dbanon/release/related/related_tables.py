"""From a call with `entity` or `children` to the tables that are published together, and what is refused."""

from dataclasses import dataclass, replace

from dbanon import algorithms, errors
from dbanon.algorithms.base.registry import Exclusion, NoiseRelease, Suppression, Widening
from dbanon.privacy_models import registry
from dbanon.release.related import person_keys
from dbanon.release.spec import resolve
from dbanon.release.spec.related_parameters import CAP, POLICY, RELATED
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.column_types import are_comparable_keys, person_value
from dbanon.source.stored_relation import StoredKeys
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call

_SHARED = {"k", "improve", "objective", "cell", "escape", "eloss_height", *(p.name for p in RELATED)}
"""Common parameters that mean the same for all tables of a release."""

_OF_PEOPLE = ("l", "diversity")
"""Parameters of the one model that counts people over several tables."""

_OWN_WAYS = (Exclusion, NoiseRelease, Suppression)
"""Algorithms with one of these do not publish, or not only, what the rows of a cluster span; nor do those with
Widening, where the options ask for it."""

_MODELS = (
    "it is about one sensitive value a person, and there are several rows",
    "l (of the form distinct), which counts people: no value is held by more than 1/l of a class",
)

_WAYS = ("it leaves records out or publishes more than they span", "kacpc, mondrian and best do neither")
"""Why something goes with one table only, and what to do."""


@dataclass(frozen=True)
class Related:
    """One of the tables: what of it is published, and the columns that say who a row is about, with how these are
    read."""

    publication: ReleaseSpec
    key: tuple[str, ...]
    key_values: tuple[Sql, ...]

    @property
    def shown(self) -> str:
        """The table as messages show it."""
        return self.publication.source.shown


@dataclass(frozen=True)
class Relation:
    """The tables of a release, that of people first; `asked` is the place of the one whose rows are wanted, `cap` the
    most rows of a table that are published of a person, `stored` what dbanon.relation says of each table but that of
    people, `diversity` the l that is asked for."""

    tables: tuple[Related, ...]
    asked: int
    cap: int
    algorithm: algorithms.Algorithm
    stored: tuple[StoredKeys, ...]
    diversity: int | None

    @property
    def entity(self) -> Related:
        """The table with a row a person."""
        return self.tables[0]


def relation(call: Call) -> Relation:
    """Return the tables that a call is about.

    Raises NotSupportedForRelatedTablesError, MissingArgumentError, InvalidArgumentError, UnknownColumnError,
    AmbiguousRelationError, RelationKeyMismatchError, KeyTypeMismatchError, InvalidKeyColumnError,
    OtherColumnInChildTableError, and what a call for each table alone would.
    """
    algorithm = algorithms.find(str(call.function.algorithm))
    diversity = _diversity(call)
    _refuse_others(call, algorithm)
    own, entity, children = call.text("tbl"), call.options.text("entity"), call.options.listed("children")
    names = [entity or own, *(children or (own,))]
    of = [_publication(call, name, algorithm) for name in names]
    places = [str(publication.source.sql) for publication in of]
    asked = call.source().sql
    if len(set(places)) < len(places) or asked not in places:
        accepts = f"different tables with rows about the people of {of[0].source.shown}"
        accepts += "" if asked in places else f", {own} among them"
        raise errors.InvalidArgumentError(call.function.name, "children" if children else "entity", accepts, names[1:])
    sources = [publication.source for publication in of]
    stored = person_keys.relations(call, sources)
    keys = person_keys.of_tables(call, sources, stored)
    tables = [_related(call, publication, keys[i], i) for i, publication in enumerate(of)]
    for child in tables[1:]:
        _refuse_unlike(call, tables[0], child)
    if diversity is not None and not any(table.publication.roles.sensitive for table in tables):
        raise errors.SensitiveColumnMissingError(
            call.function.name, "l", " and of ".join(table.shown for table in tables)
        )
    cap = int(call.options["max_children"] or CAP)
    return Relation(tuple(tables), places.index(asked), cap, algorithm, tuple(stored), diversity)


def _diversity(call: Call) -> int | None:
    """The l that a call asks for.

    NotSupportedForRelatedTablesError for another form than distinct, UnusedArgumentError for a form without l.
    """
    usual = next(p.default for p in call.function.parameters if p.name == "l")
    form = call.options.text("diversity")
    if form is not None and form != "distinct":
        raise errors.NotSupportedForRelatedTablesError(call.function.name, f"diversity = {text(form)}", *_MODELS)
    if form is not None and call.options["l"] is None:
        raise errors.UnusedArgumentError(call.function.name, "diversity", "l is not given")
    return None if usual is not None else call.options.whole("l")


def _refuse_others(call: Call, algorithm: algorithms.Algorithm) -> None:
    """NotSupportedForRelatedTablesError where a parameter or the algorithm does not go with several tables."""
    own = {p.name for p in algorithm.own} | {"algorithm"}
    models = {p.name for p in registry.parameters()} | {"multi"}
    for parameter in call.function.parameters:
        name = parameter.name
        if name in _OF_PEOPLE and parameter.default is None:
            continue
        if name not in own and name not in _SHARED and call.options[name] != parameter.default:
            raise errors.NotSupportedForRelatedTablesError(
                call.function.name, name, *(_MODELS if name in models else POLICY)
            )
    widening = algorithm.ability(Widening)
    widens = widening is not None and widening.is_wanted({p.name: call.options[p.name] for p in algorithm.own})
    if any(algorithm.ability(kind) is not None for kind in _OWN_WAYS) or widens or algorithm.looks_up is not None:
        raise errors.NotSupportedForRelatedTablesError(call.function.name, f"the algorithm {algorithm.name}", *_WAYS)


def _publication(call: Call, name: str, algorithm: algorithms.Algorithm) -> ReleaseSpec:
    """What is published of a table, by its policy; NotSupportedForRelatedTablesError where models are asked for."""
    of = replace(call, positional={**call.positional, "tbl": name})
    usual = {p.name: p.default for p in call.function.parameters if p.name in _OF_PEOPLE}
    options = Options({**call.options, **usual})
    found = resolve.prepared(of, options, algorithm.name, str(call.function.kind), alone=False)
    if found.demands:
        what = f"the algorithm {algorithm.name}, which asks for {found.demands[0].parameter} by default,"
        raise errors.NotSupportedForRelatedTablesError(call.function.name, what, *_MODELS)
    return found


def _related(call: Call, publication: ReleaseSpec, own: tuple[str, ...], i: int) -> Related:
    """A table with its key, which is none of what is published and no other than the person; InvalidKeyColumnError,
    TransformedColumnsNotSupportedError, OtherColumnInChildTableError."""
    source, roles, function = publication.source, publication.roles, call.function.name
    published = [q.column for q in roles.quasi] + [*roles.sensitive, *roles.other, *roles.made]
    values = []
    for name in own:
        if name in published:
            why = "the policy lets it out, and a key leaves as a pseudonym"
            raise errors.InvalidKeyColumnError(function, source.shown, name, why, "declare it person or identifier")
        value = person_value(publication.read(name), source.columns[name])
        if value is None:
            raise errors.UnsupportedPersonError(function, source.shown, name, source.columns[name])
        values.append(value)
    if roles.person is not None and own != (roles.person,):
        why = f"the policy says that {roles.person} tells people apart"
        raise errors.InvalidKeyColumnError(function, source.shown, own[0], why, f"key = {text(roles.person)}")
    if roles.made:
        hint = "declare them identifier in the policy, or release the table alone"
        raise errors.TransformedColumnsNotSupportedError(
            function, source.shown, roles.made, "a release of several tables", hint
        )
    if i > 0 and roles.other:
        raise errors.OtherColumnInChildTableError(function, source.shown, roles.other[0])
    return Related(replace(publication, roles=replace(roles, person=None)), own, tuple(values))


def _refuse_unlike(call: Call, entity: Related, child: Related) -> None:
    """KeyTypeMismatchError where keys of two tables cannot be equal."""
    for ours, theirs in zip(child.key, entity.key, strict=True):
        types = (child.publication.source.columns[ours], entity.publication.source.columns[theirs])
        if not are_comparable_keys(*types):
            raise errors.KeyTypeMismatchError(
                call.function.name, f"{child.shown}.{ours}", types[0], entity.shown, theirs, types[1]
            )
