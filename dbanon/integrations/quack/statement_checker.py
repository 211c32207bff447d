"""What a reader may ask, decided on the parsed statement and by lists of what is allowed.

DuckDB parses the statement and gives its tree (`json_serialize_sql`, which knows SELECT alone). Every node must be of a
known kind with known fields and no others, every function and type must be named in
`dbanon.integrations.quack.function_allowlist`, every table must be published or a CTE that is in scope. What then runs
is made from the tree that was checked, not from the text. The tree does not show what macros and views do: the served
database has only our own.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.integrations.quack import call_rewriter, function_allowlist
from dbanon.integrations.quack.call_rewriter import Asks
from dbanon.sqltext.quote import Sql, text
from dbanon.sqltext.tokenizer import code_tokens

LONGEST = 100_000
"""Characters of a statement."""
DEEPEST = 200
"""Nested nodes of a statement."""
_NESTED = f"A statement that is nested more than {DEEPEST} times"

TABLE_FUNCTIONS = ("releases", "certificate", "unnest")
"""Beside those of dbanon.integrations.quack.call_rewriter."""

_STATEMENTS = frozenset(
    """
    ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMENT COMMIT COPY CREATE DEALLOCATE DELETE DETACH DROP EXECUTE EXPLAIN
    EXPORT IMPORT INSERT INSTALL LOAD MERGE PIVOT PRAGMA PREPARE REINDEX RESET ROLLBACK SET TRUNCATE UNPIVOT UPDATE USE
    VACUUM
    """.split()  # noqa: SIM905
)

Read = Callable[[str, list[object]], Any]
"""Runs a statement with values and gives the first value of its answer."""


@dataclass(frozen=True)
class Checked:
    """A statement that may run, the same as text (`statement` can contain a serialized tree), and its functions."""

    statement: Sql
    text: Sql
    functions: tuple[str, ...]


def checked(
    statement: str,
    read: Read,
    tables: Collection[tuple[str, str]],
    functions: Collection[str],
    asks: Asks = call_rewriter.NOTHING,
) -> Checked:
    """What a reader's statement runs; ReaderStatementRefusedError.

    `tables` are schemas and names in lower case, `functions` those that may be called beside DuckDB's. Calls of
    algorithms become the tables of releases, as `asks` has them: once all else of the statement is known to be allowed.
    """
    if len(statement) > LONGEST:
        raise errors.ReaderStatementRefusedError(f"A statement of {len(statement)} characters (at most {LONGEST})")
    if "\0" in statement:
        raise errors.ReaderStatementRefusedError("A statement with a NUL character")
    tree = _tree(statement, read)
    checker = _Checker(tables, function_allowlist.FUNCTIONS | set(functions))
    checker.statement(tree)
    for node in checker.asking:
        asks.answer(node, lambda query: _tree(query, read)["statements"][0])
    written = text(json.dumps(tree))
    again = Sql(read(f"SELECT json_deserialize_sql({written})", []))
    # The text names columns as they were asked for; where it does not read back as the tree, the tree itself runs.
    if _bare(_tree(again, read)) != _bare(tree):
        return Checked(Sql(f"FROM json_execute_serialized_sql({written})"), again, tuple(sorted(checker.called)))
    return Checked(again, again, tuple(sorted(checker.called)))


def called(statement: str, read: Read) -> list[str]:
    """The functions that DuckDB has under the names that a statement calls, and our algorithms, for the log; none where
    it is no SELECT."""
    try:
        names = set(_names(_tree(statement[:LONGEST], read)))
    except errors.ReaderStatementRefusedError:
        return []
    own = "SELECT list(DISTINCT function_name) FROM duckdb_functions() WHERE list_contains(?, lower(function_name))"
    return sorted({*(read(own, [sorted(names)]) or []), *filter(call_rewriter.asks, names)})


def _names(node: Any) -> Iterator[str]:
    """Yield names of functions in a tree."""
    if isinstance(node, dict):
        if isinstance(name := node.get("function_name"), str):
            yield name.lower()
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _names(item)


def _tree(statement: str, read: Read) -> dict[str, Any]:
    """Return the tree of one statement.

    ReaderStatementRefusedError where it is none, another one than SELECT, or several.
    """
    try:
        tree = json.loads(read("SELECT json_serialize_sql(?)", [statement]))
    except RecursionError:
        raise errors.ReaderStatementRefusedError(_NESTED) from None
    if tree["error"]:
        said = str(tree.get("error_message", "")).split("\n")[0]
        if tree.get("error_type") == "parser":
            raise errors.ReaderStatementRefusedError("What cannot be parsed", f"({said})")
        raise errors.ReaderStatementRefusedError(f"{_kind(statement)}, which is no SELECT")
    if len(tree["statements"]) != 1:
        raise errors.ReaderStatementRefusedError(f"{len(tree['statements'])} statements in one")
    return dict(tree)


def _kind(statement: str) -> str:
    """Return the first word of a statement, where it is one of SQL's."""
    word = next((token.upper for token in code_tokens(statement)), "")
    return word if word in _STATEMENTS else "A statement"


