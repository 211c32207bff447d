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
    """An error: a query has no plan that can be read, or an operator in it whose columns cannot be traced."""


class Origin(NamedTuple):
    """A column of a stored table: the number of the scan in the plan that reads the table, and the column's name."""

    scan: int
    column: str


class Equality(NamedTuple):
    """Two stored columns that are equal in every row in which the second is not NULL.

    If `is_mutual`, they are equal in every row in which neither is NULL.
    """

    first: Origin
    second: Origin
    is_mutual: bool


@dataclass(frozen=True)
class RowSource:
    """An input of a join.

    Attributes:
        scans: Numbers of the scans it reads.
        key: Columns in which no two of its rows have the same values; None if unknown. A single scan may have a key in
            its data, which is not recorded here.
    """

    scans: frozenset[int]
    key: frozenset[Origin] | None = None


@dataclass(frozen=True)
class Branch:
    """The rows of one SELECT of a query; a UNION has several.

    Attributes:
        columns: For each column the stored column that it is; None for an expression.
        scans: The scanned tables, by number of the scan.
        equalities: The columns that joins and filters make equal.
        sources: The joined inputs, except those that only look up a value for a row.
    """

    columns: tuple[Origin | None, ...]
    scans: Mapping[int, Place] = field(default_factory=dict)
    equalities: tuple[Equality, ...] = ()
    sources: tuple[RowSource, ...] = ()


@dataclass(frozen=True)
class StoredView:
    """A view that is treated like a table: its database, schema and name, and its columns."""

    place: Place
    columns: tuple[str, ...]


def serialized_plan(connection: Any, query: str) -> Node:
    """Return the plan of a query as DuckDB serializes it, without running the query.

    It is bound on this connection, with its temporary objects and open transaction.

    Raises:
        PlanNotReadError: DuckDB does not serialize the plan, or the text has several statements.
    """
    plan = json.loads(connection.execute(f"SELECT system.main.json_serialize_plan({text(query)})").fetchall()[0][0])
    if plan.get("error") or len(plan.get("plans", ())) != 1:
        raise PlanNotReadError(str(plan.get("error_message", "several statements")))
    plan_node: Node = plan["plans"][0]
    return plan_node


