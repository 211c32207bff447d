"""Which stored column each column of a query is, according to the plan that DuckDB binds.

The text of a query says little about what it reads: a fragment can give a table another name, a view or a macro can
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
"""Most branches of unions that are followed."""


class PlanNotReadError(Exception):
    """The plan of a query has an operator of which it is not known where its columns come from."""


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
    """What contributes rows to a join: scans, and columns of which no two rows have the same values.

    `key` is None where that is not known; a single scan may have a key in its data.
    """

    scans: frozenset[int]
    key: frozenset[Origin] | None = None


@dataclass(frozen=True)
class Branch:
    """The rows that one SELECT of a query gives; a UNION has several.

    Attributes:
        columns: The stored column that each column is; None for an expression.
        scans: The tables that are scanned, by number of the scan.
        equal: The columns that joins and filters make equal.
        sources: What is joined; a source that only looks up a value for a row is not among them.
    """

    columns: tuple[Origin | None, ...]
    scans: Mapping[int, Place] = field(default_factory=dict)
    equal: tuple[Equality, ...] = ()
    sources: tuple[RowSource, ...] = ()


@dataclass(frozen=True)
class StoredView:
    """A view that is followed no further, as if it were a table: where it is stored, and its columns."""

    place: Place
    columns: tuple[str, ...]


def serialized_plan(connection: Any, query: str) -> Node:
    """Return the plan of a query, bound on this connection: with its temporary objects and open transaction.

    Raises:
        PlanNotReadError: DuckDB does not serialize the plan.
    """
    rows = connection.execute(f"SELECT system.main.json_serialize_plan({text(query)})").fetchall()
    plan = json.loads(rows[0][0])
    if plan.get("error") or len(plan.get("plans", ())) != 1:
        raise PlanNotReadError(str(plan.get("error_message", "several statements")))
    found: Node = plan["plans"][0]
    return found


def plan_branches(plan: Node, views: Mapping[str, StoredView]) -> list[Branch]:
    """Return the branches of a plan; `views` are the views that are followed no further, by the shape of their plan.

    Raises:
        PlanNotReadError: The plan has an unknown operator.
    """
    try:
        return _Reader(views).branches(plan)
    except (KeyError, IndexError, TypeError) as error:
        raise PlanNotReadError(f"{type(error).__name__} {error}") from None


def plan_places(plan: Node, views: Mapping[str, StoredView]) -> set[Place]:
    """Return the stored tables that any operator of a plan scans, except those that only the views read."""
    if views and (view := views.get(plan_shape(plan))) is not None:
        return {view.place}
    found = {place} if (place := _place(plan)) is not None else set[Place]()
    return found.union(*(plan_places(child, views) for child in plan["children"]))


def plan_shape(node: Node) -> str:
    """Return what a plan computes as a text, whatever numbers its tables have and wherever it is in a statement."""
    numbers: dict[int, int] = {}

    def shaped(value: Any) -> Any:
        if isinstance(value, list):
            return [shaped(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {key: numbered(key, item) for key, item in value.items() if key not in _NOT_SHAPE}

    def numbered(key: str, value: Any) -> Any:
        if key.endswith("_index") and isinstance(value, int) and not isinstance(value, bool):
            return numbers.setdefault(value, len(numbers))
        return shaped(value)

    return json.dumps(shaped(node), sort_keys=True)


_NOT_SHAPE = frozenset({"alias", "query_location", "query_location_length"})
"""What the place of a plan in a statement decides."""


class _Reader:
    """Reads one plan. Every scan gets a number; a CTE is read again wherever it is referred to."""

    def __init__(self, views: Mapping[str, StoredView]) -> None:
        self._views = views
        self._numbers = itertools.count()
        self._ctes: dict[int, Node] = {}

    def branches(self, node: Node) -> list[Branch]:
        """Return the branches of a node, with its columns in the order in which its parent refers to them."""
        if self._views and (view := self._views.get(plan_shape(node))) is not None:
            return [self._scan(view.place, view.columns)]
        kind = node["type"].removeprefix("LOGICAL_")
        if kind in _PASSING:
            return [_projected(node, "projection_map", branch) for branch in self._child(node)]
        read = getattr(self, f"_{kind.lower()}", None)
        if read is None:
            raise PlanNotReadError(f"operator {kind}")
        found: list[Branch] = read(node)
        if len(found) > MAX_BRANCHES:
            raise PlanNotReadError("too many branches")
        return found

    def _child(self, node: Node) -> list[Branch]:
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
        return [self._scan(_place(node), columns)]

    def _scan(self, place: Place | None, columns: Sequence[str | None]) -> Branch:
        """Return the rows of a table; of one that is not stored nothing is known."""
        if place is None:
            return self._rows(len(columns))
        number = next(self._numbers)
        origins = tuple(None if column is None else Origin(number, column) for column in columns)
        return Branch(origins, {number: place}, (), (RowSource(frozenset((number,))),))

    def _dummy_scan(self, node: Node) -> list[Branch]:
        return [Branch((None,))]

    def _expression_get(self, node: Node) -> list[Branch]:
        return [self._rows(len(node["expr_types"]))]

    def _delim_get(self, node: Node) -> list[Branch]:
        return [self._rows(len(node["chunk_types"]))]

    _column_data_get = _delim_get

    def _rows(self, width: int) -> Branch:
        """Return rows that no table has."""
        return Branch((None,) * width, {}, (), (self._repeats(),))

    def _repeats(self) -> RowSource:
        """Return a source with an unknown number of rows for each row of the others."""
        return RowSource(frozenset((next(self._numbers),)))

    # --- one child

    def _projection(self, node: Node) -> list[Branch]:
        return [replace(b, columns=tuple(_reference(e, b) for e in node["expressions"])) for b in self._child(node)]

    def _filter(self, node: Node) -> list[Branch]:
        pairs = [pair for e in node["expressions"] for pair in _compared(e)]
        return [
            _projected(node, "projection_map", replace(b, equal=(*b.equal, *_equalities(b, b, pairs))))
            for b in self._child(node)
        ]

    def _window(self, node: Node) -> list[Branch]:
        more = (None,) * len(node["expressions"])
        return [replace(b, columns=(*b.columns, *more)) for b in self._child(node)]

    def _unnest(self, node: Node) -> list[Branch]:
        more = (None,) * len(node["expressions"])
        return [
            replace(b, columns=(*b.columns, *more), sources=(*b.sources, self._repeats())) for b in self._child(node)
        ]

    def _aggregate_and_group_by(self, node: Node) -> list[Branch]:
        found = []
        for branch in self._child(node):
            groups = tuple(_reference(e, branch) for e in node["groups"])
            width = len(node["expressions"]) + len(node.get("grouping_functions") or ())
            key = None if None in groups else frozenset(g for g in groups if g is not None)
            scans = frozenset(scan for source in branch.sources for scan in source.scans)
            # Of several sources, one row of a scan may be in several groups.
            is_one = len(branch.sources) <= 1 and len(node.get("grouping_sets") or ()) <= 1
            sources = (RowSource(scans, key),) if is_one or not groups else (*branch.sources, self._repeats())
            found.append(replace(branch, columns=(*groups, *(None,) * width), sources=sources))
        return found if node["groups"] or len(found) <= 1 else [found[0]]

    # --- several children

    def _cross_product(self, node: Node) -> list[Branch]:
        left, right = (self.branches(child) for child in node["children"])
        return [_join_branches(a, b) for a in left for b in right]

    _positional_join = _cross_product

    def _comparison_join(self, node: Node) -> list[Branch]:
        kind = node["join_type"]
        left, right = (self.branches(child) for child in node["children"])
        if kind in ("SEMI", "ANTI"):
            return [_projected(node, "left_projection_map", branch) for branch in left]
        if kind in ("RIGHT_SEMI", "RIGHT_ANTI"):
            return [_projected(node, "right_projection_map", branch) for branch in right]
        if kind == "MARK":
            marked = [_projected(node, "left_projection_map", branch) for branch in left]
            return [replace(branch, columns=(*branch.columns, None)) for branch in marked]
        if kind not in ("INNER", "LEFT", "RIGHT", "OUTER", "FULL", "SINGLE"):
            raise PlanNotReadError(f"join {kind}")
        return [self._one_join(node, kind, a, b) for a in left for b in right]

    _any_join = _comparison_join
    _delim_join = _comparison_join
    _asof_join = _comparison_join

    def _one_join(self, node: Node, kind: str, left: Branch, right: Branch) -> Branch:
        pairs = list(_conditions(node))
        if kind in ("OUTER", "FULL"):  # of rows without a partner nothing is known
            pairs = []
        if kind == "RIGHT":
            equal = _equalities(right, left, [(b, a) for a, b in pairs], is_mutual=False)
        else:
            equal = _equalities(left, right, pairs, is_mutual=kind == "INNER")
        a = _projected(node, "left_projection_map", left)
        b = _projected(node, "right_projection_map", right)
        joined_rows = _join_branches(a, replace(b, sources=()) if kind == "SINGLE" else b)
        return replace(joined_rows, equal=(*joined_rows.equal, *equal))

    def _union(self, node: Node) -> list[Branch]:
        return [branch for child in node["children"] for branch in self.branches(child)]

    def _intersect(self, node: Node) -> list[Branch]:
        return self.branches(node["children"][0])

    _except = _intersect

    def _materialized_cte(self, node: Node) -> list[Branch]:
        self._ctes[node["table_index"]] = node["children"][0]
        return self.branches(node["children"][1])

    def _cte_ref(self, node: Node) -> list[Branch]:
        return self.branches(self._ctes[node["cte_index"]])

    def _recursive_cte(self, node: Node) -> list[Branch]:
        return [self._rows(len(self.branches(node["children"][0])[0].columns))]


_PASSING = frozenset({"ORDER_BY", "LIMIT", "DISTINCT", "TOP_N", "SAMPLE"})
"""Operators that have the columns of their child."""


def _place(node: Node) -> Place | None:
    """Return the stored table that a scan reads; None where it reads something else."""
    path = (node.get("qname") or {}).get("path") or [node.get("name")]
    data = node.get("function_data") or {}
    if path[-1] != "seq_scan" or not data.get("table"):
        return None
    return data["catalog"], data["schema"], data["table"]


def _position(expression: Node) -> int | None:
    """Return the position of the column that an expression is, in the columns of the operator beneath.

    None for others.
    """
    return expression["index"] if expression["expression_class"] == "BOUND_REF" else None


def _reference(expression: Node, branch: Branch) -> Origin | None:
    found = _position(expression)
    return None if found is None else branch.columns[found]


def _projected(node: Node, key: str, branch: Branch) -> Branch:
    """Return the branch with the columns that an operator leaves."""
    kept = node.get(key)
    return replace(branch, columns=tuple(branch.columns[i] for i in kept)) if kept else branch


def _join_branches(left: Branch, right: Branch) -> Branch:
    return Branch(
        (*left.columns, *right.columns),
        {**left.scans, **right.scans},
        (*left.equal, *right.equal),
        (*left.sources, *right.sources),
    )


def _conditions(node: Node) -> Iterator[tuple[int, int]]:
    """Yield positions of the columns that a join takes to be equal: on its left and on its right."""
    for condition in node.get("conditions") or ():
        if condition.get("comparison") == "COMPARE_EQUAL":
            yield from _pair(condition["left"], condition["right"])


def _compared(expression: Node) -> Iterator[tuple[int, int]]:
    """Yield positions of the columns that a filter takes to be equal."""
    if expression["type"] == "CONJUNCTION_AND":
        for part in expression["children"]:
            yield from _compared(part)
    elif expression["type"] == "COMPARE_EQUAL":
        yield from _pair(*(expression.get("children") or (expression["left"], expression["right"])))


def _pair(left: Node, right: Node) -> Iterator[tuple[int, int]]:
    """Yield the positions of two expressions, if both are columns."""
    first, second = _position(left), _position(right)
    if first is not None and second is not None:
        yield first, second


def _equalities(
    first: Branch, second: Branch, pairs: Iterable[tuple[int, int]], is_mutual: bool = True
) -> Iterator[Equality]:
    """Yield the columns of two branches that are equal, by their positions."""
    for i, j in pairs:
        a, b = first.columns[i], second.columns[j]
        if a is not None and b is not None:
            yield Equality(a, b, is_mutual)
