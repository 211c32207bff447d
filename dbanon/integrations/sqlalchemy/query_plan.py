"""Trace each column of a query to the stored column it comes from, using the plan that DuckDB binds.

The text of a query shows little of what it reads: a fragment can give a table another name, a view or a macro can
stand for a table. The bound plan names the scanned tables and refers to columns by position.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dbanon.sqltext.quote import text

Place = tuple[str, str, str]
Node = Mapping[str, Any]

MAX_BRANCHES = 64
"""Largest number of union branches that are traced."""


class PlanNotReadError(Exception):
    """The plan of a query has an operator whose columns cannot be traced."""


class Origin(NamedTuple):
    """A column of a stored table, in one of the scans of a plan."""

    scan: int
    column: str


class Equality(NamedTuple):
    """Two columns that are equal in every row, or the second is NULL (`is_mutual`: or either is)."""

    first: Origin
    second: Origin
    is_mutual: bool


@dataclass(frozen=True)
class RowSource:
    """A part of a join that contributes rows.

    Attributes:
        scans: Numbers of the scans it reads.
        key: Columns in which no two of its rows have the same values; None if unknown. The data of a single scan may
            have a key.
    """

    scans: frozenset[int]
    key: frozenset[Origin] | None = None


@dataclass(frozen=True)
class Branch:
    """The rows of one SELECT of a query; a UNION has several.

    Attributes:
        columns: The stored column of each column; None for an expression.
        scans: The scanned tables, by number of the scan.
        equalities: The columns that joins and filters make equal.
        sources: The joined sources, except those that only look up a value for a row.
    """

    columns: tuple[Origin | None, ...]
    scans: Mapping[int, Place] = field(default_factory=dict)
    equalities: tuple[Equality, ...] = ()
    sources: tuple[RowSource, ...] = ()


@dataclass(frozen=True)
class StoredView:
    """A view that is treated like a table: where it is stored, and its columns."""

    place: Place
    columns: tuple[str, ...]


def serialized_plan(connection: Any, query: str) -> Node:
    """Return the plan of a query, bound on this connection with its temporary objects and open transaction.

    Raises:
        PlanNotReadError: DuckDB does not serialize the plan.
    """
    rows = connection.execute(f"SELECT system.main.json_serialize_plan({text(query)})").fetchall()
    plan = json.loads(rows[0][0])
    if plan.get("error") or len(plan.get("plans", ())) != 1:
        raise PlanNotReadError(str(plan.get("error_message", "several statements")))
    plan_node: Node = plan["plans"][0]
    return plan_node


def plan_branches(plan: Node, views: Mapping[str, StoredView]) -> list[Branch]:
    """Return the branches of a plan.

    Args:
        plan: A serialized plan.
        views: Views that are treated like tables, by the shape of their plan.

    Raises:
        PlanNotReadError: The plan has an unknown operator.
    """
    try:
        return _PlanReader(views).branches(plan)
    except (KeyError, IndexError, TypeError) as error:
        raise PlanNotReadError(f"{type(error).__name__} {error}") from None


def plan_places(plan: Node, views: Mapping[str, StoredView]) -> set[Place]:
    """Return the stored tables that any operator of a plan scans, except those that only the views read."""
    if views and (view := views.get(plan_shape(plan))) is not None:
        return {view.place}
    places = {place} if (place := _scanned_table(plan)) is not None else set[Place]()
    return places.union(*(plan_places(child, views) for child in plan["children"]))


def plan_shape(node: Node) -> str:
    """Return a text that is equal for plans that compute the same, whatever numbers their tables have."""
    table_numbers: dict[int, int] = {}

    def normalize(value: Any) -> Any:
        if isinstance(value, list):
            return [normalize(element) for element in value]
        if not isinstance(value, dict):
            return value
        return {key: renumber(key, element) for key, element in value.items() if key not in _LOCATION_KEYS}

    def renumber(key: str, value: Any) -> Any:
        if key.endswith("_index") and isinstance(value, int) and not isinstance(value, bool):
            return table_numbers.setdefault(value, len(table_numbers))
        return normalize(value)

    return json.dumps(normalize(node), sort_keys=True)


_LOCATION_KEYS = frozenset({"alias", "query_location", "query_location_length"})
"""Fields that depend on where a plan is in its statement."""


class _PlanReader:
    """A reader of one plan. Every scan gets a number; a CTE is read again at each reference."""

    def __init__(self, views: Mapping[str, StoredView]) -> None:
        self._views = views
        self._numbers = itertools.count()
        self._ctes: dict[int, Node] = {}

    def branches(self, node: Node) -> list[Branch]:
        """Return the branches of a node, with its columns in the order in which its parent refers to them."""
        if self._views and (view := self._views.get(plan_shape(node))) is not None:
            return [self._scan(view.place, view.columns)]
        kind = node["type"].removeprefix("LOGICAL_")
        if kind in _PASS_THROUGH_OPERATORS:
            return [_project(node, "projection_map", branch) for branch in self._child_branches(node)]
        read_operator = getattr(self, f"_{kind.lower()}", None)
        if read_operator is None:
            raise PlanNotReadError(f"operator {kind}")
        branches: list[Branch] = read_operator(node)
        if len(branches) > MAX_BRANCHES:
            raise PlanNotReadError("too many branches")
        return branches

    def _child_branches(self, node: Node) -> list[Branch]:
        (child,) = node["children"]
        return self.branches(child)

    # --- leaves

    def _get(self, node: Node) -> list[Branch]:
        if node.get("projected_input"):
            raise PlanNotReadError("a table function of rows")
        names = node["names"]
        columns = [
            None if column.get("child_indexes") or column["index"] >= len(names) else names[column["index"]]
            for column in node["column_indexes"]
        ]
        if node.get("projection_ids"):
            columns = [columns[i] for i in node["projection_ids"]]
        return [self._scan(_scanned_table(node), columns)]

    def _scan(self, place: Place | None, columns: Sequence[str | None]) -> Branch:
        """Return the rows of a stored table; nothing is known about rows from elsewhere (`place` is None)."""
        if place is None:
            return self._unknown_rows(len(columns))
        number = next(self._numbers)
        origins = tuple(None if column is None else Origin(number, column) for column in columns)
        return Branch(origins, {number: place}, (), (RowSource(frozenset((number,))),))

    def _dummy_scan(self, node: Node) -> list[Branch]:
        return [Branch((None,))]

    def _expression_get(self, node: Node) -> list[Branch]:
        return [self._unknown_rows(len(node["expr_types"]))]

    def _delim_get(self, node: Node) -> list[Branch]:
        """Return one branch without origins: outer values of a correlated subquery, or rows that are in the plan."""
        return [self._unknown_rows(len(node["chunk_types"]))]

    _column_data_get = _delim_get

    def _unknown_rows(self, width: int) -> Branch:
        """Return a branch of rows that come from no table."""
        return Branch((None,) * width, {}, (), (self._unknown_source(),))

    def _unknown_source(self) -> RowSource:
        """Return a source with an unknown number of rows for each row of the others."""
        return RowSource(frozenset((next(self._numbers),)))

    # --- one child

    def _projection(self, node: Node) -> list[Branch]:
        return [
            replace(b, columns=tuple(_column_origin(e, b) for e in node["expressions"]))
            for b in self._child_branches(node)
        ]

    def _filter(self, node: Node) -> list[Branch]:
        pairs = [pair for e in node["expressions"] for pair in _filter_pairs(e)]
        return [
            _project(node, "projection_map", replace(b, equalities=(*b.equalities, *_equalities(b, b, pairs))))
            for b in self._child_branches(node)
        ]

    def _window(self, node: Node) -> list[Branch]:
        computed_columns = (None,) * len(node["expressions"])
        return [replace(b, columns=(*b.columns, *computed_columns)) for b in self._child_branches(node)]

    def _unnest(self, node: Node) -> list[Branch]:
        computed_columns = (None,) * len(node["expressions"])
        return [
            replace(b, columns=(*b.columns, *computed_columns), sources=(*b.sources, self._unknown_source()))
            for b in self._child_branches(node)
        ]

    def _aggregate_and_group_by(self, node: Node) -> list[Branch]:
        branches = []
        for branch in self._child_branches(node):
            groups = tuple(_column_origin(e, branch) for e in node["groups"])
            width = len(node["expressions"]) + len(node.get("grouping_functions") or ())
            key = None if None in groups else frozenset(g for g in groups if g is not None)
            scans = frozenset(scan for source in branch.sources for scan in source.scans)
            # Of several sources, one row of a scan may be in several groups.
            is_one = len(branch.sources) <= 1 and len(node.get("grouping_sets") or ()) <= 1
            sources = (RowSource(scans, key),) if is_one or not groups else (*branch.sources, self._unknown_source())
            branches.append(replace(branch, columns=(*groups, *(None,) * width), sources=sources))
        return branches if node["groups"] or len(branches) <= 1 else [branches[0]]

    # --- several children

    def _cross_product(self, node: Node) -> list[Branch]:
        left, right = (self.branches(child) for child in node["children"])
        return [_join_branches(a, b) for a in left for b in right]

    _positional_join = _cross_product

    def _comparison_join(self, node: Node) -> list[Branch]:
        kind = node["join_type"]
        left, right = (self.branches(child) for child in node["children"])
        if kind in ("SEMI", "ANTI"):
            return [_project(node, "left_projection_map", branch) for branch in left]
        if kind in ("RIGHT_SEMI", "RIGHT_ANTI"):
            return [_project(node, "right_projection_map", branch) for branch in right]
        if kind == "MARK":
            marked = [_project(node, "left_projection_map", branch) for branch in left]
            return [replace(branch, columns=(*branch.columns, None)) for branch in marked]
        if kind not in ("INNER", "LEFT", "RIGHT", "OUTER", "FULL", "SINGLE"):
            raise PlanNotReadError(f"join {kind}")
        return [self._one_join(node, kind, a, b) for a in left for b in right]

    _any_join = _comparison_join
    _delim_join = _comparison_join
    _asof_join = _comparison_join

    def _one_join(self, node: Node, kind: str, left: Branch, right: Branch) -> Branch:
        pairs = list(_join_pairs(node))
        if kind in ("OUTER", "FULL"):  # of rows without a partner nothing is known
            pairs = []
        if kind == "RIGHT":
            equal = _equalities(right, left, [(b, a) for a, b in pairs], is_mutual=False)
        else:
            equal = _equalities(left, right, pairs, is_mutual=kind == "INNER")
        a = _project(node, "left_projection_map", left)
        b = _project(node, "right_projection_map", right)
        joined_rows = _join_branches(a, replace(b, sources=()) if kind == "SINGLE" else b)
        return replace(joined_rows, equalities=(*joined_rows.equalities, *equal))

    def _union(self, node: Node) -> list[Branch]:
        return [branch for child in node["children"] for branch in self.branches(child)]

    def _intersect(self, node: Node) -> list[Branch]:
        """Return the branches of the first operand: every row of the result is one of its rows (also of EXCEPT)."""
        return self.branches(node["children"][0])

    _except = _intersect

    def _materialized_cte(self, node: Node) -> list[Branch]:
        self._ctes[node["table_index"]] = node["children"][0]
        return self.branches(node["children"][1])

    def _cte_ref(self, node: Node) -> list[Branch]:
        return self.branches(self._ctes[node["cte_index"]])

    def _recursive_cte(self, node: Node) -> list[Branch]:
        return [self._unknown_rows(len(self.branches(node["children"][0])[0].columns))]


_PASS_THROUGH_OPERATORS = frozenset({"ORDER_BY", "LIMIT", "DISTINCT", "TOP_N", "SAMPLE"})
"""Operators that have the columns of their child."""


def _scanned_table(node: Node) -> Place | None:
    """Return the stored table that a scan reads; None if it reads something else."""
    path = (node.get("qname") or {}).get("path") or [node.get("name")]
    scan_data = node.get("function_data") or {}
    if path[-1] != "seq_scan" or not scan_data.get("table"):
        return None
    return scan_data["catalog"], scan_data["schema"], scan_data["table"]


def _column_position(expression: Node) -> int | None:
    """Return the position of a column reference among the columns of the child operator; None for other expressions."""
    return expression["index"] if expression["expression_class"] == "BOUND_REF" else None


def _column_origin(expression: Node, branch: Branch) -> Origin | None:
    """Return the stored column that an expression refers to; None for other expressions."""
    position = _column_position(expression)
    return None if position is None else branch.columns[position]


def _project(node: Node, positions_key: str, branch: Branch) -> Branch:
    """Return a branch with only the columns that an operator passes on, listed in its field `positions_key`."""
    positions = node.get(positions_key)
    return replace(branch, columns=tuple(branch.columns[i] for i in positions)) if positions else branch


def _join_branches(left: Branch, right: Branch) -> Branch:
    """Return the branch of all pairs of rows of two branches."""
    return Branch(
        (*left.columns, *right.columns),
        {**left.scans, **right.scans},
        (*left.equalities, *right.equalities),
        (*left.sources, *right.sources),
    )


def _join_pairs(node: Node) -> Iterator[tuple[int, int]]:
    """Yield positions of the columns that a join requires to be equal: in its left and in its right child."""
    for condition in node.get("conditions") or ():
        if condition.get("comparison") == "COMPARE_EQUAL":
            yield from _column_pair(condition["left"], condition["right"])


def _filter_pairs(expression: Node) -> Iterator[tuple[int, int]]:
    """Yield positions of the columns that a filter requires to be equal."""
    if expression["type"] == "CONJUNCTION_AND":
        for part in expression["children"]:
            yield from _filter_pairs(part)
    elif expression["type"] == "COMPARE_EQUAL":
        yield from _column_pair(*(expression.get("children") or (expression["left"], expression["right"])))


def _column_pair(left: Node, right: Node) -> Iterator[tuple[int, int]]:
    """Yield the positions of two expressions, if both are columns."""
    first, second = _column_position(left), _column_position(right)
    if first is not None and second is not None:
        yield first, second


def _equalities(
    first: Branch, second: Branch, pairs: Iterable[tuple[int, int]], is_mutual: bool = True
) -> Iterator[Equality]:
    """Yield the equal columns of two branches from pairs of positions."""
    for i, j in pairs:
        a, b = first.columns[i], second.columns[j]
        if a is not None and b is not None:
            yield Equality(a, b, is_mutual)
