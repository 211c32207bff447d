"""Column roles: what the policy declares, what a call asks for, and what follows from both.

Safe by default: a column without a role is withheld. A call may only tighten the declared policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbanon import errors
from dbanon.policy.column_names.hints import suggested_quasi_identifier
from dbanon.policy.transforms.settings import KNOWN
from dbanon.privacy_models import model_request
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import DeclaredColumn, Settings, person_columns
from dbanon.table_functions.options import Options

ROLES = ("identifier", "person", "quasi", "sensitive", "other", *KNOWN)
"""Roles of dbanon.policy. identifier and person are withheld; person also tells data subjects apart, and so does
pseudonym where there is no person."""

WITHHELD = "withheld"

SETTINGS = ("hierarchy", "weight", "min_level", "max_level", "top", "bottom", "grid")
"""How a quasi-identifier is generalized: the columns of dbanon.policy after the role."""

STORED = (*SETTINGS, "missing", "form")
"""What the policy says of a column beside its role."""


@dataclass(frozen=True)
class Quasi:
    """A quasi-identifier of one call: the column as the table spells it, its type and settings."""

    column: str
    type: str
    settings: Settings


@dataclass(frozen=True)
class Roles:
    """What each published column of one call is. Orders: quasi as declared or asked, others as in the table.

    `orders` names the hierarchies of sensitive columns: how far their values are apart for t-closeness. `made` are the
    columns that are published as something made of them, with their roles (pseudonym, mask, shift); a pseudonym is the
    `person` where no other column is: of several the one that says so in the policy.
    """

    quasi: tuple[Quasi, ...]
    sensitive: tuple[str, ...]
    other: tuple[str, ...]
    person: str | None
    orders: Mapping[str, str]
    made: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Asked:
    """What one call asks of a source.

    `looser` says whether a setting of it would tell a reader more than the declared one, `cuts` whether a top or bottom
    of it lies within a cell of the grid, `is_value` whether a code can be a value of a type.
    """

    function: str
    source: Source
    options: Options
    looser: Looser
    cuts: Cuts
    is_value: IsValue

    @property
    def table(self) -> str:
        """The source as messages show it."""
        return self.source.shown

    def column(self, name: str, where: str) -> str:
        """Return a column as the table spells it; UnknownColumnError."""
        return self.source.column(self.function, name, where)

    def names(self, parameter: str) -> tuple[str, ...]:
        """Return the columns that a parameter lists, as the call spells them."""
        return self.options.columns(parameter)

    def per_column(self, parameter: str) -> dict[str, object]:
        """What a parameter says of single columns."""
        return {self.column(name, parameter): value for name, value in self.options.per_column(parameter).items()}


def resolve(
    function: str,
    source: Source,
    declared: Iterable[DeclaredColumn],
    options: Options,
    looser: Looser,
    cuts: Cuts,
    is_value: IsValue,
    *,
    ontology: Mapping[str, str] | None = None,
    alone: bool = True,
) -> Roles:
    """Return the roles of one call.

    `options` are validated parameters; `looser` says whether a setting of the call would tell a reader more than the
    declared one, `cuts` whether a top or bottom of the call lies within a cell of the grid, `is_value` whether a code
    can be a value of a type; `ontology` has hierarchies of sensitive columns, whose own are used whatever the models
    (None: where models do). Where the policy says anything of the table, a column it does not name is withheld whatever
    the call asks. A table that is published `alone` has a quasi-identifier.

    Raises UnknownColumnError, UnknownRoleError, ConflictingRolesError, LoosensPolicyError, BoundOffGridError,
    Undeclared or PolicyMissingError.
    """
    asked = _Asked(function, source, options, looser, cuts, is_value)
    policy = _policy(asked, declared)
    roles = _roles(asked, policy)
    order = [asked.column(name, "qi") for name in asked.names("qi")]
    if options["qi"] is None:
        order = [name for name in source.columns if roles[name] == "quasi"]
    if not order and (alone or not policy):
        raise errors.PolicyMissingError(function, source.shown, suggested_quasi_identifier(source.columns))
    quasi = tuple(Quasi(name, source.columns[name], _settings(asked, name, policy.get(name))) for name in order)
    sensitive = {name: policy.get(name) for name, role in roles.items() if role == "sensitive"}
    orders = (
        {}
        if ontology is None and not model_request.uses_value_order(options)
        else _orders(asked, sensitive, ontology or {})
    )
    _only_quasi(asked, set(order), set(orders))
    persons = [name for name, role in roles.items() if role == "person"]
    if len(persons) > 1:
        raise errors.ConflictingRolesError(function, source.shown, persons[1], ("person", f"person of {persons[0]}"))
    made = {name: role for name, role in roles.items() if role in KNOWN}
    if not persons and (subject := _subject(asked, policy)) is not None and subject in made:
        persons = [subject]
    return Roles(
        quasi=quasi,
        sensitive=tuple(name for name in source.columns if roles[name] == "sensitive"),
        other=tuple(name for name in source.columns if roles[name] == "other"),
        person=persons[0] if persons else None,
        orders=orders,
        made=made,
    )


def _subject(asked: _Asked, policy: Mapping[str, DeclaredColumn]) -> str | None:
    """Return the pseudonym that tells persons apart where no other column does.

    AmbiguousDataSubjectError where several might.
    """
    if any(row.role == "person" for row in policy.values()):
        return None
    found = person_columns((name, row.role, dict(row.settings.form)) for name, row in policy.items())
    if len(found) > 1:
        said = dict(policy[found[0]].settings.form).get("person", "").lower() == "true"
        raise errors.AmbiguousDataSubjectError(asked.function, asked.table, found, several=said)
    return found[0] if found else None


def _roles(asked: _Asked, policy: Mapping[str, DeclaredColumn]) -> dict[str, str]:
    """Return the role of each column; Undeclared where the call publishes one that the policy does not name."""
    wanted = _request(asked)
    known = {row.role: name for name, row in policy.items()}
    subject = _subject(asked, policy)
    roles: dict[str, str] = {}
    for name in asked.source.columns:
        before = policy[name].role if name in policy else None
        if wanted.get(name) == "person" and subject is not None and name != subject:
            raise errors.LoosensPolicyError(asked.function, asked.table, subject, "pseudonym", "another person column")
        roles[name] = _allowed(asked, name, before, wanted.get(name), known)
        if name == subject and roles[name] in ("identifier", WITHHELD):
            roles[name] = "person"  # withheld, it still tells persons apart
        if policy and before is None and roles[name] in _PUBLISHED:
            raise errors.UndeclaredColumnError(asked.function, asked.table, name, roles[name])
    return roles


def _orders(
    asked: _Asked, sensitive: Mapping[str, DeclaredColumn | None], ontology: Mapping[str, str]
) -> dict[str, str]:
    """Hierarchies of sensitive columns, as the call asks or as declared.

    InvalidArgumentError where `ontology` has more.
    """
    found = {name: row.settings.hierarchy for name, row in sensitive.items() if row and row.settings.hierarchy}
    found |= {name: str(hierarchy) for name, hierarchy in asked.per_column("hierarchies").items() if name in sensitive}
    for given, hierarchy in ontology.items():
        name = asked.column(given, "ontology")
        if name not in sensitive:
            accepts = "hierarchies of sensitive columns" + "".join(f", {column}" for column in sensitive)
            raise errors.InvalidArgumentError(asked.function, "ontology", accepts, name)
        found[name] = hierarchy
    return found


def _policy(asked: _Asked, declared: Iterable[DeclaredColumn]) -> dict[str, DeclaredColumn]:
    """Declared rows by the table's spelling of the column."""
    policy: dict[str, DeclaredColumn] = {}
    for row in declared:
        name = asked.column(row.column, "dbanon.policy")
        role = row.role.lower()
        if role not in ROLES:
            raise errors.UnknownRoleError(asked.table, name, row.role, ROLES)
        if name in policy:
            raise errors.ConflictingRolesError(asked.function, asked.table, name, (policy[name].role, role))
        policy[name] = replace(row, role=role)
    return policy


