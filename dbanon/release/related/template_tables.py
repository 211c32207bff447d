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
from dbanon.release.related.related_tables import RelatedTable, RelatedTables
from dbanon.release.spec.published_columns import unused_name
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

COMPOSITE_KEY_NAME = "entity_id"
"""The name of the pseudonym of a key of several columns."""


@dataclass(frozen=True)
class ReservedNames:
    """Names of columns that no table has: the number of a row, the key of its person, its place."""

    row: Sql
    person: Sql
    place: Sql

    @classmethod
    def for_tables(cls, related: RelatedTables) -> ReservedNames:
        used_names = [name for table in related.tables for name in table.spec.source.columns]
        return cls(*(identifier(unused_name(f"dbanon {word}", used_names)) for word in ("number", "person", "place")))


@dataclass(frozen=True)
class SensitiveView(NamedColumn):
    """A sensitive column of a table: `text` is how its values are told apart where they leave, `metric` the name of the
    measure, `say` what the gate says of it."""

    raw_name: str
    text: Sql
    metric: Sql
    say: Sql


@dataclass(frozen=True)
class TableSource:
    """What is read of a table: `table` names it, `origin` is what is read, twice where `read_twice`; `row_number`
    distinguishes its rows there."""

    table: Sql
    origin: Sql
    is_read_twice: bool
    columns: Sql
    row_number: Sql


@dataclass(frozen=True)
class TableOutputNames:
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
    published_names: Sql
    say: Mapping[str, Sql]
    measures_sql: Sql | None = None


@dataclass(frozen=True)
class TableView(NamedColumn):
    """One table. `plain` distinguishes it from the others in names of steps.

    `key` is how the key is read for the release. `ordered` are quasi-identifiers in the order by which rows of a person
    are sorted: dates, numbers, categories. `made` is the statement of what its rows publish.
    """

    i: int
    raw_name: str
    display_name: str
    source: TableSource
    key: Sql
    names: TableOutputNames
    quasi: tuple[QuasiColumn, ...]
    sort_columns: tuple[QuasiColumn, ...]
    unchanged: tuple[PassthroughColumn, ...]
    sensitive: tuple[SensitiveView, ...]
    output: tuple[PublishedColumn, ...]
    features: tuple[Feature, ...]
    gate: TableGate
    say: Mapping[str, Sql]
    clusters_sql: Sql | None = None

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
        return {
            word: text(f"{word}:{self.display_name}") for word in ("loss", "rows", "rows_surplus", "rows_above_cap")
        }

    def step(self, name: str) -> Sql:
        """Return a step that there is once for each table."""
        return identifier(f"{self.raw_name}: {name}")


def table_views(
    related: RelatedTables, plans: Sequence[Plan], reserved: ReservedNames, features: Sequence[Sequence[Feature]]
) -> tuple[TableView, ...]:
    """Return the tables of a release with their plans and features, without statements of their own."""
    parent_names = [q.raw_name for q in plans[0].columns.quasi]
    size_names = ["size", *(f"{table.spec.source.table}_rows" for table in related.tables[1:])]
    unused_size_names = gate_rules.unused_names([*parent_names, plans[0].added_names.class_id_name], size_names)
    return tuple(
        _table_view(related, i, plan, reserved, (features[i], size))
        for i, (plan, size) in enumerate(zip(plans, unused_size_names, strict=True))
    )


def _table_view(
    related: RelatedTables,
    i: int,
    table_plan: Plan,
    reserved: ReservedNames,
    features_and_size: tuple[Sequence[Feature], str],
) -> TableView:
    table = related.tables[i]
    source, shown = table.spec.source, table.display_name
    raw_name, is_read_twice = f"{i} {shown}", table_plan.source_view.has_rowid
    read_names = (
        [u.raw_name for u in table_plan.columns.unchanged]
        + [q.raw_name for q in table_plan.columns.quasi]
        + list(table.key)
    )
    published_names = gate_rules.published_column_names(gate_request(table.spec))
    key_name = unused_name(table.key[0] if len(table.key) == 1 else COMPOSITE_KEY_NAME, published_names)
    return TableView(
        i,
        raw_name,
        shown,
        source=TableSource(
            table=source.read,
            origin=source.read if is_read_twice else identifier(f"{raw_name}: as it came"),
            is_read_twice=is_read_twice,
            columns=join_sql(identifier(name) for name in source.columns if name in read_names),
            row_number=Sql("rowid") if is_read_twice else reserved.row,
        ),
        key=table.key_values[0] if len(table.key) == 1 else _composite_key(table.key_values),
        names=TableOutputNames(identifier(key_name), table_plan.added_names.class_id, identifier(features_and_size[1])),
        quasi=table_plan.columns.quasi,
        sort_columns=tuple(sorted(table_plan.columns.quasi, key=_sort_rank)),
        unchanged=table_plan.columns.unchanged,
        sensitive=tuple(_sensitive_view(table, name) for name in table.spec.roles.sensitive),
        output=table_plan.columns.output,
        features=tuple(features_and_size[0]),
        gate=TableGate(
            table_plan.gate_rules,
            key=tuple(_gate_key_column(name, source.columns[name]) for name in table.key),
            published_names=Sql(f"[{join_sql(text(name) for name in [key_name, *published_names])}]"),
            say=related_messages.table_refusals(table.spec.function, related_messages.TABLE_CHECKS, shown, i),
        ),
        say=error_messages.key_error_messages(table, related.entity),
    )


def _sensitive_view(table: RelatedTable, column: str) -> SensitiveView:
    """Return a sensitive column, by the policy alone: the gate judges by it."""
    name, type_ = identifier(column), table.spec.source.columns[column]
    value = f"epoch_us({name})" if type_ == "TIMESTAMP WITH TIME ZONE" else name
    return SensitiveView(
        column,
        text=Sql(f"CAST({value} AS VARCHAR)"),
        metric=text(f"l_diversity:{table.display_name}.{column}"),
        say=related_messages.diversity_refusal(table.spec.function, table.display_name, column),
    )


def _sort_rank(column: QuasiColumn) -> int:
    """Return dates before numbers before categories."""
    if isinstance(column, TreeColumn):
        return 2
    return 0 if column.family.is_calendar else 1


def _composite_key(keys: Sequence[str]) -> Sql:
    """Return a key of several columns; none where one of them is missing."""
    is_complete = join_sql((f"{key} IS NOT NULL" for key in keys), " AND ")
    return Sql(f"CASE WHEN {is_complete} THEN row({join_sql(keys)}) END")


def _gate_key_column(name: str, type_: str) -> Sql:
    """Return a column of the key as the gate compares it."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)
