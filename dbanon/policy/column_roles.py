"""Resolve the roles and settings of columns from the policy and the call.

Safe by default: a column without a role is withheld, and a call can only be stricter than the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbanon import errors
from dbanon.policy.column_names.hints import suggested_quasi_identifier
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS
from dbanon.privacy_models import model_request
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import DeclaredColumn, Settings, person_columns
from dbanon.table_functions.options import Options

ROLES = ("identifier", "person", "quasi", "sensitive", "insensitive", *TRANSFORM_SETTINGS)
"""Roles in dbanon.policy. `identifier` and `person` are withheld; `person` also identifies the persons that are
counted, and so does `pseudonym` without a person.
"""

WITHHELD = "withheld"

SETTINGS = ("hierarchy", "weight", "min_level", "max_level", "top", "bottom", "rounding")
"""Settings of a quasi-identifier: the columns of dbanon.policy after the role."""

STORED_SETTINGS = (*SETTINGS, "missing_codes", "settings")
"""All columns of dbanon.policy that describe a column, except its role."""


@dataclass(frozen=True)
class QuasiIdentifier:
    """A quasi-identifier of one call: the column as the table spells it, its DuckDB type and its settings."""

    column: str
    type: str
    settings: Settings


@dataclass(frozen=True)
class Roles:
    """The role of each column that a call uses; columns that are withheld are in none of the fields.

    Quasi-identifiers are in the order of the policy or the call, others in the order of the table.

    Attributes:
        person: The column that identifies persons; a pseudonym if there is no other (of several, the one that the
            policy marks); None to count records.
        sensitive_hierarchies: Names of the hierarchies of sensitive columns, by column, for distances in t-closeness.
        transformed: Transformed columns with their roles: pseudonym, mask or shift.
    """

    quasi: tuple[QuasiIdentifier, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    person: str | None
    sensitive_hierarchies: Mapping[str, str]
    transformed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _RoleRequest:
    """The roles that one call requests for a source, with the functions that compare settings.

    Attributes:
        function: The calling function, for messages.
        options: The parameters of the call.
        is_less_strict: See `IsLessStrict`.
        bound_off_grid: See `BoundOffGrid`.
        is_possible_code: See `IsPossibleCode`.
    """

    function: str
    source: Source
    options: Options
    is_less_strict: IsLessStrict
    bound_off_grid: BoundOffGrid
    is_possible_code: IsPossibleCode

    @property
    def table(self) -> str:
        """The name of the requested source as messages show it."""
        return self.source.shown

    def column(self, name: str, parameter: str) -> str:
        """Return a column's name as the table spells it; `parameter` is the parameter that names it, for messages.

        Raises:
            UnknownColumnError: The table has no such column.
        """
        return self.source.column(self.function, name, parameter)

    def per_column(self, parameter: str) -> dict[str, object]:
        """Return the values of a parameter such as `weights` by column, as the table spells it; empty if not given.

        Raises:
            UnknownColumnError: The table has no such column.
        """
        return {self.column(name, parameter): value for name, value in self.options.per_column(parameter).items()}


def resolve_roles(
    function: str,
    source: Source,
    declared: Iterable[DeclaredColumn],
    options: Options,
    is_less_strict: IsLessStrict,
    bound_off_grid: BoundOffGrid,
    is_possible_code: IsPossibleCode,
    *,
    value_hierarchies: Mapping[str, str] | None = None,
    needs_quasi: bool = True,
) -> Roles:
    """Return the roles of the columns in one call, from the policy and the parameters of the call.

    If the policy declares any column of the table, the call may not publish an undeclared one.

    Args:
        function: The calling function, for messages.
        source: The table.
        declared: Its rows of the policy.
        options: The validated parameters.
        is_less_strict: See `IsLessStrict`.
        bound_off_grid: See `BoundOffGrid`.
        is_possible_code: See `IsPossibleCode`.
        value_hierarchies: Hierarchies of sensitive columns; declared ones are then used by any model (None: only by
            models that
            measure distances).
        needs_quasi: A quasi-identifier is required, since the table is published on its own.

    Raises:
        UnknownColumnError, UnknownRoleError: A column or a declared role does not exist.
        ConflictingRolesError: A column has two roles, or two columns are the person.
        AmbiguousDataSubjectError: Several pseudonyms could identify persons.
        LoosensPolicyError, BoundOffGridError: The call would reveal more than the policy allows.
        UndeclaredColumnError, PolicyMissingError: A published column is not declared, or no quasi-identifier is known.
        UnsupportedSettingError, InvalidArgumentError: A setting would have no effect, or is not valid.
    """
    request = _RoleRequest(function, source, options, is_less_strict, bound_off_grid, is_possible_code)
    policy = policy_by_column(function, source, declared)
    roles = _resolve_each_role(request, policy)
    order = [request.column(name, "qi") for name in request.options.columns("qi")]
    if options["qi"] is None:
        order = [name for name in source.columns if roles[name] == "quasi"]
    if not order and (needs_quasi or not policy):
        raise errors.PolicyMissingError(function, source.shown, suggested_quasi_identifier(source.columns))
    quasi = tuple(
        QuasiIdentifier(name, source.columns[name], _resolve_settings(request, name, policy.get(name)))
        for name in order
    )
    sensitive = {name: policy.get(name) for name, role in roles.items() if role == "sensitive"}
    sensitive_hierarchies = (
        {}
        if value_hierarchies is None and not model_request.uses_value_order(options)
        else _sensitive_hierarchies(request, sensitive, value_hierarchies or {})
    )
    _refuse_unused_settings(request, set(order), set(sensitive_hierarchies))
    persons = [name for name, role in roles.items() if role == "person"]
    if len(persons) > 1:
        raise errors.ConflictingRolesError(function, source.shown, persons[1], ("person", f"person of {persons[0]}"))
    transformed = {name: role for name, role in roles.items() if role in TRANSFORM_SETTINGS}
    if not persons and (pseudonym := _person_pseudonym(request, policy)) is not None and pseudonym in transformed:
        persons = [pseudonym]
    return Roles(
        quasi=quasi,
        sensitive=tuple(name for name in source.columns if roles[name] == "sensitive"),
        insensitive=tuple(name for name in source.columns if roles[name] == "insensitive"),
        person=persons[0] if persons else None,
        sensitive_hierarchies=sensitive_hierarchies,
        transformed=transformed,
    )


def _person_pseudonym(request: _RoleRequest, policy: Mapping[str, DeclaredColumn]) -> str | None:
    """Return the pseudonymized column that identifies persons; None if there is a person column or no pseudonym.

    `policy` are the policy rows by column.

    Raises:
        AmbiguousDataSubjectError: Several pseudonyms could identify persons.
    """
    if any(row.role == "person" for row in policy.values()):
        return None
    pseudonyms = person_columns((name, row.role, dict(row.settings.settings)) for name, row in policy.items())
    if len(pseudonyms) > 1:
        is_declared_twice = dict(policy[pseudonyms[0]].settings.settings).get("person", "").lower() == "true"
        raise errors.AmbiguousDataSubjectError(
            request.function, request.table, pseudonyms, is_several=is_declared_twice
        )
    return pseudonyms[0] if pseudonyms else None


def _resolve_each_role(request: _RoleRequest, policy: Mapping[str, DeclaredColumn]) -> dict[str, str]:
    """Return the role of each column of the table in this call; `withheld` for columns without a role.

    A pseudonym that identifies persons, if it is withheld by the call, gets the role `person`.

    Raises:
        UndeclaredColumnError: The call publishes a column that the policy of the table does not declare.
        LoosensPolicyError: The call would reveal more than the policy allows.
        ConflictingRolesError: The call gives a column two roles.
    """
    call_roles = _call_roles(request)
    columns_by_role = {row.role: name for name, row in policy.items()}
    pseudonym = _person_pseudonym(request, policy)
    roles: dict[str, str] = {}
    for name in request.source.columns:
        declared = policy[name].role if name in policy else None
        if call_roles.get(name) == "person" and pseudonym is not None and name != pseudonym:
            raise errors.LoosensPolicyError(
                request.function, request.table, pseudonym, "pseudonym", "another person column"
            )
        roles[name] = _resolve_role(request, name, declared, call_roles.get(name), columns_by_role)
        if name == pseudonym and roles[name] in ("identifier", WITHHELD):
            roles[name] = "person"  # although withheld, it still identifies persons
        if policy and declared is None and roles[name] in _PUBLISHED:
            raise errors.UndeclaredColumnError(request.function, request.table, name, roles[name])
    return roles


def _sensitive_hierarchies(
    request: _RoleRequest, sensitive: Mapping[str, DeclaredColumn | None], ontology: Mapping[str, str]
) -> dict[str, str]:
    """Return the names of hierarchies of sensitive columns by column: of `ontology`, else of the call, else declared.

    Args:
        request: The request.
        sensitive: The sensitive columns with their policy rows.
        ontology: Hierarchies by column that the parameter value_hierarchy gives.

    Raises:
        InvalidArgumentError: `ontology` has a column that is not sensitive.
    """
    hierarchies = {name: row.settings.hierarchy for name, row in sensitive.items() if row and row.settings.hierarchy}
    hierarchies |= {
        name: str(hierarchy) for name, hierarchy in request.per_column("hierarchies").items() if name in sensitive
    }
    for listed_name, hierarchy in ontology.items():
        name = request.column(listed_name, "value_hierarchy")
        if name not in sensitive:
            accepts = "hierarchies of sensitive columns" + "".join(f", {column}" for column in sensitive)
            raise errors.InvalidArgumentError(request.function, "value_hierarchy", accepts, name)
        hierarchies[name] = hierarchy
    return hierarchies


def policy_by_column(function: str, source: Source, declared: Iterable[DeclaredColumn]) -> dict[str, DeclaredColumn]:
    """Return the policy rows by the table's spelling of the column, with lower-case roles.

    `function` is the calling function, for messages; `declared` are the policy rows of `source`.

    Raises:
        UnknownColumnError, UnknownRoleError: A declared column or role does not exist.
        ConflictingRolesError: A column is declared twice.
    """
    policy: dict[str, DeclaredColumn] = {}
    for row in declared:
        name = source.column(function, row.column, "dbanon.policy")
        role = row.role.lower()
        if role not in ROLES:
            raise errors.UnknownRoleError(source.shown, name, row.role, ROLES)
        if name in policy:
            raise errors.ConflictingRolesError(function, source.shown, name, (policy[name].role, role))
        policy[name] = replace(row, role=role)
    return policy


def _call_roles(request: _RoleRequest) -> dict[str, str]:
    """Return the roles that the parameters of the call give to columns, by column; others are missing.

    Columns in `allow_rare` are checked, too.

    Raises:
        UnknownColumnError: The table does not have a column.
        ConflictingRolesError: The call gives a column two roles.
    """
    roles: dict[str, str] = {}
    lists = {
        "quasi": ("qi", request.options.columns("qi")),
        "sensitive": ("sensitive", request.options.columns("sensitive")),
        "insensitive": ("insensitive", request.options.columns("insensitive")),
        "identifier": ("identifier", request.options.columns("identifier")),
        WITHHELD: ("withhold", request.options.columns("withhold")),
        "person": ("person", (person,) if (person := request.options.text("person")) else ()),
    }
    for role, (parameter, names) in lists.items():
        for listed_name in names:
            name = request.column(listed_name, parameter)
            if name in roles:
                raise errors.ConflictingRolesError(request.function, request.table, name, (roles[name], role))
            roles[name] = role
    for name in request.options.columns("allow_rare"):
        request.column(name, "allow_rare")
    return roles


_STRICTER_ROLES: dict[str, tuple[str, ...]] = {
    "identifier": ("identifier", "person", WITHHELD),
    "person": ("person", WITHHELD),
    "quasi": ("quasi", "identifier", "person", WITHHELD),
    "sensitive": ("sensitive", "identifier", "person", WITHHELD),
    "insensitive": ("insensitive", "quasi", "sensitive", "identifier", "person", WITHHELD),
    "pseudonym": ("identifier", "person", WITHHELD),
    "mask": ("identifier", WITHHELD),
    "shift": ("identifier", WITHHELD),
}
"""The roles that a call may give to a column of each declared role: the same, or one that reveals less."""

_PUBLISHED = ("quasi", "sensitive", "insensitive")

_ROLE_PARAMETERS = {"quasi": "qi", "sensitive": "sensitive", "insensitive": "insensitive", "person": "person"}


def _resolve_role(
    request: _RoleRequest, name: str, declared: str | None, call_role: str | None, columns_by_role: Mapping[str, str]
) -> str:
    """Return the role of one column in this call; `withheld` if neither call nor policy gives it one.

    A declared quasi-identifier, sensitive or insensitive column is withheld if the call gives the parameter for this
    role without naming the column.

    Args:
        request: The request.
        name: The column.
        declared: Its declared role; None without one.
        call_role: Its role in the call; None without one.
        columns_by_role: One declared column for each role.

    Raises:
        LoosensPolicyError: The call's role reveals more than the declared one, or another column becomes the person.
    """
    if call_role == "person" and declared not in ("person", "pseudonym") and "pseudonym" in columns_by_role:
        raise errors.LoosensPolicyError(
            request.function, request.table, columns_by_role["pseudonym"], "pseudonym", "another person column"
        )
    if declared is None:
        return call_role or WITHHELD
    if call_role is None:
        is_replaced = declared in _ROLE_PARAMETERS and request.options[_ROLE_PARAMETERS[declared]] is not None
        if is_replaced and declared == "person":
            raise errors.LoosensPolicyError(request.function, request.table, name, "person", "another person column")
        return WITHHELD if is_replaced else declared
    if call_role not in _STRICTER_ROLES[declared] or (declared == "person" and call_role == WITHHELD):
        raise errors.LoosensPolicyError(request.function, request.table, name, declared, call_role)
    return call_role


def _resolve_settings(request: _RoleRequest, name: str, declared: DeclaredColumn | None) -> Settings:
    """Return the settings of a quasi-identifier: those of the call, else the declared ones.

    Those of the call must not reveal more than the declared ones. Bounds and codes for missing values in the call are
    checked, too.

    Raises:
        LoosensPolicyError, BoundOffGridError, UnsupportedSettingError: A setting of the call is not allowed.
    """
    settings = declared.settings if declared else Settings()
    for setting in SETTINGS:
        call_settings = request.per_column({"hierarchy": "hierarchies", "weight": "weights"}.get(setting, setting))
        if name in call_settings:
            _check_setting(request, name, declared, settings, setting, call_settings[name])
            settings = replace(settings, **{setting: call_settings[name]})  # type: ignore[arg-type]
    _check_bounds(request, name, declared)
    _check_missing_codes(request, name, declared)
    return _apply_coarsen(request, name, declared, settings)


def _check_setting(
    request: _RoleRequest, name: str, declared: DeclaredColumn | None, settings: Settings, setting: str, value: object
) -> None:
    """Check that one setting of the call does not reveal more than the policy allows.

    Args:
        request: The request.
        name: The column.
        declared: Its policy row; None if it is undeclared, and then nothing is checked.
        settings: The settings so far: declared ones, and those of the call that were checked before.
        setting: The name of the setting.
        value: The value in the call.

    Raises:
        LoosensPolicyError: It reveals more.
        BoundOffGridError: A top or bottom of the call is inside a cell of the declared or default grid.
    """
    type_, current = request.source.columns[name], getattr(settings, setting)
    if setting == "hierarchy":
        effective_setting = _effective_setting(request, name, declared) if value != current else None
        if effective_setting is not None:
            raise errors.LoosensPolicyError(
                request.function, request.table, name, effective_setting, "another hierarchy"
            )
    elif declared is not None and request.is_less_strict(setting, type_, value, current):
        current_text = f"{setting} = {'its default' if current is None else current}"
        raise errors.LoosensPolicyError(request.function, request.table, name, current_text, f"{setting} = {value}")
    elif declared is not None and declared.role != "insensitive" and setting in ("top", "bottom") and value != current:
        grid = (
            request.bound_off_grid(setting, type_, value, declared.settings.rounding)
            if settings.hierarchy is None
            else None
        )
        if grid is not None:
            raise errors.BoundOffGridError(request.function, request.table, name, grid, setting, str(value))


def _check_bounds(request: _RoleRequest, name: str, declared: DeclaredColumn | None) -> None:
    """Check that the parameter `bounds` does not reveal more about a column than the policy allows.

    `bounds` restricts the released records to a range of values, so a reader may infer a narrower value. A column that
    is published coarsely by a declared top or bottom may not have bounds; with a grid only, bounds must be on the grid.

    Raises:
        LoosensPolicyError, BoundOffGridError: The bounds reveal more.
    """
    bounds: Sequence[object] | None = request.options.of_column("bounds", name)
    effective_setting = (
        _effective_setting(request, name, declared, ("top", "bottom", "rounding")) if bounds is not None else None
    )
    if effective_setting is None or bounds is None:
        return
    if not effective_setting.startswith("rounding"):
        raise errors.LoosensPolicyError(request.function, request.table, name, effective_setting, "bounds")
    for end, value in zip(("top", "bottom"), bounds, strict=True):
        grid = request.bound_off_grid(
            end, request.source.columns[name], value, declared.settings.rounding if declared else None
        )
        if grid is not None:
            raise errors.BoundOffGridError(request.function, request.table, name, grid, "bounds", str(value))


def _check_missing_codes(request: _RoleRequest, name: str, declared: DeclaredColumn | None) -> None:
    """Check that the call adds no code for missing values to a column that is published coarsely by the policy.

    All records with NULL would be known to have exactly that value. Codes that no value of the type can be are ignored.

    Raises:
        LoosensPolicyError: The call adds such a code.
    """
    parameter = request.options.get("missing_codes")
    codes = request.per_column("missing_codes").get(name) if isinstance(parameter, Mapping) else parameter
    effective_setting = (
        _effective_setting(request, name, declared, ("min_level", "top", "bottom", "rounding")) if codes else None
    )
    if declared is None or effective_setting is None or not isinstance(codes, Sequence):
        return
    new_codes = [
        c
        for c in codes
        if c not in declared.settings.missing_codes and request.is_possible_code(request.source.columns[name], c)
    ]
    if new_codes:
        raise errors.LoosensPolicyError(
            request.function, request.table, name, effective_setting, f"missing_codes = {new_codes}"
        )


def _apply_coarsen(request: _RoleRequest, name: str, declared: DeclaredColumn | None, settings: Settings) -> Settings:
    """Return the settings of a column with the call's parameter `coarsen`; unchanged if it does not name the column.

    Raises:
        UnsupportedSettingError: The call gives the column a grid (`rounding`), too.
        LoosensPolicyError: `coarsen` would reveal more than the policy allows.
    """
    rounds = request.per_column("coarsen")
    if name not in rounds:
        return settings
    if name in request.per_column("rounding"):
        raise errors.UnsupportedSettingError(
            request.function, "coarsen", request.table, name, "the call gives its grid too; give one of them."
        )
    type_, value = request.source.columns[name], rounds[name]
    if (
        declared is not None
        and settings.hierarchy is None
        and request.is_less_strict("rounding", type_, value, settings.rounding)
    ):
        raise errors.LoosensPolicyError(
            request.function,
            request.table,
            name,
            f"rounding = {settings.rounding or 'its default'}",
            f"coarsen = {value}",
        )
    return replace(settings, coarsen=str(value))


_COARSENING_SETTINGS = ("hierarchy", "min_level", "top", "bottom", "rounding")


def _effective_setting(
    request: _RoleRequest, name: str, declared: DeclaredColumn | None, settings: Sequence[str] = _COARSENING_SETTINGS
) -> str | None:
    """Return the declared or default setting by which a column is published coarsely, as `name = value` for messages.

    None if there is none, the column is undeclared, or its declared role is insensitive. `settings` are the names of
    the settings that are considered, in this order; the default grid of dates is always considered, as "rounding = its
    default".
    """
    if declared is None or declared.role == "insensitive":
        return None
    for setting in settings:
        value = getattr(declared.settings, setting)
        if value and str(value).lower() != "none":
            return f"{setting} = {value}"
    has_default_grid = request.is_less_strict(
        "rounding", request.source.columns[name], "none", declared.settings.rounding
    )
    return "rounding = its default" if has_default_grid else None


IsLessStrict = Callable[[str, str, object, object], bool]
"""(setting, type, value in the call, declared value (None: the default)) -> whether a reader would learn more."""


BoundOffGrid = Callable[[str, str, object, str | None], str | None]
"""(top or bottom, type, value in the call, declared grid (None: the default)) -> the grid, if the value is inside one
of its cells, else None.
"""


IsPossibleCode = Callable[[str, str], bool]
"""(type, code for missing values) -> whether a value of the type can be that code."""


def _refuse_unused_settings(request: _RoleRequest, quasi: set[str], with_hierarchy: set[str]) -> None:
    """Check that each per-column setting of the call is for a quasi-identifier, so that it has an effect.

    Args:
        request: The request.
        quasi: The quasi-identifiers.
        with_hierarchy: Sensitive columns whose hierarchy is used; `hierarchies` may name them, too.

    Raises:
        UnsupportedSettingError: A setting is for another column.
        UnknownColumnError: The table has no such column.
    """
    for parameter in ("hierarchies", "weights", "min_level", "max_level", "top", "bottom", "rounding", "coarsen"):
        for key in request.options.per_column(parameter):
            name = request.column(key, parameter)
            if name not in quasi and not (parameter == "hierarchies" and name in with_hierarchy):
                raise errors.UnsupportedSettingError(
                    request.function, parameter, request.table, name, "it is not a quasi-identifier of this call."
                )
