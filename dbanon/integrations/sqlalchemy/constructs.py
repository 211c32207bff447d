"""SQL elements for SQLAlchemy's compiler: source names, `name := value` arguments, tables for query results."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import String, Table, bindparam, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import ClauseElement, ColumnElement, Executable, Select
from sqlalchemy.sql.visitors import InternalTraversal
from sqlalchemy.types import UserDefinedType

from dbanon.integrations.sqlalchemy.roles import Role
from dbanon.sqltext.quote import Sql, argument, identifier, join_sql, qualified, text

Declarations = Mapping[Table, Mapping[str, Role | None]]
"""Roles that the model declares for the columns of tables that a query reads; None for a column without a role."""


@dataclass(frozen=True)
class QueryModel:
    """The roles of a query to be anonymized, as the mapped classes and the call give them.

    Attributes:
        function: Name of the table function that is called.
        roles: Role of each column of the query, in order; None for a column without a role.
        published_roles: Role name of each column that the call publishes, by column.
        declared: Roles of the mapped columns that the query selects, by table and column.
    """

    function: str
    roles: Mapping[str, Role | None]
    published_roles: Mapping[str, str]
    declared: Declarations


class Argument(UserDefinedType[Any]):
    """The SQL type of a parameter's value: a scalar, list or mapping, rendered as a SQL literal."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Return the name of the type in SQL, JSON."""
        return "JSON"

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        """Return the function that renders a value as a literal."""
        return argument


def named_argument(name: str, value: object) -> ColumnElement[Any]:
    """Return the SQL element `name := value`, with the value as a bound parameter; a tuple becomes a list."""
    bound = bindparam(None, list(value) if isinstance(value, tuple) else value, type_=Argument(), unique=True)
    return literal_column(name).op(":=")(bound)


@dataclass(frozen=True)
class TableKey:
    """A table in an element's cache key, compared as a whole.

    SQLAlchemy would ask a plain table for the cache keys of its columns.
    """

    table: Table


class TableName(ColumnElement[str]):
    """A SQL element: the quoted name of a table as a string literal, with its schema after `schema_translate_map`."""

    __visit_name__ = "dbanon_table_name"
    _traverse_internals = [("target", InternalTraversal.dp_plain_obj)]  # noqa: RUF012

    def __init__(self, table: Table) -> None:
        """Create the element for a table."""
        self.target = TableKey(table)
        self.type = String()


@compiles(TableName)
def _compile_table_name(element: TableName, compiler: Any, **_: Any) -> str:
    """Return the SQL of a `TableName`."""
    return text(compiler.preparer.format_table(element.target.table))


_QUERY_NUMBERS = itertools.count(1)


class QueryName(ColumnElement[str]):
    """A SQL element: the name of the temporary table that stores the rows of a query while a statement runs.

    The name is a bound parameter, so statements of the same form are compiled once.
    """

    __visit_name__ = "dbanon_query_name"
    _traverse_internals = [  # noqa: RUF012
        ("bound", InternalTraversal.dp_clauseelement),
        ("query", InternalTraversal.dp_clauseelement),
    ]

    def __init__(self, query: Select[Any], model: QueryModel) -> None:
        """Create the element with a new table name for the query; `model` has the roles of its columns."""
        self.table_name = f"dbanon_query_{next(_QUERY_NUMBERS)}"
        self.bound = bindparam("dbanon_query", self.table_name, type_=String(), unique=True)
        self.query = query
        self.model = model
        self.type = String()


@compiles(QueryName)
def _compile_query_name(element: QueryName, compiler: Any, **kw: Any) -> str:
    """Return the SQL of a `QueryName`: its bound parameter."""
    return str(compiler.process(element.bound, **kw))


class CreateQueryTable(Executable, ClauseElement):
    """A CREATE OR REPLACE TEMP TABLE ... AS statement of a query with bound parameters."""

    __visit_name__ = "dbanon_create_query_table"
    inherit_cache = False

    def __init__(self, table: str, query: Select[Any]) -> None:
        """Create the statement for a table name without quotes and a query."""
        self.prefix = f"CREATE OR REPLACE TEMP TABLE {identifier(table)} AS "
        self.query = query


@compiles(CreateQueryTable)
def _compile_create_query_table(element: CreateQueryTable, compiler: Any, **kw: Any) -> str:
    """Return the SQL of a `CreateQueryTable`."""
    return f"{element.prefix}{compiler.process(element.query, **kw)}"


def numbered_query(number_column: str, columns: Sequence[str], call: str, order_columns: Sequence[str]) -> Sql:
    """Return the SELECT of a view over a call, with a row number.

    Args:
        number_column: Name of the column for the row number.
        columns: Published columns to select.
        call: SQL of the call.
        order_columns: Published columns that the row number is ordered by.
    """
    order_sql = join_sql(identifier(c) for c in order_columns)
    return Sql(
        f"SELECT row_number() OVER (ORDER BY {order_sql}) AS {identifier(number_column)}, "
        f"{join_sql(identifier(c) for c in columns)} FROM {call}"
    )


def call_sql(function: str, source: tuple[str, str], parameters: Mapping[str, object]) -> Sql:
    """Return the SQL of a call with its parameters as literals; `source` is the schema and the name of a table."""
    arguments = "".join(f", {identifier(n)} := {argument(v)}" for n, v in parameters.items())
    return Sql(f"{identifier(function)}({text(qualified(*source))}{arguments})")
