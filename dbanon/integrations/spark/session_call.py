"""What is asked of a DataFrame, such that every process of Spark can plan it: the columns, the policy, the hierarchies
and the parameters, as Arrow tables and values; and what such a process can be asked about rows of a part."""

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
_GIVEN = "rows of a part, given"


@dataclass(frozen=True)
class LargerTable:
    """The values of the larger table by column, `value` and `size`, how many records (persons) have it, and how many
    records there are."""

    columns: Mapping[str, pa.Table]
    records: int


@dataclass(frozen=True)
class Asked:
    """One call of a table function.

    `name` is what messages call the source, `columns` an empty table of its columns, `policy` and `hierarchy` the
    tables of these names, `zone` the time zone in which times are told.
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
        told = [self.function, self.name, str(self.columns.schema), *tables, self.parameters, self.zone]
        object.__setattr__(self, "key", json.dumps(told, default=str))


def spelled(name: str) -> str:
    """Return a table's name as a call writes it."""
    return name if names.table_parts(name) == (name,) else str(identifier(name))


class Planned:
    """A connection of this process that knows the policy and the hierarchies, and what is published of a part.

    Raises what the table function raises where the call cannot be answered.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.con = connect(config={"threads": 1})
        self.con.execute("CREATE SCHEMA part")
        self.con.execute(f"SET TimeZone = {text(asked.zone)}")
        schema.create(self.con.raw)
        for name, rows in (("policy", asked.policy), ("hierarchy", asked.hierarchy)):
            self._insert(f"INSERT INTO {SCHEMA}.{name} BY NAME", rows)
        self._table(identifier(asked.name), asked.columns)
        self.publication = self._publication()
        self._empty()

    def _publication(self) -> ReleaseSpec:
        current = session.find_session(self.con.raw)
        with current.cursor() as cursor:
            source, place = {"tbl": spelled(self.asked.name)}, (_HOME, "main", f"{_HOME}.main")
            made = resolve.resolve_spec(
                make_call(current, cursor, self.asked.function, source, dict(self.asked.parameters), place)
            )
        if made.roles.transformed:
            raise errors.TransformedColumnsNotSupportedError(
                self.asked.function, self.asked.name, made.roles.transformed, "Spark"
            )
        read = replace(made.source, shown=self.asked.name, sql=_PART, is_table=True, bare=False)
        return replace(made, kind="release", source=read, reading=replace(made.reading, weight=identifier(self.weight)))

    @cached_property
    def weight(self) -> str:
        """The column that says how many records a row stands for: a name that no other has."""
        name = "records"
        while name in map(str.lower, self.asked.columns.column_names):
            name += "_"
        return name

    @cached_property
    def own(self) -> list[str]:
        """The columns that are read, in the order of the source."""
        known = plan.role_by_column(self.publication)
        return [name for name in self.publication.source.columns if known[name] != "withheld"]

    @cached_property
    def quasi(self) -> list[str]:
        """The quasi-identifiers."""
        return [attribute.quasi.column for attribute in self.publication.attributes]

    @cached_property
    def tested(self) -> list[str]:
        """The sensitive columns that models are about or that the algorithm reads."""
        return list(self.publication.roles.sensitive) if self.publication.uses_sensitive else []

    # --- what a part is asked --------------------------------------------------------------------------------

    def types(self) -> dict[str, str]:
        """Return the columns of `dealt` and their types, as DuckDB says them."""
        rows = self.con.execute(f"DESCRIBE {self._dealt(self.publication)}").fetchall()
        return {name: type_ for name, type_, *_ in rows}

    def dealt(self, rows: pa.Table, weights: Any, larger: LargerTable | None) -> pa.Table:
        """Rows of a part, each of which stands for so many records, dealt out to classes
        (sql/integrations/spark/partition_release.sql)."""
        self._fill(rows, weights)
        return self._answer(self._dealt(self._beside(larger)))

    def kept(self, rows: pa.Table) -> pa.Table:
        """Return those without a NULL among the quasi-identifiers, as these are read."""
        self._fill(rows, pa.repeat(1, len(rows)))
        return rows.take(self._answer(self._filled("non_null_rows", self.publication)).column(0))

    def refused(self, rows: pa.Table, shown: pa.Table) -> tuple[int, int]:
        """How many of the rows are not covered by what is published of them, and how much is finer than allowed."""
        self._fill(rows, pa.repeat(1, len(rows)))
        self._table(_SHOWN, shown)
        found = self._answer(self._filled("covered_values", self.publication, shown=_SHOWN)).to_pylist()[0]
        return found["uncovered"], found["finer"]

    def judged(self, rows: pa.Table, placed: pa.Table, larger: LargerTable) -> pa.Table:
        """What the worst class measures by each model, and how many miss it
        (sql/integrations/spark/model_measures.sql)."""
        self._fill(rows, pa.repeat(1, len(rows)))
        self._table(_SHOWN, placed)
        of = self._beside(larger)
        return self._answer(self._filled("model_measures", of, shown=_SHOWN, demanded=bool(of.model_requirements)))

    def codes(self, column: str, larger: LargerTable) -> pa.Table:
        """`value` and `code` of a column that the clustering looks at; NULL has none."""
        return self._answer(self._filled("codes", self._beside(larger), of=column))

    def domains(self, larger: LargerTable) -> pa.Table:
        """Return one row: what the clustering is asked, and the domains of the columns."""
        of = self._beside(larger)
        return self._answer(self._filled("domains", of, request=cluster_request_json(of)))

    # --- how ---------------------------------------------------------------------------------------------------

    def _dealt(self, of: ReleaseSpec) -> str:
        return self._filled("partition_release", of, own=[identifier(name) for name in self.own])

    def _filled(self, name: str, publication: ReleaseSpec, **more: object) -> str:
        return qualify_builtins(plan.fill_release_template(f"integrations/spark/{name}.sql", publication, None, **more))

    def _answer(self, statement: str) -> pa.Table:
        """What a statement gives; the rows that it read are forgotten."""
        try:
            with redaction.redact_values(self.asked.function, lambda: [self.asked.name]):
                return self.con.sql(statement).to_arrow_table()
        finally:
            self._empty()
            self.con.raw.execute(f"DROP TABLE IF EXISTS {_SHOWN}")

    def _beside(self, larger: LargerTable | None) -> ReleaseSpec:
        """Return the publication of a part of a larger table."""
        if larger is None:
            return self.publication
        places = {name: qualified(_HOME, "part", f"values {i}") for i, name in enumerate(larger.columns)}
        for name, rows in larger.columns.items():
            self._table(places[name], rows.rename_columns([name, _SIZE]))
        quasi, tested = (tuple(places.get(n, Sql("")) for n in of) for of in (self.quasi, self.tested))
        whole = WholeTable(quasi, tested, identifier(_SIZE), larger.records)
        return replace(self.publication, reading=replace(self.publication.reading, whole_table=whole))

    def _empty(self) -> None:
        self._fill(self.asked.columns.select(self.own), pa.array([], pa.int64()))

    def _fill(self, rows: pa.Table, weights: Any) -> None:
        self._table(_PART, rows.append_column(self.weight, weights))

    def _table(self, name: Sql, rows: pa.Table) -> None:
        self._insert(f"CREATE OR REPLACE TABLE {name} AS", rows)

    def _insert(self, statement: str, given: pa.Table) -> None:
        self.con.raw.register(_GIVEN, given)
        self.con.raw.execute(f"{statement} FROM {identifier(_GIVEN)}")
        self.con.raw.unregister(_GIVEN)


_KNOWN = threading.local()


def planned(asked: Asked) -> Planned:
    """What is planned of a call in this thread; the last one is kept."""
    last: Planned | None = getattr(_KNOWN, "last", None)
    if last is None or last.asked.key != asked.key:
        last = _KNOWN.last = Planned(asked)
    return last
