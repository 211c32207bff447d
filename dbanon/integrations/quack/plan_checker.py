"""The second check of a reader's statement: DuckDB plans it on an instance that has only the published tables.

It shares no code with `dbanon.integrations.quack.statement_checker`, which checks the parsed tree. Here the text is
bound, without being run, by an instance in memory with empty tables of the published names and types. The plan may
consist of known operators, known expressions and known functions, and may scan published tables only. Either check
alone refuses.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import duckdb

from dbanon import errors
from dbanon.integrations.quack import function_allowlist
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions import scalar_functions

RELEASE_LIST = (SCHEMA, "served")
"""The list of releases, which `releases()` and `certificate()` read."""

_UNREADABLE_TABLES = ("permitted", "release_request")
"""Tables of sql/integrations/quack/published_tables.sql that no reader may read; the instance lacks them."""


OPERATORS = function_allowlist.words(
    """
    AGGREGATE_AND_GROUP_BY ANY_JOIN ASOF_JOIN CHUNK_GET COMPARISON_JOIN CROSS_PRODUCT CTE_REF DELIM_GET DELIM_JOIN
    DEPENDENT_JOIN DISTINCT DUMMY_SCAN EMPTY_RESULT EXCEPT EXPRESSION_GET FILTER GET INTERSECT LIMIT MATERIALIZED_CTE
    ORDER_BY POSITIONAL_JOIN PROJECTION TOP_N UNION UNNEST WINDOW
    """
)
"""Operators of logical plans; CHUNK_GET has what DESCRIBE returns."""

EXPRESSIONS = function_allowlist.words(
    """
    BOUND_AGGREGATE BOUND_BETWEEN BOUND_CASE BOUND_CAST BOUND_COLUMN_REF BOUND_COMPARISON BOUND_CONJUNCTION
    BOUND_CONSTANT BOUND_FUNCTION BOUND_LAMBDA BOUND_LAMBDA_REF BOUND_OPERATOR BOUND_REF BOUND_UNNEST BOUND_WINDOW
    """
)

BINDER_FUNCTIONS = ("error", "list_aggr")
"""Functions that DuckDB adds when it binds: `error` for a scalar subquery with several rows, `list_aggr` for
`list_avg` and others.
"""

_BINDING_ERRORS = {
    "binder": duckdb.BinderException,
    "conversion": duckdb.ConversionException,
    "invalid input": duckdb.InvalidInputException,
    "invalid type": duckdb.InvalidTypeException,
    "mismatch type": duckdb.TypeMismatchException,
    "not implemented": duckdb.NotImplementedException,
    "out of range": duckdb.OutOfRangeException,
}
"""Mistakes in a statement, which are reported with DuckDB's message."""

TableColumns = Mapping[tuple[str, str], Mapping[str, str]]
"""Names and types of the columns of each table, by schema and name."""


