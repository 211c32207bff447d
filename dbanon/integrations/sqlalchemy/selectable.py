"""FROM elements: a table, a mapped class or a query, anonymized.

select(anonymized(Patient, k=10))
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
from dbanon.integrations.sqlalchemy.constructs import Declarations, QueryModel, QueryName, TableName, named_argument
from dbanon.integrations.sqlalchemy.literal_query import without_annotations
from dbanon.integrations.sqlalchemy.published_types import CallSchema, SourceColumns, call_schema
from dbanon.table_functions import parameters as kinds
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import TableFunction


def anonymized(source: Any, algorithm: str = "best", /, **parameters: Any) -> TableValuedAlias:
    """Return the released rows of a source as a FROM element.

    A table's roles are those of `dbanon.policy` when the statement runs; the columns of `.c` follow from the model (see
    `declare_models`). A SELECT is checked when the statement runs, by the tables and columns that DuckDB binds in it.
    If it reads no table with a policy, its columns have the roles of the model and of the call. If it reads one, a
    column of the query has a role only if it is exactly one column of a mapped table, the same in every branch of a
    UNION; expressions have none and cannot be published, and the person column of the policy must be selected.

    The query runs once, in the session's transaction, into a temporary table: a copy of its result stays on the
    connection until the transaction ends or the next such statement runs. The roles found are the policy of that table,
    so the settings of the call are checked as those of a call on a table. Criteria that options add to the outer
    statement (`with_loader_criteria`) do not reach the inner one. Statements that contain a SELECT need an engine on
    which `install` was called.

    Args:
        source: A mapped class, a Table or a SELECT.
        algorithm: Name of the algorithm.
        **parameters: Parameters of the table function. Values are bound; columns can be named by mapped attributes
            (`qi=[Patient.age]`).

    Returns:
        A FROM element whose `.c` has the published columns with their types, and `.c.class_id`.

    Raises:
        DbanonError: A mistake in the call that the model shows. When the statement runs the database may find others
            (other policies, missing hierarchies, k greater than the number of rows), and PolicyDriftError,
            UnmappedTableError, PersonColumnNotSelectedError, RepeatedRecordsError, ConflictingRolesError or
            UndeclaredColumnError.

    Examples:
        ```python
        from dbanon.sqlalchemy import anonymized

        safe = anonymized(Patient, k=10)
        session.execute(select(safe.c.age, safe.c.diagnosis))
        ```
    """
    return validate_call("", source, algorithm, parameters).element()


def classes(source: Any, algorithm: str = "best", /, **parameters: Any) -> TableValuedAlias:
    """Return the equivalence classes of an anonymized source as a FROM element, one row per class.

    Args:
        source: As for `anonymized`.
        algorithm: As for `anonymized`.
        **parameters: As for `anonymized`.

    Returns:
        A FROM element with the columns of the algorithm's `_classes` function.

    Raises:
        DbanonError: As for `anonymized`.

    Examples:
        ```python
        from dbanon.sqlalchemy import classes

        session.execute(select(classes(Patient, k=10)))
        ```
    """
    return validate_call("_classes", source, algorithm, parameters).element()


def metrics(source: Any, algorithm: str = "best", /, **parameters: Any) -> TableValuedAlias:
    """Return the metrics of an anonymized source as a FROM element, one row per metric.

    Args:
        source: As for `anonymized`.
        algorithm: As for `anonymized`.
        **parameters: As for `anonymized`.

    Returns:
        A FROM element with the columns `metric`, `value`, `better`, `description` and `is_publishable`.

    Raises:
        DbanonError: As for `anonymized`.

    Examples:
        ```python
        from dbanon.sqlalchemy import metrics

        session.execute(select(metrics(Patient, k=10)))
        ```
    """
    return validate_call("_metrics", source, algorithm, parameters).element()


@dataclass(frozen=True)
class ValidatedCall:
    """A call of a table function on a table or a query, validated against the model.

    Attributes:
        function: The table function.
        parameters: The values of the given parameters by name.
        schema: The roles and published columns.
        source: The table or query to anonymize.
        declared: Roles of the mapped columns that a query selects, by table; empty for a table.
    """

    function: TableFunction
    parameters: Mapping[str, object]
    schema: CallSchema
    source: sa.Table | sa.Select[Any]
    declared: Declarations

    def element(self) -> TableValuedAlias:
        """Return the call as a FROM element with the published columns.

        Raises:
            TransformedColumnsNotSupportedError: A query has a pseudonym, a mask or a shifted date.
        """
        first: ColumnElement[str]
        if isinstance(self.source, sa.Table):
            first = TableName(self.source)
        else:
            source_columns = self.schema.source_columns
            if keyed := self.schema.roles.transformed:  # they are made for a table with a policy of its own
                raise errors.TransformedColumnsNotSupportedError("anonymized", source_columns.label, keyed, "a query")
            model = QueryModel(self.function.name, source_columns.roles, self.schema.published_roles, self.declared)
            first = QueryName(self.source, model)
        arguments = [named_argument(name, value) for name, value in self.parameters.items()]
        call = Function[Any](self.function.name, first, *arguments)
        return call.table_valued(*self.schema.columns(self.function.kind or ""))


def validate_call(suffix: str, source: Any, algorithm: str, parameters: Mapping[str, Any]) -> ValidatedCall:
    """Validate a call of an algorithm's table function against the model; the database is not read.

    Args:
        suffix: The ending of the function's name: "" (the release), "_classes" or "_metrics".
        source: A mapped class, a Table or a SELECT.
        algorithm: The name of the algorithm, in any case.
        parameters: Parameters of the table function; None and {} count as not given.

    Raises:
        DbanonError: The call has a mistake that the model shows.
    """
    functions = table_functions()
    algorithm_names = sorted({f.algorithm for f in functions.values() if f.algorithm})
    if not isinstance(algorithm, str) or algorithm.lower() not in algorithm_names:
        raise errors.UnknownAlgorithmError(str(algorithm), algorithm_names)
    function = functions[algorithm.lower() + suffix]
    values = {
        name.lower(): _parameter_value(value) for name, value in parameters.items() if value is not None and value != {}
    }
    options = kinds.validate_parameters(function.name, function.parameters, values)
    table_or_query = _table_or_query(function.name, source)
    if isinstance(table_or_query, sa.Table):
        types = {c.name: c.type for c in table_or_query.c}
        source_columns = SourceColumns(
            table_or_query.description, types, {c.name: column_roles.role_of(c) for c in table_or_query.c}
        )
        return ValidatedCall(function, values, call_schema(function, source_columns, options), table_or_query, {})
    subquery = table_or_query.subquery()
    roles: dict[str, column_roles.Role | None] = {}
    declared: dict[sa.Table, dict[str, column_roles.Role | None]] = {}
    for column in subquery.c:
        bases = [b for b in column.base_columns if isinstance(b, sa.Column) and isinstance(b.table, sa.Table)]
        base_roles = {b: column_roles.role_of(b) for b in bases}
        distinct_roles = dict.fromkeys(role for role in base_roles.values())
        if len(bases) < len(column.base_columns):  # an expression in some branch of a union
            distinct_roles[None] = None
        if len(distinct_roles) > 1:
            raise errors.ConflictingRolesError(
                function.name, "the query", column.name, [str(r or "withheld") for r in distinct_roles]
            )
        roles[column.name] = next(iter(distinct_roles), None)
        for base, role in base_roles.items():
            declared.setdefault(without_annotations(base.table), {})[base.name] = role
    source_columns = SourceColumns("the query", {c.name: c.type for c in subquery.c}, roles)
    schema = call_schema(function, source_columns, options)
    if schema.roles.person is None:
        for table in declared:
            for column in table.c:
                if (role := column_roles.role_of(column)) is not None and role.role == "person":
                    raise errors.PersonColumnNotSelectedError(function.name, table.description, column.name)
    return ValidatedCall(function, values, schema, sa.select(subquery), declared)


def _table_or_query(function: str, source: Any) -> sa.Table | SelectBase:
    """Return the Table or the SELECT of a source: a mapped class, a Table or a SELECT.

    A class that shares its table with others, or has several, becomes a SELECT of its rows. `function` is the name in
    messages.

    Raises:
        InvalidArgumentError: It is another object.
    """
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


def _parameter_value(value: Any) -> Any:
    """Return a parameter's value with mapped attributes and columns as names, and dates and decimals as text.

    Lists, tuples and mappings are converted recursively; tuples become lists.
    """
    column = value.__clause_element__() if hasattr(value, "__clause_element__") else value
    if isinstance(column, sa.ColumnElement) and isinstance(name := getattr(column, "name", None), str):
        return str(name)
    if isinstance(value, Mapping):
        return {_parameter_value(k): _parameter_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_parameter_value(v) for v in value]
    return column_roles.policy_value(value) if isinstance(value, (date, Decimal)) else value
