"""Column roles: what the policy declares, what a call asks for, and what follows from both.

Safe by default: a column without a role is withheld. A call may only tighten the declared policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from dbanon import errors
from dbanon.source.stored_policy import Declared, Settings

ROLES = ("identifier", "person", "quasi", "sensitive", "other")
"""Roles of dbanon.policy. identifier and person are withheld; person also tells data subjects apart."""

WITHHELD = "withheld"

SETTINGS = ("hierarchy", "weight", "min_level", "max_level", "top", "bottom", "grid")
"""How a quasi-identifier is generalized: the columns of dbanon.policy after the role."""


@dataclass(frozen=True)
class Quasi:
    """A quasi-identifier of one call: the column as the table spells it, its type and settings."""

    column: str
    type: str
    settings: Settings


@dataclass(frozen=True)
class Roles:
    """What each published column of one call is. Orders: quasi as declared or asked, others as in the table.

    `orders` names the hierarchies of sensitive columns: how far their values are apart for t-closeness.
    """

    quasi: tuple[Quasi, ...]
    sensitive: tuple[str, ...]
    other: tuple[str, ...]
    person: str | None
    orders: Mapping[str, str]


def resolve(
    function: str,
    table: str,
    columns: Mapping[str, str],
    declared: Iterable[Declared],
    asked: Mapping[str, object],
    looser: Looser,
    cuts: Cuts,
) -> Roles:
    """The roles of one call.

    `columns` maps the table's column names to types; `asked` holds validated parameters; `looser` says whether a
    setting of the call would tell a reader more than the declared one, `cuts` whether a top or bottom of the call lies
    within a cell of the grid. Where the policy says anything of the table, a column it does not name is withheld
    whatever the call asks. Raises UnknownColumn, UnknownRole, TwoRoles, LoosensPolicy, CutsGrid, Undeclared or
    NoPolicy.
    """
    spelled = {name.lower(): name for name in columns}

    def column(name: str, where: str) -> str:
        if name.lower() not in spelled:
            raise errors.UnknownColumn(function, table, name, where, columns)
        return spelled[name.lower()]

    policy = _policy(function, table, declared, column)
    request = _request(function, table, asked, column)
    order: list[str] = []
    roles: dict[str, str] = {}
    for name in columns:
        before = policy[name].role if name in policy else None
        roles[name] = _allowed(function, table, name, before, request.get(name), asked)
        if policy and before is None and roles[name] in _PUBLISHED:
            raise errors.Undeclared(function, table, name, roles[name])
    if asked["qi"] is not None:
        order = [column(name, "qi") for name in _names(asked["qi"])]
    else:
        order = [name for name in columns if roles[name] == "quasi"]
    if not order:
        raise errors.NoPolicy(function, table, columns)
    settings = {
        name: _settings(
            function,
            table,
            name,
            policy.get(name),
            asked,
            column,
            columns[name],
            looser,
            cuts,
        )
        for name in order
    }
    orders = _orders(asked, {name: policy.get(name) for name, role in roles.items() if role == "sensitive"}, column)
    _only_quasi(function, table, asked, set(order), set(orders), column)
    persons = [name for name, role in roles.items() if role == "person"]
    if len(persons) > 1:
        raise errors.TwoRoles(function, table, persons[1], ("person", f"person of {persons[0]}"))
    return Roles(
        quasi=tuple(Quasi(name, columns[name], settings[name]) for name in order),
        sensitive=tuple(name for name in columns if roles[name] == "sensitive"),
        other=tuple(name for name in columns if roles[name] == "other"),
        person=persons[0] if persons else None,
        orders=orders,
    )


def _orders(
    asked: Mapping[str, object], sensitive: Mapping[str, Declared | None], column: Callable[[str, str], str]
) -> dict[str, str]:
    """Hierarchies of sensitive columns, as the call asks or as declared, where a distance of their values is used."""
    if asked.get("emd") not in ("ordered", "hierarchical"):
        return {}
    found = {name: row.settings.hierarchy for name, row in sensitive.items() if row and row.settings.hierarchy}
    for key, value in cast(Mapping[str, str], asked["hierarchies"] or {}).items():
        if column(key, "hierarchies") in sensitive:
            found[column(key, "hierarchies")] = value
    return found


def _names(value: object) -> tuple[str, ...]:
    return cast(tuple[str, ...], value) if value is not None else ()


def _policy(
    function: str, table: str, declared: Iterable[Declared], column: Callable[[str, str], str]
) -> dict[str, Declared]:
    """Declared rows by the table's spelling of the column."""
    policy: dict[str, Declared] = {}
    for row in declared:
        name = column(row.column, "dbanon.policy")
        role = row.role.lower()
        if role not in ROLES:
            raise errors.UnknownRole(table, name, row.role, ROLES)
        if name in policy:
            raise errors.TwoRoles(function, table, name, (policy[name].role, role))
        policy[name] = replace(row, role=role)
    return policy


