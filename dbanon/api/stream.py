"""Anonymize a stream of batches without a database."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dbanon import errors
from dbanon.algorithms.streams import find
from dbanon.api.connection import connect
from dbanon.api.frame import register_data, store_hierarchies
from dbanon.errors import redaction
from dbanon.sqltext.quote import identifier
from dbanon.views import streaming

ARRIVAL_COLUMN = "dbanon arrived"
"""The column added to batches that numbers the records in the order of their arrival."""


class BatchStream:
    """A stream algorithm that runs in a database in memory, to which batches of records are added.

    All batches must have the columns of the first one.

    Args:
        system: The name of the stream algorithm.
        parameters: Its parameters, except `order_by`.
        prepare: Called once with the connection when the first batch is added, before its records are inserted, to
            declare a policy for the table `input`.
    """

    def __init__(
        self, system: str, parameters: Mapping[str, Any], prepare: Callable[[Any], None] = lambda connection: None
    ) -> None:
        """Open a database in memory; nothing else is created before the first batch.

        Raises:
            UnusedArgumentError: `order_by` is given.
            UnknownAlgorithmError: There is no such stream algorithm.
        """
        find(system)
        self.system, self.parameters, self.prepare = system, dict(parameters), prepare
        if "order_by" in self.parameters:
            raise errors.UnusedArgumentError(system, "order_by", "batches arrive in the order in which they come")
        self.connection = connect()
        self._n_arrived, self._is_created = 0, False

    def add(self, batch: Any) -> Any:
        """Add a batch (a DataFrame, an Arrow table or batch).

        Return the rows that are published now, as an Arrow table.

        The table may be empty; the other records are pending.

        Raises:
            UnreadableValueError: A value does not have the type that its column has in the first batch.
        """
        name = identifier(register_data(self.connection, batch, "anonymize_stream", "dbanon batch")[1:-1])
        rows = f"SELECT {self._n_arrived}::BIGINT + row_number() OVER () AS {identifier(ARRIVAL_COLUMN)}, * FROM {name}"
        if not self._is_created:
            self.connection.duckdb_connection.execute(f"CREATE TABLE input AS {rows} LIMIT 0")
            self.prepare(self.connection)
            parameters = self.parameters
            if isinstance(hierarchies := parameters.get("hierarchies"), Mapping):
                parameters = {**parameters, "hierarchies": store_hierarchies(self.connection, hierarchies)}
            streaming.create_stream(
                self.connection, "output", self.system, "input", order_by=[ARRIVAL_COLUMN], **parameters
            )
            self._is_created = True
        self.connection.duckdb_connection.execute("DELETE FROM input")
        with redaction.redact_values("anonymize_stream", lambda: ["the batch"]):
            self.connection.duckdb_connection.execute(f"INSERT INTO input BY NAME {rows}")
        (self._n_arrived,) = self.connection.duckdb_connection.execute(
            f"SELECT max({identifier(ARRIVAL_COLUMN)}) FROM input"
        ).fetchone() or (0,)
        return self._take_published(flush=False)

    def finish(self) -> Iterator[Any]:
        """End the stream: publish or suppress the pending records and yield the rows as one Arrow table.

        Nothing is yielded if no row is published or no batch was added.
        """
        if self._is_created:
            self.connection.duckdb_connection.execute("DELETE FROM input")
            if len(published := self._take_published(flush=True)):
                yield published

    def close(self) -> None:
        """Close the connection; pending records are discarded."""
        self.connection.close()

    def _take_published(self, *, flush: bool) -> Any:
        """Process the new records of the table `input`, and return the published rows and remove them from `output`.

        With `flush` all pending records are published or suppressed.
        """
        streaming.read_appended(self.connection, "output", flush=flush)
        published = self.connection.duckdb_connection.sql("FROM output").to_arrow_table()
        self.connection.duckdb_connection.execute("DELETE FROM output")
        return published


def anonymize_stream(
    batches: Iterable[Any],
    system: str = "fads",
    *,
    prepare: Callable[[Any], None] = lambda connection: None,
    **parameters: Any,
) -> Iterator[Any]:
    """Yield the published rows of a stream of batches, as Arrow tables.

    Records arrive in the order of the batches and of their rows. Each batch publishes the rows that are due, which may
    be none; at the end, all pending records are published or suppressed. Memory is linear in `delta` and in the number
    of classes. If a batch raises an error, that batch is discarded, the pending records are published, and then the
    error is raised.

    Args:
        batches: DataFrames of pandas or polars, Arrow tables or batches; all have the columns of the first one.
        system: The name of the stream algorithm.
        prepare: Called once with the connection before the first records are inserted, to declare a policy for the
            table `input`.
        parameters: Parameters of the table function except `order_by`.

    Yields:
        Arrow tables with one or more published rows.

    Raises:
        UnusedArgumentError: `order_by` is given.
        UnreadableValueError: A value does not have the type that its column has in the first batch.
        DbanonError: The table function raises it.

    Examples:
        >>> import pyarrow as pa
        >>> import dbanon
        >>> batches = [pa.table({"age": [21, 23, 61, 65]}), pa.table({"age": [22, 24, 62, 66]})]
        >>> sum(len(rows) for rows in dbanon.anonymize_stream(batches, "fads", k=2, delta=4, qi=["age"]))
        8
    """
    with contextlib.closing(BatchStream(system, parameters, prepare)) as stream:
        try:
            for batch in batches:
                if len(published := stream.add(batch)):
                    yield published
        except Exception:
            yield from stream.finish()
            raise
        yield from stream.finish()
