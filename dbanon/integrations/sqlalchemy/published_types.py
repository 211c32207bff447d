"""Compute names and SQL types of the columns that a call returns from the model alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import sqlalchemy as sa
from duckdb_sqlalchemy import Dialect
from duckdb_sqlalchemy.datatypes import Struct
from sqlalchemy.sql.expression import ColumnClause
from sqlalchemy.types import TypeEngine

from dbanon import algorithms
from dbanon.algorithms import Noise
from dbanon.integrations.sqlalchemy.roles import Role
from dbanon.policy import attribute, column_roles
from dbanon.policy.attribute import Attribute
from dbanon.policy.hierarchies.storage import StoredHierarchy
from dbanon.privacy_models import model_request
from dbanon.release.spec import related_parameters as related, resolve
from dbanon.release.spec.published_columns import PublishedSchema, class_column_kinds, published_schema
from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import TableFunction

Type = TypeEngine[Any]


@dataclass(frozen=True)
class SourceColumns:
    """The columns of a source: types and roles by column name; `label` is the source's name in messages."""

    label: str
    types: Mapping[str, Type]
    roles: Mapping[str, Role | None]


@dataclass(frozen=True)
class CallSchema:
    """The resolved roles and quasi-identifiers of a call, from which its published columns follow.

    Attributes:
        source_columns: The columns of the source.
        roles: The role of each column in this call.
        attributes: The quasi-identifiers with their settings.
        options: The validated parameters.
        noise: The noise of a differentially private call; None without it.
        max_suppressed: The greatest number of suppressed records; None if only the share `suppress` limits it.
    """

    source_columns: SourceColumns
    roles: column_roles.Roles
    attributes: tuple[Attribute, ...]
    options: Mapping[str, object]
    noise: Noise | None = None
    max_suppressed: int | None = None

    @property
    def published_roles(self) -> dict[str, str]:
        """The role of each published column as a word (quasi, sensitive, insensitive, mask, ...), by column name."""
        quasi = {q.column: "quasi" for q in self.roles.quasi}
        others = {"sensitive": self.roles.sensitive, "insensitive": self.roles.insensitive}
        return (
            quasi | {name: role for role, columns in others.items() for name in columns} | dict(self.roles.transformed)
        )

    def columns(self, kind: str) -> list[ColumnClause[Any]]:
        """Return the columns, with types, of NAME, NAME_classes or NAME_metrics.

        `kind` is release, classes or metrics.
        """
        named_types = {
            "release": self._release_columns,
            "classes": self._class_columns,
            "metrics": self._metric_columns,
        }[kind]()
        return [sa.column(name, type_) for name, type_ in named_types]

    @property
    def _schema(self) -> PublishedSchema:
        """The names of the published columns."""
        numbers = {a.quasi.column: a.is_number for a in self.attributes}
        return published_schema(
            self.source_columns.types, numbers, self._unchanged_columns, str(self.options["intervals"])
        )

    @property
    def _unchanged_columns(self) -> list[str]:
        """Names of the published columns that are not generalized, in source order.

        These are the sensitive, insensitive and transformed ones.
        """
        return [
            n
            for n in self.source_columns.types
            if n in (*self.roles.sensitive, *self.roles.insensitive, *self.roles.transformed)
        ]

    def _column_type(self, column: str) -> Type:
        """Return the type with which a column that is not generalized is published.

        Pseudonyms and masks are text; any other column has its type in the source.
        """
        return (
            sa.String()
            if self.roles.transformed.get(column) in ("pseudonym", "mask")
            else self.source_columns.types[column]
        )

    def _release_columns(self) -> list[tuple[str, Type]]:
        """Return (name, type) of the columns of a release, in order; the last one is the class number."""
        schema = self._schema
        types = {n: self._column_type(n) for n in self._unchanged_columns} | dict(self._quasi_columns(schema))
        return [*((name, types[name]) for name in schema.row_columns), (schema.class_id, sa.BigInteger())]

    def _class_columns(self) -> list[tuple[str, Type]]:
        """Return (name, type) of the columns of NAME_classes, in order.

        There are persons only with a person column, the loss only without noise, and the reason of suppression only
        with `suppress`. With noise, the quasi-identifiers are lists of values and their counts, as sensitive columns
        always are.
        """
        schema = self._schema
        quasi = self._quasi_columns(schema)
        if self.noise is not None:
            quasi = [(name, _value_counts_type(type_)) for name, type_ in quasi]
        sensitive = [
            (n, _value_counts_type(self.source_columns.types[n]))
            for n in self._unchanged_columns
            if n in self.roles.sensitive
        ]
        columns_by_part: dict[str, list[tuple[str, Type]]] = {
            "class_id": [(schema.class_id, sa.BigInteger())],
            "size": [(schema.size, sa.BigInteger())],
            "persons": [(schema.persons, sa.BigInteger())],
            "quasi": quasi,
            "loss": [(schema.loss, sa.Double())],
            "suppressed": [(schema.suppressed, sa.String())],
            "sensitive": sensitive,
        }
        order = class_column_kinds(
            len(quasi),
            len(sensitive),
            with_persons=self.roles.person is not None,
            with_suppressed=bool(self.options["suppress"]) and self.max_suppressed != 0,
            with_loss=self.noise is None,
        )
        return [column for part in dict.fromkeys(order) for column in columns_by_part[part]]

    def _metric_columns(self) -> list[tuple[str, Type]]:
        """Return (name, type) of the columns of NAME_metrics."""
        text = sa.String()
        return [("metric", text), ("value", sa.Double()), ("better", text), ("description", text),
                ("is_publishable", sa.Boolean())]  # fmt: skip

    def _quasi_columns(self, schema: PublishedSchema) -> list[tuple[str, Type]]:
        """Return (name, type) of the published columns of the quasi-identifiers.

        A numeric one can be published as a text, as two columns with the ends, or as a struct of both. With noise it is
        one value of the type of the ends. Any other one is text.
        """
        columns: list[tuple[str, Type]] = []
        for a in self.attributes:
            end = _interval_end_type(a, self.source_columns.types[a.quasi.column])
            value = end if a.is_number and self.noise is not None else sa.String()
            types = {"value": value, "low": end, "high": end, "pair": _struct_type(low=end, high=end)}
            columns += [(part.name, types[part.kind]) for part in schema.quasi[a.quasi.column]]
        return columns