def _request(
    function: str, table: str, asked: Mapping[str, object], column: Callable[[str, str], str]
) -> dict[str, str]:
    """Roles the call names, by column."""
    request: dict[str, str] = {}
    lists = {
        "quasi": ("qi", _names(asked["qi"])),
        "sensitive": ("sensitive", _names(asked["sensitive"])),
        "other": ("other", _names(asked["other"])),
        "identifier": ("identifier", _names(asked["identifier"])),
        WITHHELD: ("withhold", _names(asked["withhold"])),
        "person": ("person", (cast(str, asked["person"]),) if asked["person"] else ()),
    }
    for role, (parameter, names) in lists.items():
        for given in names:
            name = column(given, parameter)
            if name in request:
                raise errors.TwoRoles(function, table, name, (request[name], role))
            request[name] = role
    for name in _names(asked["allow_rare"]):
        column(name, "allow_rare")
    return request


_TIGHTER: dict[str, tuple[str, ...]] = {
    "identifier": ("identifier", "person", WITHHELD),
    "person": ("person", WITHHELD),
    "quasi": ("quasi", "identifier", "person", WITHHELD),
    "sensitive": ("sensitive", "identifier", "person", WITHHELD),
    "other": ("other", "quasi", "sensitive", "identifier", "person", WITHHELD),
}
"""What a call may make of a declared role: the same or what tells a reader less."""

_PUBLISHED = ("quasi", "sensitive", "other")

_LISTS = {"quasi": "qi", "sensitive": "sensitive", "other": "other", "person": "person"}


def _allowed(
    function: str, table: str, name: str, declared: str | None, wanted: str | None, asked: Mapping[str, object]
) -> str:
    """The role of one column in this call."""
    if declared is None:
        return wanted or WITHHELD
    if wanted is None:
        given = declared in _LISTS and asked[_LISTS[declared]] is not None
        if given and declared == "person":
            raise errors.LoosensPolicy(function, table, name, "person", "another person column")
        return WITHHELD if given else declared
    if wanted not in _TIGHTER[declared] or (declared == "person" and wanted == WITHHELD):
        raise errors.LoosensPolicy(function, table, name, declared, wanted)
    return wanted