def _request(asked: _Asked) -> dict[str, str]:
    """Return roles the call names, by column."""
    request: dict[str, str] = {}
    lists = {
        "quasi": ("qi", asked.names("qi")),
        "sensitive": ("sensitive", asked.names("sensitive")),
        "other": ("other", asked.names("other")),
        "identifier": ("identifier", asked.names("identifier")),
        WITHHELD: ("withhold", asked.names("withhold")),
        "person": ("person", (person,) if (person := asked.options.text("person")) else ()),
    }
    for role, (parameter, names) in lists.items():
        for given in names:
            name = asked.column(given, parameter)
            if name in request:
                raise errors.ConflictingRolesError(asked.function, asked.table, name, (request[name], role))
            request[name] = role
    for name in asked.names("allow_rare"):
        asked.column(name, "allow_rare")
    return request


_TIGHTER: dict[str, tuple[str, ...]] = {
    "identifier": ("identifier", "person", WITHHELD),
    "person": ("person", WITHHELD),
    "quasi": ("quasi", "identifier", "person", WITHHELD),
    "sensitive": ("sensitive", "identifier", "person", WITHHELD),
    "other": ("other", "quasi", "sensitive", "identifier", "person", WITHHELD),
    "pseudonym": ("identifier", "person", WITHHELD),
    "mask": ("identifier", WITHHELD),
    "shift": ("identifier", WITHHELD),
}
"""What a call may make of a declared role: the same or what tells a reader less."""

