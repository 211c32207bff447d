"""FROM elements: a table, a mapped class or a query, anonymized.

select(anonymized(Patient, "kacpc", k=10))
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapper
from sqlalchemy.sql.expression import ColumnElement, SelectBase, TableValuedAlias
from sqlalchemy.sql.functions import Function

from dbanon import errors
from dbanon.integrations.sqlalchemy import roles as column_roles
from dbanon.integrations.sqlalchemy.constructs import Declarations, QueryModel, QueryName, TableName, named
from dbanon.integrations.sqlalchemy.literal_query import without_annotations
from dbanon.integrations.sqlalchemy.published_types import Relation, Shape, shape
from dbanon.table_functions import parameters as kinds
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import TableFunction


def anonymized(source: Any, algorithm: str = "kacpc", /, **parameters: Any) -> TableValuedAlias:
    """Return the released rows of a source as a FROM element: `.c` has the published columns, typed, and `.c.class_id`.

    `source` is a mapped class, a Table or a SELECT; algorithm and parameters are those of the table function, columns
    can be named by mapped attributes (`qi=[Patient.age]`). Values are bound. Mistakes raise dbanon's errors here, as
    far as the model tells; the database may know more (other policies, missing hierarchies, a k beyond the rows).

    A table's roles are those of `dbanon.policy` when the statement runs; which columns `.c` has follows from the model
    (see `declare_models`). A SELECT is judged when the statement runs, by the tables and columns that DuckDB binds in
    it. If it reads no table with a policy, its columns have the roles of the model and of the call. If it reads one,
    a column of the query has a role only if it is exactly one column of a mapped table, the same in every branch of a
    UNION; expressions have none and cannot be published, and the person column of the policy must be selected.

    The query runs once, in the session's transaction, into a temporary table: a copy of its result stays on the
    connection until the transaction ends or the next such statement runs. The roles found are the policy of that table,
    so the settings of the call are judged as those of a call on a table. Criteria that options add to the outer
    statement (`with_loader_criteria`) do not reach the inner one. Statements with a SELECT inside need an engine on
    which `install` was called.

    Raises:
        DbanonError: What is wrong with the call, as far as the model says. When the statement runs also
        PolicyDriftError,
            UnmappedTableError, PersonColumnNotSelectedError, RepeatedRecordsError, ConflictingRolesError or Undeclared.
    """
    return request("", source, algorithm, parameters).element()


def classes(source: Any, algorithm: str = "kacpc", /, **parameters: Any) -> TableValuedAlias:
    """Return one row an equivalence class, as a FROM element; arguments as for `anonymized`."""
    return request("_classes", source, algorithm, parameters).element()


def metrics(source: Any, algorithm: str = "kacpc", /, **parameters: Any) -> TableValuedAlias:
    """Return one row a measure, as a FROM element; arguments as for `anonymized`."""
    return request("_metrics", source, algorithm, parameters).element()


@dataclass(frozen=True)
class Request:
    """A call with its parameters validated: of a table, or of a query."""

    function: TableFunction
    given: Mapping[str, object]
    shape: Shape
    source: sa.Table | sa.Select[Any]
    declared: Declarations

    def element(self) -> TableValuedAlias:
        """Return the call as a FROM element."""
        first: ColumnElement[str]
        if isinstance(self.source, sa.Table):
            first = TableName(self.source)
        else:
            relation = self.shape.relation
            if keyed := self.shape.roles.made:  # they are made for a table with a policy of its own
                raise errors.TransformedColumnsNotSupportedError("anonymized", relation.shown, keyed, "a query")
            model = QueryModel(self.function.name, relation.roles, self.shape.published_roles, self.declared)
            first = QueryName(self.source, model)
        arguments = [named(name, value) for name, value in self.given.items()]
        made = Function[Any](self.function.name, first, *arguments)
        return made.table_valued(*self.shape.columns(self.function.kind or ""))


def request(ending: str, source: Any, algorithm: str, given: Mapping[str, Any]) -> Request:
    """Return a call of NAME or NAME_classes or NAME_metrics; raises what is wrong with it."""
    functions = table_functions()
    known = sorted({f.algorithm for f in functions.values() if f.algorithm})
    if not isinstance(algorithm, str) or algorithm.lower() not in known:
        raise errors.UnknownAlgorithmError(str(algorithm), known)
    function = functions[algorithm.lower() + ending]
    values = {name.lower(): _plain(value) for name, value in given.items() if value is not None and value != {}}
    options = kinds.validate_parameters(function.name, function.parameters, values)
    of_rows = _source(function.name, source)
    if isinstance(of_rows, sa.Table):
        types = {c.name: c.type for c in of_rows.c}
        relation = Relation(of_rows.description, types, {c.name: column_roles.role_of(c) for c in of_rows.c})
        return Request(function, values, shape(function, relation, options), of_rows, {})
    rows = of_rows.subquery()
    roles: dict[str, column_roles.Role | None] = {}
    declared: dict[sa.Table, dict[str, column_roles.Role | None]] = {}
    for column in rows.c:
        bases = [b for b in column.base_columns if isinstance(b, sa.Column) and isinstance(b.table, sa.Table)]
        found = {b: column_roles.role_of(b) for b in bases}
        said = dict.fromkeys(role for role in found.values())
        if len(bases) < len(column.base_columns):  # an expression in some branch of a union
            said[None] = None
        if len(said) > 1:
            raise errors.ConflictingRolesError(
                function.name, "the query", column.name, [str(r or "withheld") for r in said]
            )
        roles[column.name] = next(iter(said), None)
        for base, role in found.items():
            declared.setdefault(without_annotations(base.table), {})[base.name] = role
    relation = Relation("the query", {c.name: c.type for c in rows.c}, roles)
    made = shape(function, relation, options)
    if made.roles.person is None:
        for of in declared:
            for column in of.c:
                if (role := column_roles.role_of(column)) is not None and role.role == "person":
                    raise errors.PersonColumnNotSelectedError(function.name, of.description, column.name)
    return Request(function, values, made, sa.select(rows), declared)


def _source(function: str, source: Any) -> sa.Table | SelectBase:
    """Return the table or the query that a source is."""
    if isinstance(source, (sa.Table, SelectBase)):
        return source
    mapper = sa.inspect(source, raiseerr=False)
    if isinstance(mapper, Mapper):
        table = mapper.local_table
        # A class that shares its table, or needs several, is not all the rows of one table.
        if isinstance(table, sa.Table) and mapper.persist_selectable is table and not mapper.single:
            return table
        return sa.select(mapper.class_)
    raise errors.InvalidArgumentError(
        function, "source", "a mapped class, a Table or a SELECT", kinds.format_value(source)
    )


def _plain(value: Any) -> Any:
    """Return a parameter's value with columns as names, and dates and decimals as text."""
    column = value.__clause_element__() if hasattr(value, "__clause_element__") else value
    if isinstance(column, sa.ColumnElement) and isinstance(name := getattr(column, "name", None), str):
        return str(name)
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return column_roles.plain(value) if isinstance(value, (date, Decimal)) else value
