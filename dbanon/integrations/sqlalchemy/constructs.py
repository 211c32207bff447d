"""What is rendered: the name of a source, `name := value`, and the table that holds a query's result for a while."""

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
"""What the model says of the columns that a query reads."""


@dataclass(frozen=True)
class QueryModel:
    """What the model says of a query that is anonymized.

    Attributes:
        function: The function that is called.
        roles: The role of each column of the query, in order; None for one that has none.
        published_roles: The columns that the call publishes, with what they are in it.
        declared: The roles of the mapped columns that the query selects.
    """

    function: str
    roles: Mapping[str, Role | None]
    published_roles: Mapping[str, str]
    declared: Declarations


class Argument(UserDefinedType[Any]):
    """A parameter's value: scalars, lists and mappings, as they are."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "JSON"

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return argument


def named(name: str, value: object) -> ColumnElement[Any]:
    """`name := value`, the value bound."""
    bound = bindparam(None, list(value) if isinstance(value, tuple) else value, type_=Argument(), unique=True)
    return literal_column(name).op(":=")(bound)


@dataclass(frozen=True)
class Named:
    """A table as a part of a cache key, which takes no clause without asking it for its columns."""

    table: Table


class TableName(ColumnElement[str]):
    """A table's name as a text, with its schema, whatever schema_translate_map makes of that."""

    __visit_name__ = "dbanon_table_name"
    _traverse_internals = [("of", InternalTraversal.dp_plain_obj)]  # noqa: RUF012

    def __init__(self, table: Table) -> None:
        self.of = Named(table)
        self.type = String()


@compiles(TableName)
def _table_name(element: TableName, compiler: Any, **_: Any) -> str:
    return text(compiler.preparer.format_table(element.of.table))


_NUMBERS = itertools.count(1)


class QueryName(ColumnElement[str]):
    """The name of the temporary table that will hold the rows of a query when a statement runs.

    The name is a bound value, so that statements of one form are compiled once.
    """

    __visit_name__ = "dbanon_query_name"
    _traverse_internals = [  # noqa: RUF012
        ("bound", InternalTraversal.dp_clauseelement),
        ("query", InternalTraversal.dp_clauseelement),
    ]

    def __init__(self, query: Select[Any], model: QueryModel) -> None:
        self.rows = f"dbanon_query_{next(_NUMBERS)}"
        self.bound = bindparam("dbanon_query", self.rows, type_=String(), unique=True)
        self.query = query
        self.model = model
        self.type = String()


@compiles(QueryName)
def _query_name(element: QueryName, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(element.bound, **kw))


class CreateQueryTable(Executable, ClauseElement):
    """CREATE TEMP TABLE ... AS a query with its bound values."""

    __visit_name__ = "dbanon_create_query_table"
    inherit_cache = False

    def __init__(self, table: str, query: Select[Any]) -> None:
        self.head = f"CREATE OR REPLACE TEMP TABLE {identifier(table)} AS "
        self.query = query


@compiles(CreateQueryTable)
def _create_query_table(element: CreateQueryTable, compiler: Any, **kw: Any) -> str:
    return f"{element.head}{compiler.process(element.query, **kw)}"


def view_query(number: str, columns: Sequence[str], call: str, order: Sequence[str]) -> Sql:
    """Return the query of a view of a call, with a column that numbers its rows by what is published."""
    ordered = join_sql(identifier(c) for c in order)
    return Sql(
        f"SELECT row_number() OVER (ORDER BY {ordered}) AS {identifier(number)}, "
        f"{join_sql(identifier(c) for c in columns)} FROM {call}"
    )


def call(function: str, source: tuple[str, str], given: Mapping[str, object]) -> Sql:
    """Return a call with its arguments as literals; `source` is schema and table."""
    arguments = "".join(f", {identifier(n)} := {argument(v)}" for n, v in given.items())
    return Sql(f"{identifier(function)}({text(qualified(*source))}{arguments})")
