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
class TableCounts:
    """Counts of the whole table, for planning and checking one partition of it.

    Attributes:
        columns: By column name, a table with each `value` and its `size`: how many records (persons) have it.
        records: The number of records.
    """

    columns: Mapping[str, pa.Table]
    records: int


@dataclass(frozen=True)
class PortableCall:
    """One call of a table function, as values that can be sent to executors.

    Attributes:
        function: The name of the table function.
        name: The name of the source in messages.
        columns: An empty table with the columns of the source.
        policy: Rows of dbanon.policy.
        hierarchy: Rows of dbanon.hierarchy.
        parameters: The parameters of the call.
        zone: The time zone of the Spark session.
        key: A text that is equal for equal calls, computed from the other attributes.
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
        """Compute `key`."""
        tables = [table.to_pylist() for table in (self.policy, self.hierarchy)]
        parts = [self.function, self.name, str(self.columns.schema), *tables, self.parameters, self.zone]
        object.__setattr__(self, "key", json.dumps(parts, default=str))


def quoted_name(name: str) -> str:
    """Return a table's name as a call writes it, in double quotes if necessary."""
    return name if names.table_parts(name) == (name,) else str(identifier(name))


class CallPlanner:
    """A DuckDB database in memory with the policy and hierarchies of a call, which runs its statements on given rows.

    Attributes:
        call: The call.
        con: The connection of dbanon, with one thread.
        spec: The release spec of the call for a table of records.

    Raises:
        DbanonError: Whatever the table function raises if the call is invalid.
    """

    def __init__(self, call: PortableCall) -> None:
        """Open the database, store policy, hierarchies and the empty source in it, and resolve the release spec."""
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
        """Return the release spec of the call, with the table of the partition's rows as its source.

        TransformedColumnsNotSupportedError if the policy has transformed columns, such as pseudonyms.
        """
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
        """The name of the column with the number of records that a row represents; no other column has its name."""
        name = "records"
        while name in map(str.lower, self.call.columns.column_names):
            name += "_"
        return name

    @cached_property
    def read_columns(self) -> list[str]:
        """The names of the columns that are read, in the order of the source: published ones and the person column."""
        roles = plan.role_by_column(self.spec)
        return [name for name in self.spec.source.columns if roles[name] != "withheld"]

    @cached_property
    def quasi_columns(self) -> list[str]:
        """The names of the quasi-identifiers."""
        return [attribute.quasi.column for attribute in self.spec.attributes]

    @cached_property
    def sensitive_columns(self) -> list[str]:
        """The names of the sensitive columns, if the privacy models or the algorithm use them; otherwise empty."""
        return list(self.spec.roles.sensitive) if self.spec.uses_sensitive else []

    # --- what a part is asked --------------------------------------------------------------------------------

    def assignment_types(self) -> dict[str, str]:
        """Return the DuckDB type of each column that `assign_classes` returns, by name."""
        rows = self.con.execute(f"DESCRIBE {self._assignment_sql(self.spec)}").fetchall()
        return {name: type_ for name, type_, *_ in rows}

    def assign_classes(self, rows: pa.Table, weights: Any, larger: TableCounts | None) -> pa.Table:
        """Cluster the records of a partition; return them with what is published for each (see executor_tasks.FORMS).

        The statement is sql/integrations/spark/partition_release.sql.

        Args:
            rows: Distinct records.
            weights: The number of records that each row represents.
            larger: Counts of the whole table; None if the partition is the whole table.
        """
        self._load_rows(rows, weights)
        return self._query(self._assignment_sql(self._part_spec(larger)))

    def drop_null_rows(self, rows: pa.Table) -> pa.Table:
        """Return the rows that have no NULL in a quasi-identifier, where codes for missing values count as NULL."""
        self._load_rows(rows, pa.repeat(1, len(rows)))
        return rows.take(self._query(self._fill_template("non_null_rows", self.spec)).column(0))

    def count_uncovered(self, rows: pa.Table, published: pa.Table) -> tuple[int, int]:
        """Return how many rows their published values do not cover, and how many values are finer than allowed.

        `rows` are records as they are in the source; `published` has in the same order what is published for each.
        """
        self._load_rows(rows, pa.repeat(1, len(rows)))
        self._create_table(_SHOWN, published)
        counts = self._query(self._fill_template("covered_values", self.spec, shown=_SHOWN)).to_pylist()[0]
        return counts["uncovered"], counts["finer"]

    def measure_models(self, rows: pa.Table, assigned: pa.Table, larger: TableCounts) -> pa.Table:
        """Return the value of the worst class for each privacy model other than k, and how many classes miss it.

        Args:
            rows: Records with all their columns; all records of a class are among them.
            assigned: `class_id` and `size` of each row, in the same order.
            larger: Counts of the sensitive values of the whole release.

        Returns:
            One row per model: `model` (its number in the call), `value` and `missed`. With a person column there is
                also a row with model -1, the least number of persons in a class. See
                sql/integrations/spark/model_measures.sql.
        """
        self._load_rows(rows, pa.repeat(1, len(rows)))
        self._create_table(_SHOWN, assigned)
        part_spec = self._part_spec(larger)
        return self._query(
            self._fill_template("model_measures", part_spec, shown=_SHOWN, demanded=bool(part_spec.model_requirements))
        )

    def value_codes(self, column: str, larger: TableCounts) -> pa.Table:
        """Return `value` and `code` of the distinct values of a column, as the clustering codes them; NULL has no row.

        `column` is a quasi-identifier or a sensitive column that the clustering uses.
        """
        return self._query(self._fill_template("codes", self._part_spec(larger), of=column))

    def domain_row(self, larger: TableCounts) -> pa.Table:
        """Return one row: the clustering request as JSON, and the domain (the coded values) of each column.

        The domains are those of the whole table, whose counts are in `larger`.
        """
        part_spec = self._part_spec(larger)
        return self._query(self._fill_template("domains", part_spec, request=cluster_request_json(part_spec)))

    # --- how ---------------------------------------------------------------------------------------------------

    def _assignment_sql(self, spec: ReleaseSpec) -> str:
        """Return the statement that clusters the loaded rows and returns their assignments."""
        return self._fill_template("partition_release", spec, own=[identifier(name) for name in self.read_columns])

    def _fill_template(self, name: str, spec: ReleaseSpec, **context: object) -> str:
        """Return the statement of a template in sql/integrations/spark/, with qualified functions.

        `name` is the file without `.sql`; `context` has further values for the template.
        """
        return qualify_builtins(plan.fill_release_template(f"integrations/spark/{name}.sql", spec, None, **context))

    def _query(self, statement: str) -> pa.Table:
        """Run a statement and return its result as an Arrow table; then delete the rows that were loaded for it.

        Errors whose message may quote a value of the rows are replaced.
        """
        try:
            with redaction.redact_values(self.call.function, lambda: [self.call.name]):
                return self.con.sql(statement).to_arrow_table()
        finally:
            self._clear_rows()
            self.con.raw.execute(f"DROP TABLE IF EXISTS {_SHOWN}")

    def _part_spec(self, larger: TableCounts | None) -> ReleaseSpec:
        """Return the release spec for a partition, storing the counts of `larger` as tables that it reads.

        Without `larger` the partition is the whole table, and the spec is unchanged.
        """
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
        """Replace the table of loaded rows by an empty table with the columns that are read."""
        self._load_rows(self.call.columns.select(self.read_columns), pa.array([], pa.int64()))

    def _load_rows(self, rows: pa.Table, weights: Any) -> None:
        """Store the rows, with the number of records that each represents, in the table that statements read."""
        self._create_table(_PART, rows.append_column(self.weight, weights))

    def _create_table(self, name: Sql, rows: pa.Table) -> None:
        """Create or replace the table of a quoted name with the given rows."""
        self._insert(f"CREATE OR REPLACE TABLE {name} AS", rows)

    def _insert(self, statement: str, rows: pa.Table) -> None:
        """Run a statement that ends before FROM, such as an INSERT, with the given rows as its source."""
        self.con.raw.register(_INPUT_VIEW, rows)
        self.con.raw.execute(f"{statement} FROM {identifier(_INPUT_VIEW)}")
        self.con.raw.unregister(_INPUT_VIEW)


_THREAD = threading.local()


def thread_planner(call: PortableCall) -> CallPlanner:
    """Return a planner of this call that belongs to this thread.

    The last planner of each thread is kept and reused for an equal call; any other call gets a new one.
    """
    last: CallPlanner | None = getattr(_THREAD, "last", None)
    if last is None or last.call.key != call.key:
        last = _THREAD.last = CallPlanner(call)
    return last
