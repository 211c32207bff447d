"""A call on a DataFrame as values that every executor can plan, and a planner that answers it for a partition."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from dbanon import errors
from dbanon.api.connection import connect
from dbanon.errors import redaction
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import cluster_request_json
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec, WholeTable
from dbanon.runtime import session
from dbanon.source import schema
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, qualified, text
from dbanon.table_functions.dispatch import make_call

_HOME = "memory"
_PART, _SHOWN = (qualified(_HOME, "part", name) for name in ("rows", "shown"))
_SIZE = "size of a value"
_INPUT_VIEW = "rows of a part, given"


@dataclass(frozen=True)
class LargerTable:
    """The counts of the whole table that a partition is a part of.

    `columns` has a table with `value` and `size` by column: how many records (persons) have each value. `records` is
    the number of records.
    """

    columns: Mapping[str, pa.Table]
    records: int


@dataclass(frozen=True)
class PortableCall:
    """One call of a table function, as values that can be sent to executors.

    Attributes:
        function: The table function.
        name: The source in messages.
        columns: An empty table of its columns.
        policy: Rows of dbanon.policy.
        hierarchy: Rows of dbanon.hierarchy.
        parameters: The parameters of the call.
        zone: The session's time zone.
        key: A text that identifies the call.
    """

    function: str
    name: str
    columns: pa.Table
    policy: pa.Table
    hierarchy: pa.Table
    parameters: Mapping[str, object]
    zone: str
    key: str = field(init=False)

    def __post_init__(self) -> None:
        tables = [table.to_pylist() for table in (self.policy, self.hierarchy)]
        parts = [self.function, self.name, str(self.columns.schema), *tables, self.parameters, self.zone]
        object.__setattr__(self, "key", json.dumps(parts, default=str))


def quoted_name(name: str) -> str:
    """Return a table's name as a call writes it, in quotes if necessary."""
    return name if names.table_parts(name) == (name,) else str(identifier(name))