def _bare(node: Any) -> Any:
    """Return a tree without places in the text."""
    if isinstance(node, dict):
        return {name: _bare(value) for name, value in node.items() if name != "query_location"}
    return [_bare(item) for item in node] if isinstance(node, list) else node


_NODE = "type modifiers cte_map"
_REF = "type alias sample query_location"
_EXPRESSION = "class type alias query_location"

_FIELDS = {
    "SELECT_NODE": f"{_NODE} select_list from_table where_clause group_expressions group_sets aggregate_handling "
    "having sample qualify",
    "SET_OPERATION_NODE": f"{_NODE} setop_type setop_all left right",
    "ORDER_MODIFIER": "type orders",
    "LIMIT_MODIFIER": "type limit offset",
    "LIMIT_PERCENT_MODIFIER": "type limit offset",
    "DISTINCT_MODIFIER": "type distinct_on_targets",
    "ASCENDING": "type null_order expression",
    "DESCENDING": "type null_order expression",
    "ORDER_DEFAULT": "type null_order expression",
    "BASE_TABLE": f"{_REF} schema_name table_name column_name_alias catalog_name at_clause",
    "EMPTY": _REF,
    "SUBQUERY": f"{_REF} subquery column_name_alias",
    "JOIN": f"{_REF} condition left right join_type ref_type using_columns delim_flipped duplicate_eliminated_columns",
    "EXPRESSION_LIST": f"{_REF} expected_names expected_types values",
    "TABLE_FUNCTION": f"{_REF} function column_name_alias with_ordinality",
    "SHOW_REF": f"{_REF} table_name query show_type catalog_name schema_name",
}
_CLASSES = {
    "BETWEEN": "input lower upper",
    "CASE": "case_checks else_expr",
    "CAST": "child cast_type try_cast",
    "COLLATE": "child collation",
    "COLUMN_REF": "column_names",
    "COMPARISON": "left right",
    "CONJUNCTION": "children",
    "CONSTANT": "value",
    "FUNCTION": "function_name schema children filter order_bys distinct is_operator export_state catalog",
    "LAMBDA": "lhs expr",
    "OPERATOR": "children",
    "POSITIONAL_REFERENCE": "index",
    "STAR": "relation_name exclude_list replace_list columns expr qualified_exclude_list rename_list",
    "SUBQUERY": "subquery_type subquery child comparison_type",
    "WINDOW": "function_name schema catalog children partitions orders start end start_expr end_expr offset_expr "
    "default_expr ignore_nulls filter_expr exclude_clause distinct arg_orders",
}
_PLAIN = {
    frozenset(["node", "named_param_map"]),
    frozenset(["map"]),
    frozenset(["then_expr", "when_expr"]),
    frozenset(["key", "value"]),
    frozenset(["catalog", "schema", "table", "column"]),
}
"""Nodes without a kind: a query, its CTEs, a case, a replaced or renamed column, the column itself."""
_OPERATORS = frozenset(
    """
    ARRAY_CONSTRUCTOR ARRAY_EXTRACT ARRAY_SLICE COMPARE_IN COMPARE_NOT_IN GROUPING_FUNCTION OPERATOR_COALESCE
    OPERATOR_IS_NOT_NULL OPERATOR_IS_NULL OPERATOR_NOT OPERATOR_TRY OPERATOR_UNPACK STRUCT_EXTRACT
    """.split()  # noqa: SIM905
)
_TYPE_INFO = frozenset(
    "type alias extension_info name catalog schema user_type_modifiers width scale size child_type child_types".split()  # noqa: SIM905
)
_CTE = frozenset(["aliases", "query", "materialized", "key_targets"])
_NO_SETTINGS = ("sample", "at_clause")
_KINDS = {kind: frozenset(fields.split()) for kind, fields in _FIELDS.items()}
_EXPRESSIONS = {kind: frozenset(f"{_EXPRESSION} {fields}".split()) for kind, fields in _CLASSES.items()}