def call_schema(
    table_function: TableFunction, source_columns: SourceColumns, options: Mapping[str, object]
) -> CallSchema:
    """Validate a call against the model, without a database, and return its schema.

    Checks that only the database can decide, such as whether a hierarchy exists, are assumed to pass.

    Raises:
        DbanonError: The error that the call would raise about columns, roles, settings, privacy models or parameters of
            related tables, as far as the model shows it.
    """
    related.refuse_related_tables(table_function.name, options)
    function, noise = table_function.name, resolve.requested_noise(table_function, options)
    types = {name: _duckdb_type(type_) for name, type_ in source_columns.types.items()}
    declared = [role.declared(name) for name, role in source_columns.roles.items() if role is not None]
    roles = column_roles.resolve_roles(
        function,
        Source(source_columns.label, Sql(""), types, "", "", source_columns.label),
        declared,
        Options(options),
        _is_looser,
        bound_off_grid=lambda *_: None,
        is_possible_code=lambda *_: False,
    )
    model_request.model_requirements(function, source_columns.label, options, roles.sensitive)
    attributes = tuple(
        attribute.resolve_attribute(
            function,
            source_columns.label,
            quasi,
            find_hierarchy=lambda name: StoredHierarchy("", name),  # the database knows which hierarchies there are
            known_hierarchies=list,
            holds=lambda _: True,
            read_leaf_shapes=lambda _: (),
        )
        for quasi in roles.quasi
    )
    max_suppressed = resolve.max_suppressed_records(algorithms.find(str(table_function.algorithm)), options)
    return CallSchema(source_columns, roles, attributes, options, noise, max_suppressed)


