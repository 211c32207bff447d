"""Define related tables as templates read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.gate import messages, rules as gate_rules
from dbanon.release.plan.named_column import NamedColumn
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.plan.plan import Plan, PublishedColumn, gate_request, has_rowid
from dbanon.release.plan.template_columns import QuasiColumn, TreeColumn
from dbanon.release.related.child_features import Feature
from dbanon.release.related.related_tables import RelatedTable, RelatedTables
from dbanon.release.spec.published_columns import unused_name
from dbanon.sqltext.column_labels import derived_reference
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

COMPOSITE_KEY_NAME = "entity_id"
"""The name of the pseudonym of a key of several columns."""


@dataclass(frozen=True)
class ReservedNames:
    """Quoted names of added columns that no table has: the number of a row, the key of its person, its position."""

    row: Sql
    person: Sql
    place: Sql

    @classmethod
    def for_tables(cls, related: RelatedTables) -> ReservedNames:
        """Return names that no column of the related tables has, such as "dbanon number", quoted for SQL."""
        used_names = [name for table in related.tables for name in table.spec.source.columns]
        return cls(*(identifier(unused_name(f"dbanon {word}", used_names)) for word in ("number", "person", "place")))


@dataclass(frozen=True)
class TableGate:
    """The checks of a table by the gate.

    Attributes:
        rules: The rules of the table.
        key: The columns of the key as the gate reads them.
        published_names: The names of the published columns, as a SQL list.
        row_alias: An alias of a published row; no published column has its name.
        say: The messages of the gate, as SQL, by name.
        measures_sql: The statement of its measures of the rows; None until it is filled.
    """

    rules: gate_rules.GateRules
    key: tuple[Sql, ...]
    published_names: Sql
    row_alias: Sql
    say: Mapping[str, Sql]
    measures_sql: Sql | None = None


@dataclass(frozen=True)
class TableView(NamedColumn):
    """One related table as templates read it.

    Attributes:
        i: Its number; the parent table has 0.
        raw_name: The number and name, which distinguish the table in the names of relations.
        display_name: The table as messages name it.
        source: The relation from which the table is read:
            table: The table.
            origin: The relation that is read: the table, or a copy if it can be read only once.
            is_read_twice: The table can be read twice.
            columns: The columns that are read.
            row_number: The column that numbers the rows.
        key: SQL of the key.
        names: The names of published columns: the pseudonym of the key (`key`), the class (`class_id`), and the number
            of rows in NAME_classes (`size`).
        quasi: The quasi-identifiers.
        sort_columns: The quasi-identifiers by which the rows of a person are sorted: dates, numbers, categories.
        unchanged: The columns published without generalization.
        sensitive: The sensitive columns.
        output: The published columns.
        features: The features that its rows give to persons.
        gate: How the gate checks it.
        say: The error messages about it, as SQL, by name.
        clusters_sql: The statement of the published values of its rows; None until it is filled.
    """

    i: int
    raw_name: str
    display_name: str
    source: Mapping[str, Sql | bool]
    key: Sql
    names: Mapping[str, Sql]
    quasi: tuple[QuasiColumn, ...]
    sort_columns: tuple[QuasiColumn, ...]
    unchanged: tuple[PassthroughColumn, ...]
    sensitive: tuple[Mapping[str, Sql], ...]
    output: tuple[PublishedColumn, ...]
    features: tuple[Feature, ...]
    gate: TableGate
    say: Mapping[str, Sql]
    clusters_sql: Sql | None = None

    @property
    def rules(self) -> Sequence[gate_rules.QuasiRule]:
        """The rules by which the gate checks the quasi-identifiers of the table."""
        return self.gate.rules.rules

    @property
    def read_unchanged(self) -> Sequence[Sql]:
        """SQL of the table's unchanged columns as the gate reads them."""
        return self.gate.rules.read_unchanged

    @property
    def measures(self) -> dict[str, Sql]:
        """The names WORD:TABLE of the table's metrics, as SQL texts, by word.

        The words are loss, rows, rows_surplus and rows_above_cap.
        """
        return {
            word: text(f"{word}:{self.display_name}") for word in ("loss", "rows", "rows_surplus", "rows_above_cap")
        }

    def step(self, name: str) -> Sql:
        """Return the quoted name of this table's relation `name` in the statement, which exists once per table."""
        return identifier(f"{self.raw_name}: {name}")


