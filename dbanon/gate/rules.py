"""Derive the rules that the release gate checks a release against, from the policy and the call.

The module uses nothing of dbanon.policy or the resolved roles, which the release is made from, so that an error
there is not repeated here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import ClassVar

from dbanon import errors
from dbanon.gate import transformed
from dbanon.gate.label_notation import label_text
from dbanon.gate.missing_codes import (
    DATE_TYPES,
    DECIMAL_TYPE,
    FLOAT_TYPES,
    HUGE_INTEGER_TYPES,
    INTEGER_TYPES,
    column_value,
)
from dbanon.gate.request import GateRequest
from dbanon.source.stored_policy import Settings
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

_ROLE_PARAMETERS = {"quasi": "qi", "sensitive": "sensitive", "insensitive": "insensitive"}
_EXACT_CONTEXT = Context(prec=1000)
"""Precision above that of any grid; the default of 28 digits would round."""


@dataclass(frozen=True)
class GridCells:
    """The cells of a grid for rounding: calendar units such as 'month', or intervals of width `step`.

    At most one of the two is set; none if there is no grid.
    """

    unit: str | None = None
    step: Sql | None = None


@dataclass(frozen=True)
class GridRule(GridCells):
    """The grid on which published bounds must lie; without a grid, `unit` and `step` are None.

    Attributes:
        checked: The grids on which bounds must lie: the one in effect (`unit`, `step`) and that of the policy, if they
            exist.
        declared: The grid of the policy, or None.
    """

    checked: tuple[GridCells, ...] = ()
    declared: GridCells | None = None


@dataclass(frozen=True)
class BoundRule:
    """The rule of the lower and upper bounds of a quasi-identifier that is published as intervals.

    Attributes:
        type: The DuckDB type of the bounds.
        low: SQL of the published lower bound, if intervals are published as two columns or a struct; else None.
        high: SQL of the published upper bound, likewise.
        min_value: SQL of the least value of the type, or None.
        max_value: SQL of the greatest value of the type, or None.
        is_day: Bounds are dates.
        whole_days: Bounds are dates, and the values are timestamps.
    """

    type: Sql
    low: Sql | None
    high: Sql | None
    min_value: Sql | None
    max_value: Sql | None
    is_day: bool
    whole_days: bool


@dataclass(frozen=True)
class _ColumnRule:
    """A rule of a quasi-identifier: its number, names and value.

    Attributes:
        i: The number of the quasi-identifier.
        raw_name: Its name, unquoted.
        source_value: SQL of its value as the gate reads it.
    """

    i: int
    raw_name: str
    source_value: Sql

    @property
    def column(self) -> Sql:
        """The quoted name of its original values in a statement."""
        return column_reference(self.raw_name)

    @property
    def text(self) -> Sql:
        """The quoted name of the quasi-identifier, which is the published column unless there are two columns."""
        return identifier(self.raw_name)


@dataclass(frozen=True)
class CategoryRule(_ColumnRule):
    """The rule of a quasi-identifier of categories, which are generalized by a hierarchy.

    Attributes:
        min_level: The least level of the hierarchy that may be published; 0 are the values themselves.
        max_level: The greatest level, or None.
        round: The step between levels that may be published: with 2, every second one.
    """

    min_level: int
    max_level: int | None
    round: int

    is_number: ClassVar[bool] = False

    @property
    def tree(self) -> int:
        """The number of the quasi-identifier's hierarchy; it equals that of the quasi-identifier."""
        return self.i


@dataclass(frozen=True)
class NumberRule(_ColumnRule):
    """The rule of a quasi-identifier of numbers, dates or times.

    Attributes:
        compared: The DuckDB type in which values are compared.
        ends: The rule of the bounds of published intervals.
        grid: The rule of the grid of these bounds.
        top: The value above which values are coded as one, as SQL, or None.
        bottom: The value below which values are coded as one, as SQL, or None.
        call_limits: The names among 'top' and 'bottom' that the call sets to another value than the policy.
        is_whole: Values are integers.
        is_float: Values are floating-point numbers.
        is_exact: The gate recomputes losses and squared errors exactly.
        relative_error: The relative error allowed for floating-point numbers.
    """

    compared: Sql
    ends: BoundRule
    grid: GridRule
    top: Sql | None
    bottom: Sql | None
    call_limits: tuple[str, ...]
    is_whole: bool
    is_float: bool
    is_exact: bool
    relative_error: Sql

    is_number: ClassVar[bool] = True


QuasiRule = CategoryRule | NumberRule


