"""The tables of a release as the templates see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbanon.gate import related_messages, rules as gate_rules
from dbanon.release.plan.named_column import NamedColumn
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.plan.plan import Plan, PublishedColumn, gate_request
from dbanon.release.plan.template_columns import QuasiColumn, TreeColumn
from dbanon.release.related import error_messages
from dbanon.release.related.child_features import Feature
from dbanon.release.related.related_tables import Related, Relation
from dbanon.release.spec.published_columns import free
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

COMPOSITE = "entity_id"
"""The name of the pseudonym of a key of several columns."""


@dataclass(frozen=True)
class Own:
    """Names of columns that no table has: the number of a row, the key of its person, its place."""

    row: Sql
    person: Sql
    place: Sql

    @classmethod
    def of(cls, found: Relation) -> Own:
        taken = [name for table in found.tables for name in table.publication.source.columns]
        return cls(*(identifier(free(f"dbanon {word}", taken)) for word in ("number", "person", "place")))


@dataclass(frozen=True)
class SensitiveView(NamedColumn):
    """A sensitive column of a table: `text` is how its values are told apart where they leave, `metric` the name of the
    measure, `say` what the gate says of it."""

    plain: str
    text: Sql
    metric: Sql
    say: Sql


@dataclass(frozen=True)
class TableSource:
    """What is read of a table: `table` names it, `origin` is what is read, twice where `read_twice`; `row_number`
    distinguishes its rows there."""

    table: Sql
    origin: Sql
    read_twice: bool
    columns: Sql
    row_number: Sql


@dataclass(frozen=True)
class OutputNames:
    """Names of published columns: the pseudonym of the key, the class, and what counts the rows in NAME_classes."""

    key: Sql
    class_id: Sql
    size: Sql


@dataclass(frozen=True)
class TableGate:
    """How the gate checks a table: its `rules`, the columns of the `key` as it reads them, the names that `leave`, its
    messages, and the statement of how it judges the rows."""

    rules: gate_rules.GateRules
    key: tuple[Sql, ...]
    leave: Sql
    say: Mapping[str, Sql]
    judged: Sql | None = None


@dataclass(frozen=True)
class TableView(NamedColumn):
    """One table. `plain` distinguishes it from the others in names of steps.

    `key` is how the key is read for the release. `ordered` are quasi-identifiers in the order by which rows of a person
    are sorted: dates, numbers, categories. `made` is the statement of what its rows publish.
    """

    i: int
    plain: str
    shown: str
    source: TableSource
    key: Sql
    names: OutputNames
    quasi: tuple[QuasiColumn, ...]
    ordered: tuple[QuasiColumn, ...]
    unchanged: tuple[PassthroughColumn, ...]
    sensitive: tuple[SensitiveView, ...]
    output: tuple[PublishedColumn, ...]
    features: tuple[Feature, ...]
    gate: TableGate
    say: Mapping[str, Sql]
    made: Sql | None = None

    @property
    def rules(self) -> Sequence[gate_rules.QuasiRule]:
        """What the gate holds its quasi-identifiers against."""
        return self.gate.rules.rules

    @property
    def read_unchanged(self) -> Sequence[Sql]:
        """How the gate reads what is published unchanged."""
        return self.gate.rules.read_unchanged

    @property
    def measures(self) -> dict[str, Sql]:
        """Names of measures of it, by a word for each."""
        return {word: text(f"{word}:{self.shown}") for word in ("loss", "rows", "rows_surplus", "rows_above_cap")}

    def step(self, name: str) -> Sql:
        """Return a step that there is once for each table."""
        return identifier(f"{self.plain}: {name}")


def views(
    found: Relation, plans: Sequence[Plan], own: Own, features: Sequence[Sequence[Feature]]
) -> tuple[TableView, ...]:
    """Return the tables of a release with their plans and features, without statements of their own."""
    people = [q.plain for q in plans[0].columns.quasi]
    counted = ["size", *(f"{table.publication.source.table}_rows" for table in found.tables[1:])]
    sizes = gate_rules.unused_names([*people, plans[0].names.class_name], counted)
    return tuple(
        _view(found, i, plan, own, (features[i], size)) for i, (plan, size) in enumerate(zip(plans, sizes, strict=True))
    )


def _view(found: Relation, i: int, of: Plan, own: Own, more: tuple[Sequence[Feature], str]) -> TableView:
    table = found.tables[i]
    source, shown = table.publication.source, table.shown
    plain, twice = f"{i} {shown}", of.reading.has_rowid
    read = [u.plain for u in of.columns.unchanged] + [q.plain for q in of.columns.quasi] + list(table.key)
    leave = gate_rules.published_column_names(gate_request(table.publication))
    key_name = free(table.key[0] if len(table.key) == 1 else COMPOSITE, leave)
    return TableView(
        i,
        plain,
        shown,
        source=TableSource(
            table=source.read,
            origin=source.read if twice else identifier(f"{plain}: as it came"),
            read_twice=twice,
            columns=join_sql(identifier(name) for name in source.columns if name in read),
            row_number=Sql("rowid") if twice else own.row,
        ),
        key=table.key_values[0] if len(table.key) == 1 else _row(table.key_values),
        names=OutputNames(identifier(key_name), of.names.class_id, identifier(more[1])),
        quasi=of.columns.quasi,
        ordered=tuple(sorted(of.columns.quasi, key=_rank)),
        unchanged=of.columns.unchanged,
        sensitive=tuple(_sensitive(table, name) for name in table.publication.roles.sensitive),
        output=of.columns.output,
        features=tuple(more[0]),
        gate=TableGate(
            of.gate,
            key=tuple(_own_key(name, source.columns[name]) for name in table.key),
            leave=Sql(f"[{join_sql(text(name) for name in [key_name, *leave])}]"),
            say=related_messages.table_refusals(table.publication.function, related_messages.TABLE_CHECKS, shown, i),
        ),
        say=error_messages.of_keys(table, found.entity),
    )


def _sensitive(table: Related, column: str) -> SensitiveView:
    """Return a sensitive column, by the policy alone: the gate judges by it."""
    name, type_ = identifier(column), table.publication.source.columns[column]
    value = f"epoch_us({name})" if type_ == "TIMESTAMP WITH TIME ZONE" else name
    return SensitiveView(
        column,
        text=Sql(f"CAST({value} AS VARCHAR)"),
        metric=text(f"l_diversity:{table.shown}.{column}"),
        say=related_messages.diversity_refusal(table.publication.function, table.shown, column),
    )


def _rank(column: QuasiColumn) -> int:
    """Return dates before numbers before categories."""
    if isinstance(column, TreeColumn):
        return 2
    return 0 if column.family.is_calendar else 1


def _row(keys: Sequence[str]) -> Sql:
    """Return a key of several columns; none where one of them is missing."""
    filled = join_sql((f"{key} IS NOT NULL" for key in keys), " AND ")
    return Sql(f"CASE WHEN {filled} THEN row({join_sql(keys)}) END")


def _own_key(name: str, type_: str) -> Sql:
    """Return a column of the key as the gate compares it."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)