_PUBLISHED = ("quasi", "sensitive", "other")

_LISTS = {"quasi": "qi", "sensitive": "sensitive", "other": "other", "person": "person"}


def _allowed(asked: _Asked, name: str, declared: str | None, wanted: str | None, known: Mapping[str, str]) -> str:
    """Return the role of one column in this call; `known` has a column for each role of the policy."""
    if wanted == "person" and declared not in ("person", "pseudonym") and "pseudonym" in known:
        raise errors.LoosensPolicyError(
            asked.function, asked.table, known["pseudonym"], "pseudonym", "another person column"
        )
    if declared is None:
        return wanted or WITHHELD
    if wanted is None:
        given = declared in _LISTS and asked.options[_LISTS[declared]] is not None
        if given and declared == "person":
            raise errors.LoosensPolicyError(asked.function, asked.table, name, "person", "another person column")
        return WITHHELD if given else declared
    if wanted not in _TIGHTER[declared] or (declared == "person" and wanted == WITHHELD):
        raise errors.LoosensPolicyError(asked.function, asked.table, name, declared, wanted)
    return wanted


def _settings(asked: _Asked, name: str, declared: DeclaredColumn | None) -> Settings:
    """Declared settings of a quasi-identifier with the call's on top, which may only coarsen."""
    settings = declared.settings if declared else Settings()
    for setting in SETTINGS:
        given = asked.per_column({"hierarchy": "hierarchies", "weight": "weights"}.get(setting, setting))
        if name in given:
            _refuse_looser(asked, name, declared, settings, setting, given[name])
            settings = replace(settings, **{setting: given[name]})  # type: ignore[arg-type]
    _refuse_bounds(asked, name, declared)
    _refuse_codes(asked, name, declared)
    return _rounded(asked, name, declared, settings)


def _refuse_looser(
    asked: _Asked, name: str, declared: DeclaredColumn | None, settings: Settings, setting: str, value: object
) -> None:
    """LoosensPolicyError or BoundOffGridError where one setting of the call tells more than those before it."""
    type_, before = asked.source.columns[name], getattr(settings, setting)
    if setting == "hierarchy":
        held = _held(asked, name, declared) if value != before else None
        if held is not None:
            raise errors.LoosensPolicyError(asked.function, asked.table, name, held, "another hierarchy")
    elif declared is not None and asked.looser(setting, type_, value, before):
        shown = f"{setting} = {'its default' if before is None else before}"
        raise errors.LoosensPolicyError(asked.function, asked.table, name, shown, f"{setting} = {value}")
    elif declared is not None and declared.role != "other" and setting in ("top", "bottom") and value != before:
        grid = asked.cuts(setting, type_, value, declared.settings.grid) if settings.hierarchy is None else None
        if grid is not None:
            raise errors.BoundOffGridError(asked.function, asked.table, name, grid, setting, str(value))