def plan_branches(plan: Node, views: Mapping[str, StoredView]) -> list[Branch]:
    """Return the branches of a serialized plan, one per SELECT of a UNION, with the origin of each column.

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
    """Return (database, schema, name) of all stored tables that a plan scans.

    A part of the plan with the shape of one of `views` counts as a scan of this view.
    """
    if views and (view := views.get(plan_shape(plan))) is not None:
        return {view.place}
    places = {place} if (place := _scanned_table(plan)) is not None else set[Place]()
    return places.union(*(plan_places(child, views) for child in plan["children"]))


def plan_shape(node: Node) -> str:
    """Return a JSON text of a plan that is equal for plans that compute the same.

    Names of aliases, positions in the statement and numbers of tables do not matter.
    """
    table_numbers: dict[int, int] = {}

    def normalize(value: Any) -> Any:
        """Return a copy without position fields and with renumbered tables, recursively."""
        if isinstance(value, list):
            return [normalize(element) for element in value]
        if not isinstance(value, dict):
            return value
        return {key: renumber(key, element) for key, element in value.items() if key not in _LOCATION_KEYS}

    def renumber(key: str, value: Any) -> Any:
        """Return the value of a field; a table number is replaced by the order of its first occurrence."""
        if key.endswith("_index") and isinstance(value, int) and not isinstance(value, bool):
            return table_numbers.setdefault(value, len(table_numbers))
        return normalize(value)

    return json.dumps(normalize(node), sort_keys=True)


_LOCATION_KEYS = frozenset({"alias", "query_location", "query_location_length"})
"""Fields that depend on where a plan is in its statement."""


class _PlanReader:
    """A reader of one serialized plan, which traces columns to stored columns.

    A method `_name` reads the operator NAME of the plan and returns its branches. Every scan gets a new number; a CTE
    is read again at each reference.
    """

    def __init__(self, views: Mapping[str, StoredView]) -> None:
        """Store the views that are treated like tables, by the shape of their plan."""
        self._views = views
        self._numbers = itertools.count()
        self._ctes: dict[int, Node] = {}

    def branches(self, node: Node) -> list[Branch]:
        """Return the branches of a plan operator, with its columns in the order in which its parent refers to them.

        Raises:
            PlanNotReadError: The operator is unknown, or there are more than MAX_BRANCHES branches.
        """
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
        """Return the branches of the operator's only child."""
        (child,) = node["children"]
        return self.branches(child)

    # --- leaves

    def _get(self, node: Node) -> list[Branch]:
        """Read a scan: of a stored table, or of anything else, whose columns come from no stored column.

        A table function that takes rows as input raises PlanNotReadError.
        """
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
        """Return one branch with the named columns of a stored table, under a new scan number.

        Args:
            place: Database, schema and name of the table; None if the rows are not those of a stored table: then all
                columns have the origin None.
            columns: The names of the columns; None for one that is no stored column.
        """
        if place is None:
            return self._unknown_rows(len(columns))
        number = next(self._numbers)
        origins = tuple(None if column is None else Origin(number, column) for column in columns)
        return Branch(origins, {number: place}, (), (RowSource(frozenset((number,))),))

    def _dummy_scan(self, node: Node) -> list[Branch]:
        """Read a SELECT without FROM: one row, whose one column comes from no stored column."""
        return [Branch((None,))]

    def _expression_get(self, node: Node) -> list[Branch]:
        """Read VALUES: rows whose columns come from no stored column."""
        return [self._unknown_rows(len(node["expr_types"]))]

    def _delim_get(self, node: Node) -> list[Branch]:
        """Read outer values of a correlated subquery, or rows stored in the plan: they come from no stored column."""
        return [self._unknown_rows(len(node["chunk_types"]))]

    _column_data_get = _delim_get

    def _unknown_rows(self, width: int) -> Branch:
        """Return a branch of `width` columns with the origin None, and one input that may repeat rows."""
        return Branch((None,) * width, {}, (), (self._unknown_source(),))

    def _unknown_source(self) -> RowSource:
        """Return an input of a join that may have any number of rows for each row of the others.

        It has a new scan number that belongs to no table, and no key.
        """
        return RowSource(frozenset((next(self._numbers),)))

    # --- one child

    def _projection(self, node: Node) -> list[Branch]:
        """Read a SELECT list: a column that is only a reference keeps its origin (stored column).

        An expression has None.
        """
        return [
            replace(b, columns=tuple(_column_origin(e, b) for e in node["expressions"]))
            for b in self._child_branches(node)
        ]

    def _filter(self, node: Node) -> list[Branch]:
        """Read WHERE: columns are unchanged; columns that it requires to be equal are recorded as equalities."""
        pairs = [pair for e in node["expressions"] for pair in _filter_pairs(e)]
        return [
            _project(node, "projection_map", replace(b, equalities=(*b.equalities, *_equalities(b, b, pairs))))
            for b in self._child_branches(node)
        ]

    def _window(self, node: Node) -> list[Branch]:
        """Read window functions: the child's columns, then one column with the origin None per function."""
        computed_columns = (None,) * len(node["expressions"])
        return [replace(b, columns=(*b.columns, *computed_columns)) for b in self._child_branches(node)]

    def _unnest(self, node: Node) -> list[Branch]:
        """Read UNNEST: the child's columns, then one column with the origin None per expression.

        A row may be repeated any number of times, so an unknown input is added to the sources.
        """
        computed_columns = (None,) * len(node["expressions"])
        return [
            replace(b, columns=(*b.columns, *computed_columns), sources=(*b.sources, self._unknown_source()))
            for b in self._child_branches(node)
        ]

    def _aggregate_and_group_by(self, node: Node) -> list[Branch]:
        """Read GROUP BY: grouped columns keep their origin (stored column), aggregates have None.

        If the child has one input and there is one grouping set, the result is one input: the grouped columns are its
        key if all have an origin, and otherwise its key is unknown. Without grouped columns it is one input, too, and
        only one branch is returned. In other cases an unknown input is added.
        """
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
        """Read a cross or positional join: one branch for each pair of branches of the children."""
        left, right = (self.branches(child) for child in node["children"])
        return [_join_branches(a, b) for a in left for b in right]

    _positional_join = _cross_product

    def _comparison_join(self, node: Node) -> list[Branch]:
        """Read a join of any known type: one branch for each pair of branches of the children.

        - Semi and anti joins have the branches of one child only.
        - A mark join has the branches of the left child, with one more column whose origin is None.
        - Another type than these and inner, left, right, full and single joins raises PlanNotReadError.
        """
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
        """Return the branch of a join of two branches, with the equalities that its type guarantees.

        An inner join guarantees its equal columns in both directions; left, right and single joins only those of rows
        with a partner; a full outer join none. A single join looks up at most one row, so its right side is no input
        that repeats rows.

        Args:
            node: The operator.
            kind: INNER, LEFT, RIGHT, OUTER, FULL or SINGLE.
            left: A branch of the left child.
            right: A branch of the right child.
        """
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
        """Read UNION: the branches of all children."""
        return [branch for child in node["children"] for branch in self.branches(child)]

    def _intersect(self, node: Node) -> list[Branch]:
        """Read INTERSECT or EXCEPT: the branches of the first operand.

        Every row of the result is a row of the first operand.
        """
        return self.branches(node["children"][0])

    _except = _intersect

    def _materialized_cte(self, node: Node) -> list[Branch]:
        """Store the plan of a CTE for its references, and read the query that uses it."""
        self._ctes[node["table_index"]] = node["children"][0]
        return self.branches(node["children"][1])

    def _cte_ref(self, node: Node) -> list[Branch]:
        """Read the plan of the referenced CTE again."""
        return self.branches(self._ctes[node["cte_index"]])

    def _recursive_cte(self, node: Node) -> list[Branch]:
        """Read a recursive CTE: rows whose columns come from no stored column.

        Their number is that of its first part.
        """
        return [self._unknown_rows(len(self.branches(node["children"][0])[0].columns))]


