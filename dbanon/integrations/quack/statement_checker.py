"""Check a reader's statement: everything in its parsed tree must be in lists of what is allowed.

DuckDB parses the statement and returns its tree (`json_serialize_sql`, which supports only SELECT). Every node must be
of a known kind with known fields and no others, every function and type must be named in
`dbanon.integrations.quack.function_allowlist`, every table must be published or a CTE that is in scope. The statement
that runs is made from the checked tree, not from the text. The tree does not show what macros and views do: the served
database has only dbanon's.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.integrations.quack import call_rewriter, function_allowlist
from dbanon.integrations.quack.call_rewriter import CallRewriter
from dbanon.integrations.quack.function_allowlist import require
from dbanon.sqltext.quote import Sql, text
from dbanon.sqltext.tokenizer import code_tokens

MAX_CHARACTERS = 100_000
"""Largest length of a statement."""
MAX_DEPTH = 200
"""Largest depth of nested nodes of a statement."""
_NESTED_TOO_DEEPLY = f"A statement that is nested more than {MAX_DEPTH} times"

TABLE_FUNCTIONS = ("releases", "certificate", "unnest")
"""Table functions in addition to those of dbanon.integrations.quack.call_rewriter."""

_STATEMENTS = frozenset(
    """
    ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMENT COMMIT COPY CREATE DEALLOCATE DELETE DETACH DROP EXECUTE EXPLAIN
    EXPORT IMPORT INSERT INSTALL LOAD MERGE PIVOT PRAGMA PREPARE REINDEX RESET ROLLBACK SET TRUNCATE UNPIVOT UPDATE USE
    VACUUM
    """.split()  # noqa: SIM905
)

QueryRunner = Callable[[str, list[object]], Any]
"""Runs a statement with values and returns the first value of its result."""


@dataclass(frozen=True)
class CheckedStatement:
    """A statement that has passed the check and may run.

    Attributes:
        statement: The SQL to run; it may call json_execute_serialized_sql on the parsed tree.
        text: The statement as plain SQL.
    """

    statement: Sql
    text: Sql


def check_statement(
    statement: str,
    run_query: QueryRunner,
    tables: Collection[tuple[str, str]],
    functions: Collection[str],
    rewriter: CallRewriter = call_rewriter.NO_CALLS,
) -> CheckedStatement:
    """Check a reader's statement and return the statement to run, which is rebuilt from the checked tree.

    Args:
        statement: The reader's statement.
        run_query: Runs a query on DuckDB.
        tables: Schemas and names of the published tables, in lower case.
        functions: Functions that may be called in addition to DuckDB's.
        rewriter: Replaces calls of algorithms by tables of releases, after everything else is known to be allowed.

    Raises:
        ReaderStatementRefusedError: Something in the statement is not allowed.
    """
    is_short = len(statement) <= MAX_CHARACTERS
    require(is_short, f"A statement of {len(statement)} characters (at most {MAX_CHARACTERS})")
    require("\0" not in statement, "A statement with a NUL character")
    tree = _parse_tree(statement, run_query)
    checker = _TreeChecker(tables, function_allowlist.FUNCTIONS | set(functions))
    checker.check(tree)
    for node in checker.release_calls:
        rewriter.replace_call(node, lambda query: _parse_tree(query, run_query)["statements"][0])
    tree_literal = text(json.dumps(tree))
    rebuilt = Sql(run_query(f"SELECT json_deserialize_sql({tree_literal})", []))
    # The text keeps the column names of the statement. If it does not parse to the same tree, the tree itself runs.
    if _without_locations(_parse_tree(rebuilt, run_query)) != _without_locations(tree):
        return CheckedStatement(Sql(f"FROM json_execute_serialized_sql({tree_literal})"), rebuilt)
    return CheckedStatement(rebuilt, rebuilt)


def called_functions(statement: str, run_query: QueryRunner) -> list[str]:
    """Return the sorted names of known functions that a statement calls, for the log.

    Known are DuckDB's functions and dbanon's algorithms. Empty if the statement is no SELECT or cannot be parsed.
    """
    try:
        names = set(_function_names(_parse_tree(statement[:MAX_CHARACTERS], run_query)))
    except errors.ReaderStatementRefusedError:
        return []
    query = "SELECT list(DISTINCT function_name) FROM duckdb_functions() WHERE list_contains(?, lower(function_name))"
    return sorted({*(run_query(query, [sorted(names)]) or []), *filter(call_rewriter.is_rewritten, names)})


def _function_names(node: Any) -> Iterator[str]:
    """Yield the lower-case names of the functions that a parsed tree calls."""
    if isinstance(node, dict):
        if isinstance(name := node.get("function_name"), str):
            yield name.lower()
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _function_names(child)


def _parse_tree(statement: str, run_query: QueryRunner) -> dict[str, Any]:
    """Return DuckDB's parsed tree of one SELECT statement, as nested dictionaries and lists.

    Raises:
        ReaderStatementRefusedError: It cannot be parsed, is no SELECT, or there are several.
    """
    try:
        tree = json.loads(run_query("SELECT json_serialize_sql(?)", [statement]))
    except RecursionError:
        raise errors.ReaderStatementRefusedError(_NESTED_TOO_DEEPLY) from None
    if tree["error"]:
        message = str(tree.get("error_message", "")).split("\n")[0]
        if tree.get("error_type") == "parser":
            raise errors.ReaderStatementRefusedError("A statement that cannot be parsed", f"({message})")
        raise errors.ReaderStatementRefusedError(f"{_statement_kind(statement)}, which is no SELECT")
    require(len(tree["statements"]) == 1, f"{len(tree['statements'])} statements in one")
    return dict(tree)


def _statement_kind(statement: str) -> str:
    """Return the first word of a statement in upper case if it begins a SQL statement, else "A statement".

    For messages.
    """
    word = next((token.upper for token in code_tokens(statement)), "")
    return word if word in _STATEMENTS else "A statement"


def _without_locations(node: Any) -> Any:
    """Return a copy of a parsed tree without the fields that have positions in the text."""
    if isinstance(node, dict):
        return {name: _without_locations(value) for name, value in node.items() if name != "query_location"}
    return [_without_locations(child) for child in node] if isinstance(node, list) else node


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
_UNTYPED_NODES = {
    frozenset(["node", "named_param_map"]),
    frozenset(["map"]),
    frozenset(["then_expr", "when_expr"]),
    frozenset(["key", "value"]),
    frozenset(["catalog", "schema", "table", "column"]),
}
"""Fields of nodes without a kind: a query, its CTEs, a case, a replaced or renamed column, the column itself."""
_OPERATORS = frozenset(
    """
    ARRAY_CONSTRUCTOR ARRAY_EXTRACT ARRAY_SLICE COMPARE_IN COMPARE_NOT_IN GROUPING_FUNCTION OPERATOR_COALESCE
    OPERATOR_IS_NOT_NULL OPERATOR_IS_NULL OPERATOR_NOT OPERATOR_TRY OPERATOR_UNPACK STRUCT_EXTRACT
    """.split()  # noqa: SIM905
)
_TYPE_FIELDS = frozenset(
    "type alias extension_info name catalog schema user_type_modifiers width scale size child_type child_types".split()  # noqa: SIM905
)
_CTE_FIELDS = frozenset(["aliases", "query", "materialized", "key_targets"])
_NULL_FIELDS = ("sample", "at_clause")
_NODE_FIELDS = {kind: frozenset(fields.split()) for kind, fields in _FIELDS.items()}
_EXPRESSION_FIELDS = {kind: frozenset(f"{_EXPRESSION} {fields}".split()) for kind, fields in _CLASSES.items()}


@dataclass
class _TreeChecker:
    """The check of the parsed tree of one statement.

    Its methods raise ReaderStatementRefusedError if something is not allowed.

    Attributes:
        tables: (schema, name) of the published tables, in lower case.
        functions: Names of the functions that may be called.
        release_calls: Nodes of table functions that request a release.
    """

    tables: Collection[tuple[str, str]]
    functions: Collection[str]
    release_calls: list[dict[str, Any]] = field(default_factory=list)

    def check(self, tree: Mapping[str, Any]) -> None:
        """Check the whole tree, and fill `release_calls`.

        Raises:
            ReaderStatementRefusedError: Something in the tree is not allowed.
        """
        require(set(tree) <= {"error", "statements"}, "A statement of an unknown form")
        self._check_query(tree["statements"][0], frozenset(), 0)

    def _check_query(self, query: dict[str, Any], ctes: frozenset[str], depth: int) -> None:
        """Check a query or subquery.

        Raise ReaderStatementRefusedError if something in it is not allowed, such as a parameter.

        Args:
            query: The node of the query.
            ctes: The lower-case names of the CTEs in scope.
            depth: How deeply the node is nested in the tree.
        """
        require(not query["named_param_map"], "A parameter")
        self._check_node(query, ctes, depth + 1)

    def _visit(self, node: Any, ctes: frozenset[str], depth: int) -> None:
        """Check a dictionary (a node), or each element of a list; other values need no check.

        Args:
            node: The value of a field of the tree.
            ctes: The lower-case names of the CTEs in scope.
            depth: How deeply the value is nested in the tree.

        Raises:
            ReaderStatementRefusedError: Something in it is not allowed, or the depth is MAX_DEPTH.
        """
        require(depth < MAX_DEPTH, _NESTED_TOO_DEEPLY)
        if isinstance(node, list):
            for child in node:
                self._visit(child, ctes, depth + 1)
        elif isinstance(node, dict):
            self._check_node(node, ctes, depth + 1)

    def _check_node(self, node: dict[str, Any], ctes: frozenset[str], depth: int) -> None:
        """Check one node of the tree and, recursively, the nodes in its fields.

        Raise ReaderStatementRefusedError if one fails.

        The kind of the node (its `class` or `type`), and every field of it, must be known.

        Args:
            node: The node.
            ctes: The lower-case names of the CTEs in scope.
            depth: How deeply the node is nested in the tree.
        """
        if isinstance(kind := node.get("class"), str):
            self._check_fields(node, _EXPRESSION_FIELDS, kind)
            visited_fields = self._check_expression(kind, node)
        elif isinstance(kind := node.get("type"), str):
            self._check_fields(node, _NODE_FIELDS, kind)
            visited_fields = self._check_relation(kind, node, ctes, depth)
        else:
            require(frozenset(node) in _UNTYPED_NODES, "A statement of an unknown form")
            visited_fields = ()
        if "cte_map" in node:
            ctes = self._check_ctes(node["cte_map"], ctes, depth)
            visited_fields = (*visited_fields, "cte_map")
        for name, value in node.items():
            if name not in visited_fields:
                self._visit(value, ctes, depth + 1)

    def _check_fields(self, node: Mapping[str, Any], kinds: Mapping[str, frozenset[str]], kind: str) -> None:
        """Check that a node's kind and all of its fields are known, and that it has no sample and no AT clause.

        ReaderStatementRefusedError otherwise.

        Args:
            node: The node.
            kinds: The allowed fields by kind of node.
            kind: The node's kind.
        """
        kind_label = kind.removesuffix("_NODE").replace("_", " ").lower()
        require(kind in kinds and set(node) <= kinds[kind], f"'{kind_label}'")
        for name in _NULL_FIELDS:
            require(node.get(name) is None, f"'{name.removesuffix('_clause')}'")

    def _check_ctes(self, cte_map: dict[str, Any], ctes: frozenset[str], depth: int) -> frozenset[str]:
        """Check a WITH clause and return the names of the CTEs in scope after it, in lower case.

        Each of its queries may use the CTEs before it; recursive ones are refused.

        Args:
            cte_map: The node of the WITH clause.
            ctes: The lower-case names of the CTEs in scope before it, which are in the result, too.
            depth: How deeply the node is nested in the tree.
        """
        require(set(cte_map) == {"map"}, "A CTE of an unknown form")
        for entry in cte_map["map"]:
            value = entry["value"]
            known_form = set(entry) == {"key", "value"} and set(value) <= _CTE_FIELDS
            require(known_form, "A CTE of an unknown form")
            require(not value["key_targets"], "A recursive CTE")
            self._check_query(value["query"], ctes, depth + 1)
            ctes |= {entry["key"].lower()}
        return ctes

    def _check_expression(self, kind: str, node: Mapping[str, Any]) -> tuple[str, ...]:
        """Check an expression's function, operator, type, collation or literal.

        Returns the names of the fields that need no further visit.
        """
        if kind in ("FUNCTION", "WINDOW"):
            name = node["function_name"].lower()
            require(not node["catalog"] and node["schema"] in ("", "main"), "A function with the name of its schema")
            require(name in self.functions, "The function", name)
        if kind == "CAST":
            self._check_type(node["cast_type"])
            return ("cast_type",)
        if kind == "OPERATOR":
            require(node["type"] in _OPERATORS, "An unknown operator")
        if kind == "COLLATE":
            require(node["collation"].lower() in ("nocase", "noaccent", "nfc", "binary", "posix"), "A collation")
        if kind == "CONSTANT":
            self._check_constant(node["value"])
        return ("value",) if kind == "CONSTANT" else ()

    def _check_constant(self, value: Any) -> None:
        """Check the node of a literal: its type must be allowed, and its value a scalar or a dictionary of scalars."""
        require(isinstance(value, dict) and set(value) <= {"type", "is_null", "value"}, "A literal of an unknown form")
        self._check_type(value["type"])
        content = value.get("value")
        parts = content.values() if isinstance(content, dict) else [content]
        require(not any(isinstance(part, dict | list) for part in parts), "A literal of an unknown form")

    def _check_relation(self, kind: str, node: dict[str, Any], ctes: frozenset[str], depth: int) -> tuple[str, ...]:
        """Check an element of FROM; a table must be published or a CTE in scope.

        ReaderStatementRefusedError otherwise, and for VALUES with types, SHOW and DESCRIBE of a table. Elements of
        other kinds pass: their fields are checked separately.

        Args:
            kind: The node's type, such as BASE_TABLE or JOIN.
            node: The node.
            ctes: The lower-case names of the CTEs in scope.
            depth: How deeply the node is nested in the tree.

        Returns:
            The names of the fields that need no further check.
        """
        if kind == "BASE_TABLE":
            schema, name = node["schema_name"].lower(), node["table_name"].lower()
            is_known = (schema or "main", name) in self.tables or (not schema and name in ctes)
            require(is_known and not node["catalog_name"], "The table", name)
        elif kind == "TABLE_FUNCTION":
            return self._check_table_function(node, ctes, depth)
        elif kind == "SHOW_REF":
            is_query = node["show_type"] in ("DESCRIBE", "SUMMARY") and node["query"] is not None
            has_name = node["table_name"] or node["schema_name"] or node["catalog_name"]
            require(is_query and not has_name, "SHOW")
        elif kind == "EXPRESSION_LIST":
            require(not node["expected_types"], "VALUES with types")
        return ()

    def _check_table_function(self, node: dict[str, Any], ctes: frozenset[str], depth: int) -> tuple[str, ...]:
        """Check a table function in FROM and the arguments of its call; return the names of the fields already visited.

        Allowed are those of TABLE_FUNCTIONS, and calls of algorithms and `permissions`. The latter are added to
        `release_calls`; their arguments are checked later by `dbanon.integrations.quack.call_rewriter`, which accepts
        literals only.

        Args:
            node: The node of the table function.
            ctes: The lower-case names of the CTEs in scope.
            depth: How deeply the node is nested in the tree.

        Raises:
            ReaderStatementRefusedError: The function, or something in its call, is not allowed.
        """
        function = node["function"]
        require(function.get("class") == "FUNCTION", "A table function of an unknown form")
        self._check_fields(function, _EXPRESSION_FIELDS, "FUNCTION")
        name = str(function["function_name"]).lower()
        is_release = call_rewriter.is_rewritten(name)
        require(is_release or name in TABLE_FUNCTIONS, "The table function", name)
        require(not function["schema"] and not function["catalog"], "A function with the name of its schema")
        require(node["with_ordinality"] == "WITHOUT_ORDINALITY", "'with ordinality'")
        order = (function["order_bys"] or {}).get("orders")
        extras = [order, function["filter"], function["distinct"], function["export_state"]]
        require(not any(extras), "A table function with ORDER BY, FILTER or DISTINCT")
        if is_release:
            self.release_calls.append(node)
        else:
            self._visit(function["children"], ctes, depth + 1)
        return ("function",)

    def _check_type(self, node: Mapping[str, Any] | None) -> None:
        """Check the type of a cast or literal, and the types of its elements or fields."""
        require(isinstance(node, dict) and set(node) == {"id", "type_info"}, "A type of an unknown form")
        name, type_info = str((node or {})["id"]).lower(), (node or {})["type_info"] or {}
        require(set(type_info) <= _TYPE_FIELDS and not type_info.get("extension_info"), "A type of an unknown form")
        if name == "unbound":
            require(not type_info.get("catalog") and not type_info.get("schema"), "A type with the name of its schema")
            name = str(type_info.get("name", "")).lower()
        require(name in function_allowlist.TYPES, "The type", name)
        inner = [type_info.get("child_type")] + [pair["second"] for pair in type_info.get("child_types", ())]
        for part in inner:
            if part is not None:
                self._check_type(part)
