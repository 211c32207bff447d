"""A stream without a database: batches in, what leaves out."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dbanon import errors
from dbanon.algorithms.streams import find
from dbanon.api.connection import connect
from dbanon.api.frame import given_hierarchies, relation_name
from dbanon.sqltext.quote import identifier
from dbanon.views import streaming

ARRIVED = "dbanon arrived"
"""The column that batches get: records arrive in the order in which they stand."""


class Pipe:
    """A stream of batches, which all have the columns of the first one.

    `prepare` is called with the connection before the first one is read, to declare a policy for the table `input`.
    """

    def __init__(
        self, system: str, parameters: Mapping[str, Any], prepare: Callable[[Any], None] = lambda connection: None
    ) -> None:
        find(system)
        self.system, self.parameters, self.prepare = system, dict(parameters), prepare
        if "order_by" in self.parameters:
            raise errors.UnusedArgumentError(system, "order_by", "batches arrive in the order in which they come")
        self.connection = connect()
        self._arrived, self._begun = 0, False

    def put(self, batch: Any) -> Any:
        """What leaves as a batch comes, as an Arrow table: a DataFrame or an Arrow table or batch."""
        name = identifier(relation_name(self.connection, batch, "anonymize_stream", "dbanon batch")[1:-1])
        rows = f"SELECT {self._arrived}::BIGINT + row_number() OVER () AS {identifier(ARRIVED)}, * FROM {name}"
        if not self._begun:
            self.connection.raw.execute(f"CREATE TABLE input AS {rows} LIMIT 0")
            self.prepare(self.connection)
            given = self.parameters
            if isinstance(hierarchies := given.get("hierarchies"), Mapping):
                given = {**given, "hierarchies": given_hierarchies(self.connection, hierarchies)}
            streaming.create_stream(self.connection, "output", self.system, "input", order_by=[ARRIVED], **given)
            self._begun = True
        self.connection.raw.execute("DELETE FROM input")
        self.connection.raw.execute(f"INSERT INTO input BY NAME {rows}")
        (self._arrived,) = self.connection.raw.execute(f"SELECT max({identifier(ARRIVED)}) FROM input").fetchone() or (
            0,
        )
        return self._left(flush=False)

    def end(self) -> Iterator[Any]:
        """What leaves as the stream ends."""
        if self._begun:
            self.connection.raw.execute("DELETE FROM input")
            if len(left := self._left(flush=True)):
                yield left

    def close(self) -> None:
        """Forget who waits."""
        self.connection.close()

    def _left(self, *, flush: bool) -> Any:
        streaming.read_on(self.connection, "output", flush=flush)
        left = self.connection.raw.sql("FROM output").to_arrow_table()
        self.connection.raw.execute("DELETE FROM output")
        return left


def anonymize_stream(
    batches: Iterable[Any],
    system: str = "fads",
    *,
    prepare: Callable[[Any], None] = lambda connection: None,
    **parameters: Any,
) -> Iterator[Any]:
    """What leaves a stream of batches (DataFrames of pandas or polars, Arrow tables or batches), as Arrow tables.

    Records arrive in the order in which they come. Parameters are those of the table function but `order_by`, as in
    `anonymize_stream(batches, "fads", k=10, delta=1000, qi=["age", "zip"], sensitive=["disease"])`. Each batch gives
    the rows that are due once it has come, which may be none; when there are no more, all that wait leave. What is kept
    meanwhile is linear in `delta` and in the classes. Where a batch raises, it is left out, those that wait leave
    first, and then the error is raised.
    """
    with contextlib.closing(Pipe(system, parameters, prepare)) as pipe:
        try:
            for batch in batches:
                if len(left := pipe.put(batch)):
                    yield left
        except Exception:
            yield from pipe.end()
            raise
        yield from pipe.end()