@dataclass
class _Checker:
    """Goes through the tree of one statement; `called` are the functions that it has met, `asking` those in FROM that
    ask for a release."""

    tables: Collection[tuple[str, str]]
    functions: Collection[str]
    called: set[str] = field(default_factory=set)
    asking: list[dict[str, Any]] = field(default_factory=list)

    def statement(self, tree: Mapping[str, Any]) -> None:
        """ReaderStatementRefusedError where anything of a statement is not allowed."""
        self._is(set(tree) <= {"error", "statements"}, "A statement of an unknown form")
        self._query(tree["statements"][0], frozenset(), 0)

    def _query(self, query: dict[str, Any], ctes: frozenset[str], depth: int) -> None:
        """A query of any kind, with the names of the CTEs that it sees."""
        self._is(not query["named_param_map"], "A parameter")
        self._node(query, ctes, depth + 1)

    def _visit(self, node: Any, ctes: frozenset[str], depth: int) -> None:
        self._is(depth < DEEPEST, _NESTED)
        if isinstance(node, list):
            for item in node:
                self._visit(item, ctes, depth + 1)
        elif isinstance(node, dict):
            self._node(node, ctes, depth + 1)

    def _node(self, node: dict[str, Any], ctes: frozenset[str], depth: int) -> None:
        if isinstance(kind := node.get("class"), str):
            self._fields(node, _EXPRESSIONS, kind)
            ends = self._expression(kind, node)
        elif isinstance(kind := node.get("type"), str):
            self._fields(node, _KINDS, kind)
            ends = self._relation(kind, node, ctes, depth)
        else:
            self._is(frozenset(node) in _PLAIN, "A form that is not known")
            ends = ()
        if "cte_map" in node:
            ctes = self._ctes(node["cte_map"], ctes, depth)
            ends = (*ends, "cte_map")
        for name, value in node.items():
            if name not in ends:
                self._visit(value, ctes, depth + 1)

    def _fields(self, node: Mapping[str, Any], kinds: Mapping[str, frozenset[str]], kind: str) -> None:
        """Every kind of node, and each of its fields, must be known."""
        shown = kind.removesuffix("_NODE").replace("_", " ").lower()
        self._is(kind in kinds and set(node) <= kinds[kind], f"'{shown}'")
        for name in _NO_SETTINGS:
            self._is(node.get(name) is None, f"'{name.removesuffix('_clause')}'")

    def _ctes(self, cte_map: dict[str, Any], ctes: frozenset[str], depth: int) -> frozenset[str]:
        """Return the names that are in scope behind a WITH; each of its queries sees those before it."""
        self._is(set(cte_map) == {"map"}, "A CTE of an unknown form")
        for entry in cte_map["map"]:
            value = entry["value"]
            known_form = set(entry) == {"key", "value"} and set(value) <= _CTE
            self._is(known_form, "A CTE of an unknown form")
            self._is(not value["key_targets"], "A recursive CTE")
            self._query(value["query"], ctes, depth + 1)
            ctes |= {entry["key"].lower()}
        return ctes

    def _expression(self, kind: str, node: Mapping[str, Any]) -> tuple[str, ...]:
        """Check an expression; return the fields that need not be gone into."""
        if kind in ("FUNCTION", "WINDOW"):
            name = node["function_name"].lower()
            self._is(not node["catalog"] and node["schema"] in ("", "main"), "A function with the name of its schema")
            self._is(name in self.functions, "The function", name)
            self.called.add(name)
        if kind == "CAST":
            self._type(node["cast_type"])
            return ("cast_type",)
        if kind == "OPERATOR":
            self._is(node["type"] in _OPERATORS, "An operator that is not known")
        if kind == "COLLATE":
            self._is(node["collation"].lower() in ("nocase", "noaccent", "nfc", "binary"), "A collation")
        if kind == "CONSTANT":
            self._constant(node["value"])
        return ("value",) if kind == "CONSTANT" else ()

    def _constant(self, value: Any) -> None:
        """Check a literal: its type, and a text, number, or parts that are numbers."""
        self._is(isinstance(value, dict) and set(value) <= {"type", "is_null", "value"}, "A literal of an unknown form")
        self._type(value["type"])
        content = value.get("value")
        parts = content.values() if isinstance(content, dict) else [content]
        self._is(not any(isinstance(part, dict | list) for part in parts), "A literal of an unknown form")

    def _relation(self, kind: str, node: dict[str, Any], ctes: frozenset[str], depth: int) -> tuple[str, ...]:
        """Check what stands in FROM; return the fields that need not be gone into."""
        if kind == "BASE_TABLE":
            schema, name = node["schema_name"].lower(), node["table_name"].lower()
            found = (schema or "main", name) in self.tables or (not schema and name in ctes)
            self._is(found and not node["catalog_name"], "The table", name)
        elif kind == "TABLE_FUNCTION":
            return self._table_function(node, ctes, depth)
        elif kind == "SHOW_REF":
            asks = node["show_type"] in ("DESCRIBE", "SUMMARY") and node["query"] is not None
            named = node["table_name"] or node["schema_name"] or node["catalog_name"]
            self._is(asks and not named, "SHOW")
        elif kind == "EXPRESSION_LIST":
            self._is(not node["expected_types"], "VALUES with types")
        return ()

    def _table_function(self, node: dict[str, Any], ctes: frozenset[str], depth: int) -> tuple[str, ...]:
        """Check a table function and everything that its call contains; return the fields already visited.

        Arguments of algorithms are read by `dbanon.integrations.quack.call_rewriter`, which accepts literals only.
        """
        called = node["function"]
        self._is(called.get("class") == "FUNCTION", "A table function of an unknown form")
        self._fields(called, _EXPRESSIONS, "FUNCTION")
        name = str(called["function_name"]).lower()
        is_release = call_rewriter.asks(name)
        self._is(is_release or name in TABLE_FUNCTIONS, "The table function", name)
        self._is(not called["schema"] and not called["catalog"], "A function with the name of its schema")
        self._is(node["with_ordinality"] == "WITHOUT_ORDINALITY", "'with ordinality'")
        order = (called["order_bys"] or {}).get("orders")
        extras = [order, called["filter"], called["distinct"], called["export_state"]]
        self._is(not any(extras), "A table function with ORDER BY, FILTER or DISTINCT")
        self.called.add(name)
        if is_release:
            self.asking.append(node)
        else:
            self._visit(called["children"], ctes, depth + 1)
        return ("function",)

    def _type(self, node: Mapping[str, Any] | None) -> None:
        """A type that something is cast to, and what it is made of."""
        self._is(isinstance(node, dict) and set(node) == {"id", "type_info"}, "A type of an unknown form")
        name, info = str((node or {})["id"]).lower(), (node or {})["type_info"] or {}
        self._is(set(info) <= _TYPE_INFO and not info.get("extension_info"), "A type of an unknown form")
        if name == "unbound":
            self._is(not info.get("catalog") and not info.get("schema"), "A type with the name of its schema")
            name = str(info.get("name", "")).lower()
        self._is(name in function_allowlist.TYPES, "The type", name)
        inner = [info.get("child_type")] + [pair["second"] for pair in info.get("child_types", ())]
        for part in inner:
            if part is not None:
                self._type(part)

    def _is(self, fine: bool, what: str, name: str = "") -> None:
        if not fine:
            raise errors.ReaderStatementRefusedError(what, name and repr(name[:60]))