def _settings(
    function: str,
    table: str,
    name: str,
    declared: Declared | None,
    asked: Mapping[str, object],
    column: Callable[[str, str], str],
    type_: str,
    looser: Looser,
    cuts: Cuts,
) -> Settings:
    """Declared settings of a quasi-identifier with the call's on top, which may only coarsen."""
    settings = declared.settings if declared else Settings()
    for setting in SETTINGS:
        parameter = {"hierarchy": "hierarchies", "weight": "weights"}.get(setting, setting)
        given = {column(key, parameter): value for key, value in per_column(asked, parameter).items()}
        if name not in given:
            continue
        value, before = given[name], getattr(settings, setting)
        if setting == "hierarchy":
            held = _held(declared, type_, looser) if value != before else None
            if held is not None:
                raise errors.LoosensPolicy(function, table, name, held, "another hierarchy")
        elif declared is not None and looser(setting, type_, value, before):
            shown = f"{setting} = {'its default' if before is None else before}"
            raise errors.LoosensPolicy(function, table, name, shown, f"{setting} = {value}")
        elif declared is not None and declared.role != "other" and setting in ("top", "bottom") and value != before:
            grid = cuts(setting, type_, value, declared.settings.grid) if settings.hierarchy is None else None
            if grid is not None:
                raise errors.CutsGrid(function, table, name, grid, setting, str(value))
        settings = replace(settings, **{setting: value})  # type: ignore[arg-type]
    bounds = {key.lower(): ends for key, ends in per_column(asked, "bounds").items()}.get(name.lower())
    if bounds is not None:  # whose record is within bounds has a value that may be narrower than what is published
        held = _held(declared, type_, looser, hierarchy=False)
        if held is not None and not held.startswith("grid"):
            raise errors.LoosensPolicy(function, table, name, held, "bounds")
        for end, value in zip(("top", "bottom"), cast(Sequence[object], bounds), strict=True) if held else ():
            if (grid := cuts(end, type_, value, declared.settings.grid if declared else None)) is not None:
                raise errors.CutsGrid(function, table, name, grid, "bounds", str(value))
    rounds = {column(key, "round"): value for key, value in per_column(asked, "round").items()}
    if name not in rounds:
        return settings
    if name in {column(key, "grid") for key in per_column(asked, "grid")}:
        raise errors.UnsupportedSetting(
            function, table, name, "round", "the call gives its grid too; give one of them."
        )
    if declared is not None and settings.hierarchy is None and looser("grid", type_, rounds[name], settings.grid):
        shown = f"grid = {settings.grid or 'its default'}"
        raise errors.LoosensPolicy(function, table, name, shown, f"round = {rounds[name]}")
    return replace(settings, round=str(rounds[name]))


def _held(declared: Declared | None, type_: str, looser: Looser, hierarchy: bool = True) -> str | None:
    """The declared or default setting by which a quasi-identifier is published, as it is shown; None where there is
    none, or where the policy publishes the column as it is."""
    if declared is None or declared.role == "other":
        return None
    for setting in ("hierarchy", "min_level", "top", "bottom", "grid"):
        value = getattr(declared.settings, setting)
        if value and (hierarchy or setting not in ("hierarchy", "min_level")) and str(value).lower() != "none":
            return f"{setting} = {value}"
    return "grid = its default" if looser("grid", type_, "none", declared.settings.grid) else None


def per_column(asked: Mapping[str, object], parameter: str) -> Mapping[str, object]:
    """What a call says of single columns; nothing where a word stands for all of them."""
    given = asked.get(parameter)
    return given if isinstance(given, Mapping) else {}


Looser = Callable[[str, str, object, object], bool]
"""setting, column type, asked value, declared value (None: the default) -> whether a reader would learn more."""


Cuts = Callable[[str, str, object, str | None], str | None]
"""top or bottom, column type, asked value, declared grid (None: the default) -> the grid, where a value within one of
its cells would be told apart from others of the cell."""


def _only_quasi(
    function: str,
    table: str,
    asked: Mapping[str, object],
    quasi: set[str],
    ordered: set[str],
    column: Callable[[str, str], str],
) -> None:
    """Settings of columns that are no quasi-identifiers would be ignored: refuse them. `ordered`: sensitive columns
    whose hierarchy is used."""
    for parameter in ("hierarchies", "weights", "min_level", "max_level", "top", "bottom", "grid", "round"):
        for key in per_column(asked, parameter):
            name = column(key, parameter)
            if name not in quasi and not (parameter == "hierarchies" and name in ordered):
                raise errors.UnsupportedSetting(
                    function, table, name, parameter, "it is not a quasi-identifier of this call."
                )