def table_views(
    related: RelatedTables, plans: Sequence[Plan], reserved: ReservedNames, features: Sequence[Sequence[Feature]]
) -> tuple[TableView, ...]:
    """Return all tables of a release as templates read them, without the statements that are filled later.

    `clusters_sql` and `gate.measures_sql` of each are None.

    Args:
        related: The related tables.
        plans: The plan of each table.
        reserved: Names of added columns.
        features: The features of each table.
    """
    parent_names = [q.raw_name for q in plans[0].columns.quasi]
    size_names = ["size", *(f"{table.spec.source.table}_rows" for table in related.tables[1:])]
    unused_size_names = gate_rules.unused_names([*parent_names, plans[0].schema.class_id], size_names)
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
    """Return table number `i` as templates read it, without the statements that are filled later.

    Args:
        related: The related tables.
        i: The number of the table; 0 is the parent table.
        table_plan: The plan of the table.
        reserved: Names of added columns.
        features_and_size: The features of the table, and the name of the column of NAME_classes that counts its rows.
    """
    table = related.tables[i]
    source, display_name = table.spec.source, table.display_name
    raw_name, is_read_twice = f"{i} {display_name}", has_rowid(table.spec)
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
        display_name,
        source={
            "table": source.read,
            "origin": source.read if is_read_twice else derived_reference("as it came", raw_name),
            "is_read_twice": is_read_twice,
            "columns": join_sql(identifier(name) for name in source.columns if name in read_names),
            "row_number": Sql("rowid") if is_read_twice else reserved.row,
        },
        key=table.key_values[0] if len(table.key) == 1 else _composite_key(table.key_values),
        names={
            "key": identifier(key_name),
            "class_id": table_plan.added_name("class_id"),
            "size": identifier(features_and_size[1]),
        },
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
            row_alias=gate_rules.row_alias([key_name, *published_names]),
            say=messages.table_refusals(table.spec.function, messages.TABLE_CHECKS, display_name, raw_name),
        ),
        say=_key_error_messages(table, related.entity),
    )


def _sensitive_view(table: RelatedTable, column: str) -> dict[str, Sql]:
    """Return a sensitive column of a table as the gate reads it.

    Nothing but the name and the type of the column is used, so that the gate does not depend on the plan.

    Returns:
        name: The quoted name of the column.
        text: SQL of the text by which published values of the column are compared.
        metric: The name l_diversity:TABLE.COLUMN of its metric, as a SQL text literal.
        say: The message of the gate that classes are not diverse in the column, as SQL.
    """
    name, type_ = identifier(column), table.spec.source.columns[column]
    value = f"epoch_us({name})" if type_ == "TIMESTAMP WITH TIME ZONE" else name
    return {
        "name": name,
        "text": Sql(f"CAST({value} AS VARCHAR)"),
        "metric": text(f"l_diversity:{table.display_name}.{column}"),
        "say": messages.diversity_refusal(table.spec.function, table.display_name, column),
    }


def _sort_rank(column: QuasiColumn) -> int:
    """Return 0 for a date, 1 for another number and 2 for a category, the order in which columns sort rows."""
    if isinstance(column, TreeColumn):
        return 2
    return 0 if column.family.is_calendar else 1


def _composite_key(keys: Sequence[str]) -> Sql:
    """Return SQL of a key of several columns as a row value; NULL if one of them is NULL."""
    is_complete = join_sql((f"{key} IS NOT NULL" for key in keys), " AND ")
    return Sql(f"CASE WHEN {is_complete} THEN row({join_sql(keys)}) END")


def _gate_key_column(name: str, type_: str) -> Sql:
    """Return SQL of a key column as the gate compares it: VARCHAR gets a binary collation, others are unchanged."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)


def _key_error_messages(table: RelatedTable, entity: RelatedTable) -> dict[str, Sql]:
    """Return the error messages about a related table and its key by name, each as a SQL expression of a text.

    The names are relation_changed, empty, missing, repeated and orphans. Nothing is checked here. `entity` is the
    parent table (one row per person).
    """
    function, row_count = table.spec.function, sql_placeholder("count(*)")
    error_by_name = {
        "relation_changed": errors.PolicyChangedError(function, table.display_name),
        "empty": errors.EmptySourceError(function, table.display_name),
        "missing": errors.NullKeyError(function, table.display_name, table.key, row_count),
        "repeated": errors.DuplicateKeyError(function, table.display_name, table.key, row_count),
        "orphans": errors.OrphanRowsError(function, table.display_name, entity.display_name, table.key, row_count),
    }
    return {name: error_sql(error) for name, error in error_by_name.items()}
