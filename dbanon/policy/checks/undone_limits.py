"""Find limits of the policy that another published column undoes, by values and not by names.

Examples are a `top` of ages next to the year of birth, and a `min_level` of zip codes next to the neighbourhood.

A limit publishes a cell (a range or a node) in place of a value. Another column undoes it if records of one cell with
equal values of the other column have equal own values more often than other records of the cell: as a share of what is
possible (Goodman and Kruskal's tau, per cell and without bias for small groups), and by more standard deviations than
independent columns reach. All is counted in a sample.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.attribute import DEFAULT_DATE_GRID
from dbanon.policy.hierarchies.storage import Hierarchy, InlineHierarchy
from dbanon.policy.hierarchies.value_labels import has_notations, leaf_shapes, value_label
from dbanon.policy.profiling.repeated_identifiers import (
    DeclaredRelation,
    can_plan,
    withhold_statement,
)
from dbanon.source import catalog
from dbanon.source.column_types import CALENDAR_FAMILIES, family
from dbanon.source.stored_policy import PolicyRow
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal_rows, one_line, qualified, text
from dbanon.sqltext.templates import fill

MAX_SAMPLE = 20_000
"""Approximate maximum number of compared records."""

MAX_COMPARISONS = 1_500_000
"""Approximate maximum number of compared values; wide tables compare fewer records."""

MIN_SAMPLE = 2_000
"""Approximate minimum number of compared records, however wide the table is."""

MIN_REVEALED_SHARE = 0.35
"""Minimum share of hidden information that another column must reveal to be reported."""

MIN_DEVIATIONS = 5
"""Minimum number of standard deviations above what independent columns reveal by chance."""

MIN_HIDDEN_RECORDS = 10
"""Minimum number of records that a limit hides; fewer prove nothing."""

MIN_RANK_CORRELATION = 0.95
"""Minimum rank correlation for two columns to have the same order."""

MIN_ORDERED_VALUES = 3
"""Minimum number of values of a cell that must be in order."""

N_CELL_PARTS = 6
"""Number of parts of a cell that are compared if it has more values."""

MIN_REPETITIONS = 5
"""Minimum average number of records per value for values to be compared one by one."""

N_NEIGHBOURS = 5
"""Number of records with neighbouring values that are compared together if values hardly repeat."""

_YEARS_PER_UNIT = {"decade": 10, "century": 100}

FindHierarchy = Callable[[str], Hierarchy | None]
"""Returns a hierarchy by name."""


@dataclass(frozen=True)
class LimitedColumn:
    """A published column, which may have a limit (top, bottom, rounding or min_level).

    `declared` is its row of the policy, `column` its name and `type` its DuckDB type.
    """

    declared: PolicyRow
    column: str
    type: str


def problem_values(
    relation: DeclaredRelation,
    rows: Iterable[PolicyRow],
    cursor: catalog.Cursor,
    find_hierarchy: FindHierarchy,
) -> list[dict[str, object]]:
    """Return template values of policy_problems.sql for limits of a relation that other columns may undo.

    Args:
        relation: The table or view.
        rows: The rows of the policy about it.
        cursor: A cursor.
        find_hierarchy: Returns a hierarchy by name, or None.

    Returns:
        A list of one dict. It is empty if no column has a limit, fewer than two columns are published, or the relation
        cannot be read, which other checks report.
    """
    types = {fold_case(name): (name, type_) for name, type_ in relation.columns().items()}
    published_columns = [
        LimitedColumn(row, *types[fold_case(row.column)])
        for row in rows
        if row.role.lower() in ("quasi", "sensitive", "insensitive") and fold_case(row.column) in types
    ]
    cells = [_limit_cell(column, find_hierarchy, cursor) for column in published_columns]
    if len(published_columns) < 2 or not any(cells):
        return []
    columns = [
        {
            "place": place,
            "raw_name": column.column,
            "column": column_reference(column.column),
            "value": _ordered_value(column),
            "cell": cell,
        }
        for place, (column, cell) in enumerate(zip(published_columns, cells, strict=True))
    ]
    limits = {name: Sql(str(value)) for name, value in globals().items() if name.isupper() and not name.startswith("_")}
    n_pairs = sum(cell is not None for cell in cells) * len(columns)
    sample = min(MAX_SAMPLE, max(MIN_SAMPLE, MAX_COMPARISONS // n_pairs))
    count_sql = Sql(
        fill("policy/checks/undone_limits.sql", source=relation.sql, columns=columns, limits=limits, sample=sample)
    )
    if relation.is_visible and not can_plan(cursor, count_sql):
        return []
    first = published_columns[0].declared
    return [
        {
            "database": text(first.database),
            "schema": text(first.schema_name),
            "table": text(first.table_name),
            "names": _text_list(column.column for column in published_columns),
            "problem": error_sql(
                errors.UndoneLimitError(
                    first.table_name,
                    sql_placeholder("column_names[limited_place + 1]"), sql_placeholder("limits[limited_place + 1]"),
                    sql_placeholder("column_names[place + 1]"), sql_placeholder("roles[place + 1]"),
                )
            ),
            "roles": _text_list(
                "generalized" if column.declared.role.lower() == "quasi" else "unchanged"
                for column in published_columns
            ),
            "limits": _text_list(_describe_limit(column) for column in published_columns),
            "statements": Sql(f"[{join_sql(text(withhold_statement(c.declared)) for c in published_columns)}]"),
            "count": count_sql,
        }
    ]  # fmt: skip


def _text_list(values: Iterable[str]) -> Sql:
    """Return texts, each on one line, as SQL of a list."""
    return Sql(f"[{', '.join(str(text(one_line(value))) for value in values)}]")


def _ordered_value(column: LimitedColumn) -> Sql:
    """Return SQL of a column's values in a type with their order; values without a position in it are NULL.

    Numbers become DOUBLE, dates and timestamps TIMESTAMP in UTC, times are unchanged, and other types become text. NaN
    and infinities are NULL.
    """
    name, kind = identifier(column.column), family(column.type)[0]
    if kind is None:
        return Sql(f"CAST({name} AS VARCHAR) COLLATE POSIX")
    if kind == "float":
        return Sql(f"CASE WHEN isfinite({name}) THEN {name}::DOUBLE END")
    if kind in ("integer", "huge", "decimal"):
        return Sql(f"{name}::DOUBLE")
    return _finite_timestamp(name, column.type) if kind in CALENDAR_FAMILIES else name


def _finite_timestamp(name: Sql, type_: str) -> Sql:
    """Return SQL of a date or timestamp as TIMESTAMP in UTC, with NULL for infinities."""
    moment = f"{name} AT TIME ZONE 'UTC'" if type_ == "TIMESTAMP WITH TIME ZONE" else f"{name}::TIMESTAMP"
    return Sql(f"CASE WHEN isfinite({moment}) THEN {moment} END")


def _limit_cell(column: LimitedColumn, find_hierarchy: FindHierarchy, cursor: catalog.Cursor) -> Sql | None:
    """Return SQL of what a column's limit publishes in place of a value; None for a column without a limit.

    A limit is a top, a bottom, a declared grid (coarser than days for dates), or a min_level, of a quasi-identifier.
    Also None if the hierarchy of a min_level does not exist.
    """
    if column.declared.role.lower() != "quasi":
        return None
    settings, kind = column.declared.settings, family(column.type)[0]
    if settings.hierarchy is not None or kind is None:
        return _min_level_node(column, find_hierarchy, cursor) if settings.min_level else None
    value = _ordered_value(column)
    if kind in CALENDAR_FAMILIES:
        grid = (settings.rounding or DEFAULT_DATE_GRID).lower()
        cell = _calendar_cell(value, grid) if grid not in ("none", "day") else value
        cell_type = "TIMESTAMP"
    elif kind == "time":
        grid, cell, cell_type = "none", value, column.type
    else:
        grid = (settings.rounding or "none").lower()
        width = f"TRY_CAST({text(grid)} AS DOUBLE)"
        cell = value if grid == "none" else Sql(f"(floor({value} / {width}) * {width})")
        cell_type = "DOUBLE"
    signed = ((">=", settings.top), ("<=", settings.bottom))
    ends = [(sign, f"TRY_CAST({text(end)} AS {cell_type})") for sign, end in signed if end is not None]
    if not ends and (grid in ("none", "day") or (kind in CALENDAR_FAMILIES and settings.rounding is None)):
        return None
    whens = "".join(f" WHEN {value} {sign} {end} THEN {end}" for sign, end in ends)
    return Sql(f"CASE{whens} ELSE {cell} END") if ends else cell


def _calendar_cell(value: Sql, grid: str) -> Sql:
    """Return SQL of the start, as TIMESTAMP, of the calendar unit in which a date or timestamp is.

    `grid` is the unit: week, month, quarter, year, decade or century.
    """
    if grid in _YEARS_PER_UNIT:
        return Sql(
            f"make_date((year({value}) // {_YEARS_PER_UNIT[grid]} * {_YEARS_PER_UNIT[grid]})::INTEGER, 1, 1)::TIMESTAMP"
        )
    return Sql(f"date_trunc({text(grid)}, {value})::TIMESTAMP")


def _min_level_node(column: LimitedColumn, find_hierarchy: FindHierarchy, cursor: catalog.Cursor) -> Sql | None:
    """Return SQL of the node that a column's min_level publishes in place of a value, written as its path.

    The node is the ancestor `min_level` levels above the value, or the root if the hierarchy has fewer levels. If the
    column has no hierarchy it is `*`. The result is None if the hierarchy does not exist.
    """
    value, name = _ordered_value(column), column.declared.settings.hierarchy
    hierarchy = None if name is None else find_hierarchy(name)
    if hierarchy is None:
        return Sql(f"CASE WHEN {value} IS NOT NULL THEN '*' END") if name is None else None
    level = column.declared.settings.min_level or 0
    if isinstance(hierarchy, InlineHierarchy):
        nodes_by_leaf = {path[-1]: " > ".join(path[: max(len(path) - level, 1)]) for path in hierarchy.paths}
        nodes = literal_rows({"leaf": "VARCHAR", "raised": "VARCHAR"}, list(nodes_by_leaf.items()))
    else:
        table = qualified(hierarchy.database, catalog.SCHEMA, "hierarchy_path")
        nodes = Sql(
            f"SELECT leaf, array_to_string(path[least({level}, len(path) - 1) + 1:], ' > ') AS raised "
            f"FROM {table} WHERE name = {text(hierarchy.name)}"
        )
    shapes = leaf_shapes(cursor, hierarchy) if has_notations(column.type) else ()
    label = value_label(identifier(column.column), column.type, shapes)
    return Sql(f"(SELECT any_value(raised) FROM ({nodes}) AS nodes WHERE nodes.leaf = {label})")


def _describe_limit(column: LimitedColumn) -> str:
    """Return names and values of the column's limits as text; empty if it has none."""
    settings = ((name, getattr(column.declared.settings, name)) for name in ("top", "bottom", "rounding", "min_level"))
    return ", ".join(f"{name} {value}" for name, value in settings if value is not None)