_PASS_THROUGH_OPERATORS = frozenset({"ORDER_BY", "LIMIT", "DISTINCT", "TOP_N", "SAMPLE"})
"""Operators that have the columns of their child."""


def _scanned_table(node: Node) -> Place | None:
    """Return (database, schema, name) of the stored table that a scan reads; None if it reads something else."""
    path = (node.get("qname") or {}).get("path") or [node.get("name")]
    scan_data = node.get("function_data") or {}
    if path[-1] != "seq_scan" or not scan_data.get("table"):
        return None
    return scan_data["catalog"], scan_data["schema"], scan_data["table"]


def _column_position(expression: Node) -> int | None:
    """Return the position of a column reference among the child operator's columns; None for any other expression."""
    return expression["index"] if expression["expression_class"] == "BOUND_REF" else None


def _column_origin(expression: Node, branch: Branch) -> Origin | None:
    """Return the stored column that an expression refers to.

    None for an expression that is no column reference, and for a reference to a column that comes from no stored
    column.
    """
    position = _column_position(expression)
    return None if position is None else branch.columns[position]


def _project(node: Node, positions_key: str, branch: Branch) -> Branch:
    """Return a branch with only the columns whose positions the operator lists in its field `positions_key`.

    Without such a list the branch is unchanged.
    """
    positions = node.get(positions_key)
    return replace(branch, columns=tuple(branch.columns[i] for i in positions)) if positions else branch


def _join_branches(left: Branch, right: Branch) -> Branch:
    """Return the branch of all pairs of rows of two branches: columns of the left one, then those of the right one."""
    return Branch(
        (*left.columns, *right.columns),
        {**left.scans, **right.scans},
        (*left.equalities, *right.equalities),
        (*left.sources, *right.sources),
    )


def _join_pairs(node: Node) -> Iterator[tuple[int, int]]:
    """Yield the positions (in the left child, in the right child) of columns that a join requires to be equal."""
    for condition in node.get("conditions") or ():
        if condition.get("comparison") == "COMPARE_EQUAL":
            yield from _column_pair(condition["left"], condition["right"])


def _filter_pairs(expression: Node) -> Iterator[tuple[int, int]]:
    """Yield pairs of positions of columns that a filter requires to be equal, by `=` and AND only."""
    if expression["type"] == "CONJUNCTION_AND":
        for part in expression["children"]:
            yield from _filter_pairs(part)
    elif expression["type"] == "COMPARE_EQUAL":
        yield from _column_pair(*(expression.get("children") or (expression["left"], expression["right"])))


def _column_pair(left: Node, right: Node) -> Iterator[tuple[int, int]]:
    """Yield the pair of positions of two expressions if both are column references; otherwise nothing."""
    first, second = _column_position(left), _column_position(right)
    if first is not None and second is not None:
        yield first, second


def _equalities(
    first: Branch, second: Branch, pairs: Iterable[tuple[int, int]], is_mutual: bool = True
) -> Iterator[Equality]:
    """Yield an `Equality` for each pair of positions (in `first`, in `second`) whose columns both are stored columns.

    Args:
        first: The branch whose columns the first positions are about.
        second: The branch whose columns the second positions are about.
        pairs: Pairs of positions of columns that are equal.
        is_mutual: Whether the columns are equal in every row in which neither is NULL, also where only the second is.
    """
    for i, j in pairs:
        a, b = first.columns[i], second.columns[j]
        if a is not None and b is not None:
            yield Equality(a, b, is_mutual)