class CallPlanner:
    """A DuckDB connection with the policy and hierarchies of a call, which runs its statements on rows of a partition.

    Raises:
        DbanonError: Whatever the table function raises if the call cannot be answered.
    """

    def __init__(self, call: PortableCall) -> None:
        self.call = call
        self.con = connect(config={"threads": 1})
        self.con.execute("CREATE SCHEMA part")
        self.con.execute(f"SET TimeZone = {text(call.zone)}")
        schema.create(self.con.raw)
        for name, rows in (("policy", call.policy), ("hierarchy", call.hierarchy)):
            self._insert(f"INSERT INTO {SCHEMA}.{name} BY NAME", rows)
        self._create_table(identifier(call.name), call.columns)
        self.spec = self._resolve_spec()
        self._clear_rows()

    def _resolve_spec(self) -> ReleaseSpec:
        current_session = session.find_session(self.con.raw)
        with current_session.cursor() as cursor:
            source, place = {"tbl": quoted_name(self.call.name)}, (_HOME, "main", f"{_HOME}.main")
            spec = resolve.resolve_spec(
                make_call(current_session, cursor, self.call.function, source, dict(self.call.parameters), place)
            )
        if spec.roles.transformed:
            raise errors.TransformedColumnsNotSupportedError(
                self.call.function, self.call.name, spec.roles.transformed, "Spark"
            )
        part_source = replace(spec.source, shown=self.call.name, sql=_PART, is_table=True, bare=False)
        return replace(
            spec, kind="release", source=part_source, reading=replace(spec.reading, weight=identifier(self.weight))
        )

    @cached_property
    def weight(self) -> str:
        """The column with the number of records that a row represents; no other column has its name."""
        name = "records"
        while name in map(str.lower, self.call.columns.column_names):
            name += "_"
        return name

    @cached_property
    def read_columns(self) -> list[str]:
        """The columns that are read, in the order of the source."""
        roles = plan.role_by_column(self.spec)
        return [name for name in self.spec.source.columns if roles[name] != "withheld"]

    @cached_property
    def quasi_columns(self) -> list[str]:
        """The quasi-identifiers."""
        return [attribute.quasi.column for attribute in self.spec.attributes]

    @cached_property
    def sensitive_columns(self) -> list[str]:
        """The sensitive columns that models are about or that the algorithm reads."""
        return list(self.spec.roles.sensitive) if self.spec.uses_sensitive else []

    # --- what a part is asked --------------------------------------------------------------------------------

    def assignment_types(self) -> dict[str, str]:
        """Return the columns of `assign_classes` and their DuckDB types."""
        rows = self.con.execute(f"DESCRIBE {self._assignment_sql(self.spec)}").fetchall()
        return {name: type_ for name, type_, *_ in rows}

    def assign_classes(self, rows: pa.Table, weights: Any, larger: LargerTable | None) -> pa.Table:
        """Return the records of a partition with their classes (sql/integrations/spark/partition_release.sql).

        Args:
            rows: Distinct records.
            weights: The number of records that each row represents.
            larger: Counts of the whole table; None if the partition is the whole table.
        """
        self._load_rows(rows, weights)
        return self._query(self._assignment_sql(self._part_spec(larger)))

    def drop_null_rows(self, rows: pa.Table) -> pa.Table:
        """Return the rows without a NULL among the quasi-identifiers, after missing codes are read as NULL."""
        self._load_rows(rows, pa.repeat(1, len(rows)))
        return rows.take(self._query(self._fill_template("non_null_rows", self.spec)).column(0))

    def count_uncovered(self, rows: pa.Table, published: pa.Table) -> tuple[int, int]:
        """Return how many rows their published values do not cover, and how many values are finer than allowed."""
        self._load_rows(rows, pa.repeat(1, len(rows)))
        self._create_table(_SHOWN, published)
        counts = self._query(self._fill_template("covered_values", self.spec, shown=_SHOWN)).to_pylist()[0]
        return counts["uncovered"], counts["finer"]

    def measure_models(self, rows: pa.Table, assigned: pa.Table, larger: LargerTable) -> pa.Table:
        """Return what the worst class achieves for each model, and how many classes miss it.

        See sql/integrations/spark/model_measures.sql.
        """
        self._load_rows(rows, pa.repeat(1, len(rows)))
        self._create_table(_SHOWN, assigned)
        part_spec = self._part_spec(larger)
        return self._query(
            self._fill_template("model_measures", part_spec, shown=_SHOWN, demanded=bool(part_spec.model_requirements))
        )

    def value_codes(self, column: str, larger: LargerTable) -> pa.Table:
        """Return `value` and `code` of a column that the clustering reads; NULL has no code."""
        return self._query(self._fill_template("codes", self._part_spec(larger), of=column))

    def domain_row(self, larger: LargerTable) -> pa.Table:
        """Return one row: the clustering request, and the domains of the columns."""
        part_spec = self._part_spec(larger)
        return self._query(self._fill_template("domains", part_spec, request=cluster_request_json(part_spec)))

    # --- how ---------------------------------------------------------------------------------------------------

    def _assignment_sql(self, spec: ReleaseSpec) -> str:
        return self._fill_template("partition_release", spec, own=[identifier(name) for name in self.read_columns])

    def _fill_template(self, name: str, spec: ReleaseSpec, **context: object) -> str:
        return qualify_builtins(plan.fill_release_template(f"integrations/spark/{name}.sql", spec, None, **context))

    def _query(self, statement: str) -> pa.Table:
        """Return the result of a statement, and drop the rows that it read."""
        try:
            with redaction.redact_values(self.call.function, lambda: [self.call.name]):
                return self.con.sql(statement).to_arrow_table()
        finally:
            self._clear_rows()
            self.con.raw.execute(f"DROP TABLE IF EXISTS {_SHOWN}")

    def _part_spec(self, larger: LargerTable | None) -> ReleaseSpec:
        """Return the release spec of a partition of a larger table."""
        if larger is None:
            return self.spec
        tables = {name: qualified(_HOME, "part", f"values {i}") for i, name in enumerate(larger.columns)}
        for name, rows in larger.columns.items():
            self._create_table(tables[name], rows.rename_columns([name, _SIZE]))
        quasi_tables, sensitive_tables = (
            tuple(tables.get(n, Sql("")) for n in columns) for columns in (self.quasi_columns, self.sensitive_columns)
        )
        parent_table = WholeTable(quasi_tables, sensitive_tables, identifier(_SIZE), larger.records)
        return replace(self.spec, reading=replace(self.spec.reading, whole_table=parent_table))

    def _clear_rows(self) -> None:
        self._load_rows(self.call.columns.select(self.read_columns), pa.array([], pa.int64()))

    def _load_rows(self, rows: pa.Table, weights: Any) -> None:
        self._create_table(_PART, rows.append_column(self.weight, weights))

    def _create_table(self, name: Sql, rows: pa.Table) -> None:
        self._insert(f"CREATE OR REPLACE TABLE {name} AS", rows)

    def _insert(self, statement: str, rows: pa.Table) -> None:
        self.con.raw.register(_INPUT_VIEW, rows)
        self.con.raw.execute(f"{statement} FROM {identifier(_INPUT_VIEW)}")
        self.con.raw.unregister(_INPUT_VIEW)


_THREAD = threading.local()


def thread_planner(call: PortableCall) -> CallPlanner:
    """Return this thread's planner of a call; the last planner is kept."""
    last: CallPlanner | None = getattr(_THREAD, "last", None)
    if last is None or last.call.key != call.key:
        last = _THREAD.last = CallPlanner(call)
    return last