@dataclass(frozen=True)
class LinkRule:
    """The rule of a published column of pseudonyms, by which a reader can link rows of one person or object.

    Attributes:
        raw_name: Its name.
        value_text: SQL of the original value as text.
        pseudonym: SQL of the pseudonym that must be published.
        settings: The settings of the pseudonym, as a SQL literal.
    """

    raw_name: str
    value_text: Sql
    pseudonym: Sql
    settings: Sql


@dataclass(frozen=True)
class GateRules:
    """The rules of a release, derived from policy and call alone.

    Attributes:
        rules: One per quasi-identifier.
        can_check_loss: Whether the gate can recompute losses.
        can_check_squares: Whether the gate can recompute squared errors.
        published_names: The names of the columns that may be published, in order, as a SQL list.
        row_alias: An alias of a published row; no published column has its name.
        read_unchanged: SQL of the expected values of columns that are not generalized.
        read_person: SQL of the person of a record, or None.
        read_links: One rule per published pseudonym.
        rereads_source: Whether the gate reads the source a second time.
        source_columns: The quoted names of the columns of the source that the release reads.
    """

    rules: tuple[QuasiRule, ...]
    can_check_loss: bool
    can_check_squares: bool
    published_names: Sql
    row_alias: Sql
    read_unchanged: tuple[Sql, ...]
    read_person: Sql | None
    read_links: tuple[LinkRule, ...]
    rereads_source: bool
    source_columns: tuple[Sql, ...]


def gate_rules(request: GateRequest) -> GateRules:
    """Derive from the request the rules by which the gate checks a release.

    They depend mainly on the policy rows of the source (`declared`), the parameters of the call (`options`) and the
    types of the source's columns (`columns`).

    Raises:
        GateRefusedError: The release uses another person column than policy and call name.
        PseudonymFormatMismatchError: Two pseudonyms share key and scope, but not the format.
    """
    roles = {name: published_role(request, name) for name in request.columns}
    bound_names = _bound_names(request, roles)
    column_rules = tuple(
        _number_rule(request, i, name, bound_names) if _is_number(request, name) else _category_rule(request, i, name)
        for i, name in enumerate(request.quasi_columns)
    )
    is_exact = not request.context.has_noise and all(r.is_exact for r in column_rules if isinstance(r, NumberRule))
    unchanged_names = {
        *request.roles.sensitive,
        *request.roles.insensitive,
        *(n for n, column_role in roles.items() if column_role in transformed.ROLES),
    }
    read_names = _read_columns(request, roles)
    published_names = _published_names(roles, bound_names)
    return GateRules(
        rules=column_rules,
        can_check_loss=is_exact and request.options["loss_height"] != "sub",
        can_check_squares=is_exact,
        published_names=Sql(f"[{join_sql(text(name) for name in published_names)}]"),
        row_alias=row_alias(published_names),
        read_unchanged=tuple(
            _unchanged_expression(request, name) for name in request.columns if name in unchanged_names
        ),
        read_person=_person_expression(request),
        read_links=_link_rules(request),
        rereads_source=request.context.is_table and not request.context.has_withheld_records,
        source_columns=tuple(identifier(name) for name in request.columns if fold_case(name) in read_names),
    )


def rule_blocks(rules: Iterable[QuasiRule]) -> list[list[NumberRule]]:
    """Return the rules of numbers, grouped by equal rules of values and bounds, each group in the order of `rules`."""
    groups: dict[NumberRule, list[NumberRule]] = {}
    for rule in rules:
        if isinstance(rule, NumberRule):
            ends = replace(rule.ends, low=None, high=None)
            groups.setdefault(replace(rule, i=0, raw_name="", source_value=Sql(""), ends=ends), []).append(rule)
    return list(groups.values())


def published_column_names(request: GateRequest) -> list[str]:
    """Return the names of the columns that may be published, in the order of the table, then `class_id`.

    A number that is published as two columns has two names instead of one. Underscores are appended to `class_id` if a
    column has this name.
    """
    roles = {name: published_role(request, name) for name in request.columns}
    return _published_names(roles, _bound_names(request, roles))