def _is_looser(setting: str, type_: str, value: object, declared: object) -> bool:
    """Return whether a setting of a call publishes more detail than the declared one.

    Top and bottom bounds are compared here, as numbers or ISO dates, because there is no database; other settings as in
    a call on a table.

    Args:
        setting: The name of the setting, such as top or rounding.
        type_: The DuckDB type of the column.
        value: The value in the call.
        declared: The value in the policy; None if it has none.
    """
    if setting in ("top", "bottom") and declared is not None:
        try:
            bounds: list[Any] = [Decimal(str(value)), Decimal(str(declared))]
        except InvalidOperation:
            bounds = [str(value), str(declared)]  # dates in ISO form
        return bool(bounds[0] > bounds[1] if setting == "top" else bounds[0] < bounds[1])
    return attribute.is_less_strict(setting, type_, value, declared, lambda _: True)


# --- types --------------------------------------------------------------------------------------------------


def _interval_end_type(quasi_identifier: Attribute, type_: Type) -> Type:
    """Return the SQL type of the ends of a quasi-identifier's intervals.

    If the ends are rounded to a grid, dates and timestamps give DATE, integers BIGINT, and decimals DECIMAL(38, scale),
    because a rounded end may exceed the type of the column. Without a grid, timestamps give TIMESTAMP, except
    TIMESTAMP_NS. In all other cases it is the type of the column.

    Args:
        quasi_identifier: The quasi-identifier with its settings.
        type_: The type of its column.
    """
    if quasi_identifier.family in ("date", "timestamp", "nanos") and quasi_identifier.grid is not None:
        return sa.Date()
    if quasi_identifier.family == "timestamp":
        return sa.DateTime()
    if quasi_identifier.family == "integer" and quasi_identifier.grid is not None:
        return sa.BigInteger()
    return (
        sa.Numeric(38, quasi_identifier.scale)
        if quasi_identifier.family == "decimal" and quasi_identifier.grid is not None
        else type_
    )


def _struct_type(**fields: Type) -> Type:
    """Return a STRUCT type with these fields."""
    return cast(Type, Struct(fields))


def _value_counts_type(type_: Type) -> Type:
    """Return the type of a list of (value, size) structs, where `type_` is that of the values."""
    return cast(Type, sa.ARRAY(_struct_type(value=type_, size=sa.BigInteger())))


_TYPE_PATTERNS = (
    (r"(VARCHAR|CHAR|CHARACTER|CHARACTER VARYING|TEXT|STRING|BPCHAR)(\(.*\))?", "VARCHAR"),
    (r"TIMESTAMP(\(\d+\))?( WITHOUT TIME ZONE)?", "TIMESTAMP"),
    (r"TIMESTAMP(\(\d+\))? WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"),
    (r"TIME(\(\d+\))?( WITHOUT TIME ZONE)?", "TIME"),
    (r"DOUBLE PRECISION", "DOUBLE"),
    (r"REAL|FLOAT4?", "FLOAT"),
    (r"(?:NUMERIC|DECIMAL)", "DECIMAL(18,3)"),
    (r"(?:NUMERIC|DECIMAL)\((\d+)\)", r"DECIMAL(\1,0)"),
    (r"(?:NUMERIC|DECIMAL)\((\d+), *(\d+)\)", r"DECIMAL(\1,\2)"),
)
"""Types as the dialect writes them, and DuckDB's names for them."""


def _duckdb_type(type_: Type) -> str:
    """Return DuckDB's name of a SQLAlchemy type; VARCHAR for an enumeration or a type that has no SQL."""
    if isinstance(type_, sa.Enum):
        return "VARCHAR"
    try:
        type_sql = str(type_.compile(dialect=Dialect())).upper()
    except sa.exc.CompileError:
        return "VARCHAR"
    for pattern, name in _TYPE_PATTERNS:
        if match := re.fullmatch(pattern, type_sql):
            return match.expand(name)
    return type_sql
