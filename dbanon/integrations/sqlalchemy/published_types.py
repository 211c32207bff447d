"""What columns a call gives, from the model alone: names and SQL types, as the statement will have them."""

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

from dbanon.algorithms import Noise
from dbanon.integrations.sqlalchemy.roles import Role
from dbanon.policy import attribute, column_roles
from dbanon.policy.attribute import Attribute
from dbanon.policy.hierarchies.storage import Stored
from dbanon.privacy_models import model_request
from dbanon.release.spec import related_parameters as related, resolve
from dbanon.release.spec.published_columns import PublishedSchema, classes_order, published_schema
from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import TableFunction

Type = TypeEngine[Any]


@dataclass(frozen=True)
class Relation:
    """What is anonymized: the name that messages show, types and roles of the columns by name."""

    shown: str
    types: Mapping[str, Type]
    roles: Mapping[str, Role | None]


@dataclass(frozen=True)
class Shape:
    """A call's roles and its generalized columns."""

    relation: Relation
    roles: column_roles.Roles
    attributes: tuple[Attribute, ...]
    options: Mapping[str, object]
    noise: Noise | None = None

    @property
    def published_roles(self) -> dict[str, str]:
        """The columns that the call publishes, with what they are in it."""
        quasi = {q.column: "quasi" for q in self.roles.quasi}
        others = {"sensitive": self.roles.sensitive, "other": self.roles.other}
        return quasi | {name: role for role, columns in others.items() for name in columns} | dict(self.roles.made)

    def columns(self, kind: str) -> list[ColumnClause[Any]]:
        """Return the columns of NAME (`release`), NAME_classes (`classes`) or NAME_metrics (`metrics`)."""
        made = {"release": self._release, "classes": self._classes, "metrics": self._metrics}[kind]()
        return [sa.column(name, type_) for name, type_ in made]

    @property
    def _schema(self) -> PublishedSchema:
        numbers = {a.quasi.column: a.is_number for a in self.attributes}
        return published_schema(self.relation.types, numbers, self._kept, str(self.options["intervals"]))

    @property
    def _kept(self) -> list[str]:
        """Columns that are published as they are."""
        return [n for n in self.relation.types if n in (*self.roles.sensitive, *self.roles.other, *self.roles.made)]

    def _type(self, column: str) -> Type:
        """Return the type of a column that is published as it is, or as what is made of it."""
        return sa.String() if self.roles.made.get(column) in ("pseudonym", "mask") else self.relation.types[column]

    def _release(self) -> list[tuple[str, Type]]:
        schema = self._schema
        types = {n: self._type(n) for n in self._kept} | dict(self._quasi(schema))
        return [*((name, types[name]) for name in schema.rows), (schema.class_id, sa.BigInteger())]

    def _classes(self) -> list[tuple[str, Type]]:
        schema = self._schema
        quasi = self._quasi(schema)
        if self.noise is not None:
            quasi = [(name, _counted(type_)) for name, type_ in quasi]
        sensitive = [(n, _counted(self.relation.types[n])) for n in self._kept if n in self.roles.sensitive]
        own: dict[str, list[tuple[str, Type]]] = {
            "class_id": [(schema.class_id, sa.BigInteger())],
            "size": [(schema.size, sa.BigInteger())],
            "persons": [(schema.persons, sa.BigInteger())],
            "quasi": quasi,
            "loss": [(schema.loss, sa.Double())],
            "suppressed": [(schema.suppressed, sa.String())],
            "sensitive": sensitive,
        }
        order = classes_order(
            len(quasi),
            len(sensitive),
            persons=self.roles.person is not None,
            suppressed=bool(self.options["suppress"]),
            loss=self.noise is None,
        )
        return [column for what in dict.fromkeys(order) for column in own[what]]

    def _metrics(self) -> list[tuple[str, Type]]:
        text = sa.String()
        return [("metric", text), ("value", sa.Double()), ("better", text), ("description", text),
                ("published", sa.Boolean())]  # fmt: skip

    def _quasi(self, schema: PublishedSchema) -> list[tuple[str, Type]]:
        """Return published columns of the quasi-identifiers."""
        made: list[tuple[str, Type]] = []
        for a in self.attributes:
            end = _end(a, self.relation.types[a.quasi.column])
            value = end if a.is_number and self.noise is not None else sa.String()
            types = {"value": value, "low": end, "high": end, "pair": _struct(low=end, high=end)}
            made += [(part.name, types[part.part]) for part in schema.quasi[a.quasi.column]]
        return made


def shape(called: TableFunction, relation: Relation, options: Mapping[str, object]) -> Shape:
    """The shape of a call, or the error that the call would be: of columns, roles, settings and privacy models, or of
    what is made of several tables."""
    related.refuse(called.name, options)
    function, noise = called.name, resolve.noise_of(called, options)
    types = {name: _duckdb(type_) for name, type_ in relation.types.items()}
    declared = [role.declared(name) for name, role in relation.roles.items() if role is not None]
    source = Source(relation.shown, Sql(""), types, "", "", relation.shown)
    roles = column_roles.resolve(
        function, source, declared, Options(options), _looser, cuts=lambda *_: None, is_value=lambda *_: False
    )
    model_request.demands(function, relation.shown, options, roles.sensitive)
    attributes = tuple(
        attribute.attribute(
            function,
            relation.shown,
            quasi,
            find=lambda name: Stored("", name),  # the database knows which hierarchies there are
            known=list,
            holds=lambda _: True,
        )
        for quasi in roles.quasi
    )
    return Shape(relation, roles, attributes, options, noise)


def _looser(setting: str, type_: str, value: object, before: object) -> bool:
    """Return whether a call's setting tells more than the model's; where only the database could say, it does."""
    if setting in ("top", "bottom") and before is not None:
        try:
            ends: list[Any] = [Decimal(str(value)), Decimal(str(before))]
        except InvalidOperation:
            ends = [str(value), str(before)]  # dates in ISO form
        return bool(ends[0] > ends[1] if setting == "top" else ends[0] < ends[1])
    return attribute.looser(setting, type_, value, before, lambda _: True)


# --- types --------------------------------------------------------------------------------------------------


def _end(made: Attribute, type_: Type) -> Type:
    """Return the type of an interval's end. One that is snapped to a grid may lie beyond the column's type."""
    if made.family in ("date", "timestamp", "nanos") and made.grid is not None:
        return sa.Date()
    if made.family == "timestamp":
        return sa.DateTime()
    if made.family == "integer" and made.grid is not None:
        return sa.BigInteger()
    return sa.Numeric(38, made.scale) if made.family == "decimal" and made.grid is not None else type_


def _struct(**fields: Type) -> Type:
    return cast(Type, Struct(fields))


def _counted(type_: Type) -> Type:
    """Return the type of values with the records that have them."""
    return cast(Type, sa.ARRAY(_struct(value=type_, size=sa.BigInteger())))


_SPELLINGS = (
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
"""How the dialect writes types, and what DuckDB calls them."""


def _duckdb(type_: Type) -> str:
    """Return DuckDB's name of a type. What cannot be known is taken for text; the database decides."""
    if isinstance(type_, sa.Enum):
        return "VARCHAR"
    try:
        written = str(type_.compile(dialect=Dialect())).upper()
    except sa.exc.CompileError:
        return "VARCHAR"
    for pattern, name in _SPELLINGS:
        if match := re.fullmatch(pattern, written):
            return match.expand(name)
    return written