def _refuse_bounds(asked: _Asked, name: str, declared: DeclaredColumn | None) -> None:
    """The same of bounds: whose record is within them has a value that may be narrower than what is published."""
    bounds: Sequence[object] | None = asked.options.of_column("bounds", name)
    held = _held(asked, name, declared, ("top", "bottom", "grid")) if bounds is not None else None
    if held is None or bounds is None:
        return
    if not held.startswith("grid"):
        raise errors.LoosensPolicyError(asked.function, asked.table, name, held, "bounds")
    for end, value in zip(("top", "bottom"), bounds, strict=True):
        grid = asked.cuts(end, asked.source.columns[name], value, declared.settings.grid if declared else None)
        if grid is not None:
            raise errors.BoundOffGridError(asked.function, asked.table, name, grid, "bounds", str(value))


def _refuse_codes(asked: _Asked, name: str, declared: DeclaredColumn | None) -> None:
    """LoosensPolicyError where the call has a code of a column that is published coarsely: all records with NULL
    would be known to have that very value."""
    given = asked.options.get("missing")
    codes = asked.per_column("missing").get(name) if isinstance(given, Mapping) else given
    held = _held(asked, name, declared, ("min_level", "top", "bottom", "grid")) if codes else None
    if declared is None or held is None or not isinstance(codes, Sequence):
        return
    more = [c for c in codes if c not in declared.settings.missing and asked.is_value(asked.source.columns[name], c)]
    if more:
        raise errors.LoosensPolicyError(asked.function, asked.table, name, held, f"missing = {more}")


def _rounded(asked: _Asked, name: str, declared: DeclaredColumn | None, settings: Settings) -> Settings:
    """Return the settings with the round of the call."""
    rounds = asked.per_column("round")
    if name not in rounds:
        return settings
    if name in asked.per_column("grid"):
        raise errors.UnsupportedSettingError(
            asked.function, "round", asked.table, name, "the call gives its grid too; give one of them."
        )
    type_, value = asked.source.columns[name], rounds[name]
    if declared is not None and settings.hierarchy is None and asked.looser("grid", type_, value, settings.grid):
        raise errors.LoosensPolicyError(
            asked.function, asked.table, name, f"grid = {settings.grid or 'its default'}", f"round = {value}"
        )
    return replace(settings, round=str(value))


_COARSER = ("hierarchy", "min_level", "top", "bottom", "grid")


def _held(asked: _Asked, name: str, declared: DeclaredColumn | None, among: Sequence[str] = _COARSER) -> str | None:
    """The declared or default setting by which a quasi-identifier is published, as it is shown; None where there is
    none `among` these, or where the policy publishes the column as it is."""
    if declared is None or declared.role == "other":
        return None
    for setting in among:
        value = getattr(declared.settings, setting)
        if value and str(value).lower() != "none":
            return f"{setting} = {value}"
    finer = asked.looser("grid", asked.source.columns[name], "none", declared.settings.grid)
    return "grid = its default" if finer else None


Looser = Callable[[str, str, object, object], bool]
"""setting, column type, asked value, declared value (None: the default) -> whether a reader would learn more."""


Cuts = Callable[[str, str, object, str | None], str | None]
"""top or bottom, column type, asked value, declared grid (None: the default) -> the grid, where a value within one of
its cells would be told apart from others of the cell."""


IsValue = Callable[[str, str], bool]
"""Column type, code for missing values -> whether a value of the type can be that code."""


def _only_quasi(asked: _Asked, quasi: set[str], ordered: set[str]) -> None:
    """Settings of columns that are no quasi-identifiers would be ignored: refuse them.

    `ordered`: sensitive columns whose hierarchy is used.
    """
    for parameter in ("hierarchies", "weights", "min_level", "max_level", "top", "bottom", "grid", "round"):
        for key in asked.options.per_column(parameter):
            name = asked.column(key, parameter)
            if name not in quasi and not (parameter == "hierarchies" and name in ordered):
                raise errors.UnsupportedSettingError(
                    asked.function, parameter, asked.table, name, "it is not a quasi-identifier of this call."
                )