def unused_names(used_names: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return one new name for each of `names`: the name with underscores appended until it is unused.

    A name is used if it is in `used_names` or already returned; case does not matter.
    """
    new_names: list[str] = []
    for name in names:
        new_names.append(_unused_name(name, {fold_case(n) for n in (*used_names, *new_names)}))
    return new_names


def published_role(request: GateRequest, name: str) -> str | None:
    """Return the role in which a column may be published, or None if it may not.

    The roles are 'quasi', 'sensitive', 'insensitive', 'pseudonym', 'mask' and 'shift'. A column is not published if the
    call names it as identifier, withheld or person column, if the policy has rows but none that publishes it, or if the
    role in the call would contradict the policy. If the call lists the columns of a role, a column that only the policy
    gives this role is not published.
    """
    policy_roles = {fold_case(row.column): row.role.lower() for row in request.declared}
    call_columns = {
        role: [fold_case(n) for n in request.options.columns(parameter)]
        for role, parameter in (*_ROLE_PARAMETERS.items(), ("identifier", "identifier"), ("withheld", "withhold"))
    }
    lower_name = fold_case(name)
    person = fold_case(request.options.text("person") or "")
    if lower_name in call_columns["identifier"] or lower_name in call_columns["withheld"] or lower_name == person:
        return None
    policy_role = policy_roles.get(lower_name)
    if policy_role in transformed.ROLES:
        return policy_role
    if policy_roles and policy_role not in _ROLE_PARAMETERS:
        return None
    call_role = next((role for role in _ROLE_PARAMETERS if lower_name in call_columns[role]), None)
    if call_role is not None:
        return call_role if policy_role in (None, "insensitive", call_role) else None
    return policy_role if policy_role is not None and request.options[_ROLE_PARAMETERS[policy_role]] is None else None


def _read_columns(request: GateRequest, roles: Mapping[str, str | None]) -> set[str]:
    """Return the names of the source columns that the release reads, in lower case.

    They are the columns with a role, the person, the columns that order or identify records, and the published ones.
    `roles` has the role of each column, None for columns that are not published.
    """
    person = {request.roles.person} if request.roles.person is not None else set()
    role_columns = {*request.quasi_columns} | set(request.roles.sensitive) | set(request.roles.insensitive)
    published_columns = {name for name, column_role in roles.items() if column_role is not None}
    return {
        fold_case(name)
        for name in role_columns
        | person
        | set(request.context.person_key)
        | set(request.context.input_order)
        | published_columns
    }


def _bound_names(request: GateRequest, roles: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Return, by quasi-identifier of numbers, the names of its two bound columns; {} unless `intervals` is 'bounds'.

    The names are NAME_min and NAME_max, with underscores appended until unused. `roles` has the role of each column,
    None for columns that are not published; `intervals` is an option of the call.
    """
    with_bounds = request.options["intervals"] == "bounds"
    numbers = {
        name
        for name, column_role in roles.items()
        if column_role == "quasi" and with_bounds and _is_number(request, name)
    }
    used_names = {
        fold_case(name) for name, column_role in roles.items() if column_role is not None and name not in numbers
    }
    bound_names: dict[str, list[str]] = {}
    for name in [name for name in request.quasi_columns if name in numbers]:
        bound_names[name] = [_unused_name(f"{name}{end}", used_names) for end in ("_min", "_max")]
        used_names.update(fold_case(n) for n in bound_names[name])
    return bound_names


def row_alias(published_names: Iterable[str]) -> Sql:
    """Return the quoted alias of a published row. A column would go before an alias of its name, so none has it."""
    return identifier(_unused_name("dbanon row", {fold_case(name) for name in published_names}))


def _published_names(roles: Mapping[str, str | None], bound_names: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of the published columns in the order of the table, and last that of the column of classes.

    This is `class_id`, with underscores appended if a published column has this name.

    Args:
        roles: The role of each column of the source; None if it is not published.
        bound_names: The two names of each number that is published as two columns.
    """
    names = [n for name, column_role in roles.items() if column_role is not None for n in bound_names.get(name, [name])]
    return [*names, _unused_name("class_id", {fold_case(n) for n in names})]


def _bound_expressions(
    request: GateRequest, name: str, bound_names: Mapping[str, Sequence[str]]
) -> tuple[Sql | None, Sql | None]:
    """Return SQL of the published lower and upper bound of a number; (None, None) if intervals are published as text.

    The bounds are two columns, or the fields `low` and `high` of a struct.
    """
    interval_format = request.options["intervals"]
    if interval_format == "bounds" and name in bound_names:
        low, high = (identifier(n) for n in bound_names[name])
        return low, high
    if interval_format == "struct":
        return Sql(f"struct_extract({identifier(name)}, 'low')"), Sql(f"struct_extract({identifier(name)}, 'high')")
    return None, None


def _unused_name(name: str, used_names: set[str]) -> str:
    """Return a name with underscores appended until it is unused; `used_names` are in lower case."""
    while fold_case(name) in used_names:
        name += "_"
    return name


def _setting(request: GateRequest, name: str, parameter: str) -> str | None:
    """Return the setting `parameter` of a column as text: that of the call, else that of the policy, else None."""
    call_value = _call_setting(request, name, parameter)
    return _policy_setting(request, name, parameter) if call_value is None else call_value


def _call_setting(request: GateRequest, name: str, parameter: str) -> str | None:
    """Return the setting `parameter` that the call gives a column, as text; None if it gives none."""
    value = request.options.of_column(parameter, name)
    return None if value is None else str(value)


def _policy_setting(request: GateRequest, name: str, parameter: str) -> str | None:
    """Return the setting `parameter` that the policy gives a column, as text; None if it gives none."""
    settings = next((row.settings for row in request.declared if fold_case(row.column) == fold_case(name)), Settings())
    value = getattr(settings, {"hierarchies": "hierarchy"}.get(parameter, parameter), None)
    return None if value is None else str(value)


def _effective_grid(setting: str | None, type_: str) -> str | None:
    """Return the grid of a column: the setting; without one, 'month' for dates and None for other types.

    The setting 'none' gives None: no grid.
    """
    grid = setting or ("month" if type_ in DATE_TYPES else None)
    return None if grid is not None and grid.lower() == "none" else grid


def _is_number(request: GateRequest, name: str) -> bool:
    """Return whether a quasi-identifier is a number, date or time without a hierarchy in call and policy.

    It is then published as intervals.
    """
    type_ = request.columns[name]
    is_number_type = (
        type_ in (*DATE_TYPES, *INTEGER_TYPES, *HUGE_INTEGER_TYPES, *FLOAT_TYPES, "TIME")
        or DECIMAL_TYPE.match(type_) is not None
    )
    return is_number_type and _setting(request, name, "hierarchies") is None


def _category_rule(request: GateRequest, i: int, name: str) -> CategoryRule:
    """Return the rule of quasi-identifier number `i`, which is generalized by a hierarchy.

    The least level is the greater one of call and policy.
    """
    max_level, value = _setting(request, name, "max_level"), column_value(request, name)
    if request.columns[name] == "TIMESTAMP WITH TIME ZONE":  # hierarchies know instants by their text in UTC
        zone = f"CASE WHEN isfinite({value}) THEN '+00' ELSE '' END"
        value = Sql(f"(({value} AT TIME ZONE 'UTC')::VARCHAR || {zone})")
    label = label_text(value, request.columns[name], request.leaf_shapes.get(name, ()))
    return CategoryRule(
        i,
        name,
        source_value=Sql(f"{label} COLLATE POSIX"),
        min_level=max(
            int(read_setting(request, name, "min_level") or 0) for read_setting in (_call_setting, _policy_setting)
        ),
        max_level=None if max_level is None else int(max_level),
        round=int(float(_setting(request, name, "coarsen") or 1)),
    )


def _grid_rule(grid: str | None, policy_grid: str | None, grid_cells: Callable[[str], GridCells]) -> GridRule:
    """Return the rule of published bounds from the grid in effect and that of the policy.

    Args:
        grid: The setting in effect, such as 'month' or '10'; None for no grid.
        policy_grid: The setting of the policy, likewise.
        grid_cells: A function that makes the cells of a setting.
    """
    own_cells = GridCells() if grid is None else grid_cells(grid)
    widths = sorted({width for width in (grid, policy_grid) if width is not None})
    return GridRule(
        own_cells.unit,
        own_cells.step,
        checked=tuple(grid_cells(width) for width in widths),
        declared=None if policy_grid is None else grid_cells(policy_grid),
    )


def _number_rule(request: GateRequest, i: int, name: str, bound_names: Mapping[str, Sequence[str]]) -> NumberRule:
    """Return the rule of quasi-identifier number `i`: a number, date or time that is published as intervals.

    `bound_names` has the two column names of numbers that are published as two columns. Of the limits 'top' and
    'bottom' in call and policy, the tighter one applies.
    """
    type_ = request.columns[name]
    is_day = type_ in DATE_TYPES
    grid = _effective_grid(_setting(request, name, "coarsen") or _setting(request, name, "rounding"), type_)
    is_policy_quasi = any(
        fold_case(row.column) == fold_case(name) and row.role.lower() == "quasi" for row in request.declared
    )
    policy_grid = _effective_grid(_policy_setting(request, name, "rounding"), type_) if is_policy_quasi else None
    compared_type = "TIMESTAMP" if type_ in DATE_TYPES[1:] and (type_ != "TIMESTAMP_NS" or grid is not None) else type_
    scale = _decimal_scale(type_, [width for width in (grid, policy_grid) if width is not None])
    bound_type = _bound_type(type_, compared_type, grid, scale)

    limit_texts = {
        limit: (_policy_setting(request, name, limit), _call_setting(request, name, limit))
        for limit in ("top", "bottom")
    }

    def tightest_limit(limit: str, tighter_function: str) -> Sql | None:
        """Return SQL of the tighter of a limit's values in policy and call; None without a value.

        `limit` is 'top' or 'bottom', `tighter_function` the SQL function that selects the tighter one: 'least' for top,
        'greatest' for bottom.
        """
        values = limit_texts[limit]
        literals = join_sql(
            Sql(f"CAST(CAST({text(value)} AS {compared_type}) AS {bound_type})")
            for value in values
            if value is not None
        )
        return Sql(f"{tighter_function}({literals})") if literals else None

    def grid_cells(width: str) -> GridCells:
        """Return the cells of a grid setting: a calendar unit for dates, else a cell width."""
        return GridCells(unit=width.lower()) if is_day else GridCells(step=_grid_step(bound_type, width))

    low, high = _bound_expressions(request, name, bound_names)
    min_value, max_value = _type_limits(bound_type, scale)
    return NumberRule(
        i,
        name,
        source_value=_number_expression(column_value(request, name), type_, grid),
        compared=Sql(compared_type),
        ends=BoundRule(
            type=Sql(bound_type),
            low=low,
            high=high,
            min_value=min_value,
            max_value=max_value,
            is_day=bound_type == "DATE",
            whole_days=bound_type == "DATE" and type_ != "DATE",
        ),
        grid=_grid_rule(grid, policy_grid, grid_cells),
        top=tightest_limit("top", "least"),
        bottom=tightest_limit("bottom", "greatest"),
        call_limits=tuple(
            limit
            for limit in ("top", "bottom")
            if _call_setting(request, name, limit) not in (None, _policy_setting(request, name, limit))
        ),
        is_whole=type_ in (*INTEGER_TYPES, *HUGE_INTEGER_TYPES),
        is_float=type_ in FLOAT_TYPES,
        is_exact=type_ in INTEGER_TYPES or compared_type in ("DATE", "TIMESTAMP", "TIME"),
        relative_error=Sql("1e-6" if type_ == "FLOAT" else "4e-15"),
    )


def _bound_type(type_: str, compared_type: str, grid: str | None, scale: int) -> str:
    """Return the DuckDB type of the published bounds of a number.

    DATE for dates with a grid, HUGEINT for integers, DECIMAL(38, scale) for decimals, else the type in which values are
    compared.
    """
    if type_ in DATE_TYPES and grid is not None:
        return "DATE"
    if type_ in INTEGER_TYPES:
        return "HUGEINT"
    return f"DECIMAL(38,{scale})" if DECIMAL_TYPE.match(type_) else compared_type


def _number_expression(column: Sql, type_: str, grid: str | None) -> Sql:
    """Return SQL of a number, date or time in the form in which the gate compares it.

    -0.0 becomes 0. TIMESTAMP_S and TIMESTAMP_MS become TIMESTAMP, and TIMESTAMPTZ becomes TIMESTAMP in UTC. With a
    grid, TIMESTAMP_NS becomes TIMESTAMP, truncated to microseconds. Other types are unchanged.

    Args:
        column: SQL of the value.
        type_: Its DuckDB type.
        grid: The rounding of the published bounds: a cell width or a unit such as 'month'; None without rounding.
    """
    if type_ in FLOAT_TYPES:
        return Sql(f"CASE WHEN {column} = 0 THEN 0::{type_} ELSE {column} END")
    if type_ in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return Sql(f"{column}::TIMESTAMP")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"{column} AT TIME ZONE 'UTC'")
    if type_ == "TIMESTAMP_NS" and grid is not None:  # truncated to microseconds, not rounded
        nanoseconds = f"epoch_ns({column})"
        truncated = f"make_timestamp(({nanoseconds} - (({nanoseconds} % 1000) + 1000) % 1000) // 1000)"
        return Sql(f"CASE WHEN isfinite({column}) THEN {truncated} ELSE {column}::TIMESTAMP END")
    return column


def _decimal_scale(type_: str, grids: Sequence[str]) -> int:
    """Return the number of decimals that a DECIMAL type and the widths `grids` of its grids need; 0 for other types."""
    decimals = DECIMAL_TYPE.match(type_)
    if decimals is None:
        return 0
    exponents = [Decimal(grid).normalize(_EXACT_CONTEXT).as_tuple().exponent for grid in grids]
    return max([int(decimals[1]), *(-int(exponent) for exponent in exponents)])


def _grid_step(bound_type: str, grid: str) -> Sql:
    """Return the width of a grid's cells as a SQL literal of the bounds' type (DOUBLE for floating-point types)."""
    return Sql(f"{text(grid)}::DOUBLE" if bound_type in FLOAT_TYPES else f"{text(f'{Decimal(grid):f}')}::{bound_type}")


def _type_limits(bound_type: str, scale: int) -> tuple[Sql | None, Sql | None]:
    """Return SQL literals of the least and greatest value of a bound's type; (None, None) for times and timestamps.

    They are for bounds that rounding to the grid would move beyond the type.
    """
    if bound_type == "DATE":
        return Sql("DATE '5877642-06-25 (BC)'"), Sql("DATE '5881580-07-10'")
    if bound_type == "HUGEINT":
        return Sql(f"'{-(2**127)}'::HUGEINT"), Sql(f"'{2**127 - 1}'::HUGEINT")
    if bound_type == "UHUGEINT":
        return Sql("0::UHUGEINT"), Sql(f"'{2**128 - 1}'::UHUGEINT")
    if bound_type.startswith("DECIMAL"):
        digits = "9" * (38 - scale) + ("." + "9" * scale if scale else "")
        return Sql(f"'-{digits}'::{bound_type}"), Sql(f"'{digits}'::{bound_type}")
    if bound_type in FLOAT_TYPES:
        max_value = "3.4028234663852886e38" if bound_type == "FLOAT" else "1.7976931348623157e308"
        return Sql(f"'-{max_value}'::{bound_type}"), Sql(f"'{max_value}'::{bound_type}")
    return None, None


def _unchanged_expression(request: GateRequest, name: str) -> Sql:
    """Return SQL of the value that a column without generalization must publish.

    It is the expected pseudonym, mask or shifted date if the column has such a role, else the value of the source.
    Texts get a binary collation, since DuckDB 2.0.1 and later hash them by the collation of the session.
    """
    if published_role(request, name) in transformed.ROLES:
        expression = transformed.expected_value(request, name)
        return expression if published_role(request, name) == "shift" else Sql(f"({expression}) COLLATE POSIX")
    return _column_expression(request, name)


def _column_expression(request: GateRequest, name: str) -> Sql:
    """Return SQL of a source column with NULL for missing codes; texts (VARCHAR) get a binary collation."""
    return (
        Sql(f"{column_value(request, name)} COLLATE POSIX")
        if request.columns[name] == "VARCHAR"
        else column_value(request, name)
    )


def _person_expression(request: GateRequest) -> Sql | None:
    """Return SQL of the value that identifies the person of a record; None if the release uses no person column.

    Texts get a binary collation, and -0.0 becomes 0.0.

    Raises:
        GateRefusedError: The policy or the call names another person column than the release uses.
    """
    is_checked = request.context.is_single_table and request.kind in ("release", "classes", "metrics", "membership")
    expected_person = transformed.person_column(request) if is_checked else None
    if expected_person is not None and expected_person != fold_case(request.roles.person or ""):
        raise errors.GateRefusedError(request.function, "columns of persons that are not used for counting", 1)
    if request.roles.person is None:
        return None
    expression, type_ = _column_expression(request, request.roles.person), request.columns[request.roles.person]
    return (
        Sql(f"CASE WHEN {expression} = 0 THEN 0::{type_} ELSE {expression} END") if type_ in FLOAT_TYPES else expression
    )


def _link_rules(request: GateRequest) -> tuple[LinkRule, ...]:
    """Return the rules of the published pseudonyms, in the order of the table; () without transformed columns.

    Raises:
        PseudonymFormatMismatchError: Two columns share key and scope, but not the format.
    """
    settings_sql = request.transformed  # empty if nothing is released
    names = [name for name in transformed.published_pseudonyms(request) if name in settings_sql]
    if not transformed.have_equal_formats(request, names):
        raise errors.PseudonymFormatMismatchError(request.function, names, request.table)
    return tuple(
        LinkRule(
            name,
            transformed.value_text(request, name),
            transformed.expected_value(request, name),
            settings_sql[name],
        )
        for name in names
    )