class PlanChecker:
    """A DuckDB instance in memory with the published tables, but without rows, that plans readers' statements."""

    def __init__(self, tables: TableColumns, functions: Collection[str], config: Mapping[str, Any]) -> None:
        """Create the empty tables.

        Args:
            tables: Names and types of the columns of each published table, by schema and name.
            functions: Functions that are allowed in addition to the allowlist.
            config: Settings of the DuckDB instance.
        """
        self.tables = frozenset({*tables, RELEASE_LIST})
        self.functions = function_allowlist.FUNCTIONS | set(functions)
        self._connection: Any = duckdb.connect(":memory:", config=dict(config))
        for statement in _schema_statements(tables):
            self._connection.execute(statement)
        self._connection.execute("SET lock_configuration = true")

    def cursor(self) -> Any:
        """Return a cursor in a read-only transaction, for one check; the caller closes it."""
        cursor = self._connection.cursor()
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        return cursor

    def check(self, cursor: Any, statement: str) -> None:
        """Raise an error if a statement, parsed and planned by DuckDB, contains anything that is not allowed.

        Args:
            cursor: A connection of `cursor()`.
            statement: The text of the statement.

        Raises:
            ReaderStatementRefusedError: The text is not exactly one SELECT without parameters, or its plan is not
                allowed.
            duckdb.Error: The statement does not bind, for example for an unknown column.
        """
        statements = cursor.extract_statements(statement)
        _require(len(statements) == 1, f"{len(statements)} statements in one")
        is_select = statements[0].type == duckdb.StatementType.SELECT
        _require(is_select and not statements[0].named_parameters, "A statement that is no SELECT, or has parameters")
        self._check_names(list(_nodes(_serialize(cursor, "json_serialize_sql", statement)["statements"])))
        plans = _serialize(cursor, "json_serialize_plan", statement)["plans"]
        _require(len(plans) == 1, "A statement with several plans")
        for node in _nodes(plans):
            self._check_node(node)

    def _check_names(self, nodes: Collection[Mapping[str, Any]]) -> None:
        """Raise ReaderStatementRefusedError if a function or table named in the parsed tree is not allowed.

        `nodes` are all dictionaries in the tree. The plan does not suffice: DuckDB omits some expressions from it, such
        as ORDER BY in a table function, or replaces them by their value.
        """
        ctes = {str(node["key"]).lower() for node in nodes if set(node) == {"key", "value"}}
        for node in nodes:
            if isinstance(function := node.get("function_name"), str):
                _require(function.lower() in self.functions, "The function", function)
            if node.get("type") == "BASE_TABLE":
                schema, name = str(node["schema_name"]).lower(), str(node["table_name"]).lower()
                is_known = (schema or "main", name) in self.tables or (not schema and name in ctes)
                _require(is_known, "The table", name)

    def check_serialized(self, cursor: Any, statement: str) -> None:
        """Plan a statement with a serialized tree (a call of json_execute_serialized_sql), without running it.

        Errors of DuckDB other than for unknown names are raised unchanged.

        Args:
            cursor: A connection of `cursor()`.
            statement: The text of the statement.

        Raises:
            ReaderStatementRefusedError: It has an unknown table or function.
        """
        try:
            cursor.execute(f"EXPLAIN {statement}").fetchall()
        except duckdb.CatalogException:
            raise errors.ReaderStatementRefusedError(
                "A name that is not among the published tables and functions"
            ) from None

    def _check_node(self, node: Mapping[str, Any]) -> None:
        """Raise ReaderStatementRefusedError if a plan's node is an operator, expression or function not allowed."""
        kind = node.get("type")
        if isinstance(kind, str) and kind.startswith("LOGICAL_"):
            _require(kind.removeprefix("LOGICAL_") in OPERATORS, "The plan operator", kind)
            if kind == "LOGICAL_GET":
                self._check_scan(node)
                return
        expression = node.get("expression_class")
        _require(expression is None or expression in EXPRESSIONS, "The expression", str(expression))
        name = node.get("name")
        if expression in ("BOUND_FUNCTION", "BOUND_AGGREGATE", "BOUND_WINDOW") and name:
            _require(name in self.functions or name in BINDER_FUNCTIONS, "The function", str(name))
            _require(node.get("catalog_name", "") in ("", "system"), "A function of another database")
        _require(node.get("sample_options") is None, "A sample")

    def _check_scan(self, node: Mapping[str, Any]) -> None:
        """Raise ReaderStatementRefusedError unless a scan reads a published table, or a list in a call of `unnest`.

        Samples are refused.
        """
        extra = node.get("extra_info") or {}
        _require(extra.get("sample_options") is None, "A sample")
        if node["name"] == "unnest":
            return
        _require(node["name"] == "seq_scan", "The table function", str(node["name"]))
        table = node["function_data"]
        place = (str(table["schema"]).lower(), str(table["table"]).lower())
        is_published = table["catalog"] == "memory" and place in self.tables and not table["is_create_index"]
        _require(is_published, "The table", place[1])


def _schema_statements(tables: TableColumns) -> Iterator[Sql]:
    """Yield the statements that create the published tables without rows, and the scalar functions for readers."""
    schemas = {SCHEMA, *(schema for schema, _ in tables)}
    yield from (Sql(f"CREATE SCHEMA IF NOT EXISTS {identifier(schema)}") for schema in sorted(schemas))
    for place, columns in tables.items():
        types = join_sql(f"{identifier(name)} {type_}" for name, type_ in columns.items())
        yield Sql(f"CREATE TABLE {qualified(*place)} ({types})")
    yield from (
        Sql(statement) for statement in fill("integrations/quack/published_tables.sql").split(";") if statement.strip()
    )
    yield from (Sql(f"DROP TABLE {qualified(SCHEMA, name)}") for name in _UNREADABLE_TABLES)
    yield from scalar_functions.macro_statements("", excluded_arguments=("hierarchy",))


def _serialize(cursor: Any, function: str, statement: str) -> dict[str, Any]:
    """Call json_serialize_sql or json_serialize_plan (`function`) on a statement and return the result as a dictionary.

    Raises:
        ReaderStatementRefusedError: The statement is nested too deeply or cannot be planned.
        duckdb.Error: The statement has a mistake.
    """
    try:
        result = json.loads(cursor.execute(f"SELECT {function}({text(statement)})").fetchall()[0][0])
    except RecursionError:
        raise errors.ReaderStatementRefusedError("A statement whose plan is nested too deeply") from None
    if result["error"]:
        error = _BINDING_ERRORS.get(str(result.get("error_type")))
        if error is None:
            raise errors.ReaderStatementRefusedError("A statement that cannot be planned over the published tables")
        raise error(str(result.get("error_message")))
    return dict(result)


def _nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """Yield every dictionary in a serialized plan or tree, at any depth, in no defined order."""
    pending = [plan]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def _require(is_allowed: bool, reason: str, name: str = "") -> None:
    """Raise ReaderStatementRefusedError with the reason and the shortened name, unless `is_allowed`.

    The check of the parsed tree has a function of its own, as both checks share no code.
    """
    if not is_allowed:
        raise errors.ReaderStatementRefusedError(reason, name and repr(name[:60]))
